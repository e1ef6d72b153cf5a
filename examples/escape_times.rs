//! The Mandelbrot set by its escape times: a loop of a thousand steps for all points of a grid that is never stored, and
//! colours by rank, so that each shade covers as much of the picture.
//!
//! ```text
//! cargo run --release --example escape_times
//! cargo run --release --example escape_times -- --x -0.1592 --y 1.0338 --width 0.02
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::picture::Picture;
use common::report::{self, grouped, line};
use common::{Error, palette};
use std::process::ExitCode;

const WIDTH: usize = 960;
const HEIGHT: usize = 720;
/// Colours from points that leave at once to those that stay longest.
const COLORS: usize = 1024;
const STOPS: [[u8; 3]; 7] = [
    [10, 14, 60],
    [34, 92, 160],
    [146, 204, 226],
    [250, 246, 220],
    [246, 190, 74],
    [186, 76, 30],
    [60, 14, 40],
];

const COMMAND: Command = Command {
    name: "escape_times",
    about: "Draws a part of the Mandelbrot set, coloured by how many steps its points stay.",
    options: &[
        Choice("--x", "X", "middle of the picture [default: -0.7463]"),
        Choice("--y", "Y", "the same, imaginary part [default: 0.1102]"),
        Choice("--width", "W", "width of the part that is seen [default: 0.006]"),
        Choice("--steps", "N", "how many steps [default: 1000]"),
    ],
    output: "where to write escape.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// The part of the plane that is seen: its top left corner, and the way from pixel to pixel.
#[derive(Clone, Copy)]
struct View {
    left: f64,
    top: f64,
    pixel: f64,
}

struct Kernels {
    /// How many steps each point stays, `i64[HEIGHT, WIDTH]`; all of them if it never leaves.
    count: Executable,
    /// The picture of the counts, `u8[HEIGHT, WIDTH, 3]`.
    picture: Executable,
}

fn compile(steps: usize) -> Result<Kernels, Error> {
    Ok(Kernels { count: escape_times(steps)?, picture: colored(steps)? })
}

fn escape_times(steps: usize) -> Result<Executable, Error> {
    let g = Graph::new();
    let [left, top, pixel] = ["left", "top", "pixel"].map(|name| g.input::<f64>(name, shape![]));
    // A row and a column that meet by broadcasting.
    let cx = g.iota(WIDTH).cast::<f64>() * pixel + left;
    let cy = g.iota(HEIGHT).cast::<f64>().unsqueeze(1) * pixel + top;
    // Carried values keep their shapes, so they begin with those of the grid.
    let [zero, none] = [g.full(shape![HEIGHT, WIDTH], 0.0), g.full(shape![HEIGHT, WIDTH], 0i64)];
    let [_, _, count] = repeat(steps, [zero, zero, none], |_, [x, y, count]| {
        let (xx, yy) = (x * x, y * y);
        // A point that has left is on its way to infinity or NaN, and does not count again.
        let count = select((xx + yy).le(4), count + 1, count);
        [xx - yy + cx, 2 * x * y + cy, count]
    });
    Ok(count.compile()?)
}

/// Colours of the points that leave, by the share of those that leave earlier.
fn colored(steps: usize) -> Result<Executable, Error> {
    let g = Graph::new();
    let count = g.input::<i64>("count", shape![HEIGHT, WIDTH]);
    let colors = g.input::<u8>("colors", shape![COLORS, 3]);
    let leave = count.reshape(shape![-1]).segment_count(steps + 1).slice(slice![..-1]);
    let rank = leave.cumsum(0).cast::<f64>() / leave.sum(0).maximum(1).cast::<f64>();
    let place = rank.take(count.minimum(steps as i64 - 1), 0) * (COLORS - 1) as f64;
    Ok(select(count.lt(steps as i64).unsqueeze(2), colors.take(place.cast::<i64>(), 0), 0).compile()?)
}

fn run(given: &Given) -> Result<(), Error> {
    let x = given.number("--x", -4.0..=4.0, -0.7463)?;
    let y = given.number("--y", -4.0..=4.0, 0.1102)?;
    let pixel = given.number("--width", 1e-9..=10.0, 0.006)? / WIDTH as f64;
    let steps = given.number("--steps", 1..=100_000, 1000)?;
    let directory = given.output()?;
    let view = View { left: x - pixel * WIDTH as f64 / 2.0, top: y - pixel * HEIGHT as f64 / 2.0, pixel };

    println!("escape_times: {WIDTH} x {HEIGHT} points, {} steps", grouped(steps));
    line("each step", "x, y = x * x - y * y + cx, 2 * x * y + cy");
    line("", "count = select((x * x + y * y).le(4), count + 1, count)");
    let kernels = compile(steps)?;
    report::compiled(&kernels.count);
    let inputs = inputs! { "left" => view.left, "top" => view.top, "pixel" => view.pixel };
    let mut count = vec![0i64; WIDTH * HEIGHT];
    let (time, result) = report::once(|| {
        kernels.count.run_into(inputs, ArrayViewMut::new(&mut count, &[HEIGHT, WIDTH])?)?;
        Ok::<(), Error>(())
    });
    result?;
    report::speed(&report::broadloom(), time, count.len(), "points");
    let (time, plain) = report::once(|| plain(view, steps));
    report::speed("plain Rust", time, count.len(), "points");
    line("", "(the plain loop leaves a point that is out; the kernel does all steps for all points)");
    let differ = count.iter().zip(&plain).filter(|(ours, plain)| ours != plain).count();
    line("check", format!("{differ} of {} counts differ from the plain loop's", grouped(count.len())));
    if differ > count.len() / 1000 {
        return Err(format!("{differ} counts are not those of the plain loop").into());
    }
    let stay = count.iter().filter(|count| **count == steps as i64).count();
    line("", format!("{} points never leave", grouped(stay)));

    let colors = palette::ramp(&STOPS, COLORS);
    let mut picture = Picture::new(WIDTH, HEIGHT, [0; 3]);
    let inputs = inputs! {
        "count" => ArrayView::new(&count, &[HEIGHT, WIDTH])?,
        "colors" => ArrayView::new(&colors, &[COLORS, 3])?,
    };
    kernels.picture.run_into(inputs, picture.rows_mut()?)?;
    report::wrote(&picture, directory, "escape.png")
}

/// The counts by a loop in plain Rust.
fn plain(view: View, steps: usize) -> Vec<i64> {
    let point = |place: usize| {
        let (column, row) = ((place % WIDTH) as f64, (place / WIDTH) as f64);
        let (cx, cy) = (column * view.pixel + view.left, row * view.pixel + view.top);
        let (mut x, mut y, mut count) = (0.0, 0.0, 0);
        while count < steps as i64 && x * x + y * y <= 4.0 {
            (x, y, count) = (x * x - y * y + cx, 2.0 * x * y + cy, count + 1);
        }
        count
    };
    (0..WIDTH * HEIGHT).map(point).collect()
}
