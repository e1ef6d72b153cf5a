//! Chooses for how many rows at a time kernels of a band run together.

use super::sizes::{Values, count, evaluate};
use super::threads::{DivCeil, Division, is_contracted, least_steps, time};
use crate::thresholds::{
    BAND_BYTES, CHUNK_ALIGNMENTS, CONTRACTED_BAND_BYTES, MAX_PACKED_ROWS, MAX_REPEATED_SHARE,
};
use broadloom_ir::dim::DimError;
use broadloom_ir::shape::Shape;
use broadloom_loops::MIN_BAND_BYTES;
use broadloom_loops::kernel::{AxisId, Band, Kernel, PACKED_STEPS, Schedule};
use std::ops::Range;

/// How the kernels of a band run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turns {
    /// The number of rows.
    pub(super) extent: i64,
    /// The number of rows for which a thread runs all kernels at once.
    pub(super) rows: i64,
    /// The most threads that do so at the same time.
    pub(super) threads: usize,
}

/// Decides how the bands of a schedule run, and binds the numbers of rows for which their arrays have room. Kernels of a band
/// without turns run one after the other for all rows.
pub(super) fn set_rows(
    schedule: &Schedule,
    values: &mut Values,
    division: Division,
) -> Result<Vec<Option<Turns>>, DimError> {
    let mut all = Vec::with_capacity(schedule.bands.len());
    for band in &schedule.bands {
        let turns = turns_of(schedule, band, values, division)?;
        values[band.rows.index()] = Some(match turns {
            Some(Turns { rows, threads, .. }) => rows * threads as i64,
            None => evaluate(&band.extent, values)?,
        });
        all.push(turns);
    }
    Ok(all)
}

fn turns_of(
    schedule: &Schedule,
    band: &Band,
    values: &Values,
    division: Division,
) -> Result<Option<Turns>, DimError> {
    let extent = evaluate(&band.extent, values)?;
    let mut bytes = 0i64;
    for held in &band.held {
        let buffer = &schedule.buffers[held.index()];
        let of_row: Shape = buffer.shape[1..].iter().cloned().collect();
        let elements = count(&of_row, values).unwrap_or(i64::MAX);
        bytes = bytes.saturating_add(elements.saturating_mul(buffer.dtype.size() as i64));
    }
    // Where small work is shared too, so are small arrays.
    let threshold = i64::try_from(division.threshold).unwrap_or(i64::MAX);
    if extent < 2 || bytes == 0 || extent.saturating_mul(bytes) < MIN_BAND_BYTES.min(threshold) {
        return Ok(None);
    }
    let (mut work, mut repeated, mut least, mut packed) = (0.0, 0.0, 1, None);
    for (id, steps) in &band.kernels {
        let kernel = &schedule.kernels[id.index()];
        let steps = evaluate(steps, values)?.max(1);
        work += time(&kernel.cost.step, values) * steps as f64;
        repeated += time(&kernel.cost.outside, values);
        least = least.max(least_steps(kernel).div_ceil_by(steps));
        if is_contracted(kernel) {
            packed = packed.max(Some(packed_bytes(kernel, values)));
        }
    }
    let is_shared = division.threads > 1 && work * extent as f64 + repeated >= division.threshold as f64;
    let threads = if is_shared { division.threads as i64 } else { 1 };
    let mut rows = match packed {
        None => BAND_BYTES.min(threshold) / bytes,
        // Few rows pack the other operand too often; more of them need little more memory than a large operand itself.
        Some(packed) => {
            let budget = CONTRACTED_BAND_BYTES.min(threshold);
            (budget / bytes).max((packed.max(2 * budget) / bytes).min(MAX_PACKED_ROWS))
        }
    };
    // What is done again for each of these rows must not take most of their time.
    rows = rows.max((repeated / (work * MAX_REPEATED_SHARE)) as i64);
    rows = rows.max(least);
    // All threads end at the same time.
    let rounds = extent.div_ceil_by(threads.saturating_mul(rows));
    rows = extent.div_ceil_by(threads.saturating_mul(rounds)).max(least);
    let tiles = [PACKED_STEPS as i64];
    let alignments = if packed.is_some() { &tiles[..] } else { &CHUNK_ALIGNMENTS };
    let alignment = alignments.iter().copied().find(|alignment| rows >= 4 * alignment).unwrap_or(1);
    rows = rows.div_ceil_by(alignment).saturating_mul(alignment);
    let threads = threads.min(extent.div_ceil_by(rows));
    let turns = Turns { extent, rows, threads: threads as usize };
    Ok((rows.saturating_mul(threads) < extent).then_some(turns))
}

/// Returns the bytes of arrays of which a kernel reads the same elements in each step.
fn packed_bytes(kernel: &Kernel, values: &Values) -> i64 {
    let length =
        |axis: AxisId| evaluate(&kernel.size(kernel.axes[axis.index()].extent), values).unwrap_or(i64::MAX);
    let is_same = |axis: AxisId| Some(axis) != kernel.shared().last();
    let arrays = kernel.accesses.iter().filter(|access| access.buffer.is_some());
    let same = arrays.filter(|access| access.strides.iter().all(|(axis, _)| is_same(*axis)));
    let bytes = same.map(|access| {
        let moved = access.strides.iter().filter(|(axis, _)| !kernel.shares(*axis));
        let lengths = moved.map(|(axis, _)| length(*axis));
        lengths.fold(access.dtype.size() as i64, i64::saturating_mul)
    });
    bytes.fold(0, i64::saturating_add)
}

/// Returns the kernels that a launch of a kernel runs.
pub(super) fn launched_with(schedule: &Schedule, turns: &[Option<Turns>], kernel: usize) -> Range<usize> {
    let bands = schedule.bands.iter().zip(turns).filter(|(_, turns)| turns.is_some());
    let ranges = bands.filter_map(|(band, _)| {
        let first = band.kernels.first()?.0.index();
        Some(first..first + band.kernels.len())
    });
    let mut ranges = ranges.filter(|range| range.contains(&kernel));
    ranges.next().unwrap_or(kernel..kernel + 1)
}
