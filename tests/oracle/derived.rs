//! The derivatives of a random graph: of the sum of its floats by each input of floats, and along all of them.

use crate::arrays::Random;
use crate::build::Built;
use broadloom::{DType, Tensor};

fn is_float(tensor: &Tensor) -> bool {
    tensor.dtype().is_some_and(DType::is_float)
}

/// The graph with its derivatives as outputs; `None` without floats to derive by or from.
pub fn derived(built: Built, seed: u64) -> Result<Option<Built>, String> {
    let by: Vec<Tensor> = built.inputs.iter().copied().filter(is_float).collect();
    let of: Vec<Tensor> = built.outputs.iter().map(|(_, output)| *output).filter(is_float).collect();
    let (Some(&first), Some(&some)) = (of.first(), by.first()) else { return Ok(None) };
    let total = |y: &Tensor| y.cast::<f64>().sum(Vec::from_iter(0..y.rank() as i64));
    let loss = of.iter().skip(1).fold(total(&first), |loss, y| loss + total(y));
    let mut outputs: Vec<(String, Tensor)> = Vec::new();
    for (number, x) in by.iter().enumerate() {
        let [slope] = loss.grad([*x]);
        outputs.push((format!("slope{number}"), slope));
    }
    let tangent = match Random::new(seed, 5).below(2) {
        0 => some,
        _ => some * 2,
    };
    outputs.push(("along".to_owned(), first.jvp([(some, tangent)])));
    built.graph.check().map_err(|mistakes| mistakes.to_string())?;
    for (number, x) in by.iter().enumerate() {
        let (slope, want) = (outputs[number].1.to_string(), x.to_string());
        if slope != want {
            return Err(format!("the derivative by {want} is {slope}"));
        }
    }
    Ok(Some(Built { outputs, ..built }))
}
