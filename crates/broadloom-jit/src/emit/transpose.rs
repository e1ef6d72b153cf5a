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
            let transposed = self.transposed(&registers);
            rows.iter_mut().zip(transposed).for_each(|(row, register)| row.push(register));
        }
        rows.into_iter().map(|row| Val::vector(dtype, addresses.len(), row)).collect()
    }

    /// Transposes each 16 bytes of as many registers as elements fill these.
    fn transposed(&mut self, registers: &[ir::Value]) -> SmallVec<[ir::Value; 4]> {
        match *registers {
            [a, b, c, d] => {
                let [low, high] = [[0, 1, 4, 5], [2, 3, 6, 7]]
                    .map(|halves| [(a, b), (c, d)].map(|(x, y)| self.shuffle_words(x, y, halves)));
                let pairs = [low, low, high, high].into_iter();
                let pairs = pairs.zip([[0, 2, 4, 6], [1, 3, 5, 7]].into_iter().cycle());
                pairs.map(|([x, y], words)| self.shuffle_words(x, y, words)).collect()
            }
            [a, b] => {
                let words = [[0, 1, 4, 5], [2, 3, 6, 7]].into_iter();
                words.map(|words| self.shuffle_words(a, b, words)).collect()
            }
            _ => registers.into(),
        }
    }

    /// Returns whether rows of so many elements can be loaded and stored as a whole.
    pub(crate) fn has_short_rows(&self, dtype: DType, count: usize) -> bool {
        let size = dtype.size();
        [4, 8].contains(&size)
            && (!taking(size, count).is_empty() || (count * size).is_multiple_of(VECTOR_BYTES))
    }

    /// Loads rows of `count` contiguous elements, one after the other from `address` on, with a row for each lane. Returns a
    /// value for each element of a row. [Rows of this size](Emitter::has_short_rows) can be loaded, and the lanes fill whole
    /// registers, or parts of 16 bytes of a single one.
    pub(crate) fn load_short_rows(
        &mut self,
        address: ir::Value,
        dtype: DType,
        count: usize,
        lanes: usize,
    ) -> Vec<Val> {
        let bytes = count * dtype.size();
        if self.picks(dtype, count, lanes) {
            let of_register = self.host.per_register(width_of(dtype));
            let mut rows: Vec<Regs> = vec![Regs::new(); count];
            for first in (0..lanes).step_by(of_register) {
                let place = |chunk: usize| (first * bytes + chunk * self.host.vector_bytes) as i32;
                let places: SmallVec<[i32; 4]> = (0..count).map(place).collect();
                // In halves, of which every other one is in a single cache line wherever arrays begin.
                let half = of_register / 2;
                let loaded: SmallVec<[ir::Value; 4]> = places
                    .into_iter()
                    .map(|place| {
                        let halves = [place, place + self.host.vector_bytes as i32 / 2]
                            .map(|place| self.load(address, place, dtype, half, LaneStride::Unit).regs[0]);
                        self.lower_halves(halves[0], halves[1])
                    })
                    .collect();
                let picked = self.picked(&loaded, &|row, lane| count * lane + row);
                rows.iter_mut().zip(picked).for_each(|(row, register)| row.push(register));
            }
            return rows.into_iter().map(|row| Val::vector(dtype, lanes, row)).collect();
        }
        let networks = taking(dtype.size(), count);
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
                row.extend(self.shuffled(&registers, network));
            }
        }
        rows.into_iter().map(|row| Val::vector(dtype, lanes, row)).collect()
    }

    /// Stores rows of contiguous elements, one after the other from `address` on, with a row for each lane: the inverse of
    /// [`Emitter::load_short_rows`], for the same rows and lanes.
    pub(crate) fn store_short_rows(&mut self, address: ir::Value, elements: &[Val]) {
        let [Val { dtype, lanes, .. }, ..] = *elements else { return };
        let bytes = elements.len() * dtype.size();
        let of_part = VECTOR_BYTES / dtype.size();
        let networks = giving(dtype.size(), elements.len());
        let of_register = self.host.per_register(width_of(dtype));
        for (register, first) in (0..lanes).step_by(of_register).enumerate() {
            let columns: SmallVec<[ir::Value; 4]> =
                elements.iter().map(|element| element.regs[register]).collect();
            if self.picks(dtype, elements.len(), lanes) {
                let count = elements.len();
                let number = |chunk: usize, lane: usize| chunk * of_register + lane;
                let picked = self.picked(&columns, &|chunk, lane| {
                    let place = number(chunk, lane);
                    number(place % count, place / count)
                });
                for (chunk, rows) in picked.into_iter().enumerate() {
                    let value = Val::vector(dtype, of_register, [rows].into_iter().collect());
                    let place = first * bytes + chunk * self.host.vector_bytes;
                    self.store(address, place as i32, &value, LaneStride::Unit);
                }
                continue;
            }
            // Registers of 16 bytes in every few rows, with the place of the first 16.
            let mut stored: SmallVec<[(ir::Value, usize); 4]> = SmallVec::new();
            if networks.is_empty() {
                for (part, columns) in columns.chunks(of_part).enumerate() {
                    let rows = self.transposed(columns).into_iter().enumerate();
                    stored.extend(rows.map(|(row, register)| (register, row * bytes + part * VECTOR_BYTES)));
                }
            }
            for (chunk, network) in networks.iter().enumerate() {
                stored.extend(
                    self.shuffled(&columns, network).map(|shuffled| (shuffled, chunk * VECTOR_BYTES)),
                );
            }
            for (part, lane) in (first..lanes.min(first + of_register)).step_by(of_part).enumerate() {
                for (register, place) in &stored {
                    let rows = self.words_from(*register, part * VECTOR_BYTES / 4);
                    let value = Val::vector(dtype, of_part, [rows].into_iter().collect());
                    self.store(address, (lane * bytes + place) as i32, &value, LaneStride::Unit);
                }
            }
        }
    }

    /// Returns whether the elements of rows are picked from whole registers: AVX-512 picks lanes of two.
    fn picks(&self, dtype: DType, count: usize, lanes: usize) -> bool {
        self.host.has_avx512()
            && (2..=4).contains(&count)
            && lanes.is_multiple_of(self.host.per_register(width_of(dtype)))
    }

    /// Returns as many registers as there are sources, two to four, with lanes of these by their numbers: `of` gives that of
    /// a lane of a result. The lanes of each two of four results come from either two sources in equal parts.
    fn picked(
        &mut self,
        sources: &[ir::Value],
        of: &dyn Fn(usize, usize) -> usize,
    ) -> SmallVec<[ir::Value; 4]> {
        let ty = self.builder.func.dfg.value_type(sources[0]);
        let lanes = ty.lane_count() as usize;
        let results = 0..sources.len();
        match *sources {
            [x, y] => results.map(|result| self.pick([x, y], |lane| of(result, lane))).collect(),
            [x, y, z] => {
                let of_third = |result: usize, lane: usize| of(result, lane).checked_sub(2 * lanes);
                let mut each = |result: usize| {
                    let two =
                        self.pick([x, y], |lane| of_third(result, lane).map_or(of(result, lane), |_| 0));
                    self.pick([two, z], |lane| of_third(result, lane).map_or(lane, |third| lanes + third))
                };
                results.map(&mut each).collect()
            }
            [w, x, y, z] => {
                let mut picked = SmallVec::new();
                for pair in [[0, 1], [2, 3]] {
                    let numbers =
                        || pair.into_iter().flat_map(|result| (0..lanes).map(move |lane| of(result, lane)));
                    let [first, second]: [SmallVec<[usize; 16]>; 2] = [0, 2 * lanes].map(|start| {
                        numbers().filter(|number| (start..start + 2 * lanes).contains(number)).collect()
                    });
                    let one = self.pick([w, x], |lane| first[lane]);
                    let other = self.pick([y, z], |lane| second[lane] - 2 * lanes);
                    for result in pair {
                        let place = |lane: usize| {
                            let number = of(result, lane);
                            let among = |numbers: &[usize]| numbers.iter().position(|known| *known == number);
                            among(&first).or_else(|| Some(lanes + among(&second)?)).unwrap_or(0)
                        };
                        picked.push(self.pick([one, other], place));
                    }
                }
                picked
            }
            _ => sources.into(),
        }
    }

    /// Returns a register with lanes of two by their numbers.
    fn pick(&mut self, [x, y]: [ir::Value; 2], number: impl Fn(usize) -> usize) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(x);
        let numbers = (0..ty.lane_count() as usize).flat_map(|lane| {
            let number = (number(lane) as u64).to_le_bytes();
            number.into_iter().take(ty.lane_bits() as usize / 8)
        });
        let numbers: Vec<u8> = numbers.collect();
        let integers = ty.as_int();
        let numbers = self.vector_constant(integers, numbers.into());
        self.intrinsic(Intrinsic::Picked, &[x, y, numbers], ty)
    }

    /// Returns the result of a network, if it has shuffles.
    fn shuffled(&mut self, registers: &[ir::Value], network: Network) -> Option<ir::Value> {
        let mut known: SmallVec<[ir::Value; 8]> = registers.into();
        for (low, high, words) in network {
            known.push(self.shuffle_words(known[*low], known[*high], *words));
        }
        known.last().copied()
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
fn taking(size: usize, count: usize) -> &'static [Network] {
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

/// Returns the shuffles that give the registers with rows from those with each of their elements: the inverses of
/// [`taking`].
fn giving(size: usize, count: usize) -> &'static [Network] {
    match (size, count) {
        (4, 2) => {
            &[&[(0, 1, [0, 1, 4, 5]), (2, 2, [0, 2, 5, 7])], &[(0, 1, [2, 3, 6, 7]), (2, 2, [0, 2, 5, 7])]]
        }
        (4, 3) => &[
            &[(0, 1, [0, 2, 4, 6]), (2, 0, [0, 2, 5, 7]), (3, 4, [0, 2, 4, 6])],
            &[(1, 2, [1, 3, 5, 7]), (0, 1, [0, 2, 4, 6]), (3, 4, [0, 2, 5, 7])],
            &[(2, 0, [0, 2, 5, 7]), (1, 2, [1, 3, 5, 7]), (3, 4, [1, 3, 5, 7])],
        ],
        (8, 3) => &[&[(0, 1, [0, 1, 4, 5])], &[(2, 0, [0, 1, 6, 7])], &[(1, 2, [2, 3, 6, 7])]],
        _ => &[],
    }
}
