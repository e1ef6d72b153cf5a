//! The headline of a mistake, without the op.

use super::product;
use super::reason::limits;
use crate::dtype::DType;
use crate::problem::{Certainty, Conflict, Misplaced, NameKind, Problem, Size, Wrapped, rightmost};
use std::fmt;

/// Returns the conflict that the headline names: a certain one if there is one, and among those the rightmost,
/// which is the first in the order of comparison. (From a given axis on, comparison goes to the right.)
pub(super) fn headline(problem: &Problem) -> Option<&Conflict> {
    match problem {
        Problem::Placed { conflicts, .. } => conflicts.first(),
        Problem::Broadcast(conflicts)
        | Problem::Stretch { conflicts, .. }
        | Problem::Contraction { conflicts, .. } => rightmost(conflicts),
        _ => None,
    }
}

/// Returns the beginning of a headline that names no op.
pub(super) fn subject(problem: &Problem) -> &'static str {
    match problem {
        Problem::ForeignSymbol
        | Problem::ForeignTensor { .. }
        | Problem::NotOfInput
        | Problem::Size(_)
        | Problem::TooManyElements => "the expression ",
        Problem::NeverEqual { .. } => "the equality ",
        _ => "",
    }
}

/// Returns a size for a sentence: numbers as they are, expressions in backticks.
pub(super) fn quoted(size: &Size) -> String {
    match size.dim.as_constant() {
        Some(value) => value.to_string(),
        None => format!("`{size}`"),
    }
}

pub(super) fn doubt(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Never => "",
        Certainty::Sometimes => ", not known to be equal",
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Broadcast(conflicts) => {
                f.write_str("cannot broadcast")?;
                let Some(conflict) = rightmost(conflicts) else { return Ok(()) };
                let (left, right) = (quoted(&conflict.left), quoted(&conflict.right));
                let [left_name, right_name] = &conflict.names;
                let doubt = doubt(conflict.certainty);
                write!(f, ": axis {} is {left} {left_name} and {right} {right_name}{doubt}", conflict.axis)
            }
            Problem::Stretch { conflicts, wanted } => {
                write!(f, "cannot stretch to {wanted:?}")?;
                let Some(conflict) = rightmost(conflicts) else { return Ok(()) };
                let (left, right) = (quoted(&conflict.left), quoted(&conflict.right));
                write!(
                    f,
                    ": axis {} is {left}, but should be {right}{}",
                    conflict.axis,
                    doubt(conflict.certainty)
                )
            }
            Problem::Placed { axis, conflicts } => {
                write!(f, "with axis={axis} cannot broadcast")?;
                let Some(conflict) = conflicts.first() else { return Ok(()) };
                let (left, right) = (quoted(&conflict.left), quoted(&conflict.right));
                let doubt = doubt(conflict.certainty);
                let axis = conflict.axis;
                write!(f, ": axis {axis} is {left} on the left and {right} on the right{doubt}")
            }
            Problem::Placement { axis, rank, placed, because } => match because {
                Misplaced::EqualRanks => {
                    write!(
                        f,
                        "cannot place an operand of rank {rank} at axis={axis} of another operand of rank {rank}"
                    )
                }
                Misplaced::NoAxis => write!(f, "cannot use axis={axis}: the rank is {rank}"),
                Misplaced::TooLong => {
                    write!(f, "cannot place {placed} axes from axis={axis} on: the rank is {rank}")
                }
            },
            Problem::Contraction { .. } => product::headline(self, f),
            Problem::TooFewAxes { name, wanted, rank } => {
                let axes = if *wanted == 1 { "an axis".to_owned() } else { format!("{wanted} axes") };
                write!(f, "sums over {axes}, but {name} has rank {rank}")
            }
            Problem::Unpaired { left, right } => {
                write!(
                    f,
                    "sums over pairs of axes, but got {left} for the left operand and {right} for the right one"
                )
            }
            Problem::Subscripts(subscripts) => {
                write!(f, "cannot parse its subscripts: {}", subscripts.because)
            }
            Problem::Pointwise { count, result, .. } => {
                write!(f, "broadcasts to {result:?}, although both operands have {} elements", quoted(count))
            }
            Problem::Wraps { dtype, of: Wrapped::Difference } => {
                write!(f, "takes a difference in {dtype}, which wraps below 0")
            }
            Problem::Wraps { dtype, of: Wrapped::Negation } => {
                write!(f, "takes a negative in {dtype}, which wraps below 0")
            }
            Problem::Wraps { dtype, of } => {
                let what = match of {
                    Wrapped::Square => "computes squares",
                    Wrapped::Sum => "takes a sum",
                    Wrapped::Product | Wrapped::SumOfProducts => "computes products",
                    Wrapped::Difference | Wrapped::SignedDifference | Wrapped::Negation => {
                        "takes a difference"
                    }
                };
                write!(f, "{what} in {dtype}, which wraps")?;
                limits(*dtype).map_or(Ok(()), |[_, most]| write!(f, " beyond {most}"))
            }
            Problem::Misaligned { reduced, own, at } => {
                let plural = if reduced.len() == 1 { "axis" } else { "axes" };
                let axes: Vec<String> = reduced.iter().map(usize::to_string).collect();
                let axes = axes.join(", ");
                write!(
                    f,
                    "aligns a reduction over {plural} {axes} with axis {at}, although its elements belong to axis {own}"
                )
            }
            Problem::Undecided { axis, sizes, certainty, .. } => {
                let (left, right, doubt) = (quoted(&sizes[0]), quoted(&sizes[1]), doubt(*certainty));
                match axis {
                    Some(axis) => write!(f, "needs equal sizes: axis {axis} is {left} and {right}{doubt}"),
                    None => write!(f, "needs equal numbers of elements: {left} and {right}{doubt}"),
                }
            }
            Problem::NeverEqual { left, right } => {
                write!(f, "cannot hold: {} and {} are never equal", quoted(left), quoted(right))
            }
            Problem::NeverRebound { axis, sizes } => {
                let (left, right) = (quoted(&sizes[0]), quoted(&sizes[1]));
                write!(f, "cannot hold: axis {axis} is {left}, which is never {right}")
            }
            Problem::NeverMet { requirement, size } => {
                write!(f, "{requirement}: {} is negative for every size", quoted(size))
            }
            Problem::LateFact { name, .. } => {
                write!(
                    f,
                    "comes too late: `{name}` is already in use, and the meaning of earlier expressions would change"
                )
            }
            Problem::ImpossibleFact { name } => write!(f, "leaves no possible size for `{name}`"),
            Problem::NotOfInput => f.write_str("uses `_` or `#` outside the shape of an input"),
            Problem::Count { wanted, have, want, certainty, .. } => {
                let (have, want, doubt) = (quoted(have), quoted(want), doubt(*certainty));
                write!(
                    f,
                    "cannot produce {wanted:?}: that takes {want} elements, but the operand has {have}{doubt}"
                )
            }
            Problem::Indivisible { have, by, .. } => {
                let is_constant = [have, by].iter().all(|size| size.dim.as_constant().is_some());
                let always = if is_constant { "" } else { "always " };
                write!(f, "cannot infer a size: {} is not {always}divisible by {}", quoted(have), quoted(by))
            }
            Problem::TwoInferred => f.write_str("can infer only one size"),
            Problem::NotOne { axis, size } => {
                write!(f, "cannot remove axis {axis}: its size is {}, not the constant 1", quoted(size))
            }
            Problem::NoAxis { axis, rank } => write!(f, "cannot use axis {axis}: the rank is {rank}"),
            Problem::RepeatedAxis { axis } => write!(f, "names axis {axis} twice"),
            Problem::NotPermutation { given, rank } => {
                write!(f, "needs each of the {rank} axes exactly once, but got {given}")
            }
            Problem::ZeroStep => f.write_str("has a step of 0"),
            Problem::Outside { axis, requirement, by } => {
                write!(f, "does not fit axis {axis}: {requirement}, by {}", quoted(by))
            }
            Problem::CutOff { axis, size } => {
                write!(
                    f,
                    "extends past the end of axis {axis}, which has size {size}, and is truncated there"
                )
            }
            Problem::TooManyIndices { given, rank } => write!(f, "has {given} indices for {rank} axes"),
            Problem::RankTooLarge { rank } => {
                write!(f, "has {rank} axes: at most {} are supported", crate::shape::MAX_RANK)
            }
            Problem::RankTooSmall { wanted, rank } => {
                write!(f, "cannot stretch to fewer axes: {wanted} instead of {rank}")
            }
            Problem::NegativeSize { axis, size } => write!(f, "gives axis {axis} the negative size {size}"),
            Problem::Unequal { axis, names: [first, second], sizes, certainty, .. } => {
                let (left, right, doubt) = (quoted(&sizes[0]), quoted(&sizes[1]), doubt(*certainty));
                write!(
                    f,
                    "needs equal sizes: axis {axis} is {left} in {first} and {right} in {second}{doubt}"
                )
            }
            Problem::Rank { name, expected, rank } => {
                write!(f, "needs {name} to have rank {expected}, not {rank}")
            }
            Problem::TooManyElements => f.write_str("has more elements than can be addressed"),
            Problem::Size(error) => write!(f, "has a size that cannot be computed: {error}"),
            Problem::EmptyReduction { axis } => {
                write!(f, "is not defined for zero elements: axis {axis} is empty")
            }
            Problem::Argument(rule) => f.write_str(rule),
            Problem::TopKCount { k } => {
                let most = crate::graph::MAX_TOPK;
                write!(f, "cannot return the {k} best elements: ask for 1 to {most}")
            }
            Problem::TooFewElements { axis, k, by } => {
                write!(f, "cannot return {k} elements: axis {axis} is too short by {}", quoted(by))
            }
            Problem::DiffOrder { order } => {
                let most = crate::graph::MAX_DIFF;
                write!(f, "cannot be taken {order} times: take it 0 to {most} times")
            }
            Problem::Unsolvable { symbol } => {
                write!(f, "the symbol `{symbol}` cannot be computed from the sizes of the inputs")
            }
            Problem::NotDerivable { dtype } => {
                write!(f, "differentiates floats with respect to floats, not {dtype}")
            }
            Problem::NotRead => f.write_str("is 0 everywhere: the loss does not read what it is derived by"),
            Problem::NoDerivative => {
                f.write_str("cannot derive `segment_tables`: write `segment_sum` and its like")
            }
            Problem::NotDefined { dtypes } => {
                f.write_str("is not defined on ")?;
                for (index, dtype) in dtypes.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { " and " })?;
                    write!(f, "{dtype}")?;
                }
                Ok(())
            }
            Problem::Arity { expected, given } => write!(f, "takes {expected} operands, not {given}"),
            Problem::LiteralDoesNotFit { literal, dtype } => {
                write!(f, "the literal {literal} does not fit into {dtype}")
            }
            Problem::NegativeExponent { exponent, dtype } => {
                write!(f, "cannot raise integers ({dtype}) to the negative power {exponent}")
            }
            Problem::ConditionNotBool { dtype } => write!(f, "needs a bool condition, not {dtype}"),
            Problem::IndicesNotInteger { dtype } => write!(f, "needs integer indices, not {dtype}"),
            Problem::BadName { kind: NameKind::Symbol, name } => {
                write!(
                    f,
                    "does not accept the name {name:?}: use letters, digits and `_`, and do not start with a digit"
                )
            }
            Problem::BadName { kind: NameKind::Tensor, name } => {
                write!(f, "does not accept the name {name:?}: use printable text without quotes")
            }
            Problem::DuplicateInput { dtype, dims, first } => {
                let (first_dtype, first_dims) = (first.dtype.map_or("", DType::name), &first.dims);
                write!(f, "is declared as {dtype}{dims:?} here, but as {first_dtype}{first_dims:?} earlier")
            }
            Problem::AssignedStretched { name, axis } => write!(
                f,
                "cannot write to the input \"{name}\": its axis {axis} may have size 1 and be stretched"
            ),
            Problem::CarriedCount { expected, given } => {
                let plural = |count: usize| if count == 1 { "value" } else { "values" };
                write!(f, "carries {expected} {}, but a step gives {given}", plural(*expected))
            }
            Problem::CarriedShape { name, before, after } => {
                write!(
                    f,
                    "changes the shape of `{name}`: it is {before:?} before a step and {after:?} after it"
                )
            }
            Problem::CarriedDType { name, before, after } => {
                write!(f, "changes the dtype of `{name}`: it is {before} before a step and {after} after it")
            }
            Problem::StepsNotInteger { dtype } => write!(f, "needs an integer number of steps, not {dtype}"),
            Problem::SizeNotInteger { dtype } => write!(f, "needs an integer, not {dtype}"),
            Problem::DecidedInput { name, size } => {
                write!(
                    f,
                    "the input \"{name}\" has the size {}, which the data of a run decide",
                    quoted(size)
                )
            }
            Problem::DecidedInStep => {
                f.write_str("the number of selected elements differs from step to step of a loop")
            }
            Problem::OutsideLoop { name } => {
                write!(f, "an output depends on a step of the loop over `{name}`, but is outside of the loop")
            }
            Problem::NotInput => {
                f.write_str("can write only to an input, not to the result of an expression")
            }
            Problem::AssignedTwice { name, .. } => {
                write!(f, "writes to the input \"{name}\", which has already been assigned")
            }
            Problem::Grows { name, target, result } => {
                write!(f, "cannot write its result into \"{name}\"")?;
                if target.len() != result.len() {
                    return write!(f, ": the rank would grow from {} to {}", target.len(), result.len());
                }
                let changed = target.iter().zip(result).position(|(old, new)| old != new);
                let Some(axis) = changed else { return Ok(()) };
                let (old, new) = (&target[axis], &result[axis]);
                let verb = if new.dim.is_zero() { "shrink" } else { "grow" };
                write!(f, ": axis {axis} would {verb} from {} to {}", quoted(old), quoted(new))
            }
            Problem::OtherKind { value, target } => {
                write!(f, "does not convert {value} to {target}, a different kind of number")
            }
            Problem::DuplicateOutput { name } => write!(f, "two outputs have the name \"{name}\""),
            Problem::NoOutputs => f.write_str("the graph has no outputs"),
            Problem::PoisonedOutput { name } => {
                write!(f, "the output \"{name}\" depends on an error that was reported earlier")
            }
            Problem::TooLarge => f.write_str("the graph has too many expressions"),
            Problem::ForeignSymbol => f.write_str("uses a symbol from another graph"),
            Problem::ForeignTensor { there: Some(_), .. } => f.write_str("mixes tensors from two graphs"),
            Problem::ForeignTensor { there: None, .. } => {
                f.write_str("uses a tensor whose graph was dropped")
            }
        }
    }
}
