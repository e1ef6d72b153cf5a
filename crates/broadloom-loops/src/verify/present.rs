//! Promise 15: what is read exists.

use super::{Fault, Scope, find};
use crate::kernel::*;
use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::Demand;

/// Sizes of the axes that are not empty: the least one, and one that leaves room for slices and windows.
const SIZES: [i64; 2] = [1, 64];

/// Sizes that meet the assumptions of code for long axes.
const LONG_SIZES: [i64; 2] = [1000, 100_000];

/// Sizes that a call may have, with at most one symbol that is 0.
pub(super) struct Example {
    sizes: Vec<i64>,
    /// For each buffer, whether it has no elements.
    empty: Vec<bool>,
}

impl Example {
    /// Returns the examples that meet the conditions and assumptions of a schedule and have empty arrays.
    pub(super) fn all(schedule: &Schedule) -> Vec<Example> {
        let symbols = schedule.symbols.len();
        let may_be_zero = |symbol: &usize| schedule.symbols[*symbol].facts.lower <= 0;
        let zeros: Vec<Option<usize>> =
            std::iter::once(None).chain((0..symbols).filter(may_be_zero).map(Some)).collect();
        let examples =
            zeros.into_iter().flat_map(|zero| SIZES.map(|size| Example::new(schedule, zero, size)));
        examples.filter(|example| example.is_valid(schedule) && example.empty.contains(&true)).collect()
    }

    /// Returns examples without an empty axis that meet the conditions and assumptions of a schedule. In some of them, all
    /// symbols differ.
    pub(super) fn sized(schedule: &Schedule) -> Vec<Example> {
        let sizes = SIZES.into_iter().chain(LONG_SIZES);
        let examples = sizes.flat_map(|size| [0, 1].map(|apart| Example::apart(schedule, None, size, apart)));
        examples.filter(|example| example.is_valid(schedule) && example.fits(schedule)).collect()
    }

    /// Returns whether memory could hold the arrays: no call has sizes for which a number overflows.
    fn fits(&self, schedule: &Schedule) -> bool {
        let has_size = |buffer: &Buffer| buffer.shape.elements().is_ok_and(|size| self.size(&size).is_some());
        let is_sized = |kernel: &Kernel| kernel.params.iter().all(|param| self.size(param).is_some());
        schedule.buffers.iter().all(has_size) && schedule.kernels.iter().all(is_sized)
    }

    fn new(schedule: &Schedule, zero: Option<usize>, size: i64) -> Example {
        Example::apart(schedule, zero, size, 0)
    }

    fn apart(schedule: &Schedule, zero: Option<usize>, size: i64, apart: i64) -> Example {
        let of_graph = schedule.symbols.iter().enumerate().map(|(index, symbol)| match zero {
            Some(zero) if zero == index => 0,
            _ => {
                let size = size.saturating_add(apart.saturating_mul(index as i64));
                size.min(symbol.facts.upper.unwrap_or(i64::MAX)).max(symbol.facts.lower)
            }
        });
        // One group of all elements; strides do not matter.
        let of_host = schedule.host_symbols.iter().map(|symbol| match symbol {
            HostSymbol::Stride { .. }
            | HostSymbol::GroupCount(_)
            | HostSymbol::Rows(_)
            | HostSymbol::Steps => 1,
            HostSymbol::StepsBefore => 0,
            HostSymbol::GroupLength(_) => i64::MAX,
        });
        let mut example = Example { sizes: of_graph.chain(of_host).collect(), empty: Vec::new() };
        let is_empty = |buffer: &Buffer| buffer.shape.iter().any(|dim| example.size(dim) == Some(0));
        example.empty = schedule.buffers.iter().map(is_empty).collect();
        example
    }

    fn is_valid(&self, schedule: &Schedule) -> bool {
        let meets = |demand: &Demand| match demand {
            Demand::NonNegative(size) => self.size(size).is_some_and(|size| size >= 0),
            Demand::Equal(left, right) => self.size(left).is_some() && self.size(left) == self.size(right),
        };
        let holds =
            |assumption: &Assumption| self.size(&assumption.size).is_some_and(|size| assumption.holds(size));
        schedule.conditions.iter().all(meets) && schedule.assumptions.iter().all(holds)
    }

    pub(super) fn size(&self, dim: &Dim) -> Option<i64> {
        let value = |symbol: SymbolId| self.sizes.get(symbol.index()).copied();
        dim.evaluate(&value).ok()
    }

    /// Returns whether an axis has steps; if that is not known, it may have none.
    fn has_steps(&self, kernel: &Kernel, extent: Extent) -> bool {
        match extent {
            Extent::Constant(steps) => steps > 0,
            Extent::Param(param) => {
                let size = kernel.params.get(param.index()).and_then(|dim| self.size(dim));
                size.is_some_and(|size| size > 0)
            }
        }
    }
}

impl Scope<'_> {
    /// Checks that the arrays which a statement reads have elements whenever it runs.
    pub(super) fn present(&self, stmt: &Stmt) -> Result<(), Fault> {
        let guard = self.guard(stmt)?;
        for (id, used) in stmt.accesses(&self.kernel.values) {
            let access = find(&self.kernel.accesses, id.index(), "access")?;
            let Some(buffer) = access.buffer.filter(|_| used.reads()) else { continue };
            let reads_nothing = |example: &&Example| {
                let runs = |steps: Extent| example.has_steps(self.kernel, steps);
                !example.empty.get(buffer.index()).is_some_and(|is_empty| *is_empty)
                    || !self.around().all(runs)
                    || !guard.is_none_or(runs)
            };
            if !self.examples.iter().all(|example| reads_nothing(&example)) {
                return Err(Fault::Empty(id));
            }
        }
        Ok(())
    }

    /// Returns the numbers of steps of all loops around the current place.
    fn around(&self) -> impl Iterator<Item = Extent> {
        let axes = self.kernel.axes.iter().enumerate();
        let is_around = move |index: usize| {
            self.kernel.shares(AxisId::new(index)) || self.walked[index] || self.strips[index].is_some()
        };
        axes.filter(move |(index, _)| is_around(*index)).map(|(_, axis)| axis.extent)
    }

    /// Returns the number of elements without which a statement reads nothing of an array.
    fn guard(&self, stmt: &Stmt) -> Result<Option<Extent>, Fault> {
        Ok(match stmt {
            Stmt::Let(value) => match find(&self.kernel.values, value.index(), "value")?.def {
                Def::Take { size, .. } | Def::Search { size, .. } => Some(size),
                _ => None,
            },
            Stmt::Scatter { size, .. } => Some(*size),
            Stmt::Sort(sort) => Some(self.axis(sort.axis)?.extent),
            Stmt::Best(best) => Some(self.axis(best.axis)?.extent),
            Stmt::BestRows(best) => Some(self.axis(best.axis)?.extent),
            _ => None,
        })
    }
}
