//! The parts of kernels, as reported by statements, definitions and contributions themselves: code that walks all
//! of them does not need to know each form.

use super::*;
use smallvec::smallvec;

/// A loop that a statement runs other statements in.
#[derive(Debug, Clone)]
pub struct Loop<'k> {
    /// Its axis.
    pub axis: AxisId,
    /// The unit of one iteration.
    pub turn: Turn,
    /// The bodies that run in each iteration, in order.
    pub bodies: SmallVec<[&'k [Stmt]; 2]>,
    /// The loop that runs after the bodies in each iteration, if there is one.
    pub inner: Option<Box<Loop<'k>>>,
}

/// One iteration of a [`Loop`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A strip of at most this many steps of the axis. A loop inside walks the strip.
    Strip(usize),
    /// A part of at most this many steps of the current strip of the axis. A loop inside walks the part.
    Part(usize),
    /// One step, or this many neighbours at once.
    Steps(usize),
}

/// The use of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Reads the element at the current position plus a constant number of elements.
    Read(i64),
    /// Reads any element.
    ReadAny,
    /// Writes the element at the current position plus a constant number of elements.
    Write(i64),
    /// Reads and writes any element.
    Combine,
    /// Accesses no element; the position itself serves an error report.
    Position,
}

impl Use {
    /// Returns whether elements are read.
    pub fn reads(self) -> bool {
        matches!(self, Use::Read(_) | Use::ReadAny | Use::Combine)
    }

    /// Returns whether elements are written.
    pub fn writes(self) -> bool {
        matches!(self, Use::Write(_) | Use::Combine)
    }
}

/// The use of a scratch row by a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowUse {
    /// Reads the whole strip, or the element at the position in the strip.
    Read,
    /// Writes the whole strip.
    Write,
    /// Writes the element at the position in the strip of the axis.
    Put(AxisId),
    /// Writes the whole strip before the loop of the statement, changes it in each step, and reads it after the
    /// last.
    Accumulate,
}

/// Returns statements and those inside them, each before those inside it.
pub fn statements(body: &[Stmt]) -> impl Iterator<Item = &Stmt> {
    let mut stack = vec![body.iter()];
    std::iter::from_fn(move || {
        loop {
            match stack.last_mut()?.next() {
                Some(stmt) => {
                    stack.extend(stmt.children().into_iter().rev().map(<[Stmt]>::iter));
                    return Some(stmt);
                }
                None => {
                    stack.pop();
                }
            }
        }
    })
}

impl Kernel {
    /// Returns all statements, each before those inside it.
    pub fn statements(&self) -> impl Iterator<Item = &Stmt> {
        statements(&self.body)
    }

    /// Returns the arrays that it writes, one for each writing statement.
    pub fn written(&self) -> impl Iterator<Item = BufferId> {
        let accesses = self.statements().flat_map(|stmt| stmt.accesses(&self.values));
        let written = accesses.filter(|(_, used)| used.writes());
        written.filter_map(|(access, _)| self.accesses[access.index()].buffer)
    }

    /// Returns whether a definition can be computed for lanes beyond the end of a strip: it reads no array that the
    /// strip moves, and cannot fail. This does not cover rows, whose contents only the statement that fills them
    /// knows.
    pub fn can_overrun_strip(&self, def: &Def, strip: AxisId) -> bool {
        match def {
            Def::Load { access, .. } => {
                self.accesses.get(access.index()).is_some_and(|access| access.stride(strip).is_none())
            }
            Def::Op { position, .. } => position.is_none(),
            Def::Constant(_) | Def::Param(_) | Def::Index(_) | Def::Select(_) | Def::Cast(_) => true,
            Def::Row(..) | Def::Take { .. } | Def::Search { .. } | Def::Checked { .. } | Def::Reduced => {
                false
            }
        }
    }
}

impl<'k> Loop<'k> {
    /// Returns this loop with statements before every group of steps, if there are any.
    fn per_contraction_step(self, ahead: &'k [Stmt]) -> Loop<'k> {
        let steps = ahead.iter().find_map(Stmt::steps_after_contraction);
        match steps {
            None => self,
            Some(steps) => {
                let axis = self.axis;
                self.inside(axis, Turn::Strip(steps), ahead)
            }
        }
    }

    /// Returns a loop that runs statements and then this one.
    fn inside(self, axis: AxisId, turn: Turn, body: &'k [Stmt]) -> Loop<'k> {
        Loop { axis, turn, bodies: smallvec![body], inner: Some(Box::new(self)) }
    }

    /// Returns this loop, or the deepest one inside it, which runs through the elements.
    pub fn innermost(&self) -> &Self {
        self.inner.as_deref().map_or(self, Loop::innermost)
    }
}

impl Stmt {
    /// Returns the number of steps that run after a contraction at once.
    pub fn steps_after_contraction(&self) -> Option<usize> {
        self.contraction().map(|contract| contract.steps)
    }

    /// Returns the contraction whose results it leaves in rows, by itself or combined over other axes.
    pub(super) fn contraction(&self) -> Option<&Contract> {
        match self {
            Stmt::Contract(contract) => Some(contract),
            Stmt::FoldRows(fold) => fold.contract(),
            _ => None,
        }
    }

    /// Returns the loop in which the statement runs others.
    pub fn as_loop(&self) -> Option<Loop<'_>> {
        let steps = |axis: AxisId, lanes: usize, body| Loop {
            axis,
            turn: Turn::Steps(lanes),
            bodies: smallvec![body],
            inner: None,
        };
        match self {
            Stmt::For { axis, lanes, body } => Some(steps(*axis, *lanes, body)),
            Stmt::FoldRows(FoldRows { axis, body, .. }) | Stmt::Repeat(Repeat { axis, body, .. }) => {
                Some(steps(*axis, 1, body))
            }
            Stmt::Strip { axis, length, body } => Some(Loop {
                axis: *axis,
                turn: Turn::Strip(*length),
                bodies: smallvec![body.as_slice()],
                inner: None,
            }),
            Stmt::Reduce(Reduce { axis, lanes, prologue, body, .. }) => {
                let walk = steps(*axis, *lanes, body);
                match prologue.is_empty() {
                    true => Some(walk),
                    false => Some(Loop {
                        axis: *axis,
                        turn: Turn::Strip(BLOCK),
                        bodies: smallvec![prologue.as_slice()],
                        inner: Some(Box::new(walk)),
                    }),
                }
            }
            Stmt::Stream(Stream { axis, strip, lanes, ahead, per_step, prologue, body, .. }) => {
                let walk = Loop {
                    axis: *axis,
                    turn: Turn::Steps(1),
                    bodies: smallvec![per_step.as_slice(), prologue.as_slice()],
                    inner: Some(Box::new(steps(*strip, *lanes, body))),
                };
                Some(walk.per_contraction_step(ahead))
            }
            Stmt::BestRows(BestRows { axis, ahead, per_step, prologue, .. }) => {
                let walk = Loop {
                    axis: *axis,
                    turn: Turn::Steps(1),
                    bodies: smallvec![per_step.as_slice(), prologue.as_slice()],
                    inner: None,
                };
                Some(walk.per_contraction_step(ahead))
            }
            Stmt::Contract(Contract { axis, rows, strip, lanes, prologue, rows_prologue, body, .. }) => {
                let walk = steps(*strip, *lanes, body).inside(*axis, Turn::Steps(1), &[]);
                let walk = walk.inside(*rows, Turn::Steps(1), &[]);
                let walk = walk.inside(*rows, Turn::Part(PACKED_STEPS), rows_prologue);
                Some(walk.inside(*axis, Turn::Strip(BLOCK), prologue))
            }
            Stmt::Best(Best { axis, body, .. }) => (!body.is_empty()).then(|| Loop {
                axis: *axis,
                turn: Turn::Strip(BLOCK),
                bodies: smallvec![body.as_slice()],
                inner: None,
            }),
            Stmt::Let(_)
            | Stmt::Store { .. }
            | Stmt::Scatter { .. }
            | Stmt::Put { .. }
            | Stmt::Call { .. }
            | Stmt::Begin { .. }
            | Stmt::Scan { .. }
            | Stmt::Sort(_)
            | Stmt::Transpose { .. }
            | Stmt::Deinterleave { .. }
            | Stmt::Gather { .. } => None,
        }
    }

    /// Returns the contraction for whose rows a strip is cut: its first statement.
    pub fn stripped(&self) -> Option<&Contract> {
        let Stmt::Strip { axis, body, .. } = self else { return None };
        match body.first()? {
            Stmt::Contract(contract) if contract.rows == *axis => Some(contract),
            _ => None,
        }
    }

    /// Returns the statements inside, by loop and in order.
    pub fn children(&self) -> SmallVec<[&[Stmt]; 4]> {
        let outer = self.as_loop();
        let mut children = SmallVec::new();
        let mut next = outer.as_ref();
        while let Some(each) = next {
            children.extend(each.bodies.iter().copied());
            next = each.inner.as_deref();
        }
        children
    }

    /// Returns the [children](Stmt::children) for modification.
    pub fn children_mut(&mut self) -> SmallVec<[&mut Vec<Stmt>; 4]> {
        match self {
            Stmt::For { body, .. }
            | Stmt::Strip { body, .. }
            | Stmt::FoldRows(FoldRows { body, .. })
            | Stmt::Repeat(Repeat { body, .. })
            | Stmt::Best(Best { body, .. }) => smallvec![body],
            Stmt::Reduce(reduce) => smallvec![&mut reduce.prologue, &mut reduce.body],
            Stmt::Contract(contract) => {
                smallvec![&mut contract.prologue, &mut contract.rows_prologue, &mut contract.body]
            }
            Stmt::Stream(stream) => {
                smallvec![&mut stream.ahead, &mut stream.per_step, &mut stream.prologue, &mut stream.body]
            }
            Stmt::BestRows(best) => smallvec![&mut best.ahead, &mut best.per_step, &mut best.prologue],
            Stmt::Let(_)
            | Stmt::Store { .. }
            | Stmt::Scatter { .. }
            | Stmt::Put { .. }
            | Stmt::Call { .. }
            | Stmt::Begin { .. }
            | Stmt::Scan { .. }
            | Stmt::Sort(_)
            | Stmt::Transpose { .. }
            | Stmt::Deinterleave { .. }
            | Stmt::Gather { .. } => smallvec![],
        }
    }

    /// Returns the accesses that the statement itself uses, in a kernel with these values.
    pub fn accesses(&self, values: &[Value]) -> SmallVec<[(AccessId, Use); 2]> {
        match self {
            Stmt::Let(value) => values[value.index()].def.accesses(),
            Stmt::Store { access, delta, .. } => smallvec![(*access, Use::Write(*delta))],
            Stmt::Scatter { access, lost, .. } => {
                let lost = lost.map(|(access, _)| access);
                [*access].into_iter().chain(lost).map(|access| (access, Use::Combine)).collect()
            }
            Stmt::Sort(sort) => smallvec![(sort.source, Use::ReadAny), (sort.target, Use::Combine)],
            Stmt::Best(Best { source, .. }) | Stmt::BestRows(BestRows { source, .. }) => {
                source.array().into_iter().map(|(access, _)| (access, Use::ReadAny)).collect()
            }
            Stmt::Transpose { access, .. } | Stmt::Gather { access, .. } => {
                smallvec![(*access, Use::ReadAny)]
            }
            Stmt::Call { target, args, .. } => {
                let read = args.iter().filter_map(|arg| arg.array());
                let read = read.map(|(access, delta)| (access, Use::Read(delta)));
                let written = target.array().map(|(access, delta)| (access, Use::Write(delta)));
                read.chain(written).collect()
            }
            Stmt::Scan { target, source, .. } => {
                let read = source.array().map(|(access, delta)| (access, Use::Read(delta)));
                let written = target.array().map(|(access, delta)| (access, Use::Write(delta)));
                read.into_iter().chain(written).collect()
            }
            Stmt::Put { .. }
            | Stmt::Begin { .. }
            | Stmt::Deinterleave { .. }
            | Stmt::For { .. }
            | Stmt::Strip { .. }
            | Stmt::Reduce(_)
            | Stmt::Stream(_)
            | Stmt::Contract(_)
            | Stmt::FoldRows(_)
            | Stmt::Repeat(_) => smallvec![],
        }
    }

    /// Returns the axis over whose strip the statement runs a tile function, if it does.
    pub fn tiled(&self) -> Option<AxisId> {
        match self {
            Stmt::Call { axis, .. } | Stmt::Scan { axis, .. } => Some(*axis),
            Stmt::Best(best) => Some(best.axis),
            Stmt::BestRows(best) => Some(best.strip),
            Stmt::Let(_)
            | Stmt::Store { .. }
            | Stmt::Scatter { .. }
            | Stmt::Put { .. }
            | Stmt::Begin { .. }
            | Stmt::For { .. }
            | Stmt::Strip { .. }
            | Stmt::Reduce(_)
            | Stmt::Stream(_)
            | Stmt::Contract(_)
            | Stmt::FoldRows(_)
            | Stmt::Repeat(_)
            | Stmt::Sort(_)
            | Stmt::Transpose { .. }
            | Stmt::Deinterleave { .. }
            | Stmt::Gather { .. } => None,
        }
    }

    /// Returns the rows that the statement itself uses, read rows first, in a kernel with these values.
    pub fn rows(&self, values: &[Value]) -> SmallVec<[(RowId, RowUse); 4]> {
        match self {
            Stmt::Let(value) => match values[value.index()].def {
                Def::Row(row, _) => smallvec![(row, RowUse::Read)],
                _ => smallvec![],
            },
            Stmt::Put { row, axis, .. } => smallvec![(*row, RowUse::Put(*axis))],
            Stmt::Transpose { row, .. } | Stmt::Gather { row, .. } => smallvec![(*row, RowUse::Write)],
            Stmt::Deinterleave { row, source, .. } => {
                smallvec![(*source, RowUse::Read), (*row, RowUse::Write)]
            }
            Stmt::Call { target, args, .. } => {
                let read = args.iter().filter_map(|arg| Some((arg.row()?, RowUse::Read)));
                read.chain(target.row().map(|row| (row, RowUse::Write))).collect()
            }
            Stmt::Begin { row, .. } => smallvec![(*row, RowUse::Write)],
            Stmt::Scan { target, source, state, .. } => {
                let read = source.row().into_iter().chain([*state]).map(|row| (row, RowUse::Read));
                let written = target.row().into_iter().chain([*state]).map(|row| (row, RowUse::Write));
                read.chain(written).collect()
            }
            Stmt::Stream(stream) => {
                let rows = stream.accumulators.iter().flat_map(StreamAccumulator::rows);
                rows.map(|row| (row, RowUse::Accumulate)).collect()
            }
            Stmt::Contract(contract) => {
                contract.accumulators.iter().map(|entry| (entry.target, RowUse::Accumulate)).collect()
            }
            Stmt::FoldRows(fold) => {
                let read = fold.folded.iter().map(|entry| (entry.from, RowUse::Read));
                let kept = fold.folded.iter().flat_map(Folded::rows).map(|row| (row, RowUse::Accumulate));
                read.chain(kept).collect()
            }
            Stmt::Best(Best { source, values, indices, .. })
            | Stmt::BestRows(BestRows { source, values, indices, .. }) => {
                let read = source.row().map(|row| (row, RowUse::Read));
                [*values, *indices].map(|row| (row, RowUse::Accumulate)).into_iter().chain(read).collect()
            }
            Stmt::Store { .. }
            | Stmt::Scatter { .. }
            | Stmt::For { .. }
            | Stmt::Strip { .. }
            | Stmt::Sort(_)
            | Stmt::Repeat(_)
            | Stmt::Reduce(_) => smallvec![],
        }
    }
}

/// Returns the rows that statements fill, in a kernel with these values.
fn filled(body: &[Stmt], values: &[Value]) -> impl Iterator<Item = RowId> {
    let used = statements(body).flat_map(|stmt| stmt.rows(values));
    used.filter(|(_, used)| *used != RowUse::Read).map(|(row, _)| row)
}

impl Contract {
    /// Returns the rows that the prologue fills, in a kernel with these values.
    pub fn filled(&self, values: &[Value]) -> impl Iterator<Item = RowId> {
        filled(&self.prologue, values)
    }

    /// Returns the rows over the block, one for each step of the other axis, in a kernel with these values.
    pub fn filled_beside(&self, values: &[Value]) -> impl Iterator<Item = RowId> {
        filled(&self.rows_prologue, values)
    }
}

impl Folded {
    /// Returns the rows that it writes: those of the combined results, and of the lanes.
    pub fn rows(&self) -> impl Iterator<Item = RowId> {
        std::iter::once(self.target).chain(self.lanes)
    }
}

impl StreamAccumulator {
    /// Returns its rows: the state, those of the fixed tree, and the result, which may be the state.
    pub fn rows(&self) -> impl Iterator<Item = RowId> {
        let tree = self.tree.into_iter().flat_map(|tree| [tree.lanes, tree.ranks]);
        let target = (!self.state.contains(&self.target)).then_some(self.target);
        self.state.iter().copied().chain(tree).chain(target)
    }
}

impl Def {
    /// Returns the values that it is computed from.
    pub fn operands(&self) -> SmallVec<[ValueId; 3]> {
        match self {
            Def::Op { args, .. } => args.clone(),
            Def::Select(args) => SmallVec::from_slice(args),
            Def::Cast(arg) => smallvec![*arg],
            Def::Take { index, .. } | Def::Checked { index, .. } => smallvec![*index],
            Def::Search { value, .. } => smallvec![*value],
            Def::Constant(_)
            | Def::Param(_)
            | Def::Index(_)
            | Def::Load { .. }
            | Def::Row(..)
            | Def::Reduced => smallvec![],
        }
    }

    /// Returns the same definition of other values.
    #[must_use]
    pub fn map_operands(mut self, mut map: impl FnMut(ValueId) -> ValueId) -> Def {
        let operands: &mut [ValueId] = match &mut self {
            Def::Op { args, .. } => args,
            Def::Select(args) => args,
            Def::Cast(arg) => std::slice::from_mut(arg),
            Def::Take { index, .. } | Def::Checked { index, .. } => std::slice::from_mut(index),
            Def::Search { value, .. } => std::slice::from_mut(value),
            Def::Constant(_)
            | Def::Param(_)
            | Def::Index(_)
            | Def::Load { .. }
            | Def::Row(..)
            | Def::Reduced => &mut [],
        };
        operands.iter_mut().for_each(|operand| *operand = map(*operand));
        self
    }

    /// Returns whether code may report that the value has no result, with its position and its expression.
    pub fn is_reported(&self) -> bool {
        self.accesses().iter().any(|(_, used)| *used == Use::Position)
    }

    /// Returns the accesses that it uses.
    pub fn accesses(&self) -> SmallVec<[(AccessId, Use); 2]> {
        match self {
            Def::Load { access, delta } => smallvec![(*access, Use::Read(*delta))],
            Def::Take { access, position, .. } => {
                let position = position.map(|position| (position, Use::Position));
                [(*access, Use::ReadAny)].into_iter().chain(position).collect()
            }
            Def::Search { access, .. } => smallvec![(*access, Use::ReadAny)],
            Def::Op { position, .. } => position.iter().map(|access| (*access, Use::Position)).collect(),
            Def::Checked { position, .. } => {
                position.iter().map(|position| (*position, Use::Position)).collect()
            }
            Def::Constant(_)
            | Def::Param(_)
            | Def::Index(_)
            | Def::Row(..)
            | Def::Select(_)
            | Def::Cast(_)
            | Def::Reduced => smallvec![],
        }
    }
}

impl Contribution {
    /// Returns whether an index comes with the value, so that the first of equal elements counts.
    pub fn is_indexed(&self) -> bool {
        matches!(self, Contribution::Indexed { .. })
    }

    /// Returns the values that an element contributes.
    pub fn operands(&self) -> SmallVec<[ValueId; 3]> {
        match self {
            Contribution::Value(value) | Contribution::Count(value) => smallvec![*value],
            Contribution::Product(x, y) => smallvec![*x, *y],
            Contribution::Indexed { value, index, .. } => std::iter::once(*value).chain(*index).collect(),
        }
    }

    /// Returns the same contribution of other values.
    #[must_use]
    pub fn map_operands(self, mut map: impl FnMut(ValueId) -> ValueId) -> Contribution {
        match self {
            Contribution::Value(value) => Contribution::Value(map(value)),
            Contribution::Count(value) => Contribution::Count(map(value)),
            Contribution::Product(x, y) => Contribution::Product(map(x), map(y)),
            Contribution::Indexed { value, index, narrow } => {
                Contribution::Indexed { value: map(value), index: index.map(map), narrow }
            }
        }
    }
}
