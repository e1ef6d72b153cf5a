//! Code memory, and the only calls into it.
#![allow(unsafe_code, reason = "machine code is called through pointers and its memory is freed by hand")]

use crate::assembly::{self, Instruction};
use crate::emit::{Host, VECTOR_BYTES};
use crate::failure::{Failure, Watch};
use crate::generate::{generate, signature};
use crate::notes::{LoopCode, Notes};
use crate::wide::{self, Registers, Width};
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_loops::Target;
use broadloom_loops::kernel::{Kernel, KernelId, Schedule};
use broadloom_math::{CpuLevel, Stop};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{Function, UserFuncName};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module as _, default_libcall_names};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Mutex;

/// Options for compiling kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JitOptions {
    /// The instructions that may be used, and the numerics that go with them.
    pub level: CpuLevel,
    /// The size in bytes of the widest vectors to use. 16 bytes work on every machine; x86-64 (except on Windows)
    /// supports 32 with AVX2 and 64 with AVX-512.
    pub vector_bytes: usize,
    /// Whether the CLIF and the assembly are kept as text, with the statements that instructions belong to.
    pub keep_text: bool,
    /// The instructions after which loops look whether the run should end; `None` if they never do. The results are the same either
    /// way.
    pub looks_after: Option<u32>,
    /// Whether Cranelift verifies its input; on in debug builds and tests.
    pub verify: bool,
}

impl Default for JitOptions {
    /// Returns the level of this machine, without text, for runs that nothing ends, and with verification in debug builds.
    fn default() -> Self {
        JitOptions::of(CpuLevel::detect())
    }
}

impl JitOptions {
    /// Returns options for a level with the widest vectors available, without text, for runs that nothing ends, and with
    /// verification in debug builds.
    pub fn of(level: CpuLevel) -> JitOptions {
        let verify = cfg!(debug_assertions);
        JitOptions { level, vector_bytes: usize::MAX, keep_text: false, looks_after: None, verify }
    }
}

/// The reason why kernels could not be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The CPU lacks the instructions of the level, or Cranelift has no back end for it.
    #[error("this machine cannot run code for the cpu level `{}`", level.name())]
    Level {
        /// The requested level.
        level: CpuLevel,
    },
    /// Cranelift rejected a kernel: a bug, or more code than it supports.
    #[error("kernel {kernel} was refused by the code generator: {reason}")]
    Kernel {
        /// The kernel.
        kernel: KernelId,
        /// Cranelift's message.
        reason: String,
    },
    /// Memory for code was not available, or could not be protected.
    #[error("memory for machine code could not be prepared: {reason}")]
    Memory {
        /// The system's message.
        reason: String,
    },
}

/// Returns what schedules may know of the machine on which code of a level runs, with vectors of at most some bytes.
///
/// Vectors are those that every code generator supports: how many lanes loops have does not depend on which one compiles
/// a kernel.
/// Cache sizes are the smallest on machines of the level, not those of this machine: virtual machines often report
/// wrong sizes, and a schedule can be read without knowing where it was made.
pub fn target_of(level: CpuLevel, vector_bytes: usize) -> Target {
    let registers = match level {
        CpuLevel::Baseline | CpuLevel::Avx2Fma | CpuLevel::Avx512 => 16,
        CpuLevel::Neon => 32,
    };
    // Tile functions have wider vectors than code that Cranelift makes for x86-64.
    let has_code = cfg!(all(target_arch = "x86_64", unix));
    let is_used = |width: &Width| has_code && width.is_of(level) && width.bytes() <= vector_bytes;
    let widest_bytes = Width::ALL.into_iter().filter(is_used).map(Width::bytes).max().unwrap_or(VECTOR_BYTES);
    Target { vector_bytes: VECTOR_BYTES, widest_bytes, registers, ..Target::NOMINAL }
}

/// A kernel that does not belong to the compiled schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the machine code belongs to another schedule without kernel {0}; this is a bug in Broadloom, please report it"
)]
pub struct UnknownKernel(pub KernelId);

/// The type of every kernel: `fn(args, first, last, scratch, watch)`.
type Entry = unsafe extern "C" fn(*const u64, i64, i64, *mut u8, *mut Watch<'_>);

struct Compiled {
    entry: Entry,
    vectors: Vectors,
    loops: Vec<LoopCode>,
    clif: Option<String>,
    disassembly: Option<String>,
    instructions: Vec<Instruction>,
}

/// The vectors of a kernel's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vectors {
    /// Bytes of a vector.
    pub bytes: usize,
    /// The use of registers, where it is known: in the code of our own back end.
    pub registers: Option<Registers>,
}

/// The compiled kernels of a schedule. Owns their memory, which is freed when the last owner drops the module.
pub struct Module {
    /// The code of each kernel, as an index into `codes`: kernels that do the same to other arrays share it.
    kernels: Vec<usize>,
    codes: Vec<Compiled>,
    /// Where the code of each kernel begins: loops over short steps call one every few nanoseconds.
    entries: Vec<Entry>,
    scalar_calls: Vec<(Op, DType)>,
    code_bytes: usize,
    /// `None` only while dropping. A `JITModule` is not `Sync`; its only use here is to be freed.
    memory: Mutex<Option<JITModule>>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("kernels", &self.kernels.len())
            .field("code_bytes", &self.code_bytes)
            .finish()
    }
}

/// Compiles the kernels of a schedule.
///
/// # Errors
/// Returns an error if this machine does not support the level, if Cranelift rejects a kernel, or if memory for
/// code is not available.
pub fn compile(schedule: &Schedule, options: &JitOptions) -> Result<Module, CompileError> {
    let isa = target(options)?;
    let host = Host::of(&*isa);
    let mut definer = Definer {
        options,
        host,
        memory: JITModule::new(JITBuilder::with_isa(isa, default_libcall_names())),
        context: Context::new(),
        builder_context: FunctionBuilderContext::new(),
        scalar_calls: BTreeSet::new(),
        code_bytes: 0,
    };
    match definer.define_all(schedule) {
        Ok((kernels, codes)) => {
            let Definer { memory, scalar_calls, code_bytes, .. } = definer;
            let scalar_calls = scalar_calls.into_iter().collect();
            let entries = kernels.iter().map(|code| codes[*code].entry).collect();
            Ok(Module { kernels, codes, entries, scalar_calls, code_bytes, memory: Mutex::new(Some(memory)) })
        }
        Err(error) => {
            // SAFETY: no pointer into the memory has left `define_all`, which failed.
            unsafe { definer.memory.free_memory() };
            Err(error)
        }
    }
}

/// Defines functions in code memory.
struct Definer<'o> {
    options: &'o JitOptions,
    host: Host,
    memory: JITModule,
    context: Context,
    builder_context: FunctionBuilderContext,
    scalar_calls: BTreeSet<(Op, DType)>,
    code_bytes: usize,
}

/// A function in code memory.
struct Defined {
    id: FuncId,
    vectors: Vectors,
    loops: Vec<LoopCode>,
    clif: Option<String>,
    disassembly: Option<String>,
    instructions: Vec<Instruction>,
}

impl Definer<'_> {
    /// Defines the code of all kernels. Returns which code each one has, and the code.
    fn define_all(&mut self, schedule: &Schedule) -> Result<(Vec<usize>, Vec<Compiled>), CompileError> {
        let mut defined: Vec<Defined> = Vec::new();
        let mut kernels = Vec::with_capacity(schedule.kernels.len());
        // The kernels whose code is defined, with the number of that, by what is compared most easily.
        let mut known: HashMap<[usize; 3], Vec<(&Kernel, usize)>> = HashMap::new();
        for (index, kernel) in schedule.kernels.iter().enumerate() {
            let alike =
                known.entry([kernel.values.len(), kernel.accesses.len(), kernel.params.len()]).or_default();
            if let Some((_, code)) = alike.iter().find(|(other, _)| kernel.has_code_of(other)) {
                kernels.push(*code);
                continue;
            }
            alike.push((kernel, defined.len()));
            kernels.push(defined.len());
            let refused = |reason: String| CompileError::Kernel { kernel: KernelId::new(index), reason };
            let mut function = None;
            for width in self.widths() {
                function = self.define_wide(kernel, width).map_err(refused)?;
                if function.is_some() {
                    break;
                }
            }
            defined.push(match function {
                Some(function) => function,
                None => self.define(kernel).map_err(refused)?,
            });
        }
        self.memory
            .finalize_definitions()
            .map_err(|error| CompileError::Memory { reason: error.to_string() })?;
        let compiled = |defined: Defined| {
            let Defined { id, vectors, loops, clif, disassembly, instructions } = defined;
            let code = self.memory.get_finalized_function(id);
            // SAFETY: the code at the address was generated with the signature of `Entry` in the C calling
            // convention, and stays mapped until the module is dropped.
            let entry = unsafe { std::mem::transmute::<*const u8, Entry>(code) };
            Compiled { entry, vectors, loops, clif, disassembly, instructions }
        };
        Ok((kernels, defined.into_iter().map(compiled).collect()))
    }

    /// Emits a kernel into the context. Returns what its code does.
    fn emit(&mut self, kernel: &Kernel, host: Host) -> Result<Notes, String> {
        self.memory.clear_context(&mut self.context);
        self.context.set_disasm(self.options.keep_text);
        let config = self.memory.isa().frontend_config();
        let call_conv = config.default_call_conv;
        self.context.func = Function::with_name_signature(UserFuncName::default(), signature(call_conv));
        let builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder_context);
        let mut notes = Notes::default();
        generate(builder, kernel, self.options, host, &mut notes, config)?;
        Ok(notes)
    }

    fn declare(&mut self) -> Result<FuncId, String> {
        let signature = &self.context.func.signature;
        self.memory.declare_anonymous_function(signature).map_err(|error| error.to_string())
    }

    fn clif(&self) -> Option<String> {
        self.options.keep_text.then(|| self.context.func.display().to_string())
    }

    /// Defines a kernel with Cranelift.
    fn define(&mut self, kernel: &Kernel) -> Result<Defined, String> {
        let notes = self.emit(kernel, self.host)?;
        let clif = self.clif();
        let id = self.declare()?;
        self.memory.define_function(id, &mut self.context).map_err(|error| format!("{error:?}"))?;
        let code = self.context.compiled_code();
        self.code_bytes += code.map_or(0, |code| code.code_buffer().len());
        self.scalar_calls.extend(notes.called());
        let loops = notes.loops(&self.context, &[]);
        let disassembly = code.and_then(|code| code.vcode.clone());
        let text_of = code.filter(|_| self.options.keep_text);
        let instructions = text_of.map(assembly::of_cranelift).unwrap_or_default();
        let vectors = Vectors { bytes: VECTOR_BYTES, registers: None };
        Ok(Defined { id, vectors, loops, clif, disassembly, instructions })
    }

    /// Returns the register widths of the wide back end that may be used here.
    fn widths(&self) -> Vec<Width> {
        let JitOptions { level, vector_bytes, .. } = *self.options;
        let may = |width: &Width| width.is_of(level) && width.bytes() <= vector_bytes;
        let all = Width::ALL.into_iter().filter(|_| wide::serves(self.memory.isa()));
        all.filter(may).collect()
    }

    /// Defines a kernel with the wide back end, if that supports everything in the kernel.
    fn define_wide(&mut self, kernel: &Kernel, width: Width) -> Result<Option<Defined>, String> {
        let notes = self.emit(kernel, self.host.with_vector_bytes(width.bytes()))?;
        let clif = self.clif();
        wide::optimise(&mut self.context, self.memory.isa()).map_err(|error| error.to_string())?;
        let Ok(code) = wide::compile(&self.context, width) else { return Ok(None) };
        let id = self.declare()?;
        self.memory
            .define_function_bytes(id, wide::ALIGNMENT, &code.bytes, &[])
            .map_err(|error| error.to_string())?;
        self.code_bytes += code.bytes.len();
        self.scalar_calls.extend(notes.called());
        let loops = notes.loops(&self.context, &code.loops);
        let kept = self.options.keep_text.then(|| code.assembly());
        let disassembly = kept.as_deref().map(assembly::text);
        let instructions = kept.unwrap_or_default();
        let vectors = Vectors { bytes: width.bytes(), registers: Some(code.registers) };
        Ok(Some(Defined { id, vectors, loops, clif, disassembly, instructions }))
    }
}

/// Returns the instruction set of a level.
fn target(options: &JitOptions) -> Result<OwnedTargetIsa, CompileError> {
    let unsupported = || CompileError::Level { level: options.level };
    if !options.level.is_supported() {
        return Err(unsupported());
    }
    isa_of(options).ok_or_else(unsupported)
}

/// Returns the instruction set of a level, whether or not this machine has it; does not query the machine.
fn isa_of(options: &JitOptions) -> Option<OwnedTargetIsa> {
    let mut builder = cranelift_native::builder_with_options(false).ok()?;
    for feature in options.level.features().filter(|feature| !UNUSED.contains(feature)) {
        builder.enable(&setting(feature)).ok()?;
    }
    builder.finish(flags(options.verify)?).ok()
}

/// Returns the settings for compiling kernels on every target.
pub(crate) fn flags(verify: bool) -> Option<settings::Flags> {
    let mut flags = settings::builder();
    let set = [
        ("opt_level", "speed"),
        ("enable_verifier", if verify { "true" } else { "false" }),
        ("is_pic", "false"),
        ("unwind_info", "false"),
        // Frames may be larger than a guard page; the probes are inline, because there is no library to call.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ];
    for (name, value) in set {
        flags.set(name, value).ok()?;
    }
    Some(settings::Flags::new(flags))
}

/// Extensions that tile functions or our own back end use, and that Cranelift does not know.
const UNUSED: &[&str] = &["avx512bw", "avx512cd", "f16c"];

/// Returns Cranelift's name of an extension: `has_sse41` for `sse4.1`.
fn setting(feature: &str) -> String {
    format!("has_{}", feature.replace('.', ""))
}

impl Module {
    /// Runs the steps `range` of those that threads share; pass `0..1` for a kernel without one. Code that [looks](JitOptions::looks_after)
    /// ends early once `stop` is due, and so do functions that take long: what has been written is unspecified then.
    ///
    /// # Safety
    /// `args` are the values of the kernel's params followed, for every access with a buffer, by the address of the
    /// element at its offset, in the order of the compiled schedule. Every element that the accesses reach over the
    /// axes' extents (and `range`) is valid to read, or to write if it is stored to, and no other thread touches
    /// the stored elements meanwhile. `scratch` is aligned to 64 and has the kernel's scratch bytes, for this call
    /// alone.
    ///
    /// # Errors
    /// Returns an error if the compiled schedule has no such kernel.
    #[inline]
    pub unsafe fn run(
        &self,
        kernel: KernelId,
        args: &[u64],
        range: Range<i64>,
        scratch: *mut u8,
        stop: &Stop<'_>,
        failure: &mut Failure,
    ) -> Result<(), UnknownKernel> {
        let entry = *self.entries.get(kernel.index()).ok_or(UnknownKernel(kernel))?;
        let mut watch = Watch { stop, failure };
        // SAFETY: the code stays mapped while `self` lives; the caller vouches for the pointers.
        unsafe { entry(args.as_ptr(), range.start, range.end, scratch, &raw mut watch) };
        Ok(())
    }

    fn code(&self, kernel: KernelId) -> Option<&Compiled> {
        self.codes.get(*self.kernels.get(kernel.index())?)
    }

    /// Returns the CLIF of a kernel, if it was kept.
    pub fn clif(&self, kernel: KernelId) -> Option<&str> {
        self.code(kernel)?.clif.as_deref()
    }

    /// Returns the assembly of a kernel, if it was kept.
    pub fn disassembly(&self, kernel: KernelId) -> Option<&str> {
        self.code(kernel)?.disassembly.as_deref()
    }

    /// Returns the instructions of a kernel in order, if the text was kept.
    pub fn instructions(&self, kernel: KernelId) -> &[Instruction] {
        self.code(kernel).map_or(&[], |compiled| &compiled.instructions)
    }

    /// Returns the vectors of a kernel's code.
    pub fn vectors(&self, kernel: KernelId) -> Option<Vectors> {
        self.code(kernel).map(|compiled| compiled.vectors)
    }

    /// Returns the innermost loops of a kernel's code that step along axes, in the order of the code.
    pub fn loops(&self, kernel: KernelId) -> &[LoopCode] {
        self.code(kernel).map_or(&[], |compiled| &compiled.loops)
    }

    /// Returns the number of bytes of machine code.
    pub fn code_bytes(&self) -> usize {
        self.code_bytes
    }

    /// Returns the ops that call a function per element, with the dtypes of their operands.
    pub fn scalar_calls(&self) -> &[(Op, DType)] {
        &self.scalar_calls
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let memory = self.memory.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(memory) = memory.take() {
            // SAFETY: a running call borrows the module, so none is running, and no entry is called after this.
            unsafe { memory.free_memory() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Code uses exactly the extensions whose presence the level asks for.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn enabled_extensions_are_those_that_are_tested() {
        for level in [CpuLevel::Baseline, CpuLevel::Avx2Fma, CpuLevel::Avx512] {
            let isa = isa_of(&JitOptions { level, ..JitOptions::default() }).unwrap();
            let enabled: BTreeSet<String> = isa
                .isa_flags()
                .iter()
                .filter(|flag| flag.name.starts_with("has_") && flag.as_bool() == Some(true))
                .map(|flag| flag.name.to_string())
                .collect();
            let tested: BTreeSet<String> =
                level.features().filter(|feature| !UNUSED.contains(feature)).map(setting).collect();
            assert_eq!(enabled, tested, "{level}");
            assert_eq!(level == CpuLevel::Baseline, tested.is_empty());
        }
    }
}
