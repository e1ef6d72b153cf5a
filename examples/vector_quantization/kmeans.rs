//! Colour quantization by k-means, every step of which is a broadcasting expression over any number of pixels `n`
//! and of colours `k`. Pixels stay the three bytes they are; kernels convert and weigh them on the fly.

use crate::common::{self, Error, picture};
use broadloom::prelude::*;
use broadloom::{Inputs, Threads};
use std::time::Duration;

/// How channels are made to count: `(pixel - centre) * scale`.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    pub centre: [f32; 3],
    pub scale: [f32; 3],
}

impl Weights {
    /// Channels as they are.
    pub const EQUAL: Weights = Weights { centre: [0.0; 3], scale: [1.0; 3] };

    /// Whether channels are measured in their standard deviations.
    pub fn is_whitening(&self) -> bool {
        self.scale != Weights::EQUAL.scale
    }

    /// One channel of a pixel, in plain Rust.
    pub fn apply(&self, value: u8, channel: usize) -> f32 {
        (f32::from(value) - self.centre[channel]) * self.scale[channel]
    }
}

/// The compiled steps.
pub struct Kernels {
    nearest: Executable,
    update: Executable,
    seed: Executable,
    sample: Executable,
    moments: Executable,
    paint: Executable,
}

/// The results of an update.
pub struct Update {
    pub codes: Vec<[f32; 3]>,
    /// Mean distance of pixels from their codes, before the update.
    pub error: f32,
    /// The root of their mean squared distance, which every iteration lowers.
    pub rms: f32,
}

/// A picture in few colours.
pub struct Painted {
    pub palette: Vec<u8>,
    pub pixels: Vec<u8>,
    /// Mean distance of the pixels from what they were.
    pub error: f32,
}

/// The sample that most steps use.
struct Pixels {
    graph: Graph,
    k: Symbol,
    /// `f32[n, 3]`
    observations: Tensor,
}

impl Pixels {
    fn new() -> Pixels {
        let graph = Graph::new();
        let [n, k] = graph.symbols(["n", "k"]);
        let pixels = graph.input::<u8>("pixels", shape![n, 3]);
        let centre = graph.input::<f32>("centre", shape![3]);
        let scale = graph.input::<f32>("scale", shape![3]);
        Pixels { observations: (pixels.cast::<f32>() - centre) * scale, graph, k }
    }

    fn codes(&self) -> Tensor {
        self.graph.input::<f32>("codes", shape![self.k, 3])
    }

    /// Which code each pixel has.
    fn code(&self) -> Tensor {
        self.graph.input::<i64>("code", shape![self.observations.shape()[0]])
    }
}

/// The nearest code of every pixel. The distances, `f32[n, k]`, are never stored.
pub fn nearest(threads: Threads) -> Result<Executable, Error> {
    let pixels = Pixels::new();
    let difference = pixels.codes().unsqueeze(0) - pixels.observations.unsqueeze(1); // [n, k, 3]
    let code = difference.square().sum(-1).argmin(1);
    Ok(pixels
        .graph
        .compile_with([("code", code)], &CompileOptions { threads, ..CompileOptions::default() })?)
}

/// The mean of the pixels of each code; a code without pixels stays what it is. Also the mean distance to the codes.
fn update() -> Result<Executable, Error> {
    let pixels = Pixels::new();
    let (codes, code) = (pixels.codes(), pixels.code());
    let counts = code.segment_count(pixels.k).cast::<f32>().unsqueeze(1); // [k, 1]
    let sums = pixels.observations.segment_sum(code, pixels.k); // [k, 3]
    let means = select(counts.gt(0), sums / counts, codes);
    let squared = (pixels.observations - codes.take(code, 0)).square().sum(-1);
    let (error, rms) = (squared.sqrt().mean(0), squared.mean(0).sqrt());
    Ok(pixels.graph.compile([("codes", means), ("error", error), ("rms", rms)])?)
}

/// One more code for a start: pixels far from all codes so far are likely. If every pixel draws a waiting time and
/// waits the shorter the farther it is, the first to come is a draw by squared distance (k-means++).
fn seed() -> Result<Executable, Error> {
    let pixels = Pixels::new();
    let n = pixels.observations.shape()[0];
    let newest = pixels.graph.input::<f32>("newest", shape![3]);
    let so_far = pixels.graph.input::<f32>("so_far", shape![n]);
    let speed = pixels.graph.input::<f32>("speed", shape![n]);
    let distance = (pixels.observations - newest).square().sum(-1).minimum(so_far);
    Ok(pixels.graph.compile([("distance", distance), ("chosen", (distance * speed).argmax(0))])?)
}

/// The pixels at some places.
fn sample() -> Result<Executable, Error> {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let pixels = g.input::<u8>("pixels", shape![n, 3]);
    let places = g.input::<i64>("places", shape![m]);
    Ok(pixels.take(places, 0).compile()?)
}

/// Mean and standard deviation of each channel.
fn moments() -> Result<Executable, Error> {
    let g = Graph::new();
    let pixels = g.input::<u8>("pixels", shape![g.symbol("n"), 3]).cast::<f32>();
    Ok(g.compile([("mean", pixels.mean(0)), ("deviation", pixels.std(0))])?)
}

/// The picture in the colours of the codes, the colours, and the mean distance of the picture from what it was.
fn paint() -> Result<Executable, Error> {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let pixels = g.input::<u8>("pixels", shape![n, 3]);
    let code = g.input::<i64>("code", shape![n]);
    let codes = g.input::<f32>("codes", shape![k, 3]);
    let centre = g.input::<f32>("centre", shape![3]);
    let scale = g.input::<f32>("scale", shape![3]);
    let palette = (codes / scale + centre).round().clip(0, 255).cast::<u8>();
    let picture = palette.take(code, 0);
    let error = (pixels.cast::<f32>() - picture.cast::<f32>()).square().sum(-1).sqrt().mean(0);
    Ok(g.compile([("palette", palette), ("picture", picture), ("error", error)])?)
}

/// Running the steps.
impl Kernels {
    /// Compiles all steps.
    pub fn compile() -> Result<Kernels, Error> {
        Ok(Kernels {
            nearest: nearest(Threads::default())?,
            update: update()?,
            seed: seed()?,
            sample: sample()?,
            moments: moments()?,
            paint: paint()?,
        })
    }

    /// Describes each kernel, and the time to compile it.
    pub fn compile_times(&self) -> [(&'static str, Duration); 6] {
        let kernels = [
            ("nearest code", &self.nearest),
            ("update of the codes", &self.update),
            ("first codes", &self.seed),
            ("sample", &self.sample),
            ("mean and deviation", &self.moments),
            ("painting", &self.paint),
        ];
        kernels.map(|(name, kernel)| (name, kernel.explain().compile_time()))
    }

    /// The kernel of the assignment.
    pub fn nearest(&self) -> &Executable {
        &self.nearest
    }

    /// Weights that give all channels mean 0 and deviation 1. A channel that is always the same counts as it is.
    pub fn whitening(&self, pixels: ArrayView<'_>) -> Result<Weights, Error> {
        let (centre, deviation): (Vec<f32>, Vec<f32>) = self.moments.run(pixels)?.try_into()?;
        let scale = |channel: usize| if deviation[channel] > 0.0 { 1.0 / deviation[channel] } else { 1.0 };
        Ok(Weights {
            centre: std::array::from_fn(|channel| centre[channel]),
            scale: std::array::from_fn(scale),
        })
    }

    /// The pixels at the places.
    pub fn sample(&self, pixels: ArrayView<'_>, places: &[i64]) -> Result<Vec<u8>, Error> {
        Ok(self.sample.run((pixels, places))?.try_into()?)
    }

    /// Pixels to start with as codes.
    pub fn first_codes(
        &self,
        pixels: &[u8],
        weights: &Weights,
        colors: usize,
    ) -> Result<Vec<[f32; 3]>, Error> {
        let n = pixels.len() / 3;
        let code = |pixel: usize| std::array::from_fn(|c| weights.apply(pixels[pixel * 3 + c], c));
        // A waiting time is the negated logarithm of a uniform number, its inverse a speed. Every draw looks at
        // another stretch of the same numbers.
        let uniform = uniform_numbers().take(n + colors);
        let speed: Vec<f32> = uniform.map(|uniform| -1.0 / uniform.ln()).collect();
        let (mut distance, mut nearer) = (vec![f32::INFINITY; n], vec![0.0f32; n]);
        let mut codes = vec![code(n / 2)];
        while codes.len() < colors {
            let newest = codes[codes.len() - 1];
            let mut chosen = [0i64];
            let inputs = observations(picture::view(pixels)?, weights)
                .named("newest", &newest)
                .named("so_far", &distance)
                .named("speed", &speed[codes.len()..][..n]);
            let chosen_view = ArrayViewMut::new(&mut chosen, &[])?;
            self.seed.run_into(inputs, (&mut nearer, chosen_view))?;
            std::mem::swap(&mut distance, &mut nearer);
            codes.push(code(usize::try_from(chosen[0])?));
        }
        Ok(codes)
    }

    /// Moves every code to the mean of its pixels.
    pub fn update(
        &self,
        pixels: &[u8],
        weights: &Weights,
        codes: &[[f32; 3]],
        code: &[i64],
    ) -> Result<Update, Error> {
        let inputs =
            observations(picture::view(pixels)?, weights).named("codes", table(codes)?).named("code", code);
        let mut outputs = self.update.run(inputs)?;
        let codes: Vec<f32> = outputs.take("codes")?;
        Ok(Update {
            codes: codes.as_chunks().0.to_vec(),
            error: outputs.take("error")?,
            rms: outputs.take("rms")?,
        })
    }

    /// Gives every pixel the colour of its code.
    pub fn paint(
        &self,
        pixels: ArrayView<'_>,
        weights: &Weights,
        codes: &[[f32; 3]],
        code: &[i64],
    ) -> Result<Painted, Error> {
        let inputs = observations(pixels, weights).named("codes", table(codes)?).named("code", code);
        let (palette, pixels, error) = self.paint.run(inputs)?.try_into()?;
        Ok(Painted { palette, pixels, error })
    }
}

/// Writes the nearest code of every pixel, by a kernel that [`nearest`] made.
pub fn assign(
    kernel: &Executable,
    pixels: ArrayView<'_>,
    weights: &Weights,
    codes: &[[f32; 3]],
    out: &mut [i64],
) -> Result<(), Error> {
    Ok(kernel.run_into(observations(pixels, weights).named("codes", table(codes)?), out)?)
}

fn observations<'a>(pixels: ArrayView<'a>, weights: &'a Weights) -> Inputs<'a> {
    inputs! { "pixels" => pixels, "centre" => &weights.centre, "scale" => &weights.scale }
}

fn table(codes: &[[f32; 3]]) -> Result<ArrayView<'_>, Error> {
    Ok(ArrayView::new(codes.as_flattened(), &[codes.len(), 3])?)
}

/// Numbers to draw by.
pub fn uniform_numbers() -> impl Iterator<Item = f32> {
    common::uniform_numbers(0x5eed)
}
