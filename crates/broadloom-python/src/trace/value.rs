//! Lazy arrays and lazy sizes, as Python sees them.

use super::place::Place;
use super::write::items_text;
use super::{Trace, merge, root};
use crate::dtype;
use crate::error::Class;
use broadloom::DType;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::Literal;
use broadloom_text::Defined;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyTuple};
use std::sync::Mutex;

/// A lazy array, or a lazy size: a name in a trace. An array may change, and then has another name.
#[pyclass(frozen, subclass, module = "broadloom._broadloom")]
pub struct Value {
    pub trace: Py<Trace>,
    pub(super) place: Mutex<Place>,
}

#[pymethods]
impl Value {
    #[new]
    fn new(trace: &Bound<'_, Trace>, name: &str) -> PyResult<Value> {
        let defined = root(trace).get().session(trace.py(), |session| session.get(name))?;
        let defined = defined.ok_or_else(|| PyRuntimeError::new_err(format!("there is no value {name}")))?;
        let can_change = matches!(&defined, Defined::Tensor { sizes, .. } if !sizes.is_empty());
        let place = Mutex::new(Place::new(name, defined, can_change));
        Ok(Value { trace: trace.clone().unbind(), place })
    }

    /// The text of what is between the brackets of an index.
    fn _items(&self, items: &Bound<'_, PyAny>) -> PyResult<String> {
        items_text(&root(self.trace.bind(items.py())), items)
    }

    /// Makes this array a view of another one. `read` is the expression of its elements, with `{old}` for the other array,
    /// and `write` that of the other array with the elements `{new}`; one that is empty cannot be used.
    fn _view_of(&self, parent: &Bound<'_, Value>, read: String, write: String) {
        self.become_view(parent, read, write);
    }

    /// Whether this is a view of the other array with these elements, and holds what the other one does.
    fn _is_part(&self, parent: &Bound<'_, Value>, read: &str) -> bool {
        self.is_part(parent, read)
    }

    /// Replaces the elements, also those of the array of which this is a view.
    fn _store(&self, value: &Bound<'_, Value>) -> PyResult<()> {
        let trace = root(self.trace.bind(value.py()));
        let name = value.get().name_in(&trace)?;
        self.store(&trace, name)
    }

    /// Gives the array the shape of its elements in another one, `x.shape = ..`.
    fn _reshape(&self, value: &Bound<'_, Value>) -> PyResult<()> {
        let trace = root(self.trace.bind(value.py()));
        let (name, defined) = (value.get().name_in(&trace)?, value.get().place().defined.clone());
        self.reshape(value.py(), name, defined)
    }

    /// The name of the elements that the array has now.
    fn _name(&self, py: Python<'_>) -> PyResult<String> {
        self.name_in(&root(self.trace.bind(py)))
    }

    /// Whether operations in place change the object instead of replacing it.
    #[getter(_can_change)]
    fn can_change(&self) -> bool {
        self.place().can_change
    }

    /// Whether this is a Python float, which takes the dtype of the other operand, or computed of such floats alone.
    #[getter(_is_number)]
    fn is_number(&self) -> bool {
        matches!(self.place().defined, Defined::Number(_))
    }

    /// Makes operations in place change the object, which has no axes.
    fn _let_change(&self) {
        self.let_change();
    }

    #[getter(_trace)]
    fn trace(&self, py: Python<'_>) -> Py<Trace> {
        self.trace.clone_ref(py)
    }

    /// The sizes of the axes: numbers, and sizes that are known when the kernel is called.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (name, defined) = {
            let place = self.place();
            (place.name().to_owned(), place.defined.clone())
        };
        let Defined::Tensor { sizes, .. } = &defined else { return Ok(PyTuple::empty(py)) };
        let trace = root(self.trace.bind(py));
        // A trace that is over has its conditions already.
        trace.get().session(py, |session| session.measure(&name)).ok();
        shape(&trace, sizes, &format!("{name}.shape"))
    }

    /// The dtype of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(dtype::to_numpy(py, self.own_dtype())?.into_any())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        match &self.place().defined {
            Defined::Tensor { sizes, .. } => sizes.len(),
            _ => 0,
        }
    }

    /// Whether two sizes are the same for all arrays.
    fn _is_same(&self, other: &Bound<'_, Value>) -> bool {
        let defined = self.place().defined.clone();
        defined == other.get().place().defined
    }

    /// Whether this is a size that the data decide: the value of `x[x > 0].shape[0]`.
    #[getter]
    fn _is_decided(&self, py: Python<'_>) -> PyResult<bool> {
        let Defined::Size(size) = self.place().defined.clone() else { return Ok(false) };
        let trace = root(self.trace.bind(py));
        trace.get().session(py, |session| is_decided(&session.show(&size).to_string()))
    }

    /// The floats among the arguments of the function, if this is one of them or computed of them alone.
    #[getter]
    fn _numbers(&self, py: Python<'_>) -> Vec<String> {
        match self.is_number() {
            true => root(self.trace.bind(py)).get().with(py, |state| state.numbers.clone()),
            false => Vec::new(),
        }
    }

    /// The dtype and the sizes, as they are written in programs: `f32[n, 3]`.
    #[getter]
    fn _type(&self, py: Python<'_>) -> PyResult<String> {
        let trace = root(self.trace.bind(py));
        let show = |size: &Dim| trace.get().session(py, |session| session.show(size).to_string());
        let defined = self.place().defined.clone();
        match &defined {
            Defined::Tensor { dtype, sizes } => {
                let sizes: Vec<String> = sizes.iter().map(show).collect::<PyResult<_>>()?;
                Ok(format!("{dtype}[{}]", sizes.join(", ")))
            }
            Defined::Size(size) => show(size),
            _ => Ok(format!("{}[]", self.own_dtype())),
        }
    }
}

impl Value {
    fn own_dtype(&self) -> DType {
        match &self.place().defined {
            Defined::Tensor { dtype, .. } | Defined::Number(dtype) => *dtype,
            _ => DType::I64,
        }
    }

    /// The name, if the value belongs to a trace, or to an expression that can become a part of it.
    pub fn name_in(&self, trace: &Bound<'_, Trace>) -> PyResult<String> {
        let py = trace.py();
        let own = root(self.trace.bind(py));
        if own.is(trace) {
            return self.newest(trace);
        }
        let is_open = |trace: &Bound<'_, Trace>| trace.get().with(py, |state| state.is_open);
        if is_open(&own) && is_open(trace) {
            merge(trace, &own)?;
            return self.newest(trace);
        }
        let text = "a lazy array of another traced function is used here: pass it as an argument";
        Err(Class::Tracing.error(trace.py(), text))
    }
}

/// The value of a name, as a Python object.
pub fn wrap<'py>(trace: &Bound<'py, Trace>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = trace.py();
    match trace.get().session(py, |session| session.get(name))? {
        Some(Defined::Tensor { .. } | Defined::Number(_)) => class(py, "Array")?.call1((trace, name)),
        Some(Defined::Literal(literal)) => literal_object(py, literal),
        Some(Defined::Size(size)) => size_object(trace, &size, name),
        Some(Defined::Sizes(sizes)) => Ok(shape(trace, &sizes, name)?.into_any()),
        Some(Defined::Several(count)) => {
            let mut results = Vec::with_capacity(count);
            for number in 0..count {
                results.push(define(trace, &format!("{name}[{number}]"))?);
            }
            Ok(PyTuple::new(py, results)?.into_any())
        }
        _ => Err(PyRuntimeError::new_err("the operation has no result")),
    }
}

/// Gives an expression a name, and returns what it stands for.
pub fn define<'py>(trace: &Bound<'py, Trace>, expression: &str) -> PyResult<Bound<'py, PyAny>> {
    let name = trace.get().named(trace.py(), expression)?;
    wrap(trace, &name)
}

fn literal_object(py: Python<'_>, literal: Literal) -> PyResult<Bound<'_, PyAny>> {
    Ok(match literal {
        Literal::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Literal::Int(value) => value.into_pyobject(py)?.into_any(),
        Literal::Float(value) => PyFloat::new(py, value).into_any(),
    })
}

/// Whether the data decide a size of this text. No other name contains the mark.
fn is_decided(text: &str) -> bool {
    text.contains('@')
}

/// A size as Python's integer, or as a lazy size, which `expression` has too: the text of one that the data decide is no expression.
fn size_object<'py>(trace: &Bound<'py, Trace>, size: &Dim, expression: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = trace.py();
    if let Some(size) = size.as_constant() {
        return Ok(size.into_pyobject(py)?.into_any());
    }
    let text = trace.get().session(py, |session| session.show(size).to_string())?;
    let known = trace.get().with(py, |state| state.sizes.get(&text).cloned());
    let name = match known {
        Some(name) => name,
        None => {
            let name = trace.get().fresh(py, None);
            let expression = if is_decided(&text) { expression } else { &text };
            trace.get().run(py, &format!("let {name} = {expression}"))?;
            trace.get().with(py, |state| state.sizes.insert(text, name.clone()));
            name
        }
    };
    class(py, "Size")?.call1((trace, name))
}

/// The sizes of an expression: those of a shape.
fn shape<'py>(trace: &Bound<'py, Trace>, sizes: &[Dim], of: &str) -> PyResult<Bound<'py, PyTuple>> {
    let sizes = sizes.iter().enumerate();
    let sizes: Vec<_> = sizes
        .map(|(axis, size)| size_object(trace, size, &format!("{of}[{axis}]")))
        .collect::<PyResult<_>>()?;
    PyTuple::new(trace.py(), sizes)
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static LAZY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let lazy =
        LAZY.get_or_try_init(py, || py.import("broadloom._lazy").map(|lazy| lazy.into_any().unbind()))?;
    lazy.bind(py).getattr(name)
}
