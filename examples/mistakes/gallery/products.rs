//! Matrix products and their kin.

use super::{Mistake, written};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("Weights stored the other way round", "To apply the weights of ten outputs to each row.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 64]);
        let w = g.input::<f32>("w", shape![10, 64]);
        x.matmul(w)
    }),
    written("Samples along the wrong axis", "To weight the samples of a table and sum them.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n, 64]);
        let weights = g.input::<f32>("weights", shape![n]);
        x.matmul(weights)
    }),
    written("Operands in the wrong order", "To apply a matrix to points that are columns.", |g| {
        let points = g.input::<f32>("points", shape![3, g.symbol("n")]);
        let rotation = g.input::<f32>("rotation", shape![2, 3]);
        points.matmul(rotation)
    }),
    written("A column does not scale each element", "To scale each row of a table by a number.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n, 3]);
        let scale = g.input::<f32>("scale", shape![n, 1]);
        scale.matmul(x)
    }),
    written("A number is not a matrix", "To halve each element.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        x.matmul(0.5)
    }),
    written("Two symbols for one inner size", "To multiply matrices whose sizes belong together.", |g| {
        let [n, k, m] = g.symbols(["n", "k", "m"]);
        let a = g.input::<f32>("a", shape![n, k]);
        let b = g.input::<f32>("b", shape![m, 5]);
        a.matmul(b)
    }),
    written("Batches of two sizes", "To multiply the matrices of two batches, one by one.", |g| {
        let [n, heads] = g.symbols(["n", "heads"]);
        let queries = g.input::<f32>("queries", shape![8, n, 64]);
        let keys = g.input::<f32>("keys", shape![heads, n, 64]);
        queries.matmul(keys.t())
    }),
    written("Rows times columns by `inner`", "To multiply a table by a matrix.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        let w = g.input::<f32>("w", shape![3, 5]);
        x.inner(w)
    }),
    written("More axes than the operands have", "To sum over all axes of two matrices.", |g| {
        let a = g.input::<f32>("a", shape![4, 3]);
        let b = g.input::<f32>("b", shape![4, 3]);
        a.tensordot(b, 3)
    }),
    written("Axes without a partner", "To sum over two axes of one operand and one of the other.", |g| {
        let a = g.input::<f32>("a", shape![4, 3]);
        let b = g.input::<f32>("b", shape![4, 3]);
        a.tensordot(b, ([0, 1], [0]))
    }),
    written("Different numbers of elements in `vdot`", "To multiply two tables as if they were rows.", |g| {
        let a = g.input::<f32>("a", shape![4, 3]);
        let b = g.input::<f32>("b", shape![5, 3]);
        a.vdot(b)
    }),
    written("One letter for two sizes", "To multiply rows by rows.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 64]);
        let w = g.input::<f32>("w", shape![10, 64]);
        einsum("ij,jk->ik", [x, w])
    }),
    written("One letter for two sizes of three operands", "To weight products by channel.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n, 64]);
        let w = g.input::<f32>("w", shape![64, 3]);
        let channels = g.input::<f32>("channels", shape![4]);
        einsum("ij,jc,c->i", [x, w, channels])
    }),
    written("A diagonal of a table that is not square", "To sum the diagonal of a table.", |g| {
        let x = g.input::<f32>("x", shape![4, 3]);
        einsum("ii", [x])
    }),
    written("A letter of the result without an operand", "To name the axes of a product of matrices.", |g| {
        let a = g.input::<f32>("a", shape![4, 3]);
        let b = g.input::<f32>("b", shape![3, 5]);
        einsum("ij,jk->il", [a, b])
    }),
    written("Subscripts for fewer axes", "To sum over the last axis of images.", |g| {
        let images = g.input::<f32>("images", shape![g.symbol("n"), 28, 28]);
        einsum("i->", [images])
    }),
    written("Subscripts for more operands", "To multiply two matrices.", |g| {
        let a = g.input::<f32>("a", shape![4, 4]);
        einsum("ij,jk->ik", [a])
    }),
    written("The wrong arrow", "To transpose a table.", |g| {
        let x = g.input::<f32>("x", shape![4, 3]);
        einsum("ij=>ji", [x])
    }),
];
