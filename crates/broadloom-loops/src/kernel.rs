//! The loop IR: what a schedule and its kernels are made of.

use crate::plan::{Planned, Reason};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::graph::SymbolInfo;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{BLOCK, LANES, ReduceOp};
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, InputId, SymbolId, define_ids};
use smallvec::SmallVec;

mod best;
mod narrow;
mod reductions;
mod sort;
mod stmt;
mod visit;

pub use crate::thresholds::{
    INTERLEAVED_REGISTERS, MAX_DENSE_ROW, MAX_INTERLEAVED_BLOCKS, MAX_INTERLEAVED_STATEMENTS, MIN_STEPPED_ROW,
};
pub use best::*;
pub use narrow::*;
pub use reductions::*;
pub use sort::*;
pub use stmt::*;
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
    /// The axis along which results run, if any do: its steps go in order, and threads do not share them.
    pub scanned: Option<AxisId>,
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
    /// One, which all steps of all axes meet.
    One,
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
        /// Whether that strip is a block of the fixed tree, and the rows of one of its lanes lie behind each other.
        by_lanes: bool,
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

/// Rows from the first one of a lane to that of the next, in a block of the fixed tree whose rows lie by lanes: one more
/// than a lane has steps, so that those of the same step do not all fall into one set of the cache.
pub const ROWS_OF_LANE: usize = BLOCK / LANES + 1;

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
    /// The place of a value in a sorted table (i64).
    Search {
        /// The table at its first element.
        access: AccessId,
        /// The value, of the dtype of the table.
        value: ValueId,
        /// Stride of the table.
        stride: Stride,
        /// Size of the table.
        size: Extent,
        /// Behind the elements that are equal, rather than before them.
        right: bool,
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
    /// Defined by a [`Reduce`] or read back from the result row of a [`Stream`], a [`Best`] or a [`BestRows`].
    Reduced,
}
