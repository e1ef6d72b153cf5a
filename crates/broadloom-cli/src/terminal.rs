//! The destinations of output: messages go to standard error, data to standard output.

use crate::failure::Failure;
use broadloom_ir::diagnostics::{Style, Text};
use broadloom_text::TextPlaces;
use clap::{Args, ValueEnum};
use std::cell::OnceCell;
use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

/// How messages are printed, for every command.
#[derive(Debug, Args)]
pub struct MessageArgs {
    /// When to colour messages; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
    /// Suppress warnings
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Print each step
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// The two output streams, as the user configured them.
#[derive(Debug)]
pub struct Terminal {
    is_colored: bool,
    is_quiet: bool,
    is_verbose: bool,
    /// The program that messages point into. It is stored here, so that no command can forget it.
    places: OnceCell<TextPlaces>,
}

impl Terminal {
    pub fn new(args: &MessageArgs) -> Terminal {
        let is_colored = match args.color {
            Color::Always => true,
            Color::Never => false,
            // By no-color.org: present and not empty.
            Color::Auto => {
                std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && io::stderr().is_terminal()
            }
        };
        Terminal { is_colored, is_quiet: args.quiet, is_verbose: args.verbose, places: OnceCell::new() }
    }

    /// Makes runtime errors point into this program from now on.
    pub fn speak_of(&self, places: TextPlaces) {
        // A command runs one program.
        let _ = self.places.set(places);
    }

    /// Returns the program that messages point into.
    pub fn places(&self) -> Option<&TextPlaces> {
        self.places.get()
    }

    /// Reports why a command ended early, and returns its exit code.
    pub fn fail(&self, failure: &Failure) -> ExitCode {
        if let Some(text) = failure.text(self.is_colored, self.places.get()) {
            self.message(&text);
        }
        failure.exit_code()
    }

    /// Prints a warning.
    pub fn warn(&self, headline: impl Into<String>, help: Option<&str>) {
        if !self.is_quiet {
            let mut text = Text::message(Style::Warning, "warning".to_owned(), headline.into());
            if let Some(help) = help {
                text.help(help, None);
            }
            self.warn_of(text);
        }
    }

    /// Prints the text of a warning.
    pub fn warn_of(&self, text: Text) {
        if !self.is_quiet {
            self.message(&if self.is_colored { text.colored().to_string() } else { text.to_string() });
        }
    }

    /// Prints a step, if the user wants to see steps.
    pub fn note(&self, what: impl FnOnce() -> String) {
        if self.is_verbose {
            self.message(&what());
        }
    }

    /// Whether to show progress.
    pub fn shows_progress(&self) -> bool {
        !self.is_quiet && io::stderr().is_terminal()
    }

    /// Whether standard output is a terminal.
    pub fn is_watched(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Prints a requested message.
    pub fn message(&self, text: &str) {
        // There is nowhere left to report a failure.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Writes data to standard output.
    ///
    /// # Errors
    /// Returns an error if it cannot be written; a silent one, with exit code 0, if the reader is gone.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let mut out = BufWriter::new(io::stdout().lock());
        match write(&mut out).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) => {
                // Flush here: dropping the buffer would ignore errors.
                drop(out.into_parts());
                match error.kind() {
                    ErrorKind::BrokenPipe => Err(Failure::closed()),
                    _ => Err(Failure::data(format!("standard output cannot be written: {error}"))
                        .help("write to a file with --output")),
                }
            }
        }
    }

    /// Writes text to standard output.
    ///
    /// # Errors
    /// Returns the errors of [`Terminal::write`].
    pub fn print(&self, text: impl Display) -> Result<(), Failure> {
        self.write(|out| write!(out, "{text}"))
    }
}
