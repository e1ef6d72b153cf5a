//! Compiles many small functions and runs them on arrays of scalars.
#![allow(unsafe_code, reason = "compiled functions are called through raw pointers")]

use super::super::{Emitter, Host, LaneStride, VECTOR_BYTES, Val};
use crate::emulator::{self, Job, Program, Word};
use crate::notes::Notes;
use crate::wide::{self, Width};
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_math::CpuLevel;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, types};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module};
use std::collections::HashSet;

/// Bytes by which arrays are off the allocator's alignment: elements are aligned, registers are not.
pub(super) const SKEW: usize = 8;

/// Bytes of one array.
pub(super) const ARRAY: usize = 16 * 8;

/// What makes machine code, and for which machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BackEnd {
    /// Cranelift's for this machine.
    Own,
    /// The wide one, for vectors of a width.
    Wide(Width),
    /// Cranelift's for AArch64, whatever this machine is.
    AArch64,
}

/// A set of instructions, and numerics on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub back_end: BackEnd,
    /// Flags of the instruction set, or those of this machine.
    pub features: Option<&'static [&'static str]>,
    pub fused: bool,
}

impl Target {
    /// Every target that kernels are compiled for, and the leanest that Cranelift accepts.
    pub fn all() -> Vec<Target> {
        let target = |features, fused| Target { back_end: BackEnd::Own, features, fused };
        let mut targets = vec![target(None, false), target(Some(&[]), false)];
        if CpuLevel::detect().is_fused() {
            targets.push(target(None, true));
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("sse4.2") {
            const SSE: &[&str] = &["has_sse3", "has_ssse3", "has_sse41", "has_sse42"];
            targets.push(target(Some(SSE), false));
        }
        targets.extend(Target::wide());
        if !cfg!(target_arch = "aarch64") {
            targets.extend(
                [false, true].map(|fused| Target { back_end: BackEnd::AArch64, ..target(Some(&[]), fused) }),
            );
        }
        targets
    }

    /// The wide back end, where there is one, as far as this machine runs its code: all levels that it serves are
    /// fused.
    pub fn wide() -> Vec<Target> {
        let mut targets = Vec::new();
        for (width, level) in [(Width::Ymm, CpuLevel::Avx2Fma), (Width::Zmm, CpuLevel::Avx512)] {
            let target = Target { back_end: BackEnd::Wide(width), features: None, fused: true };
            if !wide::serves(&*target.isa()) {
                break;
            }
            if level.is_supported() {
                targets.push(target);
            } else {
                eprintln!(
                    "NOT RUN: code with vectors of {} bytes, which this machine has none of",
                    width.bytes()
                );
            }
        }
        targets
    }

    pub fn isa(self) -> OwnedTargetIsa {
        let mut flags = settings::builder();
        for (name, value) in [("opt_level", "speed"), ("enable_verifier", "true"), ("is_pic", "false")] {
            flags.set(name, value).expect("a flag of Cranelift");
        }
        let flags = settings::Flags::new(flags);
        if self.back_end == BackEnd::AArch64 {
            return emulator::aarch64(flags);
        }
        let mut builder =
            cranelift_native::builder_with_options(self.features.is_none()).expect("a known host");
        for feature in self.features.unwrap_or_default() {
            builder.enable(feature).expect("a feature of the host's architecture");
        }
        builder.finish(flags).expect("valid flags")
    }
}

/// What a function under test gets: where its inputs and outputs are, and a number.
#[derive(Clone, Copy)]
pub(super) struct Params {
    pub source: ir::Value,
    pub target: ir::Value,
    pub number: ir::Value,
}

type Function = extern "C" fn(*const u8, *mut u8, i64);

/// Emits a function of [`Params`] into an empty one.
pub(super) fn build(
    func: &mut ir::Function,
    isa: &dyn TargetIsa,
    host: Host,
    fused: bool,
    notes: &mut Notes,
    emit: impl FnOnce(&mut Emitter<'_, '_>, Params),
) {
    func.signature = ir::Signature::new(isa.default_call_conv());
    func.signature.params.extend([AbiParam::new(types::I64); 3]);
    let mut scratch = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(func, &mut scratch);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let (source, target, number) = match builder.block_params(block) {
        [source, target, number] => (*source, *target, *number),
        _ => panic!("three parameters"),
    };
    let level = match (fused, host.has_avx512()) {
        (false, _) => CpuLevel::Baseline,
        (true, false) => CpuLevel::Avx2Fma,
        (true, true) => CpuLevel::Avx512,
    };
    let mut emitter = Emitter::new(&mut builder, host, level, notes);
    emit(&mut emitter, Params { source, target, number });
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(isa.frontend_config());
}

/// Where machine code goes.
enum Memory<'c> {
    /// This machine's, with what each function is there.
    Own(Box<JITModule>, Vec<FuncId>),
    /// That of a program for an emulator, with where each function is in it: nowhere if it calls one of this machine.
    Emulated(Program<'c>, Vec<Option<usize>>),
}

/// Functions under test.
pub(super) struct Code<'c> {
    /// `None` only while dropping.
    memory: Option<Memory<'c>>,
    isa: OwnedTargetIsa,
    target: Target,
    /// What the functions do.
    pub notes: Notes,
}

impl<'c> Code<'c> {
    pub fn new(target: Target) -> Code<'c> {
        let isa = target.isa();
        let memory = match target.back_end {
            BackEnd::AArch64 => Memory::Emulated(Program::default(), Vec::new()),
            BackEnd::Own | BackEnd::Wide(_) => {
                // No instruction may come down to a library call.
                let no_library = Box::new(|call| panic!("library call {call:?}"));
                let module = JITModule::new(JITBuilder::with_isa(isa.clone(), no_library));
                Memory::Own(Box::new(module), Vec::new())
            }
        };
        Code { memory: Some(memory), isa, target, notes: Notes::default() }
    }

    /// Compiles a function; gives its index. There is nothing in it that the wide back end would not know.
    pub fn add(&mut self, name: &str, emit: impl FnOnce(&mut Emitter<'_, '_>, Params)) -> usize {
        let Code { isa, target, notes, .. } = self;
        let mut context = Context::new();
        let vector_bytes = match target.back_end {
            BackEnd::Wide(width) => width.bytes(),
            _ => VECTOR_BYTES,
        };
        let host = Host::of(&**isa).with_vector_bytes(vector_bytes);
        build(&mut context.func, &**isa, host, target.fused, notes, emit);
        let clif = context.func.to_string();
        let defined = match self.memory.as_mut().expect("memory until it is dropped") {
            Memory::Own(module, functions) => define(module, functions, *target, &mut context),
            Memory::Emulated(program, functions) => program.define(&mut context, &**isa).map(|place| {
                functions.push(place);
                functions.len() - 1
            }),
        };
        defined.unwrap_or_else(|error| panic!("{target:?}: {name} does not compile: {error}\n{clif}"))
    }

    /// Makes the functions callable.
    pub fn finish(&mut self) {
        match self.memory.as_mut().expect("memory") {
            Memory::Own(module, _) => module.finalize_definitions().expect("memory for code"),
            Memory::Emulated(_, functions) => {
                let left_out = functions.iter().filter(|place| place.is_none()).count();
                eprintln!(
                    "{:?}: {} functions, {left_out} of which call others and are not run",
                    self.target,
                    functions.len()
                );
            }
        }
    }

    /// Whether calls are done: not by an emulator that is not there, nor of functions of another machine.
    pub fn runs(&self, function: usize) -> bool {
        match self.memory.as_ref().expect("memory") {
            Memory::Own(..) => true,
            Memory::Emulated(_, functions) => functions[function].is_some() && emulator::is_installed(),
        }
    }

    /// Calls a function with an array to read, one to write to and a number, and checks what is written: now, or after
    /// more calls, and by [`Code::check_all`] at the latest.
    pub fn call(
        &mut self,
        function: usize,
        source: &[u8],
        target: &mut [u8],
        number: i64,
        check: impl FnOnce(&[u8]) + 'c,
    ) {
        match self.memory.as_mut().expect("memory") {
            Memory::Own(module, functions) => {
                let address = module.get_finalized_function(functions[function]);
                // SAFETY: `add` declared this signature, and the module lives; the tests access arrays in bounds only.
                let function = unsafe { std::mem::transmute::<*const u8, Function>(address) };
                function(source.as_ptr(), target.as_mut_ptr(), number);
                check(target);
            }
            Memory::Emulated(program, functions) => {
                let place = functions[function].expect("a function that runs");
                let zero = Word::Number(0);
                program.submit(Job {
                    source: source.to_vec(),
                    pointers: Vec::new(),
                    target: target.to_vec(),
                    calls: vec![(
                        place,
                        [Word::Source(0), Word::Target(0), Word::Number(number), zero, zero],
                    )],
                    check: Box::new(check),
                });
            }
        }
    }

    /// Checks what is still to be checked.
    pub fn check_all(&mut self) {
        if let Memory::Emulated(program, _) = self.memory.as_mut().expect("memory") {
            program.run();
        }
    }
}

impl Drop for Code<'_> {
    fn drop(&mut self) {
        if let Some(Memory::Own(module, _)) = self.memory.take() {
            // SAFETY: no function runs, and no pointer to one is kept.
            unsafe { module.free_memory() };
        }
    }
}

/// Defines a function in memory of this machine; gives its index.
fn define(
    module: &mut JITModule,
    functions: &mut Vec<FuncId>,
    target: Target,
    context: &mut Context,
) -> Result<usize, String> {
    let id = module.declare_anonymous_function(&context.func.signature).expect("a new function");
    if let BackEnd::Wide(width) = target.back_end {
        wide::optimise(context, module.isa()).expect("valid CLIF");
        let code = wide::compile(context, width).map_err(|error| format!("{error:?}"))?;
        let defined = module.define_function_bytes(id, wide::ALIGNMENT, &code.bytes, &[]);
        defined.expect("memory for code");
    } else {
        module.define_function(id, context).map_err(|error| format!("{error:?}"))?;
    }
    functions.push(id);
    Ok(functions.len() - 1)
}

/// Writes a scalar into memory, where `index` counts elements of its dtype.
pub(super) fn put(memory: &mut [u8], index: usize, value: Scalar) {
    let size = value.dtype().size();
    memory[index * size..][..size].copy_from_slice(&value.bits().to_le_bytes()[..size]);
}

/// Reads a scalar from memory.
pub(crate) fn get(memory: &[u8], index: usize, dtype: DType) -> Scalar {
    let size = dtype.size();
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(&memory[index * size..][..size]);
    let bits = u64::from_le_bytes(bytes);
    match dtype {
        DType::Bool => {
            assert!(bits < 2, "a bool in memory is 0 or 1, not {bits}");
            Scalar::Bool(bits == 1)
        }
        DType::F16 => Scalar::F16(half::f16::from_bits(bits as u16)),
        DType::Bf16 => Scalar::Bf16(half::bf16::from_bits(bits as u16)),
        DType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
        DType::F64 => Scalar::F64(f64::from_bits(bits)),
        // Integers wrap.
        _ => Scalar::U64(bits).cast(dtype),
    }
}

/// The most cases of a test that are all run on each target.
const MANY: usize = 64;

/// Emits a value from values.
pub(super) type Emit = Box<dyn Fn(&mut Emitter<'_, '_>, &[Val]) -> Val>;

/// The lanes of a result for the lanes of the operands.
pub(super) type Expect = Box<dyn Fn(&[Vec<Scalar>]) -> Vec<Scalar>>;

/// A function from some values to one, and what it must give.
pub(super) struct Case {
    pub name: String,
    /// Dtype and lanes of each operand.
    pub operands: Vec<(DType, usize)>,
    /// Width that masks are given after loading.
    pub mask_width: u8,
    pub emit: Emit,
    pub expect: Expect,
    /// Values of the operands; each tuple fills one lane.
    pub tuples: Vec<Vec<Scalar>>,
}

/// Runs the cases on all targets: by default a third of them on each, chosen so that each case is run on several targets and each
/// target has all kinds; all of them with `BROADLOOM_DEEP`.
pub(super) fn check(cases: impl Fn(Target) -> Vec<Case>) {
    const PARTS: u32 = 3;
    let is_deep = std::env::var_os("BROADLOOM_DEEP").is_some();
    for (part, target) in (0..).zip(Target::all()) {
        let mut cases = cases(target);
        if !is_deep && cases.len() > MANY {
            // Without a pattern, because lists of cases have one.
            let mut number = 0_u32;
            cases.retain(|_| {
                number += 1;
                (number.wrapping_mul(2_654_435_761) >> 16) % PARTS == part % PARTS
            });
        }
        let mut code = Code::new(target);
        for case in &cases {
            code.add(&case.name, |emitter, params| {
                let operands: Vec<Val> = (0..)
                    .zip(&case.operands)
                    .map(|(at, (dtype, lanes))| {
                        let offset = at * ARRAY as i32;
                        let value = emitter.load(params.source, offset, *dtype, *lanes, LaneStride::Unit);
                        if value.is_mask() { emitter.resize_mask(&value, case.mask_width) } else { value }
                    })
                    .collect();
                let result = (case.emit)(emitter, &operands);
                emitter.store(params.target, 0, &result, LaneStride::Unit);
            });
        }
        code.finish();
        for (function, case) in cases.iter().enumerate() {
            if code.runs(function) {
                run(&mut code, function, case, target);
            }
        }
        code.check_all();
    }
}

fn run<'c>(code: &mut Code<'c>, function: usize, case: &'c Case, target: Target) {
    let lanes = case.operands.iter().map(|(_, lanes)| *lanes).max().expect("an operand");
    let cycle = || case.tuples.iter().cycle();
    for start in (0..case.tuples.len()).step_by(lanes) {
        let mut source = vec![0; SKEW + ARRAY * case.operands.len()];
        let mut values = Vec::new();
        for (at, (dtype, lanes)) in case.operands.iter().enumerate() {
            let lanes: Vec<Scalar> = cycle().skip(start).take(*lanes).map(|tuple| tuple[at]).collect();
            for (index, value) in lanes.iter().enumerate() {
                assert_eq!(value.dtype(), *dtype);
                put(&mut source[SKEW + at * ARRAY..], index, *value);
            }
            values.push(lanes);
        }
        let expected = (case.expect)(&values);
        let mut result = vec![0xa5; SKEW + 2 * ARRAY];
        code.call(function, &source[SKEW..], &mut result[SKEW..], 0, move |result| {
            for (index, expected) in expected.iter().enumerate() {
                let got = get(result, index, expected.dtype());
                assert!(
                    got.same(*expected),
                    "{target:?} {}: lane {index} is {got} and not {expected}, of {values:?}",
                    case.name
                );
            }
            let size = expected.len() * expected[0].dtype().size();
            assert!(
                result[size..].iter().all(|byte| *byte == 0xa5),
                "{}: stores beyond its lanes",
                case.name
            );
        });
    }
}

/// Values of a dtype at which something changes.
pub(super) fn corners(dtype: DType) -> Vec<Scalar> {
    let mut values: Vec<Scalar> = match dtype.class() {
        Class::Bool => [false, true].map(Scalar::Bool).to_vec(),
        Class::Int => integer_corners().into_iter().map(|value| Scalar::I64(value).cast(dtype)).collect(),
        Class::Float => float_corners(dtype),
    };
    let mut seen = HashSet::new();
    values.retain(|value| seen.insert(value.bits()));
    values
}

/// The ends of every width, signed and unsigned, and of what floats hold of them, which wrap in narrower dtypes.
fn integer_corners() -> Vec<i64> {
    let small = [0, 1, 2, 3, 7, 31, 33, 100, 170];
    let ends =
        [8, 16, 24, 31, 32, 53].into_iter().flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
    let ties = [2049, 46_341, 65_519, 65_520, 4_294_967_167, 6_442_450_944, 36_028_799_166_447_617];
    // Without a sign, just above the middle of two floats.
    let middles = [i64::MIN + 1025, i64::MIN + (1 << 39) + 1];
    let wide = [i64::MIN, i64::MIN + 1, i64::MIN + 513, i64::MAX, i64::MAX - 512, 128, 32_768, 32_767, 127];
    small
        .into_iter()
        .chain(ends)
        .chain(ties)
        .flat_map(|value| [value, -value])
        .chain(wide)
        .chain(middles)
        .collect()
}

fn float_corners(dtype: DType) -> Vec<Scalar> {
    let small = [0.0, 0.3, 0.5, 0.499_999_97, 0.999_999_94, 1.0, 1.5, 2.0, 2.5, 3.7, 100.25];
    let bytes = [127.5, 128.0, 254.5, 255.0, 255.996, 256.0, 1000.0, 32_767.5, 32_768.0, 65_535.5, 65_536.0];
    // Ties of 16-bit floats, to even above and below, and their upper ends.
    let ties = [
        1.0 + 0.5f64.powi(11),
        1.0 + 3.0 * 0.5f64.powi(11),
        1.0 + 0.5f64.powi(8),
        1.0 + 3.0 * 0.5f64.powi(8),
    ];
    let halves = [65_504.0, 65_519.999, 65_520.0, 3.389_531_389_251_535_5e38, 3.396_177_923_900_325e38];
    let large = [
        8_388_607.0,
        8_388_609.0,
        2_147_483_520.0,
        2_147_483_647.0,
        2_147_483_648.0,
        4_294_967_295.0,
        4_294_967_296.0,
    ];
    let huge = [
        4_503_599_627_370_495.5,
        9_223_372_036_854_774_784.0,
        9_223_372_036_854_775_808.0,
        18_446_744_073_709_549_568.0,
        18_446_744_073_709_551_616.0,
        3e38,
    ];
    // Least normal and subnormal numbers of every type, and ties between those.
    let tiny = [14, 24, 25, 126, 133, 134, 149, 150, 1022].map(|power| 0.5f64.powi(power));
    let tiny_ties =
        [(3.0, 25), (1.001, 25), (1023.5, 24), (3.0, 134), (1.000_000_1, 134), (127.5, 133), (3.0, 150)]
            .map(|(factor, power)| factor * 0.5f64.powi(power));
    let limits = [1e300, f64::MAX, 5e-324];
    let all = [&small[..], &bytes, &ties, &halves, &large, &huge, &tiny, &tiny_ties, &limits].concat();
    let specials = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let mut values: Vec<Scalar> = all
        .into_iter()
        .flat_map(|value| [value, -value])
        .chain(specials)
        .map(|value| Scalar::F64(value).cast(dtype))
        .collect();
    // A NaN with a sign and another payload.
    values.push(match dtype {
        DType::F16 => Scalar::F16(half::f16::from_bits(0xfe01)),
        DType::Bf16 => Scalar::Bf16(half::bf16::from_bits(0xffc1)),
        DType::F32 => Scalar::F32(f32::from_bits(0xffc0_0001)),
        _ => Scalar::F64(f64::from_bits(0xfff8_0000_0000_0001)),
    });
    values
}

/// All pairs of values.
pub(super) fn pairs(first: &[Scalar], second: &[Scalar]) -> Vec<Vec<Scalar>> {
    first.iter().flat_map(|x| second.iter().map(move |y| vec![*x, *y])).collect()
}
