//! Colour quantization by k-means, every step of which is a broadcasting expression over any number of pixels `n`
//! and of colours `k`. Pixels stay the three bytes they are; kernels convert and weigh them on the fly.

use crate::Error;
use broadloom::prelude::*;
use broadloom::{CallError, Threads};

/// How channels are made to count: `(pixel - centre) * scale`.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    pub centre: [f32; 3],
    pub scale: [f32; 3],
}

impl Weights {
    /// Channels as they are.
    pub const EQUAL: Weights = Weights { centre: [0.0; 3], scale: [1.0; 3] };

    /// One channel of a pixel, in plain Rust.
    pub fn apply(&self, value: u8, channel: usize) -> f32 {
        (f32::from(value) - self.centre[channel]) * self.scale[channel]
    }
}

/// The compiled steps.
pub struct Kernels {
    pub sample: Executable,
    pub moments: Executable,
    pub seed: Executable,
    pub nearest: Executable,
    pub update: Executable,
    pub paint: Executable,
}

/// What an update of the codes gives.
pub struct Update {
    pub codes: Vec<[f32; 3]>,
    /// Mean distance of pixels from their codes before the update.
    pub error: f32,
}

/// Names of steps beside their kernels.
impl Kernels {
    /// Compiles all steps.
    pub fn compile() -> Result<Kernels, Error> {
        Ok(Kernels {
            sample: sample()?,
            moments: moments()?,
            seed: seed()?,
            nearest: nearest(Threads::default())?,
            update: update()?,
            paint: paint()?,
        })
    }

    /// Names and kernels.
    pub fn list(&self) -> [(&'static str, &Executable); 6] {
        [
            ("nearest code", &self.nearest),
            ("update of codes", &self.update),
            ("first codes", &self.seed),
            ("sample", &self.sample),
            ("mean and deviation", &self.moments),
            ("painting", &self.paint),
        ]
    }
}

/// What most steps work on.
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
    Ok(pixels.graph.compile_with([("code", code)], &CompileOptions { threads, ..CompileOptions::default() })?)
}

/// The mean of the pixels of each code; a code without pixels stays what it is. Also the mean distance to the codes.
fn update() -> Result<Executable, Error> {
    let pixels = Pixels::new();
    let (codes, code) = (pixels.codes(), pixels.code());
    let belongs = code.unsqueeze(1).eq(pixels.graph.iota(pixels.k)); // bool[n, k]
    let counts = belongs.sum(0).cast::<f32>().unsqueeze(1);
    let sums = select(belongs.unsqueeze(2), pixels.observations.unsqueeze(1), 0).sum(0); // of [n, k, 3]
    let means = select(counts.gt(0), sums / counts, codes);
    let error = (pixels.observations - codes.take(code, 0)).square().sum(-1).sqrt().mean(0);
    Ok(pixels.graph.compile([("codes", means), ("error", error)])?)
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
    let mean = pixels.mean(0);
    let deviation = (pixels - mean).square().mean(0).sqrt();
    Ok(g.compile([("mean", mean), ("deviation", deviation)])?)
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

/// Observations of the kernels: pixels and how their channels count.
#[derive(Clone)]
pub struct Observations<'a> {
    pub pixels: ArrayView<'a>,
    pub weights: &'a Weights,
}

impl<'a> Observations<'a> {
    fn inputs(&self) -> broadloom::Inputs<'a> {
        inputs! { "pixels" => &self.pixels, "centre" => &self.weights.centre, "scale" => &self.weights.scale }
    }

    /// Writes the nearest code of every pixel.
    pub fn nearest(&self, kernel: &Executable, codes: &[[f32; 3]], out: &mut [i64]) -> Result<(), CallError> {
        let codes = table(codes);
        kernel.run_into(self.inputs().named("codes", codes), out)
    }
}
