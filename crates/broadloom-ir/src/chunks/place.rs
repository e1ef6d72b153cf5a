//! Which expressions are of each row, which of all, and after how many passes they are known.

use crate::dim::Dim;
use crate::graph::{CheckedGraph, Node, View};
use crate::ids::{ExprId, SymbolId};

/// What an expression depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Not on single rows; known before the pass of this number.
    Fixed(usize),
    /// Its elements along `axis` are the rows, each of which depends on that row alone; can be computed in this pass.
    Rows { axis: usize, pass: usize },
}

impl Place {
    /// The first pass in which it can be used.
    pub fn pass(self) -> usize {
        match self {
            Place::Fixed(pass) | Place::Rows { pass, .. } => pass,
        }
    }
}

/// Why a graph cannot be computed chunk by chunk. The expression is the first that cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// No input that the outputs need has the rows for its leading axis.
    NoRows,
    /// The size is a multiple of something, or declared to be equal to another size, which chunks need not be.
    NotPlain,
    /// An input has the rows along another axis than the leading one, or in another size.
    Input,
    /// An input's leading axis may also be 1.
    MayBeOne,
    /// A result has the rows along two axes: each row with every other.
    Pairs,
    /// A size depends on the number of rows in another way than being that number.
    OtherSize,
    /// The rows are mixed with another axis by a reshape.
    Reshape,
    /// Some rows are cut out, or their order changes.
    Slice,
    /// Rows are looked up by their number.
    Take,
    /// Rows are put in order among each other.
    Sort,
    /// Places among all rows are looked for.
    Search,
    /// Rows are appended to others.
    Concat,
    /// An output has the rows along another axis than the leading one.
    OutputAxis,
    /// An input is written to.
    Assigned,
}

/// The axis of a shape along which the rows are.
fn axis_of_rows(shape: &[Dim], rows: SymbolId) -> Result<Option<usize>, Refusal> {
    let mut found = None;
    for (axis, dim) in shape.iter().enumerate() {
        if !dim.symbols().contains(&rows) {
            continue;
        }
        if dim.as_symbol() != Some(rows) {
            return Err(Refusal::OtherSize);
        }
        if found.replace(axis).is_some() {
            return Err(Refusal::Pairs);
        }
    }
    Ok(found)
}

/// The place of each expression, or the first that has none.
pub(super) fn places(graph: &CheckedGraph, rows: SymbolId) -> Result<Vec<Place>, (ExprId, Refusal)> {
    let mut places: Vec<Place> = Vec::with_capacity(graph.len());
    for expr in graph.exprs() {
        let place = place(graph, rows, expr, &places).map_err(|refusal| (expr, refusal))?;
        places.push(place);
    }
    Ok(places)
}

fn place(graph: &CheckedGraph, rows: SymbolId, expr: ExprId, places: &[Place]) -> Result<Place, Refusal> {
    let place_of = |expr: ExprId| places.get(expr.index()).copied().unwrap_or(Place::Fixed(0));
    let rows_of = |expr: ExprId| match place_of(expr) {
        Place::Rows { axis, .. } => Some(axis),
        Place::Fixed(_) => None,
    };
    let node = graph.node(expr);
    let pass = node.operands().iter().map(|operand| place_of(*operand).pass()).max().unwrap_or(0);
    let shape = graph.shape(expr);
    if let Node::Segment { values, ids, .. } = node {
        // Its leading axis is that of the blocks of rows.
        let is_fixed = axis_of_rows(&shape[1..], rows)?.is_none();
        return match (rows_of(*values), rows_of(*ids)) {
            (Some(0), Some(0)) if is_fixed => Ok(Place::Fixed(pass + 1)),
            (None, None) if is_fixed => Ok(Place::Fixed(pass)),
            _ => Err(Refusal::OtherSize),
        };
    }
    let found = axis_of_rows(shape, rows).map_err(|refusal| match (refusal, node) {
        // The operation that makes the other size is the better one to blame.
        (Refusal::OtherSize, Node::View { view: View::Slice(_) | View::Windows(_), .. }) => Refusal::Slice,
        (Refusal::OtherSize, Node::View { view: View::Reshape, .. }) => Refusal::Reshape,
        (Refusal::OtherSize, Node::Concat { .. }) => Refusal::Concat,
        (Refusal::OtherSize, Node::Input(_)) => Refusal::Input,
        _ => refusal,
    })?;
    let here = match found {
        Some(axis) => Place::Rows { axis, pass },
        None => Place::Fixed(pass),
    };
    match node {
        Node::Input(input) => match found {
            Some(0) if graph.inputs()[input.index()].may_be_one.contains(&0) => Err(Refusal::MayBeOne),
            Some(0) | None => Ok(here),
            Some(_) => Err(Refusal::Input),
        },
        Node::Size(size) if size.symbols().contains(&rows) => Ok(Place::Fixed(1)),
        Node::Constant(_)
        | Node::Size(_)
        | Node::Iota
        | Node::Elementwise { .. }
        | Node::Select { .. }
        | Node::Cast(_)
        // Along the rows a chunk goes on where the one before it has ended.
        | Node::Scan { .. }
        | Node::View {
            view: View::Permute(_) | View::ExpandDims(_) | View::Squeeze(_) | View::BroadcastTo,
            ..
        } => Ok(here),
        Node::Reduce { operand, axes, .. } => match rows_of(*operand) {
            Some(axis) if axes.contains(&axis) => Ok(Place::Fixed(pass + 1)),
            _ => Ok(here),
        },
        Node::TopK { operand, topk } => match rows_of(*operand) {
            Some(axis) if topk.axis == axis => Ok(Place::Fixed(pass + 1)),
            _ => Ok(here),
        },
        Node::Sort { operand, sort } => match rows_of(*operand) {
            Some(axis) if sort.axis == axis => Err(Refusal::Sort),
            _ => Ok(here),
        },
        Node::Search { table, .. } => match rows_of(*table) {
            Some(_) => Err(Refusal::Search),
            None => Ok(here),
        },
        Node::View { view: View::Reshape, operand } => match (rows_of(*operand), found) {
            (None, None) => Ok(here),
            (Some(from), Some(to)) => {
                let before = |shape: &[Dim], axis: usize| Dim::product(shape[..axis].iter());
                match (before(graph.shape(*operand), from), before(shape, to)) {
                    (Ok(from), Ok(to)) if from == to => Ok(here),
                    _ => Err(Refusal::Reshape),
                }
            }
            (Some(_), None) | (None, Some(_)) => Err(Refusal::Reshape),
        },
        Node::View { view: View::Slice(parts), operand } => {
            let whole = |axis: usize| parts[axis].step == 1 && parts[axis].start == Dim::ZERO;
            let starts = parts.iter().enumerate().filter(|(axis, _)| Some(*axis) != found);
            let mentioned = starts.flat_map(|(_, part)| part.start.symbols()).any(|symbol| symbol == rows);
            match (rows_of(*operand), found) {
                (None, None) if !mentioned => Ok(here),
                (Some(from), Some(to)) if from == to && whole(from) && !mentioned => Ok(here),
                _ => Err(Refusal::Slice),
            }
        }
        Node::View { view: View::Windows(axis), operand } => match (rows_of(*operand), found) {
            (None, None) => Ok(here),
            (Some(from), Some(to)) if from == to && from != *axis => Ok(here),
            _ => Err(Refusal::Slice),
        },
        Node::View { view: View::Rebind, operand } => match rows_of(*operand) == found {
            true => Ok(here),
            false => Err(Refusal::OtherSize),
        },
        Node::Take { table, axis, .. } => match rows_of(*table) {
            Some(rows) if rows == *axis => Err(Refusal::Take),
            _ => Ok(here),
        },
        Node::Concat { operands, axis } => {
            let along = operands.iter().any(|operand| rows_of(*operand) == Some(*axis));
            if along || found == Some(*axis) { Err(Refusal::Concat) } else { Ok(here) }
        }
        // Met above, or never in a checked graph.
        Node::Segment { .. } | Node::Poison => Err(Refusal::OtherSize),
    }
}
