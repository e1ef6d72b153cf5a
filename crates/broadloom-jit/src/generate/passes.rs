//! The loops that run over an axis one after the other: with many lanes, then with fewer for the remainder.

use super::Generator;
use super::reduce::index_dtype;
use crate::emit::{VECTOR_BYTES, Val};
use crate::thresholds::{
    MAX_OPS_PER_DIVISION, MAX_WIDE_STATEMENTS, MIN_ALIGNED, MIN_EXTENT_OF_PRODUCTS, SHORT_LANES,
};
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::LANES;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;

impl Generator<'_, '_, '_> {
    /// Emits a loop over an axis, in two parts if the second is aligned then.
    pub(super) fn vector_loop(&mut self, axis: AxisId, lanes: usize, body: &[Stmt]) {
        let outer = self.has_products;
        self.has_products = self.waits_for_divisions(axis, body);
        self.vector_loops(axis, lanes, body);
        self.has_products = outer;
    }

    /// The loops of [`vector_loop`](Self::vector_loop), once it is known how they divide.
    fn vector_loops(&mut self, axis: AxisId, lanes: usize, body: &[Stmt]) {
        let wide = self.lanes_at_once(axis, lanes, body);
        let emit = |generator: &mut Self| {
            generator.steps(axis, &[wide, lanes], |generator| generator.body(body));
        };
        if let Some((access, delta)) = self.streamed(lanes, body) {
            let (start, end) = self.bounds(axis);
            let aligned = self.first_aligned(axis, access, delta);
            self.within(axis, (start, aligned), emit);
            self.streams = Some(access);
            self.within(axis, (aligned, end), emit);
            self.streams = None;
            return;
        }
        let Some(aligned) = self.begin_of_lines(axis, lanes, body) else { return emit(self) };
        self.in_two_parts(axis, aligned, &[], |generator, _, _| {
            emit(generator);
            Vec::new()
        });
    }

    /// Returns whether the divider of the CPU takes longer than everything else that a loop does, which has to be long enough for
    /// what quotients by products compute once.
    fn waits_for_divisions(&self, axis: AxisId, body: &[Stmt]) -> bool {
        let (mut divisions, mut others) = (0, 0);
        for stmt in body {
            match stmt {
                Stmt::Let(id) => match self.kernel.values[id.index()].def {
                    Def::Op { op: Op::Divide, .. } => divisions += 1,
                    Def::Op { .. } | Def::Select(_) | Def::Cast(_) => others += 1,
                    _ => {}
                },
                Stmt::Store { .. } | Stmt::Put { .. } => {}
                _ => return false,
            }
        }
        let is_long = self.whole_extent(axis).is_none_or(|extent| extent >= MIN_EXTENT_OF_PRODUCTS);
        is_long && others <= MAX_OPS_PER_DIVISION * divisions && !self.computes_functions(body)
    }

    /// Emits loops over an axis for several lanes at once: first for the most of them, then for the remainder.
    pub(super) fn steps(&mut self, axis: AxisId, lanes: &[usize], mut body: impl FnMut(&mut Self)) {
        let (mut start, end) = self.bounds(axis);
        for lanes in self.passes_of(axis, lanes) {
            start = self
                .repeat(start, end, lanes as i64, &[], |generator, position, _| {
                    generator.at(axis, position, lanes, &mut body);
                    Vec::new()
                })
                .0;
        }
    }

    /// Returns the first step of an outermost loop that begins a vector register in the array that it writes or, if there is
    /// none, reads, where what it does is so little that this matters: memory that allocators return begins 16 bytes behind a
    /// cache line, so that every vector of 64 bytes, and every other one of 32, would take two lines. `2.5 * x + y` and
    /// `count(x > y)` of 64 Ki and of 4 Mi elements took 0.7 to 0.86 of the time.
    pub(super) fn begin_of_lines(&mut self, axis: AxisId, lanes: usize, body: &[Stmt]) -> Option<ir::Value> {
        let kernel = self.kernel;
        let bytes = self.emit.host.vector_bytes as i64;
        let is_plain = |stmt: &Stmt| match stmt {
            Stmt::Let(id) => {
                let def = &kernel.values[id.index()].def;
                !is_by_lane(def) && !matches!(def, Def::Row(..))
            }
            Stmt::Store { .. } => true,
            _ => false,
        };
        // A loop over groups of an axis is around parts of one long loop.
        let counters = kernel.axes[axis.index()].groups.len();
        let is_outermost = self.positions.len() == counters && !self.strips.contains_key(&axis);
        let is_long = self.whole_extent(axis).is_none_or(|extent| extent >= MIN_ALIGNED);
        let matters = lanes > 1 && bytes > VECTOR_BYTES as i64 && is_outermost && is_long;
        if !matters || !body.iter().all(is_plain) || self.computes_functions(body) {
            return None;
        }
        let place = |stmt: &Stmt| match stmt {
            Stmt::Store { access, delta, .. } => Some((*access, *delta)),
            Stmt::Let(id) => match kernel.values[id.index()].def {
                Def::Load { access, delta } => Some((access, delta)),
                _ => None,
            },
            _ => None,
        };
        let (stores, lets): (Vec<&Stmt>, Vec<&Stmt>) =
            body.iter().partition(|stmt| matches!(stmt, Stmt::Store { .. }));
        let mut places = stores.into_iter().chain(lets).filter_map(place);
        let (access, delta) = places.find(|(access, _)| kernel.accesses[access.index()].is_unit(axis))?;
        Some(self.first_aligned(axis, access, delta))
    }

    /// Returns the array to which a vector loop streams, and the place of its first element there.
    fn streamed(&self, lanes: usize, body: &[Stmt]) -> Option<(AccessId, i64)> {
        let is_wide = self.emit.host.vector_bytes > VECTOR_BYTES;
        let mut stores = body.iter().filter_map(|stmt| match stmt {
            Stmt::Store { access, delta, .. } => Some((*access, *delta)),
            _ => None,
        });
        let streams = |access: AccessId| self.kernel.accesses[access.index()].streams;
        stores.find(|(access, _)| lanes > 1 && is_wide && streams(*access))
    }

    /// Lets nobody read what is streamed before it is in memory.
    pub(super) fn end_streams(&mut self) {
        let is_wide = self.emit.host.vector_bytes > VECTOR_BYTES;
        if is_wide && self.kernel.accesses.iter().any(|access| access.streams) {
            self.ins().fence();
        }
    }

    /// Returns the first step of a loop over an axis whose element begins a vector register in an array that is contiguous along
    /// the axis, or the end of a short loop.
    fn first_aligned(&mut self, axis: AxisId, access: AccessId, delta: i64) -> ir::Value {
        let bytes = self.emit.host.vector_bytes as i64;
        let (start, end) = self.bounds(axis);
        let address = self.at(axis, start, 1, |generator| generator.address(access, delta));
        // Arrays of the caller are aligned to their elements.
        let size = self.kernel.accesses[access.index()].dtype.size() as i64;
        let negative = self.ins().ineg(address);
        let before = self.ins().band_imm_u(negative, bytes - 1);
        let steps = self.ins().ushr_imm_u(before, i64::from(size.trailing_zeros()));
        let length = self.ins().isub(end, start);
        let is_long = self.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, length, MIN_ALIGNED);
        let aligned = self.ins().iadd(start, steps);
        self.ins().select(is_long, aligned, end)
    }

    /// Emits a loop over an axis that runs twice: up to a step, and from there to the end.
    pub(super) fn in_two_parts(
        &mut self,
        axis: AxisId,
        step: ir::Value,
        carried: &[Val],
        emit: impl FnOnce(&mut Self, (ir::Value, ir::Value), &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let (start, end) = self.bounds(axis);
        let looped = self.loop_while(
            &[start, step],
            carried,
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], end),
            |generator, state, carried| {
                let part = (state[0], state[1]);
                let carried = generator.within(axis, part, |generator| emit(generator, part, carried));
                (vec![state[1], end], carried)
            },
        );
        looped.carried
    }

    /// Returns the lanes of the loops that run over an axis one after the other, each as long as its vectors fit.
    pub(super) fn passes(&self, axis: AxisId, lanes: usize) -> SmallVec<[usize; 4]> {
        self.passes_of(axis, &[lanes])
    }

    /// Returns the lanes of the loops that run over an axis, of which the first have these lanes, the most first. After
    /// them, the remainder runs with as many lanes as most loops have. An inner loop is followed by a loop with short
    /// vectors, because its remainder recurs in each step around it.
    ///
    /// Nothing is masked: AVX2 has masks for 4 and 8 bytes only, and a masked store takes dozens of micro-operations on some
    /// processors (Zen 3), while passes serve all dtypes, strides and code generators. AVX-512 has masks for all sizes, with
    /// which one pass could replace up to six; that was not measured.
    fn passes_of(&self, axis: AxisId, lanes: &[usize]) -> SmallVec<[usize; 4]> {
        let fewest = lanes.last().copied().unwrap_or(1);
        let remainder = [fewest.min(LANES), self.short_lanes(fewest), 1];
        let mut passes: SmallVec<[usize; 4]> = lanes.iter().copied().chain(remainder).collect();
        passes.dedup();
        let mut left = self.whole_extent(axis);
        passes.retain(|lanes| {
            let is_needed = left.is_none_or(|left| left >= *lanes as i64);
            left = left.map(|left| left % *lanes as i64);
            is_needed
        });
        if passes.is_empty() {
            passes.push(1);
        }
        passes
    }

    /// Returns the lanes of the vectors for the remainder of a loop with some number of lanes, or 1.
    pub(super) fn short_lanes(&self, lanes: usize) -> usize {
        if self.positions.is_empty() { 1 } else { SHORT_LANES.min(lanes) }
    }

    /// Returns the number of steps of an axis that is run as a whole, if it is a constant.
    pub(super) fn whole_extent(&self, axis: AxisId) -> Option<i64> {
        let entry = &self.kernel.axes[axis.index()];
        let is_part = !entry.is_whole() || self.strips.contains_key(&axis);
        match entry.extent {
            Extent::Constant(extent) if !is_part && !self.kernel.shares(axis) => Some(extent),
            _ => None,
        }
    }

    /// Returns the lanes of the first loop over an axis: as many registers of a value as the kernel means, which is written
    /// for those of 16 bytes, as long as the values that are alive at once stay in registers. They are steps that do not
    /// wait for each other: with one register of 64 bytes for each value, formulas of functions took up to 1.5 times as long
    /// as with four. Without functions, elements that are gathered or change their size gain nothing from that, and have only
    /// one full register for the shortest; what is done for each lane gains nothing at all.
    pub(super) fn lanes_at_once(&self, axis: AxisId, lanes: usize, body: &[Stmt]) -> usize {
        self.lanes_live_with(axis, lanes, body, 0)
    }

    /// Returns the lanes of a vector loop during which other values of `live_with` bytes per lane are alive throughout.
    pub(super) fn lanes_live_with(
        &self,
        axis: AxisId,
        lanes: usize,
        body: &[Stmt],
        live_with: usize,
    ) -> usize {
        let is_plain = |stmt: &Stmt| match stmt {
            Stmt::Let(id) => !is_by_lane(&self.kernel.values[id.index()].def),
            Stmt::Store { .. } | Stmt::Put { .. } | Stmt::Scatter { .. } => true,
            _ => false,
        };
        let is_simple = |stmt: &Stmt| match stmt {
            Stmt::Reduce(reduce) => self.reduces_alike(axis, reduce),
            Stmt::Repeat(repeat) => repeat.body.iter().all(is_plain),
            _ => is_plain(stmt),
        };
        // Between ops on 16-bit floats are casts, which do not count.
        let is_cast = |stmt: &Stmt| {
            let def = |id: &ValueId| &self.kernel.values[id.index()].def;
            matches!(stmt, Stmt::Let(id) if matches!(def(id), Def::Cast(_)))
        };
        let count = statements(body).filter(|stmt| !is_cast(stmt)).count();
        if lanes == 1 || count > MAX_WIDE_STATEMENTS || !body.iter().all(is_simple) {
            return lanes;
        }
        let host = self.emit.host;
        let repeats = body.iter().any(|stmt| matches!(stmt, Stmt::Repeat(_)));
        let reduces = body.iter().any(|stmt| matches!(stmt, Stmt::Reduce(_)));
        let is_worth = repeats || reduces || self.computes_functions(body) || self.is_contiguous(axis, body);
        let bytes = self.most_alive(body) + live_with;
        let fits = |lanes: &usize| lanes * bytes <= host.vector_registers() * host.vector_bytes;
        let wider = std::iter::successors(Some(2 * lanes), |lanes| Some(2 * lanes));
        let most = match is_worth {
            // Each lane has rows of its own: these are more streams than the CPU predicts.
            true if repeats && !self.reads_neighbours(axis, statements(body)) => lanes,
            // Each step waits for the one before, and does little else.
            true if repeats => 2 * lanes * host.vector_bytes / VECTOR_BYTES,
            true => lanes * host.vector_bytes / VECTOR_BYTES,
            false => self.lanes_of_register(body).unwrap_or(lanes),
        };
        wider.take_while(|lanes| *lanes <= most).take_while(fits).last().unwrap_or(lanes)
    }

    /// Returns whether a reduction in a vector loop over an axis reads neighbours for neighbouring steps of that axis, as windows do,
    /// or the same elements for all of them, as the nearest of a few codes does, and computes no function: each accumulator waits
    /// for the step before, and more of them take turns or share what is read.
    fn reduces_alike(&self, axis: AxisId, reduce: &Reduce) -> bool {
        let is_gathered = |(access, _): (AccessId, Use)| {
            !matches!(self.kernel.accesses[access.index()].stride(axis), None | Some(Stride::Constant(1)))
        };
        let is_plain = |stmt: &Stmt| match stmt {
            Stmt::Let(id) => {
                let def = &self.kernel.values[id.index()].def;
                !is_by_lane(def) && !def.accesses().into_iter().any(is_gathered)
            }
            _ => false,
        };
        matches!(reduce.order, Order::Free | Order::Sequential)
            && reduce.lanes == 1
            && reduce.prologue.is_empty()
            && !self.computes_functions(&reduce.body)
            && reduce.body.iter().all(is_plain)
    }

    /// Returns how many of the shortest numbers that the ops of a step compute a register has.
    fn lanes_of_register(&self, body: &[Stmt]) -> Option<usize> {
        let values = computed(body).map(|id| &self.kernel.values[id.index()]);
        let of_ops = values.filter(|value| matches!(value.def, Def::Op { .. }) && value.dtype != DType::Bool);
        let size = of_ops.map(|value| value.dtype.arithmetic().size()).min()?;
        Some(self.emit.host.vector_bytes / size)
    }

    /// Returns whether elements that are neighbours along an axis are neighbours in all arrays, or the same, and all values
    /// but truth values have one size.
    fn is_contiguous(&self, axis: AxisId, body: &[Stmt]) -> bool {
        let dtypes = computed(body).map(|id| self.kernel.values[id.index()].dtype);
        let sizes: BTreeSet<usize> = dtypes.filter(|dtype| *dtype != DType::Bool).map(DType::size).collect();
        sizes.len() <= 1 && self.reads_neighbours(axis, body.iter())
    }

    /// Returns whether elements that are neighbours along an axis are neighbours in all arrays that statements read and write, or the
    /// same.
    fn reads_neighbours<'s>(&self, axis: AxisId, statements: impl Iterator<Item = &'s Stmt>) -> bool {
        let is_neighbour = |(access, how): (AccessId, Use)| {
            let stride = self.kernel.accesses[access.index()].stride(axis);
            matches!(how, Use::Read(_) | Use::Write(_)) && matches!(stride, None | Some(Stride::Constant(1)))
        };
        let mut accesses = statements.flat_map(|stmt| stmt.accesses(&self.kernel.values));
        accesses.all(is_neighbour)
    }

    /// Returns the most bytes of the values that the statements of a step compute and that are alive at once, per lane. Those of a
    /// reduction are alive beside its accumulators and all that its steps read.
    fn most_alive(&self, body: &[Stmt]) -> usize {
        let computed: BTreeSet<ValueId> = computed(body).collect();
        let dtype = |value: ValueId| self.kernel.values[value.index()].dtype;
        let numbers = computed.iter().map(|value| dtype(*value)).filter(|dtype| *dtype != DType::Bool);
        // Truth values are as wide as what is compared, and floats of 16 bits are computed in 32.
        let widest = numbers.map(|dtype| dtype.arithmetic().size()).max().unwrap_or(1);
        let size = |value: ValueId| match dtype(value) {
            DType::Bool => widest,
            dtype => dtype.arithmetic().size(),
        };
        let mut alive: BTreeSet<ValueId> = BTreeSet::new();
        let mut most = 0;
        for stmt in body.iter().rev() {
            let mut inside = 0;
            let read = match stmt {
                Stmt::Let(id) => {
                    alive.remove(id);
                    self.kernel.values[id.index()].def.operands()
                }
                Stmt::Store { value, .. } | Stmt::Put { value, .. } => smallvec![*value],
                Stmt::Scatter { index, value, .. } => smallvec![*index, *value],
                Stmt::Repeat(repeat) => {
                    let carried = repeat.carried.iter().map(|entry| size(entry.initial)).sum::<usize>();
                    inside = self.most_alive(&repeat.body) + carried;
                    let stored = repeat.body.iter().filter_map(|stmt| match stmt {
                        Stmt::Store { value, .. } => Some(*value),
                        _ => None,
                    });
                    let passed = repeat.carried.iter().flat_map(|entry| [entry.initial, entry.next]);
                    self.operands_of(&repeat.body).chain(stored).chain(passed).collect()
                }
                Stmt::Reduce(reduce) => {
                    inside = self.most_alive(&reduce.body) + bytes_of_state(&reduce.accumulators);
                    let steps = self.operands_of(&reduce.body);
                    let added = reduce.accumulators.iter().flat_map(|entry| entry.operand.operands());
                    steps.chain(added).collect()
                }
                _ => smallvec![],
            };
            alive.extend(read.into_iter().filter(|value| computed.contains(value)));
            most = most.max(inside + alive.iter().map(|value| size(*value)).sum::<usize>());
        }
        most
    }

    /// Returns what the values that statements compute are computed from.
    fn operands_of<'s>(&'s self, body: &'s [Stmt]) -> impl Iterator<Item = ValueId> + 's {
        computed(body).flat_map(|id| self.kernel.values[id.index()].def.operands())
    }
}

/// Returns whether code for each lane computes a value.
fn is_by_lane(def: &Def) -> bool {
    match def {
        Def::Op { position, .. } => position.is_some(),
        Def::Take { .. } | Def::Checked { .. } => true,
        Def::Search { .. }
        | Def::Constant(_)
        | Def::Param(_)
        | Def::Index(_)
        | Def::Load { .. }
        | Def::Row(..)
        | Def::Select(_)
        | Def::Cast(_)
        | Def::Reduced => false,
    }
}

/// The bytes of accumulators and of their indices, per lane.
fn bytes_of_state(accumulators: &[Accumulator]) -> usize {
    let bytes = accumulators.iter().map(|Accumulator { dtype, operand, .. }| match operand {
        Contribution::Indexed { narrow, .. } => dtype.size() + index_dtype(*narrow).size(),
        _ => dtype.size(),
    });
    bytes.sum()
}

/// The values that statements compute.
fn computed(body: &[Stmt]) -> impl Iterator<Item = ValueId> {
    body.iter().filter_map(|stmt| match stmt {
        Stmt::Let(id) => Some(*id),
        _ => None,
    })
}
