//! The loops of arrays whose elements data choose, and what is read in them.

use super::{Planner, Space};
use crate::LowerError;
use crate::flat::{Before, FlatId, Scattered};
use crate::nest::{AffineIndex, AffineMap};
use broadloom_ir::dim::Dim;
use broadloom_ir::reduce::SEGMENT_BLOCK;
use smallvec::smallvec;
use std::rc::Rc;

impl Planner<'_> {
    /// Adds the loops over the array, and those over the indices of each table, block by block, and over the axes of a row.
    pub(super) fn demand_scattered(
        &mut self,
        id: FlatId,
        scattered: &Scattered,
        space: &Space,
        sizes: &Rc<[Dim]>,
    ) -> Result<(), LowerError> {
        let flat = self.flat;
        let shape = &flat.node(id).shape;
        let Scattered { before, indices, values, ref tables, axis, row, .. } = *scattered;
        let lengths: Vec<Dim> = scattered.ranges.iter().map(|range| range.length.clone()).collect();
        let table = tables.as_ref().map(|tables| self.free_axis(space, None, &tables.count, sizes));
        let outer: AffineMap = match table {
            Some(table) => smallvec![AffineIndex::along(table)],
            None => self.chain(space, None, &lengths[..axis], sizes),
        };
        let around = outer.iter().rev().find_map(|index| index.axis);
        if let Before::Array(before) = before {
            let mut map: AffineMap = table.iter().map(|table| AffineIndex::along(*table)).collect();
            map.extend(self.chain(space, table, &shape[map.len()..], sizes));
            self.demand(before, map);
        }
        let indexed = &flat.node(indices).shape;
        let along: AffineMap = match table {
            Some(table) => {
                let blocks = indexed[0].ceil_div(SEGMENT_BLOCK as i64)?;
                let block = self.free_axis(space, Some(table), &blocks, sizes);
                let along = self.free_axis(space, Some(block), &indexed[0], sizes);
                self.axes[along.index()].counters = smallvec![block, table];
                smallvec![AffineIndex::along(along)]
            }
            None => self.chain(space, around, indexed, sizes),
        };
        let around = along.iter().rev().find_map(|index| index.axis).or(around);
        let mut of_values = along.clone();
        if table.is_none() {
            of_values.extend(outer);
        }
        of_values.extend(self.chain(space, around, &lengths[row..], sizes));
        self.demand(indices, along);
        self.demand(values, of_values);
        Ok(())
    }
}
