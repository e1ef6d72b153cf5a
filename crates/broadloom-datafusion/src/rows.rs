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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Definition;
    use crate::plan::Use;
    use arrow_array::types::Float32Type;
    use arrow_array::{Array, ListArray};
    use arrow_schema::Field;

    fn rows(lists: &[Vec<f32>]) -> (Rows, DataType) {
        let lists = lists.iter().map(|list| Some(list.iter().copied().map(Some).collect::<Vec<_>>()));
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(lists));
        let field = Arc::new(Field::new("v", lists.data_type().clone(), true));
        let definition = Definition::expression("sum(v, axis=0)");
        let plan = Plan::of(&definition, &[field], Use::Aggregate).unwrap();
        let result = plan.field("sum").unwrap().data_type().clone();
        let mut rows = Rows::new(plan);
        rows.update(&[lists]).unwrap();
        (rows, result)
    }

    #[test]
    fn rows_of_other_processes_have_one_length() {
        let (mut left, result) = rows(&[vec![1.0, 2.0], vec![3.0, 4.0]]);
        let (right, _) = rows(&[vec![10.0, 20.0]]);
        let (other, _) = rows(&[vec![1.0]]);
        let (mut none, _) = rows(&[]);
        assert!(none.written().unwrap().is_empty() && none.evaluated(&result).unwrap().is_null());
        left.merge(&none.written().unwrap()).unwrap();
        left.merge(&right.written().unwrap()).unwrap();
        let (expected, _) = rows(&[vec![14.0, 26.0]]);
        assert_eq!(left.evaluated(&result).unwrap(), expected.evaluated(&result).unwrap());
        let message = left.merge(&other.written().unwrap()).unwrap_err().to_string();
        assert!(message.contains("error[Q002]") && message.contains("[2]"), "{message}");
        none.merge(&left.written().unwrap()).unwrap();
        assert_eq!(none.evaluated(&result).unwrap(), expected.evaluated(&result).unwrap());
    }

    #[test]
    fn damaged_rows_are_refused() {
        let good = rows(&[vec![1.0, 2.0]]).0.written().unwrap();
        for end in 1..good.len() {
            assert!(rows(&[]).0.merge(&good[..end]).is_err(), "{end} bytes");
        }
        assert!(rows(&[]).0.merge(&[good.as_slice(), &[0]].concat()).is_err());
        // The length of the lists, from the least bit to the highest.
        for bit in 0..64 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(rows(&[]).0.merge(&bytes).is_err(), "bit {bit}");
        }
        assert!(rows(&[]).0.merge(&[0xff; 40]).is_err());
    }
}
