//! To which of three classes a point of the plane belongs, by the votes of the `k` points nearest to it of those that are
//! known: the regions of all pixels, by one neighbour beside those by many.
//!
//! ```text
//! cargo run --release --example nearest_neighbours
//! cargo run --release --example nearest_neighbours -- --points 5000 --neighbours 40
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::Inputs;
use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::picture::{Picture, beside};
use common::report::{self, grouped, line};
use common::{Error, middles_of_pixels, uniform_numbers};
use std::f32::consts::TAU;
use std::process::ExitCode;

/// Pixels along a side of a map. The plane goes from -1 to 1.
const SIDE: usize = 400;
/// Two crescents and a cluster between them.
const CLASSES: usize = 3;
/// Points whose classes are asked for, to see how often they are right.
const ASKED: usize = 5_000;
/// Colours of the classes.
const COLORS: [f32; CLASSES * 3] = [222.0, 92.0, 74.0, 64.0, 128.0, 208.0, 236.0, 180.0, 62.0];

const COMMAND: Command = Command {
    name: "nearest_neighbours",
    about: "Classes of points by the votes of their nearest neighbours, and the regions that they make.",
    options: &[
        Choice("--points", "M", "how many points are known [default: 1000]"),
        Choice("--neighbours", "K", "how many of them vote, 2 to 64 [default: 15]"),
    ],
    output: "where to write regions.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// The class of each of `points`, `f32[n, 2]`, and the share of the votes that it has.
fn classifier(k: usize) -> Result<Executable, Error> {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let points = g.input::<f32>("points", shape![n, 2]);
    let (known, classes) = (g.input::<f32>("known", shape![m, 2]), g.input::<i64>("classes", shape![m]));

    let squares = (points.unsqueeze(1) - known).square().sum(-1); // [n, m], never stored
    let (_, nearest) = squares.topk_smallest(k, 1);
    let votes = classes.take(nearest, 0).unsqueeze(-1).eq(g.iota(CLASSES)).sum(1); // [n, CLASSES]
    let (class, most) = votes.argmax_with_value(1);
    Ok(g.compile([("class", class), ("share", most.cast::<f32>() / k as f32)])?)
}

/// Pixels, `u8[n, 3]`: the class's colour, paler where fewer voted for it.
fn painter() -> Result<Executable, Error> {
    let g = Graph::new();
    let n = g.symbol("n");
    let (class, share) = (g.input::<i64>("class", shape![n]), g.input::<f32>("share", shape![n]));
    let colors = g.input::<f32>("colors", shape![CLASSES, 3]);
    let color = 250 + (colors.take(class, 0) - 250) * (share.square() * 0.75).unsqueeze(1);
    Ok(color.round().cast::<u8>().compile()?)
}

/// Points, one behind the other, and their classes.
struct Sample {
    points: Vec<f32>,
    classes: Vec<i64>,
}

impl Sample {
    fn inputs<'a>(&'a self, points: &'a [f32]) -> Result<Inputs<'a>, Error> {
        Ok(inputs! {
            "points" => ArrayView::new(points, &[points.len() / 2, 2])?,
            "known" => ArrayView::new(&self.points, &[self.classes.len(), 2])?,
            "classes" => &self.classes,
        })
    }
}

fn run(given: &Given) -> Result<(), Error> {
    let m = given.number("--points", 64..=50_000, 1000)?;
    let k = given.number("--neighbours", 2..=64, 15)?;
    let directory = given.output()?;
    let (known, asked) = (scattered(m, 0x5eed), scattered(ASKED, 0xa5ed));
    let pixels = middles_of_pixels(SIDE);
    let n = SIDE * SIDE;
    println!("nearest_neighbours: {} pixels, {} known points, {k} of them vote", grouped(n), grouped(m));
    line("nearest", "(points.unsqueeze(1) - known).square().sum(-1).topk_smallest(k, 1).1");
    line("votes", "classes.take(nearest, 0).unsqueeze(-1).eq(iota(classes)).sum(1)");
    line("class", "votes.argmax(1)");

    let kernel = classifier(k)?;
    report::compiled(&kernel);
    for stored in kernel.explain().temporaries() {
        line("stored", format!("{}[{}]: {}", stored.dtype, stored.sizes.join(", "), stored.reason));
    }
    let (mut class, mut share) = (vec![0i64; n], vec![0.0f32; n]);
    let time = report::shortest(|| Ok(kernel.run_into(known.inputs(&pixels)?, (&mut class, &mut share))?))?;
    report::speed(&report::broadloom(), time, n * m, "pairs");
    let (time, by_loops) = report::once(|| classified_by_loops(&known, &pixels, k));
    report::speed("plain Rust", time, n * m, "pairs");
    check(&class, &by_loops)?;

    let one = classifier(1)?;
    for (kernel, about) in [(&one, "1 neighbour".to_string()), (&kernel, format!("{k} neighbours"))] {
        let (found, _): (Vec<i64>, Vec<f32>) = kernel.run(known.inputs(&asked.points)?)?.try_into()?;
        let right = found.iter().zip(&asked.classes).filter(|(found, class)| found == class).count();
        let percent = 100.0 * right as f64 / ASKED as f64;
        line(&about, format!("{percent:.1} % of {} other points are told right", grouped(ASKED)));
    }
    let (class_of_one, share_of_one): (Vec<i64>, Vec<f32>) = one.run(known.inputs(&pixels)?)?.try_into()?;
    let left = drawn(&class_of_one, &share_of_one, &known)?;
    let right = drawn(&class, &share, &known)?;
    let several = format!("{k} neighbours");
    let parts = [("1 neighbour", &left), (several.as_str(), &right)];
    report::wrote(&beside(&parts), directory, "regions.png")
}

/// Says how many pixels differ: those where another point is as near but for rounding.
fn check(found: &[i64], by_loops: &[i64]) -> Result<(), Error> {
    let others = found.iter().zip(by_loops).filter(|(found, class)| found != class).count();
    if others * 1000 > found.len() {
        return Err(format!("{others} pixels are of another class than by the plain loop").into());
    }
    line("check", format!("{others} pixels are of another class than by the plain loop"));
    Ok(())
}

fn classified_by_loops(known: &Sample, pixels: &[f32], k: usize) -> Vec<i64> {
    let points = known.points.as_chunks::<2>().0;
    // The nearest so far, in order.
    let mut nearest: Vec<(f32, i64)> = Vec::with_capacity(k + 1);
    let class = |pixel: &[f32; 2]| {
        nearest.clear();
        for (point, class) in points.iter().zip(&known.classes) {
            let square = (pixel[0] - point[0]).powi(2) + (pixel[1] - point[1]).powi(2);
            if nearest.len() < k || square < nearest[k - 1].0 {
                let place = nearest.partition_point(|(other, _)| *other <= square);
                nearest.truncate(k - 1);
                nearest.insert(place, (square, *class));
            }
        }
        let mut votes = [0; CLASSES];
        nearest.iter().for_each(|(_, class)| votes[*class as usize] += 1);
        // The first one of those with most.
        (0..CLASSES).rev().max_by_key(|class| votes[*class]).unwrap_or_default() as i64
    };
    pixels.as_chunks::<2>().0.iter().map(class).collect()
}

/// Two crescents that hold each other, and a cluster in which they end.
fn scattered(count: usize, seed: u64) -> Sample {
    let mut numbers = uniform_numbers(seed);
    let mut number = || numbers.next().unwrap_or(0.5);
    let mut sample = Sample { points: Vec::with_capacity(2 * count), classes: Vec::with_capacity(count) };
    for index in 0..count {
        let class = index % CLASSES;
        let angle = number() * TAU / 2.0;
        let [x, y, spread] = match class {
            0 => [0.5 * angle.cos() - 0.25, 0.15 - 0.5 * angle.sin(), 0.11],
            1 => [0.5 * angle.cos() + 0.25, 0.5 * angle.sin() - 0.15, 0.11],
            _ => [0.5, 0.62, 0.16],
        };
        // Box and Muller's normal numbers.
        let (far, way) = ((-2.0 * number().max(1e-9).ln()).sqrt() * spread, number() * TAU);
        sample.points.extend([x + far * way.cos(), y + far * way.sin()]);
        sample.classes.push(class as i64);
    }
    sample
}

/// The regions, and the points that are known.
fn drawn(class: &[i64], share: &[f32], known: &Sample) -> Result<Picture, Error> {
    let colors = ArrayView::new(&COLORS, &[CLASSES, 3])?;
    let pixels = painter()?.run(inputs! { "class" => class, "share" => share, "colors" => colors })?;
    let mut picture = Picture { width: SIDE, height: SIDE, pixels: pixels.try_into()? };
    for (point, class) in known.points.as_chunks::<2>().0.iter().zip(&known.classes) {
        if point.iter().all(|x| x.abs() < 0.99) {
            let [left, top] = point.map(|x| ((x + 1.0) * 0.5 * SIDE as f32) as usize - 1);
            let color = std::array::from_fn(|c| (COLORS[*class as usize * 3 + c] * 0.7) as u8);
            picture.fill((left, top), (3, 3), color);
        }
    }
    Ok(picture)
}
