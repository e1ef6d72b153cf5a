//! Every instruction alone, on operands around the limits of their types, with garbage in the unused bits.

use super::cases::{Cases, From, Share, binary, bitcast};
use super::numbers::*;
use crate::wide::Width;
use broadloom_math::counts_bits;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Opcode, Type, Value, types};
use cranelift_frontend::FunctionBuilder;

#[test]
fn scalar_integers() {
    Cases::of_all_widths(|cases| {
        for ty in INTEGERS {
            for opcode in
                INTEGER_OPS.into_iter().chain([Opcode::Imul, Opcode::Udiv, Opcode::Urem, Opcode::Sdiv])
            {
                cases.binary(opcode, ty, ty);
                // The same value twice.
                cases.loaded_and_held(&opcode.to_string(), &[ty, ty], |builder, args| {
                    binary(builder, opcode, ty, &[args[1], args[1]])
                });
            }
            for opcode in [Opcode::Bnot, Opcode::Ineg, Opcode::Iabs, Opcode::Popcnt, Opcode::Clz] {
                cases.unary(opcode, ty, ty);
                // An operand that is read again is not the place of the result.
                cases.loaded_and_held("and again", &[ty], |builder, args| {
                    let (inst, dfg) = builder.ins().Unary(opcode, ty, args[0]);
                    let result = dfg.first_result(inst);
                    builder.ins().bxor(args[0], result)
                });
            }
            for (opcode, count) in SHIFTS.into_iter().flat_map(|opcode| INTEGERS.map(|count| (opcode, count)))
            {
                cases.binary(opcode, ty, count);
            }
            for to in INTEGERS {
                if to.bits() > ty.bits() {
                    cases.unary(Opcode::Uextend, ty, to);
                    cases.unary(Opcode::Sextend, ty, to);
                } else if to.bits() < ty.bits() {
                    cases.unary(Opcode::Ireduce, ty, to);
                }
            }
        }
        for (ty, opcode) in [types::I32, types::I64]
            .into_iter()
            .flat_map(|ty| [Opcode::Smulhi, Opcode::Umulhi].map(|op| (ty, op)))
        {
            cases.binary(opcode, ty, ty);
            cases.loaded_and_held(&opcode.to_string(), &[ty, ty], |builder, args| {
                let product = binary(builder, opcode, ty, &[args[0], args[0]]);
                let again = binary(builder, opcode, ty, &[args[1], args[0]]);
                builder.ins().bxor(product, again)
            });
        }
    });
}

/// The right operand as an immediate, in a register, or too large for an immediate.
#[test]
fn scalar_integers_and_constants() {
    const NUMBERS: [i64; 16] = [
        0,
        1,
        -1,
        5,
        31,
        33,
        127,
        128,
        -128,
        255,
        0x8000,
        0x7fff_ffff,
        -0x8000_0000,
        0xffff_ffff,
        0x1_2345_6789,
        i64::MIN,
    ];
    Cases::of_all_widths(|cases| {
        for (ty, number) in INTEGERS.into_iter().flat_map(|ty| NUMBERS.map(|number| (ty, number))) {
            for opcode in [
                Opcode::Iadd,
                Opcode::Isub,
                Opcode::Imul,
                Opcode::Band,
                Opcode::Bor,
                Opcode::Bxor,
                Opcode::Smin,
                Opcode::Umax,
                Opcode::Ishl,
                Opcode::Ushr,
                Opcode::Sshr,
            ] {
                for swap in [false, true] {
                    cases.add(&opcode.to_string(), &[ty; 2], From::Constant(number), |builder, args| {
                        let args = if swap { [args[1], args[0]] } else { [args[0], args[1]] };
                        binary(builder, opcode, ty, &args)
                    });
                }
            }
            for (condition, swap) in CONDITIONS.into_iter().flat_map(|of| [(of, false), (of, true)]) {
                cases.add(&format!("icmp {condition}"), &[ty; 2], From::Constant(number), |builder, args| {
                    let [x, y] = if swap { [args[1], args[0]] } else { [args[0], args[1]] };
                    builder.ins().icmp(condition, x, y)
                });
            }
        }
    });
}

/// Each condition as a number, in a choice, and before a branch.
#[test]
fn scalar_conditions() {
    Cases::of_all_widths(|cases| {
        let compare = |builder: &mut FunctionBuilder<'_>, which: usize, x: Value, y: Value| match which {
            0..10 => builder.ins().icmp(CONDITIONS[which], x, y),
            _ => builder.ins().fcmp(FLOAT_CONDITIONS[which - 10], x, y),
        };
        let integers = INTEGERS.into_iter().flat_map(|ty| (0..10).map(move |which| (ty, which)));
        let floats = FLOATS.into_iter().flat_map(|ty| (10..24).map(move |which| (ty, which)));
        for (ty, which) in integers.chain(floats) {
            cases.loaded_and_held(&format!("condition {which}"), &[ty; 2], |builder, args| {
                compare(builder, which, args[0], args[1])
            });
            let scalars = [types::I8, types::I32, types::I64, types::F32, types::F64];
            let scalars = (0..).zip(scalars).map(|(part, chosen)| (Share { part, parts: 5 }, chosen));
            let vector = (Share::ALL, cases.vector_of(types::I16));
            for (share, chosen) in scalars.chain([vector]) {
                cases.shared(
                    share,
                    &format!("choice {which}"),
                    &[ty, ty, chosen, chosen],
                    |builder, args| {
                        let holds = compare(builder, which, args[0], args[1]);
                        let chosen = builder.ins().select(holds, args[2], args[3]);
                        if ty != types::I64 {
                            return chosen;
                        }
                        // The condition as a longer number, and in a register: it is read again.
                        let wide = builder.ins().uextend(types::I16, holds);
                        let again = builder.ins().select(wide, chosen, args[2]);
                        let (no, yes) =
                            (builder.ins().iconst(types::I8, 0), builder.ins().iconst(types::I8, 1));
                        let byte = builder.ins().select(holds, no, yes);
                        builder.ins().select(byte, args[3], again)
                    },
                );
            }
            for (part, turned) in [(0, false), (1, true)] {
                let share = Share { part, parts: 2 };
                cases.shared(share, &format!("branch {which}"), &[ty; 2], |builder, args| {
                    let [yes, no, after] = [0; 3].map(|_| builder.create_block());
                    let result = builder.append_block_param(after, types::I32);
                    let holds = compare(builder, which, args[0], args[1]);
                    let [first, second] = if turned { [no, yes] } else { [yes, no] };
                    builder.ins().brif(holds, yes, &[], no, &[]);
                    for (block, number) in [(first, 1), (second, 2)] {
                        builder.switch_to_block(block);
                        let number = builder.ins().iconst(types::I32, number);
                        builder.ins().jump(after, &[number.into()]);
                    }
                    builder.switch_to_block(after);
                    result
                });
            }
        }
        // Numbers as truth values: only the bits of their type count.
        for ty in INTEGERS {
            for chosen in [types::I8, types::I64, types::F32, types::F64, cases.vector_of(types::I32)] {
                cases.loaded_and_held("truth", &[ty, ty, chosen, chosen], |builder, args| {
                    let both = builder.ins().iadd(args[0], args[1]);
                    builder.ins().select(both, args[2], args[3])
                });
            }
        }
    });
}

#[test]
fn scalar_floats() {
    Cases::of_all_widths(|cases| {
        for ty in FLOATS {
            for opcode in FLOAT_ARITHMETIC.into_iter().chain(FLOAT_BITS).chain([Opcode::Fmin, Opcode::Fmax]) {
                cases.binary(opcode, ty, ty);
            }
            for opcode in FLOAT_UNARY {
                cases.unary(opcode, ty, ty);
            }
            for integer in INTEGERS {
                cases.unary(Opcode::FcvtFromSint, integer, ty);
                cases.unary(Opcode::FcvtFromUint, integer, ty);
            }
            for integer in [types::I32, types::I64] {
                cases.unary(Opcode::FcvtToSintSat, ty, integer);
                cases.unary(Opcode::FcvtToUintSat, ty, integer);
            }
            let same = if ty == types::F32 { types::I32 } else { types::I64 };
            for [from, to] in [[ty, same], [same, ty], [ty, ty]] {
                cases.loaded_and_held("bitcast", &[from], |builder, args| bitcast(builder, to, args[0]));
            }
            cases.loaded_and_held("bitselect", &[ty; 3], |builder, args| {
                builder.ins().bitselect(args[0], args[1], args[2])
            });
            products(cases, ty);
        }
        cases.unary(Opcode::Fpromote, types::F32, types::F64);
        cases.unary(Opcode::Fdemote, types::F64, types::F32);
    });
}

/// Fused products, whose result overwrites an operand that may be read again.
fn products(cases: &mut Cases, ty: Type) {
    cases.loaded_and_held("fma", &[ty; 3], |builder, args| builder.ins().fma(args[0], args[1], args[2]));
    for again in 0..3 {
        cases.loaded_and_held(&format!("fma, {again} again"), &[ty; 3], |builder, args| {
            let sum = builder.ins().fma(args[0], args[1], args[2]);
            builder.ins().fadd(sum, args[again])
        });
    }
    // Negative operands, each read again or not.
    for (signs, again) in (1..8).flat_map(|signs| [(signs, None), (signs, Some(0)), (signs, Some(2))]) {
        cases.loaded_and_held(&format!("fma, signs {signs}, {again:?} again"), &[ty; 3], |builder, args| {
            let negative = |at: usize| signs >> at & 1 == 1;
            let signed: Vec<Value> =
                (0..3).map(|at| if negative(at) { builder.ins().fneg(args[at]) } else { args[at] }).collect();
            let sum = builder.ins().fma(signed[0], signed[1], signed[2]);
            match again {
                Some(again) => builder.ins().fadd(sum, signed[again]),
                None => sum,
            }
        });
    }
    for [x, y, z] in [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]] {
        cases.loaded_and_held(&format!("fma of {x} {y} {z}"), &[ty; 2], |builder, args| {
            builder.ins().fma(args[x], args[y], args[z])
        });
    }
}

#[test]
fn vectors_of_integers() {
    Cases::of_all_widths(|cases| {
        for ty in integer_vectors(cases.width()) {
            let lane = ty.lane_type();
            for opcode in INTEGER_OPS {
                cases.binary(opcode, ty, ty);
            }
            if lane != types::I8 {
                cases.binary(Opcode::Imul, ty, ty);
            }
            if lane != types::I16 {
                cases.loaded_and_held("blendv", &[ty; 3], |builder, args| {
                    builder.ins().blendv(args[0], args[1], args[2])
                });
            }
            for opcode in [Opcode::Bnot, Opcode::Ineg, Opcode::Iabs] {
                cases.unary(opcode, ty, ty);
            }
            for opcode in SHIFTS {
                for count in INTEGERS {
                    cases.binary(opcode, ty, count);
                }
                for count in [0, 1, 3, 7, 8, 15, 16, 31, 32, 63, 64, 255] {
                    cases.add(
                        &opcode.to_string(),
                        &[ty, types::I16],
                        From::Constant(count),
                        |builder, args| binary(builder, opcode, ty, args),
                    );
                }
            }
            for condition in CONDITIONS {
                cases.loaded_and_held(&format!("icmp {condition}"), &[ty; 2], |builder, args| {
                    builder.ins().icmp(condition, args[0], args[1])
                });
                cases.loaded_and_held(
                    &format!("bitselect by icmp {condition}"),
                    &[ty; 4],
                    |builder, args| {
                        let mask = builder.ins().icmp(condition, args[0], args[1]);
                        builder.ins().bitselect(mask, args[2], args[3])
                    },
                );
            }
            cases.loaded_and_held("bitselect", &[ty; 3], |builder, args| {
                builder.ins().bitselect(args[0], args[1], args[2])
            });
            truths(cases, ty);
            for turned in [[0, 1], [1, 0]] {
                cases.loaded_and_held("band_not", &[ty; 2], |builder, args| {
                    builder.ins().band_not(args[turned[0]], args[turned[1]])
                });
            }
            // As far as CLIF extends.
            if matches!(lane, types::I16 | types::I32) && ty.lane_count() <= 16 {
                let wide = ty.merge_lanes().expect("wider lanes");
                for opcode in [Opcode::SwidenLow, Opcode::SwidenHigh, Opcode::UwidenLow, Opcode::UwidenHigh] {
                    cases.loaded_and_held(&opcode.to_string(), &[ty], |builder, args| {
                        let (inst, dfg) = builder.ins().Unary(opcode, ty, args[0]);
                        dfg.first_result(inst)
                    });
                }
                for (opcode, float) in [
                    (Opcode::SwidenLow, Opcode::FcvtFromSint),
                    (Opcode::SwidenHigh, Opcode::FcvtFromSint),
                    (Opcode::UwidenHigh, Opcode::FcvtFromUint),
                ] {
                    let doubles = cases.vector_of(types::F64);
                    if wide.lane_type() == types::I64 {
                        cases.loaded_and_held("floats of widened ones", &[ty], |builder, args| {
                            let (inst, dfg) = builder.ins().Unary(opcode, ty, args[0]);
                            let wide = dfg.first_result(inst);
                            let (inst, dfg) = builder.ins().Unary(float, doubles, wide);
                            dfg.first_result(inst)
                        });
                    }
                }
            }
            if cases.width() == Width::Zmm && counts_bits() {
                cases.unary(Opcode::Popcnt, ty, ty);
            }
            lanes(cases, ty);
        }
        let [bytes, words] = [types::I8, types::I32].map(|lane| cases.vector_of(lane));
        cases.unary(Opcode::Popcnt, bytes, bytes);
        // As far as CLIF narrows.
        if words.lane_count() <= 8 {
            cases.binary(Opcode::Snarrow, words, words);
            cases.binary(Opcode::Unarrow, words, words);
        }
    });
}

#[test]
fn vectors_of_floats() {
    Cases::of_all_widths(|cases| {
        for ty in float_vectors(cases.width()) {
            let bits = cases.vector_of(if ty.lane_type() == types::F32 { types::I32 } else { types::I64 });
            for opcode in FLOAT_ARITHMETIC.into_iter().chain(FLOAT_BITS) {
                cases.binary(opcode, ty, ty);
            }
            for opcode in FLOAT_UNARY {
                cases.unary(opcode, ty, ty);
            }
            products(cases, ty);
            for condition in FLOAT_CONDITIONS {
                cases.loaded_and_held(&format!("fcmp {condition}"), &[ty; 2], |builder, args| {
                    builder.ins().fcmp(condition, args[0], args[1])
                });
                for [x, y] in [[0, 1], [1, 0], [2, 1], [0, 0]] {
                    cases.loaded_and_held(
                        &format!("{x} {y} by fcmp {condition}"),
                        &[ty; 3],
                        |builder, args| {
                            let mask = builder.ins().fcmp(condition, args[0], args[1]);
                            let mask = bitcast(builder, ty, mask);
                            builder.ins().bitselect(mask, args[x], args[y])
                        },
                    );
                }
            }
            // A comparison of floats that selects integers is not an extreme of floats.
            cases.loaded_and_held("integers by fcmp", &[ty, ty, bits, bits], |builder, args| {
                let mask = builder.ins().fcmp(FloatCC::LessThan, args[0], args[1]);
                builder.ins().bitselect(mask, args[2], args[3])
            });
            cases.loaded_and_held("blendv", &[ty; 3], |builder, args| {
                builder.ins().blendv(args[0], args[1], args[2])
            });
            cases.loaded_and_held("bitselect", &[ty; 3], |builder, args| {
                builder.ins().bitselect(args[0], args[1], args[2])
            });
            cases.unary(Opcode::FcvtFromSint, bits, ty);
            cases.unary(Opcode::FcvtFromUint, bits, ty);
            lanes(cases, ty);
        }
        let [singles, doubles, words, long] =
            [types::F32, types::F64, types::I32, types::I64].map(|lane| cases.vector_of(lane));
        cases.unary(Opcode::FcvtToSintSat, singles, words);
        cases.unary(Opcode::FcvtToUintSat, singles, words);
        cases.unary(Opcode::X86Cvtt2dq, singles, words);
        if cases.width() == Width::Zmm {
            cases.unary(Opcode::FcvtToSintSat, doubles, long);
            cases.unary(Opcode::FcvtToUintSat, doubles, long);
        }
        cases.loaded_and_held("narrowed doubles", &[doubles; 2], |builder, args| {
            let [x, y] = [0, 1].map(|at| builder.ins().fcvt_to_sint_sat(long, args[at]));
            builder.ins().snarrow(x, y)
        });
        cases.loaded_and_held("narrowed doubles and zeros", &[doubles], |builder, args| {
            let zeros = builder.func.dfg.constants.insert(vec![0; long.bytes() as usize].into());
            let zeros = builder.ins().vconst(long, zeros);
            let x = builder.ins().fcvt_to_sint_sat(long, args[0]);
            builder.ins().snarrow(x, zeros)
        });
    });
}

/// Logic on truth values, and selects, counts and blends by them: as lanes, as masks, and as both.
fn truths(cases: &mut Cases, ty: Type) {
    let compare = |builder: &mut FunctionBuilder<'_>, args: &[Value]| {
        let less = builder.ins().icmp(IntCC::SignedLessThan, args[0], args[1]);
        let equal = builder.ins().icmp(IntCC::Equal, args[1], args[2]);
        (less, equal)
    };
    for opcode in [Opcode::Band, Opcode::Bor, Opcode::Bxor] {
        for turned in [false, true] {
            let logic = |builder: &mut FunctionBuilder<'_>, args: &[Value]| {
                let (less, equal) = compare(builder, args);
                let equal = if turned { builder.ins().bnot(equal) } else { equal };
                binary(builder, opcode, ty, &[less, equal])
            };
            cases.loaded_and_held(&format!("truth by {opcode}"), &[ty; 3], logic);
            cases.loaded_and_held(&format!("choice by {opcode}"), &[ty; 3], |builder, args| {
                let truth = logic(builder, args);
                let chosen = builder.ins().bitselect(truth, args[0], args[2]);
                // Its lanes are read as well.
                if turned { builder.ins().iadd(chosen, truth) } else { chosen }
            });
        }
        for first in [false, true] {
            cases.loaded_and_held(&format!("{opcode} with a truth"), &[ty; 3], |builder, args| {
                let (less, _) = compare(builder, args);
                let [x, y] = if first { [less, args[2]] } else { [args[2], less] };
                binary(builder, opcode, ty, &[x, y])
            });
        }
    }
    for again in [false, true] {
        cases.loaded_and_held("a count", &[ty; 3], |builder, args| {
            let (less, equal) = compare(builder, args);
            let count = builder.ins().isub(args[2], less);
            if again { builder.ins().isub(count, equal) } else { builder.ins().isub(equal, count) }
        });
    }
}

/// In and out of vectors, at every place.
fn lanes(cases: &mut Cases, ty: Type) {
    let lane = ty.lane_type();
    cases.loaded_and_held("splat", &[lane], |builder, args| builder.ins().splat(ty, args[0]));
    cases.loaded_and_held("scalar_to_vector", &[lane], |builder, args| {
        builder.ins().scalar_to_vector(ty, args[0])
    });
    for place in 0..ty.lane_count() as u8 {
        cases.loaded_and_held(&format!("lane {place}"), &[ty], |builder, args| {
            builder.ins().extractlane(args[0], place)
        });
        cases.loaded_and_held(&format!("another lane {place}"), &[ty, lane], |builder, args| {
            builder.ins().insertlane(args[0], args[1], place)
        });
    }
    for to in
        integer_vectors(cases.width()).into_iter().chain(float_vectors(cases.width())).filter(|to| *to != ty)
    {
        cases.loaded_and_held(&format!("as {to}"), &[ty, to], |builder, args| {
            let bits = bitcast(builder, to, args[0]);
            builder.ins().bxor(bits, args[1])
        });
    }
    // The first lane goes to memory by itself.
    let long = cases.vector_of(types::I128);
    cases.loaded_and_held("long lane", &[ty], |builder, args| {
        let parts = bitcast(builder, long, args[0]);
        builder.ins().extractlane(parts, 0)
    });
    cases.add("long lane of memory", &[types::I128], From::Memory, |builder, args| {
        let parts = builder.ins().scalar_to_vector(long, args[0]);
        bitcast(builder, ty, parts)
    });
    if lane.is_int() {
        for number in [0, 1, -1, 0x7f] {
            cases.add("splat of a constant", &[lane], From::Constant(number), |builder, args| {
                builder.ins().splat(ty, args[0])
            });
        }
    }
}
