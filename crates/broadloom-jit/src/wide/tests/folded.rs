//! Loads that an instruction may use as a memory operand, and stores and calls between that change the loaded value.
#![allow(unsafe_code, reason = "functions under test store where they are told to")]

use super::cases::bitcast;
use super::generate::SCRATCH;
use super::hosts;
use super::interpret;
use super::machine::{Machine, PARAMS, built, signature};
use super::numbers::{Random, vector_of};
use crate::wide::Width;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Function, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::FunctionBuilder;

/// The offset of the load and of the stores.
const PLACE: i32 = 48;

const FLAGS: MemFlagsData = MemFlagsData::new().with_notrap();

/// The instructions between a load and its use.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    Nothing,
    /// A store to the loaded address.
    Store,
    /// A call that overwrites it.
    Call,
    /// The end of a block, and a store in the next one.
    Block,
}

/// Uses a loaded value, and another value in a register.
type Use = fn(&mut FunctionBuilder<'_>, Value, Value, Width) -> Value;

/// Uses whose operands may be in memory, with the types of the loaded values: vectors of these lanes, of any width.
const USES: [(&str, Type, Use); 24] = [
    ("uextend 8", types::I8, |builder, x, _, _| builder.ins().uextend(types::I64, x)),
    ("sextend 16", types::I16, |builder, x, _, _| builder.ins().sextend(types::I64, x)),
    ("uextend 32", types::I32, |builder, x, _, _| builder.ins().uextend(types::I64, x)),
    ("iadd", types::I64, |builder, x, y, _| builder.ins().iadd(y, x)),
    ("icmp", types::I64, |builder, x, y, _| builder.ins().icmp(IntCC::UnsignedLessThan, y, x)),
    ("fadd", types::F32, |builder, x, y, _| builder.ins().fadd(y, x)),
    ("fma", types::F64, |builder, x, y, _| builder.ins().fma(y, y, x)),
    ("fma with a factor", types::F64, |builder, x, y, _| builder.ins().fma(y, x, y)),
    ("fcmp", types::F32, |builder, x, y, _| builder.ins().fcmp(FloatCC::LessThan, y, x)),
    ("choice by fcmp", types::F64, |builder, x, y, _| {
        let less = builder.ins().fcmp(FloatCC::LessThan, y, x);
        let one = builder.ins().f64const(1.0);
        builder.ins().select(less, one, y)
    }),
    ("vector iadd", types::I16X16, |builder, x, y, _| builder.ins().iadd(y, x)),
    ("vector isub of a negative", types::I32X8, |builder, x, y, _| {
        let negative = builder.ins().ineg(x);
        builder.ins().isub(y, negative)
    }),
    ("vector iabs", types::I8X32, |builder, x, _, _| builder.ins().iabs(x)),
    ("vector fma", types::F32X8, |builder, x, y, _| builder.ins().fma(y, y, x)),
    ("vector sqrt", types::F64X4, |builder, x, _, _| builder.ins().sqrt(x)),
    ("vector floor", types::F32X8, |builder, x, _, _| builder.ins().floor(x)),
    ("vector choice", types::I32X8, |builder, x, y, _| {
        let less = builder.ins().icmp(IntCC::SignedLessThan, y, x);
        builder.ins().bitselect(less, x, y)
    }),
    ("vector masked", types::F64X4, |builder, x, y, _| {
        let ty = builder.func.dfg.value_type(y);
        let less = builder.ins().fcmp(FloatCC::LessThan, y, y);
        let less = bitcast(builder, ty, less);
        builder.ins().band(less, x)
    }),
    ("vector fcmp", types::F64X4, |builder, x, y, _| builder.ins().fcmp(FloatCC::LessThan, y, x)),
    ("vector as another", types::I64X4, |builder, x, y, width| {
        let [x, y] = [x, y].map(|value| bitcast(builder, vector_of(types::I8, width), value));
        builder.ins().bxor(y, x)
    }),
    ("splat 8", types::I8, |builder, x, _, width| builder.ins().splat(vector_of(types::I8, width), x)),
    ("splat of a double", types::F64, |builder, x, _, width| {
        builder.ins().splat(vector_of(types::F64, width), x)
    }),
    ("first lane", types::F32, |builder, x, _, width| {
        builder.ins().scalar_to_vector(vector_of(types::F32, width), x)
    }),
    ("first long lane", types::I64, |builder, x, _, width| {
        builder.ins().scalar_to_vector(vector_of(types::I64, width), x)
    }),
];

/// A function that loads from its second argument, runs the instructions between, and stores a use of the loaded value.
fn function(isa: &dyn TargetIsa, width: Width, ty: Type, between: Between, emit: Use) -> Function {
    let ty = if ty.is_vector() { vector_of(ty.lane_type(), width) } else { ty };
    built(isa, signature(), |builder, params| {
        let [source, target, index] = [params[0], params[1], params[2]];
        let index = builder.ins().ishl_imm_u(index, 3);
        let address = builder.ins().iadd(target, index);
        let other = builder.ins().load(ty, FLAGS, source, 0);
        let loaded = builder.ins().load(ty, FLAGS, address, 16);
        if between == Between::Block {
            let next = builder.create_block();
            builder.ins().jump(next, &[]);
            builder.switch_to_block(next);
        }
        match between {
            Between::Nothing => {}
            Between::Store | Between::Block => {
                let ones = builder.ins().iconst(types::I64, -1);
                builder.ins().store(FLAGS, ones, target, PLACE);
            }
            Between::Call => {
                let poke = builder.import_signature(hosts::signature(hosts::POKE, None));
                let callee = builder.ins().iconst(types::I64, hosts::poke_address() as i64);
                let at = builder.ins().iadd_imm_s(target, i64::from(PLACE));
                builder.ins().call_indirect(poke, callee, &[at, index]);
            }
        }
        let result = emit(builder, loaded, other, width);
        builder.ins().store(FLAGS, result, target, SCRATCH as i32);
        builder.ins().return_(&[]);
    })
}

#[test]
fn loads_see_what_was_there() {
    for width in Width::ALL {
        check(width);
    }
}

fn check(width: Width) {
    let Some(mut machine) = Machine::new(width) else { return };
    let isa = machine.isa.clone();
    let mut all = Vec::new();
    for (name, ty, emit) in USES {
        for between in [Between::Nothing, Between::Store, Between::Call, Between::Block] {
            let func = function(&*isa, width, ty, between, emit);
            let callable = machine.wide(&func).expect("a known function");
            all.push((format!("{name}, {between:?}"), func, callable));
        }
    }
    machine.finish();
    let source = Random(1).bytes(64);
    for (name, func, callable) in all {
        let run = |call: &dyn Fn([u64; PARAMS])| {
            let mut target = Random(2).bytes(SCRATCH + width.bytes());
            call([source.as_ptr() as u64, target.as_mut_ptr() as u64, (PLACE as u64 - 16) / 8, 0, 0, 0]);
            target
        };
        // SAFETY: the function stays within the arrays.
        let got = run(&|args| unsafe { machine.call(callable, args) });
        // SAFETY: the same.
        let expected = run(&|args| unsafe { interpret::run(&func, &args) });
        assert!(got == expected, "{name}\n{func}");
    }
}
