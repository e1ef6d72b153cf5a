//! Pictures of graphs.

use crate::args::GraphArgs;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// `broadloom graph`.
///
/// # Errors
/// Always: it is not written yet.
pub fn run(_: &GraphArgs, _: &Terminal) -> Result<(), Failure> {
    Err(Failure::usage("`broadloom graph` is not there yet"))
}
