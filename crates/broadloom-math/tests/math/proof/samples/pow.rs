//! Arguments of powers.

use crate::proof::random::{Format, Random};
use crate::proof::samples::Arguments;
use std::f64::consts::SQRT_2;

pub fn pow(random: &mut Random, format: Format) -> Vec<Arguments> {
    // Exponents such that the result takes any size, of which the largest and smallest show errors most.
    let (least, greatest) = if format == Format::F32 { (-103.97, 88.72) } else { (-745.13, 709.78) };
    let log = random.between(least, greatest);
    let small = random.between(least, least + 0.05 * greatest);
    let any = format.any(random);
    let offset = random.with_exponent(1 - format.digits, -2);
    let near_one = format.round(1.0 + random.either_sign(offset));
    let middle = format.round(random.between(0.5, 2.0));
    let edge = libm::scalbn(format.nudge(random, SQRT_2), (random.bits() % 20) as i32 - 10);
    let moderate = random.with_exponent(-20, 20);
    let mut arguments = vec![
        (any, log / libm::log(any)),
        (any, small / libm::log(any)),
        (near_one, log / libm::log(near_one)),
        (middle, log / libm::log(middle)),
        (edge, random.between(-40.0, 40.0)),
        (moderate, random.between(-10.0, 10.0)),
        (random.below(100) + 1.0, random.below(33) - 16.0),
        (-any, random.below(19) - 9.0),
    ];
    for (x, y) in &mut arguments {
        (*x, *y) = (format.round(*x), format.round(*y));
    }
    arguments
}
