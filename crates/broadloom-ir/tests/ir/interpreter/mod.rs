//! The interpreter against values that are known otherwise: worked out by hand, printed by NumPy 2.4, or computed
//! in the test in another way.

mod chunks;
mod composed;
mod inputs;
mod order;
mod products;

use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Element, Scalar};
use broadloom_ir::graph::{CheckedGraph, Graph, Site, SliceSpec};
use broadloom_ir::interp::{Array, InterpretError, interpret};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;

/// Sizes as they are written, e.g. `"n 3"`.
fn shape(graph: &mut Graph, dims: &str) -> Shape {
    dims.split_whitespace()
        .map(|dim| match dim.parse() {
            Ok(constant) => Dim::constant(constant),
            Err(_) => Dim::symbol(graph.symbol(dim, Site::caller())),
        })
        .collect()
}

fn input(graph: &mut Graph, name: &str, dtype: DType, dims: &str) -> ExprId {
    let shape = shape(graph, dims);
    graph.input(name, dtype, shape, Site::caller())
}

fn checked(graph: &Graph, output: ExprId) -> CheckedGraph {
    graph.finish(&[("output", output)]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

/// Inputs `a`, `b`, .. with these declared sizes and arrays, an expression of them, and what it gives.
fn evaluate(
    inputs: &[(&str, Array)],
    fused: bool,
    build: impl FnOnce(&mut Graph, &[ExprId]) -> ExprId,
) -> Result<Array, InterpretError> {
    let mut graph = Graph::new();
    let exprs: Vec<ExprId> = inputs
        .iter()
        .zip(["a", "b", "c"])
        .map(|((dims, array), name)| input(&mut graph, name, array.dtype, dims))
        .collect();
    let output = build(&mut graph, &exprs);
    let arrays: Vec<Array> = inputs.iter().map(|(_, array)| array.clone()).collect();
    interpret(&checked(&graph, output), &arrays, fused).map(|mut outputs| outputs.remove(0))
}

fn expect<T: Element>(result: Result<Array, InterpretError>, dims: &[usize], elements: &[T]) {
    assert_same(&result.unwrap(), &Array::new(dims, elements));
}

/// Bit for bit, all NaNs equal.
#[track_caller]
fn assert_same(found: &Array, expected: &Array) {
    let same = |(found, expected): (&Scalar, &Scalar)| found.same(*expected);
    let all = found.elements.iter().zip(&expected.elements).all(same);
    assert!(
        all && (found.dtype, &found.shape, found.elements.len())
            == (expected.dtype, &expected.shape, expected.elements.len()),
        "found {found:?}\nexpected {expected:?}"
    );
}

fn here() -> Site {
    Site::caller()
}

fn elementwise(op: Op) -> impl FnOnce(&mut Graph, &[ExprId]) -> ExprId {
    move |graph, operands| graph.elementwise(op, operands, here())
}

fn reduction(op: ReduceOp, axes: &[i64], keepdims: bool) -> impl FnOnce(&mut Graph, &[ExprId]) -> ExprId {
    move |graph, operands| graph.reduce(op, operands[0], Some(axes), keepdims, here())
}

/// 0, 1, 2, .. as NumPy's `arange(..).reshape(..)`.
fn arange(dims: &[usize]) -> Array {
    let count = dims.iter().product::<usize>();
    Array::new(dims, &(0..count as i64).collect::<Vec<_>>())
}

/// Numbers of all magnitudes between 1/16 and 16 and both signs, so that every rounding shows.
fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..count)
        .map(|_| {
            let (fraction, exponent, sign) = (next() as f64 / (1_u64 << 31) as f64, next() % 8, next() % 2);
            (1.0 + fraction) * 2_f64.powi(exponent as i32 - 4) * if sign == 0 { 1.0 } else { -1.0 }
        })
        .collect()
}

#[test]
fn operands_broadcast() {
    for (left, left_shape, right, right_shape, want) in [
        ("", &[][..], "", &[][..], &[][..]),
        ("3", &[3], "", &[], &[3]),
        ("1", &[1], "3", &[3], &[3]),
        ("2 3", &[2, 3], "3", &[3], &[2, 3]),
        ("2 1", &[2, 1], "3", &[3], &[2, 3]),
        ("2 1 4", &[2, 1, 4], "3 1", &[3, 1], &[2, 3, 4]),
        ("n 3", &[4, 3], "n 1", &[4, 1], &[4, 3]),
        ("n 3", &[1, 3], "n 1", &[1, 1], &[1, 3]),
        ("n 3", &[0, 3], "n 1", &[0, 1], &[0, 3]),
        ("1", &[1], "0", &[0], &[0]),
        ("1 n", &[1, 0], "m 1", &[3, 1], &[3, 0]),
        ("0 1", &[0, 1], "1 2", &[1, 2], &[0, 2]),
        ("1 1", &[1, 1], "n m", &[0, 0], &[0, 0]),
    ] {
        let (a, b) = (arange(left_shape), arange(right_shape));
        // Independent of any walk: each index of the result is taken apart, and a size of 1 reads element 0.
        let read = |shape: &[usize], mut position: usize| {
            let (mut index, mut step) = (0, 1);
            for (axis, size) in want.iter().enumerate().rev() {
                let along = position % size;
                position /= size;
                if let Some(own) = (axis + shape.len()).checked_sub(want.len()) {
                    index += if shape[own] == 1 { 0 } else { along * step };
                    step *= shape[own];
                }
            }
            index as i64
        };
        let count = want.iter().product();
        let sums: Vec<i64> = (0..count).map(|i| 100 * read(left_shape, i) + read(right_shape, i)).collect();
        let found = evaluate(&[(left, a), (right, b)], false, |graph, operands| {
            let hundred = graph.constant(Scalar::I64(100), here());
            let left = graph.elementwise(Op::Multiply, &[operands[0], hundred], here());
            graph.elementwise(Op::Add, &[left, operands[1]], here())
        });
        expect(found, want, &sums);
    }
}

#[test]
fn integers_wrap_and_casts_saturate() {
    let binary = |op, a: Array, b: Array| evaluate(&[("n", a), ("n", b)], false, elementwise(op));
    let unary = |op, a: Array| evaluate(&[("n", a)], false, elementwise(op));
    let cast = |a: Array, to| evaluate(&[("n", a)], false, |graph, x| graph.cast(x[0], to, here()));

    expect(binary(Op::Add, Array::new(&[1], &[250_u8]), Array::new(&[1], &[10_u8])), &[1], &[4_u8]);
    expect(
        binary(Op::Pow, Array::new(&[2], &[3, -2]), Array::new(&[2], &[21, 3])),
        &[2],
        &[1_870_418_611, -8],
    );
    expect(binary(Op::Divide, Array::new(&[1], &[1_u8]), Array::new(&[1], &[4_u8])), &[1], &[0.25]);
    expect(binary(Op::Add, Array::new(&[1], &[1_i32]), Array::new(&[1], &[0.5_f32])), &[1], &[1.5_f64]);
    expect(
        binary(Op::Less, Array::new(&[2], &[1.0, f64::NAN]), Array::new(&[2], &[2.0, 0.0])),
        &[2],
        &[true, false],
    );
    expect(unary(Op::Negative, Array::new(&[1], &[i32::MIN])), &[1], &[i32::MIN]);
    expect(unary(Op::Abs, Array::new(&[1], &[i64::MIN])), &[1], &[i64::MIN]);
    expect(unary(Op::Round, Array::new(&[4], &[0.5, 1.5, 2.5, -0.5])), &[4], &[0.0, 2.0, 2.0, -0.0]);

    expect(cast(Array::new(&[3], &[-3, 300, (1_i64 << 40) + 7]), DType::U8), &[3], &[253_u8, 44, 7]);
    let floats = Array::new(&[6], &[f64::NAN, -1.5, 1e300, -1e300, 255.9, -0.0]);
    expect(cast(floats.clone(), DType::U8), &[6], &[0_u8, 0, 255, 0, 255, 0]);
    expect(cast(floats.clone(), DType::I32), &[6], &[0, -1, i32::MAX, i32::MIN, 255, 0]);
    expect(cast(floats.clone(), DType::Bool), &[6], &[true, true, true, true, true, false]);
    expect(cast(floats, DType::F32), &[6], &[f32::NAN, -1.5, f32::INFINITY, f32::NEG_INFINITY, 255.9, -0.0]);
}

#[test]
fn select_takes_sides() {
    let condition = Array::new(&[2, 1], &[true, false]);
    let found = evaluate(
        &[("n 1", condition), ("3", Array::new(&[3], &[1.0, f64::NAN, 3.0])), ("", Array::new(&[], &[9.0]))],
        false,
        |graph, x| graph.select(x[0], x[1], x[2], here()),
    );
    expect(found, &[2, 3], &[1.0, f64::NAN, 3.0, 9.0, 9.0, 9.0]);
}

#[test]
fn views_are_numpys() {
    let cube = || [("2 3 4", arange(&[2, 3, 4]))];
    let range = |start: Option<i64>, stop: Option<i64>, step| SliceSpec::Range {
        start: start.map(Dim::constant),
        stop: stop.map(Dim::constant),
        step,
    };
    let slice =
        |specs: Vec<SliceSpec>| evaluate(&cube(), false, |graph, x| graph.slice(x[0], &specs, here()));

    // Printed by NumPy for a = arange(24).reshape(2, 3, 4).
    let found = slice(vec![range(Some(1), None, 1), range(None, None, -1), range(None, None, 2)]);
    expect(found, &[1, 3, 2], &[20_i64, 22, 16, 18, 12, 14]);
    let found = slice(vec![SliceSpec::All, SliceSpec::At(Dim::constant(2)), range(None, None, -2)]);
    expect(found, &[2, 2], &[11_i64, 9, 23, 21]);
    let found = slice(vec![SliceSpec::All, SliceSpec::All, SliceSpec::At(Dim::constant(-1))]);
    expect(found, &[2, 3], &[3_i64, 7, 11, 15, 19, 23]);
    let found = slice(vec![range(None, None, -1), SliceSpec::NewAxis, range(Some(1), Some(1), 1)]);
    expect::<i64>(found, &[2, 1, 0, 4], &[]);

    let found = evaluate(&cube(), false, |graph, x| {
        let moved = graph.permute_dims(x[0], &[2, 0, 1], here());
        let flat = graph.reshape(moved, &[Some(Dim::constant(4)), None], here());
        graph.slice(flat, &[SliceSpec::At(Dim::ONE)], here())
    });
    expect(found, &[6], &[1_i64, 5, 9, 13, 17, 21]);

    let found = evaluate(&[("3", arange(&[3]))], false, |graph, x| {
        let column = graph.expand_dims(x[0], &[0, 2], here());
        let target = shape(graph, "2 3 2");
        graph.broadcast_to(column, target, here())
    });
    expect(found, &[2, 3, 2], &[0_i64, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);

    let found =
        evaluate(&[("1 n 1", arange(&[1, 2, 1]))], false, |graph, x| graph.squeeze(x[0], &[0, -1], here()));
    expect(found, &[2], &[0_i64, 1]);
}

#[test]
fn views_of_symbolic_sizes_at_every_small_value() {
    for n in 0..6_usize {
        // x[::2], x[::-1] and the flattened (n, 2), of which the sizes are formulas of n.
        let half = SliceSpec::Range { start: None, stop: None, step: 2 };
        let found = evaluate(&[("n", arange(&[n]))], false, |graph, x| graph.slice(x[0], &[half], here()));
        expect(found, &[n.div_ceil(2)], &(0..n as i64).step_by(2).collect::<Vec<_>>());

        let flip = SliceSpec::Range { start: None, stop: None, step: -1 };
        let found = evaluate(&[("n", arange(&[n]))], false, |graph, x| graph.slice(x[0], &[flip], here()));
        expect(found, &[n], &(0..n as i64).rev().collect::<Vec<_>>());

        let found =
            evaluate(&[("n 2", arange(&[n, 2]))], false, |graph, x| graph.reshape(x[0], &[None], here()));
        expect(found, &[2 * n], &(0..2 * n as i64).collect::<Vec<_>>());

        let found = evaluate(&[("n", arange(&[n]))], false, |graph, x| {
            let length = graph.shape(x[0])[0].clone();
            graph.iota(length, here())
        });
        expect(found, &[n], &(0..n as i64).collect::<Vec<_>>());
    }
}

#[test]
fn take_counts_from_both_ends() {
    let take = |table: Array, dims: &'static str, indices: Array, along: &'static str, axis| {
        evaluate(&[(dims, table), (along, indices)], false, move |graph, x| {
            graph.take(x[0], x[1], axis, here())
        })
    };
    let cube = || arange(&[2, 3, 4]);
    // Printed by NumPy: take(arange(24).reshape(2, 3, 4), [[-1, 0], [2, 2]], axis=1).
    let rows = [8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11];
    let want: Vec<i64> = rows.into_iter().chain(rows.map(|row| row + 12)).collect();
    let indices = Array::new(&[2, 2], &[-1_i64, 0, 2, 2]);
    expect(take(cube(), "2 3 4", indices, "k 2", 1), &[2, 2, 2, 4], &want);
    expect(take(arange(&[3]), "n", Array::new(&[], &[-3_i64]), "", 0), &[], &[0_i64]);
    expect::<i64>(take(arange(&[0]), "n", Array::new::<i64>(&[0], &[]), "m", 0), &[0], &[]);
    expect::<i64>(take(arange(&[2, 0]), "2 n", Array::new(&[1], &[1_i64]), "m", 0), &[1, 0], &[]);

    for (table, indices, want) in [
        (arange(&[3]), vec![0, 3, -9], (1, 3, 3)),
        (arange(&[3]), vec![-4, 3], (0, -4, 3)),
        (arange(&[0]), vec![0], (0, 0, 0)),
        (arange(&[3]), vec![2, i64::MIN], (1, i64::MIN, 3)),
    ] {
        let error = take(table, "n", Array::new(&[indices.len()], &indices), "m", 0).unwrap_err();
        let InterpretError::Index { position, value, size, .. } = error else { panic!("{error:?}") };
        assert_eq!((position, value, size), want);
    }
}

#[test]
fn negative_exponents_are_reported_at_the_first_position_of_the_earliest_node() {
    let error = evaluate(
        &[("2 1", Array::new(&[2, 1], &[2, 3])), ("3", Array::new(&[3], &[1, -1, -2]))],
        false,
        |graph, x| {
            let power = graph.elementwise(Op::Pow, &[x[0], x[1]], here());
            graph.take(power, power, 0, here())
        },
    );
    let Err(InterpretError::NegativeExponent { expr, position: 1, value: -1 }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(expr.to_string(), "%2");
}

#[test]
fn reductions_of_integers_and_bools_are_numpys() {
    let reduce = |dims, array, op, axes: &[i64], keepdims| {
        evaluate(&[(dims, array)], false, reduction(op, axes, keepdims))
    };
    let cube = || arange(&[2, 3, 4]);
    // Printed by NumPy.
    expect(reduce("2 3 4", cube(), ReduceOp::Sum, &[0, 2], false), &[3], &[60_i64, 92, 124]);
    expect(reduce("2 3 4", cube(), ReduceOp::Mean, &[0, -1], false), &[3], &[7.5, 11.5, 15.5]);
    expect(reduce("2 3 4", cube(), ReduceOp::Max, &[1, 2], true), &[2, 1, 1], &[11_i64, 23]);
    expect(reduce("n", Array::new(&[3], &[1, 2, 4]), ReduceOp::Mean, &[0], false), &[], &[7.0 / 3.0]);
    expect(reduce("n", Array::new(&[2], &[i32::MAX, 1]), ReduceOp::Sum, &[0], false), &[], &[1_i64 << 31]);
    expect(reduce("n", Array::new(&[2], &[true, true]), ReduceOp::Sum, &[0], false), &[], &[2_i64]);
    expect(reduce("n", Array::new(&[2], &[200_u8, 2]), ReduceOp::Prod, &[0], false), &[], &[400_u64]);
    expect(reduce("n", Array::new(&[2], &[i64::MAX, 1]), ReduceOp::Sum, &[0], false), &[], &[i64::MIN]);
    expect(reduce("n", Array::new(&[2], &[true, false]), ReduceOp::Min, &[0], false), &[], &[false]);
    expect(reduce("n", Array::new(&[3], &[false, true, true]), ReduceOp::ArgMax, &[0], false), &[], &[1_i64]);
}

#[test]
fn signed_zeros_and_empty_axes() {
    let reduce = |dims, array, op| evaluate(&[(dims, array)], false, reduction(op, &[-1], false));
    // NumPy's sum of negative zeros is +0 as well.
    for elements in [&[-0.0, -0.0][..], &[-0.0, 0.0], &[-0.0], &[], &[-0.0; 70]] {
        let array = Array::new(&[elements.len()], elements);
        expect(reduce("n", array, ReduceOp::Sum), &[], &[0.0]);
    }
    let empty = || Array::new::<f32>(&[2, 0], &[]);
    expect(reduce("m n", empty(), ReduceOp::Sum), &[2], &[0.0_f32, 0.0]);
    expect(reduce("m n", empty(), ReduceOp::Prod), &[2], &[1.0_f32, 1.0]);
    expect(reduce("m n", empty(), ReduceOp::Mean), &[2], &[f32::NAN, f32::NAN]);
    expect::<f32>(reduce("m n", Array::new::<f32>(&[0, 2], &[]), ReduceOp::Mean), &[0], &[]);
    expect(reduce("n", Array::new::<u8>(&[0], &[]), ReduceOp::Sum), &[], &[0_u64]);
    expect(reduce("n", Array::new::<i32>(&[0], &[]), ReduceOp::Mean), &[], &[f64::NAN]);
    for op in [ReduceOp::Min, ReduceOp::Max, ReduceOp::ArgMin, ReduceOp::ArgMax] {
        let error = reduce("m n", empty(), op);
        assert!(matches!(error, Err(InterpretError::Obligation { value: -1, .. })), "{error:?}");
    }
    expect(reduce("n", Array::new(&[2], &[0.0, -0.0]), ReduceOp::Min), &[], &[-0.0]);
    expect(reduce("n", Array::new(&[2], &[-0.0, 0.0]), ReduceOp::Max), &[], &[0.0]);
}

#[test]
fn arg_reductions_give_the_first_and_prefer_nan() {
    let reduce =
        |dims, array, op, axes: &[i64]| evaluate(&[(dims, array)], false, reduction(op, axes, false));
    let table = || Array::new(&[2, 3], &[3.0, 1.0, f64::NAN, f64::NAN, 0.0, 5.0]);
    // Printed by NumPy, which compares zeros as equal here too.
    expect(reduce("n 3", table(), ReduceOp::ArgMin, &[0]), &[3], &[1_i64, 1, 0]);
    expect(reduce("n 3", table(), ReduceOp::ArgMin, &[1]), &[2], &[2_i64, 0]);
    expect(reduce("n 3", table(), ReduceOp::ArgMax, &[0, 1]), &[], &[2_i64]);
    expect(reduce("n 3", table(), ReduceOp::Min, &[1]), &[2], &[f64::NAN, f64::NAN]);
    expect(reduce("n", Array::new(&[2], &[0.0, -0.0]), ReduceOp::ArgMin, &[0]), &[], &[0_i64]);
    expect(reduce("n 2", Array::new(&[2, 2], &[1, 7, 7, 2]), ReduceOp::ArgMax, &[0, 1]), &[], &[1_i64]);
    // Over axes 0 and 2 of a 2 x 2 x 3 array the index counts 0 1 2 | 3 4 5.
    let cube = Array::new(&[2, 2, 3], &[5, 4, 9, 1, 1, 2, 4, 3, 9, 0, 7, 0]);
    expect(reduce("2 2 3", cube, ReduceOp::ArgMin, &[0, 2]), &[2], &[4_i64, 3]);
}

#[test]
fn large_results_are_refused() {
    let zeros = |n: usize| vec![0_u8; n];
    let found = evaluate(
        &[
            ("n 1", Array::new(&[100_000, 1], &zeros(100_000))),
            ("m", Array::new(&[100_000], &zeros(100_000))),
        ],
        false,
        elementwise(Op::Add),
    );
    assert!(matches!(found, Err(InterpretError::TooLarge { .. })), "{found:?}");
    // Sizes whose product overflows are fine where one of them is zero.
    let huge = Array::new::<f32>(&[1 << 40, 0, 1 << 40], &[]);
    let found = evaluate(&[("n 0 m", huge)], false, reduction(ReduceOp::Mean, &[2], false));
    expect::<f32>(found, &[1 << 40, 0], &[]);
}

#[test]
fn deep_graphs_do_not_exhaust_the_stack() {
    let found = evaluate(&[("n", Array::new(&[1], &[1_i64]))], false, |graph, x| {
        (0..100_000).fold(x[0], |sum, _| graph.elementwise(Op::Add, &[sum, x[0]], here()))
    });
    expect(found, &[1], &[100_001_i64]);
}

#[test]
fn outputs_share_and_keep_their_arrays() {
    let mut graph = Graph::new();
    let a = input(&mut graph, "a", DType::I32, "n");
    input(&mut graph, "unused", DType::F32, "n");
    let twice = graph.elementwise(Op::Add, &[a, a], here());
    let four = graph.elementwise(Op::Add, &[twice, twice], here());
    let outputs = [("four", four), ("a", a), ("twice", twice), ("again", four)];
    let graph = graph.finish(&outputs).unwrap();
    let arrays = [Array::new(&[2], &[1, 2]), Array::new(&[2], &[0.0_f32, 0.0])];
    let found = interpret(&graph, &arrays, true).unwrap();
    let found: Vec<_> = found.iter().map(|array| array.to_vec::<i32>().unwrap()).collect();
    assert_eq!(found, [[4, 8], [1, 2], [2, 4], [4, 8]]);
    assert_eq!(arrays[1].to_vec::<i32>(), None);
}
