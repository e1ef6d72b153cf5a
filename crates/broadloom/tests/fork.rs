//! What the guide says of threads after `fork`. One test: its order of forks and pools matters.
#![cfg(unix)]
#![allow(unsafe_code, reason = "processes are forked, which has no safe form")]

use broadloom::Threads;
use broadloom::prelude::*;
use std::ffi::c_int;
use std::sync::Arc;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(child: c_int, signal: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

const WITHOUT_WAITING: c_int = 1;
const KILL: c_int = 9;

/// Whether a child that runs `action` has ended with success, or `None` if it is still running after `patience`.
fn in_a_child(patience: Duration, action: impl FnOnce() -> bool) -> Option<bool> {
    // SAFETY: the child runs kernels, which only allocate and compute, and ends without destructors.
    let child = unsafe { fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        let is_right = action();
        // SAFETY: ends the process.
        unsafe { _exit(c_int::from(!is_right)) }
    }
    let start = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: the child is ours, and `status` lives.
        if unsafe { waitpid(child, &raw mut status, WITHOUT_WAITING) } == child {
            return Some(status == 0);
        }
        if start.elapsed() > patience {
            // SAFETY: the child is ours and has not been waited for.
            unsafe {
                kill(child, KILL);
                waitpid(child, &raw mut status, 0);
            }
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sums large enough for several threads.
fn kernel(threads: Threads) -> Executable {
    let g = Graph::new();
    let x = g.input::<i64>("x", shape![g.symbol("n")]);
    (x * 3).sum(..).compile_with(&CompileOptions { threads, ..CompileOptions::default() }).unwrap()
}

fn is_right(kernel: &Executable, data: &[i64]) -> bool {
    let expected: i64 = data.iter().map(|value| value * 3).sum();
    kernel.run(data).is_ok_and(|results| i64::try_from(results).is_ok_and(|sum| sum == expected))
}

#[test]
fn children_compute_as_the_guide_says() {
    let long = Duration::from_secs(60);
    let data: Vec<i64> = (0..1_000_000).collect();
    let (global, calling) = (kernel(Threads::Global), kernel(Threads::Calling));

    // Before the parent has run a large kernel, a child starts a pool of its own.
    assert_eq!(in_a_child(long, || is_right(&global, &data)), Some(true));

    assert!(is_right(&global, &data));
    assert_eq!(in_a_child(long, || is_right(&calling, &data)), Some(true));
    let with_a_pool = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        is_right(&kernel(Threads::Pool(Arc::new(pool))), &data)
    };
    assert_eq!(in_a_child(long, with_a_pool), Some(true));
    // The pool's threads are not in the child, so that the calling thread computes alone.
    assert_eq!(in_a_child(long, || is_right(&global, &data)), Some(true));
    assert_eq!(in_a_child(long, || is_right(&global, &data[..1000])), Some(true));
    // A pool that the caller built before the fork is the caller's business.
    let before = kernel(Threads::count(2).unwrap());
    assert!(is_right(&before, &data));
    assert_eq!(
        in_a_child(Duration::from_secs(3), || is_right(&before, &data)),
        None,
        "the child waits forever"
    );
}
