//! Elements at indices that are computed: which of them are checked, and what is read without a check.

use broadloom::prelude::*;
use broadloom::{CallError, RunError};

/// Numbers of elements around those of vectors.
const COUNTS: [usize; 12] = [0, 1, 3, 4, 5, 8, 12, 17, 63, 64, 65, 1000];

/// Some integers, also outside of every table.
fn integers(count: usize) -> Vec<i64> {
    (0..count as i64).map(|at| (at * 7919) % 1013 - 400).collect()
}

type Index = fn(Tensor) -> Tensor;

/// A name, an index by an expression, the same by hand, and whether it is below 100 and not negative, whatever it is computed from.
type Case = (&'static str, Index, fn(i64) -> i64, bool);

const INDICES: &[Case] = &[
    ("clip to 0 .. 99", |x| x.clip(0, 99), |x| x.clamp(0, 99), true),
    ("clip to 0 .. 100", |x| x.clip(0, 100), |x| x.clamp(0, 100), false),
    ("clip to -1 .. 99", |x| x.clip(-1, 99), |x| x.clamp(-1, 99), false),
    ("one more than clip to 0 .. 98", |x| x.clip(0, 98) + 1, |x| x.clamp(0, 98) + 1, true),
    ("one more than clip to -1 .. 98", |x| x.clip(-1, 98) + 1, |x| x.clamp(-1, 98) + 1, true),
    ("one more than clip to 0 .. 99", |x| x.clip(0, 99) + 1, |x| x.clamp(0, 99) + 1, false),
    ("one less than clip to 1 .. 100", |x| x.clip(1, 100) - 1, |x| x.clamp(1, 100) - 1, true),
    ("a bit field", |x| x & 63, |x| x & 63, true),
    ("a larger bit field", |x| x & 127, |x| x & 127, false),
    ("a remainder", |x| x % 100, |x| x.rem_euclid(100), true),
    ("a greater remainder", |x| x % 101, |x| x.rem_euclid(101), false),
    ("the least and the greatest", |x| x.minimum(99).maximum(0), |x| x.clamp(0, 99), true),
    ("the least only", |x| x.minimum(99), |x| x.min(99), false),
    ("one of two", |x| select(x.gt(0), x.clip(0, 9), 99), |x| if x > 0 { x.clamp(0, 9) } else { 99 }, true),
    ("one of two that may not", |x| select(x.gt(0), x, 99), |x| if x > 0 { x } else { 99 }, false),
    ("of 8 bits", |x| x.cast::<u8>() >> 2, |x| i64::from(x as u8 >> 2), true),
    ("a truth value", |x| x.gt(0).cast::<i64>() + 98, |x| 98 + i64::from(x > 0), true),
    // 2^31 wraps in 32 bits.
    (
        "a sum that wraps",
        |x| (x.cast::<i32>().clip(0, 99) + i32::MAX).cast::<i64>() & 99,
        |x| i64::from((x as i32).clamp(0, 99).wrapping_add(i32::MAX)) & 99,
        true,
    ),
    (
        "a sum that wraps and is not cut",
        |x| (x.cast::<i32>().clip(1, 99) + i32::MAX).minimum(99).cast::<i64>(),
        |x| i64::from((x as i32).clamp(1, 99).wrapping_add(i32::MAX).min(99)),
        false,
    ),
];

#[test]
fn indices_are_checked_unless_none_can_be_out_of_range() {
    let table: Vec<f32> = (0..100).map(|at| at as f32 * 0.5).collect();
    for (name, index, by_hand, is_within) in INDICES {
        let g = Graph::new();
        let x = g.input::<i64>("x", shape![g.symbol("n")]);
        let t = g.input::<f32>("t", shape![100]);
        let read = t.take(index(x).cast::<i64>(), 0);
        let counted = index(x).cast::<i64>().segment_count(100);
        let [read, counted] = [read, counted].map(|result| result.compile().expect("it compiles"));
        let loops = counted.explain().to_string();
        assert_eq!(!loops.contains("check "), *is_within, "{name}\n{loops}");
        for count in COUNTS {
            let x = integers(count);
            let expected: Vec<i64> = x.iter().map(|x| by_hand(*x)).collect();
            let arrays = inputs! { "x" => ArrayView::new(&x, &[count]).unwrap(), "t" => ArrayView::new(&table, &[100]).unwrap() };
            let wrong = expected.iter().position(|index| !(-100..100).contains(index));
            match (read.run(arrays), wrong) {
                (Ok(found), None) => {
                    let found: Vec<f32> = found.try_into().unwrap();
                    let element = |index: &i64| table[index.rem_euclid(100) as usize];
                    assert_eq!(found, expected.iter().map(element).collect::<Vec<_>>(), "{name}, {count}");
                }
                (Err(CallError::Run(RunError::IndexOutOfRange { index, size: 100, .. })), Some(place)) => {
                    assert_eq!(index, expected[place], "{name}, {count}");
                }
                (found, _) => panic!("{name}, {count}: {found:?}, {wrong:?}"),
            }
            let arrays = inputs! { "x" => ArrayView::new(&x, &[count]).unwrap() };
            let wrong = expected.iter().any(|index| !(0..100).contains(index));
            match counted.run(arrays) {
                Ok(found) if !wrong => {
                    let mut counts = vec![0_i64; 100];
                    expected.iter().for_each(|index| counts[*index as usize] += 1);
                    assert_eq!(Vec::<i64>::try_from(found).unwrap(), counts, "{name}, {count}");
                }
                Err(CallError::Run(_)) if wrong => {}
                found => panic!("{name}, {count}: {found:?}"),
            }
        }
    }
}

/// Unused lanes of a register hold what is no index: one less than nothing.
#[test]
fn what_is_in_unused_lanes_is_no_index() {
    for count in COUNTS.into_iter().chain(120..136) {
        let g = Graph::new();
        let n = g.symbol("n");
        let ids = g.input::<i64>("ids", shape![n]);
        let (w, small, short) = (
            g.input::<f32>("w", shape![n]),
            g.input::<u8>("small", shape![n]),
            g.input::<i32>("short", shape![n]),
        );
        let sums = w.segment_sum(ids - 1, 5).compile().unwrap();
        let of_small = small.cast::<i64>().segment_sum(ids - 1, 5).compile().unwrap();
        let of_short = w.segment_sum(short.cast::<i64>() - 1, 5).compile().unwrap();
        let ids: Vec<i64> = (0..count as i64).map(|at| at % 5 + 1).collect();
        let short: Vec<i32> = ids.iter().map(|id| *id as i32).collect();
        let (w, small): (Vec<f32>, Vec<u8>) = (0..count).map(|at| ((at % 7) as f32, (at % 11) as u8)).unzip();
        let (mut expected, mut expected_of_small) = ([0.0_f32; 5], [0_i64; 5]);
        for (at, id) in ids.iter().enumerate() {
            expected[*id as usize - 1] += w[at];
            expected_of_small[*id as usize - 1] += i64::from(small[at]);
        }
        let shape = [count];
        let ids = ArrayView::new(&ids, &shape).unwrap();
        let w = ArrayView::new(&w, &shape).unwrap();
        let found: Vec<f32> =
            sums.run(inputs! { "w" => w.clone(), "ids" => ids.clone() }).unwrap().try_into().unwrap();
        assert_eq!(found, expected, "{count}");
        let small = ArrayView::new(&small, &shape).unwrap();
        let found: Vec<i64> =
            of_small.run(inputs! { "small" => small, "ids" => ids }).unwrap().try_into().unwrap();
        assert_eq!(found, expected_of_small, "{count}");
        let short = ArrayView::new(&short, &shape).unwrap();
        let found: Vec<f32> =
            of_short.run(inputs! { "w" => w, "short" => short }).unwrap().try_into().unwrap();
        assert_eq!(found, expected, "{count}");
    }
}

#[test]
fn proofs_of_any_depth_are_proven_again() {
    let x: Vec<i64> = integers(50);
    for depth in 1..20 {
        let g = Graph::new();
        let n = g.symbol("n");
        let given = g.input::<i64>("x", shape![n]);
        let mut index = g.iota(n);
        for step in 1..=depth {
            index = select(given.gt(3 * step), index, g.iota(n).minimum(step));
        }
        let counts = index.segment_count(n).compile().unwrap();
        let array = ArrayView::new(&x, &[x.len()]).unwrap();
        let found: Vec<i64> = counts.run(inputs! { "x" => array }).unwrap().try_into().unwrap();
        let mut expected = vec![0_i64; x.len()];
        for (at, x) in x.iter().enumerate() {
            let of = |index: i64, step: i64| if *x > 3 * step { index } else { (at as i64).min(step) };
            expected[(1..=depth).fold(at as i64, of) as usize] += 1;
        }
        assert_eq!(found, expected, "{depth}");
    }
}

#[test]
fn tables_of_every_dtype_and_layout_are_read_at_indices() {
    fn check<T: Element + PartialEq + std::fmt::Debug>(of: fn(i64) -> T) {
        let elements: Vec<T> = (0..120).map(of).collect();
        let g = Graph::new();
        let [n, k] = g.symbols(["n", "k"]);
        let (x, t) = (g.input::<i64>("x", shape![n]), g.input::<T>("t", shape![k]));
        let read = t.take(x, 0).compile().unwrap();
        for (start, step, size) in [(0, 1, 120_i64), (119, -1, 120), (1, 3, 39), (118, -7, 16), (5, 0, 9)] {
            let layout = [(size as usize, step as isize)];
            let (sizes, strides): (Vec<usize>, Vec<isize>) = layout.into_iter().unzip();
            let view = ArrayView::strided(&elements, start as usize, &sizes, &strides).unwrap();
            for count in COUNTS {
                let x: Vec<i64> = integers(count).iter().map(|x| x.rem_euclid(2 * size) - size).collect();
                let arrays = inputs! { "x" => ArrayView::new(&x, &[count]).unwrap(), "t" => view.clone() };
                let found: Vec<T> = read.run(arrays).unwrap().try_into().unwrap();
                let element = |x: &i64| of(start + step * x.rem_euclid(size));
                let expected: Vec<T> = x.iter().map(element).collect();
                assert_eq!(found, expected, "{}, {count} of {size} from {start} by {step}", T::DTYPE);
            }
        }
    }
    check(|at| at as f32 * 0.25);
    check(|at| at as f64 - 7.5);
    check(|at| at * 1_000_000_007);
    check(|at| (at * 35_791_394) as i32);
    check(|at| at as u16 * 500);
    check(|at| at as u8);
    check(|at| at % 3 == 0);
}

#[test]
fn columns_at_computed_indices_and_tables_without_elements() {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let (x, t) = (g.input::<i64>("x", shape![n]), g.input::<f64>("t", shape![5, k]));
    let kernel = t.take(x, 1).compile().unwrap();
    for count in COUNTS {
        for size in [1_usize, 2, 19] {
            let table: Vec<f64> = (0..5 * size).map(|at| at as f64).collect();
            let x: Vec<i64> = integers(count).iter().map(|x| x.rem_euclid(size as i64)).collect();
            let arrays = inputs! {
                "x" => ArrayView::new(&x, &[count]).unwrap(), "t" => ArrayView::new(&table, &[5, size]).unwrap()
            };
            let found: Vec<f64> = kernel.run(arrays).unwrap().try_into().unwrap();
            let expected = (0..5).flat_map(|row| x.iter().map(move |x| (row * size as i64 + x) as f64));
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
        let x = integers(count);
        let empty: [f64; 0] = [];
        let arrays = inputs! { "x" => ArrayView::new(&x, &[count]).unwrap(), "t" => ArrayView::new(&empty, &[5, 0]).unwrap() };
        assert_eq!(kernel.run(arrays).is_ok(), count == 0, "{count}");
    }
}

/// Bounds of equal bins, as the documentation states them.
fn bounds(bins: usize, low: f64, high: f64) -> Vec<f32> {
    let step = ((high as f32) - (low as f32)) / bins as f32;
    let mut bounds: Vec<f32> = (0..bins).map(|at| at as f32 * step + low as f32).collect();
    bounds.push(high as f32);
    bounds
}

#[test]
fn bins_are_those_between_whose_bounds_numbers_lie() {
    for (bins, low, high) in
        [(1, 0.0, 1.0), (3, -1.0, 1.0), (7, 0.1, 0.7), (256, -4.0, 4.0), (1000, 0.0, 0.3)]
    {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        let (counts, edges) = x.histogram(bins, low, high);
        let [counts, edges] = [counts, edges].map(|result| result.compile().unwrap());
        let bounds = bounds(bins as usize, low, high);
        // The bounds themselves, and the numbers beside them.
        let mut x: Vec<f32> =
            vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 0.0, -0.0, 1e-40];
        for bound in &bounds {
            x.extend([
                bound.next_down(),
                *bound,
                bound.next_up(),
                bound + 0.37 * (high - low) as f32 / bins as f32,
            ]);
        }
        let view = ArrayView::new(&x, &[x.len()]).unwrap();
        let found: Vec<f32> = edges.run(inputs! {}).unwrap().try_into().unwrap();
        assert_eq!(found, bounds, "{bins} bins");
        let found: Vec<i64> = counts.run([view]).unwrap().try_into().unwrap();
        let mut expected = vec![0_i64; bins as usize];
        for x in x.iter().filter(|x| **x >= bounds[0] && **x <= bounds[bins as usize]) {
            let after = bounds.iter().filter(|bound| *bound <= x).count();
            expected[(after - 1).min(bins as usize - 1)] += 1;
        }
        assert_eq!(found, expected, "{bins} bins");
        let loops = counts.explain().to_string();
        assert!(!loops.contains("indexed by data"), "the bounds are computed, not stored: {loops}");
    }
}

#[test]
fn tables_that_are_computed_are_those_that_are_stored() {
    /// A table of an input, and its elements by position and that input.
    type Table = (fn(&Graph, Tensor) -> Tensor, fn(f64, f64) -> f64);
    let tables: [Table; 12] = [
        // Comparisons decide all of their elements.
        (|g, s| select(g.iota(100).lt(0), 7.0, s).cast::<f32>().cast::<f64>(), |_, s| f64::from(s as f32)),
        (|g, s| (select(g.iota(100).lt(0), 7.0, s) - s).sqrt() + g.iota(100).cast::<f64>(), |at, _| at),
        (|g, _| g.iota(100).ge(0).cast::<f64>(), |_, _| 1.0),
        (|g, s| select(g.iota(100).lt(0), 7.0, s) * 3.0, |_, s| s * 3.0),
        (|g, _| select(g.iota(100).ge(0), 1.5, 2.5).cast::<f64>(), |_, _| 1.5),
        (|g, _| g.iota(100).cast::<f64>() * 3 + 1, |at, _| at * 3.0 + 1.0),
        (|g, _| (g.iota(100) + g.iota(1)).cast::<f64>(), |at, _| at),
        (|g, s| g.iota(100).cast::<f64>() * s - 0.5, |at, s| at * s - 0.5),
        (
            |g, _| select(g.iota(100).ge(50), g.iota(100) - 100, g.iota(100)).cast::<f64>(),
            |at, _| {
                if at >= 50.0 { at - 100.0 } else { at }
            },
        ),
        (|g, _| select(g.iota(100).eq(100), g.constant(0), g.iota(100)).cast::<f64>(), |at, _| at),
        (|g, _| (g.iota(100) - 50).cast::<i8>().cast::<f64>(), |at, _| at - 50.0),
        (
            |g, _| (g.iota(100) + i64::from(i32::MAX)).cast::<i32>().cast::<f64>(),
            |at, _| f64::from((at as i64 + i64::from(i32::MAX)) as i32),
        ),
    ];
    for (number, (table, by_hand)) in tables.into_iter().enumerate() {
        let g = Graph::new();
        let (x, s) = (g.input::<i64>("x", shape![g.symbol("n")]), g.input::<f64>("s", shape![]));
        let free = table(&g, s).take(x, 0).compile().unwrap();
        let cut = table(&g, s).take(x.clip(0, 99), 0).compile().unwrap();
        for count in COUNTS {
            let x: Vec<i64> = integers(count).iter().map(|x| x.rem_euclid(200) - 100).collect();
            let mut wrong = x.clone();
            if let Some(third) = wrong.get_mut(2) {
                *third = 100;
            }
            let arrays = |x| inputs! { "x" => ArrayView::new(x, &[count]).unwrap(), "s" => 0.3_f64 };
            let found: Vec<f64> = free.run(arrays(&x[..])).unwrap().try_into().unwrap();
            let expected: Vec<f64> = x.iter().map(|x| by_hand(x.rem_euclid(100) as f64, 0.3)).collect();
            assert_eq!(found, expected, "table {number}, {count}");
            let found: Vec<f64> = cut.run(arrays(&x[..])).unwrap().try_into().unwrap();
            let expected: Vec<f64> = x.iter().map(|x| by_hand((*x).max(0) as f64, 0.3)).collect();
            assert_eq!(found, expected, "table {number}, {count}");
            if count > 2 {
                let error = free.run(arrays(&wrong[..])).unwrap_err();
                let is_found = matches!(
                    &error,
                    CallError::Run(RunError::IndexOutOfRange { index: 100, size: 100, position, .. }) if **position == [2]
                );
                assert!(is_found, "{error}");
            }
        }
    }
}
