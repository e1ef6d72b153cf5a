//! An expression that arrives at run time, over columns of any length: one thread reads rows, others compute them chunk
//! by chunk, and groups of rows come out at the end. No more than a few chunks are in memory.
//!
//! ```text
//! cargo run --release --example pipeline
//! cargo run --release --example pipeline -- --expr 'np.hypot(celsius, wind)' --rows 20000000
//! cargo run --release --example pipeline -- --csv table.csv --by city --expr 'price / area'
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

#[path = "../common/mod.rs"]
mod common;
mod source;

use broadloom::prelude::*;
use broadloom::{Chunked, Inputs};
use broadloom_text::{Mistakes, Program};
use common::Error;
use common::args::{Choice, Command, Given};
use common::report::{self, grouped, line};
use source::{Batch, Source};
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

const COMMAND: Command = Command {
    name: "pipeline",
    about: "Computes an expression over the columns of a table, chunk by chunk, and its mean in groups of rows.",
    options: &[
        Choice("--expr", "EXPR", "of the columns, by their names [default: the humidex of made weather]"),
        Choice("--csv", "PATH", "a table with a header; without it, weather is made"),
        Choice("--by", "COLUMN", "whose values are the groups [default: station]"),
        Choice("--rows", "COUNT", "how many rows are made [default: 4000000]"),
        Choice("--chunk", "BLOCKS", "size of a chunk in blocks of 65,536 rows [default: 4]"),
    ],
    output: "where to write groups.csv",
};

/// How hot moist air feels: <https://en.wikipedia.org/wiki/Humidex>.
const HUMIDEX: &str = "celsius + 0.5555 * (6.11 * np.exp(5417.753 * (1 / 273.16 - 1 / (273.15 + dew))) - 10)";
/// Most groups; a kernel is the same for any number.
const GROUPS: usize = 1000;
/// Chunks that wait while others are computed.
const WAITING: usize = 2;

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// The program that the expression is a part of. `segment_mean` over ids is a group-by.
fn program(expression: &str, columns: &[String]) -> String {
    let inputs: String = columns.iter().map(|name| format!("input \"{name}\": f64[rows]\n")).collect();
    format!(
        "symbols rows\nparameters groups\ninput \"group id\": i64[rows]\n{inputs}let value = {expression}
output count = segment_count(\"group id\", groups)
output mean = segment_mean(value, \"group id\", groups)
output least = segment_min(value, \"group id\", groups)
output most = segment_max(value, \"group id\", groups)
output overall = mean(value)\n"
    )
}

/// Read, checked, compiled, and cut along the rows.
fn compile(expression: &str, columns: &[String]) -> Result<Chunked, Error> {
    let told = |mistakes: Mistakes| format!("the expression is wrong:\n{mistakes:#}");
    let program = Program::parse("pipeline", &program(expression, columns)).map_err(told)?;
    let graph = program.resolve().map_err(told)?;
    Ok(Executable::compile(&graph, &CompileOptions::default())?.in_chunks("rows")?)
}

/// The results.
struct Groups {
    names: Vec<String>,
    count: Vec<i64>,
    mean: Vec<f64>,
    least: Vec<f64>,
    most: Vec<f64>,
    overall: f64,
    rows: usize,
    /// Of which the kernels took this.
    computing: Duration,
}

/// Reads in a thread of its own, while the kernels compute what was read before in all threads of the pool.
fn stream(chunked: &Chunked, source: &Source, chunk: usize) -> Result<Groups, Error> {
    let needed: Vec<String> = chunked.streamed().into_iter().map(|info| info.name).collect();
    let (mut rows, mut computing) = (0, Duration::ZERO);
    let (sender, receiver) = sync_channel::<Batch>(WAITING);
    let (mut totals, names) = std::thread::scope(|scope| -> Result<_, Error> {
        let reader = scope.spawn(move || source.read(chunk, GROUPS, &mut |batch| sender.send(batch).is_ok()));
        let mut run = chunked.start(Inputs::new().with_size("groups", GROUPS))?;
        for batch in receiver {
            let start = Instant::now();
            let columns = needed.iter().filter(|name| *name != "group id");
            let inputs = columns.fold(Inputs::new(), |inputs, name| inputs.named(name, batch.column(name)));
            run.push(inputs.named("group id", &batch.ids))?;
            computing += start.elapsed();
            rows += batch.ids.len();
        }
        let names = reader.join().map_err(|_| "the reader has failed")??;
        Ok((run.finish()?, names))
    })?;
    Ok(Groups {
        names,
        count: totals.take("count")?,
        mean: totals.take("mean")?,
        least: totals.take("least")?,
        most: totals.take("most")?,
        overall: totals.take("overall")?,
        rows,
        computing,
    })
}

fn run(given: &Given) -> Result<(), Error> {
    let expression = given.text("--expr")?;
    let by = given.text("--by")?.unwrap_or("station");
    let chunk = given.number("--chunk", 1..=256, 4)? * 65_536;
    let source = match given.path("--csv") {
        Some(path) => Source::open(path, by)?,
        None => Source::made(given.number("--rows", 1..=1_000_000_000, 4_000_000)?, by)?,
    };
    let is_default = expression.is_none() && given.path("--csv").is_none();
    let expression = expression.unwrap_or(HUMIDEX);
    println!("pipeline: {source}, by {by:?}");
    line("expression", expression);
    let chunked = compile(expression, source.columns())?;
    let compiling = chunked.executable().explain().compile_time();
    line("compiled", format!("in {:.1} ms", report::milliseconds(compiling)));
    line("chunks", format!("{} rows, in {} pass", grouped(chunk), chunked.passes()));

    let start = Instant::now();
    let groups = stream(&chunked, &source, chunk)?;
    let elapsed = start.elapsed();
    report::speed("read and computed", elapsed, groups.rows, "rows");
    report::speed("  of it in kernels", groups.computing, groups.rows, "rows");
    if is_default {
        let (time, plain) = report::once(|| plain_humidex(&source, chunk));
        report::speed("plain Rust, 1 thread", time, groups.rows, "rows");
        let plain = plain?;
        let difference = report::largest_difference(&groups.mean[..plain.len()], &plain);
        line("check", format!("means within {difference:.1e} of the plain loop"));
    }
    println!();
    println!("  {by:12} {:>12} {:>12} {:>12} {:>12}", "rows", "mean", "least", "most");
    for (group, name) in groups.names.iter().enumerate().take(12) {
        let Groups { count, mean, least, most, .. } = &groups;
        let (mean, least, most) = (mean[group], least[group], most[group]);
        println!(
            "  {name:12} {:>12} {mean:>12.3} {least:>12.3} {most:>12.3}",
            grouped(count[group] as usize)
        );
    }
    println!("  {:12} {:>12} {:>12.3}", "all", grouped(groups.rows), groups.overall);
    println!();
    let path = given.output()?.join("groups.csv");
    write(&groups, by, &path)?;
    line("wrote", format!("{} ({} groups)", path.display(), groups.names.len()));
    Ok(())
}

/// The means of the groups by a loop.
fn plain_humidex(source: &Source, chunk: usize) -> Result<Vec<f64>, Error> {
    let mut sums = vec![(0.0, 0u32); GROUPS];
    let names = source.read(chunk, GROUPS, &mut |batch| {
        let columns = batch.column("celsius").iter().zip(batch.column("dew"));
        for ((celsius, dew), id) in columns.zip(&batch.ids) {
            let vapour = 6.11 * (5417.753 * (1.0 / 273.16 - 1.0 / (273.15 + dew))).exp();
            let (sum, count) = &mut sums[*id as usize];
            *sum += celsius + 0.5555 * (vapour - 10.0);
            *count += 1;
        }
        true
    })?;
    Ok(sums[..names.len()].iter().map(|(sum, count)| sum / f64::from(*count)).collect())
}

fn write(groups: &Groups, by: &str, path: &std::path::Path) -> Result<(), Error> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record([by, "rows", "mean", "least", "most"])?;
    for (group, name) in groups.names.iter().enumerate() {
        let numbers = [groups.mean[group], groups.least[group], groups.most[group]].map(|x| x.to_string());
        let [mean, least, most] = &numbers;
        writer.write_record([name, &groups.count[group].to_string(), mean, least, most])?;
    }
    Ok(writer.flush()?)
}
