//! The conditions of a graph on sizes at run time.

use std::fmt;

/// A condition of a graph on values at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Requirement {
    /// A slice starts at or after the beginning of the axis.
    SliceStart,
    /// A slice does not end before it starts.
    SliceOrder,
    /// A slice does not end after the end of the axis.
    SliceStop,
    /// An index is not negative.
    IndexStart,
    /// An index is below the size of the axis.
    IndexStop,
    /// A reduction without identity has elements.
    NotEmpty,
    /// An axis has as many elements as requested.
    Enough,
    /// A window is no longer than its axis.
    Window,
    /// An axis has the elements that a function takes from it; the user called the function and wrote no slice.
    Elements,
    /// A size is not negative.
    Size,
    /// A declared equality holds.
    Declared,
    /// A symbol's declared range holds for the size that was declared equal to it.
    Range,
    /// The sizes of a `rebind` are those of its operand.
    Rebound,
}

impl Requirement {
    /// Returns the condition in terms of a function: it consists of parts of axes, but the user wrote no slice.
    pub(crate) fn of_call(self, call: &str) -> Requirement {
        match self {
            Requirement::SliceStart
            | Requirement::SliceOrder
            | Requirement::SliceStop
            | Requirement::IndexStart
            | Requirement::IndexStop
                if !matches!(call, "slice" | "slice_axis" | "index") =>
            {
                Requirement::Elements
            }
            other => other,
        }
    }

    /// Returns what imposes the condition.
    pub fn subject(self) -> &'static str {
        match self {
            Requirement::SliceStart | Requirement::SliceOrder | Requirement::SliceStop => "the slice",
            Requirement::IndexStart | Requirement::IndexStop => "the index",
            Requirement::NotEmpty => "the reduction",
            Requirement::Enough => "`topk`",
            Requirement::Window => "the window",
            Requirement::Elements => "the function",
            Requirement::Size => "the size",
            Requirement::Declared => "the declaration",
            Requirement::Range => "the stated range",
            Requirement::Rebound => "`rebind`",
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Requirement::SliceStart => "the slice starts before the axis",
            Requirement::SliceOrder => "the slice ends before it starts",
            Requirement::SliceStop => "the slice extends past the end of the axis",
            Requirement::IndexStart => "the index is before the first element",
            Requirement::IndexStop => "the index is past the last element",
            Requirement::NotEmpty => "the result is not defined for an empty axis",
            Requirement::Enough => "the axis has fewer elements than requested",
            Requirement::Window => "the window is longer than the axis",
            Requirement::Elements => "the axis has too few elements",
            Requirement::Size => "the size is negative",
            Requirement::Declared => "the sizes were declared to be equal",
            Requirement::Range => "the size is outside its stated range",
            Requirement::Rebound => "the sizes were stated to be equal",
        })
    }
}
