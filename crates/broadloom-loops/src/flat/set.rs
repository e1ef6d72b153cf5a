//! Changed regions as joins: the parts of the base before and after the region, and the value between them.
//!
//! ```text
//! axis:    before the region │ the region │ after it
//! step 1:  base              │ value      │ base
//! step k:  base              │ [value, base, .., base] for each whole period of k elements, value │ base
//! ```

use super::{Flat, FlatId};
use crate::LowerError;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{SliceAxis, View};
use broadloom_ir::shape::Shape;
use smallvec::SmallVec;

impl Flat {
    /// Returns the base with a region replaced by the value, whose sizes are those of the region, from `axis` on. On the
    /// axes before, the region is all of the base.
    pub(super) fn set(
        &mut self,
        base: FlatId,
        value: FlatId,
        region: &[SliceAxis],
        axis: usize,
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let Some(SliceAxis { start, step }) = region.get(axis) else { return Ok(value) };
        let size = self.node(value).shape[axis].clone();
        let whole = self.node(base).shape[axis].clone();
        if size.is_zero() {
            return Ok(base);
        }
        if size == whole && *step == 1 {
            return self.set(base, value, region, axis + 1, origin);
        }
        let (value, start) = match *step > 0 {
            true => (value, start.clone()),
            false => {
                let last = size.sub(&Dim::ONE)?;
                let first = start.add(&last.scale(*step)?)?;
                let value = self.part(value, axis, [&last, &size], -1, origin)?;
                // A region that may be empty has no first element.
                let first = if *step == -1 { first } else { first.mul(&size.least(&Dim::ONE)?)? };
                (value, first)
            }
        };
        let stride = step.checked_abs().ok_or(LowerError::TooLarge)?;
        let mut pieces = SmallVec::new();
        pieces.push(self.part(base, axis, [&Dim::ZERO, &start], 1, origin)?);
        let end = match stride {
            1 => {
                let covered = self.part(base, axis, [&start, &size], 1, origin)?;
                pieces.push(self.set(covered, value, region, axis + 1, origin)?);
                start.add(&size)?
            }
            _ => {
                // After the last element that is set, a period may not be whole.
                let last = size.least(&Dim::ONE)?;
                let periods = size.sub(&last)?;
                let rest = start.add(&periods.scale(stride)?)?;
                let [of_periods, of_last] = [[&Dim::ZERO, &periods], [&periods, &last]]
                    .map(|range| self.part(value, axis, range, 1, origin));
                pieces.push(self.periods(base, of_periods?, region, (axis, &start, stride), origin)?);
                let covered = self.part(base, axis, [&rest, &last], 1, origin)?;
                pieces.push(self.set(covered, of_last?, region, axis + 1, origin)?);
                rest.add(&last)?
            }
        };
        pieces.push(self.part(base, axis, [&end, &whole.sub(&end)?], 1, origin)?);
        pieces.retain(|piece| !self.node(*piece).shape[axis].is_zero());
        if let [piece] = pieces[..] {
            return Ok(piece);
        }
        let (dtype, shape) = (self.node(base).dtype, self.node(base).shape.clone());
        let joined = self.concat(pieces, axis)?;
        Ok(self.push(joined, dtype, shape, origin))
    }

    /// Returns as many whole periods of the base as the value has elements on an axis; the first element of each is set.
    fn periods(
        &mut self,
        base: FlatId,
        value: FlatId,
        region: &[SliceAxis],
        (axis, start, stride): (usize, &Dim, i64),
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let count = self.node(value).shape[axis].clone();
        let covered = self.part(base, axis, [start, &count.scale(stride)?], 1, origin)?;
        let shape = self.node(covered).shape.clone();
        let with_period = |period: i64| -> Shape {
            let mut sizes = shape.to_vec();
            sizes[axis] = count.clone();
            sizes.insert(axis + 1, Dim::constant(period));
            sizes.into()
        };
        let by_period = self.view(&View::Reshape, covered, with_period(stride), origin)?;
        let first = self.part(by_period, axis + 1, [&Dim::ZERO, &Dim::ONE], 1, origin)?;
        let others = self.part(by_period, axis + 1, [&Dim::ONE, &Dim::constant(stride - 1)], 1, origin)?;
        let mut inner = region.to_vec();
        inner[axis] = SliceAxis { start: Dim::ZERO, step: 1 };
        inner.insert(axis + 1, SliceAxis { start: Dim::ZERO, step: 1 });
        let mut sizes = self.node(value).shape.to_vec();
        sizes.insert(axis + 1, Dim::ONE);
        let value =
            self.view(&View::ExpandDims([axis + 1].into_iter().collect()), value, sizes.into(), origin)?;
        let first = self.set(first, value, &inner, axis + 2, origin)?;
        let dtype = self.node(base).dtype;
        let joined = self.concat([first, others].into_iter().collect(), axis + 1)?;
        let joined = self.push(joined, dtype, with_period(stride), origin);
        self.view(&View::Reshape, joined, shape, origin)
    }

    /// Returns a part of a tensor along an axis: `size` elements from `start` on.
    fn part(
        &mut self,
        operand: FlatId,
        axis: usize,
        [start, size]: [&Dim; 2],
        step: i64,
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let mut sizes = self.node(operand).shape.to_vec();
        if start.is_zero() && *size == sizes[axis] && step == 1 {
            return Ok(operand);
        }
        sizes[axis] = size.clone();
        let whole = || SliceAxis { start: Dim::ZERO, step: 1 };
        let mut parts: Vec<SliceAxis> = sizes.iter().map(|_| whole()).collect();
        parts[axis] = SliceAxis { start: start.clone(), step };
        self.view(&View::Slice(parts.into()), operand, sizes.into(), origin)
    }
}
