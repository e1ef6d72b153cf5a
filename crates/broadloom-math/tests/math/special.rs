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

macro_rules! special_values {
    ($test:ident, $float:ident, $bits:ident) => {
        mod $test {
            use super::*;

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
