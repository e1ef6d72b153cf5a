//! Values made from numbers and sizes: ranges, arrays, constants given by their bits, and properties of shapes.

use super::call::Call;
use super::{Outcome, Resolver, Value, as_size, mistake, refused};
use crate::error::{Mistake, Problem};
use crate::names::{self, Function};
use crate::source::Span;
use crate::syntax::{Id, Infix, Kind};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Problem as GraphProblem;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{AnyNumber, Class, DType, Scalar};
use broadloom_ir::graph::{LIST, Literal, Node};
use broadloom_ir::ops::Op;

/// The most elements of a range of floats, so that each position is exact.
const MOST_STEPS: f64 = (1_i64 << 52) as f64;

impl Resolver<'_> {
    /// A size as a value; a number if it is constant.
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
        let shape = match function {
            Function::Ndim => self.graph.shape(operand),
            _ => self.graph.measure(operand),
        };
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

    /// The dtype argument, if there is one.
    pub(super) fn dtype(&self, call: &Call) -> Outcome<Option<DType>> {
        // Only a dtype is possible here, whatever else has that name.
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

    /// Resolves `arange(stop)`, `arange(start, stop)`, `arange(start, stop, step)`.
    pub(super) fn range_of_numbers(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let value = |name| self.given(call, name).map(|id| self.known(self.value(id)));
        let (zero, one) = (Value::Literal(Literal::Int(0)), Value::Literal(Literal::Int(1)));
        let (start, stop) = match (value("start"), value("stop")) {
            (Some(stop), None) => (zero, stop),
            (start, Some(stop)) => (start.unwrap_or(zero), stop),
            (None, None) => return call.refuse("needs `stop`"),
        };
        let step = value("step").unwrap_or(one);
        let dtype = self.dtype(call)?;
        let [start, stop] = [("start", start), ("stop", stop)].map(|(name, value)| match value {
            // Where only one is given, it is the end.
            Value::Tensor(_) => self.end_of_range(call, name).map(|size| size.map_or(value, Value::Size)),
            _ => Ok(value),
        });
        let (start, stop) = (start?, stop?);
        if let (Some(start), Some(stop), Some(step)) = (as_size(&start), as_size(&stop), as_size(&step)) {
            let Some(step) = step.as_constant().filter(|step| *step != 0) else {
                return call.refuse("needs a nonzero integer `step`");
            };
            let length = self.arithmetic(call.span, || {
                let reach = if step > 0 { stop.sub(&start)? } else { start.sub(&stop)? };
                reach.ceil_div(step.checked_abs().unwrap_or(i64::MAX))
            })?;
            let is_empty = length.as_constant().is_some_and(|length| length < 0);
            let length = if is_empty { Dim::ZERO } else { length };
            let (dtype, step) = (dtype.unwrap_or(DType::I64), i128::from(step));
            let first = start.as_constant().map(i128::from);
            if let Some(first) = first {
                fit([first, first + step].map(Literal::Int), &length, dtype, call)?;
            }
            let first = first.map(AnyNumber::Int).ok_or(start);
            return self.spaced(length, first, AnyNumber::Int(step), dtype, call.span).map(Some);
        }
        let (Some(start), Some(stop), Some(step)) = (start.number(), stop.number(), step.number()) else {
            return call.refuse(
                "takes integers and sizes, or numbers alone; otherwise, write `start + step * arange(n)`",
            );
        };
        let count = ((stop - start) / step).ceil();
        if count.is_nan() || count > MOST_STEPS {
            return call.refuse("cannot have that number of elements");
        }
        let length = Dim::constant(count.max(0.0) as i64);
        let dtype = dtype.unwrap_or(DType::F64);
        let first = [start, start + step];
        let literals = match dtype.class() {
            Class::Float => first.map(Literal::Float),
            // Conversions to integers round toward zero.
            Class::Bool | Class::Int => first.map(|number| Literal::Int(number as i128)),
        };
        fit(literals, &length, dtype, call)?;
        // As in NumPy, the first two elements are converted, and the step is their difference.
        let (start, step) = match first.map(|number| AnyNumber::Float(number).to_scalar(dtype).number()) {
            [AnyNumber::Float(start), AnyNumber::Float(next)] => {
                (AnyNumber::Float(start), AnyNumber::Float(next - start))
            }
            [AnyNumber::Int(start), AnyNumber::Int(next)] => {
                (AnyNumber::Int(start), AnyNumber::Int(next - start))
            }
            [start, next] => (start, next),
        };
        self.spaced(length, Ok(start), step, dtype, call.span).map(Some)
    }

    /// Resolves `linspace(start, stop, num)`. Integers and bool become `f64`, as do numbers beside them.
    pub(super) fn linspace(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let length = call.get("num").map_or(Ok(Dim::constant(50)), |num| self.size(num))?;
        let endpoint = call.get("endpoint").is_none() || self.flag(call, "endpoint")?;
        let dtype = self.dtype(call)?;
        let ids = [call.all("start"), call.all("stop")].concat();
        let given = ids.iter().filter_map(|id| match self.value(*id) {
            Value::Tensor(expr) => Some(self.graph.dtype(*expr)),
            _ => None,
        });
        let meets = DType::promote_all(given.filter(|dtype| dtype.is_float())).unwrap_or(DType::F64);
        let mut ends = Vec::with_capacity(2);
        for id in ids {
            let Some(end) = self.tensor(id, meets)? else { return Ok(None) };
            ends.push(end);
        }
        let [start, stop] = ends[..] else { return call.refuse("takes two ends") };
        let made = self.build(call.span, |graph, site| {
            let made = graph.linspace_between([start, stop], length, endpoint, site);
            let Some(dtype) = dtype else { return made };
            // NumPy rounds down here, where other conversions round toward zero.
            let is_integer = dtype.class() == Class::Int;
            let made = if is_integer { graph.elementwise(Op::Floor, &[made], site) } else { made };
            let made = graph.cast(made, dtype, site);
            graph.attribute_to(made, "linspace");
            made
        });
        made.map(Some)
    }

    /// A computed integer as an end of a range.
    fn end_of_range(&mut self, call: &Call, name: &str) -> Outcome<Option<Dim>> {
        let given = call.get(name).or_else(|| call.get("start"));
        given.and_then(|id| self.computed_size(id)).transpose()
    }

    /// A number that is known while the program is read, even if functions computed it; any other value as it is.
    fn known(&self, value: &Value) -> Value {
        let (Value::Tensor(expr) | Value::Number(expr)) = value else { return value.clone() };
        match self.graph.node(*expr) {
            Node::Constant(number) => Value::Literal(match number.number() {
                AnyNumber::Int(number) => Literal::Int(number),
                AnyNumber::Float(number) => Literal::Float(number),
            }),
            _ => value.clone(),
        }
    }

    /// Returns `start + step * i` for each position; 16-bit floats are computed in `f32` and rounded once.
    fn spaced(
        &mut self,
        length: Dim,
        start: Result<AnyNumber, Dim>,
        step: AnyNumber,
        dtype: DType,
        span: Span,
    ) -> Outcome<ExprId> {
        let work = dtype.arithmetic();
        let step = step.to_scalar(work);
        let is_counting = step.same(AnyNumber::Int(1).to_scalar(work));
        // The sum with 0 makes a zero positive, as in NumPy.
        let is_from_zero = matches!(start, Ok(AnyNumber::Int(0))) && (is_counting || !work.is_float());
        self.build(span, |graph, site| {
            let range = graph.iota(length, site);
            let mut range = graph.cast(range, work, site);
            if !is_counting {
                let step = graph.constant(step, site);
                range = graph.elementwise(Op::Multiply, &[range, step], site);
            }
            if !is_from_zero {
                let start = match start {
                    Ok(start) => graph.constant(start.to_scalar(work), site),
                    Err(start) => {
                        let start = graph.size_value(start, site);
                        graph.cast(start, work, site)
                    }
                };
                range = graph.elementwise(Op::Add, &[range, start], site);
            }
            let range = graph.cast(range, dtype, site);
            graph.attribute_to(range, "arange");
            range
        })
    }

    /// A list of numbers, or of such lists, as a tensor; `None` if it contains anything else.
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
            let problem = Problem::Program { what: "a list of numbers cannot be empty" };
            let help = "for a tensor without elements, write `zeros((0,))`";
            return Err(Box::new(Mistake::new(problem, span).help(help)));
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
        let made = self.build(span, |graph, site| {
            let row = graph.stack(&elements, 0, site);
            let shape: Vec<Option<Dim>> = shape.into_iter().map(Some).collect();
            if shape.len() > 1 { graph.reshape(row, &shape, site) } else { row }
        })?;
        self.graph.attribute_to(made, LIST);
        Ok(Some(made))
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

    /// `from_bits(f32, 0x7fc00001)`: for NaNs, because a number can only give the sign of one.
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

    /// Resolves `round(x, decimals)`.
    pub(super) fn round(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let (Some(id), span) = (call.get("x"), call.span) else { return call.refuse("needs `x`") };
        let decimals = self.integer(call, "decimals", 0)?;
        if decimals == 0 {
            return self.elementwise(Op::Round, &[id], span).map(|value| value.expr());
        }
        self.refuse_codes(Some(Op::Round), &[id])?;
        let Some(x) = self.tensor(id, DType::F64)? else { return Ok(None) };
        self.build(span, |graph, site| graph.round_to(x, decimals, site)).map(Some)
    }

    /// Results of operators on numbers and sizes only act as numbers beside other operands, as in Python.
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

/// Refuses a range whose first two elements do not fit its dtype: all others follow from them.
fn fit(elements: [Literal; 2], length: &Dim, dtype: DType, call: &Call) -> Outcome<()> {
    let length = length.as_constant().and_then(|length| usize::try_from(length).ok());
    let used = &elements[..length.unwrap_or(2).min(2)];
    match dtype == DType::Bool || used.iter().all(|element| element.fits(dtype)) {
        true => Ok(()),
        false => call.refuse(format!("has elements that {dtype} does not hold")),
    }
}
