//! Tables and queries for the tests.

use datafusion::arrow::array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::prelude::*;
use std::sync::Arc;

/// The number of rows of the table `t`.
pub const ROWS: usize = 1000;

/// The values of row `row` of the table `t`: x, y, k and the list v. Every seventh x is null.
pub fn row(row: usize) -> (Option<f64>, f64, i64, [f32; 3]) {
    let x = row as f64 * 0.25 - 50.0;
    ((row % 7 != 6).then_some(x), (row % 13) as f64, (row % 4) as i64, [row as f32, 1.0, -2.0])
}

/// A session with the table `t(x DOUBLE, y DOUBLE, k BIGINT, s TEXT, v FLOAT[3])`, cut into batches and partitions.
pub fn session() -> Result<SessionContext> {
    let mut context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4));
    broadloom_datafusion::register(&mut context)?;
    let list = DataType::new_fixed_size_list(DataType::Float32, 3, true);
    let schema = Arc::new(Schema::new(vec![
        Field::new("x", DataType::Float64, true),
        Field::new("y", DataType::Float64, false),
        Field::new("k", DataType::Int64, false),
        Field::new("s", DataType::Utf8, false),
        Field::new("v", list, false),
    ]));
    let batch = |rows: std::ops::Range<usize>| {
        let x: Float64Array = rows.clone().map(|index| row(index).0).collect();
        let y: Float64Array = rows.clone().map(|index| Some(row(index).1)).collect();
        let k: Int64Array = rows.clone().map(|index| Some(row(index).2)).collect();
        let s: StringArray = rows.clone().map(|index| Some(format!("s{index}"))).collect();
        let elements: Float32Array = rows.flat_map(|index| row(index).3).map(Some).collect();
        let item = Arc::new(Field::new_list_field(DataType::Float32, true));
        let v = FixedSizeListArray::new(item, 3, Arc::new(elements), None);
        let columns: Vec<ArrayRef> = vec![Arc::new(x), Arc::new(y), Arc::new(k), Arc::new(s), Arc::new(v)];
        RecordBatch::try_new(schema.clone(), columns)
    };
    let partitions = vec![
        vec![batch(0..1)?, batch(1..400)?],
        vec![batch(400..401)?, batch(401..401)?, batch(401..990)?],
        vec![batch(990..ROWS)?],
    ];
    context.register_table("t", Arc::new(MemTable::try_new(schema.clone(), partitions)?))?;
    Ok(context)
}

/// Returns the only column of a query's result, partition by partition.
pub async fn column(context: &SessionContext, sql: &str) -> Result<ArrayRef> {
    joined(context.sql(sql).await?.collect_partitioned().await?.concat(), 0)
}

/// Returns a column of all batches.
pub fn joined(batches: Vec<RecordBatch>, index: usize) -> Result<ArrayRef> {
    let columns: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(index).as_ref()).collect();
    Ok(datafusion::arrow::compute::concat(&columns)?)
}

/// Returns the text of the error of a query, which must be a planning error: nothing has run.
pub async fn planning_error(context: &SessionContext, sql: &str) -> String {
    let error = match context.sql(sql).await {
        Ok(frame) => frame.create_physical_plan().await.map(|_| ()).unwrap_err(),
        Err(error) => error,
    };
    error.to_string()
}
