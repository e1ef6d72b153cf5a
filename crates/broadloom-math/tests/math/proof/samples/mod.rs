//! Arguments where implementations go wrong, and random ones of every size.

pub mod arc;
pub mod erf;
pub mod exp;
pub mod hypot;
pub mod log;
pub mod pow;
pub mod remainder;
pub mod trig;

use crate::proof::random::Format;

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
pub fn at_corners(arity: usize, format: Format) -> Vec<Arguments> {
    let corners = corners(format);
    match arity {
        1 => unary(corners),
        _ => corners.iter().flat_map(|&x| corners.iter().map(move |&y| (x, y))).collect(),
    }
}
