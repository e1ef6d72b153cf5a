//! The steps of a tile along the axis of a contraction: in their order, or lane by lane of the fixed tree.

use super::{Beside, Packing, Place, Tile, accumulators, dtypes};
use crate::emit::{LaneStride, Val};
use crate::generate::control::Looped;
use crate::generate::reduce::State;
use crate::generate::{Generator, TreeLanes};
use crate::thresholds::MAX_UNROLLED_STEPS;
use broadloom_ir::reduce::LANES;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

/// Where a tile reads a value of [`Beside`]: a start for each step of the axis of rows, and the number of bytes from the
/// first step of a lane to that of the next, and from one step of a lane to the next.
struct Source {
    starts: Vec<ir::Value>,
    of_lane: ir::Value,
    of_step: ir::Value,
}

/// Steps of the axis, from a position on.
#[derive(Clone, Copy)]
struct Steps {
    end: ir::Value,
    /// The distance from one to the next.
    apart: ir::Value,
    /// Whether there is at least one.
    are_some: bool,
}

impl Generator<'_, '_, '_> {
    /// Adds all elements of a range of the axis, which is not empty.
    pub(super) fn one_by_one(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        range: (ir::Value, ir::Value),
        begin: State,
    ) -> State {
        let sources = self.sources(tile, place, range.0);
        let mut offsets = self.filled_addresses(tile, place, range.0);
        let zero = self.constant(0);
        offsets.extend(sources.iter().map(|_| zero));
        let one = self.constant(1);
        let mut begins: Vec<ir::Value> = std::iter::once(range.0).chain(offsets).collect();
        match self.kernel.axes[tile.contract.axis.index()].extent {
            Extent::Constant(steps @ 0..=MAX_UNROLLED_STEPS) => (0..steps).fold(begin, |state, _| {
                let new = self.one_step(tile, place, &begins, &sources, &state);
                begins = self.after_step(tile, &begins, &sources, one);
                new
            }),
            _ => {
                let steps = Steps { end: range.1, apart: one, are_some: true };
                self.along(tile, place, steps, &begins, &sources, begin).carried
            }
        }
    }

    /// Returns the addresses of what a tile reads from rows over the strip at a step of the axis.
    fn filled_addresses(&mut self, tile: &Tile<'_>, place: Place<'_>, start: ir::Value) -> Vec<ir::Value> {
        let Contract { axis, strip, .. } = *tile.contract;
        let at = |generator: &mut Self, row: RowId| {
            generator.at(axis, start, 1, |generator| {
                generator.at(strip, place.lane, tile.lanes, |generator| generator.row_address(row, strip))
            })
        };
        tile.filled.iter().map(|(_, row)| at(self, *row)).collect()
    }

    /// Returns where a tile reads what is beside, from a step of the axis on: in rows, or in arrays.
    fn sources(&mut self, tile: &Tile<'_>, place: Place<'_>, start: ir::Value) -> Vec<Source> {
        let source = |beside: &Beside| match (tile.packing, beside.array) {
            (Packing::Never, Some(array)) => self.in_array(tile, place, start, array),
            (Packing::If(is_packed), Some(array)) => {
                let packed = self.in_rows(tile, place, start, beside.row);
                let read = self.in_array(tile, place, start, array);
                let mut either = |packed, read| self.ins().select(is_packed, packed, read);
                let starts = packed.starts.into_iter().zip(read.starts);
                Source {
                    starts: starts.map(|(packed, read)| either(packed, read)).collect(),
                    of_lane: either(packed.of_lane, read.of_lane),
                    of_step: either(packed.of_step, read.of_step),
                }
            }
            _ => self.in_rows(tile, place, start, beside.row),
        };
        tile.beside.iter().map(source).collect()
    }

    /// Returns where a tile reads from rows over the block.
    fn in_rows(&mut self, tile: &Tile<'_>, place: Place<'_>, start: ir::Value, row: RowId) -> Source {
        let Contract { axis, rows, .. } = *tile.contract;
        let size = self.kernel.rows[row.index()].dtype.size();
        let bytes = self.row_bytes(row);
        let filled = self.at(axis, start, 1, |generator| {
            generator.at(rows, place.first, 1, |generator| generator.row_address(row, axis))
        });
        let starts = (0..tile.steps as i64).map(|step| self.ins().iadd_imm_s(filled, step * bytes)).collect();
        let [of_lane, of_step] = [STEPS_OF_LANE * size, size].map(|bytes| self.constant(bytes as i64));
        Source { starts, of_lane, of_step }
    }

    /// Returns where a tile reads from an array whose elements along the axis are contiguous.
    fn in_array(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        start: ir::Value,
        (access, delta): (AccessId, i64),
    ) -> Source {
        let Contract { axis, rows, .. } = *tile.contract;
        let size = self.kernel.accesses[access.index()].dtype.size() as i64;
        let starts = place.rows.iter().map(|position| {
            self.at(axis, start, 1, |generator| {
                generator.at(rows, *position, 1, |generator| generator.address(access, delta))
            })
        });
        let starts = starts.collect();
        let of_lane = self.constant(size);
        let of_step = match self.tree_lanes {
            Some(tree_lanes) => self.scaled(tree_lanes.count, size),
            None => of_lane,
        };
        Source { starts, of_lane, of_step }
    }

    /// Adds the elements of the axis from a position on, before an end, at a distance from each other. The rows over the
    /// strip for these steps follow one another, from the addresses behind the position on; what is beside is read so many
    /// bytes after the starts. With accumulators for several lanes, the others are as far apart as the tree combines them.
    fn along(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        Steps { end, apart, are_some }: Steps,
        begins: &[ir::Value],
        sources: &[Source],
        begin: State,
    ) -> Looped {
        let is_before = |generator: &mut Self, state: &[ir::Value]| {
            generator.ins().icmp(IntCC::SignedLessThan, state[0], end)
        };
        let of_lane = tile.steps * tile.contract.accumulators.len();
        let step = |generator: &mut Self, at: &[ir::Value], state: &[Val]| {
            let mut new = State::new();
            for (lane, state) in state.chunks(of_lane).enumerate() {
                let at = generator.in_lane(tile, at, sources, lane);
                new.extend(generator.one_step(tile, place, &at, sources, state));
            }
            (generator.after_step(tile, at, sources, apart), new)
        };
        match are_some {
            true => self.loop_once_and_while(begins, &begin, is_before, step),
            false => self.loop_while(begins, &begin, is_before, step),
        }
    }

    /// Returns the position of the next step, at a distance, and where a tile reads it.
    fn after_step(
        &mut self,
        tile: &Tile<'_>,
        at: &[ir::Value],
        sources: &[Source],
        apart: ir::Value,
    ) -> Vec<ir::Value> {
        let (filled, beside) = at[1..].split_at(tile.filled.len());
        let mut next = vec![self.ins().iadd(at[0], apart)];
        for ((_, row), address) in tile.filled.iter().zip(filled) {
            let bytes = self.row_bytes(*row);
            next.push(self.ins().iadd_imm_s(*address, bytes));
        }
        for (source, offset) in sources.iter().zip(beside) {
            next.push(self.ins().iadd(*offset, source.of_step));
        }
        next
    }

    /// Returns where another lane of those in registers reads what the first one reads at these places.
    fn in_lane(
        &mut self,
        tile: &Tile<'_>,
        at: &[ir::Value],
        sources: &[Source],
        lane: usize,
    ) -> Vec<ir::Value> {
        let number = (lane * (LANES / tile.lanes_at_once)) as i64;
        if number == 0 {
            return at.to_vec();
        }
        let mut distances = vec![self.constant(number)];
        for (_, row) in &tile.filled {
            let of_lane = ROWS_OF_LANE as i64 * self.row_bytes(*row);
            distances.push(self.constant(number * of_lane));
        }
        distances.extend(sources.iter().map(|source| self.ins().imul_imm_s(source.of_lane, number)));
        at.iter().zip(distances).map(|(at, distance)| self.ins().iadd(*at, distance)).collect()
    }

    /// Adds one step of the axis to the accumulators of one lane, and returns them.
    fn one_step(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        at: &[ir::Value],
        sources: &[Source],
        state: &[Val],
    ) -> State {
        let Contract { axis, strip, rows, .. } = *tile.contract;
        let accumulators = accumulators(tile.contract);
        let (filled, beside) = at[1..].split_at(tile.filled.len());
        let mut new = State::new();
        self.at(axis, at[0], 1, |generator| {
            generator.at(strip, place.lane, tile.lanes, |generator| {
                for ((value, row), address) in tile.filled.iter().zip(filled) {
                    generator.read_past_end(*value, *row, *address, tile.lanes);
                }
                generator.define(&tile.shared);
                for (step, state) in state.chunks(accumulators.len()).enumerate() {
                    generator.at(rows, place.rows[step], 1, |generator| {
                        let read = tile.beside.iter().zip(sources).zip(beside);
                        for ((Beside { value, row, .. }, source), offset) in read {
                            let address = generator.ins().iadd(source.starts[step], *offset);
                            generator.read_past_end(*value, *row, address, 1);
                        }
                        generator.define(&tile.own);
                        new.extend(generator.accumulate(axis, &accumulators, state));
                    });
                }
            });
        });
        new
    }

    /// Reads one or more elements of a row. Elements beyond the end of a strip can be read, because there are at least as
    /// many as the steps that are computed at once.
    fn read_past_end(&mut self, value: ValueId, row: RowId, address: ir::Value, lanes: usize) {
        let dtype = self.kernel.rows[row.index()].dtype;
        let read = self.emit.load(address, 0, dtype, lanes, LaneStride::Unit);
        self.env.insert(value, read);
    }

    fn define(&mut self, values: &[ValueId]) {
        for id in values {
            let value = self.value(*id);
            self.env.insert(*id, value);
        }
    }

    /// Reduces a block of the tree: one lane after the other, or two, which are folded in registers, then folds all of
    /// them, unless there is only one.
    pub(super) fn by_lanes(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        (first, last): (ir::Value, ir::Value),
        tree_lanes: TreeLanes,
    ) -> State {
        let apart = (LANES / tile.lanes_at_once) as i64;
        let are_several = self.ins().icmp_imm_s(IntCC::SignedGreaterThan, tree_lanes.count, 1);
        let turns = self.constant(apart);
        let turns = self.least(tree_lanes.count, turns);
        let limit = self.ins().iadd(first, turns);
        // Before this step of the first lane, the second one has a step as well.
        let last_of_both = self.ins().iadd_imm_s(last, -apart);
        let last_of_both = self.ins().select(are_several, last_of_both, first);
        let sources = self.sources(tile, place, first);
        let ahead = self.ahead(tile, place, (first, last));
        let zero = self.constant(0);
        let mut begins = vec![first];
        begins.extend(self.filled_addresses(tile, place, first));
        begins.extend(sources.iter().map(|_| zero));
        let carried = begins.len();
        begins.extend(&tile.slots);
        // The last block can have fewer steps than lanes.
        let is_before = |generator: &mut Self, state: &[ir::Value]| {
            generator.ins().icmp(IntCC::SignedLessThan, state[0], limit)
        };
        self.loop_once_and_while(&begins, &[], is_before, |generator, at, _| {
            let (begins, slots) = at.split_at(carried);
            let turn = generator.ins().isub(at[0], first);
            generator.prefetch_ahead(tile, &ahead, turn);
            let begin = generator.begin_tile(tile);
            let until = |end: ir::Value| Steps { end, apart: tree_lanes.count, are_some: false };
            let state = if tile.lanes_at_once == 1 {
                generator.along(tile, place, until(last), begins, &sources, begin).carried
            } else {
                let both = [begin.as_slice(), &begin].concat();
                let mut both = generator.along(tile, place, until(last_of_both), begins, &sources, both);
                let second = both.carried.split_off(begin.len());
                let first =
                    generator.along(tile, place, until(last), &both.state, &sources, both.carried).carried;
                generator.combine_lanes(tile, &first, &second)
            };
            for ((address, offset), value) in slot_places(tile, slots).into_iter().zip(&state) {
                generator.emit.store(address, offset, value, LaneStride::Unit);
            }
            let mut bytes = vec![generator.constant(1)];
            for (_, row) in &tile.filled {
                let of_lane = ROWS_OF_LANE as i64 * generator.row_bytes(*row);
                bytes.push(generator.constant(of_lane));
            }
            bytes.extend(sources.iter().map(|source| source.of_lane));
            for dtype in dtypes(tile.contract).take(slots.len()) {
                bytes.push(generator.constant((tile.steps * tile.lanes * dtype.size()) as i64));
            }
            let next = at.iter().zip(bytes).map(|(at, bytes)| generator.ins().iadd(*at, bytes));
            (next.collect(), Vec::new())
        });
        self.when(are_several, |generator| generator.fold_slots(tile));
        slot_places(tile, &tile.slots)
            .into_iter()
            .zip(dtypes(tile.contract))
            .map(|((address, offset), dtype)| {
                self.emit.load(address, offset, dtype, tile.lanes, LaneStride::Unit)
            })
            .collect()
    }

    /// Combines the accumulators of two lanes.
    fn combine_lanes(&mut self, tile: &Tile<'_>, first: &[Val], second: &[Val]) -> State {
        let accumulators = accumulators(tile.contract);
        let pairs = first.chunks(accumulators.len()).zip(second.chunks(accumulators.len()));
        pairs.flat_map(|(first, second)| self.combine(&accumulators, first, second)).collect()
    }

    /// Combines the lanes of a block: the first with the ninth, the fifth with the thirteenth, the two results, and so on.
    /// The results replace those of the first lane.
    fn fold_slots(&mut self, tile: &Tile<'_>) {
        for (slots, entry) in tile.slots.iter().zip(&tile.contract.accumulators) {
            let Accumulator { op, dtype, .. } = entry.accumulator;
            let bytes = tile.lanes * dtype.size();
            let of_lane = tile.steps * bytes;
            let offsets = [0, of_lane, bytes].map(|offset| self.constant(offset as i64));
            self.through(offsets, |generator, offset| {
                let address = generator.ins().iadd(*slots, offset);
                let read = |generator: &mut Self, lane: usize| {
                    generator.emit.load(address, (lane * of_lane) as i32, dtype, tile.lanes, LaneStride::Unit)
                };
                let folded = generator.fold_lanes((op, dtype), (0, 1), LANES / tile.lanes_at_once, &read);
                generator.emit.store(address, 0, &folded, LaneStride::Unit);
            });
        }
    }
}

/// Returns the addresses of the values of a tile that belong to one lane of the block, which start at `slots`.
fn slot_places(tile: &Tile<'_>, slots: &[ir::Value]) -> Vec<(ir::Value, i32)> {
    let bytes = dtypes(tile.contract).map(|dtype| tile.lanes * dtype.size());
    let slots: Vec<(ir::Value, usize)> = slots.iter().copied().zip(bytes).collect();
    let steps = (0..tile.steps)
        .flat_map(|step| slots.iter().map(move |(start, bytes)| (*start, (step * bytes) as i32)));
    steps.collect()
}
