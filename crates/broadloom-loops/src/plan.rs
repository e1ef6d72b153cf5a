//! The materialisation plan as a value: what is stored, what is computed where it is read, and why.

use broadloom_ir::ExprId;
use std::fmt;

/// The treatment of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Computed by a kernel of its own and read from an array.
    Materialise(Reason),
    /// Computed where it is read.
    Inline,
    /// A short reduction, computed where it is read without a loop.
    Unroll,
}

/// The reason why a tensor is materialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It is read under several index maps, and would be recomputed under each.
    Maps {
        /// The number of maps.
        count: usize,
        /// The most expensive op that would be repeated.
        op: &'static str,
        /// Its cost per element.
        cost: u32,
    },
    /// It would be recomputed in each step of a loop that it does not depend on.
    Invariant {
        /// The most expensive op that would be repeated.
        op: &'static str,
        /// Its cost per element.
        cost: u32,
    },
    /// It is an output that another output of other sizes reads.
    Shared {
        /// The most expensive op that would be repeated.
        op: &'static str,
        /// Its cost per element.
        cost: u32,
    },
    /// A function of it would be called on short strips, in each step of a reduction.
    ShortStrip {
        /// The function.
        op: &'static str,
        /// The number of elements of a strip, if it is constant.
        length: Option<i64>,
    },
    /// Data index it.
    Table,
    /// It is read with a different shape.
    Reshaped,
    /// A copy with another order of axes: loops that repeat would gather its elements again and again.
    Packed,
    /// Partial results of a reduction that threads share.
    Partials,
    /// Data choose which of its rows are replaced.
    Scattered,
    /// The best elements along an axis, or their indices, which one walk finds together.
    Best,
    /// A function sorts its rows in memory.
    Sorted,
    /// A scan that is read in another order than its own.
    Scanned,
    /// It is computed from sorted or running rows, and its reader goes over all of them.
    Rows,
    /// Reductions are nested too deeply.
    Nested,
    /// It replaces elements of an array from which it is computed, in another order.
    Replaces,
    /// Indices of an array that is changed in place.
    Checked,
    /// Which of its elements a change replaces depends on sizes.
    Changed,
    /// It is reduced across rows that its reader reduces along.
    Across,
    /// Elements that lie between others, or that data choose, are replaced in it.
    Overwritten,
    /// The loops of its reader, in the order that suits memory, would recompute it repeatedly.
    Loops,
    /// It is reduced from a contraction, which takes strips of an axis that its reader reduces.
    Contracted,
    /// The kernel would be too large.
    Large,
}

/// A tensor of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The expression that it is, or is a part of.
    pub expr: ExprId,
    /// Its treatment.
    pub choice: Choice,
    /// The cost per element if it is computed where it is read, including everything that it is computed from; an
    /// addition costs 1.
    pub cost: u32,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Maps { count, op, cost } => {
                write!(f, "read through {count} index maps, {op} costs {cost}")
            }
            Reason::Invariant { op, cost } => write!(f, "loop-invariant, {op} costs {cost}"),
            Reason::Shared { op, cost } => {
                write!(f, "an output that another output reads, {op} costs {cost}")
            }
            Reason::ShortStrip { op, length: Some(length) } => {
                write!(f, "strips of {length} elements are too short for calls of {op}")
            }
            Reason::ShortStrip { op, length: None } => write!(f, "short strips cost too many calls of {op}"),
            Reason::Table => f.write_str("indexed by data"),
            Reason::Reshaped => f.write_str("read with a different shape"),
            Reason::Packed => f.write_str("packed once so that loads are contiguous"),
            Reason::Partials => f.write_str("partial results of the threads"),
            Reason::Scattered => f.write_str("data choose which rows are replaced"),
            Reason::Best => f.write_str("found together in one pass"),
            Reason::Sorted => f.write_str("sorted a whole row at a time"),
            Reason::Scanned => f.write_str("running results that are read in another order"),
            Reason::Rows => f.write_str("computed row by row before its reader goes over all rows"),
            Reason::Nested => f.write_str("reductions are nested too deeply"),
            Reason::Replaces => f.write_str("all of it is computed before it replaces elements of its input"),
            Reason::Checked => f.write_str("checked before any element is replaced"),
            Reason::Changed => f.write_str("sizes decide which of its elements are changed"),
            Reason::Across => f.write_str("reduced across the rows that its reader goes along"),
            Reason::Overwritten => f.write_str("some of its elements are replaced"),
            Reason::Loops => f.write_str("the loops that read it would recompute it"),
            Reason::Contracted => f.write_str("computed in strips of the axis that its reader reduces"),
            Reason::Large => f.write_str("the kernel would be too large"),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Materialise(reason) => write!(f, "stored: {reason}"),
            Choice::Inline => f.write_str("inlined"),
            Choice::Unroll => f.write_str("unrolled"),
        }
    }
}
