//! Broadloom in Apache DataFusion: tensor expressions as functions of SQL and of the DataFrame API.
//!
//! ```
//! use datafusion::prelude::*;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! let mut context = SessionContext::new();
//! broadloom_datafusion::register(&mut context)?;
//! let table = context.sql("SELECT * FROM (VALUES (3.0, 4.0), (5.0, 12.0)) AS t(x, y)").await?;
//! context.register_table("points", table.into_view())?;
//!
//! let lengths = context.sql("SELECT broadloom('sqrt(x*x + y*y)', x, y) AS r FROM points").await?;
//! let far = context.sql("SELECT broadloom_agg('max(hypot(x, y))', x, y) AS far FROM points").await?;
//! # let r = lengths.collect().await?;
//! # assert_eq!(r[0].column(0).len(), 2);
//! # let far = far.collect().await?;
//! # let far = datafusion::common::ScalarValue::try_from_array(far[0].column(0), 0)?;
//! # assert_eq!(far, datafusion::common::ScalarValue::Float64(Some(13.0)));
//! # Ok(())
//! # }
//! ```
//!
//! * [`register`] adds `broadloom(expression, columns..)` and `broadloom_agg(expression, columns..)` to SQL.
//! * [`broadloom()`] and [`TensorAggregate::expression`] are the same for the DataFrame API.
//! * [`TensorFunction`] and [`TensorAggregate`] are programs under a name of their own, with constant arrays; several
//!   outputs are a struct.
//!
//! # Columns and names
//!
//! A column of numbers is `[n]`, a fixed-size list of `d` numbers `[n, d]`, as in [`broadloom_arrow`]. Axis 0 counts the
//! rows, so `sum(v, axis=1)` adds the elements of each list. Other lists, such as those of `make_array(a, b)`, are
//! `[n, k]`: their rows have one length in each batch, and other batches may have another. Results with this size are lists
//! again.
//!
//! If the columns of a call have exactly the names in the expression, each stands for its name; otherwise they stand for the
//! names in the order of their first use. A call with some of the names, in other places, is refused.
//!
//! # Dtypes
//!
//! The columns of an expression are promoted as in NumPy. A column of a program is converted to the dtype of its input if
//! that is NumPy's promotion of both, so that it has every value of the column (except for 64-bit integers in `f64`, which
//! SQL converts too); any other column is a planning error, with the cast to write.
//!
//! # When what happens
//!
//! Expressions are parsed and their shapes are checked while a query is planned: mistakes are planning errors that point
//! into the expression. They are compiled on the first batch, once per process for each expression and types of columns,
//! and run on the engine's own threads. Totals of numbers take one run for each batch, however many groups there are; other
//! aggregates take one for each group in a batch. The 1,024 most recently used plans are kept, with at most 64 MiB of code and
//! constants.
//!
//! # Other processes
//!
//! [`wire`] writes functions as bytes, for plans that travel to a cluster.
//!
//! # Nulls
//!
//! A result is null where a column is null. An aggregate leaves out rows with a null in any column, and is null
//! without rows.
//!
//! # Bounds
//!
//! [`Bounds::apply`] around the poll of an operator ends its kernels by a flag or a deadline, and limits what they ask for.
//!
//! # Explanations
//!
//! [`Kernels`] are the calls in a plan, as texts: expressions, shapes, and the kernels made of them. A [`Meter`] around the poll of
//! an operator counts their rows and times.
//!
//! # Windows
//!
//! Aggregates are also window functions: `broadloom_agg('std(x)', x) OVER (ORDER BY t ROWS 9 PRECEDING)`. A frame that only
//! grows adds the rows that enter to its partial results. A frame that slides is computed anew for each row, which takes as
//! long as its rows.
#![forbid(unsafe_code)]

mod aggregate;
mod definition;
mod explain;
mod groups;
mod meter;
mod names;
mod plan;
mod rows;
mod scalar;
mod window;
pub mod wire;

pub use aggregate::TensorAggregate;
pub use broadloom_arrow::Bounds;
pub use definition::Argument;
pub use explain::Kernels;
pub use meter::Meter;
pub use scalar::{Broadloom, TensorFunction, broadloom};

use datafusion_common::Result;
use datafusion_expr::registry::FunctionRegistry;
use datafusion_expr::{AggregateUDF, ScalarUDF};
use std::sync::Arc;

/// Adds `broadloom` and `broadloom_agg` to a session.
///
/// # Errors
/// Returns an error if the registry takes no functions.
pub fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    registry.register_udf(Arc::new(ScalarUDF::from(Broadloom::default())))?;
    registry.register_udaf(Arc::new(AggregateUDF::from(aggregate::BroadloomAgg::default())))?;
    registry.register_expr_planner(Arc::new(aggregate::Planner))
}

/// Runs the examples of the page for registries.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
