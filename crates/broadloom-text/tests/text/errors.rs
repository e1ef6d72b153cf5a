//! The text of every kind of mistake, whole.

use crate::support::mistakes;
use broadloom_ir::dtype::DType;
use broadloom_text::{Given, Limits, Problem, Program};

/// Programs with a mistake; `P...` are mistakes of texts, the others the graph's.
const PROGRAMS: &[&str] = &[
    // P001
    "x $ y",
    "1 +",
    "f(1",
    "[1, 2",
    "input x f32",
    "input x: f32[n, 3",
    "symbols n,",
    "y = = 3",
    "abs(x=1, 2)",
    "(1)(2)",
    "assume n",
    // P002
    "input x: f32[n]\ninput y: f32[n]\noutput z = x > 0 and y > 0",
    "input x: f32[n]\noutput z = x > 0 or x < -1",
    "input x: f32[n]\noutput z = not x > 0",
    "input x: f32[n]\noutput z = (x > 0) && (x < 1)",
    "input x: f32[n]\noutput z = (x > 0) || (x < 1)",
    "input x: f32[n]\noutput z = !x",
    "input x: f32[n]\noutput z = 0 < x < 1",
    "input x: f32[n]\noutput z = x > 0 & x < 1",
    "input x: f32[n]\noutput z = 2 * x <= -1 | abs(x) == 3",
    "input x: f32[n]\noutput z = 0 < (x & x) < 1",
    "input x: f32[n]\noutput z = (x > 0) & x",
    "input x: f32[n]\noutput z = ~x",
    "input x: f32[n]\ninput y: f32[n]\noutput z = max(x, y)",
    "input x: f32[n]\noutput z = np.min(x + 1, 0.5, x)",
    "assume 0 <= n <= 4",
    "input a: f32[n, n]\noutput c = a * 'ij'",
    "input x: f32[n]\noutput z = where(x = 1, 2, 3)",
    "input x: f32[n]\noutput z = (x = 1)",
    "map(lambda v: v, 1)",
    "input x: f32[n]\nx += 1",
    "input x: f32[n]\noutput z = x if x > 0 else 0",
    "input x: f32[n]\noutput z = sum(v for v in x)",
    "f\"{x}\"",
    "'text'",
    "import numpy",
    "{1: 2}",
    "1 is 2",
    // P003
    "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))",
    "1000000000000000000000000000000000000000000000000000000000000000000",
    // P004
    "1 // 0",
    "1e400",
    "200000000000000000000000000000000000000000",
    "2 ** 200",
    "1.5 & 1",
    "1 << -1",
    "(-2) ** 0.5",
    // P005
    "input obs: f32[n]\noutput y = sin(osb)",
    "input x: f32[n]\noutput y = argmni(x)",
    "input x: f32[n]\noutput y = x.smu()",
    "input x: f32[n]\noutput y = sum(x, axes_=0)",
    "input x: f32[n]\noutput y = sum(x, out=x)",
    "input x: f32[n]\noutput y = add(x, x, x)",
    "input x: f32[n]\noutput y = sum(x, 0, None, x)",
    "input x: f32[n]\noutput y = max(x, dtype=f64)",
    "input x: flaot32[n]\noutput y = x",
    "symbols rows\ninput x: f32[row]\noutput y = x",
    "input x: f32[n]\nassign xx = x",
    "input x: f32[n]\noutput y = divmod(x, 2)",
    "input x: f32[n]\noutput y = fillna(x, 2)",
    "input x: f32[n]\noutput y = np.meen(x)",
    "input x: f32[n]\noutput y = segment_std(x, x)",
    "input x: f32[n]\noutput y = x + u8",
    "input x: f32[n]\noutput y = sum",
    "input x: f32[n]\noutput y = x.sum",
    // P006
    "input x: f32[n]\nlet x = 1",
    "a = 1; a = 2",
    // P007
    "input x: f32[n]\noutput y = sum()",
    "input x: f32[n]\noutput y = sin(x, x, x)",
    "input x: f32[n]\noutput y = sum(x, axis=0, axis=0)",
    "input x: f32[n]\noutput y = concat(x, x)",
    "input x: f32[n, n]\noutput y = min(x, where=x > 0)",
    "input x: f32[n]\noutput y = norm(x, 3)",
    "input x: f32[n]\noutput y = topk(x)",
    "input x: f32[n]\noutput y = sort(x, kind='bubble')",
    "input x: f32[n]\noutput y = searchsorted(x, 1, side='middle')",
    "input x: f32[n]\noutput y = quantile(x, 0.5, method='mean')",
    "input x: f32[n]\noutput y = quantile(x, x)",
    // P008
    "input x: f32[n]\noutput y = x + [1, 2]",
    "input x: f32[n]\noutput y = x.reshape(1.5)",
    "input x: f32[n]\noutput y = x[1.5]",
    "input x: f32[n]\noutput y = x[::n]",
    "input x: f32[n]\noutput y = x.sum(axis=0.5)",
    "input x: f32[n]\noutput y = x.sum(keepdims=1)",
    "input x: f32[n]\noutput y = x.astype(3)",
    "input x: f32[n]\noutput y = linspace(x, 1, 3)",
    "input x: f32[n]\noutput y = nan_to_num(x, nan=n)",
    "assume 2*n % 3 == 0",
    // P009
    "",
    "input x: f32[n]",
    "assume n % 3 == 1",
    "assume n != 3",
    "input x: f32[n, 3]\noutput y = x[..., ...]",
    "input x: f32[n]\nx.sum(); x",
    // S001
    "input a: f32[4, 3]\ninput b: f32[4]\noutput z = a + b",
    "symbols n, k\ninput obs: f32[n, 3]\ninput codes: f32[k, 3]\nlet diff = codes - obs\noutput y = sum(diff ** 2)",
    "input x: f32[5, 2, 4, 1]\ninput y: f32[3, 1, 1]\noutput z = 2 * (sqrt(x) - y.exp())",
    "input x: f32[2, 3]\noutput y = broadcast_to(x, (4, 3))",
    "input x: f32[4, 3]\ninput y: f32[3, 2]\noutput z = concat([x, y])",
    "input x: f32[n, 4]\noutput y = x / x.sum(axis=1)",
    "symbols n\nassume n >= 4, n == 2\ninput x: f32[n]\noutput y = x",
    // S002
    "symbols n, m\ninput x: f32[n]\ninput y: f32[m]\noutput z = x * y",
    "input x: f32[n, 6]\noutput y = x.reshape(5)",
    // S003
    "input x: f32[1, 3]\ninput y: f32[4, 3]\nassign x = y",
    // S004 to S013
    "input x: f32[n, 3]\noutput y = x.reshape(2, -1)",
    "input x: f32[n, 3]\noutput y = x.squeeze(0)",
    "input x: f32[n, 3]\noutput y = x.sum(axis=2)",
    "input x: f32[3]\noutput y = x[3]",
    "input x: f32[3]\noutput y = x[:, 0]",
    "input x: f32[3]\noutput y = x[::0]",
    "input x: f32[3]\noutput y = broadcast_to(x, ())",
    "input x: f32[n - 5 - n]\noutput y = x",
    "input x: f32[0]\noutput y = x.max()",
    "symbols n, m\ninput x: f32[n*m]\noutput y = x",
    "input x: f32[n]\nassume n >= 3\noutput y = x",
    // Sums of products
    "input x: f32[n, 64]\ninput w: f32[10, 64]\noutput y = x @ w",
    "input x: f32[n, 64]\ninput w: f32[n, 64]\noutput y = (x + 1) @ (w * 2)",
    "input x: f32[b, n, 64]\ninput w: f32[b, 10, 64]\noutput y = x @ w",
    "input x: f32[4, n, 64]\ninput w: f32[b, 64, 10]\noutput y = x @ w",
    "input x: f32[n]\noutput y = x @ 2",
    "input x: f32[n, 3]\noutput y = tensordot(x, x, axes=([0], [0, 1]))",
    "input x: f32[n, 3]\noutput y = tensordot(x, x, axes=1.5)",
    "input x: f32[n, 3]\noutput y = tensordot(x, x, 3)",
    "input x: f32[n, 3]\noutput y = einsum(x, 'ij')",
    "input x: f32[n, 3]\noutput y = einsum('ij,kj->ik', x)",
    "input x: f32[n, 3]\noutput y = einsum('ij->ik', x)",
    "input x: f32[n, 3]\noutput y = einsum('i->i', x)",
    "input x: f32[n, 3]\noutput y = einsum('ii', x)",
    "input x: f32[n, 3]\ninput y: f32[4, n]\noutput z = einsum('ij,jk', x, y)",
    "input x: f32[n, 3]\noutput y = vdot(x, 1)",
    // The best elements
    "input x: f32[n, 3]\noutput y = topk(x, 5)",
    "input x: f32[n, 3]\noutput y = topk(x, 100, axis=0)",
    // What is in order
    "input x: f32[n, 3]\noutput y = sort(x, axis=2)",
    "input x: f32[]\noutput y = sort(x)",
    "input x: f32[n, 3]\noutput y = searchsorted(x, 1)",
    "input x: f32[n, 3]\noutput y = quantile(x, 50)",
    "input x: f32[n, 3]\noutput y = percentile(x, [50, 101])",
    "input x: f32[0, 3]\noutput y = median(x, axis=0)",
    // T001 to T005
    "input x: bool[n]\noutput y = -x",
    "input x: u8[n]\noutput y = x + 300",
    "u8(300)",
    "input x: i32[n]\noutput y = x ** -2",
    "input x: f32[n]\noutput y = x ^ 2",
    "input x: f32[n]\noutput y = x[x]",
    "input x: i32[n]\nassign x = x + 0.5",
    // Positions.
    "input x: f32[n, 3]\ninput i: i64[n]\noutput y = x[i, i[1:]]",
    "input x: f32[n]\noutput y = x[x > 0] + x[x < 1]",
    "input x: f32[n, 3]\ninput m: bool[3]\noutput y = x[m]",
    "input x: f32[n]\noutput y = zeros(x.sum())",
    "input x: f32[n]\noutput y = zeros((x > 0).astype(i64))",
    "input x: f32[n, 3]\noutput y = x[:, [0, 3]]",
    "input x: f32[n, 3]\noutput y = x.reshape(x.shape[2])",
    "input x: f32[n]\noutput y = argmin_with_value(x)",
    "input x: f32[n, 3]\noutput y = norm(x, 2)",
    "input x: f32[n]\noutput y = round(x, 40)",
    "input x: f32[n]\noutput y = add(2 * x, 1, dtype=i32)",
    "input x: f32[n]\noutput y = less(x, 1, dtype=i32)",
    "input x: f32[3]\noutput y = partition(x, 5)",
    "arange(0, 1000, 300, dtype=u8)",
    "input x: f32[n, 3]\noutput y = sum(x, where=[True, False])",
    "input x: f32[2, 3]\noutput y = x.sliding_window_view(4, 1)",
    "input x: f32[n]\noutput y = arange(x, 3)",
    "output y = array([[1, 2], [3]])",
    "input x: f32[4, 3]\ninput y: f32[4]\noutput z = multiply(x, y, axis=1)",
    // What is found in the end, at its place.
    "input w: f32[_]\ninput v: f32[_]\nlet a = exp(w + w)\noutput y = a.reshape(2, -1)\noutput z = v.reshape(3, -1)",
    "symbols n, m\ninput x: f32[n]\noutput y = x + 1\noutput z = x + sum(arange(m))",
    "input x: f32[n]\noutput x = x + 1\nassign x = x + 2",
    // Several at once, without those that follow from others.
    "symbols n m\ninput x: f32[n]\nlet y = (x +\noutput z = y + sinn(y)\ninput q: f32[m\noutput r = q $ 2; output s = cso(x)",
    "symbols n, m\nassume n = m\ninput x: f32[n]\ninput y: f32[m]\noutput z = x + y\noutput w = summ(x)",
    "assume k >= 1 + nn, 2 / k == 1\ninput x: f32[k]\noutput a = x + b",
    // N002, and several at once
    "input x: f32[n]\ninput x: f64[n]\noutput y = x",
    "input x: f32[n]\noutput y = sinn(x)\noutput z = x +\noutput w = x.sum(axis=1)",
];

#[test]
fn every_kind_of_mistake() {
    let mut all = String::new();
    for text in PROGRAMS {
        all += &format!("{text}\n----\n{}\n\n================\n", mistakes(text));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn headlines_have_their_places() {
    let mistakes = Program::parse("model.bl", "input x: f32[n]\noutput y = x[\n 1.5]\n").unwrap().resolve();
    let mistakes = mistakes.unwrap_err();
    assert_eq!(
        mistakes.to_string(),
        "model.bl:3:2: expected an integer, a range, `None`, `...` or a tensor of integers, found a number"
    );
    assert_eq!(mistakes.position(&mistakes.as_slice()[0]), (3, 2));
}

#[test]
fn given_inputs_need_no_declaration() {
    let program = Program::parse("expression", "a = x + y; b = a * n").unwrap();
    assert_eq!(program.missing_inputs(), ["x", "y", "n"]);
    let given = |name, shape| Given { name, dtype: DType::F32, shape, rows: None, names: None };
    let graph = program.resolve_with(&[given("x", &[4, 3]), given("y", &[3]), given("n", &[])]).unwrap();
    assert_eq!(broadloom_text::signature(&graph), "a: f32[4, 3]\nb: f32[4, 3]\n");
    let mistakes =
        program.resolve_with(&[given("x", &[4, 3]), given("y", &[4]), given("n", &[])]).unwrap_err();
    insta::assert_snapshot!(format!("{mistakes:#}"));
}

/// Warnings point into the text, at the operation that may not be meant.
#[test]
fn warnings_have_places() {
    let text = "symbols n\ninput x: f32[n, 1]\ninput y: f32[n]\nlet z = x * y\noutput w = z + 1";
    let resolution = Program::parse("w.bl", text).unwrap().resolve_in_full(&[]).unwrap();
    let warnings = resolution.warnings.unwrap();
    let [warning] = warnings.as_slice() else { panic!("{warnings:#}") };
    assert_eq!(&text[warning.span.start..warning.span.end], "x * y");
    let frame = format!("{warnings:#}");
    assert!(frame.starts_with("warning[") && frame.contains("--> w.bl:4:9"), "{frame}");
    assert!(frame.contains("w.bl:2:7") && frame.contains("w.bl:3:7"), "{frame}");
    let quiet = Program::parse("w.bl", "input x: f32[n]\nx + 1").unwrap().resolve_in_full(&[]).unwrap();
    assert!(quiet.warnings.is_none());
}

#[test]
fn limits_can_be_set() {
    let mut limits = Limits::default();
    limits.length = 10;
    assert!(
        Program::parse_within("t", "1 + 1 + 1 + 1", &limits).unwrap_err().to_string().contains("10 bytes")
    );
    limits = Limits::default();
    limits.tokens = 3;
    assert!(
        Program::parse_within("t", "1 + 1 + 1 + 1", &limits).unwrap_err().to_string().contains("3 tokens")
    );
    limits = Limits::default();
    limits.nodes = 2;
    let program = Program::parse_within("t", "input x: f32[n]\nsin(cos(tan(x)))", &limits).unwrap();
    assert!(program.resolve().unwrap_err().to_string().contains("2 expressions"));
}

/// Every change that a mistake offers is text of the language, and makes the program right.
#[test]
fn helps_can_be_pasted() {
    let mut tried = 0;
    for (declarations, expression) in [
        ("input a: f32[4, 3]\ninput b: f32[4]", "a + b"),
        ("input a: f32[4]\ninput b: f32[4, 3]", "a * b"),
        ("input a: f32[n, 3]\ninput b: f32[3, n]", "a + b"),
        ("input a: f32[n, 3]\ninput b: f32[m, 3]", "a - b"),
        ("input a: f32[n]\ninput b: f32[5]", "a / b"),
        ("input a: f32[n, 4]\ninput b: f32[n]", "maximum(a, b)"),
        ("input a: f32[n, m]\ninput b: f32[n]", "broadcast_to(b, (n, m))"),
        ("input a: f32[2, 3, 4]\ninput b: f32[4, 2, 3]", "a + b"),
        ("input a: f32[6]\ninput b: f32[2, 3]", "a + b"),
        ("input a: f32[n, 4]", "a / a.sum(axis=1)"),
        ("input a: f32[n, 4]", "a / (a*2).sum(axis=1)"),
        ("input a: f32[n, 4]", "a + -a[:, 0]"),
        ("input a: f32[n, 4]\ninput i: i32[n]", "(a + 1) * (i - 1)"),
        ("input a: f32[n, 4]\ninput i: i32[n]", "a * i"),
        ("input a: f32[n, 4]", "a - a.max(axis=(0, 1), keepdims=True).squeeze(0) / a.mean(axis=1)"),
        ("input a: f32[n, 3]", "a.reshape(2, -1)"),
        ("input a: f32[n, 3]", "a.squeeze(0)"),
        ("input a: bool[n]", "-a"),
        ("input a: f32[n]\ninput b: f32[n]", "take(a, b)"),
        ("input a: f32[n]", "a ^ 2"),
        ("input a: f32[n]", "1.5 ^ (a + 1)"),
        ("input a: f32[n]\ninput b: i64[n]", "(a + 1) ^ -b"),
        ("input a: bool[n]", "a - True"),
        ("input a: bool[n]", "True - a"),
    ] {
        let text = format!("symbols n, m\n{declarations}\noutput y = {expression}");
        let mistakes = Program::parse("t", &text).unwrap().resolve().unwrap_err();
        let Problem::Graph(diagnostic) = &mistakes.as_slice()[0].problem else { panic!("{mistakes:#}") };
        for code in diagnostic.helps.iter().filter_map(|help| help.code.as_deref()) {
            tried += 1;
            let mended = match code.strip_prefix("assume ") {
                Some(fact) => format!("symbols n, m\nassume {fact}\n{declarations}\noutput y = {expression}"),
                None => format!("symbols n, m\n{declarations}\noutput y = {code}"),
            };
            let result = Program::parse("t", &mended).and_then(|program| program.resolve());
            assert!(result.is_ok(), "{text}\n{mended}\n{:#}", result.unwrap_err());
        }
    }
    assert!(tried >= 20, "{tried}");
}

/// What stands in for statistics of groups is text of the language.
#[test]
fn groups_have_other_statistics() {
    for name in ["segment_var", "segment_std", "segment_prod", "segment_any", "segment_all", "segment_size"] {
        let help = broadloom_text::instead(name).unwrap();
        let code = help.split('`').nth(1).unwrap();
        let text =
            format!("symbols n\nparameters groups\ninput x: f64[n]\ninput ids: i64[n]\noutput y = {code}");
        let result = Program::parse("t", &text).and_then(|program| program.resolve());
        assert!(result.is_ok(), "{text}\n{:#}", result.unwrap_err());
    }
}

/// A column may have the name of a dtype: it counts wherever no dtype can stand.
#[test]
fn given_inputs_may_have_names_of_dtypes() {
    let given = |name| Given { name, dtype: DType::F64, shape: &[3], rows: None, names: None };
    for (text, used, signature) in [
        ("u8 + 1", &["u8"][..], "result: f64[3]\n"),
        ("sum(f16)", &["f16"], "result: f64[]\n"),
        ("int.astype(f32)", &["int"], "result: f32[3]\n"),
        ("astype(x, dtype=u8)", &[], "result: u8[3]\n"),
        ("zeros(3, u64) + x.astype(u64)", &[], "result: u64[3]\n"),
        ("sum(x, 0, f64) + u8.astype(u8) + add(x, 1, dtype=f64)", &["u8"], "result: f64[3]\n"),
        ("u8(x)", &[], "result: u8[3]\n"),
        ("\"u8\" * 2", &[], "result: f64[3]\n"),
    ] {
        let program = Program::parse("expression", text).unwrap();
        assert_eq!(program.constants(), used, "{text}");
        let graph = program.resolve_with(&[given("x"), given("u8"), given("f16"), given("int")]);
        let graph = graph.unwrap_or_else(|mistakes| panic!("{text}\n{mistakes:#}"));
        assert_eq!(broadloom_text::signature(&graph), signature, "{text}");
    }
}
