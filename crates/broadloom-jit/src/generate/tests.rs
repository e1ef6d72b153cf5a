//! Every form of loop for AArch64: compiled on any machine, and run by an emulator where one is installed.

#[path = "../../../../tests/cases/expressions.rs"]
pub(crate) mod expressions;
#[path = "../../tests/host/mod.rs"]
mod host;

use super::{generate, signature};
use crate::emit::Host;
use crate::emit::tests::get;
use crate::emulator::{ALIGNMENT, Job, Program, SKEW, Word, aarch64, is_installed};
use crate::module::{JitOptions, flags, target_of};
use crate::notes::Notes;
use broadloom_ir::interp::{Array, interpret};
use broadloom_loops::kernel::{Kernel, Role, Schedule};
use broadloom_loops::{LowerOptions, lower};
use broadloom_math::CpuLevel;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{Function, UserFuncName};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use host::{Sizes, arrays, bytes, symbols};

/// Adds a kernel to a program. Returns its position there, unless it calls a function.
fn define(program: &mut Program<'_>, kernel: &Kernel, level: CpuLevel, isa: &dyn TargetIsa) -> Option<usize> {
    let config = isa.frontend_config();
    let call_conv = config.default_call_conv;
    let mut context = Context::new();
    context.func = Function::with_name_signature(UserFuncName::default(), signature(call_conv));
    let mut scratch = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    let mut notes = Notes::default();
    generate(builder, kernel, &JitOptions::of(level), Host::of(isa), &mut notes, config)
        .expect("code for it");
    let clif = context.func.to_string();
    program.define(&mut context, isa).unwrap_or_else(|error| panic!("{error}\n{clif}"))
}

/// Runs the kernels of a schedule on the same memory: scratch memory, followed by the buffers.
fn job<'c>(
    schedule: &Schedule,
    places: &[usize],
    inputs: &[Array],
    symbols: &[i64],
    check: impl FnOnce(usize, &[u8]) + Clone + 'c,
) -> Job<'c> {
    let host = host::Host { schedule, symbols: symbols.to_vec(), groups: 1 };
    let scratch = ALIGNMENT - SKEW;
    let mut target: Vec<u8> = Vec::new();
    let longest = schedule.kernels.iter().map(Kernel::scratch_bytes).max().unwrap_or(0);
    target.resize(scratch + longest.next_multiple_of(ALIGNMENT) + ALIGNMENT, 0);
    let mut starts = Vec::new();
    let mut outputs = Vec::new();
    for buffer in &schedule.buffers {
        starts.push(target.len());
        match buffer.role {
            Role::Input(input) => target.extend(bytes(&inputs[input.index()])),
            Role::Output(_) | Role::Temporary => {
                let count: i64 = buffer.shape.iter().map(|dim| host.evaluate(dim)).product();
                let end = target.len() + count as usize * buffer.dtype.size();
                if matches!(buffer.role, Role::Output(_)) {
                    outputs.push(target.len()..end);
                }
                target.resize(end, 0xa5);
            }
        }
        target.resize(target.len().next_multiple_of(ALIGNMENT), 0);
    }
    let starts: Vec<usize> = schedule.last_versions().iter().map(|last| starts[last.index()]).collect();
    let (mut source, mut pointers, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for (kernel, place) in schedule.kernels.iter().zip(places) {
        let args = Word::Source(source.len());
        let params: Vec<i64> = kernel.params.iter().map(|param| host.evaluate(param)).collect();
        source.extend(params.iter().flat_map(|param| param.to_le_bytes()));
        for access in &kernel.accesses {
            if let Some(buffer) = access.buffer {
                let offset = host.evaluate(&access.offset) * access.dtype.size() as i64;
                let start = starts[buffer.index()].wrapping_add_signed(offset as isize);
                pointers.push((source.len(), Word::Target(start)));
                source.extend([0; 8]);
            }
        }
        let extent = host.evaluate(&kernel.steps().unwrap());
        for [first, last] in [[0, extent / 3], [extent / 3, extent]] {
            let [first, last, failure] = [first, last, 0].map(Word::Number);
            calls.push((*place, [args, first, last, Word::Target(scratch), failure]));
        }
    }
    let check = move |memory: &[u8]| {
        for (index, range) in outputs.into_iter().enumerate() {
            check.clone()(index, &memory[range]);
        }
    };
    Job { source, pointers, target, calls, check: Box::new(check) }
}

#[test]
fn kernels_for_aarch64_agree_with_the_interpreter() {
    let sizes: [Sizes; 3] = [
        [("n", 5), ("m", 7), ("k", 3)].into(),
        [("n", 70), ("m", 33), ("k", 17)].into(),
        [("n", 3), ("m", 1100), ("k", 2)].into(),
    ];
    let isa = aarch64(flags(true).expect("flags of Cranelift"));
    let cases = expressions::of_every_form();
    let (mut compiled, mut run) = (0, 0);
    for (level, vectorize) in
        [CpuLevel::Neon, CpuLevel::Baseline].into_iter().flat_map(|level| [true, false].map(|v| (level, v)))
    {
        let mut program = Program::default();
        for (name, build) in &cases {
            let graph = expressions::graph(*build);
            let dense = LowerOptions::dense(&graph, level.is_fused());
            let options = LowerOptions { vectorize, target: target_of(level, usize::MAX), ..dense };
            let schedule = lower(&graph, &options).expect("a schedule");
            // All are compiled, including those that call functions.
            let places: Vec<Option<usize>> =
                schedule.kernels.iter().map(|kernel| define(&mut program, kernel, level, &*isa)).collect();
            compiled += places.len();
            let Some(places) = places.into_iter().collect::<Option<Vec<usize>>>() else { continue };
            if !is_installed() {
                continue;
            }
            run += places.len();
            for sizes in &sizes {
                let symbols = symbols(&graph, sizes);
                let inputs = arrays(&graph, &symbols);
                let expected = interpret(&graph, &inputs, level.is_fused()).expect("values");
                let check = move |output: usize, found: &[u8]| {
                    let Array { dtype, elements, shape } = &expected[output];
                    for (at, expected) in elements.iter().enumerate() {
                        let got = get(found, at, *dtype);
                        // Any NaN stands for any other: machines make different NaNs.
                        assert!(
                            got.same(*expected),
                            "{name}, output {output}, {level:?}, vectorize {vectorize}: element {at} of {shape:?} is {got} and not {expected}"
                        );
                    }
                };
                program.submit(job(&schedule, &places, &inputs, &symbols, check));
            }
        }
        program.run();
    }
    eprintln!("{compiled} kernels, {run} of them run");
}
