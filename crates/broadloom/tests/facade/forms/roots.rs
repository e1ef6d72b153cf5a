//! The least of the square roots of sums over pairs, and where it is: roots round neighbouring sums to the same number, and the
//! first of these has the index.

use crate::support::ways::ways;
use broadloom::Array;
use broadloom::prelude::*;
use std::fmt::Display;

/// So many codes are compared by the tiles of a contraction.
const CODES: usize = 70;
/// Of each observation, the first coordinate scales all sums exactly: roots of even and odd powers of two round differently.
const SCALES: usize = 35;

trait Float: Element + PartialOrd + Display {
    const TINY: Self;
    const GREATEST: Self;
    const INFINITY: Self;
    const BITS_OF_ONE: u64;
    fn of_bits(bits: u64) -> Self;
    fn to_bits(self) -> u64;
    fn root(self) -> Self;
    fn scaled(self, power: i32) -> Self;
}

macro_rules! float {
    ($type:ident) => {
        impl Float for $type {
            const TINY: Self = $type::from_bits(1);
            const GREATEST: Self = $type::MAX;
            const INFINITY: Self = $type::INFINITY;
            const BITS_OF_ONE: u64 = (1.0 as $type).to_bits() as u64;
            fn of_bits(bits: u64) -> Self {
                $type::from_bits(bits as _)
            }
            fn to_bits(self) -> u64 {
                self.to_bits().into()
            }
            fn root(self) -> Self {
                self.sqrt()
            }
            fn scaled(self, power: i32) -> Self {
                self * (2.0 as $type).powi(power)
            }
        }
    };
}

float!(f32);
float!(f64);

fn is_nan<T: Float>(x: T) -> bool {
    x.partial_cmp(&x).is_none()
}

/// By definition: the first NaN, or else the first of the least.
fn first_of_least<T: Float>(roots: &[T]) -> (T, i64) {
    let mut best = 0;
    for (at, root) in roots.iter().enumerate() {
        if !is_nan(roots[best]) && (is_nan(*root) || *root < roots[best]) {
            best = at;
        }
    }
    (roots[best], best as i64)
}

/// Compares with the definition, for sums that are the products of each number and each scale.
fn check<T: Float>(kernels: &[Executable], numbers: &[T], what: &str) {
    let nothing = T::of_bits(0);
    let scale = |at: usize| T::of_bits(T::BITS_OF_ONE).scaled(at as i32 % 5);
    let x: Vec<T> = (0..SCALES).flat_map(|at| [scale(at), nothing]).collect();
    let y: Vec<T> = numbers.iter().flat_map(|number| [*number, nothing]).collect();
    let want: Vec<(T, i64)> = (0..SCALES)
        .map(|at| {
            // The sum of a negative zero and another product is a positive zero.
            let sum = |number: &T| if *number == nothing { nothing } else { number.scaled(at as i32 % 5) };
            let roots: Vec<T> = numbers.iter().map(|number| sum(number).root()).collect();
            first_of_least(&roots)
        })
        .collect();
    for kernel in kernels {
        let views =
            [ArrayView::new(&x, &[SCALES, 2]).unwrap(), ArrayView::new(&y, &[numbers.len(), 2]).unwrap()];
        let mut got = kernel.run(views).unwrap();
        let indices: Array<i64> = got.take("index").unwrap();
        let least: Array<T> = got.take("least").unwrap();
        for (at, (value, index)) in want.iter().enumerate() {
            assert_eq!(indices.as_slice()[at], *index, "{what}, scale {at}\n{}", kernel.explain());
            let found = least.as_slice()[at];
            let same = found.to_bits() == value.to_bits() || is_nan(found) && is_nan(*value);
            assert!(same, "{what}, scale {at}: {found} instead of {value}\n{}", kernel.explain());
        }
    }
}

fn kernels<T: Float>() -> Vec<Executable> {
    let compiled = ways().into_iter().map(|options| {
        let g = Graph::new();
        let [n, k] = g.symbols(["n", "k"]);
        let (x, y) = (g.input::<T>("x", shape![n, 2]), g.input::<T>("y", shape![k, 2]));
        let root = (x.unsqueeze(1) * y).sum(-1).sqrt();
        let (index, least) = root.argmin_with_value(1);
        g.compile_with([("index", index), ("least", least)], &options).unwrap()
    });
    let kernels: Vec<Executable> = compiled.collect();
    assert!(kernels[0].explain().to_string().contains("contract "), "{}", kernels[0].explain());
    kernels
}

/// The numbers around one, in an order that puts the least at any place, and every other one before it.
fn around<T: Float>(number: T, turn: usize) -> Vec<T> {
    let middle = number.to_bits();
    (0..CODES)
        .map(|at| {
            T::of_bits(middle.saturating_add((at * (1 + turn % 10) + turn * 5) as u64 % 11).saturating_sub(5))
        })
        .collect()
}

fn neighbours<T: Float>() {
    let kernels = kernels::<T>();
    let last = T::GREATEST.to_bits();
    for turn in 0..120 {
        // Of all magnitudes and fractions.
        let bits = (turn as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1;
        check(&kernels, &around(T::of_bits(bits % last), turn), "a number");
        let one = T::of_bits(T::BITS_OF_ONE + bits % (1 << 24));
        check(&kernels, &around(one, turn), "a number from 1 to 4");
    }
    for turn in 0..11 {
        for (what, number) in [
            ("one", T::of_bits(T::BITS_OF_ONE)),
            ("two", T::of_bits(T::BITS_OF_ONE).scaled(1)),
            ("the least", T::of_bits(5)),
            ("the greatest", T::of_bits(last - 5)),
            ("infinity", T::INFINITY),
        ] {
            check(&kernels, &around(number, turn), what);
        }
    }
}

#[test]
fn of_neighbours_of_f32() {
    neighbours::<f32>();
}

#[test]
fn of_neighbours_of_f64() {
    neighbours::<f64>();
}

fn without_a_root<T: Float>() {
    let kernels = kernels::<T>();
    let one = T::of_bits(T::BITS_OF_ONE);
    let minus = |x: T| T::of_bits(x.to_bits() | 1 << (size_of::<T>() * 8 - 1));
    let nan = T::of_bits(T::INFINITY.to_bits() + 1);
    let special = [
        nan,
        minus(one),
        minus(T::TINY),
        minus(T::INFINITY),
        minus(T::of_bits(0)),
        T::INFINITY,
        T::of_bits(0),
    ];
    for (of, number) in special.into_iter().enumerate() {
        for at in 0..CODES {
            let mut numbers = around(one, at);
            numbers[at] = number;
            numbers[(at * 7 + 3) % CODES] = special[(of + at) % special.len()];
            check(&kernels, &numbers, "a number without a root");
        }
        check(&kernels, &[number; CODES], "the same for all");
    }
}

#[test]
fn of_negative_numbers_and_nan() {
    without_a_root::<f32>();
    without_a_root::<f64>();
}
