//! Sums, and what is made of them.

use super::{Level, Width};

at_every_level! {
    /// Sums of squares of rows of 1,024, by 64 accumulators.
    fn row_sums(x: &[f32], out: &mut [f32]) {
        for (out, row) in out.iter_mut().zip(x.chunks_exact(1024)) {
            *out = sum_of_squares(row);
        }
    }

    /// Sums of squares of columns of rows of 1,024, eight rows at a time; there are a multiple of eight.
    fn column_sums(x: &[f32], out: &mut [f32]) {
        out.fill(0.0);
        for rows in x.chunks_exact(8 * 1024) {
            for (column, out) in out.iter_mut().enumerate() {
                let mut sum = *out;
                for row in 0..8 {
                    let x = rows[row * 1024 + column];
                    sum += x * x;
                }
                *out = sum;
            }
        }
    }

    /// The sum of squares of everything.
    fn full_sum(x: &[f32], out: &mut [f32]) {
        out[0] = 0.0;
        for x in x.chunks(1 << 16) {
            out[0] += sum_of_squares(x);
        }
    }

    /// Columns less their means, over their standard deviations; `C` columns.
    fn standardise<const C: usize>(x: &[f64], out: &mut [f64]) {
        let (rows, _) = x.as_chunks::<C>();
        let count = rows.len() as f64;
        let mut means = column_totals::<C>(rows, &[0.0; C], false);
        for mean in &mut means {
            *mean /= count;
        }
        let mut scales = column_totals::<C>(rows, &means, true);
        for scale in &mut scales {
            *scale = 1.0 / (*scale / count).sqrt();
        }
        let (outs, _) = out.as_chunks_mut::<C>();
        for (out, row) in outs.iter_mut().zip(rows) {
            for column in 0..C {
                out[column] = (row[column] - means[column]) * scales[column];
            }
        }
    }
}

/// Totals of columns, less a number each, and squared if so wanted: of four rows at a time.
#[inline(always)]
fn column_totals<const C: usize>(rows: &[[f64; C]], less: &[f64; C], is_squared: bool) -> [f64; C] {
    let mut totals = [[0.0; C]; 4];
    let (blocks, rest) = rows.as_chunks::<4>();
    for block in blocks {
        for row in 0..4 {
            for column in 0..C {
                let x = block[row][column] - less[column];
                totals[row][column] += if is_squared { x * x } else { x };
            }
        }
    }
    for row in rest {
        for column in 0..C {
            let x = row[column] - less[column];
            totals[0][column] += if is_squared { x * x } else { x };
        }
    }
    let mut sums = [0.0; C];
    for total in totals {
        for column in 0..C {
            sums[column] += total[column];
        }
    }
    sums
}

/// Loops, not iterators: a closure handed to `map` or `sum` may be compiled apart, for baseline instructions.
#[inline(always)]
fn sum_of_squares(x: &[f32]) -> f32 {
    let mut sums = [0.0f32; 64];
    let (chunks, rest) = x.as_chunks::<64>();
    for chunk in chunks {
        for lane in 0..64 {
            sums[lane] += chunk[lane] * chunk[lane];
        }
    }
    let mut sum = 0.0;
    for lane in sums {
        sum += lane;
    }
    for x in rest {
        sum += x * x;
    }
    sum
}
