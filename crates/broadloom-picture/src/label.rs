//! The text in a picture.

use crate::drawing::Kind;
use broadloom::{CheckedGraph, DType, Op};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Node, SEARCH, SliceAxis, View, scan_name};
use std::fmt::{self, Display, Write as _};
use unicode_width::UnicodeWidthChar;

/// The longest line in a node, in columns.
const MAX_COLUMNS: usize = 36;

/// Escapes text for XML and HTML.
pub struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // XML cannot represent these.
                '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => f.write_char(char::REPLACEMENT_CHARACTER)?,
                _ => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// The number of columns of a character in a fixed-width font.
fn columns_of(letter: char) -> usize {
    letter.width().unwrap_or(0)
}

/// The number of columns of a text in a fixed-width font.
pub fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// A text of bounded width.
pub fn clipped(text: &str) -> String {
    clipped_to(text, MAX_COLUMNS)
}

/// A text of at most this number of columns.
pub fn clipped_to(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_string();
    }
    let mut width = 1;
    let fits = |letter: &char| {
        width += columns_of(*letter);
        width <= most
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Escapes characters without a width, so that a name cannot reorder or hide the text around it.
pub fn visible(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        match columns_of(letter) {
            0 => shown.extend(letter.escape_unicode()),
            _ => shown.push(letter),
        }
    }
    shown
}

/// A name of bounded width.
pub fn name(name: &str) -> String {
    clipped(&visible(name))
}

fn size(graph: &CheckedGraph, dim: &Dim) -> String {
    name(&dim.display(&|symbol| graph.named(symbol)).to_string())
}

/// `f32[n, 3]`
pub fn type_text(graph: &CheckedGraph, dtype: DType, shape: &[Dim]) -> String {
    let sizes: Vec<String> = shape.iter().map(|dim| size(graph, dim)).collect();
    clipped(&format!("{dtype}[{}]", sizes.join(", ")))
}

fn axes(axes: &[usize]) -> String {
    let list: Vec<String> = axes.iter().map(usize::to_string).collect();
    format!("{} {}", if axes.len() == 1 { "axis" } else { "axes" }, list.join(", "))
}

/// The operation of an expression.
pub fn operation(graph: &CheckedGraph, expr: ExprId) -> (Kind, String) {
    let node = graph.node(expr);
    match node {
        Node::Input(_) => (Kind::View, "copy".to_string()),
        Node::Constant(value) => (Kind::Op, format!("constant {value}")),
        Node::Size(dim) => (Kind::Op, format!("size {}", size(graph, dim))),
        Node::Step { name, .. } => (Kind::Op, format!("{name} of the step")),
        Node::Loop { result, .. } => (Kind::Reduction, format!("{}, result {result}", graph.call(expr))),
        Node::Poison => (Kind::Op, "nothing".to_string()),
        Node::Elementwise { op, .. } => (Kind::Op, op.to_string()),
        Node::Select { .. } => (Kind::Op, "select".to_string()),
        Node::Cast(_) => (Kind::Op, format!("cast to {}", graph.dtype(expr))),
        Node::Reduce { op, axes: over, keepdims, .. } => {
            let kept = if *keepdims { ", kept" } else { "" };
            (Kind::Reduction, format!("{op} over {}{kept}", axes(over)))
        }
        Node::View { view, operand } => (Kind::View, viewed(graph, view, expr, *operand)),
        Node::Set { value, region, .. } => (
            Kind::View,
            format!("set {}", region_text(graph, region, graph.shape(expr), graph.shape(*value))),
        ),
        Node::Take { axis, .. } => (Kind::Op, format!("take along axis {axis}")),
        Node::Compress { axis, .. } => (Kind::Op, format!("select along axis {axis}")),
        Node::Scatter { op, .. } => (Kind::Op, format!("{} rows", op.map_or("set", |op| op.name()))),
        Node::Iota => (Kind::Op, "iota".to_string()),
        Node::Concat { axis, .. } => (Kind::View, format!("concat along axis {axis}")),
        Node::Segment { op, .. } => (Kind::Reduction, format!("segment_{op}")),
        Node::Scan { op, axis, .. } => {
            (Kind::Reduction, format!("{} along {}", scan_name(*op), axes(&[*axis])))
        }
        Node::TopK { topk, .. } => {
            let smallest = if topk.largest { "" } else { ", smallest" };
            let text = format!("{} {} over {}{smallest}", topk.name(), topk.k, axes(&[topk.axis]));
            (Kind::Reduction, text)
        }
        Node::Sort { sort, .. } => {
            let descending = if sort.descending { ", descending" } else { "" };
            (Kind::Op, format!("{} along {}{descending}", sort.name(), axes(&[sort.axis])))
        }
        Node::Search { right, .. } => (Kind::Op, format!("{SEARCH}{}", if *right { ", right" } else { "" })),
    }
}

/// The operation of an expression, with its constant operands.
pub fn expression(graph: &CheckedGraph, expr: ExprId) -> (Kind, String) {
    let (kind, what) = operation(graph, expr);
    let operands = graph.operands(expr);
    let inline: Vec<Option<String>> = operands.iter().map(|operand| inline(graph, *operand)).collect();
    if inline.iter().all(Option::is_none) {
        return (kind, what);
    }
    let list: Vec<String> =
        inline.into_iter().map(|operand| operand.unwrap_or_else(|| "·".to_string())).collect();
    (kind, format!("{what}({})", list.join(", ")))
}

/// The text of a constant or a size, which appears where it is used.
pub fn inline(graph: &CheckedGraph, expr: ExprId) -> Option<String> {
    match graph.node(expr) {
        Node::Constant(value) => Some(value.to_string()),
        Node::Size(dim) => Some(size(graph, dim)),
        Node::Cast(operand) => match graph.node(*operand) {
            Node::Size(dim) => Some(size(graph, dim)),
            _ => None,
        },
        _ => None,
    }
}

fn viewed(graph: &CheckedGraph, view: &View, expr: ExprId, operand: ExprId) -> String {
    match view {
        View::Reshape | View::BroadcastTo | View::Rebind => view.name().to_string(),
        View::Permute(permutation) => format!("{} {}", view.name(), axes(permutation)),
        View::Windows(axis) => format!("{} {}", view.name(), axes(&[*axis])),
        View::ExpandDims(over) | View::Squeeze(over) => format!("{} {}", view.name(), axes(over)),
        View::Slice(parts) => region_text(graph, parts, graph.shape(operand), graph.shape(expr)),
    }
}

/// A region of a tensor, as it is written in brackets.
fn region_text(graph: &CheckedGraph, parts: &[SliceAxis], from: &[Dim], to: &[Dim]) -> String {
    let part = |(axis, part): (usize, &SliceAxis)| {
        let (have, get) = (from.get(axis), to.get(axis));
        let start = if part.start.is_zero() { String::new() } else { size(graph, &part.start) };
        let end = get.and_then(|get| part.start.add(get).ok()).filter(|_| part.step == 1);
        match (part.step, end) {
            (1, Some(end)) if have == Some(&end) => format!("{start}:"),
            (1, Some(end)) => format!("{start}:{}", size(graph, &end)),
            (step, _) => format!("{start}::{step}"),
        }
    };
    let parts: Vec<String> = parts.iter().enumerate().map(part).collect();
    format!("[{}]", parts.join(", "))
}

/// The name of the operand at a position, if the operands have different meanings.
pub fn operand(graph: &CheckedGraph, node: &Node, position: usize) -> Option<&'static str> {
    // If the text of the node contains the constants, the gap between them shows it.
    let drawn = node.operands().into_iter().filter(|operand| inline(graph, *operand).is_none());
    if drawn.count() < 2 {
        return None;
    }
    let names: &[&str] = match node {
        Node::Select { .. } => &["if", "then", "else"],
        Node::Take { .. } => &["table", "at"],
        Node::Compress { .. } => &["x", "where"],
        Node::Segment { .. } => &["values", "ids"],
        Node::Set { .. } => &["base", "value"],
        Node::Scatter { .. } => &["base", "at", "values"],
        Node::Elementwise { op, operands } if operands.len() > 1 && !is_symmetric(*op) => {
            if operands.windows(2).all(|pair| pair[0] == pair[1]) {
                return None;
            }
            &["1st", "2nd", "3rd"]
        }
        Node::Concat { .. } => &["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th"],
        _ => return None,
    };
    names.get(position).copied()
}

/// Whether the order of the operands does not matter.
fn is_symmetric(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Multiply
            | Op::Logaddexp
            | Op::Hypot
            | Op::Maximum
            | Op::Minimum
            | Op::Fmax
            | Op::Fmin
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::Equal
            | Op::NotEqual
            | Op::LogicalAnd
            | Op::LogicalOr
            | Op::LogicalXor
    )
}
