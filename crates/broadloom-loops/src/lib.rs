//! Compiles an expression graph to loops.
//!
//! ```text
//! CheckedGraph ──flat──▶ few forms ──materialize──▶ plan: what is stored
//!     ──fuse──▶ roots of a kernel ──nest──▶ values over axes ──merge, place──▶ placement ──make──▶ Schedule
//!         ▲                                                         │
//!         └────────────── nodes that must be stored after all ◀─────┘
//! ```
//!
//! [`lower`] is the whole pipeline. A [`kernel::Schedule`] prints as text; its grammar:
//!
//! ```text
//! schedule  ::= array ..   ([together] kernel) ..
//! array     ::= (input | output | stored | held) NAME: DTYPE[dims] [, starts as NAME]
//! together  ::= together kN, .. : ROWS of SIZE rows at a time     these kernels run for some rows, and then for the next
//! kernel    ::= kernel kN { stmt .. }
//! stmt      ::= vN = def : DTYPE                                  a value, where it stands
//!             | store NAME[access] <- vN                          to an array
//!             | scatter NAME[access] at vN <- OP vN [, lost NAME[access]]
//!                                                               combined with the element there; the data say where
//!             | put rN[axis] <- vN                                to a scratch row over the strip of the axis
//!             | put rN[axis, over and over] <- vN               to a row that repeats along the strips of an axis
//!             | put rN[axis, stretched] <- vN                   to a row that is stretched over the strip of a longer axis
//!             | transpose rN[axis] by AXIS = load NAME[access]  the block where two strips meet, into a row for each step
//!             | gather rN[AXIS] by STEPS = load NAME[access] by STRIDE, STRIDE   a strip of two merged axes, into a row
//!             | for AXIS [vector LANES] { stmt .. }               every step of the axis, or of its strip
//!             | strip AXIS of LENGTH { stmt .. }                  strip by strip
//!             | begin rN <- vN                                    the value before the first running result
//!             | scan operand = OP of operand from rN [for AXIS]   running results along a strip, for each step of another
//!             | call operand = OP(operand ..)                     a function of whole rows, or of elements side by side
//!             | reduce AXIS [vector LANES] ORDER { stmt .. vN = OP vN .. }        accumulators in values
//!             | best AXIS into rows of AXIS { stmt .. rN, rN = EXTREME of (rN | load NAME[access]) }
//!             | best AXIS for AXIS over rows of AXIS { stmt .. rN, rN = EXTREME of (rN | load NAME[access]) }
//!             | contract AXIS for AXIS over rows of AXIS [vector LANES] ORDER { stmt .. rN = OP vN .. }
//!             | fold AXIS for AXIS over rows of AXIS ORDER { stmt rN = OP of rN .. }   the results of its steps
//!             | stream AXIS [by STEPS] over [dense] rows of AXIS [vector LANES] ORDER { stmt .. rN = OP vN .. }
//! operand   ::= rN | NAME[access]
//! def       ::= CONSTANT | size | index AXIS | load NAME[access] | row rN[AXIS] | OP vN .. | select vN vN vN
//!             | cast vN | take NAME[access] at vN | segment vN of SIZE
//! access    ::= AXIS [by STRIDE], .. [+ offset]                   strides count elements; other axes do not move it
//! ORDER     ::= in any order | in order | by the tree | by blocks | by the counter
//! ```
//!
//! The grammar covers a perfect nest; several inner loops in one outer loop; accumulators; values at the loop level
//! of their own axes; scratch rows; vector loops; and several outputs. [`verify()`] lists what every schedule
//! promises.
#![forbid(unsafe_code)]

mod alias;
mod band;
mod cost;
mod fails;
mod flat;
mod fuse;
mod index;
mod interval;
pub mod kernel;
mod make;
mod materialize;
mod merge;
mod nest;
mod outline;
mod pieces;
mod place;
pub mod plan;
mod print;
mod registers;
mod rows;
pub mod steps;
mod streamed;
mod target;
mod thresholds;
mod update;
mod verify;

pub use alias::{Hazard, in_place};
pub use fails::fails_late;
pub use flat::{is_few, most_unrolled};
pub use fuse::lower;
pub use print::Line;
pub use target::Target;
pub use thresholds::{MAX_TRANSPOSED_ROW, MAX_UNROLLED_REDUCTION, MIN_BAND_BYTES, MIN_WORD};
pub use verify::{Broken, Fault, verify};

use broadloom_ir::SymbolId;
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::shape::Shape;

/// The memory layout of an array of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row-major without gaps.
    Dense,
    /// Any strides, passed at run time.
    Strided {
        /// An axis of stride 1, if there is one.
        unit: Option<usize>,
    },
}

/// The width of the running index of an arg-reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexWidth {
    /// 32 bits where values also have 32 bits: twice as fast, for axes of at most `i32::MAX` elements.
    Narrow,
    /// 64 bits.
    Wide,
}

/// The properties that a schedule is specialised for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LowerOptions {
    /// Layout of each input.
    pub inputs: Vec<Layout>,
    /// Layout of each output.
    pub outputs: Vec<Layout>,
    /// Whether each output is so large that nobody finds it in a cache afterwards. Nothing that a call reads shares its memory.
    pub streamed: Vec<bool>,
    /// Width of running indices.
    pub index_width: IndexWidth,
    /// Whether loops compute several neighbours at once. The results are the same either way.
    pub vectorize: bool,
    /// Whether rows of symbolic length that are read twice are kept in scratch memory, as far as they fit.
    pub keep_rows: bool,
    /// Whether an array is copied once if loops would gather its elements repeatedly.
    pub pack: bool,
    /// Whether rows of symbolic length are assumed to be long enough for function calls, so that several rows are
    /// not computed at a time.
    pub long_rows: bool,
    /// Whether the CPU level contracts sums of products to fma.
    pub fused: bool,
    /// The machine: the lengths of strips, lanes and blocks depend on it; results do not.
    pub target: Target,
    /// The size of axes that are the last part of longer ones: additions along them go by blocks, as along the
    /// whole axis, however few elements this part has.
    pub tail: Option<Dim>,
    /// Symbols with fixed values, in units of the symbols.
    pub sizes: Vec<(SymbolId, i64)>,
    /// Shapes of results with too few elements for the threads to share: the threads share the reduced axis
    /// instead, with partial results.
    pub shared: Vec<Shape>,
    /// Shapes of products with few rows and many columns: where a kernel writes nothing else, the threads share its columns.
    pub by_columns: Vec<Shape>,
    /// The most values that lowering may make, in kernels and in attempts that it gives up.
    pub max_values: usize,
}

impl LowerOptions {
    /// Returns options for dense arrays, narrow indices and vector loops, on a nominal machine.
    pub fn dense(graph: &CheckedGraph, fused: bool) -> LowerOptions {
        LowerOptions {
            inputs: vec![Layout::Dense; graph.inputs().len()],
            outputs: vec![Layout::Dense; graph.outputs().len()],
            streamed: vec![false; graph.outputs().len()],
            index_width: IndexWidth::Narrow,
            vectorize: true,
            keep_rows: true,
            pack: true,
            long_rows: true,
            fused,
            target: Target::NOMINAL,
            tail: None,
            sizes: Vec::new(),
            shared: Vec::new(),
            by_columns: Vec::new(),
            max_values: usize::MAX,
        }
    }
}

/// The reason why a graph cannot be scheduled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// An offset or a stride does not fit the arithmetic of sizes.
    #[error("an offset or stride of the expression does not fit in 64 bits")]
    TooLarge,
    /// There are more loop axes than a kernel can have.
    #[error("a kernel would need more than 64 loop axes")]
    TooManyAxes,
    /// Sizes determine which operand of a join along an axis of one element has that element.
    #[error(
        "a concat gives an axis of one element, and only the sizes at run time decide which operand has it; write `where(condition, a, b)` instead, or give the sizes as numbers"
    )]
    UndecidedJoin,
    /// Lowering makes more values than [`LowerOptions::max_values`] allows.
    #[error(
        "the loops of the expression have more than {most} values, the limit of these options; split the expression, or raise `max_values`"
    )]
    TooManyValues {
        /// The limit.
        most: usize,
    },
    /// The graph has a loop: the caller cuts such graphs into parts without loops, by
    /// [`split`](broadloom_ir::stages::split).
    #[error("the expression has a loop, which is not part of a schedule")]
    Loop,
    /// The data decide a size: the caller cuts such graphs into parts in which all sizes are known, by
    /// [`split`](broadloom_ir::phases::split).
    #[error("the data decide a size of the expression, which is not part of a schedule")]
    DecidedSize,
    /// A size cannot be computed.
    #[error("a size of the expression cannot be computed: {0}")]
    Size(#[from] DimError),
    /// The schedule breaks a promise.
    #[error(
        "the loops of the expression are wrong; this is a bug in Broadloom, please report it with the program: {0}"
    )]
    Bug(#[from] Broken),
}
