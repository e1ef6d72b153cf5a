//! Code in memory, and calls that detect changes of registers that a function has to preserve.
#![allow(unsafe_code, reason = "compiled functions are called through raw pointers")]

use super::hosts;
use crate::wide::{self, Code, Unsupported, Width};
use broadloom_math::CpuLevel;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, Function, Signature, UserFuncName, Value, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module as _};
use std::arch::global_asm;

/// Parameters of the functions under test: as many as arrive in registers.
pub(in crate::wide) const PARAMS: usize = 6;

/// The content of the callee-saved registers during a call.
const KEPT: [u64; 6] = [0x1b1b_0001, 0x1b1b_0002, 0x1b1b_0003, 0x1b1b_0004, 0x1b1b_0005, 0x1b1b_0006];

// Calls a function (rdi) with arguments (rsi). The callee-saved registers get the given content (rdx), all others garbage;
// their content after the call is written back to rdx.
global_asm!(
    ".globl broadloom_wide_test_call",
    "broadloom_wide_test_call:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "push rdx",
    "mov rax, rdi",
    "mov r10, rsi",
    "mov rbx, [rdx]",
    "mov rbp, [rdx + 8]",
    "mov r12, [rdx + 16]",
    "mov r13, [rdx + 24]",
    "mov r14, [rdx + 32]",
    "mov r15, [rdx + 40]",
    "mov rdi, [r10]",
    "mov rsi, [r10 + 8]",
    "mov rdx, [r10 + 16]",
    "mov rcx, [r10 + 24]",
    "mov r8, [r10 + 32]",
    "mov r9, [r10 + 40]",
    "mov r10, -1",
    "mov r11, r10",
    "vpcmpeqd ymm0, ymm0, ymm0",
    "vmovaps ymm1, ymm0",
    "vmovaps ymm2, ymm0",
    "vmovaps ymm7, ymm0",
    "vmovaps ymm8, ymm0",
    "vmovaps ymm15, ymm0",
    "call rax",
    "vzeroupper",
    "pop rdx",
    "mov [rdx], rbx",
    "mov [rdx + 8], rbp",
    "mov [rdx + 16], r12",
    "mov [rdx + 24], r13",
    "mov [rdx + 32], r14",
    "mov [rdx + 40], r15",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
);

unsafe extern "C" {
    fn broadloom_wide_test_call(function: *const u8, args: *const u64, kept: *mut u64);
}

/// The instruction set of this machine.
pub(in crate::wide) fn native() -> OwnedTargetIsa {
    let mut flags = settings::builder();
    for (name, value) in [("opt_level", "speed"), ("enable_verifier", "true"), ("is_pic", "false")] {
        flags.set(name, value).expect("a flag of Cranelift");
    }
    let builder = cranelift_native::builder().expect("a known host");
    builder.finish(settings::Flags::new(flags)).expect("valid flags")
}

/// The target of this machine, if the back end supports it and the machine has registers of this width.
pub(in crate::wide) fn isa(width: Width) -> Option<OwnedTargetIsa> {
    let isa = native();
    let level = match width {
        Width::Ymm => CpuLevel::Avx2Fma,
        Width::Zmm => CpuLevel::Avx512,
    };
    let runs = level.is_supported() && wide::serves(&*isa);
    if !runs {
        eprintln!("NOT RUN: code with vectors of {} bytes, which this machine has none of", width.bytes());
    }
    runs.then_some(isa)
}

/// The signature of the functions under test.
pub(in crate::wide) fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend([AbiParam::new(types::I64); PARAMS]);
    signature
}

/// A function of a signature, with its first block.
pub(in crate::wide) fn built(
    isa: &dyn TargetIsa,
    signature: Signature,
    emit: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]),
) -> Function {
    let mut func = Function::with_name_signature(UserFuncName::default(), signature);
    let mut scratch = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let params = builder.block_params(entry).to_vec();
    emit(&mut builder, &params);
    builder.seal_all_blocks();
    builder.finalize(isa.frontend_config());
    func
}

/// A function that is verified and optimised, as the back end requires.
pub(in crate::wide) fn optimised(isa: &dyn TargetIsa, func: &Function) -> Context {
    let mut context = Context::for_function(func.clone());
    if let Err(error) = context.verify(isa) {
        panic!("{error}\n{func}");
    }
    wide::optimise(&mut context, isa).unwrap_or_else(|error| panic!("{error}\n{func}\n{}", context.func));
    context
}

/// A module of functions under test.
pub(in crate::wide) struct Machine {
    module: Option<JITModule>,
    pub(in crate::wide) width: Width,
    pub(in crate::wide) isa: OwnedTargetIsa,
}

/// A function of a finished [`Machine`].
#[derive(Clone, Copy)]
pub(in crate::wide) struct Callable(FuncId);

impl Machine {
    /// Returns one for this machine, if it can run the code of the back end.
    pub(in crate::wide) fn new(width: Width) -> Option<Machine> {
        let isa = isa(width)?;
        let builder = JITBuilder::with_isa(isa.clone(), Box::new(|call| panic!("library call {call:?}")));
        Some(Machine { module: Some(JITModule::new(builder)), width, isa })
    }

    fn module(&mut self) -> &mut JITModule {
        self.module.as_mut().expect("a module until it is dropped")
    }

    /// Compiles a function by the wide back end.
    pub(in crate::wide) fn wide(&mut self, func: &Function) -> Result<Callable, Unsupported> {
        let Code { bytes, .. } = wide::compile(&optimised(&*self.isa, func), self.width)?;
        let id = self.module().declare_anonymous_function(&func.signature).expect("a declaration");
        self.module().define_function_bytes(id, wide::ALIGNMENT, &bytes, &[]).expect("memory for code");
        Ok(Callable(id))
    }

    /// Compiles a function by Cranelift.
    pub(in crate::wide) fn cranelift(&mut self, func: &Function) -> Callable {
        let mut func = func.clone();
        func.name = UserFuncName::default();
        let text = func.to_string();
        let id = self.module().declare_anonymous_function(&func.signature).expect("a declaration");
        if let Err(error) = self.module().define_function(id, &mut Context::for_function(func)) {
            panic!("{error:?}\n{text}");
        }
        Callable(id)
    }

    /// Finishes the functions, so that they can be called.
    pub(in crate::wide) fn finish(&mut self) {
        self.module().finalize_definitions().expect("memory for code");
    }

    /// Calls a function.
    ///
    /// # Safety
    /// Its loads and stores are valid for these arguments.
    pub(in crate::wide) unsafe fn call(&self, function: Callable, args: [u64; PARAMS]) {
        let module = self.module.as_ref().expect("a module until it is dropped");
        let mut kept = KEPT;
        let address = module.get_finalized_function(function.0);
        if self.width == Width::Zmm {
            hosts::disorder_above();
        }
        // SAFETY: the function has the signature of those under test, and the caller vouches for its arguments.
        unsafe { broadloom_wide_test_call(address, args.as_ptr(), kept.as_mut_ptr()) };
        assert_eq!(kept, KEPT, "registers that the caller keeps");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: no function runs, and no pointer to one is kept.
            unsafe { module.free_memory() };
        }
    }
}
