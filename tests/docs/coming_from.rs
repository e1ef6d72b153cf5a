//! docs/coming-from.md: each cell of its columns in the text language and in Rust is an expression, and those of a row have one
//! dtype and shape. Its programs are read; the documentation tests of `broadloom` run its blocks in Rust, and the tests of the
//! Python package those in Python.

use broadloom::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = include_str!("../../docs/coming-from.md");

/// The inputs of cells in the text language; their names have one letter.
const INPUTS: [&str; 7] = [
    "a: f64[n, m]",
    "b: f64[n, m]",
    "x: f64[n, 3]",
    "y: f64[k, 3]",
    "v: f64[k]",
    "i: i64[k]",
    "d: f64[n, k]",
];

/// A row of a table: its cells by the names of their columns.
type Row = BTreeMap<String, String>;

fn cells(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "\0");
    line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut header = Vec::new();
    for line in PAGE.lines() {
        if !line.starts_with('|') {
            header.clear();
        } else if header.is_empty() {
            header = cells(line);
        } else {
            rows.push(header.iter().cloned().zip(cells(line)).collect());
        }
    }
    rows
}

/// The code with which a cell begins.
fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.split('`').next()
}

fn in_text(row: &Row) -> Option<&str> {
    let cell = row.get("text language")?;
    code(if cell == "the same" { row.get("NumPy")? } else { cell })
}

/// The dtype and shape of a cell in the text language.
fn type_of(cell: &str) -> String {
    let words: BTreeSet<&str> = cell.split(|letter: char| !letter.is_alphanumeric()).collect();
    let used: Vec<&str> = INPUTS.into_iter().filter(|input| words.contains(&input[..1])).collect();
    let graph = broadloom_text::compile_expr(cell, &used);
    let graph = graph.unwrap_or_else(|mistakes| panic!("{cell}\n{mistakes:#}"));
    let signature = broadloom_text::signature(&graph);
    let result = signature.lines().next().and_then(|line| line.strip_prefix("result: "));
    result.unwrap_or_else(|| panic!("{cell}: {signature}")).to_owned()
}

fn without_spaces(code: &str) -> String {
    code.split_whitespace().collect()
}

/// The cells in Rust, each with the dtype and shape of what it makes.
macro_rules! types {
    ($([$($cell:tt)+])+) => {
        BTreeMap::from([$((without_spaces(stringify!($($cell)+)), {
            let tensor: Tensor = $($cell)+;
            tensor.to_string()
        })),+])
    };
}

#[test]
fn the_cells_of_a_row_have_one_dtype_and_shape() {
    let g = Graph::new();
    let [n, m, k] = g.symbols(["n", "m", "k"]);
    let (a, b) = (g.input::<f64>("a", shape![n, m]), g.input::<f64>("b", shape![n, m]));
    let (x, y) = (g.input::<f64>("x", shape![n, 3]), g.input::<f64>("y", shape![k, 3]));
    let (v, i) = (g.input::<f64>("v", shape![k]), g.input::<i64>("i", shape![k]));
    let d = (x.unsqueeze(1) - y).square().sum(-1);
    let types = types! {
        [select(a.gt(0), a, 0)]
        [!a.gt(b) & a.ne(0)]
        [a.square()]
        [a.floor_divide(2)]
        [a.mean_keepdims(1)]
        [a.std_with_correction(0, 1)]
        [a.filter(a.gt(0)).sum(0)]
        [a.masked(a.gt(0))]
        [a.unsqueeze(1) - b]
        [a.slice(slice![1..-1, ..;2])]
        [a.index(0, -1)]
        [a.take(i, 0)]
        [a.matmul(b.t())]
        [einsum("ij,kj->ik", [a, b])]
        [a.sort(0)]
        [a.cumsum(1)]
        [a.quantile(0.5, 1)]
        [concat([a, b], 0)]
        [a.index(1, 0) * g.iota(n)]
        [a.cast::<f32>()]
        [a.at(slice![1..]).set(0)]
        [a.at(a.lt(0)).set(0)]
        [v.at(i).set(1)]
        [v.at(i).add(1)]
        [b.add_(a)]
        [x.unsqueeze(1) - y]
        [(x.unsqueeze(1) - y).square().sum(-1)]
        [(-d).exp().matmul(v)]
        [d.min(1)]
        [d.argmin(1)]
        [d.topk_smallest(5, 1).1]
        [(-d).logsumexp(1)]
        [x.matmul(y.t())]
        [a.exp() + 1]
        [a.hypot(b)]
        [a.max(0)]
        [a.mean(1)]
        [a.sliding_window_view(3, 0)]
        [a.index(1, 0)]
        [a.at(slice![0]).set(0)]
    };
    g.check().unwrap_or_else(|mistakes| panic!("{mistakes:#}"));
    let mut found = BTreeSet::new();
    for row in rows() {
        let of_text = in_text(&row).map(type_of);
        let Some(cell) = row.get("Rust").and_then(|cell| code(cell)) else { continue };
        let of_rust = types.get(&without_spaces(cell));
        let of_rust = of_rust.unwrap_or_else(|| panic!("add `{cell}` to this test"));
        // The size of a selection has a name of its own in each graph.
        if let Some(of_text) = of_text
            && !of_rust.contains('@')
        {
            assert_eq!(*of_rust, of_text, "{cell}");
        }
        found.insert(without_spaces(cell));
    }
    let tested: BTreeSet<String> = types.into_keys().collect();
    assert_eq!(found, tested, "the cells of the page, and those of this test");
}

#[test]
fn the_programs_of_the_page_are_read() {
    assert_eq!(crate::language::read_programs(PAGE), 1);
}
