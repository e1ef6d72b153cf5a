//! All f32 arguments, and many f64 ones. Slow, so ignored by default.

use crate::accuracy::{worst_f32, worst_f64};
use broadloom_math::Function;

macro_rules! sweeps {
    ($($name:ident: $function:ident),*) => {$(
        /// Under ten minutes each; one by one with `--exact sweep::exp`, or all by
        /// `cargo test --release -p broadloom-math --test math -- --ignored --nocapture sweep`.
        #[test]
        #[ignore = "sweeps 2^32 arguments"]
        fn $name() {
            worst_f32(Function::$function, (0..=u32::MAX).map(|bits| (f32::from_bits(bits), 0.0)));
        }
    )*};
}

sweeps!(exp: Exp, log: Log, sin: Sin, cos: Cos, tanh: Tanh);

/// Some minutes; run it by
/// `cargo test --release -p broadloom-math --test math -- --ignored --nocapture sweep::f64`.
#[test]
#[ignore = "computes a million references in multiple precision"]
fn f64_functions() {
    Function::ALL.into_iter().for_each(|f| worst_f64(f, 40_000));
}
