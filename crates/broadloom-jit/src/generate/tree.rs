//! The parts of the fixed tree: the lanes of a block, and the binary counter over blocks.

use super::Generator;
use super::polls::STRIP;
use super::reduce::State;
use crate::emit::{LaneStride, Val};
use broadloom_ir::reduce::{BLOCK, LANES};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

/// Stack memory for states: an array for each component of a state, with an element for each slot.
pub(super) struct Slots {
    arrays: Vec<(ir::Value, Val)>,
}

impl Generator<'_, '_, '_> {
    /// Reserves memory for `count` states of accumulators.
    fn slots(&mut self, accumulators: &[Accumulator], count: usize) -> Slots {
        let zero = self.constant(0);
        let like = self.begin(accumulators, 1, zero);
        let arrays = like
            .into_iter()
            .map(|value| {
                let bytes = (value.dtype.size() * count).next_multiple_of(16) as u32;
                (self.emit.stack(bytes), value)
            })
            .collect();
        Slots { arrays }
    }

    /// Reserves the binary counter: a slot for every rank that the result of a block can have.
    pub(super) fn counter(&mut self, accumulators: &[Accumulator]) -> Slots {
        self.slots(accumulators, RANKS)
    }

    fn read(&mut self, slots: &Slots, index: ir::Value, count: usize) -> State {
        let read = slots.arrays.iter().map(|(array, like)| {
            let address = self.slot_address(*array, like, index);
            self.emit.load(address, 0, like.dtype, count, LaneStride::Unit)
        });
        read.collect()
    }

    /// Returns the slots from one on.
    fn slots_from(&mut self, slots: &Slots, first: usize) -> Slots {
        let from = |(array, like): &(ir::Value, Val)| {
            (self.ins().iadd_imm_s(*array, (first * like.dtype.size()) as i64), like.clone())
        };
        Slots { arrays: slots.arrays.iter().map(from).collect() }
    }

    fn write(&mut self, slots: &Slots, index: ir::Value, state: &[Val]) {
        for ((array, like), value) in slots.arrays.iter().zip(state) {
            let address = self.slot_address(*array, like, index);
            self.emit.store(address, 0, value, LaneStride::Unit);
        }
    }

    fn slot_address(&mut self, array: ir::Value, like: &Val, index: ir::Value) -> ir::Value {
        let bytes = self.ins().imul_imm_s(index, like.dtype.size() as i64);
        self.ins().iadd(array, bytes)
    }

    /// Returns all slots as vectors, in order.
    fn read_lanes(&mut self, slots: &Slots, lanes: usize, first: usize) -> State {
        let read = slots.arrays.iter().map(|(array, like)| {
            self.emit.load(*array, (first * like.dtype.size()) as i32, like.dtype, lanes, LaneStride::Unit)
        });
        read.collect()
    }

    fn write_lanes(&mut self, slots: &Slots, first: usize, state: &[Val]) {
        for ((array, like), value) in slots.arrays.iter().zip(state) {
            self.emit.store(*array, (first * like.dtype.size()) as i32, value, LaneStride::Unit);
        }
    }

    /// Reduces a range of whole blocks and a last block that may be shorter.
    pub(super) fn by_blocks(&mut self, reduce: &Reduce, start: ir::Value, end: ir::Value) -> State {
        let accumulators = &reduce.accumulators;
        let counter = self.counter(accumulators);
        let lanes = self.slots(accumulators, LANES);
        let zero = self.constant(0);
        let together = self.blocks_together(reduce);
        let (rest, count) = match together {
            1 => (start, zero),
            _ => self.blocks_at_once(reduce, (start, end), together, &counter),
        };
        let (count, _) = self.counted(rest, end, BLOCK as i64, count, |generator, first, last, count| {
            let block = (first, last);
            let state = generator.within(reduce.axis, block, |generator| {
                generator.body(&reduce.prologue);
                if reduce.lanes == 1 {
                    generator.block_in_memory(reduce, block, &lanes, start)
                } else {
                    generator.block_in_vectors(reduce, block, &lanes, start)
                }
            });
            generator.push(accumulators, &counter, &state, count)
        });
        self.collect(accumulators, &counter, count)
    }

    /// Returns whether a step is so little work that several of them run at once. The operations of a function are enough
    /// work, and need all registers.
    pub(super) fn is_little_work(&self, body: &[Stmt]) -> bool {
        let is_let = |stmt: &Stmt| matches!(stmt, Stmt::Let(_));
        body.len() <= MAX_INTERLEAVED_STATEMENTS && body.iter().all(is_let) && !self.computes_functions(body)
    }

    /// Returns whether statements compute an elementary function, or search: work whose operations wait for each other.
    pub(super) fn computes_functions(&self, body: &[Stmt]) -> bool {
        let is_function = |stmt: &Stmt| match stmt {
            Stmt::Let(id) => {
                let Value { def, dtype, .. } = &self.kernel.values[id.index()];
                match def {
                    Def::Op { op, .. } => op.tile(dtype.arithmetic()).is_some(),
                    Def::Search { .. } => true,
                    _ => false,
                }
            }
            _ => false,
        };
        body.iter().any(is_function)
    }

    /// Returns the number of whole blocks that one loop processes at once, a power of two. The lanes of a single block wait for each
    /// other's additions; where elements need little computation, several blocks keep the machine busy, as long as there are
    /// registers for them.
    fn blocks_together(&mut self, reduce: &Reduce) -> i64 {
        if reduce.lanes == 1 || !reduce.prologue.is_empty() || !self.is_little_work(&reduce.body) {
            return 1;
        }
        let widths = reduce.accumulators.iter().map(|accumulator| accumulator.dtype.size());
        let registers = (LANES * widths.sum::<usize>()).div_ceil(self.emit.host.vector_bytes);
        let together = 1 << (INTERLEAVED_REGISTERS / registers).clamp(1, MAX_INTERLEAVED_BLOCKS).ilog2();
        let extent = self.whole_extent(reduce.axis);
        if extent.is_some_and(|extent| extent < together * BLOCK as i64) { 1 } else { together }
    }

    /// Reduces whole blocks, several at once, as long as they fit. Returns the position where it stops, and the number of
    /// blocks.
    ///
    /// The blocks of a group are a subtree: their results merge at once, and only the result of the group goes to the counter,
    /// at its rank. Each addition to the counter costs a branch that nobody can predict.
    fn blocks_at_once(
        &mut self,
        reduce: &Reduce,
        (start, end): (ir::Value, ir::Value),
        together: i64,
        counter: &Slots,
    ) -> (ir::Value, ir::Value) {
        let accumulators = &reduce.accumulators;
        let group = together * BLOCK as i64;
        let rank = together.ilog2();
        let counter = self.slots_from(counter, rank as usize);
        let limit = self.ins().iadd_imm_s(end, -group);
        let zero = self.constant(0);
        let looped = self.loop_while(
            &[start, zero],
            &[],
            |generator, state| generator.ins().icmp(IntCC::SignedLessThanOrEqual, state[0], limit),
            |generator, state, _| {
                let (first, count) = (state[0], state[1]);
                let stop = generator.ins().iadd_imm_s(first, BLOCK as i64);
                let part = generator.begin(accumulators, reduce.lanes, start);
                let parts = together as usize * LANES / reduce.lanes;
                let begin: Vec<Val> = (0..parts).flat_map(|_| part.clone()).collect();
                let (_, state) = generator.without_looks(STRIP, |generator| {
                    generator.repeat(first, stop, LANES as i64, &begin, |generator, at, state| {
                        let blocks = (0..together).map(|block| block * BLOCK as i64);
                        let offsets = blocks.flat_map(|block| {
                            (0..LANES).step_by(reduce.lanes).map(move |lane| block + lane as i64)
                        });
                        generator.parts(reduce, at, offsets, part.len(), state)
                    })
                });
                let mut results: Vec<State> = state
                    .chunks(LANES / reduce.lanes * part.len())
                    .map(|block| generator.fold_block(accumulators, block, part.len()))
                    .collect();
                while results.len() > 1 {
                    let pairs = results.chunks_exact(2);
                    results = pairs.map(|pair| generator.combine(accumulators, &pair[0], &pair[1])).collect();
                }
                let count = generator.push(accumulators, &counter, &results[0], count);
                (vec![generator.ins().iadd_imm_s(first, group), count], Vec::new())
            },
        );
        let blocks = self.ins().ishl_imm_u(looped.state[1], i64::from(rank));
        (looped.state[0], blocks)
    }

    /// Adds one step to every part of a state; the steps are at equal distances from a position on.
    pub(super) fn parts(
        &mut self,
        reduce: &Reduce,
        position: ir::Value,
        offsets: impl Iterator<Item = i64>,
        components: usize,
        state: &[Val],
    ) -> State {
        let mut new = State::new();
        for (offset, old) in offsets.zip(state.chunks(components)) {
            let position = self.ins().iadd_imm_s(position, offset);
            new.extend(self.scoped(|generator| {
                generator.at(reduce.axis, position, reduce.lanes, |generator| {
                    generator.body(&reduce.body);
                    generator.accumulate(reduce.axis, &reduce.accumulators, old)
                })
            }));
        }
        new
    }

    /// Combines the lanes of a block, given in parts that each have all components of a state, into one state.
    fn fold_block(&mut self, accumulators: &[Accumulator], state: &[Val], components: usize) -> State {
        let whole: State = (0..components)
            .map(|component| {
                let vectors: Vec<Val> =
                    state.chunks(components).map(|part| part[component].clone()).collect();
                self.emit.concat(&vectors)
            })
            .collect();
        self.fold(accumulators, &whole, LANES)
    }

    /// Emits a loop over blocks that counts them; `body` returns the count after its block.
    pub(super) fn counted(
        &mut self,
        start: ir::Value,
        end: ir::Value,
        length: i64,
        count: ir::Value,
        body: impl FnOnce(&mut Self, ir::Value, ir::Value, ir::Value) -> ir::Value,
    ) -> (ir::Value, ir::Value) {
        let looped = self.loop_while(
            &[start, count],
            &[],
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], end),
            |generator, state, _| {
                let next = generator.ins().iadd_imm_s(state[0], length);
                let last = generator.least(next, end);
                let count = body(generator, state[0], last, state[1]);
                (vec![next, count], Vec::new())
            },
        );
        (looped.state[1], looped.state[0])
    }

    /// Reduces a block with its lanes in memory, element by element.
    fn block_in_memory(
        &mut self,
        reduce: &Reduce,
        block: (ir::Value, ir::Value),
        lanes: &Slots,
        first: ir::Value,
    ) -> State {
        let identity = self.begin(&reduce.accumulators, LANES, first);
        self.write_lanes(lanes, 0, &identity);
        self.rest_in_memory(reduce, block, lanes, 1);
        let state = self.read_lanes(lanes, LANES, 0);
        self.fold(&reduce.accumulators, &state, LANES)
    }

    /// Adds the elements of a range that starts at a multiple of the number of lanes within its block, several at once.
    fn rest_in_memory(
        &mut self,
        reduce: &Reduce,
        (first, last): (ir::Value, ir::Value),
        lanes: &Slots,
        at_once: usize,
    ) {
        let mut start = first;
        for at_once in self.passes(reduce.axis, at_once) {
            let pass = |generator: &mut Self, position: ir::Value, _: &[Val]| {
                let local = generator.ins().isub(position, first);
                let lane = generator.ins().band_imm_u(local, LANES as i64 - 1);
                let new = generator.at(reduce.axis, position, at_once, |generator| {
                    generator.body(&reduce.body);
                    let old = generator.read(lanes, lane, at_once);
                    generator.accumulate(reduce.axis, &reduce.accumulators, &old)
                });
                generator.write(lanes, lane, &new);
                Vec::new()
            };
            start = self.repeat(start, last, at_once as i64, &[], pass).0;
        }
    }

    /// Reduces a block with its lanes in registers, all lanes at once. The elements left over go through memory.
    fn block_in_vectors(
        &mut self,
        reduce: &Reduce,
        block: (ir::Value, ir::Value),
        lanes: &Slots,
        first: ir::Value,
    ) -> State {
        let accumulators = &reduce.accumulators;
        let parts = LANES / reduce.lanes;
        let part = self.begin(accumulators, reduce.lanes, first);
        let begin: Vec<Val> = (0..parts).flat_map(|_| part.clone()).collect();
        let step = |generator: &mut Self, position: ir::Value, state: &[Val]| {
            let offsets = (0..LANES as i64).step_by(reduce.lanes);
            generator.parts(reduce, position, offsets, part.len(), state)
        };
        let (next, state) = self
            .without_looks(STRIP, |generator| generator.repeat(block.0, block.1, LANES as i64, &begin, step));
        let left = self.ins().icmp(IntCC::SignedLessThan, next, block.1);
        let state = self.branch(
            left,
            &state,
            |generator| {
                for (index, part) in state.chunks(part.len()).enumerate() {
                    generator.write_lanes(lanes, index * reduce.lanes, part);
                }
                let short = generator.short_lanes(reduce.lanes);
                generator.rest_in_memory(reduce, (next, block.1), lanes, short);
                (0..parts)
                    .flat_map(|index| generator.read_lanes(lanes, reduce.lanes, index * reduce.lanes))
                    .collect()
            },
            |_| state.clone(),
        );
        self.fold_block(accumulators, &state, part.len())
    }

    /// Adds the result of a block to the counter: equal ranks merge as soon as both exist. Returns the new count.
    pub(super) fn push(
        &mut self,
        accumulators: &[Accumulator],
        counter: &Slots,
        state: &[Val],
        count: ir::Value,
    ) -> ir::Value {
        let (rank, merged) = self.merging_ranks(count, state, |generator, rank, carried| {
            let older = generator.read(counter, rank, 1);
            generator.combine(accumulators, &older, carried)
        });
        self.write(counter, rank, &merged);
        self.ins().iadd_imm_s(count, 1)
    }

    /// Merges the result of a block with the results of all ranks below the first free rank, given the number of blocks
    /// before it. Returns the free rank.
    pub(super) fn merging_ranks(
        &mut self,
        count: ir::Value,
        carried: &[Val],
        merge: impl FnOnce(&mut Self, ir::Value, &[Val]) -> State,
    ) -> (ir::Value, State) {
        let zero = self.constant(0);
        let merged = self.loop_while(
            &[count, zero],
            carried,
            |generator, state| generator.is_odd(state[0]),
            |generator, state, carried| {
                let both = merge(generator, state[1], carried);
                let rest = generator.ins().ushr_imm_u(state[0], 1);
                (vec![rest, generator.ins().iadd_imm_s(state[1], 1)], both)
            },
        );
        (merged.state[1], merged.carried)
    }

    /// Merges the results of all ranks in use, from right to left.
    pub(super) fn merging_held_ranks(
        &mut self,
        held: ir::Value,
        carried: &[Val],
        merge: impl FnOnce(&mut Self, ir::Value, &[Val]) -> State,
    ) -> State {
        let zero = self.constant(0);
        self.loop_while(
            &[held, zero],
            carried,
            |generator, state| generator.ins().icmp_imm_s(IntCC::NotEqual, state[0], 0),
            |generator, state, carried| {
                let odd = generator.is_odd(state[0]);
                let merge = |generator: &mut Self| merge(generator, state[1], carried);
                let carried = generator.branch(odd, carried, merge, |_| carried.to_vec());
                let rest = generator.ins().ushr_imm_u(state[0], 1);
                (vec![rest, generator.ins().iadd_imm_s(state[1], 1)], carried)
            },
        )
        .carried
    }

    pub(super) fn is_odd(&mut self, number: ir::Value) -> ir::Value {
        let odd = self.ins().band_imm_u(number, 1);
        self.ins().icmp_imm_s(IntCC::NotEqual, odd, 0)
    }

    /// Returns the content of the counter at the end, merged from right to left.
    pub(super) fn collect(
        &mut self,
        accumulators: &[Accumulator],
        counter: &Slots,
        count: ir::Value,
    ) -> State {
        let begin = self.identities(accumulators);
        self.merging_held_ranks(count, &begin, |generator, rank, carried| {
            let older = generator.read(counter, rank, 1);
            generator.combine(accumulators, &older, carried)
        })
    }
}
