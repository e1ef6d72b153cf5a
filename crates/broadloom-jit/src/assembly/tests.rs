//! Source locations: each instruction has one of a statement of its kernel, and code is the same with and without them.

use super::{Instruction, of_cranelift};
use crate::emit::Host;
use crate::generate::tests::expressions;
use crate::generate::{generate, signature};
use crate::module::{JitOptions, flags, target_of};
use crate::notes::Notes;
use crate::wide::{self, Width};
use broadloom_loops::kernel::Kernel;
use broadloom_loops::{LowerOptions, lower};
use broadloom_math::CpuLevel;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, UserFuncName};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

/// Returns the code of a kernel by Cranelift, or by the wide back end if that supports it, and its instructions.
fn code(
    kernel: &Kernel,
    isa: &dyn TargetIsa,
    width: Option<Width>,
    locates: bool,
) -> Option<(Vec<u8>, Vec<Instruction>)> {
    let options = JitOptions { keep_text: locates, ..JitOptions::default() };
    let host = width.map_or(Host::of(isa), |width| Host::of(isa).with_vector_bytes(width.bytes()));
    let config = isa.frontend_config();
    let call_conv = config.default_call_conv;
    let mut context = Context::new();
    context.func = Function::with_name_signature(UserFuncName::default(), signature(call_conv));
    let mut scratch = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    generate(builder, kernel, &options, host, &mut Notes::default(), config).unwrap();
    match width {
        Some(width) => {
            wide::optimise(&mut context, isa).unwrap();
            let code = wide::compile(&context, width).ok()?;
            let instructions = code.assembly();
            Some((code.bytes, instructions))
        }
        None => {
            let code = context.compile(isa, &mut ControlPlane::default()).unwrap();
            Some((code.code_buffer().to_vec(), of_cranelift(code)))
        }
    }
}

#[test]
fn locations_change_no_code() {
    let level = CpuLevel::detect();
    let isa = cranelift_native::builder().unwrap().finish(flags(false).unwrap()).unwrap();
    let widths = Width::ALL.into_iter().filter(|width| width.is_of(level) && wide::serves(&*isa));
    let widths: Vec<Option<Width>> = widths.map(Some).chain([None]).collect();
    let mut compared = 0;
    for (name, build) in expressions::of_every_form() {
        let graph = expressions::graph(build);
        let dense = LowerOptions::dense(&graph, level.is_fused());
        let schedule =
            lower(&graph, &LowerOptions { target: target_of(level, usize::MAX), ..dense }).unwrap();
        for (kernel, width) in
            schedule.kernels.iter().flat_map(|kernel| widths.iter().map(move |w| (kernel, *w)))
        {
            let [plain, located] = [false, true].map(|locates| code(kernel, &*isa, width, locates));
            let (Some((plain, unlocated)), Some((bytes, instructions))) = (plain, located) else { continue };
            compared += 1;
            assert!(plain == bytes, "{name}: {width:?}\n{schedule}");
            assert!(unlocated.iter().all(|instruction| instruction.statement.is_none()), "{name}: {width:?}");
            let count = kernel.statements().count();
            let located = instructions.iter().filter_map(|instruction| instruction.statement);
            assert!(located.clone().all(|statement| statement < count), "{name}: {width:?}\n{schedule}");
            let is_decoded = cfg!(target_arch = "x86_64");
            assert_eq!(located.count() > 0, is_decoded, "{name}: {width:?}\n{schedule}");
        }
    }
    assert!(compared > 50, "{compared}");
}
