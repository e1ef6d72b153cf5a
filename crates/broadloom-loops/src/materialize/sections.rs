//! Cuts many elementwise ops on tensors of one size into sections, one kernel each: all that others read of a section is computed
//! together, and compiling takes linear time.
//!
//! ```text
//! op op op op │ op op op op │ op op op op      cut where the fewest values cross: each is stored once
//! ```
//!
//! A kernel with thousands of ops has more live values than registers, and after storing one value, most of the
//! rest would still be recomputed. Without sections, each op of a long chain under a sum would be computed twice, for the sum and
//! for its derivative, or stored.
//!
//! The tensors of a section have one size and one phase: as many views, reductions and changes of size lie between them and the
//! arrays of the caller. Anything else that reads a section has a later phase, so no kernel waits for one that waits for it.

use crate::flat::{Flat, FlatId, Kind};
use crate::thresholds::{MAX_UNCUT_OPS, MIN_SECTIONED_OPS, OPS_OF_SECTION};
use broadloom_ir::dim::Dim;
use std::collections::BTreeMap;
use std::ops::Range;

/// The ops on tensors of one size.
type OfSize<'f> = (&'f [Dim], Vec<usize>);

/// The places where a graph is cut.
#[derive(Debug)]
pub(crate) struct Sections {
    /// For each node, the most views, reductions and changes of size on the way from the arrays of the caller.
    phases: Vec<usize>,
    /// The section of each node that has one.
    sections: Vec<Option<usize>>,
    /// Whether a later section of the same size and phase reads a node.
    crosses: Vec<bool>,
    /// The number of the next section.
    next: usize,
}

impl Sections {
    /// Returns the sections of a graph that has many ops on tensors of one size.
    pub fn of(flat: &Flat) -> Option<Sections> {
        let count = flat.nodes.len();
        let is_leaf = |kind: &Kind| matches!(kind, Kind::Buffer(_) | Kind::Constant(_) | Kind::Size(_));
        let is_op = |kind: &Kind| matches!(kind, Kind::Op { .. } | Kind::Select(_) | Kind::Cast(_));
        let (mut phases, mut is_array) = (vec![0; count], vec![false; count]);
        let mut groups: BTreeMap<usize, Vec<OfSize<'_>>> = BTreeMap::new();
        for (index, node) in flat.nodes.iter().enumerate() {
            let operands = node.kind.operands();
            let is_view = matches!(node.kind, Kind::Reindex { .. } | Kind::Slice { .. });
            is_array[index] =
                is_leaf(&node.kind) || is_view && operands.iter().all(|operand| is_array[operand.index()]);
            if is_array[index] {
                continue;
            }
            let phase = |operand: &FlatId| {
                let at = operand.index();
                let is_same = is_op(&node.kind) && flat.nodes[at].shape == node.shape;
                phases[at] + usize::from(!is_same && !is_array[at])
            };
            phases[index] = operands.iter().map(phase).max().unwrap_or(0);
            if is_op(&node.kind) {
                let shapes = groups.entry(phases[index]).or_default();
                match shapes.iter_mut().find(|(shape, _)| **shape == *node.shape) {
                    Some((_, ops)) => ops.push(index),
                    None => shapes.push((&node.shape, vec![index])),
                }
            }
        }
        let (sections, crosses) = (vec![None; count], vec![false; count]);
        let mut all = Sections { phases, sections, crosses, next: 0 };
        for (_, ops) in groups.into_values().flatten().filter(|(_, ops)| ops.len() > MIN_SECTIONED_OPS) {
            let is_cut = ops.len() > MAX_UNCUT_OPS;
            all.cut(flat, &ops, if is_cut { OPS_OF_SECTION } else { 0..ops.len() });
        }
        (all.next > 0).then_some(all)
    }

    /// Cuts ops of one size and phase into sections of these lengths.
    fn cut(&mut self, flat: &Flat, ops: &[usize], lengths: Range<usize>) {
        let place: BTreeMap<usize, usize> = ops.iter().enumerate().map(|(place, op)| (*op, place)).collect();
        let mut last_use: Vec<usize> = (0..ops.len()).collect();
        for (at, op) in ops.iter().enumerate() {
            for operand in flat.nodes[*op].kind.operands() {
                if let Some(read) = place.get(&operand.index()) {
                    last_use[*read] = at;
                }
            }
        }
        // The number of values that cross the place before each op.
        let mut crossing = vec![0i64; ops.len() + 1];
        for at in (0..ops.len()).filter(|at| last_use[*at] > *at) {
            crossing[at + 1] += 1;
            crossing[last_use[at] + 1] -= 1;
        }
        let mut alive = 0;
        for change in &mut crossing {
            alive += *change;
            *change = alive;
        }
        let mut starts = vec![0];
        while ops.len() - starts[starts.len() - 1] > lengths.end {
            let from = starts[starts.len() - 1];
            let places = from + lengths.start..=from + lengths.end;
            let Some(place) = places.min_by_key(|place| (crossing[*place], std::cmp::Reverse(*place))) else {
                break;
            };
            starts.push(place);
        }
        let section = |at: usize| starts.partition_point(|start| *start <= at) - 1;
        for (at, op) in ops.iter().enumerate() {
            self.sections[*op] = Some(self.next + section(at));
            self.crosses[*op] |= section(last_use[at]) > section(at);
        }
        self.next += starts.len();
    }

    /// Cuts a section that is too large for a kernel in two. Returns the nodes that cross the cut; none if its nodes are few, and
    /// are left to themselves.
    pub fn halve(&mut self, flat: &Flat, section: usize) -> Vec<FlatId> {
        let of_section = |at: &usize| self.sections[*at] == Some(section);
        let ops: Vec<usize> = (0..self.sections.len()).filter(of_section).collect();
        if ops.len() <= MIN_SECTIONED_OPS {
            self.dissolve(section);
            return Vec::new();
        }
        let before = self.crosses.clone();
        self.cut(flat, &ops, ops.len() / 3..ops.len().div_ceil(3) * 2);
        let crosses = ops.into_iter().filter(|op| self.crosses[*op] && !before[*op]);
        crosses.map(FlatId::new).collect()
    }

    /// Returns the section of a node, if it is in one.
    pub fn section(&self, id: FlatId) -> Option<usize> {
        // Copies of arrays are added later.
        self.sections.get(id.index()).copied().flatten()
    }

    /// Returns the phase of a node.
    pub fn phase(&self, id: FlatId) -> usize {
        self.phases.get(id.index()).copied().unwrap_or(0)
    }

    /// Returns whether a later section reads a node.
    pub fn crosses(&self, id: FlatId) -> bool {
        self.crosses.get(id.index()).is_some_and(|crosses| *crosses)
    }

    /// Leaves the nodes of a section to themselves.
    pub fn dissolve(&mut self, section: usize) {
        for of in self.sections.iter_mut().filter(|of| **of == Some(section)) {
            *of = None;
        }
    }
}
