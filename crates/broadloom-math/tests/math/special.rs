//! Special values: C99 Annex F, sections 9.1 to 9.4, as tables.

use broadloom_math::{Fused, Level, Real, Unfused};

/// Same bits, or both the one NaN that we return.
macro_rules! check {
    ($level:ident, $float:ident, $function:ident: $($x:expr => $want:expr),* $(,)?) => {
        for (x, want) in [$(($x, $want)),*] {
            let got = <$float as Real>::$function::<$level>(x);
            assert_eq!(got.to_bits(), want.to_bits(), "{}({x:e}) is {got:e}", stringify!($function));
        }
    };
}

mod divisions;
mod logistic;

macro_rules! special_values {
    ($test:ident, $float:ident, $bits:ident) => {
        mod $test {
            use super::*;

            use std::$float::consts::{FRAC_PI_2, FRAC_PI_3, FRAC_PI_4, FRAC_PI_6, PI};

            const INF: $float = $float::INFINITY;
            const NAN: $float = $float::NAN;
            const TINY: $float = $float::from_bits(1);
            const MIN: $float = $float::MIN_POSITIVE;
            const MAX: $float = $float::MAX;

            fn one_operand<L: Level>() {
                let odd_nan = -$float::from_bits(NAN.to_bits() | 5);
                check!(L, $float, exp:
                    0.0 => 1.0, -0.0 => 1.0, INF => INF, -INF => 0.0, NAN => NAN, odd_nan => NAN, MAX => INF,
                    -MAX => 0.0, TINY => 1.0, -TINY => 1.0);
                check!(L, $float, log:
                    0.0 => -INF, -0.0 => -INF, 1.0 => 0.0, -1.0 => NAN, -TINY => NAN, -INF => NAN, INF => INF,
                    NAN => NAN, odd_nan => NAN);
                check!(L, $float, sin:
                    0.0 => 0.0, -0.0 => -0.0, INF => NAN, -INF => NAN,
                    NAN => NAN, odd_nan => NAN, TINY => TINY,
                    -TINY => -TINY, MIN => MIN);
                check!(L, $float, cos:
                    0.0 => 1.0, -0.0 => 1.0, INF => NAN, -INF => NAN,
                    NAN => NAN, odd_nan => NAN, TINY => 1.0);
                check!(L, $float, tanh:
                    0.0 => 0.0, -0.0 => -0.0, INF => 1.0, -INF => -1.0,
                    NAN => NAN, odd_nan => NAN, MAX => 1.0,
                    TINY => TINY, -TINY => -TINY, MIN => MIN);
            }

            /// The constants of the standard library are the nearest numbers of either format.
            fn circular<L: Level>() {
                let odd_nan = -$float::from_bits(NAN.to_bits() | 5);
                let above_one = 1.0 + $float::EPSILON;
                check!(L, $float, tan:
                    0.0 => 0.0, -0.0 => -0.0, INF => NAN, -INF => NAN, NAN => NAN, odd_nan => NAN,
                    TINY => TINY, -TINY => -TINY, MIN => MIN, -MIN => -MIN);
                check!(L, $float, asin:
                    0.0 => 0.0, -0.0 => -0.0, 1.0 => FRAC_PI_2, -1.0 => -FRAC_PI_2, above_one => NAN,
                    -above_one => NAN, INF => NAN, -INF => NAN, NAN => NAN, odd_nan => NAN, TINY => TINY,
                    -TINY => -TINY, MIN => MIN, 0.5 => FRAC_PI_6);
                check!(L, $float, acos:
                    1.0 => 0.0, -1.0 => PI, 0.0 => FRAC_PI_2, -0.0 => FRAC_PI_2, above_one => NAN,
                    -above_one => NAN, INF => NAN, -INF => NAN, NAN => NAN, odd_nan => NAN,
                    TINY => FRAC_PI_2, -TINY => FRAC_PI_2, 0.5 => FRAC_PI_3);
                check!(L, $float, atan:
                    0.0 => 0.0, -0.0 => -0.0, INF => FRAC_PI_2, -INF => -FRAC_PI_2, NAN => NAN,
                    odd_nan => NAN, MAX => FRAC_PI_2, -MAX => -FRAC_PI_2, 1.0 => FRAC_PI_4,
                    -1.0 => -FRAC_PI_4, TINY => TINY, -TINY => -TINY, MIN => MIN);
            }

            fn hyperbolic<L: Level>() {
                let odd_nan = -$float::from_bits(NAN.to_bits() | 5);
                let below_one = 1.0 - 0.5 * $float::EPSILON;
                check!(L, $float, sinh:
                    0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -INF, NAN => NAN, odd_nan => NAN,
                    MAX => INF, -MAX => -INF, TINY => TINY, -TINY => -TINY, MIN => MIN);
                check!(L, $float, cosh:
                    0.0 => 1.0, -0.0 => 1.0, INF => INF, -INF => INF, NAN => NAN, odd_nan => NAN,
                    MAX => INF, -MAX => INF, TINY => 1.0, -TINY => 1.0);
                check!(L, $float, asinh:
                    0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -INF, NAN => NAN, odd_nan => NAN,
                    TINY => TINY, -TINY => -TINY, MIN => MIN);
                check!(L, $float, acosh:
                    1.0 => 0.0, below_one => NAN, 0.0 => NAN, -1.0 => NAN, -MAX => NAN, -INF => NAN,
                    INF => INF, NAN => NAN, odd_nan => NAN);
                check!(L, $float, atanh:
                    0.0 => 0.0, -0.0 => -0.0, 1.0 => INF, -1.0 => -INF, 1.0 + $float::EPSILON => NAN,
                    -MAX => NAN, INF => NAN, -INF => NAN, NAN => NAN, odd_nan => NAN, TINY => TINY,
                    -TINY => -TINY, MIN => MIN);
            }

            /// At y, x and at -y, x, whose angle is the negative.
            fn angles<L: Level>() {
                let three_quarters = (3.0 * std::f64::consts::FRAC_PI_4) as $float;
                let table: &[($float, $float, $float)] = &[
                    // The axes.
                    (0.0, 0.0, 0.0), (0.0, -0.0, PI), (0.0, 1.0, 0.0), (0.0, -1.0, PI), (0.0, TINY, 0.0),
                    (0.0, -TINY, PI), (0.0, INF, 0.0), (0.0, -INF, PI), (1.0, 0.0, FRAC_PI_2),
                    (1.0, -0.0, FRAC_PI_2), (TINY, -0.0, FRAC_PI_2), (INF, 0.0, FRAC_PI_2),
                    // Infinities.
                    (MAX, INF, 0.0), (MAX, -INF, PI), (INF, MAX, FRAC_PI_2), (INF, -MAX, FRAC_PI_2),
                    (INF, INF, FRAC_PI_4), (INF, -INF, three_quarters),
                    // The diagonals, at any size.
                    (1.0, 1.0, FRAC_PI_4), (TINY, TINY, FRAC_PI_4), (MAX, MAX, FRAC_PI_4),
                    (MAX, -MAX, three_quarters), (TINY, -TINY, three_quarters),
                    // Quotients beyond the format, and the least within.
                    (TINY, MAX, 0.0), (TINY, -MAX, PI), (MAX, TINY, FRAC_PI_2), (MAX, -TINY, FRAC_PI_2),
                    (TINY, 1.0, TINY), (MIN, 1.0, MIN), (MIN, MAX, 0.0), (TINY, 4.0, 0.0),
                    // NaN, even at the origin.
                    (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, NAN, NAN), (NAN, INF, NAN), (INF, NAN, NAN),
                    (0.0, NAN, NAN), (NAN, 0.0, NAN),
                ];
                for &(y, x, want) in table {
                    let negative = if want.is_nan() { NAN } else { -want };
                    for (y, want) in [(y, want), (-y, negative)] {
                        let got = Real::atan2::<L>(y, x);
                        assert_eq!(got.to_bits(), want.to_bits(), "atan2({y:e}, {x:e}) is {got:e}, not {want:e}");
                    }
                }
            }

            /// With both signs and in both orders.
            fn lengths<L: Level>() {
                let power = 1.0 / MIN;
                let table: &[($float, $float, $float)] = &[
                    (0.0, 0.0, 0.0), (0.0, TINY, TINY), (0.0, MAX, MAX), (0.0, 1.5, 1.5),
                    // Infinity wins over NaN.
                    (INF, 1.0, INF), (INF, INF, INF), (INF, 0.0, INF), (INF, NAN, INF), (NAN, 1.0, NAN),
                    (NAN, 0.0, NAN), (NAN, NAN, NAN),
                    // Exact roots, at any size.
                    (3.0, 4.0, 5.0), (3.0 * power, 4.0 * power, 5.0 * power), (3.0 * MIN, 4.0 * MIN, 5.0 * MIN),
                    (3.0 * TINY, 4.0 * TINY, 5.0 * TINY), (5.0 * TINY, 12.0 * TINY, 13.0 * TINY),
                    (8.0 * TINY, 15.0 * TINY, 17.0 * TINY), (TINY, MIN, MIN), (TINY, 1.0, 1.0),
                    // Only the result overflows.
                    (MAX, MAX, INF), (MAX, 1.0, MAX), (MAX, TINY, MAX),
                ];
                for &(x, y, want) in table {
                    for (x, y) in [(x, y), (-x, y), (x, -y), (-x, -y), (y, x), (-y, x)] {
                        let got = Real::hypot::<L>(x, y);
                        assert_eq!(got.to_bits(), want.to_bits(), "hypot({x:e}, {y:e}) is {got:e}, not {want:e}");
                    }
                }
            }

            fn powers<L: Level>() {
                let (odd, even) = (3.0, 4.0);
                let (largest_odd, even_beyond) = (2.0 / $float::EPSILON - 1.0, 2.0 / $float::EPSILON);
                let table: &[($float, $float, $float)] = &[
                    // Zero to an odd integer keeps its sign; to anything else it does not.
                    (0.0, -odd, INF), (-0.0, -odd, -INF), (0.0, -even, INF), (-0.0, -even, INF),
                    (0.0, -0.5, INF), (-0.0, -0.5, INF), (0.0, -INF, INF), (-0.0, -INF, INF),
                    (0.0, odd, 0.0), (-0.0, odd, -0.0), (0.0, even, 0.0), (-0.0, even, 0.0),
                    (-0.0, 0.5, 0.0), (-0.0, INF, 0.0), (-0.0, TINY, 0.0), (-0.0, -TINY, INF),
                    (-0.0, largest_odd, -0.0), (-0.0, even_beyond, 0.0), (-0.0, -largest_odd, -INF),
                    // Ones.
                    (-1.0, INF, 1.0), (-1.0, -INF, 1.0), (1.0, NAN, 1.0), (1.0, INF, 1.0), (1.0, -MAX, 1.0),
                    (-1.0, largest_odd, -1.0), (-1.0, even_beyond, 1.0), (-1.0, MAX, 1.0),
                    (NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (INF, 0.0, 1.0), (-0.0, 0.0, 1.0), (-7.0, -0.0, 1.0),
                    // No real result.
                    (-2.0, 0.5, NAN), (-2.0, -1.5, NAN), (-1.0, 0.5, NAN),
                    (-MAX, TINY, NAN), (-TINY, 1.5, NAN),
                    // Infinite exponents.
                    (0.5, -INF, INF), (-0.5, -INF, INF), (2.0, -INF, 0.0), (-2.0, -INF, 0.0),
                    (0.5, INF, 0.0), (-0.5, INF, 0.0), (2.0, INF, INF), (-2.0, INF, INF), (TINY, INF, 0.0),
                    (INF, INF, INF), (-INF, INF, INF), (INF, -INF, 0.0), (0.0, INF, 0.0),
                    // Infinite bases.
                    (-INF, -odd, -0.0), (-INF, -even, 0.0), (-INF, -0.5, 0.0), (-INF, odd, -INF),
                    (-INF, even, INF), (-INF, 0.5, INF), (INF, -0.5, 0.0),
                    (INF, TINY, INF), (INF, -TINY, 0.0),
                    // NaN.
                    (NAN, 1.0, NAN), (2.0, NAN, NAN), (NAN, NAN, NAN), (-1.0, NAN, NAN), (0.0, NAN, NAN),
                    // Overflow and underflow, with signs; and powers that are exact.
                    (MAX, 2.0, INF), (-MAX, odd, -INF), (MIN, 2.0, 0.0),
                    (-MIN, odd, -0.0), (-TINY, -odd, -INF),
                    (MAX, MAX, INF), (TINY, MAX, 0.0), (TINY, -MAX, INF), (MAX, TINY, 1.0), (MAX, 1.0, MAX),
                    (TINY, 1.0, TINY), (-TINY, 1.0, -TINY), (2.0, 10.0, 1024.0),
                    (-2.0, odd, -8.0), (9.0, 0.5, 3.0),
                    (10.0, -1.0, 0.1),
                ];
                for &(x, y, want) in table {
                    let got = Real::pow::<L>(x, y);
                    assert_eq!(got.to_bits(), want.to_bits(), "pow({x:e}, {y:e}) is {got:e}, not {want:e}");
                }
            }

            #[test]
            fn of_functions() {
                one_operand::<Fused>();
                one_operand::<Unfused>();
                circular::<Fused>();
                circular::<Unfused>();
                hyperbolic::<Fused>();
                hyperbolic::<Unfused>();
                angles::<Fused>();
                angles::<Unfused>();
                lengths::<Fused>();
                lengths::<Unfused>();
                powers::<Fused>();
                powers::<Unfused>();
            }

            #[test]
            fn of_maximum_and_minimum() {
                let table: &[($float, $float, $float, $float)] = &[
                    (1.0, 2.0, 2.0, 1.0), (-1.0, 1.0, 1.0, -1.0),
                    (0.0, -0.0, 0.0, -0.0), (-0.0, -0.0, -0.0, -0.0),
                    (0.0, 0.0, 0.0, 0.0), (INF, MAX, INF, MAX), (-INF, NAN, NAN, NAN), (NAN, INF, NAN, NAN),
                    (-0.0, 1.0, 1.0, -0.0), (TINY, 0.0, TINY, 0.0),
                ];
                for &(a, b, larger, smaller) in table {
                    for (a, b) in [(a, b), (b, a)] {
                        let (max, min) = (Real::maximum(a, b), Real::minimum(a, b));
                        assert_eq!(max.to_bits(), larger.to_bits(), "maximum({a:e}, {b:e}) is {max:e}");
                        assert_eq!(min.to_bits(), smaller.to_bits(), "minimum({a:e}, {b:e}) is {min:e}");
                    }
                }
            }
        }
    };
}

special_values!(f32_values, f32, u32);
special_values!(f64_values, f64, u64);
