//! Arrays from files and to files.
//!
//! ```text
//! x=FILE ──Argument──▶ Files::open ──▶ Opened { name, Source } ──load──▶ Array ──▶ kernel
//! kernel ──▶ rows of results ──push──▶ Sink ──finish──▶ a temporary file ──▶ renamed when all are complete
//! ```
//!
//! A [`Source`](source::Source) knows its dtype and shape before its elements are read, and a [`Sink`](sink::Sink)
//! takes rows piece by piece, so neither depends on whether a program runs on whole arrays or in chunks.

mod archive;
pub mod argument;
#[cfg_attr(not(feature = "arrow"), path = "without_columns.rs")]
mod columns;
pub mod content;
pub mod destinations;
mod format;
pub mod inputs;
pub mod memory;
mod npy;
mod picture;
pub mod sink;
pub mod source;
pub mod table;
#[cfg(test)]
mod tests;
#[cfg_attr(not(feature = "zarr"), path = "without_zarr.rs")]
mod zarr;
