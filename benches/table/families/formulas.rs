//! Formulas of several functions and what is cheap between them.

use crate::by_hand::Level;
use crate::by_hand::formulas::{haversine, prices_f32, prices_f64};
use crate::harness::contest::{Loop, agreeing, alone, kernel, numbers, of, pool};
use crate::harness::contest::{array, compiled, is_close};
use crate::harness::{Asked, Contender, Suite};
use broadloom::prelude::*;
use broadloom::{Array, Element, Threads};
use std::rc::Rc;

/// Of a loop by hand with the same definitions of functions.
const OF_BY_HAND: Asked = Asked::Ratio(1.2);
const COUNT: usize = 64 << 10;

pub fn entries(suite: &mut Suite) {
    let close = |a: &f64, b: &f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
    black_scholes::<f32>(suite, "f32", |x| x, prices_f32, is_close);
    black_scholes::<f64>(suite, "f64", f64::from, prices_f64, close);
    distances(suite);
    two_threads(suite);
}

/// The price of an option to buy, by the formula of Black and Scholes.
fn price<T: Element>(g: &Graph) -> Tensor {
    let n = g.symbol("n");
    let [spot, strike, years] = ["spot", "strike", "years"].map(|name| g.input::<T>(name, shape![n]));
    let spread = 0.2 * years.sqrt();
    let first = ((spot / strike).log() + (0.03 + 0.2 * 0.2 / 2.0) * years) / spread;
    let normal = |x: Tensor| 1 + (x * std::f64::consts::FRAC_1_SQRT_2).erf();
    let discounted = strike * (-0.03 * years).exp();
    0.5 * (spot * normal(first) - discounted * normal(first - spread))
}

/// Prices of today, prices agreed upon, and years until then.
fn market<T: Element>(count: usize, number: fn(f32) -> T) -> [Rc<Array<T>>; 3] {
    [(21, 50.0), (22, 50.0), (23, 0.1)]
        .map(|(seed, least)| of(numbers(count, seed).map(|x| number(least * (1.0 + x))).collect(), &[count]))
}

fn black_scholes<T: Element + Default + Clone>(
    suite: &mut Suite,
    name: &str,
    number: fn(f32) -> T,
    by_hand: fn(Level, [&[T]; 3], &mut [T]),
    is_close: fn(&T, &T) -> bool,
) {
    let (level, count) = (suite.level, suite.size(COUNT));
    suite.ratio(&format!("Black-Scholes, {name}, 64 Ki elements"), OF_BY_HAND, || {
        let inputs = market(count, number);
        let [spot, strike, years] = inputs.clone();
        let broadloom = kernel(alone(price::<T>(&Graph::new())), vec![spot, strike, years], &[count]);
        let hand: Loop<T> =
            Box::new(move |out| by_hand(level, inputs.each_ref().map(|input| input.as_slice()), out));
        agreeing(count, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

fn distances(suite: &mut Suite) {
    let (level, count) = (suite.level, suite.size(COUNT));
    suite.ratio("haversine distances, 64 Ki elements", OF_BY_HAND, || {
        const FROM: [f32; 2] = [0.8, 0.2];
        let g = Graph::new();
        let n = g.symbol("n");
        let [latitude, longitude] = ["latitude", "longitude"].map(|name| g.input::<f32>(name, shape![n]));
        let half_sine = |x: Tensor, from: f32| ((x - from) * 0.5).sin().square();
        let across = half_sine(longitude, FROM[1]) * (latitude.cos() * FROM[0].cos());
        let compiled = alone(2 * (half_sine(latitude, FROM[0]) + across).sqrt().asin());
        let (latitudes, longitudes) = (array(&[count], 24), array(&[count], 25));
        let broadloom = kernel(compiled, vec![latitudes.clone(), longitudes.clone()], &[count]);
        let hand: Loop<f32> = Box::new(move |out| {
            haversine(level, FROM, [latitudes.as_slice(), longitudes.as_slice()], out);
        });
        agreeing(count, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// Threads share what is bound by computing.
fn two_threads(suite: &mut Suite) {
    let count = suite.size(512 << 10);
    suite.ratio("Black-Scholes, f64, 512 Ki elements, two threads", Asked::Ratio(0.55), || {
        let inputs = market(count, f64::from);
        let with = |name, threads: Threads| {
            let compiled = compiled(price::<f64>(&Graph::new()), threads);
            let [spot, strike, years] = inputs.clone();
            let mut run = kernel(compiled, vec![spot, strike, years], &[count]);
            let mut out = vec![0.0_f64; count];
            Contender::new(name, move || run(&mut out))
        };
        vec![with("two threads", pool(2)), with("one thread", Threads::Calling)]
    });
}
