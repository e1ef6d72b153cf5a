//! What a random graph is made from: small enough to shrink well.

use proptest::collection::vec;
use proptest::prelude::*;

/// Values of a symbol: around the lanes, tails and blocks of loops, and of the fixed tree.
pub const SIZES: [usize; 15] = [0, 1, 2, 3, 7, 16, 17, 33, 64, 65, 100, 257, 1023, 1025, 2050];

/// Any recipe makes a well-formed graph.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Each adds tensors to those that there are.
    pub steps: Vec<Step>,
    /// Which tensors are outputs, beside the last one.
    pub outputs: Vec<u64>,
    /// Values for the symbols, as indices of [`SIZES`].
    pub sizes: Vec<[usize; 3]>,
    /// From which the elements of inputs and the layouts of arrays follow.
    pub seed: u64,
}

/// Adds tensors.
#[derive(Debug, Clone)]
pub struct Step {
    pub kind: Kind,
    /// All choices of the step; see [`Draw`].
    pub choices: u64,
}

/// What a step adds. Shrinking prefers those that come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Input,
    Unary,
    Binary,
    Literal,
    Ternary,
    Cast,
    Reduce,
    Permute,
    Slice,
    Change,
    Reshape,
    Axes,
    Iota,
    Take,
    Join,
    Segment,
    Size,
    Idiom,
}

/// Choices in a number: digits of mixed radix, so that a smaller number makes earlier choices.
pub struct Draw(pub u64);

impl Draw {
    /// One of `count` choices.
    pub fn next(&mut self, count: usize) -> usize {
        let count = count as u64;
        let digit = self.0 % count;
        self.0 /= count;
        digit as usize
    }

    /// One of some values.
    pub fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.next(values.len())]
    }
}

/// All recipes.
pub fn recipe() -> impl Strategy<Value = Recipe> {
    let sizes = prop::array::uniform3(0..SIZES.len());
    (vec(step(), 1..10), vec(any::<u64>(), 0..4), vec(sizes, 2..=4), any::<u64>().no_shrink())
        .prop_map(|(steps, outputs, sizes, seed)| Recipe { steps, outputs, sizes, seed })
}

fn step() -> impl Strategy<Value = Step> {
    let weighted = [
        (4, Kind::Input),
        (4, Kind::Unary),
        (8, Kind::Binary),
        (3, Kind::Literal),
        (3, Kind::Ternary),
        (3, Kind::Cast),
        (10, Kind::Reduce),
        (2, Kind::Permute),
        (3, Kind::Slice),
        (3, Kind::Change),
        (2, Kind::Reshape),
        (3, Kind::Axes),
        (1, Kind::Iota),
        (3, Kind::Take),
        (4, Kind::Join),
        (4, Kind::Segment),
        (1, Kind::Size),
        (24, Kind::Idiom),
    ];
    let kind = prop::strategy::Union::new_weighted(
        weighted.into_iter().map(|(weight, kind)| (weight, Just(kind))).collect(),
    );
    (kind, any::<u64>()).prop_map(|(kind, choices)| Step { kind, choices })
}
