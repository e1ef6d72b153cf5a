//! Promotion, literals and casts, against tables.

use broadloom_ir::dtype::{AnyNumber, Class, DType, Scalar};
use broadloom_ir::graph::Literal;
use broadloom_ir::ops::Op;
use half::{bf16, f16};

/// NumPy 2.4's `result_type`, printed by it: the first line and the first column are the operands.
const PROMOTION: &str = "
    bool i8   i16  i32  i64  u8   u16  u32  u64  f16  f32  f64
    i8   i8   i16  i32  i64  i16  i32  i64  f64  f16  f32  f64
    i16  i16  i16  i32  i64  i16  i32  i64  f64  f32  f32  f64
    i32  i32  i32  i32  i64  i32  i32  i64  f64  f64  f64  f64
    i64  i64  i64  i64  i64  i64  i64  i64  f64  f64  f64  f64
    u8   i16  i16  i32  i64  u8   u16  u32  u64  f16  f32  f64
    u16  i32  i32  i32  i64  u16  u16  u32  u64  f32  f32  f64
    u32  i64  i64  i64  i64  u32  u32  u32  u64  f64  f64  f64
    u64  f64  f64  f64  f64  u64  u64  u64  u64  f64  f64  f64
    f16  f16  f32  f64  f64  f16  f32  f64  f64  f16  f32  f64
    f32  f32  f32  f64  f64  f32  f32  f64  f64  f32  f32  f64
    f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64
";

fn dtype(name: &str) -> DType {
    DType::ALL.iter().copied().find(|dtype| dtype.name() == name).expect("a dtype")
}

#[test]
fn promotion_is_numpys() {
    let table: Vec<Vec<DType>> = PROMOTION
        .lines()
        .map(|line| line.split_whitespace().map(dtype).collect::<Vec<_>>())
        .filter(|line| !line.is_empty())
        .collect();
    let operands = table[0].clone();
    // All but bf16, which NumPy does not have.
    assert_eq!(operands.len(), DType::ALL.len() - 1);
    for (line, &a) in table.iter().zip(&operands) {
        for (&want, &b) in line.iter().zip(&operands) {
            assert_eq!(a.promote(b), want, "{a} with {b}");
        }
    }
}

#[test]
fn bf16_yields_to_wider_floats_only() {
    for &other in DType::ALL {
        let want = match other {
            DType::F16 | DType::F32 => DType::F32,
            DType::F64 => DType::F64,
            _ => DType::Bf16,
        };
        assert_eq!(DType::Bf16.promote(other), want, "{other}");
        assert_eq!(other.promote(DType::Bf16), want, "{other}");
    }
}

#[test]
fn promotion_of_several_is_numpys_in_any_order() {
    // By `numpy.result_type`.
    let table = [
        ("i8 u8 f16", "f16"),
        ("i8 u16 f16", "f32"),
        ("i16 u16 f16", "f32"),
        ("u8 i16 f32", "f32"),
        ("i16 u16 f32", "f32"),
        ("i32 u8 f32", "f64"),
        ("i64 u64 f32", "f64"),
        ("i8 u8 u16", "i32"),
        ("i8 u32 i64", "i64"),
        ("bool i8 f16", "f16"),
        ("i8 u64 bool", "f64"),
    ];
    for (operands, want) in table {
        let operands: Vec<DType> = operands.split(' ').map(dtype).collect();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let ordered = order.map(|at| operands[at]);
            assert_eq!(DType::promote_all(ordered), Some(dtype(want)), "{ordered:?}");
            assert_eq!(Op::Clip.operand_dtype(&ordered), Some(dtype(want)), "{ordered:?}");
        }
    }
    assert_eq!(DType::promote_all([]), None);
}

#[test]
fn float_functions_of_two_integers_are_numpys() {
    // By `numpy.arctan2`, but for f32 where all operands have 8 bits.
    let table = [
        ("i16 u16", "f32"),
        ("i8 u16", "f32"),
        ("i8 u8", "f32"),
        ("bool u16", "f32"),
        ("i32 u8", "f64"),
        ("u32 i32", "f64"),
        ("i8 f16", "f16"),
        ("u16 f16", "f32"),
        ("i32 f32", "f64"),
    ];
    for (operands, want) in table {
        let operands: Vec<DType> = operands.split(' ').map(dtype).collect();
        assert_eq!(Op::Atan2.operand_dtype(&operands), Some(dtype(want)), "{operands:?}");
    }
}

#[test]
fn literals_fit_or_are_refused() {
    for &dtype in DType::ALL {
        let bits = dtype.size() as u32 * 8;
        let (least, greatest): (i128, i128) = match dtype.class() {
            Class::Int if dtype.is_signed_integer() => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Class::Int => (0, (1 << bits) - 1),
            Class::Bool | Class::Float => continue,
        };
        for value in [least, greatest, 0] {
            let scalar = Literal::Int(value).to_scalar(dtype).expect("in range");
            assert_eq!(scalar.dtype(), dtype);
            assert!(matches!(scalar.number(), AnyNumber::Int(number) if number == value), "{dtype} {value}");
        }
        for value in [least - 1, greatest + 1, i128::MAX, i128::MIN] {
            assert_eq!(Literal::Int(value).to_scalar(dtype), None, "{dtype} {value}");
        }
        assert_eq!(Literal::Float(1.0).dtype(dtype), DType::F64);
    }
    assert_eq!(Literal::Float(65519.9).to_scalar(DType::F16), Some(Scalar::F16(f16::MAX)));
    assert_eq!(Literal::Float(65520.0).to_scalar(DType::F16), None);
    assert_eq!(Literal::Int(65520).to_scalar(DType::F16), None);
    assert_eq!(Literal::Float(f64::INFINITY).to_scalar(DType::F16), Some(Scalar::F16(f16::INFINITY)));
    assert_eq!(Literal::Float(1e39).to_scalar(DType::F32), None);
    assert_eq!(Literal::Float(0.1).to_scalar(DType::Bf16), Some(Scalar::Bf16(bf16::from_f32(0.1))));
    assert_eq!(Literal::Int(3).dtype(DType::Bf16), DType::Bf16);
    assert_eq!(Literal::Int(3).dtype(DType::Bool), DType::I64);
}

/// Every float of 16 bits, and its neighbours' midpoints, from the definition of the format.
#[test]
fn casts_to_16_bits_round_once() {
    let ordered = |decode: &dyn Fn(u16) -> f64, last: u16| (0..=last).map(decode).collect::<Vec<f64>>();
    let f16s = ordered(
        &|bits| match bits >> 10 {
            0 => f64::from(bits) * 2f64.powi(-24),
            exponent => f64::from(bits & 0x3ff | 0x400) * 2f64.powi(i32::from(exponent) - 25),
        },
        0x7bff,
    );
    let bf16s = ordered(
        &|bits| match bits >> 7 {
            0 => f64::from(bits) * 2f64.powi(-133),
            exponent => f64::from(bits & 0x7f | 0x80) * 2f64.powi(i32::from(exponent) - 134),
        },
        0x7f7f,
    );
    for (dtype, floats) in [(DType::F16, f16s), (DType::Bf16, bf16s)] {
        let infinity = Scalar::F64(f64::INFINITY).cast(dtype).bits();
        for (index, pair) in floats.windows(2).enumerate() {
            let (low, high) = (index as u64, index as u64 + 1);
            let middle = (pair[0] + pair[1]) / 2.0;
            let even = if low % 2 == 0 { low } else { high };
            let below = f64::from_bits(middle.to_bits() - 1);
            let above = f64::from_bits(middle.to_bits() + 1);
            for (value, want) in [(pair[0], low), (below, low), (middle, even), (above, high)] {
                assert_eq!(Scalar::F64(value).cast(dtype).bits(), want, "{dtype} {value:e}");
                assert_eq!(Scalar::F64(-value).cast(dtype).bits(), want | 0x8000, "{dtype} -{value:e}");
            }
        }
        let last = floats.len() as u64 - 1;
        assert_eq!(infinity, last + 1);
        let step = floats[floats.len() - 1] - floats[floats.len() - 2];
        let limit = floats[floats.len() - 1] + step / 2.0;
        assert_eq!(Scalar::F64(limit).cast(dtype).bits(), infinity);
        assert_eq!(Scalar::F64(f64::from_bits(limit.to_bits() - 1)).cast(dtype).bits(), last);
        assert!(Scalar::F64(f64::NAN).cast(dtype).is_nan());
    }
}

#[test]
fn casts_saturate_and_wrap() {
    let cast = |value: Scalar, to| value.cast(to);
    assert_eq!(cast(Scalar::F64(300.0), DType::U8), Scalar::U8(255));
    assert_eq!(cast(Scalar::F64(-1.5), DType::U64), Scalar::U64(0));
    assert_eq!(cast(Scalar::F64(1e30), DType::U64), Scalar::U64(u64::MAX));
    assert_eq!(cast(Scalar::F32(f32::NAN), DType::I16), Scalar::I16(0));
    assert_eq!(cast(Scalar::F16(f16::NEG_INFINITY), DType::I8), Scalar::I8(-128));
    assert_eq!(cast(Scalar::F32(-1.9), DType::I8), Scalar::I8(-1));
    assert_eq!(cast(Scalar::I64(300), DType::U8), Scalar::U8(44));
    assert_eq!(cast(Scalar::U64(u64::MAX), DType::I8), Scalar::I8(-1));
    assert_eq!(cast(Scalar::I32(-1), DType::U64), Scalar::U64(u64::MAX));
    assert_eq!(cast(Scalar::U64(u64::MAX), DType::F32), Scalar::F32(2f32.powi(64)));
    assert_eq!(cast(Scalar::I64((1 << 53) + 1), DType::F64), Scalar::F64(2f64.powi(53)));
    assert_eq!(cast(Scalar::F64(-0.0), DType::Bool), Scalar::Bool(false));
    assert_eq!(cast(Scalar::F64(f64::NAN), DType::Bool), Scalar::Bool(true));
    assert_eq!(cast(Scalar::I64(256), DType::Bool), Scalar::Bool(true));
}
