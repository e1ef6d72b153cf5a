//! What is held after some strips of a row is the beginning of the sorted row, for every type, level and cut.

use crate::proof::random::Random;
use broadloom_math::{BestFn, BestRowsFn, CpuLevel, ElementType, Extreme, best_function, best_rows_function};
use std::cmp::Ordering;
use std::fmt::Debug;

/// What a test needs of a type of elements.
trait Number: Copy + Debug + PartialOrd {
    const ELEMENT: ElementType;
    /// One of few values, so that many are equal, or of many.
    fn draw(random: &mut Random, is_coarse: bool) -> Self;
    fn is_nan(self) -> bool;
    /// In an order in which -0 is below +0.
    fn compare(self, other: Self) -> Ordering;
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($integer:ident $ordered:ident)*) => {$(
        impl Number for $integer {
            const ELEMENT: ElementType = ElementType::$ordered;

            fn draw(random: &mut Random, is_coarse: bool) -> Self {
                let bits = random.bits();
                if is_coarse { (bits % 5) as $integer } else { bits as $integer }
            }

            fn is_nan(self) -> bool {
                false
            }

            fn compare(self, other: Self) -> Ordering {
                self.cmp(&other)
            }

            fn bits(self) -> u64 {
                self as u64
            }
        }
    )*};
}
integers!(i8 I8 i16 I16 i32 I32 i64 I64 u8 U8 u16 U16 u32 U32 u64 U64);

macro_rules! floats {
    ($($float:ident $ordered:ident)*) => {$(
        impl Number for $float {
            const ELEMENT: ElementType = ElementType::$ordered;

            fn draw(random: &mut Random, is_coarse: bool) -> Self {
                let bits = random.bits();
                match bits % 64 {
                    0 if is_coarse => -$float::NAN,
                    1 => $float::INFINITY,
                    2 => -$float::INFINITY,
                    3..=20 if is_coarse => -0.0,
                    21..=40 if is_coarse => 0.0,
                    _ if is_coarse => (bits >> 8) as i8 as $float / 64.0,
                    _ => (bits >> 8) as i32 as $float,
                }
            }

            fn is_nan(self) -> bool {
                self != self
            }

            fn compare(self, other: Self) -> Ordering {
                self.total_cmp(&other)
            }

            fn bits(self) -> u64 {
                u64::from(if self.is_nan() { $float::NAN } else { self }.to_bits())
            }
        }
    )*};
}
floats!(f32 F32 f64 F64);

/// The best values and indices of a row, by sorting all of it.
fn sorted<T: Number>(row: &[T], k: usize, extreme: Extreme) -> (Vec<u64>, Vec<i64>) {
    let order = |compare: &dyn Fn(T, T) -> Ordering| {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&left, &right| {
            let (x, y) = (row[left], row[right]);
            match (x.is_nan(), y.is_nan()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) if extreme == Extreme::Greatest => compare(y, x),
                (false, false) => compare(x, y),
            }
        });
        order.truncate(k);
        order
    };
    let values = order(&T::compare).into_iter().map(|at| row[at].bits()).collect();
    let indices = order(&|x, y| x.partial_cmp(&y).unwrap_or(Ordering::Equal));
    (values, indices.into_iter().map(|at| at as i64).collect())
}

/// What is held of a row of which an element has so many places in memory, taken in strips of some length.
fn held<T: Number>(
    function: BestFn,
    row: &[T],
    apart: usize,
    k: usize,
    strip: usize,
) -> (Vec<u64>, Vec<i64>) {
    let Some(&any) = row.first() else { return (Vec::new(), Vec::new()) };
    let mut memory = vec![any; row.len() * apart];
    row.iter().enumerate().for_each(|(at, value)| memory[at * apart] = *value);
    let (mut values, mut indices) = (vec![any; k + 1], vec![-1i64; k + 1]);
    for (number, part) in row.chunks(strip).enumerate() {
        let first = number * strip;
        // SAFETY: the elements are those of `memory`, and there is room for one more than is held.
        #[allow(unsafe_code, reason = "the entry point is for compiled kernels")]
        unsafe {
            function(
                values.as_mut_ptr().cast(),
                indices.as_mut_ptr(),
                k,
                first,
                memory.as_ptr().add(first * apart).cast(),
                (apart * size_of::<T>()) as isize,
                first as i64,
                part.len(),
            );
        }
    }
    assert_eq!((values[k].bits(), indices[k]), (any.bits(), -1), "written behind the end");
    let count = k.min(row.len());
    (values[..count].iter().map(|value| value.bits()).collect(), indices[..count].to_vec())
}

/// What is held of each of several rows of one length, of which an element each is taken at a time.
fn held_across<T: Number>(function: BestRowsFn, rows: &[Vec<T>], k: usize) -> Vec<(Vec<u64>, Vec<i64>)> {
    let (count, length) = (rows.len(), rows[0].len());
    let Some(&any) = rows[0].first() else { return vec![(Vec::new(), Vec::new()); count] };
    // A place has room for some more rows.
    let apart = count + 3;
    let (mut values, mut indices) = (vec![any; (k + 1) * apart], vec![-1i64; (k + 1) * apart]);
    for index in 0..length {
        let elements: Vec<T> = rows.iter().map(|row| row[index]).collect();
        // SAFETY: there is an element of each row, and room for one place more than is held.
        #[allow(unsafe_code, reason = "the entry point is for compiled kernels")]
        unsafe {
            function(
                values.as_mut_ptr().cast(),
                apart * size_of::<T>(),
                indices.as_mut_ptr().cast(),
                apart * size_of::<i64>(),
                k,
                index,
                elements.as_ptr().cast(),
                index as i64,
                count,
            );
        }
    }
    let is_untouched = |at: usize| (values[at].bits(), indices[at]) == (any.bits(), -1);
    let room = (0..k).flat_map(|place| place * apart + count..(place + 1) * apart);
    assert!(room.chain(k * apart..(k + 1) * apart).all(is_untouched), "written behind the end");
    let of = |row: usize| {
        let places = (0..k.min(length)).map(|place| place * apart + row);
        places.map(|at| (values[at].bits(), indices[at])).unzip()
    };
    (0..count).map(of).collect()
}

fn check_across<T: Number>(cases: &Cases) {
    let mut random = Random(11);
    for &(length, count) in cases.tables {
        for &(is_coarse, k) in cases.held {
            let mut rows: Vec<Vec<T>> =
                (0..count).map(|_| (0..length).map(|_| T::draw(&mut random, is_coarse)).collect()).collect();
            rows[0].sort_by(|x, y| x.compare(*y));
            rows[count / 2].sort_by(|x, y| y.compare(*x));
            for extreme in Extreme::ALL {
                let want: Vec<_> = rows.iter().map(|row| sorted(row, k, extreme)).collect();
                for level in CpuLevel::ALL {
                    let function = best_rows_function(T::ELEMENT, extreme, level).expect("there is a loop");
                    let found = held_across(function, &rows, k);
                    for ((found, want), row) in found.iter().zip(&want).zip(&rows) {
                        assert_eq!(found, want, "{extreme:?} {k} of {row:?}, {level}");
                    }
                }
            }
        }
    }
}

/// What is tried for a type.
struct Cases {
    /// Lengths of rows.
    lengths: &'static [usize],
    /// Lengths and numbers of rows that come together.
    tables: &'static [(usize, usize)],
    /// Whether there are few values, and how many elements are held.
    held: &'static [(bool, usize)],
    /// Distances of elements and lengths of strips.
    walks: &'static [(usize, usize)],
}

const ALL: Cases = Cases {
    lengths: &[0, 1, 2, 15, 16, 17, 64, 127, 128, 129, 300, 1025],
    tables: &[(0, 3), (1, 16), (5, 1), (40, 15), (64, 64), (70, 65), (300, 130)],
    held: &[(true, 1), (true, 5), (true, 64), (false, 1), (false, 10), (false, 64)],
    walks: &[(1, 1024), (1, 100), (1, 1), (3, 64), (2, 1024)],
};

/// For Miri, which is slow.
const FEW: Cases = Cases {
    lengths: &[1, 17, 150],
    tables: &[(5, 1), (9, 70)],
    held: &[(true, 5)],
    walks: &[(1, 140), (3, 64)],
};

fn check<T: Number>(cases: &Cases) {
    check_across::<T>(cases);
    let mut random = Random(7);
    for &length in cases.lengths {
        for &(is_coarse, k) in cases.held {
            let drawn: Vec<T> = (0..length).map(|_| T::draw(&mut random, is_coarse)).collect();
            let mut ascending = drawn.clone();
            ascending.sort_by(|x, y| x.compare(*y));
            for row in [drawn, ascending.clone(), ascending.into_iter().rev().collect()] {
                for extreme in Extreme::ALL {
                    let want = sorted(&row, k, extreme);
                    for level in CpuLevel::ALL {
                        let function = best_function(T::ELEMENT, extreme, level).expect("there is a loop");
                        for &(apart, strip) in cases.walks {
                            let found = held(function, &row, apart, k, strip);
                            assert_eq!(found, want, "{extreme:?} {k} of {row:?}, {level}, {apart}, {strip}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn integers_are_held_in_order() {
    check::<i8>(&ALL);
    check::<i16>(&ALL);
    check::<i32>(&ALL);
    check::<i64>(&ALL);
    check::<u8>(&ALL);
    check::<u16>(&ALL);
    check::<u32>(&ALL);
    check::<u64>(&ALL);
}

#[test]
fn floats_are_held_in_order() {
    check::<f32>(&ALL);
    check::<f64>(&ALL);
}

#[test]
fn few_elements_are_held_in_order() {
    check::<u8>(&FEW);
    check::<i64>(&FEW);
    check::<f32>(&FEW);
}
