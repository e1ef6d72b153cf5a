//! Sizes as numbers: some symbols of a graph are fixed to numbers, and what masks select is counted.

use super::{Checked, CheckedGraph, Entry, Node, Substitution};
use crate::dim::{Dim, DimError};
use crate::ids::{ExprId, SymbolId};
use crate::reduce::ReduceOp;
use crate::shape::Shape;
use smallvec::smallvec;
use std::collections::HashMap;
use std::sync::Arc;

impl CheckedGraph {
    /// Returns the same expressions, ids and symbols with numbers in place of some symbols, in units of the
    /// symbols. A size that becomes 1 does not stretch: stretching was decided when the graph was made.
    ///
    /// # Errors
    /// Returns an error if a size overflows.
    pub fn with_sizes(&self, sizes: &[(SymbolId, i64)]) -> Result<CheckedGraph, DimError> {
        if sizes.is_empty() {
            return Ok(self.clone());
        }
        let found: HashMap<SymbolId, Dim> =
            sizes.iter().map(|&(symbol, value)| (symbol, Dim::constant(value))).collect();
        let mut checked = Checked::clone(&self.0);
        checked.solutions.retain(|solution| !found.contains_key(&solution.symbol));
        let mut found = Substitution { values: found, error: None };
        for entry in &mut checked.entries {
            found.apply_to(&mut entry.shape);
            entry.node.visit_dims(&mut |dim| *dim = found.apply(dim));
        }
        for input in &mut checked.inputs {
            found.apply_to(&mut input.shape);
        }
        for size in checked.declared.values_mut() {
            *size = found.apply(size);
        }
        for obligation in &mut checked.obligations {
            obligation.demand = obligation.demand.map(&mut |dim| found.apply(dim));
        }
        match found.error {
            Some(error) => Err(error),
            None => Ok(CheckedGraph(Arc::new(checked))),
        }
    }

    /// Returns the same expressions and ids, and behind them how many elements each mask selects (`i64`). A mask has one axis.
    pub(crate) fn with_counts(&self, masks: &[ExprId]) -> CheckedGraph {
        if masks.is_empty() {
            return self.clone();
        }
        let mut checked = Checked::clone(&self.0);
        for mask in masks {
            let op = ReduceOp::Sum;
            checked.entries.push(Entry {
                node: Node::Reduce { op, operand: *mask, axes: smallvec![0], keepdims: false },
                dtype: op.result_dtype(self.dtype(*mask)),
                shape: Shape::scalar(),
                site: self.site(*mask),
                call: None,
            });
        }
        CheckedGraph(Arc::new(checked))
    }
}
