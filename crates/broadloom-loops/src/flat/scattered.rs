//! Arrays whose elements data choose: tables of segments, and arrays with rows changed.

use super::{Flat, FlatId, FlatNode, Kind};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Node, View};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use std::collections::HashSet;

/// How values go to rows that indices choose.
pub(crate) struct Scattered {
    /// How they combine with the elements of the row; `None` if they replace these.
    pub op: Option<Op>,
    /// Whether the row has sums, and what rounding has lost of them.
    pub compensated: bool,
    pub values: FlatId,
    pub indices: FlatId,
    pub before: Before,
    /// `None` if there is a single array, without an axis that counts tables.
    pub tables: Option<Tables>,
    /// The axis along which the indices choose.
    pub axis: usize,
    /// The first axis after it that is one of a row.
    pub row: usize,
}

/// What the rows are before.
#[derive(Clone, Copy)]
pub(crate) enum Before {
    Array(FlatId),
    Identity(ReduceOp),
}

/// Tables that share the indices, along the leading axis.
pub(crate) struct Tables {
    pub count: Dim,
    /// The number of indices that each takes in a block of them.
    pub taken: Dim,
}

impl Flat {
    /// Returns an array with rows changed, written over its base. If this is the caller's array, which must keep its elements if an
    /// index is out of range, all of them are checked first.
    pub(super) fn scatter(
        &mut self,
        op: Option<Op>,
        base: FlatId,
        [indices, values]: [FlatId; 2],
        is_of_caller: bool,
        origin: ExprId,
    ) -> FlatId {
        let (view, shown) = (base, self.permuted(base).map(|(array, axes)| (array, axes.to_vec())));
        let (base, axes) = shown.unwrap_or_else(|| (base, (0..self.node(base).shape.rank()).collect()));
        let axis = axes.iter().position(|to| *to == 0).unwrap_or(0);
        let values = self.in_order_of(axes.iter().filter(|to| **to != 0), indices, values);
        // They may read rows that are changed before them, or that were by changes before this one.
        let first = self.first_version(base);
        for read in [indices, values] {
            let is_array = matches!(self.node(read).kind, Kind::Buffer(_));
            if !is_array && self.reaches(read, first) {
                self.replacements.push(read);
                self.store(read);
            }
        }
        let FlatNode { dtype, shape, .. } = self.node(base).clone();
        let indices = if is_of_caller { self.checked(indices, &shape[axis], origin) } else { indices };
        let change = |base| (Kind::Scatter { op, base, axis, indices, values }, dtype, shape, origin);
        let changed = self.over(base, change);
        if base == view {
            return changed;
        }
        let FlatNode { dtype, shape, .. } = self.node(view).clone();
        let axes = axes.into_iter().map(Some).collect();
        self.push(Kind::Reindex { operand: changed, axes }, dtype, shape, origin)
    }

    /// Returns the tensor that changes in turn have made into this one.
    fn first_version(&self, mut id: FlatId) -> FlatId {
        loop {
            id = match self.node(id).kind {
                Kind::Set { base, .. } | Kind::Scatter { base, .. } | Kind::Reshape(base) => base,
                _ if let Some((array, _)) = self.permuted(id) => array,
                _ => return id,
            };
        }
    }

    /// Returns values for rows with their axes in the order of the array, whose axes other than that of the rows are these of the
    /// tensor that the values were made for.
    fn in_order_of<'a>(
        &mut self,
        others: impl Iterator<Item = &'a usize>,
        indices: FlatId,
        values: FlatId,
    ) -> FlatId {
        let FlatNode { dtype, shape, origin, .. } = self.node(values).clone();
        let chosen = self.node(indices).shape.rank();
        let from: Vec<usize> = (0..chosen).chain(others.map(|of| chosen + of - 1)).collect();
        if from.is_sorted() {
            return values;
        }
        let axes = (0..from.len()).map(|axis| from.iter().position(|of| *of == axis)).collect();
        let sizes = from.iter().map(|of| shape[*of].clone()).collect();
        self.push(Kind::Reindex { operand: values, axes }, dtype, sizes, origin)
    }

    /// Stores indices of an axis, counted from its start, before anything that needs them is written.
    fn checked(&mut self, indices: FlatId, size: &Dim, origin: ExprId) -> FlatId {
        let table = self.push(Kind::Iota, DType::I64, [size.clone()].into_iter().collect(), origin);
        let shape = self.node(indices).shape.clone();
        let checked = self.push(Kind::Take { table, indices, axis: 0 }, DType::I64, shape, origin);
        self.store(checked);
        checked
    }

    /// Returns how the elements of an array are chosen, if data choose them.
    pub fn scattered(&self, id: FlatId) -> Option<Scattered> {
        let node = self.node(id);
        Some(match node.kind {
            Kind::Segment { op, compensated, ref taken, values, ids, initial } => Scattered {
                op: Some(op.combine()),
                compensated,
                values,
                indices: ids,
                before: initial.map_or(Before::Identity(op), Before::Array),
                tables: Some(Tables { count: node.shape[0].clone(), taken: taken.clone() }),
                axis: 1,
                row: 2 + usize::from(compensated),
            },
            Kind::Scatter { op, base, axis, indices, values } => Scattered {
                op,
                compensated: false,
                values,
                indices,
                before: Before::Array(base),
                tables: None,
                axis,
                row: axis + 1,
            },
            _ => return None,
        })
    }
}

/// Returns the changes that make assigned values of the inputs that these replace.
pub(super) fn changes_in_place(graph: &CheckedGraph) -> HashSet<ExprId> {
    let mut changes = HashSet::new();
    for output in graph.outputs() {
        let mut expr = output.expr;
        let mut chain = Vec::new();
        while let Node::Set { base, .. }
        | Node::Scatter { base, .. }
        | Node::View { view: View::Reshape | View::Permute(_), operand: base } = graph.node(expr)
        {
            chain.push(expr);
            expr = *base;
        }
        if output.assigned.is_some_and(|input| matches!(graph.node(expr), Node::Input(of) if *of == input)) {
            changes.extend(chain);
        }
    }
    changes
}
