//! Random functions: more live values than registers, nested loops, calls, addresses of every form.
//!
//! The bits of a NaN are unspecified, so they never become those of an integer.

mod control;
mod vectors;

use super::hosts;
use super::machine::{built, signature};
use super::numbers::*;
use crate::emit::{Emitter, Host, Intrinsic, Narrowing};
use crate::notes::Notes;
use crate::wide::Width;
use broadloom_math::CpuLevel;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    BlockArg, Endianness, Function, InstBuilder, MemFlagsData, Opcode, StackSlot, StackSlotData,
    StackSlotKind, Type, Value, types,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::FuncInstBuilder;

/// Bytes that functions read: their first argument points to them.
pub(in crate::wide) const SOURCE: usize = 2048;
/// Bytes of the second argument's array that functions write and read again. The results follow them.
pub(in crate::wide) const SCRATCH: usize = 512;
/// The maximum number of bytes of a result.
pub(in crate::wide) const PLACE: usize = 64;
/// Number of results.
const RESULTS: usize = 96;
/// Bytes of the second argument's array.
pub(in crate::wide) const TARGET: usize = SCRATCH + PLACE * RESULTS;

/// The kinds of statements in functions.
#[derive(Clone, Copy, Debug)]
pub(in crate::wide) struct Kinds {
    /// The width of vectors.
    pub width: Width,
    /// Whether there are vectors, which Cranelift does not support at this width.
    pub vectors: bool,
    /// Bytes of the largest stack slot.
    pub slot: u32,
}

/// A random function.
pub(in crate::wide) struct Generated {
    pub func: Function,
    /// The types of the results, which are stored after the scratch.
    pub results: Vec<Type>,
}

/// A function for a seed.
pub(in crate::wide) fn function(isa: &dyn TargetIsa, seed: u64, kinds: Kinds) -> Generated {
    let mut results = Vec::new();
    let func = built(isa, signature(), |builder, params| {
        let mut notes = Notes::default();
        let host = Host::of(isa).with_vector_bytes(kinds.width.bytes());
        let mut generator = Generator {
            emitter: Emitter::new(builder, host, CpuLevel::Avx2Fma, &mut notes),
            random: Random(seed),
            kinds,
            source: params[0],
            target: params[1],
            pool: params[2..].to_vec(),
            slots: Vec::new(),
            budget: 0,
        };
        generator.budget = 40 + generator.random.below(160);
        results = generator.body();
        builder.ins().return_(&[]);
    });
    Generated { func, results }
}

struct Generator<'a, 'f> {
    emitter: Emitter<'a, 'f>,
    random: Random,
    kinds: Kinds,
    source: Value,
    target: Value,
    /// Values in scope that are not addresses.
    pool: Vec<Value>,
    /// Stack slots, and the offsets that have been written.
    slots: Vec<(StackSlot, Vec<i32>)>,
    /// The number of statements that may still be added.
    budget: usize,
}

impl<'f> Generator<'_, 'f> {
    fn ins(&mut self) -> FuncInstBuilder<'_, 'f> {
        self.emitter.builder.ins()
    }

    fn type_of(&self, value: Value) -> Type {
        self.emitter.builder.func.dfg.value_type(value)
    }

    fn unary(&mut self, opcode: Opcode, to: Type, x: Value) -> Value {
        let (inst, dfg) = self.ins().Unary(opcode, to, x);
        dfg.first_result(inst)
    }

    fn binary(&mut self, opcode: Opcode, x: Value, y: Value) -> Value {
        let ty = self.type_of(x);
        let (inst, dfg) = self.ins().Binary(opcode, ty, x, y);
        dfg.first_result(inst)
    }

    fn ternary(&mut self, opcode: Opcode, x: Value, y: Value, z: Value) -> Value {
        let ty = self.type_of(y);
        let (inst, dfg) = self.ins().Ternary(opcode, ty, x, y, z);
        dfg.first_result(inst)
    }

    fn bitcast(&mut self, to: Type, x: Value) -> Value {
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.ins().bitcast(to, flags, x)
    }

    fn number(&mut self, ty: Type, value: i64) -> Value {
        let value = match ty.bits() {
            64 => value,
            bits => value & ((1 << bits) - 1),
        };
        self.ins().iconst(ty, value)
    }

    fn constant(&mut self, ty: Type) -> Value {
        match ty {
            types::F32 => {
                let value = self.random.one_of(&REALS) as f32;
                self.ins().f32const(value)
            }
            types::F64 => {
                let value = self.random.one_of(&REALS);
                self.ins().f64const(value)
            }
            _ if ty.is_vector() => {
                let bytes = self.random.bytes(self.kinds.width.bytes());
                let constant = self.emitter.builder.func.dfg.constants.insert(bytes.into());
                self.ins().vconst(ty, constant)
            }
            _ => {
                let value = self.random.number();
                self.number(ty, value)
            }
        }
    }

    fn any_type(&mut self) -> Type {
        match self.random.below(if self.kinds.vectors { 10 } else { 5 }) {
            0..3 => self.random.one_of(&INTEGERS),
            3..5 => self.random.one_of(&FLOATS),
            5..8 => self.random.one_of(&integer_vectors(self.kinds.width)),
            _ => self.random.one_of(&float_vectors(self.kinds.width)),
        }
    }

    /// Some value of a type.
    fn value(&mut self, ty: Type) -> Value {
        let known: Vec<Value> =
            self.pool.iter().copied().filter(|value| self.type_of(*value) == ty).collect();
        match self.random.below(10) {
            0 => self.constant(ty),
            1 => self.load_from_source(ty),
            _ if known.is_empty() => self.load_from_source(ty),
            _ => self.random.one_of(&known),
        }
    }

    fn integer(&mut self) -> Value {
        let ty = self.random.one_of(&INTEGERS);
        self.value(ty)
    }

    /// Emits the function: initial values, statements, results.
    fn body(&mut self) -> Vec<Type> {
        for size in [PLACE as u32, self.kinds.slot] {
            if size > 0 && self.random.in_hundred(70) {
                self.slot(size);
            }
        }
        for _ in 0..8 {
            let ty = self.any_type();
            let loaded = self.load_from_source(ty);
            self.pool.push(loaded);
        }
        while self.budget > 0 {
            self.statement(0);
        }
        let mut results = Vec::new();
        while results.len() < RESULTS && !self.pool.is_empty() {
            let at = self.random.below(self.pool.len());
            let value = self.pool.swap_remove(at);
            let offset = (SCRATCH + PLACE * results.len()) as i32;
            let (flags, target) = (self.flags(), self.target);
            self.ins().store(flags, value, target, offset);
            results.push(self.type_of(value));
        }
        results
    }

    fn slot(&mut self, size: u32) {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4);
        let slot = self.emitter.builder.create_sized_stack_slot(slot);
        // A vector can be loaded from each of them.
        let bytes = self.kinds.width.bytes() as i32;
        let last = size as i32 - bytes;
        let places = [0, 32.min(last), last / 2 / 32 * 32, last];
        let address = self.ins().stack_addr(types::I64, slot, 0);
        let flags = self.flags();
        for place in places {
            for word in 0..bytes / 8 {
                let value = self.constant(types::I64);
                self.ins().store(flags, value, address, place + 8 * word);
            }
        }
        self.slots.push((slot, places.to_vec()));
    }

    fn flags(&self) -> MemFlagsData {
        self.emitter.flags
    }

    fn statement(&mut self, depth: usize) {
        self.budget = self.budget.saturating_sub(1);
        let vectors = self.kinds.vectors;
        match self.random.below(if vectors { 44 } else { 26 }) {
            0..9 => self.integers(),
            9..14 => self.floats(),
            14..19 => self.memory(),
            19 => self.call(),
            20..23 if depth < 3 => self.branch(depth),
            23..26 if depth < 3 => self.repeat(depth),
            26..36 => self.vectors(),
            36..40 => self.float_vectors(),
            40.. => self.between_vectors(),
            _ => self.integers(),
        }
    }

    fn integers(&mut self) {
        let ty = self.random.one_of(&INTEGERS);
        let [x, y] = [0; 2].map(|_| self.value(ty));
        let result = match self.random.below(18) {
            0..5 => {
                let all = [Opcode::Iadd, Opcode::Isub, Opcode::Imul, Opcode::Band, Opcode::Bor, Opcode::Bxor];
                let opcode = self.random.one_of(&all);
                self.binary(opcode, x, y)
            }
            5 => {
                let all = [Opcode::Smin, Opcode::Smax, Opcode::Umin, Opcode::Umax];
                let opcode = self.random.one_of(&all);
                self.binary(opcode, x, y)
            }
            6 => {
                let all = [Opcode::Bnot, Opcode::Ineg, Opcode::Iabs, Opcode::Popcnt, Opcode::Clz];
                let opcode = self.random.one_of(&all);
                self.unary(opcode, ty, x)
            }
            7..9 => {
                let opcode = self.random.one_of(&SHIFTS);
                let count = self.integer();
                self.binary(opcode, x, count)
            }
            9 => self.divide(ty, x, y),
            10 => {
                let ty = self.random.one_of(&[types::I32, types::I64]);
                let [x, y] = [0; 2].map(|_| self.value(ty));
                let opcode = self.random.one_of(&[Opcode::Smulhi, Opcode::Umulhi]);
                self.binary(opcode, x, y)
            }
            11..13 => self.resize(x),
            13 => self.condition(),
            14..16 => {
                let condition = self.condition();
                self.ternary(Opcode::Select, condition, x, y)
            }
            16 => {
                let from = self.random.one_of(&FLOATS);
                let to = self.random.one_of(&[types::I32, types::I64]);
                let x = self.value(from);
                let opcode = self.random.one_of(&[Opcode::FcvtToSintSat, Opcode::FcvtToUintSat]);
                self.unary(opcode, to, x)
            }
            _ => self.bitcast(ty, x),
        };
        self.pool.push(result);
    }

    /// A quotient that does not trap.
    fn divide(&mut self, ty: Type, x: Value, y: Value) -> Value {
        let one = self.number(ty, 1);
        let opcode = self.random.one_of(&[Opcode::Udiv, Opcode::Urem, Opcode::Sdiv]);
        let y = match opcode {
            Opcode::Udiv | Opcode::Urem => y,
            // Neither zero nor -1.
            _ => {
                let positive = self.number(ty, i64::MAX >> (64 - ty.bits()));
                self.binary(Opcode::Band, y, positive)
            }
        };
        let divisor = self.binary(Opcode::Bor, y, one);
        self.binary(opcode, x, divisor)
    }

    /// Converts to an integer of another size.
    fn resize(&mut self, x: Value) -> Value {
        let (from, to) = (self.type_of(x), self.random.one_of(&INTEGERS));
        match to.bits().cmp(&from.bits()) {
            std::cmp::Ordering::Less => self.unary(Opcode::Ireduce, to, x),
            std::cmp::Ordering::Equal => x,
            std::cmp::Ordering::Greater => {
                let opcode = self.random.one_of(&[Opcode::Uextend, Opcode::Sextend]);
                self.unary(opcode, to, x)
            }
        }
    }

    /// A truth value of some width.
    fn condition(&mut self) -> Value {
        match self.random.below(10) {
            0..6 => {
                let ty = self.random.one_of(&INTEGERS);
                let [x, y] = [0; 2].map(|_| self.value(ty));
                let condition = self.random.one_of(&CONDITIONS);
                self.ins().icmp(condition, x, y)
            }
            6..8 => {
                let ty = self.random.one_of(&FLOATS);
                let [x, y] = [0; 2].map(|_| self.value(ty));
                let condition = self.random.one_of(&FLOAT_CONDITIONS);
                self.ins().fcmp(condition, x, y)
            }
            8 => {
                let narrow = self.condition();
                let wide = self.random.one_of(&[types::I16, types::I32, types::I64]);
                match self.type_of(narrow) {
                    types::I8 => self.unary(Opcode::Uextend, wide, narrow),
                    _ => narrow,
                }
            }
            _ => self.integer(),
        }
    }

    fn floats(&mut self) {
        let ty = self.random.one_of(&FLOATS);
        let [x, y, z] = [0; 3].map(|_| self.value(ty));
        let result = match self.random.below(12) {
            0..4 => {
                let all =
                    [Opcode::Fadd, Opcode::Fsub, Opcode::Fmul, Opcode::Fdiv, Opcode::Fmin, Opcode::Fmax];
                let opcode = self.random.one_of(&all);
                self.binary(opcode, x, y)
            }
            4..6 => self.ternary(Opcode::Fma, x, y, z),
            6 => {
                let opcode = self.rounding();
                self.unary(opcode, ty, x)
            }
            7 => {
                let from = self.integer();
                let opcode = self.random.one_of(&[Opcode::FcvtFromSint, Opcode::FcvtFromUint]);
                self.unary(opcode, ty, from)
            }
            8 if ty == types::F64 => {
                let x = self.value(types::F32);
                self.unary(Opcode::Fpromote, ty, x)
            }
            8 => {
                let x = self.value(types::F64);
                self.unary(Opcode::Fdemote, ty, x)
            }
            9 => {
                let bits = self.value(if ty == types::F32 { types::I32 } else { types::I64 });
                self.bitcast(ty, bits)
            }
            10 => {
                let condition = self.random.one_of(&FLOAT_CONDITIONS);
                let condition = self.ins().fcmp(condition, x, z);
                self.ternary(Opcode::Select, condition, x, y)
            }
            _ => {
                let condition = self.condition();
                self.ternary(Opcode::Select, condition, x, y)
            }
        };
        self.pool.push(result);
    }

    fn rounding(&mut self) -> Opcode {
        self.random.one_of(&FLOAT_UNARY)
    }

    fn load_from_source(&mut self, ty: Type) -> Value {
        let (address, offset) = self.address(self.source, SOURCE);
        let flags = self.flags();
        self.ins().load(ty, flags, address, offset)
    }

    /// An address in an array and an offset, from which a vector can be loaded.
    fn address(&mut self, base: Value, bytes: usize) -> (Value, i32) {
        let mut left = (bytes - self.kinds.width.bytes()) as i64;
        let mut address = base;
        let mut offset = 0;
        for _ in 0..self.random.below(4) {
            let known = self.random.below(left as usize / 2 + 1) as i64;
            match self.random.below(5) {
                0 => {
                    offset += known;
                    left -= known;
                }
                1 => {
                    let distance = self.number(types::I64, known);
                    address = self.sum(address, distance);
                    left -= known;
                }
                2 => {
                    // A large offset, which the next one compensates.
                    let far = self.random.one_of(&[1 << 31, 1 << 32, 1 << 40, -(1 << 33), i64::MAX]);
                    let [there, back] = [far, known.wrapping_sub(far)].map(|by| self.number(types::I64, by));
                    address = self.sum(address, there);
                    address = self.sum(address, back);
                    left -= known;
                }
                _ if left >= 8 => {
                    // A shift by 0 to 3 bits, which an address can contain as its scale.
                    let shift = self.random.below(5).min(left.ilog2() as usize - 2);
                    let index = self.value(types::I64);
                    let low = self.number(types::I64, 3);
                    let mut index = self.binary(Opcode::Band, index, low);
                    if self.random.in_hundred(80) {
                        let by = self.random.one_of(&[types::I8, types::I32, types::I64]);
                        let by = self.number(by, shift as i64);
                        index = self.binary(Opcode::Ishl, index, by);
                    }
                    address = self.sum(address, index);
                    left -= 3 << shift;
                }
                _ => {}
            }
        }
        (address, offset as i32)
    }

    /// In either order.
    fn sum(&mut self, x: Value, y: Value) -> Value {
        let [x, y] = if self.random.in_hundred(50) { [x, y] } else { [y, x] };
        self.ins().iadd(x, y)
    }

    /// A load or a store of integers in the scratch.
    fn memory(&mut self) {
        let ty = match self.kinds.vectors && self.random.in_hundred(60) {
            true => self.random.one_of(&integer_vectors(self.kinds.width)),
            false => self.random.one_of(&INTEGERS),
        };
        let (address, offset) = if !self.slots.is_empty() && self.random.in_hundred(30) {
            let at = self.random.below(self.slots.len());
            let (slot, places) = self.slots[at].clone();
            let place = self.random.one_of(&places);
            let within = self.random.one_of(&[0, 16.min(place), place]);
            (self.ins().stack_addr(types::I64, slot, within), place - within)
        } else {
            self.address(self.target, SCRATCH)
        };
        let flags = self.flags();
        if self.random.in_hundred(50) {
            let mut loaded = self.ins().load(ty, flags, address, offset);
            if self.random.in_hundred(40) {
                // Used once, perhaps after the value in memory has changed.
                let [other, new] = [0; 2].map(|_| self.value(ty));
                if self.random.in_hundred(70) {
                    self.ins().store(flags, new, address, offset);
                }
                loaded = self.binary(Opcode::Isub, other, loaded);
            }
            self.pool.push(loaded);
            return;
        }
        let mut value = self.value(ty);
        if ty.is_vector() && self.random.in_hundred(40) {
            let lanes = self.random.one_of(&[types::I128, types::I64, types::I32, types::I16]);
            let lanes = vector_of(lanes, self.kinds.width);
            value = if lanes == ty { value } else { self.bitcast(lanes, value) };
            value = self.ins().extractlane(value, 0);
        }
        self.ins().store(flags, value, address, offset);
    }

    fn call(&mut self) {
        let all = hosts::all();
        let (address, params, result) = all[self.random.below(all.len())];
        let args: Vec<Value> = params.iter().map(|(ty, _)| self.value(*ty)).collect();
        let signature = self.emitter.builder.import_signature(hosts::signature(params, result));
        let callee = self.ins().iconst(types::I64, address as i64);
        let call = self.ins().call_indirect(signature, callee, &args);
        self.pool.extend(self.emitter.builder.inst_results(call).to_vec());
    }
}
