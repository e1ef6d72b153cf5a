//! Formulas of several functions: blocks that stay in the first-level cache, through the tiles of `broadloom-math`, and
//! loops between them.

use super::{Level, Width};
use broadloom_math::{CpuLevel, Function, tile_f32, tile_f64};

const BLOCK: usize = 256;

/// Prices of European calls by Black and Scholes for a type of floats: spot prices, strikes and times in years, at an
/// interest and a volatility.
macro_rules! prices {
    ($name:ident, $float:ty, $tile:ident, $terms:ident, $sums:ident) => {
        pub fn $name(level: Level, [spot, strike, years]: [&[$float]; 3], out: &mut [$float]) {
            let cpu = CpuLevel::detect();
            let [mut ratios, mut logs, mut first, mut second, mut rates, mut discounts] =
                [[0.0; BLOCK]; 6];
            for (at, out) in out.chunks_mut(BLOCK).enumerate() {
                let range = at * BLOCK..at * BLOCK + out.len();
                let [spot, strike, years] = [spot, strike, years].map(|all| &all[range.clone()]);
                let length = out.len();
                for (ratio, (spot, strike)) in ratios.iter_mut().zip(spot.iter().zip(strike)) {
                    *ratio = spot / strike;
                }
                $tile(Function::Log, cpu, &mut logs[..length], &ratios, None);
                $terms(level, &logs[..length], years, &mut first, &mut second, &mut rates);
                $tile(Function::Erf, cpu, &mut ratios[..length], &first, None);
                $tile(Function::Erf, cpu, &mut logs[..length], &second, None);
                $tile(Function::Exp, cpu, &mut discounts[..length], &rates, None);
                $sums(level, spot, strike, &ratios, &logs, &discounts, out);
            }
        }

        at_every_level! {
            /// What erf and exp are taken of.
            fn $terms(logs: &[$float], years: &[$float], first: &mut [$float], second: &mut [$float], rates: &mut [$float]) {
                for ((((log, years), first), second), rate) in logs.iter().zip(years).zip(first).zip(second).zip(rates) {
                    let spread = 0.2 * years.sqrt();
                    let one = (log + (0.03 + 0.2 * 0.2 / 2.0) * years) / spread;
                    *first = one * std::f64::consts::FRAC_1_SQRT_2 as $float;
                    *second = (one - spread) * std::f64::consts::FRAC_1_SQRT_2 as $float;
                    *rate = -0.03 * years;
                }
            }

            /// What becomes of them.
            fn $sums(spot: &[$float], strike: &[$float], first: &[$float], second: &[$float], discounts: &[$float], out: &mut [$float]) {
                for (((((out, spot), strike), first), second), discount) in
                    out.iter_mut().zip(spot).zip(strike).zip(first).zip(second).zip(discounts)
                {
                    *out = 0.5 * (spot * (1.0 + first) - strike * discount * (1.0 + second));
                }
            }
        }
    };
}

prices!(prices_f32, f32, tile_f32, terms_f32, sums_f32);
prices!(prices_f64, f64, tile_f64, terms_f64, sums_f64);

/// Distances on a sphere of radius 1 from one place, all angles in radians.
pub fn haversine(level: Level, [latitude, longitude]: [f32; 2], at: [&[f32]; 2], out: &mut [f32]) {
    let cpu = CpuLevel::detect();
    let [mut across, mut along, mut sines, mut other_sines, mut cosines] = [[0.0; BLOCK]; 5];
    let [latitudes, longitudes] = at;
    for (number, out) in out.chunks_mut(BLOCK).enumerate() {
        let range = number * BLOCK..number * BLOCK + out.len();
        let (latitudes, longitudes) = (&latitudes[range.clone()], &longitudes[range]);
        let length = out.len();
        half_differences(level, latitude, latitudes, &mut across);
        half_differences(level, longitude, longitudes, &mut along);
        tile_f32(Function::Sin, cpu, &mut sines[..length], &across, None);
        tile_f32(Function::Sin, cpu, &mut other_sines[..length], &along, None);
        tile_f32(Function::Cos, cpu, &mut cosines[..length], latitudes, None);
        roots(level, latitude.cos(), &sines, &other_sines, &cosines, &mut across);
        tile_f32(Function::Asin, cpu, out, &across, None);
        twice(level, out);
    }
}

at_every_level! {
    /// `(x - from) / 2`.
    fn half_differences(from: f32, x: &[f32], out: &mut [f32]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = (x - from) * 0.5;
        }
    }

    /// What the arcus sine is taken of.
    fn roots(cosine: f32, sines: &[f32], others: &[f32], cosines: &[f32], out: &mut [f32]) {
        for (((out, sine), other), by) in out.iter_mut().zip(sines).zip(others).zip(cosines) {
            *out = (sine * sine + cosine * by * (other * other)).sqrt();
        }
    }

    /// Doubles everything.
    fn twice(out: &mut [f32]) {
        for out in out {
            *out *= 2.0;
        }
    }
}
