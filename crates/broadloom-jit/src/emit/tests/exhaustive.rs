//! What corners may miss: every 16-bit float and what rounds to it, every quotient of bytes, every shift.

use super::elementwise::elementwise;
use super::harness::check;
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::ops::Op;

/// Every value of a 16-bit float.
fn halves(dtype: DType) -> impl Iterator<Item = Scalar> {
    (0..=u16::MAX).map(move |bits| match dtype {
        DType::F16 => Scalar::F16(half::f16::from_bits(bits)),
        _ => Scalar::Bf16(half::bf16::from_bits(bits)),
    })
}

fn number(value: Scalar) -> f64 {
    match value.cast(DType::F64) {
        Scalar::F64(value) => value,
        other => panic!("{other} is no f64"),
    }
}

#[test]
fn every_16_bit_float_converts() {
    check(|_| {
        let mut cases = Vec::new();
        for from in [DType::F16, DType::Bf16] {
            let values: Vec<Vec<Scalar>> = halves(from).map(|value| vec![value]).collect();
            for to in [from, DType::F16, DType::Bf16, DType::F32] {
                cases.push(elementwise(
                    format!("every {from} to {to}"),
                    vec![(from, 16)],
                    values.clone(),
                    move |emitter, args| emitter.cast(&args[0], to),
                    move |args| args[0].cast(to),
                ));
            }
        }
        cases
    });
}

/// The middle between each 16-bit float and the next, and its neighbours, in both wider types.
#[test]
fn ties_between_16_bit_floats_round_to_even() {
    check(|_| {
        let mut cases = Vec::new();
        for to in [DType::F16, DType::Bf16] {
            let values: Vec<f64> = halves(to).map(number).collect();
            // An odd step meets even and odd fractions of every exponent.
            let middles: Vec<f64> =
                values.windows(2).step_by(3).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
            for from in [DType::F32, DType::F64] {
                let around = |middle: f64| match from {
                    DType::F32 => {
                        let middle = middle as f32;
                        [middle.next_down(), middle, middle.next_up()].map(Scalar::F32)
                    }
                    _ => [middle.next_down(), middle, middle.next_up()].map(Scalar::F64),
                };
                cases.push(elementwise(
                    format!("{from} between two {to}"),
                    vec![(from, 8)],
                    middles.iter().flat_map(|middle| around(*middle)).map(|value| vec![value]).collect(),
                    move |emitter, args| emitter.cast(&args[0], to),
                    move |args| args[0].cast(to),
                ));
            }
        }
        cases
    });
}

/// All pairs of bytes; of wider integers, numbers next to multiples of the divisor.
fn quotients(dtype: DType) -> Vec<Vec<Scalar>> {
    if dtype.size() == 1 {
        let bytes = || (0..=u8::MAX).map(move |byte| Scalar::U8(byte).cast(dtype));
        // The divisor stays for a while, so that it serves all lanes, too.
        return bytes().flat_map(|y| bytes().map(move |x| vec![x, y])).collect();
    }
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Of any magnitude.
        (state >> 3).cast_signed() >> (state >> 58)
    };
    (0..6000)
        .map(|at| {
            let (divisor, factor) = (random(), random());
            let x = divisor.wrapping_mul(factor).wrapping_add(at % 3 - 1);
            vec![Scalar::I64(x).cast(dtype), Scalar::I64(divisor).cast(dtype)]
        })
        .collect()
}

#[test]
fn integers_divide_exactly() {
    check(|target| {
        let mut cases = Vec::new();
        for dtype in DType::ALL.iter().copied().filter(|dtype| dtype.class() == Class::Int) {
            let tuples = quotients(dtype);
            for op in [Op::FloorDivide, Op::Remainder, Op::Fmod] {
                for divisors in [16, 1] {
                    cases.push(elementwise(
                        format!("{op} of 16 lanes of {dtype} by {divisors}"),
                        vec![(dtype, 16), (dtype, divisors)],
                        tuples.clone(),
                        move |emitter, args| emitter.op(op, args),
                        move |args| op.evaluate(target.fused, args).expect("integers"),
                    ));
                }
            }
        }
        cases
    });
}

#[test]
fn every_shift_is_in_range() {
    check(|target| {
        let mut cases = Vec::new();
        for dtype in DType::ALL.iter().copied().filter(|dtype| dtype.class() == Class::Int) {
            let width = 8 * dtype.size() as i64;
            let counts = || (0..=width + 1).chain([-1, 127]).map(move |count| Scalar::I64(count).cast(dtype));
            let values =
                [1, -1, 0x5aa5_5aa5_5aa5_5aa5, i64::MIN | 3].map(|value| Scalar::I64(value).cast(dtype));
            for op in [Op::BitwiseLeftShift, Op::BitwiseRightShift] {
                for lanes in [1, 4, 16] {
                    let tuples = counts().flat_map(|count| values.map(|value| vec![value, count])).collect();
                    cases.push(elementwise(
                        format!("{op} of {lanes} lanes of {dtype} by one count"),
                        vec![(dtype, lanes), (dtype, 1)],
                        tuples,
                        move |emitter, args| emitter.op(op, args),
                        move |args| op.evaluate(target.fused, args).expect("integers"),
                    ));
                }
                for count in counts() {
                    cases.push(elementwise(
                        format!("{op} of {dtype} by the constant {count}"),
                        vec![(dtype, 4)],
                        values.iter().map(|value| vec![*value]).collect(),
                        move |emitter, args| {
                            let count = emitter.constant(count);
                            emitter.op(op, &[args[0].clone(), count])
                        },
                        move |args| op.evaluate(target.fused, &[args[0], count]).expect("integers"),
                    ));
                }
            }
        }
        cases
    });
}
