//! Code that the examples with pictures share: the command line, pictures, a generated scene, and reports.
#![allow(dead_code, reason = "no example uses all of it")]

pub mod args;
pub mod field;
pub mod letters;
pub mod palette;
pub mod picture;
pub mod report;
pub mod scene;
pub mod strokes;

/// A mistake to be told in one line.
pub type Error = Box<dyn std::error::Error>;

/// The middles of the pixels of a square picture, row by row, each as x and y from -1 to 1.
pub fn middles_of_pixels(side: usize) -> Vec<f32> {
    let middle = |place: usize| (2 * place + 1) as f32 / side as f32 - 1.0;
    (0..side * side).flat_map(|index| [middle(index % side), middle(index / side)]).collect()
}

/// Numbers strictly between 0 and 1 that look random and are the same in every run.
pub fn uniform_numbers(seed: u64) -> impl Iterator<Item = f32> {
    let states = std::iter::successors(Some(seed), |state| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    });
    states.skip(8).map(|state| ((state >> 41) as f32 + 0.5) / (1u64 << 23) as f32)
}

/// Numbers of the normal distribution, by Box and Muller, the same in every run.
pub fn normal_numbers(seed: u64) -> impl Iterator<Item = f32> {
    let mut uniform = uniform_numbers(seed);
    std::iter::from_fn(move || {
        let (far, way) = ((-2.0 * uniform.next()?.ln()).sqrt(), uniform.next()? * std::f32::consts::TAU);
        Some(far * way.cos())
    })
}
