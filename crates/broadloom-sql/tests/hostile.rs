//! A cluster, and the program, in the hands of strangers: nobody ends a process that serves others, fills it, or touches
//! files that are not for clients.
#![cfg(unix)]

mod common;

use common::{Cluster, Options, PROGRAM, Process, ended_within, message, points, printed, query};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A batch of it takes years.
const ENDLESS: &str = "SELECT sum(broadloom('sum(arange(10**12) * x[:, None], axis=1)', x)) AS s FROM t";

fn at(directory: &Path, name: &str) -> String {
    directory.join(name).to_str().unwrap().to_owned()
}

/// Returns the files below a folder, but not the locks of executors.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false if entry.file_name() != "lock" => found.push(entry.path()),
            false => {}
        }
    }
    found
}

/// Waits until something holds.
fn eventually(seconds: u64, what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(seconds), "{what}, after {seconds} s");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn deep_queries_are_refused_and_long_ones_answered() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 1, 4);
    let cluster = Cluster::start(1);
    let sum = |terms: usize| format!("SELECT {} AS s FROM t", vec!["id"; terms].join("+"));
    for place in [&[] as &[&str], &["--cluster", &cluster.address]] {
        for terms in [2_000, 9_000, 40_000] {
            let found = message(&query(&[place, &[&sum(terms), &table]].concat()), 2);
            assert!(found.contains("levels deep") && found.contains("at most 1000"), "{found}");
        }
        let answer = printed(&query(&[place, &[&sum(300), &table]].concat()));
        assert!(answer.contains("| 900 |"), "{answer}");
    }
    cluster.assert_serves();
}

#[test]
fn a_batch_that_does_not_fit_is_refused_with_its_expression() {
    const MEMORY: usize = 256 << 20;
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 1, 2500);
    let cluster = Cluster::with(1, Options { executor: &["--memory", "256MiB"], ..Options::default() });
    let wide = "SELECT broadloom('y[:, None] + zeros(1000000)', y) AS w FROM t";
    for found in [
        message(&cluster.query(wide, &[&table]), 1),
        message(&query(&[wide, &table, "--memory", "256MiB"]), 1),
    ] {
        // 101 rows of a million numbers of 8 bytes: one more than is printed.
        for part in ["y[:, None] + zeros(1000000)", "808000000 bytes", "--memory"] {
            assert!(found.contains(part), "{part}: {found}");
        }
    }
    // Operators that can spill do, and those that cannot fail.
    let sorted = "SELECT count(*) AS c FROM (SELECT id, y FROM t ORDER BY y, id DESC LIMIT 2000)";
    assert!(printed(&cluster.query(sorted, &[&table])).contains("2000"));
    let peak = cluster.executors[0].peak();
    assert!(peak < 2 * MEMORY, "{} MiB", peak >> 20);
    cluster.assert_serves();
}

#[test]
fn cancelling_ends_a_batch_in_the_middle_and_the_cluster_serves_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 1, 10_000);
    let cluster = Cluster::start(2);
    for place in [&["--cluster", &cluster.address] as &[&str], &[]] {
        let client = Process::query(&[place, &[ENDLESS, &table]].concat());
        let busy = || {
            let of = |process: &Process| process.processor_time().unwrap_or_default();
            let executors: Duration = cluster.executors.iter().map(of).sum();
            executors + of(&client)
        };
        let before = busy();
        eventually(60, "the query computes", || busy() > before + Duration::from_secs(1));
        let start = Instant::now();
        client.signal("INT");
        message(&ended_within(client, 3), 130);
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        // Executors are idle soon: they compute less than half of the time.
        let used = || cluster.executors.iter().filter_map(Process::processor_time).sum::<Duration>();
        eventually(10, "executors stop", || {
            let before = used();
            std::thread::sleep(Duration::from_millis(500));
            used() - before < Duration::from_millis(250)
        });
        let start = Instant::now();
        cluster.assert_serves();
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}

#[test]
fn a_time_limit_ends_a_query_on_either_side() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 1, 10_000);
    let cluster = Cluster::with(1, Options { executor: &["--time-limit", "1"], ..Options::default() });
    let limited: [&[&str]; 3] = [
        &["--cluster", &cluster.address],
        &["--cluster", &cluster.address, "--time-limit", "0.5"],
        &["--time-limit", "0.5"],
    ];
    for more in limited {
        let client = Process::query(&[more, &[ENDLESS, &table]].concat());
        let found = message(&ended_within(client, 20), 1);
        assert!(found.contains("--time-limit") && !found.contains("Error("), "{found}");
        cluster.assert_serves();
    }
}

#[test]
fn a_cell_of_millions_is_shortened() {
    let start = Instant::now();
    let wide = "SELECT broadloom('x[:, None] + arange(10000000)', x) AS w FROM generate_series(1, 2) AS t(x)";
    let shown = printed(&query(&[wide, "--memory", "8GiB"]));
    assert!(shown.contains("[1, 2, 3, ..., 9999998, 9999999, 10000000]"), "{shown}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn executors_find_a_scheduler_that_starts_again_and_say_so_if_none_does() {
    let mut cluster = Cluster::start(1);
    let work = tempfile::tempdir().unwrap();
    let server = ["executor", "--threads", "1", "--retry-for", "1", "--scheduler", &cluster.address];
    let command = &mut Command::new(PROGRAM);
    let (mut impatient, _, log) =
        Process::logged(command.args(server).args(["--work-dir", work.path().to_str().unwrap()]));
    cluster.kill_scheduler();
    cluster.restart_scheduler();
    eventually(30, "executors register again", || {
        query(&["--cluster", &cluster.address, "SELECT 1"]).status.success()
    });
    cluster.assert_serves();
    cluster.kill_scheduler();
    eventually(60, "the executor ends", || impatient.0.try_wait().unwrap().is_some());
    assert_eq!(impatient.0.wait().unwrap().code(), Some(1));
    let log = log.lock().unwrap().clone();
    assert!(log.contains("lost the scheduler at") && log.contains("does not answer"), "{log}");
    assert_eq!(files(work.path()), [] as [PathBuf; 0]);
    assert!(cluster.executors[0].0.try_wait().unwrap().is_none(), "a patient executor ended");
    // Here, a scheduler comes back after executors have lost it.
    cluster.restart_scheduler();
    eventually(60, "the executor finds it", || {
        query(&["--cluster", &cluster.address, "SELECT 1"]).status.success()
    });
    cluster.assert_serves();
}

#[test]
fn nothing_stays_of_queries_and_of_killed_executors() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 4, 10_000);
    let mut cluster = Cluster::start(2);
    let groups =
        "SELECT id % 1000 AS g, count(*) AS c, broadloom_agg('mean(y)', y) AS m FROM t GROUP BY id % 1000";
    printed(&cluster.query(groups, &[&table]));
    eventually(10, "files of the query are removed", || files(cluster.work.path()).is_empty());
    let folders = || std::fs::read_dir(cluster.work.path()).unwrap().count();
    assert_eq!(folders(), 2);
    cluster.executors.iter().for_each(|executor| executor.signal("KILL"));
    cluster.executors.iter_mut().for_each(|executor| drop(executor.0.wait()));
    assert_eq!(folders(), 2);
    cluster.add();
    assert_eq!(std::fs::read_dir(cluster.work.path()).unwrap().count(), 1);
    cluster.executors[2].signal("TERM");
    let work = cluster.work.path().to_owned();
    eventually(40, "an executor that ends removes its folder", || {
        std::fs::read_dir(&work).unwrap().count() == 0
    });
}

#[test]
fn silent_connections_keep_nobody_out() {
    let shell = "ulimit -n 64; exec \"$0\" scheduler --port 0";
    let (_scheduler, line, log) = Process::logged(Command::new("sh").args(["-c", shell, PROGRAM]));
    let address = line.trim().strip_prefix("scheduler listening on ").expect(&line).to_owned();
    let silent: Vec<_> = (0..120).map(|_| std::net::TcpStream::connect(&address).unwrap()).collect();
    let work = tempfile::tempdir().unwrap();
    let server =
        ["executor", "--threads", "1", "--scheduler", &address, "--work-dir", work.path().to_str().unwrap()];
    let (_executor, mut line, executor_log) = Process::logged(Command::new(PROGRAM).args(server));
    // It says that it waits, or is served at once.
    eventually(40, "the executor is served", || {
        line += &std::mem::take(&mut *executor_log.lock().unwrap());
        line.contains("executor with 1 threads")
    });
    assert!(printed(&query(&["--cluster", &address, "SELECT 40 + 2 AS a"])).contains("42"));
    let said = log.lock().unwrap().clone();
    assert!(said.contains("no more connections can be taken"), "{said}");
    drop(silent);
}

#[test]
fn executors_close_silent_connections_for_results() {
    let (_scheduler, line) = Process::server(&["scheduler", "--port", "0"]);
    let address = line.trim().strip_prefix("scheduler listening on ").expect(&line).to_owned();
    let work = tempfile::tempdir().unwrap();
    let shell = "ulimit -n 128; exec \"$0\" \"$@\"";
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let server = ["executor", "--threads", "1", "--scheduler", &address, "--port", &port, "--work-dir"];
    let command = &mut Command::new("sh");
    command.args(["-c", shell, PROGRAM]).args(server).arg(work.path());
    let (_executor, line, log) = Process::logged(command);
    assert!(line.starts_with("executor with 1 threads"), "{line}");
    let results = format!("127.0.0.1:{port}");
    let mut silent: Vec<_> = (0..150).map(|_| std::net::TcpStream::connect(&results).unwrap()).collect();
    silent[0].set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // The end, or the news that the executor has closed it.
    let heard = silent[0].read(&mut [0; 16]);
    assert!(
        matches!(&heard, Ok(0)) || matches!(&heard, Err(error) if error.kind() == ErrorKind::ConnectionReset),
        "{heard:?}"
    );
    eventually(40, "queries are answered", || {
        query(&["--cluster", &address, "SELECT 40 + 2 AS a"]).status.success()
    });
    let said = log.lock().unwrap().clone();
    assert!(said.contains("executor: no more connections can be taken"), "{said}");
    drop(silent);
}

#[test]
fn only_stated_folders_are_read_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let [read, write, secret] = ["read", "write", "secret"].map(|name| at(directory.path(), name));
    for folder in [&read, &write, &secret] {
        std::fs::create_dir(folder).unwrap();
    }
    for folder in [&read, &secret] {
        printed(&query(&["SELECT 7 AS a", "-o", &format!("{folder}/a.parquet")]));
    }
    std::os::unix::fs::symlink(format!("{secret}/a.parquet"), format!("{read}/link.parquet")).unwrap();
    std::os::unix::fs::symlink(&secret, format!("{write}/link")).unwrap();
    let (scheduler, line) = Process::server(&["scheduler", "--port", "0", "--allow-read", &read]);
    let address = line.trim().strip_prefix("scheduler listening on ").expect(&line).to_owned();
    // Parts of results are removed a moment after their query, and are no files of clients.
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().to_str().unwrap();
    let server = ["executor", "--threads", "1", "--scheduler", &address, "--work-dir", work];
    let (executor, _) =
        Process::server(&[&server as &[&str], &["--allow-read", &read, "--allow-write", &write]].concat());
    let ask = |sql: &str, more: &[&str]| query(&[&["--cluster", &address, sql], more].concat());
    let refused = |sql: &str, more: &[&str]| {
        let found = message(&ask(sql, more), 1);
        assert!(found.starts_with("error[F001]: `") && found.contains("--allow-"), "{found}");
        assert!(!found.contains("\\n") && !found.contains("Error("), "{found}");
    };
    let all = "SELECT * FROM t";
    assert!(printed(&ask(all, &[&format!("t={read}/a.parquet")])).contains("7"));
    refused(all, &[&format!("t={secret}/a.parquet")]);
    refused(all, &[&format!("t={read}/../secret/a.parquet")]);
    let before = files(directory.path());
    for to in [
        format!("{secret}/b.csv"),
        format!("{read}/b.csv"),
        format!("{write}/../secret/b.csv"),
        format!("{write}/link/b.csv"),
        at(directory.path(), "b.csv"),
    ] {
        refused(&format!("COPY (SELECT 1 AS a) TO '{to}' STORED AS CSV"), &[]);
    }
    assert_eq!(files(directory.path()), before);
    printed(&ask(&format!("COPY (SELECT 1 AS a) TO '{write}/b.csv' STORED AS CSV"), &[]));
    assert!(Path::new(&write).join("b.csv").exists());
    drop((scheduler, executor));
}

/// The rows of this file for as long as a deep run takes: random queries from several clients at once, some of them hostile, and
/// executors and clients that are killed. `cargo test -p broadloom-sql --test hostile -- --ignored hour`
#[test]
#[ignore = "takes ten minutes"]
fn a_hostile_hour() {
    let seconds = std::env::var("BROADLOOM_HOSTILE_SECONDS").map_or(600, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 4, 20_000);
    let [write, secret] = ["write", "secret"].map(|name| at(directory.path(), name));
    for folder in [&write, &secret] {
        std::fs::create_dir(folder).unwrap();
    }
    let allowed: &'static str = write.clone().leak();
    let executor = vec!["--memory", "256MiB", "--time-limit", "5", "--allow-write", allowed].leak();
    let mut cluster = Cluster::with(2, Options { executor, ..Options::default() });
    let good = [
        "SELECT k, count(*) AS c, sum(i) AS s FROM t GROUP BY k ORDER BY k",
        "SELECT id, broadloom('sqrt(x*x + y*y)', x, y) AS r FROM t ORDER BY r DESC, id LIMIT 5",
        "SELECT k, broadloom_agg('max(x - y)', x, y) AS m FROM t GROUP BY k ORDER BY k",
        "SELECT count(*) AS c FROM t AS a JOIN t AS b ON a.id = b.id WHERE a.i > 500",
    ];
    let expected = good.map(|sql| printed(&query(&[sql, &table])));
    let deep = format!("SELECT {} FROM t", vec!["id"; 5_000].join("+"));
    let outside = format!("COPY (SELECT 1 AS a) TO '{secret}/a.csv' STORED AS CSV");
    let inside = format!("COPY (SELECT 1 AS a) TO '{write}/a.csv' STORED AS CSV");
    let wide = "SELECT broadloom('y[:, None] + zeros(1000000)', y) AS w FROM t";
    let bad = [
        deep.as_str(),
        &outside,
        &inside,
        wide,
        ENDLESS,
        "SELECT nothing FROM t",
        "SELECT broadloom('x[', x) FROM t",
    ];
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut random, mut answered, mut early) = (2463534242u32, 0, None);
    let mut draw = |below: usize| {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random as usize % below
    };
    while Instant::now() < end {
        let picks: Vec<usize> = (0..4).map(|_| draw(good.len())).collect();
        let clients: Vec<Process> =
            picks.iter().map(|pick| cluster.start_query(good[*pick], &[&table])).collect();
        let hostile = cluster.start_query(bad[draw(bad.len())], &[&table]);
        let killed = draw(10) == 0;
        match draw(4) {
            _ if killed => {
                let at = draw(cluster.executors.len());
                cluster.executors[at].signal("KILL");
                cluster.executors[at].0.wait().unwrap();
                cluster.executors.remove(at);
                cluster.add();
            }
            0 => hostile.signal("INT"),
            1 => hostile.signal("KILL"),
            _ => {}
        }
        for (pick, client) in picks.iter().zip(clients) {
            let output = ended_within(client, 120);
            // A query may fail with an executor; one that is answered is right.
            if !killed || output.status.success() {
                assert_eq!(printed(&output), expected[*pick]);
                answered += 1;
            }
        }
        drop(hostile);
        for process in cluster.executors.iter_mut().chain([&mut cluster.scheduler]) {
            assert!(process.0.try_wait().unwrap().is_none(), "a server ended");
            assert!(process.peak() < 768 << 20, "{} MiB", process.peak() >> 20);
        }
        assert_eq!(files(Path::new(&secret)), [] as [PathBuf; 0]);
        if answered > 200 && early.is_none() {
            early = Some(resident(&cluster.scheduler));
        }
    }
    cluster.assert_serves();
    assert!(answered > 0);
    if let Some(early) = early {
        let late = resident(&cluster.scheduler);
        assert!(late < early + (64 << 20), "the scheduler grew from {} to {} MiB", early >> 20, late >> 20);
    }
}

/// The memory that a process has now, in bytes, where the system tells it.
fn resident(process: &Process) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.0.id())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or("VmRSS: 0");
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}
