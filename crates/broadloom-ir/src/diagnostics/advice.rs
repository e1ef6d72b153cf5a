//! Suggestions where no sizes clash: another dtype, a fact about a symbol, or another method.

use super::headline::quoted;
use super::{Certainty, Help, Made, Operand, Problem, Size};
use crate::dtype::DType;
use crate::graph::{Graph, Mistake, wider};
use crate::ids::ExprId;
use crate::literal::Literal;
use crate::ops::Op;

/// Adds suggestions for a mistake.
pub(super) fn offer(
    graph: &Graph,
    mistake: &Mistake,
    op: &str,
    described: &[Operand],
    helps: &mut Vec<Help>,
) {
    let Mistake { problem, operands, .. } = mistake;
    convert(graph, problem, op, operands, described, helps);
    state(problem, op, described, helps);
    assign_otherwise(problem, op, described, helps);
    join(problem, op, described, helps);
    // The user wrote no op here: the literal stands on its own.
    if let (Problem::LiteralDoesNotFit { literal, dtype }, None) = (problem, &mistake.op) {
        helps.extend(widen(*literal, *dtype));
    }
}

/// Returns a change that is right under an assumption that the shapes do not show.
pub(super) fn assuming(text: impl Into<Box<str>>, code: Option<String>) -> Help {
    Help { assumes: true, ..certain(text, code) }
}

pub(super) fn certain(text: impl Into<Box<str>>, code: Option<String>) -> Help {
    Help { text: text.into(), code: code.map(Into::into), result: None, assumes: false }
}

/// Returns a suggestion for a literal that the dtype beside it cannot hold.
fn widen(literal: Literal, dtype: DType) -> Option<Help> {
    let fits = |wide: &&DType| wide.class() == dtype.class() && literal.to_scalar(**wide).is_some();
    let wide = DType::ALL.iter().filter(fits).min_by_key(|wide| wide.size())?;
    let text = format!("to compute in {wide}, convert the tensor first:");
    Some(certain(text, Some(format!(".cast::<{wide}>()"))))
}

/// Suggests another dtype, or an op that bool supports.
fn convert(
    graph: &Graph,
    problem: &Problem,
    op: &str,
    operands: &[ExprId],
    described: &[Operand],
    helps: &mut Vec<Help>,
) {
    let mut cast = |operand: usize, to: DType, text: &str| {
        if let Some(operand) = described.get(operand) {
            helps.push(certain(text, Some(format!("{}.cast::<{to}>()", operand.name))));
        }
    };
    match problem {
        Problem::ConditionNotBool { .. } => cast(0, DType::Bool, "to test for values other than 0:"),
        Problem::IndicesNotInteger { .. } => cast(1, DType::I64, "to round toward zero:"),
        Problem::NegativeExponent { exponent, .. } => {
            if let [base] = described {
                let code = format!("{}.cast::<f64>().pow({exponent})", base.name);
                helps.push(certain("to compute in f64:", Some(code)));
            }
        }
        Problem::NotDerivable { dtype } => {
            if let Some(at) = operands.iter().position(|&operand| graph.dtype(operand) == *dtype) {
                cast(at, DType::F64, "to compute with floats from here on:");
            }
        }
        Problem::NotDefined { .. } => {
            let mut dtypes: Vec<DType> = operands.iter().map(|&operand| graph.dtype(operand)).collect();
            if let ("subtract", [DType::Bool, DType::Bool], [left, right]) = (op, &*dtypes, described) {
                let code = format!("{} ^ {}", left.name, right.name);
                helps.push(certain("to find where they differ:", Some(code)));
            }
            if let Some(sign) = sign_of_truths(op)
                && dtypes.iter().any(|dtype| dtype.is_float())
            {
                let truths = described.iter().zip(&dtypes).map(|(operand, dtype)| match dtype.is_float() {
                    true => format!("{}.cast::<bool>()", operand.name),
                    false => operand.name.to_string(),
                });
                let truths: Vec<String> = truths.collect();
                let code = match truths.as_slice() {
                    [only] => format!("{sign}{only}"),
                    several => several.join(&format!(" {sign} ")),
                };
                helps.push(certain("to combine conditions, such as whether values are not 0:", Some(code)));
            }
            if let ("negative", [DType::Bool], [operand]) = (op, &*dtypes, described) {
                helps.push(certain("to swap true and false:", Some(format!("!{}", operand.name))));
            }
            if let ("bitwise_xor", [left, right]) = (op, described)
                && Op::Pow.operand_dtype(&dtypes).is_some()
            {
                let code = format!("{}.pow({})", left.name, right.name);
                helps.push(certain("to raise to a power:", Some(code)));
            }
            let Some(boolean) = dtypes.iter().position(|dtype| *dtype == DType::Bool) else { return };
            dtypes[boolean] = DType::I64;
            if Op::from_name(op).is_some_and(|op| op.operand_dtype(&dtypes).is_some())
                && let Some(operand) = described.get(boolean)
            {
                let code = format!("{}.cast::<i64>()", operand.name);
                helps.push(certain("to count true as 1:", Some(code)));
            }
        }
        _ => {}
    }
}

/// Returns the operator of an op that combines conditions, and that people try on numbers.
fn sign_of_truths(op: &str) -> Option<&'static str> {
    Some(match op {
        "bitwise_and" => "&",
        "bitwise_or" => "|",
        "bitwise_invert" => "!",
        _ => return None,
    })
}

/// Suggests a fact about a symbol, or another place for it.
fn state(problem: &Problem, op: &str, operands: &[Operand], helps: &mut Vec<Help>) {
    let help = match (problem, operands) {
        (Problem::Indivisible { multiple: Some((name, k)), .. }, _) => assuming(
            format!("if it always is, state that where `{name}` is made:"),
            Some(format!("g.symbol({name:?}).multiple_of({k})")),
        ),
        (Problem::NotOne { axis, size }, [operand]) if size.dim.as_constant().is_none() => {
            let dims = operand.dims.iter().enumerate();
            let dims: Vec<String> =
                dims.map(|(own, _)| if own == *axis { "1" } else { "_" }.to_owned()).collect();
            let code = format!("{}.rebind(shape![{}]).squeeze({axis})", operand.name, dims.join(", "));
            assuming("if it is always 1, state that, and each call checks it:", Some(code))
        }
        (Problem::NotOne { .. }, [operand]) => {
            let ones = operand.dims.iter().enumerate().filter(|(_, size)| size.dim.is_one());
            let [axis] = ones.map(|(axis, _)| axis).collect::<Vec<_>>()[..] else { return };
            let code = format!("{}.squeeze({axis})", operand.name);
            certain(format!("the axis of size 1 is axis {axis}:"), Some(code))
        }
        (Problem::LateFact { name, .. }, _) => match op {
            "declare_equal" => assuming(
                format!("declare it right after making the symbols, before you use `{name}` in a shape"),
                None,
            ),
            op => {
                let bounds = if op == "range" { ".." } else { "k" };
                let code = format!("let {name} = g.symbol({name:?}).{op}({bounds});");
                assuming("state it where you make the symbol:", Some(code))
            }
        },
        (Problem::Unsolvable { symbol }, _) => {
            let code = format!("g.parameter({symbol:?})");
            assuming("to pass it by name with each call, make it a parameter:", Some(code))
        }
        (Problem::Undecided { sizes, .. }, _) if sizes.iter().any(|size| size.text().contains('?')) => {
            assuming("replace at least one `_` with a size", None)
        }
        (Problem::DuplicateInput { .. }, _) => certain("rename one of the two", None),
        (Problem::Wraps { dtype, .. }, _) => {
            certain(format!("convert the operands first, for example to {}", wider(*dtype)), None)
        }
        _ => return,
    };
    helps.push(help);
}

/// Returns an operand as it is written in an expression.
pub(super) fn spelled(operand: &Operand) -> String {
    match &operand.made {
        Made::Constant(value) => value.to_string(),
        _ => operand.name.to_string(),
    }
}

/// Suggests a method that does not write to the input, or a conversion before the assignment.
fn assign_otherwise(problem: &Problem, op: &str, operands: &[Operand], helps: &mut Vec<Help>) {
    let [target, other, ..] = operands else { return };
    let (target, other) = (&target.name, spelled(other));
    let value = match op {
        "assign" => other.clone(),
        "add_" => format!("{target} + {other}"),
        "subtract_" => format!("{target} - {other}"),
        "multiply_" => format!("{target} * {other}"),
        "divide_" => format!("{target} / {other}"),
        op => format!("{target}.{}({other})", op.trim_end_matches('_')),
    };
    let help = match problem {
        Problem::Grows { .. } => {
            certain("to make a new tensor instead:", Some(format!("let {target} = {value};")))
        }
        Problem::NotInput if op != "assign" => {
            certain("to make a new tensor instead:", Some(format!("let result = {value};")))
        }
        Problem::AssignedTwice { .. } => {
            certain("combine both steps in one expression, and assign that", None)
        }
        Problem::AssignedStretched { .. } => {
            certain("declare that axis without `#`, or assign to a separate input", None)
        }
        // The value of a changed region.
        Problem::OtherKind { target: dtype, .. } if op != "assign" && !op.ends_with('_') => {
            match operands[1].made {
                Made::Input(_) => {
                    certain("to convert it anyway:", Some(format!("{other}.cast::<{dtype}>()")))
                }
                Made::Constant(_) => certain(format!("give a number of that dtype: {dtype}"), None),
                _ => certain(format!("convert the value first, to {dtype}"), None),
            }
        }
        Problem::OtherKind { target: dtype, .. } => {
            let value = if op == "assign" { value } else { format!("({value})") };
            let code = format!("{target}.assign({value}.cast::<{dtype}>())");
            certain("to convert it anyway:", Some(code))
        }
        _ => return,
    };
    helps.push(help);
}

/// Suggests how to make sizes equal that do not stretch.
fn join(problem: &Problem, op: &str, operands: &[Operand], helps: &mut Vec<Help>) {
    if let (Problem::Rank { .. }, "concat", [first, second]) = (problem, op, operands) {
        let (long, short) =
            if first.dims.len() > second.dims.len() { (first, second) } else { (second, first) };
        let is_missing = |axis: &usize| {
            let others = long.dims.iter().enumerate().filter(|(own, _)| own != axis);
            others.map(|(_, size)| size).eq(&short.dims)
        };
        if let [axis] = (0..long.dims.len()).filter(is_missing).collect::<Vec<_>>()[..] {
            let code = format!("{}.unsqueeze({axis})", short.name);
            helps.push(certain(format!("to append it along axis {axis}:"), Some(code)));
        }
    }
    let Problem::Unequal { axis, sizes, certainty, .. } = problem else { return };
    let [left, right] = &**sizes;
    let is_one = |size: &Size| size.dim.is_one();
    let symbol = [(left, right), (right, left)].into_iter().find(|(size, _)| size.dim.as_symbol().is_some());
    if let (Certainty::Sometimes, Some((old, new)), false) = (certainty, symbol, sizes.iter().any(is_one)) {
        let text = format!("if `{old}` is always {}, declare that before using them:", quoted(new));
        helps.push(assuming(text, Some(format!("g.declare_equal({old}, {new})"))));
    }
    let ("concat" | "stack", [first, second]) = (op, operands) else { return };
    let (one, other) = match [left, right].map(is_one) {
        [true, false] => (first, second),
        [false, true] => (second, first),
        _ => return,
    };
    // Two matrices can also be joined along the other axis.
    if one.dims.len() == 2 && op == "concat" {
        let dims: Vec<&str> = (one.dims.iter().zip(&other.dims).enumerate())
            .map(|(own, (size, wanted))| if own == *axis { wanted.text() } else { size.text() })
            .collect();
        let code = format!("{}.broadcast_to(shape![{}])", one.name, dims.join(", "));
        helps.push(certain("to stretch it first:", Some(code)));
    }
}
