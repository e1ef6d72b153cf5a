//! What every schedule promises. [`lower`](crate::lower) checks it of each one that it makes, for machine code is made
//! of it without a further question:
//!
//! 1. what a statement names exists, and a value is defined once, before it is read, in a loop around (or before) its
//!    readers;
//! 2. a `For`, `Strip`, `Reduce`, `Stream`, `Contract`, `Best` or `BestRows` of an axis stands in no other loop of that axis,
//!    except that a `For` walks the strip of a `Strip`, of a `Reduce` with a prologue, of a `Stream`, of a `Contract`, or
//!    of a `Best`;
//! 3. rows are used over the strip of their axis, which is no longer than they are, and are written before they are
//!    read; no row that is written in between shares their memory; periodic ones are written by the loop over their
//!    period, a constant, before any strip that reads them, are longer by that, and hold it a whole number of times;
//!    stretched ones are written in the strip, by the one-lane loop over the axis that is stretched, and are longer by
//!    [`STRETCH`]; blocks are written in the strips of both axes in which they are read;
//! 4. an access is moved only by axes whose loops are around it, and has a buffer of its dtype, or none if it is a
//!    position;
//! 5. dtypes of operands agree as the op table demands, stores keep the dtype of the buffer, and the rows of calls,
//!    pairs and streams have the dtypes of what they hold; what works on whole rows has a tile function for them;
//! 6. inside a vector loop no other loop is a vector loop, and reductions are `Free` or `Sequential`;
//! 7. no axis is both the strip and the reduction of a `Stream`, no `Stream` combines groups, and a reduction combines
//!    in an order that its op allows; a `Stream` that takes several steps at once has no prologue, and by the tree no
//!    accumulator for which the first of equal elements counts; one of dense rows goes by the tree, has nothing ahead of
//!    its steps, and what it reads lies row behind row;
//! 8. what a kernel writes is no input and stands in the loop that threads share, if there is one, whose axis moves it:
//!    no two write the same element;
//! 9. an axis that is counted in 32 bits is as short as that, as a constant or by an [assumption](Schedule::assumptions);
//! 10. a `Contract` of an axis that has ranks enough stands in strips of two axes, whose loops are not around it; it has as many rows of results as the
//!     strip of one has steps, and rows of whole vectors over the strip of the other, which moves no array that its
//!     body reads; its body cannot fail, and reads only those rows that the prologue fills with what follows from
//!     elements of arrays that the kernel does not write; these rows share memory with no others;
//! 11. a `Best` stands in no loop of its axes and in no vector loop; it reads a row that its body fills, or an array, and
//!     then has no body; it has a row of the dtype of the elements and one of i64, both as long as its axis of places,
//!     a constant;
//! 12. a `BestRows` stands in no loop of its axes and in no vector loop, but in a strip of one and in one of its places, as
//!     many as are asked for; it has as many rows of the dtype of the elements and of i64 over the first; it reads a row
//!     over it that its steps fill, or what ahead of them does, or what lies side by side in an array;
//! 13. the axis along which results run is not the one that threads share, and a loop over it in which others stand takes
//!     one step after the other; a `Scan` is over a strip of it in no loop over it, and has a state of one element, of the
//!     dtype of what it reads and writes, which a `Begin` outside of its strips has written;
//! 14. a `Sort` stands in no loop of its axis, which threads do not share, and in no vector loop; along the axis, what it
//!     reads and what it writes lie side by side, in two arrays: elements of one dtype, or their indices, which are i64.

mod best;
mod contraction;
mod dense;
mod reductions;
mod rows;
mod scan;
mod scratch;
mod sort;

use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use scratch::Scratch;

/// A broken promise of a schedule: a bug of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel {kernel}: {fault}")]
pub struct Broken {
    /// Where.
    pub kernel: KernelId,
    /// What.
    pub fault: Fault,
}

/// The kinds of broken promise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Promise 1.
    #[error("there is no {0} {1}")]
    Missing(&'static str, usize),
    /// Promise 1.
    #[error("{0} is read where it is not defined")]
    Undefined(ValueId),
    /// Promise 1.
    #[error("{0} is defined twice")]
    Twice(ValueId),
    /// Promise 2.
    #[error("loops over {0} stand in one another")]
    Nested(AxisId),
    /// Promise 3.
    #[error("row {0} is used outside of its strip or read before it is written")]
    Row(RowId),
    /// Promise 3.
    #[error("row {0} is shorter than its strip")]
    Short(RowId),
    /// Promise 3.
    #[error("row {0} is overwritten by another before it is read")]
    Overwritten(RowId),
    /// Promise 4 or 14.
    #[error("access {0} is moved by an axis that has no loop around it")]
    Moved(AccessId),
    /// Promise 4, 8 or 14.
    #[error("access {0} has not the buffer that its use demands")]
    Buffer(AccessId),
    /// Promise 5.
    #[error("the dtypes of {0} disagree with its operands")]
    Dtype(ValueId),
    /// Promise 5.
    #[error("the dtype of row {0} is not that of what it holds")]
    RowDtype(RowId),
    /// Promise 5.
    #[error("{0} has no tile function for {1}")]
    NoTile(Op, DType),
    /// Promise 6, 7, 11, 12, 13 or 14.
    #[error("the loop over {0} cannot run in this form")]
    Form(AxisId),
    /// Promise 7.
    #[error("{0} does not combine in this order or of these operands")]
    Order(ReduceOp),
    /// Promise 8.
    #[error("access {0} is written outside of the loop that threads share, or by several of its steps")]
    Shared(AccessId),
    /// Promise 9.
    #[error("{0} may be too long to be counted in 32 bits")]
    Count(AxisId),
}

/// Checks the promises of a schedule.
///
/// # Errors
/// The first promise that is broken.
pub fn verify(schedule: &Schedule) -> Result<(), Broken> {
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        let broken = |fault| Broken { kernel: KernelId::new(index), fault };
        let mut scope = Scope {
            schedule,
            kernel,
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
        scope.body(&kernel.body).map_err(broken)?;
    }
    Ok(())
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

/// Where the walk through a kernel's statements is.
struct Scope<'k> {
    schedule: &'k Schedule,
    kernel: &'k Kernel,
    /// By value.
    values: Vec<State>,
    /// Those in scope, in the order of their definitions.
    defined: Vec<ValueId>,
    /// By axis, whether a loop around goes through its steps.
    walked: Vec<bool>,
    /// By axis, the strip of it that a loop around has cut.
    strips: Vec<Option<Strip>>,
    strips_seen: usize,
    /// The axis of the vector loop around.
    vector: Option<AxisId>,
    scratch: Scratch,
    /// By row, of a block: the strip of the axis whose steps have rows, in which it was written.
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

    /// What `check` brings into scope is out of it afterwards.
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

    /// An access that only axes with loops around it, and perhaps one more, move.
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

    /// The buffer of an access to elements.
    fn buffer(&self, id: AccessId, access: &Access) -> Result<&'k Buffer, Fault> {
        let buffer = find(&self.schedule.buffers, access.buffer.ok_or(Fault::Buffer(id))?.index(), "buffer")?;
        if buffer.dtype == access.dtype { Ok(buffer) } else { Err(Fault::Buffer(id)) }
    }

    /// The dtype of what is read.
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

    /// The dtype of what is written.
    fn target(&self, id: AccessId, also: &[AxisId]) -> Result<DType, Fault> {
        let access = self.moved(id, also)?;
        let buffer = self.buffer(id, access)?;
        if matches!(buffer.role, Role::Input(_)) {
            return Err(Fault::Buffer(id));
        }
        // A stride of the caller's array is not zero: what is written does not overlap itself.
        let own = |axis: AxisId| {
            let is_met = self.walked[axis.index()] || also.contains(&axis);
            is_met && access.stride(axis) != Some(Stride::Constant(0))
        };
        // Nothing is written to an array without elements, whose strides may all be zero.
        let is_empty = buffer.shape.iter().any(Dim::is_zero);
        match self.kernel.parallel {
            Some(axis) if !is_empty && (!own(axis) || access.stride(axis).is_none()) => {
                Err(Fault::Shared(id))
            }
            _ => Ok(buffer.dtype),
        }
    }

    /// The dtype of what the current strip of an axis meets of an array, if it lies side by side.
    fn side_by_side(&self, id: AccessId, axis: AxisId) -> Result<DType, Fault> {
        self.side_by_side_in(id, axis, &[axis])
    }

    /// The same in the strips of further axes, through whose steps a statement goes itself.
    fn side_by_side_in(&self, id: AccessId, axis: AxisId, all: &[AxisId]) -> Result<DType, Fault> {
        self.axis(axis)?;
        let access = self.moved(id, all)?;
        if self.walked[axis.index()] || self.strips[axis.index()].is_none() || !access.is_unit(axis) {
            return Err(Fault::Moved(id));
        }
        Ok(self.buffer(id, access)?.dtype)
    }

    /// The dtype of what is written for a whole strip.
    fn target_of_strip(&self, target: Operand, axis: AxisId, all: &[AxisId]) -> Result<DType, Fault> {
        match target {
            Operand::Row(row) => Ok(self.row(row)?.dtype),
            Operand::Array { access, .. } => {
                self.side_by_side_in(access, axis, all)?;
                self.target(access, all)
            }
        }
    }

    /// What is read of a whole strip, in a dtype.
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

    /// A loop, and what runs at the end of each of its innermost turns.
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
            Turn::Strip(length) => {
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
                self.position(*position)?;
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
            Def::Segment { index, size, position } => {
                self.position(*position)?;
                self.extent(*size)?;
                *dtype == DType::I64 && self.read(*index)? == DType::I64
            }
            Def::Reduced => false,
        };
        if good { self.define(id) } else { Err(Fault::Dtype(id)) }
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Fault> {
        match stmt {
            Stmt::Let(value) => self.value(*value),
            Stmt::Store { access, value, .. } => {
                let stored = self.target(*access, &[])?;
                if self.read(*value)? == stored { Ok(()) } else { Err(Fault::Dtype(*value)) }
            }
            Stmt::Scatter { access, index, stride, size, op, value, .. } => {
                self.stride(*stride)?;
                self.extent(*size)?;
                let stored = self.target(*access, &[])?;
                let good = self.read(*value)? == stored && self.read(*index)? == DType::I64;
                match op {
                    _ if !good || !is_computed(stored) => Err(Fault::Dtype(*value)),
                    ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max => Ok(()),
                    _ => Err(Fault::Order(*op)),
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
            Stmt::Pairs(pairs) => self.pairs(pairs),
            Stmt::Sort(sort) => self.sort(sort),
            Stmt::Best(best) => self.best(best, stmt),
            Stmt::BestRows(best) => self.best_rows(best, stmt),
            Stmt::Transpose { access, row, rows, axis, .. } => self.transpose(*access, *row, *rows, *axis),
            Stmt::Gather { access, row, axis, steps, strides, .. } => {
                strides.iter().try_for_each(|stride| self.stride(*stride))?;
                self.extent(*steps)?;
                self.gather(*access, *row, *axis, *steps)
            }
            Stmt::Reduce(reduce) => self.reduce(reduce, stmt),
            Stmt::Stream(stream) => self.stream(stream, stmt),
            Stmt::Contract(contract) => self.contract(contract, stmt),
            Stmt::For { .. } | Stmt::Strip { .. } => match stmt.as_loop() {
                Some(each) => self.scoped(|scope| scope.looped(&each, &mut |_| Ok(()))),
                None => Ok(()),
            },
        }
    }
}

/// Whether values of a dtype are computed with; floats of 16 bits are only stored and converted.
fn is_computed(dtype: DType) -> bool {
    dtype.arithmetic() == dtype
}
