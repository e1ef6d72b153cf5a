//! A cell of a table as text. Long lists are shortened as NumPy prints arrays.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StructArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::Result;

/// The most elements of a list that are all printed.
const ALL: usize = 1000;
/// The elements at each end of a list that is shortened.
const EDGE: usize = 3;

/// The cells of a column.
pub(crate) struct Cells<'a> {
    array: &'a dyn Array,
    formatter: ArrayFormatter<'a>,
}

impl<'a> Cells<'a> {
    pub(crate) fn new(array: &'a dyn Array) -> Result<Cells<'a>> {
        Ok(Cells { array, formatter: ArrayFormatter::try_new(array, &FormatOptions::default())? })
    }

    /// Returns the text of a row.
    pub(crate) fn text(&self, row: usize) -> Result<String> {
        match elements(&self.array.slice(row, 1)) > ALL {
            true => shortened(self.array, row),
            false => Ok(self.formatter.value(row).to_string()),
        }
    }
}

/// Returns the number of elements of the lists in an array, in all depths, or some number above [`ALL`].
fn elements(array: &dyn Array) -> usize {
    if !array.data_type().is_nested() {
        return 0;
    }
    if let Some(fields) = array.as_any().downcast_ref::<StructArray>() {
        return fields.columns().iter().map(|column| elements(column)).sum();
    }
    let mut count = 0;
    for list in (0..array.len()).filter_map(|row| list(array, row)) {
        count += elements(&list).max(list.len());
        if count > ALL {
            break;
        }
    }
    count
}

/// Returns the elements of a row that is a list.
fn list(array: &dyn Array, row: usize) -> Option<ArrayRef> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::List(_) => Some(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Some(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => Some(array.as_fixed_size_list().value(row)),
        _ => None,
    }
}

fn shortened(array: &dyn Array, row: usize) -> Result<String> {
    if let Some(fields) = array.as_any().downcast_ref::<StructArray>()
        && fields.is_valid(row)
    {
        let texts = fields.columns().iter().zip(fields.column_names());
        let texts = texts.map(|(column, name)| Ok(format!("{name}: {}", shortened(column, row)?)));
        return Ok(format!("{{{}}}", texts.collect::<Result<Vec<String>>>()?.join(", ")));
    }
    let Some(list) = list(array, row) else {
        let one = array.slice(row, 1);
        return Ok(ArrayFormatter::try_new(&one, &FormatOptions::default())?.value(0).to_string());
    };
    let length = list.len();
    let mut texts = Vec::new();
    for at in 0..length {
        if length > 2 * EDGE && at == EDGE {
            texts.push("...".to_owned());
        }
        if length <= 2 * EDGE || at < EDGE || at >= length - EDGE {
            texts.push(shortened(&list, at)?);
        }
    }
    Ok(format!("[{}]", texts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{FixedSizeListArray, Float64Array, Int64Array, ListArray};
    use datafusion::arrow::buffer::OffsetBuffer;
    use datafusion::arrow::datatypes::Field;
    use std::sync::Arc;

    fn fixed(values: ArrayRef, size: i32) -> ArrayRef {
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        Arc::new(FixedSizeListArray::new(item, size, values, None))
    }

    fn text(array: &dyn Array, row: usize) -> String {
        Cells::new(array).unwrap().text(row).unwrap()
    }

    #[test]
    fn long_lists_are_shortened_as_numpy_does() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..4004));
        // NumPy: print(np.arange(2002)), [   0    1    2 ... 1999 2000 2001]
        assert_eq!(text(&fixed(numbers.clone(), 2002), 1), "[2002, 2003, 2004, ..., 4001, 4002, 4003]");
        let short = fixed(numbers.slice(0, 1000), 1000);
        assert!(!text(&short, 0).contains("...") && text(&short, 0).ends_with(", 999]"));
        let item = Arc::new(Field::new("item", DataType::Int64, true));
        let lists = ListArray::new(item, OffsetBuffer::from_lengths([2, 1500]), numbers.slice(0, 1502), None);
        assert_eq!(text(&lists, 0), "[0, 1]");
        assert_eq!(text(&lists, 1), "[2, 3, 4, ..., 1499, 1500, 1501]");
        // Axes of up to six elements are printed as a whole, as NumPy does.
        let nested = fixed(fixed(numbers.slice(0, 2002), 1001), 2);
        assert_eq!(
            text(&nested, 0),
            "[[0, 1, 2, ..., 998, 999, 1000], [1001, 1002, 1003, ..., 1999, 2000, 2001]]"
        );
    }

    #[test]
    fn other_cells_are_those_of_arrow_and_a_cell_of_millions_is_quick() {
        assert_eq!(text(&Float64Array::from(vec![Some(0.1), None]), 0), "0.1");
        assert_eq!(text(&Float64Array::from(vec![Some(0.1), None]), 1), "");
        let start = std::time::Instant::now();
        let million = fixed(Arc::new(Float64Array::from(vec![0.5; 10_000_000])), 10_000_000);
        assert_eq!(text(&million, 0), "[0.5, 0.5, 0.5, ..., 0.5, 0.5, 0.5]");
        assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
    }
}
