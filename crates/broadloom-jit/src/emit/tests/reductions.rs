//! The steps of reductions.

use super::elementwise::elementwise;
use super::harness::{Case, check, corners, pairs};
use super::lanes;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

/// Every reduction that accumulates by an op of the table, with that op, on every dtype that it meets.
pub(super) fn accumulations() -> Vec<(ReduceOp, Op, DType)> {
    let mut all = Vec::new();
    for dtype in DType::ALL.iter().copied() {
        all.extend([(ReduceOp::Min, Op::Minimum, dtype), (ReduceOp::Max, Op::Maximum, dtype)]);
        if dtype.accumulator() == dtype {
            all.extend([(ReduceOp::Sum, Op::Add, dtype), (ReduceOp::Prod, Op::Multiply, dtype)]);
        }
    }
    all.extend([(ReduceOp::Any, Op::LogicalOr, DType::Bool), (ReduceOp::All, Op::LogicalAnd, DType::Bool)]);
    all
}

#[test]
fn accumulators_combine_as_ops_do() {
    check(|target| {
        let mut cases = Vec::new();
        for (reduce, op, dtype) in accumulations() {
            for &lanes in lanes(&[dtype]) {
                cases.push(elementwise(
                    format!("{reduce} of {dtype}, {lanes} lanes"),
                    vec![(dtype, lanes); 2],
                    pairs(&corners(dtype), &corners(dtype)),
                    move |emitter, args| emitter.accumulate(reduce, dtype, &args[0], &args[1]),
                    move |args| op.evaluate(target.fused, args).expect("operands"),
                ));
            }
        }
        cases
    });
}

#[test]
fn counts_count() {
    check(|_| {
        let mut cases = Vec::new();
        for dtype in [DType::U8, DType::U16, DType::U32, DType::I64, DType::U64] {
            for (&lanes, width) in
                lanes(&[dtype]).iter().flat_map(|lanes| [1, 2, 4, 8].map(|width| (lanes, width)))
            {
                let numbers = corners(dtype);
                let tuples = [true, false]
                    .into_iter()
                    .flat_map(|truth| numbers.iter().map(move |number| vec![*number, Scalar::Bool(truth)]));
                let case = elementwise(
                    format!("{lanes} counts in {dtype}, mask {width}"),
                    vec![(dtype, lanes), (DType::Bool, lanes)],
                    tuples.collect(),
                    |emitter, args| emitter.count(&args[0], &args[1]),
                    move |args| Op::Add.evaluate(false, &[args[0], args[1].cast(dtype)]).expect("numbers"),
                );
                cases.push(Case { mask_width: width, ..case });
            }
        }
        cases
    });
}

#[test]
fn products_round_as_the_level_says() {
    check(|target| {
        let mut cases = Vec::new();
        for (dtype, lanes) in [DType::I64, DType::U64, DType::F32, DType::F64]
            .into_iter()
            .flat_map(|dtype| lanes(&[dtype]).iter().map(move |lanes| (dtype, *lanes)))
        {
            let values = corners(dtype);
            let tuples = pairs(&values, &values)
                .into_iter()
                .enumerate()
                .map(|(at, pair)| vec![values[at * 7 % values.len()], pair[0], pair[1]])
                .collect();
            cases.push(elementwise(
                format!("product of {dtype}, {lanes} lanes"),
                vec![(dtype, lanes); 3],
                tuples,
                |emitter, args| emitter.accumulate_product(&args[0], &args[1], &args[2]),
                move |args| {
                    let (acc, x, y) = (args[0], args[1], args[2]);
                    if target.fused && dtype.is_float() {
                        return Op::Fma.evaluate(true, &[x, y, acc]).expect("floats");
                    }
                    let product = Op::Multiply.evaluate(target.fused, &[x, y]).expect("numbers");
                    Op::Add.evaluate(target.fused, &[acc, product]).expect("numbers")
                },
            ));
        }
        cases
    });
}

fn better(op: ReduceOp, candidate: Scalar, best: Scalar) -> bool {
    let row = if op == ReduceOp::ArgMin { Op::Less } else { Op::Greater };
    row.evaluate(false, &[candidate, best]) == Some(Scalar::Bool(true))
        || candidate.is_nan() && !best.is_nan()
}

#[test]
fn the_better_candidate_wins() {
    check(|_| {
        let mut cases = Vec::new();
        for (op, dtype) in [ReduceOp::ArgMin, ReduceOp::ArgMax]
            .into_iter()
            .flat_map(|op| DType::ALL.iter().map(move |dtype| (op, *dtype)))
        {
            let values = pairs(&corners(dtype), &corners(dtype));
            for &lanes in lanes(&[dtype]) {
                let case = elementwise(
                    format!("{op} of {dtype}, {lanes} lanes"),
                    vec![(dtype, lanes); 2],
                    values.clone(),
                    move |emitter, args| emitter.better(op, &args[0], &args[1]),
                    move |args| Scalar::Bool(better(op, args[0], args[1])),
                );
                cases.push(Case { mask_width: 4, ..case });
                for index in [DType::I32, DType::I64]
                    .into_iter()
                    .filter(|index| super::lanes(&[dtype, *index]).contains(&lanes))
                {
                    let tuples = values
                        .iter()
                        .step_by(7)
                        .flat_map(|pair| {
                            [(-1, 3), (3, 3), (4, 3)].map(|(candidate, best)| {
                                let [candidate, best] =
                                    [candidate, best].map(|at| Scalar::I64(at).cast(index));
                                vec![pair[0], candidate, pair[1], best]
                            })
                        })
                        .collect();
                    cases.push(elementwise(
                        format!("{op} of {dtype} with ties by {index}, {lanes} lanes"),
                        vec![(dtype, lanes), (index, lanes), (dtype, lanes), (index, lanes)],
                        tuples,
                        move |emitter, args| {
                            emitter.better_or_tied(op, &args[0], &args[1], &args[2], &args[3])
                        },
                        move |args| {
                            let tied = !better(op, args[0], args[2]) && !better(op, args[2], args[0]);
                            let lower =
                                Op::Less.evaluate(false, &[args[1], args[3]]) == Some(Scalar::Bool(true));
                            Scalar::Bool(better(op, args[0], args[2]) || tied && lower)
                        },
                    ));
                }
            }
        }
        cases
    });
}

#[test]
fn halves_fold_in_the_fixed_order() {
    check(|target| {
        let mut cases = Vec::new();
        for (reduce, op, dtype) in accumulations() {
            // Without NaN, which would hide the order; sums of these round differently in every other order.
            let plain: Vec<Scalar> = corners(dtype).into_iter().filter(|value| !value.is_nan()).collect();
            let rounding = (0..160).map(|at| Scalar::F64(1.0 / f64::from(at * 37 % 101 + 1)).cast(dtype));
            let tuples = plain.iter().copied().chain(rounding).map(|value| vec![value]).collect();
            let combine = move |x, y| op.evaluate(target.fused, &[x, y]).expect("operands");
            let expect = move |values: &[Vec<Scalar>]| {
                let mut lanes = values[0].clone();
                for half in [8, 4, 2, 1] {
                    lanes = (0..half).map(|lane| combine(lanes[lane], lanes[lane + half])).collect();
                }
                lanes
            };
            for mask_width in if dtype == DType::Bool { &[1, 2, 4, 8][..] } else { &[1] } {
                cases.push(Case {
                    name: format!("{reduce} of 16 lanes of {dtype}"),
                    operands: vec![(dtype, 16)],
                    mask_width: *mask_width,
                    emit: Box::new(move |emitter, args| emitter.fold_halves(reduce, &args[0])),
                    expect: Box::new(expect),
                    tuples: Vec::clone(&tuples),
                });
            }
        }
        cases
    });
}
