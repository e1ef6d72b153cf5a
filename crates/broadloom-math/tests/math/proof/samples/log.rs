//! Arguments of logarithms.

use crate::proof::random::{Format, Random};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

pub fn log(random: &mut Random, format: Format) -> [f64; 6] {
    let power = libm::scalbn(SQRT_2, (random.bits() % 2000) as i32 - 1000);
    let near_one = random.with_exponent(-52, -1);
    [
        format.any(random),
        format.subnormal(random),
        random.between(0.5, 2.0),
        1.0 + random.either_sign(near_one),
        format.nudge(random, power),
        format.nudge(random, FRAC_1_SQRT_2),
    ]
}

pub fn asinh(random: &mut Random, format: Format) -> [f64; 6] {
    let (any, middle) = (format.any(random), random.with_exponent(-12, 3));
    // Where the sum under the logarithm crosses sqrt(2) 2^k, and where the one no longer counts.
    let crossing = sinh_of_log(libm::scalbn(SQRT_2, (random.bits() % 40) as i32));
    let lost = libm::scalbn(1.0, (random.bits() % 40) as i32);
    [
        random.either_sign(any),
        random.either_sign(middle),
        random.between(-1.0, 1.0),
        random.between(-9.0, 9.0),
        format.nudge(random, crossing),
        format.nudge(random, lost),
    ]
}

/// (w - 1/w) / 2.
fn sinh_of_log(w: f64) -> f64 {
    0.5 * (w - 1.0 / w)
}

pub fn acosh(random: &mut Random, format: Format) -> [f64; 6] {
    let near_one = random.with_exponent(-52, 0);
    let w = libm::scalbn(SQRT_2, (random.bits() % 40) as i32);
    let lost = libm::scalbn(1.0, (random.bits() % 40) as i32);
    [
        random.with_exponent(0, format.exponents.1),
        random.with_exponent(0, 4),
        1.0 + near_one,
        random.between(1.0, 3.0),
        format.nudge(random, 0.5 * (w + 1.0 / w)).max(1.0),
        format.nudge(random, lost).max(1.0),
    ]
}

pub fn atanh(random: &mut Random, format: Format) -> [f64; 5] {
    let (any, near_one) = (random.with_exponent(format.exponents.0, -1), random.with_exponent(-53, -1));
    // Where (1 + x) / (1 - x) crosses sqrt(2) 2^k.
    let w = libm::scalbn(SQRT_2, (random.bits() % 50) as i32);
    let crossing = (w - 1.0) / (w + 1.0);
    [
        random.either_sign(any),
        random.between(-1.0, 1.0),
        random.between(-0.4, 0.4),
        random.either_sign(format.round(1.0 - near_one)),
        format.nudge(random, crossing).min(1.0),
    ]
}

pub fn log1p(random: &mut Random, format: Format) -> [f64; 6] {
    let (any, tiny) = (format.any(random), random.with_exponent(-1074, -2));
    let near_pole = random.with_exponent(1 - format.digits, -1);
    // On both sides of where the power of two in 1 + x changes.
    let power = libm::scalbn(SQRT_2, (random.bits() % 120) as i32 - 60);
    let edge = format.nudge(random, format.round(power - 1.0));
    [
        any,
        random.either_sign(tiny),
        random.between(-1.0, 2.0),
        random.between(-0.3, 0.45),
        near_pole - 1.0,
        edge,
    ]
}

pub fn any(random: &mut Random, format: Format) -> [f64; 3] {
    let (any, subnormal) = (format.any(random), format.subnormal(random));
    [random.either_sign(any), random.either_sign(subnormal), random.between(0.5, 8.0)]
}
