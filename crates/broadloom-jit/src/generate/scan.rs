//! Scans along a strip.

use super::Generator;
use crate::emit::LaneStride;
use broadloom_ir::reduce::ReduceOp;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::InstBuilder;

impl Generator<'_, '_, '_> {
    /// Writes the one element of a row.
    pub(super) fn begin_scan(&mut self, row: RowId, value: ValueId) {
        let (value, address) = (self.get(value), self.row_start(row));
        self.emit.store(address, 0, &value, LaneStride::Unit);
    }

    /// Combines the elements of a strip one after the other; the last result stays in a register.
    pub(super) fn scan(&mut self, op: ReduceOp, [target, source]: [Operand; 2], state: RowId, axis: AxisId) {
        let dtype = self.kernel.rows[state.index()].dtype;
        let size = dtype.size() as i64;
        let (start, end) = self.bounds(axis);
        let [target, source] = [target, source].map(|operand| self.operand(operand, axis));
        let address = self.row_start(state);
        let before = self.emit.load(address, 0, dtype, 1, LaneStride::Unit);
        let length = self.ins().isub(end, start);
        let first = self.constant(0);
        let (_, carried) = self.repeat(first, length, 1, &[before], |generator, position, carried| {
            let offset = generator.scaled(position, size);
            let [target, source] = [target, source].map(|start| generator.ins().iadd(start, offset));
            let element = generator.emit.load(source, 0, dtype, 1, LaneStride::Unit);
            let next = generator.emit.op(op.combine(), &[carried[0].clone(), element]);
            generator.emit.store(target, 0, &next, LaneStride::Unit);
            vec![next]
        });
        let address = self.row_start(state);
        self.emit.store(address, 0, &carried[0], LaneStride::Unit);
    }
}
