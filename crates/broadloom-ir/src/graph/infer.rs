//! Inference of shapes as plain functions, so that a help can be tried before it is offered.

use crate::diagnostics::Certainty;
use crate::dim::{Dim, FactsOf};
use crate::shape::Shape;

/// An axis of the result on which two operands do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AxisClash {
    pub axis: usize,
    /// The operand that gave the size so far, and that size.
    pub left: (usize, Dim),
    /// The operand that does not fit it, and its size.
    pub right: (usize, Dim),
    pub certainty: Certainty,
}

/// Whether sizes that are not identical can be equal for some values of the symbols.
pub(crate) fn certainty(a: &Dim, b: &Dim, facts: FactsOf) -> Certainty {
    match a.sub(b) {
        Ok(difference) if difference.is_never_zero(facts) => Certainty::Never,
        _ => Certainty::Sometimes,
    }
}

/// The shape to which operands broadcast, aligned at the last axis, or every axis on which they do not; in ascending
/// order.
///
/// Per axis, operands are folded pairwise: identical sizes stay, the literal 1 gives way to any other size, anything
/// else is a clash. The size of the result is never a maximum: 0 against 1 is 0.
pub(crate) fn broadcast(operands: &[&[Dim]], facts: FactsOf) -> Result<Shape, Vec<AxisClash>> {
    let rank = operands.iter().map(|dims| dims.len()).max().unwrap_or(0);
    let mut clashes = Vec::new();
    let mut result = Vec::with_capacity(rank);
    for axis in 0..rank {
        // Absent axes are the literal 1, with which the fold begins.
        let mut so_far = (0, Dim::ONE);
        for (operand, dims) in operands.iter().enumerate() {
            let Some(size) = (axis + dims.len()).checked_sub(rank).and_then(|own| dims.get(own)) else {
                continue;
            };
            if so_far.1.is_one() {
                so_far = (operand, size.clone());
            } else if !size.is_one() && *size != so_far.1 {
                let certainty = certainty(&so_far.1, size, facts);
                let left = so_far.clone();
                clashes.push(AxisClash { axis, left, right: (operand, size.clone()), certainty });
                break;
            }
        }
        result.push(so_far.1);
    }
    if clashes.is_empty() { Ok(result.into()) } else { Err(clashes) }
}

/// Why an operand does not take a given shape.
pub(crate) enum StretchError {
    /// It has more axes.
    Rank,
    /// Sizes do not fit.
    Clashes(Vec<AxisClash>),
}

/// Whether an operand stretches to a shape: each of its axes, aligned at the last one, is the literal 1 or the
/// wanted size. Clashes are in ascending order; the wanted shape is operand 1.
pub(crate) fn stretch(operand: &[Dim], wanted: &[Dim], facts: FactsOf) -> Result<(), StretchError> {
    let Some(offset) = wanted.len().checked_sub(operand.len()) else { return Err(StretchError::Rank) };
    let mut clashes = Vec::new();
    for (own, (have, want)) in operand.iter().zip(&wanted[offset..]).enumerate() {
        if !have.is_one() && have != want {
            clashes.push(AxisClash {
                axis: own + offset,
                left: (0, have.clone()),
                right: (1, want.clone()),
                certainty: certainty(have, want, facts),
            });
        }
    }
    if clashes.is_empty() { Ok(()) } else { Err(StretchError::Clashes(clashes)) }
}
