//! What ends long functions early.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The elements after which a function looks whether it should stop: a fraction of a millisecond.
pub(crate) const PART: usize = 1 << 16;

/// What ends a run early: a flag once it is set, and a time. Nothing unsets the flag during a run.
///
/// ```
/// use broadloom_math::Stop;
/// use std::sync::atomic::AtomicBool;
/// let flag = AtomicBool::new(true);
/// assert!(!Stop::NEVER.is_due());
/// assert!(Stop { flag: Some(&flag), deadline: None }.is_due());
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Stop<'a> {
    /// The flag.
    pub flag: Option<&'a AtomicBool>,
    /// The time.
    pub deadline: Option<Instant>,
}

impl Stop<'_> {
    /// That of a run that nothing ends.
    pub const NEVER: &'static Stop<'static> = &Stop { flag: None, deadline: None };

    /// Returns whether nothing can end the run.
    pub(crate) fn is_never(&self) -> bool {
        self.flag.is_none() && self.deadline.is_none()
    }

    /// Returns whether the run should end.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Returns the parts of so many elements in order, or `None` in place of a part once the run should end.
    pub(crate) fn parts(&self, count: usize) -> impl Iterator<Item = Option<Range<usize>>> {
        (0..count).step_by(PART).map(move |start| (!self.is_due()).then(|| start..count.min(start + PART)))
    }
}
