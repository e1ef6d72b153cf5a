//! Planets around two suns: gravity between all bodies, softened after Plummer, in steps of leapfrog. A scan takes the
//! frames that are drawn, and in each of them a loop takes the steps.
//!
//! ```text
//! cargo run --release --example n_body
//! cargo run --release --example n_body -- --planets 60
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::picture::Picture;
use common::report::{self, grouped, line};
use common::strokes::place_of;
use common::{Error, uniform_numbers};
use std::f64::consts::TAU;
use std::process::ExitCode;

/// Pixels along a side of the picture. The plane goes from -1 to 1.
const SIDE: usize = 800;
/// Frames that are drawn, and steps in each.
const FRAMES: usize = 800;
const STEPS: usize = 10;
/// The length of a step.
const DT: f64 = 5e-4;
/// Bodies do not feel each other more than from so far.
const SOFTENING: f64 = 0.01;
/// Frames that are compared with the plain loop's: later ones depend too much on how sums are rounded.
const CHECKED: usize = 100;
const TOLERANCE: f64 = 1e-10;
/// The energy keeps so much of itself.
const KEPT: f64 = 1e-4;

const COMMAND: Command = Command {
    name: "n_body",
    about: "Planets around two suns, by leapfrog.",
    options: &[Choice("--planets", "N", "how many planets [default: 14]")],
    output: "where to write orbits.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// Masses `f64[n]`, positions and velocities `f64[n, 2]`.
struct Bodies {
    mass: Vec<f64>,
    x: Vec<f64>,
    v: Vec<f64>,
}

/// The pull of all bodies on each, `f64[n, 2]`. The ways between them, `f64[n, n, 2]`, are not stored.
fn pull(mass: Tensor, x: Tensor) -> Tensor {
    let way = x - x.unsqueeze(1);
    let square = way.square().sum(2) + SOFTENING * SOFTENING;
    ((mass / (square * square.sqrt())).unsqueeze(2) * way).sum(1)
}

/// The energy of motion and of the places.
fn energy(mass: Tensor, x: Tensor, v: Tensor) -> Tensor {
    let square = (x - x.unsqueeze(1)).square().sum(2) + SOFTENING * SOFTENING;
    let pairs = (mass * mass.unsqueeze(1) / square.sqrt()).sum(..);
    // Every pair is in it twice, and each body with itself.
    let themselves = mass.square().sum(0) / SOFTENING;
    0.5 * ((mass * v.square().sum(1)).sum(0) - (pairs - themselves))
}

/// The positions and the energy of all frames.
fn compile() -> Result<Executable, Error> {
    let g = Graph::new();
    let n = g.symbol("n");
    let mass = g.input::<f64>("mass", shape![n]);
    let [x, v] = ["x", "v"].map(|name| g.input::<f64>(name, shape![n, 2]));
    let begin = [x, v, pull(mass, x)];
    let (_, [places, energies]) = scan(begin, [g.iota(FRAMES)], |[x, v, a], [_]| {
        // Half a kick, a drift, and the other half with the pull at the new place, which the next step begins with.
        let [x, v, a] = repeat(STEPS, [x, v, a], |_, [x, v, a]| {
            let half = v + 0.5 * DT * a;
            let x = x + DT * half;
            let a = pull(mass, x);
            [x, half + 0.5 * DT * a, a]
        });
        ([x, v, a], [x, energy(mass, x, v)])
    });
    Ok(g.compile([("places", places), ("energies", energies)])?)
}

/// Two suns around each other, and planets around both.
fn system(planets: usize) -> Bodies {
    let mut bodies = Bodies { mass: vec![0.6, 0.4], x: Vec::new(), v: Vec::new() };
    let apart: f64 = 0.16;
    let speed = (1.0 / apart).sqrt();
    for side in [0.4, -0.6] {
        bodies.x.extend([side * apart, 0.0]);
        bodies.v.extend([0.0, side * speed]);
    }
    let mut uniform = uniform_numbers(0x0b17).map(f64::from);
    for planet in 0..planets {
        let far = 0.34 + 0.54 * (planet as f64 + 0.5) / planets as f64;
        let (sin, cos) = (TAU * uniform.next().unwrap_or(0.5)).sin_cos();
        // Not quite the speed of a circle.
        let speed = (0.94 + 0.1 * uniform.next().unwrap_or(0.5)) / far.sqrt();
        bodies.mass.push(1e-5);
        bodies.x.extend([far * cos, far * sin]);
        bodies.v.extend([-speed * sin, speed * cos]);
    }
    bodies
}

/// The positions of frames by loops in plain Rust.
fn plain(bodies: &Bodies, frames: usize) -> Vec<f64> {
    let n = bodies.mass.len();
    let (mut x, mut v) = (bodies.x.clone(), bodies.v.clone());
    let pull = |x: &[f64], a: &mut [f64]| {
        for i in 0..n {
            let mut sum = [0.0; 2];
            for j in 0..n {
                let way = [x[2 * j] - x[2 * i], x[2 * j + 1] - x[2 * i + 1]];
                let square = way[0] * way[0] + way[1] * way[1] + SOFTENING * SOFTENING;
                let part = bodies.mass[j] / (square * square.sqrt());
                sum = [sum[0] + part * way[0], sum[1] + part * way[1]];
            }
            a[2 * i..2 * i + 2].copy_from_slice(&sum);
        }
    };
    let (mut a, mut places) = (vec![0.0; 2 * n], Vec::new());
    pull(&x, &mut a);
    for _ in 0..frames {
        for _ in 0..STEPS {
            for at in 0..2 * n {
                v[at] += 0.5 * DT * a[at];
                x[at] += DT * v[at];
            }
            pull(&x, &mut a);
            v.iter_mut().zip(&a).for_each(|(v, a)| *v += 0.5 * DT * a);
        }
        places.extend_from_slice(&x);
    }
    places
}

fn run(given: &Given) -> Result<(), Error> {
    let bodies = system(given.number("--planets", 1..=500, 14)?);
    let n = bodies.mass.len();
    let directory = given.output()?;
    println!("n_body: {n} bodies, {} steps", grouped(FRAMES * STEPS));
    line("way", "x - x.unsqueeze(1)");
    line("square", format!("way.square().sum(2) + {SOFTENING} * {SOFTENING}"));
    line("pull", "((mass / (square * square.sqrt())).unsqueeze(2) * way).sum(1)");
    let kernel = compile()?;
    report::compiled(&kernel);

    let inputs = || {
        Ok::<_, Error>(inputs! {
            "mass" => &bodies.mass,
            "x" => ArrayView::new(&bodies.x, &[n, 2])?,
            "v" => ArrayView::new(&bodies.v, &[n, 2])?,
        })
    };
    let (time, results) = report::once(|| Ok::<_, Error>(kernel.run(inputs()?)?));
    let (places, energies): (Vec<f64>, Vec<f64>) = results?.try_into()?;
    report::speed(&report::broadloom(), time, FRAMES * STEPS * n * n, "pairs");
    let (time, by_loop) = report::once(|| plain(&bodies, CHECKED));
    report::speed("plain Rust", time, CHECKED * STEPS * n * n, "pairs");
    let difference = report::largest_difference(&places[..by_loop.len()], &by_loop);
    report::check_difference(&format!("places of {CHECKED} frames"), difference, TOLERANCE)?;

    let first = energies[0];
    let change = energies.iter().map(|energy| (energy / first - 1.0).abs()).fold(0.0, f64::max);
    if change > KEPT {
        return Err(format!("the energy changes by {change:.1e} of itself").into());
    }
    line("energy", format!("{first:.3}; it keeps to that within {KEPT:.0e} of itself"));
    report::wrote(&drawn(&places, n), directory, "orbits.png")
}

/// The ways of the bodies, which fade with time, and where they are at the end.
fn drawn(places: &[f64], n: usize) -> Picture {
    const BACKGROUND: [f32; 3] = [14.0, 16.0, 30.0];
    let color = |body: usize, part: f32| {
        let hue = 2.4 * body as f32;
        let full = |channel: usize| match body {
            0 | 1 => [255.0, 214.0, 120.0][channel],
            _ => 168.0 + 80.0 * (hue - channel as f32 * 2.1).cos(),
        };
        std::array::from_fn(|channel| {
            (BACKGROUND[channel] + part * (full(channel) - BACKGROUND[channel])) as u8
        })
    };
    let mut picture = Picture::new(SIDE, SIDE, BACKGROUND.map(|channel| channel as u8));
    let place = |frame: usize, body: usize| {
        let at = 2 * (frame * n + body);
        place_of([places[at] as f32, places[at + 1] as f32], SIDE)
    };
    let frames = places.len() / (2 * n);
    for frame in 1..frames {
        let part = 0.1 + 0.7 * (frame as f32 / frames as f32).powi(2);
        for body in 0..n {
            picture.stroke(&[place(frame - 1, body), place(frame, body)], 1.5, color(body, part));
        }
    }
    for body in 0..n {
        picture.dot(place(frames - 1, body), if body < 2 { 9.0 } else { 4.5 }, color(body, 1.0));
    }
    picture
}
