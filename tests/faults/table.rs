//! The faults: mistakes that someone could make in lowering, code generation or the numerics of kernels, each with a test
//! that notices it.

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
const ROOTS: &[&str] = &["-p", "broadloom", "--test", "facade", "roots::"];
const ALL_COUNTED: &[&str] = &["-p", "broadloom", "--test", "facade", "sums_of_sums::all_are_counted"];
const SUMS_OF_SUMS: &[&str] = &["-p", "broadloom", "--test", "facade", "sums_of_sums::of_more_axes"];
const ZEROS: &[&str] = &["-p", "broadloom", "--test", "facade", "sums_of_sums::zeros_are_positive"];
const BANDS: &[&str] = &["-p", "broadloom", "--test", "facade", "bands::of_f32"];
const BANDS_OF_BATCHES: &[&str] = &["-p", "broadloom", "--test", "facade", "bands::some_rows_of_batches"];
const BANDS_OF_OTHERS: &[&str] = &["-p", "broadloom", "--test", "facade", "bands::whole_arrays"];
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

/// All faults.
pub const FAULTS: &[Fault] = &[
    // Elementary functions, sorting and searching.
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
    // Simplification, and the tables that interpreter and kernels share.
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
    // Lowering.
    Fault {
        what: "tensors without elements are read, before loops that do not run",
        file: "crates/broadloom-loops/src/flat.rs",
        place: "node if ⟦shape.iter().any(Dim::is_zero)⟧",
        new: "false",
        test: EMPTY,
    },
    Fault {
        what: "the verifier takes every loop for one that does not run",
        file: "crates/broadloom-loops/src/verify/present.rs",
        place: "|| !⟦self.around().all(runs)⟧",
        new: "false",
        test: VERIFIER,
    },
    Fault {
        what: "an update runs in place where a later loop reads the old value",
        file: "crates/broadloom-loops/src/alias.rs",
        place: "⟦read.position > own.position⟧",
        new: "false",
        test: IN_PLACE,
    },
    Fault {
        what: "an update runs in place where another step reads the element",
        file: "crates/broadloom-loops/src/alias.rs",
        place: "⟦!common.iter().all(moved_alike)⟧",
        new: "false",
        test: IN_PLACE,
    },
    Fault {
        what: "two axes become one although an operand steps otherwise",
        file: "crates/broadloom-loops/src/merge.rs",
        place: "⟦along_outer == extent.mul(&along_inner)?⟧",
        new: "!along_outer.is_zero() && !along_inner.is_zero()",
        test: KERNELS,
    },
    Fault {
        what: "a reshape takes quotient and rest of the wrong size",
        file: "crates/broadloom-loops/src/nest/reshape.rs",
        place: "⟦self.op(Op::FloorDivide, smallvec![rest, size], node)⟧",
        new: "rest",
        test: KERNELS_OF_RESHAPES,
    },
    Fault {
        what: "the verifier accepts a row that was filled in another strip",
        file: "crates/broadloom-loops/src/verify/rows.rs",
        place: "Span::Strip => ⟦written_in == strip⟧,",
        new: "true",
        test: VERIFIER,
    },
    Fault {
        what: "counts overflow their bytes",
        file: "crates/broadloom-loops/src/kernel/narrow.rs",
        place: "⟦(1 << (8 * dtype.size())) - 1⟧",
        new: "(1 << (8 * dtype.size() + 4)) - 1",
        test: COUNTS,
    },
    Fault {
        what: "argmin runs lane by lane, and takes the first of equal elements in that order",
        file: "crates/broadloom-loops/src/kernel/reductions.rs",
        place: "!self.prologue.is_empty() && self.ahead.is_empty() && ⟦!self.is_in_order()⟧",
        new: "true",
        test: FIRST_OF_EQUALS,
    },
    Fault {
        what: "an unrolled argmin takes the last of equal elements",
        file: "crates/broadloom-loops/src/nest/reductions.rs",
        place: "⟦self.op(compare, smallvec![arg, best], node)⟧",
        new: "self.op(if compare == Op::Less { Op::LessEqual } else { Op::GreaterEqual }, smallvec![arg, best], node)",
        test: KERNELS,
    },
    Fault {
        what: "an unrolled sum of products rounds each product at fused levels",
        file: "crates/broadloom-loops/src/nest/reductions.rs",
        place: "node: FlatId) -> ValueId {\n        if ⟦self.flat.fused⟧ {",
        new: "false",
        test: KERNELS_OF_THE_BEST,
    },
    Fault {
        what: "rows of a table with gaps are walked as one",
        file: "crates/broadloom-loops/src/place/dense.rs",
        place: "⟦across.is_one() && down == *row || across.is_zero() && down.is_zero()⟧",
        new: "across.is_one() || across.is_zero() && down.is_zero()",
        test: KERNELS,
    },
    Fault {
        what: "kernels run together although one reads rows that another has not written",
        file: "crates/broadloom-loops/src/band.rs",
        place: "inside().count() > 1 && ⟦inside().any(|(_, writes)| *writes)⟧",
        new: "false",
        test: BANDS_OF_OTHERS,
    },
    Fault {
        what: "the verifier takes every element for one of the row",
        file: "crates/broadloom-loops/src/verify/bands.rs",
        place: "Some(⟦least >= 0 && greatest < row⟧)",
        new: "true",
        test: VERIFIER,
    },
    Fault {
        what: "an update runs in place where a kernel beside it reads other rows",
        file: "crates/broadloom-loops/src/alias.rs",
        place: "⟦takes_turns(writer, reader)⟧ &&",
        new: "{ let _ = (writer, takes_turns); false }",
        test: IN_PLACE,
    },
    Fault {
        what: "a region is written in place where another step reads the element",
        file: "crates/broadloom-loops/src/alias.rs",
        place: "⟦around.all(|axis| address.stride(axis).is_some()) && place.within(address, &common)⟧",
        new: "{ let _ = (&mut around, place, &common); true }",
        test: UPDATES,
    },
    Fault {
        what: "a region is written in place where rows after it are read",
        file: "crates/broadloom-loops/src/alias.rs",
        place: "is_less(&below, &least) && ⟦is_less(&greatest, &above)⟧",
        new: "{ let _ = (&greatest, &above); true }",
        test: UPDATES,
    },
    Fault {
        what: "an array is written in place although data may fail after that",
        file: "crates/broadloom-loops/src/fails.rs",
        place: "let is_early = ⟦index <= last.index()⟧",
        new: "index > last.index()",
        test: KEPT,
    },
    Fault {
        what: "a run goes on to write in place after data have failed",
        file: "crates/broadloom/src/run/launch.rs",
        place: "filter(|_| ⟦index == kernels.failing⟧)",
        new: "index > kernels.failing",
        test: POSITIONS_IN_PLACE,
    },
    Fault {
        what: "a piece of a changed array counts as unchanged if other elements of the array are there",
        file: "crates/broadloom-loops/src/update.rs",
        place: "buffer == array && ⟦map == whole⟧",
        new: "true",
        test: UPDATES,
    },
    Fault {
        what: "each element between those that a change replaces is one of them",
        file: "crates/broadloom-loops/src/flat/set.rs",
        place: "if ⟦index.step % step != 0⟧",
        new: "false",
        test: UPDATES,
    },
    Fault {
        what: "a version of an output is in memory of its own",
        file: "crates/broadloom/src/bind/binding.rs",
        place: "match ⟦schedule.buffers[last.index()].role⟧",
        new: "{ let _ = last; buffer.role }",
        test: UPDATES,
    },
    Fault {
        what: "what is changed aside does not start as the array",
        file: "crates/broadloom/src/run/launch.rs",
        place: "filter(|copy| ⟦copy.starts_as_target⟧)",
        new: "{ let _ = copy; false }",
        test: ASIDE,
    },
    Fault {
        what: "a value of a loop is moved aside to where a result already is",
        file: "crates/broadloom/src/run/stages.rs",
        place: "retain(|array| ⟦*array != result⟧)",
        new: "!array.is_null() || result.is_null()",
        test: LOOPS,
    },
    Fault {
        what: "strips of elements read the first row in each step",
        file: "crates/broadloom/src/run/stages.rs",
        place: "moving.push((argument, ⟦self.bound.rows[number].distance⟧));",
        new: "self.bound.rows[number].distance * 0",
        test: LOOPS,
    },
    Fault {
        what: "tables in a batch are held as a whole",
        file: "crates/broadloom-loops/src/band/counted.rs",
        place: "⟦self.held.keys().any(|buffer| is_long(buffer) == Some(true))⟧ && !self.held",
        new: "{ let _ = is_long; false }",
        test: BANDS_OF_BATCHES,
    },
    Fault {
        what: "what is read in each step of a loop is computed before the loop however large it is",
        file: "crates/broadloom-ir/src/stages.rs",
        place: "own != Some(Dim::ONE) && ⟦!graph.operands(expr).iter().any(is_as_large_an_array)⟧",
        new: "{ let _ = is_as_large_an_array; false }",
        test: LOOPS,
    },
    Fault {
        what: "rows that a thread holds share memory with what kernels before read again",
        file: "crates/broadloom/src/bind/arena.rs",
        place: "let (first, last) = ⟦(launched(first).start, launched(last).end - 1)⟧;",
        new: "(first, last)",
        test: BANDS,
    },
    Fault {
        what: "each group of rows is where the rows before it would end",
        file: "crates/broadloom/src/run/launch.rs",
        place: "let rows = ⟦number as i64 * launch.chunk - range.start⟧;",
        new: "number as i64 * launch.chunk",
        test: BANDS,
    },
    Fault {
        what: "a flipped join is cut where the unflipped one would be, and is stored",
        file: "crates/broadloom-loops/src/pieces.rs",
        place: "⟦index.start.sub(end)?.add(&Dim::ONE)?⟧",
        new: "end.clone()",
        test: SCHEDULES,
    },
    // Code generation.
    Fault {
        what: "masks are compared as if true were 1",
        file: "crates/broadloom-jit/src/emit/ops.rs",
        place: "⟦int.swap_args()⟧",
        new: "int",
        test: EMITTED_OPS,
    },
    Fault {
        what: "products of bytes keep bits of their neighbours",
        file: "crates/broadloom-jit/src/emit/ops.rs",
        place: "⟦builder.ins().band(even, low)⟧",
        new: "even",
        test: EMITTED_OPS,
    },
    Fault {
        what: "floats above the range of u8 become its half",
        file: "crates/broadloom-jit/src/emit/casts.rs",
        place: "⟦if to.is_signed_integer() { Narrowing::Signed } else { Narrowing::Unsigned }⟧",
        new: "Narrowing::Signed",
        test: EMITTED_CASTS,
    },
    Fault {
        what: "f64 becomes u32 by rounding to nearest",
        file: "crates/broadloom-jit/src/emit/casts.rs",
        place: "⟦builder.ins().band(above, one)⟧",
        new: "builder.ins().band(above, zero)",
        test: EMITTED_CASTS,
    },
    Fault {
        what: "sums of products are rounded twice at fused levels",
        file: "crates/broadloom-jit/src/emit/reduce.rs",
        place: "⟦self.level.is_fused() && acc.dtype.is_float()⟧",
        new: "false",
        test: EMITTED_REDUCTIONS,
    },
    Fault {
        what: "the best of equal candidates is the last",
        file: "crates/broadloom-jit/src/emit/reduce.rs",
        place: "⟦self.op(Op::Less, &[candidate_index.clone(), best_index.clone()])⟧",
        new: "self.op(Op::Greater, &[candidate_index.clone(), best_index.clone()])",
        test: EMITTED_REDUCTIONS,
    },
    Fault {
        what: "an index out of range is not reported",
        file: "crates/broadloom-jit/src/generate/scatter.rs",
        place: "⟦generator.report(is_bad, value, place, index, extent)⟧",
        new: "()",
        test: REPORTED_INDICES,
    },
    Fault {
        what: "what rounding loses of the sum of a group is lost",
        file: "crates/broadloom-jit/src/generate/scatter.rs",
        place: "⟦generator.lost(&old, value, &new)⟧",
        new: "generator.emit.op(Op::Subtract, &[old.clone(), old.clone()])",
        test: GROUPS,
    },
    Fault {
        what: "a table of groups takes rows of the next one",
        file: "crates/broadloom-jit/src/generate/mod.rs",
        place: "bounds = (self.least(start, bounds.1), ⟦self.least(end, bounds.1)⟧);",
        new: "bounds.1",
        test: GROUPS,
    },
    Fault {
        what: "negative indices, and positions of a change, are not counted from the end",
        file: "crates/broadloom-jit/src/generate/scatter.rs",
        place: "⟦self.emit.select(&is_negative, &from_end, given)⟧",
        new: "self.emit.select(&is_negative, given, given)",
        test: POSITIONS,
    },
    Fault {
        what: "an index that may be the size counts as one below it",
        file: "crates/broadloom-loops/src/index.rs",
        place: "is_natural && ⟦size.sub(&Dim::ONE)⟧.is_ok_and(",
        new: "size.sub(&Dim::ZERO)",
        test: LOOKUPS,
    },
    Fault {
        what: "a sum that wraps counts as an index",
        file: "crates/broadloom-loops/src/index.rs",
        place: "self.known.insert(id, ⟦found.filter(fits)⟧.or(all));",
        new: "{ let _ = fits; found }",
        test: LOOKUPS,
    },
    Fault {
        what: "words are gathered as if they were twice as long",
        file: "crates/broadloom-jit/src/wide/select/lanes.rs",
        place: "let scale = ⟦if long { 8 } else { 4 }⟧;",
        new: "8",
        test: LOOKUPS,
    },
    Fault {
        what: "a comparison with a number beyond an interval is always true",
        file: "crates/broadloom-loops/src/flat/integers.rs",
        place: "Op::Equal if are_apart || are_equal => ⟦are_equal⟧,",
        new: "true",
        test: LOOKUPS,
    },
    Fault {
        what: "a statement stands before what it reads",
        file: "crates/broadloom-loops/src/place/order.rs",
        place: "if ⟦waits[*user] == 0⟧ && !is_store(*user)",
        new: "waits[*user] <= 1",
        test: KERNELS,
    },
    Fault {
        what: "streaming stores are not aligned",
        file: "crates/broadloom-jit/src/generate/passes.rs",
        place: "let aligned = ⟦self.ins().iadd(start, steps)⟧;",
        new: "start",
        test: STREAMED,
    },
    Fault {
        what: "threads share the rows that replace others",
        file: "crates/broadloom-loops/src/nest/scan.rs",
        place: "⟦outermost.filter(is_apart)⟧",
        new: "outermost",
        test: POSITIONS,
    },
    Fault {
        what: "a block result is merged with itself",
        file: "crates/broadloom-jit/src/generate/tree.rs",
        place: "merging_ranks(count, state, |generator, rank, carried| {\n            let older = ⟦generator.read(counter, rank, 1)⟧;",
        new: "carried.iter().cloned().collect()",
        test: KERNELS,
    },
    Fault {
        what: "running results begin again in each piece of a join",
        file: "crates/broadloom-loops/src/nest/scan.rs",
        place: "index.step == 1 && ⟦index.start.is_zero() && !of.reduction && of.extent == *size⟧",
        new: "!of.reduction",
        test: KERNELS_OF_SCANS,
    },
    Fault {
        what: "scans of several rows continue with the total of the first",
        file: "crates/broadloom-jit/src/generate/scan.rs",
        place: "⟦rows.iter().map(|row| load(self, row.address)).collect()⟧",
        new: "rows.iter().map(|_| load(self, rows[0].address)).collect()",
        test: KERNELS_OF_SCANS,
    },
    Fault {
        what: "with AVX-512, the second of two lanes of a block takes a step that it does not have",
        file: "crates/broadloom-jit/src/generate/contract/steps.rs",
        place: "let last_of_both = self.ins().iadd_imm_s(last, ⟦-apart⟧);",
        new: "1 - apart",
        test: CONTRACTIONS,
    },
    Fault {
        what: "several steps behind a contraction are those of neighbouring lanes",
        file: "crates/broadloom-jit/src/generate/stream.rs",
        place: "⟦position = self.ins().iadd(position, apart)⟧;",
        new: "position = self.ins().iadd_imm_s(position, 1)",
        test: CONTRACTIONS_OF_SUMS,
    },
    Fault {
        what: "the steps of rows that are transposed in registers are in reverse order",
        file: "crates/broadloom-jit/src/generate/transposed_rows.rs",
        place: "(load.value, &loaded[⟦step⟧])",
        new: "transposed.steps - 1 - step",
        test: ROW_REDUCTIONS,
    },
    Fault {
        what: "positions in rows that are transposed in registers are those of their first steps",
        file: "crates/broadloom-jit/src/generate/transposed_rows.rs",
        place: "let position = generator.ins().iadd_imm_s(position, ⟦step as i64⟧);",
        new: "0",
        test: ROW_REDUCTIONS,
    },
    Fault {
        what: "the upper lanes of arg-extremes are forgotten",
        file: "crates/broadloom-jit/src/generate/reduce.rs",
        place: "let [low, high] = [0, ⟦lanes⟧]",
        new: "0",
        test: ROW_REDUCTIONS,
    },
    Fault {
        what: "of sums that round to one root, the least has the index",
        file: "crates/broadloom-jit/src/generate/contract/extremes.rs",
        place: "self.first_up_to(⟦&highest⟧, place,",
        new: "{ let _ = &highest; &least[0] }",
        test: ROOTS,
    },
    Fault {
        what: "the number after the greatest with a root always has that root too",
        file: "crates/broadloom-jit/src/emit/floats.rs",
        place: "⟦self.select(&is_same, &next, &square)⟧",
        new: "{ let _ = is_same; next }",
        test: ROOTS,
    },
    Fault {
        what: "numbers without a root are compared like others",
        file: "crates/broadloom-jit/src/emit/floats.rs",
        place: "⟦self.select(&is_number, &largest, &before_zero)⟧",
        new: "{ let _ = (is_number, before_zero); largest }",
        test: ROOTS,
    },
    Fault {
        what: "each step of an outer sum replaces the results of the step before",
        file: "crates/broadloom-jit/src/generate/table.rs",
        place: "let combined = ⟦generator.emit.accumulate(op, dtype, &older, &newer)⟧;",
        new: "{ let _ = (op, older); newer }",
        test: SUMS_OF_SUMS,
    },
    Fault {
        what: "all steps of an outer sum go to the first lane of the fixed tree",
        file: "crates/broadloom-jit/src/generate/fold.rs",
        place: "let offset = self.ins().imul_imm_s(lane, ⟦place.apart⟧);",
        new: "0",
        test: SUMS_OF_SUMS,
    },
    Fault {
        what: "results that registers combine with those of other steps are not finished",
        file: "crates/broadloom-jit/src/generate/contract/results.rs",
        place: "_ => ⟦self.finish_tile(entry, value)⟧,",
        new: "self.emit.cast(value, dtype)",
        test: ZEROS,
    },
    Fault {
        what: "lanes of a byte hold counts up to 256",
        file: "crates/broadloom-loops/src/make/contraction.rs",
        place: "narrow.filter(|narrow| elements.is_some_and(|elements| elements <= ⟦narrow.steps⟧))",
        new: "narrow.steps + 1",
        test: NARROW_SUMS,
    },
    Fault {
        what: "lanes hold the sum of a step of an outer sum, and not of all",
        file: "crates/broadloom-loops/src/make/contraction.rs",
        place: "(true, _) => ⟦elements.checked_mul(extent(*axis)?)⟧,",
        new: "{ extent(*axis)?; Some(elements) }",
        test: ALL_COUNTED,
    },
    Fault {
        what: "rows of packed operands serve other batches than those that they were computed for",
        file: "crates/broadloom-loops/src/place/contraction.rs",
        place: "Def::Index(axis) => axis == strip_axis || axis == reduction,\n                _ => ⟦false⟧,",
        new: "true",
        test: PACKED,
    },
    Fault {
        what: "of a packed row, the last elements of some lanes are missing",
        file: "crates/broadloom-jit/src/generate/rows.rs",
        place: "let has_rest = self.ins().icmp_imm_s(⟦IntCC::SignedGreaterThan⟧, rest, 0);",
        new: "IntCC::SignedLessThan",
        test: PACKED,
    },
    Fault {
        what: "an index that all lanes share is put in a row of its own",
        file: "crates/broadloom-loops/src/place/apart.rs",
        place: "let is_moved = ⟦self.nest.varies[value.index()] & bit(axis) != 0⟧;",
        new: "{ let _ = bit(axis); true }",
        test: &["-p", "broadloom", "--test", "facade", "a_column_of_computed_values"],
    },
    Fault {
        what: "a part of the roots of a section is computed, and again with the others",
        file: "crates/broadloom-loops/src/fuse.rs",
        place: "if ⟦self.plan.section(last).is_none()⟧ {",
        new: "true",
        test: &["-p", "broadloom", "--test", "facade", "sums_that_one_array_waits_for"],
    },
    Fault {
        what: "the last block of a contraction is merged with ranks that are not in use",
        file: "crates/broadloom-jit/src/generate/contract/ranks.rs",
        place: "generator.when(⟦is_in_use⟧, |generator|",
        new: "{ let _ = is_in_use; is_last }",
        test: RANKS,
    },
    Fault {
        what: "the last block of a contraction is merged with equal ranks only",
        file: "crates/broadloom-jit/src/generate/contract/ranks.rs",
        place: "generator.ins().select(is_last, ⟦all⟧, lowest);",
        new: "{ let _ = all; lowest }",
        test: RANKS,
    },
    Fault {
        what: "shuffles of short rows have their last two words in each other's places",
        file: "crates/broadloom-jit/src/emit/transpose.rs",
        place: "known.push(self.shuffle_words(known[*low], known[*high], ⟦*words⟧));",
        new: "[words[0], words[1], words[3], words[2]]",
        test: SHORT_ROWS,
    },
    Fault {
        what: "with AVX-512, the last third of rows is picked from the wrong register",
        file: "crates/broadloom-jit/src/emit/transpose.rs",
        place: "of_third(result, lane).map_or(lane, |third| ⟦lanes + third⟧)",
        new: "third",
        test: SHORT_ROWS,
    },
    Fault {
        what: "a loop ends where its vectors are aligned",
        file: "crates/broadloom-jit/src/generate/passes.rs",
        place: "(vec![⟦state[1]⟧, end], carried)",
        new: "end",
        test: ALIGNED,
    },
    // The back end for wide vectors.
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
