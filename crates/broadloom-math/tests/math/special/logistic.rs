//! C99 F.9.3 and F.9.5 for exp2, expm1, log2, log10, log1p, cbrt, erf and erfc; limits for the logistic family;
//! and results that are exact.

use broadloom_math::{Fused, Level, Real, Unfused};

macro_rules! logistic {
    ($test:ident, $float:ident, $exponents:expr, $power_of_ten:literal, $root:literal) => {
        mod $test {
            use super::*;
            use std::$float::consts::LN_2;

            const INF: $float = $float::INFINITY;
            const NAN: $float = $float::NAN;
            const TINY: $float = $float::from_bits(1);
            const MIN: $float = $float::MIN_POSITIVE;
            const MAX: $float = $float::MAX;

            fn limits<L: Level>() {
                let odd_nan = -$float::from_bits(NAN.to_bits() | 5);
                let below_minus_one = -1.0 - $float::EPSILON;
                check!(L, $float, exp2:
                    0.0 => 1.0, -0.0 => 1.0, INF => INF, -INF => 0.0, NAN => NAN, odd_nan => NAN, MAX => INF,
                    -MAX => 0.0, TINY => 1.0, -TINY => 1.0);
                check!(L, $float, expm1:
                    0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -1.0, NAN => NAN, odd_nan => NAN, MAX => INF,
                    -MAX => -1.0, TINY => TINY, -TINY => -TINY, MIN => MIN, -MIN => -MIN);
                check!(L, $float, log2:
                    0.0 => -INF, -0.0 => -INF, 1.0 => 0.0, -1.0 => NAN, -TINY => NAN, -INF => NAN, INF => INF,
                    NAN => NAN, odd_nan => NAN);
                check!(L, $float, log10:
                    0.0 => -INF, -0.0 => -INF, 1.0 => 0.0, -1.0 => NAN, -TINY => NAN, -INF => NAN, INF => INF,
                    NAN => NAN, odd_nan => NAN);
                check!(L, $float, log1p:
                    0.0 => 0.0, -0.0 => -0.0, -1.0 => -INF, below_minus_one => NAN, -MAX => NAN, -INF => NAN,
                    INF => INF, NAN => NAN, odd_nan => NAN, TINY => TINY, -TINY => -TINY, MIN => MIN);
                check!(L, $float, cbrt:
                    0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -INF, NAN => NAN, odd_nan => NAN, 1.0 => 1.0,
                    -8.0 => -2.0);
                check!(L, $float, erf:
                    0.0 => 0.0, -0.0 => -0.0, INF => 1.0, -INF => -1.0, NAN => NAN, odd_nan => NAN, MAX => 1.0,
                    -MAX => -1.0, TINY => TINY, -TINY => -TINY);
                check!(L, $float, erfc:
                    0.0 => 1.0, -0.0 => 1.0, INF => 0.0, -INF => 2.0, NAN => NAN, odd_nan => NAN, MAX => 0.0,
                    -MAX => 2.0, TINY => 1.0, -TINY => 1.0);
                check!(L, $float, sigmoid:
                    0.0 => 0.5, -0.0 => 0.5, INF => 1.0, -INF => 0.0, NAN => NAN, odd_nan => NAN, MAX => 1.0,
                    -MAX => 0.0, TINY => 0.5, -TINY => 0.5);
                check!(L, $float, softplus:
                    0.0 => LN_2, -0.0 => LN_2, INF => INF, -INF => 0.0, NAN => NAN, odd_nan => NAN, MAX => MAX,
                    -MAX => 0.0);
                check!(L, $float, gelu:
                    0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -0.0, NAN => NAN, odd_nan => NAN, MAX => MAX,
                    -MAX => -0.0);
                check!(L, $float, gelu_tanh:
                    0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -0.0, NAN => NAN, odd_nan => NAN, MAX => MAX,
                    -MAX => -0.0);
                check!(L, $float, silu:
                    0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -0.0, NAN => NAN, odd_nan => NAN, MAX => MAX,
                    -MAX => -0.0);
                for (x, y, want) in [
                    (-INF, -INF, -INF), (INF, INF, INF), (INF, -INF, INF), (-INF, 3.0, 3.0), (INF, -MAX, INF),
                    (-INF, -0.5, -0.5), (MAX, MAX, MAX), (-MAX, -MAX, -MAX), (MAX, -MAX, MAX),
                    (0.0, 0.0, LN_2), (0.0, -0.0, LN_2), (-INF, -MAX, -MAX), (NAN, 0.0, NAN), (NAN, INF, NAN),
                    (NAN, -INF, NAN), (odd_nan, NAN, NAN),
                ] {
                    for (x, y) in [(x, y), (y, x)] {
                        let got = Real::logaddexp::<L>(x, y);
                        assert_eq!(got.to_bits(), want.to_bits(), "logaddexp({x:e}, {y:e}) is {got:e}");
                    }
                }
            }

            fn exact<L: Level>() {
                for n in $exponents {
                    let (n, power) = (n as $float, libm::scalbn(1.0, n) as $float);
                    assert_eq!(Real::exp2::<L>(n), power, "2^{n}");
                    assert_eq!(Real::log2::<L>(power), n, "log2 2^{n}");
                }
                let mut power = 1.0;
                for n in 0..=$power_of_ten {
                    assert_eq!(Real::log10::<L>(power), n as $float, "log10 1e{n}");
                    power *= 10.0;
                }
                for root in 1..=$root {
                    let root = root as $float;
                    assert_eq!(Real::cbrt::<L>(-root * root * root), -root, "cbrt {root}^3");
                }
            }

            #[test]
            fn limits_are_exact() {
                limits::<Fused>();
                limits::<Unfused>();
            }

            #[test]
            fn exact_results_are_exact() {
                exact::<Fused>();
                exact::<Unfused>();
            }
        }
    };
}

// The last power of ten and the last root whose cube are numbers of the format; of roots for f64, the first.
logistic!(f32_values, f32, -149..=127, 10, 256);
logistic!(f64_values, f64, -1074..=1023, 22, 20000);
