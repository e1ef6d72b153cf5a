//! Parts of graphs that are cut along their rows, by hand.

use super::{here, input};
use broadloom_ir::SymbolId;
use broadloom_ir::chunks::{Part, split};
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::Graph;
use broadloom_ir::interp::{Array, interpret_with_sizes};

const LEAST: i64 = i32::MIN as i64;
const NONE: i64 = i64::MAX;

fn run(part: &Option<Part>, arrays: &[Array], rows: i64) -> Vec<Vec<i64>> {
    let part = part.as_ref().expect("there is such a part");
    let integer = |element: &Scalar| match element.cast(DType::I64) {
        Scalar::I64(value) => value,
        other => panic!("{other:?} is no integer"),
    };
    let results = interpret_with_sizes(&part.graph, arrays, &[("n", rows)], false).unwrap();
    results.iter().map(|array| array.elements.iter().map(integer).collect()).collect()
}

/// A chunk of two rows has no third best one: what stands for it loses against everything, and against what is as
/// little, which comes later, as well.
#[test]
fn a_short_chunk_has_fewer_of_the_best() {
    let mut graph = Graph::new();
    let x = input(&mut graph, "x", DType::I32, "n");
    let values = graph.topk(x, 3, 0, true, here());
    let indices = graph.argtopk(x, 3, 0, true, here());
    let graph = graph.finish(&[("values", values), ("indices", indices)]).unwrap();
    let split = split(&graph, SymbolId::new(0)).unwrap();
    let [pass] = &split.passes[..] else { panic!("one pass is enough: {split:?}") };

    let chunk = |rows: &[i32], before: i64| {
        let arrays = [Array::new(&[rows.len()], rows), Array::new(&[], &[before])];
        run(&pass.each, &arrays, rows.len() as i64)
    };
    // The values, the indices, and the values behind these.
    let left = chunk(&[-7, 5], 10);
    assert_eq!(left, [vec![5, -7, LEAST], vec![11, 10, NONE], vec![5, -7, LEAST]]);
    let right = chunk(&[i32::MIN, 5, i32::MIN, -9], 12);
    assert_eq!(right, [vec![5, -9, LEAST], vec![13, 15, 12], vec![5, -9, LEAST]]);

    let arrays = |sides: [&[Vec<i64>]; 2]| -> Vec<Array> {
        let side = |side: &[Vec<i64>]| {
            let values =
                |values: &[i64]| Array::new(&[3], &[values[0] as i32, values[1] as i32, values[2] as i32]);
            [values(&side[0]), Array::new(&[3], &side[1]), values(&side[2])]
        };
        sides.into_iter().flat_map(side).collect()
    };
    let both = run(&pass.merge, &arrays([&left, &right]), 6);
    assert_eq!(both, [vec![5, 5, -7], vec![11, 13, 10], vec![5, 5, -7]]);

    let few = chunk(&[i32::MIN], 30);
    assert_eq!(few, [vec![LEAST; 3], vec![30, NONE, NONE], vec![LEAST; 3]]);
    let both = run(&pass.merge, &arrays([&few, &chunk(&[i32::MIN, i32::MIN, i32::MIN], 31)]), 4);
    assert_eq!(both[1], [30, 31, 32]);
}
