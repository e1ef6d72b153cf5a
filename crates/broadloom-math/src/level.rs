//! Fusedness and the instruction set: the two properties that bits depend on.

use std::fmt;

/// Numerics level: whether `madd` is fused.
///
/// The two levels may differ in the last bit of a result. Each is deterministic: at one level a function
/// gives the same bits as a scalar call, in a tile of any length, and on any CPU.
pub trait Level: Copy + 'static {
    /// Whether `madd` rounds once.
    const FUSED: bool;

    /// `a * b + c`, rounded once if [`FUSED`](Self::FUSED), else twice.
    fn madd_f32(a: f32, b: f32, c: f32) -> f32;

    /// `a * b + c`, rounded once if [`FUSED`](Self::FUSED), else twice.
    fn madd_f64(a: f64, b: f64, c: f64) -> f64;
}

/// The level of CPUs with fused multiply-add. On other CPUs it is correct but slow: each `madd` is a library call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fused;

/// The level of CPUs without fused multiply-add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Unfused;

impl Level for Fused {
    const FUSED: bool = true;

    #[inline(always)]
    fn madd_f32(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn madd_f64(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

impl Level for Unfused {
    const FUSED: bool = false;

    #[inline(always)]
    fn madd_f32(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }

    #[inline(always)]
    fn madd_f64(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
}

/// The CPU level at which tile functions run and kernels are compiled; part of a kernel's identity.
///
/// All variants exist on all targets, so that a kernel's identity can be read anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CpuLevel {
    /// The instructions that the build target guarantees, without fused multiply-add (SSE2 on x86-64).
    Baseline,
    /// x86-64 with AVX2 and FMA: 256-bit vectors.
    Avx2Fma,
    /// x86-64 with AVX-512 F, CD, DQ, BW and VL: 512-bit vectors.
    Avx512,
    /// AArch64: 128-bit vectors, fused.
    Neon,
}

/// The widest level that [`CpuLevel::detect`] finds: any, except in a debug build that tests run as on a lesser CPU.
fn widest() -> CpuLevel {
    if !cfg!(debug_assertions) {
        return CpuLevel::Neon;
    }
    match std::env::var("BROADLOOM_LEVEL").as_deref() {
        Ok("baseline") => CpuLevel::Baseline,
        Ok("avx2") => CpuLevel::Avx2Fma,
        _ => CpuLevel::Neon,
    }
}

impl CpuLevel {
    /// Every level.
    pub const ALL: [CpuLevel; 4] = [CpuLevel::Baseline, CpuLevel::Avx2Fma, CpuLevel::Avx512, CpuLevel::Neon];

    /// Returns the widest level that this CPU supports.
    pub fn detect() -> CpuLevel {
        let widest = widest();
        [CpuLevel::Avx512, CpuLevel::Avx2Fma, CpuLevel::Neon]
            .into_iter()
            .find(|level| *level <= widest && level.is_supported())
            .unwrap_or(CpuLevel::Baseline)
    }

    /// Returns whether this CPU and this build can run the level's instructions.
    pub fn is_supported(self) -> bool {
        match self {
            CpuLevel::Baseline => true,
            CpuLevel::Avx2Fma | CpuLevel::Avx512 => self.extensions().all(|feature| (feature.is_present)()),
            CpuLevel::Neon => cfg!(target_arch = "aarch64"),
        }
    }

    fn extensions(self) -> impl Iterator<Item = &'static Feature> {
        let features: [&[Feature]; 2] = match self {
            CpuLevel::Baseline | CpuLevel::Neon => [&[], &[]],
            CpuLevel::Avx2Fma => [AVX2, &[]],
            CpuLevel::Avx512 => [AVX2, AVX512],
        };
        features.into_iter().flatten()
    }

    /// Returns the instruction set extensions that code of this level may use beyond those of the build target, by
    /// Rust's names: `sse4.1`. All are present if the level is [supported](CpuLevel::is_supported).
    pub fn features(self) -> impl Iterator<Item = &'static str> {
        self.extensions().map(|feature| feature.name)
    }

    /// Returns whether the level's numerics are [`Fused`].
    pub fn is_fused(self) -> bool {
        self != CpuLevel::Baseline
    }

    /// Returns the lower-case name, for dumps and options.
    pub fn name(self) -> &'static str {
        match self {
            CpuLevel::Baseline => "baseline",
            CpuLevel::Avx2Fma => "avx2+fma",
            CpuLevel::Avx512 => "avx512",
            CpuLevel::Neon => "neon",
        }
    }
}

impl fmt::Display for CpuLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An extension of the instruction set of x86-64.
#[derive(Clone, Copy)]
struct Feature {
    name: &'static str,
    is_present: fn() -> bool,
}

/// Extensions by Rust's names.
macro_rules! features {
    ($($name:tt)*) => {
        &[$(Feature {
            name: $name,
            #[cfg(target_arch = "x86_64")]
            is_present: || is_x86_feature_detected!($name),
            #[cfg(not(target_arch = "x86_64"))]
            is_present: || false,
        }),*]
    };
}

/// The extensions of [`CpuLevel::Avx2Fma`]: every CPU with AVX2 and FMA has them, unless they are masked. An
/// instruction of a masked extension may run as another one: `lzcnt` as `bsr`, with another result.
const AVX2: &[Feature] = features![
    "sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "cmpxchg16b" "avx" "avx2" "fma" "f16c" "bmi1" "bmi2" "lzcnt"
];

/// The further extensions of [`CpuLevel::Avx512`].
const AVX512: &[Feature] = features!["avx512f" "avx512cd" "avx512dq" "avx512bw" "avx512vl"];

/// Returns whether this CPU counts the set bits of all lanes of a vector at once, which not every CPU of
/// [`CpuLevel::Avx512`] does.
pub fn counts_bits() -> bool {
    features!["avx512bitalg" "avx512vpopcntdq"].iter().all(|feature: &Feature| (feature.is_present)())
}
