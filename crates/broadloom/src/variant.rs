//! Machine code specialised for a class of calls: certain array layouts or short sizes.

use crate::cache::{Cache, Slots};
use crate::thresholds::{LOOKS_AFTER, MAX_LAYOUTS, MAX_SIZED};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Diagnostics;
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::transform::Rewritten;
use broadloom_jit::{JitOptions, Module};
use broadloom_loops::kernel::{KernelId, Schedule};
use broadloom_loops::steps::{StepArray, Steps, steps};
use broadloom_loops::{Hazard, Layout, LowerError, LowerOptions};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Machine code for calls that satisfy certain facts.
pub(crate) struct Variant {
    /// The facts that the code relies on.
    pub(crate) facts: LowerOptions,
    /// For each output: if it is assigned to an input but not written over it, the reason.
    pub(crate) asides: Vec<Option<Aside>>,
    /// The last kernel that may find data without a result.
    pub(crate) last_failing: Option<KernelId>,
    pub(crate) schedule: Schedule,
    pub(crate) module: Module,
    /// The code of the same schedule for runs that can be stopped, once there was one.
    stoppable: OnceLock<Module>,
    /// The code that takes many steps of a loop, of which the schedule makes one, once a call has asked for it; `None` if there is
    /// none.
    steps: OnceLock<Option<StepsCode>>,
    pub(crate) compile_time: Duration,
}

impl Variant {
    /// Compiles a graph for calls that satisfy `facts`.
    pub(crate) fn compile(
        prepared: &Rewritten,
        facts: &LowerOptions,
        options: &JitOptions,
    ) -> Result<Variant, CompileError> {
        let start = Instant::now();
        let graph = &prepared.graph;
        let mut schedule = broadloom_loops::lower(graph, facts)?;
        name_as_written(&mut schedule, prepared);
        let module = broadloom_jit::compile(&schedule, options)?;
        // The graph knows of powers that cannot fail.
        let last_failing = schedule.last_failing().filter(|_| graph.can_fail());
        let asides = graph.outputs().iter().enumerate().map(|(index, output)| match output.assigned {
            Some(_) if last_failing.is_some() && broadloom_loops::fails_late(&schedule, index) => {
                Some(Aside::CanFail)
            }
            Some(input) => broadloom_loops::in_place(&schedule, index, input).err().map(Aside::Hazard),
            None => None,
        });
        let (asides, facts) = (asides.collect(), facts.clone());
        let stoppable = OnceLock::new();
        Ok(Variant {
            facts,
            asides,
            last_failing,
            schedule,
            module,
            stoppable,
            steps: OnceLock::new(),
            compile_time: start.elapsed(),
        })
    }

    /// Returns the code that takes many steps of a loop, if a call has asked for it and there is such code.
    pub(crate) fn steps(&self) -> Option<&StepsCode> {
        self.steps.get()?.as_ref()
    }

    /// Returns the code for runs that can be stopped, or for others.
    pub(crate) fn module(&self, stops: bool) -> &Module {
        self.stoppable.get().filter(|_| stops).unwrap_or(&self.module)
    }
}

/// A kernel that takes many steps of a loop.
pub(crate) struct StepsCode {
    pub(crate) made: Steps,
    pub(crate) module: Module,
}

/// Makes a schedule refer to the expressions of the graph before preparation.
fn name_as_written(schedule: &mut Schedule, prepared: &Rewritten) {
    for buffer in &mut schedule.buffers {
        buffer.holds = buffer.holds.map(|expr| prepared.origin(expr));
    }
    for planned in &mut schedule.plan {
        planned.expr = prepared.origin(planned.expr);
    }
    let sources = prepared.sources();
    for kernel in &mut schedule.kernels {
        kernel.exprs = sources.of(&kernel.exprs);
        for value in &mut kernel.values {
            value.origin = prepared.origin(value.origin);
        }
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variant({} kernels)", self.schedule.kernels.len())
    }
}

/// The variants of a graph.
pub(crate) struct Variants {
    /// The graph to be lowered.
    prepared: Rewritten,
    /// The options for generating machine code.
    pub(crate) options: JitOptions,
    /// The variant for dense arrays of all sizes.
    pub(crate) general: Arc<Variant>,
    others: Cache<LowerOptions, Arc<Variant>>,
}

impl Variants {
    pub(crate) fn new(prepared: Rewritten, options: JitOptions, general: Variant) -> Variants {
        Variants { prepared, options, general: Arc::new(general), others: Cache::default() }
    }

    /// Returns the graph in the form that is lowered.
    pub(crate) fn graph(&self) -> &CheckedGraph {
        &self.prepared.graph
    }

    /// Returns the machine code for calls with these facts, and compiles it on first use.
    pub(crate) fn get(&self, facts: LowerOptions) -> Result<Arc<Variant>, CompileError> {
        if facts == self.general.facts {
            return Ok(self.general.clone());
        }
        self.others.get_or_make(
            facts,
            |facts, slots| self.admit(facts, slots),
            |facts| {
                if *facts == self.general.facts {
                    return Ok(self.general.clone());
                }
                match Variant::compile(&self.prepared, facts, &self.options) {
                    // Code that is too large with this size unrolled may still fit when compiled for all sizes.
                    Err(_) if is_sized(facts) => self.get(of_all_sizes(facts.clone())),
                    variant => variant.map(Arc::new),
                }
            },
        )
    }

    /// Reduces the facts to those that may still get a variant of their own, once there are too many variants.
    fn admit(&self, mut facts: LowerOptions, slots: &Slots<LowerOptions, Arc<Variant>>) -> LowerOptions {
        if is_sized(&facts) {
            if slots.count(is_sized) < MAX_SIZED {
                return facts;
            }
            facts = of_all_sizes(facts);
            if slots.contains(&facts) {
                return facts;
            }
        }
        if facts != self.general.facts && slots.count(|facts| !is_sized(facts)) >= MAX_LAYOUTS {
            let any = Layout::Strided { unit: None };
            facts.inputs.fill(any.clone());
            facts.outputs.fill(any);
            facts.streamed.fill(false);
        }
        facts
    }

    /// Returns all compiled variants except the general one.
    pub(crate) fn others(&self) -> Vec<Arc<Variant>> {
        let mut others: Vec<Arc<Variant>> = Vec::new();
        for variant in self.others.values() {
            // One variant may serve facts other than its own.
            if !others.iter().chain([&self.general]).any(|known| Arc::ptr_eq(known, &variant)) {
                others.push(variant);
            }
        }
        others
    }

    /// Returns the first expression of the graph before preparation that has the same value as one of its expressions.
    pub(crate) fn first_equal(&self, expr: ExprId) -> ExprId {
        self.prepared.image(expr).map_or(expr, |image| self.prepared.origin(image))
    }

    /// Makes sure that a variant has code for runs that can be stopped.
    pub(crate) fn make_stoppable(&self, variant: &Variant) -> Result<(), CompileError> {
        if variant.stoppable.get().is_none() {
            let options = JitOptions { looks_after: Some(LOOKS_AFTER), ..self.options };
            // Another thread may have been faster.
            variant.stoppable.set(broadloom_jit::compile(&variant.schedule, &options)?).ok();
        }
        Ok(())
    }

    /// Returns the code that takes many steps of a loop, of which a variant makes one, if there is such code: see
    /// [`broadloom_loops::steps`].
    pub(crate) fn make_steps<'v>(
        &self,
        variant: &'v Variant,
        inputs: &[StepArray],
        outputs: &[StepArray],
    ) -> Result<Option<&'v StepsCode>, CompileError> {
        if variant.steps.get().is_none() {
            let made = steps(&variant.schedule, inputs, outputs).map_err(LowerError::Bug)?;
            let code = made.map(|made| {
                let module = broadloom_jit::compile(&made.schedule, &self.options)?;
                Ok::<_, CompileError>(StepsCode { made, module })
            });
            // Another thread may have been faster.
            variant.steps.set(code.transpose()?).ok();
        }
        Ok(variant.steps())
    }

    /// Compiles a schedule again with the text of its code.
    pub(crate) fn with_text(&self, schedule: &Schedule) -> Result<Module, CompileError> {
        let options = JitOptions { keep_text: true, ..self.options };
        Ok(broadloom_jit::compile(schedule, &options)?)
    }
}

/// Returns whether code relies on sizes of a call.
fn is_sized(facts: &LowerOptions) -> bool {
    let LowerOptions { sizes, shared, by_columns, .. } = facts;
    !sizes.is_empty() || [shared, by_columns].iter().any(|shapes| !shapes.is_empty())
}

/// Returns facts without those of the sizes of a call.
fn of_all_sizes(facts: LowerOptions) -> LowerOptions {
    LowerOptions { sizes: Vec::new(), shared: Vec::new(), by_columns: Vec::new(), ..facts }
}

/// The reason why an assigned value is not written directly to its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aside {
    /// That data have no result may be found too late: the array must keep its values.
    CanFail,
    /// An element would be overwritten before it is read.
    Hazard(Hazard),
}

impl fmt::Display for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Aside::CanFail => f.write_str("the data may fail after elements of it are written"),
            Aside::Hazard(hazard) => fmt::Display::fmt(hazard, f),
        }
    }
}

/// The reason why compilation failed.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::CompileError;
/// let g = Graph::new();
/// let (x, y) = (g.input::<f32>("x", shape![2]), g.input::<f32>("y", shape![3]));
/// match (x + y).compile() {
///     Err(CompileError::Graph(mistakes)) => assert_eq!(mistakes.as_slice().len(), 1),
///     other => panic!("{:?}", other.err()),
/// }
/// ```
#[derive(Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The graph contains mistakes.
    #[error(transparent)]
    Graph(#[from] Diagnostics),
    /// The graph cannot be scheduled.
    #[error(transparent)]
    Schedule(#[from] LowerError),
    /// The schedule cannot be compiled.
    #[error(transparent)]
    Code(#[from] broadloom_jit::CompileError),
}

impl fmt::Debug for CompileError {
    /// Prints the full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Graph(diagnostics) => fmt::Debug::fmt(diagnostics, f),
            CompileError::Schedule(error) => fmt::Debug::fmt(error, f),
            CompileError::Code(error) => fmt::Debug::fmt(error, f),
        }
    }
}
