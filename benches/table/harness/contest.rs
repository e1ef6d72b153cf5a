//! Contenders that write results, which are compared before anything is measured; and what they are made of.

use super::Contender;
use broadloom::prelude::*;
use broadloom::{Array, Element, IntoArrayView, Threads};
use std::rc::Rc;
use std::sync::Arc;

/// A loop that writes results.
pub type Loop<T> = Box<dyn FnMut(&mut [T])>;

/// Runs every contender once and compares: a contender that is fast and wrong must not be measured. A result in a thousand may
/// differ, for without fused multiply-add the nearest of two nearly equal distances may be the other one.
pub fn agreeing<T: Default + Clone + 'static>(
    results: usize,
    agree: impl Fn(&T, &T) -> bool,
    loops: Vec<(&'static str, Loop<T>)>,
) -> Vec<Contender> {
    let mut expected: Option<Vec<T>> = None;
    let contenders = loops.into_iter().map(|(name, mut run)| {
        let mut out = vec![T::default(); results];
        run(&mut out);
        let expected = expected.get_or_insert_with(|| out.clone());
        let wrong = out.iter().zip(expected.iter()).filter(|(a, b)| !agree(a, b)).count();
        assert!(wrong * 1000 <= results, "{name} differs in {wrong} of {results} results");
        Contender::new(name, move || run(std::hint::black_box(&mut out)))
    });
    contenders.collect()
}

/// Whether two floats are as near as two orders of a sum, or two definitions of a function, make them.
pub fn is_close(a: &f32, b: &f32) -> bool {
    (a - b).abs() <= 1e-3 * (1.0 + a.abs())
}

/// Whether two floats of 64 bits are as near as other orders of a few operations make them.
pub fn is_near(a: &f64, b: &f64) -> bool {
    (a - b).abs() <= 1e-12 * (1.0 + a.abs())
}

/// An array that is passed to kernels.
pub trait Passed {
    fn view(&self) -> ArrayView<'_>;
}

impl<T: Element> Passed for Array<T> {
    fn view(&self) -> ArrayView<'_> {
        self.into_array_view()
    }
}

/// Calls a kernel on arrays, in the order of its inputs.
pub fn kernel<T: Element>(kernel: Executable, inputs: Vec<Rc<dyn Passed>>, shape: &[usize]) -> Loop<T> {
    let shape = shape.to_vec();
    Box::new(move |out| {
        let views: Vec<ArrayView<'_>> = inputs.iter().map(|input| input.view()).collect();
        let out = ArrayViewMut::new(out, &shape).expect("as many results as the shape has");
        kernel.run_into(views, out).expect("the arrays fit");
    })
}

/// Compiles an expression for one thread.
pub fn alone(expression: Tensor) -> Executable {
    compiled(expression, Threads::Calling)
}

/// Compiles an expression.
pub fn compiled(expression: Tensor, threads: Threads) -> Executable {
    let options = CompileOptions { threads, ..CompileOptions::default() };
    expression.compile_with(&options).expect("the expression compiles")
}

/// A pool with the given number of threads.
pub fn pool(threads: usize) -> Threads {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    Threads::Pool(Arc::new(pool.expect("threads can be started")))
}

/// Numbers in 0 .. 1 that look random and are the same every time.
pub fn numbers(count: usize, mut state: u64) -> impl ExactSizeIterator<Item = f32> {
    (0..count).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    })
}

/// An array of such numbers.
pub fn array(shape: &[usize], seed: u64) -> Rc<Array<f32>> {
    of(numbers(shape.iter().product(), seed).collect(), shape)
}

/// An array of numbers that are made of some in 0 .. 1.
pub fn doubles(shape: &[usize], seed: u64, make: fn(f64) -> f64) -> Rc<Array<f64>> {
    of(numbers(shape.iter().product(), seed).map(|x| make(f64::from(x))).collect(), shape)
}

/// An array of elements.
pub fn of<T: Element>(elements: Vec<T>, shape: &[usize]) -> Rc<Array<T>> {
    Rc::new(Array::new(elements, shape).expect("as many elements as the shape has"))
}
