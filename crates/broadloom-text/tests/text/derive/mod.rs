//! Derivatives against differences of the values, and forward against reverse mode.

mod kinks;
mod trapped;

use crate::support::graph;
use broadloom_ir::dtype::DType;
use broadloom_ir::interp::{Array, interpret};

/// Shapes of the inputs `x`, `y`, `z`, and losses of them. Sizes are symbols: `n` is 4, `m` is 3, `k` is 2.
const CASES: &[(&[&str], &[&str])] = &[
    (
        &["n, m", "n, m"],
        &[
            // Elementwise, with operands that stretch.
            "sum(x * y + x / (y + 3) - 2 * x)",
            "sum(x * y[0] * x[:, 0][:, None] * y.sum())",
            "sum((x[:, None] - y[None])**2 * x.sum())",
            "sum(exp(-norm(x[:, None] - y[None], axis=-1)) * y.sum(-1)[None])",
            "mean(tanh(x) * sigmoid(y))",
            "sum(where(x > 0.1, x * y, y**3))",
            "sum(where(x[0] > 0.1, log(x + 3), y))",
            "sum(maximum(x, y) * minimum(x, 2 * y) + fmax(x, y) - fmin(x, y + 0.1))",
            "sum(clip(x, -0.3, 0.4) + clip(y, x, x + 0.5))",
            "sum(relu(x) * abs(y) + x.astype(f64) * sign(y))",
            "sum(hypot(x, y) + atan2(x, y) + logaddexp(x, y) + logaddexp2(x, y) + copysign(x, y))",
            "sum(remainder(3 * x, y * y + 0.7) + fmod(5 * y, x * x + 0.9) + floor(x) * y)",
            "sum((x + 2)**y + (x + 2)**3 + (y + 2)**-0.5 + x**2 + (x + 2)**0.5)",
            "sum(fma(x, y, x) * square(y))",
            "sum(x * size(x) + len(x))",
            // Reductions.
            "sum(prod(x, axis=1) * y[:, 0]) + prod(y, axis=0).sum()",
            "sum(max(x, axis=1) * min(y, axis=1)) + max(x * y) + ptp(x)",
            "sum(mean(x, axis=0) * y) + mean(y * y)",
            "sum(var(x, axis=1) * y[:, 0]) + std(y) + var(x, correction=1)",
            "sum(sum(x * y, axis=(0, 1), keepdims=True) * x)",
            "sum(logsumexp(x, axis=1) * y[:, 1]) + logsumexp(y)",
            "sum(softmax(x, axis=1) * y) + sum(log_softmax(y, axis=0) * x)",
            "sum(layer_norm(x, scale=y[0], offset=y[1]) * y)",
            "sum(norm(x, axis=1)) + norm(y.ravel(), ord=1) + norm(y.ravel(), ord=inf)",
            "sum(average(x, axis=1, weights=abs(y)))",
            "nansum(x * y) + nanmean(where(y > 0, x, nan)) + nanmax(x + y)",
            "sum(x, where=y > 0) + max(y, where=x > 0, initial=-9.0)",
            "sum(ndtr(x) + sinc(y) + sinc(0.01 * x) + sinc(3 * y) + heaviside(x, 0.5))",
            "sum(median(x, axis=1)) + quantile(y, 0.3) + sum(quantile(x * y, [0.1, 0.8], axis=0)[0])",
            // Products.
            "sum(x @ y.T * 3) + sum((x.T @ y)**2)",
            "sum(einsum('ij,kj->ik', x, y)**2) + dot(x[0], y[1]) + sum(outer(x[0], y[0])**2)",
            "sum(tensordot(x, y, axes=2) * x) + vdot(x, y)",
            "sum(kron(x, y)) + sum(cross(x[:, :3].rebind(n, 3), y[:, :3].rebind(n, 3)))",
            "sum(cov(x) * cov(y)) + sum(corrcoef(x, rowvar=False)[0, 1] * y)",
            // Views.
            "sum(x.T.reshape(-1) * y.ravel()) + sum(x.reshape(m, n) @ y)",
            "sum(x[1:] * y[:-1]) + sum(x[::2] * 3) + sum(x[::-1, 1:] * y[:, :-1]) + sum(y[1, 1:]**2)",
            "sum(x[-1] * y[:, None][0] + expand_dims(x, 0)[0] + squeeze(y[:1]))",
            "sum(broadcast_to(x[0], (n, m)) * y) + sum(x.rebind(4, 3) * y.rebind(4, 3))",
            "sum(roll(x, 1, axis=0) * y) + sum(pad(x, 1)**2) + sum(flip(x) * y) + sum(tile(x, 2)) + sum(repeat(y, 2))",
            "sum(diff(x, axis=0)**2) + sum(gradient(y, axis=0) * x)",
            "trace(x @ y.T) + sum(diagonal(x @ y.T)**2) + sum(tril(x @ y.T)) + sum(triu(y.T @ x)**2)",
            "sum(concat((x, y, x), axis=1)**2) + sum(stack((x, y))[0] * y) + sum(concat((y, x))[2:6] ** 3)",
            "sum(vander(x[0], 3)) + sum(diag(x[0]) @ y.T) + trapezoid(x[:, 0]) + trapezoid(y[:, 0], cumsum(abs(x[:, 1])))",
            // Windows.
            "sum(sliding_window_view(x, 2, axis=0)**2)",
            "sum(sliding_window_view(x, 2, axis=0).mean(-1) * y[1:])",
            "sum(sliding_window_view(x, n - 1, axis=0)**2 * y[:2, :, None])",
            "sum(sliding_window_view(x, n - 1, axis=0).mean(-1) * y[:2])",
            "sum(sliding_window_view(x, (2, 2))**2) + sum(convolve(x[:, 0], y[:, 1]) ** 2)",
            // Lookups, groups and orders.
            "sum(sort(x, axis=1) * y) + sum(sort(y, axis=0, descending=True)**3) + sum(sort(x[:, 0]) * y[:, 0])",
            "sum(x[argmin(y, axis=0)]**2) + max(cumsum(x, axis=0)[:, 0])",
            "interp(0.1 * x, array([-1.0, 0.0, 1.0]), y[:3, 0] + 1).sum() + polyval(array([1.0, -2.0, 3.0]), x).sum()",
            // Scans.
            "sum(cumsum(x, axis=0) * y) + sum(cumsum(y)**2)",
            "sum(cumprod(x, axis=1) * y) + sum(cumprod(y + 2, axis=0)**2)",
            "sum(cummax(x, axis=1) * y) + sum(cummin(x * y, axis=0)**2)",
            "sum(cumsum(x, axis=0, include_initial=True)**2)",
            // Changes.
            "sum(x.at[1:].set(y[1:] * x[:-1])**2) + sum(x.at[:, 0].add(y[:, 1])**2)",
            "sum(x.at[array([0, 2, 0])].set(y[:3])**2) + sum(x.at[array([0, 2, 0])].add(y[:3]**2)**2)",
            "sum(x.at[x > 0].set(y[0, 0])**2) + sum(x.at[::2, ::-1].multiply(y[::2])**2)",
            // Constants for derivatives.
            "sum(stop_gradient(y.astype(f64) * 0 + 1) * x)",
            // Derivatives of derivatives.
            "sum(grad(sum(x**3 * y), x) * y)",
            "sum(grad(sum(softmax(x, axis=1) * y), x)**2)",
            "sum(grad(sum(var(x, axis=1) * y[:, 0]) + std(x * y), x)**2)",
            "sum(grad(sum(layer_norm(x) * y), x)**2)",
            "sum(grad(sum(logsumexp(x @ y.T, axis=1)), (x, y))[1]**2)",
            "sum(jvp(x.T @ y, (x, y), (y, x))**2)",
            "sum(grad(sum(sort(x, axis=1) * y + cumsum(x**2, axis=0)), x)**2)",
        ],
    ),
    (
        &["", "k"],
        &[
            "x * x + sum(sin(x) * y)",
            "exp(x) * prod(y)",
            "x / sum(y) + stack((x, x * x))[1]",
            "sum(x * y * arange(k))",
        ],
    ),
    (
        &["k, n, m", "m, k"],
        &["sum((x @ y)**2)", "sum(einsum('knm,mk->n', x, y)**3)", "sum(sort(x, axis=1) * y.T[:, None])"],
    ),
    (
        &["n"],
        &[
            "sum(asin(x / 2) + acos(x / 2) + atan(x) + atanh(x / 2) + asinh(x) + acosh(x + 3))",
            "sum(sin(x) + cos(x) + tan(x) + sinh(x) + cosh(x) + tanh(x))",
            "sum(exp(x) + exp2(x) + expm1(x) + log(x + 3) + log2(x + 3) + log10(x + 3) + log1p(x + 3))",
            "sum(sqrt(x + 3) + rsqrt(x + 3) + cbrt(x + 3) + reciprocal(x + 3))",
            "sum(erf(x) + erfc(x) + sigmoid(x) + softplus(x) + silu(x) + gelu(x) + gelu_tanh(x))",
            "sum(deg2rad(x) + rad2deg(x) + floor_divide(x, 2) + nextafter(x, x + 1) * 0 + ldexp(x, 2) + float_power(x + 3, 2.5))",
            "sum(x[:0]) + sum(zeros(n) * x) + sum(x[arange(0)])",
        ],
    ),
    (
        &["4, 3", "4, 3"],
        &[
            "sum(sliding_window_view(x, 3, axis=0) * y[:2, :, None] * arange(3)) + sum(unfold(y, 1, 2, 2)**2)",
            "sum(x[array([0, 2, 2, 1])] * y) + sum(take(x, array([-1, 0]), axis=1)**2)",
            "sum(x[arange(4), array([0, 2, 1, 1])] * y[:, 0]) + sum(take_along_axis(y, argsort(x, axis=1), axis=1)**2)",
            "sum(segment_sum(x, array([0, 1, 1, 0]), 3)**2) + sum(segment_mean(y, array([0, 1, 1, 0]), 2)**2)",
            "sum(segment_max(x, array([0, 1, 1, 0]), 2)**2) + sum(segment_min(y, array([1, 1, 1, 0]), 2) * 3)",
            "sum(topk(x, 2, axis=1) * y[:, 1:]) + sum(topk(y[:, 0], 2, largest=False)**2)",
            "sum(grad(norm(x) * var(y) + sum(x[array([0, 2, 2, 1])] * y), (x, y))[0]**2)",
            "sum(x.at[array([0, -2, 0])].add(y[:3])**2 * y) + sum(x.at[array([1, 1, 0])].subtract(y[:3]**2)**3)",
            "sum(x.at[array([0, 1, 0])].divide(y[:3] + 3) * y) + sum(x.at[array([3, 1, 3]), array([0, 0, 0])].minimum(y[:3, 1])**2)",
            "sum(x.at[array([0, 2, 0])].multiply(y[:3]) * x) + sum(x.at[array([0, 2, 0])].maximum(y[:3]) * y)",
        ],
    ),
];

/// Statements, and the loss after the last of them, of the inputs of the first row of [`CASES`].
const LOOPS: &[&str] = &[
    "for t in range(3) with u = x; next u = sin(u) * y + u[::-1]; end; sum(u * y)",
    "for t in range(0) with u = x; next u = sin(u); end; sum(u * y)",
    "for a, b in zip(x, y) with s = x[0] * 0.5; let k = tanh(s * 0.9 + a * b); next s = k; stack e = k * b; end; \
     sum(e * x) + sum(s**2)",
    "for a in x; stack e = a * y; end; sum(e**2)",
    "for t, a in enumerate(x) with s = 0.5; next s = s * 0.5 + sum(a * y[0]) * t; end; s**2",
    "for t in range(3) with u = x @ y.T; next u = tanh(u @ (x @ y.T)) * 0.5; end; sum(u)",
    "for t in range(3) with a = x, b = y; next a = b; next b = a * b + x; end; sum(a * b)",
    "for t in range(3) with u = x; next u = u.at[1:-1].set(0.5 * (u[2:] + u[:-2]) * y[1:-1]); end; sum(u**2)",
    "for i in range(2) with u = x; for j in range(2) with v = u * y; next v = v * 0.7 + u * j; end; next u = v + x; end; sum(u**2)",
    // No inner step reads `w`.
    "for i in range(2) with u = x; for j in range(3) with v = u, w = u * y; next v = v * 0.7 + y; next w = u * j; end; \
     next u = v + w; end; sum(u**2)",
    "for a, b in zip(x.T, y[:, ::-1].T) with s = x[:, 0] * 0; next s = s * b + a; stack e = s; end; sum(e * x.T)",
    "for t in range(2) with u = x, n = 0; next u = where(n > 0, u * y, u + y); next n = n + 1; end; sum(u**3)",
    "for a in x with s = y; next s = y; stack e = s * a; end; sum(e * e) + sum(s)",
    "for t in range(3) with u = x; next u = sin(u) * y; end; sum(grad(sum(u**2), x)**2)",
    "for a in x with s = y[0]; next s = s * a; stack e = s; end; sum(grad(sum(e * e), (x, y))[0] * x)",
    "let e = ewm_mean(x, 0.3) * y; let f = lfilter([1, 2, 0.5], [1, -0.5], x); sum(e**2) + sum(f**2)",
    "sum(linear_recurrence(x, y)**2) + sum(cumulative_logsumexp(x) * y) + sum(drawdown(x + 3) * y)",
    "sum(ewm_var(x, 0.3, bias=True) * y)",
    // Compositions with rules of their own.
    "for t in range(2) with u = x; next u = softmax(u, axis=1) * y + layer_norm(u); end; sum(u**2)",
    "for t in range(3) with u = x; next u = u.at[array([0, 2, 0])].add(y[:3] * u[:3]); end; sum(u**2)",
    "for t in range(2) with u = x; next u = u * segment_sum(u * y, arange(n) % 2, 2)[0]; end; sum(u**2)",
];

/// Numbers without pattern between -1 and 1, no two of them close.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count)
        .map(|at| ((at as f64 * 0.754_877_666 + seed as f64 * 0.569_84 + 0.21) % 1.0) * 2.0 - 1.0)
        .collect()
}

fn sizes(shape: &str) -> Vec<usize> {
    let size = |name: &str| match name.trim() {
        "n" => 4,
        "m" => 3,
        "k" => 2,
        "4" => 4,
        "3" => 3,
        other => panic!("{other}"),
    };
    shape.split(',').filter(|part| !part.is_empty()).map(size).collect()
}

pub(crate) fn floats(array: &Array) -> Vec<f64> {
    let float = |scalar: &broadloom_ir::dtype::Scalar| match scalar.cast(DType::F64) {
        broadloom_ir::dtype::Scalar::F64(value) => value,
        other => panic!("{other:?}"),
    };
    array.elements.iter().map(float).collect()
}

/// The difference quotient of fourth order.
fn slope(value: &mut dyn FnMut(f64) -> f64) -> f64 {
    const STEP: f64 = 1e-3;
    let mut part = |steps: f64| value(steps * STEP);
    (8.0 * (part(1.0) - part(-1.0)) - (part(2.0) - part(-2.0))) / (12.0 * STEP)
}

#[test]
fn derivatives_are_the_limits_of_differences() {
    let mut wrong = String::new();
    let mut count = 0;
    let cases = CASES.iter().flat_map(|(shapes, losses)| losses.iter().map(move |loss| (*shapes, *loss)));
    for (shapes, loss) in cases.chain(LOOPS.iter().map(|loss| (CASES[0].0, *loss))) {
        count += 1;
        let text = std::panic::catch_unwind(|| differs(shapes, loss));
        if let Some(text) = text.unwrap_or_else(|_| Some("panicked".to_owned())) {
            wrong.push_str(&format!("\n{loss}: {text}"));
        }
    }
    assert!(count > 98, "{count} losses");
    assert!(wrong.is_empty(), "{wrong}");
}

/// Compares the derivatives of a loss by each input with differences, and with forward mode. Statements may precede the loss.
fn differs(shapes: &[&str], loss: &str) -> Option<String> {
    let (before, loss) =
        loss.rsplit_once("; ").map_or((String::new(), loss), |(before, loss)| (format!("{before}\n"), loss));
    let names = &["x", "y", "z"][..shapes.len()];
    let mut declared = String::new();
    let mut tangents = String::new();
    for (name, shape) in names.iter().zip(shapes) {
        declared.push_str(&format!("input {name}: f64[{shape}]\n"));
        tangents.push_str(&format!("input d{name}: f64[{shape}]\n"));
    }
    let list = names.join(", ");
    let along: Vec<String> = names.iter().map(|name| format!("d{name}")).collect();
    let along = along.join(", ");
    let parts: String = (names.iter().enumerate())
        .map(|(at, name)| format!("output g{name} = grad(loss, ({list},))[{at}]\n"))
        .collect();
    let text = format!(
        "{declared}{tangents}{before}loss = {loss}\n{parts}\
         output forward = jvp(loss, ({list},), ({along},))\noutput value = loss\n"
    );
    let both = graph(&text);
    let place =
        |name: &str| both.outputs().iter().position(|output| *output.name == *name).expect("it is an output");
    let plain = graph(&format!("{declared}{before}output value = {loss}\n"));
    let arrays: Vec<Array> = (shapes.iter().enumerate())
        .map(|(seed, shape)| {
            let sizes = sizes(shape);
            Array::new(&sizes, &numbers(sizes.iter().product(), seed))
        })
        .collect();
    let steps: Vec<Array> = (shapes.iter().enumerate())
        .map(|(seed, shape)| {
            let sizes = sizes(shape);
            Array::new(&sizes, &numbers(sizes.iter().product(), seed + 7))
        })
        .collect();
    let inputs: Vec<Array> = arrays.iter().chain(&steps).cloned().collect();
    let results = match interpret(&both, &inputs, true) {
        Ok(results) => results,
        Err(error) => return Some(error.to_string()),
    };
    let mut directional = 0.0;
    let mut magnitude = 1.0;
    for (at, array) in arrays.iter().enumerate() {
        let (slopes, original) = (floats(&results[place(&format!("g{}", names[at]))]), floats(array));
        if results[place(&format!("g{}", names[at]))].shape != array.shape {
            return Some(format!(
                "the derivative by {} has the shape {:?}",
                names[at],
                results[place(&format!("g{}", names[at]))].shape
            ));
        }
        for (element, have) in slopes.iter().enumerate() {
            let mut value = |step: f64| {
                let mut moved = original.clone();
                moved[element] += step;
                let mut arrays = arrays.clone();
                arrays[at] = Array::new(&array.shape, &moved);
                floats(&interpret(&plain, &arrays, true).expect("it ran before")[0])[0]
            };
            let want = slope(&mut value);
            let near = (have - want).abs() <= 1e-7 * want.abs().max(1.0);
            if !near {
                return Some(format!("by {}[{element}]: have {have}, want {want}", names[at]));
            }
        }
        for (slope, step) in slopes.iter().zip(floats(&steps[at])) {
            directional += slope * step;
            magnitude += (slope * step).abs();
        }
    }
    let forward = floats(&results[place("forward")])[0];
    let near = (forward - directional).abs() <= 1e-12 * magnitude;
    (!near).then(|| format!("forward {forward}, reverse {directional}"))
}
