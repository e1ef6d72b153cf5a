//! An aggregate of many groups at once.

use crate::meter::metered;
use crate::plan::Plan;
use crate::scalar::joined;
use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef, BooleanArray, LargeBinaryArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use broadloom_arrow::{GroupStates, Grouping};
use datafusion_common::arrow::compute::filter as kept;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// The rows of all groups so far.
pub(crate) struct Groups {
    plan: Arc<Plan>,
    /// The type of the result.
    result: DataType,
    states: GroupStates,
}

impl Groups {
    pub(crate) fn new(plan: Arc<Plan>, result: &DataType) -> Result<Groups> {
        let states = grouping(&plan)?.states();
        Ok(Groups { plan, result: result.clone(), states })
    }

    fn taken(&mut self, emit: EmitTo) -> GroupStates {
        let groups = match emit {
            EmitTo::All => self.states.groups(),
            EmitTo::First(groups) => groups,
        };
        self.states.take(groups)
    }

    fn add(
        &self,
        states: &mut GroupStates,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        // Lists that a filter leaves out may have any length.
        if let Some(filter) = filter.filter(|filter| !self.plan.is_fixed() && filter.len() == groups.len()) {
            let mask = match filter.nulls() {
                Some(nulls) => filter.values() & nulls.inner(),
                None => filter.values().clone(),
            };
            let groups: Vec<usize> = mask.set_indices().filter_map(|row| groups.get(row).copied()).collect();
            let mask = BooleanArray::new(mask, None);
            let kept = values.iter().map(|values| Ok(kept(values, &mask)?));
            let kept = kept.collect::<Result<Vec<ArrayRef>>>()?;
            return self.add(states, &kept, &groups, None, count);
        }
        let columns = self.plan.columns(values)?;
        let grouping = grouping(&self.plan)?;
        let rows = groups.len();
        let updated = metered(&self.plan, rows, || grouping.update(states, &columns, groups, filter, count));
        updated.map_err(|error| self.plan.failed(error))
    }

    fn written(states: &GroupStates) -> Result<Vec<ArrayRef>> {
        let lengths = std::iter::repeat_n(states.record_bytes(), states.groups());
        let records =
            LargeBinaryArray::try_new(OffsetBuffer::from_lengths(lengths), states.write().into(), None)?;
        Ok(vec![Arc::new(records)])
    }
}

/// Returns the aggregate of many groups, which a plan has if its function says so.
fn grouping(plan: &Plan) -> Result<&Grouping> {
    match plan.grouping()? {
        Some(grouping) => Ok(grouping),
        None => exec_err!("the aggregate is computed group by group"),
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        let mut states = std::mem::take(&mut self.states);
        let added = self.add(&mut states, values, groups, filter, count);
        self.states = states;
        added
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let states = self.taken(emit);
        let results = grouping(&self.plan)?.finish(&states).map_err(|error| self.plan.failed(error))?;
        joined(&self.result, results)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let states = self.taken(emit);
        Groups::written(&states)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        let Some(others) = values.first().and_then(|others| others.as_binary_opt::<i64>()) else {
            return exec_err!("the states of an aggregate are not bytes");
        };
        let grouping = grouping(&self.plan)?;
        for (group, bytes) in groups.iter().zip(others) {
            let merged = grouping.merge(&mut self.states, *group, bytes.unwrap_or_default(), count);
            merged.map_err(|error| self.plan.failed(error))?;
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |values| values.len());
        let groups: Vec<usize> = (0..rows).collect();
        let mut states = grouping(&self.plan)?.states();
        self.add(&mut states, values, &groups, filter, rows)?;
        Groups::written(&states)
    }

    fn size(&self) -> usize {
        size_of::<Groups>() + self.states.bytes()
    }
}
