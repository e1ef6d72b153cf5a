//! Cuts long elementwise graphs into sections, one kernel each, so that compiling them takes linear time.
//!
//! ```text
//! op op op op │ op op op op │ op op op op      cut where the fewest values cross: each is stored once
//! ```
//!
//! A kernel with thousands of ops has more live values than registers, and after storing one value, most of the
//! rest would still be recomputed.

use crate::flat::{Flat, FlatId, Kind};
use crate::thresholds::{MAX_UNCUT_OPS, OPS_OF_SECTION};

/// The places where a graph is cut.
#[derive(Debug)]
pub(crate) struct Sections {
    /// The first node of each section after the first, in order.
    starts: Vec<usize>,
    /// For each node, the last node that reads it.
    last_use: Vec<usize>,
}

impl Sections {
    /// Returns the sections of a graph that is long and consists only of ops on tensors of one shape.
    pub fn of(flat: &Flat) -> Option<Sections> {
        let is_leaf = |kind: &Kind| matches!(kind, Kind::Buffer(_) | Kind::Constant(_) | Kind::Size(_));
        let ops: Vec<usize> =
            (0..flat.nodes.len()).filter(|index| !is_leaf(&flat.nodes[*index].kind)).collect();
        if ops.len() <= MAX_UNCUT_OPS {
            return None;
        }
        let shape = &flat.nodes[ops[0]].shape;
        let is_plain = |index: &usize| {
            let node = &flat.nodes[*index];
            matches!(node.kind, Kind::Op { .. } | Kind::Select(_) | Kind::Cast(_)) && node.shape == *shape
        };
        if !ops.iter().all(is_plain) {
            return None;
        }
        let mut last_use: Vec<usize> = (0..flat.nodes.len()).collect();
        for (index, node) in flat.nodes.iter().enumerate() {
            for operand in node.kind.operands() {
                last_use[operand.index()] = index;
            }
        }
        // The number of values that cross the place before each node.
        let mut crossing = vec![0i64; flat.nodes.len() + 1];
        for &index in ops.iter().filter(|index| last_use[**index] > **index) {
            crossing[index + 1] += 1;
            crossing[last_use[index] + 1] -= 1;
        }
        let mut alive = 0;
        for change in &mut crossing {
            alive += *change;
            *change = alive;
        }
        let (mut starts, mut from) = (Vec::new(), 0);
        while ops.len() - from > OPS_OF_SECTION.end {
            let places = from + OPS_OF_SECTION.start..=from + OPS_OF_SECTION.end;
            let place = places.min_by_key(|place| (crossing[ops[*place]], std::cmp::Reverse(*place)))?;
            starts.push(ops[place]);
            from = place;
        }
        Some(Sections { starts, last_use })
    }

    /// Returns the section of a node.
    pub fn section(&self, id: FlatId) -> usize {
        self.starts.partition_point(|start| *start <= id.index())
    }

    /// Returns whether a node is read in a later section.
    pub fn crosses(&self, id: FlatId) -> bool {
        self.section(FlatId::new(self.last_use[id.index()])) > self.section(id)
    }
}
