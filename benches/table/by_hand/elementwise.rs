//! Loops without reductions. LLVM vectorises them as they should be.

use super::{Level, Width};

at_every_level! {
    /// `2.5 * x + y`.
    fn axpy(x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            *out = 2.5 * x + y;
        }
    }

    /// Seven cheap operations.
    fn chain(x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            let t = (x * 1.5 - y).abs() + 0.25;
            let t = t * t - x;
            *out = if t < 4.0 { t } else { 4.0 };
        }
    }

    /// `x - y` where x is greater, else half of y.
    fn choose(x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            *out = if x > y { x - y } else { 0.5 * y };
        }
    }

    /// 255 for bytes above 100, else 0.
    fn black_or_white(x: &[u8], out: &mut [u8]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = if *x > 100 { 255 } else { 0 };
        }
    }

    /// How many of x are greater than y, by counts of 32 bits.
    fn count_greater(x: &[f32], y: &[f32], out: &mut [i64]) {
        out[0] = 0;
        for (x, y) in x.chunks(1 << 16).zip(y.chunks(1 << 16)) {
            let mut count = 0_u32;
            for at in 0..x.len().min(y.len()) {
                count += u32::from(x[at] > y[at]);
            }
            out[0] += i64::from(count);
        }
    }

    /// A polynomial of degree 8 with the coefficients 1, 2, .. 9.
    fn horner(x: &[f64], out: &mut [f64]) {
        for (out, x) in out.iter_mut().zip(x) {
            let mut sum = 9.0;
            for coefficient in 1..9 {
                sum = sum * x + f64::from(9 - coefficient);
            }
            *out = sum;
        }
    }

    /// `(a * b + c) % 7`.
    fn product_modulo(a: &[i64], b: &[i64], c: &[i64], out: &mut [i64]) {
        for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out = a.wrapping_mul(*b).wrapping_add(*c).rem_euclid(7);
        }
    }

    /// `(a + b) // 1000 * c`.
    fn thousands(a: &[i64], b: &[i64], c: &[i64], out: &mut [i64]) {
        for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out = a.wrapping_add(*b).div_euclid(1000).wrapping_mul(*c);
        }
    }

    /// `a // (b + 1) + c`, for positive `b + 1`.
    fn quotient(a: &[i64], b: &[i64], c: &[i64], out: &mut [i64]) {
        for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out = a.div_euclid(b.wrapping_add(1)).wrapping_add(*c);
        }
    }

    /// `a // (b + 1) + c` of unsigned integers.
    fn quotient_unsigned(a: &[u64], b: &[u64], c: &[u64], out: &mut [u64]) {
        for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out = (a / b.wrapping_add(1)).wrapping_add(*c);
        }
    }

    /// `(a >> (b & 31)) + c`.
    fn shifted(a: &[i64], b: &[i64], c: &[i64], out: &mut [i64]) {
        for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out = (a >> (b & 31)).wrapping_add(*c);
        }
    }

    /// `(x - mean) * scale` of bytes, where mean and scale repeat themselves after a divisor of `P` elements.
    fn normalise_bytes<const P: usize>(x: &[u8], mean: &[f32; P], scale: &[f32; P], out: &mut [f32]) {
        let (chunks, rest) = x.as_chunks::<P>();
        let (outs, out_rest) = out.as_chunks_mut::<P>();
        for (out, x) in outs.iter_mut().zip(chunks) {
            for at in 0..P {
                out[at] = (f32::from(x[at]) - mean[at]) * scale[at];
            }
        }
        for at in 0..rest.len() {
            out_rest[at] = (f32::from(rest[at]) - mean[at]) * scale[at];
        }
    }

    /// `(x - mean) * scale` of floats, where mean and scale repeat themselves after `P` elements.
    fn normalise<const P: usize>(x: &[f32], mean: &[f32; P], scale: &[f32; P], out: &mut [f32]) {
        let (chunks, rest) = x.as_chunks::<P>();
        let (outs, out_rest) = out.as_chunks_mut::<P>();
        for (out, x) in outs.iter_mut().zip(chunks) {
            for at in 0..P {
                out[at] = (x[at] - mean[at]) * scale[at];
            }
        }
        for at in 0..rest.len() {
            out_rest[at] = (rest[at] - mean[at]) * scale[at];
        }
    }

    /// Rows of `M` divided by their lengths.
    fn unit_rows<const M: usize>(x: &[f32], out: &mut [f32]) {
        for (out, x) in out.as_chunks_mut::<M>().0.iter_mut().zip(x.as_chunks::<M>().0) {
            let length = x.iter().map(|x| x * x).sum::<f32>().sqrt();
            for (out, x) in out.iter_mut().zip(x) {
                *out = x / length;
            }
        }
    }

    /// `sqrt(x * x + y * y)` of every pair.
    fn outer_norm(x: &[f32], y: &[f32], out: &mut [f32]) {
        for (out, x) in out.chunks_exact_mut(y.len()).zip(x) {
            for (out, y) in out.iter_mut().zip(y) {
                *out = (x * x + y * y).sqrt();
            }
        }
    }

    /// `x + y.T` of square tables, by blocks of 64 rows whose part of y is turned around first, in tiles, and asked of
    /// the memory some rows ahead.
    fn plus_transposed(x: &[f32], y: &[f32], block: &mut [f32], size: usize, out: &mut [f32]) {
        const ROWS: usize = 64;
        const AHEAD: usize = 16;
        for (number, (out, x)) in out.chunks_mut(ROWS * size).zip(x.chunks(ROWS * size)).enumerate() {
            let (first, rows) = (number * ROWS, out.len() / size);
            for column in (0..size).step_by(SIDE) {
                for ahead in (column + AHEAD..size).take(SIDE) {
                    ask_ahead(&y[ahead * size + first..][..rows]);
                }
                for row in (0..rows).step_by(SIDE) {
                    let part = &y[column * size + first + row..];
                    if row + SIDE <= rows && column + SIDE <= size {
                        let tile = transposed(std::array::from_fn(|of| {
                            std::array::from_fn(|at| part[of * size..][..SIDE][at])
                        }));
                        for (of, transposed) in tile.iter().enumerate() {
                            block[(row + of) * size + column..][..SIDE].copy_from_slice(transposed);
                        }
                        continue;
                    }
                    for of in 0..SIDE.min(rows - row) {
                        for at in 0..SIDE.min(size - column) {
                            block[(row + of) * size + column + at] = part[at * size + of];
                        }
                    }
                }
            }
            for ((out, x), y) in out.iter_mut().zip(x).zip(&*block) {
                *out = x + y;
            }
        }
    }
}

/// Rows and columns of a tile.
const SIDE: usize = 4;

/// The columns of a tile as rows.
#[inline(always)]
fn transposed(tile: [[f32; SIDE]; SIDE]) -> [[f32; SIDE]; SIDE] {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_TRANSPOSE4_PS, _mm_loadu_ps, _mm_storeu_ps};
        let mut transposed = [[0.0; SIDE]; SIDE];
        // SAFETY: every row has four floats; x86-64 has these instructions.
        unsafe {
            let [mut a, mut b, mut c, mut d] = tile.map(|row| _mm_loadu_ps(row.as_ptr()));
            _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
            for (row, register) in transposed.iter_mut().zip([a, b, c, d]) {
                _mm_storeu_ps(row.as_mut_ptr(), register);
            }
        }
        transposed
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::array::from_fn(|of| tile.map(|row| row[of]))
}

/// Asks for the memory of a slice.
#[inline(always)]
fn ask_ahead(slice: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in slice.chunks(64 / size_of::<f32>()) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}
