//! Reads operations from a graph, and mismatches from mistakes.

use super::{Broadcast, Ending, Fit, Help, Mismatch, Operand, OperandAxis, Operator, Size};
use crate::label;
use broadloom::diagnostics::{self, Certainty, Conflict, Diagnostic, Made, Places, Problem};
use broadloom::{CheckedGraph, DType, Op};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Node, View};

/// How many views an operand's label writes as indices of their operand.
const MAX_INDICES: usize = 3;
/// The longest text of a size, in columns.
const MAX_SIZE: usize = 10;
/// The longest heading, in columns.
const MAX_HEADING: usize = 72;
/// What a message calls the shape that an operand does not stretch to.
const WANTED: &str = "requested shape";

/// How much an operation stretches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stretch {
    Nothing,
    /// Tensors, but as a part of a function that the user called, such as `std`.
    InParts,
    /// Numbers only, as in `2 * x`.
    Constants,
    Tensors,
}

/// Returns the operations that stretch the most, in order.
pub fn of_graph(graph: &CheckedGraph, places: Option<&dyn Places>) -> Vec<Broadcast> {
    let operations = graph.exprs().filter_map(|expr| Some((expr, operation(graph, expr)?)));
    let ranked: Vec<(ExprId, Operator, Stretch)> =
        operations.map(|(expr, operator)| (expr, operator, stretch(graph, expr))).collect();
    let most = ranked.iter().map(|(.., stretch)| *stretch).max().unwrap_or(Stretch::Nothing);
    let drawn = ranked.into_iter().filter(|(.., stretch)| *stretch == most);
    let reader = Reader { graph, places };
    let most_drawn = if most == Stretch::Nothing { 1 } else { usize::MAX };
    drawn.take(most_drawn).map(|(expr, operator, _)| reader.broadcast(expr, operator)).collect()
}

/// Returns how an operation that broadcasts is written; `None` for other nodes.
fn operation(graph: &CheckedGraph, expr: ExprId) -> Option<Operator> {
    match graph.node(expr) {
        Node::Elementwise { op, operands } if operands.len() > 1 => Some(operator(*op)),
        Node::Select { .. } => Some(Operator::Call(graph.call(expr).to_owned())),
        Node::View { view: View::BroadcastTo, operand } => {
            let is_stretched = graph.shape(*operand) != graph.shape(expr);
            is_stretched.then(|| Operator::Call(graph.call(expr).to_owned()))
        }
        _ => None,
    }
}

fn operator(op: Op) -> Operator {
    Operator::Infix(match op {
        Op::Add => "+",
        Op::Subtract => "-",
        Op::Multiply => "*",
        Op::Divide => "/",
        Op::FloorDivide => "//",
        Op::Remainder => "%",
        Op::Pow => "**",
        Op::Equal => "==",
        Op::NotEqual => "!=",
        Op::Less => "<",
        Op::LessEqual => "<=",
        Op::Greater => ">",
        Op::GreaterEqual => ">=",
        Op::BitwiseAnd => "&",
        Op::BitwiseOr => "|",
        Op::BitwiseXor => "^",
        Op::BitwiseLeftShift => "<<",
        Op::BitwiseRightShift => ">>",
        _ => return Operator::Call(op.name().to_owned()),
    })
}

/// Returns the function that the user called, if an elementwise operation is only a part of it.
fn part_of(graph: &CheckedGraph, expr: ExprId) -> Option<&str> {
    match graph.node(expr) {
        Node::Elementwise { op, .. } => Some(graph.call(expr)).filter(|call| *call != op.name()),
        _ => None,
    }
}

fn stretch(graph: &CheckedGraph, expr: ExprId) -> Stretch {
    let result = graph.shape(expr).dims();
    let is_part = part_of(graph, expr).is_some();
    let of = |operand: ExprId| {
        let is_equal = graph.shape(operand).dims() == result || result.iter().all(Dim::is_one);
        match (is_equal, label::inline(graph, operand)) {
            (true, _) => Stretch::Nothing,
            (false, Some(_)) if is_part => Stretch::Nothing,
            (false, Some(_)) => Stretch::Constants,
            (false, None) if is_part => Stretch::InParts,
            (false, None) => Stretch::Tensors,
        }
    };
    graph.operands(expr).into_iter().map(of).max().unwrap_or(Stretch::Nothing)
}

struct Reader<'a> {
    graph: &'a CheckedGraph,
    places: Option<&'a dyn Places>,
}

impl Reader<'_> {
    fn broadcast(&self, expr: ExprId, operator: Operator) -> Broadcast {
        let graph = self.graph;
        let sizes: Vec<Size> = graph.shape(expr).iter().map(|dim| self.size(dim)).collect();
        let operand = |operand: ExprId| {
            let own: Vec<Size> = graph.shape(operand).iter().map(|dim| self.size(dim)).collect();
            let first = sizes.len().saturating_sub(own.len());
            let axis = |(axis, result): (usize, &Size)| {
                let own = axis.checked_sub(first).and_then(|axis| own.get(axis)).cloned();
                let is_equal = own.as_ref().map_or(result.is_one(), |own| own == result);
                OperandAxis { own, fit: if is_equal { Fit::Equal } else { Fit::Stretched } }
            };
            Operand {
                label: label::name(&self.label(operand, expr)),
                type_: self.type_(operand),
                axes: sizes.iter().enumerate().map(axis).collect(),
            }
        };
        let operands: Vec<Operand> = graph.operands(expr).into_iter().map(operand).collect();
        let labels: Vec<&str> = operands.iter().map(|operand| &*operand.label).collect();
        let operator = match (graph.node(expr), self.places) {
            // Languages other than Rust have NumPy's name.
            (Node::Select { .. }, Some(_)) => Operator::Call("where".to_owned()),
            _ => operator,
        };
        let part_of = part_of(graph, expr).map(str::to_owned);
        let written = self.written(expr).unwrap_or_else(|| written(&operator, &labels));
        Broadcast {
            heading: heading(&written),
            part_of,
            operator,
            operands,
            result: Ending::Fits(self.type_(expr)),
            sizes,
        }
    }

    fn size(&self, dim: &Dim) -> Size {
        let text = dim.display(&|symbol| self.graph.named(symbol)).to_string();
        size(&text, dim)
    }

    fn type_(&self, expr: ExprId) -> String {
        label::type_text(self.graph, self.graph.dtype(expr), self.graph.shape(expr))
    }

    /// Returns the source of an expression, if it is known.
    fn written(&self, expr: ExprId) -> Option<String> {
        one_line(self.places?.expression(self.graph.site(expr))?)
    }

    /// Returns an operand as it is written or, if that is not known, as it could be.
    fn label(&self, operand: ExprId, user: ExprId) -> String {
        let graph = self.graph;
        let mut expr = operand;
        // The operation converts its operands itself.
        while let Node::Cast(inner) = graph.node(expr)
            && graph.site(expr) == graph.site(user)
        {
            expr = *inner;
        }
        let mut indices = String::new();
        for _ in 0..=MAX_INDICES {
            let is_own = graph.site(expr) != graph.site(user);
            let plain = match graph.node(expr) {
                Node::Input(input) => graph.inputs().get(input.index()).map(|input| input.name.to_string()),
                _ => label::inline(graph, expr).or_else(|| self.written(expr).filter(|_| is_own)),
            };
            if let Some(plain) = plain {
                return plain + &indices;
            }
            let Node::View { view: View::ExpandDims(axes), operand } = graph.node(expr) else { break };
            indices = self.new_axes(axes, graph.shape(expr).rank()) + &indices;
            expr = *operand;
        }
        // Other parts of the same call have no name that the user knows.
        if part_of(graph, user) == Some(graph.call(expr)) {
            return label::expression(graph, expr).1 + &indices;
        }
        let operands = graph.operands(expr);
        let named = operands.iter().map(|operand| match graph.node(*operand) {
            Node::Input(input) => graph.inputs().get(input.index()).map(|input| &*input.name),
            _ => None,
        });
        let named: Vec<&str> = named.map(|name| name.unwrap_or("…")).collect();
        format!("{}({}){indices}", graph.call(expr), named.join(", "))
    }

    /// Returns the suffix that inserts axes at these positions of the result: `[:, None]`, or in Rust `.unsqueeze(1)`.
    fn new_axes(&self, axes: &[usize], rank: usize) -> String {
        if self.places.is_none() {
            return axes.iter().map(|axis| format!(".unsqueeze({axis})")).collect();
        }
        let last = axes.iter().max().map_or(0, |last| last + 1).min(rank);
        let items: Vec<&str> =
            (0..last).map(|axis| if axes.contains(&axis) { "None" } else { ":" }).collect();
        format!("[{}]", items.join(", "))
    }
}

/// Returns a mistake as an operation; `None` if it is not a mismatch of broadcast shapes.
pub fn of_mistake(mistake: &Diagnostic, places: Option<&dyn Places>) -> Option<Broadcast> {
    let conflicts = match &mistake.problem {
        Problem::Broadcast(conflicts)
        | Problem::Stretch { conflicts, .. }
        | Problem::Placed { conflicts, .. } => conflicts,
        _ => return None,
    };
    let name = mistake.op.as_deref().unwrap_or_default();
    let operator = Op::from_name(name).map_or_else(|| Operator::Call(name.to_owned()), operator);
    let written_at = |site| one_line(places?.expression(site)?);
    let label_of = |operand: &diagnostics::Operand| match &operand.made {
        Made::Input(name) => name.to_string(),
        Made::Constant(value) => value.to_string(),
        Made::Wanted | Made::Result => WANTED.to_owned(),
        made @ (Made::Op { .. } | Made::List) => {
            let own = Some(operand.site).filter(|site| *site != mistake.site);
            own.and_then(written_at).unwrap_or_else(|| match made {
                Made::Op { op, of: Some(input) } => format!("{op}({input})"),
                _ => operand.name.to_string(),
            })
        }
    };
    let columns = mistake.operands.iter().map(|operand| match &operand.columns {
        Some(columns) => columns.iter().max().map_or(0, |last| last + 1),
        None => operand.dims.len(),
    });
    let rank = columns.max().unwrap_or(0);
    let own: Vec<Vec<Option<Size>>> = mistake
        .operands
        .iter()
        .map(|operand| (0..rank).map(|axis| own_size(operand, axis, rank)).collect())
        .collect();
    // As broadcasting does: the first size other than 1 stands for all.
    let sizes: Vec<Size> = (0..rank)
        .map(|axis| {
            let mut known = own.iter().filter_map(|sizes| sizes[axis].as_ref());
            let wide = known.clone().find(|size| !size.is_one());
            wide.or_else(|| known.next()).cloned().unwrap_or(Size { text: "1".to_owned(), count: Some(1) })
        })
        .collect();
    let conflict = |axis: usize| conflicts.iter().find(|conflict| conflict.axis == axis);
    let axis = |operand: usize, axis: usize, own: &Option<Size>| {
        let is_one = own.as_ref().is_none_or(Size::is_one);
        let fit = match conflict(axis) {
            Some(Conflict { left_operand, right_operand, .. }) => {
                let is_part = [*left_operand, *right_operand].contains(&operand);
                if is_part { Fit::Clash } else { Fit::Equal }
            }
            None if is_one && !sizes[axis].is_one() => Fit::Stretched,
            None => Fit::Equal,
        };
        OperandAxis { own: own.clone(), fit }
    };
    let operands: Vec<Operand> = (mistake.operands.iter().zip(&own).enumerate())
        .map(|(index, (operand, own))| Operand {
            label: label::name(&label_of(operand)),
            type_: type_of(operand.dtype, &operand.dims),
            axes: own.iter().enumerate().map(|(at, own)| axis(index, at, own)).collect(),
        })
        .collect();
    let labels: Vec<&str> = operands.iter().map(|operand| &*operand.label).collect();
    let heading = heading(&written_at(mistake.site).unwrap_or_else(|| written(&operator, &labels)));
    let clash = |conflict: &Conflict| {
        let [left, right] = [&conflict.left, &conflict.right].map(|size| clipped(size.text()));
        let text = match conflict.certainty {
            Certainty::Never => format!("{left} ≠ {right}"),
            Certainty::Sometimes => format!("{left} = {right}?"),
        };
        (conflict.axis, text)
    };
    let help = |help: &diagnostics::Help| Help {
        text: label::visible(&help.text),
        code: help.code.as_deref().map(label::visible),
        result: help.result.as_ref().map(|sizes| format!("{sizes:?}")),
    };
    let result = Ending::Mismatch(Mismatch {
        headline: label::visible(&format!("error[{}]: {mistake}", mistake.code())),
        clashes: conflicts.iter().map(clash).collect(),
        helps: mistake.helps.iter().map(help).collect(),
    });
    Some(Broadcast { heading, part_of: None, operator, operands, result, sizes })
}

/// Returns the size of an operand along an axis of the result; `None` if it lacks the axis.
fn own_size(operand: &diagnostics::Operand, axis: usize, rank: usize) -> Option<Size> {
    let own = match &operand.columns {
        Some(columns) => columns.iter().position(|column| *column == axis),
        None => (axis + operand.dims.len()).checked_sub(rank),
    };
    let found = operand.dims.get(own?)?;
    Some(size(found.text(), &found.dim))
}

fn type_of(dtype: Option<DType>, dims: &[diagnostics::Size]) -> String {
    let sizes: Vec<String> = dims.iter().map(|size| label::name(size.text())).collect();
    label::clipped(&format!("{}[{}]", dtype.map_or("", DType::name), sizes.join(", ")))
}

fn size(text: &str, dim: &Dim) -> Size {
    let count = dim.as_constant().and_then(|count| u64::try_from(count).ok());
    Size { text: clipped(text), count }
}

fn clipped(text: &str) -> String {
    label::clipped_to(&label::visible(text), MAX_SIZE)
}

fn heading(text: &str) -> String {
    label::clipped_to(&label::visible(text), MAX_HEADING)
}

/// Returns an operation in the notation of its operator.
fn written(operator: &Operator, labels: &[&str]) -> String {
    match operator {
        Operator::Infix(symbol) => labels.join(&format!(" {symbol} ")),
        Operator::Call(name) => format!("{name}({})", labels.join(", ")),
    }
}

/// Returns an expression with single spaces instead of line ends and other white space, and without parentheses
/// around all of it.
fn one_line(text: String) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let mut depth = 0usize;
    let mut closes = text.char_indices().filter(|(_, letter)| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return false,
        }
        depth == 0
    });
    let first_close = closes.next().map(|(at, _)| at);
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    match inner {
        Some(inner) if first_close == text.len().checked_sub(1) => Some(inner.to_owned()),
        _ => (!text.is_empty()).then_some(text),
    }
}
