//! Compositions on infinite, NaN and huge values, and at the ends of integers. Expected values are those of NumPy 2.4
//! or, where a comment says so, of exact arithmetic.

use crate::support::{graph, mistakes};
use broadloom_ir::dtype::{Element, Scalar};
use broadloom_ir::interp::{Array, InterpretError, interpret};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const MIN: i64 = i64::MIN;
const MAX: i64 = i64::MAX;

/// A vector.
fn v<T: Element>(elements: &[T]) -> Array {
    Array::new(&[elements.len()], elements)
}

fn f16s(elements: &[f64]) -> Array {
    v(&elements.iter().map(|element| half::f16::from_f64(*element)).collect::<Vec<_>>())
}

fn scalar<T: Element>(value: T) -> Array {
    Array::new(&[], &[value])
}

/// The program of an expression of inputs `x`, `y`, `z`.
fn program(expression: &str, inputs: &[Array]) -> String {
    let mut text = String::new();
    for (name, array) in ["x", "y", "z"].iter().zip(inputs) {
        text.push_str(&format!("input {name}: {}{:?}\n", array.dtype, array.shape));
    }
    format!("{text}output result = {expression}")
}

fn result(expression: &str, inputs: &[Array]) -> Result<Array, InterpretError> {
    let graph = graph(&program(expression, inputs));
    interpret(&graph, inputs, true).map(|mut results| results.remove(0))
}

/// Bit for bit; all NaNs are equal.
#[track_caller]
fn gives(expression: &str, inputs: &[Array], want: Array) {
    let have = result(expression, inputs).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let same = |(have, want): (&Scalar, &Scalar)| have.same(*want);
    assert!(
        (have.dtype, &have.shape) == (want.dtype, &want.shape)
            && have.elements.iter().zip(&want.elements).all(same),
        "{expression} of {inputs:?}\nhave {have:?}\nwant {want:?}"
    );
}

#[track_caller]
fn refuses(expression: &str, inputs: &[Array], because: &str) {
    let text = mistakes(&program(expression, inputs));
    assert!(text.contains(because), "{expression}: {text}");
}

#[test]
fn products_that_overlap() {
    let x = v(&[1.0, 2.0, 3.0]);
    for (expression, y, want) in [
        ("convolve(x, y)", [1.0, INF], &[1.0, INF, INF, INF][..]),
        ("convolve(x, y)", [1.0, NAN], &[1.0, NAN, NAN, NAN]),
        ("convolve(x, y)", [NAN, 1.0], &[NAN, NAN, NAN, 3.0]),
        ("convolve(x, y)", [-INF, INF], &[-INF, NAN, NAN, INF]),
        ("convolve(x, y, 'same')", [1.0, INF], &[1.0, INF, INF]),
        ("convolve(x, y, 'valid')", [1.0, INF], &[INF, INF]),
        ("correlate(x, y, 'full')", [1.0, INF], &[INF, INF, INF, 3.0]),
        ("correlate(x, y, 'same')", [1.0, INF], &[INF, INF, INF]),
        ("convolve(y, x, 'same')", [1.0, INF], &[1.0, INF, INF]),
        ("correlate(y, x, 'full')", [1.0, INF], &[3.0, INF, INF, INF]),
        ("convolve(x, y)", [f64::MAX, -0.0], &[f64::MAX, INF, INF, 0.0]),
    ] {
        gives(expression, &[x.clone(), v(&y)], v(want));
    }
    gives("convolve(x, y)", &[v(&[1.0, INF]), v(&[2.0])], v(&[2.0, INF]));
    gives("convolve(x, y)", &[v(&[1.0_f32, 2.0]), v(&[f32::INFINITY])], v(&[f32::INFINITY; 2]));
    gives("convolve(x, y)", &[f16s(&[1.0, 2.0]), f16s(&[1.0, INF])], f16s(&[1.0, INF, INF]));
}

/// Exact arithmetic: a quantile lies between its neighbours, where NumPy's difference of the two overflows.
#[test]
fn quantiles_between_their_neighbours() {
    for of in ["quantile(x, 0.5)", "percentile(x, 50)", "nanquantile(x, 0.5)", "nanpercentile(x, 50)"] {
        gives(of, &[v(&[MIN, MAX])], scalar(0.0));
        gives(of, &[f16s(&[-40000.0, 40000.0])], Array { shape: vec![], ..f16s(&[0.0]) });
        gives(of, &[v(&[-3e38_f32, 3e38])], scalar(0.0_f32));
        gives(of, &[v(&[-1.7e308, 1.7e308])], scalar(0.0));
    }
    for method in ["midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased", "linear"] {
        gives(&format!("quantile(x, 0.5, method='{method}')"), &[v(&[-1.7e308, 1.7e308])], scalar(0.0));
    }
    gives("quantile(x, 0.75, method='averaged_inverted_cdf')", &[v(&[-1.7e308, 1.7e308])], scalar(1.7e308));
    gives("quantile(x, 0.5, method='averaged_inverted_cdf')", &[v(&[-1.7e308, 1.7e308])], scalar(0.0));
    gives(
        "quantile(x, 0.5, method='interpolated_inverted_cdf')",
        &[v(&[-1.7e308, 1.7e308])],
        scalar(-1.7e308),
    );
    let half = 2_f64.powi(1022);
    gives("quantile(x, [0.25, 0.75])", &[v(&[-2.0 * half, 2.0 * half])], v(&[-half, half]));
    gives("quantile(x, [0.5])", &[v(&[-3e38_f32, 3e38])], v(&[0.0]));
    gives("quantile(x, 0.25)", &[v(&[MIN, MAX])], scalar(-4611686018427387904.0));
    gives("quantile(x, 0.5)", &[v(&[0, u64::MAX])], scalar(9223372036854775808.0));
    gives("quantile(x, 0.5)", &[v(&[i32::MIN, i32::MAX])], scalar(-0.5));
    gives("quantile(x, 0.5)", &[v(&[false, true])], scalar(0.5));
    // Beside an infinity, only its end has a finite neighbour.
    for (x, fraction, want) in [
        ([-INF, 1.0], 0.25, -INF),
        ([-INF, 1.0], 0.75, -INF),
        ([-INF, 1.0], 1.0, 1.0),
        ([1.0, INF], 0.25, INF),
        ([1.0, INF], 0.75, INF),
        ([1.0, INF], 0.0, 1.0),
        ([INF, INF], 0.5, INF),
        ([-INF, INF], 0.5, NAN),
        ([1.0, NAN], 0.0, NAN),
    ] {
        gives(&format!("quantile(x, {fraction})"), &[v(&x)], scalar(want));
    }
    for (x, want) in [
        ([1.7e308, 1.7e308], 1.7e308),
        ([1.6e308, 1.7e308], 1.6499999999999999e308),
        ([-1.7e308, -1.7e308], -1.7e308),
        ([5e-324, 5e-324], 5e-324),
        ([INF, INF], INF),
        ([-INF, INF], NAN),
        ([1.0, INF], INF),
    ] {
        gives("median(x)", &[v(&x)], scalar(want));
        gives("nanmedian(x)", &[v(&x)], scalar(want));
    }
    gives("median(x)", &[v(&[3e38_f32, 3e38])], scalar(3e38_f32));
    gives("median(x)", &[f16s(&[6e4, 6e4])], Array { shape: vec![], ..f16s(&[6e4]) });
    gives("median(x)", &[v(&[MAX, MAX])], scalar(9223372036854775808.0));
    gives("median(x)", &[v(&[MIN, MAX])], scalar(0.0));
}

/// Exact arithmetic: integers compare as integers, where NumPy compares in `f64`.
#[test]
fn integers_compare_exactly() {
    let start = 1_u64 << 62;
    let table = |length: u64| v(&(0..length).map(|step| start + step).collect::<Vec<_>>());
    let signed = |length: i64| v(&(0..length).map(|step| (1_i64 << 62) + step).collect::<Vec<_>>());
    let values = v(&[start as i64 + 25, start as i64 + 99, -5]);
    let unsigned = v(&[start + 25, start + 99, u64::MAX]);
    gives("searchsorted(x, y)", &[table(100), values.clone()], v(&[25_i64, 99, 0]));
    gives("searchsorted(x, y, side='right')", &[table(100), values.clone()], v(&[26_i64, 100, 0]));
    gives("searchsorted(x, y)", &[signed(100), unsigned.clone()], v(&[25_i64, 99, 100]));
    gives("searchsorted(x, y, side='right')", &[signed(100), unsigned.clone()], v(&[26_i64, 100, 100]));
    gives("searchsorted(x, y)", &[v(&[-3_i8, 0, 5]), v(&[0_u64, 5, 1 << 63])], v(&[1_i64, 2, 3]));
    gives("searchsorted(x, y)", &[v(&[0_u64, 5]), v(&[-1_i8, 5])], v(&[0_i64, 1]));
    gives("searchsorted(x, y, side='right')", &[v(&[0_u64, 0]), v(&[MIN, 0])], v(&[0_i64, 2]));
    gives("searchsorted(x, y)", &[v(&[MIN, MAX]), v(&[MAX as u64, 1 << 63])], v(&[1_i64, 2]));
    gives("digitize(y, x)", &[table(100), values.clone()], v(&[26_i64, 100, 0]));
    gives("digitize(y, x, right=True)", &[table(100), values.clone()], v(&[25_i64, 99, 0]));
    // Few bounds are compared one by one.
    gives(
        "digitize(y, x)",
        &[v(&[start, start + 1]), v(&[start as i64, start as i64 + 1, -1])],
        v(&[1_i64, 2, 0]),
    );
    gives("digitize(y, x)", &[v(&[MAX, MAX - 1]), v(&[MAX as u64, 1 << 63, 0])], v(&[0_i64, 0, 2]));
    gives("searchsorted(x, y)", &[v(&[start, start + 1]), v(&[start as i64 + 1])], v(&[1_i64]));
    let counts = "histogram(y, x)[0]";
    gives(counts, &[table(3), v(&[start as i64, start as i64 + 1, start as i64 + 2, -1])], v(&[1_i64, 2]));
    gives(counts, &[signed(3), v(&[start, start + 1, start + 2, u64::MAX])], v(&[1_i64, 2]));
    gives("histogram(x, y, density=True)[0]", &[v(&[0_i64]), v(&[MIN, MAX])], v(&[5.421010862427522e-20]));
    gives("histogram(x, y, density=True)[0]", &[v(&[0_i8]), v(&[-128_i8, 127])], v(&[1.0 / 255.0]));
    gives(
        "histogram(x, y, density=True)[0]",
        &[v(&[1_u64 << 60]), v(&[1_u64 << 60, (1 << 60) + 1])],
        v(&[1.0]),
    );
    for many in ["y", "concat([y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y])"] {
        let isin = format!("isin(x, {many})");
        gives(
            &isin,
            &[v(&[start as i64, start as i64 + 1, -1]), v(&[start + 1, u64::MAX])],
            v(&[false, true, false]),
        );
        gives(&isin, &[v(&[start, u64::MAX]), v(&[start as i64 + 1, -1])], v(&[false, false]));
    }
    for (op, want) in [("==", false), ("!=", true), ("<", true), ("<=", true), (">", false), (">=", false)] {
        gives(&format!("x {op} y"), &[v(&[start as i64]), v(&[start + 1])], v(&[want]));
    }
    gives("array_equal(x, y)", &[v(&[start as i64]), v(&[start + 1])], scalar(false));
}

#[test]
fn histograms_of_all_values() {
    for (value, name) in [(NAN, "nan"), (INF, "inf"), (-INF, "-inf")] {
        for part in ["[0]", "[1]"] {
            let error = result(&format!("histogram(x, 3){part}"), &[v(&[1.0, 2.0, value, 4.0])]).unwrap_err();
            let InterpretError::NoBin { position: 2, value, .. } = error else { panic!("{error}") };
            assert_eq!(value, name);
        }
    }
    let error = result("histogram(x, 3)[0]", &[f16s(&[1.0, NAN])]).unwrap_err();
    assert!(matches!(error, InterpretError::NoBin { position: 1, value: "nan", .. }), "{error}");
    gives("histogram(x, 2, range=(0, 4))[0]", &[v(&[1.0, 2.0, NAN, 4.0, INF])], v(&[1_i64, 2]));
    gives("histogram(x, [0, 2, 4])[0]", &[v(&[1.0, 2.0, NAN, 4.0, INF])], v(&[1_i64, 2]));
    gives("histogram(x, 2)[0]", &[v(&[1_i64, 2, 4])], v(&[2_i64, 1]));
    // Exact arithmetic: the range of finite numbers has bins, although its width overflows.
    let x = || v(&[-1.5e308, -1e307, 0.0, 1e307, 1.5e308]);
    gives("histogram(x, 2)[0]", &[x()], v(&[2_i64, 3]));
    gives("histogram(x, 2)[1]", &[x()], v(&[-1.5e308, 0.0, 1.5e308]));
    gives("histogram(x, 3)[0]", &[x()], v(&[1_i64, 3, 1]));
    gives("histogram(x, 4, range=(-1.6e308, 1.6e308))[0]", &[x()], v(&[1_i64, 1, 2, 1]));
    gives("histogram(x, 2)[0]", &[v(&[-3e38_f32, -1.0, 3e38])], v(&[2_i64, 1]));
    gives("histogram(x, 2)[1]", &[f16s(&[-6e4, 6e4])], f16s(&[-6e4, 0.0, 6e4]));
    gives(
        "histogram(x, 5)[1]",
        &[v(&[0.0, 2.5e-323])],
        v(&[0.0, 5e-324, 1e-323, 1.5e-323, 2e-323, 2.5e-323]),
    );
    refuses(
        "histogram(x, 3, range=(0, 1e300))",
        &[v(&[1.0_f32])],
        "takes a `range` that the dtype of the data holds",
    );
    refuses("histogram(x, 3, range=(0, inf))", &[v(&[1.0])], "takes two finite numbers as `range`");
}

#[test]
fn evenly_spaced_numbers() {
    let tiny: Vec<f64> = [0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 5.0, 5.0].map(|n| n * 5e-324).to_vec();
    for (expression, want) in [
        ("linspace(0, 2.5e-323, 11)", &tiny[..]),
        ("linspace(-0.0, 1, 3)", &[0.0, 0.5, 1.0]),
        ("linspace(1, 2, 1)", &[1.0]),
        ("linspace(nan, 1, 3)", &[NAN, NAN, 1.0]),
        // Exact arithmetic, where NumPy's `stop - start` is infinite or NaN.
        ("linspace(-1.7e308, 1.7e308, 1)", &[-1.7e308]),
        ("linspace(-1.7e308, 1.7e308, 3)", &[-1.7e308, 0.0, 1.7e308]),
        (
            "linspace(1.5 * 2.0 ** 1023, -1.5 * 2.0 ** 1023, 5)",
            &[1.5, 0.75, 0.0, -0.75, -1.5].map(|n| n * 2_f64.powi(1023)),
        ),
        ("linspace(inf, inf, 4)", &[INF; 4]),
        ("linspace(inf, inf, 1)", &[INF]),
        ("linspace(-inf, inf, 1)", &[-INF]),
        ("linspace(0, inf, 4)", &[0.0, INF, INF, INF]),
        ("linspace(inf, 0, 4)", &[INF, INF, INF, 0.0]),
        ("linspace(-inf, inf, 3)", &[-INF, NAN, INF]),
    ] {
        gives(expression, &[], v(want));
        // The same with a length that is not known before the call.
        let (ends, count) = expression.rsplit_once(", ").unwrap_or_else(|| panic!("{expression}"));
        let text = format!("symbols n\ninput x: f64[n]\noutput result = {ends}, n)");
        let length = count.trim_end_matches(')').parse().unwrap_or_else(|error| panic!("{count}: {error}"));
        let found =
            interpret(&graph(&text), &[v(&vec![0.0; length])], true).unwrap_or_else(|e| panic!("{e}"));
        let same = found[0].elements.iter().zip(want).all(|(have, want)| have.same(Scalar::F64(*want)));
        assert!(same, "{expression}: {:?}", found[0]);
    }
}

#[test]
fn nans_are_dropped_before_a_cast() {
    let x = || v(&[NAN, 2.0, 3.0]);
    gives("nanprod(x, dtype=int32)", &[x()], scalar(6_i32));
    gives("nansum(x, dtype=int32)", &[x()], scalar(5_i32));
    gives("nancumprod(x, dtype=int32)", &[x()], v(&[1_i32, 2, 6]));
    gives("nancumsum(x, dtype=u8)", &[x()], v(&[0_u8, 2, 5]));
    gives("nansum(x, dtype=bool)", &[v(&[NAN])], scalar(false));
    gives("nanprod(x, dtype=bool)", &[v(&[NAN, 0.0])], scalar(false));
    gives("nanprod(x, dtype=bool)", &[v(&[NAN])], scalar(true));
    gives("nancumsum(x, dtype=bool)", &[v(&[NAN, 1.0])], v(&[false, true]));
    gives("nanprod(x, dtype=i64, where=y)", &[x(), v(&[true, true, false])], scalar(2_i64));
    gives("nanprod(x, dtype=i64, initial=10)", &[x()], scalar(60_i64));
    gives("nansum(x, dtype=f32)", &[x()], scalar(5.0_f32));
    gives("nansum(x, dtype=i8)", &[v(&[1_i64, 2])], scalar(3_i8));
    gives("nanmean(x, dtype=f32)", &[x()], scalar(2.5_f32));
    for of in ["nanmean", "nanvar", "nanstd"] {
        refuses(&format!("{of}(x, dtype=int32)"), &[x()], "leave out `dtype`, and convert the result");
    }
}

#[test]
fn all_elements_for_no_axis() {
    let x = || Array::new(&[2, 2], &[3.0, 1.0, 2.0, 0.0]);
    gives("sort(x, axis=None)", &[x()], v(&[0.0, 1.0, 2.0, 3.0]));
    gives("argsort(x, axis=None)", &[x()], v(&[3_i64, 1, 2, 0]));
    gives("concatenate((x, x), axis=None)", &[x()], v(&[3.0, 1.0, 2.0, 0.0, 3.0, 1.0, 2.0, 0.0]));
    gives("concatenate((x, y), axis=None)", &[x(), v(&[7.0])], v(&[3.0, 1.0, 2.0, 0.0, 7.0]));
    gives("append(x, x, axis=None)", &[x()], v(&[3.0, 1.0, 2.0, 0.0, 3.0, 1.0, 2.0, 0.0]));
    gives("take_along_axis(x, y, axis=None)", &[x(), v(&[3_i64, 0])], v(&[0.0, 3.0]));
    gives("cumsum(x, axis=None)", &[x()], v(&[3.0, 4.0, 6.0, 6.0]));
    gives("add.reduce(x, axis=None)", &[x()], scalar(6.0));
    gives("add.accumulate(x, axis=None)", &[v(&[1.0, 2.0])], v(&[1.0, 3.0]));
    for expression in [
        "stack([x, x], axis=None)",
        "diff(x, axis=None)",
        "split(x, 2, axis=None)[0]",
        "array_split(x, 2, axis=None)[0]",
        "unstack(x, axis=None)[0]",
        "trapezoid(x, axis=None)",
        "add.accumulate(x, axis=None)",
        "vecdot(x, x, axis=None)",
        "topk(x, 1, axis=None)",
    ] {
        refuses(expression, &[x()], "takes one axis: for all elements in one row, write `ravel(x)`");
    }
    refuses("expand_dims(x, axis=None)", &[x()], "needs the axes of the result that have size 1");
}

#[test]
fn numbers_that_the_dtype_cannot_hold() {
    let x = || v(&[0_u8, 1, 255]);
    gives("x / 256", &[x()], v(&[0.0, 1.0 / 256.0, 255.0 / 256.0]));
    gives("256 / x", &[x()], v(&[INF, 256.0, 256.0 / 255.0]));
    gives("x / -1", &[x()], v(&[-0.0, -1.0, -255.0]));
    gives("x / 2 ** 70", &[v(&[MIN])], v(&[-(0.5_f64.powi(7))]));
    for (expression, want) in [
        ("x < 300", true),
        ("x <= 300", true),
        ("x > 300", false),
        ("x >= 300", false),
        ("x == 300", false),
        ("x != 300", true),
        ("300 > x", true),
        ("x > -1", true),
        ("x < -1", false),
        ("x < 2 ** 70", true),
        ("x > -2 ** 70", true),
        ("x == 2 ** 70", false),
        ("isclose(x, 300)", false),
        ("isclose(300, x)", false),
        ("isclose(x, 2 ** 70)", false),
        ("isin(x, 300)", false),
        ("isin(x, [300, 400])", false),
        ("logical_and(x | 1, 300)", true),
    ] {
        gives(expression, &[x()], v(&[want; 3]));
    }
    gives("x < 2 ** 64", &[v(&[u64::MAX])], v(&[true]));
    gives("x == 2 ** 64", &[v(&[u64::MAX])], v(&[false]));
    gives("x > -2 ** 63 - 1", &[v(&[MIN])], v(&[true]));
    gives("x < 2 ** 63", &[v(&[MAX])], v(&[true]));
    gives("x == 2 ** 63", &[v(&[MAX])], v(&[false]));
    gives("x < 2 ** 63", &[v(&[(1_u64 << 63) - 1, 1 << 63])], v(&[true, false]));
    gives("x < 200", &[v(&[i8::MIN, i8::MAX])], v(&[true, true]));
    gives("x < -200", &[v(&[i8::MIN, i8::MAX])], v(&[false, false]));
    // Exact arithmetic: NumPy rounds these numbers to infinity.
    gives("x < 70000", &[f16s(&[1.0, INF])], v(&[true, false]));
    gives("x == 70000", &[f16s(&[1.0, INF])], v(&[false, false]));
    gives("x > 1e300", &[v(&[1.0, f32::INFINITY])], v(&[false, true]));
    gives("isclose(x, 70000)", &[f16s(&[1.0, INF])], v(&[false, false]));
    gives("clip(x, 2, 300)", &[x()], v(&[2_u8, 2, 255]));
    gives("clip(x, -5, 3)", &[x()], v(&[0_u8, 1, 3]));
    gives("clip(x, None, 300)", &[x()], x());
    gives("clip(x, -5, None)", &[x()], x());
    gives("clip(x, -200, 200)", &[v(&[i8::MIN, i8::MAX])], v(&[i8::MIN, i8::MAX]));
    gives("clip(x, 0, 70000)", &[f16s(&[1.0, INF])], f16s(&[1.0, INF]));
    gives("searchsorted(x, 300)", &[x()], scalar(3_i64));
    gives("searchsorted(x, -1)", &[x()], scalar(0_i64));
    gives("array_equal(x, 300)", &[scalar(1_u8)], scalar(false));
    gives("hypot(x, 400)", &[v(&[0_u8])], v(&[400.0_f32]));
    gives("float_power(x, 300)", &[x()], v(&[0.0, 1.0, INF]));
    gives("heaviside(x, 300)", &[x()], v(&[300.0_f32, 1.0, 1.0]));
    for expression in [
        "x * 256",
        "x + 256",
        "x // 256",
        "x % 256",
        "minimum(x, 256)",
        "maximum(256, x)",
        "where(x > 0, x, 256)",
        "clip(x, 256, 300)",
        "clip(x, 256, None)",
        "saturating_add(x, 256)",
        "x & 256",
    ] {
        refuses(expression, &[x()], "the literal 256 does not fit into u8");
    }
    refuses("clip(x, -9, -5)", &[x()], "the literal -5 does not fit into u8");
}

#[test]
fn areas_slopes_and_lines() {
    // Exact arithmetic, where NumPy's sums and differences of two samples overflow.
    gives("trapezoid(x)", &[v(&[1e308, 1e308])], scalar(1e308));
    gives("trapezoid(x, dx=0.5)", &[v(&[1.6e308, 1.6e308])], scalar(8e307));
    gives("trapezoid(x)", &[v(&[3e38_f32, 3e38])], scalar(3e38_f32));
    gives("trapezoid(x)", &[v(&[1.0, INF])], scalar(INF));
    gives("trapezoid(x)", &[v(&[-INF, INF])], scalar(NAN));
    gives("trapezoid(x)", &[v(&[5e-324, 5e-324])], scalar(5e-324));
    gives("gradient(x)", &[v(&[-1.5e308, 0.0, 1.5e308])], v(&[1.5e308; 3]));
    gives("gradient(x, 4)", &[v(&[-1.6e308, 1.6e308])], v(&[8e307; 2]));
    gives("gradient(x)", &[v(&[1.0, INF, 3.0])], v(&[INF, 1.0, -INF]));
    gives("gradient(x)", &[v(&[-INF, 0.0, INF])], v(&[INF; 3]));
    gives("gradient(x)", &[v(&[INF, 0.0, INF])], v(&[-INF, NAN, INF]));
    let interp = |at: f64, places: [f64; 2], values: [f64; 2], want: f64| {
        gives("interp(x, y, z)", &[v(&[at]), v(&places), v(&values)], v(&[want]));
    };
    interp(0.5, [0.0, 1.0], [-1.7e308, 1.7e308], 0.0);
    interp(5e-321, [0.0, 1e-320], [0.0, 1e300], 5e299);
    let far = 2_f64.powi(1023);
    interp(far / 2.0, [-far, far], [0.0, 1.0], 0.75);
    // NumPy's.
    interp(0.5, [0.0, 1.0], [1.0, INF], INF);
    interp(0.5, [0.0, 1.0], [INF, 1.0], INF);
    interp(0.5, [0.0, 1.0], [INF, INF], INF);
    interp(0.5, [0.0, 1.0], [-INF, INF], NAN);
    interp(0.5, [0.0, 1.0], [NAN, 1.0], NAN);
    interp(0.5, [-INF, 1.0], [1.0, 2.0], 2.0);
    interp(0.5, [0.0, INF], [1.0, 2.0], 1.0);
    interp(INF, [0.0, 1.0], [1.0, 2.0], 2.0);
    interp(-INF, [0.0, 1.0], [1.0, 2.0], 1.0);
    interp(NAN, [0.0, 1.0], [1.0, 2.0], NAN);
}

/// NumPy's values.
#[test]
fn elementwise_compositions() {
    let tiny = 5e-324;
    let one = |expression: &str, x: &[f64], want: &[f64]| gives(expression, &[v(x)], v(want));
    one("fabs(x)", &[-0.0, -INF, NAN, -tiny], &[0.0, INF, NAN, tiny]);
    one("rint(x)", &[-0.5, 0.5, 1.5, INF, NAN, tiny], &[-0.0, 0.0, 2.0, INF, NAN, 0.0]);
    one("heaviside(x, 0.5)", &[-INF, INF, NAN, -0.0, 0.0, tiny], &[0.0, 1.0, NAN, 0.5, 0.5, 1.0]);
    one("spacing(x)", &[0.0, -0.0, INF, NAN, f64::MAX, -tiny], &[tiny, tiny, NAN, NAN, INF, -tiny]);
    one("sinc(x)", &[INF, NAN, 0.0, -0.0, tiny, f64::MAX], &[NAN, NAN, 1.0, 1.0, 1.0, NAN]);
    one("float_power(x, -1)", &[0.0, -0.0, INF, -INF, NAN], &[INF, -INF, 0.0, -0.0, NAN]);
    one("nan_to_num(x)", &[INF, -INF, NAN, -0.0], &[f64::MAX, f64::MIN, 0.0, -0.0]);
    one("modf(x)[0]", &[INF, -INF, NAN, -0.0, -0.5, 1e308, tiny], &[0.0, -0.0, NAN, -0.0, -0.5, 0.0, tiny]);
    one("modf(x)[1]", &[INF, -INF, NAN, -0.0, -0.5, 1e308, tiny], &[INF, -INF, NAN, -0.0, -0.0, 1e308, 0.0]);
    one("polyval(array([1.0, 2.0]), x)", &[-INF, 0.0, f64::MAX], &[NAN, 2.0, f64::MAX]);
    one("tril(x, 0)[1]", &[INF, NAN], &[INF, NAN]);
    one("diag(x)[1]", &[INF, NAN], &[0.0, NAN]);
    one("diff(x)", &[-1.7e308, 1.7e308, INF, INF], &[INF, INF, NAN]);
    one("pad(x, 1)", &[INF], &[0.0, INF, 0.0]);
    let two =
        |expression: &str, x: &[f64], y: &[f64], want: &[f64]| gives(expression, &[v(x), v(y)], v(want));
    two("logaddexp2(x, y)", &[INF, -INF, INF, NAN], &[INF, -INF, -INF, 1.0], &[INF, -INF, INF, NAN]);
    gives(
        "isclose(x, y)",
        &[
            v(&[INF, INF, -INF, NAN, 1e308, 0.0, 1.7e308]),
            v(&[INF, -INF, -INF, NAN, 1.0000001e308, tiny, -1.7e308]),
        ],
        v(&[true, false, true, false, true, true, false]),
    );
    gives("isclose(x, y)", &[v(&[MAX]), v(&[MIN])], v(&[false]));
    let exponents = v(&[10_i64, -10, -5000, 3, 1074, -2098, -1074, MAX, MIN]);
    let x = v(&[0.0, -0.0, INF, NAN, tiny, f64::MAX, 1.0, 1.0, 1.0]);
    gives("ldexp(x, y)", &[x, exponents], v(&[0.0, -0.0, INF, NAN, 1.0, tiny, tiny, INF, 0.0]));
    gives("saturating_add(x, y)", &[v(&[MIN, MAX]), v(&[-1_i64, 1])], v(&[MIN, MAX]));
    gives("saturating_subtract(x, y)", &[v(&[0_u64, u64::MAX]), v(&[1_u64, 1])], v(&[0, u64::MAX - 1]));
}

/// A size that is read from a slice is right only where the slice is, also if nothing reads its elements.
#[test]
fn sizes_of_slices() {
    for (expression, rows, want) in [
        ("zeros(x[-4:3, 0].shape)", 4, Some(3)),
        ("zeros(x[-4:3, 0].shape)", 7, Some(0)),
        ("zeros(x[-4:3, 0].shape)", 3, None),
        ("zeros(x[-4:3, 0].shape)", 8, None),
        ("zeros_like(x[2:, 0])", 3, Some(1)),
        ("zeros_like(x[2:, 0])", 1, None),
        ("arange(len(x[-4:]) * n)", 3, None),
        ("arange(len(x[-4:]) * n)", 4, Some(16)),
        ("x[:, 0] * x[-5:].size", 4, None),
        ("x[-4:, 0].at[...].set(1)", 3, None),
        ("ones(n + 1)", 0, Some(1)),
        ("concat([x[1:, 0], zeros(len(x[2:]) - 1)])", 2, None),
    ] {
        let text = format!("input x: f64[n, 2]\noutput result = {expression}");
        let x = Array::new(&[rows, 2], &vec![1.0; 2 * rows]);
        match (interpret(&graph(&text), &[x], true), want) {
            (Ok(results), Some(want)) => assert_eq!(results[0].shape, [want], "{expression} of {rows}"),
            (Err(InterpretError::Obligation { .. }), None) => {}
            (result, _) => panic!("{expression} of {rows} rows: {result:?}"),
        }
    }
}
