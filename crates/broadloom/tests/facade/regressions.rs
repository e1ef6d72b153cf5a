//! Mistakes that were made once.

use broadloom::prelude::*;
use broadloom::{BindError, CallError, Inputs, OutputsMut};
use cpu_time::ThreadTime;

/// A binding of the same sizes and strides was used for outputs of another dtype or in another order.
#[test]
fn outputs_are_checked_at_every_call() {
    let g = Graph::new();
    let x = g.input::<i64>("x", shape![g.symbol("n")]);
    let kernel = (x + 1).compile().unwrap();
    let xs = [1i64; 8];
    kernel.run_into(inputs![&xs], &mut [0i64; 8]).unwrap();
    let error = kernel.run_into(inputs![&xs], &mut [0u8; 8]).unwrap_err();
    assert!(matches!(error, CallError::Bind(BindError::DType { .. })), "{error}");

    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let kernel = g.compile([("twice", x * 2.0), ("total", x.sum(0))]).unwrap();
    let (xs, mut long, mut one) = ([1.0f32; 8], [0.0f32; 8], [0.0f32; 1]);
    let total = ArrayViewMut::new(&mut one, &[]).unwrap();
    kernel.run_into(inputs![&xs], (&mut long, total)).unwrap();
    let twice = ArrayViewMut::new(&mut long[..1], &[]).unwrap();
    let error = kernel.run_into(inputs![&xs], (twice, &mut one)).unwrap_err();
    assert!(matches!(error, CallError::Bind(BindError::Rank { .. })), "{error}");
}

/// A take along an axis that a view had inserted took away the access of another load.
#[test]
fn a_take_along_an_inserted_axis_shares_accesses() {
    let g = Graph::new();
    let x = g.input::<i64>("x", shape![g.symbol("n")]);
    let y = x.slice_axis(0, 1.., 1);
    let zeros = g.iota(3).minimum(0);
    let kernel = (y + y.unsqueeze(0).take(zeros, 0)).compile().unwrap();
    let xs: Vec<i64> = (0..10).collect();
    let found: Vec<i64> = kernel.run(inputs![&xs]).unwrap().try_into().unwrap();
    let expected: Vec<i64> = (0..3).flat_map(|_| (1..10).map(|i| 2 * i)).collect();
    assert_eq!(found, expected);
}

/// Reductions over several short axes were unrolled into their product.
#[test]
fn short_axes_do_not_multiply_the_code() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![8, 8, 8, 8, 8, 8]);
    let start = ThreadTime::now();
    let kernel = x.sum(..).compile().unwrap();
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    let xs = vec![0.5f32; 1 << 18];
    let total: f32 = kernel.run(ArrayView::new(&xs, &[8; 6]).unwrap()).unwrap().try_into().unwrap();
    assert_eq!(total, 131_072.0);
}

/// A kernel had more loop axes than it can.
#[test]
fn sums_over_very_many_sizes() {
    let g = Graph::new();
    let inputs: Vec<Tensor> =
        (0..90).map(|i| g.input::<f32>(&format!("x{i}"), shape![g.symbol(&format!("n{i}"))])).collect();
    let sum = inputs.iter().fold(g.constant(0.0f32), |sum, x| sum + x.sum(0));
    let kernel = sum.compile().unwrap();
    let arrays: Vec<Vec<f32>> = (0..90).map(|i| vec![1.0; i]).collect();
    let views: [ArrayView<'_>; 90] = std::array::from_fn(|i| ArrayView::new(&arrays[i], &[i]).unwrap());
    let total: f32 = kernel.run(views).unwrap().try_into().unwrap();
    assert_eq!(total, (0..90).sum::<usize>() as f32);
}

/// A scratch row was given away to an inner reduction while the loop around went on reading it.
#[test]
fn rows_live_through_the_loops_that_read_them() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<f64>("x", shape![n, 1]), g.input::<f64>("y", shape![m]));
    let inner = (-(x - y).square()).exp().sum(1); // f64[n], by functions of rows over m
    let kernel = (x.reshape([-1]).exp() * inner).sum(0).compile().unwrap();
    for (n, m) in [(3, 5), (40, 70), (1100, 3)] {
        let xs: Vec<f64> = (0..n).map(|i| (i % 17) as f64 / 17.0).collect();
        let ys: Vec<f64> = (0..m).map(|i| (i % 13) as f64 / 13.0).collect();
        let column = ArrayView::new(&xs, &[n, 1]).unwrap();
        let found: f64 = kernel.run(inputs![column, &ys]).unwrap().try_into().unwrap();
        let expected: f64 =
            xs.iter().map(|x| x.exp() * ys.iter().map(|y| (-(x - y) * (x - y)).exp()).sum::<f64>()).sum();
        assert!((found - expected).abs() <= 1e-12 * expected, "{found} {expected}\n{}", kernel.explain());
    }
}

/// A vector of an array without elements was stored at one place.
#[test]
fn stores_without_elements() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![1, g.symbol("k")]);
    let y = (x.slice_axis(0, 0..0, 1) + x.max(0)).abs().t();
    let kernel = y.eq(y).compile().unwrap();
    let xs = [1.0f32; 20];
    let found: Vec<bool> = kernel.run(ArrayView::new(&xs, &[1, 20]).unwrap()).unwrap().try_into().unwrap();
    assert_eq!(found, []);
}

/// A node that is read through two slices was computed under both, and what it reads under four.
#[test]
fn slices_of_slices_do_not_multiply() {
    let g = Graph::new();
    let levels = 20;
    let x = g.input::<f64>("x", shape![1 << levels]);
    let mut t = x;
    for _ in 0..levels {
        t = t.slice_axis(0, .., 2) + t.slice_axis(0, 1.., 2);
    }
    let start = ThreadTime::now();
    let kernel = t.compile().unwrap();
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    let xs: Vec<f64> = (0..1 << levels).map(f64::from).collect();
    let total: Vec<f64> = kernel.run(inputs![&xs]).unwrap().try_into().unwrap();
    assert_eq!(total, [xs.iter().sum::<f64>()]);
}

/// An output that another kernel had computed was computed again for the output that reads it.
#[test]
fn outputs_are_computed_once() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<f32>("x", shape![n, m]), g.input::<f32>("y", shape![n, m]));
    let b = (x * y).sum(1);
    let c = ((x - b.unsqueeze(1)) * y).sum(0);
    let kernel = g.compile([("b", b), ("c", c), ("a", (y * y).sum(1))]).unwrap();
    let text = kernel.explain().to_string();
    assert_eq!(text.matches("store b[").count(), 1, "{text}");
}

/// Kernels waited for one another in a circle.
#[test]
fn kernels_do_not_wait_in_a_circle() {
    let g = Graph::new();
    let [m, n, q, r] = g.symbols(["m", "n", "q", "r"]);
    let table = |name: &str, rows: Symbol, columns: Symbol| g.input::<f64>(name, shape![rows, columns]);
    let x = table("xx", m, r).sum(1);
    let y = table("yy", n, r).sum(1);
    let k = table("w0", q, r).sum(1);
    let k2 = (table("w", q, m) * x).sum(1);
    let a = (table("v", m, n) * y).sum(1);
    let z = (table("u", n, q) * k).sum(1);
    let outputs = [("x", x), ("y", y), ("k", k), ("k2", k2), ("a", a), ("z", z)];
    let kernel = g.compile(outputs).unwrap();
    let (m, n, q, r) = (5, 7, 3, 4);
    let ones = |rows: usize, columns: usize| vec![1.0f64; rows * columns];
    let arrays = [(m, r), (n, r), (q, r), (q, m), (m, n), (n, q)];
    let arrays: Vec<(Vec<f64>, [usize; 2])> = arrays.iter().map(|&(i, j)| (ones(i, j), [i, j])).collect();
    let view = |i: usize| ArrayView::new(&arrays[i].0, &arrays[i].1).unwrap();
    let mut found = kernel
        .run(inputs! { "xx" => view(0), "yy" => view(1), "w0" => view(2), "w" => view(3), "v" => view(4), "u" => view(5) })
        .unwrap();
    for (name, count, value) in [("x", m, 4.0), ("k2", q, 20.0), ("a", m, 28.0), ("z", n, 12.0)] {
        assert_eq!(found.take::<Vec<f64>>(name).unwrap(), vec![value; count], "{name}");
    }
}

/// Kernels of very many reductions, and chains of reductions, took seconds to compile.
#[test]
fn many_reductions_compile_in_linear_time() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let mut sum = x.sum(0);
    for i in 0..60 {
        sum += (x * (1.0 / f64::from(i + 1))).exp().sum(0);
    }
    let mut chain = x;
    for _ in 0..60 {
        chain = chain - chain.max_keepdims(0);
    }
    let start = ThreadTime::now();
    sum.compile().unwrap();
    chain.compile().unwrap();
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// Each piece of a concat was looked for among all operands by proofs about sizes.
#[test]
fn concats_of_many_tensors_compile_soon() {
    const COUNT: usize = 1000;
    let g = Graph::new();
    let n = g.symbol("n");
    let tensors: Vec<Tensor> = (0..COUNT).map(|i| g.input::<f32>(&format!("x{i}"), shape![n])).collect();
    let start = ThreadTime::now();
    let kernel = concat(tensors, 0).compile().unwrap();
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    let arrays: Vec<[f32; 2]> = (0..COUNT).map(|i| [i as f32, -1.0]).collect();
    let views: Vec<ArrayView<'_>> = arrays.iter().map(|array| ArrayView::new(array, &[2]).unwrap()).collect();
    let found: Vec<f32> = kernel.run(views).unwrap().try_into().unwrap();
    assert_eq!(found, arrays.concat());
}

/// The sign of a NaN, which instructions choose, decided about other elements: by where they stood in a vector.
#[test]
fn signs_of_nans_are_not_seen() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n]));
    let nan = x.log().maximum(y);
    let kernel = g.compile([("bit", nan.signbit()), ("sign", y.cos().copysign(nan).lt(0))]).unwrap();
    let (xs, ys) = ([-2.0f32; 21], [0.0f32; 21]);
    let found: (Vec<bool>, Vec<bool>) = kernel.run((&xs, &ys)).unwrap().try_into().unwrap();
    assert_eq!(found, (vec![false; 21], vec![false; 21]));
    let negative = [-f32::NAN; 21];
    let found: (Vec<bool>, Vec<bool>) = kernel.run((&negative, &ys)).unwrap().try_into().unwrap();
    assert_eq!(found, (vec![false; 21], vec![false; 21]));
}

/// A function of what recurs along a row was looked for where its own loop had left it.
#[test]
fn functions_of_columns_are_outputs_too() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, c) = (g.input::<f32>("x", shape![n, 3]), g.input::<f32>("c", shape![3]));
    let e = c.exp();
    let kernel = g.compile([("e", e), ("y", x * e)]).unwrap();
    let xs: Vec<f32> = (0..3000).map(|i| i as f32).collect();
    let cs = [0.5f32, 1.0, -1.0];
    let dense: (Vec<f32>, Vec<f32>) =
        kernel.run((ArrayView::new(&xs, &[1000, 3]).unwrap(), &cs)).unwrap().try_into().unwrap();
    let (mut es, mut ys) = ([0.0f32; 6], vec![0.0f32; 3000]);
    let every_other = ArrayViewMut::strided(&mut es, 0, &[3], &[2]).unwrap();
    let outputs = OutputsMut::new().next(every_other).next(ArrayViewMut::new(&mut ys, &[1000, 3]).unwrap());
    kernel.run_into((ArrayView::new(&xs, &[1000, 3]).unwrap(), &cs), outputs).unwrap();
    assert_eq!([es[0], es[2], es[4]], dense.0[..]);
    assert_eq!(ys, dense.1);
    assert_eq!([es[1], es[3], es[5]], [0.0; 3]);
}

/// Such an axis was counted in 32 bits, and refused.
#[test]
fn positions_on_constant_axes_of_any_length_are_counted() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![3_000_000_000_i64]);
    let y = g.input::<f32>("y", shape![3_000_000_000_i64, g.symbol("n")]);
    g.compile([("x", x.argmax(0)), ("y", y.argmin(0))]).unwrap();
}

/// The axis of one element took the place of those merged beside it: elements were read far outside of the array.
#[test]
fn axes_of_one_element_beside_merged_ones_are_reduced() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![4, 5]);
    let flat = x.exp().reshape([1, 20]);
    let kernel = g.compile([("greatest", flat.max(0)), ("place", flat.argmax(0))]).unwrap();
    let x: Vec<f32> = (0..20_u8).map(|x| f32::from(x) * 0.25).collect();
    let view = ArrayView::new(&x, &[4, 5]).unwrap();
    let (greatest, place): (Vec<f32>, Vec<i64>) = kernel.run(view).unwrap().try_into().unwrap();
    let alone: Vec<f32> = x.iter().map(|x| x.exp()).collect();
    assert!(greatest.iter().zip(&alone).all(|(a, b)| (a - b).abs() <= 1e-6 * b));
    assert_eq!(place, [0; 20]);
}

/// Which operand of a join has its one element was asked for again and again.
#[test]
fn a_join_of_one_element_that_sizes_decide_is_refused() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, y) = (g.input::<f32>("x", shape![1]), g.input::<f32>("y", shape![n]));
    let error = concat([y, x.slice_axis(0, ..1 - n, 1)], 0).compile().unwrap_err();
    assert!(error.to_string().contains("one element"), "{error}");
}

/// What runs ahead of a reduction asked how many rows without elements fit into a block, and divided by zero.
#[test]
fn rows_of_functions_without_elements_are_reduced_again() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n"), g.symbol("m")]);
    let kernel = (x.sin() * x).sum(0).prod(0).compile().unwrap();
    for [n, m] in [[257, 0], [0, 0], [0, 3], [300, 1]] {
        let data = vec![1.0f32; n * m];
        let product: f32 = kernel.run(ArrayView::new(&data, &[n, m]).unwrap()).unwrap().try_into().unwrap();
        let column = n as f32 * 1.0f32.sin();
        let want = (0..m).fold(1.0, |product, _| product * column);
        assert!((product - want).abs() <= 1e-4 * want.abs(), "{n} x {m}: {product}");
    }
}

/// Indices that are computed ran backwards from the start of a flipped array, and were taken for places from its end:
/// elements behind the array were read.
#[test]
fn flipped_arrays_are_read_where_divisions_say() {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<i64>("x", shape![n, 3]);
    let rows = x.slice(slice![..;-1, ..;-1]).slice(slice![..-1]).reshape(shape![-1]);
    let kernel = (rows.unsqueeze(0) - 6).sum(..).compile().unwrap();
    for n in [1, 2, 17, 1000] {
        let x: Vec<i64> = (100..100 + 3 * n as i64).collect();
        let sum: i64 = kernel.run(ArrayView::new(&x, &[n, 3]).unwrap()).unwrap().try_into().unwrap();
        assert_eq!(sum, x[3..].iter().map(|x| x - 6).sum::<i64>(), "{n}");
    }
}

/// Steps whose functions fill rows run lane by lane of the fixed tree: of equal elements, the first in that order won.
#[test]
fn the_first_of_equal_elements_wins_beside_sums_of_functions() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<f32>("x", shape![n, m]), g.input::<u8>("y", shape![n, m]));
    let kernel =
        g.compile([("sum", x.sin().sum(0)), ("least", y.argmin(0)), ("greatest", y.argmax(0))]).unwrap();
    for [n, m] in [[65, 3], [66, 1], [200, 40], [3000, 3]] {
        // Row 64 is in the first lane, and row 5 in the sixth.
        let y: Vec<u8> = (0..n * m).map(|at| [1, 0][usize::from((at / m) % 59 == 5)]).collect();
        let x = vec![0.5f32; n * m];
        let [x, y] = [ArrayView::new(&x, &[n, m]), ArrayView::new(&y, &[n, m])].map(Result::unwrap);
        let mut results = kernel.run((x, y)).unwrap();
        assert_eq!(results.take::<Vec<i64>>("least").unwrap(), vec![5; m], "{n} x {m}");
        assert_eq!(results.take::<Vec<i64>>("greatest").unwrap(), vec![0; m], "{n} x {m}");
    }
}

/// An array of size 1 stretches to a size that only an input without use determines. The size was taken to be 1.
#[test]
fn inputs_without_use_determine_what_stretches() {
    let g = Graph::new();
    let n = g.symbol("n");
    let _unused = g.input::<f32>("unused", shape![n]);
    let x = g.input::<i64>("x", shape![#n]);
    let kernel = g.compile([("sum", x + g.iota(n))]).unwrap();
    let unused = [0.0f32; 3];
    let run = |x: &[i64]| {
        let x = ArrayView::new(x, &[x.len()]).unwrap();
        let unused = ArrayView::new(&unused, &[3]).unwrap();
        kernel.run(Inputs::new().named("unused", unused).named("x", x))
    };
    assert_eq!(run(&[5]).unwrap().take::<Vec<i64>>("sum").unwrap(), [5, 6, 7]);
    assert_eq!(run(&[5, 6, 7]).unwrap().take::<Vec<i64>>("sum").unwrap(), [5, 7, 9]);
    assert!(run(&[5, 6]).is_err());
    let error = kernel.run(Inputs::new().named("x", ArrayView::new(&[5i64], &[1]).unwrap())).unwrap_err();
    assert!(error.to_string().contains("unused"), "{error}");
}

/// A reduction in vectors around another one, beside sums of rows along the same axis: the inner one had vectors too, which the
/// verifier refused.
#[test]
fn a_reduction_in_vectors_has_none_inside_it_beside_sums_of_rows() {
    let g = Graph::new();
    let [n, m, k] = g.symbols(["n", "m", "k"]);
    let (x, p) = (g.input::<f32>("x", shape![n, m]), g.input::<f64>("p", shape![m]));
    let q = g.input::<f64>("q", shape![k]);
    let products = (p.unsqueeze(1) * q).max(..);
    let kernel = g.compile([("sums", x.sum(0).max(0)), ("products", products)]).unwrap();
    for [n, m, k] in [[1, 1, 1], [3, 17, 5], [70, 100, 33]] {
        let x: Vec<f32> = (0..n * m).map(|at| (at % 7) as f32).collect();
        let [p, q] = [m, k].map(|count| (0..count).map(|at| (at % 5) as f64 - 2.0).collect::<Vec<f64>>());
        let sum = |column: usize| (0..n).map(|row| x[row * m + column]).sum::<f32>();
        let products = p.iter().flat_map(|p| q.iter().map(move |q| p * q));
        let wanted = products.fold(f64::MIN, f64::max);
        let inputs = inputs! { "x" => ArrayView::new(&x, &[n, m]).unwrap(), "p" => &p, "q" => &q };
        let mut results = kernel.run(inputs).unwrap();
        assert_eq!(results.take::<f32>("sums").unwrap(), (0..m).map(sum).fold(f32::MIN, f32::max));
        assert_eq!(results.take::<f64>("products").unwrap(), wanted);
    }
}

/// Two convolutions, written position by position: a part of the sums of the first one was computed again with each of the
/// others, which the verifier refused.
#[test]
fn sums_that_one_array_waits_for_are_computed_once() {
    const SIDE: usize = 6;
    let sums = |x: Tensor, weights: Tensor, side: usize, into: Tensor| {
        let products = |row: usize, column: usize| {
            let (rows, columns) = (row as i64..(row + side) as i64, column as i64..(column + side) as i64);
            let window = x.slice(slice![.., rows, columns]).unsqueeze(-1);
            (window * weights.unsqueeze(0)).sum([1, 2, 3]).cast::<f32>()
        };
        let places = (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (row, column)));
        places.fold(into, |into, (row, column)| {
            into.at(slice![.., row as i64, column as i64]).set(products(row, column))
        })
    };
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![2, 8, 8, 2]);
    let (a, b) = (g.input::<f64>("a", shape![3, 3, 2, 2]), g.input::<f64>("b", shape![1, 1, 2, 1]));
    let zeros = |channels: usize| g.full(shape![2, SIDE, SIDE, channels], 0.0f32);
    let first = sums(x, a, 3, zeros(2));
    let kernel = g.compile([("sums", sums(first, b, 1, zeros(1)))]).unwrap();
    let numbers = |count: usize| (0..count).map(|at| (at * 7 % 11) as f64 - 5.0).collect::<Vec<f64>>();
    let (x, a, b) = (numbers(256), numbers(36), numbers(2));
    let mut wanted = Vec::new();
    for (image, row, column) in
        (0..2).flat_map(|image| (0..SIDE * SIDE).map(move |at| (image, at / SIDE, at % SIDE)))
    {
        let first = |channel: usize| -> f64 {
            let terms = (0..18).map(|at| {
                let (i, j, from) = (at / 6, at / 2 % 3, at % 2);
                x[((image * 8 + row + i) * 8 + column + j) * 2 + from] * a[at * 2 + channel]
            });
            terms.sum()
        };
        wanted.push((first(0) * b[0] + first(1) * b[1]) as f32);
    }
    let inputs = inputs! {
        "x" => ArrayView::new(&x, &[2, 8, 8, 2]).unwrap(),
        "a" => ArrayView::new(&a, &[3, 3, 2, 2]).unwrap(),
        "b" => ArrayView::new(&b, &[1, 1, 2, 1]).unwrap()
    };
    assert_eq!(kernel.run(inputs).unwrap().take::<Vec<f32>>("sums").unwrap(), wanted);
}
