//! Derivatives: `grad(loss, (w, b))`, `vjp(y, x, cotangent)`, `jvp(y, x, tangent)`.

use super::call::Call;
use super::{Outcome, Resolver, Value};
use crate::names::Several;
use crate::syntax::Id;
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;

impl Resolver<'_> {
    /// Returns derivatives by a tensor, or by each of several.
    pub(super) fn derivatives(&mut self, function: Several, call: &Call) -> Outcome<Value> {
        let of = if function == Several::Grad { "loss" } else { "y" };
        let Some((by, is_list)) = self.one_or_more(call, "by")? else { return Ok(Value::Poison) };
        let Some(y) = self.operand(call, of)? else { return Ok(Value::Poison) };
        let cotangent = match function {
            Several::Grad => None,
            _ => match call.get("cotangent") {
                Some(id) => match self.tensor(id, self.graph.dtype(y))? {
                    Some(cotangent) => Some(cotangent),
                    None => return Ok(Value::Poison),
                },
                None => None,
            },
        };
        let mut results = Vec::new();
        let last = self.build(call.span, |graph, site| {
            results = match cotangent {
                Some(cotangent) => graph.vjp(y, cotangent, &by, site),
                None => graph.grad(y, &by, site),
            };
            results.last().copied().unwrap_or(y)
        })?;
        Ok(if is_list { Value::Several(results) } else { Value::Tensor(last) })
    }

    /// Returns the derivative along a direction.
    pub(super) fn directional(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let Some((by, _)) = self.one_or_more(call, "by")? else { return Ok(None) };
        let Some((tangents, _)) = self.one_or_more(call, "tangent")? else { return Ok(None) };
        let Some(y) = self.operand(call, "y")? else { return Ok(None) };
        if by.len() != tangents.len() {
            return call.refuse("takes one tangent for each tensor: `jvp(y, (w, b), (dw, db))`");
        }
        let along: Vec<(ExprId, ExprId)> = by.into_iter().zip(tangents).collect();
        self.build(call.span, |graph, site| graph.jvp(y, &along, site)).map(Some)
    }

    /// Returns the tensors of an argument, and whether it is a list of them.
    fn one_or_more(&mut self, call: &Call, parameter: &str) -> Outcome<Option<(Vec<ExprId>, bool)>> {
        let Some(id) = call.get(parameter) else { return Ok(None) };
        let (ids, is_list): (Vec<Id>, bool) = match self.value(id) {
            Value::List(items) => (items.clone(), true),
            Value::Several(results) => return Ok(Some((results.clone(), true))),
            _ => (vec![id], false),
        };
        if ids.is_empty() {
            return call.refuse("needs a tensor by which to derive");
        }
        let mut exprs = Vec::with_capacity(ids.len());
        for id in ids {
            match self.tensor(id, DType::F64)? {
                Some(expr) => exprs.push(expr),
                None => return Ok(None),
            }
        }
        Ok(Some((exprs, is_list)))
    }
}
