//! Loops in programs: what they compute is what their steps compute when they are written one after the other, they print as
//! programs that read back, and mistakes in them point at what is wrong.

use crate::support::{assert_near, assert_round_trip, graph, mistakes, numbers, run};
use broadloom_ir::interp::{Array, interpret};
use broadloom_text::{Limits, Session};

/// Programs with loops, and the same without.
const PAIRS: &[(&str, &str)] = &[
    (
        "input x: f64[n]; for t in range(3) with u = x; next u = u * 2 + t; end; output y = u",
        "input x: f64[n]; output y = ((x * 2 + 0) * 2 + 1) * 2 + 2",
    ),
    // Values change at once, not one after the other.
    (
        "input x: f64[n]; for t in range(3) with a = x, b = x + 1; next a = b; next b = a + b; end; output y = a * 100 + b",
        "input x: f64[n]; let b1 = x + (x + 1); let b2 = (x + 1) + b1; let b3 = b1 + b2; output y = b2 * 100 + b3",
    ),
    // Numbers take the dtypes of each other, however many attempts that needs.
    (
        "input x: f64[n]; for t in range(4) with a = 0, b = 0, c = 0; next a = b; next b = c; next c = c + 0.5; end; \
         output y = x + a + b + c",
        "input x: f64[n]; output y = x + 1.0 + 1.5 + 2.0",
    ),
    (
        "input x: f64[n]; for i in range(2) with a = 0; for j in range(2) with b = 0; for k in range(2) with c = 0; \
         for l in range(2) with d = 0; for o in range(2) with e = 0; for p in range(2) with f = 0; next f = f + x[0] + (i + j + k + l + o) * 0; end; \
         next e = e + f; end; next d = d + e; end; next c = c + d; end; next b = b + c; end; next a = a + b; end; output y = a",
        "input x: f64[n]; output y = x[0] * 64",
    ),
    // A counter is a position, and so is what is computed from it.
    (
        "input x: f64[n]; for t in range(2); stack y = x[t + 1] - x[2 * t]; stack z = x[(t + 1) % 2] * t; end; output y = y + z",
        "input x: f64[n]; output y = stack([x[1] - x[0], x[2] - x[2] + x[0]])",
    ),
    (
        "input x: f64[n]; for t in range(3); stack s = t // 2; end; output y = s",
        "input x: f64[n]; output y = array([0, 0, 1])",
    ),
    (
        "input x: f64[n]; for t in range(3); stack s = t % 2 == 0; end; output y = s",
        "input x: f64[n]; output y = array([1, 0, 1]) > 0",
    ),
    // What has no `next` stays.
    (
        "input x: f64[n]; for t in range(2) with a = x, b = 2.0; next a = a * b; end; output y = a",
        "input x: f64[n]; output y = x * 2 * 2",
    ),
    (
        "input x: f64[n]; for row in x[:3] with s = 0.0; next s = s * 0.5 + row; stack e = s; end; output y = e + s",
        "input x: f64[n]; let a = 0.0 * 0.5 + x[0]; let b = a * 0.5 + x[1]; let c = b * 0.5 + x[2]; \
         output y = stack([x[0] * 0, a, b]) + c",
    ),
    (
        "input x: f64[n]; for t, a, b in enumerate(x[:2], x[1:3]) with s = 0.0; next s = s + a * b + t; end; output y = s",
        "input x: f64[n]; output y = x[0] * x[1] + x[1] * x[2] + 1",
    ),
    (
        "input x: f64[n]; for t in range(-3) with s = 1.0; next s = s * 2; stack r = s; end; output y = sum(r) + s + x",
        "input x: f64[n]; output y = 1 + x",
    ),
    (
        "input x: f64[n]; for a in x[:2]; stack r = a * x; end; output y = r",
        "input x: f64[n]; output y = stack([x[0] * x, x[1] * x])",
    ),
    (
        "input x: f64[n]; while max(u) > 1 with u = x, k = 0; next u = u / 2; next k = k + 1; end; output y = u * 1000 + k",
        "input x: f64[n]; output y = x / 8 * 1000 + 3",
    ),
    (
        "input x: f64[n]; loop with u = x; let m = max(u); while m > 1; next u = u / m * 0.5; end; output y = u",
        "input x: f64[n]; output y = x / max(x) * 0.5",
    ),
    (
        "input x: f64[n]; for i in range(2) with u = x; for j in range(i + 1) with v = u; next v = v + j + x[0]; end; \
         next u = v * 2; end; output y = u",
        "input x: f64[n]; let a = (x + 0 + x[0]) * 2; output y = (a + 0 + x[0] + 1 + x[0]) * 2",
    ),
    (
        "input x: f64[n]; for t in range(0) with u = x; next u = u * 2; end; output y = u",
        "input x: f64[n]; output y = x",
    ),
    (
        "input x: f64[n]; for t in range(sum(x < 0)) with u = x; next u = u * 2; end; output y = u",
        "input x: f64[n]; output y = x",
    ),
    // Steps may define the same names, and loops carry values of the same names.
    (
        "input x: f64[n]; for t in range(1) with u = x; let k = u + 1; next u = k; end; \
         for t in range(1) with u = u; let k = u * 3; next u = k; end; output y = u",
        "input x: f64[n]; output y = (x + 1) * 3",
    ),
    // A number takes the dtype of what follows it.
    (
        "input x: f64[n]; for row in x.astype(f32) with s = 0; next s = s + row; end; output y = s",
        "input x: f64[n]; let z = x.astype(f32); output y = z[0] + z[1] + z[2] + z[3]",
    ),
];

fn data() -> Vec<Array> {
    vec![Array::new(&[4], &[1.5f64, 0.25, 5.0, 2.0])]
}

#[test]
fn loops_are_their_steps_one_after_the_other() {
    for (with_loops, without) in PAIRS {
        let [have, want] = [with_loops, without].map(|text| interpret(&graph(text), &data(), true).unwrap());
        assert_eq!(have[0].dtype, want[0].dtype, "{with_loops}");
        assert_eq!(have[0].shape, want[0].shape, "{with_loops}");
        assert_near(&numbers(&have[0]), &numbers(&want[0]), 15);
    }
}

#[test]
fn loops_print_as_programs_that_read_back() {
    for (with_loops, _) in PAIRS {
        let printed = assert_round_trip(&graph(with_loops));
        assert!(printed.contains("\nend\n"), "{printed}");
        assert_eq!(run(&printed, &data()), run(with_loops, &data()), "{printed}");
    }
}

#[test]
fn mistakes_in_loops_are_explained() {
    let cases = [
        (
            "input x: f64[n, 3]; for row in x with s = 0.0; next s = s + row; end; output y = s",
            "`for` changes the shape of `s`: it is [] before a step and [3] after it",
        ),
        (
            "input x: i64[n]; for t in range(3) with u = x; next u = u / 2; end; output y = u",
            "`for` changes the dtype of `u`: it is i64 before a step and f64 after it",
        ),
        (
            "input x: f64[n]; for t in range(2.5) with u = x; end; output y = u",
            "needs an integer number of steps, not f64",
        ),
        ("input x: f64[n]; while u > 1 with u = x; next u = u / 2; end; output y = u", "write `any(u > 1)`"),
        ("input x: f64[n]; loop with u = x; next u = u / 2; end; output y = u", "`loop` has no condition"),
        (
            "input x: f64[n]; for t in range(3) with u = x; next v = u; end; output y = u",
            "carry it: `with v = ..`",
        ),
        (
            "input x: f64[n]; for t in range(3) with u = x; next u = u; next u = u; end; output y = u",
            "`next` gives `u` two values in one step",
        ),
        (
            "input x: f64[n]; for t in range(3) with u = x; next u = u + 1; output y = u",
            "a loop does not end",
        ),
        (
            "input x: f64[n]; for t in range(3) with u = x, u = x; end; output y = u",
            "the name `u` is already taken",
        ),
        (
            "input x: f64[n]; for a, b in x; stack s = a; end; output y = s",
            "there are as many names as arrays",
        ),
        (
            "input x: f64[n]; for t in range(0, 3) with u = x; end; output y = u",
            "`range` takes the number of steps",
        ),
        (
            "input x: f64[3]; input z: f64[4]; for a, b in zip(x, z); stack s = a; end; output y = s",
            "axis 0 is 3 in array 0 and 4 in array 1",
        ),
        (
            "input x: f64[n]; for t in range(3) with u = x; let k = u; end; output y = k",
            "but is outside of the loop",
        ),
        ("input x: f64[n]; while sum(x) > 1; output y = x", "name the values that change from step to step"),
        ("input x: f64[n]; for t range(3) with u = x; next u = u; end; output y = u", "expected `in`"),
        (
            "input x: f64[n]; for t in range(missing) with u = x; next u = u; end; output y = u",
            "unknown name `missing`",
        ),
        ("input x: f64[]; for a in x; stack s = a; end; output y = s", "needs `a` to have rank 1, not 0"),
        ("input x: f64[n]; output y = [a for a in x]", "a loop is a statement"),
    ];
    for (text, wanted) in cases {
        let found = mistakes(text);
        assert!(found.contains(wanted), "{text}\n{found}\n{wanted}");
    }
}

/// Habits of Python, and statements in the wrong place: each is one message, at the statement, with what to type.
#[test]
fn what_a_loop_does_not_have_is_told_where_it_stands() {
    let header = "for t in range(3) with u = x";
    let cases = [
        (format!("{header}; break; end"), "break", "state when it goes on: `while u > 1 with u = x`"),
        (format!("{header}; return u; end"), "return", "no `return`"),
        (format!("{header}; continue; end"), "continue", "each step runs all of them"),
        (format!("{header}; if u > 2; end"), "if", "`next u = where(u > 1, u / 2, u)`"),
        (format!("{header}:; next u = u; end"), ":", "remove the `:`"),
        (format!("{header}: next u = u; end"), ":", "remove the `:`"),
        ("for t in range(3):\n let k = t\nend".to_owned(), ":", "write `end` after the steps"),
        ("while sum(u) > 1 with u = x:; next u = u / 2; end".to_owned(), ":", "remove the `:`"),
        ("loop with u = x:; while sum(u) > 1; end".to_owned(), ":", "remove the `:`"),
        ("loop with u = x; while sum(u) > 1:; end".to_owned(), ":", "remove the `:`"),
        (format!("{header}; output r = u; end"), "r", "to keep the value of each step, write `stack r = ..`"),
        (format!("{header}; u = u * 2; end"), "u", "for the next value of `u`, write `next u = ..`"),
        (format!("{header}; assign x = u; end"), "x", "write it after the `end` of the loop"),
        (format!("{header}; u * 2; end"), "u * 2", "an expression without a name is inside of a loop"),
        ("while u > 1 with u = x; next u = u / 2; end".to_owned(), "u > 1", "write `all(u > 1)`"),
        ("loop with u = x; while u > 1; next u = u / 2; end".to_owned(), "u > 1", "write `any(u > 1)`"),
        (format!("{header}; while sum(u) > 1; end"), "while sum(u) > 1", "`loop with t = 0, u = x`"),
        (
            "while sum(u) > 1 with u = x; while sum(u) < 9; next u = u / 2; end".to_owned(),
            "while sum(u) < 9",
            "join the conditions",
        ),
    ];
    for (text, marked, wanted) in cases {
        let found = mistakes(&format!("input x: f64[n]\n{text}\noutput y = x"));
        assert!(found.contains(wanted), "{text}\n{found}\n{wanted}");
        assert_eq!(found.matches("error[").count(), 1, "{text}\n{found}");
        // The line below the text marks these characters.
        let carets = found.lines().find(|line| line.contains('^')).map(str::trim).unwrap_or_default();
        let carets = carets.trim_start_matches('|').trim();
        assert_eq!(carets.len(), marked.len(), "{text}\n{found}");
    }
    // Inputs may have such names.
    graph("input break: f64[n]; for t in range(3) with u = 1.0; next u = u; end; output y = break");
}

/// One mistake in the first line of a loop is one message.
#[test]
fn a_mistake_in_the_first_line_is_reported_once() {
    for text in [
        "input x: f64[n]\nfor t in range(missing) with u = x\n  next u = u + 1\n  stack s = u\nend\noutput y = s",
        "input x: f64[n]\nfor t in range(3) with u = x +\n  next u = u + 1\nend\noutput y = 2",
        "input x: f64[n]\nwhile missing with u = x\n  next u = u + 1\nend\noutput y = u",
    ] {
        let found = mistakes(text);
        assert_eq!(found.matches("error[").count(), 1, "{text}\n{found}");
    }
}

#[test]
fn a_session_resolves_loops_line_by_line_and_forgets_them() {
    let mut session = Session::new("session", Limits::default());
    session.run("input x: f64[n]").unwrap();
    let (text, lines) = (session.text().len(), session.lines());
    // As often as loops may stand in one another, and more.
    for _ in 0..20 {
        session.run("for t in range(3) with u = x").unwrap();
        session.run("let k = u + 1").unwrap();
        session.abandon_loop(text, lines);
    }
    assert_eq!((session.text().len(), session.lines()), (text, lines));
    assert!(session.get("k").is_none() && session.get("u").is_none());
    for line in ["for t in range(3) with u = x", "let k = u + 1", "next u = k", "end", "output y = u"] {
        session.run(line).unwrap();
    }
    let have = interpret(&session.finish().unwrap().graph, &data(), true).unwrap();
    assert_near(&numbers(&have[0]), &[4.5, 3.25, 8.0, 5.0], 15);
}
