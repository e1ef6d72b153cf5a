//! Operations on vectors of 32 and 64 bytes that CLIF cannot express.

use super::Emitter;
use super::masks::Narrowing;
use cranelift_codegen::ir::{
    self, AbiParam, ExtFuncData, ExternalName, InstBuilder, InstructionData, Signature, UserExternalName,
};

/// Operations on wide vectors that CLIF lacks: calls of functions that only the wide back end knows. A part of a
/// register is 16 bytes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intrinsic {
    /// A part of a register moved to the first place, with the next part if its number is even; the parts above are
    /// unspecified.
    From(u8),
    /// One or two parts of the first operand, followed by as many of the second; the parts above are unspecified.
    Joined(u8),
    /// Parts selected by two bits each, lowest first.
    Parts(u8),
    /// A vector of 32 bytes as the lower half of one of 64; the upper half is unspecified.
    Whole,
    /// The lower half of a vector of 64 bytes as one of 32.
    Half,
    /// Within each 16 bytes, 4-byte words selected by two bits each, lowest first: two of the first operand, then two
    /// of the second, like `shufps`.
    Words(u8),
    /// Within each 16 bytes, bytes of the first operand selected by the second, like `pshufb`.
    Bytes,
    /// Within each 8 bytes, the sum of the distances of the bytes of two operands, as one number, like `psadbw`.
    Distances,
    /// The number of zeros above the highest set bit of each lane of 4 or 8 bytes, in registers of 64 bytes.
    LeadingZeros,
    /// Lanes of 4 or 8 bytes of two registers of 64 bytes, by their numbers in the third operand: those of the second register
    /// count on from those of the first.
    Picked,
    /// Floats of 64 bytes times two to the power of the second operand, an integer, rounded once.
    Scaled,
    /// The `f32` of the lower half as `f64`.
    Promote,
    /// `f64` as `f32` in the lower half; the upper one is unspecified.
    Demote,
    /// The `f16` of the lower half as `f32`.
    OfHalves,
    /// `f32` rounded to `f16` in the lower half; the upper one is unspecified.
    ToHalves,
    /// The lanes of the lower half twice as wide, sign- or zero-extended. CLIF does not extend registers of more than
    /// 16 lanes.
    Widen {
        /// Whether they are sign-extended.
        signed: bool,
    },
    /// Signed lanes half as wide in the lower half; the upper half is unspecified. CLIF narrows no register of more
    /// than 8 lanes, and takes no low halves.
    Narrow(Narrowing),
    /// Asks for the cache line of an address: the only intrinsic without a result.
    Prefetch,
    /// The elements of 4 or 8 bytes at an address, the first operand, moved by as many elements as the lanes of the second say, which
    /// have 8 bytes. Those of 4 bytes are in the lower half; the upper one is unspecified.
    Gathered {
        /// Whether they have 8 bytes.
        long: bool,
    },
    /// The operand itself, for a store that goes past the caches, to an address that is aligned to a register.
    Streamed,
    /// Lanes of 4 or 8 bytes shifted by as many bits as those of the second operand say, as unsigned numbers; zeros come in.
    ShiftEach {
        /// Whether they are shifted up.
        left: bool,
    },
    /// The first operand if no lane of the second, a mask, is set. Otherwise the results of a tile function, whose address
    /// is the third operand, on the lanes of the one or two registers that follow.
    Tile,
}

impl Intrinsic {
    /// The namespace of the names of intrinsics, and of nothing else.
    pub(crate) const NAMESPACE: u32 = 32;

    /// The name to call: its index contains the kind, and above it the parameter.
    fn name(self) -> UserExternalName {
        let index = match self {
            Intrinsic::From(part) => [0, part],
            Intrinsic::Joined(parts) => [1, parts],
            Intrinsic::Words(words) => [2, words],
            Intrinsic::Bytes => [3, 0],
            Intrinsic::Promote => [4, 0],
            Intrinsic::Demote => [5, 0],
            Intrinsic::Widen { signed } => [6, signed.into()],
            Intrinsic::Narrow(narrowing) => [7, narrowing as u8],
            Intrinsic::OfHalves => [8, 0],
            Intrinsic::ToHalves => [9, 0],
            Intrinsic::Parts(parts) => [10, parts],
            Intrinsic::Whole => [11, 0],
            Intrinsic::Half => [12, 0],
            Intrinsic::Prefetch => [13, 0],
            Intrinsic::Tile => [14, 0],
            Intrinsic::ShiftEach { left } => [15, left.into()],
            Intrinsic::Distances => [16, 0],
            Intrinsic::LeadingZeros => [17, 0],
            Intrinsic::Picked => [18, 0],
            Intrinsic::Scaled => [19, 0],
            Intrinsic::Streamed => [20, 0],
            Intrinsic::Gathered { long } => [21, long.into()],
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

    /// The intrinsic with a name, if there is one.
    fn of(name: &UserExternalName) -> Option<Intrinsic> {
        if name.namespace != Intrinsic::NAMESPACE {
            return None;
        }
        match name.index.to_le_bytes() {
            [0, part, 0, 0] => Some(Intrinsic::From(part)),
            [1, parts, 0, 0] => Some(Intrinsic::Joined(parts)),
            [2, words, 0, 0] => Some(Intrinsic::Words(words)),
            [3, 0, 0, 0] => Some(Intrinsic::Bytes),
            [4, 0, 0, 0] => Some(Intrinsic::Promote),
            [5, 0, 0, 0] => Some(Intrinsic::Demote),
            [6, signed @ 0..2, 0, 0] => Some(Intrinsic::Widen { signed: signed == 1 }),
            [7, how, 0, 0] => Narrowing::ALL.get(usize::from(how)).map(|how| Intrinsic::Narrow(*how)),
            [8, 0, 0, 0] => Some(Intrinsic::OfHalves),
            [9, 0, 0, 0] => Some(Intrinsic::ToHalves),
            [10, parts, 0, 0] => Some(Intrinsic::Parts(parts)),
            [11, 0, 0, 0] => Some(Intrinsic::Whole),
            [12, 0, 0, 0] => Some(Intrinsic::Half),
            [13, 0, 0, 0] => Some(Intrinsic::Prefetch),
            [14, 0, 0, 0] => Some(Intrinsic::Tile),
            [15, left @ 0..2, 0, 0] => Some(Intrinsic::ShiftEach { left: left == 1 }),
            [16, 0, 0, 0] => Some(Intrinsic::Distances),
            [17, 0, 0, 0] => Some(Intrinsic::LeadingZeros),
            [18, 0, 0, 0] => Some(Intrinsic::Picked),
            [19, 0, 0, 0] => Some(Intrinsic::Scaled),
            [20, 0, 0, 0] => Some(Intrinsic::Streamed),
            [21, long @ 0..2, 0, 0] => Some(Intrinsic::Gathered { long: long == 1 }),
            _ => None,
        }
    }
}

impl Emitter<'_, '_> {
    /// Calls an intrinsic. Returns its result.
    pub(crate) fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[ir::Value],
        result: ir::Type,
    ) -> ir::Value {
        let call = self.call_intrinsic(intrinsic, args, Some(result));
        self.builder.inst_results(call)[0]
    }

    /// Calls an intrinsic that has a result of a type, or none.
    pub(super) fn call_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[ir::Value],
        result: Option<ir::Type>,
    ) -> ir::Inst {
        debug_assert!(self.host.is_wide(), "Cranelift's own back ends know no intrinsics");
        let mut signature = Signature::new(self.host.call_conv);
        let dfg = &self.builder.func.dfg;
        signature.params.extend(args.iter().map(|arg| AbiParam::new(dfg.value_type(*arg))));
        signature.returns.extend(result.map(AbiParam::new));
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
        self.builder.ins().call(function, args)
    }
}
