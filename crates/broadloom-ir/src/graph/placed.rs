//! Paddle's `axis=`, which aligns an operand with an axis of the other instead of with the last axes.

use super::{Graph, Site};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::{Misplaced, Problem};

/// The ops with a form `.._axis` in the DSL that aligns an operand with an axis: those of Paddle's `elementwise_*`.
pub const PLACED_OPS: [Op; 9] = [
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Divide,
    Op::FloorDivide,
    Op::Remainder,
    Op::Pow,
    Op::Minimum,
    Op::Maximum,
];

impl Graph {
    /// Applies a binary op, with the first axis of the smaller operand aligned with `axis` of the larger one.
    ///
    /// As in PaddlePaddle 2, -1 stands for the difference of the ranks. Trailing literal 1s of the smaller operand
    /// are then dropped; the rest has to end within the larger operand. On each axis either operand may stretch.
    /// Operands of equal rank take 0 or -1.
    pub fn elementwise_at(&mut self, op: Op, operands: [ExprId; 2], axis: i64, site: Site) -> ExprId {
        let result = match self.place(operands, axis) {
            Ok(None) => return self.elementwise(op, &operands, site),
            Ok(Some((smaller, first))) => {
                self.try_elementwise_at(op, operands, smaller, first, site).map_err(|problem| match problem {
                    Problem::Broadcast(conflicts) => Problem::Placed { axis, conflicts },
                    other => other,
                })
            }
            Err(problem) => Err(problem),
        };
        self.settle(result, op.name(), &operands, site)
    }

    /// Returns which operand is aligned, and at which axis; `None` if they align at the last axis anyway.
    fn place(&self, operands: [ExprId; 2], axis: i64) -> Result<Option<(usize, usize)>, Problem> {
        if self.any_poisoned(&operands) {
            return Ok(None);
        }
        let [left, right] = operands.map(|operand| self.written(operand));
        let smaller = usize::from(right.rank() <= left.rank());
        let (large, small) = if smaller == 1 { (left, right) } else { (right, left) };
        let rank = large.rank();
        let placed = small.iter().rposition(|dim| !dim.is_one()).map_or(0, |last| last + 1);
        let refused = |because| Err(Problem::Placement { axis, rank, placed, because });
        if rank == small.rank() {
            let fits = left == right || axis == 0 || axis == -1;
            return if fits { Ok(None) } else { refused(Misplaced::EqualRanks) };
        }
        let first = match usize::try_from(axis) {
            Ok(first) if first < rank => first,
            // This is the rank including the trailing literal 1s.
            Err(_) if axis == -1 => rank - small.rank(),
            _ => return refused(Misplaced::NoAxis),
        };
        if first + placed > rank { refused(Misplaced::TooLong) } else { Ok(Some((smaller, first))) }
    }

    fn try_elementwise_at(
        &mut self,
        op: Op,
        mut operands: [ExprId; 2],
        smaller: usize,
        first: usize,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let rank = self.written(operands[1 - smaller]).rank();
        let small = self.written(operands[smaller]);
        let placed = small.iter().rposition(|dim| !dim.is_one()).map_or(0, |last| last + 1);
        let surplus: Vec<i64> = (placed as i64..small.rank() as i64).collect();
        let after: Vec<i64> = (placed as i64..(rank - first) as i64).collect();
        let trimmed = self.try_squeeze(operands[smaller], &surplus, site)?;
        operands[smaller] = self.try_expand_dims(trimmed, &after, site)?;
        self.try_elementwise(op, &operands, site)
    }
}
