//! How a result compares with what was wanted.

use crate::table::Wanted;
use broadloom_ir::dtype::{AnyNumber, DType, Scalar};
use broadloom_ir::interp::Array;
use std::fmt::Write;

/// How a result differs, if it does.
pub fn difference(wanted: &Wanted, got: &Array) -> Option<String> {
    let (dtype, array) = match wanted {
        Wanted::Exact(array) | Wanted::Steps(_, array) => (array.dtype, array),
        Wanted::Within { dtype, values, .. } => (*dtype, values),
        Wanted::Refused => return Some("it is accepted, which NumPy or the rule refuses".into()),
        Wanted::Fails => return Some("it has a result, but the data is a mistake".into()),
    };
    if got.dtype != dtype {
        return Some(format!("{} instead of {dtype}", got.dtype));
    }
    if got.shape != array.shape {
        return Some(format!("shape {:?} instead of {:?}", got.shape, array.shape));
    }
    if got.elements.len() != array.elements.len() {
        return Some(format!("{} elements of shape {:?}", got.elements.len(), got.shape));
    }
    let agrees = |position: usize, want: Scalar, got: Scalar| match wanted {
        Wanted::Steps(most, _) => steps(want, got).is_some_and(|steps| steps <= *most),
        Wanted::Within { distances, .. } => within(want, got, distances[position]),
        Wanted::Exact(_) | Wanted::Refused | Wanted::Fails => want.same(got),
    };
    let pairs = array.elements.iter().copied().zip(got.elements.iter().copied()).enumerate();
    let differing: Vec<_> = pairs.filter(|&(position, (want, got))| !agrees(position, want, got)).collect();
    let mut text = format!("{} of {} elements differ", differing.len(), got.elements.len());
    for (position, (want, got)) in differing.iter().take(3) {
        let _ = write!(text, ", at {position} {got} instead of {want}");
        match wanted {
            Wanted::Steps(most, _) => {
                let _ = write!(text, " ({:?} steps, at most {most})", steps(*want, *got));
            }
            Wanted::Within { distances, .. } => {
                let _ = write!(text, " (within {:e})", distances[*position]);
            }
            Wanted::Exact(_) | Wanted::Refused | Wanted::Fails => {}
        }
    }
    (!differing.is_empty()).then_some(text)
}

/// Steps from one float to another of the same sign; none between NaNs.
fn steps(want: Scalar, got: Scalar) -> Option<u64> {
    if want.is_nan() || got.is_nan() {
        return want.same(got).then_some(0);
    }
    let width = 8 * want.dtype().size() as u32;
    let sign = |value: Scalar| value.bits() >> (width - 1);
    (sign(want) == sign(got)).then(|| want.bits().abs_diff(got.bits()))
}

fn within(want: Scalar, got: Scalar, distance: f64) -> bool {
    let (AnyNumber::Float(wanted), AnyNumber::Float(value)) = (want.number(), got.number()) else {
        return false;
    };
    let same = match got.dtype() {
        DType::F64 => want.same(got),
        // The values are those of f64.
        dtype => want.cast(dtype).same(got),
    };
    same || (wanted - value).abs() <= distance
}
