//! The errors of arrays that do not fit. `message.rs` holds their messages.

use crate::array::LayoutError;
use crate::limits::Limited;
use crate::variant::CompileError;
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Requirement;
use broadloom_ir::dim::DimError;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::Site;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Whether a kernel reads or writes an array.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{BindError, CallError, Role};
/// let g = Graph::new();
/// let kernel = g.input::<f32>("x", shape![3]).exp().compile()?;
/// match kernel.run((&[1.0f32; 3], &[1.0f32; 3])) {
///     Err(CallError::Bind(BindError::Number { role, .. })) => assert_eq!(role, Role::Input),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The kernel reads it.
    Input,
    /// The kernel writes it.
    Output,
}

/// An array of the caller.
///
/// ```
/// use broadloom::{ArrayName, Role};
/// let x = ArrayName { role: Role::Input, name: "x".into() };
/// assert_eq!(x.to_string(), r#"input "x""#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayName {
    /// Whether the kernel reads or writes it.
    pub role: Role,
    /// The array's name in the graph.
    pub name: String,
}

impl fmt::Display for ArrayName {
    /// Prints `input "x"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Input => "input",
            Role::Output => "output",
        };
        write!(f, "{role} {:?}", self.name)
    }
}

/// The value of a symbol, and where it came from.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{BindError, CallError};
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let kernel = (g.input::<f32>("x", shape![n]) + g.input::<f32>("y", shape![n])).compile()?;
/// match kernel.run((&[1.0f32; 3], &[1.0f32; 4])) {
///     Err(CallError::Bind(BindError::Size(mismatch))) => {
///         let solved = &mismatch.solved[0];
///         assert_eq!((solved.symbol.as_str(), solved.value), ("n", 3));
///         assert_eq!(solved.from.as_ref().map(|from| from.input.as_str()), Some("x"));
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solved {
    /// The name of the symbol.
    pub symbol: String,
    /// The size that the name stands for.
    pub value: i64,
    /// The axis that determined it; `None` if the caller gave the size.
    pub from: Option<SolvedFrom>,
}

/// The axis that determined a symbol.
///
/// ```
/// use broadloom::SolvedFrom;
/// fn place(from: &SolvedFrom) -> String {
///     format!("axis {} of {}, which is {:?}", from.axis, from.input, from.shape)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SolvedFrom {
    /// The name of the input.
    pub input: String,
    /// The axis of the input.
    pub axis: usize,
    /// The declared size of that axis, which may depend on symbols solved before.
    pub declared: String,
    /// The sizes of the array.
    pub shape: Vec<usize>,
    /// The place where the input was declared.
    pub site: Site,
}

/// The size of an axis contradicts the symbols, or a constant.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{BindError, CallError};
/// let g = Graph::new();
/// let kernel = g.input::<f32>("x", shape![g.symbol("n"), 3]).sum(1).compile()?;
/// match kernel.run(ArrayView::new(&[1.0f32; 8], &[2, 4])?) {
///     Err(CallError::Bind(BindError::Size(mismatch))) => {
///         assert_eq!((mismatch.axis, mismatch.expected, mismatch.found), (1, Some(3), 4));
///         assert_eq!(mismatch.declared_shape, "[n, 3]");
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeMismatch {
    /// The array.
    pub array: ArrayName,
    /// The axis.
    pub axis: usize,
    /// The expected size, as declared.
    pub declared: String,
    /// The expected size; `None` if no value of a symbol gives `found`.
    pub expected: Option<i64>,
    /// The declared fact about the axis's symbol that does not hold, if any.
    pub stated: Option<String>,
    /// Whether the size may also be 1.
    pub or_one: bool,
    /// The actual size.
    pub found: i64,
    /// The sizes of the array.
    pub shape: Vec<usize>,
    /// The expected sizes, as declared.
    pub declared_shape: String,
    /// The place where the array was declared.
    pub site: Site,
    /// The symbols solved so far.
    pub solved: Vec<Solved>,
    /// The first op that requires the sizes to be equal, and the place where it was called.
    pub needed_by: Option<(String, Site)>,
    /// The place where the kernel was called.
    pub called: Option<Site>,
}

/// A condition on sizes that could not be decided when the graph was built does not hold.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{BindError, CallError};
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = x.slice(slice![1..]).compile()?;
/// match kernel.run(&[0.0f32; 0]) {
///     Err(CallError::Bind(BindError::Obligation(missed))) => {
///         assert_eq!((missed.needs.as_str(), missed.have.as_str()), ("n >= 1", "n is 0"));
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedObligation {
    /// The condition.
    pub requirement: Requirement,
    /// The function whose call requires it; `None` for a declaration.
    pub call: Option<Arc<str>>,
    /// The condition in symbols: `n >= 1`.
    pub needs: String,
    /// The actual values: `n is 0`.
    pub have: String,
    /// The place of the expression that requires it, or of the declaration.
    pub site: Site,
    /// The symbols.
    pub solved: Vec<Solved>,
    /// The place where the kernel was called.
    pub called: Option<Site>,
}

/// A size given by name differs from the size of the arrays.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{BindError, CallError};
/// let g = Graph::new();
/// let kernel = g.input::<f32>("x", shape![g.symbol("n")]).exp().compile()?;
/// match kernel.run(inputs![&[1.0f32; 3]].with_size("n", 4)) {
///     Err(CallError::Bind(BindError::GivenSize(size))) => {
///         assert_eq!((size.symbol.as_str(), size.given, size.found), ("n", 4, 3));
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenSize {
    /// The name of the symbol.
    pub symbol: String,
    /// The given size.
    pub given: i64,
    /// The size of the arrays.
    pub found: i64,
    /// The symbols.
    pub solved: Vec<Solved>,
}

/// There are indices into an axis without elements, or rows for zero segments.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{BindError, CallError};
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let at = g.input::<i64>("at", shape![g.symbol("m")]);
/// let kernel = x.take(at, 0).compile()?;
/// match kernel.run((&[0.0f32; 0], &[0i64, 0])) {
///     Err(CallError::Bind(BindError::EmptyTable(table))) => assert_eq!(table.indices, 2),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptyTable {
    /// The expression in the executable's graph.
    pub expr: ExprId,
    /// The place where the expression was made.
    pub site: Site,
    /// The function that was called.
    pub call: Box<str>,
    /// The axis; `None` for segments.
    pub axis: Option<usize>,
    /// Whether the array is one that the function has made itself, so that the axis is not one of its operands.
    pub is_own: bool,
    /// The number of indices.
    pub indices: i64,
}

/// The error of arrays that do not fit a kernel. `{}` prints one line; `{:#}` and `{:?}` also show where sizes came
/// from.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{BindError, CallError};
/// let g = Graph::new();
/// let kernel = g.input::<f32>("x", shape![g.symbol("n")]).exp().compile()?;
/// let error = kernel.run(&[1.0f64, 2.0]).unwrap_err();
/// match &error {
///     CallError::Bind(BindError::DType { expected, found, .. }) => {
///         assert_eq!((*expected, *found), (DType::F32, DType::F64));
///     }
///     other => panic!("{other:?}"),
/// }
/// println!("{error:#}"); // with a suggestion
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Error)]
#[non_exhaustive]
pub enum BindError {
    /// An input was not passed.
    Missing {
        /// The name of the input.
        name: String,
        /// The expected dtype and shape.
        expected: String,
    },
    /// No input or output has this name.
    Unknown {
        /// The array as passed.
        array: ArrayName,
        /// The most similar name.
        suggestion: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// The caller has to give the size of a symbol and has not done so.
    MissingSize {
        /// The name of the symbol.
        symbol: String,
        /// The place where the symbol was made.
        site: Site,
    },
    /// A size was given by a name that belongs to no symbol.
    UnknownSize {
        /// The name as given.
        name: String,
        /// The most similar name.
        suggestion: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// The symbol cannot have the given size.
    ImpossibleSize {
        /// The name of the symbol.
        symbol: String,
        /// The given size.
        given: i64,
        /// What is known of the symbol.
        stated: String,
    },
    /// A size given by name differs from the size of the arrays.
    GivenSize(Box<GivenSize>),
    /// An array was passed twice.
    Repeated {
        /// The array.
        array: ArrayName,
    },
    /// The number of arrays differs from the kernel's.
    Number {
        /// Inputs or outputs.
        role: Role,
        /// Names, in order.
        expected: Vec<String>,
        /// The number of arrays passed.
        found: usize,
    },
    /// An array has the wrong dtype.
    DType {
        /// The array.
        array: ArrayName,
        /// The expected dtype.
        expected: DType,
        /// The actual dtype.
        found: DType,
    },
    /// An array has the wrong number of axes.
    Rank {
        /// The array.
        array: ArrayName,
        /// The expected number of axes.
        rank: usize,
        /// The expected sizes, as declared.
        declared: String,
        /// The actual sizes.
        found: Vec<usize>,
    },
    /// An axis has the wrong size.
    Size(Box<SizeMismatch>),
    /// A condition on sizes does not hold.
    Obligation(Box<MissedObligation>),
    /// Indices into an axis without elements.
    EmptyTable(Box<EmptyTable>),
    /// A size or an offset cannot be computed.
    Arithmetic(#[from] DimError),
    /// A result, or an array between kernels, has more bytes than are addressable.
    TooLarge {
        /// The number of elements.
        elements: i64,
        /// The dtype of the elements.
        dtype: DType,
    },
    /// The call asks for more than the [limits](crate::CallLimits) of the kernel's options allow.
    Limit {
        /// What is limited.
        of: Limited,
        /// What the call asks for.
        asked: u64,
        /// The limit.
        most: u64,
    },
    /// An array passed for writing is not writable.
    Layout {
        /// The array.
        array: ArrayName,
        /// The reason.
        reason: Box<LayoutError>,
    },
    /// An input that the kernel writes to was passed read-only.
    Shared {
        /// The array.
        array: ArrayName,
    },
    /// Two arrays that the kernel writes to start at the same element.
    SameArray {
        /// The first array.
        first: ArrayName,
        /// The second array.
        second: ArrayName,
    },
    /// The kernel could not be compiled for the strides of the arrays.
    Compile(Arc<CompileError>),
}

impl BindError {
    /// Returns the error with the place where the kernel was called.
    pub(crate) fn called_from(mut self, site: Site) -> BindError {
        match &mut self {
            BindError::Size(mismatch) => mismatch.called = Some(site),
            BindError::Obligation(missed) => missed.called = Some(site),
            _ => {}
        }
        self
    }
}
