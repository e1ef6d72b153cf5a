//! The best elements along an axis.
//!
//! The order is that of the reductions of [`crate::reduce`] that look for one extreme: a NaN beats every number, -0 is
//! below +0 as a value, and equal elements (both zeros are) rank by their indices. So with `k = 1` the values are those
//! of `max` or `min`, and the indices those of `argmax` or `argmin`, to the bit.

use super::reduction::resolve_axis;
use super::{Graph, Node, Site};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::ids::ExprId;
use crate::problem::{Problem, Requirement};
use crate::reduce::ReduceOp;
use crate::shape::Shape;

/// So many elements can be asked for: what is best so far is kept in order, one element after the other.
pub const MAX_TOPK: usize = 64;

/// Which elements along an axis are asked for, and what of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TopK {
    /// The axis of the operand.
    pub axis: usize,
    /// How many: 1 to [`MAX_TOPK`].
    pub k: usize,
    /// The greatest ones, or the least ones.
    pub largest: bool,
    /// Their indices (i64), or themselves.
    pub indices: bool,
}

impl TopK {
    /// The name in the text language, in dumps and in messages.
    pub fn name(self) -> &'static str {
        if self.indices { "argtopk" } else { "topk" }
    }

    /// The reduction that gives the first of them.
    pub fn first(self) -> ReduceOp {
        match (self.largest, self.indices) {
            (true, false) => ReduceOp::Max,
            (true, true) => ReduceOp::ArgMax,
            (false, false) => ReduceOp::Min,
            (false, true) => ReduceOp::ArgMin,
        }
    }
}

impl Graph {
    /// The `k` greatest elements along an axis, or the `k` least, best first: the axis has the size `k` in the result.
    ///
    /// NaNs come before all numbers, whichever are asked for.
    pub fn topk(&mut self, operand: ExprId, k: i64, axis: i64, largest: bool, site: Site) -> ExprId {
        let result = self.try_topk(operand, k, axis, largest, false, site);
        self.settle(result, "topk", &[operand], site)
    }

    /// The indices (i64) along the axis of what [`Graph::topk`] gives: of equal elements, and of NaNs, the lower first.
    pub fn argtopk(&mut self, operand: ExprId, k: i64, axis: i64, largest: bool, site: Site) -> ExprId {
        let result = self.try_topk(operand, k, axis, largest, true, site);
        self.settle(result, "argtopk", &[operand], site)
    }

    /// The indices of what [`Graph::topk`] gave. Of a mistake there are none, and it is told once.
    pub fn indices_of_topk(&mut self, values: ExprId, site: Site) -> ExprId {
        match self.node(values) {
            Node::TopK { operand, topk } => {
                let (operand, TopK { axis, k, largest, .. }) = (*operand, *topk);
                let result = self.try_topk(operand, k as i64, axis as i64, largest, true, site);
                // They come from the call that gave the values.
                self.settle(result, "topk", &[operand], site)
            }
            _ => self.poison(),
        }
    }

    fn try_topk(
        &mut self,
        operand: ExprId,
        k: i64,
        axis: i64,
        largest: bool,
        indices: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let shape = self.written(operand).clone();
        let axis = resolve_axis(axis, shape.rank())?;
        let count = usize::try_from(k).ok().filter(|k| (1..=MAX_TOPK).contains(k));
        let topk = TopK { axis, k: count.ok_or(Problem::TopKCount { k })?, largest, indices };
        let wanted = Dim::constant(k);
        let spare = shape[axis].sub(&wanted).map_err(Problem::Size)?;
        let mut obligations = Vec::new();
        if let Err(spare) = self.require(spare, Requirement::Enough, &mut obligations) {
            let missing = spare.neg().map_err(Problem::Size)?;
            return Err(Problem::TooFewElements { axis, k, by: self.size(&missing) });
        }
        let sizes = shape.iter().enumerate();
        let result: Shape =
            sizes.map(|(of, size)| if of == axis { &wanted } else { size }).cloned().collect();
        let dtype = if indices { DType::I64 } else { self.dtype(operand) };
        self.insert(Node::TopK { operand, topk }, dtype, result, obligations, site)
    }
}
