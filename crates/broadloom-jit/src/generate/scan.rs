//! Scans along a strip.

use super::Generator;
use super::polls::STRIP;
use crate::emit::{LaneStride, Val};
use broadloom_ir::reduce::ReduceOp;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::{self, InstBuilder};
use smallvec::SmallVec;

/// The number of rows scanned at once: enough independent additions to hide the latency of one.
const ROWS_AT_ONCE: usize = 4;

impl Generator<'_, '_, '_> {
    /// Writes the only element of a row.
    pub(super) fn begin_scan(&mut self, row: RowId, value: ValueId) {
        let (value, address) = (self.get(value), self.row_start(row));
        self.emit.store(address, 0, &value, LaneStride::Unit);
    }

    /// Combines the elements of a strip one after the other, for several rows. The last results stay in registers.
    pub(super) fn scan(
        &mut self,
        op: ReduceOp,
        operands: [Operand; 2],
        state: RowId,
        axis: AxisId,
        rows: Option<AxisId>,
    ) {
        let Some(rows) = rows else {
            let address = self.row_start(state);
            let row = Running { address, operands: self.starts(operands, axis) };
            return self.run_along(op, state, axis, &[row]);
        };
        let (mut first, last) = self.bounds(rows);
        for count in [ROWS_AT_ONCE, 1] {
            let (next, _) = self.repeat(first, last, count as i64, &[], |generator, position, _| {
                let mut some = SmallVec::<[Running; ROWS_AT_ONCE]>::new();
                for row in 0..count {
                    let position = generator.ins().iadd_imm_s(position, row as i64);
                    some.push(generator.at(rows, position, 1, |generator| Running {
                        address: generator.row_address(state, rows),
                        operands: generator.starts(operands, axis),
                    }));
                }
                generator.run_along(op, state, axis, &some);
                Vec::new()
            });
            first = next;
        }
    }

    fn starts(&mut self, operands: [Operand; 2], axis: AxisId) -> [ir::Value; 2] {
        operands.map(|operand| self.operand(operand, axis))
    }

    /// Scans along the strip of an axis, several rows at once.
    fn run_along(&mut self, op: ReduceOp, state: RowId, axis: AxisId, rows: &[Running]) {
        let dtype = self.kernel.rows[state.index()].dtype;
        let (start, end) = self.bounds(axis);
        let load =
            |generator: &mut Self, address| generator.emit.load(address, 0, dtype, 1, LaneStride::Unit);
        let before: Vec<Val> = rows.iter().map(|row| load(self, row.address)).collect();
        let length = self.ins().isub(end, start);
        let first = self.constant(0);
        let step = |generator: &mut Self, position: ir::Value, carried: &[Val]| {
            let offset = generator.scaled(position, dtype.size() as i64);
            let mut next = Vec::with_capacity(rows.len());
            for (row, before) in rows.iter().zip(carried) {
                let [target, source] = row.operands.map(|start| generator.ins().iadd(start, offset));
                let element = load(generator, source);
                let result = generator.emit.op(op.combine(), &[before.clone(), element]);
                generator.emit.store(target, 0, &result, LaneStride::Unit);
                next.push(result);
            }
            next
        };
        let (_, carried) =
            self.without_looks(STRIP, |generator| generator.repeat(first, length, 1, &before, step));
        for (row, last) in rows.iter().zip(&carried) {
            self.emit.store(row.address, 0, last, LaneStride::Unit);
        }
    }
}

/// One of the scanned rows.
struct Running {
    /// The address of the last result so far.
    address: ir::Value,
    /// The start of the strip in the target and in the source.
    operands: [ir::Value; 2],
}
