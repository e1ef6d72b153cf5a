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
            BallistaError::DataFusionError(error) => *error,
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
        if self.0.strip_backtrace().contains(NO_CODEC) {
            return format!("error: {MADE_HERE}");
        }
        if self.0.strip_backtrace().contains(NO_SUCH_CALL) {
            return format!("error: {NO_SCHEDULER}");
        }
        let text = match self.0.find_root() {
            DataFusionError::Internal(text) if text.contains(NOT_FINISHED) => NOT_WRITTEN.to_owned(),
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
            plain => match quoted(plain) {
                Some(message) if message.trim_start().starts_with("error[") => {
                    message.trim_start().to_owned()
                }
                Some(message) => format!("error: {message}"),
                None => format!("error: {plain}"),
            },
        }
    }
}

/// What a plan says that reads a table which cannot be sent.
const NO_CODEC: &str = "LogicalExtensionCodec is not provided";
const MADE_HERE: &str = "a table that a query makes, such as that of generate_series, cannot be sent to a cluster: write it to a \
                         file in one process first, with -o";

/// What a server says that has no such calls, as Rust prints it for debugging.
const NO_SUCH_CALL: &str = "Status { code: Unimplemented";
const NO_SCHEDULER: &str = "what answers at the address of --cluster is no scheduler, perhaps an executor: give the address that \
                            `broadloom-sql scheduler` prints";

/// What an engine says when it cannot close a file, without its reason.
const NOT_FINISHED: &str = "Error encountered while finalizing writes";
const NOT_WRITTEN: &str = "a file of COPY could not be written to its end, and a part of it may be left: look whether its disk is \
                           full";

/// Variants of errors whose text is for users, as Rust prints them for debugging.
const SHOWN: [&str; 7] = [
    "Plan(\"",
    "Execution(\"",
    "ResourcesExhausted(\"",
    "Internal(\"",
    "NotImplemented(\"",
    "message: \"",
    "\"error[",
];

/// Returns the message inside of another one: clusters report errors of tasks as Rust prints them for debugging.
fn quoted(text: &str) -> Option<String> {
    let starts = SHOWN.iter().filter_map(|shown| Some(text.find(shown)? + shown.find('"')? + 1));
    let start = starts.min()?;
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
        let shared =
            r#"Job 1 failed: DataFusionError(Shared(External(DataFusionError(Execution("a \"b\": c")))))"#;
        assert_eq!(Failure(DataFusionError::Execution(shared.to_owned())).text(), "error: a \"b\": c");
        let status = |text: &str| Failure(DataFusionError::Execution(text.to_owned())).text();
        assert_eq!(
            status(r#"Status { code: Internal, message: "no job \"a\"", source: None }"#),
            "error: no job \"a\""
        );
        assert!(status("Status { code: Unimplemented, metadata: {} }").contains("is no scheduler"));
        let full = format!("{NOT_FINISHED}! Partial results may have been written to ObjectStore!.");
        assert!(Failure(DataFusionError::Internal(full)).text().ends_with("is full"));
        let lost = DataFusionError::Execution("Job 1 failed: no executor".to_owned());
        assert_eq!(Failure(lost).text(), "error: Job 1 failed: no executor");
    }
}
