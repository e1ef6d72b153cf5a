//! Reductions into rows: the reduction axis outside, the strip of the axis around it inside.

mod ends;

use super::Generator;
use crate::emit::{LaneStride, Val};
use broadloom_ir::reduce::{BLOCK, LANES, SEQUENTIAL_LIMIT};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use std::collections::HashMap;

impl Generator<'_, '_, '_> {
    pub(super) fn stream(&mut self, stream: &Stream) {
        let (start, end) = self.bounds(stream.axis);
        self.clear(stream, start);
        let by_blocks = self.goes_by_blocks(stream);
        let rows = self.rows_of_lanes(stream, by_blocks);
        if by_blocks == ByBlocks::Never {
            self.deal(stream, start, end, &rows);
        } else {
            let zero = self.constant(0);
            let (count, _) = self.counted(start, end, BLOCK as i64, zero, |generator, first, last, count| {
                generator.if_by_blocks(by_blocks, |generator| generator.clear_lanes(stream, start));
                generator.deal(stream, first, last, &rows);
                generator.if_by_blocks(by_blocks, |generator| generator.count_block(stream, count));
                generator.ins().iadd_imm_s(count, 1)
            });
            self.if_by_blocks(by_blocks, |generator| generator.collect_rows(stream, count));
        }
        self.finish_rows(stream);
    }

    /// Whether what is accumulated goes onto the lanes of blocks, or onto the state in order.
    fn goes_by_blocks(&mut self, stream: &Stream) -> ByBlocks {
        let extent = self.kernel.axes[stream.axis.index()].extent;
        let limit = SEQUENTIAL_LIMIT as i64;
        match (stream.order, extent) {
            (Order::Free | Order::Sequential | Order::Counter, _) => ByBlocks::Never,
            (Order::Blocks, _) => ByBlocks::Always,
            (Order::Tree, Extent::Constant(extent)) if extent > limit => ByBlocks::Always,
            (Order::Tree, _) => {
                // The length of the whole axis decides, not that of a group of it.
                let length = self.extent(extent);
                ByBlocks::If(self.ins().icmp_imm_s(IntCC::SignedGreaterThan, length, limit))
            }
        }
    }

    fn if_by_blocks(&mut self, by_blocks: ByBlocks, emit: impl FnOnce(&mut Self)) {
        match by_blocks {
            ByBlocks::Never => {}
            ByBlocks::Always => emit(self),
            ByBlocks::If(condition) => {
                let emit = |generator: &mut Self| {
                    emit(generator);
                    Vec::new()
                };
                self.branch(condition, &[], emit, |_| Vec::new());
            }
        }
    }

    /// The rows that elements are dealt onto: one code for those of a block and for the state alone.
    fn rows_of_lanes(&mut self, stream: &Stream, by_blocks: ByBlocks) -> RowsOfLanes {
        let one = self.constant(1);
        let many = self.constant(LANES as i64);
        let count = match by_blocks {
            ByBlocks::Never => one,
            ByBlocks::Always => many,
            ByBlocks::If(condition) => self.ins().select(condition, many, one),
        };
        let mut rows = Vec::new();
        for entry in &stream.accumulators {
            let state: Vec<ir::Value> = entry.state.iter().map(|row| self.row_start(*row)).collect();
            let Some(tree) = entry.tree else {
                rows.extend(state.into_iter().map(|row| (row, 0)));
                continue;
            };
            let lanes = self.row_start(tree.lanes);
            let row = match by_blocks {
                ByBlocks::Never => state[0],
                ByBlocks::Always => lanes,
                ByBlocks::If(condition) => self.ins().select(condition, lanes, state[0]),
            };
            rows.push((row, self.row_bytes(tree.lanes)));
        }
        RowsOfLanes { count, rows }
    }

    /// Elements of the reduction axis onto lanes. While several steps of every lane are left, a lane takes as many at
    /// once: its row is loaded and stored once for all of them.
    fn deal(&mut self, stream: &Stream, first: ir::Value, last: ir::Value, rows: &RowsOfLanes) {
        let onto_lane = |generator: &mut Self, position: ir::Value, steps: i64| {
            let local = generator.ins().isub(position, first);
            let mask = generator.ins().iadd_imm_s(rows.count, -1);
            let lane = generator.ins().band(local, mask);
            let target = |(start, bytes): &(ir::Value, i64)| match bytes {
                0 => *start,
                bytes => {
                    let offset = generator.ins().imul_imm_s(lane, *bytes);
                    generator.ins().iadd(*start, offset)
                }
            };
            let targets: Vec<ir::Value> = rows.rows.iter().map(target).collect();
            generator.step(stream, (position, steps, rows.count), &targets);
            Vec::new()
        };
        let mut next = first;
        if stream.steps > 1 {
            let steps = stream.steps as i64;
            let group = self.ins().imul_imm_s(rows.count, steps);
            // Short rows stream through memory one after the other.
            let (start, end) = self.bounds(stream.strip);
            let length = self.ins().isub(end, start);
            let long = self.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, length, SHORT_ROW);
            let limit = self.ins().isub(last, group);
            let none = self.ins().iadd_imm_s(first, -1);
            let limit = self.ins().select(long, limit, none);
            next = self
                .loop_while(
                    &[first],
                    &[],
                    |generator, state| generator.ins().icmp(IntCC::SignedLessThanOrEqual, state[0], limit),
                    |generator, state, _| {
                        let end = generator.ins().iadd(state[0], rows.count);
                        generator.repeat(state[0], end, 1, &[], |generator, position, _| {
                            onto_lane(generator, position, steps)
                        });
                        (vec![generator.ins().iadd(state[0], group)], Vec::new())
                    },
                )
                .state[0];
        }
        self.repeat(next, last, 1, &[], |generator, position, _| onto_lane(generator, position, 1));
    }

    /// As many steps of the reduction axis, so far apart, from a position on: every element of the strip onto the
    /// rows that start at `targets`. Where there are several steps, what is left of the strip beside whole vectors goes
    /// step by step.
    fn step(
        &mut self,
        stream: &Stream,
        (first, steps, apart): (ir::Value, i64, ir::Value),
        targets: &[ir::Value],
    ) {
        let strip = self.bounds(stream.strip);
        let around = self.before_walk(stream, first, steps, apart);
        if stream.lanes == 1 {
            self.walk(stream, &around, strip, 1, targets);
            return;
        }
        let start = self.walk(stream, &around, strip, stream.lanes, targets);
        if steps == 1 {
            self.walk(stream, &around, (start, strip.1), 1, targets);
            return;
        }
        let left = self.ins().icmp(IntCC::SignedLessThan, start, strip.1);
        let one_by_one = |generator: &mut Self| {
            let length = generator.ins().imul_imm_s(apart, steps);
            let behind = generator.ins().iadd(first, length);
            generator.loop_while(
                &[first],
                &[],
                |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], behind),
                |generator, state, _| {
                    let around = generator.before_walk(stream, state[0], 1, apart);
                    generator.walk(stream, &around, (start, strip.1), 1, targets);
                    (vec![generator.ins().iadd(state[0], apart)], Vec::new())
                },
            );
            Vec::new()
        };
        self.branch(left, &[], one_by_one, |_| Vec::new());
    }

    /// What steps of the reduction axis need before they walk along the strip: the position of each, and the values
    /// that are in scope then.
    fn before_walk(
        &mut self,
        stream: &Stream,
        first: ir::Value,
        steps: i64,
        apart: ir::Value,
    ) -> Vec<Around> {
        let outer = self.env.clone();
        let mut around = Vec::new();
        let mut position = first;
        for step in 0..steps {
            if step > 0 {
                position = self.ins().iadd(position, apart);
            }
            self.at(stream.axis, position, 1, |generator| {
                generator.body(&stream.per_step);
                generator.body(&stream.prologue);
            });
            let env = std::mem::replace(&mut self.env, outer.clone());
            around.push(Around { position, env });
        }
        around
    }

    /// Walks along a part of the strip, so many lanes at once, as far as they go. Gives where it has stopped.
    fn walk(
        &mut self,
        stream: &Stream,
        around: &[Around],
        (start, end): (ir::Value, ir::Value),
        lanes: usize,
        targets: &[ir::Value],
    ) -> ir::Value {
        let accumulators: Vec<Accumulator> =
            stream.accumulators.iter().map(|entry| entry.accumulator.clone()).collect();
        let outer = self.env.clone();
        let over = |generator: &mut Self| {
            let zero = generator.constant(0);
            // The shapes of the state; the values are dead code.
            let like = generator.begin(&accumulators, 1, zero);
            let addresses: Vec<ir::Value> = like
                .iter()
                .zip(targets)
                .map(|(like, target)| generator.row_element(*target, like.dtype, stream.strip))
                .collect();
            let mut state: Vec<Val> = like
                .iter()
                .zip(&addresses)
                .map(|(like, address)| generator.emit.load(*address, 0, like.dtype, lanes, LaneStride::Unit))
                .collect();
            for Around { position, env } in around {
                generator.env.clone_from(env);
                state = generator.at(stream.axis, *position, 1, |generator| {
                    generator.body(&stream.body);
                    generator.accumulate(stream.axis, &accumulators, &state)
                });
            }
            for (address, value) in addresses.into_iter().zip(state) {
                let value = generator.emit.splat(&value, lanes);
                generator.emit.store(address, 0, &value, LaneStride::Unit);
            }
        };
        let (stop, _) = self.repeat(start, end, lanes as i64, &[], |generator, position, _| {
            generator.at(stream.strip, position, lanes, over);
            Vec::new()
        });
        self.env = outer;
        stop
    }
}

/// Whether elements go onto the lanes of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByBlocks {
    Always,
    Never,
    If(ir::Value),
}

/// A step of the reduction axis.
struct Around {
    position: ir::Value,
    /// The values that are in scope, those of the step among them.
    env: HashMap<ValueId, Val>,
}

/// The rows that elements are dealt onto.
struct RowsOfLanes {
    /// How many lanes there are: 1, or [`LANES`].
    count: ir::Value,
    /// For each row of the state where that of the first lane starts, and bytes from one lane to the next.
    rows: Vec<(ir::Value, i64)>,
}
