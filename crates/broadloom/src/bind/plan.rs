//! What a call does, with all numbers evaluated: arguments of kernels, ranges, and where temporaries lie.

use super::error::{ArrayName, BindError, Role, SizeMismatch};
use super::facts;
use super::names::SymbolNames;
use super::program::{Given, Values, count, evaluate};
use crate::array::{AxisLayout, Geometry};
use crate::compiled::Inner;
use crate::variant::Variant;
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, OutputInfo};
use broadloom_loops::kernel::{self, Extent, HostSymbol, Kernel, KernelId, Schedule, Stmt, Work};
use smallvec::SmallVec;
use std::sync::Arc;

/// Sizes and strides of all arrays of a call, on which alone its [`Binding`] depends.
pub(crate) type Key = SmallVec<[i64; 32]>;

/// A call with all numbers evaluated.
#[derive(Debug)]
pub(crate) struct Binding {
    key: Key,
    pub(crate) variant: Arc<Variant>,
    pub(crate) values: Values,
    /// Sizes of the outputs.
    pub(crate) outputs: Vec<OutputPlan>,
    pub(crate) launches: Vec<Launch>,
    /// Per buffer of the schedule the position of a temporary in the arena.
    pub(crate) temporaries: Vec<usize>,
    /// Bytes of all temporaries that are alive at once.
    pub(crate) arena_bytes: usize,
}

/// What becomes of an output.
#[derive(Debug)]
pub(crate) struct OutputPlan {
    pub(crate) name: Arc<str>,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) count: usize,
    /// Where in the arena it is computed, if it is copied to its array afterwards.
    pub(crate) aside: Option<usize>,
}

/// Where an output goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Destination<'g> {
    /// An array to be allocated.
    Own,
    /// An array of the caller.
    Array(&'g Geometry),
    /// The array of the input that it is assigned to, if the kernels allow it.
    InPlace(&'g Geometry),
    /// Memory of the call, from which it is copied to an array of the caller.
    Aside(&'g Geometry),
}

impl<'g> Destination<'g> {
    /// The array of the caller.
    fn array(self) -> Option<&'g Geometry> {
        match self {
            Destination::Own => None,
            Destination::Array(geometry) | Destination::InPlace(geometry) | Destination::Aside(geometry) => {
                Some(geometry)
            }
        }
    }

    /// The array that kernels write to, unless it is dense memory of the call.
    pub(super) fn written(self) -> Option<&'g Geometry> {
        match self {
            Destination::Own | Destination::Aside(_) => None,
            Destination::Array(geometry) | Destination::InPlace(geometry) => Some(geometry),
        }
    }
}

/// One run of a kernel.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: KernelId,
    /// The first arguments.
    pub(crate) params: Vec<u64>,
    /// The base pointers that follow: a buffer and a distance in bytes.
    pub(crate) bases: Vec<(usize, i64)>,
    /// Steps of the parallel axis.
    pub(crate) extent: i64,
    /// Steps that one thread does at once; `extent` if the calling thread does all.
    pub(crate) chunk: i64,
    pub(crate) scratch_bytes: usize,
}

/// The binding of arrays of these geometries and destinations.
pub(crate) fn bind(
    inner: &Inner,
    inputs: &[Option<&Geometry>],
    given: &Given,
    destinations: &[Destination<'_>],
) -> Result<Arc<Binding>, BindError> {
    let threads = inner.options.threads.count();
    let key = key(inputs, given, destinations, threads);
    if let Some(binding) = inner.last_binding().filter(|binding| binding.key == key) {
        return Ok(binding);
    }
    let values = inner.program.run(&inner.graph, inputs, given)?;
    let stretched = inner.program.stretched(&inner.graph, inputs, &values)?;
    let mut plans = plan_outputs(inner, inputs, destinations, &values)?;
    let mut destinations: SmallVec<[Destination<'_>; 4]> = SmallVec::from_slice(destinations);
    let inputs: SmallVec<[Option<&Geometry>; 4]> =
        stretched.iter().zip(inputs).map(|(stretched, input)| stretched.as_ref().or(*input)).collect();
    let variant = choose_variant(inner, &inputs, &mut destinations, &values)?;
    let schedule = &variant.schedule;
    let dense: Vec<Geometry> = (inner.graph.outputs().iter().zip(&plans))
        .map(|(output, plan)| Geometry::dense(inner.graph.dtype(output.expr), &plan.shape))
        .collect();
    let geometry = |role: kernel::Role| match role {
        kernel::Role::Input(input) => inputs[input.index()],
        kernel::Role::Output(output) => destinations[output].written().or(dense.get(output)),
        kernel::Role::Temporary => None,
    };
    let host = |host: &HostSymbol| match host {
        HostSymbol::Stride { buffer, axis } => {
            geometry(schedule.buffers[buffer.index()].role).map(|geometry| geometry.axes[*axis].stride)
        }
        HostSymbol::GroupCount(_) | HostSymbol::GroupLength(_) => None,
    };
    let mut values = values;
    values.resize(schedule.symbols.len(), None);
    values.extend(schedule.host_symbols.iter().map(host));
    let single = |extent: i64, unit: i64| extent.max(unit);
    bind_groups(schedule, &mut values, single)?;
    let work: f64 =
        schedule.kernels.iter().map(|kernel| total_work(kernel, &values)).sum::<Result<f64, DimError>>()?;
    let threshold = inner.options.parallel_threshold as f64;
    if threads > 1 && work >= threshold && !schedule.groups.is_empty() {
        bind_groups(schedule, &mut values, |extent, unit| group_length(extent, unit, threads))?;
    }
    let launches = schedule.kernels.iter().enumerate().map(|(index, kernel)| {
        let work = total_work(kernel, &values)?;
        let threads = if work >= threshold { threads } else { 1 };
        plan_launch(schedule, KernelId::new(index), kernel, &values, threads, work)
    });
    let launches = launches.collect::<Result<Vec<Launch>, DimError>>()?;
    let (temporaries, mut arena_bytes) = place_temporaries(schedule, &values)?;
    for ((plan, destination), output) in plans.iter_mut().zip(&destinations).zip(inner.graph.outputs()) {
        if let Destination::Aside(_) = destination {
            let dtype = inner.graph.dtype(output.expr);
            plan.aside = Some(arena_bytes);
            let end = arena_bytes.checked_add(plan.count * dtype.size());
            let end = end.and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
            let too_large = BindError::TooLarge { elements: plan.count as i64, dtype };
            arena_bytes = end.filter(|end| fits_isize(*end)).ok_or(too_large)?;
        }
    }
    let binding = Arc::new(Binding {
        key,
        variant: variant.clone(),
        values,
        outputs: plans,
        launches,
        temporaries,
        arena_bytes,
    });
    inner.keep_binding(&binding);
    Ok(binding)
}

fn key(inputs: &[Option<&Geometry>], given: &Given, destinations: &[Destination<'_>], threads: usize) -> Key {
    let mut key: Key = SmallVec::new();
    key.push(threads as i64);
    key.push(given.len() as i64);
    key.extend(given.iter().flat_map(|(symbol, value)| [symbol.index() as i64, *value]));
    let mut push = |geometry: &Geometry| {
        for AxisLayout { size, stride } in &geometry.axes {
            key.extend([*size, *stride]);
        }
    };
    // Ranks and dtypes have been checked, so that the flat list is unambiguous once it says which arrays are there.
    inputs.iter().flatten().for_each(|geometry| push(geometry));
    destinations.iter().filter_map(|destination| destination.array()).for_each(push);
    key.extend(inputs.iter().map(|input| i64::from(input.is_some())));
    key.extend(destinations.iter().map(|destination| match destination {
        Destination::Own => 0,
        Destination::Array(_) => 1,
        Destination::InPlace(_) => 2,
        Destination::Aside(_) => 3,
    }));
    key
}

/// Sizes of the outputs; if there are arrays for them, they must have these.
fn plan_outputs(
    inner: &Inner,
    inputs: &[Option<&Geometry>],
    destinations: &[Destination<'_>],
    values: &Values,
) -> Result<Vec<OutputPlan>, BindError> {
    let mut plans = Vec::with_capacity(inner.graph.outputs().len());
    for (position, output) in inner.graph.outputs().iter().enumerate() {
        let (shape, dtype) = (inner.graph.shape(output.expr), inner.graph.dtype(output.expr));
        let elements = count(shape, values)?;
        let plan = OutputPlan {
            name: (*output.name).into(),
            dtype,
            shape: shape.iter().map(|dim| size(dim, values)).collect::<Result<_, _>>()?,
            count: addressable(elements, dtype)?,
            aside: None,
        };
        if let Some(geometry) = destinations[position].array() {
            check_output(inner, inputs, values, output, geometry, &plan)?;
        }
        plans.push(plan);
    }
    Ok(plans)
}

fn size(dim: &Dim, values: &Values) -> Result<usize, DimError> {
    usize::try_from(evaluate(dim, values)?).map_err(|_| DimError::Overflow)
}

/// The number of elements, if their bytes can be addressed.
fn addressable(elements: i64, dtype: DType) -> Result<usize, BindError> {
    let count = usize::try_from(elements)
        .ok()
        .filter(|count| count.checked_mul(dtype.size()).is_some_and(fits_isize));
    count.ok_or(BindError::TooLarge { elements, dtype })
}

fn fits_isize(bytes: usize) -> bool {
    isize::try_from(bytes).is_ok()
}

/// Whether an array for an output has its dtype and rank. That is checked at every call, before a binding of the same
/// sizes and strides is looked up.
pub(crate) fn check_output_type(
    graph: &CheckedGraph,
    output: &OutputInfo,
    geometry: &Geometry,
) -> Result<(), BindError> {
    let array = || ArrayName { role: Role::Output, name: output.name.to_string() };
    let expected = graph.dtype(output.expr);
    if geometry.dtype != expected {
        return Err(BindError::DType { array: array(), expected, found: geometry.dtype });
    }
    let shape = graph.shape(output.expr);
    if geometry.axes.len() != shape.rank() {
        let (declared, found) = (SymbolNames(graph).shape(shape), geometry.shape());
        return Err(BindError::Rank { array: array(), rank: shape.rank(), declared, found });
    }
    Ok(())
}

/// Whether an array for an output, of its dtype and rank, has its sizes.
fn check_output(
    inner: &Inner,
    inputs: &[Option<&Geometry>],
    values: &Values,
    output: &OutputInfo,
    geometry: &Geometry,
    plan: &OutputPlan,
) -> Result<(), BindError> {
    let array = || ArrayName { role: Role::Output, name: output.name.to_string() };
    let (graph, shape) = (&inner.graph, inner.graph.shape(output.expr));
    let found = geometry.shape();
    match (0..found.len()).find(|axis| found[*axis] != plan.shape[*axis]) {
        None => Ok(()),
        Some(axis) => Err(BindError::Size(Box::new(SizeMismatch {
            array: array(),
            axis,
            declared: SymbolNames(graph).dim(&shape[axis]),
            expected: Some(plan.shape[axis] as i64),
            stated: None,
            or_one: false,
            found: found[axis] as i64,
            shape: found,
            declared_shape: SymbolNames(graph).shape(shape),
            site: graph.site(output.expr),
            solved: inner.program.solved(graph, inputs, values, inner.program.len()),
            needed_by: None,
            called: None,
        }))),
    }
}

/// The machine code for the layouts. Outputs that it may not write in place are set aside.
fn choose_variant(
    inner: &Inner,
    inputs: &[Option<&Geometry>],
    destinations: &mut [Destination<'_>],
    values: &Values,
) -> Result<Arc<Variant>, BindError> {
    loop {
        let variant = facts::variant(inner, inputs, destinations, values)?;
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

/// Binds the number and length of groups to what `length(extent, unit)` chooses.
fn bind_groups(
    schedule: &Schedule,
    values: &mut Values,
    length: impl Fn(i64, i64) -> i64,
) -> Result<(), DimError> {
    for group in &schedule.groups {
        let extent = evaluate(&group.extent, values)?;
        let length = length(extent, group.unit as i64);
        values[group.length.index()] = Some(length);
        values[group.count.index()] = Some(extent.div_ceil_by(length).max(1));
    }
    Ok(())
}

trait DivCeil {
    fn div_ceil_by(self, divisor: i64) -> i64;
}

impl DivCeil for i64 {
    /// `ceil(self / divisor)` for sizes and positive divisors.
    fn div_ceil_by(self, divisor: i64) -> i64 {
        self / divisor + i64::from(self % divisor != 0)
    }
}

/// The least `unit * 2^k` that gives about four groups per thread.
fn group_length(extent: i64, unit: i64, threads: usize) -> i64 {
    let groups = 4 * threads as i64;
    let mut length = unit.max(1);
    while extent.div_ceil_by(length) > groups {
        length = length.saturating_mul(2);
    }
    length
}

/// Steps of the parallel axis.
fn extent(kernel: &Kernel, values: &Values) -> Result<i64, DimError> {
    let Some(axis) = kernel.parallel else { return Ok(1) };
    match kernel.axes[axis.index()].extent {
        Extent::Constant(extent) => Ok(extent),
        Extent::Param(param) => evaluate(&kernel.params[param.index()], values),
    }
}

/// Work of a kernel, in bytes of traffic or what takes as long: vector code does an operation on `f32` in the time of
/// about four bytes from the cache.
///
/// The estimate leaves zeros out of account, so that it may be more than fits where the arrays are empty: then it is
/// simply large.
fn total_work(kernel: &Kernel, values: &Values) -> Result<f64, DimError> {
    let estimate = |dim: &Dim| evaluate(dim, values).map_or(f64::MAX, |value| value as f64);
    let time = |work: &Work| estimate(&work.bytes).max(4.0 * estimate(&work.operations));
    Ok(time(&kernel.cost.step) * extent(kernel, values)? as f64 + time(&kernel.cost.outside))
}

fn plan_launch(
    schedule: &Schedule,
    id: KernelId,
    kernel: &Kernel,
    values: &Values,
    threads: usize,
    work: f64,
) -> Result<Launch, DimError> {
    /// Work of a chunk, so that handing it to a thread costs little beside it.
    const CHUNK_WORK: f64 = (512 << 10) as f64;
    /// Steps at which chunks are cut if they are four times as long, so that vector loops have few remainders and
    /// no thread loses much of its share.
    const ALIGNMENTS: [i64; 2] = [64, 16];
    /// Fewest columns that a thread takes. Threads with a few columns each would read the same cache lines: over 16
    /// columns, two threads took twice the time of one.
    const COLUMNS: i64 = 64;
    let params = kernel.params.iter().map(|dim| Ok(evaluate(dim, values)?.cast_unsigned()));
    let mut bases = Vec::new();
    for access in &kernel.accesses {
        if let Some(buffer) = access.buffer {
            let size = schedule.buffers[buffer.index()].dtype.size() as i64;
            let offset = evaluate(&access.offset, values)?.checked_mul(size).ok_or(DimError::Overflow)?;
            bases.push((buffer.index(), offset));
        }
    }
    let extent = extent(kernel, values)?;
    let by_columns = is_by_columns(kernel);
    // Of columns every chunk walks over all rows: as few chunks as there are threads, each as wide as can be.
    let most = if by_columns { threads as i64 } else { 4 * threads as i64 };
    let chunks = if threads > 1 { ((work / CHUNK_WORK) as i64).clamp(threads as i64, most) } else { 1 };
    let chunk = extent.div_ceil_by(chunks).max(if by_columns { COLUMNS } else { 1 });
    let alignment = ALIGNMENTS.into_iter().find(|alignment| chunk >= 4 * alignment).unwrap_or(1);
    Ok(Launch {
        kernel: id,
        params: params.collect::<Result<_, DimError>>()?,
        bases,
        extent,
        chunk: chunk.div_ceil_by(alignment).saturating_mul(alignment),
        scratch_bytes: kernel.scratch_bytes(),
    })
}

/// Whether steps are columns that are streamed row by row.
fn is_by_columns(kernel: &Kernel) -> bool {
    let streams = |body: &[Stmt]| body.iter().any(|stmt| matches!(stmt, Stmt::Stream(_)));
    kernel.body.iter().any(|stmt| match stmt {
        Stmt::Strip { axis, body, .. } => Some(*axis) == kernel.parallel && streams(body),
        _ => false,
    })
}

/// Arrays begin at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// Where temporaries lie in one arena: those that are not alive at the same time may share bytes.
fn place_temporaries(schedule: &Schedule, values: &Values) -> Result<(Vec<usize>, usize), BindError> {
    struct Placed {
        first: usize,
        last: usize,
        start: usize,
        end: usize,
    }
    let mut placed: Vec<Placed> = Vec::new();
    let mut starts = vec![0; schedule.buffers.len()];
    let mut arena_bytes = 0;
    for (index, buffer) in schedule.buffers.iter().enumerate() {
        if buffer.role != kernel::Role::Temporary {
            continue;
        }
        let uses = |kernel: &Kernel| {
            kernel.accesses.iter().any(|access| access.buffer.is_some_and(|buffer| buffer.index() == index))
        };
        let Some(first) = schedule.kernels.iter().position(uses) else { continue };
        let last = schedule.kernels.iter().rposition(uses).unwrap_or(first);
        let elements = count(&buffer.shape, values)?;
        let bytes = addressable(elements, buffer.dtype)? * buffer.dtype.size();
        let too_large = || BindError::TooLarge { elements, dtype: buffer.dtype };
        let mut start = 0usize;
        // The lowest gap: `placed` is sorted by `start`.
        for other in placed.iter().filter(|other| other.first <= last && first <= other.last) {
            if start.checked_add(bytes).ok_or_else(too_large)? <= other.start {
                break;
            }
            start = start.max(other.end);
        }
        let end = start.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
        let end = end.filter(|end| fits_isize(*end)).ok_or_else(too_large)?;
        let position = placed.partition_point(|other| other.start <= start);
        placed.insert(position, Placed { first, last, start, end });
        starts[index] = start;
        arena_bytes = arena_bytes.max(end);
    }
    Ok((starts, arena_bytes))
}
