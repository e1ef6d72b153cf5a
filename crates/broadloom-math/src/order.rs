//! Sorting of rows: like tiles, these are loops that compiled kernels call.
//!
//! ```text
//! sort       elements ──key──▶ integers in the same order ──sorted in place──▶ elements
//! argsort    (key, index) in one integer of 64 bits ──sorted──▶ indices; ties of keys that were cut, by the elements
//! ```
//!
//! The key of a float is an integer; keys compare as the floats do, and the key of NaN is above all others. Nothing is
//! allocated, because a running kernel has nowhere to get memory from. Where there are few values, each is counted and
//! written as often. AVX-512 has sorts of its own for integers of 32 and 64 bits; other levels share the standard
//! library's, which spends its time on branches. A long row that can be stopped is cut by its keys first, see `digits`.
#![allow(unsafe_code, reason = "entry points called by compiled kernels")]

use crate::digits;
use crate::element::ElementType;
use crate::few_values;
use crate::level::CpuLevel;
use crate::stop::{PART, Stop};
#[cfg(target_arch = "x86_64")]
use crate::vector_sort::{self, of_longs, of_words};

/// The entry point of a sort: writes the `count` elements of `source`, or their indices (i64), to `target` in order. Where it is
/// stopped, what it leaves there is unspecified.
///
/// Ascending order has -0 before +0, and NaNs after all numbers, each written as the quiet NaN. Indices are those of a
/// stable sort in which all zeros are equal, and all NaNs. Descending order reverses the order of keys, so NaNs come
/// first; equal elements stay in the order of their indices.
///
/// # Safety
///
/// `source` must be valid for reads of `count` elements, which need no alignment; `target` must be aligned and valid for
/// reads and writes of as many; they must not overlap.
pub type SortFn = unsafe extern "C" fn(target: *mut u8, source: *const u8, count: usize, stop: &Stop<'_>);

/// The kind of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sorting {
    /// Whether it writes the indices of the elements instead of the elements.
    pub indices: bool,
    /// Whether the greatest element comes first.
    pub descending: bool,
}

/// Returns the sort for elements of a type; its order is that of every level.
pub fn sort_function(of: ElementType, sorting: Sorting, level: CpuLevel) -> SortFn {
    #[cfg(target_arch = "x86_64")]
    if level == CpuLevel::Avx512 && vector_sort::is_supported() {
        return of_elements(of, Sorts::<true>(sorting));
    }
    let _ = level;
    of_elements(of, Sorts::<false>(sorting))
}

/// The sorts of a kind; by vectors if they are `WIDE`.
struct Sorts<const WIDE: bool>(Sorting);

impl<const WIDE: bool> OfElements for Sorts<WIDE> {
    type Function = SortFn;

    fn of<E: Element>(self) -> SortFn {
        match (self.0.indices, self.0.descending) {
            (false, false) => sort::<E, false, WIDE>,
            (false, true) => sort::<E, true, WIDE>,
            (true, false) => argsort::<E, false, WIDE>,
            (true, true) => argsort::<E, true, WIDE>,
        }
    }
}

/// Entry points, one for each type of elements.
pub(crate) trait OfElements {
    type Function;

    fn of<E: Element>(self) -> Self::Function;
}

/// Returns the entry point for a type of elements.
pub(crate) fn of_elements<F: OfElements>(of: ElementType, functions: F) -> F::Function {
    match of {
        ElementType::Bool | ElementType::U8 => functions.of::<Unsigned<u8>>(),
        ElementType::U16 => functions.of::<Unsigned<u16>>(),
        ElementType::U32 => functions.of::<Unsigned<u32>>(),
        ElementType::U64 => functions.of::<Unsigned<u64>>(),
        ElementType::I8 => functions.of::<Signed<u8>>(),
        ElementType::I16 => functions.of::<Signed<u16>>(),
        ElementType::I32 => functions.of::<Signed<u32>>(),
        ElementType::I64 => functions.of::<Signed<u64>>(),
        ElementType::F16 => functions.of::<Float<u16, 0x7c00>>(),
        ElementType::Bf16 => functions.of::<Float<u16, 0x7f80>>(),
        ElementType::F32 => functions.of::<Float<u32, 0x7f80_0000>>(),
        ElementType::F64 => functions.of::<Float<u64, 0x7ff0_0000_0000_0000>>(),
    }
}

/// An unsigned integer as wide as an element.
pub(crate) trait Bits: Copy + Ord + 'static {
    /// The sign bit.
    const SIGN: Self;
    const ALL: Self;
    fn flipped(self, by: Self) -> Self;
    /// The bits without the sign bit.
    fn magnitude(self) -> Self;
    fn wide(self) -> u64;
    /// Returns the lower bits of a wide integer.
    fn narrow(wide: u64) -> Self;
    /// Sorts integers, by vectors of AVX-512 where there are some for them. Returns `None` if it was stopped.
    ///
    /// # Safety
    ///
    /// The CPU must support it.
    unsafe fn sort_by_vectors(integers: &mut [Self], stop: &Stop<'_>) -> Option<()>;
}

macro_rules! bits {
    ($($type:ty: $by_vectors:expr;)*) => {
        $(impl Bits for $type {
            const SIGN: $type = 1 << (<$type>::BITS - 1);
            const ALL: $type = <$type>::MAX;

            fn flipped(self, by: $type) -> $type {
                self ^ by
            }

            fn magnitude(self) -> $type {
                self & !Self::SIGN
            }

            fn wide(self) -> u64 {
                self.into()
            }

            fn narrow(wide: u64) -> $type {
                wide as $type
            }

            unsafe fn sort_by_vectors(integers: &mut [$type], stop: &Stop<'_>) -> Option<()> {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: by the contract of the caller.
                #[allow(unused_unsafe, reason = "some integers have no sort of their own")]
                return unsafe { $by_vectors(integers, stop) };
                #[cfg(not(target_arch = "x86_64"))]
                by_digits(integers, stop)
            }
        })*
    };
}

bits! {
    u8: by_digits;
    u16: by_digits;
    u32: of_words::sort;
    u64: of_longs::sort;
}

/// Sorts integers. Returns `None` if it was stopped.
fn sort_integers<B: Bits, const WIDE: bool>(integers: &mut [B], stop: &Stop<'_>) -> Option<()> {
    match WIDE {
        // SAFETY: `sort_function` returns what calls this only where the CPU supports it.
        true => unsafe { B::sort_by_vectors(integers, stop) },
        false => by_digits(integers, stop),
    }
}

/// Sorts integers by the sort of the standard library, which cannot be stopped: in short rows if that is needed.
fn by_digits<B: Bits>(integers: &mut [B], stop: &Stop<'_>) -> Option<()> {
    digits::sort(integers, stop, &|integers: &mut [B]| integers.sort_unstable())
}

/// The kind of numbers that the bits of an element are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Unsigned,
    Signed,
    /// With the bits of infinity.
    Float {
        infinity: u64,
    },
}

/// A type of elements, handled as bits.
pub(crate) trait Element: 'static {
    type Bits: Bits;
    const KIND: Kind;
    /// Returns an integer that compares as the element does: -0 is below +0, and all NaNs are equal.
    fn key(bits: Self::Bits) -> Self::Bits;
    /// Returns the element that has a key.
    fn of_key(key: Self::Bits) -> Self::Bits;
    /// Returns a key in whose order the two zeros are equal.
    fn rank(bits: Self::Bits) -> Self::Bits;
}

struct Unsigned<B>(B);
struct Signed<B>(B);
/// A float type; `INFINITY` has the bits of infinity.
struct Float<B, const INFINITY: u64>(B);

impl<B: Bits> Element for Unsigned<B> {
    type Bits = B;
    const KIND: Kind = Kind::Unsigned;

    fn key(bits: B) -> B {
        bits
    }

    fn of_key(key: B) -> B {
        key
    }

    fn rank(bits: B) -> B {
        bits
    }
}

impl<B: Bits> Element for Signed<B> {
    type Bits = B;
    const KIND: Kind = Kind::Signed;

    fn key(bits: B) -> B {
        bits.flipped(B::SIGN)
    }

    fn of_key(key: B) -> B {
        key.flipped(B::SIGN)
    }

    fn rank(bits: B) -> B {
        Self::key(bits)
    }
}

impl<B: Bits, const INFINITY: u64> Element for Float<B, INFINITY> {
    type Bits = B;
    const KIND: Kind = Kind::Float { infinity: INFINITY };

    fn key(bits: B) -> B {
        let is_negative = bits.flipped(B::SIGN) < bits;
        let key = bits.flipped(if is_negative { B::ALL } else { B::SIGN });
        if bits.magnitude() > B::narrow(INFINITY) { B::ALL } else { key }
    }

    fn of_key(key: B) -> B {
        // The quiet NaN has the highest bit of the mantissa.
        let quiet = INFINITY | (INFINITY & INFINITY.wrapping_neg()) >> 1;
        let is_positive = key.flipped(B::SIGN) < key;
        let bits = key.flipped(if is_positive { B::SIGN } else { B::ALL });
        if key == B::ALL { B::narrow(quiet) } else { bits }
    }

    fn rank(bits: B) -> B {
        let is_zero = bits.magnitude() == B::narrow(0);
        Self::key(if is_zero { B::narrow(0) } else { bits })
    }
}

/// Returns a key whose ascending order is the descending order of the original.
fn turned<B: Bits, const DESCENDING: bool>(key: B) -> B {
    if DESCENDING { key.flipped(B::ALL) } else { key }
}

/// Returns the integers that were written to a row as a slice.
///
/// # Safety
///
/// `target` must be valid for reads and writes of `count` initialised, aligned integers that nothing else refers to.
unsafe fn written<'a, B: Bits>(target: *mut B, count: usize) -> &'a mut [B] {
    // SAFETY: by the contract of the caller.
    unsafe { std::slice::from_raw_parts_mut(target, count) }
}

/// # Safety
///
/// As for [`SortFn`].
unsafe extern "C" fn sort<E: Element, const DESCENDING: bool, const WIDE: bool>(
    target: *mut u8,
    source: *const u8,
    count: usize,
    stop: &Stop<'_>,
) {
    // Nobody reads what a run that is stopped leaves.
    // SAFETY: by the contract of the caller.
    let _ = unsafe { sorted::<E, DESCENDING, WIDE>(target.cast(), source.cast(), count, stop) };
}

/// Sorts elements. Returns `None` if it was stopped.
///
/// # Safety
///
/// As for [`SortFn`].
unsafe fn sorted<E: Element, const DESCENDING: bool, const WIDE: bool>(
    target: *mut E::Bits,
    source: *const E::Bits,
    count: usize,
    stop: &Stop<'_>,
) -> Option<()> {
    if count == 0 {
        return Some(());
    }
    // SAFETY: by the contract of the caller; `index` is below `count` in every call.
    let key = |index: usize| turned::<_, DESCENDING>(E::key(unsafe { source.add(index).read_unaligned() }));
    let mut end = target;
    let has_few_values = few_values::sort(count, stop, key, |key, times| {
        for part in stop.parts(times) {
            for _ in part? {
                // SAFETY: by the contract of the caller; there are `count` keys in all.
                unsafe {
                    end.write(E::of_key(turned::<_, DESCENDING>(key)));
                    end = end.add(1);
                }
            }
        }
        Some(())
    });
    if has_few_values? {
        return Some(());
    }
    for part in stop.parts(count) {
        for index in part? {
            // SAFETY: by the contract of the caller; `index` is below `count`.
            unsafe { target.add(index).write(key(index)) };
        }
    }
    // SAFETY: by the contract of the caller; the loop above has written all integers.
    let keys = unsafe { written(target, count) };
    sort_integers::<_, WIDE>(keys, stop)?;
    for part in stop.parts(count) {
        for key in &mut keys[part?] {
            *key = E::of_key(turned::<_, DESCENDING>(*key));
        }
    }
    Some(())
}

/// # Safety
///
/// As for [`SortFn`].
unsafe extern "C" fn argsort<E: Element, const DESCENDING: bool, const WIDE: bool>(
    target: *mut u8,
    source: *const u8,
    count: usize,
    stop: &Stop<'_>,
) {
    // Nobody reads what a run that is stopped leaves.
    // SAFETY: by the contract of the caller.
    let _ = unsafe { argsorted::<E, DESCENDING, WIDE>(target.cast(), source.cast(), count, stop) };
}

/// Sorts the indices of elements. Returns `None` if it was stopped.
///
/// # Safety
///
/// As for [`SortFn`].
unsafe fn argsorted<E: Element, const DESCENDING: bool, const WIDE: bool>(
    target: *mut u64,
    source: *const E::Bits,
    count: usize,
    stop: &Stop<'_>,
) -> Option<()> {
    let rank = |index: u64| {
        // SAFETY: by the contract of the caller; `index` is below `count` in every call.
        let bits = unsafe { source.add(index as usize).read_unaligned() };
        turned::<_, DESCENDING>(E::rank(bits)).wide()
    };
    let mut range = Ranks::NONE;
    for part in stop.parts(count) {
        for index in part? {
            let index = index as u64;
            range.extend(rank(index));
            // SAFETY: by the contract of the caller; `index` is below `count`.
            unsafe { target.add(index as usize).write(index) };
        }
    }
    let Some(last) = count.checked_sub(1) else { return Some(()) };
    // SAFETY: by the contract of the caller; the loop above has written all integers.
    let indices = unsafe { written(target, count) };
    order::<WIDE>(indices, range, u64::BITS - (last as u64).leading_zeros(), &rank, stop)
}

/// The least and the greatest of some ranks.
struct Ranks {
    least: u64,
    greatest: u64,
}

impl Ranks {
    const NONE: Ranks = Ranks { least: u64::MAX, greatest: 0 };

    fn extend(&mut self, rank: u64) {
        (self.least, self.greatest) = (self.least.min(rank), self.greatest.max(rank));
    }
}

/// Brings indices of so many bits into the order of their ranks, which are in a range, and equal ones into their own. Returns
/// `None` if it was stopped.
fn order<const WIDE: bool>(
    indices: &mut [u64],
    Ranks { least, greatest }: Ranks,
    index_bits: u32,
    rank: &impl Fn(u64) -> u64,
    stop: &Stop<'_>,
) -> Option<()> {
    // The index takes the lower bits, and the rank minus the least rank takes the rest; low bits of the rank that do not
    // fit are cut off.
    let rank_bits = u64::BITS - (greatest - least).leading_zeros();
    let cut = (rank_bits + index_bits).saturating_sub(u64::BITS);
    for part in stop.parts(indices.len()) {
        for index in &mut indices[part?] {
            // The index of a single element needs no bits, and indices may leave none for the rank.
            let rank = (rank(*index) - least).checked_shr(cut).unwrap_or(0);
            *index |= rank.checked_shl(index_bits).unwrap_or(0);
        }
    }
    sort_integers::<_, WIDE>(indices, stop)?;
    let rank_of = |pair: u64| pair.checked_shr(index_bits).unwrap_or(0);
    let index_of = |pair: u64| pair & !u64::MAX.checked_shl(index_bits).unwrap_or(0);
    let mut done = 0;
    for equal in indices.chunk_by_mut(|left, right| rank_of(*left) == rank_of(*right)) {
        done += equal.len();
        if done > PART {
            done = 0;
            if stop.is_due() {
                return None;
            }
        }
        equal.iter_mut().for_each(|pair| *pair = index_of(*pair));
        if cut > 0 && equal.len() > 1 {
            // Their ranks are equal only in the bits that were kept.
            if equal.len() <= PART {
                equal.sort_unstable_by_key(|index| (rank(*index), *index));
                continue;
            }
            let mut range = Ranks::NONE;
            for part in stop.parts(equal.len()) {
                equal[part?].iter().for_each(|index| range.extend(rank(*index)));
            }
            order::<WIDE>(equal, range, index_bits, rank, stop)?;
        }
    }
    Some(())
}
