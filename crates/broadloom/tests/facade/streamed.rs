//! Results that are larger than the caches are written past them: by stores that need aligned addresses.

use broadloom::Threads;
use broadloom::prelude::*;

/// As many elements of `f32` as are written past the caches, and a few more.
const COUNT: usize = (8 << 20) + 77;

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at % 1021) as f32 - 300.0).collect()
}

fn on_threads(threads: Threads) -> CompileOptions {
    CompileOptions { threads, ..CompileOptions::default() }
}

#[test]
fn large_results_are_written_at_any_address() {
    let x = numbers(COUNT);
    for threads in [Threads::Calling, Threads::count(2).unwrap()] {
        let g = Graph::new();
        let t = g.input::<f32>("x", shape![g.symbol("n")]);
        let scaled = (2.5 * t + 1).compile_with(&on_threads(threads)).unwrap();
        let mut out = vec![0.0_f32; COUNT + 16];
        for start in [0, 1, 5, 15] {
            out.fill(-1.0);
            let target = ArrayViewMut::new(&mut out[start..start + COUNT], &[COUNT]).unwrap();
            scaled.run_into([ArrayView::new(&x, &[COUNT]).unwrap()], target).unwrap();
            let is_right = x.iter().zip(&out[start..]).all(|(x, out)| *out == 2.5 * x + 1.0);
            assert!(is_right, "from element {start} on");
            assert!(out[..start].iter().chain(&out[start + COUNT..]).all(|around| *around == -1.0));
        }
        let explanation = scaled.explain().to_string();
        let is_wide = explanation.contains("32 bytes") || explanation.contains("64 bytes");
        assert_eq!(explanation.contains("written past the caches"), is_wide, "{explanation}");
    }
}

#[test]
fn large_results_of_rows_beside_smaller_ones_are_right() {
    let columns = 6000;
    let rows = COUNT / columns;
    let (x, bias) = (numbers(rows * columns), numbers(columns));
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let t = g.input::<f32>("x", shape![n, m]);
    let b = g.input::<f32>("bias", shape![m]);
    let sum = t + b;
    let outputs = [
        ("sums", sum),
        ("doubles", sum.cast::<f64>()),
        ("positive", sum.gt(0)),
        ("short", sum.cast::<i16>()),
    ];
    let compiled = g.compile_with(outputs, &on_threads(Threads::Calling)).unwrap();
    let count = rows * columns;
    let (mut sums, mut doubles) = (vec![0.0_f32; count], vec![0.0_f64; count]);
    // So many truth values are less than what is written past the caches, and so are the integers.
    let (mut positive, mut short) = (vec![false; count], vec![0_i16; count]);
    let shape = [rows, columns];
    compiled
        .run_into(
            inputs! { "x" => ArrayView::new(&x, &shape).unwrap(), "bias" => ArrayView::new(&bias, &[columns]).unwrap() },
            (
                ArrayViewMut::new(&mut sums, &shape).unwrap(),
                ArrayViewMut::new(&mut doubles, &shape).unwrap(),
                ArrayViewMut::new(&mut positive, &shape).unwrap(),
                ArrayViewMut::new(&mut short, &shape).unwrap(),
            ),
        )
        .unwrap();
    for (at, x) in x.iter().enumerate() {
        let expected = x + bias[at % columns];
        let found = (sums[at], doubles[at], positive[at], short[at]);
        assert_eq!(found, (expected, f64::from(expected), expected > 0.0, expected as i16), "element {at}");
    }
}

#[test]
fn large_arrays_of_bytes_are_right() {
    let count = 4 * COUNT;
    let x: Vec<u8> = (0..count).map(|at| (at % 251) as u8).collect();
    let g = Graph::new();
    let t = g.input::<u8>("x", shape![g.symbol("n")]);
    let outputs = [("more", t + 3), ("few", t.lt(9))];
    let compiled = g.compile_with(outputs, &on_threads(Threads::Calling)).unwrap();
    let (mut more, mut few) = (vec![0_u8; count], vec![false; count]);
    let results =
        (ArrayViewMut::new(&mut more, &[count]).unwrap(), ArrayViewMut::new(&mut few, &[count]).unwrap());
    compiled.run_into([ArrayView::new(&x, &[count]).unwrap()], results).unwrap();
    let is_right = |((x, more), few): ((&u8, &u8), &bool)| *more == x.wrapping_add(3) && *few == (*x < 9);
    assert!(x.iter().zip(&more).zip(&few).all(is_right));
}

#[test]
fn new_arrays_and_those_that_are_changed_in_place_are_not_streamed() {
    let mut x = numbers(COUNT);
    let g = Graph::new();
    let t = g.input::<f32>("x", shape![g.symbol("n")]);
    let shifted = (t - 1).compile_with(&on_threads(Threads::Calling)).unwrap();
    let fresh: Vec<f32> = shifted.run([ArrayView::new(&x, &[COUNT]).unwrap()]).unwrap().try_into().unwrap();
    assert!(fresh.iter().zip(&x).all(|(fresh, x)| *fresh == x - 1.0));
    assert!(!shifted.explain().to_string().contains("past the caches"));
    let g = Graph::new();
    g.input::<f32>("x", shape![g.symbol("n")]).add_(2);
    let changed = g.compile_with([], &on_threads(Threads::Calling)).unwrap();
    changed.run(inputs! { "x" => ArrayViewMut::new(&mut x, &[COUNT]).unwrap() }).unwrap();
    assert!(fresh.iter().zip(&x).all(|(fresh, x)| fresh + 3.0 == *x));
    assert!(!changed.explain().to_string().contains("past the caches"));
}
