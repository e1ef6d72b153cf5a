//! Results on the terminal.

use crate::cell::Cells;
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use std::io::{ErrorKind, Write};
use std::sync::Arc;

/// The rows that are printed, as texts: those of long lists are short, and their batches need not be kept.
pub(crate) struct Printed {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    left: usize,
    are_more: bool,
}

impl Printed {
    /// Prints the first `most` rows of a result.
    pub(crate) fn new(schema: &SchemaRef, most: usize) -> Printed {
        let texts = schema.fields().iter().map(|field| Field::new(field.name(), DataType::Utf8, true));
        let schema = Arc::new(Schema::new(texts.collect::<Vec<Field>>()));
        Printed { batches: vec![RecordBatch::new_empty(schema.clone())], schema, left: most, are_more: false }
    }

    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let count = self.left.min(batch.num_rows());
        self.are_more |= count < batch.num_rows();
        if count == 0 {
            return Ok(());
        }
        self.left -= count;
        let columns = batch.columns().iter().map(|column| {
            let cells = Cells::new(column.as_ref())?;
            let texts = (0..count).map(|row| cells.text(row)).collect::<Result<Vec<String>>>()?;
            Ok(Arc::new(StringArray::from(texts)) as ArrayRef)
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        self.batches.push(match columns.is_empty() {
            true => batch.slice(0, count),
            false => RecordBatch::try_new(self.schema.clone(), columns)?,
        });
        Ok(())
    }

    /// Prints the rows, and says if there are more.
    pub(crate) fn print(&self) -> Result<()> {
        self.write(format!("{}\n", pretty_format_batches(&self.batches)?))
    }

    /// Prints the rows of an explanation one below the other: their lines are too long for the columns of a table.
    pub(crate) fn print_plans(&self) -> Result<()> {
        let mut text = String::new();
        for batch in &self.batches {
            let texts: Vec<&StringArray> = batch.columns().iter().map(|column| column.as_string()).collect();
            for row in 0..batch.num_rows() {
                let mut cells = texts.iter().map(|column| column.value(row));
                text += &format!("{}:\n", cells.next().unwrap_or_default());
                for line in cells.flat_map(str::lines) {
                    text += format!("  {line}").trim_end();
                    text.push('\n');
                }
                text.push('\n');
            }
        }
        text.truncate(text.trim_end().len());
        self.write(text + "\n")
    }

    fn write(&self, mut text: String) -> Result<()> {
        if self.are_more {
            text += "there are more rows: print more with --rows NUMBER, or write all with -o FILE\n";
        }
        match std::io::stdout().write_all(text.as_bytes()) {
            // A reader that has seen enough is not an error.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        }
    }
}
