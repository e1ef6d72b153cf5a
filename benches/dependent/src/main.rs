//! Times of a program that depends on Broadloom, for the table of the guide's chapter on performance:
//!
//! ```text
//! cargo run --manifest-path benches/dependent/Cargo.toml
//! cargo run --manifest-path benches/dependent/Cargo.toml --release
//! ```
//!
//! Options of Cargo stand for lines in its Cargo.toml, such as `--config 'profile.dev.package."*".debug=false'`.

use broadloom::prelude::*;
use broadloom::{CpuLevel, Threads};
use std::error::Error;
use std::time::{Duration, Instant};

/// Elements of the arrays.
const COUNT: usize = 1 << 20;

/// An expression of one array.
type Expression = fn(Tensor) -> Tensor;

fn main() -> Result<(), Box<dyn Error>> {
    let rows: [(&str, Expression); 4] = [
        ("x * 2.5 + 1", |x| x * 2.5 + 1),
        ("sin(x)", |x| x.sin()),
        ("exp(-x * x)", |x| (-x * x).exp()),
        ("x ** 1.7", |x| x.pow(1.7)),
    ];
    for (name, expression) in rows {
        println!("{name}: {:?}", run(&kernel(expression, None)?, COUNT)?);
    }
    let baseline = kernel(|x| x.sin(), Some(CpuLevel::Baseline))?;
    println!("sin(x) without AVX2: {:?}", run(&baseline, COUNT)?);
    println!("compiling sin(x): {:?}", median(|| kernel(|x| x.sin(), None).map(drop))?);
    println!("run_into of 8 elements: {:?}", run(&kernel(|x| x * 2.5 + 1, None)?, 8)?);
    Ok(())
}

fn kernel(expression: Expression, level: Option<CpuLevel>) -> Result<Executable, Box<dyn Error>> {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let options = CompileOptions { threads: Threads::Calling, level, ..CompileOptions::default() };
    Ok(expression(x).compile_with(&options)?)
}

/// Returns the time of a call on `count` elements.
fn run(kernel: &Executable, count: usize) -> Result<Duration, Box<dyn Error>> {
    let x: Vec<f32> = (0..count).map(|index| index as f32 / count as f32).collect();
    let mut y = vec![0.0f32; count];
    median(|| Ok(kernel.run_into(&x, &mut y)?))
}

/// The median of single calls over half a second, but of ten at least.
fn median(mut action: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 10 || start.elapsed() < Duration::from_millis(500) {
        let before = Instant::now();
        action()?;
        times.push(before.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}
