//! Lazy, broadcasting tensor expressions with symbolic sizes, compiled to fused loops.
//!
//! Expressions read like mathematics. Their shapes are checked while you write them, for all sizes at once. Each
//! group of fused operations compiles to one loop nest, which then runs on arrays of any size.
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
//! * [`Graph`], [`Tensor`] and [`shape!`] build expressions; [`Graph::check`] explains every mistake at once.
//! * [`Tensor::compile`] and [`Graph::compile`] return an [`Executable`], which [runs](Executable::run) on anything
//!   that converts to an [`ArrayView`] and [explains](Executable::explain) the code it runs.
//! * [`eval`](eval()) does all of this in one line on arrays that already exist.
//!
//! Read on in the [guide]: shapes, NumPy and `ndarray` spellings, performance, threads, chunks, errors, embedding.
//!
//! The feature `ndarray` passes and returns arrays and views of that crate without copying them.
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
mod limits;
mod memory;
mod options;
mod phased;
pub mod prelude;
pub mod print;
mod reexports;
mod run;
mod staged;
mod thresholds;
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
    At, Chosen, Dim, Ewm, Filtered, Graph, IntoAxes, IntoAxis, IntoFractions, IntoNewShape, IntoPairs,
    NewSize, Operand, Padding, RangeNumber, Shape, SliceItem, Spacing, Symbol, Tensor, Times, concat, einsum,
    function, meshgrid, repeat, repeat_while, scan, select, stack,
};
#[doc(inline)]
pub use eval::{EvalError, eval};
pub use executable::{ArrayInfo, Executable};
pub use explain::{
    ArrayListing, ArrayPlace, Bytes, Explanation, KernelInfo, KernelListing, Listing, LoopInfo, LoopLine,
    PartListing, TemporaryInfo,
};
pub use limits::{CallLimits, Limited, OutputSize, Work};
pub use memory::OutOfMemory;
pub use options::{CompileOptions, Threads};
pub use reexports::{
    Broken, CheckedGraph, Choice, CodeError, Composed, CpuLevel, DType, Declared, Diagnostic, Diagnostics,
    DimError, Element, ExprId, Instruction, KernelId, LowerError, Norm, Op, Overlap, Pairs, Planned,
    QuantileMethod, Reason, Refusal, Scalar, Site, SymbolId, Tolerance, UnknownKernel,
};
pub use run::{
    Bound, CallError, DecidedSizes, IntoOutputs, Outputs, OutputsMut, RunError, RunOptions, StopFlag,
};
pub use variant::CompileError;

pub use broadloom_ir::diagnostics;
pub use half::{bf16, f16};

/// Runs the README's example with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Runs the examples of the page for registries.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

/// Runs the examples of the page for people who come from another library.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from.md")]
struct ComingFrom;
