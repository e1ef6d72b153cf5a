//! The files: numbers that look random, without nulls, in plain encoding and without compression. And what queries over them
//! compute, in one process and on clusters.

use super::Result;
use broadloom::Array;
use broadloom_datafusion::TensorFunction;
use broadloom_text::Program;
use datafusion::arrow::array::{
    ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::prelude::SessionContext;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILES: usize = 4;
const BATCH: usize = 1 << 16;
/// The number of elements of a list.
pub const SIZE: usize = 8;
/// The number of codes.
pub const CODES: usize = 256;
const GROUPS: usize = 100_000;

/// The distance of two places on the earth.
pub const HAVERSINE: &str = "2 * 6371 * asin(sqrt(sin(radians(lat2 - lat1) / 2) ** 2 \
    + cos(radians(lat1)) * cos(radians(lat2)) * sin(radians(lon2 - lon1) / 2) ** 2))";

/// Returns a number in 0 to 1.
fn random(row: usize, column: usize) -> f64 {
    let mut bits = (row * 32 + column) as u64;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns an element of a code, with few digits.
pub fn code_at(code: usize, axis: usize) -> f32 {
    (random(code, axis) * 4096.0).round() as f32 / 4096.0
}

fn batch(rows: Range<usize>) -> Result<RecordBatch> {
    let numbers = |column: usize, scale: f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(rows.clone().map(|row| (random(row, column) - 0.5) * scale)))
    };
    let element = |row: usize, axis: usize| random(row, 8 + axis) as f32;
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("lat1".to_owned(), numbers(0, 180.0)),
        ("lon1".to_owned(), numbers(1, 360.0)),
        ("lat2".to_owned(), numbers(2, 180.0)),
        ("lon2".to_owned(), numbers(3, 360.0)),
        ("x".to_owned(), numbers(4, 10.0)),
        ("y".to_owned(), numbers(5, 10.0)),
    ];
    let k = rows.clone().map(|row| (random(row, 6) * GROUPS as f64) as i64);
    columns.push(("k".to_owned(), Arc::new(Int64Array::from_iter_values(k))));
    for axis in 0..SIZE {
        let elements = Float32Array::from_iter_values(rows.clone().map(|row| element(row, axis)));
        columns.push((format!("e{axis}"), Arc::new(elements)));
    }
    let elements = rows.flat_map(|row| (0..SIZE).map(move |axis| element(row, axis)));
    let item = Arc::new(Field::new_list_field(DataType::Float32, false));
    let elements = Arc::new(Float32Array::from_iter_values(elements));
    columns.push(("v".to_owned(), Arc::new(FixedSizeListArray::try_new(item, SIZE as i32, elements, None)?)));
    let fields = columns.iter().map(|(name, column)| Field::new(name, column.data_type().clone(), false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    Ok(RecordBatch::try_new(schema, columns.into_iter().map(|(_, column)| column).collect())?)
}

/// Writes the files for a number of rows, unless they are there, and returns their directory.
pub fn write(directory: &Path, rows: usize) -> Result<PathBuf> {
    let directory = directory.join(rows.to_string());
    std::fs::create_dir_all(&directory)?;
    for file in 0..FILES {
        let path = directory.join(format!("part{file}.parquet"));
        if path.exists() {
            continue;
        }
        let (first, last) = (rows * file / FILES, rows * (file + 1) / FILES);
        let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
        let partial = path.with_extension("partial");
        let schema = batch(0..0)?.schema();
        let mut writer = ArrowWriter::try_new(File::create(&partial)?, schema, Some(properties))?;
        for start in (first..last).step_by(BATCH) {
            writer.write(&batch(start..last.min(start + BATCH))?)?;
        }
        writer.close()?;
        std::fs::rename(partial, path)?;
    }
    Ok(directory)
}

/// Registers the function that finds the nearest code.
pub fn register_nearest(context: &SessionContext) -> Result<()> {
    let program = format!(
        "input v: f32[n, {SIZE}]; input codes: f32[k, {SIZE}]
         argmin(sum((v[:, None] - codes) ** 2, axis=-1), axis=1)"
    );
    let program = Program::parse("nearest", &program).and_then(|program| program.resolve());
    let program = program.map_err(|mistakes| mistakes.to_string())?;
    let codes = (0..CODES).flat_map(|code| (0..SIZE).map(move |axis| code_at(code, axis)));
    let codes = Array::new(codes.collect::<Vec<f32>>(), &[CODES, SIZE])?;
    context.register_udf(TensorFunction::new("nearest", &program)?.with_constant("codes", codes)?.into());
    Ok(())
}
