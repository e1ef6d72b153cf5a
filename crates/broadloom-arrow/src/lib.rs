//! Broadloom over Apache Arrow: columns with nulls are the tensors of expressions, in and out without copies.
//!
//! ```
//! use arrow_array::{ArrayRef, Float32Array, RecordBatch};
//! use broadloom::CompileOptions;
//! use broadloom_arrow::{RowGraph, RowKernel};
//! use std::sync::Arc;
//! let graph = broadloom_text::compile_expr("sqrt(x*x + y*y)", &["x: f32[n]", "y: f32[n]"])?;
//! let kernel = RowKernel::new(&RowGraph::new(&graph, "n")?, &CompileOptions::default())?;
//!
//! let x: ArrayRef = Arc::new(Float32Array::from(vec![Some(3.0), None]));
//! let y: ArrayRef = Arc::new(Float32Array::from(vec![4.0, 1.0]));
//! let lengths = kernel.run_batch(&RecordBatch::try_from_iter([("x", x), ("y", y)])?, &[])?;
//! let expected: ArrayRef = Arc::new(Float32Array::from(vec![Some(5.0), None]));
//! assert_eq!(lengths.column(0), &expected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Columns
//!
//! | Arrow | tensor | copied |
//! | --- | --- | --- |
//! | `Int8` to `Int64`, `UInt8` to `UInt64`, `Float16`, `Float32`, `Float64` | `[n]` of that dtype | never |
//! | `Boolean` | `bool[n]` | unpacked from bits, at most 65,536 rows at a time where rows do not mix; results are packed |
//! | `FixedSizeList<T, d>`, also nested | `[n, d]` | never |
//! | `List<T>`, `LargeList<T>`, also nested, with rows of one length | `[n, k]` | where null rows have another length |
//! | `arrow.fixed_shape_tensor` | `[n, ..shape]` | never |
//! | all others | refused, with the type to cast to | |
//!
//! Slices of arrays are columns like any other. Results are columns again: `[n, d]` is a fixed-size list, and rows with
//! more axes are `arrow.fixed_shape_tensor`.
//!
//! The length `k` of lists is that of all rows of a batch, and other batches may have another: it is a size that a graph infers
//! (`_`). A result with this size is a `List` again, so that its type is the same for all batches. Rows of several lengths in
//! a batch are an error ([`ColumnError::Ragged`]).
//!
//! # Nulls
//!
//! Validity stays outside the graph. Kernels never see a bitmap, so there is one kernel for columns with and without
//! nulls, and no branch for a row.
//!
//! * A row of a result is null where a column that this result depends on is null. A row of a list with a null
//!   element is a null row.
//! * If rows do not mix and no operation can fail on data, kernels compute all rows, null ones among them, and the result
//!   gets the bitwise `and` of the bitmaps. No row changes a bit of another.
//! * If an operation can fail (an index out of range, an integer to a negative power), or if rows mix, the rows without
//!   nulls are copied together first, and results are spread to their places afterwards. So a null row never raises an
//!   error, and reductions over rows skip it: `count`, `mean` and `var` count the rows that are there, as in SQL. A batch
//!   without nulls is not copied.
//! * In an [`Aggregate`] and in a [`Grouping`], a row with a null in any column is left out, as in SQL's `corr(x, y)`. Without rows the result is
//!   null.
//!
//! # Bounds
//!
//! [`Bounds`] end runs and limit what they ask for, also where an engine stands between a caller and its kernels.
#![forbid(unsafe_code)]

mod aggregate;
mod bounds;
mod bytes;
mod cache;
mod centred;
mod column;
mod error;
mod graph;
mod grouping;
mod kernel;
mod lists;
mod types;

pub use aggregate::{Aggregate, State};
pub use bounds::Bounds;
pub use bytes::{array_from_bytes, write_array};
pub use cache::Cache;
pub use column::{Column, column_of_array};
pub use error::ColumnError;
pub use graph::{Mixing, RowGraph};
pub use grouping::{GroupStates, Grouping};
pub use kernel::RowKernel;
pub use types::ColumnType;

/// Runs the examples of the page for registries.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
