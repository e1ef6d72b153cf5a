//! Two substances that react and spread on a torus, after Gray and Scott: rings around a few drops break into stripes, which
//! fill it. All steps are one call of a loop, whose number of steps is an input.
//!
//! ```text
//! cargo run --release --example gray_scott
//! cargo run --release --example gray_scott -- --feed 0.03 --kill 0.057
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::palette::{self, HEAT};
use common::picture::{Picture, beside};
use common::report::{self, grouped, line};
use common::{Error, uniform_numbers};
use std::process::ExitCode;

/// Cells along a side of the torus.
const SIDE: usize = 256;
/// Steps from one picture to the next.
const STEPS: usize = 3000;
/// Steps that the plain loop takes, too.
const CHECKED: usize = 200;
/// How far numbers may be from those of the plain loop after these.
const TOLERANCE: f64 = 1e-4;
/// How fast the substances spread.
const SPREAD: [f32; 2] = [0.2, 0.1];

const COMMAND: Command = Command {
    name: "gray_scott",
    about: "Two substances that react and spread, after Gray and Scott.",
    options: &[
        Choice("--feed", "F", "how fast the first is fed [default: 0.037]"),
        Choice("--kill", "K", "how fast the second is taken out [default: 0.062]"),
    ],
    output: "where to write reaction.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// How much of the two substances there is in each cell.
#[derive(Clone)]
struct State {
    u: Vec<f32>,
    v: Vec<f32>,
}

/// The four neighbours of each cell of a torus, minus the cell itself.
fn laplacian(x: Tensor) -> Tensor {
    x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1) - 4 * x
}

/// Takes any number of steps.
fn compile() -> Result<Executable, Error> {
    let g = Graph::new();
    let n = g.symbol("n");
    let [u, v] = ["u", "v"].map(|name| g.input::<f32>(name, shape![n, n]));
    let [feed, kill] = ["feed", "kill"].map(|name| g.input::<f32>(name, shape![]));
    let steps = g.input::<i64>("steps", shape![]);
    let [u, v] = repeat(steps, [u, v], |_, [u, v]| {
        let reaction = u * v * v;
        [
            u + (laplacian(u) * SPREAD[0] - reaction + feed * (1 - u)),
            v + (laplacian(v) * SPREAD[1] + reaction - (feed + kill) * v),
        ]
    });
    Ok(g.compile([("u", u), ("v", v)])?)
}

/// Takes steps by the kernel.
fn advance(kernel: &Executable, state: &State, rates: [f32; 2], steps: usize) -> Result<State, Error> {
    let inputs = inputs! {
        "u" => ArrayView::new(&state.u, &[SIDE, SIDE])?,
        "v" => ArrayView::new(&state.v, &[SIDE, SIDE])?,
        "feed" => rates[0],
        "kill" => rates[1],
        "steps" => steps as i64,
    };
    let (u, v) = kernel.run(inputs)?.try_into()?;
    Ok(State { u, v })
}

/// One step by a loop in plain Rust.
fn plain(state: &State, [feed, kill]: [f32; 2]) -> State {
    let mut next = state.clone();
    for y in 0..SIDE {
        for x in 0..SIDE {
            let at = |dy: usize, dx: usize| (y + dy) % SIDE * SIDE + (x + dx) % SIDE;
            let laplacian = |of: &[f32]| {
                of[at(SIDE - 1, 0)] + of[at(1, 0)] + of[at(0, SIDE - 1)] + of[at(0, 1)] - 4.0 * of[at(0, 0)]
            };
            let (u, v) = (state.u[at(0, 0)], state.v[at(0, 0)]);
            let reaction = u * v * v;
            next.u[at(0, 0)] = u + (SPREAD[0] * laplacian(&state.u) - reaction + feed * (1.0 - u));
            next.v[at(0, 0)] = v + (SPREAD[1] * laplacian(&state.v) + reaction - (feed + kill) * v);
        }
    }
    next
}

/// The first substance everywhere, and some drops of the second.
fn drops() -> State {
    let mut state = State { u: vec![1.0; SIDE * SIDE], v: vec![0.0; SIDE * SIDE] };
    let places: Vec<usize> =
        uniform_numbers(0xd405).take(24).map(|place| (place * SIDE as f32) as usize).collect();
    for [top, left] in places.as_chunks::<2>().0 {
        for place in 0..64 {
            let place = (top + place / 8) % SIDE * SIDE + (left + place % 8) % SIDE;
            (state.u[place], state.v[place]) = (0.5, 0.25);
        }
    }
    state
}

fn run(given: &Given) -> Result<(), Error> {
    let rates = [given.number("--feed", 0.0..=0.1, 0.037)?, given.number("--kill", 0.0..=0.1, 0.062)?];
    let directory = given.output()?;
    println!("gray_scott: {} cells on a torus", grouped(SIDE * SIDE));
    let [of_u, of_v] = SPREAD;
    line("a step of u", format!("u + ({of_u} * laplacian(u) - u * v * v + feed * (1 - u))"));
    line("a step of v", format!("v + ({of_v} * laplacian(v) + u * v * v - (feed + kill) * v)"));
    let kernel = compile()?;
    report::compiled(&kernel);

    let start = drops();
    let (time, by_loop) = report::once(|| (0..CHECKED).fold(start.clone(), |state, _| plain(&state, rates)));
    report::speed("plain Rust", time, CHECKED * SIDE * SIDE, "cells");
    let checked = advance(&kernel, &start, rates, CHECKED)?;
    for (name, ours, plain) in
        [("the amounts of u", &checked.u, &by_loop.u), ("those of v", &checked.v, &by_loop.v)]
    {
        report::check_difference(name, report::largest_difference(ours, plain), TOLERANCE)?;
    }
    let pairs = checked.u.iter().chain(&checked.v).zip(by_loop.u.iter().chain(&by_loop.v));
    let differ = pairs.filter(|(ours, plain)| ours.to_bits() != plain.to_bits()).count();

    let mut states = vec![advance(&kernel, &start, rates, STEPS / 4)?];
    let (time, result) = report::once(|| {
        for _ in 0..2 {
            states.push(advance(&kernel, &states[states.len() - 1], rates, STEPS)?);
        }
        Ok::<(), Error>(())
    });
    result?;
    report::speed(&report::broadloom(), time, 2 * STEPS * SIDE * SIDE, "cells");
    line(
        "check",
        format!(
            "{differ} of {} numbers differ from the plain loop's after {CHECKED} steps",
            grouped(2 * SIDE * SIDE)
        ),
    );
    line("", format!("{} variant of the kernel for all numbers of steps", kernel.explain().variants()));
    let pictures: Vec<Picture> = states.iter().map(drawn).collect();
    let counts = [0, 1, 2].map(|time| format!("{} steps", grouped(STEPS / 4 + time * STEPS)));
    let parts: Vec<(&str, &Picture)> = counts.iter().map(String::as_str).zip(&pictures).collect();
    report::wrote(&beside(&parts), directory, "reaction.png")
}

/// The second substance, two pixels a cell.
fn drawn(state: &State) -> Picture {
    const MOST: f32 = 0.4;
    let colors = palette::ramp(&HEAT, 256);
    let mut picture = Picture::new(2 * SIDE, 2 * SIDE, [0; 3]);
    for (place, v) in state.v.iter().enumerate() {
        let color = 3 * (255.0 * (v / MOST).clamp(0.0, 1.0)) as usize;
        let corner = (2 * (place % SIDE), 2 * (place / SIDE));
        picture.fill(corner, (2, 2), [colors[color], colors[color + 1], colors[color + 2]]);
    }
    picture
}
