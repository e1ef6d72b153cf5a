//! Arguments of the inverse trigonometric functions.

use crate::proof::random::{Format, Random};
use crate::proof::samples::Arguments;
use std::f64::consts::SQRT_2;

pub fn asin(random: &mut Random, format: Format) -> [f64; 5] {
    let (tiny, near_one) = (random.with_exponent(format.exponents.0, -1), random.with_exponent(-53, -1));
    let half = format.nudge(random, 0.5);
    [
        random.between(-1.0, 1.0),
        random.between(-0.6, 0.6),
        random.either_sign(tiny),
        random.either_sign(format.round(1.0 - near_one)),
        random.either_sign(half),
    ]
}

pub fn atan(random: &mut Random, format: Format) -> [f64; 6] {
    let (any, middle) = (format.any(random), random.with_exponent(-4, 4));
    let (low, high) = (format.nudge(random, SQRT_2 - 1.0), format.nudge(random, SQRT_2 + 1.0));
    [
        random.either_sign(any),
        random.either_sign(middle),
        random.between(-1.5, 1.5),
        random.either_sign(low),
        random.either_sign(high),
        format.nudge(random, 1.0),
    ]
}

/// Pairs (y, x).
pub fn atan2(random: &mut Random, format: Format) -> Vec<Arguments> {
    let (any, other, subnormal) = (format.any(random), format.any(random), format.subnormal(random));
    let [_, ratio, _, low, high, one] = atan(random, format);
    // Quotients across the range of results, of which the least are subnormal.
    let small = libm::scalbn(any, -random.below(60) as i32);
    let tiny = random.with_exponent(format.exponents.0, format.exponents.0 + 2 * format.digits);
    let mut arguments = vec![
        (any, other),
        (any * ratio, any),
        (any * low, any),
        (any * high, any),
        (any * one, any),
        (small, any),
        (any * tiny, any),
        (subnormal, subnormal * ratio),
        (format.subnormal(random), subnormal),
        (random.between(-9.0, 9.0), random.between(-9.0, 9.0)),
        (random.below(9) - 4.0, random.below(9) - 4.0),
    ];
    for (y, x) in &mut arguments {
        let signs = (random.either_sign(1.0), random.either_sign(1.0));
        (*y, *x) = (signs.0 * format.round(*y), signs.1 * format.round(*x));
    }
    arguments
}
