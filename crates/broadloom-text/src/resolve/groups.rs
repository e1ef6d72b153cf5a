//! Axes whose positions mean something: the groups of a column of text, and the rows of an input.
//!
//! The result of `segment_sum(v, city)` has one element for each text of `city`, in their order. Beside the groups of a column
//! with other texts, or beside rows, its positions would mean different things, so that equal sizes are a coincidence. The
//! resolver follows such axes through the graph, as it follows codes.

use super::text::Texts;
use super::{Outcome, Resolver};
use crate::error::{Mistake, Problem};
use crate::print::quoted;
use crate::source::Span;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Graph, Node, ValueOf, View};
use broadloom_ir::ops::Op;
use broadloom_ir::shape::Shape;
use std::collections::HashMap;

/// What the positions along an axis are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The groups of the column of text with this number.
    Groups(usize),
    /// The rows of the input with this number.
    Rows(usize),
}

/// The meanings of the axes of an expression.
type Axes = Vec<Option<Meaning>>;

/// The meanings of the axes of expressions that have some.
#[derive(Debug, Default)]
pub(super) struct Groups(HashMap<ExprId, Axes>);

impl Groups {
    /// Gives a value of the steps of a loop the axes of what it begins with, from one on.
    pub(super) fn add_like(&mut self, expr: ExprId, other: ExprId, first: usize) {
        if let Some(axes) = self.0.get(&other) {
            let axes = axes.iter().skip(first).copied().collect();
            self.0.insert(expr, axes);
        }
    }
}

/// Meanings of axes that may not meet.
struct Clash([Meaning; 2]);

/// Axes as they meet each other.
struct Meeting<'a> {
    graph: &'a Graph,
    known: &'a Groups,
    texts: &'a Texts<'a>,
}

impl Meeting<'_> {
    fn of(&self, expr: ExprId) -> Axes {
        let rank = || vec![None; self.graph.shape(expr).rank()];
        self.known.0.get(&expr).cloned().unwrap_or_else(rank)
    }

    /// The meaning of an axis that has both.
    fn common(&self, left: Option<Meaning>, right: Option<Meaning>) -> Result<Option<Meaning>, Clash> {
        let (Some(of_left), Some(of_right)) = (left, right) else { return Ok(left.or(right)) };
        let is_same = match (of_left, of_right) {
            (Meaning::Groups(left), Meaning::Groups(right)) => self.texts.are_alike([left, right]),
            (Meaning::Rows(_), Meaning::Rows(_)) => true,
            (Meaning::Groups(_), Meaning::Rows(_)) | (Meaning::Rows(_), Meaning::Groups(_)) => false,
        };
        if is_same { Ok(left) } else { Err(Clash([of_left, of_right])) }
    }

    fn all_common(&self, of: impl IntoIterator<Item = Option<Meaning>>) -> Result<Option<Meaning>, Clash> {
        of.into_iter().try_fold(None, |found, next| self.common(found, next))
    }

    /// The axes of a result of which these are the axes, aligned at the last one.
    fn merged(&self, rank: usize, operands: &[Axes]) -> Result<Axes, Clash> {
        let at = |axes: &Axes, axis: usize| (axis + axes.len()).checked_sub(rank).and_then(|own| axes[own]);
        (0..rank).map(|axis| self.all_common(operands.iter().map(|axes| at(axes, axis)))).collect()
    }

    /// The axes of an operand, without those that stretch.
    fn unstretched(&self, shape: &Shape, operand: ExprId) -> Axes {
        let own = self.graph.shape(operand);
        let new = shape.rank().saturating_sub(own.rank());
        let axes = self.of(operand).into_iter().enumerate();
        axes.map(|(axis, of)| of.filter(|_| own.get(axis) == shape.get(axis + new))).collect()
    }

    /// Checks that groups are chosen by codes of their own column, where numbers are codes of one.
    fn choose(&self, groups: Option<Meaning>, positions: ExprId) -> Result<(), Clash> {
        let codes = self.codes(positions).map(Meaning::Groups);
        match groups {
            Some(Meaning::Groups(_)) => self.common(groups, codes).map(|_| ()),
            Some(Meaning::Rows(_)) | None => Ok(()),
        }
    }

    /// The column of text of which numbers are codes.
    fn codes(&self, mut expr: ExprId) -> Option<usize> {
        loop {
            if let Some(column) = self.texts.number(expr) {
                return Some(column);
            }
            expr = match self.graph.node(expr) {
                // `astype(i64)` is the number itself.
                Node::Elementwise { op: Op::Positive, operands } => operands[0],
                Node::Cast(operand) | Node::View { operand, .. } | Node::Compress { operand, .. } => *operand,
                Node::Sort { operand, sort } if !sort.indices => *operand,
                Node::Take { table, .. } => *table,
                _ => return None,
            };
        }
    }

    fn of_node(&self, expr: ExprId) -> Result<Axes, Clash> {
        let shape = self.graph.shape(expr);
        let rank = shape.rank();
        let nothing = || Ok(vec![None; rank]);
        let without = |mut axes: Axes, axis: usize| {
            axes.get_mut(axis).into_iter().for_each(|of| *of = None);
            axes
        };
        match self.graph.node(expr) {
            Node::Input(input) if rank > 0 => {
                let rows = [Some(Meaning::Rows(input.index()))];
                Ok(rows.into_iter().chain(vec![None; rank - 1]).collect())
            }
            Node::Segment { values, ids, .. } => {
                let (values, of_ids) = (self.of(*values), self.of(*ids));
                self.common(values.first().copied().flatten(), of_ids.first().copied().flatten())?;
                let group = self.texts.number(*ids).map(Meaning::Groups);
                let rest = values.get(1..).unwrap_or_default();
                // Sums and what rounding lost may have an axis of their own after that of the groups.
                let between = rank.saturating_sub(2 + rest.len());
                let axes = [None, group].into_iter().chain(vec![None; between]);
                Ok(axes.chain(rest.iter().copied()).collect())
            }
            Node::Elementwise { .. } | Node::Select { .. } | Node::Cast(_) => {
                let operands = self.graph.node(expr).operands();
                let operands: Vec<Axes> =
                    operands.iter().map(|operand| self.unstretched(&shape, *operand)).collect();
                self.merged(rank, &operands)
            }
            Node::Concat { operands, axis } => {
                let all: Vec<Axes> = operands.iter().map(|operand| self.of(*operand)).collect();
                let along: Vec<Option<Meaning>> =
                    all.iter().map(|axes| axes.get(*axis).copied().flatten()).collect();
                let others: Vec<Axes> = all.into_iter().map(|axes| without(axes, *axis)).collect();
                let mut merged = self.merged(rank, &others)?;
                // Parts of different meanings, one after the other, have none.
                if let Some(first) = along.first()
                    && along.iter().all(|of| of == first)
                {
                    merged[*axis] = *first;
                }
                Ok(merged)
            }
            Node::Reduce { operand, axes, keepdims, .. } => {
                let all = self.of(*operand).into_iter().enumerate();
                Ok(match keepdims {
                    true => all.map(|(axis, of)| of.filter(|_| !axes.contains(&axis))).collect(),
                    false => all.filter(|(axis, _)| !axes.contains(axis)).map(|(_, of)| of).collect(),
                })
            }
            // Sorted elements are at the places of their order.
            Node::Sort { operand, sort } => Ok(without(self.of(*operand), sort.axis)),
            Node::TopK { operand, topk } => Ok(without(self.of(*operand), topk.axis)),
            Node::Scan { operand, .. } => Ok(self.of(*operand)),
            Node::Search { values, .. } => Ok(self.of(*values)),
            Node::Compress { operand, mask, axis } => {
                let axes = self.of(*operand);
                let of_mask = self.of(*mask).first().copied().flatten();
                self.common(axes.get(*axis).copied().flatten(), of_mask)?;
                Ok(axes)
            }
            Node::Take { table, indices, axis } => {
                let table = self.of(*table);
                self.choose(table.get(*axis).copied().flatten(), *indices)?;
                let indices = self.of(*indices);
                let after = table.iter().skip(axis + 1);
                Ok(table.iter().take(*axis).chain(&indices).chain(after).copied().collect())
            }
            Node::Set { base, value, .. } => {
                self.merged(rank, &[self.of(*base), self.of(*value)])?;
                Ok(self.of(*base))
            }
            Node::Scatter { base, indices, values, .. } => {
                self.choose(self.of(*base).first().copied().flatten(), *indices)?;
                let (indices, values) = (self.of(*indices), self.of(*values));
                let leading = values.get(..indices.len()).unwrap_or_default().to_vec();
                let rest = values.get(indices.len()..).unwrap_or_default().to_vec();
                self.merged(indices.len(), &[indices.clone(), leading])?;
                self.merged(rank, &[self.of(*base), rest])?;
                Ok(self.of(*base))
            }
            Node::View { view, operand } => Ok(self.of_view(view, &shape, *operand)),
            Node::Loop { repeated, result } => {
                let leading = |array: &ExprId| self.of(*array).first().copied().flatten();
                let steps = self.all_common(repeated.rows.iter().map(leading))?;
                match repeated.value_of(*result) {
                    ValueOf::Carried(number) => {
                        let carried = &repeated.carried[number];
                        self.merged(rank, &[self.of(carried.initial), self.of(carried.next)])
                    }
                    ValueOf::Stacked(value) => Ok(std::iter::once(steps).chain(self.of(value)).collect()),
                }
            }
            // Those of a step are known since its loop began.
            Node::Step { .. } => Ok(self.of(expr)),
            Node::Input(_) | Node::Constant(_) | Node::Iota | Node::Size(_) | Node::Poison => nothing(),
        }
    }

    fn of_view(&self, view: &View, shape: &Shape, operand: ExprId) -> Axes {
        let axes = self.of(operand);
        let at = |axis: usize| axes.get(axis).copied().flatten();
        match view {
            View::Permute(permutation) => permutation.iter().map(|axis| at(*axis)).collect(),
            View::ExpandDims(new) => {
                let mut rest = axes.iter().copied();
                let axis = |axis| if new.contains(&axis) { None } else { rest.next().flatten() };
                (0..shape.rank()).map(axis).collect()
            }
            View::Squeeze(gone) => {
                let kept = axes.iter().enumerate().filter(|(axis, _)| !gone.contains(axis));
                kept.map(|(_, of)| *of).collect()
            }
            View::BroadcastTo => {
                let new = shape.rank().saturating_sub(axes.len());
                vec![None; new].into_iter().chain(self.unstretched(shape, operand)).collect()
            }
            // A part of the groups is no other column's.
            View::Rebind | View::Slice(_) => axes,
            View::Windows(_) => axes.into_iter().chain([None]).collect(),
            View::Reshape => {
                // Leading axes of equal sizes are the same ones, and trailing ones.
                let own = self.graph.shape(operand);
                let same = |pair: &(&Dim, &Dim)| pair.0 == pair.1;
                let front = own.iter().zip(shape.iter()).take_while(same).count();
                let back = own.iter().rev().zip(shape.iter().rev()).take_while(same).count();
                let (rank, of) = (shape.rank(), own.rank());
                let from = |axis: usize| match axis {
                    axis if axis < front => at(axis),
                    axis if axis + back >= rank => (axis + of).checked_sub(rank).and_then(at),
                    _ => None,
                };
                (0..rank).map(from).collect()
            }
        }
    }
}

impl Resolver<'_> {
    /// Follows the axes of an expression.
    pub(super) fn follow_axes(&mut self, expr: ExprId, span: Span) -> Outcome<()> {
        let meeting = Meeting { graph: &self.graph, known: &self.groups, texts: &self.texts };
        match meeting.of_node(expr) {
            Ok(axes) => {
                if axes.iter().any(Option::is_some) {
                    self.groups.0.insert(expr, axes);
                }
                Ok(())
            }
            Err(clash) => Err(self.groups_meet(&clash, span)),
        }
    }

    /// The mistake of groups that meet other groups, or rows.
    fn groups_meet(&self, Clash(sides): &Clash, span: Span) -> Box<Mistake> {
        let name = |meaning: &Meaning| {
            quoted(match meaning {
                Meaning::Groups(column) => self.texts.name(*column),
                Meaning::Rows(input) => self.graph.inputs().get(*input).map_or("", |input| &*input.name),
            })
        };
        let described = |meaning: &Meaning| match meaning {
            Meaning::Groups(_) => format!("the groups of `{}`", name(meaning)),
            Meaning::Rows(_) => format!("the rows of `{}`", name(meaning)),
        };
        let [left, right] = sides.each_ref().map(|side| described(side).into());
        let mistake = Mistake::new(Problem::Groups { left, right }, span);
        Box::new(match sides {
            [groups @ Meaning::Groups(_), rows @ Meaning::Rows(_)]
            | [rows @ Meaning::Rows(_), groups @ Meaning::Groups(_)] => {
                let (column, rows) = (name(groups), name(rows));
                mistake
                    .help(format!("for each row, the result of its group is `result[{column}.astype(i64)]`"))
                    .help(format!("to group the rows as well, write `segment_sum({rows}, {column})`"))
                    .help(format!(
                        "if `{rows}` has one row for each group, in the order of the texts, write `{rows}[arange(len({rows}))]`"
                    ))
            }
            [left, right] => mistake.help(format!(
                "their texts differ: to give both a group for each text of either, first write `let both = isin({}, {})`",
                name(left),
                name(right)
            )),
        })
    }
}
