//! All pairs of two sets of points, by tiles that stay in registers.
//!
//! ```text
//! rows ──turned once──▶ panel[d][I vectors]        tile: I vectors of rows x J points, a sum in each register
//! points ─────────────▶ J at a time, broadcast      ──▶ Fold: the nearest, weights, a table
//! ```
#![allow(clippy::needless_range_loop, reason = "registers go by their places in a tile")]

#[cfg(target_arch = "x86_64")]
use super::vectors::x86;
use super::vectors::{Exp, Float, Number, Portable, Vector};
use super::{Level, Width};
use broadloom_math::transpose_function;
use std::ops::Range;

/// How coordinates make a distance.
pub trait Measure<V: Vector>: Copy {
    /// What is summed up, with one coordinate more.
    fn add(self, sum: V, x: V, y: V) -> V;

    /// The distance of which the sum is `sum`, to the point `at`.
    #[inline(always)]
    fn of(self, sum: V, at: usize) -> V {
        let _ = at;
        sum
    }
}

/// Squares of differences.
#[derive(Clone, Copy)]
pub struct Squared;

impl<V: Float> Measure<V> for Squared {
    #[inline(always)]
    fn add(self, sum: V, x: V, y: V) -> V {
        let difference = x.sub(y);
        difference.fma(difference, sum)
    }
}

/// What becomes of distances.
pub trait Fold<V: Vector, const I: usize> {
    /// Before the first point, for a panel of the rows from `first` on.
    fn begin(&mut self, first: usize, rows: usize);

    /// The distances of the panel's rows to a point.
    fn point(&mut self, at: usize, distances: [V; I]);

    /// After the last point.
    fn end(&mut self, first: usize, rows: usize);
}

/// Hands the distances of all pairs of `rows` and `points`, which have `d` coordinates each, to `fold`.
#[inline(always)]
pub fn pairs<V: Vector, const I: usize, const J: usize>(
    d: usize,
    rows: &[V::Number],
    points: &[V::Number],
    measure: impl Measure<V>,
    mut fold: impl Fold<V, I>,
) {
    match d {
        // Few coordinates stay in registers as well, so that nothing is read less often for more points at once.
        2 => pairs_of::<V, 2, I, 2>(d, rows, points, measure, &mut fold),
        3 => pairs_of::<V, 3, I, 2>(d, rows, points, measure, &mut fold),
        8 => pairs_of::<V, 8, I, J>(d, rows, points, measure, &mut fold),
        _ => pairs_of::<V, 0, I, J>(d, rows, points, measure, &mut fold),
    }
}

/// For `D` coordinates, or for any number of them if `D` is 0.
#[inline(always)]
fn pairs_of<V: Vector, const D: usize, const I: usize, const J: usize>(
    d: usize,
    rows: &[V::Number],
    points: &[V::Number],
    measure: impl Measure<V>,
    fold: &mut impl Fold<V, I>,
) {
    let d = if D > 0 { D } else { d };
    let height = I * V::LANES;
    let mut panel = vec![V::Number::default(); d * height];
    let count = points.len() / d;
    for (block, part) in rows.chunks(height * d).enumerate() {
        let (first, rows) = (block * height, part.len() / d);
        turn(d, height, part, &mut panel);
        fold.begin(first, rows);
        let mut at = 0;
        while at + J <= count {
            let distances = tile::<V, I, J>(d, &panel, &points[at * d..], measure);
            for j in 0..J {
                fold.point(at + j, finished(measure, distances[j], at + j));
            }
            at += J;
        }
        for at in at..count {
            let [distances] = tile::<V, I, 1>(d, &panel, &points[at * d..], measure);
            fold.point(at, finished(measure, distances, at));
        }
        fold.end(first, rows);
    }
}

#[inline(always)]
fn finished<V: Vector, const I: usize>(measure: impl Measure<V>, mut sums: [V; I], at: usize) -> [V; I] {
    for sum in &mut sums {
        *sum = measure.of(*sum, at);
    }
    sums
}

/// Coordinates of some rows side by side. Lanes without a row keep what they had.
#[inline(always)]
fn turn<N: Number>(d: usize, height: usize, rows: &[N], panel: &mut [N]) {
    match d {
        2 => return turn_few::<N, 2>(height, rows, panel),
        3 => return turn_few::<N, 3>(height, rows, panel),
        _ => {}
    }
    let size = size_of::<N>();
    let transpose = transpose_function(size).expect("numbers have one to eight bytes");
    let (to, from) = (panel.as_mut_ptr().cast(), rows.as_ptr().cast());
    // SAFETY: there are `rows.len() / d` rows of `d` numbers, and `d` rows of `height` in the panel, which is no less.
    unsafe { transpose(to, (height * size) as isize, from, (d * size) as isize, d, rows.len() / d) };
}

/// Of `D` coordinates LLVM makes shuffles.
#[inline(always)]
fn turn_few<N: Number, const D: usize>(height: usize, rows: &[N], panel: &mut [N]) {
    let mut columns = panel.chunks_exact_mut(height);
    let columns: [&mut [N]; D] =
        std::array::from_fn(|_| columns.next().expect("a column for each coordinate"));
    for (lane, row) in rows.as_chunks::<D>().0.iter().enumerate() {
        for t in 0..D {
            columns[t][lane] = row[t];
        }
    }
}

/// Sums for `J` points and a panel of rows.
#[inline(always)]
fn tile<V: Vector, const I: usize, const J: usize>(
    d: usize,
    panel: &[V::Number],
    points: &[V::Number],
    measure: impl Measure<V>,
) -> [[V; I]; J] {
    assert!(panel.len() >= d * I * V::LANES && points.len() >= d * J);
    let mut sums = [[V::splat(V::Number::default()); I]; J];
    for t in 0..d {
        let mut x = [V::splat(V::Number::default()); I];
        for i in 0..I {
            // SAFETY: t < d, and the panel has I vectors for each of d coordinates.
            x[i] = unsafe { V::load(panel.as_ptr().add((t * I + i) * V::LANES)) };
        }
        for j in 0..J {
            // SAFETY: t < d, and there are d coordinates for each of J points.
            let y = V::splat(unsafe { *points.get_unchecked(j * d + t) });
            for i in 0..I {
                sums[j][i] = measure.add(sums[j][i], x[i], y);
            }
        }
    }
    sums
}

/// A table with a row for each point, and a column for each of what is turned.
struct Table<'a, N> {
    out: &'a mut [N],
    columns: usize,
    part: Range<usize>,
}

impl<V: Vector, const I: usize> Fold<V, I> for Table<'_, V::Number> {
    #[inline(always)]
    fn begin(&mut self, first: usize, rows: usize) {
        self.part = first..first + rows;
    }

    #[inline(always)]
    fn point(&mut self, at: usize, distances: [V; I]) {
        let part = &mut self.out[at * self.columns..][self.part.clone()];
        for (part, distances) in part.chunks_mut(V::LANES).zip(distances) {
            if part.len() == V::LANES {
                // SAFETY: the part is as long as the register.
                unsafe { distances.store(part.as_mut_ptr()) };
            } else {
                part.copy_from_slice(&distances.lanes()[..part.len()]);
            }
        }
    }

    #[inline(always)]
    fn end(&mut self, _: usize, _: usize) {}
}

/// Sums of `R` columns of `factors`, by weights that fall with the distance.
struct Kernel<'a, V, const I: usize, const R: usize> {
    sums: [[V; I]; R],
    factors: &'a [f32],
    out: &'a mut [f32],
}

impl<V: Exp, const I: usize, const R: usize> Fold<V, I> for Kernel<'_, V, I, R> {
    #[inline(always)]
    fn begin(&mut self, _: usize, _: usize) {
        self.sums = [[V::splat(0.0); I]; R];
    }

    #[inline(always)]
    fn point(&mut self, at: usize, distances: [V; I]) {
        let mut weights = distances;
        for weight in &mut weights {
            *weight = weight.mul(V::splat(-0.5)).exp();
        }
        for r in 0..R {
            let factor = V::splat(self.factors[at * R + r]);
            for i in 0..I {
                self.sums[r][i] = weights[i].fma(factor, self.sums[r][i]);
            }
        }
    }

    #[inline(always)]
    fn end(&mut self, first: usize, rows: usize) {
        for r in 0..R {
            for i in 0..I {
                let sums = self.sums[r][i].lanes();
                for (lane, sum) in
                    sums.iter().enumerate().take(rows.saturating_sub(i * V::LANES).min(V::LANES))
                {
                    self.out[(first + i * V::LANES + lane) * R + r] = *sum;
                }
            }
        }
    }
}

at_every_width! {
    /// Sums of `factors`, a number for each point, by weights `exp(-distance^2 / 2)`.
    fn kernel_sums(d: usize, rows: &[f32], points: &[f32], factors: &[f32], out: &mut [f32])
    for F32x16, F32x8, Portable<f32, 4>, {
        let sums = [[V::splat(0.0); I]; 1];
        pairs::<V, I, J>(d, rows, points, Squared, Kernel { sums, factors, out });
    }

    /// Sums of eight columns of factors at once, by weights `exp(-distance^2 / 2)`.
    fn kernel_sums_of_eight(d: usize, rows: &[f32], points: &[f32], factors: &[f32], out: &mut [f32])
    for F32x16, F32x8, Portable<f32, 4>, {
        let sums = [[V::splat(0.0); I / 2]; 8];
        pairs::<V, { I / 2 }, J>(d, rows, points, Squared, Kernel { sums, factors, out });
    }

    /// All squared distances: a row for each of `rows`.
    fn squared_distances(d: usize, rows: &[f32], points: &[f32], out: &mut [f32])
    for F32x16, F32x8, Portable<f32, 4>, {
        let table = Table { out, columns: points.len() / d, part: 0..0 };
        pairs::<V, I, J>(d, points, rows, Squared, table);
    }
}
