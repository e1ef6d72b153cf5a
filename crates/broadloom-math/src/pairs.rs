//! Pair tiles: the inner loops of reductions over pairs, compiled once per CPU level.
//!
//! ```text
//! left   terms × len   rows in lanes          ┌ sums of R vectors × STEP pairs, in registers
//! right  count × terms one element, splatted ─┤   over the terms, in order, then
//!                                             └ into the best pair and its index, in registers over count
//! ```
//!
//! A fast fold is right only if no pair is NaN and, for the index of an extreme root, if no two roots are so close that
//! rounding may make them equal. It detects these cases, and then the chunk of rows is folded again by the definition. A sum
//! of few squares or magnitudes of differences is no NaN if all operands are finite, which is checked before the pairs then.
#![allow(unsafe_code, reason = "entry points called by compiled kernels, and their dispatch by CPU level")]

use crate::float::{Float, Value};
use crate::lanes::{Array, Lanes};
#[cfg(target_arch = "x86_64")]
use crate::lanes::{F32x4, F32x8, F32x16, F64x2, F64x4, F64x8};
use crate::level::{CpuLevel, Fused};
use crate::tile::Precision;
use smallvec::SmallVec;

/// The terms that are summed over the elements of a left and a right row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Term {
    /// `(left - right)^2`.
    SquaredDifference,
    /// `left * right`.
    Product,
    /// `|left - right|`.
    AbsoluteDifference,
}

impl Term {
    /// Every term.
    pub const ALL: [Term; 3] = [Term::SquaredDifference, Term::Product, Term::AbsoluteDifference];
}

/// The extreme that is searched among a row's pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The smallest.
    Least,
    /// The largest.
    Greatest,
}

impl Extreme {
    /// Both.
    pub const ALL: [Extreme; 2] = [Extreme::Least, Extreme::Greatest];
}

/// The function of a pair tile.
///
/// A pair is the sum of its terms: an accumulator starts at -0, adds the terms in index order (squares and products by
/// `madd` of the [`Level`](crate::Level)), and adds +0 at the end, so that no sum is -0. The square root of the sum is
/// optional.
///
/// The extreme value of a row is [`Real::minimum`](crate::Real::minimum) or
/// [`maximum`](crate::Real::maximum) over its pairs, starting from +inf or -inf. The index is that of the first NaN, or
/// else of the first best pair; 0 if no pair beats the infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pairing {
    /// The terms of the sum.
    pub term: Term,
    /// Whether a pair is the square root of its sum.
    pub root: bool,
    /// The pair to find.
    pub extreme: Extreme,
}

/// The entry point of a pair tile. For each row `i < len`, it writes the extreme of the pairs with all `j < count` to
/// `values[i]` and its index to `indices[i]`.
///
/// Element `t < terms` of row `i` is at `left + t * left_stride` bytes and `i` elements; element `t` of `j` is at
/// `right + j * right_stride + t * right_step` bytes. Nothing needs alignment.
///
/// # Safety
///
/// All elements named above must be valid for reads; `values` and `indices` must each be valid for writes of
/// `len` elements or null, and overlap nothing. `count` must be below 2^31. The CPU must support the level for
/// which [`pair_function`] returned the pointer.
pub type PairFn = unsafe extern "C" fn(
    values: *mut u8,
    indices: *mut i64,
    left: *const u8,
    left_stride: usize,
    right: *const u8,
    right_stride: isize,
    right_step: isize,
    terms: usize,
    count: usize,
    len: usize,
);

#[cfg(target_arch = "x86_64")]
type Baseline32 = F32x4;
#[cfg(target_arch = "x86_64")]
type Baseline64 = F64x2;
#[cfg(not(target_arch = "x86_64"))]
type Baseline32 = Array<f32, crate::level::Unfused, 4>;
#[cfg(not(target_arch = "x86_64"))]
type Baseline64 = Array<f64, crate::level::Unfused, 2>;

/// The f32 lanes of a portable vector. On x86-64 this serves only CPUs without the level's instructions, where each
/// `madd` is a library call.
const PORTABLE: usize = if cfg!(target_arch = "x86_64") { 1 } else { 4 };

/// Returns the pair tile of a pairing at a level. If this CPU or build does not support the level, the tile is
/// portable: slow, with the level's numerics.
pub fn pair_function(pairing: Pairing, precision: Precision, level: CpuLevel) -> PairFn {
    match precision {
        Precision::F32 => match level {
            CpuLevel::Baseline => of_pairing::<Portable<Baseline32>>(pairing),
            #[cfg(target_arch = "x86_64")]
            CpuLevel::Avx2Fma if level.is_supported() => of_pairing::<Avx2Fma<F32x8>>(pairing),
            #[cfg(target_arch = "x86_64")]
            CpuLevel::Avx512 if level.is_supported() => of_pairing::<Avx512<F32x16>>(pairing),
            CpuLevel::Avx2Fma | CpuLevel::Avx512 | CpuLevel::Neon => {
                of_pairing::<Portable<Array<f32, Fused, PORTABLE>>>(pairing)
            }
        },
        Precision::F64 => match level {
            CpuLevel::Baseline => of_pairing::<Portable<Baseline64>>(pairing),
            #[cfg(target_arch = "x86_64")]
            CpuLevel::Avx2Fma if level.is_supported() => of_pairing::<Avx2Fma<F64x4>>(pairing),
            #[cfg(target_arch = "x86_64")]
            CpuLevel::Avx512 if level.is_supported() => of_pairing::<Avx512<F64x8>>(pairing),
            CpuLevel::Avx2Fma | CpuLevel::Avx512 | CpuLevel::Neon => {
                of_pairing::<Portable<Array<f64, Fused, { PORTABLE.div_ceil(2) }>>>(pairing)
            }
        },
    }
}

fn of_pairing<E: Entry>(pairing: Pairing) -> PairFn {
    match pairing.term {
        Term::SquaredDifference => of_term::<E, SquaredDifference>(pairing),
        Term::Product => of_term::<E, Product>(pairing),
        Term::AbsoluteDifference => of_term::<E, AbsoluteDifference>(pairing),
    }
}

fn of_term<E: Entry, S: Summand>(pairing: Pairing) -> PairFn {
    match (pairing.extreme, pairing.root) {
        (Extreme::Least, false) => E::function::<Kind<S, false, false>>(),
        (Extreme::Least, true) => E::function::<Kind<S, false, true>>(),
        (Extreme::Greatest, false) => E::function::<Kind<S, true, false>>(),
        (Extreme::Greatest, true) => E::function::<Kind<S, true, true>>(),
    }
}

/// An entry point that is compiled for the CPU level of its vectors.
trait Entry {
    fn function<K: Pairs>() -> PairFn;
}

macro_rules! entry {
    ($(#[$attribute:meta])* $name:ident, $function:ident) => {
        $(#[$attribute])*
        struct $name<V>(std::marker::PhantomData<V>);

        $(#[$attribute])*
        impl<V: Lanes> Entry for $name<V> {
            fn function<K: Pairs>() -> PairFn {
                $function::<V, K>
            }
        }
    };
    ($(#[$attribute:meta])* $name:ident, $function:ident, $rows:literal, $(#[$feature:meta])?) => {
        entry!($(#[$attribute])* $name, $function);

        /// # Safety
        ///
        /// As [`PairFn`].
        $(#[$attribute])*
        $(#[$feature])?
        unsafe extern "C" fn $function<V: Lanes, K: Pairs>(
            values: *mut u8,
            indices: *mut i64,
            left: *const u8,
            left_stride: usize,
            right: *const u8,
            right_stride: isize,
            right_step: isize,
            terms: usize,
            count: usize,
            len: usize,
        ) {
            let operands = Operands { left, left_stride, right, right_stride, right_step, terms, count };
            // SAFETY: by the contract of the caller.
            unsafe {
                // Roots need more registers, few pairs do not pay for a large chunk, and few rows do not fill it.
                let chunk = $rows * V::COUNT;
                if K::ROOT || count < MANY || len < chunk || terms * chunk > MOST_COPIED {
                    run::<V, K, 2>(values, indices, operands, len);
                } else {
                    run::<V, K, $rows>(values, indices, operands, len);
                }
            }
        }
    };
}

// The last number is that of vectors of rows in a chunk. Each element of the right that is loaded serves as many pairs, and
// four elements at a time make enough independent sums to hide the latency of `madd`. With 32 registers there are more.
entry!(Portable, portable, 2,);
entry!(#[cfg(target_arch = "x86_64")] Avx2Fma, avx2_fma, 2, #[target_feature(enable = "avx2,fma")]);
entry!(
    #[cfg(target_arch = "x86_64")] Avx512, avx512, 4,
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
);

/// Adds a term to a sum.
trait Summand {
    /// Whether no sum is negative.
    const POSITIVE: bool;
    fn add_to<V: Lanes>(sum: V, left: V, right: V) -> V;
}

struct SquaredDifference;
struct Product;
struct AbsoluteDifference;

impl Summand for SquaredDifference {
    const POSITIVE: bool = true;

    #[inline(always)]
    fn add_to<V: Lanes>(sum: V, left: V, right: V) -> V {
        let difference = left.sub(right);
        difference.madd(difference, sum)
    }
}

impl Summand for Product {
    const POSITIVE: bool = false;

    #[inline(always)]
    fn add_to<V: Lanes>(sum: V, left: V, right: V) -> V {
        left.madd(right, sum)
    }
}

impl Summand for AbsoluteDifference {
    const POSITIVE: bool = true;

    #[inline(always)]
    fn add_to<V: Lanes>(sum: V, left: V, right: V) -> V {
        sum.add(left.sub(right).magnitude())
    }
}

/// A [`Pairing`] as a type.
trait Pairs {
    type Summand: Summand;
    const GREATEST: bool;
    const ROOT: bool;
}

struct Kind<S, const GREATEST: bool, const ROOT: bool>(std::marker::PhantomData<S>);

impl<S: Summand, const GREATEST: bool, const ROOT: bool> Pairs for Kind<S, GREATEST, ROOT> {
    type Summand = S;
    const GREATEST: bool = GREATEST;
    const ROOT: bool = ROOT;
}

/// Where `a` beats `b`; nowhere if either is NaN.
#[inline(always)]
fn beats<V: Lanes, K: Pairs>(a: V, b: V) -> V::Mask {
    if K::GREATEST { b.is_less(a) } else { a.is_less(b) }
}

/// `a` where it beats `b`, else `b`.
#[inline(always)]
fn better<V: Lanes, K: Pairs>(a: V, b: V) -> V {
    if K::GREATEST { a.greater(b) } else { a.lesser(b) }
}

/// The operands of [`PairFn`], possibly starting at a later row.
#[derive(Clone, Copy)]
struct Operands {
    left: *const u8,
    left_stride: usize,
    right: *const u8,
    right_stride: isize,
    right_step: isize,
    terms: usize,
    count: usize,
}

impl Operands {
    /// Returns whether all elements of the right are finite.
    ///
    /// # Safety
    ///
    /// As [`PairFn`].
    #[inline(always)]
    unsafe fn is_right_finite<V: Lanes>(self) -> bool {
        let size = size_of::<V::Scalar>();
        let is_together =
            self.right_step == size as isize && self.right_stride == (self.terms * size) as isize;
        // SAFETY: by the contract of the caller.
        unsafe {
            if is_together {
                return are_finite::<V>(self.right, self.count * self.terms);
            }
            // No closures: they would not have the instructions of the level.
            let mut finite = true;
            for j in 0..self.count {
                let right = self.right.wrapping_offset(j as isize * self.right_stride);
                for t in 0..self.terms {
                    finite &= are_finite::<V>(right.wrapping_offset(t as isize * self.right_step), 1);
                }
            }
            finite
        }
    }

    /// Returns whether all elements of a chunk of rows are finite.
    ///
    /// # Safety
    ///
    /// As [`sums`].
    #[inline(always)]
    unsafe fn are_rows_finite<V: Lanes, const R: usize>(self) -> bool {
        let mut finite = true;
        for t in 0..self.terms {
            let left = self.left.wrapping_add(t * self.left_stride);
            // SAFETY: by the contract of the caller.
            finite &= unsafe { are_finite::<V>(left, R * V::COUNT) };
        }
        finite
    }
}

/// Returns whether all of `count` elements that lie together are finite.
///
/// # Safety
///
/// They must be valid for reads, and the CPU must have the instructions of `V`.
#[inline(always)]
unsafe fn are_finite<V: Lanes>(from: *const u8, count: usize) -> bool {
    // SAFETY: by the contract of the caller.
    unsafe {
        // The difference of a number from itself is a NaN if it is not finite.
        let mut differences = V::splat(V::Scalar::ZERO);
        let whole = count / V::COUNT;
        for at in 0..whole {
            let x = V::load(from.add(at * size_of::<V>()));
            differences = differences.add(x.sub(x));
        }
        let mut rest = true;
        for at in whole * V::COUNT..count {
            let x = from.cast::<V::Scalar>().add(at).read_unaligned();
            rest &= x * V::Scalar::ZERO == V::Scalar::ZERO;
        }
        rest && !differences.any(differences.is_nan())
    }
}

/// Pairs per step of a hot fold, and of one whose few terms stay in registers.
const STEP: usize = 4;
const STEP_OF_FEW: usize = 2;
/// The most rows of a chunk.
const MOST: usize = 64;
/// The most elements of a copied chunk that stay on the stack.
const MOST_COPIED: usize = 2048;
/// From how many pairs on large chunks are worth their while, and so it is, from some chunks on, to look first whether all
/// operands are finite.
const MANY: usize = 8;
const CHUNKS: usize = 4;

/// Computes all chunks of a strip. The last chunk overlaps the one before and gives the same bits for the common
/// rows; a strip shorter than a chunk is padded.
///
/// # Safety
///
/// As [`PairFn`], and the CPU must have the instructions of `V`.
#[inline(always)]
unsafe fn run<V: Lanes, K: Pairs, const R: usize>(
    values: *mut u8,
    indices: *mut i64,
    operands: Operands,
    len: usize,
) {
    if len == 0 || (values.is_null() && indices.is_null()) {
        return;
    }
    let size = size_of::<V::Scalar>();
    let chunk = R * V::COUNT;
    // SAFETY: by the contract of the caller.
    let few = K::Summand::POSITIVE
        && !K::ROOT
        && matches!(operands.terms, 2 | 3)
        && operands.count >= MANY
        && len >= CHUNKS * chunk
        && unsafe { operands.is_right_finite::<V>() };
    let full = len >= chunk;
    // Distant rows share few sets of the cache: if there are many and they are used often, copy them.
    let packed = !full || (operands.terms > 16 && operands.count > 16);
    // Up to 64 terms of two vectors, the most of a sum in index order, stay on the stack, so that kernels allocate nothing.
    let mut copy: SmallVec<[V::Scalar; MOST_COPIED]> = SmallVec::new();
    if packed {
        // Fill it in place: moving a finished vector here would cost as much as the work.
        copy.resize(operands.terms * chunk, V::Scalar::ONE);
    }
    let copy: *mut u8 = copy.as_mut_ptr().cast();
    let mut start = 0;
    loop {
        let mut rows = operands;
        // Without terms the left may be any pointer.
        rows.left = rows.left.wrapping_add(start * size);
        if packed {
            for t in 0..rows.terms {
                let bytes = if full { chunk * size } else { len * size };
                // SAFETY: rows start .. start + chunk are the caller's, or all `len` if that is less; the copy
                // has a chunk for each term.
                unsafe {
                    let (from, to) = (rows.left.add(t * rows.left_stride), copy.add(t * chunk * size));
                    from.copy_to_nonoverlapping(to, bytes);
                }
            }
            rows.left = copy;
            rows.left_stride = chunk * size;
        }
        let hot = if K::ROOT && !K::Summand::POSITIVE {
            None
        } else if indices.is_null() {
            // SAFETY: by the contract of the caller, for a whole chunk.
            unsafe { of_terms::<V, K, false, R>(rows, few) }
        } else {
            // SAFETY: by the contract of the caller, for a whole chunk.
            unsafe { of_terms::<V, K, true, R>(rows, few) }
        };
        let best = match hot {
            Some(best) => best,
            // SAFETY: by the contract of the caller, for a whole chunk.
            None => unsafe { by_definition::<V, K, R>(rows) },
        };
        // SAFETY: the results have room for a chunk from `start` on, or for `len` elements.
        unsafe { best.store(values, indices, start, if full { chunk } else { len }) };
        if start + chunk >= len {
            return;
        }
        start = (start + chunk).min(len - chunk);
    }
}

/// The best pairs of a chunk's rows so far.
#[derive(Clone, Copy)]
struct Best<V: Lanes, const R: usize> {
    value: [V; R],
    index: [V::Index; R],
}

impl<V: Lanes, const R: usize> Best<V, R> {
    /// # Safety
    ///
    /// The CPU must have the instructions of `V`.
    #[inline(always)]
    unsafe fn new<K: Pairs>() -> Self {
        let identity = if K::GREATEST { -V::Scalar::INFINITY } else { V::Scalar::INFINITY };
        // SAFETY: by the contract of the caller.
        let identity = unsafe { V::splat(identity) };
        Best { value: [identity; R], index: [identity.index(0); R] }
    }

    /// Writes the first `count` elements to those from `start` on.
    ///
    /// # Safety
    ///
    /// Pointers that are not null must be valid for those writes, and `count` at most a chunk.
    #[inline(always)]
    unsafe fn store(self, values: *mut u8, indices: *mut i64, start: usize, count: usize) {
        let size = size_of::<V::Scalar>();
        const { assert!(R * V::COUNT <= MOST, "a chunk fits the arrays") };
        // SAFETY: by the contract of the caller; the arrays have room for a chunk.
        unsafe {
            if count == R * V::COUNT {
                self.store_all(
                    values.wrapping_add(start * size),
                    indices.wrapping_add(start),
                    values,
                    indices,
                );
                return;
            }
            let (mut value, mut index) = ([V::Scalar::ZERO; MOST], [0i64; MOST]);
            let short: (*mut u8, *mut i64) = (value.as_mut_ptr().cast(), index.as_mut_ptr());
            self.store_all(short.0, short.1, values, indices);
            if !values.is_null() {
                short.0.copy_to_nonoverlapping(values.add(start * size), count * size);
            }
            if !indices.is_null() {
                short.1.cast::<u8>().copy_to_nonoverlapping(indices.add(start).cast(), count * 8);
            }
        }
    }

    /// Writes all elements, of what is wanted.
    ///
    /// # Safety
    ///
    /// There must be room for a chunk at `to_values` if `values` is not null, and at `to_indices` if `indices` is not.
    #[inline(always)]
    unsafe fn store_all(self, to_values: *mut u8, to_indices: *mut i64, values: *mut u8, indices: *mut i64) {
        // SAFETY: by the contract of the caller.
        unsafe {
            for r in 0..R {
                if !values.is_null() {
                    self.value[r].store(to_values.add(r * size_of::<V>()));
                }
                if !indices.is_null() {
                    self.value[r].store_index(self.index[r], to_indices.add(r * V::COUNT));
                }
            }
        }
    }
}

/// The sums of a chunk's rows and `N` pairs from `j` on, without the last addition of +0. There are `T` terms, or any number
/// of them if `T` is 0.
///
/// # Safety
///
/// The operands must be as in [`PairFn`] for a whole chunk, `j + N` at most the count, `T` 0 or the number of terms, and the
/// CPU must have the instructions of `V`.
#[inline(always)]
unsafe fn sums<V: Lanes, K: Pairs, const N: usize, const T: usize, const R: usize>(
    operands: Operands,
    j: usize,
) -> [[V; R]; N] {
    // SAFETY: by the contract of the caller.
    unsafe {
        let mut sums = [[V::splat(-V::Scalar::ZERO); R]; N];
        let mut left = operands.left;
        let mut right = operands.right.wrapping_offset(j as isize * operands.right_stride);
        for _ in 0..if T > 0 { T } else { operands.terms } {
            let mut rows = sums[0];
            for (r, row) in rows.iter_mut().enumerate() {
                *row = V::load(left.add(r * size_of::<V>()));
            }
            for (n, sums) in sums.iter_mut().enumerate() {
                let from = right.wrapping_offset(n as isize * operands.right_stride);
                let other = V::splat(from.cast::<V::Scalar>().read_unaligned());
                for (sum, row) in sums.iter_mut().zip(rows) {
                    *sum = K::Summand::add_to(*sum, row, other);
                }
            }
            left = left.wrapping_add(operands.left_stride);
            right = right.wrapping_offset(operands.right_step);
        }
        sums
    }
}

/// A fold that detects when its result may be wrong.
struct Hot<V: Lanes, const R: usize> {
    best: Best<V, R>,
    /// The sum of all pairs, to detect a NaN.
    total: [V; R],
    /// The rows in which a pair won by so little that its root may be equal.
    near: V::Mask,
}

impl<V: Lanes, const R: usize> Hot<V, R> {
    #[inline(always)]
    fn take<K: Pairs, const INDEXED: bool, const T: usize>(&mut self, pairs: [V; R], j: usize) {
        let best = &mut self.best;
        for (r, pair) in pairs.into_iter().enumerate() {
            if INDEXED {
                let wins = beats::<V, K>(pair, best.value[r]);
                if K::ROOT {
                    let clearly = beats::<V, K>(pair, best.value[r].mul_by(slack::<V::Scalar, K>()));
                    self.near = pair.or(self.near, pair.and_not(wins, clearly));
                }
                best.index[r] = pair.select_index(wins, pair.index(j), best.index[r]);
            }
            best.value[r] = better::<V, K>(pair, best.value[r]);
            // No sum of few terms is NaN.
            if T == 0 {
                self.total[r] = self.total[r].add(pair);
            }
        }
    }
}

/// As [`hot`], with the number of terms as a constant for the `few` of them that stay in registers beside rows that are
/// finite, as the right is.
///
/// # Safety
///
/// As [`hot`].
#[inline(always)]
unsafe fn of_terms<V: Lanes, K: Pairs, const INDEXED: bool, const R: usize>(
    operands: Operands,
    few: bool,
) -> Option<Best<V, R>> {
    // SAFETY: by the contract of the caller.
    unsafe {
        if few && operands.are_rows_finite::<V, R>() {
            return match operands.terms {
                2 => hot::<V, K, INDEXED, STEP_OF_FEW, 2, R>(operands),
                _ => hot::<V, K, INDEXED, STEP_OF_FEW, 3, R>(operands),
            };
        }
        hot::<V, K, INDEXED, STEP, 0, R>(operands)
    }
}

/// Returns the best pair of each row, and its index if `INDEXED`; `None` if a pair may be NaN, or if the root of a
/// beaten pair may equal the best root. With a constant number of terms `T`, no pair is NaN.
///
/// # Safety
///
/// As [`sums`], for all pairs.
#[inline(always)]
unsafe fn hot<V: Lanes, K: Pairs, const INDEXED: bool, const N: usize, const T: usize, const R: usize>(
    operands: Operands,
) -> Option<Best<V, R>> {
    // SAFETY: by the contract of the caller.
    let zero = unsafe { V::splat(V::Scalar::ZERO) };
    // SAFETY: by the contract of the caller.
    let mut hot = Hot { best: unsafe { Best::<V, R>::new::<K>() }, total: [zero; R], near: zero.is_nan() };
    let mut j = 0;
    while j + N <= operands.count {
        // SAFETY: by the contract of the caller.
        let pairs = unsafe { sums::<V, K, N, T, R>(operands, j) };
        for (n, pairs) in pairs.into_iter().enumerate() {
            hot.take::<K, INDEXED, T>(pairs, j + n);
        }
        j += N;
    }
    while j < operands.count {
        // SAFETY: by the contract of the caller.
        let [pairs] = unsafe { sums::<V, K, 1, T, R>(operands, j) };
        hot.take::<K, INDEXED, T>(pairs, j);
        j += 1;
    }
    if INDEXED && K::ROOT && zero.any(hot.near) {
        return None;
    }
    let mut best = hot.best;
    for r in 0..R {
        if zero.any(hot.total[r].is_nan()) {
            return None;
        }
        best.value[r] = best.value[r].add(zero);
        if K::ROOT && operands.count > 0 {
            // The root never decreases.
            best.value[r] = best.value[r].sqrt();
        }
    }
    Some(best)
}

/// The factor between the best pair so far and the bound beyond which the root of a pair is better too. Squares of
/// numbers whose roots round to the same number are less than 2.1 epsilon apart. The factor allows 4 epsilon; it also
/// holds for subnormal numbers, because sums that close are large ones.
#[inline(always)]
fn slack<T: Float, K: Pairs>() -> T {
    let epsilon = T::ONE / T::INTEGERS_FROM;
    let four = T::TWO * T::TWO * epsilon;
    if K::GREATEST { T::ONE + four } else { T::ONE - four }
}

/// Returns the best pair of each row and its index, for any values.
///
/// # Safety
///
/// As [`sums`], for all pairs.
#[inline(always)]
unsafe fn by_definition<V: Lanes, K: Pairs, const R: usize>(operands: Operands) -> Best<V, R> {
    // SAFETY: by the contract of the caller.
    let (zero, mut best) = unsafe { (V::splat(V::Scalar::ZERO), Best::<V, R>::new::<K>()) };
    for j in 0..operands.count {
        // SAFETY: by the contract of the caller.
        let [sums] = unsafe { sums::<V, K, 1, 0, R>(operands, j) };
        for (r, sum) in sums.into_iter().enumerate() {
            let sum = sum.add(zero);
            let pair = if K::ROOT { sum.sqrt() } else { sum };
            let wins = zero.or(beats::<V, K>(pair, best.value[r]), pair.is_nan());
            let wins = zero.and_not(wins, best.value[r].is_nan());
            best.index[r] = zero.select_index(wins, zero.index(j), best.index[r]);
            best.value[r] = pair.select(wins, best.value[r]);
        }
    }
    best
}
