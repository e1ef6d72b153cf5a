//! Arrays that change: the name that holds the newest elements, and views, which are parts of other arrays.
//!
//! The program itself never changes a value. A change is a line that makes a new value, whose name the array takes.

use super::{Trace, Value};
use crate::array::reference_count;
use crate::error::Class;
use broadloom_text::Defined;
use pyo3::prelude::*;
use std::sync::{MutexGuard, PoisonError};

/// Where the elements of a lazy array are.
pub struct Place {
    name: String,
    /// The number of changes that `name` contains: those of the array, or of the one of which this is a view.
    version: u64,
    view: Option<View>,
    /// Whether another array is, or was, a view of this one.
    has_views: bool,
    /// Whether it is the caller's array.
    is_argument: bool,
    /// Its dtype and sizes.
    pub(super) defined: Defined,
    pub can_change: bool,
}

struct View {
    parent: Py<Value>,
    /// The expression of the elements, with `{old}` for the parent; empty if it depends on the layout of the parent.
    read: String,
    /// The expression of the changed parent, with `{new}` for the elements; empty if they cannot be written.
    write: String,
}

impl Place {
    /// The name of elements that the array has or had.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub fn new(name: &str, defined: Defined, can_change: bool) -> Place {
        let name = name.to_owned();
        Place { name, version: 0, view: None, has_views: false, is_argument: false, defined, can_change }
    }
}

impl Value {
    pub(super) fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parent(&self, py: Python<'_>) -> Option<Py<Value>> {
        self.place().view.as_ref().map(|view| view.parent.clone_ref(py))
    }

    /// The number of changes of the array, or of the one of which this is a view.
    fn version(&self, py: Python<'_>) -> u64 {
        match self.parent(py) {
            Some(parent) => parent.get().version(py),
            None => self.place().version,
        }
    }

    /// Whether the array changed since it was made. Views do not answer for their parents.
    pub fn has_changed(&self) -> bool {
        self.place().version > 0
    }

    /// Makes operations in place change the object also if it has no axes, or replace it also if it has some.
    pub fn let_change(&self) {
        self.place().can_change = true;
    }

    /// Marks the caller's array: it changes in place.
    pub fn become_argument(&self) {
        let mut place = self.place();
        (place.is_argument, place.can_change) = (true, true);
    }

    pub(super) fn become_view(&self, parent: &Bound<'_, Value>, read: String, write: String) {
        let version = parent.get().version(parent.py());
        parent.get().place().has_views = true;
        let mut place = self.place();
        place.version = version;
        place.view = Some(View { parent: parent.clone().unbind(), read, write });
    }

    pub(super) fn is_part(&self, parent: &Bound<'_, Value>, read: &str) -> bool {
        let version = self.version(parent.py());
        let place = self.place();
        place.version == version
            && place.view.as_ref().is_some_and(|view| view.parent.is(parent) && view.read == read)
    }

    /// Whether nothing but this view can reach the arrays of which it is a part.
    fn is_alone(&self, py: Python<'_>) -> bool {
        let place = self.place();
        place.view.as_ref().is_none_or(|view| {
            let is_held = reference_count(view.parent.bind(py).as_any()) > 1;
            !is_held && view.parent.get().is_alone(py)
        })
    }

    /// The name of the newest elements.
    pub(super) fn newest(&self, trace: &Bound<'_, Trace>) -> PyResult<String> {
        let py = trace.py();
        let version = self.version(py);
        let (parent, read) = {
            let place = self.place();
            match &place.view {
                Some(view) if place.version != version => (view.parent.clone_ref(py), view.read.clone()),
                _ => return Ok(place.name.clone()),
            }
        };
        if read.is_empty() {
            let text = "an array is used that `reshape` or `ravel` made of one that has changed since: whether it changes with \
                        it depends on the layout in memory; write `.copy()` after `reshape` or `ravel`, or call it again";
            return Err(Class::Tracing.error(py, text));
        }
        let name = trace.get().named(py, &read.replace("{old}", &parent.get().newest(trace)?))?;
        let mut place = self.place();
        place.version = version;
        place.name.clone_from(&name);
        Ok(name)
    }

    /// Replaces the elements by those of a name.
    pub(super) fn store(&self, trace: &Bound<'_, Trace>, name: String) -> PyResult<()> {
        let py = trace.py();
        let is_own = self.place().view.as_ref().is_none_or(|view| view.write.is_empty()) && self.is_alone(py);
        let view = self.place().view.as_ref().map(|view| (view.parent.clone_ref(py), view.write.clone()));
        let Some((parent, write)) = view.filter(|_| !is_own) else {
            let mut place = self.place();
            (place.version, place.view, place.name) = (place.version + 1, None, name);
            return Ok(());
        };
        if write.is_empty() {
            let text = "the result of `reshape`, `ravel`, `broadcast_to` or `diagonal` is changed: whether this changes the \
                        array that it was made of depends on the layout in memory; write `x.flat[3] = v` or another index of that \
                        array itself, or change a `.copy()`";
            return Err(Class::Tracing.error(py, text));
        }
        let old = parent.get().newest(trace)?;
        let changed = trace.get().named(py, &write.replace("{old}", &old).replace("{new}", &name))?;
        parent.get().store(trace, changed)?;
        let version = self.version(py);
        let mut place = self.place();
        place.version = version;
        place.name = name;
        Ok(())
    }

    /// Takes another shape, with the elements of a name. The caller's array cannot, and views would no longer know their elements.
    pub(super) fn reshape(&self, py: Python<'_>, name: String, defined: Defined) -> PyResult<()> {
        let is_alone = self.is_alone(py);
        let mut place = self.place();
        // NumPy refuses parts and transposes whose elements do not lie in their order, which is not known here.
        let is_part = place.view.as_ref().is_some_and(|view| !view.read.is_empty());
        if place.is_argument || place.has_views || is_part || !is_alone {
            let text = match place.is_argument {
                true => {
                    "the caller's array keeps its shape while a function is traced: write `x = x.reshape(shape)` instead of \
                         `x.shape = shape`"
                }
                false => {
                    "the shape of an array that has views, or is one, stays while a function is traced: write \
                          `x = x.reshape(shape)` instead of `x.shape = shape`"
                }
            };
            return Err(Class::Tracing.error(py, text));
        }
        (place.version, place.view, place.name, place.defined) = (place.version + 1, None, name, defined);
        Ok(())
    }
}
