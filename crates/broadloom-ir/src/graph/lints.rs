//! Warnings: ops that are valid, and rarely meant as they are written.

mod wraps;

use super::{Axes, Graph, Node, Permutation, Site, View};
use crate::dim::Dim;
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::{Ones, Problem};
use crate::shape::Shape;
pub(crate) use wraps::wider;

/// The most expressions to search for the origin of an operand.
const MOST_SEARCHED: usize = 64;
/// The most expressions whose operands are among the tensors that an expression is made of element by element. Each op may be
/// compared with many of them.
const MOST_SOURCES: usize = 16;

impl Graph {
    /// Records a warning once, if warnings are turned on.
    pub fn warn(&mut self, problem: Problem, op: &str, operands: &[ExprId], site: Site) {
        if !self.warns_of_pointwise {
            return;
        }
        let warning = self.mistake(problem, Some(op), operands, site);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Warns of an elementwise op that a user called.
    pub(super) fn warn_of_elementwise(&mut self, op: Op, operands: &[ExprId], result: ExprId, site: Site) {
        if !self.warns_of_pointwise || self.any_poisoned(operands) || self.is_poisoned(result) {
            return;
        }
        self.warn_of_wrapping(op, operands, result, site);
        self.warn_of_shapes(op.name(), operands, result, site);
    }

    /// Warns of operands that are combined element by element, and whose axes meet in another way than is likely to be meant.
    pub(super) fn warn_of_shapes(&mut self, function: &str, operands: &[ExprId], result: ExprId, site: Site) {
        if !self.warns_of_pointwise || self.any_poisoned(operands) || self.is_poisoned(result) {
            return;
        }
        for (number, &left) in operands.iter().enumerate() {
            for &right in operands.iter().skip(number + 1) {
                let problem =
                    self.pointwise([left, right], result).or_else(|| self.misaligned([left, right]));
                if let Some(problem) = problem {
                    self.warn(problem, function, operands, site);
                    return;
                }
            }
        }
    }

    /// Finds operands with equal numbers of elements that broadcast: torch before version 0.2 combined them element by
    /// element.
    fn pointwise(&self, operands: [ExprId; 2], result: ExprId) -> Option<Problem> {
        let dims = operands.map(|operand| self.resolved(self.written(operand)).into_owned());
        let count = |dims: &[Dim]| Dim::product(dims).ok();
        let [left, right] = &dims;
        let elements = count(left).filter(|_| left != right)?;
        if count(right).as_ref() != Some(&elements) {
            return None;
        }
        let result = self.resolved(self.written(result)).into_owned();
        let adds = operands.iter().any(|operand| self.adds_ones(*operand, &result));
        Some(Problem::Pointwise {
            count: self.size(&elements),
            result: self.sizes(&result),
            is_harmless: count(&result) == Some(elements.clone()),
            ones: match operands.map(|operand| self.viewed(operand)) {
                _ if !adds => Ones::Given,
                [left, right] if left == right => Ones::OfItself,
                _ => Ones::Added,
            },
        })
    }

    /// Whether the program itself gives the operand an axis of size 1 that stretches.
    fn adds_ones(&self, operand: ExprId, result: &[Dim]) -> bool {
        let own = self.written(operand);
        let new = result.len().saturating_sub(own.rank());
        let stretches = |axis: &usize| own[*axis].is_one() && result.get(axis + new) != Some(&Dim::ONE);
        (0..own.rank()).filter(stretches).any(|axis| self.is_added(operand, axis))
    }

    /// Whether the program added an axis of size 1. An axis of data, one that a reduction keeps, and one that a product has of
    /// its operands, are there for another reason.
    fn is_added(&self, expr: ExprId, axis: usize) -> bool {
        let (mut waiting, mut is_added) = (vec![(expr, axis)], false);
        for _ in 0..MOST_SEARCHED {
            let Some((expr, axis)) = waiting.pop() else { return is_added };
            // The axis before others were removed.
            let with = |gone: &[usize]| gone.iter().fold(axis, |at, gone| at + usize::from(*gone <= at));
            match self.node(expr) {
                Node::View { view, operand } => match view {
                    View::ExpandDims(new) if !new.contains(&axis) => {
                        waiting.push((*operand, axis - new.iter().filter(|new| **new < axis).count()));
                    }
                    View::ExpandDims(_) | View::Reshape | View::BroadcastTo => is_added = true,
                    View::Permute(permutation) => waiting.push((*operand, permutation[axis])),
                    View::Squeeze(gone) => waiting.push((*operand, with(gone))),
                    View::Slice(_) if self.written(*operand)[axis].is_one() => waiting.push((*operand, axis)),
                    View::Slice(_) | View::Rebind | View::Windows(_) => return false,
                },
                node @ (Node::Elementwise { .. } | Node::Select { .. } | Node::Cast(_)) => {
                    let rank = self.written(expr).rank();
                    for operand in node.operands() {
                        let own = (axis + self.written(operand).rank()).checked_sub(rank);
                        waiting.extend(own.map(|axis| (operand, axis)));
                    }
                }
                Node::Reduce { operand, axes, keepdims: false, .. } => waiting.push((*operand, with(axes))),
                _ => return false,
            }
        }
        is_added
    }

    /// The tensor of which an expression is a view.
    fn viewed(&self, mut expr: ExprId) -> ExprId {
        while let Node::View { operand, .. } = self.node(expr) {
            expr = *operand;
        }
        expr
    }

    /// Finds an operand that is a reduction of what the other one is made of, and whose axes meet others than those that they
    /// were.
    fn misaligned(&self, [left, right]: [ExprId; 2]) -> Option<Problem> {
        [(left, right), (right, left)].into_iter().find_map(|(whole, part)| {
            let (of, axes) = self.reduction_in(part, whole)?;
            let [own, reduced] = self.common_source(whole, of)?;
            // The axis of `whole` that is this axis of what was reduced.
            let place = |axis: usize| own.iter().position(|source| *source == reduced[axis]);
            let kept = (0..reduced.len()).filter(|axis| !axes.contains(axis)).filter_map(place);
            let (own, at) = kept.zip(axes.len()..).find(|(own, at)| own != at)?;
            let mut reduced: Vec<usize> = axes.iter().filter_map(|axis| place(*axis)).collect();
            reduced.sort_unstable();
            Some(Problem::Misaligned { reduced, own, at })
        })
    }

    /// An expression with the rank of `whole` of which `part` is a reduction without a trace in its shape, and the axes.
    fn reduction_in(&self, part: ExprId, whole: ExprId) -> Option<(ExprId, Axes)> {
        let rank = self.written(whole).rank();
        if self.written(part).rank() == 0 || self.written(part).rank() >= rank {
            return None;
        }
        // Through ops that keep elements in place, as from a variance to a deviation; before `squeezed` axes were removed.
        let mut waiting: Vec<(ExprId, Option<Axes>)> = vec![(part, None)];
        for _ in 0..MOST_SEARCHED {
            let (expr, squeezed) = waiting.pop()?;
            let is_of = |operand: ExprId| {
                self.written(operand).rank() == rank && self.common_source(whole, operand).is_some()
            };
            if let Some((operand, axes)) = self.reduced.get(&expr)
                && is_of(*operand)
            {
                return Some((*operand, axes.clone()));
            }
            match self.node(expr) {
                Node::Reduce { operand, axes, keepdims, .. }
                    if is_of(*operand)
                        && match &squeezed {
                            Some(squeezed) => *keepdims && axes == squeezed,
                            None => !keepdims,
                        } =>
                {
                    return Some((*operand, axes.clone()));
                }
                Node::View { view: View::Squeeze(gone), operand } if squeezed.is_none() => {
                    waiting.push((*operand, Some(gone.clone())));
                }
                Node::Elementwise { operands, .. } => {
                    let same = |operand: &&ExprId| self.written(**operand) == self.written(expr);
                    waiting.extend(operands.iter().filter(same).map(|operand| (*operand, squeezed.clone())));
                }
                Node::Cast(operand) => waiting.push((*operand, squeezed)),
                _ => {}
            }
        }
        None
    }

    /// Finds a tensor of which both are made element by element: for each, the axes of the tensor that its own axes are.
    fn common_source(&self, left: ExprId, right: ExprId) -> Option<[Permutation; 2]> {
        let of_left = self.sources(left);
        let (source, of_right) =
            self.sources(right).into_iter().find(|(source, _)| of_left.iter().any(|(of, _)| of == source))?;
        let (_, of_left) = of_left.into_iter().find(|(of, _)| *of == source)?;
        Some([of_left, of_right])
    }

    /// The tensors of the same rank that an expression is made of element by element, each with the order of its axes.
    fn sources(&self, expr: ExprId) -> Vec<(ExprId, Permutation)> {
        let mut found: Vec<(ExprId, Permutation)> = vec![(expr, (0..self.written(expr).rank()).collect())];
        let mut next = 0;
        while let Some((expr, order)) = found.get(next).cloned()
            && next < MOST_SOURCES
        {
            next += 1;
            let shape: &Shape = self.written(expr);
            match self.node(expr) {
                node @ (Node::Elementwise { .. } | Node::Select { .. } | Node::Cast(_)) => {
                    for operand in node.operands() {
                        if self.written(operand) == shape && found.iter().all(|(known, _)| *known != operand)
                        {
                            found.push((operand, order.clone()));
                        }
                    }
                }
                Node::View { view: View::Permute(permutation), operand } => {
                    found.push((*operand, order.iter().map(|axis| permutation[*axis]).collect()));
                }
                _ => {}
            }
        }
        found
    }
}
