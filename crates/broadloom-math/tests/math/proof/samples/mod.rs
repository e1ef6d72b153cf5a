//! Arguments where implementations go wrong, and random ones of every size.

pub mod arc;
pub mod erf;
pub mod exp;
pub mod hypot;
pub mod log;
pub mod pow;
pub mod remainder;
pub mod trig;

use crate::proof::random::{Format, Random};
use crate::proof::table::Row;
use std::iter;

/// Both operands; the second is ignored by functions of one.
pub type Arguments = (f64, f64);

pub fn unary(arguments: impl IntoIterator<Item = f64>) -> Vec<Arguments> {
    arguments.into_iter().map(|x| (x, 0.0)).collect()
}

/// Numbers that every function is asked for: special ones, and the ends of the format.
pub fn corners(format: Format) -> Vec<f64> {
    let (least, greatest) = format.exponents;
    let power = |exponent| libm::scalbn(1.0, exponent);
    let epsilon = power(1 - format.digits);
    let normal = power(least + format.digits - 1);
    let positive = [
        0.0,
        power(least),
        normal - power(least),
        normal,
        0.5 * epsilon,
        epsilon,
        0.5,
        1.0 - 0.5 * epsilon,
        1.0,
        1.0 + epsilon,
        2.0,
        3.0,
        power(format.digits) - 1.0,
        power(format.digits),
        power(greatest),
        (2.0 - epsilon) * power(greatest),
        f64::INFINITY,
    ];
    positive.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect()
}

/// The corners as arguments of a function of one operand, or all pairs of them for two.
fn at_corners(arity: usize, format: Format) -> Vec<Arguments> {
    let corners = corners(format);
    match arity {
        1 => unary(corners),
        _ => corners.iter().flat_map(|&x| corners.iter().map(move |&y| (x, y))).collect(),
    }
}

/// The part of what the sweep goes through that each run of the tests goes through, too.
pub fn probe(row: &Row, format: Format) -> Vec<Arguments> {
    match (format == Format::F32, row.function.arity()) {
        // A prime step, so that all low bits occur.
        (true, 1) => unary((0..=u32::MAX).step_by(9973).map(|bits| f64::from(f32::from_bits(bits)))),
        (true, _) => piece(row, format, 0, 100_000).collect(),
        (false, _) => piece(row, format, 0, 4000).collect(),
    }
}

/// A piece of a function's samples: `count` random ones, before which the first piece has the corners and the
/// hard ones. A smaller count gives the beginning of the same samples.
pub fn piece(row: &Row, format: Format, piece: u64, count: usize) -> impl Iterator<Item = Arguments> {
    let mut random = Random(piece);
    let mut known = Vec::new();
    if piece == 0 {
        known = at_corners(row.function.arity(), format);
        known.extend((row.hard)(format));
    }
    let rounds = iter::repeat_with(move || (row.round)(&mut random, format));
    known.into_iter().chain(rounds.flatten().take(count))
}
