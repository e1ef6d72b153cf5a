//! What is checked before anything is computed: arrays against inputs, sizes, and conditions on sizes.

use super::{arange, checked, evaluate, expect, here, input};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{Graph, SliceSpec};
use broadloom_ir::interp::{Array, InterpretError, interpret};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;

#[test]
fn inputs_are_checked() {
    let mut graph = Graph::new();
    let (a, b) = (input(&mut graph, "a", DType::F32, "n 3"), input(&mut graph, "b", DType::F32, "n 1"));
    let sum = graph.elementwise(Op::Add, &[a, b], here());
    let graph = checked(&graph, sum);

    let zeros = |shape: &[usize]| Array::new(shape, &vec![0.0_f32; shape.iter().product()]);
    let mixed = Array { elements: vec![Scalar::F32(1.0), Scalar::F64(1.0)], ..zeros(&[2, 1]) };
    for (arrays, want) in [
        (vec![], "the graph has 2 inputs, but 0 arrays were passed"),
        (vec![zeros(&[2, 3])], "the graph has 2 inputs, but 1 arrays were passed"),
        (vec![arange(&[2, 3]), zeros(&[2, 1])], "input `a` is f32, but its array is i64"),
        (vec![zeros(&[2, 3]), zeros(&[2])], "input `b` has rank 2, but its array has rank 1"),
        (
            vec![zeros(&[2, 3]), Array { shape: vec![2, 2], ..zeros(&[2]) }],
            "the array for input `b` has shape [2, 2], but 2 elements",
        ),
        (
            vec![zeros(&[2, 3]), Array { shape: vec![usize::MAX, 2], ..zeros(&[2]) }],
            &format!("the array for input `b` has shape [{}, 2], but 2 elements", usize::MAX),
        ),
        (vec![zeros(&[2, 3]), mixed], "the array for input `b` is f32, but its element 1 is f64"),
        (vec![zeros(&[2, 4]), zeros(&[2, 1])], "axis 1 of input `a` has size 4, but 3 is declared"),
        (vec![zeros(&[2, 3]), zeros(&[5, 1])], "axis 0 of input `b` has size 5, but `n` is 2"),
    ] {
        let error = interpret(&graph, &arrays, false).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
    // Such a size is no `i64`.
    let error = interpret(&graph, &[zeros(&[usize::MAX, 0]), zeros(&[2, 1])], false);
    assert!(matches!(error, Err(InterpretError::NoSolution { .. })), "{error:?}");
    let fine = interpret(&graph, &[zeros(&[0, 3]), zeros(&[0, 1])], false).unwrap();
    assert_eq!(fine, [zeros(&[0, 3])]);
}

/// Sizes are solved from formulas in whatever order they become solvable, and what is left over is checked.
#[test]
fn sizes_are_solved() {
    let mut graph = Graph::new();
    let [n, m] = ["n", "m"].map(|name| Dim::symbol(graph.symbol(name, here())));
    // The first axis needs m, which only the second gives.
    let first = n.scale(2).and_then(|twice| twice.add(&m)).unwrap();
    let product = n.mul(&m).unwrap();
    let a = graph.input("a", DType::I64, Shape::from_iter([first, m, product]), here());
    let count = graph.iota(n, here());
    let total = graph.reduce(ReduceOp::Sum, a, None, false, here());
    let both = graph.elementwise(Op::Add, &[count, total], here());
    let graph = checked(&graph, both);
    let run = |shape: &[usize]| interpret(&graph, &[arange(shape)], false);

    // 7 = 2 * 2 + 3, 6 = 2 * 3, and the numbers below 126 add to 7875.
    assert_eq!(run(&[7, 3, 6]), Ok(vec![Array::new(&[2], &[7875_i64, 7876])]));
    assert_eq!(run(&[0, 0, 0]), Ok(vec![Array::new::<i64>(&[0], &[])]));
    assert!(matches!(run(&[6, 3, 6]), Err(InterpretError::NoSolution { axis: 0, found: 6, .. })));
    assert!(matches!(run(&[1, 3, 6]), Err(InterpretError::NoSolution { axis: 0, found: 1, .. })));
    assert!(matches!(
        run(&[7, 3, 5]),
        Err(InterpretError::SizesDisagree { axis: 2, found: 5, expected: 6, .. })
    ));
}

#[test]
fn conditions_on_sizes_are_checked() {
    let tail = |n: usize| {
        evaluate(&[("n", arange(&[n]))], false, |graph, x| {
            let tail = SliceSpec::Range { start: Some(Dim::constant(2)), stop: None, step: 1 };
            graph.slice(x[0], &[tail], here())
        })
    };
    expect(tail(4), &[2], &[2_i64, 3]);
    expect::<i64>(tail(2), &[0], &[]);
    assert!(matches!(tail(1), Err(InterpretError::Obligation { value: -1, .. })), "{:?}", tail(1));
}
