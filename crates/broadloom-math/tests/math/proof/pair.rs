//! Sums of two f64, about 100 bits: a source of true values of f64 functions that is hundreds of times as fast as
//! multiple precision, which decides on what is found by it.
//!
//! Dekker, "A floating-point technique for extending the available precision" (1971); the names are his.

use std::f64::consts;
use std::ops::{Add, Div, Mul, Neg, Sub};

#[derive(Debug, Clone, Copy)]
pub struct Pair {
    pub hi: f64,
    pub lo: f64,
}

pub const LN2: Pair = Pair { hi: consts::LN_2, lo: 2.3190468138462996e-17 };
pub const LN10: Pair = Pair { hi: consts::LN_10, lo: -2.1707562233822494e-16 };
pub const PI: Pair = Pair { hi: consts::PI, lo: 1.2246467991473532e-16 };

/// What pi/2 lacks as half of [`PI`].
const HALF_PI_REST: f64 = -1.4973849048591833e-33;

/// a + b, exactly.
pub fn sum(a: f64, b: f64) -> Pair {
    let hi = a + b;
    let part = hi - a;
    Pair { hi, lo: (a - (hi - part)) + (b - part) }
}

/// a * b, exactly.
pub fn product(a: f64, b: f64) -> Pair {
    let hi = a * b;
    Pair { hi, lo: a.mul_add(b, -hi) }
}

impl From<f64> for Pair {
    fn from(hi: f64) -> Pair {
        Pair { hi, lo: 0.0 }
    }
}

impl Neg for Pair {
    type Output = Pair;

    fn neg(self) -> Pair {
        Pair { hi: -self.hi, lo: -self.lo }
    }
}

impl<P: Into<Pair>> Add<P> for Pair {
    type Output = Pair;

    fn add(self, other: P) -> Pair {
        let other = other.into();
        let (hi, lo) = (sum(self.hi, other.hi), sum(self.lo, other.lo));
        let first = sum(hi.hi, hi.lo + lo.hi);
        sum(first.hi, first.lo + lo.lo)
    }
}

impl<P: Into<Pair>> Sub<P> for Pair {
    type Output = Pair;

    fn sub(self, other: P) -> Pair {
        self + -other.into()
    }
}

impl<P: Into<Pair>> Mul<P> for Pair {
    type Output = Pair;

    fn mul(self, other: P) -> Pair {
        let other = other.into();
        let first = product(self.hi, other.hi);
        sum(first.hi, first.lo + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl<P: Into<Pair>> Div<P> for Pair {
    type Output = Pair;

    fn div(self, other: P) -> Pair {
        let other = other.into();
        let first = self.hi / other.hi;
        let rest = self - other * first;
        let second = rest.hi / other.hi;
        let third = (rest - other * second).hi / other.hi;
        sum(first, second) + third
    }
}

impl Pair {
    pub fn sqrt(self) -> Pair {
        let root = self.hi.sqrt();
        let rest = self - product(root, root);
        sum(root, rest.hi / (2.0 * root))
    }

    pub fn abs(self) -> Pair {
        if self.hi < 0.0 { -self } else { self }
    }

    fn scaled(self, exponent: i32) -> Pair {
        Pair { hi: libm::scalbn(self.hi, exponent), lo: libm::scalbn(self.lo, exponent) }
    }

    /// e^self - 1, for |self| up to 1/2: of a 512th of it, doubled nine times.
    fn short_exp_m1(self) -> Pair {
        let r = self.scaled(-9);
        let series = (2..=9).rev().fold(Pair::from(1.0), |series, n| series * r / f64::from(n) + 1.0);
        (0..9).fold(series * r, |e, _| e * e + e.scaled(1))
    }

    pub fn exp(self) -> Pair {
        let n = (self.hi / LN2.hi).round();
        ((self - LN2 * n).short_exp_m1() + 1.0).scaled(n as i32)
    }

    pub fn exp_m1(self) -> Pair {
        if self.hi.abs() < 0.5 { self.short_exp_m1() } else { self.exp() - 1.0 }
    }

    pub fn ln(self) -> Pair {
        if (self.hi - 1.0).abs() < 0.0078125 {
            return (self - 1.0).ln_1p();
        }
        let near = self.hi.ln();
        let rest = self * Pair::from(-near).exp() - 1.0;
        rest - rest * rest * 0.5 + near
    }

    pub fn ln_1p(self) -> Pair {
        if self.hi.abs() >= 0.0078125 {
            return (self + 1.0).ln();
        }
        // 2 atanh s.
        let s = self / (self + 2.0);
        let z = s * s;
        let series = (0..8)
            .rev()
            .fold(Pair::from(0.0), |series, n| series * z + Pair::from(1.0) / f64::from(2 * n + 1));
        (s * series).scaled(1)
    }

    /// Sine and cosine of a number below 2^30.
    pub fn sin_cos(self) -> (Pair, Pair) {
        let half_pi = PI.scaled(-1);
        let q = (self.hi / half_pi.hi).round();
        let r = self - product(q, half_pi.hi) - product(q, half_pi.lo) - q * HALF_PI_REST;
        let z = -(r * r);
        // 1 + z / (n (n + 1)) (1 + z / ((n + 2) (n + 3)) (..
        let series = |first: u32| {
            let terms = (0..14).map(|n| f64::from((first + 2 * n) * (first + 2 * n + 1)));
            terms.rev().fold(Pair::from(1.0), |series, divisor| series * z / divisor + 1.0)
        };
        let (sin, cos) = (series(2) * r, series(1));
        match q.rem_euclid(4.0) as u8 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }

    /// The angle of the point (x, self).
    pub fn atan2(self, x: Pair) -> Pair {
        let near = self.hi.atan2(x.hi);
        let (sin, cos) = Pair::from(near).sin_cos();
        (self * cos - x * sin) / (x * cos + self * sin) + near
    }

    pub fn cbrt(self) -> Pair {
        let root = self.hi.cbrt();
        let rest = self - product(root, root) * root;
        sum(root, rest.hi / (3.0 * root * root))
    }

    /// The complement of the error function; see `truth`, which has the same in multiple precision.
    pub fn erfc(self) -> Pair {
        if self.hi < 3.0 {
            return -self.erf() + 1.0;
        }
        let terms = 30 + (800.0 / (self.hi * self.hi)) as u32;
        let fraction = (1..=terms).rev().fold(self, |rest, n| Pair::from(f64::from(n) / 2.0) / rest + self);
        (-(self * self)).exp() / fraction / PI.sqrt()
    }

    pub fn erf(self) -> Pair {
        if self.hi.abs() >= 3.0 {
            let size = -self.abs().erfc() + 1.0;
            return if self.hi < 0.0 { -size } else { size };
        }
        let square = self * self;
        let (mut term, mut total, mut odd) = (self, self, 1.0);
        while term.hi.abs() > 1e-33 * total.hi.abs() {
            odd += 2.0;
            term = (term * square).scaled(1) / odd;
            total = total + term;
        }
        (total * (-square).exp()).scaled(1) / PI.sqrt()
    }
}
