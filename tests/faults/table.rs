//! The faults: mistakes that someone could make in lowering, code generation or the numerics of kernels, each with a test
//! that notices it.

mod code;
mod functions;
mod graphs;
mod lowering;
mod wide;

/// A deliberate fault: an expression that is replaced by another.
pub struct Fault {
    /// The effect.
    pub what: &'static str,
    /// The file, relative to the root of the repository.
    pub file: &'static str,
    /// A text that occurs there once, with the expression between `⟦` and `⟧`.
    pub place: &'static str,
    /// The expression that replaces it.
    pub new: &'static str,
    /// The arguments of `cargo test` for a run that has to fail.
    pub test: &'static [&'static str],
}

const MATH_SPECIAL: &[&str] = &["-p", "broadloom-math", "--test", "math", "special"];
const MATH_RECORD: &[&str] = &["-p", "broadloom-math", "--test", "math", "recorded"];
const MATH_TILES: &[&str] = &["-p", "broadloom-math", "--test", "math", "tiles"];
const MATH_ORDER: &[&str] = &["-p", "broadloom-math", "--test", "math", "order"];
const MATH_BEST: &[&str] = &["-p", "broadloom-math", "--test", "math", "best"];
const VERIFIER: &[&str] = &["-p", "broadloom-loops", "--test", "verify"];
const SCHEDULES: &[&str] = &["-p", "broadloom-loops", "--test", "schedules", "store_nothing"];
const ALIGNED: &[&str] = &["-p", "broadloom", "--test", "facade", "aligned::of_4_bytes"];
const ROW_REDUCTIONS: &[&str] = &["-p", "broadloom", "--test", "facade", "row_reductions::of_f32"];
const QUOTIENTS: &[&str] = &["-p", "broadloom", "--test", "facade", "quotients::"];
const ROOTS: &[&str] = &["-p", "broadloom", "--test", "facade", "roots::"];
const ALL_COUNTED: &[&str] = &["-p", "broadloom", "--test", "facade", "sums_of_sums::all_are_counted"];
const SUMS_OF_SUMS: &[&str] = &["-p", "broadloom", "--test", "facade", "sums_of_sums::of_more_axes"];
const ZEROS: &[&str] = &["-p", "broadloom", "--test", "facade", "sums_of_sums::zeros_are_positive"];
const BANDS: &[&str] = &["-p", "broadloom", "--test", "facade", "bands::of_f32"];
const BANDS_OF_BATCHES: &[&str] = &["-p", "broadloom", "--test", "facade", "bands::some_rows_of_batches"];
const BANDS_OF_OTHERS: &[&str] = &["-p", "broadloom", "--test", "facade", "bands::whole_arrays"];
const SHARED_CODE: &[&str] = &["-p", "broadloom", "--test", "facade", "plan::kernels_that"];
const STOPPED_LOOPS: &[&str] = &["-p", "broadloom", "--test", "facade", "stop::a_loop"];
const UPDATES: &[&str] = &["-p", "broadloom", "--test", "facade", "in_place::random"];
const KEPT: &[&str] = &["-p", "broadloom", "--test", "facade", "in_place::targets_keep"];
const POSITIONS_IN_PLACE: &[&str] = &["-p", "broadloom", "--test", "facade", "in_place::positions"];
const ASIDE: &[&str] = &["-p", "broadloom", "--test", "facade", "in_place::regions"];
const LOOKUPS: &[&str] = &["-p", "broadloom", "--test", "facade", "lookups::"];
const STREAMED: &[&str] = &["-p", "broadloom", "--test", "facade", "streamed::"];
const LOOPS: &[&str] = &["-p", "broadloom", "--test", "facade", "loops::"];
const NARROW_SUMS: &[&str] = &["-p", "broadloom", "--test", "facade", "narrow_sums::of_u8"];
const RANKS: &[&str] = &["-p", "broadloom", "--test", "facade", "contractions::ranks_of_many_rows"];
const SHORT_ROWS: &[&str] = &["-p", "broadloom", "--test", "facade", "short_rows::of_4_bytes"];
const PACKED: &[&str] = &["-p", "broadloom", "--test", "facade", "forms::packed"];
const CONTRACTIONS: &[&str] = &["-p", "broadloom", "--test", "facade", "contractions::all_sizes"];
const CONTRACTIONS_OF_SUMS: &[&str] =
    &["-p", "broadloom", "--test", "facade", "contractions::reductions_of_all_sizes"];
const COUNTS: &[&str] = &["-p", "broadloom", "--test", "facade", "counts::of_bytes"];
const GROUPS: &[&str] = &["-p", "broadloom", "--test", "facade", "groups::"];
const POSITIONS: &[&str] = &["-p", "broadloom", "--test", "facade", "positions::"];
const EMPTY: &[&str] = &["-p", "broadloom", "--test", "facade", "empty::"];
const FIRST_OF_EQUALS: &[&str] = &["-p", "broadloom", "--test", "facade", "regressions::first_of_equal"];
const KERNELS_OF_SCANS: &[&str] = &["-p", "broadloom-jit", "--test", "kernels", "running_results"];
const RULES: &[&str] = &["-p", "broadloom-ir", "--test", "ir", "transform::"];
const INTERPRETER: &[&str] = &["-p", "broadloom-ir", "--test", "ir", "interpreter::"];
const IN_PLACE: &[&str] = &["-p", "broadloom-loops", "--test", "alias"];
const KERNELS: &[&str] = &["-p", "broadloom-jit", "--test", "kernels", "kernels_agree"];
const KERNELS_OF_THE_BEST: &[&str] = &["-p", "broadloom-jit", "--test", "kernels", "the_best"];
const KERNELS_OF_RESHAPES: &[&str] = &["-p", "broadloom-jit", "--test", "kernels", "reshapes"];
const REPORTED_INDICES: &[&str] = &["-p", "broadloom-jit", "--test", "kernels", "out_of_range"];
const EMITTED_OPS: &[&str] = &["-p", "broadloom-jit", "--lib", "ops_are_those_of_the_table"];
const EMITTED_CASTS: &[&str] = &["-p", "broadloom-jit", "--lib", "casts_convert"];
const EMITTED_QUOTIENTS: &[&str] = &["-p", "broadloom-jit", "--lib", "long_integers_are_divided"];
const EMITTED_REDUCTIONS: &[&str] = &["-p", "broadloom-jit", "--lib", "emit::tests::reductions"];
const WIDE_FLOATS: &[&str] = &["-p", "broadloom-jit", "--lib", "wide::tests::instructions::scalar_floats"];
const WIDE_FUNCTIONS: &[&str] = &["-p", "broadloom-jit", "--lib", "wide::tests::random"];
const WIDE_OPTIMISED: &[&str] = &["-p", "broadloom-jit", "--lib", "wide::tests::optimised"];

/// Returns all faults, in the order of the compiler's passes.
pub fn faults() -> impl Iterator<Item = &'static Fault> {
    let parts = [functions::FAULTS, graphs::FAULTS, lowering::FAULTS, code::FAULTS, wide::FAULTS];
    parts.into_iter().flatten()
}
