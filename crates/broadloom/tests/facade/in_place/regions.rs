//! Regions: what is written, and what is read of the rest.

use super::*;

/// A call that can be stopped computes aside, and copies what does not change from the array.
#[test]
fn regions_of_calls_that_can_be_stopped() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    x.assign(x.at(slice![1.., 0]).set(x.slice(slice![..-1, -1]) * 2));
    let kernel = g.compile([]).unwrap();
    let (flag, stopped) = (StopFlag::new(), StopFlag::new());
    stopped.stop();
    let before: Vec<f32> = (0..12).map(|number| number as f32).collect();
    for strides in [[3, 1], [1, 4]] {
        let at = |row: usize, column: usize| row * strides[0] as usize + column * strides[1] as usize;
        let mut data = before.clone();
        let inputs = ArrayViewMut::strided(&mut data, 0, &[4, 3], &strides).unwrap();
        let refused = kernel.run_with(inputs, &RunOptions::new().stopped_by(&stopped));
        assert!(refused.is_err() && data == before);
        let inputs = ArrayViewMut::strided(&mut data, 0, &[4, 3], &strides).unwrap();
        kernel.run_with(inputs, &RunOptions::new().stopped_by(&flag)).unwrap();
        let mut want = before.clone();
        for row in 1..4 {
            want[at(row, 0)] = before[at(row - 1, 2)] * 2.0;
        }
        assert_eq!(data, want);
    }
}

/// Only the region is written, and nothing else is read or stored.
#[test]
fn what_does_not_change_is_not_written() {
    let written = |change: fn(Tensor) -> Tensor| {
        let g = Graph::new();
        let x = matrix(&g, "x", false);
        x.assign(change(x));
        let explanation = g.compile([]).unwrap().explain();
        let text = explanation.to_string();
        assert!(text.contains("output x: f32[n, m], starts as "), "{text}");
        (
            text.matches(" <- v").count(),
            explanation.materialized_bytes().to_string(),
            text.matches("load x").count(),
        )
    };
    let none = || "0".to_owned();
    assert_eq!(written(|x| x.at(slice![0]).set(0)), (1, none(), 0));
    assert_eq!(written(|x| x.at(slice![1.., 2..]).multiply(2)), (1, none(), 1));
    assert_eq!(written(|x| x.at(slice![0]).set(x.slice(slice![1]))), (1, none(), 1));
    assert_eq!(written(|x| x.at(slice![.., 0]).set(x.slice(slice![.., 1]))), (1, none(), 1));
    let stencil = |x: Tensor| {
        let [left, right] = [slice![1..-1, ..-2], slice![1..-1, 2..]].map(|part| x.slice(part));
        x.at(slice![1..-1, 1..-1]).set(left + right)
    };
    // Changes in turn, in an order that the call checks.
    let two = |x: Tensor| x.at(slice![2]).set(1).at(slice![5]).set(2);
    assert_eq!(written(two), (2, none(), 0));
    // Elements that lie between others.
    assert_eq!(written(|x| x.at(slice![..;2]).set(0)), (1, none(), 0));
    assert_eq!(written(|x| x.at(slice![.., 1..;3]).set(0)), (1, none(), 0));
    assert_eq!(written(|x| x.at(slice![..;1000000, ..;2]).multiply(2)), (1, none(), 1));
    assert_eq!(written(|x| x.at(slice![1..;2]).set(x.slice(slice![..-1;2]))), (1, none(), 1));
    // Regions that are the same for some sizes, and what one change reads of another.
    assert_eq!(written(|x| x.at(slice![0]).set(1).at(slice![-1]).set(2)), (2, none(), 0));
    let edges = |x: Tensor| {
        let x = x.at(slice![.., 0]).set(x.slice(slice![.., 1]));
        let x = x.at(slice![.., -1]).set(x.slice(slice![.., -2]));
        x.at(slice![0]).set(0).at(slice![-1]).set(0)
    };
    assert_eq!(written(edges), (4, none(), 1));
    // Boundaries that are copied from their neighbours, in any order.
    fn rows_first(x: Tensor) -> Tensor {
        let x = x.at(slice![0]).set(0);
        x.at(slice![-1]).set(x.slice(slice![-2])).at(slice![.., 0]).set(1)
    }
    assert_eq!(written(rows_first), (3, none(), 0));
    let all_edges = |x: Tensor| rows_first(x).at(slice![.., -1]).set(2);
    assert_eq!(written(all_edges), (4, none(), 0));
    let copied = |x: Tensor| {
        let x = x.at(slice![0]).set(x.slice(slice![1]));
        let x = x.at(slice![-1]).set(x.slice(slice![-2]));
        let x = x.at(slice![.., 0]).set(x.slice(slice![.., 1]));
        x.at(slice![.., -1]).set(x.slice(slice![.., -2]))
    };
    let mixed = |x: Tensor| {
        let x = x.at(slice![.., -1]).set(x.slice(slice![.., -2]));
        let x = x.at(slice![0]).set(x.slice(slice![1]));
        x.at(slice![.., 0]).set(x.slice(slice![.., 1])).at(slice![-1]).set(0)
    };
    for (name, (_, stored, _)) in [("copied", written(copied)), ("mixed", written(mixed))] {
        assert_eq!(stored, "0", "{name}");
    }
    // So are those of three axes.
    let sides = |change: fn(Tensor) -> Tensor| {
        let g = Graph::new();
        let x = g.input::<f32>("x", g.symbols(["n", "m", "k"]));
        x.assign(change(x));
        g.compile([]).unwrap().explain().materialized_bytes().to_string()
    };
    let middle = |x: Tensor| {
        let x = x.at(slice![.., 0]).set(0);
        x.at(slice![.., -1]).set(x.slice(slice![.., -2]))
    };
    assert_eq!(sides(middle), "0");
    let all = |x: Tensor| {
        let x = x.at(slice![0]).set(x.slice(slice![1]));
        let x = x.at(slice![.., 0]).set(x.slice(slice![.., 1]));
        let x = x.at(slice![.., .., 0]).set(x.slice(slice![.., .., 1]));
        let x = x.at(slice![-1]).set(x.slice(slice![-2]));
        let x = x.at(slice![.., -1]).set(x.slice(slice![.., -2]));
        x.at(slice![.., .., -1]).set(x.slice(slice![.., .., -2]))
    };
    assert_eq!(sides(all), "0");
    let many = |x: Tensor| (0..100).fold(x, |x, row| x.at(slice![row]).multiply(row + 2));
    assert_eq!(written(many), (100, none(), 100));
    let running = |x: Tensor| (1..50).fold(x, |x, row| x.at(slice![row]).add(x.slice(slice![row - 1]) * 2));
    // Rows that are read again are stored, but never all of the array.
    let (_, stored, _) = written(running);
    assert!(!stored.contains('n'), "{stored}");
    // One kernel does not write what another array needs.
    let g = Graph::new();
    let (x, y) = (matrix(&g, "x", false), matrix(&g, "y", false));
    x.assign(x.at(slice![0]).set(0));
    y.assign(y.at(slice![1..]).set(0));
    let text = g.compile([]).unwrap().explain().to_string();
    assert!(!text.contains("load"), "{text}");
    // Where all changes, nothing is kept.
    let g = Graph::new();
    let (x, y) = (matrix(&g, "x", false), matrix(&g, "y", false));
    x.assign(concat([y.slice(slice![..1]), y.slice(slice![1..]) * 2], 0));
    let text = g.compile([]).unwrap().explain().to_string();
    assert!(!text.contains("starts as"), "{text}");
    // The new elements wait until the old ones are read.
    assert_eq!(written(stencil).1, "4*n*m-8*n-8*m+16");
}
