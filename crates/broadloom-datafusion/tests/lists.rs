//! Lists without a fixed size in SQL: embeddings in files, and `make_array`, compared with plain Rust.

mod common;

use broadloom_datafusion::{TensorAggregate, TensorFunction};
use common::{ROWS, column, planning_error, row, session};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, GenericListArray, Int64Array, LargeListArray, ListArray,
    RecordBatch,
};
use datafusion::arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Int64Type, Schema};
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::*;
use std::sync::Arc;

/// The number of rows of the table `e`.
const EMBEDDINGS: usize = 300;

/// The list of a row of the table `e`, of which every fifth is null.
fn embedding(row: usize) -> Option<Vec<f32>> {
    (row % 5 != 4).then(|| vec![row as f32, 0.5, -(row as f32) / 4.0])
}

/// A list for each row; pyarrow calls the elements in its files `element`.
fn lists(rows: impl Iterator<Item = Option<Vec<f32>>>) -> ListArray {
    let rows = rows.map(|row| row.map(|row| row.into_iter().map(Some).collect::<Vec<_>>()));
    let (_, offsets, values, nulls) = ListArray::from_iter_primitive::<Float32Type, _, _>(rows).into_parts();
    ListArray::new(Arc::new(Field::new("element", DataType::Float32, true)), offsets, values, nulls)
}

fn large(lists: &ListArray) -> LargeListArray {
    let (item, offsets, values, nulls) = lists.clone().into_parts();
    let offsets = offsets.iter().map(|offset| i64::from(*offset)).collect::<Vec<_>>();
    let offsets = datafusion::arrow::buffer::OffsetBuffer::new(offsets.into());
    GenericListArray::new(item, offsets, values, nulls)
}

/// Adds a table of some batches, each in a partition of its own.
fn add(context: &SessionContext, name: &str, batches: Vec<Vec<(&str, ArrayRef)>>) -> Result<()> {
    let batches = batches.into_iter().map(|columns| {
        let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        RecordBatch::try_new(schema, columns.into_iter().map(|(_, array)| array).collect())
    });
    let batches = batches.collect::<std::result::Result<Vec<RecordBatch>, _>>()?;
    let schema = batches[0].schema();
    let partitions = batches.into_iter().map(|batch| vec![batch]).collect();
    context.register_table(name, Arc::new(MemTable::try_new(schema, partitions)?))?;
    Ok(())
}

fn ids(rows: std::ops::Range<usize>) -> ArrayRef {
    Arc::new(rows.map(|row| row as i64).collect::<Int64Array>())
}

/// The session of the other tests, with `e(id, v)`, whose lists have three elements, and `d(id, v)`, in which each partition has
/// another length.
fn with_lists() -> Result<SessionContext> {
    let context = session()?;
    let batch = |rows: std::ops::Range<usize>| -> Vec<(&str, ArrayRef)> {
        vec![("id", ids(rows.clone())), ("v", Arc::new(lists(rows.map(embedding))))]
    };
    add(&context, "e", vec![batch(0..1), batch(1..1), batch(1..200), batch(200..EMBEDDINGS)])?;
    let lengths = [2usize, 0, 5];
    let batches = lengths.iter().map(|length| -> Vec<(&str, ArrayRef)> {
        let rows = (0..3).map(|row| (row != 1).then(|| vec![row as f32 + 1.0; *length]));
        let id: ArrayRef = Arc::new(Int64Array::from(vec![*length as i64; 3]));
        vec![("id", id), ("v", Arc::new(large(&lists(rows))))]
    });
    add(&context, "d", batches.collect())?;
    Ok(context)
}

#[tokio::test]
async fn lists_are_columns_without_a_cast() -> Result<()> {
    let context = with_lists()?;
    let sums = column(&context, "SELECT broadloom('sum(v, axis=1)', v) FROM e ORDER BY id").await?;
    let expected: Vec<Option<f32>> = (0..EMBEDDINGS).map(|row| Some(embedding(row)?.iter().sum())).collect();
    assert_eq!(sums.as_primitive::<Float32Type>().iter().collect::<Vec<_>>(), expected);
    // A list goes on as a list, through filters and other calls.
    let sql =
        "SELECT broadloom('w[:, 2] - w[:, 0]', broadloom('2 * v', v)) FROM e WHERE id % 3 = 1 ORDER BY id";
    let found = column(&context, sql).await?;
    let of = |row: usize| embedding(row).map(|v| 2.0 * v[2] - 2.0 * v[0]);
    let expected: Vec<Option<f32>> = (0..EMBEDDINGS).filter(|row| row % 3 == 1).map(of).collect();
    assert_eq!(found.as_primitive::<Float32Type>().iter().collect::<Vec<_>>(), expected);
    let typed = "SELECT arrow_typeof(broadloom('2 * v', v)) FROM e LIMIT 1";
    assert!(column(&context, typed).await?.as_string::<i32>().value(0).starts_with("List("));
    Ok(())
}

#[tokio::test]
async fn each_batch_has_a_length_of_its_own() -> Result<()> {
    let context = with_lists()?;
    let sums = column(&context, "SELECT broadloom('sum(v, axis=1)', v) FROM d ORDER BY id").await?;
    let mut sums: Vec<Option<f32>> = sums.as_primitive::<Float32Type>().iter().collect();
    sums.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let expected = [None, None, None, Some(0.0), Some(0.0), Some(2.0), Some(5.0), Some(6.0), Some(15.0)];
    assert_eq!(sums, expected);
    let sql = "SELECT CAST(array_length(w) AS BIGINT) FROM (SELECT id, broadloom('-v', v) AS w FROM d) WHERE w IS NOT NULL";
    let lengths = column(&context, sql).await?;
    let mut lengths: Vec<i64> =
        lengths.as_primitive::<Int64Type>().iter().map(|of| of.unwrap_or(0)).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [0, 0, 2, 2, 5, 5]);
    Ok(())
}

#[tokio::test]
async fn rows_of_several_lengths_are_named_with_what_to_write() -> Result<()> {
    let context = with_lists()?;
    let rows = [Some(vec![1.0, 2.0, 3.0]), None, Some(vec![4.0, 5.0])].into_iter();
    add(&context, "r", vec![vec![("id", ids(0..3)), ("v", Arc::new(lists(rows)) as ArrayRef)]])?;
    let frame = context.sql("SELECT broadloom('sum(v, axis=1)', v) FROM r").await?;
    let message = frame.collect().await.unwrap_err().to_string();
    for part in [
        "error[Q002]: the lists of column `v` have several lengths",
        "row 0 of the batch has 3 elements, row 2 has 2 elements",
        "WHERE array_length(..) = 3",
        "array_resize(.., 3, 0)",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    // What it says to write works.
    for (sql, expected) in [
        ("SELECT broadloom('sum(v, axis=1)', v) FROM r WHERE array_length(v) = 3", vec![Some(6.0)]),
        (
            "SELECT broadloom('sum(v, axis=1)', array_resize(v, 3, 0)) FROM r ORDER BY id",
            vec![Some(6.0), None, Some(9.0)],
        ),
    ] {
        let found = column(&context, sql).await?;
        assert_eq!(found.as_primitive::<Float32Type>().iter().collect::<Vec<_>>(), expected, "{sql}");
    }
    Ok(())
}

#[tokio::test]
async fn mistakes_with_lists_are_planning_errors() -> Result<()> {
    let context = with_lists()?;
    let message = planning_error(&context, "SELECT broadloom('id * v', id, v) FROM e").await;
    for part in ["error[S002]", "id[:, None] * v", "expression:1:1"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    // Where the length has to be known, the message says how to tell it, and that works.
    let sql = |v: &str| format!("SELECT broadloom('sum(v.reshape(-1, 3), axis=1)', {v}) FROM e");
    let message = planning_error(&context, &sql("v")).await;
    for part in ["error[S004]", "if all lists have 3 elements", "arrow_cast(.., 'FixedSizeList(3, Float32)')"]
    {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert_eq!(column(&context, &sql("arrow_cast(v, 'FixedSizeList(3, Float32)')")).await?.len(), EMBEDDINGS);
    let message = planning_error(&context, "SELECT broadloom('sum(v, axis=2)', v) FROM e").await;
    assert!(message.contains("expression:1:"), "{message}");
    let message = planning_error(&context, "SELECT broadloom('x + 1', make_array('a', 'b')) FROM t").await;
    assert!(message.contains("CAST(.. AS DOUBLE)"), "{message}");
    Ok(())
}

#[tokio::test]
async fn arrays_of_columns_and_of_numbers_are_arguments() -> Result<()> {
    let context = with_lists()?;
    let expected: Float64Array =
        (0..ROWS).map(|index| row(index).0.map(|x| (x * x + row(index).1 * row(index).1).sqrt())).collect();
    for sql in [
        "SELECT broadloom('sqrt(sum(p * p, axis=1))', make_array(x, y)) FROM t",
        "SELECT broadloom('sqrt(sum(p * p, axis=1))', [x, y]) FROM t",
        "SELECT broadloom('sqrt(sum(p * p, axis=1))', p) FROM (SELECT make_array(x, y) AS p FROM t)",
    ] {
        let found = column(&context, sql).await?;
        assert_eq!(found.as_primitive::<Float64Type>(), &expected, "{sql}");
    }
    // `v` has three elements by its type.
    let expected: Vec<f64> = (0..ROWS)
        .map(|index| row(index).3.iter().zip([1.5, 2.0, 4.0]).map(|(v, c)| f64::from(*v) * c).sum())
        .collect();
    for sql in [
        "SELECT broadloom('sum(v * c, axis=1)', v, [1.5, 2.0, 4.0]) FROM t",
        "SELECT broadloom('sum(v * c, axis=1)', v, make_array(1.5, 2, 4)) FROM t",
    ] {
        let found = column(&context, sql).await?;
        assert_eq!(found.as_primitive::<Float64Type>().values().as_ref(), expected, "{sql}");
    }
    let found = column(&context, "SELECT broadloom('sum(c, axis=1)', [1.0, 2.5])").await?;
    assert_eq!(found.as_primitive::<Float64Type>().value(0), 3.5);
    let found = column(&context, "SELECT broadloom('sum(c, axis=1)', make_array()) FROM t").await?;
    assert_eq!(found.as_primitive::<Float64Type>().values().as_ref(), [0.0; ROWS]);
    let found = column(&context, "SELECT broadloom('sum(c, axis=1)', [NULL, 1.0]) FROM t").await?;
    assert_eq!(found.null_count(), ROWS);
    // An array of lists is a tensor of three axes.
    let found =
        column(&context, "SELECT broadloom('sum(m, axis=(1, 2))', [[y, 1.0], [2.0, k]]) FROM t").await?;
    let expected: Vec<f64> = (0..ROWS).map(|index| row(index).1 + 3.0 + row(index).2 as f64).collect();
    assert_eq!(found.as_primitive::<Float64Type>().values().as_ref(), expected);
    let short = context.sql("SELECT broadloom('sum(v * c, axis=1)', v, [1.0, 2.0]) FROM t").await;
    let message = match short {
        Ok(frame) => frame.collect().await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(message.contains('2') && message.contains('3'), "{message}");
    // Lengths that only the data tell, and what to write about them.
    let sql = "SELECT broadloom('sum(v * w, axis=1)', make_array(x, y, y), make_array(y, y)) FROM t";
    let message = context.sql(sql).await?.collect().await.unwrap_err().to_string();
    for part in ["error[S101]", "expression:1:5", "array_resize(.., 3, 0)"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    let longer = sql.replace("make_array(y, y)", "array_resize(make_array(y, y), 3, 0)");
    assert_eq!(column(&context, &longer).await?.len(), ROWS);
    Ok(())
}

#[tokio::test]
async fn aggregates_of_lists_merge_partitions() -> Result<()> {
    let context = with_lists()?;
    let rows: Vec<Vec<f32>> = (0..EMBEDDINGS).filter_map(embedding).collect();
    let total = column(&context, "SELECT broadloom_agg('sum(v, axis=0)', v) FROM e").await?;
    let total = total.as_list::<i32>().value(0);
    let total = total.as_primitive::<Float32Type>();
    for at in 0..3 {
        let expected: f32 = rows.iter().map(|row| row[at]).sum();
        assert!((total.value(at) - expected).abs() <= 1e-4 * expected.abs(), "{total:?}");
    }
    // Totals of numbers, one for each group.
    let sql = "SELECT broadloom_agg('max(sum(v, axis=1))', v) FROM e GROUP BY id % 7 ORDER BY id % 7";
    let found = column(&context, sql).await?;
    let expected: Vec<f32> = (0..7)
        .map(|group| {
            let of_group = (0..EMBEDDINGS).filter(|row| row % 7 == group).filter_map(embedding);
            of_group.map(|row| row.iter().sum::<f32>()).fold(f32::MIN, f32::max)
        })
        .collect();
    assert_eq!(found.as_primitive::<Float32Type>().values().as_ref(), expected);
    let sql = "SELECT broadloom_agg('max(v[:, 1]) + var(v[:, 0])', v) FROM d WHERE id = 5 GROUP BY id";
    let found = column(&context, sql).await?;
    assert_eq!(found.as_primitive::<Float32Type>().values().as_ref(), [4.0]);
    let short = "SELECT broadloom_agg('max(v[:, 2])', v) FROM d WHERE id = 2 GROUP BY id";
    assert!(context.sql(short).await?.collect().await.is_err());
    // Lists of each group, of which each has a length of its own.
    let sql = "SELECT broadloom_agg('max(v, axis=0)', v) FROM d GROUP BY id ORDER BY id";
    let found = column(&context, sql).await?;
    let lengths: Vec<usize> = (0..3).map(|row| found.as_list::<i32>().value(row).len()).collect();
    assert_eq!(lengths, [0, 2, 5]);
    assert!(found.as_list::<i32>().values().as_primitive::<Float32Type>().iter().all(|x| x == Some(3.0)));
    let message = context.sql("SELECT broadloom_agg('sum(v, axis=0)', v) FROM d").await?;
    let message = message.collect().await.unwrap_err().to_string();
    for part in ["error[Q002]: the lists of column `v` have several lengths", "GROUP BY array_length(..)"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    Ok(())
}

#[tokio::test]
async fn aggregates_of_lists_without_rows_filters_and_windows() -> Result<()> {
    let context = with_lists()?;
    for sql in [
        "SELECT broadloom_agg('sum(v, axis=0)', v) FROM e WHERE id < 0",
        "SELECT broadloom_agg('sum(v, axis=0)', v) FROM e WHERE v IS NULL",
        "SELECT broadloom_agg('max(sum(v, axis=1))', v) FROM e WHERE v IS NULL GROUP BY id % 2 LIMIT 1",
    ] {
        let found = column(&context, sql).await?;
        assert_eq!((found.len(), found.null_count()), (1, 1), "{sql}");
    }
    // Rows that a filter leaves out may have any length.
    let rows = [vec![1.0f32, 2.0], vec![9.0], vec![3.0, 4.0]].into_iter().map(Some);
    add(&context, "r", vec![vec![("id", ids(0..3)), ("v", Arc::new(lists(rows)) as ArrayRef)]])?;
    for (sql, expected) in [
        ("broadloom_agg('sum(sum(v, axis=1))', v) FILTER (WHERE id <> 1)", 10.0),
        ("broadloom_agg('sum(v, axis=0)', v) FILTER (WHERE id <> 1)[2]", 6.0),
    ] {
        for group in ["", " GROUP BY id * 0"] {
            let found = column(&context, &format!("SELECT {sql} FROM r{group}")).await?;
            assert_eq!(found.as_primitive::<Float32Type>().value(0), expected, "{sql}{group}");
        }
    }
    let sql =
        "SELECT broadloom_agg('sum(v, axis=0)', v) OVER (ORDER BY id ROWS 1 PRECEDING)[1] FROM e ORDER BY id";
    let found = column(&context, sql).await?;
    let first = |row: usize| embedding(row).map(|row| row[0]);
    let expected: Vec<Option<f32>> = (0..EMBEDDINGS)
        .map(|row| match (row.checked_sub(1).and_then(first), first(row)) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        })
        .collect();
    assert_eq!(found.as_primitive::<Float32Type>().iter().collect::<Vec<_>>(), expected);
    Ok(())
}

#[tokio::test]
async fn programs_take_lists_of_the_length_of_their_arrays() -> Result<()> {
    let context = with_lists()?;
    let text = "input v: f32[n, d]; input c: f32[k, d]
        argmin(sum((v[:, None] - c) ** 2, axis=-1), axis=1)";
    let program = broadloom_text::Program::parse("nearest", text).unwrap().resolve().unwrap();
    let codes = broadloom::Array::new(vec![0.0f32, 0.0, 0.0, 200.0, 0.0, -50.0], &[2, 3]).unwrap();
    let nearest = TensorFunction::new("nearest", &program)?.with_constant("c", codes)?;
    context.register_udf(ScalarUDF::from(nearest));
    let found = column(&context, "SELECT nearest(v) FROM e ORDER BY id").await?;
    let expected: Vec<Option<i64>> = (0..EMBEDDINGS)
        .map(|row| {
            let v = embedding(row)?;
            let far = |code: [f32; 3]| v.iter().zip(code).map(|(v, c)| (v - c).powi(2)).sum::<f32>();
            Some(i64::from(far([200.0, 0.0, -50.0]) < far([0.0; 3])))
        })
        .collect();
    assert_eq!(found.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), expected);
    let message = context.sql("SELECT nearest(v) FROM d WHERE id = 5").await?;
    let message = message.collect().await.unwrap_err().to_string();
    assert!(message.contains('5') && message.contains('3'), "{message}");
    let centre = broadloom_text::Program::parse("centre", "input v: f64[n, d]; mean(v, axis=0)").unwrap();
    let centre = TensorAggregate::new("centre", &centre.resolve().unwrap())?;
    context.register_udaf(AggregateUDF::from(centre));
    // Converted to the dtype of the input, and merged.
    let found = column(&context, "SELECT centre(v) FROM e").await?;
    let found = found.as_list::<i32>().value(0);
    let rows: Vec<Vec<f32>> = (0..EMBEDDINGS).filter_map(embedding).collect();
    for at in 0..3 {
        let expected = rows.iter().map(|row| f64::from(row[at])).sum::<f64>() / rows.len() as f64;
        assert!((found.as_primitive::<Float64Type>().value(at) - expected).abs() < 1e-9 * expected.abs());
    }
    Ok(())
}

#[tokio::test]
async fn embeddings_in_parquet_are_lists() -> Result<()> {
    let context = with_lists()?;
    let directory = tempfile::tempdir()?;
    for (name, count) in [("none", 0), ("one", 1), ("many", 20_000)] {
        let lists = lists((0..count).map(embedding));
        let columns: [ArrayRef; 3] = [ids(0..count), Arc::new(lists.clone()), Arc::new(large(&lists))];
        let batch = RecordBatch::try_from_iter(["id", "v", "w"].into_iter().zip(columns))?;
        let path = directory.path().join(format!("{name}.parquet"));
        let mut writer = ArrowWriter::try_new(std::fs::File::create(&path)?, batch.schema(), None)?;
        writer.write(&batch)?;
        writer.close()?;
        context.register_parquet(name, path.to_str().unwrap(), ParquetReadOptions::default()).await?;
        let sql = format!("SELECT broadloom('sum(v + w, axis=1)', v, w) FROM {name} ORDER BY id");
        let batches = context.sql(&sql).await?.collect().await?;
        let found: Vec<Option<f32>> = batches
            .iter()
            .flat_map(|batch| batch.column(0).as_primitive::<Float32Type>().iter().collect::<Vec<_>>())
            .collect();
        let expected: Vec<Option<f32>> =
            (0..count).map(|row| Some(embedding(row)?.iter().map(|x| x + x).sum())).collect();
        assert_eq!(found, expected, "{name}");
    }
    Ok(())
}
