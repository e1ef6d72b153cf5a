//! Errors in ulps, against multiple precision for f64 and against f64 functions of the C library for f32.
#![allow(clippy::print_stdout, reason = "the measured maxima are the point of these tests")]

use crate::hard::samples;
use crate::reference::{Random, levels, reference, ulps, ulps_f32};
use broadloom_math::{Function, tile_f32, tile_f64};

/// The bound that the crate's documentation states.
fn bound(f: Function) -> f64 {
    if f == Function::Pow { 2.0 } else { 1.0 }
}

/// The largest error of an f64 function over hard and random arguments, `count` of each kind, at each level.
pub fn worst_f64(f: Function, count: usize) {
    let samples = samples(f, count);
    let (x, y): (Vec<f64>, Vec<f64>) = samples.iter().copied().unzip();
    let want: Vec<_> = samples.iter().map(|&(x, y)| reference(f, x, y)).collect();
    for level in levels() {
        let mut got = vec![0.0; x.len()];
        tile_f64(f, level, &mut got, &x, Some(&y));
        let errors = got.iter().zip(&want).map(|(&got, want)| ulps(got, want));
        let (error, at) = errors.zip(&samples).max_by(|a, b| a.0.total_cmp(&b.0)).expect("samples");
        println!("{f} f64 {level}: {error:.4} ulp at {at:?} of {}", samples.len());
        assert!(error <= bound(f), "{f} at {level}: {error} ulp at {at:?}");
    }
}

#[test]
fn f64_is_within_its_bound() {
    Function::ALL.into_iter().for_each(|f| worst_f64(f, 2000));
}

/// The largest error of an f32 function over arguments, at each level.
pub fn worst_f32(f: Function, arguments: impl Iterator<Item = (f32, f32)>) {
    const BATCH: usize = 4096;
    let mut worst = levels().map(|level| (level, 0.0, (0.0, 0.0)));
    let mut arguments = arguments.peekable();
    let mut got = [0.0; BATCH];
    while arguments.peek().is_some() {
        let (x, y): (Vec<f32>, Vec<f32>) = arguments.by_ref().take(BATCH).unzip();
        let want: Vec<f64> =
            x.iter().zip(&y).map(|(&x, &y)| by_c_library(f, f64::from(x), f64::from(y))).collect();
        for (level, error, at) in &mut worst {
            let count = tile_f32(f, *level, &mut got, &x, Some(&y));
            for i in 0..count {
                let here = ulps_f32(got[i], want[i]);
                if here > *error {
                    (*error, *at) = (here, (x[i], y[i]));
                }
            }
        }
    }
    for (level, error, at) in worst {
        println!("{f} f32 {level}: {error:.4} ulp at {at:?}");
        assert!(error <= bound(f), "{f} at {level}: {error} ulp at {at:?}");
    }
}

fn by_c_library(f: Function, x: f64, y: f64) -> f64 {
    match f {
        Function::Exp => x.exp(),
        Function::Log => x.ln(),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Tanh => x.tanh(),
        Function::Pow => x.powf(y),
    }
}

#[test]
fn f32_is_within_its_bound() {
    for f in Function::ALL {
        if f == Function::Pow {
            let mut random = Random(1);
            let float = |random: &mut Random| f32::from_bits(random.bits() as u32);
            worst_f32(
                f,
                (0..2_000_000).map(|i| match i % 4 {
                    0 => (float(&mut random), float(&mut random)),
                    1 => (float(&mut random), random.between(-4.0, 4.0) as f32),
                    2 => (float(&mut random), random.between(-9.0, 9.0).round() as f32),
                    _ => {
                        let x = float(&mut random).abs();
                        (x, (random.between(-104.0, 89.0) / f64::from(x).ln()) as f32)
                    }
                }),
            );
        } else {
            // A prime step, so that all low bits occur.
            worst_f32(f, (0..=u32::MAX).step_by(997).map(|bits| (f32::from_bits(bits), 0.0)));
        }
    }
}
