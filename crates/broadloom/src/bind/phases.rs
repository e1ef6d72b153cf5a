//! Binds graphs whose data decide sizes, as far as the sizes of a call are known: before it runs, only bounds of the others
//! are.

use super::binding::{Binding, BoundCode};
use super::destination::{Destination, Destinations};
use super::error::BindError;
use super::outputs::bind_outputs;
use super::sizes::{Values, addressable, count, evaluate};
use crate::array::Geometry;
use crate::compiled::Inner;
use crate::limits::Work;
use crate::phased::Phased;
use broadloom_ir::graph::SymbolKind;

/// Binds arrays to a graph in phases. The sizes of its outputs are their largest: a mask selects all elements. Computed
/// numbers, which have no bound, count as 0.
pub(super) fn bind_phases(
    phased: &Phased,
    inner: &Inner,
    inputs: &[Option<&Geometry>],
    values: Values,
) -> Result<Binding, BindError> {
    let graph = &inner.graph;
    let mut largest = values.clone();
    for (index, info) in graph.symbols().iter().enumerate() {
        largest[index] = match info.kind {
            SymbolKind::Count(mask) => {
                graph.shape(mask).first().and_then(|size| evaluate(size, &largest).ok())
            }
            SymbolKind::Computed(_) => Some(0),
            SymbolKind::Rigid | SymbolKind::Flexible | SymbolKind::Parameter => continue,
        };
    }
    let own = Destinations::from_elem(Destination::Own, graph.outputs().len());
    let outputs = bind_outputs(inner, inputs, &own, &largest)?;
    inner.options.limits.check_outputs(&outputs[..graph.results().len()])?;
    let mut bytes = 0_usize;
    let mut elements = 0_u64;
    for slot in &phased.slots {
        let count = addressable(count(&slot.shape, &largest)?, slot.dtype)?;
        bytes = bytes.saturating_add(count * slot.dtype.size());
        elements = elements.saturating_add(count as u64);
    }
    // What the parts do is checked when they are bound.
    let work = Work { bytes: bytes as u64, operations: elements, total: elements };
    inner.options.limits.check_call(bytes, work)?;
    let code = BoundCode::Phases;
    Ok(Binding { values, outputs, code, copies: Vec::new(), arena_bytes: bytes, work })
}
