//! Sizes of the outputs, and checks of the arrays for them.

use super::destination::Destination;
use super::error::{ArrayName, BindError, Role, SizeMismatch};
use super::names::SymbolNames;
use super::sizes::{Values, addressable, count, size};
use crate::array::Geometry;
use crate::compiled::Inner;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, OutputInfo};
use smallvec::SmallVec;
use std::sync::Arc;

/// An output with its numbers evaluated.
#[derive(Debug)]
pub(crate) struct BoundOutput {
    pub(crate) name: Arc<str>,
    pub(crate) dtype: DType,
    pub(crate) shape: SmallVec<[usize; 4]>,
    pub(crate) count: usize,
}

impl BoundOutput {
    fn new(graph: &CheckedGraph, output: &OutputInfo, values: &Values) -> Result<BoundOutput, BindError> {
        let (shape, dtype) = (graph.shape(output.expr), graph.dtype(output.expr));
        Ok(BoundOutput {
            name: (*output.name).into(),
            dtype,
            shape: shape.iter().map(|dim| size(dim, values)).collect::<Result<_, _>>()?,
            count: addressable(count(shape, values)?, dtype)?,
        })
    }

    /// Returns the number of bytes, which are addressable.
    pub(crate) fn bytes(&self) -> usize {
        self.count * self.dtype.size()
    }
}

/// Returns the sizes of the outputs; arrays passed for them must have these sizes.
pub(super) fn bind_outputs(
    inner: &Inner,
    inputs: &[Option<&Geometry>],
    destinations: &[Destination<'_>],
    values: &Values,
) -> Result<Vec<BoundOutput>, BindError> {
    let graph = &inner.graph;
    let mut bound = Vec::with_capacity(graph.outputs().len());
    for (position, output) in graph.outputs().iter().enumerate() {
        let made = BoundOutput::new(graph, output, values)?;
        if let Some(geometry) = destinations[position].array() {
            check_output(inner, inputs, values, output, geometry, &made, Fit::Exact)?;
        }
        bound.push(made);
    }
    Ok(bound)
}

/// Checks the limit of all results together, as far as their sizes are known.
pub(crate) fn check_known_outputs(inner: &Inner, values: &Values) -> Result<(), BindError> {
    let graph = &inner.graph;
    let bytes = graph.results().iter().filter_map(|output| {
        let elements = count(graph.shape(output.expr), values).ok()?.unsigned_abs();
        Some(elements.saturating_mul(graph.dtype(output.expr).size() as u64))
    });
    inner.options.limits.check_output_bytes(bytes)
}

/// Checks that an array for an output has the output's dtype and rank. Every call checks this before it looks up a
/// binding of the same sizes and strides.
#[inline]
pub(crate) fn check_output_type(
    graph: &CheckedGraph,
    output: &OutputInfo,
    geometry: &Geometry,
) -> Result<(), BindError> {
    let (expected, shape) = (graph.dtype(output.expr), graph.shape(output.expr));
    if geometry.dtype != expected || geometry.axes.len() != shape.rank() {
        return Err(wrong_type(graph, output, geometry));
    }
    Ok(())
}

/// Returns the error of an array whose dtype or rank differs from the output's.
#[cold]
fn wrong_type(graph: &CheckedGraph, output: &OutputInfo, geometry: &Geometry) -> BindError {
    let array = ArrayName { role: Role::Output, name: output.name.to_string() };
    let (expected, shape) = (graph.dtype(output.expr), graph.shape(output.expr));
    if geometry.dtype != expected {
        return BindError::DType { array, expected, found: geometry.dtype };
    }
    let (declared, found) = (SymbolNames(graph).shape(shape), geometry.shape());
    BindError::Rank { array, rank: shape.rank(), declared, found }
}

/// How an array for an output fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It has the sizes of the output.
    Exact,
    /// Along axes whose sizes the data decide, it may have more.
    Capacity,
}

/// Checks that an array for an output, with the right dtype and rank, has the right sizes.
fn check_output(
    inner: &Inner,
    inputs: &[Option<&Geometry>],
    values: &Values,
    output: &OutputInfo,
    geometry: &Geometry,
    bound: &BoundOutput,
    fit: Fit,
) -> Result<(), BindError> {
    let array = || ArrayName { role: Role::Output, name: output.name.to_string() };
    let (graph, rules) = (&inner.graph, &inner.rules);
    let shape = graph.shape(output.expr);
    let found = geometry.shape();
    let is_decided = |axis: usize| {
        let mut symbols = shape[axis].symbols().into_iter();
        symbols.any(|symbol| graph.decided_by(symbol).is_some())
    };
    let fits = |axis: usize| match fit {
        Fit::Capacity if is_decided(axis) => found[axis] >= bound.shape[axis],
        Fit::Exact | Fit::Capacity => found[axis] == bound.shape[axis],
    };
    match (0..found.len()).find(|axis| !fits(*axis)) {
        None => Ok(()),
        Some(axis) => Err(BindError::Size(Box::new(SizeMismatch {
            array: array(),
            axis,
            declared: SymbolNames(graph).dim(&shape[axis]),
            expected: Some(bound.shape[axis] as i64),
            stated: None,
            or_one: false,
            found: found[axis] as i64,
            shape: found,
            declared_shape: SymbolNames(graph).shape(shape),
            site: graph.site(output.expr),
            solved: rules.solved(graph, inputs, values, rules.len()),
            needed_by: None,
            called: None,
        }))),
    }
}

/// Checks that an array for an output has the sizes that the data have decided, or room for them.
pub(crate) fn check_decided_output(
    inner: &Inner,
    inputs: &[Option<&Geometry>],
    values: &Values,
    output: &OutputInfo,
    geometry: &Geometry,
    fit: Fit,
) -> Result<(), BindError> {
    let bound = BoundOutput::new(&inner.graph, output, values)?;
    check_output(inner, inputs, values, output, geometry, &bound, fit)
}
