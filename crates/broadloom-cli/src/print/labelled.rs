//! Prints results of groups as tables: one row for each name.

use crate::labels::{Label, Labels};
use broadloom::{AnyArray, IntoArrayView, Scalar, print};
use unicode_width::UnicodeWidthStr;

/// A table of texts; the first column is aligned left, the others right.
fn table(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.width());
            match column {
                0 => line.extend([cell.as_str(), &gap]),
                _ => line.extend(["  ", &gap, cell.as_str()]),
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Returns the elements of a result in columns, in one format.
fn cells(array: &AnyArray) -> Vec<Vec<String>> {
    let view = array.into_array_view();
    let (rows, columns) = (array.shape().first().copied().unwrap_or(1), array.shape().get(1).copied());
    let at = |row, column: Option<usize>| -> Option<Scalar> {
        match column {
            Some(column) => view.scalar_at(&[row, column]),
            None => view.scalar_at(&[row]),
        }
    };
    let column = |column: Option<usize>| -> Vec<String> {
        let values: Vec<Scalar> = (0..rows).filter_map(|row| at(row, column)).collect();
        print::column(&values).iter().map(|cell| cell.trim_start().to_owned()).collect()
    };
    match columns {
        Some(count) => (0..count).map(|at| column(Some(at))).collect(),
        None => vec![column(None)],
    }
}

/// Returns the cell of a name; quotation marks show an empty name, and spaces around one.
fn shown(name: &str) -> String {
    let is_clear = !name.is_empty() && name.trim() == name;
    if is_clear { name.escape_debug().to_string() } else { format!("{name:?}") }
}

/// Puts results with the same names along their leading axis side by side under their own names; a matrix has the names
/// of its columns.
///
/// `None` if the results do not have this form.
pub fn results(results: &[(&str, &AnyArray)], labels: &Labels) -> Option<String> {
    let (first, _) = results.first()?;
    let label = labels.of(first, 0);
    let is_alike = |(name, array): &(&str, &AnyArray)| {
        labels.of(name, 0) == label && array.shape().len() == 1 && label.is_some()
    };
    if results.iter().all(is_alike) {
        let heads: Vec<String> = results.iter().map(|(name, _)| (*name).to_owned()).collect();
        let columns = results.iter().flat_map(|(_, array)| cells(array)).collect();
        return Some(with_names(label, Some(heads), columns));
    }
    let [(name, array)] = results else { return None };
    let columns = labels.of(name, 1);
    if array.shape().len() != 2 || label.or(columns).is_none() {
        return None;
    }
    let heads = columns.map(|label| label.names.iter().map(|name| shown(name)).collect());
    Some(with_names(label, heads, cells(array)))
}

fn with_names(label: Option<&Label>, heads: Option<Vec<String>>, columns: Vec<Vec<String>>) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let of = label.map_or("", |label| &label.of);
    rows.extend(heads.map(|heads| [vec![of.to_owned()], heads].concat()));
    for row in 0..columns.first().map_or(0, Vec::len) {
        let name = label.and_then(|label| label.names.get(row)).map_or(String::new(), |name| shown(name));
        let cells = columns.iter().filter_map(|column| column.get(row).cloned());
        rows.push(std::iter::once(name).chain(cells).collect());
    }
    table(&rows)
}
