//! Two layers, `tanh(x @ w1 + b1) @ w2 + b2`, learn to tell two spirals apart. A step of Adam, with the derivatives by all
//! weights, is one call, which moves the weights in place. Drawn as the plane of probabilities after some steps.
//!
//! ```text
//! cargo run --release --example two_layer_perceptron
//! cargo run --release --example two_layer_perceptron -- --hidden 12
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::palette::PALE_BLUE_WHITE_RED;
use common::picture::{Picture, beside};
use common::report::{self, line};
use common::strokes::place_of;
use common::{Error, field, middles_of_pixels, uniform_numbers};
use std::process::ExitCode;

/// Pixels along a side of a map. The plane goes from -1 to 1.
const SIDE: usize = 360;
/// Points of each spiral.
const KNOWN: usize = 160;
/// The steps after which the plane is drawn; the last one ends the training.
const SHOWN: [usize; 3] = [50, 200, 1000];
/// The weights, in the order in which they lie one behind the other.
const NAMES: [&str; 4] = ["w1", "b1", "w2", "b2"];
const RATE: f64 = 0.03;
/// Rounding in another order, carried on through all steps, moves weights less than this.
const TOLERANCE: f64 = 1e-6;

const COMMAND: Command = Command {
    name: "two_layer_perceptron",
    about: "A perceptron of two layers learns to tell two spirals apart, by Adam with derivatives.",
    options: &[Choice("--hidden", "H", "units of the hidden layer [default: 32]")],
    output: "where to write spirals.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// Points `f64[n, 2]`, the spiral of each, 0 or 1, and the weights of the layers.
struct Model {
    graph: Graph,
    x: Tensor,
    class: Tensor,
    weights: [Tensor; 4],
}

impl Model {
    fn new() -> Model {
        let graph = Graph::new();
        let [n, hidden] = graph.symbols(["n", "hidden"]);
        let [w1, b1, w2, b2] = NAMES;
        Model {
            x: graph.input::<f64>("x", shape![n, 2]),
            class: graph.input::<f64>("class", shape![n]),
            weights: [
                graph.input::<f64>(w1, shape![2, hidden]),
                graph.input::<f64>(b1, shape![hidden]),
                graph.input::<f64>(w2, shape![hidden]),
                graph.input::<f64>(b2, shape![]),
            ],
            graph,
        }
    }

    fn hidden(&self) -> Tensor {
        let [w1, b1, ..] = self.weights;
        (self.x.matmul(w1) + b1).tanh()
    }

    /// The logarithm of the odds that a point is of the second spiral.
    fn logit(&self) -> Tensor {
        let [.., w2, b2] = self.weights;
        self.hidden().matmul(w2) + b2
    }

    /// The mean cross entropy.
    fn loss(&self) -> Tensor {
        let logit = self.logit();
        (logit.softplus() - self.class * logit).mean(0)
    }

    /// The derivatives of the loss by the weights, derived by hand.
    fn slopes_by_hand(&self) -> [Tensor; 4] {
        let (hidden, w2) = (self.hidden(), self.weights[2]);
        let error = (self.logit().sigmoid() - self.class).unsqueeze(1);
        let back = error * w2 * (1 - hidden.square()); // [n, hidden]
        let by_w1 = (self.x.unsqueeze(2) * back.unsqueeze(1)).mean(0);
        [by_w1, back.mean(0), (hidden * error).mean(0), error.mean(..)]
    }

    /// A step of Adam, which keeps moving means of the slopes and of their squares.
    fn step(&self, slopes: [Tensor; 4]) -> Result<Executable, Error> {
        let step = self.graph.input::<f64>("step", shape![]);
        let [kept, kept_square] = [0.9, 0.999].map(|kept| 1 - self.graph.constant(kept).pow(step));
        for ((name, weight), slope) in NAMES.into_iter().zip(self.weights).zip(slopes) {
            let moving = |what: &str| self.graph.input::<f64>(&format!("{what} of {name}"), weight.shape());
            let (mean, square) = (moving("mean"), moving("square"));
            let mean = mean.assign(mean + 0.1 * (slope - mean));
            let square = square.assign(square + 0.001 * (slope.square() - square));
            weight.assign(weight - RATE * (mean / kept) / ((square / kept_square).sqrt() + 1e-8));
        }
        Ok(self.graph.compile([("loss", self.loss())])?)
    }
}

/// Numbers for all weights: `w1[2, hidden]`, `b1[hidden]`, `w2[hidden]`, `b2`, one behind the other.
#[derive(Clone)]
struct Numbers {
    hidden: usize,
    numbers: Vec<f64>,
}

impl Numbers {
    fn parts(&self) -> [&[f64]; 4] {
        let (w1, rest) = self.numbers.split_at(2 * self.hidden);
        let (b1, rest) = rest.split_at(self.hidden);
        let (w2, b2) = rest.split_at(self.hidden);
        [w1, b1, w2, b2]
    }

    /// Each part with its shape, to be written.
    fn parts_mut(&mut self) -> Result<[ArrayViewMut<'_>; 4], Error> {
        let hidden = self.hidden;
        let (w1, rest) = self.numbers.split_at_mut(2 * hidden);
        let (b1, rest) = rest.split_at_mut(hidden);
        let (w2, b2) = rest.split_at_mut(hidden);
        Ok([
            ArrayViewMut::new(w1, &[2, hidden])?,
            ArrayViewMut::new(b1, &[hidden])?,
            ArrayViewMut::new(w2, &[hidden])?,
            ArrayViewMut::new(b2, &[])?,
        ])
    }
}

/// What the training moves.
#[derive(Clone)]
struct Training {
    weights: Numbers,
    mean: Numbers,
    square: Numbers,
    step: i32,
}

impl Training {
    /// Weights at random, the same in every run.
    fn start(hidden: usize) -> Training {
        let mut random = uniform_numbers(0x2a7e).map(|x| 2.0 * f64::from(x) - 1.0);
        let spread = (3.0 / hidden as f64).sqrt();
        let spreads = [(3 * hidden, 5.0), (hidden, spread), (1, 0.0)];
        let numbers = spreads.iter().flat_map(|(count, spread)| std::iter::repeat_n(*spread, *count));
        let numbers = numbers.map(|spread| spread * random.next().unwrap_or(0.0)).collect();
        let zeros = Numbers { hidden, numbers: vec![0.0; 4 * hidden + 1] };
        Training { weights: Numbers { hidden, numbers }, mean: zeros.clone(), square: zeros, step: 0 }
    }

    fn step(&mut self, kernel: &Executable, sample: &Sample) -> Result<f64, Error> {
        self.step += 1;
        let mut inputs = inputs! {
            "x" => ArrayView::new(&sample.points, &[sample.class.len(), 2])?,
            "class" => &sample.class,
            "step" => f64::from(self.step),
        };
        let moving = self.mean.parts_mut()?.into_iter().zip(self.square.parts_mut()?);
        for ((name, weight), (mean, square)) in NAMES.into_iter().zip(self.weights.parts_mut()?).zip(moving) {
            inputs = inputs.named(name, weight);
            inputs = inputs.named(format!("mean of {name}"), mean).named(format!("square of {name}"), square);
        }
        let mut loss = [0.0];
        kernel.run_into(inputs, ArrayViewMut::new(&mut loss, &[])?)?;
        Ok(loss[0])
    }

    fn step_by_loops(&mut self, sample: &Sample) {
        self.step += 1;
        let slopes = slopes_by_loops(&self.weights, sample);
        let [kept, kept_square] = [0.9f64, 0.999].map(|kept| 1.0 - kept.powi(self.step));
        let moving = self.mean.numbers.iter_mut().zip(&mut self.square.numbers);
        for ((weight, slope), (mean, square)) in self.weights.numbers.iter_mut().zip(slopes).zip(moving) {
            *mean += 0.1 * (slope - *mean);
            *square += 0.001 * (slope * slope - *square);
            *weight -= RATE * (*mean / kept) / ((*square / kept_square).sqrt() + 1e-8);
        }
    }
}

/// How the mean cross entropy changes with each weight.
fn slopes_by_loops(weights: &Numbers, sample: &Sample) -> Vec<f64> {
    let (hidden, [w1, b1, w2, b2]) = (weights.hidden, weights.parts());
    let mut slopes = vec![0.0; weights.numbers.len()];
    let mut units = vec![0.0f64; hidden];
    for (x, class) in sample.points.as_chunks::<2>().0.iter().zip(&sample.class) {
        let mut logit = b2[0];
        for unit in 0..hidden {
            units[unit] = (x[0] * w1[unit] + x[1] * w1[hidden + unit] + b1[unit]).tanh();
            logit += units[unit] * w2[unit];
        }
        let error = (1.0 / (1.0 + (-logit).exp()) - class) / sample.class.len() as f64;
        for unit in 0..hidden {
            let back = error * w2[unit] * (1.0 - units[unit] * units[unit]);
            slopes[unit] += back * x[0];
            slopes[hidden + unit] += back * x[1];
            slopes[2 * hidden + unit] += back;
            slopes[3 * hidden + unit] += error * units[unit];
        }
        slopes[4 * hidden] += error;
    }
    slopes
}

fn run(given: &Given) -> Result<(), Error> {
    let hidden = given.number("--hidden", 1..=512, 32)?;
    let directory = given.output()?;
    let sample = spirals();
    let n = sample.class.len();
    println!("two_layer_perceptron: {hidden} hidden units, {n} points of two spirals");
    line("logit", "(x.matmul(w1) + b1).tanh().matmul(w2) + b2");
    line("loss", "(logit.softplus() - class * logit).mean(0)");
    line("slopes", "loss.grad([w1, b1, w2, b2])");
    let (model, other) = (Model::new(), Model::new());
    let by_grad = model.step(model.loss().grad(model.weights))?;
    let by_hand = other.step(other.slopes_by_hand())?;
    report::compiled(&by_grad);
    report::check_not_stored(&by_grad, &["n", "hidden", "2"])?;

    let mut training = Training::start(hidden);
    let (mut by_loops, mut maps) = (training.clone(), Vec::new());
    for step in 1..=SHOWN[SHOWN.len() - 1] {
        let loss = training.step(&by_grad, &sample)?;
        by_loops.step_by_loops(&sample);
        if SHOWN.contains(&step) {
            maps.push((format!("{step} steps"), drawn(&training.weights, &sample)?));
            line(&format!("step {step}"), format!("a loss of {loss:.6}"));
        }
    }
    let difference = report::largest_difference(&training.weights.numbers, &by_loops.weights.numbers);
    report::check_difference("weights", difference, TOLERANCE)?;
    let points: Vec<f32> = sample.points.iter().map(|x| *x as f32).collect();
    let found = probabilities(&training.weights, &points)?;
    let right = found.iter().zip(&sample.class).filter(|(found, class)| (**found > 0.5) == (**class > 0.5));
    line("", format!("{} of {n} points are on the spiral that was learnt", right.count()));

    for (about, kernel) in [("by grad", &by_grad), ("by hand in Broadloom", &by_hand)] {
        let time = report::shortest(|| training.step(kernel, &sample).map(drop))?;
        report::speed(about, time, n, "points");
    }
    let time = report::shortest(|| {
        by_loops.step_by_loops(&sample);
        Ok(())
    })?;
    report::speed("plain Rust", time, n, "points");
    let parts: Vec<(&str, &Picture)> = maps.iter().map(|(caption, map)| (caption.as_str(), map)).collect();
    report::wrote(&beside(&parts), directory, "spirals.png")
}

/// Points, one behind the other, and the spiral of each.
struct Sample {
    points: Vec<f64>,
    class: Vec<f64>,
}

/// Two spirals of a turn and a half, not quite exactly.
fn spirals() -> Sample {
    let mut noise = uniform_numbers(0x5914).map(|x| f64::from(x) - 0.5);
    let mut sample = Sample { points: Vec::new(), class: Vec::new() };
    for index in 0..2 * KNOWN {
        let (arm, along) = ((index % 2) as f64, (index / 2) as f64 / KNOWN as f64);
        let angle = arm * std::f64::consts::PI + 9.4 * along.sqrt();
        let radius = 0.06 + 0.84 * along.sqrt() + 0.06 * noise.next().unwrap_or(0.0);
        sample.points.extend([radius * angle.cos(), radius * angle.sin()]);
        sample.class.push(arm);
    }
    sample
}

/// The probability that each point is of the second spiral.
fn probabilities(weights: &Numbers, points: &[f32]) -> Result<Vec<f32>, Error> {
    let model = Model::new();
    let kernel = model.graph.compile([("probability", model.logit().sigmoid().cast::<f32>())])?;
    let points: Vec<f64> = points.iter().map(|x| f64::from(*x)).collect();
    let [w1, b1, w2, b2] = weights.parts();
    let inputs = inputs! {
        "x" => ArrayView::new(&points, &[points.len() / 2, 2])?,
        "w1" => ArrayView::new(w1, &[2, weights.hidden])?,
        "b1" => b1,
        "w2" => w2,
        "b2" => b2[0],
    };
    Ok(kernel.run(inputs)?.try_into()?)
}

/// Probabilities as a map, and the points on it.
fn drawn(weights: &Numbers, sample: &Sample) -> Result<Picture, Error> {
    let probabilities = probabilities(weights, &middles_of_pixels(SIDE))?;
    let mut picture = field::map(&probabilities, SIDE, &PALE_BLUE_WHITE_RED, 4.0)?;
    for (point, class) in sample.points.as_chunks::<2>().0.iter().zip(&sample.class) {
        let color = if *class > 0.5 { [126, 14, 38] } else { [16, 48, 106] };
        picture.dot(place_of(point.map(|x| x as f32), SIDE), 2.2, color);
    }
    Ok(picture)
}
