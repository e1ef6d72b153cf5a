//! Queries with Broadloom's functions beside the same queries in SQL alone, on Parquet files that the program writes.
//!
//! ```text
//! cargo bench -p broadloom-datafusion --bench queries                          all queries, on 20 million rows
//! cargo bench -p broadloom-datafusion --bench queries -- haversine chain       some of them
//! cargo bench -p broadloom-datafusion --bench queries -- --data DIR --rows N   on files in DIR, which are written once
//! ```
//!
//! A time is the least of three (nearest codes run once), from text to the last row. `plan` is the part of it before the
//! first batch is asked for. `read` is the time of a query that only reads the same columns, and `compute` that of the
//! same query on columns that are in memory already, without its plan.
#![allow(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]

mod cases;
mod data;

use data::register_nearest;
use datafusion::arrow::array::{Array as _, AsArray};
use datafusion::arrow::compute::{cast, sum};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::execute_stream_partitioned;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use futures::TryStreamExt;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

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

/// Makes a session with Broadloom's functions.
fn session() -> Result<SessionContext> {
    let mut context = SessionContext::new();
    broadloom_datafusion::register(&mut context)?;
    register_nearest(&context)?;
    Ok(context)
}

/// Makes a session whose table is in memory.
async fn in_memory(context: &SessionContext, columns: &str) -> Result<SessionContext> {
    let frame = context.sql(&format!("SELECT {columns} FROM t")).await?;
    let schema = Arc::new(frame.schema().as_arrow().clone());
    let partitions = frame.collect_partitioned().await?;
    let memory = session()?;
    memory.register_table("t", Arc::new(MemTable::try_new(schema, partitions)?))?;
    Ok(memory)
}

async fn measure(files: &Path, filters: &[String]) -> Result<()> {
    let context = session()?;
    let path = files.to_str().ok_or("the path is not valid UTF-8")?;
    context.register_parquet("t", path, ParquetReadOptions::default()).await?;
    let is_wanted =
        |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
    println!("| query | SQL, s | Broadloom, s | times as fast | of this plan, s | read, s | compute, s |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for case in cases::all().into_iter().filter(|case| is_wanted(case.name)) {
        let read = least(&context, &format!("SELECT {} FROM t", case.columns), case.repeats).await?;
        let ours = least(&context, &case.ours, case.repeats).await?;
        let sql = least(&context, &case.sql, case.repeats).await?;
        // Both round in every operation, each in its own order.
        if (ours.sum - sql.sum).abs() > 1e-6 * sql.sum.abs().max(1.0) {
            return Err(format!("{}: the sums differ: {} and {}", case.name, ours.sum, sql.sum).into());
        }
        let computed = least(&in_memory(&context, case.columns).await?, &case.ours, case.repeats).await?;
        let compute = computed.total - computed.plan;
        let [total, other, plan, read, compute] =
            [ours.total, sql.total, ours.plan, read.total, compute].map(|time| time.as_secs_f64());
        println!(
            "| {} | {other:.2} | {total:.2} | {:.1} | {plan:.3} | {read:.2} | {compute:.2} |",
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
    let files = data::write(directory.as_deref().unwrap_or(temporary.path()), rows)?;
    println!("{rows} rows, {} threads, {}\n", std::thread::available_parallelism()?, processor());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&files, &filters))
}
