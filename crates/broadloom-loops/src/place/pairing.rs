//! Reductions that tile functions on pairs compute.

use super::Placement;
use crate::kernel::*;
use crate::nest::bit;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

/// A reduction that a tile function on pairs computes.
#[derive(Debug, Clone)]
pub(crate) struct Pairing {
    pub term: PairTerm,
    pub root: bool,
    pub extreme: ReduceOp,
    /// The values of the terms that do not move along the reduction.
    pub left: Vec<ValueId>,
    pub right: AccessId,
    pub delta: i64,
    pub step: i64,
}

impl Placement<'_, '_> {
    /// Returns the tile function on pairs that computes a reduction, if there is one.
    pub fn pairing(&self, axis: AxisId) -> Option<Pairing> {
        let neighbour = self.neighbour(axis)?;
        let nest = self.nest;
        // Tile functions count in 32 bits.
        let extent = nest.axes[axis.index()].extent.as_constant();
        if !nest.narrow && extent.is_none_or(|extent| extent > i32::MAX.into()) {
            return None;
        }
        let reductions: Vec<_> = self.reduced[&axis].iter().map(|value| &nest.reductions[value]).collect();
        let beats = reductions[0].op.beats()?;
        let extreme = if beats == Op::Less { ReduceOp::Min } else { ReduceOp::Max };
        let mut compared = None;
        for reduction in reductions {
            let value = match reduction.operand {
                Contribution::Value(value) => value,
                // The tile counts in the width of the values.
                Contribution::Indexed { value, index: None, narrow }
                    if narrow || reduction.dtype == DType::F64 =>
                {
                    value
                }
                Contribution::Indexed { .. } | Contribution::Count(_) | Contribution::Product(..) => {
                    return None;
                }
            };
            if reduction.op.beats() != Some(beats) || *compared.get_or_insert(value) != value {
                return None;
            }
        }
        let compared = compared?;
        let (root, sum) = match &nest.values[compared.index()].def {
            Def::Op { op: Op::Sqrt, args, .. } => (true, args[0]),
            _ => (false, compared),
        };
        let sum = nest.pair_sums.get(&sum)?;
        let varies = |value: ValueId, along: AxisId| nest.varies[value.index()] & bit(along) != 0;
        let mut left = Vec::new();
        let mut right = Vec::new();
        for &(x, y) in &sum.pairs {
            let (still, moving) = if varies(x, axis) { (y, x) } else { (x, y) };
            let Def::Load { access, delta } = nest.values[moving.index()].def else { return None };
            if varies(still, axis) || varies(moving, neighbour) || !varies(still, neighbour) {
                return None;
            }
            left.push(still);
            right.push((access, delta));
        }
        let (right, deltas): (Vec<AccessId>, Vec<i64>) = right.into_iter().unzip();
        let step = deltas.get(1).map_or(0, |second| second - deltas[0]);
        let regular =
            deltas.windows(2).all(|pair| pair[1] - pair[0] == step) && right.iter().all(|r| *r == right[0]);
        regular.then(|| Pairing {
            term: sum.term,
            root,
            extreme,
            left,
            right: right[0],
            delta: deltas[0],
            step,
        })
    }
}
