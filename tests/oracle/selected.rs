//! Elements that masks select and sizes that computed numbers decide, among the steps of a recipe: some come before, and the
//! rest uses what was selected.

use crate::build::{Builder, Built};
use crate::recipe::{Draw, Recipe};
use broadloom::{DType, Dim, Shape, Tensor, select};

/// The graph of a recipe, with selections in between.
pub fn build(recipe: &Recipe) -> Built {
    let mut builder = Builder::new();
    let draw = &mut Draw(recipe.seed);
    let (before, after) = recipe.steps.split_at(recipe.steps.len() / 2);
    before.iter().for_each(|step| builder.step(step));
    let mut outputs = selections(&mut builder, draw);
    for (number, step) in after.iter().enumerate() {
        builder.step(step);
        if number == 1 && draw.next(3) == 0 {
            outputs.extend(selections(&mut builder, draw));
        }
    }
    outputs.push(builder.pick(&mut Draw(0)));
    outputs.push(builder.pick(&mut Draw(recipe.seed >> 16)));
    outputs.truncate(4);
    builder.finish(outputs)
}

/// One or two tensors whose sizes the data decide.
fn selections(builder: &mut Builder, draw: &mut Draw) -> Vec<Tensor> {
    let x = builder.pick(draw);
    let made = match draw.next(8) {
        0..=2 => masked(builder, x, draw),
        3 if x.rank() > 0 => {
            let axis = draw.next(x.rank());
            let mask = mask(builder, x, &[x.shape()[axis]], draw);
            vec![x.compress(mask, axis)]
        }
        4 => match draw.next(3) {
            0 => vec![x.unique()],
            1 => vec![x.unique_counts().1, x.unique_inverse().1],
            _ => vec![x.unique_indices().0, x.unique_indices().1],
        },
        5 if x.rank() > 0 => vec![x.flatnonzero(), x.nonzero()[x.rank() - 1]],
        6 if x.rank() > 0 => {
            let axis = draw.next(x.rank());
            let counts = builder.like(x, &vec![x.shape()[axis]].into(), draw).cast_to(DType::U8);
            vec![x.repeat_counted(counts.cast_to(DType::I64).remainder(3), axis)]
        }
        7 => {
            let number = x.cast_to(DType::U8).cast_to(DType::I64).sum(..).remainder(7);
            vec![builder.graph.iota(number.to_size()), builder.graph.iota(number.to_size() + 1)]
        }
        _ => masked(builder, x, draw),
    };
    made.iter().for_each(|tensor| builder.keep(*tensor));
    made
}

/// Elements that one mask selects of a tensor and of another one, or what changes where it holds.
fn masked(builder: &mut Builder, x: Tensor, draw: &mut Draw) -> Vec<Tensor> {
    let axes = draw.next(x.rank() + 1);
    let leading: Vec<Dim> = x.shape()[..axes].to_vec();
    let mask = mask(builder, x, &leading, draw);
    let of_mask: Shape = leading.into();
    let other = builder.like(x, &of_mask, draw);
    let (one, two) = (x.masked(mask), other.masked(mask));
    match draw.next(5) {
        4 => {
            let mut third = builder.like(x, &of_mask, draw).masked(mask).cast_to(DType::F64);
            let lesser = select(two.cast_to(DType::F64).lt(third), two.cast_to(DType::F64), third * 2);
            (axes..x.rank()).for_each(|_| third = third.unsqueeze(-1));
            vec![lesser, one.cast_to(DType::F64) - third]
        }
        0 => vec![one, two, two.masked(two.cast_to(DType::Bool))],
        1 => vec![two.cast_to(DType::F64).sum(0), one],
        2 => {
            let dtype = x.dtype().expect("a recipe makes no mistakes");
            let value = if draw.next(2) == 0 { one.flip(0) } else { one.logical_not().cast_to(dtype) };
            vec![x.at(mask).set(value.cast_to(dtype)), two.cumsum(0)]
        }
        _ => vec![two, one],
    }
}

fn mask(builder: &mut Builder, x: Tensor, shape: &[Dim], draw: &mut Draw) -> Tensor {
    let of = builder.like(x, &shape.to_vec().into(), draw);
    match draw.next(3) {
        0 => of.cast_to(DType::Bool),
        1 => of.lt(builder.like(x, &shape.to_vec().into(), draw)),
        _ => of.cast_to(DType::U8).lt(100),
    }
}
