//! The meaning of Broadloom's programs: tensor expressions with symbolic shapes.
//!
//! ```text
//! Graph ──elementwise, reduce, views, ..──▶ ExprId          mistakes are recorded, their results poisoned
//!   └─────finish(outputs)──▶ CheckedGraph | Diagnostics     a CheckedGraph is proof: well typed, well shaped
//!                                 └──interpret──▶ arrays    the oracle of compiled code
//! ```
//!
//! Sizes are integer polynomials over symbols ([`dim::Dim`]). Only the literal constant 1 stretches. A symbol never
//! does, even if its value is 1 at run time, so every decision about shapes is made once, for all sizes. This crate
//! does not depend on Cranelift, and uses neither pointers nor threads.
#![forbid(unsafe_code)]

pub mod chunks;
pub mod diagnostics;
pub mod dim;
pub mod dtype;
pub mod graph;
mod ids;
mod integer;
pub mod interp;
mod literal;
pub mod ops;
pub mod part;
pub mod partial;
pub mod phases;
mod problem;
pub mod reduce;
pub mod shape;
mod site;
pub mod stages;
pub mod transform;

pub use ids::{ExprId, InputId, LoopId, SymbolId};
