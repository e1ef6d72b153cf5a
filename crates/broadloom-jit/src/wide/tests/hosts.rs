//! Functions of the host that the functions under test call.
#![allow(unsafe_code, reason = "they leave registers in disorder, and are called by their addresses")]

use super::interpret::Bits;
use broadloom_math::CpuLevel;
use cranelift_codegen::ir::{AbiParam, Signature, Type, types};
use cranelift_codegen::isa::CallConv;
use std::arch::asm;

/// Overwrites all registers that the convention does not save, whole.
#[inline(always)]
fn disorder() {
    disorder_above();
    // SAFETY: the only effect is on registers, all of which are declared; a machine with the instructions is
    // required by the tests.
    unsafe {
        asm!(
            "vpcmpeqd ymm0, ymm0, ymm0",
            "vmovaps ymm1, ymm0",
            "vmovaps ymm2, ymm0",
            "vmovaps ymm3, ymm0",
            "vmovaps ymm4, ymm0",
            "vmovaps ymm5, ymm0",
            "vmovaps ymm6, ymm0",
            "vmovaps ymm7, ymm0",
            "vmovaps ymm8, ymm0",
            "vmovaps ymm9, ymm0",
            "vmovaps ymm10, ymm0",
            "vmovaps ymm11, ymm0",
            "vmovaps ymm12, ymm0",
            "vmovaps ymm13, ymm0",
            "vmovaps ymm14, ymm0",
            "vmovaps ymm15, ymm0",
            "mov rax, -1",
            "mov rcx, rax",
            "mov rdx, rax",
            "mov rsi, rax",
            "mov rdi, rax",
            "mov r8, rax",
            "mov r9, rax",
            "mov r10, rax",
            "mov r11, rax",
            clobber_abi("C"),
            options(nomem, nostack),
        );
    }
}

/// Overwrites the registers that AVX-512 adds, where there are any.
pub(super) fn disorder_above() {
    if !CpuLevel::Avx512.is_supported() {
        return;
    }
    // SAFETY: the machine has the instructions, and the convention saves none of the registers.
    unsafe {
        asm!(
            "vpternlogd zmm16, zmm16, zmm16, 0xff",
            "vmovdqa64 zmm17, zmm16",
            "vmovdqa64 zmm18, zmm16",
            "vmovdqa64 zmm19, zmm16",
            "vmovdqa64 zmm20, zmm16",
            "vmovdqa64 zmm21, zmm16",
            "vmovdqa64 zmm22, zmm16",
            "vmovdqa64 zmm23, zmm16",
            "vmovdqa64 zmm24, zmm16",
            "vmovdqa64 zmm25, zmm16",
            "vmovdqa64 zmm26, zmm16",
            "vmovdqa64 zmm27, zmm16",
            "vmovdqa64 zmm28, zmm16",
            "vmovdqa64 zmm29, zmm16",
            "vmovdqa64 zmm30, zmm16",
            "vmovdqa64 zmm31, zmm16",
            "kxnorq k1, k1, k1",
            "kmovq k2, k1",
            "kmovq k3, k1",
            "kmovq k4, k1",
            "kmovq k5, k1",
            "kmovq k6, k1",
            "kmovq k7, k1",
            clobber_abi("C"),
            options(nomem, nostack),
        );
    }
}

fn mixed(numbers: &[i64]) -> i64 {
    numbers.iter().fold(17, |sum, number| sum.wrapping_mul(1_000_003).wrapping_add(*number))
}

/// More integers than registers for arguments, with narrow ones before and after the limit.
extern "C" fn integers(
    a: i64,
    b: i8,
    c: u8,
    d: i16,
    e: u16,
    f: i32,
    g: u32,
    h: i8,
    i: u8,
    j: i16,
    k: u16,
    l: i64,
) -> i64 {
    let numbers = [
        a,
        b.into(),
        c.into(),
        d.into(),
        e.into(),
        f.into(),
        g.into(),
        h.into(),
        i.into(),
        j.into(),
        k.into(),
        l,
    ];
    disorder();
    mixed(&numbers)
}

/// Floats in all their registers, and integers between.
extern "C" fn floats(a: f64, b: i64, c: f32, d: f64, e: i32, f: f32, g: f64, h: f32, i: f64, j: f32) -> f64 {
    // The bits of NaNs differ, which does not matter.
    let bits = |x: f64| if x.is_nan() { 5 } else { x.to_bits().cast_signed() };
    let numbers = [bits(a), b, bits(c.into()), bits(d), e.into()];
    let others = [f.into(), g, h.into(), i, j.into()].map(bits);
    disorder();
    (mixed(&numbers) ^ mixed(&others)) as f64
}

extern "C" fn single(x: f32, y: i64) -> f32 {
    disorder();
    x * 0.5 + (y & 0xff) as f32
}

extern "C" fn byte(x: u8, y: i8) -> u8 {
    disorder();
    x.wrapping_mul(3) ^ y.cast_unsigned()
}

extern "C" fn short(x: i16, y: u16) -> i16 {
    disorder();
    x.wrapping_sub(y.cast_signed())
}

extern "C" fn word(x: u32) -> u32 {
    disorder();
    x.rotate_left(7)
}

/// Writes to memory.
extern "C" fn poke(at: i64, number: i64) {
    disorder();
    // SAFETY: only `folded` calls it, with an address in its array.
    unsafe { (at as usize as *mut i64).write_unaligned(number) };
}

extern "C" fn nothing() {
    disorder();
}

/// Tile functions of integers.
macro_rules! tile {
    ($name:ident, $word:ident) => {
        extern "C" fn $name(to: *mut $word, x: *const $word, y: *const $word, count: usize) {
            for at in 0..count {
                // SAFETY: the code under test passes the addresses of as many lanes.
                unsafe {
                    let (x, y) = (x.add(at).read_unaligned(), y.add(at).read_unaligned());
                    to.add(at).write_unaligned(x.rotate_left(5) ^ y.wrapping_mul(3));
                }
            }
            disorder();
        }
    };
}

tile!(tile_of_words, u32);
tile!(tile_of_long_words, u64);

/// The address of a tile function for lanes of 4 or 8 bytes.
pub(super) fn tile_address(lane: Type) -> usize {
    match lane.bytes() {
        4 => tile_of_words as *const () as usize,
        _ => tile_of_long_words as *const () as usize,
    }
}

/// The lane that a tile function computes of two.
pub(super) fn tile_lane(lane: Type, x: u128, y: u128) -> u128 {
    match lane.bytes() {
        4 => ((x as u32).rotate_left(5) ^ (y as u32).wrapping_mul(3)).into(),
        _ => ((x as u64).rotate_left(5) ^ (y as u64).wrapping_mul(3)).into(),
    }
}

/// Types of parameters, with how they are extended: by their signs or by zeros.
type Params = &'static [(Type, Option<bool>)];

/// Parameters of the function that writes to memory.
pub(super) const POKE: Params = &[(types::I64, None), (types::I64, None)];

pub(super) fn poke_address() -> usize {
    poke as *const () as usize
}

/// All that write nothing: address, parameters, result.
pub(super) fn all() -> Vec<(usize, Params, Option<Type>)> {
    const I64: (Type, Option<bool>) = (types::I64, None);
    const I32: (Type, Option<bool>) = (types::I32, None);
    const I16: (Type, Option<bool>) = (types::I16, Some(true));
    const U16: (Type, Option<bool>) = (types::I16, Some(false));
    const I8: (Type, Option<bool>) = (types::I8, Some(true));
    const U8: (Type, Option<bool>) = (types::I8, Some(false));
    const F32: (Type, Option<bool>) = (types::F32, None);
    const F64: (Type, Option<bool>) = (types::F64, None);
    vec![
        (
            integers as *const () as usize,
            &[I64, I8, U8, I16, U16, I32, I32, I8, U8, I16, U16, I64],
            Some(types::I64),
        ),
        (floats as *const () as usize, &[F64, I64, F32, F64, I32, F32, F64, F32, F64, F32], Some(types::F64)),
        (single as *const () as usize, &[F32, I64], Some(types::F32)),
        (byte as *const () as usize, &[U8, I8], Some(types::I8)),
        (short as *const () as usize, &[I16, U16], Some(types::I16)),
        (word as *const () as usize, &[I32], Some(types::I32)),
        (nothing as *const () as usize, &[], None),
    ]
}

/// The signature of a function of [`all`].
pub(super) fn signature(params: Params, result: Option<Type>) -> Signature {
    let param = |(ty, extension): &(Type, Option<bool>)| match extension {
        None => AbiParam::new(*ty),
        Some(true) => AbiParam::new(*ty).sext(),
        Some(false) => AbiParam::new(*ty).uext(),
    };
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend(params.iter().map(param));
    signature.returns.extend(result.map(AbiParam::new));
    signature
}

/// Calls one of them as an interpreter does.
pub(super) fn call(callee: &Bits, args: &[Bits]) -> Option<Bits> {
    let integer = |at: usize| args[at].lane(types::I64, 0) as i64;
    let f32 = |at: usize| f32::from_bits(args[at].lane(types::F32, 0) as u32);
    let f64 = |at: usize| f64::from_bits(args[at].lane(types::F64, 0) as u64);
    let address = callee.lane(types::I64, 0) as usize;
    if address == poke_address() {
        poke(integer(0), integer(1));
        return None;
    }
    let which = all().iter().position(|(known, ..)| *known == address).expect("a function of the host");
    Some(match which {
        0 => {
            let result = integers(
                integer(0),
                integer(1) as i8,
                integer(2) as u8,
                integer(3) as i16,
                integer(4) as u16,
                integer(5) as i32,
                integer(6) as u32,
                integer(7) as i8,
                integer(8) as u8,
                integer(9) as i16,
                integer(10) as u16,
                integer(11),
            );
            Bits::scalar(types::I64, result)
        }
        1 => {
            let result = floats(
                f64(0),
                integer(1),
                f32(2),
                f64(3),
                integer(4) as i32,
                f32(5),
                f64(6),
                f32(7),
                f64(8),
                f32(9),
            );
            Bits::scalar(types::F64, result.to_bits())
        }
        2 => Bits::scalar(types::F32, single(f32(0), integer(1)).to_bits()),
        3 => Bits::scalar(types::I8, byte(integer(0) as u8, integer(1) as i8)),
        4 => Bits::scalar(types::I16, short(integer(0) as i16, integer(1) as u16)),
        5 => Bits::scalar(types::I32, word(integer(0) as u32)),
        _ => {
            nothing();
            return None;
        }
    })
}
