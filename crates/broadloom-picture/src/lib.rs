//! Pictures of graphs and of their kernels, and figures of broadcasting.
//!
//! ```text
//! Explanation ──drawing──▶ nodes, edges, kernels ──layers──▶ rows ──layout──▶ places ──▶ SVG
//!                                     └──────────────────────────────────────────────▶ DOT
//! ```
#![forbid(unsafe_code)]

mod broadcast;
mod dot;
mod drawing;
mod label;
mod layers;
mod layout;
mod svg;
mod text;

pub use broadcast::BroadcastFigures;

use broadloom::Explanation;
use drawing::Drawing;

/// Returns the picture as SVG: one file with its own background, in fonts that every system has.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = (2 * x).compile()?;
/// assert!(broadloom_picture::svg(&kernel.explain()).starts_with("<svg "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn svg(explanation: &Explanation) -> String {
    svg::svg(Drawing::new(explanation))
}

/// Returns the picture as a graph in DOT, which Graphviz lays out.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = (2 * x).compile()?;
/// assert!(broadloom_picture::dot(&kernel.explain()).starts_with("digraph"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn dot(explanation: &Explanation) -> String {
    dot::dot(&Drawing::new(explanation))
}
