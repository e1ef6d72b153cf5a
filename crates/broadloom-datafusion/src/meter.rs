//! The time that kernels take in a query.

use crate::plan::{Identity, Plan};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts the rows of the functions of a query, and the time that they take, where they run inside of [`Meter::apply`].
///
/// Functions have no metrics of their own in an engine: they run inside of operators, which know only the time of all that
/// they do.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<HashMap<Identity, Counts>>>);

/// What a function did in a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) batches: u64,
    pub(crate) rows: u64,
    pub(crate) time: Duration,
}

thread_local! {
    /// The meter of the operator that this thread polls.
    static METER: RefCell<Option<Meter>> = const { RefCell::new(None) };
}

/// Puts the meter back that was there before, also after a panic.
struct Before(Option<Meter>);

impl Drop for Before {
    fn drop(&mut self) {
        METER.set(self.0.take());
    }
}

impl Meter {
    /// Calls a function, such as the poll of an operator, and counts what it computes on this thread.
    pub fn apply<R>(&self, function: impl FnOnce() -> R) -> R {
        let _before = Before(METER.replace(Some(self.clone())));
        function()
    }

    /// Returns whether a function has run.
    pub fn has_run(&self) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns what the function of a plan did so far.
    pub(crate) fn counts(&self, plan: &Plan) -> Counts {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(&plan.identity()).copied().unwrap_or_default()
    }
}

/// Calls what computes rows of the function of a plan. The time counts if a meter is set.
pub(crate) fn metered<R>(plan: &Plan, rows: usize, function: impl FnOnce() -> R) -> R {
    let Some(meter) = METER.with_borrow(Clone::clone) else { return function() };
    let start = Instant::now();
    let result = function();
    let mut all = meter.0.lock().unwrap_or_else(PoisonError::into_inner);
    let counts = all.entry(plan.identity()).or_default();
    counts.batches += 1;
    counts.rows += rows as u64;
    counts.time += start.elapsed();
    result
}
