//! Which results go to which files. All files appear together, complete, or none does.

use super::sink::{Npy, NpyFile, Npz, Png, Raw, Sink, Table};
use crate::failure::Failure;
use crate::files::{self, folder, unwritable};
use crate::terminal::Terminal;
use broadloom::{AnyArray, ArrayInfo, DType};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Npy,
    Npz,
    Table(u8),
    Png,
    Raw,
}

impl Format {
    fn of(path: &Path) -> Option<Format> {
        Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "csv" => Format::Table(b','),
            "tsv" => Format::Table(b'\t'),
            "png" => Format::Png,
            "bin" | "raw" => Format::Raw,
            _ => return None,
        })
    }
}

/// A file and the results that it takes, by position.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    format: Format,
    results: Vec<usize>,
}

/// The files of a run.
#[derive(Debug)]
pub struct Plan {
    results: Vec<(String, DType)>,
    targets: Vec<Target>,
    delimiter: Option<u8>,
}

impl Plan {
    /// Reads `[NAME=]FILE`s.
    ///
    /// # Errors
    /// If a file cannot take what it should, as far as that is known without data.
    pub fn new(
        files: &[String],
        results: &[ArrayInfo],
        delimiter: Option<u8>,
        terminal: &Terminal,
    ) -> Result<Plan, Failure> {
        let mut targets: Vec<Target> = Vec::new();
        for text in files {
            let target = target(text, results)?;
            if targets.iter().any(|other| place(&other.path) == place(&target.path)) {
                return Err(Failure::usage(format!("{} is written twice", target.path.display()))
                    .help("give each result a file of its own, or write all to one .npz"));
            }
            targets.push(target);
        }
        let is_written = |at: &usize| targets.iter().any(|target| target.results.contains(at));
        for (at, result) in results.iter().enumerate().filter(|_| !targets.is_empty()) {
            if !is_written(&at) {
                let help =
                    format!("write it as well by -o {}=FILE, or all of them by -o FILE.npz", result.name);
                terminal.warn(format!("the result {:?} is written nowhere", result.name), Some(&help));
            }
        }
        let results = results.iter().map(|result| (result.name.clone(), result.dtype)).collect();
        Ok(Plan { results, targets, delimiter })
    }

    /// Whether results go to files, and not to standard output.
    pub fn has_files(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Whether rows can be written as they come: of each result in some pass over the rows, or all at the end. What is
    /// printed must be there as a whole, and columns of one table come together.
    pub fn can_take_rows(&self, pass: &dyn Fn(&str) -> Option<usize>) -> bool {
        let pass_of = |at: &usize| self.results.get(*at).and_then(|(name, _)| pass(name));
        let together = |target: &Target| {
            let is_table = matches!(target.format, Format::Table(_)) && target.results.len() > 1;
            let mut passes = target.results.iter().map(pass_of);
            let first = passes.next().flatten();
            !is_table || (first.is_some() && passes.all(|pass| pass == first))
        };
        match self.has_files() {
            true => self.targets.iter().all(together),
            false => (0..self.results.len()).all(|at| pass_of(&at).is_none()),
        }
    }

    /// Makes temporary files beside those that are to be written.
    ///
    /// # Errors
    /// If that is impossible.
    pub fn open(self) -> Result<Writing, Failure> {
        let Plan { results, targets, delimiter } = self;
        let open = |target: Target| {
            let Target { path, format, results: positions } = target;
            let failed = |error: &io::Error| unwritable(&path, error);
            let temporary = files::temporary(&path)?;
            let out = temporary.as_file().try_clone().map_err(|error| failed(&error))?;
            let taken: Vec<(String, DType)> =
                positions.iter().filter_map(|at| results.get(*at).cloned()).collect();
            let sink = sink(format, BufWriter::new(out), &taken, delimiter, &path);
            let sink = sink.map_err(|error| failed(&error))?;
            Ok(Output { path, results: taken.into_iter().map(|(name, _)| name).collect(), temporary, sink })
        };
        let outputs = targets.into_iter().map(open).collect::<Result<_, Failure>>()?;
        Ok(Writing { outputs })
    }
}

fn sink(
    format: Format,
    out: BufWriter<File>,
    results: &[(String, DType)],
    delimiter: Option<u8>,
    path: &Path,
) -> io::Result<Box<dyn Sink>> {
    Ok(match (format, results) {
        (Format::Table(usual), _) => {
            let names = results.iter().map(|(name, _)| name.clone()).collect();
            let header = (results.len() > 1).then_some(names);
            Box::new(Table::new(out, header, delimiter.unwrap_or(usual)))
        }
        (Format::Npy, [(_, dtype), ..]) => Box::new(NpyFile { npy: Npy::new(out), dtype: *dtype }),
        (Format::Png, _) => Box::new(Png::new(out)),
        (Format::Npz, _) => Box::new(Npz::new(out, results, folder(path))?),
        (Format::Raw, _) | (Format::Npy, []) => Box::new(Raw(out)),
    })
}

/// Where a file is, however it is written.
fn place(path: &Path) -> PathBuf {
    let folder = folder(path).canonicalize().unwrap_or_else(|_| folder(path).to_owned());
    path.file_name().map_or(folder.clone(), |name| folder.join(name))
}

fn target(text: &str, results: &[ArrayInfo]) -> Result<Target, Failure> {
    let names = || results.iter().map(|result| result.name.as_str());
    let named = text.split_once('=').filter(|(name, _)| !name.contains(['/', '\\', '.']));
    let (path, positions): (PathBuf, Vec<usize>) = match named {
        Some((name, path)) => match names().position(|known| known == name.trim_matches('"')) {
            Some(at) => (path.into(), vec![at]),
            None => {
                let failure = Failure::usage(format!("there is no result {name:?}"));
                return Err(match broadloom_text::nearest(name, names()) {
                    Some(near) => failure.help(format!("did you mean `{near}`?")),
                    None => failure.help(format!("the results are {:?}", names().collect::<Vec<_>>())),
                });
            }
        },
        None => (text.into(), (0..results.len()).collect()),
    };
    let shown = path.display();
    let Some(format) = Format::of(&path) else {
        return Err(Failure::usage(format!("what {shown} should hold is not known by its name"))
            .help("known are .npy, .npz, .csv, .tsv, .png, and .bin for the elements alone"));
    };
    let infos: Vec<&ArrayInfo> = positions.iter().filter_map(|at| results.get(*at)).collect();
    match (format, infos.as_slice()) {
        (Format::Npz, _) => {}
        (Format::Table(_), [only]) if only.rank <= 2 => {}
        (Format::Table(_), [only]) => {
            return Err(Failure::usage(format!("a table has two axes, but {only} has {}", only.rank))
                .help("write .npy, or reshape it"));
        }
        (Format::Table(_), several) if several.iter().all(|info| info.rank == 1) => {}
        (Format::Table(_), _) => {
            let all: Vec<String> = infos.iter().map(ToString::to_string).collect();
            return Err(Failure::usage(format!(
                "several results are columns of one table if each has one axis, but these are {}",
                all.join(", ")
            ))
            .help("write them to one .npz, or each to a file of its own by -o NAME=FILE"));
        }
        (Format::Png, [only]) => picture(only)?,
        (Format::Npy | Format::Raw, [_]) => {}
        (Format::Npy | Format::Raw | Format::Png, _) => {
            return Err(Failure::usage(format!("{shown} takes one result, but there are {}", infos.len()))
                .help(format!("say which by -o NAME={shown}, or write all to one .npz")));
        }
    }
    Ok(Target { path, format, results: positions })
}

/// Whether it may be a picture.
fn picture(info: &ArrayInfo) -> Result<(), Failure> {
    if info.dtype != DType::U8 {
        let failure = Failure::usage(format!("a .png is made of u8, but there is {info}"));
        return Err(match info.dtype {
            DType::Bool => {
                failure.help_code("black and white, of an expression E, is:", "E.astype(np.uint8) * 255")
            }
            _ => failure
                .help_code(
                    "values from 0 to 1, of an expression E, are:",
                    "np.clip(E * 255, 0, 255).astype(np.uint8)",
                )
                .help_code("values from 0 to 255 are:", "np.clip(E, 0, 255).astype(np.uint8)"),
        });
    }
    if !(2..=3).contains(&info.rank) {
        return Err(Failure::usage(format!("a .png has two or three axes, but there is {info}"))
            .help("pictures are u8[H, W], u8[H, W, 3] and u8[H, W, 4]"));
    }
    Ok(())
}

/// A file that is being written.
struct Output {
    path: PathBuf,
    /// By name.
    results: Vec<String>,
    temporary: NamedTempFile,
    sink: Box<dyn Sink>,
}

/// Files that are being written. If they are dropped before they are finished, nothing is left of them.
pub struct Writing {
    outputs: Vec<Output>,
}

impl Writing {
    /// Takes further rows of results, of those that there are.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn push<'r>(&mut self, result: &dyn Fn(&str) -> Option<&'r AnyArray>) -> Result<(), Failure> {
        for Output { path, results, sink, .. } in &mut self.outputs {
            let rows: Vec<Option<&AnyArray>> = results.iter().map(|name| result(name)).collect();
            if rows.iter().any(Option::is_some) {
                sink.push(&rows).map_err(|error| unwritable(path, &error))?;
            }
        }
        Ok(())
    }

    /// Completes all files, and then gives them their names.
    ///
    /// # Errors
    /// If one cannot be completed; then none is there.
    pub fn finish(self) -> Result<(), Failure> {
        let mut complete = Vec::new();
        for Output { path, temporary, sink, .. } in self.outputs {
            sink.finish().map_err(|error| unwritable(&path, &error))?;
            complete.push((path, temporary));
        }
        // A folder in the place of a file is what can be known to go wrong before a file is replaced.
        if let Some((path, _)) = complete.iter().find(|(path, _)| path.is_dir()) {
            return Err(unwritable(path, &io::ErrorKind::IsADirectory.into()));
        }
        let mut added: Vec<PathBuf> = Vec::new();
        for (path, temporary) in complete {
            let is_new = !path.exists();
            if let Err(error) = temporary.persist(&path) {
                // What was replaced cannot be had back: removing it would leave less than nothing.
                for path in added {
                    // It is gone, or cannot be removed; the error to tell is the first.
                    let _ = std::fs::remove_file(path);
                }
                return Err(unwritable(&path, &error.error));
            }
            if is_new {
                added.push(path);
            }
        }
        Ok(())
    }
}
