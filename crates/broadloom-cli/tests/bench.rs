//! `broadloom bench`: what it reports of sizes, data and bytes; that its times are times; what it says of data that
//! do not fit.

use serde_json::Value;
use std::process::{Command, Output};
use std::time::Instant;

fn run(args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_broadloom");
    let output = Command::new(program).args(["bench", "--color", "never"]).args(args).output();
    output.expect("the program starts")
}

fn json(args: &[&str]) -> Value {
    let output = run(&[args, &["--json", "--seconds", "0.02"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn refused(args: &[&str], code: i32) -> String {
    let output = run(&[args, &["--seconds", "0.02"]].concat());
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("messages are UTF-8")
}

#[test]
fn bytes_and_elements_are_those_of_the_arrays() {
    let report = json(&["x * 2 + y", "x:f32[n, 3]", "y:f64[n, 1]", "--size", "n=1000"]);
    assert_eq!(report["sizes"], serde_json::json!({ "n": 1000 }));
    assert_eq!(report["inputs"], serde_json::json!(["x: f32[1000, 3]", "y: f64[1000, 1]"]));
    assert_eq!(report["outputs"], serde_json::json!(["result: f64[1000, 3]"]));
    assert_eq!(report["bytes_in"], 1000 * (3 * 4 + 8));
    assert_eq!(report["bytes_out"], 1000 * 3 * 8);
    assert_eq!(report["elements"], 3000);
    assert_eq!(report["kernels"], 1);
}

#[test]
fn an_input_that_is_written_counts_twice() {
    let report = json(&["assign x = x * 0.5", "x:f32[n]", "--size", "n=100"]);
    assert_eq!((&report["bytes_in"], &report["bytes_out"]), (&400.into(), &400.into()));
    assert_eq!(report["outputs"], serde_json::json!([]));
}

#[test]
fn an_update_in_part_counts_its_regions() {
    for (program, [read, written]) in [
        ("assign x = x.at[0].set(1)", [0, 40]),
        ("assign x = x.at[1:3].multiply(2)", [80, 80]),
        ("assign x = x.at[0].set(1).at[:, 0].set(2)", [0, 40 + 400]),
        ("assign x = x.at[0].set(x[5])", [40, 40]),
        ("assign x = x.at[0].set(x.sum(axis=0))", [4000, 40]),
        ("assign x = x.at[x > 0].set(1)", [4000, 4000]),
    ] {
        let report = json(&[program, "x:f32[n, 10]", "--size", "n=100"]);
        assert_eq!((&report["bytes_in"], &report["bytes_out"]), (&read.into(), &written.into()), "{program}");
    }
}

#[test]
fn times_are_consistent_and_belong_to_the_run() {
    let start = Instant::now();
    let args = ["sum(exp(x))", "x:f64[n]", "--size", "n=2000000"];
    let report = json(&args);
    let whole = start.elapsed().as_secs_f64();
    let rows = report["measured"].as_array().expect("rows");
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads: Vec<_> = rows.iter().map(|row| row["threads"].as_u64()).collect();
    assert_eq!(threads.first(), Some(&Some(1)));
    assert_eq!(threads.last(), Some(&Some(available as u64)));
    for row in rows {
        let of = |name: &str| row["run"][name].as_f64().expect("a number");
        let (median, least, ninetieth) = (of("median"), of("min"), of("p90"));
        assert!(0.0 < least && least <= median && median <= ninetieth && ninetieth < whole);
        // Two million exponentials take longer than light takes, and no processor computes one in 10 ps.
        assert!(least > 2e6 * 10e-12);
        assert!(of("repetitions") * least < whole && of("repetitions") >= 5.0);
        assert!((of("bytes_per_second") / ((2e6 * 8.0 + 8.0) / median) - 1.0).abs() < 1e-9);
        let copy = row["copy"]["median"].as_f64().expect("a number");
        let share = row["share_of_copy"].as_f64().expect("a number");
        assert!((share / (copy / median) - 1.0).abs() < 1e-9);
        // Nothing copies a byte faster than in 0.1 ps, nor slower than in 100 ns.
        assert!((8e6 * 1e-13..8e6 * 1e-7).contains(&copy), "{copy}");
    }
    let more = json(&["sum(exp(x))", "x:f64[n]", "--size", "n=20000", "--threads", "1"]);
    let median = |report: &Value| report["measured"][0]["run"]["median"].as_f64().expect("a number");
    assert!(median(&report) > 10.0 * median(&more), "a hundred times the work takes longer");
}

#[test]
fn the_threads_asked_for_are_used() {
    let report = json(&["x + 1", "x:f32[n]", "--threads", "3"]);
    let rows = report["measured"].as_array().expect("rows");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["threads"], 3);
}

#[test]
fn sizes_are_chosen_within_bounds_and_facts() {
    let size = |args: &[&str], name: &str| json(args)["sizes"][name].as_i64().expect("a size");
    assert_eq!(size(&["x + 1", "x:f32[n]"], "n"), 1_000_000);
    let two = json(&["x + y", "x:f32[n, 1]", "y:f32[1, m]"]);
    let (n, m) = (two["sizes"]["n"].as_i64().expect("n"), two["sizes"]["m"].as_i64().expect("m"));
    assert!(n * m <= 1_000_000 && n * m > 900_000 && m >= 16, "{n} {m}");
    let program = |text: &'static str| [text, "--threads", "1"];
    assert_eq!(size(&program("assume n <= 77\ninput x: f32[n]\noutput y = x + 1"), "n"), 77);
    assert_eq!(size(&program("assume n % 8 == 0\ninput x: f32[n, 3]\noutput y = x + 1"), "n") % 8, 0);
    assert_eq!(size(&program("assume likely(n) == 1024\ninput x: f32[n]\noutput y = x + 1"), "n"), 1024);
    assert_eq!(
        size(
            &program("parameters k\ninput x: f32[n]\ninput i: i64[n]\noutput y = segment_sum(x, i, k)"),
            "k"
        ),
        16
    );
}

#[test]
fn indices_are_found_or_asked_for() {
    // A table of 4 rows: indices below 100 are refused, and fewer are tried.
    let output = run(&["take(t, i)", "t:f32[4]", "i:i64[n]", "--size", "n=1000", "--seconds", "0.02"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("i: i64[1000], random in 0..1\n"), "{text}");
    assert!(json(&["take(t, i)", "t:f32[4]", "i:i64[n]", "--range", "i=-4..4"])["elements"].is_number());
    let text = refused(&["take(t, i)", "t:f32[4]", "i:i64[n]", "--range", "i=0..50"], 1);
    assert!(
        text.contains("the program fails on these random numbers") && text.contains("--range i="),
        "{text}"
    );
}

#[test]
fn files_are_timed_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.display().to_string()
    };
    let table: Vec<u8> = (0..12).flat_map(|number| (number as f32).to_le_bytes()).collect();
    let indices: Vec<u8> = [0i64, 11, -1].iter().flat_map(|index| index.to_le_bytes()).collect();
    let table = format!("t={}:f32[_]", path("t.bin", &table));
    let indices = format!("i={}:i64[3]", path("i.bin", &indices));
    let report = json(&["take(t, i)", &table, &indices]);
    assert_eq!(report["inputs"], serde_json::json!(["t: f32[12]", "i: i64[3]"]));
    assert_eq!((&report["bytes_in"], &report["bytes_out"]), (&(12 * 4 + 3 * 8).into(), &12.into()));

    // A size that a file has is that of the random input beside it, and an expression is timed beside a number.
    let report = json(&["input t: f32[n]\ninput x: f64[2*n]\noutput y = sum(x) * t * s", &table, "s=0.5"]);
    assert_eq!(report["inputs"], serde_json::json!(["s: f64[]", "t: f32[12]", "x: f64[24]"]));

    let text = refused(&["take(t, i)", &table, &indices, "--range", "i=0..2"], 2);
    assert!(text.contains("--range i has no effect: the input comes from a file or a number"), "{text}");
    let text = refused(&["assign t = t * 2", &table], 2);
    assert!(
        text.contains("writes to an input that comes from a file") && text.contains("t:f32[n]"),
        "{text}"
    );
    let text = refused(&["take(t, i + 100)", &table, &indices], 1);
    assert!(text.contains("the index at [0] is 100") && !text.contains("random"), "{text}");
}

#[test]
fn what_does_not_fit_is_said() {
    let x = ["x + 1", "x:f32[n]"];
    let with = |args: &[&'static str]| [&x[..], args].concat();
    for (args, code, expected) in [
        (with(&["--size", "q=3"]), 2, "the program has no size q"),
        (with(&["--size", "n=-3"]), 2, "is not a size"),
        (with(&["--size", "n=1000000000000000"]), 1, "not enough memory for an array f32[1000000000000000]"),
        (with(&["--size", "n=9000000000000000000"]), 1, "not enough memory for an array"),
        (with(&["--range", "y=0..1"]), 2, "the program has no input y"),
        (with(&["--range", "x=1..0"]), 2, "write one like `0..100`"),
        (with(&["--range", "x=0..inf"]), 2, "write one like `0..100`"),
        (with(&["--seconds", "nan"]), 2, "at most 3600"),
        (vec!["x + y", "x:f32[3]", "y:f32[4]"], 2, "cannot broadcast"),
        (vec!["assume n >= 5\ninput x: f32[n]\noutput y = x", "--size", "n=2"], 1, "n"),
        (vec!["assume n % 8 == 0\ninput x: f32[n]\noutput y = x", "--size", "n=12"], 2, "--size n=8"),
    ] {
        let output = run(&args);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
    }
}

#[test]
fn the_layout_is_stable() {
    let output = run(&["sqrt(x*x + y*y)", "x:f32[n]", "y:f32[n]", "--seconds", "0.02"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "inputs    x: f32[1000000], random in 0..1",
            "          y: f32[1000000], random in 0..1",
            "outputs   result: f32[1000000]",
            "sizes     chosen; as options: --size n=1000000",
        ]
    );
    assert!(lines[4].starts_with("compiled  ") && lines[4].ends_with(" 1 kernel"), "{text}");
    assert_eq!(lines[5], "moved     8.00 MB in, 4.00 MB out; elements of the largest array: 1,000,000");
    let header = "threads    median       min       90%   elements/s     GB/s   copy GB/s  of copy";
    assert_eq!(lines[6..8], ["", header]);
    // Columns are ranged right: each ends where its title does.
    let ends: Vec<usize> = (1..=header.len())
        .filter(|end| !header[..*end].ends_with(' ') && header[*end..].starts_with("  "))
        .collect();
    assert_eq!(ends.len(), 7);
    for line in &lines[8..] {
        assert_eq!(line.len(), header.len(), "{text}");
        assert!(
            ends.iter().all(|end| !line[..*end].ends_with(' ') && line[*end..].starts_with(' ')),
            "{text}"
        );
    }
    assert!(lines.len() > 8);
}
