//! Scalar floats, in the first lanes of vector registers. The remaining lanes are unspecified.

use super::*;
use cranelift_codegen::ir::condcodes::FloatCC;

/// Encodings for `f32` and `f64`.
pub(super) type ByFloat = [Code; 2];

/// The encoding for the floats of a type, or of its lanes.
pub(super) fn of(ty: Type, codes: ByFloat) -> Code {
    codes[usize::from(ty.lane_type() == types::F64)]
}

/// Encodings of an op on two floats: of scalars, and of vectors.
pub(super) fn arithmetic(opcode: Opcode) -> Option<[ByFloat; 2]> {
    Some(match opcode {
        Opcode::Fadd => [
            [Code::VEX_Vaddss_xmm_xmm_xmmm32, Code::VEX_Vaddsd_xmm_xmm_xmmm64],
            [Code::VEX_Vaddps_ymm_ymm_ymmm256, Code::VEX_Vaddpd_ymm_ymm_ymmm256],
        ],
        Opcode::Fsub => [
            [Code::VEX_Vsubss_xmm_xmm_xmmm32, Code::VEX_Vsubsd_xmm_xmm_xmmm64],
            [Code::VEX_Vsubps_ymm_ymm_ymmm256, Code::VEX_Vsubpd_ymm_ymm_ymmm256],
        ],
        Opcode::Fmul => [
            [Code::VEX_Vmulss_xmm_xmm_xmmm32, Code::VEX_Vmulsd_xmm_xmm_xmmm64],
            [Code::VEX_Vmulps_ymm_ymm_ymmm256, Code::VEX_Vmulpd_ymm_ymm_ymmm256],
        ],
        Opcode::Fdiv => [
            [Code::VEX_Vdivss_xmm_xmm_xmmm32, Code::VEX_Vdivsd_xmm_xmm_xmmm64],
            [Code::VEX_Vdivps_ymm_ymm_ymmm256, Code::VEX_Vdivpd_ymm_ymm_ymmm256],
        ],
        _ => return None,
    })
}

/// The immediate of a rounding, without reporting inexactness.
pub(super) fn rounding(opcode: Opcode) -> i64 {
    match opcode {
        Opcode::Floor => 0x09,
        Opcode::Ceil => 0x0a,
        Opcode::Trunc => 0x0b,
        _ => 0x08,
    }
}

/// The immediate of a quiet comparison.
pub(super) fn predicate(condition: FloatCC) -> i64 {
    match condition {
        FloatCC::Equal => 0x00,
        FloatCC::Unordered => 0x03,
        FloatCC::NotEqual => 0x04,
        FloatCC::Ordered => 0x07,
        FloatCC::UnorderedOrEqual => 0x08,
        FloatCC::OrderedNotEqual => 0x0c,
        FloatCC::LessThan => 0x11,
        FloatCC::LessThanOrEqual => 0x12,
        FloatCC::UnorderedOrGreaterThanOrEqual => 0x15,
        FloatCC::UnorderedOrGreaterThan => 0x16,
        FloatCC::UnorderedOrLessThan => 0x19,
        FloatCC::UnorderedOrLessThanOrEqual => 0x1a,
        FloatCC::GreaterThanOrEqual => 0x1d,
        FloatCC::GreaterThan => 0x1e,
    }
}

impl Selector<'_> {
    pub(super) fn floats(&mut self, inst: ir::Inst, data: &InstructionData, target: VReg) -> Result<()> {
        let result = self.func.dfg.first_result(inst);
        let ty = self.type_of(result);
        let args: Vec<ir::Value> = self.func.dfg.inst_args(inst).to_vec();
        match (data.opcode(), args.as_slice()) {
            (Opcode::F32const | Opcode::F64const, []) => {
                let Some(bytes) = self.lane_constant(result) else { return self.unsupported(inst) };
                self.float_in(target, ty, &bytes);
            }
            (opcode, &[x, y]) if let Some([codes, _]) = arithmetic(opcode) => {
                self.two(of(ty, codes), target, x, y);
            }
            (opcode @ (Opcode::Fmin | Opcode::Fmax), &[x, y]) => {
                self.extreme_floats(opcode, ty, target, x, y)
            }
            (Opcode::Sqrt, &[x]) => {
                let code = of(ty, [Code::VEX_Vsqrtss_xmm_xmm_xmmm32, Code::VEX_Vsqrtsd_xmm_xmm_xmmm64]);
                let x = self.fetch(x);
                self.emit(code, &[Arg::Def(target), x, x]);
            }
            (opcode @ (Opcode::Floor | Opcode::Ceil | Opcode::Trunc | Opcode::Nearest), &[x]) => {
                let code =
                    of(ty, [Code::VEX_Vroundss_xmm_xmm_xmmm32_imm8, Code::VEX_Vroundsd_xmm_xmm_xmmm64_imm8]);
                let x = self.fetch(x);
                self.emit(code, &[Arg::Def(target), x, x, Arg::Immediate(rounding(opcode))]);
            }
            (Opcode::Fma, &[x, y, z]) => {
                let products =
                    of(ty, [Code::VEX_Vfmadd213ss_xmm_xmm_xmmm32, Code::VEX_Vfmadd213sd_xmm_xmm_xmmm64]);
                let sums =
                    of(ty, [Code::VEX_Vfmadd231ss_xmm_xmm_xmmm32, Code::VEX_Vfmadd231sd_xmm_xmm_xmmm64]);
                self.fused(products, sums, target, [x, y, z]);
            }
            (opcode @ (Opcode::Fneg | Opcode::Fabs | Opcode::Fcopysign), args) => {
                return self.signs(inst, opcode, ty, target, args);
            }
            (Opcode::Band | Opcode::Bor | Opcode::Bxor, &[x, y]) => {
                return self.logic(inst, data.opcode(), target, x, y);
            }
            (Opcode::Fpromote, &[x]) => {
                let x = self.fetch(x);
                self.emit(Code::VEX_Vcvtss2sd_xmm_xmm_xmmm32, &[Arg::Def(target), x, x]);
            }
            (Opcode::Fdemote, &[x]) => {
                let x = self.fetch(x);
                self.emit(Code::VEX_Vcvtsd2ss_xmm_xmm_xmmm64, &[Arg::Def(target), x, x]);
            }
            (Opcode::FcvtFromSint, &[x]) => {
                let from = self.type_of(x);
                let codes = match from {
                    types::I64 => [Code::VEX_Vcvtsi2ss_xmm_xmm_rm64, Code::VEX_Vcvtsi2sd_xmm_xmm_rm64],
                    types::I8 | types::I16 | types::I32 => {
                        [Code::VEX_Vcvtsi2ss_xmm_xmm_rm32, Code::VEX_Vcvtsi2sd_xmm_xmm_rm32]
                    }
                    _ => return self.unsupported(inst),
                };
                let x = self.extended(x, true);
                let above = self.some_zeros();
                self.emit(of(ty, codes), &[Arg::Def(target), Arg::Use(above), Arg::Use(x)]);
            }
            (Opcode::FcvtFromUint, &[x]) => return self.float_of_unsigned(inst, ty, target, x),
            (Opcode::Bitcast, &[x]) => {
                let code = match self.type_of(x) {
                    types::I32 => Code::VEX_Vmovd_xmm_rm32,
                    types::I64 => Code::VEX_Vmovq_xmm_rm64,
                    types::F32 | types::F64 => Code::VEX_Vmovaps_xmm_xmmm128,
                    _ => return self.unsupported(inst),
                };
                let x = self.fetch(x);
                self.emit(code, &[Arg::Def(target), x]);
            }
            (Opcode::Bitselect, &[c, x, y]) => {
                let [c, x, y] = [c, x, y].map(|value| self.get(value));
                self.choose_bits(target, c, x, y);
            }
            (Opcode::Select, &[c, x, y]) => {
                let mask = match self.definition(c) {
                    Some((_, &InstructionData::FloatCompare { args: [a, b], cond, .. }))
                        if self.type_of(a) == ty =>
                    {
                        self.compare_floats(cond, a, b)
                    }
                    _ => self.mask_of_truth(c)?,
                };
                let (x, y) = (self.fetch(x), self.fetch(y));
                let code = of(
                    ty,
                    [Code::VEX_Vblendvps_xmm_xmm_xmmm128_xmm, Code::VEX_Vblendvpd_xmm_xmm_xmmm128_xmm],
                );
                self.emit(code, &[Arg::Def(target), y, x, Arg::Use(mask)]);
            }
            (Opcode::Extractlane, &[x]) => return self.extract(inst, x, data, target),
            _ => return self.unsupported(inst),
        }
        Ok(())
    }

    /// A number of a scalar type in a register.
    pub(super) fn float_in(&mut self, target: VReg, ty: Type, bytes: &[u8]) {
        if bytes.iter().all(|byte| *byte == 0) {
            return self.zeros(target);
        }
        let code = of(ty, [Code::VEX_Vmovss_xmm_m32, Code::VEX_Vmovsd_xmm_m64]);
        let memory = self.constant(bytes);
        self.emit(code, &[Arg::Def(target), Arg::Memory(memory)]);
    }

    /// A vector of zeros.
    pub(super) fn zeros(&mut self, target: VReg) {
        let code = match self.width {
            Width::Ymm => Code::VEX_Vxorps_xmm_xmm_xmmm128,
            Width::Zmm => Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
        };
        self.made.push(Inst::new(Kind::Idiom(code), &[Arg::Def(target)]));
    }

    pub(super) fn some_zeros(&mut self) -> VReg {
        let zeros = self.vector();
        self.zeros(zeros);
        zeros
    }

    /// The minimum or maximum; NaN if either is NaN, and zeros by their sign. The machine returns its second operand
    /// for NaN and equal operands, so both orders are computed and their bits combined.
    fn extreme_floats(&mut self, opcode: Opcode, ty: Type, target: VReg, x: ir::Value, y: ir::Value) {
        let code = match opcode {
            Opcode::Fmin => of(ty, [Code::VEX_Vminss_xmm_xmm_xmmm32, Code::VEX_Vminsd_xmm_xmm_xmmm64]),
            _ => of(ty, [Code::VEX_Vmaxss_xmm_xmm_xmmm32, Code::VEX_Vmaxsd_xmm_xmm_xmmm64]),
        };
        let (x, y) = (self.fetch(x), self.fetch(y));
        let one = Arg::Use(self.compute(code, &[x, y]));
        let other = Arg::Use(self.compute(code, &[y, x]));
        if opcode == Opcode::Fmin {
            self.emit(Code::VEX_Vorps_xmm_xmm_xmmm128, &[Arg::Def(target), one, other]);
            return;
        }
        let compare = of(ty, [Code::VEX_Vcmpss_xmm_xmm_xmmm32_imm8, Code::VEX_Vcmpsd_xmm_xmm_xmmm64_imm8]);
        let both = Arg::Use(self.compute(Code::VEX_Vandps_xmm_xmm_xmmm128, &[one, other]));
        let none = Arg::Use(self.compute(compare, &[x, y, Arg::Immediate(predicate(FloatCC::Unordered))]));
        self.emit(Code::VEX_Vorps_xmm_xmm_xmmm128, &[Arg::Def(target), both, none]);
    }

    /// An instruction of two operands, the second of which may be in memory.
    pub(super) fn two(&mut self, code: Code, target: VReg, x: ir::Value, y: ir::Value) {
        let (x, y) = (self.fetch(x), self.operand(y));
        self.emit(code, &[Arg::Def(target), x, y]);
    }

    /// `x * y + z`, rounded once, in the register of an operand that is not read again, if there is one.
    pub(super) fn fused(&mut self, products: Code, sums: Code, target: VReg, [x, y, z]: [ir::Value; 3]) {
        let is_last = |selector: &Self, value: ir::Value| {
            let here = match selector.func.dfg.value_def(value).inst() {
                Some(inst) => selector.is_in_current_block(inst),
                None => {
                    let (_, block) = selector.current.unzip();
                    block.is_some_and(|block| selector.func.dfg.block_params(block).contains(&value))
                }
            };
            here && selector.uses[value] == 1
        };
        let args = if is_last(self, z) {
            let (z, x, y) = (self.get(z), self.fetch(x), self.operand(y));
            (sums, [Arg::Tied(target, z), x, y])
        } else {
            let [x, y] = if is_last(self, y) && !is_last(self, x) { [y, x] } else { [x, y] };
            let (x, y, z) = (self.get(x), self.fetch(y), self.operand(z));
            (products, [Arg::Tied(target, x), y, z])
        };
        self.emit(args.0, &args.1);
    }

    /// All ones or all zeros in the first lane.
    pub(super) fn compare_floats(&mut self, condition: FloatCC, x: ir::Value, y: ir::Value) -> VReg {
        let code =
            of(self.type_of(x), [Code::VEX_Vcmpss_xmm_xmm_xmmm32_imm8, Code::VEX_Vcmpsd_xmm_xmm_xmmm64_imm8]);
        let (x, y) = (self.fetch(x), self.operand(y));
        self.compute(code, &[x, y, Arg::Immediate(predicate(condition))])
    }

    /// All ones or all zeros, as a truth value is.
    pub(super) fn mask_of_truth(&mut self, truth: ir::Value) -> Result<VReg> {
        let zero = self.number_in(0);
        let ones = self.number_in(-1);
        let condition = self.condition(truth)?;
        let word = self.integer();
        self.emit(integers::move_if(condition)[1], &[Arg::Tied(word, zero), Arg::Use(ones)]);
        Ok(self.compute(Code::VEX_Vmovq_xmm_rm64, &[Arg::Use(word)]))
    }

    /// A scalar constant in memory.
    fn float_constant(&mut self, ty: Type, value: f64) -> Arg {
        let memory = match ty.lane_type() {
            types::F32 => self.constant(&(value as f32).to_le_bytes()),
            _ => self.constant(&value.to_le_bytes()),
        };
        Arg::Memory(memory)
    }

    /// Truncates toward zero to signed integers, saturating; NaN gives zero.
    pub(super) fn signed_of_float(
        &mut self,
        inst: ir::Inst,
        to: Type,
        target: VReg,
        x: ir::Value,
    ) -> Result<()> {
        let ty = self.type_of(x);
        let Some(wide) = [types::I32, types::I64].iter().position(|of| *of == to) else {
            return self.unsupported(inst);
        };
        let x = self.get(x);
        let compare = of(ty, [Code::VEX_Vcmpss_xmm_xmm_xmmm32_imm8, Code::VEX_Vcmpsd_xmm_xmm_xmmm64_imm8]);
        let is_number =
            self.compute(compare, &[Arg::Use(x), Arg::Use(x), Arg::Immediate(predicate(FloatCC::Ordered))]);
        let x = self.compute(Code::VEX_Vandps_xmm_xmm_xmmm128, &[Arg::Use(x), Arg::Use(is_number)]);
        let bound = self.float_constant(ty, if wide == 1 { 2f64.powi(63) } else { 2f64.powi(31) });
        let above = Arg::Immediate(predicate(FloatCC::GreaterThanOrEqual));
        let beyond = self.compute(compare, &[Arg::Use(x), bound, above]);
        let truncated = self.integer();
        let code = match (ty, wide) {
            (types::F32, 0) => Code::VEX_Vcvttss2si_r32_xmmm32,
            (types::F32, _) => Code::VEX_Vcvttss2si_r64_xmmm32,
            (_, 0) => Code::VEX_Vcvttsd2si_r32_xmmm64,
            (_, _) => Code::VEX_Vcvttsd2si_r64_xmmm64,
        };
        self.emit(code, &[Arg::Def(truncated), Arg::Use(x)]);
        // The instruction returns the least integer when out of range; its complement is the greatest.
        let turned = self.mask_in_integer(ty, beyond);
        let code = [Code::Xor_r32_rm32, Code::Xor_r64_rm64][wide];
        self.emit(code, &[Arg::Tied(target, truncated), Arg::Use(turned)]);
        Ok(())
    }

    /// A mask of one lane as an integer of 64 bits.
    fn mask_in_integer(&mut self, ty: Type, mask: VReg) -> VReg {
        let reg = self.integer();
        if ty.lane_type() == types::F64 {
            self.emit(Code::VEX_Vmovq_rm64_xmm, &[Arg::Def(reg), Arg::Use(mask)]);
            return reg;
        }
        let word = self.integer();
        self.emit(Code::VEX_Vmovd_rm32_xmm, &[Arg::Def(word), Arg::Use(mask)]);
        self.emit(Code::Movsxd_r64_rm32, &[Arg::Def(reg), Arg::Use(word)]);
        reg
    }

    /// Truncates toward zero to unsigned integers, saturating; NaN gives zero.
    pub(super) fn unsigned_of_float(
        &mut self,
        inst: ir::Inst,
        to: Type,
        target: VReg,
        x: ir::Value,
    ) -> Result<()> {
        let ty = self.type_of(x);
        let codes = [Code::VEX_Vcvttss2si_r64_xmmm32, Code::VEX_Vcvttsd2si_r64_xmmm64];
        let (least, most) = (
            of(ty, [Code::VEX_Vmaxss_xmm_xmm_xmmm32, Code::VEX_Vmaxsd_xmm_xmm_xmmm64]),
            of(ty, [Code::VEX_Vminss_xmm_xmm_xmmm32, Code::VEX_Vminsd_xmm_xmm_xmmm64]),
        );
        let (x, zero) = (self.get(x), self.some_zeros());
        // For a number and a NaN, the instruction returns the second operand.
        let x = self.compute(least, &[Arg::Use(x), Arg::Use(zero)]);
        match to {
            types::I32 => {
                let bound = self.float_constant(ty, 2f64.powi(32));
                let x = self.compute(most, &[Arg::Use(x), bound]);
                let truncated = self.integer();
                self.emit(of(ty, codes), &[Arg::Def(truncated), Arg::Use(x)]);
                let greatest = self.number_in(i64::from(u32::MAX));
                self.emit(Code::Cmp_r64_rm64, &[Arg::Use(truncated), Arg::Use(greatest)]);
                self.emit(Code::Cmova_r64_rm64, &[Arg::Tied(target, truncated), Arg::Use(greatest)]);
            }
            types::I64 => {
                let compare =
                    of(ty, [Code::VEX_Vcmpss_xmm_xmm_xmmm32_imm8, Code::VEX_Vcmpsd_xmm_xmm_xmmm64_imm8]);
                let above = Arg::Immediate(predicate(FloatCC::GreaterThanOrEqual));
                let half = self.float_constant(ty, 2f64.powi(63));
                let upper = self.compute(compare, &[Arg::Use(x), half, above]);
                let bound = self.float_constant(ty, 2f64.powi(64));
                let beyond = self.compute(compare, &[Arg::Use(x), bound, above]);
                let taken = self.some_constant(ty, 2f64.powi(63));
                let taken =
                    self.compute(Code::VEX_Vandps_xmm_xmm_xmmm128, &[Arg::Use(upper), Arg::Use(taken)]);
                let subtract = of(ty, [Code::VEX_Vsubss_xmm_xmm_xmmm32, Code::VEX_Vsubsd_xmm_xmm_xmmm64]);
                let lower = self.compute(subtract, &[Arg::Use(x), Arg::Use(taken)]);
                let truncated = self.integer();
                self.emit(of(ty, codes), &[Arg::Def(truncated), Arg::Use(lower)]);
                let upper = self.mask_in_integer(ty, upper);
                let top = self.integer();
                self.emit(Code::Shl_rm64_imm8, &[Arg::Tied(top, upper), Arg::Immediate(63)]);
                let raised = self.integer();
                self.emit(Code::Xor_r64_rm64, &[Arg::Tied(raised, truncated), Arg::Use(top)]);
                let beyond = self.mask_in_integer(ty, beyond);
                self.emit(Code::Or_r64_rm64, &[Arg::Tied(target, raised), Arg::Use(beyond)]);
            }
            _ => return self.unsupported(inst),
        }
        Ok(())
    }

    /// A scalar constant in a register.
    fn some_constant(&mut self, ty: Type, value: f64) -> VReg {
        let constant = self.float_constant(ty, value);
        self.compute(of(ty, [Code::VEX_Vmovss_xmm_m32, Code::VEX_Vmovsd_xmm_m64]), &[constant])
    }

    /// An unsigned integer as a float. A 64-bit number that would be negative is halved, with a sticky bit for correct
    /// rounding, and doubled.
    fn float_of_unsigned(&mut self, inst: ir::Inst, ty: Type, target: VReg, x: ir::Value) -> Result<()> {
        let codes = [Code::VEX_Vcvtsi2ss_xmm_xmm_rm64, Code::VEX_Vcvtsi2sd_xmm_xmm_rm64];
        let above = self.some_zeros();
        match self.type_of(x) {
            types::I8 | types::I16 => {
                let x = self.extended(x, false);
                self.emit(of(ty, codes), &[Arg::Def(target), Arg::Use(above), Arg::Use(x)]);
            }
            types::I32 => {
                let (x, word) = (self.fetch(x), self.integer());
                self.emit(Code::Mov_r32_rm32, &[Arg::Def(word), x]);
                self.emit(of(ty, codes), &[Arg::Def(target), Arg::Use(above), Arg::Use(word)]);
            }
            types::I64 => {
                let x = self.get(x);
                let [half, low, odd] = [0; 3].map(|_| self.integer());
                self.emit(Code::Shr_rm64_imm8, &[Arg::Tied(half, x), Arg::Immediate(1)]);
                self.emit(Code::And_rm64_imm32, &[Arg::Tied(low, x), Arg::Immediate(1)]);
                self.emit(Code::Or_r64_rm64, &[Arg::Tied(odd, half), Arg::Use(low)]);
                let small = self.compute(of(ty, codes), &[Arg::Use(above), Arg::Use(x)]);
                let large = self.compute(of(ty, codes), &[Arg::Use(above), Arg::Use(odd)]);
                let add = of(ty, [Code::VEX_Vaddss_xmm_xmm_xmmm32, Code::VEX_Vaddsd_xmm_xmm_xmmm64]);
                let large = self.compute(add, &[Arg::Use(large), Arg::Use(large)]);
                // If negative as a signed number, take the large one: `small` has its sign.
                let blend = of(
                    ty,
                    [Code::VEX_Vblendvps_xmm_xmm_xmmm128_xmm, Code::VEX_Vblendvpd_xmm_xmm_xmmm128_xmm],
                );
                self.emit(blend, &[Arg::Def(target), Arg::Use(small), Arg::Use(large), Arg::Use(small)]);
            }
            _ => return self.unsupported(inst),
        }
        Ok(())
    }
}
