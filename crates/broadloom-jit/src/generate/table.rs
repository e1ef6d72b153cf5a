//! Tables of results in scratch rows: one row for each step of the strip of an axis, over the strip of another.

use super::Generator;
use crate::emit::LaneStride;
use broadloom_ir::reduce::{LANES, ReduceOp};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::{self, InstBuilder};

/// How the rows of results of a contraction are laid out, and of what is combined from them.
#[derive(Clone, Copy)]
pub(super) struct Table {
    /// The axis with a row for each step, and the axis over whose strip these are.
    pub rows: AxisId,
    pub strip: AxisId,
    /// The rows. Others with the same layout can begin elsewhere.
    pub row: RowId,
    /// The most lanes that a tile writes at once.
    pub lanes: usize,
}

/// How far the rows are walked.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reach {
    /// Through the steps of both strips.
    Strips,
    /// Through all that tiles write beyond their ends as well: old bits there may be subnormal numbers, which are slow on some
    /// CPUs.
    Tiles,
}

impl Generator<'_, '_, '_> {
    /// Fills a table that begins at an address with the result of no elements.
    pub(super) fn fill_table(&mut self, table: Table, op: ReduceOp, start: ir::Value) {
        let identity = self.emit.constant(op.identity(self.kernel.rows[table.row.index()].dtype));
        let nothing = self.finish(op, &identity);
        self.over_table(table, Reach::Tiles, |generator, offset, lanes| {
            let address = generator.ins().iadd(start, offset);
            let nothing = generator.emit.splat(&nothing, lanes);
            generator.emit.store(address, 0, &nothing, LaneStride::Unit);
        });
    }

    /// Combines the tables that begin at two addresses, whose elements come in this order, into the one at a third.
    pub(super) fn combine_tables(
        &mut self,
        table: Table,
        op: ReduceOp,
        from: [ir::Value; 2],
        target: ir::Value,
    ) {
        let dtype = self.kernel.rows[table.row.index()].dtype;
        self.over_table(table, Reach::Strips, |generator, offset, lanes| {
            let [older, newer] = from.map(|start| {
                let address = generator.ins().iadd(start, offset);
                generator.emit.load(address, 0, dtype, lanes, LaneStride::Unit)
            });
            let combined = generator.emit.accumulate(op, dtype, &older, &newer);
            let address = generator.ins().iadd(target, offset);
            generator.emit.store(address, 0, &combined, LaneStride::Unit);
        });
    }

    /// Runs `emit` with the offset in bytes of each vector of a table, and its lanes. Rows consist of whole vectors.
    pub(super) fn over_table(
        &mut self,
        table: Table,
        reach: Reach,
        emit: impl FnOnce(&mut Self, ir::Value, usize),
    ) {
        let Row { dtype, count, .. } = self.kernel.rows[table.row.index()];
        let lanes = (self.emit.host.vector_bytes / dtype.size()).min(table.lanes).clamp(LEAST_LANES, LANES);
        let [mut rows, mut length] = [table.rows, table.strip].map(|axis| {
            let (first, last) = self.bounds(axis);
            self.ins().isub(last, first)
        });
        if reach == Reach::Tiles {
            rows = self.rounded_up(rows, PACKED_STEPS);
            let all = self.constant(count as i64);
            rows = self.least(rows, all);
            length = self.rounded_up(length, table.lanes);
        }
        let of_row = self.row_bytes(table.row);
        let end = self.scaled(rows, of_row);
        let length = self.scaled(length, dtype.size() as i64);
        let [zero, of_row, of_vector] =
            [0, of_row, (lanes * dtype.size()) as i64].map(|bytes| self.constant(bytes));
        self.through([zero, end, of_row], |generator, row| {
            let end = generator.ins().iadd(row, length);
            generator.through([row, end, of_vector], |generator, offset| emit(generator, offset, lanes));
        });
    }

    fn rounded_up(&mut self, value: ir::Value, unit: usize) -> ir::Value {
        let above = self.ins().iadd_imm_s(value, unit as i64 - 1);
        let units = self.ins().udiv_imm_u(above, unit as i64);
        self.scaled(units, unit as i64)
    }
}
