//! Arguments of `hypot`.

use crate::proof::random::{Format, Random};
use crate::proof::samples::Arguments;

pub fn hypot(random: &mut Random, format: Format) -> Vec<Arguments> {
    let (any, other, subnormal) = (format.any(random), format.any(random), format.subnormal(random));
    let (least, greatest) = format.exponents;
    // Both near the same size, across all sizes; just there the smaller square is half lost, or all.
    let apart = -random.below(format.digits as u64 + 3) as i32;
    let near = libm::scalbn(random.between(0.5, 2.0), apart);
    // Around every power of two, at some of which the implementation begins to scale.
    let power = libm::scalbn(1.0, least + random.below((greatest - least) as u64) as i32);
    let largest = libm::scalbn(random.between(0.5, 1.0), greatest + 1);
    let mut arguments = vec![
        (any, other),
        (any, any * near),
        (format.nudge(random, power), power * near),
        (subnormal, subnormal * near),
        (subnormal, format.subnormal(random)),
        (largest, largest * near),
        (random.between(1.0, 2.0), random.between(0.0, 2.0)),
        (3.0 * power, 4.0 * power),
        (random.below(100), random.below(100)),
    ];
    for (x, y) in &mut arguments {
        (*x, *y) = (random.either_sign(format.round(*x)), random.either_sign(format.round(*y)));
    }
    arguments
}
