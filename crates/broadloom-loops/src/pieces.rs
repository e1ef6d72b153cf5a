//! Cuts the outputs of a kernel into pieces, so that joins need no copies.
//!
//! ```text
//! concat(a, b) * c  ──▶  [0, a): a * c[0..a]     [a, a + b): b * c[a..a + b]
//! ```
//!
//! A node is cut where the operands of the joins below it meet, as far as views and elementwise ops carry those
//! positions to its own axes; every k-th element is a piece where a change with a step replaces these. Within a piece every such join is one of its operands, and fuses. Other users of a
//! join read it from an array, which is also written in pieces.

use crate::LowerError;
use crate::flat::{Flat, FlatId, Kind, Range, Side};
use crate::kernel::AxisId;
use crate::nest::{AffineIndex, AffineMap};
use crate::thresholds::{MAX_KERNEL_PIECES, MAX_PIECES};
use broadloom_ir::dim::Dim;
use std::collections::HashSet;

/// A part of a tensor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    /// The elements along each axis of the tensor that is not a literal 1.
    pub ranges: Vec<Range>,
    /// Whether it, or a value that it is computed from, is a reduction.
    pub reduces: bool,
}

impl Piece {
    /// Returns whether at most one axis needs a loop.
    pub fn is_line(&self) -> bool {
        self.ranges.iter().filter(|range| !range.length.is_one()).count() <= 1
    }

    /// Returns the first axis that needs a loop.
    fn outermost(&self) -> Option<(usize, &Dim)> {
        self.ranges.iter().map(|range| &range.length).enumerate().find(|(_, length)| !length.is_one())
    }
}

/// How a piece has to be cut.
struct Cut {
    /// The join whose operands meet there.
    join: FlatId,
    axis: usize,
    /// The parts of the range along the axis.
    parts: Vec<Range>,
}

impl Flat {
    /// Returns the pieces in which a node is computed, in row-major order of their first elements: those of the region if it is
    /// written over its base. `loaded` tells which nodes are read from arrays.
    pub fn pieces(&self, root: FlatId, loaded: &dyn Fn(FlatId) -> bool) -> Result<Vec<Piece>, LowerError> {
        let node = self.node(root);
        let region = match &node.kind {
            Kind::Set { region, .. } if self.overwritten.contains_key(&root) => region.as_slice(),
            _ => &[],
        };
        let range = |(axis, size): (usize, &Dim)| match region.get(axis) {
            Some(Some(range)) => range.clone(),
            _ => Range::new(Dim::ZERO, size.clone()),
        };
        let ranges = node.shape.iter().enumerate().filter(|(_, size)| !size.is_one()).map(range).collect();
        let reduces = node.nested > 0 || matches!(node.kind, Kind::Reduce(_));
        let mut waiting = vec![Piece { ranges, reduces }];
        let mut pieces = Vec::new();
        while let Some(mut piece) = waiting.pop() {
            let cut = if node.joins { self.cut(root, &mut piece, loaded)? } else { None };
            // The node itself is cut in any case: no array has its elements before.
            let is_full = pieces.len() + waiting.len() >= MAX_PIECES;
            let Some(Cut { axis, parts: ranges, .. }) = cut.filter(|cut| cut.join == root || !is_full) else {
                pieces.push(piece);
                continue;
            };
            let mut parts = Vec::with_capacity(ranges.len());
            for range in ranges.iter().filter(|range| !range.length.is_zero()) {
                let mut part = piece.clone();
                part.ranges[axis] = part.ranges[axis].part(range)?;
                parts.push(part);
            }
            // With one part, the other operands are certainly empty. If it cannot be proved that every part lies
            // within one operand of the node itself, the cut is for a join below, which is stored instead.
            if parts.len() > 1 && self.are_within_operands(root, axis, &parts)? {
                waiting.extend(parts.into_iter().rev());
            } else {
                pieces.push(piece);
            }
        }
        Ok(pieces)
    }

    /// Returns whether each of some pieces of a node lies within one of its operands along an axis of the pieces, if it is a
    /// join.
    fn are_within_operands(&self, root: FlatId, axis: usize, parts: &[Piece]) -> Result<bool, LowerError> {
        let node = self.node(root);
        for part in parts {
            let Range { length, .. } = &part.ranges[axis];
            let extent = |axis: AxisId| part.ranges[axis.index()].length.clone();
            let map = self.map_of(root, part)?;
            let is_within = match &node.kind {
                Kind::Concat { .. } => !self.reads(root, &map, &[], &extent, &|_| false)?.is_empty(),
                Kind::Set { region, .. } => {
                    let wide = (0..node.shape.rank()).filter(|axis| !node.shape[*axis].is_one()).nth(axis);
                    let replaced = wide.and_then(|of| Some((of, region[of].as_ref()?)));
                    match replaced {
                        // Other axes are cut later, and so are steps of the region.
                        Some((of, replaced)) => {
                            !matches!(self.side(replaced, &map[of], &extent)?, Side::Unknown)
                                || !self
                                    .parts_of_change(replaced, &node.shape[of], &map[of], length)?
                                    .is_empty()
                        }
                        None => true,
                    }
                }
                _ => true,
            };
            if !is_within {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the first join below a node whose operands a piece of the node crosses, as positions to cut at.
    /// Records whether a reduction was seen.
    fn cut(
        &self,
        root: FlatId,
        piece: &mut Piece,
        loaded: &dyn Fn(FlatId) -> bool,
    ) -> Result<Option<Cut>, LowerError> {
        // The axes of the piece, then those of reductions, which cannot be cut.
        let mut extents: Vec<Dim> = piece.ranges.iter().map(|range| range.length.clone()).collect();
        piece.reduces = false;
        let mut seen: HashSet<(FlatId, AffineMap)> = HashSet::new();
        let mut stack = vec![(root, self.map_of(root, piece)?)];
        while let Some((id, map)) = stack.pop() {
            let node = self.node(id);
            if id != root && loaded(id) || !seen.insert((id, map.clone())) {
                continue;
            }
            if !node.joins {
                piece.reduces |= node.nested > 0;
                continue;
            }
            let mut terms = vec![];
            if let Kind::Reduce(reduction) = &node.kind {
                let extent = &self.node(reduction.operand).shape[reduction.axis];
                if self.unrolls(reduction) {
                    terms.extend((0..extent.as_constant().unwrap_or(0)).map(AffineIndex::at));
                } else {
                    piece.reduces = true;
                    terms.push(AffineIndex::along(AxisId::new(extents.len())));
                    extents.push(extent.clone());
                }
            }
            let reads = self.reads(id, &map, &terms, &|axis| extents[axis.index()].clone(), loaded)?;
            if node.kind.is_join() && reads.is_empty() {
                let own = |index: &AffineIndex| {
                    index.axis.map(AxisId::index).filter(|axis| *axis < piece.ranges.len())
                };
                for (axis, index) in map.iter().enumerate() {
                    let Some(own) = own(index) else { continue };
                    let parts = match &node.kind {
                        Kind::Concat { axis: joined, ends, .. } if *joined == axis => {
                            self.parts(ends, index, &extents[own])?
                        }
                        Kind::Set { region, .. } if let Some(replaced) = &region[axis] => {
                            self.parts_of_change(replaced, &node.shape[axis], index, &extents[own])?
                        }
                        _ => continue,
                    };
                    if !parts.is_empty() {
                        return Ok(Some(Cut { join: id, axis: own, parts }));
                    }
                }
            }
            stack.extend(reads);
        }
        Ok(None)
    }

    /// Returns the map of a piece of a node; its loop axes are numbered like its ranges.
    pub fn map_of(&self, root: FlatId, piece: &Piece) -> Result<AffineMap, LowerError> {
        let mut ranges = piece.ranges.iter().enumerate();
        let shape = &self.node(root).shape;
        let index = |dim: &Dim| match if dim.is_one() { None } else { ranges.next() } {
            Some((axis, Range { start, length, step })) if !length.is_one() => Ok(AffineIndex {
                axis: Some(AxisId::new(axis)),
                step: *step,
                ..AffineIndex::at_dim(start.clone())
            }),
            Some((_, Range { start, .. })) => Ok(AffineIndex::at_dim(start.clone())),
            None => Ok(AffineIndex::at(0)),
        };
        shape.iter().map(index).collect()
    }

    /// Returns the parts of an axis of some length between which an index along it passes from one operand of a join to the
    /// next, in ascending order; none if that depends on sizes.
    fn parts(&self, ends: &[Dim], index: &AffineIndex, length: &Dim) -> Result<Vec<Range>, LowerError> {
        let places = self.places(ends, index, length)?;
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let mut start = Dim::ZERO;
        let mut parts = Vec::with_capacity(places.len() + 1);
        for end in places.into_iter().chain([length.clone()]) {
            let length = end.sub(&start)?;
            parts.push(Range::new(std::mem::replace(&mut start, end), length));
        }
        Ok(parts)
    }

    /// Returns the parts of an axis of some length on which an index along it is before, in and after what a change replaces
    /// of an axis of `whole` elements, or in and between its steps; none if that depends on sizes.
    fn parts_of_change(
        &self,
        replaced: &Range,
        whole: &Dim,
        index: &AffineIndex,
        length: &Dim,
    ) -> Result<Vec<Range>, LowerError> {
        let Range { start, length: size, step } = replaced;
        let end = replaced.end()?;
        let mut parts = self.parts(&[start.clone(), end.clone(), whole.clone()], index, length)?;
        parts.retain(|part| !part.length.is_zero());
        if *step == 1 || parts.len() > 1 || index.step != 1 {
            return Ok(parts);
        }
        if index.start == *start && *length == end.sub(start)? {
            // The last period ends with its first element.
            let others = size.sub(&size.least(&Dim::ONE)?)?;
            let lengths = (0..*step).map(|period| if period == 0 { size.clone() } else { others.clone() });
            let parts = lengths.enumerate().map(|(first, length)| Range {
                start: Dim::constant(first as i64),
                length,
                step: *step,
            });
            return Ok(parts.collect());
        }
        let part = |first: i64| {
            let start = Dim::constant(first);
            Ok(Range { length: length.sub(&start)?.ceil_div(*step)?, start, step: *step })
        };
        (0..*step).map(part).collect()
    }

    /// Returns where an index along an axis of some length passes from one operand of a join to the next, in
    /// ascending order; none if that depends on sizes.
    fn places(&self, ends: &[Dim], index: &AffineIndex, length: &Dim) -> Result<Vec<Dim>, LowerError> {
        let Some((total, ends)) = ends.split_last() else { return Ok(Vec::new()) };
        let whole = match index.step {
            1 => index.start.is_zero() && length == total,
            -1 => index.start == total.sub(&Dim::ONE)? && length == total,
            _ => return Ok(Vec::new()),
        };
        let mut places = Vec::with_capacity(ends.len());
        for end in ends {
            let place = match index.step {
                1 => end.sub(&index.start)?,
                _ => index.start.sub(end)?.add(&Dim::ONE)?,
            };
            let outside = self.at_least(&Dim::ZERO, &place)? || self.at_least(&place, length)?;
            if !whole && outside {
                continue;
            }
            let inside = whole || self.at_least(&place, &Dim::ZERO)? && self.at_least(length, &place)?;
            if !inside {
                return Ok(Vec::new());
            }
            places.push(place);
        }
        if index.step < 0 {
            places.reverse();
        }
        Ok(places)
    }
}

/// Groups pieces by kernel: those that can share the outermost loop.
pub(crate) fn by_kernels(pieces: &[Piece]) -> Vec<Vec<Piece>> {
    let mut kernels: Vec<Vec<Piece>> = Vec::new();
    for piece in pieces {
        let fits = |kernel: &&mut Vec<Piece>| {
            kernel.len() < MAX_KERNEL_PIECES
                && kernel[0].reduces == piece.reduces
                && kernel[0].outermost() == piece.outermost()
        };
        match kernels.iter_mut().find(fits) {
            Some(kernel) => kernel.push(piece.clone()),
            None => kernels.push(vec![piece.clone()]),
        }
    }
    kernels
}
