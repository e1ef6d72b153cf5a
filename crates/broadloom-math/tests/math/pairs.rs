//! A pair tile gives the bits of its scalar definition, at every level, length, count and layout.

use crate::proof::random::Random;
use broadloom_math::{
    CpuLevel, Extreme, Fused, Level, PairFn, Pairing, Precision, Real, Term, Unfused, pair_function,
};

/// What the definition needs of a float.
trait Number: Real + Copy + PartialOrd + std::fmt::Debug {
    const PRECISION: Precision;
    fn of(x: f64) -> Self;
    /// As `f64`, exactly.
    fn wide(self) -> f64;
    fn term<L: Level>(self, right: Self, term: Term, sum: Self) -> Self;
    fn finish(self, root: bool) -> Self;
}

macro_rules! number {
    ($float:ident, $precision:ident, $madd:ident) => {
        impl Number for $float {
            const PRECISION: Precision = Precision::$precision;

            fn of(x: f64) -> Self {
                x as $float
            }

            fn wide(self) -> f64 {
                f64::from(self)
            }

            fn term<L: Level>(self, right: Self, term: Term, sum: Self) -> Self {
                let difference = self - right;
                match term {
                    Term::SquaredDifference => L::$madd(difference, difference, sum),
                    Term::Product => L::$madd(self, right, sum),
                    Term::AbsoluteDifference => sum + difference.abs(),
                }
            }

            fn finish(self, root: bool) -> Self {
                if root { (self + 0.0).sqrt() } else { self + 0.0 }
            }
        }
    };
}

number!(f32, F32, madd_f32);
number!(f64, F64, madd_f64);

/// Both operands, with their strides in elements.
struct Problem<T> {
    left: Vec<T>,
    left_stride: usize,
    right: Vec<T>,
    right_origin: usize,
    right_stride: isize,
    right_step: isize,
    terms: usize,
    count: usize,
    len: usize,
}

/// How the right operand lies in memory.
#[derive(Clone, Copy)]
enum Layout {
    PairsOutside,
    TermsOutside,
    Reversed,
    Gaps,
    OnePair,
}

impl<T: Number> Problem<T> {
    fn new(
        (terms, count, len): (usize, usize, usize),
        layout: Layout,
        mut element: impl FnMut() -> f64,
    ) -> Problem<T> {
        let (rows, all) = (terms as isize, count as isize);
        let (right_stride, right_step) = match layout {
            Layout::PairsOutside => (rows, 1),
            Layout::TermsOutside => (1, all),
            Layout::Reversed => (-rows, -1),
            Layout::Gaps => (3 * rows + 1, -3),
            Layout::OnePair => (0, 1),
        };
        let furthest = |size: usize, stride: isize| stride * (size as isize - 1).max(0);
        let ends = [furthest(count, right_stride), furthest(terms, right_step)];
        let below: isize = ends.iter().map(|&end| end.min(0)).sum();
        let above: isize = ends.iter().map(|&end| end.max(0)).sum();
        let left_stride = len + 3;
        Problem {
            left: (0..(terms * left_stride).max(1)).map(|_| T::of(element())).collect(),
            left_stride,
            right: (0..=above - below).map(|_| T::of(element())).collect(),
            right_origin: below.unsigned_abs(),
            right_stride,
            right_step,
            terms,
            count,
            len,
        }
    }

    fn pair<L: Level>(&self, pairing: Pairing, i: usize, j: usize) -> T {
        let mut sum = T::of(-0.0);
        for t in 0..self.terms {
            let at =
                self.right_origin as isize + j as isize * self.right_stride + t as isize * self.right_step;
            let right = self.right[at as usize];
            sum = self.left[t * self.left_stride + i].term::<L>(right, pairing.term, sum);
        }
        sum.finish(pairing.root)
    }

    /// The definition.
    fn want<L: Level>(&self, pairing: Pairing, i: usize) -> (T, i64) {
        let greatest = pairing.extreme == Extreme::Greatest;
        let identity = T::of(if greatest { f64::NEG_INFINITY } else { f64::INFINITY });
        let (mut value, mut best, mut index) = (identity, identity, 0);
        for j in 0..self.count {
            let x = self.pair::<L>(pairing, i, j);
            value = if greatest { value.maximum(x) } else { value.minimum(x) };
            let wins = if greatest { x > best } else { x < best };
            if wins || (x.wide().is_nan() && !best.wide().is_nan()) {
                (best, index) = (x, j as i64);
            }
        }
        (value, index)
    }

    /// Values and indices by the tile, each followed by a guard.
    fn run(&self, tile: PairFn, with_values: bool, with_indices: bool) -> (Vec<T>, Vec<i64>) {
        let size = size_of::<T>() as isize;
        let mut values = vec![T::of(77.0); self.len + 1];
        let mut indices = vec![77; self.len + 1];
        let to_values = if with_values { values.as_mut_ptr() } else { std::ptr::null_mut() };
        let to_indices = if with_indices { indices.as_mut_ptr() } else { std::ptr::null_mut() };
        // SAFETY: `new` has made room for all elements at these strides, the results have room for `len`, and
        // `pair_function` returned what this CPU can run.
        unsafe {
            tile(
                to_values.cast(),
                to_indices,
                self.left.as_ptr().cast(),
                self.left_stride * size as usize,
                self.right.as_ptr().add(self.right_origin).cast(),
                self.right_stride * size,
                self.right_step * size,
                self.terms,
                self.count,
                self.len,
            );
        }
        (values, indices)
    }

    fn check(&self, pairing: Pairing, level: CpuLevel) {
        let want: Vec<_> = (0..self.len)
            .map(|i| {
                if level.is_fused() {
                    self.want::<Fused>(pairing, i)
                } else {
                    self.want::<Unfused>(pairing, i)
                }
            })
            .collect();
        let tile = pair_function(pairing, T::PRECISION, level);
        for (with_values, with_indices) in [(true, true), (true, false), (false, true), (false, false)] {
            let (values, indices) = self.run(tile, with_values, with_indices);
            for i in 0..=self.len {
                let untouched = (T::of(77.0), 77);
                let mut want = *want.get(i).unwrap_or(&untouched);
                want.0 = if with_values { want.0 } else { untouched.0 };
                want.1 = if with_indices { want.1 } else { untouched.1 };
                let same = if want.0.wide().is_nan() {
                    values[i].wide().is_nan()
                } else {
                    values[i].wide().to_bits() == want.0.wide().to_bits()
                };
                assert!(
                    same && indices[i] == want.1,
                    "{pairing:?} at {level}, row {i} of {}, {} pairs of {} terms: \
                     {:?} at {} instead of {:?} at {}",
                    self.len,
                    self.count,
                    self.terms,
                    values[i],
                    indices[i],
                    want.0,
                    want.1
                );
            }
        }
    }
}

fn pairings() -> impl Iterator<Item = Pairing> {
    Term::ALL.into_iter().flat_map(|term| {
        Extreme::ALL
            .into_iter()
            .flat_map(move |extreme| [false, true].map(|root| Pairing { term, root, extreme }))
    })
}

/// The levels that differ here: those that this CPU has, and one that it lacks.
fn levels() -> Vec<CpuLevel> {
    let missing = CpuLevel::ALL.into_iter().find(|level| !level.is_supported());
    CpuLevel::ALL.into_iter().filter(|level| level.is_supported()).chain(missing).collect()
}

fn everywhere<T: Number>(shape: (usize, usize, usize), layout: Layout, mut element: impl FnMut() -> f64) {
    let problem = Problem::<T>::new(shape, layout, &mut element);
    for pairing in pairings() {
        for &level in &levels() {
            problem.check(pairing, level);
        }
    }
}

/// Ordinary numbers, some of them equal.
fn tame(random: &mut Random) -> f64 {
    match random.bits() % 4 {
        0 => (random.bits() % 5) as f64 - 2.0,
        _ => random.between(-3.0, 3.0),
    }
}

/// Small integers and now and then anything else.
fn wild(random: &mut Random) -> f64 {
    let special =
        [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3e38, -3e38, 1e-45, 1e-38, 1e-320, 1e308];
    match random.bits() % 64 {
        0 => special[(random.bits() % special.len() as u64) as usize],
        1 => f64::from(f32::from_bits(random.bits() as u32)),
        _ => [0.0, -0.0, 1.0, -1.0, 2.0][(random.bits() % 5) as usize],
    }
}

const LAYOUTS: [Layout; 5] =
    [Layout::PairsOutside, Layout::TermsOutside, Layout::Reversed, Layout::Gaps, Layout::OnePair];

macro_rules! pair_tests {
    ($module:ident, $float:ident) => {
        mod $module {
            use super::*;

            #[test]
            fn every_length() {
                let mut random = Random(1);
                for len in (0..=70).chain([255, 256]) {
                    let layout = LAYOUTS[len % LAYOUTS.len()];
                    everywhere::<$float>(([3, 8, 2][len % 3], 5, len), layout, || tame(&mut random));
                }
            }

            #[test]
            fn every_count_and_number_of_terms() {
                let mut random = Random(2);
                for (c, count) in [0, 1, 2, 3, 5, 17, 256].into_iter().enumerate() {
                    for (t, terms) in [0, 1, 2, 3, 4, 8, 17, 64].into_iter().enumerate() {
                        let layout = LAYOUTS[(c + t) % LAYOUTS.len()];
                        let len = if count * terms > 2000 { 35 } else { 67 };
                        everywhere::<$float>((terms, count, len), layout, || tame(&mut random));
                    }
                }
            }

            #[test]
            fn special_values() {
                let mut random = Random(3);
                for round in 0..40 {
                    let shape = ([1, 2, 3, 8][round % 4], [1, 5, 17, 40][round / 4 % 4], 70);
                    everywhere::<$float>(shape, LAYOUTS[round % 4], || wild(&mut random));
                }
            }

            /// Rows and pairs that are so many that finite operands are told from others before.
            #[test]
            fn long_strips_with_a_special_value() {
                let mut random = Random(5);
                let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 3e38, -1e308, -0.0];
                for (round, len) in [255, 256, 257, 300, 515].into_iter().cycle().take(30).enumerate() {
                    let shape = ([2, 3][round % 2], [7, 8, 9, 20][round % 4], len);
                    let layout = LAYOUTS[round / 2 % LAYOUTS.len()];
                    let mut problem = Problem::<$float>::new(shape, layout, || tame(&mut random));
                    let special = specials[round / 3 % specials.len()] as $float;
                    let operand = match round % 3 {
                        0 => &mut problem.left,
                        1 => &mut problem.right,
                        _ => &mut vec![0.0],
                    };
                    let at = random.bits() as usize % operand.len();
                    operand[at] = special;
                    for pairing in pairings() {
                        levels().into_iter().for_each(|level| problem.check(pairing, level));
                    }
                }
            }

            #[test]
            fn roots_that_round_to_the_same() {
                // Sums in units in the last place of a few around a random one, some of them subnormal.
                let mut random = Random(4);
                for round in 0..60 {
                    let around = match round % 4 {
                        0 => $float::MIN_POSITIVE,
                        1 => $float::MAX,
                        2 => random.between(0.5, 4.0) as $float,
                        _ => $float::from_bits(random.bits() as _).abs(),
                    };
                    let terms = [1, 3][round % 2];
                    let mut problem = Problem::<$float>::new((terms, 23, 40), Layout::PairsOutside, || 0.0);
                    for (i, right) in problem.right.iter_mut().enumerate() {
                        if i % terms == 0 {
                            let step = random.bits() % 9;
                            *right = $float::from_bits((around.to_bits() - 4).wrapping_add(step as _));
                        }
                    }
                    for extreme in Extreme::ALL {
                        for level in levels() {
                            let term = Term::AbsoluteDifference;
                            problem.check(Pairing { term, root: true, extreme }, level);
                        }
                    }
                }
            }
        }
    };
}

pair_tests!(f32_pairs, f32);
pair_tests!(f64_pairs, f64);
