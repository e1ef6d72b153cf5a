//! Fills scratch rows: with values, element by element, and with parts of arrays whose layout does not match the
//! loops.

use super::{Generator, TreeLanes};
use crate::emit::{LaneStride, Val};
use crate::thresholds::COPIED_LANES;
use broadloom_ir::dtype::DType;
use broadloom_loops::kernel::*;
use broadloom_math::transpose_function;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

/// A part of an array that is copied into rows, and the function that transposes it.
struct Copied {
    access: AccessId,
    delta: i64,
    row: RowId,
    function: usize,
}

/// How the elements of a row over a block lie in the lanes of the fixed tree.
struct LanesOfRow {
    /// The number of lanes, how many elements each has at least, and the number of those that have one more.
    lanes: ir::Value,
    whole: ir::Value,
    rest: ir::Value,
    /// The bytes before these last elements: in the row in order, and in a lane.
    offset_before: ir::Value,
    offset_after: ir::Value,
    /// The distances in bytes from one lane to the next, and from one element of a lane to the next in the row in order.
    target_stride: ir::Value,
    source_stride: ir::Value,
}

impl Generator<'_, '_, '_> {
    /// Copies the part of an array in the strips of two axes into rows.
    pub(super) fn transpose(&mut self, access: AccessId, delta: i64, row: RowId, rows: AxisId, axis: AxisId) {
        let size = self.kernel.accesses[access.index()].dtype.size();
        let Some(function) = transpose_function(size) else {
            self.refused = Some(format!("there is no copy of elements of {size} bytes"));
            return;
        };
        let span = self.kernel.rows[row.index()].span;
        if let (Span::Part { by_lanes: true, .. }, Some(tree_lanes)) = (span, self.tree_lanes) {
            let is_along = self.kernel.accesses[access.index()].is_unit(axis);
            let copied = Copied { access, delta, row, function: function as usize };
            match is_along {
                true => self.copy_rows_by_tree_lane(&copied, rows, axis, tree_lanes),
                false => self.copy_steps_by_tree_lane(&copied, rows, axis, tree_lanes),
            }
            return;
        }
        let source_stride = match self.kernel.accesses[access.index()].stride(axis) {
            None => self.constant(0),
            Some(stride) => self.stride_bytes(stride, size as i64),
        };
        let (first, last) = self.bounds(axis);
        let length = self.ins().isub(last, first);
        let row_bytes = self.row_bytes(row);
        let copy = |generator: &mut Self, (first_row, last_row), apart: i64| {
            let [source, target] = generator.at(rows, first_row, 1, |generator| {
                let source = generator.at(axis, first, 1, |generator| generator.address(access, delta));
                [source, generator.row_within(row, 0, axis)]
            });
            let target_stride = generator.constant(apart);
            let count = generator.ins().isub(last_row, first_row);
            let args = [target, target_stride, source, source_stride, count, length];
            generator.call_host(function as usize, &args);
        };
        let all = self.bounds(rows);
        match (span, self.tree_lanes) {
            // The steps of neighbouring lanes, as often as each lane has a step.
            (Span::Block { by_lanes: true, .. }, Some(tree_lanes)) => {
                let apart = ROWS_OF_LANE as i64 * row_bytes;
                self.blocks(all.0, all.1, tree_lanes.count, &[], |generator, lanes, _| {
                    copy(generator, lanes, apart);
                    Vec::new()
                });
            }
            _ => copy(self, all, row_bytes),
        }
    }

    /// Copies contiguous elements of each row to its lanes.
    fn copy_rows_by_tree_lane(&mut self, copied: &Copied, rows: AxisId, axis: AxisId, tree_lanes: TreeLanes) {
        let Copied { access, delta, row, function } = *copied;
        let size = self.kernel.rows[row.index()].dtype.size() as i64;
        let ((first_row, last_row), (first, _)) = (self.bounds(rows), self.bounds(axis));
        let lanes = self.lanes_of_row(axis, size, tree_lanes);
        self.repeat(first_row, last_row, 1, &[], |generator, position, _| {
            let [source, target] = generator.at(rows, position, 1, |generator| {
                let source = generator.at(axis, first, 1, |generator| generator.address(access, delta));
                [source, generator.row_within(row, 0, axis)]
            });
            generator.copy_by_tree_lane(function, [target, source], &lanes);
            Vec::new()
        });
    }

    /// Copies a row over the block of an axis to the lanes of another.
    pub(super) fn deinterleave(&mut self, row: RowId, source: RowId, axis: AxisId) {
        let size = self.kernel.rows[row.index()].dtype.size();
        let (Some(function), Some(tree_lanes)) = (transpose_function(size), self.tree_lanes) else {
            self.refused = Some(format!("there is no order of elements of {size} bytes by lanes"));
            return;
        };
        let lanes = self.lanes_of_row(axis, size as i64, tree_lanes);
        let [target, source] = [row, source].map(|row| self.row_within(row, 0, axis));
        self.copy_by_tree_lane(function as usize, [target, source], &lanes);
    }

    /// Returns how the elements of a row over the block of an axis lie in its lanes.
    fn lanes_of_row(&mut self, axis: AxisId, size: i64, tree_lanes: TreeLanes) -> LanesOfRow {
        let (first, last) = self.bounds(axis);
        let length = self.ins().isub(last, first);
        let whole = self.ins().ushr(length, tree_lanes.shift);
        let before = self.ins().ishl(whole, tree_lanes.shift);
        let rest = self.ins().isub(length, before);
        let [offset_before, offset_after] = [before, whole].map(|elements| self.scaled(elements, size));
        LanesOfRow {
            lanes: tree_lanes.count,
            whole,
            rest,
            offset_before,
            offset_after,
            target_stride: self.constant(STEPS_OF_LANE as i64 * size),
            source_stride: self.scaled(tree_lanes.count, size),
        }
    }

    /// Copies the elements of one row to its lanes.
    fn copy_by_tree_lane(&mut self, function: usize, [target, source]: [ir::Value; 2], of_row: &LanesOfRow) {
        let &LanesOfRow { lanes, whole, rest, target_stride, source_stride, .. } = of_row;
        self.call_host(function, &[target, target_stride, source, source_stride, lanes, whole]);
        // The first lanes may have one more.
        let has_rest = self.ins().icmp_imm_s(IntCC::SignedGreaterThan, rest, 0);
        self.when(has_rest, |generator| {
            let source = generator.ins().iadd(source, of_row.offset_before);
            let target = generator.ins().iadd(target, of_row.offset_after);
            let one = generator.constant(1);
            generator.call_host(function, &[target, target_stride, source, source_stride, rest, one]);
        });
    }

    /// Copies the steps of each lane to all rows at once; neighbouring rows are contiguous in the array.
    fn copy_steps_by_tree_lane(
        &mut self,
        copied: &Copied,
        rows: AxisId,
        axis: AxisId,
        tree_lanes: TreeLanes,
    ) {
        let Copied { access, delta, row, function } = *copied;
        let size = self.kernel.rows[row.index()].dtype.size() as i64;
        let ((first_row, last_row), (first, last)) = (self.bounds(rows), self.bounds(axis));
        let count = self.ins().isub(last_row, first_row);
        let source_stride = match self.kernel.accesses[access.index()].stride(axis) {
            None => self.constant(0),
            Some(stride) => self.stride_bytes(stride, size),
        };
        let source_stride = self.ins().imul(source_stride, tree_lanes.count);
        let target_stride = self.constant(self.row_bytes(row));
        let end = self.ins().iadd(first, tree_lanes.count);
        let end = self.least(end, last);
        self.repeat(first, end, 1, &[], |generator, position, _| {
            let [source, target] = generator.at(rows, first_row, 1, |generator| {
                generator.at(axis, position, 1, |generator| {
                    [generator.address(access, delta), generator.row_address(row, axis)]
                })
            });
            // The steps of this lane.
            let left = generator.ins().isub(last, position);
            let mask = generator.ins().iadd_imm_s(tree_lanes.count, -1);
            let rounded = generator.ins().iadd(left, mask);
            let steps = generator.ins().ushr(rounded, tree_lanes.shift);
            generator.call_host(function, &[target, target_stride, source, source_stride, count, steps]);
            Vec::new()
        });
    }

    pub(super) fn put(&mut self, row: RowId, part: usize, axis: AxisId, value: ValueId) {
        let lanes = self.lanes_along(Some(axis));
        let value = self.get(value);
        let value = self.emit.splat(&value, lanes);
        let Row { dtype, span, length, .. } = self.kernel.rows[row.index()];
        match span {
            Span::Strip | Span::Axis | Span::One | Span::Block { .. } | Span::Part { .. } => {
                let address = self.part_address(row, part, axis);
                self.emit.store(address, 0, &value, LaneStride::Unit);
            }
            Span::Periodic { along, .. } => {
                // Repeated, but not more often than there are elements.
                let Extent::Constant(period) = self.kernel.axes[axis.index()].extent else { return };
                let (first, last) = self.bounds(along);
                let needed = self.ins().isub(last, first);
                let needed = self.ins().iadd_imm_s(needed, period);
                let length = self.constant(length as i64);
                let end = self.least(needed, length);
                let (start, position) = (self.row_at(row, part), self.positions[&axis]);
                self.fill_row((start, dtype), (position, end), period, &value);
            }
            Span::Stretched { along, .. } => {
                let Some((_, steps)) = self.kernel.axes[axis.index()].stretched else { return };
                let width = match steps {
                    Extent::Constant(steps) if steps <= STRETCH as i64 / 4 => STRETCH / 4,
                    Extent::Constant(steps) if steps <= STRETCH as i64 / 2 => STRETCH / 2,
                    Extent::Constant(_) | Extent::Param(_) => STRETCH,
                };
                let value = self.emit.splat(&value, width);
                // The steps of the strip that belong to this row; the next row fills what lies beyond them again.
                let (first, last) = self.bounds(along);
                let steps = self.extent(steps);
                let position = self.positions[&axis];
                let start = self.ins().imul(position, steps);
                let end = self.ins().iadd(start, steps);
                let end = self.least(end, last);
                let later = self.ins().icmp(IntCC::SignedGreaterThan, start, first);
                let start = self.ins().select(later, start, first);
                let [start, end] = [start, end].map(|position| self.ins().isub(position, first));
                let row = self.row_at(row, part);
                self.fill_row((row, dtype), (start, end), width as i64, &value);
            }
        }
    }

    /// Copies the part of an array in the strip of a merged axis, one step of the outer axis at a time.
    pub(super) fn gather(
        &mut self,
        (access, delta): (AccessId, i64),
        row: RowId,
        axis: AxisId,
        steps: Extent,
        [outer, inner]: [Stride; 2],
    ) {
        let dtype = self.kernel.rows[row.index()].dtype;
        let size = dtype.size() as i64;
        let (first, last) = self.bounds(axis);
        let (source, target) = (self.address(access, delta), self.row_start(row));
        let steps = self.extent(steps);
        let [outer, inner_bytes] = [outer, inner].map(|stride| self.stride_bytes(stride, size));
        let lane_stride = self.stride(inner, dtype.size());
        // A strip is not empty, so the divisor is not zero.
        let step = self.ins().udiv(first, steps);
        let start = self.ins().imul(step, steps);
        let offset = self.ins().imul(step, outer);
        let source = self.ins().iadd(source, offset);
        self.loop_while(
            &[start, source],
            &[],
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], last),
            |generator, state, _| {
                let (start, source) = (state[0], state[1]);
                let next = generator.ins().iadd(start, steps);
                let is_later = generator.ins().icmp(IntCC::SignedGreaterThan, start, first);
                let begin = generator.ins().select(is_later, start, first);
                let end = generator.least(next, last);
                let copy = |generator: &mut Self, position: ir::Value, lanes: usize| {
                    let within = generator.ins().isub(position, start);
                    let offset = generator.ins().imul(within, inner_bytes);
                    let address = generator.ins().iadd(source, offset);
                    let value = generator.emit.load(address, 0, dtype, lanes, lane_stride);
                    let local = generator.ins().isub(position, first);
                    let local = generator.scaled(local, size);
                    let address = generator.ins().iadd(target, local);
                    generator.emit.store(address, 0, &value, LaneStride::Unit);
                    Vec::new()
                };
                let many =
                    |generator: &mut Self, position, _: &[Val]| copy(generator, position, COPIED_LANES);
                let (begin, _) = generator.repeat(begin, end, COPIED_LANES as i64, &[], many);
                generator.repeat(begin, end, 1, &[], |generator, position, _| copy(generator, position, 1));
                (vec![next, generator.ins().iadd(source, outer)], Vec::new())
            },
        );
    }

    /// Writes lanes into a row at every `step`-th position of a range.
    pub(super) fn fill_row(
        &mut self,
        (row, dtype): (ir::Value, DType),
        (start, end): (ir::Value, ir::Value),
        step: i64,
        lanes: &Val,
    ) {
        self.loop_while(
            &[start],
            &[],
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], end),
            |generator, state, _| {
                let bytes = generator.scaled(state[0], dtype.size() as i64);
                let address = generator.ins().iadd(row, bytes);
                generator.emit.store(address, 0, lanes, LaneStride::Unit);
                (vec![generator.ins().iadd_imm_s(state[0], step)], Vec::new())
            },
        );
    }
}
