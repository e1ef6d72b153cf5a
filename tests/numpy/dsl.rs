//! From the notation to tensors, as one would write them in Rust.

use crate::build::{float, integer, integers, pairs, text};
use crate::expression::Expression;
use crate::table::dtype_of;
use broadloom::prelude::*;
use broadloom::{IntoAxes, NewSize, Op, Operand, SliceItem};
use broadloom_ir::for_each_op;
use std::collections::HashMap;

/// Writes expressions; what has no form in Rust is `None`: an op whose first operand is a number and that is no
/// operator.
pub struct Writer<'a> {
    pub graph: &'a Graph,
    pub inputs: &'a HashMap<String, Tensor>,
}

/// Axes of a reduction; none are all.
struct Over(Option<Vec<i64>>);

impl IntoAxes for Over {
    fn into_axes(self) -> Option<Vec<i64>> {
        self.0
    }
}

/// The method of a row.
macro_rules! apply_ops {
    ($($(#[doc = $doc:literal])+ $name:ident = $variant:ident $operands:tt: $domain:ident -> $rule:ident
        { $($class:ident: $meaning:expr),* } $(tile $tile:ident)?
        by |$result:pat_param| $derivatives:tt)*) => {
        fn apply(op: Op, x: Tensor, others: &[Operand]) -> Tensor {
            match op { $(Op::$variant => apply_ops!(@call $name $operands x others),)* }
        }
    };
    (@call $name:ident ($a:ident) $x:ident $others:ident) => { $x.$name() };
    (@call $name:ident ($a:ident, $b:ident) $x:ident $others:ident) => { $x.$name($others[0]) };
    (@call $name:ident ($a:ident, $b:ident, $c:ident) $x:ident $others:ident) => {
        $x.$name($others[0], $others[1])
    };
}
for_each_op!(apply_ops);

/// Both forms of a reduction, without and with `keepdims`.
macro_rules! reductions {
    ($($name:ident $keepdims:ident;)*) => {
        fn reduce(name: &str, x: Tensor, over: Over, keepdims: bool) -> Option<Tensor> {
            Some(match (name, keepdims) {
                $((stringify!($name), false) => x.$name(over), (stringify!($name), true) => x.$keepdims(over),)*
                _ => return None,
            })
        }
    };
}
reductions! {
    sum sum_keepdims;
    prod prod_keepdims;
    min min_keepdims;
    max max_keepdims;
    mean mean_keepdims;
    argmin argmin_keepdims;
    argmax argmax_keepdims;
    any any_keepdims;
    all all_keepdims;
    count_nonzero count_nonzero_keepdims;
    logsumexp logsumexp_keepdims;
    var var_keepdims;
    std std_keepdims;
}

/// A number, if the expression is one.
fn number(expression: &Expression) -> Option<Operand> {
    Some(match expression {
        Expression::Bool(value) => Operand::from(*value),
        Expression::Int(value) => match i64::try_from(*value) {
            Ok(value) => Operand::from(value),
            Err(_) => Operand::from(u64::try_from(*value).ok()?),
        },
        Expression::Float(value) => Operand::from(*value),
        _ => return None,
    })
}

fn item(expression: &Expression) -> SliceItem {
    match expression {
        Expression::Name(name) if name == "whole" => SliceItem::from(..),
        Expression::Name(_) => SliceItem::NEW_AXIS,
        Expression::Call { name, arguments, .. } if name == "at" => SliceItem::from(integer(&arguments[0])),
        Expression::Call { arguments, .. } => {
            let bound = |bound: &Expression| (*bound != Expression::Nothing).then(|| integer(bound));
            let range = match (bound(&arguments[0]), bound(&arguments[1])) {
                (None, None) => SliceItem::from(..),
                (Some(start), None) => SliceItem::from(start..),
                (None, Some(stop)) => SliceItem::from(..stop),
                (Some(start), Some(stop)) => SliceItem::from(start..stop),
            };
            range.step(integer(&arguments[2]))
        }
        other => panic!("{other:?} is no part of an axis"),
    }
}

impl Writer<'_> {
    /// The tensor of an expression.
    pub fn tensor(&self, expression: &Expression) -> Option<Tensor> {
        match expression {
            Expression::Name(name) => Some(self.inputs[name]),
            Expression::Call { name, arguments, named } => self.call(name, arguments, named),
            other => panic!("{other:?} is no tensor"),
        }
    }

    fn tensors(&self, expression: &Expression) -> Option<Vec<Tensor>> {
        match expression {
            Expression::List(values) => values.iter().map(|value| self.tensor(value)).collect(),
            other => panic!("{other:?} is no list"),
        }
    }

    fn operand(&self, expression: &Expression) -> Option<Operand> {
        number(expression).or_else(|| self.tensor(expression).map(Operand::from))
    }

    fn call(&self, name: &str, arguments: &[Expression], named: &[(String, Expression)]) -> Option<Tensor> {
        if let Some(op) = Op::from_name(name) {
            return self.elementwise(op, arguments);
        }
        match name {
            "select" => {
                let condition = self.tensor(&arguments[0])?;
                return Some(select(condition, self.operand(&arguments[1])?, self.operand(&arguments[2])?));
            }
            "concat" => return Some(concat(self.tensors(&arguments[0])?, integer(&arguments[1]))),
            "stack" => return Some(stack(self.tensors(&arguments[0])?, integer(&arguments[1]))),
            "einsum" => return Some(einsum(text(&arguments[0]), self.tensors(&arguments[1])?)),
            "iota" => return Some(self.graph.iota(integer(&arguments[0]))),
            "linspace" => {
                let (start, stop) = (float(&arguments[0]), float(&arguments[1]));
                return Some(self.graph.linspace(start, stop, integer(&arguments[2])));
            }
            _ => {}
        }
        let x = self.tensor(&arguments[0])?;
        let axes = |at: usize| integers(&arguments[at]);
        Some(match name {
            "cast" => {
                let Expression::Name(name) = &arguments[1] else { panic!("the name of a dtype") };
                x.cast_to(dtype_of(name))
            }
            "matmul" => x.matmul(self.tensor(&arguments[1])?),
            "dot" => x.dot(self.tensor(&arguments[1])?),
            "vdot" => x.vdot(self.tensor(&arguments[1])?),
            "inner" => x.inner(self.tensor(&arguments[1])?),
            "outer" => x.outer(self.tensor(&arguments[1])?),
            "kron" => x.kron(self.tensor(&arguments[1])?),
            "vecdot" => x.vecdot(self.tensor(&arguments[1])?, integer(&arguments[2])),
            "tensordot" => {
                let y = self.tensor(&arguments[1])?;
                match pairs(&arguments[2]) {
                    Ok(count) => x.tensordot(y, count),
                    Err([left, right]) => x.tensordot(y, (left, right)),
                }
            }
            "take" => x.take(self.tensor(&arguments[1])?, integer(&arguments[2])),
            "topk" | "argtopk" => {
                // Counts below zero are none of the DSL; 0 is refused as well.
                let k = usize::try_from(integer(&arguments[1])).unwrap_or(0);
                let axis = integer(&arguments[2]);
                let (values, indices) = match arguments[3] {
                    Expression::Bool(true) => x.topk(k, axis),
                    _ => x.topk_smallest(k, axis),
                };
                if name == "topk" { values } else { indices }
            }
            // Orders below zero are none of the DSL; those that are too high are refused as well.
            "diff" => {
                let order = usize::try_from(integer(&arguments[1])).unwrap_or(usize::MAX);
                x.diff(order, integer(&arguments[2]))
            }
            "segment_count" => x.segment_count(integer(&arguments[1])),
            "segment_sum" => x.segment_sum(self.tensor(&arguments[1])?, integer(&arguments[2])),
            "segment_min" => x.segment_min(self.tensor(&arguments[1])?, integer(&arguments[2])),
            "segment_max" => x.segment_max(self.tensor(&arguments[1])?, integer(&arguments[2])),
            "segment_mean" => x.segment_mean(self.tensor(&arguments[1])?, integer(&arguments[2])),
            "reshape" => x.reshape(&axes(1).into_iter().map(NewSize::from).collect::<Vec<_>>()[..]),
            "permute" => x.permute_dims(axes(1)),
            "expand_dims" => x.expand_dims(axes(1)),
            "squeeze" => x.squeeze(axes(1)),
            "broadcast_to" => x.broadcast_to(axes(1)),
            "flip" => x.flip(integer(&arguments[1])),
            "slice" => x.slice(arguments[1..].iter().map(item).collect::<Vec<_>>()),
            _ => statistic(name, x, arguments, named)?,
        })
    }

    fn elementwise(&self, op: Op, arguments: &[Expression]) -> Option<Tensor> {
        if let Some(left) = number(&arguments[0]) {
            let y = self.tensor(arguments.get(1)?)?;
            return Some(match op {
                Op::Add => left + y,
                Op::Subtract => left - y,
                Op::Multiply => left * y,
                Op::Divide => left / y,
                Op::Remainder => left % y,
                Op::BitwiseAnd => left & y,
                Op::BitwiseOr => left | y,
                Op::BitwiseXor => left ^ y,
                Op::BitwiseLeftShift => left << y,
                Op::BitwiseRightShift => left >> y,
                _ => return None,
            });
        }
        let x = self.tensor(&arguments[0])?;
        let others: Option<Vec<Operand>> = arguments[1..].iter().map(|other| self.operand(other)).collect();
        Some(apply(op, x, &others?))
    }
}

/// Reductions and what is made of them.
fn statistic(
    name: &str,
    x: Tensor,
    arguments: &[Expression],
    named: &[(String, Expression)],
) -> Option<Tensor> {
    let named = |wanted: &str| named.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let over = Over(named("axes").filter(|axes| **axes != Expression::Nothing).map(integers));
    let keepdims = named("keepdims") == Some(&Expression::Bool(true));
    if let Some(correction) = named("correction").map(float) {
        return Some(match (name, keepdims) {
            ("var", false) => x.var_with_correction(over, correction),
            ("var", true) => x.var_with_correction_keepdims(over, correction),
            ("std", false) => x.std_with_correction(over, correction),
            ("std", true) => x.std_with_correction_keepdims(over, correction),
            _ => panic!("{name} has no correction"),
        });
    }
    match name {
        "softmax" => Some(x.softmax(over)),
        "log_softmax" => Some(x.log_softmax(over)),
        "norm" => {
            let norm = match &arguments[1] {
                Expression::Int(1) => Norm::One,
                Expression::Int(2) => Norm::Two,
                _ => Norm::Infinity,
            };
            Some(if keepdims { x.norm_keepdims(norm, over) } else { x.norm(norm, over) })
        }
        _ => Some(reduce(name, x, over, keepdims).unwrap_or_else(|| panic!("{name} is not in the notation"))),
    }
}
