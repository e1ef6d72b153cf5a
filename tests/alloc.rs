//! A reduction of a broadcast needs its inputs, its outputs, and next to nothing beside.

use broadloom::prelude::*;
use broadloom::{Executable, Threads};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts bytes.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are those of `System.alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer is of `System.alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes that are allocated at once while `action` runs, beside those that were before.
fn peak(action: impl FnOnce()) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    action();
    PEAK.load(Ordering::Relaxed) - before
}

/// The nearest of k codes for each of n observations of d numbers.
fn nearest_code(d: usize, threads: Threads) -> Result<Executable, Box<dyn std::error::Error>> {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let obs = g.input::<f32>("obs", shape![n, d]);
    let codes = g.input::<f32>("codes", shape![k, d]);
    let code = (codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1).argmin(1);
    Ok(g.compile_with([("code", code)], &CompileOptions { threads, ..CompileOptions::default() })?)
}

/// One test, for the allocator counts what all threads do.
#[test]
fn runs_need_little_memory_beside_their_arrays() -> Result<(), Box<dyn std::error::Error>> {
    nearest_code_is_never_stored()?;
    products_of_matrices_are_never_stored()?;
    chunks_of_what_is_reduced_leave_no_pairs()?;
    updates_in_place_need_nothing()?;
    short_calls_allocate_results_and_nothing_else()
}

fn short_calls_allocate_results_and_nothing_else() -> Result<(), Box<dyn std::error::Error>> {
    let g = Graph::new();
    let n = g.symbol("n");
    let [x, y] = ["x", "y"].map(|name| g.input::<f32>(name, shape![n]));
    let kernel = (2.5 * x + y).compile()?;
    let (x, y, mut out) = ([1.0f32; 16], [2.0f32; 16], [0.0f32; 16]);
    let bound = kernel.bind((&x, &y))?;
    bound.run_into(&mut out)?;
    let mut result = Ok(());
    let bytes = peak(|| result = kernel.run_into((&x, &y), &mut out));
    result?;
    assert_eq!(bytes, 0, "by position");
    let mut result = Ok(());
    let bytes = peak(|| result = kernel.run_into(inputs! { "x" => &x, "y" => &y }, &mut out));
    result?;
    assert_eq!(bytes, 0, "by name");
    let mut result = Ok(());
    let bytes = peak(|| result = bound.run_into(&mut out));
    result?;
    assert_eq!((bytes, out), (0, [4.5; 16]), "what is bound, into an array");
    bound.run()?;
    let mut result = None;
    let bytes = peak(|| result = Some(bound.run()));
    result.transpose()?;
    assert_eq!(bytes, size_of_val(&out), "what is bound");
    kernel.run((&x, &y))?;
    let mut result = None;
    let bytes = peak(|| result = Some(kernel.run((&x, &y))));
    result.transpose()?;
    assert_eq!(bytes, size_of_val(&out), "in an array of its own");
    Ok(())
}

fn updates_in_place_need_nothing() -> Result<(), Box<dyn std::error::Error>> {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<f32>("x", shape![n, m]), g.input::<f32>("y", shape![n, m]));
    x.assign(x * 0.5 + y.exp());
    y.assign(y.softmax(1));
    let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
    let kernel = g.compile_with([], &options)?;
    let (mut a, mut b) = (vec![1.0f32; 30_000], vec![2.0f32; 30_000]);
    let mut run = || -> Result<(), Box<dyn std::error::Error>> {
        let (a, b) = (ArrayViewMut::new(&mut a, &[300, 100])?, ArrayViewMut::new(&mut b, &[300, 100])?);
        kernel.run(inputs! { "x" => a, "y" => b })?;
        Ok(())
    };
    run()?;
    let mut result = Ok(());
    let bytes = peak(|| result = run());
    result?;
    assert_eq!(bytes, 0, "{:?}", kernel.explain());
    Ok(())
}

/// Rows of the side that is reduced come in chunks: what each leaves is as large as the results.
fn chunks_of_what_is_reduced_leave_no_pairs() -> Result<(), Box<dyn std::error::Error>> {
    const MIB: usize = 1 << 20;
    let (m, rows) = (1000, 8192);
    for d in [3, 16] {
        let expressions: [fn(Tensor, Tensor) -> Tensor; 5] = [
            |squares, _| squares.argmin(1),
            |squares, _| squares.lt(0.5).sum(1),
            |squares, b| (-squares).exp().matmul(b),
            |squares, _| squares.topk_smallest(10, 1).1,
            |squares, _| squares.argmin(..),
        ];
        for (number, expression) in expressions.into_iter().enumerate() {
            let g = Graph::new();
            let [n, k] = g.symbols(["n", "k"]);
            let (x, y) = (g.input::<f32>("x", shape![k, d]), g.input::<f32>("y", shape![n, d]));
            let result = expression((x.unsqueeze(1) - y).square().sum(-1), g.input::<f32>("b", shape![n]));
            let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
            let chunked = result.compile_with(&options)?.in_chunks("n")?;
            let numbers =
                |count: usize| -> Vec<f32> { (0..count).map(|i| (i * 7919 % 1000) as f32 / 1e3).collect() };
            let (x, y, b) = (numbers(m * d), numbers(rows * d), numbers(rows));
            let run = || -> Result<(), Box<dyn std::error::Error>> {
                let mut run = chunked.start(inputs! { "x" => ArrayView::new(&x, &[m, d])? })?;
                for _ in 0..3 {
                    let y = ArrayView::new(&y, &[rows, d])?;
                    match chunked.streamed().len() {
                        1 => run.push(inputs! { "y" => y })?,
                        _ => run.push(inputs! { "y" => y, "b" => &b })?,
                    };
                }
                run.finish()?;
                Ok(())
            };
            run()?;
            let mut result = Ok(());
            let bytes = peak(|| result = run());
            result?;
            // The pairs of one chunk would be 31 MiB.
            assert!(bytes <= MIB, "{bytes} bytes for {number} of {d}");
        }
    }
    Ok(())
}

fn products_of_matrices_are_never_stored() -> Result<(), Box<dyn std::error::Error>> {
    const MIB: usize = 1 << 20;
    let g = Graph::new();
    let [n, k, m] = g.symbols(["n", "k", "m"]);
    let (x, w) = (g.input::<f32>("x", shape![n, k]), g.input::<f32>("w", shape![k, m]));
    let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
    let (n, k, m) = (200, 300, 250);
    let (a, b) = (vec![0.5f32; n * k], vec![2.0f32; k * m]);
    for product in [x.matmul(w).relu(), einsum("ij,jk->ik", [x, w]), x.tensordot(w, 1), x.inner(w.t())] {
        let kernel = product.compile_with(&options)?;
        let mut out = vec![0.0f32; n * m];
        let mut result = Ok(());
        let bytes = peak(|| {
            let inputs = (ArrayView::new(&a, &[n, k]).unwrap(), ArrayView::new(&b, &[k, m]).unwrap());
            result = kernel.run_into(inputs, ArrayViewMut::new(&mut out, &[n, m]).unwrap());
        });
        result?;
        // The products themselves would be 57 MiB.
        assert!(bytes <= MIB, "{bytes} bytes: {:?}", kernel.explain());
        assert!(out.iter().all(|value| *value == 300.0));
    }
    Ok(())
}

fn nearest_code_is_never_stored() -> Result<(), Box<dyn std::error::Error>> {
    const MIB: usize = 1 << 20;
    // The calling thread before there is a pool: threads allocate while they start, and all of it is counted.
    for pool in [None, Some(1), Some(3)] {
        let calling = pool.is_none();
        let count = pool.unwrap_or(1);
        let threads = match pool {
            None => Threads::Calling,
            Some(count) => {
                Threads::Pool(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(count).build()?))
            }
        };
        for (n, k, d) in [(100_000, 16, 3), (20_000, 256, 8)] {
            let wave =
                |count: usize| -> Vec<f32> { (0..count).map(|i| (i as f32 * 0.37).sin() * 3.0).collect() };
            let (obs, codes) = (wave(n * d), wave(k * d));
            let threads = threads.clone();
            let kernel = nearest_code(d, threads)?;
            assert_eq!(kernel.explain().materialized_bytes(), 0, "{:?}", kernel.explain());
            let mut code = vec![0i64; n];
            let run = |code: &mut Vec<i64>| -> Result<(), Box<dyn std::error::Error>> {
                let inputs = inputs! {
                    "obs" => ArrayView::new(&obs, &[n, d])?,
                    "codes" => ArrayView::new(&codes, &[k, d])?,
                };
                Ok(kernel.run_into(inputs, code)?)
            };
            let mut results = Vec::with_capacity(2);
            for _ in 0..2 {
                let mut result = Ok(());
                let bytes = peak(|| result = run(&mut code));
                result?;
                results.push(bytes);
            }
            assert!(
                results.iter().all(|bytes| *bytes <= count * MIB),
                "{results:?} bytes on {count} threads"
            );
            // Once its scratch memory and the binding are there, the calling thread needs nothing more.
            assert!(!calling || results[1] == 0, "{} bytes at the second run", results[1]);
            let row = |index: usize| &obs[index * d..][..d];
            let distance = |code: usize, row: &[f32]| -> f64 {
                let pairs = codes[code * d..][..d].iter().zip(row);
                pairs.map(|(code, obs)| f64::from(code - obs).powi(2)).sum()
            };
            for index in (0..n).step_by(997) {
                let least = (0..k).map(|code| distance(code, row(index))).fold(f64::INFINITY, f64::min);
                assert!(distance(code[index] as usize, row(index)) <= least + 1e-5, "observation {index}");
            }
        }
    }
    Ok(())
}
