//! Long loops, which begin with the elements up to the first whole vector in memory: results do not depend on where arrays
//! begin.

use crate::support::ways::{alone, ways};
use broadloom::Array;
use broadloom::prelude::*;
use std::fmt::Debug;

/// Around the shortest length of which a first part is aligned, and with all remainders of vectors.
const LENGTHS: [usize; 6] = [1000, 4095, 4096, 4097, 5000, 70_003];

/// Sums of elements, extremes, where the first of several is, and counts, of small numbers: exact in every dtype.
fn begins_anywhere<T: Element + PartialEq + Debug>(number: fn(usize) -> T) {
    for options in ways().into_iter().chain([alone()]) {
        let g = Graph::new();
        let n = g.symbol("n");
        let [x, y] = ["x", "y"].map(|name| g.input::<T>(name, shape![n]));
        let sums = (x + y).compile_with(&options).unwrap();
        let greatest = x.max(0).compile_with(&options).unwrap();
        let place = x.argmax(0).compile_with(&options).unwrap();
        let count = x.gt(y).sum(0).compile_with(&options).unwrap();
        for length in LENGTHS {
            // Every number recurs after 31 elements, from the first part of a loop to the last.
            let make = |step: usize| -> Vec<usize> { (0..length + 70).map(|at| at * step % 31).collect() };
            let numbers = [make(7), make(11)];
            let arrays = numbers.each_ref().map(|of| of.iter().map(|of| number(*of)).collect::<Vec<T>>());
            for first in [0, 1, 3, 8, 16, 61] {
                let starts = [first, first / 2];
                let view = |of: usize| {
                    ArrayView::new(&arrays[of][starts[of]..starts[of] + length], &[length]).unwrap()
                };
                let [xs, ys] = [0, 1].map(|of| &numbers[of][starts[of]..starts[of] + length]);
                let case = format!("{:?}, {length} from {first}, {options:?}", T::DTYPE);
                let mut written: Vec<T> = vec![number(99); length + 70];
                let out = ArrayViewMut::new(&mut written[first..first + length], &[length]).unwrap();
                sums.run_into([view(0), view(1)], out).unwrap();
                let added = xs.iter().zip(ys).map(|(x, y)| number(x + y));
                let beside = |count: usize| std::iter::repeat_n(number(99), count);
                let expected: Vec<T> = beside(first).chain(added).chain(beside(70 - first)).collect();
                assert!(written == expected, "{case}");
                let found: Array<T> = greatest.run([view(0)]).unwrap().take("out").unwrap();
                assert_eq!(found.as_slice(), [number(30)], "{case}");
                let found: i64 = place.run([view(0)]).unwrap().try_into().unwrap();
                assert_eq!(Some(found as usize), xs.iter().position(|x| *x == 30), "{case}");
                let found: i64 = count.run([view(0), view(1)]).unwrap().try_into().unwrap();
                assert_eq!(found as usize, xs.iter().zip(ys).filter(|(x, y)| x > y).count(), "{case}");
            }
        }
    }
}

#[test]
fn of_1_byte() {
    begins_anywhere(|x| x as u8);
    begins_anywhere(|x| x as i8);
}

#[test]
fn of_2_bytes() {
    begins_anywhere(|x| x as i16);
}

#[test]
fn of_4_bytes() {
    begins_anywhere(|x| x as f32);
    begins_anywhere(|x| x as u32);
}

#[test]
fn of_8_bytes() {
    begins_anywhere(|x| x as f64);
    begins_anywhere(|x| x as i64);
}
