//! What kernels tell the host, and ask it: errors that depend on data, which they record, and whether a run should end.

use broadloom_ir::ExprId;
use broadloom_math::Stop;

/// The first element of a run without a result, if there is one: of the earliest expression, the element at the
/// least row-major position, whatever the order in which elements were computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failure {
    /// The element and its value.
    pub first: Option<FailureAt>,
}

/// An element without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailureAt {
    /// The expression: a `take`, a segmented reduction, or an integer `pow`.
    pub origin: ExprId,
    /// The row-major position in the indices of the `take`, in the segments, or in the result of the `pow`.
    pub position: i64,
    /// The index or the exponent.
    pub value: i64,
    /// The size of the indexed axis, or the number of segments; -1 for an exponent.
    pub size: i64,
}

impl Failure {
    /// Keeps the earlier of two failures.
    pub fn merge(&mut self, other: Failure) {
        self.first = match (self.first, other.first) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
    }
}

/// The host during a call of a kernel.
#[repr(C)]
pub(crate) struct Watch<'a> {
    pub(crate) stop: &'a Stop<'a>,
    pub(crate) failure: &'a mut Failure,
}

impl Watch<'_> {
    /// The distance in bytes of the reference to what ends the run.
    pub(crate) const STOP: i32 = std::mem::offset_of!(Watch<'static>, stop) as i32;
}

/// The host function that kernels call on a failure.
pub(crate) struct Report(extern "C" fn(&mut Watch<'_>, i64, i64, i64, i64));

pub(crate) const REPORT: Report = Report(report);

impl Report {
    pub(crate) fn address(&self) -> usize {
        self.0 as usize
    }
}

extern "C" fn report(watch: &mut Watch<'_>, origin: i64, position: i64, value: i64, size: i64) {
    let origin = ExprId::new(usize::try_from(origin).unwrap_or(0));
    watch.failure.merge(Failure { first: Some(FailureAt { origin, position, value, size }) });
}

/// The host function by which kernels look whether they should end: it returns 1 if so, and otherwise 0.
pub(crate) struct Look(extern "C" fn(&Watch<'_>) -> i64);

pub(crate) const LOOK: Look = Look(look);

impl Look {
    pub(crate) fn address(&self) -> usize {
        self.0 as usize
    }
}

extern "C" fn look(watch: &Watch<'_>) -> i64 {
    watch.stop.is_due().into()
}
