//! What CLIF means, step by step, independent of any back end: the reference for the tests.
#![allow(
    unsafe_code,
    reason = "loads, stores and calls of the functions under test go where their addresses say"
)]

use super::hosts;
use crate::emit::{Intrinsic, Narrowing};
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    Block, BlockCall, Function, Inst, InstructionData, Opcode, StackSlot, Type, Value, types,
};
use half::f16;
use std::collections::HashMap;

/// A value: lanes from the lowest byte on. What no lane covers does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits(pub [u8; 64]);

/// In lanes of which nothing is specified.
pub(super) const UNSPECIFIED: u8 = 0x5a;

impl Default for Bits {
    fn default() -> Bits {
        Bits([UNSPECIFIED; 64])
    }
}

impl Bits {
    /// A lane without a sign.
    pub fn lane(self, ty: Type, index: usize) -> u128 {
        let size = ty.lane_type().bytes() as usize;
        let mut bytes = [0; 16];
        bytes[..size].copy_from_slice(&self.0[index * size..][..size]);
        u128::from_le_bytes(bytes)
    }

    /// A value of lanes.
    pub fn of(ty: Type, mut lane: impl FnMut(usize) -> u128) -> Bits {
        let mut bits = Bits::default();
        let size = ty.lane_type().bytes() as usize;
        for index in 0..ty.lane_count() as usize {
            bits.0[index * size..][..size].copy_from_slice(&lane(index).to_le_bytes()[..size]);
        }
        bits
    }

    pub fn scalar(ty: Type, value: impl Into<i128>) -> Bits {
        let value: i128 = value.into();
        Bits::of(ty, |_| value.cast_unsigned())
    }

    /// Whether the lanes are the same, or both no numbers.
    pub fn same(self, other: Bits, ty: Type) -> bool {
        (0..ty.lane_count() as usize).all(|index| {
            let [x, y] = [self, other].map(|bits| bits.lane(ty, index));
            x == y || is_nan(ty.lane_type(), x) && is_nan(ty.lane_type(), y)
        })
    }
}

fn single(bits: u128) -> f32 {
    f32::from_bits(bits as u32)
}

fn double(bits: u128) -> f64 {
    f64::from_bits(bits as u64)
}

fn is_nan(lane: Type, bits: u128) -> bool {
    match lane {
        types::F32 => single(bits).is_nan(),
        types::F64 => double(bits).is_nan(),
        _ => false,
    }
}

/// A lane with the sign of its type.
fn signed(lane: Type, bits: u128) -> i128 {
    let unused = 128 - lane.bits();
    bits.cast_signed() << unused >> unused
}

/// The nearest number that a signed or unsigned type holds.
fn clamped(lane: Type, is_signed: bool, value: i128) -> u128 {
    let [least, most] = match is_signed {
        true => [-(1_i128 << (lane.bits() - 1)), (1_i128 << (lane.bits() - 1)) - 1],
        false => [0, (1_i128 << lane.bits()) - 1],
    };
    value.clamp(least, most).cast_unsigned()
}

/// A function that runs.
struct Run<'f> {
    func: &'f Function,
    values: SecondaryMap<Value, Bits>,
    slots: HashMap<StackSlot, Vec<u128>>,
}

/// Runs a function.
///
/// # Safety
/// Its loads and stores are valid for these arguments, and it calls functions of `hosts` alone.
pub(super) unsafe fn run(func: &Function, args: &[u64]) {
    let slot = |(slot, data): (StackSlot, &cranelift_codegen::ir::StackSlotData)| {
        (slot, vec![0; data.size.div_ceil(16) as usize])
    };
    let slots = func.sized_stack_slots.iter().map(slot).collect();
    let mut run = Run { func, values: SecondaryMap::new(), slots };
    let mut block = func.layout.entry_block().expect("an entry");
    for (param, arg) in func.dfg.block_params(block).iter().zip(args) {
        run.values[*param] = Bits::scalar(types::I64, *arg);
    }
    // SAFETY: as the caller vouches.
    while let Some(next) = unsafe { run.block(block) } {
        block = next;
    }
}

impl Run<'_> {
    /// Runs a block; gives the one after it.
    unsafe fn block(&mut self, block: Block) -> Option<Block> {
        for inst in self.func.layout.block_insts(block) {
            let data = &self.func.dfg.insts[inst];
            let args: Vec<Bits> = self.func.dfg.inst_args(inst).iter().map(|arg| self.values[*arg]).collect();
            match *data {
                InstructionData::Jump { destination, .. } => return Some(self.enter(&destination)),
                InstructionData::Brif { blocks, arg, .. } => {
                    let holds = args[0].lane(self.func.dfg.value_type(arg), 0) != 0;
                    return Some(self.enter(&blocks[usize::from(!holds)]));
                }
                InstructionData::MultiAry { opcode: Opcode::Return, .. } => return None,
                InstructionData::Store { opcode: Opcode::Store, offset, .. } => {
                    let ty = self.func.dfg.value_type(self.func.dfg.inst_args(inst)[0]);
                    let at = (args[1].lane(types::I64, 0) as i64).wrapping_add(offset.into());
                    // SAFETY: as the caller vouches.
                    unsafe {
                        let to = at as usize as *mut u8;
                        args[0].0.as_ptr().copy_to_nonoverlapping(to, ty.bytes() as usize);
                    }
                    continue;
                }
                _ => {}
            }
            // SAFETY: as the caller vouches.
            let result = unsafe { self.inst(inst, data, &args) };
            if let (Some(result), &[value]) = (result, self.func.dfg.inst_results(inst)) {
                self.values[value] = result;
            }
        }
        panic!("a block without an end")
    }

    fn enter(&mut self, call: &BlockCall) -> Block {
        let pool = &self.func.dfg.value_lists;
        let block = call.block(pool);
        let passed: Vec<Bits> =
            call.args(pool).filter_map(|arg| arg.as_value()).map(|value| self.values[value]).collect();
        for (param, value) in self.func.dfg.block_params(block).iter().zip(passed) {
            self.values[*param] = value;
        }
        block
    }

    unsafe fn inst(&mut self, inst: Inst, data: &InstructionData, args: &[Bits]) -> Option<Bits> {
        let dfg = &self.func.dfg;
        let ty = dfg.inst_results(inst).first().map_or(types::INVALID, |value| dfg.value_type(*value));
        let from: Vec<Type> = dfg.inst_args(inst).iter().map(|arg| dfg.value_type(*arg)).collect();
        Some(match *data {
            InstructionData::Load { opcode: Opcode::Load, offset, .. } => {
                let at = (args[0].lane(types::I64, 0) as i64).wrapping_add(offset.into());
                let mut loaded = Bits::default();
                // SAFETY: as the caller vouches.
                unsafe {
                    let from = at as usize as *const u8;
                    from.copy_to_nonoverlapping(loaded.0.as_mut_ptr(), ty.bytes() as usize);
                }
                loaded
            }
            InstructionData::StackAddr { stack_slot, offset, .. } => {
                let start = self.slots[&stack_slot].as_ptr() as i64;
                Bits::scalar(types::I64, start + i64::from(offset))
            }
            InstructionData::CallIndirect { .. } => hosts::call(&args[0], &args[1..])?,
            InstructionData::Call { .. } => {
                let intrinsic = Intrinsic::called(self.func, inst).expect("an intrinsic");
                if let Intrinsic::Gathered { long } = intrinsic {
                    // SAFETY: as the caller vouches.
                    return Some(unsafe { gathered(long, ty, args) });
                }
                intrinsic_of(intrinsic, ty, from[0], args)
            }
            InstructionData::UnaryImm { imm, .. } => Bits::scalar(ty, imm.bits()),
            InstructionData::UnaryIeee32 { imm, .. } => Bits::scalar(ty, imm.bits()),
            InstructionData::UnaryIeee64 { imm, .. } => Bits::scalar(ty, imm.bits()),
            InstructionData::UnaryConst { constant_handle, .. } => {
                let bytes = dfg.constants.get(constant_handle).as_slice();
                let mut bits = Bits::default();
                bits.0[..bytes.len()].copy_from_slice(bytes);
                bits
            }
            InstructionData::IntCompare { cond, .. } => {
                truths(ty, |index| compare(cond, from[0], [0, 1].map(|arg| args[arg].lane(from[0], index))))
            }
            InstructionData::FloatCompare { cond, .. } => truths(ty, |index| {
                compare_floats(cond, from[0], [0, 1].map(|arg| args[arg].lane(from[0], index)))
            }),
            InstructionData::BinaryImm8 { opcode: Opcode::Extractlane, imm, .. } => {
                Bits::of(ty, |_| args[0].lane(from[0], imm.into()))
            }
            InstructionData::TernaryImm8 { opcode: Opcode::Insertlane, imm, .. } => Bits::of(ty, |index| {
                if index == usize::from(imm) { args[1].lane(from[1], 0) } else { args[0].lane(ty, index) }
            }),
            _ => whole(data.opcode(), ty, &from, args),
        })
    }
}

/// Elements at indices from an address on; those of 4 bytes are in the lower half.
///
/// # Safety
///
/// The memory has all of them.
unsafe fn gathered(long: bool, ty: Type, args: &[Bits]) -> Bits {
    let size = if long { 8 } else { 4 };
    let mut bits = Bits(std::array::from_fn(|_| UNSPECIFIED));
    for at in 0..ty.bytes() as usize / 8 {
        let index = args[1].lane(types::I64, at) as i64;
        let place = (args[0].lane(types::I64, 0) as i64).wrapping_add(index * size as i64);
        // SAFETY: as the caller vouches.
        let element = unsafe { std::slice::from_raw_parts(place as usize as *const u8, size) };
        bits.0[at * size..][..size].copy_from_slice(element);
    }
    bits
}

fn truths(ty: Type, holds: impl Fn(usize) -> bool) -> Bits {
    let set = if ty.is_vector() { u128::MAX } else { 1 };
    Bits::of(ty, |index| if holds(index) { set } else { 0 })
}

fn compare(condition: IntCC, lane: Type, [x, y]: [u128; 2]) -> bool {
    let [a, b] = [x, y].map(|bits| signed(lane.lane_type(), bits));
    match condition {
        IntCC::Equal => x == y,
        IntCC::NotEqual => x != y,
        IntCC::SignedLessThan => a < b,
        IntCC::SignedLessThanOrEqual => a <= b,
        IntCC::SignedGreaterThan => a > b,
        IntCC::SignedGreaterThanOrEqual => a >= b,
        IntCC::UnsignedLessThan => x < y,
        IntCC::UnsignedLessThanOrEqual => x <= y,
        IntCC::UnsignedGreaterThan => x > y,
        IntCC::UnsignedGreaterThanOrEqual => x >= y,
    }
}

fn compare_floats(condition: FloatCC, lane: Type, bits: [u128; 2]) -> bool {
    // What is an `f32` is as large as an `f64`.
    let [x, y] = bits.map(|bits| match lane.lane_type() {
        types::F32 => single(bits).into(),
        _ => double(bits),
    });
    let unordered = x.is_nan() || y.is_nan();
    match condition {
        FloatCC::Ordered => !unordered,
        FloatCC::Unordered => unordered,
        FloatCC::Equal => x == y,
        FloatCC::NotEqual => x != y,
        FloatCC::OrderedNotEqual => !unordered && x != y,
        FloatCC::UnorderedOrEqual => unordered || x == y,
        FloatCC::LessThan => x < y,
        FloatCC::LessThanOrEqual => x <= y,
        FloatCC::GreaterThan => x > y,
        FloatCC::GreaterThanOrEqual => x >= y,
        FloatCC::UnorderedOrLessThan => unordered || x < y,
        FloatCC::UnorderedOrLessThanOrEqual => unordered || x <= y,
        FloatCC::UnorderedOrGreaterThan => unordered || x > y,
        FloatCC::UnorderedOrGreaterThanOrEqual => unordered || x >= y,
    }
}

/// The lanes of an instruction that are not one by one those of its operands.
fn whole(opcode: Opcode, ty: Type, from: &[Type], args: &[Bits]) -> Bits {
    let half = from[0].lane_count() as usize / 2;
    let lane = |arg: usize, index: usize| args[arg].lane(from[arg], index);
    let with_sign = |arg: usize, index: usize| signed(from[arg].lane_type(), lane(arg, index));
    match opcode {
        Opcode::Bitcast => args[0],
        Opcode::VanyTrue => {
            let any = (0..from[0].lane_count() as usize).any(|index| lane(0, index) != 0);
            Bits::scalar(ty, any)
        }
        Opcode::Splat => Bits::of(ty, |_| lane(0, 0)),
        Opcode::ScalarToVector => Bits::of(ty, |index| if index == 0 { lane(0, 0) } else { 0 }),
        Opcode::SwidenLow => Bits::of(ty, |index| with_sign(0, index).cast_unsigned()),
        Opcode::SwidenHigh => Bits::of(ty, |index| with_sign(0, index + half).cast_unsigned()),
        Opcode::UwidenLow => Bits::of(ty, |index| lane(0, index)),
        Opcode::UwidenHigh => Bits::of(ty, |index| lane(0, index + half)),
        Opcode::Snarrow | Opcode::Unarrow => Bits::of(ty, |index| {
            let count = from[0].lane_count() as usize;
            let wide = with_sign(index / count, index % count);
            clamped(ty.lane_type(), opcode == Opcode::Snarrow, wide)
        }),
        Opcode::Select => args[if lane(0, 0) != 0 { 1 } else { 2 }],
        Opcode::Bitselect => {
            Bits(std::array::from_fn(|at| args[0].0[at] & args[1].0[at] | !args[0].0[at] & args[2].0[at]))
        }
        _ => Bits::of(ty, |index| {
            // The count of a shift is one for all lanes.
            let lanes: Vec<u128> =
                (0..args.len()).map(|arg| lane(arg, if from[arg].is_vector() { index } else { 0 })).collect();
            element(opcode, ty.lane_type(), from, &lanes)
        }),
    }
}

/// A lane of a type of the lanes of operands, whose floats a function gives of their bits.
macro_rules! element_of_floats {
    ($float:ty, $of_bits:ident, $opcode:ident, $args:ident) => {{
        let x: Vec<$float> = $args.iter().map(|bits| $of_bits(*bits)).collect();
        let whole = match $opcode {
            Opcode::Fadd => x[0] + x[1],
            Opcode::Fsub => x[0] - x[1],
            Opcode::Fmul => x[0] * x[1],
            Opcode::Fdiv => x[0] / x[1],
            Opcode::Fma => x[0].mul_add(x[1], x[2]),
            Opcode::Sqrt => x[0].sqrt(),
            Opcode::Floor => x[0].floor(),
            Opcode::Ceil => x[0].ceil(),
            Opcode::Trunc => x[0].trunc(),
            Opcode::Nearest => x[0].round_ties_even(),
            Opcode::Fneg => -x[0],
            Opcode::Fabs => x[0].abs(),
            Opcode::Fcopysign => x[0].copysign(x[1]),
            Opcode::Fmin | Opcode::Fmax => extreme($opcode, x[0].into(), x[1].into()) as $float,
            _ => panic!("{} of floats", $opcode),
        };
        whole.to_bits().into()
    }};
}

/// A lane of the lanes of operands.
fn element(opcode: Opcode, to: Type, from: &[Type], args: &[u128]) -> u128 {
    let lane = from[0].lane_type();
    let bits = lane.bits();
    let s = |arg: usize| signed(from[arg].lane_type(), args[arg]);
    let unsigned = |value: i128| value.cast_unsigned();
    let count = |arg: usize| (args[arg] % u128::from(bits)) as u32;
    match opcode {
        Opcode::Band => args[0] & args[1],
        Opcode::Bor => args[0] | args[1],
        Opcode::Bxor => args[0] ^ args[1],
        Opcode::Bnot => !args[0],
        Opcode::Iadd => args[0].wrapping_add(args[1]),
        Opcode::Isub => args[0].wrapping_sub(args[1]),
        Opcode::Imul => args[0].wrapping_mul(args[1]),
        Opcode::Smulhi => unsigned((s(0) * s(1)) >> bits),
        Opcode::Umulhi => (args[0] * args[1]) >> bits,
        Opcode::Ineg => unsigned(-s(0)),
        Opcode::Iabs => unsigned(s(0).abs()),
        Opcode::Smin => unsigned(s(0).min(s(1))),
        Opcode::Smax => unsigned(s(0).max(s(1))),
        Opcode::Umin => args[0].min(args[1]),
        Opcode::Umax => args[0].max(args[1]),
        Opcode::Udiv => args[0] / args[1],
        Opcode::Urem => args[0] % args[1],
        Opcode::Sdiv => unsigned(s(0) / s(1)),
        Opcode::Srem => unsigned(s(0) % s(1)),
        Opcode::Ishl => args[0] << count(1),
        Opcode::Ushr => args[0] >> count(1),
        Opcode::Sshr => unsigned(s(0) >> count(1)),
        Opcode::Popcnt => args[0].count_ones().into(),
        Opcode::Clz => (args[0].leading_zeros() - (128 - bits)).into(),
        Opcode::Uextend | Opcode::Ireduce => args[0],
        Opcode::Sextend => unsigned(s(0)),
        Opcode::Blendv => args[if s(0) < 0 { 1 } else { 2 }],
        Opcode::Fpromote => f64::from(single(args[0])).to_bits().into(),
        Opcode::Fdemote => (double(args[0]) as f32).to_bits().into(),
        Opcode::FcvtFromSint if to == types::F32 => (s(0) as f32).to_bits().into(),
        Opcode::FcvtFromSint => (s(0) as f64).to_bits().into(),
        Opcode::FcvtFromUint if to == types::F32 => (args[0] as f32).to_bits().into(),
        Opcode::FcvtFromUint => (args[0] as f64).to_bits().into(),
        Opcode::FcvtToSintSat | Opcode::FcvtToUintSat => {
            let whole = if lane == types::F32 { single(args[0]) as i128 } else { double(args[0]) as i128 };
            clamped(to, opcode == Opcode::FcvtToSintSat, whole)
        }
        Opcode::X86Cvtt2dq => {
            let whole = single(args[0]) as i128;
            let fits = !single(args[0]).is_nan() && i32::try_from(whole).is_ok();
            unsigned(if fits { whole } else { i32::MIN.into() })
        }
        _ if lane == types::F32 => element_of_floats!(f32, single, opcode, args),
        _ if lane == types::F64 => element_of_floats!(f64, double, opcode, args),
        _ => panic!("{opcode} of integers"),
    }
}

/// The lesser or the greater, with -0 below +0; no number if one is none.
fn extreme(opcode: Opcode, x: f64, y: f64) -> f64 {
    let is_less = x.total_cmp(&y).is_lt();
    match () {
        () if x.is_nan() || y.is_nan() => f64::NAN,
        () if is_less == (opcode == Opcode::Fmin) => x,
        () => y,
    }
}

fn intrinsic_of(intrinsic: Intrinsic, ty: Type, from: Type, args: &[Bits]) -> Bits {
    let bytes = |pick: &dyn Fn(usize) -> u8| Bits(std::array::from_fn(pick));
    let x = args[0];
    // What goes to half a register, and the lanes of what comes from one.
    let half = ty.bytes() as usize / 2;
    let lower = |lane: Type, narrow: &dyn Fn(u128) -> u128| {
        let mut bits = Bits::default();
        let (size, wide) = (lane.bytes() as usize, from.lane_type());
        for at in 0..half / size {
            let lane = narrow(x.lane(wide, at));
            bits.0[at * size..][..size].copy_from_slice(&lane.to_le_bytes()[..size]);
        }
        bits
    };
    match intrinsic {
        Intrinsic::ShiftEach { left } => Bits::of(ty, |at| {
            let [x, count] = [args[0], args[1]].map(|arg| arg.lane(ty, at));
            match (count, left) {
                (count, _) if count >= ty.lane_bits().into() => 0,
                (count, true) => x << count,
                (count, false) => x >> count,
            }
        }),
        Intrinsic::Streamed => x,
        // It has no result.
        Intrinsic::Prefetch => Bits::default(),
        Intrinsic::Gathered { .. } => unreachable!("it reads memory"),
        Intrinsic::Tile => {
            let lane = ty.lane_type();
            let is_set = |at: usize| args[1].lane(ty, at) >> (lane.bits() - 1) != 0;
            if !(0..ty.lane_count() as usize).any(is_set) {
                return x;
            }
            assert_eq!(args[2].lane(types::I64, 0), hosts::tile_address(lane) as u128);
            let [x, y] = [args[3], args[args.len() - 1]];
            Bits::of(ty, |at| hosts::tile_lane(lane, x.lane(ty, at), y.lane(ty, at)))
        }
        Intrinsic::From(part) => {
            let part = usize::from(part);
            let count = 16 << part.trailing_zeros();
            bytes(&|at| if at < count { x.0[at + 16 * part] } else { UNSPECIFIED })
        }
        Intrinsic::Joined(parts) => {
            let count = 16 * usize::from(parts);
            bytes(&|at| match at / count {
                0 => x.0[at],
                1 => args[1].0[at - count],
                _ => UNSPECIFIED,
            })
        }
        Intrinsic::Parts(parts) => {
            let all = ty.bytes() as usize / 16;
            let part = |at: usize| usize::from(parts >> (2 * at) & 3) % all;
            bytes(&|at| if at / 16 < all { x.0[16 * part(at / 16) + at % 16] } else { UNSPECIFIED })
        }
        Intrinsic::Whole | Intrinsic::Half => bytes(&|at| if at < 32 { x.0[at] } else { UNSPECIFIED }),
        Intrinsic::Words(words) => bytes(&|at| {
            let word = at / 4 % 4;
            let source = args[word / 2];
            source.0[at / 16 * 16 + 4 * usize::from(words >> (2 * word) & 3) + at % 4]
        }),
        Intrinsic::Bytes => bytes(&|at| match args[1].0[at] {
            128.. => 0,
            order => x.0[at / 16 * 16 + usize::from(order % 16)],
        }),
        Intrinsic::Distances => Bits::of(types::I64X2.by(ty.bytes() / 16).expect("whole words"), |at| {
            (8 * at..8 * at + 8).map(|byte| u128::from(x.0[byte].abs_diff(args[1].0[byte]))).sum()
        }),
        Intrinsic::LeadingZeros => {
            let above = 128 - ty.lane_bits();
            Bits::of(ty, |at| u128::from(x.lane(ty, at).leading_zeros() - above))
        }
        Intrinsic::Picked => Bits::of(ty, |at| {
            let lanes = ty.lane_count() as usize;
            let number = args[2].lane(ty, at) as usize % (2 * lanes);
            args[number / lanes].lane(ty, number % lanes)
        }),
        Intrinsic::Scaled => {
            // In three steps, of which at most the last one rounds.
            let scaled = |x: f64, n: f64| {
                let third = (n / 3.0).trunc();
                x * third.exp2() * third.exp2() * (n - 2.0 * third).exp2()
            };
            Bits::of(ty, |at| match ty.lane_type() {
                types::F32 => {
                    let [x, n] = [x, args[1]].map(|of| f64::from(single(of.lane(ty, at))));
                    (scaled(x, n) as f32).to_bits().into()
                }
                _ => scaled(double(x.lane(ty, at)), double(args[1].lane(ty, at))).to_bits().into(),
            })
        }
        Intrinsic::Promote => Bits::of(ty, |at| f64::from(single(x.lane(types::F32, at))).to_bits().into()),
        Intrinsic::Demote => lower(types::F32, &|lane| (double(lane) as f32).to_bits().into()),
        Intrinsic::OfHalves => {
            Bits::of(ty, |at| f16::from_bits(x.lane(types::I16, at) as u16).to_f32().to_bits().into())
        }
        Intrinsic::ToHalves => lower(types::I16, &|lane| f16::from_f32(single(lane)).to_bits().into()),
        Intrinsic::Widen { signed: true } => {
            Bits::of(ty, |at| signed(from.lane_type(), x.lane(from, at)).cast_unsigned())
        }
        Intrinsic::Widen { signed: false } => Bits::of(ty, |at| x.lane(from, at)),
        Intrinsic::Narrow(narrowing) => lower(ty.lane_type(), &|lane| match narrowing {
            Narrowing::Low => lane,
            _ => {
                let is_signed = narrowing == Narrowing::Signed;
                clamped(ty.lane_type(), is_signed, signed(from.lane_type(), lane))
            }
        }),
    }
}
