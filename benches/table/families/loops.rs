//! Steps in time, and recurrences along an axis, beside loops by hand.

use crate::by_hand::Level;
use crate::by_hand::loops::{
    average, averages_of_columns, averages_of_rows, biquad, escape_f32, escape_f64, heat, quadratic,
    thomas_of_columns, thomas_of_rows,
};
use crate::by_hand::updates::stencil;
use crate::harness::contest::{Loop, agreeing, alone, array, doubles, is_close, is_near, kernel, of};
use crate::harness::{Asked, Contender, Suite};
use broadloom::prelude::*;
use broadloom::{Array, Element, Shape, SliceItem};
use std::rc::Rc;

/// How much of a moving average is new.
const NEW: f64 = 0.1;
/// A filter that lets low tones pass: `b0, b1, b2, a1, a2`.
const FILTER: [f32; 5] = [0.0675, 0.1349, 0.0675, -1.143, 0.4128];

pub fn entries(suite: &mut Suite) {
    quadratics(suite);
    escape(suite, "f32", escape_f32, |x| x);
    escape(suite, "f64", escape_f64, f64::from);
    moving_averages(suite);
    one_moving_average(suite);
    biquads(suite);
    tridiagonal(suite);
    for (side, steps) in [(200, 50), (2000, 50)] {
        jacobi(suite, side, steps);
    }
    heats(suite);
    small(suite);
}

/// 50 steps that wait for nothing but each other.
fn quadratics(suite: &mut Suite) {
    let (level, count) = (suite.level, suite.size(1 << 20));
    suite.ratio("50 steps of z * z + c, 1 Mi f64", Asked::Ratio(1.1), || {
        // None of them goes to infinity.
        let (z, c) = (doubles(&[count], 71, |x| x - 0.5), doubles(&[count], 72, |x| x - 0.75));
        let g = Graph::new();
        let n = g.symbol("n");
        let [z_of, c_of] = ["z", "c"].map(|name| g.input::<f64>(name, shape![n]));
        let [after] = repeat(50, [z_of], |_, [z]| [z * z + c_of]);
        let ours = kernel(alone(after), vec![z.clone(), c.clone()], &[count]);
        let hand: Loop<f64> = Box::new(move |out| quadratic(level, z.as_slice(), c.as_slice(), 50, out));
        agreeing(count, is_near, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
}

/// Escape times of the Mandelbrot set, by all steps for all points; by hand, strips of points stop when all are out.
fn escape<T: Element + Default + PartialEq>(
    suite: &mut Suite,
    dtype: &str,
    by_hand: fn(Level, &[T], &[T], usize, &mut [T]),
    number: fn(f32) -> T,
) {
    const STEPS: usize = 200;
    let (level, side) = (suite.level, suite.size(1000).max(32));
    let name = format!("Mandelbrot, 1000 x 1000, {STEPS} steps, {dtype}");
    suite.ratio(&name, Asked::Ratio(1.1), || {
        let places = |from: f32, width: f32| -> Rc<Array<T>> {
            let place = |at: usize| number(from + width * at as f32 / side as f32);
            of((0..side).map(place).collect(), &[side])
        };
        let (cx, cy) = (places(-2.0, 2.5), places(-1.25, 2.5));
        let g = Graph::new();
        let [h, w] = g.symbols(["h", "w"]);
        let (cx_of, cy_of) = (g.input::<T>("cx", shape![w]), g.input::<T>("cy", shape![h]));
        let zero = g.full(shape![h, w], T::default());
        let [_, _, count] = repeat(STEPS, [zero; 3], |_, [x, y, count]| {
            let (xx, yy) = (x * x, y * y);
            let count = select((xx + yy).le(4), count + 1, count);
            [xx - yy + cx_of, 2 * x * y + cy_of.unsqueeze(1), count]
        });
        let ours = kernel(alone(count), vec![cx.clone(), cy.clone()], &[side, side]);
        let hand: Loop<T> = Box::new(move |out| by_hand(level, cx.as_slice(), cy.as_slice(), STEPS, out));
        agreeing(side * side, T::eq, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
}

/// Moving averages with decay along the leading axis of `x`.
fn decayed(g: &Graph, x: Tensor, begin: Tensor) -> Tensor {
    let new = g.constant(NEW);
    let (_, [averages]) = scan([begin], [x], |[before], [x]| {
        let average = (1.0 - new) * before + new * x;
        ([average], [average])
    });
    averages
}

fn moving_averages(suite: &mut Suite) {
    let (level, series, times) = (suite.level, suite.size(1000), suite.size(10_000));
    suite.ratio("moving averages, 1000 series of 10000 f64, in columns", Asked::Ratio(1.1), || {
        let x = doubles(&[times, series], 73, |x| x);
        let g = Graph::new();
        let [t, n] = g.symbols(["t", "n"]);
        let averages = decayed(&g, g.input::<f64>("x", shape![t, n]), g.full(shape![n], 0.0));
        let ours = kernel(alone(averages), vec![x.clone()], &[times, series]);
        let hand: Loop<f64> = Box::new(move |out| averages_of_columns(level, x.as_slice(), series, NEW, out));
        agreeing(times * series, is_near, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
    let series = series.next_multiple_of(8);
    suite.ratio("moving averages, 1000 series of 10000 f64, in rows", Asked::Ratio(1.1), || {
        let x = doubles(&[series, times], 74, |x| x);
        let g = Graph::new();
        let [n, t] = g.symbols(["n", "t"]);
        let averages = decayed(&g, g.input::<f64>("x", shape![n, t]).t(), g.full(shape![n], 0.0)).t();
        let ours = kernel(alone(averages), vec![x.clone()], &[series, times]);
        let hand: Loop<f64> = Box::new(move |out| averages_of_rows(level, x.as_slice(), times, NEW, out));
        agreeing(series * times, is_near, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
}

fn one_moving_average(suite: &mut Suite) {
    let (level, times) = (suite.level, suite.size(1_000_000));
    suite.ratio("a moving average, one series of 1 M f64", Asked::Ratio(1.1), || {
        let x = doubles(&[times], 75, |x| x);
        let g = Graph::new();
        let averages = decayed(&g, g.input::<f64>("x", shape![g.symbol("t")]), g.constant(0.0));
        let ours = kernel(alone(averages), vec![x.clone()], &[times]);
        let hand: Loop<f64> = Box::new(move |out| average(level, x.as_slice(), NEW, out));
        agreeing(times, is_near, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
}

/// A filter of the second order along time.
fn biquads(suite: &mut Suite) {
    let (level, times) = (suite.level, suite.size(48_000));
    suite.ratio("biquad, 256 channels of 48000 f32, in columns", Asked::Ratio(1.1), || {
        let x = array(&[times, 256], 76);
        let g = Graph::new();
        let x_of = g.input::<f32>("x", shape![g.symbol("t"), 256]);
        let zero = g.full(shape![256], 0.0f32);
        let (_, [filtered]) = scan([zero, zero], [x_of], |[first, second], [x]| {
            let [b0, b1, b2, a1, a2] = FILTER;
            let y = x * b0 + first;
            ([x * b1 - y * a1 + second, x * b2 - y * a2], [y])
        });
        let ours = kernel(alone(filtered), vec![x.clone()], &[times, 256]);
        let hand: Loop<f32> = Box::new(move |out| biquad(level, x.as_slice(), 256, &FILTER, out));
        agreeing(times * 256, is_close, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
}

/// Solutions of tridiagonal systems along the leading axis: a scan forward, and one backward over what it gives.
fn thomas([low, middle, high, side]: [Tensor; 4], zero: Tensor) -> Tensor {
    let rows = [low, middle, high, side];
    let (_, [factor, right]) = scan([zero, zero], rows, |[above, before], [low, middle, high, side]| {
        let pivot = 1.0 / (middle - low * above);
        let next = [high * pivot, (side - low * before) * pivot];
        (next, next)
    });
    let (_, [solution]) = scan([zero], [factor.flip(0), right.flip(0)], |[after], [factor, right]| {
        let solution = right - factor * after;
        ([solution], [solution])
    });
    solution.flip(0)
}

fn tridiagonal(suite: &mut Suite) {
    let (level, systems, size) = (suite.level, suite.size(4096), suite.size(512));
    for in_columns in [true, false] {
        let (shape, layout) =
            if in_columns { ([size, systems], "columns") } else { ([systems, size], "rows") };
        let name = format!("4096 tridiagonal systems of 512 f64, in {layout}");
        suite.ratio(&name, Asked::Ratio(1.15), || {
            let low = doubles(&shape, 77, |x| x - 0.5);
            let middle = doubles(&shape, 78, |x| x + 2.0);
            let high = doubles(&shape, 79, |x| x - 0.5);
            let side = doubles(&shape, 80, |x| x);
            let arrays = [low, middle, high, side];
            let g = Graph::new();
            let [n, m] = g.symbols(["n", "m"]);
            let inputs = ["low", "middle", "high", "side"].map(|name| g.input::<f64>(name, shape![n, m]));
            let solution = match in_columns {
                true => thomas(inputs, g.full(shape![m], 0.0)),
                false => thomas(inputs.map(|input| input.t()), g.full(shape![n], 0.0)).t(),
            };
            let given = arrays.iter().map(|array| array.clone() as Rc<_>).collect();
            let ours = kernel(alone(solution), given, &shape);
            let by_hand = if in_columns { thomas_of_columns } else { thomas_of_rows };
            let hand: Loop<f64> = Box::new(move |out| {
                by_hand(level, &arrays.each_ref().map(|array| array.as_slice()), shape[1], out);
            });
            agreeing(systems * size, is_near, vec![("broadloom", ours), ("the hand-written loop", hand)])
        });
    }
}

/// The contenders for a stencil that takes steps of two sweeps, from one array to another and back.
fn sweeps<const RANK: usize>(
    (side, steps): (usize, usize),
    inner: fn(Tensor) -> Tensor,
    by_hand: impl Fn(&[f64], &mut [f64]) + 'static,
) -> Vec<Contender> {
    let shape = [side; RANK];
    let x = doubles(&shape, 81, |x| x);
    let g = Graph::new();
    let n = g.symbol("n");
    let x_of = g.input::<f64>("x", Shape::from([n; RANK]));
    let sweep = |from: Tensor, to: Tensor| to.at([SliceItem::from((1, -1)); RANK]).set(inner(from));
    let [after, _] = repeat(steps, [x_of, x_of], |_, [a, b]| {
        let b = sweep(a, b);
        [sweep(b, a), b]
    });
    let count = x.as_slice().len();
    let ours = kernel(alone(after), vec![x.clone()], &shape);
    let mut other = x.as_slice().to_vec();
    let hand: Loop<f64> = Box::new(move |out| {
        out.copy_from_slice(x.as_slice());
        for _ in 0..steps {
            by_hand(out, &mut other);
            by_hand(&other, out);
        }
    });
    agreeing(count, is_near, vec![("broadloom", ours), ("the hand-written loops", hand)])
}

/// The part of a tensor that lies by so much beside the inner points along an axis.
fn beside(x: Tensor, axis: usize, by: i64) -> Tensor {
    let rank = x.rank();
    (0..rank).fold(x, |x, at| match (at == axis, by) {
        (true, -1) => x.slice_axis(at, ..-2, 1),
        (true, 1) => x.slice_axis(at, 2.., 1),
        _ => x.slice_axis(at, (1, -1), 1),
    })
}

fn jacobi(suite: &mut Suite, side: usize, steps: usize) {
    let (level, name) = (suite.level, format!("jacobi_2d, {side} x {side} f64, {} sweeps", 2 * steps));
    let (side, steps) = (suite.size(side), suite.size(steps));
    suite.ratio(&name, Asked::Ratio(1.1), || {
        let inner = |x: Tensor| {
            let [left, right, above, below] =
                [(1, -1), (1, 1), (0, -1), (0, 1)].map(|(axis, by)| beside(x, axis, by));
            0.2 * (beside(x, 0, 0) + left + right + below + above)
        };
        sweeps::<2>((side, steps), inner, move |from, to| stencil(level, from, side, to))
    });
}

fn heats(suite: &mut Suite) {
    let (level, side, steps) = (suite.level, suite.size(100), suite.size(25));
    suite.ratio("heat_3d, 100 x 100 x 100 f64, 50 sweeps", Asked::Ratio(1.1), || {
        let inner = |x: Tensor| {
            let here = beside(x, 0, 0);
            let [planes, rows, columns] =
                [0, 1, 2].map(|axis| 0.125 * (beside(x, axis, 1) - 2.0 * here + beside(x, axis, -1)));
            planes + rows + columns + here
        };
        sweeps::<3>((side, steps), inner, move |from, to| heat(level, from, side, to))
    });
}

/// Steps that cost what a step costs.
fn small(suite: &mut Suite) {
    let steps = suite.size(1_000_000);
    suite.seconds("1 M steps that flip 8 f64", 0.3, || {
        let g = Graph::new();
        let [after] = repeat(steps, [g.input::<f64>("x", shape![8])], |_, [x]| [x.flip(0)]);
        let (kernel, mut out) = (alone(after), [0.0f64; 8]);
        Contender::new("broadloom", move || {
            kernel.run_into(&[1.0f64; 8], &mut out).expect("the arrays fit");
        })
    });
}
