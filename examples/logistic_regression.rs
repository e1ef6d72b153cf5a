//! Which of two classes a point belongs to, by logistic regression: gradient descent by `grad`, each step of which is one
//! pass over the points. Drawn as the plane of probabilities after some steps; timed on more points with more axes.
//!
//! ```text
//! cargo run --release --example logistic_regression
//! cargo run --release --example logistic_regression -- --points 500 --rate 2
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::palette::PALE_BLUE_WHITE_RED;
use common::picture::{Picture, beside};
use common::report::{self, grouped, line};
use common::strokes::place_of;
use common::{Error, field, middles_of_pixels, normal_numbers};
use std::process::ExitCode;

/// Pixels along a side of a map. The plane goes from -1 to 1.
const SIDE: usize = 360;
/// The steps after which the plane is drawn; the last ones end the descent.
const SHOWN: [usize; 3] = [2, 20, 400];
/// The sample that is timed: points, and coordinates of each.
const TIMED: [usize; 2] = [200_000, 20];
/// Means of many numbers in two orders, and two definitions of `exp`, are within this of each other.
const TOLERANCE: f64 = 1e-4;

const COMMAND: Command = Command {
    name: "logistic_regression",
    about: "Two classes of points, told apart by logistic regression: gradient descent by derivatives.",
    options: &[
        Choice("--points", "N", "how many points [default: 4000]"),
        Choice("--rate", "R", "length of a step, in slopes [default: 4]"),
    ],
    output: "where to write classes.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// Points `f32[n, d]`, the class 0 or 1 of each, and the weights and the bias to be found.
struct Model {
    graph: Graph,
    x: Tensor,
    class: Tensor,
    weights: Tensor,
    bias: Tensor,
}

impl Model {
    fn new() -> Model {
        let graph = Graph::new();
        let [n, d] = graph.symbols(["n", "d"]);
        Model {
            x: graph.input::<f32>("x", shape![n, d]),
            class: graph.input::<f32>("class", shape![n]),
            weights: graph.input::<f32>("weights", shape![d]),
            bias: graph.input::<f32>("bias", shape![]),
            graph,
        }
    }

    /// The logarithm of the odds that a point is of class 1.
    fn logit(&self) -> Tensor {
        self.x.matmul(self.weights) + self.bias
    }

    /// The mean negative logarithm of the probability that a point's class has.
    fn loss(&self) -> Tensor {
        let logit = self.logit();
        (logit.softplus() - self.class * logit).mean(0)
    }

    /// The derivatives of the loss by the weights and the bias, derived by hand.
    fn slopes_by_hand(&self) -> [Tensor; 2] {
        let error = self.logit().sigmoid() - self.class;
        [(self.x * error.unsqueeze(1)).mean(0), error.mean(0)]
    }

    /// Moves weights and bias down the slopes; returns the loss before.
    fn step(&self, [by_weights, by_bias]: [Tensor; 2]) -> Result<Executable, Error> {
        let rate = self.graph.input::<f32>("rate", shape![]);
        self.weights.assign(self.weights - rate * by_weights);
        self.bias.assign(self.bias - rate * by_bias);
        Ok(self.graph.compile([("loss", self.loss())])?)
    }
}

/// Points, one behind the other, and their classes.
struct Sample {
    x: Vec<f32>,
    class: Vec<f32>,
}

/// Weights and a bias, and the length of steps.
#[derive(Clone)]
struct State {
    weights: Vec<f32>,
    bias: f32,
    rate: f32,
}

impl State {
    fn start(d: usize, rate: f32) -> State {
        State { weights: vec![0.0; d], bias: 0.0, rate }
    }

    /// All numbers that steps move.
    fn numbers(&self) -> Vec<f32> {
        self.weights.iter().copied().chain([self.bias]).collect()
    }

    fn step(&mut self, kernel: &Executable, sample: &Sample) -> Result<f32, Error> {
        let mut loss = [0.0];
        let inputs = inputs! {
            "x" => ArrayView::new(&sample.x, &[sample.class.len(), self.weights.len()])?,
            "class" => &sample.class,
            "weights" => &mut self.weights,
            "bias" => &mut self.bias,
            "rate" => self.rate,
        };
        kernel.run_into(inputs, ArrayViewMut::new(&mut loss, &[])?)?;
        Ok(loss[0])
    }

    fn step_by_loops(&mut self, sample: &Sample) -> f32 {
        let (d, n) = (self.weights.len(), sample.class.len() as f32);
        let (mut loss, mut by_bias, mut by_weights) = (0.0, 0.0, vec![0.0; d]);
        for (x, class) in sample.x.chunks_exact(d).zip(&sample.class) {
            let logit = self.bias + x.iter().zip(&self.weights).map(|(x, weight)| x * weight).sum::<f32>();
            loss += logit.max(0.0) + (-logit.abs()).exp().ln_1p() - class * logit;
            let error = 1.0 / (1.0 + (-logit).exp()) - class;
            by_bias += error;
            for (slope, x) in by_weights.iter_mut().zip(x) {
                *slope += error * x;
            }
        }
        for (weight, slope) in self.weights.iter_mut().zip(by_weights) {
            *weight -= self.rate * slope / n;
        }
        self.bias -= self.rate * by_bias / n;
        loss / n
    }
}

/// The probability of class 1 at each pixel.
fn probabilities(state: &State) -> Result<Vec<f32>, Error> {
    let pixels = middles_of_pixels(SIDE);
    let pixels = ArrayView::new(&pixels, &[SIDE * SIDE, 2])?;
    Ok(eval((&pixels, &state.weights, state.bias), |(x, weights, bias)| {
        (x.matmul(weights) + bias).sigmoid()
    })?)
}

fn run(given: &Given) -> Result<(), Error> {
    let n = given.number("--points", 2..=100_000, 4000)?;
    let rate = given.number("--rate", 0.001..=10.0f32, 4.0)?;
    let directory = given.output()?;
    println!("logistic_regression: {} points of the plane, of two classes", grouped(n));
    line("loss", "(logit.softplus() - class * logit).mean(0), where logit = x.matmul(weights) + bias");
    line("slopes", "loss.grad([weights, bias])");
    let (by_grad, by_hand) = (Model::new(), Model::new());
    let by_grad = by_grad.step(by_grad.loss().grad([by_grad.weights, by_grad.bias]))?;
    let by_hand = by_hand.step(by_hand.slopes_by_hand())?;
    report::compiled(&by_grad);
    report::check_not_stored(&by_grad, &["n", "d"])?;

    let sample = two_clouds(n);
    let (mut state, mut by_loops) = (State::start(2, rate), State::start(2, rate));
    let (mut maps, mut difference) = (Vec::new(), 0.0f64);
    for step in 1..=SHOWN[SHOWN.len() - 1] {
        let loss = state.step(&by_grad, &sample)?;
        by_loops.step_by_loops(&sample);
        difference = difference.max(report::largest_difference(&state.numbers(), &by_loops.numbers()));
        if SHOWN.contains(&step) {
            maps.push((format!("{step} steps"), drawn(&probabilities(&state)?, &sample)?));
            line(&format!("step {step}"), format!("a loss of {loss:.5}"));
        }
    }
    report::check_difference("weights and bias", difference, TOLERANCE)?;
    let told = sample.x.as_chunks::<2>().0.iter().zip(&sample.class).filter(|(x, class)| {
        let logit = state.bias + x[0] * state.weights[0] + x[1] * state.weights[1];
        (logit > 0.0) == (**class > 0.5)
    });
    line("", format!("{} of {} points are told right", grouped(told.count()), grouped(n)));

    let [n, d] = TIMED;
    println!("a step with {} points of {d} coordinates:", grouped(n));
    let sample = many_coordinates(n, d);
    let mut state = State::start(d, 0.1);
    for (about, kernel) in [("by grad", &by_grad), ("by hand in Broadloom", &by_hand)] {
        let time = report::shortest(|| state.step(kernel, &sample).map(drop))?;
        report::speed(about, time, n, "points");
    }
    let (time, _) = report::once(|| state.step_by_loops(&sample));
    report::speed("plain Rust", time, n, "points");
    let parts: Vec<(&str, &Picture)> = maps.iter().map(|(caption, map)| (caption.as_str(), map)).collect();
    report::wrote(&beside(&parts), directory, "classes.png")
}

/// Two clouds of points that overlap.
fn two_clouds(count: usize) -> Sample {
    let mut numbers = normal_numbers(0x1091);
    let mut number = || numbers.next().unwrap_or(0.0);
    let mut sample = Sample { x: Vec::with_capacity(2 * count), class: Vec::with_capacity(count) };
    for index in 0..count {
        let (long, short) = (0.3 * number(), 0.15 * number());
        let class = (index % 2) as f32;
        let side = 0.56 * class - 0.2;
        sample.x.extend([0.9 * side + 0.8 * long + 0.6 * short, 0.5 * side - 0.6 * long + 0.8 * short]);
        sample.class.push(class);
    }
    sample
}

/// Points whose class is that of the sign of a sum of their coordinates, but for noise.
fn many_coordinates(n: usize, d: usize) -> Sample {
    let mut numbers = normal_numbers(0x2d2d);
    let x: Vec<f32> = numbers.by_ref().take(n * d).collect();
    let is_one = |(x, noise): (&[f32], f32)| if x.iter().sum::<f32>() + noise > 0.0 { 1.0 } else { 0.0 };
    let class = x.chunks_exact(d).zip(numbers).map(is_one).collect();
    Sample { x, class }
}

/// Probabilities as a map, and some of the points on it.
fn drawn(probabilities: &[f32], sample: &Sample) -> Result<Picture, Error> {
    let mut picture = field::map(probabilities, SIDE, &PALE_BLUE_WHITE_RED, 10.0)?;
    for (point, class) in sample.x.as_chunks::<2>().0.iter().zip(&sample.class).take(1200) {
        let color = if *class > 0.5 { [126, 14, 38] } else { [16, 48, 106] };
        picture.dot(place_of(*point, SIDE), 1.5, color);
    }
    Ok(picture)
}
