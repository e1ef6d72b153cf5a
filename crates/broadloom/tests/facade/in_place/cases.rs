//! Updates that write over what they read, in every way that comes to mind.

use broadloom::prelude::*;

/// Named outputs of a case.
pub type Results = Vec<(&'static str, Tensor)>;

/// A square or rectangular matrix of floats whose sizes are symbols.
pub fn matrix(g: &Graph, name: &str, square: bool) -> Tensor {
    let [n, m] = g.symbols(["n", "m"]);
    g.input::<f32>(name, if square { shape![n, n] } else { shape![n, m] })
}

/// A case: its name, whether its matrices are square, what is assigned, and, of the input "x", whether that is written
/// in place.
pub type Case = (&'static str, bool, fn(&Graph, Tensor) -> Results, Option<bool>);

pub const CASES: &[Case] = &[
    (
        "x += y",
        false,
        |g, x| {
            x.add_(matrix(g, "y", false));
            vec![]
        },
        Some(true),
    ),
    (
        "x = moving sums of x between zeros",
        false,
        |_, x| {
            x.assign(x.pad([(0, 0), (1, 1)], broadloom::Padding::zeros()).sliding_window_view(3, 1).sum(-1));
            vec![]
        },
        None,
    ),
    (
        "x[i] = windows of x that begin before x[i]",
        false,
        |_, x| {
            let begins = x.sliding_window_view(1, 1).squeeze(2);
            x.assign(begins + x.flip(1).sliding_window_view(1, 0).squeeze(-1));
            vec![]
        },
        None,
    ),
    (
        "x = running sums of functions of x, in order",
        false,
        |g, x| {
            x.assign((x + matrix(g, "y", false)).abs().cumsum(1).sort(1));
            vec![]
        },
        None,
    ),
    (
        "x = x in order",
        false,
        |_, x| {
            x.assign(x.sort(1) + x.argsort(0).cast_to(x.dtype().expect("a matrix has a dtype")));
            vec![]
        },
        None,
    ),
    (
        "x = rows of x in order",
        false,
        |_, x| {
            x.assign(x.sort(1));
            vec![]
        },
        None,
    ),
    (
        "x *= x",
        false,
        |_, x| {
            x.multiply_(x);
            vec![]
        },
        Some(true),
    ),
    (
        "x = x",
        false,
        |_, x| {
            x.assign(x);
            vec![]
        },
        Some(true),
    ),
    (
        "x = 2.5",
        false,
        |_, x| {
            x.assign(2.5);
            vec![]
        },
        Some(true),
    ),
    (
        "x = y",
        false,
        |g, x| {
            x.assign(matrix(g, "y", false));
            vec![]
        },
        Some(true),
    ),
    (
        "x = exp(x)",
        false,
        |_, x| {
            x.assign(x.exp());
            vec![]
        },
        Some(true),
    ),
    (
        "x = sin(exp(x) + x)",
        false,
        |_, x| {
            x.assign((x.exp() + x).sin());
            vec![]
        },
        None,
    ),
    (
        "x = x.t()",
        true,
        |_, x| {
            x.assign(x.t());
            vec![]
        },
        Some(false),
    ),
    (
        "x = x + x.t()",
        true,
        |_, x| {
            x.add_(x.t());
            vec![]
        },
        Some(false),
    ),
    (
        "x = x @ x",
        true,
        |_, x| {
            x.assign((x.unsqueeze(2) * x.unsqueeze(0)).sum(1));
            vec![]
        },
        Some(false),
    ),
    (
        "x = flip(x)",
        false,
        |_, x| {
            x.assign(x.flip(1));
            vec![]
        },
        Some(false),
    ),
    (
        "x = flip(x, rows) + x",
        false,
        |_, x| {
            x.add_(x.flip(0));
            vec![]
        },
        Some(false),
    ),
    (
        "x = x shifted",
        false,
        |_, x| {
            x.assign(concat([x.slice(slice![.., 1..]), x.slice(slice![.., ..1])], 1));
            vec![]
        },
        Some(false),
    ),
    (
        "x = rows of x shifted",
        false,
        |_, x| {
            x.assign(concat([x.slice(slice![-1..]), x.slice(slice![..-1])], 0));
            vec![]
        },
        Some(false),
    ),
    (
        "x = x - mean(x)",
        false,
        |_, x| {
            x.subtract_(x.mean(..));
            vec![]
        },
        Some(true),
    ),
    (
        "x = x - mean of rows",
        false,
        |_, x| {
            x.subtract_(x.mean_keepdims(1));
            vec![]
        },
        None,
    ),
    (
        "x = x + sum of columns",
        false,
        |_, x| {
            x.add_(x.sum_keepdims(0));
            vec![]
        },
        None,
    ),
    (
        "x = softmax(x)",
        false,
        |_, x| {
            x.assign(x.softmax(1));
            vec![]
        },
        None,
    ),
    (
        "x = softmax over columns",
        false,
        |_, x| {
            x.assign(x.softmax(0));
            vec![]
        },
        None,
    ),
    (
        "x = standardised",
        false,
        |_, x| {
            x.assign((x - x.mean_keepdims(0)) / (x.std_keepdims(0) + 1));
            vec![]
        },
        None,
    ),
    (
        "x = first row",
        false,
        |_, x| {
            x.assign(x.slice(slice![..1]));
            vec![]
        },
        Some(false),
    ),
    (
        "x = first column",
        false,
        |_, x| {
            x.assign(x.slice(slice![.., ..1]));
            vec![]
        },
        None,
    ),
    (
        "x = last column",
        false,
        |_, x| {
            x.assign(x.slice(slice![.., -1..]));
            vec![]
        },
        Some(false),
    ),
    (
        "swap",
        false,
        |g, x| {
            let y = matrix(g, "y", false);
            x.assign(y);
            y.assign(x);
            vec![]
        },
        None,
    ),
    (
        "rotate",
        true,
        |g, x| {
            let (y, z) = (matrix(g, "y", true), matrix(g, "z", true));
            x.assign(y);
            y.assign(z.t());
            z.assign(x);
            vec![]
        },
        None,
    ),
    (
        "y of old x",
        false,
        |g, x| {
            let y = matrix(g, "y", false);
            x.add_(y);
            y.assign(x.exp() - y);
            vec![]
        },
        None,
    ),
    (
        "outputs of old x",
        false,
        |_, x| {
            x.add_(1);
            vec![("double", x * 2), ("exp", x.exp() + x), ("total", x.sum(..)), ("rows", x.flip(0))]
        },
        None,
    ),
    (
        "outputs of new x",
        false,
        |_, x| {
            let new = x.add_(1);
            vec![("new", new), ("total", new.sum(1)), ("old", x)]
        },
        None,
    ),
    (
        "total += x",
        false,
        |g, x| {
            let total = g.input::<f32>("total", shape![]);
            total.add_(x.sum(..));
            x.multiply_(total);
            vec![]
        },
        None,
    ),
    (
        "means += x",
        false,
        |g, x| {
            let means = g.input::<f64>("means", shape![g.symbol("m")]);
            means.assign(means * 0.9 + x.mean(0) * 0.1);
            vec![("used", means - 1)]
        },
        None,
    ),
    (
        "integers",
        false,
        |g, x| {
            let [n, m] = g.symbols(["n", "m"]);
            let counts = g.input::<i32>("counts", shape![n, m]);
            counts.add_(x.gt(0));
            let bytes = g.input::<u8>("bytes", shape![n, m]);
            bytes.bitwise_xor_(bytes.flip(1));
            let flags = g.input::<bool>("flags", shape![n, m]);
            flags.assign(!flags & x.lt(0));
            let halves = g.input::<f16>("halves", shape![n, m]);
            halves.add_(counts);
            vec![]
        },
        None,
    ),
    (
        "x[0] = 0",
        false,
        |_, x| {
            x.assign(x.at(slice![0]).set(0));
            vec![]
        },
        Some(true),
    ),
    (
        "x[:, 0] = x[:, -1] with an output of the old and the new",
        false,
        |_, x| {
            let new = x.at(slice![.., 0]).set(x.slice(slice![.., -1]));
            x.assign(new);
            vec![("old", x * 2), ("new", new.sum(1))]
        },
        None,
    ),
    (
        "x[1:] += x[:-1]",
        false,
        |_, x| {
            x.assign(x.at(slice![1..]).add(x.slice(slice![..-1])));
            vec![]
        },
        Some(true),
    ),
    (
        "x[::2] = -x[::2]",
        false,
        |_, x| {
            x.assign(x.at(slice![..;2]).set(-x.slice(slice![..;2])));
            vec![]
        },
        None,
    ),
    (
        "x[::-1] = x",
        false,
        |_, x| {
            x.assign(x.at(slice![..;-1]).set(x));
            vec![]
        },
        None,
    ),
    (
        "x[0] = x[1], then x[-1] = x[-2] of the new rows",
        false,
        |_, x| {
            let first = x.at(slice![0]).set(x.slice(slice![-1]));
            x.assign(first.at(slice![-1]).set(first.slice(slice![0]) + 1));
            vec![]
        },
        None,
    ),
    (
        "x[1:] = x[:-1] beside rows of y in turn",
        false,
        |g, x| {
            let y = matrix(g, "y", false);
            x.assign(x.at(slice![1..]).set(x.slice(slice![..-1])));
            y.assign(concat([y.slice(slice![1..]), y.slice(slice![..1])], 0));
            vec![]
        },
        Some(true),
    ),
    (
        "x[0] = 0 and y[1:] = 0",
        false,
        |g, x| {
            let y = matrix(g, "y", false);
            x.assign(x.at(slice![0]).set(0));
            y.assign(y.at(slice![1..]).set(0));
            vec![("sum", x.at(slice![0]).set(0) + 1)]
        },
        None,
    ),
    (
        "x[0] = x[1:] and x[-1] of y",
        false,
        |g, x| {
            let y = matrix(g, "y", false);
            x.assign(x.at(slice![0]).set(y.slice(slice![-1])).at(slice![-1]).add(x.slice(slice![0])));
            y.assign(y.at(slice![-1]).set(x.slice(slice![0])));
            vec![]
        },
        None,
    ),
    (
        "x[order of y] = x and x[order of x] = y",
        true,
        |g, x| {
            let y = matrix(g, "y", true);
            let order = |of: Tensor| of.argsort(0).slice(slice![.., 0]);
            let rows = x.at(order(y)).set(x * 2);
            x.assign(rows.at(order(x)).set(y).at(order(y)).add(rows.slice(slice![..;-1])));
            y.assign(y.at(order(x)).set(x));
            vec![]
        },
        None,
    ),
    (
        "x[i, j] = means and x[j, i] += y",
        true,
        |g, x| {
            let y = matrix(g, "y", true);
            let [i, j] = [0, 1].map(|axis| y.argsort(axis).slice(slice![0]));
            let changed = x.at(slice![i, j]).set(y.mean(1));
            x.assign(changed.at(slice![j, i]).set(changed.slice(slice![j, i]) + y.max(0)));
            vec![]
        },
        None,
    ),
    (
        "columns of x at positions, and columns of its transpose",
        false,
        |g, x| {
            let y = matrix(g, "y", false);
            let (columns, rows) = (y.argsort(1).slice(slice![0]), y.argsort(0).slice(slice![.., 0]));
            let changed = x.at(slice![.., columns]).set(y * 2 + x);
            let turned = changed.permute_dims([1, 0]).at(slice![.., rows]).add(y.permute_dims([1, 0]));
            x.assign(turned.permute_dims([1, 0]));
            vec![]
        },
        None,
    ),
    (
        "x[y > 0] = mean of rows",
        false,
        |g, x| {
            x.assign(x.at(matrix(g, "y", false).gt(0)).set(0.5));
            vec![]
        },
        Some(true),
    ),
    (
        "picked by place",
        false,
        |g, x| {
            // It cannot go wrong, but the graph does not know: computed aside.
            x.assign(x.take(g.iota(g.symbol("n")), 0) + 1);
            vec![]
        },
        Some(false),
    ),
];
