//! What `explain` tells of kernels: which expressions they compute, which arrays they read and write, in which loops.

use broadloom::prelude::*;
use broadloom::{ArrayPlace, CheckedGraph, Explanation, KernelInfo};

/// The printed ops of a kernel's expressions, without inputs and constants.
fn ops(explanation: &Explanation, info: &KernelInfo) -> Vec<String> {
    let text = explanation.graph().to_string();
    let lines: Vec<&str> = text.lines().collect();
    let op = |line: &str| line.split(' ').nth(2).expect("an op").to_string();
    let ops = info.exprs.iter().map(|expr| op(lines[expr.index()]));
    ops.filter(|op| !["input", "constant"].contains(&op.as_str())).collect()
}

fn all(explanation: &Explanation) -> Vec<Vec<String>> {
    explanation.kernel_infos().iter().map(|info| ops(explanation, info)).collect()
}

#[test]
fn one_kernel_computes_all_that_is_fused() {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let obs = g.input::<f32>("obs", shape![n, 3]);
    let codes = g.input::<f32>("codes", shape![k, 3]);
    let distance = (codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1);
    let explanation = distance.argmin(1).compile().unwrap().explain();
    // `square` is computed by the fma of the sum, and is there all the same. The axis before those of the codes is one
    // that broadcasting adds anyway.
    assert_eq!(all(&explanation), [["expand_dims", "subtract", "square", "sum", "argmin"]]);
    let info = &explanation.kernel_infos()[0];
    assert_eq!(info.reads, [ArrayPlace::Input(0), ArrayPlace::Input(1)]);
    assert_eq!(info.writes, [ArrayPlace::Output(0)]);
    assert_eq!(
        info.loops,
        "for n (threads, strips of 256, 16 lanes) reduce k (16 lanes) contract 3 (32 lanes)"
    );
    assert!(explanation.temporaries().is_empty());
}

#[test]
fn a_stored_array_is_written_by_one_kernel_and_read_by_the_next() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f64>("x", shape![n, 1]);
    let y = g.input::<f64>("y", shape![m]);
    let explanation = (x + y.sin()).compile().unwrap().explain();
    assert_eq!(all(&explanation), [vec!["sin"], vec!["add"]]);
    let infos = explanation.kernel_infos();
    assert_eq!(
        (&*infos[0].reads, &*infos[0].writes),
        (&[ArrayPlace::Input(1)][..], &[ArrayPlace::Temporary(0)][..])
    );
    assert_eq!(infos[1].reads, [ArrayPlace::Input(0), ArrayPlace::Temporary(0)]);
    assert_eq!(infos[1].writes, [ArrayPlace::Output(0)]);
    let stored = &explanation.temporaries()[0];
    assert!(infos[0].exprs.contains(&stored.expr) && !infos[1].exprs.contains(&stored.expr));
    assert_eq!(
        (stored.dtype, &*stored.sizes, stored.bytes.to_string()),
        (DType::F64, &["m".to_string()][..], "8*m".into())
    );
}

#[test]
fn partial_results_are_of_the_expression_that_two_kernels_compute() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let explanation = x.square().mean(..).compile().unwrap().explain();
    assert_eq!(all(&explanation), [vec!["square", "mean"], vec!["mean"]]);
    let stored = explanation.temporaries();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].expr, explanation.graph().outputs()[0].expr);
    assert_eq!(
        (&*stored[0].sizes, stored[0].bytes.to_string()),
        (&["groups0".to_string()][..], "4*groups0".into())
    );
    assert_eq!(explanation.kernel_infos()[1].reads, [ArrayPlace::Temporary(0)]);
}

#[test]
fn what_several_kernels_compute_stands_in_each() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let twice = 2 * x;
    let kernel = g.compile([("a", twice + 1), ("b", twice.t().max(0))]).unwrap();
    let explanation = kernel.explain();
    assert_eq!(explanation.kernels(), 2);
    assert!(all(&explanation).iter().all(|ops| ops.contains(&"multiply".to_string())));
}

#[test]
fn an_expression_behind_a_moved_reshape_is_computed() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let explanation = x.exp().reshape(shape![n * m]).compile().unwrap().explain();
    assert_eq!(all(&explanation), [["exp", "reshape"]]);
}

#[test]
fn loops_are_outlined() {
    let loops = |tensor: Tensor| -> Vec<String> {
        tensor.compile().unwrap().explain().kernel_infos().into_iter().map(|info| info.loops).collect()
    };
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    assert_eq!(loops(g.input::<f32>("s", shape![]) + 1), ["once"]);
    assert_eq!(loops(x + x.t().t()), ["for n*m (threads, 16 lanes)"]);
    assert_eq!(loops(x.sum(1)), ["for n (threads) reduce m (16 lanes)"]);
    let centred = x - x.mean(1).unsqueeze(1);
    assert_eq!(loops(centred), ["for n (threads) { reduce m' (16 lanes); for m (16 lanes) }"]);
    let plain = CompileOptions { vectorize: false, ..CompileOptions::default() };
    let kernel = (x + 1).compile_with(&plain).unwrap();
    assert_eq!(kernel.explain().kernel_infos()[0].loops, "for n*m (threads)");
}

#[test]
fn standardising_sums_the_columns_once_and_has_no_work_without_effect() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n"), 4]);
    let text = ((x - x.mean(0)) / x.std(0)).compile().unwrap().explain().to_string();
    let count = |op: &str| text.matches(&format!(" = {op} ")).count();
    // Of four columns, row by row, and of the squares of their deviations: partial ones by group, and all of them.
    assert_eq!(count("sum"), 1 + 3 * 4, "{text}");
    // In the loop of the squares, and in that of the result.
    assert_eq!((count("subtract"), count("maximum")), (2 * 4, 0), "{text}");
}

#[test]
fn what_is_simplified_away_is_explained_where_it_was_written() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, rows) = (g.input::<f32>("x", shape![n]), g.input::<i64>("rows", shape![n]));
    let same = x * 1;
    let kernel = g.compile([("taken", same.take(rows, 0).exp() - 0), ("same", same)]).unwrap();
    let explanation = kernel.explain();
    let computed: Vec<String> = all(&explanation).concat();
    assert!(computed.contains(&"exp".to_string()) && computed.contains(&"subtract".to_string()));
    let error = kernel.run((&[1.0f32, 2.0], &[1i64, 7])).unwrap_err();
    let shown = format!("{error:?}");
    assert!(shown.contains("the index at [1] is 7, but the axis has 2 elements"), "{shown}");
    assert!(shown.contains("same.take(rows, 0)"), "{shown}");
    let mut results = kernel.run((&[1.0f32, 2.0], &[1i64, 0])).unwrap();
    let same: Vec<f32> = results.take("same").unwrap();
    assert_eq!(same, [1.0, 2.0]);
}

/// Programs with forms of loops that those of docs/language.md do not have.
const PROGRAMS: &[&str] = &[
    "input x: f32[n, m]\nsoftmax(x, axis=1)",
    "input x: f64[n, m]\n(x - mean(x, axis=0)) / std(x, axis=0)",
    "input x: f32[n, k]\ninput y: f32[k, m]\nmaximum(x @ y, 0) @ y.T",
    "input x: f32[n, m]\ninput i: i64[k]\noutput a = take(x, i)\noutput b = cumsum(x, axis=1)\noutput c = sort(x, axis=1)",
    "input x: f32[n]\ninput i: i64[n]\nsegment_mean(sin(x), i, 7) + segment_max(x, i, 7)",
    "input x: f32[n, 70]\noutput a = argsort(x, axis=1)\noutput b = median(x, axis=1)\noutput c = var(x)",
    "input x: f32[n]\ninput y: f32[m]\nx[:, None] + y**2.7",
    "input x: f32[n]\nconcat((x * 2, sqrt(x)), axis=0)[1:-1]",
];

/// These and the programs of docs/language.md, which use all of the language: loops, sizes that data decide, groups.
fn programs() -> Vec<CheckedGraph> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/language.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```program\n").skip(1).filter_map(|rest| rest.split("```").next());
    let graph = |text: &str| broadloom_text::Program::parse("program", text).ok()?.resolve().ok();
    let own = PROGRAMS.iter().map(|text| graph(text).unwrap_or_else(|| panic!("{text}")));
    blocks.filter_map(graph).chain(own).collect()
}

#[test]
fn each_expression_of_a_kernel_is_in_a_line_of_its_loops() {
    let (mut kernels, mut linked) = (0, 0);
    for graph in programs() {
        let explanation = Executable::compile(&graph, &CompileOptions::default()).unwrap().explain();
        let listing = explanation.listing().unwrap();
        assert_eq!(
            listing.parts.iter().map(|part| part.kernels.len()).sum::<usize>(),
            explanation.kernels(),
            "{graph}"
        );
        for kernel in listing.parts.iter().flat_map(|part| &part.kernels) {
            kernels += 1;
            for expr in &kernel.exprs {
                let has_line = kernel.loops.iter().any(|line| line.exprs.contains(expr));
                assert!(has_line, "{expr} in {}\n{graph}\n{:#?}", kernel.name, kernel.loops);
            }
            let exprs = || kernel.loops.iter().flat_map(|line| &line.exprs);
            assert!(exprs().all(|expr| expr.index() < graph.len()), "{graph}");
            let statements = kernel.loops.iter().map(|line| line.statement).max().map_or(0, |last| last + 1);
            for line in &kernel.code {
                linked += usize::from(line.statement.is_some());
                assert!(line.statement.is_none_or(|statement| statement < statements), "{line:?}\n{graph}");
            }
        }
    }
    assert!(kernels > 30, "{kernels}");
    assert_eq!(linked > 0, cfg!(target_arch = "x86_64"), "{linked}");
}

#[test]
fn lines_are_the_printed_loops() {
    for graph in programs() {
        let explanation = Executable::compile(&graph, &CompileOptions::default()).unwrap().explain();
        let printed = explanation.to_string();
        for kernel in explanation.listing().unwrap().parts.iter().flat_map(|part| &part.kernels) {
            let line = |line: &broadloom::LoopLine| {
                format!("{:indent$}{}\n", "", line.text, indent = 2 * line.depth + 2)
            };
            let lines: String = kernel.loops.iter().map(line).collect();
            assert!(
                printed.contains(&format!("kernel {} {{\n{lines}}}\n", kernel.name)),
                "{printed}\n{lines}"
            );
            assert!(kernel.facts.iter().all(|fact| printed.contains(fact.as_str())), "{printed}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn instructions_belong_to_the_statements_that_they_compute() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n]));
    let listing = |vector_bytes: usize| {
        let options = CompileOptions { vector_bytes, ..CompileOptions::default() };
        g.compile_with([("r", (x * y).sqrt() - x)], &options).unwrap().explain().listing().unwrap()
    };
    // Cranelift's back end has 16 bytes.
    for bytes in [16, 32, 64] {
        let listing = listing(bytes);
        let kernel = &listing.parts[0].kernels[0];
        for (word, mnemonic) in
            [("multiply", "mul"), ("sqrt", "sqrt"), ("subtract", "sub"), ("store r", "mov")]
        {
            let line = kernel.loops.iter().find(|line| line.text.contains(word)).unwrap();
            let own: Vec<&str> = (kernel.code.iter())
                .filter(|code| code.statement == Some(line.statement))
                .map(|code| code.text.as_str())
                .collect();
            assert!(own.iter().any(|text| text.contains(mnemonic)), "{bytes} {word}: {own:?}");
        }
    }
}
