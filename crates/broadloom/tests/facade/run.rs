//! Compiled kernels on arrays, compared with plain loops.

use broadloom::prelude::*;
use broadloom::{Array, Bytes, LayoutError, OutputError, Threads};

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

/// Numbers that differ from place to place.
fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + 11) % 101) as f32 * 0.25 - 12.0).collect()
}

#[test]
fn nearest_code() -> Result {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let obs = g.input::<f32>("obs", shape![n, 3]);
    let codes = g.input::<f32>("codes", shape![k, 3]);
    let distance = (codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1).sqrt();
    let kernel = g.compile([("code", distance.argmin(1)), ("distance", distance.min(1))])?;
    for (n, k) in [(1, 1), (5, 3), (64, 16), (200, 7), (0, 4)] {
        let (points, book) = (ramp(n * 3), ramp(k * 3));
        let inputs = inputs! { "codes" => ArrayView::new(&book, &[k, 3])?, "obs" => ArrayView::new(&points, &[n, 3])? };
        let mut outputs = kernel.run(inputs)?;
        let code: Vec<i64> = outputs.take("code")?;
        let least: Array<f32> = outputs.take("distance")?;
        assert!(outputs.is_empty());
        assert_eq!(least.shape(), [n]);
        for (i, point) in points.chunks(3).enumerate() {
            let distance = |code: &[f32]| {
                point.iter().zip(code).map(|(a, b)| f64::from(b - a).powi(2)).sum::<f64>().sqrt()
            };
            let all: Vec<f64> = book.chunks(3).map(distance).collect();
            let least_here = all.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((all[code[i] as usize] - least_here).abs() < 1e-5);
            assert!((f64::from(least.as_slice()[i]) - least_here).abs() < 1e-5);
        }
    }
    Ok(())
}

#[test]
fn one_kernel_serves_all_sizes_and_layouts() -> Result {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let y = g.input::<f32>("y", shape![m]);
    let kernel = (2.0 * x + y).compile()?;
    for (n, m) in [(0, 0), (0, 5), (5, 0), (1, 1), (1, 9), (9, 1), (3, 4), (17, 33)] {
        let data = ramp(4 * (n + 2) * (m + 2));
        let line = ramp(3 * m + 3);
        let (ni, mi) = (n as isize, m as isize);
        let layouts: [(usize, [isize; 2]); 7] = [
            (0, [mi, 1]),
            (1, [mi + 2, 1]),
            (0, [1, ni]),
            (0, [2 * mi, 2]),
            (n * m, [-mi, -1]),
            (0, [0, 1]),
            (3, [0, 0]),
        ];
        for (offset, strides) in layouts {
            for (start, step) in [(0, 1), (m, -1), (1, 3), (2, 0)] {
                let x_view = ArrayView::strided(&data, offset, &[n, m], &strides)?;
                let y_view = ArrayView::strided(&line, start, &[m], &[step])?;
                let result: Array<f32> = kernel.run((&x_view, &y_view))?.try_into()?;
                assert_eq!(result.shape(), [n, m]);
                for i in 0..n {
                    for j in 0..m {
                        let at = offset as isize + i as isize * strides[0] + j as isize * strides[1];
                        let want =
                            2.0 * data[at as usize] + line[(start as isize + j as isize * step) as usize];
                        assert_eq!(result.get(&[i, j]), Some(want), "{n} {m} {strides:?} {step} at {i} {j}");
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn strides_of_axes_of_one_element_do_not_matter() -> Result {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let kernel = g.input::<i64>("x", shape![n, m]).sum(0).compile()?;
    let data = [1i64, 2, 3];
    for strides in [[isize::MAX, 1], [0, 1], [-7, 1]] {
        let view = ArrayView::strided(&data, 0, &[1, 3], &strides)?;
        let sums: Vec<i64> = kernel.run(view)?.try_into()?;
        assert_eq!(sums, data);
    }
    let empty = ArrayView::strided(&data, 0, &[0, 3], &[isize::MIN, isize::MAX])?;
    let sums: Vec<i64> = kernel.run(empty)?.try_into()?;
    assert_eq!(sums, [0; 3]);
    Ok(())
}

#[test]
fn run_into_writes_what_run_returns() -> Result {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let kernel = g.compile([("square", x * x), ("rows", x.sum(1)), ("total", x.cast::<f64>().sum(..))])?;
    for (n, m) in [(1, 1), (3, 5), (40, 70), (0, 3), (2, 0)] {
        let data = ramp(n * m);
        let view = ArrayView::new(&data, &[n, m])?;
        let (square, rows, total): (Array<f32>, Vec<f32>, f64) = kernel.run(&view)?.try_into()?;
        // Dense, then transposed in memory with gaps between rows and backwards.
        let mut dense = (vec![9.0f32; n * m], vec![9.0f32; n], [9.0f64]);
        kernel.run_into(
            &view,
            (ArrayViewMut::new(&mut dense.0, &[n, m])?, &mut dense.1, ArrayViewMut::new(&mut dense.2, &[])?),
        )?;
        assert_eq!((dense.0.as_slice(), &dense.1, dense.2[0]), (square.as_slice(), &rows, total));

        let gap = n + 3;
        let mut spread = vec![9.0f32; gap * m + 1];
        let mut backwards = vec![9.0f32; 2 * n + 1];
        let mut scalar = [9.0f64; 1];
        let outputs = outputs! {
            "total" => ArrayViewMut::new(&mut scalar, &[])?,
            "square" => ArrayViewMut::strided(&mut spread, 0, &[n, m], &[1, gap as isize])?,
            "rows" => ArrayViewMut::strided(&mut backwards, 2 * n, &[n], &[-2])?,
        };
        kernel.run_into(&view, outputs)?;
        assert_eq!(scalar[0], total);
        for i in 0..n {
            assert_eq!(backwards[2 * n - 2 * i], rows[i]);
            assert_eq!(backwards[2 * n - 2 * i - 1], 9.0);
            for j in 0..m {
                assert_eq!(Some(spread[i + gap * j]), square.get(&[i, j]));
            }
        }
    }
    Ok(())
}

#[test]
fn inputs_are_passed_in_many_ways() -> Result {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f64>("x", shape![n]);
    let a = g.input::<f64>("a", shape![]);
    let kernel = (a * x).compile()?;
    let data = vec![1.0, 2.0];
    let array = Array::new(data.clone(), &[2])?;
    let any = kernel.run((&data, 1.0))?;
    let any = any.get("out").ok_or("no output")?;
    let results: [Vec<f64>; 7] = [
        kernel.run((&data, 3.0))?.try_into()?,
        kernel.run((data.as_slice(), &ArrayView::scalar(3.0)))?.try_into()?,
        kernel.run((&[1.0, 2.0], 3.0))?.try_into()?,
        kernel.run((&array, 3.0))?.try_into()?,
        kernel.run((any, 3.0))?.try_into()?,
        kernel.run(inputs![&data, 3.0])?.try_into()?,
        kernel.run(inputs! { "a" => 3.0, "x" => &data })?.try_into()?,
    ];
    for result in results {
        assert_eq!(result, [3.0, 6.0]);
    }
    let constant: i64 = g.iota(5).sum(0).compile()?.run(())?.try_into()?;
    assert_eq!(constant, 10);
    Ok(())
}

#[test]
fn results_convert_or_say_why_not() -> Result {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let kernel = g.compile([("a", x + 1), ("b", x.sum(0))])?;
    let data = [1.0f32, 2.0];
    let mut outputs = kernel.run(&data)?;
    assert_eq!(outputs.len(), 2);
    assert!(matches!(outputs.take::<Vec<i64>>("a"), Err(OutputError::DType { .. })));
    assert!(matches!(outputs.take::<f32>("a"), Err(OutputError::NotOneElement { .. })));
    assert!(matches!(outputs.take::<f32>("c"), Err(OutputError::NoSuchName { .. })));
    assert_eq!(outputs.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
    assert!(matches!(Vec::<f32>::try_from(outputs.clone()), Err(OutputError::Number { .. })));
    assert_eq!(outputs.get("b").and_then(|b| b.as_slice::<f32>()), Some([3.0].as_slice()));
    let (a, b): (Array<f32>, f32) = outputs.try_into()?;
    assert_eq!((a.into_vec(), b), (vec![2.0, 3.0], 3.0));
    Ok(())
}

#[test]
fn unneeded_inputs_may_be_left_out() -> Result {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n]);
    let y = g.input::<f32>("y", shape![m]);
    let (first, second) = ((x * 2).compile()?, (y.sum(0) + g.iota(n)).compile()?);
    assert_eq!(format!("{first:?}"), "Executable(x: f32[n] -> out: f32[n])");
    let result: Vec<f32> = first.run(&[1.0f32])?.try_into()?;
    assert_eq!(result, [2.0]);
    let result: Vec<f32> = first.run(inputs! { "x" => &[1.0f32], "y" => &[1u8] })?.try_into()?;
    assert_eq!(result, [2.0]);
    // `n` is needed, and only "x" has it.
    assert_eq!(second.inputs().len(), 2);
    Ok(())
}

#[test]
fn views_of_memory_are_checked() {
    let data = [0.0f32; 6];
    let mut output = [0.0f32; 6];
    assert!(matches!(ArrayView::new(&data, &[2, 2]), Err(LayoutError::Count { expected: 4, found: 6, .. })));
    assert!(matches!(ArrayView::new(&data, &[usize::MAX, 3]), Err(LayoutError::TooLarge { .. })));
    assert!(matches!(ArrayView::new(&data, &[1 << 40, 1 << 40]), Err(LayoutError::TooLarge { .. })));
    assert!(matches!(ArrayView::strided(&data, 0, &[2], &[1, 1]), Err(LayoutError::Strides { .. })));
    for (offset, shape, strides) in [
        (0, [2, 4], [3, 1]),
        (0, [2, 3], [-3, 1]),
        (7, [1, 1], [0, 0]),
        (0, [3, 3], [isize::MAX, 1]),
        (5, [2, 2], [isize::MIN, isize::MIN]),
        (usize::MAX, [1, 1], [1, 1]),
    ] {
        let error = ArrayView::strided(&data, offset, &shape, &strides).unwrap_err();
        assert!(matches!(error, LayoutError::OutOfBounds { .. } | LayoutError::TooLarge { .. }), "{error}");
    }
    for (shape, strides) in [([2, 3], [0, 1]), ([2, 3], [1, 1]), ([3, 2], [2, 0])] {
        let error = ArrayViewMut::strided(&mut output, 0, &shape, &strides).unwrap_err();
        assert!(matches!(error, LayoutError::Overlap { .. }), "{error}");
    }
    assert!(ArrayViewMut::strided(&mut output, 5, &[3, 2], &[-2, -1]).is_ok());
    assert!(ArrayView::strided(&data, 99, &[0, 4], &[1, 1]).is_ok());
    let view = ArrayView::strided(&data, 0, &[1 << 20, 1 << 20], &[0, 0]).unwrap();
    assert_eq!(view.get::<f32>(&[5, 1 << 19]), Some(0.0));
    assert_eq!(view.get::<f64>(&[5, 5]), None);
    assert_eq!(view.get::<f32>(&[1 << 20, 0]), None);
}

#[test]
fn the_same_bits_on_any_number_of_threads() -> Result {
    let (n, m) = (777, 1301);
    let data = ramp(n * m);
    let view = ArrayView::new(&data, &[n, m])?;
    type All = (Vec<f32>, Vec<f32>, Vec<f32>, f32);
    let mut all: Vec<All> = Vec::new();
    for (threads, vectorize) in [(0, true), (1, true), (2, true), (3, true), (8, true), (3, false)] {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let x = g.input::<f32>("x", shape![n, m]);
        let y = x * 0.37 - 1;
        let outputs = [("a", y), ("b", y.sum(1)), ("c", y.mean(0)), ("d", (y * x).sum(..))];
        let threads = match threads {
            0 => Threads::Calling,
            threads => Threads::Pool(std::sync::Arc::new(
                rayon::ThreadPoolBuilder::new().num_threads(threads).build()?,
            )),
        };
        let options =
            CompileOptions { threads, vectorize, parallel_threshold: 0, ..CompileOptions::default() };
        let (a, b, c, d) = g.compile_with(outputs, &options)?.run(&view)?.try_into()?;
        all.push((a, b, c, d));
    }
    for other in &all[1..] {
        assert!(*other == all[0]);
    }
    Ok(())
}

#[test]
fn an_executable_is_shared_by_threads() -> Result {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f32>("x", shape![n]);
    let kernel = (x.exp() * 2).sum(0).compile()?;
    drop(g);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let kernel = kernel.clone();
            scope.spawn(move || {
                for round in 0..50 {
                    let count = (thread * 31 + round * 7) % 400;
                    let data = vec![0.0f32; count];
                    let view = if round % 2 == 0 {
                        ArrayView::new(&data, &[count]).unwrap()
                    } else {
                        ArrayView::strided(&data[..count.min(1)], 0, &[count.min(1)], &[5]).unwrap()
                    };
                    let want = 2.0 * view.shape()[0] as f32;
                    let sum: f32 = kernel.run(view).unwrap().try_into().unwrap();
                    assert_eq!(sum, want);
                }
            });
        }
    });
    Ok(())
}

#[test]
fn explanations_answer_questions() -> Result {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, 1]);
    let y = g.input::<f32>("y", shape![1, m]);
    let kernel = (x * x + y * y).sqrt().compile()?;
    let explanation = kernel.explain();
    let stored: Bytes = explanation.materialized_bytes();
    assert_eq!(stored, 0);
    assert_eq!(explanation.kernels(), 1);
    assert!(explanation.vectorized("m"));
    assert!(!explanation.vectorized("no such axis"));
    assert!(explanation.scalar_calls().is_empty());
    assert!(explanation.dot().contains("digraph"));
    assert!(explanation.graph().to_string().contains("sqrt"));
    assert!(explanation.clif()?.contains("function"));
    assert!(!explanation.disassembly()?.is_empty());
    assert!(explanation.code_bytes() > 0);
    assert!(explanation.compile_time().as_nanos() > 0);
    assert!(explanation.to_string().contains("stored between kernels: 0 bytes"));
    Ok(())
}

#[test]
fn a_binding_can_be_run_again() -> Result {
    let g = Graph::new();
    let x = g.input::<i32>("x", shape![g.symbol("n")]);
    let kernel = (x * x).compile()?;
    let data = vec![1, 2, 3];
    let bound = kernel.bind(&data)?;
    for _ in 0..3 {
        let result: Vec<i32> = bound.run()?.try_into()?;
        assert_eq!(result, [1, 4, 9]);
    }
    Ok(())
}

#[test]
fn stored_temporaries_are_reported() -> Result {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f64>("x", shape![n, m]);
    let centred = x - x.mean_keepdims(0);
    let kernel = (centred / centred.square().mean_keepdims(0).sqrt()).compile()?;
    let stored = kernel.explain().materialized_bytes();
    assert_eq!(stored.as_constant(), None, "column means are needed by all rows: {stored}");
    assert!(stored.to_string().contains('m'), "{stored}");
    let (n, m) = (50, 7);
    let data: Vec<f64> = ramp(n * m).into_iter().map(f64::from).collect();
    let bound = kernel.bind(ArrayView::new(&data, &[n, m])?)?;
    assert!((m * 8..=4096).contains(&bound.temporary_bytes()), "{}", bound.temporary_bytes());
    let result: Array<f64> = bound.run()?.try_into()?;
    for j in 0..m {
        let column = || (0..n).map(|i| data[i * m + j]);
        let mean = column().sum::<f64>() / n as f64;
        let deviation = (column().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        for (i, x) in column().enumerate() {
            let got = result.get(&[i, j]).ok_or("index")?;
            assert!((got - (x - mean) / deviation).abs() < 1e-12);
        }
    }
    Ok(())
}
