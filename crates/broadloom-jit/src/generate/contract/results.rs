//! The results of tiles: where they go.

use super::{Place, Tile, dtypes};
use crate::emit::{LaneStride, Val};
use crate::generate::Generator;
use crate::generate::reduce::State;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::{self, InstBuilder};

/// Where the results of tiles go.
#[derive(Clone, Copy)]
pub(in crate::generate) enum Results<'r> {
    /// To the rows of the contraction.
    Rows,
    /// From registers to the extremes of a stream.
    Extremes(&'r Stream),
    /// They are whole: those of each accumulator are combined by an op with rows that begin at an address.
    Combined(&'r [(ReduceOp, ir::Value)]),
}

impl Generator<'_, '_, '_> {
    /// Returns the addresses of the results of a tile: for each step, those of all accumulators.
    pub(super) fn places(&mut self, tile: &Tile<'_>, place: Place<'_>) -> Vec<(ir::Value, i32)> {
        let entries = tile.contract.accumulators.iter();
        let starts: Vec<ir::Value> = entries.map(|entry| self.row_start(entry.target)).collect();
        self.places_from(tile, place, &starts)
    }

    /// Returns the addresses of the results of a tile in rows that begin at `starts`.
    pub(super) fn places_from(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        starts: &[ir::Value],
    ) -> Vec<(ir::Value, i32)> {
        let number = self.ins().isub(place.first, tile.first);
        let starts: Vec<(ir::Value, i64)> = tile
            .contract
            .accumulators
            .iter()
            .zip(starts)
            .map(|(entry, start)| {
                let bytes = self.row_bytes(entry.target);
                let offset = self.ins().imul_imm_s(number, bytes);
                let start = self.ins().iadd(*start, offset);
                let dtype = entry.accumulator.dtype;
                let start = self.at(tile.contract.strip, place.lane, tile.lanes, |generator| {
                    generator.row_element(start, dtype, tile.contract.strip)
                });
                (start, bytes)
            })
            .collect();
        (0..tile.steps as i64)
            .flat_map(|step| starts.iter().map(move |(start, bytes)| (*start, (step * bytes) as i32)))
            .collect()
    }

    /// Loads the rows of results.
    pub(super) fn results(&mut self, tile: &Tile<'_>, place: Place<'_>) -> State {
        let places = self.places(tile, place);
        let read = places.into_iter().zip(dtypes(tile.contract));
        read.map(|((address, offset), dtype)| {
            self.emit.load(address, offset, dtype, tile.lanes, LaneStride::Unit)
        })
        .collect()
    }

    /// Combines the results of a tile, which may be in narrow lanes, with those at the places. Sums there are never a negative
    /// zero, so that what is added to them may be one.
    pub(super) fn combine_with(
        &mut self,
        tile: &Tile<'_>,
        ops: &[ReduceOp],
        places: Vec<(ir::Value, i32)>,
        state: &[Val],
    ) {
        let entries = tile.contract.accumulators.iter().zip(ops).cycle();
        for (((address, offset), value), (entry, op)) in places.into_iter().zip(state).zip(entries) {
            let dtype = entry.accumulator.dtype;
            let before = self.emit.load(address, offset, dtype, tile.lanes, LaneStride::Unit);
            let value = match op {
                ReduceOp::Sum => self.emit.cast(value, dtype),
                _ => self.finish_tile(entry, value),
            };
            let value = self.emit.accumulate(*op, dtype, &before, &value);
            self.emit.store(address, offset, &value, LaneStride::Unit);
        }
    }

    /// Stores the results of a tile. The result of a block of a sum is then never a negative zero, which makes no difference
    /// to later additions.
    pub(super) fn store_results(&mut self, tile: &Tile<'_>, place: Place<'_>, state: &[Val]) {
        let places = self.places(tile, place);
        let entries = tile.contract.accumulators.iter().cycle();
        for (((address, offset), value), entry) in places.into_iter().zip(state).zip(entries) {
            let value = self.finish_tile(entry, value);
            self.emit.store(address, offset, &value, LaneStride::Unit);
        }
    }

    /// Ends a sum of at least one element; a sum of squares or absolute values is never a negative zero.
    pub(super) fn finish_tile(&mut self, entry: &Contracted, value: &Val) -> Val {
        let is_positive = match entry.accumulator.operand {
            Contribution::Product(x, y) => x == y,
            Contribution::Value(value) => {
                matches!(self.kernel.values[value.index()].def, Def::Op { op: Op::Abs, .. })
            }
            Contribution::Count(_) | Contribution::Indexed { .. } => false,
        };
        if is_positive { value.clone() } else { self.finish(entry.accumulator.op, value) }
    }
}
