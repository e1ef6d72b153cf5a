//! Deliberate faults: the suite notices each mistake in [`table::faults`].
//!
//! ```text
//! sources ──copy──▶ each place becomes `if FAULT is its number { new } else { old }` ──build once──▶
//!     without a fault every named test passes, and with fault 1, 2, .. the test of that fault fails
//! ```
//!
//! `cargo test --test faults -- --ignored --nocapture` does this and prints a table, which docs/trust.md records;
//! `FAULTS=merge.rs,index.rs` selects the faults in files whose names contain one of some texts. The ordinary run only checks that every fault
//! still applies, and that the source can be parsed with it.
#![allow(clippy::print_stdout, reason = "the run prints a table")]

mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;
use std::{env, fs};
use table::{Fault, faults};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Variable with the number of the fault that is on.
const SWITCH: &str = "BROADLOOM_FAULT";

impl Fault {
    /// The text to find, and what is before, in and after the marked expression.
    fn parts(&self) -> (String, [&'static str; 3]) {
        let marked =
            self.place.split_once('⟦').and_then(|(before, rest)| Some((before, rest.split_once('⟧')?)));
        let (before, (old, after)) =
            marked.unwrap_or_else(|| panic!("{}: no expression is marked", self.what));
        ([before, old, after].concat(), [before, old, after])
    }

    /// The source with the fault at its place, to be switched on by its number.
    fn applied(&self, number: usize, source: &str) -> String {
        let (text, [before, old, after]) = self.parts();
        let new = self.new;
        let switch = format!(
            "({{ static ON: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| \
             std::env::var({SWITCH:?}).is_ok_and(|on| on == \"{number}\")); if *ON {{ {new} }} else {{ {old} }} }})"
        );
        source.replace(&text, &[before, &switch, after].concat())
    }
}

#[test]
fn each_fault_has_a_row_in_its_page() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/trust.md")).expect("pages can be read");
    let mut lines = page.lines().skip_while(|line| !line.starts_with("| fault | where |")).skip(2);
    for Fault { what, file, test, .. } in faults() {
        let file = file.trim_start_matches("crates/").trim_start_matches("broadloom-");
        assert_eq!(lines.next(), Some(&*format!("| {what} | `{file}` | `{}` |", test.join(" "))));
    }
    assert_eq!(lines.next(), Some(""), "the page has more faults");
    assert!(page.contains(&format!("`tests/faults/table/` has {} faults", faults().count())));
}

#[test]
fn each_fault_applies() {
    let astray = (1..).zip(faults()).filter_map(|(number, fault)| {
        let Fault { what, file, .. } = fault;
        let source = fs::read_to_string(Path::new(ROOT).join(file)).expect("sources can be read");
        let (text, _) = fault.parts();
        let count = source.matches(&text).count();
        if count != 1 {
            return Some(format!("{what}: {text:?} occurs {count} times in {file}"));
        }
        // What is marked may be no expression, as a pattern is not.
        let error = syn::parse_file(&fault.applied(number, &source)).err()?;
        Some(format!("{what}: {file} does not parse with it: {error}"))
    });
    let astray: Vec<String> = astray.collect();
    assert!(astray.is_empty(), "{astray:#?}");
}

#[test]
#[ignore = "builds the tests again and runs one for each fault: minutes to an hour"]
fn each_fault_is_noticed() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults");
    let selected = env::var("FAULTS").unwrap_or_default();
    let faults: Vec<(usize, &Fault)> = (1..)
        .zip(faults())
        .filter(|(_, fault)| selected.split(',').any(|text| fault.file.contains(text)))
        .collect();
    copy_sources(&copy);
    for test in faults.iter().map(|(_, fault)| fault.test).collect::<BTreeSet<_>>() {
        let output = cargo_test(&copy, test, 0);
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "fails without a fault: {}\n{text}\n{errors}", test.join(" "));
    }
    let mut missed = Vec::new();
    println!("| fault | where | noticed by `cargo test` | seconds |\n| --- | --- | --- | --- |");
    for (number, fault) in faults {
        let start = Instant::now();
        let noticed = !cargo_test(&copy, fault.test, number).status.success();
        let (file, test, seconds) = (fault.file, fault.test.join(" "), start.elapsed().as_secs());
        let by = if noticed { format!("`{test}`") } else { format!("NOT by `{test}`") };
        println!("| {} | `{file}` | {by} | {seconds} |", fault.what);
        if !noticed {
            missed.push(fault.what);
        }
    }
    assert!(missed.is_empty(), "the suite does not notice: {missed:#?}");
}

/// `cargo test` in the copy, with a fault switched on. The copy has a target directory of its own: Cargo tells packages
/// apart by their paths within a workspace, so in a shared directory the faults would get into other builds.
fn cargo_test(copy: &Path, test: &[&str], number: usize) -> Output {
    Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["test", "--locked", "--quiet", "--target-dir"])
        .arg(copy.join("target"))
        .args(test)
        .env(SWITCH, number.to_string())
        .current_dir(copy)
        .output()
        .expect("cargo can be started")
}

/// Copies what Cargo needs, with all faults. Writes only files that differ, so that a second run builds little.
fn copy_sources(to: &Path) {
    let names = ["Cargo.toml", "Cargo.lock", "crates", "tests", "benches", "examples", "docs"];
    let mut waiting: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    while let Some(path) = waiting.pop() {
        let (from, to) = (Path::new(ROOT).join(&path), to.join(&path));
        if from.is_dir() {
            fs::create_dir_all(&to).expect("a directory can be made");
            remove_strangers(&from, &to);
            let entries = fs::read_dir(&from).expect("sources can be read");
            let names = entries.map(|entry| entry.expect("sources can be read").file_name());
            waiting.extend(names.filter(|name| name != "target").map(|name| path.join(name)));
            continue;
        }
        let mut content = fs::read(&from).expect("sources can be read");
        for (number, fault) in (1..).zip(faults()).filter(|(_, fault)| path == Path::new(fault.file)) {
            let source = String::from_utf8(content).expect("sources are UTF-8");
            content = fault.applied(number, &source).into_bytes();
        }
        if fs::read(&to).ok().as_ref() != Some(&content) {
            fs::write(&to, content).expect("the copy can be written");
        }
    }
}

/// Removes what a folder of the copy has and the sources no longer have.
fn remove_strangers(from: &Path, to: &Path) {
    for entry in fs::read_dir(to).expect("the copy can be read") {
        let entry = entry.expect("the copy can be read");
        if entry.file_name() == "target" || from.join(entry.file_name()).exists() {
            continue;
        }
        let removed = if entry.path().is_dir() {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        removed.expect("the copy can be changed");
    }
}
