//! The nearest of some points to each row, and the loop one writes first.
#![allow(clippy::needless_range_loop, reason = "registers go by their places in a tile")]

use super::pairs::{Fold, Measure, Squared, pairs};
#[cfg(target_arch = "x86_64")]
use super::vectors::x86;
use super::vectors::{Bits, Float, Number, Portable, Vector};
use super::{Level, Width};

/// Rooted before they are compared, which makes ties of what differed in the last bit.
#[derive(Clone, Copy)]
struct Rooted;

impl<V: Float> Measure<V> for Rooted {
    #[inline(always)]
    fn add(self, sum: V, x: V, y: V) -> V {
        Squared.add(sum, x, y)
    }

    #[inline(always)]
    fn of(self, sum: V, _: usize) -> V {
        sum.sqrt()
    }
}

#[derive(Clone, Copy)]
struct Absolute;

impl<V: Float> Measure<V> for Absolute {
    #[inline(always)]
    fn add(self, sum: V, x: V, y: V) -> V {
        sum.add(x.sub(y).abs())
    }
}

/// How many differ: bytes, or bits of words.
#[derive(Clone, Copy)]
struct Differing;

impl<V: Bits> Measure<V> for Differing {
    #[inline(always)]
    fn add(self, sum: V, x: V, y: V) -> V {
        sum.count(x, y)
    }
}

/// Products, times a factor of the point.
#[derive(Clone, Copy)]
struct Cosine<'a>(&'a [f32]);

impl<V: Float<Number = f32>> Measure<V> for Cosine<'_> {
    #[inline(always)]
    fn add(self, sum: V, x: V, y: V) -> V {
        x.fma(y, sum)
    }

    #[inline(always)]
    fn of(self, sum: V, at: usize) -> V {
        sum.mul(V::splat(self.0[at]))
    }
}

/// The first nearest point, and how far it is.
struct Nearest<'a, V: Vector, const I: usize> {
    best: [V; I],
    index: [V; I],
    indices: &'a mut [i64],
    /// Empty if they are not wanted.
    distances: &'a mut [V::Number],
}

impl<'a, V: Vector, const I: usize> Nearest<'a, V, I> {
    #[inline(always)]
    fn new(indices: &'a mut [i64], distances: &'a mut [V::Number]) -> Self {
        let none = [V::splat(V::Number::default()); I];
        Nearest { best: none, index: none, indices, distances }
    }
}

impl<V: Vector, const I: usize> Fold<V, I> for Nearest<'_, V, I> {
    #[inline(always)]
    fn begin(&mut self, _: usize, _: usize) {
        self.best = [V::splat(V::Number::MOST); I];
        self.index = [V::splat(V::Number::default()); I];
    }

    #[inline(always)]
    fn point(&mut self, at: usize, distances: [V; I]) {
        let at = V::splat(V::Number::of(at));
        for i in 0..I {
            distances[i].keep_less(at, &mut self.best[i], &mut self.index[i]);
        }
    }

    #[inline(always)]
    fn end(&mut self, first: usize, rows: usize) {
        for i in 0..I {
            let lanes = (i * V::LANES).min(rows)..((i + 1) * V::LANES).min(rows);
            let range = first + lanes.start..first + lanes.end;
            let indices = &mut self.indices[range.clone()];
            if indices.len() == V::LANES {
                // SAFETY: there is room for all lanes.
                unsafe { self.index[i].store_indices(indices.as_mut_ptr()) };
            } else {
                for (index, number) in indices.iter_mut().zip(self.index[i].lanes()) {
                    *index = number.index();
                }
            }
            if !self.distances.is_empty() {
                let count = range.len();
                self.distances[range].copy_from_slice(&self.best[i].lanes()[..count]);
            }
        }
    }
}

/// The nearest of a few points of many coordinates: for so little work it does not pay to turn rows. Registers hold
/// coordinates side by side, of which sums are taken at the end.
#[inline(always)]
fn nearest_of_few<V: Float>(d: usize, rows: &[V::Number], points: &[V::Number], indices: &mut [i64]) {
    const ROWS: usize = 4;
    const POINTS: usize = 4;
    assert!(d.is_multiple_of(V::LANES) && points.len() == POINTS * d, "the shape that this is for");
    let (blocks, rest) = indices.as_chunks_mut::<ROWS>();
    for (rows, indices) in rows.chunks_exact(ROWS * d).zip(blocks) {
        let sums = sums_along::<V, ROWS, POINTS>(d, rows, points);
        for (row, index) in sums.iter().zip(indices) {
            *index = least(row);
        }
    }
    let first = rows.len() - rest.len() * d;
    for (row, index) in rows[first..].chunks_exact(d).zip(rest) {
        let [sums] = sums_along::<V, 1, POINTS>(d, row, points);
        *index = least(&sums);
    }
}

#[inline(always)]
fn sums_along<V: Float, const ROWS: usize, const POINTS: usize>(
    d: usize,
    rows: &[V::Number],
    points: &[V::Number],
) -> [[V::Number; POINTS]; ROWS] {
    assert!(rows.len() >= ROWS * d && points.len() >= POINTS * d);
    let mut sums = [[V::splat(V::Number::default()); POINTS]; ROWS];
    for t in (0..d).step_by(V::LANES) {
        let mut y = [V::splat(V::Number::default()); POINTS];
        for j in 0..POINTS {
            // SAFETY: t and the lanes behind it are below d.
            y[j] = unsafe { V::load(points.as_ptr().add(j * d + t)) };
        }
        for i in 0..ROWS {
            // SAFETY: as above.
            let x = unsafe { V::load(rows.as_ptr().add(i * d + t)) };
            for j in 0..POINTS {
                sums[i][j] = Squared.add(sums[i][j], x, y[j]);
            }
        }
    }
    let mut totals = [[V::Number::default(); POINTS]; ROWS];
    for i in 0..ROWS {
        for j in 0..POINTS {
            totals[i][j] = sums[i][j].total();
        }
    }
    totals
}

/// The first of the least.
#[inline(always)]
fn least<N: Number>(numbers: &[N]) -> i64 {
    let (mut index, mut best) = (0, N::MOST);
    for (at, number) in numbers.iter().enumerate() {
        (index, best) = if *number < best { (at as i64, *number) } else { (index, best) };
    }
    index
}

/// One over the length of each point.
fn inverse_lengths(d: usize, points: &[f32]) -> Vec<f32> {
    points.chunks_exact(d).map(|point| point.iter().map(|x| x * x).sum::<f32>().sqrt().recip()).collect()
}

/// The nearest point to each row by `1 - cos`. Of a row's own length its order does not depend.
pub fn nearest_by_cosine(
    level: Level,
    d: usize,
    rows: &[f32],
    points: &[f32],
    indices: &mut [i64],
    distances: &mut [f32],
) {
    let factors: Vec<f32> = inverse_lengths(d, points).iter().map(|factor| -factor).collect();
    least_product(level, d, rows, points, &factors, indices, distances);
    for (distance, factor) in distances.iter_mut().zip(inverse_lengths(d, rows)) {
        *distance = 1.0 + *distance * factor;
    }
}

at_every_width! {
    /// The nearest point to each row by squares of differences.
    fn nearest_f32(d: usize, rows: &[f32], points: &[f32], indices: &mut [i64]) for F32x16, F32x8, Portable<f32, 4>, {
        if points.len() == 4 * d && d >= 64 {
            nearest_of_few::<V>(d, rows, points, indices);
        } else {
            pairs::<V, I, J>(d, rows, points, Squared, Nearest::<V, I>::new(indices, &mut []));
        }
    }

    /// The indices of the nearest points by squared distance, in f64.
    fn nearest_f64(d: usize, rows: &[f64], points: &[f64], indices: &mut [i64]) for F64x8, F64x4, Portable<f64, 2>, {
        if points.len() == 4 * d && d >= 64 {
            nearest_of_few::<V>(d, rows, points, indices);
        } else {
            pairs::<V, I, J>(d, rows, points, Squared, Nearest::<V, I>::new(indices, &mut []));
        }
    }

    /// The indices of the nearest points by distance, the root of the squared one, in f32.
    fn nearest_by_root(d: usize, rows: &[f32], points: &[f32], indices: &mut [i64])
    for F32x16, F32x8, Portable<f32, 4>, {
        pairs::<V, I, J>(d, rows, points, Rooted, Nearest::<V, I>::new(indices, &mut []));
    }

    /// The nearest point to each row by sums of absolute differences.
    fn nearest_by_abs(d: usize, rows: &[f32], points: &[f32], indices: &mut [i64], distances: &mut [f32])
    for F32x16, F32x8, Portable<f32, 4>, {
        pairs::<V, I, J>(d, rows, points, Absolute, Nearest::<V, I>::new(indices, distances));
    }

    /// The point of the least product with each row, each times a factor.
    fn least_product(
        d: usize,
        rows: &[f32],
        points: &[f32],
        factors: &[f32],
        indices: &mut [i64],
        distances: &mut [f32]
    ) for F32x16, F32x8, Portable<f32, 4>, {
        pairs::<V, I, J>(d, rows, points, Cosine(factors), Nearest::<V, I>::new(indices, distances));
    }

    /// The point of which the fewest bytes differ from a row's. There are 256 points at most, of fewer bytes.
    fn nearest_of_bytes(d: usize, rows: &[u8], points: &[u8], indices: &mut [i64], distances: &mut [u8])
    for U8x64, U8x32, Portable<u8, 16>, {
        assert!(d < 256 && points.len() <= 256 * d);
        pairs::<V, I, J>(d, rows, points, Differing, Nearest::<V, I>::new(indices, distances));
    }

    /// The point of which the fewest bits differ from a row's.
    fn nearest_of_words(d: usize, rows: &[u64], points: &[u64], indices: &mut [i64], distances: &mut [u64])
    for U64x8, U64x4, Portable<u64, 2>, {
        pairs::<V, I, J>(d, rows, points, Differing, Nearest::<V, I>::new(indices, distances));
    }
}

/// The loop one writes first: rows, codes, coordinates.
#[inline(never)]
pub fn nearest_naive<const ROOT: bool>(obs: &[f32], codes: &[f32], d: usize, out: &mut [i64]) {
    for (out, row) in out.iter_mut().zip(obs.chunks_exact(d)) {
        let (mut best, mut index) = (f32::INFINITY, 0);
        for (at, code) in codes.chunks_exact(d).enumerate() {
            let mut distance = 0.0;
            for (code, x) in code.iter().zip(row) {
                distance += (code - x) * (code - x);
            }
            let distance = if ROOT { distance.sqrt() } else { distance };
            if distance < best {
                (best, index) = (distance, at as i64);
            }
        }
        *out = index;
    }
}
