//! Sets of nodes: what a node is computed from.

use super::{Flat, FlatId};

/// A set of nodes.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeSet(Vec<bool>);

impl NodeSet {
    pub fn contains(&self, node: FlatId) -> bool {
        self.0.get(node.index()).is_some_and(|is_in| *is_in)
    }

    /// Adds a node and returns whether it is new.
    pub fn insert(&mut self, node: FlatId) -> bool {
        if self.0.len() <= node.index() {
            self.0.resize(node.index() + 1, false);
        }
        !std::mem::replace(&mut self.0[node.index()], true)
    }

    /// Returns the nodes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = FlatId> + '_ {
        self.0.iter().enumerate().filter(|(_, is_in)| **is_in).map(|(index, _)| FlatId::new(index))
    }
}

impl Flat {
    /// Returns all nodes that some nodes are computed from.
    pub fn below(&self, nodes: impl IntoIterator<Item = FlatId>) -> NodeSet {
        self.below_from(FlatId::new(0), nodes)
    }

    /// Returns the nodes from a first one on that some nodes are computed from. Operands come before what is computed from them,
    /// so nothing before the first one is looked at.
    pub fn below_from(&self, first: FlatId, nodes: impl IntoIterator<Item = FlatId>) -> NodeSet {
        let mut below = NodeSet::default();
        for node in nodes {
            self.add_below(first, node, &mut below);
        }
        below
    }

    /// Returns whether a node is computed from another.
    pub fn reaches(&self, node: FlatId, other: FlatId) -> bool {
        self.below_from(other, [node]).contains(other)
    }

    /// Returns the nodes that are some nodes, or computed from any of them.
    pub fn above(&self, is_one: impl Fn(FlatId) -> bool) -> NodeSet {
        let mut above = NodeSet::default();
        for node in (0..self.nodes.len()).map(FlatId::new) {
            if is_one(node) || self.node(node).kind.operands().iter().any(|operand| above.contains(*operand))
            {
                above.insert(node);
            }
        }
        above
    }

    /// Adds the nodes from a first one on that a node is computed from.
    pub fn add_below(&self, first: FlatId, node: FlatId, below: &mut NodeSet) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            let operands = self.node(node).kind.operands();
            stack.extend(operands.into_iter().filter(|operand| *operand >= first && below.insert(*operand)));
        }
    }
}
