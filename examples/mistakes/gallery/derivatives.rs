use super::{Mistake, written};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("A loss with axes", "To derive a squared error by its weights.", |g| {
        let (x, y) = (g.input::<f32>("x", shape![g.symbol("n")]), g.input::<f32>("y", shape![g.symbol("n")]));
        let w = g.input::<f32>("w", shape![]);
        let [slope] = (w * x - y).square().grad([w]);
        slope
    }),
    written("A derivative by integers", "To derive by the number of clusters.", |g| {
        let (x, k) = (g.input::<f64>("x", shape![8]), g.input::<i64>("k", shape![8]));
        let [slope] = (x * k).sum(0).grad([k]);
        slope
    }),
    written("A derivative of integers", "To derive a count of positive elements.", |g| {
        let x = g.input::<f64>("x", shape![8]);
        let [slope] = x.gt(0).sum(0).grad([x]);
        slope
    }),
    written("A cotangent of another shape", "To weight the rows of a table.", |g| {
        let (x, weights) = (g.input::<f32>("x", shape![5, 3]), g.input::<f32>("weights", shape![5]));
        let [slope] = x.exp().vjp(weights, [x]);
        slope
    }),
    written("A warning: what the loss does not read", "To fit a line with an offset.", |g| {
        g.warn_of_pointwise();
        let (x, y) = (g.input::<f32>("x", shape![8]), g.input::<f32>("y", shape![8]));
        let (w, b) = (g.input::<f32>("w", shape![]), g.input::<f32>("b", shape![]));
        let [_, by_b] = (w * x - y).square().mean(0).grad([w, b]);
        by_b
    }),
];
