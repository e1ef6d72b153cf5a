//! What can be wrong with arrays.

use crate::array::LayoutError;
use crate::compile::CompileError;
use broadloom_ir::diagnostics::Requirement;
use broadloom_ir::dim::DimError;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::Site;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Whether an array is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Read.
    Input,
    /// Written.
    Output,
}

/// An array of the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayName {
    /// Whether it is read or written.
    pub role: Role,
    /// Its name in the graph.
    pub name: String,
}

impl fmt::Display for ArrayName {
    /// `input "x"`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Input => "input",
            Role::Output => "output",
        };
        write!(f, "{role} {:?}", self.name)
    }
}

/// Where the value of a symbol came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solved {
    /// Name of the symbol.
    pub symbol: String,
    /// Its value.
    pub value: i64,
    /// The input that determined it.
    pub input: String,
    /// The axis of the input.
    pub axis: usize,
    /// The input's sizes.
    pub shape: Vec<usize>,
}

/// An axis has another size than the symbols, or a constant, say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeMismatch {
    /// Which array.
    pub array: ArrayName,
    /// Which axis.
    pub axis: usize,
    /// The size that it should have, as declared.
    pub declared: String,
    /// The size that it should have; `None` if no value of a symbol gives `found`.
    pub expected: Option<i64>,
    /// The size that it has.
    pub found: i64,
    /// Sizes of the array.
    pub shape: Vec<usize>,
    /// Sizes that it should have, as declared.
    pub declared_shape: String,
    /// Where it was declared.
    pub site: Site,
    /// The symbols solved so far.
    pub solved: Vec<Solved>,
}

/// A demand on sizes that could not be decided when the graph was built does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedObligation {
    /// What is demanded.
    pub requirement: Requirement,
    /// What should not be negative, in symbols.
    pub nonnegative: String,
    /// Its value.
    pub value: i64,
    /// Where the expression was made that needs it.
    pub site: Site,
    /// The symbols.
    pub solved: Vec<Solved>,
}

/// Indices into an axis without elements, or rows for no segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptyTable {
    /// Where `take` or a segmented reduction was called.
    pub site: Site,
    /// The axis; `None` of segments.
    pub axis: Option<usize>,
    /// Number of indices.
    pub indices: i64,
}

/// Arrays that do not fit a kernel. `{}` is one line, `{:#}` and `{:?}` show where sizes came from.
#[derive(Clone, Error)]
#[non_exhaustive]
pub enum BindError {
    /// An input was not passed.
    #[error("input {name:?} is missing: {expected}")]
    Missing {
        /// Its name.
        name: String,
        /// Dtype and shape that it should have.
        expected: String,
    },
    /// There is no input or output of this name.
    #[error("there is no {array}{}", did_you_mean(.suggestion, .known))]
    Unknown {
        /// As passed.
        array: ArrayName,
        /// The likeliest name meant.
        suggestion: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// An array was passed twice.
    #[error("{array} is passed twice")]
    Repeated {
        /// Which.
        array: ArrayName,
    },
    /// Another number of arrays than the kernel has.
    #[error("{found} {} are passed by position, but the kernel has {}: {expected:?}", plural(.role), .expected.len())]
    Number {
        /// Inputs or outputs.
        role: Role,
        /// Names, in order.
        expected: Vec<String>,
        /// How many were passed.
        found: usize,
    },
    /// An array has another dtype.
    #[error("{array} has elements of {found}, but should have {expected}")]
    DType {
        /// Which.
        array: ArrayName,
        /// The dtype that it should have.
        expected: DType,
        /// The dtype that it has.
        found: DType,
    },
    /// An array has another number of axes.
    #[error("{array} has shape {found:?}, but should have {} axes: {declared}", .rank)]
    Rank {
        /// Which.
        array: ArrayName,
        /// Number of axes that it should have.
        rank: usize,
        /// Sizes that it should have, as declared.
        declared: String,
        /// Its sizes.
        found: Vec<usize>,
    },
    /// An axis has another size.
    #[error(fmt = fmt_size)]
    Size(Box<SizeMismatch>),
    /// A demand on sizes does not hold.
    #[error(fmt = fmt_obligation)]
    Obligation(Box<MissedObligation>),
    /// Indices into an axis without elements.
    #[error(fmt = fmt_empty)]
    EmptyTable(Box<EmptyTable>),
    /// A size or an offset cannot be computed.
    #[error("a size of the expression cannot be computed: {0}")]
    Arithmetic(#[from] DimError),
    /// A result, or an array between kernels, has more bytes than can be addressed.
    #[error("an array of {elements} elements of {dtype} is too large")]
    TooLarge {
        /// Number of elements.
        elements: i64,
        /// Type of the elements.
        dtype: DType,
    },
    /// An array passed to be written cannot be.
    #[error("{array} cannot be written to: {reason}")]
    Layout {
        /// Which.
        array: ArrayName,
        /// Why.
        reason: Box<LayoutError>,
    },
    /// An input that the kernel writes to is passed to be read only.
    #[error("{array} is written to by the kernel: pass it as `&mut`")]
    Shared {
        /// Which.
        array: ArrayName,
    },
    /// Two arrays that the kernel writes to begin at the same element.
    #[error("{first} and {second} are one array, and both are written to")]
    SameArray {
        /// The one.
        first: ArrayName,
        /// The other.
        second: ArrayName,
    },
    /// The kernel could not be compiled for the strides of the arrays.
    #[error("the kernel cannot be compiled for these strides: {0}")]
    Compile(Arc<CompileError>),
}

fn plural(role: &Role) -> &'static str {
    match role {
        Role::Input => "inputs",
        Role::Output => "outputs",
    }
}

fn did_you_mean(suggestion: &Option<String>, known: &[String]) -> String {
    match suggestion {
        Some(name) => format!("; did you mean {name:?}?"),
        None => format!("; there are {known:?}"),
    }
}

fn fmt_size(mismatch: &SizeMismatch, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let SizeMismatch { array, axis, declared, expected, found, .. } = mismatch;
    if f.alternate() {
        f.write_str("error[S101]: ")?;
    }
    write!(f, "{array} does not fit: axis {axis} is {found}, but ")?;
    match expected {
        Some(expected) if *declared == expected.to_string() => write!(f, "should be {expected}")?,
        Some(expected) => write!(f, "{declared} is {expected}")?,
        None => write!(f, "should be {declared}, which no size gives")?,
    }
    if f.alternate() {
        fmt_solved(&mismatch.solved, f)?;
        let SizeMismatch { shape, declared_shape, site, .. } = mismatch;
        write!(f, "\n   {array} has shape {shape:?}, should have {declared_shape}, declared {site}")?;
    }
    Ok(())
}

fn fmt_obligation(missed: &MissedObligation, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let MissedObligation { requirement, nonnegative, value, site, solved } = missed;
    if f.alternate() {
        f.write_str("error[S102]: ")?;
    }
    write!(f, "{requirement}: `{nonnegative}` is {value}, below zero, at {site}")?;
    if f.alternate() {
        fmt_solved(solved, f)?;
        f.write_str("\n   noted when the graph was built, when the sizes were not known")?;
    }
    Ok(())
}

fn fmt_empty(table: &EmptyTable, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let EmptyTable { site, axis, indices } = table;
    match axis {
        Some(axis) => write!(f, "`take` at {site} has {indices} indices into axis {axis}, which is empty"),
        None => write!(f, "the segmented reduction at {site} has {indices} rows, but no segments"),
    }
}

fn fmt_solved(solved: &[Solved], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for Solved { symbol, value, input, axis, shape } in solved {
        write!(f, "\n   {symbol} = {value} from input {input:?} axis {axis} (shape {shape:?})")?;
    }
    Ok(())
}

impl fmt::Debug for BindError {
    /// The full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}
