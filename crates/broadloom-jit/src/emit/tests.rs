//! Compiled lanes against `Op::evaluate` and `Scalar::cast`, bit for bit, on every kind of target.

mod elementwise;
mod exhaustive;
mod guarded;
mod harness;
mod memory;
mod reductions;
#[cfg(target_arch = "x86_64")]
mod wide;

pub(crate) use harness::get;

/// Every number of lanes.
const LANES: [usize; 4] = [1, 4, 8, 16];
