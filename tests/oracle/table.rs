//! Every row of the op table, every cast and every reduction, on every dtype: corners in all pairs, every pattern of
//! operands, several sizes, layouts and ways of running. No random choice, and no hole: what is walked is counted
//! against the tables.

use crate::arrays::Lay;
use crate::build::apply;
use crate::check::{Data, compare};
use broadloom::prelude::*;
use broadloom::{DType, Op, Scalar};
use broadloom_ir::dtype::{AnyNumber, Class};
use broadloom_ir::for_each_dtype;
use broadloom_ir::interp::Array;
use broadloom_ir::reduce::ReduceOp;
use std::collections::BTreeSet;

macro_rules! define_constant {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        fn constant(graph: &Graph, value: Scalar) -> Tensor {
            match value { $(Scalar::$variant(value) => graph.constant(value),)* }
        }
    };
}
for_each_dtype!(define_constant);

/// Values of a dtype at which something changes.
fn corners(dtype: DType) -> Vec<Scalar> {
    let bits = dtype.size() as u32 * 8;
    let numbers: Vec<AnyNumber> = match dtype.class() {
        Class::Bool => [0, 1].map(AnyNumber::Int).to_vec(),
        Class::Int => {
            let top: i128 = if dtype.is_signed_integer() { (1 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
            let least = if dtype.is_signed_integer() { -top - 1 } else { 0 };
            let half = 1 << (bits / 2);
            let width = i128::from(bits);
            [
                0,
                1,
                2,
                3,
                7,
                10,
                width - 1,
                width,
                width + 1,
                100,
                half - 1,
                half,
                half + 1,
                top / 2,
                top - 1,
                top,
                -1,
                -2,
                -3,
                -7,
                -100,
                -half,
                least + 1,
                least,
            ]
            .into_iter()
            .filter(|value| (least..=top).contains(value))
            .map(AnyNumber::Int)
            .collect()
        }
        Class::Float => {
            let (subnormal, normal, max, epsilon) = match dtype {
                DType::F16 => (2f64.powi(-24), 2f64.powi(-14), 65504.0, 2f64.powi(-10)),
                DType::Bf16 => (2f64.powi(-133), 2f64.powi(-126), 3.3895313892515355e38, 2f64.powi(-7)),
                DType::F32 => (1e-45, f32::MIN_POSITIVE.into(), f32::MAX.into(), f32::EPSILON.into()),
                _ => (5e-324, f64::MIN_POSITIVE, f64::MAX, f64::EPSILON),
            };
            let positive = [
                0.0,
                subnormal,
                3.0 * subnormal,
                normal - subnormal,
                normal,
                epsilon,
                0.3,
                0.5 - epsilon / 4.0,
                0.5,
                1.0 - epsilon / 2.0,
                1.0,
                1.0 + epsilon,
                1.5,
                2.0,
                2.5,
                3.0,
                7.75,
                11.0,
                88.7,
                100.0,
                1.0 / epsilon,
                0.5 / epsilon + 0.5,
                max / 2.0,
                max,
                f64::INFINITY,
            ];
            let all = positive.into_iter().flat_map(|value| [value, -value]).chain([f64::NAN]);
            all.map(AnyNumber::Float).collect()
        }
    };
    let mut corners: Vec<Scalar> = numbers.into_iter().map(|number| number.to_scalar(dtype)).collect();
    let mut seen = BTreeSet::new();
    corners.retain(|value| seen.insert(value.bits()));
    corners
}

/// The corners of an operand of a row; for ops that can fail those with which they do not.
fn operand_corners(op: Op, operand: usize, dtype: DType) -> Vec<Scalar> {
    let mut corners = corners(dtype);
    if operand == 1 && op.can_fail(dtype) {
        corners.retain(|value| !op.fails(&[*value, *value]));
    }
    if op.arity() == 3 {
        // All triples of one in three, the ends among them.
        corners = corners.iter().rev().step_by(3).copied().collect();
    }
    corners
}

fn array(dtype: DType, shape: &[usize], elements: Vec<Scalar>) -> Array {
    Array { dtype, shape: shape.to_vec(), elements }
}

/// All combinations of the corners of the operands, each operand's in a list of its own.
fn combinations(lists: &[Vec<Scalar>]) -> Vec<Vec<Scalar>> {
    let count: usize = lists.iter().map(Vec::len).product();
    let mut step = 1;
    let mut columns = Vec::new();
    for list in lists {
        columns.push((0..count).map(|index| list[index / step % list.len()]).collect());
        step *= list.len();
    }
    columns
}

/// A row on operands of one dtype, in every pattern: elements with elements, a row with a column both ways round,
/// a number that is an input, and constants.
fn check_row(op: Op, dtype: DType, number: u64) -> Result<(), String> {
    let arity = op.arity();
    let lists: Vec<Vec<Scalar>> = (0..arity).map(|operand| operand_corners(op, operand, dtype)).collect();
    let columns = combinations(&lists);
    let total = columns[0].len();

    let graph = Graph::new();
    let [n, m, k] = graph.symbols(["n", "m", "k"]);
    let same: Vec<Tensor> =
        (0..arity).map(|operand| graph.input_dyn(&format!("same{operand}"), dtype, shape![n])).collect();
    let lines = |prefix: &str, size| -> Vec<Tensor> {
        (0..arity)
            .map(|operand| graph.input_dyn(&format!("{prefix}{operand}"), dtype, shape![size]))
            .collect()
    };
    let (rows, columns_of) = (lines("row", m), lines("column", k));
    let mut outputs: Vec<(String, Tensor)> = vec![("same".into(), apply(op, &same))];
    if arity > 1 {
        // One operand varies along each axis, or all others along the last one.
        for (moved, column) in columns_of.iter().enumerate() {
            let operands: Vec<Tensor> = (0..arity)
                .map(
                    |operand| if operand == moved { column.unsqueeze(1) } else { rows[operand].unsqueeze(0) },
                )
                .collect();
            outputs.push((format!("outer{moved}"), apply(op, &operands)));
        }
        for (moved, list) in lists.iter().enumerate() {
            // One constant in four: code for them differs by kind (shifts, divisors), not by value.
            for (index, value) in list.iter().enumerate().skip(number as usize % 4).step_by(4) {
                let operands: Vec<Tensor> = (0..arity)
                    .map(|operand| if operand == moved { constant(&graph, *value) } else { same[operand] })
                    .collect();
                outputs.push((format!("constant{moved}_{index}"), apply(op, &operands)));
            }
        }
    }
    let outputs: Vec<(&str, Tensor)> =
        outputs.iter().map(|(name, tensor)| (name.as_str(), *tensor)).collect();
    let checked = graph.finish(outputs.iter().copied()).map_err(|mistakes| mistakes.to_string())?;

    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let cycle = |list: &Vec<Scalar>, length: usize| -> Vec<Scalar> {
        list.iter().cycle().take(length).copied().collect()
    };
    let sizes = [[total, longest, longest], [total.min(7), 1, 3], [0, 0, 2], [total.min(33), 17, 1]];
    let lays: Vec<Lay> = (0..checked.inputs().len()).map(|input| Lay::ALL[input % 5]).collect();
    let data: Vec<Data> = sizes
        .iter()
        .map(|&[n, m, k]| {
            let arrays: Vec<Array> = checked
                .inputs()
                .iter()
                .map(|input| {
                    let operand = input.name.as_bytes()[input.name.len() - 1] - b'0';
                    let list = &lists[usize::from(operand)];
                    match &input.name[..input.name.len() - 1] {
                        // The last elements too occur in the short runs.
                        "same" => array(dtype, &[n], columns[usize::from(operand)][total - n..].to_vec()),
                        "row" => array(dtype, &[m], cycle(list, m)),
                        _ => array(dtype, &[k], cycle(list, k)),
                    }
                })
                .collect();
            Data::of(&checked, [n, m, k], arrays, &lays)
        })
        .collect();
    let lays: Vec<Lay> = (0..outputs.len()).map(|output| Lay::DISTINCT[output % 5]).collect();
    compare(&graph, &outputs, &data, &lays, number).map_err(|problem| format!("{op} on {dtype}: {problem}"))
}

#[test]
fn every_row_on_every_dtype() {
    let mut walked = BTreeSet::new();
    let mut problems = Vec::new();
    for &op in Op::ALL {
        for &dtype in DType::ALL {
            // Rows of floats take other dtypes through a cast, which has a table of its own.
            if op.operand_dtype(&vec![dtype; op.arity()]) == Some(dtype) {
                problems.extend(check_row(op, dtype, walked.len() as u64).err());
                walked.insert((op, dtype));
            }
        }
    }
    let accepted: BTreeSet<(Op, DType)> = (Op::ALL.iter())
        .flat_map(|op| DType::ALL.iter().map(move |dtype| (*op, *dtype)))
        .filter(|(op, dtype)| op.accepts(dtype.class()) && op.operand_dtype(&[*dtype]) == Some(*dtype))
        .collect();
    assert_eq!(walked, accepted, "rows are skipped");
    assert!(Op::ALL.iter().all(|op| walked.iter().any(|(walked, _)| walked == op)), "ops are skipped");
    assert!(problems.is_empty(), "{} rows fail\n{}", problems.len(), problems.join("\n\n"));
}

#[test]
fn every_cast() {
    let mut problems = Vec::new();
    for (index, &from) in DType::ALL.iter().enumerate() {
        let graph = Graph::new();
        let [n, m, _] = graph.symbols(["n", "m", "k"]);
        let x = graph.input_dyn("x", from, shape![n]);
        let row = graph.input_dyn("row", from, shape![m]);
        let names: Vec<String> = DType::ALL.iter().map(|to| format!("to_{to}")).collect();
        let mut outputs: Vec<(&str, Tensor)> =
            names.iter().zip(DType::ALL).map(|(name, to)| (name.as_str(), x.cast_to(*to))).collect();
        outputs
            .push(("stretched", row.cast_to(DType::F64).unsqueeze(0) + x.cast_to(DType::F64).unsqueeze(1)));
        let checked = graph.finish(outputs.iter().copied()).expect("casts are defined");
        let corners = corners(from);
        let data: Vec<Data> = [corners.len(), 0, 1, corners.len().min(5), corners.len() - 1]
            .into_iter()
            .map(|n| {
                let arrays = [corners[corners.len() - n..].to_vec(), corners[..n.min(3)].to_vec()]
                    .map(|elements| array(from, &[elements.len()], elements));
                Data::of(&checked, [n, n.min(3), 0], arrays.into(), &[Lay::Backwards, Lay::Sparse])
            })
            .collect();
        let lays = vec![Lay::Padded; outputs.len()];
        problems.extend(compare(&graph, &outputs, &data, &lays, index as u64).err());
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

fn reduce(op: ReduceOp, x: Tensor, axis: i64) -> Tensor {
    match op {
        ReduceOp::Sum => x.sum(axis),
        ReduceOp::Prod => x.prod(axis),
        ReduceOp::Min => x.min(axis),
        ReduceOp::Max => x.max(axis),
        ReduceOp::Mean => x.mean(axis),
        ReduceOp::ArgMin => x.argmin(axis),
        ReduceOp::ArgMax => x.argmax(axis),
        ReduceOp::Any => x.any(axis),
        ReduceOp::All => x.all(axis),
    }
}

#[test]
fn every_reduction_on_every_dtype() {
    let mut problems = Vec::new();
    let mut walked = 0;
    for &op in ReduceOp::ALL {
        for &dtype in DType::ALL {
            let graph = Graph::new();
            let [n, m, _] = graph.symbols(["n", "m", "k"]);
            let x = graph.input_dyn("x", dtype, shape![n, m]);
            let few = graph.input_dyn("few", dtype, shape![n, 3]);
            let outputs = [
                ("rows", reduce(op, x, 1)),
                ("columns", reduce(op, x, 0)),
                ("short", reduce(op, few, 1)),
                ("all", reduce(op, reduce(op, few, 1), 0)),
            ];
            let checked = graph.finish(outputs).expect("reductions are defined on every dtype");
            let corners = corners(dtype);
            let fill = |count: usize, step: usize| -> Vec<Scalar> {
                (0..count).map(|index| corners[index * step / 7 % corners.len()]).collect()
            };
            let data: Vec<Data> = [(1, 1), (3, 5), (17, 33), (2, 65), (70, 20), (9, 1100)]
                .into_iter()
                .map(|(n, m)| {
                    let x = array(dtype, &[n, m], fill(n * m, 5));
                    let few = array(dtype, &[n, 3], fill(n * 3, 3));
                    Data::of(&checked, [n, m, 0], vec![x, few], &[Lay::Transposed, Lay::Backwards])
                })
                .collect();
            problems.extend(compare(&graph, &outputs, &data, &[Lay::Sparse; 4], walked as u64).err());
            walked += 1;
        }
    }
    assert_eq!(walked, ReduceOp::ALL.len() * DType::ALL.len());
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
