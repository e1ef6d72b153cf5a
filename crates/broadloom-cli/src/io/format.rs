//! Kinds of files, and the outputs that each can hold.

use crate::failure::Failure;
use broadloom::{ArrayInfo, DType};
use std::path::Path;

/// The names of the kinds of files that can be written: their extensions.
pub const NAMES: [&str; 9] = ["npy", "npz", "csv", "tsv", "parquet", "arrow", "png", "jpg", "bin"];

/// The kinds of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Text with this default delimiter.
    Text(u8),
    Columns(ColumnFormat),
}

/// The kinds of files of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnFormat {
    Parquet,
    /// Arrow IPC files, which are also Feather's.
    Ipc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Npy,
    Npz,
    Table(TableFormat),
    Png,
    Jpeg,
    /// Raw elements.
    Raw,
}

impl Format {
    /// The kind of a file, by its extension only.
    pub fn of_name(name: &str) -> Option<Format> {
        Some(match name {
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "csv" => Format::Table(TableFormat::Text(b',')),
            "tsv" => Format::Table(TableFormat::Text(b'\t')),
            "parquet" => Format::Table(TableFormat::Columns(ColumnFormat::Parquet)),
            "arrow" | "feather" | "ipc" => Format::Table(TableFormat::Columns(ColumnFormat::Ipc)),
            "png" => Format::Png,
            "jpg" | "jpeg" => Format::Jpeg,
            "bin" | "raw" => Format::Raw,
            _ => return None,
        })
    }

    /// The kind of a file, by its extension or else as requested.
    ///
    /// # Errors
    /// Returns an error if neither determines it.
    pub fn of(path: &Path, shown: &str, stated: Option<Format>) -> Result<Format, Failure> {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
        if let Some(format) = Format::of_name(&end).or(stated) {
            return Ok(format);
        }
        let failure = Failure::usage(format!("the name of {shown} does not say which format to write"));
        let converted = |from: &str, by: &str| {
            let stem = path.with_extension("").display().to_string();
            let (from, to) = (format!("{stem}.{from}"), path.display());
            (format!(".{end} is not supported; write {from} and convert it:"), format!("{by} {from} {to}"))
        };
        let (sentence, code) = match end.as_str() {
            "tif" | "tiff" | "webp" | "gif" | "bmp" | "avif" | "ppm" => converted("png", "magick"),
            "xlsx" | "h5" | "hdf5" | "mat" | "json" => {
                let sentence =
                    format!(".{end} is not supported; write .npz or .csv, and convert it with pandas");
                return Err(failure.help(sentence));
            }
            _ => {
                let known = NAMES.map(|name| format!(".{name}")).join(", ");
                return Err(failure
                    .help(format!("known formats are {known}; .bin holds raw elements"))
                    .help_code("or name the format:", "--format npy"));
            }
        };
        Err(failure.help_code(sentence, code))
    }

    /// Whether a file of the kind can take these results.
    ///
    /// # Errors
    /// Returns an error if it cannot.
    pub fn takes(self, shown: &str, infos: &[&ArrayInfo]) -> Result<(), Failure> {
        match (self, infos) {
            (Format::Npz, _) => infos.iter().try_for_each(|info| member(&info.name)),
            (Format::Table(TableFormat::Columns(_)), _) => are_columns(infos),
            (Format::Table(TableFormat::Text(_)), [only]) if only.rank <= 2 => Ok(()),
            (Format::Table(TableFormat::Text(_)), [only]) => {
                Err(Failure::usage(format!("a table has two axes, but {only} has {}", only.rank))
                    .help("write .npy or .parquet, or reshape it"))
            }
            (Format::Table(TableFormat::Text(_)), several) if several.iter().all(|info| info.rank == 1) => {
                Ok(())
            }
            (Format::Table(TableFormat::Text(_)), _) => {
                let all: Vec<String> = infos.iter().map(ToString::to_string).collect();
                Err(Failure::usage(format!(
                    "several results form one table only if each has one axis, but these are {}",
                    all.join(", ")
                ))
                .help("write them to one .npz, or each to its own file with -o NAME=FILE"))
            }
            (Format::Png | Format::Jpeg, [only]) => self.takes_picture(only),
            (Format::Npy | Format::Raw, [_]) => Ok(()),
            (Format::Npy | Format::Raw | Format::Png | Format::Jpeg, _) => {
                Err(Failure::usage(format!("{shown} holds one result, but there are {}", infos.len()))
                    .help(format!("choose one with -o NAME={}, or write all to one .npz", target(shown))))
            }
        }
    }

    /// Whether a result may be a picture.
    fn takes_picture(self, info: &ArrayInfo) -> Result<(), Failure> {
        let (kind, shapes) = match self {
            Format::Jpeg => ("a .jpg", "u8[H, W] and u8[H, W, 3]"),
            _ => ("a .png", "u8[H, W], u8[H, W, 3] and u8[H, W, 4]"),
        };
        if info.dtype != DType::U8 {
            let failure = Failure::usage(format!("{kind} needs u8, but the result is {info}"));
            return Err(match info.dtype {
                DType::Bool => failure
                    .help_code("for black and white, with E as your expression:", "E.astype(np.uint8) * 255"),
                _ => failure
                    .help_code(
                        "for values from 0 to 1, with E as your expression:",
                        "np.clip(E * 255, 0, 255).astype(np.uint8)",
                    )
                    .help_code("for values from 0 to 255:", "np.clip(E, 0, 255).astype(np.uint8)"),
            });
        }
        if !(2..=3).contains(&info.rank) {
            return Err(Failure::usage(format!("{kind} needs two or three axes, but the result is {info}"))
                .help(format!("the supported shapes are {shapes}")));
        }
        Ok(())
    }
}

/// Whether results are columns of one table.
fn are_columns(infos: &[&ArrayInfo]) -> Result<(), Failure> {
    if let Some(info) = infos.iter().find(|info| info.dtype == DType::Bf16) {
        return Err(Failure::usage(format!("Parquet and Arrow do not have bf16, but the result is {info}"))
            .help_code("with E as your expression:", "E.astype(np.float32)"));
    }
    let scalar = infos.iter().find(|info| info.rank == 0);
    match scalar.zip(infos.iter().find(|info| info.rank > 0)) {
        None => Ok(()),
        Some((scalar, rows)) => Err(Failure::usage(format!(
            "{rows} has rows, but {scalar} is one value, so they are not one table"
        ))
        .help("write them to one .npz, or each to its own file with -o NAME=FILE")),
    }
}

/// Whether a result's name is safe as a file name in an archive: it must stay in the folder where it is unpacked.
fn member(name: &str) -> Result<(), Failure> {
    let is_bad = |letter: char| letter.is_control() || matches!(letter, '/' | '\\' | ':');
    if !name.is_empty() && !name.contains(is_bad) && name != "." && name != ".." {
        return Ok(());
    }
    Err(Failure::usage(format!("{name:?} cannot name an array in an .npz"))
        .help_code("give the result another name:", "y = .."))
}

/// The spelling on the command line of a name in messages.
fn target(shown: &str) -> &str {
    if shown == super::content::STDOUT { super::content::STDIO } else { shown }
}
