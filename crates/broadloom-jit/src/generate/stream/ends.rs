//! The parts of a reduction into scratch rows before its steps, after each block of steps, and at the end.
//!
//! These parts walk over whole scratch rows once for many steps, so short code matters more than speed: one loop for all
//! accumulators of a kind, and few lanes at a time where rows do not end with whole vectors.

use super::{Generator, Lanes};
use crate::emit::{LaneStride, Val};
use crate::thresholds::{FEW_LANES, WORTH_A_LOOP};
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::LANES;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

/// Accumulators of one kind whose rows start at equal distances.
struct Alike<'s> {
    entries: &'s [StreamAccumulator],
    /// The number of bytes from the rows of one to the rows of the next.
    apart: Option<Apart>,
}

/// The number of bytes between the rows of two accumulators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Apart {
    state: i64,
    lanes: i64,
    ranks: i64,
}

/// The starts of the rows of an accumulator. Without blocks, there are no lanes and ranks.
#[derive(Clone, Copy)]
struct Begins {
    state: ir::Value,
    lanes: ir::Value,
    ranks: ir::Value,
}

impl Generator<'_, '_, '_> {
    /// Sets the rows of all accumulators to the state before the first element.
    pub(super) fn clear(&mut self, stream: &Stream, first: ir::Value) {
        self.for_alike(
            stream,
            |_| true,
            |generator, entry, begins| {
                let mut rows = vec![begins.state];
                rows.extend(entry.state[1..].iter().map(|row| generator.row_start(*row)));
                generator.fill(stream, &entry.accumulator, &rows, first);
            },
        );
    }

    /// Sets the lanes of a block to the state before the first element.
    pub(super) fn clear_lanes(&mut self, stream: &Stream, lanes: &Lanes, first: ir::Value) {
        self.for_trees(stream, |generator, entry, tree, begins| {
            let bytes = generator.lane_bytes(lanes, tree.lanes);
            let all = generator.ins().imul_imm_s(bytes, LANES as i64);
            let end = generator.ins().iadd(begins.lanes, all);
            let bytes = generator.ins().imul(bytes, lanes.at_once);
            generator.loop_while(
                &[begins.lanes],
                &[],
                |generator, state| generator.ins().icmp(IntCC::UnsignedLessThan, state[0], end),
                |generator, state, _| {
                    generator.over_rows(stream, lanes, lanes.at_once, |generator| {
                        generator.fill(stream, &entry.accumulator, &[state[0]], first);
                    });
                    (vec![generator.ins().iadd(state[0], bytes)], Vec::new())
                },
            );
        });
    }

    /// Adds the results of a block to the counters.
    pub(super) fn count_block(&mut self, stream: &Stream, lanes: &Lanes, count: ir::Value) {
        self.for_trees(stream, |generator, entry, tree, begins| {
            let bytes = generator.lane_bytes(lanes, tree.lanes);
            generator.fold_lane_rows(stream, entry, begins.lanes, bytes);
            generator.push_row(stream, entry, tree, begins, count);
        });
    }

    /// Adds the content of the counters to the state at the end, from right to left.
    pub(super) fn collect_rows(&mut self, stream: &Stream, count: ir::Value) {
        self.for_trees(stream, |generator, entry, tree, begins| {
            generator.merging_held_ranks(count, &[], |generator, rank, _| {
                let older = generator.rank(tree, begins, rank);
                generator.combine_rows(stream, entry, older, begins.state, begins.state);
                Vec::new()
            });
        });
    }

    /// Turns the states of all accumulators into their results.
    pub(super) fn finish_rows(&mut self, stream: &Stream) {
        let is_due = |entry: &StreamAccumulator| {
            let Accumulator { op, dtype, .. } = entry.accumulator;
            entry.state.len() > 1 || op.finish(dtype).is_some()
        };
        self.for_alike(stream, is_due, |generator, entry, begins| {
            let Accumulator { op, dtype, .. } = entry.accumulator;
            match entry.state[..] {
                [_, index] => {
                    let (from, to) = (generator.row_start(index), generator.row_start(entry.target));
                    let dtype = generator.kernel.rows[index.index()].dtype;
                    generator.each(stream, dtype, &[from], to, |generator, index| {
                        generator.emit.cast(&index[0], DType::I64)
                    });
                }
                _ => generator.each(stream, dtype, &[begins.state], begins.state, |generator, value| {
                    generator.finish(op, &value[0])
                }),
            }
        });
    }

    /// Emits code for every accumulator that needs it: one loop for those of a kind, if there are several.
    fn for_alike(
        &mut self,
        stream: &Stream,
        is_due: impl Fn(&StreamAccumulator) -> bool,
        mut emit: impl FnMut(&mut Self, &StreamAccumulator, Begins),
    ) {
        let mut rest = &stream.accumulators[..];
        while let Some(alike) = self.first_alike(rest) {
            rest = &rest[alike.entries.len()..];
            let first = &alike.entries[0];
            if !is_due(first) {
                continue;
            }
            let begins = self.begins(first);
            let Some(apart) = alike.apart else {
                emit(self, first, begins);
                continue;
            };
            let many = self.constant(alike.entries.len() as i64);
            let zero = self.constant(0);
            self.repeat(zero, many, 1, &[], |generator, index, _| {
                let mut moved = |start: ir::Value, apart: i64| {
                    let offset = generator.ins().imul_imm_s(index, apart);
                    generator.ins().iadd(start, offset)
                };
                let state = moved(begins.state, apart.state);
                let lanes = moved(begins.lanes, apart.lanes);
                let ranks = moved(begins.ranks, apart.ranks);
                emit(generator, first, Begins { state, lanes, ranks });
                Vec::new()
            });
        }
    }

    /// Does the same for accumulators that add by blocks.
    fn for_trees(
        &mut self,
        stream: &Stream,
        mut emit: impl FnMut(&mut Self, &StreamAccumulator, StreamTree, Begins),
    ) {
        let has_tree = |entry: &StreamAccumulator| entry.tree.is_some();
        self.for_alike(stream, has_tree, |generator, entry, begins| {
            if let Some(tree) = entry.tree {
                emit(generator, entry, tree, begins);
            }
        });
    }

    /// Returns the first accumulators that share code.
    fn first_alike<'s>(&self, entries: &'s [StreamAccumulator]) -> Option<Alike<'s>> {
        let first = entries.first()?;
        let apart = entries.get(1).and_then(|second| self.apart(first, second));
        let mut count = 1;
        while apart.is_some()
            && entries.get(count).is_some_and(|next| self.apart(&entries[count - 1], next) == apart)
        {
            count += 1;
        }
        let (count, apart) = if count < WORTH_A_LOOP { (1, None) } else { (count, apart) };
        Some(Alike { entries: &entries[..count], apart })
    }

    /// Returns the distance between the rows of two accumulators, if they are of one kind.
    fn apart(&self, one: &StreamAccumulator, other: &StreamAccumulator) -> Option<Apart> {
        let (a, b) = (&one.accumulator, &other.accumulator);
        let (&[from], &[to]) = (&one.state[..], &other.state[..]) else { return None };
        let between = |from: RowId, to: RowId| {
            let [from, to] = [from, to].map(|row| &self.kernel.rows[row.index()]);
            (from.length == to.length).then(|| to.offset as i64 - from.offset as i64)
        };
        if (a.op, a.dtype) != (b.op, b.dtype) {
            return None;
        }
        let (lanes, ranks) = match (one.tree, other.tree) {
            (None, None) => (0, 0),
            (Some(one), Some(other)) => (between(one.lanes, other.lanes)?, between(one.ranks, other.ranks)?),
            _ => return None,
        };
        Some(Apart { state: between(from, to)?, lanes, ranks })
    }

    fn begins(&mut self, entry: &StreamAccumulator) -> Begins {
        let state = self.row_start(entry.state[0]);
        let [lanes, ranks] = match entry.tree {
            Some(tree) => [tree.lanes, tree.ranks].map(|row| self.row_start(row)),
            None => [state, state],
        };
        Begins { state, lanes, ranks }
    }

    fn fill(&mut self, stream: &Stream, accumulator: &Accumulator, rows: &[ir::Value], first: ir::Value) {
        self.over_strip(stream, |generator, lanes| {
            let begin = generator.begin(std::slice::from_ref(accumulator), lanes, first);
            for (row, value) in rows.iter().zip(begin) {
                let address = generator.row_element(*row, value.dtype, stream.strip);
                generator.emit.store(address, 0, &value, LaneStride::Unit);
            }
        });
    }

    fn over_strip(&mut self, stream: &Stream, mut body: impl FnMut(&mut Self, usize)) {
        if stream.padded {
            let (first, last) = self.bounds(stream.strip);
            let lanes = self.constant(stream.lanes as i64);
            self.through([first, last, lanes], |generator, position| {
                generator.at(stream.strip, position, stream.lanes, |generator| body(generator, stream.lanes));
            });
            return;
        }
        self.steps(stream.strip, &[stream.lanes.min(FEW_LANES)], |generator| {
            let lanes = generator.lanes_along(Some(stream.strip));
            body(generator, lanes);
        });
    }

    /// Emits `target[j] = change(sources[0][j], ..)` over the strip.
    fn each(
        &mut self,
        stream: &Stream,
        dtype: DType,
        sources: &[ir::Value],
        target: ir::Value,
        mut change: impl FnMut(&mut Self, &[Val]) -> Val,
    ) {
        self.over_strip(stream, |generator, lanes| {
            let mut load = |source: &ir::Value| {
                let address = generator.row_element(*source, dtype, stream.strip);
                generator.emit.load(address, 0, dtype, lanes, LaneStride::Unit)
            };
            let values: Vec<Val> = sources.iter().map(&mut load).collect();
            let value = change(generator, &values);
            let address = generator.row_element(target, value.dtype, stream.strip);
            generator.emit.store(address, 0, &value, LaneStride::Unit);
        });
    }

    /// Combines two rows; the elements of the first come before those of the second.
    fn combine_rows(
        &mut self,
        stream: &Stream,
        entry: &StreamAccumulator,
        left: ir::Value,
        right: ir::Value,
        target: ir::Value,
    ) {
        let Accumulator { op, dtype, .. } = entry.accumulator;
        self.each(stream, dtype, &[left, right], target, |generator, rows| {
            generator.emit.accumulate(op, dtype, &rows[0], &rows[1])
        });
    }

    /// Returns the start of the row of a rank that is known at run time.
    fn rank(&mut self, tree: StreamTree, begins: Begins, rank: ir::Value) -> ir::Value {
        let bytes = self.row_bytes(tree.ranks);
        let offset = self.ins().imul_imm_s(rank, bytes);
        self.ins().iadd(begins.ranks, offset)
    }

    /// Combines the lanes of a block, which are `bytes` apart, by halves into the first.
    fn fold_lane_rows(
        &mut self,
        stream: &Stream,
        entry: &StreamAccumulator,
        lanes: ir::Value,
        bytes: ir::Value,
    ) {
        let Accumulator { op, dtype, .. } = entry.accumulator;
        self.over_strip(stream, |generator, count| {
            let first = generator.row_element(lanes, dtype, stream.strip);
            let load = |generator: &mut Self, lane: usize| {
                let offset = generator.ins().imul_imm_s(bytes, lane as i64);
                let address = generator.ins().iadd(first, offset);
                generator.emit.load(address, 0, dtype, count, LaneStride::Unit)
            };
            let value = generator.fold_lanes((op, dtype), (0, 1), LANES, &load);
            generator.emit.store(first, 0, &value, LaneStride::Unit);
        });
    }

    /// Adds the result of a block, which is in the first lane, to the counter.
    fn push_row(
        &mut self,
        stream: &Stream,
        entry: &StreamAccumulator,
        tree: StreamTree,
        begins: Begins,
        count: ir::Value,
    ) {
        let result = begins.lanes;
        let (rank, _) = self.merging_ranks(count, &[], |generator, rank, _| {
            let older = generator.rank(tree, begins, rank);
            generator.combine_rows(stream, entry, older, result, result);
            Vec::new()
        });
        let target = self.rank(tree, begins, rank);
        let dtype = entry.accumulator.dtype;
        self.each(stream, dtype, &[result], target, |_, rows| rows[0].clone());
    }
}
