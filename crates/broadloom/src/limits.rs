//! What a call asks for, as numbers, and limits on it.

use crate::bind::{BindError, BoundOutput};
use broadloom_ir::dtype::DType;
use std::fmt;

/// A result of a call before it is computed: see [`Bound::outputs`](crate::Bound::outputs).
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let table = (x.unsqueeze(1) + x).compile()?;
/// let outputs = table.bind(&[1.0f32; 100])?.outputs();
/// assert_eq!((outputs[0].shape.as_slice(), outputs[0].bytes), (&[100, 100][..], 40_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputSize {
    /// The name.
    pub name: String,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The sizes of the axes.
    pub shape: Vec<usize>,
    /// The number of bytes of all elements.
    pub bytes: usize,
}

/// The estimated work of a call: see [`Bound::work`](crate::Bound::work). Numbers that do not fit are `u64::MAX`.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = (x * x + 1).compile()?;
/// let work = kernel.bind(&[1.0f32; 1000])?.work();
/// assert!(work.bytes >= 8_000 && work.operations >= 2_000); // read and written; multiplied and added
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Work {
    /// The bytes loaded and stored.
    pub bytes: u64,
    /// The operations, in additions: an elementary function counts as several.
    pub operations: u64,
    /// Both together, in bytes of memory traffic or operations that take as long: for each kernel the larger of its bytes and
    /// four times its operations. One thread does about 100,000 of it in a microsecond, and less if its arrays are in no
    /// cache.
    pub total: u64,
}

/// Limits on what a call may ask for. Each call checks them before it allocates anything, and more is a
/// [`BindError::Limit`]. By default there are none.
///
/// ```
/// use broadloom::{BindError, CallError, CallLimits, prelude::*};
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let limits = CallLimits { output_bytes: 1 << 20, ..CallLimits::default() };
/// let table = (x.unsqueeze(1) + x).compile_with(&CompileOptions { limits, ..CompileOptions::default() })?;
/// assert!(table.run(&[1.0f32; 100]).is_ok());
/// match table.run(&[1.0f32; 1000]) {
///     Err(CallError::Bind(BindError::Limit { asked, most, .. })) => assert_eq!((asked, most), (4_000_000, 1 << 20)),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Bytes of all results together.
    pub output_bytes: u64,
    /// Bytes that a run stores between kernels at one time: see
    /// [`Bound::temporary_bytes`](crate::Bound::temporary_bytes).
    pub temporary_bytes: u64,
    /// Work, as [`Work::total`] counts it.
    pub work: u64,
}

impl Default for CallLimits {
    fn default() -> Self {
        CallLimits { output_bytes: u64::MAX, temporary_bytes: u64::MAX, work: u64::MAX }
    }
}

/// What [`CallLimits`] limit.
///
/// ```
/// assert_eq!(broadloom::Limited::OutputBytes.to_string(), "bytes of results");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limited {
    /// [`CallLimits::output_bytes`].
    OutputBytes,
    /// [`CallLimits::temporary_bytes`].
    TemporaryBytes,
    /// [`CallLimits::work`].
    Work,
}

impl Limited {
    /// Returns the name of the field of [`CallLimits`].
    pub(crate) fn field(self) -> &'static str {
        match self {
            Limited::OutputBytes => "output_bytes",
            Limited::TemporaryBytes => "temporary_bytes",
            Limited::Work => "work",
        }
    }
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limited::OutputBytes => "bytes of results",
            Limited::TemporaryBytes => "bytes of temporaries",
            Limited::Work => "units of work",
        })
    }
}

impl CallLimits {
    pub(crate) fn check_outputs(&self, outputs: &[BoundOutput]) -> Result<(), BindError> {
        self.check_output_bytes(outputs.iter().map(|output| output.bytes() as u64))
    }

    pub(crate) fn check_output_bytes(&self, bytes: impl Iterator<Item = u64>) -> Result<(), BindError> {
        within(Limited::OutputBytes, bytes.fold(0, u64::saturating_add), self.output_bytes)
    }

    pub(crate) fn check_call(&self, temporary_bytes: usize, work: Work) -> Result<(), BindError> {
        within(Limited::TemporaryBytes, temporary_bytes as u64, self.temporary_bytes)?;
        within(Limited::Work, work.total, self.work)
    }
}

fn within(of: Limited, asked: u64, most: u64) -> Result<(), BindError> {
    if asked <= most { Ok(()) } else { Err(BindError::Limit { of, asked, most }) }
}
