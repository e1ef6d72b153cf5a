//! Rewrites graphs into graphs that compute the same bits and fail on the same data.
//!
//! ```text
//! CheckedGraph ──canonical──▶ one way to write it ──simplify──▶ less to compute
//! ```
//!
//! A rewritten graph has the inputs, outputs, symbols and conditions of its source. [`Rewritten`] maps the
//! expressions of one graph to those of the other, so that statements about the new graph can be made about the
//! graph that the user wrote.

mod canonical;
mod rewrite;
mod selections;
mod simplify;

use crate::graph::CheckedGraph;
pub use canonical::canonical;
pub use rewrite::{Rewriter, Rewritten, Sources};
pub use selections::pull_up_selections;
pub use simplify::{RULES, Rule, simplify};

/// Returns the graph to compile for a graph: canonical and simplified.
pub fn prepare(graph: &CheckedGraph) -> Rewritten {
    canonical(graph).then(simplify)
}
