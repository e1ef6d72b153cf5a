//! Divides work among threads: groups of reductions, and chunks of the parallel axis.

use super::bands::Turns;
use super::binding::Base;
use super::sizes::{Values, count, evaluate};
use crate::limits::Work as TotalWork;
use crate::thresholds::{
    CHUNK_ALIGNMENTS, MAX_CHUNKS_OF_THREAD, MIN_CHUNK_WORK, MIN_COLUMNS, PACKED_COLUMNS_OF_THREAD,
};
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::shape::Shape;
use broadloom_loops::kernel::{
    Band, Buffer, CONTRACTED_ROWS, Kernel, KernelId, PACKED_STEPS, Schedule, Stmt, Work,
};
use smallvec::{SmallVec, smallvec};

/// What a call is divided for. Calls that differ in it have bindings of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Division {
    /// The number of threads that can share work.
    pub(crate) threads: usize,
    /// The least work that threads share.
    pub(crate) threshold: usize,
    /// Whether the call can be stopped.
    pub(crate) stops: bool,
}

/// One launch of a kernel, or of kernels that run together.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The kernels, which run one after the other for each chunk.
    pub(crate) calls: SmallVec<[Call; 1]>,
    /// The number of steps of the parallel axis, or of rows.
    pub(crate) extent: i64,
    /// The number of steps that a thread takes at once.
    pub(crate) chunk: i64,
    /// The most threads that share the chunks; if it is one, the calling thread takes them all.
    pub(crate) threads: usize,
}

/// A kernel of a launch.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) kernel: KernelId,
    /// The params, followed by one distance in bytes for each of `bases`. Pointers that far from the bases replace
    /// the distances.
    pub(crate) arguments: Vec<u64>,
    pub(crate) bases: Vec<Base>,
    /// The number of steps of its parallel axis for a step of the launch.
    pub(crate) steps: i64,
    /// The pointers to arrays that have room for one chunk of each thread: which argument, and the bytes per step of the
    /// launch.
    pub(crate) held: Vec<(usize, i64)>,
    pub(crate) scratch_bytes: usize,
}

/// Binds groups for a division: few groups if there is little work.
pub(super) fn set_groups(
    schedule: &Schedule,
    values: &mut Values,
    division: Division,
) -> Result<(), DimError> {
    bind_groups(schedule, values, i64::max)?;
    if schedule.groups.is_empty() {
        return Ok(());
    }
    let mut work = 0.0;
    for kernel in &schedule.kernels {
        work += total_work(kernel, values)?;
    }
    if division.threads > 1 && work >= division.threshold as f64 {
        let most = MAX_CHUNKS_OF_THREAD * division.threads as i64;
        bind_groups(schedule, values, |extent, unit| group_length(extent, unit, most))?;
    }
    Ok(())
}

/// Returns the launches of the kernels for a division. `buffers` holds the places of the schedule's buffers, and `turns` how
/// the schedule's bands run.
pub(super) fn launches_of(
    schedule: &Schedule,
    values: &Values,
    buffers: &[Base],
    turns: &[Option<Turns>],
    division: Division,
) -> Result<Vec<Launch>, DimError> {
    let mut launches = Vec::with_capacity(schedule.kernels.len());
    let mut bands =
        schedule.bands.iter().zip(turns).filter_map(|(band, turns)| Some((band, (*turns)?))).peekable();
    let mut next = 0;
    while next < schedule.kernels.len() {
        let id = KernelId::new(next);
        let begins = |(band, _): &(&Band, Turns)| band.kernels.first().is_some_and(|(first, _)| *first == id);
        let launch = match bands.next_if(begins) {
            Some((band, turns)) => together(schedule, band, turns, values, buffers)?,
            None => launch_of(schedule, id, values, buffers, division)?,
        };
        next += launch.calls.len();
        launches.push(launch);
    }
    Ok(launches)
}

/// Returns the launch of kernels that run together.
fn together(
    schedule: &Schedule,
    band: &Band,
    turns: Turns,
    values: &Values,
    buffers: &[Base],
) -> Result<Launch, DimError> {
    let mut calls = SmallVec::new();
    for (id, steps) in &band.kernels {
        let mut call = call_of(schedule, *id, values, buffers)?;
        call.steps = evaluate(steps, values)?;
        let params = call.arguments.len() - call.bases.len();
        let accesses = &schedule.kernels[id.index()].accesses;
        for (at, buffer) in accesses.iter().filter_map(|access| access.buffer).enumerate() {
            if band.held.contains(&buffer) {
                let Buffer { shape, dtype, .. } = &schedule.buffers[buffer.index()];
                let of_row: Shape = shape[1..].iter().cloned().collect();
                let bytes = count(&of_row, values)?.checked_mul(dtype.size() as i64);
                call.held.push((params + at, bytes.ok_or(DimError::Overflow)?));
            }
        }
        calls.push(call);
    }
    let Turns { extent, rows, threads } = turns;
    Ok(Launch { calls, extent, chunk: rows, threads })
}

/// Returns the estimated work of all kernels.
pub(super) fn work_of(schedule: &Schedule, values: &Values) -> Result<TotalWork, DimError> {
    let mut all = [0.0; 3];
    for kernel in &schedule.kernels {
        let steps = extent(kernel, values)? as f64;
        let [step, outside] = [&kernel.cost.step, &kernel.cost.outside];
        let sum =
            |part: fn(&Work) -> &Dim| estimate(part(step), values) * steps + estimate(part(outside), values);
        all[0] += sum(|work| &work.bytes);
        all[1] += sum(|work| &work.operations);
        all[2] += total_work(kernel, values)?;
    }
    // A float that does not fit becomes the greatest integer.
    let [bytes, operations, total] = all.map(|value| value as u64);
    Ok(TotalWork { bytes, operations, total })
}

/// Binds the number and length of groups to the result of `length(extent, unit)`.
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

pub(super) trait DivCeil {
    fn div_ceil_by(self, divisor: i64) -> i64;
}

impl DivCeil for i64 {
    /// Returns `ceil(self / divisor)` for sizes and positive divisors.
    fn div_ceil_by(self, divisor: i64) -> i64 {
        self / divisor + i64::from(self % divisor != 0)
    }
}

/// Returns the least `unit * 2^k` that gives at most `most` groups.
fn group_length(extent: i64, unit: i64, most: i64) -> i64 {
    let mut length = unit.max(1);
    while extent.div_ceil_by(length) > most {
        length = length.saturating_mul(2);
    }
    length
}

/// Returns the number of steps that threads share.
fn extent(kernel: &Kernel, values: &Values) -> Result<i64, DimError> {
    evaluate(&kernel.steps()?, values)
}

/// Returns the work of a kernel, in bytes of memory traffic or operations that take as long: vector code does one
/// operation on `f32` in the time of about four bytes from the cache.
///
/// The estimate ignores zeros, so for empty arrays it may exceed what fits; then it counts as large.
fn total_work(kernel: &Kernel, values: &Values) -> Result<f64, DimError> {
    Ok(time(&kernel.cost.step, values) * extent(kernel, values)? as f64 + time(&kernel.cost.outside, values))
}

/// Returns the time of work in the unit of [`total_work`].
pub(super) fn time(work: &Work, values: &Values) -> f64 {
    estimate(&work.bytes, values).max(4.0 * estimate(&work.operations, values))
}

/// Returns a part of an estimate, which counts as large if it does not fit.
fn estimate(dim: &Dim, values: &Values) -> f64 {
    evaluate(dim, values).map_or(f64::MAX, |value| value as f64)
}

/// Returns the call of a kernel for all of its steps.
fn call_of(schedule: &Schedule, id: KernelId, values: &Values, buffers: &[Base]) -> Result<Call, DimError> {
    let kernel = &schedule.kernels[id.index()];
    let params = kernel.params.iter().map(|dim| Ok(evaluate(dim, values)?.cast_unsigned()));
    let mut arguments = params.collect::<Result<Vec<u64>, DimError>>()?;
    let mut bases = Vec::new();
    for access in &kernel.accesses {
        if let Some(buffer) = access.buffer {
            let size = schedule.buffers[buffer.index()].dtype.size() as i64;
            let offset = evaluate(&access.offset, values)?.checked_mul(size).ok_or(DimError::Overflow)?;
            arguments.push(offset.cast_unsigned());
            bases.push(buffers[buffer.index()]);
        }
    }
    let scratch_bytes = kernel.scratch_bytes();
    Ok(Call { kernel: id, arguments, bases, steps: 1, held: Vec::new(), scratch_bytes })
}

fn launch_of(
    schedule: &Schedule,
    id: KernelId,
    values: &Values,
    buffers: &[Base],
    division: Division,
) -> Result<Launch, DimError> {
    let kernel = &schedule.kernels[id.index()];
    let work = total_work(kernel, values)?;
    let threads = if work >= division.threshold as f64 { division.threads } else { 1 };
    let extent = extent(kernel, values)?;
    let by_columns = is_by_columns(kernel);
    // Each chunk of columns walks over all rows, and each chunk of a contraction packs what its steps share: make
    // only as many chunks as there are threads, each as wide as possible.
    let is_contracted = is_contracted(kernel);
    let has_shared_strip = has_shared_strip(kernel);
    let most = if by_columns || is_contracted || has_shared_strip { 1 } else { MAX_CHUNKS_OF_THREAD }
        * threads as i64;
    let chunks = if threads > 1 { ((work / MIN_CHUNK_WORK) as i64).clamp(threads as i64, most) } else { 1 };
    let least = match () {
        () if by_columns => MIN_COLUMNS,
        // Each chunk packs all rows.
        () if has_shared_strip => PACKED_COLUMNS_OF_THREAD,
        () => 1,
    };
    let chunk = extent.div_ceil_by(chunks).max(least);
    let packed_rows = [PACKED_STEPS as i64];
    let alignments = if is_contracted { &packed_rows[..] } else { &CHUNK_ALIGNMENTS };
    let alignment = alignments.iter().copied().find(|alignment| chunk >= 4 * alignment).unwrap_or(1);
    Ok(Launch {
        calls: smallvec![call_of(schedule, id, values, buffers)?],
        extent,
        chunk: chunk.div_ceil_by(alignment).saturating_mul(alignment),
        threads,
    })
}

/// Returns the fewest steps of a kernel that take little longer than as many of all its steps.
pub(super) fn least_steps(kernel: &Kernel) -> i64 {
    match () {
        () if is_contracted(kernel) => CONTRACTED_ROWS as i64,
        () if is_by_columns(kernel) => MIN_COLUMNS,
        () => 1,
    }
}

/// Returns whether the steps belong to the row axis of a contraction.
pub(super) fn is_contracted(kernel: &Kernel) -> bool {
    kernel.statements().any(|stmt| matches!(stmt, Stmt::Contract(of) if kernel.shares(of.rows)))
}

/// Returns whether the steps belong to the strip axis of a contraction.
fn has_shared_strip(kernel: &Kernel) -> bool {
    kernel.statements().any(|stmt| matches!(stmt, Stmt::Contract(of) if kernel.shares(of.strip)))
}

/// Returns whether the steps are columns that are streamed row by row.
fn is_by_columns(kernel: &Kernel) -> bool {
    let is_shared = |stmt: &&Stmt| stmt.as_loop().is_some_and(|each| Some(each.axis) == kernel.parallel);
    let mut inside = kernel.body.iter().filter(is_shared).flat_map(Stmt::children).flatten();
    let is_best = |stmt: &Stmt| matches!(stmt, Stmt::BestRows(best) if Some(best.strip) == kernel.parallel);
    inside.any(|stmt| matches!(stmt, Stmt::Stream(_))) || kernel.statements().any(is_best)
}
