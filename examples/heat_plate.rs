//! Heat in a plate with one hot edge: a step moves each inner point to the mean of its neighbours, and is repeated until
//! nothing changes any more. The edges keep their heat, because only the inner points are set.
//!
//! ```text
//! cargo run --release --example heat_plate
//! cargo run --release --example heat_plate -- --side 61
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::palette::HEAT;
use common::picture::{Picture, beside};
use common::report::{self, grouped, line};
use common::{Error, field};
use std::f64::consts::PI;
use std::process::ExitCode;

/// Steps between two looks at how much still changes.
const ROUND: usize = 100;
/// Steps after which the first pictures are drawn.
const SHOWN: [usize; 2] = [200, 1600];
/// The plate is at rest when no point changes by more in a step.
const SMALLEST_CHANGE: f64 = 1e-13;

const COMMAND: Command = Command {
    name: "heat_plate",
    about: "Heat in a plate with one hot edge, until it is at rest.",
    options: &[Choice("--side", "N", "points along a side, an odd number [default: 101]")],
    output: "where to write heat.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// A step: the inner points become the means of their neighbours.
fn step(heat: Tensor) -> Tensor {
    let (rows, columns) = (heat.slice(slice![.., 1..-1]), heat.slice(slice![1..-1]));
    let vertical = rows.slice(slice![..-2]) + rows.slice(slice![2..]);
    let horizontal = columns.slice(slice![.., ..-2]) + columns.slice(slice![.., 2..]);
    heat.at(slice![1..-1, 1..-1]).set(0.25 * (vertical + horizontal))
}

struct Kernels {
    /// Takes any number of steps.
    steps: Executable,
    /// Takes steps until the plate is at rest, and counts them.
    rest: Executable,
}

fn compile() -> Result<Kernels, Error> {
    let g = Graph::new();
    let n = g.symbol("n");
    let heat = g.input::<f64>("heat", shape![n, n]);
    let [after] = repeat(g.input::<i64>("steps", shape![]), [heat], |_, [heat]| [step(heat)]);

    // A loop in a loop: rounds, until a step at the end of one changes next to nothing.
    let begin = [heat, g.constant(f64::INFINITY), g.constant(0i64)];
    let [rest, _, count] = repeat_while(
        begin,
        |[_, change, _]| change.gt(SMALLEST_CHANGE),
        |[heat, _, count]| {
            let [before] = repeat(ROUND - 1, [heat], |_, [heat]| [step(heat)]);
            let after = step(before);
            [after, (after - before).abs().max(..), count + ROUND as i64]
        },
    );
    Ok(Kernels { steps: after.compile()?, rest: g.compile([("heat", rest), ("count", count)])? })
}

/// Steps by loops in plain Rust.
fn plain(heat: &[f64], side: usize, steps: usize) -> Vec<f64> {
    let (mut heat, mut next) = (heat.to_vec(), heat.to_vec());
    for _ in 0..steps {
        for row in 1..side - 1 {
            for at in row * side + 1..(row + 1) * side - 1 {
                next[at] = 0.25 * ((heat[at - side] + heat[at + side]) + (heat[at - 1] + heat[at + 1]));
            }
        }
        std::mem::swap(&mut heat, &mut next);
    }
    heat
}

/// The heat of the undivided plate at the middle of its width, by Fourier's series: 1 at the top, 0 at the other edges.
fn series(height: f64) -> f64 {
    let term = |k: usize| {
        let wave = (2 * k + 1) as f64 * PI;
        let sign = if k.is_multiple_of(2) { 4.0 } else { -4.0 };
        sign / wave * (wave * height).sinh() / wave.sinh()
    };
    (0..40).map(term).sum()
}

fn run(given: &Given) -> Result<(), Error> {
    let side: usize = given.number("--side", 3..=501, 101)?;
    if side.is_multiple_of(2) {
        return Err("--side must be odd, for the plate to have a point in the middle".into());
    }
    let directory = given.output()?;
    println!("heat_plate: {} points", grouped(side * side));
    line("a step", "heat.at(slice![1..-1, 1..-1]).set(0.25 * (above + below + left + right))");
    let kernels = compile()?;
    report::compiled(&kernels.rest);

    let mut start = vec![0.0; side * side];
    start[..side].fill(1.0);
    let view = || ArrayView::new(&start, &[side, side]);
    let mut states: Vec<Vec<f64>> = Vec::new();
    for steps in SHOWN {
        let state = kernels.steps.run(inputs! { "heat" => view()?, "steps" => steps as i64 })?;
        states.push(state.try_into()?);
    }
    let (time, by_loop) = report::once(|| plain(&start, side, SHOWN[1]));
    report::speed("plain Rust", time, SHOWN[1] * side * side, "points");
    let (time, rest) = report::once(|| Ok::<_, Error>(kernels.rest.run(inputs! { "heat" => view()? })?));
    let (rest, count): (Vec<f64>, i64) = rest?.try_into()?;
    report::speed(&report::broadloom(), time, count as usize * side * side, "points");
    let difference = report::largest_difference(&states[1], &by_loop);
    report::check_difference("the numbers of a plate", difference, 1e-15)?;
    line("at rest", format!("after {} steps", grouped(count as usize)));

    // The plate and its three turns add up to a plate of 1 everywhere, so that the middle has a quarter of it.
    let middle = side / 2;
    line("the middle", format!("{:.9}, by symmetry 0.25", rest[middle * side + middle]));
    for part in [4, 2] {
        let row = middle / part;
        let height = 1.0 - row as f64 / (side - 1) as f64;
        let (ours, known) = (rest[row * side + middle], series(height));
        line(&format!("at {height:.3} of the height"), format!("{ours:.4}, by Fourier's series {known:.4}"));
    }
    states.push(rest);
    let pictures: Vec<Picture> = states.iter().map(|state| drawn(state, side)).collect::<Result<_, _>>()?;
    let shown = SHOWN.map(|steps| format!("{steps} steps"));
    let captions = shown.iter().map(String::as_str).chain(["at rest"]);
    let parts: Vec<(&str, &Picture)> = captions.zip(&pictures).collect();
    report::wrote(&beside(&parts), directory, "heat.png")
}

/// A map with a line at each tenth.
fn drawn(heat: &[f64], side: usize) -> Result<Picture, Error> {
    const PIXELS: usize = 361;
    let pixel = |at: usize| {
        // Between the four points around a pixel, by the parts of its way.
        let place = |at: usize| at as f64 / (PIXELS - 1) as f64 * (side - 1) as f64;
        let (y, x) = (place(at / PIXELS), place(at % PIXELS));
        let (row, column) = ((y as usize).min(side - 2), (x as usize).min(side - 2));
        let (down, right) = (y - row as f64, x - column as f64);
        let of = |row: usize| {
            let points = &heat[row * side + column..];
            points[0] * (1.0 - right) + points[1] * right
        };
        (of(row) * (1.0 - down) + of(row + 1) * down) as f32
    };
    let values: Vec<f32> = (0..PIXELS * PIXELS).map(pixel).collect();
    field::map(&values, PIXELS, &HEAT, 10.0)
}
