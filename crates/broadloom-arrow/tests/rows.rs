//! Results with a value for each row, compared with plain Rust loops over the values that are not null.

use arrow_array::builder::BooleanBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeListArray, Float32Array,
    Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::extension::FixedShapeTensor;
use arrow_schema::{DataType, Field, Schema};
use broadloom::{AnyArray, Array as Tensor, CompileOptions, Threads};
use broadloom_arrow::{ColumnError, ColumnType, RowGraph, RowKernel};
use proptest::prelude::*;
use std::sync::Arc;

fn kernel(expression: &str, inputs: &[&str]) -> RowKernel {
    let graph = broadloom_text::compile_expr(expression, inputs).unwrap();
    let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
    RowKernel::new(&RowGraph::new(&graph, "n").unwrap(), &options).unwrap()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn run(expression: &str, inputs: &[&str], columns: Vec<(&str, ArrayRef)>) -> Result<ArrayRef, ColumnError> {
    Ok(kernel(expression, inputs).run_batch(&batch(columns), &[])?.column(0).clone())
}

fn list(values: Vec<f32>, size: i32, nulls: Option<NullBuffer>) -> FixedSizeListArray {
    let item = Arc::new(Field::new_list_field(DataType::Float32, true));
    FixedSizeListArray::new(item, size, Arc::new(Float32Array::from(values)), nulls)
}

#[test]
fn numbers_of_every_type_with_and_without_nulls() {
    macro_rules! check {
        ($($primitive:ident $dtype:literal $of:expr),* $(,)?) => {$(
            for rows in [0usize, 1, 2, 3, 17, 65, 1000] {
                type Number = <$primitive as ArrowPrimitiveType>::Native;
                let of: fn(usize) -> Number = $of;
                let values: Vec<Option<Number>> =
                    (0..rows).map(|row| (row % 3 != 1).then(|| of(row % 50))).collect();
                let column = arrow_array::PrimitiveArray::<$primitive>::from(values.clone());
                let input = format!("x: {}[n]", $dtype);
                let expected: Vec<Option<Number>> = values.iter().map(|value| value.map(|x| x + x)).collect();
                let expected: ArrayRef = Arc::new(arrow_array::PrimitiveArray::<$primitive>::from(expected));
                let result = run("x + x", &[&input], vec![("x", Arc::new(column))]).unwrap();
                assert_eq!(&result, &expected, "{} rows of {}", rows, $dtype);
            }
        )*};
    }
    check!(
        Int8Type "i8" |row| row as i8,
        Int16Type "i16" |row| row as i16,
        Int32Type "i32" |row| row as i32,
        Int64Type "i64" |row| row as i64,
        UInt8Type "u8" |row| row as u8,
        UInt16Type "u16" |row| row as u16,
        UInt32Type "u32" |row| row as u32,
        UInt64Type "u64" |row| row as u64,
        Float16Type "f16" |row| half::f16::from_f32(row as f32),
        Float32Type "f32" |row| row as f32,
        Float64Type "f64" |row| row as f64,
    );
}

#[test]
fn slices_of_arrays_and_lists() {
    let values: Vec<f32> = (0..60).map(|value| value as f32).collect();
    let nulls = NullBuffer::from_iter((0..20).map(|row| row % 4 != 3));
    let lists = list(values.clone(), 3, Some(nulls.clone())).slice(5, 9);
    let result = run("sum(v * v, axis=1)", &["v: f32[n, 3]"], vec![("v", Arc::new(lists))]).unwrap();
    let expected: Float32Array = (5..14)
        .map(|row| {
            nulls.is_valid(row).then(|| values[3 * row..3 * row + 3].iter().map(|x| x * x).sum::<f32>())
        })
        .collect();
    assert_eq!(result.as_primitive::<Float32Type>(), &expected);

    let numbers = Float32Array::from(values.clone()).slice(7, 11);
    let result = run("-x", &["x: f32[n]"], vec![("x", Arc::new(numbers))]).unwrap();
    assert_eq!(
        result.as_primitive::<Float32Type>().values().as_ref(),
        values[7..18].iter().map(|x| -x).collect::<Vec<_>>()
    );
}

#[test]
fn truth_values_are_packed_and_unpacked_in_pieces() {
    for (rows, skipped) in [(0, 0), (1, 3), (9, 5), (1000, 13), (200_001, 7)] {
        let value = |row: usize| (row % 7 != 2).then_some(row.is_multiple_of(3));
        let mut builder = BooleanBuilder::new();
        (0..rows + skipped).for_each(|row| builder.append_option(value(row)));
        let truth = builder.finish().slice(skipped, rows);
        let other: BooleanArray = (0..rows).map(|row| Some(row % 2 == 0)).collect();
        let columns =
            || vec![("a", Arc::new(truth.clone()) as ArrayRef), ("b", Arc::new(other.clone()) as ArrayRef)];
        let result = run("a ^ b", &["a: bool[n]", "b: bool[n]"], columns()).unwrap();
        let expected: BooleanArray =
            (0..rows).map(|row| Some(value(row + skipped)? ^ (row % 2 == 0))).collect();
        assert_eq!(result.as_boolean(), &expected, "{rows} rows");
        let result = run("where(a, 2.5, -1.0)", &["a: bool[n]"], columns()).unwrap();
        let expected: Float64Array =
            (0..rows).map(|row| Some(if value(row + skipped)? { 2.5 } else { -1.0 })).collect();
        assert_eq!(result.as_primitive::<Float64Type>(), &expected, "{rows} rows");
    }
}

#[test]
fn rows_with_axes_come_out_as_lists_and_tensors() {
    let columns = vec![("v", Arc::new(list((0..12).map(|x| x as f32).collect(), 3, None)) as ArrayRef)];
    let doubled = run("2 * v", &["v: f32[n, 3]"], columns.clone()).unwrap();
    let values = doubled.as_fixed_size_list().values().as_primitive::<Float32Type>().clone();
    assert_eq!(values.values().as_ref(), (0..12).map(|x| 2.0 * x as f32).collect::<Vec<_>>());

    // The outer product of each row with itself is a tensor, and goes in again.
    let outer =
        kernel("v[:, :, None] * v[:, None, :]", &["v: f32[n, 3]"]).run_batch(&batch(columns), &[]).unwrap();
    let field = outer.schema().field(0).clone();
    assert_eq!(field.extension_type_name(), Some("arrow.fixed_shape_tensor"));
    assert_eq!(ColumnType::of(&field).unwrap().row, [Some(3), Some(3)]);
    // Arrow's own type for Rust, whose elements cannot be null by type.
    let (_, size, elements, nulls) = outer.column(0).as_fixed_size_list().clone().into_parts();
    let item = Arc::new(Field::new_list_field(DataType::Float32, false));
    let strict = FixedSizeListArray::new(item, size, elements, nulls);
    let mut strict_field = Field::new("t", strict.data_type().clone(), true);
    strict_field
        .try_with_extension_type(
            FixedShapeTensor::try_new(DataType::Float32, vec![3, 3], None, None).unwrap(),
        )
        .unwrap();
    let field = Field::new("t", field.data_type().clone(), true).with_metadata(field.metadata().clone());
    let expected: Vec<f32> = (0..4).map(|row| (0..3).map(|x| ((3 * row + x) as f32).powi(2)).sum()).collect();
    for (field, column) in [(field, outer.column(0).clone()), (strict_field, Arc::new(strict))] {
        let tensors = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap();
        let trace = kernel("t[:, 0, 0] + t[:, 1, 1] + t[:, 2, 2]", &["t: f32[n, 3, 3]"])
            .run_batch(&tensors, &[])
            .unwrap();
        assert_eq!(trace.column(0).as_primitive::<Float32Type>().values().as_ref(), expected);
    }
}

#[test]
fn nested_lists_are_tensors() {
    let inner = list((0..24).map(|x| x as f32).collect(), 3, None);
    let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
    let nested = FixedSizeListArray::new(item, 2, Arc::new(inner), None).slice(1, 3);
    let sums = run("sum(t, axis=(1, 2))", &["t: f32[n, 2, 3]"], vec![("t", Arc::new(nested))]).unwrap();
    let expected: Vec<f32> = (1..4).map(|row| (6 * row..6 * row + 6).map(|x| x as f32).sum()).collect();
    assert_eq!(sums.as_primitive::<Float32Type>().values().as_ref(), expected);
}

#[test]
fn null_elements_make_null_rows() {
    let item = Arc::new(Field::new_list_field(DataType::Float32, true));
    let values =
        Float32Array::from(vec![Some(1.0), Some(2.0), None, Some(3.0), Some(5.0), Some(6.0), None, None]);
    let nulls = NullBuffer::from(vec![true, true, true, false]);
    let lists = FixedSizeListArray::new(item, 2, Arc::new(values), Some(nulls));
    let result = run("v[:, 1]", &["v: f32[n, 2]"], vec![("v", Arc::new(lists))]).unwrap();
    let expected = Float32Array::from(vec![Some(2.0), None, Some(6.0), None]);
    assert_eq!(result.as_primitive::<Float32Type>(), &expected);
}

#[test]
fn null_rows_raise_no_errors() {
    let table = Tensor::new(vec![10.0f64, 20.0, 30.0], &[3]).unwrap();
    let table = [("table".to_owned(), AnyArray::from(table))];
    let look_up = kernel("table[i]", &["i: i64[n]", "table: f64[3]"]);
    let nulls = NullBuffer::from(vec![true, false, true, false]);
    let indices = |values: Vec<i64>| Int64Array::new(values.into(), Some(nulls.clone()));
    let result =
        look_up.run_batch(&batch(vec![("i", Arc::new(indices(vec![2, 99, 0, -99])))]), &table).unwrap();
    let expected = Float64Array::from(vec![Some(30.0), None, Some(10.0), None]);
    assert_eq!(result.column(0).as_primitive::<Float64Type>(), &expected);
    let all_null = Int64Array::from(vec![None; 3]);
    let result = look_up.run_batch(&batch(vec![("i", Arc::new(all_null))]), &table).unwrap();
    assert_eq!((result.num_rows(), result.column(0).null_count()), (3, 3));

    // An error in a row that is there names that row of the table.
    let wrong = look_up.run_batch(&batch(vec![("i", Arc::new(indices(vec![2, 99, 7, -99])))]), &table);
    let message = wrong.unwrap_err().to_string();
    assert!(message.contains('7') && message.contains("[2]"), "{message}");

    let power = |nulls| {
        let (base, exponent) = (Int32Array::from(vec![2, 3]), Int32Array::new(vec![5, -1].into(), nulls));
        run("x ** y", &["x: i32[n]", "y: i32[n]"], vec![("x", Arc::new(base)), ("y", Arc::new(exponent))])
    };
    assert!(power(None).is_err());
    let result = power(Some(NullBuffer::from(vec![true, false]))).unwrap();
    assert_eq!(result.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(32), None]));
    let division = run(
        "x // y",
        &["x: i32[n]", "y: i32[n]"],
        vec![
            ("x", Arc::new(Int32Array::from(vec![7, 7]))),
            ("y", Arc::new(Int32Array::from(vec![Some(2), None]))),
        ],
    );
    assert_eq!(division.unwrap().as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(3), None]));
}

#[test]
fn outputs_are_null_where_their_own_columns_are() {
    let program =
        "input x: f64[n]; input i: i64[n]; input table: f64[2]; output a = 2 * x; output b = table[i]";
    let graph = broadloom_text::Program::parse("two", program).unwrap().resolve().unwrap();
    let kernel = RowKernel::new(&RowGraph::new(&graph, "n").unwrap(), &CompileOptions::default()).unwrap();
    let x = Float64Array::from(vec![Some(1.0), None, Some(3.0)]);
    let i = Int64Array::new(vec![1, 0, 50].into(), Some(NullBuffer::from(vec![true, true, false])));
    let table = [("table".to_owned(), AnyArray::from(Tensor::new(vec![5.0f64, 6.0], &[2]).unwrap()))];
    let result = kernel.run_batch(&batch(vec![("x", Arc::new(x)), ("i", Arc::new(i))]), &table).unwrap();
    let column = |index: usize| result.column(index).as_primitive::<Float64Type>().clone();
    assert_eq!(column(0), Float64Array::from(vec![Some(2.0), None, Some(6.0)]));
    assert_eq!(column(1), Float64Array::from(vec![Some(6.0), Some(5.0), None]));
}

#[test]
fn reductions_over_rows_skip_nulls() {
    let x = Float64Array::from(vec![Some(1.0), None, Some(2.0), Some(6.0), None]);
    let columns = || vec![("x", Arc::new(x.clone()) as ArrayRef)];
    let result = run("x - mean(x)", &["x: f64[n]"], columns()).unwrap();
    let expected = Float64Array::from(vec![Some(-2.0), None, Some(-1.0), Some(3.0), None]);
    assert_eq!(result.as_primitive::<Float64Type>(), &expected);
    for (expression, expected) in
        [("mean(x)", 3.0), ("var(x)", 14.0 / 3.0), ("sum(x)", 9.0), ("median(x)", 2.0)]
    {
        let result = run(expression, &["x: f64[n]"], columns()).unwrap();
        assert_eq!(result.as_primitive::<Float64Type>(), &Float64Array::from(vec![expected]), "{expression}");
    }
    let count = run("len(x)", &["x: f64[n]"], columns()).unwrap();
    assert_eq!(count.as_primitive::<Int64Type>().values().as_ref(), [3]);
    let none = Float64Array::from(vec![None, None]);
    let result = run("max(x)", &["x: f64[n]"], vec![("x", Arc::new(none))]).unwrap();
    assert_eq!((result.len(), result.null_count()), (1, 1));
}

#[test]
fn other_types_are_refused_with_what_to_do() {
    let dictionary: DictionaryArray<Int32Type> = vec!["a", "b"].into_iter().collect();
    let decimal = Decimal128Array::from(vec![1, 2]);
    let cases: [(ArrayRef, &str); 3] = [
        (Arc::new(StringArray::from(vec!["a"])), "CAST(.. AS DOUBLE)"),
        (Arc::new(decimal), "CAST(.. AS DOUBLE)"),
        (Arc::new(dictionary), "cast it to Utf8, the type of its values"),
    ];
    for (column, help) in cases {
        let message = run("x + 1", &["x: f64[n]"], vec![("x", column)]).unwrap_err().to_string();
        assert!(message.starts_with("column `x` has the type") && message.contains(help), "{message}");
    }
    let integers: ArrayRef = Arc::new(UInt8Array::from(vec![1]));
    let message = run("x + 1", &["x: f64[n]"], vec![("x", integers.clone())]).unwrap_err().to_string();
    assert!(message.contains("column `x` is u8[n], but the program declares x: f64[n]"), "{message}");
    let message = run("x + 1", &["x: f64[n]"], vec![("y", integers)]).unwrap_err().to_string();
    assert!(message.contains("there is no column `x`; the columns are y"), "{message}");
}

#[test]
fn rows_that_mix_are_named() {
    for (expression, op) in [
        ("x - mean(x)", "mean"),
        ("cumsum(x)", "cumsum"),
        ("sort(x)", "sort"),
        ("x * arange(len(x))", "arange"),
        ("x / len(x)", "len"),
        ("x[:, None] - x", "subtract"),
        ("x[1:]", "slice"),
    ] {
        let graph = broadloom_text::compile_expr(expression, &["x: f64[n]"]).unwrap();
        let mixing = RowGraph::new(&graph, "n").unwrap().mixing();
        assert_eq!(mixing.map(|mixing| mixing.op).as_deref(), Some(op), "{expression}");
    }
    let graph = broadloom_text::compile_expr("sum(v, axis=1) + v[:, 0] ** 2", &["v: f64[n, 4]"]).unwrap();
    assert_eq!(RowGraph::new(&graph, "n").unwrap().mixing(), None);
}

proptest! {
    /// Nulls anywhere never change the bits of other rows.
    #[test]
    fn null_rows_change_no_other_row(
        rows in proptest::collection::vec((proptest::option::of(any::<f32>()), any::<f32>(), 0i64..4), 0..200),
    ) {
        let table = [("table".to_owned(), AnyArray::from(Tensor::new(vec![1.0f32, 2.0, 3.0, 4.0], &[4]).unwrap()))];
        let kernel = kernel("exp(x) * table[i] - y", &["x: f32[n]", "y: f32[n]", "i: i64[n]", "table: f32[4]"]);
        let columns = |x: Float32Array, index: Int64Array| {
            let y: Float32Array = rows.iter().map(|(_, y, _)| Some(*y)).collect();
            batch(vec![("x", Arc::new(x)), ("y", Arc::new(y)), ("i", Arc::new(index))])
        };
        let with_nulls: Float32Array = rows.iter().map(|(x, ..)| *x).collect();
        // Under a null row, the index is out of range.
        let wild: Int64Array = rows.iter().map(|(x, _, i)| Some(x.map_or(1000, |_| *i))).collect();
        let result = kernel.run_batch(&columns(with_nulls, wild), &table).unwrap();
        let filled: Float32Array = rows.iter().map(|(x, ..)| Some(x.unwrap_or(0.0))).collect();
        let plain: Int64Array = rows.iter().map(|(.., i)| Some(*i)).collect();
        let whole = kernel.run_batch(&columns(filled, plain), &table).unwrap();
        let (result, whole) = (result.column(0).as_primitive::<Float32Type>(), whole.column(0).as_primitive::<Float32Type>());
        for (row, (x, ..)) in rows.iter().enumerate() {
            prop_assert_eq!(result.is_valid(row), x.is_some());
            prop_assert!(x.is_none() || result.value(row).to_bits() == whole.value(row).to_bits());
        }
    }
}
