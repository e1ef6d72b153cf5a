//! Builds the graphs of parts.

use super::parts::{Destination, Part, Refused, Source, Splitter};
use super::place::{Place, Refusal, Sizes};
use crate::diagnostics::Diagnostics;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::graph::{CheckedGraph, Demand, Graph, Node, Site, SliceSpec, SymbolKind};
use crate::ids::{ExprId, SymbolId};
use crate::ops::Op;
use crate::shape::Shape;
use crate::transform::Rewriter;

/// Builds the graph of a part.
pub(super) struct Writer<'s, 'g> {
    splitter: &'s Splitter<'g>,
    of_all: bool,
    rewriter: Rewriter<'g>,
    inputs: Vec<Source>,
    outputs: Vec<(ExprId, Destination)>,
}

/// How a part knows a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Not,
    /// The caller gives it, or an array that an earlier part has left has it.
    Given,
    /// Data of this part decide it.
    Here,
}

impl<'s, 'g> Writer<'s, 'g> {
    /// Starts a part for all rows (`of_all`), or for some rows whose number is unknown.
    pub fn new(splitter: &'s Splitter<'g>, of_all: bool) -> Self {
        let mut rewriter = Rewriter::without_inputs(splitter.graph);
        if !of_all {
            rewriter.builder().forget_facts(splitter.rows);
        }
        Writer { splitter, of_all, rewriter, inputs: Vec::new(), outputs: Vec::new() }
    }

    fn known(&self, symbol: SymbolId) -> Known {
        if self.whole().decided_by(symbol).is_none() {
            return Known::Given;
        }
        match self.rewriter.graph().symbols()[symbol.index()].kind {
            SymbolKind::Parameter => Known::Not,
            SymbolKind::Count(_) | SymbolKind::Computed(_) => Known::Here,
            SymbolKind::Rigid | SymbolKind::Flexible => Known::Given,
        }
    }

    /// Returns the graph that is cut.
    pub fn whole(&self) -> &'g CheckedGraph {
        self.splitter.graph
    }

    pub fn splitter(&self) -> &'s Splitter<'g> {
        self.splitter
    }

    pub fn graph(&mut self) -> &mut Graph {
        self.rewriter.builder()
    }

    /// Returns the expression of this graph that represents a copied expression of the whole graph.
    pub fn image(&self, expr: ExprId) -> ExprId {
        self.rewriter.image(expr)
    }

    /// Copies an expression of the whole graph, with the images of its operands.
    pub fn copied(&mut self, expr: ExprId) -> ExprId {
        self.rewriter.copy(expr)
    }

    /// Attributes the expressions made last to an expression of the whole graph.
    pub fn attribute(&mut self, expr: ExprId) {
        self.rewriter.attribute(expr);
    }

    /// Adds an output that was made for an expression of the whole graph.
    pub fn output(&mut self, of: ExprId, expr: ExprId, destination: Destination) {
        self.rewriter.attribute(of);
        self.outputs.push((expr, destination));
    }

    pub fn named_input(
        &mut self,
        name: &str,
        dtype: DType,
        shape: Shape,
        source: Source,
        site: Site,
    ) -> ExprId {
        self.inputs.push(source);
        let whole = self.whole();
        for symbol in shape.iter().filter_map(Dim::as_symbol).filter(|of| whole.decided_by(*of).is_some()) {
            self.graph().settle_size(symbol, SymbolKind::Rigid);
        }
        let name = format!("{}{name}", self.splitter.mark);
        self.graph().input(&name, dtype, shape, site)
    }

    /// Lets the data of this part decide the sizes of an expression, unless an array has them; what decides them has been copied.
    pub fn decide_sizes(&mut self, expr: ExprId) {
        let whole = self.whole();
        for symbol in whole.decided_sizes(expr) {
            if self.known(symbol) != Known::Not {
                continue;
            }
            let kind = match whole.symbols()[symbol.index()].kind {
                SymbolKind::Count(mask) => SymbolKind::Count(self.image(mask)),
                SymbolKind::Computed(value) => SymbolKind::Computed(self.image(value)),
                kind => kind,
            };
            self.graph().settle_size(symbol, kind);
        }
    }

    pub fn slot(&mut self, slot: usize, dtype: DType, shape: Shape, site: Site) -> ExprId {
        self.named_input(&slot.to_string(), dtype, shape, Source::Slot(slot), site)
    }

    /// Copies everything that the roots need; `known` and `is_rest` as in [`Splitter::is_stored`].
    pub fn copy(&mut self, roots: &[ExprId], known: usize, is_rest: bool) {
        let splitter = self.splitter;
        let whole = splitter.graph;
        for expr in splitter.reachable(roots, known, is_rest) {
            let (dtype, shape, site) = (whole.dtype(expr), whole.shape(expr).clone(), whole.site(expr));
            let stored = splitter.kept.get(&expr).filter(|_| splitter.is_stored(expr, known, is_rest));
            let partial = splitter.partial(expr).filter(|_| is_rest);
            if stored.is_none() && partial.is_none() {
                self.decide_sizes(expr);
            }
            let copied = match (stored, partial, whole.node(expr)) {
                (Some(slot), _, _) => self.slot(*slot, dtype, shape, site),
                (None, Some(partial), _) => self.finished(partial),
                (None, None, Node::Input(input)) => {
                    self.inputs.push(Source::Array(*input));
                    self.graph().input(&whole.inputs()[input.index()].name, dtype, shape, site)
                }
                (None, None, Node::Scan { op, operand, axis, .. }) if splitter.runs_along_rows(expr) => {
                    let (op, operand, axis) = (*op, self.image(*operand), *axis);
                    let slot = splitter.carried.get(&(known, expr)).copied().unwrap_or_default();
                    let before = self.slot(slot, dtype, splitter.shape_across(expr), site);
                    self.graph().scan_from(op, operand, axis, before, site)
                }
                (None, None, Node::Iota) if matches!(splitter.places[expr.index()], Place::Rows { .. }) => {
                    let iota = self.rewriter.copy(expr);
                    let before = self.rows_before(site);
                    self.graph().elementwise(Op::Add, &[iota, before], site)
                }
                _ => self.rewriter.copy(expr),
            };
            self.rewriter.replace(expr, copied);
        }
    }

    /// Adds the end of a scan as an output for the next chunk.
    pub fn carry(&mut self, expr: ExprId, slot: usize) {
        let Node::Scan { axis, .. } = self.whole().node(expr) else { return };
        let (image, site) = (self.image(expr), self.whole().site(expr));
        let mut parts = vec![SliceSpec::All; *axis];
        parts.push(SliceSpec::At(Dim::constant(-1)));
        let last = self.graph().slice(image, &parts, site);
        self.output(expr, last, Destination::Carried(slot));
    }

    pub fn rows_before(&mut self, site: Site) -> ExprId {
        match self.inputs.iter().position(|source| *source == Source::RowsBefore) {
            Some(_) => {
                let name = format!("{}before", self.splitter.mark);
                self.graph().input(&name, DType::I64, Shape::scalar(), site)
            }
            None => self.named_input("before", DType::I64, Shape::scalar(), Source::RowsBefore, site),
        }
    }

    /// Returns the part, unless it computes nothing.
    pub fn finish(self) -> Result<Option<Part>, Refused> {
        if self.outputs.is_empty() {
            return Ok(None);
        }
        let mark = &self.splitter.mark;
        let name = |destination: &Destination| match *destination {
            Destination::Rows(output) | Destination::Whole(output) => {
                self.splitter.graph.outputs()[output].name.to_string()
            }
            Destination::Merged(slot) | Destination::Slot(slot) | Destination::Carried(slot) => {
                format!("{mark}{slot}")
            }
        };
        let names: Vec<String> = self.outputs.iter().map(|(_, destination)| name(destination)).collect();
        let outputs: Vec<(&str, ExprId)> =
            names.iter().zip(&self.outputs).map(|(name, (expr, _))| (name.as_str(), *expr)).collect();
        let whole = self.splitter.graph;
        // The finished graph forgets what decides sizes that nothing has.
        let known: Vec<Known> =
            (0..whole.symbols().len()).map(|symbol| self.known(SymbolId::new(symbol))).collect();
        let is = |symbol: SymbolId, how: Known| known.get(symbol.index()) == Some(&how);
        // The parts consist of expressions that were checked before, so this happens only if a size has been stored as a part of
        // another one.
        let made = self.rewriter.finish_with(&outputs);
        let (graph, origins) = made.map_err(|_: Diagnostics| (None, Refusal::OtherSize))?;
        let has_unknown = |expr: &ExprId| {
            let of_node = graph.sizes_of_node(*expr);
            let mut symbols = graph.shape(*expr).iter().chain(&of_node).flat_map(Dim::symbols);
            symbols.any(|symbol| is(symbol, Known::Not))
        };
        // An array that an earlier part has left has the number of elements that this part selects: neither can decide it alone.
        let is_twice = |expr: &ExprId| match graph.node(*expr) {
            Node::Compress { axis, .. } => {
                graph.shape(*expr)[*axis].as_symbol().is_some_and(|symbol| is(symbol, Known::Given))
            }
            _ => false,
        };
        if let Some(expr) = graph.exprs().find(|expr| has_unknown(expr) || is_twice(expr)) {
            return Err((Some(origins[expr.index()]), Refusal::Decided));
        }
        // A call checks the conditions of the whole graph. Those on the number of all rows, or of all that a mask selects, say
        // nothing of some of them.
        let Splitter { rows, places, .. } = self.splitter;
        let sizes = Sizes::new(whole, *rows);
        let is_whole = |symbol: SymbolId| match symbol == *rows {
            true => self.of_all,
            false => !is(symbol, Known::Not) && !sizes.is_selected(symbol, places),
        };
        let holds = |demand: &Demand| demand.symbols().into_iter().all(is_whole);
        Ok(Some(Part {
            graph: graph.with_conditions_of(whole, holds),
            origins,
            inputs: self.inputs,
            outputs: self.outputs.iter().map(|(_, destination)| *destination).collect(),
        }))
    }
}
