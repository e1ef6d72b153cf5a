//! Changed arrays: a tensor with other elements in a region.

use super::assign::is_same_kind;
use super::views::{Region, is_whole};
use super::{Graph, Node, Site, SliceSpec};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::shape::Shape;

impl Graph {
    /// Returns `base` with the region of `slices` replaced by `value`, which is stretched to the region and, within the
    /// same kind, converted to the dtype of `base`: NumPy's `base[slices] = value`, as a new tensor. As there, leading
    /// axes of the literal size 1 that the region does not have are removed from the value.
    pub fn set(&mut self, base: ExprId, slices: &[SliceSpec], value: ExprId, site: Site) -> ExprId {
        self.set_as("set", base, slices, value, site)
    }

    /// Returns `base` with the region of `slices` replaced by the result of a binary op on the region and another
    /// operand: NumPy's `base[slices] += other`, as a new tensor.
    pub fn set_op(
        &mut self,
        op: Op,
        base: ExprId,
        slices: &[SliceSpec],
        other: ExprId,
        site: Site,
    ) -> ExprId {
        let region = self.slice_as(op.name(), base, slices, site);
        let value = self.elementwise(op, &[region, other], site);
        self.set_as(op.name(), base, slices, value, site)
    }

    fn set_as(
        &mut self,
        name: &str,
        base: ExprId,
        slices: &[SliceSpec],
        value: ExprId,
        site: Site,
    ) -> ExprId {
        let result = self.try_set(base, slices, value, site);
        self.settle_change(result, name, [base, value], site)
    }

    /// Returns `base` with the elements where `mask` (bool) holds replaced by `value`: NumPy's `base[mask] = value`, as a
    /// new tensor. The mask has the leading axes of the base; the value is stretched to the others, so that all elements
    /// chosen along the axes of the mask get the same.
    pub fn set_where(&mut self, base: ExprId, mask: ExprId, value: ExprId, site: Site) -> ExprId {
        let chosen = self.masked("set", base, mask, site);
        match self.set_selected(base, mask, value, site) {
            Ok(Some(changed)) => return self.settle(Ok(changed), "set", &[base, value], site),
            Ok(None) => {}
            Err(problem) => return self.settle_change(Err(problem), "set", [base, value], site),
        }
        let result = self.try_set_where(base, [mask, chosen], value, site);
        self.settle_change(result, "set", [base, value], site)
    }

    /// Returns `base` with the elements where `mask` holds replaced by the result of a binary op on them and another
    /// operand: NumPy's `base[mask] += other`, as a new tensor. The operand has the shapes of [`Graph::set_where`].
    pub fn set_op_where(&mut self, op: Op, base: ExprId, mask: ExprId, other: ExprId, site: Site) -> ExprId {
        let chosen = self.masked(op.name(), base, mask, site);
        if self.is_selected_by(other, mask) {
            let selected = self.masked_elements(base, mask, site);
            let value = self.elementwise(op, &[selected, other], site);
            return self.set_where(base, mask, value, site);
        }
        let beside = self.beside_mask(base, mask, other, site);
        let other = self.settle_change(beside, op.name(), [base, other], site);
        let value = self.elementwise(op, &[base, other], site);
        let result = self.try_replace(base, chosen, value, site);
        self.settle_change(result, op.name(), [base, value], site)
    }

    /// Takes the result of a change, or its mistake. One of shapes concerns only the value.
    pub(super) fn settle_change(
        &mut self,
        result: Result<ExprId, Problem>,
        name: &str,
        [base, value]: [ExprId; 2],
        site: Site,
    ) -> ExprId {
        match result {
            Err(Problem::Stretch { .. } | Problem::RankTooSmall { .. }) => {
                self.settle(result, name, &[value], site)
            }
            _ => self.settle(result, name, &[base, value], site),
        }
    }

    fn masked(&mut self, name: &str, base: ExprId, mask: ExprId, site: Site) -> ExprId {
        let result = self.try_masked(base, mask, site);
        self.settle(result, name, &[base, mask], site)
    }

    fn try_set_where(
        &mut self,
        base: ExprId,
        [mask, chosen]: [ExprId; 2],
        value: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let value = self.beside_mask(base, mask, value, site)?;
        self.try_replace(base, chosen, value, site)
    }

    /// Returns the mask with as many axes as the base, and checks that its axes are those of the base.
    fn try_masked(&mut self, base: ExprId, mask: ExprId, site: Site) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[base, mask]) {
            return Ok(self.poison());
        }
        let [rank, given] = [base, mask].map(|of| self.written(of).rank());
        if given > rank {
            return Err(Problem::TooManyIndices { given, rank });
        }
        self.check_mask("set", base, mask, 0, site)?;
        let others: Vec<i64> = (given..rank).map(|axis| axis as i64).collect();
        self.try_expand_dims(mask, &others, site)
    }

    /// Returns what replaces chosen elements, which is the same for all positions along the axes of the mask.
    fn beside_mask(
        &mut self,
        base: ExprId,
        mask: ExprId,
        value: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[base, mask, value]) {
            return Ok(self.poison());
        }
        let (source, rank) = (self.written(base).clone(), self.written(mask).rank());
        if rank > source.rank() {
            return Ok(self.poison());
        }
        let others: Shape = source[rank..].iter().cloned().collect();
        let value = self.without_leading_ones(value, others.rank(), site)?;
        self.try_broadcast_to(value, others, site)
    }

    /// Returns the base with the elements replaced where a condition with its rank holds.
    fn try_replace(
        &mut self,
        base: ExprId,
        chosen: ExprId,
        value: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[base, chosen, value]) {
            return Ok(self.poison());
        }
        let value = self.as_element(value, self.dtype(base), site)?;
        self.try_select([chosen, value, base], site)
    }

    /// Converts a value to the dtype of the tensor whose elements it replaces, within the same kind.
    pub(super) fn as_element(&mut self, value: ExprId, dtype: DType, site: Site) -> Result<ExprId, Problem> {
        if !is_same_kind(self.dtype(value), dtype) {
            return Err(Problem::OtherKind { value: self.dtype(value), target: dtype });
        }
        self.convert(value, dtype, site)
    }

    /// Removes leading axes of the literal size 1 beyond a rank.
    pub(super) fn without_leading_ones(
        &mut self,
        value: ExprId,
        rank: usize,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let given = self.written(value);
        let more = given.rank().saturating_sub(rank);
        let leading: Vec<i64> =
            (0..more).take_while(|axis| given[*axis].is_one()).map(|axis| axis as i64).collect();
        self.try_squeeze(value, &leading, site)
    }

    pub(super) fn try_set(
        &mut self,
        base: ExprId,
        slices: &[SliceSpec],
        value: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[base, value]) {
            return Ok(self.poison());
        }
        let (source, dtype) = (self.written(base).clone(), self.dtype(base));
        let Region { parts, sizes, dropped, new, obligations } = self.region(&source, slices, site)?;
        let is_kept = |axis: &usize| !dropped.contains(&(*axis as i64));
        let mut kept = (0..sizes.len()).filter(is_kept).map(|axis| sizes[axis].clone());
        let rank = sizes.len() - dropped.len() + new.len();
        let wanted = (0..rank as i64).filter_map(|axis| match new.contains(&axis) {
            true => Some(Dim::ONE),
            false => kept.next(),
        });
        let wanted: Shape = wanted.collect();
        let value = self.as_element(value, dtype, site)?;
        let value = self.without_leading_ones(value, rank, site)?;
        let value = self.try_broadcast_to(value, wanted, site)?;
        let value = self.try_squeeze(value, &new, site)?;
        let value = self.try_expand_dims(value, &dropped, site)?;
        let sizes = Shape::from(sizes);
        if is_whole(&parts, &sizes, &source) {
            // Nothing of the base remains but its shape.
            self.measure(base);
            return Ok(value);
        }
        // A region without elements changes nothing, but it must be within the base.
        let node = Node::Set { base, value, region: parts.into() };
        self.insert(node, dtype, source, obligations, site)
    }
}
