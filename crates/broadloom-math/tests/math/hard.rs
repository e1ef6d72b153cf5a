//! Arguments for f64 where implementations go wrong, and random ones of every size.

use crate::reference::{Random, big};
use broadloom_math::Function;
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, SQRT_2};

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

/// Angles on both sides of the vectorised reduction's end, and the largest.
const BOUNDS: [f64; 3] = [1048575.9999999999, 1048576.0, f64::MAX];

/// Finite arguments inside the domain of `f`, with finite results or results just beyond; `count` of each
/// kind.
pub fn samples(f: Function, count: usize) -> Vec<(f64, f64)> {
    let mut random = Random(f as u64);
    match f {
        Function::Exp => unary(count, || exp_argument(&mut random)),
        Function::Log => unary(count, || log_argument(&mut random)),
        Function::Sin | Function::Cos => {
            let mut samples = unary(count, || angle(&mut random));
            let hardest = HARDEST.map(|(m, e)| m as f64 * f64::exp2(f64::from(e)));
            samples.extend(hardest.into_iter().chain(BOUNDS).map(|x| (x, 0.0)));
            samples
        }
        Function::Tanh => unary(count, || tanh_argument(&mut random)),
        Function::Pow => (0..count).flat_map(|_| pow_arguments(&mut random)).collect(),
    }
}

fn unary<const N: usize>(count: usize, mut sample: impl FnMut() -> [f64; N]) -> Vec<(f64, f64)> {
    (0..count).flat_map(|_| sample()).map(|x| (x, 0.0)).collect()
}

/// Some ulps away from `x`, unless that is zero.
fn nudge(random: &mut Random, x: f64) -> f64 {
    if x == 0.0 {
        return x;
    }
    f64::from_bits(x.to_bits().wrapping_add(random.bits() % 17).wrapping_sub(8))
}

fn exp_argument(random: &mut Random) -> [f64; 6] {
    let (tiny, step) = (random.with_exponent(-1074, -2), (random.bits() % 2120) as f64 - 1076.5);
    [
        random.between(-746.0, 710.0),
        random.between(-1.0, 1.0),
        random.between(-746.0, -707.0),
        random.either_sign(tiny),
        nudge(random, step * LN_2),
        nudge(random, (step + 0.5) * LN_2),
    ]
}

fn log_argument(random: &mut Random) -> [f64; 6] {
    let power = f64::exp2((random.bits() % 2000) as f64 - 1000.0);
    let near_one = random.with_exponent(-52, -1);
    [
        random.with_exponent(-1074, 1023),
        random.with_exponent(-1074, -1022),
        random.between(0.5, 2.0),
        1.0 + random.either_sign(near_one),
        nudge(random, SQRT_2 * power),
        nudge(random, FRAC_1_SQRT_2),
    ]
}

fn angle(random: &mut Random) -> [f64; 7] {
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
        random.either_sign(small),
        random.either_sign(large),
        random.either_sign(near),
        nudge(random, near),
        nudge(random, eighth),
    ]
}

fn tanh_argument(random: &mut Random) -> [f64; 4] {
    let (tiny, step) = (random.with_exponent(-1074, -1), (random.bits() % 60) as f64);
    [
        random.between(-22.5, 22.5),
        random.between(-1.0, 1.0),
        random.either_sign(tiny),
        nudge(random, (step + 0.5) * 0.5 * LN_2),
    ]
}

fn pow_arguments(random: &mut Random) -> [(f64, f64); 7] {
    let any = random.with_exponent(-1074, 1023);
    // Exponents such that the result takes any size, of which the largest and smallest show errors most.
    let log = random.between(-745.2, 709.8);
    let near_one = random.with_exponent(-52, -2);
    let near_one = 1.0 + random.either_sign(near_one);
    let middle = random.between(0.5, 2.0);
    let edge = nudge(random, SQRT_2) * f64::exp2((random.bits() % 20) as f64 - 10.0);
    let moderate = random.with_exponent(-20, 20);
    [
        (any, log / any.ln()),
        (near_one, log / near_one.ln()),
        (middle, log / middle.ln()),
        (edge, random.between(-40.0, 40.0)),
        (moderate, random.between(-10.0, 10.0)),
        (any, random.between(-745.2, -708.0) / any.ln()),
        ((random.bits() % 100) as f64 + 1.0, (random.bits() % 33) as f64 - 16.0),
    ]
}
