//! The best elements along an axis, found by a function that keeps them in rows.

use super::Generator;
use super::polls::{BEST_AT_ONCE, COMPARED};
use super::sort::element_type;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::reduce::{BLOCK, NO_INDEX, ReduceOp};
use broadloom_loops::kernel::*;
use broadloom_math::{CpuLevel, ElementType, Extreme, best_function, best_rows_function};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

impl Generator<'_, '_, '_> {
    pub(super) fn best(&mut self, best: &Best) {
        let (start, end) = self.bounds(best.axis);
        self.clear_best(best.rows(), best.places, (start, end), best.largest);
        if best.body.is_empty() && self.polls.is_none() {
            self.push_best(best, start, (start, end));
            return;
        }
        let length = self.constant(if best.body.is_empty() { BEST_AT_ONCE } else { BLOCK as i64 });
        self.blocks(start, end, length, &[], |generator, strip, _| {
            generator.within(best.axis, strip, |generator| {
                generator.body(&best.body);
                generator.push_best(best, start, strip);
            });
            Vec::new()
        });
    }

    /// Takes the elements of a strip of an axis that starts at `start`.
    fn push_best(&mut self, best: &Best, start: ir::Value, (first, last): (ir::Value, ir::Value)) {
        let Row { dtype, length, .. } = self.kernel.rows[best.values.index()];
        let extreme = extreme(best.largest);
        let function = self.comparing(dtype, |of, level| best_function(of, extreme, level));
        let Some(function) = function else { return };
        let size = dtype.size() as i64;
        let (source, stride) = match best.source {
            Operand::Row(row) => (self.row_within(row, 0, best.axis), self.constant(size)),
            Operand::Array { access, delta } => {
                let source = self.at(best.axis, first, 1, |generator| generator.address(access, delta));
                let stride = match self.kernel.accesses[access.index()].stride(best.axis) {
                    Some(stride) => self.stride_bytes(stride, size),
                    None => self.constant(0),
                };
                (source, stride)
            }
        };
        let [values, indices] = best.rows().map(|row| self.row_start(row));
        let k = self.constant(length as i64);
        let seen = self.ins().isub(first, start);
        let count = self.ins().isub(last, first);
        self.call_host(function as usize, &[values, indices, k, seen, source, stride, first, count]);
        self.spend(count, COMPARED);
    }

    pub(super) fn best_rows(&mut self, best: &BestRows) {
        let (start, end) = self.bounds(best.axis);
        self.clear_best(best.rows(), best.places, (start, end), best.largest);
        self.per_contraction_step(best.axis, &best.ahead, (start, end), |generator, (first, last)| {
            generator.repeat(first, last, 1, &[], |generator, position, _| {
                generator.at(best.axis, position, 1, |generator| {
                    generator.body(&best.per_step);
                    generator.body(&best.prologue);
                    generator.push_best_rows(best, start, position);
                });
                Vec::new()
            });
        });
    }

    /// Takes the elements of a step of an axis that starts at `start`, one for each step of the strip.
    fn push_best_rows(&mut self, best: &BestRows, start: ir::Value, position: ir::Value) {
        let Row { dtype, count: k, .. } = self.kernel.rows[best.values.index()];
        let extreme = extreme(best.largest);
        let function = self.comparing(dtype, |of, level| best_rows_function(of, extreme, level));
        let Some(function) = function else { return };
        let [values, indices] = best.rows().map(|row| self.row_start(row));
        let [values_apart, indices_apart] = best.rows().map(|row| self.row_bytes(row));
        let [values_apart, indices_apart, k] =
            [values_apart, indices_apart, k as i64].map(|constant| self.constant(constant));
        let seen = self.ins().isub(position, start);
        let source = self.operand(best.source, best.strip);
        let (first, last) = self.bounds(best.strip);
        let count = self.ins().isub(last, first);
        let args = [values, values_apart, indices, indices_apart, k, seen, source, position, count];
        self.call_host(function as usize, &args);
    }

    /// Fills the places that get no element, because there are too few, with the values for missing elements.
    fn clear_best(
        &mut self,
        rows: [RowId; 2],
        places: AxisId,
        (start, end): (ir::Value, ir::Value),
        largest: bool,
    ) {
        let kernel = self.kernel;
        let rows = rows.map(|row| (row, &kernel.rows[row.index()]));
        let places = self.extent(kernel.axes[places.index()].extent);
        let elements = self.ins().isub(end, start);
        let is_short = self.ins().icmp(IntCC::SignedLessThan, elements, places);
        let extreme = if largest { ReduceOp::Max } else { ReduceOp::Min };
        let missing = [extreme.identity(rows[0].1.dtype), Scalar::I64(NO_INDEX)];
        self.when(is_short, |generator| {
            for ((row, entry), missing) in rows.into_iter().zip(missing) {
                let value = generator.emit.constant(missing);
                let address = generator.row_start(row);
                let zero = generator.constant(0);
                let all = generator.constant((entry.count * entry.length) as i64);
                generator.fill_row((address, entry.dtype), (zero, all), 1, &value);
            }
        });
    }

    /// Returns the function that compares elements of a dtype.
    fn comparing<T>(
        &mut self,
        dtype: DType,
        function: impl FnOnce(ElementType, CpuLevel) -> Option<T>,
    ) -> Option<T> {
        let function = function(element_type(dtype), self.emit.level);
        if function.is_none() {
            self.refused = Some(format!("{dtype} is not compared"));
        }
        function
    }
}

fn extreme(is_largest: bool) -> Extreme {
    if is_largest { Extreme::Greatest } else { Extreme::Least }
}
