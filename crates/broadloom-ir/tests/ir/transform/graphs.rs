//! Whole graphs: equal expressions, and the inputs, outputs, assignments and demands.

use super::data::{graph, op, what, with};
use crate::support::here;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Graph, Node, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::transform::{Rewriter, canonical, prepare};
use broadloom_ir::{ExprId, InputId};

#[test]
fn what_is_written_in_two_ways_is_one_node() {
    let mut g = Graph::new();
    let n = g.symbol("n", here());
    let shape = Shape::from_iter([g.symbol_size(n), Dim::constant(4)]);
    let x = g.input("x", DType::F64, shape, here());
    let kept = g.reduce(ReduceOp::Sum, x, Some(&[0]), true, here());
    let squeezed = g.squeeze(kept, &[0], here());
    let plain = g.reduce(ReduceOp::Sum, x, Some(&[0]), false, here());
    let expanded = g.expand_dims(plain, &[0], here());
    let centred = [op(&mut g, Op::Subtract, &[x, kept]), op(&mut g, Op::Subtract, &[x, plain])];
    let outputs =
        [("a", kept), ("b", squeezed), ("c", plain), ("d", expanded), ("e", centred[0]), ("f", centred[1])];
    let source = g.finish(&outputs).unwrap();
    let canonical = canonical(&source);
    assert_eq!(
        canonical.graph.to_string(),
        r#"%0 = input "x" : f64[n, 4]
%1 = sum %0 axes=[0] : f64[4]
%2 = expand_dims %1 axes=[0] : f64[1, 4]
%3 = subtract %0 %1 : f64[n, 4]
output "a" = %2
output "b" = %1
output "c" = %1
output "d" = %2
output "e" = %3
output "f" = %3
"#
    );
    let sum = canonical.image(source.outputs()[2].expr).unwrap();
    let origins = canonical.sources().of(&[sum]);
    let named: Vec<String> = origins.iter().map(|expr| what(&source, *expr)).collect();
    assert_eq!(named, ["sum", "squeeze", "sum"], "all that the one node computes");
}

#[test]
fn standardising_sums_once() {
    let mut g = Graph::new();
    let n = g.symbol("n", here());
    let shape = Shape::from_iter([g.symbol_size(n), Dim::constant(4)]);
    let x = g.input("x", DType::F64, shape, here());
    let mean = g.reduce(ReduceOp::Mean, x, Some(&[0]), false, here());
    let deviation = op(&mut g, Op::Subtract, &[x, mean]);
    let std = g.std(x, Some(&[0]), 0.0, false, here());
    let out = op(&mut g, Op::Divide, &[deviation, std]);
    let source = g.finish(&[("out", out)]).unwrap();
    assert_eq!(
        prepare(&source).graph.to_string(),
        r#"%0 = input "x" : f64[n, 4]
%1 = sum %0 axes=[0] : f64[4]
%2 = size n : i64[]
%3 = cast %2 : f64[]
%4 = divide %1 %3 : f64[4]
%5 = subtract %0 %4 : f64[n, 4]
%6 = square %5 : f64[n, 4]
%7 = sum %6 axes=[0] : f64[4]
%8 = divide %7 %3 : f64[4]
%9 = sqrt %8 : f64[4]
%10 = divide %5 %9 : f64[n, 4]
output "out" = %10
"#
    );
}

#[test]
fn inputs_outputs_assignments_and_demands_stay() {
    let mut g = Graph::new();
    let [n, m] = ["n", "m"].map(|name| g.symbol(name, here()));
    let [n, m] = [n, m].map(|symbol| g.symbol_size(symbol));
    let unused = g.input("unused", DType::F32, Shape::from_iter([m.clone()]), here());
    let x = g.input("x", DType::F32, Shape::from_iter([n]), here());
    g.elementwise(Op::Exp, &[unused], here());
    let start = SliceSpec::Range { start: Some(Dim::constant(5)), stop: None, step: 1 };
    let tail = g.slice(x, &[start], here());
    let least = g.reduce(ReduceOp::Min, tail, None, true, here());
    let same = with(&mut g, Op::Multiply, least, 1.0);
    let value = with(&mut g, Op::Subtract, x, 0.0);
    g.assign(x, value, here());
    let source = g.finish(&[("least", same), ("again", least)]).unwrap();
    let rewritten = prepare(&source);
    let after = &rewritten.graph;
    assert_eq!(after.inputs(), source.inputs());
    let named = |graph: &CheckedGraph| -> Vec<(String, Option<InputId>)> {
        graph.outputs().iter().map(|output| (output.name.to_string(), output.assigned)).collect()
    };
    assert_eq!(named(after), named(&source));
    let demands = |graph: &CheckedGraph| -> Vec<_> {
        graph.obligations().iter().map(|obligation| (obligation.demand.clone(), obligation.site)).collect()
    };
    assert_eq!(demands(after), demands(&source));
    assert_eq!(demands(after).len(), 2);
    for (one, other) in after.obligations().iter().zip(source.obligations()) {
        assert_eq!(one.origin.map(|expr| rewritten.origin(expr)), other.origin);
    }
    for expr in after.exprs() {
        let origin = rewritten.origin(expr);
        assert_eq!(after.site(expr), source.site(origin), "{expr} of {origin}");
    }
}

#[test]
fn a_long_chain_is_rewritten_without_recursion() {
    let mut g = Graph::new();
    let n = g.symbol("n", here());
    let shape = Shape::from_iter([g.symbol_size(n)]);
    let x = g.input("x", DType::F32, shape, here());
    let mut chain = x;
    for _ in 0..50_000 {
        chain = with(&mut g, Op::Multiply, chain, 1.0);
        chain = op(&mut g, Op::Negative, &[chain]);
        chain = op(&mut g, Op::Positive, &[chain]);
    }
    let source = g.finish(&[("out", chain)]).unwrap();
    assert_eq!(prepare(&source).graph.len(), 1);
}

#[test]
fn a_rewriter_keeps_what_is_copied() {
    let source = graph(DType::F32, DType::F32, |g, x, y| {
        let sum = op(g, Op::Add, &[x, y]);
        op(g, Op::Exp, &[sum])
    });
    let copy = Rewriter::map(&source, |rewriter, expr| rewriter.copy(expr));
    assert_eq!(copy.graph.to_string(), source.to_string());
    let negated = Rewriter::map(&source, |rewriter, expr| {
        let copy = rewriter.copy(expr);
        match source.node(expr) {
            Node::Elementwise { op: Op::Add, .. } => {
                rewriter.builder().elementwise(Op::Negative, &[copy], source.site(expr))
            }
            _ => copy,
        }
    });
    assert_eq!(what(&negated.graph, ExprId::new(3)), "negative");
    assert_eq!(negated.image(ExprId::new(2)), Some(ExprId::new(3)));
    assert_eq!(negated.origin(ExprId::new(3)), ExprId::new(2));
}
