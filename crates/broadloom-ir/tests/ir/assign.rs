//! Assignments: what a checked graph says of them, their meaning, and their mistakes.

use broadloom_ir::diagnostics::Diagnostics;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{CheckedGraph, Graph, Site};
use broadloom_ir::interp::{self, Array};
use broadloom_ir::ops::Op;
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, dim::Dim};

#[track_caller]
fn here() -> Site {
    Site::caller()
}

fn vector(graph: &mut Graph, name: &str, dtype: DType) -> ExprId {
    let n = graph.symbol("n", here());
    graph.input(name, dtype, Shape::from_iter([Dim::symbol(n)]), here())
}

#[test]
fn every_read_means_the_value_at_the_call() -> Result<(), Diagnostics> {
    let mut graph = Graph::new();
    let [x, y] = ["x", "y"].map(|name| vector(&mut graph, name, DType::I32));
    let before = graph.elementwise(Op::Multiply, &[x, y], here());
    assert_eq!(graph.assign(x, y, here()), y);
    graph.assign_op(Op::Add, y, x, here());
    let after = graph.elementwise(Op::Subtract, &[x, y], here());
    let checked = graph.finish(&[("before", before), ("after", after)])?;
    let names: Vec<&str> = checked.outputs().iter().map(|output| &*output.name).collect();
    assert_eq!(names, ["before", "after", "x", "y"]);
    assert_eq!(checked.results().len(), 2);
    assert!(checked.to_string().contains("assign \"y\" = "), "{checked}");
    let arrays = [Array::new(&[3], &[1, 2, 3]), Array::new(&[3], &[10, 20, 30])];
    let results = interp::interpret(&checked, &arrays, true).unwrap();
    let values: Vec<Vec<i32>> = results.iter().map(|array| array.to_vec().unwrap()).collect();
    assert_eq!(values, [[10, 40, 90], [-9, -18, -27], [10, 20, 30], [11, 22, 33]]);
    assert!(!checked.can_fail());
    Ok(())
}

#[test]
fn values_take_the_dtype_and_shape_of_their_target() -> Result<(), Diagnostics> {
    let mut graph = Graph::new();
    let x = vector(&mut graph, "x", DType::F32);
    let value = graph.constant(Scalar::I64(7), here());
    let result = graph.assign(x, value, here());
    assert_eq!((graph.dtype(result), graph.shape(result)), (DType::F32, graph.shape(x)));
    let checked = graph.finish(&[])?;
    let results = interp::interpret(&checked, &[Array::new(&[2], &[0.0f32; 2])], true).unwrap();
    assert_eq!(results, [Array::new(&[2], &[7.0f32; 2])]);
    Ok(())
}

/// NumPy's `can_cast(value, target, "same_kind")`: a row per dtype of the value, a column per dtype of the target, in
/// the order of the table of dtypes.
const SAME_KIND: &[&str] = &[
    "1111111111111",
    "0111100001111",
    "0111100001111",
    "0111100001111",
    "0111100001111",
    "0111111111111",
    "0111111111111",
    "0111111111111",
    "0111111111111",
    "0000000001111",
    "0000000001111",
    "0000000001111",
    "0000000001111",
];

#[test]
fn conversions_within_the_kind() {
    assert_eq!(SAME_KIND.len(), DType::ALL.len());
    for (value, row) in DType::ALL.iter().zip(SAME_KIND) {
        assert_eq!(row.len(), DType::ALL.len());
        for (target, allowed) in DType::ALL.iter().zip(row.chars()) {
            let mut graph = Graph::new();
            let x = vector(&mut graph, "x", *target);
            let y = vector(&mut graph, "y", *value);
            let result = graph.assign(x, y, here());
            assert_eq!(graph.is_poisoned(result), allowed == '0', "{value} to {target}");
            let code = graph.mistakes().first().map(|mistake| mistake.code().as_str());
            assert_eq!(code, (allowed == '0').then_some("T005"), "{value} to {target}");
        }
    }
}

/// A graph with one op on `x` and an integer tensor or constant.
fn fails(build: impl Fn(&mut Graph, ExprId, ExprId) -> ExprId) -> bool {
    let mut graph = Graph::new();
    let [x, i] = ["x", "i"].map(|name| vector(&mut graph, name, DType::I64));
    let result = build(&mut graph, x, i);
    let checked: CheckedGraph = graph.finish(&[("y", result)]).unwrap();
    checked.can_fail()
}

#[test]
fn graphs_that_can_fail_on_data() {
    assert!(fails(|graph, x, i| graph.take(x, i, 0, here())));
    assert!(fails(|graph, _, i| graph.segment_count(i, Dim::constant(3), here())));
    assert!(fails(|graph, x, i| graph.elementwise(Op::Pow, &[x, i], here())));
    assert!(!fails(|graph, x, _| {
        let three = graph.constant(Scalar::I64(3), here());
        graph.elementwise(Op::Pow, &[x, three], here())
    }));
    assert!(!fails(|graph, x, i| graph.elementwise(Op::FloorDivide, &[x, i], here())));
    assert!(!fails(|graph, x, i| {
        let [x, i] = [x, i].map(|x| graph.cast(x, DType::F32, here()));
        graph.elementwise(Op::Pow, &[x, i], here())
    }));
}

/// Sample 5 of the design.
#[test]
fn a_target_does_not_grow() {
    let mut graph = Graph::new();
    let constant = |sizes: &[i64]| sizes.iter().map(|size| Dim::constant(*size)).collect::<Shape>();
    let x = graph.input("x", DType::F32, constant(&[1, 3, 1]), here());
    let y = graph.input("y", DType::F32, constant(&[3, 1, 7]), here());
    let result = graph.assign_op(Op::Add, x, y, here());
    assert!(graph.is_poisoned(result) && graph.assignments().is_empty());
    let text = format!("{:#}", graph.diagnostics()[0]);
    for line in [
        "error[S003]: `add_` cannot write its result into \"x\": axis 0 would grow from 1 to 3",
        "axis          0   1   2",
        "x      f32 [  1   3   1 ]   input \"x\", the target",
        "y      f32 [  3   1   7 ]   input \"y\"",
        "result     [  3   3   7 ]   the result to write\n",
        "              ^       ^ the target does not stretch",
        "help: to make a new tensor instead:   let x = x + y;",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
