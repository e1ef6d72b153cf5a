//! The handle of an expression.

use super::dims::{Dim, Shape};
use super::graph;
use super::registry::{self, GraphKey};
use crate::executable::Executable;
use crate::options::CompileOptions;
use crate::variant::CompileError;
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Diagnostics;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Site};
use std::fmt;

/// An expression of a [`Graph`](crate::Graph): a small `Copy` handle that is used like a number.
///
/// Operators and methods build new expressions and compute nothing. Operands broadcast; numbers beside tensors are
/// [weak](crate::Operand). A mistake gives a poisoned tensor, whose further use reports nothing more; `check` and
/// `compile` explain the mistake, and the `try_` forms return it at once.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let x = g.input::<f32>("x", shape![n, 3]);
/// let y = (2.0 * x + 1).sqrt().sum(-1);
/// assert_eq!(y.to_string(), "f32[n]");
/// ```
#[derive(Clone, Copy)]
pub struct Tensor {
    pub(crate) graph: GraphKey,
    pub(crate) expr: ExprId,
}

/// Properties of a tensor, and compiling.
impl Tensor {
    /// Returns the dtype of the elements; `None` for a poisoned tensor.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
    /// assert_eq!(x.dtype(), Some(DType::F32));
    /// ```
    pub fn dtype(self) -> Option<DType> {
        self.inspect(|state| state.graph.dtype(self.expr))
    }

    /// Returns the sizes of the axes; an empty shape for a poisoned tensor.
    ///
    /// The size of `x.slice(slice![-4..])` is 4 only where `x` has four elements or more. As other sizes may be made of a shape, its
    /// conditions hold for every kernel of the graph from here on, also where the kernel does not read the tensor.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
    /// assert_eq!(x.sum(1).shape(), shape![g.symbol("n")]);
    /// ```
    pub fn shape(self) -> Shape {
        let dims = self.inspect(|state| {
            let shape = state.graph.measure(self.expr);
            shape.iter().map(|dim| Dim::handle(dim, self.graph, state)).collect()
        });
        dims.unwrap_or_default()
    }

    /// Returns the number of axes; 0 for a poisoned tensor.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
    /// assert_eq!(x.rank(), 2);
    /// ```
    pub fn rank(self) -> usize {
        self.inspect(|state| state.graph.shape(self.expr).rank()).unwrap_or(0)
    }

    /// Returns whether this tensor depends on a mistake, or its graph was dropped.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
    /// assert!(x.sum(2).is_poisoned());
    /// ```
    pub fn is_poisoned(self) -> bool {
        self.inspect(|_| ()).is_none()
    }

    pub(super) fn inspect<R>(self, action: impl FnOnce(&mut registry::State) -> R) -> Option<R> {
        registry::with(self.graph, |state| (!state.graph.is_poisoned(self.expr)).then(|| action(state)))?
    }

    /// Returns the checked part of the graph that this tensor needs, with the only output `out`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
    /// println!("{}", (x + 1).finish()?);
    /// # Ok::<(), broadloom::Diagnostics>(())
    /// ```
    ///
    /// # Errors
    /// Returns all mistakes made so far in the graph.
    #[track_caller]
    pub fn finish(self) -> Result<CheckedGraph, Diagnostics> {
        graph::finish(self.graph, &[("out", self)], Site::caller())
    }

    /// Compiles a kernel that computes this tensor; its only output is named `out`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let kernel = (g.input::<f32>("x", shape![2]) + 1).compile()?;
    /// let result: Vec<f32> = kernel.run(&[1.0f32, 2.0])?.try_into()?;
    /// assert_eq!(result, [2.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns all mistakes made so far in the graph, or whatever the compiler does not support.
    #[track_caller]
    pub fn compile(self) -> Result<Executable, CompileError> {
        Executable::compile(&self.finish()?, &CompileOptions::default())
    }

    /// Like [`Tensor::compile`], with options.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
    /// let options = CompileOptions { vectorize: false, ..CompileOptions::default() };
    /// let kernel = x.exp().compile_with(&options)?;
    /// # Ok::<(), broadloom::CompileError>(())
    /// ```
    ///
    /// # Errors
    /// Returns all mistakes made so far in the graph, or whatever the compiler does not support.
    #[track_caller]
    pub fn compile_with(self, options: &CompileOptions) -> Result<Executable, CompileError> {
        Executable::compile(&self.finish()?, options)
    }
}

impl fmt::Display for Tensor {
    /// Prints `f32[n, 3]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype() {
            Some(dtype) => write!(f, "{dtype}{}", self.shape()),
            None if registry::find(self.graph).is_none() => f.write_str("stale tensor"),
            None => f.write_str("poisoned tensor"),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
