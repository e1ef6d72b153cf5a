//! Scalar integers. Those of 1 and 2 bytes occupy the low part of a register; the upper bits are unspecified.

use super::*;

/// Encodings for 32 and for 64 bits.
type Pair = [Code; 2];

impl Selector<'_> {
    pub(super) fn integers(&mut self, inst: ir::Inst, data: &InstructionData, target: VReg) -> Result<()> {
        let ty = self.func.dfg.ctrl_typevar(inst);
        let wide = usize::from(ty.bits() == 64);
        let args: Vec<ir::Value> = self.func.dfg.inst_args(inst).to_vec();
        match (data.opcode(), args.as_slice()) {
            (Opcode::Iconst, []) => {
                let InstructionData::UnaryImm { imm, .. } = *data else { return self.unsupported(inst) };
                self.number(target, imm.bits());
            }
            (Opcode::Iadd, &[x, y]) => self.add(target, x, y),
            (Opcode::Isub, &[x, y]) => {
                match self.known_i32(y).filter(|number| *number != i64::from(i32::MIN)) {
                    Some(number) => {
                        let base = Base::Register(self.get(x));
                        let memory = Memory { base, index: None, offset: -number as i32 };
                        self.emit(Code::Lea_r64_m, &[Arg::Def(target), Arg::Memory(memory)]);
                    }
                    None => self.tied([Code::Sub_r32_rm32, Code::Sub_r64_rm64][wide], target, x, y),
                }
            }
            (Opcode::Imul, &[x, y]) => match self.known_i32(y) {
                Some(number) => {
                    let code = [Code::Imul_r32_rm32_imm32, Code::Imul_r64_rm64_imm32][wide];
                    let x = self.fetch(x);
                    self.emit(code, &[Arg::Def(target), x, Arg::Immediate(number)]);
                }
                None => self.tied([Code::Imul_r32_rm32, Code::Imul_r64_rm64][wide], target, x, y),
            },
            (Opcode::Band, &[x, y]) => {
                let numbers = [Code::And_rm32_imm32, Code::And_rm64_imm32];
                self.bits(numbers, [Code::And_r32_rm32, Code::And_r64_rm64], wide, target, x, y);
            }
            (Opcode::Bor, &[x, y]) => {
                let numbers = [Code::Or_rm32_imm32, Code::Or_rm64_imm32];
                self.bits(numbers, [Code::Or_r32_rm32, Code::Or_r64_rm64], wide, target, x, y);
            }
            (Opcode::Bxor, &[x, y]) => {
                let numbers = [Code::Xor_rm32_imm32, Code::Xor_rm64_imm32];
                self.bits(numbers, [Code::Xor_r32_rm32, Code::Xor_r64_rm64], wide, target, x, y);
            }
            (Opcode::Bnot, &[x]) => self.in_place([Code::Not_rm32, Code::Not_rm64][wide], target, x),
            (Opcode::Ineg, &[x]) => self.in_place([Code::Neg_rm32, Code::Neg_rm64][wide], target, x),
            (Opcode::Iabs, &[x]) => {
                let x = Arg::Use(self.extended(x, true));
                let negative = self.integer();
                let Arg::Use(from) = x else { return self.unsupported(inst) };
                self.emit([Code::Neg_rm32, Code::Neg_rm64][wide], &[Arg::Tied(negative, from)]);
                // The sign flag is that of the negated value, which is taken unless it is negative.
                let code = [Code::Cmovns_r32_rm32, Code::Cmovns_r64_rm64][wide];
                self.emit(code, &[Arg::Tied(target, from), Arg::Use(negative)]);
            }
            (opcode @ (Opcode::Ishl | Opcode::Ushr | Opcode::Sshr), &[x, y]) => {
                self.shift(opcode, ty, target, x, y);
            }
            (Opcode::Icmp, &[x, y]) => {
                let InstructionData::IntCompare { cond, .. } = *data else { return self.unsupported(inst) };
                if ty.is_vector() {
                    return self.unsupported(inst);
                }
                let condition = self.compare(cond, x, y);
                self.emit(set_if(condition), &[Arg::Def(target)]);
            }
            (Opcode::Fcmp, &[x, y]) => {
                let InstructionData::FloatCompare { cond, .. } = *data else { return self.unsupported(inst) };
                if ty.is_vector() {
                    return self.unsupported(inst);
                }
                let mask = self.compare_floats(cond, x, y);
                let word = self.integer();
                self.emit(Code::VEX_Vmovd_rm32_xmm, &[Arg::Def(word), Arg::Use(mask)]);
                self.emit(Code::And_rm32_imm32, &[Arg::Tied(target, word), Arg::Immediate(1)]);
            }
            (Opcode::Select, &[c, x, y]) => {
                let wide = usize::from(self.type_of(x).bits() == 64);
                let (x, y) = (self.get(x), self.get(y));
                let condition = self.condition(c)?;
                self.emit(move_if(condition)[wide], &[Arg::Tied(target, y), Arg::Use(x)]);
            }
            (Opcode::Smin, &[x, y]) => self.extreme(Condition::Less, true, wide, target, x, y),
            (Opcode::Smax, &[x, y]) => self.extreme(Condition::Greater, true, wide, target, x, y),
            (Opcode::Umin, &[x, y]) => self.extreme(Condition::Below, false, wide, target, x, y),
            (Opcode::Umax, &[x, y]) => self.extreme(Condition::Above, false, wide, target, x, y),
            (opcode @ (Opcode::Udiv | Opcode::Urem), &[x, y])
                if let Some(divisor) = self.known_unsigned(y) =>
            {
                let x = self.wide_unsigned(ty, x);
                let quotient = self.divided(x, divisor);
                self.quotient_or_rest(opcode == Opcode::Urem, target, x, quotient, divisor.cast_signed());
            }
            (opcode @ (Opcode::Sdiv | Opcode::Srem), &[x, y])
                if let Some(divisor) = self.known(y).filter(|number| *number != 0) =>
            {
                let x = self.wide_signed(ty, x);
                let sign = self.integer();
                self.emit(Code::Sar_rm64_imm8, &[Arg::Tied(sign, x), Arg::Immediate(63)]);
                let magnitude = self.with_sign(x, sign);
                let quotient = self.divided(magnitude, divisor.unsigned_abs());
                let sign = if divisor < 0 {
                    let other = self.integer();
                    self.emit(Code::Not_rm64, &[Arg::Tied(other, sign)]);
                    other
                } else {
                    sign
                };
                let quotient = self.with_sign(quotient, sign);
                self.quotient_or_rest(opcode == Opcode::Srem, target, x, quotient, divisor);
            }
            // Not the signed remainder: it is zero where the machine's quotient overflows.
            (opcode @ (Opcode::Udiv | Opcode::Urem | Opcode::Sdiv), &[x, y]) => {
                self.divide(opcode, ty, target, x, y);
            }
            (opcode @ (Opcode::Smulhi | Opcode::Umulhi), &[x, y]) => {
                return self.upper_product(inst, opcode, ty, target, x, y);
            }
            (Opcode::Popcnt, &[x]) => {
                let x = self.extended(x, false);
                let code = [Code::Popcnt_r32_rm32, Code::Popcnt_r64_rm64][wide];
                self.emit(code, &[Arg::Def(target), Arg::Use(x)]);
            }
            (Opcode::Clz, &[x]) => {
                let x = self.extended(x, false);
                let zeros = self.integer();
                let code = [Code::Lzcnt_r32_rm32, Code::Lzcnt_r64_rm64][wide];
                self.emit(code, &[Arg::Def(zeros), Arg::Use(x)]);
                let above = 32_u32.saturating_sub(ty.bits());
                let memory = Memory { base: Base::Register(zeros), index: None, offset: -(above as i32) };
                self.emit(Code::Lea_r64_m, &[Arg::Def(target), Arg::Memory(memory)]);
            }
            (opcode @ (Opcode::Uextend | Opcode::Sextend), &[x]) => {
                let signed = opcode == Opcode::Sextend;
                let to = self.type_of(self.func.dfg.first_result(inst));
                let code = match (self.type_of(x), signed, to.bits()) {
                    (types::I8, true, 64) => Code::Movsx_r64_rm8,
                    (types::I8, true, _) => Code::Movsx_r32_rm8,
                    (types::I8, false, _) => Code::Movzx_r32_rm8,
                    (types::I16, true, 64) => Code::Movsx_r64_rm16,
                    (types::I16, true, _) => Code::Movsx_r32_rm16,
                    (types::I16, false, _) => Code::Movzx_r32_rm16,
                    (types::I32, true, _) => Code::Movsxd_r64_rm32,
                    (types::I32, false, _) => Code::Mov_r32_rm32,
                    _ => return self.unsupported(inst),
                };
                let x = self.operand(x);
                self.emit(code, &[Arg::Def(target), x]);
            }
            (Opcode::Ireduce, &[x]) => {
                let x = self.fetch(x);
                self.emit(Code::Mov_r64_rm64, &[Arg::Def(target), x]);
            }
            (Opcode::Bitcast, &[x]) => {
                let code = match self.type_of(x) {
                    types::F32 => Code::VEX_Vmovd_rm32_xmm,
                    types::F64 => Code::VEX_Vmovq_rm64_xmm,
                    ty if ty.is_int() && ty.bits() <= 64 => Code::Mov_r64_rm64,
                    _ => return self.unsupported(inst),
                };
                let x = self.fetch(x);
                self.emit(code, &[Arg::Def(target), x]);
            }
            (Opcode::Extractlane, &[x]) => return self.extract(inst, x, data, target),
            (Opcode::FcvtToSintSat, &[x]) => {
                let to = self.type_of(self.func.dfg.first_result(inst));
                return self.signed_of_float(inst, to, target, x);
            }
            (Opcode::FcvtToUintSat, &[x]) => {
                let to = self.type_of(self.func.dfg.first_result(inst));
                return self.unsigned_of_float(inst, to, target, x);
            }
            _ => return self.unsupported(inst),
        }
        Ok(())
    }

    /// A number in a register. Does not change flags.
    pub(super) fn number(&mut self, target: VReg, number: i64) {
        let code = match number {
            0..=0xffff_ffff => Code::Mov_r32_imm32,
            _ if i32::try_from(number).is_ok() => Code::Mov_rm64_imm32,
            _ => Code::Mov_r64_imm64,
        };
        self.emit(code, &[Arg::Def(target), Arg::Immediate(number)]);
    }

    /// A number in a register of its own.
    pub(super) fn number_in(&mut self, number: i64) -> VReg {
        let target = self.integer();
        self.number(target, number);
        target
    }

    fn add(&mut self, target: VReg, x: ir::Value, y: ir::Value) {
        let [x, y] = if self.known(x).is_some() { [y, x] } else { [x, y] };
        let memory = match self.known_i32(y) {
            Some(number) => Memory { base: Base::Register(self.get(x)), index: None, offset: number as i32 },
            None => {
                let (base, index) = (self.get(x), self.get(y));
                Memory { base: Base::Register(base), index: Some((index, 1)), offset: 0 }
            }
        };
        self.emit(Code::Lea_r64_m, &[Arg::Def(target), Arg::Memory(memory)]);
    }

    fn in_place(&mut self, code: Code, target: VReg, x: ir::Value) {
        let x = self.get(x);
        self.emit(code, &[Arg::Tied(target, x)]);
    }

    fn tied(&mut self, code: Code, target: VReg, x: ir::Value, y: ir::Value) {
        let (x, y) = (self.get(x), self.get(y));
        self.emit(code, &[Arg::Tied(target, x), Arg::Use(y)]);
    }

    fn bits(
        &mut self,
        numbers: Pair,
        registers: Pair,
        wide: usize,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) {
        let [x, y] = if self.known(x).is_some() { [y, x] } else { [x, y] };
        match self.known_i32(y) {
            Some(number) => {
                let x = self.get(x);
                self.emit(numbers[wide], &[Arg::Tied(target, x), Arg::Immediate(number)]);
            }
            None => self.tied(registers[wide], target, x, y),
        }
    }

    /// Shifts by a count modulo the bits of the type.
    fn shift(&mut self, opcode: Opcode, ty: Type, target: VReg, x: ir::Value, y: ir::Value) {
        let wide = usize::from(ty.bits() == 64);
        let source = match opcode {
            Opcode::Ishl => self.get(x),
            _ => self.extended(x, opcode == Opcode::Sshr),
        };
        if let Some(count) = self.known(y) {
            let codes = match opcode {
                Opcode::Ishl => [Code::Shl_rm32_imm8, Code::Shl_rm64_imm8],
                Opcode::Ushr => [Code::Shr_rm32_imm8, Code::Shr_rm64_imm8],
                _ => [Code::Sar_rm32_imm8, Code::Sar_rm64_imm8],
            };
            let count = count & i64::from(ty.bits() - 1);
            self.emit(codes[wide], &[Arg::Tied(target, source), Arg::Immediate(count)]);
            return;
        }
        let mut count = self.get(y);
        if ty.bits() < 32 {
            // The machine takes counts modulo 32.
            let within = self.integer();
            let bits = Arg::Immediate(i64::from(ty.bits() - 1));
            self.emit(Code::And_rm32_imm32, &[Arg::Tied(within, count), bits]);
            count = within;
        }
        let codes = match opcode {
            Opcode::Ishl => [Code::VEX_Shlx_r32_rm32_r32, Code::VEX_Shlx_r64_rm64_r64],
            Opcode::Ushr => [Code::VEX_Shrx_r32_rm32_r32, Code::VEX_Shrx_r64_rm64_r64],
            _ => [Code::VEX_Sarx_r32_rm32_r32, Code::VEX_Sarx_r64_rm64_r64],
        };
        self.emit(codes[wide], &[Arg::Def(target), Arg::Use(source), Arg::Use(count)]);
    }

    fn extreme(
        &mut self,
        condition: Condition,
        signed: bool,
        wide: usize,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) {
        let (x, y) = (self.extended(x, signed), self.extended(y, signed));
        self.emit([Code::Cmp_r32_rm32, Code::Cmp_r64_rm64][wide], &[Arg::Use(x), Arg::Use(y)]);
        self.emit(move_if(condition)[wide], &[Arg::Tied(target, y), Arg::Use(x)]);
    }

    /// The upper half of a product.
    fn upper_product(
        &mut self,
        inst: ir::Inst,
        opcode: Opcode,
        ty: Type,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) -> Result<()> {
        let signed = opcode == Opcode::Smulhi;
        let [x, y] = [x, y].map(|value| self.get(value));
        match ty {
            types::I64 => {
                let low = self.integer();
                let code = if signed { Code::Imul_rm64 } else { Code::Mul_rm64 };
                let mut multiply = Inst::new(Kind::Machine(code), &[Arg::Use(y)]);
                multiply.fixed_uses.push((x, RAX));
                multiply.fixed_defs.extend([(low, RAX), (target, RDX)]);
                self.made.push(multiply);
            }
            types::I32 => {
                let extend = if signed { Code::Movsxd_r64_rm32 } else { Code::Mov_r32_rm32 };
                let [x, y] = [x, y].map(|from| {
                    let wide = self.integer();
                    self.emit(extend, &[Arg::Def(wide), Arg::Use(from)]);
                    wide
                });
                let product = self.integer();
                self.emit(Code::Imul_r64_rm64, &[Arg::Tied(product, x), Arg::Use(y)]);
                self.emit(Code::Shr_rm64_imm8, &[Arg::Tied(target, product), Arg::Immediate(32)]);
            }
            _ => return self.unsupported(inst),
        }
        Ok(())
    }

    /// The value of an unsigned integer constant, unless it is zero.
    fn known_unsigned(&self, value: ir::Value) -> Option<u64> {
        let unused = 64 - self.type_of(value).bits();
        let number = self.known(value)?.cast_unsigned() << unused >> unused;
        (number != 0).then_some(number)
    }

    /// A scalar zero-extended to 64 bits.
    fn wide_unsigned(&mut self, ty: Type, x: ir::Value) -> VReg {
        let x = self.extended(x, false);
        if ty != types::I32 {
            return x;
        }
        let wide = self.integer();
        self.emit(Code::Mov_r32_rm32, &[Arg::Def(wide), Arg::Use(x)]);
        wide
    }

    /// A scalar sign-extended to 64 bits.
    fn wide_signed(&mut self, ty: Type, x: ir::Value) -> VReg {
        let x = self.extended(x, true);
        if ty == types::I64 {
            return x;
        }
        let wide = self.integer();
        self.emit(Code::Movsxd_r64_rm32, &[Arg::Def(wide), Arg::Use(x)]);
        wide
    }

    /// A 64-bit number, negated if the other is -1 rather than 0.
    fn with_sign(&mut self, x: VReg, sign: VReg) -> VReg {
        let [turned, signed] = [self.integer(), self.integer()];
        self.emit(Code::Xor_r64_rm64, &[Arg::Tied(turned, x), Arg::Use(sign)]);
        self.emit(Code::Sub_r64_rm64, &[Arg::Tied(signed, turned), Arg::Use(sign)]);
        signed
    }

    /// The quotient of an unsigned 64-bit number and a constant: a product with the inverse, as in Granlund and
    /// Montgomery, "Division by Invariant Integers using Multiplication", 1994, figure 4.1.
    fn divided(&mut self, x: VReg, divisor: u64) -> VReg {
        // The least power of two that is not below the divisor.
        let bits = 64 - (divisor - 1).leading_zeros();
        let shifted = |selector: &mut Self, x: VReg, count: u32| {
            let quotient = selector.integer();
            let count = Arg::Immediate(count.into());
            selector.emit(Code::Shr_rm64_imm8, &[Arg::Tied(quotient, x), count]);
            quotient
        };
        if divisor.is_power_of_two() {
            return shifted(self, x, bits);
        }
        // 2^64 * (2^bits - divisor) / divisor + 1, below 2^64.
        let inverse = (((1_u128 << bits) - u128::from(divisor)) << 64) / u128::from(divisor) + 1;
        let inverse = self.number_in((inverse as u64).cast_signed());
        let [low, high] = [self.integer(), self.integer()];
        let mut multiply = Inst::new(Kind::Machine(Code::Mul_rm64), &[Arg::Use(inverse)]);
        multiply.fixed_uses.push((x, RAX));
        multiply.fixed_defs.extend([(low, RAX), (high, RDX)]);
        self.made.push(multiply);
        let [rest, sum] = [self.integer(), self.integer()];
        self.emit(Code::Sub_r64_rm64, &[Arg::Tied(rest, x), Arg::Use(high)]);
        let half = shifted(self, rest, 1);
        self.emit(Code::Add_r64_rm64, &[Arg::Tied(sum, half), Arg::Use(high)]);
        shifted(self, sum, bits - 1)
    }

    fn quotient_or_rest(&mut self, is_rest: bool, target: VReg, x: VReg, quotient: VReg, divisor: i64) {
        if !is_rest {
            self.emit(Code::Mov_r64_rm64, &[Arg::Def(target), Arg::Use(quotient)]);
            return;
        }
        let product = self.integer();
        match i32::try_from(divisor) {
            Ok(divisor) => {
                let divisor = Arg::Immediate(divisor.into());
                let args = [Arg::Def(product), Arg::Use(quotient), divisor];
                self.emit(Code::Imul_r64_rm64_imm32, &args);
            }
            Err(_) => {
                let divisor = self.number_in(divisor);
                self.emit(Code::Imul_r64_rm64, &[Arg::Tied(product, quotient), Arg::Use(divisor)]);
            }
        }
        self.emit(Code::Sub_r64_rm64, &[Arg::Tied(target, x), Arg::Use(product)]);
    }

    /// Quotient or remainder. The machine traps where CLIF does: for zero divisors and for quotients that overflow.
    fn divide(&mut self, opcode: Opcode, ty: Type, target: VReg, x: ir::Value, y: ir::Value) {
        let wide = usize::from(ty.bits() == 64);
        let signed = opcode == Opcode::Sdiv;
        let (x, y) = (self.extended(x, signed), self.extended(y, signed));
        let above = self.integer();
        if signed {
            let mut extend = Inst::new(Kind::Machine([Code::Cdq, Code::Cqo][wide]), &[]);
            extend.fixed_uses.push((x, RAX));
            extend.fixed_defs.push((above, RDX));
            self.made.push(extend);
        } else {
            self.number(above, 0);
        }
        let codes =
            if signed { [Code::Idiv_rm32, Code::Idiv_rm64] } else { [Code::Div_rm32, Code::Div_rm64] };
        let mut divide = Inst::new(Kind::Machine(codes[wide]), &[Arg::Use(y)]);
        divide.fixed_uses.extend([(x, RAX), (above, RDX)]);
        let other = self.integer();
        let [quotient, rest] = if opcode == Opcode::Urem { [other, target] } else { [target, other] };
        divide.fixed_defs.extend([(quotient, RAX), (rest, RDX)]);
        self.made.push(divide);
    }
}

fn set_if(condition: Condition) -> Code {
    match condition {
        Condition::Equal => Code::Sete_rm8,
        Condition::NotEqual => Code::Setne_rm8,
        Condition::Less => Code::Setl_rm8,
        Condition::LessEqual => Code::Setle_rm8,
        Condition::Greater => Code::Setg_rm8,
        Condition::GreaterEqual => Code::Setge_rm8,
        Condition::Below => Code::Setb_rm8,
        Condition::BelowEqual => Code::Setbe_rm8,
        Condition::Above => Code::Seta_rm8,
        Condition::AboveEqual => Code::Setae_rm8,
    }
}

pub(super) fn move_if(condition: Condition) -> Pair {
    match condition {
        Condition::Equal => [Code::Cmove_r32_rm32, Code::Cmove_r64_rm64],
        Condition::NotEqual => [Code::Cmovne_r32_rm32, Code::Cmovne_r64_rm64],
        Condition::Less => [Code::Cmovl_r32_rm32, Code::Cmovl_r64_rm64],
        Condition::LessEqual => [Code::Cmovle_r32_rm32, Code::Cmovle_r64_rm64],
        Condition::Greater => [Code::Cmovg_r32_rm32, Code::Cmovg_r64_rm64],
        Condition::GreaterEqual => [Code::Cmovge_r32_rm32, Code::Cmovge_r64_rm64],
        Condition::Below => [Code::Cmovb_r32_rm32, Code::Cmovb_r64_rm64],
        Condition::BelowEqual => [Code::Cmovbe_r32_rm32, Code::Cmovbe_r64_rm64],
        Condition::Above => [Code::Cmova_r32_rm32, Code::Cmova_r64_rm64],
        Condition::AboveEqual => [Code::Cmovae_r32_rm32, Code::Cmovae_r64_rm64],
    }
}
