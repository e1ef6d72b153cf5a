//! Sizes as numbers.

use super::error::BindError;
use broadloom_ir::SymbolId;
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::dtype::DType;
use broadloom_ir::shape::Shape;
use smallvec::SmallVec;

/// Values of symbols; `None` where no input determines one, which then nothing needs.
pub(crate) type Values = Vec<Option<i64>>;

/// The value of a size.
pub(crate) fn evaluate(dim: &Dim, values: &[Option<i64>]) -> Result<i64, DimError> {
    match (dim.as_constant(), dim.as_symbol()) {
        (Some(value), _) => Ok(value),
        _ => dim.evaluate(&|symbol| values.get(symbol.index()).copied().flatten()),
    }
}

/// Sizes of symbols that the caller gives, in units of the symbols.
pub(crate) type Given = SmallVec<[(SymbolId, i64); 2]>;

/// The number of elements; 0 if a size is, however large the others are.
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

/// The number of elements, if their bytes can be addressed.
pub(super) fn addressable(elements: i64, dtype: DType) -> Result<usize, BindError> {
    let count = usize::try_from(elements)
        .ok()
        .filter(|count| count.checked_mul(dtype.size()).is_some_and(fits_isize));
    count.ok_or(BindError::TooLarge { elements, dtype })
}

pub(super) fn fits_isize(bytes: usize) -> bool {
    isize::try_from(bytes).is_ok()
}
