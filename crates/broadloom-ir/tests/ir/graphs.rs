//! The builder and the checked graph: sharing, conversion, folding, literals, views that vanish, renumbering.

use crate::support::{dim, here, input, shape, text};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Requirement;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{CheckedGraph, Graph, Literal, Node, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use cpu_time::ThreadTime;

fn typed(graph: &mut Graph, name: &str, dtype: DType, dims: &str) -> ExprId {
    let shape = shape(graph, dims);
    graph.input(name, dtype, shape, here())
}

fn range(start: i64, stop: Option<i64>, step: i64) -> SliceSpec {
    SliceSpec::Range { start: Some(start.into()), stop: stop.map(Dim::constant), step }
}

#[test]
fn a_whole_graph_prints() {
    let mut graph = Graph::new();
    let codes = typed(&mut graph, "codes", DType::F64, "k,3");
    let unused = input(&mut graph, "unused", "u");
    let obs = input(&mut graph, "obs", "n,3");
    let tables = graph.slice(codes, &[SliceSpec::NewAxis, SliceSpec::All], here());
    let rows = graph.expand_dims(obs, &[1], here());
    let difference = graph.elementwise(Op::Subtract, &[tables, rows], here());
    graph.elementwise(Op::Exp, &[unused], here());
    let square = graph.power_literal(difference, Literal::Int(2), here());
    let distance = graph.reduce(ReduceOp::Sum, square, Some(&[-1]), false, here());
    let nearest = graph.reduce(ReduceOp::ArgMin, distance, Some(&[1]), true, here());
    let odd = graph.slice(distance, &[SliceSpec::At(Dim::constant(-1)), range(1, None, -2)], here());
    let checked = graph.finish(&[("nearest", nearest), ("odd", odd)]).unwrap();
    assert_eq!(
        checked.to_string(),
        r#"%0 = input "codes" : f64[k, 3]
%1 = input "obs" : f32[n, 3]
%2 = expand_dims %0 axes=[0] : f64[1, k, 3]
%3 = expand_dims %1 axes=[1] : f32[n, 1, 3]
%4 = cast %3 : f64[n, 1, 3]
%5 = subtract %2 %4 : f64[n, k, 3]
%6 = square %5 : f64[n, k, 3]
%7 = sum %6 axes=[2] : f64[n, k]
%8 = argmin %7 axes=[1] keepdims : i64[n, 1]
%9 = slice %7 [n-1..:1, k-1..:-2] : f64[1, k//2]
%10 = squeeze %9 axes=[0] : f64[k//2]
output "nearest" = %8
output "odd" = %10
"#
    );
    assert_eq!(checked.inputs().len(), 3, "inputs that nothing needs stay inputs");
    let sum = ExprId::new(7);
    assert_eq!(checked.factors(sum), Some([ExprId::new(5); 2]));
    assert_eq!(checked.factors(ExprId::new(8)), None);
    assert_eq!(checked.operands(sum).as_slice(), [ExprId::new(6)]);
    let needs: Vec<_> = checked
        .obligations()
        .iter()
        .map(|need| {
            (
                need.origin.unwrap().index(),
                need.requirement,
                text(&graph, &[need.demand.difference().unwrap()]),
            )
        })
        .collect();
    assert_eq!(
        needs,
        [
            (8, Requirement::NotEmpty, "k-1".to_owned()),
            (9, Requirement::IndexStart, "n-1".to_owned()),
            (9, Requirement::SliceOrder, "k-1".to_owned()),
        ]
    );
    let solved: Vec<_> = checked
        .solutions()
        .iter()
        .map(|known| (known.symbol.index(), known.input.index(), known.axis))
        .collect();
    assert_eq!(solved, [(0, 0, 0), (1, 1, 0), (2, 2, 0)]);
}

#[test]
fn equal_expressions_are_one() {
    let mut graph = Graph::new();
    let [x, y] = [input(&mut graph, "x", "n,3"), input(&mut graph, "y", "3")];
    assert_eq!(input(&mut graph, "x", "n,3"), x);
    let sum = graph.elementwise(Op::Add, &[x, y], here());
    assert_eq!(graph.elementwise(Op::Add, &[x, y], here()), sum);
    assert_ne!(graph.elementwise(Op::Add, &[y, x], here()), sum, "operands keep their order");
    let zero = graph.constant(Scalar::F32(0.0), here());
    assert_ne!(graph.constant(Scalar::F32(-0.0), here()), zero);
}

#[test]
fn what_changes_nothing_vanishes() {
    let mut graph = Graph::new();
    let x = input(&mut graph, "x", "n,3");
    let same = shape(&mut graph, "n,3");
    let whole: Vec<Option<Dim>> = same.iter().cloned().map(Some).collect();
    for result in [
        graph.cast(x, DType::F32, here()),
        graph.reshape(x, &whole, here()),
        graph.permute_dims(x, &[0, -1], here()),
        graph.expand_dims(x, &[], here()),
        graph.squeeze(x, &[], here()),
        graph.broadcast_to(x, same, here()),
        graph.slice(x, &[SliceSpec::All, range(0, Some(3), 1)], here()),
        graph.reduce(ReduceOp::Max, x, Some(&[]), false, here()),
        graph.power_literal(x, Literal::Float(1.0), here()),
    ] {
        assert_eq!(result, x);
    }
    assert!(graph.mistakes().is_empty());
}

#[test]
fn conversion() {
    let mut graph = Graph::new();
    let all: Vec<ExprId> =
        DType::ALL.iter().map(|&dtype| typed(&mut graph, dtype.name(), dtype, "n")).collect();
    for (&x, &a) in all.iter().zip(DType::ALL) {
        for (&y, &b) in all.iter().zip(DType::ALL) {
            let sum = graph.elementwise(Op::Add, &[x, y], here());
            assert_eq!(graph.dtype(sum), a.promote(b), "{a} + {b}");
            let Node::Elementwise { operands, .. } = graph.node(sum) else { panic!() };
            assert!(operands.iter().all(|&operand| graph.dtype(operand) == a.promote(b)));
            let less = graph.elementwise(Op::Less, &[x, y], here());
            assert_eq!(graph.dtype(less), DType::Bool);
        }
        for op in ReduceOp::ALL {
            let reduced = graph.reduce(*op, x, None, false, here());
            assert_eq!(
                (graph.dtype(reduced), graph.shape(reduced).rank()),
                (op.result_dtype(a), 0),
                "{op} {a}"
            );
        }
        let quotient = graph.elementwise(Op::Divide, &[x, x], here());
        assert!(graph.dtype(quotient).is_float());
    }
    assert!(graph.mistakes().is_empty());
}

#[test]
fn literals_are_weak() {
    let (int, float) = (Literal::Int(1), Literal::Float(1.5));
    for (literal, meets, want) in [
        (int, DType::U8, Scalar::U8(1)),
        (int, DType::Bool, Scalar::I64(1)),
        (int, DType::F32, Scalar::F32(1.0)),
        (float, DType::F32, Scalar::F32(1.5)),
        (float, DType::I32, Scalar::F64(1.5)),
        (float, DType::Bool, Scalar::F64(1.5)),
        (Literal::Float(f64::INFINITY), DType::F32, Scalar::F32(f32::INFINITY)),
        (Literal::Bool(true), DType::F32, Scalar::Bool(true)),
    ] {
        let mut graph = Graph::new();
        let expr = graph.literal(literal, meets, here());
        assert_eq!(graph.node(expr), &Node::Constant(want), "{literal} meets {meets}");
    }
    for (literal, meets) in [
        (Literal::Int(-1), DType::U8),
        (Literal::Int(1 << 31), DType::I32),
        (Literal::Int(i128::MAX), DType::I64),
        (Literal::Float(1e39), DType::F32),
    ] {
        let mut graph = Graph::new();
        let expr = graph.literal(literal, meets, here());
        assert!(graph.is_poisoned(expr), "{literal} meets {meets}");
    }
}

#[test]
fn literal_powers() {
    for (dtype, exponent, want) in [
        (DType::F32, Literal::Int(2), "square %0 : f32[n]"),
        (DType::I32, Literal::Int(2), "square %0 : i32[n]"),
        (DType::F32, Literal::Float(0.5), "sqrt %0 : f32[n]"),
        (DType::F32, Literal::Int(-1), "divide %1 %0 : f32[n]"),
        (DType::F32, Literal::Int(0), "broadcast_to %0 : f32[n]"),
        (DType::I32, Literal::Float(2.0), "square %1 : f64[n]"),
        (DType::F64, Literal::Int(3), "pow %0 %1 : f64[n]"),
        (DType::Bool, Literal::Int(1), "cast %0 : i64[n]"),
    ] {
        let mut graph = Graph::new();
        let x = typed(&mut graph, "x", dtype, "n");
        let power = graph.power_literal(x, exponent, here());
        let printed = graph.finish(&[("y", power)]).unwrap().to_string();
        let last = printed.lines().rev().nth(1).unwrap();
        assert_eq!(last.split_once(" = ").unwrap().1, want, "{dtype} ** {exponent}");
    }
}

#[test]
fn constants_fold() {
    let mut graph = Graph::new();
    let [two, three] = [2, 3].map(|value| graph.constant(Scalar::I32(value), here()));
    let half = graph.constant(Scalar::F32(0.5), here());
    let folded = |graph: &Graph, expr: ExprId| match graph.node(expr) {
        Node::Constant(value) => Some(*value),
        _ => None,
    };
    let product = graph.elementwise(Op::Multiply, &[two, three], here());
    assert_eq!(folded(&graph, product), Some(Scalar::I32(6)));
    let sum = graph.elementwise(Op::Add, &[two, half], here());
    assert_eq!(folded(&graph, sum), Some(Scalar::F64(2.5)), "after promotion");
    let holds = graph.elementwise(Op::Less, &[two, three], here());
    assert_eq!(folded(&graph, holds), Some(Scalar::Bool(true)));
    let chosen = graph.select(holds, two, half, here());
    assert_eq!(folded(&graph, chosen), Some(Scalar::F64(2.0)));
    let cast = graph.cast(half, DType::I64, here());
    assert_eq!(folded(&graph, cast), Some(Scalar::I64(0)));
    // An elementary function folds where both numerics levels, one of which is chosen later, give the same bits.
    let mut kept = 0;
    for op in [Op::Exp, Op::Log, Op::Sin, Op::Cos, Op::Tanh] {
        for step in 1..1000 {
            let x = Scalar::F32(step as f32 * 0.0137);
            let values = [false, true].map(|fused| op.evaluate(fused, &[x]));
            let x = graph.constant(x, here());
            let expr = graph.elementwise(op, &[x], here());
            let want = if values[0] == values[1] { values[0] } else { None };
            kept += usize::from(want.is_none());
            assert_eq!(folded(&graph, expr), want, "{op}");
        }
    }
    assert!(kept > 0, "no argument at which the levels differ");
    let mean = graph.reduce(ReduceOp::Mean, two, None, false, here());
    assert_eq!(folded(&graph, mean), Some(Scalar::F64(2.0)), "of rank 0");
    let first = graph.reduce(ReduceOp::ArgMax, two, None, false, here());
    assert_eq!(folded(&graph, first), Some(Scalar::I64(0)));
}

#[test]
fn shapes_of_views() {
    let mut graph = Graph::new();
    let x = input(&mut graph, "x", "n,4,1,m");
    let at = |index: i64| SliceSpec::At(index.into());
    let indices = typed(&mut graph, "i", DType::U8, "5,k");
    let wanted = shape(&mut graph, "7,n,4,2,m");
    let rows = [
        (graph.permute_dims(x, &[-1, 0, 2, 1], here()), "m,n,1,4"),
        (graph.expand_dims(x, &[0, -1], here()), "1,n,4,1,m,1"),
        (graph.squeeze(x, &[-2], here()), "n,4,m"),
        (graph.broadcast_to(x, wanted, here()), "7,n,4,2,m"),
        (graph.slice(x, &[at(0), SliceSpec::NewAxis, at(-1)], here()), "1,1,m"),
        (
            graph.slice(x, &[SliceSpec::NewAxis, range(2, None, 1), SliceSpec::NewAxis], here()),
            "1,n-2,1,4,1,m",
        ),
        (graph.slice(x, &[SliceSpec::All, range(-3, Some(-1), 1)], here()), "n,2,1,m"),
        (graph.slice(x, &[SliceSpec::All, range(0, None, -3)], here()), "n,2,1,m"),
        (graph.reduce(ReduceOp::Sum, x, Some(&[3, 0]), false, here()), "4,1"),
        (graph.reduce(ReduceOp::Sum, x, Some(&[3, 0]), true, here()), "1,4,1,1"),
        (graph.take(x, indices, 1, here()), "n,5,k,1,m"),
        (graph.reshape(x, &[None, Some(2.into())], here()), "2*n*m,2"),
    ];
    for (expr, want) in rows {
        assert!(graph.mistakes().is_empty(), "{want}: {:?}", graph.diagnostics());
        assert_eq!(text(&graph, &graph.shape(expr)), want);
    }
    let length = dim(&mut graph, "n-1");
    let iota = graph.iota(length, here());
    assert_eq!((graph.dtype(iota), text(&graph, &graph.shape(iota))), (DType::I64, "n-1".to_owned()));
    let checked = graph.finish(&[("iota", iota)]).unwrap();
    assert_eq!(checked.obligations().len(), 1, "n >= 1");
}

/// What follows from the sizes of the operand is not checked again at run time.
#[test]
fn obligations_are_few() {
    for (source, target, count) in [
        ("n-1,m", "n*m-m", 0),
        ("n-1,m,2", "n-1,2*m", 0),
        ("n-1,m", "m,n-1", 0),
        ("n*n-1", "n-1,n+1", 1),
        ("n,m", "n*m,1", 0),
    ] {
        let mut graph = Graph::new();
        input(&mut graph, "sizes", "n,m");
        let x = input(&mut graph, "x", source);
        let target: Vec<Option<Dim>> = shape(&mut graph, target).iter().cloned().map(Some).collect();
        let y = graph.reshape(x, &target, here());
        assert_eq!(graph.finish(&[("y", y)]).unwrap().obligations().len(), count, "{source} to {target:?}");
    }
}

/// The conditions of slices that no output needs, where their sizes are used.
#[test]
fn measured_sizes_keep_their_conditions() {
    let demands = |measured: &[&str], of: &str| {
        let mut graph = Graph::new();
        let x = input(&mut graph, "x", "n,m");
        let w = input(&mut graph, "w", "k");
        let k = graph.shape(w)[0].clone();
        let tail = graph.slice(x, &[range(-4, Some(3), 1)], here());
        let last = graph.slice(tail, &[range(-2, None, 1)], here());
        let first = SliceSpec::Range { start: None, stop: Some(k), step: 1 };
        let first = graph.slice(x, &[first], here());
        let exprs = [("tail", tail), ("last", last), ("first", first)];
        for (_, expr) in exprs.iter().filter(|(name, _)| measured.contains(name)) {
            assert_eq!(graph.measure(*expr), graph.shape(*expr));
        }
        let out = match of {
            "grid" => {
                let column = graph.slice(tail, &[SliceSpec::All, SliceSpec::At(0.into())], here());
                graph.coordinate(&[column, w], 1, here())
            }
            "x" => x,
            _ => w,
        };
        let checked = graph.finish(&[("out", out)]).unwrap();
        let demands = checked
            .obligations()
            .iter()
            .map(|obligation| text(&graph, &[obligation.demand.difference().unwrap()]));
        demands.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(demands(&[], "x"), "");
    assert_eq!(demands(&["tail"], "x"), "-n+7 n-3 n-4");
    assert_eq!(demands(&["last"], "x"), "-n+5 -n+7 n-3 n-4", "what it is made of has conditions too");
    assert_eq!(demands(&["first"], "x"), "n-k");
    assert!(demands(&[], "grid").starts_with("-n+7 "));
}

#[test]
fn what_cannot_be_finished() {
    let codes = |graph: &Graph, outputs: &[(&str, ExprId)]| -> Vec<&'static str> {
        let mistakes = graph.finish(outputs).err();
        mistakes.iter().flatten().map(|mistake| mistake.code().as_str()).collect()
    };
    let mut graph = Graph::new();
    assert_eq!(codes(&graph, &[]), ["N003"]);
    let x = input(&mut graph, "x", "n*m,n*n");
    assert_eq!(codes(&graph, &[("a", x), ("a", x), ("", x)]), ["N002", "N001", "S011", "S011"]);
    let one = graph.constant(Scalar::F32(1.0), here());
    assert_eq!(codes(&graph, &[("a", one)]), [""; 0], "the symbols are not needed");
    let poison = graph.poison();
    assert_eq!(codes(&graph, &[("a", poison)]), ["N003"]);
    assert!(graph.is_poisoned(ExprId::new(12345)), "ids of other graphs are poisoned");
    // Solved in the order that works, whatever the order of declaration.
    let mut graph = Graph::new();
    let y = input(&mut graph, "y", "a+b,2*b+c,3*c-1");
    assert_eq!(codes(&graph, &[("y", y)]), [""; 0]);
    let checked = graph.finish(&[("y", y)]).unwrap();
    let axes: Vec<usize> = checked.solutions().iter().map(|known| known.axis).collect();
    assert_eq!(axes, [2, 1, 0]);
}

#[test]
fn long_chains() {
    let started = ThreadTime::now();
    let mut graph = Graph::new();
    let x = input(&mut graph, "x", "n,m,3");
    let mut chain = x;
    for index in 0..100_000 {
        chain = match index % 3 {
            0 => graph.elementwise(Op::Add, &[chain, x], here()),
            1 => graph.expand_dims(chain, &[0], here()),
            _ => graph.squeeze(chain, &[0], here()),
        };
    }
    let checked = graph.finish(&[("chain", chain)]).unwrap();
    assert_eq!(checked.len(), 100_001);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// 100,000 expressions whose shapes differ, over symbols, sums and products of them and inferred sizes: well under a
/// second in release, and without recursion.
#[test]
fn shapes_of_many_expressions() {
    let started = ThreadTime::now();
    let mut graph = Graph::new();
    let shapes = ["n,m,3", "n,1,3", "m,1", "_,3", "n*m,3", "2*n+1,m", "m"];
    let inputs: Vec<ExprId> =
        shapes.iter().enumerate().map(|(at, dims)| input(&mut graph, &format!("x{at}"), dims)).collect();
    let mut expr = inputs[0];
    while expr.index() < 100_000 {
        // Every round is another node: it scales by another number.
        let scale = graph.constant(Scalar::F32(expr.index() as f32), here());
        let scaled = graph.elementwise(Op::Multiply, &[expr, scale], here());
        let columns = graph.elementwise(Op::Add, &[scaled, inputs[2]], here());
        let rows = graph.elementwise(Op::Add, &[columns, inputs[3]], here());
        let flat = graph.reshape(rows, &[None, Some(Dim::constant(3))], here());
        let both = graph.elementwise(Op::Subtract, &[flat, inputs[4]], here());
        let mean = graph.reduce(ReduceOp::Mean, both, Some(&[-1]), true, here());
        let centred = graph.elementwise(Op::Subtract, &[both, mean], here());
        let shape = graph.shape(inputs[0]);
        let dims: Vec<Option<Dim>> = shape.iter().cloned().map(Some).collect();
        expr = graph.reshape(centred, &dims, here());
    }
    assert!(graph.mistakes().is_empty(), "{:?}", graph.diagnostics());
    let checked = graph.finish(&[("y", expr)]).unwrap();
    assert!(checked.len() > 80_000);
    let took = started.elapsed();
    // Generous, as machines are shared: alone it takes a quarter of a second in release.
    let most = if cfg!(debug_assertions) { 30.0 } else { 5.0 };
    assert!(took.as_secs_f64() < most, "{took:?}");
}

#[test]
fn checked_graphs_are_shared_between_threads() {
    fn shared<T: Clone + Send + Sync + std::fmt::Debug + 'static>() {}
    shared::<CheckedGraph>();
    shared::<broadloom_ir::diagnostics::Diagnostics>();
    shared::<Shape>();
}
