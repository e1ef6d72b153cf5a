//! The row that each byte of the scratch memory holds.

use super::{Fault, Strip};
use crate::kernel::*;

/// The contents of the scratch memory, tracked byte by byte instead of by the lifetimes that determined the layout: a row
/// can be read until another row is written to any of its bytes.
pub(super) struct Scratch {
    rows: Vec<Place>,
    /// The row that was last written, for each [`Scratch::UNIT`] bytes.
    holds: Vec<Option<RowId>>,
    /// The number of reads and writes so far.
    time: usize,
    /// For each surrounding loop: the time when it began, and the rows that it reads from before, with their times.
    loops: Vec<(usize, Vec<(RowId, usize)>)>,
}

/// The place of a row, in units.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    /// The time of its last write, and the strip.
    written: Option<(usize, (AxisId, Strip))>,
}

impl Scratch {
    const UNIT: usize = 64;

    pub fn of(kernel: &Kernel) -> Scratch {
        let place = |row: &Row| Place {
            start: row.offset / Self::UNIT,
            end: (row.offset + row.dtype.size() * row.length * row.count).div_ceil(Self::UNIT),
            written: None,
        };
        let rows: Vec<Place> = kernel.rows.iter().map(place).collect();
        let units = rows.iter().map(|place| place.end).max().unwrap_or(0);
        Scratch { rows, holds: vec![None; units], time: 0, loops: Vec::new() }
    }

    pub fn write(&mut self, row: RowId, over: (AxisId, Strip)) {
        let place = &mut self.rows[row.index()];
        self.time += 1;
        place.written = Some((self.time, over));
        self.holds[place.start..place.end].fill(Some(row));
    }

    /// The strip over which the row was written.
    pub fn read(&mut self, row: RowId) -> Result<(AxisId, Strip), Fault> {
        self.time += 1;
        let Some((time, over)) = self.rows[row.index()].written else { return Err(Fault::Row(row)) };
        self.intact(row)?;
        self.repeated(row, time);
        Ok(over)
    }

    fn intact(&self, row: RowId) -> Result<(), Fault> {
        let place = self.rows[row.index()];
        match self.holds[place.start..place.end].iter().all(|holds| *holds == Some(row)) {
            true => Ok(()),
            false => Err(Fault::Overwritten(row)),
        }
    }

    pub fn enter(&mut self) {
        self.time += 1;
        self.loops.push((self.time, Vec::new()));
    }

    /// The next iteration of a loop reads the same rows again, so they must still be there.
    pub fn leave(&mut self) -> Result<(), Fault> {
        let (_, reads) = self.loops.pop().unwrap_or_default();
        for (row, time) in reads {
            self.intact(row)?;
            self.repeated(row, time);
        }
        Ok(())
    }

    /// Records for the surrounding loop that it reads a row written at some time.
    fn repeated(&mut self, row: RowId, time: usize) {
        if let Some((start, reads)) = self.loops.last_mut()
            && time < *start
            && reads.iter().all(|(noted, _)| *noted != row)
        {
            reads.push((row, time));
        }
    }
}
