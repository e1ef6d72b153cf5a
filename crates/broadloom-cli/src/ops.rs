//! The reference of operations.

use crate::args::OpsArgs;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// `broadloom ops`.
///
/// # Errors
/// Always: it is not written yet.
pub fn run(_: &OpsArgs, _: &Terminal) -> Result<(), Failure> {
    Err(Failure::usage("`broadloom ops` is not there yet"))
}
