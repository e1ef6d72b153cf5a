//! Nodes that are computed in one kernel.

use super::Fusion;
use crate::LowerError;
use crate::flat::{FlatId, FlatNode, Kind, Range, dense_strides};
use crate::kernel::AxisId;
use crate::nest::{AffineIndex, AffineMap};
use crate::pieces::Piece;
use crate::thresholds::{MAX_NODES_OF_DIRECTION, MAX_TRANSPOSED_ROW_ARG};
use broadloom_ir::dim::Dim;
use std::collections::{BTreeSet, HashSet};

/// How reductions go through memory: some along neighbours, some from row to row, beside the neighbours that a loop around
/// them takes.
#[derive(Debug, Clone, Copy, Default)]
struct Direction {
    along: bool,
    across: bool,
}

impl Direction {
    /// Returns whether loops that suit one suit the other.
    fn is_like(self, other: Direction) -> bool {
        let is_only =
            |one: Direction, other: Direction| one.along && !one.across && other.across && !other.along;
        !is_only(self, other) && !is_only(other, self)
    }
}

impl Fusion<'_> {
    /// Returns the axis of a scan from which a node is computed element by element, among scans that need a loop.
    pub(super) fn scanned(&self, root: FlatId) -> Option<usize> {
        let sizes = self.sizes(root);
        let mut seen = BTreeSet::new();
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            let is_array = node != root && self.stored.contains_key(&node);
            if is_array || self.sizes(node) != sizes || !seen.insert(node) {
                continue;
            }
            let FlatNode { kind, shape, .. } = self.flat.node(node);
            match kind {
                Kind::Scan { axis, .. } => {
                    return Some(shape[..*axis].iter().filter(|dim| !dim.is_one()).count());
                }
                Kind::Op { .. } | Kind::Select(_) | Kind::Cast(_) | Kind::Reindex { .. } => {
                    stack.extend(kind.operands())
                }
                _ => {}
            }
        }
        None
    }

    /// Returns a node that no pending node is computed from. Segmented reductions and results of walks wait until
    /// all of them with the same ids or walk are known.
    pub(super) fn next(&self, pending: &BTreeSet<FlatId>) -> Option<FlatId> {
        let segmented =
            |node: FlatId| matches!(self.flat.node(node).kind, Kind::Segment { .. } | Kind::TopK { .. });
        // What reads a section has a later phase.
        let last = *pending.iter().max_by_key(|node| (self.plan.phase(**node), **node))?;
        if !segmented(last) {
            return Some(last);
        }
        let below = self.flat.below(pending.iter().copied());
        let other = pending.iter().rev().find(|node| !segmented(**node) && !below.contains(**node));
        Some(other.copied().unwrap_or(last))
    }

    /// Returns nodes to compute in one kernel with `last`, which no pending node follows: all of its section, or at most so
    /// many nodes of equal sizes and pieces, segmented by the same ids, or found by the same walk, whose arrays neither it nor
    /// any pending node waits for.
    pub(super) fn group(
        &self,
        last: FlatId,
        pending: &BTreeSet<FlatId>,
        most: usize,
    ) -> Result<Vec<FlatId>, LowerError> {
        let mut roots = vec![last];
        let looped = |node: FlatId| self.flat.node(node).nested > 0;
        let segmented = |node: FlatId| match &self.flat.node(node).kind {
            Kind::Segment { ids, taken, .. } => Some((*ids, taken, &self.flat.node(node).shape[..2])),
            _ => None,
        };
        // Each alone.
        let is_alone = |node: FlatId| {
            self.flat.is_pack(node)
                || matches!(self.flat.node(node).kind, Kind::Sort { .. } | Kind::Scatter { .. })
        };
        if is_alone(last) {
            return Ok(roots);
        }
        if let Some(section) = self.plan.section(last) {
            // All readers of what is stored of a section have their kernels.
            let stored = self.stored.keys().chain(pending).copied();
            let here = stored.filter(|node| *node != last && self.plan.section(*node) == Some(section));
            let here: BTreeSet<FlatId> = here.collect();
            roots.extend(here.into_iter().rev());
            return Ok(roots);
        }
        let pieces = self.pieces(last)?;
        let direction = self.direction(last)?;
        let others: Vec<FlatId> =
            pending.iter().rev().copied().filter(|node| *node != last && !is_alone(*node)).collect();
        let Some(first) = others.last() else { return Ok(roots) };
        let mut below = self.flat.below_from(*first, [last]);
        for node in others.iter().copied() {
            if roots.len() >= most {
                break;
            }
            let stored = self.stored.contains_key(&node);
            let waits = stored && below.contains(node);
            let like = match (segmented(last), segmented(node)) {
                _ if self.flat.walk(last).is_some() || self.flat.walk(node).is_some() => {
                    self.flat.walk(last) == self.flat.walk(node)
                }
                (None, None) => {
                    self.sizes(node) == self.sizes(last)
                        && (below.contains(node) || looped(node) == looped(last))
                        && (!looped(node) || self.direction(node)?.is_like(direction))
                        && ranges(&self.pieces(node)?.computed) == ranges(&pieces.computed)
                        && self.scanned(node) == self.scanned(last)
                }
                (one, other) => one == other,
            };
            // Only one version of an array follows another in the same memory.
            let is_second = self
                .version_before(node)
                .is_some_and(|before| roots.iter().any(|root| self.version_before(*root) == Some(before)));
            if waits || !like || is_second {
                continue;
            }
            let read_later = |other: &FlatId| !roots.contains(other) && self.flat.reaches(*other, node);
            if !stored || !pending.iter().any(read_later) {
                self.flat.add_below(*first, node, &mut below);
                roots.push(node);
            }
        }
        if segmented(last).is_some() {
            // The earliest expression determines the error.
            roots.sort();
        }
        Ok(roots)
    }

    /// Returns how the reductions from which a node is computed go through memory.
    fn direction(&self, root: FlatId) -> Result<Direction, LowerError> {
        let of = |all: Direction, (_, one): &(FlatId, Direction)| Direction {
            along: all.along || one.along,
            across: all.across || one.across,
        };
        Ok(self.directions(root)?.iter().fold(Direction::default(), of))
    }

    /// Returns the reductions that go across rows, if others from which a node is computed go along them: no loops suit both.
    pub(super) fn against(&self, root: FlatId) -> Result<Vec<FlatId>, LowerError> {
        let directions = self.directions(root)?;
        let is_along = |(_, direction): &(FlatId, Direction)| direction.along && !direction.across;
        if !directions.iter().any(is_along) {
            return Ok(Vec::new());
        }
        let across = directions.into_iter().filter(|(_, direction)| direction.across && !direction.along);
        Ok(across.map(|(reduction, _)| reduction).filter(|reduction| *reduction != root).collect())
    }

    /// Returns how the reductions over all elements of which a node is computed go through memory.
    fn directions(&self, root: FlatId) -> Result<Vec<(FlatId, Direction)>, LowerError> {
        let mut directions: Vec<(FlatId, Direction)> = Vec::new();
        if self.flat.node(root).nested == 0 {
            return Ok(directions);
        }
        let mut extents = self.sizes(root);
        let free = extents.len();
        let ranges = extents.iter().map(|size| Range::new(Dim::ZERO, size.clone()));
        let whole = Piece { ranges: ranges.collect(), reduces: true };
        let mut seen: HashSet<(FlatId, AffineMap)> = HashSet::new();
        let mut stack: Vec<(FlatId, AffineMap, Option<usize>)> =
            vec![(root, self.flat.map_of(root, &whole)?, None)];
        while let Some((id, map, mut within)) = stack.pop() {
            let is_stored = id != root && self.stored.contains_key(&id);
            if seen.len() == MAX_NODES_OF_DIRECTION || !seen.insert((id, map.clone())) {
                continue;
            }
            let FlatNode { kind, shape, .. } = self.flat.node(id);
            let array = match kind {
                _ if is_stored => Some(dense_strides(shape)?),
                Kind::Buffer(buffer) => Some(self.flat.strides(*buffer)?),
                _ => None,
            };
            if let Some(strides) = array {
                let reduced = |index: &AffineIndex| index.axes().any(|axis| axis.index() >= free);
                let is_free = |index: &AffineIndex| index.axes().any(|axis| axis.index() < free);
                let neighbours = map.iter().zip(&strides).find(|(_, stride)| stride.is_one());
                // An array that is the same for all elements, or read once, suits all loops.
                if let Some(reduction) = within
                    && let Some((index, _)) = neighbours
                    && map.iter().any(reduced)
                    && map.iter().any(is_free)
                {
                    let (_, direction): &mut (FlatId, Direction) = &mut directions[reduction];
                    direction.along |= reduced(index);
                    direction.across |= !reduced(index) && is_free(index);
                }
                continue;
            }
            let mut terms = Vec::new();
            if let Kind::Reduce(reduction) = kind {
                let extent = &self.flat.node(reduction.operand).shape[reduction.axis];
                if self.flat.unrolls(reduction) {
                    terms.push(AffineIndex::at(0));
                } else {
                    terms.push(AffineIndex::along(AxisId::new(extents.len())));
                    extents.push(extent.clone());
                    // Short rows are in the lanes of vectors.
                    let is_short =
                        extent.as_constant().is_some_and(|extent| extent <= MAX_TRANSPOSED_ROW_ARG);
                    if within.is_none() && !is_short {
                        within = Some(directions.len());
                        directions.push((id, Direction::default()));
                    }
                }
            }
            let extent = |axis: AxisId| extents[axis.index()].clone();
            let reads =
                self.flat.reads(id, &map, &terms, &extent, &|node| self.stored.contains_key(&node))?;
            stack.extend(reads.into_iter().map(|(operand, map)| (operand, map, within)));
        }
        Ok(directions)
    }
}

/// Returns the ranges that pieces cover, whether or not they reduce.
fn ranges(pieces: &[Piece]) -> Vec<&[Range]> {
    pieces.iter().map(|piece| piece.ranges.as_slice()).collect()
}
