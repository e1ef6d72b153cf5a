//! Random functions store the same as in the interpreter, and as in Cranelift's code where Cranelift supports them.
#![allow(unsafe_code, reason = "functions under test store where they are told to")]

use super::generate::{Generated, Kinds, PLACE, SCRATCH, SOURCE, TARGET, function};
use super::interpret::{self, Bits};
use super::machine::{Callable, Machine, PARAMS};
use super::numbers::Random;
use crate::wide::Width;
use cranelift_codegen::ir::{Function, Type};

/// The arguments of functions: arrays and numbers.
pub(super) struct Arrays {
    source: Vec<u8>,
    target: Vec<u8>,
    numbers: [u64; PARAMS - 2],
}

impl Arrays {
    pub(super) fn of(random: &mut Random) -> Arrays {
        let numbers = [0; PARAMS - 2].map(|_: u64| random.number().cast_unsigned());
        Arrays { source: random.bytes(SOURCE), target: random.bytes(TARGET), numbers }
    }

    /// Returns a copy of the target after a call of the function.
    fn run(&self, run: impl FnOnce([u64; PARAMS])) -> Vec<u8> {
        let mut target = self.target.clone();
        let [a, b, c, d] = self.numbers;
        run([self.source.as_ptr() as u64, target.as_mut_ptr() as u64, a, b, c, d]);
        target
    }

    pub(super) fn call(&self, machine: &Machine, function: Callable) -> Vec<u8> {
        // SAFETY: generated functions stay within the arrays.
        self.run(|args| unsafe { machine.call(function, args) })
    }

    pub(super) fn interpret(&self, func: &Function) -> Vec<u8> {
        // SAFETY: generated functions stay within the arrays.
        self.run(|args| unsafe { interpret::run(func, &args) })
    }
}

/// Returns whether functions have stored the same: bit for bit in the scratch, and after it except for the bits of NaNs.
pub(super) fn assert_same(what: &str, func: &Function, results: &[Type], got: &[u8], expected: &[u8]) {
    assert!(got[..SCRATCH] == expected[..SCRATCH], "{what}: the scratch differs\n{func}");
    for (at, ty) in results.iter().enumerate() {
        let [x, y] = [got, expected]
            .map(|array| Bits(array[SCRATCH + PLACE * at..][..PLACE].try_into().expect("bytes of a result")));
        assert!(x.same(y, *ty), "{what}: result {at}, {ty}, is {x:x?} and not {y:x?}\n{func}");
    }
    let size = |ty: &Type| ty.bytes() as usize;
    for (at, bytes) in results.iter().map(size).chain(std::iter::repeat(0)).enumerate() {
        let between = SCRATCH + PLACE * at + bytes..(SCRATCH + PLACE * (at + 1)).min(TARGET);
        if between.start >= TARGET {
            break;
        }
        assert!(got[between.clone()] == expected[between], "{what}: stores beyond result {at}\n{func}");
    }
}

fn check(kinds: Kinds, seeds: std::ops::Range<u64>) {
    let Some(mut machine) = Machine::new(kinds.width) else { return };
    let isa = machine.isa.clone();
    let mut compiled = Vec::new();
    for seed in seeds {
        let generated = function(&*isa, seed, kinds);
        let wide = match machine.wide(&generated.func) {
            Ok(wide) => wide,
            Err(unsupported) => panic!("seed {seed}: {unsupported:?}\n{}", generated.func),
        };
        let narrow = (!kinds.vectors).then(|| machine.cranelift(&generated.func));
        compiled.push((seed, generated, wide, narrow));
    }
    machine.finish();
    for (seed, Generated { func, results }, wide, narrow) in compiled {
        let mut random = Random(!seed);
        for _ in 0..3 {
            let arrays = Arrays::of(&mut random);
            let expected = arrays.interpret(&func);
            if let Some(narrow) = narrow {
                assert_same(
                    &format!("seed {seed} by Cranelift"),
                    &func,
                    &results,
                    &arrays.call(&machine, narrow),
                    &expected,
                );
            }
            assert_same(&format!("seed {seed}"), &func, &results, &arrays.call(&machine, wide), &expected);
        }
    }
}

#[test]
fn scalars_are_those_of_the_interpreter_and_of_cranelift() {
    for width in Width::ALL {
        check(Kinds { width, vectors: false, slot: 256 }, 0..400);
    }
}

#[test]
fn vectors_are_those_of_the_interpreter() {
    for width in Width::ALL {
        check(Kinds { width, vectors: true, slot: 256 }, 1000..1800);
    }
}

/// Slots beyond the reach of a displacement of one byte, and frames of several pages.
#[test]
fn frames_of_pages_hold_what_is_put_there() {
    for width in Width::ALL {
        check(Kinds { width, vectors: true, slot: 9000 }, 2000..2050);
        check(Kinds { width, vectors: false, slot: 50_000 }, 2050..2100);
    }
}
