//! The best elements along an axis: a walk along it, then a loop over their places.

use super::roots::Shared;
use super::{AffineIndex, AffineMap, Nest, NestAxis, NestReduction, NestStore, Target, bit};
use crate::LowerError;
use crate::flat::{Flat, FlatId, Kind};
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::TopK;
use std::collections::HashMap;

/// The result of a walk along an axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// The axis of the places.
    pub places: AxisId,
    /// The number of places.
    pub k: usize,
    /// Whether the greatest are requested.
    pub largest: bool,
    /// The elements.
    pub operand: ValueId,
}

impl<'a> Nest<'a> {
    /// Builds the best elements of one operand along one axis, and their indices, in one walk over it:
    ///
    /// ```text
    /// for n, .. { for m { element; best of them }   for place { store value, index } }
    /// ```
    pub fn of_best(
        flat: &'a Flat,
        stored: &'a HashMap<FlatId, BufferId>,
        roots: &[Target],
        narrow: bool,
    ) -> Result<Nest<'a>, LowerError> {
        let mut nest = Nest::empty(flat, stored, roots, narrow);
        let Kind::TopK { operand, topk: TopK { axis, k, largest, .. } } = flat.node(roots[0].0).kind else {
            return Ok(nest);
        };
        let shape = &flat.node(operand).shape;
        let around: Vec<(usize, &Dim)> =
            shape.iter().enumerate().filter(|(of, size)| *of != axis && !size.is_one()).collect();
        let (level, indices) = nest.chain(None, &around, &mut Shared::new())?;
        let mut map: AffineMap = shape.iter().map(|_| AffineIndex::at(0)).collect();
        for ((of, _), index) in around.iter().zip(indices) {
            map[*of] = index;
        }
        let walk = nest.axis(NestAxis { reduction: true, ..NestAxis::free(shape[axis].clone(), level) })?;
        let places = nest.free_axis(level, Dim::constant(k as i64))?;
        let along = |of: AxisId| {
            let mut map = map.clone();
            map[axis] = AffineIndex::along(of);
            map
        };
        nest.innermost = Some(walk);
        let element = nest.instantiate(operand, along(walk))?;
        // 16-bit floats are compared in the form that they have in registers.
        let dtype = flat.node(operand).dtype.arithmetic();
        let depends = nest.depends[element.index()];
        let element = match nest.values[element.index()].dtype == dtype {
            true => element,
            false => nest.value(Def::Cast(element), dtype, depends, operand),
        };
        let varies = nest.varies[element.index()] & !bit(walk) | bit(places);
        let depends = depends & !bit(walk) | level.map_or(0, bit) | bit(places);
        for (root, targets) in roots {
            let Kind::TopK { topk, .. } = flat.node(*root).kind else { continue };
            let value = nest.fresh(Def::Reduced, flat.node(*root).dtype, depends, varies, *root);
            let operand = Contribution::Value(element);
            nest.reductions.insert(value, NestReduction { axis: walk, op: topk.first(), dtype, operand });
            for &target in targets {
                let (access, delta) = nest.address(target, &along(places))?;
                let level = Some(places);
                nest.stores.push(NestStore { access, delta, value, level, scatter: None });
            }
        }
        nest.found.insert(walk, Found { places, k, largest, operand: element });
        Ok(nest)
    }

    /// Returns the axis of the places along which a value lies in a row, if a walk found it.
    pub fn places_of(&self, value: ValueId) -> Option<AxisId> {
        let reduction = self.reductions.get(&value)?;
        self.found.get(&reduction.axis).map(|found| found.places)
    }

    /// Returns whether the loop over an axis runs through places.
    pub fn is_over_places(&self, axis: AxisId) -> bool {
        self.found.values().any(|found| found.places == axis)
    }
}
