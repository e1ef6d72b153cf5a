//! Explanations and suggestions for sums of products whose operands do not fit, in terms of products.

use super::advice::{assuming, certain, spelled};
use super::headline::{doubt, headline as clashing, quoted};
use super::help::sizes;
use super::{Certainty, Conflict, Diagnostic, Help, Meeting, Misspelled, Operand, Problem, Rule};
use crate::dim::Dim;
use crate::graph::product::{Layout, Product};
use crate::graph::{Graph, infer};
use crate::shape::Shape;
use std::fmt;

/// Returns the conflict named in the headline, and how its axes meet.
fn first(problem: &Problem) -> Option<(&Conflict, Meeting)> {
    let Problem::Contraction { meetings, conflicts, .. } = problem else { return None };
    let clash = clashing(problem)?;
    let position = conflicts.iter().position(|conflict| conflict == clash)?;
    Some((clash, *meetings.get(position)?))
}

/// Returns whether summed axes do not fit.
pub(super) fn is_summed(problem: &Problem) -> bool {
    first(problem).is_some_and(|(_, meeting)| meeting.rule == Rule::Summed)
}

pub(super) fn headline(problem: &Problem, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (Some((clash, meeting)), Problem::Contraction { alignment, .. }) = (first(problem), problem) else {
        return Ok(());
    };
    let (left, right, doubt) = (quoted(&clash.left), quoted(&clash.right), doubt(clash.certainty));
    let ([first, second], [one, other]) = (&clash.names, meeting.axes);
    let letter = alignment.heads.get(clash.axis).map_or("", |head| head);
    match meeting.rule {
        Rule::Summed => write!(
            f,
            "sums over axes of equal size: axis {one} {first} is {left}, axis {other} {second} is {right}{doubt}"
        ),
        Rule::Batch => write!(
            f,
            "cannot broadcast its batch axes: axis {one} {first} is {left}, axis {other} {second} is {right}{doubt}"
        ),
        Rule::Subscript if letter == "..." => write!(
            f,
            "cannot broadcast the axes of `...`: axis {one} {first} is {left}, axis {other} {second} is {right}{doubt}"
        ),
        Rule::Subscript => {
            write!(f, "has two sizes for `{letter}`: {left} {first} and {right} {second}{doubt}")
        }
        Rule::Diagonal => write!(
            f,
            "has two sizes for `{letter}` {first}: axis {one} is {left}, axis {other} is {right}{doubt}"
        ),
    }
}

/// Returns the broken rule.
pub(super) fn reasons(diagnostic: &Diagnostic) -> Vec<String> {
    let op = diagnostic.op.as_deref().unwrap_or_default();
    let ranks: Vec<usize> = diagnostic.operands.iter().map(|operand| operand.dims.len()).collect();
    if let Problem::Subscripts(subscripts) = &diagnostic.problem {
        return match &subscripts.because {
            Misspelled::Axes { named, rank, .. } if named < rank => {
                vec!["`...` stands for the axes without a letter".to_owned()]
            }
            Misspelled::LostEllipsis => vec!["only axes with a letter can be summed over".to_owned()],
            _ => Vec::new(),
        };
    }
    let Some((clash, meeting)) = first(&diagnostic.problem) else {
        return Vec::new();
    };
    let mut reasons = Vec::new();
    match (meeting.rule, op, ranks.as_slice()) {
        (Rule::Summed, "matmul" | "dot", [_, right]) => {
            let other = if *right == 1 { "the only axis" } else { "the second-to-last axis" };
            reasons
                .push(format!("`{op}` multiplies along the last axis on the left and {other} on the right"));
        }
        (Rule::Summed, "inner", _) => {
            reasons.push("`inner` multiplies along the last axis of both operands".to_owned());
        }
        (Rule::Batch, "matmul", _) => {
            reasons.push(
                "all axes before the last two are batch axes, and they are aligned from the right".to_owned(),
            );
        }
        _ => {}
    }
    if meeting.rule == Rule::Summed && [&clash.left, &clash.right].iter().any(|size| size.dim.is_one()) {
        reasons.push("an axis that is summed over never stretches, even if its size is 1".to_owned());
    }
    if meeting.rule == Rule::Diagonal {
        reasons.push(
            "a letter that appears twice in an operand selects its diagonal, and those axes never stretch"
                .to_owned(),
        );
    }
    reasons
}

/// Adds suggestions.
pub(super) fn offer(graph: &Graph, problem: &Problem, op: &str, operands: &[Operand], helps: &mut Vec<Help>) {
    if let (Problem::TooFewAxes { rank: 0, .. }, [left, right]) = (problem, operands) {
        let code = format!("{} * {}", spelled(left), spelled(right));
        helps.push(certain("to multiply by a number:", Some(code)));
    }
    if let Problem::Subscripts(subscripts) = problem
        && let Misspelled::Axes { named, rank, .. } = subscripts.because
        && named < rank
        && let Some(part) = subscripts.text.get(subscripts.at.clone())
    {
        let text =
            format!("to keep the other axes, in front of those with letters, write `...{}`", part.trim());
        helps.push(certain(text, None));
    }
    let Some((clash, meeting)) = first(problem) else { return };
    if let (Some(product), [left, right]) = (Product::from_name(op), operands) {
        let change = Change { graph, product, operands: [left, right] };
        if meeting.rule == Rule::Summed {
            change.exchange(helps);
        }
    }
    if helps.is_empty() {
        declare(clash, helps);
    }
}

/// A product whose operands can be changed and tried again.
struct Change<'a> {
    graph: &'a Graph,
    product: Product,
    operands: [&'a Operand; 2],
}

impl Change<'_> {
    fn dims(&self, side: usize) -> Vec<Dim> {
        self.operands[side].dims.iter().map(|size| size.dim.clone()).collect()
    }

    /// Returns the shape of a product, if its operands fit.
    fn infer(&self, product: &Product, dims: &[Vec<Dim>; 2]) -> Option<Shape> {
        let facts = |symbol| self.graph.facts(symbol);
        let layout = Layout::of(product, [dims[0].len(), dims[1].len()]).ok()?;
        let shapes = [dims[0].as_slice(), dims[1].as_slice()];
        let compared =
            &mut |_, [(_, left), (_, right)]: [(usize, &Dim); 2]| infer::compare(left, right, &facts);
        layout.sizes(&shapes, compared).ok().map(|sizes| layout.shape(&sizes))
    }

    fn push(&self, text: &str, code: String, shape: &Shape, helps: &mut Vec<Help>) {
        let result = Some(sizes(self.graph, shape));
        helps.push(Help { result, ..certain(text, Some(code)) });
    }

    /// Suggests another order of the axes or of the operands, or another product.
    fn exchange(&self, helps: &mut Vec<Help>) {
        let (left, right) = (&*self.operands[0].name, &*self.operands[1].name);
        let dims = [self.dims(0), self.dims(1)];
        let op = self.product.name();
        for side in [1, 0] {
            let mut changed = dims.clone();
            let rank = changed[side].len();
            if rank < 2 {
                continue;
            }
            changed[side].swap(rank - 1, rank - 2);
            if let Some(shape) = self.infer(&self.product, &changed) {
                let operand = match left == right {
                    true => ["the left operand", "the right operand"][side],
                    false => [left, right][side],
                };
                let code = match side {
                    0 => format!("{left}.t().{op}({right})"),
                    _ => format!("{left}.{op}({right}.t())"),
                };
                self.push(&format!("the sizes match if {operand} is transposed:"), code, &shape, helps);
            }
        }
        let [first, second] = dims.clone();
        if let Some(shape) = self.infer(&self.product, &[second, first]).filter(|_| helps.is_empty()) {
            let code = format!("{right}.{op}({left})");
            self.push("the operands fit in the other order:", code, &shape, helps);
        }
        if self.product == Product::Inner
            && let Some(shape) = self.infer(&Product::Matmul, &dims)
        {
            self.push("to multiply rows by columns:", format!("{left}.matmul({right})"), &shape, helps);
        }
        // Only if a 1 was meant to stretch, or if nothing else helps.
        if !helps.is_empty() && !dims.iter().flatten().any(Dim::is_one) {
            return;
        }
        let facts = |symbol| self.graph.facts(symbol);
        let compare: infer::Compare = &mut |_, (_, left), (_, right)| infer::compare(left, right, &facts);
        if let Ok(shape) = infer::broadcast(&[&dims[0], &dims[1]], compare) {
            self.push("to multiply element by element:", format!("{left} * {right}"), &shape, helps);
        }
    }
}

/// Suggests one symbol for both sizes, if that is enough.
fn declare(clash: &Conflict, helps: &mut Vec<Help>) {
    if clash.certainty == Certainty::Never {
        return;
    }
    let (left, right) = (&clash.left, &clash.right);
    let (old, new) = match (left.dim.as_symbol(), right.dim.as_symbol()) {
        (_, Some(_)) => (right, left),
        (Some(_), None) => (left, right),
        (None, None) => return,
    };
    let text = match new.dim.as_symbol() {
        Some(_) => format!("if `{old}` is always `{new}`, use one symbol, or declare them equal:"),
        None => {
            format!("if `{old}` is always {}, write that instead of the symbol, or declare it:", quoted(new))
        }
    };
    helps.push(assuming(text, Some(format!("g.declare_equal({old}, {new})"))));
}
