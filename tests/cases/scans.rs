//! Running results along an axis, one expression for every form of loop.

use super::{Build, F32, F64};
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

/// Running results along an axis.
pub const SCANS: &[(&str, Build)] = &[
    ("running sums of rows", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        vec![b.scan(ReduceOp::Sum, x, 1)]
    }),
    ("running sums of columns", |b| {
        let x = b.input("x", F64, &["n", "m"]);
        vec![b.scan(ReduceOp::Sum, x, 0)]
    }),
    ("running sums of functions", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["m"]));
        let e = b.op(Op::Exp, &[x]);
        let e = b.op(Op::Multiply, &[e, y]);
        let sums = b.scan(ReduceOp::Sum, e, 1);
        vec![b.op(Op::Tanh, &[sums])]
    }),
    ("running sums across functions", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["m"]));
        let e = b.op(Op::Exp, &[x]);
        let e = b.op(Op::Multiply, &[e, y]);
        let sums = b.scan(ReduceOp::Sum, e, 0);
        let used = b.op(Op::Tanh, &[sums]);
        vec![b.op(Op::Add, &[used, x])]
    }),
    ("running extremes of a short axis", |b| {
        let x = b.input("x", DType::I16, &["n", "3"]);
        vec![b.scan(ReduceOp::Max, x, 1), b.scan(ReduceOp::Max, x, 0), b.scan(ReduceOp::Min, x, 0)]
    }),
    ("running sums of sums", |b| {
        let x = b.input("x", F32, &["n", "m", "40"]);
        let sums = b.reduce(ReduceOp::Sum, x, &[2], false);
        let running = b.scan(ReduceOp::Sum, sums, 1);
        vec![running, b.scan(ReduceOp::Prod, running, 0)]
    }),
    ("running sums without the ends", |b| {
        let x = b.input("x", F32, &["n", "40"]);
        let running = b.scan(ReduceOp::Sum, x, 1);
        vec![b.inner(running)]
    }),
    // Cut into pieces at the join, none of which has all of the running results.
    ("running sums of a join beside it", |b| {
        let (x, y) = (b.input("x", F32, &["1", "m"]), b.input("y", F32, &["n", "m"]));
        let joined = b.concat(&[x, y], 0);
        let running = b.scan(ReduceOp::Sum, joined, 0);
        vec![b.op(Op::Subtract, &[running, joined])]
    }),
    ("running results that are reduced", |b| {
        let x = b.input("x", F64, &["n", "m"]);
        let running = b.scan(ReduceOp::Min, x, 1);
        vec![b.reduce(ReduceOp::Sum, running, &[1], false), b.scan(ReduceOp::Prod, x, 1)]
    }),
];
