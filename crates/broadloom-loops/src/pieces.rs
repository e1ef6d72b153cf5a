//! Cuts the outputs of a kernel into pieces, so that joins need no copies.
//!
//! ```text
//! concat(a, b) * c  ──▶  [0, a): a * c[0..a]     [a, a + b): b * c[a..a + b]
//! ```
//!
//! A node is cut where the operands of the joins below it meet, as far as views and elementwise ops carry those
//! positions to its own axes. Within a piece every such join is one of its operands, and fuses. Other users of a
//! join read it from an array, which is also written in pieces.

use crate::LowerError;
use crate::flat::{Flat, FlatId, Kind};
use crate::kernel::AxisId;
use crate::nest::{AffineIndex, AffineMap};
use crate::thresholds::{MAX_KERNEL_PIECES, MAX_PIECES};
use broadloom_ir::dim::Dim;
use std::collections::HashSet;

/// A part of a tensor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    /// The first element and the number of elements along each axis of the tensor that is not a literal 1.
    pub ranges: Vec<(Dim, Dim)>,
    /// Whether it, or a value that it is computed from, is a reduction.
    pub reduces: bool,
}

impl Piece {
    /// Returns whether at most one axis needs a loop.
    pub fn is_line(&self) -> bool {
        self.ranges.iter().filter(|(_, length)| !length.is_one()).count() <= 1
    }

    /// Returns the first axis that needs a loop.
    fn outermost(&self) -> Option<(usize, &Dim)> {
        self.ranges.iter().map(|(_, length)| length).enumerate().find(|(_, length)| !length.is_one())
    }
}

/// Where a piece has to be cut: an axis and positions on it.
type Cut = (usize, Vec<Dim>);

impl Flat {
    /// Returns the pieces in which a node is computed, in row-major order of their first elements. `loaded` tells
    /// which nodes are read from arrays.
    pub fn pieces(&self, root: FlatId, loaded: &dyn Fn(FlatId) -> bool) -> Result<Vec<Piece>, LowerError> {
        let node = self.node(root);
        let sizes = node.shape.iter().filter(|dim| !dim.is_one());
        let ranges = sizes.map(|size| (Dim::ZERO, size.clone())).collect();
        let reduces = node.nested > 0 || matches!(node.kind, Kind::Reduce(_));
        let mut waiting = vec![Piece { ranges, reduces }];
        let mut pieces = Vec::new();
        while let Some(mut piece) = waiting.pop() {
            let cut = if node.joins { self.cut(root, &mut piece, loaded)? } else { None };
            let Some((axis, places)) = cut.filter(|_| pieces.len() + waiting.len() < MAX_PIECES) else {
                pieces.push(piece);
                continue;
            };
            let (start, length) = piece.ranges[axis].clone();
            let mut from = Dim::ZERO;
            let mut parts = Vec::with_capacity(places.len() + 1);
            for end in places.iter().chain([&length]) {
                let mut part = piece.clone();
                part.ranges[axis] = (start.add(&from)?, end.sub(&from)?);
                if !part.ranges[axis].1.is_zero() {
                    parts.push(part);
                }
                from = end.clone();
            }
            // With one part, the other operands are certainly empty. If it cannot be proved that every part lies
            // within one operand of the node itself, the cut is for a join below, which is stored instead.
            if parts.len() > 1 && self.are_within_operands(root, &parts)? {
                waiting.extend(parts.into_iter().rev());
            } else {
                pieces.push(piece);
            }
        }
        Ok(pieces)
    }

    /// Returns whether each of some pieces of a node lies within one of its operands, if it is a join.
    fn are_within_operands(&self, root: FlatId, parts: &[Piece]) -> Result<bool, LowerError> {
        if !matches!(self.node(root).kind, Kind::Concat { .. }) {
            return Ok(true);
        }
        for part in parts {
            let extent = |axis: AxisId| part.ranges[axis.index()].1.clone();
            if self.reads(root, &self.map_of(root, part)?, &[], &extent)?.is_empty() {
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
        let mut extents: Vec<Dim> = piece.ranges.iter().map(|(_, length)| length.clone()).collect();
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
            let reads = self.reads(id, &map, &terms, &|axis| extents[axis.index()].clone())?;
            if let Kind::Concat { axis, ends, .. } = &node.kind
                && reads.is_empty()
            {
                let length = piece.ranges.len();
                let own = map[*axis].axis.map(AxisId::index).filter(|axis| *axis < length);
                if let Some(own) = own {
                    let places = self.places(ends, &map[*axis], &extents[own])?;
                    if !places.is_empty() {
                        return Ok(Some((own, places)));
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
            Some((axis, (start, length))) if !length.is_one() => {
                AffineIndex::along(AxisId::new(axis)).moved(start)
            }
            Some((_, (start, _))) => Ok(AffineIndex::at_dim(start.clone())),
            None => Ok(AffineIndex::at(0)),
        };
        shape.iter().map(index).collect()
    }

    /// Returns where an index along an axis of some length passes from one operand of a join to the next, in
    /// ascending order; `None` if that depends on sizes.
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
pub(crate) fn by_kernels(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut kernels: Vec<Vec<Piece>> = Vec::new();
    for piece in pieces {
        let fits = |kernel: &&mut Vec<Piece>| {
            kernel.len() < MAX_KERNEL_PIECES
                && kernel[0].reduces == piece.reduces
                && kernel[0].outermost() == piece.outermost()
        };
        match kernels.iter_mut().find(fits) {
            Some(kernel) => kernel.push(piece),
            None => kernels.push(vec![piece]),
        }
    }
    kernels
}
