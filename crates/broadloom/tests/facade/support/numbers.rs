//! Elements of arrays: always the same for a number of elements and a seed.

use broadloom::Element;
use broadloom_ir::dtype::Scalar;

fn to_dtype<T: Element>(numbers: impl Iterator<Item = f64>) -> Vec<T> {
    numbers.map(|number| T::from_scalar(Scalar::F64(number).cast(T::DTYPE)).unwrap()).collect()
}

/// Bits without a pattern.
fn noise(seed: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(seed), |state| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)))
        .skip(1)
}

/// Seeds that are close to each other, apart.
fn scattered(seed: u32) -> u32 {
    seed.wrapping_mul(2_654_435_761).wrapping_add(12345)
}

/// Numbers from -2 to 2 without a pattern, so that a sum in another order has other bits.
pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
    noise(seed).take(count).map(|bits| (bits >> 8) as f32 / 4e6 - 2.0).collect()
}

/// Numbers from -6.5 to 6.5, of which some are zeros of both signs.
pub fn with_zeros<T: Element>(count: usize, seed: u32) -> Vec<T> {
    to_dtype((0..count).map(|at| match (at * 7919 + seed as usize * 31) % 13 {
        0 => -0.0,
        1 => 0.0,
        other => (other as f64 - 6.5) * (1.0 + (at % 7) as f64 / 8.0),
    }))
}

/// Seven numbers from -3.3 to 3.3, so that extremes recur and the order of sums matters; if asked for, some are NaN.
pub fn recurring<T: Element>(count: usize, has_nans: bool) -> Vec<T> {
    to_dtype((0..count).map(|at| match at * 7919 % 97 {
        13 if has_nans => f64::NAN,
        rest => ((rest % 7) as f64 - 3.0) * 1.1,
    }))
}

/// Numbers from the least to the greatest of a dtype of a byte, of which some are frequent, behind a row of the same number.
pub fn of_a_byte<T: Element>(count: usize, row: usize, same: i64) -> Vec<T> {
    to_dtype((0..count).map(|at| match at {
        _ if at < row => same as f64,
        _ if at % 7 < 3 => (at * 31 % 11) as f64 - 5.0,
        _ => (at * 7919 % 256) as f64 - 128.0,
    }))
}

/// Many equal numbers; of floats zeros of both signs, infinities and NaNs as well.
pub fn with_ties<T: Element>(count: usize, seed: u32) -> Vec<T> {
    let is_float = T::DTYPE.is_float();
    let of = |bits: u32| match bits >> 26 {
        0 if is_float => f64::NAN,
        1 if is_float => f64::INFINITY,
        2 if is_float => f64::NEG_INFINITY,
        3 | 4 => 0.0,
        5 | 6 => -0.0,
        7..40 => ((bits >> 8) % 7) as f64 - 3.0,
        _ => ((bits >> 8) % 262_144) as f64 / 100.0 - 1300.0,
    };
    to_dtype(noise(scattered(seed)).take(count).map(of))
}

/// Numbers of many sizes, of which few are zeros of both signs, infinite or NaN: what has met one NaN stays NaN.
pub fn with_few_nans(count: usize, seed: u32) -> Vec<f32> {
    let of = |bits: u32| match bits >> 24 {
        0 => f32::NAN,
        1..4 => 0.0,
        4..8 => -0.0,
        8 => f32::INFINITY,
        _ => ((bits >> 8) % 1999) as f32 / 3.0 - 300.0,
    };
    noise(scattered(seed)).take(count).map(of).collect()
}
