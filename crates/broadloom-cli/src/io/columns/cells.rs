//! Columns of files as cells: texts, and dates as numbers.

use crate::io::table::cells::{Cell, Reads};
use crate::io::table::dates::Instant;
use crate::io::table::numbers::Spelling;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{AnyDictionaryArray, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use std::borrow::Cow;
use std::fmt::Display;

/// Texts, `None` where they are null.
type Texts<'a> = Box<dyn Iterator<Item = Option<Cow<'a, str>>> + 'a>;

/// Whether cells of a type are texts, or are written as texts: integers and truth values.
pub fn have_texts(kind: &DataType) -> bool {
    let is_text = matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    is_text || kind.is_integer() || *kind == DataType::Boolean
}

/// The texts of a column; those of integers and truth values are as in a .csv.
pub fn texts(array: &ArrayRef) -> Texts<'_> {
    let borrowed = |text: Option<_>| text.map(Cow::Borrowed);
    if let Some(codes) = array.as_any_dictionary_opt() {
        // Rows share their texts, which may be long.
        let values: Vec<_> = texts(codes.values()).collect();
        return Box::new(positions(codes).into_iter().map(move |at| values.get(at?).cloned().flatten()));
    }
    match array.data_type() {
        DataType::Utf8 => Box::new(array.as_string::<i32>().iter().map(borrowed)),
        DataType::LargeUtf8 => Box::new(array.as_string::<i64>().iter().map(borrowed)),
        DataType::Utf8View => Box::new(array.as_string_view().iter().map(borrowed)),
        DataType::Int8 => digits::<Int8Type>(array),
        DataType::Int16 => digits::<Int16Type>(array),
        DataType::Int32 => digits::<Int32Type>(array),
        DataType::Int64 => digits::<Int64Type>(array),
        DataType::UInt8 => digits::<UInt8Type>(array),
        DataType::UInt16 => digits::<UInt16Type>(array),
        DataType::UInt32 => digits::<UInt32Type>(array),
        DataType::UInt64 => digits::<UInt64Type>(array),
        DataType::Boolean => {
            let name = |truth: bool| Cow::Borrowed(if truth { "True" } else { "False" });
            Box::new(array.as_boolean().iter().map(move |truth| truth.map(name)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// The positions of the values of codes, `None` where they are null.
pub fn positions(codes: &dyn AnyDictionaryArray) -> Vec<Option<usize>> {
    if codes.values().is_empty() {
        return vec![None; codes.len()];
    }
    let nulls = codes.nulls();
    let is_valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let places = codes.normalized_keys().into_iter().enumerate();
    places.map(|(row, place)| is_valid(row).then_some(place)).collect()
}

fn digits<T: ArrowPrimitiveType>(array: &ArrayRef) -> Texts<'_>
where
    T::Native: Display,
{
    let integers = array.as_primitive::<T>().iter();
    Box::new(integers.map(|integer| integer.map(|integer| Cow::Owned(integer.to_string()))))
}

/// The dates of a column as numbers, with their texts if they are texts or digits.
pub fn dates<'a>(
    array: &'a ArrayRef,
    reads: Reads,
    spelling: &'a Spelling,
) -> Box<dyn Iterator<Item = (Cell, Cow<'a, str>)> + 'a> {
    match array.data_type() {
        DataType::Date32 => instants::<Date32Type>(array, reads, Instant::day),
        DataType::Date64 => instants::<Date64Type>(array, reads, |count| Instant::at(count, 1000)),
        DataType::Timestamp(TimeUnit::Second, _) => {
            instants::<TimestampSecondType>(array, reads, |count| Instant::at(count, 1))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            instants::<TimestampMillisecondType>(array, reads, |count| Instant::at(count, 1000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            instants::<TimestampMicrosecondType>(array, reads, |count| Instant::at(count, 1_000_000))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            instants::<TimestampNanosecondType>(array, reads, |count| Instant::at(count, 1_000_000_000))
        }
        _ => Box::new(texts(array).map(move |text| {
            let text = text.unwrap_or_default();
            (reads.read(&text, spelling), text)
        })),
    }
}

fn instants<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    reads: Reads,
    instant: fn(T::Native) -> Instant,
) -> Box<dyn Iterator<Item = (Cell, Cow<'_, str>)> + '_> {
    let dates = array.as_primitive::<T>().iter();
    let cell = move |date: Option<_>| date.map_or(Cell::Missing, |date| reads.at(instant(date)));
    Box::new(dates.map(move |date| (cell(date), Cow::Borrowed(""))))
}
