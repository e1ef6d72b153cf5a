//! Reductions by segments: their accuracy, their memory, and the bits of the interpreter for any number of rows.

use crate::support::harness::{Input, Kernels};
use crate::support::numbers::numbers;
use crate::support::ways::ways_and_baseline;
use broadloom::prelude::*;
use half::f16;

/// Rows of a block of tables, of which each table takes a part.
const BLOCK: usize = 65_536;

fn sum_and_mean<T: Element>(values: &[T], ids: &[i64], segments: usize) -> (Vec<T>, Vec<T>) {
    let g = Graph::new();
    let (n, k) = (g.symbol("n"), g.parameter("k"));
    let (x, of) = (g.input::<T>("x", shape![n]), g.input::<i64>("ids", shape![n]));
    let outputs = [("sum", x.segment_sum(of, k)), ("mean", x.segment_mean(of, k))];
    let kernel = g.compile(outputs).unwrap();
    let bound = kernel.bind(inputs![values, ids].with_size("k", segments)).unwrap();
    let mut results = bound.run().unwrap();
    let mut vector = |name: &str| results.take::<Vec<T>>(name).unwrap();
    (vector("sum"), vector("mean"))
}

/// Each group holds one number many times: its mean is that number, and its sum is the product, rounded once; in `f64` once for
/// each of 15 tables.
#[test]
fn groups_of_equal_numbers_have_that_mean() {
    for rows in [1, 7, 1000, BLOCK + 3, 3 * BLOCK + 4321] {
        let segments = 3;
        let ids: Vec<i64> = (0..rows as i64).map(|row| (row * 7) % 3).collect();
        let count = |segment: i64| ids.iter().filter(|id| **id == segment).count() as f64;
        macro_rules! check {
            ($rust:ty, $numbers:expr, $roundings:literal) => {
                let numbers: [$rust; 3] = $numbers;
                let values: Vec<$rust> = ids.iter().map(|id| numbers[*id as usize]).collect();
                let (sums, means) = sum_and_mean(&values, &ids, segments);
                for (segment, number) in numbers.into_iter().enumerate() {
                    let count = count(segment as i64);
                    if count > 0.0 {
                        assert_eq!(means[segment], number, "{rows} rows of {}", stringify!($rust));
                        let exact = f64::from(number);
                        let error = (f64::from(sums[segment]) - exact * count).abs();
                        let bound =
                            exact.abs() * count * f64::from(<$rust>::EPSILON) * f64::from($roundings) / 2.0;
                        let is_held = (exact * count).abs() <= f64::from(<$rust>::MAX);
                        let is_right = if is_held { error <= bound } else { error == f64::INFINITY };
                        assert!(is_right, "{number} {count} times is {}", sums[segment]);
                    }
                }
            };
        }
        check!(f32, [33_000.7, -0.1, 1e30], 1);
        check!(f64, [33_000.7, -0.1, 1e300], 15);
        let halves = [0.1, -33.3, 1000.0].map(f16::from_f64);
        check!(f16, halves, 1);
    }
}

/// Sums of `f64` keep what rounding loses, wherever the rows are; infinities and NaN are those of a plain sum.
#[test]
fn sums_of_f64_are_compensated() {
    let rows = 2 * BLOCK + 10;
    let mut values = vec![1.0; rows];
    values[0] = 1e17;
    values[rows - 1] = -1e17;
    let (sums, _) = sum_and_mean(&values, &vec![0; rows], 1);
    assert_eq!(sums, [rows as f64 - 2.0]);

    let inf = f64::INFINITY;
    let most = f64::MAX;
    let cases: [(&[f64], f64, f64); 8] = [
        (&[inf, 1.0, 2.0], inf, inf),
        (&[1.0, -inf, 3.0], -inf, -inf),
        (&[inf, -inf], f64::NAN, f64::NAN),
        (&[f64::NAN, 1.0], f64::NAN, f64::NAN),
        (&[most, most, inf], inf, inf),
        (&[most, most], inf, most),
        (&[-most, -most, -most], -inf, -most),
        (&[-0.0, -0.0], 0.0, 0.0),
    ];
    for (values, sum, mean) in cases {
        let (sums, means) = sum_and_mean(values, &vec![0; values.len()], 2);
        assert_eq!(sums[0].to_bits() & !(1 << 63), sum.to_bits() & !(1 << 63), "{values:?}: {sums:?}");
        assert_eq!(sums[0].is_sign_negative() && !sum.is_nan(), sum.is_sign_negative(), "{values:?}");
        assert!(means[0] == mean || mean.is_nan() && means[0].is_nan(), "{values:?}: {means:?}");
        assert!(sums[1] == 0.0 && means[1].is_nan());
    }
}

/// An axis for what rounding loses is only added where there is room for it.
#[test]
fn sums_of_many_axes() {
    let g = Graph::new();
    let x = g.input_dyn("x", DType::F64, vec![Dim::from(1); 31]);
    let ids = g.input::<i64>("ids", shape![1]);
    assert!(x.segment_sum(ids, 1).compile().is_ok() && x.segment_mean(ids, 1).compile().is_ok());
}

/// A mean lies between the least and the greatest row.
#[test]
fn means_lie_within_their_rows() {
    for seed in 0..20 {
        let rows = 5000 + 37 * seed as usize;
        // Neighbours of one number, where half a unit in the last place leads outside.
        let unit = f64::from(numbers(1, seed)[0]).abs() + 0.1;
        let values: Vec<f64> = numbers(rows, seed + 99)
            .iter()
            .map(|x| unit * (1.0 + f64::EPSILON * f64::from(x.signum())))
            .collect();
        let ids: Vec<i64> = (0..rows as i64).map(|row| row % 5).collect();
        let (_, means) = sum_and_mean(&values, &ids, 5);
        for (segment, mean) in means.iter().enumerate() {
            let own = values.iter().skip(segment).step_by(5);
            let least = own.clone().copied().fold(f64::INFINITY, f64::min);
            let greatest = own.copied().fold(f64::NEG_INFINITY, f64::max);
            assert!((least..=greatest).contains(mean), "{mean:?} is not in {least:?}..={greatest:?}");
        }
    }
}

/// Also a mean of values whose sum is too large. Integers times a power of two have exact sums.
#[test]
fn means_of_values_at_the_ends_of_f64() {
    let most = (1i64 << 53) - 1;
    for (rows, unit) in [(7, 971), (5000, 971), (BLOCK + 77, 971), (5000, -1074)] {
        let unit = 2f64.powi(unit / 2) * 2f64.powi(unit - unit / 2);
        let integers: Vec<i64> = (0..rows as i64)
            .map(|row| match row % 5 {
                0 => most,
                1 => 1,
                2 => most - 2 * most * (row % 2),
                3 => most - row % 3,
                _ => row.wrapping_mul(0x09e3_779b_97f4_a7c1) % most,
            })
            .collect();
        let values: Vec<f64> = integers.iter().map(|integer| *integer as f64 * unit).collect();
        let ids: Vec<i64> = (0..rows as i64).map(|row| row % 5).collect();
        let (_, means) = sum_and_mean(&values, &ids, 5);
        for (segment, mean) in means.iter().enumerate() {
            let own = || integers.iter().skip(segment).step_by(5);
            let (sum, count) = (own().map(|integer| i128::from(*integer)).sum::<i128>(), own().count());
            let (least, greatest) = (own().min().unwrap(), own().max().unwrap());
            assert!((*least as f64 * unit..=*greatest as f64 * unit).contains(mean), "{mean:e}");
            // Halves of units are not held where the unit is the least number.
            let (found, count) = ((mean / unit) as i128, count as i128);
            let error = (found * count - sum).abs();
            assert!(error <= count + (sum.abs() >> 53), "{mean:e} is {found} units, and not {sum} / {count}");
        }
    }
}

/// Memory is a small multiple of that of the groups, whatever the number of rows.
#[test]
fn memory_is_that_of_the_groups() {
    let rows = [1i64, 1000, 100_000, 5_000_000, 50_000_000];
    for (rows, groups) in
        rows.iter().flat_map(|rows| [1, 100, 1000, 30_000, 1_000_000].map(|groups| (rows, groups)))
    {
        let g = Graph::new();
        let (x, ids) = (g.input::<f32>("x", shape![*rows]), g.input::<i64>("ids", shape![*rows]));
        let outputs = [
            ("sum", x.segment_sum(ids, groups)),
            ("mean", x.segment_mean(ids, groups)),
            ("count", ids.segment_count(groups)),
            ("max", x.segment_max(ids, groups)),
            ("exact", x.cast::<f64>().segment_sum(ids, groups)),
        ];
        let kernel = g.compile(outputs).unwrap();
        let bytes = kernel.explain().materialized_bytes();
        let bytes = bytes.as_constant().expect("all sizes are numbers");
        // Sums, counts and extremes, and the two halves of compensated sums; more tables beside these for many rows of few groups.
        let more = (16 * 2048).min(rows / 4000 * groups);
        assert!(
            bytes <= (8 + 8 + 4 + 16) * (groups + more),
            "{bytes} bytes for {rows} rows in {groups} groups"
        );
    }
}

/// The bits do not depend on threads, vectors or the order in which blocks come, also where a table takes several parts.
#[test]
fn segments_have_the_bits_of_the_interpreter() {
    let kernels = Kernels::of(&ways_and_baseline(), |g| {
        let [n, k, d] = g.symbols(["n", "k", "d"]);
        let x = g.input::<f32>("x", shape![n]);
        let rows = g.input::<f32>("rows", shape![n, d]);
        let like = g.input::<f32>("like", shape![k]);
        let ids = (x.abs() * 7.3).floor().cast::<i64>().remainder(like.size(0).maximum(1));
        let wide = rows.cast::<f64>() * 1.1;
        vec![
            x.segment_sum(ids, k) + 0.0 * like,
            (x * x).cast::<f64>().segment_mean(ids, k),
            (x.cast::<f64>() * 7e307).segment_mean(ids, k),
            wide.segment_sum(ids, k),
            wide.segment_mean(ids, k),
            rows.segment_max(ids, k),
            rows.segment_mean(ids, k),
            ids.segment_count(k),
        ]
    });
    for (n, k, d) in
        [(0, 3, 2), (1, 1, 1), (4112, 5, 3), (4385, 2, 17), (2 * BLOCK + 77, 3, 2), (BLOCK, 700, 1)]
    {
        let inputs =
            [Input::of(&[n], numbers, 3), Input::of(&[n, d], numbers, 4), Input::of(&[k], numbers, 5)];
        kernels.check(format!("{n} rows of {d} in {k} groups"), &inputs);
    }
}

/// Reductions of pairs that no array holds, of which the rows are merged: each is computed where its segment is known.
#[test]
fn segments_of_merged_pairs() {
    let kernels = Kernels::of(&ways_and_baseline(), |g| {
        let [n, k, p] = g.symbols(["n", "k", "p"]);
        let (x, y) = (g.input::<f32>("x", shape![n, p]), g.input::<f32>("y", shape![k, p]));
        let apart = x.unsqueeze(1) - y;
        let distances = apart.square().sum(2).sqrt().reshape(shape![n * k]);
        let nearest = apart.abs().argmin(2).reshape(shape![n * k]);
        let ids = distances.floor().cast::<i64>().remainder(7);
        let flat = x.matmul(y.transpose([1, 0])).reshape(shape![n * k]);
        vec![
            distances.segment_sum(ids, 7),
            distances.segment_max(nearest.remainder(3), 3),
            flat.slice(slice![..;3]).sum(..),
            flat.cumsum(0),
        ]
    });
    for (n, k, p) in [(1, 1, 1), (3, 5, 2), (40, 33, 3), (120, 50, 19)] {
        let inputs = [Input::of(&[n, p], numbers, 1), Input::of(&[k, p], numbers, 2)];
        kernels.check(format!("{n} x {k} pairs of {p} coordinates"), &inputs);
    }
}
