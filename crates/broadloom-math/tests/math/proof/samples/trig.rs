//! Angles.

use crate::proof::random::{Format, Random};
use crate::proof::ulps::big;

/// Multiples m 2^e that come within 2^-55 to 2^-61 of one of pi/2: the hardest of all f64, of which the
/// closest is known from Muller et al., section 11.1, and the last has the largest exponent. From the
/// convergents of the continued fractions of 2^e 2/pi.
const HARDEST: [(u64, i32); 12] = [
    (7763785107565477, -29),
    (5916243447979695, 79),
    (8583082635084172, 145),
    (7636753411044619, 201),
    (7958046405119485, 243),
    (5850965514341686, 525),
    (6808218460873451, 562),
    (8360820580228475, 628),
    (6381956970095103, 797),
    (8160885118204141, 808),
    (8444920710073313, 939),
    (6221301883130153, 971),
];

/// Angles on both sides of the ends of the vectorised reductions, without and with fused operations.
const BOUNDS: [f64; 4] = [1048575.9999999999, 1048576.0, 1073741823.9999999, 1073741824.0];

pub fn hardest(_: Format) -> Vec<f64> {
    let hardest = HARDEST.map(|(m, e)| libm::scalbn(m as f64, e));
    hardest.into_iter().chain(BOUNDS).collect()
}

pub fn angle(random: &mut Random, format: Format) -> [f64; 8] {
    let (small, large) = (random.with_exponent(-1074, 0), random.with_exponent(20, 1023));
    let bits = random.bits() % 40;
    let multiple = (random.bits() >> (63 - bits)) as f64;
    let half_pi = big(1.0).asin();
    // The nearest f64 to a multiple of pi/2, and one of its neighbours.
    let near = (half_pi.clone() * big(multiple)).to_f64().value();
    let eighth = (half_pi * big(multiple + 0.5)).to_f64().value();
    [
        random.between(-7.0, 7.0),
        random.between(-1048576.0, 1048576.0),
        random.between(-1.1e9, 1.1e9),
        random.either_sign(small),
        random.either_sign(large),
        random.either_sign(near),
        format.nudge(random, near),
        format.nudge(random, eighth),
    ]
}
