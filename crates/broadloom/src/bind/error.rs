//! What can be wrong with arrays. `message.rs` says it in words.

use crate::array::LayoutError;
use crate::variant::CompileError;
use broadloom_ir::ExprId;
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
    /// The size of that axis as declared, which may depend on symbols solved before.
    pub declared: String,
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
    /// What was stated of the symbol that the axis has as its size, if that does not hold.
    pub stated: Option<String>,
    /// Whether the size may also be 1.
    pub or_one: bool,
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
    /// The function that was called and demands it; none of a declaration.
    pub call: Option<Arc<str>>,
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
    /// Which expression of the executable's graph.
    pub expr: ExprId,
    /// Where it was made.
    pub site: Site,
    /// The function that was called.
    pub call: Box<str>,
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
    Missing {
        /// Its name.
        name: String,
        /// Dtype and shape that it should have.
        expected: String,
    },
    /// There is no input or output of this name.
    Unknown {
        /// As passed.
        array: ArrayName,
        /// The likeliest name meant.
        suggestion: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// A symbol whose size the caller has to give has none.
    MissingSize {
        /// Name of the symbol.
        symbol: String,
        /// Where it was made.
        site: Site,
    },
    /// A size is given for a name that is none of a symbol.
    UnknownSize {
        /// As given.
        name: String,
        /// The likeliest name meant.
        suggestion: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// A size that the symbol cannot have.
    ImpossibleSize {
        /// Name of the symbol.
        symbol: String,
        /// As given.
        given: i64,
        /// What is known of it.
        stated: String,
    },
    /// A size given by name is another than that of the arrays.
    GivenSize(Box<GivenSize>),
    /// An array was passed twice.
    Repeated {
        /// Which.
        array: ArrayName,
    },
    /// Another number of arrays than the kernel has.
    Number {
        /// Inputs or outputs.
        role: Role,
        /// Names, in order.
        expected: Vec<String>,
        /// How many were passed.
        found: usize,
    },
    /// An array has another dtype.
    DType {
        /// Which.
        array: ArrayName,
        /// The dtype that it should have.
        expected: DType,
        /// The dtype that it has.
        found: DType,
    },
    /// An array has another number of axes.
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
    Size(Box<SizeMismatch>),
    /// A demand on sizes does not hold.
    Obligation(Box<MissedObligation>),
    /// Indices into an axis without elements.
    EmptyTable(Box<EmptyTable>),
    /// A size or an offset cannot be computed.
    Arithmetic(#[from] DimError),
    /// A result, or an array between kernels, has more bytes than can be addressed.
    TooLarge {
        /// Number of elements.
        elements: i64,
        /// Type of the elements.
        dtype: DType,
    },
    /// An array passed to be written cannot be.
    Layout {
        /// Which.
        array: ArrayName,
        /// Why.
        reason: Box<LayoutError>,
    },
    /// An input that the kernel writes to is passed to be read only.
    Shared {
        /// Which.
        array: ArrayName,
    },
    /// Two arrays that the kernel writes to begin at the same element.
    SameArray {
        /// The one.
        first: ArrayName,
        /// The other.
        second: ArrayName,
    },
    /// The kernel could not be compiled for the strides of the arrays.
    Compile(Arc<CompileError>),
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
