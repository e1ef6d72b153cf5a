//! CLIF of elementwise ops, casts, loads and stores on values of several lanes.
//!
//! ```text
//! value.rs       Val: a value of one neighbour, or of several in registers
//! memory.rs      load, store, gathers
//! transpose.rs   blocks of a table with its columns as lanes
//! lanes.rs       splat, lane, slice, concat, iota
//! intrinsics.rs  operations on vectors of 32 and 64 bytes that CLIF lacks
//! masks.rs       truth values in vectors: change of width, select
//! ops.rs         the one match on Op
//! casts.rs       every dtype to every other
//! halves.rs      floats of 16 bits, held as f32
//! floats.rs      ops on floats that take several instructions
//! products.rs    quotients of f64 by a divisor that does not change
//! functions.rs   elementary functions, by the operations of their definitions
//! integers.rs    ops on integers without vector instructions
//! reduce.rs      accumulate, compare for arg-reductions, fold lanes
//! ```
//!
//! Everything is exact: a lane has the bits that [`Op::evaluate`] or `Scalar::cast` gives for its element, with any
//! NaN for a NaN. If the target lacks a vector instruction, the op runs lane by lane, by scalar instructions or by
//! calls of the row's reference function; the calls are recorded, so that `explain()` can show them. Everything
//! lowers on x86-64 with only SSE2: otherwise Cranelift would fail to compile, or emit unresolved library calls.
//!
//! For the wide back end, every vector has 32 bytes, or every vector has 64, except halves that are loaded or stored.
//! Operations that CLIF lacks for these are intrinsics. Lanes are inserted only into the first 16 bytes of a
//! register, and then nothing reads the other bytes.

mod casts;
mod floats;
mod functions;
mod halves;
mod integers;
mod intrinsics;
mod lanes;
mod masks;
mod memory;
mod ops;
mod products;
mod quotients;
mod reduce;
#[cfg(test)]
pub(crate) mod tests;
mod transpose;
mod value;

pub(crate) use intrinsics::Intrinsic;
pub(crate) use masks::Narrowing;
pub(crate) use memory::LaneStride;
pub(crate) use value::{VECTOR_BYTES, Val};

use crate::notes::{Note, Notes};
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::ReferenceFn;
use broadloom_math::CpuLevel;
use cranelift_codegen::ir::{self, AbiParam, Endianness, InstBuilder, MemFlagsData, Signature, types};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_codegen::settings::Value as Setting;
use cranelift_frontend::FunctionBuilder;
use smallvec::SmallVec;
use value::{Regs, scalar_type, width_of};

/// The properties of the target that the emitter needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    call_conv: CallConv,
    pointer: ir::Type,
    /// Bytes of a vector register.
    pub vector_bytes: usize,
    /// Whether the target is x86-64, whose min, max and truncation instructions are worth a special case.
    is_x64: bool,
    /// Whether vectors can be rounded to integers, and bytes shuffled: SSE4.1 on x86-64 (which implies SSSE3).
    has_rounding: bool,
    /// Whether a comparison of float vectors may read an operand from unaligned memory. Cranelift 0.135 assumes so on
    /// every x86-64, but `cmpps` and `cmppd` without AVX fault.
    compares_unaligned: bool,
}

impl Host {
    /// The properties of an instruction set with its flags.
    pub(crate) fn of(isa: &dyn TargetIsa) -> Host {
        let is_x64 = isa.name() == "x64";
        let flags = isa.isa_flags();
        let has =
            |name: &str| flags.iter().any(|flag: &Setting| flag.name == name && flag.as_bool() == Some(true));
        Host {
            call_conv: isa.default_call_conv(),
            pointer: isa.pointer_type(),
            vector_bytes: VECTOR_BYTES,
            is_x64,
            has_rounding: !is_x64 || has("has_sse41"),
            compares_unaligned: !is_x64 || has("has_avx"),
        }
    }
}

impl Host {
    /// Returns this host with vector registers of another size.
    pub(crate) fn with_vector_bytes(self, vector_bytes: usize) -> Host {
        Host { vector_bytes, ..self }
    }
}

/// Emits instructions at the current position of a function builder.
pub(crate) struct Emitter<'a, 'f> {
    /// The builder that takes the instructions.
    pub builder: &'a mut FunctionBuilder<'f>,
    /// The level whose numerics the code has. At a fused one, `fma` is one instruction, and sums of products use it.
    pub level: CpuLevel,
    /// The target.
    pub host: Host,
    /// The flags of loads and stores: they do not trap and may be unaligned. An alias region may be added.
    pub flags: MemFlagsData,
    /// Collects what the code does.
    pub notes: &'a mut Notes,
}

impl<'a, 'f> Emitter<'a, 'f> {
    /// An emitter for the function that is being built.
    pub(crate) fn new(
        builder: &'a mut FunctionBuilder<'f>,
        host: Host,
        level: CpuLevel,
        notes: &'a mut Notes,
    ) -> Self {
        Emitter { builder, level, host, flags: MemFlagsData::new().with_notrap(), notes }
    }

    /// Notes what the current block does.
    pub(crate) fn note(&mut self, note: Note) {
        self.notes.add(self.builder.current_block(), note);
    }

    /// A constant, as a scalar.
    pub(crate) fn constant(&mut self, value: Scalar) -> Val {
        let ins = self.builder.ins();
        let constant = match value {
            Scalar::F32(value) => ins.f32const(value),
            Scalar::F64(value) => ins.f64const(value),
            Scalar::F16(value) => ins.f32const(value.to_f32()),
            Scalar::Bf16(value) => ins.f32const(value.to_f32()),
            _ => ins.iconst(scalar_type(value.dtype()), value.bits().cast_signed()),
        };
        Val::scalar(value.dtype(), constant)
    }

    /// Calls a host function with the C calling convention. Returns its result.
    pub(crate) fn call_reference(&mut self, function: ReferenceFn, args: &[ir::Value]) -> ir::Value {
        // As in C, the caller extends arguments shorter than an `int`.
        let parameter = |dtype: DType| match (width_of(dtype) < 4, dtype.is_signed_integer()) {
            (true, true) => AbiParam::new(scalar_type(dtype)).sext(),
            (true, false) => AbiParam::new(scalar_type(dtype)).uext(),
            (false, _) => AbiParam::new(scalar_type(dtype)),
        };
        let mut signature = Signature::new(self.host.call_conv);
        signature.params.extend((0..function.arity).map(|_| parameter(function.operand)));
        signature.returns.push(parameter(function.result));
        let signature = self.signature(signature);
        let address = self.builder.ins().iconst(self.host.pointer, function.address.cast_signed() as i64);
        let call = self.builder.ins().call_indirect(signature, address, args);
        self.builder.inst_results(call)[0]
    }

    /// A signature, imported into the function once.
    fn signature(&mut self, signature: Signature) -> ir::SigRef {
        let known = self.builder.func.dfg.signatures.iter().find(|(_, known)| **known == signature);
        match known {
            Some((known, _)) => known,
            None => self.builder.import_signature(signature),
        }
    }

    /// Reads a register as another type of the same size.
    fn bitcast(&mut self, to: ir::Type, value: ir::Value) -> ir::Value {
        if self.builder.func.dfg.value_type(value) == to {
            return value;
        }
        // The byte order matters only if the number of lanes changes.
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.builder.ins().bitcast(to, flags, value)
    }

    /// A register that has the bits in every lane of an integer type.
    fn splat_bits(&mut self, ty: ir::Type, bits: i64) -> ir::Value {
        let lane = self.builder.ins().iconst(ty.lane_type(), bits);
        self.builder.ins().splat(ty, lane)
    }

    /// A register that has the float in every lane.
    fn splat_float(&mut self, ty: ir::Type, value: f64) -> ir::Value {
        let lane = match ty.lane_type() {
            types::F32 => self.builder.ins().f32const(value as f32),
            _ => self.builder.ins().f64const(value),
        };
        self.builder.ins().splat(ty, lane)
    }

    /// Applies vector code to every register of values of one shape, floats or integers of at least 4 bytes. A scalar
    /// goes into the first lane of a register.
    fn in_vectors(
        &mut self,
        args: &[&Val],
        mut emit: impl FnMut(&mut Self, &[ir::Value]) -> ir::Value,
    ) -> Val {
        let x = args[0];
        let mut results = Regs::new();
        for index in 0..x.regs.len() {
            let mut regs: SmallVec<[ir::Value; 3]> = args.iter().map(|arg| arg.regs[index]).collect();
            if x.lanes == 1 {
                let ty = self.host.vector_type(x.dtype, x.width);
                for reg in &mut regs {
                    *reg = self.builder.ins().scalar_to_vector(ty, *reg);
                }
            }
            let result = emit(self, &regs);
            results.push(if x.lanes == 1 { self.builder.ins().extractlane(result, 0u8) } else { result });
        }
        x.with_regs(results)
    }

    /// Applies an instruction to every register.
    fn map(&mut self, x: &Val, emit: impl Fn(&mut FunctionBuilder<'f>, ir::Value) -> ir::Value) -> Val {
        let regs: Regs = x.regs.iter().map(|reg| emit(self.builder, *reg)).collect();
        x.with_regs(regs)
    }

    /// Applies an instruction to every pair of registers of two values of the same lanes and width.
    fn zip(
        &mut self,
        x: &Val,
        y: &Val,
        emit: impl Fn(&mut FunctionBuilder<'f>, ir::Value, ir::Value) -> ir::Value,
    ) -> Val {
        let regs: Regs = x.regs.iter().zip(&y.regs).map(|(x, y)| emit(self.builder, *x, *y)).collect();
        x.with_regs(regs)
    }

    /// Applies scalar code to every lane of values of the same number of lanes.
    fn by_lane(&mut self, args: &[Val], mut emit: impl FnMut(&mut Self, &[Val]) -> Val) -> Val {
        let lanes = args.iter().map(|arg| arg.lanes).max().unwrap_or(1);
        let mut results: SmallVec<[Val; 16]> = SmallVec::new();
        for index in 0..lanes {
            let scalars: SmallVec<[Val; 3]> = args.iter().map(|arg| self.lane(arg, index)).collect();
            results.push(emit(self, &scalars));
        }
        self.from_lanes(results[0].dtype, &results)
    }

    /// Splats the scalars among the operands of one instruction; masks get the narrowest width among them.
    fn spread(&mut self, args: &[Val]) -> SmallVec<[Val; 3]> {
        let lanes = args.iter().map(|arg| arg.lanes).max().unwrap_or(1);
        let width = args.iter().filter(|arg| arg.is_mask()).map(|arg| arg.width).min().unwrap_or(1);
        args.iter()
            .map(|arg| match arg.dtype {
                DType::Bool if lanes > 1 => self.widen_mask(arg, lanes, width),
                _ => self.splat(arg, lanes),
            })
            .collect()
    }
}
