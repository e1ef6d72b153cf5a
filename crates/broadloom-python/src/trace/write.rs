//! Python objects as the text of a program.

use super::{Trace, Value};
use crate::array::Operand;
use crate::dtype;
use crate::error::Class;
use broadloom::DType;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyEllipsis, PyFloat, PyInt, PyList, PySlice, PyString, PyTuple};
use std::fmt::Write as _;

/// Most brackets within each other in the arguments of one operation.
const MAX_NESTING: usize = 32;

/// Names that mean something in programs without being functions or dtypes.
const RESERVED: &[&str] = &[
    "symbols",
    "parameters",
    "assume",
    "input",
    "let",
    "output",
    "assign",
    "result",
    "for",
    "loop",
    "while",
    "next",
    "stack",
    "end",
    "in",
    "with",
    "newaxis",
    "np",
    "inf",
    "nan",
    "pi",
    "e",
];

/// Whether a text is a name that means nothing else in the language.
pub fn is_plain(name: &str) -> bool {
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    begins
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && broadloom_text::dtype(name).is_none()
        && !RESERVED.contains(&name)
        && broadloom_text::own_name(name).is_none()
}

/// Writes an argument as it stands in a program.
pub fn write_value(
    trace: &Bound<'_, Trace>,
    value: &Bound<'_, PyAny>,
    text: &mut String,
    depth: usize,
) -> PyResult<()> {
    let py = value.py();
    if let Ok(value) = value.cast::<Value>() {
        text.push_str(&value.get().name_in(trace)?);
    } else if value.is_none() {
        text.push_str("None");
    } else if value.is_instance_of::<PyEllipsis>() {
        text.push_str("...");
    } else if let Ok(value) = value.cast_exact::<PyBool>() {
        text.push_str(if value.is_true() { "True" } else { "False" });
    } else if value.is_exact_instance_of::<PyInt>() {
        let number: i128 = value.extract().map_err(|_| {
            Class::Value.error(py, "the integer is out of range: integers of programs have at most 128 bits")
        })?;
        if number < 0 { write!(text, "({number})") } else { write!(text, "{number}") }.ok();
    } else if let Ok(value) = value.cast_exact::<PyFloat>() {
        write_float(value.value(), text);
    } else if let Ok(value) = value.cast::<PyString>() {
        let value = value.to_str()?;
        if value.contains(['\'', '\\', '"', '\n']) {
            return Err(Class::Value.error(py, format!("the text {value:?} cannot be an argument")));
        }
        write!(text, "'{value}'").ok();
    } else if value.is_exact_instance_of::<PyTuple>() || value.is_exact_instance_of::<PyList>() {
        if depth == MAX_NESTING {
            return Err(Class::Value.error(py, "lists are nested too deeply: pass an array, `np.array(..)`"));
        }
        text.push('[');
        for (position, item) in value.try_iter()?.enumerate() {
            if position > 0 {
                text.push_str(", ");
            }
            write_value(trace, &item?, text, depth + 1)?;
        }
        text.push(']');
    } else if let Some(dtype) = named_dtype(value)? {
        write!(text, "{dtype}").ok();
    } else if let Some(array) = Operand::of(value)? {
        text.push_str(&trace.get().capture(py, value, &array)?);
    } else if value.is_instance_of::<PyComplex>() {
        let text =
            "complex numbers are not supported: compute with the real and the imaginary part as two arrays";
        return Err(Class::DType.error(py, text));
    } else {
        let class = value.get_type().name()?;
        let text = format!("an object of the class {class} cannot be an operand: pass arrays and numbers");
        return Err(Class::DType.error(py, text));
    }
    Ok(())
}

fn write_float(value: f64, text: &mut String) {
    match (value.is_nan(), value.is_infinite(), value.is_sign_negative()) {
        (true, ..) => text.push_str("nan"),
        (_, true, negative) => text.push_str(if negative { "(-inf)" } else { "inf" }),
        (.., true) => write!(text, "({value:?})").unwrap_or_default(),
        _ => write!(text, "{value:?}").unwrap_or_default(),
    }
}

/// The dtype that an object is: one of NumPy's, or a class of its scalars or of Python's numbers.
fn named_dtype(object: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    let is_dtype = object.is_instance_of::<numpy::PyArrayDescr>();
    let is_class = object.is_instance_of::<pyo3::types::PyType>();
    if is_dtype || is_class { dtype::of_object(object).map(Some) } else { Ok(None) }
}

/// What stands between the brackets of an index.
pub fn items_text(trace: &Bound<'_, Trace>, items: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut text = String::new();
    match items.cast::<PyTuple>() {
        Ok(items) if items.is_empty() => text.push_str("..."),
        Ok(items) => {
            for item in items {
                write_item(trace, &item, &mut text)?;
                text.push_str(", ");
            }
            text.truncate(text.len() - 2);
        }
        Err(_) => write_item(trace, items, &mut text)?,
    }
    Ok(text)
}

fn write_item(trace: &Bound<'_, Trace>, item: &Bound<'_, PyAny>, text: &mut String) -> PyResult<()> {
    let py = item.py();
    if let Ok(slice) = item.cast::<PySlice>() {
        for (position, name) in ["start", "stop", "step"].into_iter().enumerate() {
            let bound = slice.getattr(name)?;
            if position > 0 {
                text.push(':');
            }
            if !bound.is_none() {
                write_integer(trace, &bound, text)?;
            }
        }
        return Ok(());
    }
    if item.is_instance_of::<PyBool>() {
        let help = "an index by True or False has a size that depends on it: write `x[None]`, or `np.where`";
        return Err(Class::Tracing.error(py, help));
    }
    write_integer(trace, item, text)
}

/// Writes an integer of any class, such as NumPy's, as one of Python's; other items as they are.
fn write_integer(trace: &Bound<'_, Trace>, item: &Bound<'_, PyAny>, text: &mut String) -> PyResult<()> {
    let is_scalar = item.is_instance(&crate::array::numpy_module(item.py())?.getattr("integer")?)?;
    if is_scalar {
        return write_value(trace, &item.call_method0("item")?, text, 0);
    }
    write_value(trace, item, text, 0)
}
