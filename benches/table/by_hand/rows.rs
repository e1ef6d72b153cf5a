//! Rows that are read several times while they stay in the cache.

use super::{Level, Width};
use broadloom_math::{CpuLevel, Function, tile_f32};

/// Softmax of rows of `m`, its exponentials by the tile of `broadloom-math`.
pub fn softmax(level: Level, m: usize, x: &[f32], out: &mut [f32]) {
    let cpu = CpuLevel::detect();
    for (out, row) in out.chunks_exact_mut(m).zip(x.chunks_exact(m)) {
        less_the_greatest(level, row, out);
        for block in out.chunks_mut(256) {
            let mut powers = [0.0; 256];
            tile_f32(Function::Exp, cpu, &mut powers, block, None);
            block.copy_from_slice(&powers[..block.len()]);
        }
        over_their_sum(level, out);
    }
}

at_every_level! {
    /// Elements less the greatest.
    fn less_the_greatest(row: &[f32], out: &mut [f32]) {
        let mut most = [f32::NEG_INFINITY; 32];
        let (chunks, rest) = row.as_chunks::<32>();
        for chunk in chunks {
            for lane in 0..32 {
                most[lane] = if chunk[lane] > most[lane] { chunk[lane] } else { most[lane] };
            }
        }
        let mut greatest = f32::NEG_INFINITY;
        for lane in most {
            greatest = greatest.max(lane);
        }
        for x in rest {
            greatest = greatest.max(*x);
        }
        for (out, x) in out.iter_mut().zip(row) {
            *out = x - greatest;
        }
    }

    /// Elements over their sum.
    fn over_their_sum(row: &mut [f32]) {
        let scale = 1.0 / sum(row);
        for x in row {
            *x *= scale;
        }
    }

    /// Rows of `m` less their means, over their standard deviations.
    fn layer_norm(m: usize, x: &[f32], out: &mut [f32]) {
        for (out, row) in out.chunks_exact_mut(m).zip(x.chunks_exact(m)) {
            let mean = sum(row) / m as f32;
            for (out, x) in out.iter_mut().zip(row) {
                *out = x - mean;
            }
            let scale = 1.0 / (sum_of_squares(out) / m as f32 + 1e-5).sqrt();
            for out in out {
                *out *= scale;
            }
        }
    }
}

/// By 32 accumulators.
#[inline(always)]
fn sum(row: &[f32]) -> f32 {
    let mut sums = [0.0f32; 32];
    let (chunks, rest) = row.as_chunks::<32>();
    for chunk in chunks {
        for lane in 0..32 {
            sums[lane] += chunk[lane];
        }
    }
    rest.iter().fold(folded(sums), |sum, x| sum + x)
}

/// By 32 accumulators.
#[inline(always)]
fn sum_of_squares(row: &[f32]) -> f32 {
    let mut sums = [0.0f32; 32];
    let (chunks, rest) = row.as_chunks::<32>();
    for chunk in chunks {
        for lane in 0..32 {
            sums[lane] += chunk[lane] * chunk[lane];
        }
    }
    rest.iter().fold(folded(sums), |sum, x| sum + x * x)
}

/// The sum of accumulators, half of which are added to the others until one is left.
#[inline(always)]
fn folded(mut sums: [f32; 32]) -> f32 {
    for half in [16, 8, 4, 2, 1] {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
    }
    sums[0]
}
