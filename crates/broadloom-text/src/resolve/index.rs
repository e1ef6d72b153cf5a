//! Indices: ranges, single elements, new axes, and positions given by a tensor.

use super::{Resolved, Resolver, Value, as_size, mistake};
use crate::error::{Mistake, Problem};
use crate::source::Span;
use crate::syntax::{Id, Item};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Literal, SliceSpec};

/// An item of an index by what it does.
enum Part {
    Slice(SliceSpec),
    /// All axes that the others leave.
    Rest,
    /// The elements at these positions.
    Gather(ExprId),
}

impl Resolver<'_> {
    pub(super) fn index(&mut self, base: Id, items: &[(Item, Span)], span: Span) -> Resolved<Value> {
        let Some(operand) = self.tensor(base, DType::Bool)? else { return Ok(Value::Poison) };
        let shape = self.graph.shape(operand);
        // Which items take an axis, so that the axis of each is known.
        let takes_axis = |resolver: &Self, item: &Item| match item {
            Item::Range { .. } => true,
            Item::At(id) => !matches!(resolver.values[id.0 as usize], Value::None | Value::Ellipsis),
        };
        let taken = items.iter().filter(|(item, _)| takes_axis(self, item)).count();
        let rest = shape.rank().saturating_sub(taken);
        let mut axis = 0;
        let mut parts = Vec::new();
        for (item, item_span) in items {
            let whole = shape.get(axis).cloned().unwrap_or(Dim::ZERO);
            let Some(part) = self.part(item, &whole, *item_span)? else { return Ok(Value::Poison) };
            axis += match part {
                Part::Rest => rest,
                _ => usize::from(takes_axis(self, item)),
            };
            parts.push((part, *item_span));
        }
        self.take_parts(operand, parts, rest, span)
    }

    fn take_parts(
        &mut self,
        operand: ExprId,
        parts: Vec<(Part, Span)>,
        rest: usize,
        span: Span,
    ) -> Resolved<Value> {
        let mut specs = Vec::new();
        let mut gather = None;
        let mut has_rest = false;
        let has_index = parts.iter().any(|(part, _)| matches!(part, Part::Slice(SliceSpec::At(_))));
        for (part, item_span) in parts {
            match part {
                Part::Slice(spec) => specs.push(spec),
                Part::Rest if has_rest => {
                    return mistake(Problem::Program { what: "an index has one `...` at most" }, item_span);
                }
                Part::Rest => {
                    has_rest = true;
                    specs.extend((0..rest).map(|_| SliceSpec::All));
                }
                Part::Gather(_) if gather.is_some() || has_index => {
                    let what = "an index by a tensor stands with ranges only";
                    let mistake = Mistake::new(Problem::Program { what }, item_span);
                    return Err(Box::new(mistake.help("index in two steps: `x[0][positions]`")));
                }
                Part::Gather(positions) => {
                    gather = Some((positions, specs.len() as i64));
                    specs.push(SliceSpec::All);
                }
            }
        }
        let sliced = self.build(span, |graph, site| graph.slice(operand, &specs, site))?;
        let Some((positions, axis)) = gather.filter(|_| !self.graph.is_poisoned(sliced)) else {
            return Ok(Value::Tensor(sliced));
        };
        let take = self.build(span, |graph, site| graph.take(sliced, positions, axis, site));
        take.map(Value::Tensor)
    }

    /// What an item does to an axis of the size `whole`; nothing if it is poisoned.
    fn part(&mut self, item: &Item, whole: &Dim, span: Span) -> Resolved<Option<Part>> {
        let id = match item {
            Item::Range { start: None, stop: None, step: None } => {
                return Ok(Some(Part::Slice(SliceSpec::All)));
            }
            Item::Range { start, stop, step } => {
                let range = self.range([*start, *stop, *step], whole, span)?;
                return Ok(range.map(Part::Slice));
            }
            Item::At(id) => *id,
        };
        Ok(Some(match &self.values[id.0 as usize] {
            Value::Poison => return Ok(None),
            Value::None => Part::Slice(SliceSpec::NewAxis),
            Value::Ellipsis => Part::Rest,
            Value::Tensor(positions) => Part::Gather(*positions),
            value => match as_size(value) {
                Some(size) => Part::Slice(SliceSpec::At(size)),
                None => {
                    let expected = "an integer, a range, `None`, `...` or a tensor of integers";
                    return mistake(Problem::Kind { expected, found: value.describe() }, span);
                }
            },
        }))
    }

    /// A range. Python's ranges with a negative step go from the first index down to before the second; the graph's
    /// are the elements from `start` up to before `stop`, in reverse.
    fn range(&mut self, bounds: [Option<Id>; 3], whole: &Dim, span: Span) -> Resolved<Option<SliceSpec>> {
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

    /// Integers: one, or a list of them.
    pub(super) fn integers(&self, ids: &[Id]) -> Resolved<Vec<i64>> {
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

    /// Arguments, or the items of the list that the only argument is.
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
