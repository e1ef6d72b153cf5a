//! The rows of a group so far, and their result.
//!
//! Partial results have shapes, so an aggregate of lists without a fixed size is compiled for the length that the first rows
//! have, and the rows of a group have one length.

use crate::meter::metered;
use crate::plan::{Plan, framed_error};
use crate::scalar::joined;
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use broadloom::diagnostics::{Style, Text};
use broadloom_arrow::State;
use broadloom_text::Given;
use datafusion_common::{Result, ScalarValue, exec_err};
use std::fmt;
use std::sync::Arc;

/// The rows of a group.
pub(crate) struct Rows {
    plan: Arc<Plan>,
    /// The plan for the lengths of the lists, which the first rows tell.
    sized: Option<Arc<Plan>>,
    state: State,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.state.rows())
    }
}

impl Rows {
    pub(crate) fn new(plan: Arc<Plan>) -> Rows {
        let sized = plan.is_fixed().then(|| plan.clone());
        Rows { plan, sized, state: State::default() }
    }

    /// Returns the memory that the rows hold, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Rows>() + self.state.bytes()
    }

    /// Adds rows.
    pub(crate) fn update(&mut self, values: &[ArrayRef]) -> Result<()> {
        let columns = self.plan.columns(values)?;
        // Without a row that is not null there is nothing to add.
        if columns.iter().any(|(_, column)| column.is_open()) {
            return Ok(());
        }
        let sizes: Vec<&[usize]> = columns.iter().map(|(_, column)| column.row()).collect();
        let plan = self.sized(&sizes)?;
        let aggregate = plan.aggregate()?;
        let rows = values.first().map_or(0, |values| values.len());
        let updated = metered(&self.plan, rows, || aggregate.update(&mut self.state, &columns));
        updated.map_err(|error| plan.failed(error))
    }

    /// Returns the plan for rows of these shapes, which must be those of all rows.
    fn sized(&mut self, rows: &[&[usize]]) -> Result<Arc<Plan>> {
        let Some(plan) = &self.sized else {
            let plan = self.plan.sized(rows)?;
            return Ok(self.sized.insert(plan).clone());
        };
        for ((name, kind), row) in plan.arguments.iter().zip(rows) {
            let known = kind.sizes().unwrap_or_default();
            if !self.plan.is_fixed() && known != *row {
                let headline = format!("the lists of column `{name}` have several lengths");
                let mut text = Text::message(Style::Error, "error[Q002]".to_owned(), headline);
                text.line(
                    Style::Plain,
                    format!("rows of shape {known:?} are followed by rows of shape {row:?} in one group"),
                );
                text.help("to make groups of one length each:", Some("GROUP BY array_length(..)"));
                return Err(framed_error(&text));
            }
        }
        Ok(plan.clone())
    }

    /// Returns the result; null without rows.
    pub(crate) fn evaluated(&self, result: &DataType) -> Result<ScalarValue> {
        let Some(plan) = self.sized.as_ref().filter(|_| self.state.rows() > 0) else {
            return ScalarValue::try_from(result);
        };
        let results = plan.aggregate()?.finish(&self.state).map_err(|error| plan.failed(error))?;
        let Some(results) = results else { return ScalarValue::try_from(result) };
        let types = self.plan.outputs.iter().zip(&plan.outputs);
        let nested = results.into_iter().zip(types).map(|(array, ((_, kind), (_, sized)))| {
            let row = sized.sizes().unwrap_or_default();
            kind.nested(array, &row).map_err(|error| plan.failed(error))
        });
        ScalarValue::try_from_array(&joined(result, nested.collect::<Result<_>>()?)?, 0)
    }

    /// Writes the rows for another process: the lengths of lists without a fixed size, and the state; nothing before the first
    /// row of such lists.
    pub(crate) fn written(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if let Some(plan) = &self.sized {
            for ((_, kind), (_, sized)) in self.plan.arguments.iter().zip(&plan.arguments) {
                let sizes = kind.row.iter().zip(&sized.row).filter(|(size, _)| size.is_none());
                sizes.for_each(|(_, size)| bytes.extend((size.unwrap_or(0) as u64).to_le_bytes()));
            }
            plan.aggregate()?.write(&self.state, &mut bytes);
        }
        Ok(bytes)
    }

    /// Adds the rows of another process.
    pub(crate) fn merge(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() && !self.plan.is_fixed() {
            return Ok(());
        }
        let mut rest = bytes;
        let mut next = |size: Option<usize>| {
            if size.is_some() {
                return size;
            }
            let (size, bytes) = rest.split_first_chunk::<8>()?;
            rest = bytes;
            usize::try_from(u64::from_le_bytes(*size)).ok().filter(|size| *size < Given::INFERRED)
        };
        let rows =
            self.plan.arguments.iter().map(|(_, kind)| kind.row.iter().map(|size| next(*size)).collect());
        let Some(rows) = rows.collect::<Option<Vec<Vec<usize>>>>() else {
            return exec_err!(
                "the state of an aggregate is damaged or of another version: it ends too early"
            );
        };
        let plan = self.sized(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let aggregate = plan.aggregate()?;
        let other = aggregate.read(rest).map_err(|error| plan.failed(error))?;
        aggregate.merge(&mut self.state, other).map_err(|error| plan.failed(error))
    }
}
