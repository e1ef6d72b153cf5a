//! Deliberate faults: the suite notices each mistake in [`table::FAULTS`].
//!
//! ```text
//! for each fault:   copy of the sources ──old text replaced──▶ builds ──named test──▶ must fail
//! ```
//!
//! `cargo test --test faults -- --ignored --nocapture` applies every fault and prints a table, which docs/trust.md records;
//! `FAULTS=merge.rs` selects those whose file contains a text. The ordinary run checks that every fault still applies.

mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;
use std::{env, fs};
use table::{FAULTS, Fault};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn each_fault_applies() {
    let astray = FAULTS.iter().filter_map(|Fault { what, file, old, .. }| {
        let text = fs::read_to_string(Path::new(ROOT).join(file)).expect("sources can be read");
        let count = text.matches(old).count();
        (count != 1).then(|| format!("{what}: {old:?} occurs {count} times in {file}"))
    });
    let astray: Vec<String> = astray.collect();
    assert!(astray.is_empty(), "{astray:#?}");
}

#[test]
#[ignore = "builds and tests the workspace for each fault: an hour or more"]
fn each_fault_is_noticed() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults");
    copy_sources(&copy);
    let selected = env::var("FAULTS").unwrap_or_default();
    let mut missed = Vec::new();
    println!("| fault | where | noticed by | seconds |\n| --- | --- | --- | --- |");
    for fault in FAULTS.iter().filter(|fault| fault.file.contains(&selected)) {
        let start = Instant::now();
        let noticed = is_noticed(fault, &copy);
        let test = fault.test.join(" ");
        let by = if noticed { format!("`{test}`") } else { format!("NOT by `{test}`") };
        println!("| {} | `{}` | {by} | {} |", fault.what, fault.file, start.elapsed().as_secs());
        if !noticed {
            missed.push(fault.what);
        }
    }
    assert!(missed.is_empty(), "the suite does not notice: {missed:#?}");
}

/// Whether the named test fails on a copy of the sources with the fault, and the copy builds.
fn is_noticed(fault: &Fault, copy: &Path) -> bool {
    let file = copy.join(fault.file);
    let text = fs::read_to_string(&file).expect("the copy can be read");
    fs::write(&file, text.replace(fault.old, fault.new)).expect("the copy can be written");
    let build = cargo(copy, fault, &["--no-run"]);
    let error = String::from_utf8_lossy(&build.stderr).into_owned();
    assert!(build.status.success(), "{} does not compile, so it shows nothing:\n{error}", fault.what);
    let run = cargo(copy, fault, &[]);
    fs::write(&file, text).expect("the copy can be written");
    !run.status.success()
}

/// `cargo test` in the copy. It shares the target directory, so that dependencies are not built again.
fn cargo(copy: &Path, fault: &Fault, more: &[&str]) -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is inside the target directory");
    Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["test", "--locked", "--quiet", "--target-dir"])
        .arg(target)
        .args(fault.test)
        .args(more)
        .current_dir(copy)
        .output()
        .expect("cargo can be started")
}

/// Copies what Cargo needs, and only files that differ, so that a second run builds little.
fn copy_sources(to: &Path) {
    let names = ["Cargo.toml", "Cargo.lock", "crates", "tests", "benches", "examples", "docs"];
    let mut waiting: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    while let Some(path) = waiting.pop() {
        let (from, to) = (Path::new(ROOT).join(&path), to.join(&path));
        if from.is_dir() {
            fs::create_dir_all(&to).expect("a directory can be made");
            let entries = fs::read_dir(&from).expect("sources can be read");
            waiting.extend(entries.map(|entry| path.join(entry.expect("sources can be read").file_name())));
        } else {
            let text = fs::read(&from).expect("sources can be read");
            if fs::read(&to).ok().as_ref() != Some(&text) {
                fs::write(&to, text).expect("the copy can be written");
            }
        }
    }
}
