use super::{Mistake, written};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("A reduction over an axis that is not there", "To sum each row; axes count from 0.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        x.sum(2)
    }),
    written("One axis, named twice", "To reduce both axes.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        x.mean([1, -1])
    }),
    written("The greatest of nothing", "To find the greatest element of each row.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 0]);
        x.max(1)
    }),
    written("More of the greatest than there are", "To find the five greatest of each row.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        x.topk(5, 1).0
    }),
    written("More than there can be asked for", "To find the hundred greatest of each row.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 1000]);
        x.topk(100, 1).0
    }),
    written("Joining tables of unlike widths", "To put two tables below each other.", |g| {
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
    written("Joining tensors of unlike rank", "To append one row to a table.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        let row = g.input::<f32>("row", shape![3]);
        concat([x, row], 0)
    }),
    written("Stacking unlike shapes", "To make rows of two vectors.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let x = g.input::<f32>("x", shape![n]);
        let y = g.input::<f32>("y", shape![m]);
        stack([x, y], 0)
    }),
    written("Segment ids of another length", "To sum rows by the group that they are of.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let rows = g.input::<f32>("rows", shape![n, 3]);
        let groups = g.input::<i64>("groups", shape![m]);
        rows.segment_sum(groups, 10)
    }),
];
