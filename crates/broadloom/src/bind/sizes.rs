//! Evaluates sizes to numbers.

use super::error::BindError;
use broadloom_ir::SymbolId;
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::dtype::DType;
use broadloom_ir::shape::Shape;
use smallvec::SmallVec;

/// The values of symbols; `None` for a symbol that no input determines, and that nothing needs.
pub(crate) type Values = Vec<Option<i64>>;

/// Returns the value of a size.
pub(crate) fn evaluate(dim: &Dim, values: &[Option<i64>]) -> Result<i64, DimError> {
    match (dim.as_constant(), dim.as_symbol()) {
        (Some(value), _) => Ok(value),
        _ => dim.evaluate(&|symbol| values.get(symbol.index()).copied().flatten()),
    }
}

/// The sizes that the caller gives for symbols, in units of the symbols.
pub(crate) type Given = SmallVec<[(SymbolId, i64); 2]>;

/// Returns the number of elements: 0 if any size is 0, however large the others are.
pub(crate) fn count(shape: &Shape, values: &[Option<i64>]) -> Result<i64, DimError> {
    let mut count = Some(1i64);
    for dim in shape {
        match evaluate(dim, values)? {
            0 => return Ok(0),
            size => count = count.and_then(|count| count.checked_mul(size)),
        }
    }
    count.ok_or(DimError::Overflow)
}

pub(super) fn size(dim: &Dim, values: &Values) -> Result<usize, DimError> {
    usize::try_from(evaluate(dim, values)?).map_err(|_| DimError::Overflow)
}

/// Returns the number of elements, if their bytes are addressable.
pub(super) fn addressable(elements: i64, dtype: DType) -> Result<usize, BindError> {
    let count = usize::try_from(elements)
        .ok()
        .filter(|count| count.checked_mul(dtype.size()).is_some_and(fits_isize));
    count.ok_or(BindError::TooLarge { elements, dtype })
}

pub(super) fn fits_isize(bytes: usize) -> bool {
    isize::try_from(bytes).is_ok()
}
