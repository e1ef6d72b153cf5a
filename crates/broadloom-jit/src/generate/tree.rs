//! The parts of the fixed tree: the lanes of a block, and the binary counter over blocks.

use super::reduce::State;
use super::{Generator, SHORT_LANES};
use crate::emit::{LaneStride, Val};
use broadloom_ir::reduce::{BLOCK, LANES};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

/// Stack memory for states: an array per component of a state, of as many elements as there are slots.
pub(super) struct Slots {
    arrays: Vec<(ir::Value, Val)>,
}

impl Generator<'_, '_, '_> {
    /// Memory for `count` states of accumulators.
    fn slots(&mut self, accumulators: &[Accumulator], count: usize) -> Slots {
        let zero = self.constant(0);
        let like = self.begin(accumulators, 1, zero);
        let arrays = like
            .into_iter()
            .map(|value| {
                let bytes = (value.dtype.size() * count).next_multiple_of(16) as u32;
                (self.stack(bytes), value)
            })
            .collect();
        Slots { arrays }
    }

    /// The binary counter: a slot for every rank that a block result can have.
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

    /// All slots as vectors, in order.
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

    /// The result of a range of whole blocks and one that may be shorter.
    pub(super) fn by_blocks(&mut self, reduce: &Reduce, start: ir::Value, end: ir::Value) -> State {
        let accumulators = &reduce.accumulators;
        let counter = self.counter(accumulators);
        let lanes = self.slots(accumulators, LANES);
        let zero = self.constant(0);
        let (count, _) = self.counted(start, end, BLOCK as i64, zero, |generator, first, last, count| {
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

    /// A loop over blocks that counts them; `body` gives the count after its block.
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

    /// The lanes of a block in memory, element by element.
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

    /// Adds elements of a range that starts at a multiple of the number of lanes within its block, so many at once.
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

    /// The lanes of a block in registers, all lanes at once, the elements left over through memory.
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
        let (next, state) =
            self.repeat(block.0, block.1, LANES as i64, &begin, |generator, position, state| {
                let mut new = Vec::new();
                for (index, old) in state.chunks(part.len()).enumerate() {
                    let position = generator.ins().iadd_imm_s(position, (index * reduce.lanes) as i64);
                    new.extend(generator.scoped(|generator| {
                        generator.at(reduce.axis, position, reduce.lanes, |generator| {
                            generator.body(&reduce.body);
                            generator.accumulate(reduce.axis, accumulators, old)
                        })
                    }));
                }
                new
            });
        let left = self.ins().icmp(IntCC::SignedLessThan, next, block.1);
        let state = self.branch(
            left,
            &state,
            |generator| {
                for (index, part) in state.chunks(part.len()).enumerate() {
                    generator.write_lanes(lanes, index * reduce.lanes, part);
                }
                let short = if generator.positions.is_empty() { 1 } else { SHORT_LANES.min(reduce.lanes) };
                generator.rest_in_memory(reduce, (next, block.1), lanes, short);
                (0..parts)
                    .flat_map(|index| generator.read_lanes(lanes, reduce.lanes, index * reduce.lanes))
                    .collect()
            },
            |_| state.clone(),
        );
        let whole: State = (0..part.len())
            .map(|component| {
                let vectors: Vec<Val> =
                    state.chunks(part.len()).map(|part| part[component].clone()).collect();
                self.emit.concat(&vectors)
            })
            .collect();
        self.fold(accumulators, &whole, LANES)
    }

    /// Adds a block result to the counter: equal ranks merge as soon as both exist. Gives the new count.
    pub(super) fn push(
        &mut self,
        accumulators: &[Accumulator],
        counter: &Slots,
        state: &[Val],
        count: ir::Value,
    ) -> ir::Value {
        let zero = self.constant(0);
        let merged = self.loop_while(
            &[count, zero],
            state,
            |generator, state| {
                let odd = generator.ins().band_imm_u(state[0], 1);
                generator.ins().icmp_imm_s(IntCC::NotEqual, odd, 0)
            },
            |generator, state, carried| {
                let older = generator.read(counter, state[1], 1);
                let both = generator.combine(accumulators, &older, carried);
                let rest = generator.ins().ushr_imm_u(state[0], 1);
                (vec![rest, generator.ins().iadd_imm_s(state[1], 1)], both)
            },
        );
        self.write(counter, merged.state[1], &merged.carried);
        self.ins().iadd_imm_s(count, 1)
    }

    /// What the counter holds in the end, from right to left.
    pub(super) fn collect(
        &mut self,
        accumulators: &[Accumulator],
        counter: &Slots,
        count: ir::Value,
    ) -> State {
        let zero = self.constant(0);
        let begin = self.begin_behind(accumulators);
        self.loop_while(
            &[count, zero],
            &begin,
            |generator, state| generator.ins().icmp_imm_s(IntCC::NotEqual, state[0], 0),
            |generator, state, carried| {
                let odd = generator.ins().band_imm_u(state[0], 1);
                let odd = generator.ins().icmp_imm_s(IntCC::NotEqual, odd, 0);
                let carried = generator.branch(
                    odd,
                    carried,
                    |generator| {
                        let older = generator.read(counter, state[1], 1);
                        generator.combine(accumulators, &older, carried)
                    },
                    |_| carried.to_vec(),
                );
                let rest = generator.ins().ushr_imm_u(state[0], 1);
                (vec![rest, generator.ins().iadd_imm_s(state[1], 1)], carried)
            },
        )
        .carried
    }
}
