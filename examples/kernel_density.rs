//! How dense points of the plane lie, as a map: `exp(-|p - x|^2 / (2 h^2))` of every pixel and every point, summed over the
//! points, none of the pairs stored. Drawn beside the points, with lines of equal density.
//!
//! ```text
//! cargo run --release --example kernel_density
//! cargo run --release --example kernel_density -- --points 500 --width 0.1
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::Inputs;
use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::palette::{self, HEAT};
use common::picture::{Picture, beside};
use common::report::{self, grouped, line};
use common::{Error, middles_of_pixels, uniform_numbers};
use std::f32::consts::TAU;
use std::process::ExitCode;

/// Pixels along a side of the map. The plane goes from -1 to 1.
const SIDE: usize = 400;
/// Lines of equal density.
const LINES: f32 = 8.0;
/// Sums of thousands of positive numbers in two orders, and two definitions of `exp`, are within this of each other.
const TOLERANCE: f64 = 1e-4;

const COMMAND: Command = Command {
    name: "kernel_density",
    about: "A map of how dense points lie, by a Gaussian kernel over all pairs of pixels and points.",
    options: &[
        Choice("--points", "M", "how many points [default: 2000]"),
        Choice("--width", "H", "the kernel's standard deviation [default: 0.04]"),
    ],
    output: "where to write density.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// The density at each of `pixels`, `f32[n, 2]`, that `points`, `f32[m, 2]`, make: it integrates to 1 over the plane.
fn density(pixels: Tensor, points: Tensor, width: Tensor) -> Tensor {
    let variance = width.square();
    let squares = (pixels.unsqueeze(1) - points).square().sum(-1); // [n, m], never stored
    let weights = (-squares / (2 * variance)).exp();
    weights.mean(1) / (variance * TAU)
}

/// The map, `u8[side, side, 3]`: a colour per density, and white where one of some levels is passed to a neighbour.
fn map() -> Result<Executable, Error> {
    let g = Graph::new();
    let density = g.input::<f32>("density", shape![SIDE, SIDE]);
    let heat = g.input::<u8>("heat", shape![256, 3]);

    let part = density / density.max(..);
    let level = (part * LINES).floor();
    let inner = level.slice(slice![..-1, ..-1]);
    let is_line = inner.ne(level.slice(slice![1.., ..-1])) | inner.ne(level.slice(slice![..-1, 1..]));
    let color = heat.take((part.slice(slice![..-1, ..-1]) * 255).cast::<u8>(), 0);
    Ok(select(is_line.unsqueeze(-1), 235, color).cast::<u8>().compile()?)
}

fn run(given: &Given) -> Result<(), Error> {
    let m = given.number("--points", 1..=20_000, 2000)?;
    let width = given.number("--width", 0.005..=1.0f32, 0.04)?;
    let directory = given.output()?;
    let points = scattered(m);
    let pixels = middles_of_pixels(SIDE);
    let n = SIDE * SIDE;
    println!("kernel_density: {} pixels, {} points", grouped(n), grouped(m));
    line("density", "(-(p - x).square().sum(-1) / (2 * h * h)).exp().mean(1) / (TAU * h * h)");

    let kernel = {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let (pixels, points) =
            (g.input::<f32>("pixels", shape![n, 2]), g.input::<f32>("points", shape![m, 2]));
        density(pixels, points, g.input::<f32>("width", shape![])).compile()?
    };
    report::compiled(&kernel);
    let mut found = vec![0.0f32; n];
    let time = report::shortest(|| Ok(kernel.run_into(inputs(&pixels, &points, &[width])?, &mut found)?))?;
    report::speed(&report::broadloom(), time, n * m, "pairs");
    let (time, by_loops) = report::once(|| density_by_loops(&pixels, &points, width));
    report::speed("plain Rust", time, n * m, "pairs");

    let most = by_loops.iter().fold(0.0f32, |most, density| most.max(*density));
    let difference = report::largest_difference(&found, &by_loops) / f64::from(most);
    if difference > TOLERANCE {
        return Err(format!("densities are {difference:.1e} from those of the plain loop").into());
    }
    line("check", format!("densities are within {difference:.1e} of the plain loop's, the greatest being 1"));
    let area = 4.0 / n as f32;
    let whole: f32 = found.iter().map(|density| density * area).sum();
    line("", format!("over the map they add up to {whole:.4}"));

    let heat = palette::ramp(&HEAT, 256);
    let density = ArrayView::new(&found, &[SIDE, SIDE])?;
    let pixels = map()?.run(inputs! { "density" => density, "heat" => ArrayView::new(&heat, &[256, 3])? })?;
    let map = Picture { width: SIDE - 1, height: SIDE - 1, pixels: pixels.try_into()? };
    report::wrote(&beside(&[("points", &drawn(&points)), ("density", &map)]), directory, "density.png")
}

fn inputs<'a>(pixels: &'a [f32], points: &'a [f32], width: &'a [f32; 1]) -> Result<Inputs<'a>, Error> {
    Ok(inputs! {
        "pixels" => ArrayView::new(pixels, &[pixels.len() / 2, 2])?,
        "points" => ArrayView::new(points, &[points.len() / 2, 2])?,
        "width" => ArrayView::new(width, &[])?,
    })
}

fn density_by_loops(pixels: &[f32], points: &[f32], width: f32) -> Vec<f32> {
    let variance = width * width;
    let points = points.as_chunks::<2>().0;
    let at = |pixel: &[f32; 2]| {
        let weight = |point: &[f32; 2]| {
            let square = (pixel[0] - point[0]).powi(2) + (pixel[1] - point[1]).powi(2);
            (-square / (2.0 * variance)).exp()
        };
        points.iter().map(weight).sum::<f32>() / points.len() as f32 / (TAU * variance)
    };
    pixels.as_chunks::<2>().0.iter().map(at).collect()
}

/// Two crescents that hold each other, a ring around them, and a cluster in a corner.
fn scattered(count: usize) -> Vec<f32> {
    let mut numbers = uniform_numbers(0xde45);
    let mut number = || numbers.next().unwrap_or(0.5);
    let mut points = Vec::with_capacity(2 * count);
    for index in 0..count {
        let angle = number() * TAU / 2.0;
        let [x, y, spread] = match index % 8 {
            0..3 => [0.35 * angle.cos() - 0.15, -0.05 - 0.35 * angle.sin(), 0.04],
            3..6 => [0.35 * angle.cos() + 0.15, 0.05 + 0.35 * angle.sin(), 0.04],
            6 => [0.82 * (2.0 * angle).cos(), 0.82 * (2.0 * angle).sin(), 0.02],
            _ => [0.7, -0.72, 0.07],
        };
        // Box and Muller's normal numbers.
        let (far, way) = ((-2.0 * number().ln()).sqrt() * spread, number() * TAU);
        points.extend([x + far * way.cos(), y + far * way.sin()]);
    }
    points
}

/// The points themselves.
fn drawn(points: &[f32]) -> Picture {
    let mut picture = Picture::new(SIDE - 1, SIDE - 1, [14, 12, 36]);
    for point in points.as_chunks::<2>().0 {
        if point.iter().all(|x| x.abs() < 0.99) {
            let place = point.map(|x| ((x + 1.0) * 0.5 * SIDE as f32) as usize);
            picture.fill((place[0], place[1]), (2, 2), [250, 214, 150]);
        }
    }
    picture
}
