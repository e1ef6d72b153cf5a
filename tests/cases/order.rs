//! Sorts, searches, and the best elements along an axis.

use super::{Build, F32, F64};
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

/// Elements in order, and places in what is in order.
pub const ORDER: &[(&str, Build)] = &[
    ("sorted rows", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        vec![b.sort(x, 1, false, false), b.sort(x, 1, true, true)]
    }),
    ("sorted columns of what is computed", |b| {
        let (x, y) = (b.input("x", F64, &["n", "17"]), b.input("y", F64, &["17"]));
        let d = b.op(Op::Subtract, &[x, y]);
        let sorted = b.sort(d, 0, false, false);
        vec![b.op(Op::Square, &[sorted]), b.sort(d, 0, true, false)]
    }),
    ("sorted rows of what is computed", |b| {
        let d = b.pairs(Op::Subtract, F32, ["n", "m"]);
        let (sorted, order) = (b.sort(d, 1, false, false), b.sort(d, 1, true, true));
        vec![b.reduce(ReduceOp::Mean, sorted, &[1], false), b.reduce(ReduceOp::Sum, order, &[1], false)]
    }),
    ("sorted rows of a batch", |b| {
        let (x, y) = (b.input("x", F32, &["b", "n", "1"]), b.input("y", F32, &["b", "1", "m"]));
        let d = b.op(Op::Subtract, &[x, y]);
        let sorted = b.sort(d, 2, false, false);
        vec![b.reduce(ReduceOp::Mean, sorted, &[2], false)]
    }),
    ("places in a table", |b| {
        let (table, x) = (b.input("table", F32, &["m"]), b.input("x", F32, &["n", "3"]));
        let sorted = b.sort(table, 0, false, false);
        let doubled = b.op(Op::Add, &[x, x]);
        vec![b.search(sorted, doubled, false), b.search(table, x, true)]
    }),
];

/// The best elements along an axis.
pub const BEST: &[(&str, Build)] = &[
    ("best of rows", |b| {
        let x = b.input("x", F32, &["n", "70"]);
        vec![b.best(x, 10, 1, true, false), b.best(x, 10, 1, true, true)]
    }),
    ("best of columns", |b| {
        let x = b.input("x", F64, &["2050", "m"]);
        vec![b.best(x, 3, 0, false, true), b.best(x, 3, 0, false, false)]
    }),
    ("best of what is computed", |b| {
        let (x, y) = (b.input("x", F32, &["n", "1030"]), b.input("y", F32, &["1030"]));
        let d = b.op(Op::Subtract, &[x, y]);
        let e = b.op(Op::Exp, &[d]);
        let values = b.best(e, 5, -1, true, false);
        vec![b.reduce(ReduceOp::Mean, values, &[1], false), b.best(e, 5, -1, true, true)]
    }),
    ("best of pairs", |b| {
        let (x, y) = (b.input("x", F32, &["n", "3"]), b.input("y", F32, &["65", "3"]));
        let (x, y) = (b.expand(x, 1), b.expand(y, 0));
        let d = b.op(Op::Subtract, &[x, y]);
        let d = b.op(Op::Square, &[d]);
        let d = b.reduce(ReduceOp::Sum, d, &[-1], false);
        vec![b.best(d, 4, 1, false, false), b.best(d, 4, 1, false, true)]
    }),
    ("nearest codes", |b| {
        let (x, y) = (b.input("x", F32, &["n", "100"]), b.input("y", F32, &["65", "100"]));
        let (x, y) = (b.expand(x, 1), b.expand(y, 0));
        let d = b.op(Op::Subtract, &[x, y]);
        let d = b.op(Op::Square, &[d]);
        let d = b.reduce(ReduceOp::Sum, d, &[-1], false);
        vec![b.best(d, 4, 1, false, false), b.best(d, 4, 1, false, true)]
    }),
    ("best of sums", |b| {
        let x = b.input("x", F32, &["n", "40", "m"]);
        let sums = b.reduce(ReduceOp::Sum, x, &[-1], false);
        vec![b.best(sums, 7, 1, true, true)]
    }),
    ("best of everything", |b| {
        let x = b.input("x", DType::I16, &["3000"]);
        let x = b.op(Op::Negative, &[x]);
        vec![b.best(x, 64, 0, true, true), b.best(x, 64, 0, true, false), b.best(x, 2, 0, false, false)]
    }),
    ("best of what does not move", |b| {
        let x = b.input("x", F32, &["n"]);
        let e = b.op(Op::Exp, &[x]);
        let e = b.expand(e, 1);
        let e = b.broadcast(e, &["n", "9"]);
        vec![b.best(e, 3, 1, true, true), b.best(e, 3, 1, true, false)]
    }),
    ("the best one", |b| {
        let x = b.input("x", F32, &["n", "70"]);
        vec![b.best(x, 1, 1, true, false), b.best(x, 1, 1, true, true)]
    }),
    ("best halves", |b| {
        let x = b.input("x", DType::F16, &["n", "70"]);
        vec![b.best(x, 10, 1, false, false), b.best(x, 10, 1, false, true)]
    }),
];
