//! Promise 16: kernels that run together use the same rows.
//!
//! The check computes with sizes that a call may have, and not with symbols as the search for such kernels does, so that no
//! mistake is in both.

use super::present::Example;
use super::{Broken, Fault};
use crate::kernel::*;
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
                match step.per_row(steps) {
                    Some(0) => {}
                    Some(per_row) => match step.other_row(&rows, per_row) {
                        Some(buffer) => return broken(*id, Fault::Rows(buffer)),
                        None => {}
                    },
                    None => return broken(*id, Fault::Together),
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
    fn per_row(&self, steps: &broadloom_ir::dim::Dim) -> Option<i64> {
        let axis = self.kernel.axes.get(self.kernel.parallel?.index())?;
        let (rows, steps) = (self.example.size(&self.band.extent)?, self.example.size(steps)?);
        let is_whole = axis.group.is_none() && axis.stretched.is_none();
        (is_whole && rows.checked_mul(steps)? == self.extent(axis.extent)?).then_some(rows.min(1) * steps)
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
        let product = |dims: &[broadloom_ir::dim::Dim]| {
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
        let (mut least, mut greatest) = (self.example.size(&access.offset)? + delta, 0i64);
        greatest += least;
        let chosen = match stmt {
            Stmt::Let(value) => match self.kernel.values[value.index()].def {
                Def::Take { stride, size, .. } | Def::Search { stride, size, .. } => Some((stride, size)),
                _ => None,
            },
            _ => None,
        };
        let parallel = self.kernel.parallel?;
        if self.stride(access.stride(parallel)?)?.checked_mul(per_row)? != row {
            return Some(false);
        }
        for (axis, stride) in &access.strides {
            let entry = &self.kernel.axes[axis.index()];
            let steps = match *axis == parallel {
                true => per_row,
                false if entry.group.is_some() || entry.stretched.is_some() => return None,
                false => self.extent(entry.extent)?,
            };
            let reach = self.stride(*stride)?.checked_mul(steps - 1)?;
            // Loops without steps use nothing.
            match reach {
                _ if steps < 1 => return Some(true),
                0.. => greatest += reach,
                _ => least += reach,
            }
        }
        if let Some((stride, size)) = chosen {
            let reach = self.stride(stride)?.checked_mul((self.extent(size)? - 1).max(0))?;
            greatest += reach.max(0);
            least += reach.min(0);
        }
        Some(least >= 0 && greatest < row)
    }
}
