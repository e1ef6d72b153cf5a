//! Shape inference as plain functions over a comparison of sizes, so that a suggestion can be tried before it is
//! offered.

use super::unify::Fit;
use crate::dim::{Dim, FactsOf};
use crate::problem::Certainty;
use crate::shape::Shape;

/// An axis of the result on which two operands do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AxisClash {
    pub axis: usize,
    /// The operand that determined the size so far, and that size.
    pub left: (usize, Dim),
    /// The operand that does not fit it, and its size.
    pub right: (usize, Dim),
    pub certainty: Certainty,
}

/// Compares sizes of two operands on an axis of the result, neither of which is the literal 1.
pub(crate) type Compare<'a> = &'a mut dyn FnMut(usize, (usize, &Dim), (usize, &Dim)) -> Fit;

/// Returns whether sizes that are not identical can be equal for some values of the symbols.
pub(crate) fn certainty(a: &Dim, b: &Dim, facts: FactsOf) -> Certainty {
    match a.sub(b) {
        Ok(difference) if difference.is_never_zero(facts) => Certainty::Never,
        _ => Certainty::Sometimes,
    }
}

/// Compares without inferring anything.
pub(crate) fn compare(a: &Dim, b: &Dim, facts: FactsOf) -> Fit {
    if a == b { Fit::Same } else { Fit::Clash(certainty(a, b, facts)) }
}

/// Compares the sizes of an axis of two operands, of which neither stretches.
pub(crate) fn equal(
    compare: Compare<'_>,
    axis: usize,
    left: (usize, &Dim),
    right: (usize, &Dim),
) -> Result<(), AxisClash> {
    match compare(axis, left, right) {
        Fit::Same => Ok(()),
        Fit::Clash(certainty) => Err(AxisClash {
            axis,
            left: (left.0, left.1.clone()),
            right: (right.0, right.1.clone()),
            certainty,
        }),
    }
}

/// Returns the shape to which operands broadcast, aligned at the last axis, or all axes on which they do not fit,
/// in ascending order.
///
/// Operands are folded pairwise on each axis: equal sizes stay, the literal 1 gives way to any other size, and
/// anything else is a clash. The size of the result is never a maximum: 0 against 1 is 0.
pub(crate) fn broadcast(operands: &[&[Dim]], compare: Compare) -> Result<Shape, Vec<AxisClash>> {
    let rank = operands.iter().map(|dims| dims.len()).max().unwrap_or(0);
    let mut clashes = Vec::new();
    let mut result = Vec::with_capacity(rank);
    for axis in 0..rank {
        // Missing axes are the literal 1, with which the fold starts.
        let mut so_far = (0, Dim::ONE);
        for (operand, dims) in operands.iter().enumerate() {
            let Some(size) = (axis + dims.len()).checked_sub(rank).and_then(|own| dims.get(own)) else {
                continue;
            };
            if so_far.1.is_one() {
                so_far = (operand, size.clone());
            } else if !size.is_one()
                && let Fit::Clash(certainty) = compare(axis, (so_far.0, &so_far.1), (operand, size))
            {
                let left = so_far.clone();
                clashes.push(AxisClash { axis, left, right: (operand, size.clone()), certainty });
                break;
            }
        }
        result.push(so_far.1);
    }
    if clashes.is_empty() { Ok(result.into()) } else { Err(clashes) }
}

/// The reason why an operand does not stretch to a given shape.
pub(crate) enum StretchError {
    /// It has more axes.
    Rank,
    /// Sizes do not fit.
    Clashes(Vec<AxisClash>),
}

/// Checks that an operand stretches to a shape: each of its axes, aligned at the last one, is the literal 1 or the
/// wanted size. Clashes are in ascending order; the wanted shape is operand 1.
pub(crate) fn stretch(operand: &[Dim], wanted: &[Dim], compare: Compare) -> Result<(), StretchError> {
    let Some(offset) = wanted.len().checked_sub(operand.len()) else { return Err(StretchError::Rank) };
    let mut clashes = Vec::new();
    for (own, (have, want)) in operand.iter().zip(&wanted[offset..]).enumerate() {
        let axis = own + offset;
        // A wanted 1 does not stretch: `compare` accepts a size that is, or is found to be, 1.
        if !have.is_one()
            && let Fit::Clash(certainty) = compare(axis, (0, have), (1, want))
        {
            clashes.push(AxisClash { axis, left: (0, have.clone()), right: (1, want.clone()), certainty });
        }
    }
    if clashes.is_empty() { Ok(()) } else { Err(StretchError::Clashes(clashes)) }
}
