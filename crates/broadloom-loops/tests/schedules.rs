//! Loop trees of well-known expressions.
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::Graph;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::ExprId;
use broadloom_loops::{LowerOptions, lower};
use std::panic::Location;

fn show(title: &str, build: impl FnOnce(&mut Graph) -> Vec<ExprId>) {
    let mut g = Graph::new();
    let outs = build(&mut g);
    let names: Vec<String> = (0..outs.len()).map(|i| format!("out{i}")).collect();
    let outputs: Vec<(&str, ExprId)> = names.iter().map(|n| n.as_str()).zip(outs).collect();
    let checked = g.finish(&outputs).unwrap();
    let schedule = lower(&checked, &LowerOptions::dense(&checked, true)).unwrap();
    broadloom_loops::verify(&schedule).unwrap();
    println!("=== {title}\n{schedule}");
}

#[test]
fn print_all() {
    let site = Location::caller();
    let sym = |g: &mut Graph, n: &str| Dim::symbol(g.symbol(n, site));
    let shape = |dims: &[Dim]| dims.iter().cloned().collect::<Shape>();
    let c = Dim::constant;
    show("add bias", |g| {
        let (n, m) = (sym(g, "n"), sym(g, "m"));
        let x = g.input("x", DType::F32, shape(&[n.clone(), m.clone(), c(3)]), site);
        let b = g.input("b", DType::F32, shape(&[c(3)]), site);
        vec![g.elementwise(Op::Add, &[x, b], site)]
    });
    show("flat", |g| {
        let (n, m) = (sym(g, "n"), sym(g, "m"));
        let x = g.input("x", DType::F32, shape(&[n.clone(), m.clone()]), site);
        let y = g.input("y", DType::F32, shape(&[n.clone(), m.clone()]), site);
        let e = g.elementwise(Op::Exp, &[x], site);
        vec![g.elementwise(Op::Multiply, &[e, y], site)]
    });
    show("outer exp sin", |g| {
        let (n, m) = (sym(g, "n"), sym(g, "m"));
        let x = g.input("x", DType::F32, shape(&[n.clone(), c(1)]), site);
        let y = g.input("y", DType::F32, shape(&[c(1), m.clone()]), site);
        let e = g.elementwise(Op::Exp, &[x], site);
        let s = g.elementwise(Op::Sin, &[y], site);
        vec![g.elementwise(Op::Multiply, &[e, s], site)]
    });
    show("nearest", |g| {
        let (n, k) = (sym(g, "n"), sym(g, "k"));
        let x = g.input("obs", DType::F32, shape(&[n.clone(), c(3)]), site);
        let y = g.input("codes", DType::F32, shape(&[k.clone(), c(3)]), site);
        let x = g.expand_dims(x, &[1], site);
        let y = g.expand_dims(y, &[0], site);
        let d = g.elementwise(Op::Subtract, &[y, x], site);
        let d = g.elementwise(Op::Square, &[d], site);
        let d = g.reduce(ReduceOp::Sum, d, Some(&[-1]), false, site);
        vec![g.reduce(ReduceOp::ArgMin, d, Some(&[1]), false, site), g.reduce(ReduceOp::Min, d, Some(&[1]), false, site)]
    });
    show("nearest symbolic d, sqrt", |g| {
        let (n, k, dd) = (sym(g, "n"), sym(g, "k"), sym(g, "d"));
        let x = g.input("obs", DType::F32, shape(&[n.clone(), dd.clone()]), site);
        let y = g.input("codes", DType::F32, shape(&[k.clone(), dd.clone()]), site);
        let x = g.expand_dims(x, &[1], site);
        let y = g.expand_dims(y, &[0], site);
        let d = g.elementwise(Op::Subtract, &[y, x], site);
        let d = g.elementwise(Op::Square, &[d], site);
        let d = g.reduce(ReduceOp::Sum, d, Some(&[-1]), false, site);
        let d = g.elementwise(Op::Sqrt, &[d], site);
        vec![g.reduce(ReduceOp::ArgMin, d, Some(&[1]), false, site)]
    });
    show("row sum, col sum, full sum", |g| {
        let (n, m) = (sym(g, "n"), sym(g, "m"));
        let x = g.input("x", DType::F32, shape(&[n.clone(), m.clone()]), site);
        let q = g.elementwise(Op::Square, &[x], site);
        vec![
            g.reduce(ReduceOp::Sum, q, Some(&[1]), false, site),
            g.reduce(ReduceOp::Sum, q, Some(&[0]), false, site),
            g.reduce(ReduceOp::Mean, x, None, false, site),
        ]
    });
    show("softmax", |g| {
        let (n, m) = (sym(g, "n"), sym(g, "m"));
        let x = g.input("x", DType::F32, shape(&[n.clone(), m.clone()]), site);
        let mx = g.reduce(ReduceOp::Max, x, Some(&[1]), true, site);
        let d = g.elementwise(Op::Subtract, &[x, mx], site);
        let e = g.elementwise(Op::Exp, &[d], site);
        let s = g.reduce(ReduceOp::Sum, e, Some(&[1]), true, site);
        vec![g.elementwise(Op::Divide, &[e, s], site)]
    });
    show("standardise columns", |g| {
        let (n, m) = (sym(g, "n"), sym(g, "m"));
        let x = g.input("x", DType::F64, shape(&[n.clone(), m.clone()]), site);
        let mx = g.reduce(ReduceOp::Mean, x, Some(&[0]), true, site);
        let d = g.elementwise(Op::Subtract, &[x, mx], site);
        let q = g.elementwise(Op::Square, &[d], site);
        let v = g.reduce(ReduceOp::Mean, q, Some(&[0]), true, site);
        let s = g.elementwise(Op::Sqrt, &[v], site);
        vec![g.elementwise(Op::Divide, &[d, s], site)]
    });
    show("kernel density", |g| {
        let (n, m) = (sym(g, "n"), sym(g, "m"));
        let x = g.input("x", DType::F64, shape(&[n.clone(), c(1)]), site);
        let y = g.input("y", DType::F64, shape(&[m.clone()]), site);
        let d = g.elementwise(Op::Subtract, &[x, y], site);
        let q = g.elementwise(Op::Square, &[d], site);
        let q = g.elementwise(Op::Negative, &[q], site);
        let e = g.elementwise(Op::Exp, &[q], site);
        let s = g.reduce(ReduceOp::Sum, e, Some(&[1]), false, site);
        vec![g.elementwise(Op::Log, &[s], site)]
    });
    show("column sum of exp, matmul, arg all", |g| {
        let (n, m, k) = (sym(g, "n"), sym(g, "m"), sym(g, "k"));
        let x = g.input("x", DType::F32, shape(&[n.clone(), k.clone()]), site);
        let y = g.input("y", DType::F32, shape(&[k.clone(), m.clone()]), site);
        let e = g.elementwise(Op::Exp, &[y], site);
        let cs = g.reduce(ReduceOp::Sum, e, Some(&[0]), false, site);
        let x3 = g.expand_dims(x, &[2], site);
        let p = g.elementwise(Op::Multiply, &[x3, y], site);
        let mm = g.reduce(ReduceOp::Sum, p, Some(&[1]), false, site);
        vec![cs, mm, g.reduce(ReduceOp::ArgMax, y, None, false, site)]
    });
    show("take, iota, slice", |g| {
        let (n, k) = (sym(g, "n"), sym(g, "k"));
        let t = g.input("t", DType::F32, shape(&[k.clone(), c(3)]), site);
        let i = g.input("i", DType::I32, shape(&[n.clone()]), site);
        let r = g.take(t, i, 0, site);
        let io = g.iota(n.clone(), site);
        let io = g.cast(io, DType::F32, site);
        let io = g.expand_dims(io, &[1], site);
        vec![g.elementwise(Op::Add, &[r, io], site)]
    });
}
