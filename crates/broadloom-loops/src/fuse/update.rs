//! Nodes that are made by updates of other arrays, and the pieces in which they are computed.

use super::Fusion;
use crate::alias::Versions;
use crate::flat::{FlatId, Kind};
use crate::kernel::*;
use crate::pieces::{Piece, by_kernels};
use crate::{Layout, LowerError};
use std::rc::Rc;

/// The pieces in which a node is computed.
pub(super) struct Pieces {
    pub computed: Vec<Piece>,
    /// Whether the others are there, because an array that is updated has them.
    pub keeps_others: bool,
}

/// A node that is written in part.
#[derive(Clone, Copy)]
pub(super) struct InPart {
    pub node: FlatId,
    /// Its array.
    pub array: BufferId,
    /// What its array starts as.
    pub before: BufferId,
}

impl Fusion<'_> {
    /// Returns the array of a node and the array that it may start as, so that only what differs is written.
    pub(super) fn updated(&self, node: FlatId) -> Option<(BufferId, BufferId)> {
        let [target] = self.targets(node)[..] else { return None };
        // Nothing else reads a copy of the base.
        let has_copy = self.flat.overwritten.get(&node).is_some_and(|copy| self.stored.contains_key(copy));
        if !self.updates.allows(node) && !has_copy {
            return None;
        }
        let base = self.flat.base(node, &|node| self.stored.get(&node).copied());
        // What is written over its base starts as all of it.
        let is_over_base = self.flat.overwritten.contains_key(&node);
        let own = self.updated.get(&node).filter(|input| !is_over_base || base == Some(**input));
        let own = own.map(|input| (target, *input));
        let Some(source) = base else { return own };
        let is_dense = |array: BufferId| self.flat.layouts[array.index()] == Layout::Dense;
        let may_share = match self.flat.buffers[source.index()].role {
            Role::Temporary => self.next.get(&source).is_none_or(|(next, _)| *next == node),
            // A temporary is written over an input if an output that starts as it replaces the input.
            Role::Input(_) => self.next.get(&target).is_some_and(|(_, last)| {
                let mut replaced = self.updated.iter().filter(|(_, input)| **input == source);
                replaced.any(|(output, _)| self.flat.output_buffers(*output).contains(last))
            }),
            Role::Output(_) => false,
        };
        let elements = |array: BufferId| self.flat.buffers[array.index()].shape.elements().ok();
        let is_alike = elements(source).is_some() && elements(source) == elements(target);
        match may_share && is_alike && is_dense(source) && is_dense(target) {
            true => Some((target, source)),
            false => own,
        }
    }

    /// Returns the temporary as which the array of a node may start.
    pub(super) fn version_before(&self, node: FlatId) -> Option<BufferId> {
        let (_, before) = self.updated(node)?;
        (self.flat.buffers[before.index()].role == Role::Temporary).then_some(before)
    }

    /// Returns what has to be stored so that a node can be written over its base.
    pub(super) fn missing_base(&self, roots: &[FlatId]) -> Option<FlatId> {
        roots.iter().filter(|root| self.updated(**root).is_none()).find_map(|root| {
            let copy = *self.flat.overwritten.get(root)?;
            let base = self.flat.node(copy).kind.operands()[0];
            let is_change = matches!(self.flat.node(base).kind, Kind::Set { .. } | Kind::Scatter { .. });
            Some(if is_change && !self.stored.contains_key(&base) { base } else { copy })
        })
    }

    /// Returns the change that a change starts from, if no array has it: made one after the other, each of the two overwrites
    /// less than both at once.
    pub(super) fn change_before(&self, node: FlatId) -> Option<FlatId> {
        let Kind::Set { base, .. } = self.flat.node(node).kind else { return None };
        let is_change = matches!(self.flat.node(base).kind, Kind::Set { .. });
        (is_change && !self.stored.contains_key(&base)).then_some(base)
    }

    /// Returns which of the nodes of a kernel are written in part.
    pub(super) fn in_part(&self, roots: &[FlatId]) -> Result<Vec<InPart>, LowerError> {
        let mut updates = Vec::new();
        for &node in roots {
            if let Some((array, before)) = self.updated(node)
                && self.pieces(node)?.keeps_others
            {
                updates.push(InPart { node, array, before });
            }
        }
        Ok(updates)
    }

    /// Returns whether kernels write a temporary before they have read what it was.
    pub(super) fn overwrites(&self, kernels: &[Kernel], update: &InPart) -> bool {
        let buffer = &self.flat.buffers[update.before.index()];
        let kernels: Vec<&Kernel> = kernels.iter().collect();
        let versions = Versions {
            kernels: &kernels,
            versions: &[update.before, update.array],
            strides: &[],
            known: self.flat.known(),
            elements: buffer.shape.elements().ok(),
        };
        // These kernels need not run in this order.
        buffer.role == Role::Temporary && !versions.hazards(&|_, _| true).is_empty()
    }

    /// Returns the pieces of a node by kernels. Partial results of segments, results of walks and sorted rows are a
    /// single piece and are not cut.
    pub(super) fn pieces_by_kernel(&self, root: FlatId) -> Result<Vec<Vec<Piece>>, LowerError> {
        let is_whole = |kind: &Kind| {
            matches!(
                kind,
                Kind::Segment { .. } | Kind::Scatter { .. } | Kind::TopK { .. } | Kind::Sort { .. }
            )
        };
        if is_whole(&self.flat.node(root).kind) {
            return Ok(vec![Vec::new()]);
        }
        Ok(by_kernels(&self.pieces(root)?.computed))
    }

    /// Returns the pieces of a node that are computed: not those that an updated array has already.
    pub(super) fn pieces(&self, root: FlatId) -> Result<Rc<Pieces>, LowerError> {
        if let Some(found) = self.cut.borrow().get(&root) {
            return Ok(found.clone());
        }
        let mut computed = self.flat.pieces(root, &|node| self.stored.contains_key(&node))?;
        let all = computed.len();
        if let Some((_, array)) = self.updated(root) {
            let stored = |node: FlatId| self.stored.get(&node).copied();
            let mut changed = Vec::with_capacity(all);
            if self.flat.reshaped(root, &stored) != Some(array) {
                for piece in computed {
                    if !self.flat.is_piece_of(root, array, &piece, &stored)? {
                        changed.push(piece);
                    }
                }
            }
            computed = changed;
        }
        let keeps_others = computed.len() < all || self.flat.overwritten.contains_key(&root);
        let pieces = Rc::new(Pieces { keeps_others, computed });
        self.cut.borrow_mut().insert(root, pieces.clone());
        Ok(pieces)
    }
}
