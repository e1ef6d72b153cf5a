use super::{Mistake, written};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("A reduction over an axis that does not exist", "To sum each row; axes count from 0.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        x.sum(2)
    }),
    written("One axis, named twice", "To reduce both axes.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        x.mean([1, -1])
    }),
    written("The maximum of an empty axis", "To find the maximum of each row.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 0]);
        x.max(1)
    }),
    written(
        "`topk` of more elements than the axis has",
        "To find the five greatest elements of each row.",
        |g| {
            let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
            x.topk(5, 1).0
        },
    ),
    written("`topk` beyond its limit", "To find the hundred greatest elements of each row.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 1000]);
        x.topk(100, 1).0
    }),
    written("Joining tables of different widths", "To put two tables below each other.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let x = g.input::<f32>("x", shape![n, 3]);
        let y = g.input::<f32>("y", shape![m, 4]);
        concat([x, y], 0)
    }),
    written("Joining does not stretch", "To append the same column to every row.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n, 3]);
        let y = g.input::<f32>("y", shape![1, 2]);
        concat([x, y], 1)
    }),
    written("Joining tensors of different rank", "To append one row to a table.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        let row = g.input::<f32>("row", shape![3]);
        concat([x, row], 0)
    }),
    written("Stacking different shapes", "To use two vectors as rows.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let x = g.input::<f32>("x", shape![n]);
        let y = g.input::<f32>("y", shape![m]);
        stack([x, y], 0)
    }),
    written("Segment ids of a different length", "To sum rows by group.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let rows = g.input::<f32>("rows", shape![n, 3]);
        let groups = g.input::<i64>("groups", shape![m]);
        rows.segment_sum(groups, 10)
    }),
];
