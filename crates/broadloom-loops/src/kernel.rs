//! The loop IR: what a schedule and its kernels are made of.

use crate::plan::{Planned, Reason};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::SymbolInfo;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{BLOCK, ReduceOp};
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, InputId, SymbolId, define_ids};
use smallvec::SmallVec;

mod dense;
mod visit;

pub use crate::thresholds::{MAX_DENSE_ROW, MIN_STEPPED_ROW};
pub use visit::{Loop, RowUse, Turn, Use, statements};

define_ids! {
    /// A value of a kernel: defined once, by its place among the statements.
    ValueId "v";
    /// An array that kernels read or write.
    BufferId "b";
    /// A way in which a kernel addresses a buffer.
    AccessId "a";
    /// A loop axis of a kernel.
    AxisId "i";
    /// A run-time size, stride or offset that a kernel receives.
    ParamId "p";
    /// A scratch row of a kernel.
    RowId "r";
    /// A kernel of a schedule.
    KernelId "k";
}

/// Kernels in launch order and the arrays between them.
///
/// All sizes, strides and offsets are [`Dim`]s over the graph's symbols and the schedule's own
/// [host symbols](Schedule::host_symbols), evaluated once per call.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// The graph's symbols, in order; host symbols follow them.
    pub symbols: Vec<SymbolInfo>,
    /// What the symbols after the graph's stand for, in order.
    pub host_symbols: Vec<HostSymbol>,
    /// The arrays: inputs in order of [`InputId`], outputs in order, then temporaries.
    pub buffers: Vec<Buffer>,
    /// The kernels in launch order.
    pub kernels: Vec<Kernel>,
    /// What the schedule takes for granted of sizes. Where a call's sizes are others, lower without it.
    pub assumptions: Vec<Assumption>,
    /// The axes of the reductions that are split into groups; see [`HostSymbol::GroupCount`].
    pub groups: Vec<Group>,
    /// What is stored, what is computed where it is read, and why, in the order of the graph.
    pub plan: Vec<Planned>,
    /// The kernel graph in the DOT language.
    pub dot: String,
}

/// That a size lies in a range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assumption {
    /// A size that is no constant.
    pub size: Dim,
    /// The least that it may be.
    pub least: i64,
    /// The most that it may be.
    pub most: i64,
    /// For what.
    pub of: Specialisation,
}

impl Assumption {
    /// Whether it holds for a size.
    pub fn holds(&self, size: i64) -> bool {
        // An axis without elements takes no time, whatever the code.
        (self.least..=self.most).contains(&size) || self.of == Specialisation::LongRows && size == 0
    }
}

/// A form of code that is right, or worth it, for some sizes only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Specialisation {
    /// Indices along the axis are counted in 32 bits; see [`IndexWidth`](crate::IndexWidth).
    NarrowIndices,
    /// A row along the axis is kept in scratch memory; see [`keep_rows`](crate::LowerOptions::keep_rows).
    KeptRows,
    /// An array is copied once, so that loops that repeat find its elements side by side; see
    /// [`pack`](crate::LowerOptions::pack).
    Packing,
    /// Functions are called row by row; see [`long_rows`](crate::LowerOptions::long_rows).
    LongRows,
}

/// A run-time quantity of the host that appears in the dims of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostSymbol {
    /// Stride in elements of an axis of a buffer whose layout is [`Layout::Strided`](crate::Layout::Strided).
    Stride {
        /// An input or output.
        buffer: BufferId,
        /// Axis of the buffer.
        axis: usize,
    },
    /// Number of groups into which a reduction is cut, at least 1; index into [`Schedule::groups`].
    GroupCount(usize),
    /// Number of elements of each group but the last: a multiple of [`Group::unit`] times a power of two.
    GroupLength(usize),
}

/// A reduction axis that may be cut into groups, one partial result each, so that threads can share it. The cut
/// never changes the result: groups are aligned to powers of two of blocks of the fixed tree.
#[derive(Debug, Clone)]
pub struct Group {
    /// Length of the axis.
    pub extent: Dim,
    /// The symbol that is bound to the number of groups.
    pub count: SymbolId,
    /// The symbol that is bound to the length of a group: `unit * 2^k`, or anything at least the extent.
    pub length: SymbolId,
    /// A block of the fixed tree.
    pub unit: usize,
}

/// An array of a schedule.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// Name of the input or output; of a temporary, its number.
    pub name: String,
    /// Whose it is.
    pub role: Role,
    /// Type of the elements.
    pub dtype: DType,
    /// Sizes. A temporary is dense in row-major order.
    pub shape: Shape,
    /// The expression whose value a temporary holds, or partial results of it. `None` for arrays of the caller.
    pub holds: Option<ExprId>,
    /// Why it is stored, if a kernel of the schedule reads what another one has written to it.
    pub reason: Option<Reason>,
}

/// Whose array a buffer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The caller's, read.
    Input(InputId),
    /// The caller's, written; the index among the graph's outputs.
    Output(usize),
    /// Stored between kernels.
    Temporary,
}

impl Kernel {
    /// Bytes of scratch memory that a thread needs, aligned to 64.
    pub fn scratch_bytes(&self) -> usize {
        self.rows
            .iter()
            .map(|row| row.offset + (row.dtype.size() * row.length * row.count).next_multiple_of(64))
            .max()
            .unwrap_or(0)
    }
}

/// One fused loop nest.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    /// Run-time numbers, passed as 64-bit integers in this order before the base pointers.
    pub params: Vec<Dim>,
    /// Ways of addressing buffers. For each with a buffer a base pointer is passed, in this order, after the params.
    pub accesses: Vec<Access>,
    /// Loop axes.
    pub axes: Vec<Axis>,
    /// Scratch rows.
    pub rows: Vec<Row>,
    /// Definitions, by [`ValueId`].
    pub values: Vec<Value>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The outermost loop's axis, of which the caller passes the range to run; `None` for a kernel without loops
    /// over free axes, which runs once.
    pub parallel: Option<AxisId>,
    /// Bytes moved and operations done, for the choice of threads.
    pub cost: Cost,
    /// The expressions of the graph that are computed here, as a whole or in part, in order: not those that are read
    /// from arrays.
    pub exprs: Vec<ExprId>,
}

/// An estimate of a kernel's work.
#[derive(Debug, Clone, Default)]
pub struct Cost {
    /// Per step of the parallel axis; per run, if there is none.
    pub step: Work,
    /// Outside of the loop over the parallel axis: done once by each thread's share.
    pub outside: Work,
}

/// Memory traffic and arithmetic.
#[derive(Debug, Clone)]
pub struct Work {
    /// Bytes loaded and stored.
    pub bytes: Dim,
    /// Arithmetic operations, in additions: what the table of costs says.
    pub operations: Dim,
}

impl Default for Work {
    fn default() -> Self {
        Work { bytes: Dim::ZERO, operations: Dim::ZERO }
    }
}

/// A loop axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// Name in dumps, from the symbol of its size where it has one.
    pub name: String,
    /// Number of steps.
    pub extent: Extent,
    /// Whether results are accumulated over it.
    pub reduction: bool,
    /// For an axis cut into groups: the axis that counts the groups and the length of one.
    pub group: Option<(AxisId, ParamId)>,
    /// For an axis each step of which is so many steps of another: that axis, and how many. Its loop stands in a strip
    /// of that axis and goes through the steps that the strip meets.
    pub stretched: Option<(AxisId, Extent)>,
}

/// Number of steps of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known when the kernel is compiled.
    Constant(i64),
    /// Passed to the kernel.
    Param(ParamId),
}

/// Elements to step per unit of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stride {
    /// Known when the kernel is compiled; for an access never 0.
    Constant(i64),
    /// Passed to the kernel.
    Param(ParamId),
}

/// A way of addressing a buffer: element `offset + sum(axis * stride)`. Axes that are not listed do not move it.
#[derive(Debug, Clone)]
pub struct Access {
    /// The array; `None` for a pure position, the row-major index of an element that an error report names.
    pub buffer: Option<BufferId>,
    /// Type of the elements.
    pub dtype: DType,
    /// First element; added to the base pointer by the host (for a position: a parameter of the kernel).
    pub offset: Dim,
    /// The same offset as a parameter, for positions only.
    pub offset_param: Option<ParamId>,
    /// Strides by axis.
    pub strides: SmallVec<[(AxisId, Stride); 4]>,
}

impl Access {
    /// The stride along an axis, `None` if the axis does not move the access.
    pub fn stride(&self, axis: AxisId) -> Option<Stride> {
        self.strides.iter().find(|(of, _)| *of == axis).map(|(_, stride)| *stride)
    }

    /// Whether neighbours along the axis are neighbours in memory.
    pub fn is_unit(&self, axis: AxisId) -> bool {
        self.stride(axis) == Some(Stride::Constant(1))
    }
}

/// A scratch row: a short array in the thread's scratch memory.
#[derive(Debug, Clone)]
pub struct Row {
    /// Type of the elements; bool rows hold bytes.
    pub dtype: DType,
    /// Number of elements: those of a strip; those that the axis may have at most; or whole periods, one
    /// more than a strip needs; or those of a strip and [`STRETCH`] more.
    pub length: usize,
    /// Which elements it holds.
    pub span: Span,
    /// Number of rows one after the other: more than one for the lanes and ranks of a [`Stream`].
    pub count: usize,
    /// Byte offset in the thread's scratch memory, a multiple of 64.
    pub offset: usize,
}

/// Which elements a scratch row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Those of the current strip of its axis.
    Strip,
    /// Those of its whole axis.
    Axis,
    /// Those of the short axis `period` over and over, for strips of the axis `along`, which counts through them: an
    /// element at position `i` of `along` belongs to position `i % period`.
    Periodic {
        /// The axis whose elements recur.
        period: AxisId,
        /// The axis along which they do.
        along: AxisId,
    },
    /// Those of the current strip of its axis, in a row for each step of the current strip of another.
    Block {
        /// The other axis.
        rows: AxisId,
    },
    /// Those of the current strip of the axis `along`, of which each is that of a step of the axis `over`: filled by
    /// the loop over that.
    Stretched {
        /// The axis that is [stretched](Axis::stretched).
        over: AxisId,
        /// The axis along which it is.
        along: AxisId,
    },
}

/// A row of stretched elements is filled by so many at once, and longer by that.
pub const STRETCH: usize = 16;

/// The fewest lanes of a vector loop; more are a multiple of them.
pub const LEAST_LANES: usize = 4;

/// A value of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Type of the value.
    pub dtype: DType,
    /// How it comes about.
    pub def: Def,
    /// The expression that it computes, for dumps and error reports.
    pub origin: ExprId,
}

/// How a value comes about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Def {
    /// A constant.
    Constant(Scalar),
    /// A parameter (i64).
    Param(ParamId),
    /// The position on an axis (i64).
    Index(AxisId),
    /// The element at the current position, moved by a constant number of elements.
    Load {
        /// Where.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
    },
    /// The element of a scratch row at the current position within the strip of the axis.
    Row(RowId, AxisId),
    /// An op of the op table.
    Op {
        /// Which.
        op: Op,
        /// Operands of one dtype.
        args: SmallVec<[ValueId; 3]>,
        /// For ops that can fail on data: the row-major position that the report names.
        position: Option<AccessId>,
    },
    /// `args[1]` where `args[0]` holds, else `args[2]`.
    Select([ValueId; 3]),
    /// Conversion to the value's dtype.
    Cast(ValueId),
    /// An element of a table at an index that the data give: negative ones count from the end, ones out of range
    /// are reported and clamped.
    Take {
        /// The table at index 0 of the axis.
        access: AccessId,
        /// The index (i64).
        index: ValueId,
        /// Stride of the axis; 0 if the axis is a literal 1 that a view inserted.
        stride: Stride,
        /// Size of the axis.
        size: Extent,
        /// The row-major position of the index, that the report names.
        position: AccessId,
    },
    /// The segment of a row of a table: an index in `0..size`. Others are reported, and become 0.
    Segment {
        /// The index (i64).
        index: ValueId,
        /// Number of segments.
        size: Extent,
        /// The row-major position of the index, that the report names.
        position: AccessId,
    },
    /// Defined by a [`Reduce`] or read back from the result row of a [`Stream`].
    Reduced,
}

/// A statement.
#[derive(Debug, Clone)]
pub enum Stmt {
    /// Computes the value here.
    Let(ValueId),
    /// Writes a value to a buffer at the current position, moved by a constant number of elements.
    Store {
        /// Where.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// What.
        value: ValueId,
    },
    /// Combines a value with the element of a buffer at an index that the data give, neighbours of a vector loop in
    /// order. Does nothing if there are no elements.
    Scatter {
        /// The buffer at index 0 of the axis, at the current position.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// The index, below `size`.
        index: ValueId,
        /// Stride of the axis.
        stride: Stride,
        /// Size of the axis.
        size: Extent,
        /// Sum, Prod, Min or Max.
        op: ReduceOp,
        /// What.
        value: ValueId,
    },
    /// Writes a value to a scratch row at the current position within the strip of the axis.
    Put {
        /// Where.
        row: RowId,
        /// Which of several rows.
        part: usize,
        /// Whose strip.
        axis: AxisId,
        /// What.
        value: ValueId,
    },
    /// Runs the body for every step of the axis (of its current strip, inside a [`Stmt::Strip`] of that axis).
    For {
        /// The axis.
        axis: AxisId,
        /// Steps done at once: 1, or a multiple of [`LEAST_LANES`]. What remains is done one by one.
        lanes: usize,
        /// What.
        body: Vec<Stmt>,
    },
    /// Cuts the axis into strips of at most `length` steps and runs the body for each.
    Strip {
        /// The axis.
        axis: AxisId,
        /// Steps of a strip.
        length: usize,
        /// What.
        body: Vec<Stmt>,
    },
    /// Applies an elementary function to whole rows, over the current strip of the axis.
    Call {
        /// An op that has tile functions.
        op: Op,
        /// Result; may be one of the arguments.
        target: Operand,
        /// Arguments.
        args: SmallVec<[Operand; 2]>,
        /// Whose strip.
        axis: AxisId,
    },
    /// Accumulates over an axis, into values.
    Reduce(Reduce),
    /// Accumulates over an axis, into rows.
    Stream(Stream),
    /// Accumulates the extreme over an axis of sums over pairs, into rows, by a tile function.
    Pairs(Pairs),
    /// Copies what the strips of two axes meet of an array into rows, one for each step of `rows`.
    Transpose {
        /// Of which array: neighbours along `rows` lie side by side.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// Where.
        row: RowId,
        /// The axis whose strip is as long as there are rows.
        rows: AxisId,
        /// The axis over whose strip the rows are.
        axis: AxisId,
    },
    /// Copies what the strip of an axis that stands for two meets of an array into a row: along the two, its elements
    /// do not lie as along one.
    Gather {
        /// Of which array.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// Where.
        row: RowId,
        /// The axis that stands for two.
        axis: AxisId,
        /// Steps of the inner one of the two.
        steps: Extent,
        /// From one step to the next of the outer one and of the inner one, in elements.
        strides: [Stride; 2],
    },
}

/// What a [`Stmt::Call`] reads or writes over the strip of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A scratch row.
    Row(RowId),
    /// The elements of an array that the strip meets, which lie side by side.
    Array {
        /// How the array is addressed.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
    },
}

impl Operand {
    /// The row, if it is one.
    pub fn row(self) -> Option<RowId> {
        match self {
            Operand::Row(row) => Some(row),
            Operand::Array { .. } => None,
        }
    }

    /// The array, if it is one.
    pub fn array(self) -> Option<(AccessId, i64)> {
        match self {
            Operand::Row(_) => None,
            Operand::Array { access, delta } => Some((access, delta)),
        }
    }
}

/// In which order a reduction combines. See [`broadloom_ir::reduce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Any order: every accumulator is order-free.
    Free,
    /// Index order into one accumulator: the axis has at most `SEQUENTIAL_LIMIT` elements, as a constant.
    Sequential,
    /// The fixed tree.
    Tree,
    /// The fixed tree of an axis of which this is a part: by blocks, whatever its length.
    Blocks,
    /// The partial results of aligned groups of blocks: the upper part of the fixed tree.
    Counter,
}

/// Accumulates over an axis.
///
/// With `lanes > 1` the body runs for that many neighbours of the axis at once; inside a vector loop over another
/// axis `lanes` is 1 and every accumulator has a lane per step of that loop, in order `Free` or `Sequential`.
#[derive(Debug, Clone)]
pub struct Reduce {
    /// The reduction axis.
    pub axis: AxisId,
    /// In which order elements combine.
    pub order: Order,
    /// Elements of the axis that the body computes at once.
    pub lanes: usize,
    /// Run once per block of [`BLOCK`] elements, before the body runs for them: fills
    /// scratch rows over the block. Empty if the body needs none.
    pub prologue: Vec<Stmt>,
    /// Run per element.
    pub body: Vec<Stmt>,
    /// What is accumulated.
    pub accumulators: Vec<Accumulator>,
}

/// One accumulated result.
#[derive(Debug, Clone, PartialEq)]
pub struct Accumulator {
    /// Sum, Prod, Min, Max, ArgMin or ArgMax.
    pub op: ReduceOp,
    /// Type of the accumulator (for arg-reductions: of the values compared).
    pub dtype: DType,
    /// What each element contributes.
    pub operand: Contribution,
    /// The value that the reduction defines.
    pub result: ValueId,
}

/// What an element contributes to an accumulator.
#[derive(Debug, Clone, PartialEq)]
pub enum Contribution {
    /// A value.
    Value(ValueId),
    /// A product, accumulated by one fma.
    Product(ValueId, ValueId),
    /// A value to compare and the index that is the result; no index means the position on the axis.
    Indexed {
        /// Compared.
        value: ValueId,
        /// The result belonging to it (i64).
        index: Option<ValueId>,
        /// Whether the running index is kept in 32 bits.
        narrow: bool,
    },
}

/// Accumulates over an axis while walking along another: rows of accumulators over a strip, so that memory is
/// streamed and never strided through.
///
/// ```text
/// for i in axis { per_step; prologue; for j in strip { body; accumulators[j] } }
/// ```
#[derive(Debug, Clone)]
pub struct Stream {
    /// The reduction axis.
    pub axis: AxisId,
    /// The axis whose current strip the rows are over.
    pub strip: AxisId,
    /// In which order elements combine: `Free`, `Sequential`, `Tree` or `Blocks`.
    pub order: Order,
    /// Steps of the strip that the body computes at once.
    pub lanes: usize,
    /// Steps of the reduction axis that one walk along the strip takes, so that its accumulators are loaded and stored
    /// once for all of them: more than 1 only without a prologue. By the tree they are steps of one lane.
    pub steps: usize,
    /// Whether short rows of the table are walked several at once, where the strip has all of a row: see
    /// [`Kernel::has_dense_rows`]. By the tree they are steps of as many lanes.
    pub dense: bool,
    /// Run per step of the reduction axis: what does not depend on the strip.
    pub per_step: Vec<Stmt>,
    /// Run per step of the reduction axis: fills scratch rows over the strip.
    pub prologue: Vec<Stmt>,
    /// Run per step of the reduction axis and element of the strip.
    pub body: Vec<Stmt>,
    /// What is accumulated.
    pub accumulators: Vec<StreamAccumulator>,
}

/// One accumulated row.
#[derive(Debug, Clone)]
pub struct StreamAccumulator {
    /// What each element contributes.
    pub accumulator: Accumulator,
    /// The running value over the strip and, for an arg-reduction, the running index.
    pub state: SmallVec<[RowId; 2]>,
    /// Where the result is left over the strip: the running value itself, or an i64 row for an arg-reduction.
    pub target: RowId,
    /// For an accumulator whose order is the tree's.
    pub tree: Option<StreamTree>,
}

/// The rows of the fixed tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamTree {
    /// The lanes of a block, `LANES` rows.
    pub lanes: RowId,
    /// The block results by rank, `RANKS` rows.
    pub ranks: RowId,
}

/// What a pair of elements contributes to the sum of a [`Pairs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PairTerm {
    /// `(x - y)^2`, accumulated by fma where the level has it.
    SquaredDifference,
    /// `x * y`, accumulated by fma where the level has it.
    Product,
    /// `|x - y|`.
    AbsoluteDifference,
}

/// A reduce of a broadcast, such as the nearest code: for every element of a strip, over an axis, the extreme of a sum
/// over a short constant axis of terms of pairs.
///
/// ```text
/// for i in strip { extreme over j in axis of sum over t of term(left[t][i], right[j, t]) }
/// ```
///
/// The sums run in index order into one accumulator.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// The reduction axis.
    pub axis: AxisId,
    /// The axis whose current strip the rows are over.
    pub strip: AxisId,
    /// What is summed.
    pub term: PairTerm,
    /// Whether the extreme is that of the square roots of the sums.
    pub root: bool,
    /// `Min` or `Max`.
    pub extreme: ReduceOp,
    /// Number of terms of a sum.
    pub terms: usize,
    /// As many rows, the elements of the strip.
    pub left: RowId,
    /// The other element of each pair.
    pub right: AccessId,
    /// Added to its position, in elements.
    pub delta: i64,
    /// From one term to the next, in elements.
    pub step: i64,
    /// Where the extremes are left, if they are wanted.
    pub values: Option<RowId>,
    /// Where their positions on the axis are left (i64), if they are wanted.
    pub indices: Option<RowId>,
}

/// Number of ranks that the binary counter over blocks can need: an axis has fewer than 2^63 elements.
pub const RANKS: usize = 54;
