//! Arguments of divisions.

use crate::proof::random::{Format, Random};
use crate::proof::samples::Arguments;

pub fn remainder(random: &mut Random, format: Format) -> Vec<Arguments> {
    let (any, other, small) =
        (format.any(random), format.any(random), format.round(random.between(-10.0, 10.0)));
    let (subnormal, divisor) = (format.subnormal(random), format.subnormal(random));
    let (large, largest) = (random.between(0.2, 1.0), format.largest());
    // Quotients of all sizes up to beyond the vectorised division, next to integers among them.
    let quotient = random.with_exponent(-1, format.digits + 3);
    let quotient = random.either_sign(quotient);
    let integer = libm::rint(quotient);
    let multiple = format.nudge(random, format.round(small * integer));
    let arguments = [
        (any, other),
        (format.round(other * quotient), other),
        (format.round(small * quotient), small),
        (multiple, small),
        (format.round(integer), random.below(1000) + 1.0),
        (subnormal, divisor),
        (-any, divisor),
        (largest * large, -largest * random.between(0.05, 1.0)),
    ];
    arguments.map(|(x, y)| (format.round(x), format.round(y))).to_vec()
}
