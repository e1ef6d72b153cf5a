//! Running kernels.

mod compress;
mod error;
mod launch;
mod outputs;
mod overlap;
mod phases;
mod stages;
mod stop;
mod strips;

pub use error::{CallError, DecidedSizes, RunError};
pub use outputs::{IntoOutputs, Outputs, OutputsMut};
pub use stop::{RunOptions, StopFlag};

use crate::array::{AnyArray, ArrayViewMut};
use crate::bind::{BindError, Binding, BoundOutput, Fit, Given, Inputs, Ordered, given, type_text};
use crate::cache::lock;
use crate::compiled::{Code, Inner};
use crate::explain::Explanation;
use crate::limits::{OutputSize, Work};
use crate::phased::Phased;
use broadloom_ir::graph::Site;
use overlap::destinations;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

/// Arrays that fit a kernel. Only the data can still make a run fail.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<i32>("x", shape![g.symbol("n")]);
/// let kernel = (x + 1).compile()?;
/// let bound = kernel.bind(&[1, 2, 3])?;
/// let first: Vec<i32> = bound.run()?.try_into()?;
/// let again: Vec<i32> = bound.run()?.try_into()?;
/// assert_eq!((first, again), (vec![2, 3, 4], vec![2, 3, 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Bound<'a> {
    inner: Arc<Inner>,
    binding: Arc<Binding>,
    inputs: Ordered<'a>,
    given: Given,
    /// Locked during a run if it writes to inputs: two such runs must not overlap.
    writing: Option<Mutex<()>>,
}

impl<'a> Bound<'a> {
    pub(crate) fn new(inner: Arc<Inner>, inputs: Inputs<'a>) -> Result<Self, BindError> {
        let given = given(&inner.graph, &inputs)?;
        let inputs = inputs.into_ordered(&inner.graph, &inner.rules.required)?;
        Bound::of_ordered(inner, inputs, &given)
    }

    /// Binds arrays whose dtypes and numbers of axes have been checked.
    pub(crate) fn of_ordered(
        inner: Arc<Inner>,
        inputs: Ordered<'a>,
        given: &Given,
    ) -> Result<Self, BindError> {
        require_all(&inner, &inputs)?;
        let binding = {
            let destinations = destinations(&inner.graph, &inputs, None)?;
            inner.bind(&inputs, given, &destinations, false)?.into_owned()
        };
        let writes = inner.graph.results().len() < inner.graph.outputs().len();
        let writing = writes.then(Mutex::default);
        Ok(Bound { inner, binding, inputs, given: given.clone(), writing })
    }

    /// Computes the outputs into new arrays. Each run writes again to the inputs that are
    /// [assigned](crate::Tensor::assign) to.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let bound = kernel.bind(&[1.0f32, 2.0])?;
    /// for _ in 0..3 {
    ///     let result: Vec<f32> = bound.run()?.try_into()?;
    ///     assert_eq!(result, [2.0, 4.0]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the data have no result, or if memory is not available.
    pub fn run(&self) -> Result<Outputs, RunError> {
        let _writing = self.writes();
        let mut outputs = Outputs::none();
        run(&self.inner, &self.binding, &self.inputs, &RunOptions::default(), &mut outputs)?;
        Ok(outputs)
    }

    /// Like [`Bound::run`], with options that end the run early.
    ///
    /// ```
    /// use broadloom::{RunOptions, prelude::*};
    /// use std::time::Duration;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let bound = kernel.bind(&[1.0f32, 2.0])?;
    /// let result: Vec<f32> = bound.run_with(&RunOptions::new().within(Duration::from_secs(10)))?.try_into()?;
    /// assert_eq!(result, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the run is stopped, if the data have no result, if memory is not available, or if the
    /// temporaries of a run that can be stopped exceed a limit of the options.
    #[track_caller]
    pub fn run_with(&self, options: &RunOptions) -> Result<Outputs, CallError> {
        let site = Site::caller();
        let _writing = self.writes();
        let mut outputs = Outputs::none();
        self.run_stoppable(options, &mut outputs).map_err(|error| error.called_from(site))?;
        Ok(outputs)
    }

    fn run_stoppable(&self, options: &RunOptions, outputs: &mut Outputs) -> Result<(), CallError> {
        run_ordered(&self.inner, &self.inputs, &self.given, options, outputs)
    }

    /// Computes the outputs into arrays of the caller, like [`Executable::run_into`](crate::Executable::run_into).
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let bound = kernel.bind(&[1.0f32, 2.0])?;
    /// let mut twice = [0.0f32; 2];
    /// bound.run_into(&mut twice)?;
    /// assert_eq!(twice, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the arrays do not fit, or if the data have no result; in the latter case the contents of
    /// the outputs are unspecified.
    #[track_caller]
    pub fn run_into<'b>(&self, outputs: impl IntoOutputs<'b>) -> Result<(), CallError> {
        let site = Site::caller();
        let _writing = self.writes();
        let options = RunOptions::default();
        run_into(&self.inner, &self.inputs, &self.given, &options, &mut outputs.into_outputs())
            .map_err(|error| error.called_from(site))
    }

    /// Like [`Bound::run_into`], with options that end the run early.
    ///
    /// ```
    /// use broadloom::{RunOptions, prelude::*};
    /// use std::time::Duration;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let bound = kernel.bind(&[1.0f32, 2.0])?;
    /// let mut twice = [0.0f32; 2];
    /// bound.run_into_with(&mut twice, &RunOptions::new().within(Duration::from_secs(10)))?;
    /// assert_eq!(twice, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Bound::run_into`], or an error if the run is stopped. The contents of the outputs are
    /// unspecified then.
    #[track_caller]
    pub fn run_into_with<'b>(
        &self,
        outputs: impl IntoOutputs<'b>,
        options: &RunOptions,
    ) -> Result<(), CallError> {
        let site = Site::caller();
        let _writing = self.writes();
        run_into(&self.inner, &self.inputs, &self.given, options, &mut outputs.into_outputs())
            .map_err(|error| error.called_from(site))
    }

    /// Locks writes to inputs, if the kernel makes any.
    fn writes(&self) -> Option<MutexGuard<'_, ()>> {
        self.writing.as_ref().map(lock)
    }

    /// Returns what the compiler made of the graph for these arrays: the code may rely on their layouts, and on
    /// short sizes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [n, k, d] = g.symbols(["n", "k", "d"]);
    /// let (codes, obs) = (g.input::<f32>("codes", shape![k, d]), g.input::<f32>("obs", shape![n, d]));
    /// let code = (codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1).argmin(1);
    /// let kernel = code.compile()?;
    /// let (codes, obs) = (vec![0.5f32; 16 * 3], vec![1.0f32; 1000 * 3]);
    /// let (codes, obs) = (ArrayView::new(&codes, &[16, 3])?, ArrayView::new(&obs, &[1000, 3])?);
    /// let bound = kernel.bind(inputs! { "codes" => codes, "obs" => obs })?;
    /// assert!(bound.explain().to_string().contains("only where k = 16, d = 3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        Explanation::new(self.inner.clone(), Some(&self.binding.code))
    }

    /// Returns the most bytes that a run stores between kernels at one time, without the outputs and scratch
    /// memory. A run that can be [stopped](RunOptions) also stores the values that it assigns to arrays in place.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert_eq!(kernel.bind(&[1.0f32, 2.0])?.temporary_bytes(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn temporary_bytes(&self) -> usize {
        self.binding.arena_bytes
    }

    /// Returns name, dtype, shape and bytes of each result, in order. Nothing has been allocated for them.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let kernel = g.iota(g.parameter("n")).compile()?;
    /// let bound = kernel.bind(broadloom::Inputs::new().with_size("n", 1 << 50))?;
    /// assert_eq!(bound.outputs()[0].bytes, 1 << 53);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn outputs(&self) -> Vec<OutputSize> {
        let results = &self.binding.outputs[..self.inner.graph.results().len()];
        let size = |output: &BoundOutput| OutputSize {
            name: output.name.to_string(),
            dtype: output.dtype,
            shape: output.shape.to_vec(),
            bytes: output.bytes(),
        };
        results.iter().map(size).collect()
    }

    /// Returns the estimated work of a run, also of one that can be [stopped](RunOptions): that only copies, besides, the values that it
    /// assigns to arrays in place. Where the data decide sizes, it is that of their largest: a mask selects all elements.
    /// Computed numbers, which have no bound, count as 0 there, and so do loops. The [limit](crate::CallLimits::work) holds for
    /// the work of each phase as soon as its sizes are known.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let x = g.input::<f32>("x", shape![n]);
    /// let kernel = (x.unsqueeze(1) * x).sum(..).compile()?; // of n * n products
    /// let work = |n: usize| kernel.bind(&vec![1.0f32; n]).map(|bound| bound.work().total);
    /// assert!(work(10_000)? > 50 * work(1_000)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn work(&self) -> Work {
        self.binding.work
    }
}

impl fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").field("inputs", &self.inputs).finish()
    }
}

/// Computes the outputs of given arrays into arrays that it appends to `outputs`.
pub(crate) fn run_inputs(
    inner: &Inner,
    inputs: &mut Inputs<'_>,
    options: &RunOptions,
    outputs: &mut Outputs,
) -> Result<(), CallError> {
    let given = given(&inner.graph, inputs)?;
    let inputs = inputs.order(&inner.graph, &inner.rules.required)?;
    run_ordered(inner, inputs, &given, options, outputs)
}

/// Computes the outputs of given arrays into arrays of the caller.
pub(crate) fn run_inputs_into(
    inner: &Inner,
    inputs: &mut Inputs<'_>,
    options: &RunOptions,
    outputs: &mut OutputsMut<'_>,
) -> Result<(), CallError> {
    let given = given(&inner.graph, inputs)?;
    let inputs = inputs.order(&inner.graph, &inner.rules.required)?;
    run_into(inner, inputs, &given, options, outputs)
}

/// Computes the outputs of given arrays into the first elements of arrays of the caller. Returns their shapes.
pub(crate) fn run_inputs_into_capacity(
    inner: &Inner,
    inputs: &mut Inputs<'_>,
    outputs: &mut OutputsMut<'_>,
) -> Result<Vec<Vec<usize>>, CallError> {
    let given = given(&inner.graph, inputs)?;
    let inputs = inputs.order(&inner.graph, &inner.rules.required)?;
    let options = RunOptions::default();
    match &inner.code {
        Code::Phases(phased) => run_phases_into(
            inner,
            phased,
            inputs,
            &given,
            &options,
            outputs.order(&inner.graph)?,
            Fit::Capacity,
        ),
        Code::Kernels(_) | Code::Stages(_) => {
            run_into(inner, inputs, &given, &options, outputs)?;
            let arrays = outputs.order(&inner.graph)?;
            Ok(arrays.iter().map(|array| array.geometry().shape()).collect())
        }
    }
}

/// Computes the outputs into arrays that it puts into `outputs`, which is empty before. After an error, its
/// contents are meaningless.
fn run(
    inner: &Inner,
    binding: &Binding,
    inputs: &Ordered<'_>,
    options: &RunOptions,
    outputs: &mut Outputs,
) -> Result<(), RunError> {
    options.check()?;
    if let Code::Phases(phased) = &inner.code {
        return phases::run_phases(inner, phased, binding, inputs, options, None, outputs);
    }
    let arrays = &mut outputs.arrays;
    for bound in &binding.outputs[..inner.graph.results().len()] {
        arrays.push((bound.name.clone(), AnyArray::unwritten(bound.dtype, bound.count, &bound.shape)?));
    }
    launch::run_allocated(inner, binding, inputs, options, arrays)
}

/// Computes the outputs of arrays in the order of the graph's inputs.
fn run_ordered(
    inner: &Inner,
    inputs: &Ordered<'_>,
    given: &Given,
    options: &RunOptions,
    outputs: &mut Outputs,
) -> Result<(), CallError> {
    let destinations = destinations(&inner.graph, inputs, None)?;
    let binding = inner.bind(inputs, given, &destinations, options.stops())?;
    run(inner, &binding, inputs, options, outputs)?;
    Ok(())
}

fn run_into(
    inner: &Inner,
    inputs: &Ordered<'_>,
    given: &Given,
    options: &RunOptions,
    outputs: &mut OutputsMut<'_>,
) -> Result<(), CallError> {
    let outputs = outputs.order(&inner.graph)?;
    if let Code::Phases(phased) = &inner.code {
        run_phases_into(inner, phased, inputs, given, options, outputs, Fit::Exact)?;
        return Ok(());
    }
    let destinations = destinations(&inner.graph, inputs, Some(outputs))?;
    let binding = inner.bind(inputs, given, &destinations, options.stops())?;
    launch::run_borrowed(inner, &binding, inputs, options, outputs)?;
    Ok(())
}

/// Computes outputs whose sizes are known after they have been computed. Returns their shapes.
fn run_phases_into(
    inner: &Inner,
    phased: &Phased,
    inputs: &Ordered<'_>,
    given: &Given,
    options: &RunOptions,
    outputs: &[ArrayViewMut<'_>],
    fit: Fit,
) -> Result<Vec<Vec<usize>>, CallError> {
    let destinations = destinations(&inner.graph, inputs, Some(outputs))?;
    let binding = inner.bind(inputs, given, &destinations, options.stops())?;
    let mut made = Outputs::none();
    phases::run_phases(inner, phased, &binding, inputs, options, Some((outputs, fit)), &mut made)?;
    Ok(launch::copy_results(made, outputs)?)
}

/// Checks that all required inputs are present: without its array, a kernel would read from nowhere.
fn require_all(inner: &Inner, inputs: &Ordered<'_>) -> Result<(), BindError> {
    let given = inputs.iter().map(Option::is_some).chain(std::iter::repeat(false));
    let mut missing = inner.graph.inputs().iter().zip(&inner.rules.required).zip(given);
    match missing.find(|((_, required), given)| **required && !given) {
        None => Ok(()),
        Some(((info, _), _)) => {
            let expected = type_text(&inner.graph, info.dtype, &info.shape);
            Err(BindError::Missing { name: info.name.to_string(), expected })
        }
    }
}
