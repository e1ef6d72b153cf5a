//! Blocks of a table in registers: loads along its rows become lanes along its columns.

use super::value::{Regs, VECTOR_BYTES, width_of};
use super::{Emitter, Intrinsic, LaneStride, Val};
use broadloom_ir::dtype::DType;
use cranelift_codegen::ir::{self, InstBuilder};
use smallvec::SmallVec;

impl Emitter<'_, '_> {
    /// Loads as many contiguous elements as 16 bytes have from each address. Returns a value for each of these elements,
    /// with a lane for each address. Elements have 4 or 8 bytes, and the lanes fill whole registers, or
    /// parts of 16 bytes of a single one.
    pub(crate) fn load_transposed(&mut self, addresses: &[ir::Value], dtype: DType) -> Vec<Val> {
        let elements = VECTOR_BYTES / dtype.size();
        let mut rows: Vec<Regs> = vec![Regs::new(); elements];
        for columns in addresses.chunks(self.host.per_register(width_of(dtype))) {
            // Each register has the elements of one column in every 16 bytes.
            let registers: SmallVec<[ir::Value; 4]> = (0..elements)
                .map(|column| {
                    let parts = columns.iter().skip(column).step_by(elements);
                    let parts: Regs = parts
                        .map(|address| self.load(*address, 0, dtype, elements, LaneStride::Unit).regs[0])
                        .collect();
                    self.filled(&parts)[0]
                })
                .collect();
            let transposed: SmallVec<[ir::Value; 4]> = match registers[..] {
                [a, b, c, d] => {
                    let [low, high] = [[0, 1, 4, 5], [2, 3, 6, 7]]
                        .map(|halves| [(a, b), (c, d)].map(|(x, y)| self.shuffle_words(x, y, halves)));
                    let pairs = [low, low, high, high]
                        .into_iter()
                        .zip([[0, 2, 4, 6], [1, 3, 5, 7]].into_iter().cycle());
                    pairs.map(|([x, y], words)| self.shuffle_words(x, y, words)).collect()
                }
                [a, b] => [[0, 1, 4, 5], [2, 3, 6, 7]]
                    .map(|words| self.shuffle_words(a, b, words))
                    .into_iter()
                    .collect(),
                _ => registers,
            };
            rows.iter_mut().zip(transposed).for_each(|(row, register)| row.push(register));
        }
        rows.into_iter().map(|row| Val::vector(dtype, addresses.len(), row)).collect()
    }

    /// Returns whether rows of so many elements can be loaded as a whole.
    pub(crate) fn loads_short_rows(&self, dtype: DType, count: usize) -> bool {
        let size = dtype.size();
        [4, 8].contains(&size)
            && (!networks(size, count).is_empty() || (count * size).is_multiple_of(VECTOR_BYTES))
    }

    /// Loads rows of `count` contiguous elements, one after the other from `address` on, with a row for each lane. Returns a
    /// value for each element of a row. [Rows of this size](Emitter::loads_short_rows) can be loaded, and the lanes fill whole
    /// registers, or parts of 16 bytes of a single one.
    pub(crate) fn load_short_rows(
        &mut self,
        address: ir::Value,
        dtype: DType,
        count: usize,
        lanes: usize,
    ) -> Vec<Val> {
        let bytes = count * dtype.size();
        let networks = networks(dtype.size(), count);
        if networks.is_empty() {
            let of_part = |part: usize| {
                let offsets = (0..lanes).map(|lane| lane * bytes + part * VECTOR_BYTES);
                let addresses: SmallVec<[ir::Value; 16]> =
                    offsets.map(|offset| self.builder.ins().iadd_imm_s(address, offset as i64)).collect();
                self.load_transposed(&addresses, dtype)
            };
            return (0..bytes / VECTOR_BYTES).flat_map(of_part).collect();
        }
        let elements = VECTOR_BYTES / dtype.size();
        let mut rows: Vec<Regs> = vec![Regs::new(); count];
        let of_register = self.host.per_register(width_of(dtype));
        for first in (0..lanes).step_by(of_register) {
            // As many rows as 16 bytes have elements are as many times 16 bytes as a row has elements.
            let registers: SmallVec<[ir::Value; 4]> = (0..count)
                .map(|chunk| {
                    let parts: Regs = (first..lanes.min(first + of_register))
                        .step_by(elements)
                        .map(|lane| {
                            let offset = (lane * bytes + chunk * VECTOR_BYTES) as i32;
                            self.load(address, offset, dtype, elements, LaneStride::Unit).regs[0]
                        })
                        .collect();
                    self.filled(&parts)[0]
                })
                .collect();
            for (row, network) in rows.iter_mut().zip(networks) {
                let mut known = registers.clone();
                for (low, high, words) in *network {
                    known.push(self.shuffle_words(known[*low], known[*high], *words));
                }
                row.extend(known.last().copied());
            }
        }
        rows.into_iter().map(|row| Val::vector(dtype, lanes, row)).collect()
    }

    /// Asks for the cache line of an address. Any address is allowed.
    pub(crate) fn prefetch(&mut self, address: ir::Value) {
        if self.host.is_wide() {
            self.call_intrinsic(Intrinsic::Prefetch, &[address], None);
        }
    }
}

/// Shuffles of two registers each, by their numbers: two words of the first, then two of the second, whose words count on from
/// four. The results are numbered after the registers, and the last one is what is wanted.
type Network = &'static [(usize, usize, [usize; 4])];

/// Returns the shuffles that take each element of rows of `count` elements of a size from the registers with these rows, for
/// rows that are not a multiple of 16 bytes.
fn networks(size: usize, count: usize) -> &'static [Network] {
    match (size, count) {
        (4, 2) => &[&[(0, 1, [0, 2, 4, 6])], &[(0, 1, [1, 3, 5, 7])]],
        (4, 3) => &[
            &[(1, 2, [2, 2, 5, 5]), (0, 3, [0, 3, 4, 6])],
            &[(0, 1, [1, 1, 4, 4]), (1, 2, [3, 3, 6, 6]), (3, 4, [0, 2, 4, 6])],
            &[(0, 1, [2, 2, 5, 5]), (3, 2, [0, 2, 4, 7])],
        ],
        (8, 3) => &[&[(0, 1, [0, 1, 6, 7])], &[(0, 2, [2, 3, 4, 5])], &[(1, 2, [0, 1, 6, 7])]],
        _ => &[],
    }
}
