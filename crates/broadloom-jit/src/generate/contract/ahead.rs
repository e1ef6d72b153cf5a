//! Prefetches the rows that the next tile reads, while a tile is computed.
//!
//! An array that the axis of rows moves is read once for each strip: from the third-level cache or from memory, if it is large.
//! Its rows, or the parts of them that are packed, are read in bursts in which nothing else can be computed, and between these
//! the addresses jump, which no hardware predicts. With AVX-512 (Emerald Rapids), products of 2048 x 2048 `f64` spent a third of
//! their time on these bursts.

use super::{Packing, Place, Tile};
use crate::generate::Generator;
use crate::thresholds::{LINE, MIN_PREFETCHED};
use broadloom_ir::reduce::{BLOCK, LANES};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

/// Rows of an array that are contiguous along the axis of the contraction, in its current block. The tiles of a strip for
/// the same rows prefetch a few cache lines of each in each of their turns, which are those of the lanes of the fixed tree.
pub(super) struct Ahead {
    /// The address of the first row, and the bytes from one to the next.
    start: ir::Value,
    apart: ir::Value,
    /// The cache lines of each row that a turn prefetches, and the number of turns that prefetch something.
    lines: usize,
    turns: ir::Value,
    /// The number of turns of the tiles before.
    before: ir::Value,
}

impl Generator<'_, '_, '_> {
    /// Returns the rows that the next tile reads.
    pub(super) fn ahead(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        (first, last): (ir::Value, ir::Value),
    ) -> Vec<Ahead> {
        let Contract { axis, rows, strip, .. } = *tile.contract;
        let turns_of_tile = LANES / tile.lanes_at_once;
        let longest = self.kernel.rows[tile.contract.accumulators[0].target.index()].length;
        let all_turns = (longest / tile.lanes).max(1) * turns_of_tile;
        let begin = self.bounds(strip).0;
        let number = self.ins().isub(place.lane, begin);
        let before = self.scaled(number, turns_of_tile as i64);
        let before = self.ins().udiv_imm_u(before, tile.lanes as i64);
        let distance = self.distance_of_rows(tile);
        let steps = self.ins().isub(last, first);
        let mut found = Vec::new();
        for (access, stride) in moved_by_rows(self.kernel, tile.contract) {
            let size = self.kernel.accesses[access.index()].dtype.size();
            let apart = self.stride_bytes(stride, size as i64);
            let current = self.at(axis, first, 1, |generator| {
                generator.at(rows, place.first, 1, |generator| generator.address(access, 0))
            });
            let offset = self.ins().imul(distance, apart);
            let start = self.ins().iadd(current, offset);
            let lines = (BLOCK * size / LINE / all_turns).max(1);
            let bytes = self.scaled(steps, size as i64);
            let rounded = self.ins().iadd_imm_s(bytes, (lines * LINE) as i64 - 1);
            let turns = self.ins().udiv_imm_u(rounded, (lines * LINE) as i64);
            let is_long = self.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, bytes, MIN_PREFETCHED);
            let none = self.constant(0);
            let turns = self.ins().select(is_long, turns, none);
            found.push(Ahead { start, apart, lines, turns, before });
        }
        found
    }

    /// Returns the number of steps of the axis of rows from what a tile reads to what it prefetches: those that are packed at
    /// once, or those of the tile.
    fn distance_of_rows(&mut self, tile: &Tile<'_>) -> ir::Value {
        let [packed, read] = [PACKED_STEPS, tile.steps].map(|steps| self.constant(steps as i64));
        match tile.packing {
            Packing::Always => packed,
            Packing::If(is_packed) => self.ins().select(is_packed, packed, read),
            Packing::Never => read,
        }
    }

    /// Prefetches what belongs to a turn of a tile.
    pub(super) fn prefetch_ahead(&mut self, tile: &Tile<'_>, ahead: &[Ahead], turn: ir::Value) {
        for Ahead { start, apart, lines, turns, before } in ahead {
            let number = self.ins().iadd(*before, turn);
            let is_read = self.ins().icmp(IntCC::SignedLessThan, number, *turns);
            self.when(is_read, |generator| {
                let offset = generator.scaled(number, (lines * LINE) as i64);
                let mut row = generator.ins().iadd(*start, offset);
                for _ in 0..tile.steps {
                    for line in 0..*lines {
                        let address = generator.ins().iadd_imm_s(row, (line * LINE) as i64);
                        generator.emit.prefetch(address);
                    }
                    row = generator.ins().iadd(row, *apart);
                }
            });
        }
    }
}

/// The accesses of a contraction that the axis of rows moves, with the distance of its steps, and that are contiguous along the
/// axis of the contraction.
fn moved_by_rows(kernel: &Kernel, contract: &Contract) -> Vec<(AccessId, Stride)> {
    let stmts = statements(&contract.rows_prologue).chain(&contract.body);
    let accesses = stmts.flat_map(|stmt| stmt.accesses(&kernel.values));
    let moved = accesses.filter_map(|(access, _)| {
        let entry = &kernel.accesses[access.index()];
        let stride = entry.stride(contract.rows).filter(|_| entry.is_unit(contract.axis))?;
        Some((access, stride))
    });
    let mut moved: Vec<(AccessId, Stride)> = moved.collect();
    moved.dedup();
    moved
}
