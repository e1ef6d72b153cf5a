//! The rows of the broadcasting guides (NumPy's, torch's, Paddle's) through the whole pipeline: compiled and run, the
//! sizes as numbers and as symbols, and compared with sums worked out element by element.

use broadloom::prelude::*;
use broadloom::{Array, Dim};

const ROWS: &str = include_str!("cases/broadcast_cases.tsv");

fn sizes(text: &str) -> Vec<usize> {
    if text == "()" { Vec::new() } else { text.split('x').map(|size| size.parse().unwrap()).collect() }
}

/// An array of the numbers `first`, `first` + 1, ..
fn counting(shape: &[usize], first: usize) -> Vec<f32> {
    (first..first + shape.iter().product::<usize>()).map(|value| value as f32).collect()
}

/// Where each operand stands in a result of some rank: its first axis, and how many of its axes count.
fn places(shapes: &[Vec<usize>], rank: usize, axis: Option<i64>) -> Vec<(usize, usize)> {
    let place = |shape: &Vec<usize>| match axis {
        Some(axis @ 0..) if shape.len() < rank => {
            let counted = shape.iter().rposition(|size| *size != 1).map_or(0, |last| last + 1);
            (axis as usize, counted)
        }
        _ => (rank - shape.len(), shape.len()),
    };
    shapes.iter().map(place).collect()
}

/// Elements and shape.
type Operand = (Vec<f32>, Vec<usize>);

/// The sum, element by element.
fn sum(operands: &[Operand], places: &[(usize, usize)], shape: &[usize]) -> Vec<f32> {
    let mut result = Vec::new();
    for position in 0..shape.iter().product::<usize>() {
        let mut rest = position;
        let mut index = vec![0; shape.len()];
        for (axis, size) in shape.iter().enumerate().rev() {
            (index[axis], rest) = (rest % size, rest / size);
        }
        let element = |((data, own), (first, counted)): (&Operand, &(usize, usize))| {
            let at = own[..*counted]
                .iter()
                .enumerate()
                .fold(0, |at, (axis, &size)| at * size + if size == 1 { 0 } else { index[first + axis] });
            data[at]
        };
        result.push(operands.iter().zip(places).map(element).sum());
    }
    result
}

#[test]
fn the_guides_rows_run() {
    let mut compiled = 0;
    for row in ROWS.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let [id, _, a, b, axis, inplace, want, ..] = fields[..] else { panic!("{row}") };
        if want.starts_with("error") {
            continue;
        }
        let shapes: Vec<Vec<usize>> = std::iter::once(a).chain(b.split(';')).map(sizes).collect();
        let axis: Option<i64> = axis.parse().ok();
        let shape = sizes(want);
        let arrays = shapes.iter().zip(1..).map(|(shape, at)| (counting(shape, 100 * at), shape.clone()));
        let mut arrays: Vec<Operand> = arrays.collect();
        let expected = sum(&arrays, &places(&shapes, shape.len(), axis), &shape);
        // With a symbol of the same size for each number but 1, which is what stretches.
        for symbolic in [false, true] {
            let g = Graph::new();
            let dim = |size: &usize| match (symbolic, size) {
                (false, _) | (_, 1) => Dim::from(*size),
                (true, size) => g.symbol(&format!("n{size}")).into(),
            };
            let inputs: Vec<Tensor> = (shapes.iter().enumerate())
                .map(|(at, shape)| {
                    g.input::<f32>(&format!("x{at}"), shape.iter().map(dim).collect::<Vec<Dim>>())
                })
                .collect();
            let total = inputs[1..].iter().fold(inputs[0], |total, x| match (axis, inplace) {
                (_, "yes") => total.add_(*x),
                (Some(axis), _) => total.add_axis(*x, axis),
                (None, _) => total + *x,
            });
            let kernel = if inplace == "yes" { g.compile([]) } else { total.compile() };
            let kernel = kernel.unwrap_or_else(|error| panic!("{id}, symbolic {symbolic}: {error:?}"));
            let got = if inplace == "yes" {
                let (first, others) = arrays.split_at_mut(1);
                let mut target = first[0].0.clone();
                let view = broadloom::ArrayViewMut::new(&mut target, &first[0].1).unwrap();
                let mut passed = broadloom::Inputs::new().next(view);
                for (data, shape) in others.iter() {
                    passed = passed.next(ArrayView::new(data, shape).unwrap());
                }
                kernel.run(passed).unwrap();
                target
            } else {
                let mut passed = broadloom::Inputs::new();
                for (data, shape) in &arrays {
                    passed = passed.next(ArrayView::new(data, shape).unwrap());
                }
                let result: Array<f32> = kernel.run(passed).unwrap().try_into().unwrap();
                assert_eq!(result.shape(), shape, "{id}");
                result.as_slice().to_vec()
            };
            assert_eq!(got, expected, "{id}, symbolic {symbolic}");
            compiled += 1;
        }
    }
    assert!(compiled > 200, "{compiled}");
}
