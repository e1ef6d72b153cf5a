//! NumPy's order of positional arguments, where it differs from that of the language, which is torch's: `sum(x, 0, True)`
//! keeps the axis, and NumPy's `sum(x, 0, float32, None, True)` has two arguments before that.

use super::{Function, Recurrence, Sampled, Selected, bare};

/// The argument of NumPy's for a result that is written in place.
pub(crate) const OUT: &str = "out";

const POSITIONS: &[(&[&str], &[&str])] = &[
    (&["sum", "prod", "nansum", "nanprod"], FOLD),
    (&["add.reduce", "multiply.reduce", "minimum.reduce", "maximum.reduce"], FOLD),
    (&["logical_and.reduce", "logical_or.reduce"], FOLD),
    (&["mean", "nanmean"], &["x", "axis", "dtype", OUT, "keepdims"]),
    (&["min", "max", "nanmin", "nanmax"], &["x", "axis", OUT, "keepdims", "initial", "where"]),
    (&["any", "all", "ptp"], &["x", "axis", OUT, "keepdims"]),
    (&["argmin", "argmax", "nanargmin", "nanargmax"], &["x", "axis", OUT]),
    (&["var", "std", "nanvar", "nanstd"], &["x", "axis", "dtype", OUT, "correction", "keepdims"]),
    (&["median", "nanmedian"], &["x", "axis", OUT, "overwrite_input", "keepdims"]),
    (
        &["quantile", "nanquantile", "percentile", "nanpercentile"],
        &["x", "q", "axis", OUT, "overwrite_input", "method", "keepdims"],
    ),
    (&["cumsum", "cumprod", "nancumsum", "nancumprod"], RUNNING),
    (&["add.accumulate", "multiply.accumulate", "minimum.accumulate", "maximum.accumulate"], RUNNING),
    (&["take"], &["x", "indices", "axis", OUT]),
    (&["concat"], &["arrays", "axis", OUT]),
];

const FOLD: &[&str] = &["x", "axis", "dtype", OUT, "keepdims", "initial", "where"];
const RUNNING: &[&str] = &["x", "axis", "dtype", OUT];

/// Returns NumPy's order of the parameters of a function, if it has one of its own. Functions that compute element by element and
/// products take `out` after their operands.
pub(crate) fn numpy_order(
    function: Function,
    own: &str,
    parameters: &[&'static str],
) -> Option<Vec<&'static str>> {
    let listed = POSITIONS.iter().find(|(names, _)| names.contains(&own));
    let with_out = || {
        let operands = parameters.iter().copied().filter(|parameter| !parameter.contains('='));
        operands.map(bare).filter(|parameter| *parameter != "axis").chain([OUT]).collect()
    };
    match function {
        _ if let Some((_, order)) = listed => Some(order.to_vec()),
        Function::Elementwise(_) | Function::Composed(_) | Function::Product(_) => Some(with_out()),
        _ => None,
    }
}

/// Returns the parameters of a function as a method, of which the receiver is the first: NumPy's `x.compress(condition)` has
/// another order. `None` if the data is not the first argument, so that the method would be read in two ways.
pub(crate) fn of_method(function: Function, parameters: &[&'static str]) -> Option<Vec<&'static str>> {
    match function {
        Function::Selected(Selected::Compress) => Some(vec!["x", "condition", "axis?"]),
        Function::Select
        | Function::Selected(Selected::Extract)
        | Function::Sampled(Sampled::Polyval)
        | Function::Recurrence(Recurrence::Filter | Recurrence::Linear) => None,
        _ => Some(parameters.to_vec()),
    }
}
