//! Inferred sizes: whatever the order of the ops, the same programs are accepted, with the same sizes.

use crate::support::{dim, here, input, text};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Problem;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Graph, InputDim, Product, SegmentOp, Segmented};
use broadloom_ir::interp::{Array, interpret};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use cpu_time::ThreadTime;
use proptest::prelude::*;

/// Tensors along one axis: of inferred sizes, of what ops make of them, of symbols and of numbers.
const SIDES: [&str; 12] = ["?a", "?b", "?c", "?a+1", "2*?b", "?a+?b", "n", "m", "n+1", "5", "0", "?c/2"];

/// A tensor of a size of [`SIDES`].
fn side(graph: &mut Graph, text: &str) -> ExprId {
    match text {
        "?a+1" => {
            let (a, one) = (side(graph, "?a"), input(graph, "one", "1"));
            graph.concat(&[a, one], 0, here())
        }
        "?a+?b" => {
            let (a, b) = (side(graph, "?a"), side(graph, "?b"));
            graph.concat(&[a, b], 0, here())
        }
        "2*?b" => {
            let b = side(graph, "?b");
            graph.concat(&[b, b], 0, here())
        }
        "?c/2" => {
            let c = side(graph, "?c");
            let two = dim(graph, "2");
            let halves = graph.reshape(c, &[None, Some(two)], here());
            graph.reduce(ReduceOp::Sum, halves, Some(&[1]), false, here())
        }
        text => match text.strip_prefix('?') {
            Some(name) => {
                graph.input_of(name, broadloom_ir::dtype::DType::F32, &[InputDim::Inferred], here())
            }
            None => input(graph, &format!("in {text}"), text),
        },
    }
}

/// Adds pairs of tensors in some order; what it comes to.
fn add_all(pairs: &[(usize, usize)], order: &[usize]) -> Option<CheckedGraph> {
    let mut graph = Graph::new();
    for name in ["n", "m"] {
        graph.symbol(name, here());
    }
    // All tensors first, so that symbols are numbered alike.
    let tensors: Vec<ExprId> = SIDES.iter().map(|text| side(&mut graph, text)).collect();
    let mut sums = vec![None; pairs.len()];
    for &at in order {
        let (left, right) = pairs[at];
        sums[at] = Some(graph.elementwise(Op::Add, &[tensors[left], tensors[right]], here()));
    }
    let named: Vec<(String, ExprId)> =
        sums.into_iter().enumerate().filter_map(|(at, sum)| Some((format!("y{at}"), sum?))).collect();
    let named: Vec<(&str, ExprId)> = named.iter().map(|(name, sum)| (name.as_str(), *sum)).collect();
    // Inputs whose size nothing determines are not in question here.
    graph.finish(&named).ok()
}

fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for next in 0..count {
        orders = orders
            .into_iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, next);
                    longer
                })
            })
            .collect();
    }
    orders
}

fn shapes(graph: &CheckedGraph) -> Vec<Shape> {
    let outputs = graph.outputs().iter().map(|output| graph.shape(output.expr).clone());
    outputs.chain(graph.inputs().iter().map(|input| input.shape.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn acceptance_does_not_depend_on_the_order(
        pairs in prop::collection::vec((0..SIDES.len(), 0..SIDES.len()), 1..5)
    ) {
        let first = add_all(&pairs, &(0..pairs.len()).collect::<Vec<_>>());
        for order in orders(pairs.len()) {
            let other = add_all(&pairs, &order);
            prop_assert_eq!(first.is_some(), other.is_some(), "{:?} in order {:?}", names(&pairs), order);
            if let (Some(first), Some(other)) = (&first, &other) {
                let equal = shapes(first) == shapes(other);
                prop_assert!(equal, "{:?} in order {order:?}:\n{first}\n{other}", names(&pairs));
            }
        }
    }

    /// Sizes in place of the symbols: arrays that meet the equations are taken, all others are refused when they are
    /// bound, and none meets a mismatch within the interpreter.
    #[test]
    fn what_was_inferred_is_checked(
        pairs in prop::collection::vec((0..SIDES.len(), 0..SIDES.len()), 1..4),
        sizes in prop::array::uniform5(0_usize..7),
    ) {
        let Some(graph) = add_all(&pairs, &(0..pairs.len()).collect::<Vec<_>>()) else { return Ok(()) };
        let [a, b, c, n, m] = sizes;
        let size = |name: &str| match name {
            "a" => a,
            "b" => b,
            "c" => c,
            "in n" => n,
            "in m" => m,
            "in n+1" => n + 1,
            "one" => 1,
            name => name.strip_prefix("in ").and_then(|size| size.parse().ok()).expect("a number"),
        };
        let arrays: Vec<Array> = graph
            .inputs()
            .iter()
            .map(|input| Array::new(&[size(&input.name)], &vec![1.0_f32; size(&input.name)]))
            .collect();
        let value = |text: &str| match text {
            "?a" => a as f64,
            "?b" => b as f64,
            "?c" => c as f64,
            "?a+1" => a as f64 + 1.0,
            "2*?b" => 2.0 * b as f64,
            "?a+?b" => (a + b) as f64,
            "?c/2" => c as f64 / 2.0,
            "n" => n as f64,
            "m" => m as f64,
            "n+1" => n as f64 + 1.0,
            text => text.parse().unwrap(),
        };
        let fits = pairs.iter().all(|(left, right)| value(SIDES[*left]) == value(SIDES[*right]))
            // The reshape is refused if its size was not found to divide.
            && value("?c/2").fract() == 0.0;
        let result = interpret(&graph, &arrays, false);
        prop_assert_eq!(result.is_ok(), fits, "{:?} for {:?}: {:?}", names(&pairs), sizes, result);
    }
}

fn names(pairs: &[(usize, usize)]) -> Vec<(&'static str, &'static str)> {
    pairs.iter().map(|(left, right)| (SIDES[*left], SIDES[*right])).collect()
}

/// Why an inferred size is what it is: the path of ops between the two.
#[test]
fn reasons() {
    let mut graph = Graph::new();
    let [w, v, u] = ["w", "v", "u"].map(|name| input(&mut graph, name, "_"));
    let (n, five) = (input(&mut graph, "x", "n"), input(&mut graph, "y", "5"));
    graph.elementwise(Op::Add, &[w, v], here());
    graph.elementwise(Op::Multiply, &[v, u], here());
    graph.elementwise(Op::Subtract, &[u, n], here());
    assert_eq!(text(&graph, &graph.shape(w)), "n");
    let wrong = graph.elementwise(Op::Maximum, &[w, five], here());
    assert!(graph.is_poisoned(wrong));
    let diagnostics = graph.diagnostics();
    let [mistake] = &diagnostics[..] else { panic!("{diagnostics:?}") };
    assert_eq!(mistake.code().as_str(), "S002");
    let steps: Vec<(&str, String)> = mistake.conflicts()[0]
        .inferred
        .iter()
        .map(|step| (step.op, step.sizes.each_ref().map(ToString::to_string).join(" = ")))
        .collect();
    let steps: Vec<(&str, &str)> = steps.iter().map(|(op, sizes)| (*op, sizes.as_str())).collect();
    assert_eq!(steps, [("add", "?w.0 = ?v.0"), ("multiply", "?v.0 = ?u.0"), ("subtract", "?u.0 = n")]);
}

/// An op that is refused leaves nothing behind.
#[test]
fn refused_ops_infer_nothing() {
    let mut graph = Graph::new();
    let w = input(&mut graph, "w", "_,_");
    let x = input(&mut graph, "x", "n,n");
    let y = input(&mut graph, "y", "2,3");
    let z = input(&mut graph, "z", "_,4");
    // The first axis is found, then the last one clashes.
    let sum = graph.elementwise(Op::Add, &[z, y], here());
    assert!(graph.is_poisoned(sum));
    graph.withdraw_diagnostics(0);
    assert_eq!(text(&graph, &graph.shape(z)), "?z.0,4");
    let both = graph.elementwise(Op::Add, &[w, x], here());
    assert_eq!(text(&graph, &graph.shape(both)), "n,n");
    let third = graph.elementwise(Op::Add, &[w, y], here());
    assert!(graph.is_poisoned(third));
}

/// Neither does one that is refused for another reason, after its sizes were found.
#[test]
fn ops_that_are_refused_late_infer_nothing() {
    let mut graph = Graph::new();
    let huge = (1_i64 << 40).to_string();
    let (v, n) = (input(&mut graph, "v", "_"), input(&mut graph, "n", "n"));
    let w = input(&mut graph, "w", &format!("_,1,{huge}"));
    let x = input(&mut graph, "x", &format!("3,{huge},1"));
    let sum = graph.elementwise(Op::Add, &[n, n], here());
    let ids = graph.cast(n, DType::I64, here());
    let minus_two = dim(&mut graph, "-2");
    let of = |elements: &Dim| Segmented {
        op: ReduceOp::Sum,
        compensated: false,
        segments: Dim::ONE,
        elements: elements.clone(),
    };
    let ops: [&dyn Fn(&mut Graph) -> ExprId; 5] = [
        // Too many elements.
        &|graph| graph.elementwise(Op::Add, &[w, x], here()),
        // The sum could be computed, but its destination is no input.
        &|graph| graph.assign_op(Op::Add, sum, v, here()),
        &|graph| graph.segment(SegmentOp::Sum, v, ids, minus_two.clone(), here()),
        &|graph| graph.segment_tables(&of(&minus_two), [v, ids], here()),
        // The number of elements would do.
        &|graph| graph.reshape(v, &[Some(minus_two.clone()), Some(minus_two.clone())], here()),
    ];
    for (at, op) in ops.into_iter().enumerate() {
        let result = op(&mut graph);
        assert!(graph.is_poisoned(result), "{at}");
        assert_eq!(graph.withdraw_diagnostics(0).map(|mistakes| mistakes.iter().count()), Some(1));
        assert_eq!(text(&graph, &graph.shape(w)), format!("?w.0,1,{huge}"), "{at}");
        assert_eq!(text(&graph, &graph.shape(v)), "?v.0", "{at}");
    }
}

/// What is left open at the end is a mistake, at the op that needs it.
#[test]
fn what_stays_open_is_a_mistake() {
    let mut graph = Graph::new();
    let (a, b, n) =
        (input(&mut graph, "a", "_"), input(&mut graph, "b", "_"), input(&mut graph, "n", "2*n+3"));
    let joined = graph.concat(&[a, a, b, b, b], 0, here());
    let sum = graph.elementwise(Op::Add, &[joined, n], here());
    assert!(graph.mistakes().is_empty());
    let mistakes = graph.finish(&[("y", sum)]).unwrap_err();
    let [mistake] = mistakes.as_slice() else { panic!("{mistakes:?}") };
    assert!(matches!(mistake.problem, Problem::Undecided { .. }), "{mistake:?}");
    assert_eq!(mistake.code().as_str(), "S002");
    // One size more, and it is decided.
    let m = input(&mut graph, "m", "n");
    let rest = graph.elementwise(Op::Add, &[a, m], here());
    let checked = graph.finish(&[("y", sum), ("z", rest)]).unwrap();
    assert_eq!(text(&graph, &checked.inputs()[1].shape), "1");
}

/// A long chain of inferred sizes, built from its far end, is resolved in time that grows with its length only.
#[test]
fn long_chains() {
    let mut graph = Graph::new();
    let inputs: Vec<ExprId> = (0..20_000).map(|at| input(&mut graph, &format!("x{at}"), "_")).collect();
    let started = ThreadTime::now();
    let mut outputs = Vec::new();
    for pair in inputs.windows(2).rev() {
        outputs.push(graph.elementwise(Op::Add, pair, here()));
    }
    let last = input(&mut graph, "y", "n");
    outputs.push(graph.elementwise(Op::Add, &[inputs[19_999], last], here()));
    let names: Vec<String> = (0..outputs.len()).map(|at| format!("y{at}")).collect();
    let named: Vec<(&str, ExprId)> = names.iter().map(String::as_str).zip(outputs).collect();
    let checked = graph.finish(&named).unwrap();
    assert_eq!(text(&graph, &checked.inputs()[10_000].shape), "n");
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// The far end of a long chain is compared again and again, and each of its sizes is explained.
#[test]
fn long_chains_are_gone_through_once() {
    let mut graph = Graph::new();
    let inputs: Vec<ExprId> = (0..8_000).map(|at| input(&mut graph, &format!("x{at}"), "_")).collect();
    let (n, five) = (input(&mut graph, "n", "n"), input(&mut graph, "five", "5"));
    let started = ThreadTime::now();
    for pair in inputs.windows(2).rev() {
        graph.elementwise(Op::Add, pair, here());
    }
    for at in 0..8_000 {
        let other = input(&mut graph, &format!("y{at}"), "_");
        graph.elementwise(Op::Add, &[inputs[7_999], other], here());
    }
    graph.elementwise(Op::Add, &[inputs[0], n], here());
    assert!(graph.mistakes().is_empty());
    for input in &inputs[..1_000] {
        graph.elementwise(Op::Add, &[*input, five], here());
    }
    assert_eq!(graph.mistakes().len(), 1_000);
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

/// What waits for many sizes is tried once for each, however often it was tried before.
#[test]
fn what_is_postponed_waits_once() {
    let mut graph = Graph::new();
    let inputs: Vec<ExprId> = (0..16).map(|at| input(&mut graph, &format!("x{at}"), "_")).collect();
    let twice: Vec<ExprId> = inputs.iter().flat_map(|&input| [input, input]).collect();
    let joined = graph.concat(&twice, 0, here());
    let started = ThreadTime::now();
    for at in 0..20 {
        let other = input(&mut graph, &format!("y{at}"), &format!("n{at}"));
        graph.elementwise(Op::Add, &[joined, other], here());
    }
    for (at, found) in inputs[..15].iter().enumerate() {
        let other = input(&mut graph, &format!("z{at}"), &format!("m{at}"));
        graph.elementwise(Op::Add, &[*found, other], here());
    }
    assert!(graph.mistakes().is_empty());
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

/// Sizes that are inferred are found by products as by any other op.
#[test]
fn products_find_sizes() {
    let mut graph = Graph::new();
    let n = dim(&mut graph, "n");
    let x = graph.input("x", DType::F32, Shape::from_iter([n, 64.into()]), here());
    let w = graph.input_of("w", DType::F32, &[InputDim::Inferred, InputDim::Inferred], here());
    let v = graph.input_of("v", DType::F32, &[InputDim::Inferred], here());
    let layer = graph.product(&Product::Matmul, [x, w], here());
    let total = graph.einsum("ij,j->", &[layer, v], here());
    let bias = input(&mut graph, "bias", "10");
    let sum = graph.elementwise(Op::Add, &[v, bias], here());
    assert_eq!(text(&graph, &graph.shape(w)), "64,10");
    assert_eq!(text(&graph, &graph.shape(layer)), "n,10");
    assert!(graph.finish(&[("total", total), ("sum", sum)]).is_ok());
    // What was found is no literal 1, wherever it was found.
    let one = input(&mut graph, "one", "1");
    let u = graph.input_of("u", DType::F32, &[InputDim::Inferred], here());
    let dot = graph.product(&Product::Dot, [one, u], here());
    assert_eq!((text(&graph, &graph.shape(u)), graph.is_poisoned(dot)), ("1".to_owned(), false));
    let stretched = graph.einsum("i,i->i", &[u, v], here());
    assert!(graph.is_poisoned(stretched));
    let [mistake] = &graph.diagnostics()[..] else { panic!() };
    assert!(matches!(mistake.problem, Problem::Contraction { .. }), "{mistake:?}");
    assert!(format!("{mistake:#}").contains("because of `dot`"), "{mistake:#}");
}

/// A refused product has found nothing.
#[test]
fn refused_products_find_no_sizes() {
    let mut graph = Graph::new();
    let x = graph.input_of(
        "x",
        DType::F32,
        &[InputDim::Inferred, InputDim::Inferred, InputDim::Size(4.into())],
        here(),
    );
    let w = input(&mut graph, "w", "2,3,5");
    assert!({
        let product = graph.product(&Product::Matmul, [x, w], here());
        graph.is_poisoned(product)
    });
    assert_eq!(text(&graph, &graph.shape(x)), "?x.0,?x.1,4");
}

/// What no other op decides is asked once, in the product's own terms.
#[test]
fn undecided_products_say_so_once() {
    let mut graph = Graph::new();
    let open = |graph: &mut Graph, name: &str| {
        graph.input_of(name, DType::F32, &[InputDim::Inferred, InputDim::Inferred], here())
    };
    let (x, y) = (open(&mut graph, "x"), open(&mut graph, "y"));
    let flat = graph.reshape(x, &[None], here());
    let w = graph.reshape(y, &[None], here());
    let dot = graph.product(&Product::Dot, [flat, w], here());
    let Err(mistakes) = graph.finish(&[("dot", dot)]) else { panic!("?x.0*?x.1 == ?y.0*?y.1 is open") };
    let products = mistakes.iter().filter(|mistake| matches!(mistake.problem, Problem::Contraction { .. }));
    assert_eq!(products.count(), 1, "{mistakes:#}");
    assert_eq!(mistakes.iter().count(), 1, "{mistakes:#}");
    assert!(
        mistakes.to_string().starts_with("`dot` sums over axes of equal size: axis 0 on the left is "),
        "{mistakes}"
    );
}
