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

/// The value of a symbol, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solved {
    /// Name of the symbol.
    pub symbol: String,
    /// The size of that name.
    pub value: i64,
    /// The axis that determined it; `None` if the caller gave it.
    pub from: Option<SolvedFrom>,
}

/// The axis that determined a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SolvedFrom {
    /// Name of the input.
    pub input: String,
    /// Its axis.
    pub axis: usize,
    /// The array's sizes.
    pub shape: Vec<usize>,
    /// Where the input was declared.
    pub site: Site,
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
    /// The first op that needs the sizes to be equal, and where it was called.
    pub needed_by: Option<(String, Site)>,
    /// Where the kernel was called.
    pub called: Option<Site>,
}

/// A demand on sizes that could not be decided when the graph was built does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedObligation {
    /// What is demanded.
    pub requirement: Requirement,
    /// What has to hold, in symbols: `n >= 1`.
    pub needs: String,
    /// What there is: `n is 0`.
    pub have: String,
    /// Where the expression was made that needs it, or the declaration.
    pub site: Site,
    /// The symbols.
    pub solved: Vec<Solved>,
    /// Where the kernel was called.
    pub called: Option<Site>,
}

/// A size given by name is another than that of the arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenSize {
    /// Name of the symbol.
    pub symbol: String,
    /// The size given.
    pub given: i64,
    /// The size of the arrays.
    pub found: i64,
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
    /// A symbol whose size the caller has to give has none.
    #[error("the size {symbol:?} is not given: pass it by `.with_size({symbol:?}, ..)`; made at {site}")]
    MissingSize {
        /// Name of the symbol.
        symbol: String,
        /// Where it was made.
        site: Site,
    },
    /// A size is given for a name that is none of a symbol.
    #[error("there is no size {name:?}{}", did_you_mean(.suggestion, .known))]
    UnknownSize {
        /// As given.
        name: String,
        /// The likeliest name meant.
        suggestion: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// A size that the symbol cannot have.
    #[error("the size {symbol:?} cannot be {given}: it is stated to be {stated}")]
    ImpossibleSize {
        /// Name of the symbol.
        symbol: String,
        /// As given.
        given: i64,
        /// What is known of it.
        stated: String,
    },
    /// A size given by name is another than that of the arrays.
    #[error(fmt = fmt_given)]
    GivenSize(Box<GivenSize>),
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
    if !f.alternate() {
        return Ok(());
    }
    let SizeMismatch { shape, declared_shape, site, solved, needed_by, called, .. } = mismatch;
    fmt_solved(solved, f)?;
    write!(f, "\n   {array} has shape {shape:?}, should have {declared_shape}, declared {site}")?;
    if let Some((op, site)) = needed_by {
        write!(f, "\n   needed by `{op}` at {site}")?;
    }
    fmt_called(*called, f)?;
    if let Some(expected) = expected {
        write!(f, "\n   help: pass {:?} with {expected} along axis {axis}", array.name)?;
        if declared.parse::<i64>().is_err() && array.role == Role::Input {
            write!(f, "; if it may differ, declare that axis by a size of its own")?;
        }
    }
    Ok(())
}

fn fmt_obligation(missed: &MissedObligation, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let MissedObligation { requirement, needs, have, site, solved, called } = missed;
    if f.alternate() {
        f.write_str("error[S102]: ")?;
    }
    write!(f, "{have}, but {needs} is needed at {site}: {requirement}")?;
    if !f.alternate() {
        return Ok(());
    }
    fmt_solved(solved, f)?;
    f.write_str("\n   noted when the graph was built, when the sizes were not known")?;
    fmt_called(*called, f)?;
    if let Some((symbol, bound)) = needs.split_once(" >= ")
        && solved.iter().any(|known| known.symbol == symbol)
    {
        write!(f, "\n   help: to find it out earlier, state it:  g.symbol({symbol:?}).range({bound}..)")?;
    }
    Ok(())
}

fn fmt_given(given: &GivenSize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let GivenSize { symbol, given, found, solved } = given;
    if f.alternate() {
        f.write_str("error[S103]: ")?;
    }
    write!(f, "the size {symbol:?} is given as {given}, but it is {found} by the arrays")?;
    if f.alternate() {
        fmt_solved(solved, f)?;
    }
    Ok(())
}

fn fmt_called(called: Option<Site>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    called.map_or(Ok(()), |site| write!(f, "\n   called from {site}"))
}

fn fmt_empty(table: &EmptyTable, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let EmptyTable { site, axis, indices } = table;
    match axis {
        Some(axis) => write!(f, "`take` at {site} has {indices} indices into axis {axis}, which is empty"),
        None => write!(f, "the segmented reduction at {site} has {indices} rows, but no segments"),
    }
}

fn fmt_solved(solved: &[Solved], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for Solved { symbol, value, from } in solved {
        match from {
            Some(SolvedFrom { input, axis, shape, site }) => {
                write!(
                    f,
                    "\n   {symbol} = {value} from input {input:?} axis {axis} (shape {shape:?}), declared {site}"
                )?;
            }
            None => write!(f, "\n   {symbol} = {value} as given")?,
        }
    }
    Ok(())
}

impl BindError {
    /// The error with the place where the kernel was called.
    pub(crate) fn called_from(mut self, site: Site) -> BindError {
        match &mut self {
            BindError::Size(mismatch) => mismatch.called = Some(site),
            BindError::Obligation(missed) => missed.called = Some(site),
            _ => {}
        }
        self
    }
}

impl fmt::Debug for BindError {
    /// The full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}
