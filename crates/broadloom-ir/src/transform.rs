//! Graphs rewritten into graphs that compute the same bits and fail on the same data.
//!
//! ```text
//! CheckedGraph ──canonical──▶ one way to write it ──simplify──▶ less to compute
//! ```
//!
//! A rewritten graph has the inputs, outputs, symbols and demands of the one that it was made of, and
//! [`Rewritten`] knows which expressions belong together, so that what is said of the new graph can be said of the
//! one that the user wrote.

mod canonical;
mod rewrite;
mod simplify;

use crate::graph::CheckedGraph;
pub use canonical::canonical;
pub use rewrite::{Rewriter, Rewritten};
pub use simplify::{RULES, Rule, simplify};

/// The graph that is compiled for a graph: canonical and simplified.
pub fn prepare(graph: &CheckedGraph) -> Rewritten {
    canonical(graph).then(simplify)
}
