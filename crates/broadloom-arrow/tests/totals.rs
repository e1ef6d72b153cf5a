//! Aggregates, compared with plain Rust loops, for any cut of the rows into batches and partitions.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{ArrayRef, FixedSizeListArray, Float64Array, Int64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use broadloom::{AnyArray, Array as Tensor, CompileOptions, Threads};
use broadloom_arrow::{Aggregate, Column, ColumnType, RowGraph, State};
use std::sync::Arc;

fn aggregate(
    expression: &str,
    inputs: &[&str],
    constants: Vec<(String, AnyArray)>,
    types: Vec<(&str, ColumnType)>,
) -> Aggregate {
    let graph = broadloom_text::compile_expr(expression, inputs).unwrap();
    let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
    let types = types.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    Aggregate::new(&RowGraph::new(&graph, "n").unwrap(), types, constants, &options).unwrap()
}

fn numbers() -> ColumnType {
    ColumnType { dtype: broadloom::DType::F64, row: Vec::new() }
}

fn column(name: &str, array: ArrayRef) -> (String, Column) {
    (name.to_owned(), Column::new(&Field::new(name, array.data_type().clone(), true), &array).unwrap())
}

/// Feeds rows in batches to partitions, sends their states as bytes, and merges them.
fn total(
    aggregate: &Aggregate,
    columns: &[(&str, ArrayRef)],
    batch: usize,
    partitions: usize,
) -> Option<Vec<ArrayRef>> {
    let rows = columns[0].1.len();
    let mut states = vec![State::default(); partitions];
    for (index, start) in (0..rows).step_by(batch).enumerate() {
        let part: Vec<(String, Column)> = columns
            .iter()
            .map(|(name, array)| column(name, array.slice(start, batch.min(rows - start))))
            .collect();
        aggregate.update(&mut states[index % partitions], &part).unwrap();
    }
    let mut whole = State::default();
    for state in states {
        let mut bytes = Vec::new();
        aggregate.write(&state, &mut bytes);
        aggregate.merge(&mut whole, aggregate.read(&bytes).unwrap()).unwrap();
    }
    aggregate.finish(&whole).unwrap()
}

fn number(results: Option<Vec<ArrayRef>>) -> Option<f64> {
    Some(results?[0].as_primitive::<Float64Type>().value(0))
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-12 * expected.abs().max(1.0)
}

#[test]
fn sums_means_and_spreads_skip_nulls() {
    let values: Vec<Option<f64>> =
        (0..5000).map(|row| (row % 5 != 3).then(|| f64::from(row).sin() * 10.0 + 3.0)).collect();
    let there: Vec<f64> = values.iter().flatten().copied().collect();
    let count = there.len() as f64;
    let mean = there.iter().sum::<f64>() / count;
    let var = there.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    let x: ArrayRef = Arc::new(Float64Array::from(values));
    for (expression, expected) in [
        ("sum(x)", there.iter().sum()),
        ("mean(x)", mean),
        ("var(x)", var),
        ("mean(x) / std(x)", mean / var.sqrt()),
        (
            "max(x) - min(x)",
            there.iter().copied().fold(f64::MIN, f64::max) - there.iter().copied().fold(f64::MAX, f64::min),
        ),
        ("sum(x) / len(x)", mean),
        ("logsumexp(x)", there.iter().map(|x| x.exp()).sum::<f64>().ln()),
    ] {
        let aggregate = aggregate(expression, &["x: f64[n]"], Vec::new(), vec![("x", numbers())]);
        for (batch, partitions) in [(5000, 1), (8192, 1), (1000, 2), (7, 3), (1, 1)] {
            let found = number(total(&aggregate, &[("x", x.clone())], batch, partitions)).unwrap();
            assert!(is_near(found, expected), "{expression} in batches of {batch}: {found}, not {expected}");
        }
        assert_eq!(number(total(&aggregate, &[("x", x.slice(3, 1))], 1, 1)), None, "{expression} of no rows");
    }
}

#[test]
fn a_row_counts_if_no_column_is_null() {
    let x: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), Some(2.0), None, Some(4.0)]));
    let y: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(1.0), Some(10.0)]));
    let product = aggregate(
        "sum(x * y)",
        &["x: f64[n]", "y: f64[n]"],
        Vec::new(),
        vec![("x", numbers()), ("y", numbers())],
    );
    assert_eq!(number(total(&product, &[("x", x), ("y", y)], 2, 2)), Some(41.0));
}

#[test]
fn states_of_one_pass_do_not_grow() {
    for (expression, inputs) in [
        ("mean(x)", vec!["x: f64[n]"]),
        ("topk(x, 5)", vec!["x: f64[n]"]),
        ("segment_mean(x, astype(x, i64) % 3, 3)", vec!["x: f64[n]"]),
    ] {
        let aggregate = aggregate(expression, &inputs, Vec::new(), vec![("x", numbers())]);
        let mut state = State::default();
        let mut sizes = Vec::new();
        for batch in 0..40 {
            let values: Float64Array = (0..100).map(|row| Some(f64::from(row + batch))).collect();
            aggregate.update(&mut state, &[column("x", Arc::new(values))]).unwrap();
            sizes.push(state.bytes());
        }
        assert!(sizes.iter().all(|size| *size == sizes[0]), "{expression}: {sizes:?}");
    }
}

#[test]
fn codes_are_learnt_from_groups_of_rows() {
    // One step of k-means: the mean of the points that are nearest to each code.
    let points: Vec<f64> = (0..600).map(|value| f64::from(value * 37 % 101)).collect();
    let codes = [10.0f64, 10.0, 80.0, 40.0, 50.0, 90.0];
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let lists: ArrayRef =
        Arc::new(FixedSizeListArray::new(item, 2, Arc::new(Float64Array::from(points.clone())), None));
    let (mut sums, mut counts) = ([[0.0f64; 2]; 3], [0.0f64; 3]);
    for point in points.chunks(2) {
        let distance = |code: &[f64]| (point[0] - code[0]).powi(2) + (point[1] - code[1]).powi(2);
        let nearest = (0..3)
            .min_by(|a, b| distance(&codes[2 * a..2 * a + 2]).total_cmp(&distance(&codes[2 * b..2 * b + 2])));
        let nearest = nearest.unwrap();
        (0..2).for_each(|axis| sums[nearest][axis] += point[axis]);
        counts[nearest] += 1.0;
    }
    let constants = vec![("codes".to_owned(), AnyArray::from(Tensor::new(codes.to_vec(), &[3, 2]).unwrap()))];
    let step = aggregate(
        "segment_mean(v, argmin(sum((v[:, None] - codes) ** 2, axis=-1), axis=1), 3)",
        &["v: f64[n, 2]", "codes: f64[3, 2]"],
        constants,
        vec![("v", ColumnType { row: vec![Some(2)], ..numbers() })],
    );
    for (batch, partitions) in [(300, 1), (64, 2), (1, 3)] {
        let learnt = total(&step, &[("v", lists.clone())], batch, partitions).unwrap();
        let learnt = learnt[0].as_fixed_size_list().values().as_primitive::<Float64Type>().clone();
        for (index, found) in learnt.values().iter().enumerate() {
            let expected = sums[index / 2][index % 2] / counts[index / 2];
            assert!(is_near(*found, expected), "batches of {batch}: {found}, not {expected}");
        }
    }
}

#[test]
fn null_rows_raise_no_errors() {
    let constants =
        || vec![("table".to_owned(), AnyArray::from(Tensor::new(vec![1.0f64, 10.0], &[2]).unwrap()))];
    let kind = ColumnType { dtype: broadloom::DType::I64, row: Vec::new() };
    let look_up = aggregate("sum(table[i])", &["i: i64[n]", "table: f64[2]"], constants(), vec![("i", kind)]);
    let nulls = NullBuffer::from(vec![true, false, true]);
    let i: ArrayRef = Arc::new(Int64Array::new(vec![1, 77, 0].into(), Some(nulls)));
    assert_eq!(number(total(&look_up, &[("i", i)], 2, 2)), Some(11.0));
}

#[test]
fn what_needs_an_order_is_refused_by_name() {
    for (expression, op) in [
        ("argmax(x)", "argmax"),
        ("cumsum(x)[0]", "slice"),
        ("sum(cumsum(x))", "cumsum"),
        ("sum(x * arange(len(x)))", "arange"),
        ("x + 1", "add"),
    ] {
        let graph = broadloom_text::compile_expr(expression, &["x: f64[n]"]).unwrap();
        let error = Aggregate::check(&RowGraph::new(&graph, "n").unwrap()).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{op}` cannot be part of an aggregate")),
            "{expression}: {error}"
        );
    }
}

#[test]
fn damaged_states_are_refused() {
    for expression in ["mean(x) + max(x)", "var(x)", "sum(any(x > 2))"] {
        let aggregate = aggregate(expression, &["x: f64[n]"], Vec::new(), vec![("x", numbers())]);
        let mut state = State::default();
        aggregate
            .update(&mut state, &[column("x", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0])))])
            .unwrap();
        let mut bytes = Vec::new();
        aggregate.write(&state, &mut bytes);
        for end in 0..bytes.len() {
            assert!(aggregate.read(&bytes[..end]).is_err(), "{expression}: {end} bytes");
        }
        assert!(aggregate.read(&[bytes.as_slice(), &[0]].concat()).is_err());
        bytes[7] = 255;
        // No number of rows may cost memory or panic.
        let _ = aggregate.read(&bytes).and_then(|state| aggregate.finish(&state));
    }
}
