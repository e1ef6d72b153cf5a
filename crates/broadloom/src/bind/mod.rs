//! From arrays to safe pointers.
//!
//! ```text
//! Inputs ──match names──▶ arrays in order ──program──▶ values of symbols ──plan──▶ Binding ──▶ run
//! ```
//!
//! A [`Binding`](plan::Binding) is proof that the arrays have the dtypes, ranks and sizes that the graph wants, that
//! what the graph demands of sizes holds, and that every position that kernels compute fits 64 bits. It depends on
//! sizes and strides alone, so the last one is kept and an unchanged call skips all of this.

mod error;
pub(crate) mod facts;
mod inputs;
mod message;
mod names;
pub(crate) mod plan;
mod program;

pub use error::{
    ArrayName, BindError, EmptyTable, GivenSize, MissedObligation, Role, SizeMismatch, Solved, SolvedFrom,
};
pub use inputs::{Inputs, IntoInputs};
pub(crate) use inputs::{Ordered, given, order};
pub(crate) use names::{SymbolNames, nearest, type_text};
pub(crate) use program::{Given, Program, Values, evaluate};
