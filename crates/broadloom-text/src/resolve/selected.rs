//! Elements that a mask selects, distinct elements, and sizes that computed numbers decide.

use super::call::Call;
use super::{Outcome, Resolver, Value, as_size};
use crate::names::{Selected, Several};
use crate::source::Span;
use crate::syntax::{Id, Item};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{Class, DType};
use broadloom_ir::graph::{Graph, IndexItem, Literal, LiteralRole, Site, SliceSpec, Unique};

impl Resolver<'_> {
    pub(super) fn selected(&mut self, function: Selected, call: &Call) -> Outcome<Option<ExprId>> {
        let span = call.span;
        if let Selected::Sets(op) = function {
            let operands = [call.all("x"), call.all("y")].concat();
            let Some(exprs) = self.operands_by(|_| LiteralRole::Own, &operands)? else { return Ok(None) };
            let [x, y] = exprs[..] else { return call.refuse("takes two operands") };
            return self.build(span, |graph, site| graph.set_operation(op, [x, y], site)).map(Some);
        }
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let made = match function {
            Selected::Compress | Selected::Extract => {
                let Some(condition) = self.operand(call, "condition")? else { return Ok(None) };
                let condition = self.truth(condition, span)?;
                match function {
                    Selected::Compress => {
                        let axis = self.axis(call)?;
                        self.build(span, |graph, site| {
                            let x = cut_to(graph, x, condition, axis, site);
                            graph.compress(x, condition, axis, site)
                        })
                    }
                    _ => self.build(span, |graph, site| {
                        let [x, condition] = [x, condition].map(|of| graph.reshape(of, &[None], site));
                        let x = cut_to(graph, x, condition, Some(0), site);
                        graph.compress(x, condition, Some(0), site)
                    }),
                }
            }
            Selected::FlatNonzero => self.build(span, |graph, site| graph.flatnonzero(x, site)),
            Selected::ArgWhere => self.build(span, |graph, site| graph.argwhere(x, site)),
            // As for the other functions of distinct elements.
            Selected::UniqueValues if self.texts.is_text(x) => Err(self.not_numbers(span)),
            Selected::UniqueValues => self.build(span, |graph, site| graph.unique(x, false, site).values),
            Selected::TrimZeros => {
                let sides = [("fb", [true, true]), ("f", [true, false]), ("b", [false, true])];
                let sides = self.meaning_of(call, "trim", sides)?.unwrap_or([true, true]);
                self.build(span, |graph, site| graph.trim_zeros(x, sides, site))
            }
            Selected::Sets(_) => return Ok(None),
        };
        made.map(Some)
    }

    /// `nonzero(x)` and `where(c)`: the positions along each axis.
    pub(super) fn nonzero(&mut self, call: &Call, operand: &'static str) -> Outcome<Option<Vec<ExprId>>> {
        let Some(x) = self.operand(call, operand)? else { return Ok(None) };
        let rank = self.graph.shape(x).rank().max(1);
        let mut positions = Vec::with_capacity(rank);
        for axis in 0..rank {
            positions.push(self.build(call.span, |graph, site| {
                let found = graph.nonzero(x, site);
                found[axis.min(found.len() - 1)]
            })?);
        }
        Ok(Some(positions))
    }

    /// `unique(x, return_counts=True)` and the functions of the array API, in which no NaN equals another.
    pub(super) fn unique(&mut self, function: Several, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let mut parts: Vec<fn(Unique) -> ExprId> = vec![|found| found.values];
        let mut equal_nan = false;
        match function {
            Several::UniqueCounts => parts.push(|found| found.counts),
            Several::UniqueInverse => parts.push(|found| found.inverse),
            Several::UniqueAll => {
                parts.push(|found| found.indices);
                parts.push(|found| found.inverse);
                parts.push(|found| found.counts);
            }
            _ => {
                if self.flag(call, "return_index")? {
                    parts.push(|found| found.indices);
                }
                if self.flag(call, "return_inverse")? {
                    parts.push(|found| found.inverse);
                }
                if self.flag(call, "return_counts")? {
                    parts.push(|found| found.counts);
                }
                equal_nan = self.flag_or(call, "equal_nan", true)?;
                if self.axis(call)?.is_some() {
                    return call.refuse("finds distinct elements, not distinct rows: leave out `axis`");
                }
            }
        }
        let mut results = Vec::with_capacity(parts.len());
        for part in parts {
            results.push(self.build(call.span, |graph, site| part(graph.unique(x, equal_nan, site)))?);
        }
        Ok(Some(results))
    }

    /// The mask that an item of an index is.
    pub(super) fn mask_of(&self, item: &Item) -> Option<ExprId> {
        let Item::At(id) = item else { return None };
        match *self.value(*id) {
            Value::Tensor(mask) if self.graph.dtype(mask) == DType::Bool => Some(mask),
            _ => None,
        }
    }

    /// The positions of a mask along each of its axes, which are those of the operand from `first` on.
    pub(super) fn places_of_mask(
        &mut self,
        operand: ExprId,
        mask: ExprId,
        first: usize,
        span: Span,
    ) -> Outcome<Vec<IndexItem>> {
        let count = self.graph.shape(mask).rank().max(1);
        let places = (0..count).map(|number| {
            let place = self.build(span, |graph, site| {
                let places = graph.positions_of_mask(operand, mask, first, site);
                places[number.min(places.len() - 1)]
            });
            place.map(IndexItem::Positions)
        });
        places.collect()
    }

    /// A size: of integers and symbols, or a computed integer, which each run finds out.
    pub(super) fn computed_size(&mut self, id: Id) -> Option<Outcome<Dim>> {
        let expr = match *self.value(id) {
            Value::Tensor(expr) | Value::Number(expr) => expr,
            _ => return None,
        };
        if self.graph.dtype(expr).class() != Class::Int || self.graph.shape(expr).rank() > 0 {
            return None;
        }
        let span = self.tree.span(id);
        if self.texts.is_text(expr) {
            return Some(Err(self.not_numbers(span)));
        }
        let mut size = Dim::ZERO;
        let built = self.build(span, |graph, site| {
            size = graph.size_of_value(expr, site);
            expr
        });
        Some(built.map(|_| size))
    }

    /// `as_size(n)`
    pub(super) fn as_size_value(&mut self, id: Id) -> Outcome<Value> {
        match as_size(self.value(id)) {
            Some(size) => Ok(Self::size_as_value(&size)),
            None => self.size(id).map(|size| Self::size_as_value(&size)),
        }
    }

    /// A flag that is set unless said.
    fn flag_or(&self, call: &Call, parameter: &str, otherwise: bool) -> Outcome<bool> {
        match call.get(parameter).map(|id| self.value(id)) {
            None => Ok(otherwise),
            Some(Value::Literal(Literal::Bool(value))) => Ok(*value),
            Some(_) => call.refuse(format!("takes `True` or `False` as `{parameter}`")),
        }
    }
}

/// As much of a tensor along an axis, or of a vector, as a condition of known size has elements: as in NumPy, a shorter one
/// selects none of the elements after it.
fn cut_to(graph: &mut Graph, x: ExprId, condition: ExprId, axis: Option<i64>, site: Site) -> ExprId {
    let (shape, given) = (graph.shape(x), graph.shape(condition));
    let axis = match axis {
        None if shape.rank() == 1 => 0,
        Some(axis) if axis < 0 => axis.saturating_add(shape.rank() as i64),
        Some(axis) => axis,
        None => return x,
    };
    let axis = usize::try_from(axis).unwrap_or(usize::MAX);
    let sizes = shape.get(axis).and_then(Dim::as_constant).zip(given.first().and_then(Dim::as_constant));
    match sizes {
        Some((whole, count)) if given.rank() == 1 && count < whole => {
            let mut parts = vec![SliceSpec::All; axis];
            parts.push(SliceSpec::Range { start: None, stop: Some(Dim::constant(count)), step: 1 });
            graph.slice(x, &parts, site)
        }
        _ => x,
    }
}
