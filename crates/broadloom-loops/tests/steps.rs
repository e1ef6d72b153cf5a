//! Kernels that take many steps of a loop, made of those that make one.

use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, Site, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_loops::kernel::{AxisId, Def, Schedule, Stmt, Value};
use broadloom_loops::steps::{StepArray, Steps, steps};
use broadloom_loops::{Fault, LowerOptions, lower, verify};

#[track_caller]
fn here() -> Site {
    Site::caller()
}

/// A step: of `u`, which it changes, the counter `t`, the row `x` and the array `c`, and what it stacks.
type Body = fn(&mut Graph, [ExprId; 4]) -> (ExprId, Vec<(&'static str, ExprId)>);

fn of_step(body: Body) -> (Schedule, Option<Steps>) {
    let mut graph = Graph::new();
    let n = Dim::symbol(graph.symbol("n", here()));
    let shape = Shape::from_iter([n]);
    let [u, x, c] = ["u", "x", "c"].map(|name| graph.input(name, DType::F64, shape.clone(), here()));
    let t = graph.input("t", DType::I64, Shape::from_iter([]), here());
    let (value, outputs) = body(&mut graph, [u, t, x, c]);
    graph.assign(u, value, here());
    let graph = graph.finish(&outputs).unwrap();
    let schedule = lower(&graph, &LowerOptions::dense(&graph, true)).unwrap();
    let array = |name: &str| match name {
        "u" => StepArray::Carried(0),
        "x" => StepArray::Row,
        "t" => StepArray::Counter,
        _ => StepArray::Fixed,
    };
    let inputs: Vec<StepArray> = graph.inputs().iter().map(|input| array(&input.name)).collect();
    let outputs: Vec<StepArray> = graph
        .outputs()
        .iter()
        .map(|output| if output.assigned.is_some() { StepArray::Carried(0) } else { StepArray::Row })
        .collect();
    let made = steps(&schedule, &inputs, &outputs).unwrap();
    (schedule, made)
}

fn op(g: &mut Graph, op: Op, args: &[ExprId]) -> ExprId {
    g.elementwise(op, args, here())
}

/// `u * u + c`: nothing else changes from step to step.
fn alone(g: &mut Graph, [u, _, _, c]: [ExprId; 4]) -> (ExprId, Vec<(&'static str, ExprId)>) {
    let square = op(g, Op::Multiply, &[u, u]);
    (op(g, Op::Add, &[square, c]), Vec::new())
}

/// `u * c + x + t`, which is stacked as well.
fn by_rows(g: &mut Graph, [u, t, x, c]: [ExprId; 4]) -> (ExprId, Vec<(&'static str, ExprId)>) {
    let t = g.cast(t, DType::F64, here());
    let scaled = op(g, Op::Multiply, &[u, c]);
    let moved = op(g, Op::Add, &[scaled, x]);
    let next = op(g, Op::Add, &[moved, t]);
    (next, vec![("all", next)])
}

#[test]
fn steps_are_a_loop_inside_of_the_vector_loop() {
    let (_, alone) = of_step(alone);
    insta::assert_snapshot!("steps_alone", alone.unwrap().schedule);
    let (_, by_rows) = of_step(by_rows);
    let by_rows = by_rows.unwrap();
    insta::assert_snapshot!("steps_by_rows", by_rows.schedule);
    let names = by_rows.rows.iter().map(|array| &*by_rows.schedule.buffers[array.index()].name);
    assert_eq!(names.collect::<Vec<_>>(), ["x", "all"]);
}

#[test]
fn steps_that_see_other_elements_have_no_such_loop() {
    let bodies: [(&str, Body); 4] = [
        ("a reduction", |g, [u, _, _, c]| {
            let sum = g.reduce(ReduceOp::Sum, c, None, true, here());
            (op(g, Op::Add, &[u, sum]), Vec::new())
        }),
        ("a softmax of what is carried", |g, [u, ..]| (g.softmax(u, None, here()), Vec::new())),
        ("neighbours", |g, [u, ..]| {
            let reversed = SliceSpec::Range { start: None, stop: None, step: -1 };
            (g.slice(u, &[reversed], here()), Vec::new())
        }),
        ("an element that data choose", |g, [u, t, ..]| (g.take(u, t, 0, here()), Vec::new())),
    ];
    for (what, body) in bodies {
        let (schedule, made) = of_step(body);
        assert!(made.is_none(), "{what}: {schedule}");
    }
}

/// Breaks the loop over steps of a schedule.
fn broken(body: Body, break_it: impl Fn(&mut broadloom_loops::kernel::Kernel, &mut Vec<Stmt>)) -> Fault {
    let mut schedule = of_step(body).1.unwrap().schedule;
    assert_eq!(verify(&schedule), Ok(()));
    let mut kernel = schedule.kernels.remove(0);
    let mut outer = std::mem::take(&mut kernel.body);
    let [Stmt::For { body, .. }] = outer.as_mut_slice() else { panic!("a loop over elements") };
    break_it(&mut kernel, body);
    kernel.body = outer;
    schedule.kernels.push(kernel);
    verify(&schedule).unwrap_err().fault
}

fn repeat(body: &mut [Stmt]) -> &mut broadloom_loops::kernel::Repeat {
    let repeat = body.iter_mut().find_map(|stmt| match stmt {
        Stmt::Repeat(repeat) => Some(repeat),
        _ => None,
    });
    repeat.unwrap()
}

#[test]
fn broken_steps_are_found() {
    let unsettled = broken(by_rows, |_, body| repeat(body).settles = true);
    assert!(matches!(unsettled, Fault::Form(_)), "rows change from step to step: {unsettled}");
    let late = broken(alone, |_, body| {
        let carried = &mut repeat(body).carried[0];
        carried.initial = carried.before;
    });
    assert!(matches!(late, Fault::Undefined(_)), "it begins with what a step has: {late}");
    let outside = broken(alone, |_, body| {
        let carried = &mut repeat(body).carried[0];
        carried.last = carried.before;
    });
    assert!(matches!(outside, Fault::Twice(_)), "it ends with what a step has: {outside}");
    let narrow = broken(alone, |kernel, body| {
        let carried = repeat(body).carried[0];
        kernel.values[carried.before.index()].dtype = DType::F32;
    });
    assert!(matches!(narrow, Fault::Dtype(_)), "another dtype passes: {narrow}");
    let computed = broken(alone, |kernel, body| {
        let carried = repeat(body).carried[0];
        kernel.values[carried.last.index()].def = Def::Index(AxisId::new(0));
    });
    assert!(matches!(computed, Fault::Dtype(_)), "nothing passes: {computed}");
    let nested = broken(alone, |_, body| {
        let repeat = repeat(body);
        let inside = repeat.body.clone();
        repeat.body.push(Stmt::For { axis: repeat.axis, lanes: 1, body: inside });
    });
    assert!(matches!(nested, Fault::Form(_)), "a loop in a step: {nested}");
    let counted = broken(alone, |kernel, body| {
        let (repeat, first) = (repeat(body), kernel.values[0].clone());
        let index = broadloom_loops::kernel::ValueId::new(kernel.values.len());
        kernel.values.push(Value { dtype: DType::I64, def: Def::Index(repeat.axis), ..first });
        repeat.body.push(Stmt::Let(index));
    });
    assert!(matches!(counted, Fault::Form(_)), "the number of the step is read: {counted}");
}
