use super::{Mistake, written};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("Two symbols that should be one", "To multiply q by k; both have as many rows.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let q = g.input::<f32>("q", shape![n, 64]);
        let k = g.input::<f32>("k", shape![m, 64]);
        q * k
    }),
    written("The same, with an operand that is not an input", "To multiply q by the transpose of k.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let q = g.input::<f32>("q", shape![n, 64]);
        let k = g.input::<f32>("k", shape![64, m]);
        q * k.t()
    }),
    written("A symbol is not a number", "To add five values; n will be 5.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        let y = g.input::<f32>("y", shape![5]);
        x + y
    }),
    written("n + 1 never equals n", "To take differences of n + 1 and n values.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n + 1]);
        let y = g.input::<f32>("y", shape![n]);
        x - y
    }),
    written("Even and odd sizes", "To compare pairs with five values.", |g| {
        let x = g.input::<f32>("x", shape![2 * g.symbol("pairs")]);
        let y = g.input::<f32>("y", shape![5]);
        x.maximum(y)
    }),
    written("Not a multiple", "To add twelve values to blocks of eight.", |g| {
        let n = g.symbol("n").multiple_of(8);
        let x = g.input::<f32>("x", shape![n]);
        let y = g.input::<f32>("y", shape![12]);
        x + y
    }),
    written("Equal for only one size", "To add x to the first half of y.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n]);
        let y = g.input::<f32>("y", shape![2 * n]);
        x + y
    }),
    written("An inferred size with two uses", "To infer the size of w from its use.", |g| {
        let w = g.input::<f32>("w", shape![_]);
        let x = g.input::<f32>("x", shape![5]);
        let y = g.input::<f32>("y", shape![6]);
        (w * x).sum(0) + (w * y).sum(0)
    }),
    written("The same, over several steps", "To infer the sizes of v and w from their use.", |g| {
        let n = g.symbol("n");
        let v = g.input::<f32>("v", shape![_]);
        let w = g.input::<f32>("w", shape![_]);
        let sum = v + w;
        let scaled = w * g.input::<f32>("x", shape![n]);
        (sum + scaled) * g.input::<f32>("y", shape![7])
    }),
    written("Inferred sizes that stay open", "To add all products of v and w to x.", |g| {
        let v = g.input::<f32>("v", shape![_]);
        let w = g.input::<f32>("w", shape![_]);
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        (v.unsqueeze(1) * w).reshape([-1]) + x
    }),
    written("A fact that comes too late", "To say that there is at least one row.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n]);
        n.range(1..);
        x
    }),
    written("An equality that comes too late", "To say that both have as many rows.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let x = g.input::<f32>("x", shape![n]);
        let y = g.input::<f32>("y", shape![m]);
        g.declare_equal(n, m);
        x.exp().sum(0) + y.sum(0)
    }),
    written("Contradictory facts", "To say that n is 10 to 50; a digit is missing.", |g| {
        let n = g.symbol("n").range(10..).range(..5);
        g.input::<f32>("x", shape![n])
    }),
    written("An equality that never holds", "To say that m is one less than n.", |g| {
        let n = g.symbol("n");
        g.declare_equal(n, n - 1);
        g.input::<f32>("x", shape![n])
    }),
    written("A rebound size that never holds", "To say that there are two rows.", |g| {
        let n = g.symbol("n");
        g.input::<f32>("x", shape![2 * n + 1, 3]).rebind(shape![2, _])
    }),
    written("A size that no input determines", "To repeat a column some number of times.", |g| {
        let [n, copies] = g.symbols(["n", "copies"]);
        g.input::<f32>("x", shape![n, 1]).broadcast_to(shape![n, copies])
    }),
    written("An inferred size outside an input", "To let a reshape infer the last size.", |g| {
        let x = g.input::<f32>("x", shape![4, 6]);
        x.reshape(shape![8, _])
    }),
    written("A size that may be 1 outside an input", "To stretch to n rows, or one.", |g| {
        let n = g.symbol("n");
        g.input::<f32>("x", shape![1, 3]).broadcast_to(shape![#n, 3])
    }),
    written("A symbol from another graph", "To use the same sizes in two graphs.", |g| {
        let other = Graph::new();
        let n = other.symbol("n");
        g.input::<f32>("x", shape![n])
    }),
    written("An invalid name", "To name a size after what it counts.", |g| {
        g.input::<f32>("x", shape![g.symbol("rows of x")])
    }),
];
