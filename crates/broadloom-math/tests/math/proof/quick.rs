//! True values of f64 functions as sums of two f64, where these are far from the ends of the format.

use crate::proof::pair::{LN2, LN10, PI, Pair, product, sum};
use broadloom_math::Function;

/// The value to about 2^-85 of itself, or of the largest term of a sum; none where that is not known.
pub fn value(function: Function, x: f64, y: f64) -> Option<Pair> {
    let middling = |x: f64| (1e-250..1e250).contains(&x.abs());
    if !middling(x) || function.arity() == 2 && !middling(y) {
        return None;
    }
    let value = unguarded(function, x, y)?;
    (middling(value.hi) && value.lo.is_finite()).then_some(value)
}

fn unguarded(function: Function, x: f64, y: f64) -> Option<Pair> {
    let (a, b) = (Pair::from(x), Pair::from(y));
    let one = Pair::from(1.0);
    let above = |bound: f64| x > bound;
    let within = |bound: f64| x.abs() < bound;
    Some(match function {
        Function::Exp if within(570.0) => a.exp(),
        Function::Exp2 if within(570.0) => (LN2 * x).exp(),
        Function::Expm1 if within(570.0) => a.exp_m1(),
        Function::Log if above(0.0) => a.ln(),
        Function::Log2 if above(0.0) => a.ln() / LN2,
        Function::Log10 if above(0.0) => a.ln() / LN10,
        Function::Log1p if above(-1.0) => a.ln_1p(),
        Function::Sin if within(1e6) => a.sin_cos().0,
        Function::Cos if within(1e6) => a.sin_cos().1,
        Function::Tan if within(1e6) => {
            let (sin, cos) = a.sin_cos();
            sin / cos
        }
        Function::Asin if within(1.0) => a.atan2(other_leg(a)),
        Function::Acos if within(1.0) => other_leg(a).atan2(a),
        Function::Atan if squarable(x) => a.atan2(one),
        Function::Atan2 if squarable(x) && squarable(y) => a.atan2(b),
        Function::Sinh if within(570.0) => {
            let e = a.abs().exp_m1();
            with_sign(x, (e + e / (e + 1.0)) * 0.5)
        }
        Function::Cosh if within(570.0) => {
            let e = a.exp();
            (e + one / e) * 0.5
        }
        Function::Tanh if within(30.0) => {
            let e = (a + a).exp_m1();
            e / (e + 2.0)
        }
        Function::Asinh if squarable(x) => {
            let size = a.abs();
            let square = size * size;
            with_sign(x, (size + square / ((square + 1.0).sqrt() + 1.0)).ln_1p())
        }
        Function::Acosh if above(1.0) && squarable(x) => {
            let t = a - 1.0;
            (t + (t * t + t + t).sqrt()).ln_1p()
        }
        Function::Atanh if within(1.0) => {
            let size = a.abs();
            with_sign(x, ((size + size) / (one - size)).ln_1p() * 0.5)
        }
        Function::Hypot if squarable(x) && squarable(y) => (product(x, x) + product(y, y)).sqrt(),
        Function::Pow if above(0.0) && (y * x.ln()).abs() < 570.0 => (a.ln() * y).exp(),
        Function::Cbrt => a.cbrt(),
        Function::Erf if within(6.0) => a.erf(),
        Function::Erfc if within(16.0) => a.erfc(),
        Function::Sigmoid if within(570.0) => sigmoid(a),
        Function::Silu if within(570.0) => a * sigmoid(a),
        Function::Softplus if within(570.0) => Pair::from(-x.abs()).exp().ln_1p() + x.max(0.0),
        Function::Logaddexp if (x - y).abs() < 300.0 => {
            let (larger, smaller) = if x > y { (x, y) } else { (y, x) };
            sum(smaller, -larger).exp().ln_1p() + larger
        }
        Function::Gelu if within(20.0) => (-a / Pair::from(2.0).sqrt()).erfc() * a * 0.5,
        Function::GeluTanh if within(20.0) => {
            let cubic = Pair::from(44715.0) / 1e6;
            let v = (a + cubic * a * a * a) * (Pair::from(8.0) / PI).sqrt();
            if v.hi.abs() > 300.0 {
                return None;
            }
            a * sigmoid(v)
        }
        _ => return None,
    })
}

/// sqrt(1 - a^2).
fn other_leg(a: Pair) -> Pair {
    ((Pair::from(1.0) - a) * (a + 1.0)).sqrt()
}

fn sigmoid(x: Pair) -> Pair {
    Pair::from(1.0) / ((-x).exp() + 1.0)
}

fn with_sign(x: f64, size: Pair) -> Pair {
    if x < 0.0 { -size } else { size }
}

/// Whether squares and products of such numbers stay within the format, to the last of a pair's bits.
fn squarable(x: f64) -> bool {
    (1e-100..1e100).contains(&x.abs())
}
