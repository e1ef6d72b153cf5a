//! Nearest code, elementwise chains and sums against loops written by hand, on one thread.
//!
//! ```text
//! cargo bench --bench nearest_code               criterion's report, then a table of ratios
//! cargo bench --bench nearest_code -- row        only jobs whose name has these letters
//! cargo bench --bench nearest_code -- --test     everything once, on small arrays
//! ```
//!
//! Criterion measures one contender after the other, minutes apart, in which a shared machine changes its mind. The
//! table therefore comes from a loop of its own in which contenders take turns.
#![allow(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]

mod by_hand;
mod jobs;

use by_hand::Level;
use criterion::{Criterion, Throughput};
use jobs::Job;
use std::time::{Duration, Instant};

/// A contender repeats a job until this much time has passed, so that clock and loop cost nothing.
const LEAST_TIME: Duration = Duration::from_millis(2);
/// Time for each row of the table, give or take a round.
const TIME_PER_JOB: Duration = Duration::from_secs(2);
const LEAST_ROUNDS: usize = 7;
const MOST_ROUNDS: usize = 101;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_test = arguments.iter().any(|argument| argument == "--test");
    let is_list = arguments.iter().any(|argument| argument == "--list");
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));

    let level = Level::detect();
    let mut jobs = jobs::jobs(level, if is_test { 50 } else { 1 });
    if let Some(filter) = filter {
        jobs.retain(|job| job.name.contains(filter));
    }

    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .configure_from_args();
    for job in &mut jobs {
        report(&mut criterion, job);
    }
    criterion.final_summary();
    if !is_test && !is_list {
        println!("contenders in turns; nanoseconds each (medians), by hand for {}", level.name());
        println!(
            "{:44} {:>10} {:>10} {:>10} {:>9} {:>9}",
            "", "broadloom", "by hand", "naive", "medians", "fastest"
        );
        jobs.iter_mut().for_each(compare);
    }
}

/// Criterion's measurement of each contender.
fn report(criterion: &mut Criterion, job: &mut Job) {
    let mut group = criterion.benchmark_group(&job.name);
    group.throughput(Throughput::Elements(job.things as u64));
    for contender in &mut job.contenders {
        group.bench_function(contender.name, |bencher| bencher.iter(&mut contender.run));
    }
    group.finish();
}

/// A row of the table.
fn compare(job: &mut Job) {
    let start = Instant::now();
    let repeats: Vec<u32> = job.contenders.iter_mut().map(|contender| repeats(&mut contender.run)).collect();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); job.contenders.len()];
    while times[0].len() < MOST_ROUNDS && (times[0].len() < LEAST_ROUNDS || start.elapsed() < TIME_PER_JOB) {
        for ((contender, repeats), times) in job.contenders.iter_mut().zip(&repeats).zip(&mut times) {
            let start = Instant::now();
            (0..*repeats).for_each(|_| (contender.run)());
            times.push(start.elapsed().as_secs_f64() / f64::from(*repeats));
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let median = |times: &Vec<f64>| times[times.len() / 2];
    let each = |index: usize| match times.get(index) {
        Some(times) => format!("{:.3}", median(times) * 1e9 / job.things as f64),
        None => String::new(),
    };
    // On a quiet machine both ratios agree; on a busy one the fastest rounds are those that nobody disturbed.
    let (medians, fastest) = (median(&times[0]) / median(&times[1]), times[0][0] / times[1][0]);
    println!(
        "{:44} {:>10} {:>10} {:>10} {medians:>8.2}x {fastest:>8.2}x   per {}",
        job.name,
        each(0),
        each(1),
        each(2),
        job.unit
    );
}

/// How often to run for one measurement.
fn repeats(run: &mut dyn FnMut()) -> u32 {
    run();
    let start = Instant::now();
    run();
    let once = start.elapsed().max(Duration::from_nanos(1));
    (LEAST_TIME.as_nanos().div_ceil(once.as_nanos())).clamp(1, 100_000) as u32
}
