//! What the tests share.
#![allow(dead_code, reason = "each test uses a part")]

use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{AnyNumber, Scalar};
use broadloom_ir::graph::{CheckedGraph, Demand, Node, SliceAxis, View};
use broadloom_ir::interp::{Array, interpret};
use broadloom_text::Program;
use std::collections::{HashMap, HashSet};

/// The graph of a program that has no mistakes.
#[track_caller]
pub fn graph(text: &str) -> CheckedGraph {
    match Program::parse("test", text).and_then(|program| program.resolve()) {
        Ok(graph) => graph,
        Err(mistakes) => panic!("{text}\n{mistakes:#}"),
    }
}

/// The mistakes of a program that has some, in full.
#[track_caller]
pub fn mistakes(text: &str) -> String {
    match Program::parse("expression", text).and_then(|program| program.resolve()) {
        Ok(graph) => panic!("{text}\n{graph}"),
        Err(mistakes) => format!("{mistakes:#}"),
    }
}

/// Asserts that an expression has this value, bit for bit, with any NaN for NaN.
#[track_caller]
pub fn assert_value(expression: &str, have: &Array, want: &Array) {
    let same = |(have, want): (&Scalar, &Scalar)| have.same(*want);
    assert!(
        (have.dtype, &have.shape) == (want.dtype, &want.shape)
            && have.elements.iter().zip(&want.elements).all(same),
        "{expression}\nhave {have:?}\nwant {want:?}"
    );
}

/// The first result, as floats.
#[track_caller]
pub fn run(text: &str, inputs: &[Array]) -> Vec<f64> {
    numbers(&interpret(&graph(text), inputs, true).unwrap_or_else(|error| panic!("{text}: {error}"))[0])
}

pub fn numbers(array: &Array) -> Vec<f64> {
    let number = |number: AnyNumber| match number {
        AnyNumber::Int(number) => number as f64,
        AnyNumber::Float(number) => number,
    };
    array.elements.iter().map(|element| number(element.number())).collect()
}

/// Asserts that numbers agree to the precision of `f32`, or of `f64` with `digits` of 12.
#[track_caller]
pub fn assert_near(have: &[f64], want: &[f64], digits: i32) {
    assert_eq!(have.len(), want.len());
    for (have, want) in have.iter().zip(want) {
        let tolerance = 10_f64.powi(-digits) * want.abs().max(1.0);
        assert!((have - want).abs() <= tolerance, "{have} is not {want}");
    }
}

/// Asserts that a program prints as text that reads back to itself and to the same graph.
#[track_caller]
pub fn assert_round_trip(graph: &CheckedGraph) -> String {
    let printed = broadloom_text::print(graph);
    let again = match Program::parse("printed", &printed).and_then(|program| program.resolve()) {
        Ok(again) => again,
        Err(mistakes) => panic!("{graph}\n{printed}\n{mistakes:#}"),
    };
    let twice = broadloom_text::print(&again);
    assert_eq!(printed, twice, "\n{graph}\n{again}");
    assert_eq!(canonical(graph), canonical(&again), "\n{printed}\n{graph}\n{again}");
    printed
}

/// A graph as text that does not depend on the order in which its expressions were made: inputs, the expressions in the
/// order in which the outputs need them, outputs and demands. Views that turned out to be their operands are left out.
pub fn canonical(graph: &CheckedGraph) -> String {
    let size = |dim: &Dim| dim.display(&|symbol| graph.named(symbol)).to_string();
    let mut lines = Vec::new();
    for input in graph.inputs() {
        let sizes: Vec<String> = input.shape.iter().map(size).collect();
        lines.push(format!("{} {} {sizes:?} {:?}", input.name, input.dtype, input.may_be_one));
    }
    // The lines of the graph's own text, with new numbers. The names of the values of a step may be others.
    // The lines of a step name their loop, by a number that may be another one, too.
    let mut loops: Vec<String> = Vec::new();
    let mut without_name = |line: &str| {
        let Some((before, rest)) = line.split_once(" of loop") else { return line.to_owned() };
        let (of, after) = rest.split_once(' ').unwrap_or((rest, ""));
        let known = loops.iter().position(|known| known == of).unwrap_or(loops.len());
        if known == loops.len() {
            loops.push(of.to_owned());
        }
        let before = before.split_once(" \"").map_or(before, |(before, _)| before);
        format!("{before} of loop{known} {after}")
    };
    let printed: Vec<String> = graph.to_string().lines().map(&mut without_name).collect();
    let mut number: Vec<Option<usize>> = vec![None; graph.len()];
    let mut known: HashMap<String, usize> = HashMap::new();
    let is_all = |parts: &[SliceAxis]| parts.iter().all(|part| part.start.is_zero() && part.step == 1);
    let mut stack: Vec<_> = graph.outputs().iter().rev().map(|output| (output.expr, false)).collect();
    while let Some((expr, ready)) = stack.pop() {
        if number[expr.index()].is_some() {
            continue;
        }
        if !ready {
            stack.push((expr, true));
            stack.extend(graph.operands(expr).into_iter().rev().map(|operand| (operand, false)));
            continue;
        }
        if let Node::View { view, operand } = graph.node(expr) {
            let is_whole = match view {
                View::Reshape | View::BroadcastTo | View::Rebind => true,
                View::Slice(parts) => is_all(parts),
                _ => false,
            };
            if is_whole && graph.shape(expr) == graph.shape(*operand) {
                number[expr.index()] = number[operand.index()];
                continue;
            }
        }
        if let Node::Set { value, region, .. } = graph.node(expr)
            && is_all(region)
            && graph.shape(expr) == graph.shape(*value)
        {
            number[expr.index()] = number[value.index()];
            continue;
        }
        let (_, meaning) = printed[expr.index()].split_once(" = ").unwrap();
        let line = renumbered(meaning, &number);
        let next = known.len();
        number[expr.index()] = Some(*known.entry(line.clone()).or_insert_with(|| {
            lines.push(format!("%{next} = {line}"));
            next
        }));
    }
    lines.extend(printed[graph.len()..].iter().map(|line| renumbered(line, &number)));
    // No array has a negative size, so what is the size of an input need not be demanded. The builder does it where it
    // learned only later that it is.
    let is_size_of_input = |demand: &Demand| match demand {
        Demand::NonNegative(dim) => graph.inputs().iter().any(|input| input.shape.contains(dim)),
        Demand::Equal(..) => false,
    };
    let mut demands: Vec<(String, String)> = graph
        .obligations()
        .iter()
        .filter(|obligation| !is_size_of_input(&obligation.demand))
        .map(|obligation| {
            let origin = obligation.origin.map(|origin| number[origin.index()]);
            let demand = match &obligation.demand {
                Demand::NonNegative(dim) => format!("{} >= 0", size(dim)),
                Demand::Equal(left, right) => {
                    format!("{} == {}", size(left), size(right))
                }
            };
            (format!("{origin:?}"), demand)
        })
        .collect();
    demands.sort_unstable();
    // What an expression demands need not be demanded by those that are made of it.
    let mut met = HashSet::new();
    demands.retain(|(_, demand)| met.insert(demand.clone()));
    lines.extend(demands.into_iter().map(|(origin, demand)| format!("{origin} {demand}")));
    // A size that is inferred gets a name in the text (`?x.0` is `x_0` there) if a condition mentions it.
    let text = lines.join("\n");
    let mut parts = text.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |named, part| named + &part.replacen('.', "_", 1))
}

/// A line of a graph's text with other numbers of expressions.
fn renumbered(line: &str, number: &[Option<usize>]) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('%') {
        let digits: String = rest[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        text += &rest[..at];
        match digits.parse::<usize>() {
            Ok(old) => text += &format!("%{}", number[old].unwrap_or(usize::MAX)),
            Err(_) => text.push('%'),
        }
        rest = &rest[at + 1 + digits.len()..];
    }
    text + rest
}
