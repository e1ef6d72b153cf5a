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

use broadloom_ir::dtype::DType;

/// The numbers of lanes of values of these dtypes: as many as schedules have them together in a loop.
fn lanes(dtypes: &[DType]) -> &'static [usize] {
    let widest = dtypes.iter().map(|dtype| dtype.arithmetic().size()).max();
    match widest {
        Some(1) => &[1, 4, 8, 16, 32, 64],
        Some(2) => &[1, 4, 8, 16, 32],
        _ => &[1, 4, 8, 16],
    }
}
