//! Programs on files.

use crate::args::EvalArgs;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// `broadloom eval`.
///
/// # Errors
/// Always: it is not written yet.
pub fn run(_: &EvalArgs, _: &Terminal) -> Result<(), Failure> {
    Err(Failure::usage("`broadloom eval` is not there yet"))
}
