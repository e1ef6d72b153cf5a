//! The positions that kernels compute in order to read an array there, as in `take_along_axis` and medians of some elements.

use super::{Known, steps};
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use std::collections::{BTreeMap, BTreeSet};

/// The most operations from which a position is computed.
const MAX_DEPTH: usize = 16;

/// A number in each step of the parallel axis.
#[derive(Clone)]
pub(super) struct Position {
    /// By how much it is greater than in the step before.
    pub per_step: Dim,
    /// The least in the first step.
    pub first: Dim,
    /// The greatest in the first step.
    pub last: Dim,
}

impl Position {
    fn between(first: Dim, last: Dim) -> Position {
        Position { per_step: Dim::ZERO, first, last }
    }

    fn exactly(value: Dim) -> Position {
        Position::between(value.clone(), value)
    }

    /// Returns the number, if it is the same everywhere.
    fn factor(&self) -> Option<&Dim> {
        (self.per_step.is_zero() && self.first == self.last).then_some(&self.first)
    }

    fn plus(&self, other: &Position) -> Option<Position> {
        Some(Position {
            per_step: self.per_step.add(&other.per_step).ok()?,
            first: self.first.add(&other.first).ok()?,
            last: self.last.add(&other.last).ok()?,
        })
    }

    /// Returns the product with a number that is not negative.
    pub(super) fn times(&self, factor: &Dim) -> Option<Position> {
        Some(Position {
            per_step: self.per_step.mul(factor).ok()?,
            first: self.first.mul(factor).ok()?,
            last: self.last.mul(factor).ok()?,
        })
    }
}

/// Returns a position: `None` if nothing is known of it.
pub(super) fn position(kernel: &Kernel, value: ValueId, known: Known<'_>) -> Option<Position> {
    position_of(kernel, value, known, MAX_DEPTH)
}

fn position_of(kernel: &Kernel, value: ValueId, known: Known<'_>, depth: usize) -> Option<Position> {
    let Value { dtype, def, .. } = &kernel.values[value.index()];
    let of = |value: ValueId| position_of(kernel, value, known, depth.checked_sub(1)?);
    if *dtype != DType::I64 {
        return None;
    }
    match def {
        Def::Constant(Scalar::I64(value)) => Some(Position::exactly(Dim::constant(*value))),
        Def::Param(param) => Some(Position::exactly(kernel.params[param.index()].clone())),
        Def::Index(axis) if kernel.shared().eq([*axis]) => {
            Some(Position { per_step: Dim::ONE, ..Position::exactly(Dim::ZERO) })
        }
        Def::Index(axis) => {
            let entry = &kernel.axes[axis.index()];
            let last = kernel.size(entry.extent).sub(&Dim::ONE).ok()?;
            entry.is_whole().then(|| Position::between(Dim::ZERO, last))
        }
        // An index out of range becomes one in range, here and in arrays of indices.
        Def::Checked { size, .. } => {
            let last = kernel.size(*size).sub(&Dim::ONE).ok()?;
            Some(Position::between(Dim::ZERO, last))
        }
        Def::Load { access, .. } | Def::Take { access, .. } => {
            let (first, last) = known.contents.get(&kernel.accesses[access.index()].buffer?)?;
            Some(Position::between(first.clone(), last.clone()))
        }
        Def::Op { op: Op::Add, args, .. } => of(args[0])?.plus(&of(args[1])?),
        Def::Op { op: Op::Multiply, args, .. } => {
            let [x, y] = [of(args[0])?, of(args[1])?];
            let (x, factor) = match (x.factor(), y.factor()) {
                (_, Some(factor)) => (&x, factor),
                (Some(factor), None) => (&y, factor),
                (None, None) => return None,
            };
            known.is_size(factor).then(|| x.times(factor))?
        }
        _ => None,
    }
}

/// Returns the least and the greatest element of temporaries that kernels fill with positions.
pub(super) fn contents(
    kernels: &[Kernel],
    buffers: &[Buffer],
    known: Known<'_>,
) -> BTreeMap<BufferId, (Dim, Dim)> {
    let mut contents = BTreeMap::new();
    let mut others = BTreeSet::new();
    for kernel in kernels {
        for stmt in kernel.statements() {
            for (access, _) in stmt.accesses(&kernel.values).into_iter().filter(|(_, used)| used.writes()) {
                let Some(buffer) = kernel.accesses[access.index()].buffer else { continue };
                let Buffer { role, dtype, .. } = &buffers[buffer.index()];
                if *role != Role::Temporary || *dtype != DType::I64 {
                    continue;
                }
                let found = match stmt {
                    Stmt::Store { value, .. } => range(kernel, *value, known),
                    _ => None,
                };
                match found {
                    Some(found) if contents.get(&buffer).is_none_or(|other| *other == found) => {
                        contents.insert(buffer, found);
                    }
                    _ => {
                        others.insert(buffer);
                    }
                }
            }
        }
    }
    contents.retain(|buffer, _| !others.contains(buffer));
    contents
}

/// Returns the least and the greatest value of a position in all steps.
pub(super) fn range(kernel: &Kernel, value: ValueId, known: Known<'_>) -> Option<(Dim, Dim)> {
    let Position { per_step, first, last } = position(kernel, value, known)?;
    if per_step.is_zero() {
        return Some((first, last));
    }
    let later = per_step.mul(&steps(kernel)?.sub(&Dim::ONE).ok()?).ok()?;
    known.is_size(&per_step).then(|| Some((first, last.add(&later).ok()?)))?
}
