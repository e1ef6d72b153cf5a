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

use super::headline::{headline, quoted};
use super::reason::{caret_note, reasons, slip};
use super::text::{Row, Style, Text};
use super::{Certainty, Decider, Diagnostic, Made, Operand, Problem, Rule, Subscripts};

/// The longest size in a table, in characters.
const MAX_CELL: usize = 32;
/// The longest subscripts shown, in characters.
const MAX_SUBSCRIPTS: usize = 100;
/// The label before the subscripts.
const SUBSCRIPTS: &str = "subscripts   ";

/// Returns the whole frame.
pub(super) fn text(diagnostic: &Diagnostic) -> Text {
    let (severity, word) =
        if diagnostic.is_warning() { (Style::Warning, "warning") } else { (Style::Error, "error") };
    let label = format!("{word}[{}]", diagnostic.code());
    let mut text = Text::message(severity, label, diagnostic.to_string());
    text.source(diagnostic.site, severity);
    let slip = slip(diagnostic);
    let mut rows = table(diagnostic, slip.is_none(), severity);
    if let Problem::Subscripts(subscripts) = &diagnostic.problem {
        rows.extend(pointed(subscripts, severity));
    }
    rows.extend(slip.into_iter().chain(reasons(diagnostic)).map(|reason| Row::new(reason, None)));
    rows.extend(origins(diagnostic));
    text.rows(rows);
    helps(diagnostic, &mut text);
    text
}

/// Returns the origins of the sizes, if the table does not show them, and other places that explain the mistake.
fn origins(diagnostic: &Diagnostic) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for super::Origin { symbol, of, site } in &diagnostic.origins {
        let text = match of {
            // Names from the user contain no `?`.
            Decider::Axis { input, axis } => {
                let verb = if symbol.starts_with('?') { "is the `_` of" } else { "comes from" };
                format!("`{symbol}` {verb} input {input:?} axis {axis}")
            }
            Decider::Mask(call) => format!("`{symbol}` counts the true elements of `{call}`"),
            Decider::Number(call) => format!("`{symbol}` is the value of `{call}`"),
        };
        rows.push(Row::new(text, Some(*site)));
    }
    for step in diagnostic.conflicts().iter().flat_map(|conflict| &conflict.inferred) {
        let [left, right] = &*step.sizes;
        let row =
            Row::new(format!("`{left}` is {} because of `{}`", quoted(right), step.op), Some(step.site));
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    match &diagnostic.problem {
        Problem::LateFact { used, .. } => rows.push(Row::leading("", "first used at", *used)),
        Problem::AssignedTwice { first, .. } => rows.push(Row::leading("", "first assigned at", *first)),
        Problem::DuplicateInput { first, .. } => rows.push(Row::leading("", "first declared at", first.site)),
        Problem::ForeignTensor { here, there } => {
            rows.push(Row::leading("", "this graph was made at", *here));
            rows.extend(there.map(|there| Row::leading("", "the other graph was made at", there)));
        }
        _ => {}
    }
    rows
}

/// Returns the operands with their places; the axes are above them, and carets below.
fn table(diagnostic: &Diagnostic, explains: bool, severity: Style) -> Vec<Row> {
    let operands = &diagnostic.operands;
    let marks = marks(diagnostic);
    let is_aligned =
        operands.len() == 1 || !marks.is_empty() || matches!(diagnostic.problem, Problem::Pointwise { .. });
    let heads: Vec<Box<str>> = match &diagnostic.problem {
        Problem::Contraction { alignment, .. }
            if operands.iter().all(|operand| operand.columns.is_some()) =>
        {
            alignment.heads.clone()
        }
        _ => {
            let rank = operands.iter().map(|operand| operand.dims.len()).max().unwrap_or(0);
            (0..rank).map(|axis| axis.to_string().into()).collect()
        }
    };
    let rank = heads.len();
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let name_width = longest(&mut operands.iter().map(|operand| operand.name.chars().count())).max(4);
    let dtypes = operands.iter().filter_map(|operand| operand.dtype);
    let dtype_width = longest(&mut dtypes.map(|dtype| dtype.name().len()));
    let cell = |operand: &Operand, axis: usize| {
        operand.dims.get(own_axis(operand, axis, rank)?).map(|size| clipped(size.text()))
    };
    let width = |axis: usize| {
        let cells = operands.iter().filter_map(|operand| cell(operand, axis));
        longest(&mut cells.map(|text| text.chars().count())).max(heads[axis].len()).max(2)
    };
    let widths: Vec<usize> = (0..rank).map(width).collect();
    let cells = |row: &mut Row, style: &dyn Fn(usize) -> Style, cell: &dyn Fn(usize) -> String| {
        for (axis, &width) in widths.iter().enumerate() {
            row.add(Style::Plain, if axis == 0 { " " } else { "  " });
            row.add(style(axis), format!("{:>width$}", cell(axis)));
        }
    };
    let mut rows = Vec::new();
    let margin = name_width + 1 + dtype_width + 2;
    if is_aligned && rank > 0 {
        let mut row = Row::empty(None);
        row.add(Style::Frame, format!("{:margin$}", "axis"));
        cells(&mut row, &|_| Style::Frame, &|axis| heads[axis].to_string());
        rows.push(row);
    }
    let descriptions: Vec<String> =
        operands.iter().enumerate().map(|(index, operand)| description(diagnostic, index, operand)).collect();
    let description_width = longest(&mut descriptions.iter().map(|text| text.chars().count()));
    let listed = |operand: &Operand| {
        let dims: Vec<String> = operand.dims.iter().map(|size| clipped(size.text())).collect();
        format!("[{}]", dims.join(", "))
    };
    let list_width = longest(&mut operands.iter().map(|operand| listed(operand).chars().count()));
    for (operand, made) in operands.iter().zip(&descriptions) {
        let is_made = !matches!(operand.made, Made::Wanted | Made::Result);
        let mut row = Row::empty(is_made.then_some(operand.site));
        let dtype = operand.dtype.map_or("", |dtype| dtype.name());
        row.add(Style::Plain, format!("{:name_width$} {dtype:dtype_width$} ", operand.name));
        if is_aligned {
            row.add(Style::Plain, "[");
            let style = |axis: usize| match cell(operand, axis) {
                Some(_) if marks.contains(&axis) => severity,
                _ => Style::Plain,
            };
            cells(&mut row, &style, &|axis| cell(operand, axis).unwrap_or_else(|| "·".to_owned()));
            row.add(Style::Plain, " ]");
        } else {
            row.add(Style::Plain, format!("{:list_width$}", listed(operand)));
        }
        row.add(Style::Plain, format!("   {made:description_width$}"));
        rows.push(row);
    }
    if is_aligned && !marks.is_empty() {
        let mut row = Row::empty(None);
        row.add(Style::Plain, format!("{:margin$}", ""));
        let last = marks.last().copied().unwrap_or(0);
        for (axis, &width) in widths.iter().enumerate().take(last + 1) {
            row.add(Style::Plain, if axis == 0 { " " } else { "  " });
            row.add(severity, format!("{:>width$}", if marks.contains(&axis) { "^" } else { "" }));
        }
        if let Some(note) = caret_note(diagnostic).filter(|_| explains) {
            row.add(severity, format!(" {note}"));
        }
        rows.push(row);
    }
    rows
}

/// Returns subscripts as written, with carets under the part that is wrong.
fn pointed(subscripts: &Subscripts, severity: Style) -> Vec<Row> {
    let Subscripts { text, at, .. } = subscripts;
    let (before, part) = (text.get(..at.start).unwrap_or(text), text.get(at.clone()).unwrap_or(""));
    if text.chars().count() > MAX_SUBSCRIPTS || text.contains(char::is_control) {
        return Vec::new();
    }
    let mut carets = Row::empty(None);
    carets.add(Style::Plain, format!("{:indent$}", "", indent = SUBSCRIPTS.len() + before.chars().count()));
    carets.add(severity, "^".repeat(part.chars().count().max(1)));
    vec![Row::new(format!("{SUBSCRIPTS}{text}"), None), carets]
}

/// Returns the axis of an operand that is aligned with an axis of the result.
pub(super) fn own_axis(operand: &Operand, axis: usize, rank: usize) -> Option<usize> {
    match &operand.columns {
        Some(columns) => columns.iter().position(|column| *column == axis),
        None => (axis + operand.dims.len()).checked_sub(rank),
    }
}

fn clipped(text: &str) -> String {
    if text.chars().count() <= MAX_CELL {
        return text.to_owned();
    }
    text.chars().take(MAX_CELL - 1).chain(['…']).collect()
}

fn description(diagnostic: &Diagnostic, index: usize, operand: &Operand) -> String {
    let made = match &operand.made {
        Made::Input(name) => format!("input {name:?}"),
        Made::Op { op, of: Some(input) } => format!("{op} of {input:?}"),
        Made::Op { op, of: None } => format!("result of `{op}`"),
        Made::List => "a list of numbers".to_owned(),
        Made::Constant(value) => format!("constant {value}"),
        Made::Wanted => "the requested shape".to_owned(),
        Made::Result => "the result to write".to_owned(),
    };
    let first = operand.columns.as_ref().and_then(|columns| columns.first());
    match (&diagnostic.problem, first) {
        (Problem::Grows { .. }, _) if index == 0 => format!("{made}, the target"),
        (Problem::Placed { .. }, Some(axis)) => format!("{made}, placed at axis={axis}"),
        _ => made,
    }
}

/// Returns the axes that get carets.
fn marks(diagnostic: &Diagnostic) -> Vec<usize> {
    match &diagnostic.problem {
        Problem::NotOne { axis, .. }
        | Problem::RepeatedAxis { axis }
        | Problem::Outside { axis, .. }
        | Problem::EmptyReduction { axis }
        | Problem::TooFewElements { axis, .. }
        | Problem::NeverRebound { axis, .. }
        | Problem::Unequal { axis, .. }
        | Problem::Undecided { axis: Some(axis), .. } => vec![*axis],
        Problem::Grows { target, result, .. } => {
            let added = result.len() - target.len();
            (0..result.len()).filter(|&axis| axis < added || target[axis - added] != result[axis]).collect()
        }
        Problem::Contraction { meetings, .. }
            if meetings.iter().any(|meeting| meeting.rule == Rule::Diagonal) =>
        {
            Vec::new()
        }
        _ => diagnostic.conflicts().iter().map(|conflict| conflict.axis).collect(),
    }
}

fn helps(diagnostic: &Diagnostic, text: &mut Text) {
    let with_code = || diagnostic.helps.iter().filter_map(|help| Some((help, help.code.as_ref()?)));
    let sentence_width = with_code().map(|(help, _)| help.text.chars().count()).max().unwrap_or(0);
    let code_width = with_code().map(|(_, code)| code.chars().count()).max().unwrap_or(0);
    for help in &diagnostic.helps {
        let Some(code) = &help.code else {
            text.help(&help.text, None);
            continue;
        };
        text.help(&format!("{:sentence_width$}", help.text), Some(code));
        if let Some(result) = &help.result {
            let gap = code_width - code.chars().count();
            text.add(Style::Plain, format!("{:gap$}      -> {result:?}", ""));
        }
    }
    let is_undetermined =
        headline(&diagnostic.problem).is_some_and(|clash| clash.certainty == Certainty::Sometimes);
    let helps = &diagnostic.helps;
    if is_undetermined && (helps.is_empty() || helps.iter().any(|help| help.assumes)) {
        text.line(Style::Help, "note");
        let rule = "a symbol never stretches, even when it is 1 at run time; only the constant 1 does";
        text.add(Style::Plain, format!(": {rule}"));
    }
}
