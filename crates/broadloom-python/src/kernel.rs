//! A compiled program and the way from Python's arguments to its arrays and back.

use crate::array::{Operand, numpy_module, reference_count, to_numpy};
use crate::chunks::Chunks;
use crate::dtype::to_numpy as to_descr;
use crate::error::{Class, detached, of_call, of_compile};
use crate::interrupt::Short;
use crate::structure::{Leaf, Tree};
use crate::trace::Traced;
use broadloom::{AnyArray, ArrayView, CallError, CompileOptions, DType, Executable, Inputs, OutputsMut};
use broadloom_picture::ProgramText;
use broadloom_text::{TextPlaces, Written};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::collections::HashMap;

/// The places in Python where lines of a program were written: code objects and the positions of instructions, which become lines
/// and columns only when an error is explained.
#[derive(Default)]
pub struct Frames(Vec<(usize, Py<PyAny>)>);

impl Frames {
    /// The place in Python that is running now, outside of this package; `None` if there is none.
    pub fn here(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        frames(py, "here")?.call0()
    }

    pub fn add(&mut self, line: usize, frame: Bound<'_, PyAny>) {
        if !frame.is_none() {
            self.0.push((line, frame.unbind()));
        }
    }

    /// Adds the places of another program, whose lines follow this many.
    pub fn append(&mut self, before: usize, other: Frames) {
        self.0.extend(other.0.into_iter().map(|(line, frame)| (before + line, frame)));
    }

    pub fn duplicate(&self, py: Python<'_>) -> Frames {
        Frames(self.0.iter().map(|(line, frame)| (*line, frame.clone_ref(py))).collect())
    }

    /// The places, by lines of the program. A place that cannot be read is left out: an error is being explained.
    pub fn describe(&self, py: Python<'_>) -> HashMap<usize, Written> {
        let describe = |frame: &Py<PyAny>| -> PyResult<Written> {
            let found = frames(py, "describe")?.call1((frame,))?;
            let (file, line, column, width, text): (String, usize, usize, usize, String) = found.extract()?;
            Ok(Written { file, line, columns: (column, width), text })
        };
        self.0.iter().filter_map(|(line, frame)| Some((*line, describe(frame).ok()?))).collect()
    }
}

fn frames<'py>(py: Python<'py>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    static FRAMES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = FRAMES
        .get_or_try_init(py, || py.import("broadloom._frames").map(|found| found.into_any().unbind()))?;
    module.bind(py).getattr(function)
}

/// The source of an input of a kernel.
enum Source {
    /// An argument, by its number among the leaves.
    Leaf(usize),
    /// An array that the function did not get as an argument.
    Captured(Py<PyAny>),
}

/// A compiled program, which `compile` and `Function.kernel` return. It never changes.
///
/// >>> import broadloom as bl, numpy as np
/// >>> x, y = bl.input("x", "f64[n]"), bl.input("y", "f64[n]")
/// >>> kernel = bl.compile(x * y)
/// >>> kernel(np.arange(3.0), y=np.full(3, 2.0))
/// array([0., 2., 4.])
/// >>> print(kernel.shapes(), end="")
/// x: f64[n]
/// y: f64[n]
/// out0: f64[n]
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Kernel {
    /// Nothing if the results depend on no array.
    executable: Option<Executable>,
    /// The names of the arguments.
    names: Vec<String>,
    sources: Vec<Source>,
    /// The names of the outputs, by number.
    outputs: Vec<String>,
    results: Tree,
    changes: Changes,
    places: Option<TextPlaces>,
    frames: Frames,
    text: String,
    short: Short,
}

/// The arguments that a kernel changes, by their numbers among the leaves.
#[derive(Debug, Default)]
pub struct Changes {
    pub leaves: Vec<usize>,
    /// The results that are such arguments, in order: the number of the result, and that of the leaf.
    pub returned: Vec<(usize, usize)>,
}

/// Why a call has no result: an exception, or arrays whose sizes break a condition of the program.
pub enum Failure {
    Raised(PyErr),
    Sizes(Box<CallError>),
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Raised(error)
    }
}

impl Kernel {
    /// Compiles what was traced. `names` are the names of the leaves, and `results` is what the function returned.
    ///
    /// # Errors
    /// Returns an error if the compiler does not support the program.
    pub fn compile(
        py: Python<'_>,
        traced: Traced,
        names: &[String],
        (results, changes): (Tree, Changes),
        options: &CompileOptions,
    ) -> PyResult<Kernel> {
        let Traced { resolved, captured, frames, text } = traced;
        let executable = detached(py, || Executable::compile(&resolved.graph, options))?;
        let executable = executable.map_err(|error| of_compile(py, &error))?;
        let mut sources = Vec::new();
        for input in executable.inputs() {
            let leaf = names.iter().position(|name| *name == input.name).map(Source::Leaf);
            let kept = || {
                captured.iter().find(|(_, name)| *name == input.name).map(|(array, _)| array.clone_ref(py))
            };
            sources.extend(leaf.or_else(|| kept().map(Source::Captured)));
        }
        let mut outputs: Vec<String> = executable.outputs().into_iter().map(|output| output.name).collect();
        for (number, _) in &changes.returned {
            outputs.insert(*number, output_name(*number));
        }
        let places = Some(resolved.places);
        let names = names.to_vec();
        let short = Short::default();
        Ok(Kernel {
            executable: Some(executable),
            names,
            sources,
            outputs,
            results,
            changes,
            places,
            frames,
            text,
            short,
        })
    }

    /// A value that a function returned without computing anything.
    pub fn constant(results: Tree) -> Kernel {
        let (names, sources, outputs, frames) = (Vec::new(), Vec::new(), Vec::new(), Frames::default());
        Kernel {
            executable: None,
            names,
            sources,
            outputs,
            results,
            changes: Changes::default(),
            places: None,
            frames,
            text: String::new(),
            short: Short::default(),
        }
    }

    /// Runs the kernel on the leaves of a call, into new arrays or into those of `out`.
    ///
    /// # Errors
    /// Returns an error if the arrays do not fit, or if the data have no result.
    pub fn run<'py>(
        &self,
        py: Python<'py>,
        leaves: &[Leaf<'py>],
        out: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let Some(executable) = &self.executable else {
            return Ok(self.results.filled(py, &mut |_| Ok(py.None().into_bound(py)))?);
        };
        let captured: Vec<Option<Operand<'py>>> = (self.sources.iter())
            .map(|source| match source {
                Source::Captured(array) => Operand::of(array.bind(py)),
                Source::Leaf(_) => Ok(None),
            })
            .collect::<PyResult<_>>()?;
        if !self.changes.leaves.is_empty() {
            self.check_changes(leaves, &captured)?;
        }
        let mut inputs = Inputs::new();
        for (source, captured) in self.sources.iter().zip(&captured) {
            inputs = match (source, captured) {
                (_, Some(array)) => inputs.next(array.view()?),
                (Source::Leaf(number), None) => match &leaves[*number] {
                    Leaf::Array(array) if self.changes.leaves.contains(number) => {
                        inputs.next(array.view_mut()?)
                    }
                    Leaf::Array(array) => inputs.next(array.view()?),
                    Leaf::Number(value) => inputs.next(ArrayView::scalar(*value)),
                },
                (Source::Captured(_), None) => {
                    return Err(Class::DType
                        .error(py, "an array that the function uses is no longer an array")
                        .into());
                }
            };
        }
        let of_leaves = leaves.iter().map(|leaf| match leaf {
            Leaf::Array(array) => array.shape.iter().product(),
            Leaf::Number(_) => 0,
        });
        let of_captured = captured.iter().flatten().map(|array| array.shape.iter().product::<usize>());
        let elements = of_leaves.chain(of_captured).fold(0, usize::saturating_add);
        if let Some(out) = out {
            self.run_into(py, executable, inputs, elements, out)?;
            self.write_back(leaves)?;
            return Ok(out.clone());
        }
        let outputs = self.short.run(py, executable, inputs, None, elements)?;
        let Some(mut outputs) = outputs.map_err(|error| self.failed(py, error))? else {
            return Err(Class::Value.error(py, "there is no result").into());
        };
        self.write_back(leaves)?;
        let count = self.outputs.len();
        if let (1, 1, Tree::Output(_)) = (count, outputs.len(), &self.results) {
            let array: AnyArray =
                outputs.try_into().map_err(|_| Class::Value.error(py, "there is no result"))?;
            return Ok(to_numpy(py, array)?);
        }
        let mut arrays: Vec<Option<Bound<'py, PyAny>>> = Vec::with_capacity(count);
        for (number, name) in self.outputs.iter().enumerate() {
            let returned = self.changes.returned.iter().find(|(result, _)| *result == number);
            if let Some(Leaf::Array(array)) = returned.and_then(|(_, leaf)| leaves.get(*leaf)) {
                arrays.push(Some(array.given().clone()));
                continue;
            }
            let array: Option<AnyArray> = outputs.take(name).ok();
            arrays.push(array.map(|array| to_numpy(py, array)).transpose()?);
        }
        let missing = || Class::Value.error(py, "there is no such result");
        Ok(self
            .results
            .filled(py, &mut |number| arrays.get(number).cloned().flatten().ok_or_else(missing))?)
    }

    /// Checks that the arguments that change can be written to, and that no other array shares their elements.
    fn check_changes<'py>(&self, leaves: &[Leaf<'py>], captured: &[Option<Operand<'py>>]) -> PyResult<()> {
        let name = |number: usize| self.names.get(number).map_or("an argument", String::as_str);
        for number in &self.changes.leaves {
            let Some(Leaf::Array(array)) = leaves.get(*number) else { continue };
            array.check_writeable(name(*number))?;
            let py = array.object.py();
            let refuse = |other: &str| {
                let name = name(*number);
                let text = format!(
                    "the function changes `{name}`, which shares memory with {other}: pass a copy of one of them"
                );
                Err(Class::Value.error(py, text))
            };
            for (other_number, other) in leaves.iter().enumerate() {
                // Of two arguments that both change, the first is compared with the second.
                let is_done = other_number <= *number && self.changes.leaves.contains(&other_number);
                if let Leaf::Array(other) = other
                    && !is_done
                    && array.overlaps(other)?
                {
                    return refuse(&format!("`{}`", name(other_number)));
                }
            }
            for other in captured.iter().flatten() {
                if array.overlaps(other)? {
                    return refuse("an array that the function uses without getting it as an argument");
                }
            }
        }
        Ok(())
    }

    fn write_back(&self, leaves: &[Leaf<'_>]) -> PyResult<()> {
        self.changes.leaves.iter().try_for_each(|number| match leaves.get(*number) {
            Some(Leaf::Array(array)) => array.write_back(),
            _ => Ok(()),
        })
    }

    fn run_into<'py>(
        &self,
        py: Python<'py>,
        executable: &Executable,
        inputs: Inputs<'_>,
        elements: usize,
        out: &Bound<'py, PyAny>,
    ) -> Result<(), Failure> {
        let mut given: Vec<Operand<'py>> = Vec::new();
        let tree = Tree::of(out, 0, &mut |object| {
            given.push(Operand::destination(object)?);
            Ok(Some(given.len() - 1))
        })?;
        if !self.changes.returned.is_empty() {
            let text = "the function returns an argument that it changes, which cannot be written to `out`: leave out `out=`";
            return Err(Class::Value.error(py, text).into());
        }
        if !self.results.is_like(py, &tree)? {
            let text = "`out` must have the form of the results: one array for one result, or the same tuples and dicts";
            return Err(Class::Value.error(py, text).into());
        }
        let infos = executable.outputs();
        let mut outputs = OutputsMut::new();
        for (array, info) in given.iter().zip(&infos) {
            if array.dtype != info.dtype {
                let text = format!(
                    "`out` has dtype {}, and the result has dtype {}: pass an array of that dtype",
                    array.dtype, info.dtype
                );
                return Err(Class::DType.error(py, text).into());
            }
            outputs = outputs.next(array.view_mut()?);
        }
        let done = self.short.run(py, executable, inputs, Some(outputs), elements)?;
        done.map(drop).map_err(|error| self.failed(py, error))
    }

    fn failed(&self, py: Python<'_>, error: CallError) -> Failure {
        use broadloom::BindError;
        match error {
            CallError::Bind(BindError::Size(_) | BindError::Obligation(_)) => Failure::Sizes(Box::new(error)),
            error => Failure::Raised(self.explain(py, &error)),
        }
    }

    /// An error of a call as an exception that points at Python's lines.
    pub fn explain(&self, py: Python<'_>, error: &CallError) -> PyErr {
        match self.places(py) {
            Some(places) => of_call(py, error, &places),
            None => Class::Value.error(py, error.to_string()),
        }
    }
}

impl Kernel {
    /// An argument for the input of this name. Numbers take the dtype of the input.
    pub fn leaf<'py>(&self, py: Python<'py>, name: &str, given: &Bound<'py, PyAny>) -> PyResult<Leaf<'py>> {
        if let Some(operand) = Operand::of(given)? {
            return Ok(Leaf::Array(operand));
        }
        let inputs = self.executable.as_ref().map(Executable::inputs).unwrap_or_default();
        let info = inputs.iter().find(|input| input.name == *name);
        let dtype = to_descr(py, info.map_or(DType::F64, |info| info.dtype))?;
        let array = numpy_module(py)?.call_method1("asarray", (given, dtype))?;
        let operand = Operand::of(&array)?;
        let refuse = || Class::DType.error(py, format!("`{name}` is neither an array nor a number"));
        operand.map(Leaf::Array).ok_or_else(refuse)
    }

    /// The arguments in order.
    fn leaves<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Leaf<'py>>> {
        let takes = || format!("the kernel takes {}", self.names.join(", "));
        let refuse = |what: String| Class::Value.error(py, format!("{what}: {}", takes()));
        if args.len() > self.names.len() {
            return Err(refuse(format!("{} arguments are given", args.len())));
        }
        let mut leaves = Vec::with_capacity(self.names.len());
        let mut named = 0;
        for (position, name) in self.names.iter().enumerate() {
            let by_name = kwargs.map(|kwargs| kwargs.get_item(name)).transpose()?.flatten();
            named += usize::from(by_name.is_some());
            let given = match (args.get_item(position).ok(), by_name) {
                (Some(_), Some(_)) => return Err(refuse(format!("`{name}` is given twice"))),
                (Some(given), None) | (None, Some(given)) => given,
                (None, None) => return Err(refuse(format!("`{name}` is not given"))),
            };
            leaves.push(self.leaf(py, name, &given)?);
        }
        if kwargs.map_or(0, |kwargs| kwargs.len()) != named {
            return Err(refuse("an argument that the kernel does not have is given".to_owned()));
        }
        Ok(leaves)
    }
}

impl Kernel {
    pub fn executable(&self) -> Option<&Executable> {
        self.executable.as_ref()
    }

    /// The place where the program was written, for errors.
    pub fn places(&self, py: Python<'_>) -> Option<TextPlaces> {
        let written = self.frames.describe(py);
        self.places.clone().map(|places| places.written_at(|line| written.get(&line).cloned()))
    }

    /// The bytes of the arrays that nothing but this kernel refers to.
    pub fn own_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        let mut bytes = 0;
        for source in &self.sources {
            if let Source::Captured(array) = source
                && reference_count(array.bind(py)) == 1
            {
                bytes += array.bind(py).getattr("nbytes")?.extract::<usize>()?;
            }
        }
        Ok(bytes)
    }

    /// The array that an input is, if the function did not get it as an argument.
    pub fn captured(&self, py: Python<'_>, name: &str) -> Option<Py<PyAny>> {
        let inputs = self.executable.as_ref().map(Executable::inputs).unwrap_or_default();
        let position = inputs.iter().position(|input| input.name == name)?;
        match self.sources.get(position)? {
            Source::Captured(array) => Some(array.clone_ref(py)),
            Source::Leaf(_) => None,
        }
    }

    /// Results by name in the form in which the function returned them.
    pub fn results<'py>(&self, py: Python<'py>, arrays: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let missing = || Class::Value.error(py, "there is no such result");
        self.results.filled(py, &mut |number| {
            let name = self.outputs.get(number).ok_or_else(missing)?;
            arrays.get_item(name)?.ok_or_else(missing)
        })
    }
}

/// The place and the text of a line of Python from which a line of a program was traced.
fn in_python(Written { file, line, text, .. }: &Written) -> String {
    let name = std::path::Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy());
    format!("{name}:{line}  {}", text.trim())
}

/// The name of an output, by its number.
pub fn output_name(number: usize) -> String {
    format!("out{number}")
}

#[pymethods]
impl Kernel {
    /// Runs the kernel on arrays, by position or by name, and returns new arrays, or `out` with the results.
    ///
    /// Raises `ShapeError` and `DTypeError` if the arrays do not fit, and `OutOfRangeError` if the data have no result.
    #[pyo3(signature = (*args, out=None, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let leaves = self.leaves(py, args, kwargs)?;
        self.run(py, &leaves, out).map_err(|failure| match failure {
            Failure::Raised(error) => error,
            Failure::Sizes(error) => self.explain(py, &error),
        })
    }

    /// Returns what the compiler made of the program: loops, vector widths, stored temporaries and code.
    #[pyo3(name = "explain")]
    pub fn explanation(&self, py: Python<'_>) -> PyResult<String> {
        match &self.executable {
            Some(executable) => detached(py, || executable.explain().to_string()),
            None => Ok("the results depend on no array: nothing is computed\n".to_owned()),
        }
    }

    /// A page that shows the program, its loops and its machine code side by side: a text, which notebooks show as a page.
    ///
    /// >>> import broadloom as bl, numpy as np
    /// >>> page = bl.compile(bl.input("x", "f32[n]") * 2).explain_html()
    /// >>> page.startswith("<!DOCTYPE html>")
    /// True
    pub fn explain_html<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let page = match &self.executable {
            Some(executable) => {
                let places = self.places(py);
                let made = detached(py, || {
                    let explanation = executable.explain();
                    let program = places.as_ref().map(|places| ProgramText {
                        name: places.name().to_owned(),
                        text: places.text().to_owned(),
                        spans: places.spans(explanation.graph()),
                        beside: places.written().map(|(line, written)| (line, in_python(written))).collect(),
                    });
                    broadloom_picture::html(&explanation, program.as_ref())
                })?;
                made.map_err(|error| of_compile(py, &error))?
            }
            None => {
                "<!DOCTYPE html>\n<p>The results depend on no array: nothing is computed.</p>\n".to_owned()
            }
        };
        py.import("broadloom._page")?.getattr("Page")?.call1((page,))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for source in &self.sources {
            if let Source::Captured(array) = source {
                visit.call(array)?;
            }
        }
        self.results.visit(&visit)
    }

    /// The program, in the text language.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// A kernel that takes its rows, those along the size of this name, in chunks of `size` rows.
    ///
    /// >>> import broadloom as bl, numpy as np
    /// >>> x = bl.input("x", "f64[n, 2]")
    /// >>> total = bl.compile(x.sum(axis=0)).in_chunks("n", size=1000)
    /// >>> total(x=np.ones((5000, 2)))
    /// array([5000., 5000.])
    #[pyo3(signature = (rows, *, size=65536))]
    fn in_chunks(slf: &Bound<'_, Self>, rows: &str, size: usize) -> PyResult<Chunks> {
        Chunks::new(slf.py(), slf, rows, size)
    }

    /// The types of the inputs and of the results, one a line.
    pub fn shapes(&self) -> String {
        let Some(executable) = &self.executable else { return String::new() };
        let inputs = executable.inputs();
        let outputs = executable.outputs();
        inputs.iter().chain(&outputs).map(|array| format!("{array}\n")).collect()
    }

    /// A picture of the graph and of its loops in DOT, which Graphviz lays out.
    fn dot(&self) -> String {
        let draw = |executable: &Executable| broadloom_picture::dot(&executable.explain());
        self.executable.as_ref().map_or_else(String::new, draw)
    }

    /// A picture of the graph and of its loops as SVG.
    fn svg(&self) -> String {
        let draw = |executable: &Executable| broadloom_picture::svg(&executable.explain());
        self.executable.as_ref().map_or_else(String::new, draw)
    }

    fn _repr_svg_(&self) -> Option<String> {
        self.executable.as_ref().map(|executable| broadloom_picture::svg(&executable.explain()))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        self.executable.as_ref().map_or("Kernel()".to_owned(), |executable| {
            format!("{executable:?}").replacen("Executable", "Kernel", 1)
        })
    }
}
