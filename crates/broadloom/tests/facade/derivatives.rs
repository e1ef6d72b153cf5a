//! What derivatives store, how many expressions they take, and in what pieces they run. Their values are tested in
//! broadloom-text and in the oracle.

use broadloom::EvalError;
use broadloom::prelude::*;

/// A loss, and the tensors by which it is derived.
type Loss = fn(&Graph) -> (Tensor, Vec<Tensor>);

/// The sizes of the arrays that a kernel stores.
fn stored(kernel: &Executable) -> Vec<String> {
    kernel.explain().temporaries().into_iter().map(|temporary| temporary.sizes.join(", ")).collect()
}

/// No array has the size of pairs, of windows or of a stretched operand, if the loss itself needs none.
#[test]
fn nothing_of_the_size_of_pairs_is_stored() {
    let losses: &[(&str, &[&str], Loss)] = &[
        ("kernel sum", &["n, m", "m, n"], |g| {
            let [n, m] = g.symbols(["n", "m"]);
            let (x, y) = (g.input::<f32>("x", shape![n, 3]), g.input::<f32>("y", shape![m, 3]));
            let b = g.input::<f32>("b", shape![m]);
            let d = (x.unsqueeze(1) - y).square().sum(-1);
            (((-d).exp() * b).sum([0, 1]), vec![x, y, b])
        }),
        ("nearest code", &["n, k", "k, n"], |g| {
            let (x, c) = (
                g.input::<f32>("x", shape![g.symbol("n"), 3]),
                g.input::<f32>("c", shape![g.symbol("k"), 3]),
            );
            ((x.unsqueeze(1) - c).square().sum(-1).min(1).sum(0), vec![x, c])
        }),
        ("layer norm", &["n, m"], |g| {
            let [n, m] = g.symbols(["n", "m"]);
            let (x, t) = (g.input::<f32>("x", shape![n, m]), g.input::<f32>("t", shape![n, m]));
            let (scale, offset) = (g.input::<f32>("scale", shape![m]), g.input::<f32>("offset", shape![m]));
            let y = x.layer_norm(-1, 1e-5) * scale + offset;
            ((y * t).sum([0, 1]), vec![x, scale, offset])
        }),
        ("softmax cross-entropy", &["n, m"], |g| {
            let [n, m] = g.symbols(["n", "m"]);
            let (x, t) = (g.input::<f32>("x", shape![n, m]), g.input::<f32>("t", shape![n, m]));
            (-(x.log_softmax(-1) * t).sum([0, 1]), vec![x])
        }),
        ("moving average", &["n-31, 32", "n, 32"], |g| {
            let n = g.symbol("n");
            let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n - 31]));
            ((x.sliding_window_view(32, 0).mean(-1) - y).square().sum(0), vec![x])
        }),
        ("stretched", &["n, m"], |g| {
            let [n, m] = g.symbols(["n", "m"]);
            let (x, y) = (g.input::<f32>("x", shape![n, 1]), g.input::<f32>("y", shape![m]));
            ((x * y).sin().sum([0, 1]), vec![x, y])
        }),
    ];
    for (name, forbidden, loss) in losses {
        let g = Graph::new();
        let (loss, by) = loss(&g);
        let slopes: Vec<(String, Tensor)> = (by.iter().enumerate())
            .map(|(number, x)| (format!("slope{number}"), loss.grad([*x])[0]))
            .chain([("loss".to_owned(), loss)])
            .collect();
        let outputs: Vec<(&str, Tensor)> =
            slopes.iter().map(|(name, slope)| (name.as_str(), *slope)).collect();
        let kernel = g.compile(outputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let stored = stored(&kernel);
        let large: Vec<&String> = stored.iter().filter(|sizes| forbidden.contains(&sizes.as_str())).collect();
        assert!(large.is_empty(), "{name} stores {large:?}");
    }
}

/// A step of logistic regression by `grad` has the kernels and arrays of the one that was derived by hand.
#[test]
fn a_gradient_is_the_one_derived_by_hand() {
    let make = |by_hand: bool| {
        let g = Graph::new();
        let [n, d] = g.symbols(["n", "d"]);
        let (x, t) = (g.input::<f32>("x", shape![n, d]), g.input::<f32>("t", shape![n]));
        let w = g.input::<f32>("w", shape![d]);
        let z = x.matmul(w);
        let slope = match by_hand {
            false => (z.softplus() - t * z).mean(0).grad([w])[0],
            true => ((z.sigmoid() - t).unsqueeze(1) * x).mean(0),
        };
        slope.compile().expect("it compiles")
    };
    let [derived, by_hand] = [false, true].map(|by_hand| stored(&make(by_hand)));
    assert_eq!(derived, by_hand);
}

/// Chains, and graphs that read each value twice, derive to a number of expressions in proportion to theirs.
#[test]
fn deriving_is_linear() {
    let nodes = |length: usize| {
        let g = Graph::new();
        let x = g.input::<f64>("x", shape![g.symbol("n")]);
        let y = (0..length).fold(x, |y, at| if at % 2 == 0 { y.sin() } else { y * 1.01 + 0.1 });
        y.sum(0).grad([x])[0].finish().expect("no mistakes").exprs().count()
    };
    assert_eq!(nodes(9000) - nodes(5000), nodes(5000) - nodes(1000));
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    // Two to the power of 64 paths lead to the input.
    let y = (0..64).fold(x, |y, _| y.sin() * y.cos() + y);
    let [slope] = y.sum(0).grad([x]);
    let nodes = slope.finish().expect("no mistakes").exprs().count();
    assert!(nodes < 2000, "{nodes} expressions");
    let run = |x: f64| -> Result<Vec<f64>, EvalError> {
        eval(&[x], |x| {
            let y = (0..64).fold(x, |y, _| y.sin() * y.cos() + y);
            y.sum(0).grad([x])[0]
        })
    };
    let (mut value, mut want) = (0.3_f64, 1.0);
    for _ in 0..64 {
        want *= (2.0 * value).cos() + 1.0;
        value += value.sin() * value.cos();
    }
    let have = run(0.3).expect("it runs")[0];
    assert!((have - want).abs() <= 1e-9 * want.abs(), "{have}, not {want}");
}

/// Rows come and go in chunks, with the bits of one run.
#[test]
fn gradients_of_sums_run_in_chunks() -> Result<(), Box<dyn std::error::Error>> {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, t) = (g.input::<f32>("x", shape![n, 3]), g.input::<f32>("t", shape![n]));
    let w = g.input::<f32>("w", shape![3]);
    let z = x.matmul(w);
    let loss = (z.softplus() - t * z).sum(0);
    let [by_w, by_x] = loss.grad([w, x]);
    let kernel = g.compile([("loss", loss), ("by_w", by_w), ("by_x", by_x)])?;
    let chunked = kernel.in_chunks("n")?;
    assert_eq!(chunked.passes(), 1);
    Ok(())
}

/// Gradients of programs that change arrays.
#[test]
fn changes_derive() -> Result<(), Box<dyn std::error::Error>> {
    let slopes: Vec<f64> = eval(&[1.0, 2.0, 3.0, 4.0], |x| {
        let y = x.at(slice![1..3]).set(x.slice(slice![..2]) * x.slice(slice![2..]));
        y.square().sum(0).grad([x])[0]
    })?;
    // y = [x0, x0 x2, x1 x3, x3]
    assert_eq!(slopes, [2.0 + 2.0 * 3.0 * 3.0, 2.0 * 8.0 * 4.0, 2.0 * 3.0, 2.0 * 8.0 * 2.0 + 8.0]);
    Ok(())
}
