//! Sorting and functions that need it: sorts, places in a sorted table, medians and quantiles.

use super::call::Call;
use super::{Outcome, Resolver, Value};
use broadloom_ir::ExprId;
use broadloom_ir::graph::{LiteralRole, QuantileMethod, Quantiles};

impl Resolver<'_> {
    /// Resolves `sort(x)`, `sort(x, axis=None)`, `sort(x, axis=0, descending=True)`.
    pub(super) fn sort(&mut self, indices: bool, call: &Call) -> Outcome<Option<ExprId>> {
        // Every sort is stable.
        let kinds = ["quicksort", "mergesort", "heapsort", "stable"];
        self.meaning_of(call, "kind", kinds.iter().map(|kind| (*kind, ())))?;
        if self.given(call, "stable").is_some() {
            self.flag(call, "stable")?;
        }
        let descending = self.flag(call, "descending")?;
        let sorted = self.sorted(indices, descending, call)?;
        Ok(sorted.map(|(sorted, _)| sorted))
    }

    /// Resolves `partition(x, 3)`, `argpartition(x, (1, -2), axis=0)`: sorts, which puts every position in its place.
    pub(super) fn partition(&mut self, indices: bool, call: &Call) -> Outcome<Option<ExprId>> {
        self.meaning_of(call, "kind", [("introselect", ())])?;
        let positions = self.integers(call.all("kth"))?;
        let Some((sorted, axis)) = self.sorted(indices, false, call)? else { return Ok(None) };
        let shape = self.graph.shape(sorted);
        // Without an axis, the result has only one.
        let along = axis.unwrap_or(0);
        let along = if along < 0 { along + shape.rank() as i64 } else { along };
        let length = usize::try_from(along).ok().and_then(|along| shape.get(along)?.as_constant());
        if let Some(length) = length
            && let Some(kth) = positions.iter().find(|kth| !(-length..length).contains(*kth))
        {
            return call.refuse(format!("has no position {kth} among {length} elements"));
        }
        Ok(Some(sorted))
    }

    /// Returns the elements of the call in order, or their positions, and the axis along which they are.
    fn sorted(
        &mut self,
        indices: bool,
        descending: bool,
        call: &Call,
    ) -> Outcome<Option<(ExprId, Option<i64>)>> {
        let axis = if call.get("axis").is_some() { self.axis(call)? } else { Some(-1) };
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let sorted = self.build(call.span, |graph, site| match indices {
            true => graph.argsort(x, axis, descending, site),
            false => graph.sort(x, axis, descending, site),
        });
        sorted.map(|sorted| Some((sorted, axis)))
    }

    /// Resolves `searchsorted(bounds, x, side='right')`.
    pub(super) fn search(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let right = self.meaning_of(call, "side", [("left", false), ("right", true)])?.unwrap_or(false);
        let operands = [call.all("x"), call.all("v")].concat();
        let Some(exprs) = self.operands_by(|_| LiteralRole::Searched, &operands)? else { return Ok(None) };
        let [table, values] = exprs[..] else { return call.refuse("takes a table and values") };
        self.build(call.span, |graph, site| graph.searchsorted(table, values, right, site)).map(Some)
    }

    pub(super) fn median(&mut self, numbers: bool, call: &Call) -> Outcome<Option<ExprId>> {
        let (axes, keepdims) = (self.axes(call)?, self.flag(call, "keepdims")?);
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let median =
            self.build(call.span, |graph, site| graph.median(x, axes.as_deref(), numbers, keepdims, site));
        median.map(Some)
    }

    /// Resolves `quantile(x, 0.5)`, `quantile(x, [0.25, 0.75], axis=0, method='lower')`.
    pub(super) fn quantile(&mut self, percents: bool, numbers: bool, call: &Call) -> Outcome<Option<ExprId>> {
        let methods = QuantileMethod::ALL.iter().map(|method| (method.name(), *method));
        let method = self.meaning_of(call, "method", methods)?.unwrap_or_default();
        let (axes, keepdims) = (self.axes(call)?, self.flag(call, "keepdims")?);
        let given = call.all("q");
        let several = given.first().is_some_and(|id| matches!(self.value(*id), Value::List(_)));
        let mut at = Vec::new();
        for id in self.flattened(given) {
            match self.value(id).number() {
                Some(number) => at.push(number),
                None => return call.refuse("takes a number as `q`, or a list of numbers: `[0.25, 0.75]`"),
            }
        }
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let quantile = self.build(call.span, |graph, site| {
            let quantiles = Quantiles { at: &at, several, percents, method, numbers };
            graph.quantile(x, quantiles, axes.as_deref(), keepdims, site)
        });
        quantile.map(Some)
    }
}
