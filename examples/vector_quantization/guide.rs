//! The example of NumPy's broadcasting guide: which code is nearest to an observation?

use crate::Error;
use broadloom::prelude::*;

/// An athlete's weight and height, and four kinds of athletes: the guide's numbers.
pub fn athletes() -> Result<(), Error> {
    let observation = [111.0f32, 188.0];
    let codes = [[102.0f32, 203.0], [132.0, 193.0], [45.0, 155.0], [57.0, 173.0]];
    let table = ArrayView::new(codes.as_flattened(), &[4, 2])?;

    let distance = |codes: Tensor, observation: Tensor| (codes - observation).square().sum(-1).sqrt();
    let (distances, nearest): (Vec<f32>, i64) = eval((&table, &observation), |(codes, observation)| {
        let distance = distance(codes, observation);
        (distance, distance.argmin(0))
    })?;

    println!(
        "An athlete of {observation:?} and four kinds of athletes, as in NumPy's guide to broadcasting:"
    );
    println!("  f32[4, 2] - f32[2] -> f32[4, 2]; the norm along the last axis -> f32[4]");
    for (index, (code, distance)) in codes.iter().zip(&distances).enumerate() {
        let mark = if index as i64 == nearest { "  <- the nearest: a basketball player" } else { "" };
        println!("  {index}  {code:?}  {distance:8.4}{mark}");
    }
    println!("  answer: {nearest}\n");
    Ok(())
}

/// Ten observations of three numbers and five codes, for which sizes are symbols.
pub fn observations() -> Result<(), Error> {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let observations = g.input::<f32>("observations", shape![n, 3]);
    let codes = g.input::<f32>("codes", shape![k, 3]);

    let column = codes.unsqueeze(1);
    let difference = column - observations;
    let distance = difference.square().sum(-1).sqrt();
    let nearest = distance.argmin(0);
    let kernel = nearest.compile()?;

    println!("Any number of observations and codes; the guide's sizes are n = 10 and k = 5:");
    for (name, tensor) in [
        ("observations", observations),
        ("codes", codes),
        ("codes.unsqueeze(1)", column),
        ("difference", difference),
        ("distance", distance),
        ("nearest = argmin(0)", nearest),
    ] {
        println!("  {name:20} {tensor}");
    }

    // Observations near the codes 0, 1, 2, 3, 4, 0, 1, ...
    let code = |index: usize| [index as f32, (index * index) as f32, -(index as f32)];
    let codes: Vec<f32> = (0..5).flat_map(code).collect();
    let observations: Vec<f32> = (0..10).flat_map(|row| code(row % 5).map(|x| x + 0.25)).collect();
    let nearest: Vec<i64> = kernel
        .run(inputs! {
            "observations" => ArrayView::new(&observations, &[10, 3])?,
            "codes" => ArrayView::new(&codes, &[5, 3])?,
        })?
        .try_into()?;
    println!(
        "  {} kernel, {} bytes stored in between",
        kernel.explain().kernels(),
        kernel.explain().materialized_bytes()
    );
    println!("  nearest codes of observations made near 0, 1, 2, 3, 4, 0, ..: {nearest:?}\n");
    Ok(())
}
