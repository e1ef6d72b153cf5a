//! Expressions over columns: inside polars as a plugin, and over arrays of Arrow's C interface, such as DuckDB's.
//!
//! ```text
//! polars ──SeriesExport──▶ series ──┐                      ┌──▶ broadloom-arrow: nulls, rows, kernels
//!                                   ├──▶ definition, plan ─┤
//! pyarrow ────capsules───▶ arrow  ──┘                      └──▶ kept by definition and types
//! ```
//!
//! What null rows and lists mean is said in `broadloom-arrow` and nowhere else.

mod arrow;
mod definition;
mod plan;
mod series;

pub use arrow::{Columns, Passed};
