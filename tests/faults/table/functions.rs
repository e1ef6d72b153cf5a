//! Elementary functions, sorting and searching.

use super::*;

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        what: "exp loses the low part of ln 2",
        file: "crates/broadloom-math/src/exp.rs",
        place: "⟦(-n).madd::<L>(V::Format::LN2_LO, dx)⟧",
        new: "dx",
        test: MATH_RECORD,
    },
    Fault {
        what: "exp of large numbers is not clamped",
        file: "crates/broadloom-math/src/exp.rs",
        place: "⟦x.at_most(V::Format::EXP_MAX)⟧.at_least",
        new: "x",
        test: MATH_SPECIAL,
    },
    Fault {
        what: "sine reduces large f32 arguments by the fast way",
        file: "crates/broadloom-math/src/trig.rs",
        place: "⟦V::from(bound)⟧.below_or_equal(x.magnitude())",
        new: "(V::from(V::Format::FUSED_BELOW) * V::from(V::Format::FUSED_BELOW))",
        test: MATH_RECORD,
    },
    Fault {
        what: "rare lanes of a tile keep the result of the common way",
        file: "crates/broadloom-math/src/tile.rs",
        place: "⟦K::rare::<L>(x[i], y[i])⟧",
        new: "K::common::<L>(x[i], y[i])",
        test: MATH_TILES,
    },
    Fault {
        what: "a quotient of large numbers that is one too large stays",
        file: "crates/broadloom-jit/src/emit/quotients.rs",
        place: "Op::FloorDivide => return ⟦self.builder.ins().iadd(quotient, wrong)⟧,",
        new: "{ let _ = wrong; quotient }",
        test: EMITTED_QUOTIENTS,
    },
    Fault {
        what: "the last columns of a transposed block are left out",
        file: "crates/broadloom-math/src/transpose.rs",
        place: "(0..⟦length.div_ceil(side)⟧)",
        new: "length / side",
        test: KERNELS,
    },
    Fault {
        what: "infinity is sorted as a NaN",
        file: "crates/broadloom-math/src/order.rs",
        place: "⟦bits.magnitude() > B::narrow(INFINITY)⟧",
        new: "bits.magnitude() >= B::narrow(INFINITY)",
        test: MATH_ORDER,
    },
    Fault {
        what: "argsort compares only the high bits of long ranks",
        file: "crates/broadloom-math/src/order.rs",
        place: "⟦cut > 0 && equal.len() > 1⟧",
        new: "cut > 64 && equal.len() > 1",
        test: MATH_ORDER,
    },
    Fault {
        what: "a later NaN takes the place of the first in topk",
        file: "crates/broadloom-math/src/best.rs",
        place: "⟦!other.is_nan() && (is_better || self.is_nan())⟧",
        new: "is_better || self.is_nan()",
        test: MATH_BEST,
    },
];
