//! Tables of results that are combined over an axis.

use super::Generator;
use super::contract::{Results, is_whole};
use super::stream::ByBlocks;
use crate::emit::{LaneStride, Val};
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::{LANES, ReduceOp};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::{self, InstBuilder};

impl Generator<'_, '_, '_> {
    /// Emits the steps of the axis, and combines what each leaves in rows. With lanes, each step goes to one of them.
    pub(super) fn fold_rows(&mut self, fold: &FoldRows) {
        let (start, end) = self.bounds(fold.axis);
        let by_blocks = match fold.folded.iter().any(|entry| entry.lanes.is_some()) {
            true => self.goes_by_blocks(fold.axis, fold.order),
            false => ByBlocks::Never,
        };
        let [one, many] = [1, LANES as i64].map(|count| self.constant(count));
        let dealt = match by_blocks {
            ByBlocks::Never => one,
            ByBlocks::Always => many,
            ByBlocks::If(condition) => self.ins().select(condition, many, one),
        };
        let tables: Vec<Table> = fold.folded.iter().map(|entry| self.table(entry, by_blocks)).collect();
        for (entry, table) in fold.folded.iter().zip(&tables) {
            let count = if entry.lanes.is_some() { dealt } else { one };
            self.fill_tables(fold, entry, table, count);
        }
        self.repeat(start, end, 1, &[], |generator, position, _| {
            let local = generator.ins().isub(position, start);
            let mask = generator.ins().iadd_imm_s(dealt, -1);
            let lane = generator.ins().band(local, mask);
            let targets = fold.folded.iter().zip(&tables).map(|(entry, table)| {
                let offset = generator.ins().imul_imm_s(lane, table.apart);
                (entry.op, generator.ins().iadd(table.start, offset))
            });
            let targets: Vec<(ReduceOp, ir::Value)> = targets.collect();
            generator.at(fold.axis, position, 1, |generator| match generator.combined_in_tiles(fold) {
                Some(contract) => generator.contract(contract, Results::Combined(&targets)),
                None => {
                    generator.body(&fold.body);
                    for (entry, (_, target)) in fold.folded.iter().zip(&targets) {
                        generator.combine_tables(fold, entry, *target);
                    }
                }
            });
            Vec::new()
        });
        self.if_by_blocks(by_blocks, |generator| {
            fold.folded.iter().for_each(|entry| generator.fold_tables(fold, entry));
        });
    }

    /// Returns the contraction whose tiles combine their results themselves, because these are whole.
    fn combined_in_tiles<'f>(&self, fold: &'f FoldRows) -> Option<&'f Contract> {
        let [Stmt::Contract(contract)] = fold.body.as_slice() else { return None };
        let is_narrow = |entry: &Contracted| entry.accumulator.narrow(&self.kernel.values).is_some();
        let fits = is_whole(self.kernel, contract) && !contract.accumulators.iter().any(is_narrow);
        fits.then_some(contract)
    }

    /// Returns where the rows begin that steps combine with.
    fn table(&mut self, entry: &Folded, by_blocks: ByBlocks) -> Table {
        let target = self.row_start(entry.target);
        let lanes = entry.lanes.map(|row| self.row_start(row));
        let start = match (by_blocks, lanes) {
            (ByBlocks::Always, Some(lanes)) => lanes,
            (ByBlocks::If(condition), Some(lanes)) => self.ins().select(condition, lanes, target),
            _ => target,
        };
        Table { start, apart: if lanes.is_some() { self.table_bytes(entry) } else { 0 } }
    }

    /// Returns the bytes of the rows of a result.
    fn table_bytes(&self, entry: &Folded) -> i64 {
        self.kernel.rows[entry.target.index()].count as i64 * self.row_bytes(entry.target)
    }

    /// Fills so many tables with the result of no steps. It is never a negative zero, nor are the results of a step: no sum
    /// then depends on whether it starts at one.
    fn fill_tables(&mut self, fold: &FoldRows, entry: &Folded, table: &Table, count: ir::Value) {
        let identity = self.emit.constant(entry.op.identity(entry.dtype));
        let nothing = self.finish(entry.op, &identity);
        let [zero, one] = [0, 1].map(|number| self.constant(number));
        self.through([zero, count, one], |generator, lane| {
            let offset = generator.ins().imul_imm_s(lane, table.apart);
            let start = generator.ins().iadd(table.start, offset);
            generator.over_table(fold, entry, Reach::Tiles, |generator, offset, lanes| {
                let address = generator.ins().iadd(start, offset);
                let nothing = generator.emit.splat(&nothing, lanes);
                generator.emit.store(address, 0, &nothing, LaneStride::Unit);
            });
        });
    }

    /// Combines what a step has left with the table that begins at an address.
    fn combine_tables(&mut self, fold: &FoldRows, entry: &Folded, target: ir::Value) {
        let from = self.row_start(entry.from);
        let &Folded { op, dtype, .. } = entry;
        self.over_table(fold, entry, Reach::Strips, |generator, offset, lanes| {
            let [step, target] = [from, target].map(|start| generator.ins().iadd(start, offset));
            let [before, value] =
                [target, step].map(|address| generator.emit.load(address, 0, dtype, lanes, LaneStride::Unit));
            let value = generator.emit.accumulate(op, dtype, &before, &value);
            generator.emit.store(target, 0, &value, LaneStride::Unit);
        });
    }

    /// Combines the tables of all lanes.
    fn fold_tables(&mut self, fold: &FoldRows, entry: &Folded) {
        let Some(lanes) = entry.lanes else { return };
        let (target, start, bytes) =
            (self.row_start(entry.target), self.row_start(lanes), self.table_bytes(entry));
        self.over_table(fold, entry, Reach::Strips, |generator, offset, count| {
            let read = |generator: &mut Self, lane: usize| {
                let distance = generator.ins().iadd_imm_s(offset, lane as i64 * bytes);
                let address = generator.ins().iadd(start, distance);
                generator.emit.load(address, 0, entry.dtype, count, LaneStride::Unit)
            };
            let folded = generator.fold_lanes((entry.op, entry.dtype), (0, 1), LANES, &read);
            let address = generator.ins().iadd(target, offset);
            generator.emit.store(address, 0, &folded, LaneStride::Unit);
        });
    }

    /// Runs `emit` with the offset in bytes of each vector in the rows of a result. Rows consist of whole vectors.
    fn over_table(
        &mut self,
        fold: &FoldRows,
        entry: &Folded,
        reach: Reach,
        emit: impl FnOnce(&mut Self, ir::Value, usize),
    ) {
        let size = entry.dtype.size();
        let written = fold.contract().map_or(LEAST_LANES, |contract| contract.lanes);
        let lanes = (self.emit.host.vector_bytes / size).min(written).clamp(LEAST_LANES, LANES);
        let [of_rows, of_strip] = [fold.rows, fold.strip].map(|axis| self.bounds(axis));
        let [mut rows, mut length] = [of_rows, of_strip].map(|(first, last)| self.ins().isub(last, first));
        let Row { count, .. } = self.kernel.rows[entry.target.index()];
        if reach == Reach::Tiles {
            rows = self.rounded_up(rows, PACKED_STEPS);
            let all = self.constant(count as i64);
            rows = self.least(rows, all);
            length = self.rounded_up(length, written);
        }
        let end = self.scaled(rows, self.row_bytes(entry.target));
        let length = self.scaled(length, size as i64);
        let [zero, of_row, of_vector] =
            [0, self.row_bytes(entry.target), (lanes * size) as i64].map(|bytes| self.constant(bytes));
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

    /// Combines the lanes `first`, `first + apart`, .. of so many; the lanes combined last are the closest to each other.
    /// It works depth first, so that few lanes are in registers at once.
    pub(super) fn fold_lanes(
        &mut self,
        (op, dtype): (ReduceOp, DType),
        (first, apart): (usize, usize),
        lanes: usize,
        read: &dyn Fn(&mut Self, usize) -> Val,
    ) -> Val {
        if apart == lanes {
            return read(self, first);
        }
        let [left, right] =
            [first, first + apart].map(|first| self.fold_lanes((op, dtype), (first, 2 * apart), lanes, read));
        self.emit.accumulate(op, dtype, &left, &right)
    }
}

/// Which rows are walked, and how far.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    /// The steps of both strips.
    Strips,
    /// All that tiles write beyond their ends as well: old bits there may be subnormal numbers, which are slow on some CPUs.
    Tiles,
}

/// The rows with which steps combine: the address of those of the first lane, and the bytes to those of the next, if there are
/// several.
struct Table {
    start: ir::Value,
    apart: i64,
}
