//! Rows in order, and places in rows that are: no functions, but like tiles loops that compiled kernels call.
//!
//! ```text
//! sort       elements ──key──▶ integers in the same order ──sorted where they stand──▶ elements
//! argsort    (key, index) in one integer of 64 bits ──sorted──▶ indices; ties of keys that were cut, by the elements
//! search     halves of a row, by keys
//! ```
//!
//! The key of a float has its bits so that integers compare as floats do, a NaN above all. Nothing is allocated: there is
//! no memory to ask for in the middle of a kernel. All CPU levels share the loops, for a sort is bound by its branches.
#![allow(unsafe_code, reason = "entry points called by compiled kernels")]

use crate::element::ElementType;

/// The entry point of a sort: puts the `count` elements of `source` in order into `target`, or their indices (i64).
///
/// The order is ascending: -0 before +0, and NaNs behind all numbers, as the one quiet NaN. Indices are those of a stable
/// sort that takes zeros for equal, and NaNs. Descending order is that order of keys reversed, so that NaNs come first;
/// equal elements stay in the order of their indices.
///
/// # Safety
///
/// `source` must be valid for reads of `count` elements, which need no alignment; `target` must be aligned and valid for
/// reads and writes of as many; they must not overlap.
pub type SortFn = unsafe extern "C" fn(target: *mut u8, source: *const u8, count: usize);

/// The entry point of a search: how many of the `count` elements of a sorted row are less than a value, or not greater.
/// Element `i` lies `i * stride` bytes behind `table`; the value is given by its bits. Nothing needs alignment.
///
/// The range of places, `0..=count` at first, is halved at `first + (last - first) / 2`, rounded down, until it is one
/// place; so a row that is not sorted has a place as well, the same everywhere. Zeros are equal, and a NaN is above all
/// numbers.
///
/// # Safety
///
/// The elements of the table must be valid for reads.
pub type SearchFn = unsafe extern "C" fn(table: *const u8, stride: isize, count: usize, value: u64) -> i64;

/// What a sort leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sorting {
    /// The indices of the elements, rather than themselves.
    pub indices: bool,
    /// The greatest first.
    pub descending: bool,
}

/// The sort of elements of a type.
pub fn sort_function(of: ElementType, sorting: Sorting) -> SortFn {
    match (sorting.indices, sorting.descending) {
        (false, false) => of_type(of).ascending,
        (false, true) => of_type(of).descending,
        (true, false) => of_type(of).indices_ascending,
        (true, true) => of_type(of).indices_descending,
    }
}

/// The search among elements of a type: behind those that are equal (`right`), or before them.
pub fn search_function(of: ElementType, right: bool) -> SearchFn {
    if right { of_type(of).right } else { of_type(of).left }
}

/// The loops for a type.
struct Loops {
    ascending: SortFn,
    descending: SortFn,
    indices_ascending: SortFn,
    indices_descending: SortFn,
    left: SearchFn,
    right: SearchFn,
}

fn of_type(of: ElementType) -> Loops {
    match of {
        ElementType::Bool | ElementType::U8 => loops::<Unsigned<u8>>(),
        ElementType::U16 => loops::<Unsigned<u16>>(),
        ElementType::U32 => loops::<Unsigned<u32>>(),
        ElementType::U64 => loops::<Unsigned<u64>>(),
        ElementType::I8 => loops::<Signed<u8>>(),
        ElementType::I16 => loops::<Signed<u16>>(),
        ElementType::I32 => loops::<Signed<u32>>(),
        ElementType::I64 => loops::<Signed<u64>>(),
        ElementType::F16 => loops::<Float<u16, 0x7c00>>(),
        ElementType::Bf16 => loops::<Float<u16, 0x7f80>>(),
        ElementType::F32 => loops::<Float<u32, 0x7f80_0000>>(),
        ElementType::F64 => loops::<Float<u64, 0x7ff0_0000_0000_0000>>(),
    }
}

fn loops<E: Element>() -> Loops {
    Loops {
        ascending: sort::<E, false>,
        descending: sort::<E, true>,
        indices_ascending: argsort::<E, false>,
        indices_descending: argsort::<E, true>,
        left: search::<E, false>,
        right: search::<E, true>,
    }
}

/// An unsigned integer as wide as an element.
trait Bits: Copy + Ord + 'static {
    /// The sign of what is signed.
    const SIGN: Self;
    const ALL: Self;
    fn flipped(self, by: Self) -> Self;
    /// Without a sign.
    fn magnitude(self) -> Self;
    fn wide(self) -> u64;
    /// The lower bits of a wide integer.
    fn narrow(wide: u64) -> Self;
}

macro_rules! bits {
    ($($type:ty)*) => {
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
        })*
    };
}

bits!(u8 u16 u32 u64);

/// A type of elements, by bits.
trait Element: 'static {
    type Bits: Bits;
    /// An integer that compares as the element does, by the sign of zeros as well. All NaNs are one.
    fn key(bits: Self::Bits) -> Self::Bits;
    /// The element of a key.
    fn of_key(key: Self::Bits) -> Self::Bits;
    /// The key, with zeros equal.
    fn rank(bits: Self::Bits) -> Self::Bits;
}

struct Unsigned<B>(B);
struct Signed<B>(B);
/// `INFINITY` are the bits of infinity.
struct Float<B, const INFINITY: u64>(B);

impl<B: Bits> Element for Unsigned<B> {
    type Bits = B;

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

    fn key(bits: B) -> B {
        let is_negative = bits.flipped(B::SIGN) < bits;
        let key = bits.flipped(if is_negative { B::ALL } else { B::SIGN });
        if bits.magnitude() > B::narrow(INFINITY) { B::ALL } else { key }
    }

    fn of_key(key: B) -> B {
        // The quiet NaN: of its mantissa the highest bit.
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

/// Of what a descending order is the ascending one.
fn turned<B: Bits, const DESCENDING: bool>(key: B) -> B {
    if DESCENDING { key.flipped(B::ALL) } else { key }
}

/// The integers that were written to a row, as a slice.
///
/// # Safety
///
/// `target` must be valid for reads and writes of `count` integers that are initialised, aligned, and nobody else's.
unsafe fn written<'a, B: Bits>(target: *mut B, count: usize) -> &'a mut [B] {
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts_mut(target, count) }
}

/// # Safety
///
/// As [`SortFn`].
unsafe extern "C" fn sort<E: Element, const DESCENDING: bool>(
    target: *mut u8,
    source: *const u8,
    count: usize,
) {
    if count == 0 {
        return;
    }
    let (source, target) = (source.cast::<E::Bits>(), target.cast::<E::Bits>());
    for index in 0..count {
        // SAFETY: the caller's; `index` is below `count`.
        unsafe {
            let key = E::key(source.add(index).read_unaligned());
            target.add(index).write(turned::<_, DESCENDING>(key));
        }
    }
    // SAFETY: the caller's; all of it was written just now.
    let keys = unsafe { written(target, count) };
    keys.sort_unstable();
    for key in keys {
        *key = E::of_key(turned::<_, DESCENDING>(*key));
    }
}

/// # Safety
///
/// As [`SortFn`].
unsafe extern "C" fn argsort<E: Element, const DESCENDING: bool>(
    target: *mut u8,
    source: *const u8,
    count: usize,
) {
    let Some(last) = count.checked_sub(1) else { return };
    let source = source.cast::<E::Bits>();
    let rank = |index: u64| {
        // SAFETY: the caller's, for `index` is below `count` wherever this is called.
        let bits = unsafe { source.add(index as usize).read_unaligned() };
        turned::<_, DESCENDING>(E::rank(bits)).wide()
    };
    let indices = 0..count as u64;
    let (least, greatest) = indices
        .clone()
        .map(rank)
        .fold((u64::MAX, 0), |(least, greatest), rank| (rank.min(least), rank.max(greatest)));
    // The index takes the lower bits, what is left of them the rank less the least one; what does not fit is cut off.
    let index_bits = u64::BITS - (last as u64).leading_zeros();
    let rank_bits = u64::BITS - (greatest - least).leading_zeros();
    let cut = (rank_bits + index_bits).saturating_sub(u64::BITS);
    let target = target.cast::<u64>();
    for index in indices {
        // There may be no bits for an index, of one element, or none left for a rank.
        let rank = ((rank(index) - least).checked_shr(cut).unwrap_or(0)).checked_shl(index_bits).unwrap_or(0);
        // SAFETY: the caller's; `index` is below `count`.
        unsafe { target.add(index as usize).write(rank | index) };
    }
    // SAFETY: the caller's; all of it was written just now.
    let pairs = unsafe { written(target, count) };
    pairs.sort_unstable();
    let rank_of = |pair: u64| pair.checked_shr(index_bits).unwrap_or(0);
    let index_of = |pair: u64| pair & !u64::MAX.checked_shl(index_bits).unwrap_or(0);
    for equal in pairs.chunk_by_mut(|left, right| rank_of(*left) == rank_of(*right)) {
        equal.iter_mut().for_each(|pair| *pair = index_of(*pair));
        if cut > 0 && equal.len() > 1 {
            // Equal as far as they were compared.
            equal.sort_unstable_by_key(|index| (rank(*index), *index));
        }
    }
}

/// # Safety
///
/// As [`SearchFn`].
unsafe extern "C" fn search<E: Element, const RIGHT: bool>(
    table: *const u8,
    stride: isize,
    count: usize,
    value: u64,
) -> i64 {
    let wanted = E::rank(E::Bits::narrow(value));
    let (mut first, mut last) = (0, count);
    while first < last {
        let middle = first + (last - first) / 2;
        // SAFETY: the caller's; `middle` is below `count`.
        let bits =
            unsafe { table.offset(stride.wrapping_mul(middle as isize)).cast::<E::Bits>().read_unaligned() };
        let rank = E::rank(bits);
        match rank < wanted || RIGHT && rank == wanted {
            true => first = middle + 1,
            false => last = middle,
        }
    }
    first as i64
}
