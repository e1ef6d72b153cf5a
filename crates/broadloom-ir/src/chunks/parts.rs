//! The graphs of each pass.

use super::Multiple;
use super::partial::{Partial, gives_indices, is_continued};
use super::place::{Place, Refusal, Sizes, find_places};
use super::writer::Writer;
use crate::dim::Dim;
use crate::graph::{CheckedGraph, Demand, InputInfo, Node, Obligation};
use crate::ids::{ExprId, InputId, SymbolId};
use crate::part::unused_prefix;
use crate::shape::Shape;
use std::collections::{BTreeMap, BTreeSet};

/// A graph cut along its rows.
#[derive(Debug, Clone)]
pub struct Split {
    /// The size of the rows' axis.
    pub rows: SymbolId,
    /// The numbers of rows that masks of the rows select.
    pub selected: Vec<SymbolId>,
    /// Those on which there are conditions.
    pub counted: Vec<Counted>,
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

/// A number of selected rows that all chunks together must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The number.
    pub symbol: SymbolId,
    /// The pass after whose chunks it is known.
    pub pass: usize,
    /// The slot that then holds it (`i64`).
    pub slot: usize,
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

/// Why a graph cannot be cut, and at which expression if there is one.
pub(super) type Refused = (Option<ExprId>, Refusal);

/// Cuts a graph along the axis of a size.
///
/// # Errors
/// Returns why it cannot be cut, and at which expression if there is one.
pub fn split(graph: &CheckedGraph, rows: SymbolId) -> Result<Split, Refused> {
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
    let find = |graph: &CheckedGraph, places: &mut Vec<Place>| {
        find_places(graph, rows, places).map_err(|(expr, refusal)| (Some(expr), refusal))
    };
    let mut places = Vec::with_capacity(graph.len());
    find(graph, &mut places)?;
    let sizes = Sizes::new(graph, rows);
    let demanded = graph.obligations().iter().flat_map(|obligation| obligation.demand.symbols());
    let counted: BTreeSet<SymbolId> = demanded.filter(|symbol| sizes.is_selected(*symbol, &places)).collect();
    let masks: Vec<ExprId> = counted.iter().filter_map(|symbol| graph.decided_by(*symbol)).collect();
    let graph = &graph.with_counts(&masks);
    find(graph, &mut places)?;
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
    Splitter::new(graph, rows, places).run(streamed, counted.into_iter().collect())
}

pub(super) struct Splitter<'g> {
    pub graph: &'g CheckedGraph,
    pub rows: SymbolId,
    pub places: Vec<Place>,
    partials: Vec<Partial>,
    /// The slots of values that a part leaves for later parts.
    pub kept: BTreeMap<ExprId, usize>,
    /// The slots of the ends of scans along the rows, by the pass in which they run.
    pub carried: BTreeMap<(usize, ExprId), usize>,
    slots: usize,
    /// A prefix for the names of inputs that the graph does not have.
    pub mark: String,
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

    fn run(mut self, streamed: Vec<bool>, counted: Vec<SymbolId>) -> Result<Split, Refused> {
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
        let passes = (0..count).map(|pass| self.pass(pass)).collect::<Result<Vec<Pass>, Refused>>()?;
        self.check_conditions(&passes, &counted)?;
        let axis_of_rows = self.places.iter().map(|place| match place {
            Place::Rows { axis, .. } => Some(*axis),
            Place::Fixed(_) => None,
        });
        // The counts are the last expressions.
        let first = graph.len() - counted.len();
        let counts = counted.iter().enumerate().filter_map(|(number, symbol)| {
            let Partial { pass, slot, .. } = self.partial(ExprId::new(first + number))?;
            Some(Counted { symbol: *symbol, pass, slot })
        });
        let counted = counts.collect();
        let symbols = (0..graph.symbols().len()).map(SymbolId::new);
        let selected =
            symbols.filter(|symbol| Sizes::new(graph, self.rows).is_selected(*symbol, &self.places));
        Ok(Split {
            rows: self.rows,
            selected: selected.collect(),
            counted,
            streamed,
            multiple,
            of_chunk: graph.without_facts(self.rows),
            axis_of_rows: axis_of_rows.collect(),
            passes,
            slots: self.slots,
        })
    }

    /// Checks that the conditions on each size that data decide are conditions of a part in which it is known. Those on numbers
    /// of selected rows are checked when all rows have been there.
    fn check_conditions(&self, passes: &[Pass], counted: &[SymbolId]) -> Result<(), Refused> {
        let parts =
            passes.iter().flat_map(|pass| [&pass.begin, &pass.each, &pass.merge, &pass.rest]).flatten();
        let is_decided = |demand: &Demand| {
            let mut decided =
                demand.symbols().into_iter().filter(|symbol| self.graph.decided_by(*symbol).is_some());
            decided.any(|symbol| !counted.contains(&symbol))
        };
        for obligation in self.graph.obligations().iter().filter(|obligation| is_decided(&obligation.demand))
        {
            let mut known = parts.clone().flat_map(|part| part.graph.obligations());
            if !known.any(|known| known.demand == obligation.demand) {
                return Err((obligation.origin, Refusal::Decided));
            }
        }
        Ok(())
    }

    /// Returns what a chunk's part computes: rows of outputs, operands of reductions over the rows, and what decides their sizes.
    fn roots_of_each(&self, pass: usize) -> Vec<ExprId> {
        let partials = self.partials.iter().filter(|partial| partial.pass == pass);
        let needed = partials.flat_map(|partial| {
            self.graph.operands(partial.expr).into_iter().chain(self.graph.deciding(partial.expr))
        });
        needed.chain(self.outputs_of_each(pass).map(|(_, expr)| expr)).collect()
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
    pub(super) fn is_stored(&self, expr: ExprId, known: usize, is_rest: bool) -> bool {
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

    /// Returns whether the number of rows, or of selected ones, determines a size.
    fn has_rows(&self, expr: ExprId) -> bool {
        let sizes = Sizes::new(self.graph, self.rows);
        let mut symbols = self.graph.shape(expr).iter().flat_map(Dim::symbols);
        symbols.any(|symbol| sizes.is_of_rows(symbol, &self.places))
    }

    /// Returns whether an expression is a scan along the rows.
    pub(super) fn runs_along_rows(&self, expr: ExprId) -> bool {
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
    pub(super) fn shape_across(&self, expr: ExprId) -> Shape {
        let Node::Scan { axis, .. } = self.graph.node(expr) else { return Shape::scalar() };
        let sizes = self.graph.shape(expr).iter().enumerate();
        sizes.filter(|(of, _)| of != axis).map(|(_, size)| size.clone()).collect()
    }

    pub(super) fn partial(&self, expr: ExprId) -> Option<Partial> {
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
    pub(super) fn reachable(&self, roots: &[ExprId], known: usize, is_rest: bool) -> BTreeSet<ExprId> {
        let mut found = BTreeSet::new();
        let mut stack = roots.to_vec();
        while let Some(expr) = stack.pop() {
            let is_leaf = self.is_stored(expr, known, is_rest) || (is_rest && self.partial(expr).is_some());
            if found.insert(expr) && !is_leaf {
                stack.extend(self.graph.operands(expr));
                stack.extend(self.graph.deciding(expr));
            }
        }
        found
    }

    fn pass(&self, pass: usize) -> Result<Pass, Refused> {
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

    fn begin(&self, pass: usize) -> Result<Option<Part>, Refused> {
        let mut writer = Writer::new(self, false);
        let scans = self.carried_in(pass).map(|(expr, slot)| (expr, slot, self.shape_across(expr)));
        let bases: Vec<(Partial, ExprId)> = (self.continued_in(pass))
            .filter_map(|partial| match self.graph.node(partial.expr) {
                Node::Scatter { base, .. } => Some((partial, *base)),
                _ => None,
            })
            .collect();
        let sized = self.carried_in(pass).map(|(expr, _)| expr);
        let sized: Vec<ExprId> = sized.chain(self.continued_in(pass).map(|partial| partial.expr)).collect();
        let deciding = sized.iter().flat_map(|expr| self.graph.deciding(*expr));
        writer.copy(&bases.iter().map(|(_, base)| *base).chain(deciding).collect::<Vec<_>>(), pass, false);
        sized.iter().for_each(|expr| writer.decide_sizes(*expr));
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

    fn each(&self, pass: usize, carries: bool) -> Result<Option<Part>, Refused> {
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

    fn rest(&self, pass: usize) -> Result<Option<Part>, Refused> {
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
