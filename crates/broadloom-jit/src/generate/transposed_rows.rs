//! Reductions of short rows, a row for each lane: `x.sum(1)` of `x[n, 16]`. The elements of a row are contiguous, so that
//! 16 bytes of each row are loaded at once, and transposed in registers, instead of one element of each.

use super::Generator;
use super::reduce::State;
use crate::emit::{LaneStride, VECTOR_BYTES, Val};
use crate::thresholds::{LINE, ROWS_AHEAD};
use broadloom_ir::dtype::DType;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::{self, InstBuilder};
use std::collections::HashMap;

/// Arrays whose rows are transposed.
struct TransposedRows {
    loads: Vec<Load>,
    /// The number of steps of the reduction that are loaded at once.
    steps: usize,
    lanes: usize,
}

struct Load {
    value: ValueId,
    access: AccessId,
    delta: i64,
    dtype: DType,
    /// The bytes from one row to the next.
    apart: ir::Value,
}

impl Generator<'_, '_, '_> {
    /// Adds the elements of a range in index order. Those of rows that are transposed are loaded several at once.
    pub(super) fn step_by_step(
        &mut self,
        reduce: &Reduce,
        (mut start, end): (ir::Value, ir::Value),
        begin: &[Val],
    ) -> (ir::Value, State) {
        let mut state = begin.to_vec();
        if let Some(transposed) = self.transposed_rows(reduce) {
            (start, state) = self.transposed_steps(reduce, &transposed, (start, end), &state);
        }
        self.repeat(start, end, 1, &state, |generator, position, state| {
            generator.at(reduce.axis, position, 1, |generator| {
                generator.body(&reduce.body);
                generator.accumulate(reduce.axis, &reduce.accumulators, state)
            })
        })
    }

    /// Returns the arrays of a reduction whose rows are transposed, if there are any and the vector loop has lanes for a register.
    fn transposed_rows(&mut self, reduce: &Reduce) -> Option<TransposedRows> {
        let (_, lanes) = self.vector?;
        let mut loads = Vec::new();
        for &value in &reduce.transposed {
            let Def::Load { access, delta } = self.kernel.values[value.index()].def else { continue };
            let apart = match self.lane_stride(access)? {
                (_, LaneStride::Bytes(bytes)) => self.constant(bytes),
                (_, LaneStride::Dynamic(bytes)) => bytes,
                (_, LaneStride::Unit) => continue,
            };
            let dtype = self.kernel.accesses[access.index()].dtype;
            loads.push(Load { value, access, delta, dtype, apart });
        }
        let size = loads.first()?.dtype.size();
        let steps = VECTOR_BYTES / size;
        (lanes * size >= VECTOR_BYTES).then_some(TransposedRows { loads, steps, lanes })
    }

    /// Adds as many steps as whole parts of rows have, and returns the position after them.
    fn transposed_steps(
        &mut self,
        reduce: &Reduce,
        transposed: &TransposedRows,
        (start, end): (ir::Value, ir::Value),
        state: &[Val],
    ) -> (ir::Value, State) {
        self.repeat(start, end, transposed.steps as i64, state, |generator, position, state| {
            let loaded: Vec<Vec<Val>> = transposed
                .loads
                .iter()
                .map(|load| {
                    let first = generator
                        .at(reduce.axis, position, 1, |generator| generator.address(load.access, load.delta));
                    let addresses = generator.every(first, load.apart, transposed.lanes);
                    generator.prefetch_rows(reduce.axis, transposed, load, (position, first));
                    generator.emit.load_transposed(&addresses, load.dtype)
                })
                .collect();
            (0..transposed.steps).fold(state.to_vec(), |state, step| {
                let held = transposed.loads.iter().zip(&loaded);
                let held: HashMap<ValueId, &Val> =
                    held.map(|(load, loaded)| (load.value, &loaded[step])).collect();
                let position = generator.ins().iadd_imm_s(position, step as i64);
                generator.at(reduce.axis, position, 1, |generator| {
                    for stmt in &reduce.body {
                        let Stmt::Let(id) = stmt else { continue };
                        let value = held.get(id).map(|value| (*value).clone());
                        let value = value.unwrap_or_else(|| generator.value(*id));
                        generator.env.insert(*id, value);
                    }
                    generator.accumulate(reduce.axis, &reduce.accumulators, &state)
                })
            })
        })
    }

    /// Prefetches rows of later steps of the vector loop, each line once: the steps that are loaded at once take turns.
    fn prefetch_rows(
        &mut self,
        axis: AxisId,
        transposed: &TransposedRows,
        load: &Load,
        (position, first): (ir::Value, ir::Value),
    ) {
        let TransposedRows { steps, lanes, .. } = *transposed;
        let shortest = steps as i64;
        let extent = self.whole_extent(axis).unwrap_or(shortest).max(shortest);
        let bytes = extent.saturating_mul((load.dtype.size() * lanes) as i64);
        let vectors = (ROWS_AHEAD / bytes).max(1);
        let turns = LINE / VECTOR_BYTES;
        let rows = lanes.div_ceil(turns);
        let turn = self.ins().ushr_imm_u(position, i64::from(steps.trailing_zeros()));
        let turn = self.ins().band_imm_u(turn, turns as i64 - 1);
        let row = self.scaled(turn, rows as i64);
        let row = self.ins().iadd_imm_s(row, vectors * lanes as i64);
        let offset = self.ins().imul(row, load.apart);
        let start = self.ins().iadd(first, offset);
        for address in self.every(start, load.apart, rows) {
            self.emit.prefetch(address);
        }
    }
}
