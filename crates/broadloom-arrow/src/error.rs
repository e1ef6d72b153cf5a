//! What is wrong with columns, and what to do about it.

use crate::types::{ColumnType, element_type};
use arrow_schema::{ArrowError, DataType};
use broadloom::diagnostics::Diagnostics;
use broadloom::{BindError, CallError, CompileError, DType, LayoutError, OutOfMemory, OutputError, RunError};
use thiserror::Error;

/// The reason why an expression cannot be computed on columns.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ColumnError {
    /// A column has a type whose values are not numbers.
    #[error("column `{column}` has the type {found}, which is not a tensor of numbers: {help}")]
    Unsupported {
        /// The column.
        column: String,
        /// Its type.
        found: DataType,
        /// What to type.
        help: String,
    },
    /// The lists of a column have several lengths. Rows count from the start of the batch.
    #[error(
        "the lists of column `{column}` have several lengths: row {first} of the batch has {wanted} elements, row {row} has {found}; \
         make all as long, or leave out the others"
    )]
    Ragged {
        /// The column.
        column: String,
        /// The first row that is not null.
        first: usize,
        /// The length of its list.
        wanted: usize,
        /// The first row with another length.
        row: usize,
        /// The length of its list.
        found: usize,
    },
    /// The lists of a result have more elements than Arrow can count.
    #[error(
        "a result has {count} elements or lists in a batch, and Arrow counts at most {}: compute smaller batches",
        i32::MAX
    )]
    TooMany {
        /// Their number.
        count: usize,
    },
    /// An expression has a result of a dtype that Arrow does not have.
    #[error("`{output}` has the dtype bf16, which Arrow does not have: write `.astype(f32)` behind it")]
    Bf16 {
        /// The output.
        output: String,
    },
    /// A result has more elements in a row than Arrow can count.
    #[error("`{output}` has more than {} elements in a row, the most that Arrow can count", i32::MAX)]
    TooWide {
        /// The output.
        output: String,
    },
    /// An input has no column.
    #[error("there is no column `{input}`; the columns are {}", known.join(", "))]
    Missing {
        /// The input.
        input: String,
        /// The known columns.
        known: Vec<String>,
    },
    /// A column does not have the dtype or the number of axes of its input.
    #[error("column `{column}` is {found}, but the program declares {wanted}: {help}")]
    Type {
        /// The column.
        column: String,
        /// The type of the column.
        found: String,
        /// The declaration.
        wanted: String,
        /// What to type.
        help: String,
    },
    /// An array that was bound to an input does not have the sizes that the columns give.
    #[error(
        "the array `{input}` is {found}, but with these columns it has to be {wanted}: pass columns that fit it"
    )]
    Constant {
        /// The input.
        input: String,
        /// The type of the array.
        found: String,
        /// The type that fits.
        wanted: String,
    },
    /// Columns have different numbers of rows.
    #[error("column `{column}` has {found} rows, but the others have {wanted}: pass columns of one table")]
    Rows {
        /// The column.
        column: String,
        /// The number of rows of the other columns.
        wanted: usize,
        /// Its number of rows.
        found: usize,
    },
    /// No input has rows.
    #[error("no input has the leading axis `{rows}`: declare one like `input x: f32[{rows}]`")]
    NoRows {
        /// The name of the size of the rows.
        rows: String,
    },
    /// Some results have rows and others are totals, so they have no common length.
    #[error("`{output}` is a total, but other results have one value for each row: compute them separately")]
    Lengths {
        /// The total.
        output: String,
    },
    /// A size is not known before the program runs.
    #[error("the size of `{output}` follows from none of the columns: declare it with a number")]
    Size {
        /// The output.
        output: String,
    },
    /// An expression cannot be an aggregate.
    #[error("`{op}` cannot be part of an aggregate: {reason}")]
    NotAggregate {
        /// The operation.
        op: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// A row belongs to a group that does not exist.
    #[error("there is no group {group}: there are {count} groups, and the first one is 0")]
    Group {
        /// The number of the group.
        group: usize,
        /// The number of groups.
        count: usize,
    },
    /// The bytes of an aggregate's state are not those of this aggregate.
    #[error("the state of an aggregate is damaged or of another version: {what}")]
    State {
        /// What is wrong.
        what: &'static str,
    },
    /// The kernel does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A helper graph does not fit: a bug in Broadloom.
    #[error(transparent)]
    Graph(#[from] Diagnostics),
    /// Sizes do not fit, or the data have no result. Rows count from the start of the columns.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A result does not have its type: a bug in Broadloom.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// An array does not have the elements of its shape: a bug in Broadloom.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A run asks for more than [`Bounds`](crate::Bounds) allow.
    #[error("it asks for {asked} bytes, of which {most} are left for the results of a batch")]
    TooLarge {
        /// The bytes of the results and temporaries.
        asked: u64,
        /// The bytes that are left.
        most: u64,
    },
    /// Not enough memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// Arrow refuses an array.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl ColumnError {
    /// Returns the error of a column whose rows are not those of an input of a dtype.
    pub(crate) fn of_type(column: &str, found: &ColumnType, wanted: String, declared: DType) -> ColumnError {
        let help = match element_type(declared) {
            _ if found.dtype == declared => "pass a column with rows of this shape".to_owned(),
            None => "declare a dtype that Arrow has, such as f32".to_owned(),
            Some(element) => {
                let list = |item: String, size: &Option<usize>| match size {
                    Some(size) => format!("FixedSizeList({size}, {item})"),
                    None => format!("List({item})"),
                };
                let name = found.row.iter().rev().fold(element.to_string(), list);
                format!("cast it first, in SQL with `arrow_cast(.., '{name}')`")
            }
        };
        ColumnError::Type { column: column.to_owned(), found: found.to_string(), wanted, help }
    }
}

impl From<BindError> for ColumnError {
    fn from(error: BindError) -> Self {
        ColumnError::Call(CallError::Bind(error))
    }
}

impl From<RunError> for ColumnError {
    fn from(error: RunError) -> Self {
        ColumnError::Call(CallError::Run(error))
    }
}
