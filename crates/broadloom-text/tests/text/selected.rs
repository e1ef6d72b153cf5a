//! Elements that masks select, distinct elements, and sizes that computed numbers decide. Expected values are those of NumPy
//! 2.4.

use crate::support::{assert_round_trip, assert_value, graph, mistakes};
use broadloom_ir::dtype::Element;
use broadloom_ir::interp::{Array, InterpretError, interpret};

/// Programs that select or count, for round trips and values.
const DECLARED: &str = "input x: f64[n]\ninput m: bool[n]\ninput t: i64[a, b]\ninput w: f64[n, 2]\n";

fn inputs() -> Vec<Array> {
    let nan = f64::NAN;
    vec![
        Array::new(&[6], &[3.0, -1.0, 5.0, 0.0, nan, 5.0]),
        Array::new(&[6], &[true, false, true, true, false, true]),
        Array::new(&[2, 3], &[2i64, 0, 2, 1, 7, 0]),
        Array::new(&[6, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]),
    ]
}

fn result(expression: &str) -> Result<Array, InterpretError> {
    let graph = graph(&format!("{DECLARED}output result = {expression}"));
    assert_round_trip(&graph);
    interpret(&graph, &inputs(), true).map(|mut results| results.remove(0))
}

#[track_caller]
fn gives<T: Element>(expression: &str, shape: &[usize], elements: &[T]) {
    let have = result(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    assert_value(expression, &have, &Array::new(shape, elements));
}

#[track_caller]
fn fails(expression: &str, because: &str) {
    let error = result(expression).expect_err(expression).to_string();
    assert!(error.contains(because), "{expression}\n{error}");
}

#[test]
fn masks_select_elements() {
    gives("x[m]", &[4], &[3.0, 5.0, 0.0, 5.0]);
    gives("x[x > 100]", &[0], &[0.0; 0]);
    gives("w[m]", &[4, 2], &[0.0, 1.0, 4.0, 5.0, 6.0, 7.0, 10.0, 11.0]);
    gives("w[w > 8.5]", &[3], &[9.0, 10.0, 11.0]);
    gives("t[t > 0]", &[4], &[2i64, 2, 1, 7]);
    gives("t[:, t.sum(axis=0) > 2]", &[2, 2], &[2i64, 0, 1, 7]);
    gives("w[m, 1]", &[4], &[1.0, 5.0, 7.0, 11.0]);
    gives("w[None, m, 1:]", &[1, 4, 1], &[1.0, 5.0, 7.0, 11.0]);
    gives("compress(m, w, axis=0)[1]", &[2], &[4.0, 5.0]);
    gives("compress(array([True, False]), w, axis=1)[:2]", &[2, 1], &[0.0, 2.0]);
    gives("extract(w > 8.5, w)", &[3], &[9.0, 10.0, 11.0]);
    gives("nonzero(m)[0]", &[4], &[0i64, 2, 3, 5]);
    gives("where(t)[1]", &[4], &[0i64, 2, 0, 1]);
    gives("flatnonzero(t)", &[4], &[0i64, 2, 3, 4]);
    gives("argwhere(t == 0)", &[2, 2], &[0i64, 1, 1, 2]);
    gives("t[t == 7][0]", &[], &[7i64]);
}

#[test]
fn what_one_mask_selects_fits_together() {
    gives("x[m] * 2 + w[m, 0]", &[4], &[6.0, 14.0, 6.0, 20.0]);
    gives("x[m][x[m] > 2]", &[3], &[3.0, 5.0, 5.0]);
    gives("x[m][w[m, 0] > 3] + w[m, 1][w[m, 0] > 3]", &[3], &[10.0, 7.0, 16.0]);
    gives(
        "x[m][:, None] - x[m]",
        &[4, 4],
        &[0.0, -2.0, 3.0, -2.0, 2.0, 0.0, 5.0, 0.0, -3.0, -5.0, 0.0, -5.0, 2.0, 0.0, 5.0, 0.0],
    );
    gives("x.at[m].set(x[m] * 10)[:3]", &[3], &[30.0, -1.0, 50.0]);
    gives("x.at[m].set(sort(x[m]))[:4]", &[4], &[0.0, -1.0, 3.0, 5.0]);
    gives("x.at[m].add(x[m])[:3]", &[3], &[6.0, -1.0, 10.0]);
    gives("w.at[m].set(sort(w[m], axis=1, descending=True))[0]", &[2], &[1.0, 0.0]);
    gives("t.at[t > 1].set(arange(count_nonzero(t > 1))).ravel()", &[6], &[0i64, 0, 1, 1, 2, 0]);
    gives("concat([x[m], x[x < 0]])", &[5], &[3.0, 5.0, 0.0, 5.0, -1.0]);
    gives("len(x[m]) + zeros(len(x[m]))", &[4], &[4.0; 4]);
}

#[test]
fn reductions_of_selected_elements() {
    gives("x[m].sum()", &[], &[13.0]);
    gives("(x[m] - x[m].mean()).sum()", &[], &[0.0]);
    gives("x[m].mean()", &[], &[3.25]);
    gives("w[m].sum(axis=0)", &[2], &[20.0, 24.0]);
    gives("w[m].max(axis=1).sum()", &[], &[24.0]);
    gives("x[m].max()", &[], &[5.0]);
    gives("any(x[m] > 4)", &[], &[true]);
    gives("argmax(x[m])", &[], &[1i64]);
    gives("cumsum(x[m])", &[4], &[3.0, 8.0, 8.0, 13.0]);
    gives("median(x[m])", &[], &[4.0]);
    gives("x[m] @ w[m]", &[2], &[70.0, 83.0]);
    gives("x[x > 100].sum()", &[], &[0.0]);
    fails("x[x > 100].max()", "not defined for an empty axis");
    fails("x[x > 100][0]", "past the last element");
    fails("x[m][:7]", "past the end");
}

#[test]
fn distinct_elements() {
    gives("unique(x)", &[5], &[-1.0, 0.0, 3.0, 5.0, f64::NAN]);
    gives("unique(t)", &[4], &[0i64, 1, 2, 7]);
    gives("unique(t, return_counts=True)[1]", &[4], &[2i64, 1, 2, 1]);
    gives("unique(t, return_inverse=True)[1]", &[2, 3], &[2i64, 0, 2, 1, 3, 0]);
    gives("unique(t, return_index=True)[1]", &[4], &[1i64, 3, 0, 4]);
    gives("unique(concat([x, x]), equal_nan=False).shape[0] + 0 * x[:1]", &[1], &[6.0]);
    gives("unique_values(concat([x, x]))[4:]", &[2], &[f64::NAN; 2]);
    gives("unique_counts(x)[1]", &[5], &[1i64, 1, 1, 2, 1]);
    gives("unique_inverse(m)[1]", &[6], &[1i64, 0, 1, 1, 0, 1]);
    gives("unique_all(t)[3]", &[4], &[2i64, 1, 2, 1]);
    gives("unique(x[x > 100])", &[0], &[0.0; 0]);
    gives("unique(x[x > 100], return_counts=True)[1]", &[0], &[0i64; 0]);
    gives("union1d(t, array([3, 0]))", &[5], &[0i64, 1, 2, 3, 7]);
    gives("intersect1d(t, array([3, 0, 7]))", &[2], &[0i64, 7]);
    gives("setdiff1d(t, array([3, 0, 7]))", &[2], &[1i64, 2]);
    gives("setxor1d(t, array([3, 0, 7]))", &[3], &[1i64, 2, 3]);
    gives("trim_zeros(array([0, 0, 1, 0, 2, 0]))", &[3], &[1i64, 0, 2]);
    gives("trim_zeros(array([0, 1, 0]), 'f')", &[2], &[1i64, 0]);
    gives("trim_zeros(array([0, 0]))", &[0], &[0i64; 0]);
}

#[test]
fn computed_sizes() {
    gives("arange(t.sum() // 4)", &[3], &[0i64, 1, 2]);
    gives("zeros((t.max(), 2)).shape[0] + t[0, :1]", &[1], &[9i64]);
    gives("repeat(x[2:], m[2:] * t[0, 0])", &[6], &[5.0, 5.0, 0.0, 0.0, 5.0, 5.0]);
    gives("repeat(t, t.sum(axis=1), axis=0).sum(axis=1)", &[12], &[4i64, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8]);
    gives("bincount(t.ravel())", &[8], &[2i64, 1, 2, 0, 0, 0, 0, 1]);
    gives("bincount(t[t > 100])", &[0], &[0i64; 0]);
    gives("bincount(m.astype(i64), weights=w[:, 0])", &[2], &[10.0, 20.0]);
    gives("segment_sum(w[:, 1], m.astype(i64), t.min() + 2)", &[2], &[12.0, 24.0]);
    gives("x[:t[0, 0]]", &[2], &[3.0, -1.0]);
    gives("as_size(t.max()) + t[0, :1]", &[1], &[9i64]);
    fails("zeros(t.max() - 10)", "the size is -3");
    fails("repeat(x, m * t[0, 0] - 1)", "the size is -1");
    fails("x[:t.max()]", "past the end");
}

/// The number of elements differs from step to step, but nothing needs it: elements of all are computed, and those replaced at
/// which the mask holds.
#[test]
fn steps_of_loops_change_selected_elements() {
    let program = "for i in range(3) with y = x\n  next y = y.at[y > 0].set(y[y > 0] * 2)\nend\noutput z = y";
    let graph = graph(&format!("{DECLARED}{program}"));
    assert_round_trip(&graph);
    let found = interpret(&graph, &inputs(), true).unwrap().remove(0);
    let want = Array::new(&[6], &[24.0, -1.0, 40.0, 0.0, f64::NAN, 40.0]);
    assert!(found.elements.iter().zip(&want.elements).all(|(have, want)| have.same(*want)), "{found:?}");
}

#[test]
fn mistakes_name_the_masks() {
    let text = |program: &str| mistakes(&format!("{DECLARED}{program}"));
    let different = text("output y = x[m] + x[x > 0]");
    assert!(different.contains("`@k` on the left and `@k2` on the right"), "{different}");
    let of_step = text("for i in range(3) with y = x\n  next y = y + sort(y[y > 0])[0]\nend\noutput z = y");
    assert!(of_step.contains("differs from step to step of a loop"), "{of_step}");
    // An extreme of selected elements needs one of them in each step.
    let greatest = text("for i in range(3) with y = x\n  next y = y + y[y > 0].max()\nend\noutput z = y");
    assert!(greatest.contains("differs from step to step of a loop"), "{greatest}");
}

#[test]
fn signatures_say_what_is_counted() {
    let graph = graph(&format!("{DECLARED}output y = w[x > 0]\noutput z = arange(t.max())"));
    assert_eq!(
        broadloom_text::signature(&graph),
        "y: f64[@k, 2]\nz: i64[@k2]\nwhere @k is the number of elements where x > 0.0\nwhere @k2 is the value of max(t)\n"
    );
}
