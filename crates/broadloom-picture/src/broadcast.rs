//! Figures of broadcasting: the arrays of an operation as cells, with the cells that stretching repeats.
//!
//! ```text
//! CheckedGraph ─┐
//!               ├──read──▶ Broadcast ──cells──▶ positions along each axis ──block──▶ array ──figure──▶ SVG
//! Diagnostic ───┘
//! ```
//!
//! An operation that fits and a mismatch are the same data, so both look the same up to the axes that clash.

mod block;
mod canvas;
mod cells;
mod figure;
mod read;
mod table;
mod theme;

use broadloom::CheckedGraph;
use broadloom::diagnostics::{Diagnostic, Places};

/// The most operations that are drawn.
const MAX_FIGURES: usize = 24;

/// Figures of the operations of a program that broadcast their operands.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom_picture::BroadcastFigures;
/// let g = Graph::new();
/// let (a, b) = (g.input::<f64>("a", shape![4, 1]), g.input::<f64>("b", shape![3]));
/// let kernel = (a + b).compile()?;
/// let figures = BroadcastFigures::of_graph(kernel.explain().graph(), None);
/// assert!(figures.svg().contains("a is stretched to 3 along axis 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct BroadcastFigures {
    drawn: Vec<Broadcast>,
    /// The number of operations that are not drawn.
    more: usize,
}

impl BroadcastFigures {
    /// Returns a figure for each operation that stretches a tensor, in order. If there is none: for each that
    /// stretches a constant, then for those of which functions such as `std` are composed, and otherwise for the first
    /// one that combines operands. `places` has the source
    /// of the program, which labels the operands.
    pub fn of_graph(graph: &CheckedGraph, places: Option<&dyn Places>) -> BroadcastFigures {
        BroadcastFigures::new(read::of_graph(graph, places))
    }

    /// Returns a figure for each mistake that is a mismatch of broadcast shapes. The figure marks the axes that
    /// clash, and repeats the suggestions of the mistake.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom_picture::BroadcastFigures;
    /// let g = Graph::new();
    /// let (table, offsets) = (g.input::<f64>("table", shape![4, 3]), g.input::<f64>("offsets", shape![4]));
    /// let _ = table - offsets;
    /// let mistakes = g.check().unwrap_err();
    /// let svg = BroadcastFigures::of_mistakes(&mistakes, None).svg();
    /// assert!(svg.contains("table - offsets.unsqueeze(1)"));
    /// ```
    pub fn of_mistakes<'a>(
        mistakes: impl IntoIterator<Item = &'a Diagnostic>,
        places: Option<&dyn Places>,
    ) -> BroadcastFigures {
        let mismatches = mistakes.into_iter().filter_map(|mistake| read::of_mistake(mistake, places));
        BroadcastFigures::new(mismatches.collect())
    }

    fn new(mut drawn: Vec<Broadcast>) -> BroadcastFigures {
        let more = drawn.len().saturating_sub(MAX_FIGURES);
        drawn.truncate(MAX_FIGURES);
        BroadcastFigures { drawn, more }
    }

    /// Returns whether no operation broadcasts its operands.
    pub fn is_empty(&self) -> bool {
        self.drawn.is_empty()
    }

    /// Returns the number of operations, those included that are not drawn because there are too many.
    pub fn len(&self) -> usize {
        self.drawn.len() + self.more
    }

    /// Returns all figures as one SVG file, with colours for light and dark pages and with its own background.
    pub fn svg(&self) -> String {
        figure::svg(self)
    }
}

/// An operation and the shapes that it broadcasts.
#[derive(Debug, Clone)]
struct Broadcast {
    /// The operation as it is written.
    heading: String,
    /// The function that the user called, if the operation is a part of it.
    part_of: Option<String>,
    operator: Operator,
    operands: Vec<Operand>,
    result: Ending,
    /// The sizes of the result, or what they would be.
    sizes: Vec<Size>,
}

/// How the operation is written.
#[derive(Debug, Clone)]
enum Operator {
    /// Between its operands.
    Infix(&'static str),
    /// Before them.
    Call(String),
}

#[derive(Debug, Clone)]
struct Operand {
    /// The operand as it is written.
    label: String,
    /// Its dtype and shape.
    type_: String,
    /// For each axis of the result.
    axes: Vec<OperandAxis>,
}

/// How an operand meets an axis of the result.
#[derive(Debug, Clone)]
struct OperandAxis {
    /// Its size; `None` if the operand lacks the axis.
    own: Option<Size>,
    fit: Fit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// The size is that of the result.
    Equal,
    /// The operand repeats its only element.
    Stretched,
    /// The size does not fit that of another operand.
    Clash,
}

/// A size and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Size {
    text: String,
    /// The number, if the size is a constant.
    count: Option<u64>,
}

impl Size {
    fn is_one(&self) -> bool {
        self.count == Some(1)
    }
}

#[derive(Debug, Clone)]
enum Ending {
    /// The dtype and shape of the result.
    Fits(String),
    Mismatch(Mismatch),
}

#[derive(Debug, Clone)]
struct Mismatch {
    /// `error[S001]: ..`
    headline: String,
    /// The sizes that clash, by axis of the result: `3 ≠ 4`.
    clashes: Vec<(usize, String)>,
    helps: Vec<Help>,
}

#[derive(Debug, Clone)]
struct Help {
    text: String,
    code: Option<String>,
    /// The shape of the result.
    result: Option<String>,
}

impl Broadcast {
    fn rank(&self) -> usize {
        self.sizes.len()
    }

    fn mismatch(&self) -> Option<&Mismatch> {
        match &self.result {
            Ending::Fits(_) => None,
            Ending::Mismatch(mismatch) => Some(mismatch),
        }
    }

    /// Returns in one sentence what happens to the operands.
    fn sentence(&self) -> String {
        if let Some(mismatch) = self.mismatch() {
            return mismatch.headline.clone();
        }
        let stretched: Vec<String> =
            self.operands.iter().filter_map(|operand| self.stretched(operand)).collect();
        let part = self.part_of.as_ref().map_or(String::new(), |call| format!("In `{call}`: "));
        let lacks_axes =
            self.operands.iter().any(|operand| operand.axes.iter().any(|axis| axis.own.is_none()));
        match (stretched.is_empty(), lacks_axes) {
            (false, _) => format!("{part}{}.", stretched.join("; ")),
            (true, true) => format!("{part}missing axes count as 1, and nothing is stretched."),
            (true, false) => format!("{part}the shapes are equal, and nothing is stretched."),
        }
    }

    fn is_stretched(&self) -> bool {
        self.operands.iter().any(|operand| operand.axes.iter().any(|axis| axis.fit == Fit::Stretched))
    }

    /// Returns how an operand is stretched; `None` if it is not.
    fn stretched(&self, Operand { label, axes, .. }: &Operand) -> Option<String> {
        if !axes.is_empty() && axes.iter().all(|axis| axis.own.is_none()) {
            return Some(format!("{label} is a scalar and used for every element"));
        }
        let along = axes.iter().zip(&self.sizes).enumerate();
        let along = along.filter(|(_, (axis, _))| axis.fit == Fit::Stretched);
        let along = along.map(|(axis, (OperandAxis { own, .. }, size))| {
            let lacks = if own.is_none() { " (which it lacks)" } else { "" };
            format!("to {} along axis {axis}{lacks}", size.text)
        });
        let along: Vec<String> = along.collect();
        (!along.is_empty()).then(|| format!("{label} is stretched {}", along.join(" and ")))
    }
}
