//! A faded photograph made good: normalised by the mean and standard deviation of each channel, then shown brighter,
//! grey, and with a vignette, all by one graph of broadcasting expressions.
//!
//! ```text
//! cargo run --release --example normalised_image
//! cargo run --release --example normalised_image -- --image photo.png --gamma 1.8
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::prelude::*;
use common::Error;
use common::args::{Choice, Command, Given};
use common::picture::Picture;
use common::report::{self, grouped, line};
use common::scene;
use std::process::ExitCode;

/// The contrast: one deviation as a fraction of the range from black to white.
const CONTRAST: f32 = 0.2;
/// The parts that red, green and blue have in how bright a colour looks (ITU-R BT.709).
const LUMINANCE: [f32; 3] = [0.2126, 0.7152, 0.0722];
/// How much darker corners are.
const VIGNETTE: f32 = 0.65;

const COMMAND: Command = Command {
    name: "normalised_image",
    about: "Normalises the colours of a picture, and shows it brighter, grey, and with a vignette.",
    options: &[
        Choice("--image", "PATH", "a PNG picture; without it, a faded scene is drawn"),
        Choice("--gamma", "G", "channels become their power 1 / G [default: 1.6]"),
    ],
    output: "where to write normalised.png and effects.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// A number per channel, for a picture of channels from 0 to 1 (`f32[h, w, 3]`): mean 0, deviation 1.
fn normalise(image: Tensor) -> Tensor {
    (image - image.mean([0, 1])) / image.std([0, 1])
}

/// The picture in shades of grey.
fn grey(image: Tensor, luminance: Tensor) -> Tensor {
    (image * luminance).sum_keepdims(-1).broadcast_to(image.shape())
}

/// Darker towards the corners. The grid is never stored: a column and a row that meet by broadcasting.
fn vignette(g: &Graph, image: Tensor) -> Tensor {
    let shape = image.shape();
    let y = g.linspace(-1, 1, shape[0]).cast::<f32>().unsqueeze(1); // [h, 1]
    let x = g.linspace(-1, 1, shape[1]).cast::<f32>(); // [w]
    let falloff = 1 - (y.square() + x.square()) * (VIGNETTE / 2.0);
    image * falloff.unsqueeze(2)
}

/// Channels from 0 to 1 as bytes.
fn bytes(image: Tensor) -> Tensor {
    (image * 255).round().clip(0, 255).cast::<u8>()
}

struct Kernels {
    /// Mean and deviation of the channels, and the picture beside the normalised one.
    normalised: Executable,
    /// The normalised picture brighter, grey, and with a vignette, side by side.
    effects: Executable,
}

impl Kernels {
    fn compile(gamma: f32) -> Result<Kernels, Error> {
        let g = Graph::new();
        let [h, w] = g.symbols(["h", "w"]);
        let pixels = g.input::<u8>("pixels", shape![h, w, 3]);
        let luminance = g.input::<f32>("luminance", shape![3]);

        let image = pixels.cast::<f32>() / 255;
        let normal = (normalise(image) * CONTRAST + 0.5).clip(0, 1);
        let effects = [normal.pow(1.0 / gamma), grey(normal, luminance), vignette(&g, normal)];
        Ok(Kernels {
            normalised: g.compile([
                ("mean", image.mean([0, 1])),
                ("deviation", image.std([0, 1])),
                ("normalised", concat([pixels, bytes(normal)], 1)),
            ])?,
            effects: concat(effects.map(bytes), 1).compile()?,
        })
    }
}

fn run(given: &Given) -> Result<(), Error> {
    let gamma = given.number("--gamma", 0.1..=10.0, 1.6)?;
    let path = given.path("--image");
    let picture = path.map_or_else(|| Ok(faded(scene::draw())), Picture::read)?;
    let directory = given.output()?;
    let source = path.map_or("a faded scene".to_string(), |path| path.display().to_string());
    let (width, height) = (picture.width, picture.height);
    println!("normalised_image: {source}, {width} x {height} pixels");
    let kernels = Kernels::compile(gamma)?;
    let beside = |count| Picture::new(count * width, height, [0; 3]);

    line("image", "pixels.cast::<f32>() / 255");
    line("normal", "(image - image.mean([0, 1])) / image.std([0, 1])");
    line("before and after", "concat([pixels, normal], 1)");
    report::compiled(&kernels.normalised);
    let (mut mean, mut deviation) = ([0.0f32; 3], [0.0f32; 3]);
    let mut normalised = beside(2);
    let time = report::shortest(|| {
        let outputs = (&mut mean, &mut deviation, normalised.rows_mut()?);
        Ok(kernels.normalised.run_into(inputs! { "pixels" => picture.rows()? }, outputs)?)
    })?;
    report::speed(&report::broadloom(), time, picture.count(), "pixels");
    let (time, plain) = report::once(|| plain(&picture));
    report::speed("plain Rust", time, picture.count(), "pixels");
    check(&picture, &normalised.pixels, &plain);
    for (channel, name) in ["red", "green", "blue"].into_iter().enumerate() {
        line(name, format!("mean {:.4}, deviation {:.4}", mean[channel], deviation[channel]));
    }

    println!();
    line("effects", "normal.pow(1 / gamma), (normal * luminance).sum(-1), normal * falloff");
    report::compiled(&kernels.effects);
    let mut effects = beside(3);
    let time = report::shortest(|| {
        let inputs = inputs! { "pixels" => picture.rows()?, "luminance" => &LUMINANCE };
        Ok(kernels.effects.run_into(inputs, effects.rows_mut()?)?)
    })?;
    report::speed(&report::broadloom(), time, picture.count(), "pixels");

    println!();
    report::wrote(&normalised, directory, "normalised.png")?;
    report::wrote(&effects, directory, "effects.png")
}

/// A picture as the sun leaves it: pale, and yellow in the shadows.
fn faded(mut picture: Picture) -> Picture {
    let (pixels, _) = picture.pixels.as_chunks_mut::<3>();
    for pixel in pixels {
        let fade = |c: usize| 0.42 * f32::from(pixel[c]) + [112.0, 96.0, 70.0][c];
        *pixel = std::array::from_fn(|c| fade(c).round() as u8);
    }
    picture
}

/// The normalised picture by loops in plain Rust, with sums in `f64`.
fn plain(picture: &Picture) -> Vec<u8> {
    let (pixels, _) = picture.pixels.as_chunks::<3>();
    let channel = |pixel: &[u8; 3], c: usize| f64::from(pixel[c]) / 255.0;
    let count = pixels.len() as f64;
    let mut normalised = vec![0; picture.pixels.len()];
    for c in 0..3 {
        let mean = pixels.iter().map(|pixel| channel(pixel, c)).sum::<f64>() / count;
        let squares = pixels.iter().map(|pixel| (channel(pixel, c) - mean).powi(2));
        let deviation = (squares.sum::<f64>() / count).sqrt();
        for (pixel, out) in pixels.iter().zip(normalised.as_chunks_mut::<3>().0) {
            let value = (channel(pixel, c) - mean) / deviation * f64::from(CONTRAST) + 0.5;
            out[c] = (value.clamp(0.0, 1.0) * 255.0).round_ties_even() as u8;
        }
    }
    normalised
}

/// Says how far the right half of the picture is from that of the plain loops.
fn check(picture: &Picture, beside: &[u8], plain: &[u8]) {
    let row = picture.width * 3;
    let right = beside.chunks(2 * row).flat_map(|both| &both[row..]);
    let differences = right.zip(plain).map(|(a, b)| a.abs_diff(*b));
    let (mut differ, mut largest) = (0, 0);
    for difference in differences.filter(|difference| *difference > 0) {
        (differ, largest) = (differ + 1, largest.max(difference));
    }
    line(
        "check",
        format!(
            "{} of {} bytes differ from the plain loop, by at most {largest} of 255",
            grouped(differ),
            grouped(plain.len())
        ),
    );
}
