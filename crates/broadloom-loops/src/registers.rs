//! What stays in registers between statements: decided once, for the finished statements of a kernel. Code generation finds each
//! decision in the statement that it concerns, where [`verify`](crate::verify()) has checked it.
//!
//! | decision | kept in registers instead of rows or memory |
//! | --- | --- |
//! | [`Contract::epilogue`] | the results of a tile, until extremes or a fold have taken them |
//! | [`Stream::padded`] | whole vectors of accumulators, past the end of a strip |
//! | [`Reduce::transposed`] | parts of short rows, a row in each lane |
//! | [`Stmt::Transpose`], `in_registers` | blocks of an array that is read across its rows |

use crate::kernel::*;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{BLOCK, ReduceOp};
use std::collections::HashMap;

/// Decides what stays in registers.
pub(crate) fn decide(kernel: &mut Kernel) {
    let mut body = std::mem::take(&mut kernel.body);
    let longest = longest_strips(&body);
    Registers { kernel, longest }.body(&mut body, None);
    kernel.body = body;
}

/// The most steps of a strip of each axis.
fn longest_strips(body: &[Stmt]) -> HashMap<AxisId, usize> {
    let mut longest = HashMap::new();
    for stmt in statements(body) {
        if let Stmt::Strip { axis, length, .. } = stmt {
            let most = longest.entry(*axis).or_insert(*length);
            *most = (*most).max(*length);
        }
    }
    longest
}

struct Registers<'k> {
    kernel: &'k Kernel,
    longest: HashMap<AxisId, usize>,
}

impl Registers<'_> {
    /// Decides for statements in a vector loop over an axis, or in none.
    fn body(&self, body: &mut [Stmt], vector: Option<AxisId>) {
        for stmt in body {
            if self.is_block(stmt) {
                for of_block in stmt.children_mut().into_iter().flatten().flat_map(Stmt::children_mut) {
                    for stmt in of_block {
                        if let Stmt::Transpose { in_registers, .. } = stmt {
                            *in_registers = true;
                        }
                    }
                }
            }
            let mut inside = vector;
            match stmt {
                Stmt::For { axis, lanes: 2.., .. } => inside = Some(*axis),
                Stmt::Reduce(reduce) => {
                    if let Some(vector) = vector.filter(|axis| *axis != reduce.axis) {
                        reduce.transposed = self.transposed(reduce, vector).into();
                    }
                }
                Stmt::Stream(stream) => {
                    stream.padded = self.is_padded(stream);
                    if let Some(of_roots) = self.takes_extremes(stream)
                        && let [Stmt::Contract(contract)] = stream.ahead.as_mut_slice()
                    {
                        contract.epilogue = Epilogue::Extremes { of_roots };
                    }
                    if stream.lanes > 1 {
                        self.body(&mut stream.body, Some(stream.strip));
                        [&mut stream.ahead, &mut stream.per_step, &mut stream.prologue]
                            .into_iter()
                            .for_each(|body| self.body(body, vector));
                        continue;
                    }
                }
                Stmt::FoldRows(fold) => {
                    if let [Stmt::Contract(contract)] = fold.body.as_mut_slice()
                        && self.has_whole_results(contract)
                    {
                        contract.epilogue = Epilogue::Fold;
                    }
                }
                _ => {}
            }
            stmt.children_mut().into_iter().for_each(|body| self.body(body, inside));
        }
    }

    fn def(&self, value: ValueId) -> &Def {
        &self.kernel.values[value.index()].def
    }

    fn extent(&self, axis: AxisId) -> Option<i64> {
        match self.kernel.axes[axis.index()].extent {
            Extent::Constant(extent) => Some(extent),
            Extent::Param(_) => None,
        }
    }

    /// Returns whether each tile computes all elements of the axis, whatever the sizes, in the lanes of the results.
    fn has_whole_results(&self, contract: &Contract) -> bool {
        let is_narrow = |entry: &Contracted| entry.accumulator.narrow(&self.kernel.values).is_some();
        self.extent(contract.axis).is_some_and(|extent| (1..=BLOCK as i64).contains(&extent))
            && !contract.accumulators.iter().any(is_narrow)
    }

    /// Returns whether a statement can run for lanes past the end of the strip.
    fn can_overrun_strip(&self, stmt: &Stmt, strip: AxisId) -> bool {
        let Stmt::Let(id) = stmt else { return false };
        match self.def(*id) {
            Def::Row(row, _) => {
                matches!(self.kernel.rows[row.index()].span, Span::Strip | Span::Block { .. })
            }
            def => self.kernel.can_overrun_strip(def, strip),
        }
    }

    /// Returns whether extremes can take the results of the contraction ahead of them from the registers of tiles, and whether
    /// they are extremes of roots. They read no array along the strip.
    fn takes_extremes(&self, stream: &Stream) -> Option<bool> {
        let [Stmt::Contract(contract)] = stream.ahead.as_slice() else { return None };
        let is_extreme = |entry: &StreamAccumulator| {
            let op = entry.accumulator.op;
            matches!(op, ReduceOp::Min | ReduceOp::Max | ReduceOp::ArgMin | ReduceOp::ArgMax)
        };
        let mut per_element = stream.per_step.iter().chain(&stream.body);
        let fits = self.has_whole_results(contract)
            && stream.order == Order::Free
            && stream.prologue.is_empty()
            && contract.rows_prologue.is_empty()
            && !stream.dense
            && contract.rows == stream.axis
            && contract.strip == stream.strip
            && stream.accumulators.iter().all(is_extreme)
            && per_element.all(|stmt| self.can_overrun_strip(stmt, stream.strip));
        fits.then(|| self.are_least_roots(contract, stream))
    }

    /// Returns whether the extremes are the least square roots of the sums of a contraction, or their positions.
    fn are_least_roots(&self, contract: &Contract, stream: &Stream) -> bool {
        let [entry] = contract.accumulators.as_slice() else { return false };
        let is_root = |value: ValueId| match self.def(value) {
            Def::Op { op: Op::Sqrt, args, .. } => {
                matches!(self.def(args[0]), Def::Row(row, _) if *row == entry.target)
            }
            _ => false,
        };
        stream.accumulators.iter().all(|StreamAccumulator { accumulator, .. }| match accumulator.operand {
            Contribution::Value(value) => accumulator.op == ReduceOp::Min && is_root(value),
            Contribution::Indexed { value, index: None, .. } => {
                accumulator.op == ReduceOp::ArgMin && is_root(value)
            }
            _ => false,
        })
    }

    /// Returns whether walks go on to a whole number of vectors, past the end of the strip.
    fn is_padded(&self, stream: &Stream) -> bool {
        let Some(longest) = self.longest.get(&stream.strip) else { return false };
        let read = stream.body.iter().filter_map(|stmt| match stmt {
            Stmt::Let(id) => match self.def(*id) {
                Def::Row(row, axis) if *axis == stream.strip => Some(*row),
                _ => None,
            },
            _ => None,
        });
        let mut rows = stream.accumulators.iter().flat_map(StreamAccumulator::rows).chain(read);
        stream.lanes > 1
            && !stream.dense
            && stream.body.iter().all(|stmt| self.can_overrun_strip(stmt, stream.strip))
            && rows.all(|row| longest.next_multiple_of(stream.lanes) <= self.kernel.rows[row.index()].length)
    }

    /// Returns the loads of a reduction, in a vector loop over another axis, whose arrays have a row in each lane.
    fn transposed(&self, reduce: &Reduce, vector: AxisId) -> Vec<ValueId> {
        let mut loads: Vec<(ValueId, usize)> = Vec::new();
        for stmt in &reduce.body {
            let Stmt::Let(value) = stmt else { return Vec::new() };
            let Def::Load { access, .. } = *self.def(*value) else { continue };
            let access = &self.kernel.accesses[access.index()];
            let is_apart = access.stride(vector).is_some_and(|stride| stride != Stride::Constant(1));
            let size = access.dtype.size();
            if is_apart && access.is_unit(reduce.axis) && [4, 8].contains(&size) {
                loads.push((*value, size));
            }
        }
        let Some(&(_, size)) = loads.first() else { return Vec::new() };
        let axis = &self.kernel.axes[reduce.axis.index()];
        let is_whole = axis.is_whole() && !self.kernel.shares(reduce.axis);
        let is_short =
            self.extent(reduce.axis).is_some_and(|extent| is_whole && extent < (VECTOR_BYTES / size) as i64);
        if is_short {
            return Vec::new();
        }
        loads.into_iter().filter(|(_, other)| *other == size).map(|(value, _)| value).collect()
    }

    /// Returns whether a statement is a loop over blocks of two axes for whose rows blocks are transposed, and which reads nothing
    /// else that registers would not hold.
    fn is_block(&self, stmt: &Stmt) -> bool {
        let Some(block) = Block::of(stmt) else { return false };
        let is_let = |stmt: &Stmt| matches!(stmt, Stmt::Let(_));
        let is_plain = |stmt: &Stmt| matches!(stmt, Stmt::Let(_) | Stmt::Store { .. });
        let is_held = |stmt: &Stmt| match stmt {
            Stmt::Transpose { access, rows, axis, .. } => {
                let size = self.kernel.accesses[access.index()].dtype.size();
                (*rows, *axis) == (block.rows, block.axis) && size >= MIN_TILED_ELEMENT
            }
            _ => false,
        };
        !block.transposes.is_empty()
            && block.transposes.iter().all(is_held)
            && block.lanes > 1
            && block.count.is_multiple_of(ROWS_IN_REGISTERS)
            && block.per_row.iter().all(is_let)
            && block.body.iter().all(is_plain)
    }
}
