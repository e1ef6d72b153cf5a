//! What is stored, what is computed where it is read, and why: one test per cliff that the plan takes away.

use broadloom::prelude::*;
use broadloom::{CallError, Explanation, RunError};

/// The arrays stored between kernels: their sizes, and why.
fn stored(explanation: &Explanation) -> Vec<(String, String)> {
    let of = explanation.temporaries().into_iter();
    of.map(|temporary| (temporary.sizes.join(", "), temporary.reason)).collect()
}

/// An output compiled for vectors of 16 bytes, in which loops call functions on any CPU: wider ones compute some of them
/// themselves (`width.rs`).
fn calling(graph: &Graph, output: Tensor) -> Executable {
    let options = CompileOptions { vector_bytes: 16, ..CompileOptions::default() };
    graph.compile_with([("out", output)], &options).unwrap()
}

/// How often a tile function is called in the printed loops.
fn calls(explanation: &Explanation, op: &str) -> usize {
    explanation.to_string().matches(&format!("= {op}(")).count()
}

fn vector(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 + 0.25
    };
    (0..count).map(next).collect()
}

#[test]
fn an_expensive_output_is_read_by_another_one() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let y = x.pow(2.7);
    let shifted = y.slice(slice![1..]) + y.slice(slice![..-1]);
    let kernel = g.compile([("y", y), ("z", shifted)]).unwrap();
    let explanation = kernel.explain();
    assert_eq!(calls(&explanation, "pow"), 1);
    assert_eq!(stored(&explanation), []);
    assert!(
        explanation.to_string().contains("y is stored: an output that another output reads, pow costs 48")
    );
    for n in [1, 2, 3, 1000] {
        let x = vector(7, n);
        let (y, z): (Vec<f32>, Vec<f32>) = kernel.run(&x).unwrap().try_into().unwrap();
        assert_eq!(z, y.windows(2).map(|pair| pair[1] + pair[0]).collect::<Vec<_>>());
    }
}

/// Once a tensor is stored, what reads it is cheap: of horizontal diffusion, whose limited fluxes are read twice, only the
/// Laplacian is stored.
#[test]
fn values_of_stored_tensors_are_computed_again() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n"), g.symbol("m")]);
    let sides = x.slice(slice![2.., 1..-1]) + x.slice(slice![..-2, 1..-1]);
    let sides = sides + x.slice(slice![1..-1, 2..]) + x.slice(slice![1..-1, ..-2]);
    let curved = 4 * x.slice(slice![1..-1, 1..-1]) - sides;
    let down = |x: Tensor| x.slice(slice![1.., ..]) - x.slice(slice![..-1, ..]);
    let right = |x: Tensor| x.slice(slice![.., 1..]) - x.slice(slice![.., ..-1]);
    let limited = |flux: Tensor, slope: Tensor| select((flux * slope).gt(0), 0.0, flux);
    let flux_down = limited(down(curved.slice(slice![.., 1..-1])), down(x.slice(slice![1..-1, 2..-2])));
    let flux_right = limited(right(curved.slice(slice![1..-1, ..])), right(x.slice(slice![2..-2, 1..-1])));
    let kernel = (x.slice(slice![2..-2, 2..-2]) - (down(flux_down) + right(flux_right))).compile().unwrap();
    let explanation = kernel.explain();
    let sizes: Vec<String> = stored(&explanation).into_iter().map(|(sizes, _)| sizes).collect();
    assert_eq!((explanation.kernels(), sizes), (2, vec!["n-2, m-2".to_string()]), "{explanation}");
    let (n, m) = (9, 23);
    let data: Vec<f64> = vector(3, n * m).into_iter().map(f64::from).collect();
    let x = |i: usize, j: usize| data[i * m + j];
    let curved = |i: usize, j: usize| 4.0 * x(i, j) - (x(i + 1, j) + x(i - 1, j) + x(i, j + 1) + x(i, j - 1));
    let limited = |flux: f64, slope: f64| if flux * slope > 0.0 { 0.0 } else { flux };
    let flux_down = |i, j| limited(curved(i + 1, j) - curved(i, j), x(i + 1, j) - x(i, j));
    let flux_right = |i, j| limited(curved(i, j + 1) - curved(i, j), x(i, j + 1) - x(i, j));
    let out = |i, j| {
        x(i, j) - ((flux_down(i, j) - flux_down(i - 1, j)) + (flux_right(i, j) - flux_right(i, j - 1)))
    };
    let want: Vec<f64> =
        (2..n - 2).flat_map(|i| (2..m - 2).map(move |j| (i, j))).map(|(i, j)| out(i, j)).collect();
    let got: Vec<f64> = kernel.run(ArrayView::new(&data, &[n, m]).unwrap()).unwrap().try_into().unwrap();
    assert_eq!(got, want);
}

/// A long chain of differences is stored every few steps: neither all of it, nor none.
#[test]
fn chains_of_differences_are_stored_every_few_steps() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let last = (0..24).fold(x, |x, _| x.slice(slice![1..]) - x.slice(slice![..-1]));
    let explanation = last.compile().unwrap().explain();
    assert!((4..=12).contains(&stored(&explanation).len()), "{explanation}");
}

#[test]
fn cheap_values_are_computed_again() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let y = 2.0 * x + 1.0;
    let explanation = (y.slice(slice![1..]) + y.slice(slice![..-1])).compile().unwrap().explain();
    assert_eq!((explanation.kernels(), stored(&explanation).len()), (1, 0));
}

#[test]
fn rows_that_are_read_twice_are_computed_once_if_they_fit() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let kernel = x.softmax(1).compile().unwrap();
    let explanation = kernel.explain();
    assert_eq!(calls(&explanation, "exp"), 1);
    assert_eq!(stored(&explanation), []);
    // Longer rows than scratch memory holds are computed twice: the same bits.
    let long = calling(&g, g.input::<f32>("long", shape![n, 16_390]).softmax(1));
    assert_eq!(calls(&long.explain(), "exp"), 2);
    for m in [1, 2, 63, 64, 65, 1023, 1024, 1025, 5000, 16_384, 16_385, 20_000] {
        let x = vector(m as u32, 3 * m);
        let view = ArrayView::new(&x, &[3, m]).unwrap();
        let rows: Vec<f32> = kernel.run(view).unwrap().try_into().unwrap();
        for (row, result) in x.chunks(m).zip(rows.chunks(m)) {
            let greatest = row.iter().copied().fold(f32::MIN, f32::max);
            let sum: f64 = row.iter().map(|x| f64::from(x - greatest).exp()).sum();
            for (x, result) in row.iter().zip(result) {
                let expected = f64::from(x - greatest).exp() / sum;
                assert!((f64::from(*result) / expected - 1.0).abs() < 1e-5, "{m}: {result} and {expected}");
            }
        }
    }
    assert_eq!(kernel.explain().variants(), 2);
}

#[test]
fn what_a_loop_gathers_again_and_again_is_packed_once() {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let x = g.input::<f32>("x", shape![n, 8]);
    let y = g.input::<f32>("y", shape![k, 8]);
    let kernel = (x.unsqueeze(1) - y.unsqueeze(0)).square().sum(-1).compile().unwrap();
    let reason = "packed once so that loads are contiguous".to_string();
    assert_eq!(stored(&kernel.explain()), [("8, k".to_string(), reason)]);
    for (n, k) in [(1, 5), (7, 1), (8, 3), (20, 33)] {
        let (x, y) = (vector(1, 8 * n), vector(2, 8 * k));
        let views = [ArrayView::new(&x, &[n, 8]).unwrap(), ArrayView::new(&y, &[k, 8]).unwrap()];
        let [left, right] = views;
        let bound = kernel.bind(inputs! { "x" => left, "y" => right }).unwrap();
        // A few rows are not worth the copy.
        assert_eq!(bound.temporary_bytes() > 0, n >= 8, "{n}");
        let table: Vec<f32> = bound.run().unwrap().try_into().unwrap();
        for (row, x) in x.chunks(8).enumerate() {
            for (column, y) in y.chunks(8).enumerate() {
                let terms = x.iter().zip(y).map(|(x, y)| x - y);
                let expected: f64 = terms.map(|term| f64::from(term).powi(2)).sum();
                assert!((f64::from(table[row * k + column]) - expected).abs() < 1e-5);
            }
        }
    }
}

/// The loops said so, and the code called it twice for each row.
#[test]
fn functions_of_streamed_rows_are_called_once() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n"), g.symbol("m")]);
    let explanation = calling(&g, x.exp().sum(0)).explain();
    assert_eq!(calls(&explanation, "exp"), 1);
    assert_eq!(
        explanation.clif().unwrap().matches("call_indirect").count(),
        1,
        "{}",
        explanation.clif().unwrap()
    );
}

#[test]
fn what_lies_across_is_transposed_block_by_block() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, y) = (g.input::<f32>("x", shape![n, n]), g.input::<f32>("y", shape![n, n]));
    let kernel = (x + y.t()).compile().unwrap();
    let explanation = kernel.explain();
    assert!(explanation.to_string().contains("transpose "), "{explanation}");
    assert_eq!(stored(&explanation), []);
    for n in [0, 1, 31, 33, 150] {
        let (xs, ys) = (vector(1, n * n), vector(2, n * n));
        let views = [&xs, &ys].map(|data| ArrayView::new(data, &[n, n]).unwrap());
        let sum: Vec<f32> = kernel.run(Vec::from(views)).unwrap().try_into().unwrap();
        let expected = (0..n * n).map(|at| xs[at] + ys[at % n * n + at / n]);
        assert_eq!(sum, expected.collect::<Vec<f32>>());
    }
}

/// Rows of a few words are vectors of each of their elements; longer rows, and those of shorter elements, run as one.
#[test]
fn loops_run_over_whole_arrays_beside_short_operands() {
    fn check<T: Element + From<u8> + std::ops::Mul<Output = T> + std::ops::Add<Output = T> + PartialEq>(
        columns: usize,
        texts: &[&str],
    ) {
        let g = Graph::new();
        let n = g.symbol("n");
        let (x, w, c) = (
            g.input::<T>("x", shape![n, columns]),
            g.input::<T>("w", shape![n, 1]),
            g.input::<T>("c", shape![columns]),
        );
        let kernel = (x * w + c).compile().unwrap();
        let text = kernel.explain().to_string();
        assert!(texts.iter().all(|wanted| text.contains(wanted)), "{text}");
        for n in [0, 1, 170, 171, 1000] {
            let numbers =
                |seed: usize, count: usize| (0..count).map(|at| T::from(((at * seed) % 15) as u8)).collect();
            let (xs, ws, cs): (Vec<T>, Vec<T>, Vec<T>) =
                (numbers(7, columns * n), numbers(4, n), numbers(11, columns));
            let x = ArrayView::new(&xs, &[n, columns]).unwrap();
            let w = ArrayView::new(&ws, &[n, 1]).unwrap();
            let found: Vec<T> = kernel.run((x, w, &cs)).unwrap().try_into().unwrap();
            let expected = (0..columns * n).map(|at| xs[at] * ws[at / columns] + cs[at % columns]);
            assert!(found == expected.collect::<Vec<T>>(), "{columns} columns of {n}");
        }
    }
    check::<f32>(5, &["for 5*n vector 16", ", over and over]", ", stretched]"]);
    check::<u8>(3, &["for 3*n vector", ", over and over]", ", stretched]"]);
    check::<f32>(3, &["for n vector 16", "store out[n by 3, +2]"]);
    check::<f64>(2, &["for n vector 8", "store out[n by 2, +1]"]);
}

#[test]
fn functions_of_a_few_slices_of_short_rows_are_called_on_long_strips() {
    let text = |columns: i64, slices: i64| {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![g.symbol("n"), columns]);
        let slice = |from: i64| x.slice(slice![.., from..columns - slices + from]);
        let sum = (1..slices).fold(slice(0), |sum, from| sum + slice(from));
        sum.exp().compile().unwrap().explain().to_string()
    };
    assert!(text(8, 2).contains("gather"), "{}", text(8, 2));
    // Copies of many slices, or of long rows, take more than calls of short ones.
    for (columns, slices) in [(40, 8), (128, 1)] {
        assert!(!text(columns, slices).contains("gather"), "{}", text(columns, slices));
    }
}

#[test]
fn windows_of_arrays_are_read_where_they_are() {
    let g = Graph::new();
    let [n, m, w] = g.symbols(["n", "m", "w"]);
    let x = g.input::<f32>("x", shape![n]);
    let average = x.sliding_window_view(5, 0).mean(-1).compile().unwrap();
    assert_eq!((average.explain().kernels(), stored(&average.explain())), (1, vec![]));
    let image = g.input::<f32>("image", shape![n, m]);
    let weights = g.input::<f32>("weights", shape![w, 3]);
    let patches = image.sliding_window_view(w, 0).sliding_window_view(3, 1);
    let filtered = (patches * weights).sum([2, 3]).compile().unwrap();
    assert_eq!(stored(&filtered.explain()), []);
    for n in [5, 6, 70, 1000] {
        let x = vector(3, n);
        let found: Vec<f32> = average.run(&x).unwrap().try_into().unwrap();
        let want = x.windows(5).map(|five| five.iter().fold(-0.0, |sum, x| sum + x) / 5.0);
        assert_eq!(found, want.collect::<Vec<f32>>());
    }
    // Whole numbers, whose sums are exact in any order.
    let (n, m, w) = (9, 12, 4);
    let whole = |count: usize, of: usize| (0..count).map(|i| (i * 7 % of) as f32).collect::<Vec<f32>>();
    let (image, weights) = (whole(n * m, 11), whole(w * 3, 5));
    let views = inputs! {
        "image" => ArrayView::new(&image, &[n, m]).unwrap(), "weights" => ArrayView::new(&weights, &[w, 3]).unwrap()
    };
    let found: Vec<f32> = filtered.run(views).unwrap().try_into().unwrap();
    let at = |i: usize, j: usize| {
        let places = (0..w).flat_map(|a| (0..3).map(move |b| (a, b)));
        places.map(|(a, b)| image[(i + a) * m + j + b] * weights[a * 3 + b]).sum::<f32>()
    };
    let want = (0..=n - w).flat_map(|i| (0..m - 2).map(move |j| (i, j))).map(|(i, j)| at(i, j));
    assert_eq!(found, want.collect::<Vec<f32>>());
}

#[test]
fn chosen_elements_are_reduced_where_they_are() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let chosen = x.filter(x.gt(1.0));
    for reduced in
        [chosen.sum(1), chosen.mean(1), chosen.std(1), x.nanmax(1), x.nanvar(1), x.allclose(x * 2.0)]
    {
        let explanation = reduced.compile().unwrap().explain();
        let large: Vec<_> =
            stored(&explanation).into_iter().filter(|(sizes, _)| sizes.contains(", ")).collect();
        assert_eq!(large, []);
    }
}

/// Kernels that do the same to other arrays have the same machine code, so a step in time is compiled once, however often it is
/// written. A kernel that differs in anything but its arrays, here in a factor, has code of its own.
#[test]
fn kernels_that_do_the_same_share_their_code() {
    let compiled = |steps: usize, factor: fn(usize) -> f64| {
        let g = Graph::new();
        let x = g.input::<f64>("x", shape![g.symbol("n"), g.symbol("m")]);
        let mut u = x;
        for step in 0..steps {
            let sides = u.slice(slice![..-2, 1..-1]) + u.slice(slice![2.., 1..-1]);
            let sides = sides + u.slice(slice![1..-1, ..-2]) + u.slice(slice![1..-1, 2..]);
            u = u.at(slice![1..-1, 1..-1]).set(sides.exp() * factor(step));
        }
        g.compile([("u", u)]).unwrap()
    };
    let code = |kernel: &Executable| kernel.explain().code_bytes();
    let once = code(&compiled(4, |_| 0.25));
    assert_eq!(code(&compiled(12, |_| 0.25)), once);
    let factors = compiled(12, |step| if step == 7 { 0.5 } else { 0.25 });
    assert!(code(&factors) > once, "{} {once}", code(&factors));
    for (n, m) in [(3, 3), (2, 5), (9, 40), (33, 7)] {
        let input: Vec<f64> = vector(3, n * m).into_iter().map(f64::from).collect();
        let mut wanted = input.clone();
        for step in 0..12 {
            let before = wanted.clone();
            for row in 1..n - 1 {
                for column in 1..m - 1 {
                    let at = |row: usize, column: usize| before[row * m + column];
                    let sides =
                        at(row - 1, column) + at(row + 1, column) + at(row, column - 1) + at(row, column + 1);
                    wanted[row * m + column] = sides.exp() * if step == 7 { 0.5 } else { 0.25 };
                }
            }
        }
        let found: Vec<f64> =
            factors.run(ArrayView::new(&input, &[n, m]).unwrap()).unwrap().try_into().unwrap();
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(
                (found - wanted).abs() <= 1e-12 * wanted.abs() || found == wanted,
                "{n} {m}: {found} {wanted}"
            );
        }
    }
}

#[test]
fn kernels_that_step_otherwise_have_code_of_their_own() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<i32>("x", shape![n, 3]), g.input::<i32>("y", shape![m, 5]));
    let both = |x: Tensor| x.index(1, 1) * 2;
    let kernel = g.compile([("x", both(x)), ("y", both(y))]).unwrap();
    let numbers: Vec<i32> = (0..100).collect();
    for (n, m) in [(1, 2), (7, 8), (33, 20)] {
        let inputs = inputs![
            ArrayView::new(&numbers[..n * 3], &[n, 3]).unwrap(),
            ArrayView::new(&numbers[..m * 5], &[m, 5]).unwrap()
        ];
        let (x, y): (Vec<i32>, Vec<i32>) = kernel.run(inputs).unwrap().try_into().unwrap();
        assert_eq!(x, (0..n as i32).map(|row| (3 * row + 1) * 2).collect::<Vec<_>>());
        assert_eq!(y, (0..m as i32).map(|row| (5 * row + 1) * 2).collect::<Vec<_>>());
    }
}

/// Kernels that are the same but for their arrays report their own errors.
#[test]
fn kernels_that_can_fail_report_their_own_expressions() {
    let g = Graph::new();
    let [k, n, m] = g.symbols(["k", "n", "m"]);
    let table = g.input::<f32>("table", shape![k]);
    let (first, second) = (g.input::<i64>("first", shape![n]), g.input::<i64>("second", shape![m]));
    let kernel = g.compile([("a", table.take(first, 0)), ("b", table.take(second, 0))]).unwrap();
    let failed = |first: &[i64], second: &[i64]| {
        let inputs = inputs! { "table" => &[0.0f32; 5], "first" => first, "second" => second };
        match kernel.run(inputs) {
            Err(CallError::Run(RunError::IndexOutOfRange { expr, position, index: 9, .. })) => {
                (expr, position)
            }
            other => panic!("{other:?}"),
        }
    };
    let (of_first, of_second) = (failed(&[0, 9, 1], &[4; 40]), failed(&[3; 40], &[1, 2, 9]));
    assert_eq!((of_first.1, of_second.1), (vec![1], vec![2]));
    assert_ne!(of_first.0, of_second.0);
    assert_eq!(failed(&[9], &[9]).0, of_first.0.min(of_second.0));
}
