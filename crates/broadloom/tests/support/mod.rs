//! What several suites need.

/// Numbers from -2 to 2 without a pattern, so that a sum in another order has other bits.
pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 4e6 - 2.0
    };
    (0..count).map(|_| next()).collect()
}
