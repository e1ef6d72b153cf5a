//! The best loops that we can write by hand, for the widest vectors of this CPU, and the loops one writes first.

/// The widest vectors of this CPU. Only [`Level::detect`] makes one, so that a level proves its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(Width);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Level {
    /// Asks the CPU.
    pub fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            // With the count of bits that came after the first of these CPUs, and that every later one has.
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vpopcntdq");
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if avx512 && avx2 {
                return Level(Width::Avx512);
            }
            if avx2 {
                return Level(Width::Avx2);
            }
        }
        Level(Width::Portable)
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Width::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => "AVX2 and FMA",
            Width::Portable => "the baseline",
        }
    }
}

/// Compiles a loop for every level, so that LLVM vectorises it at full width, and calls the one for this CPU.
macro_rules! at_every_level {
    ($($(#[doc = $doc:literal])+ fn $name:ident $(<const $size:ident: usize>)? ($($argument:ident: $type:ty),*) $body:block)*) => {$(
        $(#[doc = $doc])+
        pub fn $name $(<const $size: usize>)? (level: Level, $($argument: $type),*) {
            #[inline(always)]
            fn portable $(<const $size: usize>)? ($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
            fn avx512 $(<const $size: usize>)? ($($argument: $type),*) {
                portable $(::<$size>)? ($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2 $(<const $size: usize>)? ($($argument: $type),*) {
                portable $(::<$size>)? ($($argument),*)
            }

            match level.0 {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Level::detect` gives this width only where the CPU has these features.
                Width::Avx512 => unsafe { avx512 $(::<$size>)? ($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Width::Avx2 => unsafe { avx2 $(::<$size>)? ($($argument),*) },
                Width::Portable => portable $(::<$size>)? ($($argument),*),
            }
        }
    )*};
}

/// Compiles a loop over `V: vectors::Vector` for every width, in tiles of `I` vectors by `J` numbers that suit the
/// registers, and calls the one for this CPU.
macro_rules! at_every_width {
    ($($(#[doc = $doc:literal])+ fn $name:ident ($($argument:ident: $type:ty),*)
       for $wide:ident, $narrow:ident, $portable:ty, $body:block)*) => {$(
        $(#[doc = $doc])+
        pub fn $name(level: Level, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512vpopcntdq,avx2,fma")]
            fn wide($($argument: $type),*) {
                type V = x86::$wide;
                const I: usize = 4;
                const J: usize = 4;
                $body
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn narrow($($argument: $type),*) {
                type V = x86::$narrow;
                const I: usize = 2;
                const J: usize = 4;
                $body
            }

            fn portable($($argument: $type),*) {
                type V = $portable;
                const I: usize = 2;
                const J: usize = 4;
                $body
            }

            match level.0 {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Level::detect` gives this width only where the CPU has these features.
                Width::Avx512 => unsafe { wide($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Width::Avx2 => unsafe { narrow($($argument),*) },
                Width::Portable => portable($($argument),*),
            }
        }
    )*};
}

pub mod elementwise;
pub mod formulas;
pub mod functions;
pub mod loops;
pub mod nearest;
pub mod pairs;
pub mod peak;
pub mod reductions;
pub mod rows;
pub mod scans;
pub mod searches;
pub mod selections;
pub mod streams;
pub mod updates;
pub mod vectors;
