//! The assignment as one writes it in plain Rust, to compare with.

use crate::kmeans::Weights;
use std::time::{Duration, Instant};

/// Pixels between two looks at the clock.
const BLOCK: usize = 1 << 16;

/// Finds the nearest code of pixels from the first on, until `limit` has passed; returns how many were done.
pub fn assign(
    pixels: &[u8],
    weights: &Weights,
    codes: &[[f32; 3]],
    out: &mut [i64],
    limit: Duration,
) -> usize {
    let start = Instant::now();
    let (pixels, _) = pixels.as_chunks::<3>();
    let mut done = 0;
    for (pixels, out) in pixels.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        for (pixel, out) in pixels.iter().zip(&mut *out) {
            *out = nearest(std::array::from_fn(|c| weights.apply(pixel[c], c)), codes);
        }
        done += pixels.len();
        if start.elapsed() > limit {
            break;
        }
    }
    done
}

fn nearest(x: [f32; 3], codes: &[[f32; 3]]) -> i64 {
    let (mut best, mut nearest) = (f32::INFINITY, 0);
    for (index, code) in codes.iter().enumerate() {
        let mut distance = 0.0;
        for c in 0..3 {
            let difference = code[c] - x[c];
            distance += difference * difference;
        }
        if distance < best {
            (best, nearest) = (distance, index as i64);
        }
    }
    nearest
}
