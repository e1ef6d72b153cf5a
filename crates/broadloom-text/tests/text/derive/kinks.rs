//! The policy where there is no derivative, or none that differences show: docs/derivatives.md. Expected values follow from
//! its rules by hand.

use super::floats;
use crate::support::{graph, mistakes};
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::interp::{Array, interpret};
use broadloom_ir::ops::Op;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A loss of `x`, the elements of `x`, and the derivative.
type Case = (&'static str, &'static [f64], &'static [f64]);

const CASES: &[Case] = &[
    ("sum(abs(x))", &[0.0, -0.0, -2.0, 3.0, -INF], &[0.0, 0.0, -1.0, 1.0, -1.0]),
    ("sum(sign(x) + floor(x) + ceil(x) + round(x) + trunc(x))", &[0.0, 0.5, 2.0], &[0.0; 3]),
    ("sum(where(x < 1, 5.0, 7.0))", &[0.0, 1.0], &[0.0; 2]),
    ("sum(x.astype(i64)) * 1.0 + sum(x)", &[0.0, 1.5], &[1.0; 2]),
    // Norms and their like at 0.
    ("norm(x)", &[0.0, 0.0], &[0.0; 2]),
    ("norm(x)", &[3.0, 4.0], &[0.6, 0.8]),
    ("norm(x, ord=1) + norm(x, ord=inf)", &[0.0, 0.0], &[0.0; 2]),
    ("sqrt(sum(x * x))", &[0.0, 0.0], &[0.0; 2]),
    ("sqrt(sum(square(x)) / 2)", &[0.0, 0.0], &[0.0; 2]),
    ("sqrt(mean(x**2))", &[0.0, 0.0], &[0.0; 2]),
    ("sqrt(sum(array([0.0, 3.0]) * x * x))", &[0.0, 0.0], &[0.0; 2]),
    ("sqrt(sum(array([2.0, 3.0]) * x**2))", &[0.0, 0.0], &[0.0; 2]),
    ("sum(x**2).astype(f32).astype(f64)**0.5", &[0.0, 0.0], &[0.0; 2]),
    ("sum(sqrt(sum(array([2.0, 3.0]) * stack((x, x))**2, axis=1)))", &[0.0, 0.0], &[0.0; 2]),
    ("sum((x * array([0.0, 1.0]))**3)", &[0.0, 2.0], &[0.0, 12.0]),
    ("sqrt(sum(abs(x)**3))", &[0.0, 0.0], &[0.0; 2]),
    ("sum(norm(x[:, None, None] - x[None, :, None], axis=-1))", &[1.0, 1.0, 1.0], &[0.0; 3]),
    ("sum(1 / sqrt(x * x))", &[0.0, 2.0], &[0.0, -0.25]),
    ("sum((1 / norm(x[:, None], axis=1, keepdims=True))[:, 0]**2)", &[0.0, 2.0], &[0.0, -0.25]),
    ("sum(hypot(x, 0 * x))", &[0.0, 2.0, -2.0], &[0.0, 1.0, -1.0]),
    ("std(x)", &[2.0, 2.0], &[0.0; 2]),
    ("sum(atan2(x, 0 * x))", &[0.0, 2.0], &[0.0, 0.0]),
    // Plain roots and logarithms.
    ("sum(sqrt(x))", &[0.0, 4.0, -1.0], &[INF, 0.25, NAN]),
    ("sum(rsqrt(x))", &[0.0, 4.0], &[-INF, -0.0625]),
    ("sum(cbrt(x))", &[0.0, 8.0], &[INF, 1.0 / 12.0]),
    ("sum(log(x))", &[0.0, 2.0, -1.0], &[INF, 0.5, NAN]),
    ("sum(log2(x) * 0.6931471805599453)", &[2.0, -1.0], &[0.5, NAN]),
    ("sum(log1p(x))", &[-1.0, 1.0, -2.0], &[INF, 0.5, NAN]),
    ("sum(asin(x))", &[1.0, 0.0, 2.0], &[INF, 1.0, NAN]),
    ("sum(acosh(x))", &[1.0, 0.0, -2.0], &[INF, NAN, NAN]),
    ("sum(atanh(x))", &[1.0, 0.0, 2.0, -2.0], &[INF, 1.0, NAN, NAN]),
    // Ties.
    ("sum(maximum(x, x[::-1]))", &[1.0, 1.0], &[1.0; 2]),
    ("sum(maximum(x, array([1.0, 1.0, 0.0])))", &[1.0, 2.0, -1.0], &[0.5, 1.0, 0.0]),
    ("sum(maximum(x, 1) + minimum(x, 1))", &[1.0, 2.0, 0.0], &[0.0, 1.0, 1.0]),
    ("sum(relu(x))", &[0.0, 1.0, -1.0], &[0.0, 1.0, 0.0]),
    ("sum(clip(x, 0, 1))", &[0.0, 0.5, 1.0, 2.0], &[0.0, 1.0, 0.0, 0.0]),
    ("sum(clip(x, 0, inf) + maximum(x, 0) - 2 * relu(x))", &[0.0, 0.5, -1.0], &[0.0; 3]),
    ("sum(maximum(x, 0 * x + 1))", &[1.0, 2.0], &[0.5, 1.0]),
    ("sum(fmax(x, nan))", &[1.0, NAN], &[1.0, 0.0]),
    ("max(x)", &[1.0, 3.0, 3.0], &[0.0, 0.5, 0.5]),
    ("min(x)", &[3.0, 3.0, 3.0, 3.0], &[0.25; 4]),
    ("max(x.reshape(2, 2))", &[3.0, 1.0, 3.0, 3.0], &[1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0]),
    ("max(x)", &[1.0, NAN], &[0.0, NAN]),
    ("sum(segment_max(x, array([0, 0, 1]), 2))", &[3.0, 3.0, 1.0], &[0.5, 0.5, 1.0]),
    ("sum(cummax(x))", &[1.0, 1.0, 0.0], &[3.0, 0.0, 0.0]),
    ("sum(topk(x, 1))", &[2.0, 2.0, 1.0], &[1.0, 0.0, 0.0]),
    ("sum(sort(x)[:1])", &[2.0, 1.0, 1.0], &[0.0, 1.0, 0.0]),
    ("median(x)", &[2.0, 1.0, 4.0, 3.0], &[0.5, 0.0, 0.0, 0.5]),
    ("median(x)", &[2.0, 1.0, 4.0], &[1.0, 0.0, 0.0]),
    // Powers.
    ("sum(x**0)", &[0.0, 2.0], &[0.0; 2]),
    ("sum(x**array([0.0, 0.0]))", &[0.0, 2.0], &[0.0; 2]),
    ("sum(x**3)", &[0.0, -2.0], &[0.0, 12.0]),
    ("sum(0.0**x)", &[0.0, 2.0], &[0.0; 2]),
    ("sum(x**0.5)", &[0.0, 4.0], &[INF, 0.25]),
    // Products with zeros.
    ("prod(x)", &[0.0, 2.0, 3.0], &[6.0, 0.0, 0.0]),
    ("prod(x)", &[0.0, 0.0, 3.0], &[0.0; 3]),
    ("prod(x)", &[1e200, 1e200, 1e-300], &[1e-100, 1e-100, INF]),
    ("prod(x)", &[INF, 2.0, 3.0], &[6.0, INF, INF]),
    ("sum(grad(prod(x), x))", &[0.0, 3.0, 2.0], &[5.0, 2.0, 3.0]),
    ("sum(prod(x.reshape(2, 2), axis=(0, 1)))", &[2.0, 3.0, 5.0, 0.0], &[0.0, 0.0, 0.0, 30.0]),
    ("sum(grad(sum(cumprod(x)), x)**2)", &[2.0, 0.0, 3.0], &[64.0, 8.0, 32.0]),
    ("sum(jvp(jvp(cumprod(x), x, ones(4)), x, ones(4)))", &[2.0, 0.0, 0.0, 5.0], &[12.0, 16.0, 16.0, 4.0]),
    ("sum(grad(prod(x), x)**2)", &[0.0, 0.0, 3.0], &[0.0; 3]),
    ("sum(grad(sum(grad(prod(x), x)), x))", &[0.0, 0.0, 3.0], &[2.0; 3]),
    ("sum(modf(x)[0])", &[0.0, 2.0, -1.5, -3.0, INF], &[1.0, 1.0, 1.0, 1.0, 0.0]),
    ("sum(cumprod(x))", &[2.0, 0.0, 3.0, 5.0], &[1.0, 2.0 + 6.0 + 30.0, 0.0, 0.0]),
    ("sum(cumprod(x))", &[2.0, 0.0, 3.0, 0.0], &[1.0, 2.0 + 6.0, 0.0, 0.0]),
    ("sum(array([1.0, 1.0]).at[array([0, 0, 1])].multiply(x))", &[0.0, 2.0, 3.0], &[2.0, 0.0, 1.0]),
    // Infinite values.
    ("logsumexp(x)", &[-INF, -INF], &[0.0; 2]),
    ("logsumexp(x)", &[-INF, 0.0], &[0.0, 1.0]),
    ("log(sum(exp(x)))", &[-INF, -INF], &[0.0; 2]),
    ("sum(softmax(x) * array([1.0, 2.0]))", &[-INF, 0.0], &[0.0; 2]),
    ("sum(logaddexp(x, x[::-1]))", &[-INF, -INF], &[1.0; 2]),
    ("sum(logaddexp(x, 0))", &[-INF, INF, 0.0], &[0.0, 1.0, 0.5]),
    ("sum(sigmoid(x) + tanh(x) + erf(x) + atan(x))", &[-INF, INF], &[0.0; 2]),
    ("sum(softplus(x))", &[-INF, INF, 0.0], &[0.0, 1.0, 0.5]),
    // A zero below a root or a logarithm that is not at 0 derives as anywhere.
    ("sum(grad(sum(log(1 + x * x)), x))", &[0.0, 1.0], &[2.0, 0.0]),
    ("sum(grad(sum(sqrt(1 + x**2)), x))", &[0.0], &[1.0]),
    ("sum(grad(sum(rsqrt(1 + x * x)), x))", &[0.0], &[-1.0]),
    ("sum(grad(sum(log(cosh(x))), x))", &[0.0], &[1.0]),
    ("sum(jvp(log(1 + x * x), x, x * 0 + 1))", &[0.0], &[2.0]),
    ("sum(grad(sum(logaddexp(x, 0)), x))", &[0.0], &[0.25]),
    (
        "sum(grad(std(x), x)[1:2])",
        &[1.0, 2.0, 3.0],
        &[-0.136_082_763_487_954_3, 0.272_165_526_975_908_7, -0.136_082_763_487_954_3],
    ),
    ("sqrt(1 - exp(-sum(x**2)))", &[0.0, 0.0], &[0.0; 2]),
    ("sum(sqrt(x * x - 1))", &[0.0], &[NAN]),
    ("sum(segment_max(x, array([0, 1, 1]), 2))", &[1.0, NAN, 2.0], &[1.0, NAN, 0.0]),
    ("max(x.reshape(2, 2), axis=1)[0]", &[1.0, 2.0, NAN, 1.0], &[0.0, 1.0, 0.0, 0.0]),
    ("sum(fmod(1.0, x))", &[0.1], &[-9.0]),
    // Nothing to derive by.
    ("sum(x[:0])", &[1.0], &[0.0]),
    ("sum(stop_gradient(x) * x)", &[3.0], &[3.0]),
    ("sum(with_gradient(round(x), x) * 2)", &[1.7], &[2.0]),
    ("sum(x) * 0 + sum(ones(3))", &[1.0], &[0.0]),
    ("sum(ndtr(x))", &[0.0, 8.0], &[0.398_942_280_401_432_7, 5.052_271_083_536_893e-15]),
    ("sum(sinc(x))", &[0.0, 1.0, 1e-9], &[0.0, -1.0, -3.289_868_133_696_453e-9]),
];

fn slopes(loss: &str, x: &[f64]) -> Vec<f64> {
    let text = format!("input x: f64[{}]\noutput slopes = grad({loss}, x)\n", x.len());
    let results = interpret(&graph(&text), &[Array::new(&[x.len()], x)], true);
    floats(&results.unwrap_or_else(|error| panic!("{loss}: {error}"))[0])
}

fn agree(have: f64, want: f64) -> bool {
    have == want || have.is_nan() && want.is_nan() || (have - want).abs() <= 4.0 * f64::EPSILON * want.abs()
}

#[test]
fn where_there_is_no_derivative() {
    let mut wrong = String::new();
    for (loss, x, want) in CASES {
        let have = slopes(loss, x);
        if have.len() != want.len() || !have.iter().zip(*want).all(|(have, want)| agree(*have, *want)) {
            wrong.push_str(&format!("\n{loss} at {x:?}: have {have:?}, want {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Forward mode follows the same policy: along each axis it gives the same derivative, where that is finite.
#[test]
fn both_directions_agree_at_kinks() {
    let mut wrong = String::new();
    for (loss, x, want) in CASES.iter().filter(|(_, _, want)| want.iter().all(|slope| slope.is_finite())) {
        let text = format!(
            "input x: f64[{}]\ninput d: f64[{}]\noutput slope = jvp({loss}, x, d)\n",
            x.len(),
            x.len()
        );
        let graph = graph(&text);
        for (at, want) in want.iter().enumerate() {
            let mut direction = vec![0.0; x.len()];
            direction[at] = 1.0;
            let arrays = [Array::new(&[x.len()], x), Array::new(&[x.len()], &direction)];
            let have = floats(&interpret(&graph, &arrays, true).expect("it runs")[0])[0];
            if !agree(have, *want) {
                wrong.push_str(&format!("\n{loss} at {x:?} along {at}: have {have}, want {want}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn mistakes_of_derivatives() {
    for (output, message) in [
        ("grad(x * x, x)", "error[S016]: `grad` needs a loss without axes: take its `sum()` or `mean()`"),
        ("grad(sum(i), x)", "error[T006]: `grad` differentiates floats with respect to floats, not i64"),
        ("grad(sum(x), i)", "error[T006]: `grad` differentiates floats with respect to floats, not i64"),
        ("grad(sum(x > 0), x)", "error[T006]: `grad` differentiates floats with respect to floats, not i64"),
        ("jvp(x, i, x)", "error[T006]: `jvp` differentiates floats with respect to floats, not i64"),
        ("vjp(x, x, y)", "error[S001]"),
        ("jvp(x, x, y)", "error[S001]"),
        ("jvp(x, (x, y), x)", "takes one tangent for each tensor"),
        ("grad(sum(x), ())", "needs a tensor by which to derive"),
        ("grad(sum(x))", "`grad` needs `by`"),
        ("grad(sum(o), o)", "cannot derive by an input with axes that may be 1"),
    ] {
        let text = format!(
            "input x: f64[4]\ninput y: f64[5]\ninput i: i64[4]\ninput o: f64[#n]\noutput g = {output}\n"
        );
        let found = mistakes(&text);
        assert!(found.contains(message), "{output}: {found}");
        assert_eq!(found.matches("error[").count(), 1, "{output}: {found}");
    }
}

/// Every op of floats, on every dtype, at corners: forward and reverse mode agree.
#[test]
fn both_directions_agree_for_every_op() {
    const CORNERS: [f64; 11] = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -30.0, INF, -INF, NAN];
    let mut wrong = String::new();
    let mut ops = 0;
    for op in Op::ALL.iter().filter(|op| op.derivatives().iter().any(|derivative| *derivative != "Undefined"))
    {
        if op.result_dtype(DType::F64) != DType::F64 {
            continue;
        }
        ops += 1;
        let names = &["x", "y", "z"][..op.arity()];
        let count = CORNERS.len().pow(op.arity() as u32);
        for dtype in [DType::F16, DType::Bf16, DType::F32, DType::F64] {
            let mut text = String::new();
            for name in names {
                text.push_str(&format!("input {name}: {dtype}[{count}]\n"));
            }
            let value = format!("{}({})", op.name(), names.join(", "));
            for name in names {
                text.push_str(&format!("output r{name} = grad(sum({value}.astype(f64)), {name})\n"));
                text.push_str(&format!(
                    "output f{name} = jvp({value}, {name}, ones({count}, dtype={dtype}))\n"
                ));
            }
            let graph = graph(&text);
            let arrays: Vec<Array> = (0..op.arity())
                .map(|operand| {
                    let step = CORNERS.len().pow(operand as u32);
                    let values: Vec<Scalar> = (0..count)
                        .map(|at| Scalar::F64(CORNERS[at / step % CORNERS.len()]).cast(dtype))
                        .collect();
                    Array { dtype, shape: vec![count], elements: values }
                })
                .collect();
            let results = interpret(&graph, &arrays, true).expect("it runs");
            for (number, name) in names.iter().enumerate() {
                let [reverse, forward] = [2 * number, 2 * number + 1].map(|at| floats(&results[at]));
                for at in 0..count {
                    let same = reverse[at] == forward[at] || reverse[at].is_nan() && forward[at].is_nan();
                    if !same {
                        let point: Vec<f64> = arrays.iter().map(|array| floats(array)[at]).collect();
                        wrong.push_str(&format!(
                            "\n{value} of {dtype} by {name} at {point:?}: {} and {}",
                            reverse[at], forward[at]
                        ));
                    }
                }
            }
        }
    }
    assert!(ops > 55, "{ops} ops");
    assert!(wrong.is_empty(), "{wrong}");
}
