//! Products of matrices, and what is like them.

use crate::by_hand::Level;
use crate::by_hand::pairs::squared_distances;
use crate::by_hand::peak::{fused_f32, fused_f64};
use crate::harness::contest::{Loop, Passed, agreeing, alone, array, compiled, is_close, kernel, of, pool};
use crate::harness::{Asked, Contender, Suite};
use broadloom::prelude::*;
use broadloom::{Array, Element, Threads, einsum};
use gemm::Parallelism;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, LinalgScalar};
use std::rc::Rc;

/// Of the time of the crate `gemm`.
const OF_A_LIBRARY: f64 = 1.25;
/// The limit: 0.6 of the peak of the CPU, measured by independent multiplications and additions.
const OF_THE_PEAK: f64 = 1.67;
/// From here on a product is large enough for that.
const LARGE: usize = 256;
/// Of the time of a direct loop by hand.
const OF_BY_HAND: Asked = Asked::Ratio(1.25);

pub fn entries(suite: &mut Suite) {
    all::<f32>(suite, |x| x, is_close, fused_f32);
    all::<f64>(suite, f64::from, |a, b| (a - b).abs() <= 1e-9 * (1.0 + a.abs()), fused_f64);
    followed(suite);
    computed(suite);
    summed(suite);
    distances(suite);
    shared(suite);
}

/// The given number of multiplications and additions.
type Fused<T> = fn(Level, usize, &mut [T]);

fn all<T: Element + LinalgScalar + Default>(
    suite: &mut Suite,
    element: fn(f32) -> T,
    is_close: fn(&T, &T) -> bool,
    fused: Fused<T>,
) {
    for n in [64, 256, 512, 1000, 2048] {
        contest(suite, Layout { sizes: [n; 3], transposed: [false; 2] }, element, is_close, fused);
    }
    // Tall, long and flat ones, and one of few columns.
    for sizes in [[10_000, 64, 64], [64, 10_000, 64], [64, 64, 10_000], [10_000, 64, 10]] {
        contest(suite, Layout { sizes, transposed: [false; 2] }, element, is_close, fused);
    }
    for transposed in [[false, true], [true, false]] {
        contest(suite, Layout { sizes: [512; 3], transposed }, element, is_close, fused);
    }
}

/// The sizes n, k and m of `[n, k] @ [k, m]`, and which of the two lie with their axes the other way round.
#[derive(Clone, Copy)]
struct Layout {
    sizes: [usize; 3],
    transposed: [bool; 2],
}

impl Layout {
    /// Sizes of the operands, as they lie in memory.
    fn shapes(self) -> [[usize; 2]; 2] {
        let [n, k, m] = self.sizes;
        [if self.transposed[0] { [k, n] } else { [n, k] }, if self.transposed[1] { [m, k] } else { [k, m] }]
    }

    fn name(self) -> String {
        let [left, right] = [("x", self.transposed[0]), ("y", self.transposed[1])]
            .map(|(name, transposed)| if transposed { format!("{name}.T") } else { name.to_owned() });
        format!("{left} @ {right}")
    }
}

/// The product of matrices whose sizes are symbols, and a row to go on with.
fn product<T: Element>(g: &Graph, transposed: [bool; 2]) -> (Tensor, Tensor) {
    let [n, k, m] = g.symbols(["n", "k", "m"]);
    let left = if transposed[0] { shape![k, n] } else { shape![n, k] };
    let right = if transposed[1] { shape![m, k] } else { shape![k, m] };
    let (x, y) = (g.input::<T>("x", left), g.input::<T>("y", right));
    let x = if transposed[0] { x.t() } else { x };
    let y = if transposed[1] { y.t() } else { y };
    (x.matmul(y), g.input::<T>("b", shape![m]))
}

/// By the crate `gemm`, on this thread.
fn by_gemm<T: Element + LinalgScalar>(x: Rc<Array<T>>, y: Rc<Array<T>>, layout: Layout) -> Loop<T> {
    Box::new(move |out| {
        let [n, k, m] = layout.sizes;
        assert!(x.as_slice().len() == n * k && y.as_slice().len() == k * m && out.len() == n * m);
        // Steps to the next column and to the next row, in elements.
        let steps = |[_, inner]: [usize; 2], transposed: bool| {
            if transposed { [inner as isize, 1] } else { [1, inner as isize] }
        };
        let [left, right] = layout.shapes();
        let (left, right) = (steps(left, layout.transposed[0]), steps(right, layout.transposed[1]));
        // SAFETY: the arrays have as many elements as the sizes and steps say, and no element of `out` is an operand's.
        unsafe {
            gemm::gemm(
                n,
                m,
                k,
                out.as_mut_ptr(),
                1,
                m as isize,
                false,
                x.as_slice().as_ptr(),
                left[0],
                left[1],
                y.as_slice().as_ptr(),
                right[0],
                right[1],
                T::zero(),
                T::one(),
                false,
                false,
                false,
                Parallelism::None,
            );
        }
    })
}

/// By the crate `matrixmultiply`, on which ndarray's products rest.
fn by_matrixmultiply<T: Element + LinalgScalar>(x: Rc<Array<T>>, y: Rc<Array<T>>, layout: Layout) -> Loop<T> {
    Box::new(move |out| {
        let [n, _, m] = layout.sizes;
        let view = |elements, shape: [usize; 2], transposed| {
            let view = ArrayView2::from_shape(shape, elements).expect("a matrix");
            if transposed { view.reversed_axes() } else { view }
        };
        let [left, right] = layout.shapes();
        let x = view(x.as_slice(), left, layout.transposed[0]);
        let y = view(y.as_slice(), right, layout.transposed[1]);
        let mut out = ArrayViewMut2::from_shape([n, m], out).expect("a matrix");
        general_mat_mul(T::one(), &x, &y, T::zero(), &mut out);
    })
}

fn contest<T: Element + LinalgScalar + Default>(
    suite: &mut Suite,
    layout: Layout,
    element: fn(f32) -> T,
    is_close: fn(&T, &T) -> bool,
    fused: Fused<T>,
) {
    let layout = Layout { sizes: layout.sizes.map(|size| suite.size(size)), ..layout };
    let (level, [n, k, m], shapes) = (suite.level, layout.sizes, layout.shapes());
    let sizes = match shapes {
        [left, right] if left == right => format!("{} x {}", left[0], left[1]),
        [left, right] => format!("{} x {} and {} x {}", left[0], left[1], right[0], right[1]),
    };
    let asked = match n.min(k).min(m) >= LARGE {
        true => Asked::Both(OF_A_LIBRARY, OF_THE_PEAK),
        false => Asked::Ratio(OF_A_LIBRARY),
    };
    suite.ratio(&format!("{}, {} of {sizes}", layout.name(), T::DTYPE), asked, || {
        let [x, y] = [(shapes[0], 3), (shapes[1], 4)].map(|(shape, seed)| {
            let numbers: Vec<T> = array(&shape, seed).as_slice().iter().map(|x| element(*x)).collect();
            of(numbers, &shape)
        });
        let g = Graph::new();
        let compiled = alone(product::<T>(&g, layout.transposed).0);
        let broadloom = kernel(compiled, vec![x.clone(), y.clone()], &[n, m]);
        let gemm = by_gemm(x.clone(), y.clone(), layout);
        let loops = vec![
            ("broadloom", broadloom),
            ("gemm", gemm),
            ("matrixmultiply", by_matrixmultiply(x, y, layout)),
        ];
        let mut contenders = agreeing(n * m, is_close, loops);
        let mut out = [T::default(); 64];
        contenders.insert(2, Contender::new("the peak", move || fused(level, n * k * m, &mut out)));
        contenders
    });
}

/// Ops after a product run on its results in registers or in the cache.
fn followed(suite: &mut Suite) {
    let n = suite.size(512);
    suite.ratio(&format!("relu(x @ y + b), f32 of {n} x {n}"), Asked::Ratio(1.05), || {
        let (x, y, b) = (array(&[n, n], 3), array(&[n, n], 4), array(&[n], 5));
        let g = Graph::new();
        let mut followed = kernel(
            alone({
                let (product, b) = product::<f32>(&g, [false; 2]);
                (product + b).relu()
            }),
            vec![x.clone(), y.clone(), b],
            &[n, n],
        );
        let mut bare = kernel(alone(product::<f32>(&g, [false; 2]).0), vec![x, y], &[n, n]);
        let (mut out, mut other) = (vec![0.0_f32; n * n], vec![0.0_f32; n * n]);
        vec![
            Contender::new("broadloom", move || followed(&mut out)),
            Contender::new("the product alone", move || bare(&mut other)),
        ]
    });
}

/// An operand of a product, computed from `[n, n]` and a number for each of its rows.
type Computed = fn(Tensor, Tensor) -> Tensor;

/// Products of computed operands, beside a pass that stores the operand and the product of what is stored.
fn computed(suite: &mut Suite) {
    const OPERANDS: [(&str, Computed); 3] = [
        ("maximum(x, u[:, None]) @ y", |x, u| x.maximum(u.unsqueeze(1))),
        ("(x - u[:, None]) @ y", |x, u| x - u.unsqueeze(1)),
        ("(x * u).T @ y", |x, u| (x * u).t()),
    ];
    let n = suite.size(512);
    for (name, operand) in OPERANDS {
        suite.ratio(&format!("{name}, f32 of {n} x {n}"), Asked::Ratio(1.1), || {
            let (x, y, u) = (array(&[n, n], 3), array(&[n, n], 4), array(&[n], 5));
            let graph = || {
                let g = Graph::new();
                let rows = g.symbol("n");
                let (x, u) = (g.input::<f32>("x", shape![rows, rows]), g.input::<f32>("u", shape![rows]));
                (g.input::<f32>("y", shape![rows, rows]), operand(x, u), g)
            };
            let (right, left, _graph) = graph();
            let inputs: Vec<Rc<dyn Passed>> = vec![x.clone(), u.clone(), y.clone()];
            let mut fused = kernel(alone(left.matmul(right)), inputs, &[n, n]);
            let (_, stored, _graph) = graph();
            let mut pass = kernel(alone(stored), vec![x, u], &[n, n]);
            let g = Graph::new();
            let plain = alone(product::<f32>(&g, [false; 2]).0);
            let (mut out, mut other) = (vec![0.0_f32; n * n], vec![0.0_f32; n * n]);
            let mut held = Array::new(vec![0.0_f32; n * n], &[n, n]).expect("as many elements");
            vec![
                Contender::new("broadloom", move || fused(&mut out)),
                Contender::new("a pass and the product", move || {
                    pass(held.as_mut_slice());
                    let target = ArrayViewMut::new(&mut other, &[n, n]).expect("as many results");
                    plain.run_into((&held, y.view()), target).expect("the arrays fit");
                }),
            ]
        });
    }
}

/// A sum over two axes, as of the heads of attention, beside one over the axis that they make: a product of matrices.
fn summed(suite: &mut Suite) {
    const HEADS: usize = 8;
    let n = suite.size(512);
    let d = n / HEADS;
    suite.ratio(&format!("einsum 'qhd,hdo->qo', f32 of {n} x {HEADS} x {d}"), OF_BY_HAND, || {
        let g = Graph::new();
        let [q, o] = g.symbols(["q", "o"]);
        let (x, y) = (g.input::<f32>("x", shape![q, HEADS, d]), g.input::<f32>("y", shape![HEADS, d, o]));
        let summed = alone(einsum("qhd,hdo->qo", [x, y]));
        let mut summed = kernel(summed, vec![array(&[n, HEADS, d], 3), array(&[HEADS, d, n], 4)], &[n, n]);
        let arrays: Vec<Rc<dyn Passed>> = vec![array(&[n, n], 3), array(&[n, n], 4)];
        let mut product = kernel(alone(product::<f32>(&Graph::new(), [false; 2]).0), arrays, &[n, n]);
        let (mut out, mut other) = (vec![0.0_f32; n * n], vec![0.0_f32; n * n]);
        vec![
            Contender::new("broadloom", move || summed(&mut out)),
            Contender::new("the product of one axis", move || product(&mut other)),
        ]
    });
}

/// Squares of differences are two operations where a product has one. By a product they are three passes over the table,
/// and cancel where points are near each other.
fn distances(suite: &mut Suite) {
    let (level, n) = (suite.level, suite.size(512));
    suite.ratio(&format!("squared distances of {n} and {n} points, d = {n}"), OF_BY_HAND, || {
        let (x, y) = (array(&[n, n], 3), array(&[n, n], 4));
        let g = Graph::new();
        let [rows, k, columns] = g.symbols(["n", "k", "m"]);
        let (left, right) = (g.input::<f32>("x", shape![rows, k]), g.input::<f32>("y", shape![columns, k]));
        let distances = alone((left.unsqueeze(1) - right).square().sum(-1));
        let broadloom = kernel(distances, vec![x.clone(), y.clone()], &[n, n]);
        let hand: Loop<f32> = {
            let (x, y) = (x.clone(), y.clone());
            Box::new(move |out| squared_distances(level, n, x.as_slice(), y.as_slice(), out))
        };
        let layout = Layout { sizes: [n; 3], transposed: [false, true] };
        let mut product = by_matrixmultiply(x.clone(), y.clone(), layout);
        let by_product: Loop<f32> = Box::new(move |out| {
            let [x_squares, y_squares] = [&x, &y].map(|points| {
                let squares = |point: &[f32]| point.iter().map(|x| x * x).sum::<f32>();
                points.as_slice().chunks_exact(n).map(squares).collect::<Vec<f32>>()
            });
            product(out);
            for (row, x) in out.chunks_exact_mut(n).zip(x_squares) {
                for (distance, y) in row.iter_mut().zip(&y_squares) {
                    *distance = x + y - 2.0 * *distance;
                }
            }
        });
        let loops = vec![
            ("broadloom", broadloom),
            ("the hand-written loop", hand),
            ("a product by matrixmultiply", by_product),
        ];
        agreeing(n * n, is_close, loops)
    });
}

fn shared(suite: &mut Suite) {
    let [n, few, long, wide] = [suite.size(1000), 8, suite.size(3000), suite.size(2000)];
    let square = (format!("x @ y, f32 of {n} x {n}, two threads"), [n, n, n]);
    let layer = (format!("x @ y, f32 of {few} x {long} x {wide}, two threads"), [few, long, wide]);
    for (name, [n, k, m]) in [square, layer] {
        suite.ratio(&name, Asked::Ratio(0.55), || {
            let (x, y) = (array(&[n, k], 3), array(&[k, m], 4));
            let run = |name, threads: Threads| {
                let arrays: Vec<Rc<dyn Passed>> = vec![x.clone(), y.clone()];
                let g = Graph::new();
                let mut run = kernel(compiled(product::<f32>(&g, [false; 2]).0, threads), arrays, &[n, m]);
                let mut out = vec![0.0_f32; n * m];
                Contender::new(name, move || run(&mut out))
            };
            vec![run("two threads", pool(2)), run("one thread", Threads::Calling)]
        });
    }
}
