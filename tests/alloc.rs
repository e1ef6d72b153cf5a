//! That nothing is stored which the mathematics does not need, as an allocator sees it.
#![allow(unsafe_code, reason = "an allocator counts")]

use broadloom::prelude::*;
use broadloom::{Executable, Threads};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator with a count of the bytes that are in use, and of the most that were.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Ordering::SeqCst) + layout.size();
        PEAK.fetch_max(now, Ordering::SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes allocated at most, on top of what was in use before.
fn peak_of(action: impl FnOnce()) -> usize {
    let before = IN_USE.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    action();
    PEAK.load(Ordering::SeqCst).saturating_sub(before)
}

fn nearest(d: i64, threads: Threads) -> Executable {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let obs = g.input::<f32>("obs", shape![n, d]);
    let codes = g.input::<f32>("codes", shape![k, d]);
    let code = (codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1).argmin(1);
    code.compile_with(&CompileOptions { threads, ..CompileOptions::default() }).unwrap()
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn nearest_codes_need_no_temporary() {
    for (n, k, d) in [(100_000, 16, 3), (20_000, 256, 8), (20_001, 17, 40)] {
        let obs: Vec<f32> = (0..n * d).map(|i| ((i * 7919) % 1009) as f32).collect();
        let codes: Vec<f32> = (0..k * d).map(|i| ((i * 104_729) % 1013) as f32).collect();
        let expected: Vec<i64> = obs
            .chunks(d)
            .map(|row| {
                let distance = |code: &[f32]| -> f64 {
                    row.iter().zip(code).map(|(x, y)| f64::from(x - y) * f64::from(x - y)).sum()
                };
                // The first of equal ones, as `min_by` gives.
                let codes = codes.chunks(d).map(distance).enumerate();
                codes.min_by(|x, y| x.1.total_cmp(&y.1)).map_or(0, |(index, _)| index as i64)
            })
            .collect();
        for threads in [Threads::Calling, Threads::Global] {
            let kernel = nearest(d as i64, threads.clone());
            assert_eq!(kernel.explain().materialized_bytes(), 0);
            let mut found = vec![-1i64; n];
            let mut run = || {
                let obs = ArrayView::new(&obs, &[n, d]).unwrap();
                let codes = ArrayView::new(&codes, &[k, d]).unwrap();
                kernel.run_into(inputs! { "obs" => obs, "codes" => codes }, &mut found).unwrap();
            };
            let first = peak_of(&mut run);
            // The differences alone would take n * k * d * 4 bytes.
            assert!(first <= 1 << 20, "{threads:?}: {first} bytes at the first run of ({n}, {k}, {d})");
            let second = peak_of(&mut run);
            assert!(second <= 4096, "{threads:?}: {second} bytes at the second run of ({n}, {k}, {d})");
            assert_eq!(found, expected);
        }
    }
}
