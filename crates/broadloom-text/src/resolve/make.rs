//! What is made of numbers and sizes: ranges, arrays of numbers, constants by their bits, and the properties of shapes.

use super::call::Call;
use super::{Outcome, Resolver, Value, as_size, mistake, refused};
use crate::error::{Mistake, Problem};
use crate::names::{self, Function};
use crate::source::Span;
use crate::syntax::{Id, Infix, Kind};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Problem as GraphProblem;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::graph::Literal;
use broadloom_ir::ops::Op;

/// Most elements of a range of floats, so that each is counted exactly.
const MOST_STEPS: f64 = (1_i64 << 52) as f64;

impl Resolver<'_> {
    /// A size as a value: a number where it is one.
    pub(super) fn size_as_value(dim: &Dim) -> Value {
        match dim.as_constant() {
            Some(size) => Value::Literal(Literal::Int(size.into())),
            None => Value::Size(dim.clone()),
        }
    }

    /// `x.shape`, `x.size`, `x.ndim` and `len(x)`.
    pub(super) fn property(&mut self, function: Function, base: Id) -> Outcome<Value> {
        if let (Value::Sizes(sizes), Function::Length) = (self.value(base), function) {
            return Ok(Value::Literal(Literal::Int(sizes.len() as i128)));
        }
        if let (Value::Several(results), Function::Length) = (self.value(base), function) {
            return Ok(self.count_of(results));
        }
        let span = self.tree.span(base);
        let Some(operand) = self.tensor(base, DType::Bool)? else { return Ok(Value::Poison) };
        let shape = self.graph.shape(operand);
        match (function, shape.first()) {
            (Function::Length, Some(first)) => Ok(Self::size_as_value(first)),
            (Function::Length, None) => {
                mistake(Problem::Kind { expected: "a tensor with axes", found: "one of rank 0" }, span)
            }
            (Function::Size, _) => {
                Ok(Self::size_as_value(&self.arithmetic(span, || Dim::product(shape.iter()))?))
            }
            (Function::Ndim, _) => Ok(Value::Literal(Literal::Int(shape.rank() as i128))),
            _ => Ok(Value::Sizes(shape.to_vec())),
        }
    }

    /// The dtype that is given, if one is.
    pub(super) fn dtype(&self, call: &Call) -> Outcome<Option<DType>> {
        // Nothing but a dtype can stand here, whatever else has its name.
        let dtype = match call.get("dtype").map(|id| &self.tree.expr(id).kind) {
            Some(Kind::Name { text, is_quoted: false }) => names::dtype(text),
            Some(Kind::Name { text, is_quoted: true } | Kind::Text(text)) => names::quoted_dtype(text),
            _ => None,
        };
        if dtype.is_some() {
            return Ok(dtype);
        }
        match call.get("dtype").map(|id| (self.value(id), self.tree.span(id))) {
            None | Some((Value::None, _)) => Ok(None),
            Some((Value::DType(dtype), _)) => Ok(Some(*dtype)),
            Some((other, span)) => {
                mistake(Problem::Kind { expected: "a dtype, as `f32`", found: other.describe() }, span)
            }
        }
    }

    /// `arange(stop)`, `arange(start, stop)`, `arange(start, stop, step)`.
    pub(super) fn range_of_numbers(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let span = call.span;
        let zero = Value::Literal(Literal::Int(0));
        let one = Value::Literal(Literal::Int(1));
        let value = |name| self.given(call, name).map(|id| self.value(id).clone());
        let (start, stop) = match (value("start"), value("stop")) {
            (Some(stop), None) => (zero, stop),
            (start, Some(stop)) => (start.unwrap_or(zero), stop),
            (None, None) => return call.refuse("needs `stop`"),
        };
        let step = value("step").unwrap_or(one);
        let dtype = self.dtype(call)?;
        if let (Some(start), Some(stop), Some(step)) = (as_size(&start), as_size(&stop), as_size(&step)) {
            let Some(step) = step.as_constant().filter(|step| *step != 0) else {
                return call.refuse("needs a nonzero integer `step`");
            };
            let length = self.arithmetic(span, || {
                let reach = if step > 0 { stop.sub(&start)? } else { start.sub(&stop)? };
                reach.ceil_div(step.checked_abs().unwrap_or(i64::MAX))
            })?;
            let is_empty = length.as_constant().is_some_and(|length| length < 0);
            let length = if is_empty { Dim::ZERO } else { length };
            let mut range = self.build(span, |graph, site| graph.iota(length, site))?;
            if let Some(dtype) = dtype {
                range = self.build(span, |graph, site| graph.cast(range, dtype, site))?;
            }
            return self
                .scaled(range, Literal::Int(step.into()), Self::size_as_value(&start), span)
                .map(Some);
        }
        let (Some(first), Some(last), Some(step)) = (start.number(), stop.number(), step.number()) else {
            return call.refuse(
                "takes integers and sizes, or numbers alone; otherwise, write `start + step * arange(n)`",
            );
        };
        let count = ((last - first) / step).ceil();
        if count.is_nan() || count > MOST_STEPS {
            return call.refuse("cannot have that number of elements");
        }
        let length = Dim::constant(count.max(0.0) as i64);
        let dtype = dtype.unwrap_or(DType::F64);
        let range = self.build(span, |graph, site| {
            let range = graph.iota(length, site);
            graph.cast(range, dtype, site)
        })?;
        // As NumPy does: the step is the difference of the first two elements.
        let step = Literal::Float((first + step) - first);
        self.scaled(range, step, Value::Literal(Literal::Float(first)), span).map(Some)
    }

    /// `start + step * range`, in the dtype of the range.
    fn scaled(&mut self, range: ExprId, step: Literal, start: Value, span: Span) -> Outcome<ExprId> {
        let dtype = self.graph.dtype(range);
        let mut scaled = range;
        if !matches!(step, Literal::Int(1) | Literal::Float(1.0)) {
            scaled = self.build(span, |graph, site| {
                let step = graph.literal(step, dtype, site);
                graph.elementwise(Op::Multiply, &[scaled, step], site)
            })?;
        }
        match start {
            Value::Literal(Literal::Int(0)) => Ok(scaled),
            Value::Literal(start) => self.build(span, |graph, site| {
                let start = graph.literal(start, dtype, site);
                graph.elementwise(Op::Add, &[scaled, start], site)
            }),
            start => {
                let start = as_size(&start).unwrap_or(Dim::ZERO);
                self.build(span, |graph, site| {
                    let start = graph.size_value(start, site);
                    let start = graph.cast(start, dtype, site);
                    graph.elementwise(Op::Add, &[scaled, start], site)
                })
            }
        }
    }

    /// A list of numbers, or of lists of them, as a tensor; nothing if there is something else in it.
    pub(super) fn numbers(&mut self, list: Id, dtype: Option<DType>) -> Outcome<Option<ExprId>> {
        let span = self.tree.span(list);
        let mut shape = Vec::new();
        let mut level = vec![list];
        while let Some(Value::List(first)) = level.first().map(|id| self.value(*id)) {
            let length = first.len();
            let mut next = Vec::new();
            for id in &level {
                match self.value(*id) {
                    Value::List(items) if items.len() == length => next.extend_from_slice(items),
                    _ => {
                        let what = "nested lists must have the same length";
                        return mistake(Problem::Program { what }, self.tree.span(*id));
                    }
                }
            }
            shape.push(Dim::constant(length as i64));
            level = next;
        }
        let mut literals = Vec::with_capacity(level.len());
        for id in &level {
            match self.value(*id) {
                Value::Literal(literal) => literals.push(*literal),
                _ => return Ok(None),
            }
        }
        if literals.is_empty() {
            return mistake(Problem::Program { what: "a list of numbers cannot be empty" }, span);
        }
        let is_float = literals.iter().any(|literal| matches!(literal, Literal::Float(_)));
        let is_bool = literals.iter().all(|literal| matches!(literal, Literal::Bool(_)));
        let own = if is_float {
            DType::F64
        } else if is_bool {
            DType::Bool
        } else {
            DType::I64
        };
        let dtype = dtype.unwrap_or(own);
        let mut elements = Vec::with_capacity(literals.len());
        for (literal, id) in literals.iter().zip(&level) {
            let value = literal.to_scalar(dtype).or_else(|| Some(literal.to_scalar(own)?.cast(dtype)));
            let value = value
                .filter(|_| dtype.class() != Class::Int || literal.to_scalar(dtype).is_some() || is_float);
            let Some(value) = value else {
                let problem = GraphProblem::LiteralDoesNotFit { literal: *literal, dtype };
                return Err(refused(problem, None, self.tree.span(*id)));
            };
            elements.push(self.build(span, |graph, site| graph.constant(value, site))?);
        }
        self.build(span, |graph, site| {
            let row = graph.stack(&elements, 0, site);
            let shape: Vec<Option<Dim>> = shape.into_iter().map(Some).collect();
            if shape.len() > 1 { graph.reshape(row, &shape, site) } else { row }
        })
        .map(Some)
    }

    /// `array([1, 2, 3])`.
    pub(super) fn array(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let dtype = self.dtype(call)?;
        let Some(x) = call.get("x") else { return call.refuse("needs numbers") };
        let array = match self.value(x) {
            Value::List(_) => match self.numbers(x, dtype)? {
                Some(array) => return Ok(Some(array)),
                None => {
                    let problem =
                        Problem::Kind { expected: "a list of numbers", found: "a list of other values" };
                    let mistake = Mistake::new(problem, self.tree.span(x));
                    return Err(Box::new(mistake.help("to join tensors, write `stack([a, b])`")));
                }
            },
            _ => self.tensor(x, dtype.unwrap_or(DType::Bool))?,
        };
        match (array, dtype) {
            (Some(array), Some(dtype)) => {
                self.build(call.span, |graph, site| graph.cast(array, dtype, site)).map(Some)
            }
            (array, _) => Ok(array),
        }
    }

    /// `from_bits(f32, 0x7fc00001)`: for NaNs, of which a number says the sign only.
    pub(super) fn constant_of_bits(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let Some(dtype) = self.dtype(call)? else { return call.refuse("needs `dtype`") };
        let bits = call.get("bits").map(|id| self.value(id));
        let value = match bits {
            Some(Value::Literal(Literal::Int(bits))) => {
                u64::try_from(*bits).ok().and_then(|bits| Scalar::from_bits(dtype, bits))
            }
            _ => None,
        };
        match value {
            Some(value) => self.build(call.span, |graph, site| graph.constant(value, site)).map(Some),
            None => call.refuse("takes the bits of one element, as `from_bits(f32, 0x7fc00000)`"),
        }
    }

    /// `round(x, decimals)`, by NumPy's steps: the number is scaled, rounded, and scaled back.
    pub(super) fn round(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        /// Beyond this, a power of ten is no exact float.
        const MOST: i128 = 22;
        let (Some(id), span) = (call.get("x"), call.span) else { return call.refuse("needs `x`") };
        let decimals = match call.get("decimals").map(|id| self.value(id)) {
            None | Some(Value::Literal(Literal::Int(0))) => {
                return self.elementwise(Op::Round, &[id], span).map(|value| value.expr());
            }
            Some(Value::Literal(Literal::Int(decimals))) if decimals.abs() <= MOST => *decimals,
            Some(_) => return call.refuse("takes an integer from -22 to 22 as `decimals`"),
        };
        let Some(x) = self.tensor(id, DType::F64)? else { return Ok(None) };
        let dtype = self.graph.dtype(x);
        if dtype.class() != Class::Float && decimals > 0 {
            return Ok(Some(x));
        }
        let power = Literal::Float(10_f64.powi(decimals.unsigned_abs() as i32));
        let (first, last) =
            if decimals > 0 { (Op::Multiply, Op::Divide) } else { (Op::Divide, Op::Multiply) };
        self.build(span, |graph, site| {
            let apply = |graph: &mut broadloom_ir::graph::Graph, op, x| {
                let power = graph.literal(power, graph.dtype(x), site);
                graph.elementwise(op, &[x, power], site)
            };
            let scaled = apply(graph, first, x);
            let rounded = graph.elementwise(Op::Round, &[scaled], site);
            let back = apply(graph, last, rounded);
            graph.cast(back, dtype, site)
        })
        .map(Some)
    }

    /// What operators make of numbers and sizes alone is a number to those that it meets, as in Python.
    pub(super) fn number_of(&mut self, infix: Infix, value: Value, operands: &[Value]) -> Value {
        let is_number =
            |value: &Value| matches!(value, Value::Literal(_) | Value::Size(_) | Value::Number(_));
        let is_arithmetic = !matches!(infix, Infix::And | Infix::Or | Infix::Xor);
        match value {
            Value::Tensor(expr) if is_arithmetic && operands.iter().all(is_number) => Value::Number(expr),
            value => value,
        }
    }
}
