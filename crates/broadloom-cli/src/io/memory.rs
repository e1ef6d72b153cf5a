//! Elements in memory: mapped from a file, or owned.
#![allow(unsafe_code, reason = "mapping a file is unsafe, because others may change it")]

use broadloom::{ArrayView, DType, LayoutError};
use broadloom_ir::for_each_dtype;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Bytes aligned for every dtype, or mapped from a file.
#[derive(Debug, Clone)]
pub enum Memory {
    Mapped(Arc<Mmap>),
    Owned(Arc<Owned>),
}

/// Owned bytes, in words that are aligned for every dtype.
#[derive(Debug, Default)]
pub struct Owned {
    words: Vec<u64>,
    length: usize,
}

impl Owned {
    /// The number of bytes to read before allocating more: the length that a file claims is not trusted.
    const BLOCK: usize = 1 << 20;

    /// Reads `count` bytes.
    ///
    /// # Errors
    /// Returns an error if there are fewer, or not enough memory.
    pub fn read(mut from: impl Read, length: usize) -> io::Result<Owned> {
        let mut words: Vec<u64> = Vec::new();
        let mut done = 0;
        while done < length {
            let part = Owned::BLOCK.min(length - done);
            let first = words.len();
            words.try_reserve(part.div_ceil(8)).map_err(|_| io::ErrorKind::OutOfMemory)?;
            words.resize(first + part.div_ceil(8), 0);
            let target = bytemuck::cast_slice_mut::<u64, u8>(words.get_mut(first..).unwrap_or_default());
            from.read_exact(target.get_mut(..part).unwrap_or_default())?;
            done += part;
        }
        Ok(Owned { words, length })
    }

    /// Reverses the bytes of each element.
    #[must_use]
    pub fn swapped(mut self, dtype: DType) -> Owned {
        let bytes = bytemuck::cast_slice_mut::<u64, u8>(&mut self.words);
        bytes.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
        self
    }

    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words).get(..self.length).unwrap_or_default()
    }
}

impl Memory {
    pub fn owned(owned: Owned) -> Memory {
        Memory::Owned(Arc::new(owned))
    }

    /// Maps a file that is not empty, without reading it.
    ///
    /// # Errors
    /// Returns an error if the system cannot map it.
    pub fn map(file: &File) -> io::Result<Memory> {
        // SAFETY: any bits are a valid element, except for bool, which is checked before use. The help text asks users not to change the file meanwhile.
        let map = unsafe { Mmap::map(file) };
        map.map(|map| Memory::Mapped(Arc::new(map)))
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Memory::Mapped(map) => map,
            Memory::Owned(owned) => owned.bytes(),
        }
    }
}

#[cfg(feature = "arrow")]
impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// An array: its dtype, shape and elements.
#[derive(Debug, Clone)]
pub struct Array {
    dtype: DType,
    shape: Vec<usize>,
    /// Whether the first axis is the innermost.
    is_fortran: bool,
    memory: Memory,
    /// The offset of the elements, in bytes.
    offset: usize,
    /// Their number of bytes.
    length: usize,
}

impl Array {
    /// An array whose elements start at an offset in memory. Elements that are not aligned are copied.
    ///
    /// # Errors
    /// Returns an error, in words, if there are fewer bytes than the shape needs, or not enough memory for a copy.
    pub fn new(
        dtype: DType,
        shape: Vec<usize>,
        is_fortran: bool,
        memory: Memory,
        offset: usize,
    ) -> Result<Array, String> {
        let length = bytes_of(dtype, &shape).ok_or_else(|| too_large(dtype, &shape))?;
        let available = memory.bytes().len().saturating_sub(offset);
        let elements = memory.bytes().get(offset..).and_then(|bytes| bytes.get(..length));
        let Some(elements) = elements else {
            let text = sizes(&shape);
            return Err(format!("{dtype}{text} needs {length} bytes of data, but there are {available}"));
        };
        if elements.as_ptr().align_offset(dtype.size()) == 0 {
            return Ok(Array { dtype, shape, is_fortran, memory, offset, length });
        }
        let copy = Owned::read(elements, length).map_err(|error| error.to_string())?;
        Ok(Array { dtype, shape, is_fortran, memory: Memory::owned(copy), offset: 0, length })
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn bytes(&self) -> &[u8] {
        let bytes = self.memory.bytes().get(self.offset..).unwrap_or_default();
        bytes.get(..self.length).unwrap_or_default()
    }

    /// Rows of the array for a kernel.
    ///
    /// # Errors
    /// Returns an error, in words, if the rows do not exist, or a byte of their bools is neither 0 nor 1.
    pub fn rows(&self, rows: Range<usize>) -> Result<ArrayView<'_>, String> {
        let none = || format!("there are no rows {rows:?} in an array of shape {:?}", self.shape);
        if self.is_fortran {
            return self.view()?.rows(rows.clone()).ok_or_else(none);
        }
        // Check only these rows.
        let (first, inner) = self.shape.split_first().ok_or_else(none)?;
        let row = bytes_of(self.dtype, inner).ok_or_else(none)?;
        if rows.start > rows.end || rows.end > *first {
            return Err(none());
        }
        let offset = self.offset + rows.start * row;
        let shape = [&[rows.len()], inner].concat();
        let length = rows.len() * row;
        let memory =
            self.memory.bytes().get(offset..).and_then(|bytes| bytes.get(..length)).ok_or_else(none)?;
        view_of(self.dtype, memory, &shape, None)
    }

    /// The array for a kernel.
    ///
    /// # Errors
    /// Returns an error, in words, if a byte of a bool is neither 0 nor 1.
    pub fn view(&self) -> Result<ArrayView<'_>, String> {
        let mut strides: Vec<isize> = Vec::new();
        let mut stride: isize = 1;
        for size in &self.shape {
            strides.push(stride);
            stride = stride.saturating_mul(isize::try_from(*size).unwrap_or(isize::MAX));
        }
        view_of(self.dtype, self.bytes(), &self.shape, self.is_fortran.then_some(strides.as_slice()))
    }
}

/// Bytes as elements, in row-major order if no strides are given.
fn view_of<'m>(
    dtype: DType,
    bytes: &'m [u8],
    shape: &[usize],
    strides: Option<&[isize]>,
) -> Result<ArrayView<'m>, String> {
    macro_rules! typed {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match dtype {
                $(DType::$variant => {
                    let elements = bytemuck::checked::try_cast_slice::<u8, $rust>(bytes);
                    let elements = elements.map_err(|_| no_bools())?;
                    match strides {
                        Some(strides) => ArrayView::strided(elements, 0, shape, strides),
                        None => ArrayView::new(elements, shape),
                    }
                })*
            }
        };
    }
    for_each_dtype!(typed).map_err(|error: LayoutError| error.to_string())
}

fn no_bools() -> String {
    "some bytes of its bools are neither 0 nor 1: declare them as u8".to_owned()
}

/// The number of bytes, if it can be represented and addressed.
pub fn bytes_of(dtype: DType, shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let count = shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size))?;
    count.checked_mul(dtype.size()).filter(|bytes| isize::try_from(*bytes).is_ok())
}

pub fn too_large(dtype: DType, shape: &[usize]) -> String {
    format!("an array {dtype}{} is too large for the memory of any machine", sizes(shape))
}

/// `[2, 3]`
pub fn sizes(shape: &[usize]) -> String {
    format!("{shape:?}")
}
