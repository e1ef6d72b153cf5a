//! When an output may be written over the input that it replaces.

use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Graph, Site, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, InputId};
use broadloom_loops::kernel::{BufferId, Def, KernelId, Role, Schedule, Stmt, ValueId};
use broadloom_loops::{Hazard, Layout, LowerOptions, in_place, lower};

#[track_caller]
fn here() -> Site {
    Site::caller()
}

/// A graph that assigns something of `x` and `y`, both `f32[n, n]`, to `x`, and has outputs.
fn graph(
    build: impl FnOnce(&mut Graph, ExprId, ExprId) -> (ExprId, Vec<(&'static str, ExprId)>),
) -> CheckedGraph {
    let mut graph = Graph::new();
    let n = Dim::symbol(graph.symbol("n", here()));
    let shape = Shape::from_iter([n.clone(), n]);
    let [x, y] = ["x", "y"].map(|name| graph.input(name, DType::F32, shape.clone(), here()));
    let (value, outputs) = build(&mut graph, x, y);
    graph.assign(x, value, here());
    graph.finish(&outputs).unwrap()
}

fn schedule(graph: &CheckedGraph) -> Schedule {
    lower(graph, &LowerOptions::dense(graph, true)).unwrap()
}

/// The index of the assignment among the outputs: the last.
fn verdict(graph: &CheckedGraph, schedule: &Schedule) -> Result<(), Hazard> {
    in_place(schedule, graph.outputs().len() - 1, InputId::new(0))
}

#[track_caller]
fn check(graph: &CheckedGraph, expected: Result<(), Hazard>) {
    let schedule = schedule(graph);
    assert_eq!(verdict(graph, &schedule), expected, "{schedule}");
}

fn first() -> KernelId {
    KernelId::new(0)
}

#[test]
fn each_element_is_read_where_it_is_written() {
    check(&graph(|g, x, y| (g.elementwise(Op::Add, &[x, y], here()), vec![])), Ok(()));
    check(&graph(|g, x, _| (g.elementwise(Op::Exp, &[x], here()), vec![])), Ok(()));
    check(&graph(|_, _, y| (y, vec![])), Ok(()));
    // Whole rows are read before they are written.
    check(&graph(|g, x, _| (g.softmax(x, Some(&[1]), here()), vec![])), Ok(()));
    // A kernel before has read what is needed of all elements.
    let centred = graph(|g, x, _| {
        let mean = g.reduce(ReduceOp::Mean, x, None, true, here());
        (g.elementwise(Op::Subtract, &[x, mean], here()), vec![])
    });
    check(&centred, Ok(()));
}

#[test]
fn other_elements_are_read() {
    check(&graph(|g, x, _| (g.permute_dims(x, &[1, 0], here()), vec![])), Err(Hazard::Elsewhere(first())));
    let reversed = SliceSpec::Range { start: None, stop: None, step: -1 };
    check(&graph(|g, x, _| (g.slice(x, &[reversed], here()), vec![])), Err(Hazard::Elsewhere(first())));
    let row = SliceSpec::Range { start: None, stop: Some(Dim::ONE), step: 1 };
    check(&graph(|g, x, _| (g.slice(x, &[row], here()), vec![])), Err(Hazard::Elsewhere(first())));
    let square = graph(|g, x, _| {
        let (left, right) = (g.expand_dims(x, &[2], here()), g.expand_dims(x, &[0], here()));
        let product = g.elementwise(Op::Multiply, &[left, right], here());
        (g.reduce(ReduceOp::Sum, product, Some(&[1]), false, here()), vec![])
    });
    let schedule = schedule(&square);
    assert!(matches!(verdict(&square, &schedule), Err(Hazard::Elsewhere(_))), "{schedule}");
}

fn rows(start: Option<i64>, stop: Option<i64>) -> SliceSpec {
    SliceSpec::Range { start: start.map(Dim::constant), stop: stop.map(Dim::constant), step: 1 }
}

#[test]
fn only_pieces_that_change_are_written() {
    let halves = graph(|g, x, y| {
        let first = g.slice(x, &[rows(None, Some(1))], here());
        let rest = g.slice(y, &[rows(Some(1), None)], here());
        (g.concat(&[first, rest], 0, here()), vec![])
    });
    check(&halves, Ok(()));
    // Every row changes, in two pieces.
    let moved = graph(|g, x, y| {
        let first = g.slice(x, &[rows(Some(1), Some(2))], here());
        let rest = g.slice(y, &[rows(Some(1), None)], here());
        (g.concat(&[first, rest], 0, here()), vec![])
    });
    check(&moved, Ok(()));
    // The second row is written before the last piece reads it.
    let turned = graph(|g, x, y| {
        let first = g.slice(y, &[rows(None, Some(2))], here());
        let rest = g.slice(x, &[rows(Some(1), Some(-1))], here());
        (g.concat(&[first, rest], 0, here()), vec![])
    });
    let schedule = schedule(&turned);
    assert!(verdict(&turned, &schedule).is_err(), "{schedule}");
}

/// What replaces a region waits in an array of its own only if elements that it is computed from are overwritten.
#[test]
fn regions_wait_for_the_reads_of_what_they_replace() {
    let column = |index: i64| [SliceSpec::All, SliceSpec::At(Dim::constant(index))];
    let row = |index: i64| [SliceSpec::At(Dim::constant(index))];
    let stores = |to: &[SliceSpec], from: &[SliceSpec], twice: bool| {
        let changed = graph(|g, x, y| {
            let value = g.slice(x, from, here());
            let outputs = if twice { vec![("old", g.elementwise(Op::Add, &[x, y], here()))] } else { vec![] };
            (g.set(x, to, value, here()), outputs)
        });
        let schedule = schedule(&changed);
        assert_eq!(verdict(&changed, &schedule), Ok(()), "{schedule}");
        schedule.buffers.iter().filter(|buffer| buffer.role == Role::Temporary).count()
    };
    for twice in [false, true] {
        assert_eq!(stores(&row(0), &row(1), twice), 0);
        assert_eq!(stores(&row(0), &row(0), twice), 0);
        assert_eq!(stores(&column(0), &column(1), twice), 0);
        assert_eq!(stores(&column(-1), &column(-2), twice), 0);
        assert_eq!(stores(&[rows(Some(1), None)], &[rows(Some(1), None)], twice), 0);
        // Rows and columns cross, and shifted rows overlap.
        assert!(stores(&row(0), &column(0), twice) > 0);
        assert!(stores(&[rows(Some(1), None)], &[rows(None, Some(-1))], twice) > 0);
        assert!(stores(&[rows(None, Some(-1))], &[rows(Some(1), None)], twice) > 0);
        // The first and the last row are the same where there is one.
        assert!(stores(&row(0), &row(-1), twice) > 0);
    }
}

#[test]
fn a_writer_comes_after_the_readers_where_it_can() {
    // Of two kernels that do not wait for each other, the one that reads all of `x` runs first.
    let apart = graph(|g, x, y| {
        let total = g.reduce(ReduceOp::Sum, x, Some(&[0]), false, here());
        (g.elementwise(Op::Add, &[x, y], here()), vec![("total", total)])
    });
    check(&apart, Ok(()));
}

#[test]
fn kernels_that_take_turns_with_the_writer_read_by_rows() {
    let in_order = |of: fn(&mut Graph, ExprId) -> ExprId| {
        graph(move |g, x, _| {
            let of = of(g, x);
            let sorted = g.sort(of, Some(1), false, here());
            (g.elementwise(Op::Negative, &[sorted], here()), vec![])
        })
    };
    let of_rows = in_order(|g, x| g.elementwise(Op::Exp, &[x], here()));
    check(&of_rows, Ok(()));
    let mut schedule = schedule(&of_rows);
    assert_eq!(schedule.bands.len(), 1, "{schedule}");
    // As if it read the element behind, which may be in the next row.
    let x = Some(BufferId::new(0));
    let of_x = schedule.kernels[0].accesses.iter_mut().filter(|access| access.buffer == x);
    of_x.for_each(|access| access.offset = Dim::ONE);
    assert_eq!(verdict(&of_rows, &schedule), Err(Hazard::Elsewhere(first())), "{schedule}");
    // A kernel that reads columns runs before the writer, for all rows.
    let of_columns = in_order(|g, x| {
        let columns = g.permute_dims(x, &[1, 0], here());
        g.elementwise(Op::Exp, &[columns], here())
    });
    check(&of_columns, Ok(()));
}

/// The innermost body that stores something.
fn storing(body: &mut Vec<Stmt>) -> Option<&mut Vec<Stmt>> {
    if body.iter().any(|stmt| matches!(stmt, Stmt::Store { .. })) {
        return Some(body);
    }
    body.iter_mut().find_map(|stmt| match stmt {
        Stmt::For { body, .. } | Stmt::Strip { body, .. } => storing(body),
        _ => None,
    })
}

#[test]
fn statements_keep_their_order() {
    let graph = graph(|g, x, y| (g.elementwise(Op::Add, &[x, y], here()), vec![]));
    let sound = schedule(&graph);
    assert_eq!(verdict(&graph, &sound), Ok(()));
    let of_x = |schedule: &Schedule| {
        let kernel = &schedule.kernels[0];
        let reads_x = |def: &Def| matches!(def, Def::Load { access, .. } if kernel.accesses[access.index()].buffer.is_some_and(|buffer| buffer.index() == 0));
        kernel.values.iter().find(|value| reads_x(&value.def)).cloned().unwrap()
    };

    // The same element once more, after it was written.
    let mut again = sound.clone();
    let value = of_x(&again);
    let id = ValueId::new(again.kernels[0].values.len());
    again.kernels[0].values.push(value);
    storing(&mut again.kernels[0].body).unwrap().push(Stmt::Let(id));
    assert_eq!(verdict(&graph, &again), Err(Hazard::Again(first())), "{again}");

    // The neighbour of the element, before it is written.
    let mut neighbour = sound.clone();
    for value in &mut neighbour.kernels[0].values {
        if let Def::Load { delta, .. } = &mut value.def {
            *delta += 1;
        }
    }
    assert_eq!(verdict(&graph, &neighbour), Err(Hazard::Elsewhere(first())), "{neighbour}");

    // A read between two stores.
    let mut between = again;
    let body = storing(&mut between.kernels[0].body).unwrap();
    let store = body.iter().find(|stmt| matches!(stmt, Stmt::Store { .. })).cloned().unwrap();
    body.push(store);
    assert_eq!(verdict(&graph, &between), Err(Hazard::Again(first())), "{between}");

    // A kernel that comes later.
    let mut later = sound;
    later.kernels.push(later.kernels[0].clone());
    let stores = storing(&mut later.kernels[1].body).unwrap();
    stores.retain(|stmt| !matches!(stmt, Stmt::Store { .. }));
    assert_eq!(verdict(&graph, &later), Err(Hazard::Later(KernelId::new(1))), "{later}");
}

#[test]
fn strides_are_compared() {
    let graph = graph(|g, x, y| (g.elementwise(Op::Add, &[x, y], here()), vec![]));
    let lowered = |input: Layout, output: Layout| {
        let mut options = LowerOptions::dense(&graph, true);
        options.inputs[0] = input;
        options.outputs[0] = output;
        lower(&graph, &options).unwrap()
    };
    let strided = |unit| Layout::Strided { unit };
    for layout in [Layout::Dense, strided(None), strided(Some(0)), strided(Some(1))] {
        assert_eq!(verdict(&graph, &lowered(layout.clone(), layout)), Ok(()));
    }
    for (input, output) in
        [(Layout::Dense, strided(None)), (strided(None), Layout::Dense), (strided(Some(0)), strided(Some(1)))]
    {
        assert_eq!(verdict(&graph, &lowered(input, output)), Err(Hazard::Elsewhere(first())));
    }
}
