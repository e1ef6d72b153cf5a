//! The loop IR: what a schedule and its kernels are made of.

use crate::plan::{Planned, Reason};
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::graph::{Demand, SymbolInfo};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{BLOCK, LANES, ReduceOp};
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, InputId, SymbolId, define_ids};
use petgraph::dot::Dot;
use petgraph::graph::{DiGraph, NodeIndex};
use smallvec::SmallVec;
use std::collections::BTreeSet;

mod band;
mod best;
mod block;
mod narrow;
mod reductions;
mod repeat;
mod same;
mod sort;
mod stmt;
mod visit;

pub use crate::thresholds::{
    INTERLEAVED_REGISTERS, MAX_DENSE_ROW, MAX_HELD_REGISTERS, MAX_INTERLEAVED_BLOCKS,
    MAX_INTERLEAVED_STATEMENTS, MAX_UNPACKED_BYTES, MIN_STEPPED_ROW, MIN_TILED_ELEMENT, ROWS_IN_REGISTERS,
    VECTOR_BYTES,
};
pub use band::*;
pub use best::*;
pub use block::*;
pub use narrow::*;
pub use reductions::*;
pub use repeat::*;
pub use sort::*;
pub use stmt::*;
pub use visit::{Loop, RowUse, Turn, Use, statements};

define_ids! {
    /// A value of a kernel: defined once, by its position among the statements.
    ValueId "v";
    /// An array that kernels read or write.
    BufferId "b";
    /// A way in which a kernel addresses a buffer.
    AccessId "a";
    /// A loop axis of a kernel.
    AxisId "i";
    /// A size, stride or offset that a kernel receives at run time.
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
    /// The assumptions of the schedule about sizes. If a call's sizes break one, lower without it.
    pub assumptions: Vec<Assumption>,
    /// The conditions of the graph on sizes, which hold in every call.
    pub conditions: Vec<Demand>,
    /// The axes of reductions that are split into groups; see [`HostSymbol::GroupCount`].
    pub groups: Vec<Group>,
    /// The kernels that run together, for a few rows at a time.
    pub bands: Vec<Band>,
    /// What is stored, what is computed where it is read, and why, in the order of the graph.
    pub plan: Vec<Planned>,
    /// Which kernels wait for which.
    pub waits: Vec<Wait>,
}

/// A kernel that is launched after another one because of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The kernel that waits.
    pub kernel: KernelId,
    /// The kernel that it waits for.
    pub before: KernelId,
    /// What that one writes, or reads before it is overwritten.
    pub array: BufferId,
}

impl Schedule {
    /// Returns the graph of kernels in the DOT language.
    pub fn dot(&self) -> String {
        let mut drawn: DiGraph<String, &str> = DiGraph::new();
        let kernels = (0..self.kernels.len()).map(|kernel| KernelId::new(kernel).to_string());
        let nodes: Vec<NodeIndex> = kernels.map(|kernel| drawn.add_node(kernel)).collect();
        for Wait { kernel, before, array } in &self.waits {
            let name = &*self.buffers[array.index()].name;
            drawn.add_edge(nodes[before.index()], nodes[kernel.index()], name);
        }
        Dot::new(&drawn).to_string()
    }

    /// Returns the versions of an array in one memory: what it starts as, and so on, earliest first, and itself.
    pub fn versions(&self, buffer: BufferId) -> Vec<BufferId> {
        let before = |version: &BufferId| self.buffers[version.index()].starts_as;
        let mut versions: Vec<BufferId> = std::iter::successors(Some(buffer), before).collect();
        versions.reverse();
        versions
    }

    /// Returns for each buffer the last version that shares its memory: itself, unless an array starts as this temporary.
    pub fn last_versions(&self) -> Vec<BufferId> {
        let mut next: Vec<Option<BufferId>> = vec![None; self.buffers.len()];
        for (index, buffer) in self.buffers.iter().enumerate() {
            if let Some(before) = buffer.starts_as
                && self.buffers[before.index()].role == Role::Temporary
            {
                next[before.index()] = Some(BufferId::new(index));
            }
        }
        let mut last: Vec<BufferId> = (0..next.len()).map(BufferId::new).collect();
        for (end, _) in next.iter().enumerate().filter(|(_, next)| next.is_none()) {
            let end = BufferId::new(end);
            for version in self.versions(end) {
                if self.buffers[version.index()].role == Role::Temporary {
                    last[version.index()] = end;
                }
            }
        }
        last
    }

    /// Returns the arrays that kernels read, and those that share their memory with other versions.
    pub fn read(&self) -> BTreeSet<BufferId> {
        let mut read = BTreeSet::new();
        for kernel in &self.kernels {
            for (access, how) in kernel.statements().flat_map(|stmt| stmt.accesses(&kernel.values)) {
                read.extend(kernel.accesses[access.index()].buffer.filter(|_| how.reads()));
            }
        }
        for (index, buffer) in self.buffers.iter().enumerate() {
            if let Some(before) = buffer.starts_as {
                read.extend([before, BufferId::new(index)]);
            }
        }
        read
    }

    /// Returns whether two kernels run together, for a few rows at a time.
    pub fn take_turns(&self, one: KernelId, other: KernelId) -> bool {
        self.bands.iter().any(|band| band.with(one).any(|with| with == other))
    }
}

/// An assumption that a size lies in a range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assumption {
    /// The size; not a constant.
    pub size: Dim,
    /// The least value.
    pub least: i64,
    /// The greatest value.
    pub most: i64,
    /// The specialisation that needs it.
    pub of: Specialisation,
}

impl Assumption {
    /// Returns whether it holds for a size.
    pub fn holds(&self, size: i64) -> bool {
        // An empty axis takes no time, whatever the code is.
        (self.least..=self.most).contains(&size) || self.of == Specialisation::LongRows && size == 0
    }
}

/// A form of code that is right, or worthwhile, only for some sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Specialisation {
    /// Indices along the axis are counted in 32 bits; see [`IndexWidth`](crate::IndexWidth).
    NarrowIndices,
    /// A row along the axis is kept in scratch memory; see [`keep_rows`](crate::LowerOptions::keep_rows).
    KeptRows,
    /// An array is copied once, so that loops that repeat find its elements contiguous; see
    /// [`pack`](crate::LowerOptions::pack).
    Packing,
    /// Functions are called row by row; see [`long_rows`](crate::LowerOptions::long_rows).
    LongRows,
}

/// A quantity of the host at run time that occurs in the dims of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostSymbol {
    /// Stride in elements of an axis of a buffer whose layout is [`Layout::Strided`](crate::Layout::Strided).
    Stride {
        /// An input or output.
        buffer: BufferId,
        /// Axis of the buffer.
        axis: usize,
    },
    /// The number of groups into which a reduction is cut, at least 1; index into [`Schedule::groups`].
    GroupCount(usize),
    /// The number of elements of each group but the last: a multiple of [`Group::unit`] times a power of two.
    GroupLength(usize),
    /// The number of rows for which the arrays of a band have room; index into [`Schedule::bands`].
    Rows(usize),
    /// The number of steps of a loop that a kernel takes; see [`steps`](crate::steps).
    Steps,
    /// The number of steps before those.
    StepsBefore,
}

/// A reduction axis that may be cut into groups with one partial result each, so that threads can share it. The cut
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
    /// The name of the input or output; for a temporary, its number.
    pub name: String,
    /// The owner.
    pub role: Role,
    /// Type of the elements.
    pub dtype: DType,
    /// Sizes. A temporary is dense in row-major order.
    pub shape: Shape,
    /// The expression whose value or partial results a temporary holds. `None` for arrays of the caller.
    pub holds: Option<ExprId>,
    /// The reason why it is stored, if a kernel of the schedule reads what another kernel wrote to it.
    pub reason: Option<Reason>,
    /// The input or temporary whose elements it has before kernels write to it. They write only those that differ; they write
    /// every element of other arrays. It shares the memory of a temporary, and of an input where [`in_place`](crate::in_place)
    /// allows it. At most one array starts as each temporary.
    pub starts_as: Option<BufferId>,
}

/// The owner of a buffer's array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The caller's array, which is read.
    Input(InputId),
    /// The caller's array, which is written; the index among the graph's outputs.
    Output(usize),
    /// Stored between kernels.
    Temporary,
}

impl Kernel {
    /// Returns a number of steps as a size.
    pub fn size(&self, extent: Extent) -> Dim {
        match extent {
            Extent::Constant(extent) => Dim::constant(extent),
            Extent::Param(param) => self.params[param.index()].clone(),
        }
    }

    /// Returns a stride as a number of elements.
    pub fn elements(&self, stride: Stride) -> Dim {
        match stride {
            Stride::Constant(stride) => Dim::constant(stride),
            Stride::Param(param) => self.params[param.index()].clone(),
        }
    }

    /// Returns the axes whose steps threads share, outermost first.
    pub fn shared(&self) -> impl Iterator<Item = AxisId> + '_ {
        self.parallel.into_iter().chain(self.counted.iter().copied())
    }

    /// Returns whether threads share the steps of an axis.
    pub fn shares(&self, axis: AxisId) -> bool {
        self.shared().any(|shared| shared == axis)
    }

    /// Returns the number of steps that threads share: the size of the range that the caller passes.
    ///
    /// # Errors
    /// Returns an error if it cannot be represented.
    pub fn steps(&self) -> Result<Dim, DimError> {
        let sizes: SmallVec<[Dim; 2]> =
            self.shared().map(|axis| self.size(self.axes[axis.index()].extent)).collect();
        Dim::product(&sizes)
    }

    /// Returns the bytes of scratch memory that a thread needs, aligned to 64.
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
    /// Numbers passed at run time as 64-bit integers, in this order, before the base pointers.
    pub params: Vec<Dim>,
    /// The accesses. For each access with a buffer, a base pointer is passed, in this order, after the params.
    pub accesses: Vec<Access>,
    /// Loop axes.
    pub axes: Vec<Axis>,
    /// Scratch rows.
    pub rows: Vec<Row>,
    /// Definitions, by [`ValueId`].
    pub values: Vec<Value>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The axis of the outermost loop; the caller passes the range to run. `None` for a kernel without loops over
    /// free axes, which runs once.
    pub parallel: Option<AxisId>,
    /// Axes inside it whose steps are counted with it, each in the loop of the one before: the range is of the steps of all
    /// these axes, of which the last one counts fastest. Empty unless kernels run together that way.
    pub counted: SmallVec<[AxisId; 1]>,
    /// The axis of scans, if there are any: its steps run in order, and threads do not share them.
    pub scanned: Option<AxisId>,
    /// Bytes moved and operations done, which determine the number of threads.
    pub cost: Cost,
    /// The expressions of the graph that are computed here, in whole or in part, in order. Expressions read from
    /// arrays are not included.
    pub exprs: Vec<ExprId>,
}

/// An estimate of a kernel's work.
#[derive(Debug, Clone, Default)]
pub struct Cost {
    /// Per step of the parallel axis; per run if there is none.
    pub step: Work,
    /// Outside the loop over the parallel axis: done once for each thread's share.
    pub outside: Work,
}

/// Memory traffic and arithmetic.
#[derive(Debug, Clone)]
pub struct Work {
    /// Bytes loaded and stored.
    pub bytes: Dim,
    /// Arithmetic operations in units of additions, from the table of costs.
    pub operations: Dim,
}

impl Default for Work {
    fn default() -> Self {
        Work { bytes: Dim::ZERO, operations: Dim::ZERO }
    }
}

/// A loop axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The name in dumps, derived from the symbol of its size if it has one.
    pub name: String,
    /// Number of steps.
    pub extent: Extent,
    /// Whether results are accumulated over it.
    pub reduction: bool,
    /// For an axis cut into groups: the axis that counts the groups, and the length of a group. Groups may be cut in turn: the
    /// whole ones come first.
    pub groups: SmallVec<[(AxisId, ParamId); 2]>,
    /// For an axis each of whose steps covers several steps of another axis: that axis, and the number of steps.
    /// Its loop is inside a strip of that axis and runs through the steps that the strip covers.
    pub stretched: Option<(AxisId, Extent)>,
}

impl Axis {
    /// Returns whether the axis is neither cut into groups nor steps in the steps of another one.
    pub fn is_whole(&self) -> bool {
        self.groups.is_empty() && self.stretched.is_none()
    }
}

/// The number of steps of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known when the kernel is compiled.
    Constant(i64),
    /// Passed to the kernel.
    Param(ParamId),
}

/// The number of elements to step per unit of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stride {
    /// Known when the kernel is compiled; never 0 in an access.
    Constant(i64),
    /// Passed to the kernel.
    Param(ParamId),
}

/// An access to a buffer: element `offset + sum(axis * stride)`. Axes that are not listed do not move it.
#[derive(Debug, Clone)]
pub struct Access {
    /// The array; `None` for a pure position, the row-major index of an element in an error report.
    pub buffer: Option<BufferId>,
    /// Type of the elements.
    pub dtype: DType,
    /// The first element; the host adds it to the base pointer (for a position it is a parameter of the kernel).
    pub offset: Dim,
    /// The offset as a parameter, for positions only.
    pub offset_param: Option<ParamId>,
    /// Strides by axis.
    pub strides: SmallVec<[(AxisId, Stride); 4]>,
    /// Whether vector loops write it by streaming stores, past the caches, once their vectors are aligned.
    pub streams: bool,
}

impl Access {
    /// Returns the stride along an axis; `None` if the axis does not move the access.
    pub fn stride(&self, axis: AxisId) -> Option<Stride> {
        self.strides.iter().find(|(of, _)| *of == axis).map(|(_, stride)| *stride)
    }

    /// Returns whether neighbours along the axis are neighbours in memory.
    pub fn is_unit(&self, axis: AxisId) -> bool {
        self.stride(axis) == Some(Stride::Constant(1))
    }
}

/// A scratch row: a short array in the thread's scratch memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Type of the elements; bool rows hold bytes.
    pub dtype: DType,
    /// The number of elements: those of a strip; the most that the axis may have; whole periods, one more than a
    /// strip needs; or those of a strip and [`STRETCH`] more.
    pub length: usize,
    /// The elements it holds.
    pub span: Span,
    /// The number of rows stored one after the other: more than one for the lanes and ranks of a [`Stream`].
    pub count: usize,
    /// The byte offset in the thread's scratch memory, a multiple of 64.
    pub offset: usize,
}

/// The elements that a scratch row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// The elements of the current strip of its axis.
    Strip,
    /// The elements of its whole axis.
    Axis,
    /// One element, which all steps of all axes share.
    One,
    /// The elements of the short axis `period`, repeated, for strips of the axis `along`, which counts through
    /// them: position `i` of `along` uses the element at position `i % period`.
    Periodic {
        /// The axis whose elements recur.
        period: AxisId,
        /// The axis along which they recur.
        along: AxisId,
    },
    /// The elements of the current strip of its axis, in one row for each step of the current strip of another
    /// axis.
    Block {
        /// The other axis.
        rows: AxisId,
        /// Whether that strip is a block of the fixed tree and the rows of one of its lanes are consecutive.
        by_lanes: bool,
    },
    /// The elements of the current block of its axis, a reduction axis, in one row for each step of the current
    /// part of another axis: a [`Contract`] fills them.
    Part {
        /// The other axis.
        rows: AxisId,
        /// Whether the elements of one lane of the fixed tree are consecutive.
        by_lanes: bool,
    },
    /// The elements of the current strip of the axis `along`, each of which belongs to a step of the axis `over`;
    /// the loop over that axis fills the row.
    Stretched {
        /// The axis that is [stretched](Axis::stretched).
        over: AxisId,
        /// The axis along which it is stretched.
        along: AxisId,
    },
}

/// The distance in rows between the first rows of successive lanes, in a block of the fixed tree stored by lanes:
/// one more than a lane has steps, so that the rows of one step do not all fall into one set of the cache.
pub const ROWS_OF_LANE: usize = STEPS_OF_LANE + 1;

/// The number of steps of a lane in a whole block of the fixed tree.
pub const STEPS_OF_LANE: usize = BLOCK / LANES;

/// A row of stretched elements is filled in groups of this many, and is longer by that many.
pub const STRETCH: usize = 16;

/// The fewest lanes of a vector loop; other lane counts are multiples of it.
pub const LEAST_LANES: usize = 4;

/// A value of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Type of the value.
    pub dtype: DType,
    /// Its definition.
    pub def: Def,
    /// The expression that it computes, for dumps and error reports.
    pub origin: ExprId,
}

/// The definition of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Def {
    /// A constant.
    Constant(Scalar),
    /// A parameter (i64).
    Param(ParamId),
    /// The position on an axis (i64).
    Index(AxisId),
    /// The element at the current position plus a constant number of elements.
    Load {
        /// The access.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
    },
    /// The element of a scratch row at the current position within the strip of the axis.
    Row(RowId, AxisId),
    /// An op of the op table.
    Op {
        /// The op.
        op: Op,
        /// The operands, all of one dtype.
        args: SmallVec<[ValueId; 3]>,
        /// For ops that can fail on data: the row-major position for the report.
        position: Option<AccessId>,
    },
    /// `args[1]` where `args[0]` holds, and `args[2]` elsewhere.
    Select([ValueId; 3]),
    /// Conversion to the value's dtype.
    Cast(ValueId),
    /// An element of a table at an index given by data. Negative indices count from the end; indices out of range
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
        /// The row-major position of the index, for the report; `None` if no index is out of range or negative.
        position: Option<AccessId>,
    },
    /// The position of a value in a sorted table (i64).
    Search {
        /// The table at its first element.
        access: AccessId,
        /// The value, of the dtype of the table.
        value: ValueId,
        /// Stride of the table.
        stride: Stride,
        /// Size of the table.
        size: Extent,
        /// Whether the position is after equal elements instead of before them.
        right: bool,
    },
    /// An index in `0..size`. Other indices are reported and become 0, unless there are none.
    Checked {
        /// The index (i64).
        index: ValueId,
        /// The number of elements.
        size: Extent,
        /// Whether negative indices count from the end.
        wraps: bool,
        /// The row-major position of the index, for the report; `None` if no index is out of range or negative.
        position: Option<AccessId>,
    },
    /// Defined by a [`Reduce`] or a [`Repeat`], or read back from the result row of a [`Stream`], a [`Best`] or a [`BestRows`].
    Reduced,
}
