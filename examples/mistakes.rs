//! A gallery of mistakes, and what Broadloom says about them: while an expression is written, when arrays are
//! passed, and when a kernel meets data that have no result.
//!
//! ```text
//! cargo run --example mistakes
//! ```
#![allow(clippy::print_stdout, reason = "the gallery is printed")]

use broadloom::prelude::*;
use broadloom::{CallError, Diagnostics, Dim};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("PART 1. While the expression is written: nothing has run, most sizes are not known yet.");
    broadcasting();
    symbols();
    views();
    reductions();
    dtypes();
    bookkeeping();
    println!("\nPART 2. When arrays are passed: sizes are known now, and checked before anything runs.");
    arrays()?;
    println!("\nPART 3. While a kernel runs: what only the data can tell.");
    data()
}

/// Prints the mistakes of one graph.
fn show(about: &str, write: impl FnOnce(&Graph)) {
    let graph = Graph::new();
    write(&graph);
    explain(about, graph.check());
}

fn explain<T>(about: &str, result: Result<T, Diagnostics>) {
    println!("\n--- {about}");
    match result {
        Ok(_) => println!("no mistake"),
        Err(diagnostics) => println!("{diagnostics:#}"),
    }
}

fn broadcasting() {
    show("Sizes are compared from the last axis; every axis that clashes is marked.", |g| {
        let x = g.input::<f32>("x", shape![5, 2, 4, 1]);
        let y = g.input::<f32>("y", shape![3, 1, 1]);
        let _ = x + y;
    });
    show("The classic slip: one value per row needs an axis of its own.", |g| {
        let table = g.input::<f32>("table", shape![4, 3]);
        let offsets = g.input::<f32>("offsets", shape![4]);
        let _ = table - offsets;
    });
    show("A transposed operand.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n, 64]);
        let w = g.input::<f32>("w", shape![64, n]);
        let _ = x * w;
    });
    show("Names of sizes are hints, too.", |g| {
        let [class, students, scores] = g.symbols(["class", "students", "scores"]);
        let marks = g.input::<f32>("marks", shape![class, students, scores]);
        let bonus = g.input::<f32>("bonus", shape![students]);
        let _ = marks + bonus;
    });
    show("Three operands: a selection.", |g| {
        let x = g.input::<f32>("x", shape![8, 3]);
        let y = g.input::<f32>("y", shape![8, 4]);
        let _ = select(x.gt(0), x, y);
    });
}

fn symbols() {
    show("Two symbols may be equal, but nobody said so.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let q = g.input::<f32>("q", shape![n, 64]);
        let k = g.input::<f32>("k", shape![64, m]);
        let _ = q * k.t();
    });
    show("A symbol is not a number, even if it will be that number at run time.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        let y = g.input::<f32>("y", shape![5]);
        let _ = x + y;
    });
    show("These two are never equal, whatever n is.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n + 1]);
        let y = g.input::<f32>("y", shape![n]);
        let _ = x - y;
    });
    show("Even is not odd.", |g| {
        let x = g.input::<f32>("x", shape![2 * g.symbol("n")]);
        let y = g.input::<f32>("y", shape![5]);
        let _ = x.maximum(y);
    });
    let g = Graph::new();
    let [n, copies] = g.symbols(["n", "copies"]);
    let repeated = g.input::<f32>("x", shape![n, 1]).broadcast_to(shape![n, copies]);
    explain("A size that no input has cannot be found out when the kernel is called.", repeated.finish());
}

fn views() {
    show("Only the constant 1 stretches.", |g| {
        let n = g.symbol("n");
        let _ = g.input::<f32>("x", shape![n, 3]).broadcast_to(shape![n, 6]);
    });
    show("A reshape keeps the number of elements.", |g| {
        let _ = g.input::<f32>("x", shape![4, 6]).reshape([5, 5]);
    });
    show("The size that follows from the others must follow for every n.", |g| {
        let _ = g.input::<f32>("x", shape![g.symbol("n"), 6]).reshape([-1, 4]);
    });
    show("Two sizes cannot both follow from the others.", |g| {
        let _ = g.input::<f32>("x", shape![4, 6]).reshape([-1, -1]);
    });
    show("An axis is removed only if its size is the constant 1.", |g| {
        let _ = g.input::<f32>("x", shape![g.symbol("n"), 3]).squeeze(0);
    });
    show("Slices are strict: what is asked for must be there.", |g| {
        let _ = g.input::<f32>("x", shape![10, 3]).slice(slice![4..12]);
    });
    show("Nor may a slice end before it starts.", |g| {
        let n = g.symbol("n");
        let _ = g.input::<f32>("x", shape![n]).slice(slice![(Dim::from(n), n - 10)]);
    });
    show("A step of zero goes nowhere.", |g| {
        let _ = g.input::<f32>("x", shape![10]).slice(slice![..;0]);
    });
    show("More indices than axes.", |g| {
        let _ = g.input::<f32>("x", shape![10, 3]).slice(slice![0, 1, 2]);
    });
    show("A permutation names every axis once.", |g| {
        let _ = g.input::<f32>("x", shape![2, 3, 4]).permute_dims([2, 0]);
    });
}

fn reductions() {
    show("There is no such axis.", |g| {
        let _ = g.input::<f32>("x", shape![g.symbol("n"), 3]).sum(2);
    });
    show("One axis, named twice: -1 is 1.", |g| {
        let _ = g.input::<f32>("x", shape![g.symbol("n"), 3]).mean([1, -1]);
    });
    show("Nothing has no greatest element.", |g| {
        let _ = g.input::<f32>("x", shape![g.symbol("n"), 0]).max(1);
    });
}

fn dtypes() {
    show("Bools are not subtracted; `!=` says what is meant.", |g| {
        let x = g.input::<bool>("x", shape![4]);
        let y = g.input::<bool>("y", shape![4]);
        let _ = x - y;
    });
    show("A literal takes the dtype of the tensor beside it, and has to fit.", |g| {
        let _ = g.input::<u8>("x", shape![4]) + 300;
    });
    show("Integers have no negative powers.", |g| {
        let _ = g.input::<i32>("x", shape![4]).pow(-2);
    });
    show("A condition is bool.", |g| {
        let x = g.input::<f32>("x", shape![4]);
        let _ = select(x, x, 0);
    });
    show("Positions are integers.", |g| {
        let table = g.input::<f32>("table", shape![10, 3]);
        let at = g.input::<f32>("at", shape![4]);
        let _ = table.take(at, 0);
    });
}

fn bookkeeping() {
    show("One name, two shapes.", |g| {
        let _ = g.input::<f32>("x", shape![3]);
        let _ = g.input::<f32>("x", shape![4]);
    });
    show("Tensors of two graphs.", |g| {
        let other = Graph::new();
        let x = g.input::<f32>("x", shape![3]);
        let y = other.input::<f32>("y", shape![3]);
        let _ = x + y;
    });
    show("All independent mistakes at once; what depends on one is silent.", |g| {
        let a = g.input::<f32>("a", shape![3]);
        let b = g.input::<f32>("b", shape![4]);
        let wrong = a + b;
        let _ = (wrong * 2).sum(7);
        let _ = b.sum(1);
    });
    let graph = Graph::new();
    let a = graph.input::<f32>("a", shape![3]);
    let b = graph.input::<f32>("b", shape![4]);
    explain("Whoever prefers a `Result` at once asks for it: `a.try_add(b)`.", a.try_add(b));
}

/// Prints why a call has no result.
fn late<T>(about: &str, result: Result<T, CallError>) {
    println!("\n--- {about}");
    match result {
        Ok(_) => println!("no mistake"),
        Err(CallError::Bind(error)) => println!("{error:#}"),
        Err(CallError::Run(error)) => println!("{error}"),
    }
}

fn arrays() -> Result<(), Box<dyn std::error::Error>> {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f32>("x", shape![n, 2]);
    let y = g.input::<f32>("y", shape![n]);
    let kernel = (x * y.unsqueeze(1)).compile()?;
    println!("\n{kernel:?}");

    let (six, three, four) = ([1.0f32; 6], [1.0f32; 3], [1.0f32; 4]);
    let x = ArrayView::new(&six, &[3, 2])?;
    late(
        "One symbol, two sizes: the error says where the first came from.",
        kernel.run(inputs! { "x" => &x, "y" => &four }),
    );
    let wide = ArrayView::new(&six, &[2, 3])?;
    late("A constant size.", kernel.run(inputs! { "x" => wide, "y" => &three }));
    late("A flat array where rows are expected.", kernel.run(inputs! { "x" => &six, "y" => &three }));
    late("Another dtype.", kernel.run(inputs! { "x" => &x, "y" => &[1i64, 2, 3] }));
    late("A missing array.", kernel.run(inputs! { "x" => &x }));
    late("A slip of the pen.", kernel.run(inputs! { "x" => &x, "Y" => &three }));
    late("Too many arrays.", kernel.run((&x, &three, &three)));
    late("A result of another shape.", kernel.run_into((&x, &three), &mut [0.0f32; 4]));
    let mut two = [0.0f32; 2];
    let folded = broadloom::ArrayViewMut::strided(&mut two, 0, &[3, 2], &[0, 1]);
    println!("\n--- A result whose rows are all the same memory is refused before it meets a kernel.");
    println!("{}", folded.map(|_| "no mistake".to_string()).unwrap_or_else(|error| error.to_string()));

    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let difference = (x.slice(slice![1..]) - x.slice(slice![..-1])).compile()?;
    late(
        "A demand that no one could decide when the graph was built.",
        difference.run(inputs! { "x" => &Vec::<f32>::new() }),
    );
    let greatest = x.max(0).compile()?;
    late("Nothing has no greatest element, here too.", greatest.run(inputs! { "x" => &Vec::<f32>::new() }));

    println!("\n--- `eval` speaks of the arrays' own sizes.");
    let result: Result<Vec<f32>, _> = eval((&three, &four), |(a, b)| a + b);
    println!("{}", result.map(|_| "no mistake".to_string()).unwrap_or_else(|error| format!("{error:?}")));
    Ok(())
}

fn data() -> Result<(), Box<dyn std::error::Error>> {
    let g = Graph::new();
    let table = g.input::<f32>("table", shape![g.symbol("rows")]);
    let at = g.input::<i64>("at", shape![g.symbol("n")]);
    let kernel = table.take(at, 0).compile()?;
    late(
        "An index outside of the table; the first one is reported, on any number of threads.",
        kernel.run(inputs! { "table" => &[0.0f32; 4], "at" => &[0i64, -1, 9, 7] }),
    );

    let g = Graph::new();
    let n = g.symbol("n");
    let power = g.input::<i32>("base", shape![n]).pow(g.input::<i32>("exponent", shape![n])).compile()?;
    late(
        "An integer to a negative power.",
        power.run(inputs! { "base" => &[2i32, 3], "exponent" => &[3i32, -1] }),
    );
    Ok(())
}
