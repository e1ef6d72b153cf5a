//! The results of blocks of an axis, by rank: rows of results after those for the steps of a [`Contract`], and how equal
//! ranks merge.

use super::Tile;
use crate::emit::LaneStride;
use crate::generate::Generator;
use crate::generate::table::{Reach, Table};
use broadloom_ir::reduce::BLOCK;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

impl Generator<'_, '_, '_> {
    /// Returns the number of steps of a strip that is cut for a contraction. For a single block, they are few, so that its
    /// results stay in the first-level cache; with ranks, as many as there are groups of rows for the results and each rank that
    /// the axis needs.
    pub(in crate::generate) fn steps_of_strip(&mut self, contract: &Contract, most: usize) -> ir::Value {
        if !contract.is_ranked(&self.kernel.axes) || most <= CONTRACTED_ROWS {
            return self.constant(most as i64);
        }
        let fewest = self.constant(CONTRACTED_ROWS as i64);
        let (start, end) = self.bounds(contract.axis);
        let length = self.ins().isub(end, start);
        let rounded = self.ins().iadd_imm_s(length, BLOCK as i64 - 1);
        let blocks = self.ins().sshr_imm_u(rounded, i64::from(BLOCK.ilog2()));
        // The last block goes into no rank.
        let ranked = self.ins().iadd_imm_s(blocks, -1);
        let zeros = self.ins().clz(ranked);
        // The ranks, and the results.
        let bits = self.constant(1 + i64::from(u64::BITS));
        let groups = self.ins().isub(bits, zeros);
        let all = self.constant((most / CONTRACTED_ROWS) as i64);
        let groups = self.ins().udiv(all, groups);
        let steps = self.ins().imul_imm_s(groups, CONTRACTED_ROWS as i64);
        let are_several = self.ins().icmp_imm_s(IntCC::SignedGreaterThan, blocks, 1);
        self.ins().select(are_several, steps, fewest)
    }

    /// Fills the rows of results with the result of no elements.
    pub(super) fn fill_results(&mut self, tile: &Tile<'_>) {
        for entry in &tile.contract.accumulators {
            let target = self.row_start(entry.target);
            self.fill_table(table(tile, entry), entry.accumulator.op, target);
        }
    }

    /// Returns the number of bytes of the rows of a result: one row for each step of the strip, and for each step of tiles
    /// beyond its end.
    fn bytes_of_results(&mut self, tile: &Tile<'_>, entry: &Contracted) -> ir::Value {
        let (first, last) = self.bounds(tile.contract.rows);
        let steps = self.ins().isub(last, first);
        let rounded = self.ins().iadd_imm_s(steps, tile.steps as i64 - 1);
        let tiles = self.ins().udiv_imm_u(rounded, tile.steps as i64);
        let bytes = self.row_bytes(entry.target) * tile.steps as i64;
        self.ins().imul_imm_s(tiles, bytes)
    }

    /// Merges the results of a block, which ends at a position, with those of so many blocks before. A block that others follow
    /// merges with equal ranks, and its results become the next free rank. The last block merges with all ranks in use, from
    /// right to left, and its results stay in the rows.
    pub(super) fn rank_results(&mut self, tile: &Tile<'_>, last: ir::Value, count: ir::Value) {
        let contract = tile.contract;
        if !contract.is_ranked(&self.kernel.axes) {
            return;
        }
        let (start, end) = self.bounds(contract.axis);
        let length = self.ins().isub(end, start);
        let are_several = self.ins().icmp_imm_s(IntCC::SignedGreaterThan, length, BLOCK as i64);
        self.when(are_several, |generator| {
            let is_last = generator.ins().icmp(IntCC::SignedGreaterThanOrEqual, last, end);
            let [all, lowest, zero] = [-1, 1, 0].map(|number| generator.constant(number));
            let merged = generator.ins().select(is_last, all, lowest);
            let looped = generator.loop_while(
                &[count, zero],
                &[],
                |generator, state| {
                    let left = generator.ins().band(state[0], merged);
                    generator.ins().icmp_imm_s(IntCC::NotEqual, left, 0)
                },
                |generator, state, _| {
                    let is_in_use = generator.is_odd(state[0]);
                    generator.when(is_in_use, |generator| generator.merge_rank(tile, state[1]));
                    let rest = generator.ins().ushr_imm_u(state[0], 1);
                    (vec![rest, generator.ins().iadd_imm_s(state[1], 1)], Vec::new())
                },
            );
            let follow = generator.ins().icmp(IntCC::SignedLessThan, last, end);
            generator.when(follow, |generator| generator.store_rank(tile, looped.state[1]));
        });
    }

    /// Copies the rows of results to a rank.
    fn store_rank(&mut self, tile: &Tile<'_>, rank: ir::Value) {
        for entry in &tile.contract.accumulators {
            let (target, ranks) = self.ends(tile, entry, rank);
            let dtype = entry.accumulator.dtype;
            self.over_table(table(tile, entry), Reach::Strips, |generator, offset, lanes| {
                let [from, to] = [target, ranks].map(|start| generator.ins().iadd(start, offset));
                let value = generator.emit.load(from, 0, dtype, lanes, LaneStride::Unit);
                generator.emit.store(to, 0, &value, LaneStride::Unit);
            });
        }
    }

    /// Combines the content of a rank with the rows of results, which come after it.
    fn merge_rank(&mut self, tile: &Tile<'_>, rank: ir::Value) {
        for entry in &tile.contract.accumulators {
            let (target, ranks) = self.ends(tile, entry, rank);
            self.combine_tables(table(tile, entry), entry.accumulator.op, [ranks, target], target);
        }
    }

    /// Returns the start of the rows of results, and of the rows of a rank.
    fn ends(&mut self, tile: &Tile<'_>, entry: &Contracted, rank: ir::Value) -> (ir::Value, ir::Value) {
        let (target, bytes) = (self.row_start(entry.target), self.bytes_of_results(tile, entry));
        let before = self.ins().iadd_imm_s(rank, 1);
        let offset = self.ins().imul(before, bytes);
        (target, self.ins().iadd(target, offset))
    }
}

/// Returns the layout of the rows of a result.
fn table(tile: &Tile<'_>, entry: &Contracted) -> Table {
    let &Contract { rows, strip, lanes, .. } = tile.contract;
    Table { rows, strip, row: entry.target, lanes }
}
