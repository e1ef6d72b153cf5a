//! Reference values in multiple precision, errors in ulps, and random numbers.

use broadloom_math::{CpuLevel, Function};
use dashu_float::{FBig, round::mode::HalfEven};

/// A float of any precision.
pub type Big = FBig<HalfEven, 2>;

/// `x` exactly; what is computed from it has 130 bits, so more than twice those of f64.
pub fn big(x: f64) -> Big {
    Big::try_from(x).expect("samples are finite").with_precision(130).value()
}

/// The function at finite arguments inside its domain.
pub fn reference(f: Function, x: f64, y: f64) -> Big {
    let x = big(x);
    match f {
        Function::Exp => x.exp(),
        Function::Log => x.ln(),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Tanh => x.tanh(),
        Function::Pow => x.powf(&big(y)),
    }
}

/// The distance from `got` to `want` in units of the last f64 place of `want`; an infinity counts as 2^1024.
pub fn ulps(got: f64, want: &Big) -> f64 {
    assert!(!got.is_nan(), "NaN in place of {want}");
    let bits = want.repr().exponent() + want.repr().digits() as isize;
    let unit = (bits - 53).clamp(-1074, 971);
    let limit = Big::ONE.with_precision(130).value() << 1024;
    let got = match got {
        f64::INFINITY => limit.clone(),
        f64::NEG_INFINITY => -limit.clone(),
        _ => big(got),
    };
    if got >= limit && *want >= limit {
        return 0.0;
    }
    ((got - want.clone()) << -unit).to_f64().value().abs()
}

/// The distance from `got` to `want` in units of the last f32 place of `want`, for a `want` that is known to
/// f64 precision. Special values and overflows must agree.
pub fn ulps_f32(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if want.is_nan() || rounded.is_infinite() || got.is_infinite() || want == 0.0 {
        return if got.to_bits() == rounded.to_bits() || got.is_nan() && want.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = ((want.abs().to_bits() >> 52) as i32 - 1023).max(-126);
    (f64::from(got) - want).abs() / f64::exp2(f64::from(exponent - 23))
}

/// A level of each numerics, unfused first; the fused one as wide as this CPU has it, or else portable code.
pub fn levels() -> [CpuLevel; 2] {
    [CpuLevel::Baseline, CpuLevel::detect().max(CpuLevel::Avx2Fma)]
}

/// Steele, Lea and Flood's SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform between the bounds.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() as f64 / 2f64.powi(64))
    }

    /// Positive, with the exponent uniform between the bounds.
    pub fn with_exponent(&mut self, low: i32, high: i32) -> f64 {
        let exponent = self.between(f64::from(low), f64::from(high) + 1.0).floor();
        // In two steps, because the power alone may underflow.
        self.between(1.0, 2.0) * f64::exp2((exponent / 2.0).floor()) * f64::exp2((exponent / 2.0).ceil())
    }

    /// `x` or its negative.
    pub fn either_sign(&mut self, x: f64) -> f64 {
        if self.bits() & 1 == 0 { x } else { -x }
    }
}
