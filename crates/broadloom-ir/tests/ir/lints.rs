//! Warnings of ops that are valid and rarely meant, and their absence where they are meant.

use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, Literal, Norm, Product, Site};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

const HERE: Site = Site::Nowhere;

/// The codes of the warnings, those that are nearly always mistakes with `!`.
fn warned(make: impl FnOnce(&mut Graph)) -> Vec<String> {
    let mut graph = Graph::new();
    graph.warn_of_pointwise();
    make(&mut graph);
    assert!(graph.diagnostics().is_empty(), "{:?}", graph.diagnostics());
    let mark = |likely| if likely { "!" } else { "" };
    graph
        .warnings()
        .iter()
        .map(|warning| format!("{}{}", warning.code().as_str(), mark(warning.is_likely_wrong())))
        .collect()
}

fn input(graph: &mut Graph, name: &str, dtype: DType, sizes: &[i64]) -> ExprId {
    let sizes: Vec<Dim> = sizes.iter().map(|size| Dim::constant(*size)).collect();
    graph.input(name, dtype, sizes.into(), HERE)
}

#[test]
fn squares_of_small_integers() {
    for (dtype, expected) in [
        (DType::U8, vec!["L003!"]),
        (DType::I8, vec!["L003!"]),
        (DType::U16, vec!["L003!"]),
        (DType::I16, vec!["L003!"]),
        (DType::U32, vec![]),
        (DType::I64, vec![]),
        (DType::F16, vec![]),
        (DType::Bool, vec![]),
    ] {
        let product = warned(|graph| {
            let x = input(graph, "x", dtype, &[4]);
            graph.elementwise(Op::Multiply, &[x, x], HERE);
        });
        assert_eq!(product, expected, "{dtype}");
        // `square` of bool computes in i8, where 0 and 1 fit.
        let squared = warned(|graph| {
            let x = input(graph, "x", dtype, &[4]);
            graph.elementwise(Op::Square, &[x], HERE);
        });
        assert_eq!(squared, expected, "{dtype}");
        for power in [Literal::Int(2), Literal::Int(3)] {
            let powered = warned(|graph| {
                let x = input(graph, "x", dtype, &[4]);
                graph.power_literal(x, power, HERE);
            });
            assert_eq!(powered, expected, "{dtype}");
        }
    }
    let of_truth_values = warned(|graph| {
        let x = input(graph, "x", DType::Bool, &[4]);
        let numbers = graph.cast(x, DType::U8, HERE);
        graph.elementwise(Op::Multiply, &[numbers, numbers], HERE);
    });
    assert_eq!(of_truth_values, Vec::<String>::new());
    let others = warned(|graph| {
        let (x, y) = (input(graph, "x", DType::U8, &[4]), input(graph, "y", DType::U8, &[4]));
        graph.elementwise(Op::Multiply, &[x, y], HERE);
        graph.elementwise(Op::Subtract, &[x, y], HERE);
        graph.power_literal(x, Literal::Int(1), HERE);
        graph.std(x, None, 0.0, false, HERE);
    });
    assert_eq!(others, Vec::<String>::new());
}

#[test]
fn magnitudes_of_unsigned_differences() {
    for (dtype, expected) in [(DType::U8, vec!["L003!"]), (DType::U64, vec!["L003!"]), (DType::I32, vec![])] {
        let found = warned(|graph| {
            let (x, y) = (input(graph, "x", dtype, &[4]), input(graph, "y", dtype, &[4]));
            let difference = graph.elementwise(Op::Subtract, &[x, y], HERE);
            let difference = graph.expand_dims(difference, &[0], HERE);
            graph.elementwise(Op::Abs, &[difference], HERE);
        });
        assert_eq!(found, expected, "{dtype}");
    }
}

/// What is computed of differences after they have wrapped, and sums of squares that wrap.
#[test]
fn functions_of_what_wraps() {
    type Made = fn(&mut Graph, ExprId, ExprId) -> ExprId;
    let of_differences: &[(&str, Made)] = &[
        ("sqrt", |graph, d, _| graph.elementwise(Op::Sqrt, &[d], HERE)),
        ("hypot", |graph, d, x| graph.elementwise(Op::Hypot, &[x, d], HERE)),
        ("greater", |graph, d, x| graph.elementwise(Op::Greater, &[d, x], HERE)),
        ("mean", |graph, d, _| graph.reduce(ReduceOp::Mean, d, None, false, HERE)),
        ("sum", |graph, d, _| graph.reduce(ReduceOp::Sum, d, None, false, HERE)),
        ("std", |graph, d, _| graph.std(d, None, 0.0, false, HERE)),
        ("norm", |graph, d, _| graph.norm(Norm::Two, d, None, false, HERE)),
        ("inner", |graph, d, x| graph.product(&Product::Inner, [x, d], HERE)),
        ("einsum", |graph, d, x| graph.einsum("i,i", &[d, x], HERE)),
    ];
    let others: &[(&str, Made)] = &[
        ("not_equal", |graph, d, x| graph.elementwise(Op::NotEqual, &[d, x], HERE)),
        ("any", |graph, d, _| graph.reduce(ReduceOp::Any, d, None, false, HERE)),
        ("add", |graph, d, x| graph.elementwise(Op::Add, &[d, x], HERE)),
    ];
    let of_squares: &[(&str, Made)] = &[
        ("matmul", |graph, _, x| graph.product(&Product::Matmul, [x, x], HERE)),
        ("einsum", |graph, _, x| graph.einsum("i,i", &[x, x], HERE)),
    ];
    for (dtype, warns) in [(DType::U8, true), (DType::U16, true), (DType::U32, false), (DType::F32, false)] {
        for (kind, functions) in [of_differences, others, of_squares].into_iter().enumerate() {
            for (name, function) in functions {
                let found = warned(|graph| {
                    let (x, y) = (input(graph, "x", dtype, &[4]), input(graph, "y", dtype, &[4]));
                    let difference = graph.elementwise(Op::Subtract, &[x, y], HERE);
                    function(graph, difference, x);
                });
                let expected = if warns && kind != 1 { vec!["L003!"] } else { vec![] };
                assert_eq!(found, expected, "{name} of {dtype}");
            }
        }
    }
}

/// Conversions that come too late: the difference or the sum has wrapped.
#[test]
fn conversions_behind_what_wraps() {
    type Made = fn(&mut Graph, ExprId, ExprId) -> ExprId;
    let (subtract, add): (Made, Made) = (
        |graph, x, y| graph.elementwise(Op::Subtract, &[x, y], HERE),
        |graph, x, y| graph.elementwise(Op::Add, &[x, y], HERE),
    );
    let cast: fn(&mut Graph, ExprId) = |graph, x| {
        graph.cast(x, DType::F32, HERE);
    };
    let halve: fn(&mut Graph, ExprId) = |graph, x| {
        let two = graph.literal(Literal::Int(2), DType::U8, HERE);
        graph.elementwise(Op::Divide, &[x, two], HERE);
    };
    let same: fn(&mut Graph, ExprId) = |graph, x| {
        graph.cast(x, DType::U8, HERE);
    };
    for (dtype, made, then, is_wrong) in [
        (DType::U8, subtract, cast, true),
        (DType::U8, subtract, halve, true),
        (DType::U16, subtract, cast, true),
        (DType::U8, add, halve, true),
        (DType::I8, add, halve, true),
        (DType::U8, subtract, same, false),
        // Times and counts, which are known to grow.
        (DType::U32, subtract, cast, false),
        (DType::I8, subtract, cast, false),
        (DType::F16, add, halve, false),
        (DType::U8, add, cast, false),
    ] {
        let found = warned(|graph| {
            let (x, y) = (input(graph, "x", dtype, &[4]), input(graph, "y", dtype, &[4]));
            let made = made(graph, x, y);
            then(graph, made);
        });
        assert_eq!(found, if is_wrong { vec!["L003!"] } else { vec![] }, "{dtype}");
    }
    // The distance from the least element, and to the greatest one of the dtype.
    let fits = warned(|graph| {
        let x = input(graph, "x", DType::U8, &[4]);
        let least = graph.reduce(ReduceOp::Min, x, None, false, HERE);
        let distance = graph.elementwise(Op::Subtract, &[x, least], HERE);
        graph.cast(distance, DType::F32, HERE);
        let most = graph.literal(Literal::Int(255), DType::U8, HERE);
        let negative = graph.elementwise(Op::Subtract, &[most, x], HERE);
        graph.cast(negative, DType::F32, HERE);
    });
    assert_eq!(fits, Vec::<String>::new());
}

#[test]
fn reductions_that_meet_another_axis() {
    // The shape, the reduced axes, whether they are kept, and whether that is warned of.
    let cases: &[(&[i64], &[i64], bool, bool)] = &[
        (&[3, 3], &[1], false, true),
        (&[3, 3], &[0], false, false),
        (&[3, 3], &[1], true, false),
        (&[3, 3], &[0, 1], false, false),
        (&[4, 4, 4], &[1], false, true),
        (&[4, 4, 4], &[0], false, false),
        (&[4, 4, 4], &[0, 1], false, false),
        (&[4, 4, 4], &[0, 2], false, true),
        (&[4, 4, 4], &[2], false, true),
    ];
    for (sizes, axes, keepdims, expected) in cases {
        let expected = if *expected { vec!["L004!"] } else { vec![] };
        let mean = warned(|graph| {
            let x = input(graph, "x", DType::F32, sizes);
            let mean = graph.reduce(ReduceOp::Mean, x, Some(axes), *keepdims, HERE);
            graph.elementwise(Op::Subtract, &[x, mean], HERE);
        });
        assert_eq!(mean, expected, "{sizes:?} {axes:?}");
        let deviation = warned(|graph| {
            let x = input(graph, "x", DType::F32, sizes);
            let deviation = graph.std(x, Some(axes), 0.0, *keepdims, HERE);
            graph.elementwise(Op::Divide, &[x, deviation], HERE);
        });
        assert_eq!(deviation, expected, "{sizes:?} {axes:?}");
        for numbers in [false, true] {
            let median = warned(|graph| {
                let x = input(graph, "x", DType::F32, sizes);
                let median = graph.median(x, Some(axes), numbers, *keepdims, HERE);
                graph.elementwise(Op::Subtract, &[x, median], HERE);
            });
            assert_eq!(median, expected, "{sizes:?} {axes:?}");
        }
    }
    // A reduction of something else.
    let other = warned(|graph| {
        let (x, y) = (input(graph, "x", DType::F32, &[3, 3]), input(graph, "y", DType::F32, &[3, 3]));
        let mean = graph.reduce(ReduceOp::Mean, y, Some(&[1]), false, HERE);
        graph.elementwise(Op::Subtract, &[x, mean], HERE);
    });
    assert_eq!(other, Vec::<String>::new());
}

#[test]
fn columns_that_meet_rows() {
    let column = warned(|graph| {
        let (p, t) = (input(graph, "p", DType::F32, &[5, 1]), input(graph, "t", DType::F32, &[5]));
        graph.elementwise(Op::Subtract, &[p, t], HERE);
    });
    assert_eq!(column, ["L001!"]);
    // A table of all pairs, which the program asks for.
    let pairs = warned(|graph| {
        let x = input(graph, "x", DType::F32, &[5]);
        let column = graph.expand_dims(x, &[1], HERE);
        graph.elementwise(Op::Subtract, &[column, x], HERE);
    });
    assert_eq!(pairs, ["L001"]);
}

#[test]
fn derivatives_by_what_a_loss_does_not_read() {
    let unread = warned(|graph| {
        let (x, y) = (input(graph, "x", DType::F32, &[3]), input(graph, "y", DType::F32, &[3]));
        let loss = graph.reduce(ReduceOp::Sum, x, None, false, HERE);
        graph.grad(loss, &[x, y], HERE);
    });
    assert_eq!(unread, ["L005!"]);
}
