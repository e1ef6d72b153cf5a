//! Columns of text with data: what masks, comparisons and groups give, and which axes may not meet.
//!
//! `k` and `v` are a table of three rows, `m` and `w` another one.

use crate::support::numbers;
use broadloom_ir::dtype::DType;
use broadloom_ir::interp::{Array, interpret};
use broadloom_text::{Given, Program, Resolved, TextList};

const K: [&str; 3] = ["b", "d", "a"];
const M: [&str; 3] = ["d", "z", "b"];

fn sorted(texts: &[&str]) -> TextList {
    let mut list: Vec<Box<str>> = texts.iter().map(|text| Box::from(*text)).collect();
    list.sort_unstable();
    list.dedup();
    list.into()
}

fn codes(texts: &[&str], list: &TextList) -> Array {
    let code = |text: &&str| list.iter().position(|known| **known == **text).unwrap() as i64;
    Array::new(&[texts.len()], &texts.iter().map(code).collect::<Vec<i64>>())
}

fn resolve(program: &str) -> Result<Resolved, String> {
    let [k, m] = [sorted(&K), sorted(&M)];
    let given = |name, dtype, shape, names| Given { name, dtype, shape, rows: None, names };
    let inputs = [
        given("k", DType::I64, &[3], Some(&*k)),
        given("m", DType::I64, &[3], Some(&*m)),
        given("v", DType::I64, &[3], None),
        given("w", DType::I64, &[3], None),
        given("c", DType::Bool, &[3], None),
    ];
    let program = Program::parse("groups", program).map_err(|mistakes| format!("{mistakes:#}"))?;
    program.resolve_in_full(&inputs).map_err(|mistakes| format!("{mistakes:#}"))
}

/// The elements of the last result, and its texts if it is text.
#[track_caller]
fn gives(program: &str, elements: &[f64]) {
    let resolved = resolve(program).unwrap_or_else(|message| panic!("{program}\n{message}"));
    let list = |name: &str, texts: &[&str]| {
        let joined = resolved.texts.joined.iter().find(|(of, _)| **of == *name);
        joined.map_or_else(|| sorted(texts), |(_, texts)| texts.clone())
    };
    let arrays: Vec<Array> = (resolved.graph.inputs().iter())
        .map(|input| match &*input.name {
            "k" => codes(&K, &list("k", &K)),
            "m" => codes(&M, &list("m", &M)),
            "v" => Array::new(&[3], &[1i64, 2, 3]),
            "w" => Array::new(&[3], &[10i64, 20, 30]),
            _ => Array::new(&[3], &[true, false, true]),
        })
        .collect();
    let results = interpret(&resolved.graph, &arrays, true);
    let results = results.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert_eq!(numbers(results.last().unwrap()), elements, "{program}");
}

#[track_caller]
fn refuses(program: &str, because: &[&str]) {
    let message = resolve(program).map(|resolved| resolved.graph.to_string()).expect_err(program);
    for because in because {
        assert!(message.contains(because), "{program}: expected {because}\n{message}");
    }
}

/// Positions mean different groups.
#[test]
fn groups_of_different_texts_do_not_meet() {
    for program in [
        "segment_sum(v, k) + segment_sum(w, m)",
        "segment_mean(v, k) / segment_mean(w, m)",
        "maximum(segment_max(v, k), segment_max(w, m))",
        "segment_count(k) == segment_count(m)",
        "let a = segment_sum(v, k); let b = segment_sum(w, m); a - b",
        "segment_sum(v, k)[:2] + segment_sum(w, m)[1:]",
        "segment_sum(v, k)[::-1] + segment_sum(w, m)",
        "segment_sum(v, k)[:, None] + segment_sum(w, m).reshape(3, 1)",
        "sqrt(segment_sum(v, k)).astype(f32) * cumsum(segment_sum(w, m))",
        "dot(segment_sum(v, k), segment_sum(w, m))",
        "segment_sum(v, k) @ segment_sum(w, m)",
        "stack((segment_sum(v, k), segment_sum(w, m)))",
        "column_stack((segment_sum(v, k), segment_sum(w, m)))",
        "where(c[0], segment_sum(v, k), segment_sum(w, m))",
        "array_equal(segment_sum(v, k), segment_sum(w, m))",
        "isclose(segment_sum(v, k), segment_sum(w, m))",
        "segment_sum(v, k)[segment_sum(w, m) > 10]",
        "segment_sum(v, k).at[:2].set(segment_sum(w, m)[:2])",
        "segment_sum(v, k)[m.astype(i64)]",
        "take(segment_sum(v, k), m[::-1].astype(i32))",
        "segment_sum(v[:, None] * v, k)[m[c].astype(i64)]",
        "segment_sum(v, k).at[m.astype(i64)].add(w)",
        "segment_sum(v[:, None] * v, k) - segment_sum(w[:, None] * v, m)",
        "segment_sum(v, k[::-1]) + segment_sum(w, m)",
        "for a, b in zip(segment_sum(v, k), segment_sum(w, m)) with s = 0\nnext s = s + a * b\nend\ny = s",
        "for t in range(2) with s = segment_sum(v, k)\nnext s = s + segment_sum(w, m)\nend\ny = s",
        "for a in segment_sum(v, k) with s = 0\nstack t = a\nend\ny = t + segment_sum(w, m)",
    ] {
        refuses(program, &["the groups of `k`", "the groups of `m`", "isin("]);
    }
}

#[test]
fn groups_do_not_meet_rows() {
    for program in [
        "segment_sum(v, k) + w",
        "v - segment_mean(v, k)",
        "w[::-1] * segment_sum(v, k)",
        "segment_sum(segment_sum(v, k), m)",
        "segment_sum(w, k)[c]",
        "where(c, segment_sum(v, k), 0)",
    ] {
        refuses(program, &["the groups of `k`", "the rows of `", "k.astype(i64)"]);
    }
    // What the message says to write.
    gives("v - segment_sum(v, k)[k.astype(i64)]", &[0.0, 0.0, 0.0]);
    gives("segment_sum(v, k) + segment_sum(w, k)", &[33.0, 11.0, 22.0]);
    gives("segment_sum(v, k) + w[arange(len(w))]", &[13.0, 21.0, 32.0]);
}

/// The groups of both are a, b, d and z.
#[test]
fn groups_of_one_dictionary_meet() {
    for first in ["let both = isin(k, m)", "let both = k == m", "let both = k[:, None] == m"] {
        gives(&format!("{first}; segment_sum(v, k) + segment_sum(w, m)"), &[3.0, 31.0, 12.0, 20.0]);
        gives(&format!("{first}; segment_count(k) - segment_count(m)"), &[1.0, 0.0, 0.0, -1.0]);
    }
    gives("let both = isin(k, m); segment_sum(v, k)[m.astype(i64)]", &[2.0, 0.0, 1.0]);
    gives("segment_sum(v, k)[(m.astype(i64) + 1) % 3]", &[2.0, 3.0, 1.0]);
    // Groups of one column, and axes that do not meet.
    gives("segment_sum(v, k) / segment_count(k)", &[3.0, 1.0, 2.0]);
    gives("segment_sum(v, k) - segment_sum(v, k).mean()", &[1.0, -1.0, 0.0]);
    gives("(segment_sum(v, k)[:, None] * segment_sum(w, m)).sum()", &[360.0]);
    gives("sort(segment_sum(v, k)) - sort(segment_sum(w, m))", &[-9.0, -18.0, -27.0]);
    gives("concat((segment_sum(v, k), segment_sum(w, m)))", &[3.0, 1.0, 2.0, 30.0, 10.0, 20.0]);
    gives("segment_sum(v, k) * [1, 10, 100]", &[3.0, 10.0, 200.0]);
    gives("segment_sum(v, k)[0] + segment_sum(w, m)[0]", &[33.0]);
}

#[test]
fn columns_of_text_are_selected_and_compared() {
    // Texts `b a`, of which a is the first.
    gives("k[c]", &[1.0, 0.0]);
    gives("compress(c, k)", &[1.0, 0.0]);
    gives("k.compress(c)", &[1.0, 0.0]);
    gives("extract(c, k)", &[1.0, 0.0]);
    gives("k[k == 'b']", &[1.0]);
    gives("k[v > 1] == 'a'", &[0.0, 1.0]);
    gives("(k[c] == 'a').sum()", &[1.0]);
    gives("segment_count(k[v > 1])", &[1.0, 0.0, 1.0]);
    gives("segment_sum(v[c], k[c])", &[3.0, 1.0, 0.0]);
    gives("stack((k, k), axis=1)[c]", &[1.0, 1.0, 0.0, 0.0]);
    gives("k.at[c].set(k[0])", &[1.0, 2.0, 1.0]);
    // Its numbers would be taken for those of groups.
    for distinct in
        ["unique(k)", "unique(k[c], return_counts=True)[1]", "unique_inverse(k)[1]", "unique_values(k)"]
    {
        refuses(distinct, &["expected numbers, found a column of text"]);
    }
    // Of a, b, d and z: the texts b and d.
    gives("intersect1d(k, m)", &[1.0, 2.0]);
    gives("union1d(k, m)", &[0.0, 1.0, 2.0, 3.0]);
    gives("isin(k, 'a')", &[0.0, 0.0, 1.0]);
    gives("isin(k, ['a', 'b'])", &[1.0, 0.0, 1.0]);
    gives("isin(k, ('a', 'b'), invert=True)", &[0.0, 1.0, 0.0]);
    gives("k.isin(['d'])", &[0.0, 1.0, 0.0]);
    gives("array_equal(k, ['b', 'd', 'a'])", &[1.0]);
    gives("array_equal(k, ['b', 'd', 'd'])", &[0.0]);
    gives("array_equal(k, 'b')", &[0.0]);
    gives("array_equal(k[0], 'b')", &[1.0]);
    gives("equal(k, 'b')", &[1.0, 0.0, 0.0]);
    gives("not_equal('b', k)", &[0.0, 1.0, 1.0]);
    gives("k == ['b', 'a', 'a']", &[1.0, 0.0, 1.0]);
    gives("k[:, None] == ['b', 'a']", &[1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    gives("where(k == 'b', v, 0)", &[1.0, 0.0, 0.0]);
    gives("let both = k == m; isin(k, ['z', 'd'])", &[0.0, 1.0, 0.0]);
    refuses("isin(k, ['a', 'x'])", &["unknown column value `x`"]);
    refuses("isin(k, ['a', 1])", &["expected"]);
    refuses("isin(v, ['a'])", &["expected"]);
    let texts = |program: &str| resolve(program).unwrap().texts.results;
    assert_eq!(texts("x = k[c]; y = sort(k)"), [("x".into(), "k".into()), ("y".into(), "k".into())]);
}

#[test]
fn columns_of_text_in_loops() {
    gives("for a, b in zip(k, m) with n = 0\nnext n = n + (a == b)\nend\ny = n", &[0.0]);
    gives("for a in k with n = 0\nnext n = n + where(a == 'b', 1, 10)\nend\ny = n", &[21.0]);
    gives("for a in k with last = k[0]\nnext last = a\nend\ny = last == 'a'", &[1.0]);
    gives("for a in k with n = 0\nstack t = a\nend\ny = t[::-1]", &[0.0, 2.0, 1.0]);
    gives(
        "for a, b in zip(k, m) with n = 0\nstack t = a\nstack u = b\nend\ny = t == u[::-1]",
        &[1.0, 0.0, 0.0],
    );
    for program in [
        "for a in k with n = 0\nnext n = n + a\nend\ny = n",
        "for a in k with n = k[0]\nnext n = 1\nend\ny = n",
        "for a in k with n = 0\nstack t = a\nend\ny = t + 1",
        "for t in range(k[0]) with n = 0\nnext n = n + 1\nend\ny = n",
    ] {
        refuses(program, &["expected numbers, found a column of text"]);
    }
}

/// A code is a number only by `.astype(i64)`.
#[test]
fn codes_are_not_sizes_and_no_other_numbers() {
    for program in [
        "v[:k[0]]",
        "v[k[0]:]",
        "v[k[0]::-1]",
        "w[k[0]:m[0]]",
        "zeros(k[0])",
        "ones((k[0], 2))",
        "full((k[0], 2), 1.5)",
        "arange(k[0])",
        "arange(0, k[0])",
        "eye(k[0])",
        "tri(2, k[0])",
        "linspace(0, 1, k[0])",
        "repeat(v, k[0])",
        "repeat(v, k)",
        "tile(v, k[0])",
        "tile(v, (k[0], 2))",
        "roll(v, k[0])",
        "pad(v, k[0])",
        "pad(v, (1, k[0]))",
        "as_size(k[0]) + 1",
        "broadcast_to(v, (k[0], 3))",
        "v.reshape(k[0], 3)",
        "split(v, k[0])[0]",
        "bincount(v, minlength=k[0])",
        "segment_sum(v, v, k[0])",
        "sliding_window_view(v, k[0])",
        "for t in range(as_size(k[0])) with n = 0\nnext n = n + 1\nend\ny = n",
        "k.view(i64)",
        "k.view(u64)",
        "view(k[1:], dtype=i64)",
        "k.view(i64) == m.view(i64)",
        "array(k, dtype=f64)",
        "full(2, k[0], dtype=f64)",
    ] {
        let message = resolve(program).map(|resolved| resolved.graph.to_string()).expect_err(program);
        let reasons = ["found a column of text", "takes one integer as", "takes a number of parts"];
        assert!(reasons.iter().any(|of| message.contains(of)), "{program}\n{message}");
    }
    gives("v[:k[0].astype(i64)]", &[1.0]);
    gives("arange(k[1].astype(i64))", &[0.0, 1.0]);
}

#[test]
fn methods_have_the_order_of_numpys() {
    // NumPy: array([1, 2, 3]).compress([True, False, True]) is [1, 3].
    gives("v.compress(c)", &[1.0, 3.0]);
    gives("v.compress(condition=c)", &[1.0, 3.0]);
    gives("v.compress([0, 1], axis=0)", &[2.0]);
    gives("v.compress([0, 1])", &[2.0]);
    gives("compress([0, 1], v)", &[2.0]);
    gives("extract([1, 1], v)", &[1.0, 2.0]);
    gives("stack((v, w), axis=1).compress([False, True], 1)", &[10.0, 20.0, 30.0]);
    gives("stack((v, w)).compress([False, True], axis=-2)", &[10.0, 20.0, 30.0]);
    gives("compress(c, v)", &[1.0, 3.0]);
    for (program, instead) in [
        ("v.where(c, 0)", "where(condition, x, y)"),
        ("v.extract(c)", "extract(condition, x)"),
        ("v.polyval(w)", "polyval(p, x)"),
        ("v.lfilter([1], [1])", "lfilter(b, a, x, axis)"),
        ("v.linear_recurrence(w)", "linear_recurrence(a, x, axis, initial)"),
    ] {
        refuses(program, &["unknown method", instead]);
    }
}

/// NumPy's arguments of ufuncs say what to write.
#[test]
fn keywords_of_ufuncs_say_what_to_write() {
    for (program, help) in [
        ("add(v, w, where=c)", "where(m, add(x, y), 0)"),
        ("sqrt(v, where=c)", "where(m, add(x, y), 0)"),
        ("add(v, w, casting='unsafe')", "x.astype(i64)"),
        ("add(v, w, order='C')", "layouts do not matter"),
        ("ravel(stack((v, w)), order='F')", "x.T.ravel()"),
        ("add(v, w, subok=True)", "no subclasses"),
        ("array([1, 2], copy=True)", "nothing is shared"),
        ("zeros(3, like=v)", "results are tensors"),
    ] {
        refuses(program, &["unknown keyword argument", help]);
    }
}

/// There is one group for each text, and no other one that could have the empty text as its name.
#[test]
fn groups_are_as_many_as_texts() {
    for program in
        ["segment_sum(v, k, 5)", "segment_count(k, 2)", "segment_mean(v, k[c[::-1]][:0], segments=4)"]
    {
        refuses(program, &["has 3 groups here", "leave out `segments`"]);
    }
    gives("segment_sum(v, k, 3)", &[3.0, 1.0, 2.0]);
    gives("segment_sum(v, k.astype(i64), 5)", &[3.0, 1.0, 2.0, 0.0, 0.0]);
}

/// Floats hold all positions only up to their digits: 2,048 of f16, 256 of bf16.
#[test]
fn codes_keep_apart_in_other_dtypes() {
    for (count, dtype, is_held) in [
        (2049, "f16", true),
        (2050, "f16", false),
        (257, "bf16", true),
        (258, "bf16", false),
        (256, "u8", true),
        (257, "u8", false),
        (3000, "f32", true),
        (3000, "i16", true),
    ] {
        let names: Vec<Box<str>> = (0..count).map(|number| format!("{number:05}").into()).collect();
        let given = Given { name: "k", dtype: DType::I64, shape: &[3], rows: None, names: Some(&names) };
        for text in [format!("k.astype({dtype})"), format!("{dtype}(k)"), format!("k[1:].astype({dtype})")] {
            let program = Program::parse("codes", &text).unwrap();
            let refused = program.resolve_with(&[given]).err().map(|mistakes| mistakes.to_string());
            let says = refused.as_ref().is_some_and(|message| message.contains("holds too few"));
            assert_eq!((refused.is_none(), says), (is_held, !is_held), "{text}, {count}: {refused:?}");
        }
    }
}
