//! Suites of the forms of loops: expressions, sizes and ways to compile, against the interpreter or plain loops.

mod aligned;
mod bands;
mod blocks;
mod contractions;
mod counts;
mod narrow_sums;
mod packed;
mod quotients;
mod roots;
mod row_reductions;
mod short_rows;
mod sums_of_sums;
