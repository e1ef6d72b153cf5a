//! The program that a command is about: an expression or a file, and what its inputs are.

use crate::failure::Failure;
use crate::terminal::Terminal;
use broadloom::CheckedGraph;
use broadloom_text::{Limits, Program};
use clap::Args;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A program and its inputs, for eval, check, explain, graph and bench.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// The expression, in NumPy's notation, or several as `name = expr; ...`; none with --file
    #[arg(value_name = "EXPR", required_unless_present = "file")]
    expression: Option<String>,
    /// Inputs: name=FILE, name=NUMBER, or without data name:f32[n, 3]
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,
    /// Read the program from a file; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// A program's text and what it is called in messages.
#[derive(Debug)]
pub struct Text {
    pub name: String,
    pub text: String,
}

impl ProgramArgs {
    /// The inputs as they were written.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        // With a file, the first of the words is no expression.
        let first = self.expression.as_ref().filter(|_| self.file.is_some());
        first.into_iter().chain(&self.inputs).map(String::as_str)
    }

    /// The program's text.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn text(&self) -> Result<Text, Failure> {
        match &self.file {
            Some(file) => read(file),
            None => {
                let text = self.expression.clone().unwrap_or_default();
                Ok(Text { name: "expression".to_owned(), text })
            }
        }
    }
}

fn read(path: &Path) -> Result<Text, Failure> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let mut text = String::new();
    // One byte more than is accepted, so that the parser says that it is too long.
    let most = Limits::default().length as u64 + 1;
    let result = if is_stdin {
        std::io::stdin().lock().take(most).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_string(&mut text))
    };
    match result {
        Ok(_) => Ok(Text { name, text }),
        Err(error) => Err(Failure::usage(format!("the program {name} cannot be read: {error}"))
            .help("pass a text file in UTF-8, or the expression itself without --file")),
    }
}

/// The graph of a program whose inputs are declared, by itself or by `name:f32[n]`.
///
/// # Errors
/// Every mistake in the program.
pub fn checked(args: &ProgramArgs, _: &Terminal) -> Result<CheckedGraph, Failure> {
    let Text { name, text } = args.text()?;
    let declarations: String = args.inputs().map(|input| format!("input {input}\n")).collect();
    Ok(Program::parse(&name, &format!("{declarations}{text}"))?.resolve()?)
}
