//! Sorts of rows that are contiguous in memory.

use super::{Flat, FlatId, FlatNode, Kind};
use crate::Layout;
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::Sort;
use broadloom_ir::shape::Shape;
use smallvec::SmallVec;

impl Flat {
    /// Sorts along any axis: moves it to the end of a view, sorts, and moves it back.
    pub(super) fn in_order(&mut self, operand: FlatId, sort: Sort, dtype: DType, origin: ExprId) -> FlatId {
        let shape = self.node(operand).shape.clone();
        let last = shape.rank() - 1;
        let is_last = sort.axis == last;
        // The new position of each axis.
        let to_last: SmallVec<[usize; 4]> = (0..shape.rank())
            .map(|axis| if axis == sort.axis { last } else { axis - usize::from(axis > sort.axis) })
            .collect();
        let mut rows = shape.to_vec();
        for (axis, to) in to_last.iter().enumerate() {
            rows[*to] = shape[axis].clone();
        }
        let rows = Shape::from(rows);
        let operand = match is_last {
            true => operand,
            false => {
                let axes: SmallVec<[Option<usize>; 4]> = to_last.iter().copied().map(Some).collect();
                // The elements and their indices are sorted from one array.
                let is_same = |node: &FlatNode| match &node.kind {
                    Kind::Reindex { operand: of, axes: other } => {
                        *of == operand && *other == axes && node.shape == rows
                    }
                    _ => false,
                };
                match self.nodes.iter().position(is_same) {
                    Some(known) => FlatId::new(known),
                    None => {
                        let of = self.node(operand).dtype;
                        self.push(Kind::Reindex { operand, axes }, of, rows.clone(), origin)
                    }
                }
            }
        };
        let sorted = self.push(Kind::Sort { operand, sort }, dtype, rows, origin);
        self.store(sorted);
        if is_last {
            return sorted;
        }
        let back = |to: usize| to_last.iter().position(|place| *place == to);
        let axes = (0..shape.rank()).map(back).collect();
        self.push(Kind::Reindex { operand: sorted, axes }, dtype, shape, origin)
    }

    /// Returns the node for an output of a layout: the node itself, or a copy of it if it is a sort that already
    /// has an array, or if the rows of the caller's array are not contiguous.
    pub(super) fn output(&mut self, node: FlatId, layout: &Layout) -> FlatId {
        let is_whole =
            matches!(self.node(node).kind, Kind::Sort { .. }) || self.overwritten.contains_key(&node);
        if !is_whole || *layout == Layout::Dense && !self.outputs.contains(&node) {
            return node;
        }
        self.copy_of(node)
    }

    /// Adds a node of the elements of another.
    pub(super) fn copy_of(&mut self, node: FlatId) -> FlatId {
        let entry = self.node(node).clone();
        let axes = (0..entry.shape.rank()).map(Some).collect();
        self.push(Kind::Reindex { operand: node, axes }, entry.dtype, entry.shape, entry.origin)
    }
}
