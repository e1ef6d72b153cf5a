//! Measures how long something takes.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The fewest and most repetitions to measure.
const REPETITIONS: std::ops::RangeInclusive<usize> = 5..=100_000;
/// Anything faster runs several times per measurement.
const SHORTEST: Duration = Duration::from_micros(100);
/// The part of a copy that one thread does at a time.
const CHUNK: usize = 1 << 20;

/// Times of one run, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub median: f64,
    pub least: f64,
    /// The 90th percentile.
    pub ninetieth: f64,
    pub repetitions: usize,
}

impl Times {
    /// Summarises at least one measurement.
    fn new(mut seconds: Vec<f64>) -> Times {
        seconds.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let index = (part * (seconds.len().saturating_sub(1)) as f64).round() as usize;
            seconds.get(index).copied().unwrap_or(f64::NAN)
        };
        Times { median: at(0.5), least: at(0.0), ninetieth: at(0.9), repetitions: seconds.len() }
    }
}

/// Something to be measured.
pub type Run<'a, E> = &'a mut dyn FnMut() -> Result<(), E>;

/// Measures several things in turns, so that disturbances of the machine affect all of them, for the given time in
/// total.
///
/// # Errors
/// Returns the first error of a thing that is measured.
pub fn in_turns<E>(runs: &mut [Run<'_, E>], seconds: f64) -> Result<Vec<Times>, E> {
    let mut counts = Vec::with_capacity(runs.len());
    for run in runs.iter_mut() {
        // Run twice to warm up: the first run maps memory and starts threads.
        run()?;
        run()?;
        let start = Instant::now();
        run()?;
        let once = start.elapsed().max(Duration::from_nanos(20));
        counts.push(u32::try_from(SHORTEST.as_nanos() / once.as_nanos()).unwrap_or(u32::MAX).max(1));
    }
    let mut measured: Vec<Vec<f64>> = vec![Vec::new(); runs.len()];
    let begin = Instant::now();
    for repetition in 0..*REPETITIONS.end() {
        if repetition >= *REPETITIONS.start() && begin.elapsed().as_secs_f64() >= seconds {
            break;
        }
        for ((run, count), measured) in runs.iter_mut().zip(&counts).zip(&mut measured) {
            let start = Instant::now();
            for _ in 0..*count {
                run()?;
            }
            measured.push(start.elapsed().as_secs_f64() / f64::from(*count));
        }
    }
    Ok(measured.into_iter().map(Times::new).collect())
}

/// Copies on the threads of a pool, or on this thread if there is no pool or little to copy.
pub fn copy(pool: Option<&rayon::ThreadPool>, from: &[u8], to: &mut [u8]) {
    use rayon::prelude::*;
    match pool.filter(|_| from.len() > CHUNK) {
        None => to.copy_from_slice(from),
        Some(pool) => {
            let chunk = from.len().div_ceil(pool.current_num_threads().max(1)).clamp(1, CHUNK);
            let copied = to.par_chunks_mut(chunk).zip(from.par_chunks(chunk));
            pool.install(|| copied.for_each(|(to, from)| to.copy_from_slice(from)));
        }
    }
    black_box(to);
}
