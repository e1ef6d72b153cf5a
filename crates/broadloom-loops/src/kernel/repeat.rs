//! Steps that are taken one after the other.

use super::*;

/// Takes the steps of an axis one after the other. Each computes values from those of the step before, which stay in registers.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    /// The axis of the steps.
    pub axis: AxisId,
    /// What passes from step to step.
    pub carried: Vec<Carried>,
    /// Runs for each step.
    pub body: Vec<Stmt>,
    /// Whether a step computes from nothing else that changes from step to step, and writes nothing. Once some steps have led back to
    /// where they began, what is left of them is known.
    pub settles: bool,
}

/// A value that passes from step to step. All four have one dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// The value before the first step.
    pub initial: ValueId,
    /// The value at the beginning of a step: [`Def::Reduced`].
    pub before: ValueId,
    /// The value at its end.
    pub next: ValueId,
    /// The value after the last step, the initial one if there is none: [`Def::Reduced`].
    pub last: ValueId,
}
