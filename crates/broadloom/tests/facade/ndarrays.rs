//! Arrays of the crate `ndarray`, passed and returned.

use broadloom::prelude::*;
use ndarray::{Array0, Array1, Array2, Array3, ArrayD, Axis, s};

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

#[test]
fn views_of_any_strides() -> Result {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f64>("x", shape![n, m]);
    let y = g.input::<f64>("y", shape![m, n]);
    let kernel = (x + y.t()).compile()?;
    let a = Array2::from_shape_fn((20, 30), |(i, j)| (i * 100 + j) as f64);
    let b = Array2::from_shape_fn((40, 50), |(i, j)| (i as f64).sin() + j as f64);
    let wide = a.row(3);
    for (x, y) in [
        (a.view(), b.slice(s![..30, ..20])),
        (a.slice(s![..;-2, ..]), b.slice(s![5..35, ..;-5])),
        (b.t().slice_move(s![..20, ..30]), a.t()),
        (wide.broadcast((7, 30)).ok_or("broadcast")?, b.slice(s![..30, 3..10])),
        (a.slice(s![..0, ..]), b.slice(s![..30, ..0])),
    ] {
        let result: Array2<f64> = kernel.run((&x, y))?.try_into()?;
        assert_eq!(result, &x + &y.t());
        let mut spread = Array3::<f64>::zeros((x.ncols(), 2, x.nrows()));
        let mut target = spread.index_axis_mut(Axis(1), 1);
        target.invert_axis(Axis(0));
        let mut target = target.reversed_axes();
        kernel.run_into((&x, y), &mut target)?;
        assert_eq!(target, result);
        assert!(spread.index_axis(Axis(1), 0).iter().all(|zero| *zero == 0.0));
    }
    Ok(())
}

#[test]
fn results_of_all_ranks() -> Result {
    let a = Array2::from_shape_fn((5, 3), |(i, j)| (i * 3 + j) as f32);
    let b = Array1::from(vec![1.0f32, 2.0, 3.0]);
    let z: Array2<f32> = broadloom::eval((&a, &b), |(a, b)| (a * a + b * b).sqrt())?;
    assert_eq!(z, (&a * &a + &b * &b).sqrt());
    let z: ArrayD<f32> = broadloom::eval((&a, &b), |(a, b)| (a * b).sum(1))?;
    assert_eq!(z.shape(), [5]);
    let z: Array0<f32> = broadloom::eval(a.view(), |a| a.sum(..))?;
    assert_eq!(z[()], 105.0);
    assert!(broadloom::eval::<_, _, Array1<f32>>(&a, |a| a).is_err());
    assert!(broadloom::eval::<_, _, Array2<f64>>(&a, |a| a).is_err());
    let z: Array2<bool> = broadloom::eval(&a, |a| a.gt(7))?;
    assert_eq!(z, a.mapv(|a| a > 7.0));
    Ok(())
}
