//! Arrays of Zarr stores, in a program that is built without the feature `zarr`.

use super::source::Source;
use crate::failure::Failure;
use std::path::Path;

/// # Errors
/// Returns an error always.
pub fn open(_: &str, path: &Path) -> Result<Box<dyn Source>, Failure> {
    Err(Failure::data(format!("{} is a folder: this program was built without Zarr", path.display()))
        .help("give a file in it; in a shell, FOLDER/*.npz gives several")
        .help_code(
            "for arrays of Zarr, build it with them:",
            "cargo install --path crates/broadloom-cli --features zarr",
        ))
}

pub fn keys(_: &Path) -> Vec<String> {
    Vec::new()
}

pub fn nearest(_: &Path) -> Option<String> {
    None
}
