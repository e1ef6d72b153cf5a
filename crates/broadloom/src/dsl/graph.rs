//! The graph that owns tensors.

use super::Tensor;
use super::dims::{Dim, Shape, Symbol};
use super::registry::{self, GraphKey};
use super::script::{Declarations, Script, Scripts};
use crate::executable::Executable;
use crate::options::CompileOptions;
use crate::variant::CompileError;
use broadloom_ir::diagnostics::{Diagnostic, Diagnostics, Problem};
use broadloom_ir::dtype::{DType, Element};
use broadloom_ir::graph::{CheckedGraph, Declared, Site};
use broadloom_ir::{ExprId, SymbolId};
use smallvec::SmallVec;
use std::fmt;

/// Owns tensors and symbols: expressions are written with their handles, and dropping the graph frees them.
///
/// Mistakes do not panic. The graph collects them and poisons whatever depends on them; [`Graph::check`] or
/// `compile` explains them all at once.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// let x = g.input::<f32>("x", shape![n, 64]);
/// let w = g.input::<f32>("w", shape![64, n]);
/// let y = x + w;
/// assert!(g.check().unwrap_err().to_string().contains("cannot broadcast"));
/// ```
pub struct Graph {
    key: GraphKey,
}

/// Symbols, inputs and constants; checking and compiling.
impl Graph {
    /// Creates an empty graph.
    #[track_caller]
    #[allow(clippy::new_without_default, reason = "a default graph would have no place where it was made")]
    pub fn new() -> Graph {
        Graph { key: registry::insert(broadloom_ir::graph::Graph::new(), Site::caller()) }
    }

    /// Creates a graph with inputs. It costs almost nothing as long as the calls repeat one of the scripts.
    pub(crate) fn scripted(
        declarations: &Declarations,
        scripts: &Scripts,
        made_at: Site,
    ) -> (Graph, SmallVec<[Tensor; 4]>) {
        let (key, inputs) = registry::insert_scripted(declarations, scripts, made_at);
        (Graph { key }, inputs)
    }

    /// Returns the position of the script that these calls and outputs repeat.
    pub(crate) fn finished(&self, outputs: &[Tensor]) -> Option<usize> {
        registry::finished(self.key, outputs)
    }

    /// Returns the script that writes this graph again, unless the graph contains more than a script can express.
    pub(crate) fn script(&self, outputs: &[Tensor]) -> Option<Script> {
        registry::script(self.key, outputs)
    }

    /// Creates symbols for sizes known only at run time. Within one graph, equal names mean equal sizes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [n, m] = g.symbols(["n", "m"]);
    /// assert_eq!(shape![n, 2 * m].to_string(), "[n, 2*m]");
    /// ```
    #[track_caller]
    pub fn symbols<const N: usize>(&self, names: [&str; N]) -> [Symbol; N] {
        let site = Site::caller();
        names.map(|name| self.add_symbol(name, site))
    }

    /// Creates a symbol for a size known only at run time.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// assert_eq!(g.symbol("n"), g.symbol("n"));
    /// ```
    #[track_caller]
    pub fn symbol(&self, name: &str) -> Symbol {
        self.add_symbol(name, Site::caller())
    }

    /// Creates a symbol for a size that each call gives by name, so that no array has to determine it: see
    /// [`Inputs::with_size`](crate::Inputs::with_size).
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let kernel = g.iota(g.parameter("n")).compile()?;
    /// assert_eq!(kernel.parameters(), ["n"]);
    /// let result: Vec<i64> = kernel.run(inputs![].with_size("n", 3))?.try_into()?;
    /// assert_eq!(result, [0, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn parameter(&self, name: &str) -> Symbol {
        let site = Site::caller();
        let id = registry::with(self.key, |state| state.graph.parameter(name, site));
        Symbol { graph: self.key, id: id.unwrap_or(SymbolId::new(0)) }
    }

    /// Declares two sizes equal, which each call checks. If one of them is an unused symbol, it stands for the
    /// other size from now on, in every shape. Otherwise ([`Declared::Checked`]) shapes do not use the equality.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [n, m] = g.symbols(["n", "m"]);
    /// g.declare_equal(m, n - 1);
    /// let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![m]));
    /// assert_eq!((x.slice(slice![1..]) + y).to_string(), "f32[n-1]");
    /// # g.check().unwrap();
    /// ```
    #[track_caller]
    pub fn declare_equal(&self, left: impl Into<Dim>, right: impl Into<Dim>) -> Declared {
        let (site, left, right) = (Site::caller(), left.into(), right.into());
        let declared = registry::with(self.key, |state| {
            let sides =
                left.resolve(self.key, state).and_then(|left| Ok((left, right.resolve(self.key, state)?)));
            match sides {
                Ok((left, right)) => state.graph.declare_equal(&left, &right, site),
                Err(unusable) => {
                    state.poison(unusable, site);
                    Declared::Refused
                }
            }
        });
        declared.unwrap_or(Declared::Refused)
    }

    /// Turns on warnings where operands with equal numbers of elements broadcast, such as `[n, 1]` with `[n]`:
    /// torch before version 0.2 combined them element by element, and programs of that time rely on it. In-place
    /// updates never warn.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// g.warn_of_pointwise();
    /// let (x, y) = (g.input::<f32>("x", shape![4, 1]), g.input::<f32>("y", shape![4]));
    /// let sum = x + y;
    /// assert!(g.check().is_ok());
    /// assert_eq!(g.warnings().len(), 1);
    /// ```
    pub fn warn_of_pointwise(&self) {
        registry::with(self.key, |state| state.graph.warn_of_pointwise());
    }

    /// Returns the warnings so far.
    ///
    /// ```
    /// assert!(broadloom::Graph::new().warnings().is_empty());
    /// ```
    pub fn warnings(&self) -> Vec<Diagnostic> {
        registry::with(self.key, |state| state.graph.warnings()).unwrap_or_default()
    }

    pub(super) fn key(&self) -> GraphKey {
        self.key
    }

    fn add_symbol(&self, name: &str, site: Site) -> Symbol {
        let id = registry::with(self.key, |state| state.graph.symbol(name, site));
        Symbol { graph: self.key, id: id.unwrap_or(SymbolId::new(0)) }
    }

    /// Declares an array that the caller passes at run time.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f16>("x", shape![g.symbol("n"), 3]);
    /// assert_eq!(x.to_string(), "f16[n, 3]");
    /// ```
    #[track_caller]
    pub fn input<T: Element>(&self, name: &str, shape: impl Into<Shape>) -> Tensor {
        self.add_input(name, T::DTYPE, &shape.into(), Site::caller())
    }

    /// Like [`Graph::input`], with a dtype known only when the graph is built.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// assert_eq!(g.input_dyn("x", DType::U16, shape![3]).to_string(), "u16[3]");
    /// ```
    #[track_caller]
    pub fn input_dyn(&self, name: &str, dtype: DType, shape: impl Into<Shape>) -> Tensor {
        self.add_input(name, dtype, &shape.into(), Site::caller())
    }

    fn add_input(&self, name: &str, dtype: DType, shape: &Shape, site: Site) -> Tensor {
        let expr = registry::with(self.key, |state| {
            let dims: Result<Vec<_>, _> =
                shape.iter().map(|dim| dim.resolve_for_input(self.key, state)).collect();
            match dims {
                Ok(dims) => state.graph.input_of(name, dtype, &dims, site),
                Err(unusable) => state.poison(unusable, site),
            }
        });
        Tensor { graph: self.key, expr: expr.unwrap_or(ExprId::new(0)) }
    }

    /// Makes a tensor of rank 0 from a number, with the dtype of its Rust type. Numbers in expressions do not need
    /// this: `x + 1` has the dtype of `x`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// assert_eq!(g.constant(1u8).to_string(), "u8[]");
    /// ```
    #[track_caller]
    pub fn constant<T: Element>(&self, value: T) -> Tensor {
        let site = Site::caller();
        registry::build(self.key, &[], &[], site, |graph, _| graph.constant(value.into_scalar(), site))
    }

    /// Checks everything written so far.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![2]);
    /// assert!(g.check().is_ok());
    /// let sum = x + g.input::<f32>("y", shape![3]);
    /// assert!(sum.is_poisoned() && g.check().is_err());
    /// ```
    ///
    /// # Errors
    /// Returns all mistakes made so far, each with an explanation.
    pub fn check(&self) -> Result<(), Diagnostics> {
        registry::with(self.key, |state| state.graph.check()).unwrap_or(Ok(()))
    }

    /// Returns the mistakes made so far and clears them. Tensors that do not depend on a mistake can still be
    /// compiled; tensors that a mistake poisoned are still refused as outputs.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![2]);
    /// let bad = x + g.input::<f32>("y", shape![3]);
    /// assert!(g.compile([("twice", 2 * x)]).is_err());
    /// assert!(g.take_errors().is_some());
    /// assert!(g.compile([("twice", 2 * x)]).is_ok());
    /// assert!(g.compile([("bad", bad)]).is_err());
    /// ```
    pub fn take_errors(&self) -> Option<Diagnostics> {
        let taken = registry::with(self.key, |state| {
            let mistakes = state.graph.check().err();
            state.graph.retain_mistakes(0, |_| false);
            mistakes
        });
        taken.flatten()
    }

    /// Returns the checked part of the graph that the outputs need.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![2]);
    /// let graph = g.finish([("y", x + 1), ("z", x * 2)])?;
    /// assert_eq!(graph.outputs().len(), 2);
    /// # Ok::<(), broadloom::Diagnostics>(())
    /// ```
    ///
    /// # Errors
    /// Returns all mistakes made so far.
    #[track_caller]
    pub fn finish<'a>(
        &self,
        outputs: impl IntoIterator<Item = (&'a str, Tensor)>,
    ) -> Result<CheckedGraph, Diagnostics> {
        let outputs: Vec<_> = outputs.into_iter().collect();
        finish(self.key, &outputs, Site::caller())
    }

    /// Compiles one kernel for several named outputs, which share common subexpressions.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<i32>("x", shape![g.symbol("n")]);
    /// let kernel = g.compile([("least", x.min(0)), ("greatest", x.max(0))])?;
    /// let (least, greatest): (i32, i32) = kernel.run(&[3, 1, 2])?.try_into()?;
    /// assert_eq!((least, greatest), (1, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns all mistakes made so far, or whatever the compiler does not support.
    #[track_caller]
    pub fn compile<'a>(
        &self,
        outputs: impl IntoIterator<Item = (&'a str, Tensor)>,
    ) -> Result<Executable, CompileError> {
        Executable::compile(&self.finish(outputs)?, &CompileOptions::default())
    }

    /// Like [`Graph::compile`], with options.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![4]);
    /// let options = CompileOptions { vectorize: false, ..CompileOptions::default() };
    /// let kernel = g.compile_with([("y", x + 1)], &options)?;
    /// # Ok::<(), broadloom::CompileError>(())
    /// ```
    ///
    /// # Errors
    /// Returns all mistakes made so far, or whatever the compiler does not support.
    #[track_caller]
    pub fn compile_with<'a>(
        &self,
        outputs: impl IntoIterator<Item = (&'a str, Tensor)>,
        options: &CompileOptions,
    ) -> Result<Executable, CompileError> {
        Executable::compile(&self.finish(outputs)?, options)
    }
}

/// Returns the checked part of a graph that the outputs need.
pub(super) fn finish(
    key: GraphKey,
    outputs: &[(&str, Tensor)],
    site: Site,
) -> Result<CheckedGraph, Diagnostics> {
    let foreign = |key: GraphKey| {
        let here = registry::find(key).map_or(site, |entry| entry.made_at);
        let other = outputs.iter().map(|(_, tensor)| tensor.graph).find(|other| *other != key);
        let (problem, op) = registry::misplaced(other.or(Some(key)), here);
        Diagnostics::from(Diagnostic::new(problem, op.or(Some("compile")), site))
    };
    if outputs.iter().any(|(_, tensor)| tensor.graph != key) {
        return Err(foreign(key));
    }
    let exprs: Vec<_> = outputs.iter().map(|(name, tensor)| (*name, tensor.expr)).collect();
    let finished = registry::with(key, |state| state.graph.finish(&exprs));
    finished.unwrap_or_else(|| Err(foreign(key))).map_err(|mistakes| {
        let located = |mut mistake: Diagnostic| {
            if mistake.problem == Problem::NoOutputs {
                // A missing output has no place of its own.
                mistake.site = site;
            }
            mistake
        };
        let located = mistakes.clone().into_iter().map(located).collect();
        Diagnostics::new(located).unwrap_or(mistakes)
    })
}

impl Drop for Graph {
    fn drop(&mut self) {
        registry::remove(self.key);
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made_at = registry::find(self.key).and_then(|entry| entry.made_at.location());
        write!(f, "Graph")?;
        made_at.map_or(Ok(()), |location| write!(f, "(made at {location})"))
    }
}
