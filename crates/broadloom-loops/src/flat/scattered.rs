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
    /// `None` if there is a single table, without an axis that counts them.
    pub tables: Option<Tables>,
    /// The first axis of a row.
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

impl Scattered {
    /// The axis of the rows.
    pub fn axis(&self) -> usize {
        usize::from(self.tables.is_some())
    }
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
        // They may read rows that are changed before them.
        for read in [indices, values] {
            let is_array = matches!(self.node(read).kind, Kind::Buffer(_));
            if !is_array && self.reaches(read, base) {
                self.replacements.push(read);
                self.store(read);
            }
        }
        let FlatNode { dtype, shape, .. } = self.node(base).clone();
        let indices = if is_of_caller { self.checked(indices, &shape[0], origin) } else { indices };
        self.over(base, |base| (Kind::Scatter { op, base, indices, values }, dtype, shape, origin))
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
                row: 2 + usize::from(compensated),
            },
            Kind::Scatter { op, base, indices, values } => Scattered {
                op,
                compensated: false,
                values,
                indices,
                before: Before::Array(base),
                tables: None,
                row: 1,
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
        | Node::View { view: View::Reshape, operand: base } = graph.node(expr)
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
