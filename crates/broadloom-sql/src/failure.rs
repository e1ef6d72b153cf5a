//! What went wrong, as a user reads it.

use ballista_core::error::BallistaError;
use datafusion::common::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
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
    /// Takes the error of a server, which configurations and networks cause.
    pub(crate) fn of_server(error: BallistaError) -> Failure {
        Failure(match error {
            BallistaError::Configuration(text) => DataFusionError::Plan(text),
            BallistaError::GrpcConnectionError(text) | BallistaError::General(text) => {
                DataFusionError::Execution(text)
            }
            other => DataFusionError::Execution(other.to_string()),
        })
    }

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
            DataFusionError::SQL(error, _) => match error.as_ref() {
                ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
                    format!("in the query: {text}")
                }
                ParserError::RecursionLimitExceeded => "the query is nested too deeply".to_owned(),
            },
            other => other.strip_backtrace(),
        };
        match text.trim_start() {
            framed if framed.starts_with("error") => framed.to_owned(),
            plain => quoted(plain).unwrap_or_else(|| format!("error: {plain}")),
        }
    }
}

/// Returns a message of Broadloom inside of another one. Clusters report errors of tasks as Rust prints them for debugging.
fn quoted(text: &str) -> Option<String> {
    let start = text.find("\"error[")? + 1;
    let mut message = String::new();
    let mut chars = text[start..].chars();
    loop {
        match chars.next()? {
            '"' => return Some(message),
            '\\' => message.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            other => message.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_tasks_are_unpacked() {
        let message = "error[R001]: \"a\\b\"\n  --> expression:1:1";
        let task = DataFusionError::Execution(message.to_owned());
        let job = DataFusionError::Execution(format!("Job 1 failed: {task:?}"));
        assert_eq!(Failure(job).text(), message);
        assert_eq!(Failure(task).text(), message);
        let lost = DataFusionError::Execution("Job 1 failed: no executor".to_owned());
        assert_eq!(Failure(lost).text(), "error: Job 1 failed: no executor");
    }
}
