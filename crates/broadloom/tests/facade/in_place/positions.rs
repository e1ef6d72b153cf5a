//! Elements that indices choose.

use super::*;

/// Positions are checked before the array is written: it keeps its elements, or has all of the new ones.
#[test]
fn positions_are_written_in_place() {
    let explained = |change: fn(Tensor, Tensor, Tensor, Tensor) -> Tensor| {
        let g = Graph::new();
        let [n, k] = g.symbols(["n", "k"]);
        let x = g.input::<f64>("x", shape![n]);
        let [i, j] = ["i", "j"].map(|name| g.input::<i64>(name, shape![k]));
        x.assign(change(x, i, j, g.input::<f64>("v", shape![k])));
        let kernel = g.compile([]).unwrap();
        let explanation = kernel.explain();
        let text = explanation.to_string();
        let in_place = explanation.in_place("x");
        let bytes = explanation.materialized_bytes().to_string();
        let v = [0.5, 1.5, 2.5];
        let run = |i: [i64; 3], j: [i64; 3]| {
            let mut data = [5.0, 6.0, 7.0, 8.0];
            let inputs = inputs! { "x" => &mut data, "i" => &i, "j" => &j, "v" => &v };
            let result = kernel.run(inputs).map(|_| ());
            (data, result)
        };
        // Of two indices out of range, the second is only in expressions that have a `j`.
        for (i, j) in [([0, 1, 2], [0, 4, 1]), ([0, -5, 2], [0, 1, 2])] {
            let (data, result) = run(i, j);
            assert!(
                matches!(result, Ok(()) | Err(CallError::Run(RunError::IndexOutOfRange { .. }))),
                "{text}"
            );
            assert_eq!(data == [5.0, 6.0, 7.0, 8.0], result.is_err(), "{text}");
            assert_eq!(result.is_err(), i.contains(&-5) || text.contains("load j"), "{text}");
        }
        let (data, result) = run([3, -1, 0], [1, 1, -4]);
        result.unwrap();
        (in_place, bytes, text.matches("load x").count(), data)
    };
    let set = explained(|x, i, _, v| x.at(i).set(v));
    assert_eq!(set, (Some(true), "8*k".into(), 0, [2.5, 6.0, 7.0, 1.5]));
    let chain = explained(|x, i, j, v| x.at(i).set(v).at(j).set(v * 2));
    assert_eq!(chain, (Some(true), "16*k".into(), 0, [5.0, 3.0, 7.0, 1.5]));
    // What is read of elements that are replaced is stored first.
    let own = explained(|x, i, j, v| x.at(i).set(x.take(j, 0) + v));
    assert_eq!(own, (Some(true), "16*k".into(), 0, [7.5, 6.0, 7.0, 7.5]));
    // Elements of a table, which has another shape meanwhile.
    let g = Graph::new();
    let x = matrix(&g, "x", false);
    let [i, j] = ["i", "j"].map(|name| g.input::<i64>(name, shape![g.symbol("k")]));
    x.assign(x.at(slice![i, j]).set(1.5));
    let kernel = g.compile([]).unwrap();
    assert_eq!(kernel.explain().in_place("x"), Some(true), "{}", kernel.explain());
    let mut data = [0.0f32; 6];
    fn table(data: &mut [f32]) -> ArrayViewMut<'_> {
        ArrayViewMut::new(data, &[2, 3]).unwrap()
    }
    kernel.run(inputs! { "x" => table(&mut data), "i" => &[1i64, -2], "j" => &[2i64, 1] }).unwrap();
    assert_eq!(data, [0.0, 1.5, 0.0, 0.0, 0.0, 1.5]);
    let refused = kernel.run(inputs! { "x" => table(&mut data), "i" => &[0i64, 1], "j" => &[0i64, 3] });
    assert!(refused.is_err());
    assert_eq!(data, [0.0, 1.5, 0.0, 0.0, 0.0, 1.5]);
    // Later positions that depend on earlier changes cannot be checked before these.
    let late = explained(|x, i, j, v| {
        let x = x.at(i).set(v);
        x.at(x.take(j, 0).minimum(3).cast_to(DType::I64)).set(v)
    });
    assert_eq!((late.0, late.3), (Some(false), [2.5, 6.0, 2.5, 1.5]));
}

/// Axes before those of the positions have loops of their own: nothing is copied, whatever the order of the axes.
#[test]
fn positions_along_any_axes_are_written_in_place() {
    let explained = |reads_j: bool, change: fn(Tensor, Tensor, Tensor) -> Tensor| {
        let g = Graph::new();
        let [n, m, p, k] = g.symbols(["n", "m", "p", "k"]);
        let x = g.input::<f64>("x", shape![n, m, p]);
        let [i, j] = ["i", "j"].map(|name| g.input::<i64>(name, shape![k]));
        x.assign(change(x, i, j));
        let kernel = g.compile([]).unwrap();
        let explanation = kernel.explain();
        let run = |i: [i64; 2], j: [i64; 2]| {
            let mut data = [0.0; 12];
            let x = ArrayViewMut::new(&mut data, &[2, 2, 3]).unwrap();
            let result = kernel.run(inputs! { "x" => x, "i" => &i, "j" => &j }).map(|_| ());
            (data, result)
        };
        let (data, refused) = run([1, 0], [2, 3]);
        assert_eq!(refused.is_err(), reads_j, "{explanation}");
        assert!(refused.is_ok() || data == [0.0; 12], "{explanation}");
        let (data, done) = run([1, 1], [-1, 0]);
        done.unwrap();
        let bytes = explanation.materialized_bytes().to_string();
        let is_in_place = explanation.in_place("x") == Some(true);
        (is_in_place, bytes, explanation.to_string().matches("load x").count(), data.map(|x| x as i64))
    };
    let bytes = || "8*k".to_string();
    let columns = explained(true, |x, _, j| x.at(slice![.., .., j]).add(1));
    assert_eq!(columns, (true, bytes(), 0, [1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1]));
    let rows = explained(false, |x, i, _| x.at(slice![.., i]).set(2));
    assert_eq!(rows, (true, bytes(), 0, [0, 0, 0, 2, 2, 2, 0, 0, 0, 2, 2, 2]));
    let elements = explained(true, |x, i, j| x.at(slice![.., i, j]).set(3));
    assert_eq!(elements, (true, bytes(), 0, [0, 0, 0, 3, 0, 3, 0, 0, 0, 3, 0, 3]));
    // Of parts of the array, too.
    let lower = explained(true, |x, _, j| x.at(slice![1.., .., j]).set(4));
    assert_eq!(lower, (true, bytes(), 0, [0, 0, 0, 0, 0, 0, 4, 0, 4, 4, 0, 4]));
    let channel = explained(true, |x, i, j| x.at(slice![i, j, 0]).set(5));
    assert_eq!(channel, (true, bytes(), 0, [0, 0, 0, 0, 0, 0, 5, 0, 0, 5, 0, 0]));
    let beside = explained(true, |x, _, j| x.at(slice![0, ..;2, j]).add(6));
    assert_eq!(beside, (true, bytes(), 0, [6, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    // The values have the axes of the view.
    let turned = explained(true, |x, _, j| {
        let view = x.permute_dims([2, 1, 0]);
        view.at(j).set(view.slice(slice![0]) + 1).permute_dims([2, 1, 0])
    });
    assert_eq!((turned.0, turned.3), (true, [1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1]));
    // Elements that change places.
    let swapped = explained(true, |x, i, j| {
        let x = x.at(slice![.., .., j]).set(x.take(i, 2)).at(slice![.., .., i]).set(x.take(j, 2));
        x.at(slice![0]).add(1)
    });
    assert_eq!((swapped.0, swapped.3), (true, [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]));
}
