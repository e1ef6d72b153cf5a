//! Contractions: reductions over an axis for the strips of two other axes at once.
//!
//! ```text
//! for block of axis {
//!   prologue                                   unless the rows already hold its results
//!   rows_prologue
//!   for 4 or 6 steps i of rows {               their operands stay in the first-level cache
//!     for a vector j of strip {                its operands come from the second-level cache
//!       for r in block { accumulators[i][j] }  in registers
//!     }
//!   }
//! }
//! ```
//!
//! For the tree, a tile processes the lanes of a block one after the other, each over its steps `r`, `r + 16`, .. Its
//! results for each lane stay on the stack, in the first-level cache, until all lanes are folded at once.

mod extremes;
mod ranks;

use super::Generator;
use super::reduce::State;
use super::stream::ByBlocks;
use crate::emit::{LaneStride, Val};
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{BLOCK, LANES};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use std::collections::HashSet;

/// The number of steps computed at once where only accumulators need registers, and where other values need some too:
/// with 16 vector registers, and with 32. With 9 or 12 steps, products of matrices take longer: each step reads at another
/// address, and there are too few general-purpose registers for these.
const STEPS_AT_ONCE: [[usize; 2]; 2] = [[6, 4], [6, 6]];

const _: () = assert!(
    CONTRACTED_ROWS.is_multiple_of(STEPS_AT_ONCE[0][0])
        && CONTRACTED_ROWS.is_multiple_of(STEPS_AT_ONCE[0][1])
        && CONTRACTED_ROWS.is_multiple_of(STEPS_AT_ONCE[1][0])
        && CONTRACTED_ROWS.is_multiple_of(STEPS_AT_ONCE[1][1])
);

/// The number of registers of one accumulator, for each step.
const ACCUMULATOR_REGISTERS: usize = 2;

/// The steps of two axes that are computed at once.
struct Tile<'k> {
    contract: &'k Contract,
    /// The values read from rows that were filled for a block, with these rows.
    filled: Vec<(ValueId, RowId)>,
    /// The values read from rows over the steps of the axis of rows.
    beside: Vec<(ValueId, RowId)>,
    /// The other definitions: those that the steps of the axis of rows share, and those that they do not.
    shared: Vec<ValueId>,
    own: Vec<ValueId>,
    /// The number of steps of the axis of rows, and of the axis of the strip.
    steps: usize,
    lanes: usize,
    /// For each accumulator, its dtype in registers, and the number of elements that such lanes can add without overflow.
    lane_dtypes: Vec<DType>,
    narrow: Option<i64>,
    /// Stack memory for the lanes of a block, for each accumulator: all steps of one lane, then those of the next.
    slots: Vec<ir::Value>,
}

/// The position of a tile.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// The steps of the axis of rows; beyond the end of the strip, its last step is repeated.
    rows: &'p [ir::Value],
    /// The first lane.
    lane: ir::Value,
    /// The first of these steps.
    first: ir::Value,
}

impl Generator<'_, '_, '_> {
    /// Emits the tiles of a contraction, and the code that takes their results from registers unless rows hold them.
    pub(super) fn contract(&mut self, contract: &Contract, taken: Option<&Stream>) {
        let (start, end) = self.bounds(contract.axis);
        let by_blocks = self.goes_by_blocks(contract.axis, contract.order);
        let tile = self.tile(contract);
        match contract.order {
            _ if taken.is_some() => {}
            // Each block continues with the results of the block before.
            Order::Free => self.fill_results(&tile),
            // If the axis has no steps, no tile writes the results.
            _ => {
                let is_empty = self.ins().icmp(IntCC::SignedGreaterThanOrEqual, start, end);
                self.when(is_empty, |generator| generator.fill_results(&tile));
            }
        }
        let zero = self.constant(0);
        let (count, _) = self.counted(start, end, BLOCK as i64, zero, |generator, first, last, count| {
            generator.within(contract.axis, (first, last), |generator| {
                generator.fill_rows(contract, first);
                generator.body(&contract.rows_prologue);
                generator.tiles(&tile, by_blocks, (first, last), taken);
            });
            generator.if_several_blocks(contract, |generator| generator.push_rows(&tile, count));
            generator.ins().iadd_imm_s(count, 1)
        });
        self.if_several_blocks(contract, |generator| generator.collect_ranks(&tile, count));
    }

    fn tile<'k>(&mut self, contract: &'k Contract) -> Tile<'k> {
        let kernel = self.kernel;
        let mut moved: HashSet<ValueId> = HashSet::new();
        let (mut filled, mut beside, mut shared, mut own) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for stmt in &contract.body {
            let Stmt::Let(id) = stmt else { continue };
            let def = &kernel.values[id.index()].def;
            let by_access = def.accesses();
            let mut by_access = by_access.iter().map(|(access, _)| &kernel.accesses[access.index()]);
            let is_moved = by_access.any(|access| access.stride(contract.rows).is_some())
                || matches!(def, Def::Index(axis) | Def::Row(_, axis) if *axis == contract.rows)
                || def.operands().iter().any(|operand| moved.contains(operand));
            if is_moved {
                moved.insert(*id);
            }
            match def {
                Def::Row(row, axis) if *axis == contract.rows => beside.push((*id, *row)),
                _ if is_moved => own.push(*id),
                Def::Row(row, _) => filled.push((*id, *row)),
                _ => shared.push(*id),
            }
        }
        let computes = own.iter().any(|id| !matches!(kernel.values[id.index()].def, Def::Load { .. }));
        let several = contract.accumulators.len() > 1;
        let registers = self.emit.host.vector_registers();
        let steps = STEPS_AT_ONCE[usize::from(registers > 16)][usize::from(computes || several)];
        // The number of registers is the same for every width.
        let narrow = |entry: &Contracted| match contract.order {
            Order::Free => entry.accumulator.narrow(&kernel.values),
            _ => None,
        };
        let lane_dtypes: Vec<DType> = contract
            .accumulators
            .iter()
            .map(|entry| narrow(entry).map_or(entry.accumulator.dtype, |narrow| narrow.dtype))
            .collect();
        let fitting = contract.accumulators.iter().filter_map(narrow).map(|narrow| narrow.steps).min();
        let bytes = lane_dtypes.iter().map(|dtype| dtype.size()).max();
        let most = ACCUMULATOR_REGISTERS * self.emit.host.vector_bytes / bytes.unwrap_or(1);
        let lanes = contract.lanes.min(most).max(LEAST_LANES);
        let slots = match contract.order {
            Order::Tree => {
                let sizes = contract.accumulators.iter().map(|entry| entry.accumulator.dtype.size());
                sizes.map(|size| self.stack((LANES * steps * lanes * size) as u32)).collect()
            }
            _ => Vec::new(),
        };
        Tile { contract, filled, beside, shared, own, steps, lanes, lane_dtypes, narrow: fitting, slots }
    }

    /// Fills rows for the current block of the axis, unless they already hold these values: the same elements of the same
    /// arrays.
    fn fill_rows(&mut self, contract: &Contract, first: ir::Value) {
        let kernel = self.kernel;
        let (strip, end) = self.bounds(contract.strip);
        let mut met = vec![self.ins().isub(end, strip), strip, first];
        for access in packed(kernel, contract) {
            let address = self.at(contract.axis, first, 1, |generator| {
                generator.at(contract.strip, strip, 1, |generator| generator.address(access, 0))
            });
            met.push(address);
        }
        let kept = self.met[&contract.accumulators[0].target];
        let mut is_other = self.emit.builder.ins().iconst(ir::types::I8, 0);
        for (offset, value) in (0..).step_by(8).zip(&met) {
            let flags = ir::MemFlagsData::trusted();
            let before = self.ins().load(ir::types::I64, flags, kept, offset);
            let differs = self.ins().icmp(IntCC::NotEqual, before, *value);
            is_other = self.ins().bor(is_other, differs);
            self.ins().store(flags, *value, kept, offset);
        }
        let is_other = self.ins().icmp_imm_s(IntCC::NotEqual, is_other, 0);
        self.when(is_other, |generator| generator.body(&contract.prologue));
    }

    /// Reserves memory that describes the content of the rows of contractions: the length and position of the strip, the
    /// position of the block, and the addresses in the arrays. Initially, it describes a strip that does not exist.
    pub(super) fn remember_rows(&mut self) {
        let kernel = self.kernel;
        for stmt in kernel.statements() {
            let Stmt::Contract(contract) = stmt else { continue };
            let kept = self.stack(8 * (3 + packed(kernel, contract).count() as u32));
            let nothing = self.constant(0);
            self.ins().store(ir::MemFlagsData::trusted(), nothing, kept, 0);
            self.met.insert(contract.accumulators[0].target, kept);
        }
    }

    /// Emits all tiles of the strips, over a block of the axis.
    fn tiles(
        &mut self,
        tile: &Tile<'_>,
        by_blocks: ByBlocks,
        block: (ir::Value, ir::Value),
        taken: Option<&Stream>,
    ) {
        let Contract { rows, strip, .. } = *tile.contract;
        let ((first_row, last_row), (first, last)) = (self.bounds(rows), self.bounds(strip));
        let greatest = self.ins().iadd_imm_s(last_row, -1);
        let all = |generator: &mut Self, emit: &dyn Fn(&mut Self, Place<'_>)| {
            let is_before = |last: ir::Value| {
                move |generator: &mut Self, state: &[ir::Value]| {
                    generator.ins().icmp(IntCC::SignedLessThan, state[0], last)
                }
            };
            generator.loop_while(&[first_row], &[], is_before(last_row), |generator, state, _| {
                let positions: Vec<ir::Value> = (0..tile.steps as i64)
                    .map(|step| {
                        let position = generator.ins().iadd_imm_s(state[0], step);
                        generator.least(position, greatest)
                    })
                    .collect();
                generator.loop_while(&[first], &[], is_before(last), |generator, lane, _| {
                    emit(generator, Place { rows: &positions, lane: lane[0], first: state[0] });
                    (vec![generator.ins().iadd_imm_s(lane[0], tile.lanes as i64)], Vec::new())
                });
                (vec![generator.ins().iadd_imm_s(state[0], tile.steps as i64)], Vec::new())
            });
        };
        let leave = |generator: &mut Self, place: Place<'_>, state: &[Val]| match taken {
            Some(stream) => generator.take_extremes(tile, place, state, stream),
            None => generator.leave(tile, place, state),
        };
        let in_order = |generator: &mut Self| {
            all(generator, &|generator, place| match (tile.contract.order, tile.narrow) {
                (Order::Free, Some(steps)) => {
                    let length = generator.constant(steps);
                    generator.blocks(block.0, block.1, length, &[], |generator, range, _| {
                        let begin = generator.begin_tile(tile);
                        let state = generator.along(tile, place, range, 1, begin);
                        generator.add_to_results(tile, place, &state);
                        Vec::new()
                    });
                }
                (order, _) => {
                    let begin = match order {
                        Order::Free if taken.is_none() => generator.results(tile, place),
                        _ => generator.begin_tile(tile),
                    };
                    let state = generator.along(tile, place, block, 1, begin);
                    leave(generator, place, &state);
                }
            });
        };
        let by_lanes = |generator: &mut Self| {
            all(generator, &|generator, place| {
                let state = generator.by_lanes(tile, place, block);
                leave(generator, place, &state);
            });
        };
        match by_blocks {
            ByBlocks::Never => in_order(self),
            ByBlocks::Always => by_lanes(self),
            ByBlocks::If(condition) => {
                self.branch(
                    condition,
                    &[],
                    |generator| {
                        by_lanes(generator);
                        Vec::new()
                    },
                    |generator| {
                        in_order(generator);
                        Vec::new()
                    },
                );
            }
        }
    }

    /// Returns the accumulators of a tile before the first element: those of one step, then those of the next.
    fn begin_tile(&mut self, tile: &Tile<'_>) -> State {
        let entries = tile.contract.accumulators.iter().zip(&tile.lane_dtypes);
        let begin: State = entries
            .map(|(entry, dtype)| {
                let identity = self.emit.constant(entry.accumulator.op.identity(*dtype));
                self.emit.splat(&identity, tile.lanes)
            })
            .collect();
        (0..tile.steps).flat_map(|_| begin.clone()).collect()
    }

    /// Adds the elements of a range of the axis that are at equal distances.
    fn along(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        (start, end): (ir::Value, ir::Value),
        apart: i64,
        begin: State,
    ) -> State {
        let Contract { axis, strip, rows, .. } = *tile.contract;
        let accumulators = accumulators(tile.contract);
        let is_before = |generator: &mut Self, state: &[ir::Value]| {
            generator.ins().icmp(IntCC::SignedLessThan, state[0], end)
        };
        // The rows of these steps are contiguous, unless the steps belong to different lanes.
        let (mut behind, mut elsewhere) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (beside, of_rows) in [&tile.filled, &tile.beside].into_iter().enumerate() {
            for (value, row) in of_rows {
                let by_lanes =
                    matches!(self.kernel.rows[row.index()].span, Span::Block { by_lanes: true, .. });
                match by_lanes == (apart == LANES as i64) {
                    true => behind.push((*value, *row, beside == 1)),
                    false => elsewhere[beside].push(*value),
                }
            }
        }
        let mut begins = vec![start];
        for (_, row, beside) in &behind {
            let (along, position, lanes) =
                if *beside { (rows, place.first, 1) } else { (strip, place.lane, tile.lanes) };
            let address = self.at(axis, start, 1, |generator| {
                generator.at(along, position, lanes, |generator| generator.row_address(*row, along))
            });
            begins.push(address);
        }
        let looped = self.loop_while(&begins, &begin, is_before, |generator, at, state| {
            let mut new = State::new();
            let rows_behind = || behind.iter().zip(&at[1..]);
            generator.at(axis, at[0], 1, |generator| {
                generator.at(strip, place.lane, tile.lanes, |generator| {
                    for ((value, row, _), address) in rows_behind().filter(|((.., beside), _)| !beside) {
                        generator.read_behind(*value, *row, *address, 0, tile.lanes);
                    }
                    generator.define(&elsewhere[0]);
                    generator.define(&tile.shared);
                    for (step, state) in state.chunks(accumulators.len()).enumerate() {
                        generator.at(rows, place.rows[step], 1, |generator| {
                            for ((value, row, _), address) in
                                rows_behind().filter(|((.., beside), _)| *beside)
                            {
                                generator.read_behind(*value, *row, *address, step, 1);
                            }
                            generator.define(&elsewhere[1]);
                            generator.define(&tile.own);
                            new.extend(generator.accumulate(axis, &accumulators, state));
                        });
                    }
                });
            });
            let mut next = vec![generator.ins().iadd_imm_s(at[0], apart)];
            for ((_, row, _), address) in rows_behind() {
                let bytes = generator.row_bytes(*row);
                next.push(generator.ins().iadd_imm_s(*address, bytes));
            }
            (next, new)
        });
        looped.carried
    }

    /// Reads one or more elements of a row, some elements after an address. Elements beyond the end of a strip can be read,
    /// because rows are at least as long as the steps that are computed at once.
    fn read_behind(&mut self, value: ValueId, row: RowId, address: ir::Value, elements: usize, lanes: usize) {
        let dtype = self.kernel.rows[row.index()].dtype;
        let offset = (elements * dtype.size()) as i32;
        let read = self.emit.load(address, offset, dtype, lanes, LaneStride::Unit);
        self.env.insert(value, read);
    }

    fn define(&mut self, values: &[ValueId]) {
        for id in values {
            let value = self.value(*id);
            self.env.insert(*id, value);
        }
    }

    /// Reduces a block of the tree: lane after lane, then folds all lanes.
    fn by_lanes(
        &mut self,
        tile: &Tile<'_>,
        place: Place<'_>,
        (first, last): (ir::Value, ir::Value),
    ) -> State {
        let (zero, lanes) = (self.constant(0), self.constant(LANES as i64));
        self.repeat(zero, lanes, 1, &[], |generator, lane, _| {
            let start = generator.ins().iadd(first, lane);
            let begin = generator.begin_tile(tile);
            let state = generator.along(tile, place, (start, last), LANES as i64, begin);
            let slots = generator.slot_places(tile, lane);
            for ((address, offset), value) in slots.into_iter().zip(&state) {
                generator.emit.store(address, offset, value, LaneStride::Unit);
            }
            Vec::new()
        });
        self.fold_slots(tile);
        let places = self.slot_places(tile, zero);
        places
            .into_iter()
            .zip(dtypes(tile.contract))
            .map(|((address, offset), dtype)| {
                self.emit.load(address, offset, dtype, tile.lanes, LaneStride::Unit)
            })
            .collect()
    }

    /// Combines the lanes of a block: the first with the ninth, the fifth with the thirteenth, the two results, and so on.
    /// The results replace those of the first lane.
    fn fold_slots(&mut self, tile: &Tile<'_>) {
        for (slots, entry) in tile.slots.iter().zip(&tile.contract.accumulators) {
            let accumulator = std::slice::from_ref(&entry.accumulator);
            let dtype = entry.accumulator.dtype;
            let bytes = tile.lanes * dtype.size();
            let of_lane = tile.steps * bytes;
            let (zero, end) = (self.constant(0), self.constant(of_lane as i64));
            self.repeat(zero, end, bytes as i64, &[], |generator, offset, _| {
                let address = generator.ins().iadd(*slots, offset);
                let read = |generator: &mut Self, lane: usize| {
                    generator.emit.load(address, (lane * of_lane) as i32, dtype, tile.lanes, LaneStride::Unit)
                };
                let folded = generator.fold_lanes(accumulator, 0, 1, &read);
                generator.emit.store(address, 0, &folded, LaneStride::Unit);
                Vec::new()
            });
        }
    }

    /// Combines the lanes `first`, `first + apart`, .. of a block; the lanes combined last are the closest to each other.
    /// It works depth first, so that few lanes are in registers at once.
    fn fold_lanes(
        &mut self,
        accumulator: &[Accumulator],
        first: usize,
        apart: usize,
        read: &dyn Fn(&mut Self, usize) -> Val,
    ) -> Val {
        if apart == LANES {
            return read(self, first);
        }
        let halves =
            [first, first + apart].map(|first| vec![self.fold_lanes(accumulator, first, 2 * apart, read)]);
        self.combine(accumulator, &halves[0], &halves[1]).remove(0)
    }

    /// Returns the address of the values of a tile that belong to a lane of the block.
    fn slot_places(&mut self, tile: &Tile<'_>, lane: ir::Value) -> Vec<(ir::Value, i32)> {
        let sizes: Vec<usize> = dtypes(tile.contract).take(tile.slots.len()).map(DType::size).collect();
        let starts: Vec<(ir::Value, usize)> = tile
            .slots
            .iter()
            .zip(sizes)
            .map(|(slots, size)| {
                let offset = self.ins().imul_imm_s(lane, (tile.steps * tile.lanes * size) as i64);
                (self.ins().iadd(*slots, offset), tile.lanes * size)
            })
            .collect();
        (0..tile.steps)
            .flat_map(|step| starts.iter().map(move |(start, bytes)| (*start, (step * bytes) as i32)))
            .collect()
    }

    /// Returns the addresses of the results of a tile: for each step, those of all accumulators.
    fn places(&mut self, tile: &Tile<'_>, place: Place<'_>) -> Vec<(ir::Value, i32)> {
        let (first_row, _) = self.bounds(tile.contract.rows);
        let number = self.ins().isub(place.first, first_row);
        let starts: Vec<(ir::Value, i64)> = tile
            .contract
            .accumulators
            .iter()
            .map(|entry| {
                let (start, bytes) = (self.row_start(entry.target), self.row_bytes(entry.target));
                let offset = self.ins().imul_imm_s(number, bytes);
                let start = self.ins().iadd(start, offset);
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
    fn results(&mut self, tile: &Tile<'_>, place: Place<'_>) -> State {
        let places = self.places(tile, place);
        let read = places.into_iter().zip(dtypes(tile.contract));
        read.map(|((address, offset), dtype)| {
            self.emit.load(address, offset, dtype, tile.lanes, LaneStride::Unit)
        })
        .collect()
    }

    /// Adds the sums in narrow lanes to the results of a tile.
    fn add_to_results(&mut self, tile: &Tile<'_>, place: Place<'_>, state: &[Val]) {
        let places = self.places(tile, place);
        let entries = tile.contract.accumulators.iter().cycle();
        for (((address, offset), value), entry) in places.into_iter().zip(state).zip(entries) {
            let Accumulator { op, dtype, .. } = entry.accumulator;
            let before = self.emit.load(address, offset, dtype, tile.lanes, LaneStride::Unit);
            let value = self.emit.cast(value, dtype);
            let value = self.emit.accumulate(op, dtype, &before, &value);
            self.emit.store(address, offset, &value, LaneStride::Unit);
        }
    }

    /// Stores the results of a tile. The result of a block of a sum is then never a negative zero, which makes no difference
    /// to later additions.
    fn leave(&mut self, tile: &Tile<'_>, place: Place<'_>, state: &[Val]) {
        let places = self.places(tile, place);
        let entries = tile.contract.accumulators.iter().cycle();
        for (((address, offset), value), entry) in places.into_iter().zip(state).zip(entries) {
            let value = self.finish_tile(entry, value);
            self.emit.store(address, offset, &value, LaneStride::Unit);
        }
    }

    /// Ends a sum of at least one element; a sum of squares or absolute values is never a negative zero.
    fn finish_tile(&mut self, entry: &Contracted, value: &Val) -> Val {
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

/// The accesses that the prologue reads.
fn packed<'k>(kernel: &'k Kernel, contract: &'k Contract) -> impl Iterator<Item = AccessId> {
    let accesses = statements(&contract.prologue).flat_map(|stmt| stmt.accesses(&kernel.values));
    accesses.map(|(access, _)| access)
}

/// Returns the dtypes of accumulators, repeated without end.
fn dtypes(contract: &Contract) -> impl Iterator<Item = DType> {
    contract.accumulators.iter().map(|entry| entry.accumulator.dtype).cycle()
}

fn accumulators(contract: &Contract) -> Vec<Accumulator> {
    contract.accumulators.iter().map(|entry| entry.accumulator.clone()).collect()
}
