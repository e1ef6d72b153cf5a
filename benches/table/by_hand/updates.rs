//! Steps of a stencil of five points, and changes of rows, columns and elements at positions.

use super::{Level, Width};

at_every_level! {
    /// The inner points of square `out` from those around them in `x`.
    fn stencil(x: &[f64], side: usize, out: &mut [f64]) {
        for row in 1..side - 1 {
            let line = |row: usize| &x[row * side..(row + 1) * side];
            let (above, here, below) = (line(row - 1), line(row), line(row + 1));
            let out = &mut out[row * side + 1..(row + 1) * side - 1];
            for (column, out) in out.iter_mut().enumerate() {
                *out = 0.2 * (here[column + 1] + here[column] + here[column + 2] + below[column + 1] + above[column + 1]);
            }
        }
    }

    /// The inner points of `x`, by way of a second array.
    fn stencil_in_place(source: &[f64], side: usize, new: &mut [f64], x: &mut [f64]) {
        for row in 1..side - 1 {
            let line = |row: usize| &x[row * side..(row + 1) * side];
            let (above, here, below) = (line(row - 1), line(row), line(row + 1));
            let source = &source[row * side + 1..(row + 1) * side - 1];
            let new = &mut new[row * side + 1..(row + 1) * side - 1];
            for (column, (new, source)) in new.iter_mut().zip(source).enumerate() {
                let around = here[column + 1] + here[column] + here[column + 2] + below[column + 1] + above[column + 1];
                *new = 0.2 * around + source;
            }
        }
        for row in 1..side - 1 {
            let inner = row * side + 1..(row + 1) * side - 1;
            x[inner.clone()].copy_from_slice(&new[inner]);
        }
    }

    /// Every second element of each row.
    fn even_columns(x: &[f64], side: usize, out: &mut [f64]) {
        for (out, x) in out.chunks_exact_mut(side).zip(x.chunks_exact(side)) {
            for column in (0..side).step_by(2) {
                out[column] = 0.5 * out[column] + x[column];
            }
        }
    }

    /// `x` with the values at positions, the last of equal ones; negative ones count from the end.
    fn replaced(x: &[f64], at: &[i64], values: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
        for (at, value) in at.iter().zip(values) {
            out[if *at < 0 { *at + x.len() as i64 } else { *at } as usize] = *value;
        }
    }

    /// `x` with the values added at positions.
    fn added(x: &[f64], at: &[i64], values: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
        for (at, value) in at.iter().zip(values) {
            out[if *at < 0 { *at + x.len() as i64 } else { *at } as usize] += *value;
        }
    }

    /// The first row, from the second one of `x`.
    fn first_row(x: &[f64], side: usize, out: &mut [f64]) {
        for (out, x) in out[..side].iter_mut().zip(&x[side..2 * side]) {
            *out = 2.0 * x;
        }
    }
}
