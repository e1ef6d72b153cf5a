//! The parts of the builder for the rewriter of checked graphs: the same symbols and inputs, and nodes without
//! checks.

use super::{CheckedGraph, Demand, Graph, InputDim, InputInfo, Node, Obligation, Site, SymbolKind};
use crate::dim::Facts;
use crate::dtype::DType;
use crate::ids::{ExprId, SymbolId};
use crate::shape::Shape;

impl Graph {
    /// Returns a graph with the symbols of another under the same ids. The caller supplies them all.
    pub(crate) fn with_symbols_of(graph: &CheckedGraph) -> Graph {
        let mut fresh = Graph::new();
        fresh.symbols.take_over(graph.symbols());
        fresh
    }

    /// Forgets everything known of a symbol's values.
    pub(crate) fn forget_facts(&mut self, symbol: SymbolId) {
        self.symbols.forget_facts(symbol);
    }

    /// Says how a symbol of the graph [whose symbols these are](Graph::with_symbols_of) gets its value.
    pub(crate) fn settle_size(&mut self, symbol: SymbolId, kind: SymbolKind) {
        self.symbols.settle(symbol, kind);
    }

    /// Declares an input as it is in the graph [whose symbols these are](Graph::with_symbols_of).
    pub(crate) fn declare(&mut self, input: &InputInfo) -> ExprId {
        let dims = input.shape.iter().enumerate().map(|(axis, dim)| match input.may_be_one.contains(&axis) {
            true => InputDim::OneOr(dim.clone()),
            false => InputDim::Size(dim.clone()),
        });
        self.input_of(&input.name, input.dtype, &dims.collect::<Vec<_>>(), input.site)
    }

    /// Adds a node whose dtype and shape the caller knows. The caller takes care of its conditions on sizes.
    pub(crate) fn place_node(
        &mut self,
        node: Node,
        dtype: DType,
        shape: Shape,
        call: &str,
        site: Site,
    ) -> ExprId {
        let result = self.insert(node, dtype, shape, Vec::new(), site);
        self.settle(result, call, &[], site)
    }

    /// Returns the expression of an equal node, if there is one.
    pub(crate) fn find(&self, node: Node, dtype: DType, shape: Shape) -> Option<ExprId> {
        self.interned.get(&(node, dtype, shape)).copied()
    }

    /// Returns the number of expressions so far.
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }
}

impl CheckedGraph {
    /// Returns the same graph with those conditions of another, whose symbols it has, that hold in it as well.
    pub(crate) fn with_conditions_of(
        &self,
        other: &CheckedGraph,
        holds: impl Fn(&Demand) -> bool,
    ) -> CheckedGraph {
        let conditions = other.obligations().iter().filter(|obligation| holds(&obligation.demand));
        // The expressions that demand them are those of the other graph, and so are the arrays that determine their sizes.
        let conditions = conditions.map(|obligation| Obligation {
            origin: None,
            bounds_size: false,
            ..obligation.clone()
        });
        self.edited(|_, obligations| obligations.extend(conditions))
    }

    /// Returns the same graph without the facts of a symbol and without the bounds that mention it: what holds for
    /// any number of rows.
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
