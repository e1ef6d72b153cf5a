//! Loops around the steps of a recipe: the first half of them comes before, the rest is in the steps of a loop or of a loop in
//! a loop.

use crate::build::{Builder, Built, apply};
use crate::recipe::{Draw, Kind, Recipe, Step};
use broadloom::{DType, Dim, Op, Tensor, Times, repeat, repeat_while, scan, select};

/// The graph of a recipe, half of it in a loop.
pub fn build(recipe: &Recipe) -> Built {
    let mut builder = Builder::new();
    let (before, inside) = recipe.steps.split_at(recipe.steps.len() / 2);
    before.iter().for_each(|step| builder.step(step));
    let draw = &mut Draw(recipe.seed);
    let mut outputs = looped(&mut builder, inside, 1, draw);
    // Something that reads a result.
    let result = draw.of(&outputs);
    builder.keep(result);
    builder.step(&Step {
        kind: draw.of(&[Kind::Unary, Kind::Reduce, Kind::Binary]),
        choices: recipe.seed >> 32,
    });
    outputs.push(builder.pick(&mut Draw(0)));
    builder.finish(outputs)
}

/// The results of a loop whose steps are those of a recipe; the tensors of the steps are not kept.
fn looped(builder: &mut Builder, steps: &[Step], depth: usize, draw: &mut Draw) -> Vec<Tensor> {
    let x = builder.pick(draw);
    let y = builder.pick(draw);
    let kept = builder.count();
    let of_step = |builder: &mut Builder, values: [Tensor; 2], others: &[Tensor], draw: &mut Draw| {
        values.iter().chain(others).for_each(|value| builder.keep(*value));
        match depth > 0 && draw.next(4) == 0 {
            true => looped(builder, steps, depth - 1, draw).into_iter().for_each(|value| builder.keep(value)),
            false => steps.iter().for_each(|step| builder.step(step)),
        }
        let next = values.map(|value| changed(builder, value, draw));
        let stacked = builder.pick(draw);
        builder.truncate(kept);
        (next, stacked)
    };
    match draw.next(3) {
        0 => {
            let times = match draw.next(2) {
                0 => Times::from(draw.of(&[0i64, 1, 2, 3, 5])),
                // A number that the data decide.
                _ => {
                    let count = builder.input(DType::I64, Vec::<Dim>::new());
                    Times::from(count.remainder(4))
                }
            };
            repeat(times, [x, y], |step, values| of_step(builder, values, &[step], draw).0).to_vec()
        }
        1 => {
            let zero = builder.graph.constant(0i64);
            let most = draw.of(&[0i64, 2, 3]);
            let goes_on = |[_, _, count]: [Tensor; 3]| count.lt(most);
            let results = repeat_while([x, y, zero], goes_on, |[x, y, count]| {
                let [x, y] = of_step(builder, [x, y], &[count], draw).0;
                [x, y, count + 1]
            });
            results.to_vec()
        }
        _ => {
            let size =
                draw.of(&[Dim::from(builder.symbols[2]), Dim::from(3i64), Dim::from(0i64), Dim::from(1i64)]);
            let (dtype, [n, ..]) = (builder.dtype(draw), builder.symbols);
            let rows = match draw.next(5) {
                0 => builder.input(dtype, [size]),
                1 => builder.input(dtype, [size]).flip(0),
                2 => builder.input(dtype, [Dim::from(n), size]).t(),
                3 => builder.input(dtype, [Dim::from(n), 3 * size]).t().slice_axis(0, .., -3),
                _ => builder.input(dtype, [size, Dim::from(n)]),
            };
            let ([x, y], [z]) = scan([x, y], [rows], |values, [row]| {
                let (next, stacked) = of_step(builder, values, &[row], draw);
                (next, [stacked])
            });
            vec![x, y, z]
        }
    }
}

/// The value, or one of the same dtype and shape that may depend on one of the tensors.
fn changed(builder: &mut Builder, value: Tensor, draw: &mut Draw) -> Tensor {
    let dtype = value.dtype().expect("a recipe makes no mistakes");
    let other = builder.pick(draw);
    let otherwise = match (value.rank(), dtype) {
        (0, DType::Bool) => value.logical_not(),
        (0, _) => apply(Op::Add, &[value, value]),
        _ => value.flip(0),
    };
    match draw.next(4) {
        0 => value,
        _ if other.shape() == value.shape() => other.cast_to(dtype),
        1 => {
            let total = other.cast_to(DType::F64).sum(..);
            select(total.gt(0.5), value, otherwise)
        }
        2 if dtype == DType::Bool => value.logical_xor(other.cast_to(DType::I64).sum(..).gt(1)),
        2 => apply(Op::Add, &[value, other.cast_to(dtype).sum(..).cast_to(dtype)]),
        _ => otherwise,
    }
}
