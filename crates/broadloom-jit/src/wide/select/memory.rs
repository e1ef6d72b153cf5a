//! Addresses, loads and stores, and memory operands.

use super::*;

impl Selector<'_> {
    /// The address of `value + offset`, with as much of its computation as an instruction can absorb.
    pub(super) fn address(&mut self, value: ir::Value, offset: i32) -> Memory {
        let sum = |selector: &Self, value: ir::Value| {
            let (inst, data) = selector.definition(value)?;
            let args = selector.func.dfg.inst_args(inst);
            (data.opcode() == Opcode::Iadd).then(|| (inst, [args[0], args[1]]))
        };
        let here = |selector: &Self, value: ir::Value| {
            let (inst, args) = sum(selector, value)?;
            selector.is_in_current_block(inst).then_some(args)
        };
        // Constant distances first, also those from an address that is computed before a loop: neighbours share its register.
        let from = |selector: &Self, mut base: ir::Value, mut offset: i32| {
            while let Some((_, [x, y])) = sum(selector, base) {
                let further = |distance: i64| {
                    distance.checked_add(offset.into()).and_then(|further| i32::try_from(further).ok())
                };
                if let Some(further) = selector.known(y).and_then(further) {
                    (base, offset) = (x, further);
                } else if let Some(further) = selector.known(x).and_then(further) {
                    (base, offset) = (y, further);
                } else {
                    break;
                }
            }
            (base, offset)
        };
        let (base, offset) = from(self, value, offset);
        if let Some((_, &InstructionData::StackAddr { stack_slot, offset: within, .. })) =
            self.definition(base)
        {
            let offset = offset + i32::from(within) + self.slots[stack_slot] as i32;
            return Memory { base: Base::Slots, index: None, offset };
        }
        let Some([x, y]) = here(self, base) else {
            return Memory { base: Base::Register(self.get(base)), index: None, offset };
        };
        let (x, offset) = from(self, x, offset);
        let (y, offset) = from(self, y, offset);
        for (base, index) in [(x, y), (y, x)] {
            if let Some(&[index, count]) = self.defined_by(index, Opcode::Ishl)
                && let Some(count @ 1..=3) = self.known(count)
            {
                let (base, index) = (self.get(base), self.get(index));
                return Memory { base: Base::Register(base), index: Some((index, 1 << count)), offset };
            }
        }
        let (base, index) = (self.get(x), self.get(y));
        Memory { base: Base::Register(base), index: Some((index, 1)), offset }
    }

    /// The memory that a value is loaded from, if the current instruction may load it instead.
    pub(super) fn loaded(&mut self, value: ir::Value) -> Option<Memory> {
        let (current, _) = self.current?;
        let source = self.uncast(value);
        let (inst, data) = self.definition(source)?;
        let &InstructionData::Load { opcode: Opcode::Load, arg, offset, .. } = data else { return None };
        let is_alone = |value: ir::Value| self.uses[value] == 1;
        let may = is_alone(source)
            && (source == value
                || is_alone(value) && self.defined_by(value, Opcode::Bitcast) == Some(&[source]))
            && self.is_in_current_block(inst)
            && self.effects[inst] == self.effects[current];
        may.then(|| self.address(arg, offset.into()))
    }

    /// A vector or a float of at least 4 bytes: in its register, or in the memory where it is.
    pub(super) fn operand(&mut self, value: ir::Value) -> Arg {
        let memory = self.loaded(value).map(Arg::Memory).or_else(|| self.left_constant(value));
        memory.unwrap_or_else(|| Arg::Use(self.get(value)))
    }

    pub(super) fn fetch(&mut self, value: ir::Value) -> Arg {
        Arg::Use(self.get(value))
    }

    pub(super) fn load(&mut self, inst: ir::Inst, ty: Type, target: VReg, memory: Memory) -> Result<()> {
        let code = match ty {
            types::I8 => Code::Movzx_r32_rm8,
            types::I16 => Code::Movzx_r32_rm16,
            types::I32 => Code::Mov_r32_rm32,
            types::I64 => Code::Mov_r64_rm64,
            types::F32 => Code::VEX_Vmovss_xmm_m32,
            types::F64 => Code::VEX_Vmovsd_xmm_m64,
            types::I128 => Code::VEX_Vmovups_xmm_xmmm128,
            types::I8X32 if self.width == Width::Zmm => Code::EVEX_Vmovups_ymm_k1z_ymmm256,
            _ if ty.bytes() as usize == self.width.bytes() => Code::VEX_Vmovups_ymm_ymmm256,
            _ => return self.unsupported(inst),
        };
        self.emit(code, &[Arg::Def(target), Arg::Memory(memory)]);
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        inst: ir::Inst,
        value: ir::Value,
        address: ir::Value,
        offset: i32,
    ) -> Result<()> {
        let ty = self.type_of(value);
        let memory = Arg::Memory(self.address(address, offset));
        // The first lanes of a vector are stored directly.
        let mut value = value;
        if let Some((_, &InstructionData::BinaryImm8 { opcode: Opcode::Extractlane, arg, imm: 0 })) =
            self.definition(value)
        {
            let stays = ty.bits() >= 32;
            value = if stays { arg } else { value };
        }
        if let Some(&[whole]) = self.called(value, Intrinsic::Half) {
            value = whole;
        }
        let streamed = self.called(value, Intrinsic::Streamed);
        if let Some(&[stored]) = streamed {
            value = stored;
        }
        let is_lane = self.type_of(value).is_vector() && !ty.is_vector();
        let code = match (ty, is_lane) {
            (types::I32 | types::F32, true) | (types::F32, _) => Code::VEX_Vmovss_m32_xmm,
            (types::I64 | types::F64, true) | (types::F64, _) => Code::VEX_Vmovsd_m64_xmm,
            (types::I128, true) => Code::VEX_Vmovups_xmmm128_xmm,
            (types::I8, _) => Code::Mov_rm8_r8,
            (types::I16, _) => Code::Mov_rm16_r16,
            (types::I32, _) => Code::Mov_rm32_r32,
            (types::I64, _) => Code::Mov_rm64_r64,
            (types::I8X32, _) if self.width == Width::Zmm => Code::EVEX_Vmovups_ymmm256_k1z_ymm,
            _ if ty.bytes() as usize == self.width.bytes() => match streamed {
                Some(_) => Code::VEX_Vmovntps_m256_ymm,
                None => Code::VEX_Vmovups_ymmm256_ymm,
            },
            _ => return self.unsupported(inst),
        };
        let value = self.fetch(value);
        self.emit(code, &[memory, value]);
        Ok(())
    }
}
