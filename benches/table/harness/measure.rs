//! Contenders in turns: a shared machine changes its mind within seconds, and every round asks all of them.

use std::time::{Duration, Instant};

/// A contender repeats its work for this long in a round, so that the clock costs nothing.
const LEAST_TIME: Duration = Duration::from_micros(500);
const LEAST_ROUNDS: usize = 5;
const MOST_ROUNDS: usize = 101;
/// Work that takes longer than this by itself is done once: it is far from the noise.
const LONG: Duration = Duration::from_millis(800);

/// One way to do the work of an entry.
pub struct Contender {
    pub name: &'static str,
    pub run: Box<dyn FnMut()>,
}

impl Contender {
    pub fn new(name: &'static str, run: impl FnMut() + 'static) -> Contender {
        Contender { name, run: Box::new(run) }
    }
}

/// Seconds that each contender took in each round.
pub struct Times(Vec<Vec<f64>>);

impl Times {
    /// Median of a contender.
    pub fn seconds(&self, contender: usize) -> f64 {
        median(self.0[contender].clone())
    }

    /// Median, over the rounds, of one contender's time as a multiple of another's.
    pub fn ratio(&self, contender: usize, rival: usize) -> f64 {
        median(self.0[contender].iter().zip(&self.0[rival]).map(|(time, other)| time / other).collect())
    }
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs contenders in turns for some time, give or take a round.
pub fn measure(contenders: &mut [Contender], time: Duration) -> Times {
    let start = Instant::now();
    let repeats: Vec<u32> = contenders.iter_mut().map(|contender| repeats(&mut contender.run)).collect();
    let mut times = vec![Vec::new(); contenders.len()];
    while times[0].len() < MOST_ROUNDS && (times[0].len() < LEAST_ROUNDS || start.elapsed() < time) {
        for ((contender, repeats), times) in contenders.iter_mut().zip(&repeats).zip(&mut times) {
            let start = Instant::now();
            (0..*repeats).for_each(|_| (contender.run)());
            times.push(start.elapsed().as_secs_f64() / f64::from(*repeats));
        }
    }
    Times(times)
}

/// Seconds of work that is done alone, because it takes long or is not the same twice: the median of a few.
pub fn alone(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < LEAST_ROUNDS && (times.is_empty() || start.elapsed() < LONG) {
        let start = Instant::now();
        run();
        times.push(start.elapsed().as_secs_f64());
    }
    median(times)
}

/// How often to run for one measurement.
fn repeats(run: &mut dyn FnMut()) -> u32 {
    run();
    let start = Instant::now();
    run();
    let once = start.elapsed().max(Duration::from_nanos(1));
    LEAST_TIME.as_nanos().div_ceil(once.as_nanos()).clamp(1, 100_000) as u32
}
