//! Reductions of what two loops around move, each some of it: `(x[n, 1, d] * y[k, d]).sum(-1)`.

use super::{Form, Item, Placement};
use crate::kernel::{AxisId, Def, Order, ValueId};
use crate::nest::{NestAxis, bit};
use crate::thresholds::{MAX_CONTRACTED, MAX_CONTRACTED_OPS, MIN_CONTRACTED_ROWS, MIN_CONTRACTED_STRIP};
use broadloom_ir::dim::Dim;
use std::collections::HashSet;

/// A reduction inside two loops that is computed for blocks of both at once.
#[derive(Debug)]
pub(crate) struct Contraction {
    /// The loop inside the outer one.
    pub inner: AxisId,
    /// The loop of the reduction, inside that.
    pub reduction: AxisId,
    /// What the outer loop does not move: it comes into rows for a block of the reduction at once.
    pub packed: Vec<ValueId>,
}

impl Placement<'_, '_> {
    /// Finds the contractions, and gives the reductions that they are their form.
    pub(super) fn find_contractions(&mut self) {
        let found = self.nest.free.iter().filter_map(|outer| Some((*outer, self.contraction_in(*outer)?)));
        self.contractions = found.collect();
        for Contraction { reduction, .. } in self.contractions.values() {
            self.forms.insert(*reduction, Form::Contraction);
            self.dense.remove(reduction);
        }
    }

    /// The contraction in the loop over an axis, if there is one that is worth it.
    fn contraction_in(&self, outer: AxisId) -> Option<Contraction> {
        let nest = self.nest;
        let &[inner] = self.loops(Some(outer)).as_slice() else { return None };
        let &[reduction] = self.loops(Some(inner)).as_slice() else { return None };
        let is_plain = |axis: AxisId| {
            let NestAxis { group, part, .. } = &nest.axes[axis.index()];
            group.is_none() && part.is_none() && !self.is_counter(axis)
        };
        let is_free = |axis: AxisId| is_plain(axis) && !nest.axes[axis.index()].reduction;
        let reduced = self.reduced.get(&reduction)?;
        let is_ordered = |order: &Order| matches!(order, Order::Free | Order::Sequential | Order::Tree);
        if !self.is_vector()
            || !is_free(outer)
            || !is_free(inner)
            || !is_plain(reduction)
            || !self.orders.get(&reduction).is_some_and(is_ordered)
            || !self.loops(Some(reduction)).is_empty()
            || reduced.len() > MAX_CONTRACTED
            || !self.is_long(outer, MIN_CONTRACTED_ROWS)
            || !self.is_long(inner, MIN_CONTRACTED_STRIP)
        {
            return None;
        }
        // What stands in the outer loop alone would be done again for each strip of the inner one.
        let is_outer = |item: &Item| match item {
            Item::Value(value) => self.is_call(*value),
            Item::Loop(_) => false,
            Item::Store(_) => true,
        };
        let scatters = nest.stores.iter().any(|store| store.level == Some(inner) && store.scatter.is_some());
        let is_around = |value: &ValueId| [Some(outer), Some(inner)].contains(&self.position(*value));
        if scatters
            // Kept rows are read by blocks of their own length.
            || self.kept.keys().any(is_around)
            || self.items(Some(outer)).iter().any(is_outer)
            || self.read_from_outside(reduction).iter().any(is_around)
        {
            return None;
        }
        let is_indexed = |value: &ValueId| nest.reductions[value].operand.is_indexed();
        let body = self.subtree(reduction);
        if reduced.iter().any(is_indexed) || body.iter().any(|value| !self.is_contracted(*value)) {
            return None;
        }
        let packed = self.packed(outer, inner, reduction, &body)?;
        Some(Contraction { inner, reduction, packed })
    }

    /// What comes into rows of the body of a reduction, if that is worth it: what the outer loop does not move, nor
    /// anything around, with all that is computed of it alone.
    fn packed(
        &self,
        outer: AxisId,
        inner: AxisId,
        reduction: AxisId,
        body: &[ValueId],
    ) -> Option<Vec<ValueId>> {
        let nest = self.nest;
        let (rows, strip) = (bit(outer), bit(inner));
        let along = |value: ValueId| nest.varies[value.index()] & (rows | strip);
        let is_load = |value: &&ValueId| matches!(nest.values[value.index()].def, Def::Load { .. });
        let mut loads = body.iter().filter(is_load);
        if loads.clone().any(|load| along(*load) == rows | strip) || !loads.any(|load| along(*load) == rows) {
            return None;
        }
        let ops = body.iter().filter(|value| along(**value) & rows != 0 && !is_load(value)).count();
        if ops > MAX_CONTRACTED_OPS || body.len() > 2 * MAX_CONTRACTED_OPS {
            return None;
        }
        // Operands stand before what is computed of them.
        let mut alone: HashSet<ValueId> = HashSet::new();
        for value in body.iter().copied().filter(|value| along(*value) & rows == 0) {
            let is_known = |source: &ValueId| {
                let def = &nest.values[source.index()].def;
                alone.contains(source) || matches!(def, Def::Constant(_) | Def::Param(_))
            };
            let is_alone = match &nest.values[value.index()].def {
                Def::Index(axis) => *axis == inner || *axis == reduction,
                _ => self.sources(value).iter().all(is_known),
            };
            if is_alone {
                alone.insert(value);
            }
        }
        let is_used = |value: ValueId| {
            let users = body.iter().filter(|user| !alone.contains(user));
            let mut users = users.chain(&self.reduced[&reduction]);
            users.any(|user| self.sources(*user).contains(&value))
        };
        let is_packed = |value: &ValueId| alone.contains(value) && along(*value) == strip && is_used(*value);
        let packed: Vec<ValueId> = body.iter().copied().filter(is_packed).collect();
        (1..=MAX_CONTRACTED).contains(&packed.len()).then_some(packed)
    }

    /// The sizes that contractions take to be long, and how long.
    pub(super) fn contracted_sizes(&self) -> Vec<(Dim, i64)> {
        let mut sizes = Vec::new();
        for (outer, Contraction { inner, .. }) in &self.contractions {
            for (axis, least) in [(*outer, MIN_CONTRACTED_ROWS), (*inner, MIN_CONTRACTED_STRIP)] {
                let extent = &self.nest.axes[axis.index()].extent;
                if extent.as_constant().is_none() {
                    sizes.push((extent.clone(), least));
                }
            }
        }
        sizes
    }

    /// Whether an axis is as long, or taken to be.
    fn is_long(&self, axis: AxisId, least: i64) -> bool {
        let extent = self.nest.axes[axis.index()].extent.as_constant();
        extent.map_or(self.options.long_rows, |extent| extent >= least)
    }

    /// Whether a value can be computed for blocks of several axes in any order: nothing that fails on data, and no
    /// function of whole rows.
    fn is_contracted(&self, value: ValueId) -> bool {
        match &self.nest.values[value.index()].def {
            Def::Op { position, .. } => position.is_none() && !self.is_call(value),
            Def::Load { access, .. } => self.nest.accesses[access.index()].gathered.is_none(),
            Def::Constant(_) | Def::Param(_) | Def::Index(_) | Def::Select(_) | Def::Cast(_) => true,
            Def::Row(..) | Def::Take { .. } | Def::Segment { .. } | Def::Reduced => false,
        }
    }
}
