//! A tile gives the bits of scalar calls, at every level, length and position, in place or not.

use crate::proof::random::Random;
use crate::proof::table::FUNCTIONS;
use broadloom_math::{CpuLevel, Function, Fused, Precision, Real, TileFn, tile_f32, tile_function};

/// Ordinary numbers, with every kind of rare and special lane among them.
fn arguments(count: usize) -> Vec<(f64, f64)> {
    let mut random = Random(7);
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.0, 1e30, 1e-310];
    let mut one = || match random.bits() % 16 {
        0 => special[(random.bits() % special.len() as u64) as usize],
        1 => f64::from_bits(random.bits()),
        2 => f64::from(f32::from_bits(random.bits() as u32)),
        3 => random.between(-1e6, 1e6),
        _ => random.between(-9.0, 9.0),
    };
    (0..count).map(|_| (one(), one())).collect()
}

macro_rules! tile_test {
    ($test:ident, $float:ident, $precision:ident) => {
        #[test]
        fn $test() {
            let arguments: Vec<_> =
                arguments(1000).into_iter().map(|(x, y)| (x as $float, y as $float)).collect();
            let (x, y): (Vec<_>, Vec<_>) = arguments.into_iter().unzip();
            for row in FUNCTIONS {
                let f = row.function;
                for level in CpuLevel::ALL {
                    let tile = tile_function(f, Precision::$precision, level);
                    let call = row.$float[usize::from(level.is_fused())];
                    let want: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| call(x, y).to_bits()).collect();
                    for (start, len) in (0..=70).map(|len| (3 * len, len)).chain([(0, 1000)]) {
                        let range = start..start + len;
                        let (x, y) = (&x[range.clone()], &y[range.clone()]);
                        let separate = run(tile, x, y, Place::Separate);
                        let onto_a = run(tile, x, y, Place::OntoA);
                        let onto_b = run(tile, x, y, Place::OntoB);
                        for (i, want) in want[range].iter().enumerate() {
                            for got in [separate[i], onto_a[i], onto_b[i]] {
                                assert_eq!(
                                    got.to_bits(),
                                    *want,
                                    "{f} at {level}, element {i} of {len}: ({:e}, {:e})",
                                    x[i],
                                    y[i]
                                );
                            }
                        }
                    }
                }
            }
        }
    };
}

tile_test!(f32_tiles_equal_scalars, f32, F32);
tile_test!(f64_tiles_equal_scalars, f64, F64);

/// Where the result goes.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Separate,
    OntoA,
    OntoB,
}

/// One tile, with a guard element after its end.
fn run<T: Real + PartialEq + Default + std::fmt::Debug>(
    tile: TileFn,
    x: &[T],
    y: &[T],
    place: Place,
) -> Vec<T> {
    let len = x.len();
    let mut dst = vec![T::default(); len + 1];
    match place {
        Place::Separate => {}
        Place::OntoA => dst[..len].copy_from_slice(x),
        Place::OntoB => dst[..len].copy_from_slice(y),
    }
    let to = dst.as_mut_ptr();
    let a = if place == Place::OntoA { to.cast_const() } else { x.as_ptr() };
    let b = if place == Place::OntoB { to.cast_const() } else { y.as_ptr() };
    // SAFETY: all three point to at least `len` elements, `dst` equals a source or overlaps none, and
    // `tile_function` returned what this CPU can run.
    unsafe { tile(to.cast(), a.cast(), b.cast(), len) };
    assert_eq!(dst.pop(), Some(T::default()), "wrote past the end");
    dst
}

#[test]
fn unary_tiles_ignore_the_second_operand() {
    let x = [0.5f32, 1.5, 1e9];
    for row in FUNCTIONS.iter().filter(|row| row.function.arity() == 1) {
        let mut y = [0.0; 3];
        let tile = tile_function(row.function, Precision::F32, CpuLevel::Baseline);
        // SAFETY: the first two point to three elements, and functions of one operand ignore the third
        // pointer.
        unsafe { tile(y.as_mut_ptr().cast(), x.as_ptr().cast(), std::ptr::null(), 3) };
        assert_eq!(y.map(f32::to_bits), x.map(|x| row.f32[0](x, 0.0).to_bits()), "{}", row.function);
    }
}

#[test]
fn tiles_need_no_alignment() {
    let x: Vec<f64> = arguments(100).into_iter().map(|(x, _)| x).collect();
    let mut bytes: Vec<u8> = [0].into_iter().chain(x.iter().flat_map(|x| x.to_ne_bytes())).collect();
    let at = bytes[1..].as_mut_ptr();
    let tile = tile_function(Function::Log, Precision::F64, CpuLevel::detect());
    // SAFETY: `at` is followed by the bytes of `x.len()` elements, and the tile works in place.
    unsafe { tile(at, at.cast_const(), std::ptr::null(), x.len()) };
    for (got, x) in bytes[1..].chunks_exact(8).zip(&x) {
        assert_eq!(got, Real::log::<Fused>(*x).to_ne_bytes(), "log({x:e})");
    }
}

#[test]
fn slices_are_cut_to_the_shortest() {
    let level = CpuLevel::detect();
    let (a, b) = ([2.0f32; 5], [3.0f32; 2]);
    for (f, b, want) in [
        (Function::Pow, Some(&b[..]), &[8.0, 8.0, 0.0, 0.0][..]),
        (Function::Pow, None, &[0.0; 4]),
        (Function::Exp, Some(&b[..0]), &[Real::exp::<Fused>(2.0f32); 4]),
    ] {
        let mut dst = [0.0; 4];
        let count = tile_f32(f, level, &mut dst, &a, b);
        assert_eq!((count, &dst[..]), (want.iter().filter(|&&x| x != 0.0).count(), want), "{f}");
    }
}
