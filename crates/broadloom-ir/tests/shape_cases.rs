//! The case tables of the broadcasting guides and of symbolic shapes, row by row. Rows that are not run are listed
//! with the reason, so that none is left out by accident.

mod support;

use broadloom_ir::ExprId;
use broadloom_ir::dim::{Dim, Facts};
use broadloom_ir::graph::{Graph, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use std::collections::BTreeSet;
use support::{concrete, dim, for_all_values, here, input, shape, text};

const BROADCAST: &str = include_str!("../../../tests/cases/broadcast_cases.tsv");
const SYMBOLIC: &str = include_str!("../../../tests/cases/symbolic_cases.tsv");

/// Rows of the symbolic table that are not run, by reason.
const NOT_YET: &[(&str, &[&str])] = &[
    ("declared equalities", &["Y024", "Y025", "Y026", "Y072"]),
    ("declared divisibility of a reshape", &["Y068"]),
    ("declared lower bound of a slice", &["Y080"]),
    ("placing by axis", &["Y049", "Y050", "Y051", "Y052", "Y053", "Y054", "Y055"]),
    ("flexible sizes", &["Y056", "Y057", "Y058", "Y059"]),
    ("inputs of size 1 or n", &["Y060", "Y061", "Y062", "Y063"]),
    ("concatenation", &["Y074", "Y075", "Y076", "Y077"]),
    ("rebind", &["Y093"]),
];

/// Rows whose declarations are facts of one symbol: run on the tests for sizes that are never equal.
const BY_FACTS: &[&str] = &["Y016", "Y020", "Y021", "Y022", "Y023"];

fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().skip(1).map(|line| line.split('\t').collect())
}

/// Ranges of rows of the guides' table that are not run, by reason.
const GUIDES_NOT_YET: &[(&str, &[(u32, u32)])] = &[("placing by axis", &[(6, 9), (111, 157)])];

#[test]
fn guides() {
    let mut not_yet: BTreeSet<u32> = GUIDES_NOT_YET
        .iter()
        .flat_map(|(_, ranges)| *ranges)
        .flat_map(|&(first, last)| first..=last)
        .collect();
    let mut run = 0;
    for row in rows(BROADCAST) {
        let [id, _, a, b, axis, inplace, want, ..] = row[..] else { panic!("{row:?}") };
        if not_yet.remove(&id[1..].parse().unwrap()) {
            assert!(!axis.is_empty(), "{id} can be run");
            continue;
        }
        run += 1;
        let mut graph = Graph::new();
        let mut sum = input(&mut graph, "a", &a.replace('x', ","));
        for (index, other) in b.split(';').enumerate() {
            let other = input(&mut graph, &format!("b{index}"), &other.replace('x', ","));
            sum = match inplace {
                "yes" => graph.assign_op(Op::Add, sum, other, here()),
                _ => graph.elementwise(Op::Add, &[sum, other], here()),
            };
        }
        let got = match graph.diagnostics() {
            [] => text(&graph, graph.shape(sum)).replace(',', "x"),
            [mistake] if mistake.code().as_str() == "S001" => "error:broadcast".to_owned(),
            [mistake] if mistake.code().as_str() == "S003" => "error:inplace".to_owned(),
            mistakes => format!("{mistakes:?}"),
        };
        assert_eq!(got, want, "{id}: {a} + {b}");
    }
    assert!(not_yet.is_empty(), "listed but not in the table: {not_yet:?}");
    assert_eq!(run, 157 - 51);
}

/// Builds the op of a row and gives its result.
fn build(graph: &mut Graph, op: &str, a: &str, b: &str, arg: &str) -> ExprId {
    let x = input(graph, "x", a);
    match op {
        "add" => {
            let y = input(graph, "y", b);
            graph.elementwise(Op::Add, &[x, y], here())
        }
        "add_" => {
            let y = input(graph, "y", b);
            graph.assign_op(Op::Add, x, y, here())
        }
        "reshape" => {
            let sizes: Vec<Option<Dim>> =
                arg.split(',').map(|size| if size == "_" { None } else { Some(dim(graph, size)) }).collect();
            graph.reshape(x, &sizes, here())
        }
        "slice0" => {
            let parts: Vec<&str> = arg.split(':').collect();
            let mut bound =
                |index: usize| parts.get(index).filter(|part| !part.is_empty()).map(|part| dim(graph, part));
            let (start, stop, step) = (bound(0), bound(1), bound(2));
            let step = step.map_or(1, |step| step.as_constant().unwrap());
            graph.slice(x, &[SliceSpec::Range { start, stop, step }], here())
        }
        "squeeze0" => graph.squeeze(x, &[0], here()),
        "unsqueeze0" => graph.expand_dims(x, &[0], here()),
        "sum0" => graph.reduce(ReduceOp::Sum, x, Some(&[0]), false, here()),
        "sum0_keepdim" => graph.reduce(ReduceOp::Sum, x, Some(&[0]), true, here()),
        "max0" => graph.reduce(ReduceOp::Max, x, Some(&[0]), false, here()),
        "expand" => {
            let wanted = shape(graph, arg);
            graph.broadcast_to(x, wanted, here())
        }
        op => panic!("unknown op {op}"),
    }
}

#[test]
fn symbolic() {
    let mut not_yet: BTreeSet<&str> = NOT_YET.iter().flat_map(|(_, ids)| *ids).copied().collect();
    not_yet.extend(BY_FACTS);
    let mut run = 0;
    for row in rows(SYMBOLIC) {
        let [id, _, declared, op, a, b, arg, want, check, _] = row[..] else { panic!("{row:?}") };
        if not_yet.remove(id) {
            continue;
        }
        assert!(!declared.contains(['=', '<', '>', '%']), "{id} has declarations");
        run += 1;
        let mut graph = Graph::new();
        // Symbols in the order of declaration, which is that of printing.
        for name in declared.split(',') {
            graph.symbol(name, here());
        }
        if id != "Y094" {
            input(&mut graph, "sizes", declared);
        }
        let result = build(&mut graph, op, a, b, arg);
        let code = match want {
            "E-mismatch" => "S001",
            "E-undetermined" => "S002",
            "E-inplace" => "S003",
            "E-reshape" => "S004",
            "E-squeeze" => "S005",
            _ => "",
        };
        if !code.is_empty() {
            let [mistake] = graph.diagnostics() else { panic!("{id}: {:?}", graph.diagnostics()) };
            assert_eq!(mistake.code().as_str(), code, "{id}: {mistake:#}");
            assert!(graph.is_poisoned(result));
            continue;
        }
        assert!(graph.diagnostics().is_empty(), "{id}: {:?}", graph.diagnostics());
        let wanted = shape(&mut graph, want);
        assert_eq!(*graph.shape(result), wanted, "{id}: {}", text(&graph, graph.shape(result)));
        if id == "Y094" {
            let mistakes = graph.finish(&[("y", result)]).unwrap_err();
            assert_eq!(mistakes.as_slice()[0].code().as_str(), "S011", "no input determines k");
            continue;
        }
        let checked = graph.finish(&[("y", result)]).unwrap();
        let needs: Vec<String> = checked
            .obligations()
            .iter()
            .map(|need| text(&graph, std::slice::from_ref(&need.nonnegative)))
            .collect();
        let wanted: Vec<String> = match check.split_once(" >= ") {
            Some((name, bound)) => vec![format!("{name}-{bound}")],
            None => vec![],
        };
        assert_eq!(needs, wanted, "{id}");
    }
    assert!(not_yet.is_empty(), "listed but not in the table: {not_yet:?}");
    assert_eq!(run, 94 - NOT_YET.iter().map(|(_, ids)| ids.len()).sum::<usize>() - BY_FACTS.len());
}

#[test]
fn symbolic_with_facts() {
    for row in rows(SYMBOLIC).filter(|row| BY_FACTS.contains(&row[0])) {
        let [id, _, declared, _, a, b, _, want, ..] = row[..] else { panic!("{row:?}") };
        let mut graph = Graph::new();
        let (_, fact) = declared.split_once("; ").unwrap();
        let (a, b) = (dim(&mut graph, a), dim(&mut graph, b));
        let number = |text: &str| fact.split(text).nth(1).and_then(|number| number.parse().ok());
        let mut facts = Facts::default();
        if let Some(divisor) = fact.strip_prefix("n%").and_then(|rest| rest.strip_suffix("==0")) {
            facts.multiple_of = divisor.parse().unwrap();
        } else if let Some(lower) = number(">=") {
            facts.lower = lower;
        } else {
            facts.upper = Some(number("<=").unwrap());
        }
        let never = a.sub(&b).unwrap().is_never_zero(&|_| facts);
        assert_eq!(never, want == "E-mismatch", "{id}");
        // The same by brute force.
        let values = (0..200).filter(|n| {
            facts.lower <= *n && facts.upper.is_none_or(|upper| *n <= upper) && n % facts.multiple_of == 0
        });
        let evaluate = |dim: &Dim, n| dim.evaluate(&|_| Some(n)).unwrap();
        assert_eq!(!never, values.into_iter().any(|n| evaluate(&a, n) == evaluate(&b, n)), "{id}");
    }
}

/// Sizes from which the shapes of the brute-force tests are made.
const SIZES: &[&str] = &[
    "0", "1", "2", "3", "n", "m", "n+1", "n-1", "2*n", "2*n+1", "n+m", "n*m", "n//2", "(n+1)//2", "n*n",
    "m+3",
];

/// For all values of the symbols: what is accepted is what NumPy gives; what is a certain mismatch never fits by
/// the rule of the literal 1; and what is undetermined fits for some values.
#[test]
fn broadcast_is_sound() {
    for a in SIZES {
        for b in SIZES {
            for (left, right) in [((*a).to_owned(), (*b).to_owned()), (format!("{a},2"), format!("{b},1"))] {
                let mut graph = Graph::new();
                graph.symbol("n", here());
                graph.symbol("m", here());
                let result = build(&mut graph, "add", &left, &right, "");
                let (x, y) = (shape(&mut graph, &left), shape(&mut graph, &right));
                let code = graph.diagnostics().first().map(|mistake| mistake.code().as_str());
                let mut fits = false;
                for_all_values(2, |value| {
                    let (Some(p), Some(q)) = (concrete(&x, value), concrete(&y, value)) else { return };
                    fits |= p[0] == q[0];
                    if code.is_none() {
                        let numpy = support::numpy_broadcast(&p, &q);
                        assert_eq!(concrete(graph.shape(result), value), numpy, "{left} + {right}");
                    }
                });
                match code {
                    None => {}
                    Some("S001") => assert!(!fits, "{left} + {right} can fit"),
                    // Whether a square is ever 2, or `n//2` ever `n+1`, is beyond the tests for sizes that are
                    // never equal.
                    Some("S002") if [a, b].iter().any(|size| size.contains("n*n") || size.contains("//")) => {
                    }
                    Some("S002") => assert!(fits, "{left} + {right} never fits"),
                    Some(code) => panic!("{code}"),
                }
            }
        }
    }
}

/// Three operands fold as NumPy's do, and a stretch to a shape gives that shape.
#[test]
fn three_operands_and_stretching_are_sound() {
    let sizes = ["0", "1", "3", "n", "m", "n+1"];
    let mut accepted = 0;
    for a in sizes {
        for b in sizes {
            for c in sizes {
                let mut graph = Graph::new();
                graph.symbol("n", here());
                graph.symbol("m", here());
                let operands =
                    [("a", a), ("b", b), ("c", c)].map(|(name, dims)| input(&mut graph, name, dims));
                let result = graph.elementwise(Op::Fma, &operands, here());
                let distinct: BTreeSet<&str> = [a, b, c].into_iter().filter(|size| *size != "1").collect();
                assert_eq!(graph.diagnostics().is_empty(), distinct.len() <= 1, "{a}, {b}, {c}");
                if graph.is_poisoned(result) {
                    continue;
                }
                accepted += 1;
                let shapes = [a, b, c].map(|dims| shape(&mut graph, dims));
                for_all_values(2, |value| {
                    let [x, y, z] = shapes.each_ref().map(|dims| concrete(dims, value).unwrap());
                    let both = support::numpy_broadcast(&x, &y).unwrap();
                    let numpy = support::numpy_broadcast(&both, &z);
                    assert_eq!(concrete(graph.shape(result), value), numpy, "{a}, {b}, {c}");
                });
            }
            let mut graph = Graph::new();
            let x = input(&mut graph, "x", a);
            let wanted = shape(&mut graph, &format!("2,{b}"));
            let stretched = graph.broadcast_to(x, wanted.clone(), here());
            assert_eq!(graph.diagnostics().is_empty(), a == "1" || a == b, "{a} to {b}");
            assert!(graph.is_poisoned(stretched) || *graph.shape(stretched) == wanted);
        }
    }
    assert!(accepted > 30, "{accepted}");
}

/// For all sizes that meet the obligations, slices take the elements that Python's do, within the axis.
#[test]
fn slices_are_sound() {
    let bounds = ["", "0", "1", "3", "-1", "-3", "n", "n-2", "n//2"];
    for start in bounds {
        for stop in bounds {
            for step in [1, 2, 3, -1, -2] {
                let mut graph = Graph::new();
                graph.symbol("n", here());
                let x = input(&mut graph, "x", "n");
                let mut bound = |text: &str| (!text.is_empty()).then(|| dim(&mut graph, text));
                let (first, last) = (bound(start), bound(stop));
                let spec = SliceSpec::Range { start: first.clone(), stop: last.clone(), step };
                let y = graph.slice(x, &[spec], here());
                let checked = graph.finish(&[("y", y)]).ok();
                for n in 0..10 {
                    let value = |bound: &Option<Dim>, default: i64| match bound {
                        None => default,
                        Some(dim) if dim.as_constant().is_some_and(|value| value < 0) => {
                            n + dim.as_constant().unwrap()
                        }
                        Some(dim) => dim.evaluate(&|_| Some(n)).unwrap(),
                    };
                    let (from, to) = (value(&first, 0), value(&last, n));
                    let valid = 0 <= from && from <= to && to <= n;
                    let Some(checked) = &checked else {
                        assert!(!valid, "{start}:{stop}:{step} is good for n = {n}");
                        continue;
                    };
                    let met = checked
                        .obligations()
                        .iter()
                        .all(|need| need.nonnegative.evaluate(&|_| Some(n)).unwrap() >= 0);
                    assert_eq!(met, valid, "{start}:{stop}:{step} for n = {n}");
                    if !met {
                        continue;
                    }
                    let length = checked.shape(checked.outputs()[0].expr)[0].evaluate(&|_| Some(n)).unwrap();
                    let stride = usize::try_from(step.abs()).unwrap();
                    let forward: Vec<i64> = (from..to).collect();
                    let wanted: Vec<i64> = match step > 0 {
                        true => forward.into_iter().step_by(stride).collect(),
                        false => forward.into_iter().rev().step_by(stride).collect(),
                    };
                    assert_eq!(
                        length,
                        i64::try_from(wanted.len()).unwrap(),
                        "{start}:{stop}:{step}, n = {n}"
                    );
                    let (origin, stride) = slice_of(checked, n);
                    let got: Vec<i64> = (0..length).map(|index| origin + index * stride).collect();
                    assert_eq!(got, wanted, "{start}:{stop}:{step} for n = {n}");
                }
            }
        }
    }
}

/// Start and step of the only slice, or of the whole axis.
fn slice_of(graph: &broadloom_ir::graph::CheckedGraph, n: i64) -> (i64, i64) {
    use broadloom_ir::graph::{Node, View};
    match graph.node(graph.outputs()[0].expr) {
        Node::View { view: View::Slice(parts), .. } => {
            (parts[0].start.evaluate(&|_| Some(n)).unwrap(), parts[0].step)
        }
        _ => (0, 1),
    }
}

/// Reshapes that are accepted keep the number of elements for all sizes that meet the obligations.
#[test]
fn reshapes_are_sound() {
    let targets = ["_", "_,2", "2,_", "n,_", "_,m", "n*m", "m,n", "2*n,_", "n-1,_", "_,n+1", "n,m,_"];
    let mut accepted = 0;
    for source in ["n,m", "n,6", "n*m,2", "n-1,n+1", "2*n,m,3", "n,n", "0,n"] {
        for target in targets {
            let mut graph = Graph::new();
            graph.symbol("n", here());
            graph.symbol("m", here());
            input(&mut graph, "sizes", "n,m");
            let result = build(&mut graph, "reshape", source, "", target);
            let Ok(checked) = graph.finish(&[("y", result)]) else { continue };
            accepted += 1;
            let source: Shape = shape(&mut graph, source);
            for_all_values(2, |value| {
                let Some(sizes) = concrete(&source, value) else { return };
                let met = |need: &Dim| need.evaluate(value).unwrap() >= 0;
                if checked.obligations().iter().all(|need| met(&need.nonnegative)) {
                    let result = concrete(graph.shape(result), value).expect("sizes are not negative");
                    assert_eq!(sizes.iter().product::<i64>(), result.iter().product::<i64>());
                }
            });
        }
    }
    assert!(accepted > 20, "{accepted}");
}
