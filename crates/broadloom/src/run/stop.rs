//! Runs that can be stopped.

use super::RunError;
use broadloom_jit::Stop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A flag that stops runs. Clones are the same flag: keep one, and give another to [`RunOptions`].
///
/// ```
/// use broadloom::{CallError, RunError, RunOptions, StopFlag, prelude::*};
/// let g = Graph::new();
/// let kernel = g.input::<f32>("x", shape![g.symbol("n")]).exp().compile()?;
/// let flag = StopFlag::new();
/// let options = RunOptions::new().stopped_by(&flag);
/// assert!(kernel.run_with(&[1.0f32; 100], &options).is_ok());
/// flag.stop(); // usually from another thread, while a run takes its time
/// let stopped = kernel.run_with(&[1.0f32; 100], &options);
/// assert!(matches!(stopped, Err(CallError::Run(RunError::Stopped))));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Returns a flag that is not set.
    ///
    /// ```
    /// assert!(!broadloom::StopFlag::new().is_set());
    /// ```
    pub fn new() -> StopFlag {
        StopFlag::default()
    }

    /// Sets the flag. Runs that have it end soon, and later ones do not start.
    ///
    /// ```
    /// let flag = broadloom::StopFlag::new();
    /// let same = flag.clone();
    /// flag.stop();
    /// assert!(same.is_set());
    /// ```
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the flag is set.
    ///
    /// ```
    /// let flag = broadloom::StopFlag::new();
    /// flag.stop();
    /// assert!(flag.is_set());
    /// ```
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Options of one run: what ends it before its results are complete.
///
/// A run that can be stopped does the same as any other, with the same bits, and looks at the flag and the clock every 0.1 ms to some milliseconds:
/// between kernels, in loops, and while a long row is sorted. If its [work](crate::Bound::work) is not little, the first such run of a
/// kernel compiles code for that. Other runs do not look, and take no longer.
///
/// What it cannot end, it waits for: code that is compiled, memory that the system hands out, and a copy of results at the end, such as
/// one to an array with strides, or to one that is [assigned](crate::Tensor::assign) to.
///
/// A stopped run has no result: the contents of arrays that were passed for outputs are unspecified, and inputs that are
/// [assigned](crate::Tensor::assign) to keep their values.
///
/// ```
/// use broadloom::{CallError, RunError, RunOptions, prelude::*};
/// use std::time::Duration;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// let (x, y) = (g.input::<f32>("x", shape![n, 1]), g.input::<f32>("y", shape![m]));
/// let kernel = (x * y).exp().sum(..).compile()?; // 10^12 pairs
/// let same = |shape: &[usize]| ArrayView::strided(&[1.0f32], 0, shape, &[0, 0][..shape.len()]);
/// let inputs = inputs![same(&[1_000_000, 1])?, same(&[1_000_000])?];
/// let late = kernel.run_with(inputs, &RunOptions::new().within(Duration::from_millis(10)));
/// assert!(matches!(late, Err(CallError::Run(RunError::DeadlinePassed))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// The run ends once this flag is set.
    pub stop: Option<StopFlag>,
    /// The run ends at this time.
    pub deadline: Option<Instant>,
}

impl RunOptions {
    /// Returns options that let a run end on its own.
    ///
    /// ```
    /// let options = broadloom::RunOptions::new();
    /// assert!(options.stop.is_none() && options.deadline.is_none());
    /// ```
    pub fn new() -> RunOptions {
        RunOptions::default()
    }

    /// Ends the run once a flag is set.
    ///
    /// ```
    /// use broadloom::{RunOptions, StopFlag};
    /// let flag = StopFlag::new();
    /// let options = RunOptions::new().stopped_by(&flag);
    /// flag.stop();
    /// assert!(options.stop.is_some_and(|flag| flag.is_set()));
    /// ```
    #[must_use]
    pub fn stopped_by(mut self, flag: &StopFlag) -> RunOptions {
        self.stop = Some(flag.clone());
        self
    }

    /// Ends the run at a time.
    ///
    /// ```
    /// use std::time::Instant;
    /// let now = Instant::now();
    /// assert_eq!(broadloom::RunOptions::new().until(now).deadline, Some(now));
    /// ```
    #[must_use]
    pub fn until(mut self, deadline: Instant) -> RunOptions {
        self.deadline = Some(deadline);
        self
    }

    /// Ends the run after a time from now. A time beyond what the clock can show is no limit.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let options = broadloom::RunOptions::new().within(Duration::from_secs(1));
    /// assert!(options.deadline.is_some_and(|deadline| deadline > Instant::now()));
    /// ```
    #[must_use]
    pub fn within(mut self, time: Duration) -> RunOptions {
        self.deadline = Instant::now().checked_add(time);
        self
    }

    /// Returns whether a run may end before its results are complete.
    pub(crate) fn stops(&self) -> bool {
        self.stop.is_some() || self.deadline.is_some()
    }

    /// Returns what kernels look at.
    #[inline]
    pub(super) fn as_stop(&self) -> Stop<'_> {
        Stop { flag: self.stop.as_ref().map(|flag| &*flag.0), deadline: self.deadline }
    }

    /// Returns an error if the run has to end.
    #[inline]
    pub(super) fn check(&self) -> Result<(), RunError> {
        if self.stop.as_ref().is_some_and(StopFlag::is_set) {
            return Err(RunError::Stopped);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(RunError::DeadlinePassed);
        }
        Ok(())
    }
}
