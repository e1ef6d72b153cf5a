//! Reductions into rows: the reduction axis outside, the strip of the axis around it inside.

use super::Generator;
use crate::emit::{LaneStride, Val};
use broadloom_ir::reduce::{BLOCK, LANES, SEQUENTIAL_LIMIT};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

impl Generator<'_, '_, '_> {
    pub(super) fn stream(&mut self, stream: &Stream) {
        let (start, end) = self.bounds(stream.axis);
        if stream.order == Order::Tree {
            self.stream_by_the_tree(stream, start, end);
        } else {
            self.stream_in_order(stream, start, end);
        }
        for entry in &stream.accumulators {
            let op = entry.accumulator.op;
            self.each(stream, &[entry.target], |generator, row| generator.finish(op, &row[0]), entry.target);
        }
    }

    /// All rows of the target set to the identity, then element by element.
    fn stream_in_order(&mut self, stream: &Stream, start: ir::Value, end: ir::Value) {
        self.clear(stream);
        self.repeat(start, end, 1, &[], |generator, position, _| {
            let targets: Vec<ir::Value> =
                stream.accumulators.iter().map(|entry| generator.row_start(entry.target)).collect();
            generator.step(stream, position, &targets);
            Vec::new()
        });
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
        let zero = self.constant(0);
        let (count, _) = self.counted(start, end, BLOCK as i64, zero, |generator, first, last, count| {
            for entry in &stream.accumulators {
                if let Some(lanes) = entry.lanes {
                    for lane in 0..LANES {
                        let row = generator.row_at(lanes, lane);
                        generator.fill(stream, row, entry);
                    }
                }
            }
            generator.repeat(first, last, 1, &[], |generator, position, _| {
                let local = generator.ins().isub(position, first);
                let lane = generator.ins().band_imm_u(local, LANES as i64 - 1);
                let targets: Vec<ir::Value> = stream
                    .accumulators
                    .iter()
                    .map(|entry| generator.row_of(entry.lanes.unwrap_or(entry.target), lane))
                    .collect();
                generator.step(stream, position, &targets);
                Vec::new()
            });
            for entry in &stream.accumulators {
                if let (Some(lanes), Some(ranks)) = (entry.lanes, entry.ranks) {
                    generator.fold_rows(stream, entry, lanes);
                    generator.push_row(stream, entry, lanes, ranks, count);
                }
            }
            generator.ins().iadd_imm_s(count, 1)
        });
        self.clear(stream);
        for entry in &stream.accumulators {
            if let Some(ranks) = entry.ranks {
                self.collect_rows(stream, entry, ranks, count);
            }
        }
    }

    /// One step of the reduction axis: every element of the strip onto the rows that start at `targets`.
    fn step(&mut self, stream: &Stream, position: ir::Value, targets: &[ir::Value]) {
        self.at(stream.axis, position, 1, |generator| {
            generator.scoped(|generator| {
                generator.body(&stream.per_step);
                generator.body(&stream.prologue);
                generator.steps(stream.strip, stream.lanes, |generator| {
                    generator.scoped(|generator| {
                        generator.body(&stream.body);
                        for (entry, target) in stream.accumulators.iter().zip(targets) {
                            let accumulator = std::slice::from_ref(&entry.accumulator);
                            let dtype = entry.accumulator.dtype;
                            let lanes = generator.lanes_along(Some(stream.strip));
                            let address = generator.row_element(*target, dtype, stream.strip);
                            let old = generator.emit.load(address, 0, dtype, lanes, LaneStride::Unit);
                            let new = generator.accumulate(stream.axis, accumulator, &[old]);
                            let new = generator.emit.splat(&new[0], lanes);
                            generator.emit.store(address, 0, &new, LaneStride::Unit);
                        }
                    });
                });
            });
        });
    }

    /// Sets the target rows to the identity.
    fn clear(&mut self, stream: &Stream) {
        for entry in &stream.accumulators {
            let row = self.row_start(entry.target);
            self.fill(stream, row, entry);
        }
    }

    fn fill(&mut self, stream: &Stream, row: ir::Value, entry: &StreamAccumulator) {
        let accumulator = &entry.accumulator;
        self.over_strip(stream, |generator, lanes| {
            let identity = generator.emit.constant(accumulator.op.identity(accumulator.dtype));
            let identity = generator.emit.splat(&identity, lanes);
            let address = generator.row_element(row, accumulator.dtype, stream.strip);
            generator.emit.store(address, 0, &identity, LaneStride::Unit);
        });
    }

    fn over_strip(&mut self, stream: &Stream, mut body: impl FnMut(&mut Self, usize)) {
        self.steps(stream.strip, stream.lanes, |generator| {
            let lanes = generator.lanes_along(Some(stream.strip));
            body(generator, lanes);
        });
    }

    /// `target[j] = combine(sources[..][j])` over the strip.
    fn each(
        &mut self,
        stream: &Stream,
        sources: &[RowId],
        mut combine: impl FnMut(&mut Self, &[Val]) -> Val,
        target: RowId,
    ) {
        let starts: Vec<ir::Value> = sources.iter().map(|row| self.row_start(*row)).collect();
        let target_start = self.row_start(target);
        let dtype = self.kernel.rows[target.index()].dtype;
        self.each_at(stream, dtype, &starts, &mut combine, target_start);
    }

    fn each_at(
        &mut self,
        stream: &Stream,
        dtype: broadloom_ir::dtype::DType,
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
        let mut combine =
            |generator: &mut Self, rows: &[Val]| generator.emit.accumulate(accumulator.op, accumulator.dtype, &rows[0], &rows[1]);
        self.each_at(stream, accumulator.dtype, &[left, right], &mut combine, target);
    }

    /// The start of one of several rows.
    fn row_at(&mut self, row: RowId, index: usize) -> ir::Value {
        let index = self.constant(index as i64);
        self.row_of(row, index)
    }

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
    fn push_row(&mut self, stream: &Stream, entry: &StreamAccumulator, lanes: RowId, ranks: RowId, count: ir::Value) {
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
