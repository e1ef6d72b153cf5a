//! Promise 16: kernels that run together use the same rows.
//!
//! The check computes with sizes that a call may have, and not with symbols as the search for such kernels does, so that no
//! mistake is in both.

use super::present::Example;
use super::{Broken, Fault};
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::Scalar;
use broadloom_ir::ops::Op;
use std::collections::BTreeSet;

/// Checks the bands of a schedule.
pub(super) fn bands(schedule: &Schedule) -> Result<(), Broken> {
    let examples = Example::sized(schedule);
    let mut next = 0;
    for (index, band) in schedule.bands.iter().enumerate() {
        let first = band.kernels.first().map_or(KernelId::new(0), |(first, _)| *first);
        let broken = |kernel: KernelId, fault| Err(Broken { kernel, fault });
        let follows = |(at, (kernel, _)): (usize, &(KernelId, _))| kernel.index() == first.index() + at;
        let is_own = schedule.host_symbols.iter().enumerate().any(|(at, symbol)| {
            *symbol == HostSymbol::Rows(index) && band.rows.index() == schedule.symbols.len() + at
        });
        let end = first.index() + band.kernels.len();
        if !is_own
            || first.index() < next
            || end > schedule.kernels.len()
            || !band.kernels.iter().enumerate().all(follows)
        {
            return broken(first, Fault::Together);
        }
        next = end;
        for (at, kernel) in schedule.kernels.iter().enumerate() {
            let is_outside = !(first.index()..end).contains(&at);
            let uses = |held: &&BufferId| kernel.accesses.iter().any(|access| access.buffer == Some(**held));
            if let Some(held) = band.held.iter().find(|held| is_outside && uses(held)) {
                return broken(KernelId::new(at), Fault::Rows(*held));
            }
        }
        let rows: BTreeSet<BufferId> = shared(schedule, band);
        for (id, steps) in &band.kernels {
            let kernel = &schedule.kernels[id.index()];
            for example in &examples {
                let step = Step { schedule, band, kernel, example };
                let Some(per_row) = step.per_row(steps) else { return broken(*id, Fault::Together) };
                let other = if per_row == 0 { None } else { step.other_row(&rows, per_row) };
                if let Some(buffer) = other {
                    return broken(*id, Fault::Rows(buffer));
                }
            }
        }
    }
    Ok(())
}

/// Returns the arrays that a kernel of a band writes and another uses, and those that the band holds.
fn shared(schedule: &Schedule, band: &Band) -> BTreeSet<BufferId> {
    let kernels = || band.kernels.iter().map(|(id, _)| &schedule.kernels[id.index()]);
    let uses = |kernel: &Kernel, buffer| kernel.accesses.iter().any(|access| access.buffer == Some(buffer));
    let written: BTreeSet<BufferId> = kernels().flat_map(Kernel::written).collect();
    let is_shared = |buffer: &BufferId| kernels().filter(|kernel| uses(kernel, *buffer)).count() > 1;
    written.into_iter().filter(is_shared).chain(band.held.iter().copied()).collect()
}

/// The steps of a kernel of a band in a call.
#[derive(Clone, Copy)]
struct Step<'s> {
    schedule: &'s Schedule,
    band: &'s Band,
    kernel: &'s Kernel,
    example: &'s Example,
}

impl Step<'_> {
    fn extent(&self, extent: Extent) -> Option<i64> {
        match extent {
            Extent::Constant(extent) => Some(extent),
            Extent::Param(param) => self.example.size(self.kernel.params.get(param.index())?),
        }
    }

    fn stride(&self, stride: Stride) -> Option<i64> {
        match stride {
            Stride::Constant(stride) => Some(stride),
            Stride::Param(param) => self.example.size(self.kernel.params.get(param.index())?),
        }
    }

    /// Returns the number of steps per row, or 0 if there is none; `None` if the steps are not those of rows.
    fn per_row(&self, steps: &Dim) -> Option<i64> {
        self.kernel.parallel?;
        let (rows, steps) = (self.example.size(&self.band.extent)?, self.example.size(steps)?);
        let mut all = 1i64;
        for axis in self.kernel.shared() {
            let axis = self.kernel.axes.get(axis.index())?;
            if !axis.is_whole() {
                return None;
            }
            all = all.checked_mul(self.extent(axis.extent)?)?;
        }
        (rows.checked_mul(steps)? == all).then_some(rows.min(1) * steps)
    }

    /// Returns an array of which a step uses elements that are not those of its row.
    fn other_row(&self, shared: &BTreeSet<BufferId>, per_row: i64) -> Option<BufferId> {
        for stmt in self.kernel.statements() {
            for (id, used) in stmt.accesses(&self.kernel.values) {
                let buffer = self.kernel.accesses.get(id.index()).and_then(|access| access.buffer);
                let Some(buffer) = buffer.filter(|buffer| shared.contains(buffer)) else { continue };
                let elements = self.elements_of_row(buffer);
                if !elements.is_some_and(|row| self.stays(stmt, (id, used), row, per_row).unwrap_or(false)) {
                    return Some(buffer);
                }
            }
        }
        None
    }

    /// Returns the number of elements of a row of an array.
    fn elements_of_row(&self, buffer: BufferId) -> Option<i64> {
        let Buffer { shape, role, .. } = self.schedule.buffers.get(buffer.index())?;
        let product = |dims: &[Dim]| {
            dims.iter().try_fold(1i64, |product, dim| product.checked_mul(self.example.size(dim)?))
        };
        match self.band.held.contains(&buffer) {
            true => {
                let counts = shape.first()?.as_symbol() == Some(self.band.rows) && *role == Role::Temporary;
                product(&shape[1..]).filter(|_| counts)
            }
            false => product(shape)?.checked_div(self.example.size(&self.band.extent)?),
        }
    }

    /// Returns whether what a statement uses in any of the steps of the first row is that row.
    fn stays(&self, stmt: &Stmt, (id, used): (AccessId, Use), row: i64, per_row: i64) -> Option<bool> {
        // That nothing is read of an array without elements is promise 15.
        if row == 0 {
            return Some(true);
        }
        let access = &self.kernel.accesses[id.index()];
        let delta = match (used, stmt) {
            (Use::Read(delta) | Use::Write(delta), _) => delta,
            (_, Stmt::Transpose { delta, .. }) => *delta,
            (_, Stmt::Best(Best { source, .. }) | Stmt::BestRows(BestRows { source, .. })) => {
                source.array().map_or(0, |(_, delta)| delta)
            }
            (_, Stmt::Let(_) | Stmt::Sort(_)) => 0,
            _ => return None,
        };
        let start = self.example.size(&access.offset)? + delta;
        let (mut least, mut greatest) = (start, start);
        let parallel = self.kernel.parallel?;
        let chosen = match stmt {
            Stmt::Let(value) => match self.kernel.values[value.index()].def {
                Def::Take { stride, size, index, .. } => Some((stride, size, Some(index))),
                Def::Search { stride, size, .. } => Some((stride, size, None)),
                _ => None,
            },
            _ => None,
        };
        let by = match (self.per_step(access)?, chosen) {
            (Some(by), _) => by,
            (None, Some((stride, size, Some(index)))) => {
                // The index is a number that moves with the steps.
                let (stride, size) = (self.stride(stride)?, self.extent(size)?);
                let Number { by, least: low, greatest: high } = self.number(index, MAX_DEPTH)?;
                if low < 0
                    || high + by * (self.extent(self.kernel.axes[parallel.index()].extent)? - 1) >= size
                {
                    return Some(false);
                }
                (least, greatest) = (least + stride * low, greatest + stride * high);
                stride * by
            }
            (None, _) => return Some(false),
        };
        if by.checked_mul(per_row)? != row {
            return Some(false);
        }
        greatest += by * (per_row - 1);
        for (axis, stride) in access.strides.iter().filter(|(axis, _)| !self.kernel.shares(*axis)) {
            let entry = &self.kernel.axes[axis.index()];
            if !entry.is_whole() {
                return None;
            }
            let steps = self.extent(entry.extent)?;
            let reach = self.stride(*stride)?.checked_mul(steps - 1)?;
            // Loops without steps use nothing.
            match reach {
                _ if steps < 1 => return Some(true),
                0.. => greatest += reach,
                _ => least += reach,
            }
        }
        if let (Some(_), Some((stride, size, _))) = (self.per_step(access)?, chosen) {
            let reach = self.stride(stride)?.checked_mul((self.extent(size)? - 1).max(0))?;
            greatest += reach.max(0);
            least += reach.min(0);
        }
        Some(least >= 0 && greatest < row)
    }

    /// Returns by how much each step moves an access, or `None` if the steps do not move it. It is none of these if steps of
    /// several axes move it in different ways.
    fn per_step(&self, access: &Access) -> Option<Option<i64>> {
        let axes: Vec<AxisId> = self.kernel.shared().collect();
        if axes.iter().all(|axis| access.stride(*axis).is_none()) {
            return Some(None);
        }
        let by = |axis: AxisId| access.stride(axis).map_or(Some(0), |stride| self.stride(stride));
        for pair in axes.windows(2) {
            let steps = self.extent(self.kernel.axes.get(pair[1].index())?.extent)?;
            if by(pair[0])? != by(pair[1])?.checked_mul(steps)? {
                return None;
            }
        }
        by(*axes.last()?).map(Some)
    }

    /// Returns the range of an integer, if it is computed from positions.
    fn number(&self, value: ValueId, depth: usize) -> Option<Number> {
        let depth = depth.checked_sub(1)?;
        let constant = |value| Number { by: 0, least: value, greatest: value };
        match &self.kernel.values.get(value.index())?.def {
            Def::Constant(Scalar::I64(value)) => Some(constant(*value)),
            Def::Param(param) => Some(constant(self.example.size(self.kernel.params.get(param.index())?)?)),
            Def::Index(axis) if self.kernel.shared().eq([*axis]) => Some(Number { by: 1, ..constant(0) }),
            Def::Index(axis) => {
                let entry = self.kernel.axes.get(axis.index())?;
                let greatest = self.extent(entry.extent)? - 1;
                entry.is_whole().then_some(Number { by: 0, least: 0, greatest })
            }
            // One out of range becomes 0.
            Def::Checked { size, .. } => {
                Some(Number { by: 0, least: 0, greatest: (self.extent(*size)? - 1).max(0) })
            }
            Def::Load { access, .. } | Def::Take { access, .. } => {
                self.elements(self.kernel.accesses.get(access.index())?.buffer?, depth)
            }
            Def::Op { op: Op::Add, args, .. } => {
                let [x, y] = [self.number(args[0], depth)?, self.number(args[1], depth)?];
                Some(Number { by: x.by + y.by, least: x.least + y.least, greatest: x.greatest + y.greatest })
            }
            Def::Op { op: Op::Multiply, args, .. } => {
                let [x, y] = [self.number(args[0], depth)?, self.number(args[1], depth)?];
                let is_factor = |of: &Number| of.by == 0 && of.least == of.greatest && of.least >= 0;
                let (of, factor) = if is_factor(&y) { (x, y.least) } else { (y, x.least) };
                let product = |part: i64| part.checked_mul(factor);
                let all = Number {
                    by: product(of.by)?,
                    least: product(of.least)?,
                    greatest: product(of.greatest)?,
                };
                (is_factor(&x) || is_factor(&y)).then_some(all)
            }
            _ => None,
        }
    }

    /// Returns the range of the elements of a temporary.
    fn elements(&self, buffer: BufferId, depth: usize) -> Option<Number> {
        let mut all: Option<Number> = None;
        for kernel in &self.schedule.kernels {
            let step = Step { kernel, ..*self };
            for stmt in kernel.statements() {
                let uses = stmt.accesses(&kernel.values);
                let writes = |(access, used): &(AccessId, Use)| {
                    used.writes() && kernel.accesses[access.index()].buffer == Some(buffer)
                };
                if !uses.iter().any(writes) {
                    continue;
                }
                let Stmt::Store { value, .. } = stmt else { return None };
                let Number { by, least, greatest } = step.number(*value, depth)?;
                let mut steps = 1i64;
                for axis in kernel.shared() {
                    steps = steps.checked_mul(step.extent(kernel.axes[axis.index()].extent)?)?;
                }
                let last = by.checked_mul(steps - 1)?;
                let (low, high) = (least + last.min(0), greatest + last.max(0));
                all = Some(match all {
                    None => Number { by: 0, least: low, greatest: high },
                    Some(all) => {
                        Number { by: 0, least: low.min(all.least), greatest: high.max(all.greatest) }
                    }
                });
            }
        }
        let is_temporary = self.schedule.buffers.get(buffer.index())?.role == Role::Temporary;
        all.filter(|_| is_temporary)
    }
}

/// The most operations from which an index is computed.
const MAX_DEPTH: usize = 20;

/// The range of an integer in the first step of the parallel axis, and by how much it is greater in each later step.
#[derive(Clone, Copy)]
struct Number {
    by: i64,
    least: i64,
    greatest: i64,
}
