//! What can go wrong, as one type: its text, plain or in colours, and its exit code.

mod call;

use broadloom::{BindError, CallError, CompileError, Diagnostics, RunError};
use broadloom_ir::diagnostics::{Style, Text};
use broadloom_text::Mistakes;
use std::fmt::{self, Display};
use std::process::ExitCode;

/// Why a command ended early.
#[derive(Debug)]
pub struct Failure(Box<Kind>);

#[derive(Debug)]
enum Kind {
    /// Whoever read standard output has enough.
    Closed,
    /// Of the command line.
    Usage(Message),
    /// Of files and data.
    Data(Message),
    /// Of the program, with what the command line has to do with it.
    Mistakes(Mistakes, Vec<Help>),
    Diagnostics(Diagnostics),
    Compile(CompileError),
    Bind(BindError),
    Run(RunError),
}

/// What to do, and what to write.
type Help = (String, Option<String>);

/// A sentence, and what to do.
#[derive(Debug)]
struct Message {
    what: String,
    helps: Vec<Help>,
}

impl Message {
    fn text(&self) -> Text {
        let mut text = Text::message(Style::Error, "error".to_owned(), self.what.clone());
        add(&mut text, &self.helps);
        text
    }
}

fn add(text: &mut Text, helps: &[Help]) {
    for (sentence, code) in helps {
        text.help(sentence, code.as_deref());
    }
}

impl Failure {
    /// Standard output is closed, which is no error: nobody wants to read more.
    pub fn closed() -> Failure {
        Failure(Box::new(Kind::Closed))
    }

    /// An error of files, of data or of running.
    pub fn data(what: impl Into<String>) -> Failure {
        Failure(Box::new(Kind::Data(Message { what: what.into(), helps: Vec::new() })))
    }

    /// An error of how the program was called.
    pub fn usage(what: impl Into<String>) -> Failure {
        Failure(Box::new(Kind::Usage(Message { what: what.into(), helps: Vec::new() })))
    }

    /// Adds a sentence on what to do.
    pub fn help(self, sentence: impl Into<String>) -> Failure {
        self.with_help(sentence.into(), None)
    }

    /// Adds a sentence on what to do, and what to write.
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
            Kind::Closed | Kind::Diagnostics(_) | Kind::Compile(_) | Kind::Bind(_) | Kind::Run(_) => {}
        }
        self
    }

    /// 0, 1 or 2.
    pub fn exit_code(&self) -> ExitCode {
        match &*self.0 {
            Kind::Closed => ExitCode::SUCCESS,
            Kind::Data(_) | Kind::Compile(_) | Kind::Bind(_) | Kind::Run(_) => ExitCode::from(1),
            Kind::Usage(_) | Kind::Mistakes(..) | Kind::Diagnostics(_) => ExitCode::from(2),
        }
    }

    /// The text for standard error, if there is something to say.
    pub fn text(&self, in_color: bool) -> Option<String> {
        let paint = |text: Text| if in_color { text.colored().to_string() } else { text.to_string() };
        Some(match &*self.0 {
            Kind::Closed => return None,
            Kind::Usage(message) | Kind::Data(message) => paint(message.text()),
            Kind::Mistakes(mistakes, helps) => {
                let mut text = Text::default();
                add(&mut text, helps);
                format!("{mistakes:#}{}", paint(text))
            }
            Kind::Diagnostics(diagnostics) => either(diagnostics.colored(), diagnostics, in_color),
            Kind::Compile(error) => paint(Text::message(Style::Error, "error".to_owned(), error.to_string())),
            Kind::Bind(error) => paint(call::bind(error)),
            Kind::Run(error) => paint(call::run(error)),
        })
    }
}

fn either(colored: impl Display, plain: impl Display, in_color: bool) -> String {
    if in_color { colored.to_string() } else { format!("{plain:#}") }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false).unwrap_or_default())
    }
}

impl From<Mistakes> for Failure {
    fn from(mistakes: Mistakes) -> Self {
        Failure(Box::new(Kind::Mistakes(mistakes, Vec::new())))
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

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        Failure(Box::new(Kind::Bind(error)))
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Failure(Box::new(Kind::Run(error)))
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Bind(error) => error.into(),
            CallError::Run(error) => error.into(),
        }
    }
}
