//! Determines which expressions have a value for each row and which have one for all, and after how many passes
//! each is known.

use crate::dim::Dim;
use crate::graph::{CheckedGraph, Node, SymbolKind, View};
use crate::ids::{ExprId, SymbolId};

/// The rows that an expression depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It does not depend on single rows, and is known before this pass.
    Fixed(usize),
    /// Its elements along `axis` are the rows. Each depends only on its own row, and can be computed in this pass.
    Rows { axis: usize, pass: usize },
}

impl Place {
    /// Returns the first pass that can use it.
    pub fn pass(self) -> usize {
        match self {
            Place::Fixed(pass) | Place::Rows { pass, .. } => pass,
        }
    }
}

/// The reason why a graph cannot be computed chunk by chunk. The expression is the first one that cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// No input that the outputs need has the rows as its leading axis.
    NoRows,
    /// The size is a multiple of a number, or declared equal to another size; a chunk may satisfy neither.
    NotPlain,
    /// An input has the rows along an axis other than the leading one, or within another size.
    Input,
    /// An input's leading axis may also be 1.
    MayBeOne,
    /// A result has the rows along two axes: each row with every other.
    Pairs,
    /// A size depends on the number of rows but is not equal to it.
    OtherSize,
    /// A reshape mixes the rows with another axis.
    Reshape,
    /// Some rows are cut out, or their order changes.
    Slice,
    /// Rows change by their position.
    Set,
    /// Rows are looked up by number.
    Take,
    /// Rows are sorted.
    Sort,
    /// Positions among all rows are searched.
    Search,
    /// Rows are appended to others.
    Concat,
    /// The data of all rows decide a size.
    Decided,
    /// Selected rows are numbered, or reduced in an order that is that of all of them.
    Selected,
    /// A loop reads the rows, or what is known only after all rows.
    Loop,
    /// An output has the rows along an axis other than the leading one.
    OutputAxis,
    /// An input is written to.
    Assigned,
}

/// The sizes of the axes along which rows lie: the number of all rows, and the numbers of those that masks of the rows select.
#[derive(Clone, Copy)]
pub(super) struct Sizes<'g> {
    graph: &'g CheckedGraph,
    rows: SymbolId,
}

impl<'g> Sizes<'g> {
    pub fn new(graph: &'g CheckedGraph, rows: SymbolId) -> Sizes<'g> {
        Sizes { graph, rows }
    }

    /// Returns whether a symbol counts rows that a mask selects.
    pub fn is_selected(self, symbol: SymbolId, places: &[Place]) -> bool {
        match self.graph.symbols()[symbol.index()].kind {
            SymbolKind::Count(mask) => matches!(places.get(mask.index()), Some(Place::Rows { .. })),
            _ => false,
        }
    }

    /// Returns whether a symbol is the number of rows, or of selected ones.
    pub fn is_of_rows(self, symbol: SymbolId, places: &[Place]) -> bool {
        symbol == self.rows || self.is_selected(symbol, places)
    }

    /// Returns the axis of a shape along which rows lie.
    fn axis(self, shape: &[Dim], places: &[Place]) -> Result<Option<usize>, Refusal> {
        let mut found = None;
        for (axis, dim) in shape.iter().enumerate() {
            if !dim.symbols().into_iter().any(|symbol| self.is_of_rows(symbol, places)) {
                continue;
            }
            if dim.as_symbol().is_none() {
                return Err(Refusal::OtherSize);
            }
            if found.replace(axis).is_some() {
                return Err(Refusal::Pairs);
            }
        }
        Ok(found)
    }
}

/// Finds the place of each expression that has none yet, or the first one that cannot have one.
pub(super) fn find_places(
    graph: &CheckedGraph,
    rows: SymbolId,
    places: &mut Vec<Place>,
) -> Result<(), (ExprId, Refusal)> {
    for expr in graph.exprs().skip(places.len()) {
        let place = place(graph, rows, expr, places).map_err(|refusal| (expr, refusal))?;
        places.push(place);
    }
    Ok(())
}

fn place(graph: &CheckedGraph, rows: SymbolId, expr: ExprId, places: &[Place]) -> Result<Place, Refusal> {
    let place_of = |expr: ExprId| places.get(expr.index()).copied().unwrap_or(Place::Fixed(0));
    let rows_of = |expr: ExprId| match place_of(expr) {
        Place::Rows { axis, .. } => Some(axis),
        Place::Fixed(_) => None,
    };
    let node = graph.node(expr);
    let sizes = Sizes::new(graph, rows);
    // What decides a size is needed as operands are.
    let needed = node.operands().into_iter().chain(graph.deciding(expr));
    let pass = needed.map(|expr| place_of(expr).pass()).max().unwrap_or(0);
    let shape = graph.shape(expr);
    // Whether it has a size other than the number of all rows that counts some of them.
    let has_selected = graph.decided_sizes(expr).iter().any(|symbol| sizes.is_selected(*symbol, places));
    let are_selected = |expr: ExprId| {
        let dim = rows_of(expr).and_then(|axis| graph.shape(expr)[axis].as_symbol());
        dim.is_some_and(|symbol| symbol != rows)
    };
    if let Node::Segment { values, ids, .. } = node {
        if are_selected(*values) {
            return Err(Refusal::Selected);
        }
        // The rows determine how many tables are used.
        let is_fixed = sizes.axis(&shape[1..], places)?.is_none();
        return match (rows_of(*values), rows_of(*ids)) {
            (Some(0), Some(0)) if is_fixed => Ok(Place::Fixed(pass + 1)),
            (None, None) if is_fixed => Ok(Place::Fixed(pass)),
            _ => Err(Refusal::OtherSize),
        };
    }
    if let Node::Scatter { base, indices, values, .. } = node
        && (rows_of(*base), rows_of(*indices), rows_of(*values)) == (None, Some(0), Some(0))
        && sizes.axis(shape, places)?.is_none()
    {
        // Each chunk changes what the one before it has left.
        return Ok(Place::Fixed(pass + 1));
    }
    // What is computed from values for all rows may have any size that these determine.
    let is_known = pass > 0 && node.operands().iter().all(|operand| rows_of(*operand).is_none());
    let found = match sizes.axis(shape, places) {
        Err(Refusal::OtherSize) if is_known && !has_selected => Ok(None),
        found => found,
    };
    let found = found.map_err(|refusal| match (refusal, node) {
        // Blame the operation that makes the other size.
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
    // Views of rows keep all of those that there are.
    let are_same = |operand: ExprId| match (rows_of(operand), found) {
        (Some(from), Some(to)) => graph.shape(operand)[from] == shape[to],
        (None, None) => true,
        _ => false,
    };
    match node {
        Node::Input(input) => match found {
            Some(0) if graph.inputs()[input.index()].may_be_one.contains(&0) => Err(Refusal::MayBeOne),
            Some(0) | None => Ok(here),
            Some(_) => Err(Refusal::Input),
        },
        Node::Size(_) | Node::Iota if has_selected => Err(Refusal::Selected),
        Node::Size(size) if size.symbols().contains(&rows) => Ok(Place::Fixed(1)),
        Node::Scan { axis, operand, .. } if rows_of(*operand) == Some(*axis) && are_selected(*operand) => {
            Err(Refusal::Selected)
        }
        Node::Constant(_)
        | Node::Size(_)
        | Node::Iota
        | Node::Elementwise { .. }
        | Node::Select { .. }
        | Node::Cast(_)
        // Along the rows, a chunk continues where the previous one ended.
        | Node::Scan { .. }
        | Node::View {
            view: View::Permute(_) | View::ExpandDims(_) | View::Squeeze(_) | View::BroadcastTo,
            ..
        } => Ok(here),
        Node::Reduce { op, operand, axes, .. } => match rows_of(*operand) {
            Some(axis) if axes.contains(&axis) => {
                let is_free = !op.is_arg() && op.is_order_free(op.accumulator(graph.dtype(*operand)));
                let is_refused = are_selected(*operand) && !is_free;
                if is_refused { Err(Refusal::Selected) } else { Ok(Place::Fixed(pass + 1)) }
            }
            _ => Ok(here),
        },
        Node::TopK { operand, topk } => match rows_of(*operand) {
            Some(axis) if topk.axis == axis && are_selected(*operand) => Err(Refusal::Selected),
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
            (Some(from), Some(to)) if are_same(*operand) => {
                let before = |shape: &[Dim], axis: usize| Dim::product(shape[..axis].iter());
                match (before(graph.shape(*operand), from), before(shape, to)) {
                    (Ok(from), Ok(to)) if from == to => Ok(here),
                    _ => Err(Refusal::Reshape),
                }
            }
            (Some(_), _) | (None, Some(_)) => Err(Refusal::Reshape),
        },
        Node::View { view: View::Slice(parts), operand } => {
            let whole = |axis: usize| parts[axis].step == 1 && parts[axis].start == Dim::ZERO;
            let starts = parts.iter().enumerate().filter(|(axis, _)| Some(*axis) != found);
            let mut starts = starts.flat_map(|(_, part)| part.start.symbols());
            let mentioned = starts.any(|symbol| sizes.is_of_rows(symbol, places));
            match (rows_of(*operand), found) {
                (None, None) if !mentioned => Ok(here),
                (Some(from), Some(to)) if from == to && whole(from) && !mentioned && are_same(*operand) => Ok(here),
                _ => Err(Refusal::Slice),
            }
        }
        Node::Set { base, value, region } => {
            let is_whole = |axis: usize| region[axis].step == 1 && region[axis].start == Dim::ZERO;
            let others = region.iter().enumerate().filter(|(axis, _)| Some(*axis) != found);
            let mut starts = others.flat_map(|(_, part)| part.start.symbols());
            let mentioned = starts.any(|symbol| sizes.is_of_rows(symbol, places));
            match (rows_of(*base), rows_of(*value)) {
                (None, None) if !mentioned => Ok(here),
                (Some(from), Some(to)) if from == to && is_whole(from) && !mentioned => Ok(here),
                _ => Err(Refusal::Set),
            }
        }
        Node::View { view: View::Windows(axis), operand } => match (rows_of(*operand), found) {
            (None, None) => Ok(here),
            (Some(from), Some(to)) if from == to && from != *axis => Ok(here),
            _ => Err(Refusal::Slice),
        },
        Node::View { view: View::Rebind, operand } => match are_same(*operand) && rows_of(*operand) == found {
            true => Ok(here),
            false => Err(Refusal::OtherSize),
        },
        Node::Take { table, axis, .. } => match rows_of(*table) {
            Some(rows) if rows == *axis => Err(Refusal::Take),
            _ => Ok(here),
        },
        Node::Scatter { base, indices, values, .. } => {
            let own = rows_of(*base);
            // The axes of a row are the last ones of the base and of the values.
            let from_end = |expr: ExprId, axis: usize| graph.shape(expr).rank() - axis;
            let of_values = rows_of(*values).map(|axis| from_end(*values, axis));
            let is_of_rows = own != Some(0) && own.map(|axis| from_end(*base, axis)) == of_values;
            if is_of_rows && rows_of(*indices).is_none() { Ok(here) } else { Err(Refusal::Set) }
        }
        Node::Concat { operands, axis } => {
            let along = operands.iter().any(|operand| rows_of(*operand) == Some(*axis));
            if along || found == Some(*axis) { Err(Refusal::Concat) } else { Ok(here) }
        }
        Node::Compress { operand, mask, axis } => match (rows_of(*operand), rows_of(*mask)) {
            (Some(rows), Some(_)) if rows == *axis => Ok(here),
            (Some(rows), None) if rows != *axis => Ok(here),
            (None, None) => Ok(here),
            _ => Err(Refusal::Decided),
        },
        Node::Step { .. } if found.is_none() => Ok(here),
        Node::Loop { repeated, .. } if found.is_none() && pass == 0 => {
            let reads_rows = repeated.operands().iter().any(|operand| rows_of(*operand).is_some());
            let own = graph.sizes_of_node(expr);
            let mut own = own.iter().flat_map(Dim::symbols);
            if reads_rows || own.any(|symbol| sizes.is_of_rows(symbol, places)) { Err(Refusal::Loop) } else { Ok(here) }
        }
        Node::Step { .. } | Node::Loop { .. } => Err(Refusal::Loop),
        // Handled above, or impossible in a checked graph.
        Node::Segment { .. } | Node::Poison => Err(Refusal::OtherSize),
    }
}
