//! Functions of one instruction, on operands around the limits of their types.
#![allow(unsafe_code, reason = "functions under test store where they are told to")]

use super::generate::{PLACE, SCRATCH, SOURCE};
use super::interpret::{self, Bits};
use super::machine::{Callable, Machine, PARAMS, built, signature};
use super::numbers::{REALS, vector_of};
use crate::wide::Width;
use cranelift_codegen::ir::{Endianness, Function, InstBuilder, MemFlagsData, Opcode, Type, Value, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::FunctionBuilder;

/// The places from which operands come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum From {
    /// Memory, which the instruction may read itself.
    Memory,
    /// A register whose other bits, above an integer or a float, are garbage.
    Register,
    /// A constant, as the last operand.
    Constant(i64),
}

/// The pairs of operands that a case takes by default: cases that differ little share them, so that together they take all.
/// With `BROADLOOM_DEEP`, each takes all.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub part: u32,
    pub parts: u32,
}

impl Share {
    pub const ALL: Share = Share { part: 0, parts: 1 };

    /// Without a pattern, because corners have one: each part has equal operands, for example.
    fn has(self, number: usize) -> bool {
        ((number as u32).wrapping_mul(2_654_435_761) >> 16) % self.parts == self.part
    }
}

/// A place where nothing was stored.
const UNTOUCHED: [u8; PLACE] = [0x3c; PLACE];

/// A function of some operands that stores one result.
struct Case {
    name: String,
    func: Function,
    operands: Vec<Type>,
    /// The number of operands that are read: a constant in the place of the last one is part of the code.
    read: usize,
    result: Type,
    share: Share,
    /// The divisor is neither zero nor -1.
    divides: bool,
}

/// A function that loads operands, each from the place of a result, and stores results computed from them.
fn function(
    isa: &dyn TargetIsa,
    width: Width,
    operands: &[Type],
    from: From,
    emit: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]) -> Value,
) -> (Function, Type) {
    let mut ty = types::INVALID;
    let func = built(isa, signature(), |builder, params| {
        let [source, target] = [params[0], params[1]];
        let flags = MemFlagsData::new().with_notrap();
        let mut values = Vec::new();
        for (at, ty) in operands.iter().enumerate() {
            let offset = (PLACE * at) as i32;
            values.push(match from {
                From::Constant(number) if at + 1 == operands.len() => {
                    let bits = number.cast_unsigned() & u64::MAX >> (64 - ty.bits());
                    builder.ins().iconst(*ty, bits.cast_signed())
                }
                From::Register if ty.is_int() && ty.bits() < 64 => {
                    let whole = builder.ins().load(types::I64, flags, source, offset);
                    builder.ins().ireduce(*ty, whole)
                }
                From::Register if ty.is_float() => {
                    let lanes = vector_of(*ty, width);
                    let whole = builder.ins().load(lanes, flags, source, offset);
                    builder.ins().extractlane(whole, 0)
                }
                _ => builder.ins().load(*ty, flags, source, offset),
            });
        }
        let result = emit(builder, &values);
        ty = builder.func.dfg.value_type(result);
        builder.ins().store(flags, result, target, SCRATCH as i32);
        builder.ins().return_(&[]);
    });
    (func, ty)
}

/// Cases of one kind of operand each, and the machine to run them on.
pub(super) struct Cases {
    machine: Machine,
    all: Vec<(Case, Callable)>,
}

impl Cases {
    /// Adds cases for vectors of each width, and runs them.
    pub(super) fn of_all_widths(add: impl Fn(&mut Cases)) {
        for width in Width::ALL {
            if let Some(mut cases) = Cases::new(width) {
                add(&mut cases);
                cases.run();
            }
        }
    }

    pub(super) fn vector_of(&self, lane: Type) -> Type {
        vector_of(lane, self.machine.width)
    }

    pub(super) fn width(&self) -> Width {
        self.machine.width
    }

    fn new(width: Width) -> Option<Cases> {
        Some(Cases { machine: Machine::new(width)?, all: Vec::new() })
    }

    pub(super) fn add(
        &mut self,
        name: &str,
        operands: &[Type],
        from: From,
        emit: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]) -> Value,
    ) {
        self.add_with(Share::ALL, name, operands, from, emit);
    }

    fn add_with(
        &mut self,
        share: Share,
        name: &str,
        operands: &[Type],
        from: From,
        emit: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]) -> Value,
    ) {
        let (func, result) = function(&*self.machine.isa, self.machine.width, operands, from, emit);
        let name = format!("{name} of {operands:?}, {from:?}");
        let callable = match self.machine.wide(&func) {
            Ok(callable) => callable,
            Err(unsupported) => panic!("{name}: {unsupported:?}"),
        };
        let divides = name.starts_with("udiv") || name.starts_with("sdiv") || name.starts_with("urem");
        let read = operands.len() - usize::from(matches!(from, From::Constant(_)));
        self.all
            .push((Case { name, func, operands: operands.to_vec(), read, result, share, divides }, callable));
    }

    /// Operands from memory and from registers.
    pub(super) fn loaded_and_held(
        &mut self,
        name: &str,
        operands: &[Type],
        emit: impl Fn(&mut FunctionBuilder<'_>, &[Value]) -> Value,
    ) {
        self.shared(Share::ALL, name, operands, emit);
    }

    /// Operands from memory and from registers, of which the case takes a share.
    pub(super) fn shared(
        &mut self,
        share: Share,
        name: &str,
        operands: &[Type],
        emit: impl Fn(&mut FunctionBuilder<'_>, &[Value]) -> Value,
    ) {
        for from in [From::Memory, From::Register] {
            self.add_with(share, name, operands, from, &emit);
        }
    }

    pub(super) fn unary(&mut self, opcode: Opcode, from: Type, to: Type) {
        self.loaded_and_held(&opcode.to_string(), &[from], |builder, args| {
            let (inst, dfg) = builder.ins().Unary(opcode, to, args[0]);
            dfg.first_result(inst)
        });
    }

    pub(super) fn binary(&mut self, opcode: Opcode, x: Type, y: Type) {
        self.loaded_and_held(&opcode.to_string(), &[x, y], |builder, args| binary(builder, opcode, x, args));
    }

    /// Runs all of them on all corners.
    fn run(mut self) {
        self.machine.finish();
        let is_deep = std::env::var_os("BROADLOOM_DEEP").is_some();
        for (case, callable) in &self.all {
            let corners: Vec<Vec<u128>> = case.operands.iter().map(|ty| corners(*ty)).collect();
            let pairs: usize = corners.iter().take(case.read.min(2)).map(Vec::len).product();
            let lanes = case.operands.iter().map(|ty| ty.lane_count() as usize).max().unwrap_or(1);
            for start in (0..pairs).step_by(lanes).filter(|start| is_deep || case.share.has(*start)) {
                let mut source = vec![0xa6; SOURCE];
                for (at, ty) in case.operands.iter().enumerate() {
                    let operand = Bits::of(*ty, |lane| {
                        let pair = (start + lane) % pairs;
                        let (first, count) = (corners[0].len(), corners[at].len());
                        let which = match at {
                            0 => pair % first,
                            1 => pair / first,
                            // The third operand is random, and takes both values.
                            _ => pair * 7 + pair / first * 3,
                        };
                        corners[at][which % count]
                    });
                    source[PLACE * at..][..ty.bytes() as usize]
                        .copy_from_slice(&operand.0[..ty.bytes() as usize]);
                }
                let divisor = case.operands.get(1).map(|ty| (ty, &source[PLACE..][..ty.bytes() as usize]));
                if let Some((_, bytes)) = divisor.filter(|_| case.divides)
                    && (bytes.iter().all(|byte| *byte == 0) || bytes.iter().all(|byte| *byte == 0xff))
                {
                    continue;
                }
                case.check(&source, &self.machine, *callable);
            }
        }
    }
}

impl Case {
    fn check(&self, source: &[u8], machine: &Machine, callable: Callable) {
        let run = |call: &dyn Fn([u64; PARAMS])| {
            let mut target = vec![UNTOUCHED[0]; SCRATCH + 2 * PLACE];
            call([source.as_ptr() as u64, target.as_mut_ptr() as u64, 0, 0, 0, 0]);
            let (result, rest) = target[SCRATCH..].split_at(PLACE);
            let size = self.result.bytes() as usize;
            assert!(result[size..] == UNTOUCHED[size..] && *rest == UNTOUCHED, "{}", self.name);
            Bits(result.try_into().expect("bytes of a result"))
        };
        // SAFETY: the function stays within the arrays.
        let got = run(&|args| unsafe { machine.call(callable, args) });
        // SAFETY: the same.
        let expected = run(&|args| unsafe { interpret::run(&self.func, &args) });
        assert!(
            got.same(expected, self.result),
            "{}: {got:x?} and not {expected:x?} of {:x?}\n{}",
            self.name,
            &source[..PLACE * self.operands.len()],
            self.func
        );
    }
}

pub(super) fn binary(builder: &mut FunctionBuilder<'_>, opcode: Opcode, ty: Type, args: &[Value]) -> Value {
    let (inst, dfg) = builder.ins().Binary(opcode, ty, args[0], args[1]);
    dfg.first_result(inst)
}

pub(super) fn bitcast(builder: &mut FunctionBuilder<'_>, to: Type, x: Value) -> Value {
    builder.ins().bitcast(to, MemFlagsData::new().with_endianness(Endianness::Little), x)
}

/// Values around the limits of a type.
fn corners(ty: Type) -> Vec<u128> {
    let lane = ty.lane_type();
    let mut all: Vec<u128> = match lane {
        types::F32 | types::F64 => {
            let powers = [31, 32, 52, 53, 63, 64, 127].map(|power| 2f64.powi(power));
            let around = powers.iter().flat_map(|power| [*power, -power, power - 0.5, power * 0.999_999_9]);
            let halves = [0.499_999_97, 0.499_999_999_999_999_94, 2.5, 3.5, -1.5, 4_503_599_627_370_497.5];
            let reals = REALS.iter().copied().chain(around).chain(halves);
            let mut bits: Vec<u128> = match lane {
                types::F32 => reals.map(|real| (real as f32).to_bits().into()).collect(),
                _ => reals.map(|real| real.to_bits().into()).collect(),
            };
            let nans: [u64; 2] = if lane == types::F32 {
                [0xffc0_0001, 0x7f80_0001]
            } else {
                [0xfff8 << 48 | 1, 0x7ff0 << 48 | 1]
            };
            bits.extend(nans.map(u128::from));
            bits
        }
        types::I128 => vec![0x0123_4567_89ab_cdef_0011_2233_4455_6677, u128::MAX],
        _ => {
            let bits = lane.bits();
            let edges = [0, 1, 2, 3, 5, 8, 16, 31, 32, 33, 63, 64, 100, 0x5a5a_5a5a_5a5a_5a5a_u64];
            let tops = (3..=bits).step_by(4).chain([7, 8, 15, 16, 24, 31, 32, 53, 63, 64]);
            let tops = tops.filter(|top| *top <= bits).map(|top| u64::MAX >> (64 - top));
            let tops = tops.flat_map(|top| [top, top.wrapping_add(1), !top, top - 1]);
            // Halfway between two floats, and just above.
            let ties = [(63, 10), (63, 39), (62, 9), (62, 38), (55, 2), (55, 31), (31, 7), (30, 6)];
            let ties = ties.map(|(top, half)| 1 << top | 1 << half);
            let ties = ties.into_iter().flat_map(|tie: u64| [tie, tie + 1, tie | tie << 1, !tie]);
            let mask = u64::MAX >> (64 - bits);
            edges.into_iter().chain(tops).chain(ties).map(|value| u128::from(value & mask)).collect()
        }
    };
    all.sort_unstable();
    all.dedup();
    all
}
