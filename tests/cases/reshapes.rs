//! Reshapes of what is computed, and arg-reductions over several axes.

use super::{Build, F32, F64};
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::Site;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

/// The one reshape of a table that is stored: its loop is repeated, and so would be the divisions.
pub const RAVELLED_IN_A_LOOP: &str = "ravelled table in a loop";

/// Reshapes of what is computed, and arg-reductions over several axes. None needs an array of the size of a table but
/// [`RAVELLED_IN_A_LOOP`].
pub const RESHAPES: &[(&str, Build)] = &[
    ("arg over several axes of a table", |b| {
        let table = b.pairs(Op::Subtract, F32, ["n", "m"]);
        let z = b.input("z", DType::I32, &["n", "k", "1"]);
        let w = b.input("w", DType::I32, &["m"]);
        let cube = b.op(Op::Multiply, &[z, w]);
        vec![
            b.reduce(ReduceOp::ArgMax, table, &[0, 1], false),
            b.reduce(ReduceOp::ArgMin, cube, &[0, 2], false),
            b.reduce(ReduceOp::ArgMax, cube, &[1, 2], true),
            b.reduce(ReduceOp::ArgMin, cube, &[0, 1, 2], false),
        ]
    }),
    ("arg over several short axes", |b| {
        let x = b.input("x", F64, &["n", "3", "1"]);
        let y = b.input("y", F64, &["4"]);
        let cube = b.op(Op::Add, &[x, y]);
        vec![
            b.reduce(ReduceOp::ArgMax, cube, &[1, 2], false),
            b.reduce(ReduceOp::ArgMin, cube, &[0, 2], false),
        ]
    }),
    ("arg over distances", |b| {
        let (x, y) = (b.input("x", F32, &["n", "5"]), b.input("y", F32, &["k", "5"]));
        let (x, y) = (b.expand(x, 1), b.expand(y, 0));
        let d = b.op(Op::Subtract, &[x, y]);
        let d = b.op(Op::Square, &[d]);
        let d = b.reduce(ReduceOp::Sum, d, &[-1], false);
        vec![b.reduce(ReduceOp::ArgMin, d, &[0, 1], false)]
    }),
    ("order-free reductions of a ravelled table", |b| {
        let table = b.pairs(Op::Subtract, DType::I32, ["n", "m"]);
        let flat = b.reshape(table, &[&["n", "m"]]);
        let two = b.graph.constant(Scalar::I32(2), Site::caller());
        let counted = b.op(Op::Greater, &[flat, two]);
        vec![
            b.reduce(ReduceOp::Sum, flat, &[0], false),
            b.reduce(ReduceOp::Max, flat, &[0], true),
            b.reduce(ReduceOp::ArgMin, flat, &[0], false),
            b.reduce(ReduceOp::Sum, counted, &[0], false),
            b.reduce(ReduceOp::All, counted, &[0], false),
        ]
    }),
    (RAVELLED_IN_A_LOOP, |b| {
        let table = b.pairs(Op::Subtract, DType::I32, ["n", "m"]);
        let flat = b.reshape(table, &[&["n", "m"]]);
        let z = b.input("z", DType::I32, &["k"]);
        let z = b.expand(z, 1);
        let cube = b.op(Op::Add, &[z, flat]);
        vec![b.reduce(ReduceOp::ArgMax, cube, &[1], false)]
    }),
    ("float sum of a ravelled table", |b| {
        let table = b.pairs(Op::Multiply, F32, ["n", "m"]);
        let flat = b.reshape(table, &[&["n", "m"]]);
        vec![b.reduce(ReduceOp::Sum, flat, &[0], false), b.reduce(ReduceOp::Mean, flat, &[0], false)]
    }),
    ("ravelled table", |b| {
        let table = b.pairs(Op::Add, F64, ["n", "m"]);
        let flat = b.reshape(table, &[&["n", "m"]]);
        let z = b.input("z", F64, &["1"]);
        let n = b.dim("n");
        let i = b.graph.iota(n, Site::caller());
        let i = b.graph.cast(i, F64, Site::caller());
        let column = b.expand(i, 1);
        let table = b.op(Op::Multiply, &[table, column]);
        let other = b.reshape(table, &[&["n", "m"]]);
        let sum = b.op(Op::Add, &[flat, z]);
        vec![b.op(Op::Subtract, &[sum, other])]
    }),
    ("slice of a ravelled table", |b| {
        let table = b.pairs(Op::Add, F32, ["n", "m"]);
        let flat = b.reshape(table, &[&["n", "m"]]);
        vec![b.flip(flat)]
    }),
    ("table with an axis split", |b| {
        let x = b.input("x", F32, &["n", "1"]);
        let y = b.input("y", F32, &["12"]);
        let table = b.op(Op::Multiply, &[x, y]);
        let split = b.reshape(table, &[&["n"], &["3"], &["4"]]);
        let other = b.reshape(table, &[&["2"], &["n"], &["6"]]);
        vec![
            b.reduce(ReduceOp::Max, split, &[2], false),
            b.reduce(ReduceOp::Sum, split, &[0], false),
            b.reduce(ReduceOp::Sum, other, &[2], false),
        ]
    }),
    ("extremes over an axis of one element beside merged ones", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        let x = b.op(Op::Exp, &[x]);
        let flat = b.reshape(x, &[&["1"], &["n", "m"]]);
        let y = b.input("y", DType::I32, &["4", "5"]);
        let y = b.op(Op::Add, &[y, y]);
        let row = b.reshape(y, &[&["1"], &["20"]]);
        vec![
            b.reduce(ReduceOp::Max, flat, &[0], false),
            b.reduce(ReduceOp::ArgMax, row, &[0], false),
            b.reduce(ReduceOp::Sum, row, &[0], false),
        ]
    }),
    ("ravelled functions", |b| {
        let x = b.input("x", F32, &["n", "1"]);
        let y = b.input("y", F32, &["m"]);
        let (e, s) = (b.op(Op::Exp, &[x]), b.op(Op::Sin, &[y]));
        let table = b.op(Op::Multiply, &[e, s]);
        let flat = b.reshape(table, &[&["n", "m"]]);
        vec![b.reduce(ReduceOp::Sum, flat, &[0], false)]
    }),
];
