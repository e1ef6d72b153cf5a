//! C99 F.9.7.1 for fmod, and Python's and NumPy's rules for the other two.

use broadloom_math::{Fused, Level, Real, Unfused};

macro_rules! divisions {
    ($test:ident, $float:ident) => {
        #[test]
        fn $test() {
            const INF: $float = $float::INFINITY;
            const NAN: $float = $float::NAN;
            const TINY: $float = $float::from_bits(1);
            const MAX: $float = $float::MAX;

            // x, y; fmod, remainder, floor_divide.
            let table: &[($float, $float, [$float; 3])] = &[
                (5.0, 3.0, [2.0, 2.0, 1.0]),
                (-5.0, 3.0, [-2.0, 1.0, -2.0]),
                (5.0, -3.0, [2.0, -1.0, -2.0]),
                (-5.0, -3.0, [-2.0, -2.0, 1.0]),
                (7.5, 2.0, [1.5, 1.5, 3.0]),
                (-7.5, 2.0, [-1.5, 0.5, -4.0]),
                // Zeros: of x for fmod, of y for remainder, of the quotient for floor_divide.
                (6.0, 3.0, [0.0, 0.0, 2.0]),
                (-6.0, 3.0, [-0.0, 0.0, -2.0]),
                (6.0, -3.0, [0.0, -0.0, -2.0]),
                (-6.0, -3.0, [-0.0, -0.0, 2.0]),
                (0.0, 3.0, [0.0, 0.0, 0.0]),
                (-0.0, 3.0, [-0.0, 0.0, -0.0]),
                (0.0, -3.0, [0.0, -0.0, -0.0]),
                (-0.0, -3.0, [-0.0, -0.0, 0.0]),
                // Infinite divisors.
                (1.0, INF, [1.0, 1.0, 0.0]),
                (-1.0, INF, [-1.0, INF, -1.0]),
                (1.0, -INF, [1.0, -INF, -1.0]),
                (-1.0, -INF, [-1.0, -1.0, 0.0]),
                (0.0, INF, [0.0, 0.0, 0.0]),
                (-0.0, INF, [-0.0, 0.0, -0.0]),
                (MAX, INF, [MAX, MAX, 0.0]),
                // Infinite dividends and zero divisors.
                (INF, 1.0, [NAN; 3]),
                (-INF, 2.0, [NAN; 3]),
                (INF, INF, [NAN; 3]),
                (INF, -INF, [NAN; 3]),
                (1.0, 0.0, [NAN, NAN, INF]),
                (-1.0, 0.0, [NAN, NAN, -INF]),
                (1.0, -0.0, [NAN, NAN, -INF]),
                (0.0, 0.0, [NAN; 3]),
                (-0.0, 0.0, [NAN; 3]),
                (INF, 0.0, [NAN, NAN, INF]),
                (TINY, -0.0, [NAN, NAN, -INF]),
                (NAN, 1.0, [NAN; 3]),
                (1.0, NAN, [NAN; 3]),
                (NAN, 0.0, [NAN; 3]),
                (INF, NAN, [NAN; 3]),
                (-NAN, 1.0, [NAN; 3]),
                (0.0, -NAN, [NAN; 3]),
                // The ends of the format.
                (MAX, TINY, [0.0, 0.0, INF]),
                (-MAX, TINY, [-0.0, 0.0, -INF]),
                (MAX, MAX, [0.0, 0.0, 1.0]),
                (TINY, MAX, [TINY, TINY, 0.0]),
                (-TINY, MAX, [-TINY, MAX, -1.0]),
                (-TINY, 3.0, [-TINY, 3.0, -1.0]),
                (3.0 * TINY, 2.0 * TINY, [TINY, TINY, 1.0]),
                (MAX, 0.75 * MAX, [MAX - 0.75 * MAX, MAX - 0.75 * MAX, 1.0]),
            ];

            fn all<L: Level>(x: $float, y: $float) -> [$float; 3] {
                [Real::fmod::<L>(x, y), Real::remainder::<L>(x, y), Real::floor_divide::<L>(x, y)]
            }
            for &(x, y, want) in table {
                for got in [all::<Fused>(x, y), all::<Unfused>(x, y)] {
                    assert_eq!(
                        got.map($float::to_bits),
                        want.map($float::to_bits),
                        "{x:e} by {y:e}: {got:?}, not {want:?}"
                    );
                }
            }
        }
    };
}

divisions!(f32_divisions, f32);
divisions!(f64_divisions, f64);
