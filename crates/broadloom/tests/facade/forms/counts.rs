//! Counts of what holds: in lanes as narrow as what is compared, for as many steps as those can hold.

use crate::support::ways::{alone, ways};
use broadloom::prelude::*;

/// Sizes around whole vectors, and around the steps after which lanes of one and of two bytes are full.
const SIZES: [usize; 13] = [
    0,
    1,
    15,
    17,
    63,
    255 * 16 - 1,
    255 * 16,
    255 * 16 + 5,
    2 * 255 * 16 + 39,
    65_535 * 16 - 3,
    65_535 * 16,
    65_535 * 16 + 21,
    65_535 * 32 + 4000,
];

/// Counts what is above a number, alone and beside sums in the fixed order, along rows and along columns.
fn check<T: Element + PartialOrd>(of: impl Fn(usize) -> T, is_above: impl Fn(&Tensor) -> Tensor, limit: T) {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<T>("x", shape![n, m]);
    let above = is_above(&x);
    let outputs = [
        ("all", above.sum(..)),
        ("both", (above & x.eq(x)).sum(..) + above.any(..).cast::<i64>()),
        ("rows", above.sum(1)),
        ("columns", above.sum(0)),
        ("halves", above.cast::<f64>().sum(..) * 0.5 + above.sum(..).cast::<f64>()),
    ];
    let checked = g.finish(outputs).unwrap();
    for way in ways().into_iter().chain([alone()]) {
        let kernel = Executable::compile(&checked, &way).unwrap();
        for size in SIZES {
            let values: Vec<T> = (0..size).map(&of).collect();
            for shape in [[1, size], [size, 1]] {
                let x = ArrayView::new(&values, &shape).unwrap();
                let mut outputs = kernel.run(x).unwrap();
                let mut counts = |name: &str| -> Vec<i64> {
                    outputs.take::<broadloom::AnyArray>(name).unwrap().as_slice::<i64>().unwrap().to_vec()
                };
                let want = values.iter().filter(|value| **value > limit).count() as i64;
                let each: Vec<i64> = values.iter().map(|value| i64::from(*value > limit)).collect();
                let along = |is_whole: bool| if is_whole { vec![want] } else { each.clone() };
                let what = format!("{} of {shape:?}", std::any::type_name::<T>());
                assert_eq!(counts("all"), [want], "{what}");
                assert_eq!(counts("both"), [want + i64::from(want > 0)], "{what}");
                assert_eq!(counts("rows"), along(shape[0] == 1), "{what}");
                assert_eq!(counts("columns"), along(shape[1] == 1), "{what}");
                let halves: f64 = outputs.take("halves").unwrap();
                assert!(halves == want as f64 * 1.5, "{what}: {halves}");
            }
        }
    }
}

#[test]
fn of_bytes() {
    check(|at| if at == 70_000 { 3 } else { 4 + (at % 5) as u8 }, |x| x.gt(3), 3_u8);
}

#[test]
fn of_two_bytes() {
    check(|at| if at == 70_000 { -3 } else { (at % 5) as i16 - 2 }, |x| x.gt(-3), -3_i16);
}

#[test]
fn of_floats() {
    check(|at| if at % 11 == 0 { f32::NAN } else { (at % 3) as f32 }, |x| x.gt(0.5), 0.5_f32);
}

#[test]
fn of_long_integers() {
    check(|at| at as i64 % 5, |x| x.gt(0), 0_i64);
}
