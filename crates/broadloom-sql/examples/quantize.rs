//! Vector quantization of a table of embeddings: each embedding is replaced by the number of the nearest of 16 codes.
//!
//! The table is four Parquet files, which the example writes. The aggregate `broadloom_agg('mean(v, axis=0)', v)` learns
//! the codes (Lloyd's algorithm), the scalar function `nearest` assigns them, and SQL counts them: first in this process,
//! then on a scheduler with two executors, which the example starts.
//!
//! ```console
//! $ cargo run -p broadloom-sql --example quantize
//! ```

use broadloom::Array;
use broadloom_datafusion::TensorFunction;
use broadloom_sql::server::{Executor, Scheduler};
use broadloom_sql::{Address, Folders, Memory, Output, session};
use broadloom_text::Program;
use datafusion::arrow::array::{ArrayRef, AsArray, FixedSizeListArray, Float32Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Float32Type, Int64Type, Schema};
use datafusion::prelude::SessionContext;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const CODES: usize = 16;
const SIZE: usize = 8;
const FILES: usize = 4;
const ROWS: usize = 20_000;
const ROUNDS: usize = 6;

const NEAREST: &str = "
    input v: f32[n, 8]
    input codes: f32[k, 8]
    argmin(sum((v[:, None] - codes) ** 2, axis=-1), axis=1)";

/// Codes, row by row.
type Codes = Vec<f32>;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => runtime.block_on(compared()),
        ["scheduler", folder] => {
            let scheduler = Scheduler { folders: Folders::reading(&[folder])?, ..Scheduler::default() };
            Ok(runtime.block_on(scheduler.run(|address| said(&address.to_string()), said))?)
        }
        ["executor", folder, address] => {
            let folders = Folders::reading(&[folder])?;
            let work = PathBuf::from(folder).join("work");
            let executor = Executor { threads: 1, folders, work, ..Executor::new(address.parse()?) };
            Ok(runtime.block_on(executor.run(|| said("ready"), said))?)
        }
        _ => Err("the example takes no arguments".into()),
    }
}

/// Tells the example that this server is ready.
fn said(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

async fn compared() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    for file in 0..FILES {
        write_file(&directory.path().join(format!("part{file}.parquet")), file)?;
    }

    let embedded = session::embedded(Memory::default())?;
    session::add_table(&embedded, "embeddings", directory.path()).await?;
    let codes = learnt(&embedded).await?;
    let counts = counted(&embedded, &codes).await?;

    let folder = directory.path().to_str().ok_or("the folder for temporary files is not valid UTF-8")?;
    let (_scheduler, address) = Server::start(&["scheduler", folder])?;
    let executor = || Server::start(&["executor", folder, &address]);
    let _executors = [executor()?, executor()?];
    let cluster = session::remote(&address.parse::<Address>()?)?;
    session::add_table(&cluster, "embeddings", directory.path()).await?;
    let codes_there = learnt(&cluster).await?;
    let counts_there = counted(&cluster, &codes).await?;

    let difference =
        codes.iter().zip(&codes_there).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} embeddings of {SIZE} numbers in {FILES} files, {CODES} codes", FILES * ROWS)?;
    writeln!(out, "rows of each code: {counts:?}")?;
    writeln!(out, "codes learnt here and on two executors differ by at most {difference:e}")?;
    // Partitions change the order of sums; an embedding between two codes may then change sides.
    if difference > 1e-3 {
        return Err("the codes differ".into());
    }
    if counts != counts_there || counts.iter().sum::<i64>() != (FILES * ROWS) as i64 {
        return Err(format!("the same codes are counted differently: {counts_there:?}").into());
    }
    writeln!(
        out,
        "the same codes are assigned to the same number of rows in one process and on the cluster"
    )?;
    Ok(())
}

/// Learns codes: each becomes the mean of the embeddings that are nearest to it.
async fn learnt(context: &SessionContext) -> Result<Codes, Box<dyn Error>> {
    let first = context.sql(&format!("SELECT v FROM embeddings ORDER BY id LIMIT {CODES}")).await?;
    let mut codes: Codes = Vec::new();
    for batch in first.collect().await? {
        codes.extend(elements(batch.column(0)));
    }
    for _ in 0..ROUNDS {
        register_nearest(context, &codes)?;
        let means = context.sql(
            "SELECT nearest(v) AS code, broadloom_agg('mean(v, axis=0)', v) AS mean FROM embeddings GROUP BY nearest(v)",
        );
        for batch in means.await?.collect().await? {
            let means = elements(batch.column(1));
            for (code, mean) in
                batch.column(0).as_primitive::<Int64Type>().values().iter().zip(means.chunks(SIZE))
            {
                let start = usize::try_from(*code)? * SIZE;
                codes[start..start + SIZE].copy_from_slice(mean);
            }
        }
    }
    Ok(codes)
}

/// Counts the rows of each code.
async fn counted(context: &SessionContext, codes: &Codes) -> Result<Vec<i64>, Box<dyn Error>> {
    register_nearest(context, codes)?;
    let counts = "SELECT nearest(v) AS code, count(*) AS rows FROM embeddings GROUP BY nearest(v)";
    let mut counted = vec![0; CODES];
    for batch in context.sql(counts).await?.collect().await? {
        let [code, rows] =
            [0, 1].map(|column| batch.column(column).as_primitive::<Int64Type>().values().clone());
        for (code, rows) in code.iter().zip(rows.iter()) {
            counted[usize::try_from(*code)?] = *rows;
        }
    }
    Ok(counted)
}

/// Binds codes to the program. The function travels with each query that calls it.
fn register_nearest(context: &SessionContext, codes: &Codes) -> Result<(), Box<dyn Error>> {
    let program = Program::parse("nearest", NEAREST)?.resolve()?;
    let codes = Array::new(codes.clone(), &[CODES, SIZE])?;
    context.register_udf(TensorFunction::new("nearest", &program)?.with_constant("codes", codes)?.into());
    Ok(())
}

/// Returns the numbers of a column of lists.
fn elements(lists: &ArrayRef) -> Codes {
    lists.as_fixed_size_list().values().as_primitive::<Float32Type>().values().to_vec()
}

/// Writes embeddings that lie around 16 points.
fn write_file(path: &Path, file: usize) -> Result<(), Box<dyn Error>> {
    let ids = file * ROWS..(file + 1) * ROWS;
    let values = ids.clone().flat_map(|id| {
        let cluster = id % CODES;
        // The bits of the number of the cluster choose a corner of a cube; a multiplicative hash spreads around it.
        (0..SIZE).map(move |axis| {
            let corner = if cluster >> (axis % 4) & 1 == 1 { 4.0 } else { -4.0 };
            let hash = (id * SIZE + axis).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            corner + (hash >> 40) as f32 / (1 << 24) as f32 - 0.5
        })
    });
    let values = Float32Array::from_iter_values(values);
    let item = Arc::new(Field::new_list_field(DataType::Float32, true));
    let v: ArrayRef = Arc::new(FixedSizeListArray::try_new(item, SIZE as i32, Arc::new(values), None)?);
    let id: ArrayRef =
        Arc::new(datafusion::arrow::array::Int64Array::from_iter_values(ids.map(|id| id as i64)));
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("v", v.data_type().clone(), false),
    ]));
    let mut output = Output::create(path, &schema)?;
    output.write(&RecordBatch::try_new(schema, vec![id, v])?)?;
    Ok(output.finish()?)
}

/// A server that ends with the example.
struct Server(Child);

impl Server {
    /// Starts this program as a server, and returns the line that it prints when it is ready.
    fn start(arguments: &[&str]) -> Result<(Server, String), Box<dyn Error>> {
        let mut child =
            Command::new(std::env::current_exe()?).args(arguments).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("a server has no output")?;
        let server = Server(child);
        BufReader::new(stdout).read_line(&mut line)?;
        Ok((server, line.trim().to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that ended by itself is not there to be stopped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
