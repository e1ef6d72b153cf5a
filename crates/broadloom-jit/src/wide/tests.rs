//! The back end against an interpreter of CLIF and against Cranelift's own.

mod cases;
mod folded;
pub(super) mod generate;
mod hosts;
mod instructions;
mod interpret;
pub(super) mod machine;
mod numbers;
mod optimised;
mod random;
mod refused;
