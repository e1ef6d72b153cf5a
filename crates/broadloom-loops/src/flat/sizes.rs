//! What a graph says about sizes: the conditions that each call checks, and shapes with numbers in place of symbols.

use crate::LowerError;
use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{CheckedGraph, Demand};
use broadloom_ir::shape::Shape;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Returns what each call of a graph checks, without what follows from other conditions: of `n >= 1` and `n >= 2`, the second.
pub(super) fn conditions(graph: &CheckedGraph) -> Vec<Demand> {
    let mut conditions: Vec<Demand> = Vec::new();
    // By what two numbers that differ by a constant have in common.
    let mut known: HashMap<Dim, (usize, i64)> = HashMap::new();
    for obligation in graph.obligations() {
        let Demand::NonNegative(number) = &obligation.demand else {
            conditions.push(obligation.demand.clone());
            continue;
        };
        let constant = number.constant_term();
        let Ok(common) = number.sub(&Dim::constant(constant)) else {
            conditions.push(obligation.demand.clone());
            continue;
        };
        match known.entry(common) {
            Entry::Occupied(mut entry) => {
                let (place, least) = entry.get_mut();
                if constant < *least {
                    *least = constant;
                    conditions[*place] = obligation.demand.clone();
                }
            }
            Entry::Vacant(entry) => {
                entry.insert((conditions.len(), constant));
                conditions.push(obligation.demand.clone());
            }
        }
    }
    conditions
}

/// Replaces some symbols in shapes by numbers.
pub(super) fn with_sizes(shapes: &[Shape], sizes: &[(SymbolId, i64)]) -> Result<Vec<Shape>, LowerError> {
    let put = |dim: &Dim| {
        sizes
            .iter()
            .try_fold(dim.clone(), |dim, &(symbol, value)| dim.substitute(symbol, &Dim::constant(value)))
    };
    shapes.iter().map(|shape| Ok(shape.iter().map(put).collect::<Result<_, _>>()?)).collect()
}
