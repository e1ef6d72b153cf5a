//! Columns as arrays of Broadloom, and results as columns.

use crate::error::ColumnError;
use crate::lists::{Flattened, flattened, rows_of};
use crate::types::{ColumnType, for_each_primitive};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array as _, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use arrow_select::filter::filter;
use broadloom::{AnyArray, Array, ArrayView, DType, LayoutError};
use std::sync::Arc;

/// A column as a tensor `[n, ..row]`, with the rows that are null.
#[derive(Debug, Clone)]
pub struct Column {
    kind: ColumnType,
    /// The shape of the rows of this batch.
    row: Vec<usize>,
    /// The elements of all rows: a primitive or boolean array, whose own nulls do not count any more.
    elements: ArrayRef,
    nulls: Option<NullBuffer>,
    rows: usize,
    /// The only row stands for all rows.
    is_repeated: bool,
    /// Whether no row shows its shape.
    is_open: bool,
}

impl Column {
    /// Takes a column as its field describes it. Nothing is copied, unless lists without a fixed size have null rows, which
    /// are as long as they like. A row with a null element is a null row.
    ///
    /// # Errors
    /// Returns an error if the type is not supported, which says what to cast the column to, or if its lists have several
    /// lengths.
    pub fn new(field: &Field, array: &ArrayRef) -> Result<Column, ColumnError> {
        let kind = ColumnType::of(field)?;
        let Flattened { elements, row, nulls, is_open } = flattened(field.name(), array)?;
        // The field of a tensor tells axes that its list does not have.
        let row = kind.sizes().unwrap_or(row);
        Ok(Column { kind, row, elements, nulls, rows: array.len(), is_repeated: false, is_open })
    }

    /// Takes the only row of an array for `rows` rows.
    ///
    /// # Errors
    /// Returns the errors of [`Column::new`], or an error if the array does not have exactly one row.
    pub fn repeated(field: &Field, array: &ArrayRef, rows: usize) -> Result<Column, ColumnError> {
        if array.len() != 1 {
            let column = field.name().clone();
            return Err(ColumnError::Rows { column, wanted: 1, found: array.len() });
        }
        let column = Column::new(field, array)?;
        let nulls = column.nulls.filter(|nulls| nulls.null_count() > 0).map(|_| NullBuffer::new_null(rows));
        Ok(Column { nulls, rows, is_repeated: true, ..column })
    }

    /// Returns the type, as the field describes it.
    pub fn kind(&self) -> &ColumnType {
        &self.kind
    }

    /// Returns the shape of the rows of this batch. An axis has the size 0 if it is [open](Column::is_open).
    pub fn row(&self) -> &[usize] {
        &self.row
    }

    /// Returns whether no row shows its shape: they are lists without a fixed size, and all are null, or there are none.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns the number of elements in a row.
    pub fn elements(&self) -> usize {
        self.row.iter().fold(1, |count: usize, size| count.saturating_mul(*size))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the rows that are null, if there are any.
    pub fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref().filter(|nulls| nulls.null_count() > 0)
    }

    /// Returns some of the rows, without copying.
    pub(crate) fn slice(&self, start: usize, rows: usize) -> Column {
        let nulls = self.nulls.as_ref().map(|nulls| nulls.slice(start, rows));
        let each = self.elements();
        let elements = match self.is_repeated {
            true => self.elements.clone(),
            false => self.elements.slice(start * each, rows * each),
        };
        Column { elements, nulls, rows, ..self.clone() }
    }

    /// Copies the rows that a mask keeps; none of them counts as null.
    pub(crate) fn kept(&self, mask: &BooleanArray, rows: usize) -> Result<Column, ColumnError> {
        let elements = match self.is_repeated {
            true => self.elements.clone(),
            false => {
                let whole = rows_of(self.elements.clone(), &self.row, mask.len(), None)?;
                innermost(filter(&whole, mask)?)
            }
        };
        Ok(Column { elements, nulls: None, rows, ..self.clone() })
    }

    /// Copies the elements into an array `[n, ..row]`, for programs that keep nulls elsewhere. The elements of null
    /// rows can have any value.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float32Array};
    /// use arrow_schema::{DataType, Field};
    /// use broadloom_arrow::{Column, column_of_array};
    /// use std::sync::Arc;
    /// let x: ArrayRef = Arc::new(Float32Array::from(vec![3.0, 4.0]));
    /// let array = Column::new(&Field::new("x", DataType::Float32, false), &x)?.to_array()?;
    /// assert_eq!(array.as_slice::<f32>(), Some([3.0, 4.0].as_slice()));
    /// assert_eq!(&column_of_array("x", array)?, &x);
    /// # Ok::<(), broadloom_arrow::ColumnError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error only if the column is damaged.
    pub fn to_array(&self) -> Result<AnyArray, ColumnError> {
        self.data().to_array(self)
    }

    /// Returns the elements for a kernel: borrowed, or truth values that are unpacked from bits.
    pub(crate) fn data(&self) -> Data<'_> {
        macro_rules! values {
            ($($dtype:ident $arrow:ident $primitive:ident),*) => {
                match self.kind.dtype {
                    $(DType::$dtype => Data::$dtype(self.elements.as_primitive::<$primitive>().values()),)*
                    DType::Bool => Data::Bool(self.elements.as_boolean().values().iter().collect()),
                    // No column has this dtype.
                    DType::Bf16 => Data::Bool(Vec::new()),
                }
            };
        }
        for_each_primitive!(values)
    }

    /// Appends the elements as little-endian bytes, those of a repeated row for each row.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        let times = if self.is_repeated { self.rows } else { 1 };
        macro_rules! write {
            ($($dtype:ident $arrow:ident $primitive:ident),*) => {
                match self.data() {
                    Data::Bool(elements) => {
                        (0..times).for_each(|_| bytes.extend(elements.iter().map(|element| u8::from(*element))));
                    }
                    $(Data::$dtype(elements) => {
                        (0..times).for_each(|_| bytes.extend(elements.iter().flat_map(|element| element.to_le_bytes())));
                    })*
                }
            };
        }
        for_each_primitive!(write);
    }

    /// Returns the shape, and the strides if the only row is repeated.
    fn layout(&self) -> (Vec<usize>, Option<Vec<isize>>) {
        let shape: Vec<usize> = std::iter::once(self.rows).chain(self.row.iter().copied()).collect();
        let strides = self.is_repeated.then(|| {
            let mut strides = vec![0isize; shape.len()];
            let mut step = 1isize;
            for axis in (1..shape.len()).rev() {
                strides[axis] = step;
                step = step.saturating_mul(isize::try_from(shape[axis]).unwrap_or(isize::MAX));
            }
            strides
        });
        (shape, strides)
    }
}

macro_rules! define_data {
    ($($dtype:ident $arrow:ident $primitive:ident),*) => {
        /// The elements of a column while a kernel runs.
        pub(crate) enum Data<'a> {
            Bool(Vec<bool>),
            $($dtype(&'a [<$primitive as ArrowPrimitiveType>::Native]),)*
        }

        impl Data<'_> {
            /// Returns them in the layout of the column.
            pub(crate) fn view(&self, column: &Column) -> Result<ArrayView<'_>, LayoutError> {
                let (shape, strides) = column.layout();
                match (self, strides) {
                    (Data::Bool(elements), None) => ArrayView::new(elements, &shape),
                    (Data::Bool(elements), Some(strides)) => ArrayView::strided(elements, 0, &shape, &strides),
                    $((Data::$dtype(elements), None) => ArrayView::new(elements, &shape),
                    (Data::$dtype(elements), Some(strides)) => ArrayView::strided(elements, 0, &shape, &strides),)*
                }
            }

            /// Copies them, those of a repeated row for each row.
            fn to_array(&self, column: &Column) -> Result<AnyArray, ColumnError> {
                let times = if column.is_repeated { column.rows } else { 1 };
                let (shape, _) = column.layout();
                Ok(match self {
                    Data::Bool(elements) => AnyArray::from(Array::new(elements.repeat(times), &shape)?),
                    $(Data::$dtype(elements) => AnyArray::from(Array::new(elements.repeat(times), &shape)?),)*
                })
            }
        }

        /// Makes a column of a result; a total becomes one row. Only truth values are copied, to pack them into bits.
        pub(crate) fn column_of(
            name: &str,
            array: AnyArray,
            has_rows: bool,
            nulls: Option<NullBuffer>,
        ) -> Result<ArrayRef, ColumnError> {
            let (rows, row) = match array.shape().split_first() {
                Some((rows, row)) if has_rows => (*rows, row.to_vec()),
                _ => (1, array.shape().to_vec()),
            };
            let own = if row.is_empty() { nulls.clone() } else { None };
            let elements: ArrayRef = match array.dtype() {
                DType::Bool => {
                    let bits = BooleanBuffer::from(array.into_array::<bool>()?.into_vec());
                    Arc::new(BooleanArray::new(bits, own))
                }
                $(DType::$dtype => {
                    let elements = array.into_array::<<$primitive as ArrowPrimitiveType>::Native>()?.into_vec();
                    Arc::new(PrimitiveArray::<$primitive>::new(ScalarBuffer::from(elements), own))
                })*
                DType::Bf16 => return Err(ColumnError::Bf16 { output: name.to_owned() }),
            };
            rows_of(elements, &row, rows, nulls)
        }
    };
}
for_each_primitive!(define_data);

/// Makes a column without nulls of an array whose leading axis has the rows, as [`Column::to_array`] gives it. An array
/// without axes becomes one row. Only truth values are copied, to pack them into bits.
///
/// # Errors
/// Returns an error if Arrow does not have the dtype, or cannot count the elements of a row; `name` is the name of the
/// array in messages.
pub fn column_of_array(name: &str, array: AnyArray) -> Result<ArrayRef, ColumnError> {
    column_of(name, array, true, None)
}

/// Returns the elements of fixed-size lists, or the array itself.
fn innermost(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::FixedSizeList(..) => array.as_fixed_size_list().values().clone(),
        _ => array,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{FixedSizeListArray, Float32Array};

    #[test]
    fn nothing_is_copied_in_or_out() {
        let values = Float32Array::from((0..24).map(|value| value as f32).collect::<Vec<_>>());
        let start = values.values().as_ptr();
        let item = Arc::new(Field::new_list_field(DataType::Float32, true));
        let lists = FixedSizeListArray::new(item, 3, Arc::new(values.clone()), None).slice(2, 5);
        for (array, skipped) in [(Arc::new(values.slice(7, 9)) as ArrayRef, 7), (Arc::new(lists), 6)] {
            let column = Column::new(&Field::new("x", array.data_type().clone(), true), &array).unwrap();
            let Data::F32(elements) = column.data() else { panic!("the elements are f32") };
            assert_eq!(elements.as_ptr(), start.wrapping_add(skipped));
        }
        let result = AnyArray::from(Array::new(vec![1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap());
        let start = result.as_ptr();
        let column = column_of("x", result, true, None).unwrap();
        let elements = column.as_fixed_size_list().values().as_primitive::<Float32Type>().values().as_ptr();
        assert_eq!(elements.cast(), start);
    }
}
