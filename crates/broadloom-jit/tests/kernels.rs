//! Whole kernels on dense arrays against the interpreter, through the smallest possible host.
#![allow(unsafe_code, reason = "kernels are called on arrays of the shapes they were compiled for")]

use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{CheckedGraph, Graph};
use broadloom_ir::interp::{Array, interpret};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, SymbolId};
use broadloom_jit::{CpuLevel, Failure, JitOptions, compile};
use broadloom_loops::kernel::{HostSymbol, KernelId, Role, Schedule};
use broadloom_loops::{LowerOptions, lower};
use std::collections::HashMap;
use std::panic::Location;

/// A graph under construction with one-letter symbols.
struct Builder {
    graph: Graph,
}

impl Builder {
    fn dim(&mut self, size: &str) -> Dim {
        match size.parse() {
            Ok(size) => Dim::constant(size),
            Err(_) => Dim::symbol(self.graph.symbol(size, Location::caller())),
        }
    }

    fn input(&mut self, name: &str, dtype: DType, shape: &[&str]) -> ExprId {
        let shape: Shape = shape.iter().map(|size| self.dim(size)).collect();
        self.graph.input(name, dtype, shape, Location::caller())
    }

    fn op(&mut self, op: Op, operands: &[ExprId]) -> ExprId {
        self.graph.elementwise(op, operands, Location::caller())
    }

    fn reduce(&mut self, op: ReduceOp, operand: ExprId, axes: &[i64], keepdims: bool) -> ExprId {
        self.graph.reduce(op, operand, Some(axes), keepdims, Location::caller())
    }

    fn expand(&mut self, operand: ExprId, axis: i64) -> ExprId {
        self.graph.expand_dims(operand, &[axis], Location::caller())
    }
}

type Build = fn(&mut Builder) -> Vec<ExprId>;

const F32: DType = DType::F32;
const F64: DType = DType::F64;

/// Every form of loop, by a well-known expression that takes it.
const CASES: &[(&str, Build)] = &[
    ("bias", |b| {
        let x = b.input("x", F32, &["n", "m", "3"]);
        let bias = b.input("bias", F32, &["3"]);
        vec![b.op(Op::Add, &[x, bias])]
    }),
    ("tile call", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["n", "m"]));
        let e = b.op(Op::Exp, &[x]);
        vec![b.op(Op::Multiply, &[e, y])]
    }),
    ("outer product of functions", |b| {
        let (x, y) = (b.input("x", F32, &["n", "1"]), b.input("y", F32, &["m"]));
        let (e, s) = (b.op(Op::Exp, &[x]), b.op(Op::Sin, &[y]));
        vec![b.op(Op::Multiply, &[e, s])]
    }),
    ("nearest code", |b| {
        let (obs, codes) = (b.input("obs", F32, &["n", "3"]), b.input("codes", F32, &["k", "3"]));
        let (obs, codes) = (b.expand(obs, 1), b.expand(codes, 0));
        let d = b.op(Op::Subtract, &[codes, obs]);
        let d = b.op(Op::Square, &[d]);
        let d = b.reduce(ReduceOp::Sum, d, &[-1], false);
        vec![b.reduce(ReduceOp::ArgMin, d, &[1], false), b.reduce(ReduceOp::Min, d, &[1], false)]
    }),
    ("nearest code, long", |b| {
        let (obs, codes) = (b.input("obs", F32, &["n", "m"]), b.input("codes", F32, &["k", "m"]));
        let (obs, codes) = (b.expand(obs, 1), b.expand(codes, 0));
        let d = b.op(Op::Subtract, &[codes, obs]);
        let d = b.op(Op::Square, &[d]);
        let d = b.reduce(ReduceOp::Sum, d, &[-1], false);
        let d = b.op(Op::Sqrt, &[d]);
        vec![b.reduce(ReduceOp::ArgMin, d, &[1], false)]
    }),
    ("rows, columns, all", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        let q = b.op(Op::Square, &[x]);
        let d = b.graph.cast(x, F64, Location::caller());
        vec![
            b.reduce(ReduceOp::Sum, q, &[1], false),
            b.reduce(ReduceOp::Sum, q, &[0], false),
            b.reduce(ReduceOp::Mean, d, &[0, 1], false),
            b.reduce(ReduceOp::Sum, d, &[0], false),
            b.reduce(ReduceOp::ArgMax, x, &[0], false),
            b.reduce(ReduceOp::ArgMin, x, &[1], true),
            b.reduce(ReduceOp::ArgMin, x, &[0, 1], true),
            b.reduce(ReduceOp::Max, x, &[0], true),
        ]
    }),
    ("softmax", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        let max = b.reduce(ReduceOp::Max, x, &[1], true);
        let d = b.op(Op::Subtract, &[x, max]);
        let e = b.op(Op::Exp, &[d]);
        let sum = b.reduce(ReduceOp::Sum, e, &[1], true);
        vec![b.op(Op::Divide, &[e, sum])]
    }),
    ("standardised columns", |b| {
        let x = b.input("x", F64, &["n", "m"]);
        let mean = b.reduce(ReduceOp::Mean, x, &[0], true);
        let d = b.op(Op::Subtract, &[x, mean]);
        let q = b.op(Op::Square, &[d]);
        let var = b.reduce(ReduceOp::Mean, q, &[0], true);
        let std = b.op(Op::Sqrt, &[var]);
        vec![b.op(Op::Divide, &[d, std])]
    }),
    ("kernel density", |b| {
        let (x, y) = (b.input("x", F64, &["n", "1"]), b.input("y", F64, &["m"]));
        let d = b.op(Op::Subtract, &[x, y]);
        let q = b.op(Op::Square, &[d]);
        let q = b.op(Op::Negative, &[q]);
        let e = b.op(Op::Exp, &[q]);
        let s = b.reduce(ReduceOp::Sum, e, &[1], false);
        vec![b.op(Op::Log, &[s])]
    }),
    ("columns of functions, matrix product", |b| {
        let (x, y) = (b.input("x", F32, &["n", "k"]), b.input("y", F32, &["k", "m"]));
        let e = b.op(Op::Exp, &[y]);
        let sums = b.reduce(ReduceOp::Sum, e, &[0], false);
        let x = b.expand(x, 2);
        let p = b.op(Op::Multiply, &[x, y]);
        vec![sums, b.reduce(ReduceOp::Sum, p, &[1], false)]
    }),
    ("take and iota", |b| {
        let (table, index) = (b.input("table", F32, &["4", "3"]), b.input("index", DType::I32, &["n"]));
        let n = b.dim("n");
        let taken = b.graph.take(table, index, 0, Location::caller());
        let position = b.graph.iota(n, Location::caller());
        let position = b.graph.cast(position, F32, Location::caller());
        let position = b.expand(position, 1);
        vec![b.op(Op::Add, &[taken, position])]
    }),
    ("mean of the least", |b| {
        let (x, y) = (b.input("x", F32, &["n", "1"]), b.input("y", F32, &["k"]));
        let d = b.op(Op::Subtract, &[x, y]);
        let d = b.op(Op::Abs, &[d]);
        let least = b.reduce(ReduceOp::Min, d, &[1], false);
        vec![b.reduce(ReduceOp::Mean, least, &[0], false)]
    }),
];

fn value(dtype: DType, state: &mut u64) -> Scalar {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let bits = *state >> 33;
    match dtype {
        DType::F32 | DType::F64 => Scalar::F64((bits % 2000) as f64 / 256.0 - 4.0).cast(dtype),
        DType::Bool | DType::U8 | DType::I32 | DType::I64 => Scalar::I64((bits % 8) as i64 - 4).cast(dtype),
    }
}

fn bytes(array: &Array) -> Vec<u8> {
    let element = |value: &Scalar| value.bits().to_le_bytes().into_iter().take(array.dtype.size()).collect::<Vec<_>>();
    array.elements.iter().flat_map(element).collect()
}

/// Sizes of the graph's symbols and values of the schedule's own ones.
struct Host<'a> {
    schedule: &'a Schedule,
    symbols: Vec<i64>,
    groups: i64,
}

impl Host<'_> {
    fn evaluate(&self, dim: &Dim) -> i64 {
        dim.evaluate(&|symbol: SymbolId| {
            let index = symbol.index();
            if let Some(&value) = self.symbols.get(index) {
                return Some(value);
            }
            match self.schedule.host_symbols[index - self.symbols.len()] {
                HostSymbol::Stride { .. } => None,
                HostSymbol::GroupCount(group) => {
                    let extent = self.evaluate(&self.schedule.groups[group].extent);
                    Some((extent + self.length(group) - 1).div_euclid(self.length(group)).max(1))
                }
                HostSymbol::GroupLength(group) => Some(self.length(group)),
            }
        })
        .unwrap()
    }

    fn length(&self, group: usize) -> i64 {
        self.schedule.groups[group].unit as i64 * self.groups
    }
}

fn run(graph: &CheckedGraph, inputs: &[Array], symbols: &[i64], groups: i64, options: &LowerOptions, level: CpuLevel) -> Vec<Vec<u8>> {
    let schedule = lower(graph, options).unwrap();
    let module = compile(&schedule, &JitOptions { level, keep_text: false, verify: true }).unwrap();
    let host = Host { schedule: &schedule, symbols: symbols.to_vec(), groups };
    let mut memory: Vec<Vec<u8>> = schedule
        .buffers
        .iter()
        .map(|buffer| match buffer.role {
            Role::Input(input) => bytes(&inputs[input.index()]),
            Role::Output(_) | Role::Temporary => {
                let count: i64 = buffer.shape.iter().map(|dim| host.evaluate(dim)).product();
                vec![0xa5; count as usize * buffer.dtype.size()]
            }
        })
        .collect();
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        let mut args: Vec<u64> = kernel.params.iter().map(|param| host.evaluate(param).cast_unsigned()).collect();
        for access in &kernel.accesses {
            if let Some(buffer) = access.buffer {
                let base = memory[buffer.index()].as_mut_ptr();
                let offset = host.evaluate(&access.offset) * access.dtype.size() as i64;
                args.push(base.wrapping_offset(offset as isize) as u64);
            }
        }
        let extent = kernel.parallel.map_or(1, |axis| match kernel.axes[axis.index()].extent {
            broadloom_loops::kernel::Extent::Constant(extent) => extent,
            broadloom_loops::kernel::Extent::Param(param) => args[param.index()].cast_signed(),
        });
        let mut scratch = vec![[0u64; 8]; kernel.scratch_bytes() / 64 + 2];
        let scratch = scratch.as_mut_ptr().cast::<u8>();
        let scratch = scratch.wrapping_add(scratch.align_offset(64));
        let mut failure = Failure::default();
        for range in [0..extent / 3, extent / 3..extent] {
            // SAFETY: the arrays have the shapes that the schedule gives, all dense.
            unsafe { module.run(KernelId::new(index), &args, range, scratch, &mut failure) };
        }
        assert_eq!(failure, Failure::default());
    }
    let outputs = schedule.buffers.iter().zip(memory).filter(|(buffer, _)| matches!(buffer.role, Role::Output(_)));
    outputs.map(|(_, memory)| memory).collect()
}

#[test]
fn kernels_agree_with_the_interpreter() {
    let sizes: &[HashMap<&str, i64>] = &[
        [("n", 5), ("m", 7), ("k", 3)].into(),
        [("n", 1), ("m", 1), ("k", 1)].into(),
        [("n", 70), ("m", 33), ("k", 17)].into(),
        [("n", 3), ("m", 1100), ("k", 65)].into(),
        [("n", 2100), ("m", 40), ("k", 5)].into(),
        [("n", 9), ("m", 5000), ("k", 2)].into(),
    ];
    for (name, build) in CASES {
        let mut builder = Builder { graph: Graph::new() };
        let results = build(&mut builder);
        let names: Vec<String> = (0..results.len()).map(|index| format!("out{index}")).collect();
        let outputs: Vec<(&str, ExprId)> = names.iter().map(String::as_str).zip(results).collect();
        let graph = builder.graph.finish(&outputs).unwrap();
        for sizes in sizes {
            let symbols: Vec<i64> = graph.symbols().iter().map(|symbol| sizes[&*symbol.name.to_string()]).collect();
            let mut state = 7;
            let inputs: Vec<Array> = graph
                .inputs()
                .iter()
                .map(|input| {
                    let evaluate = |dim: &Dim| dim.evaluate(&|symbol| Some(symbols[symbol.index()])).unwrap() as usize;
                    let shape: Vec<usize> = input.shape.iter().map(evaluate).collect();
                    let count = shape.iter().product();
                    Array { dtype: input.dtype, shape, elements: (0..count).map(|_| value(input.dtype, &mut state)).collect() }
                })
                .collect();
            for level in [CpuLevel::detect(), CpuLevel::Baseline] {
                let expected = interpret(&graph, &inputs, level.is_fused()).unwrap();
                for vectorize in [true, false] {
                    for groups in [1, 1 << 20] {
                        let options = LowerOptions { vectorize, ..LowerOptions::dense(&graph, level.is_fused()) };
                        let found = run(&graph, &inputs, &symbols, groups, &options, level);
                        for (index, (expected, found)) in expected.iter().zip(&found).enumerate() {
                            let wanted = bytes(expected);
                            let size = expected.dtype.size();
                            if let Some(at) = (0..wanted.len() / size).find(|at| wanted[at * size..][..size] != found[at * size..][..size]) {
                                panic!(
                                    "{name}, output {index}, {sizes:?}, {level:?}, vectorize {vectorize}, groups {groups}: element {at} of {:?} is {:?}, not {}\n{}",
                                    expected.shape, &found[at * size..][..size], expected.elements[at], lower(&graph, &options).unwrap(),
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
