//! Promise 22: steps that are taken one after the other.

use super::{Fault, Scope, find};
use crate::kernel::*;

impl Scope<'_> {
    pub(super) fn repeat(&mut self, repeat: &Repeat, stmt: &Stmt) -> Result<(), Fault> {
        let Repeat { axis, carried, body, settles } = repeat;
        let is_plain = |stmt: &Stmt| matches!(stmt, Stmt::Let(_) | Stmt::Store { .. });
        let entry = self.axis(*axis)?;
        if entry.reduction || !entry.is_whole() || self.kernel.shares(*axis) || !body.iter().all(is_plain) {
            return Err(Fault::Form(*axis));
        }
        if *settles && !body.iter().all(|stmt| self.is_alike_in_steps(stmt, *axis)) {
            return Err(Fault::Form(*axis));
        }
        for entry in carried {
            self.read(entry.initial)?;
        }
        let Some(each) = stmt.as_loop() else { return Ok(()) };
        self.scoped(|scope| {
            carried.iter().try_for_each(|entry| scope.define(entry.before))?;
            scope.looped(&each, &mut |scope| {
                carried.iter().try_for_each(|Carried { initial, before, next, last }| {
                    let dtype = scope.read(*next)?;
                    let carried = |value: &ValueId, is_passed: bool| -> Result<bool, Fault> {
                        let entry = find(&scope.kernel.values, value.index(), "value")?;
                        Ok(entry.dtype == dtype && (!is_passed || entry.def == Def::Reduced))
                    };
                    let is_one = carried(initial, false)? && carried(before, true)? && carried(last, true)?;
                    if is_one { Ok(()) } else { Err(Fault::Dtype(*last)) }
                })
            })
        })?;
        carried.iter().try_for_each(|entry| self.define(entry.last))
    }

    /// Whether a statement does in each step of an axis what it does in the others, if it gets the same values.
    fn is_alike_in_steps(&self, stmt: &Stmt, axis: AxisId) -> bool {
        let Stmt::Let(value) = stmt else { return false };
        let Some(Value { def, .. }) = self.kernel.values.get(value.index()) else { return false };
        let is_moved = |(access, _): &(AccessId, Use)| {
            self.kernel.accesses.get(access.index()).is_none_or(|access| access.stride(axis).is_some())
        };
        *def != Def::Index(axis) && !def.accesses().iter().any(is_moved)
    }
}
