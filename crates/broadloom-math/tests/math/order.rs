//! Sorts and searches against those of the standard library on the same elements.
#![allow(unsafe_code, reason = "calls of entry points")]

use broadloom_math::{CpuLevel, ElementType, Sorting, Stop, search_function, sort_function};
use std::cmp::Ordering;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const COUNTS: [usize; 11] = [0, 1, 2, 3, 17, 63, 65, 127, 129, 1000, 5003];
/// For Miri, which is slow.
const FEW: [usize; 4] = [0, 1, 3, 25];

struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ (self.0 >> 29)
    }
}

fn sorted<T: Copy>(
    of: ElementType,
    elements: &[T],
    nothing: T,
    descending: bool,
    level: CpuLevel,
    stop: &Stop<'_>,
) -> (Vec<T>, Vec<i64>) {
    let (mut values, mut indices) = (vec![nothing; elements.len()], vec![-1; elements.len()]);
    let [sort, argsort] =
        [false, true].map(|indices| sort_function(of, Sorting { indices, descending }, level));
    // SAFETY: the vectors are as long as the slice.
    unsafe {
        sort(values.as_mut_ptr().cast(), elements.as_ptr().cast(), elements.len(), stop);
        argsort(indices.as_mut_ptr().cast(), elements.as_ptr().cast(), elements.len(), stop);
    }
    (values, indices)
}

/// Compares with stable sorts by a comparison, which of values tells zeros apart.
fn check<T: Copy>(
    of: ElementType,
    elements: &[T],
    values: impl Fn(T, T) -> Ordering,
    ranks: impl Fn(T, T) -> Ordering,
    bits: impl Fn(T) -> u64,
) {
    let Some(&first) = elements.first() else { return };
    for descending in [false, true] {
        let turned = |order: Ordering| if descending { order.reverse() } else { order };
        let mut in_order = elements.to_vec();
        in_order.sort_by(|left, right| turned(values(*left, *right)));
        let mut order: Vec<i64> = (0..elements.len() as i64).collect();
        order.sort_by(|left, right| turned(ranks(elements[*left as usize], elements[*right as usize])));
        for level in CpuLevel::ALL {
            let (found, indices) = sorted(of, elements, first, descending, level, Stop::NEVER);
            let all = |elements: &[T]| elements.iter().copied().map(&bits).collect::<Vec<u64>>();
            assert_eq!(all(&found), all(&in_order), "{of:?} at {level:?}");
            assert_eq!(indices, order, "{of:?} at {level:?}");
        }
    }
    let mut table = elements.to_vec();
    table.sort_by(|left, right| values(*left, *right));
    for right in [false, true] {
        let is_before = |element: T, value: T| match ranks(element, value) {
            Ordering::Less => true,
            Ordering::Equal => right,
            Ordering::Greater => false,
        };
        for level in CpuLevel::ALL {
            // The rows in order, backwards, and as they are; every third of them.
            for (row, step) in [(&table, 1_isize), (&table, -1), (&elements.to_vec(), 1), (&table, 3)] {
                let count = row.len().div_ceil(step.unsigned_abs());
                let start = if step < 0 { row.len() - 1 } else { 0 };
                let at = |place: usize| row[start.wrapping_add_signed(step * (place as isize))];
                let stride = step * (size_of::<T>() as isize);
                let mut places = vec![-1; elements.len()];
                let search = search_function(of, right, level);
                // SAFETY: the table has so many elements, and there are as many places as values.
                unsafe {
                    let table = row.as_ptr().add(start).cast();
                    search(
                        places.as_mut_ptr(),
                        table,
                        stride,
                        count,
                        elements.as_ptr().cast(),
                        elements.len(),
                    );
                }
                for (&value, place) in elements.iter().zip(places) {
                    let (mut first, mut last) = (0, count);
                    while first < last {
                        let middle = first + (last - first) / 2;
                        let is_after = is_before(at(middle), value);
                        (first, last) = if is_after { (middle + 1, last) } else { (first, middle) };
                    }
                    assert_eq!(place as usize, first, "{of:?} at {level:?}, by {step}");
                    if step == 1 && std::ptr::eq(row, &table) {
                        assert_eq!(first, table.partition_point(|element| is_before(*element, value)));
                    }
                }
            }
        }
    }
}

macro_rules! integers {
    ($counts:ident: $($of:ident $type:ty,)*) => {
        $(for count in $counts {
            // Few numbers, many, and few among some that are far from them.
            for (bits, far) in [(2, 0), (20, 0), (64, 0), (3, 8)] {
                let mut draw = Draw(count as u64 + bits);
                let mut element = || match draw.next() >> 60 < far {
                    true => draw.next() as $type,
                    false => (draw.next() >> (64 - bits)) as $type,
                };
                let elements: Vec<$type> = (0..count).map(|_| element()).collect();
                let order = |left: $type, right: $type| left.cmp(&right);
                check(ElementType::$of, &elements, order, order, |element| element as u64);
            }
        })*
    };
}

#[test]
fn integers_are_sorted_as_by_the_standard_library() {
    integers! { COUNTS: I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, }
}

macro_rules! floats {
    ($counts:ident: $($of:ident $type:ident,)*) => {
        $(for count in $counts {
            for kinds in [4, 8, 1024] {
                let mut draw = Draw(count as u64 + kinds);
                let mut element = || match draw.next() >> 40 & (kinds - 1) {
                    0 => 0.0,
                    1 => -0.0,
                    2 => $type::NAN,
                    3 => -$type::NAN,
                    4 => $type::INFINITY,
                    5 => $type::NEG_INFINITY,
                    6 => $type::from_bits(1),
                    _ => (draw.next() >> 20) as $type / 1e6 - 8e6,
                };
                let elements: Vec<$type> = (0..count).map(|_| element()).collect();
                let nan_last = |left: $type, right: $type, otherwise: Ordering| match (left.is_nan(), right.is_nan()) {
                    (false, false) => otherwise,
                    (left, right) => left.cmp(&right),
                };
                let ranks = |left: $type, right: $type| {
                    nan_last(left, right, left.partial_cmp(&right).unwrap_or(Ordering::Equal))
                };
                let values = |left: $type, right: $type| nan_last(left, right, left.total_cmp(&right));
                let bits = |element: $type| u64::from(if element.is_nan() { $type::NAN } else { element }.to_bits());
                check(ElementType::$of, &elements, values, ranks, bits);
            }
        })*
    };
}

#[test]
fn floats_are_sorted_with_nans_last_and_zeros_by_sign() {
    floats! { COUNTS: F32 f32, F64 f64, }
}

#[test]
fn few_elements_are_sorted() {
    integers! { FEW: I8 i8, U16 u16, I32 i32, U64 u64, }
    floats! { FEW: F32 f32, F64 f64, }
}

/// Long rows with few values are counted instead, up to 2,048 of them in a hash table whose slots are the upper 12 bits of a product.
#[test]
fn few_values_are_counted_and_more_are_sorted() {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let drawn = |count: usize, values: u64| -> Vec<u64> {
        let mut draw = Draw(values);
        (0..count).map(|_| (draw.next() % values).wrapping_mul(0x0123_4567_89ab_cdef)).collect()
    };
    let shapes = [(32_767, 2), (32_768, 1), (32_768, 2), (50_001, 1000), (100_000, 2047), (100_000, 2100)];
    let mut rows: Vec<Vec<u64>> = shapes.into_iter().map(|(count, values)| drawn(count, values)).collect();
    // Values between those of the sample, which is every 24th key: as many as have room, and one more.
    let mut hidden = drawn(100_000, 5);
    for at in 0..2043 {
        hidden[at * 24 + 1] = 1 << 40 | at as u64;
    }
    rows.push(hidden.clone());
    hidden[99_999] = 1 << 41;
    rows.push(hidden);
    // Multiples of the inverse of the multiplier have neighbouring products, so that all fall into one slot.
    let inverse = (0..6).fold(MULTIPLIER, |inverse, _| {
        inverse.wrapping_mul(2_u64.wrapping_sub(MULTIPLIER.wrapping_mul(inverse)))
    });
    rows.push((0..32_768).map(|at| (at % 1500_u64).wrapping_mul(inverse)).collect());
    for row in rows {
        let mut expected = row.clone();
        expected.sort_unstable();
        let (values, indices) = sorted(ElementType::U64, &row, 0, false, CpuLevel::detect(), Stop::NEVER);
        assert!(values == expected, "{} keys", row.len());
        assert!(indices.windows(2).all(|pair| {
            let [before, after] = [pair[0], pair[1]].map(|index| (row[index as usize], index));
            before < after
        }));
    }
}

#[test]
fn floats_of_16_bits_are_sorted_by_their_bits() {
    for (of, infinity) in [(ElementType::F16, 0x7c00_u16), (ElementType::Bf16, 0x7f80)] {
        // Every pattern of bits once, in an order that is none.
        let elements: Vec<u16> = (0..=u16::MAX).map(|index| index.wrapping_mul(40503)).collect();
        let (values, indices) = sorted(of, &elements, 0, false, CpuLevel::detect(), Stop::NEVER);
        let numbers = 2 * (usize::from(infinity) + 1);
        let is_nan = |bits: &u16| bits & 0x7fff > infinity;
        assert!(values[..numbers].iter().all(|bits| !is_nan(bits)) && values[numbers..].iter().all(is_nan));
        let signed =
            |bits: u16| if bits >> 15 == 1 { -1 - i32::from(bits & 0x7fff) } else { i32::from(bits) };
        assert!(values[..numbers].windows(2).all(|pair| signed(pair[0]) < signed(pair[1])));
        let of_indices: Vec<i32> = indices.iter().map(|index| signed(elements[*index as usize])).collect();
        let of_values: Vec<i32> = values.iter().map(|bits| signed(*bits)).collect();
        let without_zeros = |row: &[i32]| -> Vec<i32> {
            row[..numbers].iter().copied().filter(|number| !(-1..=0).contains(number)).collect()
        };
        assert_eq!(without_zeros(&of_indices), without_zeros(&of_values));
    }
}

/// Orders that make pivots bad: runs in both directions, equal elements, one that is apart, and the places of samples.
const PATTERNS: [fn(u32, u32) -> u32; 8] = [
    |at, _| at,
    |at, count| count - at,
    |_, _| 7,
    |at, count| at.min(count - at),
    |at, _| at % 2 * (u32::MAX),
    |at, _| u32::from(at == 40_000),
    |at, _| at.wrapping_mul(2_654_435_761) >> 30,
    // Samples are taken at regular distances.
    |at, count| if at % (count / 64) == count / 128 { at } else { count + at.wrapping_mul(40_503) % 1000 },
];

#[test]
fn integers_in_any_pattern_are_sorted() {
    let count = if cfg!(miri) { 200 } else { 70_001_u32 };
    for pattern in PATTERNS {
        let words: Vec<u32> = (0..count).map(|at| pattern(at, count)).collect();
        let longs: Vec<u64> = words.iter().map(|word| u64::from(*word) << 31).collect();
        for level in CpuLevel::ALL {
            let (mut in_order, mut wide) = (words.clone(), longs.clone());
            in_order.sort_unstable();
            wide.sort_unstable();
            assert!(
                sorted(ElementType::U32, &words, 0, false, level, Stop::NEVER).0 == in_order,
                "{level:?}"
            );
            assert!(sorted(ElementType::U64, &longs, 0, false, level, Stop::NEVER).0 == wide, "{level:?}");
        }
    }
}

/// Rows that are long enough to be cut, one of them with ranks of which the index leaves no room for the lower bits.
#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn rows_that_can_be_stopped_are_sorted_alike() {
    let count = 300_007_u32;
    let flag = AtomicBool::new(false);
    let later = Some(Instant::now() + Duration::from_secs(3600));
    let stop = Stop { flag: Some(&flag), deadline: later };
    let mut draw = Draw(5);
    let mut rows: Vec<Vec<u64>> = PATTERNS
        .iter()
        .map(|pattern| (0..count).map(|at| u64::from(pattern(at, count)) << 20).collect())
        .collect();
    rows.push((0..count).map(|_| draw.next()).collect());
    rows.push((0..count).map(|_| 1 << (draw.next() >> 58)).collect());
    // All but one are near each other.
    rows.push((0..count).map(|at| if at == 77 { u64::MAX } else { draw.next() >> 40 }).collect());
    for row in &rows {
        let floats: Vec<f64> = row.iter().map(|bits| f64::from_bits(*bits)).collect();
        let narrow: Vec<i16> = row.iter().map(|bits| (*bits >> 7) as i16).collect();
        for (descending, level) in [(false, CpuLevel::detect()), (true, CpuLevel::Baseline)] {
            let both = |of, stop: &Stop<'_>| sorted(of, row, 0, descending, level, stop);
            assert!(both(ElementType::U64, &stop) == both(ElementType::U64, Stop::NEVER));
            assert!(both(ElementType::I64, &stop) == both(ElementType::I64, Stop::NEVER));
            let both = |stop: &Stop<'_>| {
                let (values, indices) = sorted(ElementType::F64, &floats, 0.0, descending, level, stop);
                (values.into_iter().map(f64::to_bits).collect::<Vec<u64>>(), indices)
            };
            assert!(both(&stop) == both(Stop::NEVER));
            let both = |stop: &Stop<'_>| sorted(ElementType::I16, &narrow, 0, descending, level, stop);
            assert!(both(&stop) == both(Stop::NEVER));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn sorts_end_when_they_are_stopped() {
    let mut draw = Draw(7);
    let row: Vec<u64> = (0..8_000_000).map(|_| draw.next()).collect();
    let whole = Instant::now();
    sorted(ElementType::U64, &row, 0, false, CpuLevel::Baseline, Stop::NEVER);
    let whole = whole.elapsed();
    // Both sorts: at the beginning, and somewhere on the way.
    for after in [0, 10] {
        let begin = Instant::now();
        let stop = Stop { flag: None, deadline: Some(begin + Duration::from_millis(after)) };
        sorted(ElementType::U64, &row, 0, false, CpuLevel::Baseline, &stop);
        assert!(begin.elapsed() < whole / 2, "{:?} of {whole:?}", begin.elapsed());
    }
}
