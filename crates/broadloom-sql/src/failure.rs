//! What went wrong, as a user reads it.

use datafusion::common::DataFusionError;
use std::process::ExitCode;

/// An error that ends the program.
#[derive(Debug)]
pub(crate) struct Failure(DataFusionError);

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Failure {
        Failure(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure(error.into())
    }
}

impl Failure {
    /// Returns 2 for mistakes in queries and usage, and 1 for all else.
    pub(crate) fn code(&self) -> ExitCode {
        match self.0.find_root() {
            DataFusionError::Plan(_) | DataFusionError::SQL(..) | DataFusionError::SchemaError(..) => {
                ExitCode::from(2)
            }
            _ => ExitCode::from(1),
        }
    }

    /// Returns the message. Those of Broadloom have their own layout, which starts with `error[`.
    pub(crate) fn text(&self) -> String {
        let text = match self.0.find_root() {
            DataFusionError::Plan(text) | DataFusionError::Execution(text) => text.clone(),
            other => other.strip_backtrace(),
        };
        match text.trim_start() {
            framed if framed.starts_with("error") => framed.to_owned(),
            plain => format!("error: {plain}"),
        }
    }
}
