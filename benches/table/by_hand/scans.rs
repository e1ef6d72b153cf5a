//! Running sums.

use super::{Level, Width};

at_every_level! {
    /// Along rows of 1,024, four rows at a time, whose additions wait for each other only within a row; there are a
    /// multiple of four.
    fn running_rows(x: &[f32], out: &mut [f32]) {
        for (x, out) in x.chunks_exact(4 * 1024).zip(out.chunks_exact_mut(4 * 1024)) {
            let mut totals = [0.0; 4];
            for column in 0..1024 {
                for (row, total) in totals.iter_mut().enumerate() {
                    *total += x[row * 1024 + column];
                    out[row * 1024 + column] = *total;
                }
            }
        }
    }

    /// Along the columns of rows of 1,024.
    fn running_columns(x: &[f32], out: &mut [f32]) {
        let mut totals = [0.0; 1024];
        for (x, out) in x.chunks_exact(1024).zip(out.chunks_exact_mut(1024)) {
            for ((x, out), total) in x.iter().zip(out).zip(&mut totals) {
                *total += x;
                *out = *total;
            }
        }
    }

    /// Along everything.
    fn running_sum(x: &[f32], out: &mut [f32]) {
        let mut total = 0.0;
        for (x, out) in x.iter().zip(out) {
            total += x;
            *out = total;
        }
    }
}
