//! Pair tiles: the inner tile of a reduce-of-broadcast, compiled once per CPU level.
#![allow(unsafe_code, reason = "entry points called by compiled kernels, and their dispatch by CPU level")]

use crate::level::{CpuLevel, Fused, Level, Unfused};
use crate::tile::Precision;

/// What is summed over the terms of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Term {
    /// `(left - right)^2`.
    SquaredDifference,
    /// `left * right`.
    Product,
    /// `|left - right|`.
    AbsoluteDifference,
}

/// Which of a row's pairs is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The smallest.
    Least,
    /// The largest.
    Greatest,
}

/// What a pair tile computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pairing {
    /// The terms that a pair sums.
    pub term: Term,
    /// Whether a pair is the square root of its sum.
    pub root: bool,
    /// Which pair of a row is looked for.
    pub extreme: Extreme,
}

/// The entry point of a pair tile.
///
/// # Safety
///
/// See the module.
pub type PairFn = unsafe extern "C" fn(
    values: *mut u8,
    indices: *mut i64,
    left: *const u8,
    left_stride: usize,
    right: *const u8,
    right_stride: isize,
    right_step: isize,
    terms: usize,
    count: usize,
    len: usize,
);

/// The pair tile of a pairing, at a level.
pub fn pair_function(pairing: Pairing, precision: Precision, level: CpuLevel) -> PairFn {
    macro_rules! all {
        ($slow:ident, $level:ident; $($t:literal)*) => {
            [$($slow::<$level, $t>),*]
        };
    }
    let code = pairing.term as usize * 4 + usize::from(pairing.root) * 2 + pairing.extreme as usize;
    match (precision, level.is_fused()) {
        (Precision::F32, true) => all!(slow_f32, Fused; 0 1 2 3 4 5 6 7 8 9 10 11)[code],
        (Precision::F32, false) => all!(slow_f32, Unfused; 0 1 2 3 4 5 6 7 8 9 10 11)[code],
        (Precision::F64, true) => all!(slow_f64, Fused; 0 1 2 3 4 5 6 7 8 9 10 11)[code],
        (Precision::F64, false) => all!(slow_f64, Unfused; 0 1 2 3 4 5 6 7 8 9 10 11)[code],
    }
}

macro_rules! slow {
    ($name:ident, $t:ident) => {
        unsafe extern "C" fn $name<L: Level, const CODE: usize>(
            values: *mut u8,
            indices: *mut i64,
            left: *const u8,
            left_stride: usize,
            right: *const u8,
            right_stride: isize,
            right_step: isize,
            terms: usize,
            count: usize,
            len: usize,
        ) {
            for i in 0..len {
                let greatest = CODE % 2 == 1;
                let mut best = if greatest { $t::NEG_INFINITY } else { $t::INFINITY };
                let mut index = 0;
                for j in 0..count {
                    let mut sum: $t = -0.0;
                    for t in 0..terms {
                        let l = unsafe { left.add(t * left_stride).cast::<$t>().add(i).read_unaligned() };
                        let at = j as isize * right_stride + t as isize * right_step;
                        let r = unsafe { right.offset(at).cast::<$t>().read_unaligned() };
                        sum = match CODE / 4 {
                            0 => crate::float::Float::madd::<L>(l - r, l - r, sum),
                            1 => crate::float::Float::madd::<L>(l, r, sum),
                            _ => sum + (l - r).abs(),
                        };
                    }
                    let mut x = sum + 0.0;
                    if CODE / 2 % 2 == 1 {
                        x = x.sqrt();
                    }
                    let better = if greatest { x > best } else { x < best };
                    if better || x.is_nan() && !best.is_nan() {
                        best = x;
                        index = j as i64;
                    }
                }
                if !values.is_null() {
                    unsafe { values.cast::<$t>().add(i).write_unaligned(best) };
                }
                if !indices.is_null() {
                    unsafe { indices.add(i).write_unaligned(index) };
                }
            }
        }
    };
}

slow!(slow_f32, f32);
slow!(slow_f64, f64);
