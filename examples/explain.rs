//! From an expression to machine code: the graph, the loops, Cranelift's intermediate representation, and the
//! assembly of one small kernel, with what to look for in each.
//!
//! ```text
//! cargo run --release --example explain
//! ```
#![allow(clippy::print_stdout, reason = "the stages are printed")]

use broadloom::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let weight = g.input::<f32>("weight", shape![n]);
    let x = g.input::<f32>("x", shape![m]);
    let scaled = weight.sqrt().unsqueeze(1) * x - 1;

    let kernel = scaled.compile()?;
    let explanation = kernel.explain();

    println!("THE EXPRESSION   sqrt(weight)[:, None] * x - 1");
    println!("{kernel:?}\n");

    println!(
        "THE GRAPH        every expression with its dtype and its shape in symbols; nothing is computed yet.\n"
    );
    println!("{}", explanation.graph());

    println!(
        "THE LOOPS        one nest for the whole expression. The square root depends on n alone, so it stands in"
    );
    println!(
        "                 the loop over n and is taken n times, not n * m times. The loop over m computes several"
    );
    println!("                 neighbours at once; nothing is stored but the result.\n");
    println!("{explanation}");

    let clif = explanation.clif()?;
    println!(
        "CRANELIFT'S IR   what the compiler is given: {} lines, of which the first are",
        clif.lines().count()
    );
    println!("                 arguments and the loop over n. `f32x4` are vectors.\n");
    excerpt(&clif, 48);

    let assembly = explanation.disassembly()?;
    println!(
        "\nTHE ASSEMBLY     {} lines; the inner loop multiplies, subtracts and stores.\n",
        assembly.lines().count()
    );
    excerpt(&assembly, 60);

    println!("\nWHAT A PROGRAM CAN ASK");
    println!("  kernels                        {}", explanation.kernels());
    println!("  bytes stored between kernels   {}", explanation.materialized_bytes());
    println!("  vectors along m                {}", explanation.vectorized("m"));
    println!("  functions called per element   {:?}", explanation.scalar_calls());
    println!("  milliseconds to compile        {:.2}", explanation.compile_time().as_secs_f64() * 1e3);

    let table: Vec<f32> =
        kernel.run(inputs! { "weight" => &[4.0f32, 9.0], "x" => &[1.0f32, 2.0, 3.0] })?.try_into()?;
    println!("\nAND IT RUNS      weight [4, 9], x [1, 2, 3]  ->  {table:?}");
    Ok(())
}

/// Prints the first lines.
fn excerpt(text: &str, most: usize) {
    text.lines().take(most).for_each(|line| println!("{line}"));
    let more = text.lines().count().saturating_sub(most);
    if more > 0 {
        println!("... and {more} more lines");
    }
}
