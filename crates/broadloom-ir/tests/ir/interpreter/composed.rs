//! What is made of other expressions: values printed by NumPy 2.4 or worked out by hand.

use super::*;
use broadloom_ir::graph::{Norm, SegmentOp};
use half::{bf16, f16};

fn table() -> Array {
    Array::new(&[2, 3], &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
}

fn near(result: Result<Array, InterpretError>, dims: &[usize], elements: &[f64]) {
    let found = result.unwrap();
    assert_eq!((found.dtype, &found.shape[..]), (DType::F64, dims));
    for (found, want) in found.elements.iter().zip(elements) {
        let Scalar::F64(found) = *found else { panic!("{found:?}") };
        assert!((found - want).abs() <= 4.0 * f64::EPSILON * want.abs(), "{found} is not {want}");
    }
}

#[test]
fn variances_are_numpys() {
    let var = |array: Array, axes: Option<&'static [i64]>, correction, root: bool| {
        let dims = if array.shape.len() == 2 { "n m" } else { "n" };
        evaluate(&[(dims, array)], false, |graph, x| match root {
            false => graph.var(x[0], axes, correction, false, here()),
            true => graph.std(x[0], axes, correction, false, here()),
        })
    };
    near(var(table(), Some(&[1]), 0.0, false), &[2], &[14.0 / 9.0, 896.0 / 9.0]);
    near(var(table(), Some(&[0]), 1.0, false), &[3], &[24.5, 98.0, 392.0]);
    near(var(table(), None, 0.0, true), &[], &[10.828203913853857]);
    near(var(table(), Some(&[1]), 1.5, true), &[2], &[1.7638342073763937, 14.11067365901115]);
    near(var(Array::new(&[3], &[1, 2, 4]), None, 0.0, false), &[], &[1.5555555555555554]);
    near(var(Array::new(&[3], &[true, false, true]), None, 0.0, true), &[], &[0.4714045207910317]);
    let halves = [1.0, 2.0, 4.0].map(f16::from_f64);
    expect(var(Array::new(&[3], &halves), None, 0.0, false), &[], &[f16::from_f64(1.556)]);
    // As many degrees of freedom as NumPy leaves: none is a division by zero, not by a negative number.
    expect(var(Array::new(&[2], &[1.0, 3.0]), None, 5.0, false), &[], &[f64::INFINITY]);
    expect(var(Array::new::<f64>(&[0], &[]), None, 0.0, false), &[], &[f64::NAN]);
}

#[test]
fn exponentials_do_not_overflow() {
    let logsumexp = |elements: &[f64]| {
        let array = Array::new(&[elements.len()], elements);
        evaluate(&[("n", array)], false, |graph, x| graph.logsumexp(x[0], None, false, here()))
    };
    near(logsumexp(&[1000.0, 1001.0, 1002.0]), &[], &[1002.4076059644444]);
    near(logsumexp(&[0.0, 0.0]), &[], &[std::f64::consts::LN_2]);
    expect(logsumexp(&[f64::NEG_INFINITY; 3]), &[], &[f64::NEG_INFINITY]);
    expect(logsumexp(&[]), &[], &[f64::NEG_INFINITY]);
    expect(logsumexp(&[1.0, f64::INFINITY]), &[], &[f64::INFINITY]);
    expect(logsumexp(&[1.0, f64::NAN]), &[], &[f64::NAN]);
    let soft = |log: bool| {
        let array = Array::new(&[3], &[1000.0, 1001.0, 1002.0]);
        evaluate(&[("n", array)], false, |graph, x| match log {
            false => graph.softmax(x[0], None, here()),
            true => graph.log_softmax(x[0], None, here()),
        })
    };
    let want = [0.09003057317038046, 0.24472847105479764, 0.6652409557748218];
    near(soft(false), &[3], &want);
    near(soft(true), &[3], &want.map(f64::ln));
}

#[test]
fn neighbours_differ() {
    let diff = |dims: &str, array: Array, order: i64, axis: i64| {
        evaluate(&[(dims, array)], false, |graph, x| graph.diff(x[0], order, axis, here()))
    };
    let squares = || Array::new(&[4], &[1i32, 4, 9, 16]);
    expect(diff("n", squares(), 0, 0), &[4], &[1i32, 4, 9, 16]);
    expect(diff("n", squares(), 1, -1), &[3], &[3i32, 5, 7]);
    expect(diff("n", squares(), 3, 0), &[1], &[0i32]);
    expect(diff("n", squares(), 4, 0), &[0], &[] as &[i32]);
    expect(diff("4", squares(), 16, 0), &[0], &[] as &[i32]);
    let table = || Array::new(&[2, 3], &[1u8, 3, 2, 0, 7, 2]);
    expect(diff("2 3", table(), 1, 0), &[1, 3], &[255u8, 4, 0]);
    expect(diff("n m", table(), 1, 1), &[2, 2], &[2u8, 255, 7, 251]);
    expect(diff("n", Array::new(&[4], &[true, true, false, true]), 1, 0), &[3], &[false, true, true]);
    let floats = [0.0, f64::INFINITY, f64::INFINITY];
    expect(diff("n", Array::new(&[3], &floats), 1, 0), &[2], &[f64::INFINITY, f64::NAN]);
}

#[test]
fn norms_and_counts() {
    let norm = |norm| {
        let array = Array::new(&[2, 2], &[3.0, -4.0, 0.0, 1.0]);
        evaluate(&[("n 2", array)], false, |graph, x| graph.norm(norm, x[0], Some(&[-1]), true, here()))
    };
    expect(norm(Norm::One), &[2, 1], &[7.0, 1.0]);
    expect(norm(Norm::Two), &[2, 1], &[5.0, 1.0]);
    expect(norm(Norm::Infinity), &[2, 1], &[4.0, 1.0]);
    let array = || Array::new(&[2, 2], &[0.5, -0.0, f64::NAN, 0.0]);
    let count =
        evaluate(&[("n m", array())], false, |graph, x| graph.count_nonzero(x[0], Some(&[0]), false, here()));
    expect(count, &[2], &[2_i64, 0]);
    for (op, want) in [(ReduceOp::Any, [true, true]), (ReduceOp::All, [false, false])] {
        expect(evaluate(&[("n m", array())], false, reduction(op, &[1], false)), &[2], &want);
    }
    let empty = || Array::new::<i16>(&[0], &[]);
    expect(evaluate(&[("n", empty())], false, reduction(ReduceOp::Any, &[0], false)), &[], &[false]);
    expect(evaluate(&[("n", empty())], false, reduction(ReduceOp::All, &[0], false)), &[], &[true]);
}

#[test]
fn grids_end_where_they_should() {
    let linspace = |start, stop, length: usize| {
        let array = Array::new(&[length], &vec![0_u8; length]);
        evaluate(&[("n", array)], false, |graph, x| {
            let length = graph.shape(x[0])[0].clone();
            graph.linspace(start, stop, length, here())
        })
    };
    expect(linspace(0.0, 1.0, 5), &[5], &[0.0, 0.25, 0.5, 0.75, 1.0]);
    expect(linspace(-1.0, 1.0, 4), &[4], &[-1.0, -0.33333333333333337, 0.33333333333333326, 1.0]);
    expect(linspace(1.0, 2.0, 1), &[1], &[1.0]);
    expect::<f64>(linspace(1.0, 2.0, 0), &[0], &[]);
    let last = linspace(0.0, 0.1, 50).unwrap().elements[49];
    assert_eq!(last, Scalar::F64(0.1));
}

#[test]
fn integers_compare_exactly() {
    let signed = [-1, 0, 1, 1_i64 << 62, i64::MIN];
    let unsigned = [u64::MAX, 0, 2, 1 << 62, 1 << 63];
    type Rule = fn(&i128, &i128) -> bool;
    let ops: [(Op, Rule); 6] = [
        (Op::Equal, i128::eq),
        (Op::NotEqual, i128::ne),
        (Op::Less, i128::lt),
        (Op::LessEqual, i128::le),
        (Op::Greater, i128::gt),
        (Op::GreaterEqual, i128::ge),
    ];
    for (op, rule) in ops {
        let arrays = || [("n", Array::new(&[5], &signed)), ("n", Array::new(&[5], &unsigned))];
        let pairs = signed.map(i128::from).into_iter().zip(unsigned.map(i128::from));
        let want: Vec<bool> = pairs.clone().map(|(a, b)| rule(&a, &b)).collect();
        expect(evaluate(&arrays(), false, elementwise(op)), &[5], &want);
        let want: Vec<bool> = pairs.map(|(a, b)| rule(&b, &a)).collect();
        let [a, b] = arrays();
        expect(evaluate(&[b, a], false, elementwise(op)), &[5], &want);
    }
    // Also where the operands broadcast, and for a narrow signed dtype.
    let found = evaluate(
        &[("2 1", Array::new(&[2, 1], &[-1_i8, 1])), ("2", Array::new(&[2], &[0, u64::MAX]))],
        false,
        elementwise(Op::Less),
    );
    expect(found, &[2, 2], &[true, true, false, true]);
}

#[test]
fn pieces_are_joined() {
    let ab = || [("2 n", Array::new(&[2, 2], &[1_u8, 2, 3, 4])), ("2 m", Array::new(&[2, 1], &[-5_i8, 6]))];
    let joined = evaluate(&ab(), false, |graph, x| graph.concat(x, -1, here()));
    expect(joined, &[2, 3], &[1_i16, 2, -5, 3, 4, 6]);
    let pair = [("n", Array::new(&[2], &[1, 2])), ("n", Array::new(&[2], &[3, 4]))];
    expect(evaluate(&pair, false, |graph, x| graph.stack(x, 0, here())), &[2, 2], &[1, 2, 3, 4]);
    expect(evaluate(&pair, false, |graph, x| graph.stack(x, -1, here())), &[2, 2], &[1, 3, 2, 4]);
}

#[test]
fn segments_are_combined() {
    let segment = |op, ids: &[i32], segments: i64| {
        let values: Vec<f32> = (0..ids.len() * 2).map(|value| value as f32).collect();
        let arrays = [("n 2", Array::new(&[ids.len(), 2], &values)), ("n", Array::new(&[ids.len()], ids))];
        evaluate(&arrays, false, |graph, x| graph.segment(op, x[0], x[1], Dim::constant(segments), here()))
    };
    let ids = [2, 0, 2, 2];
    expect(segment(SegmentOp::Sum, &ids, 3), &[3, 2], &[2.0_f32, 3.0, 0.0, 0.0, 10.0, 13.0]);
    let inf = f32::INFINITY;
    expect(segment(SegmentOp::Min, &ids, 3), &[3, 2], &[2.0, 3.0, inf, inf, 0.0, 1.0]);
    expect(segment(SegmentOp::Max, &ids, 3), &[3, 2], &[2.0, 3.0, -inf, -inf, 6.0, 7.0]);
    let nan = f32::NAN;
    expect(segment(SegmentOp::Mean, &ids, 3), &[3, 2], &[2.0, 3.0, nan, nan, 10.0 / 3.0, 13.0 / 3.0]);
    expect(segment(SegmentOp::Sum, &[], 2), &[2, 2], &[0.0_f32; 4]);
    for (bad, position) in [([0, -1], 1), ([3, 0], 0)] {
        let error = segment(SegmentOp::Sum, &bad, 3);
        let value = i64::from(bad[position]);
        assert!(
            matches!(error, Err(InterpretError::Index { position: at, value: found, size: 3, .. })
                if (at, found) == (position, value)),
            "{error:?}"
        );
    }
    let ids = [("n", Array::new(&[4], &[1_u64, 1, 0, 1]))];
    let count = evaluate(&ids, false, |graph, x| graph.segment_count(x[0], Dim::constant(3), here()));
    expect(count, &[3], &[1_i64, 3, 0]);
}

#[test]
fn sums_of_segments_go_by_tables() {
    // One segment has 15 tables, each of which takes 4,384 rows of a block. The sums of all but the first are less than half a
    // unit in the last place of its own, and together more.
    let rows = 65_536 + 5000;
    let value = |row: usize| if row % 65_536 < 4384 { 1.0 } else { 2.0_f64.powi(-55) };
    let values: Vec<f64> = (0..rows).map(value).collect();
    let table = |table: usize| (0..rows).filter(|row| row % 65_536 / 4384 == table).map(value).sum::<f64>();
    let want = (0..15).map(table).fold(0.0, |sum, table| sum + table);
    assert_ne!(want, 8768.0 + (rows - 8768) as f64 * 2.0_f64.powi(-55));
    let arrays = [("n", Array::new(&[rows], &values)), ("n", Array::new(&[rows], &vec![0_u8; rows]))];
    let found = evaluate(&arrays, false, |graph, x| {
        graph.segment(SegmentOp::Sum, x[0], x[1], Dim::constant(1), here())
    });
    expect(found, &[1], &[want]);
}

#[test]
fn sums_of_segments_keep_what_rounding_loses() {
    let values = [1e16, 1.0, -3.0, 1.0, -1e16, 0.5];
    let arrays = [("n", Array::new(&[6], &values)), ("n", Array::new(&[6], &[1_u8; 6]))];
    let found = evaluate(&arrays, false, |graph, x| {
        graph.segment(SegmentOp::Sum, x[0], x[1], Dim::constant(2), here())
    });
    expect(found, &[2], &[0.0, -0.5]);
}

#[test]
fn floats_of_16_bits_round_every_op() {
    let arrays =
        [("n", Array::new(&[2], &[2048.0, 1.0].map(f16::from_f64))), ("", Array::new(&[], &[f16::ONE]))];
    let found = evaluate(&arrays, true, |graph, x| {
        let sum = graph.elementwise(Op::Add, x, here());
        graph.elementwise(Op::Add, &[sum, x[1]], here())
    });
    // 2049 is not an f16: each sum rounds back to 2048.
    expect(found, &[2], &[2048.0, 3.0].map(f16::from_f64));
    // A sum accumulates in f32 and rounds once.
    let ones = vec![bf16::ONE; 1000];
    let found = evaluate(&[("n", Array::new(&[1000], &ones))], true, reduction(ReduceOp::Sum, &[0], false));
    expect(found, &[], &[bf16::from_f64(1000.0)]);
    let product = evaluate(&[("n", Array::new(&[3], &[300.0; 3].map(f16::from_f64)))], true, |graph, x| {
        let square = graph.elementwise(Op::Square, x, here());
        graph.reduce(ReduceOp::Min, square, None, false, here())
    });
    expect(product, &[], &[f16::INFINITY]);
}

#[test]
fn floats_of_16_bits_step_to_their_neighbours() {
    /// All floats of 16 bits in ascending order, those of one sign by their bits; the zeros are one.
    fn check<T: Element>(of: fn(u16) -> T, infinity: u16) {
        let negative = (1..=infinity).rev().map(|bits| of(0x8000 | bits));
        let ascending: Vec<T> = negative.chain((0..=infinity).map(of)).collect();
        let count = ascending.len();
        let towards = |end: u16| {
            let arrays = [("n", Array::new(&[count], &ascending)), ("", Array::new(&[], &[of(end)]))];
            evaluate(&arrays, false, |graph, x| graph.elementwise(Op::Nextafter, x, here()))
        };
        let mut above = ascending[1..].to_vec();
        above.push(ascending[count - 1]);
        // The neighbour above the least negative number is the zero of its sign.
        above[usize::from(infinity) - 1] = of(0x8000);
        expect(towards(infinity), &[count], &above);
        let mut below = vec![ascending[0]];
        below.extend(&ascending[..count - 1]);
        expect(towards(0x8000 | infinity), &[count], &below);
        let nan = of(infinity + 1);
        expect(towards(infinity + 1), &[count], &vec![nan; count]);
    }
    check(f16::from_bits, f16::INFINITY.to_bits());
    check(bf16::from_bits, bf16::INFINITY.to_bits());
    let zeros = Array::new(&[4], &[0.0, -0.0, 0.0, -0.0].map(f16::from_f64));
    let other = Array::new(&[4], &[-0.0, 0.0, 0.0, f64::NAN].map(f16::from_f64));
    let found = evaluate(&[("n", zeros), ("n", other)], false, |graph, x| {
        graph.elementwise(Op::Nextafter, x, here())
    });
    expect(found, &[4], &[-0.0, 0.0, 0.0, f64::NAN].map(f16::from_f64));
}
