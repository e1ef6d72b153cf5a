//! Columns of very different scales made comparable, `(x - x.mean(0)) / x.std(0)`, and how they go together: the
//! correlation of every two, a sum of products by broadcasting, drawn as a heat map.
//!
//! ```text
//! cargo run --release --example standardised_columns
//! cargo run --release --example standardised_columns -- --csv table.csv
//! ```
#![allow(clippy::print_stdout, reason = "a program talks to whoever runs it")]

#[path = "../common/mod.rs"]
mod common;
mod heat_map;
mod table;

use broadloom::prelude::*;
use common::Error;
use common::args::{Choice, Command, Given};
use common::report::{self, grouped, line};
use std::process::ExitCode;
use table::Table;

const COMMAND: Command = Command {
    name: "standardised_columns",
    about: "Standardises the columns of a table, and draws how they are correlated.",
    options: &[Choice(
        "--csv",
        "PATH",
        "a table of numbers with a header; without it, one of weather is made",
    )],
    output: "where to write correlation.png",
};

fn main() -> ExitCode {
    COMMAND.run(run)
}

/// Every column with mean 0 and deviation 1: `f64[n, d]`.
fn standardise(x: Tensor) -> Tensor {
    (x - x.mean(0)) / x.std(0)
}

/// The correlation of every two of some standardised columns: `f64[d, d]`. The `n * d * d` products are never stored.
fn correlation(z: Tensor) -> Tensor {
    (z.unsqueeze(2) * z.unsqueeze(1)).mean(0)
}

struct Kernels {
    standardise: Executable,
    moments: Executable,
    correlation: Executable,
}

impl Kernels {
    fn compile() -> Result<Kernels, Error> {
        let g = Graph::new();
        let [n, d] = g.symbols(["n", "d"]);
        let x = g.input::<f64>("x", shape![n, d]);
        Ok(Kernels {
            standardise: standardise(x).compile()?,
            moments: g.compile([("mean", x.mean(0)), ("deviation", x.std(0))])?,
            correlation: correlation(x).compile()?,
        })
    }
}

fn run(given: &Given) -> Result<(), Error> {
    let path = given.path("--csv");
    let table = path.map_or_else(|| Ok(table::weather()), Table::read)?;
    let directory = given.output()?;
    let source = path.map_or("a made table of weather".to_string(), |path| path.display().to_string());
    let (n, d) = (table.rows(), table.columns());
    println!("standardised_columns: {source}, {} rows of {d} columns", grouped(n));

    let kernels = Kernels::compile()?;
    line("standardised", "(x - x.mean(0)) / x.std(0)");
    report::compiled(&kernels.standardise);
    let mut standardised = vec![0.0f64; n * d];
    let time = report::shortest(|| {
        let out = ArrayViewMut::new(&mut standardised, &[n, d])?;
        Ok(kernels.standardise.run_into(table.view()?, out)?)
    })?;
    report::speed(&report::broadloom(), time, n * d, "numbers");
    let (time, plain) = report::once(|| plain_standardise(&table));
    report::speed("plain Rust", time, n * d, "numbers");
    line(
        "check",
        format!("within {:.1e} of the plain loop", report::largest_difference(&standardised, &plain)),
    );

    println!();
    line("correlation", "(z.unsqueeze(2) * z.unsqueeze(1)).mean(0), where z is standardised");
    report::compiled(&kernels.correlation);
    let z = ArrayView::new(&standardised, &[n, d])?;
    let mut correlation = vec![0.0f64; d * d];
    let time = report::shortest(|| {
        let out = ArrayViewMut::new(&mut correlation, &[d, d])?;
        Ok(kernels.correlation.run_into(&z, out)?)
    })?;
    report::speed(&report::broadloom(), time, n * d * d, "products");
    let (time, plain) = report::once(|| plain_correlation(&standardised, d));
    report::speed("plain Rust", time, n * d * d, "products");
    line(
        "check",
        format!("within {:.1e} of the plain loop", report::largest_difference(&correlation, &plain)),
    );

    let before: (Vec<f64>, Vec<f64>) = kernels.moments.run(table.view()?)?.try_into()?;
    let after: (Vec<f64>, Vec<f64>) = kernels.moments.run(&z)?.try_into()?;
    println!();
    println!("  {:12} {:>14} {:>14} {:>12} {:>12}", "column", "mean", "deviation", "mean after", "deviation");
    for (column, name) in table.names.iter().enumerate() {
        let (mean, deviation) = (before.0[column], before.1[column]);
        let (mean_after, deviation_after) = (after.0[column], after.1[column]);
        println!("  {name:12} {mean:>14.4} {deviation:>14.4} {mean_after:>12.1e} {deviation_after:>12.9}");
    }
    println!();
    report::wrote(&heat_map::draw(&table.names, &correlation), directory, "correlation.png")
}

/// The standardised columns by loops in plain Rust.
fn plain_standardise(table: &Table) -> Vec<f64> {
    let (n, d) = (table.rows(), table.columns());
    let (mut mean, mut deviation) = (vec![0.0; d], vec![0.0; d]);
    for row in table.numbers.chunks(d) {
        mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / n as f64);
    }
    for row in table.numbers.chunks(d) {
        for column in 0..d {
            deviation[column] += (row[column] - mean[column]).powi(2) / n as f64;
        }
    }
    deviation.iter_mut().for_each(|variance| *variance = variance.sqrt());
    let rows = table.numbers.chunks(d);
    rows.flat_map(|row| (0..d).map(|column| (row[column] - mean[column]) / deviation[column])).collect()
}

/// The correlations by loops in plain Rust.
fn plain_correlation(standardised: &[f64], d: usize) -> Vec<f64> {
    let mut correlation = vec![0.0; d * d];
    for row in standardised.chunks(d) {
        for i in 0..d {
            for j in 0..d {
                correlation[i * d + j] += row[i] * row[j];
            }
        }
    }
    let n = (standardised.len() / d) as f64;
    correlation.iter_mut().for_each(|sum| *sum /= n);
    correlation
}
