//! The rewriter of checked graphs.

use crate::diagnostics::Diagnostics;
use crate::graph::{CheckedGraph, Graph, Node};
use crate::ids::{ExprId, SymbolId};
use std::collections::HashSet;

/// Makes a new graph from another one, expression by expression in order. Each expression gets an image, which
/// represents it in everything that follows.
///
/// An image has the dtype and the shape of its expression, so [`Rewriter::copy`] is well typed, whatever represents
/// the operands. Equal nodes are one node. The new graph has the symbols of the old one under the same ids.
pub struct Rewriter<'g> {
    source: &'g CheckedGraph,
    graph: Graph,
    /// The image of each expression of the source; poison for those without one.
    images: Vec<ExprId>,
    /// For each expression of the new graph, the first expression of the source for which it was made.
    origins: Vec<ExprId>,
}

impl<'g> Rewriter<'g> {
    /// Starts a graph with the inputs of another.
    pub fn new(source: &'g CheckedGraph) -> Rewriter<'g> {
        let mut rewriter = Rewriter::without_inputs(source);
        let inputs: Vec<ExprId> = source.inputs().iter().map(|input| rewriter.graph.declare(input)).collect();
        rewriter.origins.resize(rewriter.graph.count(), ExprId::new(0));
        for expr in source.exprs() {
            if let Node::Input(input) = source.node(expr) {
                let image = inputs[input.index()];
                rewriter.images[expr.index()] = image;
                rewriter.origins[image.index()] = expr;
            }
        }
        rewriter
    }

    /// Starts a graph without inputs: copied inputs are declared in the order in which they are copied.
    pub fn without_inputs(source: &'g CheckedGraph) -> Rewriter<'g> {
        let mut graph = Graph::with_symbols_of(source);
        let none = graph.poison();
        Rewriter { source, graph, images: vec![none; source.len()], origins: vec![ExprId::new(0); 1] }
    }

    /// Returns the graph in which each expression has the image that `rule` makes for it, with the outputs and
    /// everything else of the old graph.
    pub fn map(
        source: &'g CheckedGraph,
        mut rule: impl FnMut(&mut Rewriter<'g>, ExprId) -> ExprId,
    ) -> Rewritten {
        let mut rewriter = Rewriter::new(source);
        for expr in source.exprs() {
            let image = rule(&mut rewriter, expr);
            rewriter.replace(expr, image);
        }
        rewriter.finish()
    }

    /// Returns the graph that is rewritten.
    pub fn source(&self) -> &'g CheckedGraph {
        self.source
    }

    /// Returns the new graph for reading.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the new graph for building images. Its mistakes are those of the result.
    pub fn builder(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// Returns the image of an expression of the source; poison until it is [given](Rewriter::replace).
    pub fn image(&self, expr: ExprId) -> ExprId {
        self.images[expr.index()]
    }

    /// Returns the node of an expression of the source, with the images of its operands.
    pub fn node(&self, expr: ExprId) -> Node {
        let mut node = self.source.node(expr).clone();
        node.renumber(|operand| self.image(operand));
        node
    }

    /// Copies an expression to the new graph, with the images of its operands.
    pub fn copy(&mut self, expr: ExprId) -> ExprId {
        let source = self.source;
        match self.node(expr) {
            Node::Input(input) => self.graph.declare(&source.inputs()[input.index()]),
            node => {
                let (dtype, shape) = (source.dtype(expr), source.shape(expr).clone());
                self.graph.place_node(node, dtype, shape, source.call(expr), source.site(expr))
            }
        }
    }

    /// Gives an expression its image. An image of another dtype or shape is a mistake of the caller; it poisons
    /// everything that follows, so that no wrong graph results.
    pub fn replace(&mut self, expr: ExprId, image: ExprId) {
        let fits = self.graph.dtype(image) == self.source.dtype(expr)
            && self.graph.shape(image) == *self.source.shape(expr);
        debug_assert!(fits, "the replacement of {expr} has another dtype or shape");
        self.images[expr.index()] = if fits { image } else { self.graph.poison() };
        self.attribute(expr);
    }

    /// Attributes everything made since the last call of this or of [`Rewriter::replace`] to an expression of the
    /// source.
    pub fn attribute(&mut self, expr: ExprId) {
        self.origins.resize(self.graph.count(), expr);
    }

    /// Returns the new graph with the outputs, assignments, inputs and conditions of the old one. If something
    /// could not be built, returns the old graph.
    pub fn finish(self) -> Rewritten {
        let Some((graph, numbers)) = self.source.rebuilt(self.graph, &self.images) else {
            let exprs: Vec<ExprId> = self.source.exprs().collect();
            let images = exprs.iter().copied().map(Some).collect();
            return Rewritten { graph: self.source.clone(), origins: exprs, images };
        };
        let origins = renumbered(&numbers, &self.origins);
        let images = self.images.iter().map(|image| numbers[image.index()]).collect();
        Rewritten { graph, origins, images }
    }

    /// Returns the new graph with its own outputs and conditions, and for each of its expressions the first one of
    /// the source for which it was made.
    ///
    /// # Errors
    /// Returns the mistakes that were made in it.
    pub fn finish_with(self, outputs: &[(&str, ExprId)]) -> Result<(CheckedGraph, Vec<ExprId>), Diagnostics> {
        let (graph, numbers) = self.graph.finish_numbered(outputs)?;
        Ok((graph, renumbered(&numbers, &self.origins)))
    }

    /// Returns the new graph as a part of the old one, with its own outputs. It has those conditions of the old graph whose
    /// sizes its inputs determine, and for which `holds` is true of each size.
    ///
    /// # Errors
    /// Returns the mistakes that were made in it.
    pub fn finish_part(
        self,
        outputs: &[(&str, ExprId)],
        holds: impl Fn(SymbolId) -> bool,
    ) -> Result<CheckedGraph, Diagnostics> {
        let source = self.source;
        let (graph, _) = self.finish_with(outputs)?;
        let solved: HashSet<SymbolId> = graph.solutions().iter().map(|solution| solution.symbol).collect();
        Ok(graph.with_conditions_of(source, |demand| {
            demand.symbols().iter().all(|symbol| solved.contains(symbol) && holds(*symbol))
        }))
    }
}

/// Returns origins by the numbers of expressions in the finished graph. If several expressions became one, the
/// first origin counts.
fn renumbered(numbers: &[Option<ExprId>], origins: &[ExprId]) -> Vec<ExprId> {
    let mut renumbered = Vec::new();
    for (number, origin) in numbers.iter().zip(origins) {
        if number.is_some_and(|number| number.index() == renumbered.len()) {
            renumbered.push(*origin);
        }
    }
    renumbered
}

/// A rewritten graph, with the correspondence between its expressions and those of its source.
#[derive(Debug, Clone)]
pub struct Rewritten {
    /// The new graph.
    pub graph: CheckedGraph,
    origins: Vec<ExprId>,
    images: Vec<Option<ExprId>>,
}

impl Rewritten {
    /// Returns the first expression of the old graph for which an expression of the new graph was made. For two
    /// that can fail on data, the order is the same in both graphs.
    pub fn origin(&self, expr: ExprId) -> ExprId {
        self.origins.get(expr.index()).copied().unwrap_or(expr)
    }

    /// Returns the image of an expression of the old graph, unless nothing needs it any more.
    pub fn image(&self, expr: ExprId) -> Option<ExprId> {
        self.images.get(expr.index()).copied().flatten()
    }

    /// Returns the expressions of the old graph by those of the new one, to look up many of them.
    pub fn sources(&self) -> Sources<'_> {
        let images = self.images.iter().enumerate();
        let mut pairs: Vec<(ExprId, ExprId)> =
            images.filter_map(|(old, image)| Some(((*image)?, ExprId::new(old)))).collect();
        pairs.sort_unstable();
        Sources { rewritten: self, pairs }
    }

    /// Applies another rewriting after this one.
    pub fn then(self, rewrite: impl FnOnce(&CheckedGraph) -> Rewritten) -> Rewritten {
        let next = rewrite(&self.graph);
        let origins = next.origins.iter().map(|expr| self.origin(*expr)).collect();
        let images = self.images.iter().map(|image| next.image((*image)?)).collect();
        Rewritten { graph: next.graph, origins, images }
    }
}

/// What [`Rewritten::sources`] returns.
#[derive(Debug)]
pub struct Sources<'a> {
    rewritten: &'a Rewritten,
    /// The expressions of the new graph that stand for some of the old one, with these, in order.
    pairs: Vec<(ExprId, ExprId)>,
}

impl Sources<'_> {
    /// Returns the expressions of the old graph that some expressions of the new one compute, in order.
    pub fn of(&self, exprs: &[ExprId]) -> Vec<ExprId> {
        let mut found: Vec<ExprId> = exprs.iter().map(|expr| self.rewritten.origin(*expr)).collect();
        for expr in exprs {
            let first = self.pairs.partition_point(|(image, _)| image < expr);
            let stands = self.pairs.get(first..).unwrap_or_default().iter();
            found.extend(stands.take_while(|(image, _)| image == expr).map(|(_, old)| *old));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
