//! The stages of a graph with loops, with all numbers evaluated: a step of a loop binds nothing.

use super::arena::Arena;
use super::binding::{Base, Binding, BoundCode, BoundKernels, CopyBack, bind};
use super::destination::{Destination, Destinations};
use super::error::BindError;
use super::outputs::BoundOutput;
use super::sizes::{Given, Values, addressable, count, evaluate, size};
use super::threads::{Call, Division};
use crate::array::{AxisLayout, Geometry};
use crate::compiled::Inner;
use crate::limits::Work;
use crate::staged::{CompiledLoop, CompiledPart, CompiledStage, CompiledTimes, Staged};
use crate::thresholds::MIN_STEPS_IN_REGISTERS;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::StepValue;
use broadloom_ir::shape::Shape;
use broadloom_ir::stages::{Arrangement, Destination as Target, Rows, RowsView, Slot, Source};
use broadloom_ir::{ExprId, SymbolId};
use broadloom_loops::kernel::{Access, Stride};
use smallvec::SmallVec;
use std::sync::Arc;

/// A stage of a call.
#[derive(Debug)]
pub(crate) enum BoundStage {
    Part(Box<BoundPart>),
    Loop(Box<BoundLoop>),
}

/// A part of a graph, bound to arrays of the whole.
#[derive(Debug)]
pub(crate) struct BoundPart {
    pub(crate) inner: Arc<Inner>,
    pub(crate) binding: Binding,
    pub(crate) origins: Arc<[ExprId]>,
    pub(crate) inputs: Vec<Place>,
    /// The places of the outputs; those of assigned ones are not used.
    pub(crate) outputs: Vec<Place>,
    /// Where the memory of the part begins in that of the call.
    pub(crate) arena: usize,
}

/// The place of an array of a part.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// That of an array of the whole.
    Outer(Base),
    /// That of a value of the step.
    Step(StepValue),
    /// That of the carried value with this number after the step.
    Next(usize),
    /// That of a row of the stacked values with this number.
    Stacked(usize),
    /// That of the condition.
    Condition,
}

/// A loop of a call.
#[derive(Debug)]
pub(crate) struct BoundLoop {
    pub(crate) steps: BoundTimes,
    pub(crate) carried: Vec<BoundCarried>,
    /// More arrays for carried values of each kind: those of one dtype and shape.
    pub(crate) spare: Vec<(usize, usize)>,
    /// The number of kinds of carried values.
    pub(crate) kinds: usize,
    /// The arrays of rows.
    pub(crate) rows: Vec<BoundRows>,
    /// The arrays of stacked values.
    pub(crate) stacked: Vec<BoundRows>,
    /// Where the counter and the condition are in the memory of the call.
    pub(crate) counter: usize,
    pub(crate) condition: usize,
    /// `None` if there are no steps, whose indices may lie in tables without elements, or if they compute nothing.
    pub(crate) step: Option<BoundPart>,
    pub(crate) is_in_place: bool,
    /// If each element can take all steps before the next one begins.
    pub(crate) strips: Option<Strips>,
    /// The function that the user called.
    pub(crate) call: Box<str>,
}

/// How a loop whose elements do not meet is cut into strips of elements, each of which takes all steps at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strips {
    /// The elements of a strip, as steps of the parallel axis: they stay in a cache from step to step.
    pub(crate) length: i64,
    /// Whether a single call of a kernel takes many steps, between which what is carried stays in registers.
    pub(crate) in_registers: bool,
    /// The threads that may share the strips, and the number of steps from which on that is worth it.
    pub(crate) threads: usize,
    pub(crate) shared_from: i64,
}

/// An array of rows of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoundRows {
    pub(crate) base: Base,
    /// Where the first row begins, and the distance of a row from the next, in bytes.
    pub(crate) offset: isize,
    pub(crate) distance: isize,
}

/// A carried value of a call.
#[derive(Debug)]
pub(crate) struct BoundCarried {
    pub(crate) initial: Base,
    /// The layout of the initial value, if it is not dense.
    pub(crate) strided: Option<Geometry>,
    pub(crate) result: Base,
    pub(crate) bytes: usize,
    pub(crate) kind: usize,
    pub(crate) moved: Option<usize>,
}

/// How often a loop of a call steps.
#[derive(Debug)]
pub(crate) enum BoundTimes {
    Fixed(i64),
    Count(Base),
    While(Box<BoundPart>),
}

/// What a strip of elements reads and writes in a step should stay in a second-level cache.
const STRIP_BYTES: u64 = 128 << 10;
/// Strips are multiples of this many elements: whole vectors, whatever their width.
const LEAST_STRIP: u64 = 256;
/// The same where elements lie apart, as those of a column do: the next steps read what follows in each cache line, so that a strip
/// is as short as keeps all lines in a first-level cache. 4,096 tridiagonal systems of 512, each in a row, took less than half of the time.
const STRIP_BYTES_APART: u64 = 16 << 10;
const LEAST_STRIP_APART: u64 = 128;
/// Bytes of a cache line.
const LINE: u64 = 64;

/// Everything that the stages of a call share.
struct Binder<'b, 'g> {
    values: &'b Values,
    given: Given,
    division: Division,
    inputs: &'b [Option<&'g Geometry>],
    destinations: &'b [Destination<'g>],
    /// The layouts and the places of the slots.
    slots: Vec<(Geometry, Base)>,
    /// For each of them, the number of elements of its array before its first one: only loops that stack rows know of these.
    firsts: Vec<i64>,
    arena: Arena,
    /// The most bytes that a part needs.
    part_bytes: usize,
}

/// Binds the stages of a graph.
pub(super) fn bind_stages<'g>(
    staged: &Staged,
    inputs: &[Option<&'g Geometry>],
    destinations: &[Destination<'g>],
    outputs: Vec<BoundOutput>,
    values: Values,
    division: Division,
) -> Result<Binding, BindError> {
    let known = values.iter().enumerate();
    let given: Given = known.filter_map(|(symbol, value)| Some((SymbolId::new(symbol), (*value)?))).collect();
    let mut copies = Vec::new();
    let mut arena = Arena { bytes: 0 };
    let (mut slots, mut firsts) = (Vec::new(), Vec::new());
    for slot in &staged.slots {
        let elements = count(&slot.shape, &values)?;
        let (geometry, first) = of_slot(slot, &values)?;
        let base = match slot.output.map(|output| (output, destinations[output])) {
            _ if elements == 0 => Base::Nothing,
            Some((output, Destination::Own)) => Base::Output(output),
            Some((output, Destination::Array(array))) if array.is_dense() => Base::Output(output),
            destination => {
                let start = arena.add(addressable(elements, slot.dtype)?, slot.dtype)?;
                if let Some((output, destination)) = destination
                    && let Some(geometry) = destination.array()
                {
                    let (target, geometry) = (Base::Output(output), geometry.clone());
                    copies.push(CopyBack { start, target, geometry, starts_as_target: false });
                }
                Base::Arena(start)
            }
        };
        slots.push((geometry, base));
        firsts.push(first);
    }
    let mut binder = Binder {
        values: &values,
        given,
        division,
        inputs,
        destinations,
        slots,
        firsts,
        arena,
        part_bytes: 0,
    };
    let mut work = Work::default();
    let stages = staged.stages.iter().map(|stage| {
        Ok(match stage {
            CompiledStage::Part(part) => {
                let part = binder.part(part, None)?;
                work = added(work, part.binding.work, 1);
                BoundStage::Part(Box::new(part))
            }
            CompiledStage::Loop(compiled) => {
                let bound = binder.repeated(compiled)?;
                let times = match bound.steps {
                    BoundTimes::Fixed(times) => times.unsigned_abs(),
                    BoundTimes::Count(_) | BoundTimes::While(_) => u64::MAX,
                };
                let condition = match &bound.steps {
                    BoundTimes::While(condition) => Some(&**condition),
                    BoundTimes::Fixed(_) | BoundTimes::Count(_) => None,
                };
                // A step that only moves values takes time, too.
                work = added(work, Work { bytes: 0, operations: 1, total: 1 }, times);
                for part in bound.step.iter().chain(condition) {
                    work = added(work, part.binding.work, times);
                }
                BoundStage::Loop(Box::new(bound))
            }
        })
    });
    let mut stages = stages.collect::<Result<Vec<_>, BindError>>()?;
    let Binder { arena, part_bytes, .. } = binder;
    // Parts run one after the other, in the same memory.
    let start = arena.bytes;
    for stage in &mut stages {
        match stage {
            BoundStage::Part(part) => part.arena = start,
            BoundStage::Loop(bound) => {
                bound.step.iter_mut().for_each(|step| step.arena = start);
                if let BoundTimes::While(condition) = &mut bound.steps {
                    condition.arena = start;
                }
            }
        }
    }
    let arena_bytes = start.checked_add(part_bytes).filter(|bytes| isize::try_from(*bytes).is_ok());
    let arena_bytes = arena_bytes.ok_or(BindError::TooLarge { elements: i64::MAX, dtype: DType::U8 })?;
    Ok(Binding { values, outputs, code: BoundCode::Stages(stages), copies, arena_bytes, work })
}

/// Returns the layout of an array of this shape, dense in row-major order.
fn dense(dtype: DType, shape: &Shape, values: &Values) -> Result<Geometry, BindError> {
    let shape: SmallVec<[usize; 4]> = shape.iter().map(|dim| size(dim, values)).collect::<Result<_, _>>()?;
    Ok(Geometry::dense(dtype, &shape))
}

/// Returns the layout of a slot, and the number of elements of its array before its first one.
fn of_slot(slot: &Slot, values: &Values) -> Result<(Geometry, i64), BindError> {
    let Some(Arrangement { permutation, reversed }) = &slot.arrangement else {
        return Ok((dense(slot.dtype, &slot.shape, values)?, 0));
    };
    let shape: Shape = permutation.iter().map(|axis| slot.shape[*axis].clone()).collect();
    let output = dense(slot.dtype, &shape, values)?;
    let (mut axes, mut first) = (output.axes.clone(), 0_i64);
    for ((axis, of_output), reversed) in permutation.iter().zip(&output.axes).zip(reversed) {
        axes[*axis] = *of_output;
        if *reversed {
            first = first.wrapping_add((of_output.size - 1).wrapping_mul(of_output.stride));
            axes[*axis].stride = -of_output.stride;
        }
    }
    Ok((output.of_axes(&axes)?, first))
}

fn added(all: Work, more: Work, times: u64) -> Work {
    let sum = |all: u64, more: u64| all.saturating_add(more.saturating_mul(times));
    Work {
        bytes: sum(all.bytes, more.bytes),
        operations: sum(all.operations, more.operations),
        total: sum(all.total, more.total),
    }
}

impl Binder<'_, '_> {
    /// Returns the layout and the place of an array of the whole.
    fn source(&self, source: Source) -> Option<(Geometry, Base)> {
        match source {
            Source::Array(input) => {
                let geometry = self.inputs.get(input.index()).copied().flatten()?;
                let base = if geometry.count() == 0 { Base::Nothing } else { Base::Input(input.index()) };
                Some((geometry.clone(), base))
            }
            Source::Slot(slot) => self.slots.get(slot).cloned(),
            Source::Step(_) => None,
        }
    }

    /// Returns the layout and the place of an array of rows, and the number of elements before the first row.
    fn rows(&self, rows: &Rows) -> Result<Option<(Geometry, Base, i64)>, BindError> {
        let Some((mut geometry, base)) = self.source(rows.source) else { return Ok(None) };
        let mut offset = 0_i64;
        for view in &rows.views {
            let axes: Vec<AxisLayout> = match view {
                RowsView::Permute(permutation) => {
                    permutation.iter().map(|axis| geometry.axes[*axis]).collect()
                }
                RowsView::Stretch(sizes) => {
                    let own = geometry.axes.iter().rev().map(Some).chain(std::iter::repeat(None));
                    let mut axes = Vec::with_capacity(sizes.len());
                    for (size, own) in sizes.iter().rev().zip(own) {
                        let size = evaluate(size, self.values)?;
                        let stride = own.filter(|own| own.size == size).map_or(0, |own| own.stride);
                        axes.push(AxisLayout { size, stride });
                    }
                    axes.reverse();
                    axes
                }
                RowsView::Slice(parts) => {
                    let mut axes = Vec::with_capacity(parts.len());
                    for (axis, (part, length)) in geometry.axes.iter().zip(parts) {
                        let start = evaluate(&part.start, self.values)?;
                        offset = offset.wrapping_add(start.wrapping_mul(axis.stride));
                        let stride = axis.stride.wrapping_mul(part.step);
                        axes.push(AxisLayout { size: evaluate(length, self.values)?, stride });
                    }
                    axes
                }
            };
            geometry = geometry.of_axes(&axes)?;
        }
        Ok(Some((geometry, base, offset)))
    }

    /// Binds a part, or a part of a step.
    fn part(&mut self, part: &CompiledPart, of: Option<&CompiledLoop>) -> Result<BoundPart, BindError> {
        let graph = &part.inner.graph;
        let mut geometries: Vec<Option<Geometry>> = Vec::new();
        let mut inputs = Vec::new();
        for (source, info) in part.inputs.iter().zip(graph.inputs()) {
            let (geometry, place) = match (source, of) {
                (Source::Step(value @ StepValue::Row(row)), Some(of)) => {
                    let rows = of.rows.get(*row).map(|rows| self.rows(rows)).transpose()?.flatten();
                    let row = rows.map(|(rows, ..)| rows.of_axes(&rows.axes[1..]));
                    (row.transpose()?, Place::Step(*value))
                }
                (Source::Step(value), _) => {
                    (Some(dense(info.dtype, &info.shape, self.values)?), Place::Step(*value))
                }
                (source, _) => match self.source(*source) {
                    Some((geometry, base)) => (Some(geometry), Place::Outer(base)),
                    None => (None, Place::Outer(Base::Nothing)),
                },
            };
            geometries.push(geometry);
            inputs.push(place);
        }
        // The layouts of rows that are stacked.
        let stacked = of.map_or(&[][..], |of| &of.stacked).iter().map(|slot| {
            let geometry = &self.slots[*slot].0;
            geometry.of_axes(&geometry.axes[1..])
        });
        let stacked: Vec<Geometry> = stacked.collect::<Result<_, _>>()?;
        let mut outputs = Vec::new();
        let mut destinations = Destinations::new();
        for (target, output) in part.outputs.iter().zip(graph.outputs()) {
            let (place, destination) = match target {
                Target::Output(number) => (Place::Outer(Base::Output(*number)), self.destinations[*number]),
                Target::Slot(slot) => (Place::Outer(self.slots[*slot].1), Destination::Own),
                Target::Carried(number) => {
                    let input = output.assigned.and_then(|input| geometries[input.index()].as_ref());
                    (Place::Next(*number), input.map_or(Destination::Own, Destination::InPlace))
                }
                Target::Stacked(number) => {
                    let row = stacked.get(*number).filter(|row| !row.is_dense());
                    (Place::Stacked(*number), row.map_or(Destination::Own, Destination::Array))
                }
                Target::Condition => (Place::Condition, Destination::Own),
            };
            outputs.push(place);
            destinations.push(destination);
        }
        let inputs_of: Vec<Option<&Geometry>> = geometries.iter().map(Option::as_ref).collect();
        let binding = bind(&part.inner, &inputs_of, &self.given, destinations, self.division)?;
        self.part_bytes = self.part_bytes.max(binding.arena_bytes);
        let (inner, origins) = (part.inner.clone(), part.origins.clone());
        Ok(BoundPart { inner, binding, origins, inputs, outputs, arena: 0 })
    }

    fn repeated(&mut self, of: &CompiledLoop) -> Result<BoundLoop, BindError> {
        let steps = match &of.steps {
            CompiledTimes::Size(length) => BoundTimes::Fixed(evaluate(length, self.values)?),
            CompiledTimes::Count(source) => {
                BoundTimes::Count(self.source(*source).map_or(Base::Nothing, |(_, base)| base))
            }
            CompiledTimes::While(condition) => BoundTimes::While(Box::new(self.part(condition, Some(of))?)),
        };
        let step = match steps {
            BoundTimes::Fixed(..=0) => None,
            BoundTimes::Fixed(_) | BoundTimes::Count(_) | BoundTimes::While(_) => {
                of.step.as_ref().map(|step| self.part(step, Some(of))).transpose()?
            }
        };
        let mut kinds: Vec<Geometry> = Vec::new();
        let mut carried = Vec::new();
        for value in &of.carried {
            let (geometry, result) = self.slots[value.result].clone();
            let kind = match kinds.iter().position(|known| *known == geometry) {
                Some(kind) => kind,
                None => {
                    kinds.push(geometry.clone());
                    kinds.len() - 1
                }
            };
            let (initial, base) = self.source(value.initial).unwrap_or((geometry.clone(), Base::Nothing));
            let strided = (!initial.is_dense()).then_some(initial);
            let bytes = geometry.count() * geometry.dtype.size();
            carried.push(BoundCarried { initial: base, strided, result, bytes, kind, moved: value.moved });
        }
        let mut spare = Vec::new();
        for (kind, geometry) in kinds.iter().enumerate().filter(|_| !of.is_in_place) {
            let computed = of.carried.iter().zip(&carried);
            let computed =
                computed.filter(|(value, bound)| bound.kind == kind && value.moved.is_none()).count();
            for _ in 0..computed.max(1) {
                spare.push((kind, self.arena.add(geometry.count(), geometry.dtype)?));
            }
        }
        let mut rows = Vec::new();
        for of in &of.rows {
            rows.push(match self.rows(of)? {
                Some((geometry, base, first)) => bound_rows(&geometry, base, first),
                None => BoundRows { base: Base::Nothing, offset: 0, distance: 0 },
            });
        }
        let stacked = of.stacked.iter().map(|slot| {
            let (geometry, base) = &self.slots[*slot];
            bound_rows(geometry, *base, self.firsts[*slot])
        });
        let stacked = stacked.collect();
        let counter = self.arena.add(1, DType::I64)?;
        let condition = self.arena.add(1, DType::Bool)?;
        let (is_counted, has_many) = match steps {
            BoundTimes::Fixed(steps) => (true, steps >= MIN_STEPS_IN_REGISTERS),
            BoundTimes::Count(_) => (true, true),
            BoundTimes::While(_) => (false, false),
        };
        let in_place = of.step.as_ref().zip(step.as_ref()).filter(|_| of.is_in_place && is_counted);
        let strips = in_place.map(|(of, step)| strips(of, step, has_many, self.division));
        let strips = strips.transpose()?.flatten();
        let (kinds, is_in_place, call) = (kinds.len(), of.is_in_place, of.call.clone());
        Ok(BoundLoop {
            steps,
            carried,
            spare,
            kinds,
            rows,
            stacked,
            counter,
            condition,
            step,
            is_in_place,
            strips,
            call,
        })
    }
}

/// Returns where the rows of an array are, with the number of elements before the first row.
fn bound_rows(geometry: &Geometry, base: Base, first: i64) -> BoundRows {
    // Distances were checked as bytes of an array, so they fit.
    let stride = geometry.axes.first().map_or(0, |axis| axis.stride);
    let bytes = |elements: i64| (elements as isize).wrapping_mul(geometry.dtype.size() as isize);
    BoundRows { base, offset: bytes(first), distance: bytes(stride) }
}

/// Returns how the steps of a loop, which may have many, are cut into strips of elements, if one kernel makes a step and changes what
/// the loop carries in place: whatever a step of its parallel axis reads and changes belongs to no other step of that axis, or does
/// not change, or threads could not share the kernel.
fn strips(
    of: &CompiledPart,
    step: &BoundPart,
    has_many: bool,
    division: Division,
) -> Result<Option<Strips>, BindError> {
    let BoundCode::Kernels(kernels) = &step.binding.code else { return Ok(None) };
    let [launch] = &kernels.launches[..] else { return Ok(None) };
    let [call] = &launch.calls[..] else { return Ok(None) };
    let is_alone = call.held.is_empty() && call.steps == 1 && step.binding.copies.is_empty();
    let has_temporaries = call.bases.iter().any(|base| matches!(base, Base::Arena(_)));
    if !is_alone || has_temporaries || kernels.variant.last_failing.is_some() || launch.extent < 1 {
        return Ok(None);
    }
    let work = step.binding.work;
    let of_step = (work.bytes / launch.extent.unsigned_abs()).max(1);
    let lines = lines_apart(kernels, call);
    let (bytes, least) = match lines {
        0 => (STRIP_BYTES, LEAST_STRIP),
        _ => (STRIP_BYTES_APART, LEAST_STRIP_APART),
    };
    let length = (bytes / (of_step + LINE * lines)).max(least).next_multiple_of(least);
    let most = launch.extent.unsigned_abs().div_ceil(division.threads as u64).next_multiple_of(LEAST_STRIP);
    let is_long = launch.extent.unsigned_abs() >= 2 * LEAST_STRIP;
    let threads = if is_long { division.threads } else { 1 };
    let length = if threads > 1 { length.min(most) } else { length };
    let shared_from = (division.threshold as u64).div_ceil(work.total.max(1));
    // Arrays that are contiguous along a strip are read in order, row by row: that takes less time than a few elements of each row.
    let reads_in_order = lines == 0 && launch.extent.unsigned_abs() >= LEAST_STRIP && of.has_rows();
    let has_steps = || of.has_steps(&kernels.variant).map_err(|error| BindError::Compile(Arc::new(error)));
    let in_registers = has_many && !reads_in_order && has_steps()?;
    Ok(Some(Strips {
        length: i64::try_from(length).unwrap_or(i64::MAX),
        in_registers,
        threads,
        shared_from: i64::try_from(shared_from).unwrap_or(i64::MAX),
    }))
}

/// Returns how many cache lines a step of the parallel axis of a kernel reads and writes of which it uses one element each.
fn lines_apart(kernels: &BoundKernels, call: &Call) -> u64 {
    let kernel = &kernels.variant.schedule.kernels[call.kernel.index()];
    let is_apart = |access: &&Access| match access.strides[..] {
        [(axis, stride)] => {
            let is_along = matches!(stride, Stride::Constant(-1..=1));
            access.buffer.is_some() && kernel.parallel == Some(axis) && !is_along
        }
        _ => false,
    };
    kernel.accesses.iter().filter(is_apart).count() as u64
}
