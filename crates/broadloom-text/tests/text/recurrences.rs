//! Recurrences against their definitions: sums with explicit weights, difference equations.

use crate::support::{assert_near, assert_round_trip, graph, mistakes, run};
use broadloom_ir::interp::Array;

const SERIES: &[&[f64]] = &[
    &[],
    &[2.5],
    &[1.0, 3.0, 3.0, -2.0, 0.5, 7.0, 7.0, 1e3, 0.0],
    &[f64::NAN, f64::NAN, 2.0, f64::NAN, 3.0, 3.0, f64::NAN, f64::NAN, -1.0, 4.0],
    &[f64::NAN, f64::NAN],
];

fn series(x: &[f64]) -> Vec<Array> {
    vec![Array::new(&[x.len()], x)]
}

/// The weights of the elements up to `last`, with the elements: none of NaN.
fn weighted(x: &[f64], last: usize, alpha: f64, adjust: bool, ignore_na: bool) -> Vec<(f64, f64)> {
    let seen: Vec<(usize, f64)> =
        x[..=last].iter().copied().enumerate().filter(|(_, x)| !x.is_nan()).collect();
    let end = if ignore_na { seen.len() as i32 - 1 } else { last as i32 };
    let weight = |(number, (place, x)): (usize, &(usize, f64))| {
        let place = if ignore_na { number as i32 } else { *place as i32 };
        let of_new = if adjust || number == 0 { 1.0 } else { alpha };
        ((1.0 - alpha).powi(end - place) * of_new, *x)
    };
    seen.iter().enumerate().map(weight).collect()
}

/// The mean, the biased variance, and what corrects it for a sample.
fn moments(weighted: &[(f64, f64)]) -> [f64; 3] {
    let total: f64 = weighted.iter().map(|(weight, _)| weight).sum();
    let squares: f64 = weighted.iter().map(|(weight, _)| weight * weight).sum();
    let mean = weighted.iter().map(|(weight, x)| weight * x).sum::<f64>() / total;
    let variance = weighted.iter().map(|(weight, x)| weight * (x - mean).powi(2)).sum::<f64>() / total;
    let rest = total * total - squares;
    [mean, variance, if weighted.len() > 1 { total * total / rest } else { f64::NAN }]
}

#[track_caller]
fn assert_series(text: &str, x: &[f64], want: &[f64]) {
    let have = run(text, &series(x));
    assert_eq!(have.len(), want.len());
    for (have, want) in have.iter().zip(want) {
        let is_near = (have - want).abs() <= 1e-9 * want.abs().max(1.0);
        assert!(is_near || have.is_nan() && want.is_nan(), "{text} of {x:?}: {have} is not {want}");
    }
}

#[test]
fn weighted_statistics_are_those_of_explicit_weights() {
    for x in SERIES {
        for alpha in [0.1, 0.5, 0.9] {
            for (adjust, ignore_na) in [(true, false), (true, true), (false, true)] {
                let all: Vec<[f64; 3]> =
                    (0..x.len()).map(|last| moments(&weighted(x, last, alpha, adjust, ignore_na))).collect();
                let options = |name: bool| if name { "True" } else { "False" };
                let options =
                    format!("{alpha}, adjust={}, ignore_na={}", options(adjust), options(ignore_na));
                let of = |pick: fn(&[f64; 3]) -> f64| all.iter().map(pick).collect::<Vec<f64>>();
                let program = |call: String| format!("input x: f64[n]; output y = {call}");
                assert_series(&program(format!("ewm_mean(x, {options})")), x, &of(|[mean, ..]| *mean));
                assert_series(
                    &program(format!("ewm_var(x, {options}, bias=True)")),
                    x,
                    &of(|[_, var, _]| *var),
                );
                assert_series(&program(format!("ewm_var(x, {options})")), x, &of(|[_, var, by]| var * by));
                assert_series(
                    &program(format!("ewm_std(x, {options})")),
                    x,
                    &of(|[_, var, by]| (var * by).sqrt()),
                );
            }
        }
    }
}

/// Without `adjust`, the elements around a gap weigh as much as its length says.
#[test]
fn gaps_decay_what_was_before_them() {
    let text = "input x: f64[n]; output y = ewm_mean(x, 0.25, adjust=False)";
    let old = 0.75f64.powi(3);
    let want = (old * 2.0 + 0.25 * 6.0) / (old + 0.25);
    assert_series(text, &[2.0, f64::NAN, f64::NAN, 6.0], &[2.0, 2.0, 2.0, want]);
}

#[test]
fn filters_solve_their_difference_equation() {
    let x: Vec<f64> = (0..20).map(|i| f64::from(i * i % 7) - 2.0).collect();
    for (b, a) in [
        (vec![1.0], vec![1.0]),
        (vec![0.1, 0.2], vec![1.0, -0.5]),
        (vec![2.0], vec![2.0, 0.3, 0.1]),
        (vec![0.1, 0.2, 0.3], vec![4.0]),
        (vec![0.2, 0.1, 0.3, 0.4], vec![0.5, 0.1, 0.2, 0.05]),
    ] {
        let mut want: Vec<f64> = Vec::new();
        for t in 0..x.len() {
            let of_x: f64 = (0..b.len().min(t + 1)).map(|i| b[i] * x[t - i]).sum();
            let of_y: f64 = (1..a.len().min(t + 1)).map(|i| a[i] * want[t - i]).sum();
            want.push((of_x - of_y) / a[0]);
        }
        assert_series(&format!("input x: f64[n]; output y = lfilter({b:?}, {a:?}, x)"), &x, &want);
    }
}

#[test]
fn recurrences_run_along_any_axis() {
    let x = vec![Array::new(&[2, 3], &[1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0])];
    let along_rows = run("input x: f64[n, m]; output y = linear_recurrence(0.5, x, axis=1)", &x);
    assert_near(&along_rows, &[1.0, 2.5, 4.25, 4.0, 7.0, 9.5], 12);
    let along_columns =
        run("input x: f64[n, 3]; output y = linear_recurrence(array([0.5, 1, 2]), x, initial=2)", &x);
    assert_near(&along_columns, &[2.0, 4.0, 7.0, 5.0, 9.0, 20.0], 12);
    let sums = run("input x: f64[n, m]; output y = cumulative_logsumexp(log(x))", &x);
    assert_near(&sums, &[1.0f64, 3.0, 6.0, 4.0, 9.0, 15.0].map(f64::ln), 12);
    let fallen = run("input x: f64[n, m]; output y = drawdown(x[::-1])", &x);
    assert_near(&fallen, &[0.0, 0.0, 0.0, 1.0 / 4.0 - 1.0, 2.0 / 5.0 - 1.0, 3.0 / 6.0 - 1.0], 12);
    let half = graph("input x: f16[n]; output y = ewm_mean(x, 0.1)");
    assert_eq!(half.dtype(half.outputs()[0].expr).name(), "f16");
    let whole = graph("input x: i32[n]; output y = ewm_mean(x, 0.1)");
    assert_eq!(whole.dtype(whole.outputs()[0].expr).name(), "f64");
}

#[test]
fn recurrences_print_as_loops() {
    for text in [
        "input x: f32[n, 3]; output y = ewm_mean(x, 0.1)",
        "input x: f64[n]; output y = ewm_std(x, 0.1, adjust=False)",
        "input x: f64[3, n]; output y = lfilter([1, 2], [1, 0.5], x)",
        "input x: f64[n, 3]; input a: f64[3]; output y = linear_recurrence(a, x)",
    ] {
        assert_round_trip(&graph(text));
    }
}

#[test]
fn mistakes_in_recurrences_are_explained() {
    for (text, wanted) in [
        ("input x: f64[n]; output y = ewm_mean(x, x)", "needs `alpha` to have rank 0, not 1"),
        ("input x: f64[n]; output y = ewm_mean(x)", "needs `alpha`"),
        ("input x: f64[n]; output y = ewm_mean(x, 0.1, axis=1)", "cannot use axis 1"),
        (
            "input x: f64[n]; output y = lfilter(x, [1], x)",
            "takes 1 to 65 coefficients, whose number is known",
        ),
        ("input x: f64[n]; output y = lfilter(1, [1], x)", "needs `b` to have rank 1, not 0"),
        (
            "input x: f64[n, 3]; input a: f64[4]; output y = linear_recurrence(a, x)",
            "axis 1 is 4, but should be 3",
        ),
        ("input x: f64[]; output y = cumulative_logsumexp(x)", "cannot use axis -1"),
    ] {
        let found = mistakes(text);
        assert!(found.contains(wanted), "{text}\n{found}");
    }
}
