//! Dense rows of a table: short rows that are contiguous, so that one walk covers several.

use super::{Generator, Lanes};
use crate::emit::LaneStride;
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::LANES;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

impl Generator<'_, '_, '_> {
    /// Returns whether several short rows of the table are walked at once here, which requires that the strip has a whole
    /// row, and how many at most: a power of two, or 1 if they are not.
    pub(super) fn dense_rows(&mut self, stream: &Stream) -> (Dense, ir::Value) {
        let (start, end) = self.bounds(stream.strip);
        let length = self.ins().isub(end, start);
        let extent = self.extent(self.kernel.axes[stream.strip.index()].extent);
        let is_whole = self.ins().icmp(IntCC::Equal, length, extent);
        let is_short = self.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, length, MAX_DENSE_ROW);
        let holds = self.ins().band(is_whole, is_short);
        // This runs before a reduction over the strip, which may be empty.
        let one = self.constant(1);
        let has_some = self.ins().icmp_imm_s(IntCC::SignedGreaterThan, length, 0);
        let divisor = self.ins().select(has_some, length, one);
        let values = &self.kernel.values;
        let filled = statements(&stream.prologue).flat_map(|stmt| stmt.rows(values));
        let room = filled.map(|(row, _)| self.kernel.rows[row.index()].length).min();
        let most = match room {
            None => self.constant(LANES as i64),
            // The greatest power of two of rows of the table for which the scratch rows have room.
            Some(room) => {
                let room = self.constant(room as i64);
                let rows = self.ins().udiv(room, divisor);
                let zeros = self.ins().clz(rows);
                let top = self.constant(1 << 62);
                let shift = self.ins().iadd_imm_s(zeros, -1);
                self.ins().ushr(top, shift)
            }
        };
        (Dense { holds, length }, self.ins().select(holds, most, one))
    }

    /// Returns the number of bytes from the row of one lane to that of the next: dense rows have dense lanes.
    pub(super) fn lane_bytes(&mut self, lanes: &Lanes, row: RowId) -> ir::Value {
        let apart = self.row_bytes(row);
        let apart = self.constant(apart);
        match lanes.dense {
            None => apart,
            Some(Dense { holds, length, .. }) => {
                let bytes = self.scaled(length, self.kernel.rows[row.index()].dtype.size() as i64);
                self.ins().select(holds, bytes, apart)
            }
        }
    }

    /// Runs `emit` with a strip that covers `rows` consecutive rows of the table.
    pub(super) fn over_rows(
        &mut self,
        stream: &Stream,
        lanes: &Lanes,
        rows: ir::Value,
        emit: impl FnOnce(&mut Self),
    ) {
        let Some(Dense { length, .. }) = lanes.dense else { return emit(self) };
        let (start, _) = self.bounds(stream.strip);
        let length = self.ins().imul(length, rows);
        let end = self.ins().iadd(start, length);
        self.within(stream.strip, (start, end), emit);
    }

    /// Takes steps of the reduction axis as long as there is one for each lane of a block, with the accumulators of all
    /// lanes in registers. Returns the first step that it leaves; the steps before it are none if the rows are too long.
    pub(super) fn held_steps(
        &mut self,
        stream: &Stream,
        (first, last): (ir::Value, ir::Value),
        lanes: &Lanes,
    ) -> ir::Value {
        let Some(parts) = self.parts_held(stream) else { return first };
        let limit = self.ins().iadd_imm_s(last, -(LANES as i64));
        let some = self.ins().icmp(IntCC::SignedLessThanOrEqual, first, limit);
        let all = self.ins().icmp_imm_s(IntCC::Equal, lanes.at_once, LANES as i64);
        let holds = self.ins().band(some, all);
        let none = self.integer(first);
        let accumulators: Vec<Accumulator> =
            stream.accumulators.iter().map(|entry| entry.accumulator.clone()).collect();
        let steps = |generator: &mut Self| {
            let places = |part: usize| lanes.starts.iter().zip(&accumulators).map(move |start| (part, start));
            let offset = |part: usize, dtype: DType| (part * stream.lanes * dtype.size()) as i32;
            let mut state = Vec::new();
            for (part, (&(start, _), Accumulator { dtype, .. })) in (0..parts).flat_map(places) {
                let offset = offset(part, *dtype);
                state.push(generator.emit.load(start, offset, *dtype, stream.lanes, LaneStride::Unit));
            }
            let all_rows = generator.constant(LANES as i64);
            let (next, state) =
                generator.repeat(first, last, LANES as i64, &state, |generator, position, state| {
                    generator.at(stream.axis, position, 1, |generator| {
                        let mut new = Vec::new();
                        generator.over_rows(stream, lanes, all_rows, |generator| {
                            generator.body(&stream.per_step);
                            generator.body(&stream.prologue);
                            let (start, _) = generator.bounds(stream.strip);
                            for (part, old) in state.chunks(accumulators.len()).enumerate() {
                                let position =
                                    generator.ins().iadd_imm_s(start, (part * stream.lanes) as i64);
                                new.extend(generator.scoped(|generator| {
                                    generator.at(stream.strip, position, stream.lanes, |generator| {
                                        generator.body(&stream.body);
                                        generator.accumulate(stream.axis, &accumulators, old)
                                    })
                                }));
                            }
                        });
                        new
                    })
                });
            for ((part, (&(start, _), Accumulator { dtype, .. })), value) in
                (0..parts).flat_map(places).zip(state)
            {
                let value = generator.emit.splat(&value, stream.lanes);
                generator.emit.store(start, offset(part, *dtype), &value, LaneStride::Unit);
            }
            vec![generator.integer(next)]
        };
        self.branch(holds, std::slice::from_ref(&none), steps, |_| vec![none.clone()])[0].regs[0]
    }

    /// Returns the number of vectors in the lanes of a block, if they stay in registers: the rows of the table have a
    /// constant number of elements, which is small.
    fn parts_held(&self, stream: &Stream) -> Option<usize> {
        let Extent::Constant(length) = self.kernel.axes[stream.strip.index()].extent else { return None };
        let length = usize::try_from(length).ok().filter(|length| (1..=LANES).contains(length))?;
        let has_tree = |entry: &StreamAccumulator| entry.tree.is_some() && entry.state.len() == 1;
        if !stream.dense
            || !stream.ahead.is_empty()
            || stream.lanes == 1
            || !stream.accumulators.iter().all(has_tree)
        {
            return None;
        }
        let widths = stream.accumulators.iter().map(|entry| entry.accumulator.dtype.size());
        let bytes = length * LANES * widths.sum::<usize>();
        let fits = bytes <= MAX_HELD_REGISTERS * self.emit.host.vector_bytes;
        fits.then_some(length * LANES / stream.lanes)
    }
}

/// Rows of a table that may be walked as one.
#[derive(Clone, Copy)]
pub(super) struct Dense {
    /// Whether they are walked as one: the strip has a whole row, and the row is short.
    pub holds: ir::Value,
    /// The number of elements of the strip.
    pub length: ir::Value,
}
