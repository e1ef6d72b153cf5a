//! Softmax and layer norm of rows as ordinary Rust functions over tensors: one graph, nothing stored in between.
//!
//! ```text
//! cargo run --release --example softmax_and_layer_norm
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::palette::{self, BLUE_WHITE_RED, HEAT};
use common::picture::Picture;
use common::report::{self, grouped, line};
use common::{Error, letters, uniform_numbers};
use std::process::ExitCode;

/// Numbers in a row.
const WIDTH: usize = 1024;
/// Rows of each part of the picture.
const SHOWN: usize = 224;

const COMMAND: Command = Command {
    name: "softmax_and_layer_norm",
    about: "Softmax and layer norm of rows of 1,024 numbers, checked against plain loops and drawn.",
    options: &[Choice("--rows", "N", "how many rows [default: 8192]")],
    output: "where to write rows.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// Parts of 1 by the exponentials along the last axis. The largest number is subtracted first: nothing overflows.
fn softmax(x: Tensor) -> Tensor {
    let e = (x - x.max_keepdims(-1)).exp();
    e / e.sum_keepdims(-1)
}

/// Mean 0 and deviation 1 along the last axis, then a gain and a bias for each column.
fn layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor {
    (x - x.mean_keepdims(-1)) / (x.var_keepdims(-1) + 1e-5).sqrt() * gain + bias
}

struct Kernels {
    /// Both, as two outputs.
    both: Executable,
    /// The figures to check: for each row, the sum of the softmax, and the mean and deviation of the normalised row.
    moments: Executable,
    /// Some rows as colours: as they are, their softmax divided by its largest, and normalised.
    colors: Executable,
}

impl Kernels {
    fn compile() -> Result<Kernels, Error> {
        let g = Graph::new();
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n, WIDTH]);
        let gain = g.input::<f32>("gain", shape![WIDTH]);
        let bias = g.input::<f32>("bias", shape![WIDTH]);
        let (softmax, layer_norm) = (softmax(x), layer_norm(x, gain, bias));
        let both = g.compile([("softmax", softmax), ("layer_norm", layer_norm)])?;

        let moments = g.compile([
            ("sum", softmax.sum(-1)),
            ("mean", layer_norm.mean(-1)),
            ("deviation", layer_norm.std(-1)),
        ])?;

        let heat = g.input::<u8>("heat", shape![256, 3]);
        let signed = g.input::<u8>("signed", shape![256, 3]);
        let color = |part: Tensor, table: Tensor| {
            table.take((part * 255).round().clip(0, 255).cast::<u8>(), 0) // [n, WIDTH, 3]
        };
        let colors = g.compile([
            ("x", color(x / 24 + 0.5, signed)),
            ("softmax", color((softmax / softmax.max_keepdims(-1)).sqrt(), heat)),
            ("layer_norm", color(layer_norm / 6 + 0.5, signed)),
        ])?;
        Ok(Kernels { both, moments, colors })
    }
}

fn run(given: &Given) -> Result<(), Error> {
    let rows = given.number("--rows", 1..=1 << 18, 8192)?;
    let directory = given.output()?;
    let count = rows * WIDTH;
    println!("softmax_and_layer_norm: {} rows of {} numbers", grouped(rows), grouped(WIDTH));
    line("softmax", "e / e.sum_keepdims(-1), where e = (x - x.max_keepdims(-1)).exp()");
    line("layer_norm", "(x - x.mean_keepdims(-1)) / (x.var_keepdims(-1) + 1e-5).sqrt() * gain + bias");
    let kernels = Kernels::compile()?;
    report::compiled(&kernels.both);

    let mut noise = uniform_numbers(0x50f7);
    let x: Vec<f32> = (0..rows).flat_map(|row| made_row(row as f32 / rows as f32, &mut noise)).collect();
    let (gain, bias) = (vec![1.0f32; WIDTH], vec![0.0f32; WIDTH]);
    let view = |x| ArrayView::new(x, &[rows, WIDTH]);
    let inputs = || Ok::<_, Error>(inputs! { "x" => view(&x)?, "gain" => &gain, "bias" => &bias });

    let (mut softmax, mut layer_norm) = (vec![0.0f32; count], vec![0.0f32; count]);
    let time = report::shortest(|| {
        let shape = [rows, WIDTH];
        let outputs = (ArrayViewMut::new(&mut softmax, &shape)?, ArrayViewMut::new(&mut layer_norm, &shape)?);
        Ok(kernels.both.run_into(inputs()?, outputs)?)
    })?;
    report::speed(&report::broadloom(), time, count, "numbers");
    let (time, plain) = report::once(|| plain(&x));
    report::speed("plain Rust", time, count, "numbers");

    let difference = report::largest_difference;
    line("check", format!("softmax is within {:.1e} of the plain loop's", difference(&softmax, &plain.0)));
    line("", format!("layer norm is within {:.1e}", difference(&layer_norm, &plain.1)));
    let (sum, mean, deviation): (Vec<f32>, Vec<f32>, Vec<f32>) =
        kernels.moments.run(inputs()?)?.try_into()?;
    let (zeros, ones) = (vec![0.0; rows], vec![1.0; rows]);
    line("", format!("sums of softmax are within {:.1e} of 1", difference(&sum, &ones)));
    line(
        "",
        format!(
            "means of layer norm are within {:.1e} of 0, deviations within {:.1e} of 1",
            difference(&mean, &zeros),
            difference(&deviation, &ones)
        ),
    );
    overflow()?;

    let step = (rows / SHOWN).max(1);
    let shown = x.chunks(WIDTH * step).flat_map(|rows| rows[..WIDTH].iter().copied());
    let shown: Vec<f32> = shown.take(SHOWN * WIDTH).collect();
    report::wrote(&draw(&kernels.colors, &shown, &gain, &bias)?, directory, "rows.png")
}

/// Three peaks that wander from row to row and grow, over a floor that sinks, and noise.
fn made_row(part: f32, noise: &mut impl Iterator<Item = f32>) -> [f32; WIDTH] {
    let peaks = [(0.2, 0.55, 0.9), (0.65, -0.35, 1.0), (0.9, -0.1, 0.7)];
    std::array::from_fn(|column| {
        let x = column as f32 / WIDTH as f32;
        let peak = |(start, way, height): (f32, f32, f32)| {
            let distance = (x - start - way * part + 0.03 * (part * 21.0 + start * 9.0).sin()) / 0.05;
            height * (-distance * distance).exp()
        };
        let height: f32 = peaks.into_iter().map(peak).sum();
        (1.0 + 11.0 * part) * (height - 0.4) + 1.6 * (noise.next().unwrap_or(0.5) - 0.5) - 3.0 * part
    })
}

/// Rows with which exponentials that are not careful overflow, or meet infinities.
fn overflow() -> Result<(), Error> {
    let rows: [(&str, [f32; 3]); 3] = [
        ("[1e4, 1e4, 0]", [1e4, 1e4, 0.0]),
        ("[-1e4, 0, 1e4]", [-1e4, 0.0, 1e4]),
        ("[-inf, 2, 2]", [f32::NEG_INFINITY, 2.0, 2.0]),
    ];
    for (name, row) in rows {
        let parts: Vec<f32> = eval(&row, softmax)?;
        line(&format!("softmax {name}"), format!("{parts:?}"));
    }
    Ok(())
}

/// Both by loops in plain Rust.
fn plain(x: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let (mut softmax, mut layer_norm) = (Vec::with_capacity(x.len()), Vec::with_capacity(x.len()));
    for row in x.chunks(WIDTH) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = row.iter().map(|x| (x - largest).exp()).sum();
        softmax.extend(row.iter().map(|x| (x - largest).exp() / sum));
        let mean = row.iter().sum::<f32>() / WIDTH as f32;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / WIDTH as f32;
        layer_norm.extend(row.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()));
    }
    (softmax, layer_norm)
}

/// The rows, their softmax, and the normalised rows, one below the other with captions.
fn draw(colors: &Executable, x: &[f32], gain: &[f32], bias: &[f32]) -> Result<Picture, Error> {
    const CAPTION: usize = 36;
    let height = x.len() / WIDTH;
    let (heat, signed) = (palette::ramp(&HEAT, 256), palette::ramp(&BLUE_WHITE_RED, 256));
    let inputs = inputs! {
        "x" => ArrayView::new(x, &[height, WIDTH])?,
        "gain" => gain,
        "bias" => bias,
        "heat" => ArrayView::new(&heat, &[256, 3])?,
        "signed" => ArrayView::new(&signed, &[256, 3])?,
    };
    let (rows, softmax, layer_norm): (Vec<u8>, Vec<u8>, Vec<u8>) = colors.run(inputs)?.try_into()?;
    let parts = [
        ("rows: -12 blue, 12 red", rows),
        ("softmax: each row divided by its largest", softmax),
        ("layer norm: -3 blue, 3 red", layer_norm),
    ];
    let mut picture = Picture::new(WIDTH, parts.len() * (CAPTION + height), [255; 3]);
    for (index, (caption, pixels)) in parts.into_iter().enumerate() {
        let top = index * (CAPTION + height);
        picture.write_text((4, top + (CAPTION - 2 * letters::HEIGHT) / 2), 2, [40; 3], caption);
        picture.paste((0, top + CAPTION), &Picture { width: WIDTH, height, pixels });
    }
    Ok(picture)
}
