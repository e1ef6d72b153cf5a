//! The quadrant of huge trigonometric arguments, after M. H. Payne and R. N. Hanek, "Radian reduction for
//! trigonometric functions" (1983).
//!
//! ```text
//! x = m 2^e ──▶ m times the 192 bits of 2/pi that matter at e ──▶ quadrant, fraction ──▶ times pi/2
//! ```
//!
//! All in integers, so that every level and CPU agrees.

/// A position on the circle: the angle q pi/2 + hi + lo.
#[derive(Debug, Clone, Copy)]
pub struct Quadrant<T> {
    /// The quadrant, an integer; only its two low bits count.
    pub q: T,
    /// The angle within, about -pi/4 to pi/4.
    pub hi: T,
    /// What `hi` lacks.
    pub lo: T,
}

/// The first 1280 bits of 2/pi after the binary point, as words, the highest first. The largest f64 ends in
/// weight 2^971 and needs bits 969 to 1161.
const TWO_OVER_PI: [u64; 20] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];

/// pi/2 * 2^127.
const PI_OVER_2: u128 = 0xc90fdaa22168c234c4c6628b80dc1cd1;

/// The bound of [`reduce_large`].
pub(crate) const LARGE_BELOW: f64 = (1u64 << 30) as f64;

/// pi/2 in parts of 23 bits, so that their products with quotients below 2^30 are exact, and the rest.
const FRAC_PI_2: [f64; 4] =
    [1.570796251296997, 7.549789415861596e-8, 5.39030083589187e-15, 2.0222662487959506e-21];

/// Where an f32 from 2^12 to `LARGE_BELOW` lies: the angle without its quarters, by Cody and Waite. The first two
/// differences are exact, and no such number is within 2^-27 of a multiple of pi/2, so that `hi` is within 2^-50 of itself.
#[inline(always)]
pub(crate) fn reduce_large(x: f64) -> Quadrant<f64> {
    let [first, second, third, rest] = FRAC_PI_2;
    let round = (3u64 << 51) as f64;
    let q = (x * std::f64::consts::FRAC_2_PI + round) - round;
    let r = ((x - q * first) - q * second) - q * third;
    Quadrant { q: (q as i64 & 3) as f64, hi: r - q * rest, lo: 0.0 }
}

/// 64 bits of 2/pi from bit `start` on (0 is the first after the binary point).
fn two_over_pi(start: i32) -> u64 {
    let word = |i: i32| usize::try_from(i).ok().and_then(|i| TWO_OVER_PI.get(i)).copied().unwrap_or(0);
    let (index, shift) = (start.div_euclid(64), start.rem_euclid(64));
    let pair = (u128::from(word(index)) << 64) | u128::from(word(index + 1));
    (pair >> (64 - shift)) as u64
}

/// Where a finite x >= 0 lies. `hi + lo` is within 2^-60 of itself of the exact angle for every f64.
#[cold]
#[inline(never)]
pub(crate) fn reduce(x: f64) -> Quadrant<f64> {
    let bits = x.to_bits();
    let field = ((bits >> 52) as i32).max(1);
    let mantissa = if bits >> 52 == 0 { bits } else { (bits & ((1 << 52) - 1)) | (1 << 52) };
    // x = mantissa * 2^exponent. Bits of 2/pi whose product with it are multiples of 4 do not matter: those
    // before `start`. After 192 bits the error is below 2^(53 - 192) of a full turn.
    let exponent = field - 1075;
    let start = exponent - 2;
    let window = [two_over_pi(start), two_over_pi(start + 64), two_over_pi(start + 128)];

    // The upper 128 of the low 192 bits of mantissa * window: the turn, as a fraction of 2^128.
    let m = u128::from(mantissa);
    let low = m * u128::from(window[2]);
    let middle = m * u128::from(window[1]) + (low >> 64);
    let turn = ((m * u128::from(window[0])) << 64).wrapping_add(middle);

    let quadrant = turn.wrapping_add(1 << 125) >> 126;
    let fraction = turn.wrapping_sub(quadrant << 126) as i128;
    let (q, negative) = (quadrant as f64, fraction < 0);
    let size = fraction.unsigned_abs();
    if size == 0 {
        return Quadrant { q, hi: 0.0, lo: 0.0 };
    }

    // |r| = size / 2^126 * pi/2, normalised to 128 bits first.
    let shift = size.leading_zeros();
    let product = high_half(size << shift, PI_OVER_2);
    let hi = product as f64;
    let lo = product.wrapping_sub(hi as u128) as i128 as f64;
    let exponent = 128 - 126 - 127 - i64::from(shift);
    let scale = f64::from_bits(((1023 + exponent) as u64) << 52);
    let scale = if negative { -scale } else { scale };
    Quadrant { q, hi: hi * scale, lo: lo * scale }
}

/// a * b / 2^128.
fn high_half(a: u128, b: u128) -> u128 {
    let low = u128::from(u64::MAX);
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & low, b >> 64, b & low);
    let cross = a_high * b_low + ((a_low * b_low) >> 64);
    let other = a_low * b_high + (cross & low);
    a_high * b_high + (cross >> 64) + (other >> 64)
}
