//! Promise 18: elements that data choose exist.

use super::Fault;
use crate::interval::{Interval, of_constant, of_dtype, of_op};
use crate::kernel::*;
use std::collections::HashMap;

/// Checks that every index at which a kernel writes is below the size.
pub(super) fn bounds(kernel: &Kernel) -> Result<(), Fault> {
    let mut intervals: Option<Intervals<'_>> = None;
    for stmt in kernel.statements() {
        let Stmt::Scatter { index, size, .. } = stmt else { continue };
        let is_checked = |value: ValueId| matches!(&kernel.values[value.index()].def, Def::Checked { size: checked, .. } if checked == size);
        if is_checked(*index) {
            continue;
        }
        let [least, most] =
            intervals.get_or_insert_with(|| Intervals::new(kernel)).of(*index).ok_or(Fault::Index(*index))?;
        let is_below = matches!(*size, Extent::Constant(size) if most < size);
        if least < 0 || !is_below {
            return Err(Fault::Index(*index));
        }
    }
    Ok(())
}

/// What a row holds.
enum Held {
    /// These values.
    Values(Vec<ValueId>),
    Anything,
}

struct Intervals<'k> {
    kernel: &'k Kernel,
    rows: HashMap<RowId, Held>,
    known: HashMap<ValueId, Option<Interval>>,
}

impl<'k> Intervals<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let mut rows: HashMap<RowId, Held> = HashMap::new();
        for stmt in kernel.statements() {
            for (row, used) in stmt.rows(&kernel.values) {
                let held = rows.entry(row).or_insert(Held::Values(Vec::new()));
                match (stmt, used, held) {
                    (_, RowUse::Read, _) | (_, _, Held::Anything) => {}
                    (Stmt::Put { value, .. }, _, Held::Values(values)) => values.push(*value),
                    (_, _, held) => *held = Held::Anything,
                }
            }
        }
        Intervals { kernel, rows, known: HashMap::new() }
    }

    /// The interval of a value, from those of its operands.
    fn of(&mut self, value: ValueId) -> Option<Interval> {
        let mut stack = vec![(value, false)];
        while let Some((id, is_ready)) = stack.pop() {
            let entry = &self.kernel.values[id.index()];
            if is_ready {
                let all = of_dtype(entry.dtype);
                let found = self.from_operands(&entry.def);
                let fits = |[least, most]: &Interval| {
                    all.is_some_and(|[first, last]| first <= *least && *most <= last)
                };
                self.known.insert(id, found.filter(fits).or(all));
            } else if !self.known.contains_key(&id) {
                // A value that its own row is computed from may be anything.
                self.known.insert(id, of_dtype(entry.dtype));
                stack.push((id, true));
                stack.extend(self.operands(&entry.def).into_iter().map(|operand| (operand, false)));
            }
        }
        self.known.get(&value).copied().flatten()
    }

    fn operands(&self, def: &Def) -> Vec<ValueId> {
        match def {
            Def::Row(row, _) => match self.rows.get(row) {
                Some(Held::Values(values)) => values.clone(),
                Some(Held::Anything) | None => Vec::new(),
            },
            _ => def.operands().to_vec(),
        }
    }

    fn from_operands(&self, def: &Def) -> Option<Interval> {
        let of = |value: &ValueId| self.known.get(value).copied().flatten();
        let union = |values: &[ValueId]| {
            let mut intervals = values.iter().map(of);
            let first = intervals.next()??;
            intervals.try_fold(first, |[least, most], next| {
                next.map(|[low, high]| [least.min(low), most.max(high)])
            })
        };
        let below = |size: Extent| match size {
            Extent::Constant(size) => [0, size.saturating_sub(1).max(0)],
            Extent::Param(_) => [0, i64::MAX],
        };
        match def {
            Def::Constant(value) => of_constant(*value),
            Def::Index(axis) => Some(below(self.kernel.axes[axis.index()].extent)),
            Def::Checked { size, .. } => Some(below(*size)),
            Def::Op { op, args, .. } => {
                let args: Option<Vec<Interval>> = args.iter().map(of).collect();
                of_op(*op, &args?)
            }
            Def::Select([_, on_true, on_false]) => union(&[*on_true, *on_false]),
            Def::Cast(operand) => of(operand),
            Def::Row(row, _) => match self.rows.get(row)? {
                Held::Values(values) => union(values),
                Held::Anything => None,
            },
            Def::Search { size, .. } => match size {
                Extent::Constant(size) => Some([0, *size]),
                Extent::Param(_) => Some([0, i64::MAX]),
            },
            Def::Param(_) | Def::Load { .. } | Def::Take { .. } | Def::Reduced => None,
        }
    }
}
