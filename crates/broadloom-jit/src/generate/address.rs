//! Computes the addresses of accesses and rows at the current position, and loads and stores there.

use super::{Base, Generator, TreeLanes};
use crate::emit::{LaneStride, Val};
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use smallvec::SmallVec;

impl Generator<'_, '_, '_> {
    /// Returns a stride in units of `size` bytes.
    pub(super) fn stride(&mut self, stride: Stride, size: usize) -> LaneStride {
        match stride {
            Stride::Constant(1) => LaneStride::Unit,
            Stride::Constant(stride) => LaneStride::Bytes(stride.wrapping_mul(size as i64)),
            Stride::Param(param) => {
                let param = self.params[param.index()];
                LaneStride::Dynamic(self.scaled(param, size as i64))
            }
        }
    }

    /// Returns a stride in bytes.
    pub(super) fn stride_bytes(&mut self, stride: Stride, size: i64) -> ir::Value {
        match stride {
            Stride::Constant(stride) => self.constant(stride.wrapping_mul(size)),
            Stride::Param(param) => {
                let stride = self.params[param.index()];
                self.scaled(stride, size)
            }
        }
    }

    pub(super) fn scaled(&mut self, value: ir::Value, factor: i64) -> ir::Value {
        match factor {
            1 => value,
            _ if factor > 0 && factor & (factor - 1) == 0 => {
                self.ins().ishl_imm_u(value, i64::from(factor.trailing_zeros()))
            }
            _ => self.ins().imul_imm_s(value, factor),
        }
    }

    /// Returns `start + sum(position * stride)` in units of `size` bytes, with the outermost axis first, so that the outer
    /// part is computed outside the inner loops.
    fn moved(&mut self, start: ir::Value, access: AccessId, size: usize) -> ir::Value {
        let kernel = self.kernel;
        let mut address = start;
        for (axis, stride) in &kernel.accesses[access.index()].strides {
            let position = self.positions[axis];
            let step = match stride {
                Stride::Constant(stride) => self.scaled(position, stride.wrapping_mul(size as i64)),
                Stride::Param(param) => {
                    let stride = self.params[param.index()];
                    let stride = self.scaled(stride, size as i64);
                    self.ins().imul(position, stride)
                }
            };
            address = self.ins().iadd(address, step);
        }
        address
    }

    /// Returns the address some elements after the current position of an access.
    pub(super) fn address(&mut self, access: AccessId, delta: i64) -> ir::Value {
        let address = self.origin(access);
        let size = self.kernel.accesses[access.index()].dtype.size() as i64;
        self.ins().iadd_imm_s(address, delta * size)
    }

    /// Returns the address of the current position of an access.
    pub(super) fn origin(&mut self, access: AccessId) -> ir::Value {
        if let Some((_, address)) = self.placed.iter().find(|(placed, _)| *placed == access) {
            return *address;
        }
        let size = self.kernel.accesses[access.index()].dtype.size();
        // The verifier checks that such accesses have a buffer.
        let base = match self.bases[access.index()] {
            Some(Base::Held(base)) => base,
            Some(Base::Read(offset)) => self.argument(offset),
            None => self.scratch,
        };
        self.moved(base, access, size)
    }

    /// Returns the row-major position of an access without a buffer, at a lane of the vector loop over `axis`.
    pub(super) fn position(&mut self, access: AccessId, axis: Option<AxisId>, lane: usize) -> ir::Value {
        let kernel = self.kernel;
        let entry = &kernel.accesses[access.index()];
        let start = match entry.offset_param {
            Some(param) => self.params[param.index()],
            None => self.constant(0),
        };
        let position = self.moved(start, access, 1);
        match axis.and_then(|axis| entry.stride(axis)).filter(|_| lane > 0) {
            None => position,
            Some(Stride::Constant(stride)) => {
                self.ins().iadd_imm_s(position, stride.wrapping_mul(lane as i64))
            }
            Some(Stride::Param(param)) => {
                let stride = self.params[param.index()];
                let step = self.ins().imul_imm_s(stride, lane as i64);
                self.ins().iadd(position, step)
            }
        }
    }

    /// Returns how the lanes of the surrounding vector loop step through an access; `None` if all use the same element.
    pub(super) fn lane_stride(&mut self, access: AccessId) -> Option<(usize, LaneStride)> {
        let (axis, lanes) = self.vector?;
        let entry = &self.kernel.accesses[access.index()];
        let (stride, size) = (entry.stride(axis)?, entry.dtype.size());
        Some((lanes, self.stride(stride, size)))
    }

    pub(super) fn load(&mut self, access: AccessId, delta: i64) -> Val {
        let dtype = self.kernel.accesses[access.index()].dtype;
        let (lanes, stride) = self.lane_stride(access).unwrap_or((1, LaneStride::Unit));
        let address = self.origin(access);
        // Lowering makes only deltas whose number of bytes fits in 32 bits.
        self.emit.load(address, (delta * dtype.size() as i64) as i32, dtype, lanes, stride)
    }

    pub(super) fn store(&mut self, access: AccessId, delta: i64, value: ValueId) {
        let size = self.kernel.accesses[access.index()].dtype.size();
        let (lanes, stride) = self.lane_stride(access).unwrap_or((1, LaneStride::Unit));
        let address = self.origin(access);
        let value = self.get(value);
        // All lanes would use the same element only in an array without elements.
        let value = if lanes == 1 { self.emit.lane(&value, 0) } else { self.emit.splat(&value, lanes) };
        let offset = (delta * size as i64) as i32;
        match self.streams == Some(access) {
            true => self.emit.store_streamed(address, offset, &value),
            false => self.emit.store(address, offset, &value, stride),
        }
    }

    /// Returns the address of the first element of a row.
    pub(super) fn row_start(&mut self, row: RowId) -> ir::Value {
        self.row_at(row, 0)
    }

    /// Returns the start of one of several rows.
    pub(super) fn row_at(&mut self, row: RowId, part: usize) -> ir::Value {
        let entry = &self.kernel.rows[row.index()];
        let offset = entry.offset + part * entry.length * entry.dtype.size();
        let scratch = self.scratch;
        self.ins().iadd_imm_s(scratch, offset as i64)
    }

    /// Returns the number of bytes from one of several rows to the next.
    pub(super) fn row_bytes(&self, row: RowId) -> i64 {
        let entry = &self.kernel.rows[row.index()];
        (entry.length * entry.dtype.size()) as i64
    }

    /// Returns the number of a step of a block among those of its lanes, one lane after the other, each with room for
    /// so many steps.
    fn by_tree_lane(&mut self, step: ir::Value, steps_of_lane: usize) -> ir::Value {
        let Some(TreeLanes { count: lanes, shift }) = self.tree_lanes else {
            self.refused = Some("rows by lanes outside of a contraction".to_string());
            return step;
        };
        let mask = self.ins().iadd_imm_s(lanes, -1);
        let lane = self.ins().band(step, mask);
        let before = self.ins().imul_imm_s(lane, steps_of_lane as i64);
        let within = self.ins().ushr(step, shift);
        self.ins().iadd(before, within)
    }

    /// Returns the address of the element of a row at the current position of its axis.
    pub(super) fn row_address(&mut self, row: RowId, axis: AxisId) -> ir::Value {
        self.part_address(row, 0, axis)
    }

    /// Returns the address of the element of one of several rows at the current position of their axis.
    pub(super) fn part_address(&mut self, row: RowId, part: usize, axis: AxisId) -> ir::Value {
        let start = self.row_within(row, part, axis);
        let Row { dtype, span, .. } = self.kernel.rows[row.index()];
        if !matches!(span, Span::Part { by_lanes: true, .. }) {
            return self.row_element(start, dtype, axis);
        }
        let (first, _) = self.bounds(axis);
        let position = self.positions[&axis];
        let local = self.ins().isub(position, first);
        let number = self.by_tree_lane(local, STEPS_OF_LANE);
        let bytes = self.scaled(number, dtype.size() as i64);
        self.ins().iadd(start, bytes)
    }

    /// Returns the start of the current strip of an axis in one of several rows.
    pub(super) fn row_within(&mut self, row: RowId, part: usize, axis: AxisId) -> ir::Value {
        let start = self.row_at(row, part);
        let Row { span, dtype, .. } = self.kernel.rows[row.index()];
        if matches!(span, Span::Strip | Span::Stretched { .. }) {
            return start;
        }
        if let Span::Block { rows, .. } | Span::Part { rows, .. } = span {
            let (first, _) = self.bounds(rows);
            let position = self.positions[&rows];
            let mut number = self.ins().isub(position, first);
            if matches!(span, Span::Block { by_lanes: true, .. }) {
                number = self.by_tree_lane(number, ROWS_OF_LANE);
            }
            let bytes = self.row_bytes(row);
            let offset = self.ins().imul_imm_s(number, bytes);
            return self.ins().iadd(start, offset);
        }
        let (mut first, _) = self.bounds(axis);
        if let Span::Periodic { period, .. } = span {
            let period = self.kernel.axes[period.index()].extent;
            let period = self.extent(period);
            first = self.ins().urem(first, period);
        }
        let bytes = self.scaled(first, dtype.size() as i64);
        self.ins().iadd(start, bytes)
    }

    /// Returns the address of the element at the current position of an axis in a row that starts at an address.
    pub(super) fn row_element(&mut self, start: ir::Value, dtype: DType, axis: AxisId) -> ir::Value {
        let (first, _) = self.bounds(axis);
        let position = self.positions[&axis];
        let local = self.ins().isub(position, first);
        let bytes = self.scaled(local, dtype.size() as i64);
        self.ins().iadd(start, bytes)
    }

    pub(super) fn row(&mut self, row: RowId, axis: AxisId) -> Val {
        let lanes = self.lanes_along(Some(axis));
        let address = self.row_address(row, axis);
        self.emit.load(address, 0, self.kernel.rows[row.index()].dtype, lanes, LaneStride::Unit)
    }

    /// Loads elements of a table at indices. Each index is checked if it has a position.
    pub(super) fn take(
        &mut self,
        value: &Value,
        access: AccessId,
        given: &Val,
        stride: Stride,
        size: Extent,
        position: Option<AccessId>,
    ) -> Val {
        let bytes = value.dtype.size() as i64;
        let start = self.origin(access);
        let guard = self.guard(size);
        let index = match position {
            Some(position) => self.checked(value, given, size, true, position),
            None => given.clone(),
        };
        let across = self.lane_stride(access);
        let lanes = across.map_or(index.lanes, |(lanes, _)| lanes);
        if across.is_none() && self.emit.gathers(value.dtype, lanes) {
            let start = guard.map_or(start, |[present, nothing]| self.ins().select(present, start, nothing));
            let places = self.strided(index, stride);
            return self.emit.gather(start, &places, value.dtype);
        }
        let indices = self.emit.each_lane(&index);
        let elements: SmallVec<[Val; 16]> = (0..lanes)
            .map(|lane| {
                let index = indices[lane.min(indices.len() - 1)].regs[0];
                let step = match stride {
                    Stride::Constant(stride) => self.scaled(index, stride.wrapping_mul(bytes)),
                    Stride::Param(param) => {
                        let stride = self.params[param.index()];
                        let stride = self.scaled(stride, bytes);
                        self.ins().imul(index, stride)
                    }
                };
                let mut address = self.ins().iadd(start, step);
                address = match across.map(|(_, stride)| stride).filter(|_| lane > 0) {
                    None => address,
                    Some(LaneStride::Unit) => self.ins().iadd_imm_s(address, bytes * lane as i64),
                    Some(LaneStride::Bytes(bytes)) => {
                        self.ins().iadd_imm_s(address, bytes.wrapping_mul(lane as i64))
                    }
                    Some(LaneStride::Dynamic(bytes)) => {
                        let step = self.ins().imul_imm_s(bytes, lane as i64);
                        self.ins().iadd(address, step)
                    }
                };
                let address =
                    guard.map_or(address, |[present, nothing]| self.ins().select(present, address, nothing));
                self.emit.load(address, 0, value.dtype, 1, LaneStride::Unit)
            })
            .collect();
        self.emit.from_lanes(value.dtype, &elements)
    }

    /// Returns indices as numbers of elements.
    fn strided(&mut self, indices: Val, stride: Stride) -> Val {
        let stride = match stride {
            Stride::Constant(1) => return indices,
            Stride::Constant(stride) => self.emit.constant(Scalar::I64(stride)),
            Stride::Param(param) => self.integer(self.params[param.index()]),
        };
        self.emit.op(Op::Multiply, &[indices, stride])
    }

    /// Returns whether a table has elements along its axis, and the address of a zero to read if it has none, because every index has
    /// been reported then; nothing if it certainly has some.
    fn guard(&mut self, size: Extent) -> Option<[ir::Value; 2]> {
        if matches!(size, Extent::Constant(1..)) {
            return None;
        }
        let (extent, zero) = (self.extent(size), self.constant(0));
        let nothing = self.emit.stack(8);
        self.ins().store(super::MemFlagsData::trusted(), zero, nothing, 0);
        let present = self.ins().icmp_imm_s(IntCC::SignedGreaterThan, extent, 0);
        Some([present, nothing])
    }
}
