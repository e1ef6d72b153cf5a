//! Reductions into scratch rows: the reduction axis outside, the strip of the axis around it inside.

mod dense;
mod ends;

use super::Generator;
use super::contract::Results;
use crate::emit::{LaneStride, Val};
use broadloom_ir::reduce::{BLOCK, LANES, SEQUENTIAL_LIMIT};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use dense::Dense;
use std::collections::HashMap;

impl Generator<'_, '_, '_> {
    pub(super) fn stream(&mut self, stream: &Stream) {
        let (start, end) = self.bounds(stream.axis);
        self.clear(stream, start);
        let by_blocks = self.goes_by_blocks(stream.axis, stream.order);
        let lanes = self.lanes_of(stream, by_blocks);
        if by_blocks == ByBlocks::Never {
            self.deal(stream, start, end, &lanes);
        } else {
            let zero = self.constant(0);
            let (count, _) = self.counted(start, end, BLOCK as i64, zero, |generator, first, last, count| {
                generator.if_by_blocks(by_blocks, |generator| generator.clear_lanes(stream, &lanes, start));
                generator.deal(stream, first, last, &lanes);
                generator.if_by_blocks(by_blocks, |generator| generator.count_block(stream, &lanes, count));
                generator.ins().iadd_imm_s(count, 1)
            });
            self.if_by_blocks(by_blocks, |generator| generator.collect_rows(stream, count));
        }
        self.finish_rows(stream);
    }

    /// Returns whether elements are accumulated in the lanes of blocks, or in the state in order.
    pub(super) fn goes_by_blocks(&mut self, axis: AxisId, order: Order) -> ByBlocks {
        let extent = self.kernel.axes[axis.index()].extent;
        let limit = SEQUENTIAL_LIMIT as i64;
        match (order, extent) {
            (Order::Free | Order::Sequential | Order::Counter, _) => ByBlocks::Never,
            (Order::Blocks, _) => ByBlocks::Always,
            (Order::Tree, Extent::Constant(extent)) if extent > limit => ByBlocks::Always,
            (Order::Tree, _) => {
                // The length of the whole axis decides, not the length of a group of it.
                let length = self.extent(extent);
                ByBlocks::If(self.ins().icmp_imm_s(IntCC::SignedGreaterThan, length, limit))
            }
        }
    }

    pub(super) fn if_by_blocks(&mut self, by_blocks: ByBlocks, emit: impl FnOnce(&mut Self)) {
        match by_blocks {
            ByBlocks::Never => {}
            ByBlocks::Always => emit(self),
            ByBlocks::If(condition) => self.when(condition, emit),
        }
    }

    /// Returns the lanes among which elements are distributed: the same code serves the lanes of a block and the state.
    fn lanes_of(&mut self, stream: &Stream, by_blocks: ByBlocks) -> Lanes {
        let one = self.constant(1);
        let many = self.constant(LANES as i64);
        let count = match by_blocks {
            ByBlocks::Never => one,
            ByBlocks::Always => many,
            ByBlocks::If(condition) => self.ins().select(condition, many, one),
        };
        let (dense, at_once) = match stream.dense {
            true => {
                let (dense, most) = self.dense_rows(stream);
                (Some(dense), self.least(most, count))
            }
            false => (None, one),
        };
        let mut starts = Vec::new();
        for entry in &stream.accumulators {
            let state: Vec<ir::Value> = entry.state.iter().map(|row| self.row_start(*row)).collect();
            let Some(tree) = entry.tree else {
                starts.extend(state.into_iter().map(|row| (row, None)));
                continue;
            };
            let lanes = self.row_start(tree.lanes);
            let start = match by_blocks {
                ByBlocks::Never => state[0],
                ByBlocks::Always => lanes,
                ByBlocks::If(condition) => self.ins().select(condition, lanes, state[0]),
            };
            starts.push((start, Some(tree.lanes)));
        }
        Lanes { count, at_once, dense, starts }
    }

    /// Distributes elements of the reduction axis among lanes, and emits what runs ahead of every few steps.
    fn deal(&mut self, stream: &Stream, first: ir::Value, last: ir::Value, lanes: &Lanes) {
        if let [Stmt::Contract(contract @ Contract { epilogue: Epilogue::Extremes { .. }, .. })] =
            stream.ahead.as_slice()
        {
            let length = self.constant(CONTRACTED_ROWS as i64);
            self.blocks(first, last, length, &[], |generator, steps, _| {
                generator.within(stream.axis, steps, |generator| {
                    generator.contract(contract, Results::Extremes(stream))
                });
                Vec::new()
            });
            return;
        }
        self.per_contraction_step(stream.axis, &stream.ahead, (first, last), |generator, steps| {
            generator.deal_steps(stream, first, steps, lanes);
        });
    }

    /// Runs `emit` for steps of an axis: for all at once, or, after the code that runs ahead, for the steps that it covers.
    pub(super) fn per_contraction_step(
        &mut self,
        axis: AxisId,
        ahead: &[Stmt],
        (first, last): (ir::Value, ir::Value),
        emit: impl FnOnce(&mut Self, (ir::Value, ir::Value)),
    ) {
        let Some(steps) = ahead.iter().find_map(Stmt::steps_after_contraction) else {
            emit(self, (first, last));
            return;
        };
        let length = self.constant(steps as i64);
        self.blocks(first, last, length, &[], |generator, steps, _| {
            generator.within(axis, steps, |generator| {
                generator.body(ahead);
                emit(generator, steps);
            });
            Vec::new()
        });
    }

    /// Distributes steps of the reduction axis among lanes; the first lane gets the step at `origin`. While every lane has
    /// several steps left, it takes several at once: its row is loaded and stored once for all of them.
    fn deal_steps(
        &mut self,
        stream: &Stream,
        origin: ir::Value,
        (first, last): (ir::Value, ir::Value),
        lanes: &Lanes,
    ) {
        let onto_lanes = |generator: &mut Self, position: ir::Value, steps: i64, rows: ir::Value| {
            let local = generator.ins().isub(position, origin);
            let mask = generator.ins().iadd_imm_s(lanes.count, -1);
            let lane = generator.ins().band(local, mask);
            let target = |(start, row): &(ir::Value, Option<RowId>)| match row {
                None => *start,
                Some(row) => {
                    let bytes = generator.lane_bytes(lanes, *row);
                    let offset = generator.ins().imul(lane, bytes);
                    generator.ins().iadd(*start, offset)
                }
            };
            let targets: Vec<ir::Value> = lanes.starts.iter().map(target).collect();
            generator.over_rows(stream, lanes, rows, |generator| {
                generator.step(stream, (position, steps, lanes.count), &targets);
            });
        };
        let is_before = |last: ir::Value| {
            move |generator: &mut Self, state: &[ir::Value]| {
                generator.ins().icmp(IntCC::SignedLessThan, state[0], last)
            }
        };
        let mut next = self.held_steps(stream, (first, last), lanes);
        if stream.steps > 1 {
            let steps = stream.steps as i64;
            let group = self.ins().imul_imm_s(lanes.count, steps);
            // Short rows of a table follow each other in memory.
            let (start, end) = self.bounds(stream.strip);
            let length = self.ins().isub(end, start);
            let long = self.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, length, MIN_STEPPED_ROW);
            let limit = self.ins().isub(last, group);
            let none = self.ins().iadd_imm_s(first, -1);
            let limit = self.ins().select(long, limit, none);
            next = self
                .loop_while(
                    &[first],
                    &[],
                    |generator, state| generator.ins().icmp(IntCC::SignedLessThanOrEqual, state[0], limit),
                    |generator, state, _| {
                        let end = generator.ins().iadd(state[0], lanes.count);
                        generator.loop_while(&[state[0]], &[], is_before(end), |generator, state, _| {
                            onto_lanes(generator, state[0], steps, lanes.at_once);
                            (vec![generator.ins().iadd(state[0], lanes.at_once)], Vec::new())
                        });
                        (vec![generator.ins().iadd(state[0], group)], Vec::new())
                    },
                )
                .state[0];
        }
        let walk = |generator: &mut Self, position: ir::Value| {
            let left = generator.ins().isub(last, position);
            let rows = generator.least(left, lanes.at_once);
            onto_lanes(generator, position, 1, rows);
        };
        if !stream.is_by_lanes() {
            self.loop_while(&[next], &[], is_before(last), |generator, state, _| {
                walk(generator, state[0]);
                (vec![generator.ins().iadd(state[0], lanes.at_once)], Vec::new())
            });
            return;
        }
        // The step, and the first step of its lanes. One loop, because its code is large.
        let past_end = self.ins().iadd(next, lanes.count);
        self.loop_while(
            &[next, next],
            &[],
            |generator, state| {
                let [is_left, is_lane] = [(state[0], last), (state[1], past_end)]
                    .map(|(step, end)| generator.ins().icmp(IntCC::SignedLessThan, step, end));
                generator.ins().band(is_left, is_lane)
            },
            |generator, state, _| {
                walk(generator, state[0]);
                let following = generator.ins().iadd(state[0], lanes.count);
                let others = generator.ins().iadd(state[1], lanes.at_once);
                let is_left = generator.ins().icmp(IntCC::SignedLessThan, following, last);
                let step = generator.ins().select(is_left, following, others);
                let first = generator.ins().select(is_left, state[1], others);
                (vec![step, first], Vec::new())
            },
        );
    }

    /// Adds several steps of the reduction axis, at equal distances from a position on: every element of the strip goes to
    /// the rows that start at `targets`. The elements of the strip that whole vectors leave are added one by one.
    fn step(
        &mut self,
        stream: &Stream,
        (first, steps, apart): (ir::Value, i64, ir::Value),
        targets: &[ir::Value],
    ) {
        let mut strip = self.bounds(stream.strip);
        if stream.padded {
            strip.1 = self.ins().iadd_imm_s(strip.1, stream.lanes as i64 - 1);
        }
        let around = self.before_walk(stream, first, steps, apart);
        let wide = self.lanes_of_walk(stream);
        let start = self.walk(stream, &around, strip, wide, targets);
        let start = match wide > stream.lanes {
            true => self.walk(stream, &around, (start, strip.1), stream.lanes, targets),
            false => start,
        };
        if stream.padded {
            return;
        }
        let rest = |generator: &mut Self, around: &[Around]| {
            let passes = generator.passes(stream.strip, stream.lanes);
            let mut start = start;
            for lanes in passes.into_iter().filter(|lanes| *lanes < stream.lanes) {
                start = generator.walk(stream, around, (start, strip.1), lanes, targets);
            }
        };
        if steps == 1 {
            rest(self, &around);
            return;
        }
        let left = self.ins().icmp(IntCC::SignedLessThan, start, strip.1);
        let one_by_one = |generator: &mut Self| {
            let length = generator.ins().imul_imm_s(apart, steps);
            let past_end = generator.ins().iadd(first, length);
            generator.loop_while(
                &[first],
                &[],
                |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], past_end),
                |generator, state, _| {
                    let around = generator.before_walk(stream, state[0], 1, apart);
                    rest(generator, &around);
                    (vec![generator.ins().iadd(state[0], apart)], Vec::new())
                },
            );
            Vec::new()
        };
        self.branch(left, &[], one_by_one, |_| Vec::new());
    }

    /// Returns the lanes of a walk along the strip: as many registers of each value as its body fills.
    fn lanes_of_walk(&self, stream: &Stream) -> usize {
        let accumulated = stream.accumulators.iter().map(|entry| entry.accumulator.dtype.size()).sum();
        match self.computes_functions(&stream.body) {
            true => self.lanes_live_with(stream.strip, stream.lanes, &stream.body, accumulated),
            false => stream.lanes,
        }
    }

    /// Prepares steps of the reduction axis before they walk along the strip: the position of each, and the values that
    /// are then in scope.
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

    /// Walks along a part of the strip, `lanes` elements at a time, as long as they fit. Returns the position where it
    /// stops.
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
            // Only the types of this state are used; its values are dead code.
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

/// Where elements are accumulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByBlocks {
    Always,
    Never,
    If(ir::Value),
}

/// A step of the reduction axis.
struct Around {
    position: ir::Value,
    /// The values in scope, including those of the step.
    env: HashMap<ValueId, Val>,
}

/// The lanes among which elements are distributed.
struct Lanes {
    /// Their number: 1 or [`LANES`].
    count: ir::Value,
    /// The number of lanes that one walk along the strip covers: a power of two.
    at_once: ir::Value,
    /// Set for a stream over dense rows of a table.
    dense: Option<Dense>,
    /// For each row of the state, the start of the row of the first lane, and the rows of the lanes if there are several.
    starts: Vec<(ir::Value, Option<RowId>)>,
}
