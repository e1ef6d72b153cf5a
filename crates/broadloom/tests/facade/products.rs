//! Sums of products as they are compiled: one kernel with what is around them, nothing of the products stored, and the
//! same bits whether sizes are symbols or numbers.

use crate::support::numbers::numbers;
use broadloom::prelude::*;
use broadloom::{ArrayPlace, Dim, Explanation, RunOptions, StopFlag, Threads};

/// A matrix product in `f64`.
fn by_loops(x: &[f32], w: &[f32], [n, k, m]: [usize; 3]) -> Vec<f64> {
    let mut result = vec![0.0; n * m];
    for i in 0..n {
        for j in 0..m {
            result[i * m + j] = (0..k).map(|l| f64::from(x[i * k + l]) * f64::from(w[l * m + j])).sum();
        }
    }
    result
}

fn assert_near(found: &[f32], wanted: &[f64], terms: usize) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        // Products are below 5, for numbers from -2 to 2.2.
        let bound = 5.0 * terms as f64 * 2_f64.powi(-23);
        assert!((f64::from(*found) - wanted).abs() <= bound, "{found} is not {wanted}");
    }
}

/// The most axes of an array that is stored between kernels.
fn stored_axes(explanation: &Explanation) -> usize {
    explanation.temporaries().iter().map(|temporary| temporary.sizes.len()).max().unwrap_or(0)
}

#[test]
fn a_layer_is_one_kernel() {
    let g = Graph::new();
    let [n, k, m] = g.symbols(["n", "k", "m"]);
    let x = g.input::<f32>("x", shape![n, k]);
    let w = g.input::<f32>("w", shape![k, m]);
    let b = g.input::<f32>("b", shape![m]);
    let layer = (x.matmul(w) + b).relu();
    assert_eq!(layer.to_string(), "f32[n, m]");
    let kernel = layer.compile().unwrap();
    let explanation = kernel.explain();
    assert_eq!(explanation.kernels(), 1, "{explanation}");
    assert!(explanation.temporaries().is_empty(), "{explanation}");
    let info = &explanation.kernel_infos()[0];
    assert_eq!(info.reads, [ArrayPlace::Input(0), ArrayPlace::Input(1), ArrayPlace::Input(2)]);
    assert_eq!(info.writes, [ArrayPlace::Output(0)]);
    for [n, k, m] in [[1, 1, 1], [3, 4, 5], [17, 65, 33], [5, 0, 3], [0, 3, 2], [2, 1100, 7]] {
        let (x, w, b) = (numbers(n * k, 1), numbers(k * m, 2), numbers(m, 3));
        let mut wanted = by_loops(&x, &w, [n, k, m]);
        wanted
            .iter_mut()
            .enumerate()
            .for_each(|(at, value)| *value = (*value + f64::from(b[at % m])).max(0.0));
        let shapes = [[n, k], [k, m]];
        let (x, w) = (ArrayView::new(&x, &shapes[0]).unwrap(), ArrayView::new(&w, &shapes[1]).unwrap());
        let found: Vec<f32> = kernel.run((x, w, &b)).unwrap().try_into().unwrap();
        assert_near(&found, &wanted, k + 1);
    }
}

#[test]
fn products_are_not_stored() {
    let g = Graph::new();
    let [n, k, m] = g.symbols(["n", "k", "m"]);
    let x = g.input::<f32>("x", shape![n, k]);
    let w = g.input::<f32>("w", shape![k, m]);
    let i = g.input::<i8>("i", shape![n, k]);
    let c = g.input::<bool>("c", shape![n, k]);
    let h = g.input::<f16>("h", shape![n, k]);
    let products = [
        x.matmul(w),
        x.t().matmul(x),
        x.matmul(w).matmul(w.t()),
        (x * 2).matmul(w + 1),
        x.inner(w.t()),
        x.tensordot(w, 1),
        x.tensordot(x, ([0], [0])),
        x.softmax(1).matmul(w.exp()),
        x.matmul(x.t()).softmax(1).matmul(x),
        i.matmul(i.t()),
        c.matmul(c.t()),
        h.matmul(h.t()),
        einsum("ij,jk,kl->il", [x, w, w.t()]),
        einsum("ij,kj,ik->", [x, x, x.matmul(x.t())]),
        einsum("ij,ij->i", [x, x]),
        x.vdot(x),
    ];
    assert!(g.check().is_ok(), "{:?}", g.check());
    for product in products {
        let explanation = product.compile().unwrap().explain();
        assert!(stored_axes(&explanation) <= 2, "{explanation}");
    }
    // Of an input, a diagonal reads what it needs.
    let square = g.input::<f32>("square", shape![n, n]);
    let explanation = einsum("ii->i", [square]).compile().unwrap().explain();
    assert!(explanation.temporaries().is_empty(), "{explanation}");
}

#[test]
fn batches_are_one_kernel() {
    let g = Graph::new();
    let [batch, n] = g.symbols(["batch", "n"]);
    let x = g.input::<f32>("x", shape![batch, n, 8]);
    let w = g.input::<f32>("w", shape![8, 5]);
    let explanation = x.matmul(w).compile().unwrap().explain();
    assert_eq!((explanation.kernels(), stored_axes(&explanation)), (1, 0), "{explanation}");
    assert_eq!(x.matmul(w).shape(), shape![batch, n, 5]);
}

/// The bits of products of matrices, whose sizes are symbols or numbers.
fn results(has_symbols: bool, [n, k, m]: [usize; 3]) -> Vec<Vec<u32>> {
    let g = Graph::new();
    let size = |name, number| if has_symbols { Dim::from(g.symbol(name)) } else { Dim::from(number) };
    let (rows, inner, columns) = (size("n", n), size("k", k), size("m", m));
    let x = g.input::<f32>("x", shape![rows, inner]);
    let w = g.input::<f32>("w", shape![inner, columns]);
    let outputs = [
        ("matmul", x.matmul(w)),
        ("inner", x.inner(w.t())),
        ("gram", x.t().matmul(x)),
        ("vdot", x.vdot(x)),
        ("tensordot", x.tensordot(x, 0)),
        ("einsum", einsum("ij,jk->k", [x, w])),
        ("kron", x.kron(w)),
    ];
    let kernel = g.compile(outputs).unwrap();
    let (x, w) = (numbers(n * k, 1), numbers(k * m, 2));
    let shapes = [[n, k], [k, m]];
    let (x, w) = (ArrayView::new(&x, &shapes[0]).unwrap(), ArrayView::new(&w, &shapes[1]).unwrap());
    let mut found = kernel.run((x, w)).unwrap();
    let names = outputs.map(|(name, _)| name);
    names
        .iter()
        .map(|name| {
            let values: Vec<f32> = match found.take::<Vec<f32>>(name) {
                Ok(values) => values,
                Err(_) => vec![found.take::<f32>(name).unwrap()],
            };
            values.into_iter().map(f32::to_bits).collect()
        })
        .collect()
}

#[test]
fn numbers_in_place_of_symbols_give_the_same_bits() {
    for sizes in [[3, 4, 5], [2, 70, 3], [40, 70, 33], [1, 1, 1], [4, 0, 2], [0, 3, 0], [2, 1, 17]] {
        assert_eq!(results(true, sizes), results(false, sizes), "{sizes:?}");
    }
}

/// What is likely chooses the order of three factors; the graph says which.
#[test]
fn the_order_of_an_einsum_is_chosen_by_sizes() {
    let order = |sizes: &dyn Fn(&Graph) -> [Dim; 4]| {
        let g = Graph::new();
        let [i, j, k, l] = sizes(&g);
        let a = g.input::<f32>("a", shape![i, j]);
        let b = g.input::<f32>("b", shape![j, k]);
        let c = g.input::<f32>("c", shape![k, l]);
        let text = einsum("ij,jk,kl->il", [a, b, c]).finish().unwrap().to_string();
        // Where the first factor is multiplied first, its product is the operand of the second sum.
        let first = text.lines().find(|line| line.contains("= multiply")).unwrap().to_owned();
        if first.contains("%1") && !first.contains("%2") { "left" } else { "right" }
    };
    let constants = |sizes: [usize; 4]| move |_: &Graph| sizes.map(Dim::from);
    assert_eq!(order(&constants([2, 100, 100, 100])), "left");
    assert_eq!(order(&constants([100, 100, 100, 2])), "right");
    let symbols = |g: &Graph| ["i", "j", "k", "l"].map(|name| Dim::from(g.symbol(name)));
    assert_eq!(order(&symbols), "left");
    assert_eq!(
        order(&|g| {
            let likely = g.symbol("l").likely(2);
            [g.symbol("i").into(), g.symbol("j").into(), g.symbol("k").into(), likely.into()]
        }),
        "right"
    );
    assert_eq!(
        order(&|g| {
            let few = g.symbol("l").range(1..=4);
            [g.symbol("i").into(), g.symbol("j").into(), g.symbol("k").into(), few.into()]
        }),
        "right"
    );
}

#[test]
fn eval_knows_products_again() {
    for _ in 0..3 {
        let (a, b) = ([1.0f32, 2.0, 3.0], [4.0f32, 5.0, 6.0]);
        let result: (f32, f32) = eval((&a, &b), |(a, b)| (a.dot(b), einsum("i,i,i", [a, a, b]))).unwrap();
        assert_eq!(result, (32.0, 4.0 + 20.0 + 54.0));
    }
}

#[test]
fn a_product_of_nothing_or_of_two_graphs_is_a_mistake() {
    let (g, other) = (Graph::new(), Graph::new());
    let x = g.input::<f32>("x", shape![3]);
    assert!(einsum("->", []).is_poisoned());
    assert!(x.matmul(other.input::<f32>("y", shape![3])).is_poisoned());
    assert!(g.check().unwrap_err().to_string().contains("mixes tensors from two graphs"));
}

/// Products with few rows or columns are contractions as well, with the bits of symbols.
#[test]
fn narrow_products_are_contractions() {
    for (n, m) in [(2, 40), (3, 40), (40, 2), (40, 3), (40, 4), (40, 5), (40, 10), (2, 2), (7, 15)] {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![n, 64]);
        let w = g.input::<f32>("w", shape![64, m]);
        let explained = x.matmul(w).compile().unwrap().explain().to_string();
        assert!(explained.contains("contract 64"), "{n}, {m}: {explained}");
        assert_eq!(results(false, [n, 64, m]), results(true, [n, 64, m]), "{n}, {m}");
        assert_eq!(results(false, [n, 300, m]), results(true, [n, 300, m]), "{n}, {m}");
    }
    // Of few batches, too.
    for batch in [2, 3] {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![batch, 40, 64]);
        let w = g.input::<f32>("w", shape![batch, 64, 30]);
        let explained = x.matmul(w).compile().unwrap().explain().to_string();
        assert!(explained.contains("contract 64"), "{explained}");
    }
}

/// Threads share the rows of a product with few results: parts of the long axis that it adds up would be no contraction.
#[test]
fn threads_share_the_rows_of_products_with_few_results() {
    let g = Graph::new();
    let [n, d] = g.symbols(["n", "d"]);
    let x = g.input::<f64>("x", shape![n, d]);
    let of = |threads| {
        let options = CompileOptions { threads, ..CompileOptions::default() };
        x.t().matmul(x).compile_with(&options).unwrap()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let [one, two] = [Threads::Calling, Threads::Pool(std::sync::Arc::new(pool))].map(of);
    for d in [16, 20, 33] {
        let rows = 60_000;
        let data: Vec<f64> = (0..rows * d).map(|at| (at % 1009) as f64 / 7.0).collect();
        let view = ArrayView::new(&data, &[rows, d]).unwrap();
        let bound = two.bind(&view).unwrap();
        assert!(bound.explain().to_string().contains("contract n"), "{d}: {}", bound.explain());
        let products: [Vec<f64>; 2] =
            [&one, &two].map(|kernel| kernel.run(&view).unwrap().try_into().unwrap());
        assert!(products[0] == products[1], "{d}");
    }
}

/// Threads share the columns of a product with few rows, of which each would pack all columns otherwise, and the bits stay.
#[test]
fn threads_share_the_columns_of_products_with_few_rows() {
    type Layer = fn(Tensor, Tensor, Tensor) -> Tensor;
    let layers: [(&str, Layer); 5] = [
        ("a product", |x, w, _| x.matmul(w)),
        ("a layer", |x, w, b| (x.matmul(w) + b).relu()),
        ("a scaled product", |x, w, b| (x.matmul(w) * 0.5).maximum(b)),
        ("a layer of the text language", |x, w, b| (x.matmul(w) + b).maximum(0.0)),
        ("a layer of computed operands", |x, w, b| (x.relu().matmul(w.sin()) + b).exp()),
    ];
    let of = |threads: usize, [n, k, m]: [Dim; 3], g: &Graph, layer: Layer| {
        let (x, w) = (g.input::<f32>("x", shape![n, k]), g.input::<f32>("w", shape![k, m]));
        let pool = || rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let threads = if threads == 1 { Threads::Calling } else { Threads::Pool(pool().into()) };
        let options = CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
        let b = g.input::<f32>("b", shape![m]);
        g.compile_with([("y", layer(x, w, b)), ("read", b.cast::<f64>())], &options).unwrap()
    };
    let sizes = [[2, 3000, 520], [8, 65, 1000], [13, 1030, 449], [37, 64, 384], [143, 17, 768]];
    for (name, layer) in layers {
        for threads in [2, 3] {
            let g = Graph::new();
            let symbols = || ["n", "k", "m"].map(|name| Dim::from(g.symbol(name)));
            let [one, several] = [1, threads].map(|threads| of(threads, symbols(), &g, layer));
            for [n, k, m] in sizes {
                let (x, w, b) = (numbers(n * k, 1), numbers(k * m, 2), numbers(m, 3));
                let wanted = by_loops(&x, &w, [n, k, m]);
                let [x, w] =
                    [(&x, [n, k]), (&w, [k, m])].map(|(x, sizes)| ArrayView::new(x, &sizes).unwrap());
                let bound = several.bind((x.clone(), w.clone(), &b)).unwrap();
                let text = bound.explain().to_string();
                assert!(text.contains("operations per step of m,"), "{name}, {n} x {k} x {m}: {text}");
                assert!(text.contains("has few rows"), "{text}");
                let flag = StopFlag::new();
                let stoppable = RunOptions::new().stopped_by(&flag);
                let results = [
                    one.run((x.clone(), w.clone(), &b)).unwrap(),
                    bound.run().unwrap(),
                    several.run_with((x, w, &b), &stoppable).unwrap(),
                ];
                let [one, several, stopped] = results.map(|results| -> Vec<u32> {
                    let (y, _): (Vec<f32>, Vec<f64>) = results.try_into().unwrap();
                    y.into_iter().map(f32::to_bits).collect()
                });
                assert!(one == several && one == stopped, "{name}, {n} x {k} x {m}, {threads} threads");
                if name == "a product" {
                    let found: Vec<f32> = several.into_iter().map(f32::from_bits).collect();
                    assert_near(&found, &wanted, k);
                }
            }
            // As many rows as these are shared themselves, and so are all rows beside few columns.
            for [n, m] in [[72 * threads, 768], [8, 100]] {
                let (x, w, b) = (numbers(n * 64, 1), numbers(64 * m, 2), numbers(m, 3));
                let [x, w] =
                    [(&x, [n, 64]), (&w, [64, m])].map(|(x, sizes)| ArrayView::new(x, &sizes).unwrap());
                let text = several.bind((x, w, &b)).unwrap().explain().to_string();
                assert!(!text.contains("has few rows"), "{name}, {n} x {m}: {text}");
            }
        }
    }
}
