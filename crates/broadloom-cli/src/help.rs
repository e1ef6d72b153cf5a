//! Help on commands and on the language.

use crate::args::{Cli, HelpArgs};
use crate::failure::Failure;
use crate::terminal::Terminal;
use clap::CommandFactory;

/// Generated and compared with the source by the workspace's tests.
const LANGUAGE: &str = include_str!("../pages/language.md");

/// `broadloom help`.
///
/// # Errors
/// Returns an error if the topic does not exist.
pub fn run(args: &HelpArgs, terminal: &Terminal) -> Result<(), Failure> {
    let mut cli = Cli::command();
    // The names of commands below the program's, as their own `--help` has them.
    cli.build();
    match args.topic.as_deref() {
        None => terminal.print(cli.render_help()),
        Some("language") => terminal.print(LANGUAGE),
        Some(topic) => match cli.find_subcommand_mut(topic) {
            Some(command) => terminal.print(command.render_help()),
            None => Err(Failure::usage(format!("there is no help topic {topic:?}"))
                .help("the topics are `language` and the commands that `broadloom help` lists")),
        },
    }
}
