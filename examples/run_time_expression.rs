//! Expressions that arrive as texts: read, checked, compiled and run; and what is said of those that are wrong.
//!
//! ```text
//! cargo run --release --example run_time_expression
//! cargo run --release --example run_time_expression -- 'sqrt(mean((x - x.mean(axis=0)) ** 2, axis=0))'
//! ```
//!
//! An expression may use `x`, of five rows and three columns, and `w`, of three elements; the number of rows is a symbol.
#![allow(clippy::print_stdout, reason = "a program that prints what it computes")]

use broadloom::prelude::*;
use broadloom_text::Program;

/// The inputs of the expressions.
const DECLARATIONS: &str = "symbols n\ninput x: f32[n, 3]\ninput w: f32[3]\noutput result = ";

const EXPRESSIONS: [&str; 8] = [
    "sum(x * w, axis=-1)",
    "(x - x.mean(axis=0)) / x.std(axis=0)",
    "argmin(sum((x[:, None, :] - x[None, :3, :]) ** 2, axis=-1), axis=1)",
    "np.where(x > w, x, -x)[::2, ::-1]",
    // Not these.
    "x + x.sum(axis=1)",
    "x.sun(axis=1)",
    "0 < x < 1",
    "x @ w",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let expressions: Vec<&str> = match given.as_slice() {
        [] => EXPRESSIONS.to_vec(),
        given => given.iter().map(String::as_str).collect(),
    };
    let x: Vec<f32> = (0..15).map(|at| ((at * 7) % 11) as f32).collect();
    let x = ArrayView::new(&x, &[5, 3])?;
    for expression in expressions {
        println!("\n{expression}");
        let program = format!("{DECLARATIONS}{expression}");
        let graph = match Program::parse("expression", &program).and_then(|program| program.resolve()) {
            Ok(graph) => graph,
            Err(mistakes) => {
                println!("{mistakes:#}");
                continue;
            }
        };
        print!("  {}", broadloom_text::signature(&graph));
        let kernel = Executable::compile(&graph, &CompileOptions::default())?;
        // Inputs that an expression does not use need not be passed.
        let mut inputs = broadloom::Inputs::new();
        for info in kernel.inputs() {
            inputs = match info.name.as_str() {
                "x" => inputs.named("x", &x),
                _ => inputs.named("w", &[1.0_f32, 10.0, 2.0]),
            };
        }
        for (_, array) in kernel.run(inputs)?.iter() {
            match (array.as_slice::<f32>(), array.as_slice::<i64>()) {
                (Some(elements), _) => println!("  {:?} {elements:.2?}", array.shape()),
                (_, Some(elements)) => println!("  {:?} {elements:?}", array.shape()),
                (None, None) => println!("  {array:?}"),
            }
        }
    }
    Ok(())
}
