//! What rewriting a checked graph asks of the builder: its symbols, its inputs, and nodes that are known to be right.

use super::{CheckedGraph, Demand, Graph, InputDim, InputInfo, Node, Site};
use crate::dim::Facts;
use crate::dtype::DType;
use crate::ids::{ExprId, SymbolId};
use crate::shape::Shape;

impl Graph {
    /// A graph with the symbols of another under the same ids, each to be given by the caller.
    pub(crate) fn with_symbols_of(graph: &CheckedGraph) -> Graph {
        let mut fresh = Graph::new();
        fresh.symbols.take_over(graph.symbols());
        fresh
    }

    /// From now on nothing is known of a symbol's values.
    pub(crate) fn forget_facts(&mut self, symbol: SymbolId) {
        self.symbols.forget_facts(symbol);
    }

    /// An input as it is in the graph [whose symbols these are](Graph::with_symbols_of).
    pub(crate) fn declare(&mut self, input: &InputInfo) -> ExprId {
        let dims = input.shape.iter().enumerate().map(|(axis, dim)| match input.may_be_one.contains(&axis) {
            true => InputDim::OneOr(dim.clone()),
            false => InputDim::Size(dim.clone()),
        });
        self.input_of(&input.name, input.dtype, &dims.collect::<Vec<_>>(), input.site)
    }

    /// A node of which the caller knows dtype and shape. What it demands of sizes is left to the caller.
    pub(crate) fn place_node(&mut self, node: Node, dtype: DType, shape: Shape, site: Site) -> ExprId {
        let result = self.insert(node, dtype, shape, Vec::new(), site);
        self.settle(result, "part", &[], site)
    }

    /// The expression that is such a node, if there is one.
    pub(crate) fn find(&self, node: Node, dtype: DType, shape: Shape) -> Option<ExprId> {
        self.interned.get(&(node, dtype, shape)).copied()
    }

    /// The number of expressions so far.
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }
}

impl CheckedGraph {
    /// The same graph with nothing demanded of a symbol alone: what holds for each number of rows, as far as sizes
    /// are concerned.
    pub(crate) fn without_facts(&self, symbol: SymbolId) -> CheckedGraph {
        self.edited(|symbols, obligations| {
            if let Some(info) = symbols.get_mut(symbol.index()) {
                info.facts = Facts::default();
                info.likely = None;
            }
            obligations.retain(|obligation| match &obligation.demand {
                Demand::NonNegative(dim) => !dim.symbols().contains(&symbol),
                Demand::Equal(..) => true,
            });
        })
    }
}
