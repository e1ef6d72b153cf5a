//! Promise 21: what stays in registers instead of rows.

use super::Fault;
use crate::kernel::*;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{BLOCK, ReduceOp};

/// Checks what code generation may hold in registers.
pub(super) fn registers(kernel: &Kernel) -> Result<(), Fault> {
    Registers { kernel }.body(&kernel.body, None, Around::Other)
}

/// What a statement is part of.
#[derive(Clone, Copy)]
enum Around<'k> {
    /// All that runs ahead of the steps of a stream.
    Stream(&'k Stream),
    /// The step of a fold.
    Fold(&'k FoldRows),
    /// A part of the block that is computed by rows.
    Block(Block<'k>),
    Other,
}

struct Registers<'k> {
    kernel: &'k Kernel,
}

impl<'k> Registers<'k> {
    /// Checks statements in a vector loop over an axis, or in none.
    fn body(&self, body: &'k [Stmt], vector: Option<AxisId>, around: Around<'k>) -> Result<(), Fault> {
        body.iter().try_for_each(|stmt| self.stmt(stmt, vector, around))
    }

    fn stmt(&self, stmt: &'k Stmt, vector: Option<AxisId>, around: Around<'k>) -> Result<(), Fault> {
        let check = |holds: bool, axis: AxisId| if holds { Ok(()) } else { Err(Fault::Form(axis)) };
        match stmt {
            Stmt::Contract(contract) => {
                let holds = match (contract.epilogue, around) {
                    (Epilogue::Store, _) => true,
                    (Epilogue::Extremes { of_roots }, Around::Stream(stream)) => {
                        self.takes_extremes(stream, contract, of_roots)
                    }
                    (Epilogue::Fold, Around::Fold(fold)) => {
                        let is_own =
                            |stmt: &Stmt| matches!(stmt, Stmt::FoldRows(of) if std::ptr::eq(of, fold));
                        self.are_whole(contract) && self.are_read_only_by(contract, is_own)
                    }
                    _ => false,
                };
                check(holds, contract.axis)?;
                self.body(&contract.prologue, vector, Around::Other)?;
                self.body(&contract.rows_prologue, vector, Around::Other)
            }
            Stmt::Stream(stream) => {
                check(!stream.padded || self.is_padded(stream), stream.axis)?;
                let ahead = if stream.ahead.len() == 1 { Around::Stream(stream) } else { Around::Other };
                self.body(&stream.ahead, vector, ahead)?;
                self.body(&stream.per_step, vector, Around::Other)?;
                self.body(&stream.prologue, vector, Around::Other)?;
                let lanes = if stream.lanes > 1 { Some(stream.strip) } else { vector };
                self.body(&stream.body, lanes, Around::Other)
            }
            Stmt::FoldRows(fold) => {
                let step = if fold.body.len() == 1 { Around::Fold(fold) } else { Around::Other };
                self.body(&fold.body, vector, step)
            }
            Stmt::Reduce(reduce) => {
                check(reduce.transposed.is_empty() || self.has_rows_in_lanes(reduce, vector), reduce.axis)?;
                self.body(&reduce.prologue, vector, Around::Other)?;
                self.body(&reduce.body, vector, Around::Other)
            }
            Stmt::Transpose { access, row, rows, axis, in_registers: true, .. } => {
                let is_held = match around {
                    Around::Block(block) => {
                        let is_of_block = |stmt: &Stmt| block.body.iter().any(|of| std::ptr::eq(of, stmt));
                        (*rows, *axis) == (block.rows, block.axis)
                            && self.accesses_words(*access)
                            && self.is_read_only_by(*row, is_of_block)
                    }
                    _ => false,
                };
                check(is_held, *axis)
            }
            Stmt::Strip { body, .. } => {
                let block = match (Block::of(stmt), around) {
                    (Some(block), _) if self.fits_registers(&block) => Around::Block(block),
                    // The strip inside.
                    (None, Around::Block(block)) if std::ptr::eq(block.by_rows, stmt) => around,
                    _ => Around::Other,
                };
                self.body(body, vector, block)
            }
            Stmt::For { axis, lanes, body } => {
                let vector = if *lanes > 1 { Some(*axis) } else { vector };
                self.body(body, vector, Around::Other)
            }
            _ => stmt.children().into_iter().try_for_each(|body| self.body(body, vector, Around::Other)),
        }
    }

    fn def(&self, value: ValueId) -> Option<&'k Def> {
        self.kernel.values.get(value.index()).map(|value| &value.def)
    }

    /// Whether a tile has the results of all elements, in lanes of their dtype.
    fn are_whole(&self, contract: &Contract) -> bool {
        let extent = self.kernel.axes.get(contract.axis.index()).map(|axis| axis.extent);
        let is_block =
            matches!(extent, Some(Extent::Constant(extent)) if 0 < extent && extent <= BLOCK as i64);
        let values = &self.kernel.values;
        is_block && contract.accumulators.iter().all(|entry| entry.accumulator.narrow(values).is_none())
    }

    /// Whether no other statements read a row: nothing is written to it, or only a part.
    fn is_read_only_by(&self, row: RowId, is_reader: impl Fn(&Stmt) -> bool) -> bool {
        let reads = |stmt: &Stmt| stmt.rows(&self.kernel.values).contains(&(row, RowUse::Read));
        self.kernel.statements().all(|stmt| !reads(stmt) || is_reader(stmt))
    }

    fn are_read_only_by(&self, contract: &Contract, is_reader: impl Fn(&Stmt) -> bool) -> bool {
        contract.accumulators.iter().all(|entry| self.is_read_only_by(entry.target, &is_reader))
    }

    /// Whether a statement may run for lanes past the end of a strip. Rows over strips have elements there, whatever these are.
    fn is_harmless(&self, stmt: &Stmt, strip: AxisId) -> bool {
        let Stmt::Let(value) = stmt else { return false };
        match self.def(*value) {
            Some(Def::Row(row, _)) => {
                let span = self.kernel.rows.get(row.index()).map(|row| row.span);
                matches!(span, Some(Span::Strip | Span::Block { .. }))
            }
            Some(def) => self.kernel.can_overrun_strip(def, strip),
            None => false,
        }
    }

    fn takes_extremes(&self, stream: &'k Stream, contract: &Contract, of_roots: bool) -> bool {
        let own: Vec<&Stmt> = stream.per_step.iter().chain(&stream.body).collect();
        let is_own = |stmt: &Stmt| own.iter().any(|own| std::ptr::eq(*own, stmt));
        let is_free = |entry: &StreamAccumulator| {
            let op = entry.accumulator.op;
            op.is_arg() || matches!(op, ReduceOp::Min | ReduceOp::Max)
        };
        let is_root = |value: ValueId| {
            let Some(Def::Op { op: Op::Sqrt, args, .. }) = self.def(value) else { return false };
            let sum = args.first().and_then(|sum| self.def(*sum));
            let [entry] = contract.accumulators.as_slice() else { return false };
            matches!(sum, Some(Def::Row(row, _)) if *row == entry.target)
        };
        let is_least_root = |StreamAccumulator { accumulator, .. }: &StreamAccumulator| match accumulator {
            Accumulator { op: ReduceOp::Min, operand: Contribution::Value(value), .. }
            | Accumulator {
                op: ReduceOp::ArgMin,
                operand: Contribution::Indexed { value, index: None, .. },
                ..
            } => is_root(*value),
            _ => false,
        };
        (stream.axis, stream.strip) == (contract.rows, contract.strip)
            && stream.order == Order::Free
            && !stream.dense
            && stream.prologue.is_empty()
            && contract.rows_prologue.is_empty()
            && self.are_whole(contract)
            && self.are_read_only_by(contract, is_own)
            && stream.accumulators.iter().all(is_free)
            && own.iter().all(|stmt| self.is_harmless(stmt, stream.strip))
            && (!of_roots || stream.accumulators.iter().all(is_least_root))
    }

    fn is_padded(&self, stream: &Stream) -> bool {
        let strips = self.kernel.statements().filter_map(|stmt| match stmt {
            Stmt::Strip { axis, length, .. } if *axis == stream.strip => Some(*length),
            _ => None,
        });
        let padded = strips.max().map_or(usize::MAX, |longest| longest.next_multiple_of(stream.lanes));
        let read = stream.body.iter().flat_map(|stmt| stmt.rows(&self.kernel.values)).map(|(row, _)| row);
        let mut rows = stream.accumulators.iter().flat_map(StreamAccumulator::rows).chain(read);
        stream.lanes > 1
            && !stream.dense
            && stream.body.iter().all(|stmt| self.is_harmless(stmt, stream.strip))
            && rows.all(|row| self.kernel.rows.get(row.index()).is_some_and(|row| padded <= row.length))
    }

    /// Whether the loads of a reduction each have a row for every lane of a vector loop.
    fn has_rows_in_lanes(&self, reduce: &Reduce, vector: Option<AxisId>) -> bool {
        let access = |value: ValueId| match self.def(value) {
            Some(Def::Load { access, .. }) => self.kernel.accesses.get(access.index()),
            _ => None,
        };
        let size =
            reduce.transposed.first().and_then(|value| access(*value)).map(|access| access.dtype.size());
        let is_row = |value: &ValueId| {
            let is_contiguous = access(*value).is_some_and(|access| {
                let lanes = vector.and_then(|vector| access.stride(vector));
                access.is_unit(reduce.axis)
                    && lanes.is_some_and(|stride| stride != Stride::Constant(1))
                    && [4, 8].contains(&access.dtype.size())
                    && Some(access.dtype.size()) == size
            });
            is_contiguous && reduce.body.contains(&Stmt::Let(*value))
        };
        vector != Some(reduce.axis)
            && reduce.body.iter().all(|stmt| matches!(stmt, Stmt::Let(_)))
            && reduce.transposed.iter().all(is_row)
    }

    /// Whether an array has elements that are moved within registers.
    fn accesses_words(&self, access: AccessId) -> bool {
        self.kernel.accesses.get(access.index()).is_some_and(|access| access.dtype.size() >= size_of::<f32>())
    }

    /// Whether the rows of a block are taken from registers: nothing but values and stores, of whole groups of rows.
    fn fits_registers(&self, block: &Block<'_>) -> bool {
        let in_registers = |stmt: &Stmt| matches!(stmt, Stmt::Transpose { in_registers: true, .. });
        block.transposes.iter().all(in_registers)
            && block.lanes > 1
            && block.count > 0
            && block.count.is_multiple_of(ROWS_IN_REGISTERS)
            && block.per_row.iter().all(|stmt| matches!(stmt, Stmt::Let(_)))
            && block.body.iter().all(|stmt| matches!(stmt, Stmt::Let(_) | Stmt::Store { .. }))
    }
}
