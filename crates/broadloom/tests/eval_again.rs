//! `eval` builds nothing if a closure writes what it wrote before. Nobody can tell from its results or errors.

use broadloom::prelude::*;
use broadloom::{EvalError, Tensor, select};
use std::cell::Cell;

const X: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

fn sum_of(expression: impl Fn(Tensor) -> Tensor) -> Result<f32, EvalError> {
    eval(&X, |x| expression(x).sum(0))
}

#[test]
fn numbers_are_part_of_what_is_written() {
    for round in 0..3 {
        for factor in [0.5, 2.0, -1.0] {
            let result: Vec<f32> = eval(&X, |x| x * factor + round).unwrap();
            assert_eq!(result, X.map(|x| x * factor as f32 + round as f32));
        }
    }
    // Equal numbers, other bits.
    for zero in [0.0, -0.0, 0.0] {
        let result: Vec<f32> = eval(&X, |x| zero * x).unwrap();
        assert!(result.iter().all(|found| found.to_bits() == (zero as f32).to_bits()), "{zero}");
    }
}

#[test]
fn closures_may_part_anywhere() {
    for round in 0..12 {
        let result: f32 = eval(&X, |x| {
            let y = x + 1;
            let z = if round % 2 == 0 { y * y } else { y.exp() };
            let w = if round % 3 == 0 { z - x } else { z };
            // Reads what was built, or is no call that a script tells.
            match round % 4 {
                0 => w.sum(0),
                1 => w.reshape([2, 2]).sum(..),
                2 if w.rank() == 1 => w.max(0),
                2 => w.min(0),
                _ => w.slice(slice![1..]).sum(0),
            }
        })
        .unwrap();
        let each = X.map(|x| {
            let y = x + 1.0;
            let z = if round % 2 == 0 { y * y } else { y.exp() };
            if round % 3 == 0 { z - x } else { z }
        });
        let expected: f32 = match round % 4 {
            0 | 1 => each.iter().sum(),
            2 => each.iter().copied().fold(f32::MIN, f32::max),
            _ => each[1..].iter().sum(),
        };
        assert!((result - expected).abs() <= 1e-5 * expected.abs(), "{round}: {result} {expected}");
    }
}

#[test]
fn every_call_that_a_script_tells_gives_the_same_again() {
    let table = ArrayView::new(&X, &[2, 2]).unwrap();
    let mut first = None;
    for _ in 0..3 {
        let all: (Vec<f32>, Vec<i32>, Vec<f32>, f32) = eval(table.clone(), |x| {
            let chosen = select(x.gt(2), x.t(), 0.5);
            let wide = x.unsqueeze(0).permute_dims([1, 0, 2]).squeeze(1).pow(2.0);
            (chosen.softmax(1), x.cast::<i32>(), wide - wide.mean_keepdims(0), x.var(..) + x.sum(..))
        })
        .unwrap();
        assert_eq!(*first.get_or_insert_with(|| all.clone()), all);
    }
    let (_, whole, centred, spread) = first.unwrap();
    assert_eq!((whole, centred, spread), (vec![1, 2, 3, 4], vec![-4.0, -6.0, 4.0, 6.0], 11.25));
}

#[test]
fn mistakes_are_those_of_the_first_time() {
    let bad = |n: usize| {
        let y = vec![1.0f32; n];
        eval::<_, _, Vec<f32>>((&X, &y), |(x, y)| x * 2 + y).map_err(|error| format!("{error:?}"))
    };
    let first = bad(5).unwrap_err();
    assert!(first.contains("cannot broadcast") && first.contains("eval_again.rs"), "{first}");
    assert_eq!(bad(5).unwrap_err(), first);
    assert_eq!(bad(4).unwrap(), X.map(|x| x * 2.0 + 1.0));
    assert_eq!(bad(5).unwrap_err(), first);
}

#[test]
fn errors_name_the_line_of_this_call() {
    let take = |index: i64| eval::<_, _, Vec<f32>>((&X, &[index]), |(x, index)| (x + 1).take(index, 0));
    let power = |exponent: i64| eval::<_, _, Vec<i64>>((&[2i64], &[exponent]), |(x, e)| x.pow(e) + 7);
    let other = |exponent: i64| {
        let line = line!() + 1;
        (eval::<_, _, Vec<i64>>((&[2i64], &[exponent]), |(x, e)| x.pow(e) + 7), line)
    };
    for _ in 0..2 {
        assert_eq!(power(3).unwrap(), [15]);
        let (result, line) = other(-1);
        let error = format!("{:?}", result.unwrap_err());
        assert!(error.contains(&format!("eval_again.rs:{line}:")), "{error}");
        assert!(take(9).unwrap_err().to_string().contains("the index at [0] is 9"));
        assert_eq!(take(0).unwrap(), [2.0]);
    }
}

#[test]
fn a_handle_is_that_of_one_call() {
    let kept: Cell<Option<Tensor>> = Cell::new(None);
    let add = || {
        sum_of(|x| {
            let y = 3 * x;
            let other = kept.replace(Some(y));
            other.map_or(y, |other| y + other)
        })
    };
    assert_eq!(add().unwrap(), 30.0);
    for _ in 0..2 {
        let error = add().unwrap_err().to_string();
        assert!(error.contains("graph"), "{error}");
    }
    assert!(kept.get().unwrap().is_poisoned());
}

#[test]
fn other_threads_may_write() {
    for _ in 0..3 {
        let result: Vec<f32> = eval(&X, |x| {
            let y = x + 1;
            std::thread::scope(|scope| scope.spawn(|| y * y).join().unwrap()) - x
        })
        .unwrap();
        assert_eq!(result, [3.0, 7.0, 13.0, 21.0]);
    }
}
