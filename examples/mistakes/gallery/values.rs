use super::{Mistake, called, written};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("Subtracting booleans", "To find where x and y differ.", |g| {
        let x = g.input::<bool>("x", shape![4]);
        let y = g.input::<bool>("y", shape![4]);
        x - y
    }),
    written("A literal out of range", "To add 300 to bytes; a literal takes the dtype beside it.", |g| {
        let x = g.input::<u8>("x", shape![4]);
        x + 300
    }),
    written("A negative power of integers", "To divide 1 by the squares.", |g| {
        let x = g.input::<i32>("x", shape![4]);
        x.pow(-2)
    }),
    written("A condition that is not bool", "To replace zeros with ones.", |g| {
        let x = g.input::<f32>("x", shape![4]);
        select(x, x, 1)
    }),
    written("Indices that are not integers", "To look up rows of a table.", |g| {
        let table = g.input::<f32>("table", shape![10, 3]);
        let at = g.input::<f32>("at", shape![4]);
        table.take(at, 0)
    }),
    written("One name for two shapes", "To declare two inputs.", |g| {
        let x = g.input::<f32>("x", shape![3]);
        let y = g.input::<f32>("x", shape![4]);
        concat([x, y], 0)
    }),
    written("An empty name", "To declare an input that is passed by position.", |g| {
        g.input::<f32>("", shape![3])
    }),
    called("Two outputs with one name", "To compute two results.", |g| {
        let x = g.input::<f32>("x", shape![3]);
        Ok(g.compile([("y", x + 1), ("y", x * 2)])?.run(&[1.0f32, 2.0, 3.0])?)
    }),
    called("No outputs", "To compile an expression.", |g| {
        let x = g.input::<f32>("x", shape![3]);
        let _ = x + 1;
        Ok(g.compile([])?.run(&[1.0f32, 2.0, 3.0])?)
    }),
    written("Tensors from two graphs", "To add tensors that two functions made.", |g| {
        let other = Graph::new();
        let x = g.input::<f32>("x", shape![3]);
        let y = other.input::<f32>("y", shape![3]);
        x + y
    }),
    written("A dropped graph", "To use a tensor after its graph was dropped.", |g| {
        let y = Graph::new().input::<f32>("y", shape![3]);
        g.input::<f32>("x", shape![3]) + y
    }),
    written(
        "Several at once",
        "All independent mistakes are reported; whatever depends on one stays silent.",
        |g| {
            let a = g.input::<f32>("a", shape![3]);
            let b = g.input::<f32>("b", shape![4]);
            let wrong = a + b;
            let silent = (wrong * 2).sum(7);
            silent + b.sum(1)
        },
    ),
];
