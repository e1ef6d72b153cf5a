//! The program as people call it: the real binary in temporary folders.

#[cfg(feature = "arrow")]
mod categories;
mod cells;
#[cfg(feature = "arrow")]
mod columns;
mod errors;
mod files;
mod inputs;
mod outputs;
#[path = "../support/pictures.rs"]
mod pictures;
mod pipes;
mod strangers;
mod tables;
#[cfg(feature = "zarr")]
mod zarr;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder in which commands run.
struct Folder(TempDir);

/// What a command did.
struct Done {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap()
    }

    /// Names of the files, in order.
    fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom"));
        command.args(args).current_dir(self.path()).env_remove("NO_COLOR").stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Done {
        done(self.command(args).output().unwrap())
    }

    /// Standard output of a command that succeeds and says nothing.
    fn output(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{args:?}\n{}", done.stderr);
        done.stdout
    }

    /// What `check` prints of a program's results, without how the columns of tables are read.
    fn signature(&self, args: &[&str]) -> String {
        let printed = self.output(&[&["check"], args].concat());
        printed.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect()
    }
}

fn done(Output { status, stdout, stderr }: Output) -> Done {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Runs `eval` with arguments that are refused, and returns the message.
fn refused(folder: &Folder, args: &[&str]) -> String {
    let done = folder.run(&[&["eval"], args].concat());
    assert!(matches!(done.code, Some(1 | 2)), "{args:?}: {}{}", done.stdout, done.stderr);
    assert_eq!(done.stdout, "", "{args:?}");
    done.stderr
}

/// Checks that a message has some parts.
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part}\n{message}");
    }
}

/// A .npy by its definition.
fn npy(descr: &str, is_fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if is_fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
    text.push_str(&" ".repeat(117 - text.len()));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.into_bytes());
    bytes.extend(data);
    bytes
}

fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn check_prints_signatures() {
    let folder = Folder::new();
    let args = ["check", "y = x[:, None] + w; z = x.sum()", "x:f32[n]", "w:f64[3]"];
    assert_eq!(folder.output(&args), "y: f64[n, 3]\nz: f32[]\n");
    let with_inputs = folder.output(&[&args[..], &["--inputs"]].concat());
    assert_eq!(with_inputs, "x: f32[n]\nw: f64[3]\ny: f64[n, 3]\nz: f32[]\n");
    let printed = folder.output(&[&args[..], &["--print"]].concat());
    folder.write("program.bl", &printed);
    assert_eq!(folder.output(&["check", "-f", "program.bl"]), "y: f64[n, 3]\nz: f32[]\n");
    folder.write("x.npy", npy("'<f4'", false, "(5,)", &f32s(&[0.0; 5])));
    assert_eq!(folder.output(&["check", "x * 2", "x=x.npy"]), "result: f32[5]\n");
}

#[test]
fn check_reads_standard_input() {
    let folder = Folder::new();
    folder.write("program.bl", "input x: i32[n]\ny = x.sum()\n");
    let mut command = folder.command(&["check", "-f", "-"]);
    let program = std::fs::File::open(folder.path().join("program.bl")).unwrap();
    let done = done(command.stdin(program).output().unwrap());
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "y: i64[]\n"), "{}", done.stderr);
}

#[test]
fn explain_shows_loops_and_code() {
    let folder = Folder::new();
    let args = ["explain", "x * 2 + y", "x:f32[n]", "y:f32[n]"];
    let loops = folder.output(&args);
    assert!(loops.contains("stored between kernels: 0 bytes"), "{loops}");
    let clif = folder.output(&[&args[..], &["--clif"]].concat());
    assert!(clif.contains("function") && !clif.contains("stored between"), "{clif}");
    assert!(folder.output(&[&args[..], &["--asm"]].concat()).contains("ret"));
}

#[test]
fn ops_by_any_name() {
    let folder = Folder::new();
    let list = folder.output(&["ops"]);
    assert!(list.contains("\n  exp ") && list.contains("\n  argmin ") && list.contains("linspace"), "{list}");
    let own = folder.output(&["ops", "asin"]);
    assert!(own.starts_with("asin: ") && own.contains("arcsin") && own.contains("ulp"), "{own}");
    assert_eq!(folder.output(&["ops", "np.arcsin"]), own);
    let unknown = folder.run(&["ops", "arcsine"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
}

/// `ops NAME` has usage, shapes, dtypes and an example of each function, and the examples are what they say.
#[test]
fn every_function_is_explained() {
    let folder = Folder::new();
    let list = folder.output(&["ops"]);
    let mut examples = 0;
    for name in broadloom_text::functions() {
        let text = folder.output(&["ops", name]);
        assert!(text.starts_with(&format!("{name}: ")) && list.contains(&format!("\n  {name} ")), "{text}");
        for head in ["usage", "shapes", "dtypes", "example"] {
            // Products that are given in other ways have the dtypes of their meaning.
            let is_special = head == "dtypes" && matches!(name, "tensordot" | "einsum" | "kron");
            assert!(is_special || text.contains(&format!("\n  {head} ")), "{head} of {name}\n{text}");
        }
        if let Some(explanation) = broadloom_text::explanation(name) {
            examples += 1;
            let printed = folder.output(&["eval", explanation.example]);
            assert_eq!(printed.trim_end(), explanation.value, "{}", explanation.example);
        }
    }
    assert!(examples > 30, "{examples}");
    for (name, expected) in
        [("fillna", "where(isnan(x)"), ("rand", "random numbers"), ("sofmax", "`softmax`")]
    {
        let unknown = folder.run(&["ops", name]);
        assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
        assert!(unknown.stderr.contains(expected), "{}", unknown.stderr);
    }
}

#[test]
fn help_on_commands_and_on_the_language() {
    let folder = Folder::new();
    let language = folder.output(&["help", "language"]);
    assert!(language.contains("## Statements") && language.contains("`assume n >= 1"), "{language}");
    assert_eq!(folder.output(&["help", "eval"]), folder.output(&["eval", "--help"]));
    assert!(folder.output(&["help"]).contains("bench"));
    let unknown = folder.run(&["help", "me"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("`language`"), "{}", unknown.stderr);
}

#[test]
fn completions_name_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.output(&["completions", shell]);
        assert!(
            ["eval", "explain", "--threads"].iter().all(|word| script.contains(word.trim_start_matches('-')))
        );
    }
}

#[test]
fn man_pages_name_the_options() {
    let folder = Folder::new();
    assert_eq!(folder.output(&["man", "share/man1"]), "");
    let page = |name: &str| String::from_utf8(folder.read(&format!("share/man1/{name}.1"))).unwrap();
    assert!(page("broadloom").contains("broadloom\\-eval(1)"), "{}", page("broadloom"));
    assert!(page("broadloom-eval").contains("threads"), "{}", page("broadloom-eval"));
    // Each example keeps its line.
    let examples = page("broadloom-ops");
    assert!(examples.contains("\n  broadloom ops\n"), "{examples}");
    folder.write("file", "");
    let done = folder.run(&["man", "file"]);
    assert!(done.code == Some(1) && done.stderr.contains("cannot be written"), "{}", done.stderr);
}

#[test]
fn every_command_has_a_help() {
    let folder = Folder::new();
    for command in ["eval", "check", "explain", "graph", "bench", "ops", "help", "completions", "man"] {
        assert!(folder.output(&[command, "--help"]).contains("Usage: broadloom"), "{command}");
    }
}

/// Who reads only the beginning is no error.
#[cfg(unix)]
#[test]
fn a_broken_pipe_ends_quietly() {
    let folder = Folder::new();
    folder.write("x.csv", "1\n".repeat(100_000));
    for args in [&["ops"][..], &["completions", "bash"], &["check", "--print", "x", "x:f32[n]"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = done(folder.command(args).stdout(writer).output().unwrap());
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}
