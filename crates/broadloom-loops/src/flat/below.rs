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
        let mut below = NodeSet::default();
        for node in nodes {
            self.add_below(node, &mut below);
        }
        below
    }

    /// Adds all nodes that a node is computed from.
    pub fn add_below(&self, node: FlatId, below: &mut NodeSet) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            let operands = self.node(node).kind.operands();
            stack.extend(operands.into_iter().filter(|operand| below.insert(*operand)));
        }
    }
}
