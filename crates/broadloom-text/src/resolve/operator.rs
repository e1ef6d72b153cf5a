//! Operators, on tensors, numbers and sizes.

use super::{Outcome, Resolver, Value, as_size, fold, mistake};
use crate::error::Problem;
use crate::source::Span;
use crate::syntax::{Id, Infix, Prefix};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, Literal, LiteralRole, Product};
use broadloom_ir::ops::Op;

impl Resolver<'_> {
    pub(super) fn prefix(&mut self, prefix: Prefix, operand: Id, span: Span) -> Outcome<Value> {
        match (&self.values[operand.0 as usize], prefix) {
            (Value::Poison, _) => return Ok(Value::Poison),
            (Value::Literal(literal), _) => {
                let literal = *literal;
                return fold::prefix(prefix, literal)
                    .map(Value::Literal)
                    .or_else(|what| mistake(Problem::Calculation { what }, span));
            }
            (Value::Size(size), Prefix::Negative) => {
                let size = size.clone();
                return self.arithmetic(span, || size.neg()).map(Value::Size);
            }
            (Value::Size(size), Prefix::Positive) => return Ok(Value::Size(size.clone())),
            _ => {}
        }
        let op = match prefix {
            Prefix::Negative => Op::Negative,
            Prefix::Positive => Op::Positive,
            Prefix::Invert => Op::BitwiseInvert,
        };
        self.elementwise(op, &[operand], span)
    }

    pub(super) fn infix(&mut self, infix: Infix, operands: [Id; 2], span: Span) -> Outcome<Value> {
        if operands.iter().any(|operand| *self.value(*operand) == Value::Poison) {
            return Ok(Value::Poison);
        }
        if matches!(infix, Infix::Equal | Infix::NotEqual) {
            self.encode_texts(operands)?;
        }
        let [left, right] = operands.map(|operand| self.values[operand.0 as usize].clone());
        if let (Value::Literal(left), Value::Literal(right)) = (&left, &right)
            && infix != Infix::MatMul
        {
            return fold::infix(infix, *left, *right)
                .map(Value::Literal)
                .or_else(|what| mistake(Problem::Calculation { what }, span));
        }
        if let (Some(left), Some(right)) = (as_size(&left), as_size(&right)) {
            let size = match (infix, right.as_constant()) {
                (Infix::Add, _) => Some(left.add(&right)),
                (Infix::Subtract, _) => Some(left.sub(&right)),
                (Infix::Multiply, _) => Some(left.mul(&right)),
                (Infix::FloorDivide, Some(k)) if k > 0 => Some(left.floor_div(k)),
                (Infix::Remainder, Some(k)) if k > 0 => return Ok(Value::Modulo(left, k)),
                _ => None,
            };
            if let Some(size) = size {
                return self.arithmetic(span, || size).map(Value::Size);
            }
        }
        let op = match infix {
            Infix::MatMul => return self.product(&Product::Matmul, &operands, span),
            Infix::Add => Op::Add,
            Infix::Subtract => Op::Subtract,
            Infix::Multiply => Op::Multiply,
            Infix::Divide => Op::Divide,
            Infix::FloorDivide => Op::FloorDivide,
            Infix::Remainder => Op::Remainder,
            Infix::Power => Op::Pow,
            Infix::And => Op::BitwiseAnd,
            Infix::Or => Op::BitwiseOr,
            Infix::Xor => Op::BitwiseXor,
            Infix::ShiftLeft => Op::BitwiseLeftShift,
            Infix::ShiftRight => Op::BitwiseRightShift,
            Infix::Equal => Op::Equal,
            Infix::NotEqual => Op::NotEqual,
            Infix::Less => Op::Less,
            Infix::LessEqual => Op::LessEqual,
            Infix::Greater => Op::Greater,
            Infix::GreaterEqual => Op::GreaterEqual,
        };
        // NumPy squares for the operator alone: `pow(x, 2)` of bool is an `i64`, as beside any other number.
        let value = match (op, &left, &right) {
            (Op::Pow, Value::Tensor(base), Value::Literal(Literal::Int(2)))
                if self.graph.dtype(*base) == DType::Bool =>
            {
                self.elementwise(Op::Square, &operands[..1], span)?
            }
            _ => self.elementwise(op, &operands, span)?,
        };
        Ok(self.number_of(infix, value, &[left, right]))
    }

    /// A row of the op table; operands that are numbers take the dtype of the tensors.
    pub(super) fn elementwise(&mut self, op: Op, operands: &[Id], span: Span) -> Outcome<Value> {
        self.elementwise_by(|position| LiteralRole::of(op, position), op, operands, span)
    }

    /// A row of the op table; numbers have the role of their position.
    pub(super) fn elementwise_by(
        &mut self,
        role: impl Fn(usize) -> LiteralRole,
        op: Op,
        operands: &[Id],
        span: Span,
    ) -> Outcome<Value> {
        self.refuse_codes(Some(op), operands)?;
        if let (Op::Pow, &[base, exponent]) = (op, operands)
            && let Value::Literal(exponent) = self.values[exponent.0 as usize]
            && let Some(base) = self.tensor(base, DType::Bool)?
        {
            let raise = |graph: &mut Graph, site| graph.power_literal(base, exponent, site);
            return self.build(span, raise).map(Value::Tensor);
        }
        let Some(exprs) = self.operands_by(role, operands)? else { return Ok(Value::Poison) };
        self.build(span, |graph, site| graph.elementwise(op, &exprs, site)).map(Value::Tensor)
    }
}
