//! Codes for points of the plane, by Newton's method: the loss is the sum of squares to the nearest codes, its slopes come from
//! `grad`, and the diagonal of its second derivatives from `hvp` along ones, as each number of a code counts by itself. Drawn
//! as the regions of the codes, with the ways that they came.
//!
//! ```text
//! cargo run --release --example k_means
//! cargo run --release --example k_means -- --codes 30
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::picture::Picture;
use common::report::{self, grouped, line};
use common::strokes::place_of;
use common::{Error, middles_of_pixels, normal_numbers, uniform_numbers};
use std::f32::consts::TAU;
use std::process::ExitCode;

/// Pixels along a side of the picture. The plane goes from -1 to 1.
const SIDE: usize = 560;
/// Most steps; codes that no point leaves or joins move no more, but for rounding.
const STEPS: usize = 200;
const SMALLEST_MOVE: f64 = 1e-9;
/// Points that are timed.
const TIMED: usize = 200_000;
/// Sums in two orders are within this of each other.
const TOLERANCE: f64 = 1e-12;

const COMMAND: Command = Command {
    name: "k_means",
    about: "Codes for points of the plane, by Newton's method with the diagonal of the Hessian.",
    options: &[
        Choice("--points", "N", "how many points [default: 4000]"),
        Choice("--codes", "K", "how many codes [default: 14]"),
    ],
    output: "where to write codes.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// Points `f64[n, 2]` and codes `f64[k, 2]`.
struct Model {
    graph: Graph,
    k: Symbol,
    x: Tensor,
    codes: Tensor,
}

impl Model {
    fn new() -> Model {
        let graph = Graph::new();
        let [n, k] = graph.symbols(["n", "k"]);
        let (x, codes) = (graph.input::<f64>("x", shape![n, 2]), graph.input::<f64>("codes", shape![k, 2]));
        Model { graph, k, x, codes }
    }

    /// The nearest code of each point. The distances, `f64[n, k]`, are not stored.
    fn nearest(&self) -> Tensor {
        (self.x.unsqueeze(1) - self.codes).square().sum(-1).argmin(1)
    }

    /// The sum of the squares of the points' distances from their codes.
    fn loss(&self) -> Tensor {
        (self.x - self.codes.take(self.nearest(), 0)).square().sum(..)
    }

    /// A step of Newton's method. A code without points has no curvature, and stays.
    fn newton(&self) -> Result<Executable, Error> {
        let ones = self.graph.constant(1.0);
        let [slope] = self.loss().grad([self.codes]);
        let [curvature] = self.loss().hvp([(self.codes, ones)]);
        self.codes.assign(select(curvature.gt(0), self.codes - slope / curvature, self.codes));
        Ok(self.graph.compile([("loss", self.loss())])?)
    }

    /// The same by hand: a code moves to the mean of its points.
    fn means(&self) -> Result<Executable, Error> {
        let code = self.nearest();
        let counts = code.segment_count(self.k).cast::<f64>().unsqueeze(1);
        let means = self.x.segment_sum(code, self.k) / counts;
        self.codes.assign(select(counts.gt(0), means, self.codes));
        Ok(self.graph.compile([("loss", self.loss())])?)
    }
}

/// Moves the codes, and returns the loss before.
fn step(kernel: &Executable, points: &[f64], codes: &mut [f64]) -> Result<f64, Error> {
    let (n, k, mut loss) = (points.len() / 2, codes.len() / 2, [0.0]);
    let inputs = inputs! {
        "x" => ArrayView::new(points, &[n, 2])?,
        "codes" => ArrayViewMut::new(codes, &[k, 2])?,
    };
    kernel.run_into(inputs, ArrayViewMut::new(&mut loss, &[])?)?;
    Ok(loss[0])
}

/// Each code moves to the mean of the points that are nearest to it.
fn step_by_loops(points: &[f64], codes: &mut [f64]) {
    let codes = codes.as_chunks_mut::<2>().0;
    let mut sums = vec![([0.0; 2], 0.0); codes.len()];
    for x in points.as_chunks::<2>().0 {
        let (sum, count) = &mut sums[nearest(x, codes)];
        *sum = [sum[0] + x[0], sum[1] + x[1]];
        *count += 1.0;
    }
    for (code, (sum, count)) in codes.iter_mut().zip(sums) {
        if count > 0.0 {
            *code = sum.map(|sum| sum / count);
        }
    }
}

/// The code nearest to a point.
fn nearest(x: &[f64; 2], codes: &[[f64; 2]]) -> usize {
    let (mut best, mut least) = (0, f64::INFINITY);
    for (index, code) in codes.iter().enumerate() {
        let square = (x[0] - code[0]).powi(2) + (x[1] - code[1]).powi(2);
        if square < least {
            (best, least) = (index, square);
        }
    }
    best
}

fn run(given: &Given) -> Result<(), Error> {
    let n = given.number("--points", 1..=1_000_000, 4000)?;
    let k = given.number("--codes", 1..=100, 14)?;
    let directory = given.output()?;
    println!("k_means: {} points, {k} codes", grouped(n));
    line("nearest", "(x.unsqueeze(1) - codes).square().sum(-1).argmin(1)");
    line("loss", "(x - codes.take(nearest, 0)).square().sum(..)");
    line("slope, curvature", "loss.grad([codes]), loss.hvp([(codes, 1)])");
    line("codes", "select(curvature.gt(0), codes - slope / curvature, codes)");
    let (newton, means) = (Model::new().newton()?, Model::new().means()?);
    report::compiled(&newton);
    report::check_not_stored(&newton, &["n", "k"])?;

    let (points, start) = (scattered(n), start(k));
    let (mut codes, mut by_loops, mut ways) = (start.clone(), start.clone(), vec![start.clone()]);
    let (mut losses, mut difference) = (Vec::new(), 0.0f64);
    for _ in 0..STEPS {
        losses.push(step(&newton, &points, &mut codes)?);
        step_by_loops(&points, &mut by_loops);
        difference = difference.max(report::largest_difference(&codes, &by_loops));
        if report::largest_difference(&codes, &ways[ways.len() - 1]) < SMALLEST_MOVE {
            break;
        }
        ways.push(codes.clone());
    }
    for (step, loss) in losses.iter().enumerate().step_by(5) {
        line(&format!("step {step}"), format!("a mean square of {:.7}", loss / n as f64));
    }
    report::check_difference("codes of all steps", difference, TOLERANCE)?;
    match ways.len() - 1 {
        STEPS => line("", format!("after {STEPS} steps codes still move")),
        steps => line("", format!("after {steps} steps no code moves any more")),
    }

    println!("a step with {} points:", grouped(TIMED));
    let (many, mut codes) = (scattered(TIMED), start);
    for (about, kernel) in [("by grad and hvp", &newton), ("by hand in Broadloom", &means)] {
        let time = report::shortest(|| step(kernel, &many, &mut codes).map(drop))?;
        report::speed(about, time, TIMED * k, "pairs");
    }
    let (time, ()) = report::once(|| step_by_loops(&many, &mut codes));
    report::speed("plain Rust", time, TIMED * k, "pairs");
    report::wrote(&drawn(&points, &ways), directory, "codes.png")
}

/// Codes at random in the middle of the plane.
fn start(k: usize) -> Vec<f64> {
    uniform_numbers(0xc0de5).take(2 * k).map(|x| 0.5 * f64::from(x) - 0.25).collect()
}

/// Points in clusters around a ring, more and more of them, and a spread of others.
fn scattered(count: usize) -> Vec<f64> {
    let (mut normal, mut uniform) = (normal_numbers(0x9ea5), uniform_numbers(0x11e5));
    let mut points = Vec::with_capacity(2 * count);
    for _ in 0..count {
        let mut number = || f64::from(uniform.next().unwrap_or(0.5));
        let (kind, place) = (number(), number());
        let (center, spread) = if kind < 0.25 {
            ([0.0, 0.0], 0.3)
        } else {
            let cluster = (8.0 * place.sqrt()).floor();
            let (sin, cos) = (cluster / 8.0 * f64::from(TAU)).sin_cos();
            ([0.68 * cos, 0.68 * sin], 0.05 + 0.005 * cluster)
        };
        points.extend(center.map(|center| center + spread * f64::from(normal.next().unwrap_or(0.0))));
    }
    points
}

/// The region of each code, the points, and the ways of the codes.
fn drawn(points: &[f64], ways: &[Vec<f64>]) -> Picture {
    // Hues a golden angle apart, so that neighbours in number differ.
    let color = |code: usize| {
        let hue = 2.4 * code as f32;
        [0.0, 1.0, 2.0].map(|channel: f32| (148.0 + 72.0 * (hue - channel * TAU / 3.0).cos()) as u8)
    };
    let codes = ways[ways.len() - 1].as_chunks::<2>().0;
    let region = |pixel: &[f32; 2]| {
        color(nearest(&pixel.map(f64::from), codes)).map(|channel| 255 - (255 - channel) / 4)
    };
    let pixels = middles_of_pixels(SIDE).as_chunks::<2>().0.iter().flat_map(region).collect();
    let mut picture = Picture { width: SIDE, height: SIDE, pixels };
    let place = |point: [f64; 2]| place_of(point.map(|x| x as f32), SIDE);
    for point in points.as_chunks::<2>().0 {
        picture.dot(place(*point), 1.4, color(nearest(point, codes)));
    }
    for code in 0..codes.len() {
        let way: Vec<[f32; 2]> =
            ways.iter().map(|codes| place([codes[2 * code], codes[2 * code + 1]])).collect();
        picture.stroke(&way, 2.0, [40; 3]);
        picture.dot(way[0], 3.0, [40; 3]);
        picture.dot(way[way.len() - 1], 7.0, [40; 3]);
        picture.dot(way[way.len() - 1], 5.0, color(code));
    }
    picture
}
