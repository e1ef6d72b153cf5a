//! Programs in the text language, on arrays by name.

use crate::error::{Class, of_mistakes};
use crate::function::{options, size_text};
use crate::kernel::{Changes, Failure, Kernel};
use crate::labels;
use crate::structure::{Call, KnownValues, Leaf, Size, Tree};
use crate::texts::{TextColumn, decoded};
use crate::trace::Trace;
use broadloom::CompileOptions;
use broadloom_text::TextList;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBool, PyDict, PyInt, PyMapping, PyString};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The most kernels that a program keeps.
const CAPACITY: usize = 64;

/// A program in the text language, which keeps its kernels. It can be copied, pickled and compared.
///
/// >>> import broadloom as bl, numpy as np
/// >>> program = bl.Program("sqrt(x*x + y*y)")
/// >>> program.inputs
/// ['x', 'y']
/// >>> program(x=np.array([3.0]), y=np.array([4.0]))
/// array([5.])
#[pyclass(frozen, weakref, module = "broadloom._broadloom")]
pub struct Program {
    text: String,
    threads: Option<usize>,
    options: CompileOptions,
    /// The names of the inputs that the program declares.
    declared: Vec<String>,
    /// The names that are read and not declared.
    needed: Vec<String>,
    /// Those of them that are texts unless they are given.
    texts: Vec<String>,
    /// The names that are constants unless they are given.
    constants: Vec<String>,
    kernels: Mutex<HashMap<Key, Compiled>>,
}

/// What results are beside arrays.
#[derive(Clone)]
struct Results {
    /// The numbers of those that are text, with their texts.
    texts: Arc<[(usize, TextList)]>,
    /// For each, whether it has the rows of the arguments: known once an argument has labels.
    in_rows: Arc<OnceLock<Vec<bool>>>,
}

/// How the sizes of arguments are declared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sizes {
    /// Equal sizes share a symbol, and short trailing ones are numbers.
    Shared,
    /// All are numbers.
    Concrete,
    /// As `Shared`, but leading sizes of this number are a symbol.
    AnyRows(usize),
}

/// The number of the symbol for any number of rows, which no other size has.
const ANY_ROWS: usize = 1 << 20;

/// A kernel and its results.
struct Compiled {
    kernel: Py<Kernel>,
    results: Results,
}

/// The names of the arrays, their structure, and their sizes if the kernel is for them alone.
type Key = (Vec<Declared>, Vec<u64>, Option<Vec<u64>>);

/// The arguments of a call of a program.
struct Given<'py> {
    /// The names that the program does not declare, in the order of the leaves of `call`.
    names: Vec<Declared>,
    call: Call<'py>,
    /// The arrays of the inputs that the program declares.
    declared: Vec<Option<Bound<'py, PyAny>>>,
    /// The index of pandas' objects among the arguments.
    index: Option<Bound<'py, PyAny>>,
}

/// The argument for a name that the program does not declare.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Declared {
    name: String,
    /// The value, as a text; `None` for arrays and floats, which are passed to the kernel.
    value: Option<String>,
    /// The texts of a column of text, of which the kernel gets the codes.
    texts: Option<TextList>,
}

/// The pickled form: a function, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (String, Option<usize>));

#[pymethods]
impl Program {
    #[new]
    #[pyo3(signature = (text, *, threads=None))]
    fn new(py: Python<'_>, text: String, threads: Option<usize>) -> PyResult<Program> {
        let parsed = broadloom_text::Program::parse("program", &text)
            .and_then(|program| program.check_syntax().map(|()| program))
            .map_err(|error| of_mistakes(py, &error))?;
        let own = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let (needed, constants) = (own(parsed.missing_inputs()), own(parsed.constants()));
        let (declared, texts) = (own(parsed.declared_inputs()), own(parsed.possible_texts()));
        let options = options(py, threads)?;
        Ok(Program { text, threads, options, declared, needed, texts, constants, kernels: Mutex::default() })
    }

    /// Runs the program on arrays by name.
    #[pyo3(signature = (arrays=None, /, *, out=None, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arrays: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut given = self.given(py, arrays, named)?;
        let (kernel, told) = self.kernel_for(py, &given.names, &mut given.call, false)?;
        self.add_declared(py, kernel.get(), &mut given)?;
        let error = match kernel.get().run(py, &given.call.leaves, out) {
            Ok(results) => return self.with_labels(told, results, &mut given, out.is_some()),
            Err(Failure::Raised(error)) => return Err(error),
            Err(Failure::Sizes(error)) => error,
        };
        if given.names.is_empty() {
            return Err(kernel.get().explain(py, &error));
        }
        // As in a traced function: these sizes may need a kernel of their own.
        given.call.leaves.truncate(given.call.leaves.len() - self.declared.len());
        let (kernel, told) = self.kernel_for(py, &given.names, &mut given.call, true)?;
        self.add_declared(py, kernel.get(), &mut given)?;
        let results = kernel.get().run(py, &given.call.leaves, out).map_err(|failure| match failure {
            Failure::Raised(error) => error,
            Failure::Sizes(_) => kernel.get().explain(py, &error),
        })?;
        self.with_labels(told, results, &mut given, out.is_some())
    }

    /// The kernel that a call with these arrays runs.
    #[pyo3(signature = (arrays=None, /, **named))]
    fn compile<'py>(
        &self,
        py: Python<'py>,
        arrays: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Kernel>> {
        let mut given = self.given(py, arrays, named)?;
        Ok(self.kernel_for(py, &given.names, &mut given.call, false)?.0)
    }

    /// Returns the explanation of the kernel for these arrays.
    #[pyo3(signature = (arrays=None, /, **named))]
    fn explain(
        &self,
        py: Python<'_>,
        arrays: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        self.compile(py, arrays, named)?.get().explanation(py)
    }

    /// Returns the page that explains the kernel for these arrays, which notebooks show.
    #[pyo3(signature = (arrays=None, /, **named))]
    fn explain_html<'py>(
        &self,
        py: Python<'py>,
        arrays: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.compile(py, arrays, named)?.get().explain_html(py)
    }

    /// The types of the inputs and of the results for these arrays, one a line.
    #[pyo3(signature = (arrays=None, /, **named))]
    fn shapes(
        &self,
        py: Python<'_>,
        arrays: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        Ok(self.compile(py, arrays, named)?.get().shapes())
    }

    /// The names of the arrays that the program reads.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.needed.iter().chain(&self.declared).cloned().collect()
    }

    /// The program as it was written.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("Program({:?})", self.text)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Program>().is_ok_and(|other| {
            let other = other.get();
            self.text == other.text && self.threads == other.threads
        })
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let make = slf.py().import("broadloom._api")?.getattr("_program")?;
        Ok((make, (slf.get().text.clone(), slf.get().threads)))
    }
}

impl Program {
    /// Returns the arguments for the names that the program reads.
    fn given<'py>(
        &self,
        py: Python<'py>,
        arrays: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Given<'py>> {
        let is_mapping = |arrays: &Bound<'py, PyAny>| arrays.cast::<PyMapping>().is_ok();
        if let Some(arrays) = arrays
            && !is_mapping(arrays)
            && !arrays.hasattr("keys")?
        {
            let class = arrays.get_type().name()?;
            let text = format!("arrays by name come from a dict or a DataFrame, not from {class}");
            return Err(PyTypeError::new_err(text));
        }
        let find = |name: &str| -> PyResult<Option<Bound<'py, PyAny>>> {
            if let Some(named) = named
                && let Some(array) = named.get_item(name)?
            {
                return Ok(Some(array));
            }
            match arrays {
                Some(arrays) if arrays.contains(name)? => {
                    let found = arrays.get_item(name)?;
                    // The columns of a DataFrame have the same rows: they need no labels.
                    let is_column = !is_mapping(arrays) && found.hasattr("to_numpy")?;
                    if is_column { found.call_method0("to_numpy").map(Some) } else { Ok(Some(found)) }
                }
                _ => Ok(None),
            }
        };
        let mut given = Given { names: Vec::new(), call: Call::default(), declared: Vec::new(), index: None };
        let mut found = Vec::new();
        for name in &self.needed {
            match find(name)? {
                Some(array) => found.push((name, array)),
                None if self.texts.contains(name) => {}
                None => return Err(missing(py, name)),
            }
        }
        for name in &self.constants {
            found.extend(find(name)?.map(|array| (name, array)));
        }
        for name in &self.declared {
            given.declared.push(find(name)?);
        }
        let of_declared = given.declared.iter().flatten();
        let mut passed = found.iter().map(|(_, array)| array).chain(of_declared).cloned().collect();
        given.index = labels::take(py, arrays, &mut passed)?;
        let places = found.iter_mut().map(|(_, array)| array).chain(given.declared.iter_mut().flatten());
        places.zip(passed).for_each(|(place, array)| *place = array);
        let mut columns = Vec::new();
        for (name, array) in &found {
            columns.push(TextColumn::of(name, array)?);
        }
        self.join(py, &found, &mut columns)?;
        for ((name, array), column) in found.iter().zip(columns) {
            let array = column.as_ref().map_or(array, |column| &column.codes);
            let declared = self.add(&mut given.call, name, array)?;
            given.names.push(Declared { texts: column.map(|column| column.texts), ..declared });
        }
        let reads: Vec<&String> = self.needed.iter().chain(&self.declared).chain(&self.constants).collect();
        for name in named.into_iter().flat_map(|named| named.keys()) {
            let name: String = name.extract()?;
            if !reads.contains(&&name) {
                let text = match &reads[..] {
                    [] => format!("the program does not read `{name}`: it reads nothing"),
                    reads => {
                        let reads: Vec<&str> = reads.iter().map(|name| name.as_str()).collect();
                        format!("the program does not read `{name}`; it reads {}", reads.join(", "))
                    }
                };
                return Err(Class::Value.error(py, text));
            }
        }
        given.call.close();
        Ok(given)
    }

    /// Gives columns of text that meet one list of texts.
    fn join<'py>(
        &self,
        py: Python<'py>,
        found: &[(&String, Bound<'py, PyAny>)],
        columns: &mut [Option<TextColumn<'py>>],
    ) -> PyResult<()> {
        let mut lists = columns.iter().flatten().map(|column| &column.texts);
        if lists.next().is_none_or(|first| lists.all(|other| other == first)) {
            return Ok(());
        }
        // Its mistakes may come from texts that are not joined yet, and are those of the kernel otherwise.
        let (mut call, mut names) = (Call::default(), Vec::new());
        for ((name, array), column) in found.iter().zip(&*columns) {
            let array = column.as_ref().map_or(array, |column| &column.codes);
            let texts = column.as_ref().map(|column| column.texts.clone());
            names.push(Declared { texts, ..self.add(&mut call, name, array)? });
        }
        let trace = Trace::of_text("program");
        trace.only_join_texts(py)?;
        self.declare(py, &trace, &names, &mut call, Sizes::Concrete)?;
        trace.run(py, &self.text).ok();
        for (name, joined) in trace.joined_texts(py)? {
            let of_name = found.iter().zip(&mut *columns).find(|((own, _), _)| ***own == *name);
            if let Some((_, Some(column))) = of_name {
                column.join(&joined)?;
            }
        }
        Ok(())
    }

    /// Adds the arrays of the inputs that the program declares, which follow the others.
    fn add_declared<'py>(&self, py: Python<'py>, kernel: &Kernel, given: &mut Given<'py>) -> PyResult<()> {
        for (name, array) in self.declared.iter().zip(&given.declared) {
            let array = array.as_ref().ok_or_else(|| missing(py, name))?;
            given.call.leaves.push(kernel.leaf(py, name, array)?);
        }
        Ok(())
    }

    /// Adds what is given for a name, and returns what the program calls it: an integer or a truth value is a number of
    /// the program, as if it were written there.
    fn add<'py>(&self, call: &mut Call<'py>, name: &str, given: &Bound<'py, PyAny>) -> PyResult<Declared> {
        let name = name.to_owned();
        if let Ok(value) = given.cast_exact::<PyBool>() {
            let text = if value.is_true() { "True" } else { "False" };
            return Ok(Declared { name, value: Some(text.to_owned()), texts: None });
        }
        if given.is_exact_instance_of::<PyInt>() {
            return Ok(Declared { name, value: Some(given.str()?.to_string()), texts: None });
        }
        let leaves = call.leaves.len();
        call.add(given, 0).map_err(|error| Class::named(error, &name, given))?;
        if call.leaves.len() == leaves + 1 && call.statics.is_empty() {
            return Ok(Declared { name, value: None, texts: None });
        }
        let text = format!("`{name}` is neither an array nor a number: pass `np.asarray({name})`");
        Err(Class::DType.error(given.py(), text))
    }

    fn kernel_for<'py>(
        &self,
        py: Python<'py>,
        names: &[Declared],
        call: &mut Call<'py>,
        is_concrete: bool,
    ) -> PyResult<(Bound<'py, Kernel>, Results)> {
        let mut key: Key =
            (names.to_vec(), call.key.to_vec(), is_concrete.then(|| call.values(KnownValues::SIZES)));
        let find = |key: &Key| {
            let kernels = self.kernels.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            kernels.get(key).map(|found| (found.kernel.bind(py).clone(), found.results.clone()))
        };
        if let Some(kernel) = find(&key) {
            return Ok(kernel);
        }
        let (kernel, results) = match self.make(py, names, call, is_concrete) {
            Ok(kernel) => kernel,
            Err(error) if !is_concrete && Class::is_any(py, &error)? => {
                key.2 = Some(call.values(KnownValues::SIZES));
                if let Some(kernel) = find(&key) {
                    return Ok(kernel);
                }
                self.make(py, names, call, true)?
            }
            Err(error) => return Err(error),
        };
        let kernel = Bound::new(py, kernel)?;
        let mut removed = HashMap::new();
        {
            let mut kernels = self.kernels.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            if kernels.len() >= CAPACITY {
                removed = std::mem::take(&mut *kernels);
            }
            kernels.insert(key, Compiled { kernel: kernel.clone().unbind(), results: results.clone() });
        }
        drop(removed);
        Ok((kernel, results))
    }

    /// Resolves the program for these inputs and compiles it.
    fn make<'py>(
        &self,
        py: Python<'py>,
        names: &[Declared],
        call: &mut Call<'py>,
        is_concrete: bool,
    ) -> PyResult<(Kernel, Results)> {
        let trace = Trace::of_text("program");
        let of = if is_concrete { Sizes::Concrete } else { Sizes::Shared };
        let mut inputs = self.declare(py, &trace, names, call, of)?;
        inputs.extend(self.declared.iter().cloned());
        trace.begin(py)?;
        trace.run(py, &self.text)?;
        let traced = trace.finish(py)?;
        let outputs = traced.resolved.graph.results();
        let tree = match outputs {
            [_] => Tree::Output(0),
            several => {
                let named = several.iter().enumerate().map(|(number, output)| {
                    let name = PyString::new(py, &output.name).into_any().unbind();
                    (name, Tree::Output(number))
                });
                Tree::Dict(named.collect())
            }
        };
        let texts = traced.resolved.texts.results.iter().filter_map(|(result, column)| {
            let number = outputs.iter().position(|output| output.name == *result)?;
            let texts = names.iter().find(|declared| *declared.name == **column)?.texts.clone()?;
            Some((number, texts))
        });
        let results = Results { texts: texts.collect(), in_rows: Arc::default() };
        let kernel = Kernel::compile(py, traced, &inputs, (tree, Changes::default()), &self.options)?;
        Ok((kernel, results))
    }

    /// Returns the results of a call as people pass arrays to it: text, and with the index of its rows.
    fn with_labels<'py>(
        &self,
        told: Results,
        arrays: Bound<'py, PyAny>,
        given: &mut Given<'py>,
        is_out: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let results = with_texts(arrays, &told.texts, is_out)?;
        let Some(index) = given.index.clone().filter(|_| !is_out) else { return Ok(results) };
        let in_rows = match told.in_rows.get() {
            Some(known) => known.clone(),
            None => {
                let found = self.in_rows(results.py(), given, index.len()?)?;
                told.in_rows.get_or_init(|| found).clone()
            }
        };
        labels::give(results, &index, in_rows)
    }

    /// Returns for each result whether its rows are those of the arguments, of which there are so many. A kernel may be for these
    /// sizes alone, so the program is resolved once more, for any number of rows.
    fn in_rows(&self, py: Python<'_>, given: &mut Given<'_>, rows: usize) -> PyResult<Vec<bool>> {
        let trace = Trace::of_text("program");
        self.declare(py, &trace, &given.names, &mut given.call, Sizes::AnyRows(rows))?;
        trace.begin(py)?;
        let traced = trace.run(py, &self.text).and_then(|()| trace.finish(py));
        // One that is right for this number of rows alone says nothing of rows.
        Ok(traced.map_or(Vec::new(), |traced| labels::in_rows(&traced.resolved.graph)))
    }

    /// Declares the arguments, and returns the names of those that the kernel gets.
    fn declare(
        &self,
        py: Python<'_>,
        trace: &Trace,
        names: &[Declared],
        call: &mut Call<'_>,
        of: Sizes,
    ) -> PyResult<Vec<String>> {
        let sizes = call.declared(of == Sizes::Concrete);
        let mut leaves = call.leaves.iter().zip(&sizes);
        let mut inputs = Vec::new();
        for Declared { name, value, texts } in names {
            if let Some(value) = value {
                trace.run(py, &format!("let {} = {value}", quoted(name)))?;
                continue;
            }
            match leaves.next() {
                Some((Leaf::Array(array), sizes)) => {
                    let mut sizes: Vec<String> = sizes.iter().map(|size| size_text(*size)).collect();
                    if let (Sizes::AnyRows(rows), Some(leading)) = (of, sizes.first_mut())
                        && array.shape.first() == Some(&rows)
                    {
                        *leading = size_text(Size::Symbol(ANY_ROWS));
                    }
                    match texts {
                        Some(texts) => trace.text_column(py, name, &sizes, texts.clone())?,
                        None => trace.input(py, &quoted(name), array.dtype, &sizes)?,
                    }
                }
                Some((Leaf::Number(_), _)) => trace.number(py, name, name)?,
                None => {}
            }
            inputs.push(name.clone());
        }
        Ok(inputs)
    }
}

/// Returns results with the elements of those that are text.
fn with_texts<'py>(
    results: Bound<'py, PyAny>,
    texts: &[(usize, TextList)],
    is_out: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = results.py();
    if texts.is_empty() {
        return Ok(results);
    }
    if is_out {
        return Err(Class::Value.error(py, "a result is text, which `out=` cannot take: leave out `out=`"));
    }
    let Ok(named) = results.cast::<PyDict>() else {
        return texts.first().map_or(Ok(results.clone()), |(_, texts)| decoded(&results, texts));
    };
    let names = named.keys();
    for (number, texts) in texts {
        let name = names.get_item(*number)?;
        if let Some(codes) = named.get_item(&name)? {
            named.set_item(name, decoded(&codes, texts)?)?;
        }
    }
    Ok(results)
}

fn missing(py: Python<'_>, name: &str) -> PyErr {
    Class::Value.error(py, format!("the program reads `{name}`, which is not given: write `{name}=..`"))
}

/// Returns a name as it is declared: in quotes if it is not an identifier.
pub fn quoted(name: &str) -> String {
    let is_identifier = name.chars().all(|letter| letter == '_' || letter.is_alphanumeric());
    if is_identifier { name.to_owned() } else { format!("\"{name}\"") }
}
