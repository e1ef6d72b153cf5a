//! The Mandelbrot set: `z = z * z + c` for every point of a grid, in one kernel.

use crate::common::picture::Picture;
use crate::common::report::{self, grouped, line};
use crate::common::{Error, palette};
use broadloom::prelude::*;
use std::path::Path;

const WIDTH: usize = 1600;
const HEIGHT: usize = 1200;
/// Steps, all of them written out in the kernel.
const STEPS: usize = 100;
/// A point is out when the square of its distance from 0 is larger. Larger than the 4 that would do: the colours, which
/// tell how far out it was, are smoother.
const ESCAPE: f32 = 256.0;
/// Colours from points that leave at once to those that stay longest.
const COLORS: usize = 1024;
const STOPS: [[u8; 3]; 8] = [
    [6, 10, 48],
    [18, 52, 130],
    [52, 126, 196],
    [190, 228, 240],
    [254, 244, 200],
    [250, 176, 50],
    [170, 58, 20],
    [40, 8, 30],
];

/// The part of the plane that is seen.
#[derive(Clone, Copy)]
pub struct View {
    pub x: f32,
    pub y: f32,
    pub width: f32,
}

impl View {
    /// The point at the left of the top, and from pixel to pixel.
    fn corner(self) -> ([f32; 2], f32) {
        let step = self.width / WIDTH as f32;
        ([self.x - step * (WIDTH as f32 / 2.0), self.y - step * (HEIGHT as f32 / 2.0)], step)
    }
}

struct Kernels {
    /// The picture, `u8[HEIGHT, WIDTH, 3]`.
    picture: Executable,
    /// To check it: after how many steps every point is out (`f32[HEIGHT, WIDTH]`), `STEPS` if never.
    count: Executable,
}

fn compile() -> Result<Kernels, Error> {
    let g = Graph::new();
    let [left, top, step] = ["left", "top", "step"].map(|name| g.input::<f32>(name, shape![]));
    let colors = g.input::<u8>("colors", shape![COLORS, 3]);

    // A row and a column that meet by broadcasting.
    let cx = g.iota(WIDTH).cast::<f32>() * step + left;
    let cy = g.iota(HEIGHT).cast::<f32>().unsqueeze(1) * step + top;
    let (mut x, mut y) = (cx, cy);
    let mut count = g.constant(0.0f32);
    for _ in 0..STEPS {
        let (xx, yy) = (x * x, y * y);
        let is_in = (xx + yy).le(ESCAPE);
        count = select(is_in, count + 1, count);
        // A point that is out stays where it is.
        y = select(is_in, 2 * x * y + cy, y);
        x = select(is_in, xx - yy + cx, x);
    }

    // The fraction of a step by how far beyond the border the last one led.
    let beyond = (x * x + y * y).log() / ESCAPE.ln();
    let smooth = count - beyond.maximum(1).log() / std::f32::consts::LN_2;
    let place = (smooth - 1).maximum(1).log() * ((COLORS - 1) as f32 / (STEPS as f32).ln());
    let color = colors.take(place.cast::<i64>(), 0);
    let picture = select(count.eq(STEPS).unsqueeze(2), 0, color);
    Ok(Kernels { picture: picture.compile()?, count: count.compile()? })
}

pub fn run(view: View, directory: &Path) -> Result<(), Error> {
    println!("Mandelbrot set, {WIDTH} x {HEIGHT} points, {STEPS} steps");
    line("each step", "x, y = x * x - y * y + cx, 2 * x * y + cy, where x * x + y * y <= 256");
    let kernels = compile()?;
    report::compiled(&kernels.picture);

    let ([left, top], step) = view.corner();
    let corner = || inputs! { "left" => left, "top" => top, "step" => step };
    let colors = palette::ramp(&STOPS, COLORS);
    let mut picture = Picture::new(WIDTH, HEIGHT, [0; 3]);
    let time = report::shortest(|| {
        let inputs = corner().named("colors", ArrayView::new(&colors, &[COLORS, 3])?);
        Ok(kernels.picture.run_into(inputs, picture.rows_mut()?)?)
    })?;
    report::speed(&report::broadloom(), time, picture.count(), "pixels");
    let (time, plain) = report::once(|| plain(view));
    report::speed("plain Rust, no colours", time, picture.count(), "pixels");
    line("", "(the plain loop leaves a point that is out; the kernel does all steps for all points)");
    let count: Vec<f32> = kernels.count.run(corner())?.try_into()?;
    let differ = count.iter().zip(&plain).filter(|(a, b)| a != b).count();
    line(
        "check",
        format!("{} of {} counts differ from the plain loop's", grouped(differ), grouped(count.len())),
    );

    report::wrote(&picture, directory, "mandelbrot.png")
}

/// The counts by a loop in plain Rust, which can stop when a point is out.
fn plain(view: View) -> Vec<f32> {
    let ([left, top], step) = view.corner();
    let point = |index: usize| {
        let (cx, cy) = ((index % WIDTH) as f32 * step + left, (index / WIDTH) as f32 * step + top);
        let (mut x, mut y, mut count) = (cx, cy, 0);
        while count < STEPS && x * x + y * y <= ESCAPE {
            (x, y, count) = (x * x - y * y + cx, 2.0 * x * y + cy, count + 1);
        }
        count as f32
    };
    (0..WIDTH * HEIGHT).map(point).collect()
}
