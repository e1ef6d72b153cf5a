//! Which of some seeds is nearest to every point of the plane, by three distances: all n x k of them by broadcasting,
//! none of them stored. Drawn as Voronoi diagrams.
//!
//! ```text
//! cargo run --release --example pairwise_distances
//! cargo run --release --example pairwise_distances -- --seeds 60
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

mod common;

use broadloom::Inputs;
use broadloom::prelude::*;
use common::args::{Choice, Command, Given};
use common::picture::{Picture, beside};
use common::report::{self, grouped, line};
use common::{Error, middles_of_pixels, uniform_numbers};
use std::process::ExitCode;

/// Points along a side of each diagram. The plane goes from -1 to 1.
const SIDE: usize = 560;

const COMMAND: Command = Command {
    name: "pairwise_distances",
    about: "Nearest and second nearest of some seeds for every point of the plane, by three distances.",
    options: &[Choice("--seeds", "K", "how many seeds, 2 or more [default: 24]")],
    output: "where to write voronoi.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// A distance of every point from every seed, `f32[n, k]`, from `f32[n, 1, 2]` and `f32[k, 2]`.
type Distance = fn(Tensor, Tensor) -> Tensor;
/// The distance of two points in plain Rust.
type PlainDistance = fn([f32; 2], [f32; 2]) -> f32;

/// The distances, with their expressions.
const DISTANCES: [(&str, &str, Distance, PlainDistance); 3] = [
    (
        "euclidean",
        "(p - s).square().sum(-1).sqrt()",
        |p, s| (p - s).square().sum(-1).sqrt(),
        |p, s| ((p[0] - s[0]).powi(2) + (p[1] - s[1]).powi(2)).sqrt(),
    ),
    (
        "city block",
        "(p - s).abs().sum(-1)",
        |p, s| (p - s).abs().sum(-1),
        |p, s| (p[0] - s[0]).abs() + (p[1] - s[1]).abs(),
    ),
    (
        "cosine",
        "1 - (p * s).sum(-1) / (p.norm(Norm::Two, -1) * s.norm(Norm::Two, -1))",
        |p, s| 1 - (p * s).sum(-1) / (p.norm(Norm::Two, -1) * s.norm(Norm::Two, -1)),
        |p, s| {
            let norm = |[x, y]: [f32; 2]| (x * x + y * y).sqrt();
            1.0 - (p[0] * s[0] + p[1] * s[1]) / (norm(p) * norm(s))
        },
    ),
];

/// The nearest seed of every point, how far it is, and how far the second nearest.
fn nearest(distance: Distance) -> Result<Executable, Error> {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let points = g.input::<f32>("points", shape![n, 2]);
    let seeds = g.input::<f32>("seeds", shape![k, 2]);
    let distances = distance(points.unsqueeze(1), seeds); // [n, k], never stored
    let (nearest, least) = distances.argmin_with_value(1);
    let others = select(g.iota(k).eq(nearest.unsqueeze(1)), f32::INFINITY, distances);
    Ok(g.compile([("nearest", nearest), ("least", least), ("second", others.min(1))])?)
}

/// A diagram, `u8[side, side, 3]`: a colour per seed, darker with the distance, white where two are equally far.
fn diagram() -> Result<Executable, Error> {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let nearest = g.input::<i64>("nearest", shape![n]);
    let [least, second] = ["least", "second"].map(|name| g.input::<f32>(name, shape![n]));
    let points = g.input::<f32>("points", shape![n, 2]);
    let seeds = g.input::<f32>("seeds", shape![k, 2]);
    let colors = g.input::<f32>("colors", shape![k, 3]);

    let shade = 1 - 0.55 * least / least.max(0);
    let color = colors.take(nearest, 0) * shade.unsqueeze(1);
    let is_border = (second - least).lt((second + least) * 0.01).unsqueeze(1);
    let is_seed = (points.unsqueeze(1) - seeds).square().sum(-1).min(1).lt(0.012f32.powi(2)).unsqueeze(1);
    let shown = select(is_seed, 20, select(is_border, 250, color));
    Ok(shown.round().cast::<u8>().compile()?)
}

fn run(given: &Given) -> Result<(), Error> {
    let k = given.number("--seeds", 2..=10_000, 24)?;
    let directory = given.output()?;
    let points = middles_of_pixels(SIDE);
    let seeds = scattered(k);
    let colors = colors(k);
    let n = points.len() / 2;
    let pairs = n * k;
    println!("pairwise_distances: {} points, {k} seeds, {} pairs", grouped(n), grouped(pairs));

    let diagram = diagram()?;
    let mut parts = Vec::new();
    for (name, expression, distance, plain) in DISTANCES {
        println!();
        line(name, expression);
        let kernel = nearest(distance)?;
        report::compiled(&kernel);
        let mut found = (vec![0i64; n], vec![0.0f32; n], vec![0.0f32; n]);
        let time = report::shortest(|| {
            Ok(kernel.run_into(positions(&points, &seeds)?, (&mut found.0, &mut found.1, &mut found.2))?)
        })?;
        report::speed(&report::broadloom(), time, pairs, "pairs");
        let (time, by_loops) = report::once(|| nearest_by_loops(&points, &seeds, plain));
        report::speed("plain Rust", time, pairs, "pairs");
        check(&found, &by_loops);

        let inputs = positions(&points, &seeds)?
            .named("nearest", &found.0)
            .named("least", &found.1)
            .named("second", &found.2)
            .named("colors", ArrayView::new(&colors, &[k, 3])?);
        let pixels: Vec<u8> = diagram.run(inputs)?.try_into()?;
        parts.push((name, Picture { width: SIDE, height: SIDE, pixels }));
    }
    println!();
    let parts: Vec<(&str, &Picture)> = parts.iter().map(|(name, part)| (*name, part)).collect();
    report::wrote(&beside(&parts), directory, "voronoi.png")
}

fn positions<'a>(points: &'a [f32], seeds: &'a [f32]) -> Result<Inputs<'a>, Error> {
    Ok(inputs! {
        "points" => ArrayView::new(points, &[points.len() / 2, 2])?,
        "seeds" => ArrayView::new(seeds, &[seeds.len() / 2, 2])?,
    })
}

type Nearest = (Vec<i64>, Vec<f32>, Vec<f32>);

/// Nearest seeds, distances and second distances by loops.
fn nearest_by_loops(points: &[f32], seeds: &[f32], distance: PlainDistance) -> Nearest {
    let mut found = Nearest::default();
    for point in points.as_chunks::<2>().0 {
        let (mut nearest, mut least, mut second) = (0, f32::INFINITY, f32::INFINITY);
        for (index, seed) in seeds.as_chunks::<2>().0.iter().enumerate() {
            let distance = distance(*point, *seed);
            if distance < least {
                (nearest, least, second) = (index as i64, distance, least);
            } else {
                second = second.min(distance);
            }
        }
        found.0.push(nearest);
        found.1.push(least);
        found.2.push(second);
    }
    found
}

/// Says how far the kernel is from the loops: seeds may differ where two are equally far but for rounding.
fn check(found: &Nearest, by_loops: &Nearest) {
    let others = found.0.iter().zip(&by_loops.0).filter(|(a, b)| a != b).count();
    let difference = report::largest_difference;
    let (least, second) = (difference(&found.1, &by_loops.1), difference(&found.2, &by_loops.2));
    let count = grouped(found.0.len());
    line("check", format!("{others} of {count} points have another nearest seed than by the plain loop"));
    line("", format!("distances are within {least:.1e}, second ones within {second:.1e}"));
}

/// Seeds in the plane, each the one of some random candidates that is farthest from those before.
fn scattered(count: usize) -> Vec<f32> {
    let mut numbers = uniform_numbers(0xd157).map(|x| 1.9 * x - 0.95);
    let mut seeds: Vec<[f32; 2]> = Vec::new();
    while seeds.len() < count {
        let room = |[x, y]: [f32; 2]| {
            let to_others = seeds.iter().map(|seed| (seed[0] - x).hypot(seed[1] - y));
            // Near the middle, where all angles meet, cosines say nothing.
            to_others.fold(x.hypot(y), f32::min)
        };
        let mut best = [1.0, 1.0];
        let mut most = -1.0;
        for _ in 0..8 {
            let candidate = std::array::from_fn(|_| numbers.next().unwrap_or(0.5));
            if room(candidate) > most {
                (best, most) = (candidate, room(candidate));
            }
        }
        seeds.push(best);
    }
    seeds.concat()
}

/// Colours of hues around the circle, neighbours in the list far apart on it.
fn colors(count: usize) -> Vec<f32> {
    let color = |index: usize| {
        let hue = index as f32 * 0.618_034 * std::f32::consts::TAU;
        let channel = |c: usize| 165.0 + 75.0 * (hue + c as f32 * 2.094).cos();
        std::array::from_fn::<f32, 3, _>(channel)
    };
    (0..count).flat_map(color).collect()
}
