//! Extremes over the axis of rows, which take the results of a tile from its registers, without storing them in
//! rows.
//!
//! After the last step of the axis, a tile repeats that step, unless its operands come from rows; and a tile computes
//! beyond the end of the strip. The repetition changes no extreme, and nothing reads the results beyond the end.

use super::{Place, Tile};
use crate::emit::{LaneStride, Val};
use crate::generate::Generator;
use crate::generate::reduce::{State, index_dtype};
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir;

impl Generator<'_, '_, '_> {
    /// Adds the steps of a tile to the state of extremes.
    pub(super) fn take_extremes(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        results: &[Val],
        stream: &Stream,
    ) {
        let kernel = self.kernel;
        let entries = &tile.contract.accumulators;
        let accumulators: Vec<Accumulator> =
            stream.accumulators.iter().map(|entry| entry.accumulator.clone()).collect();
        let rows: Vec<RowId> = stream.accumulators.iter().flat_map(|entry| entry.state.clone()).collect();
        let addresses: Vec<ir::Value> = self.at(stream.strip, place.lane, tile.lanes, |generator| {
            rows.iter()
                .map(|row| {
                    let start = generator.row_start(*row);
                    generator.row_element(start, kernel.rows[row.index()].dtype, stream.strip)
                })
                .collect()
        });
        let zero = self.constant(0);
        // Only the types of this state are used; its values are dead code.
        let like = self.begin(&accumulators, 1, zero);
        let before: State = like
            .iter()
            .zip(&addresses)
            .map(|(like, address)| self.emit.load(*address, 0, like.dtype, tile.lanes, LaneStride::Unit))
            .collect();
        if tile.contract.epilogue == (Epilogue::Extremes { of_roots: true }) {
            let least = self.least_root(tile, place, results, &accumulators);
            let best = self.combine_in_order(&accumulators, &before, &least);
            self.store_extremes(&addresses, &best);
            return;
        }
        let outer = self.env.clone();
        let mut states = vec![before];
        for (step, results) in results.chunks(entries.len()).enumerate() {
            let results = results.iter().zip(entries);
            let results: Vec<(RowId, Val)> =
                results.map(|(value, entry)| (entry.target, self.finish_tile(entry, value))).collect();
            states.push(self.at(stream.axis, place.rows[step], 1, |generator| {
                generator.body(&stream.per_step);
                generator.at(stream.strip, place.lane, tile.lanes, |generator| {
                    generator.body_of(&stream.body, &results);
                    let state = generator.elements(stream.axis, &accumulators);
                    state.iter().map(|value| generator.emit.splat(value, tile.lanes)).collect()
                })
            }));
            self.env.clone_from(&outer);
        }
        let best = self.tournament(&accumulators, &states);
        self.store_extremes(&addresses, &best);
    }

    fn store_extremes(&mut self, addresses: &[ir::Value], state: &[Val]) {
        for (address, value) in addresses.iter().zip(state) {
            self.emit.store(*address, 0, value, LaneStride::Unit);
        }
    }

    /// Returns the state of the least root among the steps of a tile: the root of the least sum. Roots round larger sums to it
    /// too; of these, the first has the index. Roots of all sums would take several times as long as short sums themselves.
    fn least_root(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        results: &[Val],
        accumulators: &[Accumulator],
    ) -> State {
        let entry = &tile.contract.accumulators[0];
        let sums: State = results.iter().map(|value| self.finish_tile(entry, value)).collect();
        let mut least = sums.clone();
        while least.len() > 1 {
            let pairs = least.chunks(2).map(|pair| match pair {
                [x, y] => self.emit.accumulate(ReduceOp::Min, x.dtype, x, y),
                rest => rest[0].clone(),
            });
            least = pairs.collect();
        }
        let root = self.emit.op(Op::Sqrt, &least);
        let highest = self.emit.largest_of_root(&root);
        let mut state = State::new();
        for accumulator in accumulators {
            state.push(root.clone());
            if let Contribution::Indexed { narrow, .. } = accumulator.operand {
                state.extend(self.first_up_to(&highest, place, &sums, index_dtype(narrow)));
            }
        }
        state
    }

    /// Returns the position of the first of some sums that is not above a bound, of which the last one is not if none before is.
    fn first_up_to(&mut self, bound: &Val, place: Place<'_>, sums: &[Val], dtype: DType) -> Option<Val> {
        let mut first: Option<Val> = None;
        for (position, sum) in place.rows.iter().zip(sums).rev() {
            let index = self.emit.iota(*position, 1, dtype);
            let index = self.emit.splat(&index, sum.lanes);
            first = Some(match first {
                None => index,
                Some(later) => {
                    let is_above = self.emit.op(Op::Greater, &[sum.clone(), bound.clone()]);
                    self.emit.select(&is_above, &later, &index)
                }
            });
        }
        first
    }

    /// Combines states of extremes by halves: one after the other, each would wait for a comparison with the one before,
    /// which takes as long as several steps of a tile where masks have registers of their own.
    fn tournament(&mut self, accumulators: &[Accumulator], states: &[State]) -> State {
        if let [state] = states {
            return state.clone();
        }
        let (earlier, later) = states.split_at(states.len() / 2);
        let [earlier, later] = [earlier, later].map(|states| self.tournament(accumulators, states));
        self.combine_in_order(accumulators, &earlier, &later)
    }
}
