//! The back end for wide vectors.

use super::*;

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        what: "the maximum of a number and NaN is the number",
        file: "crates/broadloom-jit/src/wide/select/floats.rs",
        place: "&⟦[Arg::Def(target), both, none]⟧",
        new: "[Arg::Def(target), both, both]",
        test: WIDE_FLOATS,
    },
    Fault {
        what: "large u64 lose the bit that makes halves round as the whole",
        file: "crates/broadloom-jit/src/wide/select/floats.rs",
        place: "&[Arg::Tied(low, x), ⟦Arg::Immediate(1)⟧]",
        new: "Arg::Immediate(0)",
        test: WIDE_FLOATS,
    },
    Fault {
        what: "vector registers count as kept by calls",
        file: "crates/broadloom-jit/src/wide/allocate.rs",
        place: "integers.chain((0..⟦width.registers()⟧).map(vector))",
        new: "width.registers() / 4",
        test: WIDE_FUNCTIONS,
    },
    Fault {
        what: "what a loop changes is hoisted out of it",
        file: "crates/broadloom-jit/src/wide/optimise.rs",
        place: "⟦places.iter().find(|(place, _)| domtree.block_dominates(*place, home))⟧",
        new: "places.first()",
        test: WIDE_OPTIMISED,
    },
];
