//! The lines of a report.
#![allow(clippy::print_stdout, reason = "a report is printed")]

use super::Error;
use super::picture::Picture;
use broadloom::Executable;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs to be timed go on for about so long.
const LONG_ENOUGH: Duration = Duration::from_millis(400);

/// The shortest of several runs. A first one does not count: it touches the results' memory for the first time.
pub fn shortest(mut action: impl FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
    action()?;
    let (start, mut shortest) = (Instant::now(), Duration::MAX);
    while shortest == Duration::MAX || start.elapsed() < LONG_ENOUGH {
        let run = Instant::now();
        action()?;
        shortest = shortest.min(run.elapsed());
    }
    Ok(shortest)
}

/// How long one run takes, and its result.
pub fn once<R>(action: impl FnOnce() -> R) -> (Duration, R) {
    let start = Instant::now();
    let result = action();
    (start.elapsed(), result)
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A number with commas between thousands.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}

/// A line of which the first column says what it is about.
pub fn line(about: &str, text: impl std::fmt::Display) {
    println!("  {about:24} {text}");
}

/// The kernels that a graph was compiled to.
pub fn compiled(kernel: &Executable) {
    let made = kernel.explain();
    let kernels = match made.kernels() {
        1 => "1 kernel".to_string(),
        count => format!("{count} kernels"),
    };
    let stored = match made.materialized_bytes() {
        bytes if bytes == 0 => "nothing stored in between".to_string(),
        bytes => format!("{bytes} bytes stored in between"),
    };
    line("compiled", format!("{kernels}, {stored}, in {:.1} ms", milliseconds(made.compile_time())));
}

/// Refuses a kernel that stores an array with all of these sizes, which are symbols, as its axes.
pub fn check_not_stored(kernel: &Executable, sizes: &[&str]) -> Result<(), Error> {
    for stored in kernel.explain().temporaries() {
        if sizes.iter().all(|size| stored.sizes.iter().any(|of_stored| of_stored == size)) {
            return Err(format!("an array [{}] is stored: {}", stored.sizes.join(", "), stored.reason).into());
        }
    }
    line("", format!("no table [{}] is stored", sizes.join(", ")));
    Ok(())
}

/// Says how far numbers were from those of a plain loop at most, or refuses them. NaN is too far.
pub fn check_difference(about: &str, difference: f64, tolerance: f64) -> Result<(), Error> {
    if difference <= tolerance {
        line("check", format!("{about} are within {difference:.1e} of the plain loop's"));
        return Ok(());
    }
    Err(format!("{about} are {difference:.1e} from those of the plain loop").into())
}

/// Who computes what is compiled, beside plain Rust on one thread.
pub fn broadloom() -> String {
    match std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
        1 => "Broadloom, 1 thread".to_string(),
        threads => format!("Broadloom, {threads} threads"),
    }
}

/// The time that work on a number of things took.
pub fn speed(about: &str, time: Duration, count: usize, things: &str) {
    let per_second = grouped((count as f64 / time.as_secs_f64().max(1e-9)) as usize);
    line(about, format!("{:10.2} ms {per_second:>17} {things}/s", milliseconds(time)));
}

/// Writes a picture and says where.
pub fn wrote(picture: &Picture, directory: &Path, name: &str) -> Result<(), Error> {
    let path = directory.join(name);
    picture.write(&path)?;
    line("wrote", format!("{} ({} x {})", path.display(), picture.width, picture.height));
    Ok(())
}

/// The largest difference of numbers at the same places; NaN if only one of them is.
pub fn largest_difference<T: Copy + Into<f64>>(left: &[T], right: &[T]) -> f64 {
    let pairs = left.iter().zip(right).map(|(left, right)| ((*left).into(), (*right).into()));
    let differences = pairs.filter(|(left, right): &(f64, f64)| !(left.is_nan() && right.is_nan()));
    let differences = differences.map(|(left, right)| if left == right { 0.0 } else { (left - right).abs() });
    differences.fold(0.0, |most, next| if next > most || next.is_nan() { next } else { most })
}
