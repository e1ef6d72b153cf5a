//! Loads and stores of lanes.

use super::value::{Regs, VECTOR_BYTES, scalar_type, width_of};
use super::{Emitter, Intrinsic, Val};
use crate::thresholds::LINE;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use cranelift_codegen::ir::{self, InstBuilder, StackSlotData, StackSlotKind, types};
use smallvec::{SmallVec, smallvec};

/// The distance in memory between the elements of neighbouring lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneStride {
    /// One element: vector loads and stores.
    Unit,
    /// A constant number of bytes.
    Bytes(i64),
    /// A number of bytes (i64) known at run time.
    Dynamic(ir::Value),
}

/// The kind of access for a stride.
enum Pattern {
    /// Neighbours in memory.
    Unit,
    /// Neighbours in descending order.
    Reversed,
    /// All lanes access one element.
    Same,
    /// Scalar accesses at these addresses.
    Scattered(SmallVec<[(ir::Value, i32); 16]>),
}

impl Emitter<'_, '_> {
    /// Loads `lanes` elements from `address + offset` on, both in bytes. Bools are bytes 0 and 1 and become a mask of
    /// bytes.
    pub(crate) fn load(
        &mut self,
        address: ir::Value,
        offset: i32,
        dtype: DType,
        lanes: usize,
        stride: LaneStride,
    ) -> Val {
        if lanes == 1 {
            let storage = storage(dtype);
            let element = self.builder.ins().load(scalar_type(storage), self.flags, address, offset);
            let element = Val::scalar(storage, element);
            return match dtype {
                DType::F16 | DType::Bf16 => self.half_of_bits(&element, dtype),
                _ => Val { dtype, ..element },
            };
        }
        let storage = storage(dtype);
        let loaded = match self.pattern(address, offset, storage, lanes, stride) {
            Pattern::Unit => self.load_unit(address, offset.into(), storage, lanes),
            Pattern::Reversed => {
                let last = i64::from(offset) - last_offset(storage, lanes);
                let loaded = self.load_unit(address, last, storage, lanes);
                self.reverse(&loaded)
            }
            Pattern::Same => {
                let element = self.load(address, offset, storage, 1, LaneStride::Unit);
                self.splat(&element, lanes)
            }
            Pattern::Scattered(places) => {
                let scalars: SmallVec<[Val; 16]> = places
                    .iter()
                    .map(|(address, offset)| self.load(*address, *offset, storage, 1, LaneStride::Unit))
                    .collect();
                self.from_lanes(storage, &scalars)
            }
        };
        match dtype {
            DType::Bool => self.mask_of_bytes(&loaded),
            DType::F16 | DType::Bf16 => self.half_of_bits(&loaded, dtype),
            _ => loaded,
        }
    }

    /// Stores the lanes of a value from `address + offset` on, both in bytes.
    pub(crate) fn store(&mut self, address: ir::Value, offset: i32, value: &Val, stride: LaneStride) {
        let value = &self.stored(value);
        if value.lanes == 1 {
            self.builder.ins().store(self.flags, value.regs[0], address, offset);
            return;
        }
        match self.pattern(address, offset, value.dtype, value.lanes, stride) {
            Pattern::Unit => self.store_unit(address, offset.into(), value),
            Pattern::Reversed => {
                let last = i64::from(offset) - last_offset(value.dtype, value.lanes);
                let reversed = self.reverse(value);
                self.store_unit(address, last, &reversed);
            }
            Pattern::Same => {
                // Later lanes overwrite earlier ones.
                let last = self.lane(value, value.lanes - 1);
                self.store(address, offset, &last, LaneStride::Unit);
            }
            Pattern::Scattered(places) => {
                for (index, (address, offset)) in places.into_iter().enumerate() {
                    let element = self.lane(value, index);
                    self.store(address, offset, &element, LaneStride::Unit);
                }
            }
        }
    }

    /// Stores lanes that are neighbours in memory, the first at a multiple of a register: whole registers go past the caches.
    pub(crate) fn store_streamed(&mut self, address: ir::Value, offset: i32, value: &Val) {
        let mut value = self.stored(value);
        if value.lanes * usize::from(value.width) < self.host.vector_bytes {
            return self.store(address, offset, &value, LaneStride::Unit);
        }
        for reg in &mut value.regs {
            let ty = self.builder.func.dfg.value_type(*reg);
            *reg = self.intrinsic(Intrinsic::Streamed, &[*reg], ty);
        }
        self.store_unit(address, offset.into(), &value);
    }

    /// A value as it is in memory: halves as bits, truth values in vectors as bytes.
    fn stored(&mut self, value: &Val) -> Val {
        match value.dtype {
            DType::F16 | DType::Bf16 => self.bits_of_half(value),
            DType::Bool if value.lanes > 1 => self.cast(value, DType::U8),
            _ => value.clone(),
        }
    }

    /// The address of new bytes on the stack.
    pub(crate) fn stack(&mut self, bytes: u32) -> ir::Value {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4);
        let slot = self.builder.create_sized_stack_slot(slot);
        self.builder.ins().stack_addr(types::I64, slot, 0)
    }

    /// The address of new bytes on the stack that begin with a cache line, so that no vector crosses one.
    pub(crate) fn stack_of_lines(&mut self, bytes: u32) -> ir::Value {
        let start = self.stack(bytes + LINE as u32);
        let end = self.builder.ins().iadd_imm_s(start, LINE as i64 - 1);
        self.builder.ins().band_imm_s(end, -(LINE as i64))
    }

    fn pattern(
        &mut self,
        address: ir::Value,
        offset: i32,
        dtype: DType,
        lanes: usize,
        stride: LaneStride,
    ) -> Pattern {
        let size = dtype.size() as i64;
        match stride {
            LaneStride::Unit => Pattern::Unit,
            LaneStride::Bytes(0) => Pattern::Same,
            LaneStride::Bytes(bytes) if bytes == size => Pattern::Unit,
            LaneStride::Bytes(bytes) if bytes == -size && (size > 1 || self.host.has_rounding) => {
                Pattern::Reversed
            }
            LaneStride::Bytes(bytes) => {
                let mut places = SmallVec::new();
                for lane in 0..lanes as i64 {
                    places.push(self.place(address, bytes.wrapping_mul(lane).wrapping_add(offset.into())));
                }
                Pattern::Scattered(places)
            }
            LaneStride::Dynamic(bytes) => {
                // Compute each address from that of the lane with one bit less: short chains, and sums that fold into
                // the addressing mode.
                let mut places: SmallVec<[(ir::Value, i32); 16]> = smallvec![(address, offset)];
                for lane in 1..lanes {
                    let bit = lane.trailing_zeros();
                    let step = match bit {
                        0 => bytes,
                        _ => self.builder.ins().ishl_imm_u(bytes, i64::from(bit)),
                    };
                    let from = places[lane & (lane - 1)].0;
                    places.push((self.builder.ins().iadd(from, step), offset));
                }
                Pattern::Scattered(places)
            }
        }
    }

    /// An address and an offset that an instruction can hold.
    fn place(&mut self, address: ir::Value, offset: i64) -> (ir::Value, i32) {
        match i32::try_from(offset) {
            Ok(offset) => (address, offset),
            Err(_) => (self.builder.ins().iadd_imm_s(address, offset), 0),
        }
    }

    /// Whether elements of a dtype are read at as many indices at once.
    pub(crate) fn gathers(&self, dtype: DType, lanes: usize) -> bool {
        let is_plain = dtype != DType::Bool && matches!(dtype.size(), 4 | 8);
        // What is in unused lanes is no index.
        self.host.is_wide() && is_plain && lanes * DType::I64.size() >= self.host.vector_bytes
    }

    /// Loads the elements at indices (`i64`), counted from an address.
    pub(crate) fn gather(&mut self, address: ir::Value, indices: &Val, dtype: DType) -> Val {
        let ty = self.host.vector_type(dtype, width_of(dtype));
        let long = dtype.size() == 8;
        let gathered =
            |emitter: &mut Self, reg| emitter.intrinsic(Intrinsic::Gathered { long }, &[address, reg], ty);
        let regs = match long {
            true => indices.regs.iter().map(|reg| gathered(self, *reg)).collect(),
            false => self.join_halves(indices, ty, gathered),
        };
        Val::vector(dtype, indices.lanes, regs)
    }

    /// Whether any lane of truth values is set. What is in unused lanes of a register does not count.
    pub(crate) fn any(&mut self, truth: &Val) -> ir::Value {
        let is_full = (truth.lanes * usize::from(truth.width)).is_multiple_of(self.host.vector_bytes);
        let parts: Regs = match truth.lanes > 1 && is_full {
            true => truth.regs.clone(),
            false => (0..truth.lanes).map(|lane| self.lane(truth, lane).regs[0]).collect(),
        };
        let mut any = parts[0];
        for part in &parts[1..] {
            any = self.builder.ins().bor(any, *part);
        }
        if truth.lanes > 1 && is_full { self.builder.ins().vany_true(any) } else { any }
    }

    /// Whether the bits of any lane of two numbers of one dtype differ.
    pub(crate) fn differ(&mut self, x: &Val, y: &Val) -> ir::Value {
        let dtype = match x.width {
            1 => DType::U8,
            2 => DType::U16,
            4 => DType::U32,
            _ => DType::U64,
        };
        let ty = self.host.register_type(&Val { dtype, ..x.clone() });
        let [x, y] = [x, y].map(|value| {
            let regs = value.regs.iter().map(|reg| self.bitcast(ty, *reg)).collect();
            Val { dtype, regs, ..value.clone() }
        });
        let differ = self.op(Op::NotEqual, &[x, y]);
        self.any(&differ)
    }

    fn load_unit(&mut self, address: ir::Value, offset: i64, dtype: DType, lanes: usize) -> Val {
        let bytes = lanes * dtype.size();
        let ty = self.host.vector_type(dtype, width_of(dtype));
        let mut regs = Regs::new();
        if let Some(part) = self.part_type(bytes) {
            let (address, offset) = self.place(address, offset);
            let element = self.builder.ins().load(part.lane_type(), self.flags, address, offset);
            let reg = self.builder.ins().scalar_to_vector(part, element);
            regs.push(self.bitcast(ty, reg));
        } else if let Some(half) = self.half_type(bytes) {
            let (address, offset) = self.place(address, offset);
            let half = self.builder.ins().load(half, self.flags, address, offset);
            let whole = self.host.vector_of(types::I8);
            let reg = self.intrinsic(Intrinsic::Whole, &[half], whole);
            regs.push(self.bitcast(ty, reg));
        } else {
            for start in (0..bytes).step_by(self.host.vector_bytes) {
                let (address, offset) = self.place(address, offset.wrapping_add(start as i64));
                // A load that is read as another type becomes an instruction of its own, not a memory operand.
                let loaded =
                    if self.host.compares_unaligned { ty } else { self.host.mask_type(width_of(dtype)) };
                let reg = self.builder.ins().load(loaded, self.flags, address, offset);
                regs.push(self.bitcast(ty, reg));
            }
        }
        Val::vector(dtype, lanes, regs)
    }

    fn store_unit(&mut self, address: ir::Value, offset: i64, value: &Val) {
        if let Some(part) = self.part_type(value.lanes * usize::from(value.width)) {
            let (address, offset) = self.place(address, offset);
            let reg = self.bitcast(part, value.regs[0]);
            let part = self.builder.ins().extractlane(reg, 0u8);
            self.builder.ins().store(self.flags, part, address, offset);
            return;
        }
        if let Some(half) = self.half_type(value.lanes * usize::from(value.width)) {
            let (address, offset) = self.place(address, offset);
            let half = self.intrinsic(Intrinsic::Half, &[value.regs[0]], half);
            self.builder.ins().store(self.flags, half, address, offset);
            return;
        }
        for (reg, start) in value.regs.iter().zip((0..).step_by(self.host.vector_bytes)) {
            let (address, offset) = self.place(address, offset.wrapping_add(start));
            self.builder.ins().store(self.flags, *reg, address, offset);
        }
    }

    /// The vector type whose first lane is as large as a value that does not fill a register: with lanes of 1 and 2
    /// bytes, and in wide registers with four lanes of 4 bytes.
    fn part_type(&self, bytes: usize) -> Option<ir::Type> {
        let lane = match bytes {
            4 => types::F32,
            8 => types::F64,
            VECTOR_BYTES if self.host.is_wide() => types::I128,
            _ => return None,
        };
        Some(self.host.vector_of(lane))
    }

    /// The type of half a register, if the value has that size: CLIF has no scalar of 32 bytes.
    fn half_type(&self, bytes: usize) -> Option<ir::Type> {
        (self.host.vector_bytes == 64 && bytes == 32).then_some(types::I8X32)
    }

    /// The lanes in reverse order. Lanes of 1 byte need SSSE3 on x86-64.
    fn reverse(&mut self, x: &Val) -> Val {
        let filled = (x.lanes * usize::from(x.width)).min(self.host.vector_bytes);
        let mut regs = Regs::new();
        for reg in x.regs.iter().rev() {
            let mut reversed = self.reverse_parts(*reg, x);
            // The used parts, starting from the last.
            if let Some(parts) = match filled / VECTOR_BYTES {
                2 => Some(0b0001),
                4 => Some(0b0001_1011),
                _ => None,
            } {
                let ty = self.builder.func.dfg.value_type(reversed);
                reversed = self.intrinsic(Intrinsic::Parts(parts), &[reversed], ty);
            }
            regs.push(reversed);
        }
        x.with_regs(regs)
    }

    /// The lanes of a register in reverse order within each 16 bytes, or within the used part.
    fn reverse_parts(&mut self, reg: ir::Value, x: &Val) -> ir::Value {
        let width = usize::from(x.width);
        match width {
            8 => self.shuffle_words(reg, reg, [2, 3, 0, 1]),
            4 => self.shuffle_words(reg, reg, [3, 2, 1, 0]),
            2 if !self.host.is_wide() => {
                // Reverse each half, and then swap the halves.
                let low = self.shuffle_pairs(reg, [3, 2, 1, 0, 4, 5, 6, 7]);
                if x.lanes == 4 {
                    low
                } else {
                    let both = self.shuffle_pairs(low, [0, 1, 2, 3, 7, 6, 5, 4]);
                    self.rotate_words(both, 2)
                }
            }
            _ => {
                // The lanes beyond do not matter.
                let lanes = VECTOR_BYTES / width;
                let last = x.lanes.min(lanes) - 1;
                let order = std::array::from_fn(|byte| {
                    let lane = (last + lanes - byte / width) % lanes;
                    (lane * width + byte % width) as u8
                });
                self.shuffle_bytes(reg, order)
            }
        }
    }

    /// A register of 2-byte lanes chosen from one.
    fn shuffle_pairs(&mut self, reg: ir::Value, lanes: [u8; 8]) -> ir::Value {
        let order = std::array::from_fn(|byte| 2 * lanes[byte / 2] + (byte % 2) as u8);
        self.shuffle_bytes(reg, order)
    }
}

/// The dtype for moving elements: bools as bytes, 16-bit floats as bits.
fn storage(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::U8,
        DType::F16 | DType::Bf16 => DType::U16,
        _ => dtype,
    }
}

/// Bytes from the first lane to the last.
fn last_offset(dtype: DType, lanes: usize) -> i64 {
    ((lanes - 1) * dtype.size()) as i64
}
