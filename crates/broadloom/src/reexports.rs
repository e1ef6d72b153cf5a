//! Types of the other crates that belong to this one's interface, each with an example of its use here.

/// The type of a tensor's elements, as a value; [`Element`] is the same for Rust's types.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input_dyn("x", DType::U8, shape![3]);
/// assert_eq!((x / 2).dtype(), Some(DType::F64)); // as in NumPy
/// ```
#[doc(inline)]
pub use broadloom_ir::dtype::DType;

/// A Rust type of elements; its dtype is `T::DTYPE`.
///
/// ```
/// use broadloom::prelude::*;
/// fn doubled<T: Element>(g: &Graph) -> Tensor {
///     2 * g.input::<T>("x", shape![g.symbol("n")])
/// }
/// assert_eq!(doubled::<f32>(&Graph::new()).dtype(), Some(DType::F32));
/// ```
#[doc(inline)]
pub use broadloom_ir::dtype::Element;

/// A number with its dtype.
///
/// ```
/// use broadloom::{DType, Scalar};
/// let half = Scalar::F64(2.5).cast(DType::I32);
/// assert!(matches!(half, Scalar::I32(2)));
/// ```
#[doc(inline)]
pub use broadloom_ir::dtype::Scalar;

/// A mistake in an expression, with the helps that the message prints.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let _ = g.input::<f32>("a", shape![4, 3]) + g.input::<f32>("b", shape![4]);
/// let mistakes = g.check().unwrap_err();
/// let mistake = &mistakes.as_slice()[0];
/// assert_eq!((mistake.code().to_string().as_str(), mistake.op.as_deref()), ("S001", Some("add")));
/// assert!(mistake.helps[0].code.as_deref().is_some_and(|code| code.contains("unsqueeze")));
/// ```
#[doc(inline)]
pub use broadloom_ir::diagnostics::Diagnostic;

/// All mistakes of a graph: the error of [`Graph::check`](crate::Graph::check).
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![3]);
/// let _ = (x.sum(5), x.index(0, 7));
/// let mistakes = g.check().unwrap_err();
/// assert_eq!(mistakes.as_slice().len(), 2);
/// println!("{mistakes:#}");
/// ```
#[doc(inline)]
pub use broadloom_ir::diagnostics::Diagnostics;

/// A graph that was checked: what a kernel is compiled from.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let graph = g.finish([("y", x.exp())])?;
/// assert_eq!((graph.inputs().len(), graph.outputs().len()), (1, 1));
/// let kernel = Executable::compile(&graph, &CompileOptions::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use broadloom_ir::graph::CheckedGraph;

/// A function that is made of several ops, each a method of [`Tensor`](crate::Tensor).
///
/// ```
/// use broadloom::Composed;
/// assert!(Composed::ALL.iter().any(|function| function.name() == "logaddexp2"));
/// ```
#[doc(inline)]
pub use broadloom_ir::graph::Composed;

/// The result of [`Graph::declare_equal`](crate::Graph::declare_equal).
///
/// ```
/// use broadloom::{Declared, prelude::*};
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// assert_eq!(g.declare_equal(m, n + 1), Declared::Substituted); // `m` is `n + 1` in all shapes
/// ```
#[doc(inline)]
pub use broadloom_ir::graph::Declared;

/// The norm of [`Tensor::norm`](crate::Tensor::norm).
///
/// ```
/// use broadloom::prelude::*;
/// let x = [3.0f32, -4.0];
/// let norms: (f32, f32, f32) =
///     eval(&x, |x| (x.norm(Norm::One, 0), x.norm(Norm::Two, 0), x.norm(Norm::Infinity, 0)))?;
/// assert_eq!(norms, (7.0, 5.0, 4.0));
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[doc(inline)]
pub use broadloom_ir::graph::Norm;

/// The length of [`Tensor::convolve`](crate::Tensor::convolve).
///
/// ```
/// use broadloom::{Overlap, prelude::*};
/// let (full, valid): (Vec<i32>, Vec<i32>) = eval((&[1, 2, 3], &[1, 1]), |(x, w)| {
///     (x.convolve(w, Overlap::Full), x.convolve(w, Overlap::Valid))
/// })?;
/// assert_eq!((full, valid), (vec![1, 3, 5, 3], vec![3, 5]));
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[doc(inline)]
pub use broadloom_ir::graph::Overlap;

/// The axes of [`Tensor::tensordot`](crate::Tensor::tensordot); numbers and pairs of lists convert to it.
///
/// ```
/// use broadloom::{IntoPairs, Pairs};
/// assert_eq!(([1], [0]).into_pairs(), Pairs::Axes(vec![1], vec![0]));
/// ```
#[doc(inline)]
pub use broadloom_ir::graph::Pairs;

/// The method of [`Tensor::quantile_by`](crate::Tensor::quantile_by).
///
/// ```
/// use broadloom::{QuantileMethod, prelude::*};
/// let (lower, midpoint): (f64, f64) = eval(&[1.0, 2.0], |x| {
///     (x.quantile_by(QuantileMethod::Lower, 0.4, 0), x.quantile_by(QuantileMethod::Midpoint, 0.4, 0))
/// })?;
/// assert_eq!((lower, midpoint), (1.0, 1.5));
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[doc(inline)]
pub use broadloom_ir::graph::QuantileMethod;

/// The place that an error names.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let _ = g.input::<f32>("x", shape![3]).sum(5);
/// let mistakes = g.check().unwrap_err();
/// let place = mistakes.as_slice()[0].site.location();
/// assert_eq!(place.map(|place| place.file()), Some(file!()));
/// ```
#[doc(inline)]
pub use broadloom_ir::graph::Site;

/// The tolerance of [`Tensor::isclose_within`](crate::Tensor::isclose_within).
///
/// ```
/// use broadloom::{Tolerance, prelude::*};
/// let tolerance = Tolerance { absolute: 0.5, ..Tolerance::default() };
/// let close: Vec<bool> = eval((&[1.0, 1.0], &[1.4, 1.6]), |(x, y)| x.isclose_within(y, tolerance))?;
/// assert_eq!(close, [true, false]);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[doc(inline)]
pub use broadloom_ir::graph::Tolerance;

/// An elementwise operation, as errors and [`Explanation`](crate::Explanation) name it.
///
/// ```
/// use broadloom::Op;
/// assert_eq!((Op::Hypot.name(), Op::Hypot.operands()), ("hypot", &["x", "y"][..]));
/// ```
#[doc(inline)]
pub use broadloom_ir::ops::Op;

/// The instructions that a kernel uses.
///
/// ```
/// use broadloom::{CpuLevel, prelude::*};
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let anywhere = CompileOptions { level: Some(CpuLevel::Baseline), ..CompileOptions::default() };
/// let kernel = x.exp().compile_with(&anywhere)?; // the same bits on all CPUs of an architecture
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[doc(inline)]
pub use broadloom_jit::CpuLevel;

/// Whether a tensor is stored.
///
/// ```
/// use broadloom::{Choice, prelude::*};
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// let (x, y) = (g.input::<f32>("x", shape![n, 1]), g.input::<f32>("y", shape![m]));
/// let explanation = (x + y.sin()).compile()?.explain();
/// let stored = explanation.plan().iter().filter(|planned| matches!(planned.choice, Choice::Materialise(_)));
/// assert_eq!(stored.count(), 1); // sin(y)
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[doc(inline)]
pub use broadloom_loops::plan::Choice;

/// A tensor in [`Explanation::plan`](crate::Explanation::plan).
///
/// ```
/// use broadloom::{Choice, prelude::*};
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let explanation = (x.exp() + 1).compile()?.explain();
/// assert!(explanation.plan().iter().all(|planned| planned.choice == Choice::Inline));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[doc(inline)]
pub use broadloom_loops::plan::Planned;

/// Why a tensor is stored.
///
/// ```
/// use broadloom::{Choice, Reason, prelude::*};
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let explanation = x.sort(0).compile()?.explain();
/// let sorted = |choice| matches!(choice, Choice::Materialise(Reason::Sorted));
/// assert!(explanation.plan().iter().any(|planned| sorted(planned.choice)));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[doc(inline)]
pub use broadloom_loops::plan::Reason;

/// Why a graph cannot be scheduled: the error in [`CompileError::Schedule`](crate::CompileError::Schedule).
///
/// ```
/// use broadloom::{CompileError, LowerError, prelude::*};
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let few = CompileOptions { max_values: 1, ..CompileOptions::default() };
/// let error = (x.exp() * x + 1).compile_with(&few).unwrap_err();
/// assert!(matches!(error, CompileError::Schedule(LowerError::TooManyValues { most: 1 })));
/// ```
#[doc(inline)]
pub use broadloom_loops::LowerError;

/// The promise that a schedule breaks: a bug, in [`LowerError::Bug`].
///
/// ```
/// use broadloom::{Broken, LowerError};
/// fn bug(error: &LowerError) -> Option<&Broken> {
///     match error {
///         LowerError::Bug(broken) => Some(broken),
///         _ => None,
///     }
/// }
/// ```
#[doc(inline)]
pub use broadloom_loops::Broken;

/// Why a schedule has no machine code: the error in [`CompileError::Code`](crate::CompileError::Code).
///
/// ```
/// use broadloom::{CodeError, CompileError};
/// fn lacks_instructions(error: &CompileError) -> bool {
///     matches!(error, CompileError::Code(CodeError::Level { .. }))
/// }
/// ```
#[doc(inline)]
pub use broadloom_jit::CompileError as CodeError;

/// A kernel without code: a bug, in [`RunError::UnknownKernel`](crate::RunError::UnknownKernel).
///
/// ```
/// use broadloom::{RunError, UnknownKernel};
/// fn kernel(error: &RunError) -> Option<String> {
///     match error {
///         RunError::UnknownKernel(UnknownKernel(kernel)) => Some(kernel.to_string()),
///         _ => None,
///     }
/// }
/// ```
#[doc(inline)]
pub use broadloom_jit::UnknownKernel;

/// The number of a kernel in [`UnknownKernel`].
///
/// ```
/// assert_eq!(broadloom::KernelId::new(2).to_string(), "k2");
/// ```
#[doc(inline)]
pub use broadloom_loops::kernel::KernelId;

/// Why a size cannot be computed.
///
/// ```
/// use broadloom::{BindError, DimError, prelude::*};
/// let g = Graph::new();
/// let n = g.parameter("n");
/// let kernel = g.iota(n * n).compile()?;
/// let error = kernel.bind(broadloom::Inputs::new().with_size("n", 1 << 40)).unwrap_err();
/// assert!(matches!(error, BindError::Arithmetic(DimError::Overflow)));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[doc(inline)]
pub use broadloom_ir::dim::DimError;

/// A symbol in [`DimError::Unbound`].
///
/// ```
/// assert_eq!(broadloom::SymbolId::new(2).index(), 2);
/// ```
#[doc(inline)]
pub use broadloom_ir::SymbolId;

/// An expression of a [`CheckedGraph`], as errors name it.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = x.sum(0).compile()?;
/// let sum: broadloom::ExprId = kernel.graph().outputs()[0].expr;
/// assert_eq!(kernel.graph().call(sum), "sum");
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[doc(inline)]
pub use broadloom_ir::ExprId;

/// Why an expression does not run in chunks: the reason in [`ChunkError::Refused`](crate::ChunkError::Refused).
///
/// ```
/// use broadloom::{ChunkError, Refusal, prelude::*};
/// fn refusal(error: &ChunkError) -> Option<&Refusal> {
///     match error {
///         ChunkError::Refused { refusal, .. } => Some(refusal),
///         _ => None,
///     }
/// }
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let error = x.sort(0).compile()?.in_chunks("n").unwrap_err();
/// assert!(refusal(&error).is_some());
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[doc(inline)]
pub use broadloom_ir::chunks::Refusal;

/// A machine instruction of a kernel.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let listing = (2 * x + 1).compile()?.explain().listing()?;
/// let code = &listing.parts[0].kernels[0].code;
/// assert!(!code.is_empty() && code.iter().all(|line| !line.text.is_empty()));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[doc(inline)]
pub use broadloom_jit::Instruction;
