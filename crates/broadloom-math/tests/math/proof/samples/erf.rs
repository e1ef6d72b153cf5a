//! Arguments of the error function and of what is made of it.

use crate::proof::random::{Format, Random};
use std::f64::consts::SQRT_2;

pub fn erf(random: &mut Random, format: Format) -> [f64; 6] {
    let tiny = random.with_exponent(-1074, -1);
    let end = if random.bits() & 1 == 0 { 10.06 } else { 27.24 };
    let edge = format.nudge(random, 0.6875);
    [
        random.between(-6.0, 6.0),
        random.between(-1.0, 1.0),
        random.between(0.6, 28.0),
        random.between(end - 0.9, end),
        random.either_sign(tiny),
        random.either_sign(edge),
    ]
}

pub fn gelu(random: &mut Random, format: Format) -> [f64; 6] {
    let tiny = random.with_exponent(-1074, -1);
    let end = if random.bits() & 1 == 0 { -14.4 } else { -38.6 };
    let edge = format.nudge(random, 0.6875 * SQRT_2);
    [
        random.between(-6.0, 6.0),
        random.between(-1.0, 1.0),
        random.between(-40.0, -0.4),
        random.between(end, end + 1.3),
        random.either_sign(tiny),
        random.either_sign(edge),
    ]
}

pub fn gelu_tanh(random: &mut Random, _: Format) -> [f64; 5] {
    let tiny = random.with_exponent(-1074, -1);
    let end = if random.bits() & 1 == 0 { -10.9 } else { -21.6 };
    [
        random.between(-6.0, 6.0),
        random.between(-1.0, 1.0),
        random.between(-22.0, -0.4),
        random.between(end, end + 1.0),
        random.either_sign(tiny),
    ]
}
