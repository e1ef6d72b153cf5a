//! Calls of functions of the host: tile functions on strips, and those on pairs.

use super::Generator;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_loops::kernel::*;
use broadloom_math::{Extreme, Pairing, Precision, Term, pair_function, tile_function};
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

    /// Applies a tile function on pairs to the rows of the current strip.
    pub(super) fn pairs(&mut self, pairs: &Pairs) {
        let kernel = self.kernel;
        let (access, left) = (&kernel.accesses[pairs.right.index()], &kernel.rows[pairs.left.index()]);
        let size = access.dtype.size() as i64;
        let pairing = Pairing {
            term: match pairs.term {
                PairTerm::SquaredDifference => Term::SquaredDifference,
                PairTerm::Product => Term::Product,
                PairTerm::AbsoluteDifference => Term::AbsoluteDifference,
            },
            root: pairs.root,
            extreme: if pairs.extreme == ReduceOp::Min { Extreme::Least } else { Extreme::Greatest },
        };
        let address = pair_function(pairing, precision(access.dtype), self.emit.level) as usize;
        let null = self.constant(0);
        let values = pairs.values.map_or(null, |row| self.row_start(row));
        let indices = pairs.indices.map_or(null, |row| self.row_start(row));
        let left_start = self.row_start(pairs.left);
        let left_stride = self.constant((left.length * left.dtype.size()) as i64);
        let right = self.at(pairs.axis, null, 1, |generator| generator.address(pairs.right, pairs.delta));
        let right_stride = access.stride(pairs.axis).map_or(null, |stride| self.stride_bytes(stride, size));
        let right_step = self.constant(pairs.step.wrapping_mul(size));
        let terms = self.constant(pairs.terms as i64);
        let count = self.extent(kernel.axes[pairs.axis.index()].extent);
        let (start, end) = self.bounds(pairs.strip);
        let length = self.ins().isub(end, start);
        let args =
            [values, indices, left_start, left_stride, right, right_stride, right_step, terms, count, length];
        self.call_host(address, &args);
    }
}

/// Returns the precision of tile functions for a float dtype.
fn precision(dtype: DType) -> Precision {
    if dtype == DType::F64 { Precision::F64 } else { Precision::F32 }
}
