//! Memory that kernels write before anyone reads it: results, temporaries and scratch memory.
#![allow(unsafe_code, reason = "results are handed out as initialised once kernels have written them")]

use crate::cache::lock;
use broadloom_ir::dtype::{DType, Element};
use broadloom_ir::for_each_dtype;
use std::any::Any;
use std::cell::RefCell;
use std::sync::Mutex;
use thiserror::Error;

/// The size in bytes from which the system is asked for huge pages: the first touch of 128 MiB took 116 ms with
/// ordinary pages and 12 ms with huge ones.
const HUGE_BYTES: usize = 4 << 20;

/// The size in bytes of the largest block that is kept for large temporaries.
const MAX_LARGE: usize = 1 << 30;

/// The memory of the last call with large temporaries, which no call uses now.
static LARGE: Mutex<Block> = Mutex::new(Block { lines: Vec::new() });

/// The error of an allocation that failed.
///
/// ```
/// use broadloom::{CallError, OutOfMemory, RunError, prelude::*};
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let table = (g.input::<f64>("x", shape![n, 1]) + g.iota(n)).compile()?;
/// let same = ArrayView::strided(&[0.0f64], 0, &[1 << 24, 1], &[0, 0])?; // one element, repeated
/// match table.run(same) {
///     Err(CallError::Run(RunError::Memory(OutOfMemory { bytes }))) => assert_eq!(bytes, 1 << 51),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot allocate {bytes} bytes")]
pub struct OutOfMemory {
    /// The number of bytes requested.
    pub bytes: usize,
}

macro_rules! define_storage {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        /// The elements of an array of any dtype.
        #[derive(Debug, Clone)]
        pub(crate) enum Storage {
            $($variant(Vec<$rust>),)*
        }

        impl Storage {
            /// Allocates room for `count` unwritten elements.
            #[inline]
            pub(crate) fn allocate(dtype: DType, count: usize) -> Result<Storage, OutOfMemory> {
                match dtype { $(DType::$variant => Ok(Storage::$variant(reserve(count)?)),)* }
            }

            fn empty(dtype: DType) -> Storage {
                match dtype { $(DType::$variant => Storage::$variant(Vec::new()),)* }
            }

            /// Returns a pointer to the first element.
            pub(crate) fn as_ptr(&self) -> *const u8 {
                match self { $(Storage::$variant(vec) => vec.as_ptr().cast(),)* }
            }

            /// Returns the pointer through which kernels write.
            pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
                match self { $(Storage::$variant(vec) => vec.as_mut_ptr().cast(),)* }
            }

            /// Declares that the elements have been written.
            ///
            /// # Safety
            /// `count` elements have been allocated, and all have been written with valid values.
            pub(crate) unsafe fn assume_written(&mut self, count: usize) {
                match self {
                    // SAFETY: the contract of the caller is that of `set_len`.
                    $(Storage::$variant(vec) => unsafe { vec.set_len(count) },)*
                }
            }

            /// Gives back memory beyond the elements, if it is much.
            pub(crate) fn shrink(&mut self) {
                match self {
                    $(Storage::$variant(vec) => {
                        if vec.capacity() / 2 > vec.len() {
                            vec.shrink_to_fit();
                        }
                    })*
                }
            }

            pub(crate) fn dtype(&self) -> DType {
                match self { $(Storage::$variant(_) => DType::$variant,)* }
            }

            /// Appends the elements of another storage of the same dtype.
            pub(crate) fn append(&mut self, other: Storage) -> Result<(), OutOfMemory> {
                match (self, other) {
                    $((Storage::$variant(vec), Storage::$variant(mut other)) => {
                        let bytes = other.len().saturating_mul(size_of::<$rust>());
                        vec.try_reserve(other.len()).map_err(|_| OutOfMemory { bytes })?;
                        vec.append(&mut other);
                    })*
                    _ => debug_assert!(false, "arrays of one dtype"),
                }
                Ok(())
            }

            /// Returns the elements as another type, by the rule of `cast`.
            pub(crate) fn cast<T: Element>(&self) -> Result<Vec<T>, OutOfMemory> {
                match self { $(Storage::$variant(vec) => converted(vec),)* }
            }

            fn as_any(&self) -> &dyn Any {
                match self { $(Storage::$variant(vec) => vec,)* }
            }

            fn as_any_mut(&mut self) -> &mut dyn Any {
                match self { $(Storage::$variant(vec) => vec,)* }
            }
        }
    };
}

for_each_dtype!(define_storage);

impl Storage {
    /// Returns the elements, if they are of type `T`.
    pub(crate) fn as_slice<T: Element>(&self) -> Option<&[T]> {
        self.as_any().downcast_ref::<Vec<T>>().map(Vec::as_slice)
    }

    /// Creates a storage of elements.
    pub(crate) fn of<T: Element>(elements: Vec<T>) -> Storage {
        let mut storage = Storage::empty(T::DTYPE);
        if let Some(vec) = storage.as_any_mut().downcast_mut::<Vec<T>>() {
            *vec = elements;
        }
        storage
    }

    /// Returns the elements, if they are of type `T`; otherwise the storage itself.
    pub(crate) fn into_vec<T: Element>(mut self) -> Result<Vec<T>, Storage> {
        match self.as_any_mut().downcast_mut::<Vec<T>>() {
            Some(vec) => Ok(std::mem::take(vec)),
            None => Err(self),
        }
    }
}

fn converted<S: Element, T: Element>(elements: &[S]) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = reserve(elements.len())?;
    vec.extend(elements.iter().filter_map(|element| T::from_scalar(element.into_scalar().cast(T::DTYPE))));
    Ok(vec)
}

fn reserve<T>(count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut vec: Vec<T> = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    if vec.try_reserve_exact(count).is_err() {
        drop(std::mem::take(&mut *lock(&LARGE)));
        vec.try_reserve_exact(count).map_err(|_| OutOfMemory { bytes })?;
    }
    if bytes >= HUGE_BYTES {
        // A refusal is harmless.
        advise(vec.as_mut_ptr().cast(), bytes, Advice::HugePages);
    }
    Ok(vec)
}

/// What the system is told about memory, by the numbers of Linux.
#[derive(Clone, Copy)]
enum Advice {
    /// Nothing is lost if its pages are taken back before they are written again.
    Free = 8,
    HugePages = 14,
}

/// Gives advice about memory and returns whether the system takes it.
#[cfg(target_os = "linux")]
fn advise(start: *mut u8, bytes: usize, advice: Advice) -> bool {
    use std::ffi::{c_int, c_void};
    /// A multiple of every page size in use.
    const PAGE: usize = 64 << 10;
    // SAFETY: the declaration is that of the C library, which std links.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    let skip = start.align_offset(PAGE);
    let length = bytes.saturating_sub(skip) / PAGE * PAGE;
    // SAFETY: the range lies within an allocation that we own. One advice leaves its contents alone, the other is given only
    // for memory whose contents nothing reads again.
    length > 0 && unsafe { madvise(start.wrapping_add(skip).cast(), length, advice as c_int) } == 0
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize, _: Advice) -> bool {
    false
}

/// A cache line, the unit and alignment of scratch memory and temporaries.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

/// Uninitialised memory, aligned to 64 bytes.
#[derive(Default)]
pub(crate) struct Block {
    lines: Vec<Line>,
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({} bytes)", self.bytes())
    }
}

// SAFETY note for users of `as_mut_ptr`: the vector stays empty, only its capacity is used, so nothing is ever read
// as a `Line`.
impl Block {
    pub(crate) fn new(bytes: usize) -> Result<Block, OutOfMemory> {
        Ok(Block { lines: reserve(bytes.div_ceil(size_of::<Line>()))? })
    }

    /// Returns memory for large temporaries: that of the last call which had any, if it suffices. The first touch of fresh memory
    /// takes about as long as the kernels that write it.
    pub(crate) fn large(bytes: usize) -> Result<Block, OutOfMemory> {
        let kept = std::mem::take(&mut *lock(&LARGE));
        if kept.bytes() >= bytes {
            return Ok(kept);
        }
        drop(kept);
        Block::new(bytes)
    }

    /// Keeps memory for large temporaries of the next call, where the system may take its pages back as soon as it needs any.
    pub(crate) fn keep(mut self) {
        let bytes = self.bytes();
        if bytes <= MAX_LARGE && advise(self.as_mut_ptr(), bytes, Advice::Free) {
            *lock(&LARGE) = self;
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }
}

thread_local! {
    static SCRATCH: RefCell<Block> = RefCell::default();
}

/// Runs `action` with at least `bytes` bytes of scratch memory, which the thread keeps for the next kernel.
/// Schedules ask for little more than 1 MiB; most of it is for ranks of blocks, few of which are ever touched.
#[inline]
pub(crate) fn with_scratch<R, E: From<OutOfMemory>>(
    bytes: usize,
    action: impl FnOnce(*mut u8) -> Result<R, E>,
) -> Result<R, E> {
    if bytes == 0 {
        return action(std::ptr::null_mut());
    }
    SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
        Ok(mut block) => {
            if block.bytes() < bytes {
                *block = Block::default();
                *block = Block::new(bytes)?;
            }
            action(block.as_mut_ptr())
        }
        Err(_) => action(Block::new(bytes)?.as_mut_ptr()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_were_written_are_the_storage() {
        let mut storage = Storage::allocate(DType::I32, 3).unwrap();
        assert_eq!(storage.as_slice::<i32>(), Some([].as_slice()));
        for at in 0..3 {
            // SAFETY: there is room for three elements.
            unsafe { storage.as_mut_ptr().cast::<i32>().add(at).write(at as i32 + 5) };
        }
        // SAFETY: all three have been written.
        unsafe { storage.assume_written(3) };
        storage.append(Storage::of(vec![1i32; 70])).unwrap();
        assert_eq!(storage.as_slice::<u8>(), None);
        let storage = storage.into_vec::<f32>().unwrap_err();
        let vec = storage.into_vec::<i32>().unwrap();
        assert_eq!((vec.len(), &vec[..4]), (73, [5, 6, 7, 1].as_slice()));
        // Memory that no kernel has written to is freed like any other.
        drop(Storage::allocate(DType::F64, 100).unwrap());
    }

    #[test]
    fn scratch_memory_is_aligned_and_kept_and_nested_calls_have_their_own() {
        let fill = |bytes: usize, value: u8| {
            with_scratch(bytes, |scratch| {
                assert_eq!(scratch.addr() % 64, 0);
                // SAFETY: as many bytes were asked for.
                unsafe { scratch.write_bytes(value, bytes) };
                Ok::<usize, OutOfMemory>(scratch.addr())
            })
            .unwrap()
        };
        let kept = fill(1000, 1);
        assert_eq!(fill(500, 2), kept);
        let inner = with_scratch(1000, |scratch| {
            // SAFETY: 1000 bytes were asked for.
            unsafe { scratch.write_bytes(3, 1000) };
            let inner = fill(4000, 4);
            // SAFETY: the first byte was written above.
            assert_eq!(unsafe { *scratch }, 3);
            Ok::<usize, OutOfMemory>(inner)
        });
        assert_ne!(inner.unwrap(), kept);
        fill(100_000, 5);
        assert!(with_scratch(0, |scratch| Ok::<bool, OutOfMemory>(scratch.is_null())).unwrap());
    }

    #[test]
    fn large_blocks_are_kept_for_the_next_call_and_used_by_one() {
        let is_kept = cfg!(target_os = "linux");
        let mut block = Block::large(100 << 20).unwrap();
        let address = block.as_mut_ptr().addr();
        block.keep();
        let mut again = Block::large(70 << 20).unwrap();
        assert_eq!(again.as_mut_ptr().addr() == address, is_kept);
        let mut other = Block::large(70 << 20).unwrap();
        assert_ne!(other.as_mut_ptr().addr(), again.as_mut_ptr().addr());
        // SAFETY: there is room for a byte at each end.
        unsafe {
            again.as_mut_ptr().write(1);
            again.as_mut_ptr().add((70 << 20) - 1).write(1);
        }
        again.keep();
        other.keep();
        assert_eq!(lock(&LARGE).bytes() >= 70 << 20, is_kept);
        // No page of it is touched.
        Block::new(MAX_LARGE + 64).unwrap().keep();
        assert!(lock(&LARGE).bytes() <= MAX_LARGE);
        // Nothing is kept from who asks for more than there is.
        assert!(Storage::allocate(DType::F64, usize::MAX / 2).is_err());
        assert_eq!(lock(&LARGE).bytes(), 0);
    }
}
