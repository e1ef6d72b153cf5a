//! Ways to compile, each with machine code of its own on this CPU.

use broadloom::{CompileOptions, CpuLevel, Threads};

/// The widths of vectors on this CPU, in bytes, the widest first.
fn widths() -> &'static [usize] {
    match CpuLevel::detect() {
        CpuLevel::Avx512 => &[64, 32, 16],
        CpuLevel::Avx2Fma => &[32, 16],
        _ => &[16],
    }
}

/// Whether a combination is run, of which the sum of the numbers of its parts is given: each part meets one in some of the
/// others, and all of them with `BROADLOOM_DEEP`. As on CPUs of lesser levels than this one, half as many are run.
pub fn selected(number: usize, one_in: usize) -> bool {
    let is_given = |name: &str| std::env::var_os(name).is_some();
    let one_in = if is_given("BROADLOOM_LEVEL") { 2 * one_in } else { one_in };
    number.is_multiple_of(one_in) || is_given("BROADLOOM_DEEP")
}

fn way() -> CompileOptions {
    CompileOptions { threads: Threads::Calling, parallel_threshold: 0, ..CompileOptions::default() }
}

/// The widest vectors on the thread that calls, whose loops are as long as the arrays.
pub fn alone() -> CompileOptions {
    way()
}

/// Every width of vectors, the widest with several threads; and no vectors.
pub fn ways() -> Vec<CompileOptions> {
    let mut ways: Vec<CompileOptions> =
        widths().iter().map(|width| CompileOptions { vector_bytes: *width, ..way() }).collect();
    ways[0].threads = Threads::Global;
    ways.push(CompileOptions { vectorize: false, ..way() });
    ways
}

/// Every way of [`ways`], and the instructions that every CPU has.
pub fn ways_and_baseline() -> Vec<CompileOptions> {
    let baseline = CompileOptions { level: Some(CpuLevel::Baseline), ..way() };
    let is_new = CpuLevel::detect() != CpuLevel::Baseline;
    ways().into_iter().chain(is_new.then_some(baseline)).collect()
}
