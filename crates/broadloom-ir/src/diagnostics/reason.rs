//! Sentences that give the reason: the broken rule, and the sizes that satisfy it.

use super::headline::{headline, quoted};
use super::product;
use super::render::own_axis;
use super::{
    Certainty, Conflict, Diagnostic, Misplaced, NameKind, Operand, Problem, Requirement, Size, Wrapped,
};
use crate::dtype::{Class, DType, Scalar};
use crate::literal::Literal;

/// Returns all reasons.
pub(super) fn because(diagnostic: &Diagnostic) -> Vec<String> {
    let slip = slip(diagnostic);
    let note = if slip.is_none() { caret_note(diagnostic) } else { None };
    note.into_iter().chain(slip).chain(reasons(diagnostic)).collect()
}

/// Returns the note beside the carets: why the sizes do not fit.
pub(super) fn caret_note(diagnostic: &Diagnostic) -> Option<String> {
    if let Problem::Grows { .. } = diagnostic.problem {
        return Some("the target does not stretch".to_owned());
    }
    let conflicts = diagnostic.conflicts();
    let clash = headline(&diagnostic.problem)?;
    if [&clash.left, &clash.right].iter().all(|size| size.text().starts_with('@')) {
        return Some("the data decide each by itself: select both by one mask".to_owned());
    }
    if clash.certainty == Certainty::Sometimes {
        let [a, b] = &clash.only_if;
        return Some(format!("equal only for some sizes ({a} = {b})"));
    }
    if product::is_summed(&diagnostic.problem) && clash.left.dim.as_constant().is_some() {
        // The headline has already said it.
        return None;
    }
    match conflicts {
        [_] => match (clash.left.dim.as_constant(), clash.right.dim.as_constant()) {
            (Some(left), Some(right)) => {
                Some(format!("{left} and {right} differ and neither is the constant 1"))
            }
            _ => {
                let why = never(&clash.left, &clash.right).map_or(String::new(), |why| format!(": {why}"));
                Some(format!("{} and {} are never equal{why}", quoted(&clash.left), quoted(&clash.right)))
            }
        },
        [first, second] => {
            let other = if first.axis == clash.axis { second } else { first };
            let (left, right) = (quoted(&other.left), quoted(&other.right));
            Some(match other.certainty {
                Certainty::Never => format!("{left} and {right} differ too"),
                Certainty::Sometimes => format!("{left} and {right} are not known to be equal either"),
            })
        }
        _ => None,
    }
}

/// Returns why two sizes are never equal, if the facts about their symbols are not needed for it.
fn never(left: &Size, right: &Size) -> Option<String> {
    let difference = left.dim.sub(&right.dim).ok()?;
    if left.dim.as_constant().and(right.dim.as_constant()).is_some() {
        return None;
    }
    if let Some(by) = difference.as_constant() {
        return Some(format!("they always differ by {}", by.abs()));
    }
    let divisor = difference.indivisible_by()?;
    let is_multiple = |size: &Size| size.dim.evaluate(&|_| Some(0)).is_ok_and(|constant| constant == 0);
    Some(match (left.dim.as_constant(), right.dim.as_constant()) {
        _ if divisor == 2 => "one is even, the other odd".to_owned(),
        (None, Some(number)) if is_multiple(left) => format!("{number} is not a multiple of {divisor}"),
        (Some(number), None) if is_multiple(right) => format!("{number} is not a multiple of {divisor}"),
        _ => format!("they leave different remainders when divided by {divisor}"),
    })
}

/// Returns the sentence for the most common mistake: a size meets another one because shapes align at the last
/// axis, while an equal size is on another axis.
pub(super) fn slip(diagnostic: &Diagnostic) -> Option<String> {
    let Problem::Broadcast(_) = &diagnostic.problem else { return None };
    let clash = headline(&diagnostic.problem)?;
    let left = (diagnostic.operands.get(clash.left_operand)?, &clash.left);
    let right = (diagnostic.operands.get(clash.right_operand)?, &clash.right);
    let ((long, meets), (short, size)) = match left.0.dims.len().cmp(&right.0.dims.len()) {
        std::cmp::Ordering::Greater => (left, right),
        std::cmp::Ordering::Less => (right, left),
        std::cmp::Ordering::Equal => return None,
    };
    let (size_text, meets) = (quoted(size), quoted(meets));
    long.dims.contains(size).then(|| {
        let (long, short) = (possessive(&long.name), possessive(&short.name));
        format!(
            "shapes are aligned at the last axis, \
             so {short} {size_text} meets {long} {meets}, not {long} {size_text}"
        )
    })
}

/// `b's`, `codes'`.
fn possessive(name: &str) -> String {
    if name.ends_with('s') { format!("{name}'") } else { format!("{name}'s") }
}

/// Returns further reasons.
pub(super) fn reasons(diagnostic: &Diagnostic) -> Vec<String> {
    let reason = match &diagnostic.problem {
        Problem::Broadcast(conflicts)
            if conflicts.iter().all(|conflict| conflict.certainty == Certainty::Never)
                && slip(diagnostic).is_none() =>
        {
            return stretched(diagnostic, conflicts).into_iter().collect();
        }
        Problem::Contraction { .. } | Problem::TooFewAxes { .. } | Problem::Subscripts(_) => {
            return product::reasons(diagnostic);
        }
        Problem::Unequal { sizes, .. } if sizes.iter().any(|size| size.dim.is_one()) => {
            format!("`{}` never stretches its operands", diagnostic.op.as_deref().unwrap_or(""))
        }
        Problem::Count { certainty: Certainty::Sometimes, only_if, .. }
        | Problem::Undecided { certainty: Certainty::Sometimes, only_if, .. }
        | Problem::Unequal { certainty: Certainty::Sometimes, only_if, .. } => {
            let [a, b] = &**only_if;
            format!("equal only for some sizes ({a} = {b})")
        }
        Problem::NeverEqual { left, right } => return never(left, right).into_iter().collect(),
        Problem::NeverRebound { sizes, .. }
        | Problem::Undecided { sizes, .. }
        | Problem::Unequal { sizes, .. } => return never(&sizes[0], &sizes[1]).into_iter().collect(),
        Problem::Count { have, want, .. } => return never(have, want).into_iter().collect(),
        Problem::BadName { kind: NameKind::Symbol, name } => {
            let letter = |letter: char| if letter.is_alphanumeric() { letter } else { '_' };
            let mut better: String = name.chars().map(letter).collect();
            if better.starts_with(|first: char| first.is_numeric()) {
                better.insert(0, '_');
            }
            match better.trim_matches('_').is_empty() {
                true => return Vec::new(),
                false => format!("`{better}` would be valid"),
            }
        }
        Problem::NotOne { size, .. } if size.dim.as_constant().is_none() => {
            "the rank must not depend on sizes, so only an axis of constant size 1 can be removed".to_owned()
        }
        Problem::Unsolvable { symbol } => format!(
            "the size of some input axis must be `{symbol}`, or a constant multiple of it plus sizes that other axes determine"
        ),
        Problem::NoAxis { rank: 1, .. } => "the only axis is 0, which is also -1".to_owned(),
        Problem::NoAxis { rank: 0, .. } => "a tensor of rank 0 has no axes".to_owned(),
        Problem::NoAxis { rank, .. } => {
            format!("valid axes are 0 to {}, or -{rank} to -1 from the end", rank - 1)
        }
        Problem::NotPermutation { rank, .. } => {
            let axes: Vec<String> = (0..*rank).map(|axis| axis.to_string()).collect();
            format!("the axes are {}", axes.join(", "))
        }
        Problem::RepeatedAxis { axis } => {
            let rank = diagnostic.operands.first().map_or(0, |operand| operand.dims.len());
            let from_end = rank.saturating_sub(*axis);
            format!("{axis} and -{from_end} are the same axis")
        }
        Problem::TwoInferred => {
            "the number of elements determines only one size: write all the others".to_owned()
        }
        Problem::ZeroStep => {
            "a step of 1 takes every element, 2 takes every other one, -1 takes every element in reverse"
                .to_owned()
        }
        Problem::Outside { requirement: Requirement::SliceStart | Requirement::SliceStop, .. } => {
            "a slice is not truncated at the ends of the axis; leave out a bound to slice to the end"
                .to_owned()
        }
        Problem::Outside { requirement: Requirement::IndexStart | Requirement::IndexStop, axis, .. } => {
            let size = diagnostic.operands.first().and_then(|operand| operand.dims.get(*axis));
            match size.and_then(|size| size.dim.as_constant()).filter(|size| *size > 0) {
                Some(size) => format!("valid indices are 0 to {}, or -{size} to -1 from the end", size - 1),
                None => return Vec::new(),
            }
        }
        Problem::EmptyReduction { .. } => {
            "only sums, products, counts, `any` and `all` are defined for zero elements".to_owned()
        }
        Problem::TopKCount { .. } => {
            let most = crate::graph::MAX_TOPK;
            format!("k is 1 to {most}; for more elements, use `sort` or `argsort` and slice the result")
        }
        Problem::TooFewElements { axis, .. } => {
            let size = diagnostic.operands.first().and_then(|operand| operand.dims.get(*axis));
            let Some(size) = size else { return Vec::new() };
            match size.dim.as_constant() {
                Some(size) => format!("the axis has {size} elements: ask for at most {size}"),
                None => format!("the axis has {} elements, which is too few for every size: ask for fewer", quoted(size)),
            }
        }
        Problem::RankTooSmall { .. } => {
            "broadcasting never removes axes: use `squeeze`, `index` or a reduction"
                .to_owned()
        }
        Problem::CarriedShape { before, after, .. } if before.len() < after.len() => {
            "a loop carries arrays of one shape: begin with one of the shape that the step gives, such as zeros".to_owned()
        }
        Problem::CarriedShape { .. } => "a loop carries arrays of one shape".to_owned(),
        Problem::CarriedDType { before, after, .. } => format!(
            "a loop carries values of one dtype: begin with {after}, or convert what the step gives to {before}"
        ),
        Problem::DecidedInput { .. } => {
            "sizes of inputs are known before a run: declare this one by a name of its own, and `rebind` it where it meets the other"
                .to_owned()
        }
        Problem::DecidedInStep => {
            "arrays have one size in all steps: select after the loop, or replace elements, `where(mask, x, 0)`"
                .to_owned()
        }
        Problem::OutsideLoop { .. } => {
            "take the value after the last step from the results of the loop, or stack the values of all steps".to_owned()
        }
        Problem::NotOfInput => {
            "in `reshape`, write -1 for a size to infer; declare a size that may be 1 in the shape of an input"
                .to_owned()
        }
        Problem::ImpossibleFact { .. } => {
            "a size is at least 0, and every earlier statement still holds".to_owned()
        }
        Problem::LiteralDoesNotFit { dtype, literal } => match (limits(*dtype), literal) {
            (Some([least, greatest]), Literal::Int(_)) => format!(
                "a literal takes the dtype of the tensor beside it, and {dtype} holds {least} to {greatest}"
            ),
            _ => format!("a literal takes the dtype of the tensor beside it, here {dtype}"),
        },
        Problem::Outside { requirement: Requirement::SliceOrder, .. } => {
            "a slice includes its start and excludes its end".to_owned()
        }
        Problem::OtherKind { value, target } => {
            format!("the value is {value}, but the target holds {target}")
        }
        Problem::ForeignSymbol => "create a symbol with that name in this graph".to_owned(),
        Problem::ForeignTensor { there: Some(_), .. } => {
            "all tensors in an expression must come from one graph".to_owned()
        }
        Problem::ForeignTensor { there: None, .. } => {
            "dropping a `Graph` frees its tensors: keep the graph alive while you use them".to_owned()
        }
        Problem::NoOutputs => {
            "name what to compute, as in `g.compile([(\"y\", y)])`, or assign to an input".to_owned()
        }
        Problem::Placement { because: Misplaced::EqualRanks, .. } => {
            "operands of equal rank can be placed only at axis 0 or -1".to_owned()
        }
        Problem::Placement { because: Misplaced::NoAxis, .. } => {
            "axes count from 0; the only negative value is -1, which means the last axes".to_owned()
        }
        Problem::Placement { because: Misplaced::TooLong, .. } => {
            "only axes of constant size 1 may extend past the last axis: they are dropped".to_owned()
        }
        Problem::Pointwise { is_harmless: false, .. } => {
            let first =
                diagnostic.operands.first().map(|operand| operand.dims.as_slice()).unwrap_or_default();
            format!("before torch 0.2, this computed element by element and gave {first:?}")
        }
        Problem::Pointwise { is_harmless: true, .. } => {
            "the result has the same number, so this still computes element by element".to_owned()
        }
        Problem::Wraps { of: Wrapped::Difference, .. } => {
            "differences of unsigned integers are never negative".to_owned()
        }
        Problem::Wraps { of: Wrapped::Negation, .. } => "unsigned integers are never negative".to_owned(),
        Problem::Wraps { .. } => "NumPy computes in the dtype of the operands too".to_owned(),
        Problem::Misaligned { .. } => {
            "shapes are aligned at the last axis; it fits only because sizes are equal".to_owned()
        }
        _ => return Vec::new(),
    };
    vec![reason]
}

/// Returns the least and the greatest integer of a dtype.
pub(super) fn limits(dtype: DType) -> Option<[Scalar; 2]> {
    // The conversion of a number beyond all integers gives the nearest integer.
    (dtype.class() == Class::Int).then(|| [f64::MIN, f64::MAX].map(|bound| Scalar::F64(bound).cast(dtype)))
}

/// Names the axes beside the clashing ones that do stretch, so that readers do not suspect them.
fn stretched(diagnostic: &Diagnostic, conflicts: &[Conflict]) -> Option<String> {
    let operands = &diagnostic.operands;
    let rank = operands.iter().map(|operand| operand.dims.len()).max()?;
    let fine = |axis: &usize| {
        let size = |operand: &Operand| {
            operand.dims.get(own_axis(operand, *axis, rank)?).map(|size| size.dim.is_one())
        };
        let sizes: Option<Vec<bool>> = operands.iter().map(size).collect();
        sizes.is_some_and(|ones| ones.contains(&true)) && !conflicts.iter().any(|clash| clash.axis == *axis)
    };
    let fine: Vec<String> = (0..rank).filter(fine).map(|axis| axis.to_string()).collect();
    match fine.split_last()? {
        (last, []) => Some(format!("axis {last} is fine: a 1 stretches to the other size")),
        (last, others) => {
            Some(format!("axes {} and {last} are fine: a 1 stretches to the other size", others.join(", ")))
        }
    }
}
