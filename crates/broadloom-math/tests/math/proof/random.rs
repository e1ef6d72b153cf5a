//! Random numbers for arguments: the same on every machine, so nothing here calls the C library.

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

    /// Uniform among the integers below `count`.
    pub fn below(&mut self, count: u64) -> f64 {
        (self.bits() % count) as f64
    }

    /// Uniform between the bounds.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() as f64 / 18_446_744_073_709_551_616.0)
    }

    /// Positive, with the exponent uniform between the bounds.
    pub fn with_exponent(&mut self, low: i32, high: i32) -> f64 {
        let exponent = self.between(f64::from(low), f64::from(high) + 1.0).floor() as i32;
        libm::scalbn(self.between(1.0, 2.0), exponent)
    }

    /// `x` or its negative.
    pub fn either_sign(&mut self, x: f64) -> f64 {
        if self.bits() & 1 == 0 { x } else { -x }
    }
}

/// A float format, to draw arguments for; they are passed as `f64` and are exact in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub name: &'static str,
    /// The exponents of the least and the greatest power of two.
    pub exponents: (i32, i32),
    /// Significant bits.
    pub digits: i32,
}

impl Format {
    pub const F32: Format = Format { name: "f32", exponents: (-149, 127), digits: 24 };
    pub const F64: Format = Format { name: "f64", exponents: (-1074, 1023), digits: 53 };

    pub const ALL: [Format; 2] = [Format::F32, Format::F64];

    /// The nearest number of the format.
    pub fn round(self, x: f64) -> f64 {
        if self == Format::F32 { f64::from(x as f32) } else { x }
    }

    /// Whether this is the least or the greatest number of the format, of either sign.
    pub fn ends_at(self, x: f64) -> bool {
        x.abs() == libm::scalbn(1.0, self.exponents.0) || x.abs() == self.largest()
    }

    /// The last place of 1.
    pub fn epsilon(self) -> f64 {
        libm::scalbn(1.0, 1 - self.digits)
    }

    /// The greatest number.
    pub fn largest(self) -> f64 {
        libm::scalbn(2.0 - self.epsilon(), self.exponents.1)
    }

    /// Positive, of any size.
    pub fn any(self, random: &mut Random) -> f64 {
        self.round(random.with_exponent(self.exponents.0, self.exponents.1))
    }

    /// Positive and subnormal.
    pub fn subnormal(self, random: &mut Random) -> f64 {
        let (least, _) = self.exponents;
        self.round(random.with_exponent(least, least + self.digits - 2))
    }

    /// Up to eight ulps away from `x`, unless that is zero.
    pub fn nudge(self, random: &mut Random, x: f64) -> f64 {
        let steps = (random.bits() % 17) as i32 - 8;
        if x == 0.0 {
            x
        } else if self == Format::F32 {
            f64::from(f32::from_bits((x as f32).to_bits().wrapping_add_signed(steps)))
        } else {
            f64::from_bits(x.to_bits().wrapping_add_signed(i64::from(steps)))
        }
    }
}
