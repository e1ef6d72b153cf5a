//! True values that neither the standard library nor `dashu-float` has.
//!
//! Those in f64 are within some ulps, and underflow no earlier than the true value; those in multiple
//! precision are for finite arguments, and right to 120 bits of themselves, or to 2^-1000.

use crate::proof::ulps::{Big, big};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};
use std::sync::LazyLock;

/// Bits of intermediate results: erfc 4 is 2^-26, and is computed as 1 - erf 4.
const BITS: usize = 200;

static ROOT_OF_PI: LazyLock<Big> = LazyLock::new(|| {
    let one = Big::ONE.with_precision(BITS).value();
    (one.asin() << 1).sqrt()
});

/// e^(-x^2) x (1 + 2 x^2 / 3 + (2 x^2)^2 / (3 5) + ..) 2 / sqrt(pi), Abramowitz and Stegun 7.1.6; for small x.
fn erf_series(x: &Big) -> Big {
    let square = x * x;
    let (mut term, mut sum, mut odd) = (x.clone(), x.clone(), 1.0);
    let enough = (if *x < Big::ZERO { -x.clone() } else { x.clone() }) >> BITS as isize;
    let negligible = |term: &Big| *term <= enough && *term >= -enough.clone();
    while !negligible(&term) {
        odd += 2.0;
        term = ((term * &square) << 1) / big(odd);
        sum += &term;
    }
    ((sum * (-square).exp()) << 1) / &*ROOT_OF_PI
}

/// e^(-x^2) / sqrt(pi) / (x + 1/2 / (x + 1 / (x + 3/2 / (x + 2 / ..)))), A. and S. 7.1.14; for x from 4 on.
fn erfc_fraction(x: &Big) -> Big {
    // The error of n terms falls as e^(-2 x sqrt(2 n)).
    let size = x.to_f64().value();
    let terms = 30 + (2500.0 / (size * size)) as u32;
    let fraction = (1..=terms).rev().fold(x.clone(), |rest, n| x + big(f64::from(n) / 2.0) / rest);
    (-(x * x)).exp() / fraction / &*ROOT_OF_PI
}

fn widened(x: Big) -> Big {
    x.with_precision(BITS).value()
}

pub fn erf(x: Big) -> Big {
    let (x, size) = (widened(x.clone()), x.to_f64().value());
    match size {
        30.0.. => big(1.0),
        4.0.. => big(1.0) - erfc_fraction(&x),
        -4.0..4.0 => erf_series(&x),
        _ => -erf(-x),
    }
}

pub fn erfc(x: Big) -> Big {
    let (x, size) = (widened(x.clone()), x.to_f64().value());
    if size >= 4.0 { erfc_fraction(&x) } else { big(1.0) - erf(x) }
}

pub fn exp2(x: Big) -> Big {
    big(2.0).powf(&x)
}

pub fn expm1(x: Big) -> Big {
    if x < big(-1000.0) { big(-1.0) } else { x.exp_m1() }
}

pub fn cbrt(x: Big) -> Big {
    if x < Big::ZERO { -(-x).nth_root(3) } else { x.nth_root(3) }
}

pub fn sigmoid(x: Big) -> Big {
    if x > big(1000.0) {
        return big(1.0);
    }
    big(1.0) / (big(1.0) + (-x).exp())
}

pub fn silu(x: Big) -> Big {
    x.clone() * sigmoid(x)
}

pub fn softplus(x: Big) -> Big {
    logaddexp(x, big(0.0))
}

pub fn logaddexp(x: Big, y: Big) -> Big {
    let (larger, smaller) = if x > y { (x, y) } else { (y, x) };
    let difference = smaller - larger.clone();
    if difference < big(-1000.0) {
        return larger;
    }
    // e^0 is an exact 1, and has lost its precision.
    larger + difference.exp().with_precision(130).value().ln_1p()
}

pub fn gelu(x: Big) -> Big {
    let x = widened(x);
    let half = x.clone() >> 1;
    half.clone() * erfc(-x / widened(big(2.0)).sqrt())
}

pub fn gelu_tanh(x: Big) -> Big {
    let x = widened(x);
    let cubic = widened(big(44715.0)) / widened(big(1e6));
    let linear = (widened(big(8.0))).sqrt() / &*ROOT_OF_PI;
    let v = (x.clone() + cubic * &x * &x * &x) * linear;
    x * sigmoid(v)
}

/// x / (1 + e^-v) for an x of v's sign.
fn weighted(x: f64, v: f64) -> f64 {
    if v >= 0.0 {
        return x / (1.0 + (-v).exp());
    }
    // x e^v may be in the range where e^v is not.
    let half = (0.5 * v).exp();
    x.max(-800.0) * half / (1.0 + half * half) * half
}

/// The activation functions in f64.
pub mod wide {
    use super::*;

    pub fn sigmoid(x: f64) -> f64 {
        weighted(1.0, x)
    }

    pub fn silu(x: f64) -> f64 {
        weighted(x, x)
    }

    pub fn softplus(x: f64) -> f64 {
        logaddexp(x, 0.0)
    }

    pub fn logaddexp(x: f64, y: f64) -> f64 {
        if x == y {
            return x + LN_2;
        }
        let sum = if x > y { x } else { y } + (-(x - y).abs()).exp().ln_1p();
        if x.is_nan() || y.is_nan() { f64::NAN } else { sum }
    }

    pub fn gelu(x: f64) -> f64 {
        if x > -30.0 || x.is_nan() {
            return 0.5 * x * libm::erfc(-x * FRAC_1_SQRT_2);
        }
        // The asymptotic series, A. and S. 7.1.23: erfc may vanish before the product.
        let half = (-0.25 * x * x).exp();
        -(half / (2.0 * PI).sqrt()) * (1.0 - 1.0 / (x * x)) * half
    }

    pub fn gelu_tanh(x: f64) -> f64 {
        weighted(x, (8.0 / PI).sqrt() * (x + 0.044715 * x * x * x))
    }
}

/// Python's division with remainder as NumPy's `npy_divmod` writes it, on C's `fmod`, which is Rust's `%`.
pub trait Divide: Sized {
    fn remainder(self, y: Self) -> Self;
    fn floor_divide(self, y: Self) -> Self;
}

macro_rules! divide {
    ($float:ident) => {
        impl Divide for $float {
            fn remainder(self, y: Self) -> Self {
                let modulus = self % y;
                if y == 0.0 {
                    modulus
                } else if modulus == 0.0 {
                    $float::copysign(0.0, y)
                } else if (y < 0.0) != (modulus < 0.0) {
                    modulus + y
                } else {
                    modulus
                }
            }

            fn floor_divide(self, y: Self) -> Self {
                if y == 0.0 {
                    return self / y;
                }
                let modulus = self % y;
                let mut quotient = (self - modulus) / y;
                if modulus != 0.0 && (y < 0.0) != (modulus < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return $float::copysign(0.0, self / y);
                }
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
        }
    };
}

divide!(f32);
divide!(f64);
