//! Loops of a trace: lines between `for` or `loop` and `end`.

use super::write::write_value;
use super::{Trace, Value, wrap};
use crate::dtype;
use broadloom::DType;
use broadloom_text::Defined;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList};
use std::collections::HashMap;

/// A loop whose steps are being traced.
pub(super) struct OpenLoop {
    carried: Vec<CarriedName>,
    /// The program before the loop, as its length and its number of lines.
    text: usize,
    lines: usize,
    /// What was known before.
    known: HashMap<String, String>,
    sizes: HashMap<String, String>,
    /// The numbers of captured arrays and of inputs before the loop.
    captured: usize,
    inputs: usize,
}

struct CarriedName {
    name: String,
    /// Whether its first value is a number, which takes the dtype of what follows it.
    is_number: bool,
}

/// What a loop begins with, for a function of Python's.
pub(super) type Begun<'py> = (Bound<'py, PyAny>, Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>);

impl Trace {
    /// Begins a loop of `count` steps, or of one for each row of arrays, or of as many as a condition asks for. `dtypes` are those
    /// of carried numbers, where they are known. Returns the counter, the rows and the carried values.
    pub(super) fn open_loop<'py>(
        slf: &Bound<'py, Trace>,
        count: Option<&Bound<'py, PyAny>>,
        rows: &[Bound<'py, PyAny>],
        carried: &[Bound<'py, PyAny>],
        dtypes: &[Option<DType>],
    ) -> PyResult<Begun<'py>> {
        let py = slf.py();
        let text_of = |value: &Bound<'py, PyAny>| {
            let mut text = String::new();
            write_value(slf, value, &mut text, 0).map(|()| text)
        };
        let mut pairs = Vec::new();
        let mut names = Vec::new();
        for (value, dtype) in carried.iter().zip(dtypes) {
            let (name, mut text) = (slf.get().fresh(py, None), text_of(value)?);
            if let Some(dtype) = dtype {
                text = format!("full((), {text}, dtype={dtype})");
            }
            let is_number = dtype.is_none() && is_number(value);
            pairs.push(format!("{name} = {text}"));
            names.push(CarriedName { name, is_number });
        }
        let with = if pairs.is_empty() { String::new() } else { format!(" with {}", pairs.join(", ")) };
        let arrays = rows.iter().map(text_of).collect::<PyResult<Vec<String>>>()?;
        let counter = slf.get().fresh(py, None);
        let of_rows: Vec<String> = rows.iter().map(|_| slf.get().fresh(py, None)).collect();
        let line = match count {
            Some(count) => format!("for {counter} in range({}){with}", text_of(count)?),
            None if rows.is_empty() => format!("loop{with}"),
            None => {
                let all: Vec<&str> = std::iter::once(&counter).chain(&of_rows).map(String::as_str).collect();
                format!("for {} in enumerate({}){with}", all.join(", "), arrays.join(", "))
            }
        };
        let (text, lines) = slf.get().session(py, |session| (session.text().len(), session.lines()))?;
        slf.get().with(py, |state| {
            let (known, sizes) = (state.known.clone(), state.sizes.clone());
            let (captured, inputs, carried) = (state.captured.len(), state.inputs.len(), Vec::new());
            state.loops.push(OpenLoop { carried, text, lines, known, sizes, captured, inputs });
        });
        if let Err(error) = slf.get().run(py, &line) {
            slf.get().abandon(py)?;
            return Err(error);
        }
        let counter = match count.is_some() || !rows.is_empty() {
            true => wrap(slf, &counter)?,
            false => py.None().into_bound(py),
        };
        let of_rows = of_rows.iter().map(|name| wrap(slf, name)).collect::<PyResult<_>>()?;
        let values = names.iter().map(|carried| wrap(slf, &carried.name)).collect::<PyResult<_>>()?;
        slf.get().with(py, |state| state.loops.iter_mut().next_back().map(|open| open.carried = names));
        Ok((counter, of_rows, values))
    }

    /// Ends the innermost loop with the values that follow the carried ones, and with values that are stacked. Returns the
    /// results; if numbers turn out to have other dtypes, forgets the loop and returns these.
    pub(super) fn close_loop<'py>(
        slf: &Bound<'py, Trace>,
        next: &[Bound<'py, PyAny>],
        stacked: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let name_of = |value: &Bound<'py, PyAny>| {
            let mut text = String::new();
            write_value(slf, value, &mut text, 0)?;
            slf.get().named(py, &text)
        };
        let next = next.iter().map(name_of).collect::<PyResult<Vec<String>>>()?;
        let stacked = stacked.iter().map(name_of).collect::<PyResult<Vec<String>>>()?;
        let carried = slf.get().with(py, |state| {
            let open = state.loops.last();
            let carried = open.into_iter().flat_map(|open| &open.carried);
            carried.map(|carried| (carried.name.clone(), carried.is_number)).collect::<Vec<_>>()
        });
        let dtype_of = |name: &str| {
            slf.get().session(py, |session| match session.get(name) {
                Some(Defined::Tensor { dtype, .. } | Defined::Number(dtype)) => Some(dtype),
                _ => None,
            })
        };
        let mut dtypes: Vec<Option<DType>> = Vec::new();
        for ((name, is_number), next) in carried.iter().zip(&next) {
            let (before, after) = (dtype_of(name)?, dtype_of(next)?);
            dtypes.push(after.filter(|_| *is_number && before != after));
        }
        if dtypes.iter().any(Option::is_some) {
            slf.get().abandon(py)?;
            let names = dtypes.iter().map(|dtype| dtype.map(|dtype| dtype.to_string()));
            return Ok(PyList::new(py, names)?.into_any());
        }
        for ((name, _), next) in carried.iter().zip(&next) {
            slf.get().run(py, &format!("next {name} = {next}"))?;
        }
        let mut results: Vec<String> = carried.into_iter().map(|(name, _)| name).collect();
        for value in &stacked {
            let name = slf.get().fresh(py, None);
            slf.get().run(py, &format!("stack {name} = {value}"))?;
            results.push(name);
        }
        let ended = slf.get().run(py, "end");
        slf.get().with(py, |state| {
            if let Some(open) = state.loops.pop() {
                // What the steps have named means nothing after them.
                (state.known, state.sizes) = (open.known, open.sizes);
            }
        });
        ended?;
        // The names of carried values mean their last values now, which have names of their own.
        let value = |name: &String| {
            let result = slf.get().fresh(py, None);
            slf.get().run(py, &format!("let {result} = {name}"))?;
            wrap(slf, &result)
        };
        let values = results.iter().map(value).collect::<PyResult<Vec<_>>>()?;
        Ok(pyo3::types::PyTuple::new(py, values)?.into_any())
    }

    /// Forgets the innermost loop.
    pub(super) fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.with(py, |state| state.loops.pop());
        let Some(open) = open else { return Ok(()) };
        self.session(py, |session| session.abandon_loop(open.text, open.lines))?;
        self.with(py, |state| {
            // Lines that declared them are gone.
            state.captured.truncate(open.captured);
            state.inputs.truncate(open.inputs);
            (state.known, state.sizes) = (open.known, open.sizes);
        });
        Ok(())
    }
}

/// Whether a value takes the dtype of what it meets.
fn is_number(value: &Bound<'_, PyAny>) -> bool {
    match value.cast::<Value>() {
        Ok(value) => matches!(value.get().place().defined, Defined::Number(_)),
        Err(_) => {
            value.is_exact_instance_of::<PyInt>()
                || value.is_exact_instance_of::<PyFloat>()
                || value.is_exact_instance_of::<PyBool>()
        }
    }
}

/// The dtypes of a list of names, or of None.
pub(super) fn dtypes(list: &[Option<Bound<'_, PyAny>>]) -> PyResult<Vec<Option<DType>>> {
    list.iter().map(|item| item.as_ref().map(dtype::of_object).transpose()).collect()
}
