//! What is computed from sorted or running rows, and smaller than they are.
//!
//! ```text
//! t = sort d    m[i] = t[i, 5]    sum of m            m is stored: then t is used row by row
//! ```
//!
//! A reduction over rows reads them in an order of its own. If it read the rows themselves, all of them would have to be stored.

use super::Planner;
use crate::flat::{Flat, FlatId, Kind};
use crate::nest::AffineMap;
use crate::thresholds::MIN_BAND_BYTES;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::Sort;
use std::collections::{HashMap, HashSet};

/// Where rows are sorted or scanned.
#[derive(Debug)]
pub(super) struct Rows {
    /// The sort or scan from which each tensor is computed, through functions of its elements and choices of some.
    sources: Vec<Option<FlatId>>,
    /// The axes of tensors along which others walk: scans, and groups of their elements.
    walked: HashMap<FlatId, usize>,
}

/// Finds rows that are sorted or scanned.
pub(super) fn rows(flat: &Flat) -> Rows {
    let mut sources: Vec<Option<FlatId>> = Vec::with_capacity(flat.nodes.len());
    let mut walked = HashMap::new();
    for (index, node) in flat.nodes.iter().enumerate() {
        match &node.kind {
            Kind::Scan { operand, axis, .. } => drop(walked.insert(*operand, *axis)),
            Kind::Segment { values, .. } => drop(walked.insert(*values, 0)),
            _ => {}
        }
        let source = match &node.kind {
            Kind::Sort { .. } | Kind::Scan { .. } => Some(FlatId::new(index)),
            Kind::Segment { .. } | Kind::Scatter { .. } | Kind::TopK { .. } => None,
            kind => kind.operands().into_iter().find_map(|operand| sources[operand.index()]),
        };
        sources.push(source);
    }
    Rows { sources, walked }
}

impl Planner<'_> {
    /// Returns whether a tensor that is read under these maps has parts of sorted or running rows, over which its reader
    /// reduces or walks.
    pub(super) fn is_part_of_rows(&self, id: FlatId, maps: &HashSet<AffineMap>) -> bool {
        let Some(source) = self.rows.sources[id.index()].filter(|source| *source != id) else { return false };
        let rows = self.flat.node(source);
        let (Kind::Sort { sort: Sort { axis, .. }, .. } | Kind::Scan { axis, .. }) = rows.kind else {
            return false;
        };
        let part = &self.flat.node(id).shape;
        let is_smaller = part.len() < rows.shape.len() || !part.contains(&rows.shape[axis]);
        let bytes = Dim::product(&rows.shape)
            .ok()
            .and_then(|elements| elements.as_constant()?.checked_mul(rows.dtype.size() as i64));
        if !is_smaller || bytes.is_some_and(|bytes| bytes < MIN_BAND_BYTES) {
            return false;
        }
        let others = || rows.shape.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, size)| size);
        let is_of_rows = |size: &Dim| others().any(|other| other == size);
        let reduces_rows = |map: &AffineMap| {
            map.iter().zip(part).any(|(index, size)| {
                index.axis.is_some_and(|along| self.axes[along.index()].reduction) && is_of_rows(size)
            })
        };
        self.rows.walked.get(&id).is_some_and(|axis| is_of_rows(&part[*axis]))
            || maps.iter().any(reduces_rows)
    }
}
