//! A decaying oscillation is fitted to measurements by Gauss and Newton's method. A column of the Jacobian matrix is the
//! change of the residuals along one parameter, by `jvp`; the normal equations are sums over the measurements, and the matrix
//! itself is not stored. Drawn as the curves of all iterations.
//!
//! ```text
//! cargo run --release --example curve_fitting
//! cargo run --release --example curve_fitting -- --points 50 --noise 0.4
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::picture::Picture;
use common::report::{self, grouped, line};
use common::{Error, normal_numbers, uniform_numbers};
use std::process::ExitCode;

/// The parameters of the curve, those that the measurements were made with, and a guess.
const NAMES: [&str; P] = ["amplitude", "decay", "frequency", "phase", "offset"];
const TRUE: [f64; P] = [2.0, 0.25, 3.1, 0.4, 0.3];
const GUESS: [f64; P] = [1.2, 0.12, 2.85, 0.9, 0.0];
const P: usize = 5;
/// Measurements were made from 0 to this time.
const END: f64 = 10.0;
const ITERATIONS: usize = 12;
/// Measurements that are timed.
const TIMED: usize = 200_000;
/// Sums in two orders, carried on through all iterations, move parameters less than this.
const TOLERANCE: f64 = 1e-9;

const COMMAND: Command = Command {
    name: "curve_fitting",
    about: "A decaying oscillation, fitted to measurements by Gauss and Newton's method with derivatives.",
    options: &[
        Choice("--points", "N", "how many measurements [default: 300]"),
        Choice("--noise", "S", "their standard deviation [default: 0.2]"),
    ],
    output: "where to write curve.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// Measurements `f64[n]` at times `f64[n]`, and the parameters, each a number.
struct Model {
    graph: Graph,
    time: Tensor,
    measured: Tensor,
    parameters: [Tensor; P],
}

impl Model {
    fn new() -> Model {
        let graph = Graph::new();
        let n = graph.symbol("n");
        Model {
            time: graph.input::<f64>("time", shape![n]),
            measured: graph.input::<f64>("measured", shape![n]),
            parameters: NAMES.map(|name| graph.input::<f64>(name, shape![])),
            graph,
        }
    }

    fn curve(&self) -> Tensor {
        let [amplitude, decay, frequency, phase, offset] = self.parameters;
        amplitude * (-decay * self.time).exp() * (frequency * self.time + phase).cos() + offset
    }

    fn residual(&self) -> Tensor {
        self.curve() - self.measured
    }

    /// The columns of the Jacobian matrix: how residuals change with each parameter.
    fn columns(&self) -> [Tensor; P] {
        let one = self.graph.constant(1.0);
        self.parameters.map(|parameter| self.residual().jvp([(parameter, one)]))
    }

    /// The same, derived by hand.
    fn columns_by_hand(&self) -> [Tensor; P] {
        let [amplitude, decay, frequency, phase, _] = self.parameters;
        let (time, angle) = (self.time, frequency * self.time + phase);
        let envelope = (-decay * time).exp();
        let by_phase = -amplitude * envelope * angle.sin();
        let by_amplitude = envelope * angle.cos();
        [by_amplitude, -amplitude * time * by_amplitude, time * by_phase, by_phase, time * 0.0 + 1.0]
    }

    /// The normal equations, `f64[P, P]` and `f64[P]`, and the sum of squares.
    fn normal_equations(&self, columns: [Tensor; P]) -> Result<Executable, Error> {
        let residual = self.residual();
        let product = |a: Tensor, b: Tensor| (a * b).sum(0);
        let rows = columns.map(|a| stack(columns.map(|b| product(a, b)), 0));
        let right = columns.map(|column| product(column, residual));
        let outputs = [
            ("matrix", stack(rows, 0)),
            ("right", stack(right, 0)),
            ("squares", product(residual, residual)),
        ];
        Ok(self.graph.compile(outputs)?)
    }
}

/// Normal equations at some parameters.
#[derive(Default)]
struct Equations {
    matrix: [[f64; P]; P],
    right: [f64; P],
    squares: f64,
}

/// Measurements and their times.
struct Sample {
    time: Vec<f64>,
    measured: Vec<f64>,
}

impl Equations {
    fn by(kernel: &Executable, sample: &Sample, parameters: &[f64; P]) -> Result<Equations, Error> {
        let mut equations = Equations::default();
        let mut inputs = inputs! { "time" => &sample.time, "measured" => &sample.measured };
        for (name, parameter) in NAMES.into_iter().zip(parameters) {
            inputs = inputs.named(name, *parameter);
        }
        let matrix = ArrayViewMut::new(equations.matrix.as_flattened_mut(), &[P, P])?;
        kernel.run_into(inputs, (matrix, &mut equations.right, &mut equations.squares))?;
        Ok(equations)
    }

    fn by_loops(sample: &Sample, parameters: &[f64; P]) -> Equations {
        let mut equations = Equations::default();
        let [amplitude, decay, frequency, phase, offset] = *parameters;
        for (time, measured) in sample.time.iter().zip(&sample.measured) {
            let (envelope, (sin, cos)) = ((-decay * time).exp(), (frequency * time + phase).sin_cos());
            let residual = amplitude * envelope * cos + offset - measured;
            let by_phase = -amplitude * envelope * sin;
            let row = [envelope * cos, -time * amplitude * envelope * cos, time * by_phase, by_phase, 1.0];
            for (i, a) in row.iter().enumerate() {
                for (j, b) in row.iter().enumerate() {
                    equations.matrix[i][j] += a * b;
                }
                equations.right[i] += a * residual;
            }
            equations.squares += residual * residual;
        }
        equations
    }

    /// The change of the parameters that makes the sum of squares least, as far as residuals change in proportion: by
    /// Cholesky's decomposition, `lower @ lower.T == matrix`.
    fn solved(&self) -> Result<[f64; P], Error> {
        let (mut lower, mut change) = ([[0.0; P]; P], [0.0; P]);
        for i in 0..P {
            for j in 0..=i {
                let rest = self.matrix[i][j] - (0..j).map(|k| lower[i][k] * lower[j][k]).sum::<f64>();
                lower[i][j] = if i == j { rest.sqrt() } else { rest / lower[j][j] };
            }
            let rest = -self.right[i] - (0..i).map(|k| lower[i][k] * change[k]).sum::<f64>();
            change[i] = rest / lower[i][i];
        }
        for i in (0..P).rev() {
            let rest = change[i] - (i + 1..P).map(|k| lower[k][i] * change[k]).sum::<f64>();
            change[i] = rest / lower[i][i];
        }
        if change.iter().all(|number| number.is_finite()) {
            return Ok(change);
        }
        Err("the measurements do not tell the parameters apart".into())
    }
}

/// The parameters after each iteration, and the guess before them.
fn fitted(equations: impl Fn(&[f64; P]) -> Result<Equations, Error>) -> Result<Vec<[f64; P]>, Error> {
    let (mut parameters, mut all) = (GUESS, vec![GUESS]);
    for _ in 0..ITERATIONS {
        let change = equations(&parameters)?.solved()?;
        parameters = std::array::from_fn(|index| parameters[index] + change[index]);
        all.push(parameters);
    }
    Ok(all)
}

fn run(given: &Given) -> Result<(), Error> {
    let n = given.number("--points", 20..=1_000_000, 300)?;
    let noise = given.number("--noise", 0.0..=1.0, 0.2)?;
    let directory = given.output()?;
    println!("curve_fitting: {} measurements, {P} parameters", grouped(n));
    line("curve", "amplitude * (-decay * time).exp() * (frequency * time + phase).cos() + offset");
    line("a column", "(curve - measured).jvp([(parameter, 1)])");
    let model = Model::new();
    let by_jvp = model.normal_equations(model.columns())?;
    let by_hand = model.normal_equations(model.columns_by_hand())?;
    report::compiled(&by_jvp);
    report::check_not_stored(&by_jvp, &["n", "5"])?;

    let sample = measured(n, noise);
    let found = fitted(|parameters| Equations::by(&by_jvp, &sample, parameters))?;
    let by_loops = fitted(|parameters| Ok(Equations::by_loops(&sample, parameters)))?;
    for (iteration, parameters) in found.iter().enumerate().step_by(3) {
        let squares = Equations::by(&by_jvp, &sample, parameters)?.squares;
        line(&format!("iteration {iteration}"), format!("a mean square of {:.6}", squares / n as f64));
    }
    let difference = report::largest_difference(found.as_flattened(), by_loops.as_flattened());
    report::check_difference("parameters of all iterations", difference, TOLERANCE)?;
    for (index, name) in NAMES.into_iter().enumerate() {
        line(name, format!("{:8.4}, made with {:.2}", found[ITERATIONS][index], TRUE[index]));
    }

    println!("normal equations of {} measurements:", grouped(TIMED));
    let many = measured(TIMED, noise);
    for (about, kernel) in [("by jvp", &by_jvp), ("by hand in Broadloom", &by_hand)] {
        let time = report::shortest(|| Equations::by(kernel, &many, &TRUE).map(drop))?;
        report::speed(about, time, TIMED, "measurements");
    }
    let (time, _) = report::once(|| Equations::by_loops(&many, &TRUE));
    report::speed("plain Rust", time, TIMED, "measurements");
    report::wrote(&drawn(&model, &sample, &found)?, directory, "curve.png")
}

/// Measurements at random times.
fn measured(n: usize, noise: f64) -> Sample {
    let mut time: Vec<f64> = uniform_numbers(0xc0de).take(n).map(|x| END * f64::from(x)).collect();
    time.sort_by(f64::total_cmp);
    let [amplitude, decay, frequency, phase, offset] = TRUE;
    let curve = |time: f64| amplitude * (-decay * time).exp() * (frequency * time + phase).cos() + offset;
    let noises = normal_numbers(0x0f17).map(|x| noise * f64::from(x));
    let measured = time.iter().zip(noises).map(|(time, noise)| curve(*time) + noise).collect();
    Sample { time, measured }
}

/// The measurements, and the curves from the guess to the fit.
fn drawn(model: &Model, sample: &Sample, found: &[[f64; P]]) -> Result<Picture, Error> {
    const SIZE: [usize; 2] = [900, 440];
    const HIGHEST: f64 = 2.6;
    const GREY: [u8; 3] = [120; 3];
    const ORANGE: [u8; 3] = [232, 160, 88];
    const RED: [u8; 3] = [208, 60, 52];
    let place = |time: f64, value: f64| {
        [time / END * SIZE[0] as f64, (0.5 - 0.5 * value / HIGHEST) * SIZE[1] as f64].map(|x| x as f32)
    };
    let mut picture = Picture::new(SIZE[0], SIZE[1], [252; 3]);
    for value in -2..=2 {
        let value = f64::from(value);
        picture.stroke(&[place(0.0, value), place(END, value)], 1.0, [226; 3]);
    }
    let kernel = model.graph.compile([("curve", model.curve())])?;
    let times: Vec<f64> = (0..=SIZE[0]).map(|x| x as f64 / SIZE[0] as f64 * END).collect();
    for (iteration, parameters) in found.iter().enumerate() {
        let mut inputs = inputs! { "time" => &times };
        for (name, parameter) in NAMES.into_iter().zip(parameters) {
            inputs = inputs.named(name, *parameter);
        }
        let values: Vec<f64> = kernel.run(inputs)?.try_into()?;
        let places: Vec<[f32; 2]> =
            times.iter().zip(&values).map(|(time, value)| place(*time, *value)).collect();
        let (width, color) = match iteration {
            0 => (2.5, GREY),
            ITERATIONS => (3.5, RED),
            _ => (1.5, ORANGE),
        };
        picture.stroke(&places, width, color);
    }
    for (time, value) in sample.time.iter().zip(&sample.measured) {
        picture.dot(place(*time, *value), 2.6, [40, 84, 150]);
    }
    for (line, (text, color)) in [("guess", GREY), ("iterations", ORANGE), ("fit", RED)].iter().enumerate() {
        picture.write_text((SIZE[0] - 140, 16 + 24 * line), 2, *color, text);
    }
    Ok(picture)
}
