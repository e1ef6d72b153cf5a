//! Reductions and functions composed of them, with `where` and `initial`; and comparisons with a tolerance.

use super::call::Call;
use super::{Outcome, Resolver, Value};
use crate::error::{Mistake, Problem};
use crate::names::{Function, Statistic};
use crate::source::Span;
use crate::syntax::{Argument, Name};
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Filter, Literal, Norm, Running, Spread, Terms, Tolerance};
use broadloom_ir::reduce::ReduceOp;

/// The default value added to a variance before dividing by it.
const EPSILON: f64 = 1e-5;

impl Resolver<'_> {
    /// Refuses Python's `max(x, y)`, which chooses between its arguments: here, the second one is an axis.
    pub(super) fn refuse_choice(
        &self,
        function: Function,
        name: &Name,
        arguments: &[Argument],
        span: Span,
    ) -> Outcome<()> {
        let chooses = match function {
            Function::Reduce(ReduceOp::Max) => "maximum",
            Function::Reduce(ReduceOp::Min) => "minimum",
            _ => return Ok(()),
        };
        let [first, second, ..] = arguments else { return Ok(()) };
        let is_number = |value: &Value| {
            matches!(value, Value::Literal(_) | Value::Size(_) | Value::Number(_) | Value::Tensor(_))
        };
        let (first, axis) = (self.value(first.value), self.value(second.value));
        let is_axis = matches!(axis, Value::Literal(Literal::Int(_)))
            && matches!(first, Value::Tensor(_) | Value::List(_));
        if is_axis || !is_number(axis) || arguments.iter().any(|argument| argument.keyword.is_some()) {
            return Ok(());
        }
        let mut operands = arguments.iter().map(|argument| self.source.slice(self.tree.span(argument.value)));
        let begin = operands.next().unwrap_or_default().to_owned();
        let code = operands.fold(begin, |code, operand| format!("{chooses}({code}, {operand})"));
        let what = "reduces one tensor, along the axes that follow it".into();
        let problem = Problem::Argument { function: name.text.clone(), what };
        Err(Box::new(Mistake::new(problem, span).help(format!("to choose between values, write `{code}`"))))
    }

    /// Casts to the given dtype, if there is one.
    pub(super) fn reduction(
        &mut self,
        function: Function,
        x: ExprId,
        call: &Call,
    ) -> Outcome<Option<ExprId>> {
        let dtype = self.dtype(call)?;
        let x = self.numbers_in(function, x, dtype, call)?;
        let x = self.cast_to(x, dtype, call.span)?;
        let made = match function {
            Function::Reduce(op) => self.reduce(op, x, None, false, call)?,
            Function::NanReduce(op) => self.reduce(op, x, None, true, call)?,
            Function::Statistic(statistic) => self.statistic(statistic, x, call)?,
            Function::Accumulate(op) => {
                // A vector has only one axis.
                let is_vector = self.graph.shape(x).rank() == 1;
                let axis = if is_vector { self.axis(call)?.unwrap_or(0) } else { self.one_axis(call, 0)? };
                Some(self.build(call.span, |graph, site| graph.scan(Running::of(op), x, Some(axis), site))?)
            }
            Function::Fold(op) => self.reduce(op, x, Some(vec![0]), false, call)?,
            Function::Scan { op, numbers } => {
                let (axis, include_initial) = (self.axis(call)?, self.flag(call, "include_initial")?);
                let running = Running { op, numbers, include_initial };
                let is_of_array_api =
                    ["cumulative_sum", "cumulative_prod"].iter().any(|name| call.function.ends_with(name));
                if is_of_array_api && axis.is_none() && self.graph.shape(x).rank() > 1 {
                    return call.refuse(format!(
                        "needs an `axis` for a tensor of several axes; for all elements, write `{op}(ravel(x))`",
                        op = &*call.function
                    ));
                }
                Some(self.build(call.span, |graph, site| graph.scan(running, x, axis, site))?)
            }
            _ => None,
        };
        made.map(|made| self.cast_to(made, dtype, call.span)).transpose()
    }

    /// Drops NaNs before a cast to a dtype without NaN.
    fn numbers_in(
        &mut self,
        function: Function,
        x: ExprId,
        dtype: Option<DType>,
        call: &Call,
    ) -> Outcome<ExprId> {
        if !self.graph.dtype(x).is_float() || dtype.is_none_or(DType::is_float) {
            return Ok(x);
        }
        match function {
            Function::NanReduce(ReduceOp::Mean)
            | Function::Statistic(Statistic::Var { numbers: true, .. }) => {
                call.refuse("of floats is a float: leave out `dtype`, and convert the result")
            }
            Function::NanReduce(op) | Function::Scan { op, numbers: true } => {
                self.build(call.span, |graph, site| graph.without_nan(op, x, site))
            }
            _ => Ok(x),
        }
    }

    /// Reduces over the axes of a call, or over others unless it has any.
    fn reduce(
        &mut self,
        op: ReduceOp,
        x: ExprId,
        unless_given: Option<Vec<i64>>,
        numbers: bool,
        call: &Call,
    ) -> Outcome<Option<ExprId>> {
        let axes = if call.get("axis").is_some() { self.axes(call)? } else { unless_given };
        let keepdims = self.flag(call, "keepdims")?;
        let Some(filter) = self.filter(numbers, call)? else { return Ok(None) };
        let initial = match self.given(call, "initial") {
            Some(initial) => {
                let span = self.tree.span(initial);
                let value = match *self.value(initial) {
                    Value::Literal(value) => {
                        Some(self.build(span, |graph, site| graph.initial_literal(op, x, value, site))?)
                    }
                    _ => self.tensor(initial, op.result_dtype(self.graph.dtype(x)))?,
                };
                let Some(value) = value else { return Ok(None) };
                Some(value)
            }
            None => None,
        };
        let terms = Terms { filter, initial };
        let reduce = |graph: &mut broadloom_ir::graph::Graph, site| {
            graph.reduce_terms(op, x, terms, axes.as_deref(), keepdims, site)
        };
        self.build(call.span, reduce).map(Some)
    }

    /// The elements that a call includes; `None` if the condition is poisoned.
    fn filter(&mut self, numbers: bool, call: &Call) -> Outcome<Option<Filter>> {
        let given = call.get("where");
        let is_all = |value: &Value| matches!(value, Value::None | Value::Literal(Literal::Bool(true)));
        let condition = match given.filter(|id| !is_all(self.value(*id))) {
            Some(condition) => match self.tensor(condition, DType::Bool)? {
                Some(condition) => Some(self.truth(condition, call.span)?),
                None => return Ok(None),
            },
            None => None,
        };
        Ok(Some(Filter { condition, numbers }))
    }

    fn statistic(&mut self, statistic: Statistic, x: ExprId, call: &Call) -> Outcome<Option<ExprId>> {
        let (axes, keepdims) = (self.axes(call)?, self.flag(call, "keepdims")?);
        let axes = axes.as_deref();
        let norm = match call.get("ord").map(|id| self.value(id)) {
            None | Some(Value::None | Value::Literal(Literal::Int(2))) => Norm::Two,
            Some(Value::Literal(Literal::Int(1))) => Norm::One,
            Some(Value::Literal(Literal::Float(f64::INFINITY))) => Norm::Infinity,
            Some(_) => return call.refuse("supports the orders 1, 2 and inf"),
        };
        let count = axes.map_or(self.graph.shape(x).rank(), <[i64]>::len);
        let has_order = self.given(call, "ord").is_some();
        if statistic == Statistic::Norm && has_order && count > 1 {
            return call.refuse("over several axes would be a matrix norm, which is not supported; for all elements, write `norm(x.ravel(), 1)`");
        }
        let number = |name, otherwise| match call.get(name) {
            Some(_) => self.number(call, name),
            None => Ok(otherwise),
        };
        let (correction, epsilon) = (number("correction", 0.0)?, number("epsilon", EPSILON)?);
        let mut spread = Spread { correction, ..Spread::default() };
        if let Statistic::Var { numbers, root } = statistic {
            let Some(filter) = self.filter(numbers, call)? else { return Ok(None) };
            spread = Spread { filter, root, ..spread };
        }
        let mut others = [None; 3];
        for (other, name) in others.iter_mut().zip(["weights", "scale", "offset"]) {
            if let Some(id) = self.given(call, name) {
                let meets = self.graph.dtype(x);
                let Some(expr) = self.tensor(id, meets)? else { return Ok(None) };
                *other = Some(expr);
            }
        }
        let [weights, scale, offset] = others;
        // Over one axis, by default the last.
        let normed = axes.unwrap_or(&[-1]);
        let made = self.build(call.span, |graph, site| match statistic {
            Statistic::Var { .. } => graph.spread(spread, x, axes, keepdims, site),
            Statistic::CountNonzero => graph.count_nonzero(x, axes, keepdims, site),
            Statistic::LogSumExp => graph.logsumexp(x, axes, keepdims, site),
            Statistic::Softmax => graph.softmax(x, axes, site),
            Statistic::LogSoftmax => graph.log_softmax(x, axes, site),
            Statistic::LayerNorm => graph.layer_norm(x, Some(normed), [scale, offset], epsilon, site),
            Statistic::Norm => graph.norm(norm, x, axes, keepdims, site),
            Statistic::Ptp => graph.ptp(x, axes, keepdims, site),
            Statistic::Average => match weights {
                Some(weights) => graph.average(x, weights, axes, keepdims, site),
                None => graph.reduce(ReduceOp::Mean, x, axes, keepdims, site),
            },
        });
        made.map(Some)
    }

    pub(super) fn is_close(&mut self, function: Function, call: &Call) -> Outcome<Option<ExprId>> {
        let mut tolerance = Tolerance { equal_nan: self.flag(call, "equal_nan")?, ..Tolerance::default() };
        for (part, name) in [(&mut tolerance.relative, "rtol"), (&mut tolerance.absolute, "atol")] {
            if call.get(name).is_some() {
                *part = self.number(call, name)?;
            }
        }
        let Some(exprs) = self.compared(&[call.all("x"), call.all("y")].concat())? else { return Ok(None) };
        let [x, y] = exprs[..] else { return call.refuse("takes two operands") };
        let close = self.build(call.span, |graph, site| {
            let close = graph.isclose(x, y, tolerance, site);
            match function {
                Function::AllClose => graph.reduce(ReduceOp::All, close, None, false, site),
                _ => close,
            }
        });
        close.map(Some)
    }

    pub(super) fn nan_to_num(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let given = |name| match self.given(call, name) {
            Some(_) => self.number(call, name).map(Some),
            None => Ok(None),
        };
        let (nan, infinities) = (given("nan")?.unwrap_or(0.0), [given("posinf")?, given("neginf")?]);
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        self.build(call.span, |graph, site| graph.nan_to_num(x, nan, infinities, site)).map(Some)
    }
}
