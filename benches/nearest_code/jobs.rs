//! What is measured: the same job done by Broadloom on one thread, by hand, and as one writes it first.

use crate::by_hand::{self, Level};
use broadloom::prelude::*;
use broadloom::{Array, Threads};
use std::rc::Rc;

/// One way to do a job.
pub struct Contender {
    pub name: &'static str,
    pub run: Box<dyn FnMut()>,
}

/// A job and the ways to do it: Broadloom first, then the best by hand, then others.
pub struct Job {
    pub name: String,
    /// How many things are computed, and what they are called.
    pub things: usize,
    pub unit: &'static str,
    pub contenders: Vec<Contender>,
}

/// A loop that writes a result.
type Loop<T> = Box<dyn FnMut(&mut [T])>;

/// All jobs, on arrays smaller by a factor `shrink`.
pub fn jobs(level: Level, shrink: usize) -> Vec<Job> {
    let elementwise = [64 << 10, 4 << 20].map(|count| count / shrink);
    let mut jobs = vec![
        nearest::<3, false>(level, 1_000_000 / shrink, 16),
        nearest::<8, false>(level, 200_000 / shrink, 256),
        nearest::<3, true>(level, 1_000_000 / shrink, 16),
    ];
    jobs.extend(elementwise.map(|count| {
        let expression = |x: Tensor, y: Tensor| 2.5 * x + y;
        two_inputs(level, "2.5 * x + y", count, expression, by_hand::axpy)
    }));
    jobs.extend(elementwise.map(|count| {
        let expression = |x: Tensor, y: Tensor| {
            let t = (x * 1.5 - y).abs() + 0.25;
            (t * t - x).minimum(4)
        };
        two_inputs(level, "chain of seven", count, expression, by_hand::chain)
    }));
    let rows = (4096 / shrink).next_multiple_of(8);
    jobs.push(squares(level, "row sums of x * x", rows, rows, |x| (x * x).sum(1), by_hand::row_sums));
    jobs.push(squares(level, "column sums of x * x", rows, 1024, |x| (x * x).sum(0), by_hand::column_sums));
    jobs.push(squares(level, "full sum of x * x", rows, 1, |x| (x * x).sum(..), by_hand::full_sum));
    jobs
}

fn one_thread() -> CompileOptions {
    CompileOptions { threads: Threads::Calling, ..CompileOptions::default() }
}

/// Numbers in 0 .. 1 that look random and are the same every time.
fn numbers(count: usize, mut state: u64) -> Vec<f32> {
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    (0..count).map(|_| next()).collect()
}

fn array(shape: &[usize], seed: u64) -> Rc<Array<f32>> {
    let elements = numbers(shape.iter().product(), seed);
    Rc::new(Array::new(elements, shape).expect("as many elements as the shape has"))
}

/// `argmin` over codes of the distance, rooted as NumPy's guide writes it or not.
fn nearest<const D: usize, const ROOT: bool>(level: Level, n: usize, k: usize) -> Job {
    let g = Graph::new();
    let [rows, choices] = g.symbols(["n", "k"]);
    let obs = g.input::<f32>("obs", shape![rows, D]);
    let codes = g.input::<f32>("codes", shape![choices, D]);
    let squared = (codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1);
    let distance = if ROOT { squared.sqrt() } else { squared };
    let kernel = distance.argmin(1).compile_with(&one_thread()).expect("nearest code compiles");

    let (obs, codes) = (array(&[n, D], 1), array(&[k, D], 2));
    let broadloom: Loop<i64> = {
        let (obs, codes) = (obs.clone(), codes.clone());
        Box::new(move |out| {
            kernel.run_into(inputs! { "obs" => &*obs, "codes" => &*codes }, out).expect("the arrays fit");
        })
    };
    let hand: Loop<i64> = {
        let (obs, codes) = (obs.clone(), codes.clone());
        Box::new(move |out| by_hand::nearest::<D, ROOT>(level, obs.as_slice(), codes.as_slice(), out))
    };
    let naive: Loop<i64> =
        Box::new(move |out| by_hand::nearest_naive::<ROOT>(obs.as_slice(), codes.as_slice(), D, out));
    let root = if ROOT { ", with sqrt" } else { "" };
    let contenders = vec![("broadloom", broadloom), ("by hand", hand), ("naive", naive)];
    job(format!("nearest code ({n}, {k}, {D}){root}"), n, "row", n, |a, b| a == b, contenders)
}

/// An expression of two arrays of one axis.
fn two_inputs(
    level: Level,
    name: &str,
    count: usize,
    expression: fn(Tensor, Tensor) -> Tensor,
    by_hand: fn(Level, &[f32], &[f32], &mut [f32]),
) -> Job {
    let g = Graph::new();
    let n = g.symbol("n");
    let inputs = ["x", "y"].map(|name| g.input::<f32>(name, shape![n]));
    let kernel = expression(inputs[0], inputs[1]).compile_with(&one_thread()).expect("the chain compiles");

    let (x, y) = (Rc::new(numbers(count, 3)), Rc::new(numbers(count, 4)));
    let broadloom: Loop<f32> = {
        let (x, y) = (x.clone(), y.clone());
        Box::new(move |out| kernel.run_into((&*x, &*y), out).expect("the arrays fit"))
    };
    let hand: Loop<f32> = Box::new(move |out| by_hand(level, &x, &y, out));
    let contenders = vec![("broadloom", broadloom), ("by hand", hand)];
    job(format!("{name}, {count} elements"), count, "element", count, is_close, contenders)
}

/// A reduction of the squares of rows of 1,024.
fn squares(
    level: Level,
    name: &str,
    rows: usize,
    results: usize,
    expression: fn(Tensor) -> Tensor,
    by_hand: fn(Level, &[f32], &mut [f32]),
) -> Job {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let result = expression(g.input::<f32>("x", shape![n, m]));
    let is_scalar = result.rank() == 0;
    let kernel = result.compile_with(&one_thread()).expect("the sum compiles");

    let x = array(&[rows, 1024], 5);
    let broadloom: Loop<f32> = {
        let x = x.clone();
        Box::new(move |out| {
            let shape = if is_scalar { &[][..] } else { &[out.len()][..] };
            let out = ArrayViewMut::new(out, shape).expect("one element has no axes");
            kernel.run_into(inputs! { "x" => &*x }, out).expect("the arrays fit");
        })
    };
    let hand: Loop<f32> = Box::new(move |out| by_hand(level, x.as_slice(), out));
    let contenders = vec![("broadloom", broadloom), ("by hand", hand)];
    job(format!("{name}, {rows} x 1024"), rows * 1024, "element", results, is_close, contenders)
}

/// Whether two ways to add agree; the order of sums is everyone's own.
fn is_close(a: &f32, b: &f32) -> bool {
    (a - b).abs() <= 1e-3 * (1.0 + a.abs())
}

/// Runs every contender once and compares: whoever is fast and wrong shall not be measured.
fn job<T: Default + Clone + 'static>(
    name: String,
    things: usize,
    unit: &'static str,
    results: usize,
    agree: impl Fn(&T, &T) -> bool,
    contenders: Vec<(&'static str, Loop<T>)>,
) -> Job {
    let mut expected: Option<Vec<T>> = None;
    let contenders = contenders.into_iter().map(|(contender, mut run)| {
        let mut out = vec![T::default(); results];
        run(&mut out);
        let expected = expected.get_or_insert_with(|| out.clone());
        let wrong = out.iter().zip(expected.iter()).filter(|(a, b)| !agree(a, b)).count();
        // Without fused multiply-add the nearest of two nearly equal distances may be the other one.
        assert!(wrong * 1000 <= results, "{name}: {contender} differs in {wrong} of {results} results");
        Contender { name: contender, run: Box::new(move || run(std::hint::black_box(&mut out))) }
    });
    let contenders = contenders.collect();
    Job { name, things, unit, contenders }
}
