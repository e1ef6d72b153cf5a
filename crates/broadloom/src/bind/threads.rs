//! Divides work among threads: groups of reductions, and chunks of the parallel axis.

use super::binding::Base;
use super::sizes::{Values, evaluate};
use crate::thresholds::{CHUNK_ALIGNMENTS, MAX_CHUNKS_OF_THREAD, MIN_CHUNK_WORK, MIN_COLUMNS};
use broadloom_ir::dim::{Dim, DimError};
use broadloom_loops::kernel::{CONTRACTED_ROWS, Extent, Kernel, KernelId, Schedule, Stmt, Work};

/// One launch of a kernel.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: KernelId,
    /// The params, followed by one distance in bytes for each of `bases`. Pointers that far from the bases replace
    /// the distances.
    pub(crate) arguments: Vec<u64>,
    pub(crate) bases: Vec<Base>,
    /// The number of steps of the parallel axis.
    pub(crate) extent: i64,
    /// The number of steps that a thread takes at once; `extent` if the calling thread does everything.
    pub(crate) chunk: i64,
    pub(crate) scratch_bytes: usize,
}

/// Binds groups for a number of threads: few groups if there is little work.
pub(super) fn set_groups(
    schedule: &Schedule,
    values: &mut Values,
    threads: usize,
    threshold: usize,
) -> Result<(), DimError> {
    let single = |extent: i64, unit: i64| extent.max(unit);
    bind_groups(schedule, values, single)?;
    let work: f64 =
        schedule.kernels.iter().map(|kernel| total_work(kernel, values)).sum::<Result<f64, DimError>>()?;
    if threads > 1 && work >= threshold as f64 && !schedule.groups.is_empty() {
        bind_groups(schedule, values, |extent, unit| group_length(extent, unit, threads))?;
    }
    Ok(())
}

/// Returns the launches of the kernels for a number of threads. `buffers` holds the places of the schedule's buffers.
pub(super) fn launches_of(
    schedule: &Schedule,
    values: &Values,
    buffers: &[Base],
    threads: usize,
    threshold: usize,
) -> Result<Vec<Launch>, DimError> {
    let launches = schedule.kernels.iter().enumerate().map(|(index, kernel)| {
        let work = total_work(kernel, values)?;
        let threads = if work >= threshold as f64 { threads } else { 1 };
        launch_of(schedule, KernelId::new(index), kernel, values, buffers, threads, work)
    });
    launches.collect()
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

trait DivCeil {
    fn div_ceil_by(self, divisor: i64) -> i64;
}

impl DivCeil for i64 {
    /// Returns `ceil(self / divisor)` for sizes and positive divisors.
    fn div_ceil_by(self, divisor: i64) -> i64 {
        self / divisor + i64::from(self % divisor != 0)
    }
}

/// Returns the least `unit * 2^k` that gives at most [`MAX_CHUNKS_OF_THREAD`] groups per thread.
fn group_length(extent: i64, unit: i64, threads: usize) -> i64 {
    let groups = MAX_CHUNKS_OF_THREAD * threads as i64;
    let mut length = unit.max(1);
    while extent.div_ceil_by(length) > groups {
        length = length.saturating_mul(2);
    }
    length
}

/// Returns the number of steps of the parallel axis.
fn extent(kernel: &Kernel, values: &Values) -> Result<i64, DimError> {
    let Some(axis) = kernel.parallel else { return Ok(1) };
    match kernel.axes[axis.index()].extent {
        Extent::Constant(extent) => Ok(extent),
        Extent::Param(param) => evaluate(&kernel.params[param.index()], values),
    }
}

/// Returns the work of a kernel, in bytes of memory traffic or operations that take as long: vector code does one
/// operation on `f32` in the time of about four bytes from the cache.
///
/// The estimate ignores zeros, so for empty arrays it may exceed what fits; then it counts as large.
fn total_work(kernel: &Kernel, values: &Values) -> Result<f64, DimError> {
    let estimate = |dim: &Dim| evaluate(dim, values).map_or(f64::MAX, |value| value as f64);
    let time = |work: &Work| estimate(&work.bytes).max(4.0 * estimate(&work.operations));
    Ok(time(&kernel.cost.step) * extent(kernel, values)? as f64 + time(&kernel.cost.outside))
}

fn launch_of(
    schedule: &Schedule,
    id: KernelId,
    kernel: &Kernel,
    values: &Values,
    buffers: &[Base],
    threads: usize,
    work: f64,
) -> Result<Launch, DimError> {
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
    let extent = extent(kernel, values)?;
    let by_columns = is_by_columns(kernel);
    // Each chunk of columns walks over all rows, and each chunk of a contraction packs what its steps share: make
    // only as many chunks as there are threads, each as wide as possible.
    let is_contracted = is_contracted(kernel);
    let most = if by_columns || is_contracted { 1 } else { MAX_CHUNKS_OF_THREAD } * threads as i64;
    let chunks = if threads > 1 { ((work / MIN_CHUNK_WORK) as i64).clamp(threads as i64, most) } else { 1 };
    let chunk = extent.div_ceil_by(chunks).max(if by_columns { MIN_COLUMNS } else { 1 });
    let whole_rows = [CONTRACTED_ROWS as i64];
    let alignments = if is_contracted { &whole_rows[..] } else { &CHUNK_ALIGNMENTS };
    let alignment = alignments.iter().copied().find(|alignment| chunk >= 4 * alignment).unwrap_or(1);
    Ok(Launch {
        kernel: id,
        arguments,
        bases,
        extent,
        chunk: chunk.div_ceil_by(alignment).saturating_mul(alignment),
        scratch_bytes: kernel.scratch_bytes(),
    })
}

/// Returns whether the steps belong to the row axis of a contraction.
fn is_contracted(kernel: &Kernel) -> bool {
    let is_shared =
        |stmt: &Stmt| matches!(stmt, Stmt::Contract(contract) if Some(contract.rows) == kernel.parallel);
    kernel.statements().any(is_shared)
}

/// Returns whether the steps are columns that are streamed row by row.
fn is_by_columns(kernel: &Kernel) -> bool {
    let is_shared = |stmt: &&Stmt| stmt.as_loop().is_some_and(|each| Some(each.axis) == kernel.parallel);
    let mut inside = kernel.body.iter().filter(is_shared).flat_map(Stmt::children).flatten();
    let is_best = |stmt: &Stmt| matches!(stmt, Stmt::BestRows(best) if Some(best.strip) == kernel.parallel);
    inside.any(|stmt| matches!(stmt, Stmt::Stream(_))) || kernel.statements().any(is_best)
}
