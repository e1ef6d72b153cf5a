//! Compiled kernels.

use crate::bind::{BindError, IntoInputs, SymbolNames, named_symbols, type_text};
use crate::compiled::Inner;
use crate::explain::Explanation;
use crate::options::CompileOptions;
use crate::run::{Bound, CallError, IntoOutputs, Outputs, RunOptions};
use crate::variant::CompileError;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, InputInfo, OutputInfo, Site};
use broadloom_ir::shape::Shape;
use std::fmt;
use std::sync::Arc;

/// A compiled graph. Call it any number of times with arrays of any sizes. Clones share it, and any number of
/// threads may run it at once.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let x = g.input::<f32>("x", shape![n]);
/// let kernel = (x * x).sum(0).compile()?;
///
/// let total: f32 = kernel.run(&[3.0f32, 4.0])?.try_into()?;
/// assert_eq!(total, 25.0);
/// assert_eq!(kernel.inputs()[0].to_string(), "x: f32[n]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Executable {
    inner: Arc<Inner>,
}

/// Describes an input or output of an executable: its name, dtype, and sizes in symbols.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
/// let kernel = x.sum(1).compile()?;
/// let info = &kernel.inputs()[0];
/// assert_eq!((info.name.as_str(), info.dtype, info.rank), ("x", DType::F32, 2));
/// assert_eq!(info.sizes, ["n", "3"]);
/// assert_eq!(info.to_string(), "x: f32[n, 3]");
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayInfo {
    /// The name.
    pub name: String,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The number of axes.
    pub rank: usize,
    /// The size of each axis, as text: a number, the name of a symbol, or an expression such as `2*n+1`.
    pub sizes: Vec<String>,
    /// Whether this is an input that a run [writes to](crate::Tensor::assign).
    pub is_assigned: bool,
    text: String,
}

impl fmt::Display for ArrayInfo {
    /// Prints `x: f32[n, 3]`, or `x: &mut f32[n, 3]` for an input that a run writes to.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.name, if self.is_assigned { "&mut " } else { "" }, self.text)
    }
}

impl Executable {
    pub(crate) fn new(inner: Inner) -> Executable {
        Executable { inner: Arc::new(inner) }
    }

    /// Compiles a graph that has already been checked: one kept from [`Graph::finish`](crate::Graph::finish), or
    /// parsed from a text.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let checked = (2 * g.input::<f32>("x", shape![g.symbol("n")])).finish()?;
    /// drop(g);
    /// let kernel = Executable::compile(&checked, &CompileOptions::default())?;
    /// let result: Vec<f32> = kernel.run(&[1.0f32, 2.0])?.try_into()?;
    /// assert_eq!(result, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error for whatever the compiler does not support.
    pub fn compile(graph: &CheckedGraph, options: &CompileOptions) -> Result<Executable, CompileError> {
        Ok(Executable::new(crate::compile::compile(graph, options)?))
    }

    /// Returns the arrays to pass, in the order of positional arguments. Declared inputs that no output depends on
    /// are left out.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert_eq!(kernel.inputs()[0].to_string(), "x: f32[n]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inputs(&self) -> Vec<ArrayInfo> {
        let graph = &self.inner.graph;
        let required =
            graph.inputs().iter().zip(&self.inner.rules.required).filter(|(_, required)| **required);
        let mut inputs: Vec<ArrayInfo> = required.map(|(input, _)| input_info(graph, input)).collect();
        for input in &mut inputs {
            let is_assigned = |output: &OutputInfo| output.assigned.is_some() && *output.name == *input.name;
            input.is_assigned = graph.outputs().iter().any(is_assigned);
        }
        inputs
    }

    /// Returns the results, in order. Inputs that are [assigned](crate::Tensor::assign) to are not among them.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert_eq!(kernel.outputs()[0].to_string(), "out: f32[n]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn outputs(&self) -> Vec<ArrayInfo> {
        let graph = &self.inner.graph;
        let outputs = graph.results().iter();
        outputs
            .map(|output| info(graph, &output.name, graph.dtype(output.expr), graph.shape(output.expr)))
            .collect()
    }

    /// Computes the outputs into new arrays.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let result: Vec<f32> = kernel.run(&[1.0f32, 2.0])?.try_into()?;
    /// assert_eq!(result, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the arrays do not fit, or if the data have no result, such as an index out of range or
    /// an integer raised to a negative exponent.
    #[track_caller]
    pub fn run<'a>(&self, inputs: impl IntoInputs<'a>) -> Result<Outputs, CallError> {
        self.run_with(inputs, &RunOptions::default())
    }

    /// Like [`Executable::run`], with options that end the run early.
    ///
    /// ```
    /// use broadloom::{RunOptions, prelude::*};
    /// use std::time::Duration;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let options = RunOptions::new().within(Duration::from_secs(10));
    /// let result: Vec<f32> = kernel.run_with(&[1.0f32, 2.0], &options)?.try_into()?;
    /// assert_eq!(result, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Executable::run`], or an error if the run is stopped.
    #[track_caller]
    pub fn run_with<'a>(
        &self,
        inputs: impl IntoInputs<'a>,
        options: &RunOptions,
    ) -> Result<Outputs, CallError> {
        let site = Site::caller();
        let mut outputs = Outputs::none();
        crate::run::run_inputs(&self.inner, &mut inputs.into_inputs(), options, &mut outputs)
            .map_err(|error| error.called_from(site))?;
        Ok(outputs)
    }

    /// Computes the outputs into arrays of the caller, with any strides, and allocates nothing for them.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let x = g.input::<f32>("x", shape![n]);
    /// let kernel = g.compile([("twice", 2 * x), ("total", x.sum(..))])?;
    /// let (mut twice, mut total) = ([0.0f32; 3], [0.0f32]);
    /// kernel.run_into(&[1.0f32, 2.0, 3.0], (&mut twice, ArrayViewMut::new(&mut total, &[])?))?;
    /// assert_eq!((twice, total), ([2.0, 4.0, 6.0], [6.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the arrays do not fit, or if the data have no result; in the latter case the contents of
    /// the outputs are unspecified.
    #[track_caller]
    pub fn run_into<'a, 'b>(
        &self,
        inputs: impl IntoInputs<'a>,
        outputs: impl IntoOutputs<'b>,
    ) -> Result<(), CallError> {
        self.run_into_with(inputs, outputs, &RunOptions::default())
    }

    /// Like [`Executable::run_into`], with options that end the run early.
    ///
    /// ```
    /// use broadloom::{RunOptions, prelude::*};
    /// use std::time::Duration;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let mut twice = [0.0f32; 2];
    /// kernel.run_into_with(&[1.0f32, 2.0], &mut twice, &RunOptions::new().within(Duration::from_secs(10)))?;
    /// assert_eq!(twice, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Executable::run_into`], or an error if the run is stopped. The contents of the outputs are
    /// unspecified then.
    #[track_caller]
    pub fn run_into_with<'a, 'b>(
        &self,
        inputs: impl IntoInputs<'a>,
        outputs: impl IntoOutputs<'b>,
        options: &RunOptions,
    ) -> Result<(), CallError> {
        let site = Site::caller();
        let (mut inputs, mut outputs) = (inputs.into_inputs(), outputs.into_outputs());
        crate::run::run_inputs_into(&self.inner, &mut inputs, options, &mut outputs)
            .map_err(|error| error.called_from(site))
    }

    /// Like [`Executable::run_into`], into arrays that may have room for more along axes whose sizes the data decide. Returns the
    /// shape of each output, whose elements are the first ones of its array along each axis; the others keep their values.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = x.masked(x.gt(0)).compile()?;
    /// let mut positive = [0.0f32; 100];
    /// let shapes = kernel.run_into_capacity(&[1.0f32, -2.0, 3.0], &mut positive)?;
    /// assert_eq!(shapes, [[2]]);
    /// assert_eq!(positive[..2], [1.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Executable::run_into`], or an error if an array has too little room; nothing has been written
    /// then.
    #[track_caller]
    pub fn run_into_capacity<'a, 'b>(
        &self,
        inputs: impl IntoInputs<'a>,
        outputs: impl IntoOutputs<'b>,
    ) -> Result<Vec<Vec<usize>>, CallError> {
        let site = Site::caller();
        let (mut inputs, mut outputs) = (inputs.into_inputs(), outputs.into_outputs());
        crate::run::run_inputs_into_capacity(&self.inner, &mut inputs, &mut outputs)
            .map_err(|error| error.called_from(site))
    }

    /// Checks arrays for one or more runs.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let bound = kernel.bind(&[1.0f32, 2.0])?;
    /// let result: Vec<f32> = bound.run()?.try_into()?;
    /// assert_eq!(result, [2.0, 4.0]);
    /// assert!(kernel.bind(&[1.0f64]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if names, dtypes or sizes do not fit.
    #[track_caller]
    pub fn bind<'a>(&self, inputs: impl IntoInputs<'a>) -> Result<Bound<'a>, BindError> {
        let site = Site::caller();
        Bound::new(self.inner.clone(), inputs.into_inputs()).map_err(|error| error.called_from(site))
    }

    /// Returns the names of the symbols that no array determines: the caller gives their sizes through
    /// [`Inputs::with_size`](crate::Inputs::with_size).
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let kernel = g.iota(g.parameter("n")).compile()?;
    /// assert_eq!(kernel.parameters(), ["n"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parameters(&self) -> Vec<String> {
        let symbols = self.inner.graph.symbols();
        let parameters = self.inner.rules.parameters.iter();
        parameters.map(|symbol| symbols[symbol.index()].name.to_string()).collect()
    }

    /// Returns the names of all symbols, in the order in which they were made: those that [`in_chunks`](Executable::in_chunks)
    /// and [`Inputs::with_size`](crate::Inputs::with_size) take. Sizes that are inferred or that the data decide have none.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [n, k] = g.symbols(["n", "k"]);
    /// let (x, w) = (g.input::<f32>("x", shape![n, k]), g.input::<f32>("w", shape![k]));
    /// let kernel = (x * w).sum(1).compile()?;
    /// assert_eq!(kernel.symbols(), ["n", "k"]);
    /// let chunked = kernel.in_chunks(&kernel.inputs()[0].sizes[0])?;
    /// assert_eq!(chunked.streamed()[0].name, "x");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn symbols(&self) -> Vec<String> {
        named_symbols(&self.inner.graph).map(|(_, symbol)| symbol.name.to_string()).collect()
    }

    /// Returns what the compiler made of the graph: loops, vector widths, stored temporaries and code.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(kernel.explain().vectorized("n"));
    /// println!("{}", kernel.explain());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        Explanation::new(self.inner.clone(), None)
    }

    pub(crate) fn options(&self) -> &CompileOptions {
        &self.inner.options
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Returns the graph that was compiled.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert_eq!(kernel.graph().outputs().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn graph(&self) -> &CheckedGraph {
        &self.inner.graph
    }
}

pub(crate) fn input_info(graph: &CheckedGraph, input: &InputInfo) -> ArrayInfo {
    let text = format!("{}{}", input.dtype, SymbolNames(graph).input(input));
    ArrayInfo { text, ..info(graph, &input.name, input.dtype, &input.shape) }
}

pub(crate) fn info(graph: &CheckedGraph, name: &str, dtype: DType, shape: &Shape) -> ArrayInfo {
    let sizes = shape.iter().map(|dim| SymbolNames(graph).dim(dim)).collect();
    let text = type_text(graph, dtype, shape);
    ArrayInfo { name: name.to_string(), dtype, rank: shape.rank(), sizes, is_assigned: false, text }
}

impl fmt::Debug for Executable {
    /// Prints `Executable(x: f32[n] -> out: f32[n])`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |arrays: Vec<ArrayInfo>| arrays.iter().map(ArrayInfo::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "Executable({} -> {})", list(self.inputs()), list(self.outputs()))
    }
}
