//! Selects the facts of a call that its machine code relies on.

use super::binding::Request;
use super::destination::Destination;
use super::error::BindError;
use super::sizes::{Values, count, evaluate};
use super::threads::{Division, is_contracted};
use crate::array::Geometry;
use crate::thresholds::{
    COLUMNS_OF_THREAD, CONTRACTED_ROWS_OF_THREAD, MAX_VARIANT_EXPRS, MIN_PARTS_ELEMENTS, MIN_STREAMED_BYTES,
    MIN_VARIANT_ELEMENTS, PACKED_COLUMNS_OF_THREAD, PACKED_ROWS_OF_THREAD, RESULTS_OF_THREAD,
    SHORT_REDUCTION, SHORT_ROW, SHORT_ROW_OF_ARG, SHORT_SUM, SHORT_SUM_OF_PAIRS, SHORT_TRAILING, SINGLE_ROW,
};
use crate::variant::Variant;
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::graph::{CheckedGraph, Node, symbol_named};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, SymbolId};
use broadloom_loops::kernel::{Kernel, Schedule, Specialisation};
use broadloom_loops::{IndexWidth, Layout, LowerOptions, MIN_WORD, most_unrolled};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Sizes that are worth separate code when they are short.
#[derive(Debug, Default)]
pub(crate) struct ShortSizes(Vec<ShortSize>);

#[derive(Debug, PartialEq, Eq)]
struct ShortSize {
    symbol: SymbolId,
    size: Dim,
    /// The lengths that count as short.
    lengths: RangeInclusive<i64>,
    /// The shape of the tensor that has the axis.
    shape: Shape,
}

/// Returns the most elements that an extreme of an expression compares in registers, if they are computed one by one from short
/// sums, as distances are.
fn most_compared(graph: &CheckedGraph, extreme: ReduceOp, mut expr: ExprId) -> Option<i64> {
    let mut ops: Vec<Op> = Vec::new();
    loop {
        let node = graph.node(expr);
        match node {
            Node::Reduce { op: op @ (ReduceOp::Sum | ReduceOp::Mean), operand, axes, .. } => {
                let &[axis] = axes.as_slice() else { return None };
                let terms = graph.shape(*operand)[axis].as_constant();
                let is_short = terms.is_none_or(|terms| SHORT_REDUCTION.contains(&terms));
                let is_least = matches!(extreme, ReduceOp::Min | ReduceOp::ArgMin);
                let by_root = is_least && *op == ReduceOp::Sum && ops == [Op::Sqrt];
                return is_short.then(|| most_unrolled(terms, by_root));
            }
            Node::Elementwise { op, .. } => ops.push(*op),
            Node::View { .. } => {}
            _ => return None,
        }
        let operands = node.operands();
        let mut tables = operands.iter().filter(|operand| graph.shape(**operand).rank() > 0);
        let (Some(table), None) = (tables.next(), tables.next()) else { return None };
        expr = *table;
    }
}

/// Returns whether the elements of an expression are computed from all pairs of elements of smaller ones.
fn is_of_pairs(graph: &CheckedGraph, mut expr: ExprId) -> bool {
    let shape = graph.shape(expr);
    while let node @ Node::Elementwise { .. } = graph.node(expr) {
        let operands = node.operands();
        let mut whole = operands.iter().filter(|operand| graph.shape(**operand) == shape);
        match (whole.next(), whole.next()) {
            (None, _) => return true,
            (Some(operand), None) => expr = *operand,
            (Some(_), Some(_)) => return false,
        }
    }
    false
}

impl ShortSizes {
    /// Finds them in a graph: extents of reductions, and trailing axes of arrays beside others without such an
    /// axis.
    pub(crate) fn new(graph: &CheckedGraph, tail: Option<&Dim>) -> ShortSizes {
        let mut sizes = ShortSizes::default();
        if graph.len() > MAX_VARIANT_EXPRS {
            return sizes;
        }
        let is_tail = |symbol: SymbolId| tail.is_some_and(|tail| tail.symbols().contains(&symbol));
        let mut add = |shape: &Shape, axis: usize, lengths: RangeInclusive<i64>| {
            let size = &shape[axis];
            if let Some(symbol) = symbol_named(size, graph.symbols()).filter(|symbol| !is_tail(*symbol)) {
                let (size, shape) = (size.clone(), shape.clone());
                let short = ShortSize { symbol, size, lengths, shape };
                if !sizes.0.contains(&short) {
                    sizes.0.push(short);
                }
            }
        };
        for expr in graph.exprs() {
            if let Node::Reduce { op, operand, axes, .. } = graph.node(expr) {
                let shape = graph.shape(*operand);
                // Rows of words of an array are read a row in each lane if they are short.
                let is_of_rows = |axis: usize| {
                    let mut arrays = graph.inputs().iter().filter(|input| input.shape == *shape);
                    axis + 1 == shape.rank() && arrays.any(|array| array.dtype.size() >= MIN_WORD)
                };
                let is_of_pairs = is_of_pairs(graph, *operand);
                let lengths = |axis: usize| match op {
                    // The sums over the last axis are added.
                    ReduceOp::Sum if is_of_pairs && axes.len() > 1 && axes.last() == Some(&axis) => {
                        SHORT_SUM_OF_PAIRS
                    }
                    ReduceOp::Sum | ReduceOp::Mean => SHORT_SUM,
                    ReduceOp::Min | ReduceOp::Max if is_of_rows(axis) => SHORT_ROW,
                    ReduceOp::ArgMin | ReduceOp::ArgMax if is_of_rows(axis) => SHORT_ROW_OF_ARG,
                    _ if op.beats().is_some()
                        && let Some(most) = most_compared(graph, *op, *operand) =>
                    {
                        2..=most
                    }
                    ReduceOp::Prod
                    | ReduceOp::Min
                    | ReduceOp::Max
                    | ReduceOp::ArgMin
                    | ReduceOp::ArgMax
                    | ReduceOp::Any
                    | ReduceOp::All => SHORT_REDUCTION,
                };
                axes.iter().for_each(|&axis| add(shape, axis, lengths(axis)));
                if is_of_pairs {
                    let kept = (0..shape.rank()).filter(|axis| !axes.contains(axis));
                    kept.for_each(|axis| add(shape, axis, SINGLE_ROW));
                }
            }
        }
        // Arrays of one shape are rows of elements, whatever their axes are.
        let mut shapes: Vec<&Shape> = graph.exprs().map(|expr| graph.shape(expr)).collect();
        shapes.retain(|shape| shape.rank() > 0);
        if shapes.iter().any(|shape| *shape != shapes[0]) {
            let inputs = graph.inputs().iter().map(|input| &input.shape);
            let outputs = graph.outputs().iter().map(|output| graph.shape(output.expr));
            for shape in inputs.chain(outputs).filter(|shape| shape.rank() > 0) {
                add(shape, shape.rank() - 1, SHORT_TRAILING);
            }
        }
        sizes
    }

    /// Returns the short sizes of a call, with their values.
    fn of_call(&self, values: &Values) -> Vec<(SymbolId, i64)> {
        let mut sizes: Vec<(SymbolId, i64)> = Vec::new();
        for short in &self.0 {
            let is_short = evaluate(&short.size, values).is_ok_and(|size| short.lengths.contains(&size));
            let is_worth =
                || !matches!(count(&short.shape, values), Ok(count) if count < MIN_VARIANT_ELEMENTS);
            if let Some(value) = values[short.symbol.index()].filter(|_| is_short && is_worth()) {
                sizes.push((short.symbol, value));
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

/// Reductions with possibly too few results for the threads to share.
#[derive(Debug, Default)]
pub(crate) struct SmallResults(Vec<SmallResult>);

#[derive(Debug, PartialEq, Eq)]
struct SmallResult {
    shape: Shape,
    operand: Shape,
    /// Whether neighbours in memory belong to different results.
    is_by_columns: bool,
    /// Whether a contraction computes them, whose rows threads can share.
    is_contracted: bool,
}

impl SmallResults {
    /// Finds them in a graph in canonical form, of which `schedule` computes arrays of all sizes.
    pub(crate) fn new(graph: &CheckedGraph, schedule: &Schedule) -> SmallResults {
        let contractions = schedule.kernels.iter().filter(|kernel| is_contracted(kernel));
        let contracted =
            contractions.flat_map(Kernel::written).map(|buffer| &schedule.buffers[buffer.index()].shape);
        let contracted: Vec<&Shape> = contracted.collect();
        let mut results = SmallResults::default();
        for expr in graph.exprs() {
            let Node::Reduce { operand, axes, .. } = graph.node(expr) else { continue };
            let (shape, operand) = (graph.shape(expr).clone(), graph.shape(*operand).clone());
            let is_by_columns = !axes.contains(&(operand.rank() - 1));
            let is_contracted = contracted.contains(&&shape);
            let result = SmallResult { shape, operand, is_by_columns, is_contracted };
            if !broadloom_loops::is_few(&result.shape) && !results.0.contains(&result) {
                results.0.push(result);
            }
        }
        results
    }

    /// Returns the shapes of those whose reduced axes are cut in a call: the threads share the parts.
    fn of_call(&self, values: &Values, division: Division, by_columns: &[Shape]) -> Vec<Shape> {
        let threads = division.threads as i64;
        let is_small = |result: &&SmallResult| {
            let least = if result.is_by_columns { COLUMNS_OF_THREAD } else { RESULTS_OF_THREAD };
            let Ok(results) = count(&result.shape, values) else { return false };
            // More elements than fit are many.
            let elements = count(&result.operand, values).unwrap_or(i64::MAX);
            // Parts of what a contraction reduces over are no contraction.
            let rows = CONTRACTED_ROWS_OF_THREAD.saturating_mul(threads);
            let mut sizes = result.shape.iter().map(|dim| evaluate(dim, values));
            let shares_rows = result.is_contracted && sizes.all(|size| size.is_ok_and(|size| size >= rows));
            let is_shared = threads > 1
                && !shares_rows
                && (1..least.saturating_mul(threads)).contains(&results)
                && elements >= division.threshold as i64 / 4;
            is_shared && elements / results >= MIN_PARTS_ELEMENTS
        };
        let small = self.0.iter().filter(is_small).map(|result| &result.shape);
        distinct(small.filter(|shape| !by_columns.contains(shape)))
    }

    /// Returns the shapes of products whose columns threads share: each thread would pack all columns for its few rows.
    fn by_columns(&self, values: &Values, division: Division) -> Vec<Shape> {
        let threads = division.threads as i64;
        let is_wide = |result: &&SmallResult| {
            let sizes = result.shape.iter().map(|dim| evaluate(dim, values).unwrap_or(i64::MAX));
            let sizes: Vec<i64> = sizes.filter(|size| *size != 1).collect();
            let &[rows, columns] = sizes.as_slice() else { return false };
            result.is_contracted
                && rows < PACKED_ROWS_OF_THREAD.saturating_mul(threads)
                && columns >= PACKED_COLUMNS_OF_THREAD.saturating_mul(threads)
                && count(&result.operand, values).unwrap_or(i64::MAX) >= division.threshold as i64
        };
        if threads < 2 {
            return Vec::new();
        }
        distinct(self.0.iter().filter(is_wide).map(|result| &result.shape))
    }
}

/// Returns each shape once.
fn distinct<'s>(shapes: impl Iterator<Item = &'s Shape>) -> Vec<Shape> {
    let mut found: Vec<Shape> = Vec::new();
    for shape in shapes {
        if !found.contains(shape) {
            found.push(shape.clone());
        }
    }
    found
}

/// Returns the facts of a call that its code relies on, except for the assumptions that only a schedule knows.
fn facts(
    request: &Request<'_>,
    inputs: &[Option<&Geometry>],
    destinations: &[Destination<'_>],
    values: &Values,
) -> LowerOptions {
    let layout = |geometry: &Geometry| {
        if geometry.is_dense() {
            return Layout::Dense;
        }
        Layout::Strided { unit: geometry.axes.iter().position(|axis| axis.size > 1 && axis.stride == 1) }
    };
    let of = |geometry: Option<&Geometry>| geometry.map_or(Layout::Dense, layout);
    // The first stores to new memory put it into a cache, and so do reads of an array that is assigned in place.
    let streams = |destination: &Destination<'_>| match destination {
        Destination::Array(geometry) => {
            geometry.count().saturating_mul(geometry.dtype.size()) >= MIN_STREAMED_BYTES
        }
        Destination::Own | Destination::InPlace(_) | Destination::Aside(_) => false,
    };
    let general = &request.variants.general.facts;
    let is_wide = general.target.widest_bytes > general.target.vector_bytes;
    let by_columns = request.small.by_columns(values, request.division);
    let may_stream = is_wide && request.graph.len() <= MAX_VARIANT_EXPRS;
    LowerOptions {
        inputs: inputs.iter().map(|geometry| of(*geometry)).collect(),
        outputs: destinations.iter().map(|destination| of(destination.written())).collect(),
        streamed: destinations.iter().map(|destination| may_stream && streams(destination)).collect(),
        sizes: request.short.of_call(values),
        shared: request.small.of_call(values, request.division, &by_columns),
        by_columns,
        ..general.clone()
    }
}

/// Returns the machine code for a call.
fn variant(
    request: &Request<'_>,
    inputs: &[Option<&Geometry>],
    destinations: &[Destination<'_>],
    values: &Values,
) -> Result<Arc<Variant>, BindError> {
    let mut facts = facts(request, inputs, destinations, values);
    let (given, outputs) = (request.graph.inputs(), request.graph.outputs());
    let is_little = || {
        let shapes = given.iter().map(|input| &input.shape);
        let mut shapes = shapes.chain(outputs.iter().map(|output| request.graph.shape(output.expr)));
        shapes.all(|shape| count(shape, values).is_ok_and(|count| count < MIN_VARIANT_ELEMENTS))
    };
    loop {
        let variant = request.variants.get(facts.clone());
        let variant = variant.map_err(|error| BindError::Compile(Arc::new(error)))?;
        let mut holds = true;
        for assumption in &variant.schedule.assumptions {
            // An axis whose length depends on groups is no longer than the axis that is cut.
            let size = match evaluate(&assumption.size, values) {
                Err(DimError::Unbound(_)) => continue,
                size => size?,
            };
            // Code for long rows is right for short ones, but not for longer ones than it has room for.
            let is_slow = assumption.of == Specialisation::LongRows && size <= assumption.most;
            if assumption.holds(size) || is_slow && is_little() {
                continue;
            }
            let is_new = give_up(&mut facts, assumption.of);
            debug_assert!(is_new || !holds, "code without a specialisation needs it: {assumption:?}");
            holds = false;
        }
        if holds {
            return Ok(variant);
        }
    }
}

/// Gives up a specialisation of the code. Returns whether the code had it.
fn give_up(facts: &mut LowerOptions, of: Specialisation) -> bool {
    match of {
        Specialisation::NarrowIndices => {
            std::mem::replace(&mut facts.index_width, IndexWidth::Wide) == IndexWidth::Narrow
        }
        Specialisation::KeptRows => std::mem::take(&mut facts.keep_rows),
        Specialisation::Packing => std::mem::take(&mut facts.pack),
        Specialisation::LongRows => std::mem::take(&mut facts.long_rows),
    }
}

/// Chooses the machine code for the layouts. Outputs that it may not write in place are computed aside.
pub(super) fn choose_variant(
    request: &Request<'_>,
    inputs: &[Option<&Geometry>],
    destinations: &mut [Destination<'_>],
    values: &Values,
) -> Result<Arc<Variant>, BindError> {
    loop {
        let variant = variant(request, inputs, destinations, values)?;
        let mut is_final = true;
        for (destination, aside) in destinations.iter_mut().zip(&variant.asides) {
            if let (Destination::InPlace(geometry), Some(_)) = (*destination, aside) {
                *destination = Destination::Aside(geometry);
                is_final = false;
            }
        }
        if is_final {
            return Ok(variant);
        }
    }
}
