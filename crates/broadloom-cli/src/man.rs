//! Man pages: one for the program and one for each command.

use crate::args::{Cli, ManArgs};
use crate::failure::Failure;
use clap::CommandFactory;

/// `broadloom man`.
///
/// # Errors
/// Returns an error if the folder cannot be written.
pub fn run(args: &ManArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| {
        Failure::data(format!("man pages cannot be written to {}: {error}", folder.display()))
    })
}
