//! One executor against two, with a thread each, on the same files: those of the bench `queries` of `broadloom-datafusion`.
//!
//! ```text
//! cargo bench -p broadloom-sql --bench executors                          20 million rows
//! cargo bench -p broadloom-sql --bench executors -- --data DIR --rows N   files in DIR, which are written once
//! ```
//!
//! A time is the least of three, from the text of a query to its last row.
#![allow(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]

#[path = "../../broadloom-datafusion/benches/queries/data.rs"]
mod data;

use broadloom_sql::{Query, session};
use data::{HAVERSINE, register_nearest};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const REPEATS: usize = 3;

/// Queries whose results are short, for clusters.
fn queries() -> [(&'static str, String); 3] {
    [
        (
            "largest distance (haversine)",
            format!("SELECT max(broadloom('{HAVERSINE}', lat1, lon1, lat2, lon2)) FROM t"),
        ),
        ("deviation of `x`", "SELECT broadloom_agg('std(x)', x) FROM t".to_owned()),
        (
            "rows of each of 256 codes",
            "SELECT nearest(v) AS code, count(*) AS rows FROM t GROUP BY nearest(v)".to_owned(),
        ),
    ]
}

/// A server that ends with the benchmark.
struct Server(Child);

impl Server {
    /// Starts a server, and returns the line that it prints when it is ready.
    fn start(arguments: &[&str]) -> Result<(Server, String)> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom-sql"));
        let mut child = command.args(arguments).stderr(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stderr.take().ok_or("a server has no output")?).read_line(&mut line)?;
        Ok((Server(child), line.trim().to_owned()))
    }

    /// Returns the most memory that the server had so far, in MiB, where the system tells it.
    fn peak(&self) -> Option<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? >> 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that ended by itself is not there to be stopped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Cluster {
    address: String,
    executors: Vec<Server>,
    _scheduler: Server,
}

impl Cluster {
    fn start(executors: usize, files: &Path) -> Result<Cluster> {
        let files = files.to_str().ok_or("the path of the files is not valid UTF-8")?;
        let (scheduler, line) = Server::start(&["scheduler", "--port", "0", "--allow-read", files])?;
        let address = line.strip_prefix("scheduler listening on ").ok_or(line.as_str())?.to_owned();
        let executor = |_| {
            let started = Server::start(&[
                "executor",
                "--threads",
                "1",
                "--scheduler",
                &address,
                "--allow-read",
                files,
            ]);
            started.map(|(server, _)| server)
        };
        let executors = (0..executors).map(executor).collect::<Result<_>>()?;
        Ok(Cluster { address, executors, _scheduler: scheduler })
    }

    /// Runs a query as `broadloom-sql` does, and returns the time from its text to the last row.
    async fn run(&self, files: &Path, sql: &str) -> Result<Duration> {
        let start = Instant::now();
        let address = self.address.parse()?;
        let context = session::remote(&address)?;
        session::add_table(&context, "t", files).await?;
        register_nearest(&context)?;
        let query = Query::new(context.sql(sql).await?, Some(address), None).await?;
        query.run(std::future::pending(), |_| {}, |_| Ok(())).await?;
        Ok(start.elapsed())
    }

    fn peak(&self) -> Option<usize> {
        self.executors.iter().filter_map(Server::peak).max()
    }
}

/// Prints the table.
async fn measure(files: &Path, rows: usize) -> Result<()> {
    println!(
        "| query | one executor, s | two, s | times as fast | rows per second of two | most memory of an executor, MiB |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (name, sql) in queries() {
        let clusters = [Cluster::start(1, files)?, Cluster::start(2, files)?];
        let mut least = [f64::INFINITY; 2];
        for _ in 0..REPEATS {
            for (cluster, least) in clusters.iter().zip(&mut least) {
                *least = least.min(cluster.run(files, &sql).await?.as_secs_f64());
            }
        }
        let [one, two] = least;
        let peak = clusters.iter().filter_map(Cluster::peak).max();
        let peak = peak.map_or("not known".to_owned(), |peak| peak.to_string());
        let speed = rows as f64 / two / 1e6;
        println!("| {name} | {one:.2} | {two:.2} | {:.2} | {speed:.1} million | {peak} |", one / two);
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut directory, mut rows) = (None, 20_000_000);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--data" => directory = Some(PathBuf::from(arguments.next().ok_or("--data needs a directory")?)),
            "--rows" => rows = arguments.next().ok_or("--rows needs a number")?.parse()?,
            option => return Err(format!("no such option: {option}").into()),
        }
    }
    let temporary = tempfile::tempdir()?;
    let files = data::write(directory.as_deref().unwrap_or(temporary.path()), rows)?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure(&files, rows))
}
