//! Lazy, broadcasting tensor expressions with symbolic sizes, compiled to fused loops.
//!
//! Expressions read like mathematics. Their shapes are checked while they are written, for all sizes at once; one
//! compiled loop nest per fused group of operations then runs on arrays of any sizes.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let g = Graph::new();
//! let [n, k] = g.symbols(["n", "k"]);
//! let obs = g.input::<f32>("obs", shape![n, 3]);
//! let codes = g.input::<f32>("codes", shape![k, 3]);
//! let distance = (codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1).sqrt(); // [n, k], never stored
//! let kernel = distance.argmin(1).compile()?;
//!
//! let points = ArrayView::new(&[0.0f32, 0.0, 0.1, 5.0, 5.0, 4.9], &[2, 3])?;
//! let book = ArrayView::new(&[5.0f32, 5.0, 5.0, 0.0, 0.0, 0.0], &[2, 3])?;
//! let code: Vec<i64> = kernel.run(inputs! { "obs" => points, "codes" => book })?.try_into()?;
//! assert_eq!(code, [1, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`Graph`], [`Tensor`] and [`shape!`] write expressions; [`Graph::check`] explains every mistake at once.
//! * [`Tensor::compile`] and [`Graph::compile`] give an [`Executable`], which [runs](Executable::run) on anything
//!   that converts to an [`ArrayView`] and [explains](Executable::explain) what it does.
//! * [`eval`](eval()) does all of that in one line for arrays that are there.
//!
//! The [guide] goes on from here: shapes, spellings of NumPy and `ndarray`, performance, threads, chunks, errors, embedding.
//!
//! With the feature `ndarray`, arrays and views of that crate are passed and returned, without copying.
#![deny(unsafe_code)]

mod array;
mod bind;
mod cache;
mod chunks;
mod compile;
mod compiled;
mod dsl;
pub mod eval;
mod executable;
mod explain;
pub mod guide;
mod memory;
mod options;
pub mod prelude;
mod run;
mod variant;

pub use array::{
    AnyArray, Array, ArrayView, ArrayViewMut, FromArray, Input, IntoArrayView, IntoArrayViewMut, IntoInput,
    LayoutError, OutputError,
};
pub use bind::{
    ArrayName, BindError, EmptyTable, GivenSize, Inputs, IntoInputs, MissedObligation, Role, SizeMismatch,
    Solved, SolvedFrom,
};
pub use chunks::{ChunkError, ChunkRun, Chunked};
pub use dsl::{
    Dim, Filtered, Graph, IntoAxes, IntoAxis, IntoFractions, IntoNewShape, IntoPairs, NewSize, Operand,
    Padding, RangeNumber, Shape, SliceItem, Spacing, Symbol, Tensor, concat, einsum, meshgrid, select, stack,
};
#[doc(inline)]
pub use eval::{EvalError, eval};
pub use executable::{ArrayInfo, Executable};
pub use explain::{ArrayPlace, Bytes, Explanation, KernelInfo, TemporaryInfo};
pub use memory::OutOfMemory;
pub use options::{CompileOptions, Threads};
pub use run::{Bound, CallError, IntoOutputs, Outputs, OutputsMut, RunError};
pub use variant::CompileError;

pub use broadloom_ir::diagnostics::{self, Diagnostic, Diagnostics};
pub use broadloom_ir::dtype::{DType, Element, Scalar};
pub use broadloom_ir::graph::{
    CheckedGraph, Composed, Declared, Norm, Overlap, Pairs, QuantileMethod, Site, Tolerance,
};
pub use broadloom_ir::ops::Op;
pub use broadloom_jit::CpuLevel;
pub use broadloom_loops::plan::{Choice, Planned, Reason};
pub use half::{bf16, f16};

/// The README's example runs with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
