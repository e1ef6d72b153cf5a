//! `einsum`: subscripts that name the axes of the operands and of the result.
//!
//! ```text
//! "ij,jk->ik", ranks ──parse──▶ Layout ──meet──▶ sizes
//! operands ──diagonals──▶ ──sums of their own──▶ ──pairs in the order of least cost──▶ result
//! ```

mod order;
mod parse;

use super::join::NO_TENSORS;
use super::product::{Factor, Label, Layout, distinct, merged};
use super::{Graph, Site};
use crate::dim::Dim;
use crate::ids::{ExprId, SymbolId};
use crate::ops::Op;
use crate::problem::Problem;

/// The most operands, as in NumPy.
const MAX_OPERANDS: usize = 64;
/// The value assumed for a size of which nothing is known.
const USUAL_SIZE: i64 = 1000;

impl Graph {
    /// Returns the sum of products that the subscripts describe, in the common dtype of the operands, by NumPy's
    /// rules.
    ///
    /// Three or more operands are multiplied in pairs, in the order that takes the fewest multiplications for the
    /// sizes that are written, declared or likely.
    pub fn einsum(&mut self, subscripts: &str, operands: &[ExprId], site: Site) -> ExprId {
        let result = self.try_einsum(subscripts, operands, site);
        if let Ok(expr) = result {
            self.warn_of_products("einsum", operands, expr, site);
        }
        self.settle(result, "einsum", operands, site)
    }

    fn try_einsum(&mut self, subscripts: &str, operands: &[ExprId], site: Site) -> Result<ExprId, Problem> {
        if operands.is_empty() {
            return Err(Problem::Argument(NO_TENSORS));
        }
        if self.any_poisoned(operands) {
            return Ok(self.poison());
        }
        let ranks: Vec<usize> = operands.iter().map(|&operand| self.written(operand).rank()).collect();
        let layout = parse::layout(subscripts, &ranks)?;
        let sizes = self.meet_labels("einsum", &layout, operands, site)?;
        let dtype = self.common(operands);
        let mut factors = Vec::with_capacity(operands.len());
        for (&operand, labels) in operands.iter().zip(&layout.labels) {
            let expr = self.convert(operand, dtype, site)?;
            factors.push(self.one_of_each(Factor { expr, labels: labels.clone() }, site)?);
        }
        self.sum_alone(&mut factors, &layout, site)?;
        let result = self.multiplied(factors, &layout, &sizes, site)?;
        let position = |label: &Label| result.labels.iter().position(|known| known == label);
        let axes: Vec<i64> = layout.out.iter().filter_map(position).map(|axis| axis as i64).collect();
        self.try_permute(result.expr, &axes, site)
    }

    /// Sums the axes that only one operand has, before products with the others would repeat them.
    fn sum_alone(&mut self, factors: &mut [Factor], layout: &Layout, site: Site) -> Result<(), Problem> {
        for index in 0..factors.len() {
            let own = factors[index].labels.clone();
            let others = factors.iter().enumerate().filter(|(other, _)| *other != index);
            let others: Vec<Label> = others.flat_map(|(_, factor)| factor.labels.iter().copied()).collect();
            if others.iter().all(|label| own.contains(label)) {
                continue;
            }
            let kept: Vec<Label> = own
                .into_iter()
                .filter(|label| layout.out.contains(label) || others.contains(label))
                .collect();
            factors[index] = self.summed(factors[index].clone(), &kept, site)?;
        }
        Ok(())
    }

    /// Returns the product of all factors, summed over the labels missing from the result.
    fn multiplied(
        &mut self,
        factors: Vec<Factor>,
        layout: &Layout,
        sizes: &[Dim],
        site: Site,
    ) -> Result<Factor, Problem> {
        let labels: Vec<&[Label]> = factors.iter().map(|factor| factor.labels.as_slice()).collect();
        let weights: Vec<f64> = sizes.iter().map(|size| self.expected(size)).collect();
        let pairs = order::pairs(&labels, &layout.out, &weights);
        let mut parts: Vec<Option<Factor>> = factors.into_iter().map(Some).collect();
        let count = pairs.len();
        for (step, pair) in pairs.into_iter().enumerate() {
            let [Some(left), Some(right)] = pair.map(|part| parts.get_mut(part).and_then(Option::take))
            else {
                continue;
            };
            let out = if step + 1 == count {
                layout.out.clone()
            } else {
                let needed = |label: &Label| {
                    layout.out.contains(label)
                        || parts.iter().flatten().any(|part| part.labels.contains(label))
                };
                let both = [left.labels.clone(), right.labels.clone()];
                merged(&[], &both, sizes.len()).into_iter().filter(needed).collect()
            };
            parts.push(Some(self.contract([left, right], &out, sizes, site)?));
        }
        let result = parts.into_iter().flatten().next();
        let result = result.ok_or(Problem::Arity { expected: 1, given: 0 })?;
        self.summed(result, &layout.out, site)
    }

    /// Returns the weight of a size in the choice of the order of products.
    fn expected(&self, size: &Dim) -> f64 {
        let value = |symbol: SymbolId| {
            let info = self.symbols.get(symbol)?;
            let facts = self.facts(symbol);
            let value = match info.likely {
                Some(likely) => likely / info.unit,
                None => (USUAL_SIZE / info.unit).max(facts.lower),
            };
            Some(facts.upper.map_or(value, |upper| value.min(upper)))
        };
        self.resolved_dim(size).evaluate(&value).unwrap_or(USUAL_SIZE) as f64
    }

    /// Returns a factor in which every label occurs once: it takes the elements whose index is the same on all axes
    /// of a label.
    fn one_of_each(&mut self, factor: Factor, site: Site) -> Result<Factor, Problem> {
        let Factor { mut expr, mut labels } = factor;
        for label in distinct(&labels) {
            let (own, others): (Vec<usize>, Vec<usize>) =
                (0..labels.len()).partition(|axis| labels[*axis] == label);
            if own.len() < 2 {
                continue;
            }
            expr = self.take_diagonal(expr, &own, &others, site)?;
            labels = std::iter::once(label).chain(others.iter().map(|axis| labels[*axis])).collect();
        }
        Ok(Factor { expr, labels })
    }

    /// Returns the elements with the same index on all of `own`; that axis comes first, before the others.
    ///
    /// The axes are merged, and every `1 + n + n * n + ..`-th element of the merged axis is taken, so only those
    /// are read.
    pub(super) fn take_diagonal(
        &mut self,
        expr: ExprId,
        own: &[usize],
        others: &[usize],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let axes: Vec<i64> = own.iter().chain(others).map(|&axis| axis as i64).collect();
        let front = self.try_permute(expr, &axes, site)?;
        let shape = self.written(front).clone();
        let length = shape[0].clone();
        let (mut step, mut all) = (Dim::ZERO, Dim::ONE);
        for _ in own {
            step = step.add(&all).map_err(Problem::Size)?;
            all = all.mul(&length).map_err(Problem::Size)?;
        }
        let sizes: Vec<Option<Dim>> =
            std::iter::once(all).chain(shape[own.len()..].iter().cloned()).map(Some).collect();
        let table = self.try_reshape(front, &sizes, site)?;
        let position = self.try_iota(length, site)?;
        let step = self.try_size(step, site)?;
        let index = self.try_elementwise(Op::Multiply, &[position, step], site)?;
        self.try_take(table, index, 0, site)
    }
}
