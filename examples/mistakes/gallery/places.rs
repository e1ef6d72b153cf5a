use super::{Mistake, written};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("`axis=`: sizes that differ", "To add a table to the last two axes.", |g| {
        let x = g.input::<f32>("x", shape![2, 3, 4, 5]);
        let y = g.input::<f32>("y", shape![4, 5]);
        x.add_axis(y, 1)
    }),
    written("`axis=`: equal ranks", "To add two matrices, one of them shifted.", |g| {
        let x = g.input::<f32>("x", shape![2, 3]);
        let y = g.input::<f32>("y", shape![2, 1]);
        x.add_axis(y, 1)
    }),
    written("`axis=`: no such axis", "To count the axis from the end.", |g| {
        let x = g.input::<f32>("x", shape![2, 3, 4]);
        let y = g.input::<f32>("y", shape![3]);
        x.multiply_axis(y, -2)
    }),
    written("`axis=`: too long", "To place two axes where only one is left.", |g| {
        let x = g.input::<f32>("x", shape![2, 3, 4]);
        let y = g.input::<f32>("y", shape![3, 4]);
        x.add_axis(y, 2)
    }),
    written("In place: the target would grow", "To add y to x, in the memory of x.", |g| {
        let x = g.input::<f32>("x", shape![1, 3, 1]);
        let y = g.input::<f32>("y", shape![3, 1, 7]);
        x.add_(y)
    }),
    written("In place: a different kind of dtype", "To scale integers by a fraction.", |g| {
        let counts = g.input::<i32>("counts", shape![4]);
        let scale = g.input::<f32>("scale", shape![]);
        counts.multiply_(scale)
    }),
    written("In place: not an input", "To change a result.", |g| {
        let x = g.input::<f32>("x", shape![4]);
        (x + 1).add_(1)
    }),
    written("In place: twice", "To update x in two steps.", |g| {
        let x = g.input::<f32>("x", shape![4]);
        x.add_(1);
        x.multiply_(2)
    }),
    written(
        "In place: an input that may be stretched",
        "To write to rows when there may be only one.",
        |g| {
            let n = g.symbol("n");
            let x = g.input::<f32>("x", shape![#n, 3]);
            let y = g.input::<f32>("y", shape![n, 3]);
            x.add_(y)
        },
    ),
    written("`at`: a value that does not fit", "To replace two columns by one vector.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        let y = g.input::<f32>("y", shape![g.symbol("n")]);
        x.at(slice![.., ..2]).set(y)
    }),
    written("`at`: outside of the tensor", "To clear the last elements.", |g| {
        let x = g.input::<f32>("x", shape![5]);
        x.at(slice![4..7]).set(0)
    }),
    written("`at`: a different kind of dtype", "To scale a part of integers by a fraction.", |g| {
        let counts = g.input::<i32>("counts", shape![4]);
        let scale = g.input::<f32>("scale", shape![]);
        counts.at(slice![1..]).multiply(scale)
    }),
    written("`at`: a mask with other axes", "To clear the columns that a mask chooses.", |g| {
        let x = g.input::<f32>("x", shape![8, 3]);
        let mask = g.input::<bool>("mask", shape![3]);
        x.at(mask).set(0)
    }),
    written("`at`: positions of different sizes", "To count pixels by row and column.", |g| {
        let image = g.input::<i64>("image", shape![8, 8]);
        let rows = g.input::<i64>("rows", shape![4]);
        let columns = g.input::<i64>("columns", shape![5]);
        image.at(slice![rows, columns]).add(1)
    }),
    written("`at`: positions that are not integers", "To add to the bins of numbers.", |g| {
        let counts = g.input::<i64>("counts", shape![10]);
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        counts.at(x * 10).add(1)
    }),
    written(
        "A warning: the same number of elements, but not element by element",
        "To add two vectors, one of which is a column.",
        |g| {
            g.warn_of_pointwise();
            let n = g.symbol("n");
            let a = g.input::<f32>("a", shape![n, 1]);
            let b = g.input::<f32>("b", shape![n]);
            a + b
        },
    ),
    written("The harmless case of the warning", "To add two vectors, one of which is a row.", |g| {
        g.warn_of_pointwise();
        let a = g.input::<f32>("a", shape![1, 3]);
        let b = g.input::<f32>("b", shape![3]);
        a + b
    }),
    written("A warning: squares that wrap", "To add up the squared differences of colours.", |g| {
        g.warn_of_pointwise();
        let (n, k) = (g.symbol("n"), g.symbol("k"));
        let colours = g.input::<u8>("colours", shape![k, 3]);
        let pixels = g.input::<u8>("pixels", shape![n, 3]);
        (colours.unsqueeze(0) - pixels.unsqueeze(1)).square().sum(-1)
    }),
    written("A warning: differences that wrap", "To compare two pictures.", |g| {
        g.warn_of_pointwise();
        let a = g.input::<u8>("a", shape![4]);
        let b = g.input::<u8>("b", shape![4]);
        (a - b).abs()
    }),
    written(
        "A warning: a reduction that meets another axis",
        "To centre each row of a square matrix.",
        |g| {
            g.warn_of_pointwise();
            let n = g.symbol("n");
            let x = g.input::<f32>("x", shape![n, n]);
            x - x.mean(1)
        },
    ),
];
