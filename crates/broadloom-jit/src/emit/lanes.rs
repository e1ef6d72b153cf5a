//! Conversions between scalars and vectors.

use super::intrinsics::Intrinsic;
use super::memory::LaneStride;
use super::value::{Regs, VECTOR_BYTES, width_of};
use super::{Emitter, Val};
use broadloom_ir::dtype::DType;
use cranelift_codegen::ir::{self, ConstantData, InstBuilder, types};
use smallvec::{SmallVec, smallvec};

impl Emitter<'_, '_> {
    /// A scalar in every lane; the value itself if it already has the lanes. A bool becomes a mask of bytes.
    pub(crate) fn splat(&mut self, x: &Val, lanes: usize) -> Val {
        if x.lanes == lanes {
            return x.clone();
        }
        if x.dtype == DType::Bool {
            return self.splat_mask(x, lanes, 1);
        }
        let reg = self.builder.ins().splat(self.host.vector_type(x.dtype, x.width), x.regs[0]);
        Val::vector(x.dtype, lanes, smallvec![reg; self.host.register_count(lanes, x.width)])
    }

    /// `first`, `first + 1`, .. as I64 or I32, wrapping.
    pub(crate) fn iota(&mut self, first: ir::Value, lanes: usize, dtype: DType) -> Val {
        let first = Val::scalar(DType::I64, first);
        let first = self.cast(&first, dtype);
        if lanes == 1 {
            return first;
        }
        let start = self.splat(&first, lanes);
        let per_register = self.host.per_register(start.width);
        let mut regs = Regs::new();
        for (index, reg) in start.regs.iter().enumerate() {
            let width = usize::from(start.width);
            let offsets = (index * per_register..(index + 1) * per_register)
                .flat_map(|offset| offset.to_le_bytes().into_iter().take(width));
            let offsets = self.vector_constant(self.host.register_type(&start), offsets.collect());
            regs.push(self.builder.ins().iadd(*reg, offsets));
        }
        start.with_regs(regs)
    }

    /// One lane, as a scalar.
    pub(crate) fn lane(&mut self, x: &Val, index: usize) -> Val {
        if x.lanes == 1 {
            return x.clone();
        }
        let per_register = self.host.per_register(x.width);
        // At most 64 lanes fit a register.
        let element =
            self.builder.ins().extractlane(x.regs[index / per_register], (index % per_register) as u8);
        if x.dtype != DType::Bool {
            return Val::scalar(x.dtype, element);
        }
        let byte = if x.width == 1 { element } else { self.builder.ins().ireduce(types::I8, element) };
        let truth = self.builder.ins().band_imm_u(byte, 1);
        Val::scalar(DType::Bool, truth)
    }

    /// All lanes, as scalars. From long vectors they are read in memory: a core has more ports for loads than for moves between
    /// registers of both kinds.
    pub(crate) fn each_lane(&mut self, x: &Val) -> SmallVec<[Val; 16]> {
        let bytes = x.lanes * usize::from(x.width);
        let is_number = x.dtype != DType::Bool && matches!(x.dtype.size(), 4 | 8);
        if !(self.host.is_wide() && is_number && bytes >= 2 * VECTOR_BYTES) {
            return (0..x.lanes).map(|index| self.lane(x, index)).collect();
        }
        let address = self.stack_of_lines(bytes as u32);
        self.store(address, 0, x, LaneStride::Unit);
        let size = x.dtype.size() as i32;
        let lanes = 0..x.lanes as i32;
        lanes.map(|lane| self.load(address, lane * size, x.dtype, 1, LaneStride::Unit)).collect()
    }

    /// A vector of scalars; bools become a mask of bytes.
    #[expect(
        clippy::wrong_self_convention,
        reason = "it emits; the scalars are what the vector is made from"
    )]
    pub(crate) fn from_lanes(&mut self, dtype: DType, scalars: &[Val]) -> Val {
        if let [scalar] = scalars {
            return scalar.clone();
        }
        let width = width_of(dtype);
        let storage = if dtype == DType::Bool { DType::U8 } else { dtype };
        let mut regs = Regs::new();
        for part in scalars.chunks(VECTOR_BYTES / usize::from(width)) {
            let mut part = part.iter().map(|scalar| scalar.regs[0]);
            let Some(first) = part.next() else { continue };
            let mut reg = self.first_lane(storage, first);
            for (lane, scalar) in (1u8..).zip(part) {
                reg = self.builder.ins().insertlane(reg, scalar, lane);
            }
            regs.push(reg);
        }
        let vector = Val::vector(storage, scalars.len(), self.filled(&regs));
        if dtype == DType::Bool { self.mask_of_bytes(&vector) } else { vector }
    }

    /// A register whose first lane is the scalar.
    fn first_lane(&mut self, dtype: DType, scalar: ir::Value) -> ir::Value {
        let ty = self.host.vector_type(dtype, width_of(dtype));
        if width_of(dtype) >= 4 {
            return self.builder.ins().scalar_to_vector(ty, scalar);
        }
        // x86-64 cannot move shorter values into a vector register.
        let word = self.builder.ins().uextend(types::I32, scalar);
        let reg = self.builder.ins().scalar_to_vector(self.host.vector_of(types::I32), word);
        self.bitcast(ty, reg)
    }

    /// `count` lanes from `first` on; whole registers if both are aligned.
    pub(crate) fn lanes_slice(&mut self, x: &Val, first: usize, count: usize) -> Val {
        if count == x.lanes {
            return x.clone();
        }
        if count == 1 {
            return self.lane(x, first);
        }
        let width = usize::from(x.width);
        let per_register = self.host.per_register(x.width);
        if first.is_multiple_of(per_register) && (count * width).is_multiple_of(self.host.vector_bytes) {
            let from = first / per_register;
            return Val {
                lanes: count,
                ..x.with_regs(x.regs[from..from + count / per_register].iter().copied())
            };
        }
        let within = first % per_register;
        let start = within * width;
        if start % VECTOR_BYTES + count * width <= VECTOR_BYTES && start.is_multiple_of(4) {
            let reg = self.words_from(x.regs[first / per_register], start / 4);
            return Val { lanes: count, ..x.with_regs([reg]) };
        }
        let half = self.host.vector_bytes / 2;
        if count * width == half && start.is_multiple_of(half) {
            let reg = x.regs[first / per_register];
            let reg = if start == 0 { reg } else { self.upper_half(reg) };
            return Val { lanes: count, ..x.with_regs([reg]) };
        }
        let scalars: SmallVec<[Val; 16]> = (first..first + count).map(|index| self.lane(x, index)).collect();
        self.from_lanes(x.dtype, &scalars)
    }

    /// The lanes of all parts, one after the other.
    pub(crate) fn concat(&mut self, parts: &[Val]) -> Val {
        if let [part] = parts {
            return part.clone();
        }
        let lanes: usize = parts.iter().map(|part| part.lanes).sum();
        let dtype = parts[0].dtype;
        let width = parts.iter().map(|part| part.width).min().unwrap_or(width_of(dtype));
        if parts.iter().any(|part| part.lanes == 1) {
            let scalars: SmallVec<[Val; 16]> = parts
                .iter()
                .flat_map(|part| (0..part.lanes).map(move |index| (part, index)))
                .map(|(part, index)| self.lane(part, index))
                .collect();
            return self.from_lanes(dtype, &scalars);
        }
        let parts: SmallVec<[Val; 4]> = parts
            .iter()
            .map(|part| if part.is_mask() { self.resize_mask(part, width) } else { part.clone() })
            .collect();
        let full = |part: &Val| (part.lanes * usize::from(part.width)).is_multiple_of(self.host.vector_bytes);
        let regs: Regs = if parts.iter().all(full) {
            parts.iter().flat_map(|part| part.regs.iter().copied()).collect()
        } else {
            // Lanes of 1 or 2 bytes may not fill a register, nor those of 4 and 8 bytes a wide one. Then a part is
            // one or more words of 4 bytes.
            let ty = self.host.vector_type(dtype, width);
            let per_register = self.host.per_register(4);
            let words: SmallVec<[(ir::Value, usize); 16]> = parts
                .iter()
                .flat_map(|part| {
                    let words = part.lanes * usize::from(part.width) / 4;
                    (0..words).map(|word| (part.regs[word / per_register], word % per_register))
                })
                .collect();
            let gathered: Regs = words.chunks(4).map(|words| self.gather_words(ty, words)).collect();
            self.filled(&gathered)
        };
        let whole = Val::vector(dtype, lanes, regs);
        Val { width, ..whole }
    }

    /// Registers made of the first 16 bytes of each: the registers themselves, or two or four of them joined in a
    /// wide one.
    pub(super) fn filled(&mut self, parts: &[ir::Value]) -> Regs {
        let each = parts.chunks(self.host.vector_bytes / VECTOR_BYTES);
        each.map(|parts| {
            let pairs: Regs = parts.chunks(2).map(|pair| self.joined(1, pair)).collect();
            self.joined(2, &pairs)
        })
        .collect()
    }

    /// The given number of parts of two registers side by side, or the single register.
    fn joined(&mut self, parts: u8, regs: &[ir::Value]) -> ir::Value {
        match *regs {
            [low, high] => {
                let ty = self.builder.func.dfg.value_type(low);
                self.intrinsic(Intrinsic::Joined(parts), &[low, high], ty)
            }
            _ => regs[0],
        }
    }

    /// The lower halves of two wide registers in one.
    pub(super) fn lower_halves(&mut self, low: ir::Value, high: ir::Value) -> ir::Value {
        self.joined((self.host.vector_bytes / VECTOR_BYTES / 2) as u8, &[low, high])
    }

    /// The upper half of a register in the place of the lower one; the upper one is unspecified.
    pub(super) fn upper_half(&mut self, reg: ir::Value) -> ir::Value {
        self.words_from(reg, self.host.per_register(4) / 2)
    }

    /// A register that starts with the given 4-byte words of registers of a type, at most four; the rest is
    /// unspecified.
    fn gather_words(&mut self, ty: ir::Type, words: &[(ir::Value, usize)]) -> ir::Value {
        let (reg, first) = words[0];
        if self.host.is_wide()
            && first % 4 + words.len() <= 4
            && words.iter().zip(first..).all(|(word, index)| *word == (reg, index))
        {
            return self.words_from(reg, first);
        }
        if let [(a, first), (b, second), (c, third), (d, fourth)] = *words
            && (a, c) == (b, d)
            && words.iter().all(|(_, word)| *word < 4)
        {
            return self.shuffle_words(a, c, [first, second, 4 + third, 4 + fourth]);
        }
        let mut result = self.words_from(reg, first);
        if words.len() == 1 {
            return result;
        }
        // Move them as floats, which stay in vector registers.
        let floats = self.host.vector_of(types::F32);
        result = self.bitcast(floats, result);
        for (lane, (reg, word)) in (0u8..).zip(words).skip(1) {
            let source = self.bitcast(floats, *reg);
            let value = self.builder.ins().extractlane(source, *word as u8);
            result = self.builder.ins().insertlane(result, value, lane);
        }
        self.bitcast(ty, result)
    }

    /// A register that starts with the 4-byte words of another from `first` on, up to the next multiple of four; the
    /// rest is unspecified.
    pub(super) fn words_from(&mut self, reg: ir::Value, first: usize) -> ir::Value {
        let part = match first {
            0..4 => reg,
            _ => {
                let ty = self.builder.func.dfg.value_type(reg);
                self.intrinsic(Intrinsic::From((first / 4) as u8), &[reg], ty)
            }
        };
        self.rotate_words(part, first % 4)
    }

    /// A register whose 4-byte words are rotated down by `count` within each 16 bytes.
    pub(super) fn rotate_words(&mut self, reg: ir::Value, count: usize) -> ir::Value {
        let word = |index: usize| (index + count) % 4;
        if count == 0 { reg } else { self.shuffle_words(reg, reg, [word(0), word(1), word(2), word(3)]) }
    }

    /// A register of 4-byte words selected from the four of `low` (0 to 3) and of `high` (4 to 7) within each 16
    /// bytes: two of `low`, then two of `high`, which may be the same register.
    ///
    /// Every such selection is one SSE2 instruction; byte shuffles would need SSSE3.
    pub(super) fn shuffle_words(&mut self, low: ir::Value, high: ir::Value, words: [usize; 4]) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(low);
        if self.host.is_wide() {
            let choice = words.iter().rev().fold(0, |choice, word| choice << 2 | (word % 4) as u8);
            return self.intrinsic(Intrinsic::Words(choice), &[low, high], ty);
        }
        // Indices of bytes are below 32.
        let bytes = words.iter().flat_map(|word| (0..4).map(move |byte| (4 * word + byte) as u8)).collect();
        let mask = self.builder.func.dfg.immediates.push(bytes);
        let low = self.bitcast(types::I8X16, low);
        let high = self.bitcast(types::I8X16, high);
        let shuffled = self.builder.ins().shuffle(low, high, mask);
        self.bitcast(ty, shuffled)
    }

    /// A register of bytes selected within each 16 bytes. x86-64 needs SSSE3, unless SSE2 has an instruction for the
    /// selection.
    pub(super) fn shuffle_bytes(&mut self, reg: ir::Value, order: [u8; VECTOR_BYTES]) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(reg);
        let byte_type = self.host.vector_of(types::I8);
        let bytes = self.bitcast(byte_type, reg);
        let shuffled = if self.host.is_wide() {
            let parts = self.host.vector_bytes / VECTOR_BYTES;
            let order = self.vector_constant(byte_type, order.repeat(parts).into());
            self.intrinsic(Intrinsic::Bytes, &[bytes, order], byte_type)
        } else {
            let order = self.builder.func.dfg.immediates.push(order.to_vec().into());
            self.builder.ins().shuffle(bytes, bytes, order)
        };
        self.bitcast(ty, shuffled)
    }

    /// A register of constant bytes.
    pub(super) fn vector_constant(&mut self, ty: ir::Type, bytes: ConstantData) -> ir::Value {
        let constant = self.builder.func.dfg.constants.insert(bytes);
        self.builder.ins().vconst(ty, constant)
    }

    /// A mask of bytes of a vector of bytes 0 and 1.
    pub(super) fn mask_of_bytes(&mut self, bytes: &Val) -> Val {
        let mask = self.map(bytes, |builder, reg| builder.ins().ineg(reg));
        Val::mask(bytes.lanes, 1, mask.regs)
    }

    /// A scalar bool as a mask of a width.
    pub(super) fn splat_mask(&mut self, x: &Val, lanes: usize, width: u8) -> Val {
        let ty = self.host.mask_type(width);
        let truth = x.regs[0];
        let wide = if width == 1 { truth } else { self.builder.ins().uextend(ty.lane_type(), truth) };
        let ones = self.builder.ins().ineg(wide);
        let reg = self.builder.ins().splat(ty, ones);
        Val::mask(lanes, width, smallvec![reg; self.host.register_count(lanes, width)])
    }
}
