//! Values of neighbouring elements, and their layout in registers.

use super::Host;
use broadloom_ir::dtype::DType;
use broadloom_math::counts_bits;
use cranelift_codegen::ir::{self, types};
use smallvec::SmallVec;

// The bytes of a vector register in Cranelift, which has 128-bit vectors on every target that matters here. Registers of the wide
// back end have two or four times as many, and some of their instructions work within each part of 16 bytes.
pub(crate) use broadloom_loops::kernel::VECTOR_BYTES;

/// CLIF values, one per register.
pub(super) type Regs = SmallVec<[ir::Value; 8]>;

/// A value of `lanes` neighbours.
///
/// ```text
/// lanes == 1        one scalar CLIF value; bool is an I8 of 0 or 1
/// lanes 4 to 256    as many registers as the lanes fill, in lane order; when they do not fill one register,
///                   its upper lanes are unspecified
/// ```
///
/// A 16-bit float is held as the `f32` of its value, scalar or vector: its width is 4, and 2 only in memory.
///
/// A bool vector is a mask: lanes of `width` 1, 2, 4 or 8 bytes, each all ones or all zeros. Its width is that of the
/// compared values, and changes only when it is combined with masks of other widths or with other values.
#[derive(Clone, Debug)]
pub(crate) struct Val {
    /// Type of the elements.
    pub dtype: DType,
    /// Number of elements.
    pub lanes: usize,
    /// Bytes of a lane as held: the size of the dtype, except for masks and floats of 16 bits.
    pub width: u8,
    /// The registers.
    pub regs: Regs,
}

impl Val {
    /// A scalar.
    pub(crate) fn scalar(dtype: DType, value: ir::Value) -> Val {
        Val { dtype, lanes: 1, width: width_of(dtype), regs: SmallVec::from_slice(&[value]) }
    }

    /// A vector of a dtype's own width; a mask of bytes for bool.
    pub(super) fn vector(dtype: DType, lanes: usize, regs: Regs) -> Val {
        Val { dtype, lanes, width: width_of(dtype), regs }
    }

    /// A mask of a width.
    pub(super) fn mask(lanes: usize, width: u8, regs: Regs) -> Val {
        Val { dtype: DType::Bool, lanes, width, regs }
    }

    /// A value of the same shape in other registers, such as the block parameters of a loop.
    pub(crate) fn with_regs(&self, regs: impl IntoIterator<Item = ir::Value>) -> Val {
        Val { regs: regs.into_iter().collect(), ..*self }
    }

    /// Whether the value is a vector of truth values.
    pub(super) fn is_mask(&self) -> bool {
        self.dtype == DType::Bool && self.lanes > 1
    }
}

/// The size of an element in registers as the width of a lane.
pub(super) fn width_of(dtype: DType) -> u8 {
    dtype.arithmetic().size() as u8
}

/// The CLIF type of one element.
pub(super) fn scalar_type(dtype: DType) -> ir::Type {
    match dtype {
        DType::Bool | DType::I8 | DType::U8 => types::I8,
        DType::I16 | DType::U16 => types::I16,
        DType::I32 | DType::U32 => types::I32,
        DType::I64 | DType::U64 => types::I64,
        DType::F16 | DType::Bf16 | DType::F32 => types::F32,
        DType::F64 => types::F64,
    }
}

/// The layout of values in the vector registers of the target.
impl Host {
    /// The CLIF type of each register of a value.
    pub(crate) fn register_type(self, value: &Val) -> ir::Type {
        match value.lanes {
            1 => scalar_type(value.dtype),
            _ => self.vector_type(value.dtype, value.width),
        }
    }

    /// The CLIF type of a register of lanes, where `width` matters for masks only.
    pub(super) fn vector_type(self, dtype: DType, width: u8) -> ir::Type {
        match dtype {
            DType::Bool => self.mask_type(width),
            _ => self.vector_of(scalar_type(dtype)),
        }
    }

    /// The CLIF type of a register of a mask.
    pub(super) fn mask_type(self, width: u8) -> ir::Type {
        self.vector_of(match width {
            2 => types::I16,
            4 => types::I32,
            8 => types::I64,
            _ => types::I8,
        })
    }

    /// The CLIF type of a register of lanes of a scalar type.
    pub(super) fn vector_of(self, lane: ir::Type) -> ir::Type {
        lane.by(self.vector_bytes as u32 / lane.bytes()).expect("registers have a power of two of lanes")
    }

    /// Whether vector registers are those of the wide back end, of 32 or 64 bytes.
    pub(super) fn is_wide(self) -> bool {
        self.vector_bytes > VECTOR_BYTES
    }

    /// The number of vector registers that code may use: AVX-512 has twice as many. AArch64 counts as x86-64, because
    /// its code was measured that way.
    pub(crate) fn vector_registers(self) -> usize {
        if self.has_avx512() { 32 } else { 16 }
    }

    /// Whether there is AVX-512, which has more conversions and narrowings.
    pub(super) fn has_avx512(self) -> bool {
        self.vector_bytes == 64
    }

    /// Whether one instruction counts the set bits of all lanes of a register, whatever their width.
    pub(super) fn counts_bits(self) -> bool {
        self.has_avx512() && counts_bits()
    }

    /// Number of registers of a vector.
    pub(super) fn register_count(self, lanes: usize, width: u8) -> usize {
        (lanes * usize::from(width)).div_ceil(self.vector_bytes)
    }

    /// Lanes per register, counting unspecified ones.
    pub(super) fn per_register(self, width: u8) -> usize {
        self.vector_bytes / usize::from(width)
    }
}
