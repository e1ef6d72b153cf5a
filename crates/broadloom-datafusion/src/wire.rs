//! Functions as bytes, for plans that travel to other processes: what the codecs of a plan call.
//!
//! The bytes hold a version, the expression or the printed program, and the arrays that are bound to it. A process that
//! reads them needs no registered function. Readers check everything and take any bytes: what is damaged, or was written
//! by another version, is an error.
//!
//! ```
//! use broadloom_datafusion::{Broadloom, wire};
//! use datafusion_expr::ScalarUDF;
//! let mut bytes = Vec::new();
//! wire::write_scalar(&ScalarUDF::from(Broadloom::default()), &mut bytes);
//! assert_eq!(wire::read_scalar("broadloom", &bytes)?, ScalarUDF::from(Broadloom::default()));
//! assert!(wire::read_scalar("broadloom", &bytes[1..]).is_err());
//! # Ok::<(), datafusion_common::DataFusionError>(())
//! ```

use crate::definition::Sent;
use crate::{Broadloom, TensorAggregate, TensorFunction};
use datafusion_common::{Result, exec_err};
use datafusion_expr::{AggregateUDF, ScalarUDF};

/// Appends a scalar function of this crate, and nothing for other functions.
pub fn write_scalar(function: &ScalarUDF, bytes: &mut Vec<u8>) {
    if let Some(function) = function.inner().downcast_ref::<TensorFunction>() {
        bytes.extend_from_slice(function.as_bytes());
    } else if let Some(function) = function.inner().downcast_ref::<Broadloom>() {
        bytes.extend(Sent::arguments(function.arguments()));
    }
}

/// Reads a scalar function that [`write_scalar`] wrote.
///
/// # Errors
/// Returns an error if the bytes are damaged or were written by another version.
pub fn read_scalar(name: &str, bytes: &[u8]) -> Result<ScalarUDF> {
    check_there(name, bytes)?;
    Ok(match Sent::read(bytes)? {
        Sent::Definition(definition) => TensorFunction::of(name, definition).into(),
        Sent::Arguments(Some(arguments)) => Broadloom::with_arguments(arguments).into(),
        Sent::Arguments(None) => Broadloom::default().into(),
    })
}

/// Appends an aggregate of this crate, and nothing for other aggregates.
pub fn write_aggregate(aggregate: &AggregateUDF, bytes: &mut Vec<u8>) {
    if let Some(aggregate) = aggregate.inner().downcast_ref::<TensorAggregate>() {
        bytes.extend_from_slice(aggregate.as_bytes());
    }
}

/// Reads an aggregate that [`write_aggregate`] wrote.
///
/// # Errors
/// Returns an error if the bytes are damaged or were written by another version.
pub fn read_aggregate(name: &str, bytes: &[u8]) -> Result<AggregateUDF> {
    check_there(name, bytes)?;
    TensorAggregate::from_bytes(name, bytes).map(AggregateUDF::from)
}

/// Refuses a function without a definition, which engines look for here if they do not have it themselves.
fn check_there(name: &str, bytes: &[u8]) -> Result<()> {
    match bytes {
        [] => exec_err!("this process has no function `{name}`: run the same version everywhere"),
        _ => Ok(()),
    }
}
