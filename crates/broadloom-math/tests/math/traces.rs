//! A trace has the bits of the definition that it was recorded from, except in its rare lanes.

use crate::proof::random::Random;
use crate::proof::table::FUNCTIONS;
use broadloom_math::{Precision, Step, trace};

macro_rules! program_test {
    ($test:ident, $float:ident, $precision:ident, $bits:ident) => {
        #[test]
        fn $test() {
            let mut random = Random(11);
            let special = [0.0, 1.0, 0.5, 2.0, 88.7, 709.8, 1e30, 1e-30, $float::INFINITY, $float::NAN];
            let special =
                special.into_iter().chain([$float::MIN_POSITIVE, $float::MAX, $float::from_bits(1)]);
            let special = special.flat_map(|x: $float| [x, -x]);
            let mut arguments: Vec<$float> = special.collect();
            arguments.extend((0..4000).map(|_| random.between(-20.0, 20.0) as $float));
            arguments.extend((0..4000).map(|_| $float::from_bits(random.bits() as $bits)));
            let (mut recorded, mut rare, mut common) = (0, 0, 0);
            for (row, fused) in FUNCTIONS.iter().flat_map(|row| [(row, false), (row, true)]) {
                let Some(trace) = trace(row.function, Precision::$precision, fused) else { continue };
                recorded += 1;
                let others = arguments.iter().rev().chain(&arguments[..1]);
                for (&x, &y) in arguments.iter().zip(others) {
                    let want = row.$float[usize::from(fused)](x, y);
                    let mut numbers: Vec<$float> = Vec::new();
                    // Masks, too, are numbers here: 1 and 0.
                    for step in trace.steps() {
                        let of = |at: usize| numbers[at];
                        let holds = |at: usize| numbers[at] == 1.0;
                        let mask = |truth: bool| $float::from(u8::from(truth));
                        let bits = |at: usize| numbers[at].to_bits();
                        numbers.push(match *step {
                            Step::Scaled(_, _, product) => of(product),
                            Step::Argument(position) => [x, y][position],
                            Step::Constant(bits) => $float::from_bits(bits as $bits),
                            Step::Add(x, y) => of(x) + of(y),
                            Step::Subtract(x, y) => of(x) - of(y),
                            Step::Multiply(x, y) => of(x) * of(y),
                            Step::Divide(x, y) => of(x) / of(y),
                            Step::Fma(x, y, z) => of(x).mul_add(of(y), of(z)),
                            Step::Negative(x) => -of(x),
                            Step::Sqrt(x) => of(x).sqrt(),
                            Step::And(x, y) => $float::from_bits(bits(x) & bits(y)),
                            Step::Or(x, y) => $float::from_bits(bits(x) | bits(y)),
                            Step::Xor(x, y) => $float::from_bits(bits(x) ^ bits(y)),
                            Step::PlusBits(x, y) => $float::from_bits(bits(x).wrapping_add(bits(y))),
                            Step::MinusBits(x, y) => $float::from_bits(bits(x).wrapping_sub(bits(y))),
                            Step::ShiftLeft(x, by) => $float::from_bits(bits(x) << by),
                            Step::ShiftRight(x, by) => $float::from_bits(bits(x) >> by),
                            Step::Less(x, y) => mask(of(x) < of(y)),
                            Step::LessEqual(x, y) => mask(of(x) <= of(y)),
                            Step::Equal(x, y) => mask(of(x) == of(y)),
                            Step::Unordered(x) => mask(of(x).is_nan()),
                            Step::HasSign(x) => mask(of(x).is_sign_negative()),
                            Step::Both(x, y) => mask(holds(x) && holds(y)),
                            Step::Either(x, y) => mask(holds(x) || holds(y)),
                            Step::Not(x) => mask(!holds(x)),
                            Step::Select(condition, x, y) => {
                                if holds(condition) {
                                    of(x)
                                } else {
                                    of(y)
                                }
                            }
                        });
                    }
                    if trace.rare().is_some_and(|at| numbers[at] == 1.0) {
                        rare += 1;
                        continue;
                    }
                    common += usize::from(trace.rare().is_some());
                    let (f, got) = (row.function, numbers[trace.result()]);
                    assert_eq!(got.to_bits(), want.to_bits(), "{f}, fused: {fused}: ({x:e}, {y:e})");
                }
            }
            assert!(recorded >= 2, "no definition is recorded");
            assert!(rare > 1000 && common > rare, "{rare} rare lanes beside {common} others");
        }
    };
}

program_test!(programs_of_f32_equal_scalars, f32, F32, u32);
program_test!(programs_of_f64_equal_scalars, f64, F64, u64);
