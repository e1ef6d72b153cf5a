//! What cannot be computed in chunks, with the reason and what to do.

use super::compile;
use broadloom::Threads;
use broadloom::prelude::*;

/// The refusal of a program, whole.
fn refused(program: &str, rows: &str) -> String {
    match compile(program, Threads::Calling).in_chunks(rows) {
        Ok(chunked) => panic!("{program} is cut: {chunked:?}"),
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn what_needs_other_rows_is_refused() {
    let cases = [
        ("output a = y[None, :] - y[:, None]", "`subtract`", "two axes of the size `n`", "with its own size"),
        ("output a = y[1:] - y[:-1]", "`slice`", "cuts out rows", "slice the result"),
        ("output a = y[::-1]", "`slice`", "changes their order", "slice the result"),
        (
            "output a = x.at[0].set(0)",
            "`set`",
            "changes rows by their position",
            "with a condition on an input",
        ),
        ("output a = x.reshape(n * 3)", "`reshape`", "mixes rows", "keep the rows as the leading axis"),
        ("output a = x.T", "`permute_dims`", "must be the leading axis", "move the axis to the front"),
        ("output a = take(y, ids)", "`take`", "looks up rows", "with its own size"),
        ("output a = sort(y)", "`sort`", "sorts all rows", "topk(x, k, axis=0)"),
        ("output a = argsort(x, axis=0)", "`argsort`", "sorts all rows", "run on whole arrays"),
        ("output a = median(y)", "`sort`", "sorts all rows", "run on whole arrays"),
        ("output a = searchsorted(y, 1)", "`searchsorted`", "searches among all rows", "with its own size"),
        ("output a = concat([y, y])", "`concat`", "appends rows to other rows", "as further chunks"),
        ("output a = arange(n + 1)", "`arange`", "another way", "run on whole arrays"),
        (
            "output a = max(searchsorted(broadcast_to(sum(y), (n + 1,)), y))",
            "`broadcast_to`",
            "another way",
            "run on whole arrays",
        ),
        (
            "output a = y + take(broadcast_to(sum(y), (n + 1,)), ids)",
            "`broadcast_to`",
            "another way",
            "whole arrays",
        ),
        ("output a = argmax(y[b])", "`argmax`", "numbers selected rows", "select from the result"),
        (
            "output a = arange(len(y[b])) + y[b]",
            "`arange`",
            "numbers selected rows",
            "select from the result",
        ),
        (
            "output a = segment_sum(y[b], ids[b], 5)",
            "`segment_sum`",
            "an order of their own",
            "select from the result",
        ),
        ("output a = topk(y[b], 2)", "`topk`", "numbers selected rows", "select from the result"),
        ("output a = sort(y[b])", "`sort`", "sorts all rows", "run on whole arrays"),
        ("output a = y[b][1:]", "`slice`", "cuts out rows", "slice the result"),
        ("output a = y[:len(y[b])]", "`slice`", "cuts out rows", "slice the result"),
        ("output a = y[b][:, None] - y[b]", "`subtract`", "each row meets every other", "with its own size"),
        (
            "for t in range(len(y[b])) with u = 1.0\n  next u = u * 2\nend\noutput a = y * u",
            "`for`",
            "more than the rows of one chunk",
            "run on whole arrays",
        ),
        (
            "for t in range(len(y)) with u = 1.0\n  next u = u * 2\nend\noutput a = u",
            "`for`",
            "more than the rows of one chunk",
            "run on whole arrays",
        ),
        (
            "output a = cumsum(x[:, w > 0], axis=0)",
            "`compress`",
            "the data of all rows decide a size",
            "run on whole arrays",
        ),
        ("output a = w * 2", "nothing", "no input that the outputs need", "name the symbol"),
    ];
    for (program, op, reason, help) in cases {
        let message = refused(program, "n");
        assert!(
            message.contains("error[C002]") && message.contains(op) && message.contains(reason),
            "{message}"
        );
        assert!(message.contains(help), "{message}");
    }
    let message = refused("output a = y + 1", "m");
    assert!(message.contains("error[C001]: there is no size \"m\""), "{message}");
}

/// A kernel was given no array in place of one that cannot be stretched, and read from address 0.
#[test]
fn what_cannot_be_stretched_is_refused() {
    let g = Graph::new();
    let [n, m, k] = g.symbols(["n", "m", "k"]);
    let or_one = |size| broadloom::Dim::from(size).or_one();
    let x = g.input::<f64>("x", shape![n]);
    let y = g.input::<u8>("y", shape![m]);
    let z = g.input::<u8>("z", shape![k]);
    let w = g.input::<f64>("w", shape![or_one(m), or_one(k)]);
    let long = ArrayView::strided(&[1u8], 0, &[1 << 40], &[0]).unwrap();
    let one = ArrayView::new(&[1.0f64], &[1, 1]).unwrap();
    let fixed = || inputs! { "y" => long.clone(), "z" => long.clone(), "w" => one.clone() };
    // In the part of each chunk, and in the one after all of them.
    for output in [x * w.max(..), w.max(..) + x.max(0)] {
        let whole = g.compile([("a", output), ("b", y.max(0)), ("c", z.max(0))]).unwrap();
        assert_eq!(whole.bind(fixed().named("x", &[1.0f64])).unwrap_err().code(), "S106");
        let chunked = whole.in_chunks("n").unwrap();
        let mut run = chunked.start(fixed()).unwrap();
        assert_eq!(run.push(&[1.0f64]).unwrap_err().code(), "S106");
    }
}

/// Each chunk had to meet what is declared of the number of all rows.
#[test]
fn rows_that_are_tied_to_another_size_are_refused() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    g.declare_equal(2 * n, 3 * m);
    let (x, w) = (g.input::<f64>("x", shape![n]), g.input::<f64>("w", shape![m]));
    let kernel = g.compile([("a", x.max(0)), ("b", w.max(0))]).unwrap();
    let refused = kernel.in_chunks("n").unwrap_err();
    assert!(format!("{refused:#}").contains("equal another size"), "{refused:?}");
}
