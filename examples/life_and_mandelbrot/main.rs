//! Two classics as tensor expressions: the Mandelbrot set, all steps of which are written out in one kernel over a grid
//! that is never stored, and Conway's Game of Life on a torus, which is made by joining slices.
//!
//! ```text
//! cargo run --release --example life_and_mandelbrot
//! cargo run --release --example life_and_mandelbrot -- --x -0.7453 --y 0.1127 --width 0.01
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

#[path = "../common/mod.rs"]
mod common;
mod life;
mod mandelbrot;

use common::Error;
use common::args::{Choice, Command, Given};
use std::process::ExitCode;

const COMMAND: Command = Command {
    name: "life_and_mandelbrot",
    about: "Draws the Mandelbrot set and a glider gun of the Game of Life, computed by tensor expressions.",
    options: &[
        Choice("--x", "X", "middle of the Mandelbrot picture [default: -0.7]"),
        Choice("--y", "Y", "the same, imaginary part [default: 0]"),
        Choice("--width", "W", "width of the part that is seen [default: 3.4]"),
    ],
    output: "where to write mandelbrot.png and life.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

fn run(given: &Given) -> Result<(), Error> {
    let view = mandelbrot::View {
        x: given.number("--x", -4.0..=4.0, -0.7)?,
        y: given.number("--y", -4.0..=4.0, 0.0)?,
        width: given.number("--width", 1e-6..=10.0, 3.4)?,
    };
    let directory = given.output()?;
    mandelbrot::run(view, directory)?;
    println!();
    life::run(directory)
}
