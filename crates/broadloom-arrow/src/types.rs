//! The types of columns as tensors: a dtype, and the shape of one row.

use crate::error::ColumnError;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef};
use broadloom::DType;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The name of Arrow's extension type for rows with several axes.
const FIXED_SHAPE_TENSOR: &str = "arrow.fixed_shape_tensor";

/// The type of a column as a tensor `[n, ..row]`.
///
/// ```
/// use arrow_schema::{DataType, Field, FieldRef};
/// use broadloom_arrow::ColumnType;
/// let embedding = DataType::new_fixed_size_list(DataType::Float32, 3, true);
/// let column = ColumnType::of(&Field::new("embedding", embedding, true))?;
/// assert_eq!(column.to_string(), "f32[n, 3]");
/// let embedding = DataType::new_list(DataType::Float32, true);
/// let column = ColumnType::of(&Field::new("embedding", embedding, true))?;
/// assert_eq!(column.to_string(), "f32[n, _]");
/// # Ok::<(), broadloom_arrow::ColumnError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnType {
    /// The dtype of the elements.
    pub dtype: DType,
    /// The shape of a row: empty for numbers. The length of lists that have no fixed size is `None`: the rows of a batch have
    /// one length, and other batches may have another.
    pub row: Vec<Option<usize>>,
}

/// Pairs each dtype with Arrow's type.
macro_rules! for_each_primitive {
    ($callback:ident) => {
        $callback! {
            I8 Int8 Int8Type, I16 Int16 Int16Type, I32 Int32 Int32Type, I64 Int64 Int64Type,
            U8 UInt8 UInt8Type, U16 UInt16 UInt16Type, U32 UInt32 UInt32Type, U64 UInt64 UInt64Type,
            F16 Float16 Float16Type, F32 Float32 Float32Type, F64 Float64 Float64Type
        }
    };
}
pub(crate) use for_each_primitive;

macro_rules! define_elements {
    ($($dtype:ident $arrow:ident $primitive:ident),*) => {
        /// Returns the dtype of elements of an Arrow type.
        fn dtype_of(data_type: &DataType) -> Option<DType> {
            match data_type {
                DataType::Boolean => Some(DType::Bool),
                $(DataType::$arrow => Some(DType::$dtype),)*
                _ => None,
            }
        }

        /// Returns the Arrow type of elements; `None` for bf16.
        pub(crate) fn element_type(dtype: DType) -> Option<DataType> {
            match dtype {
                DType::Bool => Some(DataType::Boolean),
                $(DType::$dtype => Some(DataType::$arrow),)*
                DType::Bf16 => None,
            }
        }
    };
}
for_each_primitive!(define_elements);

impl ColumnType {
    /// Returns the type of a column: a primitive type, `Boolean`, lists of these, nested or not, and
    /// `arrow.fixed_shape_tensor`.
    ///
    /// # Errors
    /// Returns an error that says what to cast other types to.
    pub fn of(field: &Field) -> Result<ColumnType, ColumnError> {
        let unsupported = |help: String| ColumnError::Unsupported {
            column: field.name().clone(),
            found: field.data_type().clone(),
            help,
        };
        let mut row = Vec::new();
        let mut data_type = field.data_type();
        loop {
            data_type = match data_type {
                DataType::FixedSizeList(item, size) => {
                    let size = usize::try_from(*size);
                    row.push(Some(size.map_err(|_| unsupported("its size is negative".to_owned()))?));
                    item.data_type()
                }
                DataType::List(item) | DataType::LargeList(item) => {
                    row.push(None);
                    item.data_type()
                }
                _ => break,
            };
        }
        let dtype = dtype_of(data_type).ok_or_else(|| unsupported(help(data_type)))?;
        let is_tensor = field.metadata().get(EXTENSION_TYPE_NAME_KEY).map(String::as_str);
        if is_tensor == Some(FIXED_SHAPE_TENSOR)
            && let [Some(elements)] = row[..]
        {
            let metadata = field.metadata().get(EXTENSION_TYPE_METADATA_KEY).map_or("{}", String::as_str);
            let shape = tensor_shape(metadata, elements).map_err(|what| unsupported(what.to_owned()))?;
            row = shape.into_iter().map(Some).collect();
        }
        Ok(ColumnType { dtype, row })
    }

    /// Returns the type of rows with this shape.
    ///
    /// ```
    /// use broadloom::DType;
    /// use broadloom_arrow::ColumnType;
    /// let tensor = ColumnType::fixed(DType::F64, &[2, 3]);
    /// assert_eq!((tensor.to_string().as_str(), tensor.elements()), ("f64[n, 2, 3]", Some(6)));
    /// ```
    pub fn fixed(dtype: DType, row: &[usize]) -> ColumnType {
        ColumnType { dtype, row: row.iter().copied().map(Some).collect() }
    }

    /// Returns whether all batches have rows of one shape: there are no lists without a fixed size.
    pub fn is_fixed(&self) -> bool {
        self.row.iter().all(Option::is_some)
    }

    /// Returns the shape of a row, if it is fixed.
    pub fn sizes(&self) -> Option<Vec<usize>> {
        self.row.iter().copied().collect()
    }

    /// Returns the number of elements in a row, if its shape is fixed.
    pub fn elements(&self) -> Option<usize> {
        self.row.iter().try_fold(1, |count: usize, size| Some(count.saturating_mul((*size)?)))
    }

    /// Returns the field of a column: rows with one axis are fixed-size lists, rows with more axes
    /// `arrow.fixed_shape_tensor`. If the shape is not fixed, they are [nested lists](ColumnType::nested_field).
    ///
    /// # Errors
    /// Returns an error if Arrow does not have the dtype, or cannot count the elements of a row.
    pub fn field(&self, name: &str, is_nullable: bool) -> Result<Field, ColumnError> {
        let Some(elements) = self.elements().filter(|_| self.row.len() > 1) else {
            return self.nested_field(name, is_nullable);
        };
        let flat = ColumnType::fixed(self.dtype, &[elements]);
        let shape = serde_json::json!({ "shape": self.row }).to_string();
        Ok(flat.nested_field(name, is_nullable)?.with_metadata(HashMap::from([
            (EXTENSION_TYPE_NAME_KEY.to_owned(), FIXED_SHAPE_TENSOR.to_owned()),
            (EXTENSION_TYPE_METADATA_KEY.to_owned(), shape),
        ])))
    }

    /// Returns the field of a column whose rows with several axes are lists of lists, for libraries without tensors. A list
    /// without a fixed size is a `List`.
    ///
    /// ```
    /// use broadloom::DType;
    /// use broadloom_arrow::ColumnType;
    /// let matrix = ColumnType::fixed(DType::F32, &[2, 3]).nested_field("x", true)?;
    /// assert_eq!(matrix.data_type().to_string(), "FixedSizeList(2 x FixedSizeList(3 x Float32))");
    /// # Ok::<(), broadloom_arrow::ColumnError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if Arrow does not have the dtype, or cannot count the elements of a row.
    pub fn nested_field(&self, name: &str, is_nullable: bool) -> Result<Field, ColumnError> {
        let element =
            element_type(self.dtype).ok_or_else(|| ColumnError::Bf16 { output: name.to_owned() })?;
        let too_wide = || ColumnError::TooWide { output: name.to_owned() };
        // A list counts all elements in it.
        if self.elements().is_some_and(|elements| i32::try_from(elements).is_err()) {
            return Err(too_wide());
        }
        let list = |element: DataType, size: &Option<usize>| -> Result<DataType, ColumnError> {
            Ok(match size {
                Some(size) => {
                    DataType::FixedSizeList(item(element), i32::try_from(*size).map_err(|_| too_wide())?)
                }
                None => DataType::List(item(element)),
            })
        };
        let nested = self.row.iter().rev().try_fold(element, list);
        Ok(Field::new(name, nested?, is_nullable))
    }
}

impl fmt::Display for ColumnType {
    /// Prints `f32[n, 3]`, and `_` for a size that is not fixed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[n", self.dtype)?;
        self.row.iter().try_for_each(|size| match size {
            Some(size) => write!(f, ", {size}"),
            None => f.write_str(", _"),
        })?;
        f.write_str("]")
    }
}

/// Returns the field of the elements in the rows of a column. None of them is null, but pyarrow finds the tensors of a Parquet
/// file only where they could be.
pub(crate) fn item(element: DataType) -> FieldRef {
    Arc::new(Field::new_list_field(element, true))
}

/// Returns the shape in the metadata of a fixed-shape tensor with `elements` elements.
fn tensor_shape(metadata: &str, elements: usize) -> Result<Vec<usize>, &'static str> {
    let damaged = "its metadata are damaged: write them as {\"shape\": [2, 3]}";
    let metadata: serde_json::Value = serde_json::from_str(metadata).map_err(|_| damaged)?;
    let numbers = |key: &str| -> Option<Vec<usize>> {
        let list = metadata.get(key)?.as_array()?.iter();
        list.map(|size| usize::try_from(size.as_u64()?).ok()).collect()
    };
    let shape = numbers("shape").ok_or(damaged)?;
    let count = shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
    if count != Some(elements) {
        return Err("its shape does not have the elements of the list: correct its metadata");
    }
    // Arrow's specification has the first name, its implementation in Rust the second.
    let orders = ["permutation", "permutations"].into_iter().filter_map(numbers);
    let is_in_order = orders.flatten().zip((0..shape.len()).cycle()).all(|(of, axis)| of == axis);
    if is_in_order {
        Ok(shape)
    } else {
        Err("its axes are permuted: store them in row-major order, without `permutation`")
    }
}

/// Returns what to do with a column of a type that is not supported.
fn help(data_type: &DataType) -> String {
    let cast = |to: &str, sql: &str| format!("cast it to {to} first, in SQL with `CAST(.. AS {sql})`");
    match data_type {
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => cast("Float64", "DOUBLE"),
        DataType::Dictionary(_, values) => format!("cast it to {values}, the type of its values, first"),
        DataType::RunEndEncoded(_, values) => {
            format!("cast it to {}, the type of its values, first", values.data_type())
        }
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_) => cast("Int64", "BIGINT"),
        DataType::ListView(item) | DataType::LargeListView(item) => {
            format!("cast it to a list first, in SQL with `arrow_cast(.., 'List({})')`", item.data_type())
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => cast("a number", "DOUBLE"),
        DataType::Null => cast("a type", "DOUBLE"),
        _ => "pass a column of numbers, truth values, or lists of them".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_but_bf16_has_an_arrow_type() {
        for dtype in DType::ALL {
            match element_type(*dtype) {
                Some(element) => assert_eq!(dtype_of(&element), Some(*dtype)),
                None => assert_eq!(*dtype, DType::Bf16),
            }
        }
    }

    #[test]
    fn hostile_metadata_are_refused() {
        for (metadata, elements) in [
            ("", 6),
            ("[]", 6),
            ("{\"shape\": 6}", 6),
            ("{\"shape\": [-2, -3]}", 6),
            ("{\"shape\": [4294967296, 4294967296]}", 0),
            ("{\"shape\": [2, 2]}", 6),
            ("{\"shape\": [2, 3], \"permutation\": [1, 0]}", 6),
            ("{\"shape\": [2, 3], \"permutations\": [1, 0]}", 6),
        ] {
            assert!(tensor_shape(metadata, elements).is_err(), "{metadata}");
        }
        assert_eq!(tensor_shape("{\"shape\": [2, 3], \"permutation\": [0, 1]}", 6), Ok(vec![2, 3]));
    }
}
