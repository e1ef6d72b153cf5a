//! Contractions: reductions over an axis for the strips of two other axes at once.
//!
//! ```text
//! for block of axis {
//!   prologue                                     unless the rows already hold its results
//!   for part of rows {
//!     rows_prologue
//!     for 4 or 6 steps i of the part {
//!       for a vector j of strip {
//!         for r in block { accumulators[i][j] }  in registers
//!       }
//!     }
//!   }
//! }
//! ```
//!
//! For the tree, a tile processes the lanes of a block one after the other, each over its steps `r`, `r + 16`, .., or two
//! at once, which it folds, if there are registers for them. The results stay on the stack, in the first-level cache, until
//! all lanes are folded at once. A short axis has a single lane. Where `rows_prologue` packs, the loop over `j` is around
//! that over `i`.

mod ahead;
mod extremes;
mod ranks;
mod results;
mod steps;

pub(super) use results::Results;

use super::Generator;
use super::TreeLanes;
use super::polls::TILES;
use super::reduce::State;
use super::stream::ByBlocks;
use crate::emit::{LaneStride, Val};
use crate::thresholds::{ACCUMULATOR_REGISTERS, LONGEST_UNPACKED, STEPS_AT_ONCE};
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::reduce::{BLOCK, LANES, ReduceOp};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use std::collections::HashSet;

const _: () = {
    let mut index = 0;
    while index < 4 {
        let steps = STEPS_AT_ONCE[index / 2][index % 2];
        assert!(CONTRACTED_ROWS.is_multiple_of(steps) && FOLDED_ROWS.is_multiple_of(steps));
        assert!(STREAMED_STEPS.next_multiple_of(steps) - STREAMED_STEPS <= MAX_STEPS_BEYOND);
        assert!(FOLDED_STEPS.next_multiple_of(steps) - FOLDED_STEPS <= MAX_STEPS_BEYOND);
        index += 1;
    }
};

/// The steps of two axes that are computed at once.
struct Tile<'k> {
    contract: &'k Contract,
    /// The values read from rows that were filled for a block, with these rows.
    filled: Vec<(ValueId, RowId)>,
    /// The values read from rows over the block, one for each step of a part of the axis of rows.
    beside: Vec<Beside>,
    /// Whether these rows are filled, or the values are read from their arrays.
    packing: Packing,
    /// The other definitions: those that the steps of the axis of rows share, and those that they do not.
    shared: Vec<ValueId>,
    own: Vec<ValueId>,
    /// The number of steps of the axis of rows, and of the axis of the strip.
    steps: usize,
    lanes: usize,
    /// The number of lanes of the fixed tree whose accumulators are in registers at once.
    lanes_at_once: usize,
    /// Whether each tile computes all elements of the axis, of which there are some.
    is_whole: bool,
    /// For each accumulator, its dtype in registers, and the number of elements that such lanes can add without overflow.
    lane_dtypes: Vec<DType>,
    narrow: Option<i64>,
    /// The first step of the strip that has rows of results.
    first: ir::Value,
    /// Stack memory for the lanes of a block, for each accumulator: all steps of one lane, then those of the next.
    slots: Vec<ir::Value>,
}

/// A value read from rows over the block.
struct Beside {
    value: ValueId,
    row: RowId,
    /// The array, if its elements along the block are contiguous.
    array: Option<(AccessId, i64)>,
}

/// Whether rows over a block are filled.
#[derive(Clone, Copy)]
enum Packing {
    Always,
    /// If the condition holds.
    If(ir::Value),
    Never,
}

/// The outer of the loops over both strips.
#[derive(Clone, Copy)]
enum Around {
    Rows,
    Strip,
    /// That over the strip if the condition holds.
    StripIf(ir::Value),
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
    /// Emits the tiles of a contraction, and the code for their results.
    pub(super) fn contract(&mut self, contract: &Contract, results: Results<'_>) {
        let (start, end) = self.bounds(contract.axis);
        let tree_lanes = self.tree_lanes_of(contract);
        let outer = std::mem::replace(&mut self.tree_lanes, tree_lanes);
        let tile = self.tile(contract);
        match contract.order {
            _ if tile.is_whole => {}
            // Each block continues with the results of the block before.
            Order::Free => self.fill_results(&tile),
            // If the axis has no steps, no tile writes the results.
            _ => {
                let is_empty = self.ins().icmp(IntCC::SignedGreaterThanOrEqual, start, end);
                self.when(is_empty, |generator| generator.fill_results(&tile));
            }
        }
        let over_block = |generator: &mut Self, block: (ir::Value, ir::Value)| {
            generator.within(contract.axis, block, |generator| {
                generator.fill_rows(&tile, block);
                generator.parts_of_rows(&tile, |generator| {
                    generator.without_looks(TILES, |generator| generator.tiles(&tile, block, results));
                });
            });
        };
        if is_whole(self.kernel, contract) {
            // Constant positions: neighbouring steps of a tile read at constant distances from one address.
            over_block(self, (start, end));
        } else {
            let zero = self.constant(0);
            self.counted(start, end, BLOCK as i64, zero, |generator, first, last, count| {
                over_block(generator, (first, last));
                generator.rank_results(&tile, last, count);
                generator.ins().iadd_imm_s(count, 1)
            });
        }
        self.tree_lanes = outer;
    }

    /// Returns the lanes among which the tree distributes the steps of a block; a short axis has a single one.
    fn tree_lanes_of(&mut self, contract: &Contract) -> Option<TreeLanes> {
        let [lanes, shift] = [LANES as i64, i64::from(LANES.ilog2())].map(|value| self.constant(value));
        match self.goes_by_blocks(contract.axis, contract.order) {
            ByBlocks::Never => None,
            ByBlocks::Always => Some(TreeLanes { count: lanes, shift }),
            ByBlocks::If(condition) => {
                let [one, zero] = [1, 0].map(|value| self.constant(value));
                let lanes = self.ins().select(condition, lanes, one);
                Some(TreeLanes { count: lanes, shift: self.ins().select(condition, shift, zero) })
            }
        }
    }

    /// Runs `emit` for all steps of the strip with rows, or for parts of it whose operands are packed before.
    fn parts_of_rows(&mut self, tile: &Tile<'_>, emit: impl FnOnce(&mut Self)) {
        let contract = tile.contract;
        if matches!(tile.packing, Packing::Never) {
            emit(self);
            return;
        }
        let (first, last) = self.bounds(contract.rows);
        let length = self.constant(PACKED_STEPS as i64);
        self.through([first, last, length], |generator, first| {
            let next = generator.ins().iadd(first, length);
            let part = (first, generator.least(next, last));
            generator.within(contract.rows, part, |generator| {
                match tile.packing {
                    Packing::Always => generator.body(&contract.rows_prologue),
                    Packing::If(is_packed) => {
                        generator.when(is_packed, |generator| generator.body(&contract.rows_prologue));
                    }
                    Packing::Never => {}
                }
                emit(generator);
            });
        });
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
                || matches!(def, Def::Index(axis) if *axis == contract.rows)
                || matches!(def, Def::Row(_, axis) if *axis == contract.axis)
                || def.operands().iter().any(|operand| moved.contains(operand));
            if is_moved {
                moved.insert(*id);
            }
            match def {
                Def::Row(row, axis) if *axis == contract.axis => {
                    beside.push(Beside { value: *id, row: *row, array: contiguous(kernel, contract, *row) });
                }
                _ if is_moved => own.push(*id),
                Def::Row(row, _) => filled.push((*id, *row)),
                _ => shared.push(*id),
            }
        }
        let computes = own.iter().any(|id| !matches!(kernel.values[id.index()].def, Def::Load { .. }));
        let several = contract.accumulators.len() > 1;
        let registers = self.emit.host.vector_registers();
        let at_once = STEPS_AT_ONCE[usize::from(registers > 16)][usize::from(computes || several)];
        let steps = match kernel.axes[contract.rows.index()].extent {
            Extent::Constant(extent) => steps_of(at_once, extent as usize),
            Extent::Param(_) => at_once,
        };
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
        let lanes_at_once = if registers > 16 && !several { 2 } else { 1 };
        let slots = match contract.order {
            Order::Tree => {
                let elements = LANES / lanes_at_once * steps * lanes;
                let sizes = contract.accumulators.iter().map(|entry| entry.accumulator.dtype.size());
                sizes.map(|size| self.emit.stack_of_lines((elements * size) as u32)).collect()
            }
            _ => Vec::new(),
        };
        let packing = self.packing(contract, &beside, lanes_at_once);
        let (first, _) = self.bounds(contract.rows);
        Tile {
            contract,
            filled,
            beside,
            packing,
            shared,
            own,
            steps,
            lanes,
            lanes_at_once,
            is_whole: fitting.is_none() && is_whole(kernel, contract),
            lane_dtypes,
            narrow: fitting,
            first,
            slots,
        }
    }

    /// Returns whether rows of a block are filled: those that are not contiguous in their arrays, or too long to be read there.
    fn packing(&mut self, contract: &Contract, beside: &[Beside], lanes_at_once: usize) -> Packing {
        let sizes = beside.iter().map(|beside| self.kernel.rows[beside.row.index()].dtype.size());
        let Some(size) = sizes.max() else { return Packing::Never };
        if !beside.iter().all(|beside| beside.array.is_some()) {
            return Packing::Always;
        }
        let longest = (LONGEST_UNPACKED[usize::from(lanes_at_once > 1)] / size) as i64;
        let most = match self.kernel.axes[contract.axis.index()].extent {
            Extent::Constant(extent) => extent.min(BLOCK as i64),
            Extent::Param(_) => BLOCK as i64,
        };
        if most <= longest {
            return Packing::Never;
        }
        let (start, end) = self.bounds(contract.axis);
        let length = self.ins().isub(end, start);
        Packing::If(self.ins().icmp_imm_s(IntCC::SignedGreaterThan, length, longest))
    }

    /// Fills rows for the current block of the axis, unless they already hold these values: the same elements of the same
    /// arrays.
    fn fill_rows(&mut self, tile: &Tile<'_>, (first, last): (ir::Value, ir::Value)) {
        let (kernel, contract) = (self.kernel, tile.contract);
        let (strip, end) = self.bounds(contract.strip);
        let mut contents = vec![self.ins().isub(end, strip), strip, first];
        for access in packed(kernel, contract) {
            let address = self.at(contract.axis, first, 1, |generator| {
                generator.at(contract.strip, strip, 1, |generator| generator.address(access, 0))
            });
            contents.push(address);
        }
        let kept = self.row_contents[&contract.accumulators[0].target];
        let mut differing = self.constant(0);
        for (offset, value) in (0..).step_by(8).zip(&contents) {
            let flags = ir::MemFlagsData::trusted();
            let before = self.ins().load(ir::types::I64, flags, kept, offset);
            let bits = self.ins().bxor(before, *value);
            differing = if offset == 0 { bits } else { self.ins().bor(differing, bits) };
            self.ins().store(flags, *value, kept, offset);
        }
        let is_other = self.ins().icmp_imm_s(IntCC::NotEqual, differing, 0);
        self.when(is_other, |generator| {
            generator.clear_ends(tile, (first, last));
            generator.body(&contract.prologue);
        });
    }

    /// Sets what the last tile reads of rows to zero, if part of it lies beyond the end of the strip. It has no effect on
    /// results, but old bits there may be subnormal numbers, for each of which some CPUs need more than a hundred cycles: on
    /// such a CPU, products of rows of 100 took 7 times as long. Integers have no such bits.
    fn clear_ends(&mut self, tile: &Tile<'_>, (first, last): (ir::Value, ir::Value)) {
        let Contract { axis, strip, .. } = *tile.contract;
        let (start, end) = self.bounds(strip);
        let length = self.ins().isub(end, start);
        let beyond = self.ins().band_imm_s(length, tile.lanes as i64 - 1);
        let begin = self.ins().isub(end, beyond);
        let is_part = self.ins().icmp_imm_s(IntCC::NotEqual, beyond, 0);
        for (_, row) in &tile.filled {
            let dtype = self.kernel.rows[row.index()].dtype;
            if !dtype.is_float() {
                continue;
            }
            self.when(is_part, |generator| {
                let zero = generator.emit.constant(Scalar::I64(0).cast(dtype));
                let zeros = generator.emit.splat(&zero, tile.lanes);
                generator.repeat(first, last, 1, &[], |generator, step, _| {
                    let address = generator.at(axis, step, 1, |generator| {
                        generator.at(strip, begin, tile.lanes, |generator| generator.row_address(*row, strip))
                    });
                    generator.emit.store(address, 0, &zeros, LaneStride::Unit);
                    Vec::new()
                });
            });
        }
    }

    /// Reserves memory that describes the content of the rows of contractions: the length and position of the strip, the
    /// position of the block, and the addresses in the arrays. Initially, it describes a strip that does not exist.
    pub(super) fn remember_rows(&mut self) {
        let kernel = self.kernel;
        for stmt in kernel.statements() {
            let Stmt::Contract(contract) = stmt else { continue };
            let kept = self.emit.stack(8 * (3 + packed(kernel, contract).count() as u32));
            let nothing = self.constant(0);
            self.ins().store(ir::MemFlagsData::trusted(), nothing, kept, 0);
            self.row_contents.insert(contract.accumulators[0].target, kept);
        }
    }

    /// Emits all tiles of the strips, over a block of the axis.
    fn tiles(&mut self, tile: &Tile<'_>, block: (ir::Value, ir::Value), results: Results<'_>) {
        let take_results = |generator: &mut Self, place: Place<'_>, state: &[Val]| match results {
            Results::Rows => generator.store_results(tile, place, state),
            Results::Extremes(stream) => generator.take_extremes(tile, place, state, stream),
            Results::Combined(targets) => {
                let (ops, starts): (Vec<_>, Vec<_>) = targets.iter().copied().unzip();
                let places = generator.places_from(tile, place, &starts);
                generator.combine_with(tile, &ops, places, state);
            }
        };
        // Packed rows are long: what a vector of the strip needs of a block stays in the second-level cache then, but all
        // that the strip needs may not.
        let around = match (self.tree_lanes, tile.packing) {
            (Some(_), Packing::If(is_packed)) => Around::StripIf(is_packed),
            (Some(_), Packing::Always) => Around::Strip,
            _ => Around::Rows,
        };
        let Some(tree_lanes) = self.tree_lanes else {
            self.over_tiles(tile, around, &|generator, place| match tile.narrow {
                Some(steps) => {
                    let length = generator.constant(steps);
                    generator.blocks(block.0, block.1, length, &[], |generator, range, _| {
                        let begin = generator.begin_tile(tile);
                        let state = generator.one_by_one(tile, place, range, begin);
                        let places = generator.places(tile, place);
                        let ops: Vec<ReduceOp> =
                            tile.contract.accumulators.iter().map(|entry| entry.accumulator.op).collect();
                        generator.combine_with(tile, &ops, places, &state);
                        Vec::new()
                    });
                }
                None => {
                    let begin = match tile.contract.order {
                        Order::Free if !tile.is_whole => generator.results(tile, place),
                        _ => generator.begin_tile(tile),
                    };
                    let state = generator.one_by_one(tile, place, block, begin);
                    take_results(generator, place, &state);
                }
            });
            return;
        };
        self.over_tiles(tile, around, &|generator, place| {
            let state = generator.by_lanes(tile, place, block, tree_lanes);
            take_results(generator, place, &state);
        });
    }

    /// Emits the loops over both strips, and a tile in them. The last tiles may lie beyond the ends of the strips.
    fn over_tiles(&mut self, tile: &Tile<'_>, around: Around, emit: &dyn Fn(&mut Self, Place<'_>)) {
        let Contract { rows, strip, .. } = *tile.contract;
        let [steps, lanes] = [tile.steps, tile.lanes].map(|steps| self.constant(steps as i64));
        let of_rows = [self.bounds(rows).0, self.bounds(rows).1, steps];
        let of_strip = [self.bounds(strip).0, self.bounds(strip).1, lanes];
        let greatest = self.ins().iadd_imm_s(of_rows[1], -1);
        let [outer, inner] = match around {
            Around::Rows => [of_rows, of_strip],
            Around::Strip => [of_strip, of_rows],
            Around::StripIf(condition) => [[of_strip, of_rows], [of_rows, of_strip]]
                .map(|[yes, no]| std::array::from_fn(|at| self.ins().select(condition, yes[at], no[at]))),
        };
        self.through(outer, |generator, outer| {
            generator.through(inner, |generator, inner| {
                let [first, lane] = match around {
                    Around::Rows => [outer, inner],
                    Around::Strip => [inner, outer],
                    Around::StripIf(condition) => [[inner, outer], [outer, inner]]
                        .map(|[yes, no]| generator.ins().select(condition, yes, no)),
                };
                let steps = (0..tile.steps as i64).map(|step| {
                    let position = generator.ins().iadd_imm_s(first, step);
                    generator.least(position, greatest)
                });
                let steps: Vec<ir::Value> = steps.collect();
                emit(generator, Place { rows: &steps, lane, first });
            });
        });
    }

    /// Emits a loop from a position, which is before the end, by so many steps until the end.
    pub(super) fn through(
        &mut self,
        [first, end, steps]: [ir::Value; 3],
        emit: impl FnOnce(&mut Self, ir::Value),
    ) {
        self.loop_once_and_while(
            &[first],
            &[],
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], end),
            |generator, state, _| {
                emit(generator, state[0]);
                (vec![generator.ins().iadd(state[0], steps)], Vec::new())
            },
        );
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
}

/// Returns the number of steps of an axis of rows that a tile takes at once: all of two or three; otherwise the fewest, if more
/// of them would repeat more than a sixth in the last tile, as of few rows.
fn steps_of(most: usize, extent: usize) -> usize {
    let few = STEPS_AT_ONCE[0][1].min(most);
    let computed = |steps: usize| extent.next_multiple_of(steps);
    match extent {
        2 | 3 => extent,
        _ if 5 * computed(most) > 6 * computed(few) => few,
        _ => most,
    }
}

/// Returns whether the axis is a single block that is not empty, whatever the sizes.
fn is_whole(kernel: &Kernel, contract: &Contract) -> bool {
    match kernel.axes[contract.axis.index()].extent {
        Extent::Constant(extent) => (1..=BLOCK as i64).contains(&extent),
        Extent::Param(_) => false,
    }
}

/// Returns the array whose elements along the axis are copied to rows of a part, if they are contiguous.
fn contiguous(kernel: &Kernel, contract: &Contract, row: RowId) -> Option<(AccessId, i64)> {
    contract.rows_prologue.iter().find_map(|stmt| match stmt {
        Stmt::Transpose { access, delta, row: target, .. }
            if *target == row && kernel.accesses[access.index()].is_unit(contract.axis) =>
        {
            Some((*access, *delta))
        }
        _ => None,
    })
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
