//! What NumPy calls ufuncs: functions element by element, which may be told the dtype to compute in, and conditions.

use super::call::Call;
use super::{Outcome, Resolver, Value};
use crate::error::{Mistake, Problem};
use crate::source::Span;
use crate::syntax::Id;
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Composed, LiteralRole};
use broadloom_ir::ops::{Op, ResultRule};

impl Resolver<'_> {
    pub(super) fn apply_elementwise(&mut self, op: Op, call: &Call) -> Outcome<Option<ExprId>> {
        let operands = op.operands().iter();
        let ids: Vec<Id> = operands.filter_map(|operand| self.given(call, operand)).collect();
        if let (Op::Equal | Op::NotEqual, &[x, y]) = (op, &ids[..]) {
            self.encode_texts([x, y])?;
        }
        let dtype = self.dtype(call)?;
        // Operands of the dtype of a truth value or a count stay as they are.
        if let (Some(dtype), ResultRule::Same) = (dtype, op.result_rule()) {
            self.convert_operands(dtype, &ids, call)?;
        }
        let value = match (op, &ids[..]) {
            (Op::Round, _) => return self.round(call),
            (Op::Clip, [x, ..]) => match (self.given(call, "low"), self.given(call, "high")) {
                (Some(_), Some(_)) => self.elementwise(op, &ids, call.span)?,
                (Some(_), None) => self.elementwise_by(|_| LiteralRole::Low, Op::Maximum, &ids, call.span)?,
                (None, Some(_)) => {
                    self.elementwise_by(|_| LiteralRole::High, Op::Minimum, &ids, call.span)?
                }
                (None, None) => return self.tensor(*x, DType::Bool),
            },
            _ => match self.axis(call)? {
                Some(axis) => return self.placed(op, &ids, axis, call),
                None => self.elementwise(op, &ids, call.span)?,
            },
        };
        self.in_dtype(value.expr(), dtype, call)
    }

    /// Builds an op that aligns its smaller operand at an axis of the other.
    fn placed(&mut self, op: Op, ids: &[Id], axis: i64, call: &Call) -> Outcome<Option<ExprId>> {
        let Some(exprs) = self.tensors(ids)? else { return Ok(None) };
        let [left, right] = exprs[..] else { return call.refuse("takes two operands") };
        self.build(call.span, |graph, site| graph.elementwise_at(op, [left, right], axis, site)).map(Some)
    }

    pub(super) fn apply_composed(&mut self, composed: Composed, call: &Call) -> Outcome<Option<ExprId>> {
        let ids: Vec<_> = composed.operands().iter().filter_map(|operand| call.get(operand)).collect();
        let dtype = self.dtype(call)?;
        if let Some(dtype) = dtype.filter(|dtype| dtype.is_float()) {
            // An exponent is an integer, whatever the dtype of the other operand.
            let converted = if composed == Composed::Ldexp { &ids[..ids.len().min(1)] } else { &ids };
            self.convert_operands(dtype, converted, call)?;
        }
        let exprs = match (composed, &ids[..]) {
            (Composed::Ldexp, [x, y]) => {
                self.tensor(*x, DType::Bool)?.zip(self.tensor(*y, DType::Bool)?).map(|(x, y)| vec![x, y])
            }
            _ => self.operands_by(|_| composed.literal_role(), &ids)?,
        };
        let Some(exprs) = exprs else { return Ok(None) };
        let made = self.build(call.span, |graph, site| graph.composed(composed, &exprs, site))?;
        self.in_dtype(Some(made), dtype, call)
    }

    /// Converts operands to the dtype to compute in, as NumPy does before it computes: never to a smaller kind of numbers,
    /// such as floats to integers.
    pub(super) fn convert_operands(&mut self, dtype: DType, ids: &[Id], call: &Call) -> Outcome<()> {
        for (position, id) in ids.iter().enumerate() {
            let span = self.tree.span(*id);
            let from = match *self.value(*id) {
                // It takes the dtype of the first operand, which does not stay a number.
                Value::Literal(literal) if position > 0 => literal.dtype(dtype),
                _ => match self.tensor(*id, dtype)? {
                    Some(expr) => {
                        let from = self.graph.dtype(expr);
                        let converted = self.build(span, |graph, site| graph.cast(expr, dtype, site))?;
                        self.values[id.0 as usize] = Value::Tensor(converted);
                        from
                    }
                    None => {
                        self.values[id.0 as usize] = Value::Poison;
                        continue;
                    }
                },
            };
            if kind(from) > kind(dtype) {
                let what = format!("does not convert {from} to {dtype} by itself").into();
                let help = format!("convert the operand: `.astype({dtype})`");
                let problem = Problem::Argument { function: call.function.clone(), what };
                return Err(Box::new(Mistake::new(problem, span).help(help)));
            }
        }
        Ok(())
    }

    /// Returns a result, which must have the dtype argument if there is one.
    pub(super) fn in_dtype(
        &self,
        made: Option<ExprId>,
        dtype: Option<DType>,
        call: &Call,
    ) -> Outcome<Option<ExprId>> {
        let (Some(expr), Some(dtype)) = (made, dtype) else { return Ok(made) };
        let found = self.graph.dtype(expr);
        if found == dtype || self.graph.is_poisoned(expr) {
            return Ok(made);
        }
        let what = format!("has results of {found}, and none of {dtype}").into();
        let help = format!("convert the result: `.astype({dtype})`");
        let problem = Problem::Argument { function: call.function.clone(), what };
        Err(Box::new(Mistake::new(problem, call.span).help(help)))
    }

    /// Resolves `x.view(u8)`. The bits of floats are not available: which ones a NaN has depends on the machine code that
    /// computed it.
    pub(super) fn bits(&mut self, x: ExprId, call: &Call) -> Outcome<Option<ExprId>> {
        let Some(to) = self.dtype(call)? else { return call.refuse("needs `dtype`") };
        if let Some(id) = call.get("x").filter(|_| self.texts.is_text(x)) {
            return Err(self.not_numbers(self.tree.span(id)));
        }
        let from = self.graph.dtype(x);
        let (what, help) = if from.size() != to.size() {
            let what =
                format!("keeps the bytes of an element: {from} has {}, and {to} {}", from.size(), to.size());
            (what, format!("to convert the numbers, write `.astype({to})`"))
        } else if from != to && (from.is_float() || to.is_float()) {
            let what = format!("does not read {from} as {to}: a NaN that is computed has no certain bits");
            (
                what,
                format!("pass an input that is {to} already; to convert the numbers, write `.astype({to})`"),
            )
        } else if from != to && to == DType::Bool {
            ("has no bool for numbers other than 0 and 1".to_owned(), "write `x != 0`".to_owned())
        } else {
            return self.build(call.span, |graph, site| graph.cast(x, to, site)).map(Some);
        };
        let problem = Problem::Argument { function: call.function.clone(), what: what.into() };
        Err(Box::new(Mistake::new(problem, call.span).help(help)))
    }

    /// Returns whether elements are true, which are those that are not zero.
    pub(super) fn truth(&mut self, condition: ExprId, span: Span) -> Outcome<ExprId> {
        self.build(span, |graph, site| graph.cast(condition, DType::Bool, site))
    }
}

/// The kinds of numbers in the order in which NumPy converts by itself.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        dtype if dtype.is_float() => 3,
        dtype if dtype.is_signed_integer() => 2,
        _ => 1,
    }
}
