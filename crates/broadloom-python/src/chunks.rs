//! Kernels that take their rows chunk by chunk.
#![allow(unsafe_code, reason = "a run keeps the arrays that it views")]

use crate::array::{Operand, to_numpy};
use crate::error::{Class, detached, of_chunk};
use crate::kernel::Kernel;
use broadloom::{AnyArray, ChunkError, ChunkRun, Chunked, Inputs, Outputs};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};

/// A kernel that takes some of its arrays chunk by chunk along their leading axis.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Chunks {
    kernel: Py<Kernel>,
    chunked: Chunked,
    /// Rows of a chunk, unless a call says otherwise.
    size: usize,
}

/// A run of a kernel over chunks.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Run {
    kernel: Py<Kernel>,
    state: Mutex<Option<State>>,
}

/// The run is dropped before the arrays that it views.
struct State {
    run: ChunkRun<'static>,
    _fixed: Vec<Py<PyAny>>,
}

impl Chunks {
    pub fn new(py: Python<'_>, kernel: &Bound<'_, Kernel>, rows: &str, size: usize) -> PyResult<Chunks> {
        let Some(executable) = kernel.get().executable() else {
            return Err(Class::Value.error(py, "the results depend on no array: there are no rows"));
        };
        if size == 0 {
            return Err(Class::Value.error(py, "a chunk has at least one row: write `size=65536`"));
        }
        let chunked = detached(py, || executable.in_chunks(rows))?;
        let chunked = chunked.map_err(|error| of_chunk(py, &error, kernel.get().places(py).as_ref()))?;
        Ok(Chunks { kernel: kernel.clone().unbind(), chunked, size })
    }
}

#[pymethods]
impl Chunks {
    /// How often all rows are passed.
    #[getter]
    fn passes(&self) -> usize {
        self.chunked.passes()
    }

    /// The number of rows of which each chunk but the last has a multiple.
    #[getter]
    fn multiple(&self) -> usize {
        self.chunked.multiple()
    }

    /// The rows of a chunk.
    #[getter]
    fn size(&self) -> usize {
        self.size
    }

    /// The names of the arrays that are passed chunk by chunk.
    #[getter]
    fn streamed(&self) -> Vec<String> {
        self.chunked.streamed().into_iter().map(|array| array.name).collect()
    }

    /// The names of the other arrays.
    #[getter]
    fn fixed(&self, py: Python<'_>) -> Vec<String> {
        let names = self.chunked.fixed().into_iter().map(|array| array.name);
        names.filter(|name| self.kernel.get().captured(py, name).is_none()).collect()
    }

    /// Computes all chunks of arrays by name: arrays and memory maps, which are cut into chunks, or lists of chunks.
    #[pyo3(signature = (*, out=None, **arrays))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        out: Option<&Bound<'py, PyAny>>,
        arrays: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let run = slf.py().import("broadloom._chunks")?.getattr("run")?;
        run.call1((slf, out, arrays.map_or_else(|| PyDict::new(slf.py()), Bound::clone)))
    }

    /// Begins a run with the arrays that are not passed chunk by chunk.
    #[pyo3(signature = (**fixed))]
    fn start(&self, py: Python<'_>, fixed: Option<&Bound<'_, PyDict>>) -> PyResult<Run> {
        let kernel = self.kernel.get();
        let mut kept = Vec::new();
        let mut inputs = Inputs::new();
        let mut operands = Vec::new();
        for (name, array) in fixed.into_iter().flatten() {
            operands.push((name.extract::<String>()?, operand(&array)?));
        }
        for info in self.chunked.fixed() {
            if let Some(array) = kernel.captured(py, &info.name) {
                operands.push((info.name, operand(array.bind(py))?));
            }
        }
        for (name, operand) in operands {
            // SAFETY: `kept` refers to the array as long as the run lives.
            inputs = inputs.named(name, unsafe { operand.view_unbound() }?);
            kept.push(operand.object.unbind());
        }
        let run = self.chunked.start(inputs);
        let run = run.map_err(|error| of_chunk(py, &error, kernel.places(py).as_ref()))?;
        let state = Mutex::new(Some(State { run, _fixed: kept }));
        Ok(Run { kernel: self.kernel.clone_ref(py), state })
    }

    /// The results in the form in which the function returned them.
    fn _results<'py>(&self, py: Python<'py>, arrays: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        self.kernel.get().results(py, arrays)
    }

    /// The names of the outputs, in order.
    #[getter]
    fn _outputs(&self) -> Vec<String> {
        self.chunked.executable().outputs().into_iter().map(|output| output.name).collect()
    }
}

fn operand<'py>(array: &Bound<'py, PyAny>) -> PyResult<Operand<'py>> {
    let found = Operand::of(array)?;
    found.ok_or_else(|| {
        let class = array.get_type().to_string();
        Class::DType.error(array.py(), format!("chunks are arrays, not {class}"))
    })
}

#[pymethods]
impl Run {
    /// Computes the next rows, and returns those of the results.
    #[pyo3(signature = (**rows))]
    fn push<'py>(&self, py: Python<'py>, rows: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyDict>> {
        let mut operands = Vec::new();
        for (name, array) in rows.into_iter().flatten() {
            operands.push((name.extract::<String>()?, operand(&array)?));
        }
        let mut inputs = Inputs::new();
        for (name, operand) in &operands {
            inputs = inputs.named(name.as_str(), operand.view()?);
        }
        by_name(py, self.step(py, |run| run.push(inputs))?)
    }

    /// Ends a pass over all rows.
    fn end_pass(&self, py: Python<'_>) -> PyResult<()> {
        self.step(py, ChunkRun::end_pass)
    }

    /// Returns the results that have no rows.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
        let State { run, _fixed } = state.ok_or_else(|| over(py))?;
        let outputs = detached(py, || run.finish())?;
        by_name(py, outputs.map_err(|error| of_chunk(py, &error, self.kernel.get().places(py).as_ref()))?)
    }
}

impl Run {
    /// Goes on with the run, which is over if the step has a defect: it is left half done.
    fn step<R: Send>(
        &self,
        py: Python<'_>,
        action: impl FnOnce(&mut ChunkRun<'static>) -> Result<R, ChunkError> + Send,
    ) -> PyResult<R> {
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let run = &mut state.as_mut().ok_or_else(|| over(py))?.run;
        let result = detached(py, || action(run));
        if result.is_err() {
            *state = None;
        }
        result?.map_err(|error| of_chunk(py, &error, self.kernel.get().places(py).as_ref()))
    }
}

fn over(py: Python<'_>) -> PyErr {
    Class::Value.error(py, "the run is over: begin another one by `start`")
}

fn by_name(py: Python<'_>, mut outputs: Outputs) -> PyResult<Bound<'_, PyDict>> {
    let names: Vec<String> = outputs.iter().map(|(name, _)| name.to_owned()).collect();
    let arrays = PyDict::new(py);
    for name in names {
        let array: Option<AnyArray> = outputs.take(&name).ok();
        if let Some(array) = array {
            arrays.set_item(name, to_numpy(py, array)?)?;
        }
    }
    Ok(arrays)
}
