//! The cost of a call beside its work.

use crate::harness::contest::{alone, array};
use crate::harness::{Contender, Suite};
use broadloom::prelude::*;
use broadloom::{Array, Inputs};
use std::hint::black_box;
use std::rc::Rc;

const COUNT: usize = 16;

pub fn entries(suite: &mut Suite) {
    suite.seconds("run_into, 16 elements", 0.3e-6, || {
        let ((x, y), kernel, mut out) = (arrays(), axpy(), [0.0_f32; COUNT]);
        Contender::new("broadloom", move || {
            kernel.run_into((&*x, &*y), black_box(&mut out)).expect("they fit")
        })
    });
    suite.seconds("run, 16 elements", 0.4e-6, || {
        let ((x, y), kernel) = (arrays(), axpy());
        Contender::new("broadloom", move || drop(black_box(kernel.run((&*x, &*y)).expect("they fit"))))
    });
    suite.seconds("run of what is bound, 16 elements", 0.12e-6, || {
        let ((x, y), kernel) = (arrays(), axpy());
        // Arrays that a kernel is bound to outlive it; these are as old as the run.
        let [x, y] = [x, y].map(|array| -> &'static Array<f32> { Box::leak(Box::new((*array).clone())) });
        let bound = kernel.bind((x, y)).expect("they fit");
        Contender::new("broadloom", move || drop(black_box(bound.run().expect("there is a result"))))
    });
    suite.seconds("eval, 16 elements", 1.5e-6, || {
        let (x, y) = arrays();
        Contender::new("broadloom", move || {
            let sums: Vec<f32> = eval((&*x, &*y), |(x, y)| 2.5 * x + y).expect("they fit");
            drop(black_box(sums));
        })
    });
    many_inputs(suite);
}

fn arrays() -> (Rc<Array<f32>>, Rc<Array<f32>>) {
    (array(&[COUNT], 51), array(&[COUNT], 52))
}

fn axpy() -> Executable {
    let g = Graph::new();
    let n = g.symbol("n");
    let [x, y] = ["x", "y"].map(|name| g.input::<f32>(name, shape![n]));
    alone(2.5 * x + y)
}

fn many_inputs(suite: &mut Suite) {
    let count = suite.size(10_000);
    suite.seconds("10,000 inputs by name", 5e-3, || {
        let g = Graph::new();
        let n = g.symbol("n");
        let names: Vec<String> = (0..count).map(|index| format!("x{index}")).collect();
        let inputs = names.iter().map(|name| g.input::<f32>(name, shape![n]));
        let kernel = alone(inputs.reduce(|sum, input| sum + input).expect("there are some"));
        let (x, mut out) = (array(&[COUNT], 53), [0.0_f32; COUNT]);
        Contender::new("broadloom", move || {
            let inputs = names.iter().fold(Inputs::new(), |inputs, name| inputs.named(name, &*x));
            kernel.run_into(inputs, black_box(&mut out)).expect("they fit");
        })
    });
}
