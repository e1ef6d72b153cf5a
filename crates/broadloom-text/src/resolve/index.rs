//! Indices: ranges, single elements, new axes, and positions given by a tensor or a list.

use super::{Outcome, Resolver, Value, as_size, mistake};
use crate::error::Problem;
use crate::source::Span;
use crate::syntax::{Id, Item};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Problem as GraphProblem;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{IndexItem, Literal, SliceSpec};

impl Resolver<'_> {
    pub(super) fn index(&mut self, base: Id, items: &[(Item, Span)], span: Span) -> Outcome<Value> {
        if let Value::Sizes(sizes) = self.value(base) {
            let sizes = sizes.clone();
            return self.index_of_shape(&sizes, items, span);
        }
        if let Value::Several(results) = self.value(base) {
            return self.one_of(results, items, span);
        }
        if let Value::At(tensor) = *self.value(base) {
            return self.region(tensor, items);
        }
        let Some(operand) = self.tensor(base, DType::Bool)? else { return Ok(Value::Poison) };
        if let [(item, _)] = items
            && let Some(mask) = self.mask_of(item)
        {
            let masked = self.build(span, |graph, site| graph.masked_elements(operand, mask, site));
            return masked.map(Value::Tensor);
        }
        match self.parts(operand, items)? {
            Some(items) => self
                .build(span, |graph, site| graph.index_as("slice", operand, &items, site))
                .map(Value::Tensor),
            None => Ok(Value::Poison),
        }
    }

    /// The effects of the items; `None` if one is poisoned.
    pub(super) fn parts(
        &mut self,
        operand: ExprId,
        items: &[(Item, Span)],
    ) -> Outcome<Option<Vec<IndexItem>>> {
        let shape = self.graph.shape(operand);
        // Count the axes that items take, to know the axis of each.
        let axes_of = |resolver: &Self, item: &Item| match (item, resolver.mask_of(item)) {
            (_, Some(mask)) => resolver.graph.shape(mask).rank(),
            (Item::Range { .. }, None) => 1,
            (Item::At(id), None) => {
                usize::from(!matches!(resolver.values[id.0 as usize], Value::None | Value::Ellipsis))
            }
        };
        let taken: usize = items.iter().map(|(item, _)| axes_of(self, item)).sum();
        let rest = shape.rank().saturating_sub(taken);
        let mut axis = 0;
        let mut parts = Vec::new();
        for (item, item_span) in items {
            if let Item::At(id) = item
                && *self.value(*id) == Value::Ellipsis
                && parts.contains(&IndexItem::Rest)
            {
                let what = "an index can contain only one `...`";
                return mistake(Problem::Program { what }, *item_span);
            }
            if let Some(mask) = self.mask_of(item) {
                parts.extend(self.places_of_mask(operand, mask, axis, *item_span)?);
                axis += axes_of(self, item);
                continue;
            }
            let whole = shape.get(axis).cloned().unwrap_or(Dim::ZERO);
            let Some(mut part) = self.part(item, &whole, *item_span)? else { return Ok(None) };
            if let (IndexItem::Slice(spec), Some(size)) = (&mut part, whole.as_constant())
                && cut_off(spec, size)
            {
                let problem = GraphProblem::CutOff { axis, size };
                let site = self.sites.site(*item_span);
                self.graph.warn(problem, "slice", &[operand], site);
            }
            axis += match part {
                IndexItem::Rest => rest,
                _ => axes_of(self, item),
            };
            parts.push(part);
        }
        Ok(Some(parts))
    }

    /// `x.shape[0]`, `x.shape[:2]`.
    fn index_of_shape(&mut self, sizes: &[Dim], items: &[(Item, Span)], span: Span) -> Outcome<Value> {
        let at = |value: Option<Id>, otherwise: usize| -> Option<usize> {
            let Some(id) = value else { return Some(otherwise) };
            let index = as_size(self.value(id))?.as_constant()?;
            let index = if index < 0 { index.checked_add(sizes.len() as i64)? } else { index };
            usize::try_from(index).ok()
        };
        let found = match items {
            [(Item::At(id), _)] => at(Some(*id), 0).and_then(|axis| sizes.get(axis)).map(Self::size_as_value),
            [(Item::Range { start, stop, step: None }, _)] => {
                let range = at(*start, 0).zip(at(*stop, sizes.len()));
                range
                    .and_then(|(start, stop)| sizes.get(start..stop))
                    .map(|sizes| Value::Sizes(sizes.to_vec()))
            }
            _ => None,
        };
        match found {
            Some(value) => Ok(value),
            None => mistake(
                Problem::Program {
                    what: "a shape can be indexed only by the number of an axis, or by a range of axes",
                },
                span,
            ),
        }
    }

    /// The effect of an item on an axis of size `whole`; `None` if it is poisoned.
    fn part(&mut self, item: &Item, whole: &Dim, span: Span) -> Outcome<Option<IndexItem>> {
        let id = match item {
            Item::Range { start: None, stop: None, step: None } => {
                return Ok(Some(IndexItem::Slice(SliceSpec::All)));
            }
            Item::Range { start, stop, step } => {
                let range = self.range([*start, *stop, *step], whole, span)?;
                return Ok(range.map(IndexItem::Slice));
            }
            Item::At(id) => *id,
        };
        Ok(Some(match &self.values[id.0 as usize] {
            Value::Poison => return Ok(None),
            Value::None => IndexItem::Slice(SliceSpec::NewAxis),
            Value::Ellipsis => IndexItem::Rest,
            Value::Tensor(positions) => IndexItem::Positions(*positions),
            Value::Number(position) if self.graph.dtype(*position).is_signed_integer() => {
                IndexItem::Positions(*position)
            }
            Value::List(items) => {
                let positions: Option<Vec<Dim>> =
                    items.iter().map(|item| as_size(self.value(*item))).collect();
                match positions {
                    Some(positions) if !positions.is_empty() => IndexItem::Picked(positions),
                    _ => {
                        let problem =
                            Problem::Kind { expected: "a list of integers", found: "a list of other values" };
                        return mistake(problem, span);
                    }
                }
            }
            value => match as_size(value) {
                Some(size) => IndexItem::Slice(SliceSpec::At(size)),
                None => {
                    let expected = "an integer, a range, `None`, `...` or a tensor of integers";
                    return mistake(Problem::Kind { expected, found: value.describe() }, span);
                }
            },
        }))
    }

    /// A range. A Python range with a negative step runs from the first index down to, but excluding, the second; one
    /// of the graph has the elements from `start` to before `stop`, in reverse.
    fn range(&mut self, bounds: [Option<Id>; 3], whole: &Dim, span: Span) -> Outcome<Option<SliceSpec>> {
        let mut sizes = [None, None, None];
        for (size, bound) in sizes.iter_mut().zip(bounds) {
            *size = match bound {
                None => None,
                Some(id) => match &self.values[id.0 as usize] {
                    Value::Poison => return Ok(None),
                    Value::None => None,
                    _ => Some(self.size(id)?),
                },
            };
        }
        let [start, stop, step] = sizes;
        let step = match step.map(|step| step.as_constant()) {
            None => 1,
            Some(Some(step)) => step,
            Some(None) => {
                return mistake(Problem::Kind { expected: "an integer as step", found: "a size" }, span);
            }
        };
        if step >= 0 {
            return Ok(Some(SliceSpec::Range { start, stop, step }));
        }
        let after = |index: Dim| self.arithmetic(span, || index.add(&Dim::ONE));
        let last = Dim::constant(-1);
        let upper = match start {
            Some(first) if first != last => Some(after(first)?),
            _ => None,
        };
        let lower = match stop {
            Some(before) if before == last => Some(whole.clone()),
            Some(before) => Some(after(before)?),
            None => None,
        };
        Ok(Some(SliceSpec::Range { start: lower, stop: upper, step }))
    }

    /// One integer or a list of integers.
    pub(super) fn integers(&self, ids: &[Id]) -> Outcome<Vec<i64>> {
        let mut integers = Vec::new();
        for id in self.flattened(ids) {
            match self.values[id.0 as usize] {
                Value::Literal(Literal::Int(value)) if i64::try_from(value).is_ok() => {
                    integers.push(value as i64);
                }
                ref value => {
                    let problem = Problem::Kind { expected: "an integer", found: value.describe() };
                    return mistake(problem, self.tree.span(id));
                }
            }
        }
        Ok(integers)
    }

    /// The arguments, or the items of a list that is the only argument.
    pub(super) fn flattened(&self, ids: &[Id]) -> Vec<Id> {
        match ids {
            [id] => match &self.values[id.0 as usize] {
                Value::List(items) => items.clone(),
                _ => vec![*id],
            },
            ids => ids.to_vec(),
        }
    }
}

/// Cuts a range at the end of an axis of constant size, as NumPy does. Returns whether it was cut.
fn cut_off(spec: &mut SliceSpec, size: i64) -> bool {
    let SliceSpec::Range { start, stop, .. } = spec else { return false };
    let within = |bound: &Option<Dim>, otherwise: i64| {
        let Some(bound) = bound else { return Some(otherwise) };
        let bound = bound.as_constant()?;
        Some(if bound < 0 { bound.saturating_add(size) } else { bound })
    };
    // A bound that depends on a symbol is checked once its value is known.
    let (Some(first), Some(last)) = (within(start, 0), within(stop, size)) else { return false };
    let begin = first.clamp(0, size);
    let end = last.clamp(begin, size);
    if (begin, end) == (first, last) {
        return false;
    }
    (*start, *stop) = (Some(Dim::constant(begin)), Some(Dim::constant(end)));
    true
}
