//! Real processes: a scheduler, executors, and clients.
#![allow(dead_code, reason = "each suite uses a part")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_broadloom-sql");

/// A process that ends with the test.
pub struct Process(pub Child);

/// What a server writes after its first line.
pub type Log = Arc<Mutex<String>>;

impl Process {
    /// Starts the program, and waits for its first line, which servers write when they are ready.
    pub fn server(arguments: &[&str]) -> (Process, String) {
        let (process, line, _) = Process::logged(Command::new(PROGRAM).args(arguments));
        (process, line)
    }

    /// Starts a server, and keeps what it writes.
    pub fn logged(command: &mut Command) -> (Process, String, Log) {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let log = Log::default();
        let kept = log.clone();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                *kept.lock().unwrap() += &format!("{line}\n");
            }
        });
        (Process(child), line, log)
    }

    /// Returns the most memory that the process had so far, in bytes, and where the system does not tell it, none.
    pub fn peak(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("VmHWM: 0");
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    }

    /// Starts a query, whose output is kept.
    pub fn query(arguments: &[&str]) -> Process {
        let command = &mut Command::new(PROGRAM);
        Process(command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Returns the processor time of the process so far, where the system tells it.
    pub fn processor_time(&self) -> Option<Duration> {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).ok()?;
        // The name of the program, in brackets, may contain spaces. Times are in hundredths of a second.
        let fields = status.rsplit_once(')')?.1.split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap_or(0)).sum();
        Some(Duration::from_millis(10 * ticks))
    }

    /// Sends a signal by name: `INT`, `KILL`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub struct Cluster {
    pub scheduler: Process,
    pub executors: Vec<Process>,
    pub address: String,
    /// What the servers are started with.
    options: Options<'static>,
    /// The folder in which executors work. It is removed after they were killed.
    pub work: tempfile::TempDir,
}

/// Options of servers, beside those that all have.
#[derive(Default, Clone, Copy)]
pub struct Options<'a> {
    pub scheduler: &'a [&'a str],
    pub executor: &'a [&'a str],
    pub client: &'a [&'a str],
}

impl Cluster {
    /// Starts a scheduler and executors with a thread each, and waits until it knows them.
    pub fn start(executors: usize) -> Cluster {
        Cluster::with(executors, Options::default())
    }

    /// Starts them with more options.
    pub fn with(executors: usize, options: Options<'static>) -> Cluster {
        let (scheduler, line) = Process::server(&Cluster::scheduler("0", options));
        let address = line.trim().strip_prefix("scheduler listening on ").expect(&line).to_owned();
        let work = tempfile::tempdir().unwrap();
        let mut cluster = Cluster { scheduler, executors: Vec::new(), address, options, work };
        (0..executors).for_each(|_| cluster.add());
        cluster
    }

    /// Returns the arguments of a scheduler. Tests keep their files in two folders.
    fn scheduler<'a>(port: &'a str, options: Options<'a>) -> Vec<&'a str> {
        let files = ["--allow-read", temporary(), "--allow-read", env!("CARGO_TARGET_TMPDIR")];
        [&["scheduler", "--port", port], &files as &[&str], options.scheduler].concat()
    }

    pub fn add(&mut self) {
        let work = self.work.path().to_str().unwrap();
        let server = ["executor", "--threads", "1", "--scheduler", &self.address, "--work-dir", work];
        let files = ["--allow-read", temporary(), "--allow-read", env!("CARGO_TARGET_TMPDIR")];
        let (executor, line) = Process::server(&[&server, &files as &[&str], self.options.executor].concat());
        assert!(line.starts_with("executor with 1 threads"), "{line}");
        self.executors.push(executor);
    }

    /// Kills the scheduler, and returns once its port is free.
    pub fn kill_scheduler(&mut self) {
        self.scheduler.signal("KILL");
        self.scheduler.0.wait().unwrap();
    }

    /// Starts a scheduler at the address of one that was killed.
    pub fn restart_scheduler(&mut self) {
        let port = self.address.rsplit_once(':').unwrap().1;
        self.scheduler = Process::server(&Cluster::scheduler(port, self.options)).0;
    }

    /// Runs a query on the cluster.
    pub fn query(&self, sql: &str, more: &[&str]) -> Output {
        query(&[&["--cluster", &self.address, sql], self.options.client, more].concat())
    }

    /// Starts a query on the cluster.
    pub fn start_query(&self, sql: &str, more: &[&str]) -> Process {
        Process::query(&[&["--cluster", &self.address, sql], self.options.client, more].concat())
    }

    /// Checks that the cluster answers a query.
    pub fn assert_serves(&self) {
        let start = Instant::now();
        let answer = printed(&self.query("SELECT 40 + 2 AS answer", &[]));
        assert!(answer.contains("42"), "{answer}");
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
}

/// Returns the folder of the system for temporary files.
pub fn temporary() -> &'static str {
    static FOLDER: LazyLock<String> = LazyLock::new(|| std::env::temp_dir().to_str().unwrap().to_owned());
    &FOLDER
}

/// Runs the program.
pub fn query(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

/// Returns what a successful run printed.
pub fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the message of a run that failed with an exit code.
pub fn message(output: &Output, code: i32) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{message}");
    message
}

/// Returns the output of a process, which must end within some seconds.
pub fn ended_within(mut process: Process, seconds: u64) -> Output {
    let start = Instant::now();
    loop {
        if let Some(status) = process.0.try_wait().unwrap() {
            let mut output = Output { status, stdout: Vec::new(), stderr: Vec::new() };
            use std::io::Read;
            process.0.stdout.take().unwrap().read_to_end(&mut output.stdout).unwrap();
            process.0.stderr.take().unwrap().read_to_end(&mut output.stderr).unwrap();
            return output;
        }
        assert!(start.elapsed() < Duration::from_secs(seconds), "the process runs longer than {seconds} s");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Writes Parquet files of `rows` rows each, of id, k, x (every seventh is null), y and whole numbers i, of which some
/// are 0. Returns the argument for the table `t`.
pub fn points(directory: &Path, files: usize, rows: usize) -> String {
    for file in 0..files {
        let (first, last) = (file * rows, (file + 1) * rows - 1);
        let sql = format!(
            "SELECT value AS id, value % 5 AS k, value % 1000 AS i,
                CASE WHEN value % 7 = 6 THEN NULL ELSE CAST(value AS DOUBLE) / 3 - 1000 END AS x,
                CAST(value % 1009 AS DOUBLE) / 7 AS y
             FROM generate_series({first}, {last})"
        );
        let path = directory.join(format!("part{file}.parquet"));
        printed(&query(&[&sql, "-o", path.to_str().unwrap()]));
    }
    format!("t={}", directory.display())
}
