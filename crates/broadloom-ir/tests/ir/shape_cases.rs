//! The case tables of the broadcasting guides and of symbolic shapes, row by row.

use crate::support::{concrete, dim, for_all_values, here, input, shape, text};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Element, Scalar};
use broadloom_ir::graph::{CheckedGraph, Graph, SliceSpec};
use broadloom_ir::interp::{Array, interpret, interpret_with_sizes};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use std::collections::{BTreeMap, BTreeSet};

const BROADCAST: &str = include_str!("../../../../tests/cases/broadcast_cases.tsv");
const SYMBOLIC: &str = include_str!("../../../../tests/cases/symbolic_cases.tsv");

fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().skip(1).map(|line| line.split('\t').collect())
}

/// An array of the numbers 1, 2, 3, ..
fn counting(dims: &[i64]) -> Array {
    let shape: Vec<usize> = dims.iter().map(|size| usize::try_from(*size).unwrap()).collect();
    let elements =
        (0..shape.iter().product::<usize>()).map(|value| Scalar::F32(value as f32 + 1.0)).collect();
    Array { dtype: DType::F32, shape, elements }
}

/// NumPy's sum of arrays whose axes are aligned with those of the result: `first` is the axis at which each begins.
fn numpy_sum(arrays: &[(&Array, usize)], shape: &[usize]) -> Vec<f32> {
    let count = shape.iter().product();
    let element = |mut position: usize| -> f32 {
        let mut index = vec![0; shape.len()];
        for (axis, size) in shape.iter().enumerate().rev() {
            (index[axis], position) = (position % size, position / size);
        }
        let of = |&(array, first): &(&Array, usize)| {
            let at = array
                .shape
                .iter()
                .enumerate()
                .fold(0, |at, (axis, &size)| at * size + if size == 1 { 0 } else { index[first + axis] });
            f32::from_scalar(array.elements[at]).unwrap()
        };
        arrays.iter().map(of).sum()
    };
    (0..count).map(element).collect()
}

#[test]
fn guides() {
    let mut run = 0;
    for row in rows(BROADCAST) {
        let [id, _, a, b, axis, inplace, want, ..] = row[..] else { panic!("{row:?}") };
        run += 1;
        let mut graph = Graph::new();
        let mut shapes = vec![a];
        let x = input(&mut graph, "a", &a.replace('x', ","));
        let mut sum = x;
        for (index, other) in b.split(';').enumerate() {
            shapes.push(other);
            let other = input(&mut graph, &format!("b{index}"), &other.replace('x', ","));
            sum = match (axis.parse(), inplace) {
                (_, "yes") => graph.assign_op(Op::Add, sum, other, here()),
                (Ok(axis), _) => graph.elementwise_at(Op::Add, [sum, other], axis, here()),
                (Err(_), _) => graph.elementwise(Op::Add, &[sum, other], here()),
            };
        }
        let got = match graph.mistakes() {
            [] => text(&graph, &graph.shape(sum)).replace(',', "x"),
            [mistake] if mistake.code().as_str() == "S001" => "error:broadcast".to_owned(),
            [mistake] if mistake.code().as_str() == "S003" => "error:inplace".to_owned(),
            [mistake] if mistake.code().as_str() == "S012" => "error:axis".to_owned(),
            mistakes => format!("{mistakes:?}"),
        };
        assert_eq!(got, want, "{id}: {a} + {b}, axis {axis:?}");
        if want.starts_with("error") {
            continue;
        }
        // The values, too.
        let sizes = |text: &str| -> Vec<i64> {
            if text == "()" {
                Vec::new()
            } else {
                text.split('x').map(|size| size.parse().unwrap()).collect()
            }
        };
        let arrays: Vec<Array> = shapes.iter().map(|dims| counting(&sizes(dims))).collect();
        let checked = graph.finish(&[("y", sum)]).unwrap();
        let result = interpret(&checked, &arrays, false).unwrap().remove(0);
        let rank = result.shape.len();
        let trimmed =
            |array: &Array| array.shape.iter().rposition(|size| *size != 1).map_or(0, |last| last + 1);
        let placed: Vec<(Array, usize)> = arrays
            .iter()
            .map(|array| {
                let mut array = array.clone();
                let first = match axis.parse::<usize>() {
                    Ok(axis) if array.shape.len() < rank => {
                        array.shape.truncate(trimmed(&array));
                        axis
                    }
                    _ => rank - array.shape.len(),
                };
                (array, first)
            })
            .collect();
        let placed: Vec<(&Array, usize)> = placed.iter().map(|(array, first)| (array, *first)).collect();
        assert_eq!(result.to_vec::<f32>().unwrap(), numpy_sum(&placed, &result.shape), "{id}");
    }
    assert_eq!(run, 157);
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
        "axis" => {
            let y = input(graph, "y", b);
            graph.elementwise_at(Op::Add, [x, y], arg.parse().unwrap(), here())
        }
        "concat0" => {
            let y = input(graph, "y", b);
            graph.concat(&[x, y], 0, here())
        }
        "reshape" => {
            let sizes: Vec<Option<Dim>> =
                arg.split(',').map(|size| if size == "_" { None } else { Some(dim(graph, size)) }).collect();
            graph.reshape(x, &sizes, here())
        }
        "rebind" => {
            let sizes: Vec<Option<Dim>> = shape(graph, arg).iter().cloned().map(Some).collect();
            graph.rebind(x, &sizes, here())
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

/// States `n>=1`, `n%8==0`, `m==n-1`, ..; facts of one symbol first.
fn declare(graph: &mut Graph, declared: &str) {
    let mut equalities = Vec::new();
    for fact in declared.split("; ").skip(1) {
        let mut of = |at: &str| {
            let (name, bound) = fact.split_once(at)?;
            Some((graph.symbol(name, here()), bound.parse::<i64>().ok()?))
        };
        if let Some((name, divisor)) = fact.split_once('%') {
            let divisor = divisor.strip_suffix("==0").unwrap().parse().unwrap();
            let symbol = graph.symbol(name, here());
            graph.state_multiple(symbol, divisor, here());
        } else if let Some((symbol, bound)) = of(">=") {
            graph.state_range(symbol, Some(bound), None, here());
        } else if let Some((symbol, bound)) = of("<=") {
            graph.state_range(symbol, None, Some(bound), here());
        } else {
            equalities.push(fact.split_once("==").unwrap());
        }
    }
    for (left, right) in equalities {
        let (left, right) = (dim(graph, left), dim(graph, right));
        graph.declare_equal(&left, &right, here());
    }
}

/// A truth such as `n >= 1`, `_a == n` or `m==n-1` for values of the names.
fn holds(fact: &str, values: &BTreeMap<&str, i64>) -> bool {
    let fact = fact.replace(' ', "");
    if let Some((name, divisor)) = fact.split_once('%') {
        let divisor: i64 = divisor.strip_suffix("==0").unwrap().parse().unwrap();
        return values[name] % divisor == 0;
    }
    let at = ["==", ">=", "<="].into_iter().find(|at| fact.contains(at)).unwrap();
    let (left, right) = fact.split_once(at).unwrap();
    let (left, right) = (evaluate(left, values), evaluate(right, values));
    match at {
        "==" => left == right,
        ">=" => left >= right,
        _ => left <= right,
    }
}

/// Names of a row, with those of inferred sizes.
fn names(declared: &str) -> Vec<&str> {
    declared.split("; ").next().unwrap().split(',').collect()
}

#[test]
fn symbolic() {
    let mut run = 0;
    for row in rows(SYMBOLIC) {
        let [id, _, declared, op, a, b, arg, want, check, _] = row[..] else { panic!("{row:?}") };
        run += 1;
        let mut graph = Graph::new();
        // Symbols in the order of declaration, which is that of printing.
        let rigid: Vec<&str> = names(declared).into_iter().filter(|name| !name.starts_with('_')).collect();
        for name in &rigid {
            match (id, *name) {
                ("Y094", "k") => graph.parameter(name, here()),
                _ => graph.symbol(name, here()),
            };
        }
        declare(&mut graph, declared);
        assert!(graph.mistakes().is_empty(), "{id}: {:?}", graph.diagnostics());
        if check == "warn=backcompat" {
            graph.warn_of_pointwise();
        }
        if id != "Y094" {
            input(&mut graph, "sizes", &rigid.join(","));
        }
        let result = build(&mut graph, op, a, b, arg);
        let code = match want {
            "E-mismatch" => "S001",
            "E-undetermined" => "S002",
            "E-inplace" => "S003",
            "E-reshape" => "S004",
            "E-squeeze" => "S005",
            "E-axis" => "S012",
            _ => "",
        };
        if !code.is_empty() {
            let diagnostics = graph.diagnostics();
            let [mistake] = &diagnostics[..] else { panic!("{id}: {diagnostics:?}") };
            assert_eq!(mistake.code().as_str(), code, "{id}: {mistake:#}");
            assert!(graph.is_poisoned(result));
            continue;
        }
        assert!(graph.mistakes().is_empty(), "{id}: {:?}", graph.diagnostics());
        let wanted = match want {
            "_a" => "?x.0".to_owned(),
            want => {
                let wanted = shape(&mut graph, want);
                text(&graph, &wanted)
            }
        };
        assert_eq!(text(&graph, &graph.shape(result)), wanted, "{id}");
        let warned: Vec<&str> = graph.warnings().iter().map(|warning| warning.code().as_str()).collect();
        assert_eq!(warned, if check == "warn=backcompat" { vec!["L001"] } else { vec![] }, "{id}");
        let checked = graph.finish(&[("y", result)]).unwrap();
        bind(id, &checked, &row);
    }
    assert_eq!(run, 94);
}

/// For all values of the names: arrays that the facts and the row's check allow are taken and give the shape that the
/// row says, all others are refused.
fn bind(id: &str, graph: &CheckedGraph, row: &[&str]) {
    let (declared, a, b, want, check) = (row[2], row[4], row[5], row[7], row[8]);
    let mut all = names(declared);
    // What is `#n` may be 1: its size varies by itself.
    let stretched = [a, b].iter().filter(|dims| dims.starts_with('#')).count();
    let hashes = ["#0", "#1"];
    all.extend(&hashes[..stretched]);
    let most: i64 = if all.len() > 2 { 3 } else { 20 };
    let mut accepted = 0;
    for index in 0..most.pow(all.len().try_into().unwrap()) {
        let digit = |at: usize| index / most.pow(at.try_into().unwrap()) % most;
        let values: BTreeMap<&str, i64> =
            all.iter().enumerate().map(|(at, name)| (*name, digit(at))).collect();
        let mut next_hash = 0;
        let mut sizes = |dims: &str| -> Vec<i64> {
            let parts = dims.split(',').filter(|part| !part.is_empty() && *part != "()");
            let size = |part: &str| match part.strip_prefix('#') {
                Some(_) => {
                    next_hash += 1;
                    values[hashes[next_hash - 1]]
                }
                // Not negative: arrays have sizes.
                None => evaluate(part, &values).max(0),
            };
            parts.map(size).collect()
        };
        let mut arrays = Vec::new();
        if id != "Y094" {
            let rigid: Vec<&str> =
                names(declared).into_iter().filter(|name| !name.starts_with('_')).collect();
            arrays.push(counting(&sizes(&rigid.join(","))));
        }
        let (x, y) = (sizes(a), sizes(b));
        arrays.push(counting(&x));
        if arrays.len() < graph.inputs().len() {
            arrays.push(counting(&y));
        }
        let mut valid = declared.split("; ").skip(1).all(|fact| holds(fact, &values));
        valid &= match check {
            "" | "warn=backcompat" => true,
            "size in {1,n}" | "sizes in {1,n}" => {
                hashes[..stretched].iter().all(|hash| [1, values["n"]].contains(&values[hash]))
            }
            check => holds(check, &values),
        };
        // Sizes that are written with a negative value have no array.
        valid &= [a, b].iter().flat_map(|dims| dims.split(',')).all(|part| {
            part.is_empty() || part == "()" || part.starts_with('#') || evaluate(part, &values) >= 0
        });
        let given: Vec<(&str, i64)> = if id == "Y094" { vec![("k", values["k"])] } else { Vec::new() };
        let result = interpret_with_sizes(graph, &arrays, &given, false);
        assert_eq!(result.is_ok(), valid, "{id} for {values:?}: {result:?}");
        if let Ok(result) = result {
            accepted += 1;
            let shape: Vec<i64> = result[0].shape.iter().map(|size| *size as i64).collect();
            let parts = want.split(',').filter(|part| !part.is_empty() && *part != "()");
            let wanted: Vec<i64> = parts.map(|part| evaluate(part, &values)).collect();
            assert_eq!(shape, wanted, "{id} for {values:?}");
        }
    }
    assert!(accepted > 0, "{id} takes no arrays");
    if id == "Y094" {
        assert!(interpret(graph, &[counting(&[2, 1])], false).is_err(), "k is not given");
    }
}

/// The value of a size by a parser of its own, with Python's `//`.
fn evaluate(text: &str, values: &BTreeMap<&str, i64>) -> i64 {
    let text = text.replace(' ', "");
    let mut depth = 0;
    let mut split = None;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '+' | '-' if depth == 0 && at > 0 => split = Some((at, letter)),
            _ => {}
        }
    }
    if let Some((at, sign)) = split {
        let (left, right) = (evaluate(&text[..at], values), evaluate(&text[at + 1..], values));
        return if sign == '+' { left + right } else { left - right };
    }
    let mut factor_end = None;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '*' | '/' if depth == 0 => factor_end = Some((at, letter)),
            _ => {}
        }
    }
    if let Some((at, letter)) = factor_end {
        let right = evaluate(&text[at + 1..], values);
        return match letter {
            '*' => evaluate(&text[..at], values) * right,
            _ => evaluate(&text[..at - 1], values).div_euclid(right),
        };
    }
    if let Some(rest) = text.strip_prefix('-') {
        return -evaluate(rest, values);
    }
    match text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => evaluate(inner, values),
        None => values.get(&*text).copied().unwrap_or_else(|| text.parse().unwrap()),
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
                let code = graph.mistakes().first().map(|mistake| mistake.code().as_str());
                let mut fits = false;
                for_all_values(2, |value| {
                    let (Some(p), Some(q)) = (concrete(&x, value), concrete(&y, value)) else { return };
                    fits |= p[0] == q[0];
                    if code.is_none() {
                        let numpy = crate::support::numpy_broadcast(&p, &q);
                        assert_eq!(concrete(&graph.shape(result), value), numpy, "{left} + {right}");
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
                assert_eq!(graph.mistakes().is_empty(), distinct.len() <= 1, "{a}, {b}, {c}");
                if graph.is_poisoned(result) {
                    continue;
                }
                accepted += 1;
                let shapes = [a, b, c].map(|dims| shape(&mut graph, dims));
                for_all_values(2, |value| {
                    let [x, y, z] = shapes.each_ref().map(|dims| concrete(dims, value).unwrap());
                    let both = crate::support::numpy_broadcast(&x, &y).unwrap();
                    let numpy = crate::support::numpy_broadcast(&both, &z);
                    assert_eq!(concrete(&graph.shape(result), value), numpy, "{a}, {b}, {c}");
                });
            }
            let mut graph = Graph::new();
            let x = input(&mut graph, "x", a);
            let wanted = shape(&mut graph, &format!("2,{b}"));
            let stretched = graph.broadcast_to(x, wanted.clone(), here());
            assert_eq!(graph.mistakes().is_empty(), a == "1" || a == b, "{a} to {b}");
            assert!(graph.is_poisoned(stretched) || graph.shape(stretched) == wanted);
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
                        .all(|need| need.demand.difference().unwrap().evaluate(&|_| Some(n)).unwrap() >= 0);
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
                if checked.obligations().iter().all(|need| met(&need.demand.difference().unwrap())) {
                    let result = concrete(&graph.shape(result), value).expect("sizes are not negative");
                    assert_eq!(sizes.iter().product::<i64>(), result.iter().product::<i64>());
                }
            });
        }
    }
    assert!(accepted > 20, "{accepted}");
}
