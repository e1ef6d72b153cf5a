//! Columns of text: which of them meet, which results are text, and what is refused.

use broadloom_ir::dtype::DType;
use broadloom_text::{Given, Program, Resolved};

fn given<'a>(name: &'a str, names: Option<&'a [Box<str>]>) -> Given<'a> {
    Given { name, dtype: DType::I64, shape: &[3], rows: None, names }
}

fn resolve(text: &str) -> Result<Resolved, String> {
    let [left, right, other] = [["a", "b"], ["b", "c"], ["x", "y"]].map(|names| names.map(Box::from));
    let inputs = [
        given("left", Some(&left)),
        given("right", Some(&right)),
        given("other", Some(&other)),
        given("v", None),
    ];
    let program = Program::parse("texts", text).map_err(|mistakes| mistakes.to_string())?;
    program.resolve_in_full(&inputs).map_err(|mistakes| mistakes.to_string())
}

/// The inputs that need other texts, each with these.
fn joined(text: &str) -> Vec<String> {
    let resolved = resolve(text).unwrap_or_else(|message| panic!("{text}: {message}"));
    resolved.texts.joined.iter().map(|(name, texts)| format!("{name}: {}", texts.join(" "))).collect()
}

#[test]
fn columns_that_meet_need_one_list() {
    let both = ["left: a b c", "right: a b c"];
    for text in [
        "left == right",
        "left[:, None] != right",
        "concat((left, right))",
        "where(v > 0, left, right)",
        "stack((left, right))",
        "searchsorted(sort(left), right)",
        "isin(left, right)",
        "array_equal(left, right)",
        "let x = flip(left); x == right; output y = right == 'c'",
        // A text of the other column, before they meet.
        "(left == 'c') & (left == right)",
    ] {
        assert_eq!(joined(text), both, "{text}");
    }
    let all = ["left: a b c x y", "right: a b c x y", "other: a b c x y"];
    assert_eq!(joined("(left == right) & (right == other)"), all);
    for text in
        ["left == 'a'", "segment_sum(v, left); n = segment_sum(v, right)", "left == left[::-1]", "v + 1"]
    {
        assert_eq!(joined(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn results_that_are_text_are_known() {
    let resolved =
        resolve("a = left[::-1]; b = left == 'a'; c = v; d = left.astype(i64); e = v[argsort(left)]");
    let texts = resolved.unwrap().texts.results;
    assert_eq!(texts, [("a".into(), "left".into())]);
}

#[test]
fn codes_are_not_numbers() {
    for text in ["v[left]", "left.T + 1", "left == 1", "left[None] * v", "concat((left, v))", "sum(left[1:])"]
    {
        let message = resolve(text).unwrap_err();
        assert!(message.contains("expected numbers, found a column of text"), "{text}: {message}");
    }
    for text in [
        "isin(left, v)",
        "isin(v, left)",
        "array_equal(left, v)",
        "digitize(left, [1, 2])",
        "interp(left, v, v)",
    ] {
        let message = resolve(text).unwrap_err();
        assert!(message.contains("expected numbers, found a column of text"), "{text}: {message}");
    }
    for text in ["left.astype(bool)", "where(bool(left), v, 0)", "left[1:].astype(bool).any()"] {
        let message = resolve(text).unwrap_err();
        assert!(message.contains("of which this dtype holds too few"), "{text}: {message}");
    }
    assert!(resolve("left.astype(u8) + u8(left) + left.astype(f32)").is_ok());
    let message = resolve("left == 'z'").unwrap_err();
    assert!(message.contains("unknown column value `z`"), "{message}");
    let message = resolve("(left == right) & (left == 'x')").unwrap_err();
    assert!(message.contains("unknown column value `x`"), "{message}");
}

/// Who cannot give other codes must give columns of the same texts.
#[test]
fn without_other_codes_different_texts_do_not_meet() {
    let [left, right] = [["a", "b"], ["b", "c"]].map(|names| names.map(Box::from));
    let program = Program::parse("texts", "left == right").unwrap();
    let same = [given("left", Some(&left)), given("right", Some(&left))];
    assert!(program.resolve_with(&same).is_ok());
    let different = [given("left", Some(&left)), given("right", Some(&right))];
    let message = program.resolve_with(&different).unwrap_err().to_string();
    assert!(message.contains("stand for different texts"), "{message}");
}
