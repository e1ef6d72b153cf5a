//! A mixture of Gaussians, fitted to points of the plane: the likelihood and its derivatives by all parameters come from one
//! graph, and L-BFGS, of the crate `argmin`, follows them. Drawn as the components over the points, and as the density.
//!
//! ```text
//! cargo run --release --example gaussian_mixture
//! cargo run --release --example gaussian_mixture -- --components 8
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use argmin::core::{CostFunction, Executor, Gradient, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use broadloom::Inputs;
use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::palette::HEAT;
use common::picture::{Picture, beside};
use common::report::{self, grouped, line};
use common::strokes::place_of;
use common::{Error, field, middles_of_pixels, normal_numbers, uniform_numbers};
use std::cell::RefCell;
use std::f64::consts::TAU;
use std::process::ExitCode;

/// Pixels along a side of a picture. The plane goes from -1 to 1.
const SIDE: usize = 440;
/// Most iterations of L-BFGS, and how many of the last it remembers.
const ITERATIONS: u64 = 1000;
const REMEMBERED: usize = 10;
/// The loss and its slopes, sums over all points in two orders, are within this of each other.
const TOLERANCE: f64 = 1e-12;

const COMMAND: Command = Command {
    name: "gaussian_mixture",
    about: "A mixture of Gaussians, fitted to points by L-BFGS with derivatives.",
    options: &[
        Choice("--points", "N", "how many points [default: 3000]"),
        Choice("--components", "K", "how many Gaussians [default: 5]"),
    ],
    output: "where to write mixture.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// Points `f64[n, 2]`, and the parameters of `k` components. A component takes its points to the
/// standard normal distribution: `z = exp(scale) * ([[1, 0], [shear, 1]] @ (x - mean))`.
struct Mixture {
    graph: Graph,
    x: Tensor,
    /// `f64[k]`: the logarithms of the components' weights, but for a constant.
    weight: Tensor,
    /// `f64[k, 2]`
    mean: Tensor,
    /// `f64[k, 2]`
    scale: Tensor,
    /// `f64[k]`
    shear: Tensor,
}

impl Mixture {
    fn new() -> Mixture {
        let graph = Graph::new();
        let [n, k] = graph.symbols(["n", "k"]);
        Mixture {
            x: graph.input::<f64>("x", shape![n, 2]),
            weight: graph.input::<f64>("weight", shape![k]),
            mean: graph.input::<f64>("mean", shape![k, 2]),
            scale: graph.input::<f64>("scale", shape![k, 2]),
            shear: graph.input::<f64>("shear", shape![k]),
            graph,
        }
    }

    fn parameters(&self) -> [Tensor; 4] {
        [self.weight, self.mean, self.scale, self.shear]
    }

    /// The two coordinates of `z`, `f64[n, k]`, for every point and component.
    fn standardised(&self) -> [Tensor; 2] {
        let away = [0, 1].map(|axis| self.x.index(1, axis).unsqueeze(1) - self.mean.index(1, axis));
        let [first, second] = self.factors();
        [away[0] * first, (away[1] + self.shear * away[0]) * second]
    }

    /// `exp(scale)`, as two of `f64[k]`.
    fn factors(&self) -> [Tensor; 2] {
        [0, 1].map(|axis| self.scale.index(1, axis).exp())
    }

    /// The logarithm of the density that each component has at each point, `f64[n, k]`.
    fn parts(&self) -> Tensor {
        let [first, second] = self.standardised();
        let constant = self.weight.log_softmax(0) + self.scale.sum(1) - TAU.ln();
        constant - 0.5 * (first.square() + second.square())
    }

    /// The mean negative logarithm of the density at the points.
    fn loss(&self) -> Tensor {
        -self.parts().logsumexp(1).mean(0)
    }

    /// The derivatives of the loss, derived by hand.
    fn slopes_by_hand(&self) -> [Tensor; 4] {
        let ([first, second], [wide, high]) = (self.standardised(), self.factors());
        let share = self.parts().softmax(1); // [n, k], of a point in components
        let by_mean = [-first * wide - second * high * self.shear, -second * high];
        let by_scale = [first.square() - 1.0, second.square() - 1.0];
        [
            self.weight.softmax(0) - share.mean(0),
            stack(by_mean.map(|slope| (share * slope).mean(0)), 1),
            stack(by_scale.map(|slope| (share * slope).mean(0)), 1),
            (share * second * high * (first / wide)).mean(0),
        ]
    }

    fn compile(&self, slopes: [Tensor; 4]) -> Result<Executable, Error> {
        let [weight, mean, scale, shear] = slopes;
        let slopes = [("weight", weight), ("mean", mean), ("scale", scale), ("shear", shear)];
        Ok(self.graph.compile([("loss", self.loss())].into_iter().chain(slopes))?)
    }
}

/// The parameters in one row of numbers, as an optimiser wants them: `weight`, `mean`, `scale`, `shear`.
fn split(numbers: &[f64]) -> (usize, [&[f64]; 4]) {
    let k = numbers.len() / 6;
    let (weight, rest) = numbers.split_at(k);
    let (mean, rest) = rest.split_at(2 * k);
    let (scale, shear) = rest.split_at(2 * k);
    (k, [weight, mean, scale, shear])
}

fn inputs<'a>(points: &'a [f64], numbers: &'a [f64]) -> Result<Inputs<'a>, Error> {
    let (k, [weight, mean, scale, shear]) = split(numbers);
    Ok(inputs! {
        "x" => ArrayView::new(points, &[points.len() / 2, 2])?,
        "weight" => weight,
        "mean" => ArrayView::new(mean, &[k, 2])?,
        "scale" => ArrayView::new(scale, &[k, 2])?,
        "shear" => shear,
    })
}

/// Writes the derivatives, and returns the loss.
fn evaluate(kernel: &Executable, points: &[f64], numbers: &[f64], slopes: &mut [f64]) -> Result<f64, Error> {
    let mut loss = [0.0];
    let (k, inputs) = (numbers.len() / 6, inputs(points, numbers)?);
    let (weight, rest) = slopes.split_at_mut(k);
    let (mean, rest) = rest.split_at_mut(2 * k);
    let (scale, shear) = rest.split_at_mut(2 * k);
    let loss_of = ArrayViewMut::new(&mut loss, &[])?;
    let (mean, scale) = (ArrayViewMut::new(mean, &[k, 2])?, ArrayViewMut::new(scale, &[k, 2])?);
    kernel.run_into(inputs, (loss_of, weight, mean, scale, shear))?;
    Ok(loss[0])
}

fn evaluate_by_loops(points: &[f64], numbers: &[f64], slopes: &mut [f64]) -> f64 {
    let (k, [weight, mean, scale, shear]) = split(numbers);
    let n = points.len() as f64 / 2.0;
    let total = weight.iter().map(|weight| weight.exp()).sum::<f64>().ln();
    let constants: Vec<f64> =
        (0..k).map(|j| weight[j] - total + scale[2 * j] + scale[2 * j + 1] - TAU.ln()).collect();
    let factors: Vec<f64> = scale.iter().map(|scale| scale.exp()).collect();
    let (mut loss, mut parts) = (0.0, vec![0.0; k]);
    slopes.fill(0.0);
    for x in points.as_chunks::<2>().0 {
        let standardised = |j: usize| {
            let away = [x[0] - mean[2 * j], x[1] - mean[2 * j + 1]];
            [away[0] * factors[2 * j], (away[1] + shear[j] * away[0]) * factors[2 * j + 1]]
        };
        for (j, part) in parts.iter_mut().enumerate() {
            let z = standardised(j);
            *part = constants[j] - 0.5 * (z[0] * z[0] + z[1] * z[1]);
        }
        let most = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let density = most + parts.iter().map(|part| (part - most).exp()).sum::<f64>().ln();
        loss -= density / n;
        for j in 0..k {
            let (z, share) = (standardised(j), (parts[j] - density).exp() / n);
            let [wide, high] = [factors[2 * j], factors[2 * j + 1]];
            slopes[j] -= share;
            slopes[k + 2 * j] -= share * (z[0] * wide + z[1] * high * shear[j]);
            slopes[k + 2 * j + 1] -= share * z[1] * high;
            slopes[3 * k + 2 * j] += share * (z[0] * z[0] - 1.0);
            slopes[3 * k + 2 * j + 1] += share * (z[1] * z[1] - 1.0);
            slopes[5 * k + j] += share * z[1] * high * (x[0] - mean[2 * j]);
        }
    }
    for (slope, weight) in slopes.iter_mut().zip(weight) {
        *slope += (weight - total).exp();
    }
    loss
}

/// A loss for `argmin`, which asks for the value and for the derivatives one after the other: they are computed together, and
/// the last ones are kept.
struct Objective<F> {
    evaluate: F,
    last: RefCell<(Vec<f64>, f64, Vec<f64>)>,
}

impl<F: Fn(&[f64], &mut [f64]) -> Result<f64, Error>> Objective<F> {
    fn at<R>(&self, numbers: &[f64], take: impl FnOnce(f64, &[f64]) -> R) -> Result<R, argmin::core::Error> {
        let mut last = self.last.borrow_mut();
        let (known, loss, slopes) = &mut *last;
        if known != numbers {
            slopes.resize(numbers.len(), 0.0);
            *loss = (self.evaluate)(numbers, slopes)
                .map_err(|error| argmin::core::Error::msg(error.to_string()))?;
            known.clear();
            known.extend(numbers);
        }
        Ok(take(*loss, slopes))
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> Result<f64, Error>> CostFunction for Objective<F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, numbers: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        self.at(numbers, |loss, _| loss)
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> Result<f64, Error>> Gradient for Objective<F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, numbers: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        self.at(numbers, |_, slopes| slopes.to_vec())
    }
}

/// The parameters where L-BFGS ends, the loss there, and its iterations.
fn fitted(
    start: &[f64],
    evaluate: impl Fn(&[f64], &mut [f64]) -> Result<f64, Error>,
) -> Result<(Vec<f64>, f64, u64), Error> {
    let objective = Objective { evaluate, last: RefCell::default() };
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), REMEMBERED);
    let result = Executor::new(objective, solver)
        .configure(|state| state.param(start.to_vec()).max_iters(ITERATIONS))
        .run()?;
    let state = result.state();
    let numbers = state.get_best_param().ok_or("L-BFGS found no parameters")?;
    Ok((numbers.clone(), state.get_best_cost(), state.get_iter()))
}

fn run(given: &Given) -> Result<(), Error> {
    let n = given.number("--points", 100..=1_000_000, 3000)?;
    let k = given.number("--components", 1..=32, 5)?;
    let directory = given.output()?;
    let points = scattered(n);
    println!("gaussian_mixture: {} points, {k} components", grouped(n));
    line("parts", "weight.log_softmax(0) + scale.sum(1) - 0.5 * (z0.square() + z1.square()) - ln(TAU)");
    line("loss", "-parts.logsumexp(1).mean(0)");
    line("slopes", "loss.grad([weight, mean, scale, shear])");
    let mixture = Mixture::new();
    let by_grad = mixture.compile(mixture.loss().grad(mixture.parameters()))?;
    let by_hand = mixture.compile(mixture.slopes_by_hand())?;
    report::compiled(&by_grad);
    report::check_not_stored(&by_grad, &["n", "k"])?;

    let start = start(&points, k);
    let (mut slopes, mut by_loops) = (vec![0.0; 6 * k], vec![0.0; 6 * k]);
    for (about, kernel) in [("by grad", &by_grad), ("by hand in Broadloom", &by_hand)] {
        let time = report::shortest(|| evaluate(kernel, &points, &start, &mut slopes).map(drop))?;
        report::speed(about, time, n * k, "pairs");
    }
    let (time, _) = report::once(|| evaluate_by_loops(&points, &start, &mut by_loops));
    report::speed("plain Rust", time, n * k, "pairs");
    evaluate(&by_grad, &points, &start, &mut slopes)?;
    report::check_difference("slopes", report::largest_difference(&slopes, &by_loops), TOLERANCE)?;

    let evaluate = |numbers: &[f64], slopes: &mut [f64]| evaluate(&by_grad, &points, numbers, slopes);
    let (time, result) = report::once(|| fitted(&start, evaluate));
    let (found, loss, iterations) = result?;
    let difference = (loss - evaluate_by_loops(&points, &found, &mut by_loops)).abs();
    report::check_difference("losses at the end", difference, TOLERANCE)?;
    let steepest = by_loops.iter().fold(0.0f64, |most, slope| most.max(slope.abs()));
    line("", format!("the plain loop's slopes there are at most {steepest:.1e}"));
    line("L-BFGS", format!("{iterations} iterations in {:.0} ms", report::milliseconds(time)));
    line("", format!("a loss of {loss:.5}"));
    for component in components(&found) {
        let [x, y] = component.mean;
        line("", format!("{:4.1} % around ({x:5.2}, {y:5.2})", 100.0 * component.share));
    }
    let parts =
        [("points and components", &drawn(&points, &found)), ("density", &density(&mixture, &found)?)];
    report::wrote(&beside(&parts), directory, "mixture.png")
}

/// Small round components of equal weights around some of the first points, each far from those before. Among all points, the
/// farthest would be stray ones.
fn start(points: &[f64], k: usize) -> Vec<f64> {
    let points = &points.as_chunks::<2>().0[..50];
    let mut means = vec![points[0]];
    while means.len() < k {
        let away = |x: &[f64; 2]| {
            let square = |mean: &[f64; 2]| (x[0] - mean[0]).powi(2) + (x[1] - mean[1]).powi(2);
            means.iter().map(square).fold(f64::INFINITY, f64::min)
        };
        let farthest = points.iter().max_by(|a, b| away(a).total_cmp(&away(b)));
        means.extend(farthest.copied());
    }
    let scale = 5.0f64.ln();
    [vec![0.0; k], means.concat(), vec![scale; 2 * k], vec![0.0; k]].concat()
}

/// A component as people describe one.
struct Component {
    share: f64,
    mean: [f64; 2],
    /// The columns of the matrix that takes a circle to the ellipse of a standard deviation.
    axes: [[f64; 2]; 2],
}

fn components(numbers: &[f64]) -> Vec<Component> {
    let (k, [weight, mean, scale, shear]) = split(numbers);
    let total: f64 = weight.iter().map(|weight| weight.exp()).sum();
    let component = |j: usize| {
        let [first, second] = [0, 1].map(|axis| (-scale[2 * j + axis]).exp());
        Component {
            share: weight[j].exp() / total,
            mean: [mean[2 * j], mean[2 * j + 1]],
            axes: [[first, -shear[j] * first], [0.0, second]],
        }
    };
    (0..k).map(component).collect()
}

/// Three arms of a wheel, around a hub, and a bar below.
fn scattered(count: usize) -> Vec<f64> {
    let (mut normal, mut uniform) = (normal_numbers(0x6a55), uniform_numbers(0x3a1));
    let mut number = || f64::from(normal.next().unwrap_or(0.0));
    let mut points = Vec::with_capacity(2 * count);
    for _ in 0..count {
        let kind = (uniform.next().unwrap_or(0.0) * 10.0) as usize;
        let (angle, [away, long, short]) = match kind {
            0..2 => (0.3, [0.5, 0.13, 0.05]),
            2..5 => (2.4, [0.46, 0.15, 0.06]),
            5..7 => (4.4, [0.5, 0.12, 0.07]),
            7 => (0.0, [0.0, 0.06, 0.06]),
            _ => (1.25, [0.62, 0.07, 0.2]),
        };
        let (along, across) = (away + long * number(), short * number());
        let (sin, cos) = f64::sin_cos(angle);
        points.extend([along * cos - across * sin, along * sin + across * cos]);
    }
    points
}

/// The points, and the ellipses of one and two standard deviations of each component.
fn drawn(points: &[f64], numbers: &[f64]) -> Picture {
    const COLOR: [[u8; 3]; 6] =
        [[208, 72, 60], [52, 120, 190], [226, 158, 40], [62, 148, 88], [136, 88, 170], [90, 90, 90]];
    let mut picture = Picture::new(SIDE - 1, SIDE - 1, [252; 3]);
    let place = |point: [f64; 2]| place_of(point.map(|x| x as f32), SIDE);
    for point in points.as_chunks::<2>().0 {
        picture.dot(place(*point), 1.3, [150, 156, 170]);
    }
    for (component, color) in components(numbers).iter().zip(COLOR.iter().cycle()) {
        for deviations in [1.0, 2.0] {
            let on_ellipse =
                |step: i32| {
                    let (sin, cos) = (f64::from(step) / 90.0 * TAU).sin_cos();
                    let [first, second] = component.axes;
                    place([0, 1].map(|axis| {
                        component.mean[axis] + deviations * (cos * first[axis] + sin * second[axis])
                    }))
                };
            let ellipse: Vec<[f32; 2]> = (0..=90).map(on_ellipse).collect();
            picture.stroke(&ellipse, 2.5, *color);
        }
        picture.dot(place(component.mean), 4.0, *color);
    }
    picture
}

/// The density as a map.
fn density(mixture: &Mixture, numbers: &[f64]) -> Result<Picture, Error> {
    let density = mixture.parts().logsumexp(1).exp();
    let kernel = mixture.graph.compile([("density", (density / density.max(0)).sqrt().cast::<f32>())])?;
    let pixels: Vec<f64> = middles_of_pixels(SIDE).into_iter().map(f64::from).collect();
    let density: Vec<f32> = kernel.run(inputs(&pixels, numbers)?)?.try_into()?;
    field::map(&density, SIDE, &HEAT, 9.0)
}
