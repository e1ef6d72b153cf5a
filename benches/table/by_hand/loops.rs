//! Loops: steps in time, and recurrences along an axis.

use super::{Level, Width};

/// Elements that step together in registers.
const LANES: usize = 32;
/// Steps between two looks at whether any of them is to go on.
const STRIDE: usize = 8;
/// Rows that are walked side by side, because each waits for itself.
const ROWS: usize = 8;
/// Columns of systems whose intermediate values stay in the second cache.
const TILE: usize = 128;

/// How many steps each point of rows stays within a distance of 2. Rows are cut into strips; the last one overlaps.
macro_rules! escape {
    ($number:ty, $cx:ident, $cy:ident, $steps:ident, $out:ident) => {
        for (cy, out) in $cy.iter().zip($out.chunks_exact_mut($cx.len())) {
            for start in (0..$cx.len()).step_by(LANES) {
                let start = start.min($cx.len() - LANES);
                let cx = &$cx[start..start + LANES];
                out[start..start + LANES].copy_from_slice(&escape!(strip $number, cx, cy, $steps));
            }
        }
    };
    (strip $number:ty, $cx:ident, $cy:ident, $steps:ident) => {{
        let ([mut x, mut y], mut count) = ([[0.0; LANES]; 2], [0.0; LANES]);
        for done in (0..$steps).step_by(STRIDE) {
            let mut any = false;
            for _ in done..$steps.min(done + STRIDE) {
                for lane in 0..LANES {
                    let (xx, yy) = (x[lane] * x[lane], y[lane] * y[lane]);
                    let stays = xx + yy <= 4.0;
                    any |= stays;
                    count[lane] += if stays { 1.0 } else { 0.0 as $number };
                    (x[lane], y[lane]) = (xx - yy + $cx[lane], 2.0 * x[lane] * y[lane] + $cy);
                }
            }
            if !any {
                break;
            }
        }
        count
    }};
}

at_every_level! {
    /// `z * z + c`, so often: a strip of elements takes all steps. There is a multiple of 32 of them.
    fn quadratic(z: &[f64], c: &[f64], steps: usize, out: &mut [f64]) {
        let strips = z.as_chunks::<LANES>().0.iter().zip(c.as_chunks::<LANES>().0);
        for ((z, c), out) in strips.zip(out.as_chunks_mut::<LANES>().0) {
            let mut strip = *z;
            for _ in 0..steps {
                for lane in 0..LANES {
                    strip[lane] = strip[lane] * strip[lane] + c[lane];
                }
            }
            *out = strip;
        }
    }

    /// The escape times of points in rows of at least 32.
    fn escape_f32(cx: &[f32], cy: &[f32], steps: usize, out: &mut [f32]) {
        escape!(f32, cx, cy, steps, out);
    }

    /// The same.
    fn escape_f64(cx: &[f64], cy: &[f64], steps: usize, out: &mut [f64]) {
        escape!(f64, cx, cy, steps, out);
    }

    /// Moving averages with decay of the columns.
    fn averages_of_columns(x: &[f64], columns: usize, new: f64, out: &mut [f64]) {
        let mut averages = vec![0.0; columns];
        for (x, out) in x.chunks_exact(columns).zip(out.chunks_exact_mut(columns)) {
            for ((x, out), average) in x.iter().zip(out).zip(&mut averages) {
                *average = (1.0 - new) * *average + new * x;
                *out = *average;
            }
        }
    }

    /// Moving averages with decay of rows, of which there is a multiple of 8.
    fn averages_of_rows(x: &[f64], columns: usize, new: f64, out: &mut [f64]) {
        for (x, out) in x.chunks_exact(ROWS * columns).zip(out.chunks_exact_mut(ROWS * columns)) {
            let mut averages = [0.0; ROWS];
            for column in 0..columns {
                for (row, average) in averages.iter_mut().enumerate() {
                    *average = (1.0 - new) * *average + new * x[row * columns + column];
                    out[row * columns + column] = *average;
                }
            }
        }
    }

    /// The moving average with decay of one row.
    fn average(x: &[f64], new: f64, out: &mut [f64]) {
        let mut average = 0.0;
        for (x, out) in x.iter().zip(out) {
            average = (1.0 - new) * average + new * x;
            *out = average;
        }
    }

    /// A filter of the second order along columns, in the transposed direct form: `b0, b1, b2, a1, a2`.
    fn biquad(x: &[f32], columns: usize, by: &[f32; 5], out: &mut [f32]) {
        let [b0, b1, b2, a1, a2] = *by;
        let (mut first, mut second) = (vec![0.0; columns], vec![0.0; columns]);
        for (x, out) in x.chunks_exact(columns).zip(out.chunks_exact_mut(columns)) {
            for (((x, out), first), second) in x.iter().zip(out).zip(&mut first).zip(&mut second) {
                let y = b0 * x + *first;
                *first = b1 * x - a1 * y + *second;
                *second = b2 * x - a2 * y;
                *out = y;
            }
        }
    }

    /// Thomas's solution of systems that are columns of so many rows: below, on and above the diagonal, and right sides.
    fn thomas_of_columns(of: &[&[f64]; 4], columns: usize, out: &mut [f64]) {
        let rows = out.len() / columns;
        let (mut factor, mut right) = (vec![0.0; rows * TILE], vec![0.0; rows * TILE]);
        for start in (0..columns).step_by(TILE) {
            let width = TILE.min(columns - start);
            let (mut above, mut before) = ([0.0; TILE], [0.0; TILE]);
            for row in 0..rows {
                let place = row * columns + start;
                let [low, middle, high, side] = of.map(|of| &of[place..place + width]);
                let factor = &mut factor[row * TILE..row * TILE + width];
                let right = &mut right[row * TILE..row * TILE + width];
                let (above, before) = (&mut above[..width], &mut before[..width]);
                for at in 0..width {
                    let pivot = 1.0 / (middle[at] - low[at] * above[at]);
                    above[at] = high[at] * pivot;
                    before[at] = (side[at] - low[at] * before[at]) * pivot;
                    factor[at] = above[at];
                    right[at] = before[at];
                }
            }
            let mut after = [0.0; TILE];
            for row in (0..rows).rev() {
                let out = &mut out[row * columns + start..][..width];
                let (factor, right) = (&factor[row * TILE..][..width], &right[row * TILE..][..width]);
                let after = &mut after[..width];
                for at in 0..width {
                    after[at] = right[at] - factor[at] * after[at];
                    out[at] = after[at];
                }
            }
        }
    }

    /// The same of systems that are rows, of which there is a multiple of 8.
    fn thomas_of_rows(of: &[&[f64]; 4], columns: usize, out: &mut [f64]) {
        let mut known = vec![[[0.0; ROWS]; 2]; columns];
        for (number, out) in out.chunks_exact_mut(ROWS * columns).enumerate() {
            let [low, middle, high, side] = of.map(|of| &of[number * ROWS * columns..][..ROWS * columns]);
            let [mut above, mut before] = [[0.0; ROWS]; 2];
            for (column, known) in known.iter_mut().enumerate() {
                for row in 0..ROWS {
                    let at = row * columns + column;
                    let pivot = 1.0 / (middle[at] - low[at] * above[row]);
                    above[row] = high[at] * pivot;
                    before[row] = (side[at] - low[at] * before[row]) * pivot;
                }
                *known = [above, before];
            }
            let mut after = [0.0; ROWS];
            for (column, [factor, right]) in known.iter().enumerate().rev() {
                for row in 0..ROWS {
                    after[row] = right[row] - factor[row] * after[row];
                    out[row * columns + column] = after[row];
                }
            }
        }
    }

    /// The inner points of a cube from those around them in `x`.
    fn heat(x: &[f64], side: usize, out: &mut [f64]) {
        for plane in 1..side - 1 {
            for row in 1..side - 1 {
                let line = |plane: usize, row: usize| &x[(plane * side + row) * side..][..side];
                let here = line(plane, row);
                let around = [line(plane - 1, row), line(plane + 1, row), line(plane, row - 1), line(plane, row + 1)];
                let out = &mut out[(plane * side + row) * side..][..side];
                for at in 1..side - 1 {
                    let twice = 2.0 * here[at];
                    let planes = around[1][at] - twice + around[0][at];
                    let rows = around[3][at] - twice + around[2][at];
                    let columns = here[at + 1] - twice + here[at - 1];
                    out[at] = 0.125 * planes + 0.125 * rows + 0.125 * columns + here[at];
                }
            }
        }
    }
}
