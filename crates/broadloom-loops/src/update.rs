//! Inputs that are updated in a region: kernels write only what changes.
//!
//! ```text
//! assign x = x.at[1:-1].set(v)     piece [0, 1): x    [1, n-1): v    [n-1, n): x
//! ```
//!
//! The pieces that are the input itself are not written: the array of the output starts as the input. If the others cannot
//! be written over it because elements would be overwritten before they are read, what replaces the region is stored first,
//! and then copied.

use crate::LowerError;
use crate::alias::in_place;
use crate::flat::{Flat, FlatId, Kind};
use crate::kernel::{AxisId, BufferId, Role, Schedule};
use crate::pieces::Piece;
use broadloom_ir::InputId;
use std::collections::{BTreeMap, BTreeSet};

/// How an input is updated in a region. One way after the other is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Update {
    /// What changes is written as soon as it is computed.
    Directly,
    /// What changes is written once all of it is stored elsewhere.
    Stored,
    /// Every element is written, elsewhere.
    Whole,
}

/// The ways in which inputs are updated: directly, if nothing else is known.
#[derive(Debug)]
pub(crate) struct Updates(BTreeMap<BufferId, Update>);

impl Updates {
    pub fn new() -> Updates {
        Updates(BTreeMap::new())
    }

    fn of(&self, input: BufferId) -> Update {
        self.0.get(&input).copied().unwrap_or(Update::Directly)
    }

    /// Chooses the next way for each input that a schedule updates in part but cannot write in place. Returns whether there
    /// is one.
    pub fn defer(&mut self, schedule: &Schedule) -> bool {
        let hazardous = hazardous(schedule);
        for input in &hazardous {
            let next = match self.of(*input) {
                Update::Directly => Update::Stored,
                Update::Stored | Update::Whole => Update::Whole,
            };
            self.0.insert(*input, next);
        }
        !hazardous.is_empty()
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
            (self.node(node).joins && updates.of(*input) != Update::Whole).then_some((node, *input))
        };
        assigned.iter().filter_map(of).collect()
    }

    /// Returns whether a piece of a node is the same piece of an array.
    pub fn is_piece_of(&self, root: FlatId, array: BufferId, piece: &Piece) -> Result<bool, LowerError> {
        let whole = self.map_of(root, piece)?;
        let extent = |axis: AxisId| piece.ranges[axis.index()].length.clone();
        let (mut node, mut map) = (root, whole.clone());
        loop {
            match self.node(node).kind {
                Kind::Buffer(buffer) => return Ok(buffer == array && map == whole),
                Kind::Concat { .. } | Kind::Set { .. } | Kind::Slice { .. } | Kind::Reindex { .. }
                    if !self.stored.contains(&node) =>
                {
                    let [(operand, read)] = &self.reads(node, &map, &[], &extent, &|node| self.stored.contains(&node))?[..] else {
                        return Ok(false);
                    };
                    (node, map) = (*operand, read.clone());
                }
                _ => return Ok(false),
            }
        }
    }

    /// Stores what replaces regions, where it is computed from arrays that are updated so.
    pub fn store_replacements(&mut self, updates: &Updates) {
        let is_read = |node: FlatId| match self.node(node).kind {
            Kind::Buffer(buffer) => updates.of(buffer) == Update::Stored,
            _ => false,
        };
        let is_array = |node: FlatId| matches!(self.node(node).kind, Kind::Buffer(_));
        let waits = |node: &FlatId| !is_array(*node) && self.below([*node]).iter().any(is_read);
        let stored: Vec<FlatId> = self.replacements.iter().copied().filter(waits).collect();
        stored.into_iter().for_each(|node| self.store(node));
    }
}

/// Returns the inputs that a schedule updates in part but cannot write in place.
fn hazardous(schedule: &Schedule) -> BTreeSet<BufferId> {
    let updated = schedule.buffers.iter().filter_map(|buffer| match buffer.role {
        Role::Output(output) => Some((output, buffer.starts_as?)),
        Role::Input(_) | Role::Temporary => None,
    });
    let is_hazard = |(output, input): &(usize, BufferId)| match schedule.buffers[input.index()].role {
        Role::Input(id) => in_place(schedule, *output, InputId::new(id.index())).is_err(),
        Role::Output(_) | Role::Temporary => true,
    };
    updated.filter(is_hazard).map(|(_, input)| input).collect()
}
