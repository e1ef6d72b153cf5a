//! Binding: checks arrays and turns them into safe pointers.
//!
//! ```text
//! Inputs ──match names──▶ arrays in order ──check by the rules──▶ values of symbols ──bind──▶ Binding ──▶ run
//! ```
//!
//! A [`Binding`] proves that the arrays have the dtypes, ranks and sizes that the graph requires, that the graph's
//! conditions on sizes hold, and that every position that kernels compute fits 64 bits. It depends only on sizes
//! and strides, so two are kept, and a call that repeats one skips all of this.

mod arena;
mod bands;
mod binding;
mod check;
mod destination;
mod error;
mod facts;
mod inputs;
mod message;
mod names;
mod outputs;
mod passed;
mod phases;
mod rules;
mod sizes;
mod stages;
mod threads;

pub(crate) use binding::{Base, Binding, BoundCode, BoundKernels, bind};
pub(crate) use destination::{Destination, Destinations, Key};
pub use error::{
    ArrayName, BindError, EmptyTable, GivenSize, MissedObligation, Role, SizeMismatch, Solved, SolvedFrom,
};
pub(crate) use facts::{ShortSizes, SmallResults};
pub use inputs::{Inputs, IntoInputs};
pub(crate) use inputs::{Ordered, given};
pub(crate) use message::did_you_mean;
pub(crate) use names::{SymbolNames, named_symbols, nearest, type_text};
pub(crate) use outputs::{BoundOutput, Fit, check_decided_output, check_known_outputs, check_output_type};
pub(crate) use passed::Passed;
pub(crate) use rules::SizeRules;
pub(crate) use sizes::{Given, Values, evaluate};
pub(crate) use stages::{
    BoundCarried, BoundLoop, BoundPart, BoundRows, BoundStage, BoundTimes, Place, Strips,
};
pub(crate) use threads::{Call, Division, Launch};
