//! The reference of functions for a terminal: the page generated from the tables of the source, and the text language's
//! explanations of other functions.

use crate::args::OpsArgs;
use crate::failure::{Failure, LIST};
use crate::terminal::Terminal;
use broadloom::DType;
use broadloom_text::{Given, Program};
use std::fmt::Write;

/// Generated from the tables of the source and compared with them by the workspace's tests.
const PAGE: &str = include_str!("../pages/ops.md");

/// An operation: the column headers of its table, with its cells.
struct Op {
    section: &'static str,
    cells: Vec<(&'static str, String)>,
}

impl Op {
    fn cell(&self, head: &str) -> &str {
        self.cells.iter().find(|(known, _)| *known == head).map_or("", |(_, cell)| cell)
    }

    fn name(&self) -> &str {
        self.cell("op")
    }
}

/// The rows of the page's tables.
fn ops() -> Vec<Op> {
    let (mut ops, mut section, mut heads) = (Vec::new(), "", Vec::new());
    for line in PAGE.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            (section, heads) = (title, Vec::new());
        }
        let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else { continue };
        let cells = row.split(" | ");
        if heads.is_empty() {
            heads = cells.collect();
        } else if !row.starts_with("---") {
            let plain = |cell: &str| cell.replace("\\|", "|").replace('`', "");
            ops.push(Op { section, cells: heads.iter().copied().zip(cells.map(plain)).collect() });
        }
    }
    ops
}

/// `broadloom ops`.
///
/// # Errors
/// Returns an error if no operation has the name.
pub fn run(args: &OpsArgs, terminal: &Terminal) -> Result<(), Failure> {
    let ops = ops();
    match &args.name {
        None => terminal.print(list(&ops)),
        Some(name) => terminal.print(one(&ops, name)?),
    }
}

fn list(ops: &[Op]) -> String {
    let width = ops.iter().map(|op| op.name().len()).max().unwrap_or(0);
    let (mut text, mut section) = (String::new(), "");
    for op in ops {
        // Writing to a string cannot fail.
        if op.section != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = op.section;
            let _ = writeln!(text, "{gap}{section}:");
        }
        let _ = writeln!(text, "  {:width$}  {}", op.name(), op.cell("meaning"));
    }
    let _ = writeln!(text, "\nViews, joins, segments, grids and the like:");
    for name in broadloom_text::functions() {
        if let Some(explanation) = broadloom_text::explanation(name) {
            let meaning = explanation.meaning;
            let _ = writeln!(text, "  {name:width$}  {meaning}");
        }
    }
    text + "\n`broadloom ops NAME` explains one of them; `broadloom help language` explains how to write programs.\n"
}

fn one(ops: &[Op], name: &str) -> Result<String, Failure> {
    let name = name.strip_prefix("np.").unwrap_or(name);
    let own = broadloom_text::own_name(name).unwrap_or(name);
    let op = ops.iter().find(|op| op.name() == own);
    let explanation = broadloom_text::explanation(own);
    let usage = broadloom_text::usage(own);
    if op.is_none() && usage.is_none() {
        let failure = Failure::usage(format!("there is no operation named {name:?}"));
        return Err(failure.help(broadloom_text::instead(name).unwrap_or_else(|| LIST.to_owned())));
    }
    let meaning = op.map(|op| op.cell("meaning")).or(explanation.map(|explanation| explanation.meaning));
    let mut text = format!("{own}: {}\n", meaning.unwrap_or("see its NumPy namesake."));
    let mut line = |head: &str, cell: &str| {
        if !cell.is_empty() {
            let _ = writeln!(text, "  {head:<12} {}", cell.replace('\n', "\n               "));
        }
    };
    line("usage", usage.as_deref().unwrap_or_default());
    if let Some(op) = op {
        line("shapes", shapes(op));
        line("dtypes", &dtypes(own));
        for (head, cell) in op.cells.iter().filter(|(head, _)| !matches!(*head, "op" | "meaning")) {
            line(head, cell);
        }
    }
    if let Some(explanation) = explanation {
        line("shapes", explanation.shapes);
        line("dtypes", explanation.dtypes);
        line("example", &format!("{}\n{}", explanation.example, explanation.value));
    }
    line("other names", &broadloom_text::other_names(own).collect::<Vec<_>>().join(", "));
    Ok(text)
}

/// The rule for the result's shape; each table of the page has one.
fn shapes(op: &Op) -> &'static str {
    match op.section {
        "Elementwise" | "Made of these" => "operands broadcast",
        "Reductions" => "x without the axes, or with size 1 for each if keepdims=True; all axes by default",
        _ => "as its meaning says",
    }
}

/// The dtype of the result for some operand dtypes, computed by the language.
fn dtypes(own: &str) -> String {
    let Some(usage) = broadloom_text::usage(own) else { return String::new() };
    let (_, parameters) = usage.split_once('(').unwrap_or_default();
    let needed = parameters.trim_end_matches(')').split(", ").filter(|name| !name.ends_with('=')).count();
    let result_of = |count: usize, dtype: DType| {
        let call = format!("{own}({})", vec!["x"; count].join(", "));
        let given = Given { name: "x", dtype, shape: &[2, 2], rows: None, names: None };
        let graph = Program::parse("usage", &call).and_then(|program| program.resolve_with(&[given])).ok()?;
        let [result] = graph.outputs() else { return None };
        Some(format!("{dtype} -> {}", graph.dtype(result.expr)))
    };
    // Some arguments are optional, but not all at once, such as the bounds of `clip`.
    let result = |dtype| (needed..=needed + 2).find_map(|count| result_of(count, dtype));
    let tried = [DType::Bool, DType::U8, DType::I64, DType::F32, DType::F64];
    tried.into_iter().filter_map(result).collect::<Vec<String>>().join(", ")
}
