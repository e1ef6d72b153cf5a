//! Errors in ulps: of f32 over a stride of all arguments, of f64 over the beginning of what the sweep of
//! `examples/accuracy` goes through.
#![allow(clippy::print_stdout, reason = "the measured maxima are the point of these tests")]

use crate::proof::measure::{Finding, f32_errors, levels, worst_f64};
use crate::proof::random::{Format, Random};
use crate::proof::samples::{Arguments, at_corners};
use crate::proof::table::{FUNCTIONS, Row};
use broadloom_math::Function;

fn check(row: &Row, precision: usize, worst: [Finding; 2]) {
    for (level, Finding { error, at }) in levels().into_iter().zip(worst) {
        let (function, name) = (row.function, ["f32", "f64"][precision]);
        println!("{function} {name} {level}: {error:.4} ulp at {at:?}");
        assert!(error <= row.bounds[precision], "{function} {name} at {level}: {error} ulp at {at:?}");
    }
}

/// Corners, hard arguments, and some rounds of random ones.
fn arguments(row: &Row, format: Format, rounds: usize) -> Vec<Arguments> {
    let mut random = Random(0);
    let mut arguments = at_corners(row.function.arity(), format);
    arguments.extend((row.hard)(format));
    (0..rounds).for_each(|_| arguments.extend((row.round)(&mut random, format)));
    arguments
}

#[test]
fn every_function_has_one_row() {
    let rows: Vec<_> = FUNCTIONS.iter().map(|row| row.function).collect();
    assert_eq!(rows, Function::ALL);
}

#[test]
fn f64_is_within_its_bound() {
    for row in FUNCTIONS {
        check(row, 1, worst_f64(row, &arguments(row, Format::F64, 2000)));
    }
}

#[test]
fn f32_is_within_its_bound() {
    for row in FUNCTIONS {
        let mut worst = [Finding::NONE; 2];
        let found = |level: usize, finding| worst[level] = worst[level].max(finding);
        if row.function.arity() == 2 {
            let arguments = arguments(row, Format::F32, 200_000);
            f32_errors(row, arguments.into_iter().map(|(x, y)| (x as f32, y as f32)), found);
        } else {
            // A prime step, so that all low bits occur.
            let bits = (0..=u32::MAX).step_by(997);
            f32_errors(row, bits.map(|bits| (f32::from_bits(bits), 0.0)), found);
        }
        check(row, 0, worst);
    }
}
