//! Loads and stores of short rows, such as the columns of `x[n, 3]`: neighbouring lanes have all elements of a row, one row
//! after the other. Rows are read and written as a whole, and shuffled.

use super::Generator;
use crate::emit::{LaneStride, VECTOR_BYTES, Val};
use crate::thresholds::MAX_SHORT_ROW;
use broadloom_loops::kernel::*;
use std::collections::{BTreeMap, HashMap};

/// What is stored in the row of each lane.
pub(super) struct StoredRow {
    access: AccessId,
    /// The place of the first element, as in [`Stmt::Store`].
    start: i64,
    lanes: usize,
    values: Vec<ValueId>,
}

impl Generator<'_, '_, '_> {
    /// Returns the elements of the rows that a value is an element of, if statements from it on read all others.
    pub(super) fn loaded_rows(&mut self, value: ValueId, body: &[Stmt]) -> Vec<(ValueId, Val)> {
        let kernel = self.kernel;
        let Def::Load { access, delta: wanted } = kernel.values[value.index()].def else { return Vec::new() };
        let dtype = kernel.accesses[access.index()].dtype;
        let Some((lanes, count)) = self.short_row(access) else { return Vec::new() };
        // A store may write what is read after it, except to scratch rows.
        let lets = body.iter().map_while(|stmt| match stmt {
            Stmt::Let(id) => Some(Some(*id)),
            Stmt::Put { .. } => Some(None),
            _ => None,
        });
        let elements: BTreeMap<i64, ValueId> = lets
            .flatten()
            .filter_map(|id| match kernel.values[id.index()].def {
                Def::Load { access: other, delta } if other == access => Some((delta, id)),
                _ => None,
            })
            .collect();
        let mut starts = wanted - (count - 1)..=wanted;
        let Some(start) = starts.find(|start| elements.range(*start..start + count).count() as i64 == count)
        else {
            return Vec::new();
        };
        let address = self.address(access, start);
        let read = self.emit.load_short_rows(address, dtype, count as usize, lanes);
        elements.range(start..start + count).map(|(_, id)| *id).zip(read).collect()
    }

    /// Returns the number of lanes, and the number of elements from the first of one to that of the next, if rows of so many
    /// can be loaded and stored as a whole.
    fn short_row(&mut self, access: AccessId) -> Option<(usize, i64)> {
        let dtype = self.kernel.accesses[access.index()].dtype;
        let Some((lanes, LaneStride::Bytes(bytes))) = self.lane_stride(access) else { return None };
        let host = self.emit.host;
        let count = bytes / dtype.size() as i64;
        // Several registers are full, and one has parts of 16 bytes at least.
        let part = host.vector_bytes.min((lanes * dtype.size()).max(VECTOR_BYTES)) / dtype.size();
        let fills = lanes.is_multiple_of(part)
            && lanes as i64 * bytes < (host.vector_registers() * host.vector_bytes) as i64;
        let is_short = (2..=MAX_SHORT_ROW).contains(&count) && fills;
        (is_short && self.emit.has_short_rows(dtype, count as usize)).then_some((lanes, count))
    }

    /// Returns, for each statement that stores one of all elements of a row, such as the columns of `o[n, 3]`, the whole row
    /// if it is the last such statement, and nothing else. Between them are only statements that read none of these elements:
    /// lowering has proven that all that are read in an array are read before they are written.
    pub(super) fn stored_rows(&mut self, body: &[Stmt]) -> HashMap<usize, Option<StoredRow>> {
        let mut rows = HashMap::new();
        if self.vector.is_none() {
            return rows;
        }
        let is_between = |stmt: &Stmt| matches!(stmt, Stmt::Let(_) | Stmt::Put { .. } | Stmt::Store { .. });
        let mut index = 0;
        for run in body.chunk_by(|one, next| is_between(one) && is_between(next)) {
            let mut stores: BTreeMap<AccessId, BTreeMap<i64, (usize, ValueId)>> = BTreeMap::new();
            for (stmt, at) in run.iter().zip(index..) {
                if let Stmt::Store { access, delta, value } = stmt {
                    stores.entry(*access).or_default().insert(*delta, (at, *value));
                }
            }
            index += run.len();
            for (access, elements) in stores.into_iter().filter(|(_, elements)| elements.len() > 1) {
                let Some((lanes, count)) = self.short_row(access) else { continue };
                let mut free = i64::MIN;
                for start in elements.keys().copied() {
                    let row = elements.range(start..start + count).map(|(_, element)| *element);
                    let (places, values): (Vec<usize>, Vec<ValueId>) = row.unzip();
                    if start < free || values.len() < count as usize {
                        continue;
                    }
                    free = start + count;
                    let last = places.iter().copied().max();
                    rows.extend(places.into_iter().map(|at| (at, None)));
                    rows.extend(last.map(|at| (at, Some(StoredRow { access, start, lanes, values }))));
                }
            }
        }
        rows
    }

    /// Stores the rows of all lanes.
    pub(super) fn store_rows(&mut self, row: &StoredRow) {
        let address = self.address(row.access, row.start);
        let elements: Vec<Val> = row
            .values
            .iter()
            .map(|value| {
                let value = self.get(*value);
                self.emit.splat(&value, row.lanes)
            })
            .collect();
        self.emit.store_short_rows(address, &elements);
    }
}
