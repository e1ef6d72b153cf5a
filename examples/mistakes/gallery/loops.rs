use super::{Mistake, written};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    written("A step that changes a shape", "To add up the rows of a table, beginning with 0.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        let ([total], []) = scan([g.constant(0.0f32)], [x], |[total], [row]| ([total + row], []));
        total
    }),
    written("A step that changes a dtype", "To halve integers, ten times.", |g| {
        let x = g.input::<i64>("x", shape![g.symbol("n")]);
        let [half] = repeat(10, [x], |_, [x]| [x / 2]);
        half
    }),
    written("A number of steps that is not an integer", "To take as many steps as a time has.", |g| {
        let (x, time) = (g.input::<f64>("x", shape![8]), g.input::<f64>("time", shape![]));
        let [later] = repeat(time / 0.01, [x], |_, [x]| [x * 0.99]);
        later
    }),
    written("A condition of elements", "To halve until all elements are small.", |g| {
        let x = g.input::<f64>("x", shape![8]);
        let [small] = repeat_while([x], |[x]| x.gt(1.0), |[x]| [x / 2]);
        small
    }),
    written("Rows of different numbers", "To take a step for each pair of rows.", |g| {
        let (x, y) = (g.input::<f64>("x", shape![8]), g.input::<f64>("y", shape![9]));
        let ([total], []) = scan([g.constant(0.0f64)], [x, y], |[total], [x, y]| ([total + x * y], []));
        total
    }),
    written("A value of a step outside of its loop", "To use the last correction.", |g| {
        let x = g.input::<f64>("x", shape![8]);
        let mut correction = x;
        repeat(10, [x], |_, [x]| {
            correction = x.sin() / x.cos();
            [x - correction]
        });
        correction
    }),
];
