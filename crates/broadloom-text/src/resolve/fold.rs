//! Operations on numbers alone, which stay numbers without a dtype: as in Python, with integers of 128 bits.

use crate::syntax::{Infix, Prefix};
use broadloom_ir::graph::Literal;

type Folded = Result<Literal, &'static str>;

const OVERFLOW: &str = "the result is out of range";
const BY_ZERO: &str = "division by zero";
const NOT_INTEGERS: &str = "bitwise operators need integers";

/// Widest shift.
const MAX_SHIFT: i128 = 127;

pub(super) fn prefix(prefix: Prefix, operand: Literal) -> Folded {
    match (prefix, operand) {
        (Prefix::Invert, Literal::Bool(value)) => Ok(Literal::Bool(!value)),
        (Prefix::Invert, Literal::Int(value)) => Ok(Literal::Int(!value)),
        (Prefix::Invert, Literal::Float(_)) => Err(NOT_INTEGERS),
        (Prefix::Negative, Literal::Float(value)) => Ok(Literal::Float(-value)),
        (Prefix::Positive, Literal::Float(value)) => Ok(Literal::Float(value)),
        (Prefix::Negative, operand) => integer(operand)?.checked_neg().map(Literal::Int).ok_or(OVERFLOW),
        (Prefix::Positive, operand) => Ok(Literal::Int(integer(operand)?)),
    }
}

pub(super) fn infix(infix: Infix, left: Literal, right: Literal) -> Folded {
    match infix {
        Infix::And | Infix::Or | Infix::Xor => bits(infix, left, right),
        Infix::ShiftLeft | Infix::ShiftRight => shift(infix, integer(left)?, integer(right)?),
        Infix::Divide => {
            let (left, right) = (left.to_f64(), right.to_f64());
            if right == 0.0 { Err(BY_ZERO) } else { finite(left / right, left, right) }
        }
        _ => match (left, right) {
            (Literal::Float(_), _) | (_, Literal::Float(_)) => floats(infix, left.to_f64(), right.to_f64()),
            _ => integers(infix, integer(left)?, integer(right)?),
        },
    }
}

fn integer(literal: Literal) -> Result<i128, &'static str> {
    match literal {
        Literal::Bool(value) => Ok(value.into()),
        Literal::Int(value) => Ok(value),
        Literal::Float(_) => Err(NOT_INTEGERS),
    }
}

/// A result that is infinite only if an operand is.
fn finite(result: f64, left: f64, right: f64) -> Folded {
    let overflows = result.is_infinite() && left.is_finite() && right.is_finite();
    if overflows { Err(OVERFLOW) } else { Ok(Literal::Float(result)) }
}

fn bits(infix: Infix, left: Literal, right: Literal) -> Folded {
    if let (Literal::Bool(left), Literal::Bool(right)) = (left, right) {
        return Ok(Literal::Bool(match infix {
            Infix::And => left & right,
            Infix::Or => left | right,
            _ => left ^ right,
        }));
    }
    let (left, right) = (integer(left)?, integer(right)?);
    Ok(Literal::Int(match infix {
        Infix::And => left & right,
        Infix::Or => left | right,
        _ => left ^ right,
    }))
}

fn shift(infix: Infix, left: i128, right: i128) -> Folded {
    if right < 0 {
        return Err("negative shift count");
    }
    let count = right.min(MAX_SHIFT) as u32;
    if infix == Infix::ShiftRight {
        return Ok(Literal::Int(left >> count));
    }
    let shifted = if right > MAX_SHIFT && left != 0 { None } else { left.checked_shl(count) };
    shifted.filter(|shifted| shifted >> count == left).map(Literal::Int).ok_or(OVERFLOW)
}

fn integers(infix: Infix, left: i128, right: i128) -> Folded {
    let number = match infix {
        Infix::Add => left.checked_add(right),
        Infix::Subtract => left.checked_sub(right),
        Infix::Multiply => left.checked_mul(right),
        Infix::FloorDivide | Infix::Remainder if right == 0 => return Err(BY_ZERO),
        // The quotient is rounded down, and the remainder has the sign of the divisor.
        Infix::FloorDivide => left
            .checked_div(right)
            .map(|quotient| quotient - i128::from(left % right != 0 && (left < 0) != (right < 0))),
        Infix::Remainder => left
            .checked_rem(right)
            .map(|rest| if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest }),
        Infix::Power if right < 0 => return floats(infix, left as f64, right as f64),
        Infix::Power => match left {
            0 | 1 => Some(if right == 0 { 1 } else { left }),
            -1 => Some(if right % 2 == 0 { 1 } else { -1 }),
            _ => u32::try_from(right).ok().and_then(|exponent| left.checked_pow(exponent)),
        },
        _ => return Ok(Literal::Bool(compare(infix, left.partial_cmp(&right)))),
    };
    number.map(Literal::Int).ok_or(OVERFLOW)
}

fn floats(infix: Infix, left: f64, right: f64) -> Folded {
    let result = match infix {
        Infix::Add => left + right,
        Infix::Subtract => left - right,
        Infix::Multiply => left * right,
        Infix::FloorDivide | Infix::Remainder if right == 0.0 => return Err(BY_ZERO),
        Infix::FloorDivide => {
            let (quotient, rest) = divided(left, right);
            return if rest.is_nan() { Ok(Literal::Float(f64::NAN)) } else { finite(quotient, left, right) };
        }
        Infix::Remainder => divided(left, right).1,
        Infix::Power if left == 0.0 && right < 0.0 => return Err(BY_ZERO),
        Infix::Power if left < 0.0 && left.is_finite() && right.is_finite() && right.fract() != 0.0 => {
            return Err("the root of a negative number is complex");
        }
        Infix::Power => left.powf(right),
        _ => return Ok(Literal::Bool(compare(infix, left.partial_cmp(&right)))),
    };
    finite(result, left, right)
}

/// Python's `divmod` of floats.
fn divided(left: f64, right: f64) -> (f64, f64) {
    let mut rest = left % right;
    let mut quotient = (left - rest) / right;
    if rest != 0.0 && (rest < 0.0) != (right < 0.0) {
        rest += right;
        quotient -= 1.0;
    } else if rest == 0.0 {
        rest = 0.0_f64.copysign(right);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

fn compare(infix: Infix, order: Option<std::cmp::Ordering>) -> bool {
    use std::cmp::Ordering;
    match infix {
        Infix::Equal => order == Some(Ordering::Equal),
        Infix::NotEqual => order != Some(Ordering::Equal),
        Infix::Less => order == Some(Ordering::Less),
        Infix::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Infix::Greater => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}
