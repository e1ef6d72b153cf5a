//! The results of blocks of an axis, by rank: rows of results beside those of a [`Contract`], and how equal ranks merge.

use crate::emit::LaneStride;
use crate::generate::Generator;
use broadloom_ir::reduce::{BLOCK, LANES};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

impl Generator<'_, '_, '_> {
    /// Emits what is necessary only where the axis has more than a block.
    pub(super) fn if_several_blocks(&mut self, contract: &Contract, emit: impl FnOnce(&mut Self)) {
        if contract.accumulators.iter().any(|entry| entry.ranks.is_some()) {
            let (start, end) = self.bounds(contract.axis);
            let length = self.ins().isub(end, start);
            let are_several = self.ins().icmp_imm_s(IntCC::SignedGreaterThan, length, BLOCK as i64);
            self.when(are_several, emit);
        }
    }

    /// Fills the rows of results with those of nothing.
    pub(super) fn fill_results(&mut self, contract: &Contract) {
        for entry in &contract.accumulators {
            let Accumulator { op, dtype, .. } = entry.accumulator;
            let identity = self.emit.constant(op.identity(dtype));
            let nothing = self.finish(op, &identity);
            let target = self.row_start(entry.target);
            self.over_results(entry, |generator, offset, lanes| {
                let address = generator.ins().iadd(target, offset);
                let nothing = generator.emit.splat(&nothing, lanes);
                generator.emit.store(address, 0, &nothing, LaneStride::Unit);
            });
        }
    }

    /// Runs `emit` with the offset in bytes of each vector of the rows of a result.
    fn over_results(&mut self, entry: &Contracted, emit: impl FnOnce(&mut Self, ir::Value, usize)) {
        let row = &self.kernel.rows[entry.target.index()];
        let size = row.dtype.size();
        let lanes = (self.emit.host.vector_bytes / size).clamp(LEAST_LANES, LANES);
        // Rows are whole numbers of vectors.
        let bytes = row.length * CONTRACTED_ROWS * size;
        let (zero, end) = (self.constant(0), self.constant(bytes as i64));
        self.repeat(zero, end, (lanes * size) as i64, &[], |generator, offset, _| {
            emit(generator, offset, lanes);
            Vec::new()
        });
    }

    /// Adds the results of a block to those of the blocks before: equal ranks merge as soon as both exist.
    pub(super) fn push_rows(&mut self, contract: &Contract, count: ir::Value) {
        let (rank, _) = self.merging_ranks(count, &[], |generator, rank, _| {
            generator.merge_rank(contract, rank);
            Vec::new()
        });
        for entry in &contract.accumulators {
            let Some((target, ranks)) = self.ends(entry, rank) else { continue };
            let dtype = entry.accumulator.dtype;
            self.over_results(entry, |generator, offset, lanes| {
                let [from, to] = [target, ranks].map(|start| generator.ins().iadd(start, offset));
                let value = generator.emit.load(from, 0, dtype, lanes, LaneStride::Unit);
                generator.emit.store(to, 0, &value, LaneStride::Unit);
            });
        }
    }

    /// Combines what a rank holds with the rows of results, which come after it.
    fn merge_rank(&mut self, contract: &Contract, rank: ir::Value) {
        for entry in &contract.accumulators {
            let Some((target, ranks)) = self.ends(entry, rank) else { continue };
            let accumulator = std::slice::from_ref(&entry.accumulator);
            let dtype = entry.accumulator.dtype;
            self.over_results(entry, |generator, offset, lanes| {
                let [newer, older] = [target, ranks].map(|start| generator.ins().iadd(start, offset));
                let both = [older, newer]
                    .map(|address| vec![generator.emit.load(address, 0, dtype, lanes, LaneStride::Unit)]);
                let merged = generator.combine(accumulator, &both[0], &both[1]);
                generator.emit.store(newer, 0, &merged[0], LaneStride::Unit);
            });
        }
    }

    /// Where the rows of results begin, and those of a rank.
    fn ends(&mut self, entry: &Contracted, rank: ir::Value) -> Option<(ir::Value, ir::Value)> {
        let ranks = entry.ranks?;
        let bytes = self.row_bytes(ranks) * CONTRACTED_ROWS as i64;
        let (target, start) = (self.row_start(entry.target), self.row_start(ranks));
        let offset = self.ins().imul_imm_s(rank, bytes);
        Some((target, self.ins().iadd(start, offset)))
    }

    /// What the ranks hold in the end, from right to left.
    pub(super) fn collect_ranks(&mut self, contract: &Contract, count: ir::Value) {
        // The last block went into the lowest rank that is held, and is in the rows of results as well.
        let all = self.ins().iadd_imm_s(count, -1);
        let above = self.ins().band(count, all);
        self.merging_held_ranks(above, &[], |generator, rank, _| {
            generator.merge_rank(contract, rank);
            Vec::new()
        });
    }
}
