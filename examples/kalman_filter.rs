//! A Kalman filter for many series at once: things that move on a line with a velocity that wanders, measured with noise
//! and with gaps. One scan along time filters all of them, and gives each place with its uncertainty.
//!
//! ```text
//! cargo run --release --example kalman_filter
//! cargo run --release --example kalman_filter -- --noise 4
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::picture::Picture;
use common::report::{self, grouped, line};
use common::{Error, normal_numbers, uniform_numbers};
use std::process::ExitCode;

/// Times of a series.
const TIMES: usize = 240;
/// Variance of what is added to a velocity from one time to the next.
const WANDER: f64 = 4e-4;
/// What is known at the beginning: variances of place and velocity around 0.
const BEGIN: [f64; 2] = [100.0, 0.04];
const TOLERANCE: f64 = 1e-12;
/// The first series, which is drawn, is not measured for this long.
const GAP: std::ops::Range<usize> = 130..165;

const COMMAND: Command = Command {
    name: "kalman_filter",
    about: "A Kalman filter for many series at once.",
    options: &[
        Choice("--series", "N", "how many series [default: 2000]"),
        Choice("--noise", "S", "standard deviation of the measurements [default: 3]"),
    ],
    output: "where to write kalman.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// The places and the deviations of all series, `f64[t, n]`, from measurements, of which some are NaN.
fn compile() -> Result<Executable, Error> {
    let g = Graph::new();
    let [t, n] = g.symbols(["t", "n"]);
    let measured = g.input::<f64>("measured", shape![t, n]);
    let noise = g.input::<f64>("noise", shape![]);
    let begin = [0.0, 0.0, BEGIN[0], 0.0, BEGIN[1]].map(|value| g.full(shape![n], value));
    // Place, velocity, and their covariances: of the place, of both, of the velocity.
    let (_, [place, deviation]) = scan(begin, [measured], |[x, v, xx, xv, vv], [z]| {
        // A time passes: the place moves by the velocity.
        let x = x + v;
        let (xx, xv, vv) = (xx + 2 * xv + vv, xv + vv, vv + WANDER);
        // A measurement draws both towards it, if there is one.
        let known = !z.isnan();
        let off = select(known, z - x, 0);
        let [of_x, of_v] = [xx, xv].map(|covariance| select(known, covariance / (xx + noise * noise), 0));
        let (x, v) = (x + of_x * off, v + of_v * off);
        let (xx, xv, vv) = (xx - of_x * xx, xv - of_x * xv, vv - of_v * xv);
        ([x, v, xx, xv, vv], [x, xx.sqrt()])
    });
    Ok(g.compile([("place", place), ("deviation", deviation)])?)
}

/// The places and the deviations by loops in plain Rust, one series after the other.
fn plain(measured: &[f64], n: usize, noise: f64) -> [Vec<f64>; 2] {
    let mut results = [vec![0.0; measured.len()], vec![0.0; measured.len()]];
    for series in 0..n {
        let [mut x, mut v, mut xx, mut xv, mut vv] = [0.0, 0.0, BEGIN[0], 0.0, BEGIN[1]];
        for at in (series..measured.len()).step_by(n) {
            x += v;
            (xx, xv, vv) = (xx + 2.0 * xv + vv, xv + vv, vv + WANDER);
            let z = measured[at];
            if !z.is_nan() {
                let [of_x, of_v] = [xx, xv].map(|covariance| covariance / (xx + noise * noise));
                (x, v) = (x + of_x * (z - x), v + of_v * (z - x));
                (xx, xv, vv) = (xx - of_x * xx, xv - of_x * xv, vv - of_v * xv);
            }
            results[0][at] = x;
            results[1][at] = xx.sqrt();
        }
    }
    results
}

/// True places, and measurements of nine in ten of them.
fn measured(n: usize, noise: f64) -> [Vec<f64>; 2] {
    let (mut normal, mut uniform) = (normal_numbers(0xca1a).map(f64::from), uniform_numbers(0x6a95));
    let mut number = || normal.next().unwrap_or(0.0);
    let mut x: Vec<f64> = (0..n).map(|_| BEGIN[0].sqrt() * number()).collect();
    let mut v: Vec<f64> = (0..n).map(|_| BEGIN[1].sqrt() * number()).collect();
    let (mut places, mut measured) = (Vec::new(), Vec::new());
    for time in 0..TIMES {
        for series in 0..n {
            x[series] += v[series];
            v[series] += WANDER.sqrt() * number();
            places.push(x[series]);
            let is_known = uniform.next().is_some_and(|x| x < 0.9) && !(series == 0 && GAP.contains(&time));
            measured.push(if is_known { x[series] + noise * number() } else { f64::NAN });
        }
    }
    [places, measured]
}

fn run(given: &Given) -> Result<(), Error> {
    let n = given.number("--series", 1..=100_000, 2000)?;
    let noise = given.number("--noise", 0.01..=100.0, 3.0)?;
    let directory = given.output()?;
    println!("kalman_filter: {} series of {TIMES} times", grouped(n));
    line("a time", "x + v, [xx + 2 * xv + vv, xv + vv, vv + wander]");
    line("a measurement", "x + gain * (z - x), where gain = xx / (xx + noise * noise)");
    let kernel = compile()?;
    report::compiled(&kernel);

    let [places, measured] = measured(n, noise);
    let mut results = [vec![0.0; n * TIMES], vec![0.0; n * TIMES]];
    let time = report::shortest(|| {
        let inputs = inputs! { "measured" => ArrayView::new(&measured, &[TIMES, n])?, "noise" => noise };
        let [place, deviation] = &mut results;
        let place = ArrayViewMut::new(place, &[TIMES, n])?;
        Ok(kernel.run_into(inputs, (place, ArrayViewMut::new(deviation, &[TIMES, n])?))?)
    })?;
    report::speed(&report::broadloom(), time, n * TIMES, "measurements");
    let (time, by_loops) = report::once(|| plain(&measured, n, noise));
    report::speed("plain Rust", time, n * TIMES, "measurements");
    let differences = results.iter().zip(&by_loops).map(|(a, b)| report::largest_difference(a, b));
    report::check_difference("places and deviations", differences.fold(0.0, f64::max), TOLERANCE)?;

    let [found, deviation] = &results;
    let off = |at: usize| (places[at] - found[at]).abs() / deviation[at];
    let within =
        |most: f64| 100.0 * (0..n * TIMES).filter(|at| off(*at) <= most).count() as f64 / (n * TIMES) as f64;
    line(
        "true places",
        format!(
            "{:.1} % within one deviation, {:.1} % within two (normal: 68.3, 95.4)",
            within(1.0),
            within(2.0)
        ),
    );
    report::wrote(&drawn(&places, &measured, &results, n), directory, "kalman.png")
}

/// The first series: true places, measurements, and what the filter makes of them with a band of two deviations.
fn drawn(places: &[f64], measured: &[f64], [found, deviation]: &[Vec<f64>; 2], n: usize) -> Picture {
    const SIZE: [usize; 2] = [1000, 480];
    const MARGIN: f64 = 24.0;
    const BLUE: [u8; 3] = [40, 84, 150];
    const RED: [u8; 3] = [208, 60, 52];
    const GREY: [u8; 3] = [90; 3];
    let of_first = |values: &[f64]| -> Vec<f64> { values.iter().copied().step_by(n).collect() };
    let [places, measured, found, deviation] = [places, measured, found, deviation].map(of_first);
    let all = places.iter().chain(&measured).filter(|value| !value.is_nan());
    let (least, most) = all
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let place = |time: usize, value: f64| {
        let across = time as f64 / (TIMES - 1) as f64 * (SIZE[0] as f64 - 2.0 * MARGIN) + MARGIN;
        let down = (most - value) / (most - least) * (SIZE[1] as f64 - 2.0 * MARGIN) + MARGIN;
        [across as f32, down as f32]
    };
    let curve = |values: &[f64]| -> Vec<[f32; 2]> {
        values.iter().enumerate().map(|(time, value)| place(time, *value)).collect()
    };
    let mut picture = Picture::new(SIZE[0], SIZE[1], [252; 3]);
    let between = (place(1, 0.0)[0] - place(0, 0.0)[0]) + 1.0;
    for time in 0..TIMES {
        let ends = [-2.0, 2.0].map(|by| place(time, found[time] + by * deviation[time]));
        picture.stroke(&ends, between, [250, 218, 190]);
    }
    for (time, value) in measured.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        picture.dot(place(time, *value), 2.2, BLUE);
    }
    picture.stroke(&curve(&places), 1.5, GREY);
    picture.stroke(&curve(&found), 2.5, RED);
    for (row, (text, color)) in [("measured", BLUE), ("true", GREY), ("filter", RED)].iter().enumerate() {
        picture.write_text((SIZE[0] - 130, 16 + 24 * row), 2, *color, text);
    }
    picture
}
