//! Python's ranges against lists that Python's rules give.

use crate::support::run;
use broadloom_ir::interp::Array;
use broadloom_text::Program;

/// Ranges of ten elements, without Python's clamping, which the language does not have.
const RANGES: &[(&str, &[i32])] = &[
    ("2:5", &[2, 3, 4]),
    (":", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ("-3:", &[7, 8, 9]),
    (":-7", &[0, 1, 2]),
    ("1:8:3", &[1, 4, 7]),
    ("::4", &[0, 4, 8]),
    ("::-1", &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
    ("::-4", &[9, 5, 1]),
    ("3::-1", &[3, 2, 1, 0]),
    (":6:-1", &[9, 8, 7]),
    ("7:2:-2", &[7, 5, 3]),
    ("-1:-4:-1", &[9, 8, 7]),
    ("-2::-4", &[8, 4, 0]),
    (":-3:-1", &[9, 8]),
    (":-1:-1", &[]),
    ("8:-9:-3", &[8, 5, 2]),
    ("4:4", &[]),
    ("4:5:9", &[4]),
    ("None:3:None", &[0, 1, 2]),
];

#[test]
fn ranges_are_pythons() {
    let array = Array::new(&[10], &[0_i32, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (range, want) in RANGES {
        for size in ["10", "n"] {
            let have = run(&format!("input x: i32[{size}]\nx[{range}]"), std::slice::from_ref(&array));
            let want: Vec<f64> = want.iter().map(|value| f64::from(*value)).collect();
            assert_eq!(have, want, "{range} of {size}");
        }
    }
}

/// What is done with the elements that a condition chooses, and what is offered for it.
#[test]
fn conditions_are_answered_by_what_is_meant() {
    for (expression, helps) in [
        ("x[m].mean()", &["`mean(x, where=m[:, None])`"][..]),
        ("x[m].sum(axis=0)", &["`sum(x, axis=0, where=m[:, None])`"]),
        ("np.max(x[x > 0], axis=0)", &["`max(x, where=x > 0, initial=-inf)`"]),
        ("std(v[v > 1], correction=1)", &["`std(v, correction=1, where=v > 1)`"]),
        ("x[v > 1].mean()", &["`mean(x, where=(v > 1)[:, None])`"]),
        ("len(v[m])", &["`count_nonzero(m)`"]),
        ("v[m].size", &["`count_nonzero(m)`"]),
        ("exp(v[m])", &["choose element by element: `where(m, v, 0)`"]),
        ("v[m]", &["`where(m, v, 0)`", "`mean(v, where=m)`"]),
        ("x[m, 0].sum()", &["`mean(x, where=condition)`"]),
    ] {
        let text = format!("input x: f32[n, 3]\ninput v: f32[n]\ninput m: bool[n]\noutput y = {expression}");
        let mistakes = Program::parse("text", &text).and_then(|program| program.resolve()).unwrap_err();
        let message = format!("{mistakes:#}");
        assert_eq!(message.matches("help: ").count(), helps.len(), "{message}");
        assert!(helps.iter().all(|help| message.contains(help)), "{expression}\n{message}");
        assert_eq!(mistakes.as_slice().len(), 1, "{message}");
    }
}
