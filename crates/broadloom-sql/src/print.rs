//! Results on the terminal.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use std::io::{ErrorKind, Write};

/// Prints the first `most` rows, and says if there are more.
pub(crate) fn table(schema: &SchemaRef, batches: &[RecordBatch], most: usize) -> Result<()> {
    let mut left = most;
    let mut shown = vec![RecordBatch::new_empty(schema.clone())];
    for batch in batches {
        let count = left.min(batch.num_rows());
        shown.push(batch.slice(0, count));
        left -= count;
    }
    let total: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let mut text = format!("{}\n", pretty_format_batches(&shown)?);
    if total > most {
        text += "there are more rows: print more with --rows NUMBER, or write all with -o FILE\n";
    }
    match std::io::stdout().write_all(text.as_bytes()) {
        // A reader that has seen enough is not an error.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
