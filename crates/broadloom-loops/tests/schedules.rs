//! The loops of well-known expressions, as snapshots, and that every schedule keeps its promises.

#[path = "../../../tests/cases/expressions.rs"]
mod expressions;

use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, Site};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_loops::kernel::{Assumption, Buffer, BufferId, Kernel, Role, Schedule, Specialisation};
use broadloom_loops::{IndexWidth, Layout, LowerOptions, Target, lower, verify};

#[test]
fn loops_of_well_known_expressions() {
    for (name, build) in cases() {
        let graph = expressions::graph(*build);
        let schedule = lower(&graph, &LowerOptions::dense(&graph, true)).unwrap();
        insta::assert_snapshot!(name.replace([' ', ','], "_"), schedule);
    }
}

#[test]
fn schedules_keep_their_promises_in_every_layout() {
    for (name, build) in cases() {
        let graph = expressions::graph(*build);
        let ranks: Vec<usize> = graph.inputs().iter().map(|input| input.shape.rank()).collect();
        for unit in [None, Some(0), Some(1)] {
            let strided = |rank: usize| Layout::Strided { unit: unit.filter(|unit| *unit < rank) };
            for index_width in [IndexWidth::Narrow, IndexWidth::Wide] {
                for vectorize in [true, false] {
                    let options = LowerOptions {
                        inputs: ranks.iter().map(|rank| strided(*rank)).collect(),
                        outputs: graph
                            .outputs()
                            .iter()
                            .map(|output| strided(graph.shape(output.expr).rank()))
                            .collect(),
                        streamed: vec![vectorize; graph.outputs().len()],
                        index_width,
                        vectorize,
                        keep_rows: vectorize,
                        pack: vectorize,
                        long_rows: !vectorize,
                        fused: vectorize,
                        max_values: usize::MAX,
                        target: Target::NOMINAL,
                        tail: None,
                        sizes: Vec::new(),
                        shared: Vec::new(),
                        by_columns: match vectorize {
                            true => graph.outputs().iter().map(|of| graph.shape(of.expr).clone()).collect(),
                            false => Vec::new(),
                        },
                    };
                    let schedule = lower(&graph, &options).unwrap();
                    assert_eq!(verify(&schedule), Ok(()), "{name}\n{schedule}");
                }
            }
        }
    }
}

fn cases() -> impl Iterator<Item = &'static (&'static str, expressions::Build)> {
    let cases = expressions::CASES.iter().chain(expressions::JOINS).chain(expressions::HALVES);
    cases
        .chain(expressions::RESHAPES)
        .chain(expressions::BEST)
        .chain(expressions::ORDER)
        .chain(expressions::SCANS)
}

/// Kernels, arrays stored between them, and calls of tile functions in the text.
fn facts(name: &str) -> (usize, usize, usize) {
    let mut cases = cases();
    let (_, build) = cases.find(|(of, _)| *of == name).expect("a case has the name");
    let graph = expressions::graph(*build);
    let schedule = lower(&graph, &LowerOptions::dense(&graph, true)).unwrap();
    let stored = schedule.buffers.iter().filter(|buffer| buffer.role == Role::Temporary).count();
    (schedule.kernels.len(), stored, schedule.to_string().matches("call r").count())
}

#[test]
fn joins_that_are_written_in_pieces_store_nothing() {
    assert_eq!(facts("concat of functions"), (2, 0, 1));
    assert_eq!(facts("concat of rows, flipped"), (2, 0, 0));
    assert_eq!(facts("concat of columns"), (2, 0, 0));
    assert_eq!(facts("stack"), (3, 0, 0));
    // Sixteen pieces a kernel, twice.
    assert_eq!(facts("many pieces"), (14, 0, 0));
    // Its kernels read the join where the output is.
    assert_eq!(facts("concat met otherwise").1, 0);
}

#[test]
fn statistics_of_rows_store_nothing() {
    assert_eq!(facts("layer norm"), (1, 0, 0));
    assert_eq!(facts("least and where").1, 0);
    assert_eq!(facts("statistics").1, 0);
    // One kernel for each of two: the exponentials of a row are computed once, whether its length is a constant or not.
    assert_eq!(facts("softmax of short rows"), (2, 0, 2));
    assert_eq!(facts("softmax"), (1, 0, 1));
    // Mean, deviation and result are one pass each.
    assert_eq!(facts("columns by mean and std").0, 3);
}

#[test]
fn segments_by_the_same_ids_are_one_pass() {
    // The partial results, and their sum.
    assert_eq!(facts("k means").0, 2);
}

#[test]
fn values_and_indices_are_found_by_one_walk() {
    for (name, kernels, stored) in [
        ("best of rows", 1, 0),
        ("best of columns", 1, 0),
        // A copy of what is read against the order of memory.
        ("best of pairs", 2, 1),
        ("nearest codes", 1, 0),
        ("best of sums", 1, 0),
        // Two walks, of two and of 64 elements.
        ("best of everything", 2, 0),
        ("the best one", 1, 0),
    ] {
        assert_eq!(facts(name).0, kernels, "{name}");
        assert_eq!(facts(name).1, stored, "{name}");
    }
    // The five best of each row are stored, and not what they are the best of.
    assert_eq!(facts("best of what is computed"), (2, 1, 1));
}

#[test]
fn extremes_of_sums_over_pairs_are_contractions() {
    let (_, build) =
        expressions::CASES.iter().find(|(of, _)| *of == "nearest code").expect("a case has the name");
    let graph = expressions::graph(*build);
    for (index_width, narrow) in [(IndexWidth::Narrow, 1), (IndexWidth::Wide, 0)] {
        let options = LowerOptions { index_width, ..LowerOptions::dense(&graph, true) };
        let schedule = lower(&graph, &options).unwrap();
        assert_eq!(schedule.to_string().matches("  contract ").count(), 1);
        let is_narrow = |assumption: &&Assumption| assumption.of == Specialisation::NarrowIndices;
        assert_eq!(schedule.assumptions.iter().filter(is_narrow).count(), narrow);
    }
}

#[test]
fn reshapes_of_broadcasts_store_nothing_of_their_size() {
    for (name, build) in expressions::RESHAPES {
        let graph = expressions::graph(*build);
        let dense = LowerOptions::dense(&graph, true);
        let schedule = lower(&graph, &dense).unwrap();
        let evaluate = |dim: &Dim| {
            dim.evaluate(&|symbol| Some(if symbol.index() < schedule.symbols.len() { 1000 } else { 16 }))
        };
        let elements =
            |buffer: &Buffer| -> i64 { buffer.shape.iter().map(|dim| evaluate(dim).unwrap()).product() };
        let inputs = schedule.buffers.iter().filter(|buffer| matches!(buffer.role, Role::Input(_)));
        // Rows, columns, and partial results, or as much as an array that is read: not a table.
        let most = inputs.map(elements).max().unwrap_or(0).max(16_000);
        let temporaries = schedule.buffers.iter().filter(|buffer| buffer.role == Role::Temporary);
        let larger: Vec<&str> =
            temporaries.filter(|buffer| elements(buffer) > most).map(|buffer| buffer.name.as_str()).collect();
        assert_eq!(
            larger.is_empty(),
            *name != expressions::reshapes::RAVELLED_IN_A_LOOP,
            "{name}: {larger:?}\n{schedule}"
        );
    }
}

/// The schedule of one reduction of an array of f32 over its first axis.
fn of_columns(op: ReduceOp) -> String {
    let mut graph = Graph::new();
    let sizes = ["n", "m"].map(|name| Dim::symbol(graph.symbol(name, Site::caller())));
    let x = graph.input("x", DType::F32, Shape::from_iter(sizes), Site::caller());
    let reduced = graph.reduce(op, x, Some(&[0]), false, Site::caller());
    let graph = graph.finish(&[("y", reduced)]).unwrap();
    lower(&graph, &LowerOptions::dense(&graph, true)).unwrap().to_string()
}

#[test]
fn columns_are_reduced_over_pages_of_several_rows_at_once() {
    // A strip of 256 columns, of one row at a time, took three times as long as the sums of rows.
    for (op, rows) in [(ReduceOp::Sum, "dense rows"), (ReduceOp::Max, "rows")] {
        let text = of_columns(op);
        assert!(text.contains("strip m of 2048 {"), "{text}");
        assert!(text.contains(&format!("stream n by 4 over {rows} of m vector 16")), "{text}");
    }
    // The first of equal elements counts: as they come.
    assert!(
        of_columns(ReduceOp::ArgMax).contains("stream n by 4 over rows of m"),
        "{}",
        of_columns(ReduceOp::ArgMax)
    );
}

/// Loops that suit sums of rows gather the elements of columns. So one of them is stored where both are needed.
#[test]
fn rows_and_columns_are_reduced_by_loops_of_their_own() {
    let lowered = |build: &dyn Fn(&mut Graph, [ExprId; 2]) -> Vec<ExprId>| {
        let mut graph = Graph::new();
        let n = Dim::symbol(graph.symbol("n", Site::caller()));
        let x = graph.input("x", DType::F64, vec![n.clone(), n].into(), Site::caller());
        let sums = [0, 1].map(|axis| graph.reduce(ReduceOp::Sum, x, Some(&[axis]), false, Site::caller()));
        let outputs = build(&mut graph, sums);
        let named: Vec<(String, ExprId)> =
            outputs.into_iter().enumerate().map(|(index, expr)| (format!("o{index}"), expr)).collect();
        let named: Vec<(&str, ExprId)> = named.iter().map(|(name, expr)| (name.as_str(), *expr)).collect();
        let checked = graph.finish(&named).unwrap();
        lower(&checked, &LowerOptions::dense(&checked, true)).unwrap()
    };
    let moves_by = |schedule: &Schedule| -> Vec<usize> {
        let of = |kernel: &Kernel| {
            let reads = kernel.accesses.iter().filter(|access| access.buffer == Some(BufferId::new(0)));
            reads.count()
        };
        schedule.kernels.iter().map(of).collect()
    };
    let temporaries =
        |schedule: &Schedule| schedule.buffers.iter().filter(|buffer| buffer.role == Role::Temporary).count();
    let both = lowered(&|_, sums| sums.to_vec());
    assert_eq!((moves_by(&both), temporaries(&both)), (vec![1, 1], 0), "{both}");
    let added = lowered(&|graph, sums| vec![graph.elementwise(Op::Add, &sums, Site::caller())]);
    assert_eq!((moves_by(&added), temporaries(&added)), (vec![1, 1], 1), "{added}");
    // What goes the same way shares its loops.
    let squares = lowered(&|graph, [columns, _]| {
        let twice = graph.elementwise(Op::Multiply, &[columns, columns], Site::caller());
        vec![columns, twice]
    });
    assert_eq!((moves_by(&squares), temporaries(&squares)), (vec![1], 0), "{squares}");
}

/// The gradient of a sum over pairs by three coordinates of each point, also where threads share the rows that are summed: the pairs
/// are not stored.
#[test]
fn sums_that_are_cut_store_no_pairs() {
    let site = Site::caller();
    let mut graph = Graph::new();
    let [n, m] = ["n", "m"].map(|name| Dim::symbol(graph.symbol(name, site)));
    let mut points = |name, size: &Dim| {
        graph.input(name, DType::F64, Shape::from_iter([size.clone(), Dim::constant(3)]), site)
    };
    let (x, y) = (points("x", &n), points("y", &m));
    let x = graph.expand_dims(x, &[1], site);
    let d = graph.elementwise(Op::Subtract, &[x, y], site);
    let d = graph.elementwise(Op::Square, &[d], site);
    let d = graph.reduce(ReduceOp::Sum, d, Some(&[-1]), false, site);
    let d = graph.elementwise(Op::Negative, &[d], site);
    let near = graph.elementwise(Op::Exp, &[d], site);
    let loss = graph.reduce(ReduceOp::Sum, near, None, false, site);
    let slope = graph.grad(loss, &[y], site)[0];
    let graph = graph.finish(&[("slope", slope)]).unwrap();
    let results = Shape::from_iter([m.clone(), Dim::constant(3)]);
    let whole = LowerOptions::dense(&graph, true);
    let shared = LowerOptions { shared: vec![results], ..whole.clone() };
    for options in [whole, shared] {
        let schedule = lower(&graph, &options).unwrap();
        let has_pairs = |buffer: &Buffer| buffer.shape.contains(&n) && buffer.shape.contains(&m);
        assert!(!schedule.buffers.iter().any(has_pairs), "{schedule}");
    }
}
