//! Arguments of exponentials and of functions that are made of them.

use crate::proof::random::{Format, Random};
use crate::proof::samples::Arguments;
use std::f64::consts::LN_2;

pub fn exp(random: &mut Random, format: Format) -> [f64; 6] {
    let (tiny, step) = (random.with_exponent(-1074, -2), random.below(2120) - 1076.5);
    [
        random.between(-746.0, 710.0),
        random.between(-1.0, 1.0),
        random.between(-746.0, -707.0),
        random.either_sign(tiny),
        format.nudge(random, step * LN_2),
        format.nudge(random, (step + 0.5) * LN_2),
    ]
}

pub fn tanh(random: &mut Random, format: Format) -> [f64; 4] {
    let (tiny, step) = (random.with_exponent(-1074, -1), random.below(60));
    [
        random.between(-22.5, 22.5),
        random.between(-1.0, 1.0),
        random.either_sign(tiny),
        format.nudge(random, (step + 0.5) * 0.5 * LN_2),
    ]
}

pub fn sinh(random: &mut Random, format: Format) -> [f64; 6] {
    // Where the result overflows.
    let end = if format == Format::F32 { 89.41598 } else { 710.4758600739439 };
    let (tiny, step) = (random.with_exponent(-1074, -1), random.below(1026));
    [
        random.between(-end, end),
        random.between(-2.0, 2.0),
        random.between(-20.0, 20.0),
        random.either_sign(tiny),
        format.nudge(random, end),
        format.nudge(random, (step + 0.5) * LN_2),
    ]
}

pub fn exp2(random: &mut Random, format: Format) -> [f64; 5] {
    let (tiny, step) = (random.with_exponent(-1074, -2), random.below(2120) - 1076.5);
    [
        random.between(-1076.0, 1025.0),
        random.between(-1.0, 1.0),
        random.between(-1076.0, -1020.0),
        random.either_sign(tiny),
        format.nudge(random, step),
    ]
}

pub fn logaddexp(random: &mut Random, format: Format) -> Vec<Arguments> {
    let (x, distance) = (random.between(-50.0, 50.0), random.between(-40.0, 40.0));
    let (far, any) = (random.between(-746.0, 746.0), format.any(random));
    // Pairs whose result is near zero: e^x + e^y = 1, or nearly.
    let near = random.between(-4.0, 0.0);
    let cancelling = libm::log1p(-libm::exp(near));
    let small = random.with_exponent(-60, -2);
    let arguments = [
        (x, x + distance),
        (x, far),
        (random.either_sign(any), random.between(-3.0, 3.0)),
        (near, cancelling),
        (near, format.nudge(random, format.round(cancelling))),
        (-small, libm::log(small)),
        (x, format.nudge(random, format.round(x))),
    ];
    arguments.map(|(x, y)| (format.round(x), format.round(y))).to_vec()
}
