//! Reductions into rows: the reduction axis outside, the strip of the axis around it inside.

use super::Generator;
use crate::emit::{LaneStride, Val};
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::{BLOCK, LANES, SEQUENTIAL_LIMIT};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

impl Generator<'_, '_, '_> {
    pub(super) fn stream(&mut self, stream: &Stream) {
        let (start, end) = self.bounds(stream.axis);
        match stream.order {
            Order::Tree => self.stream_by_the_tree(stream, start, end),
            Order::Blocks => self.stream_by_blocks(stream, start, end),
            Order::Free | Order::Sequential | Order::Counter => self.stream_in_order(stream, start, end),
        }
        for entry in &stream.accumulators {
            let op = entry.accumulator.op;
            match entry.state[..] {
                [_, index] => {
                    self.each(stream, index, entry.target, |generator, index| {
                        generator.emit.cast(index, DType::I64)
                    });
                }
                _ => self
                    .each(stream, entry.target, entry.target, |generator, value| generator.finish(op, value)),
            }
        }
    }

    /// All rows set to the identity, then element by element.
    fn stream_in_order(&mut self, stream: &Stream, start: ir::Value, end: ir::Value) {
        self.clear(stream, start);
        let mut next = start;
        for steps in turns(stream) {
            next = self
                .repeat(next, end, steps, &[], |generator, first, _| {
                    let targets = generator.starts(stream, |generator, entry| {
                        entry.state.iter().map(|row| generator.row_start(*row)).collect()
                    });
                    generator.step(stream, (first, steps, 1), &targets);
                    Vec::new()
                })
                .0;
        }
    }

    /// Where the rows of every accumulator start.
    fn starts(
        &mut self,
        stream: &Stream,
        rows: impl Fn(&mut Self, &StreamAccumulator) -> Vec<ir::Value>,
    ) -> Vec<Vec<ir::Value>> {
        stream.accumulators.iter().map(|entry| rows(self, entry)).collect()
    }

    fn stream_by_the_tree(&mut self, stream: &Stream, start: ir::Value, end: ir::Value) {
        let extent = self.kernel.axes[stream.axis.index()].extent;
        let limit = SEQUENTIAL_LIMIT as i64;
        if matches!(extent, Extent::Constant(extent) if extent > limit) {
            return self.stream_by_blocks(stream, start, end);
        }
        // The length of the whole axis decides, not that of a group of it.
        let length = self.extent(extent);
        let short = self.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, length, limit);
        self.branch(
            short,
            &[],
            |generator| {
                generator.stream_in_order(stream, start, end);
                Vec::new()
            },
            |generator| {
                generator.stream_by_blocks(stream, start, end);
                Vec::new()
            },
        );
    }

    fn stream_by_blocks(&mut self, stream: &Stream, start: ir::Value, end: ir::Value) {
        self.clear(stream, start);
        let zero = self.constant(0);
        let (count, _) = self.counted(start, end, BLOCK as i64, zero, |generator, first, last, count| {
            for entry in &stream.accumulators {
                for lane in 0..entry.tree.map_or(0, |_| LANES) {
                    if let Some(tree) = entry.tree {
                        let row = generator.row_at(tree.lanes, lane);
                        generator.fill(stream, &entry.accumulator, &[row], start);
                    }
                }
            }
            generator.deal(stream, first, last);
            for entry in &stream.accumulators {
                if let Some(tree) = entry.tree {
                    generator.fold_rows(stream, entry, tree.lanes);
                    generator.push_row(stream, entry, tree, count);
                }
            }
            generator.ins().iadd_imm_s(count, 1)
        });
        for entry in &stream.accumulators {
            if let Some(tree) = entry.tree {
                self.collect_rows(stream, entry, tree.ranks, count);
            }
        }
    }

    /// The elements of a block onto its lanes. While `steps` of every lane are left, a lane takes as many at once: its
    /// row is loaded and stored once for all of them.
    fn deal(&mut self, stream: &Stream, first: ir::Value, last: ir::Value) {
        let lanes = LANES as i64;
        let onto_lane = |generator: &mut Self, position: ir::Value, steps: i64| {
            let local = generator.ins().isub(position, first);
            let lane = generator.ins().band_imm_u(local, lanes - 1);
            let targets = generator.starts(stream, |generator, entry| match entry.tree {
                Some(tree) => vec![generator.row_of(tree.lanes, lane)],
                None => entry.state.iter().map(|row| generator.row_start(*row)).collect(),
            });
            generator.step(stream, (position, steps, lanes), &targets);
            Vec::new()
        };
        let mut next = first;
        for steps in turns(stream) {
            let group = if steps > 1 { lanes * steps } else { 1 };
            next = self
                .repeat(next, last, group, &[], |generator, start, _| {
                    if steps == 1 {
                        return onto_lane(generator, start, 1);
                    }
                    let end = generator.ins().iadd_imm_s(start, lanes);
                    generator
                        .repeat(start, end, 1, &[], |generator, position, _| {
                            onto_lane(generator, position, steps)
                        })
                        .1
                })
                .0;
        }
    }

    /// As many steps of the reduction axis, so far apart, from a position on: every element of the strip onto the
    /// rows that start at `targets`.
    fn step(
        &mut self,
        stream: &Stream,
        (first, steps, apart): (ir::Value, i64, i64),
        targets: &[Vec<ir::Value>],
    ) {
        let outer = self.env.clone();
        let mut around = Vec::new();
        for step in 0..steps {
            let position = self.ins().iadd_imm_s(first, step * apart);
            self.at(stream.axis, position, 1, |generator| {
                generator.body(&stream.per_step);
                generator.body(&stream.prologue);
            });
            around.push((position, std::mem::replace(&mut self.env, outer.clone())));
        }
        let accumulators: Vec<Accumulator> =
            stream.accumulators.iter().map(|entry| entry.accumulator.clone()).collect();
        let targets: Vec<ir::Value> = targets.concat();
        self.steps(stream.strip, stream.lanes, |generator| {
            let lanes = generator.lanes_along(Some(stream.strip));
            let zero = generator.constant(0);
            // The shapes of the state; the values are dead code.
            let like = generator.begin(&accumulators, 1, zero);
            let addresses: Vec<ir::Value> = like
                .iter()
                .zip(&targets)
                .map(|(like, target)| generator.row_element(*target, like.dtype, stream.strip))
                .collect();
            let mut state: Vec<Val> = like
                .iter()
                .zip(&addresses)
                .map(|(like, address)| generator.emit.load(*address, 0, like.dtype, lanes, LaneStride::Unit))
                .collect();
            for (position, env) in &around {
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
        });
        self.env = outer;
    }

    /// Sets the rows of all accumulators to the state before the first element.
    fn clear(&mut self, stream: &Stream, first: ir::Value) {
        for entry in &stream.accumulators {
            let rows: Vec<ir::Value> = entry.state.iter().map(|row| self.row_start(*row)).collect();
            self.fill(stream, &entry.accumulator, &rows, first);
        }
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
        self.steps(stream.strip, stream.lanes, |generator| {
            let lanes = generator.lanes_along(Some(stream.strip));
            body(generator, lanes);
        });
    }

    /// `target[j] = change(source[j])` over the strip.
    fn each(
        &mut self,
        stream: &Stream,
        source: RowId,
        target: RowId,
        mut change: impl FnMut(&mut Self, &Val) -> Val,
    ) {
        let (from, to) = (self.row_start(source), self.row_start(target));
        let (from_dtype, to_dtype) =
            (self.kernel.rows[source.index()].dtype, self.kernel.rows[target.index()].dtype);
        self.over_strip(stream, |generator, lanes| {
            let address = generator.row_element(from, from_dtype, stream.strip);
            let value = generator.emit.load(address, 0, from_dtype, lanes, LaneStride::Unit);
            let value = change(generator, &value);
            let address = generator.row_element(to, to_dtype, stream.strip);
            generator.emit.store(address, 0, &value, LaneStride::Unit);
        });
    }

    fn each_at(
        &mut self,
        stream: &Stream,
        dtype: DType,
        sources: &[ir::Value],
        combine: &mut dyn FnMut(&mut Self, &[Val]) -> Val,
        target: ir::Value,
    ) {
        self.over_strip(stream, |generator, lanes| {
            let values: Vec<Val> = sources
                .iter()
                .map(|source| {
                    let address = generator.row_element(*source, dtype, stream.strip);
                    generator.emit.load(address, 0, dtype, lanes, LaneStride::Unit)
                })
                .collect();
            let value = combine(generator, &values);
            let address = generator.row_element(target, dtype, stream.strip);
            generator.emit.store(address, 0, &value, LaneStride::Unit);
        });
    }

    /// Combines two rows, the elements of the first before those of the second.
    fn combine_rows(
        &mut self,
        stream: &Stream,
        entry: &StreamAccumulator,
        left: ir::Value,
        right: ir::Value,
        target: ir::Value,
    ) {
        let accumulator = &entry.accumulator;
        let mut combine = |generator: &mut Self, rows: &[Val]| {
            generator.emit.accumulate(accumulator.op, accumulator.dtype, &rows[0], &rows[1])
        };
        self.each_at(stream, accumulator.dtype, &[left, right], &mut combine, target);
    }

    /// The start of the row of a number that is known at run time.
    fn row_of(&mut self, row: RowId, index: ir::Value) -> ir::Value {
        let entry = &self.kernel.rows[row.index()];
        let bytes = (entry.length * entry.dtype.size()) as i64;
        let start = self.row_start(row);
        let offset = self.ins().imul_imm_s(index, bytes);
        self.ins().iadd(start, offset)
    }

    /// The lanes of a block combined by halves, into the first.
    fn fold_rows(&mut self, stream: &Stream, entry: &StreamAccumulator, lanes: RowId) {
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                let (low, high) = (self.row_at(lanes, lane), self.row_at(lanes, lane + half));
                self.combine_rows(stream, entry, low, high, low);
            }
            half /= 2;
        }
    }

    /// Adds the block result in the first lane to the counter.
    fn push_row(&mut self, stream: &Stream, entry: &StreamAccumulator, tree: StreamTree, count: ir::Value) {
        let StreamTree { lanes, ranks } = tree;
        let result = self.row_at(lanes, 0);
        let zero = self.constant(0);
        let merged = self.loop_while(
            &[count, zero],
            &[],
            |generator, state| {
                let odd = generator.ins().band_imm_u(state[0], 1);
                generator.ins().icmp_imm_s(IntCC::NotEqual, odd, 0)
            },
            |generator, state, _| {
                let older = generator.row_of(ranks, state[1]);
                generator.combine_rows(stream, entry, older, result, result);
                let rest = generator.ins().ushr_imm_u(state[0], 1);
                (vec![rest, generator.ins().iadd_imm_s(state[1], 1)], Vec::new())
            },
        );
        let target = self.row_of(ranks, merged.state[1]);
        let dtype = entry.accumulator.dtype;
        self.each_at(stream, dtype, &[result], &mut |_, rows| rows[0].clone(), target);
    }

    /// What the counter holds in the end, from right to left, onto the target row.
    fn collect_rows(&mut self, stream: &Stream, entry: &StreamAccumulator, ranks: RowId, count: ir::Value) {
        let target = self.row_start(entry.target);
        let zero = self.constant(0);
        self.loop_while(
            &[count, zero],
            &[],
            |generator, state| generator.ins().icmp_imm_s(IntCC::NotEqual, state[0], 0),
            |generator, state, _| {
                let odd = generator.ins().band_imm_u(state[0], 1);
                let odd = generator.ins().icmp_imm_s(IntCC::NotEqual, odd, 0);
                generator.branch(
                    odd,
                    &[],
                    |generator| {
                        let older = generator.row_of(ranks, state[1]);
                        generator.combine_rows(stream, entry, older, target, target);
                        Vec::new()
                    },
                    |_| Vec::new(),
                );
                let rest = generator.ins().ushr_imm_u(state[0], 1);
                (vec![rest, generator.ins().iadd_imm_s(state[1], 1)], Vec::new())
            },
        );
    }
}

/// How many steps of the reduction axis are taken at once, and then, for what remains, one.
fn turns(stream: &Stream) -> impl Iterator<Item = i64> + use<> {
    [stream.steps as i64, 1].into_iter().skip(usize::from(stream.steps == 1))
}
