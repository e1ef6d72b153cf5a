//! The cache behind `eval`: one test, because the counts are those of the whole process.

use broadloom::eval::cache_stats;
use broadloom::prelude::*;
use broadloom::{Array, EvalError};

#[test]
fn structure_decides_what_is_compiled() {
    let mut compiles = 0;
    let mut expect = |new: u64, what: &str| {
        compiles += new;
        assert_eq!(cache_stats().compiles, compiles, "{what}");
    };
    let hypot = |n: usize, m: usize| -> Result<f32, EvalError> {
        let (a, b) = (vec![3.0f32; n * m], vec![4.0f32; m]);
        let views = (ArrayView::new(&a, &[n, m]).unwrap(), &b);
        let c: Array<f32> = broadloom::eval(views, |(a, b)| (a * a + b * b).sqrt())?;
        assert_eq!(c.shape(), [n, m]);
        assert!(c.as_slice().iter().all(|c| *c == 5.0));
        Ok(0.0)
    };
    hypot(10, 20).unwrap();
    expect(1, "first");
    hypot(30, 40).unwrap();
    hypot(0, 50).unwrap();
    hypot(1000, 9).unwrap();
    expect(0, "other sizes of the same pattern");
    hypot(20, 20).unwrap();
    expect(1, "equal sizes are another pattern");
    hypot(1, 20).unwrap();
    expect(1, "size 1 is a constant");
    hypot(20, 3).unwrap();
    expect(1, "short trailing axes are constants");
    hypot(30, 3).unwrap();
    expect(0, "the leading axis is not");

    // 12 = 3 * 4 holds for these sizes only, so the kernel is specialised.
    let reshape = |n: usize, m: usize| {
        let (a, b) = (vec![1.0f32; n * m], vec![0.0f32; m]);
        broadloom::eval::<_, _, Vec<f32>>((&a, &b), |(a, b)| a.reshape([n, m]) + b).map(|c| c.len())
    };
    assert_eq!(reshape(30, 40).unwrap(), 1200);
    assert_eq!(reshape(30, 40).unwrap(), 1200);
    expect(1, "specialised");

    // Short axes that are reduced have variants of one kernel.
    let nearest = |d: usize| {
        let coordinates =
            |of: usize| -> Vec<f32> { (0..d).map(|at| ((of * 31 + at * 7) % 23) as f32).collect() };
        let [codes, points] =
            [300, 80].map(|count| (0..count).map(|of| coordinates(of + count)).collect::<Vec<_>>());
        let want = points.iter().map(|point| {
            let square =
                |code: &Vec<f32>| -> f32 { code.iter().zip(point).map(|(x, y)| (x - y) * (x - y)).sum() };
            let squares: Vec<f32> = codes.iter().map(square).collect();
            (0..codes.len())
                .min_by(|a, b| squares[*a].total_cmp(&squares[*b]))
                .map(|code| code as i64)
                .unwrap()
        });
        let [all_codes, all_points] = [codes.concat(), points.concat()];
        let views =
            (ArrayView::new(&all_codes, &[300, d]).unwrap(), ArrayView::new(&all_points, &[80, d]).unwrap());
        let got: Vec<i64> = broadloom::eval(views, |(codes, points)| {
            (codes.unsqueeze(1) - points).square().sum(-1).argmin(0)
        })
        .unwrap();
        assert_eq!(got, want.collect::<Vec<i64>>(), "{d}");
    };
    (9..14).for_each(nearest);
    expect(1, "short sizes of a reduced axis");

    let twice = |count: usize| -> (Vec<f64>, f64) {
        let (a, s): (Vec<f64>, f64) = broadloom::eval(&vec![1.0f64; count], |x| (x * 2, x.sum(0))).unwrap();
        (a, s)
    };
    assert_eq!(twice(100), (vec![2.0; 100], 100.0));
    expect(1, "two results");
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            scope.spawn(move || {
                for round in 0..20usize {
                    let data = vec![2i64; 100 + 10 * thread + round];
                    let sum: i64 = broadloom::eval((&data, 3i64), |(x, y)| (x * y).sum(0)).unwrap();
                    assert_eq!(sum, 6 * data.len() as i64);
                }
            });
        }
    });
    expect(1, "threads compile the same once");
    assert!(cache_stats().hits >= 160);
    for step in 0..300 {
        let one: i64 = broadloom::eval(1i64, |x| x + step).unwrap();
        assert_eq!(one, 1 + step);
    }
    assert!(cache_stats().entries <= 256);
}
