//! The results of blocks of an axis, by rank: rows of results after those for the steps of a [`Contract`], and how equal
//! ranks merge.

use super::Tile;
use crate::emit::LaneStride;
use crate::generate::Generator;
use broadloom_ir::reduce::{BLOCK, LANES};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

impl Generator<'_, '_, '_> {
    /// Emits code that runs only if the axis, whose blocks have ranks, has elements behind one that ends at a position.
    pub(super) fn if_blocks_follow(
        &mut self,
        contract: &Contract,
        last: ir::Value,
        emit: impl FnOnce(&mut Self),
    ) {
        if contract.is_ranked(&self.kernel.axes) {
            let (_, end) = self.bounds(contract.axis);
            let is_before = self.ins().icmp(IntCC::SignedLessThan, last, end);
            self.when(is_before, emit);
        }
    }

    /// Returns the number of steps of a strip that is cut for a contraction: the number of groups of rows that are
    /// available for the results and for each rank that the axis needs. The rows of a single block stay in the first-level
    /// cache.
    pub(in crate::generate) fn steps_for_ranks(&mut self, contract: &Contract, most: usize) -> ir::Value {
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
            let Accumulator { op, dtype, .. } = entry.accumulator;
            let identity = self.emit.constant(op.identity(dtype));
            let nothing = self.finish(op, &identity);
            let target = self.row_start(entry.target);
            self.over_results(tile, entry, |generator, offset, lanes| {
                let address = generator.ins().iadd(target, offset);
                let nothing = generator.emit.splat(&nothing, lanes);
                generator.emit.store(address, 0, &nothing, LaneStride::Unit);
            });
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

    /// Runs `emit` with the offset in bytes of each vector in the rows of a result.
    fn over_results(
        &mut self,
        tile: &Tile<'_>,
        entry: &Contracted,
        emit: impl FnOnce(&mut Self, ir::Value, usize),
    ) {
        let size = entry.accumulator.dtype.size();
        let lanes = (self.emit.host.vector_bytes / size).clamp(LEAST_LANES, LANES);
        // Rows consist of whole vectors.
        let end = self.bytes_of_results(tile, entry);
        let zero = self.constant(0);
        self.repeat(zero, end, (lanes * size) as i64, &[], |generator, offset, _| {
            emit(generator, offset, lanes);
            Vec::new()
        });
    }

    /// Adds the results of a block to those of the blocks before: equal ranks merge as soon as both exist.
    pub(super) fn push_rows(&mut self, tile: &Tile<'_>, count: ir::Value) {
        let (rank, _) = self.merging_ranks(count, &[], |generator, rank, _| {
            generator.merge_rank(tile, rank);
            Vec::new()
        });
        for entry in &tile.contract.accumulators {
            let (target, ranks) = self.ends(tile, entry, rank);
            let dtype = entry.accumulator.dtype;
            self.over_results(tile, entry, |generator, offset, lanes| {
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
            let accumulator = std::slice::from_ref(&entry.accumulator);
            let dtype = entry.accumulator.dtype;
            self.over_results(tile, entry, |generator, offset, lanes| {
                let [newer, older] = [target, ranks].map(|start| generator.ins().iadd(start, offset));
                let both = [older, newer]
                    .map(|address| vec![generator.emit.load(address, 0, dtype, lanes, LaneStride::Unit)]);
                let merged = generator.combine(accumulator, &both[0], &both[1]);
                generator.emit.store(newer, 0, &merged[0], LaneStride::Unit);
            });
        }
    }

    /// Returns the start of the rows of results, and of the rows of a rank.
    fn ends(&mut self, tile: &Tile<'_>, entry: &Contracted, rank: ir::Value) -> (ir::Value, ir::Value) {
        let (target, bytes) = (self.row_start(entry.target), self.bytes_of_results(tile, entry));
        let before = self.ins().iadd_imm_s(rank, 1);
        let offset = self.ins().imul(before, bytes);
        (target, self.ins().iadd(target, offset))
    }

    /// Combines the ranks at the end, from right to left.
    pub(super) fn collect_ranks(&mut self, tile: &Tile<'_>, count: ir::Value) {
        // The last block is in the rows of results only.
        let held = self.ins().iadd_imm_s(count, -1);
        self.merging_held_ranks(held, &[], |generator, rank, _| {
            generator.merge_rank(tile, rank);
            Vec::new()
        });
    }
}
