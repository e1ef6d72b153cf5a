//! What a user types.

use broadloom_sql::Address;
use bytesize::ByteSize;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  broadloom-sql \"SELECT broadloom('hypot(x, y)', x, y) AS r FROM t\" t=points.parquet
  broadloom-sql \"SELECT k, broadloom_agg('mean(x) / std(x)', x) FROM t GROUP BY k\" t=parts/ -o r.csv
  broadloom-sql scheduler --allow-read /data
  broadloom-sql executor --scheduler 127.0.0.1:50050 --allow-read /data
  broadloom-sql --cluster 127.0.0.1:50050 \"SELECT count(*) FROM t\" t=/data/points.parquet";

/// Run SQL with tensor expressions on Parquet, CSV and Arrow files
#[derive(Parser)]
#[command(
    name = "broadloom-sql",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) query: QueryArgs,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the scheduler of a cluster
    Scheduler(SchedulerArgs),
    /// Run an executor of a cluster
    Executor(Box<ExecutorArgs>),
    /// Print a script that completes commands in a shell
    Completions(CompletionsArgs),
    /// Write man pages into a folder
    Man(ManArgs),
}

#[derive(Args)]
pub(crate) struct QueryArgs {
    /// A query in SQL, which calls broadloom(expression, columns..) and broadloom_agg(expression, columns..)
    #[arg(required = true)]
    pub(crate) sql: Option<String>,
    /// Tables: the files (.parquet, .csv, .arrow), or directories of such files
    #[arg(value_name = "NAME=PATH")]
    pub(crate) tables: Vec<Table>,
    /// Run the query on the cluster of this scheduler, whose executors read the same files
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) cluster: Option<Address>,
    /// Write the result to this file (.parquet, .csv, .arrow)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Maximum number of rows to print
    #[arg(long, value_name = "NUMBER", default_value_t = 100, conflicts_with = "output")]
    pub(crate) rows: usize,
    /// Memory that the query may take in this process, such as 4GiB [default: 40 % of the machine]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
    /// End the query once it took so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) time_limit: Option<Duration>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

/// What opens a cluster.
#[derive(Args)]
pub(crate) struct AccessArgs {
    /// File with the token of the cluster; the environment variable BROADLOOM_SQL_TOKEN can hold it instead
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// File with the certificates that signed those of the servers, in PEM; turns on TLS
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// File with the certificate of this process, in PEM; clients need one if servers have --mutual-tls
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// File with the key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

/// What opens a server.
#[derive(Args)]
pub(crate) struct ServerAccessArgs {
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Let in only those with a certificate that --tls-ca signed
    #[arg(long, requires = "tls_cert")]
    pub(crate) mutual_tls: bool,
    /// Let in everyone who reaches the address of --bind, without a token or without TLS
    #[arg(long)]
    pub(crate) insecure: bool,
}

#[derive(Args)]
pub(crate) struct SchedulerArgs {
    /// Address to bind to; other than those of this machine itself need a token and certificates, or --insecure
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// Port; 0 chooses a free one
    #[arg(long, default_value_t = 50050)]
    pub(crate) port: u16,
    /// Folder whose files queries may read, also those below it; the executors need the same
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_read: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) access: ServerAccessArgs,
}

#[derive(Args)]
pub(crate) struct ExecutorArgs {
    /// The scheduler to serve
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) scheduler: Address,
    /// Address to bind to; other than those of this machine itself need a token and certificates, or --insecure
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// Host under which other processes reach the executor; by default the address of --bind
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Port [default: a free one]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Number of tasks at a time [default: the number of processors]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Memory that all tasks may take together, such as 4GiB [default: 40 % of the machine]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
    /// End tasks once they took so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) time_limit: Option<Duration>,
    /// Folder whose files queries may read, also those below it
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_read: Vec<PathBuf>,
    /// Folder in which queries may write and replace files, and read them
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_write: Vec<PathBuf>,
    /// Folder for what is kept between the stages of queries [default: that of the system for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) work_dir: Option<PathBuf>,
    /// How long to look for a scheduler that does not answer
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) retry_for: Duration,
    #[command(flatten)]
    pub(crate) access: ServerAccessArgs,
}

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The folder, such as /usr/local/share/man/man1
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// Reads a time, like `30` or `0.5`.
fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| format!("`{text}` is no time: write seconds, like 30 or 0.5"))
}

/// A table: `points=points.parquet`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl FromStr for Table {
    type Err = String;

    fn from_str(text: &str) -> Result<Table, String> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Ok(Table { name: name.to_owned(), path: path.into() })
            }
            _ => Err(format!(
                "`{text}` does not name a table: write its name in the query and its path, like t={text}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
        assert!(Cli::try_parse_from(["broadloom-sql"]).is_err());
        assert!(Cli::try_parse_from(["broadloom-sql", "scheduler"]).is_ok_and(|cli| cli.command.is_some()));
        let cli = Cli::try_parse_from(["broadloom-sql", "SELECT 1", "t=a=b.csv"]).unwrap();
        assert_eq!(cli.query.tables, [Table { name: "t".to_owned(), path: "a=b.csv".into() }]);
        let executor =
            ["broadloom-sql", "executor", "--scheduler", "a:1", "--memory", "1GiB", "--time-limit", "0.5"];
        let Some(Command::Executor(args)) = Cli::try_parse_from(executor).unwrap().command else { panic!() };
        assert_eq!(args.memory.map(|memory| memory.as_u64()), Some(1 << 30));
        assert_eq!(args.time_limit, Some(Duration::from_millis(500)));
        for wrong in ["", "0", "-1", "nan", "1e300", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        let error = Cli::try_parse_from(["broadloom-sql", "SELECT 1", "a.csv"]).err().unwrap().to_string();
        assert!(error.contains("like t=a.csv"), "{error}");
    }
}
