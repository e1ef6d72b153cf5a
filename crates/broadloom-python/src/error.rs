//! Errors as Python exceptions of fitting classes, which are those of `broadloom._errors`.

use crate::figures::BroadcastFigures;
use broadloom::{BindError, CallError, ChunkError, CompileError, LayoutError, OutOfMemory, RunError};
use broadloom_text::{Mistakes, Problem, TextPlaces};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;
use std::panic::{self, AssertUnwindSafe};

/// Which exception an error becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Shape,
    DType,
    Program,
    Index,
    Value,
    Compile,
    /// A defect of Broadloom's.
    Internal,
    /// A question whose answer depends on values that are not known while a function is traced.
    Tracing,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Shape => "ShapeError",
            Class::DType => "DTypeError",
            Class::Program => "ProgramError",
            Class::Index => "OutOfRangeError",
            Class::Value => "ArgumentError",
            Class::Compile => "CompileError",
            Class::Internal => "InternalError",
            Class::Tracing => "TracingError",
        }
    }

    /// By the letter that the code of an error begins with.
    fn of(code: &str) -> Class {
        match code.as_bytes().first() {
            Some(b'S') => Class::Shape,
            Some(b'T') => Class::DType,
            Some(b'R') => Class::Index,
            Some(b'P') => Class::Program,
            _ => Class::Value,
        }
    }

    /// Whether an exception is one of this class.
    pub fn is(self, py: Python<'_>, error: &PyErr) -> PyResult<bool> {
        Ok(error.is_instance(py, &exception(py, self.name())?))
    }

    /// Whether an exception is one of this package's.
    pub fn is_any(py: Python<'_>, error: &PyErr) -> PyResult<bool> {
        Ok(error.is_instance(py, &exception(py, "Error")?))
    }

    /// The error of an argument, which names the part of it that is wrong if it says nothing but what is wrong with a dtype or a class.
    pub fn named(error: PyErr, name: &str, argument: &Bound<'_, PyAny>) -> PyErr {
        let py = argument.py();
        if !Class::DType.is(py, &error).unwrap_or(false) {
            return error;
        }
        let text = py.import("broadloom._unsupported").and_then(|module| {
            module.call_method1("named", (name, argument, error.value(py).to_string()))?.extract::<String>()
        });
        text.map_or(error, |text| Class::DType.error(py, text))
    }

    pub fn error(self, py: Python<'_>, text: impl Into<String>) -> PyErr {
        let made = exception(py, self.name()).and_then(|class| class.call1((text.into(),)));
        match made {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        }
    }
}

/// Runs an action of the library's; a panic in it, which is a defect, becomes an exception of this package's.
///
/// # Errors
/// Returns an error if the action panics.
pub fn caught<R>(py: Python<'_>, action: impl FnOnce() -> R) -> PyResult<R> {
    panic::catch_unwind(AssertUnwindSafe(action)).map_err(|payload| {
        let what = (payload.downcast_ref::<String>().map(String::as_str))
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        let text = format!("a defect of Broadloom: {what}; please report it with the program that you ran");
        Class::Internal.error(py, text)
    })
}

/// Runs an action of the library's as [`caught`] does, while other threads run Python.
///
/// # Errors
/// Returns an error if the action panics.
pub fn detached<R: Send>(py: Python<'_>, action: impl FnOnce() -> R + Send) -> PyResult<R> {
    caught(py, || py.detach(action))
}

fn exception<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let errors =
        ERRORS.get_or_try_init(py, || PyModule::import(py, "broadloom._errors").map(Bound::unbind))?;
    errors.bind(py).getattr(name)
}

/// Mistakes in a program, of the class of the first.
pub fn of_mistakes(py: Python<'_>, mistakes: &Mistakes) -> PyErr {
    let class = match mistakes.as_slice().first().map(|mistake| &mistake.problem) {
        Some(Problem::Kind { .. } | Problem::Argument { .. }) => Class::DType,
        Some(problem) => Class::of(problem.code()),
        None => Class::Program,
    };
    let error = class.error(py, format!("{mistakes:#}"));
    if let Some(figures) = BroadcastFigures::of_mistakes(mistakes) {
        // An exception without its figure is still the right one.
        let _ = error.value(py).setattr("_figures", figures);
    }
    error
}

pub fn of_compile(py: Python<'_>, error: &CompileError) -> PyErr {
    Class::Compile.error(py, format!("{error:#}"))
}

pub fn of_layout(py: Python<'_>, error: &LayoutError) -> PyErr {
    Class::Shape.error(py, error.to_string())
}

/// An error of a call, whose places are those of the program that was compiled.
pub fn of_call(py: Python<'_>, error: &CallError, places: &TextPlaces) -> PyErr {
    match error {
        CallError::Bind(BindError::Compile(error)) => of_compile(py, error),
        CallError::Bind(error) => Class::of(error.code()).error(py, error.display_at(places).to_string()),
        CallError::Run(RunError::Memory(error)) => of_memory(error),
        CallError::Run(error) => Class::of(error.code()).error(py, error.display_at(places).to_string()),
    }
}

/// An error of a run over chunks.
pub fn of_chunk(py: Python<'_>, error: &ChunkError, places: Option<&TextPlaces>) -> PyErr {
    let text = places.map_or_else(|| error.to_string(), |places| error.display_at(places).to_string());
    Class::of(error.code()).error(py, text)
}

fn of_memory(error: &OutOfMemory) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}
