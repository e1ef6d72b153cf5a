//! The sessions in the pages: a developer's is the guide's first chapter, a maintainer's is CONTRIBUTING.md.

use std::path::Path;
use std::process::Command;

const CHAPTER: &str = include_str!("../../crates/broadloom/src/guide/first_expression.md");
const CONTRIBUTING: &str = include_str!("../../CONTRIBUTING.md");
const CI: &str = include_str!("../../.ci/run");

/// Each line of CONTRIBUTING.md, and the text of `.ci/run` that runs it or what it is a part of.
const RUN_BY: &[(&str, &str)] = &[
    ("cargo test", "cargo test --locked --no-fail-fast \"${rust[@]}\""),
    ("cargo test -p broadloom-ir", "cargo test --locked --no-fail-fast \"${rust[@]}\""),
    ("cargo test --test oracle", "cargo test --locked --no-fail-fast \"${rust[@]}\""),
    ("cargo test -p broadloom --doc guide", "cargo test --locked --no-fail-fast \"${rust[@]}\""),
    (
        "cargo test -p broadloom-arrow -p broadloom-datafusion -p broadloom-sql",
        "rust=(--workspace --exclude broadloom-python)",
    ),
    (
        "cargo test -p broadloom-cli --features zarr --test cli zarr::",
        "rust+=(--features broadloom-cli/zarr)",
    ),
    ("cargo fmt --all", "cargo fmt --all"),
    (
        "cargo clippy --all-targets -- -D warnings",
        "--all-targets --features broadloom/ndarray,suite/rivals -- -D warnings",
    ),
    (".ci/run", "passed, $failed failed"),
    ("UPDATE_DOCS=1 cargo test --test docs", "update_pages"),
    ("UPDATE_DOCS=1 cargo test -p broadloom-cli --test session", "update_pages"),
    ("UPDATE_DOCS=1 cargo test -p broadloom-cli --test figures", "update_pages"),
    ("INSTA_UPDATE=always INSTA_FORCE_PASS=1 cargo test -p broadloom-loops --test schedules", "update_pages"),
    ("cargo bench --features rivals --bench table -- --write", "--bench table"),
    ("cargo test --test docs -- --ignored", "--test docs -- --ignored"),
    ("cargo test --test faults -- --ignored --nocapture", "FAULTS=math/src/order.rs"),
    ("python3 -m venv target/numpy", "python3 -m venv \"target/$name\""),
    ("target/numpy/bin/pip install -r tests/numpy/requirements.txt", "-r \"tests/$name/requirements.txt\""),
    ("BROADLOOM_PYTHON=$PWD/target/numpy/bin/python cargo test --test numpy", "environment \"$name\""),
    ("python3 -m venv target/pyarrow", "python3 -m venv \"target/$name\""),
    (
        "target/pyarrow/bin/pip install -r tests/pyarrow/requirements.txt",
        "-r \"tests/$name/requirements.txt\"",
    ),
    ("cargo test -p broadloom-cli --test pyarrow", "for name in numpy pyarrow"),
];

/// The blocks of a page in a language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let fence = format!("```{language}\n");
    let mut blocks = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find("```") {
        let Some(length) = rest[start + 3..].find("```") else { break };
        let block = &rest[start..start + 3 + length];
        blocks.extend(block.strip_prefix(fence.as_str()));
        rest = &rest[start + length + 6..];
    }
    blocks
}

/// The commands of a page, without what stands behind `#`, and the lines that each prints.
fn commands(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in blocks(page, "console").into_iter().flat_map(str::lines) {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => {
                let command = command.split("  #").next().unwrap_or_default();
                commands.push((command.trim_end(), Vec::new()));
            }
            (None, Some((_, printed))) => printed.push(line),
            (None, None) => panic!("{line:?} is printed by no command"),
        }
    }
    commands
}

#[test]
fn each_line_for_maintainers_is_run() {
    let found: Vec<&str> = commands(CONTRIBUTING).into_iter().map(|(command, _)| command).collect();
    for command in &found {
        assert!(
            RUN_BY.iter().any(|(line, _)| line == command),
            "nothing runs `{command}` of CONTRIBUTING.md"
        );
    }
    for (line, step) in RUN_BY {
        assert!(found.contains(line), "CONTRIBUTING.md has no line `{line}`");
        assert!(CI.contains(step), "`.ci/run` has no step with {step:?}, which runs `{line}`");
    }
}

/// Types the first chapter into a shell, beside a clone.
#[test]
#[ignore = "builds the crates for another program: a minute or two of processor time"]
fn a_new_program_follows_the_first_chapter() {
    // Outside the clone: `cargo new` makes a package below a workspace a member of that workspace.
    let beside = tempfile::tempdir().expect("a directory can be made");
    let root = env!("CARGO_MANIFEST_DIR");
    let in_shell = |command: &str, folder: &Path| {
        let output = Command::new("sh").args(["-c", command]).current_dir(folder).output();
        let output = output.expect("a shell can be started");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "`{command}` fails:\n{text}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    in_shell(&format!("ln -s {root:?} broadloom"), beside.path());
    let program = blocks(CHAPTER, "").into_iter().next().expect("the chapter has a program");
    let mut folder = beside.path().to_path_buf();
    for (command, printed) in commands(CHAPTER) {
        if let Some(into) = command.strip_prefix("cd ") {
            folder = folder.join(into);
            continue;
        }
        if command == "cargo run" {
            std::fs::write(folder.join("src/main.rs"), program).expect("the program can be written");
            // The versions that the workspace was tested with.
            std::fs::copy(Path::new(root).join("Cargo.lock"), folder.join("Cargo.lock")).expect("a copy");
        }
        let output = in_shell(command, &folder);
        assert_eq!(output.lines().collect::<Vec<_>>(), printed, "`{command}`");
    }
}
