//! NumPy's functions on symbolic sizes, against values worked out by hand; what each call demands of sizes; and what is
//! said of arguments that mean nothing.

use crate::support::{assert_round_trip, graph, mistakes, run};
use broadloom_ir::interp::{Array, interpret};
use broadloom_text::Program;

/// A vector 1, 2, .., n, and a matrix `[2, 3]` of 1 to 6.
const VECTOR: &str = "symbols n\ninput x: f64[n]\noutput z = ";
const MATRIX: &str = "symbols n, m\ninput x: f64[n, m]\noutput z = ";

fn vector(n: usize) -> Array {
    let values: Vec<f64> = (1..=n).map(|value| value as f64).collect();
    Array::new(&[n], &values)
}

fn matrix() -> Array {
    Array::new(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
}

#[track_caller]
fn of_vector(expression: &str, n: usize, want: &[f64]) {
    let text = format!("{VECTOR}{expression}");
    assert_eq!(run(&text, &[vector(n)]), want, "{expression}");
    assert_round_trip(&graph(&text));
}

#[track_caller]
fn of_matrix(expression: &str, want: &[f64]) {
    let text = format!("{MATRIX}{expression}");
    assert_eq!(run(&text, &[matrix()]), want, "{expression}");
    assert_round_trip(&graph(&text));
}

#[test]
fn chosen_elements() {
    of_vector("sum(x, where=x > 2)", 4, &[7.0]);
    of_vector("mean(x, where=x > 2)", 4, &[3.5]);
    of_vector("max(x, initial=-1, where=x < 3)", 4, &[2.0]);
    of_vector("min(x, initial=9)", 0, &[9.0]);
    of_vector("prod(x, initial=10, where=x > 2)", 4, &[120.0]);
    of_vector("var(x, where=x > 2)", 4, &[0.25]);
    of_vector("x.std(ddof=1, where=x != 2)", 3, &[2_f64.sqrt()]);
    of_matrix("sum(x, axis=0, where=x > 2)", &[4.0, 5.0, 9.0]);
    of_matrix("sum(x, axis=1, where=(x > 4)[:1])", &[0.0, 0.0]);
    of_matrix("any(x > 5, axis=1, where=x < 6)", &[0.0, 0.0]);
}

#[test]
fn numbers_among_nans() {
    let x = Array::new(&[4], &[f64::NAN, 3.0, f64::NAN, 1.0]);
    let of = |expression: &str| run(&format!("{VECTOR}{expression}"), std::slice::from_ref(&x));
    assert_eq!(of("nansum(x)"), [4.0]);
    assert_eq!(of("nanmean(x)"), [2.0]);
    assert_eq!(of("nanvar(x)"), [1.0]);
    assert_eq!(of("nanmin(x)"), [1.0]);
    assert_eq!(of("nanargmax(x)"), [1.0]);
    assert_eq!(of("nanargmin(x)"), [3.0]);
    assert_eq!(of("nan_to_num(x, nan=7)"), [7.0, 3.0, 7.0, 1.0]);
    assert_eq!(of("isclose(x, x, equal_nan=True)"), [1.0; 4]);
    assert_eq!(of("isclose(x, x)"), [0.0, 1.0, 0.0, 1.0]);
    assert!(of("nanmax(where(x > 9, x, nan))")[0].is_nan());
    assert_eq!(of("nansum(x, where=x < 2)"), [1.0]);
}

#[test]
fn elements_in_another_arrangement() {
    of_vector("roll(x, 1)", 4, &[4.0, 1.0, 2.0, 3.0]);
    of_vector("roll(x, -1)", 4, &[2.0, 3.0, 4.0, 1.0]);
    of_vector("roll(x, n - 1)", 3, &[2.0, 3.0, 1.0]);
    of_vector("repeat(x, 2)", 2, &[1.0, 1.0, 2.0, 2.0]);
    of_vector("repeat(x, n)", 2, &[1.0, 1.0, 2.0, 2.0]);
    of_vector("tile(x, 2)", 2, &[1.0, 2.0, 1.0, 2.0]);
    of_vector("tile(x, (n, 1))", 2, &[1.0, 2.0, 1.0, 2.0]);
    of_vector("digitize(x, [3, 2, 1])", 4, &[2.0, 1.0, 0.0, 0.0]);
    of_vector("digitize(x, [3, 2, 1], right=True)", 4, &[3.0, 2.0, 1.0, 0.0]);
    of_vector("digitize(x, arange(20)[::-1])", 3, &[18.0, 17.0, 16.0]);
    of_vector("digitize(x, arange(20)[::-1], right=True)", 3, &[19.0, 18.0, 17.0]);
    of_vector("pad(x, (1, 2), 'edge')", 2, &[1.0, 1.0, 2.0, 2.0, 2.0]);
    of_vector("x.pad(2, 'reflect')", 3, &[3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]);
    of_vector("pad(x, 1, mode='symmetric')", 3, &[1.0, 1.0, 2.0, 3.0, 3.0]);
    of_vector("pad(x, 1, mode='wrap')", 3, &[3.0, 1.0, 2.0, 3.0, 1.0]);
    of_vector("pad(x, 1, constant_values=9)", 1, &[9.0, 1.0, 9.0]);
    of_vector("vander(x, 3)", 2, &[1.0, 1.0, 1.0, 4.0, 2.0, 1.0]);
    of_vector("tril(x)", 2, &[1.0, 0.0, 1.0, 2.0]);
    of_vector("zeros_like(x) + full(x.shape, 2)", 2, &[2.0, 2.0]);
    of_vector("eye(n) * x", 2, &[1.0, 0.0, 0.0, 2.0]);
    of_matrix("rot90(x)", &[3.0, 6.0, 2.0, 5.0, 1.0, 4.0]);
    of_matrix("fliplr(x)", &[3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
    of_matrix("moveaxis(x, 0, 1)", &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    of_matrix("triu(x, 1)", &[0.0, 2.0, 3.0, 0.0, 0.0, 6.0]);
    of_matrix("take(x, [4, 0])", &[5.0, 1.0]);
    of_matrix("take_along_axis(x, argmax(x, axis=1, keepdims=True), 1)", &[3.0, 6.0]);
    let square = "symbols n\ninput x: f64[n, n]\noutput z = ";
    let x = Array::new(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(run(&format!("{square}trace(x)"), std::slice::from_ref(&x)), [5.0]);
    assert_eq!(run(&format!("{square}diagonal(x, 1)"), &[x]), [2.0]);
}

#[test]
fn windows_of_symbolic_rows() {
    of_vector("sliding_window_view(x, 2)", 3, &[1.0, 2.0, 2.0, 3.0]);
    of_vector("sliding_window_view(x, 3).sum(-1)", 5, &[6.0, 9.0, 12.0]);
    of_vector("unfold(x, 0, 2, 2)", 5, &[1.0, 2.0, 3.0, 4.0]);
    of_vector("sliding_window_view(x, n)", 2, &[1.0, 2.0]);
    of_vector("sliding_window_view(x, 0).sum(-1)", 2, &[0.0; 3]);
    of_matrix("sliding_window_view(x, (2, 2)).sum((-1, -2))", &[12.0, 16.0]);
    let text = "symbols n\nparameters w\ninput x: f64[n]\noutput z = sliding_window_view(x, w)";
    assert_round_trip(&graph(text));
}

#[test]
fn what_windows_and_shifts_demand_is_checked() {
    for (expression, n, says) in [
        ("sliding_window_view(x, 4)", 3, "the window is longer than the axis"),
        ("roll(x, 4)", 3, "the axis has too few elements"),
        ("pad(x, 3, 'reflect')", 3, "the axis has too few elements"),
    ] {
        let graph = graph(&format!("{VECTOR}{expression}"));
        let error = interpret(&graph, &[vector(n)], true).unwrap_err().to_string();
        assert!(error.contains(says), "{expression}: {error}");
        assert!(interpret(&graph, &[vector(4)], true).is_ok(), "{expression}");
    }
}

#[test]
fn facts_in_any_order() {
    let program =
        "assume m == n - 1, n >= 1, n % 4 == 0\ninput x: f64[n]\ninput y: f64[m]\noutput z = x[1:] + y";
    let [x, y] = [vector(4), vector(3)];
    assert_eq!(run(&format!("symbols n, m\n{program}"), &[x, y]), [3.0, 5.0, 7.0]);
    let late = "symbols n\nassume n >= 1\ninput x: f64[n]\nassume n <= 9\noutput z = x";
    assert!(mistakes(late).contains("too late"));
}

#[test]
fn slices_end_where_an_axis_of_constant_size_does() {
    let text = "input x: f64[4]\noutput z = ";
    for (slice, want) in [
        ("x[2:9]", &[3.0, 4.0][..]),
        ("x[-9:1]", &[1.0]),
        ("x[5:]", &[]),
        ("x[3:1]", &[]),
        ("x[9::-2]", &[4.0, 2.0]),
    ] {
        assert_eq!(run(&format!("{text}{slice}"), &[vector(4)]), want, "{slice}");
    }
    let resolved = Program::parse("slices", &format!("{text}x[2:9]")).unwrap().resolve_in_full(&[]).unwrap();
    let warning = format!("{:#}", resolved.warnings.expect("a slice is cut off"));
    assert!(
        warning.contains("L002") && warning.contains("extends past the end of axis 0, which has size 4"),
        "{warning}"
    );
    // What a symbol bounds is checked by each call.
    let graph = graph(&format!("{VECTOR}x[2:9]"));
    assert!(interpret(&graph, &[vector(4)], true).is_err());
}

#[test]
fn arguments_that_mean_nothing() {
    for (expression, says) in [
        ("min(x, where=x > 0)", "`min` needs an `initial` value with `where`, which may select no elements"),
        ("mean(x, initial=2)", "`initial`"),
        ("sum(x, where=[True, False])", "2"),
        ("average(x, weights=[1, 2], axis=())", "`average` takes weights of the operand's shape"),
        ("ldexp(x, 1.5)", "`ldexp` needs an integer exponent"),
        ("saturating_add(x, x)", "`saturating_add` is not defined on f64 and f64"),
        ("roll(x, (1, 2, 3), axis=(0, 1))", "`roll` needs one shift, or one for each axis"),
        ("moveaxis(x, (0, 1), 0)", "`moveaxis` needs one destination"),
        ("pad(x, ((1, 1), (1, 1), (1, 1)))", "`pad` needs the widths before and after each axis"),
        ("pad(x, 1, 'mirror')", "takes 'constant', 'edge', 'reflect', 'symmetric' or 'wrap' as `mode`"),
        ("diagonal(x)", "`diagonal` needs to know which of the two sizes is smaller"),
        ("vander(x, 2)", "`vander` needs the operand to have rank 1, not 2"),
        ("vander(x[0], 65)", "`vander` supports 0 to 64 columns"),
        ("vander(x[0])", "needs `n`, the number of columns"),
        ("take_along_axis(x, x, 0)", "f64"),
        ("take_along_axis(x, arange(2), 0)", "`take_along_axis` needs the indices to have rank 2, not 1"),
        (
            "sliding_window_view(x, 2)",
            "needs one window width for each axis; pass `axis` to slide along fewer axes",
        ),
        ("sliding_window_view(x, -2, 0)", "size"),
        ("sliding_window_view(x[:, :1], 3, 1)", "the window is longer than the axis, by 2"),
        ("unfold(x, 1000000000000, 2)", "cannot use axis 1000000000000: the rank is 2"),
        ("tile(sinn(x), (2, 2))", "`sinn`"),
        ("unfold(x, 0, 2, 0)", "needs a positive `step`"),
        ("rot90(x, 1, (0, 0))", "`rot90` names axis 0 twice"),
        ("swapaxes(x, 0, 2)", "`swapaxes` cannot use axis 2: the rank is 2"),
        ("full((2, 3))", "needs `fill_value`"),
        ("repeat(x, x)", "`counts.astype(i64)`"),
        ("compress(x > 0, x)", "`compress` needs the condition to have rank 1, not 2"),
        ("1__0 * x", "number"),
        ("07 * x", "a number cannot begin with 0; for base 8, write `0o7`"),
    ] {
        let text = mistakes(&format!("{MATRIX}{expression}"));
        assert!(text.contains(says), "{expression}\n{text}");
    }
}
