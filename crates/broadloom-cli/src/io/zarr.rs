//! Arrays of Zarr stores, versions 2 and 3, which are folders.

use super::content::memory_of_machine;
use super::memory::{Array, Memory, Owned, bytes_of, sizes};
use super::source::{Layout, Rows, Source};
use crate::failure::Failure;
use broadloom::{ArrayView, DType};
use std::fmt::{self, Debug};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zarrs::array::{ArrayBytes, ArraySubset};
use zarrs::filesystem::FilesystemStore;
use zarrs::plugin::ExtensionName;

/// Advice for chunks that cannot be decoded.
const DAMAGED: &str = "it is damaged, or still being written: write it again";

/// An array of a store.
struct Zarr {
    path: PathBuf,
    array: zarrs::array::Array<FilesystemStore>,
    layout: Layout,
}

impl Debug for Zarr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the Zarr array {}", self.path.display())
    }
}

/// The names of the arrays directly in a group, in order.
pub fn keys(group: &Path) -> Vec<String> {
    let entries = group.read_dir().into_iter().flatten().flatten();
    let arrays = entries.filter(|entry| is_array(&entry.path()));
    let mut keys: Vec<String> = arrays.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    keys.sort();
    keys
}

/// Whether a folder is an array. Metadata that cannot be read are those of an array: opening it says what is wrong.
fn is_array(folder: &Path) -> bool {
    if folder.join(".zarray").is_file() {
        return true;
    }
    let Ok(text) = std::fs::read(folder.join("zarr.json")) else { return false };
    let metadata = serde_json::from_slice::<serde_json::Value>(&text).unwrap_or_default();
    metadata.get("node_type").and_then(serde_json::Value::as_str) != Some("group")
}

/// Opens the array in a folder, for the input `name`.
///
/// # Errors
/// Returns an error if the folder is not an array, or has elements of a kind that there is not here.
pub fn open(name: &str, path: &Path) -> Result<Box<dyn Source>, Failure> {
    Ok(Box::new(Zarr::open(name, path)?))
}

impl Zarr {
    fn open(name: &str, path: &Path) -> Result<Zarr, Failure> {
        let wrong = |what: &dyn fmt::Display| Failure::data(format!("{}: {what}", path.display()));
        if !is_array(path) {
            return Err(of_group(name, path));
        }
        let store = FilesystemStore::new(path).map_err(|error| wrong(&error))?;
        let array = zarrs::array::Array::open(Arc::new(store), "/").map_err(|error| {
            wrong(&error)
                .help("it is damaged, or has a codec or a dtype that is not supported: see docs/cli.md")
        })?;
        let found = array.data_type().name_v3().unwrap_or_default();
        let dtype = broadloom_text::dtype(&found).ok_or_else(|| {
            let code = format!(
                "z = zarr.open({:?}); zarr.save(\"x.zarr\", z[:].astype(\"float64\"))",
                path.display().to_string()
            );
            wrong(&format!("its elements are {found}, which is not supported"))
                .help_code("convert it with Python:", code)
        })?;
        let size = |size: &u64| usize::try_from(*size).unwrap_or(usize::MAX);
        let layout = Layout::plain(dtype, array.shape().iter().map(size).collect());
        layout.length().map_err(|what| wrong(&what))?;
        let zarr = Zarr { path: path.to_owned(), array, layout };
        zarr.check_chunks()?;
        Ok(zarr)
    }

    fn wrong(&self, what: impl fmt::Display) -> Failure {
        Failure::data(format!("{}: {what}", self.path.display()))
    }

    /// The sizes of a chunk.
    fn chunk(&self) -> Vec<usize> {
        let first = vec![0; self.layout.shape.len()];
        let shape = self.array.chunk_shape(&first).ok();
        let size = |size: &std::num::NonZeroU64| usize::try_from(size.get()).unwrap_or(usize::MAX);
        shape.map_or(Vec::new(), |shape| shape.iter().map(size).collect())
    }

    /// Refuses chunks that no memory holds, which only damaged metadata have.
    fn check_chunks(&self) -> Result<(), Failure> {
        let chunk = self.chunk();
        let bytes = bytes_of(self.layout.dtype, &chunk).map_or(u64::MAX, |bytes| bytes as u64);
        match bytes > memory_of_machine() {
            true => Err(self
                .wrong(format!(
                    "its chunks have the shape {}, more than the memory of this machine",
                    sizes(&chunk)
                ))
                .help("write it again with smaller chunks")),
            false => Ok(()),
        }
    }

    /// Refuses elements that no memory holds, twice: as they are decoded, and as an array. Chunks that do not exist take no space in a
    /// store.
    fn check_memory(&self, ranges: &[Range<u64>]) -> Result<(), Failure> {
        let shape: Vec<usize> = ranges.iter().map(|range| (range.end - range.start) as usize).collect();
        let bytes = bytes_of(self.layout.dtype, &shape).map_or(u64::MAX, |bytes| bytes as u64);
        match bytes.saturating_mul(2) > memory_of_machine() {
            true => Err(self
                .wrong(format!("{} of its elements do not fit into the memory of this machine", sizes(&shape)))
                .help("compute it in chunks with fewer rows, --chunk 1000, or write it again with smaller chunks")),
            false => Ok(()),
        }
    }

    /// The elements of rows, or all elements of an array without axes.
    fn read(&self, rows: Range<usize>) -> Result<Owned, Failure> {
        let mut ranges: Vec<Range<u64>> = self.array.shape().iter().map(|size| 0..*size).collect();
        if let Some(leading) = ranges.first_mut() {
            *leading = rows.start as u64..rows.end as u64;
        }
        if ranges.iter().any(Range::is_empty) {
            return Ok(Owned::default());
        }
        self.check_memory(&ranges)?;
        let subset = ArraySubset::new_with_ranges(&ranges);
        let failed = |error: &dyn fmt::Display| self.wrong(error).help(DAMAGED);
        let bytes: ArrayBytes<'static> =
            self.array.retrieve_array_subset(&subset).map_err(|error| failed(&error))?;
        let bytes = bytes.into_fixed().map_err(|error| failed(&error))?;
        Owned::read(&bytes[..], bytes.len()).map_err(|error| failed(&error))
    }
}

/// The error of a group.
fn of_group(name: &str, path: &Path) -> Failure {
    let failure = Failure::data(format!("{} is a group of Zarr, not an array", path.display()));
    let known = keys(path);
    match known.first() {
        Some(first) => failure
            .help(format!("its arrays are {known:?}"))
            .help_code("choose one:", format!("{name}={}", path.join(first).display())),
        None => failure
            .help("it has no arrays: give the folder of an array, which has the file zarr.json or .zarray"),
    }
}

/// The advice for a path that does not exist, below a store that does.
pub fn nearest(path: &Path) -> Option<String> {
    let known = keys(path.parent()?);
    let name = path.file_name()?.to_str()?;
    let near = broadloom_text::nearest(name, known.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
    (!known.is_empty()).then(|| format!("the arrays of this group are {known:?}{near}"))
}

impl Source for Zarr {
    fn dtype(&self) -> DType {
        self.layout.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    fn load(&self) -> Result<Array, Failure> {
        let rows = self.layout.shape.first().copied().unwrap_or(1);
        let owned = self.read(0..rows)?;
        self.layout.array(Memory::owned(owned), 0).map_err(|what| self.wrong(what))
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>, Failure> {
        let band = self.chunk().first().copied().unwrap_or(1).max(1);
        Ok(Box::new(Bands { zarr: self, at: 0, band, decoded: None, chunk: None }))
    }
}

/// Rows of an array. Chunks are decoded once, a band of those with the same rows at a time.
struct Bands<'a> {
    zarr: &'a Zarr,
    at: usize,
    /// The number of rows of a chunk.
    band: usize,
    /// The band that was read last, with its number.
    decoded: Option<(usize, Memory)>,
    chunk: Option<Array>,
}

impl Bands<'_> {
    /// Adds rows within one band.
    fn add(&mut self, rows: Range<usize>, row: usize, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        let number = rows.start / self.band;
        let first = number * self.band;
        let decoded = match self.decoded.take() {
            Some((last, memory)) if last == number => memory,
            _ => {
                let length = self.zarr.layout.shape.first().copied().unwrap_or(0);
                Memory::owned(self.zarr.read(first..first.saturating_add(self.band).min(length))?)
            }
        };
        let part = decoded.bytes().get((rows.start - first) * row..(rows.end - first) * row);
        bytes.extend(part.unwrap_or_default());
        self.decoded = Some((number, decoded));
        Ok(())
    }
}

impl Rows for Bands<'_> {
    fn next(&mut self, count: usize) -> Result<ArrayView<'_>, Failure> {
        let Layout { dtype, shape, .. } = &self.zarr.layout;
        let (length, inner) = shape.split_first().map_or((0, &[][..]), |(length, inner)| (*length, inner));
        let end = self.at.saturating_add(count).min(length);
        let row = bytes_of(*dtype, inner).unwrap_or(0);
        let shape = [&[end - self.at], inner].concat();
        let mut bytes = Vec::new();
        while self.at < end {
            let next = (self.at / self.band + 1).saturating_mul(self.band).min(end);
            self.add(self.at..next, row, &mut bytes)?;
            self.at = next;
        }
        let owned = Owned::read(&bytes[..], bytes.len()).map_err(|error| self.zarr.wrong(error))?;
        let array = Layout::plain(*dtype, shape).array(Memory::owned(owned), 0);
        self.chunk.insert(array.map_err(|what| self.zarr.wrong(what))?).view().map_err(Failure::data)
    }
}
