//! Scans: along the innermost loop they are statements of their own; otherwise they run in rows over the strips of
//! the loop inside the loop over the scanned axis:
//!
//! ```text
//! begin r0 <- v0                         strip m of 1024 {
//! strip n of 1024 {                        for m vector 16 { put r0 <- v0 }
//!   scan y = sum of x from r0              for n {
//! }                                          for m vector 16 { v1 = load x; v2 = row r0; v3 = add v2 v1; put r0 <- v3; .. }
//!                                          }
//!                                        }
//! ```

use super::Maker;
use crate::LowerError;
use crate::kernel::*;
use smallvec::smallvec;

impl Maker<'_, '_, '_> {
    /// Returns the scans that the kernel needs, in order.
    fn scans(&self) -> Vec<ValueId> {
        self.placement.live_values().filter(|value| self.nest.scans.contains_key(value)).collect()
    }

    /// Returns the initial value of a scan.
    fn initial(&mut self, scan: ValueId, body: &mut Vec<Stmt>) -> ValueId {
        let found = &self.nest.scans[&scan];
        if let Some(initial) = found.initial {
            return self.get(initial, body);
        }
        let initial = self.define(Def::Constant(found.op.identity(found.dtype)), scan);
        body.push(Stmt::Let(initial));
        initial
    }

    /// Makes the statements before a loop along which scans run.
    pub(super) fn begin_scans(&mut self, axis: AxisId, body: &mut Vec<Stmt>) {
        if self.nest.scanned != Some(axis) || self.nest.across().is_some() {
            return;
        }
        for scan in self.scans() {
            let row = self.spanning(self.nest.scans[&scan].dtype, 1, axis, Span::One);
            let value = self.initial(scan, body);
            body.push(Stmt::Begin { row, value });
            self.states.insert(scan, row);
        }
    }

    /// Makes the loop over the scanned axis, strip by strip of the loop inside it.
    pub(super) fn scan_across(&mut self, axis: AxisId, strip: AxisId) -> Result<Vec<Stmt>, LowerError> {
        let scans = self.scans();
        let fill = self.scoped(|maker| {
            let mut body = Vec::new();
            for &scan in &scans {
                let row = maker.row(maker.nest.scans[&scan].dtype, 1, strip);
                let value = maker.initial(scan, &mut body);
                body.push(Stmt::Put { row, part: 0, axis: strip, value });
                maker.states.insert(scan, row);
            }
            Ok(body)
        })?;
        let lanes = self.stage_lanes(strip, Some(axis), &[], &scans);
        let mut body = vec![Stmt::For { axis: strip, lanes, body: fill }];
        body.extend(self.walk(axis)?);
        Ok(vec![Stmt::Strip { axis: strip, length: 0, body }])
    }

    /// Makes the next result of a scan that runs in a row.
    pub(super) fn running(&mut self, scan: ValueId, strip: AxisId, body: &mut Vec<Stmt>) -> Def {
        let found = &self.nest.scans[&scan];
        let operand = self.get(found.operand, body);
        let before = self.define(Def::Row(self.states[&scan], strip), scan);
        body.push(Stmt::Let(before));
        Def::Op { op: found.op.combine(), args: smallvec![before, operand], position: None }
    }

    /// Keeps the result of a scan that runs in a row for the next step.
    pub(super) fn keep_running(&mut self, scan: ValueId, value: ValueId, body: &mut Vec<Stmt>) {
        if let (Some(strip), Some(&row)) = (self.nest.across(), self.states.get(&scan))
            && !matches!(self.kernel.values[value.index()].def, Def::Row(..))
        {
            body.push(Stmt::Put { row, part: 0, axis: strip, value });
        }
    }

    /// Makes the results of a scan along the current strip of its axis.
    pub(super) fn scan_along(&mut self, scan: ValueId, strip: AxisId, before: &mut Vec<Stmt>) {
        let found = &self.nest.scans[&scan];
        let (Some(source), Some(&state)) = (self.operand(found.operand, strip), self.states.get(&scan))
        else {
            return;
        };
        let target = self.target(scan, strip);
        before.push(Stmt::Scan { op: found.op, target, source, state, axis: strip, rows: None });
    }

    /// Runs the scans of several steps at once, in a loop that does nothing but scan from array to array:
    ///
    /// ```text
    /// for n { begin r0 <- v0; strip m of 1024 { scan y = sum of x from r0 } }
    ///     ──▶  strip n of 1024 { for n { put r0[n] <- v0 }  strip m of 1024 { scan y = sum of x from r0 for n } }
    /// ```
    pub(super) fn scans_of_rows(&mut self, axis: AxisId, mut stmts: Vec<Stmt>) -> Vec<Stmt> {
        let [Stmt::For { axis: rows, lanes: 1, body }] = stmts.as_mut_slice() else { return stmts };
        let Some((Stmt::Strip { axis: along, body: scans, .. }, begins)) = body.split_last_mut() else {
            return stmts;
        };
        let is_of_arrays = |stmt: &Stmt| {
            matches!(stmt, Stmt::Scan { source: Operand::Array { .. }, target: Operand::Array { .. }, .. })
        };
        let is_begun = |stmt: &Stmt| matches!(stmt, Stmt::Let(_) | Stmt::Begin { .. });
        if *rows != axis
            || Some(*along) != self.nest.scanned
            || !scans.iter().all(is_of_arrays)
            || !begins.iter().all(is_begun)
        {
            return stmts;
        }
        for begin in begins {
            if let Stmt::Begin { row, value } = *begin {
                self.kernel.rows[row.index()].span = Span::Strip;
                self.row_axes[row.index()] = axis;
                *begin = Stmt::Put { row, part: 0, axis, value };
            }
        }
        for scan in scans {
            if let Stmt::Scan { rows, .. } = scan {
                *rows = Some(axis);
            }
        }
        let walk = body.pop();
        let body = stmts.into_iter().chain(walk).collect();
        vec![Stmt::Strip { axis, length: 0, body }]
    }
}
