//! NumPy's calls as suites of tests write them: a dtype to compute in, positions of `out`, axes of tensors without axes,
//! arithmetic of bool, ranges, partitions. Expected values are those of NumPy 2.4 or, where a comment says so, of exact
//! arithmetic.

use crate::support::{assert_value, graph, mistakes};
use broadloom_ir::dtype::{DType, Element};
use broadloom_ir::interp::{Array, interpret};
use half::f16;

/// An array of rank 0 for each letter that an expression may name.
fn inputs() -> Vec<(&'static str, Array)> {
    vec![
        ("b", Array::new(&[2], &[true, false])),
        ("c", Array::new(&[2], &[true, true])),
        ("u", Array::new(&[2], &[3u8, 2])),
        ("h", Array::new(&[3], &[-300i16, 1, 2])),
        ("x", Array::new(&[3], &[3.0, 1.0, 2.0])),
        ("m", Array::new(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
        ("s", Array::new(&[], &[5i64])),
        ("f", Array::new(&[], &[5.5])),
    ]
}

fn program(expression: &str) -> String {
    let declared = inputs().into_iter().map(|(name, array)| {
        let sizes: Vec<String> = array.shape.iter().map(usize::to_string).collect();
        format!("input {name}: {}[{}]\n", array.dtype, sizes.join(", "))
    });
    format!("{}output result = {expression}", declared.collect::<String>())
}

fn result(expression: &str) -> Array {
    let graph = graph(&program(expression));
    let known = inputs();
    let arrays: Vec<Array> = (graph.inputs().iter())
        .filter_map(|input| Some(known.iter().find(|(name, _)| *name == &*input.name)?.1.clone()))
        .collect();
    let results = interpret(&graph, &arrays, true);
    results.unwrap_or_else(|error| panic!("{expression}: {error}")).remove(0)
}

#[track_caller]
fn gives<T: Element>(expression: &str, shape: &[usize], elements: &[T]) {
    assert_value(expression, &result(expression), &Array::new(shape, elements));
}

#[track_caller]
fn refuses(expression: &str, because: &str) {
    let text = mistakes(&program(expression));
    assert!(text.contains(because), "{expression}\n{text}");
}

#[test]
fn a_dtype_to_compute_in() {
    // Operands are converted first: the sum is not that of u8.
    gives("add(u, 254, dtype=f64)", &[2], &[257.0, 256.0]);
    gives("np.add(u, u, dtype=np.int32)", &[2], &[6i32, 4]);
    gives("np.multiply(u, 100, dtype='i8')", &[2], &[300i64, 200]);
    gives("np.negative(u, dtype=np.int8)", &[2], &[-3i8, -2]);
    gives("sqrt(u, dtype=f32)", &[2], &[3f32.sqrt(), 2f32.sqrt()]);
    gives("divide(u, 2, dtype=f32)", &[2], &[1.5f32, 1.0]);
    gives("floor_divide(u, 2, dtype=f32)", &[2], &[1.0f32, 1.0]);
    gives("power(u, 2, dtype=f64)", &[2], &[9.0, 4.0]);
    gives("square(b, dtype=i32)", &[2], &[1i32, 0]);
    gives("absolute(h, dtype=i8)", &[3], &[44i8, 1, 2]);
    gives("clip(u, 1, 2, dtype=f32)", &[2], &[2.0f32, 2.0]);
    gives("clip(u, None, 2, dtype=f32)", &[2], &[2.0f32, 2.0]);
    gives("add(1, 2, dtype=f32)", &[], &[3.0f32]);
    gives("subtract([1, 2], u, dtype=i16)", &[2], &[-2i16, 0]);
    gives("rint(u, dtype=f32)", &[2], &[3.0f32, 2.0]);
    gives("ldexp(u, 2, dtype=f32)", &[2], &[12.0f32, 8.0]);
    gives("heaviside(u, u, dtype=f16)", &[2], &[f16::ONE, f16::ONE]);
    gives("divmod(u, 2, dtype=i32)[1]", &[2], &[1i32, 0]);
    gives("modf(u, dtype=f32)[1]", &[2], &[3.0f32, 2.0]);
    gives("matmul(m, x, dtype=f32)", &[2], &[11.0f32, 29.0]);
    gives("vecdot(u, u, dtype=i32)", &[], &[13i32]);
    gives("add.reduce(u, dtype=f32)", &[], &[5.0f32]);
    gives("add.accumulate(u, dtype=f32)", &[2], &[3.0f32, 5.0]);
    gives("maximum.reduce(u, dtype=i32)", &[], &[3i32]);
    gives("add.reduce(m, initial=10.0, where=m > 2)", &[3], &[14.0, 15.0, 19.0]);
    // The dtype of a truth value or a count converts nothing.
    gives("equal(u, 3, dtype=bool)", &[2], &[true, false]);
    gives("isnan(x, dtype=bool)", &[3], &[false; 3]);
    gives("logical_and(u, x[:2], dtype=bool)", &[2], &[true, true]);
    gives("bitwise_count(u, dtype=u8)", &[2], &[2u8, 1]);
    for (expression, because) in [
        ("add(x, 1, dtype=i32)", "does not convert f64 to i32 by itself"),
        ("add(x, 1, dtype=i32)", "convert the operand: `.astype(i32)`"),
        ("add(h, u, dtype=u8)", "does not convert i16 to u8 by itself"),
        ("add(True, u, dtype=bool)", "does not convert u8 to bool by itself"),
        ("add(u, 2.5, dtype=i64)", "does not convert f64 to i64 by itself"),
        ("add(u, 300, dtype=u8)", "300"),
        ("sqrt(u, dtype=i64)", "has results of f64, and none of i64"),
        ("less(u, u, dtype=i8)", "has results of bool, and none of i8"),
        ("bitwise_count(u, dtype=i16)", "has results of u8, and none of i16"),
        ("float_power(u, 2, dtype=f32)", "has results of f64, and none of f32"),
        ("sqrt(u, dtype=3)", "a dtype"),
    ] {
        refuses(expression, because);
    }
}

#[test]
fn positions_of_numpy() {
    gives("sum(m, 0, float32, None, True)", &[1, 3], &[5.0f32, 7.0, 9.0]);
    gives("sum(m, 1, None, None, False, 1.0)", &[2], &[7.0, 16.0]);
    gives("m.sum(None, f32)", &[], &[21.0f32]);
    gives("max(m, 0, None, True)", &[1, 3], &[4.0, 5.0, 6.0]);
    gives("any(m, 0, None, True)", &[1, 3], &[true; 3]);
    gives("argmax(m, 0, None)", &[3], &[1i64; 3]);
    gives("mean(m, 1, 'f4')", &[2], &[2.0f32, 5.0]);
    gives("var(x, 0, None, None, 1, True)", &[1], &[1.0]);
    gives("median(m, 1, None, False, True)", &[2, 1], &[2.0, 5.0]);
    gives("quantile(x, 0.5, 0, None, False, 'lower', True)", &[1], &[2.0]);
    gives("cumsum(x, 0, f32, None)", &[3], &[3.0f32, 4.0, 6.0]);
    gives("add.reduce(m, 1, f32, None, True)", &[2, 1], &[6.0f32, 15.0]);
    gives("add(x, x, None)", &[3], &[6.0, 2.0, 4.0]);
    gives("sqrt(x * 0, None)", &[3], &[0.0; 3]);
    gives("round(x, 2, None)", &[3], &[3.0, 1.0, 2.0]);
    gives("clip(x, 1, 2, None)", &[3], &[2.0, 1.0, 2.0]);
    gives("dot(x, x, None)", &[], &[14.0]);
    gives("take(x, [0], 0, None)", &[1], &[3.0]);
    gives("concatenate((x, x), 0, None)[:1]", &[1], &[3.0]);
    gives("sum(x, out=None)", &[], &[6.0]);
    // Those of the language, which are torch's, stay.
    gives("sum(m, 0, True)", &[1, 3], &[5.0, 7.0, 9.0]);
    gives("quantile(x, 0.5, 0, 'lower', True)", &[1], &[2.0]);
    for expression in
        ["add(x, x, x)", "sqrt(x, x)", "max(m, 0, x)", "sum(m, 0, None, x)", "dot(x, x, s)", "exp(x, out=x)"]
    {
        refuses(expression, "name the result as an output: `output y = ..`");
    }
    refuses("sum(m, 0, x)", "`True` or `False`");
    refuses("dot(x, x, 1)", "takes at most 2");
    refuses("sin(x, 1)", "takes at most 1");
}

#[test]
fn kept_axes_and_conditions() {
    gives("vecdot(m, x, keepdims=True)", &[2, 1], &[11.0, 29.0]);
    gives("vecdot(m, m, axis=0, keepdims=True)", &[1, 3], &[17.0, 29.0, 45.0]);
    gives("vecdot(m, m, axis=-2, keepdims=True)", &[1, 3], &[17.0, 29.0, 45.0]);
    // A condition is true where it is not zero.
    gives("where(x - 1, 1, 2)", &[3], &[1i64, 2, 1]);
    gives("where(x * nan, 1, 2)", &[3], &[1i64; 3]);
    gives("where(u - 2, x[:2], 0.5)", &[2], &[3.0, 0.5]);
    gives("sum(x, where=x - 1)", &[], &[5.0]);
    gives("max(x, initial=0, where=u[0] - 3)", &[], &[0.0]);
    gives("var(x, where=(0, 0.5, -3))", &[], &[0.25]);
    gives("any(m, axis=1, where=[1, 0, 0])", &[2], &[true, true]);
}

#[test]
fn tensors_without_axes() {
    for axis in ["0", "-1"] {
        gives(&format!("sum(s, axis={axis})"), &[], &[5i64]);
        gives(&format!("max(s, axis={axis})"), &[], &[5i64]);
        gives(&format!("all(s, axis={axis})"), &[], &[true]);
        gives(&format!("argmin(s, axis={axis})"), &[], &[0i64]);
        gives(&format!("nansum(f, axis={axis})"), &[], &[5.5]);
        gives(&format!("count_nonzero(s, axis={axis})"), &[], &[1i64]);
        gives(&format!("squeeze(s, axis={axis})"), &[], &[5i64]);
        gives(&format!("cumsum(s, axis={axis})"), &[1], &[5i64]);
        gives(&format!("argsort(s, axis={axis})"), &[1], &[0i64]);
        gives(&format!("argpartition(s, 0, axis={axis})"), &[1], &[0i64]);
        gives(&format!("take(s, 0, axis={axis})"), &[], &[5i64]);
        gives(&format!("repeat(s, 2, axis={axis})"), &[2], &[5i64, 5]);
        gives(&format!("repeat(s, [3], axis={axis})"), &[3], &[5i64; 3]);
    }
    gives("add.reduce(s)", &[], &[5i64]);
    gives("take_along_axis(m, [5, 0], axis=None)", &[2], &[6.0, 1.0]);
    for expression in
        ["sum(s, axis=1)", "squeeze(s, axis=1)", "cumsum(s, axis=-2)", "sort(s, axis=0)", "flip(s, 0)"]
    {
        refuses(expression, "cannot use axis");
    }
}

#[test]
fn arithmetic_of_bool() {
    gives("square(b)", &[2], &[1i8, 0]);
    gives("b ** 2", &[2], &[1i8, 0]);
    gives("b ** True", &[2], &[1i8, 0]);
    gives("b ** False", &[2], &[1i8, 1]);
    gives("b ** c", &[2], &[1i8, 0]);
    gives("b ** 3", &[2], &[1i64, 0]);
    gives("b ** 0", &[2], &[1i64, 1]);
    gives("b ** 2.0", &[2], &[1.0, 0.0]);
    gives("pow(b, 2)", &[2], &[1i64, 0]);
    gives("2 ** b", &[2], &[2i64, 1]);
    gives("b // c", &[2], &[1i8, 0]);
    gives("c // b", &[2], &[1i8, 0]);
    gives("b % c", &[2], &[0i8, 0]);
    gives("fmod(c, b)", &[2], &[0i8, 0]);
    gives("divmod(b, c)[0]", &[2], &[1i8, 0]);
    gives("b << c", &[2], &[2i8, 0]);
    gives("c >> b", &[2], &[0i8, 1]);
    gives("b << True", &[2], &[2i8, 0]);
    gives("b // 2", &[2], &[0i64, 0]);
    gives("b << u", &[2], &[8u8, 0]);
    for expression in ["-b", "+b", "b - c", "sign(b)", "gcd(b, c)", "lcm(b, c)"] {
        refuses(expression, "is not defined on bool");
    }
    refuses("b ** -1", "negative");
}

#[test]
fn ranges() {
    gives("arange(5.0)", &[5], &[0.0, 1.0, 2.0, 3.0, 4.0]);
    // 0.1 + 0.2 is not 0.3: elements are multiples of the step.
    let tenths: Vec<f64> = (0..10).map(|i| f64::from(i) * 0.1).collect();
    gives("arange(0, 1, 0.1)", &[10], &tenths);
    let step = 1.1 - 1.0;
    let tenths: Vec<f64> = (0..10).map(|i| 1.0 + f64::from(i) * step).collect();
    gives("arange(1, 2, 0.1)", &[10], &tenths);
    gives("arange(0.5, 9.7, 2.25, dtype=i16)", &[5], &[0i16, 2, 4, 6, 8]);
    gives("arange(0, 1, 0.1, dtype=i64)", &[10], &[0i64; 10]);
    gives("arange(5, 0, -1, dtype=u8)", &[5], &[5u8, 4, 3, 2, 1]);
    gives("arange(0, 2, 0.5, dtype=f16)", &[4], &[0.0, 0.5, 1.0, 1.5].map(f16::from_f64));
    gives("arange(0, -2, -1, dtype=f32)", &[2], &[0.0f32, -1.0]);
    gives("arange(3, dtype=f64)", &[3], &[0.0, 1.0, 2.0]);
    gives("arange(1, 1, 0.5)", &[0], &[0.0; 0]);
    // Sizes and numbers that are known, however they were computed.
    gives("arange(x.shape[0] / 2)", &[2], &[0.0, 1.0]);
    gives("arange(len(x) * 0.5, 3)", &[2], &[1.5, 2.5]);
    gives("arange(sqrt(4.0))", &[2], &[0.0, 1.0]);
    gives("arange(ceil(1.2), i64(4))", &[2], &[2.0, 3.0]);
    refuses("arange(0, 1000, 300, dtype=u8)", "has elements that u8 does not hold");
    refuses("arange(70000, 70002, dtype=f16)", "has elements that f16 does not hold");
    refuses("arange(0, 1, 0.0)", "cannot have that number of elements");
    refuses("arange(f)", "takes integers and sizes, or numbers alone");
}

#[test]
fn partitions() {
    gives("partition(x, 1)", &[3], &[1.0, 2.0, 3.0]);
    gives("x.partition((0, -1))", &[3], &[1.0, 2.0, 3.0]);
    gives("partition(-m, 1, axis=None)[:2]", &[2], &[-6.0, -5.0]);
    gives("argpartition(x, 1)", &[3], &[1i64, 2, 0]);
    gives("argpartition(-m, 0, axis=0)", &[2, 3], &[1i64, 1, 1, 0, 0, 0]);
    gives("partition(x, kth=2, kind='introselect')", &[3], &[1.0, 2.0, 3.0]);
    refuses("partition(x, 3)", "has no position 3 among 3 elements");
    refuses("argpartition(m, (0, -3), axis=0)", "has no position -3 among 2 elements");
    refuses("partition(x)", "needs `kth`");
}

#[test]
fn views_of_bits() {
    gives("h.view(u16)", &[3], &[65236u16, 1, 2]);
    gives("bitcast(u, i8)", &[2], &[3i8, 2]);
    gives("(255 - u).view(np.int8)", &[2], &[-4i8, -3]);
    gives("view(b, u8)", &[2], &[1u8, 0]);
    gives("x.view(f64)", &[3], &[3.0, 1.0, 2.0]);
    refuses("h.view(i32)", "keeps the bytes of an element: i16 has 2, and i32 4");
    refuses("x.view(i64)", "does not read f64 as i64: a NaN that is computed has no certain bits");
    refuses("h.view(f16)", "does not read i16 as f16");
    refuses("u.view(bool)", "write `x != 0`");
    refuses("x.view()", "needs `dtype`");
}

/// What functions are composed of may be beyond a small dtype, though nothing that the user wrote is. Values are exact,
/// rounded once.
#[test]
fn numbers_within_functions() {
    let halves = |values: &[f64]| values.iter().map(|value| f16::from_f64(*value)).collect::<Vec<f16>>();
    let each = |expression: &str, operands: &str, want: &[f64]| {
        let text = format!("let t = array({operands}, dtype=f16)\noutput result = {expression}");
        let have = interpret(&graph(&text), &[], true).unwrap().remove(0);
        assert_value(&text, &have, &Array::new(&[want.len()], &halves(want)));
    };
    // NumPy gives nan for 5 decimals, and inf for the last of 4.
    each("round(t, 5)", "[1.2344, -0.0, 60000.0]", &[f16::from_f64(1.2344).to_f64(), -0.0, 60000.0]);
    each("round(t, 22)", "[0.5, 65504.0, inf]", &[0.5, 65504.0, f64::INFINITY]);
    each("round(t, 4)", "[10.0, 0.25]", &[10.0, 0.25]);
    each("round(t, -5)", "[40000.0, 65504.0]", &[0.0, f64::INFINITY]);
    gives("round(f32(1e30), 22)", &[], &[1e30f32]);
    gives("round(f64(1e300), 22)", &[], &[1e300]);
    each("nan_to_num(t)", "[inf, -inf, nan]", &[65504.0, -65504.0, 0.0]);
    each("degrees(t)", "[1.0]", &[1f64.to_degrees()]);
    each("radians(t)", "[180.0]", &[std::f64::consts::PI]);
    each("sinc(t)", "[0.0, 0.5]", &[1.0, std::f64::consts::FRAC_2_PI]);
    each("ldexp(t, 20)", "[0.0625, 1.0]", &[65536.0, f64::INFINITY]);
    each("isclose(t, t).astype(f16)", "[1.0]", &[1.0]);
    each("softmax(t)", "[60000.0, -60000.0]", &[1.0, 0.0]);
    each("logsumexp(t)[None]", "[60000.0]", &[60000.0]);
    each("ndtr(t)", "[0.0, 60000.0]", &[0.5, 1.0]);
    each("percentile(t, 50)[None]", "[40000.0, 50000.0]", &[45000.0]);
    each("gradient(t, 0.5)", "[0.0, 1.0, 4.0]", &[2.0, 4.0, 6.0]);
    gives("linspace(0, 100000, 3).astype(f32)", &[3], &[0.0f32, 50000.0, 100000.0]);
    // Every function of one operand accepts the ends of small dtypes.
    for (dtype, ends) in
        [(DType::F16, "[-65504.0, 65504.0, nan]"), (DType::U8, "[0, 255]"), (DType::I8, "[-128, 127]")]
    {
        for function in [
            "round(x, 3)",
            "round(x, -3)",
            "round(x, 22)",
            "degrees(x)",
            "radians(x)",
            "sinc(x)",
            "nan_to_num(x)",
            "heaviside(x, x)",
            "spacing(x)",
            "ldexp(x, 3)",
            "fabs(x)",
            "rint(x)",
            "logaddexp2(x, x)",
            "float_power(x, x)",
            "isclose(x, x)",
            "allclose(x, x)",
            "softmax(x)",
            "log_softmax(x)",
            "logsumexp(x)",
            "layer_norm(x)",
            "norm(x)",
            "var(x)",
            "std(x)",
            "mean(x)",
            "median(x)",
            "quantile(x, 0.3)",
            "percentile(x, 99)",
            "nanmedian(x)",
            "nanvar(x)",
            "ptp(x)",
            "average(x)",
            "gradient(x)",
            "trapezoid(x)",
            "convolve(x, x)",
            "correlate(x, x)",
            "polyval(x, x)",
            "digitize(x, [0.5, 1e6])",
            "interp(x, [0, 1e6], [0, 1])",
            "histogram(x, 3, range=(0, 1e6))[0]",
            "isin(x, [1, 2])",
            "cov(x)",
            "diff(x)",
            "tril(x)",
            "vander(x, 3)",
            "modf(x)[0]",
            "divmod(x, x)[0]",
            "ndtr(x)",
            "sigmoid(x)",
            "gelu(x)",
            "erf(x)",
            "cumsum(x)",
            "topk(x, 2)",
            "sort(x)",
            "searchsorted(x, x)",
            "pad(x, 2)",
            "clip(x, 0, 100)",
            "count_nonzero(x)",
            "isposinf(x)",
            "signbit(x)",
            "sliding_window_view(x, 2)",
            "segment_mean(x, x.astype(bool).astype(i64), 2)",
            "diag(x)",
            "kron(x, x)",
            "cross(x, x)[..., 0]",
        ] {
            if function.starts_with("cross") && dtype != DType::F16 {
                continue;
            }
            let text = format!("input x: {dtype}[{}]\noutput y = {function}", ends.split(',').count());
            graph(&text);
        }
    }
}
