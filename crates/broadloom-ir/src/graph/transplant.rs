//! Expressions of a checked graph put into another graph, where other values stand for some of their operands.

use super::{CheckedGraph, Demand, Graph};
use crate::dim::Facts;
use crate::ids::{ExprId, SymbolId};

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

    /// The same expression of other operands, which have the dtypes and shapes of the original ones. The symbols must
    /// be [those of its graph](Graph::with_symbols_of). What it demands of sizes is left to the caller.
    pub(crate) fn transplant(
        &mut self,
        from: &CheckedGraph,
        expr: ExprId,
        operand: impl Fn(ExprId) -> ExprId,
    ) -> ExprId {
        let (dtype, shape, site) = (from.dtype(expr), from.shape(expr).clone(), from.site(expr));
        let mut node = from.node(expr).clone();
        node.renumber(operand);
        let result = self.insert(node, dtype, shape, Vec::new(), site);
        self.settle(result, "part", &[], site)
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
