//! Calls: assigns arguments to parameters, and turns functions into calls of the graph builder.

use super::{Outcome, Resolver, Value, change, mistake, refused};
use crate::error::{Mistake, NameOf, Problem};
use crate::names::{self, Function, OUT, Sampled, bare};
use crate::source::Span;
use crate::syntax::{Argument, Id, Name};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Problem as GraphProblem;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{Class, DType};
use broadloom_ir::graph::{Graph, Literal, Site};
use broadloom_ir::ops::Op;

/// A call with its arguments by parameter.
pub(super) struct Call {
    /// The name that the program calls it by.
    pub(super) function: Box<str>,
    pub(super) span: Span,
    /// The names of the parameters without marks, and the arguments for each.
    pub(super) given: Vec<(Box<str>, Vec<Id>)>,
}

impl Call {
    /// Returns the arguments for a parameter; none if it was left out.
    pub(super) fn all(&self, parameter: &str) -> &[Id] {
        self.given.iter().find(|(name, _)| **name == *parameter).map_or(&[], |(_, ids)| ids)
    }

    pub(super) fn get(&self, parameter: &str) -> Option<Id> {
        self.all(parameter).first().copied()
    }

    pub(super) fn refuse<T>(&self, what: impl Into<Box<str>>) -> Outcome<T> {
        mistake(Problem::Argument { function: self.function.clone(), what: what.into() }, self.span)
    }
}

/// Returns whether a function that is not a row of the op table computes with the numbers of all its operands.
fn computes(function: Function) -> bool {
    matches!(
        function,
        Function::Composed(_)
            | Function::IsClose
            | Function::AllClose
            | Function::NanToNum
            | Function::Einsum
            | Function::Diff
            | Function::Linspace
            | Function::Recurrence(_)
            | Function::Median { .. }
            | Function::Quantile { .. }
            | Function::Several(_)
            | Function::Scan { .. }
            | Function::Accumulate(_)
            | Function::Fold(_)
            | Function::Reduce(_)
            | Function::NanReduce(_)
            | Function::Statistic(_)
    ) || matches!(function, Function::Sampled(sampled) if !matches!(sampled, Sampled::IsIn | Sampled::ArrayEqual))
}

impl Resolver<'_> {
    pub(super) fn attribute(&mut self, base: Id, name: &Name, span: Span) -> Outcome<Value> {
        match &*name.text {
            "T" | "mT" => {
                let Some(operand) = self.tensor(base, DType::Bool)? else { return Ok(Value::Poison) };
                let rank = self.graph.shape(operand).rank();
                let axes =
                    if &*name.text == "T" { (0..rank as i64).rev().collect() } else { last_swapped(rank) };
                let permute = self.build(span, |graph, site| graph.permute_dims(operand, &axes, site));
                permute.map(Value::Tensor)
            }
            _ if matches!(self.value(base), Value::Region(_)) && change::method(name).is_some() => {
                let problem = Problem::Unknown { of: NameOf::Method, name: name.text.clone() };
                let help = format!("to call the method, write `.{}(..)`", name.text);
                Err(Box::new(Mistake::new(problem, name.span).help(help)))
            }
            "at" => {
                let tensor = self.tensor(base, DType::Bool)?;
                Ok(tensor.map_or(Value::Poison, Value::At))
            }
            "shape" => self.property(Function::Shape, base),
            "size" => self.property(Function::Size, base),
            "ndim" => self.property(Function::Ndim, base),
            "dtype" => {
                let operand = self.tensor(base, DType::Bool)?;
                Ok(operand.map_or(Value::Poison, |operand| Value::DType(self.graph.dtype(operand))))
            }
            text if self.is_function(text) => {
                let problem = Problem::Unknown { of: NameOf::Method, name: text.into() };
                let help = format!("to call the method, write `.{text}()`");
                Err(Box::new(Mistake::new(problem, name.span).help(help)))
            }
            _ => Err(self.missing(NameOf::Method, name)),
        }
    }

    pub(super) fn call(
        &mut self,
        name: &Name,
        receiver: Option<Id>,
        arguments: &[Argument],
        span: Span,
    ) -> Outcome<Value> {
        let mut operands = receiver.into_iter().chain(arguments.iter().map(|argument| argument.value));
        let is_poisoned = operands.any(|operand| self.is_poisoned(operand));
        if let Some((receiver, Value::Region(region))) =
            receiver.map(|receiver| (receiver, self.value(receiver)))
        {
            let region = region.clone();
            return match is_poisoned {
                true => Ok(Value::Poison),
                false => self.change(region, name, receiver, arguments, span),
            };
        }
        if let Some(own) = self.functions.get(&name.text).cloned() {
            return if is_poisoned { Ok(Value::Poison) } else { self.own(&own, receiver, arguments, span) };
        }
        let Some((function, own_name, parameters)) = names::function(&name.text) else {
            if let (None, Some(dtype)) = (receiver, names::dtype(&name.text)) {
                return if is_poisoned { Ok(Value::Poison) } else { self.convert(dtype, arguments, span) };
            }
            if receiver.is_some() && &*name.text == "at" {
                let problem = Problem::Unknown { of: NameOf::Method, name: name.text.clone() };
                let help = "the elements to change are in brackets: write `x.at[0]`";
                return Err(Box::new(Mistake::new(problem, name.span).help(help)));
            }
            // A region that is a mistake.
            if receiver.is_some_and(|receiver| self.is_poisoned(receiver)) && change::method(name).is_some() {
                return Ok(Value::Poison);
            }
            return Err(
                self.missing(if receiver.is_some() { NameOf::Method } else { NameOf::Function }, name)
            );
        };
        if is_poisoned {
            return Ok(Value::Poison);
        }
        if receiver.is_none() {
            self.refuse_choice(function, name, arguments, span)?;
        }
        let parameters = match names::of_method(function, &parameters) {
            _ if receiver.is_none() => parameters,
            Some(parameters) => parameters,
            None => {
                let problem = Problem::Unknown { of: NameOf::Method, name: name.text.clone() };
                let operands: Vec<&str> = parameters.iter().map(|parameter| bare(parameter)).collect();
                let help = format!("write `{own_name}({})`", operands.join(", "));
                return Err(Box::new(Mistake::new(problem, name.span).help(help)));
            }
        };
        let order = names::numpy_order(function, own_name, &parameters);
        let call = self.bind(&name.text, &parameters, order, receiver, arguments, span)?;
        if let (Function::Shape | Function::Length | Function::Ndim | Function::Size, Some(x)) =
            (function, call.get("x"))
        {
            return match (function, self.value(x)) {
                // A size becomes a value with its own dtype, whatever it is combined with.
                (Function::Size, Value::Size(_) | Value::Literal(_)) => {
                    let size = self.size(x)?;
                    self.build(span, |graph, site| graph.size_value(size, site)).map(Value::Tensor)
                }
                _ => self.property(function, x),
            };
        }
        if let (Function::AsSize, Some(x)) = (function, call.get("x")) {
            return self.as_size_value(x);
        }
        if function == Function::Select && call.get("x").is_none() && call.get("y").is_none() {
            let made = self.nonzero(&call, "condition")?;
            return Ok(made.map_or(Value::Poison, Value::Several));
        }
        if let Function::Several(several) = function {
            // Groups are numbered by all texts of a column, and its distinct ones would be by those that are there: a number of one
            // would be taken for a number of the other.
            call.given.iter().try_for_each(|(_, ids)| self.refuse_codes(None, ids))?;
            return self.several(several, &call);
        }
        // A number that only derives in another way stays one.
        let is_number = |id: &Id| matches!(self.value(*id), Value::Number(_));
        let stays = matches!(function, Function::Elementwise(Op::StopGradient | Op::WithGradient))
            && call.given.iter().flat_map(|(_, ids)| ids).all(is_number);
        let made = if stays { Value::Number } else { Value::Tensor };
        self.apply(function, &call).map(|expr| expr.map_or(Value::Poison, made))
    }

    /// Resolves `f32(1.5)`: a number with its own dtype, or a conversion.
    fn convert(&mut self, dtype: DType, arguments: &[Argument], span: Span) -> Outcome<Value> {
        let call = self.bind(dtype.name(), &["x"], None, None, arguments, span)?;
        let Some(id) = call.get("x") else { return Ok(Value::Poison) };
        if let Value::Literal(literal) = self.values[id.0 as usize] {
            if let Some(value) = literal.to_scalar(dtype) {
                return self.build(span, |graph, site| graph.constant(value, site)).map(Value::Tensor);
            }
            if let (Literal::Int(_), Class::Int) = (literal, dtype.class()) {
                let problem = GraphProblem::LiteralDoesNotFit { literal, dtype };
                return Err(refused(problem, None, span));
            }
        }
        let Some(expr) = self.tensor(id, DType::Bool)? else { return Ok(Value::Poison) };
        let expr = self.codes_as(expr, dtype, span)?;
        let cast = self.build(span, |graph, site| graph.cast(expr, dtype, site))?;
        if cast != expr {
            self.graph.attribute_to(cast, dtype.name());
        }
        Ok(Value::Tensor(cast))
    }

    /// Assigns arguments to parameters, which have marks as in [`names`]. Positions are those of NumPy's `order` if the first
    /// argument that it has elsewhere is one that only NumPy has there.
    pub(super) fn bind(
        &self,
        function: &str,
        parameters: &[&str],
        order: Option<Vec<&str>>,
        receiver: Option<Id>,
        arguments: &[Argument],
        span: Span,
    ) -> Outcome<Call> {
        let mut known: Vec<&str> = parameters.iter().copied().map(bare).collect();
        // What only NumPy has changes no result.
        for other in order.iter().flatten().copied().chain([OUT]) {
            if !known.contains(&other) {
                known.push(other);
            }
        }
        let given = known.into_iter().map(|name| (Box::from(name), Vec::new())).collect();
        let mut call = Call { function: function.into(), span, given };
        let by_position = parameters.iter().copied().filter(|parameter| !parameter.contains('='));
        let own: Vec<&str> = by_position.map(bare).collect();
        let positional = arguments.iter().filter(|argument| argument.keyword.is_none());
        let positional: Vec<Id> =
            receiver.into_iter().chain(positional.map(|argument| argument.value)).collect();
        let order = order.filter(|order| self.is_numpys(order, &own, &positional)).unwrap_or(own);
        for (position, &id) in positional.iter().enumerate() {
            let takes_rest = parameters.iter().position(|parameter| parameter.contains('*'));
            let slot = takes_rest.map_or(position, |rest| position.min(rest));
            let name = order.get(slot).copied();
            match call.given.iter_mut().find(|(own, _)| Some(&**own) == name) {
                Some((_, ids)) => ids.push(id),
                None => return call.refuse(count(parameters, |most| format!("takes at most {most}"))),
            }
        }
        for argument in arguments {
            let Some(keyword) = &argument.keyword else { continue };
            let own = names::keyword(&keyword.text);
            let exact = parameters.iter().any(|parameter| bare(parameter) == &*keyword.text);
            let own = if exact { &*keyword.text } else { own };
            match call.given.iter_mut().find(|(name, _)| **name == *own) {
                Some((_, ids)) if ids.is_empty() => ids.push(argument.value),
                Some(_) => {
                    let what = format!("got `{own}` twice").into();
                    return mistake(Problem::Argument { function: function.into(), what }, keyword.span);
                }
                None if let Some(help) = names::instead_of_keyword(&keyword.text) => {
                    let problem = Problem::Unknown { of: NameOf::Keyword, name: keyword.text.clone() };
                    return Err(Box::new(Mistake::new(problem, keyword.span).help(help)));
                }
                None => {
                    return self.unknown(NameOf::Keyword, keyword, parameters.iter().copied().map(bare));
                }
            }
        }
        if let Some(out) = self.given(&call, OUT) {
            let what = "does not write its result into another tensor".into();
            let problem = Problem::Argument { function: function.into(), what };
            let help = "name the result as an output: `output y = ..`";
            return Err(Box::new(Mistake::new(problem, self.tree.span(out)).help(help)));
        }
        let missing = parameters.iter().zip(&call.given).find(|(parameter, (_, ids))| {
            ids.is_empty() && !parameter.contains('?') && !(parameter.contains('*') && receiver.is_some())
        });
        match missing {
            Some((parameter, _)) => call.refuse(format!("needs `{}`", bare(parameter))),
            None => Ok(call),
        }
    }

    /// Returns whether positional arguments are in NumPy's order: the first one that has another parameter there is `None`, a
    /// dtype, or a tensor for the result.
    fn is_numpys(&self, order: &[&str], own: &[&str], positional: &[Id]) -> bool {
        let differs = |(position, _): &(usize, &Id)| order.get(*position) != own.get(*position);
        let Some((position, id)) = positional.iter().enumerate().find(differs) else { return false };
        match (self.value(*id), order.get(position).copied()) {
            (Value::None, Some(_)) => true,
            (Value::DType(_) | Value::Text(..), parameter) => parameter == Some("dtype"),
            (Value::Tensor(_), parameter) => parameter == Some(OUT),
            _ => false,
        }
    }

    /// Returns the expression of a call; `None` if it is poisoned.
    fn apply(&mut self, function: Function, call: &Call) -> Outcome<Option<ExprId>> {
        let span = call.span;
        if computes(function) {
            call.given.iter().try_for_each(|(_, ids)| self.refuse_codes(None, ids))?;
        }
        match function {
            Function::Elementwise(op) => return self.apply_elementwise(op, call),
            Function::Composed(composed) => return self.apply_composed(composed, call),
            Function::IsClose | Function::AllClose => return self.is_close(function, call),
            Function::NanToNum => return self.nan_to_num(call),
            Function::Select => return self.select(call),
            Function::Concat | Function::Stack => return self.join(function, call),
            Function::Joined(joined) => return self.joined(joined, call),
            Function::Sampled(sampled) => return self.sampled(sampled, call),
            Function::Selected(selected) => return self.selected(selected, call),
            Function::Triangular => return self.triangular(call),
            Function::Copy => return self.operand(call, "x"),
            Function::Product(product) => return self.apply_product(product, call),
            Function::Einsum => return self.einsum(call),
            Function::Iota => return self.range_of_numbers(call),
            Function::Filled(filled) => return self.filled(filled, call),
            Function::Eye => return self.eye(call),
            Function::Array => return self.array(call),
            Function::FromBits => return self.constant_of_bits(call),
            Function::Linspace => return self.linspace(call),
            Function::SegmentCount => {
                let Some(ids) = self.operand(call, "ids")? else { return Ok(None) };
                let segments = self.segments(call, ids)?;
                let count = self.build(span, |graph, site| graph.segment_count(ids, segments, site));
                return count.map(Some);
            }
            Function::Jvp => return self.directional(call),
            Function::Segment(op) => {
                self.refuse_codes(None, call.all("x"))?;
                let (Some(x), Some(ids)) = (self.operand(call, "x")?, self.operand(call, "ids")?) else {
                    return Ok(None);
                };
                let segments = self.segments(call, ids)?;
                let segment = |graph: &mut Graph, site| graph.segment(op, x, ids, segments, site);
                return self.build(span, segment).map(Some);
            }
            Function::SegmentTables => return self.segment_tables(call),
            Function::TopK | Function::ArgTopK => return self.best(function, call),
            Function::Sort { indices } => return self.sort(indices, call),
            Function::Partition { indices } => return self.partition(indices, call),
            Function::Search => return self.search(call),
            Function::Median { numbers } => return self.median(numbers, call),
            Function::Quantile { percents, numbers } => return self.quantile(percents, numbers, call),
            Function::Diff => {
                let (order, axis) = (self.integer(call, "n", 1)?, self.one_axis(call, -1)?);
                let Some(x) = self.operand(call, "x")? else { return Ok(None) };
                return self.build(span, |graph, site| graph.diff(x, order, axis, site)).map(Some);
            }
            Function::Recurrence(of) => return self.recurrence(of, call),
            Function::Take | Function::TakeAlongAxis => {
                let (Some(x), Some(indices)) = (self.operand(call, "x")?, self.operand(call, "indices")?)
                else {
                    return Ok(None);
                };
                let axis = match function {
                    Function::TakeAlongAxis if call.get("axis").is_none() => Some(-1),
                    _ => self.axis(call)?,
                };
                let taken = self.build(span, |graph, site| {
                    // From all elements in row-major order, or along an axis.
                    let (x, axis) = match axis {
                        Some(axis) => (x, axis),
                        None => (graph.reshape(x, &[None], site), 0),
                    };
                    match function {
                        Function::Take => graph.take(x, indices, axis, site),
                        _ => graph.take_along_axis(x, indices, axis, site),
                    }
                });
                return taken.map(Some);
            }
            _ => {}
        }
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let rank = self.graph.shape(x).rank();
        let made = match function {
            Function::Reduce(_)
            | Function::NanReduce(_)
            | Function::Statistic(_)
            | Function::Scan { .. }
            | Function::Accumulate(_)
            | Function::Fold(_) => {
                return self.reduction(function, x, call);
            }
            Function::Cast => {
                let Some(dtype) = self.dtype(call)? else { return call.refuse("needs `dtype`") };
                let x = self.codes_as(x, dtype, span)?;
                let cast = self.build(span, |graph, site| graph.cast(x, dtype, site))?;
                if cast != x {
                    self.graph.attribute_to(cast, "astype");
                }
                Ok(cast)
            }
            Function::View => return self.bits(x, call),
            Function::Reshape | Function::Rebind => {
                let dims = self.sizes_to_infer(call, function)?;
                self.build(span, |graph, site| match function {
                    Function::Reshape => graph.reshape(x, &dims, site),
                    _ => graph.rebind(x, &dims, site),
                })
            }
            Function::Ravel => self.build(span, |graph, site| graph.reshape(x, &[None], site)),
            Function::BroadcastTo => {
                let dims = self.sizes_to_infer(call, function)?;
                let dims: Vec<Dim> = dims.into_iter().flatten().collect();
                self.build(span, |graph, site| graph.broadcast_to(x, dims.into(), site))
            }
            Function::PermuteDims => {
                let axes = self.axes(call)?.unwrap_or_else(|| (0..rank as i64).rev().collect());
                self.build(span, |graph, site| graph.permute_dims(x, &axes, site))
            }
            Function::MatrixTranspose => {
                let axes = last_swapped(rank);
                self.build(span, |graph, site| graph.permute_dims(x, &axes, site))
            }
            Function::ExpandDims => {
                let Some(axes) = self.axes(call)? else {
                    return call.refuse("needs the axes of the result that have size 1");
                };
                self.build(span, |graph, site| graph.expand_dims(x, &axes, site))
            }
            Function::Squeeze => {
                let ones = self.graph.unit_axes(x).into_iter().map(|axis| axis as i64).collect();
                let axes = self.axes(call)?.unwrap_or(ones);
                self.build(span, |graph, site| graph.squeeze(x, &axes, site))
            }
            Function::Arrange(arrange) => return self.arrange(arrange, x, call),
            _ => call.refuse("does not apply to a tensor"),
        };
        made.map(Some)
    }

    /// Returns the best elements along an axis, by default the last one, or their indices.
    fn best(&mut self, function: Function, call: &Call) -> Outcome<Option<ExprId>> {
        let (k, axis) = (self.integers(call.all("k"))?, self.one_axis(call, -1)?);
        let largest = call.get("largest").is_none() || self.flag(call, "largest")?;
        let [k] = k[..] else { return call.refuse("takes one number `k`") };
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let best = self.build(call.span, |graph, site| match function {
            Function::TopK => graph.topk(x, k, axis, largest, site),
            _ => graph.argtopk(x, k, axis, largest, site),
        });
        best.map(Some)
    }

    /// Returns a tensor converted to the dtype argument, if there is one.
    pub(super) fn cast_to(&mut self, x: ExprId, dtype: Option<DType>, span: Span) -> Outcome<ExprId> {
        match dtype {
            Some(dtype) => self.build(span, |graph, site| graph.cast(x, dtype, site)),
            None => Ok(x),
        }
    }

    pub(super) fn operand(&mut self, call: &Call, parameter: &'static str) -> Outcome<Option<ExprId>> {
        match call.get(parameter) {
            Some(id) => self.tensor(id, DType::Bool),
            None => call.refuse(format!("needs `{parameter}`")),
        }
    }

    fn select(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        if call.get("x").is_none() || call.get("y").is_none() {
            return call.refuse("takes both values to choose from, or none of them for positions");
        }
        let Some(condition) = self.operand(call, "condition")? else { return Ok(None) };
        let condition = self.truth(condition, call.span)?;
        let Some(sides) = self.tensors(&[call.all("x"), call.all("y")].concat())? else { return Ok(None) };
        let [on_true, on_false] = sides[..] else { return call.refuse("needs two values to choose from") };
        let select = self.build(call.span, |graph, site| graph.select(condition, on_true, on_false, site));
        select.map(Some)
    }

    fn join(&mut self, function: Function, call: &Call) -> Outcome<Option<ExprId>> {
        let Some(exprs) = self.listed(call)? else { return Ok(None) };
        let is_flat = call.get("axis").is_some() && self.axes(call)?.is_none();
        if is_flat && matches!(function, Function::Concat) {
            return self.build(call.span, |graph, site| concatenated(graph, &exprs, site)).map(Some);
        }
        let axis = self.one_axis(call, 0)?;
        let joined = self.build(call.span, |graph, site| match function {
            Function::Concat => graph.concat(&exprs, axis, site),
            _ => graph.stack(&exprs, axis, site),
        });
        joined.map(Some)
    }

    /// Returns the axes argument; `None` means all axes.
    pub(super) fn axes(&self, call: &Call) -> Outcome<Option<Vec<i64>>> {
        let ids = call.all("axis");
        match ids.first().map(|id| &self.values[id.0 as usize]) {
            None | Some(Value::None) => Ok(None),
            Some(_) => self.integers(ids).map(Some),
        }
    }

    /// Returns the axis argument.
    pub(super) fn axis(&self, call: &Call) -> Outcome<Option<i64>> {
        match self.axes(call)?.as_deref() {
            None => Ok(None),
            Some([axis]) => Ok(Some(*axis)),
            Some(_) => call.refuse("takes one axis"),
        }
    }

    /// Returns the axis argument of a function that works along one axis, not on all elements.
    pub(super) fn one_axis(&self, call: &Call, otherwise: i64) -> Outcome<i64> {
        match (call.get("axis"), self.axis(call)?) {
            (None, _) => Ok(otherwise),
            (_, Some(axis)) => Ok(axis),
            (_, None) => call.refuse("takes one axis: for all elements in one row, write `ravel(x)`"),
        }
    }

    pub(super) fn flag(&self, call: &Call, parameter: &str) -> Outcome<bool> {
        match call.get(parameter).map(|id| (&self.values[id.0 as usize], self.tree.span(id))) {
            None => Ok(false),
            Some((Value::Literal(Literal::Bool(value)), _)) => Ok(*value),
            Some((other, span)) => {
                mistake(Problem::Kind { expected: "`True` or `False`", found: other.describe() }, span)
            }
        }
    }

    pub(super) fn number(&self, call: &Call, parameter: &'static str) -> Outcome<f64> {
        let Some(id) = call.get(parameter) else { return call.refuse(format!("needs `{parameter}`")) };
        let value = self.value(id);
        match value.number() {
            Some(number) => Ok(number),
            None => {
                let problem = Problem::Kind { expected: "a number", found: value.describe() };
                mistake(problem, self.tree.span(id))
            }
        }
    }

    /// Returns the meaning of a text argument, one of several texts; `None` if there is no argument.
    pub(super) fn meaning_of<T: Copy>(
        &self,
        call: &Call,
        parameter: &'static str,
        meanings: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Outcome<Option<T>> {
        let Some(id) = self.given(call, parameter) else { return Ok(None) };
        let meanings: Vec<(&str, T)> = meanings.into_iter().collect();
        let meant = match self.value(id) {
            Value::Text(text, _) => meanings.iter().find(|(name, _)| **name == **text),
            _ => None,
        };
        match meant {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let names: Vec<String> = meanings.iter().map(|(name, _)| format!("'{name}'")).collect();
                let names = match names.split_last() {
                    Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
                    _ => names.concat(),
                };
                call.refuse(format!("takes {names} as `{parameter}`"))
            }
        }
    }

    /// Returns an argument, unless it was left out or is `None`.
    pub(super) fn given(&self, call: &Call, parameter: &str) -> Option<Id> {
        call.get(parameter).filter(|id| *self.value(*id) != Value::None)
    }

    pub(super) fn required_size(&mut self, call: &Call, parameter: &'static str) -> Outcome<Dim> {
        match call.get(parameter) {
            Some(id) => self.size(id),
            None => call.refuse(format!("needs `{parameter}`")),
        }
    }

    /// Returns sizes, some of which are left open: -1 in a reshape is inferred, and `None` in a rebind keeps the size.
    pub(super) fn sizes_to_infer(&mut self, call: &Call, function: Function) -> Outcome<Vec<Option<Dim>>> {
        if let [id] = call.all("shape")
            && let Value::Sizes(sizes) = self.value(*id)
        {
            return Ok(sizes.iter().cloned().map(Some).collect());
        }
        let ids = self.flattened(call.all("shape"));
        let mut sizes = Vec::with_capacity(ids.len());
        for id in ids {
            sizes.push(match self.value(id) {
                Value::Literal(Literal::Int(-1)) if function == Function::Reshape => None,
                Value::None if function == Function::Rebind => None,
                _ => Some(self.size(id)?),
            });
        }
        Ok(sizes)
    }
}

/// Returns all elements of several tensors, one after the other.
pub(super) fn concatenated(graph: &mut Graph, parts: &[ExprId], site: Site) -> ExprId {
    let parts: Vec<ExprId> = parts.iter().map(|part| graph.reshape(*part, &[None], site)).collect();
    graph.concat(&parts, 0, site)
}

/// Returns the permutation that exchanges the last two axes, if there are at least two.
fn last_swapped(rank: usize) -> Vec<i64> {
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    if rank >= 2 {
        axes.swap(rank - 1, rank - 2);
    }
    axes
}

fn count(parameters: &[&str], say: impl Fn(usize) -> String) -> String {
    let most = parameters.iter().filter(|parameter| !parameter.contains('=')).count();
    format!("{} {}", say(most), if most == 1 { "argument" } else { "arguments" })
}
