//! Stretching, reductions and views in reverse: each axis back to where it came from.

use super::super::View;
use super::Derivation;
use super::reverse::Cotangent;
use crate::dim::Dim;
use crate::ids::ExprId;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use crate::shape::Shape;

impl Derivation<'_> {
    /// Reverses stretching: sums over the axes of `from` that `to` lacks, or has as literal 1s.
    pub(super) fn unstretched(
        &mut self,
        cotangent: Cotangent,
        from: &Shape,
        to: &Shape,
    ) -> Result<Cotangent, Problem> {
        let missing = from.rank() - to.rank();
        let is_summed =
            |axis: &usize| !from[*axis].is_one() && (*axis < missing || to[*axis - missing].is_one());
        let summed: Vec<usize> = (0..from.rank()).filter(is_summed).collect();
        let Cotangent { mut value, mut guard, mut zeroed, steep } = cotangent;
        if let Some(condition) = guard.filter(|_| !summed.is_empty()) {
            let along = self.present(condition, &summed, from.rank());
            if !along.is_empty() {
                // Where no element counts, the sum is 0 from here on.
                value = self.applied(cotangent)?;
                zeroed = true;
                guard = Some(self.reduce(ReduceOp::Any, condition, &along)?);
            }
        }
        let along = self.present(value, &summed, from.rank());
        let before = from.rank() - self.graph.written(value).rank();
        let absent: Vec<&Dim> = (summed.iter())
            .filter(|axis| axis.checked_sub(before).is_none_or(|own| !along.contains(&own)))
            .map(|axis| &from[*axis])
            .collect();
        if !along.is_empty() {
            value = self.reduce(ReduceOp::Sum, value, &along)?;
        }
        if !absent.is_empty() {
            let count = self.count(absent, self.graph.dtype(value))?;
            value = self.times(value, count)?;
        }
        let value = self.without_leading(value, to.rank())?;
        let guard = guard.map(|guard| self.without_leading(guard, to.rank())).transpose()?;
        Ok(Cotangent { value, guard, zeroed, steep })
    }

    /// Returns which axes of a shape with `rank` axes an expression that broadcasts to it has, as axes of its own.
    fn present(&self, expr: ExprId, axes: &[usize], rank: usize) -> Vec<usize> {
        let own = self.graph.written(expr);
        let before = rank - own.rank();
        axes.iter().filter_map(|axis| axis.checked_sub(before)).filter(|axis| !own[*axis].is_one()).collect()
    }

    /// Removes leading axes, which are of size 1, beyond a rank.
    fn without_leading(&mut self, expr: ExprId, rank: usize) -> Result<ExprId, Problem> {
        let more = self.graph.written(expr).rank().saturating_sub(rank);
        let axes: Vec<i64> = (0..more as i64).collect();
        self.graph.try_squeeze(expr, &axes, self.site)
    }

    /// Inserts the axes of a reduction again, as literal 1s, into what broadcasts to its result.
    pub(super) fn unreduced(
        &mut self,
        expr: ExprId,
        rank: usize,
        axes: &[usize],
        keepdims: bool,
    ) -> Result<ExprId, Problem> {
        if keepdims {
            return Ok(expr);
        }
        let kept: Vec<usize> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
        let own = self.graph.written(expr).rank();
        let first = kept[kept.len() - own..].first().copied().unwrap_or(rank);
        let inserted: Vec<i64> =
            axes.iter().filter(|axis| **axis > first).map(|axis| (axis - first) as i64).collect();
        self.graph.try_expand_dims(expr, &inserted, self.site)
    }

    /// Reverses a view whose elements lie elsewhere, or several times. An axis along which the value is the same may stay one.
    pub(super) fn reverse_view(
        &mut self,
        view: &View,
        value: ExprId,
        shape: &Shape,
        source: &Shape,
    ) -> Result<ExprId, Problem> {
        let own = self.graph.written(value).clone();
        match view {
            View::Slice(parts) => {
                let mut sizes = Vec::new();
                let mut into = Vec::new();
                let mut region = Vec::new();
                for axis in 0..shape.rank() {
                    let part = &parts[axis];
                    let is_whole = part.start.is_zero() && part.step == 1 && shape[axis] == source[axis];
                    let is_same = own[axis].is_one() && is_whole;
                    sizes.push(if is_same { Dim::ONE } else { shape[axis].clone() });
                    into.push(if is_same { Dim::ONE } else { source[axis].clone() });
                    region.push(part.clone());
                }
                let value = self.graph.try_broadcast_to(value, sizes.into(), self.site)?;
                self.in_zeros(value, region.into(), into.into())
            }
            View::Windows(axis) => {
                let last = shape.rank() - 1;
                let width = &shape[last];
                let sizes =
                    own.iter().enumerate().map(|(of, own)| if of == *axis { &shape[of] } else { own });
                let sizes: Shape = sizes.cloned().collect();
                let value = self.graph.try_broadcast_to(value, sizes, self.site)?;
                self.out_of_windows(value, *axis, &source[*axis], width)
            }
            _ => {
                if own.iter().all(Dim::is_one) {
                    return self.without_leading(value, 0);
                }
                let value = self.graph.try_broadcast_to(value, shape.clone(), self.site)?;
                let sizes: Vec<Option<Dim>> = source.iter().cloned().map(Some).collect();
                self.graph.try_reshape(value, &sizes, self.site)
            }
        }
    }
}
