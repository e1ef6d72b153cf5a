//! Values as operands: tensors, sizes, and numbers that take the dtype of what they meet.

use super::{Outcome, Resolver, Value, refused};
use crate::error::{Limit, Mistake, Problem};
use crate::source::Span;
use crate::syntax::Id;
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Problem as GraphProblem;
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, Literal, LiteralRole, Site};
use broadloom_ir::ops::Op;

impl Resolver<'_> {
    /// The operands as tensors, unless one is poisoned; numbers take the common dtype of the others.
    pub(super) fn tensors(&mut self, operands: &[Id]) -> Outcome<Option<Vec<ExprId>>> {
        self.operands_by(|_| LiteralRole::Value, operands)
    }

    /// Like [`Self::tensors`], where numbers are compared with the elements of the tensors.
    pub(super) fn compared(&mut self, operands: &[Id]) -> Outcome<Option<Vec<ExprId>>> {
        self.operands_by(|_| LiteralRole::Compared, operands)
    }

    /// Like [`Self::tensors`]; numbers have the role of their position.
    pub(super) fn operands_by(
        &mut self,
        role: impl Fn(usize) -> LiteralRole,
        operands: &[Id],
    ) -> Outcome<Option<Vec<ExprId>>> {
        for operand in operands {
            if let Value::List(_) = self.value(*operand)
                && let Some(expr) = self.tensor(*operand, DType::Bool)?
            {
                self.values[operand.0 as usize] = Value::Tensor(expr);
            }
        }
        let dtype = |operand: &Id| match self.value(*operand) {
            Value::Tensor(expr) => Some(self.graph.dtype(*expr)),
            _ => None,
        };
        let number = |operand: &Id| match self.value(*operand) {
            Value::Size(_) | Value::Modulo(..) => Some(DType::I64),
            Value::Number(expr) => Some(self.graph.dtype(*expr)),
            _ => None,
        };
        // Sizes and results computed from them take the dtype of floats, as Python's numbers do, but not that of
        // integers, which may be too small.
        let met = DType::promote_all(operands.iter().filter_map(dtype));
        let meets = match met {
            Some(met) if met.is_float() => met,
            _ => DType::promote_all(met.into_iter().chain(operands.iter().filter_map(number)))
                .unwrap_or(DType::Bool),
        };
        let mut exprs = Vec::with_capacity(operands.len());
        for (position, operand) in operands.iter().enumerate() {
            let expr = match *self.value(*operand) {
                Value::Literal(literal) => {
                    let (span, role) = (self.tree.span(*operand), role(position));
                    let expr =
                        self.build(span, |graph, site| graph.operand_literal(role, literal, meets, site))?;
                    (!self.graph.is_poisoned(expr)).then_some(expr)
                }
                _ => self.tensor(*operand, role(position).of_run(meets))?,
            };
            let Some(expr) = expr else { return Ok(None) };
            exprs.push(expr);
        }
        Ok(Some(exprs))
    }

    /// The value as a tensor, unless it is poisoned; a number takes the given dtype.
    pub(super) fn tensor(&mut self, id: Id, meets: DType) -> Outcome<Option<ExprId>> {
        let span = self.tree.span(id);
        let expr = match self.values[id.0 as usize].clone() {
            Value::Poison => return Ok(None),
            Value::Tensor(expr) => expr,
            Value::Literal(literal) => self.build(span, |graph, site| graph.literal(literal, meets, site))?,
            Value::Size(size) => {
                let size = self.build(span, |graph, site| graph.size_value(size, site))?;
                self.as_float(size, meets, span)?
            }
            Value::Number(expr) => self.as_float(expr, meets, span)?,
            Value::Modulo(size, of) => self.build(span, |graph, site| {
                let size = graph.size_value(size, site);
                let of = graph.literal(Literal::Int(of.into()), DType::I64, site);
                graph.elementwise(Op::Remainder, &[size, of], site)
            })?,
            Value::List(_) if let Some(array) = self.numbers(id, None)? => array,
            Value::Text(text, kind) => return Err(self.stray_text(text, kind, span)),
            Value::Several(_) => return self.stray_results(span),
            Value::At(_) | Value::Region(_) => return self.stray_region(span),
            other @ (Value::List(_) | Value::Sizes(_) | Value::DType(_) | Value::None | Value::Ellipsis) => {
                let problem = Problem::Kind { expected: "a tensor or a number", found: other.describe() };
                let mistake = Mistake::new(problem, span);
                return Err(Box::new(match other {
                    Value::List(_) => mistake.help("to make one tensor from several, write `stack([a, b])`"),
                    _ => mistake,
                }));
            }
        };
        Ok((!self.graph.is_poisoned(expr)).then_some(expr))
    }

    /// A number in the dtype of the floats beside it.
    pub(super) fn as_float(&mut self, expr: ExprId, meets: DType, span: Span) -> Outcome<ExprId> {
        if !meets.is_float() {
            return Ok(expr);
        }
        self.build(span, |graph, site| graph.cast(expr, meets, site))
    }

    pub(super) fn value(&self, id: Id) -> &Value {
        &self.values[id.0 as usize]
    }

    pub(super) fn size(&mut self, id: Id) -> Outcome<Dim> {
        if let Some(size) = self.computed_size(id) {
            return size;
        }
        let value = &self.values[id.0 as usize];
        match as_size(value) {
            Some(size) => Ok(size),
            None => {
                let problem = Problem::Kind { expected: "a size", found: value.describe() };
                let help =
                    "a size is made of integers, symbols and `+ - * //`, or a computed integer without axes";
                Err(Box::new(Mistake::new(problem, self.tree.span(id)).help(help)))
            }
        }
    }

    /// Does arithmetic on sizes, which may overflow.
    pub(super) fn arithmetic(
        &self,
        span: Span,
        compute: impl FnOnce() -> Result<Dim, DimError>,
    ) -> Outcome<Dim> {
        compute().map_err(|error| refused(GraphProblem::Size(error), Some("size"), span))
    }

    /// Calls the builder, as long as the graph accepts requests.
    pub(super) fn build(
        &mut self,
        span: Span,
        action: impl FnOnce(&mut Graph, Site) -> ExprId,
    ) -> Outcome<ExprId> {
        let site = self.sites.site(span);
        let expr = action(&mut self.graph, site);
        match self.graph.is_exhausted() {
            true => Err(Box::new(Mistake::limit(Limit::Nodes, self.limits.nodes, span))),
            false => Ok(expr),
        }
    }
}

/// A size, or an integer as one.
pub(super) fn as_size(value: &Value) -> Option<Dim> {
    match value {
        Value::Size(size) => Some(size.clone()),
        Value::Literal(Literal::Int(value)) => i64::try_from(*value).ok().map(Dim::constant),
        _ => None,
    }
}
