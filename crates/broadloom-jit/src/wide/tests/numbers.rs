//! Types, conditions and numbers to test with.

use crate::wide::Width;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Opcode, Type, types};

pub(super) const INTEGERS: [Type; 4] = [types::I8, types::I16, types::I32, types::I64];
pub(super) const FLOATS: [Type; 2] = [types::F32, types::F64];

/// The vector of lanes of a type.
pub(super) fn vector_of(lane: Type, width: Width) -> Type {
    lane.by(width.bytes() as u32 / lane.bytes()).expect("a vector")
}

pub(super) fn integer_vectors(width: Width) -> [Type; 4] {
    INTEGERS.map(|lane| vector_of(lane, width))
}

pub(super) fn float_vectors(width: Width) -> [Type; 2] {
    FLOATS.map(|lane| vector_of(lane, width))
}

/// Binary operations on integers that all widths have, scalars and vectors.
pub(super) const INTEGER_OPS: [Opcode; 9] = [
    Opcode::Iadd,
    Opcode::Isub,
    Opcode::Band,
    Opcode::Bor,
    Opcode::Bxor,
    Opcode::Smin,
    Opcode::Smax,
    Opcode::Umin,
    Opcode::Umax,
];

pub(super) const SHIFTS: [Opcode; 3] = [Opcode::Ishl, Opcode::Ushr, Opcode::Sshr];

pub(super) const FLOAT_ARITHMETIC: [Opcode; 4] = [Opcode::Fadd, Opcode::Fsub, Opcode::Fmul, Opcode::Fdiv];

/// Operations that are one of bits: of floats as well.
pub(super) const FLOAT_BITS: [Opcode; 4] = [Opcode::Fcopysign, Opcode::Band, Opcode::Bor, Opcode::Bxor];

pub(super) const FLOAT_UNARY: [Opcode; 7] =
    [Opcode::Sqrt, Opcode::Floor, Opcode::Ceil, Opcode::Trunc, Opcode::Nearest, Opcode::Fneg, Opcode::Fabs];

pub(super) const CONDITIONS: [IntCC; 10] = [
    IntCC::Equal,
    IntCC::NotEqual,
    IntCC::SignedLessThan,
    IntCC::SignedLessThanOrEqual,
    IntCC::SignedGreaterThan,
    IntCC::SignedGreaterThanOrEqual,
    IntCC::UnsignedLessThan,
    IntCC::UnsignedLessThanOrEqual,
    IntCC::UnsignedGreaterThan,
    IntCC::UnsignedGreaterThanOrEqual,
];

pub(super) const FLOAT_CONDITIONS: [FloatCC; 14] = [
    FloatCC::Ordered,
    FloatCC::Unordered,
    FloatCC::Equal,
    FloatCC::NotEqual,
    FloatCC::OrderedNotEqual,
    FloatCC::UnorderedOrEqual,
    FloatCC::LessThan,
    FloatCC::LessThanOrEqual,
    FloatCC::GreaterThan,
    FloatCC::GreaterThanOrEqual,
    FloatCC::UnorderedOrLessThan,
    FloatCC::UnorderedOrLessThanOrEqual,
    FloatCC::UnorderedOrGreaterThan,
    FloatCC::UnorderedOrGreaterThanOrEqual,
];

/// Numbers at which something changes, and between.
const NUMBERS: [i64; 24] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    8,
    31,
    32,
    63,
    64,
    100,
    127,
    128,
    -128,
    255,
    0x7fff,
    -0x8000,
    0xffff,
    0x7fff_ffff,
    -0x8000_0000,
    0x1_0000_0000,
    i64::MAX,
    i64::MIN,
];

pub(super) const REALS: [f64; 20] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    1.5,
    -2.5,
    3.75,
    100.25,
    -127.0,
    65_535.5,
    8_388_609.0,
    2_147_483_647.0,
    -2_147_483_648.0,
    4_294_967_296.0,
    9.3e18,
    -1e30,
    1e-40,
    f64::INFINITY,
    f64::NAN,
];

/// Numbers that look random.
#[derive(Clone, Copy)]
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns true with this probability, in percent.
    pub(super) fn in_hundred(&mut self, times: usize) -> bool {
        self.below(100) < times
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A number of any magnitude, often one at which something changes.
    pub(super) fn number(&mut self) -> i64 {
        match self.below(3) {
            0 => self.next().cast_signed() >> self.below(64),
            _ => self.one_of(&NUMBERS),
        }
    }

    /// Bytes that are floats and integers of every kind.
    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let word = match self.below(4) {
                0 => self.one_of(&REALS).to_bits(),
                1 => {
                    let [low, high] = [0; 2].map(|_| self.one_of(&REALS) as f32);
                    u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32
                }
                _ => self.number().cast_unsigned(),
            };
            bytes.extend(word.to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
