//! Functions that run in NumPy if they cannot be compiled.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most structures of arguments that are remembered. When there are more, all are forgotten, and traced again.
const CAPACITY: usize = 1024;

/// What a function does in NumPy, if it may.
pub struct Fallback {
    is_on: bool,
    /// The structures of arguments for which the function cannot be compiled.
    refused: Mutex<HashSet<Box<[u64]>>>,
    has_warned: AtomicBool,
}

impl Fallback {
    pub fn new(is_on: bool) -> Fallback {
        Fallback { is_on, refused: Mutex::default(), has_warned: AtomicBool::new(false) }
    }

    pub fn is_on(&self) -> bool {
        self.is_on
    }

    fn refused(&self) -> MutexGuard<'_, HashSet<Box<[u64]>>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the function is known not to compile for such arguments.
    pub fn knows(&self, key: &[u64]) -> bool {
        self.is_on && self.refused().contains(key)
    }

    /// Remembers that the function does not compile for such arguments.
    pub fn remember(&self, key: &[u64]) {
        if self.is_on {
            let mut refused = self.refused();
            if refused.len() == CAPACITY {
                refused.clear();
            }
            refused.insert(key.into());
        }
    }

    /// Forgets all, after what the function reads has changed.
    pub fn forget(&self) {
        self.refused().clear();
    }

    /// Calls the function itself after an error, and warns the first time that it has a result.
    /// Kernels that fail leave the arguments as they were.
    ///
    /// # Errors
    /// Returns the error if the function may not run in NumPy, and those of the function.
    pub fn call<'py>(
        &self,
        error: PyErr,
        function: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        // What is wrong with the function itself is an error in NumPy too.
        if !self.is_on || !error.is_instance_of::<PyException>(py) {
            return Err(error);
        }
        let result = function.call(args, kwargs)?;
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            py.import("broadloom._fallback")?.call_method1("warn", (function, error.into_value(py)))?;
        }
        Ok(result)
    }
}
