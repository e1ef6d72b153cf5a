//! Pictures of graphs and of their kernels, figures of broadcasting, and pages that explain kernels.
//!
//! ```text
//! Explanation ──drawing──▶ nodes, edges, kernels ──layers──▶ rows ──layout──▶ places ──▶ SVG
//!                                     └──────────────────────────────────────────────▶ DOT
//! Explanation, Listing, SVG ──page──▶ HTML
//! ```
#![forbid(unsafe_code)]

mod broadcast;
mod dot;
mod drawing;
mod label;
mod layers;
mod layout;
mod page;
mod svg;
mod text;

pub use broadcast::BroadcastFigures;

pub use page::ProgramText;

use broadloom::{CompileError, Explanation};
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

/// Returns a page in HTML that shows the program, its loops and its machine code side by side, and links the lines that belong
/// together. It needs no other file, and is readable as text without its script. Without the text of a program, it shows the
/// expressions of the graph only.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = (2 * x).compile()?;
/// let page = broadloom_picture::html(&kernel.explain(), None)?;
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("multiply(2.0, %"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if compiling the kernels once more, to keep the text of their code, fails.
pub fn html(explanation: &Explanation, program: Option<&ProgramText>) -> Result<String, CompileError> {
    page::page(explanation, program)
}
