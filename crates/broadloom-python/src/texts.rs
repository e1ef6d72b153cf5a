//! Columns of text as arguments of programs: codes, and the texts that they index.

use crate::array::is_number_array;
use broadloom_text::TextList;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use std::sync::Arc;

/// A column of text.
pub struct TextColumn<'py> {
    /// The positions of the elements among the texts.
    pub codes: Bound<'py, PyAny>,
    /// In order, without repetition.
    pub texts: TextList,
}

impl<'py> TextColumn<'py> {
    /// Returns the column of text that an object is; `None` if it is something else.
    ///
    /// # Errors
    /// Returns an error for a column of text with elements that are missing.
    pub fn of(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Option<TextColumn<'py>>> {
        let is_number = object.is_exact_instance_of::<PyFloat>()
            || object.is_exact_instance_of::<PyInt>()
            || object.is_exact_instance_of::<PyBool>();
        if is_number || is_number_array(object) {
            return Ok(None);
        }
        let found = module(object.py())?.call_method1("encoded", (name, object))?;
        if found.is_none() {
            return Ok(None);
        }
        let (codes, texts): (Bound<'py, PyAny>, Vec<String>) = found.extract()?;
        let texts: Vec<Box<str>> = texts.into_iter().map(String::into_boxed_str).collect();
        Ok(Some(TextColumn { codes, texts: texts.into() }))
    }

    /// Makes the codes those of the same elements among more texts.
    ///
    /// # Errors
    /// Returns an error if NumPy does.
    pub fn join(&mut self, joined: &TextList) -> PyResult<()> {
        let module = module(self.codes.py())?;
        self.codes = module.call_method1("recoded", (&self.codes, list(&self.texts), list(joined)))?;
        self.texts = Arc::clone(joined);
        Ok(())
    }
}

/// Returns the elements of a result that is text.
///
/// # Errors
/// Returns an error if NumPy does.
pub fn decoded<'py>(codes: &Bound<'py, PyAny>, texts: &TextList) -> PyResult<Bound<'py, PyAny>> {
    module(codes.py())?.call_method1("decoded", (codes, list(texts)))
}

fn list(texts: &TextList) -> Vec<&str> {
    texts.iter().map(|text| &**text).collect()
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("broadloom._texts")
}
