//! Vector quantization, the worked example of NumPy's guide to broadcasting: which of a few codes is nearest to each
//! of many observations? First the guide's athletes, then all pixels of a picture.
//!
//! ```text
//! cargo run --release --example vector_quantization
//! cargo run --release --example vector_quantization -- --image photo.png --colors 32 --whiten
//! ```
//!
//! Read `kmeans.rs` first: every step of k-means as a broadcasting expression.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to whoever runs it")]

#[path = "../common/mod.rs"]
mod common;
mod counting;
mod guide;
mod kmeans;
mod plain;
mod report;

use broadloom::Threads;
use common::Error;
use common::args::{Choice, Command, Given};
use common::picture::{self, Picture};
use common::report::{grouped, milliseconds};
use common::scene;
use kmeans::{Kernels, Weights};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// The maximum number of pixels to which codes are fitted.
const SAMPLE: usize = 250_000;
/// The maximum number of iterations of fitting, and the relative decrease of the error below which it ends.
const ITERATIONS: usize = 40;
const WORTHWHILE: f32 = 1e-3;
/// The plain loop for comparison is stopped after this time.
const PATIENCE: Duration = Duration::from_secs(4);

const COMMAND: Command = Command {
    name: "vector_quantization",
    about: "Quantizes the colours of a picture by k-means, all of it in compiled broadcasting expressions.",
    options: &[
        Choice("--image", "PATH", "a PNG picture; without it, a scene is drawn"),
        Choice("--colors", "K", "how many colours to keep [default: 16]"),
        Choice("--whiten", "", "give all three channels the same weight: mean 0, deviation 1"),
    ],
    output: "where to write quantized.png and palette.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

fn run(given: &Given) -> Result<(), Error> {
    let colors = given.number("--colors", 1..=1 << 24, 16)?;
    // Read first, so that a wrong path is said at once.
    let path = given.path("--image");
    let picture = path.map_or_else(|| Ok(scene::draw()), Picture::read)?;
    let count = picture.count();
    if colors > count {
        return Err(format!("--colors {colors} are more than the {count} pixels of the picture").into());
    }
    let directory = given.output()?;

    guide::athletes()?;
    guide::observations()?;

    let source = path.map_or("a scene of its own".to_string(), |path| path.display().to_string());
    println!("{source}: {} x {} pixels, to be shown in {colors} colours", picture.width, picture.height);
    let kernels = Kernels::compile()?;
    report::compile_times(&kernels.compile_times());

    let is_whitened = given.has("--whiten");
    let weights = if is_whitened { kernels.whitening(picture.view()?)? } else { Weights::EQUAL };
    let codes = fit(&kernels, &picture, &weights, colors)?;

    println!("assigning all {} pixels", grouped(count));
    let code = assign_all(&kernels, &picture, &weights, &codes)?;
    let painted = kernels.paint(picture.view()?, &weights, &codes, &code)?;
    println!("mean error of all pixels: {:.3} of 0 .. 255", painted.error);

    let palette = report::palette(&painted.palette, &code);
    println!("wrote");
    let quantized = Picture { width: picture.width, height: picture.height, pixels: painted.pixels };
    let swatches = report::swatches(&palette);
    let mut files = vec![("quantized.png", &quantized), ("palette.png", &swatches)];
    if path.is_none() {
        files.insert(0, ("scene.png", &picture));
    }
    for (name, picture) in files {
        let path = directory.join(name);
        picture.write(&path)?;
        println!("  {}", path.display());
    }
    Ok(())
}

/// Codes that fit a sample of the picture.
fn fit(
    kernels: &Kernels,
    picture: &Picture,
    weights: &Weights,
    colors: usize,
) -> Result<Vec<[f32; 3]>, Error> {
    let start = Instant::now();
    let places = places(picture.count());
    let sample = kernels.sample(picture.view()?, &places)?;
    let sampled = picture::view(&sample)?;
    let unit = if weights.is_whitening() { "standard deviations" } else { "of 0 .. 255" };
    println!("fitting {} colours to {} pixels", colors, grouped(places.len()));

    let mut codes = kernels.first_codes(&sample, weights, colors)?;
    let mut code = vec![0; places.len()];
    let mut last = f32::INFINITY;
    for iteration in 1..=ITERATIONS {
        kmeans::assign(kernels.nearest(), sampled.clone(), weights, &codes, &mut code)?;
        let update = kernels.update(&sample, weights, &codes, &code)?;
        println!(
            "  iteration {iteration:2}   mean error {:8.4}   rms {:8.4} {unit}",
            update.error, update.rms
        );
        codes = update.codes;
        if update.rms > last * (1.0 - WORTHWHILE) {
            break;
        }
        last = update.rms;
    }
    println!("fitted in {:.1} ms", milliseconds(start.elapsed()));
    Ok(codes)
}

/// Places of a sample: all, or one at random from each of many stretches of equal length.
fn places(count: usize) -> Vec<i64> {
    if count <= SAMPLE {
        return (0..count as i64).collect();
    }
    let stretch = count as f64 / SAMPLE as f64;
    let offsets = kmeans::uniform_numbers().take(SAMPLE);
    let place = |(index, offset): (usize, f32)| ((index as f64 + f64::from(offset)) * stretch) as i64;
    offsets.enumerate().map(place).collect()
}

/// The nearest code of every pixel, found in three ways, which are timed.
fn assign_all(
    kernels: &Kernels,
    picture: &Picture,
    weights: &Weights,
    codes: &[[f32; 3]],
) -> Result<Vec<i64>, Error> {
    let mut code = vec![0; picture.count()];
    let mut measured = Vec::new();
    let one_thread = kmeans::nearest(Threads::Calling)?;
    for (name, kernel) in [("Broadloom", kernels.nearest()), ("Broadloom, one thread", &one_thread)] {
        let mut assign = || kmeans::assign(kernel, picture.view()?, weights, codes, &mut code);
        // The first call touches the result's memory for the first time, and remembers the sizes.
        assign()?;
        let start = Instant::now();
        let (result, temporaries) = counting::peak_of(assign);
        let time = start.elapsed();
        result?;
        measured.push(report::Measured {
            name,
            time,
            pixels: picture.count(),
            temporaries: Some(temporaries),
        });
    }

    // Not zeros, which the system would hand out only when they are written, on the plain loop's account.
    let mut plain = vec![-1; picture.count()];
    let start = Instant::now();
    let pixels = plain::assign(&picture.pixels, weights, codes, &mut plain, PATIENCE);
    measured.push(report::Measured {
        name: "plain Rust loop",
        time: start.elapsed(),
        pixels,
        temporaries: None,
    });
    report::measured(&measured);

    let differ = code[..pixels].iter().zip(&plain).filter(|(a, b)| a != b).count();
    println!("  the plain loop chose another colour for {differ} of {} pixels", grouped(pixels));
    Ok(code)
}
