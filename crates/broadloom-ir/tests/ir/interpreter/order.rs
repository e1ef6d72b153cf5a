//! The order in which floats are added and multiplied, against the same order written as a recursion.

use super::{evaluate, expect, here, noise, reduction};
use broadloom_ir::interp::Array;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

/// The fixed order of a float sum, as a recursion from the whole to the parts. `term(total, i)` adds element `i`.
fn tree<T: Copy>(
    range: std::ops::Range<usize>,
    term: &dyn Fn(Option<T>, usize) -> T,
    add: &dyn Fn(T, T) -> T,
) -> T {
    fn in_order<T>(mut range: impl Iterator<Item = usize>, term: &dyn Fn(Option<T>, usize) -> T) -> T {
        let first = term(None, range.next().unwrap());
        range.fold(first, |total, i| term(Some(total), i))
    }
    /// Every element whose lane is `lane` modulo `stride`.
    fn lanes<T: Copy>(
        range: &std::ops::Range<usize>,
        lane: usize,
        stride: usize,
        term: &dyn Fn(Option<T>, usize) -> T,
        add: &dyn Fn(T, T) -> T,
    ) -> T {
        if stride == 16 {
            return in_order((range.start + lane..range.end).step_by(16), term);
        }
        let lower = lanes(range, lane, 2 * stride, term, add);
        if lane + stride >= range.len() {
            return lower;
        }
        add(lower, lanes(range, lane + stride, 2 * stride, term, add))
    }
    fn blocks<T: Copy>(
        range: std::ops::Range<usize>,
        term: &dyn Fn(Option<T>, usize) -> T,
        add: &dyn Fn(T, T) -> T,
    ) -> T {
        let count = range.len().div_ceil(1024);
        if count == 1 {
            return lanes(&range, 0, 1, term, add);
        }
        // The largest power of two of blocks that leaves at least one.
        let left = range.start + 1024 * (count.next_power_of_two() / 2);
        add(blocks(range.start..left, term, add), blocks(left..range.end, term, add))
    }
    if range.len() <= 64 { in_order(range, term) } else { blocks(range, term, add) }
}

const LENGTHS: [usize; 14] = [1, 2, 63, 64, 65, 80, 1023, 1024, 1025, 1030, 2048, 3073, 4097, 7168];

/// Sums, means and products of every length along the innermost and along the outermost axis.
macro_rules! tree_tests {
    ($($name:ident $t:ty;)*) => {$(
        #[test]
        fn $name() {
            for length in LENGTHS {
                let values: Vec<$t> = noise(2 * length, length as u64).into_iter().map(|x| x as $t).collect();
                let others: Vec<$t> = noise(2 * length, 7 + length as u64).into_iter().map(|x| x as $t).collect();
                // Close to 1, so that products stay finite.
                let near_one: Vec<$t> = values.iter().map(|x| 1.0 + x / 4096.0).collect();
                let add = |a: $t, b: $t| a + b;
                for (dims, shape, axis, step) in
                    [("2 n", [2, length], 1, 1), ("n 2", [length, 2], 0, 2)]
                {
                    let at = |row: usize, i: usize| if step == 1 { row * length + i } else { i * 2 + row };
                    let rows = |of: &dyn Fn(usize) -> $t| [of(0), of(1)];
                    let sum = |values: &[$t], row: usize| {
                        tree(0..length, &|total, i| total.map_or(values[at(row, i)], |t| t + values[at(row, i)]), &add)
                    };
                    let reduce = |op, values: &[$t]| {
                        evaluate(&[(dims, Array::new(&shape, values))], true, reduction(op, &[axis], false))
                    };
                    expect(reduce(ReduceOp::Sum, &values), &[2], &rows(&|row| sum(&values, row)));
                    expect(reduce(ReduceOp::Mean, &values), &[2], &rows(&|row| sum(&values, row) / length as $t));
                    let product = rows(&|row| {
                        let x = |i| near_one[at(row, i)];
                        tree(0..length, &|total, i| total.map_or(x(i), |t: $t| t * x(i)), &|a, b| a * b)
                    });
                    expect(reduce(ReduceOp::Prod, &near_one), &[2], &product);

                    // A sum of products: one fma per element where fused, and where not, as any other sum.
                    for fused in [true, false] {
                        let dot = |row: usize| {
                            let (x, y) = (|i| values[at(row, i)], |i| others[at(row, i)]);
                            let term = |total: Option<$t>, i: usize| match total {
                                None => x(i) * y(i),
                                Some(total) if fused => x(i).mul_add(y(i), total),
                                Some(total) => total + x(i) * y(i),
                            };
                            tree(0..length, &term, &add)
                        };
                        let operands =
                            [(dims, Array::new(&shape, &values)), (dims, Array::new(&shape, &others))];
                        let found = evaluate(&operands, fused, |graph, x| {
                            let product = graph.elementwise(Op::Multiply, x, here());
                            graph.reduce(ReduceOp::Sum, product, Some(&[axis]), false, here())
                        });
                        expect(found, &[2], &rows(&dot));
                    }
                }
            }
        }
    )*};
}
tree_tests! {
    sums_of_f32_follow_the_tree f32;
    sums_of_f64_follow_the_tree f64;
}

#[test]
fn several_axes_reduce_innermost_first_and_contract_once() {
    let (rows, columns) = (70, 100);
    let values = noise(rows * columns, 5);
    let row_factors = noise(rows, 6);
    let add = |a: f64, b: f64| a + b;
    let row = |i: usize, fused: bool| {
        let (x, y) = (|j: usize| values[i * columns + j], row_factors[i]);
        let term = |total: Option<f64>, j| match total {
            None => x(j) * y,
            Some(total) if fused => x(j).mul_add(y, total),
            Some(total) => total + x(j) * y,
        };
        tree(0..columns, &term, &add)
    };
    for fused in [false, true] {
        let want = tree(0..rows, &|total, i| total.map_or(row(i, fused), |t| t + row(i, fused)), &add);
        // The second factor stretches, so it is read more often than it has elements.
        let operands =
            [("n m", Array::new(&[rows, columns], &values)), ("n 1", Array::new(&[rows, 1], &row_factors))];
        for (op, want) in [(ReduceOp::Sum, want), (ReduceOp::Mean, want / 7000.0)] {
            let found = evaluate(&operands, fused, |graph, x| {
                let product = graph.elementwise(Op::Multiply, x, here());
                graph.reduce(op, product, None, true, here())
            });
            expect(found, &[1, 1], &[want]);
        }
    }
    let found = evaluate(&[("n", Array::new(&[2], &[0.1, 0.7]))], true, |graph, x| {
        let squares = graph.elementwise(Op::Square, x, here());
        graph.reduce(ReduceOp::Sum, squares, None, false, here())
    });
    expect(found, &[], &[0.7_f64.mul_add(0.7, 0.1 * 0.1)]);
}
