//! Results in files.

use crate::Format;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::ipc::writer::FileWriter;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::parquet::arrow::ArrowWriter;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that appears under its name when it is complete. Until then, and after an error, a file that was there stays.
pub struct Output {
    writer: Writer,
    partial: Partial,
    path: PathBuf,
}

enum Writer {
    Parquet(ArrowWriter<File>),
    Csv(Box<csv::Writer<BufWriter<File>>>),
    Ipc(FileWriter<BufWriter<File>>),
}

impl Output {
    /// Creates a file in the format that its name indicates.
    ///
    /// # Errors
    /// Returns an error if the format is not known or cannot hold the schema, or if the file cannot be created.
    pub fn create(path: &Path, schema: &Arc<Schema>) -> Result<Output> {
        let format = Format::of(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let partial = Partial(path.with_file_name(format!(".{name}.{}.part", std::process::id())));
        let file = File::create_new(&partial.0).map_err(|error| unwritable(path, &error))?;
        let writer = match format {
            Format::Parquet => Writer::Parquet(ArrowWriter::try_new(file, schema.clone(), None)?),
            Format::Csv => {
                if let Some(field) = schema.fields().iter().find(|field| field.data_type().is_nested()) {
                    return exec_err!(
                        "CSV cannot hold the lists or structs of the column `{}`: write .parquet or .arrow",
                        field.name()
                    );
                }
                let mut writer = csv::Writer::new(BufWriter::new(file));
                // The first batch writes the header, also if no other follows.
                writer.write(&RecordBatch::new_empty(schema.clone()))?;
                Writer::Csv(Box::new(writer))
            }
            Format::Ipc => Writer::Ipc(FileWriter::try_new_buffered(file, schema)?),
        };
        Ok(Output { writer, partial, path: path.to_owned() })
    }

    /// Returns the name under which the file grows until it is complete.
    pub fn partial(&self) -> &Path {
        &self.partial.0
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// Returns the errors of the file.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.writer {
            Writer::Parquet(writer) => writer.write(batch)?,
            Writer::Csv(writer) => writer.write(batch)?,
            Writer::Ipc(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Completes the file, and gives it its name.
    ///
    /// # Errors
    /// Returns the errors of the file.
    pub fn finish(self) -> Result<()> {
        let Output { writer, partial, path } = self;
        match writer {
            Writer::Parquet(writer) => drop(writer.close()?),
            Writer::Csv(writer) => writer.into_inner().flush()?,
            Writer::Ipc(mut writer) => writer.finish()?,
        }
        std::fs::rename(&partial.0, &path).map_err(|error| unwritable(&path, &error))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> DataFusionError {
    DataFusionError::Execution(format!("cannot write `{}`: {error}", path.display()))
}

/// A file that is removed, unless it was renamed.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // It is gone after a rename.
        let _ = std::fs::remove_file(&self.0);
    }
}
