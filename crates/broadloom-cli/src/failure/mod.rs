//! All errors of the program as one type: the text, plain or in colours, and the exit code.

mod advice;

use broadloom::{BindError, CallError, ChunkError, CompileError, Diagnostics, RunError};
use broadloom_ir::diagnostics::{Style, Text};
use broadloom_text::{Mistakes, NameOf, Problem, TextPlaces};
use std::fmt;
use std::process::ExitCode;

/// Where the names of all functions stand.
pub const LIST: &str = "`broadloom ops` lists all functions";

/// The reason why a command ended early.
#[derive(Debug)]
pub struct Failure(Box<Kind>);

#[derive(Debug)]
enum Kind {
    /// The reader of standard output is gone.
    Closed,
    /// An error in the command line.
    Usage(Message),
    /// An error in files or data.
    Data(Message),
    /// Mistakes in the program, with advice about the command line.
    Mistakes(Mistakes, Vec<Help>),
    Diagnostics(Diagnostics),
    /// The program cannot be compiled.
    Compile(CompileError),
    /// An error while a kernel is called, with its place in the program.
    Call(ChunkError),
}

/// The advice for internal errors.
const REPORT: &str = "this is a limitation of Broadloom: please report it with the program";

/// Advice, with something to type.
type Help = (String, Option<String>);

/// A sentence with advice.
#[derive(Debug)]
struct Message {
    what: String,
    helps: Vec<Help>,
}

impl Message {
    fn text(&self) -> Text {
        let mut text = Text::message(Style::Error, "error".to_owned(), one_line(&self.what));
        add(&mut text, &self.helps);
        text
    }
}

fn add(text: &mut Text, helps: &[Help]) {
    for (sentence, code) in helps {
        text.help(&one_line(sentence), code.as_deref().map(one_line).as_deref());
    }
}

/// A message in which names of files and columns are escaped, so that they cannot imitate messages.
fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

impl Failure {
    /// Standard output is closed. That is not an error: the reader has read enough.
    pub fn closed() -> Failure {
        Failure(Box::new(Kind::Closed))
    }

    /// Whether the reader of standard output is gone.
    pub fn is_closed(&self) -> bool {
        matches!(*self.0, Kind::Closed)
    }

    /// An error in files or data, or at run time.
    pub fn data(what: impl Into<String>) -> Failure {
        Failure(Box::new(Kind::Data(Message { what: what.into(), helps: Vec::new() })))
    }

    /// An error in the command line.
    pub fn usage(what: impl Into<String>) -> Failure {
        Failure(Box::new(Kind::Usage(Message { what: what.into(), helps: Vec::new() })))
    }

    /// Adds advice in words.
    pub fn help(self, sentence: impl Into<String>) -> Failure {
        self.with_help(sentence.into(), None)
    }

    /// Adds advice with something to type.
    pub fn help_code(self, sentence: impl Into<String>, code: impl Into<String>) -> Failure {
        self.with_help(sentence.into(), Some(code.into()))
    }

    fn with_help(mut self, sentence: String, code: Option<String>) -> Failure {
        match &mut *self.0 {
            Kind::Usage(Message { helps, .. })
            | Kind::Data(Message { helps, .. })
            | Kind::Mistakes(_, helps) => {
                helps.push((sentence, code));
            }
            Kind::Closed | Kind::Diagnostics(_) | Kind::Compile(_) | Kind::Call(_) => {}
        }
        self
    }

    /// The mistakes in the program, if they are the reason.
    pub fn mistakes(&self) -> Option<&Mistakes> {
        match &*self.0 {
            Kind::Mistakes(mistakes, _) => Some(mistakes),
            _ => None,
        }
    }

    /// 0, 1 or 2.
    pub fn exit_code(&self) -> ExitCode {
        match &*self.0 {
            Kind::Closed => ExitCode::SUCCESS,
            Kind::Call(ChunkError::Refused { .. }) => ExitCode::from(2),
            Kind::Data(_) | Kind::Compile(_) | Kind::Call(_) => ExitCode::from(1),
            Kind::Usage(_) | Kind::Mistakes(..) | Kind::Diagnostics(_) => ExitCode::from(2),
        }
    }

    /// The text for standard error, if there is one. Places refer to the running program.
    pub fn text(&self, in_color: bool, places: Option<&TextPlaces>) -> Option<String> {
        let text = match &*self.0 {
            Kind::Closed => return None,
            Kind::Usage(message) | Kind::Data(message) => message.text(),
            Kind::Mistakes(mistakes, helps) => {
                let mut text = mistakes.text();
                add(&mut text, helps);
                text
            }
            Kind::Diagnostics(diagnostics) => {
                return Some(match in_color {
                    true => diagnostics.colored().to_string(),
                    false => format!("{diagnostics:#}"),
                });
            }
            Kind::Compile(error) => {
                let mut text = Text::message(Style::Error, "error".to_owned(), error.to_string());
                text.help(REPORT, None);
                text
            }
            Kind::Call(error) => {
                let mut text = match places {
                    Some(places) => error.display_at(places),
                    None => {
                        Text::message(Style::Error, format!("error[{}]", error.code()), error.to_string())
                    }
                };
                add(&mut text, &advice::chunk(error));
                text
            }
        };
        Some(if in_color { text.colored().to_string() } else { text.to_string() })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false, None).unwrap_or_default())
    }
}

impl From<Mistakes> for Failure {
    fn from(mistakes: Mistakes) -> Self {
        let says_nothing = |problem: &Problem| matches!(problem, Problem::Unknown { of: NameOf::Function | NameOf::Method, name } if broadloom_text::instead(name).is_none());
        let is_lost = mistakes.as_slice().iter().any(|mistake| says_nothing(&mistake.problem));
        let failure = Failure(Box::new(Kind::Mistakes(mistakes, Vec::new())));
        if is_lost { failure.help(LIST) } else { failure }
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Failure(Box::new(Kind::Diagnostics(diagnostics)))
    }
}

impl From<CompileError> for Failure {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Graph(diagnostics) => diagnostics.into(),
            error => Failure(Box::new(Kind::Compile(error))),
        }
    }
}

impl From<ChunkError> for Failure {
    fn from(error: ChunkError) -> Self {
        match error {
            ChunkError::Compile(error) => error.into(),
            error => Failure(Box::new(Kind::Call(error))),
        }
    }
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        ChunkError::from(error).into()
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        ChunkError::from(error).into()
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        ChunkError::from(error).into()
    }
}
