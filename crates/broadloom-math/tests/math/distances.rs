//! The measure measures: distances worked out by hand.

use crate::proof::measure::{f64_errors, settled};
use crate::proof::quick;
use crate::proof::random::Format;
use crate::proof::samples::piece;
use crate::proof::table::FUNCTIONS;
use crate::proof::ulps::{Big, big, f32_from_f64, from_big};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// 2^exponent.
fn power(exponent: i32) -> f64 {
    libm::scalbn(1.0, exponent)
}

#[test]
fn of_f32() {
    let (last, limit) = (f64::from(f32::MAX), power(128));
    // Result, true value, distance; the same the other way up.
    let table = [
        (1.0, 1.0, 0.0),
        (1.0 + power(-23), 1.0, 1.0),
        (1.0 - power(-24), 1.0, 0.5),
        (1.0, 1.0 - power(-24), 1.0),
        (1.0, 1.0 + power(-25), 0.25),
        (8.0 + power(-20), 8.0, 1.0),
        // At and below the least normal number the unit is 2^-149.
        (power(-126), power(-126) + power(-151), 0.25),
        (power(-149), power(-150), 0.5),
        (0.0, power(-150), 0.5),
        (0.0, power(-1000), power(-851)),
        // Infinity counts as 2^128, where the unit is 2^104.
        (INF, limit, 0.0),
        (INF, power(200), 0.0),
        (INF, last, 1.0),
        (last, limit, 1.0),
        (INF, limit - power(102), 0.25),
    ];
    for (got, want, distance) in table {
        for sign in [1.0, -1.0] {
            let (got, want) = (sign * got, sign * want);
            assert_eq!(f32_from_f64(got as f32, want, 0.0), distance, "from {want:e} to {got:e}");
            let from_big = from_big(got, &big(want), sign < 0.0, Format::F32, 0.0);
            assert_eq!(from_big, distance, "from {want:e} to {got:e}");
        }
    }
}

#[test]
fn of_f32_without_a_measure() {
    for (got, want) in
        [(NAN, 1.0), (1.0, NAN), (-NAN, NAN), (INF, NAN), (1.0, INF), (-INF, INF), (-0.0, 0.0), (0.0, -0.0)]
    {
        assert_eq!(f32_from_f64(got as f32, want, 0.0), INF, "from {want:e} to {got:e}");
    }
    for (got, want) in [(-1.0, 1.0), (-power(-149), power(-149)), (-0.0, power(-149)), (power(-149), 0.0)] {
        assert_eq!(f32_from_f64(got as f32, want, 0.0), INF, "from {want:e} to {got:e}");
    }
    for same in [NAN, INF, -INF, 0.0, -0.0] {
        assert_eq!(f32_from_f64(same as f32, same, 0.0), 0.0, "{same:e}");
    }
}

#[test]
fn of_f64() {
    let last = f64::MAX;
    // Result, and the true value as a sum.
    let table = [
        (1.0, [1.0, power(-54)], 0.25),
        (1.0, [1.0, -power(-55)], 0.25),
        (1.0 + power(-52), [1.0, 0.0], 1.0),
        // Distances that are no f64.
        (power(-1021), [power(-1021), power(-1074)], 0.5),
        (5.0 * power(-1074), [5.0 * power(-1074), 0.0], 0.0),
        (INF, [last, 0.0], 1.0),
        (INF, [last, power(970)], 0.5),
        (INF, [last, power(971)], 0.0),
        (last, [last, power(971)], 1.0),
    ];
    for (got, [want, rest], distance) in table {
        let want = big(want) + big(rest);
        assert_eq!(from_big(got, &want, false, Format::F64, 0.0), distance, "from {want} to {got:e}");
        assert_eq!(
            from_big(-got, &-want.clone(), true, Format::F64, 0.0),
            distance,
            "from -{want} to -{got:e}"
        );
        assert_eq!(from_big(-got, &want, false, Format::F64, 0.0), INF);
    }
    let quarter: Big = big(power(-1074)) >> 2;
    assert_eq!(from_big(0.0, &quarter, false, Format::F64, 0.0), 0.25);
    assert_eq!(from_big(power(-1074), &quarter, false, Format::F64, 0.0), 0.75);
    assert_eq!(from_big(NAN, &big(1.0), false, Format::F64, 0.0), INF);
}

#[test]
fn in_units_of_a_floor() {
    // A quarter of 2^-23 in units of 2^-22, and of 2^-25.
    let (got, want) = (power(-20) + power(-25), power(-20));
    for (floor, distance) in [(power(-22), 0.125), (power(-25), 1.0), (power(-60), power(18))] {
        assert_eq!(f32_from_f64(got as f32, want, floor), distance);
        assert_eq!(from_big(got, &big(want), false, Format::F32, floor), distance);
    }
}

/// Errors against sums of two f64 are those against multiple precision.
#[test]
fn of_f64_from_pairs() {
    for row in FUNCTIONS {
        let known = piece(row, Format::F64, 1, 400);
        for at in known.filter(|at| quick::value(row.function, at.0, at.1).is_some()) {
            let exact = settled(row, Format::F64, at);
            f64_errors(row, [at], [-1.0; 2], |numerics, finding| {
                let difference = (finding.error - exact[numerics]).abs();
                assert!(difference < 1e-6, "{} at {at:?}: {} and {exact:?}", row.function, finding.error);
            });
        }
    }
}
