//! Errors of calls, for people who pass files: without the places in Rust and the code that those of the library have.

use broadloom::{BindError, RunError};
use broadloom_ir::diagnostics::{Row, Style, Text};

fn headline(code: &str, what: String) -> Text {
    Text::message(Style::Error, format!("error[{code}]"), what)
}

/// Arrays that do not fit.
pub fn bind(error: &BindError) -> Text {
    let plain = || headline(error.code(), error.to_string());
    match error {
        BindError::Missing { name, expected } => {
            let mut text =
                headline(error.code(), format!("the input {name:?} is not given: it is {expected}"));
            text.help("give it after the expression:", Some(&format!("{name}=FILE")));
            text
        }
        BindError::MissingSize { symbol, .. } => {
            let mut text = headline(error.code(), format!("the size {symbol:?} is not given"));
            text.help("no input has it; give it by", Some(&format!("--size {symbol}=3")));
            text
        }
        BindError::DType { array, expected, found } => {
            let mut text = plain();
            text.help(
                &format!("convert it in the program: declare {:?} as {found}, and write", array.name),
                Some(&format!("{}.astype({expected})", array.name)),
            );
            text
        }
        BindError::Size(mismatch) => {
            let mut text = plain();
            let mut rows = Vec::new();
            let of_shape = |symbol: &str| mismatch.declared_shape.contains(symbol);
            for solved in mismatch.solved.iter().filter(|solved| of_shape(&solved.symbol)) {
                let from = solved.from.as_ref().map_or("as given".to_owned(), |from| {
                    format!(
                        "from axis {} of input {:?}, which has shape {:?}",
                        from.axis, from.input, from.shape
                    )
                });
                rows.push(Row::new(format!("{} = {} {from}", solved.symbol, solved.value), None));
            }
            let name = &mismatch.array.name;
            rows.push(Row::new(
                format!("{name:?} has shape {:?}, should have {}", mismatch.shape, mismatch.declared_shape),
                None,
            ));
            text.rows(rows);
            if let Some(expected) = mismatch.expected {
                text.help(&format!("pass {name:?} with {expected} along axis {}", mismatch.axis), None);
            }
            text
        }
        BindError::Obligation(missed) => {
            let subject = missed.requirement.subject();
            let mut text =
                headline(error.code(), format!("{}, but {subject} needs {}", missed.have, missed.needs));
            text.rows(vec![Row::new(missed.requirement.to_string(), None)]);
            text
        }
        BindError::EmptyTable(table) => headline(
            error.code(),
            match table.axis {
                Some(axis) => {
                    format!("`take` has {} indices into axis {axis}, which is empty", table.indices)
                }
                None => format!("a segmented reduction has {} rows, but no segments", table.indices),
            },
        ),
        _ => plain(),
    }
}

/// Data that have no result.
pub fn run(error: &RunError) -> Text {
    let (what, reason) = match error {
        RunError::IndexOutOfRange { position, index, size, .. } => (
            format!("`take`: the index at {position:?} is {index}, but the axis has {size} elements"),
            format!("an index is 0 to {}, or -{size} to -1 from the end", size - 1),
        ),
        RunError::NoSuchSegment { row, id, segments, .. } => (
            format!("a segmented reduction: the id of row {row} is {id}, but there are {segments} segments"),
            format!("an id is 0 to {}", segments - 1),
        ),
        RunError::NegativeExponent { position, exponent, .. } => (
            format!(
                "a power: the exponent at {position:?} is {exponent}, but integers have no negative powers"
            ),
            "floats have such powers: write x.astype(f64) ** y".to_owned(),
        ),
        _ => return headline(error.code(), error.to_string()),
    };
    let mut text = headline(error.code(), what);
    text.rows(vec![Row::new(reason, None)]);
    text
}
