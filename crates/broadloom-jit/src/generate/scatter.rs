//! Combines or replaces elements that the data determine.

use super::Generator;
use crate::emit::{LaneStride, Val};
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use smallvec::SmallVec;

/// The elements that a [`Stmt::Scatter`] combines rows with.
pub(super) struct Place {
    /// The access, and a number of elements.
    pub access: (AccessId, i64),
    /// The same for what rounding loses.
    pub lost: Option<(AccessId, i64)>,
    pub index: ValueId,
    pub stride: Stride,
    pub size: Extent,
}

impl Generator<'_, '_, '_> {
    /// Returns indices that are all below the size. Each index out of range is reported, and becomes 0.
    pub(super) fn checked(
        &mut self,
        value: &Value,
        given: &Val,
        size: Extent,
        wraps: bool,
        position: AccessId,
    ) -> Val {
        let extent = self.extent(size);
        let (zero, length) = (self.emit.constant(Scalar::I64(0)), self.integer(extent));
        let index = match wraps {
            // Negative ones count from the end.
            true => {
                let is_negative = self.emit.op(Op::Less, &[given.clone(), zero.clone()]);
                let from_end = self.emit.op(Op::Add, &[given.clone(), length.clone()]);
                self.emit.select(&is_negative, &from_end, given)
            }
            false => given.clone(),
        };
        // Those that are still negative are large numbers then.
        let unsigned = [&index, &length].map(|of| self.emit.cast(of, DType::U64));
        let bad = self.emit.op(Op::GreaterEqual, &unsigned);
        let any = self.emit.any(&bad);
        let axis = self.vector.map(|(axis, _)| axis);
        self.rarely(any, |generator| {
            for lane in 0..given.lanes {
                let [index, is_bad] = [given, &bad].map(|of| generator.emit.lane(of, lane).regs[0]);
                let place = generator.position(position, axis, lane);
                generator.report(is_bad, value, place, index, extent);
            }
        });
        self.emit.select(&bad, &zero, &index)
    }

    pub(super) fn scatter(&mut self, place: &Place, op: Option<Op>, value: ValueId) {
        if matches!(place.size, Extent::Constant(1..)) {
            return self.combine_in_memory(place, op, value);
        }
        let extent = self.extent(place.size);
        let present = self.ins().icmp_imm_s(IntCC::SignedGreaterThan, extent, 0);
        self.branch(
            present,
            &[],
            |generator| {
                generator.combine_in_memory(place, op, value);
                Vec::new()
            },
            |_| Vec::new(),
        );
    }

    /// Combines neighbours along an axis of the buffer at once, and neighbouring rows of the table one after the other,
    /// because they may belong to the same segment.
    fn combine_in_memory(&mut self, place: &Place, op: Option<Op>, value: ValueId) {
        let (index, value) = (self.get(place.index), self.get(value));
        let start = self.origin(place.access.0);
        let lost = place.lost.map(|(access, _)| self.origin(access));
        let combine = |generator: &mut Self, index: &Val, value: &Val, stride: LaneStride| {
            let dtype = generator.kernel.accesses[place.access.0.index()].dtype;
            let bytes = |delta: i64| (delta * dtype.size() as i64) as i32;
            let (step, offset) = (generator.in_segment(index, place, dtype), bytes(place.access.1));
            let address = generator.ins().iadd(start, step);
            let Some(op) = op else { return generator.emit.store(address, offset, value, stride) };
            let old = generator.emit.load(address, offset, dtype, value.lanes, stride);
            let new = generator.emit.op(op, &[old.clone(), value.clone()]);
            generator.emit.store(address, offset, &new, stride);
            if let (Some(start), Some((_, delta))) = (lost, place.lost) {
                let address = generator.ins().iadd(start, step);
                let before = generator.emit.load(address, bytes(delta), dtype, value.lanes, stride);
                let lost = generator.lost(&old, value, &new);
                let lost = generator.emit.op(Op::Add, &[before, lost]);
                generator.emit.store(address, bytes(delta), &lost, stride);
            }
        };
        if let Some((lanes, stride)) = self.lane_stride(place.access.0) {
            let value = self.emit.splat(&value, lanes);
            return combine(self, &index, &value, stride);
        }
        let (indices, values) = (self.each_index(place.index), self.emit.each_lane(&value));
        for lane in 0..self.vector.map_or(1, |(_, lanes)| lanes) {
            let [index, value] = [&indices, &values].map(|lanes| &lanes[lane.min(lanes.len() - 1)]);
            combine(self, index, value, LaneStride::Unit);
        }
    }

    /// Returns the lanes of an index as scalars. Those that shorter integers are converted to are converted one by one, which loads
    /// do as well.
    fn each_index(&mut self, id: ValueId) -> SmallVec<[Val; 16]> {
        let kernel = self.kernel;
        let def = |id: ValueId| &kernel.values[id.index()].def;
        let id = match *def(id) {
            Def::Checked { index, position: None, .. } => index,
            _ => id,
        };
        let short = match *def(id) {
            Def::Cast(from) if kernel.values[from.index()].dtype == DType::I32 => {
                self.env.get(&from).cloned()
            }
            _ => None,
        };
        let given = short.unwrap_or_else(|| self.get(id));
        let lanes = self.emit.each_lane(&given);
        lanes.iter().map(|lane| self.emit.cast(lane, DType::I64)).collect()
    }

    /// Returns what rounding lost of the sum of two floats: Knuth's TwoSum, in the order in which the interpreter computes it.
    fn lost(&mut self, x: &Val, y: &Val, sum: &Val) -> Val {
        let mut both = |op: Op, x: &Val, y: &Val| self.emit.op(op, &[x.clone(), y.clone()]);
        let of_y = both(Op::Subtract, sum, x);
        let of_x = both(Op::Subtract, sum, &of_y);
        let (from_x, from_y) = (both(Op::Subtract, x, &of_x), both(Op::Subtract, y, &of_y));
        both(Op::Add, &from_x, &from_y)
    }

    /// Returns the number of bytes from the first segment to that of the index.
    fn in_segment(&mut self, index: &Val, place: &Place, dtype: DType) -> ir::Value {
        let bytes = dtype.size() as i64;
        let index = index.regs[0];
        match place.stride {
            Stride::Constant(stride) => self.scaled(index, stride.wrapping_mul(bytes)),
            Stride::Param(param) => {
                let stride = self.params[param.index()];
                let stride = self.scaled(stride, bytes);
                self.ins().imul(index, stride)
            }
        }
    }
}
