//! What several suites need.

pub mod bits;
pub mod harness;
pub mod numbers;
pub mod ways;
