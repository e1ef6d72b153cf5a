//! Lists as axes of tensors: those of one length in a batch.
//!
//! ```text
//! rows of lists ──▶ flattened: the elements of all rows, one after the other, and the length of each axis ──▶ kernel
//!       result of a kernel ──▶ nested: lists again, where the type of the result has no size
//! ```

use crate::error::ColumnError;
use crate::types::{ColumnType, item};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, GenericListArray, ListArray, OffsetSizeTrait};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use std::sync::Arc;

/// The elements of all rows of a column.
pub(crate) struct Flattened {
    /// A primitive or boolean array.
    pub(crate) elements: ArrayRef,
    /// The length of each axis of a row. It is 0 where no row shows it.
    pub(crate) row: Vec<usize>,
    /// The rows that are null, or have a null in them.
    pub(crate) nulls: Option<NullBuffer>,
    /// Whether the length of an axis is not known: it is one of lists, and all rows are null, or there are none.
    pub(crate) is_open: bool,
}

/// Returns the elements of a column. They are copied only where a null row does not have as many as the others.
///
/// # Errors
/// Returns an error if lists have several lengths.
pub(crate) fn flattened(column: &str, array: &ArrayRef) -> Result<Flattened, ColumnError> {
    let rows = array.len();
    let mut nulls = array.logical_nulls();
    let (mut elements, mut row, mut is_open) = (array.clone(), Vec::new(), false);
    loop {
        let (size, inner) = match elements.data_type() {
            DataType::FixedSizeList(_, size) => {
                (usize::try_from(*size).ok(), elements.as_fixed_size_list().values().clone())
            }
            DataType::List(_) => of_one_length(column, elements.as_list::<i32>(), rows, nulls.as_ref())?,
            DataType::LargeList(_) => of_one_length(column, elements.as_list::<i64>(), rows, nulls.as_ref())?,
            _ => break,
        };
        is_open |= size.is_none();
        row.push(size.unwrap_or(0));
        nulls = with_null_elements(nulls, &inner, rows);
        elements = inner;
    }
    Ok(Flattened { elements, row, nulls, is_open })
}

/// Returns the length of the lists of all rows that are not null, and their elements with as many for each null row. The
/// length is `None` if there is no such row.
fn of_one_length<O: OffsetSizeTrait>(
    column: &str,
    lists: &GenericListArray<O>,
    rows: usize,
    nulls: Option<&NullBuffer>,
) -> Result<(Option<usize>, ArrayRef), ColumnError> {
    // An outer list has several of these in each row.
    let each = (lists.len() / rows.max(1)).max(1);
    let is_valid = |at: usize| nulls.is_none_or(|nulls| nulls.is_valid(at / each));
    let values = lists.values();
    let start = |at: usize| lists.value_offsets().get(at).map_or(0, |offset| offset.as_usize());
    let length = |at: usize| start(at + 1) - start(at);
    let Some(first) = (0..lists.len()).find(|at| is_valid(*at)) else {
        return Ok((None, values.slice(0, 0)));
    };
    let wanted = length(first);
    if let Some(other) = (first..lists.len()).find(|at| length(*at) != wanted && is_valid(*at)) {
        return Err(ColumnError::Ragged {
            column: column.to_owned(),
            first: first / each,
            wanted,
            row: other / each,
            found: length(other),
        });
    }
    if (0..lists.len()).all(|at| length(at) == wanted) {
        return Ok((Some(wanted), values.slice(start(0), lists.len() * wanted)));
    }
    // A null row is as long as it likes, mostly of length 0. Kernels compute it like any other, from the elements of another row.
    let filler = values.slice(start(first), wanted);
    let mut parts: Vec<ArrayRef> = Vec::new();
    let mut at = 0;
    while at < lists.len() {
        let run = (at..lists.len()).take_while(|at| is_valid(*at)).count();
        // A run of valid rows lies together.
        parts.push(if run > 0 { values.slice(start(at), run * wanted) } else { filler.clone() });
        at += run.max(1);
    }
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    Ok((Some(wanted), concat(&parts)?))
}

/// Adds the rows that have a null among their elements. Parquet pads null rows with null elements, which add nothing.
fn with_null_elements(nulls: Option<NullBuffer>, elements: &ArrayRef, rows: usize) -> Option<NullBuffer> {
    let Some(inner) = elements.logical_nulls().filter(|inner| inner.null_count() > 0) else { return nulls };
    let each = inner.len() / rows.max(1);
    if nulls.as_ref().is_some_and(|nulls| nulls.expand(each).contains(&inner)) {
        return nulls;
    }
    let valid = |row: usize| inner.slice(row * each, each).null_count() == 0;
    NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(BooleanBuffer::collect_bool(rows, valid))))
}

/// Makes rows of elements: fixed-size lists, unless each row is a number.
pub(crate) fn rows_of(
    elements: ArrayRef,
    row: &[usize],
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ColumnError> {
    if row.is_empty() {
        return Ok(elements);
    }
    let size = row.iter().fold(1, |count: usize, size| count.saturating_mul(*size));
    let size = i32::try_from(size);
    let size = size.map_err(|_| ColumnError::TooWide { output: "result".to_owned() })?;
    let item = item(elements.data_type().clone());
    Ok(Arc::new(FixedSizeListArray::try_new_with_length(item, size, elements, nulls, rows)?))
}

impl ColumnType {
    /// Returns rows of this shape as a column of this type: lists take the place of fixed-size lists where the type has no
    /// size. The elements are not copied.
    ///
    /// # Errors
    /// Returns an error if the rows do not have the axes of the type, or if there are more elements than Arrow can count.
    pub fn nested(&self, array: ArrayRef, row: &[usize]) -> Result<ArrayRef, ColumnError> {
        if self.is_fixed() { Ok(array) } else { self.lists_of(array, row) }
    }

    /// Returns rows of this shape as [`ColumnType::nested_field`] describes them: tensors are lists of lists as well. The elements are
    /// not copied.
    ///
    /// # Errors
    /// Returns the errors of [`ColumnType::nested`].
    pub fn lists_of(&self, array: ArrayRef, row: &[usize]) -> Result<ArrayRef, ColumnError> {
        if self.nested_field("result", true)?.data_type() == array.data_type() {
            return Ok(array);
        }
        let Some(lists) = array.as_fixed_size_list_opt().filter(|_| row.len() == self.row.len()) else {
            return Err(ColumnError::Size { output: "result".to_owned() });
        };
        let mut elements = lists.values().clone();
        for (axis, size) in row.iter().enumerate().rev() {
            let count = row[..axis].iter().fold(lists.len(), |count, size| count.saturating_mul(*size));
            let nulls = lists.nulls().filter(|_| axis == 0).cloned();
            if self.row[axis].is_some() {
                elements = rows_of(elements, &[*size], count, nulls)?;
                continue;
            }
            let too_many = |count: usize| ColumnError::TooMany { count };
            let last = i32::try_from(elements.len()).map_err(|_| too_many(elements.len()))?;
            let mut offsets = Vec::new();
            offsets.try_reserve_exact(count.saturating_add(1)).map_err(|_| too_many(count))?;
            offsets.extend(
                (0..=count).map(|at| i32::try_from(at.saturating_mul(*size)).unwrap_or(last).min(last)),
            );
            let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
            let item = item(elements.data_type().clone());
            elements = Arc::new(ListArray::try_new(item, offsets, elements, nulls)?);
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Float32Type;
    use arrow_array::{Float32Array, LargeListArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::{DataType, Field};

    fn elements(flattened: &Flattened) -> Vec<f32> {
        flattened.elements.as_primitive::<Float32Type>().values().to_vec()
    }

    #[test]
    fn lists_of_one_length_are_not_copied() {
        let values = Float32Array::from((0..24).map(|value| value as f32).collect::<Vec<_>>());
        let start = values.values().as_ptr();
        let large = LargeListArray::new(
            item(DataType::Float32),
            OffsetBuffer::from_lengths([3; 8]),
            Arc::new(values.clone()),
            None,
        );
        // A null row with as many elements as the others stays where it is.
        let nulls = NullBuffer::from_iter((0..8).map(|row| row != 4));
        let small = ListArray::new(
            item(DataType::Float32),
            OffsetBuffer::from_lengths([3; 8]),
            Arc::new(values),
            Some(nulls),
        );
        for lists in [Arc::new(large.slice(2, 5)) as ArrayRef, Arc::new(small.slice(2, 5))] {
            let flattened = flattened("v", &lists).unwrap();
            let found = flattened.elements.as_primitive::<Float32Type>().values();
            assert_eq!((found.as_ptr(), found.len()), (start.wrapping_add(6), 15));
            assert_eq!((flattened.row, flattened.is_open), (vec![3], false));
        }
    }

    #[test]
    fn null_rows_take_the_elements_of_another_row() {
        let row = |values: &[f32]| Some(values.iter().copied().map(Some).collect::<Vec<_>>());
        let rows = [None, row(&[1.0, 2.0]), row(&[3.0, 4.0]), None, None, row(&[5.0, 6.0]), None];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows));
        let whole = flattened("v", &lists).unwrap();
        let expected = [1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 1.0, 2.0, 5.0, 6.0, 1.0, 2.0];
        assert_eq!(elements(&whole), expected);
        let valid: Vec<bool> = whole.nulls.unwrap().iter().collect();
        assert_eq!(valid, [false, true, true, false, false, true, false]);
        let part = flattened("v", &lists.slice(3, 3)).unwrap();
        assert_eq!(elements(&part), [5.0, 6.0, 5.0, 6.0, 5.0, 6.0]);
    }

    #[test]
    fn without_a_row_the_length_is_open() {
        let lists: ArrayRef =
            Arc::new(ListArray::from_iter_primitive::<Float32Type, Vec<Option<f32>>, _>([None, None]));
        for lists in [lists.clone(), lists.slice(1, 0)] {
            let flattened = flattened("v", &lists).unwrap();
            assert!(flattened.is_open && flattened.row == [0] && flattened.elements.is_empty());
        }
        let empty: ArrayRef =
            Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>([Some(vec![]), Some(vec![])]));
        let flattened = flattened("v", &empty).unwrap();
        assert!(!flattened.is_open && flattened.row == [0]);
    }

    #[test]
    fn results_are_nested_as_their_types_say() {
        let numbers = Float32Array::from((0..12).map(|value| value as f32).collect::<Vec<_>>());
        let start = numbers.values().as_ptr();
        let flat = rows_of(Arc::new(numbers), &[2, 3], 2, None).unwrap();
        let kind = |row: &[Option<usize>]| ColumnType { dtype: broadloom::DType::F32, row: row.to_vec() };
        for row in [[None, Some(3)], [Some(2), None], [None, None]] {
            let nested = kind(&row).nested(flat.clone(), &[2, 3]).unwrap();
            assert_eq!(nested.data_type(), kind(&row).field("v", true).unwrap().data_type());
            let again = flattened("v", &nested).unwrap();
            assert_eq!(again.row, [2, 3]);
            assert_eq!(again.elements.as_primitive::<Float32Type>().values().as_ptr(), start);
        }
        assert!(kind(&[None]).nested(flat.clone(), &[2, 3]).is_err());
        assert_eq!(&kind(&[Some(2), Some(3)]).nested(flat.clone(), &[2, 3]).unwrap(), &flat);
        // Rows without elements.
        let none = rows_of(Arc::new(Float32Array::from(Vec::<f32>::new())), &[0], 3, None).unwrap();
        assert_eq!(kind(&[None]).nested(none, &[0]).unwrap().len(), 3);
    }

    #[test]
    fn rows_of_other_lengths_are_named_at_any_depth() {
        let row = |values: &[f32]| Some(values.iter().copied().map(Some).collect::<Vec<_>>());
        let inner = ListArray::from_iter_primitive::<Float32Type, _, _>([
            row(&[1.0]),
            row(&[2.0]),
            row(&[3.0]),
            row(&[4.0, 5.0]),
        ]);
        let ragged: ArrayRef = Arc::new(inner.clone());
        let of = |column: &ArrayRef| match flattened("v", column) {
            Err(ColumnError::Ragged { first, wanted, row, found, .. }) => Some((first, wanted, row, found)),
            _ => None,
        };
        assert_eq!(of(&ragged), Some((0, 1, 3, 2)));
        assert_eq!(of(&ragged.slice(2, 2)), Some((0, 1, 1, 2)));
        assert_eq!(of(&ragged.slice(0, 3)), None);
        let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
        let nested: ArrayRef =
            Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([2, 2]), Arc::new(inner), None));
        assert_eq!(of(&nested), Some((0, 1, 1, 2)));
    }
}
