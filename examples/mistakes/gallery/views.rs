use super::{Mistake, written};
use broadloom::Dim;
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("Removing an axis of unknown size", "To drop the first axis, which will have size 1.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        x.squeeze(0)
    }),
    written("Removing an axis that is not 1", "To drop the axis of size 1, which is axis 0.", |g| {
        let x = g.input::<f32>("x", shape![1, 3]);
        x.squeeze(1)
    }),
    written("A reshape to another number of elements", "To view a table of 24 elements as a square.", |g| {
        let x = g.input::<f32>("x", shape![4, 6]);
        x.reshape([5, 5])
    }),
    written("A reshape that may not divide", "To view rows of six as rows of four.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 6]);
        x.reshape([-1, 4])
    }),
    written("Two sizes to infer", "To infer both sizes from the number of elements.", |g| {
        let x = g.input::<f32>("x", shape![4, 6]);
        x.reshape([-1, -1])
    }),
    written("A slice past the end", "To take the last rows of ten.", |g| {
        let x = g.input::<f32>("x", shape![10, 3]);
        x.slice(slice![4..12])
    }),
    written("A slice that ends before it starts", "To take the last ten elements.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n]);
        x.slice(slice![(Dim::from(n), n - 10)])
    }),
    written("An index out of bounds", "To take the last column.", |g| {
        let x = g.input::<f32>("x", shape![10, 3]);
        x.index(1, 3)
    }),
    written("A step of zero", "To take every element.", |g| {
        let x = g.input::<f32>("x", shape![10]);
        x.slice(slice![..;0])
    }),
    written("More indices than axes", "To take one element of three axes.", |g| {
        let x = g.input::<f32>("x", shape![10, 3]);
        x.slice(slice![0, 1, 2])
    }),
    written("A permutation without one axis", "To swap the first and the last axis.", |g| {
        let x = g.input::<f32>("x", shape![2, 3, 4]);
        x.permute_dims([2, 0])
    }),
];
