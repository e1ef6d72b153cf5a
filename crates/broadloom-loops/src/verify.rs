//! The promises of every schedule. [`lower`](crate::lower) checks them for each schedule that it makes, because
//! code generation relies on them without further checks:
//!
//! 1. Everything that a statement names exists. A value is defined once, before it is read, in a loop around its
//!    readers or before them.
//! 2. A `For`, `Strip`, `Repeat`, `Reduce`, `Stream`, `Contract`, `FoldRows`, `Best` or `BestRows` of an axis is in no other loop of that
//!    axis, except that a `For` walks the strip of a `Strip`, of a `Reduce` with a prologue, of a `Stream`, of a
//!    `Contract`, or of a `Best`.
//! 3. Rows are used over the strip of their axis, which is no longer than the rows, and are written before they are
//!    read; no row that is written in between shares their memory. The loop over their period, a constant, writes
//!    periodic rows before any strip that reads them; these rows are longer by the period, and hold it a whole
//!    number of times. The one-lane loop over the stretched axis writes stretched rows in the strip; these rows are
//!    longer by [`STRETCH`]. Blocks are written in the strips of both axes in which they are read.
//! 4. Only axes whose loops are around an access move it. It has a buffer of its dtype, or none if it is a
//!    position.
//! 5. Dtypes of operands agree as the op table requires, stores keep the dtype of the buffer, and the rows of
//!    calls, pairs and streams have the dtypes of their contents. Statements on whole rows have a tile function for
//!    those dtypes.
//! 6. Inside a vector loop no other loop is a vector loop, and reductions are `Free` or `Sequential`.
//! 7. No axis is both the strip and the reduction of a `Stream`, no `Stream` combines groups, and a reduction
//!    combines in an order that its op allows. A `Stream` that takes several steps at once has no prologue and, in
//!    tree order, no accumulator for which the first of equal elements counts. A `Stream` of dense rows is in tree
//!    order and has nothing ahead of its steps, and the rows that it reads are contiguous.
//! 8. A kernel writes to no input. Its writes are in the loops that threads share, if there are any, and the axes of
//!    these loops move them: no two threads write the same element. If several axes are counted together, they are distinct whole
//!    ones that no scan, sort or walk for the best elements goes along, and the loop of each is in single steps of those before it.
//! 9. An axis that is counted in 32 bits is short enough, as a constant or by an
//!    [assumption](Schedule::assumptions).
//! 10. A `Contract`, whose axis has enough ranks, is in strips of two axes whose loops are not around it. It has as
//!     many rows of results as the strip of one axis has steps. These rows consist of whole vectors over the strip
//!     of the other axis, which moves no array that the body reads. The body cannot fail, and it reads only rows
//!     that the prologue fills with values computed from elements of arrays that the kernel does not write. These
//!     rows share memory with no others. A `FoldRows` is in the same strips, and combines what one statement leaves in rows:
//!     a `Contract`, or another `FoldRows`. In tree order its axis has a single block, and it has rows
//!     for the lanes.
//! 11. A `Best` is in no loop of its axes and in no vector loop. It reads a row that its body fills, or an array,
//!     and then has no body. It has a row of the dtype of the elements and one of i64, both as long as its axis of
//!     places, which is a constant.
//! 12. A `BestRows` is in no loop of its axes and in no vector loop, but in a strip of one axis and in one strip of
//!     its places, as many as are requested. It has that many rows of the dtype of the elements and of i64 over the
//!     first strip. It reads a row over that strip which its steps, or the statements ahead of them, fill, or
//!     contiguous elements of an array.
//! 13. Threads do not share the axis of scans, and a loop over it that contains other loops takes one step at a
//!     time. A `Scan` is over a strip of that axis but in no loop over it. Its state has the dtype that it
//!     reads and writes: one element, which a `Begin` outside its strips has written, or, for several rows of arrays, a
//!     row over the strip of their axis, in no loop over that.
//! 14. A `Sort` is in no loop of its axis, which threads do not share, and in no vector loop. Along the axis, its
//!     source and its target are contiguous, in two different arrays: elements of one dtype, or their indices, which
//!     are i64.
//! 15. An array that may have no elements is read only in loops that then do not run, or by statements that then read
//!     nothing. Whether the loops around a read can run while the array is empty is decided by examples of sizes.
//! 16. The kernels of a [`Band`] follow each other, and each has a parallel axis of so many steps per row. No other kernel
//!     uses the arrays that it holds. If one of its kernels writes an array that another uses, each of their steps uses
//!     elements of its own row only. This too is checked with examples of sizes.
//! 17. Stores write as many elements of an array as it has, or fewer if it starts as another array, which is an input or a
//!     temporary of its dtype and shape. At most one array starts as each temporary. This too is checked with examples of sizes.
//! 18. The index of a `Scatter`, or of a `Take` that checks none, has been checked, or can be seen to be below the size.
//! 19. An access that [streams](Access::streams) is of an output that no kernel reads. Only stores of a vector loop along whose
//!     axis it is contiguous use it, and no other store of that loop streams.
//! 20. A kernel is launched after those that it [waits](Wait) for.
//! 21. What stays in registers, nothing reads from rows. A `Contract` whose results are [taken from registers](Epilogue) has whole
//!     ones of each tile, in lanes of their dtype; only the steps of its `Stream`, or its `FoldRows`, read their rows, and a `Stream`
//!     takes extremes of what may be computed past the end of the strip. The rows of a padded `Stream` have whole vectors over the
//!     longest strip, and nothing else moves with it. A `Reduce` with transposed rows is in a vector loop that moves these by more
//!     than an element. A `Transpose` in registers is of elements of 4 bytes or more, in a [`Block`] of values and stores whose
//!     rows fill groups, and only its body reads the rows.
//! 22. A `Repeat` is over a whole axis that threads do not share, and computes and stores nothing but values. What it carries is
//!     defined before it, within each step, at the end of a step, and after it, in one dtype. If it settles, it stores nothing, and
//!     nothing that a step computes depends on the number of the step.

mod bands;
mod best;
mod bounds;
mod contraction;
mod coverage;
mod dense;
mod fault;
mod present;
mod reductions;
mod registers;
mod repeat;
mod rows;
mod scan;
mod scratch;
mod sort;
mod streams;

use crate::band::Known;
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
pub use fault::{Broken, Fault};
use present::Example;
use scratch::Scratch;

/// Returns whether there are sizes that a call may have with which kernels that run together can be checked.
pub(crate) fn has_examples(schedule: &Schedule) -> bool {
    !present::Example::sized(schedule).is_empty()
}

/// Checks the promises of a schedule.
///
/// # Errors
/// Returns the first promise that is broken.
pub fn verify(schedule: &Schedule) -> Result<(), Broken> {
    let examples = Example::all(schedule);
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        let broken = |fault| Broken { kernel: KernelId::new(index), fault };
        let mut scope = Scope {
            schedule,
            kernel,
            examples: &examples,
            values: vec![State::Unseen; kernel.values.len()],
            defined: Vec::new(),
            walked: vec![false; kernel.axes.len()],
            strips: vec![None; kernel.axes.len()],
            strips_seen: 0,
            vector: None,
            scratch: Scratch::of(kernel),
            blocks: vec![None; kernel.rows.len()],
        };
        scope.scanned().map_err(broken)?;
        scope.counts().map_err(broken)?;
        scope.body(&kernel.body).map_err(broken)?;
        registers::registers(kernel).map_err(broken)?;
        bounds::bounds(kernel, Known::of(schedule)).map_err(broken)?;
    }
    let early = schedule.waits.iter().find(|wait| wait.before >= wait.kernel);
    if let Some(Wait { kernel, .. }) = early {
        return Err(Broken { kernel: *kernel, fault: Fault::Waits });
    }
    streams::streams(schedule)?;
    coverage::coverage(schedule)?;
    bands::bands(schedule)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unseen,
    InScope,
    OutOfScope,
}

/// A strip of an axis.
#[derive(Clone, Copy, PartialEq)]
struct Strip {
    number: usize,
    length: usize,
}

/// The state of the walk through a kernel's statements.
struct Scope<'k> {
    schedule: &'k Schedule,
    kernel: &'k Kernel,
    examples: &'k [Example],
    /// The state of each value.
    values: Vec<State>,
    /// The values in scope, in the order of their definitions.
    defined: Vec<ValueId>,
    /// For each axis, whether a surrounding loop runs through its steps.
    walked: Vec<bool>,
    /// For each axis, the strip of it that a surrounding loop has cut.
    strips: Vec<Option<Strip>>,
    strips_seen: usize,
    /// The axis of the surrounding vector loop.
    vector: Option<AxisId>,
    scratch: Scratch,
    /// For each row of a block: the strip, of the axis with one row per step, in which it was written.
    blocks: Vec<Option<Strip>>,
}

fn find<'k, T>(list: &'k [T], index: usize, what: &'static str) -> Result<&'k T, Fault> {
    list.get(index).ok_or(Fault::Missing(what, index))
}

impl<'k> Scope<'k> {
    fn body(&mut self, body: &[Stmt]) -> Result<(), Fault> {
        body.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn axis(&self, axis: AxisId) -> Result<&'k Axis, Fault> {
        find(&self.kernel.axes, axis.index(), "axis")
    }

    fn row(&self, row: RowId) -> Result<&'k Row, Fault> {
        find(&self.kernel.rows, row.index(), "row")
    }

    fn param(&self, param: ParamId) -> Result<(), Fault> {
        find(&self.kernel.params, param.index(), "param").map(|_| ())
    }

    fn stride(&self, stride: Stride) -> Result<(), Fault> {
        if let Stride::Param(param) = stride { self.param(param) } else { Ok(()) }
    }

    fn extent(&self, extent: Extent) -> Result<(), Fault> {
        if let Extent::Param(param) = extent { self.param(param) } else { Ok(()) }
    }

    fn define(&mut self, value: ValueId) -> Result<(), Fault> {
        find(&self.kernel.values, value.index(), "value")?;
        match std::mem::replace(&mut self.values[value.index()], State::InScope) {
            State::Unseen => {
                self.defined.push(value);
                Ok(())
            }
            State::InScope | State::OutOfScope => Err(Fault::Twice(value)),
        }
    }

    /// Removes everything that `check` brings into scope.
    fn scoped(&mut self, check: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let before = self.defined.len();
        check(self)?;
        for value in self.defined.drain(before..) {
            self.values[value.index()] = State::OutOfScope;
        }
        Ok(())
    }

    fn read(&self, value: ValueId) -> Result<DType, Fault> {
        let entry = find(&self.kernel.values, value.index(), "value")?;
        match self.values[value.index()] {
            State::InScope => Ok(entry.dtype),
            State::Unseen | State::OutOfScope => Err(Fault::Undefined(value)),
        }
    }

    /// Checks that only axes with loops around it, or those in `also`, move an access.
    fn moved(&self, id: AccessId, also: &[AxisId]) -> Result<&'k Access, Fault> {
        let access = find(&self.kernel.accesses, id.index(), "access")?;
        for &(axis, stride) in &access.strides {
            self.axis(axis)?;
            self.stride(stride)?;
            if !self.walked[axis.index()] && !also.contains(&axis) {
                return Err(Fault::Moved(id));
            }
        }
        Ok(access)
    }

    /// Returns the buffer of an access to elements.
    fn buffer(&self, id: AccessId, access: &Access) -> Result<&'k Buffer, Fault> {
        let buffer = find(&self.schedule.buffers, access.buffer.ok_or(Fault::Buffer(id))?.index(), "buffer")?;
        if buffer.dtype == access.dtype { Ok(buffer) } else { Err(Fault::Buffer(id)) }
    }

    /// Returns the dtype of a read.
    fn source(&self, id: AccessId) -> Result<DType, Fault> {
        let access = self.moved(id, &[])?;
        self.buffer(id, access).map(|buffer| buffer.dtype)
    }

    fn position(&self, id: AccessId) -> Result<(), Fault> {
        match self.moved(id, &[])? {
            Access { buffer: None, offset_param: Some(param), .. } => self.param(*param),
            _ => Err(Fault::Buffer(id)),
        }
    }

    /// Returns the dtype of a write.
    fn target(&self, id: AccessId, also: &[AxisId]) -> Result<DType, Fault> {
        let access = self.moved(id, also)?;
        let buffer = self.buffer(id, access)?;
        if matches!(buffer.role, Role::Input(_)) {
            return Err(Fault::Buffer(id));
        }
        // A stride of the caller's array is not zero: writes do not overlap each other.
        let own = |axis: AxisId| {
            let is_met = self.walked[axis.index()] || also.contains(&axis);
            is_met && access.stride(axis) != Some(Stride::Constant(0))
        };
        // Nothing is written to an empty array, whose strides may all be zero.
        let is_empty = buffer.shape.iter().any(Dim::is_zero);
        let moves = |axis: AxisId| own(axis) && access.stride(axis).is_some();
        if is_empty || self.kernel.shared().all(moves) { Ok(buffer.dtype) } else { Err(Fault::Shared(id)) }
    }

    /// Returns the dtype of the part of an array that the current strip of an axis covers, if it is contiguous.
    fn side_by_side(&self, id: AccessId, axis: AxisId) -> Result<DType, Fault> {
        self.side_by_side_in(id, axis, &[axis])
    }

    /// Returns that dtype in the strips of further axes as well, through whose steps a statement goes itself.
    fn side_by_side_in(&self, id: AccessId, axis: AxisId, all: &[AxisId]) -> Result<DType, Fault> {
        self.axis(axis)?;
        let access = self.moved(id, all)?;
        if self.walked[axis.index()] || self.strips[axis.index()].is_none() || !access.is_unit(axis) {
            return Err(Fault::Moved(id));
        }
        Ok(self.buffer(id, access)?.dtype)
    }

    /// Returns the dtype of a write for a whole strip.
    fn target_of_strip(&self, target: Operand, axis: AxisId, all: &[AxisId]) -> Result<DType, Fault> {
        match target {
            Operand::Row(row) => Ok(self.row(row)?.dtype),
            Operand::Array { access, .. } => {
                self.side_by_side_in(access, axis, all)?;
                self.target(access, all)
            }
        }
    }

    /// Checks a read of a whole strip in a dtype.
    fn source_of_strip(
        &mut self,
        source: Operand,
        axis: AxisId,
        all: &[AxisId],
        dtype: DType,
    ) -> Result<(), Fault> {
        match source {
            Operand::Row(row) if self.read_row(row, axis)? != dtype => Err(Fault::RowDtype(row)),
            Operand::Array { access, .. } if self.side_by_side_in(access, axis, all)? != dtype => {
                Err(Fault::Buffer(access))
            }
            Operand::Row(_) | Operand::Array { .. } => Ok(()),
        }
    }

    /// Checks a loop, and runs `end` at the end of each of its innermost iterations.
    fn looped(
        &mut self,
        each: &Loop<'_>,
        end: &mut dyn FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (axis, index) = (each.axis, each.axis.index());
        self.extent(self.axis(axis)?.extent)?;
        let before = (self.walked[index], self.strips[index], self.vector);
        if before.0 {
            return Err(Fault::Nested(axis));
        }
        self.in_those_before(axis, each.turn)?;
        if let Some((along, steps)) = self.axis(axis)?.stretched {
            self.axis(along)?;
            self.extent(steps)?;
            let in_strip = self.strips[along.index()].is_some() && !self.walked[along.index()];
            if !in_strip || each.turn != Turn::Steps(1) {
                return Err(Fault::Form(axis));
            }
        }
        match each.turn {
            Turn::Strip(_) if before.1.is_some() => return Err(Fault::Nested(axis)),
            Turn::Part(_) if before.1.is_none() => return Err(Fault::Nested(axis)),
            Turn::Strip(length) | Turn::Part(length) => {
                self.strips[index] = Some(Strip { number: self.strips_seen, length });
                self.strips_seen += 1;
            }
            Turn::Steps(1) => self.walked[index] = true,
            Turn::Steps(lanes) => {
                if self.vector.is_some() || lanes == 0 || !lanes.is_multiple_of(LEAST_LANES) {
                    return Err(Fault::Form(axis));
                }
                self.walked[index] = true;
                self.vector = Some(axis);
            }
        }
        self.scratch.enter();
        each.bodies.iter().try_for_each(|body| self.body(body))?;
        match &each.inner {
            Some(inner) => self.looped(inner, end)?,
            None => end(self)?,
        }
        self.scratch.leave()?;
        (self.walked[index], self.strips[index], self.vector) = before;
        Ok(())
    }

    /// Checks the axes that are counted with the parallel one.
    fn counts(&self) -> Result<(), Fault> {
        let axes: Vec<AxisId> = self.kernel.shared().collect();
        for (at, &axis) in axes.iter().enumerate().skip(1) {
            let entry = self.axis(axis)?;
            let goes_along = |stmt: &Stmt| match stmt {
                Stmt::Sort(sort) => sort.axis == axis,
                Stmt::Best(best) => best.axis == axis,
                Stmt::BestRows(best) => best.axis == axis,
                _ => false,
            };
            let is_other = self.kernel.parallel.is_some() && !axes[..at].contains(&axis);
            if entry.reduction
                || !entry.is_whole()
                || !is_other
                || self.kernel.scanned == Some(axis)
                || self.kernel.statements().any(goes_along)
            {
                return Err(Fault::Form(axis));
            }
        }
        let outermost = axes.first().filter(|_| axes.len() > 1);
        outermost.map_or(
            Ok(()),
            |axis| {
                if self.axis(*axis)?.is_whole() { Ok(()) } else { Err(Fault::Form(*axis)) }
            },
        )
    }

    /// Checks a loop over one of several axes that threads share: it is in the loops of those before it, which take single
    /// steps, because these tell its range.
    fn in_those_before(&self, axis: AxisId, turn: Turn) -> Result<(), Fault> {
        let Some(level) = self.kernel.shared().position(|shared| shared == axis) else { return Ok(()) };
        let is_around = |axis: AxisId| self.walked.get(axis.index()) == Some(&true);
        let is_last = level == self.kernel.counted.len();
        match self.kernel.shared().take(level).all(is_around) && (is_last || turn == Turn::Steps(1)) {
            true => Ok(()),
            false => Err(Fault::Form(axis)),
        }
    }

    fn value(&mut self, id: ValueId) -> Result<(), Fault> {
        let Value { dtype, def, .. } = find(&self.kernel.values, id.index(), "value")?;
        let good = match def {
            Def::Constant(value) => value.dtype() == *dtype,
            Def::Param(param) => {
                self.param(*param)?;
                *dtype == DType::I64
            }
            Def::Index(axis) => {
                self.axis(*axis)?;
                *dtype == DType::I64 && self.walked[axis.index()]
            }
            Def::Load { access, .. } => self.source(*access)? == *dtype,
            Def::Row(row, axis) => {
                let held = self.read_row(*row, *axis)?;
                if !self.walked[axis.index()] {
                    return Err(Fault::Row(*row));
                }
                held == *dtype
            }
            Def::Op { op, args, position } => {
                position.map_or(Ok(()), |position| self.position(position))?;
                let operands = args.iter().map(|arg| self.read(*arg)).collect::<Result<Vec<_>, _>>()?;
                let [first, ..] = operands[..] else { return Err(Fault::Dtype(id)) };
                operands.len() == op.arity()
                    && operands.iter().all(|operand| *operand == first)
                    && op.accepts(first.class())
                    && is_computed(first)
                    && op.result_dtype(first) == *dtype
            }
            Def::Select([condition, on_true, on_false]) => {
                self.read(*condition)? == DType::Bool
                    && self.read(*on_true)? == *dtype
                    && self.read(*on_false)? == *dtype
            }
            Def::Cast(arg) => self.read(*arg).is_ok(),
            Def::Take { access, index, stride, size, position } => {
                position.map_or(Ok(()), |position| self.position(position))?;
                self.stride(*stride)?;
                self.extent(*size)?;
                self.source(*access)? == *dtype && self.read(*index)? == DType::I64
            }
            Def::Search { access, value, stride, size, .. } => {
                self.stride(*stride)?;
                self.extent(*size)?;
                let of = self.read(*value)?;
                self.source(*access)? == of && is_computed(of) && *dtype == DType::I64
            }
            Def::Checked { index, size, position, .. } => {
                position.map_or(Ok(()), |position| self.position(position))?;
                self.extent(*size)?;
                *dtype == DType::I64 && self.read(*index)? == DType::I64
            }
            Def::Reduced => false,
        };
        if good { self.define(id) } else { Err(Fault::Dtype(id)) }
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Fault> {
        self.present(stmt)?;
        match stmt {
            Stmt::Let(value) => self.value(*value),
            Stmt::Store { access, value, .. } => {
                let stored = self.target(*access, &[])?;
                if self.read(*value)? == stored { Ok(()) } else { Err(Fault::Dtype(*value)) }
            }
            Stmt::Scatter { access, index, stride, size, op, value, lost, .. } => {
                self.stride(*stride)?;
                self.extent(*size)?;
                let stored = self.target(*access, &[])?;
                let is_lost = match lost {
                    Some((access, _)) => {
                        self.target(*access, &[])? == stored && stored.is_float() && *op == Some(Op::Add)
                    }
                    None => true,
                };
                let good = self.read(*value)? == stored && self.read(*index)? == DType::I64 && is_lost;
                match op {
                    _ if !good => Err(Fault::Dtype(*value)),
                    None => Ok(()),
                    Some(_) if !is_computed(stored) => Err(Fault::Dtype(*value)),
                    Some(op) if op.accumulates() && op.operand_dtype(&[stored; 2]) == Some(stored) => Ok(()),
                    Some(op) => Err(Fault::Combined(*op)),
                }
            }
            Stmt::Put { row, part, axis, value } => {
                let Row { dtype, count, .. } = *self.row(*row)?;
                self.write_row(*row, *axis)?;
                if !self.walked[axis.index()] || *part >= count {
                    return Err(Fault::Row(*row));
                }
                if self.read(*value)? == dtype { Ok(()) } else { Err(Fault::Dtype(*value)) }
            }
            Stmt::Call { op, target, args, axis } => {
                let dtype = self.target_of_strip(*target, *axis, &[*axis])?;
                args.iter().try_for_each(|arg| self.source_of_strip(*arg, *axis, &[*axis], dtype))?;
                match op.tile(dtype) {
                    Some((function, _)) if function.arity() == args.len() => {
                        target.row().map_or(Ok(()), |row| self.write_row(row, *axis))
                    }
                    _ => Err(Fault::NoTile(*op, dtype)),
                }
            }
            Stmt::Begin { row, value } => self.begin(*row, *value),
            Stmt::Scan { op, target, source, state, axis, rows } => {
                self.scan(*op, [*target, *source], *state, *axis, *rows)
            }
            Stmt::Sort(sort) => self.sort(sort),
            Stmt::Best(best) => self.best(best, stmt),
            Stmt::BestRows(best) => self.best_rows(best, stmt),
            Stmt::Transpose { access, row, rows, axis, .. } => self.transpose(*access, *row, *rows, *axis),
            Stmt::Deinterleave { row, source, axis } => self.deinterleave(*row, *source, *axis),
            Stmt::Gather { access, row, axis, steps, strides, .. } => {
                strides.iter().try_for_each(|stride| self.stride(*stride))?;
                self.extent(*steps)?;
                self.gather(*access, *row, *axis, *steps)
            }
            Stmt::Repeat(repeat) => self.repeat(repeat, stmt),
            Stmt::Reduce(reduce) => self.reduce(reduce, stmt),
            Stmt::Stream(stream) => self.stream(stream, stmt),
            Stmt::Contract(contract) => self.contract(contract, stmt),
            Stmt::FoldRows(fold) => self.fold_rows(fold, stmt),
            Stmt::For { .. } | Stmt::Strip { .. } => match stmt.as_loop() {
                Some(each) => self.scoped(|scope| scope.looped(&each, &mut |_| Ok(()))),
                None => Ok(()),
            },
        }
    }
}

/// Returns whether values of a dtype are computed with; 16-bit floats are only stored and converted.
fn is_computed(dtype: DType) -> bool {
    dtype.arithmetic() == dtype
}
