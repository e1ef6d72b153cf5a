//! A call with all numbers evaluated: kernel arguments, ranges, and the places of temporaries.

use super::arena::place_temporaries;
use super::bands::{launched_with, set_rows};
use super::destination::{Destination, Destinations};
use super::error::BindError;
use super::facts::{ShortSizes, SmallResults, choose_variant};
use super::outputs::{BoundOutput, bind_outputs};
use super::phases::bind_phases;
use super::sizes::{Given, Values, evaluate};
use super::stages::{BoundStage, bind_stages};
use super::threads::{Division, Launch, launches_of, set_groups, work_of};
use crate::array::Geometry;
use crate::compiled::{Code, Inner, Kernels};
use crate::limits::Work;
use crate::thresholds::STOPPED_WORK;
use crate::variant::{Variant, Variants};
use broadloom_ir::dim::DimError;
use broadloom_ir::graph::CheckedGraph;
use broadloom_loops::kernel::{Buffer, BufferId, HostSymbol, Role};
use smallvec::SmallVec;
use std::sync::Arc;

/// A call with all numbers evaluated.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) values: Values,
    /// The outputs, in the order of the graph.
    pub(crate) outputs: Vec<BoundOutput>,
    pub(crate) code: BoundCode,
    /// The copies to make after the kernels have run and no data has failed.
    pub(crate) copies: Vec<CopyBack>,
    /// The number of bytes of all temporaries alive at one time.
    pub(crate) arena_bytes: usize,
    pub(crate) work: Work,
}

/// What a call runs.
#[derive(Debug)]
pub(crate) enum BoundCode {
    Kernels(BoundKernels),
    Stages(Vec<BoundStage>),
    /// Parts that are bound while the call runs.
    Phases,
}

/// The kernels of a call.
#[derive(Debug)]
pub(crate) struct BoundKernels {
    pub(crate) variant: Arc<Variant>,
    /// Whether the run can be stopped within a kernel.
    pub(crate) stops: bool,
    pub(crate) launches: Vec<Launch>,
    /// The launches after which no data can fail. Only later ones write arrays of the caller that must keep their elements if
    /// data fail.
    pub(crate) failing: usize,
}

/// An output that is computed in the memory of the call, and the array it is copied to.
#[derive(Debug)]
pub(crate) struct CopyBack {
    pub(crate) start: usize,
    pub(crate) target: Base,
    pub(crate) geometry: Geometry,
    /// Whether the array's elements are there before the kernels run, which write only some of them.
    pub(crate) starts_as_target: bool,
}

impl CopyBack {
    /// Returns the bytes that its copies load and store.
    fn bytes(&self) -> u64 {
        let Geometry { dtype, .. } = self.geometry;
        let once = (self.geometry.count() as u64).saturating_mul(2 * dtype.size() as u64);
        if self.starts_as_target { once.saturating_mul(2) } else { once }
    }
}

/// The place of an array that kernels read or write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base {
    Input(usize),
    Output(usize),
    /// A position in the memory of the call.
    Arena(usize),
    /// That of an array without elements.
    Nothing,
}

/// Everything except the arrays that a binding is made from.
pub(super) struct Request<'a> {
    pub(super) graph: &'a CheckedGraph,
    pub(super) short: &'a ShortSizes,
    pub(super) small: &'a SmallResults,
    pub(super) variants: &'a Variants,
    pub(super) division: Division,
}

/// Binds arrays to a compiled graph.
pub(crate) fn bind(
    inner: &Inner,
    inputs: &[Option<&Geometry>],
    given: &Given,
    destinations: Destinations<'_>,
    division: Division,
) -> Result<Binding, BindError> {
    let Inner { graph, rules, options, .. } = inner;
    let values = rules.run(graph, inputs, given)?;
    if let Code::Phases(phased) = &inner.code {
        return bind_phases(phased, inner, values);
    }
    let stretched = rules.stretched(graph, inputs, &values)?;
    let outputs = bind_outputs(inner, inputs, &destinations, &values)?;
    options.limits.check_outputs(&outputs[..graph.results().len()])?;
    let inputs: SmallVec<[Option<&Geometry>; 4]> =
        stretched.iter().zip(inputs).map(|(stretched, input)| stretched.as_ref().or(*input)).collect();
    let mut binding = match &inner.code {
        Code::Kernels(kernels) => {
            let Kernels { short, small, variants } = &**kernels;
            let request = Request { graph, short, small, variants, division };
            bind_kernels(&request, &inputs, destinations, outputs, values)?
        }
        Code::Stages(staged) => bind_stages(staged, &inputs, &destinations, outputs, values, division)?,
        Code::Phases(_) => return Err(BindError::Arithmetic(DimError::TooLarge)),
    };
    let copied = binding.copies.iter().map(CopyBack::bytes).fold(0, u64::saturating_add);
    binding.work.bytes = binding.work.bytes.saturating_add(copied);
    binding.work.total = binding.work.total.saturating_add(copied);
    options.limits.check_call(binding.arena_bytes, binding.work)?;
    Ok(binding)
}

fn bind_kernels(
    request: &Request<'_>,
    inputs: &[Option<&Geometry>],
    mut destinations: Destinations<'_>,
    outputs: Vec<BoundOutput>,
    mut values: Values,
) -> Result<Binding, BindError> {
    let Request { graph, division, .. } = *request;
    let variant = choose_variant(request, inputs, &mut destinations, &values)?;
    let schedule = &variant.schedule;
    let dense: Vec<Geometry> =
        outputs.iter().map(|output| Geometry::dense(output.dtype, &output.shape)).collect();
    let geometry = |role: Role| match role {
        Role::Input(input) => inputs[input.index()],
        Role::Output(output) => destinations[output].written().or(dense.get(output)),
        Role::Temporary => None,
    };
    let host = |host: &HostSymbol| match host {
        HostSymbol::Stride { buffer, axis } => {
            geometry(schedule.buffers[buffer.index()].role).map(|geometry| geometry.axes[*axis].stride)
        }
        HostSymbol::GroupCount(_)
        | HostSymbol::GroupLength(_)
        | HostSymbol::Rows(_)
        | HostSymbol::Steps
        | HostSymbol::StepsBefore => None,
    };
    values.resize(schedule.symbols.len(), None);
    values.extend(schedule.host_symbols.iter().map(host));
    set_groups(schedule, &mut values, division)?;
    let turns = set_rows(schedule, &mut values, division)?;
    let (temporaries, mut arena) =
        place_temporaries(schedule, &values, |kernel| launched_with(schedule, &turns, kernel))?;
    let target = |output: usize| match graph.outputs()[output].assigned {
        Some(input) => Base::Input(input.index()),
        None => Base::Output(output),
    };
    let mut copies = Vec::new();
    let mut places: SmallVec<[Base; 4]> = SmallVec::new();
    for (index, (output, destination)) in outputs.iter().zip(&destinations).enumerate() {
        places.push(match destination {
            Destination::Aside(geometry) => {
                let start = arena.add(output.count, output.dtype)?;
                let is_output = |buffer: &Buffer| buffer.role == Role::Output(index);
                let first = schedule
                    .buffers
                    .iter()
                    .position(is_output)
                    .map(|output| schedule.versions(BufferId::new(output))[0]);
                let is_input =
                    |first: BufferId| matches!(schedule.buffers[first.index()].role, Role::Input(_));
                let starts_as_target = first.is_some_and(is_input);
                let geometry = (*geometry).clone();
                copies.push(CopyBack { start, target: target(index), geometry, starts_as_target });
                Base::Arena(start)
            }
            Destination::Own | Destination::Array(_) | Destination::InPlace(_) => target(index),
        });
    }
    let base =
        |(buffer, (last, temporary)): (&Buffer, (BufferId, usize))| match schedule.buffers[last.index()].role
        {
            _ if buffer.shape.iter().any(|size| evaluate(size, &values) == Ok(0)) => Base::Nothing,
            Role::Input(input) => Base::Input(input.index()),
            Role::Output(output) => places[output],
            Role::Temporary => Base::Arena(temporary),
        };
    let memory = schedule.last_versions().into_iter().zip(temporaries);
    let buffers: Vec<Base> = schedule.buffers.iter().zip(memory).map(base).collect();
    let launches = launches_of(schedule, &values, &buffers, &turns, division)?;
    let can_fail =
        |launch: &Launch| launch.calls.iter().any(|call| Some(call.kernel) <= variant.last_failing);
    let failing = launches.iter().rposition(can_fail).map_or(0, |last| last + 1);
    let (arena_bytes, work) = (arena.bytes, work_of(schedule, &values)?);
    let stops = division.stops && work.total >= STOPPED_WORK;
    if stops {
        let made = request.variants.make_stoppable(&variant);
        made.map_err(|error| BindError::Compile(Arc::new(error)))?;
    }
    let code = BoundCode::Kernels(BoundKernels { variant: variant.clone(), stops, launches, failing });
    Ok(Binding { values, outputs, code, copies, arena_bytes, work })
}
