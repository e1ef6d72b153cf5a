//! SQL with Broadloom's tensor expressions, in one process and on a cluster: the library of the program `broadloom-sql`.
//!
//! One process computes with Apache DataFusion, a cluster with Apache Ballista; both call the functions of
//! [`broadloom_datafusion`]. A function travels inside the plan of a query ([`codec`]).
//!
//! ```no_run
//! use broadloom_sql::{Address, session};
//! # #[tokio::main]
//! # async fn main() -> datafusion::error::Result<()> {
//! let address: Address = "127.0.0.1:50050".parse()?;
//! let context = session::remote(&address)?;
//! session::add_table(&context, "points", "points.parquet").await?;
//! let table = context.sql("SELECT broadloom('sqrt(x*x + y*y)', x, y) AS r FROM points").await?;
//! table.show().await?;
//! # Ok(())
//! # }
//! ```
//!
//! * [`session`] makes sessions, in this process or on a cluster, and adds tables from files.
//! * [`server`] runs schedulers and executors, which touch the files of [`Folders`] only, and take a stated [`Memory`].
//! * [`Access`] is what opens the servers of a cluster: a token, and certificates.
//! * [`Query`] runs a query with progress, limits on silence, and a way to cancel it everywhere.
//! * [`Output`] writes results to Parquet, CSV and Arrow IPC.
#![forbid(unsafe_code)]

mod access;
mod address;
pub mod codec;
mod depth;
mod explained;
mod fence;
mod format;
mod memory;
mod output;
mod query;
mod received;
mod refused;
pub mod server;
pub mod session;
mod signal;
mod stage;
mod stop;

pub use access::{Access, Certificates};
pub use address::Address;
pub use depth::{check_statement, check_text};
pub use fence::Folders;
pub use format::Format;
pub use memory::Memory;
pub use output::Output;
pub use query::{Progress, Query};
pub use signal::interrupted;
pub use stage::STACK_BYTES;

/// The most bytes of a plan, or of a batch of results, in one message: plans carry the arrays that are bound to functions.
const MESSAGE_BYTES: usize = 256 << 20;
