//! The back end refuses unknown instructions, even if nothing reads their results.

use super::super::{Width, compile};
use super::machine::{built, isa, optimised, signature};
use super::numbers::vector_of;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, AtomicRmwOp, BlockCall, ExtFuncData, ExternalName, InstBuilder, JumpTableData, MemFlagsData,
    Signature, StackSlotData, StackSlotKind, TrapCode, UserExternalName, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::FunctionBuilder;

/// Whether a function of a signature is refused.
fn is_refused(
    isa: &dyn TargetIsa,
    width: Width,
    signature: Signature,
    emit: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]),
) -> bool {
    compile(&optimised(isa, &built(isa, signature, emit)), width).is_err()
}

/// Functions whose body is followed by a return.
fn check(is_known: bool, name: &str, emit: impl Fn(&mut FunctionBuilder<'_>, &[Value])) {
    for width in Width::ALL {
        check_for(width, is_known, name, &emit);
    }
}

fn check_for(width: Width, is_known: bool, name: &str, emit: impl Fn(&mut FunctionBuilder<'_>, &[Value])) {
    let Some(isa) = isa(width) else { return };
    let refused = is_refused(&*isa, width, signature(), |builder, args| {
        emit(builder, args);
        builder.ins().return_(&[]);
    });
    assert_eq!(refused, !is_known, "{name}, {width:?}");
}

const FLAGS: MemFlagsData = MemFlagsData::new().with_notrap();

#[test]
fn a_fence_is_kept() {
    for width in Width::ALL {
        let Some(isa) = isa(width) else { continue };
        let fenced = built(&*isa, signature(), |builder, _| {
            builder.ins().fence();
            builder.ins().return_(&[]);
        });
        let code = compile(&optimised(&*isa, &fenced), width).unwrap_or_else(|_| panic!("{width:?}"));
        let text = crate::assembly::text(&code.assembly());
        assert!(text.contains("mfence"), "{text}");
    }
}

#[test]
fn what_has_an_effect_is_not_left_out() {
    let code = TrapCode::unwrap_user(1);
    check(true, "nothing", |_, _| {});
    check(false, "trapz", |builder, args| {
        builder.ins().trapz(args[2], code);
    });
    check(false, "trapnz", |builder, args| {
        builder.ins().trapnz(args[2], code);
    });
    check(false, "a sum that traps", |builder, args| {
        builder.ins().uadd_overflow_trap(args[2], args[3], code);
    });
    check(false, "a conversion that traps", |builder, args| {
        let float = builder.ins().load(types::F64, FLAGS, args[0], 0);
        builder.ins().fcvt_to_sint(types::I64, float);
    });
    check(false, "an atomic load", |builder, args| {
        builder.ins().atomic_load(types::I32, FLAGS, args[0]);
    });
    check(false, "an atomic sum", |builder, args| {
        builder.ins().atomic_rmw(types::I64, FLAGS, AtomicRmwOp::Add, args[1], args[2]);
    });
    check(false, "a short store", |builder, args| {
        builder.ins().istore8(FLAGS, args[2], args[1], 0);
    });
    check(false, "another function", |builder, _| {
        let signature = builder.import_signature(Signature::new(CallConv::SystemV));
        let name = builder.func.declare_imported_user_function(UserExternalName::new(0, 0));
        let function = builder.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: false,
            patchable: false,
        });
        builder.ins().call(function, &[]);
    });
    check(true, "a quotient that nobody reads", |builder, args| {
        builder.ins().udiv(args[2], args[3]);
    });
}

#[test]
fn long_integers_are_only_moved() {
    let long = |builder: &mut FunctionBuilder<'_>, args: &[Value]| {
        builder.ins().load(types::I128, FLAGS, args[0], 0)
    };
    for width in Width::ALL {
        check_for(width, true, "moved", |builder, args| {
            let long = long(builder, args);
            let vector = builder.ins().scalar_to_vector(vector_of(types::I128, width), long);
            let lane = builder.ins().extractlane(vector, 0);
            builder.ins().store(FLAGS, lane, args[1], 0);
        });
    }
    check(false, "stored from a register", |builder, args| {
        let long = long(builder, args);
        builder.ins().store(FLAGS, long, args[1], 0);
    });
    check(false, "reduced", |builder, args| {
        let long = long(builder, args);
        let low = builder.ins().ireduce(types::I64, long);
        builder.ins().store(FLAGS, low, args[1], 0);
    });
    check(false, "compared", |builder, args| {
        let long = long(builder, args);
        let truth = builder.ins().icmp(IntCC::Equal, long, long);
        builder.ins().store(FLAGS, truth, args[1], 0);
    });
    check(false, "a count", |builder, args| {
        let long = long(builder, args);
        let shifted = builder.ins().ishl(args[2], long);
        builder.ins().store(FLAGS, shifted, args[1], 0);
    });
    check(false, "a condition", |builder, args| {
        let long = long(builder, args);
        let chosen = builder.ins().select(long, args[2], args[3]);
        builder.ins().store(FLAGS, chosen, args[1], 0);
    });
    check(false, "a condition of a branch", |builder, args| {
        let long = long(builder, args);
        let [yes, no] = [0; 2].map(|_| builder.create_block());
        builder.ins().brif(long, yes, &[], no, &[]);
        builder.switch_to_block(yes);
        builder.ins().jump(no, &[]);
        builder.switch_to_block(no);
    });
}

#[test]
fn vectors_that_the_machine_has_otherwise() {
    check(false, "16 bytes", |builder, args| {
        let vector = builder.ins().load(types::I32X4, FLAGS, args[0], 0);
        builder.ins().store(FLAGS, vector, args[1], 0);
    });
    for (width, other) in
        [(Width::Ymm, types::I32X16), (Width::Zmm, types::I32X8), (Width::Zmm, types::I8X32)]
    {
        check_for(width, false, "vectors of the other width", |builder, args| {
            let vector = builder.ins().load(other, FLAGS, args[0], 0);
            let sum = builder.ins().iadd(vector, vector);
            builder.ins().store(FLAGS, sum, args[1], 0);
        });
    }
    for width in Width::ALL {
        check_for(width, false, "blendv of 2 bytes", |builder, args| {
            let vector = builder.ins().load(vector_of(types::I16, width), FLAGS, args[0], 0);
            let blended = builder.ins().blendv(vector, vector, vector);
            builder.ins().store(FLAGS, blended, args[1], 0);
        });
        for (byte, is_known) in [(0, true), (1, false)] {
            check_for(width, is_known, "doubles narrowed beside a constant", |builder, args| {
                let [doubles, words] = [types::F64, types::I64].map(|lane| vector_of(lane, width));
                let doubles = builder.ins().load(doubles, FLAGS, args[0], 0);
                let long = builder.ins().fcvt_to_sint_sat(words, doubles);
                let other = builder.func.dfg.constants.insert(vec![byte; width.bytes()].into());
                let other = builder.ins().vconst(words, other);
                let narrow = builder.ins().snarrow(long, other);
                builder.ins().store(FLAGS, narrow, args[1], 0);
            });
        }
    }
}

#[test]
fn rests_that_the_machine_has_otherwise() {
    check(true, "by a constant", |builder, args| {
        let three = builder.ins().iconst(types::I64, 3);
        let quotient = builder.ins().udiv(args[2], three);
        builder.ins().store(FLAGS, quotient, args[1], 0);
    });
    // The rest of the least number and -1 is zero; the machine's instruction does not get there.
    check(false, "a signed rest", |builder, args| {
        let rest = builder.ins().srem(args[2], args[3]);
        builder.ins().store(FLAGS, rest, args[1], 0);
    });
}

#[test]
fn calls_of_other_conventions() {
    let call = |is_known: bool, name: &str, signature: Signature, params: &[types::Type]| {
        check(is_known, name, |builder, args| {
            let signature = builder.import_signature(signature.clone());
            let passed: Vec<Value> =
                params.iter().map(|ty| builder.ins().load(*ty, FLAGS, args[0], 0)).collect();
            builder.ins().call_indirect(signature, args[2], &passed);
        });
    };
    let of = |params: &[types::Type], returns: &[types::Type]| {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend(params.iter().copied().map(AbiParam::new));
        signature.returns.extend(returns.iter().copied().map(AbiParam::new));
        signature
    };
    call(true, "nothing", of(&[], &[]), &[]);
    call(true, "8 floats", of(&[types::F32; 8], &[types::F64]), &[types::F32; 8]);
    call(false, "9 floats", of(&[types::F32; 9], &[]), &[types::F32; 9]);
    call(false, "a long integer", of(&[types::I128], &[]), &[types::I128]);
    call(false, "a vector", of(&[types::I32X8], &[]), &[types::I32X8]);
    call(false, "a long result", of(&[], &[types::I128]), &[]);
    call(false, "a vector as a result", of(&[], &[types::F32X8]), &[]);
    call(false, "two results", of(&[], &[types::I64; 2]), &[]);
    call(false, "another convention", Signature::new(CallConv::WindowsFastcall), &[]);
}

#[test]
fn functions_of_other_signatures() {
    let Some(isa) = isa(Width::Ymm) else { return };
    let check = |is_known: bool, params: &[types::Type], returns: &[types::Type]| {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend(params.iter().copied().map(AbiParam::new));
        signature.returns.extend(returns.iter().copied().map(AbiParam::new));
        let refused = is_refused(&*isa, Width::Ymm, signature, |builder, args| {
            builder.ins().return_(&args[..returns.len()]);
        });
        assert_eq!(refused, !is_known, "{params:?} {returns:?}");
    };
    check(true, &[types::I64; 6], &[]);
    check(true, &[types::I8, types::I32], &[]);
    check(false, &[types::I64; 7], &[]);
    check(false, &[types::F32], &[]);
    check(false, &[types::I128], &[]);
    check(false, &[types::I32X8], &[]);
    check(false, &[types::I64], &[types::I64]);
}

#[test]
fn slots_that_a_frame_does_not_hold() {
    let slot = |is_known: bool, size: u32, alignment: u8| {
        check(is_known, &format!("{size} bytes aligned to 2^{alignment}"), |builder, args| {
            let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, size, alignment);
            let slot = builder.create_sized_stack_slot(slot);
            let address = builder.ins().stack_addr(types::I64, slot, 0);
            builder.ins().store(FLAGS, address, args[1], 0);
        });
    };
    slot(true, 60_000, 4);
    slot(false, 60_000, 5);
    slot(false, 66_000, 4);
    slot(false, u32::MAX, 4);
}

#[test]
fn control_flow_of_other_kinds() {
    check(false, "a table", |builder, args| {
        let after = builder.create_block();
        let pool = &mut builder.func.dfg.value_lists;
        let [call, other] = [0; 2].map(|_| BlockCall::new(after, [], pool));
        let table = builder.create_jump_table(JumpTableData::new(call, &[other]));
        let index = builder.ins().ireduce(types::I32, args[2]);
        builder.ins().br_table(index, table);
        builder.switch_to_block(after);
    });
    for length in [1, 2, 3] {
        check(false, "a loop that does nothing", |builder, args| {
            let blocks: Vec<_> = (0..length).map(|_| builder.create_block()).collect();
            let after = builder.create_block();
            builder.ins().brif(args[2], blocks[0], &[], after, &[]);
            for (at, block) in blocks.iter().enumerate() {
                builder.switch_to_block(*block);
                builder.ins().jump(blocks[(at + 1) % length], &[]);
            }
            builder.switch_to_block(after);
        });
    }
}
