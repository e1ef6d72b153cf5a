//! The rules of broadcasting, by the examples of the guides of NumPy, PyTorch and PaddlePaddle: what they accept is
//! computed and shown, what they refuse is explained, and every rule is tried with sizes that are symbols.
//!
//! ```text
//! cargo run --example broadcasting
//! ```
#![allow(clippy::print_stdout, reason = "the walk is printed")]

use broadloom::prelude::*;
use broadloom::{Array, Dim, Shape};

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    println!("Shapes are aligned at their last axes, and a missing axis counts as 1. Two sizes fit if they");
    println!("are equal, or if one is the constant 1, which stretches to the other.\n");
    numpy()?;
    pytorch()?;
    in_place()?;
    paddle()?;
    paddle_axis()?;
    layouts()?;
    corrections()?;
    symbols()
}

fn numpy() -> Result<(), Error> {
    heading("NumPy: an array and a scalar, an image and a scale, tables");
    add(&[3], &[3])?;
    add(&[3], &[])?;
    add(&[256, 256, 3], &[3])?;
    add(&[8, 1, 6, 1], &[7, 1, 5])?;
    add(&[5, 4], &[1])?;
    add(&[5, 4], &[4])?;
    add(&[15, 3, 5], &[15, 1, 5])?;
    add(&[15, 3, 5], &[3, 5])?;
    add(&[15, 3, 5], &[3, 1])?;
    add(&[3], &[4])?;
    add(&[2, 1], &[8, 4, 3])?;

    heading("NumPy: four arrays that all act as if they were [5, 6]");
    let g = Graph::new();
    let input = |name: &str, shape: Shape| g.input::<f32>(name, shape);
    let (a, b) = (input("a", shape![5, 1]), input("b", shape![1, 6]));
    let (c, d) = (input("c", shape![6]), input("d", shape![]));
    println!("  {a} + {b} + {c} + {d}  ->  {}", a + b + c + d);
    for one in [a, b, c, d] {
        println!("  {:9} + f32[5, 6]  ->  {}", one.to_string(), one + input("all", shape![5, 6]));
    }

    heading("NumPy: a row is added to each row; a column needs an axis of its own");
    let table = Array::new((0..12).map(|at| (at / 3 * 10) as f32).collect(), &[4, 3])?;
    let (row, column) = ([1.0f32, 2.0, 3.0], [0.0f32, 10.0, 20.0, 30.0]);
    let sum: Array<f32> = eval((&table, &row), |(table, row)| table + row)?;
    rows("table + row", &sum);
    let outer: Array<f32> = eval((&column, &row), |(column, row)| column.unsqueeze(1) + row)?;
    rows("column.unsqueeze(1) + row", &outer);
    add(&[4, 3], &[4])?;

    heading("NumPy: vector quantization, one observation or many");
    add(&[4, 2], &[2])?;
    add(&[10, 3], &[5, 1, 3])
}

fn pytorch() -> Result<(), Error> {
    heading("PyTorch: same shapes, trailing axes, scalars with an axis");
    add(&[5, 7, 3], &[5, 7, 3])?;
    add(&[5, 3, 4, 1], &[3, 1, 1])?;
    add(&[5, 1, 4, 1], &[3, 1, 1])?;
    add(&[1], &[3, 1, 7])?;
    add(&[0], &[2, 2])?;
    add(&[5, 2, 4, 1], &[3, 1, 1])?;

    heading("PyTorch: as many elements on both sides, yet not element by element");
    add(&[4, 1], &[4])?;
    add(&[4, 1], &[1])?;
    println!("  (before version 0.2 torch added the first two element by element; whoever ports a program");
    println!("  of that time asks for warnings)");
    let g = Graph::new();
    g.warn_of_pointwise();
    let (a, b) = (g.input::<f32>("a", shape![4, 1]), g.input::<f32>("b", shape![4]));
    let sum = a + b;
    println!("  {a} + {b}  ->  {sum}");
    for warning in g.warnings() {
        println!("{warning:#}");
    }
    Ok(())
}

fn in_place() -> Result<(), Error> {
    heading("PyTorch: in place, the other operand stretches, the target does not");
    add_in_place(&[5, 3, 4, 1], &[3, 1, 1])?;
    add_in_place(&[2, 3], &[3])?;
    add_in_place(&[1, 3, 1], &[3, 1, 7])
}

fn paddle() -> Result<(), Error> {
    heading("PaddlePaddle: both sides may stretch");
    add(&[2, 3, 4], &[2, 3, 4])?;
    add(&[2, 3, 1, 5], &[3, 4, 1])?;
    add(&[2, 1, 4], &[3, 1])?;
    add(&[2, 3, 4], &[2, 3, 6])
}

fn paddle_axis() -> Result<(), Error> {
    heading("PaddlePaddle: axis= says where the smaller operand begins; -1 is what broadcasting does");
    add_axis(&[2, 3, 4, 5], &[4, 5], -1)?;
    add_axis(&[2, 3, 4, 5], &[3, 4], 1)?;
    add_axis(&[2, 3, 4, 5], &[3], 1)?;
    add_axis(&[2, 1, 4], &[3, 1], 1)?;
    add_axis(&[2, 3], &[2], 0)?;
    add_axis(&[2, 3, 4, 5], &[4, 5], 1)
}

fn layouts() -> Result<(), Error> {
    heading("Images in batches: one value per channel needs its axes, one per pixel does not");
    add(&[4, 32, 14, 14], &[32, 1, 1])?;
    add(&[4, 32, 14, 14], &[1, 32, 1, 1])?;
    add(&[4, 32, 14, 14], &[14, 14])?;
    add(&[4, 32, 14, 14], &[32, 14, 14])?;
    add(&[4, 3, 32, 32], &[32, 32])?;
    add(&[4, 3, 32, 32], &[3, 1, 1])?;
    add(&[4, 3, 32, 32], &[1, 1, 1, 1])?;
    add(&[4, 3, 32, 32], &[1])?;
    add(&[4, 32, 14, 14], &[32])?;
    add(&[4, 32, 14, 14], &[2, 32, 14, 14])?;

    heading("Classes, students and scores: a bonus for everything, per score, per student");
    let g = Graph::new();
    let [class, students, scores] = g.symbols(["class", "students", "scores"]);
    let marks = g.input::<f32>("marks", shape![class, students, scores]);
    for (name, shape) in
        [("all", shape![1]), ("per_score", shape![scores]), ("per_student", shape![students, 1])]
    {
        let bonus = g.input::<f32>(name, shape);
        println!("  {marks} + {bonus}  ->  {}", marks + bonus);
    }
    g.check()?;
    Ok(())
}

fn corrections() -> Result<(), Error> {
    heading("Where the guides mislead: the result is the size that is not 1, not the greater one");
    println!("  (a 1 beside a 0 gives 0)");
    add(&[0], &[1])?;
    add(&[0], &[2, 1])?;
    println!("  (tensors without axes broadcast as well)");
    add(&[], &[])
}

fn symbols() -> Result<(), Error> {
    heading("Symbols: one kernel for all sizes, among them 0 and 1");
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let column = g.input::<f32>("column", shape![n, 1]);
    let row = g.input::<f32>("row", shape![m]);
    let table = column + row;
    let kernel = table.compile()?;
    println!("  {column} + {row}  ->  {table}");
    for (rows, columns) in [(2, 3), (1, 3), (2, 1), (0, 3)] {
        let (column, row) = (counting(&[rows, 1])?, counting(&[columns])?);
        let sum: Array<f32> = kernel.run(inputs! { "column" => &column, "row" => &row })?.try_into()?;
        println!("    n = {rows}, m = {columns}:  {sum:?}");
    }

    heading("Symbols: equal expressions are equal sizes");
    let x = g.input::<f32>("x", shape![n, 6]);
    let y = g.input::<f32>("y", shape![2 * n, 3]);
    println!("  {x} as [-1, 3] + {y}  ->  {}", x.reshape([-1, 3]) + y);
    println!("  {x} flat  ->  {}", x.reshape([-1]));
    let ends = x.slice(slice![1..]) - x.slice(slice![..-1]);
    println!("  differences of neighbours in {x}  ->  {ends}");
    g.check()?;

    heading("Symbols: one that happens to be 1 does not stretch");
    let z = g.input::<f32>("z", shape![m, 6]);
    if let Err(diagnostics) = x.try_add(z) {
        println!("{diagnostics:#}");
    }
    Ok(())
}

fn heading(text: &str) {
    println!("\n{text}");
    println!("{}", "-".repeat(text.chars().count()));
}

/// Adds counted arrays of two shapes; shows the result's shape, its elements if they are few, and the same for sizes
/// that are symbols; or the reason why they cannot be added. Messages name the line of the caller.
#[track_caller]
fn add(left: &[usize], right: &[usize]) -> Result<(), Error> {
    let g = Graph::new();
    let a = g.input::<f32>("a", left);
    let b = g.input::<f32>("b", right);
    let shapes = format!("{} + {}", a.shape(), b.shape());
    let sum = match a.try_add(b) {
        Ok(sum) => sum,
        Err(diagnostics) => {
            println!("  {shapes} is refused:\n{diagnostics:#}\n");
            return Ok(());
        }
    };
    let symbolic = symbolic(left, right);
    println!("  {shapes:32} ->  {:18} {symbolic}", sum.shape().to_string());

    let outputs = sum.compile()?.run(inputs! { "a" => &counting(left)?, "b" => &counting(right)? })?;
    let result: Array<f32> = outputs.try_into()?;
    let few = 1..=16;
    if few.contains(&result.as_slice().len()) {
        println!("      {} + {} = {}", flat(&counting(left)?), flat(&counting(right)?), flat(&result));
    }
    Ok(())
}

/// Adds to an array in place; shows what it holds then, if that is little, or why it cannot hold the sum.
#[track_caller]
fn add_in_place(target: &[usize], other: &[usize]) -> Result<(), Error> {
    let g = Graph::new();
    let a = g.input::<f32>("a", target);
    let b = g.input::<f32>("b", other);
    let shapes = format!("{}.add_({})", a.shape(), b.shape());
    let sum = a.add_(b);
    let kernel = match g.compile([]) {
        Ok(kernel) => kernel,
        Err(error) => {
            println!("  {shapes} is refused:{error:?}\n");
            return Ok(());
        }
    };
    println!("  {shapes:32} ->  {}", sum.shape());
    let before = counting(target)?;
    let mut data = before.as_slice().to_vec();
    kernel.run(inputs! { "a" => ArrayViewMut::new(&mut data, target)?, "b" => &counting(other)? })?;
    if data.len() <= 16 {
        println!("      {} becomes {data:?}", flat(&before));
    }
    Ok(())
}

/// Like [`add`], of an operand placed at an axis.
#[track_caller]
fn add_axis(left: &[usize], right: &[usize], axis: i64) -> Result<(), Error> {
    let g = Graph::new();
    let a = g.input::<f32>("a", left);
    let b = g.input::<f32>("b", right);
    let sum = a.add_axis(b, axis);
    let shapes = format!("{} + {} at axis={axis}", a.shape(), b.shape());
    if let Err(diagnostics) = g.check() {
        println!("  {shapes} is refused:\n{diagnostics:#}\n");
        return Ok(());
    }
    println!("  {shapes:32} ->  {}", sum.shape());
    let outputs = sum.compile()?.run(inputs! { "a" => &counting(left)?, "b" => &counting(right)? })?;
    let result: Array<f32> = outputs.try_into()?;
    if result.as_slice().len() <= 16 {
        println!("      {} + {} = {}", flat(&counting(left)?), flat(&counting(right)?), flat(&result));
    }
    Ok(())
}

/// The sum of two shapes in which every size but 1 and 0 is a symbol, the same one for the same size.
fn symbolic(left: &[usize], right: &[usize]) -> String {
    let g = Graph::new();
    let names = ["p", "q", "r", "s", "t", "u"];
    let mut known: Vec<usize> = Vec::new();
    for &size in left.iter().chain(right) {
        if size > 1 && !known.contains(&size) {
            known.push(size);
        }
    }
    let dim = |size: &usize| match names.iter().zip(&known).find(|(_, known)| *known == size) {
        Some((name, _)) => Dim::from(g.symbol(name)),
        None => Dim::from(*size),
    };
    let [a, b] = [("a", left), ("b", right)]
        .map(|(name, sizes)| g.input::<f32>(name, sizes.iter().map(dim).collect::<Shape>()));
    format!("{} + {} -> {}", a.shape(), b.shape(), (a + b).shape())
}

/// Numbers 0, 1, 2, .. in a shape.
fn counting(shape: &[usize]) -> Result<Array<f32>, Error> {
    let count: usize = shape.iter().product();
    Ok(Array::new((0..count).map(|at| at as f32).collect(), shape)?)
}

fn flat(array: &Array<f32>) -> String {
    format!("{:?}", array.as_slice())
}

fn rows(name: &str, array: &Array<f32>) {
    println!("  {name}");
    for row in array.as_slice().chunks(array.shape()[1]) {
        println!("      {row:?}");
    }
}
