use super::{Caught, Mistake, called};
use broadloom::prelude::*;
use broadloom::{ArrayView, Chunked, Executable, Inputs};

fn none(_: Chunked) -> Result<Outputs, Caught> {
    Err(Caught::Other("it can be computed in chunks".to_owned()))
}

/// The expression, to be computed from chunks of `rows`.
fn in_chunks(tensor: Tensor) -> Result<Chunked, Caught> {
    let executable: Executable = tensor.compile()?;
    Ok(executable.in_chunks("rows")?)
}

pub const MISTAKES: &[Mistake] = &[
    called("No such size", "To read `x` in chunks.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("rows"), 3]);
        none(x.sum(0).compile()?.in_chunks("row")?)
    }),
    called("Neighbouring rows", "To see how each row differs from the one before.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("rows")]);
        none(in_chunks(x.slice(slice![1..]) - x.slice(slice![..-1]))?)
    }),
    called("A size that changes", "To pass a table in two parts.", |g| {
        let x = g.input::<i64>("x", shape![g.symbol("rows"), g.symbol("columns")]);
        let chunked = in_chunks(x.sum(0))?;
        let mut run = chunked.start(Inputs::new())?;
        run.push(inputs! { "x" => ArrayView::new(&[1i64; 6], &[2, 3])? })?;
        run.push(inputs! { "x" => ArrayView::new(&[1i64; 8], &[2, 4])? })?;
        run.end_pass()?;
        Ok(run.finish()?)
    }),
    called("Rows that are passed only once", "To centre all rows, which takes two passes over them.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("rows")]);
        let chunked = in_chunks(x - x.mean(0))?;
        let mut run = chunked.start(Inputs::new())?;
        run.push(inputs! { "x" => &[1.0f32, 2.0] })?;
        run.end_pass()?;
        Ok(run.finish()?)
    }),
    called("No rows at all", "To take the sum of nothing.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("rows")]);
        let chunked = in_chunks(x.sum(0))?;
        let mut run = chunked.start(Inputs::new())?;
        run.end_pass()?;
        Ok(run.finish()?)
    }),
];
