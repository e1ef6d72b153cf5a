//! Changed tensors: `x.at[1:-1].set(v)`.

use super::value::{Chosen, Region};
use super::{Outcome, Resolver, Value};
use crate::error::{Mistake, NameOf, Problem};
use crate::names;
use crate::source::Span;
use crate::syntax::{Argument, Id, Item, Name};
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;

/// The methods of a region, with their ops; `set` replaces the elements.
const METHODS: [(&str, Option<Op>); 7] = [
    ("set", None),
    ("add", Some(Op::Add)),
    ("subtract", Some(Op::Subtract)),
    ("multiply", Some(Op::Multiply)),
    ("divide", Some(Op::Divide)),
    ("minimum", Some(Op::Minimum)),
    ("maximum", Some(Op::Maximum)),
];

/// The method of a region with this name.
pub(super) fn method(name: &Name) -> Option<(&'static str, Option<Op>)> {
    METHODS.iter().find(|(method, _)| *method == &*name.text).copied()
}

impl Resolver<'_> {
    /// `x.at[items]`
    pub(super) fn region(&mut self, tensor: ExprId, items: &[(Item, Span)]) -> Outcome<Value> {
        if let [(Item::At(id), _)] = items
            && let Value::Tensor(mask) = *self.value(*id)
            && self.graph.dtype(mask) == DType::Bool
        {
            return Ok(Value::Region(Region { tensor, chosen: Chosen::Mask(mask) }));
        }
        let Some(parts) = self.parts(tensor, items)? else { return Ok(Value::Poison) };
        Ok(Value::Region(Region { tensor, chosen: Chosen::Items(parts) }))
    }

    /// `x.at[items].name(arguments)`
    pub(super) fn change(
        &mut self,
        region: Region,
        name: &Name,
        receiver: Id,
        arguments: &[Argument],
        span: Span,
    ) -> Outcome<Value> {
        let Some((method, op)) = method(name) else {
            let problem = Problem::Unknown { of: NameOf::Method, name: name.text.clone() };
            let near = names::nearest(&name.text, METHODS.iter().map(|(method, _)| *method));
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    "elements change by `.set(v)`, `.add(v)`, `.subtract(v)`, `.multiply(v)`, `.divide(v)`, \
                         `.minimum(v)` or `.maximum(v)`"
                        .to_owned()
                }
            };
            return Err(Box::new(Mistake::new(problem, name.span).help(help)));
        };
        let call = self.bind(method, &["x", "value"], None, Some(receiver), arguments, span)?;
        let Some(value) = call.get("value") else { return Ok(Value::Poison) };
        let Region { tensor, chosen } = region;
        let Some(value) = self.tensor(value, self.graph.dtype(tensor))? else { return Ok(Value::Poison) };
        let changed = self.build(span, |graph, site| match (&chosen, op) {
            (Chosen::Items(items), None) => graph.set_index(tensor, items, value, site),
            (Chosen::Items(items), Some(op)) => graph.set_op_index(op, tensor, items, value, site),
            (Chosen::Mask(mask), None) => graph.set_where(tensor, *mask, value, site),
            (Chosen::Mask(mask), Some(op)) => graph.set_op_where(op, tensor, *mask, value, site),
        });
        changed.map(Value::Tensor)
    }

    /// The mistake of elements to change that are used as a tensor.
    pub(super) fn stray_region<T>(&self, span: Span) -> Outcome<T> {
        let problem = Problem::Kind { expected: "a tensor or a number", found: "elements to change" };
        Err(Box::new(Mistake::new(problem, span).help("to change them, write `x.at[..].set(v)`")))
    }
}
