//! Times of programs.

use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// `broadloom bench`.
///
/// # Errors
/// Always: it is not written yet.
pub fn run(_: &BenchArgs, _: &Terminal) -> Result<(), Failure> {
    Err(Failure::usage("`broadloom bench` is not there yet"))
}
