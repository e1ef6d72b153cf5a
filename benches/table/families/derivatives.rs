//! Values with their gradients beside the values alone, and gradients beside those derived by hand.

use crate::harness::contest::{array, numbers, of};
use crate::harness::{Asked, Contender, Suite};
use broadloom::prelude::*;
use broadloom::{Array, Inputs, Threads};
use std::rc::Rc;

/// A value and all derivatives, of the time of the value.
const OF_THE_VALUE: Asked = Asked::Ratio(4.0);
/// The same of pairs.
const OF_PAIRS: Asked = Asked::Ratio(5.0);
/// Of the time of a derivative by hand.
const OF_BY_HAND: Asked = Asked::Ratio(1.1);

/// A kernel of named results.
type Results = Vec<(&'static str, Tensor)>;

pub fn entries(suite: &mut Suite) {
    black_scholes(suite);
    perceptron(suite);
    cross_entropy(suite);
    layer_norm(suite);
    kernel_sum(suite);
    logistic_regression(suite);
    product(suite);
}

/// The value with its gradients, and the value alone.
fn beside_the_value(
    suite: &mut Suite,
    name: &str,
    asked: Asked,
    arrays: &[Rc<Array<f32>>],
    loss: fn(&Graph) -> (Tensor, [Tensor; 3]),
) {
    suite.ratio(&format!("{name}: value and gradients"), asked, || {
        let make = |with_gradients: bool| {
            let g = Graph::new();
            let (loss, by) = loss(&g);
            let names = ["by_first", "by_second", "by_third"];
            let slopes = names.into_iter().zip(loss.grad(by)).filter(|_| with_gradients);
            kernel(&g, std::iter::once(("value", loss)).chain(slopes).collect(), arrays)
        };
        vec![Contender::new("broadloom", make(true)), Contender::new("the value", make(false))]
    });
}

/// A kernel that is called on arrays, on one thread.
fn kernel(g: &Graph, results: Results, arrays: &[Rc<Array<f32>>]) -> Box<dyn FnMut()> {
    let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
    let kernel = g.compile_with(results, &options).expect("the expression compiles");
    let arrays = arrays.to_vec();
    Box::new(move || {
        let inputs = arrays.iter().fold(Inputs::new(), |inputs, array| inputs.next(&**array));
        std::hint::black_box(kernel.run(inputs).expect("the arrays fit"));
    })
}

fn black_scholes(suite: &mut Suite) {
    let n = suite.size(1_000_000);
    let price = |seed| of(numbers(n, seed).map(|x| 90.0 + 20.0 * x).collect(), &[n]);
    let time = of(numbers(n, 3).map(|x| 0.1 + x).collect(), &[n]);
    beside_the_value(suite, "Black-Scholes, 1 M f32", OF_THE_VALUE, &[price(1), price(2), time], |g| {
        let n = g.symbol("n");
        let [spot, strike, time] = ["spot", "strike", "time"].map(|name| g.input::<f32>(name, shape![n]));
        let spread = 0.2 * time.sqrt();
        let first = ((spot / strike).log() + (0.03 + 0.02) * time) / spread;
        let call = spot * first.ndtr() - strike * (-0.03 * time).exp() * (first - spread).ndtr();
        (call.sum(0), [spot, strike, time])
    });
}

fn perceptron(suite: &mut Suite) {
    let [n, d, h] = [suite.size(4096), 64, 128];
    let arrays =
        [array(&[n, d], 11), array(&[n], 12), array(&[d, h], 13), array(&[h, h], 14), array(&[h], 15)];
    beside_the_value(suite, "two layers of 128, 4,096 x 64 f32", OF_THE_VALUE, &arrays, |g| {
        let [n, d, h] = g.symbols(["n", "d", "h"]);
        let (x, t) = (g.input::<f32>("x", shape![n, d]), g.input::<f32>("t", shape![n]));
        let (first, second) = (g.input::<f32>("first", shape![d, h]), g.input::<f32>("second", shape![h, h]));
        let last = g.input::<f32>("last", shape![h]);
        let y = x.matmul(first).tanh().matmul(second).tanh().matmul(last);
        ((y - t).square().mean(0), [first, second, last])
    });
}

fn cross_entropy(suite: &mut Suite) {
    let [n, m] = [suite.size(4096), 256];
    beside_the_value(
        suite,
        "softmax cross-entropy, 4,096 x 256 f32",
        OF_THE_VALUE,
        &[array(&[n, m], 21), array(&[m], 22), array(&[n, m], 23)],
        |g| {
            let [n, m] = g.symbols(["n", "m"]);
            let (x, b) = (g.input::<f32>("x", shape![n, m]), g.input::<f32>("b", shape![m]));
            let t = g.input::<f32>("t", shape![n, m]);
            (-((x + b).log_softmax(-1) * t).sum([0, 1]), [x, b, t])
        },
    );
}

fn layer_norm(suite: &mut Suite) {
    let [n, m] = [suite.size(4096), 256];
    beside_the_value(
        suite,
        "layer norm, 4,096 x 256 f32",
        OF_THE_VALUE,
        &[array(&[n, m], 31), array(&[m], 32), array(&[m], 33)],
        |g| {
            let [n, m] = g.symbols(["n", "m"]);
            let x = g.input::<f32>("x", shape![n, m]);
            let (scale, offset) = (g.input::<f32>("scale", shape![m]), g.input::<f32>("offset", shape![m]));
            let y = x.layer_norm(-1, 1e-5) * scale + offset;
            (y.sin().sum([0, 1]), [x, scale, offset])
        },
    );
}

fn kernel_sum(suite: &mut Suite) {
    let n = suite.size(10_000);
    let arrays = [array(&[n, 3], 41), array(&[n, 3], 42), array(&[n], 43)];
    beside_the_value(suite, "Gaussian kernel sum, 10,000 x 10,000, d = 3, f32", OF_PAIRS, &arrays, |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let (x, y) = (g.input::<f32>("x", shape![n, 3]), g.input::<f32>("y", shape![m, 3]));
        let b = g.input::<f32>("b", shape![m]);
        let near = (-(x.unsqueeze(1) - y).square().sum(-1)).exp();
        ((near * b).sum([0, 1]), [x, y, b])
    });
}

fn logistic_regression(suite: &mut Suite) {
    let [n, d] = [suite.size(200_000), 20];
    suite.ratio("logistic regression, a step, 200,000 x 20 f32", OF_BY_HAND, || {
        let arrays = [array(&[n, d], 51), array(&[n], 52), array(&[d], 53)];
        let make = |by_hand: bool| {
            let g = Graph::new();
            let [n, d] = g.symbols(["n", "d"]);
            let (x, t) = (g.input::<f32>("x", shape![n, d]), g.input::<f32>("t", shape![n]));
            let w = g.input::<f32>("w", shape![d]);
            let z = x.matmul(w);
            let slope = match by_hand {
                true => ((z.sigmoid() - t).unsqueeze(1) * x).mean(0),
                false => (z.softplus() - t * z).mean(0).grad([w])[0],
            };
            kernel(&g, vec![("w", w - 0.1 * slope)], &arrays)
        };
        vec![Contender::new("broadloom", make(false)), Contender::new("by hand", make(true))]
    });
}

fn product(suite: &mut Suite) {
    let n = suite.size(512);
    suite.ratio("the derivatives of x @ w by both, 512 x 512 f32", OF_BY_HAND, || {
        let arrays = [array(&[n, n], 61), array(&[n, n], 62), array(&[n, n], 63)];
        let make = |by_hand: bool| {
            let g = Graph::new();
            let [n, k, m] = g.symbols(["n", "k", "m"]);
            let (x, w) = (g.input::<f32>("x", shape![n, k]), g.input::<f32>("w", shape![k, m]));
            let t = g.input::<f32>("t", shape![n, m]);
            let [by_x, by_w] = match by_hand {
                true => [t.matmul(w.permute_dims([1, 0])), x.permute_dims([1, 0]).matmul(t)],
                false => x.matmul(w).vjp(t, [x, w]),
            };
            kernel(&g, vec![("by_x", by_x), ("by_w", by_w)], &arrays)
        };
        vec![Contender::new("broadloom", make(false)), Contender::new("by hand", make(true))]
    });
}
