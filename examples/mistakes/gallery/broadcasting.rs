use super::{Mistake, written};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("Sizes that differ", "To scale every pair of axes 0 and 1.", |g| {
        let x = g.input::<f32>("x", shape![5, 2, 4, 1]);
        let y = g.input::<f32>("y", shape![3, 1, 1]);
        x * y
    }),
    written("Rows and columns", "To subtract one offset from each row of a table.", |g| {
        let table = g.input::<f32>("table", shape![4, 3]);
        let offsets = g.input::<f32>("offsets", shape![4]);
        table - offsets
    }),
    written("A bias per channel", "To add one value to each channel of a batch of images.", |g| {
        let images = g.input::<f32>("images", shape![g.symbol("batch"), 32, 14, 14]);
        let bias = g.input::<f32>("bias", shape![32]);
        images + bias
    }),
    written("The reduced axis is gone", "To divide each row by its sum.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 64]);
        x / x.sum(1)
    }),
    written("A transposed operand", "To weight every element of x; w is stored the other way round.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n, 64]);
        let w = g.input::<f32>("w", shape![64, n]);
        x * w
    }),
    written("Names of sizes say what was meant", "To give each student a bonus on every score.", |g| {
        let [class, students, scores] = g.symbols(["class", "students", "scores"]);
        let marks = g.input::<f32>("marks", shape![class, students, scores]);
        let bonus = g.input::<f32>("bonus", shape![students]);
        marks + bonus
    }),
    written("All pairs", "To compare every code with every observation.", |g| {
        let codes = g.input::<f32>("codes", shape![17, 3]);
        let obs = g.input::<f32>("obs", shape![1000, 3]);
        codes - obs
    }),
    written("All pairs of symbolic sizes", "The same for any number of codes and observations.", |g| {
        let [k, n] = g.symbols(["k", "n"]);
        let codes = g.input::<f32>("codes", shape![k, 3]);
        let obs = g.input::<f32>("obs", shape![n, 3]);
        codes - obs
    }),
    written("All pairs in each of a batch", "To compare the points of each cloud with each other.", |g| {
        let [clouds, n, m] = g.symbols(["clouds", "n", "m"]);
        let x = g.input::<f32>("x", shape![clouds, n, 3]);
        let y = g.input::<f32>("y", shape![clouds, m, 3]);
        x * y
    }),
    written(
        "The same number of elements, in a different shape",
        "To add six numbers to a table of six.",
        |g| {
            let x = g.input::<f32>("x", shape![6]);
            let table = g.input::<f32>("table", shape![2, 3]);
            x + table
        },
    ),
    written(
        "A selection between operands of different shapes",
        "To take x where it is positive, and y elsewhere.",
        |g| {
            let x = g.input::<f32>("x", shape![8, 3]);
            let y = g.input::<f32>("y", shape![8, 4]);
            select(x.gt(0), x, y)
        },
    ),
    written("Bounds that do not fit", "To clip each column to its own bounds.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        let low = g.input::<f32>("low", shape![3]);
        let high = g.input::<f32>("high", shape![4]);
        x.clip(low, high)
    }),
    written("Only the constant 1 stretches", "To repeat the columns of x.", |g| {
        let n = g.symbol("n");
        g.input::<f32>("x", shape![n, 3]).broadcast_to(shape![n, 6])
    }),
    written("Stretching to fewer axes", "To drop the first axis.", |g| {
        g.input::<f32>("x", shape![1, 3]).broadcast_to([3])
    }),
];
