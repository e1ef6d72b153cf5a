//! Blocks of a table in registers: loads along its rows become lanes along its columns.

use super::value::{Regs, VECTOR_BYTES, width_of};
use super::{Emitter, Intrinsic, LaneStride, Val};
use broadloom_ir::dtype::DType;
use cranelift_codegen::ir;
use smallvec::SmallVec;

impl Emitter<'_, '_> {
    /// Loads as many contiguous elements as 16 bytes have from each address. Returns a value for each of these elements,
    /// with a lane for each address. Elements have 4 or 8 bytes, and the lanes fill whole registers.
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

    /// Asks for the cache line of an address. Any address is allowed.
    pub(crate) fn prefetch(&mut self, address: ir::Value) {
        if self.host.is_wide() {
            self.call_intrinsic(Intrinsic::Prefetch, &[address], None);
        }
    }
}
