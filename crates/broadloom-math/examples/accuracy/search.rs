//! The search for worse arguments near those that are bad.
//!
//! ```text
//! samples ─▶ the worst of each cell ─▶ the worst cells ─▶ arguments at all distances from theirs
//!                      ▲                                          │
//!                      └──────────────── rounds ──────────────────┘
//! ```
//!
//! Random arguments of all sizes seldom meet a short interval on which rounding errors add up: next to where a
//! definition changes its pieces, where its terms cancel, or where an intermediate result crosses a power of
//! two. A cell is a 32nd of a binade; since each has one worst argument, no interval crowds out the others.

use crate::proof::measure::{Finding, NUMERICS};
use crate::proof::random::{Format, Random};
use crate::proof::samples::Arguments;
use std::collections::BTreeMap;

const ROUNDS: usize = 16;

/// Cells of each numerics that are searched in a round.
const PARENTS: usize = 16;

/// Arguments that are tried per cell and round.
const CHILDREN: usize = 24;

/// Arguments in which to look for cells, besides the samples of the function.
const DENSE: usize = 1 << 14;

/// Bits of an f64 below those that tell cells apart: the sign, the exponent, and five bits of the mantissa.
const CELL_BITS: u32 = 47;

/// The worst argument of each cell, by numerics.
#[derive(Default)]
pub struct Search {
    worst: [BTreeMap<[u64; 2], Finding>; NUMERICS.len()],
}

impl Search {
    pub fn add(&mut self, numerics: usize, finding: Finding) {
        let (x, y) = finding.at;
        let worst = self.worst[numerics].entry([x, y].map(|x| x.to_bits() >> CELL_BITS)).or_insert(finding);
        if finding.error > worst.error {
            *worst = finding;
        }
    }

    /// Lets `measure` look at further arguments, and [`add`](Self::add) their errors, round by round.
    pub fn run(
        &mut self,
        random: &mut Random,
        format: Format,
        mut measure: impl FnMut(&mut Self, &[Arguments]),
    ) {
        let dense: Vec<_> =
            (0..DENSE).map(|_| (moderate(random, format), moderate(random, format))).collect();
        measure(self, &dense);
        for _ in 0..ROUNDS {
            let parents = self.parents();
            let children = parents.iter().flat_map(|&at| [at; CHILDREN]);
            let children: Vec<_> = children.map(|at| near(random, format, at)).collect();
            measure(self, &children);
        }
    }

    fn parents(&self) -> Vec<Arguments> {
        let worst = self.worst.iter().flat_map(|cells| {
            let mut worst: Vec<_> = cells.values().filter(|finding| finding.error.is_finite()).collect();
            worst.sort_by(|a, b| b.error.total_cmp(&a.error));
            worst.into_iter().take(PARENTS)
        });
        worst.map(|finding| finding.at).collect()
    }
}

/// An argument of the sizes between which most functions bend.
fn moderate(random: &mut Random, format: Format) -> f64 {
    let size = random.with_exponent(-12, 9);
    random.either_sign(format.round(size))
}

/// Arguments near `at`: one of them or both are moved, by anything from an ulp to all of it.
fn near(random: &mut Random, format: Format, (x, y): Arguments) -> Arguments {
    let mut moved = |x: f64| {
        let distance = random.with_exponent(-format.digits, -1);
        format.round(x + random.either_sign(x * distance))
    };
    let both = (moved(x), moved(y));
    match random.bits() % 3 {
        0 => (both.0, y),
        1 => (x, both.1),
        _ => both,
    }
}
