//! The text language: one program for all suites but the fuzzer, which ends its process if a case hangs.

mod derive;
mod errors;
mod functions;
mod groups;
mod hostile;
mod indices;
mod lints;
mod loops;
mod numpy;
mod one_liners;
mod ops;
mod own;
mod precedence;
mod recurrences;
mod round_trip;
mod selected;
mod session;
mod several;
mod suites;
mod support;
mod texts;
mod values;
