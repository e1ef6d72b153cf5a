//! Indices that are certainly within their tables: what reads or writes there checks none of them.

use crate::band::Known;
use crate::interval::{Interval, of_constant, of_dtype, of_op, union};
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The most steps from a value to those from which it is known that it is an index.
const MAX_DEPTH: usize = 12;

/// How an integer is made of others.
enum Form {
    /// Not more than a size.
    UpTo(Dim),
    /// The least of some.
    Least(SmallVec<[ValueId; 3]>),
    /// One of some, or the greatest of them.
    Any(SmallVec<[ValueId; 3]>),
    Sum([ValueId; 2]),
    Other,
}

impl Form {
    /// The form of the result of an op.
    fn of_op(op: Op, args: SmallVec<[ValueId; 3]>) -> Form {
        match (op, args.len()) {
            (Op::Minimum, _) => Form::Least(args),
            (Op::Maximum, _) => Form::Any(args),
            (Op::Clip, 3) => Form::Least(args.into_iter().skip(2).collect()),
            (Op::Add, 2) => {
                let mut args = args.into_iter();
                match (args.next(), args.next()) {
                    (Some(x), Some(y)) => Form::Sum([x, y]),
                    _ => Form::Other,
                }
            }
            _ => Form::Other,
        }
    }
}

/// Removes the checks of indices that are certainly within their tables.
pub(crate) fn remove_checks(schedule: &mut Schedule) {
    for index in 0..schedule.kernels.len() {
        let (kernel, known) = (&schedule.kernels[index], Known::of(schedule));
        let mut values = None;
        let mut proven = Vec::new();
        for (id, value) in kernel.values.iter().enumerate() {
            let (Def::Take { index, size, .. } | Def::Checked { index, size, .. }) = value.def else {
                continue;
            };
            let values = values.get_or_insert_with(|| Values::new(kernel));
            if values.is_index(index, &kernel.size(size), known) {
                proven.push(id);
            }
        }
        for id in proven {
            let def = &mut schedule.kernels[index].values[id].def;
            if let Def::Take { position, .. } | Def::Checked { position, .. } = def {
                *position = None;
            }
        }
    }
}

/// What a row holds.
enum Held {
    /// These values.
    Values(Vec<ValueId>),
    Anything,
}

/// The values of a kernel, and the intervals of those that are known so far.
pub(crate) struct Values<'k> {
    kernel: &'k Kernel,
    rows: HashMap<RowId, Held>,
    known: HashMap<ValueId, Option<Interval>>,
}

impl<'k> Values<'k> {
    pub fn new(kernel: &'k Kernel) -> Self {
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
        Values { kernel, rows, known: HashMap::new() }
    }

    /// Finds the intervals of a value and of all that it is computed from.
    fn learn(&mut self, value: ValueId) {
        let mut stack = vec![(value, false)];
        while let Some((id, is_ready)) = stack.pop() {
            let entry = &self.kernel.values[id.index()];
            if is_ready {
                let all = of_dtype(entry.dtype);
                let found = self.interval_of(&entry.def);
                let fits = |[least, most]: &Interval| {
                    all.is_some_and(|[first, last]| first <= *least && *most <= last)
                };
                self.known.insert(id, found.filter(fits).or(all));
            } else if let Entry::Vacant(place) = self.known.entry(id) {
                // A value that its own row is computed from may be anything.
                place.insert(of_dtype(entry.dtype));
                stack.push((id, true));
                stack.extend(self.operands(&entry.def).into_iter().map(|operand| (operand, false)));
            }
        }
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

    /// Returns the interval of a definition, from those of its operands.
    fn interval_of(&self, def: &Def) -> Option<Interval> {
        let of = |value: &ValueId| self.known.get(value).copied().flatten();
        let below = |size: Extent| match size {
            Extent::Constant(size) => [0, size.saturating_sub(1).max(0)],
            Extent::Param(_) => [0, i64::MAX],
        };
        match def {
            Def::Constant(value) => of_constant(*value),
            Def::Index(axis) => {
                let entry = &self.kernel.axes[axis.index()];
                entry.is_whole().then(|| below(entry.extent))
            }
            Def::Checked { size, .. } => Some(below(*size)),
            Def::Op { op, .. } if op.is_comparison() => Some([0, 1]),
            Def::Op { op, args, .. } => {
                let args: Option<Vec<Interval>> = args.iter().map(of).collect();
                of_op(*op, &args?)
            }
            Def::Select([_, on_true, on_false]) => union([on_true, on_false].map(of)),
            Def::Cast(operand) => of(operand),
            Def::Row(row, _) => match self.rows.get(row)? {
                Held::Values(values) => union(values.iter().map(of)),
                Held::Anything => None,
            },
            Def::Search { size, .. } => match size {
                Extent::Constant(size) => Some([0, *size]),
                Extent::Param(_) => Some([0, i64::MAX]),
            },
            Def::Param(_) | Def::Load { .. } | Def::Take { .. } | Def::Reduced => None,
        }
    }

    /// Returns whether a value is certainly an index below a size.
    pub fn is_index(&mut self, id: ValueId, size: &Dim, known: Known<'_>) -> bool {
        self.learn(id);
        self.is_below(id, size, known, MAX_DEPTH)
    }

    fn is_below(&self, id: ValueId, size: &Dim, known: Known<'_>, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let is_natural = self.interval(id).is_some_and(|[least, _]| least >= 0);
        if is_natural && size.sub(&Dim::ONE).is_ok_and(|most| self.is_at_most(id, &most, known, depth)) {
            return true;
        }
        let Form::Sum([x, y]) = self.form(id) else { return false };
        // An index plus what is left of the size does not overflow.
        [(x, y), (y, x)].into_iter().any(|(x, more)| match self.interval(more) {
            Some([more, same]) if more == same && more >= 0 => {
                let rest = size.sub(&Dim::constant(more));
                rest.is_ok_and(|rest| self.is_below(x, &rest, known, depth))
            }
            _ => false,
        })
    }

    fn is_at_most(&self, id: ValueId, most: &Dim, known: Known<'_>, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let holds = |other: &Dim| most.sub(other).is_ok_and(|rest| known.is_size(&rest));
        let of = |id: &ValueId| self.is_at_most(*id, most, known, depth);
        if self.interval(id).is_some_and(|[_, most]| holds(&Dim::constant(most))) {
            return true;
        }
        match self.form(id) {
            Form::UpTo(size) => holds(&size),
            Form::Least(ids) => ids.iter().any(of),
            Form::Any(ids) => ids.iter().all(of),
            Form::Sum(_) | Form::Other => false,
        }
    }

    fn interval(&self, id: ValueId) -> Option<Interval> {
        self.known.get(&id).copied().flatten()
    }

    fn form(&self, id: ValueId) -> Form {
        let Value { dtype, def, .. } = &self.kernel.values[id.index()];
        if *dtype != DType::I64 {
            return Form::Other;
        }
        let last = |size: Extent| self.kernel.size(size).sub(&Dim::ONE).map_or(Form::Other, Form::UpTo);
        match def {
            Def::Param(param) => Form::UpTo(self.kernel.params[param.index()].clone()),
            Def::Index(axis) if self.kernel.axes[axis.index()].is_whole() => {
                last(self.kernel.axes[axis.index()].extent)
            }
            Def::Checked { size, .. } => last(*size),
            Def::Op { op, args, .. } => Form::of_op(*op, args.clone()),
            Def::Select([_, on_true, on_false]) => Form::Any(smallvec![*on_true, *on_false]),
            Def::Search { size, .. } => Form::UpTo(self.kernel.size(*size)),
            Def::Row(row, _) => match self.rows.get(row) {
                Some(Held::Values(values)) => Form::Any(values.iter().copied().collect()),
                Some(Held::Anything) | None => Form::Other,
            },
            Def::Index(_)
            | Def::Constant(_)
            | Def::Load { .. }
            | Def::Take { .. }
            | Def::Cast(_)
            | Def::Reduced => Form::Other,
        }
    }
}
