//! Calls of functions of the host.

use super::*;

impl Selector<'_> {
    /// A call by the System V convention.
    pub(super) fn call(&mut self, inst: ir::Inst, signature: ir::SigRef) -> Result<()> {
        let values: Vec<ir::Value> = self.func.dfg.inst_args(inst).to_vec();
        let ir::Signature { params, call_conv, .. } = &self.func.dfg.signatures[signature];
        if *call_conv != CallConv::SystemV {
            return self.unsupported(inst);
        }
        let callee = self.get(values[0]);
        let mut call = Inst::new(Kind::Call, &[Arg::Use(callee)]);
        let (mut integers, mut floats, mut on_stack) = (INTEGER_ARGUMENTS.into_iter(), 0, 0);
        for (&value, param) in values[1..].iter().zip(params) {
            let ty = self.type_of(value);
            if ty.is_float() && !ty.is_vector() && floats < FLOAT_ARGUMENTS {
                call.fixed_uses.push((self.get(value), vector(floats)));
                floats += 1;
                continue;
            }
            if !ty.is_int() || ty.bits() > 64 {
                return self.unsupported(inst);
            }
            let source = match param.extension {
                ArgumentExtension::None => self.get(value),
                ArgumentExtension::Uext => self.extended(value, false),
                ArgumentExtension::Sext => self.extended(value, true),
            };
            match integers.next() {
                Some(place) => call.fixed_uses.push((source, place)),
                None => {
                    let memory = Memory { base: Base::Outgoing, index: None, offset: on_stack };
                    self.emit(Code::Mov_rm64_r64, &[Arg::Memory(memory), Arg::Use(source)]);
                    on_stack += 8;
                }
            }
        }
        self.outgoing_bytes = self.outgoing_bytes.max(on_stack as u32);
        match *self.func.dfg.inst_results(inst) {
            [] => {}
            [result] => {
                let place = match self.type_of(result) {
                    types::F32 | types::F64 => vector(0),
                    ty if ty.is_int() && ty.bits() <= 64 => RAX,
                    _ => return self.unsupported(inst),
                };
                call.fixed_defs.push((self.reg_of(result), place));
            }
            _ => return self.unsupported(inst),
        }
        self.made.push(call);
        Ok(())
    }

    /// Calls a tile function for the lanes of a vector, if a lane of a mask is set. The operands are the result where no
    /// lane is, the mask, and the address.
    pub(super) fn tile(
        &mut self,
        inst: ir::Inst,
        target: VReg,
        [result, mask, address]: [ir::Value; 3],
        args: &[ir::Value],
    ) -> Result<()> {
        let ty = self.type_of(result);
        let test = match (self.width, ty.lane_bits()) {
            (Width::Ymm, 32) => Code::VEX_Vtestps_ymm_ymmm256,
            (Width::Ymm, 64) => Code::VEX_Vtestpd_ymm_ymmm256,
            (Width::Zmm, 32) => Code::VEX_Kortestw_kr_kr,
            (Width::Zmm, 64) => Code::VEX_Kortestb_kr_kr,
            _ => return self.unsupported(inst),
        };
        let Some(address) = self.known(address) else { return self.unsupported(inst) };
        let mask = match self.width {
            Width::Ymm => self.get(mask),
            Width::Zmm => self.mask_of_lanes(ty.lane_type(), mask),
        };
        let tile = Tile { test, address: address.cast_unsigned(), lanes: ty.lane_count() };
        let mut operands = vec![Arg::Tied(target, self.get(result)), Arg::Use(mask)];
        for arg in args {
            operands.push(Arg::Anywhere(self.get(*arg)));
        }
        self.made.push(Inst::new(Kind::Tile(tile), &operands));
        Ok(())
    }
}
