//! The faults: each a mistake that someone could make, in lowering, code generation or the numerics of kernels, and the
//! test that notices it. Faults of one crate stand together, so that little is built for each.

/// A deliberate fault.
pub struct Fault {
    /// What is wrong with it.
    pub what: &'static str,
    /// Where it goes, from the root of the repository.
    pub file: &'static str,
    /// A text that occurs there once.
    pub old: &'static str,
    /// The text that replaces it.
    pub new: &'static str,
    /// The arguments of `cargo test` for a run that has to fail.
    pub test: &'static [&'static str],
}

const MATH_SPECIAL: &[&str] = &["-p", "broadloom-math", "--test", "math", "special"];
const MATH_RECORD: &[&str] = &["-p", "broadloom-math", "--test", "math", "recorded"];
const MATH_TILES: &[&str] = &["-p", "broadloom-math", "--test", "math", "tiles"];
const MATH_PAIRS: &[&str] = &["-p", "broadloom-math", "--test", "math", "pairs"];
const MATH_ORDER: &[&str] = &["-p", "broadloom-math", "--test", "math", "order"];
const MATH_BEST: &[&str] = &["-p", "broadloom-math", "--test", "math", "best"];
const MATH_UNITS: &[&str] = &["-p", "broadloom-math", "--lib"];
const RULES: &[&str] = &["-p", "broadloom-ir", "--test", "transform"];
const INTERPRETER: &[&str] = &["-p", "broadloom-ir", "--test", "interpreter"];
const IN_PLACE: &[&str] = &["-p", "broadloom-loops", "--test", "alias"];
const VERIFIER: &[&str] = &["-p", "broadloom-loops", "--test", "verify"];
const KERNELS: &[&str] = &["-p", "broadloom-jit", "--test", "kernels"];
const EMITTED: &[&str] = &["-p", "broadloom-jit", "--lib", "emit::"];
const WIDE: &[&str] = &["-p", "broadloom-jit", "--lib", "wide::"];

/// All faults.
pub const FAULTS: &[Fault] = &[
    // Elementary functions.
    Fault {
        what: "exp loses the low part of ln 2",
        file: "crates/broadloom-math/src/exp.rs",
        old: "let lo = (-n).madd::<L>(T::LN2_LO, dx);",
        new: "let lo = dx;",
        test: MATH_RECORD,
    },
    Fault {
        what: "exp of NaN is a number",
        file: "crates/broadloom-math/src/exp.rs",
        old: "let result = plain_exp_of_sum::<T, L>(x, T::ZERO);\n    if x.unordered() { T::NAN } else { result }",
        new: "plain_exp_of_sum::<T, L>(x, T::ZERO)",
        test: MATH_SPECIAL,
    },
    Fault {
        what: "sine reduces large f32 arguments by the fast way",
        file: "crates/broadloom-math/src/trig.rs",
        old: "const FUSED_BELOW: f32 = 131072.0;",
        new: "const FUSED_BELOW: f32 = 1e30;",
        test: MATH_RECORD,
    },
    Fault {
        what: "rare lanes of a tile keep the result of the common way",
        file: "crates/broadloom-math/src/tile.rs",
        old: "result[i] = K::rare::<L>(x[i], y[i]);",
        new: "result[i] = K::common::<L>(x[i], y[i]);",
        test: MATH_TILES,
    },
    Fault {
        what: "squared distances of pairs are rounded twice",
        file: "crates/broadloom-math/src/pairs.rs",
        old: "difference.madd(difference, sum)",
        new: "{ let zero = difference.sub(difference); difference.madd(difference, zero).add(sum) }",
        test: MATH_PAIRS,
    },
    Fault {
        what: "the last columns of a transposed block are left out",
        file: "crates/broadloom-math/src/transpose.rs",
        old: "let first = if r < whole_rows { whole_columns } else { 0 };",
        new: "let first = if r < whole_rows { columns } else { 0 };",
        test: MATH_UNITS,
    },
    Fault {
        what: "infinity is sorted as a NaN",
        file: "crates/broadloom-math/src/order.rs",
        old: "if bits.magnitude() > B::narrow(INFINITY) { B::ALL } else { key }",
        new: "if bits.magnitude() >= B::narrow(INFINITY) { B::ALL } else { key }",
        test: MATH_ORDER,
    },
    Fault {
        what: "argsort compares only the high bits of long ranks",
        file: "crates/broadloom-math/src/order.rs",
        old: "if cut > 0 && equal.len() > 1 {",
        new: "if cut > 64 && equal.len() > 1 {",
        test: MATH_ORDER,
    },
    Fault {
        what: "a later NaN takes the place of the first in topk",
        file: "crates/broadloom-math/src/best.rs",
        old: "!other.is_nan() && (is_better || self.is_nan())",
        new: "is_better || self.is_nan()",
        test: MATH_BEST,
    },
    // Simplification and the reference.
    Fault {
        what: "x + 0 becomes x, which it is not for -0",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        old: "Some(Scalar::F64(-0.0).cast(dtype))",
        new: "Some(Scalar::F64(0.0).cast(dtype))",
        test: RULES,
    },
    Fault {
        what: "a division by 3 becomes a product with 1/3",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        old: "(is_power && is_exact).then_some",
        new: "(is_power || is_exact).then_some",
        test: RULES,
    },
    Fault {
        what: "an operand that can fail on data is dropped",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        old: "(!self.known.can_fail(dropped)).then_some(Simpler::Is(kept))",
        new: "(self.rank < 99 || !self.known.can_fail(dropped)).then_some(Simpler::Is(kept))",
        test: RULES,
    },
    Fault {
        what: "integers cast through a float wrap where they should saturate",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        old: "(from.is_exact_in(over) && is_alike).then_some",
        new: "(from.is_exact_in(over) || is_alike).then_some",
        test: RULES,
    },
    Fault {
        what: "a sum starts to add products unrounded after a simplification",
        file: "crates/broadloom-ir/src/transform/simplify.rs",
        old: "let operand = if becomes_product {",
        new: "let operand = if becomes_product && axes.len() > 99 {",
        test: RULES,
    },
    Fault {
        what: "a sum of negative zeros is a negative zero",
        file: "crates/broadloom-ir/src/reduce.rs",
        old: "sum = Sum: Wide -> Rounded { combine: Add, identity: -0.0, finish: Some(0.0)",
        new: "sum = Sum: Wide -> Rounded { combine: Add, identity: -0.0, finish: None",
        test: INTERPRETER,
    },
    // Lowering.
    Fault {
        what: "an update runs in place where a later loop reads the old value",
        file: "crates/broadloom-loops/src/alias.rs",
        old: "if read.position > store.position {",
        new: "if read.position > store.position + 99 {",
        test: IN_PLACE,
    },
    Fault {
        what: "an update runs in place where another step reads the element",
        file: "crates/broadloom-loops/src/alias.rs",
        old: "|| !common.iter().all(moved_alike)",
        new: "|| !common.iter().any(moved_alike)",
        test: IN_PLACE,
    },
    Fault {
        what: "the verifier accepts a row that was filled in another strip",
        file: "crates/broadloom-loops/src/verify/rows.rs",
        old: "Span::Strip => written_in == strip,",
        new: "Span::Strip => true,",
        test: VERIFIER,
    },
    Fault {
        what: "two axes become one although an operand steps otherwise",
        file: "crates/broadloom-loops/src/merge.rs",
        old: "() if along_outer == extent.mul(&along_inner)? => {}",
        new: "() if !along_outer.is_zero() && !along_inner.is_zero() => {}",
        test: KERNELS,
    },
    Fault {
        what: "counts in bytes overflow",
        file: "crates/broadloom-loops/src/kernel/narrow.rs",
        old: "Narrow { dtype, steps: (1 << (8 * dtype.size())) - 1 }",
        new: "Narrow { dtype, steps: (1 << (8 * dtype.size() + 4)) - 1 }",
        test: KERNELS,
    },
    Fault {
        what: "a scan that is read shifted is computed in place of itself",
        file: "crates/broadloom-loops/src/nest/scan.rs",
        old: "index.step == 1 && index.start.is_zero() && !of.reduction && of.extent == *size",
        new: "index.step == 1 && !of.reduction",
        test: KERNELS,
    },
    Fault {
        what: "an unrolled argmin takes the last of equal elements",
        file: "crates/broadloom-loops/src/nest/reductions.rs",
        old: "let mut better = self.op(compare, smallvec![arg, best], node);",
        new: "let compare = if compare == Op::Less { Op::LessEqual } else { Op::GreaterEqual };\n            \
              let mut better = self.op(compare, smallvec![arg, best], node);",
        test: KERNELS,
    },
    Fault {
        what: "an unrolled sum of products rounds each product at fused levels",
        file: "crates/broadloom-loops/src/nest/reductions.rs",
        old: "if self.flat.fused {\n            return self.op(Op::Fma",
        new: "if self.flat.fused && node.index() > 9999 {\n            return self.op(Op::Fma",
        test: KERNELS,
    },
    Fault {
        what: "a reshape takes quotient and rest of the wrong size",
        file: "crates/broadloom-loops/src/nest/reshape.rs",
        old: "rest = self.op(Op::FloorDivide, smallvec![rest, size], node);",
        new: "rest = self.op(Op::Remainder, smallvec![rest, size], node);",
        test: KERNELS,
    },
    Fault {
        what: "rows of a table with gaps are walked as one",
        file: "crates/broadloom-loops/src/place/dense.rs",
        old: "across.is_one() && down == *row || across.is_zero() && down.is_zero()",
        new: "across.is_one() || across.is_zero() && down.is_zero()",
        test: KERNELS,
    },
    Fault {
        what: "a flipped join is cut at the places of the unflipped one",
        file: "crates/broadloom-loops/src/pieces.rs",
        old: "_ => index.start.sub(end)?.add(&Dim::ONE)?,",
        new: "_ => end.clone(),",
        test: KERNELS,
    },
    // Code generation.
    Fault {
        what: "masks are compared as if true were 1",
        file: "crates/broadloom-jit/src/emit/ops.rs",
        old: "DType::Bool if x.lanes > 1 => int.swap_args(),",
        new: "DType::Bool if x.lanes > 1 => int,",
        test: EMITTED,
    },
    Fault {
        what: "products of bytes keep bits of their neighbours",
        file: "crates/broadloom-jit/src/emit/ops.rs",
        old: "let even = builder.ins().band(even, low);",
        new: "let _ = low;",
        test: EMITTED,
    },
    Fault {
        what: "floats above the range of u8 become its half",
        file: "crates/broadloom-jit/src/emit/casts.rs",
        old: "let last = if to.is_signed_integer() { Narrowing::Signed } else { Narrowing::Unsigned };",
        new: "let last = Narrowing::Signed;",
        test: EMITTED,
    },
    Fault {
        what: "f64 becomes u32 by rounding to nearest",
        file: "crates/broadloom-jit/src/emit/casts.rs",
        old: "let step = builder.ins().band(above, one);",
        new: "let (step, _) = (builder.ins().band(above, zero), one);",
        test: EMITTED,
    },
    Fault {
        what: "sums of products are rounded twice at fused levels",
        file: "crates/broadloom-jit/src/emit/reduce.rs",
        old: "if self.fused && acc.dtype.is_float() {",
        new: "if self.fused && acc.dtype.is_float() && acc.lanes > 64 {",
        test: EMITTED,
    },
    Fault {
        what: "the best of equal candidates is the last",
        file: "crates/broadloom-jit/src/emit/reduce.rs",
        old: "let lower = self.op(Op::Less, &[candidate_index.clone(), best_index.clone()]);",
        new: "let lower = self.op(Op::Greater, &[candidate_index.clone(), best_index.clone()]);",
        test: EMITTED,
    },
    Fault {
        what: "an index out of range is not reported",
        file: "crates/broadloom-jit/src/generate/scatter.rs",
        old: "self.report(bad, value, place, index, extent);",
        new: "let _ = (bad, value, place, index);",
        test: KERNELS,
    },
    Fault {
        what: "negative indices are not counted from the end",
        file: "crates/broadloom-jit/src/generate/address.rs",
        old: "let negative = self.ins().icmp_imm_s(IntCC::SignedLessThan, index, 0);",
        new: "let negative = self.ins().icmp_imm_s(IntCC::SignedLessThan, index, i64::MIN);",
        test: KERNELS,
    },
    Fault {
        what: "a block result is merged with itself",
        file: "crates/broadloom-jit/src/generate/tree.rs",
        old: "merging_ranks(count, state, |generator, rank, carried| {\n            let older = generator.read(counter, rank, 1);",
        new: "merging_ranks(count, state, |generator, _, carried| {\n            let older = carried.to_vec();",
        test: KERNELS,
    },
    Fault {
        what: "a scan along several rows starts each row with the total of the first",
        file: "crates/broadloom-jit/src/generate/scan.rs",
        old: "let before: Vec<Val> = rows.iter().map(|row| load(self, row.address)).collect();",
        new: "let before: Vec<Val> = rows.iter().map(|_| load(self, rows[0].address)).collect();",
        test: KERNELS,
    },
    // The back end for wide vectors.
    Fault {
        what: "the maximum of a number and NaN is the number",
        file: "crates/broadloom-jit/src/wide/select/floats.rs",
        old: "&[Arg::Def(target), both, none]",
        new: "&[Arg::Def(target), both, both]",
        test: WIDE,
    },
    Fault {
        what: "large u64 lose the bit that makes halves round as the whole",
        file: "crates/broadloom-jit/src/wide/select/floats.rs",
        old: "self.emit(Code::And_rm64_imm32, &[Arg::Tied(low, x), Arg::Immediate(1)]);",
        new: "self.emit(Code::And_rm64_imm32, &[Arg::Tied(low, x), Arg::Immediate(0)]);",
        test: WIDE,
    },
    Fault {
        what: "vector registers count as kept by calls",
        file: "crates/broadloom-jit/src/wide/allocate.rs",
        old: "integers.chain((0..width.registers()).map(vector)).chain(masks)",
        new: "integers.chain((0..width.registers() / 4).map(vector)).chain(masks)",
        test: WIDE,
    },
    Fault {
        what: "what a loop changes is hoisted out of it",
        file: "crates/broadloom-jit/src/wide/optimise.rs",
        old: "let before = places.iter().find(|(place, _)| domtree.block_dominates(*place, home));",
        new: "let before = places.first();",
        test: WIDE,
    },
];
