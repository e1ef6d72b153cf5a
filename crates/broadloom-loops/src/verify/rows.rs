//! Promise 3: rows hold what is read from them.

use super::{Fault, Scope, Strip, find};
use crate::kernel::*;
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::{BLOCK, LANES};

impl Scope<'_> {
    /// Returns the strip of an axis; the row must be at least as long.
    pub(super) fn strip(&self, row: RowId, axis: AxisId) -> Result<Strip, Fault> {
        self.axis(axis)?;
        let strip = self.strips[axis.index()].ok_or(Fault::Row(row))?;
        let Row { length, span, .. } = *self.row(row)?;
        let long = match span {
            Span::Strip | Span::Block { .. } => strip.length <= length,
            // Each lane of a block has the same number of elements, even if the last ones have no steps.
            Span::Part { by_lanes: true, .. } => BLOCK <= length,
            Span::Part { .. } => strip.length <= length || self.is_at_most(axis, length as i64),
            Span::Axis => self.is_at_most(axis, length as i64),
            Span::One => return Err(Fault::Row(row)),
            Span::Stretched { .. } => strip.length + STRETCH <= length,
            Span::Periodic { period, .. } => {
                let period = self.period(row, period)?;
                strip.length + period <= length && length.is_multiple_of(period)
            }
        };
        if long { Ok(strip) } else { Err(Fault::Short(row)) }
    }

    /// Returns the length of a recurring axis.
    fn period(&self, row: RowId, axis: AxisId) -> Result<usize, Fault> {
        match self.axis(axis)?.extent {
            Extent::Constant(extent @ 1..) => Ok(extent as usize),
            Extent::Constant(_) | Extent::Param(_) => Err(Fault::Row(row)),
        }
    }

    pub(super) fn write_row(&mut self, row: RowId, axis: AxisId) -> Result<(), Fault> {
        let Row { length, span, .. } = *self.row(row)?;
        let strip = match span {
            // The loop over the period writes the whole row, for all later strips.
            Span::Periodic { period, along } if period == axis => {
                self.period(row, period)?;
                self.axis(along)?;
                if self.strips[along.index()].is_some() {
                    return Err(Fault::Row(row));
                }
                Strip { number: usize::MAX, length }
            }
            Span::Stretched { over, along } if over == axis => {
                if !matches!(self.axis(over)?.stretched, Some((merged, _)) if merged == along) {
                    return Err(Fault::Row(row));
                }
                self.strip(row, along)?
            }
            Span::Periodic { .. } | Span::Stretched { .. } | Span::One => return Err(Fault::Row(row)),
            // Written row by row, in the loop over the other axis.
            Span::Block { rows, .. } | Span::Part { rows, .. }
                if self.walked.get(rows.index()) == Some(&true) =>
            {
                return self.write_block(row, rows, axis);
            }
            Span::Block { .. } | Span::Part { .. } => return Err(Fault::Row(row)),
            Span::Strip | Span::Axis => self.strip(row, axis)?,
        };
        self.scratch.write(row, (axis, strip));
        Ok(())
    }

    /// Writes a row over a whole axis, outside the loops over it.
    pub(super) fn write_places(&mut self, row: RowId, places: AxisId) {
        let length = self.kernel.rows[row.index()].length;
        self.scratch.write(row, (places, Strip { number: usize::MAX, length }));
    }

    /// Checks that a row which a loop continues has not been overwritten.
    pub(super) fn still_holds(&mut self, row: RowId) -> Result<(), Fault> {
        self.scratch.read(row).map(|_| ())
    }

    /// Checks a read of a row that was written in the strip, or that holds the whole of an axis of the same length.
    pub(super) fn read_row(&mut self, row: RowId, axis: AxisId) -> Result<DType, Fault> {
        let strip = self.strip(row, axis)?;
        let (written_for, written_in) = self.scratch.read(row)?;
        let extent = |axis: AxisId| self.kernel.axes[axis.index()].extent;
        let same = match self.kernel.rows[row.index()].span {
            Span::Strip => written_in == strip,
            Span::Block { rows, .. } | Span::Part { rows, .. } => {
                let here = self.strips.get(rows.index()).copied().flatten();
                written_in == strip && self.walked[rows.index()] && here == self.blocks[row.index()]
            }
            Span::Stretched { along, .. } => along == axis && written_in == strip,
            Span::Axis => written_in == strip || extent(written_for) == extent(axis),
            Span::One => false,
            Span::Periodic { along, .. } => along == axis && !self.walked[written_for.index()],
        };
        if same { Ok(self.kernel.rows[row.index()].dtype) } else { Err(Fault::Row(row)) }
    }

    /// Checks a transpose: the part of an array in the strips of two axes goes into one row for each step of one of them.
    pub(super) fn transpose(
        &mut self,
        id: AccessId,
        row: RowId,
        rows: AxisId,
        axis: AxisId,
    ) -> Result<(), Fault> {
        self.axis(rows)?;
        self.axis(axis)?;
        let is_free = !self.walked[rows.index()] && !self.walked[axis.index()] && rows != axis;
        if !is_free {
            return Err(Fault::Row(row));
        }
        self.block(row, rows)?;
        let access = find(&self.kernel.accesses, id.index(), "access")?;
        for &(of, stride) in &access.strides {
            self.axis(of)?;
            self.stride(stride)?;
            if !self.walked[of.index()] && of != rows && of != axis {
                return Err(Fault::Moved(id));
            }
        }
        let is_part = matches!(self.row(row)?.span, Span::Part { by_lanes: true, .. });
        let is_contiguous = access.is_unit(rows) || is_part && access.is_unit(axis);
        if !is_contiguous {
            return Err(Fault::Moved(id));
        }
        if self.buffer(id, access)?.dtype != self.row(row)?.dtype {
            return Err(Fault::RowDtype(row));
        }
        self.write_block(row, rows, axis)
    }

    /// Checks a copy of a row in order to one by lanes.
    pub(super) fn deinterleave(&mut self, row: RowId, source: RowId, axis: AxisId) -> Result<(), Fault> {
        let read = self.read_row(source, axis)?;
        let is_in_order = self.row(source)?.span == Span::Strip;
        let Row { span, dtype, .. } = *self.row(row)?;
        let is_by_lane = matches!(span, Span::Part { by_lanes: true, .. });
        if !is_in_order || !is_by_lane || self.walked[axis.index()] {
            return Err(Fault::Row(row));
        }
        if read != dtype {
            return Err(Fault::RowDtype(row));
        }
        self.write_row(row, axis)
    }

    /// Writes rows over the strip of an axis, one for each step of the strip of another.
    pub(super) fn write_block(&mut self, row: RowId, rows: AxisId, axis: AxisId) -> Result<(), Fault> {
        let block = self.block(row, rows)?;
        let strip = self.strip(row, axis)?;
        self.scratch.write(row, (axis, strip));
        self.blocks[row.index()] = Some(block);
        Ok(())
    }

    /// Returns the strip of an axis that has a row for each of its steps.
    fn block(&self, row: RowId, rows: AxisId) -> Result<Strip, Fault> {
        self.axis(rows)?;
        let Row { span, count, .. } = *self.row(row)?;
        let (of, is_whole) = match span {
            // Each lane of a block has the same number of rows, even if the last ones have no steps.
            Span::Block { rows, by_lanes } => (rows, !by_lanes || count >= LANES * ROWS_OF_LANE),
            Span::Part { rows, .. } => (rows, true),
            _ => return Err(Fault::Row(row)),
        };
        let fits = |strip: &Strip| strip.length <= count || self.is_at_most(rows, count as i64);
        let block = self.strips[rows.index()].filter(fits);
        block.filter(|_| of == rows && is_whole).ok_or(Fault::Row(row))
    }

    /// Checks a gather: the elements of an array in the strip of an axis, which does not move the access otherwise, go into a
    /// row.
    pub(super) fn gather(
        &mut self,
        id: AccessId,
        row: RowId,
        axis: AxisId,
        steps: Extent,
    ) -> Result<(), Fault> {
        let access = self.moved(id, &[])?;
        let Row { span, dtype, .. } = *self.row(row)?;
        let has_steps = !matches!(steps, Extent::Constant(..1));
        if span != Span::Strip || !has_steps || self.walked[axis.index()] || access.stride(axis).is_some() {
            return Err(Fault::Row(row));
        }
        if self.buffer(id, access)?.dtype != dtype {
            return Err(Fault::RowDtype(row));
        }
        self.write_row(row, axis)
    }
}
