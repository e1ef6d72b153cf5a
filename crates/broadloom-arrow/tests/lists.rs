//! Lists without a fixed size as tensors, compared with plain Rust.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, GenericListArray,
    Int64Array, ListArray, OffsetSizeTrait, RecordBatch,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};
use broadloom::CompileOptions;
use broadloom_arrow::{Aggregate, Column, ColumnError, ColumnType, RowGraph, RowKernel, State};
use std::sync::Arc;

/// Rows of lists, of which some are null and some have null elements.
type Lists = Vec<Option<Vec<Option<f32>>>>;

/// Makes lists whose null rows have some elements of their own, as those of a file may have.
fn lists<O: OffsetSizeTrait>(rows: &Lists) -> GenericListArray<O> {
    let (mut elements, mut offsets) = (Vec::new(), vec![O::zero()]);
    for (number, row) in rows.iter().enumerate() {
        match row {
            Some(row) => elements.extend(row.iter().copied()),
            None => elements.extend(vec![Some(f32::NAN); number % 3]),
        }
        offsets.push(O::from_usize(elements.len()).unwrap());
    }
    let nulls = NullBuffer::from_iter(rows.iter().map(Option::is_some));
    GenericListArray::new(
        Arc::new(Field::new("element", DataType::Float32, true)),
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        Arc::new(Float32Array::from(elements)),
        Some(nulls).filter(|nulls| nulls.null_count() > 0),
    )
}

/// Rows of `length` elements.
fn table(rows: usize, length: usize, has_nulls: bool) -> Lists {
    let row = |row: usize| -> Option<Vec<Option<f32>>> {
        let element = |at: usize| (!has_nulls || row % 7 != 3 || at != 1).then_some((10 * row + at) as f32);
        (!has_nulls || row % 4 != 1).then(|| (0..length).map(element).collect())
    };
    (0..rows).map(row).collect()
}

/// Returns the elements of a row that counts.
fn row(row: &Option<Vec<Option<f32>>>) -> Option<Vec<f32>> {
    row.as_ref()?.iter().copied().collect()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

fn kernel(expression: &str, inputs: &[&str]) -> RowKernel {
    let graph = broadloom_text::compile_expr(expression, inputs).unwrap();
    RowKernel::new(&RowGraph::new(&graph, "n").unwrap(), &CompileOptions::default()).unwrap()
}

fn run(kernel: &RowKernel, columns: Vec<(&str, ArrayRef)>) -> Result<ArrayRef, ColumnError> {
    Ok(kernel.run_batch(&batch(columns), &[])?.column(0).clone())
}

/// Returns the rows of lists of f32.
fn rows_of(lists: &ArrayRef) -> Vec<Option<Vec<f32>>> {
    let lists = lists.as_list::<i32>();
    let row = |row: usize| {
        lists.is_valid(row).then(|| lists.value(row).as_primitive::<Float32Type>().values().to_vec())
    };
    (0..lists.len()).map(row).collect()
}

#[test]
fn one_kernel_serves_lists_of_all_lengths() {
    let sum = kernel("sum(v, axis=1)", &["v: f32[n, _]"]);
    let twice = kernel("2 * v", &["v: f32[n, _]"]);
    for has_nulls in [false, true] {
        for (count, length) in [(0, 3), (1, 3), (1, 1), (2, 0), (3, 2), (17, 3), (65, 1), (500, 33)] {
            let rows = table(count, length, has_nulls);
            for skipped in [0, 1, 5].into_iter().filter(|skipped| *skipped <= count) {
                let part = &rows[skipped..];
                let small: ArrayRef = Arc::new(lists::<i32>(&rows).slice(skipped, part.len()));
                let large: ArrayRef = Arc::new(lists::<i64>(&rows).slice(skipped, part.len()));
                for column in [small, large] {
                    let what = format!("{count} rows of {length}, from {skipped}");
                    let sums = run(&sum, vec![("v", column.clone())]).unwrap();
                    let expected: Float32Array = part
                        .iter()
                        .map(|of| row(of).map(|of| of.iter().fold(0.0, |sum, x| sum + x)))
                        .collect();
                    assert_eq!(sums.as_primitive::<Float32Type>(), &expected, "{what}");
                    let doubled = run(&twice, vec![("v", column)]).unwrap();
                    assert_eq!(doubled.data_type(), &DataType::new_list(DataType::Float32, true), "{what}");
                    let expected: Vec<_> = part
                        .iter()
                        .map(|of| row(of).map(|of| of.iter().map(|x| 2.0 * x).collect()))
                        .collect();
                    let expected: Vec<Option<Vec<f32>>> = expected;
                    assert_eq!(rows_of(&doubled), expected, "{what}");
                }
            }
        }
    }
}

#[test]
fn null_rows_are_the_same_in_lists_with_and_without_a_fixed_size() {
    let rows = table(40, 3, true);
    let fixed = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows.clone(), 3);
    let free: ArrayRef = Arc::new(lists::<i32>(&rows));
    for expression in ["v[:, 1]", "sum(v * v, axis=1)", "max(v, axis=1) - v[:, 0]", "argmax(v, axis=1)"] {
        let expected = run(&kernel(expression, &["v: f32[n, 3]"]), vec![("v", Arc::new(fixed.clone()))]);
        let found = run(&kernel(expression, &["v: f32[n, _]"]), vec![("v", free.clone())]);
        assert_eq!(&found.unwrap(), &expected.unwrap(), "{expression}");
    }
}

#[test]
fn rows_of_several_lengths_are_an_error_with_the_row() {
    let sum = kernel("sum(v, axis=1)", &["v: f32[n, _]"]);
    let of = |length: usize| Some(vec![Some(1.0f32); length]);
    for (rows, expected) in [
        (vec![of(3), of(3), of(2)], "row 0 of the batch has 3 elements, row 2 has 2;"),
        (vec![None, of(1), None, of(0)], "row 1 of the batch has 1 elements, row 3 has 0;"),
        (vec![of(0), of(1)], "row 0 of the batch has 0 elements, row 1 has 1;"),
    ] {
        let message = run(&sum, vec![("v", Arc::new(lists::<i32>(&rows)))]).unwrap_err().to_string();
        assert!(message.contains("column `v`") && message.contains(expected), "{message}");
    }
    // Rows that are null may have any length, and so may those before and after a slice.
    let rows = lists::<i64>(&vec![of(9), of(2), None, of(2), of(9)]);
    let sums = run(&sum, vec![("v", Arc::new(rows.slice(1, 3)))]).unwrap();
    let expected = Float32Array::from(vec![Some(2.0), None, Some(2.0)]);
    assert_eq!(sums.as_primitive::<Float32Type>(), &expected);
}

#[test]
fn lengths_that_do_not_fit_each_other_are_errors() {
    let of = |length: usize| -> ArrayRef { Arc::new(lists::<i32>(&table(4, length, false))) };
    let dot = kernel("sum(v * w, axis=1)", &["v: f32[n, _]", "w: f32[n, _]"]);
    let expected: Vec<f32> =
        (0..4).map(|row| (0..3).map(|at| ((10 * row + at) as f32).powi(2)).sum()).collect();
    let dots = run(&dot, vec![("v", of(3)), ("w", of(3))]).unwrap();
    assert_eq!(dots.as_primitive::<Float32Type>().values().as_ref(), expected);
    for (v, w) in [(3, 2), (1, 3), (0, 1)] {
        let message = run(&dot, vec![("v", of(v)), ("w", of(w))]).unwrap_err().to_string();
        assert!(message.contains(&v.to_string()) && message.contains(&w.to_string()), "{message}");
    }
    // Lists that meet no others have lengths of their own.
    let both = kernel("sum(v, axis=1) + sum(w, axis=1)", &["v: f32[n, _]", "w: f32[n, _]"]);
    let sums = run(&both, vec![("v", of(1)), ("w", of(2))]).unwrap();
    let expected: Vec<f32> = (0..4).map(|row| (30 * row + 1) as f32).collect();
    assert_eq!(sums.as_primitive::<Float32Type>().values().as_ref(), expected);
    // A length that an expression needs is one, also where there are no rows to compute.
    let third = kernel("v[:, 2]", &["v: f32[n, _]"]);
    assert!(run(&third, vec![("v", of(2))]).is_err());
    assert_eq!(run(&third, vec![("v", of(2).slice(1, 0))]).unwrap().len(), 0);
}

#[test]
fn results_follow_from_fixed_sizes_where_they_can() {
    let rows = table(3, 2, false);
    let free: ArrayRef = Arc::new(lists::<i32>(&rows));
    let fixed: ArrayRef = Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, 2));
    let sum = kernel("v + w", &["v: f32[n, _]", "w: f32[n, 2]"]);
    let sum = run(&sum, vec![("v", free.clone()), ("w", fixed)]).unwrap();
    let expected = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        [[0.0, 2.0], [20.0, 22.0], [40.0, 42.0]].map(|row| Some(row.map(Some))),
        2,
    );
    assert_eq!(sum.as_fixed_size_list(), &expected);
    // Each row with itself: `[n, k, k]` are lists of lists.
    let outer = kernel("v[:, :, None] * v[:, None, :]", &["v: f32[n, _]"]);
    let outer = run(&outer, vec![("v", free)]).unwrap();
    let trace = kernel("t[:, 0, 0] + t[:, 1, 1]", &["t: f32[n, _, _]"]);
    let traces = run(&trace, vec![("t", outer)]).unwrap();
    assert_eq!(traces.as_primitive::<Float32Type>().values().as_ref(), [1.0, 221.0, 841.0]);
}

#[test]
fn nested_lists_are_tensors_at_every_depth() {
    let numbers = Float32Array::from((0..24).map(|x| x as f32).collect::<Vec<_>>());
    let list = |of: ArrayRef, length: usize, is_fixed: bool| -> ArrayRef {
        let item = Arc::new(Field::new_list_field(of.data_type().clone(), true));
        let count = of.len() / length;
        match is_fixed {
            true => Arc::new(FixedSizeListArray::new(item, length as i32, of, None)),
            false => {
                let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(length, count));
                Arc::new(ListArray::new(item, offsets, of, None))
            }
        }
    };
    let expected: Vec<f32> = (1..4).map(|row| (6 * row..6 * row + 6).map(|x| x as f32).sum()).collect();
    for (outer, inner) in [(false, false), (true, false), (false, true)] {
        let column = list(list(Arc::new(numbers.clone()), 3, inner), 2, outer).slice(1, 3);
        let sums = run(&kernel("sum(t, axis=(1, 2))", &["t: f32[n, _, _]"]), vec![("t", column.clone())]);
        assert_eq!(sums.unwrap().as_primitive::<Float32Type>().values().as_ref(), expected);
        let same = run(&kernel("t + 0", &["t: f32[n, _, _]"]), vec![("t", column.clone())]).unwrap();
        assert_eq!(&same, &column);
    }
    // A null list in a row makes a null row, whatever its length.
    let inner = lists::<i32>(&vec![
        Some(vec![Some(1.0), Some(2.0)]),
        None,
        Some(vec![Some(3.0), Some(4.0)]),
        Some(vec![Some(5.0), Some(6.0)]),
    ]);
    let column = list(Arc::new(inner), 2, false);
    let sums = run(&kernel("sum(t, axis=(1, 2))", &["t: f32[n, _, _]"]), vec![("t", column)]).unwrap();
    assert_eq!(sums.as_primitive::<Float32Type>(), &Float32Array::from(vec![None, Some(18.0)]));
}

#[test]
fn lists_of_truth_values_and_integers() {
    let item = Arc::new(Field::new_list_field(DataType::Boolean, true));
    let bits: BooleanArray = (0..30).map(|at| Some(at % 3 == 0)).collect();
    let offsets = OffsetBuffer::from_lengths([5; 6]);
    let truth = ListArray::new(item, offsets, Arc::new(bits), None).slice(1, 4);
    let counts = run(&kernel("count_nonzero(b, axis=1)", &["b: bool[n, _]"]), vec![("b", Arc::new(truth))]);
    let expected: Vec<i64> =
        (1..5).map(|row| (5 * row..5 * row + 5).filter(|at| at % 3 == 0).count() as i64).collect();
    assert_eq!(counts.unwrap().as_primitive::<Int64Type>().values().as_ref(), expected);
    let integers = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        None,
        Some(vec![Some(3), Some(i64::MAX)]),
    ]);
    let first = run(&kernel("max(v, axis=1)", &["v: i64[n, _]"]), vec![("v", Arc::new(integers))]).unwrap();
    assert_eq!(first.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(2), None, Some(i64::MAX)]));
}

#[test]
fn without_a_row_results_are_null_and_others_are_computed() {
    for size in ["_", "k", "3"] {
        let program = format!(
            "input v: f32[n, {size}]; input x: f64[n]; input w: f32[n, _]
            output a = v[:, 2]; output b = 2 * x; output c = 2 * v; output d = v + w; output e = w[:, ::-1]"
        );
        let graph = broadloom_text::Program::parse("five", &program).unwrap().resolve().unwrap();
        let kernel =
            RowKernel::new(&RowGraph::new(&graph, "n").unwrap(), &CompileOptions::default()).unwrap();
        for count in [0, 1, 3] {
            let v: ArrayRef = Arc::new(lists::<i32>(&vec![None; count]));
            let x: ArrayRef = Arc::new(Float64Array::from(vec![1.5; count]));
            let w: ArrayRef = Arc::new(lists::<i32>(&table(count, 3, true)));
            let results = kernel.run_batch(&batch(vec![("v", v), ("x", x), ("w", w)]), &[]).unwrap();
            for null in [0, 2, 3] {
                let column = results.column(null);
                assert_eq!((column.len(), column.null_count()), (count, count));
            }
            assert_eq!(
                results.column(1).as_primitive::<Float64Type>(),
                &Float64Array::from(vec![3.0; count])
            );
            // A fixed size makes fixed-size lists.
            if size != "3" {
                let expected: Vec<Option<Vec<f32>>> = table(count, 3, true)
                    .iter()
                    .map(|of| Some(row(of)?.into_iter().rev().collect()))
                    .collect();
                assert_eq!(rows_of(results.column(4)), expected);
            }
        }
    }
}

#[test]
fn conditions_on_lengths_are_those_of_each_part() {
    // One part for each output, because a position can be out of range where only the other one is null.
    let program = "input v: f32[n, d]; input i: i64[n]; input t: f32[3]; output a = v[:, 2]; output b = t[i]";
    let graph = broadloom_text::Program::parse("two", program).unwrap().resolve().unwrap();
    let kernel = RowKernel::new(&RowGraph::new(&graph, "n").unwrap(), &CompileOptions::default()).unwrap();
    let table = broadloom::Array::new(vec![5.0f32, 6.0, 7.0], &[3]).unwrap();
    let table = [("t".to_owned(), broadloom::AnyArray::from(table))];
    let columns = |length: usize| {
        let i: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None, Some(0)]));
        batch(vec![("v", Arc::new(lists::<i32>(&self::table(3, length, false))) as ArrayRef), ("i", i)])
    };
    let found = kernel.run_batch(&columns(4), &table).unwrap();
    assert_eq!(found.column(0).as_primitive::<Float32Type>(), &Float32Array::from(vec![2.0, 12.0, 22.0]));
    let expected = Float32Array::from(vec![Some(7.0), None, Some(5.0)]);
    assert_eq!(found.column(1).as_primitive::<Float32Type>(), &expected);
    assert!(kernel.run_batch(&columns(2), &table).is_err());
}

#[test]
fn an_aggregate_takes_lists_of_the_length_that_it_was_made_for() {
    let graph = broadloom_text::compile_expr("sum(v, axis=0)", &["v: f32[n, _]"]).unwrap();
    let graph = RowGraph::new(&graph, "n").unwrap();
    let of = |kind: ColumnType| {
        Aggregate::new(&graph, vec![("v".to_owned(), kind)], Vec::new(), &CompileOptions::default())
    };
    let open = ColumnType { dtype: broadloom::DType::F32, row: vec![None] };
    assert!(of(open).unwrap_err().to_string().contains("rows of one length"));
    let sum = of(ColumnType::fixed(broadloom::DType::F32, &[3])).unwrap();
    let column = |length: usize| {
        let lists: ArrayRef = Arc::new(lists::<i32>(&table(5, length, true)));
        vec![(
            "v".to_owned(),
            Column::new(&Field::new("v", lists.data_type().clone(), true), &lists).unwrap(),
        )]
    };
    let mut state = State::default();
    sum.update(&mut state, &column(3)).unwrap();
    let total = sum.finish(&state).unwrap().unwrap();
    let rows: Vec<Vec<f32>> = table(5, 3, true).iter().filter_map(row).collect();
    let expected: Vec<f32> = (0..3).map(|at| rows.iter().map(|row| row[at]).sum()).collect();
    assert_eq!(
        total[0].as_fixed_size_list().values().as_primitive::<Float32Type>().values().as_ref(),
        expected
    );
    let message = sum.update(&mut state, &column(2)).unwrap_err().to_string();
    assert!(message.contains("f32[n, 2]") && message.contains("f32[n, 3]"), "{message}");
}
