//! Aggregates of many groups at once, compared with plain Rust loops.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array};
use arrow_schema::Field;
use broadloom::{CompileOptions, Threads};
use broadloom_arrow::{Column, GroupStates, Grouping, RowGraph};
use std::sync::Arc;

const ROWS: usize = 3000;
const GROUPS: usize = 700;

fn grouping(expression: &str, inputs: &[&str]) -> Option<Grouping> {
    let graph = broadloom_text::compile_expr(expression, inputs).unwrap();
    let graph = RowGraph::new(&graph, "n").unwrap();
    let columns = inputs.iter().map(|input| input.split(':').next().unwrap().to_owned()).collect();
    let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
    Grouping::new(&graph, columns, Vec::new(), &options).unwrap()
}

fn column(name: &str, array: &ArrayRef) -> (String, Column) {
    (name.to_owned(), Column::new(&Field::new(name, array.data_type().clone(), true), array).unwrap())
}

/// Every eleventh x is null; group 5 has no rows, and those of group 6 are null.
fn x(row: usize) -> Option<f64> {
    (!row.is_multiple_of(11) && group(row) != 6).then(|| ((row * 37) % 101) as f64 / 8.0 - 3.0)
}

fn y(row: usize) -> i32 {
    (row * 53 % 97) as i32 - 40
}

fn group(row: usize) -> usize {
    match row * row % GROUPS {
        5 => 4,
        group => group,
    }
}

/// Feeds batches to two states, and merges the second into the first as bytes.
fn results(grouping: &Grouping, columns: &[(&str, ArrayRef)], filter: Option<&BooleanArray>) -> ArrayRef {
    let mut states = [grouping.states(), GroupStates::default()];
    for (number, start) in (0..ROWS).step_by(450).enumerate() {
        let rows = 450.min(ROWS - start);
        let part: Vec<_> =
            columns.iter().map(|(name, array)| column(name, &array.slice(start, rows))).collect();
        let groups: Vec<usize> = (start..start + rows).map(group).collect();
        let filter = filter.map(|filter| filter.slice(start, rows));
        grouping.update(&mut states[number % 2], &part, &groups, filter.as_ref(), GROUPS).unwrap();
    }
    let [mut whole, mut other] = states;
    assert_eq!(other.groups(), GROUPS);
    let first = other.take(10);
    assert_eq!((first.groups(), other.groups()), (10, GROUPS - 10));
    assert_eq!(first.record_bytes(), other.record_bytes());
    let bytes = [first.write(), other.write()].concat();
    for (group, bytes) in bytes.chunks(first.record_bytes()).enumerate() {
        grouping.merge(&mut whole, group, bytes, GROUPS).unwrap();
        assert!(grouping.merge(&mut whole, group, &bytes[1..], GROUPS).is_err());
    }
    let mut results = grouping.finish(&whole).unwrap();
    assert_eq!(results.len(), 1);
    results.remove(0)
}

fn columns() -> [(&'static str, ArrayRef); 2] {
    let x: Float64Array = (0..ROWS).map(x).collect();
    let y: Int32Array = (0..ROWS).map(|row| Some(y(row))).collect();
    [("x", Arc::new(x)), ("y", Arc::new(y))]
}

/// The rows of a group that count.
fn there(of: usize) -> Vec<(f64, f64)> {
    let rows = (0..ROWS).filter(|row| group(*row) == of);
    rows.filter_map(|row| Some((x(row)?, f64::from(y(row))))).collect()
}

type Reference = fn(&[(f64, f64)]) -> f64;

#[test]
fn totals_of_every_group() {
    fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
        values.clone().sum::<f64>() / values.count() as f64
    }
    fn covariance(rows: &[(f64, f64)]) -> f64 {
        let (x, y) = (mean(rows.iter().map(|row| row.0)), mean(rows.iter().map(|row| row.1)));
        mean(rows.iter().map(|row| (row.0 - x) * (row.1 - y)))
    }
    let cases: [(&str, Reference); 10] = [
        ("sum(x * y)", |rows| rows.iter().map(|(x, y)| x * y).sum()),
        ("mean(x)", |rows| mean(rows.iter().map(|row| row.0))),
        ("mean(y) + sum(x) / len(x)", |rows| {
            mean(rows.iter().map(|row| row.1)) + mean(rows.iter().map(|row| row.0))
        }),
        ("max(x) - min(x)", |rows| {
            let x = || rows.iter().map(|row| row.0);
            x().fold(f64::NEG_INFINITY, f64::max) - x().fold(f64::INFINITY, f64::min)
        }),
        ("where(any(y > 50), max(y) * 1.0, min(y) * 1.0)", |rows| {
            let y = || rows.iter().map(|row| row.1);
            if y().any(|y| y > 50.0) { y().fold(-1e9, f64::max) } else { y().fold(1e9, f64::min) }
        }),
        ("all(y < 50) * 2.0", |rows| if rows.iter().all(|row| row.1 < 50.0) { 2.0 } else { 0.0 }),
        ("prod(x)", |rows| rows.iter().map(|row| row.0).product()),
        ("var(x)", |rows| covariance(&rows.iter().map(|row| (row.0, row.0)).collect::<Vec<_>>())),
        ("std(astype(y, f64)) + mean(x)", |rows| {
            let y = rows.iter().map(|row| (row.1, row.1)).collect::<Vec<_>>();
            covariance(&y).sqrt() + mean(rows.iter().map(|row| row.0))
        }),
        ("mean((x - mean(x)) * (astype(y, f64) - mean(astype(y, f64))))", covariance),
    ];
    for (expression, expected) in cases {
        let inputs: Vec<&str> = ["x: f64[n]", "y: i32[n]"].into_iter().collect();
        let grouping = grouping(expression, &inputs).unwrap_or_else(|| panic!("{expression}"));
        let found = results(&grouping, &columns(), None);
        let found = found.as_primitive::<Float64Type>();
        assert_eq!(found.len(), GROUPS);
        for group in 0..GROUPS {
            let rows = there(group);
            assert_eq!(found.is_null(group), rows.is_empty(), "{expression} of group {group}");
            if !rows.is_empty() {
                let (found, expected) = (found.value(group), expected(&rows));
                let is_near = (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
                assert!(is_near, "{expression} of group {group}: {found}, not {expected}");
            }
        }
    }
    assert_eq!((there(5).len(), there(6).len()), (0, 0));
}

#[test]
fn filters_leave_out_rows_and_their_nulls() {
    let grouping = grouping("sum(y)", &["y: i32[n]"]).unwrap();
    let filter: BooleanArray = (0..ROWS).map(|row| (row % 5 != 4).then_some(row % 3 == 0)).collect();
    let found = results(&grouping, &columns()[1..], Some(&filter));
    for of in 0..GROUPS {
        let rows = (0..ROWS).filter(|row| group(*row) == of && row % 5 != 4 && row % 3 == 0);
        let expected: Vec<i64> = rows.map(|row| i64::from(y(row))).collect();
        let found = found.as_primitive::<Int64Type>();
        assert_eq!(found.is_valid(of), !expected.is_empty());
        assert_eq!(if found.is_valid(of) { found.value(of) } else { 0 }, expected.iter().sum::<i64>());
    }
}

#[test]
fn extremes_keep_nan_and_sums_of_singles_round_once() {
    let values = [1.0f32, f32::NAN, 3.0, 1e8, 5.0, 5.0];
    let x: ArrayRef = Arc::new(Float32Array::from(values.to_vec()));
    let groups = [0, 0, 0, 1, 1, 1];
    let total = |expression: &str| {
        let grouping = grouping(expression, &["x: f32[n]"]).unwrap();
        let mut states = grouping.states();
        grouping.update(&mut states, &[column("x", &x)], &groups, None, 2).unwrap();
        grouping.finish(&states).unwrap().remove(0).as_primitive::<Float32Type>().clone()
    };
    for expression in ["min(x)", "max(x)", "sum(x)"] {
        assert!(total(expression).value(0).is_nan(), "{expression}");
    }
    assert_eq!((total("min(x)").value(1), total("max(x)").value(1)), (5.0, 1e8));
    // Singles would round after each addition.
    assert_eq!(1e8f32 + 5.0 + 5.0, 100_000_016.0);
    assert_eq!(total("sum(x)").value(1), 100_000_010f64 as f32);
    assert_eq!(total("mean(x)").value(1), (100_000_010f64 / 3.0) as f32);
}

#[test]
fn what_needs_the_rows_of_a_group_is_left_to_single_groups() {
    for (expression, input) in [
        ("median(x)", "x: f64[n]"),
        ("topk(x, 3)", "x: f64[n]"),
        ("mean(x, axis=0)", "x: f64[n, 3]"),
        ("max(x - mean(x))", "x: f64[n]"),
        ("sum(x) ** 2 + sum(x[:, None] * arange(3))", "x: f64[n]"),
        ("len(x) ** (len(x) - 3)", "x: f64[n]"),
    ] {
        assert!(grouping(expression, &[input]).is_none(), "{expression}");
    }
}

#[test]
fn wrong_groups_filters_and_states_are_errors() {
    let grouping = grouping("sum(y)", &["y: i32[n]"]).unwrap();
    let rows = vec![column("y", &columns()[1].1.slice(0, 3))];
    let mut states = grouping.states();
    let error = grouping.update(&mut states, &rows, &[0, 7, 1], None, 2).unwrap_err();
    assert_eq!(error.to_string(), "there is no group 7: there are 2 groups, and the first one is 0");
    let filter = BooleanArray::from(vec![true; 2]);
    let error = grouping.update(&mut states, &rows, &[0, 1, 1], Some(&filter), 2).unwrap_err();
    assert!(error.to_string().starts_with("column `filter` has 2 rows, but the others have 3"), "{error}");
    let bytes = states.write()[..states.record_bytes()].to_vec();
    assert!(grouping.merge(&mut states, 2, &bytes, 2).is_err());
    assert!(grouping.merge(&mut states, 1, &bytes[1..], 2).is_err());
    assert!(grouping.finish(&GroupStates::default()).is_err());
    grouping.update(&mut states, &rows, &[0, 1, 1], None, 2).unwrap();
    assert!(grouping.finish(&states).is_ok());
}
