//! Errors of tiles over arguments.

use crate::proof::quick;
use crate::proof::random::Format;
use crate::proof::samples::Arguments;
use crate::proof::table::{Row, Truth};
use crate::proof::ulps::{Big, big, bit_for_bit, f32_from_f64, f64_from_pair, from_big};
use broadloom_math::{CpuLevel, tile_f32, tile_f64};
use std::cell::OnceCell;

/// The two numerics, in the order in which they stand everywhere.
pub const NUMERICS: [&str; 2] = ["unfused", "fused"];

/// A level of each numerics; the fused one as wide as this CPU has it, or else portable code.
pub fn levels() -> [CpuLevel; 2] {
    [CpuLevel::Baseline, CpuLevel::detect().max(CpuLevel::Avx2Fma)]
}

/// An error in ulps, and the arguments at which it is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    pub error: f64,
    pub at: Arguments,
}

/// Elements per call: the buffers stay in the first cache, and a batch is a fraction of a millisecond.
const BATCH: usize = 1024;

/// Gives the errors of an f32 function that are larger than `beyond`, by level, to `found`, with the index of
/// the level, and counts the arguments. The errors are against f64, so true to about 2^-28 ulp; [`settled`]
/// has no such doubt.
pub fn f32_errors(
    row: &Row,
    arguments: impl IntoIterator<Item = (f32, f32)>,
    beyond: [f64; 2],
    mut found: impl FnMut(usize, Finding),
) -> u64 {
    let levels = levels();
    let mut arguments = arguments.into_iter();
    let (mut x, mut y, mut want, mut rounded) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut got = [0.0; BATCH];
    let mut count = 0;
    loop {
        x.clear();
        y.clear();
        for (a, b) in arguments.by_ref().take(BATCH) {
            x.push(a);
            y.push(b);
        }
        if x.is_empty() {
            return count;
        }
        count += x.len() as u64;
        want.clear();
        want.extend(x.iter().zip(&y).map(|(&a, &b)| match row.truth {
            Truth::Rounded { wide, .. } => wide(f64::from(a), f64::from(b)),
            Truth::Exact { f32, .. } => f64::from(f32(a, b)),
        }));
        rounded.clear();
        rounded.extend(want.iter().map(|&want| want as f32));
        for (index, level) in levels.into_iter().enumerate() {
            tile_f32(row.function, level, &mut got, &x, Some(&y));
            for i in 0..x.len() {
                // Mostly the result is the nearest f32, which is at most half an ulp away.
                if got[i].to_bits() == rounded[i].to_bits() && beyond[index] >= 0.5 {
                    continue;
                }
                let at = (f64::from(x[i]), f64::from(y[i]));
                let error = match row.truth {
                    Truth::Rounded { floor, .. } => {
                        f32_from_f64(got[i], want[i], floor(at.0, at.1) * Format::F32.epsilon())
                    }
                    Truth::Exact { .. } => bit_for_bit(f64::from(got[i]), want[i]),
                };
                if error > beyond[index] {
                    found(index, Finding { error, at });
                }
            }
        }
    }
}

/// As [`f32_errors`], of an f64 function: against sums of two f64, or against multiple precision.
pub fn f64_errors(
    row: &Row,
    arguments: impl IntoIterator<Item = Arguments>,
    beyond: [f64; 2],
    mut found: impl FnMut(usize, Finding),
) -> u64 {
    let mut count = 0;
    for at in arguments {
        count += 1;
        for (index, error) in quickly(row, at).into_iter().enumerate() {
            if error > beyond[index] {
                found(index, Finding { error, at });
            }
        }
    }
    count
}

/// The errors of an f64 function at one pair of arguments, at each level, to about 2^-30 ulp.
fn quickly(row: &Row, at: Arguments) -> [f64; 2] {
    let (Truth::Rounded { floor, .. }, Some(want)) = (row.truth, quick::value(row.function, at.0, at.1))
    else {
        return settled(row, Format::F64, at);
    };
    levels().map(|level| {
        let got = result(row, Format::F64, at, level);
        f64_from_pair(got, want, floor(at.0, at.1) * Format::F64.epsilon())
    })
}

/// A number for the bits of a function's results at each level (Fowler, Noll and Vo's hash FNV-1a by words):
/// what was measured of other code is told by it.
pub fn fingerprints(row: &Row, format: Format, arguments: &[Arguments]) -> [u64; 2] {
    levels().map(|level| {
        let results: Vec<u64> = if format == Format::F32 {
            let (x, y): (Vec<_>, Vec<_>) = arguments.iter().map(|&(x, y)| (x as f32, y as f32)).unzip();
            let mut got = vec![0.0; x.len()];
            tile_f32(row.function, level, &mut got, &x, Some(&y));
            got.into_iter().map(|result| u64::from(result.to_bits())).collect()
        } else {
            let (x, y): (Vec<_>, Vec<_>) = arguments.iter().copied().unzip();
            let mut got = vec![0.0; x.len()];
            tile_f64(row.function, level, &mut got, &x, Some(&y));
            got.into_iter().map(f64::to_bits).collect()
        };
        let start = 0xcbf2_9ce4_8422_2325;
        results.into_iter().fold(start, |hash: u64, bits| (hash ^ bits).wrapping_mul(0x0100_0000_01b3))
    })
}

/// The errors at one pair of arguments, at each level: against multiple precision.
pub fn settled(row: &Row, format: Format, at: Arguments) -> [f64; 2] {
    let value = Value::new(row, format, at);
    levels().map(|level| value.error(result(row, format, at, level)))
}

/// The function's result at one pair of arguments.
fn result(row: &Row, format: Format, at: Arguments, level: CpuLevel) -> f64 {
    if format == Format::F32 {
        let mut got = [0.0];
        tile_f32(row.function, level, &mut got, &[at.0 as f32], Some(&[at.1 as f32]));
        f64::from(got[0])
    } else {
        let mut got = [0.0];
        tile_f64(row.function, level, &mut got, &[at.0], Some(&[at.1]));
        got[0]
    }
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
    fn new(row: &Row, format: Format, at: Arguments) -> Value<'_> {
        let wide = match row.truth {
            Truth::Exact { f32, .. } if format == Format::F32 => f64::from(f32(at.0 as f32, at.1 as f32)),
            Truth::Rounded { wide: function, .. } | Truth::Exact { f64: function, .. } => {
                function(at.0, at.1)
            }
        };
        Value { row, at, format, wide, big: OnceCell::new() }
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
