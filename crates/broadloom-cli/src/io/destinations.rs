//! Assigns results to files. Either all files appear together, complete, or none does.

use super::argument::path_of;
use super::columns;
use super::content::{STDIO, STDOUT};
use super::format::{Format, NAMES, TableFormat};
use super::sink::{Heads, Npy, NpyFile, Npz, Picture, Raw, Sink, Table};
use super::table::Names;
use crate::failure::Failure;
use crate::files::{Partial, folder, is_stdout, unwritable};
use crate::labels::{Label, Labels};
use crate::terminal::Terminal;
use broadloom::{AnyArray, ArrayInfo, DType};
use clap::Args;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Seek};
use std::path::{Path, PathBuf};

/// The destinations of results, and their formats.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Where results go, instead of being printed: a file for the only result, an .npz for all, or NAME=FILE for one of
    /// several; `-` is standard output, as is /dev/stdout
    #[arg(short, long, value_name = "[NAME=]FILE")]
    output: Vec<OsString>,
    /// Format to write when no file name says it, as for standard output
    #[arg(long, value_name = "KIND", value_parser = NAMES, requires = "output")]
    format: Option<String>,
    /// Quality of a .jpg, from 1 to 100
    #[arg(long, value_name = "PERCENT", default_value_t = 90, value_parser = clap::value_parser!(u8).range(1..=100))]
    quality: u8,
}

/// A result, with the labels of its axes.
#[derive(Debug, Clone)]
struct Kept {
    name: String,
    dtype: DType,
    rank: usize,
    rows: Option<Label>,
    columns: Option<Label>,
    /// The texts that its elements index, if it is text.
    texts: Option<Names>,
}

/// A file and the positions of its results.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    format: Format,
    results: Vec<usize>,
}

impl Target {
    fn is_stdout(&self) -> bool {
        self.path == Path::new(STDIO)
    }
}

/// The output files of a run.
#[derive(Debug)]
pub struct Destinations {
    results: Vec<Kept>,
    targets: Vec<Target>,
    delimiter: Option<u8>,
    quality: u8,
}

impl Destinations {
    /// Reads `[NAME=]FILE`s.
    ///
    /// # Errors
    /// Returns an error if a file cannot hold its results, as far as this is known without data.
    pub fn new(
        args: &OutputArgs,
        results: &[ArrayInfo],
        labels: &Labels,
        delimiter: Option<u8>,
        terminal: &Terminal,
    ) -> Result<Destinations, Failure> {
        let stated = args.format.as_deref().and_then(Format::of_name);
        let mut targets: Vec<Target> = Vec::new();
        for text in &args.output {
            let target = target(text, results, stated)?;
            let written = target.results.iter().filter_map(|at| results.get(*at));
            for result in written.filter(|result| labels.texts(&result.name).is_some()) {
                takes_text(&target, result)?;
            }
            if targets.iter().any(|other| place(&other.path) == place(&target.path)) {
                return Err(match target.is_stdout() {
                    true => {
                        Failure::usage(format!("{STDOUT} takes only one file, but several are written to it"))
                            .help_code("write all results to one file:", "-o - --format npz")
                    }
                    false => Failure::usage(format!("{} is written twice", target.path.display()))
                        .help("give each result its own file, or write all to one .npz"),
                });
            }
            targets.push(target);
        }
        let is_written = |at: &usize| targets.iter().any(|target| target.results.contains(at));
        for (at, result) in results.iter().enumerate().filter(|_| !targets.is_empty()) {
            if !is_written(&at) {
                let help = format!("write it with -o {}=FILE, or write all with -o FILE.npz", result.name);
                terminal
                    .warn(format!("the result {:?} is not written to any file", result.name), Some(&help));
            }
        }
        let results = results.iter().map(|result| {
            let label = |axis| labels.of(&result.name, axis).cloned();
            let (name, rank) = (result.name.clone(), result.rank);
            let texts = labels.texts(&name).cloned();
            Kept { name, dtype: result.dtype, rank, rows: label(0), columns: label(1), texts }
        });
        let results = results.collect();
        Ok(Destinations { results, targets, delimiter, quality: args.quality })
    }

    /// Whether results go to files instead of being printed.
    pub fn has_files(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Whether rows can be written as they are computed: each result in one pass over the rows, or all at the end. Results to
    /// print must be complete, and the columns of one table belong together: `rows` tells what those of a result have in common.
    pub fn can_take_rows<R: PartialEq>(&self, rows: &dyn Fn(&str) -> Option<R>) -> bool {
        let rows_of = |at: &usize| self.results.get(*at).and_then(|result| rows(&result.name));
        let together = |target: &Target| {
            let is_table = matches!(target.format, Format::Table(_)) && target.results.len() > 1;
            let mut all = target.results.iter().map(rows_of);
            let first = all.next().flatten();
            !is_table || (first.is_some() && all.all(|rows| rows == first))
        };
        match self.has_files() {
            true => self.targets.iter().all(together),
            false => (0..self.results.len()).all(|at| rows_of(&at).is_none()),
        }
    }

    /// Creates temporary files beside the output files.
    ///
    /// # Errors
    /// Returns an error if that is impossible.
    pub fn open(self) -> Result<Writing, Failure> {
        let Destinations { results, targets, delimiter, quality } = self;
        let open = |target: Target| {
            let failed = |error: io::Error| unwritable(&target.path, &error);
            let place = match target.is_stdout() {
                true => Place::Stdout(tempfile::tempfile().map_err(failed)?),
                false => Place::File(Partial::create(&target.path)?),
            };
            let taken: Vec<&Kept> = target.results.iter().filter_map(|at| results.get(*at)).collect();
            if matches!(target.format, Format::Table(_)) {
                check_groups(&taken, &target.path)?;
            }
            let names: Vec<(String, DType)> =
                taken.iter().map(|result| (result.name.clone(), result.dtype)).collect();
            let out = place.file().map_err(failed)?;
            let sink = match (target.format, taken.as_slice()) {
                (Format::Table(TableFormat::Text(usual)), _) => {
                    let heads = heads(&taken);
                    let header = header(&taken, &heads);
                    Box::new(Table::new(out, header, heads, delimiter.unwrap_or(usual))) as Box<dyn Sink>
                }
                (Format::Table(TableFormat::Columns(format)), _) => {
                    let names = taken.iter().map(|result| result.name.clone()).collect();
                    columns::create(out, format, names, heads(&taken))?
                }
                (Format::Npy, [only, ..]) => Box::new(NpyFile { npy: Npy::new(out), dtype: only.dtype }),
                (Format::Png, _) => Box::new(Picture::png(out)),
                (Format::Jpeg, _) => Box::new(Picture::jpeg(out, quality)),
                (Format::Npz, _) => Box::new(Npz::new(out, &names, &place.folder()).map_err(failed)?),
                (Format::Raw, _) | (Format::Npy, []) => Box::new(Raw(out)),
            };
            Ok(Output {
                results: names.into_iter().map(|(name, _)| name).collect(),
                path: target.path,
                place,
                sink,
            })
        };
        let outputs = targets.into_iter().map(open).collect::<Result<_, Failure>>()?;
        Ok(Writing { outputs })
    }
}

/// Checks that a file can hold a result that is text.
fn takes_text(target: &Target, result: &ArrayInfo) -> Result<(), Failure> {
    let holds = match target.format {
        Format::Table(TableFormat::Text(_)) => true,
        Format::Table(TableFormat::Columns(_)) => result.rank <= 1,
        Format::Npy | Format::Npz | Format::Png | Format::Jpeg | Format::Raw => false,
    };
    if holds {
        return Ok(());
    }
    let (name, file) = (&result.name, target.path.display());
    Err(Failure::usage(format!("the result {name:?} is text, which {file} cannot hold"))
        .help("write one axis of it to .csv, .tsv, .parquet or .arrow")
        .help_code("or write its codes, with E as your expression:", "E.astype(i64)"))
}

/// Checks that the columns of one table have the same groups; otherwise the row names would be wrong for some.
fn check_groups(results: &[&Kept], path: &Path) -> Result<(), Failure> {
    let Some(first) = results.iter().find(|result| result.rows.is_some()) else { return Ok(()) };
    let Some(other) = results.iter().find(|result| result.rows != first.rows) else { return Ok(()) };
    let groups = |result: &Kept| match &result.rows {
        Some(label) => format!("rows for the groups of {:?}", label.of),
        None => "rows without names".to_owned(),
    };
    let what = format!(
        "{} has one name for each row, but {:?} has {}, and {:?} has {}",
        path.display(),
        first.name,
        groups(first),
        other.name,
        groups(other)
    );
    let code = format!("-o {}=FILE.csv -o {}=FILE.csv", first.name, other.name);
    Err(Failure::usage(what).help_code("write each kind of rows to its own table:", code))
}

/// The names of the rows and columns of a table.
fn heads(results: &[&Kept]) -> Heads {
    let label = results.first().and_then(|first| first.rows.as_ref());
    let rows = label.filter(|label| results.iter().all(|result| result.rows.as_ref() == Some(label)));
    let columns = match results {
        [only] if only.rank == 2 => only.columns.as_ref(),
        _ => None,
    };
    let columns = columns.map(|label| label.names.iter().map(ToString::to_string).collect());
    let texts = results.iter().map(|result| result.texts.clone()).collect();
    Heads { rows: rows.cloned(), columns, texts }
}

/// The header of a table of text, if its columns have names.
fn header(results: &[&Kept], heads: &Heads) -> Option<Vec<String>> {
    let columns = match results {
        [only] if only.rank == 2 => heads.columns.clone(),
        // Names from the program, not the default name of a single expression; but text without a header would be one.
        [only] if heads.rows.is_none() && only.name == "result" && only.texts.is_none() => None,
        several => Some(several.iter().map(|result| result.name.clone()).collect()),
    };
    columns.map(|columns| heads.rows.iter().map(|label| label.of.clone()).chain(columns).collect())
}

/// The absolute path of a file, to compare different spellings.
fn place(path: &Path) -> PathBuf {
    let folder = folder(path).canonicalize().unwrap_or_else(|_| folder(path).to_owned());
    let place = path.file_name().map_or(folder.clone(), |name| folder.join(name));
    place.canonicalize().unwrap_or(place)
}

fn target(argument: &OsStr, results: &[ArrayInfo], stated: Option<Format>) -> Result<Target, Failure> {
    let names = || results.iter().map(|result| result.name.as_str());
    let bytes = argument.as_encoded_bytes();
    let split = bytes.iter().position(|byte| *byte == b'=').and_then(|at| bytes.split_at_checked(at));
    let named = split.and_then(|(name, path)| {
        let name = std::str::from_utf8(name).ok()?;
        (!name.contains(['/', '\\', '.'])).then(|| (name, path_of(path.get(1..).unwrap_or_default())))
    });
    let (path, positions): (PathBuf, Vec<usize>) = match named {
        Some((name, path)) => match names().position(|known| known == name.trim_matches('"')) {
            Some(at) => (path, vec![at]),
            None => {
                let failure = Failure::usage(format!("there is no result {name:?}"));
                return Err(match broadloom_text::nearest(name, names()) {
                    Some(near) => failure.help(format!("did you mean `{near}`?")),
                    None => failure.help(format!("the results are {:?}", names().collect::<Vec<_>>())),
                });
            }
        },
        None => (argument.into(), (0..results.len()).collect()),
    };
    let path = if is_stdout(&path) { STDIO.into() } else { path };
    let is_stdout = path == Path::new(STDIO);
    let shown = if is_stdout { STDOUT.to_owned() } else { path.display().to_string() };
    if let (true, None) = (is_stdout, stated) {
        return Err(Failure::usage(format!("the format of {STDOUT} is not known"))
            .help_code("name the format:", "-o - --format csv")
            .help(format!("known formats are {}", NAMES.join(", "))));
    }
    let format = Format::of(&path, &shown, stated)?;
    let infos: Vec<&ArrayInfo> = positions.iter().filter_map(|at| results.get(*at)).collect();
    format.takes(&shown, &infos)?;
    Ok(Target { path, format, results: positions })
}

/// The place of a file while it is written.
enum Place {
    File(Partial),
    /// An unnamed file, which is copied to standard output once it is complete.
    Stdout(File),
}

impl Place {
    fn file(&self) -> io::Result<BufWriter<File>> {
        let file = match self {
            Place::File(partial) => partial.file(),
            Place::Stdout(file) => file.try_clone(),
        };
        file.map(BufWriter::new)
    }

    /// A folder with enough space.
    fn folder(&self) -> PathBuf {
        match self {
            Place::File(partial) => folder(partial.path()).to_owned(),
            Place::Stdout(_) => std::env::temp_dir(),
        }
    }
}

/// A file that is being written.
struct Output {
    path: PathBuf,
    /// By name.
    results: Vec<String>,
    place: Place,
    sink: Box<dyn Sink>,
}

/// The files being written. If they are dropped before they are finished, all are removed.
pub struct Writing {
    outputs: Vec<Output>,
}

impl Writing {
    /// Takes further rows of the results that have any.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub fn push<'r>(&mut self, result: &dyn Fn(&str) -> Option<&'r AnyArray>) -> Result<(), Failure> {
        for Output { path, results, sink, .. } in &mut self.outputs {
            let rows: Vec<Option<&AnyArray>> = results.iter().map(|name| result(name)).collect();
            if rows.iter().any(Option::is_some) {
                sink.push(&rows).map_err(|error| unwritable(path, &error))?;
            }
        }
        Ok(())
    }

    /// Completes all files, copies the one for standard output, and then renames the others.
    ///
    /// # Errors
    /// Returns an error if one cannot be completed; then none exists. The error is silent if the reader of standard
    /// output is gone.
    pub fn finish(self, terminal: &Terminal) -> Result<(), Failure> {
        let (mut complete, mut piped) = (Vec::new(), None);
        for Output { path, place, sink, .. } in self.outputs {
            sink.finish().map_err(|error| unwritable(&path, &error))?;
            match place {
                Place::File(partial) => complete.push((path, partial)),
                Place::Stdout(file) => piped = Some(file),
            }
        }
        let copied = piped.map_or(Ok(()), |mut file| {
            terminal.write(|out| {
                file.rewind()?;
                io::copy(&mut file, out).map(drop)
            })
        });
        // Write the files even if the reader of standard output is gone.
        if let Err(failure) = copied.as_ref()
            && !failure.is_closed()
        {
            return copied;
        }
        let mut added: Vec<PathBuf> = Vec::new();
        for (path, partial) in complete {
            let is_new = !path.exists();
            if let Err(error) = partial.persist() {
                // A replaced file cannot be restored, so do not remove the new one.
                for path in added {
                    // Ignore failures to remove it: the first error is the one to report.
                    let _ = std::fs::remove_file(path);
                }
                return Err(unwritable(&path, &error));
            }
            if is_new {
                added.push(path);
            }
        }
        copied
    }
}
