//! Errors of calls name the function that the user called, whatever it is made of.

use broadloom::prelude::*;
use broadloom::{CallError, Padding, RunError};

fn refused(build: impl FnOnce(Tensor) -> Tensor, size: usize) -> String {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f64>("x", shape![n]);
    let kernel = build(x).compile().expect("it fits some sizes");
    let data = vec![1.0; size];
    kernel.run(&data[..]).map(drop).expect_err("the axis is too short").to_string()
}

#[test]
fn sizes_that_do_not_fit() {
    for (error, says) in [
        (refused(|x| x.roll(3, 0), 2), "n is 2, but `roll` needs n >= 3"),
        (refused(|x| x.diff(1, 0), 0), "n is 0, but `diff` needs n >= 1"),
        (refused(|x| x.diff(3, 0), 1), "n is 1, but `diff` needs n >= "),
        (refused(|x| x.pad([(2, 0)], Padding::Reflect), 2), "n is 2, but `pad` needs n >= 3"),
        (refused(|x| x.pad([(0, 4)], Padding::Wrap), 3), "n is 3, but `pad` needs n >= 4"),
        (refused(|x| x.pad([(1, 1)], Padding::Edge), 0), "n is 0, but `pad` needs n >= 1"),
        (refused(|x| x.sliding_window_view(5, 0), 4), "n is 4, but `sliding_window_view` needs n >= 5"),
        (refused(|x| x.gradient(1, 0), 1), "n is 1, but `gradient` needs n >= 2"),
        (refused(|x| x.unfold(0, 5, 2), 4), "n is 4, but `unfold` needs n >= 5"),
        (refused(|x| x.max(0), 0), "n is 0, but `max` needs n >= 1"),
        (refused(|x| x.slice_axis(0, 2..5, 1), 3), "n is 3, but the slice needs n >= 5"),
    ] {
        assert!(error.contains(says), "{error:?} instead of {says:?}");
        assert!(!error.contains("slice") || says.contains("slice"), "{error}");
    }
}

#[test]
fn data_without_a_result() -> Result<(), Box<dyn std::error::Error>> {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let table = g.input::<f32>("table", shape![n, 4]);
    let at = g.input::<i32>("at", shape![n, m]);
    let kernel = table.take_along_axis(at, 1).compile()?;
    let table: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let run = |at: &[i32]| -> Result<Vec<f32>, Box<dyn std::error::Error>> {
        let inputs = (ArrayView::new(&table, &[3, 4])?, ArrayView::new(at, &[3, 2])?);
        Ok(kernel.run(inputs)?.try_into()?)
    };
    assert_eq!(run(&[0, -1, 3, -4, 2, 2])?, [0.0, 3.0, 7.0, 4.0, 10.0, 10.0]);
    for wrong in [4, -5, i32::MAX, i32::MIN] {
        let error = run(&[0, -1, 3, wrong, 9, 2]).expect_err("it is out of range");
        let error = error.downcast::<CallError>()?;
        let CallError::Run(RunError::IndexOutOfRange { position, index, size, call, .. }) = *error else {
            panic!("{error}")
        };
        assert_eq!((&*position, index, size, &*call), (&[1, 1][..], wrong.into(), 4, "take_along_axis"));
    }
    Ok(())
}
