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

/// A tuple in parentheses is the index of several axes; a list, and a tuple beside other items, are positions.
#[test]
fn tuples_are_pythons() {
    let array = Array::new(&[2, 3], &[0_i32, 1, 2, 3, 4, 5]);
    for (index, want) in [
        ("(1, 0)", &[3][..]),
        ("((1, 0))", &[3]),
        ("(1,)", &[3, 4, 5]),
        ("()", &[0, 1, 2, 3, 4, 5]),
        ("(..., 0)", &[0, 3]),
        ("(None, 1)", &[3, 4, 5]),
        ("(-1, [2, 0])", &[5, 3]),
        ("((1, 0), (2, 2))", &[5, 2]),
        ("(1, 0),", &[3, 4, 5, 0, 1, 2]),
        ("[1, 0]", &[3, 4, 5, 0, 1, 2]),
        ("([1, 0])", &[3, 4, 5, 0, 1, 2]),
        ("(1, 0), 2", &[5, 2]),
    ] {
        let want: Vec<f64> = want.iter().map(|value| f64::from(*value)).collect();
        let text = format!("input x: i32[2, 3]\nx[{index}]");
        assert_eq!(run(&text, std::slice::from_ref(&array)), want, "{index}");
    }
    let changed = run("input x: i32[2, 3]\nx.at[(1, 0)].set(9)", std::slice::from_ref(&array));
    assert_eq!(changed, [0.0, 1.0, 2.0, 9.0, 4.0, 5.0]);
}

/// `x.at[r].set(v)` against assignment to a list.
#[test]
fn changes_are_pythons() {
    let array = Array::new(&[10], &[0_i32, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (range, positions) in RANGES {
        for size in ["10", "n"] {
            let text = |method: &str| format!("input x: i32[{size}]\nx.at[{range}].{method}");
            let changed = |new: &dyn Fn(usize, i32) -> i32| -> Vec<f64> {
                let mut want: Vec<i32> = (0..10).collect();
                for (place, position) in positions.iter().enumerate() {
                    want[*position as usize] = new(place, *position);
                }
                want.into_iter().map(f64::from).collect()
            };
            let arrays = std::slice::from_ref(&array);
            assert_eq!(run(&text("set(-1)"), arrays), changed(&|_, _| -1), "{range} of {size}");
            assert_eq!(run(&text("add(10)"), arrays), changed(&|_, old| old + 10), "{range} of {size}");
            let from_end = format!("set(x[{range}][::-1])");
            let want = changed(&|place, _| positions[positions.len() - 1 - place]);
            assert_eq!(run(&text(&from_end), arrays), want, "{range} of {size}");
        }
    }
}

/// What does not fit a region, and what is offered for it.
#[test]
fn changes_that_do_not_fit_are_explained() {
    for (expression, parts) in [
        ("x.at[1:].set(y)", &["set", "n-1", "m"][..]),
        ("x.at[0].set(x)", &["set"]),
        ("x.at[1:]", &["expected a tensor or a number, found elements to change", "`x.at[..].set(v)`"]),
        ("x.at + 1", &["found elements to change"]),
        ("x.at[1:].put(y)", &["unknown method or attribute `put`", "`.set(v)`"]),
        ("x.at[1:].sett(0)", &["did you mean `set`?"]),
        ("x.at[1:].set()", &["set", "value"]),
        ("x.at[y].set(0)", &["needs integer indices, not f32"]),
        ("x.at[i, i[1:]].set(0)", &["`set` cannot broadcast", "n-1"]),
        ("x.at[i].set(y[:, :2])", &["`set` cannot stretch"]),
        ("x.at[i, 0, i].add(0)", &["3", "2"]),
        ("i.at[i].add(0.5)", &["`add` does not convert f64 to i64"]),
        ("x.at[m, 3].set(0)", &["axis 1"]),
        ("x.at(0).set(1)", &["write `x.at[0]`"]),
        ("x.at[0].set", &["to call the method, write `.set(..)`"]),
        ("i.at[0].divide(2)", &["convert the value first, to i64"]),
        ("(i > 0).at[0].set(3)", &["give a number of that dtype"]),
        ("x.at[0, 0, 0].set(0)", &["3", "2"]),
        ("i.at[0].set(0.5)", &["i64", "f64"]),
        ("x.at[:, 5].set(0)", &["axis 1"]),
        ("x.at[m[:3]].set(0)", &["the mask"]),
        ("x.at[m].set(x)", &["set"]),
    ] {
        let text = format!(
            "input x: f32[n, 3]\ninput y: f32[m, 3]\ninput i: i64[n]\ninput m: bool[n]\noutput z = {expression}"
        );
        let mistakes = Program::parse("text", &text).and_then(|program| program.resolve()).unwrap_err();
        let message = format!("{mistakes:#}");
        assert!(parts.iter().all(|part| message.contains(part)), "{expression}\n{message}");
        assert_eq!(mistakes.as_slice().len(), 1, "{message}");
    }
}
