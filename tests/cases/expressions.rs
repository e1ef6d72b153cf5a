//! Well-known expressions, one for every form of loop: built by the tests of several crates.

mod builder;
mod order;
pub mod reshapes;
mod scans;

use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{CheckedGraph, Graph, IndexItem, Norm, SegmentOp, Site};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
pub use builder::Builder;
pub use order::{BEST, ORDER};
pub use reshapes::RESHAPES;
pub use scans::SCANS;

pub type Build = fn(&mut Builder) -> Vec<ExprId>;

const F32: DType = DType::F32;
const F64: DType = DType::F64;

/// Returns the expressions of all forms of loops, which are compiled for every target.
#[allow(dead_code, reason = "not every crate's tests compile for several targets")]
pub fn of_every_form() -> Vec<(&'static str, Build)> {
    [CASES, JOINS, RESHAPES, HALVES, BEST, ORDER, SCANS].concat()
}

/// Every form of loop, by a well-known expression that takes it.
pub const CASES: &[(&str, Build)] = &[
    ("bias", |b| {
        let x = b.input("x", F32, &["n", "m", "3"]);
        let bias = b.input("bias", F32, &["3"]);
        vec![b.op(Op::Add, &[x, bias])]
    }),
    ("columns normalised", |b| {
        let x = b.input("x", DType::U8, &["n", "m", "5"]);
        let (mean, var) = (b.input("mean", F32, &["5"]), b.input("var", F32, &["5"]));
        let x = b.graph.cast(x, F32, Site::caller());
        let d = b.op(Op::Subtract, &[x, mean]);
        let var = b.op(Op::Abs, &[var]);
        let std = b.op(Op::Sqrt, &[var]);
        vec![b.op(Op::Divide, &[d, std])]
    }),
    ("columns by batch", |b| {
        let (x, y) = (b.input("x", DType::F64, &["n", "m", "7"]), b.input("y", DType::F64, &["n", "1", "7"]));
        let z = b.input("z", DType::F64, &["7"]);
        let sum = b.op(Op::Add, &[x, y]);
        vec![b.op(Op::Multiply, &[sum, z]), b.broadcast(z, &["n", "m", "7"])]
    }),
    ("powers of columns", |b| {
        let (x, y) = (b.input("x", F32, &["n", "3"]), b.input("y", F32, &["3"]));
        let x = b.op(Op::Abs, &[x]);
        let power = b.op(Op::Pow, &[x, y]);
        let both = b.op(Op::Add, &[x, y]);
        vec![b.op(Op::Multiply, &[power, both])]
    }),
    ("points by their weights", |b| {
        let (x, w) = (b.input("x", F32, &["n", "3"]), b.input("w", F32, &["n", "1"]));
        let (c, u) = (b.input("c", F32, &["3"]), b.input("u", F32, &["n", "1"]));
        let w = b.op(Op::Maximum, &[w, u]);
        let x = b.op(Op::Divide, &[x, w]);
        vec![b.op(Op::Subtract, &[x, c]), b.broadcast(u, &["n", "3"])]
    }),
    ("functions of short rows", |b| {
        let (x, w) =
            (b.input("x", DType::F64, &["k", "n", "20"]), b.input("w", DType::F64, &["k", "n", "1"]));
        let x = b.op(Op::Subtract, &[x, w]);
        let (e, s) = (b.op(Op::Exp, &[x]), b.op(Op::Sin, &[x]));
        let e = b.op(Op::Add, &[e, w]);
        vec![b.op(Op::Multiply, &[e, s])]
    }),
    ("functions of rows", |b| {
        let (x, w) = (b.input("x", F32, &["n", "m"]), b.input("w", F32, &["n", "1"]));
        let x = b.op(Op::Subtract, &[x, w]);
        let e = b.op(Op::Exp, &[x]);
        let power = b.op(Op::Abs, &[x]);
        let power = b.op(Op::Pow, &[power, w]);
        vec![b.op(Op::Multiply, &[e, power])]
    }),
    ("sum with a transpose", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["m", "n"]));
        let (z, w) = (b.input("z", F32, &["n", "1"]), b.input("w", F32, &["m", "n"]));
        let [y, w] = [y, w].map(|y| b.graph.permute_dims(y, &[1, 0], Site::caller()));
        let sum = b.op(Op::Add, &[x, y]);
        let sum = b.op(Op::Multiply, &[sum, z]);
        vec![b.op(Op::Subtract, &[sum, w])]
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
    ("pairs of other kinds", |b| extremes_of_pairs(b, "5")),
    ("contractions of other kinds", |b| extremes_of_pairs(b, "17")),
    ("sums of sums over pairs", |b| {
        let (x, y) = (b.input("x", F32, &["n", "3", "40"]), b.input("y", F32, &["k", "3", "40"]));
        let (x, y) = (b.expand(x, 1), b.expand(y, 0));
        let products = b.op(Op::Multiply, &[x, y]);
        vec![b.reduce(ReduceOp::Sum, products, &[2, 3], false)]
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
        let d = b.graph.cast(x, F64, Site::caller());
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
    ("sums of columns of a part", |b| {
        let x = b.input("x", F32, &["n", "20"]);
        let part = b.inner(x);
        vec![b.reduce(ReduceOp::Sum, part, &[0], false)]
    }),
    ("first extremes of short rows", |b| {
        let x = b.input("x", DType::I32, &["n", "5"]);
        vec![b.reduce(ReduceOp::ArgMin, x, &[1], false), b.reduce(ReduceOp::ArgMax, x, &[1], false)]
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
    ("products of computed operands", |b| {
        let (x, w) = (b.input("x", F32, &["n", "k"]), b.input("w", F32, &["m", "k"]));
        let [means, scales] =
            [("means", "n"), ("scales", "m")].map(|(name, size)| b.input(name, F32, &[size]));
        let [means, scales] = [means, scales].map(|each| b.expand(each, 1));
        let (x, w) = (b.op(Op::Subtract, &[x, means]), b.op(Op::Multiply, &[w, scales]));
        let x = b.expand(x, 1);
        let products = b.op(Op::Multiply, &[x, w]);
        vec![b.reduce(ReduceOp::Sum, products, &[2], false)]
    }),
    ("take and iota", |b| {
        let (table, index) = (b.input("table", F32, &["4", "3"]), b.input("index", DType::I32, &["n"]));
        let n = b.dim("n");
        let taken = b.graph.take(table, index, 0, Site::caller());
        let position = b.graph.iota(n, Site::caller());
        let position = b.graph.cast(position, F32, Site::caller());
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
    ("functions of what short rows gather", |b| {
        let x = b.input("x", F32, &["n", "8"]);
        let w = b.input("w", F64, &["n", "1"]);
        let y = b.input("y", F64, &["n", "m"]);
        let row = b.input("row", F64, &["m"]);
        let flipped = b.flip(x);
        let cosine = b.op(Op::Cos, &[flipped]);
        let part = b.inner(x);
        let part = b.op(Op::Exp, &[part]);
        let scaled = b.op(Op::Multiply, &[y, row]);
        let scaled = b.op(Op::Subtract, &[scaled, w]);
        vec![b.op(Op::Multiply, &[cosine, x]), part, b.op(Op::Tanh, &[scaled])]
    }),
    ("sums of functions of columns", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        let y = b.input("y", F32, &["n", "7"]);
        let e = b.op(Op::Exp, &[x]);
        let (f, s) = (b.op(Op::Exp, &[y]), b.op(Op::Sin, &[y]));
        [e, f, s, y].map(|operand| b.reduce(ReduceOp::Sum, operand, &[0], false)).to_vec()
    }),
    ("sums of columns beside their extremes", |b| {
        let (x, k) = (b.input("x", F32, &["n", "3"]), b.input("k", DType::U32, &["n", "m"]));
        vec![
            b.reduce(ReduceOp::Sum, x, &[0], false),
            b.reduce(ReduceOp::Max, x, &[0], false),
            b.reduce(ReduceOp::Mean, k, &[0], false),
            b.reduce(ReduceOp::Sum, k, &[0], false),
        ]
    }),
    ("many columns of a kind", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        let y = b.op(Op::Square, &[x]);
        let z = b.op(Op::Negative, &[y]);
        let wide = b.graph.cast(x, F64, Site::caller());
        let less = b.op(Op::Subtract, &[wide, wide]);
        let reduced = [
            (ReduceOp::Sum, [x, y, z]),
            (ReduceOp::Prod, [z, y, x]),
            (ReduceOp::Mean, [wide, less, wide]),
            (ReduceOp::Max, [y, x, wide]),
            (ReduceOp::ArgMin, [x, y, z]),
        ];
        let reduced = reduced.into_iter().flat_map(|(op, operands)| operands.map(|operand| (op, operand)));
        reduced.map(|(op, operand)| b.reduce(op, operand, &[0], false)).collect()
    }),
];

/// Joins, segments, truth values and statistics: with sizes that may be 0.
pub const JOINS: &[(&str, Build)] = &[
    ("concat of functions", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["k", "m"]));
        let bias = b.input("bias", F32, &["m"]);
        let e = b.op(Op::Exp, &[x]);
        let joined = b.concat(&[e, y], 0);
        let (one, two) = (b.op(Op::Add, &[joined, bias]), b.op(Op::Multiply, &[joined, joined]));
        vec![one, two]
    }),
    ("concat of rows, flipped", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["k", "m"]));
        let joined = b.concat(&[x, y], 0);
        let flipped = b.flip(joined);
        vec![b.op(Op::Negative, &[flipped])]
    }),
    ("concat of columns", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["n", "5"]));
        let (z, scale) = (b.input("z", F32, &["n", "1"]), b.input("scale", F32, &["n", "1"]));
        let wide = b.broadcast(z, &["n", "2"]);
        let sum = b.reduce(ReduceOp::Sum, x, &[1], true);
        let joined = b.concat(&[x, y, z, wide, x, sum], 1);
        vec![b.op(Op::Multiply, &[joined, scale])]
    }),
    ("stack", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["n", "m"]));
        let sum = b.op(Op::Add, &[x, y]);
        let last = b.graph.stack(&[x, y, sum], -1, Site::caller());
        let first = b.graph.stack(&[sum, y], 0, Site::caller());
        let fifth = b.graph.stack(&[x, y, sum, x, y], 1, Site::caller());
        vec![last, first, fifth]
    }),
    ("concat met otherwise", |b| {
        let (x, y) = (b.input("x", F64, &["n", "m"]), b.input("y", F64, &["k", "m"]));
        let index = b.input("index", DType::I64, &["m"]);
        let joined = b.concat(&[x, y, x], 0);
        let nothing = b.graph.constant(Scalar::I64(0), Site::caller());
        let zero = b.op(Op::Multiply, &[index, nothing]);
        let taken = b.graph.take(joined, zero, 0, Site::caller());
        let size = [b.dim("n"), b.dim("k")];
        let rows = size[0].scale(2).unwrap().add(&size[1]).unwrap();
        let flat = rows.mul(&b.dim("m")).unwrap();
        let reshaped = b.graph.reshape(joined, &[Some(flat)], Site::caller());
        vec![
            b.reduce(ReduceOp::Sum, joined, &[0], false),
            b.reduce(ReduceOp::Sum, joined, &[1], false),
            b.op(Op::Negative, &[joined]),
            b.op(Op::Square, &[reshaped]),
            taken,
            joined,
        ]
    }),
    ("nested concats", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["n", "k"]));
        let (z, w) = (b.input("z", F32, &["k", "k"]), b.input("w", F32, &["k", "m"]));
        let top = b.concat(&[x, y], 1);
        let bottom = b.concat(&[w, z], 1);
        let block = b.concat(&[top, bottom], 0);
        let turned = b.graph.permute_dims(block, &[1, 0], Site::caller());
        let flipped = b.flip(block);
        let part = b.inner(top);
        vec![b.op(Op::Sqrt, &[turned]), b.op(Op::Abs, &[flipped]), b.op(Op::Square, &[part])]
    }),
    ("many pieces", |b| {
        let x = b.input("x", F32, &["n"]);
        let pieces: Vec<ExprId> = (0..100)
            .map(|piece| {
                let factor = b.graph.constant(Scalar::F32(piece as f32), Site::caller());
                b.op(Op::Multiply, &[x, factor])
            })
            .collect();
        let joined = b.concat(&pieces, 0);
        let stacked = b.graph.stack(&pieces, 1, Site::caller());
        vec![b.op(Op::Negative, &[joined]), stacked]
    }),
    ("segments", |b| {
        let (x, y) = (b.input("x", F32, &["n", "3"]), b.input("y", F64, &["n", "m"]));
        let ids = b.input("ids", DType::I64, &["n"]);
        let (three, k) = (b.graph.constant(Scalar::I64(3), Site::caller()), b.dim("k"));
        let four = b.op(Op::BitwiseAnd, &[ids, three]);
        let size = b.graph.size_value(k.clone(), Site::caller());
        let by_size = b.op(Op::Remainder, &[ids, size]);
        let square = b.op(Op::Square, &[y]);
        let e = b.op(Op::Exp, &[x]);
        let sums = b.reduce(ReduceOp::Sum, y, &[1], false);
        let offsets = b.input("offsets", F32, &["k"]);
        let maxima = b.segment(SegmentOp::Max, sums, by_size, k.clone());
        vec![
            b.segment(SegmentOp::Sum, x, four, Dim::constant(4)),
            b.graph.segment_count(four, Dim::constant(4), Site::caller()),
            b.segment(SegmentOp::Mean, e, by_size, k.clone()),
            b.segment(SegmentOp::Min, square, by_size, k.clone()),
            b.op(Op::Add, &[maxima, offsets]),
        ]
    }),
    ("positions", |b| {
        let (table, x) = (b.input("offsets", F32, &["k", "m"]), b.input("x", F32, &["n", "m"]));
        let (ids, size) = (b.input("ids", DType::I64, &["n"]), b.dim("k"));
        let size = b.graph.size_value(size, Site::caller());
        let rows = b.op(Op::Remainder, &[ids, size]);
        let e = b.op(Op::Exp, &[table]);
        let one = b.graph.set_index(e, &[IndexItem::Positions(rows)], x, Site::caller());
        // Some of what replaces rows is read of them.
        let same = b.graph.take(one, rows, 0, Site::caller());
        let sum = b.op(Op::Add, &[same, x]);
        let two = b.graph.set_index(one, &[IndexItem::Positions(rows)], sum, Site::caller());
        let width = b.dim("m");
        let width = b.graph.size_value(width, Site::caller());
        let places = [rows, b.op(Op::Remainder, &[ids, width])].map(IndexItem::Positions);
        let sums = b.reduce(ReduceOp::Sum, x, &[1], false);
        let elements = b.graph.set_index(table, &places, sums, Site::caller());
        vec![two, elements]
    }),
    ("k means", |b| {
        let (obs, codes) = (b.input("obs", F32, &["n", "3"]), b.input("codes", F32, &["4", "3"]));
        let (x, y) = (b.expand(obs, 1), b.expand(codes, 0));
        let d = b.op(Op::Subtract, &[y, x]);
        let d = b.op(Op::Square, &[d]);
        let d = b.reduce(ReduceOp::Sum, d, &[-1], false);
        let labels = b.reduce(ReduceOp::ArgMin, d, &[1], false);
        vec![b.segment(SegmentOp::Mean, obs, labels, Dim::constant(4))]
    }),
    ("truth", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", DType::U8, &["n", "m"]));
        let greater = b.op(Op::Greater, &[x, y]);
        vec![
            b.graph.reduce(ReduceOp::Any, greater, None, false, Site::caller()),
            b.reduce(ReduceOp::All, greater, &[1], false),
            b.reduce(ReduceOp::Any, x, &[0], false),
            b.graph.count_nonzero(y, None, false, Site::caller()),
            b.graph.count_nonzero(x, Some(&[1]), true, Site::caller()),
            b.graph.count_nonzero(greater, Some(&[0]), false, Site::caller()),
        ]
    }),
    ("statistics", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        vec![
            b.graph.var(x, Some(&[1]), 0.0, false, Site::caller()),
            b.graph.std(x, Some(&[0]), 1.0, true, Site::caller()),
            b.graph.logsumexp(x, Some(&[1]), false, Site::caller()),
            b.graph.norm(Norm::Two, x, Some(&[1]), false, Site::caller()),
        ]
    }),
    ("softmax of short rows", |b| {
        let x = b.input("x", F32, &["n", "300"]);
        let y = b.input("y", F64, &["n", "9", "40"]);
        let sums = b.graph.softmax(x, Some(&[1]), Site::caller());
        vec![sums, b.graph.softmax(y, Some(&[-1]), Site::caller())]
    }),
    ("softmax that is not kept", |b| {
        let (x, y) = (b.input("x", F32, &["n", "30"]), b.input("y", F32, &["70"]));
        let soft = b.graph.softmax(x, Some(&[1]), Site::caller());
        let total = b.graph.logsumexp(x, Some(&[1]), true, Site::caller());
        vec![b.op(Op::Add, &[soft, total]), b.graph.softmax(y, None, Site::caller())]
    }),
    ("weights of short rows", |b| {
        let (x, y) = (b.input("x", F32, &["n", "1", "9"]), b.input("y", F32, &["20", "9"]));
        let d = b.op(Op::Subtract, &[x, y]);
        let q = b.op(Op::Square, &[d]);
        let q = b.reduce(ReduceOp::Sum, q, &[-1], false);
        let e = b.op(Op::Negative, &[q]);
        let e = b.op(Op::Exp, &[e]);
        let total = b.reduce(ReduceOp::Sum, e, &[1], true);
        vec![b.op(Op::Divide, &[e, total])]
    }),
    ("layer norm", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        let (gain, bias) = (b.input("gain", F32, &["m"]), b.input("bias", F32, &["m"]));
        let mean = b.reduce(ReduceOp::Mean, x, &[1], true);
        let var = b.graph.var(x, Some(&[1]), 0.0, true, Site::caller());
        let epsilon = b.graph.constant(Scalar::F32(1e-5), Site::caller());
        let var = b.op(Op::Add, &[var, epsilon]);
        let std = b.op(Op::Sqrt, &[var]);
        let d = b.op(Op::Subtract, &[x, mean]);
        let d = b.op(Op::Divide, &[d, std]);
        let d = b.op(Op::Multiply, &[d, gain]);
        vec![b.op(Op::Add, &[d, bias])]
    }),
    ("short rows by what they are reduced to", |b| {
        let (x, y) = (b.input("x", F32, &["n", "24"]), b.input("y", F64, &["n", "10"]));
        let mean = b.reduce(ReduceOp::Mean, x, &[1], true);
        let most = b.reduce(ReduceOp::Max, x, &[1], true);
        let d = b.op(Op::Subtract, &[x, mean]);
        vec![b.op(Op::Divide, &[d, most]), b.graph.softmax(y, Some(&[1]), Site::caller())]
    }),
    ("columns by mean and std", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        let mean = b.reduce(ReduceOp::Mean, x, &[0], true);
        let std = b.graph.std(x, Some(&[0]), 0.0, true, Site::caller());
        let d = b.op(Op::Subtract, &[x, mean]);
        vec![b.op(Op::Divide, &[d, std])]
    }),
    ("least and where", |b| {
        let x = b.input("x", F32, &["n", "17"]);
        let y = b.input("y", F32, &["n", "m"]);
        let y = b.graph.stack(&[y, y], 1, Site::caller());
        vec![
            b.reduce(ReduceOp::ArgMin, x, &[1], false),
            b.reduce(ReduceOp::Min, x, &[1], false),
            b.reduce(ReduceOp::ArgMax, y, &[1], false),
            b.reduce(ReduceOp::Max, y, &[1], false),
        ]
    }),
    ("grid", |b| {
        let n = b.dim("n");
        let x = b.input("x", F32, &["n"]);
        let grid = b.graph.linspace(-1.0, 2.0, n, Site::caller());
        vec![b.op(Op::Multiply, &[grid, x])]
    }),
];

/// Floats of 16 bits, which are computed as `f32` and rounded after every op.
pub const HALVES: &[(&str, Build)] = &[
    ("floats of 16 bits", |b| {
        let (x, y) = (b.input("x", DType::F16, &["n", "m"]), b.input("y", DType::F16, &["m"]));
        let z = b.input("z", DType::Bf16, &["n", "m"]);
        let product = b.op(Op::Multiply, &[x, y]);
        let sum = b.op(Op::Add, &[product, x]);
        let less = b.op(Op::Less, &[x, y]);
        let chosen = b.graph.select(less, product, y, Site::caller());
        let e = b.op(Op::Exp, &[z]);
        let both = b.op(Op::Add, &[z, x]);
        vec![
            sum,
            chosen,
            e,
            both,
            b.reduce(ReduceOp::Sum, product, &[1], false),
            b.reduce(ReduceOp::Sum, product, &[0], false),
            b.graph.reduce(ReduceOp::Mean, z, None, false, Site::caller()),
            b.concat(&[product, x], 0),
        ]
    }),
    ("extremes of 16 bits", |b| {
        let x = b.input("x", DType::F16, &["n", "7"]);
        let z = b.input("z", DType::Bf16, &["n", "70"]);
        vec![
            b.reduce(ReduceOp::Max, x, &[1], false),
            b.reduce(ReduceOp::ArgMin, x, &[1], false),
            b.reduce(ReduceOp::ArgMax, z, &[1], false),
            b.graph.softmax(z, Some(&[-1]), Site::caller()),
        ]
    }),
    ("segments of 16 bits", |b| {
        let (x, ids) = (b.input("x", DType::F16, &["n", "3"]), b.input("ids", DType::U8, &["n"]));
        let three = b.graph.constant(Scalar::U8(3), Site::caller());
        let four = b.op(Op::BitwiseAnd, &[ids, three]);
        vec![
            b.segment(SegmentOp::Sum, x, four, Dim::constant(4)),
            b.segment(SegmentOp::Max, x, four, Dim::constant(4)),
            b.segment(SegmentOp::Mean, x, four, Dim::constant(4)),
        ]
    }),
];

/// Extremes of every kind of sum over pairs of so many elements, and where they are.
fn extremes_of_pairs(b: &mut Builder, length: &str) -> Vec<ExprId> {
    let (x, y) = (b.input("x", F64, &["n", length]), b.input("y", F64, &["k", length]));
    let (x, y) = (b.expand(x, 1), b.expand(y, 0));
    let product = b.op(Op::Multiply, &[x, y]);
    let product = b.reduce(ReduceOp::Sum, product, &[2], false);
    let d = b.op(Op::Subtract, &[x, y]);
    let square = b.op(Op::Square, &[d]);
    let square = b.reduce(ReduceOp::Sum, square, &[2], false);
    let distance = b.op(Op::Sqrt, &[square]);
    let abs = b.op(Op::Abs, &[d]);
    let abs = b.reduce(ReduceOp::Sum, abs, &[2], false);
    let least = b.reduce(ReduceOp::Min, distance, &[1], false);
    vec![
        b.reduce(ReduceOp::ArgMax, product, &[1], false),
        b.reduce(ReduceOp::Mean, least, &[0], false),
        b.reduce(ReduceOp::Max, abs, &[1], true),
        b.reduce(ReduceOp::ArgMin, abs, &[1], false),
    ]
}

/// The graph of a case, its outputs named `out0`, `out1`, ..
pub fn graph(build: impl FnOnce(&mut Builder) -> Vec<ExprId>) -> CheckedGraph {
    let mut builder = Builder { graph: Graph::new() };
    let results = build(&mut builder);
    let names: Vec<String> = (0..results.len()).map(|index| format!("out{index}")).collect();
    let outputs: Vec<(&str, ExprId)> = names.iter().map(String::as_str).zip(results).collect();
    builder.graph.finish(&outputs).expect("the cases are well shaped")
}

/// As many sums of columns.
#[allow(dead_code, reason = "not every crate's tests need many sums")]
pub fn sums_of_columns(count: usize) -> CheckedGraph {
    graph(|b| {
        let x = b.input("x", F32, &["n", "m"]);
        let sum = |index: usize| {
            let factor = b.graph.constant(Scalar::F32(index as f32), Site::caller());
            let product = b.op(Op::Multiply, &[x, factor]);
            b.reduce(ReduceOp::Sum, product, &[0], false)
        };
        (0..count).map(sum).collect()
    })
}

/// Sums and numbers of the rows of an array by their ids, which are an input.
#[allow(dead_code, reason = "not every crate's tests need ids out of range")]
pub fn segments_of(size: &str) -> CheckedGraph {
    let mut b = Builder { graph: Graph::new() };
    let (x, ids) = (b.input("x", F32, &["n", "3"]), b.input("ids", DType::I64, &["n"]));
    let offsets = b.input("offsets", F32, &[size, "1"]);
    let size = b.dim(size);
    let sums = b.segment(SegmentOp::Sum, x, ids, size.clone());
    let sums = b.op(Op::Add, &[sums, offsets]);
    let counts = b.graph.segment_count(ids, size, Site::caller());
    b.graph.finish(&[("sums", sums), ("counts", counts)]).expect("the graph is well shaped")
}
