//! Arrays that are updated in a region: kernels write only what changes.
//!
//! ```text
//! assign x = x.at[1:-1].set(v)     piece [0, 1): x    [1, n-1): v    [n-1, n): x
//! ```
//!
//! The pieces that are the array itself are not written: the array of the result *starts as* it, in the same memory. An input
//! may be updated so where its output replaces it, and a temporary where a change is the last that needs it. If the other pieces
//! of an input cannot be written over it because elements would be overwritten before they are read, what replaces the region
//! is stored first, and then copied; those of a temporary are written elsewhere, as all of the result.

use crate::LowerError;
use crate::alias::hazards;
use crate::flat::{Flat, FlatId, FlatNode, Kind};
use crate::kernel::{AxisId, BufferId, KernelId, Role, Schedule};
use crate::pieces::Piece;
use crate::verify::{Broken, Fault};
use std::collections::BTreeMap;

/// How an array is updated. One way after the other is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Update {
    /// What changes is written as soon as it is computed.
    Directly,
    /// So is each change of several, one after the other: together they would overwrite what others read.
    InTurn,
    /// What changes is written once all of it is stored elsewhere.
    Stored,
    /// Every element is written, elsewhere.
    Whole,
}

/// A node that updates an array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Updated {
    pub node: FlatId,
    /// Whether it changes what other changes have made, which no array has.
    pub has_changes: bool,
}

/// The ways in which nodes update arrays, with the inputs that these start as: directly, if nothing else is known.
#[derive(Debug)]
pub(crate) struct Updates(BTreeMap<FlatId, (Update, Option<BufferId>)>);

impl Updates {
    pub fn new() -> Updates {
        Updates(BTreeMap::new())
    }

    fn of(&self, node: FlatId) -> Update {
        self.0.get(&node).map_or(Update::Directly, |(update, _)| *update)
    }

    /// Returns whether a node may update an array at all.
    pub fn allows(&self, node: FlatId) -> bool {
        self.of(node) != Update::Whole
    }

    /// Returns the nodes that update arrays by one change after the other.
    pub fn in_turn(&self) -> impl Iterator<Item = FlatId> {
        self.0.iter().filter(|(_, (update, _))| *update == Update::InTurn).map(|(node, _)| *node)
    }

    /// Chooses the next way for a node that cannot update an array as it was to; `input` is the array if it is an input.
    /// Returns whether there is one.
    pub fn defer(&mut self, node: Updated, input: Option<BufferId>) -> bool {
        let Updated { node, has_changes } = node;
        let next = match self.of(node) {
            Update::Directly if has_changes => Update::InTurn,
            Update::Directly | Update::InTurn if input.is_some() => Update::Stored,
            Update::Directly | Update::InTurn | Update::Stored => Update::Whole,
            Update::Whole => return false,
        };
        self.0.insert(node, (next, input));
        true
    }

    /// Chooses the next way for each node that a schedule updates in part but cannot write in place. Returns whether there is
    /// one. `nodes` are those of the arrays that start as others.
    ///
    /// # Errors
    /// Returns an error if a copy that nothing else reads is overwritten too early, which is a bug.
    pub fn defer_all(
        &mut self,
        schedule: &Schedule,
        nodes: &BTreeMap<BufferId, Updated>,
    ) -> Result<bool, Broken> {
        let is_input = |array: &BufferId| matches!(schedule.buffers[array.index()].role, Role::Input(_));
        let last_versions = schedule.last_versions();
        let mut deferred = false;
        for last in nodes.keys().filter(|array| last_versions[array.index()] == **array) {
            for (array, _) in hazards(schedule, &schedule.versions(*last)) {
                let Some(node) = nodes.get(&array) else { continue };
                if !self.defer(*node, schedule.buffers[array.index()].starts_as.filter(is_input)) {
                    return Err(Broken { kernel: KernelId::new(0), fault: Fault::Start(array) });
                }
                deferred = true;
            }
        }
        Ok(deferred)
    }
}

impl Flat {
    /// Returns the inputs that nodes may replace in part, by the outputs' nodes.
    pub fn updated(
        &self,
        assigned: &[(BufferId, BufferId)],
        updates: &Updates,
    ) -> BTreeMap<FlatId, BufferId> {
        let of = |(input, output): &(BufferId, BufferId)| {
            let Role::Output(index) = self.buffers[output.index()].role else { return None };
            let node = self.outputs[index];
            let is_change = self.node(node).joins
                || self.overwritten.contains_key(&node)
                || self.in_same_order(node).is_some();
            (is_change && updates.allows(node)).then_some((node, *input))
        };
        assigned.iter().filter_map(of).collect()
    }

    /// Returns whether a piece of a node is the same piece of an array.
    pub fn is_piece_of(
        &self,
        root: FlatId,
        array: BufferId,
        piece: &Piece,
        stored: &dyn Fn(FlatId) -> Option<BufferId>,
    ) -> Result<bool, LowerError> {
        let whole = self.map_of(root, piece)?;
        let extent = |axis: AxisId| piece.ranges[axis.index()].length.clone();
        let (mut node, mut map) = (root, whole.clone());
        loop {
            let buffer = match self.node(node).kind {
                Kind::Buffer(buffer) => Some(buffer),
                _ => stored(node).filter(|_| node != root),
            };
            if let Some(buffer) = buffer {
                return Ok(buffer == array && map == whole);
            }
            match self.node(node).kind {
                Kind::Concat { .. } | Kind::Set { .. } | Kind::Slice { .. } | Kind::Reindex { .. } => {
                    let reads = self.reads(node, &map, &[], &extent, &|node| stored(node).is_some())?;
                    let [(operand, read)] = &reads[..] else { return Ok(false) };
                    (node, map) = (*operand, read.clone());
                }
                _ => return Ok(false),
            }
        }
    }

    /// Returns the tensor of another shape that has the elements of a node in the same row-major order.
    fn in_same_order(&self, node: FlatId) -> Option<FlatId> {
        let FlatNode { kind, shape, .. } = self.node(node);
        match kind {
            Kind::Reshape(operand) => Some(*operand),
            Kind::Reindex { operand, axes } if axes.len() != shape.rank() => {
                let from = &self.node(*operand).shape;
                let places = from.iter().zip(axes).filter(|(size, _)| !size.is_one()).map(|(_, axis)| *axis);
                let wide = (0..shape.rank()).filter(|axis| !shape[*axis].is_one()).map(Some);
                places.eq(wide).then_some(*operand)
            }
            _ => None,
        }
    }

    /// Returns the array that a node is in another shape.
    pub fn reshaped(&self, node: FlatId, stored: &dyn Fn(FlatId) -> Option<BufferId>) -> Option<BufferId> {
        let mut id = node;
        loop {
            id = self.in_same_order(id)?;
            match self.node(id).kind {
                Kind::Buffer(buffer) => return Some(buffer),
                _ if let Some(buffer) = stored(id) => return Some(buffer),
                _ => {}
            }
        }
    }

    /// Returns the array from which a node is made by changes of regions, or that it is in another shape.
    pub fn base(&self, node: FlatId, stored: &dyn Fn(FlatId) -> Option<BufferId>) -> Option<BufferId> {
        if let Some(array) = self.reshaped(node, stored) {
            return Some(array);
        }
        let mut id = node;
        loop {
            id = match self.node(id).kind {
                Kind::Buffer(buffer) => return Some(buffer),
                _ if let Some(buffer) = stored(id).filter(|_| id != node) => return Some(buffer),
                // What is written over its base starts as all of it.
                Kind::Set { .. } if id != node && self.overwritten.contains_key(&node) => return None,
                Kind::Set { base, .. } | Kind::Scatter { base, .. } => base,
                Kind::Reindex { operand, .. } if self.overwritten.get(&node) == Some(&id) => operand,
                _ if self.overwritten.contains_key(&node) => self.in_same_order(id)?,
                _ => return None,
            };
        }
    }

    /// Stores what replaces regions, where it is computed from arrays that are updated so.
    pub fn store_replacements(&mut self, updates: &Updates) {
        let inputs: Vec<BufferId> = updates
            .0
            .values()
            .filter(|(update, _)| *update == Update::Stored)
            .filter_map(|(_, input)| *input)
            .collect();
        if inputs.is_empty() {
            return;
        }
        let is_read = |node: FlatId| match self.node(node).kind {
            Kind::Buffer(buffer) => inputs.contains(&buffer),
            _ => false,
        };
        let is_array = |node: FlatId| matches!(self.node(node).kind, Kind::Buffer(_));
        let reading = self.above(is_read);
        let waits = |node: &FlatId| !is_array(*node) && reading.contains(*node);
        let stored: Vec<FlatId> = self.replacements.iter().copied().filter(waits).collect();
        stored.into_iter().for_each(|node| self.store(node));
    }
}
