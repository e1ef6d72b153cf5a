//! Files between pyarrow and a program: runs a script of this folder.
//!
//! The Python is the first of `$BROADLOOM_PYTHON`, `target/pyarrow/bin/python`, which `.ci/run` makes, and `python3` that
//! has the pyarrow of `requirements.txt`. Without one the test says so and passes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a Python with pyarrow, or the reason why there is none.
fn python(target: &Path) -> Result<PathBuf, String> {
    let mut required = include_str!("requirements.txt").lines();
    let required = required.find(|line| line.starts_with("pyarrow==")).expect("a version of pyarrow");
    let asked = std::env::var_os("BROADLOOM_PYTHON").map(PathBuf::from);
    let made = target.join("pyarrow/bin/python");
    let mut found = Vec::new();
    for python in asked.into_iter().chain([made, "python3".into()]) {
        let probe = "import numpy, pyarrow; print('pyarrow==' + pyarrow.__version__)";
        found.push(match Command::new(&python).args(["-c", probe]).output() {
            Ok(output) if output.status.success() => {
                let has = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                if has == required {
                    return Ok(python);
                }
                format!("{} has {has}", python.display())
            }
            Ok(_) => format!("{} has no pyarrow", python.display()),
            Err(_) => format!("there is no {}", python.display()),
        });
    }
    Err(format!("{required} is required, but {}", found.join(", ")))
}

/// Runs a script, which tests the program, with more arguments in each run of the program.
pub fn run(script: &str, program: &str, more: &[&str], temporary: &str) {
    // Past the test harness, which keeps the output of tests that pass to itself.
    let say = |text: &str| drop(writeln!(std::io::stderr(), "{text}"));
    let python = match python(Path::new(temporary).parent().expect("the target directory")) {
        Ok(python) => python,
        Err(why) => return say(&format!("SKIPPED, NOT RUN: files of pyarrow: {why}")),
    };
    let directory = tempfile::tempdir().expect("a directory can be made");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/pyarrow").join(script);
    let output =
        Command::new(python).arg("-B").arg(script).arg(program).arg(directory.path()).args(more).output();
    let output = output.expect("Python runs");
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
    say(String::from_utf8_lossy(&text).trim_end());
}
