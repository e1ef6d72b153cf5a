//! Determines which axes of a product's operands meet, and the resulting sizes.

use super::{Pairs, Product};
use crate::dim::Dim;
use crate::graph::reduction::{resolve_axes, resolve_axis};
use crate::graph::unify::Fit;
use crate::problem::{Alignment, Certainty, Meeting, Problem, Rule};
use crate::shape::Shape;

/// The common label of axes that meet.
pub(in crate::graph) type Label = usize;

/// The axes of the operands that meet, and the axes of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// For each operand, the label of each axis.
    pub(in crate::graph) labels: Vec<Vec<Label>>,
    /// The labels of the result's axes.
    pub(in crate::graph) out: Vec<Label>,
    /// For each label, how its axes meet.
    pub(in crate::graph) rules: Vec<Rule>,
    /// For each label, the heading of its column, unless `out` determines it.
    pub(in crate::graph) heads: Vec<Option<Box<str>>>,
}

/// Compares the sizes of two operands on axes that meet; neither is a literal 1 that stretches.
pub(crate) type Compare<'a> = &'a mut dyn FnMut(Meeting, [(usize, &Dim); 2]) -> Fit;

/// Axes of one label that do not fit.
#[derive(Debug, Clone)]
pub(crate) struct Clash {
    label: Label,
    pub(super) meeting: Meeting,
    pub(super) sides: [(usize, Dim); 2],
    pub(super) certainty: Certainty,
}

const SIDES: [&str; 2] = ["the operand on the left", "the operand on the right"];

impl Layout {
    /// Returns the layout of a product that sums over axes of operands of these ranks.
    pub(crate) fn of(product: &Product, ranks: [usize; 2]) -> Result<Layout, Problem> {
        let [left, right] = ranks;
        let one_each = |rank: usize, name| match rank {
            0 => Err(Problem::TooFewAxes { name, wanted: 1, rank }),
            _ => Ok(()),
        };
        one_each(left, SIDES[0])?;
        one_each(right, SIDES[1])?;
        Ok(match product {
            Product::Vecdot(axis) => {
                let at = [resolve_axis(*axis, left)?, resolve_axis(*axis, right)?];
                let batch = left.max(right) - 1;
                let labels = |rank: usize, at: usize| {
                    let mut labels: Vec<Label> = (batch + 1 - rank..batch).collect();
                    labels.insert(at, batch);
                    labels
                };
                Layout::new([labels(left, at[0]), labels(right, at[1])], batch, 1)
            }
            Product::Dot | Product::Inner => {
                let summed = match product {
                    Product::Inner => right - 1,
                    _ => right.saturating_sub(2),
                };
                Layout::pairs(ranks, &[(left - 1, summed)])
            }
            _ => {
                // Batch axes come first, then those of rows, the sum and columns.
                let batch = left.max(right).saturating_sub(2);
                let [row, sum, column] = [batch, batch + 1, batch + 2];
                let own = |rank: usize| (batch + 2).saturating_sub(rank).min(batch)..batch;
                let rows = if left == 1 { vec![sum] } else { own(left).chain([row, sum]).collect() };
                let columns = if right == 1 { vec![sum] } else { own(right).chain([sum, column]).collect() };
                let out = (0..batch).chain((left > 1).then_some(row)).chain((right > 1).then_some(column));
                let mut rules = vec![Rule::Batch; batch];
                rules.extend([Rule::Summed; 3]);
                Layout {
                    labels: vec![rows, columns],
                    out: out.collect(),
                    rules,
                    heads: vec![None; batch + 3],
                }
            }
        })
    }

    /// Returns a layout with `batch` labels that broadcast and stay, followed by `summed` ones.
    fn new(labels: [Vec<Label>; 2], batch: usize, summed: usize) -> Layout {
        let mut rules = vec![Rule::Batch; batch];
        rules.resize(batch + summed, Rule::Summed);
        let heads = vec![None; batch + summed];
        Layout { labels: labels.into(), out: (0..batch).collect(), rules, heads }
    }

    /// Returns a layout that sums over pairs of axes; all others stay, those of the left operand first.
    pub(super) fn pairs([left, right]: [usize; 2], pairs: &[(usize, usize)]) -> Layout {
        let first: Vec<Label> = (0..left).collect();
        let mut second: Vec<Label> = (left..left + right).collect();
        pairs.iter().for_each(|&(own, other)| second[other] = own);
        let is_summed = |label: &Label| first.contains(label) && second.contains(label);
        let out = first.iter().chain(&second).copied().filter(|label| !is_summed(label)).collect();
        let count = left + right;
        Layout {
            labels: vec![first, second],
            out,
            rules: vec![Rule::Summed; count],
            heads: vec![None; count],
        }
    }

    /// Returns the layout of a `tensordot`.
    pub(super) fn tensordot(pairs: &Pairs, ranks: [usize; 2]) -> Result<Layout, Problem> {
        let [left, right] = ranks;
        let pairs: Vec<(usize, usize)> = match pairs {
            Pairs::Adjacent(count) => {
                for (rank, name) in ranks.into_iter().zip(SIDES) {
                    if *count > rank {
                        return Err(Problem::TooFewAxes { name, wanted: *count, rank });
                    }
                }
                (left - count..left).zip(0..*count).collect()
            }
            Pairs::Axes(first, second) => {
                let (first, second) = (resolve_axes(first, left)?, resolve_axes(second, right)?);
                if first.len() != second.len() {
                    return Err(Problem::Unpaired { left: first.len(), right: second.len() });
                }
                first.into_iter().zip(second).collect()
            }
        };
        Ok(Layout::pairs(ranks, &pairs))
    }

    /// Returns the columns of a table in which axes that meet are aligned.
    pub(super) fn alignment(&self) -> Alignment {
        let distinct: Vec<Vec<Label>> = self.labels.iter().map(|labels| distinct(labels)).collect();
        let order = merged(&self.out, &distinct, self.rules.len());
        let column = |label: &Label| order.iter().position(|known| known == label).unwrap_or(0);
        let head = |label: &Label| match (&self.heads[*label], self.out.iter().position(|out| out == label)) {
            (Some(head), _) => head.clone(),
            (None, Some(axis)) => axis.to_string().into(),
            (None, None) => "sum".into(),
        };
        Alignment {
            heads: order.iter().map(head).collect(),
            columns: self.labels.iter().map(|labels| labels.iter().map(column).collect()).collect(),
        }
    }

    /// Returns the size of each label: that of the first axis with it, unless that size is the literal 1 and
    /// stretches.
    pub(crate) fn sizes(&self, shapes: &[&[Dim]], compare: Compare<'_>) -> Result<Vec<Dim>, Vec<Clash>> {
        let mut sizes = vec![Dim::ONE; self.rules.len()];
        let mut first: Vec<Option<(usize, usize)>> = vec![None; self.rules.len()];
        let mut clashes: Vec<Clash> = Vec::new();
        for (operand, (labels, dims)) in self.labels.iter().zip(shapes).enumerate() {
            for (axis, (&label, size)) in labels.iter().zip(dims.iter()).enumerate() {
                let earlier = labels[..axis].iter().position(|known| *known == label);
                let (rule, other, other_axis) = match (earlier, first[label]) {
                    (Some(earlier), _) => (Rule::Diagonal, operand, earlier),
                    (None, Some((other, other_axis))) => (self.rules[label], other, other_axis),
                    (None, None) => {
                        first[label] = Some((operand, axis));
                        sizes[label] = size.clone();
                        continue;
                    }
                };
                let known = shapes[other][other_axis].clone();
                if matches!(rule, Rule::Batch | Rule::Subscript) && (known.is_one() || size.is_one()) {
                    if known.is_one() {
                        first[label] = Some((operand, axis));
                        sizes[label] = size.clone();
                    }
                    continue;
                }
                let meeting = Meeting { rule, axes: [other_axis, axis] };
                if let Fit::Clash(certainty) = compare(meeting, [(other, &known), (operand, size)])
                    && clashes.iter().all(|clash| clash.label != label)
                {
                    let sides = [(other, known), (operand, size.clone())];
                    clashes.push(Clash { label, meeting, sides, certainty });
                }
            }
        }
        if clashes.is_empty() { Ok(sizes) } else { Err(clashes) }
    }

    /// Returns the shape of the result from the size of each label.
    pub(crate) fn shape(&self, sizes: &[Dim]) -> Shape {
        self.out.iter().map(|&label| sizes[label].clone()).collect()
    }
}

/// Returns labels without repetitions.
pub(in crate::graph) fn distinct(labels: &[Label]) -> Vec<Label> {
    let mut distinct = Vec::new();
    for label in labels {
        if !distinct.contains(label) {
            distinct.push(*label);
        }
    }
    distinct
}

/// Returns all labels, each once, in an order that keeps that of `out` and, as far as possible, that of the axes of
/// each operand, so that few axes have to be exchanged.
pub(in crate::graph) fn merged(out: &[Label], labels: &[Vec<Label>], count: usize) -> Vec<Label> {
    let mut after: Vec<Vec<Label>> = vec![Vec::new(); count];
    for chain in std::iter::once(out).chain(labels.iter().map(Vec::as_slice)) {
        for pair in chain.windows(2) {
            if !leads(&after, pair[1], pair[0]) {
                after[pair[0]].push(pair[1]);
            }
        }
    }
    let mut left = distinct(&labels.concat());
    let mut order = Vec::with_capacity(left.len());
    // There is always a first one: no chain leads back to its start.
    while let Some(next) =
        left.iter().position(|label| !left.iter().any(|other| after[*other].contains(label)))
    {
        order.push(left.remove(next));
    }
    order
}

/// Returns whether the labels after `from` include `to`.
fn leads(after: &[Vec<Label>], from: Label, to: Label) -> bool {
    let mut seen = vec![false; after.len()];
    let mut stack = vec![from];
    while let Some(label) = stack.pop() {
        if label == to {
            return true;
        }
        if !std::mem::replace(&mut seen[label], true) {
            stack.extend(&after[label]);
        }
    }
    false
}
