//! Functions with several results; an index selects one, as in NumPy: `meshgrid(x, y)[0]`.

use super::call::Call;
use super::{Outcome, Resolver, Value, as_size};
use crate::error::{Mistake, Problem};
use crate::names::Several;
use crate::source::Span;
use crate::syntax::{Id, Item};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Problem as GraphProblem;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Bins, Literal, SliceSpec, Spacing};
use broadloom_ir::ops::Op;

/// The maximum number of parts of a split axis.
const MOST_PARTS: i64 = 4096;

impl Resolver<'_> {
    /// Returns the results of a call; poison if an operand is poisoned.
    pub(super) fn several(&mut self, function: Several, call: &Call) -> Outcome<Value> {
        let made = match function {
            Several::Divmod => self.divmod(call)?,
            Several::Modf => self.modf(call)?,
            Several::Meshgrid => self.meshgrid(call)?,
            Several::BroadcastArrays => self.broadcast_arrays(call)?,
            Several::Split(axis) => self.split(axis, false, call)?,
            Several::ArraySplit => self.split(None, true, call)?,
            Several::Unstack => self.unstack(call)?,
            Several::Histogram => self.histogram(call)?,
            Several::UnravelIndex => self.unravel_index(call)?,
            Several::Nonzero => self.nonzero(call, "x")?,
            Several::Unique | Several::UniqueCounts | Several::UniqueInverse | Several::UniqueAll => {
                match self.unique(function, call)? {
                    Some(parts) if parts.len() == 1 => {
                        return Ok(parts.first().map_or(Value::Poison, |part| Value::Tensor(*part)));
                    }
                    parts => parts,
                }
            }
            Several::Grad | Several::Vjp => return self.derivatives(function, call),
            // Along a single axis, the result is one tensor.
            Several::Gradient => match self.gradient(call)? {
                Some(slopes) if slopes.len() == 1 => {
                    return Ok(slopes.first().map_or(Value::Poison, |slope| Value::Tensor(*slope)));
                }
                slopes => slopes,
            },
        };
        Ok(made.map_or(Value::Poison, Value::Several))
    }

    /// Returns one of several results, selected by a constant.
    pub(super) fn one_of(&self, results: &[ExprId], items: &[(Item, Span)], span: Span) -> Outcome<Value> {
        let number = match items {
            [(Item::At(id), _)] => as_size(self.value(*id)).and_then(|size| size.as_constant()),
            _ => None,
        };
        let from_end = |number: i64| if number < 0 { number + results.len() as i64 } else { number };
        let result = number.and_then(|number| usize::try_from(from_end(number)).ok());
        match result.and_then(|number| results.get(number)) {
            Some(result) => Ok(Value::Tensor(*result)),
            None => {
                let problem =
                    Problem::Program { what: "an index selects one of several results by its number" };
                let help =
                    format!("there are {}, numbered 0 to {}", results.len(), results.len().saturating_sub(1));
                Err(Box::new(Mistake::new(problem, span).help(help)))
            }
        }
    }

    fn divmod(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let ids = [call.all("x"), call.all("y")].concat();
        let dtype = self.dtype(call)?;
        if let Some(dtype) = dtype {
            self.convert_operands(dtype, &ids, call)?;
        }
        let mut results = Vec::with_capacity(2);
        for op in [Op::FloorDivide, Op::Remainder] {
            let result = self.elementwise(op, &ids, call.span)?.expr();
            match self.in_dtype(result, dtype, call)? {
                Some(result) => results.push(result),
                None => return Ok(None),
            }
        }
        Ok(Some(results))
    }

    fn modf(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let dtype = self.dtype(call)?;
        if let Some(dtype) = dtype {
            self.convert_operands(dtype, call.all("x"), call)?;
        }
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let part = self.build(call.span, |graph, site| graph.modf(x, site)[0])?;
        self.in_dtype(Some(part), dtype, call)?;
        let whole = self.build(call.span, |graph, site| graph.modf(x, site)[1])?;
        Ok(Some(vec![part, whole]))
    }

    /// Returns the tensor arguments, which may be passed as one list.
    fn tensors_given(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let ids = call.all("arrays");
        if let [id] = ids
            && let Value::Several(results) = self.value(*id)
        {
            return Ok(Some(results.clone()));
        }
        let mut exprs = Vec::with_capacity(ids.len());
        for id in ids {
            match self.tensor(*id, DType::Bool)? {
                Some(expr) => exprs.push(expr),
                None => return Ok(None),
            }
        }
        Ok(Some(exprs))
    }

    /// Builds NumPy's grids: the first vector runs along the second axis, unless `indexing='ij'`.
    fn meshgrid(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let is_turned = self.meaning_of(call, "indexing", [("xy", true), ("ij", false)])?.unwrap_or(true);
        if self.flag(call, "sparse")? {
            return call.refuse("makes full grids: for sparse ones, write `x[None, :]` and `y[:, None]`");
        }
        let Some(vectors) = self.tensors_given(call)? else { return Ok(None) };
        let mut grids = Vec::with_capacity(vectors.len());
        for number in 0..vectors.len() {
            let is_turned = is_turned && vectors.len() > 1;
            grids.push(self.build(call.span, |graph, site| {
                let grid = graph.coordinate(&vectors, number, site);
                if is_turned { graph.swapaxes(grid, 0, 1, site) } else { grid }
            })?);
        }
        Ok(Some(grids))
    }

    fn broadcast_arrays(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let Some(arrays) = self.tensors_given(call)? else { return Ok(None) };
        let results = self.build_several(call.span, arrays.len(), |graph, number, site| {
            graph.stretched(&arrays, number, site)
        })?;
        Ok(Some(results))
    }

    /// Returns the results of several calls of the builder.
    fn build_several(
        &mut self,
        span: Span,
        count: usize,
        mut make: impl FnMut(&mut broadloom_ir::graph::Graph, usize, broadloom_ir::graph::Site) -> ExprId,
    ) -> Outcome<Vec<ExprId>> {
        (0..count).map(|number| self.build(span, |graph, site| make(graph, number, site))).collect()
    }

    /// Splits an axis into a number of parts, or at positions. If parts of equal size are impossible and not required, sizes
    /// differ by 1, with longer parts first.
    fn split(&mut self, along: Option<i64>, is_uneven: bool, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let shape = self.graph.shape(x);
        let axis = match along {
            // A vector has only one axis to split.
            Some(1) if shape.rank() == 1 => 0,
            Some(axis) => axis,
            None => self.one_axis(call, 0)?,
        };
        let axis = self.own_axis(axis, x, call)?;
        let size = shape[axis].clone();
        let count = call.get("sections").map(|id| self.value(id).clone());
        let bounds: Vec<Dim> = match count {
            Some(Value::List(_)) => self.sizes(call.all("sections"))?,
            _ => {
                let parts = self.integer(call, "sections", 1)?;
                if !(1..=MOST_PARTS).contains(&parts) {
                    return call.refuse("supports 1 to 4096 parts");
                }
                let part = size.exact_div(&Dim::constant(parts));
                let sizes = match (part, size.as_constant(), is_uneven) {
                    (Some(part), ..) => (1..parts).map(|number| part.scale(number)).collect::<Result<_, _>>(),
                    (None, Some(size), true) => {
                        let bound =
                            |number: i64| Dim::constant(number * (size / parts) + number.min(size % parts));
                        Ok((1..parts).map(bound).collect())
                    }
                    (None, Some(_), false) => {
                        return call.refuse("needs parts of equal size: for other sizes, use `array_split`");
                    }
                    (None, None, _) => {
                        return call.refuse(
                            "needs an axis whose size is known, or a multiple of the number of parts",
                        );
                    }
                };
                match sizes {
                    Ok(sizes) => sizes,
                    Err(error) => {
                        let problem = GraphProblem::Size(error);
                        return Err(super::refused(problem, Some("split"), call.span));
                    }
                }
            }
        };
        let results = self.build_several(call.span, bounds.len() + 1, |graph, number, site| {
            let start = number.checked_sub(1).and_then(|before| bounds.get(before)).cloned();
            let mut specs = vec![SliceSpec::All; axis];
            specs.push(SliceSpec::Range { start, stop: bounds.get(number).cloned(), step: 1 });
            graph.slice(x, &specs, site)
        })?;
        Ok(Some(results))
    }

    /// Returns the elements along an axis of constant size, each without this axis.
    fn unstack(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let axis = self.own_axis(self.one_axis(call, 0)?, x, call)?;
        let count = self.graph.shape(x)[axis].as_constant().filter(|count| *count <= MOST_PARTS);
        let Some(count) = count else { return call.refuse("needs an axis of constant size, up to 4096") };
        let results = self.build_several(call.span, count as usize, |graph, number, site| {
            let mut specs = vec![SliceSpec::All; axis];
            specs.push(SliceSpec::At(Dim::constant(number as i64)));
            graph.slice(x, &specs, site)
        })?;
        Ok(Some(results))
    }

    /// Returns an axis counted from the beginning; negative axes count from the end.
    fn own_axis(&self, axis: i64, x: ExprId, call: &Call) -> Outcome<usize> {
        let rank = self.graph.shape(x).rank();
        let own = if axis < 0 { axis.checked_add_unsigned(rank as u64) } else { Some(axis) };
        match own.and_then(|own| usize::try_from(own).ok()).filter(|own| *own < rank) {
            Some(own) => Ok(own),
            None => Err(super::refused(GraphProblem::NoAxis { axis, rank }, Some(&call.function), call.span)),
        }
    }

    fn histogram(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let bins = match call.get("bins").map(|id| (id, self.value(id).clone())) {
            None => Bins::Count(10, self.bounds(call)?),
            Some((_, Value::Literal(Literal::Int(count)))) => match i64::try_from(count) {
                Ok(count) => Bins::Count(count, self.bounds(call)?),
                Err(_) => return call.refuse("takes a number of bins, or their bounds"),
            },
            Some((id, Value::Tensor(_) | Value::List(_))) => {
                let Some(edges) = self.tensor(id, DType::F64)? else { return Ok(None) };
                Bins::Edges(edges)
            }
            Some(_) => return call.refuse("takes a constant number of bins, or their bounds"),
        };
        let density = self.flag(call, "density")?;
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let results = self.build_several(call.span, 2, |graph, number, site| {
            let [counts, edges] = graph.histogram(x, bins, density, site);
            if number == 0 { counts } else { edges }
        })?;
        Ok(Some(results))
    }

    /// Returns the numbers of a list, if all its elements are numbers.
    fn constants(&self, id: Id) -> Option<Vec<f64>> {
        match self.value(id) {
            Value::List(items) => items.iter().map(|item| self.value(*item).number()).collect(),
            _ => None,
        }
    }

    /// Returns the ends of `range=(low, high)`.
    fn bounds(&self, call: &Call) -> Outcome<Option<[f64; 2]>> {
        let Some(id) = self.given(call, "range") else { return Ok(None) };
        match self.constants(id).as_deref() {
            Some([low, high]) => Ok(Some([*low, *high])),
            _ => call.refuse("takes two numbers as `range`: `(0, 1)`"),
        }
    }

    /// Returns the indices along each axis for positions among all elements.
    fn unravel_index(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let sizes = match call.get("shape").map(|id| self.value(id)) {
            Some(Value::Sizes(sizes)) => sizes.clone(),
            _ => self.sizes(call.all("shape"))?,
        };
        let Some(indices) = self.operand(call, "indices")? else { return Ok(None) };
        let results = self.build_several(call.span, sizes.len(), |graph, axis, site| {
            graph.unravelled(indices, &sizes, axis, site)
        })?;
        Ok(Some(results))
    }

    /// Returns gradients along each axis or the given ones. Spacings are one step for all axes, or a step or positions for each.
    fn gradient(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        if self.integer(call, "edge_order", 1)? != 1 {
            return call.refuse("supports only first-order differences at the ends: `edge_order=1`");
        }
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let rank = self.graph.shape(x).rank() as i64;
        let axes = self.axes(call)?.unwrap_or_else(|| (0..rank).collect());
        let mut spacings = Vec::with_capacity(axes.len());
        for id in call.all("spacing").to_vec() {
            spacings.push(match self.value(id).number() {
                Some(step) => Spacing::Step(step),
                None => match self.tensor(id, DType::F64)? {
                    Some(places) => Spacing::At(places),
                    None => return Ok(None),
                },
            });
        }
        match (spacings.len(), axes.len()) {
            (0, count) => spacings = vec![Spacing::Step(1.0); count],
            (1, count) => spacings = vec![spacings[0]; count],
            (given, count) if given == count => {}
            _ => return call.refuse("takes one distance, or one for each axis"),
        }
        if axes.is_empty() {
            return call.refuse("needs an axis");
        }
        let results = self.build_several(call.span, axes.len(), |graph, number, site| {
            graph.gradient(x, spacings[number], axes[number], site)
        })?;
        Ok(Some(results))
    }

    /// Returns the mistake for several results in place of one.
    pub(super) fn stray_results<T>(&self, span: Span) -> Outcome<T> {
        let problem = Problem::Kind { expected: "a tensor or a number", found: "several results" };
        let code = self.source.slice(span);
        Err(Box::new(
            Mistake::new(problem, span).help(format!("select one of them by its number: `{code}[0]`")),
        ))
    }

    /// Returns the number of results.
    pub(super) fn count_of(&self, results: &[ExprId]) -> Value {
        Value::Literal(Literal::Int(results.len() as i128))
    }
}
