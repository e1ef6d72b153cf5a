//! A perceptron of two layers, `relu(x @ w1 + b1) @ w2 + b2`: which arm of a spiral each pixel of the plane belongs to, and
//! how sure that is. Drawn with the points that it learnt from.
//!
//! ```text
//! cargo run --release --example perceptron
//! cargo run --release --example perceptron -- --hidden 16 --steps 200
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::Inputs;
use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::picture::Picture;
use common::report::{self, grouped, line};
use common::{Error, uniform_numbers};
use std::process::ExitCode;

/// Pixels along a side of the picture. The plane goes from -1 to 1.
const SIDE: usize = 560;
/// Arms of the spiral, and points that are known of each.
const ARMS: usize = 3;
const KNOWN: usize = 120;
/// Colours of the arms.
const COLORS: [f32; ARMS * 3] = [222.0, 92.0, 74.0, 64.0, 128.0, 208.0, 236.0, 180.0, 62.0];
/// Logits that were summed in two orders are within this of each other.
const TOLERANCE: f64 = 1e-3;

const COMMAND: Command = Command {
    name: "perceptron",
    about: "A perceptron of two layers learns a spiral, and says of every pixel to which arm it belongs.",
    options: &[
        Choice("--hidden", "H", "units of the hidden layer [default: 64]"),
        Choice("--steps", "S", "steps of the training [default: 600]"),
    ],
    output: "where to write spiral.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// Weights and biases, which the training moves together.
struct Weights {
    hidden: usize,
    /// `w1[2, hidden]`, `b1[hidden]`, `w2[hidden, ARMS]`, `b2[ARMS]`, one behind the other.
    numbers: Vec<f32>,
}

impl Weights {
    fn parts(&self) -> [&[f32]; 4] {
        let (w1, rest) = self.numbers.split_at(2 * self.hidden);
        let (b1, rest) = rest.split_at(self.hidden);
        let (w2, b2) = rest.split_at(self.hidden * ARMS);
        [w1, b1, w2, b2]
    }

    /// The graph's inputs for some points of the plane.
    fn inputs<'a>(&'a self, points: &'a [f32]) -> Result<Inputs<'a>, Error> {
        let [w1, b1, w2, b2] = self.parts();
        Ok(inputs! {
            "x" => ArrayView::new(points, &[points.len() / 2, 2])?,
            "w1" => ArrayView::new(w1, &[2, self.hidden])?,
            "b1" => b1,
            "w2" => ArrayView::new(w2, &[self.hidden, ARMS])?,
            "b2" => b2,
        })
    }
}

/// The output of the layers for points, `f32[n, ARMS]`.
fn logits(g: &Graph) -> Tensor {
    let [n, hidden] = g.symbols(["n", "hidden"]);
    let x = g.input::<f32>("x", shape![n, 2]);
    let (w1, b1) = (g.input::<f32>("w1", shape![2, hidden]), g.input::<f32>("b1", shape![hidden]));
    let (w2, b2) = (g.input::<f32>("w2", shape![hidden, ARMS]), g.input::<f32>("b2", shape![ARMS]));
    (x.matmul(w1) + b1).relu().matmul(w2) + b2
}

/// Logits, the arm of each point, and the probability that it has.
fn classifier() -> Result<Executable, Error> {
    let g = Graph::new();
    let logits = logits(&g);
    let (arm, probability) = logits.softmax(-1).argmax_with_value(-1);
    Ok(g.compile([("logits", logits), ("arm", arm), ("probability", probability)])?)
}

/// Pixels, `u8[n, 3]`: the arm's colour, paler where it is less sure.
fn painter() -> Result<Executable, Error> {
    let g = Graph::new();
    let n = g.symbol("n");
    let (arm, probability) = (g.input::<i64>("arm", shape![n]), g.input::<f32>("probability", shape![n]));
    let colors = g.input::<f32>("colors", shape![ARMS, 3]);
    // A third of each is a guess.
    let sure = ((probability - 1.0 / ARMS as f32) * (ARMS as f32 / (ARMS - 1) as f32)).unsqueeze(1);
    let color = 250 + (colors.take(arm, 0) - 250) * (0.15 + 0.7 * sure);
    Ok(color.round().cast::<u8>().compile()?)
}

fn run(given: &Given) -> Result<(), Error> {
    let hidden = given.number("--hidden", 1..=512, 64)?;
    let steps = given.number("--steps", 1..=100_000, 600)?;
    let directory = given.output()?;
    let (known, arms) = spiral();
    println!("perceptron: {hidden} hidden units, {} pixels", grouped(SIDE * SIDE));
    let (time, weights) = report::once(|| trained(&known, &arms, hidden, steps));
    line("training", format!("{steps} steps of plain Rust in {:.0} ms", report::milliseconds(time)));
    line("logits", "(x.matmul(w1) + b1).relu().matmul(w2) + b2");
    line("arm, probability", "logits.softmax(-1).argmax_with_value(-1)");
    let kernel = classifier()?;
    report::compiled(&kernel);

    let points: Vec<f32> = (0..SIDE * SIDE)
        .flat_map(|index| [index % SIDE, index / SIDE].map(|x| (2 * x + 1) as f32 / SIDE as f32 - 1.0))
        .collect();
    let n = points.len() / 2;
    let (mut logits, mut arm, mut probability) = (vec![0.0f32; n * ARMS], vec![0i64; n], vec![0.0f32; n]);
    let time = report::shortest(|| {
        let logits = ArrayViewMut::new(&mut logits, &[n, ARMS])?;
        Ok(kernel.run_into(weights.inputs(&points)?, (logits, &mut arm, &mut probability))?)
    })?;
    report::speed(&report::broadloom(), time, n, "pixels");
    let (time, plain) = report::once(|| classified_by_loops(&weights, &points));
    report::speed("plain Rust", time, n, "pixels");
    check((&logits, &arm), (&plain.0, &plain.1))?;

    let found: (Vec<f32>, Vec<i64>, Vec<f32>) = kernel.run(weights.inputs(&known)?)?.try_into()?;
    let right = found.1.iter().zip(&arms).filter(|(found, arm)| **found == **arm as i64).count();
    line("", format!("{right} of the {} known points are on the arm that was learnt", arms.len()));

    let colors = ArrayView::new(&COLORS, &[ARMS, 3])?;
    let pixels =
        painter()?.run(inputs! { "arm" => &arm, "probability" => &probability, "colors" => colors })?;
    let mut picture = Picture { width: SIDE, height: SIDE, pixels: pixels.try_into()? };
    for (point, arm) in known.as_chunks::<2>().0.iter().zip(&arms) {
        let [left, top] = point.map(|x| ((x + 1.0) * 0.5 * SIDE as f32) as usize - 3);
        picture.fill((left, top), (7, 7), [255; 3]);
        let color = std::array::from_fn(|c| (COLORS[arm * 3 + c] * 0.8) as u8);
        picture.fill((left + 1, top + 1), (5, 5), color);
    }
    report::wrote(&picture, directory, "spiral.png")
}

/// Says how far the kernel is from the loops. Arms may differ where two are equally probable but for rounding.
fn check(found: (&[f32], &[i64]), plain: (&[f32], &[i64])) -> Result<(), Error> {
    let difference = report::largest_difference(found.0, plain.0);
    let others = found.1.iter().zip(plain.1).filter(|(a, b)| a != b).count();
    let most = plain.0.iter().fold(1.0f32, |most, logit| most.max(logit.abs()));
    if difference > TOLERANCE * f64::from(most) || others * 1000 > found.1.len() {
        return Err(format!("{others} arms differ from the plain loop's, logits by {difference:.1e}").into());
    }
    line("check", format!("{others} pixels are on another arm than by the plain loop"));
    line("", format!("logits are within {difference:.1e} of it, the greatest being {most:.1}"));
    Ok(())
}

/// The hidden layer and the logits of a point.
fn forward(weights: &Weights, point: [f32; 2], units: &mut [f32]) -> [f32; ARMS] {
    let [w1, b1, w2, b2] = weights.parts();
    let mut logits: [f32; ARMS] = std::array::from_fn(|arm| b2[arm]);
    for (unit, value) in units.iter_mut().enumerate() {
        *value = (point[0] * w1[unit] + point[1] * w1[weights.hidden + unit] + b1[unit]).max(0.0);
        for (logit, weight) in logits.iter_mut().zip(&w2[unit * ARMS..]) {
            *logit += *value * weight;
        }
    }
    logits
}

/// Logits and arms of points by loops.
fn classified_by_loops(weights: &Weights, points: &[f32]) -> (Vec<f32>, Vec<i64>) {
    let (mut all, mut arms) = (Vec::with_capacity(points.len() / 2 * ARMS), Vec::new());
    let mut units = vec![0.0; weights.hidden];
    for point in points.as_chunks::<2>().0 {
        let logits = forward(weights, *point, &mut units);
        let mut best = 0;
        for arm in 1..ARMS {
            best = if logits[arm] > logits[best] { arm } else { best };
        }
        all.extend(logits);
        arms.push(best as i64);
    }
    (all, arms)
}

/// Points on the arms of a spiral, not quite exactly, and the arm of each.
fn spiral() -> (Vec<f32>, Vec<usize>) {
    let mut noise = uniform_numbers(0x5914).map(|x| x - 0.5);
    let (mut points, mut arms) = (Vec::new(), Vec::new());
    for index in 0..ARMS * KNOWN {
        let (arm, along) = (index % ARMS, (index / ARMS) as f32 / KNOWN as f32);
        let angle = arm as f32 * std::f32::consts::TAU / ARMS as f32
            + 4.6 * along
            + 0.35 * noise.next().unwrap_or(0.0);
        let radius = 0.08 + 0.84 * along;
        points.extend([radius * angle.cos(), radius * angle.sin()]);
        arms.push(arm);
    }
    (points, arms)
}

/// Weights after some steps of Adam on the cross entropy of all known points. The same in every run.
fn trained(points: &[f32], arms: &[usize], hidden: usize, steps: usize) -> Weights {
    const RATE: f32 = 0.02;
    let count = hidden * (2 + 1 + ARMS) + ARMS;
    let mut random = uniform_numbers(0x11a7).map(|x| 2.0 * x - 1.0);
    let mut weights = Weights { hidden, numbers: vec![0.0; count] };
    let (first, second) = weights.numbers.split_at_mut(3 * hidden);
    first.iter_mut().for_each(|weight| *weight = 1.5 * random.next().unwrap_or(0.0));
    let spread = (3.0 / hidden as f32).sqrt();
    second.iter_mut().for_each(|weight| *weight = spread * random.next().unwrap_or(0.0));

    let (mut mean, mut square) = (vec![0.0f32; count], vec![0.0f32; count]);
    for step in 1..=steps {
        let slope = slopes(&weights, points, arms);
        let (forgotten, forgotten_square) =
            (1.0 - 0.9f32.powi(step as i32), 1.0 - 0.999f32.powi(step as i32));
        for (((weight, mean), square), slope) in
            weights.numbers.iter_mut().zip(&mut mean).zip(&mut square).zip(slope)
        {
            *mean += 0.1 * (slope - *mean);
            *square += 0.001 * (slope * slope - *square);
            *weight -= RATE * (*mean / forgotten) / ((*square / forgotten_square).sqrt() + 1e-8);
        }
    }
    weights
}

/// How the mean cross entropy changes with each weight.
fn slopes(weights: &Weights, points: &[f32], arms: &[usize]) -> Vec<f32> {
    let hidden = weights.hidden;
    let w2 = weights.parts()[2];
    let mut slopes = vec![0.0f32; weights.numbers.len()];
    let mut units = vec![0.0; hidden];
    for (point, arm) in points.as_chunks::<2>().0.iter().zip(arms) {
        let logits = forward(weights, *point, &mut units);
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers = logits.map(|logit| (logit - most).exp());
        let total: f32 = powers.iter().sum();
        let errors: [f32; ARMS] = std::array::from_fn(|class| {
            (powers[class] / total - if class == *arm { 1.0 } else { 0.0 }) / arms.len() as f32
        });
        for unit in 0..hidden {
            let mut error = 0.0;
            for class in 0..ARMS {
                slopes[3 * hidden + unit * ARMS + class] += errors[class] * units[unit];
                error += errors[class] * w2[unit * ARMS + class];
            }
            if units[unit] > 0.0 {
                slopes[unit] += error * point[0];
                slopes[hidden + unit] += error * point[1];
                slopes[2 * hidden + unit] += error;
            }
        }
        for (slope, error) in slopes[(3 + ARMS) * hidden..].iter_mut().zip(errors) {
            *slope += error;
        }
    }
    slopes
}
