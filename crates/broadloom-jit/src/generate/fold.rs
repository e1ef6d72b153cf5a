//! Tables of results that are combined over an axis.

use super::Generator;
use super::contract::Results;
use super::stream::ByBlocks;
use super::table::{Reach, Table};
use crate::emit::{LaneStride, Val};
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::{LANES, ReduceOp};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::{self, InstBuilder};

impl Generator<'_, '_, '_> {
    /// Emits the steps of the axis, and combines what each leaves in rows. With lanes, each step goes to one of them. A sum
    /// starts at a positive zero here, and at its first element elsewhere: that makes no difference, because a positive zero is
    /// added to every sum at its end.
    pub(super) fn fold_rows(&mut self, fold: &FoldRows) {
        let (start, end) = self.bounds(fold.axis);
        let by_blocks = match fold.folded.iter().any(|entry| entry.lanes.is_some()) {
            true => self.goes_by_blocks(fold.axis, fold.order),
            false => ByBlocks::Never,
        };
        let [one, many] = [1, LANES as i64].map(|count| self.constant(count));
        let lanes = match by_blocks {
            ByBlocks::Never => one,
            ByBlocks::Always => many,
            ByBlocks::If(condition) => self.ins().select(condition, many, one),
        };
        let zero = self.constant(0);
        let places: Vec<Place> = fold.folded.iter().map(|entry| self.place(entry, by_blocks)).collect();
        for (entry, place) in fold.folded.iter().zip(&places) {
            let count = if entry.lanes.is_some() { lanes } else { one };
            self.through([zero, count, one], |generator, lane| {
                let start = generator.of_lane(place, lane);
                generator.fill_table(table(fold, entry), entry.op, start);
            });
        }
        self.repeat(start, end, 1, &[], |generator, position, _| {
            let local = generator.ins().isub(position, start);
            let mask = generator.ins().iadd_imm_s(lanes, -1);
            let lane = generator.ins().band(local, mask);
            let targets = fold.folded.iter().zip(&places);
            let targets: Vec<(ReduceOp, ir::Value)> =
                targets.map(|(entry, place)| (entry.op, generator.of_lane(place, lane))).collect();
            generator.at(fold.axis, position, 1, |generator| match fold.body.as_slice() {
                [Stmt::Contract(contract @ Contract { epilogue: Epilogue::Fold, .. })] => {
                    generator.contract(contract, Results::Combined(&targets));
                }
                body => {
                    generator.body(body);
                    for (entry, &(op, target)) in fold.folded.iter().zip(&targets) {
                        let step = generator.row_start(entry.from);
                        generator.combine_tables(table(fold, entry), op, [target, step], target);
                    }
                }
            });
            Vec::new()
        });
        self.if_by_blocks(by_blocks, |generator| {
            fold.folded.iter().for_each(|entry| generator.join_lanes(fold, entry));
        });
    }

    /// Returns where the rows begin that steps combine with.
    fn place(&mut self, entry: &Folded, by_blocks: ByBlocks) -> Place {
        let target = self.row_start(entry.target);
        let lanes = entry.lanes.map(|row| self.row_start(row));
        let start = match (by_blocks, lanes) {
            (ByBlocks::Always, Some(lanes)) => lanes,
            (ByBlocks::If(condition), Some(lanes)) => self.ins().select(condition, lanes, target),
            _ => target,
        };
        Place { start, apart: if lanes.is_some() { self.bytes_of_lane(entry) } else { 0 } }
    }

    /// Returns the address of the rows of a lane.
    fn of_lane(&mut self, place: &Place, lane: ir::Value) -> ir::Value {
        let offset = self.ins().imul_imm_s(lane, place.apart);
        self.ins().iadd(place.start, offset)
    }

    /// Returns the bytes of the rows of a lane.
    fn bytes_of_lane(&self, entry: &Folded) -> i64 {
        self.kernel.rows[entry.target.index()].count as i64 * self.row_bytes(entry.target)
    }

    /// Combines the rows of all lanes.
    fn join_lanes(&mut self, fold: &FoldRows, entry: &Folded) {
        let Some(lanes) = entry.lanes else { return };
        let (target, start, bytes) =
            (self.row_start(entry.target), self.row_start(lanes), self.bytes_of_lane(entry));
        self.over_table(table(fold, entry), Reach::Strips, |generator, offset, count| {
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

/// Returns the layout of combined results, and of those that a step leaves.
fn table(fold: &FoldRows, entry: &Folded) -> Table {
    let lanes = fold.contract().map_or(LEAST_LANES, |contract| contract.lanes);
    Table { rows: fold.rows, strip: fold.strip, row: entry.target, lanes }
}

/// Where steps combine their results with those before: the address of the rows of the first lane, and the bytes to those of the
/// next, if there are several.
struct Place {
    start: ir::Value,
    apart: i64,
}
