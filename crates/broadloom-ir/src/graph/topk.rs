//! The best elements along an axis.
//!
//! The order is that of the reductions of [`crate::reduce`] that find one extreme: a NaN beats every number, -0 is
//! less than +0 as a value, and equal elements (which both zeros are) rank by their indices. So for `k = 1` the
//! values are those of `max` or `min`, and the indices those of `argmax` or `argmin`, bit for bit.

use super::reduction::resolve_axis;
use super::{Graph, Node, Site};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::ids::ExprId;
use crate::problem::{Problem, Requirement};
use crate::reduce::ReduceOp;
use crate::shape::Shape;

/// The most elements that can be requested: the best so far are kept in order, one after the other.
pub const MAX_TOPK: usize = 64;

/// Selects the best elements along an axis, or their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TopK {
    /// The axis of the operand.
    pub axis: usize,
    /// The number of elements: 1 to [`MAX_TOPK`].
    pub k: usize,
    /// Whether to select the greatest instead of the least.
    pub largest: bool,
    /// Whether to return the indices (i64) instead of the elements.
    pub indices: bool,
}

impl TopK {
    /// Returns the name in the text language, in dumps and in messages.
    pub fn name(self) -> &'static str {
        if self.indices { "argtopk" } else { "topk" }
    }

    /// Returns the reduction that gives the first of them.
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
    /// Returns the `k` greatest or least elements along an axis, best first: the axis has size `k` in the result.
    ///
    /// NaNs come before all numbers in both cases.
    pub fn topk(&mut self, operand: ExprId, k: i64, axis: i64, largest: bool, site: Site) -> ExprId {
        let result = self.try_topk(operand, k, axis, largest, false, site);
        self.settle(result, "topk", &[operand], site)
    }

    /// Returns the indices (i64) along the axis of the elements that [`Graph::topk`] returns: among equal elements,
    /// and among NaNs, the lower index comes first.
    pub fn argtopk(&mut self, operand: ExprId, k: i64, axis: i64, largest: bool, site: Site) -> ExprId {
        let result = self.try_topk(operand, k, axis, largest, true, site);
        self.settle(result, "argtopk", &[operand], site)
    }

    /// Returns the indices of the elements that [`Graph::topk`] returned. A mistake is reported only once and has
    /// no indices.
    pub fn indices_of_topk(&mut self, values: ExprId, site: Site) -> ExprId {
        match self.node(values) {
            Node::TopK { operand, topk } => {
                let (operand, TopK { axis, k, largest, .. }) = (*operand, *topk);
                let result = self.try_topk(operand, k as i64, axis as i64, largest, true, site);
                // The indices come from the call that gave the values.
                self.settle(result, "topk", &[operand], site)
            }
            _ => self.poison(),
        }
    }

    /// Returns the indices of the elements that [`Node::TopK`] selects.
    pub(super) fn chosen_by_topk(
        &mut self,
        operand: ExprId,
        topk: TopK,
        site: Site,
    ) -> Result<ExprId, Problem> {
        self.try_topk(operand, topk.k as i64, topk.axis as i64, topk.largest, true, site)
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
