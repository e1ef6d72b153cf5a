//! Changed regions: which elements of a change are those of the value, and which are those of the base.
//!
//! ```text
//! axis:    before the region │ the region                                        │ after it
//! step 1:  base              │ value                                             │ base
//! step k:  base              │ value and k - 1 of the base in turn, and the value │ base
//! ```

use super::{Flat, FlatId, Kind};
use crate::LowerError;
use crate::kernel::AxisId;
use crate::nest::{AffineIndex, AffineMap};
use crate::thresholds::MAX_STEP_IN_PIECES;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{SliceAxis, View};
use broadloom_ir::shape::Shape;
use smallvec::SmallVec;

/// Elements of an axis: `length` elements from `start` on, `step` apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Range {
    pub start: Dim,
    pub length: Dim,
    /// At least 1.
    pub step: i64,
}

impl Range {
    /// Returns neighbours.
    pub fn new(start: Dim, length: Dim) -> Range {
        Range { start, length, step: 1 }
    }

    /// Returns the position after the last element, or `start` if there is none.
    pub fn end(&self) -> Result<Dim, LowerError> {
        if self.step == 1 {
            return Ok(self.start.add(&self.length)?);
        }
        // A range that may be empty has no last element.
        let last = self.length.least(&Dim::ONE)?;
        Ok(self.start.add(&self.length.sub(&last)?.scale(self.step)?)?.add(&last)?)
    }

    /// Returns the part of some elements that has these positions among them.
    pub fn part(&self, part: &Range) -> Result<Range, LowerError> {
        Ok(Range {
            start: self.start.add(&part.start.scale(self.step)?)?,
            length: part.length.clone(),
            step: self.step.checked_mul(part.step).ok_or(LowerError::TooLarge)?,
        })
    }
}

/// A region of a tensor: what it has of each axis, `None` for all of the axis.
pub(crate) type Region = SmallVec<[Option<Range>; 4]>;

/// What a change reads under a map.
pub(crate) enum Replaced {
    /// Its base, under the same map.
    Base,
    /// Its value, under this map.
    Value(Box<AffineMap>),
    /// Both, or this is not known.
    Unknown,
}

/// Where an index along an axis lies, for all of its steps.
#[derive(Debug)]
pub(crate) enum Side {
    /// In the region, at this index of the value.
    Inside(AffineIndex),
    /// Outside of the region.
    Outside,
    /// In and outside, or this is not known.
    Unknown,
}

impl Flat {
    /// Returns a tensor with a region replaced by a value of the region's sizes.
    pub(super) fn set(
        &mut self,
        base: FlatId,
        mut value: FlatId,
        slices: &[SliceAxis],
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let (sizes, whole) = (self.node(value).shape.clone(), self.node(base).shape.clone());
        if sizes.iter().any(Dim::is_zero) {
            return Ok(base);
        }
        let mut region = Region::new();
        let mut order: Vec<SliceAxis> = Vec::new();
        for ((SliceAxis { start, step }, size), whole) in slices.iter().zip(&*sizes).zip(&*whole) {
            let is_reversed = *step < 0;
            let last = size.sub(&Dim::ONE)?;
            // Elements are replaced in ascending order.
            order.push(match is_reversed {
                true => SliceAxis { start: last.clone(), step: -1 },
                false => SliceAxis { start: Dim::ZERO, step: 1 },
            });
            let first = match is_reversed {
                false => start.clone(),
                true if *step == -1 => start.sub(&last)?,
                // A region that may be empty has no first element.
                true => start.add(&last.scale(*step)?)?.mul(&size.least(&Dim::ONE)?)?,
            };
            let step = step.checked_abs().ok_or(LowerError::TooLarge)?;
            region.push((step != 1 || size != whole).then(|| Range {
                start: first,
                length: size.clone(),
                step,
            }));
        }
        if order.iter().any(|axis| axis.step < 0) {
            value = self.view(&View::Slice(order.into()), value, sizes, origin)?;
        }
        if region.iter().all(Option::is_none) {
            return Ok(value);
        }
        let dtype = self.node(base).dtype;
        let mut wide = region.iter().zip(&*whole).filter(|(_, size)| !size.is_one()).rev();
        let is_sparse = |step: Option<i64>, most: i64| step.is_some_and(|step| step > most);
        let step = |replaced: &Option<Range>| replaced.as_ref().map(|replaced| replaced.step);
        let last = wide.next().is_some_and(|(replaced, _)| is_sparse(step(replaced), 1));
        if !last && !wide.any(|(replaced, _)| is_sparse(step(replaced), MAX_STEP_IN_PIECES)) {
            return Ok(self.push(Kind::Set { base, value, region }, dtype, whole, origin));
        }
        // Lines of memory have elements of both: all of the base is written, and then the region over it.
        Ok(self.over(base, |base| (Kind::Set { base, value, region }, dtype, whole, origin)))
    }

    /// Adds a node that is written over its base: all of it is there, in the same memory.
    pub(super) fn over(
        &mut self,
        base: FlatId,
        change: impl FnOnce(FlatId) -> (Kind, DType, Shape, ExprId),
    ) -> FlatId {
        // The base itself, if nothing else needs it.
        let base = self.copy_of(base);
        let (kind, dtype, shape, origin) = change(base);
        let changed = self.push(kind, dtype, shape, origin);
        self.overwritten.insert(changed, base);
        self.store(changed);
        changed
    }

    /// Returns what a change of a region reads under a map. Chains of changes are followed through many bases, so that case
    /// copies no map.
    pub(crate) fn replaced_at(
        &self,
        region: &[Option<Range>],
        map: &AffineMap,
        extent: &dyn Fn(AxisId) -> Dim,
    ) -> Result<Replaced, LowerError> {
        let mut inside: SmallVec<[(usize, AffineIndex); 2]> = SmallVec::new();
        let mut is_known = true;
        for (axis, replaced) in region.iter().enumerate() {
            let Some(replaced) = replaced else { continue };
            match self.side(replaced, &map[axis], extent)? {
                Side::Inside(of_value) => inside.push((axis, of_value)),
                Side::Outside => return Ok(Replaced::Base),
                Side::Unknown => is_known = false,
            }
        }
        if !is_known {
            return Ok(Replaced::Unknown);
        }
        let mut map = Box::new(map.clone());
        inside.into_iter().for_each(|(axis, index)| map[axis] = index);
        Ok(Replaced::Value(map))
    }

    /// Returns where an index lies.
    pub(crate) fn side(
        &self,
        replaced: &Range,
        index: &AffineIndex,
        extent: &dyn Fn(AxisId) -> Dim,
    ) -> Result<Side, LowerError> {
        if !index.more.is_empty() {
            return Ok(Side::Unknown);
        }
        let Range { start, length, step } = replaced;
        if let (None, Some(at), Some(start), Some(length)) =
            (index.axis, index.start.as_constant(), start.as_constant(), length.as_constant())
        {
            let steps = (at - start).div_euclid(*step);
            let is_inside = (0..length).contains(&steps) && (at - start).rem_euclid(*step) == 0;
            return Ok(if is_inside { Side::Inside(AffineIndex::at(steps)) } else { Side::Outside });
        }
        let [least, greatest] = index.bounds(&index.axis.map_or(Dim::ONE, extent))?;
        let (past, end) = (greatest.add(&Dim::ONE)?, replaced.end()?);
        if self.at_least(start, &past)? || self.at_least(&least, &end)? {
            return Ok(Side::Outside);
        }
        let from = index.start.sub(start)?;
        if index.step % step != 0 {
            return Ok(Side::Unknown);
        }
        let steps = from.floor_div(*step)?;
        match from.sub(&steps.scale(*step)?)?.as_constant() {
            Some(0) => {}
            Some(_) => return Ok(Side::Outside),
            None => return Ok(Side::Unknown),
        }
        if !self.at_least(&least, start)? || !self.at_least(&end, &past)? {
            return Ok(Side::Unknown);
        }
        Ok(Side::Inside(match length.is_one() {
            true => AffineIndex::at(0),
            false => AffineIndex { axis: index.axis, step: index.step / step, ..AffineIndex::at_dim(steps) },
        }))
    }
}
