//! Reductions into values.

use super::Generator;
use crate::emit::Val;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::reduce::{BLOCK, ReduceOp, SEQUENTIAL_LIMIT};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

/// The running state of accumulators: one value each, followed by an index for arg-reductions.
pub(super) type State = Vec<Val>;

impl Generator<'_, '_, '_> {
    pub(super) fn reduce(&mut self, reduce: &Reduce) {
        let (start, end) = self.bounds(reduce.axis);
        let state = match reduce.order {
            Order::Free => self.in_any_order(reduce, start, end),
            Order::Sequential => {
                let begin = self.begin(&reduce.accumulators, self.around(), start);
                self.in_order(reduce, (start, end), &begin)
            }
            Order::Tree => self.by_the_tree(reduce, start, end),
            Order::Blocks => self.by_blocks(reduce, start, end),
            Order::Counter => self.by_the_counter(reduce, start, end),
        };
        let mut state = state.into_iter();
        for accumulator in &reduce.accumulators {
            let value = state.next();
            let index = has_index(accumulator).then(|| state.next()).flatten();
            let (Some(result), is_index) = (index.clone().or(value), index.is_some()) else { continue };
            let result = match is_index {
                true => self.emit.cast(&result, DType::I64),
                false => self.finish(accumulator.op, &result),
            };
            self.env.insert(accumulator.result, result);
        }
    }

    /// Returns the number of lanes of the vector loop around a reduction.
    fn around(&self) -> usize {
        self.vector.map_or(1, |(_, lanes)| lanes)
    }

    /// Ends a sum: it begins with a negative zero, which must not be a result.
    pub(super) fn finish(&mut self, op: ReduceOp, value: &Val) -> Val {
        match op.finish(value.dtype) {
            Some(zero) => {
                let zero = self.emit.constant(zero);
                self.emit.accumulate(op, value.dtype, value, &zero)
            }
            None => value.clone(),
        }
    }

    /// Returns accumulators before the first element. An index starts at `first`: if no element is better than the
    /// identity, the first one is the result. An index that is compared with other indices starts above all of them.
    pub(super) fn begin(&mut self, accumulators: &[Accumulator], lanes: usize, first: ir::Value) -> State {
        let mut state = State::new();
        for accumulator in accumulators {
            let identity = self.emit.constant(accumulator.op.identity(accumulator.dtype));
            state.push(self.emit.splat(&identity, lanes));
            if let Contribution::Indexed { index, narrow, .. } = accumulator.operand {
                let dtype = index_dtype(narrow);
                let index = match index {
                    None => self.emit.iota(first, 1, dtype),
                    Some(_) => self.emit.constant(Scalar::I64(i64::MAX)),
                };
                state.push(self.emit.splat(&index, lanes));
            }
        }
        state
    }

    /// Returns accumulators that lose against every element, for the elements that whole vectors leave.
    pub(super) fn identities(&mut self, accumulators: &[Accumulator]) -> State {
        let mut state = State::new();
        for accumulator in accumulators {
            state.push(self.emit.constant(accumulator.op.identity(accumulator.dtype)));
            if let Contribution::Indexed { narrow, .. } = accumulator.operand {
                let last = if narrow { Scalar::I32(i32::MAX) } else { Scalar::I64(i64::MAX) };
                state.push(self.emit.constant(last));
            }
        }
        state
    }

    /// Adds the elements at the current position: one step.
    pub(super) fn accumulate(&mut self, axis: AxisId, accumulators: &[Accumulator], state: &[Val]) -> State {
        let mut old = state.iter();
        let mut new = State::new();
        for accumulator in accumulators {
            let Some(best) = old.next() else { break };
            match &accumulator.operand {
                Contribution::Value(value) => {
                    let value = self.added(*value, accumulator.dtype, best.dtype);
                    new.push(self.emit.accumulate(accumulator.op, best.dtype, best, &value));
                }
                Contribution::Count(value) => {
                    let value = self.get(*value);
                    new.push(self.emit.count(best, &value));
                }
                Contribution::Product(x, y) => {
                    let (x, y) = (self.get(*x), self.get(*y));
                    new.push(self.emit.accumulate_product(best, &x, &y));
                }
                Contribution::Indexed { index, .. } => {
                    let Some(best_index) = old.next() else { break };
                    let element = self.element(axis, accumulator);
                    let other = [&element[0], &element[1]];
                    new.extend(self.best_of(accumulator.op, index.is_some(), [best, best_index], other));
                }
            }
        }
        new
    }

    /// Returns the state of an accumulator of extremes after one element.
    fn element(&mut self, axis: AxisId, accumulator: &Accumulator) -> State {
        match &accumulator.operand {
            Contribution::Indexed { value, index, narrow } => {
                let value = self.get(*value);
                let index = match index {
                    None => {
                        let (position, lanes) = (self.positions[&axis], self.lanes_along(Some(axis)));
                        self.emit.iota(position, lanes, index_dtype(*narrow))
                    }
                    Some(index) => self.get(*index),
                };
                vec![value, index]
            }
            Contribution::Value(value) => vec![self.added(*value, accumulator.dtype, accumulator.dtype)],
            Contribution::Count(_) | Contribution::Product(..) => {
                debug_assert!(false, "a count or a product is no extreme");
                Vec::new()
            }
        }
    }

    /// Returns the better of two elements, each with its index. If they are equal, it is the first one or, `by_index`, that
    /// with the lower index.
    fn best_of(
        &mut self,
        op: ReduceOp,
        by_index: bool,
        [best, best_index]: [&Val; 2],
        [other, other_index]: [&Val; 2],
    ) -> [Val; 2] {
        let better = match by_index {
            true => self.emit.better_or_tied(op, other, other_index, best, best_index),
            false => self.emit.better(op, other, best),
        };
        [self.emit.select(&better, other, best), self.emit.select(&better, other_index, best_index)]
    }

    /// Returns the states of accumulators of extremes after one element.
    pub(super) fn elements(&mut self, axis: AxisId, accumulators: &[Accumulator]) -> State {
        accumulators.iter().flat_map(|accumulator| self.element(axis, accumulator)).collect()
    }

    /// Combines two partial states, the left one first. Of equal extremes, the better is the one with the lower index.
    pub(super) fn combine(&mut self, accumulators: &[Accumulator], left: &[Val], right: &[Val]) -> State {
        self.combine_by(accumulators, left, right, |_| true)
    }

    /// Combines two partial states; all elements of `left` come before those of `right`.
    pub(super) fn combine_in_order(
        &mut self,
        accumulators: &[Accumulator],
        left: &[Val],
        right: &[Val],
    ) -> State {
        self.combine_by(accumulators, left, right, |accumulator| {
            matches!(accumulator.operand, Contribution::Indexed { index: Some(_), .. })
        })
    }

    /// Combines two partial states. Indices decide between equals of the accumulators that are `by_index`.
    fn combine_by(
        &mut self,
        accumulators: &[Accumulator],
        left: &[Val],
        right: &[Val],
        by_index: impl Fn(&Accumulator) -> bool,
    ) -> State {
        let mut both = left.iter().zip(right);
        let mut combined = State::new();
        for accumulator in accumulators {
            let Some((one, two)) = both.next() else { break };
            if !has_index(accumulator) {
                combined.push(self.emit.accumulate(accumulator.op, accumulator.dtype, one, two));
                continue;
            }
            let Some((one_index, two_index)) = both.next() else { break };
            let (best, other) = ([one, one_index], [two, two_index]);
            combined.extend(self.best_of(accumulator.op, by_index(accumulator), best, other));
        }
        combined
    }

    /// Adds the elements of a range one by one, in index order.
    pub(super) fn in_order(
        &mut self,
        reduce: &Reduce,
        range: (ir::Value, ir::Value),
        begin: &[Val],
    ) -> State {
        let turn = |generator: &mut Self| generator.step_by_step(reduce, range, begin).1;
        if reduce.prologue.is_empty() {
            return turn(self);
        }
        // A sequential axis is never longer than a block.
        self.within(reduce.axis, range, |generator| {
            generator.scoped(|generator| {
                generator.body(&reduce.prologue);
                turn(generator)
            })
        })
    }

    /// Each pass over the axis has its own state, whose initial value is known before any pass has run.
    fn in_any_order(&mut self, reduce: &Reduce, start: ir::Value, end: ir::Value) -> State {
        let accumulators = &reduce.accumulators;
        if reduce.lanes == 1 {
            let begin = self.begin(accumulators, self.around(), start);
            return self.in_blocks(reduce, (start, end), &begin, |generator, range, state| {
                generator.pass(reduce, range, 1, state).1
            });
        }
        let passes = self.passes(reduce.axis, reduce.lanes);
        let mut begin = self.begin(accumulators, passes[0], start);
        let count = begin.len();
        let identities = self.identities(accumulators);
        for lanes in &passes[1..] {
            begin.extend(identities.iter().map(|value| self.emit.splat(value, *lanes)));
        }
        let state = self.in_blocks(reduce, (start, end), &begin, |generator, (mut start, end), state| {
            let mut new = State::new();
            for (index, (lanes, part)) in passes.iter().zip(state.chunks(count)).enumerate() {
                let mut part = part.to_vec();
                if index == 0 {
                    (start, part) =
                        generator.several_at_once(reduce, (start, end), *lanes, &identities, part);
                }
                let (next, part) = generator.pass(reduce, (start, end), *lanes, &part);
                start = next;
                new.extend(part);
            }
            new
        });
        let mut folded = passes.iter().zip(state.chunks(count)).map(|(lanes, part)| (*lanes, part));
        let Some((lanes, first)) = folded.next() else { return state };
        let mut result = self.fold(accumulators, first, lanes);
        for (lanes, part) in folded {
            let part = self.fold(accumulators, part, lanes);
            result = self.combine(accumulators, &result, &part);
        }
        result
    }

    /// Adds a range in steps of several vectors, each with its own state, as long as whole steps fit. A single state would
    /// wait for the result of its last addition; where elements need little computation, several states keep the machine
    /// busy, as long as there are registers for them. Returns the position where it stops.
    fn several_at_once(
        &mut self,
        reduce: &Reduce,
        (start, end): (ir::Value, ir::Value),
        lanes: usize,
        identities: &[Val],
        state: State,
    ) -> (ir::Value, State) {
        let is_short = self.is_little_work(&reduce.body);
        let registers: usize = state.iter().map(|value| value.regs.len()).sum();
        let together = (INTERLEAVED_REGISTERS / registers).clamp(1, MAX_INTERLEAVED_BLOCKS);
        // A power of two, because the numbers of lanes and registers are.
        let group = (together * lanes) as i64;
        let is_long = self.whole_extent(reduce.axis).is_none_or(|extent| extent >= group);
        // Counts start again in each pass.
        if together == 1 || !is_short || !is_long || !self.counts(reduce).is_empty() {
            return (start, state);
        }
        let length = self.ins().isub(end, start);
        let fits = self.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, length, group);
        let whole = self.ins().band_imm_s(length, -group);
        let stop = self.ins().iadd(start, whole);
        let stop = self.ins().select(fits, stop, start);
        let accumulators = &reduce.accumulators;
        let state = self.branch(
            fits,
            &state,
            |generator| {
                let mut begin = state.clone();
                for _ in 1..together {
                    begin.extend(identities.iter().map(|value| generator.emit.splat(value, lanes)));
                }
                let (_, ends) = generator.repeat(start, stop, group, &begin, |generator, at, states| {
                    let offsets = (0..group).step_by(lanes);
                    generator.parts(reduce, at, offsets, state.len(), states)
                });
                let mut parts: Vec<State> = ends.chunks(state.len()).map(<[Val]>::to_vec).collect();
                while parts.len() > 1 {
                    let pairs = parts.chunks(2);
                    parts = pairs.map(|pair| generator.combine(accumulators, &pair[0], &pair[1])).collect();
                }
                parts.remove(0)
            },
            |_| state.clone(),
        );
        (stop, state)
    }

    /// Adds a range block by block, each with its prologue, or at once if there is no prologue.
    fn in_blocks(
        &mut self,
        reduce: &Reduce,
        range: (ir::Value, ir::Value),
        begin: &[Val],
        turn: impl FnOnce(&mut Self, (ir::Value, ir::Value), &[Val]) -> State,
    ) -> State {
        if reduce.prologue.is_empty() {
            // Passes over an axis of constant length may leave nothing to those with fewer lanes.
            let aligned = match self.whole_extent(reduce.axis) {
                None => self.begin_of_lines(reduce.axis, reduce.lanes, &reduce.body),
                Some(_) => None,
            };
            return match aligned {
                Some(aligned) => self.in_two_parts(reduce.axis, aligned, begin, turn),
                None => turn(self, range, begin),
            };
        }
        let length = self.constant(BLOCK as i64);
        self.blocks(range.0, range.1, length, begin, |generator, block, state| {
            generator.within(reduce.axis, block, |generator| {
                generator.body(&reduce.prologue);
                turn(generator, block, state)
            })
        })
    }

    /// Adds a range in steps of `lanes` elements, as long as whole steps fit. Returns the position where it stops.
    ///
    /// Counts are kept in lanes as narrow as the masks, for as many steps as such lanes can hold.
    fn pass(
        &mut self,
        reduce: &Reduce,
        range: (ir::Value, ir::Value),
        lanes: usize,
        state: &[Val],
    ) -> (ir::Value, State) {
        let narrow = if lanes > 1 { self.counts(reduce) } else { Vec::new() };
        let Some(steps) = narrow.iter().map(|(_, narrow)| narrow.steps).min() else {
            return self.steps_of_lanes(reduce, range, lanes, state);
        };
        let zeros: Vec<(usize, Val)> = narrow
            .into_iter()
            .map(|(at, Narrow { dtype, .. })| {
                let zero = self.emit.constant(Scalar::I64(0).cast(dtype));
                (at, self.emit.splat(&zero, lanes))
            })
            .collect();
        let length = self.ins().isub(range.1, range.0);
        let length = self.ins().band_imm_s(length, -(lanes as i64));
        let whole = self.ins().iadd(range.0, length);
        let length = self.constant(steps * lanes as i64);
        let state = self.blocks(range.0, whole, length, state, |generator, block, state| {
            let mut begin = state.to_vec();
            zeros.iter().for_each(|(at, zero)| begin[*at] = zero.clone());
            let (_, mut new) = generator.steps_of_lanes(reduce, block, lanes, &begin);
            for (at, _) in &zeros {
                let total = &state[*at];
                let counted = generator.emit.cast(&new[*at], total.dtype);
                new[*at] = generator.emit.accumulate(ReduceOp::Sum, total.dtype, total, &counted);
            }
            new
        });
        (whole, state)
    }

    /// Returns the counts of a state, by their positions in it, with lanes as narrow as the masks.
    fn counts(&self, reduce: &Reduce) -> Vec<(usize, Narrow)> {
        let places = reduce.accumulators.iter().scan(0, |place, accumulator| {
            let at = *place;
            *place += 1 + usize::from(has_index(accumulator));
            Some((at, accumulator))
        });
        let narrow = places.filter_map(|(at, accumulator)| {
            let Contribution::Count(_) = accumulator.operand else { return None };
            Some((at, accumulator.narrow(&self.kernel.values)?))
        });
        narrow.collect()
    }

    /// Returns the value to add to an accumulator: for narrow lanes, the operand of the cast to the dtype of the sum.
    fn added(&mut self, value: ValueId, dtype: DType, lanes: DType) -> Val {
        match widened(&self.kernel.values, value) {
            Some(source) if lanes != dtype => {
                let source = self.get(source);
                self.emit.cast(&source, lanes)
            }
            _ => self.get(value),
        }
    }

    fn steps_of_lanes(
        &mut self,
        reduce: &Reduce,
        (start, end): (ir::Value, ir::Value),
        lanes: usize,
        state: &[Val],
    ) -> (ir::Value, State) {
        if lanes == 1 {
            return self.step_by_step(reduce, (start, end), state);
        }
        self.repeat(start, end, lanes as i64, state, |generator, position, state| {
            generator.at(reduce.axis, position, lanes, |generator| {
                generator.body(&reduce.body);
                generator.accumulate(reduce.axis, &reduce.accumulators, state)
            })
        })
    }

    /// Combines the lanes of a state by halves.
    pub(super) fn fold(&mut self, accumulators: &[Accumulator], state: &[Val], lanes: usize) -> State {
        if lanes == broadloom_ir::reduce::LANES && !accumulators.iter().any(has_index) {
            let values = accumulators.iter().zip(state);
            return values.map(|(accumulator, value)| self.emit.fold_halves(accumulator.op, value)).collect();
        }
        let (mut state, mut lanes) = (state.to_vec(), lanes);
        while lanes > LEAST_LANES {
            lanes /= 2;
            let [low, high] = [0, lanes].map(|first| {
                state.iter().map(|value| self.emit.lanes_slice(value, first, lanes)).collect::<State>()
            });
            state = self.combine(accumulators, &low, &high);
        }
        let mut parts: Vec<State> =
            (0..lanes).map(|lane| state.iter().map(|value| self.emit.lane(value, lane)).collect()).collect();
        while parts.len() > 1 {
            let upper = parts.split_off(parts.len() / 2);
            parts =
                parts.iter().zip(&upper).map(|(low, high)| self.combine(accumulators, low, high)).collect();
        }
        parts.swap_remove(0)
    }

    /// Reduces by the fixed tree: in index order up to the limit, otherwise by blocks.
    fn by_the_tree(&mut self, reduce: &Reduce, start: ir::Value, end: ir::Value) -> State {
        let extent = self.kernel.axes[reduce.axis.index()].extent;
        let limit = SEQUENTIAL_LIMIT as i64;
        if matches!(extent, Extent::Constant(extent) if extent > limit) {
            return self.by_blocks(reduce, start, end);
        }
        // The length of the whole axis decides, not the length of a group of it.
        let length = self.extent(extent);
        let short = self.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, length, limit);
        let like = self.begin(&reduce.accumulators, 1, start);
        self.branch(
            short,
            &like,
            |generator| {
                let begin = generator.begin(&reduce.accumulators, 1, start);
                generator.in_order(reduce, (start, end), &begin)
            },
            |generator| generator.by_blocks(reduce, start, end),
        )
    }

    /// Combines partial results of groups in index order: the upper part of the tree.
    fn by_the_counter(&mut self, reduce: &Reduce, start: ir::Value, end: ir::Value) -> State {
        let counter = self.counter(&reduce.accumulators);
        let zero = self.constant(0);
        let (count, _) = self.counted(start, end, 1, zero, |generator, position, _, count| {
            let begin = generator.begin(&reduce.accumulators, 1, start);
            let state = generator.at(reduce.axis, position, 1, |generator| {
                generator.body(&reduce.body);
                generator.accumulate(reduce.axis, &reduce.accumulators, &begin)
            });
            generator.push(&reduce.accumulators, &counter, &state, count)
        });
        self.collect(&reduce.accumulators, &counter, count)
    }
}

pub(super) fn has_index(accumulator: &Accumulator) -> bool {
    accumulator.operand.is_indexed()
}

pub(super) fn index_dtype(narrow: bool) -> DType {
    if narrow { DType::I32 } else { DType::I64 }
}
