//! Simplification, and the tables that interpreter and kernels share.

use super::*;

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        what: "x + 0 becomes x, which it is not for -0",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        place: "⟦Some(Scalar::F64(-0.0).cast(dtype))⟧",
        new: "Some(Scalar::F64(0.0).cast(dtype))",
        test: RULES,
    },
    Fault {
        what: "a division by 3 becomes a product with 1/3",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        place: "⟦(is_power && is_exact)⟧",
        new: "is_exact",
        test: RULES,
    },
    Fault {
        what: "an operand that can fail on data is dropped",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        place: "⟦(!self.known.can_fail(dropped))⟧",
        new: "true",
        test: RULES,
    },
    Fault {
        what: "integers cast through a float wrap where they should saturate",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        place: "⟦(from.is_exact_in(over) && is_alike)⟧",
        new: "from.is_exact_in(over)",
        test: RULES,
    },
    Fault {
        what: "a sum starts to add products unrounded after a simplification",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        place: "⟦after.is_some_and(|[x, y]| ![Some([x, y]), Some([y, x])].contains(&before))⟧",
        new: "false",
        test: RULES,
    },
    Fault {
        what: "a sum of negative zeros is a negative zero",
        file: "crates/broadloom-ir/src/reduce.rs",
        place: "⟦finish.map(|value| Scalar::F64(value).cast(accumulator))⟧",
        new: "None",
        test: INTERPRETER,
    },
];
