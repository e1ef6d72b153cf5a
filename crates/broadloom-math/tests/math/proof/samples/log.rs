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
