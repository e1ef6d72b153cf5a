//! What a function reads beside its arguments, and the objects by which its kernels are found.

use crate::array::has_bytes;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, PyOnceLock};
use pyo3::types::{PyAny, PyCFunction, PyDict, PyTuple, PyWeakrefMethods, PyWeakrefReference};
use std::sync::{Arc, Mutex, PoisonError};

/// The globals, closures and attributes that a function reads, whose values are part of its kernels.
#[derive(Default)]
pub struct Watch(Mutex<Option<Arc<Known>>>);

/// A dict with a key, or a cell, and the value that it had.
type Place = (Py<PyAny>, Option<Py<PyAny>>, Py<PyAny>);

struct Known {
    /// An object of `broadloom._state.Reads`.
    reads: Py<PyAny>,
    version: usize,
    fixed: Vec<Place>,
    /// Small arrays that stand there, and the bytes of their elements.
    arrays: Vec<(Py<PyAny>, Vec<u8>)>,
    /// Whether there are values that may change without being replaced.
    is_mutable: bool,
    /// All values, which can be compared.
    print: Py<PyAny>,
}

impl Watch {
    fn known(&self, py: Python<'_>) -> Option<Arc<Known>> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, py: Python<'_>, known: Known) {
        let known = Some(Arc::new(known));
        let before = std::mem::replace(
            &mut *self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner),
            known,
        );
        drop(before);
    }

    /// Returns the object that reads for a function.
    fn reads<'py>(
        &self,
        py: Python<'py>,
        function: &Py<PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Option<Arc<Known>>)> {
        if let Some(known) = self.known(py) {
            return Ok((known.reads.bind(py).clone(), Some(known)));
        }
        static READS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let class = READS
            .get_or_try_init(py, || py.import("broadloom._state")?.getattr("Reads").map(Bound::unbind))?;
        Ok((class.bind(py).call1((function,))?, None))
    }

    /// Returns the state of objects among the arguments as values that can be compared, and whether anything else that the
    /// function reads has another value than at the last call.
    ///
    /// # Errors
    /// Returns an error if the function reads what is another thing each time, such as a clock.
    pub fn look<'py>(
        &self,
        py: Python<'py>,
        function: &Py<PyAny>,
        objects: &[Bound<'py, PyAny>],
    ) -> PyResult<(Option<Bound<'py, PyAny>>, bool)> {
        if objects.is_empty()
            && let Some(known) = self.known(py)
            && !known.is_mutable
            && known.is_same(py)?
        {
            return Ok((None, false));
        }
        let (reads, known) = self.reads(py, function)?;
        let prints = match objects {
            [] => None,
            _ => Some(reads.call_method1("of", (PyTuple::new(py, objects)?,))?),
        };
        if let Some(known) = &known
            && !known.is_mutable
            && reads.getattr("version")?.extract::<usize>()? == known.version
            && known.is_same(py)?
        {
            return Ok((prints, false));
        }
        let print = reads.call_method0("current")?;
        let has_changed = match &known {
            Some(known) => !print.eq(&known.print)?,
            None => false,
        };
        self.set(
            py,
            Known {
                version: reads.getattr("version")?.extract()?,
                fixed: reads.getattr("fixed")?.extract()?,
                arrays: reads.getattr("arrays")?.extract()?,
                is_mutable: reads.getattr("is_mutable")?.extract()?,
                print: print.unbind(),
                reads: reads.unbind(),
            },
        );
        Ok((prints, has_changed))
    }

    /// Runs the function once, and refuses random numbers that it draws.
    ///
    /// # Errors
    /// Returns the errors of `action`, or an error if there are random numbers.
    pub fn without_randomness<R>(
        &self,
        py: Python<'_>,
        function: &Py<PyAny>,
        action: impl FnOnce() -> PyResult<R>,
    ) -> PyResult<R> {
        let (reads, _) = self.reads(py, function)?;
        let before = reads.call_method0("begin_trace")?;
        let result = action()?;
        reads.call_method1("end_trace", (before,))?;
        Ok(result)
    }

    pub fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(known) = self.0.try_lock() else { return Ok(()) };
        let Some(known) = &*known else { return Ok(()) };
        visit.call(&known.reads)?;
        visit.call(&known.print)?;
        for (container, key, value) in &known.fixed {
            visit.call(container)?;
            visit.call(key)?;
            visit.call(value)?;
        }
        known.arrays.iter().try_for_each(|(array, _)| visit.call(array))
    }

    pub fn clear(&self) {
        let known = self.0.try_lock().map(|mut known| known.take());
        drop(known);
    }
}

impl Known {
    /// Whether each value is still where it was.
    fn is_same(&self, py: Python<'_>) -> PyResult<bool> {
        for (container, key, value) in &self.fixed {
            let container = container.bind(py);
            let found = match key {
                Some(key) => container.cast::<PyDict>()?.get_item(key)?,
                None => container.getattr("cell_contents").ok(),
            };
            if !found.is_some_and(|found| found.is(value)) {
                return Ok(false);
            }
        }
        for (array, bytes) in &self.arrays {
            if !has_bytes(array.bind(py), bytes)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A static value of a kernel. Objects that are equal to themselves alone are not kept alive by their kernels, which die
/// with them.
pub enum Kept {
    Strong(Py<PyAny>),
    Weak(Py<PyWeakrefReference>),
}

impl Kept {
    /// `removal` is called when the object is gone.
    pub fn new(object: &Bound<'_, PyAny>, is_atom: bool, removal: &Bound<'_, PyCFunction>) -> PyResult<Kept> {
        let py = object.py();
        let is_own =
            !is_atom && object.get_type().getattr("__eq__")?.is(&py.get_type::<PyAny>().getattr("__eq__")?);
        match PyWeakrefReference::new_with(object, removal) {
            Ok(weak) if is_own => Ok(Kept::Weak(weak.unbind())),
            _ => Ok(Kept::Strong(object.clone().unbind())),
        }
    }

    /// Returns the object; `None` if it is gone.
    pub fn get(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        match self {
            Kept::Strong(object) => Some(object.clone_ref(py)),
            Kept::Weak(weak) => weak.bind(py).upgrade().map(Bound::unbind),
        }
    }

    pub fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Kept::Strong(object) => visit.call(object),
            Kept::Weak(weak) => visit.call(weak),
        }
    }
}
