//! The reference of operations: the page that is generated from the tables of the source, for a terminal.

use crate::args::OpsArgs;
use crate::failure::Failure;
use crate::terminal::Terminal;
use std::fmt::Write;

/// Generated from the tables of the source and compared with them by the workspace's tests.
const PAGE: &str = include_str!("../../../docs/ops.md");

/// An operation: the heads of its table's columns with its cells.
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
/// If there is no operation of the name.
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
    let views = PAGE.rsplit("## ").next().unwrap_or_default().replace('`', "");
    let (title, rest) = views.split_once('\n').unwrap_or((&views, ""));
    let names = rest.split_once(": ").map_or(rest, |(_, names)| names).trim();
    let _ = write!(text, "\n{title}:\n");
    for line in names.lines() {
        let _ = writeln!(text, "  {line}");
    }
    text + "\n`broadloom ops NAME` prints one of them with its dtypes, accuracy and an example.\n"
}

fn one(ops: &[Op], name: &str) -> Result<String, Failure> {
    let name = name.strip_prefix("np.").unwrap_or(name);
    let own = broadloom_text::own_name(name).unwrap_or(name);
    let Some(op) = ops.iter().find(|op| op.name() == own) else {
        if broadloom_text::own_name(name).is_some() {
            return Ok(format!("{own}\n  other names  {}\n", others(own)));
        }
        let known = ops.iter().map(Op::name);
        let failure = Failure::usage(format!("there is no operation {name:?}"));
        return Err(match broadloom_text::nearest(name, known) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help("`broadloom ops` lists all"),
        });
    };
    let mut text = format!("{}: {}\n", op.name(), op.cell("meaning"));
    let rows = op.cells.iter().filter(|(head, _)| !matches!(*head, "op" | "meaning"));
    let other_names = others(own);
    let names = ("other names", other_names.as_str());
    for (head, cell) in rows.map(|(head, cell)| (*head, cell.as_str())).chain([names]) {
        if !cell.is_empty() {
            let _ = writeln!(text, "  {head:<12} {cell}");
        }
    }
    Ok(text)
}

fn others(own: &str) -> String {
    broadloom_text::other_names(own).collect::<Vec<_>>().join(", ")
}
