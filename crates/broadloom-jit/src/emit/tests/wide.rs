//! CLIF with vectors of 32 and of 64 bytes: everything that can be emitted is of the right types, and of no other size.

use super::super::{Emitter, Host, Intrinsic, LaneStride, Narrowing, Val};
use super::elementwise::rows;
use super::harness::{ARRAY, BackEnd, Params, Target, build};
use super::lanes;
use super::memory::STRIDES;
use super::reductions::accumulations;
use crate::notes::Notes;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use cranelift_codegen::ir::{self, Function, Opcode, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::verify_function;

/// Whether a value is loaded, or half of another.
fn is_moved(func: &Function, value: ir::Value) -> bool {
    let inst = func.dfg.value_def(value).inst().expect("an instruction");
    func.dfg.insts[inst].opcode() == Opcode::Load || Intrinsic::called(func, inst) == Some(Intrinsic::Half)
}

/// Lanes of values of these dtypes, with the bytes of a lane of masks beside them.
fn shapes(dtypes: &[DType]) -> impl Iterator<Item = (usize, u8)> {
    lanes(dtypes).iter().flat_map(|lanes| [1, 2, 4, 8].map(|width| (*lanes, width)))
}

/// Checks functions as they are added.
struct Checker {
    isa: OwnedTargetIsa,
    /// Bytes of a vector register.
    vector_bytes: usize,
    fused: bool,
    notes: Notes,
}

impl Checker {
    fn new(vector_bytes: usize, fused: bool) -> Checker {
        const AVX2: &[&str] = &[
            "has_sse3",
            "has_ssse3",
            "has_sse41",
            "has_sse42",
            "has_popcnt",
            "has_avx",
            "has_avx2",
            "has_fma",
        ];
        let isa = Target { back_end: BackEnd::Own, features: Some(AVX2), fused }.isa();
        Checker { isa, vector_bytes, fused, notes: Notes::default() }
    }

    fn add(&mut self, name: &str, emit: impl FnOnce(&mut Emitter<'_, '_>, Params)) {
        let mut func = Function::new();
        let host = Host::of(&*self.isa).with_vector_bytes(self.vector_bytes);
        build(&mut func, &*self.isa, host, self.fused, &mut self.notes, emit);
        if let Err(errors) = verify_function(&func, &*self.isa) {
            panic!("{name}: {errors}\n{func}");
        }
        for value in func.dfg.values() {
            let ty = func.dfg.value_type(value);
            // Halves are only on their way from and to memory.
            let is_half = self.vector_bytes == 64 && ty == types::I8X32 && is_moved(&func, value);
            assert!(
                !ty.is_vector() || ty.bytes() as usize == self.vector_bytes || is_half,
                "{name}: {value} is {ty}\n{func}"
            );
        }
        for (_, constant) in func.dfg.constants.iter() {
            assert_eq!(constant.len(), self.vector_bytes, "{name}\n{func}");
        }
    }

    /// Adds a function of loaded operands, masks of a width, that stores a value.
    fn value(
        &mut self,
        name: &str,
        operands: &[(DType, usize)],
        mask_width: u8,
        emit: impl FnOnce(&mut Emitter<'_, '_>, &[Val]) -> Val,
    ) {
        self.add(name, |emitter, params| {
            let operands: Vec<Val> = (0..)
                .zip(operands)
                .map(|(at, (dtype, lanes))| {
                    let offset = at * ARRAY as i32;
                    let value = emitter.load(params.source, offset, *dtype, *lanes, LaneStride::Unit);
                    if value.is_mask() { emitter.resize_mask(&value, mask_width) } else { value }
                })
                .collect();
            let result = emit(emitter, &operands);
            emitter.store(params.target, 0, &result, LaneStride::Unit);
        });
    }

    fn ops(&mut self) {
        for (op, dtype) in rows() {
            for &lanes in lanes(&[dtype]) {
                self.value(&format!("{op}"), &vec![(dtype, lanes); op.arity()], 1, |emitter, args| {
                    emitter.op(op, args)
                });
            }
            if op.arity() == 2 {
                for (x, y) in [(4, 1), (1, 4), (8, 1), (1, 8), (16, 1), (1, 16)] {
                    self.value(&format!("{op}"), &[(dtype, x), (dtype, y)], 1, |emitter, args| {
                        emitter.op(op, args)
                    });
                }
                // Constants take other ways than values, shifts above all.
                self.value(&format!("{op}"), &[(dtype, 8)], 1, |emitter, args| {
                    let constant = emitter.constant(Scalar::I64(3).cast(dtype));
                    emitter.op(op, &[args[0].clone(), constant])
                });
            }
        }
    }

    fn casts_and_choices(&mut self) {
        for from in DType::ALL.iter().copied() {
            for to in DType::ALL.iter().copied() {
                for (lanes, width) in shapes(&[from, to]) {
                    let name = format!("cast of {lanes} {from} to {to}");
                    self.value(&name, &[(from, lanes)], width, |emitter, args| emitter.cast(&args[0], to));
                }
            }
            for (lanes, width) in shapes(&[from]) {
                let name = format!("select of {lanes} {from}");
                let operands = [(DType::Bool, lanes), (from, lanes), (from, lanes)];
                self.value(&name, &operands, width, |emitter, args| {
                    emitter.select(&args[0], &args[1], &args[2])
                });
                self.value(&name, &operands[1..], width, |emitter, args| {
                    let less = emitter.op(Op::Less, args);
                    emitter.select(&less, &args[0], &args[1])
                });
            }
        }
    }

    fn memory(&mut self) {
        for dtype in DType::ALL.iter().copied() {
            for &lanes in lanes(&[dtype]) {
                let name = format!("{lanes} strided lanes of {dtype}");
                for stride in STRIDES {
                    let stride = LaneStride::Bytes(stride * dtype.size() as i64);
                    self.strided(&name, dtype, lanes, |_| stride);
                }
                self.strided(&name, dtype, lanes, |params| LaneStride::Dynamic(params.number));
            }
        }
    }

    fn strided(&mut self, name: &str, dtype: DType, lanes: usize, stride: impl Fn(Params) -> LaneStride) {
        self.add(name, |emitter, params| {
            let value = emitter.load(params.source, 0, dtype, lanes, stride(params));
            emitter.store(params.target, 0, &value, stride(params));
        });
    }

    fn lanes(&mut self) {
        for dtype in DType::ALL.iter().copied() {
            for width in if dtype == DType::Bool { &[1, 2, 4, 8][..] } else { &[1] } {
                for (lanes, count) in [(16, 8), (16, 4), (8, 4), (4, 1)] {
                    for first in 0..=lanes - count {
                        let name = format!("{count} lanes of {dtype} from {first} of {lanes}");
                        self.value(&name, &[(dtype, lanes)], *width, |emitter, args| {
                            emitter.lanes_slice(&args[0], first, count)
                        });
                    }
                }
                for parts in [&[4, 4][..], &[8, 8], &[4, 4, 4, 4], &[8, 4, 4], &[4, 8, 4], &[1, 1, 1, 1]] {
                    let name = format!("{parts:?} lanes of {dtype} together");
                    let operands: Vec<(DType, usize)> = parts.iter().map(|lanes| (dtype, *lanes)).collect();
                    self.value(&name, &operands, *width, |emitter, args| emitter.concat(args));
                }
            }
        }
        for dtype in [DType::I64, DType::I32] {
            for &lanes in lanes(&[dtype]) {
                self.value("iota", &[(DType::I64, 1)], 1, |emitter, args| {
                    emitter.iota(args[0].regs[0], lanes, dtype)
                });
            }
        }
    }

    fn reductions(&mut self) {
        for (op, _, dtype) in accumulations() {
            for &lanes in lanes(&[dtype]) {
                let name = format!("{op} of {lanes} {dtype}");
                self.value(&name, &[(dtype, lanes); 2], 1, |emitter, args| {
                    emitter.accumulate(op, dtype, &args[0], &args[1])
                });
                if op == ReduceOp::Sum {
                    self.value(&name, &[(dtype, lanes); 3], 1, |emitter, args| {
                        emitter.accumulate_product(&args[0], &args[1], &args[2])
                    });
                }
            }
            for width in if dtype == DType::Bool { &[1, 2, 4, 8][..] } else { &[1] } {
                let name = format!("{op} of the lanes of {dtype}");
                self.value(&name, &[(dtype, 16)], *width, |emitter, args| emitter.fold_halves(op, &args[0]));
            }
        }
        for dtype in DType::ALL.iter().copied() {
            for (op, index) in [ReduceOp::ArgMin, ReduceOp::ArgMax]
                .into_iter()
                .flat_map(|op| [(op, DType::I32), (op, DType::I64)])
            {
                for &lanes in lanes(&[dtype, index]) {
                    let operands = [(dtype, lanes), (index, lanes), (dtype, lanes), (index, lanes)];
                    let name = format!("{op} of {lanes} {dtype} with {index}");
                    self.value(&name, &operands, 1, |emitter, args| {
                        emitter.better_or_tied(op, &args[0], &args[1], &args[2], &args[3])
                    });
                }
            }
        }
    }

    fn everything(&mut self) {
        self.ops();
        self.casts_and_choices();
        self.memory();
        self.lanes();
        self.reductions();
    }
}

#[test]
fn everything_has_the_right_types() {
    for (vector_bytes, fused) in [(32, false), (32, true), (64, false), (64, true)] {
        Checker::new(vector_bytes, fused).everything();
    }
}

#[test]
fn intrinsics_are_known_by_their_names() {
    let mut checker = Checker::new(64, false);
    checker.add("intrinsics", |emitter, params| {
        let value = emitter.load(params.source, 0, DType::F32, 16, LaneStride::Unit);
        let reg = value.regs[0];
        for intrinsic in [
            Intrinsic::From(1),
            Intrinsic::From(3),
            Intrinsic::Joined(1),
            Intrinsic::Joined(2),
            Intrinsic::Parts(0),
            Intrinsic::Parts(255),
            Intrinsic::Whole,
            Intrinsic::Half,
            Intrinsic::Words(0),
            Intrinsic::Words(255),
            Intrinsic::Bytes,
            Intrinsic::Distances,
            Intrinsic::LeadingZeros,
            Intrinsic::Picked,
            Intrinsic::Scaled,
            Intrinsic::Streamed,
            Intrinsic::Gathered { long: false },
            Intrinsic::Gathered { long: true },
            Intrinsic::Promote,
            Intrinsic::Demote,
            Intrinsic::OfHalves,
            Intrinsic::ToHalves,
            Intrinsic::Widen { signed: false },
            Intrinsic::Widen { signed: true },
            Intrinsic::Narrow(Narrowing::Low),
            Intrinsic::Narrow(Narrowing::Signed),
            Intrinsic::Narrow(Narrowing::Unsigned),
            Intrinsic::Prefetch,
            Intrinsic::Tile,
            Intrinsic::ShiftEach { left: false },
            Intrinsic::ShiftEach { left: true },
        ] {
            for _ in 0..2 {
                let called = emitter.intrinsic(intrinsic, &[reg], types::F32X16);
                let func = &*emitter.builder.func;
                let inst = func.dfg.value_def(called).inst().expect("a call");
                assert_eq!(Intrinsic::called(func, inst), Some(intrinsic));
            }
        }
        assert_eq!(emitter.builder.func.dfg.ext_funcs.len(), 31, "each is imported once");
    });
}
