//! What every schedule promises, checked after lowering in debug builds and by tests:
//!
//! 1. a value is defined once, before it is read, in a loop around (or before) its readers;
//! 2. a `For`, `Strip`, `Reduce` or `Stream` of an axis stands in no other loop of that axis, except that a `For`
//!    walks the strip of a `Strip`, of a `Reduce` with a prologue, or of a `Stream`;
//! 3. rows are read and written only over the strip of their axis, and written before they are read;
//! 4. an access is moved only by axes whose loops are around it;
//! 5. dtypes of operands agree as the op table demands, and stores keep the dtype of the buffer;
//! 6. inside a vector loop no other loop is a vector loop, and reductions are `Free` or `Sequential`;
//! 7. no axis is both the strip and the reduction of a `Stream`, and no `Stream` combines groups;
//! 8. what a kernel writes stands in the loop that threads share, if there is one: no two write the same element.

use crate::kernel::*;
use broadloom_ir::dtype::DType;
use std::collections::HashSet;

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
    /// Promise 4.
    #[error("access {0} is moved by an axis that has no loop around it")]
    Moved(AccessId),
    /// Promise 5.
    #[error("the dtypes of {0} disagree with its operands")]
    Dtype(ValueId),
    /// Promise 8.
    #[error("access {0} is written outside of the loop that threads share")]
    Shared(AccessId),
    /// Promise 6 or 7.
    #[error("the loop over {0} cannot run in this form")]
    Form(AxisId),
}

/// Checks the promises of a schedule.
///
/// # Errors
/// The first promise that is broken.
pub fn verify(schedule: &Schedule) -> Result<(), Broken> {
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        let mut scope =
            Scope { kernel, defined: HashSet::new(), seen: HashSet::new(), written: HashSet::new() };
        let context = Context { axes: Vec::new(), strips: Vec::new(), vector: None };
        scope.body(&kernel.body, &context).map_err(|fault| Broken { kernel: KernelId::new(index), fault })?;
    }
    Ok(())
}

/// The loops around a statement.
#[derive(Clone)]
struct Context {
    axes: Vec<AxisId>,
    strips: Vec<AxisId>,
    vector: Option<AxisId>,
}

impl Context {
    fn inside(&self, axis: AxisId) -> Context {
        let mut inner = self.clone();
        inner.axes.push(axis);
        inner
    }

    fn strip(&self, axis: AxisId) -> Context {
        let mut inner = self.clone();
        inner.strips.push(axis);
        inner
    }

    fn vector(mut self, axis: AxisId, lanes: usize) -> Context {
        if lanes > 1 {
            self.vector = Some(axis);
        }
        self
    }
}

struct Scope<'k> {
    kernel: &'k Kernel,
    /// Values in scope.
    defined: HashSet<ValueId>,
    /// Values defined anywhere so far.
    seen: HashSet<ValueId>,
    written: HashSet<RowId>,
}

impl Scope<'_> {
    fn body(&mut self, body: &[Stmt], context: &Context) -> Result<(), Fault> {
        body.iter().try_for_each(|stmt| self.stmt(stmt, context))
    }

    fn scoped(&mut self, check: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let outer = self.defined.clone();
        check(self)?;
        self.defined = outer;
        Ok(())
    }

    fn define(&mut self, value: ValueId) -> Result<(), Fault> {
        self.defined.insert(value);
        if self.seen.insert(value) { Ok(()) } else { Err(Fault::Twice(value)) }
    }

    fn read(&self, value: ValueId) -> Result<DType, Fault> {
        if !self.defined.contains(&value) {
            return Err(Fault::Undefined(value));
        }
        Ok(self.kernel.values[value.index()].dtype)
    }

    fn access(&self, id: AccessId, context: &Context) -> Result<DType, Fault> {
        let access = &self.kernel.accesses[id.index()];
        match access.strides.iter().all(|(axis, _)| context.axes.contains(axis)) {
            true => Ok(access.dtype),
            false => Err(Fault::Moved(id)),
        }
    }

    /// The access of a store.
    fn target(&self, id: AccessId, context: &Context) -> Result<DType, Fault> {
        match self.kernel.parallel.is_none_or(|axis| context.axes.contains(&axis)) {
            true => self.access(id, context),
            false => Err(Fault::Shared(id)),
        }
    }

    /// A loop over an axis that no loop around is over, in a form that the loops around allow.
    fn enter(&self, axis: AxisId, lanes: usize, context: &Context) -> Result<(), Fault> {
        if context.axes.contains(&axis) {
            return Err(Fault::Nested(axis));
        }
        match lanes > 1 && context.vector.is_some() {
            true => Err(Fault::Form(axis)),
            false => Ok(()),
        }
    }

    fn value(&mut self, id: ValueId, context: &Context) -> Result<(), Fault> {
        let Value { dtype, def, .. } = &self.kernel.values[id.index()];
        let good = match def {
            Def::Constant(value) => value.dtype() == *dtype,
            Def::Param(_) => *dtype == DType::I64,
            Def::Index(axis) => *dtype == DType::I64 && context.axes.contains(axis),
            Def::Load { access, .. } => self.access(*access, context)? == *dtype,
            Def::Row(row, axis) => {
                if !self.written.contains(row)
                    || !context.strips.contains(axis)
                    || !context.axes.contains(axis)
                {
                    return Err(Fault::Row(*row));
                }
                self.kernel.rows[row.index()].dtype == *dtype
            }
            Def::Op { op, args, position } => {
                if let Some(position) = position {
                    self.access(*position, context)?;
                }
                let operands = args.iter().map(|arg| self.read(*arg)).collect::<Result<Vec<_>, _>>()?;
                let [first, ..] = operands[..] else { return Err(Fault::Dtype(id)) };
                operands.len() == op.arity()
                    && operands.iter().all(|operand| *operand == first)
                    && op.accepts(first.class())
                    && op.result_dtype(first) == *dtype
            }
            Def::Select([condition, on_true, on_false]) => {
                self.read(*condition)? == DType::Bool
                    && self.read(*on_true)? == *dtype
                    && self.read(*on_false)? == *dtype
            }
            Def::Cast(arg) => self.read(*arg).is_ok(),
            Def::Take { access, index, position, .. } => {
                self.access(*position, context)?;
                self.access(*access, context)? == *dtype && self.read(*index)? == DType::I64
            }
            Def::Segment { index, position, .. } => {
                self.access(*position, context)?;
                *dtype == DType::I64 && self.read(*index)? == DType::I64
            }
            Def::Reduced => false,
        };
        if good { self.define(id) } else { Err(Fault::Dtype(id)) }
    }

    fn contribution(&self, accumulator: &Accumulator) -> Result<(), Fault> {
        let good = match &accumulator.operand {
            Contribution::Value(value) => self.read(*value)? == accumulator.dtype,
            Contribution::Product(x, y) => {
                self.read(*x)? == accumulator.dtype && self.read(*y)? == accumulator.dtype
            }
            Contribution::Indexed { value, index, .. } => {
                let index = index.map_or(Ok(DType::I64), |index| self.read(index))?;
                self.read(*value)? == accumulator.dtype && index == DType::I64
            }
        };
        if good { Ok(()) } else { Err(Fault::Dtype(accumulator.result)) }
    }

    fn stmt(&mut self, stmt: &Stmt, context: &Context) -> Result<(), Fault> {
        match stmt {
            Stmt::Let(value) => self.value(*value, context),
            Stmt::Store { access, value, .. } => {
                let stored = self.target(*access, context)?;
                if self.read(*value)? == stored { Ok(()) } else { Err(Fault::Dtype(*value)) }
            }
            Stmt::Scatter { access, index, value, .. } => {
                let stored = self.target(*access, context)?;
                let good = self.read(*value)? == stored && self.read(*index)? == DType::I64;
                if good { Ok(()) } else { Err(Fault::Dtype(*value)) }
            }
            Stmt::Put { row, axis, value, .. } => {
                self.written.insert(*row);
                if !context.strips.contains(axis) || !context.axes.contains(axis) {
                    return Err(Fault::Row(*row));
                }
                let stored = self.kernel.rows[row.index()].dtype;
                if self.read(*value)? == stored { Ok(()) } else { Err(Fault::Dtype(*value)) }
            }
            Stmt::For { axis, lanes, body } => {
                self.enter(*axis, *lanes, context)?;
                let inner = context.inside(*axis).vector(*axis, *lanes);
                self.scoped(|scope| scope.body(body, &inner))
            }
            Stmt::Strip { axis, body, .. } => {
                self.enter(*axis, 1, context)?;
                let inner = context.strip(*axis);
                self.scoped(|scope| scope.body(body, &inner))
            }
            Stmt::Call { target, args, axis, .. } => {
                for arg in args {
                    if !self.written.contains(arg) || !context.strips.contains(axis) {
                        return Err(Fault::Row(*arg));
                    }
                }
                self.written.insert(*target);
                Ok(())
            }
            Stmt::Reduce(reduce) => self.reduce(reduce, context),
            Stmt::Stream(stream) => self.stream(stream, context),
            Stmt::Pairs(pairs) => self.pairs(pairs, context),
        }
    }

    fn reduce(&mut self, reduce: &Reduce, context: &Context) -> Result<(), Fault> {
        self.enter(reduce.axis, reduce.lanes, context)?;
        let per_lane = matches!(reduce.order, Order::Free | Order::Sequential) && reduce.prologue.is_empty();
        if context.vector.is_some() && !per_lane {
            return Err(Fault::Form(reduce.axis));
        }
        self.scoped(|scope| {
            let blocks = context.strip(reduce.axis);
            scope.body(&reduce.prologue, &blocks)?;
            let around = if reduce.prologue.is_empty() { context } else { &blocks };
            let inner = around.inside(reduce.axis).vector(reduce.axis, reduce.lanes);
            scope.body(&reduce.body, &inner)?;
            reduce.accumulators.iter().try_for_each(|accumulator| scope.contribution(accumulator))
        })?;
        reduce.accumulators.iter().try_for_each(|accumulator| self.define(accumulator.result))
    }

    fn pairs(&mut self, pairs: &Pairs, context: &Context) -> Result<(), Fault> {
        self.enter(pairs.axis, 1, context)?;
        let right = self.access(pairs.right, &context.inside(pairs.axis))?;
        let left = &self.kernel.rows[pairs.left.index()];
        if !self.written.contains(&pairs.left) || left.count != pairs.terms || left.dtype != right {
            return Err(Fault::Row(pairs.left));
        }
        if context.vector.is_some() || !context.strips.contains(&pairs.strip) {
            return Err(Fault::Form(pairs.axis));
        }
        self.written.extend(pairs.values.iter().chain(&pairs.indices));
        Ok(())
    }

    fn stream(&mut self, stream: &Stream, context: &Context) -> Result<(), Fault> {
        self.enter(stream.axis, 1, context)?;
        self.enter(stream.strip, stream.lanes, context)?;
        let known = stream.order != Order::Counter
            && context.vector.is_none()
            && context.strips.contains(&stream.strip);
        if !known || stream.axis == stream.strip {
            return Err(Fault::Form(stream.axis));
        }
        self.scoped(|scope| {
            let step = context.inside(stream.axis);
            scope.body(&stream.per_step, &step)?;
            scope.body(&stream.prologue, &step)?;
            let inner = step.inside(stream.strip).vector(stream.strip, stream.lanes);
            scope.body(&stream.body, &inner)?;
            stream.accumulators.iter().try_for_each(|entry| scope.contribution(&entry.accumulator))
        })?;
        for entry in &stream.accumulators {
            self.seen.insert(entry.accumulator.result);
            self.written.insert(entry.target);
        }
        Ok(())
    }
}
