//! Python functions that are compiled: a kernel for each structure of arguments.

use crate::error::Class;
use crate::fallback::Fallback;
use crate::kernel::{Changes, Failure, Kernel, output_name};
use crate::state::{Kept, Watch};
use crate::structure::{Call, KnownValues, Leaf, Size, Tree, rebuilt};
use crate::table::Table;
use crate::trace::{Trace, Value, wrap};
use broadloom::{CompileOptions, Threads};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A Python function that runs as a kernel, which `jit` returns.
///
/// It has a kernel for each structure of its arguments: dtypes, ranks, the axes of size 1, and the values that are part of
/// the program. Two threads that are the first to call it may both trace it; one of the kernels is kept.
///
/// >>> import broadloom as bl, numpy as np
/// >>> f = bl.jit(lambda x: x * 2 + 1)
/// >>> f(np.arange(10)).sum()
/// np.int64(100)
/// >>> f(np.arange(20)).sum()
/// np.int64(400)
/// >>> f.traces
/// 1
#[pyclass(frozen, dict, weakref, module = "broadloom._broadloom")]
pub struct Function {
    function: Py<PyAny>,
    /// The names of the parameters by position.
    parameters: Vec<String>,
    /// The parameters whose values are part of the structure.
    statics: Vec<String>,
    /// Whether the function itself takes `out`.
    takes_out: bool,
    threads: Option<usize>,
    options: CompileOptions,
    fallback: Fallback,
    table: Arc<Mutex<Table>>,
    watch: Watch,
    traces: AtomicU64,
}

/// Options for kernels on a number of threads.
pub fn options(py: Python<'_>, threads: Option<usize>) -> PyResult<CompileOptions> {
    let threads = match threads {
        None => Threads::Global,
        Some(0) => return Err(Class::Value.error(py, "kernels need at least one thread: write `threads=1`")),
        Some(count) => Threads::count(count).map_err(|error| PyRuntimeError::new_err(error.to_string()))?,
    };
    Ok(CompileOptions { threads, ..CompileOptions::default() })
}

#[pymethods]
impl Function {
    #[new]
    #[pyo3(signature = (function, parameters, statics, threads, fallback=false))]
    fn new(
        py: Python<'_>,
        function: Py<PyAny>,
        parameters: Vec<String>,
        statics: Vec<String>,
        threads: Option<usize>,
        fallback: bool,
    ) -> PyResult<Function> {
        let options = options(py, threads)?;
        let takes_out = parameters.iter().any(|name| name == "out");
        let (table, watch, traces) = (Arc::default(), Watch::default(), AtomicU64::new(0));
        Ok(Function {
            function,
            parameters,
            statics,
            takes_out,
            threads,
            options,
            fallback: Fallback::new(fallback),
            table,
            watch,
            traces,
        })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run(py, args, kwargs)
            .or_else(|error| self.fallback.call(error, self.function.bind(py), args, kwargs))
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        _owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if instance.is_none() {
            return Ok(slf.clone().into_any());
        }
        slf.py().import("types")?.getattr("MethodType")?.call1((slf, instance))
    }

    /// The kernel that a call with these arguments runs.
    ///
    /// >>> import broadloom as bl, numpy as np
    /// >>> bl.jit(lambda x: x * 2.5).kernel(np.ones(70, np.float32))
    /// Kernel(x: f32[size_0] -> out0: f32[size_0])
    #[pyo3(signature = (*args, **kwargs))]
    fn kernel<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Kernel>> {
        let mut call = self.call(args, kwargs)?;
        self.kernel_for(py, &mut call, args, kwargs, KnownValues::NOTHING)
    }

    /// The page that explains the kernel that a call with these arguments runs: a text, which notebooks show as a page.
    ///
    /// >>> import broadloom as bl, numpy as np
    /// >>> "multiply" in bl.jit(lambda x: x * 2.5).explain_html(np.ones(70, np.float32))
    /// True
    #[pyo3(signature = (*args, **kwargs))]
    fn explain_html<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.kernel(py, args, kwargs)?.get().explain_html(py)
    }

    /// The static parameters, the number of threads, and whether what cannot be compiled runs in NumPy.
    #[getter(_options)]
    fn own_options(&self) -> (Vec<String>, Option<usize>, bool) {
        (self.statics.clone(), self.threads, self.fallback.is_on())
    }

    /// By its name where it can be imported, and by the function that it compiles elsewhere.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let own = slf.get();
        let reduce = slf.py().import("broadloom._api")?.getattr("_reduce")?;
        reduce.call1((slf, &own.function, own.statics.clone(), own.threads, own.fallback.is_on()))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let function = self.function.bind(py);
        let name = function.getattr("__qualname__").and_then(|name| name.extract::<String>());
        let name = name.or_else(|_| function.repr().map(|text| text.to_string()))?;
        let times = match self.traces() {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        Ok(format!("<broadloom.Function {name}({}), traced {times}>", self.parameters.join(", ")))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        // Another thread that is just using the table keeps everything alive.
        if let Ok(table) = self.table.try_lock() {
            table.visit(&visit)?;
        }
        self.watch.visit(&visit)
    }

    fn __clear__(&self) {
        let table = self.table.try_lock().map(|mut table| std::mem::take(&mut *table));
        drop(table);
        self.watch.clear();
    }

    /// How often the function was traced.
    #[getter]
    fn traces(&self) -> u64 {
        self.traces.load(Ordering::Relaxed)
    }
}

impl Function {
    fn run<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut call = self.call(args, kwargs)?;
        if call.is_lazy || self.fallback.knows(&call.key) {
            return self.function.bind(py).call(args, kwargs);
        }
        let out = match kwargs {
            Some(kwargs) if !self.takes_out => kwargs.get_item("out")?.filter(|out| !out.is_none()),
            _ => None,
        };
        let kernel = self.compiled(py, &mut call, args, kwargs, KnownValues::NOTHING)?;
        let error = match kernel.get().run(py, &call.leaves, out.as_ref()) {
            Ok(results) => return Ok(results),
            Err(Failure::Raised(error)) => return Err(error),
            Err(Failure::Sizes(error)) => error,
        };
        // These sizes break a condition of the kernel for all sizes. One for just these sizes may have a result, as a slice
        // that ends behind its axis has; otherwise the message names them.
        let kernel = self.compiled(py, &mut call, args, kwargs, KnownValues::SIZES)?;
        kernel.get().run(py, &call.leaves, out.as_ref()).map_err(|failure| match failure {
            Failure::Raised(error) => error,
            Failure::Sizes(_) => kernel.get().explain(py, &error),
        })
    }

    /// The kernel for a call of a function that may run in NumPy instead.
    fn compiled<'py>(
        &self,
        py: Python<'py>,
        call: &mut Call<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        least: KnownValues,
    ) -> PyResult<Bound<'py, Kernel>> {
        let kernel = self.kernel_for(py, call, args, kwargs, least);
        kernel.inspect_err(|_| self.fallback.remember(&call.key))
    }

    fn call<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Call<'py>> {
        let py = args.py();
        let mut call = Call::default();
        for (position, argument) in args.iter_borrowed().enumerate() {
            match self.parameters.get(position) {
                Some(name) if self.is_static(name) => call.add_static(&argument)?,
                Some(name) => call.add(&argument, 0).map_err(|error| Class::named(error, name, &argument))?,
                None => call.add(&argument, 0)?,
            }
        }
        for (name, argument) in kwargs.into_iter().flatten() {
            let text: &str = &name.extract::<String>()?;
            if text == "out" && !self.takes_out {
                continue;
            }
            call.add_static(&name)?;
            if self.is_static(text) {
                call.add_static(&argument)?;
            } else {
                call.add(&argument, 0).map_err(|error| Class::named(error, text, &argument))?;
            }
        }
        if call.is_lazy {
            return Ok(call);
        }
        let (prints, has_changed) = self.watch.look(py, &self.function, &call.objects)?;
        if let Some(prints) = prints {
            call.add_print(prints)?;
        }
        if has_changed {
            let removed = self.table(py).clear();
            drop(removed);
            self.fallback.forget();
        }
        call.close();
        Ok(call)
    }

    fn is_static(&self, name: &str) -> bool {
        self.statics.iter().any(|other| other == name)
    }

    fn table<'t>(&'t self, py: Python<'_>) -> MutexGuard<'t, Table> {
        self.table.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn kernel_for<'py>(
        &self,
        py: Python<'py>,
        call: &mut Call<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        mut least: KnownValues,
    ) -> PyResult<Bound<'py, Kernel>> {
        let mut generation = None;
        let mut statics: Option<Vec<Py<PyAny>>> = None;
        for position in 0.. {
            let mut table = self.table(py);
            generation = Some(table.generation);
            let found = table.find(py, call, position, least);
            drop(table);
            let Some(found) = found else { break };
            // Comparing static values runs code of Python's, so the lock is not held.
            let Some(own) = found.statics else { continue };
            if !call.has_statics(&own)? {
                continue;
            }
            if let Some(kernel) = found.kernel {
                return Ok(kernel.into_bound(py));
            }
            least = found.known;
            statics = Some(own);
            break;
        }
        let statics =
            statics.unwrap_or_else(|| call.statics.iter().map(|object| object.clone().unbind()).collect());
        let (kernel, known) = self.make_knowing(py, call, args, kwargs, least)?;
        let kernel = Bound::new(py, kernel)?;
        let bytes = kernel.get().own_bytes(py)?;
        let removal = self.removal(py)?;
        let statics = statics.iter().map(|object| {
            let object = object.bind(py);
            Kept::new(object, !call.objects.iter().any(|other| other.is(object)), &removal)
        });
        let statics = statics.collect::<PyResult<_>>()?;
        // If what the function reads changed while it was traced, the kernel may serve neither state.
        let (print, has_changed) = self.watch.look(py, &self.function, &call.objects)?;
        let is_same = match (&print, &call.print) {
            (Some(print), Some(before)) => print.eq(before)?,
            _ => true,
        };
        let mut table = self.table(py);
        let removed = if has_changed {
            Some(table.clear())
        } else {
            (is_same && Some(table.generation) == generation)
                .then(|| table.add(py, call, statics, kernel.clone().unbind(), bytes, known))
        };
        drop(table);
        drop(removed);
        Ok(kernel)
    }

    /// A function of Python's that removes the kernels of objects that are gone.
    fn removal<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCFunction>> {
        let table = Arc::downgrade(&self.table);
        PyCFunction::new_closure(py, None, None, move |arguments, _| {
            let Some(table) = table.upgrade() else { return };
            // If the table is in use, the next kernel that is added removes them.
            let removed = table.try_lock().map(|mut table| table.remove_dead(arguments.py()));
            drop(removed);
        })
    }

    /// The kernel that knows the least values of this call with which the function can be traced, and what it knows.
    fn make_knowing<'py>(
        &self,
        py: Python<'py>,
        call: &mut Call<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        least: KnownValues,
    ) -> PyResult<(Kernel, KnownValues)> {
        let mut known = least;
        loop {
            let trace = self.trace(py)?;
            let made = self.make(&trace, call, args, kwargs, known);
            let needs = trace.get().needs(py);
            // What the function did after it asked for a size, also if it caught the refusal, is not what it does with the size.
            let needs_sizes = needs.sizes && !known.sizes;
            match made {
                Ok(kernel) if !needs_sizes => return Ok((kernel, known)),
                Err(error) if !needs_sizes && !Class::is_any(py, &error)? => return Err(error),
                // An integer may have to be equal to a size or divide it, as in `x.reshape(k, -1)`, though the function asks for neither.
                Err(error)
                    if !needs_sizes
                        && !known.integers
                        && call.has_integers()
                        && (needs.integers || known.sizes && Class::Shape.is(py, &error)?) =>
                {
                    known.integers = true
                }
                Err(error) if known.sizes => return Err(error),
                _ => known.sizes = true,
            }
        }
    }

    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Trace>> {
        let name = self.function.bind(py).getattr("__name__").and_then(|name| name.extract::<String>());
        Bound::new(py, Trace::of_function(&name.unwrap_or_default()))
    }

    /// Traces the function and compiles what it did.
    fn make<'py>(
        &self,
        trace: &Bound<'py, Trace>,
        call: &mut Call<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        known: KnownValues,
    ) -> PyResult<Kernel> {
        let py = trace.py();
        let mut names = None;
        let made = self.make_as(trace, call, args, kwargs, known, Some(&mut names));
        let (Err(error), Some(names)) = (&made, names) else { return made };
        let has_constants = || names.getattr("numpy")?.getattr("made_constants")?.is_truthy();
        if trace.get().needs(py).sizes || !Class::is_any(py, error)? || !has_constants()? {
            return made;
        }
        // The function may ask for elements of an array such as `np.zeros(3)`, which NumPy can make.
        let trace = self.trace(py)?;
        let again = self.make_as(&trace, call, args, kwargs, known, None);
        if trace.get().needs(py).sizes { made } else { again.or(made) }
    }

    /// Traces the function, with names of its own for NumPy, which are returned, or without.
    fn make_as<'py>(
        &self,
        trace: &Bound<'py, Trace>,
        call: &mut Call<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        known: KnownValues,
        names_of_numpy: Option<&mut Option<Bound<'py, PyAny>>>,
    ) -> PyResult<Kernel> {
        let py = trace.py();
        self.traces.fetch_add(1, Ordering::Relaxed);
        let sizes = call.declared(known.sizes);
        let mut names = Vec::new();
        let mut values: Vec<Option<Bound<'py, Value>>> = Vec::new();
        let leaves = &call.leaves;
        let mut replace = |path: &str| -> PyResult<Bound<'py, PyAny>> {
            let number = names.len();
            let (Some(leaf), Some(sizes)) = (leaves.get(number), sizes.get(number)) else {
                return Err(PyRuntimeError::new_err("the arguments changed while the function was traced"));
            };
            let name = trace.get().fresh(py, Some(path));
            match leaf {
                Leaf::Array(array) if known.integers && array.integer().is_some() => {
                    names.push(name);
                    values.push(None);
                    return Ok(array.given().clone());
                }
                Leaf::Number(_) => trace.get().number(py, &name, path)?,
                Leaf::Array(array) => {
                    let sizes: Vec<String> = sizes.iter().map(|size| size_text(*size)).collect();
                    trace.get().input(py, &name, array.dtype, &sizes)?;
                }
            }
            names.push(name.clone());
            let made = wrap(trace, &name)?;
            let value = made
                .cast::<Value>()
                .ok()
                .filter(|_| matches!(leaf, Leaf::Array(array) if !array.is_scalar()));
            if let Some(value) = value {
                value.get().become_argument();
            }
            values.push(value.cloned());
            Ok(made)
        };
        let mut lazy_args = Vec::with_capacity(args.len());
        for (position, argument) in args.iter().enumerate() {
            let name = self.parameters.get(position).map_or("x", String::as_str);
            lazy_args.push(match self.is_static(name) {
                true => argument,
                false => rebuilt(&argument, name, &mut replace)?,
            });
        }
        let lazy_kwargs = PyDict::new(py);
        for (key, argument) in kwargs.into_iter().flatten() {
            let name: String = key.extract()?;
            if name == "out" && !self.takes_out {
                continue;
            }
            let argument =
                if self.is_static(&name) { argument } else { rebuilt(&argument, &name, &mut replace)? };
            lazy_kwargs.set_item(key, argument)?;
        }
        let mut function = self.function.bind(py).clone();
        let mut made_names = None;
        if let Some(names) = names_of_numpy {
            let made;
            (function, made) = traceable(&function, trace)?;
            made_names = Some(&*names.insert(made));
        }
        let lazy_args = PyTuple::new(py, lazy_args)?;
        let before = contents(&lazy_args, &lazy_kwargs)?;
        let run = || function.call(&lazy_args, Some(&lazy_kwargs));
        let returned = self.watch.without_randomness(py, &self.function, run);
        if let Some(names) = made_names {
            names.call_method0("write_globals")?;
        }
        let returned = returned?;
        let after = contents(&lazy_args, &lazy_kwargs)?;
        if before.len() != after.len() || before.iter().zip(&after).any(|(old, new)| !old.is(new)) {
            let text = "the function replaces what stands in a list, a dict or a dataclass that it gets, which the caller would not see: \
                        return the new arrays, or write their elements, `arrays[0][...] = v`";
            return Err(Class::Tracing.error(py, text));
        }
        let mut outputs = 0;
        let has_changed =
            |value: &Option<Bound<'py, Value>>| value.as_ref().is_some_and(|value| value.get().has_changed());
        let mut changes = Changes::default();
        let results = Tree::of(&returned, 0, &mut |object| {
            let leaf = values
                .iter()
                .position(|value| has_changed(value) && value.as_ref().is_some_and(|value| value.is(object)));
            if let Some(leaf) = leaf {
                changes.returned.push((outputs, leaf));
                outputs += 1;
                return Ok(Some(outputs - 1));
            }
            let Some(text) = output_text(trace, object)? else { return Ok(None) };
            trace.get().run(py, &format!("output {} = {text}", output_name(outputs)))?;
            outputs += 1;
            Ok(Some(outputs - 1))
        })?;
        for (number, value) in values.iter().enumerate() {
            let Some(value) = value.as_ref().filter(|value| value.get().has_changed()) else { continue };
            let newest = value.get().name_in(trace)?;
            trace.get().run(py, &format!("assign {} = {newest}", names[number]))?;
            changes.leaves.push(number);
        }
        if outputs == 0 && changes.leaves.is_empty() {
            trace.get().close(py);
            return Ok(Kernel::constant(results));
        }
        Kernel::compile(py, trace.get().finish(py)?, &names, (results, changes), &self.options)
    }
}

/// The function with NumPy's names replaced by ours for what NumPy cannot pass on, such as `np.zeros(x.shape)`; and the names.
fn traceable<'py>(
    function: &Bound<'py, PyAny>,
    trace: &Bound<'py, Trace>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let names = function.py().import("broadloom._names")?.getattr("Names")?.call1((trace,))?;
    Ok((names.call_method1("value", (function,))?, names))
}

/// What stands in the containers among the arguments.
fn contents<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = args.py();
    let found = py.import("broadloom._names")?.call_method1("contents", ((args, kwargs),))?;
    // The first is the pair that is made here.
    found.try_iter()?.skip(1).collect()
}

/// The name of a result that is an array; `None` for a value that is returned unchanged.
fn output_text(trace: &Bound<'_, Trace>, object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = trace.py();
    if let Ok(value) = object.cast::<Value>() {
        if object.hasattr("_is_size")? {
            if object.getattr("_is_decided")?.is_truthy()? {
                return Ok(Some(format!("astype({}, i64)", value.get().name_in(trace)?)));
            }
            let text = "a size is returned, which is not known while the function is traced: return the array, and take its shape";
            return Err(Class::Tracing.error(py, text));
        }
        return Ok(Some(value.get().name_in(trace)?));
    }
    if object.hasattr("_refused_result")? {
        let text: String = object.getattr("_refused_result")?.extract()?;
        return Err(Class::Program.error(py, text));
    }
    if object.is_instance_of::<numpy::PyUntypedArray>() {
        return Ok(Some(trace.get().captured(py, object)?));
    }
    if object.hasattr("__next__")? || object.hasattr("__await__")? {
        let text = format!(
            "a {} is returned: return arrays, or tuples, lists and dicts of them",
            object.get_type().name()?
        );
        return Err(PyTypeError::new_err(text));
    }
    Ok(None)
}

/// The name of a symbol by its number, which no parameter should have: the name of an input hides that of a symbol.
pub fn size_text(size: Size) -> String {
    match size {
        Size::Constant(size) => size.to_string(),
        Size::Symbol(number) => format!("size_{number}"),
    }
}
