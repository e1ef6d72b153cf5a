//! Binds graphs whose data decide sizes, as far as the sizes of a call are known: before it runs, only bounds of the others
//! are.

use super::binding::{Binding, BoundCode};
use super::error::BindError;
use super::outputs::BoundOutput;
use super::sizes::{Values, evaluate};
use super::threads::{Division, set_groups, work_of};
use crate::compiled::{Code, Inner};
use crate::limits::Work;
use crate::phased::Phased;
use broadloom_ir::dim::DimError;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::SymbolKind;
use broadloom_ir::shape::Shape;
use smallvec::SmallVec;

/// Binds arrays to a graph in phases. The sizes of its outputs are their largest: a mask selects all elements. Computed
/// numbers, which have no bound, count as 0, and sizes that are negative so are 0.
pub(super) fn bind_phases(phased: &Phased, inner: &Inner, values: Values) -> Result<Binding, BindError> {
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
    let bound = |shape: &Shape, dtype: DType| -> Result<(SmallVec<[usize; 4]>, usize), DimError> {
        let mut sizes = SmallVec::new();
        for dim in shape {
            let size = match evaluate(dim, &largest) {
                Ok(size) => usize::try_from(size).unwrap_or(0),
                Err(DimError::Overflow) => usize::MAX,
                Err(error) => return Err(error),
            };
            sizes.push(size);
        }
        let count = match sizes.contains(&0) {
            true => 0,
            false => sizes.iter().fold(1_usize, |count, size| count.saturating_mul(*size)),
        };
        Ok((sizes, count.min(isize::MAX as usize / dtype.size())))
    };
    let mut outputs = Vec::with_capacity(graph.outputs().len());
    for output in graph.outputs() {
        let dtype = graph.dtype(output.expr);
        let (shape, count) = bound(graph.shape(output.expr), dtype)?;
        outputs.push(BoundOutput { name: (*output.name).into(), dtype, shape, count });
    }
    let (mut arena_bytes, mut elements) = (0_usize, 0_u64);
    for slot in &phased.slots {
        let (_, count) = bound(&slot.shape, slot.dtype)?;
        arena_bytes = arena_bytes.saturating_add(count * slot.dtype.size());
        elements = elements.saturating_add(count as u64);
    }
    let mut work = Work { bytes: arena_bytes as u64, operations: elements, total: elements };
    let parts = phased.phases.iter().map(|phase| phase.part.as_ref());
    for (number, part) in parts.enumerate() {
        let of_part = part.map(|part| largest_work(&part.inner, &largest));
        let Work { bytes, operations, total } = of_part.transpose()?.unwrap_or_default();
        work.bytes = work.bytes.saturating_add(bytes);
        work.operations = work.operations.saturating_add(operations);
        work.total = work.total.saturating_add(total);
        if number == 0 {
            // Of the first part the sizes are known; the others, and outputs, are checked when theirs are.
            inner.options.limits.check_call(arena_bytes, work)?;
        }
    }
    let code = BoundCode::Phases;
    Ok(Binding { values, outputs, code, copies: Vec::new(), arena_bytes, work })
}

/// Returns the work of the kernels of a part at the largest sizes. That of loops, and of sizes that have no bound, is not known
/// before they are.
fn largest_work(inner: &Inner, largest: &Values) -> Result<Work, DimError> {
    let Code::Kernels(kernels) = &inner.code else { return Ok(Work::default()) };
    let schedule = &kernels.variants.general.schedule;
    let mut values = largest.clone();
    values.resize(schedule.symbols.len() + schedule.host_symbols.len(), None);
    set_groups(schedule, &mut values, Division { threads: 1, threshold: 0, stops: false })?;
    work_of(schedule, &values)
}
