//! The command line: `--option VALUE`, `--option=VALUE` or `--flag`, each of which may be shortened while it is the only
//! one that begins so.

use super::Error;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

/// An example and its options, beside `--output` and `--help`, which all have.
pub struct Command {
    pub name: &'static str,
    /// Its purpose, in one sentence.
    pub about: &'static str,
    pub options: &'static [Choice],
    /// The purpose of `--output`.
    pub output: &'static str,
}

/// An option: its name, what its value is called (nothing for a flag), and what it is for.
#[derive(Clone, Copy)]
pub struct Choice(pub &'static str, pub &'static str, pub &'static str);

/// The options that were given.
pub struct Given {
    values: Vec<(&'static str, OsString)>,
    output: PathBuf,
}

impl Command {
    /// Runs an example with its arguments. A mistake is printed in one line, with exit code 2.
    #[allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to whoever runs it")]
    pub fn run(&self, action: impl FnOnce(&Given) -> Result<(), Error>) -> ExitCode {
        let result = match self.parse(std::env::args_os().skip(1)) {
            Ok(Some(given)) => action(&given),
            Ok(None) => {
                println!("{}", self.usage());
                Ok(())
            }
            Err(error) => Err(error.into()),
        };
        match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{}: {error}", self.name);
                ExitCode::from(2)
            }
        }
    }

    /// The options, or nothing if help is asked for.
    fn parse(&self, arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Given>, String> {
        let output = Path::new("target").join(self.name);
        let mut given = Given { values: Vec::new(), output };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (written, attached) = split(&argument);
            let unknown = || format!("unknown argument {argument:?}; --help lists the options");
            let Choice(name, value, _) = self.find(&written).ok_or_else(unknown)?;
            let text = match (value.is_empty(), attached) {
                (true, None) => OsString::new(),
                (true, Some(_)) => return Err(format!("{name} takes no value")),
                (false, attached) => attached
                    .or_else(|| arguments.next())
                    .filter(|text| !text.is_empty())
                    .ok_or_else(|| format!("{name} needs a value"))?,
            };
            match name {
                "--help" => return Ok(None),
                "--output" => given.output = text.into(),
                _ => given.values.push((name, text)),
            }
        }
        Ok(Some(given))
    }

    fn all(&self) -> impl Iterator<Item = Choice> {
        self.options
            .iter()
            .copied()
            .chain([Choice("--output", "DIR", self.output), Choice("--help", "", "this text")])
    }

    /// The option of this name, or the only one that begins so.
    fn find(&self, written: &str) -> Option<Choice> {
        if written == "-h" {
            return self.find("--help");
        }
        let is_start = written.len() > 2;
        let mut found = self.all().filter(|choice| is_start && choice.0.starts_with(written));
        let (first, second) = (found.next(), found.next());
        if second.is_some() { self.all().find(|choice| choice.0 == written) } else { first }
    }

    fn usage(&self) -> String {
        let name = self.name;
        let mut text =
            format!("{}\n\nusage: cargo run --release --example {name} -- [OPTIONS]\n", self.about);
        for Choice(option, value, help) in self.all() {
            let option = format!("{option} {value}");
            // Writing to a string succeeds.
            let _ = write!(text, "\n  {option:15} {help}");
            if option.starts_with("--output") {
                let _ = write!(text, " [default: target/{name}]");
            }
        }
        text
    }
}

impl Given {
    /// Whether an option or a flag was given.
    pub fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// The path that was given; the last one counts.
    pub fn path(&self, name: &str) -> Option<&Path> {
        self.last(name).map(Path::new)
    }

    /// The text that was given, if one was.
    pub fn text(&self, name: &str) -> Result<Option<&str>, Error> {
        match self.last(name) {
            None => Ok(None),
            Some(value) => match value.to_str() {
                Some(text) => Ok(Some(text)),
                None => Err(format!("{name} needs a text, not {value:?}").into()),
            },
        }
    }

    /// A number of a range, or `default`.
    pub fn number<T: FromStr + PartialOrd + std::fmt::Display>(
        &self,
        name: &str,
        range: RangeInclusive<T>,
        default: T,
    ) -> Result<T, Error> {
        let Some(value) = self.last(name) else { return Ok(default) };
        match value.to_str().and_then(|text| text.parse::<T>().ok()) {
            Some(number) if range.contains(&number) => Ok(number),
            Some(_) => Err(format!("{name} must be from {} to {}", range.start(), range.end()).into()),
            None => Err(format!("{name} needs a number, not {value:?}").into()),
        }
    }

    /// Returns the folder to write to, and creates it if necessary.
    pub fn output(&self) -> Result<&Path, Error> {
        let path = &self.output;
        std::fs::create_dir_all(path)
            .map_err(|error| format!("cannot write to {}: {error}", path.display()))?;
        Ok(path)
    }

    fn last(&self, name: &str) -> Option<&OsStr> {
        let found = self.values.iter().rfind(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_os_str())
    }
}

/// `--option=value` in its two halves. A value need not be Unicode unless it is attached.
fn split(argument: &OsStr) -> (String, Option<OsString>) {
    match argument.to_str().and_then(|text| text.split_once('=')) {
        Some((option, value)) => (option.to_string(), Some(value.into())),
        None => (argument.to_string_lossy().into_owned(), None),
    }
}
