//! The text of a diagnostic.
//!
//! ```text
//! error[S001]: `add` cannot broadcast: axis 1 is 3 on the left and 4 on the right
//!   --> src/main.rs:9:20
//!    |
//!  9 |     let c = a + b;
//!    |             ^
//!    axis        0   1
//!    a    f32 [  4   3 ]   input "a"    src/main.rs:6:13
//!    b    f32 [  ·   4 ]   input "b"    src/main.rs:7:13
//!                    ^
//!    shapes are aligned at the last axis, so b's 4 meets a's 3, not a's 4
//!    help: to add one value per row, give b a trailing axis:   a + b.unsqueeze(1)      -> [4, 3]
//! ```

use super::problem::{headline, quoted};
use super::{Certainty, Conflict, Diagnostic, Made, Misplaced, Operand, Problem};
use crate::graph::Site;
use std::fmt::{self, Write};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// Longest text of a size in a table, in characters.
const MAX_CELL: usize = 32;
/// Longest source line that is shown, in characters.
const MAX_LINE: usize = 160;
/// How much of a source file is read to find a line, in bytes.
const MAX_SOURCE: u64 = 4 << 20;

/// Where the parts of a diagnostic stand, for front ends whose source is not Rust.
pub trait Places {
    /// The lines below the headline that point at the op: `  --> file:line:column` and the source with carets.
    fn op(&self, diagnostic: &Diagnostic) -> Vec<String>;
    /// Where the operand at this position was made; without it the table does not say.
    fn operand(&self, position: usize, operand: &Operand) -> Option<String>;
    /// Where the input of this name was declared.
    fn input(&self, name: &str, site: Site) -> Option<String>;
    /// Where something else stands that has this site.
    fn other(&self, site: Site) -> Option<String>;
}

/// Sites are places in Rust.
pub(super) struct RustPlaces;

impl Places for RustPlaces {
    fn op(&self, diagnostic: &Diagnostic) -> Vec<String> {
        let mut lines = Vec::new();
        source(diagnostic.site, &mut lines);
        lines
    }

    fn operand(&self, _: usize, operand: &Operand) -> Option<String> {
        Some(place(operand.site))
    }

    fn input(&self, _: &str, site: Site) -> Option<String> {
        Some(place(site))
    }

    fn other(&self, site: Site) -> Option<String> {
        Some(place(site))
    }
}

/// A diagnostic whose frame has these places.
pub(super) struct At<'a>(pub(super) &'a Diagnostic, pub(super) &'a dyn Places);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        frame(self.0, self.1, f)
    }
}

/// The whole frame.
pub(super) fn frame(diagnostic: &Diagnostic, places: &dyn Places, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let severity = if diagnostic.is_warning() { "warning" } else { "error" };
    let mut lines = vec![format!("{severity}[{}]: {diagnostic}", diagnostic.code())];
    lines.extend(places.op(diagnostic));
    let slip = slip(diagnostic);
    let table = table(diagnostic, places, slip.is_none());
    let origin = |origin: &super::Origin| {
        (
            format!("`{}` comes from input {:?} axis {}", origin.symbol, origin.input, origin.axis),
            places.input(&origin.input, origin.site),
        )
    };
    let mut origins: Vec<_> = diagnostic.origins.iter().map(origin).collect();
    for step in diagnostic.conflicts().iter().flat_map(|conflict| &conflict.inferred) {
        let [left, right] = &*step.sizes;
        let line =
            (format!("`{left}` is {} because of `{}`", quoted(right), step.op), places.other(step.site));
        if !origins.contains(&line) {
            origins.push(line);
        }
    }
    // All places stand in one column.
    let placed = table.iter().chain(&origins).filter(|(_, site)| site.is_some());
    let column = placed.map(|(text, _)| text.chars().count()).max().unwrap_or(0) + 4;
    let indented = |(text, place): &(String, Option<String>)| match place {
        Some(place) => format!("   {text:column$}{place}"),
        None => format!("   {}", text.trim_end()),
    };
    lines.extend(table.iter().map(indented));
    lines.extend(slip.into_iter().chain(reasons(diagnostic, places)).map(|reason| format!("   {reason}")));
    lines.extend(origins.iter().map(indented));
    helps(diagnostic, &mut lines);
    f.write_str(&lines.join("\n"))
}

/// All sentences that say why.
pub(super) fn because(diagnostic: &Diagnostic) -> Vec<String> {
    let slip = slip(diagnostic);
    let note = if slip.is_none() { caret_note(diagnostic) } else { None };
    note.into_iter().chain(slip).chain(reasons(diagnostic, &RustPlaces)).collect()
}

/// A place as `file:line:column`.
fn place(site: Site) -> String {
    if is_hidden(site) { "caller unknown".to_owned() } else { site.to_string() }
}

/// A call through a function pointer reports a line of the standard library.
fn is_hidden(site: Site) -> bool {
    site.file().starts_with("/rustc/")
}

fn source(site: Site, lines: &mut Vec<String>) {
    let number = site.line().to_string();
    let width = number.len().max(2);
    lines.push(format!("{:width$}--> {}", "", place(site)));
    let Some(line) = source_line(site) else { return };
    let column = site.column() as usize;
    if column > line.chars().count() {
        return;
    }
    lines.push(format!("{:width$} |", ""));
    lines.push(format!("{number:>width$} | {line}"));
    lines.push(format!("{:width$} | {:>column$}", "", "^"));
}

/// The line, if the file can be read: its path is relative to where the program was built, which is here or, for
/// tests of a package in a workspace, some directories up.
fn source_line(site: Site) -> Option<String> {
    if is_hidden(site) {
        return None;
    }
    let file = ["", "../", "../../", "../../../"].iter().find_map(|up| {
        let file = File::open(format!("{up}{}", site.file())).ok()?;
        file.metadata().ok()?.is_file().then_some(file)
    })?;
    let index = usize::try_from(site.line()).ok()?.checked_sub(1)?;
    let line = BufReader::new(file.take(MAX_SOURCE)).lines().nth(index)?.ok()?;
    let shown: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    (shown.chars().count() <= MAX_LINE).then(|| shown.trim_end().to_owned())
}

/// The operands as rows without indentation, each with where it was made; the axes above, and carets below.
fn table(diagnostic: &Diagnostic, places: &dyn Places, explains: bool) -> Vec<(String, Option<String>)> {
    let operands = &diagnostic.operands;
    let marks = marks(diagnostic);
    let is_aligned = operands.len() == 1 || !marks.is_empty();
    let rank = operands.iter().map(|operand| operand.dims.len()).max().unwrap_or(0);
    let name_width = operands.iter().map(|operand| operand.name.chars().count()).max().unwrap_or(0).max(4);
    let dtype_width = operands
        .iter()
        .filter_map(|operand| operand.dtype)
        .map(|dtype| dtype.name().len())
        .max()
        .unwrap_or(0);
    let cell = |operand: &Operand, axis: usize| {
        operand.dims.get(own_axis(operand, axis, rank)?).map(|size| clipped(size.text()))
    };
    let width = |axis: usize| {
        let cells = operands.iter().filter_map(|operand| cell(operand, axis));
        cells.map(|text| text.chars().count()).max().unwrap_or(1).max(axis.to_string().len()).max(2)
    };
    let widths: Vec<usize> = (0..rank).map(width).collect();
    let cells = |text: &dyn Fn(usize) -> String| {
        let mut row = String::new();
        for (axis, &width) in widths.iter().enumerate() {
            let separator = if axis == 0 { " " } else { "  " };
            // Writing to a string cannot fail.
            let _ = write!(row, "{separator}{:>width$}", text(axis));
        }
        row
    };
    let mut rows = Vec::new();
    let margin = name_width + 1 + dtype_width + 2;
    if is_aligned && rank > 0 {
        rows.push((format!("{:margin$}{}", "axis", cells(&|axis| axis.to_string())), None));
    }
    let descriptions: Vec<String> = operands.iter().map(|operand| description(&operand.made)).collect();
    let description_width = descriptions.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    for (position, (operand, made)) in operands.iter().zip(&descriptions).enumerate() {
        let dims = match is_aligned {
            true => cells(&|axis| cell(operand, axis).unwrap_or_else(|| "·".to_owned())) + " ",
            false => operand.dims.iter().map(|size| clipped(size.text())).collect::<Vec<_>>().join(", "),
        };
        let dtype = operand.dtype.map_or("", |dtype| dtype.name());
        let row = format!("{:name_width$} {dtype:dtype_width$} [{dims}]", operand.name);
        let place = places.operand(position, operand);
        rows.push((format!("{row}   {made:description_width$}"), place));
    }
    if is_aligned && !marks.is_empty() {
        let carets = cells(&|axis| if marks.contains(&axis) { "^".to_owned() } else { String::new() });
        let note = if explains { caret_note(diagnostic) } else { None };
        let note = note.map_or_else(String::new, |note| format!(" {note}"));
        rows.push((format!("{:margin$}{}{note}", "", carets.trim_end()), None));
    }
    rows
}

/// The axis of an operand that stands at an axis of the result.
fn own_axis(operand: &Operand, axis: usize, rank: usize) -> Option<usize> {
    match operand.placed {
        Some(first) => axis.checked_sub(first),
        None => (axis + operand.dims.len()).checked_sub(rank),
    }
}

fn clipped(text: &str) -> String {
    if text.chars().count() <= MAX_CELL {
        return text.to_owned();
    }
    text.chars().take(MAX_CELL - 1).chain(['…']).collect()
}

fn description(made: &Made) -> String {
    match made {
        Made::Input(name) => format!("input {name:?}"),
        Made::Op { op, of: Some(input) } => format!("{op} of {input:?}"),
        Made::Op { op, of: None } => format!("result of `{op}`"),
        Made::Constant(value) => format!("constant {value}"),
        Made::Wanted => "the wanted shape".to_owned(),
    }
}

/// The axes under which carets stand.
fn marks(diagnostic: &Diagnostic) -> Vec<usize> {
    match &diagnostic.problem {
        Problem::NotOne { axis, .. }
        | Problem::RepeatedAxis { axis }
        | Problem::Outside { axis, .. }
        | Problem::EmptyReduction { axis } => vec![*axis],
        Problem::Grows { target, result, .. } => {
            let added = result.len() - target.len();
            (0..result.len()).filter(|&axis| axis < added || target[axis - added] != result[axis]).collect()
        }
        _ => diagnostic.conflicts().iter().map(|conflict| conflict.axis).collect(),
    }
}

/// What stands beside the carets: why the sizes do not fit.
fn caret_note(diagnostic: &Diagnostic) -> Option<String> {
    let conflicts = diagnostic.conflicts();
    let clash = headline(&diagnostic.problem)?;
    if clash.certainty == Certainty::Sometimes {
        let [a, b] = &clash.only_if;
        return Some(format!("equal only for some sizes ({a} = {b})"));
    }
    match conflicts {
        [_] => match (clash.left.dim.as_constant(), clash.right.dim.as_constant()) {
            (Some(left), Some(right)) => {
                Some(format!("{left} and {right} differ and neither is the constant 1"))
            }
            _ => Some(format!("{} and {} are never equal", quoted(&clash.left), quoted(&clash.right))),
        },
        [first, second] => {
            let other = if std::ptr::eq(first, clash) { second } else { first };
            let (left, right) = (quoted(&other.left), quoted(&other.right));
            Some(match other.certainty {
                Certainty::Never => format!("{left} and {right} differ too"),
                Certainty::Sometimes => format!("{left} and {right} are not known to be equal either"),
            })
        }
        _ => None,
    }
}

/// The sentence for the commonest mistake: a size that meets another one because shapes align at the last axis,
/// while its like stands elsewhere.
fn slip(diagnostic: &Diagnostic) -> Option<String> {
    let Problem::Broadcast(_) = &diagnostic.problem else { return None };
    let clash = headline(&diagnostic.problem)?;
    let left = (diagnostic.operands.get(clash.left_operand)?, &clash.left);
    let right = (diagnostic.operands.get(clash.right_operand)?, &clash.right);
    let ((long, meets), (short, size)) = match left.0.dims.len().cmp(&right.0.dims.len()) {
        std::cmp::Ordering::Greater => (left, right),
        std::cmp::Ordering::Less => (right, left),
        std::cmp::Ordering::Equal => return None,
    };
    let (size_text, meets) = (quoted(size), quoted(meets));
    long.dims.contains(size).then(|| {
        let (long, short) = (possessive(&long.name), possessive(&short.name));
        format!(
            "shapes are aligned at the last axis, \
             so {short} {size_text} meets {long} {meets}, not {long} {size_text}"
        )
    })
}

/// `b's`, `codes'`.
fn possessive(name: &str) -> String {
    if name.ends_with('s') { format!("{name}'") } else { format!("{name}'s") }
}

/// Further sentences on why.
fn reasons(diagnostic: &Diagnostic, places: &dyn Places) -> Vec<String> {
    match &diagnostic.problem {
        Problem::Broadcast(conflicts)
            if conflicts.iter().all(|conflict| conflict.certainty == Certainty::Never)
                && slip(diagnostic).is_none() =>
        {
            stretched(diagnostic, conflicts).into_iter().collect()
        }
        Problem::Count { certainty: Certainty::Sometimes, only_if, .. }
        | Problem::Undecided { certainty: Certainty::Sometimes, only_if, .. }
        | Problem::Unequal { certainty: Certainty::Sometimes, only_if, .. } => {
            let [a, b] = &**only_if;
            vec![format!("equal only for some sizes ({a} = {b})")]
        }
        Problem::NotOne { size, .. } if size.dim.as_constant().is_none() => {
            vec!["the rank must not depend on sizes, so only the constant 1 can be removed".to_owned()]
        }
        Problem::Unsolvable { symbol } => vec![format!(
            "an input axis must be `{symbol}`, or a constant times it plus sizes that other axes determine"
        )],
        Problem::Grows { result, .. } => {
            vec![format!("the result would be {result:?}, and what is written to keeps its shape")]
        }
        Problem::LateFact { used, .. } => {
            places.other(used).map(|place| format!("used first at {place}")).into_iter().collect()
        }
        Problem::Placement { because: Misplaced::EqualRanks, .. } => {
            vec!["operands of equal rank are placed at axis 0 or -1".to_owned()]
        }
        Problem::Placement { because: Misplaced::NoAxis, .. } => {
            vec!["an axis counts from 0; the only negative one is -1, which means the last axes".to_owned()]
        }
        Problem::Placement { because: Misplaced::TooLong, .. } => {
            vec![
                "only axes of the constant size 1 may reach beyond the last axis, as they are left out"
                    .to_owned(),
            ]
        }
        Problem::Pointwise { is_harmless: false, .. } => {
            vec!["before torch 0.2 this was an operation element by element".to_owned()]
        }
        Problem::Pointwise { is_harmless: true, .. } => {
            vec!["the result has as many, so this is the operation element by element".to_owned()]
        }
        Problem::AssignedTwice { first, .. } => {
            places.other(first).map(|place| format!("assigned first at {place}")).into_iter().collect()
        }
        Problem::DuplicateInput { first, .. } => {
            let place = places.input(&first.name, first.site);
            place.map(|place| format!("declared first at {place}")).into_iter().collect()
        }
        Problem::ForeignTensor { here, there } => {
            let mut reasons = vec![format!("this graph was made at {}", place(here))];
            reasons.extend(there.map(|there| format!("the other graph was made at {}", place(there))));
            reasons
        }
        _ => Vec::new(),
    }
}

/// Names the axes beside the clashing ones that do stretch, so that they are not suspected.
fn stretched(diagnostic: &Diagnostic, conflicts: &[Conflict]) -> Option<String> {
    let operands = &diagnostic.operands;
    let rank = operands.iter().map(|operand| operand.dims.len()).max()?;
    let fine = |axis: &usize| {
        let size = |operand: &Operand| {
            operand.dims.get(own_axis(operand, *axis, rank)?).map(|size| size.dim.is_one())
        };
        let sizes: Option<Vec<bool>> = operands.iter().map(size).collect();
        sizes.is_some_and(|ones| ones.contains(&true)) && !conflicts.iter().any(|clash| clash.axis == *axis)
    };
    let fine: Vec<String> = (0..rank).filter(fine).map(|axis| axis.to_string()).collect();
    match fine.split_last()? {
        (last, []) => Some(format!("axis {last} is fine: a 1 stretches to the other size")),
        (last, others) => {
            Some(format!("axes {} and {last} are fine: a 1 stretches to the other size", others.join(", ")))
        }
    }
}

fn helps(diagnostic: &Diagnostic, lines: &mut Vec<String>) {
    let with_code = || diagnostic.helps.iter().filter_map(|help| Some((help, help.code.as_ref()?)));
    let text_width = with_code().map(|(help, _)| help.text.chars().count()).max().unwrap_or(0);
    let code_width = with_code().map(|(_, code)| code.chars().count()).max().unwrap_or(0);
    for help in &diagnostic.helps {
        let mut line = match &help.code {
            Some(code) => format!("{:text_width$}   {code:code_width$}", help.text),
            None => help.text.to_string(),
        };
        if let Some(result) = &help.result {
            let _ = write!(line, "      -> {result:?}");
        }
        lines.push(format!("   help: {}", line.trim_end()));
    }
    let is_undetermined =
        headline(&diagnostic.problem).is_some_and(|clash| clash.certainty == Certainty::Sometimes);
    if is_undetermined && diagnostic.helps.iter().all(|help| help.assumes) {
        lines.push(
            "   note: a symbol never stretches, even when it is 1 at run time; only the constant 1 does"
                .to_owned(),
        );
    }
}
