//! Calls of functions of the host: tile functions on strips.

use super::Generator;
use super::polls::CALL;
use broadloom_ir::ops::Op;
use broadloom_loops::kernel::*;
use broadloom_math::tile_function;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, types};

impl Generator<'_, '_, '_> {
    pub(super) fn call_host(&mut self, address: usize, args: &[ir::Value]) {
        self.call_host_for(address, args, &[]);
    }

    /// Calls a function of the host that returns values of these types.
    pub(super) fn call_host_for(
        &mut self,
        address: usize,
        args: &[ir::Value],
        results: &[ir::Type],
    ) -> ir::Inst {
        let mut signature = Signature::new(self.call_conv);
        signature.params.extend(args.iter().map(|_| AbiParam::new(types::I64)));
        signature.returns.extend(results.iter().map(|result| AbiParam::new(*result)));
        let signature = self.emit.builder.import_signature(signature);
        self.weigh(CALL);
        let address = self.constant(address as i64);
        self.ins().call_indirect(signature, address, args)
    }

    /// Applies a tile function to the rows of the current strip.
    pub(super) fn call(&mut self, op: Op, target: Operand, args: &[Operand], axis: AxisId) {
        let dtype = match target {
            Operand::Row(row) => self.kernel.rows[row.index()].dtype,
            Operand::Array { access, .. } => self.kernel.accesses[access.index()].dtype,
        };
        let Some((function, precision)) = op.tile(dtype) else {
            self.refused = Some(format!("{op} has no tile function for {dtype}"));
            return;
        };
        let address = tile_function(function, precision, self.emit.level) as usize;
        let (start, end) = self.bounds(axis);
        let length = self.ins().isub(end, start);
        let target = self.operand(target, axis);
        let first = self.operand(args[0], axis);
        let second = args.get(1).map_or(first, |arg| self.operand(*arg, axis));
        self.call_host(address, &[target, first, second, length]);
    }

    /// Returns the start of the current strip of an axis in an operand.
    pub(super) fn operand(&mut self, operand: Operand, axis: AxisId) -> ir::Value {
        match operand {
            Operand::Row(row) => self.row_within(row, 0, axis),
            Operand::Array { access, delta } => {
                let (first, _) = self.bounds(axis);
                self.at(axis, first, 1, |generator| generator.address(access, delta))
            }
        }
    }
}
