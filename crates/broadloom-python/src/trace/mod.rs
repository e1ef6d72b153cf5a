//! Lazy arrays: names in a program that grows with every operation on them.

mod loops;
mod place;
mod value;
mod write;

use crate::array::Operand;
use crate::error::{Class, caught, of_mistakes};
use crate::function::options;
use crate::kernel::{Changes, Frames, Kernel, output_name};
use crate::structure::{KnownValues, Tree};
use broadloom::DType;
use broadloom_text::{Limit, Limits, Mistake, Mistakes, Problem, Resolved, Session, TextList};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyTuple};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use value::define;
pub use value::{Value, wrap};
use write::{is_plain, items_text, write_value};

/// A function that is being traced, or an expression that is being written.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Trace {
    state: Mutex<State>,
}

struct State {
    /// Nothing once the program is finished.
    session: Option<Session>,
    /// Names that are in use.
    taken: HashSet<String>,
    /// The number of names made so far.
    made: usize,
    /// Arrays that the function did not get as arguments, by the address of the object, and their names.
    captured: Vec<(Py<PyAny>, String)>,
    /// Names of values by their expressions.
    known: HashMap<String, String>,
    /// Names of sizes by their text.
    sizes: HashMap<String, String>,
    /// Nothing if the lines of the program are lines of a text.
    frames: Option<Frames>,
    /// The names of the declared inputs.
    inputs: Vec<String>,
    /// The names of the numbers among the arguments, as Python has them.
    numbers: Vec<String>,
    /// The names of the values by which a function is derived.
    variables: HashSet<String>,
    /// Whether this is an expression on declared inputs and no function: it can be compiled at any time, and becomes part of
    /// another one that is used beside it.
    is_open: bool,
    /// The trace that this one became a part of.
    merged: Option<Py<Trace>>,
    /// The values of the call that the function asked for.
    needs: KnownValues,
    /// The numbers of lines that were refused, and whose exceptions were caught.
    refused: HashSet<usize>,
    /// The loops whose steps are being traced, outermost first.
    loops: Vec<loops::OpenLoop>,
}

/// The lines of a trace, and what they refer to.
struct Copied {
    text: String,
    frames: Frames,
    captured: Vec<(Py<PyAny>, String)>,
    inputs: Vec<String>,
    variables: HashSet<String>,
    refused: HashSet<usize>,
}

impl Copied {
    /// The same without the lines on which none of these names depends: an expression was used beside others, whose inputs
    /// its kernel does not need. The lines keep their numbers.
    fn that_defines(mut self, names: &[String]) -> Copied {
        let mut needed: HashSet<&str> = names.iter().map(String::as_str).collect();
        let mut lines: Vec<&str> = self.text.lines().collect();
        for line in lines.iter_mut().rev() {
            match line.strip_prefix("let ").and_then(|rest| rest.split_once(" = ")) {
                Some((name, expression)) if needed.contains(name) => needed.extend(identifiers(expression)),
                Some(_) => *line = "",
                // The lines of loops stay, with all that they name.
                None if is_of_loop(line) => needed.extend(identifiers(line)),
                None => {}
            }
        }
        let sizes_of_needed: HashSet<&str> = lines
            .iter()
            .filter_map(|line| input_of(line))
            .filter(|(name, _)| needed.contains(name))
            .flat_map(|(_, sizes)| identifiers(sizes))
            .collect();
        for line in &mut lines {
            let Some((name, sizes)) = input_of(line) else { continue };
            // An array may be needed for one of its sizes.
            let gives_size =
                || identifiers(sizes).any(|size| needed.contains(size) && !sizes_of_needed.contains(size));
            if !needed.contains(name) && !gives_size() {
                self.inputs.retain(|own| own != name);
                *line = "";
            }
        }
        self.text = lines.join("\n");
        self
    }
}

/// Whether a line begins or ends a loop, or carries a value on.
fn is_of_loop(line: &str) -> bool {
    ["for ", "loop ", "while ", "next ", "stack ", "end"].iter().any(|word| line.starts_with(word))
}

/// The name and the type of a declared input.
fn input_of(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("input ")?.split_once(": ")
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Names that were made for expressions on declared inputs: none is made twice, so that they can be joined.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// The part of a trace that its kernel needs.
pub struct Traced {
    pub resolved: Resolved,
    pub captured: Vec<(Py<PyAny>, String)>,
    pub frames: Frames,
    pub text: String,
}

impl Trace {
    /// A trace of a function of Python's, in whose lines its operations are written.
    pub fn of_function(name: &str) -> Trace {
        Trace::new(name, Some(Frames::default()), false)
    }

    /// A program whose lines are written in the text itself.
    pub fn of_text(name: &str) -> Trace {
        Trace::new(name, None, false)
    }

    fn new(name: &str, frames: Option<Frames>, is_open: bool) -> Trace {
        let state = State {
            session: Some(Session::new(name, Limits::default())),
            taken: HashSet::new(),
            made: 0,
            captured: Vec::new(),
            known: HashMap::new(),
            sizes: HashMap::new(),
            frames,
            inputs: Vec::new(),
            numbers: Vec::new(),
            variables: HashSet::new(),
            is_open,
            merged: None,
            needs: KnownValues::NOTHING,
            refused: HashSet::new(),
            loops: Vec::new(),
        };
        Trace { state: Mutex::new(state) }
    }

    fn with<R>(&self, py: Python<'_>, action: impl FnOnce(&mut State) -> R) -> R {
        action(&mut self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }

    fn session<R>(&self, py: Python<'_>, action: impl FnOnce(&mut Session) -> R) -> PyResult<R> {
        self.with(py, |state| state.session.as_mut().map(action)).ok_or_else(|| over(py))
    }

    /// Adds a line to the program, which the Python code that is running now wrote.
    pub fn run(&self, py: Python<'_>, line: &str) -> PyResult<()> {
        self.add(py, |session| session.run(line))
    }

    /// Adds to the program what the Python code that is running now wrote.
    fn add(&self, py: Python<'_>, action: impl FnOnce(&mut Session) -> Result<(), Mistakes>) -> PyResult<()> {
        let has_frames = self.with(py, |state| state.frames.is_some());
        let frame = if has_frames { Some(Frames::here(py)?) } else { None };
        let result = self.with(py, |state| {
            let session = state.session.as_mut()?;
            if let (Some(frames), Some(frame)) = (&mut state.frames, frame) {
                frames.add(session.lines() + 1, frame);
            }
            let result = caught(py, || action(session));
            if !matches!(result, Ok(Ok(()))) {
                state.refused.insert(session.lines());
            }
            Some(result)
        });
        result.ok_or_else(|| over(py))??.map_err(|mistakes| self.explain(py, mistakes))
    }

    /// The mistakes as an exception that points at Python's lines.
    fn explain(&self, py: Python<'_>, mistakes: Mistakes) -> PyErr {
        let is_too_long =
            |mistake: &Mistake| matches!(&mistake.problem, Problem::Limit { limit: Limit::Nodes, .. });
        if mistakes.as_slice().first().is_some_and(is_too_long)
            && self.with(py, |state| state.frames.is_some())
        {
            let text = format!(
                "the function has more than {} operations, because loops are unrolled while it is traced: compile the body of the \
                 loop as a function of its own and call it in an ordinary loop, write the loop with ranges and masks, or let it \
                 run in NumPy, `bl.jit(function, fallback=True)`",
                Limits::default().nodes
            );
            return Class::Tracing.error(py, text);
        }
        let frames = self.with(py, |state| state.frames.as_ref().map(|frames| frames.duplicate(py)));
        let written = frames.unwrap_or_default().describe(py);
        of_mistakes(py, &mistakes.written_at(|line| written.get(&line).cloned()))
    }

    /// The name of an expression, which is computed once: names never change what they mean. Two evaluations of a mask
    /// are one mask.
    pub fn named(&self, py: Python<'_>, expression: &str) -> PyResult<String> {
        if let Some(name) = self.with(py, |state| state.known.get(expression).cloned()) {
            return Ok(name);
        }
        let name = self.fresh(py, None);
        self.run(py, &format!("let {name} = {expression}"))?;
        self.with(py, |state| state.known.insert(expression.to_owned(), name.clone()));
        Ok(name)
    }

    /// A name that nothing has yet; `wanted`, if it can be had.
    pub fn fresh(&self, py: Python<'_>, wanted: Option<&str>) -> String {
        self.with(py, |state| {
            if let Some(wanted) = wanted.filter(|wanted| is_plain(wanted))
                && state.taken.insert(wanted.to_owned())
            {
                return wanted.to_owned();
            }
            loop {
                state.made += 1;
                let name = match state.is_open {
                    true => format!("_{}", MADE.fetch_add(1, Ordering::Relaxed)),
                    false => format!("v{}", state.made),
                };
                if state.taken.insert(name.clone()) {
                    return name;
                }
            }
        })
    }

    /// Ends the declarations, which messages number apart from the lines that follow.
    pub fn begin(&self, py: Python<'_>) -> PyResult<()> {
        self.session(py, Session::begin)
    }

    /// Declares an array.
    pub fn input(&self, py: Python<'_>, name: &str, dtype: DType, sizes: &[String]) -> PyResult<()> {
        self.declare(py, name, &format!("{dtype}[{}]", sizes.join(", ")))
    }

    fn declare(&self, py: Python<'_>, name: &str, text: &str) -> PyResult<()> {
        self.run(py, &format!("input {name}: {text}"))?;
        self.with(py, |state| state.inputs.push(name.to_owned()));
        Ok(())
    }

    /// Declares a number that takes the dtype of the other operand; `argument` is its name in Python.
    pub fn number(&self, py: Python<'_>, name: &str, argument: &str) -> PyResult<()> {
        let result = self.session(py, |session| session.number(name, DType::F64))?;
        self.with(py, |state| state.numbers.push(argument.to_owned()));
        result.map_err(|mistakes| self.explain(py, mistakes))
    }

    /// Declares a column of text, whose elements are codes.
    pub fn text_column(&self, py: Python<'_>, name: &str, sizes: &[String], texts: TextList) -> PyResult<()> {
        let result = self.session(py, |session| session.text_column(name, &sizes.join(", "), texts))?;
        result.map_err(|mistakes| self.explain(py, mistakes))
    }

    /// Makes this trace only find out which columns of text meet.
    pub fn only_join_texts(&self, py: Python<'_>) -> PyResult<()> {
        self.session(py, Session::only_join_texts)
    }

    /// The columns of text that need other texts, and these.
    pub fn joined_texts(&self, py: Python<'_>) -> PyResult<Vec<(Box<str>, TextList)>> {
        self.session(py, |session| session.joined_texts())
    }

    /// The name of an array that the function did not get as an argument.
    fn capture(&self, py: Python<'_>, object: &Bound<'_, PyAny>, array: &Operand<'_>) -> PyResult<String> {
        let known = self.with(py, |state| {
            state.captured.iter().find(|(known, _)| known.is(object)).map(|(_, name)| name.clone())
        });
        if let Some(name) = known {
            return Ok(name);
        }
        let name = self.fresh(py, None);
        let sizes: Vec<String> = array.shape.iter().map(usize::to_string).collect();
        self.input(py, &name, array.dtype, &sizes)?;
        let object = object.clone().unbind();
        self.with(py, |state| state.captured.push((object, name.clone())));
        Ok(name)
    }

    /// The name of an array that the function made or found, and that it returns.
    pub fn captured(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<String> {
        match Operand::of(object)? {
            Some(array) => self.capture(py, object, &array),
            None => Err(Class::DType.error(py, "this cannot be a result")),
        }
    }

    /// Adds the lines of another program. Those that were refused there are refused again, in silence.
    fn replay(&self, py: Python<'_>, other: Copied) -> PyResult<()> {
        let Copied { text, frames, captured, inputs, variables, refused } = other;
        let result = self.with(py, |state| {
            let session = state.session.as_mut()?;
            let before = session.lines();
            if let Some(own) = &mut state.frames {
                own.append(before, frames);
            }
            state.refused.extend(refused.iter().map(|line| before + line));
            state.captured.extend(captured);
            state.variables.extend(variables.iter().cloned());
            for name in inputs {
                if !state.inputs.contains(&name) {
                    state.inputs.push(name);
                }
            }
            let mut lines = text.lines().enumerate();
            Some(caught(py, || {
                lines.try_for_each(|(number, line)| match run_again(session, line, &variables) {
                    Err(_) if refused.contains(&(number + 1)) => Ok(()),
                    result => result,
                })
            }))
        });
        result.ok_or_else(|| over(py))??.map_err(|mistakes| self.explain(py, mistakes))
    }

    /// Returns what another trace needs to become this one, or to get its lines.
    fn copied(&self, py: Python<'_>) -> PyResult<Copied> {
        let copied = self.with(py, |state| {
            let captured = state.captured.iter().map(|(array, name)| (array.clone_ref(py), name.clone()));
            Some(Copied {
                text: state.session.as_ref()?.text().to_owned(),
                frames: state.frames.as_ref().map(|frames| frames.duplicate(py)).unwrap_or_default(),
                captured: captured.collect(),
                inputs: state.inputs.clone(),
                variables: state.variables.clone(),
                refused: state.refused.clone(),
            })
        });
        copied.ok_or_else(|| over(py))
    }

    /// A trace with the same lines.
    fn duplicate(&self, py: Python<'_>) -> PyResult<Trace> {
        let copy = Trace::new("expression", Some(Frames::default()), true);
        copy.replay(py, self.copied(py)?)?;
        Ok(copy)
    }

    /// What the function asked for, so that a trace that knows these values of a call may go another way.
    pub fn needs(&self, py: Python<'_>) -> KnownValues {
        self.with(py, |state| state.needs)
    }

    /// Ends the trace of a function that computes nothing: its lazy arrays can no longer be used.
    pub fn close(&self, py: Python<'_>) {
        let session = self.with(py, |state| state.session.take());
        drop(session);
    }

    /// Ends the program.
    pub fn finish(&self, py: Python<'_>) -> PyResult<Traced> {
        let (session, captured, frames) = self.with(py, |state| {
            let captured = std::mem::take(&mut state.captured);
            (state.session.take(), captured, state.frames.take().unwrap_or_default())
        });
        let session = session.ok_or_else(|| over(py))?;
        let text = session.text().to_owned();
        match caught(py, || session.finish())? {
            Ok(resolved) => Ok(Traced { resolved, captured, frames, text }),
            Err(mistakes) => {
                let written = frames.describe(py);
                Err(of_mistakes(py, &mistakes.written_at(|line| written.get(&line).cloned())))
            }
        }
    }
}

/// Adds a line of another program.
fn run_again(session: &mut Session, line: &str, variables: &HashSet<String>) -> Result<(), Mistakes> {
    let defined = line.strip_prefix("let ").and_then(|rest| rest.split_once(" = "));
    match defined.filter(|(name, _)| variables.contains(*name)) {
        Some((name, value)) => session.variable(name, value),
        None => session.run(line),
    }
}

fn over(py: Python<'_>) -> PyErr {
    let text = "a lazy array is used after the function that it belongs to has returned: return it as a result instead of keeping it";
    Class::Tracing.error(py, text)
}

/// The trace that a trace is a part of, or itself.
fn root<'py>(trace: &Bound<'py, Trace>) -> Bound<'py, Trace> {
    let py = trace.py();
    let mut trace = trace.clone();
    while let Some(merged) =
        trace.get().with(py, |state| state.merged.as_ref().map(|merged| merged.clone_ref(py)))
    {
        trace = merged.into_bound(py);
    }
    trace
}

/// Makes an expression a part of another one.
fn merge(into: &Bound<'_, Trace>, from: &Bound<'_, Trace>) -> PyResult<()> {
    let py = into.py();
    // If they do not fit together, as with two inputs of one name, both stay what they are.
    into.get().duplicate(py)?.replay(py, from.get().copied(py)?)?;
    into.get().replay(py, from.get().copied(py)?)?;
    from.get().with(py, |state| state.merged = Some(into.clone().unbind()));
    Ok(())
}

#[pymethods]
impl Trace {
    /// Declares an array, and returns it as a lazy one: `f32[n, 3]`.
    #[staticmethod]
    fn open<'py>(py: Python<'py>, name: &str, declared: &str) -> PyResult<Bound<'py, PyAny>> {
        if !is_plain(name) {
            let text = format!(
                "{name:?} cannot be the name of an input: use letters, digits and `_`, and no name of a function"
            );
            return Err(Class::Value.error(py, text));
        }
        if declared.contains(['\n', '\r', ';', ':', '#']) {
            let text = format!("{declared:?} is not the type of an array: write it as \"f32[n, 3]\"");
            return Err(Class::Program.error(py, text));
        }
        let trace = Bound::new(py, Trace::new("expression", Some(Frames::default()), true))?;
        trace.get().declare(py, name, declared)?;
        trace.get().with(py, |state| state.taken.insert(name.to_owned()));
        wrap(&trace, name)
    }

    /// The number of values that operations have made so far.
    #[getter]
    fn made(&self, py: Python<'_>) -> usize {
        self.with(py, |state| state.made)
    }

    /// Notes that the function asks for the value of a size.
    fn needs_sizes(slf: &Bound<'_, Self>) {
        root(slf).get().with(slf.py(), |state| state.needs.sizes = true);
    }

    /// Notes that the function asks for the value of a number, which may be an integer among its arguments.
    fn needs_integers(slf: &Bound<'_, Self>) {
        root(slf).get().with(slf.py(), |state| state.needs.integers = true);
    }

    /// Compiles results, which are lazy arrays or containers of them.
    #[pyo3(signature = (results, threads=None))]
    fn compile(
        slf: &Bound<'_, Self>,
        results: &Bound<'_, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Kernel> {
        let py = slf.py();
        let slf = &root(slf);
        let options = options(py, threads)?;
        let mut names = Vec::new();
        let tree = Tree::of(results, 0, &mut |object| match object.cast::<Value>() {
            Ok(value) => {
                names.push(value.get().name_in(slf)?);
                Ok(Some(names.len() - 1))
            }
            Err(_) => Ok(None),
        })?;
        let copied = slf.get().copied(py)?.that_defines(&names);
        let inputs = copied.inputs.clone();
        let copy = Trace::new("expression", Some(Frames::default()), true);
        copy.replay(py, copied)?;
        for (number, name) in names.iter().enumerate() {
            copy.run(py, &format!("output {} = {name}", output_name(number)))?;
        }
        let traced = copy.finish(py)?;
        let is_captured = |name: &String| traced.captured.iter().any(|(_, captured)| captured == name);
        let inputs: Vec<String> = inputs.into_iter().filter(|name| !is_captured(name)).collect();
        Kernel::compile(py, traced, &inputs, (tree, Changes::default()), &options)
    }

    /// Calls a function of the language.
    #[pyo3(signature = (function, args, kwargs))]
    fn call<'py>(
        slf: &Bound<'py, Self>,
        function: &str,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let slf = &root(slf);
        let mut text = format!("{function}(");
        for argument in args {
            write_value(slf, &argument, &mut text, 0)?;
            text.push_str(", ");
        }
        for (name, value) in kwargs {
            let name: String = name.extract()?;
            write!(text, "{name}=").ok();
            write_value(slf, &value, &mut text, 0)?;
            text.push_str(", ");
        }
        let length = text.trim_end_matches(", ").len();
        text.truncate(length);
        text.push(')');
        define(slf, &text)
    }

    /// Applies an operator of Python's to two operands.
    fn infix<'py>(
        slf: &Bound<'py, Self>,
        operator: &str,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let slf = &root(slf);
        let mut text = String::new();
        write_value(slf, left, &mut text, 0)?;
        write!(text, " {operator} ").ok();
        write_value(slf, right, &mut text, 0)?;
        define(slf, &text)
    }

    /// Applies an operator of Python's to one operand, or takes an attribute of it.
    fn around<'py>(
        slf: &Bound<'py, Self>,
        before: &str,
        operand: &Bound<'py, PyAny>,
        after: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let slf = &root(slf);
        let mut text = before.to_owned();
        write_value(slf, operand, &mut text, 0)?;
        text.push_str(after);
        define(slf, &text)
    }

    /// A value of its own with the elements of another one, by which a function is derived.
    fn variable<'py>(slf: &Bound<'py, Self>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, slf) = (slf.py(), &root(slf));
        let mut text = String::new();
        write_value(slf, value, &mut text, 0)?;
        let name = slf.get().fresh(py, None);
        slf.get().add(py, |session| session.variable(&name, &text))?;
        slf.get().with(py, |state| state.variables.insert(name.clone()));
        wrap(slf, &name)
    }

    /// Whether a value is computed from another one.
    fn depends(slf: &Bound<'_, Self>, value: &Bound<'_, Value>, on: &Bound<'_, Value>) -> PyResult<bool> {
        let slf = &root(slf);
        let names = (value.get().name_in(slf)?, on.get().name_in(slf)?);
        slf.get().session(slf.py(), |session| session.depends(&names.0, &names.1))
    }

    /// Whether the function, or another one that it calls, is derived.
    #[getter]
    fn is_derived(slf: &Bound<'_, Self>) -> bool {
        root(slf).get().with(slf.py(), |state| !state.variables.is_empty())
    }

    /// The names of the arrays that the function uses without getting them as arguments.
    #[getter]
    fn captured_names(slf: &Bound<'_, Self>) -> Vec<String> {
        root(slf).get().with(slf.py(), |state| state.captured.iter().map(|(_, name)| name.clone()).collect())
    }

    /// Takes what is between brackets.
    fn index<'py>(
        slf: &Bound<'py, Self>,
        operand: &Bound<'py, PyAny>,
        items: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let slf = &root(slf);
        let mut text = String::new();
        write_value(slf, operand, &mut text, 0)?;
        write!(text, "[{}]", items_text(slf, items)?).ok();
        define(slf, &text)
    }

    /// Begins a loop, and returns its counter, its rows and what it carries, as its steps have them.
    fn begin_loop<'py>(
        slf: &Bound<'py, Self>,
        count: Option<Bound<'py, PyAny>>,
        rows: Vec<Bound<'py, PyAny>>,
        carried: Vec<Bound<'py, PyAny>>,
        dtypes: Vec<Option<Bound<'py, PyAny>>>,
    ) -> PyResult<loops::Begun<'py>> {
        Trace::open_loop(&root(slf), count.as_ref(), &rows, &carried, &loops::dtypes(&dtypes)?)
    }

    /// Says as long as what the innermost loop steps.
    fn condition<'py>(slf: &Bound<'py, Self>, condition: &Bound<'py, PyAny>) -> PyResult<()> {
        let slf = &root(slf);
        let mut text = String::new();
        write_value(slf, condition, &mut text, 0)?;
        slf.get().run(slf.py(), &format!("while {text}"))
    }

    /// Ends the innermost loop, and returns its results as a tuple, or as a list the dtypes of numbers with which it has to be
    /// traced again.
    fn end_loop<'py>(
        slf: &Bound<'py, Self>,
        next: Vec<Bound<'py, PyAny>>,
        stacked: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Trace::close_loop(&root(slf), &next, &stacked)
    }

    /// Forgets all loops but the outermost ones, this many.
    fn abandon_loops(slf: &Bound<'_, Self>, kept: usize) -> PyResult<()> {
        let (py, slf) = (slf.py(), &root(slf));
        while slf.get().with(py, |state| state.loops.len()) > kept {
            slf.get().abandon(py)?;
        }
        Ok(())
    }

    /// The number of loops whose steps are being traced.
    #[getter]
    fn loops(slf: &Bound<'_, Self>) -> usize {
        root(slf).get().with(slf.py(), |state| state.loops.len())
    }

    /// The program so far.
    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.session(py, |session| session.text().to_owned())
    }
}
