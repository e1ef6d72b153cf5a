//! Errors of tiles over arguments.

use crate::proof::random::Format;
use crate::proof::samples::Arguments;
use crate::proof::table::{Row, Truth};
use crate::proof::ulps::{Big, big, bit_for_bit, f32_from_f64, from_big};
use broadloom_math::{CpuLevel, tile_f32, tile_f64};
use std::cell::OnceCell;

/// A level of each numerics, unfused first; the fused one as wide as this CPU has it, or else portable code.
pub fn levels() -> [CpuLevel; 2] {
    [CpuLevel::Baseline, CpuLevel::detect().max(CpuLevel::Avx2Fma)]
}

/// An error in ulps, and the arguments at which it is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    pub error: f64,
    pub at: Arguments,
}

impl Finding {
    pub const NONE: Finding = Finding { error: 0.0, at: (0.0, 0.0) };

    /// The larger error; of equal ones the first.
    pub fn max(self, other: Finding) -> Finding {
        if other.error > self.error { other } else { self }
    }
}

/// Elements per call: the buffers stay in the first cache, and a batch is a fraction of a millisecond.
const BATCH: usize = 1024;

/// The errors of an f32 function at each level over arguments that are exact in f32, each given to `found`
/// with the index of its level: against f64, so to about 2^-28 ulp.
pub fn f32_errors(
    row: &Row,
    arguments: impl IntoIterator<Item = (f32, f32)>,
    mut found: impl FnMut(usize, Finding),
) {
    let levels = levels();
    let mut arguments = arguments.into_iter();
    let mut got = [0.0; BATCH];
    loop {
        let (x, y): (Vec<f32>, Vec<f32>) = arguments.by_ref().take(BATCH).unzip();
        if x.is_empty() {
            return;
        }
        let pairs = || x.iter().zip(&y).map(|(&x, &y)| (x, y));
        let want: Vec<(f64, f64)> = match row.truth {
            Truth::Rounded { wide, floor, .. } => pairs()
                .map(|(x, y)| (f64::from(x), f64::from(y)))
                .map(|(x, y)| (wide(x, y), floor(x, y)))
                .collect(),
            Truth::Exact { f32, .. } => pairs().map(|(x, y)| (f64::from(f32(x, y)), 0.0)).collect(),
        };
        for (index, level) in levels.into_iter().enumerate() {
            tile_f32(row.function, level, &mut got, &x, Some(&y));
            for (i, (x, y)) in pairs().enumerate() {
                let (want, floor) = want[i];
                let error = match row.truth {
                    Truth::Rounded { .. } => f32_from_f64(got[i], want, floor),
                    Truth::Exact { .. } => bit_for_bit(f64::from(got[i]), want),
                };
                found(index, Finding { error, at: (f64::from(x), f64::from(y)) });
            }
        }
    }
}

/// The worst errors of an f64 function at each level: against multiple precision.
pub fn worst_f64(row: &Row, arguments: &[Arguments]) -> [Finding; 2] {
    let (x, y): (Vec<f64>, Vec<f64>) = arguments.iter().copied().unzip();
    let got = levels().map(|level| {
        let mut got = vec![0.0; x.len()];
        tile_f64(row.function, level, &mut got, &x, Some(&y));
        got
    });
    let mut worst = [Finding::NONE; 2];
    for (i, &at) in arguments.iter().enumerate() {
        let value = Value::f64(row, at);
        for (worst, got) in worst.iter_mut().zip(&got) {
            *worst = worst.max(Finding { error: value.error(got[i]), at });
        }
    }
    worst
}

/// The errors of an f32 function at each level at one pair of arguments: against multiple precision.
pub fn f32_errors_at(row: &Row, at: Arguments) -> [f64; 2] {
    let value = Value::f32(row, at);
    levels().map(|level| {
        let mut got = [0.0];
        tile_f32(row.function, level, &mut got, &[at.0 as f32], Some(&[at.1 as f32]));
        value.error(f64::from(got[0]))
    })
}

/// The true value of a function at some arguments.
struct Value<'a> {
    row: &'a Row,
    at: Arguments,
    format: Format,
    /// As f64 has it; for exact operations as the format has it.
    wide: f64,
    /// Computed when it is needed, once for both levels.
    big: OnceCell<Big>,
}

impl Value<'_> {
    fn f32(row: &Row, at: Arguments) -> Value<'_> {
        let wide = match row.truth {
            Truth::Rounded { wide, .. } => wide(at.0, at.1),
            Truth::Exact { f32, .. } => f64::from(f32(at.0 as f32, at.1 as f32)),
        };
        Value { row, at, format: Format::F32, wide, big: OnceCell::new() }
    }

    fn f64(row: &Row, at: Arguments) -> Value<'_> {
        let (Truth::Rounded { wide: function, .. } | Truth::Exact { f64: function, .. }) = row.truth;
        let wide = function(at.0, at.1);
        Value { row, at, format: Format::F64, wide, big: OnceCell::new() }
    }

    /// The error of a result in ulps.
    fn error(&self, got: f64) -> f64 {
        let (Truth::Rounded { big: function, floor, .. }, (x, y)) = (self.row.truth, self.at) else {
            return bit_for_bit(got, self.wide);
        };
        // Zero and infinity are so exactly, or lie so far beyond the format that only its last number is as
        // good a result. Then the true value is not asked for, because it may not exist.
        let floor = floor(x, y) * self.format.epsilon();
        let special = self.wide == 0.0 && floor == 0.0 || !self.wide.is_finite();
        let limit = !x.is_finite() || !y.is_finite();
        if limit || special && !self.format.ends_at(got) {
            return bit_for_bit(got, self.format.round(self.wide));
        }
        let want = self.big.get_or_init(|| function(big(x), big(y)));
        from_big(got, want, self.wide.is_sign_negative(), self.format, floor)
    }
}
