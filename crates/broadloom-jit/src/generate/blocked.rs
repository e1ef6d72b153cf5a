//! Blocks of loops whose operands are read against memory order, in registers: `x + y.T`.
//!
//! ```text
//! strip i of 8 { strip j { transpose r0[j] by i = load y; for i { for j vector { .. row r0 .. } } } }
//! ```
//!
//! is emitted so that a block of 8 or 16 rows by a vector of columns is loaded along the rows of `y`, transposed in registers,
//! and used there. Scratch rows serve only the rows and columns that are left over.

use super::Generator;
use crate::emit::Val;
use crate::thresholds::{AHEAD, ALIGNED_BLOCKS, CROWDED_STEP, LINE, STEPS_AHEAD};
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use smallvec::SmallVec;

/// The loops of a block whose rows are taken from registers.
pub(super) struct Blocked<'s> {
    block: Block<'s>,
    /// The steps of a row that are one vector.
    lanes: usize,
    /// What is read across rows.
    across: Vec<Across>,
}

/// An array that is read across rows, and the scratch row of its elements.
struct Across {
    access: AccessId,
    delta: i64,
    row: RowId,
}

impl Generator<'_, '_, '_> {
    /// Returns the block of a statement, if it is a loop over blocks that are transposed in registers.
    pub(super) fn blocked<'s>(&self, stmt: &'s Stmt) -> Option<Blocked<'s>> {
        let block = Block::of(stmt)?;
        let across = block.transposes.iter().map(|stmt| match stmt {
            Stmt::Transpose { access, delta, row, in_registers: true, .. } => {
                Some(Across { access: *access, delta: *delta, row: *row })
            }
            _ => None,
        });
        let across = across.collect::<Option<Vec<Across>>>()?;
        let sizes = across.iter().map(|across| self.kernel.accesses[across.access.index()].dtype.size());
        let lanes = (self.emit.host.vector_bytes / sizes.min()?).max(LEAST_LANES).min(block.lanes);
        Some(Blocked { block, lanes, across })
    }

    /// Emits the loop over blocks of rows.
    pub(super) fn run_blocked(&mut self, blocked: &Blocked<'_>) {
        let (start, end) = self.bounds(blocked.block.rows);
        let first = self.first_block(blocked, start, end);
        self.loop_while(
            &[start, first],
            &[],
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], end),
            |generator, state, _| {
                let rows = (state[0], state[1]);
                generator
                    .within(blocked.block.rows, rows, |generator| generator.block_of_rows(blocked, rows));
                let next = generator.ins().iadd_imm_s(state[1], blocked.block.count as i64);
                (vec![state[1], generator.least(next, end)], Vec::new())
            },
        );
    }

    /// Returns where the first block ends. If there are many, it is as short as aligns the others in the first array that is
    /// read across rows, at its first step: at all steps, if they are a multiple of a block's bytes apart.
    fn first_block(&mut self, blocked: &Blocked<'_>, start: ir::Value, end: ir::Value) -> ir::Value {
        let whole = self.ins().iadd_imm_s(start, blocked.block.count as i64);
        let whole = self.least(whole, end);
        let Some(Across { access, delta, .. }) = blocked.across.first() else { return whole };
        let (first, _) = self.bounds(blocked.block.axis);
        let size = self.kernel.accesses[access.index()].dtype.size();
        let short = self.short_of(blocked, (*access, *delta), (start, first), blocked.block.count * size);
        let aligned = self.ins().iadd(start, short);
        let few = self.ins().iadd_imm_s(start, (ALIGNED_BLOCKS * blocked.block.count) as i64);
        let is_worth = self.ins().icmp(IntCC::SignedLessThan, few, end);
        let is_aligned = self.ins().icmp_imm_s(IntCC::Equal, short, 0);
        let aligned = self.ins().select(is_aligned, whole, aligned);
        self.ins().select(is_worth, aligned, whole)
    }

    /// Returns how many elements an access at a row and a step is short of an address that is a multiple of some bytes, a
    /// power of two.
    fn short_of(
        &mut self,
        blocked: &Blocked<'_>,
        (access, delta): (AccessId, i64),
        at: (ir::Value, ir::Value),
        bytes: usize,
    ) -> ir::Value {
        let size = self.kernel.accesses[access.index()].dtype.size();
        let address = self.address_at(blocked, access, delta, at);
        let zero = self.constant(0);
        let short = self.ins().isub(zero, address);
        let short = self.ins().band_imm_u(short, bytes as i64 - 1);
        self.ins().ushr_imm_u(short, i64::from(size.trailing_zeros()))
    }

    /// Emits a block of rows: up to where vectors are aligned by scratch rows, then in registers, and what is left by
    /// scratch rows again. All of it goes by scratch rows if there are fewer rows than a block has.
    fn block_of_rows(&mut self, blocked: &Blocked<'_>, (row, end): (ir::Value, ir::Value)) {
        let (first, last) = self.bounds(blocked.block.axis);
        let past_end = self.ins().iadd_imm_s(row, blocked.block.count as i64);
        let is_whole = self.ins().icmp(IntCC::SignedLessThanOrEqual, past_end, end);
        let aligned = self.aligned(blocked, row, first);
        let aligned = self.least(aligned, last);
        let aligned = self.ins().select(is_whole, aligned, last);
        self.loop_while(
            &[first, aligned],
            &[],
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], last),
            |generator, state, _| {
                let (from, to) = (state[0], state[1]);
                let by_rows = std::slice::from_ref(blocked.block.by_rows);
                generator.within(blocked.block.axis, (from, to), |generator| generator.body(by_rows));
                let is_left = generator.ins().icmp(IntCC::SignedLessThan, to, last);
                let unchanged = generator.integer(to);
                let next = generator.branch(
                    is_left,
                    std::slice::from_ref(&unchanged),
                    |generator| {
                        let next = generator.whole_vectors(blocked, row, (to, last));
                        vec![generator.integer(next)]
                    },
                    |_| vec![unchanged.clone()],
                );
                (vec![next[0].regs[0], last], Vec::new())
            },
        );
    }

    /// Returns the first step at which the first array that is written is aligned to whole vectors.
    fn aligned(&mut self, blocked: &Blocked<'_>, row: ir::Value, first: ir::Value) -> ir::Value {
        let store = blocked.block.body.iter().find_map(|stmt| match stmt {
            Stmt::Store { access, delta, .. } => Some((*access, *delta)),
            _ => None,
        });
        let Some((access, delta)) = store else { return first };
        let entry = &self.kernel.accesses[access.index()];
        if entry.stride(blocked.block.axis) != Some(Stride::Constant(1)) {
            return first;
        }
        let short = self.short_of(blocked, (access, delta), (row, first), self.emit.host.vector_bytes);
        self.ins().iadd(first, short)
    }

    /// Emits blocks of all rows by whole vectors, as long as they fit. Returns the step where they stop.
    fn whole_vectors(
        &mut self,
        blocked: &Blocked<'_>,
        row: ir::Value,
        (first, last): (ir::Value, ir::Value),
    ) -> ir::Value {
        let outer = self.env.clone();
        let rows: Vec<_> = (0..blocked.block.count as i64)
            .map(|number| {
                let row = self.ins().iadd_imm_s(row, number);
                self.at(blocked.block.rows, row, 1, |generator| generator.body(blocked.block.per_row));
                (row, std::mem::replace(&mut self.env, outer.clone()))
            })
            .collect();
        // A whole cache line of each row at once, which is prefetched once.
        let vectors = (LINE / MIN_TILED_ELEMENT).div_ceil(blocked.lanes);
        let width = vectors * blocked.lanes;
        let (stop, _) = self.repeat(first, last, width as i64, &[], |generator, start, _| {
            let along = generator.along_rows(blocked, (row, start));
            let across: Vec<Addresses> = blocked
                .across
                .iter()
                .map(|across| generator.across_rows(blocked, across, (row, start), width))
                .collect();
            for lanes in (0..width).step_by(blocked.lanes) {
                let position = generator.ins().iadd_imm_s(start, lanes as i64);
                for (group, rows) in rows.chunks(ROWS_IN_REGISTERS).enumerate() {
                    let first = group * ROWS_IN_REGISTERS;
                    let loaded: Vec<(RowId, Vec<Val>)> = blocked
                        .across
                        .iter()
                        .zip(&across)
                        .map(|(Across { access, row, .. }, addresses)| {
                            let addresses = &addresses[lanes..][..blocked.lanes];
                            (*row, generator.load_rows(*access, addresses, first))
                        })
                        .collect();
                    for (number, (row, env)) in rows.iter().enumerate() {
                        let held: Vec<(RowId, Val)> =
                            loaded.iter().map(|(row, loaded)| (*row, loaded[number].clone())).collect();
                        generator.env.clone_from(env);
                        generator.placed = generator.placed_at(&along, first + number, lanes);
                        generator.at(blocked.block.rows, *row, 1, |generator| {
                            generator.at(blocked.block.axis, position, blocked.lanes, |generator| {
                                generator.body_of(blocked.block.body, &held);
                            });
                        });
                        generator.placed.clear();
                    }
                }
            }
            generator.env.clone_from(&outer);
            Vec::new()
        });
        stop
    }

    /// Returns the addresses of the rows of a block in the arrays that are contiguous along them, and prefetches the
    /// rows.
    fn along_rows(
        &mut self,
        blocked: &Blocked<'_>,
        start: (ir::Value, ir::Value),
    ) -> Vec<(AccessId, Addresses)> {
        let kernel = self.kernel;
        let mut along: Vec<(AccessId, Addresses)> = Vec::new();
        for stmt in blocked.block.body {
            let access = match stmt {
                Stmt::Store { access, .. } => *access,
                Stmt::Let(value) => match kernel.values[value.index()].def {
                    Def::Load { access, .. } => access,
                    _ => continue,
                },
                _ => continue,
            };
            let entry = &kernel.accesses[access.index()];
            let (unit, stride) = (entry.stride(blocked.block.axis), entry.stride(blocked.block.rows));
            let Some(stride) = stride.filter(|_| unit == Some(Stride::Constant(1))) else { continue };
            if along.iter().any(|(other, _)| *other == access) {
                continue;
            }
            let step = self.stride_bytes(stride, entry.dtype.size() as i64);
            let first = self.address_at(blocked, access, 0, start);
            let addresses = self.every(first, step, blocked.block.count);
            for address in &addresses {
                let ahead = self.ins().iadd_imm_s(*address, AHEAD);
                self.emit.prefetch(ahead);
            }
            along.push((access, addresses));
        }
        along
    }

    /// Returns the addresses of the steps of a block in an array that is read across rows, and prefetches later steps.
    fn across_rows(
        &mut self,
        blocked: &Blocked<'_>,
        across: &Across,
        start: (ir::Value, ir::Value),
        width: usize,
    ) -> Addresses {
        let entry = &self.kernel.accesses[across.access.index()];
        let size = entry.dtype.size() as i64;
        let step = entry.stride(blocked.block.axis).map(|stride| self.stride_bytes(stride, size));
        let step = step.unwrap_or_else(|| self.constant(0));
        let first = self.address_at(blocked, across.access, across.delta, start);
        let beyond = self.ins().imul_imm_s(step, STEPS_AHEAD);
        let within = self.ins().band_imm_u(step, CROWDED_STEP - 1);
        let is_crowded = self.ins().icmp_imm_s(IntCC::Equal, within, 0);
        let none = self.constant(0);
        let beyond = self.ins().select(is_crowded, none, beyond);
        let ahead = self.ins().iadd(first, beyond);
        for address in self.every(ahead, step, width) {
            self.emit.prefetch(address);
        }
        self.every(first, step, width)
    }

    /// Returns the address of an access at a row and a step, `delta` elements on.
    fn address_at(
        &mut self,
        blocked: &Blocked<'_>,
        access: AccessId,
        delta: i64,
        (row, position): (ir::Value, ir::Value),
    ) -> ir::Value {
        self.at(blocked.block.rows, row, 1, |generator| {
            generator.at(blocked.block.axis, position, 1, |generator| generator.address(access, delta))
        })
    }

    /// Returns where accesses are at a row of a block, some elements on.
    fn placed_at(
        &mut self,
        along: &[(AccessId, Addresses)],
        row: usize,
        elements: usize,
    ) -> Vec<(AccessId, ir::Value)> {
        let placed = along.iter().map(|(access, addresses)| {
            let size = self.kernel.accesses[access.index()].dtype.size();
            (*access, self.ins().iadd_imm_s(addresses[row], (elements * size) as i64))
        });
        placed.collect()
    }

    /// Returns the next [`ROWS_IN_REGISTERS`] rows from a row on of what is read across them, with a lane for each address.
    fn load_rows(&mut self, access: AccessId, addresses: &[ir::Value], first: usize) -> Vec<Val> {
        let dtype = self.kernel.accesses[access.index()].dtype;
        let mut rows: Vec<Val> = Vec::new();
        // As many rows at a time as 16 bytes have elements.
        while rows.len() < ROWS_IN_REGISTERS {
            let beside = ((first + rows.len()) * dtype.size()) as i64;
            let addresses: Addresses =
                addresses.iter().map(|address| self.ins().iadd_imm_s(*address, beside)).collect();
            rows.extend(self.emit.load_transposed(&addresses, dtype));
        }
        rows
    }

    /// Returns `count` addresses from the first one on, `step` bytes apart. Instructions absorb nearly all of the sums:
    /// apart from a step and three steps, every eighth address and the one after it take a register.
    pub(super) fn every(&mut self, first: ir::Value, step: ir::Value, count: usize) -> Addresses {
        let three = self.ins().imul_imm_s(step, 3);
        let mut start = first;
        let mut addresses = Addresses::new();
        while addresses.len() < count {
            let next = self.ins().iadd(start, step);
            // As from the start or the next address, by steps or three steps, each once, twice, or four times.
            for (from, by, doubled) in [
                (start, None, 0),
                (next, None, 0),
                (start, Some(step), 1),
                (start, Some(three), 0),
                (start, Some(step), 2),
                (next, Some(step), 2),
                (start, Some(three), 1),
                (next, Some(three), 1),
            ] {
                let address = by.map_or(from, |by| {
                    let distance = self.ins().ishl_imm_u(by, doubled);
                    self.ins().iadd(from, distance)
                });
                addresses.push(address);
            }
            let eight = self.ins().ishl_imm_u(step, 3);
            start = self.ins().iadd(start, eight);
        }
        addresses.truncate(count);
        addresses
    }
}

/// Addresses of rows or steps, one after the other.
type Addresses = SmallVec<[ir::Value; 16]>;
