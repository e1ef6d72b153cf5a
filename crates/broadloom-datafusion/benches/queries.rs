//! Queries with Broadloom's functions beside the same queries in SQL alone, on Parquet files that the program writes.
//!
//! ```text
//! cargo bench -p broadloom-datafusion --bench queries                          all queries, on 20 million rows
//! cargo bench -p broadloom-datafusion --bench queries -- haversine chain       some of them
//! cargo bench -p broadloom-datafusion --bench queries -- --data DIR --rows N   on files in DIR, which are written once
//! ```
//!
//! A time is the least of three, from text to the last row. `plan` is the part of it before the first batch is asked
//! for, and `read` is the time of a query that only reads the same columns.
#![allow(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]

use broadloom::Array;
use broadloom_datafusion::TensorFunction;
use broadloom_text::Program;
use datafusion::arrow::array::{
    Array as _, ArrayRef, AsArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch,
};
use datafusion::arrow::compute::{cast, sum};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Schema};
use datafusion::error::DataFusionError;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::execute_stream_partitioned;
use datafusion::prelude::*;
use futures::TryStreamExt;
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const FILES: usize = 4;
const BATCH: usize = 1 << 16;
/// The number of codes, and of the elements of each.
const CODES: usize = 256;
const SIZE: usize = 8;
const GROUPS: usize = 100_000;
const REPEATS: usize = 3;

/// A query in two ways, and the columns that it reads.
struct Case {
    name: &'static str,
    ours: String,
    sql: String,
    /// The columns that each of the two reads.
    columns: [String; 2],
    repeats: usize,
}

fn cases() -> Vec<Case> {
    let same = |columns: &str| [columns.to_owned(), columns.to_owned()];
    let haversine = "2 * 6371 * asin(sqrt(sin(radians(lat2 - lat1) / 2) ** 2 \
        + cos(radians(lat1)) * cos(radians(lat2)) * sin(radians(lon2 - lon1) / 2) ** 2))";
    let in_sql = "2 * 6371 * asin(sqrt(power(sin(radians(lat2 - lat1) / 2), 2) \
        + cos(radians(lat1)) * cos(radians(lat2)) * power(sin(radians(lon2 - lon1) / 2), 2)))";
    let chain = "abs(((x * 2 + 1) * y - x) * 0.5 + y * y) - (x - y) * 3 + 7";
    let elements: Vec<String> = (0..SIZE).map(|axis| format!("e{axis}")).collect();
    let distances = (0..CODES).map(|code| {
        let squares = (0..SIZE).map(|axis| {
            let difference = format!("(e{axis} - arrow_cast({}, 'Float32'))", code_at(code, axis));
            format!("{difference} * {difference}")
        });
        format!("{} AS d{code}", squares.collect::<Vec<_>>().join(" + "))
    });
    let distances = distances.collect::<Vec<_>>().join(", ");
    let least = (0..CODES).map(|code| format!("d{code}")).collect::<Vec<_>>().join(", ");
    let found = (0..CODES).map(|code| format!("WHEN d{code} THEN {code}")).collect::<Vec<_>>().join(" ");
    vec![
        Case {
            name: "haversine",
            ours: format!("SELECT broadloom('{haversine}', lat1, lon1, lat2, lon2) FROM t"),
            sql: format!("SELECT {in_sql} FROM t"),
            columns: same("lat1, lon1, lat2, lon2"),
            repeats: REPEATS,
        },
        Case {
            name: "chain of ten cheap operations",
            ours: format!("SELECT broadloom('{chain}', x, y) FROM t"),
            sql: format!("SELECT {chain} FROM t"),
            columns: same("x, y"),
            repeats: REPEATS,
        },
        Case {
            name: "z-scores",
            ours: "SELECT broadloom('(x - m) / s', x, m, s) FROM t CROSS JOIN (SELECT \
                   broadloom_agg('mean(x)', x) AS m, broadloom_agg('std(x)', x) AS s FROM t)"
                .to_owned(),
            sql: "SELECT (x - m) / s FROM t CROSS JOIN (SELECT avg(x) AS m, stddev_pop(x) AS s FROM t)"
                .to_owned(),
            columns: same("x"),
            repeats: REPEATS,
        },
        Case {
            name: "mean and deviation of 100,000 groups",
            ours: "SELECT broadloom_agg('mean(x) + std(x)', x) FROM t GROUP BY k".to_owned(),
            sql: "SELECT avg(x) + stddev_pop(x) FROM t GROUP BY k".to_owned(),
            columns: same("k, x"),
            repeats: REPEATS,
        },
        Case {
            name: "nearest of 256 codes in 8 dimensions",
            ours: "SELECT nearest(v) FROM t".to_owned(),
            sql: format!("SELECT CASE least({least}) {found} END FROM (SELECT {distances} FROM t)"),
            columns: ["v".to_owned(), elements.join(", ")],
            // The query in SQL takes long.
            repeats: 1,
        },
    ]
}

/// Numbers in 0 to 1 that look random.
fn random(row: usize, column: usize) -> f64 {
    let mut bits = (row * 32 + column) as u64;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn code_at(code: usize, axis: usize) -> f32 {
    (random(code, axis) * 4096.0).round() as f32 / 4096.0
}

fn batch(rows: std::ops::Range<usize>) -> Result<RecordBatch> {
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
    let v = FixedSizeListArray::try_new(
        item,
        SIZE as i32,
        Arc::new(Float32Array::from_iter_values(elements)),
        None,
    )?;
    columns.push(("v".to_owned(), Arc::new(v)));
    let fields = columns.iter().map(|(name, column)| Field::new(name, column.data_type().clone(), false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    Ok(RecordBatch::try_new(schema, columns.into_iter().map(|(_, column)| column).collect())?)
}

/// Writes the files, unless they are there.
fn write(directory: &Path, rows: usize) -> Result<()> {
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
    Ok(())
}

async fn session(directory: &Path) -> Result<SessionContext> {
    let mut context = SessionContext::new();
    broadloom_datafusion::register(&mut context)?;
    let program = format!(
        "input v: f32[n, {SIZE}]; input codes: f32[k, {SIZE}]
         argmin(sum((v[:, None] - codes) ** 2, axis=-1), axis=1)"
    );
    let program = Program::parse("nearest", &program).and_then(|program| program.resolve());
    let program = program.map_err(|mistakes| mistakes.to_string())?;
    let codes = (0..CODES).flat_map(|code| (0..SIZE).map(move |axis| code_at(code, axis)));
    let codes = Array::new(codes.collect::<Vec<f32>>(), &[CODES, SIZE])?;
    context.register_udf(TensorFunction::new("nearest", &program)?.with_constant("codes", codes)?.into());
    let path = directory.to_str().ok_or("the path is not valid UTF-8")?;
    context.register_parquet("t", path, ParquetReadOptions::default()).await?;
    Ok(context)
}

struct Measured {
    total: Duration,
    plan: Duration,
    /// The sum of the results.
    sum: f64,
}

/// Runs a query on all threads, and adds up what it returns.
async fn run(context: &SessionContext, sql: &str) -> Result<Measured> {
    let start = Instant::now();
    let frame = context.sql(sql).await?;
    let task = Arc::new(frame.task_ctx());
    let streams = execute_stream_partitioned(frame.create_physical_plan().await?, task)?;
    let plan = start.elapsed();
    let partitions = streams.into_iter().map(|mut stream| {
        tokio::spawn(async move {
            let mut total = 0.0;
            while let Some(batch) = stream.try_next().await? {
                let column = batch.column(0);
                if !column.data_type().is_nested() {
                    let column = cast(column, &DataType::Float64)?;
                    total += sum(column.as_primitive::<Float64Type>()).unwrap_or(0.0);
                }
            }
            Ok::<f64, DataFusionError>(total)
        })
    });
    let mut sum = 0.0;
    for partition in partitions.collect::<Vec<_>>() {
        sum += partition.await??;
    }
    Ok(Measured { total: start.elapsed(), plan, sum })
}

async fn least(context: &SessionContext, sql: &str, repeats: usize) -> Result<Measured> {
    let mut best = run(context, sql).await?;
    for _ in 1..repeats {
        let other = run(context, sql).await?;
        if other.total < best.total {
            best = other;
        }
    }
    Ok(best)
}

async fn measure(directory: &Path, rows: usize, filters: &[String]) -> Result<()> {
    write(directory, rows)?;
    let context = session(directory).await?;
    let threads = std::thread::available_parallelism()?;
    println!("{rows} rows, {threads} threads, {}\n", processor());
    println!("| query | SQL, s | Broadloom, s | times as fast | of this plan, s | read, s |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let is_wanted =
        |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
    for case in cases().into_iter().filter(|case| is_wanted(case.name)) {
        let read = least(&context, &format!("SELECT {} FROM t", case.columns[0]), REPEATS).await?;
        let ours = least(&context, &case.ours, REPEATS).await?;
        let sql = least(&context, &case.sql, case.repeats).await?;
        // Both round in every operation, each in its own order.
        if (ours.sum - sql.sum).abs() > 1e-6 * sql.sum.abs().max(1.0) {
            return Err(format!("{}: the sums differ: {} and {}", case.name, ours.sum, sql.sum).into());
        }
        let [total, other, plan, read] =
            [ours.total, sql.total, ours.plan, read.total].map(|time| time.as_secs_f64());
        println!(
            "| {} | {other:.2} | {total:.2} | {:.1} | {plan:.3} | {read:.2} |",
            case.name,
            other / total
        );
    }
    Ok(())
}

/// Returns the name of the processor, where the system tells it.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |key: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|name| name.trim() == key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    match (of("model name"), of("model")) {
        (Some(name), Some(model)) => format!("{name} (model {model})"),
        _ => std::env::consts::ARCH.to_owned(),
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut directory, mut rows, mut filters) = (None, 20_000_000, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--data" => directory = Some(PathBuf::from(arguments.next().ok_or("--data needs a directory")?)),
            "--rows" => rows = arguments.next().ok_or("--rows needs a number")?.parse()?,
            option if option.starts_with('-') => return Err(format!("no such option: {option}").into()),
            _ => filters.push(argument),
        }
    }
    let temporary = tempfile::tempdir()?;
    let directory = directory.unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&directory)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&directory, rows, &filters))
}
