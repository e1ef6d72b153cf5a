//! The graphs of each pass.

use super::Multiple;
use super::partial::{Partial, gives_indices, is_continued};
use super::place::{Place, Refusal, places};
use crate::diagnostics::Diagnostics;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::graph::{CheckedGraph, Demand, Graph, InputInfo, Node, Obligation, Site, SliceSpec};
use crate::ids::{ExprId, InputId, SymbolId};
use crate::ops::Op;
use crate::part::unused_prefix;
use crate::shape::Shape;
use crate::transform::Rewriter;
use std::collections::{BTreeMap, BTreeSet};

/// A graph cut along its rows.
#[derive(Debug, Clone)]
pub struct Split {
    /// The size of the rows' axis.
    pub rows: SymbolId,
    /// For each input of the graph, whether chunks bring its rows.
    pub streamed: Vec<bool>,
    /// The number of rows of every chunk but the last must be a multiple of this.
    pub multiple: Multiple,
    /// The graph for one chunk, which determines the sizes of arrays: it has no conditions on the number of rows.
    pub of_chunk: CheckedGraph,
    /// For each expression of the graph, the axis of the rows, if it has one.
    pub axis_of_rows: Vec<Option<usize>>,
    /// The passes; at least one.
    pub passes: Vec<Pass>,
    /// The number of arrays that parts hand to other parts; see [`Source::Slot`].
    pub slots: usize,
}

/// The parts of one pass over the rows. All parts have the symbols of the graph, and the caller gives each of them.
/// In [`Pass::each`] the symbol of the rows is the number of rows of a chunk, elsewhere the number of all rows.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    /// Runs once before all chunks: computes the initial values of scans along the rows, and of tables of segments.
    pub begin: Option<Part>,
    /// Runs for every chunk.
    pub each: Option<Part>,
    /// Runs instead of `each` for zero rows, if `each` continues from the previous chunk. Its tables of segments hold only
    /// the rows of the chunk itself; tables of different rows may be combined, at the cost of other bits.
    pub of_none: Option<Part>,
    /// Combines the merged results of neighbouring chunks: the inputs are those of the left one, then those of the
    /// right one; the outputs are in the same order.
    pub merge: Option<Part>,
    /// Runs once after all chunks.
    pub rest: Option<Part>,
}

/// A part that computes for a chunk, or before or after all chunks.
pub type Part = crate::part::Part<Source, Destination>;

/// The source of a part's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An array of the caller; rows of a chunk if the input is streamed.
    Array(InputId),
    /// The number of rows before the chunk (`i64`).
    RowsBefore,
    /// A value that an earlier part has left.
    Slot(usize),
}

/// The destination of a part's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Rows of the graph's output with this number.
    Rows(usize),
    /// The graph's output with this number.
    Whole(usize),
    /// A slot for later parts. The results of chunks are merged.
    Merged(usize),
    /// A slot for later parts.
    Slot(usize),
    /// A slot for the next chunk.
    Carried(usize),
}

/// Cuts a graph along the axis of a size.
///
/// # Errors
/// Returns why it cannot be cut, and at which expression if there is one.
pub fn split(graph: &CheckedGraph, rows: SymbolId) -> Result<Split, (Option<ExprId>, Refusal)> {
    let plain = graph.symbols().get(rows.index()).is_some_and(|info| info.unit == 1);
    let is_tied = |obligation: &Obligation| {
        obligation.origin.is_none()
            && matches!(obligation.demand, Demand::Equal(..))
            && obligation.demand.symbols().contains(&rows)
    };
    if !plain || graph.declared(rows).is_some() || graph.obligations().iter().any(is_tied) {
        return Err((None, Refusal::NotPlain));
    }
    if let Some(output) = graph.outputs().iter().find(|output| output.assigned.is_some()) {
        return Err((Some(output.expr), Refusal::Assigned));
    }
    if let Some(decided) = graph.symbols().iter().find_map(|info| info.kind.decided_by()) {
        return Err((Some(decided), Refusal::Decided));
    }
    let places = places(graph, rows).map_err(|(expr, refusal)| (Some(expr), refusal))?;
    for output in graph.outputs() {
        if matches!(places[output.expr.index()], Place::Rows { axis, .. } if axis != 0) {
            return Err((Some(output.expr), Refusal::OutputAxis));
        }
    }
    // An input that is only declared may be passed for its sizes.
    let has_rows = |input: &InputInfo| input.shape.first().and_then(Dim::as_symbol) == Some(rows);
    let streamed: Vec<bool> = graph.inputs().iter().map(has_rows).collect();
    let is_read = |expr: ExprId| matches!(graph.node(expr), Node::Input(input) if streamed[input.index()]);
    if !graph.exprs().any(is_read) {
        return Err((None, Refusal::NoRows));
    }
    Splitter::new(graph, rows, places).run(streamed)
}

pub(super) struct Splitter<'g> {
    pub graph: &'g CheckedGraph,
    pub rows: SymbolId,
    pub places: Vec<Place>,
    partials: Vec<Partial>,
    /// The slots of values that a part leaves for later parts.
    kept: BTreeMap<ExprId, usize>,
    /// The slots of the ends of scans along the rows, by the pass in which they run.
    carried: BTreeMap<(usize, ExprId), usize>,
    slots: usize,
    /// A prefix for the names of inputs that the graph does not have.
    mark: String,
}

impl<'g> Splitter<'g> {
    fn new(graph: &'g CheckedGraph, rows: SymbolId, places: Vec<Place>) -> Self {
        Splitter {
            graph,
            rows,
            places,
            partials: Vec::new(),
            kept: BTreeMap::new(),
            carried: BTreeMap::new(),
            slots: 0,
            mark: unused_prefix(graph),
        }
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    fn run(mut self, streamed: Vec<bool>) -> Result<Split, (Option<ExprId>, Refusal)> {
        let graph = self.graph;
        let mut multiple = Multiple::One;
        for expr in graph.exprs() {
            let Place::Fixed(known) = self.places[expr.index()] else { continue };
            let from_rows = |expr: &ExprId| matches!(self.places[expr.index()], Place::Rows { .. });
            if known == 0 || !graph.operands(expr).iter().any(from_rows) {
                continue;
            }
            multiple = multiple.max(match graph.node(expr) {
                Node::Reduce { op, operand, .. }
                    if !op.is_order_free(op.accumulator(graph.dtype(*operand))) =>
                {
                    Multiple::Block
                }
                Node::Segment { .. } => Multiple::SegmentBlock,
                _ => Multiple::One,
            });
            let slot = self.slot();
            let value = gives_indices(graph.node(expr)).then(|| self.slot());
            self.partials.push(Partial { expr, pass: known - 1, slot, value });
        }
        let outputs = graph.outputs().iter().map(|output| match self.places[output.expr.index()] {
            Place::Fixed(pass) => pass.max(1),
            Place::Rows { pass, .. } => pass + 1,
        });
        let count = outputs.chain(self.partials.iter().map(|partial| partial.pass + 1)).max().unwrap_or(1);
        for pass in 0..count {
            self.keep(&self.roots_of_each(pass), pass, false);
            self.keep(&self.roots_of_rest(pass), pass + 1, true);
            for expr in self.reachable(&self.roots_of_each(pass), pass, false) {
                // A chunk has other rows than those that determine such a size.
                if matches!(self.places[expr.index()], Place::Fixed(_)) && self.has_rows(expr) {
                    return Err((Some(expr), Refusal::OtherSize));
                }
                if self.runs_along_rows(expr) {
                    let slot = self.slot();
                    self.carried.insert((pass, expr), slot);
                }
            }
        }
        let passes = (0..count).map(|pass| self.pass(pass)).collect::<Result<_, Diagnostics>>();
        // The parts consist of expressions that were checked before, so this does not happen.
        let passes = passes.map_err(|_| (None, Refusal::OtherSize))?;
        let axis_of_rows = self.places.iter().map(|place| match place {
            Place::Rows { axis, .. } => Some(*axis),
            Place::Fixed(_) => None,
        });
        Ok(Split {
            rows: self.rows,
            streamed,
            multiple,
            of_chunk: graph.without_facts(self.rows),
            axis_of_rows: axis_of_rows.collect(),
            passes,
            slots: self.slots,
        })
    }

    /// Returns what a chunk's part computes: rows of outputs, and operands of reductions over the rows.
    fn roots_of_each(&self, pass: usize) -> Vec<ExprId> {
        let partials = self.partials.iter().filter(|partial| partial.pass == pass);
        let operands = partials.flat_map(|partial| self.graph.operands(partial.expr));
        operands.chain(self.outputs_of_each(pass).map(|(_, expr)| expr)).collect()
    }

    fn outputs_of_each(&self, pass: usize) -> impl Iterator<Item = (usize, ExprId)> {
        let here = move |expr: ExprId| matches!(self.places[expr.index()], Place::Rows { pass: of, .. } if of == pass);
        let outputs = self.graph.outputs().iter().enumerate();
        outputs.filter(move |(_, output)| here(output.expr)).map(|(index, output)| (index, output.expr))
    }

    /// Returns the outputs that become known after a pass.
    fn outputs_of_rest(&self, pass: usize) -> impl Iterator<Item = (usize, ExprId)> {
        let here = move |expr: ExprId| matches!(self.places[expr.index()], Place::Fixed(known) if known.max(1) == pass + 1);
        let outputs = self.graph.outputs().iter().enumerate();
        outputs.filter(move |(_, output)| here(output.expr)).map(|(index, output)| (index, output.expr))
    }

    fn roots_of_rest(&self, pass: usize) -> Vec<ExprId> {
        let kept =
            self.kept.keys().copied().filter(|expr| self.places[expr.index()] == Place::Fixed(pass + 1));
        kept.chain(self.outputs_of_rest(pass).map(|(_, expr)| expr)).collect()
    }

    /// Returns whether a value comes from a slot in a part that runs once everything known before pass `known` is
    /// available. The part after the rows, `is_rest`, computes what becomes known then.
    ///
    /// Reductions and sorted values are stored, so that no later part repeats them. Elementwise results of them are
    /// not.
    fn is_stored(&self, expr: ExprId, known: usize, is_rest: bool) -> bool {
        let reduced = match self.graph.node(expr) {
            Node::Reduce { .. } | Node::TopK { .. } | Node::Sort { .. } => true,
            Node::Scatter { .. } => self.partial(expr).is_some(),
            Node::Size(size) => size.symbols().contains(&self.rows),
            _ => false,
        };
        match self.places[expr.index()] {
            Place::Fixed(of) => reduced && of > 0 && (of < known || (of == known && !is_rest)),
            Place::Rows { .. } => false,
        }
    }

    /// Returns whether the number of rows determines a size.
    fn has_rows(&self, expr: ExprId) -> bool {
        self.graph.shape(expr).iter().any(|size| size.symbols().contains(&self.rows))
    }

    /// Returns whether an expression is a scan along the rows.
    fn runs_along_rows(&self, expr: ExprId) -> bool {
        let along = |of: usize| matches!(self.places[expr.index()], Place::Rows { axis, .. } if axis == of);
        matches!(self.graph.node(expr), Node::Scan { axis, .. } if along(*axis))
    }

    /// Returns the scans along the rows that run in a pass, and the slots of their carried values.
    fn carried_in(&self, pass: usize) -> impl Iterator<Item = (ExprId, usize)> {
        self.carried
            .range((pass, ExprId::new(0))..(pass + 1, ExprId::new(0)))
            .map(|((_, expr), slot)| (*expr, *slot))
    }

    /// Returns the shape of the value that a scan carries from chunk to chunk.
    fn shape_across(&self, expr: ExprId) -> Shape {
        let Node::Scan { axis, .. } = self.graph.node(expr) else { return Shape::scalar() };
        let sizes = self.graph.shape(expr).iter().enumerate();
        sizes.filter(|(of, _)| of != axis).map(|(_, size)| size.clone()).collect()
    }

    fn partial(&self, expr: ExprId) -> Option<Partial> {
        self.partials.iter().copied().find(|partial| partial.expr == expr)
    }

    /// Records the values that a part takes from slots; `known` as in `is_stored`.
    fn keep(&mut self, roots: &[ExprId], known: usize, is_rest: bool) {
        for expr in self.reachable(roots, known, is_rest) {
            if self.is_stored(expr, known, is_rest) && !self.kept.contains_key(&expr) {
                let slot = self.slot();
                self.kept.insert(expr, slot);
            }
        }
    }

    /// Returns the expressions of a part, operands first, down to the values that it takes from slots.
    fn reachable(&self, roots: &[ExprId], known: usize, is_rest: bool) -> BTreeSet<ExprId> {
        let mut found = BTreeSet::new();
        let mut stack = roots.to_vec();
        while let Some(expr) = stack.pop() {
            let is_leaf = self.is_stored(expr, known, is_rest) || (is_rest && self.partial(expr).is_some());
            if found.insert(expr) && !is_leaf {
                stack.extend(self.graph.operands(expr));
            }
        }
        found
    }

    fn pass(&self, pass: usize) -> Result<Pass, Diagnostics> {
        let carries = self.carried_in(pass).next().is_some() || self.continued_in(pass).next().is_some();
        Ok(Pass {
            begin: self.begin(pass)?,
            each: self.each(pass, true)?,
            of_none: if carries { self.each(pass, false)? } else { None },
            merge: self.merge(pass)?,
            rest: self.rest(pass)?,
        })
    }

    pub fn partials_of(&self, pass: usize) -> impl Iterator<Item = Partial> {
        self.partials.iter().copied().filter(move |partial| partial.pass == pass)
    }

    /// Returns the results of the rows in a pass that each chunk continues: tables of segments, and changes at positions.
    fn continued_in(&self, pass: usize) -> impl Iterator<Item = Partial> {
        self.partials_of(pass).filter(|partial| is_continued(self.graph.node(partial.expr)))
    }

    fn begin(&self, pass: usize) -> Result<Option<Part>, Diagnostics> {
        let mut writer = Writer::new(self, false);
        let scans = self.carried_in(pass).map(|(expr, slot)| (expr, slot, self.shape_across(expr)));
        let bases: Vec<(Partial, ExprId)> = (self.continued_in(pass))
            .filter_map(|partial| match self.graph.node(partial.expr) {
                Node::Scatter { base, .. } => Some((partial, *base)),
                _ => None,
            })
            .collect();
        writer.copy(&bases.iter().map(|(_, base)| *base).collect::<Vec<_>>(), pass, false);
        for (partial, base) in bases {
            writer.output(partial.expr, writer.image(base), Destination::Slot(partial.slot));
        }
        let tables = self.continued_in(pass);
        let tables =
            tables.map(|partial| (partial.expr, partial.slot, self.type_of(partial, partial.slot).1));
        for (expr, slot, shape) in scans.chain(tables) {
            let (Node::Scan { op, .. } | Node::Segment { op, .. }) = self.graph.node(expr) else { continue };
            let site = self.graph.site(expr);
            let neutral = writer.graph().constant(op.identity(self.graph.dtype(expr)), site);
            let neutral = writer.graph().broadcast_to(neutral, shape, site);
            writer.output(expr, neutral, Destination::Slot(slot));
        }
        writer.finish()
    }

    fn each(&self, pass: usize, carries: bool) -> Result<Option<Part>, Diagnostics> {
        let mut writer = Writer::new(self, false);
        writer.copy(&self.roots_of_each(pass), pass, false);
        for (expr, slot) in self.carried_in(pass).filter(|_| carries) {
            writer.carry(expr, slot);
        }
        let outputs: Vec<(usize, ExprId)> = self.outputs_of_each(pass).collect();
        for (index, expr) in outputs {
            writer.output(expr, writer.image(expr), Destination::Rows(index));
        }
        for partial in self.partials_of(pass) {
            writer.contribute(partial, carries);
        }
        writer.finish()
    }

    fn rest(&self, pass: usize) -> Result<Option<Part>, Diagnostics> {
        let mut writer = Writer::new(self, true);
        writer.copy(&self.roots_of_rest(pass), pass + 1, true);
        let outputs: Vec<(usize, ExprId)> = self.outputs_of_rest(pass).collect();
        for (index, expr) in outputs {
            writer.output(expr, writer.image(expr), Destination::Whole(index));
        }
        for (expr, slot) in &self.kept {
            if self.places[expr.index()] == Place::Fixed(pass + 1) {
                writer.output(*expr, writer.image(*expr), Destination::Slot(*slot));
            }
        }
        writer.finish()
    }
}

/// Builds the graph of a part.
pub(super) struct Writer<'s, 'g> {
    splitter: &'s Splitter<'g>,
    of_all: bool,
    rewriter: Rewriter<'g>,
    inputs: Vec<Source>,
    outputs: Vec<(ExprId, Destination)>,
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
        let name = format!("{}{name}", self.splitter.mark);
        self.graph().input(&name, dtype, shape, site)
    }

    pub fn slot(&mut self, slot: usize, dtype: DType, shape: Shape, site: Site) -> ExprId {
        self.named_input(&slot.to_string(), dtype, shape, Source::Slot(slot), site)
    }

    /// Copies everything that the roots need; `known` and `is_rest` as in [`Splitter::is_stored`].
    fn copy(&mut self, roots: &[ExprId], known: usize, is_rest: bool) {
        let splitter = self.splitter;
        let whole = splitter.graph;
        for expr in splitter.reachable(roots, known, is_rest) {
            let (dtype, shape, site) = (whole.dtype(expr), whole.shape(expr).clone(), whole.site(expr));
            let stored = splitter.kept.get(&expr).filter(|_| splitter.is_stored(expr, known, is_rest));
            let copied = match (stored, splitter.partial(expr).filter(|_| is_rest), whole.node(expr)) {
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
    fn carry(&mut self, expr: ExprId, slot: usize) {
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
    pub fn finish(self) -> Result<Option<Part>, Diagnostics> {
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
        let (graph, origins) = self.rewriter.finish_with(&outputs)?;
        // A call checks the conditions of the whole graph. Those on the number of all rows say nothing of some of them.
        let rows = self.splitter.rows;
        let holds = |demand: &Demand| self.of_all || !demand.symbols().contains(&rows);
        Ok(Some(Part {
            graph: graph.with_conditions_of(self.splitter.graph, holds),
            origins,
            inputs: self.inputs,
            outputs: self.outputs.iter().map(|(_, destination)| *destination).collect(),
        }))
    }
}
