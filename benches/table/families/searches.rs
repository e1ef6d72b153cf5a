//! Searches in sorted tables, and what is built on them.

use crate::by_hand::searches::{interpolated, places};
use crate::harness::contest::{Loop, agreeing, alone, doubles, is_near, kernel, of};
use crate::harness::{Asked, Suite};
use broadloom::Array;
use broadloom::prelude::*;
use std::rc::Rc;

/// The elements of a table.
const TABLE: usize = 1000;

pub fn entries(suite: &mut Suite) {
    let count = suite.size(1 << 20);
    suite.ratio("places of 1 Mi f64 among 1,000", Asked::Ratio(1.2), || {
        let (x, table) = (doubles(&[count], 81, |x| x), table());
        let g = Graph::new();
        let wanted = g.input::<f64>("x", shape![g.symbol("n")]);
        let sorted = g.input::<f64>("table", shape![g.symbol("k")]);
        let places_of = alone(sorted.searchsorted(wanted));
        let ours = kernel(places_of, vec![x.clone(), table.clone()], &[count]);
        let hand: Loop<i64> = Box::new(move |out| places(table.as_slice(), x.as_slice(), out));
        agreeing(count, |a, b| a == b, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
    suite.ratio("interp of 1 Mi f64 in 1,000 points", Asked::Ratio(1.2), || {
        let (x, table) = (doubles(&[count], 82, |x| x), table());
        let heights = doubles(&[TABLE], 83, |x| x - 0.5);
        let g = Graph::new();
        let wanted = g.input::<f64>("x", shape![g.symbol("n")]);
        let [xp, fp] = ["xp", "fp"].map(|name| g.input::<f64>(name, shape![g.symbol("k")]));
        let line = alone(wanted.interp(xp, fp));
        let ours = kernel(line, vec![x.clone(), table.clone(), heights.clone()], &[count]);
        let hand: Loop<f64> = Box::new(move |out| {
            interpolated(table.as_slice(), heights.as_slice(), x.as_slice(), out);
        });
        agreeing(count, is_near, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
}

/// Ascending numbers in 0 .. 1.
fn table() -> Rc<Array<f64>> {
    of((0..TABLE).map(|at| ((at as f64 + 0.5) / TABLE as f64).powi(2)).collect(), &[TABLE])
}
