//! Arrays whose elements data choose: tables of segments, and arrays with rows replaced.

use super::{Flat, FlatId, Kind};
use broadloom_ir::dim::Dim;
use broadloom_ir::reduce::ReduceOp;

/// How values go to rows that indices choose.
pub(crate) struct Scattered {
    /// How they combine with the elements of the row; `None` if they replace these.
    pub op: Option<ReduceOp>,
    /// Whether the row has sums, and what rounding has lost of them.
    pub compensated: bool,
    pub values: FlatId,
    pub indices: FlatId,
    /// What the rows are before; the identity of the op if there is nothing.
    pub initial: Option<FlatId>,
    /// The number of tables, along the leading axis; `None` if there is only one, without such an axis.
    pub tables: Option<Dim>,
    /// The number of rows that a table takes in each block; `None` if it takes all of them in turn.
    pub taken: Option<Dim>,
    /// The first axis of a row.
    pub row: usize,
}

impl Flat {
    /// Returns how the elements of an array are chosen, if data choose them.
    pub fn scattered(&self, id: FlatId) -> Option<Scattered> {
        let node = self.node(id);
        Some(match node.kind {
            Kind::Segment { op, compensated, ref taken, values, ids, initial } => Scattered {
                op: Some(op),
                compensated,
                values,
                indices: ids,
                initial,
                tables: Some(node.shape[0].clone()),
                taken: Some(taken.clone()),
                row: 2 + usize::from(compensated),
            },
            Kind::Scatter { base, indices, values } => Scattered {
                op: None,
                compensated: false,
                values,
                indices,
                initial: Some(base),
                tables: None,
                taken: None,
                row: 1,
            },
            _ => return None,
        })
    }
}
