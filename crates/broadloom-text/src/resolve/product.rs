//! Sums of products: `@`, the functions of two operands, and `einsum`.

use super::call::Call;
use super::{Outcome, Resolver, Value};
use crate::error::{Mistake, Problem};
use crate::names::ProductOf;
use crate::source::Span;
use crate::syntax::Id;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{Literal, Pairs, Product};

impl Resolver<'_> {
    /// A product of two operands; a number takes the dtype of the other operand.
    pub(super) fn product(&mut self, product: &Product, operands: &[Id], span: Span) -> Outcome<Value> {
        self.refuse_codes(None, operands)?;
        let Some(exprs) = self.tensors(operands)? else { return Ok(Value::Poison) };
        let [left, right] = exprs[..] else { return Ok(Value::Poison) };
        self.build(span, |graph, site| graph.product(product, [left, right], site)).map(Value::Tensor)
    }

    pub(super) fn apply_product(&mut self, product: ProductOf, call: &Call) -> Outcome<Option<ExprId>> {
        let product = match product {
            ProductOf::Matmul => Product::Matmul,
            ProductOf::Dot => Product::Dot,
            ProductOf::Vdot => Product::Vdot,
            ProductOf::Vecdot => Product::Vecdot(self.one_axis(call, -1)?),
            ProductOf::Inner => Product::Inner,
            ProductOf::Outer => Product::Outer,
            ProductOf::Tensordot => Product::Tensordot(self.pairs(call)?),
            ProductOf::Kron => Product::Kron,
        };
        let operands = [call.all("x"), call.all("y")].concat();
        let dtype = self.dtype(call)?;
        if let Some(dtype) = dtype {
            self.convert_operands(dtype, &operands, call)?;
        }
        let made = self.product(&product, &operands, call.span)?.expr();
        let made = match (&product, made) {
            (Product::Vecdot(axis), Some(made)) if self.flag(call, "keepdims")? => {
                Some(self.build(call.span, |graph, site| graph.expand_dims(made, &[*axis], site))?)
            }
            _ => made,
        };
        self.in_dtype(made, dtype, call)
    }

    /// `axes=2`, `axes=(0, 1)` or `axes=([0, 1], [1, 2])`.
    fn pairs(&self, call: &Call) -> Outcome<Pairs> {
        let Some(axes) = call.get("axes") else { return Ok(Pairs::Adjacent(2)) };
        match self.value(axes) {
            Value::Literal(Literal::Int(count)) if *count >= 0 => {
                Ok(Pairs::Adjacent(usize::try_from(*count).unwrap_or(usize::MAX)))
            }
            Value::List(sides) => {
                let [left, right] = sides[..] else {
                    return call.refuse(
                        "takes a number of axes, or the axes of both operands: `axes=([0, 1], [1, 2])`",
                    );
                };
                Ok(Pairs::Axes(self.integers(&[left])?, self.integers(&[right])?))
            }
            _ => call.refuse("takes a number of axes, or the axes of both operands: `axes=([0, 1], [1, 2])`"),
        }
    }

    /// `einsum('ij,jk->ik', a, b)`.
    pub(super) fn einsum(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let subscripts = match call.get("subscripts").map(|id| (self.value(id).clone(), self.tree.span(id))) {
            Some((Value::Text(text, _), _)) => text,
            Some((other, span)) => {
                let problem = Problem::Kind { expected: "subscripts in quotes", found: other.describe() };
                let help = "they come first, as in `einsum('ij,jk->ik', a, b)`";
                return Err(Box::new(Mistake::new(problem, span).help(help)));
            }
            None => return call.refuse("needs `subscripts`"),
        };
        let operands = call.all("operands");
        if operands.iter().any(|id| matches!(self.value(*id), Value::List(items) if items.is_empty())) {
            return call.refuse("needs a tensor for each term of its subscripts: `einsum('i,i->', x, y)`");
        }
        let Some(exprs) = self.tensors(operands)? else { return Ok(None) };
        self.build(call.span, |graph, site| graph.einsum(&subscripts, &exprs, site)).map(Some)
    }
}
