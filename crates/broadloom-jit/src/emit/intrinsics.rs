//! What vectors of 32 bytes need beyond CLIF.

use super::Emitter;
use cranelift_codegen::ir::{
    self, AbiParam, ExtFuncData, ExternalName, InstBuilder, InstructionData, Signature, UserExternalName,
};

/// What vectors of 32 bytes need and CLIF has no instruction for: calls of functions that only the wide back end knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intrinsic {
    /// The upper half of a register in the place of the lower one; the upper one is unspecified.
    UpperHalf,
    /// The lower halves of two registers, side by side: the first operand's below.
    LowerHalves,
    /// In each 16 bytes, words of 4 bytes chosen by two bits each, from the lowest on: two of the first operand, then
    /// two of the second, as `shufps`.
    Words(u8),
    /// In each 16 bytes, bytes of the first operand chosen by the second, as `pshufb`.
    Bytes,
    /// The four `f32` of the lower half as `f64`.
    Promote,
    /// Four `f64` as `f32` in the lower half; the upper one is unspecified.
    Demote,
    /// The eight `f16` of the lower half as `f32`.
    OfHalves,
    /// Eight `f32` rounded to `f16` in the lower half; the upper one is unspecified.
    ToHalves,
    /// The 16 bytes of the lower half as lanes of 2 bytes, extended with their signs or with zeros. CLIF extends no
    /// register of more than 16 lanes.
    Widen {
        /// With their signs.
        signed: bool,
    },
    /// The 16 signed lanes of 2 bytes as bytes in the lower half, the nearest signed or unsigned ones; the upper half is
    /// unspecified. CLIF narrows no register of more than 8 lanes.
    Narrow {
        /// To signed ones.
        signed: bool,
    },
}

impl Intrinsic {
    /// The namespace of the names of intrinsics, and of nothing else.
    pub(crate) const NAMESPACE: u32 = 32;

    /// The name to call: in its index the kind, and above it what it is parametrised by.
    fn name(self) -> UserExternalName {
        let index = match self {
            Intrinsic::UpperHalf => [0, 0],
            Intrinsic::LowerHalves => [1, 0],
            Intrinsic::Words(words) => [2, words],
            Intrinsic::Bytes => [3, 0],
            Intrinsic::Promote => [4, 0],
            Intrinsic::Demote => [5, 0],
            Intrinsic::Widen { signed } => [6, signed.into()],
            Intrinsic::Narrow { signed } => [7, signed.into()],
            Intrinsic::OfHalves => [8, 0],
            Intrinsic::ToHalves => [9, 0],
        };
        UserExternalName::new(Intrinsic::NAMESPACE, u16::from_le_bytes(index).into())
    }

    /// The intrinsic that an instruction calls, if it calls one.
    pub(crate) fn called(func: &ir::Function, inst: ir::Inst) -> Option<Intrinsic> {
        let InstructionData::Call { func_ref, .. } = func.dfg.insts[inst] else { return None };
        match func.dfg.ext_funcs[func_ref].name {
            ExternalName::User(name) => Intrinsic::of(&func.params.user_named_funcs()[name]),
            _ => None,
        }
    }

    /// The intrinsic of a name, if it is that of one.
    fn of(name: &UserExternalName) -> Option<Intrinsic> {
        if name.namespace != Intrinsic::NAMESPACE {
            return None;
        }
        match name.index.to_le_bytes() {
            [0, 0, 0, 0] => Some(Intrinsic::UpperHalf),
            [1, 0, 0, 0] => Some(Intrinsic::LowerHalves),
            [2, words, 0, 0] => Some(Intrinsic::Words(words)),
            [3, 0, 0, 0] => Some(Intrinsic::Bytes),
            [4, 0, 0, 0] => Some(Intrinsic::Promote),
            [5, 0, 0, 0] => Some(Intrinsic::Demote),
            [6, signed @ 0..2, 0, 0] => Some(Intrinsic::Widen { signed: signed == 1 }),
            [7, signed @ 0..2, 0, 0] => Some(Intrinsic::Narrow { signed: signed == 1 }),
            [8, 0, 0, 0] => Some(Intrinsic::OfHalves),
            [9, 0, 0, 0] => Some(Intrinsic::ToHalves),
            _ => None,
        }
    }
}

impl Emitter<'_, '_> {
    /// Calls an intrinsic; gives its result.
    pub(crate) fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[ir::Value],
        result: ir::Type,
    ) -> ir::Value {
        debug_assert!(self.host.is_wide(), "Cranelift's own back ends know no intrinsics");
        let mut signature = Signature::new(self.host.call_conv);
        let dfg = &self.builder.func.dfg;
        signature.params.extend(args.iter().map(|arg| AbiParam::new(dfg.value_type(*arg))));
        signature.returns.push(AbiParam::new(result));
        let signature = self.signature(signature);
        let name = ExternalName::user(self.builder.func.declare_imported_user_function(intrinsic.name()));
        let mut known = self.builder.func.dfg.ext_funcs.iter();
        let known = known.find(|(_, known)| known.name == name && known.signature == signature);
        let function = match known {
            Some((known, _)) => known,
            None => self.builder.import_function(ExtFuncData {
                name,
                signature,
                colocated: false,
                patchable: false,
            }),
        };
        let call = self.builder.ins().call(function, args);
        self.builder.inst_results(call)[0]
    }
}
