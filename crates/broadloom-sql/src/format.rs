//! The formats of files, which their names tell.

use datafusion::common::{Result, plan_err};
use std::path::Path;

/// A format of tables in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet: `.parquet`.
    Parquet,
    /// Comma-separated values with a header: `.csv`.
    Csv,
    /// Arrow IPC files: `.arrow`, `.ipc` or `.feather`.
    Ipc,
}

impl Format {
    /// Returns the format that the name of a file indicates.
    ///
    /// # Errors
    /// Returns an error if the name has no known extension.
    pub fn of(path: &Path) -> Result<Format> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "parquet" => Ok(Format::Parquet),
            "csv" => Ok(Format::Csv),
            "arrow" | "ipc" | "feather" => Ok(Format::Ipc),
            _ => plan_err!(
                "the name of `{}` does not tell its format: use .parquet, .csv or .arrow",
                path.display()
            ),
        }
    }
}
