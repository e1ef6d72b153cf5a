//! Forms that random steps hit too rarely: one for each kind of loop that the compiler knows.

use crate::build::{Builder, apply, reduce, running};
use crate::recipe::Draw;
use broadloom::{DType, Dim, Op, Tensor, einsum, select, slice};
use broadloom_ir::reduce::ReduceOp;

const FUNCTIONS: [Op; 6] = [Op::Exp, Op::Sin, Op::Tanh, Op::Log, Op::Cos, Op::Pow];

type Idiom = fn(&mut Builder, &mut Draw) -> Tensor;

const IDIOMS: &[Idiom] = &[
    normalised,
    nearest,
    distances,
    matrix_product,
    outer_product,
    density,
    statistics,
    differences,
    weighted_extremes,
    pixels,
    row_of_functions,
    totals,
    gathered,
    masked,
    shared_function,
    row_of_functions,
    any_ops,
    any_ops,
    any_ops,
    any_ops,
    any_reductions,
    any_reductions,
    any_reductions,
    any_reductions,
    any_ops,
    short_axis,
    columns,
    running_results,
    columns,
    gathered,
    nearest,
    short_product,
    contraction,
    pairs_of_tables,
    pairs_of_tables,
    running_results,
    running_results,
    running_results,
    nearest,
    pixels,
    nearest,
];

/// A tensor of one of the forms, with its parts kept for other steps.
pub fn idiom(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    draw.of(IDIOMS)(builder, draw)
}

/// Any dtype, half the time one of those with which every form of loop is reached.
fn any_dtype(draw: &mut Draw) -> DType {
    use DType::*;
    let main = [Bool, U8, I32, I64, F32, F64];
    if draw.next(2) == 0 { draw.of(DType::ALL) } else { draw.of(&main) }
}

fn float(draw: &mut Draw) -> DType {
    draw.of(&[DType::F32, DType::F64])
}

fn function(x: Tensor, draw: &mut Draw) -> Tensor {
    match draw.of(&FUNCTIONS) {
        Op::Pow => x.pow(x),
        op => apply(op, &[x]),
    }
}

/// A matrix: one that there is, if it is not empty for all sizes, or an input.
fn matrix(builder: &mut Builder, dtype: DType, draw: &mut Draw) -> Tensor {
    let [n, m, _] = builder.symbols.map(Dim::from);
    let known = builder.pick(draw);
    let elements = known.shape().iter().all(|dim| dim.as_constant() != Some(0));
    if known.rank() == 2 && elements && draw.next(2) == 0 {
        return known.cast_to(dtype);
    }
    let x = builder.input(dtype, [n, m]);
    builder.keep(x);
    x
}

/// Running results along rows or columns, of what is computed, and used.
fn running_results(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let dtype = if draw.next(2) == 0 { float(draw) } else { any_dtype(draw) };
    let x = matrix(builder, dtype, draw);
    let of = match draw.next(4) {
        0 => function(x.cast_to(float(draw)), draw),
        1 => x.t(),
        _ => x,
    };
    let results = running(of, draw.next(2), draw);
    builder.keep(results);
    match draw.next(4) {
        0 => function(results.cast_to(float(draw)), draw),
        1 => running(results, draw.next(2), draw),
        2 => results.max(draw.next(2)),
        _ => results,
    }
}

/// Softmax or standardisation, along rows or columns.
fn normalised(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let dtype = float(draw);
    let x = matrix(builder, dtype, draw);
    let axis = draw.next(2) as i64;
    if draw.next(2) == 0 {
        let e = if draw.next(3) == 0 { x.exp() } else { (x - x.max_keepdims(axis)).exp() };
        let sum = e.sum_keepdims(axis);
        builder.keep(sum);
        e / sum
    } else {
        let centered = x - x.mean_keepdims(axis);
        let variance = centered.square().mean_keepdims(axis);
        builder.keep(variance);
        centered / (variance + 1e-5).sqrt()
    }
}

/// Extremes of sums over pairs, and where they are.
fn nearest(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, k] = builder.symbols.map(Dim::from);
    let dtype = draw.of(&[DType::F32, DType::F64, DType::F32, DType::F64, DType::I32]);
    let terms = draw.of(&[3, 8, 17, 2, 5, 65].map(Dim::from));
    let terms = if draw.next(6) == 0 { m } else { terms };
    let (x, y) = match draw.next(3) {
        0 => (builder.input(dtype, [n, terms]).unsqueeze(1), builder.input(dtype, [k, terms]).unsqueeze(0)),
        1 => (builder.input(dtype, [k, terms]).unsqueeze(0), builder.input(dtype, [n, terms]).unsqueeze(1)),
        _ => (
            builder.input(dtype, [terms, n]).t().unsqueeze(1),
            builder.input(dtype, [terms, k]).t().unsqueeze(0),
        ),
    };
    let sum = match draw.next(4) {
        0 => (x - y).square().sum(2),
        1 => (x - y).square().sum(-1).sqrt(),
        2 => (x * y).sum(2),
        _ => (x - y).abs().sum(2),
    };
    let extremes = [ReduceOp::ArgMin, ReduceOp::Min, ReduceOp::ArgMax, ReduceOp::Max];
    let axis = if draw.next(4) == 0 { 0 } else { 1 };
    let kept = reduce(draw.of(&extremes), sum, vec![axis], draw.next(4) == 0);
    builder.keep(kept);
    reduce(draw.of(&extremes), sum, vec![axis], false)
}

/// A table of distances or counts of differences.
fn distances(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, k] = builder.symbols.map(Dim::from);
    let dtype = draw.of(&[DType::F32, DType::U8, DType::F64, DType::Bool, DType::I64]);
    let terms = draw.of(&[Dim::from(3), m, Dim::from(5)]);
    let (x, y) =
        (builder.input(dtype, [n, terms]).unsqueeze(1), builder.input(dtype, [k, terms]).unsqueeze(0));
    let differ =
        if dtype.is_float() && draw.next(2) == 0 { (x - y).square().sum(2) } else { x.not_equal(y).sum(2) };
    match draw.next(4) {
        0 => differ.min(1),
        1 => differ,
        other => builder.best(differ, 1 + draw.next(3), 3 - other, draw),
    }
}

/// A product of matrices over an axis so short that its sums are in order.
fn short_product(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, _, k] = builder.symbols.map(Dim::from);
    let (dtype, terms) = (float(draw), draw.of(&[9, 20, 64].map(Dim::from)));
    let (x, y) = (builder.input(dtype, [n, terms]), builder.input(dtype, [terms, k]));
    (x.unsqueeze(2) * y).sum(1)
}

fn matrix_product(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, k] = builder.symbols.map(Dim::from);
    let dtype = draw.of(&[DType::F32, DType::F64, DType::I32]);
    let x = matrix(builder, dtype, draw);
    let columns = draw.of(&[k, Dim::from(3), n]);
    let (y, axes) = match draw.next(2) {
        0 => (builder.input(dtype, [m, columns]).unsqueeze(0), (2, 1)),
        _ => (builder.input(dtype, [columns, m]).unsqueeze(0), (1, 2)),
    };
    if x.shape()[1] != m {
        return x;
    }
    (x.unsqueeze(axes.0) * y).sum(axes.1)
}

/// Sums of products as NumPy names them, of any dtype, between other steps, and what is reduced of them.
fn contraction(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, k] = builder.symbols.map(Dim::from);
    let dtype = builder.dtype(draw);
    let (x, y) = (builder.input(dtype, [n, m]), builder.input(dtype, [m, k]));
    let batch = draw.of(&[n, Dim::from(1), Dim::from(2)]);
    let other = draw.of(&[batch, Dim::from(1)]);
    let product = match draw.next(12) {
        0 => x.matmul(y),
        1 => x.t().matmul(x),
        2 => builder.input(dtype, [batch, n, m]).matmul(y),
        3 => builder.input(dtype, [batch, k, m]).matmul(builder.input(dtype, [other, m, k])),
        4 => x.inner(y.t()),
        5 => x.tensordot(builder.input(dtype, [n, m, k]), ([0, 1], [0, 1])),
        6 => x.vecdot(builder.input(dtype, [m]), -1),
        7 => builder.input(dtype, [m]).kron(builder.input(dtype, [k])),
        8 => einsum("ij,jk,ik->i", [x, y, builder.input(dtype, [n, k])]),
        9 => einsum("ii->i", [builder.input(dtype, [n, n])]),
        10 => einsum("ij,jk,k", [x, y, builder.input(dtype, [k])]),
        _ => x.matmul(y).matmul(y.t()),
    };
    match draw.next(4) {
        0 | 1 => reduce(draw.of(ReduceOp::ALL), product, vec![-1], false),
        2 => reduce(ReduceOp::ArgMax, builder.input(DType::I64, [n, m]), vec![1], false),
        _ => product,
    }
}

/// Reductions over two or three axes of what is computed of pairs, and over one side of the pairs.
fn pairs_of_tables(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, k] = builder.symbols.map(Dim::from);
    let dtype = if draw.next(2) == 0 { float(draw) } else { draw.of(&[DType::I64, DType::I32, DType::U8]) };
    let [two, three] = [2, 3].map(Dim::from);
    let sizes = match draw.next(4) {
        0 => vec![m, k],
        1 => vec![two, k],
        2 => vec![m, three],
        _ => vec![three, two, m],
    };
    let [x, y] = [n, k].map(|rows| builder.input(dtype, [&[rows], sizes.as_slice()].concat()));
    let x = x.unsqueeze(1);
    let of_pairs = match draw.next(4) {
        0 => (x - y).abs(),
        1 => x.maximum(y),
        2 => x.lt(y).cast_to(dtype),
        _ => x * y,
    };
    let axes: Vec<i64> = (2..2 + sizes.len() as i64).collect();
    let results = match draw.next(6) {
        0 => reduce(draw.of(ReduceOp::ALL), of_pairs, axes, false),
        1 => of_pairs.sum(axes[1..].to_vec()).max(2),
        _ => of_pairs.sum(axes),
    };
    match draw.next(3) {
        0 => reduce(draw.of(ReduceOp::ALL), results, vec![1], false),
        1 => results * 2,
        _ => results,
    }
}

/// A function of rows by a function of columns, which may be summed.
fn outer_product(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, _] = builder.symbols.map(Dim::from);
    let dtype = float(draw);
    let (x, y) = (builder.input(dtype, [n, Dim::from(1)]), builder.input(dtype, [m]));
    let (f, g) = (function(x, draw), function(y, draw));
    let combined = if draw.next(2) == 0 { f * g } else { function(f + g, draw) };
    match draw.next(4) {
        0 => combined.sum(draw.next(2)),
        1 => combined * combined.max_keepdims(1),
        _ => combined,
    }
}

/// Sums of functions of pairs.
fn density(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, _] = builder.symbols.map(Dim::from);
    let dtype = float(draw);
    let (x, y) = (builder.input(dtype, [n, Dim::from(1)]), builder.input(dtype, [m]));
    let kernel = if draw.next(2) == 0 { (-(x - y).square()).exp() } else { function(x - y, draw) };
    let axis = draw.next(2);
    let sum = match draw.next(4) {
        0 => kernel.mean(axis),
        1 => kernel.max(axis),
        2 => (kernel * y).sum(axis),
        _ => kernel.sum(axis),
    };
    if draw.next(2) == 0 { sum.log() } else { sum }
}

/// Several reductions of one tensor.
fn statistics(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let dtype = builder.dtype(draw);
    let x = matrix(builder, dtype, draw);
    for _ in 0..draw.next(4) {
        let axes = draw.of(&[&[0][..], &[1], &[0, 1]]).to_vec();
        let squared = if dtype.is_float() && draw.next(2) == 0 { x.square() } else { x };
        builder.keep(reduce(draw.of(ReduceOp::ALL), squared, axes, draw.next(3) == 0));
    }
    reduce(draw.of(ReduceOp::ALL), x, vec![draw.next(2) as i64], false)
}

/// Neighbours along an axis, by slices or as windows.
fn differences(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let dtype = draw.of(&[DType::F32, DType::I32, DType::F64]);
    if draw.next(2) == 0 {
        return windows(builder, draw);
    }
    let x = matrix(builder, dtype, draw);
    let axis = draw.next(2);
    let difference = x.slice_axis(axis, 1.., 1) - x.slice_axis(axis, ..-1, 1);
    builder.keep(difference);
    if draw.next(2) == 0 { difference.abs().sum(axis) } else { difference }
}

/// The least elements along rows of what is computed.
fn least_of_sums(builder: &mut Builder, dtype: DType) -> Tensor {
    let [_, m, k] = builder.symbols.map(Dim::from);
    let sums = builder.input(dtype, vec![m, k + 2]) + builder.input(dtype, [k + 2]);
    sums.topk_smallest(2, 1).0
}

/// Windows along an axis: of an array, of what is computed, of sums; reduced, weighted, or as they are.
fn windows(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, k] = builder.symbols.map(Dim::from);
    let width = draw.of(&[2, 3, 5, 1, 70]);
    let dtype = builder.dtype(draw);
    let (axis, shape) = match draw.next(3) {
        0 => (0, vec![n + (width - 1)]),
        1 => (0, vec![n + (width - 1), m]),
        _ => (1, vec![m, n + (width - 1)]),
    };
    let array = builder.input(dtype, shape);
    let x = match draw.next(6) {
        0 => apply(draw.of(&FUNCTIONS[..3]), &[array]),
        1 => array + array,
        2 => builder.input(dtype, [k]).unsqueeze(1).sum(0) + array,
        3 => array - array.mean_keepdims(axis),
        _ => array,
    };
    let windows = x.sliding_window_view(width, axis);
    builder.keep(windows);
    if draw.next(3) == 0 {
        return least_of_sums(builder, dtype);
    }
    let last = windows.rank() as i64 - 1;
    match draw.next(5) {
        0 => windows,
        1 => {
            let weights = builder.input(DType::F32, [Dim::from(width)]);
            (windows * weights).sum(-1)
        }
        2 => reduce(draw.of(ReduceOp::ALL), windows, vec![0], false),
        3 => reduce(draw.of(ReduceOp::ALL), windows.flip(-1) + windows, vec![last], false),
        _ => reduce(draw.of(ReduceOp::ALL), windows, vec![last], draw.next(2) == 0),
    }
}

/// Reductions of reductions.
fn weighted_extremes(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, k] = builder.symbols.map(Dim::from);
    let dtype = builder.dtype(draw);
    let x = match draw.next(3) {
        0 => builder.input(dtype, [n, m, k]),
        1 => builder.input(dtype, [n, Dim::from(1)]) + builder.input(dtype, [k]).cast_to(DType::I32),
        _ => builder.input(dtype, [n, m, Dim::from(3)]),
    };
    let axis = draw.next(x.rank()) as i64;
    let inner = reduce(draw.of(ReduceOp::ALL), x, vec![axis], draw.next(2) == 0);
    builder.keep(inner);
    let inner = if draw.next(2) == 0 { inner * inner } else { inner };
    reduce(draw.of(ReduceOp::ALL), inner, vec![draw.next(inner.rank()) as i64], false)
}

/// Short trailing axes.
fn pixels(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, _] = builder.symbols.map(Dim::from);
    let channels = Dim::from(draw.of(&[3, 2, 5, 8]));
    let image = builder.input(draw.of(&[DType::U8, DType::F32, DType::F64]), [n, m, channels]);
    let scale = builder.input(DType::F32, [channels]);
    let scaled = (image - scale) / scale.maximum(1);
    match draw.next(7) {
        0 => scaled.mean([0, 1]),
        1 => scaled.sum(2),
        2 => scaled.slice(slice![.., .., ..;-1]),
        3 => function(scaled.slice(slice![.., .., 1..]), draw),
        4 => {
            let other = builder.input(float(draw), [n, m, channels]);
            function(other.slice(slice![.., .., ..;-1]), draw) * scaled
        }
        5 => function(scaled * builder.input(DType::F32, [n, m, Dim::from(1)]), draw),
        _ => scaled,
    }
}

/// Functions inside of reductions, along rows or columns.
fn row_of_functions(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let dtype = float(draw);
    let x = matrix(builder, dtype, draw);
    let f = function(x, draw);
    let axis = draw.next(2) as i64;
    let inner = reduce(draw.of(ReduceOp::ALL), f, vec![axis], draw.next(3) == 0);
    builder.keep(inner);
    match draw.next(3) {
        0 => function(inner.cast_to(dtype), draw),
        1 => (f * x).sum(axis),
        _ => f.mean([0, 1]),
    }
}

/// Reductions to a few elements, which threads share by groups.
fn totals(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, _] = builder.symbols.map(Dim::from);
    let dtype = builder.dtype(draw);
    let x = match draw.next(3) {
        0 => builder.input(dtype, [n]),
        1 => builder.input(dtype, [n, m]),
        _ => builder.input(dtype, [n, Dim::from(3)]),
    };
    let operand = match draw.next(4) {
        0 if dtype.is_float() => x.square(),
        1 if dtype.is_float() => function(x, draw),
        _ => x,
    };
    let op = draw.of(ReduceOp::ALL);
    if x.rank() == 2 && draw.next(2) == 0 {
        return reduce(op, operand, vec![0], draw.next(3) == 0);
    }
    let total = reduce(op, operand, (0..x.rank() as i64).collect(), false);
    builder.keep(total);
    if dtype.is_float() && draw.next(2) == 0 { x / total } else { total }
}

/// Rows of a table, scaled or reduced.
fn gathered(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, k] = builder.symbols.map(Dim::from);
    let dtype = builder.dtype(draw);
    let table = builder.input(dtype, [k, m]);
    let count = draw.of(&[n, Dim::from(3), n]);
    let indices = builder.input(draw.of(&[DType::I64, DType::I32, DType::U8]), [count]);
    if draw.next(4) == 0 {
        let few = builder.input(DType::I32, [3]);
        return builder.input(draw.of(DType::ALL), [k]).take(few, 0);
    }
    let rows = if draw.next(2) == 0 { table.take(indices, 0) } else { table.t().take(indices, 1).t() };
    match draw.next(3) {
        0 => rows,
        1 => rows.cast_to(DType::F32) * builder.input(DType::F32, [count, Dim::from(1)]),
        _ => reduce(draw.of(ReduceOp::ALL), rows, vec![draw.next(2) as i64], false),
    }
}

/// Selections by position.
fn masked(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, _] = builder.symbols.map(Dim::from);
    let dtype = builder.dtype(draw);
    let x = builder.input(dtype, [n, m]);
    let (i, j) = (builder.graph.iota(n).unsqueeze(1), builder.graph.iota(m));
    let mask = if draw.next(2) == 0 { i.equal(j) } else { i.cast_to(DType::U8).less(j * 2) };
    let chosen = select(mask, x, 0);
    if draw.next(2) == 0 {
        reduce(draw.of(ReduceOp::ALL), chosen, vec![draw.next(2) as i64], false)
    } else {
        chosen
    }
}

/// A function that several results read, of other shapes and under other views.
fn shared_function(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let dtype = float(draw);
    let x = matrix(builder, dtype, draw);
    let f = function(x, draw);
    builder.keep(f.sum(draw.next(2)));
    builder.keep(f.slice_axis(draw.next(2), .., -1) + x);
    match draw.next(3) {
        0 => f.t() * 2,
        1 => function(f, draw) - f,
        _ => f.reshape([-1]).max(0),
    }
}

/// All of them in one result.
fn sum_of(tensors: &[Tensor]) -> Tensor {
    tensors[1..].iter().fold(tensors[0], |sum, tensor| sum + *tensor)
}

/// Ops one after the other, in any dtype.
fn any_ops(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, _] = builder.symbols.map(Dim::from);
    let dtype = any_dtype(draw);
    let one = Dim::from(1);
    let shapes = [[n, m], [one, m], [n, one]];
    let [y, z] = [0, 1].map(|_| builder.input(dtype, draw.of(&shapes)));
    let accepts = |op: &Op| op.operand_dtype(&[dtype]) == Some(dtype);
    let ops: Vec<Op> = Op::ALL.iter().copied().filter(accepts).collect();
    let mut x = builder.input(dtype, [n, m]);
    for _ in 0..8 {
        let op = draw.of(&ops);
        let second = if op == Op::Pow && !dtype.is_float() { y.cast_to(DType::U8) } else { y };
        let result = apply(op, &[x, second, z][..op.arity()]);
        // Truth values choose what goes on.
        x = if result.dtype() == Some(dtype) { result } else { select(result.cast_to(DType::Bool), y, x) };
    }
    match draw.next(3) {
        0 => select(y.cast_to(DType::Bool), x, z),
        1 => x.cast_to(draw.of(DType::ALL)).cast_to(draw.of(DType::ALL)),
        _ => x,
    }
}

/// Reductions of any dtype, along each axis and all of them.
fn any_reductions(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, k] = builder.symbols.map(Dim::from);
    let shape = [n, m, draw.of(&[Dim::from(17), k, Dim::from(17)])];
    let dtype = any_dtype(draw);
    let x = builder.input(dtype, &shape[..1 + draw.next(3)]);
    let x = if draw.next(3) == 0 { x.t() } else { x };
    let mask = 1 + draw.next((1 << x.rank()) - 1);
    let axes: Vec<i64> = (0..x.rank()).filter(|axis| mask >> axis & 1 == 1).map(|axis| axis as i64).collect();
    let keepdims = draw.next(3) == 0;
    let reduced = [0, 1, 2].map(|_| reduce(draw.of(ReduceOp::ALL), x, axes.clone(), keepdims));
    builder.keep(reduced[0]);
    sum_of(&reduced)
}

/// Reductions of an axis that is short enough to be reduced in order, and too long to be unrolled.
fn short_axis(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, _] = builder.symbols.map(Dim::from);
    let length = Dim::from(draw.of(&[17, 64, 65]));
    let dtype = draw.of(&[DType::F32, DType::F64, DType::F32, DType::F64, DType::U8]);
    let (x, axis) = match draw.next(4) {
        0 => (builder.input(dtype, [n, length]), 1),
        1 => (builder.input(dtype, [length, n]), 0),
        2 => (builder.input(dtype, [n, length, m]), 1),
        _ => (builder.input(dtype, [length, n]).t(), 1),
    };
    let x = if draw.next(4) == 0 { function(x.cast_to(DType::F64), draw) } else { x };
    reduce(draw.of(&[ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Mean]), x, vec![axis], draw.next(2) == 0)
}

/// Reductions of columns, and of columns that are computed.
fn columns(builder: &mut Builder, draw: &mut Draw) -> Tensor {
    let [n, m, _] = builder.symbols.map(Dim::from);
    let dtype = draw.of(&[DType::F32, DType::F64, DType::F32, DType::F64, DType::U8, DType::I32]);
    let x = builder.input(dtype, [n, m]);
    let scaled = if draw.next(2) == 0 { x } else { x * builder.input(dtype, [n, Dim::from(1)]) };
    let reduced = [0, 1, 2].map(|_| reduce(draw.of(ReduceOp::ALL), scaled, vec![0], false));
    builder.keep(reduced[0]);
    sum_of(&reduced)
}
