//! Elementary functions: the tiles of `broadloom-math`, which LLVM made for the widest vectors, on blocks that stay in
//! the first-level cache.

use super::{Level, Width};
use broadloom_math::{CpuLevel, Function, tile_f32};

const BLOCK: usize = 256;

/// A function of everything.
pub fn map(function: Function, x: &[f32], out: &mut [f32]) {
    tile_f32(function, CpuLevel::detect(), out, x, None);
}

/// `x` to a power.
pub fn power(x: &[f32], exponent: f32, out: &mut [f32]) {
    let exponents = [exponent; BLOCK];
    for (out, x) in out.chunks_mut(BLOCK).zip(x.chunks(BLOCK)) {
        tile_f32(Function::Pow, CpuLevel::detect(), out, x, Some(&exponents));
    }
}

/// `exp(-x * x) * sin(y) + log1p(abs(x))`.
pub fn mixed(level: Level, x: &[f32], y: &[f32], out: &mut [f32]) {
    let cpu = CpuLevel::detect();
    let [mut powers, mut waves, mut logs] = [[0.0; BLOCK]; 3];
    let [mut squares, mut sizes] = [[0.0; BLOCK]; 2];
    for ((out, x), y) in out.chunks_mut(BLOCK).zip(x.chunks(BLOCK)).zip(y.chunks(BLOCK)) {
        operands(level, x, &mut squares, &mut sizes);
        tile_f32(Function::Exp, cpu, &mut powers, &squares, None);
        tile_f32(Function::Sin, cpu, &mut waves, y, None);
        tile_f32(Function::Log1p, cpu, &mut logs, &sizes, None);
        combined(level, &powers, &waves, &logs, out);
    }
}

/// The approximation of GELU by tanh.
pub fn gelu(level: Level, x: &[f32], out: &mut [f32]) {
    let [mut angles, mut tanhs] = [[0.0; BLOCK]; 2];
    for (out, x) in out.chunks_mut(BLOCK).zip(x.chunks(BLOCK)) {
        gelu_angles(level, x, &mut angles);
        tile_f32(Function::Tanh, CpuLevel::detect(), &mut tanhs, &angles, None);
        gelu_results(level, x, &tanhs, out);
    }
}

at_every_level! {
    /// `-x * x` and `abs(x)`.
    fn operands(x: &[f32], squares: &mut [f32], sizes: &mut [f32]) {
        for ((square, size), x) in squares.iter_mut().zip(sizes).zip(x) {
            (*square, *size) = (-x * x, x.abs());
        }
    }

    /// `a * b + c`.
    fn combined(a: &[f32], b: &[f32], c: &[f32], out: &mut [f32]) {
        for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out = a * b + c;
        }
    }

    /// What GELU takes tanh of.
    fn gelu_angles(x: &[f32], angles: &mut [f32]) {
        for (angle, x) in angles.iter_mut().zip(x) {
            *angle = 0.797_884_6 * (x + 0.044_715 * x * x * x);
        }
    }

    /// What GELU makes of tanh.
    fn gelu_results(x: &[f32], tanhs: &[f32], out: &mut [f32]) {
        for ((out, x), tanh) in out.iter_mut().zip(x).zip(tanhs) {
            *out = 0.5 * x * (1.0 + tanh);
        }
    }
}
