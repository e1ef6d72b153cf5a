//! The steps of a loop inside a kernel: a kernel that makes one step in place becomes one that takes many.
//!
//! ```text
//! for n vector 16 {                          for n vector 16 {
//!   v0 = load h[n]                             v0 = load h[n]
//!   v1 = load x[n]                             repeat steps {
//!   v2 = ..                           ──▶        v1 = load x[steps by stride, n]
//!   store h[n] <- v2                             v2 = ..
//!   store ys[n] <- v2                            store ys[steps by stride, n] <- v2
//! }                                            }
//!                                              store h[n] <- v2
//!                                            }
//! ```
//!
//! What the loop carries stays in registers from step to step, and nothing is called for a step. The results are the same: each
//! element goes through its own steps in their order, and no step of the parallel axis reads what another one writes.

use crate::kernel::*;
use crate::verify::{Broken, verify};
use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use smallvec::smallvec;
use std::collections::HashSet;

/// What an input or output of a step is to the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepArray {
    /// An array that is the same in each step.
    Fixed,
    /// The number of the step: an i64.
    Counter,
    /// The carried value with this number, which a step changes in its place.
    Carried(usize),
    /// A row for each step, which is read or written.
    Row,
}

/// A schedule whose only kernel takes many steps.
#[derive(Debug, Clone)]
pub struct Steps {
    /// The schedule. Arrays of rows have one more axis, the first, over the steps of a call.
    pub schedule: Schedule,
    /// After the [params](Kernel::params) of the kernel for one step, this one has the number of steps, the number of steps before
    /// them, and the distance of rows of each of these arrays, in elements.
    pub rows: Vec<BufferId>,
}

/// Returns the schedule that takes many steps of one that makes a step in place, if that has a single kernel which computes nothing
/// but values along the axis that threads share.
///
/// # Errors
/// Returns the promise that the schedule breaks: a bug.
pub fn steps(
    schedule: &Schedule,
    inputs: &[StepArray],
    outputs: &[StepArray],
) -> Result<Option<Steps>, Broken> {
    let made = Steps::of(schedule, inputs, outputs);
    made.map(|made| verify(&made.schedule).map(|()| made)).transpose()
}

/// An element of a carried value, for each step of the parallel axis.
struct Slot {
    /// The access that stores it, and the distance from there.
    place: (AccessId, i64),
    next: ValueId,
}

impl Steps {
    fn of(schedule: &Schedule, inputs: &[StepArray], outputs: &[StepArray]) -> Option<Steps> {
        let [kernel] = schedule.kernels.as_slice() else { return None };
        let of_buffer: Vec<StepArray> = schedule
            .buffers
            .iter()
            .map(|buffer| match buffer.role {
                Role::Input(input) => inputs.get(input.index()).copied(),
                Role::Output(output) => outputs.get(output).copied(),
                Role::Temporary => None,
            })
            .collect::<Option<_>>()?;
        if !kernel.rows.is_empty() || !kernel.counted.is_empty() || kernel.scanned.is_some() {
            return None;
        }
        let body = innermost(&kernel.body)?;
        let is_plain = |stmt: &Stmt| match stmt {
            Stmt::Let(value) => !kernel.values[value.index()].def.is_reported(),
            Stmt::Store { access, .. } => !kernel.accesses[access.index()].streams,
            _ => false,
        };
        if !body.iter().all(is_plain) {
            return None;
        }
        let maker = Maker { schedule: schedule.clone(), kernel: kernel.clone(), of_buffer, rows: Vec::new() };
        let (Maker { mut schedule, mut kernel, rows, of_buffer }, body) = maker.body(&body)?;
        kernel.body = with_innermost(kernel.body, body);
        let steps = schedule.host_symbols.iter().position(|symbol| *symbol == HostSymbol::Steps)?;
        let steps = Dim::symbol(SymbolId::new(schedule.symbols.len() + steps));
        for (buffer, array) in schedule.buffers.iter_mut().zip(&of_buffer) {
            if *array == StepArray::Row {
                let sizes: Vec<Dim> = std::iter::once(&steps).chain(buffer.shape.iter()).cloned().collect();
                buffer.shape = sizes.into();
            }
        }
        schedule.kernels = vec![kernel];
        Some(Steps { schedule, rows })
    }
}

/// Returns the statements of nested loops, in the innermost of them: each level computes values before the next one.
fn innermost(body: &[Stmt]) -> Option<Vec<Stmt>> {
    let Some((Stmt::For { body: inside, .. }, values)) = body.split_last() else {
        return Some(body.to_vec());
    };
    let are_values = values.iter().all(|stmt| matches!(stmt, Stmt::Let(_)));
    are_values.then_some(())?;
    Some([values, &innermost(inside)?].concat())
}

/// Returns nested loops with other statements in the innermost of them.
fn with_innermost(mut body: Vec<Stmt>, inside: Vec<Stmt>) -> Vec<Stmt> {
    match body.pop() {
        Some(Stmt::For { axis, lanes, body }) => {
            vec![Stmt::For { axis, lanes, body: with_innermost(body, inside) }]
        }
        _ => inside,
    }
}

struct Maker {
    schedule: Schedule,
    kernel: Kernel,
    of_buffer: Vec<StepArray>,
    /// The arrays of rows that are used.
    rows: Vec<BufferId>,
}

impl Maker {
    /// A param for a quantity of the host.
    fn param(&mut self, symbol: HostSymbol) -> ParamId {
        let id = SymbolId::new(self.schedule.symbols.len() + self.schedule.host_symbols.len());
        self.schedule.host_symbols.push(symbol);
        self.kernel.params.push(Dim::symbol(id));
        ParamId::new(self.kernel.params.len() - 1)
    }

    fn value(&mut self, dtype: DType, def: Def, like: ValueId) -> ValueId {
        let origin = self.kernel.values[like.index()].origin;
        self.kernel.values.push(Value { dtype, def, origin });
        ValueId::new(self.kernel.values.len() - 1)
    }

    fn array(&self, access: AccessId) -> Option<StepArray> {
        let buffer = self.kernel.accesses[access.index()].buffer?;
        Some(self.of_buffer[buffer.index()])
    }

    /// Returns the elements of carried values that a step changes. All accesses to one of these values are at the same place, but for
    /// a constant distance. Each element is stored once, so what a step of the loops reads where it stores is its own.
    fn slots(&self, body: &[Stmt]) -> Option<Vec<Slot>> {
        let mut places: Vec<(usize, AccessId)> = Vec::new();
        let mut slots: Vec<Slot> = Vec::new();
        for stmt in body {
            for (access, _) in stmt.accesses(&self.kernel.values) {
                let Some(StepArray::Carried(number)) = self.array(access) else { continue };
                let at = |access: AccessId| &self.kernel.accesses[access.index()];
                match places.iter().find(|(of, _)| *of == number) {
                    Some((_, other)) if at(*other).strides != at(access).strides => return None,
                    Some((_, other)) if at(*other).offset != at(access).offset => return None,
                    Some(_) => {}
                    None => places.push((number, access)),
                }
            }
            let Stmt::Store { access, delta, value } = stmt else { continue };
            match self.array(*access)? {
                StepArray::Row => {}
                StepArray::Carried(_) => {
                    if slots.iter().any(|slot| self.is_at(slot.place, (*access, *delta))) {
                        return None;
                    }
                    slots.push(Slot { place: (*access, *delta), next: *value });
                }
                StepArray::Fixed | StepArray::Counter => return None,
            }
        }
        // Of a value that changes, nothing else is read.
        let is_own = |stmt: &Stmt| {
            let Stmt::Let(id) = stmt else { return true };
            let Def::Load { access, delta } = self.kernel.values[id.index()].def else { return true };
            let Some(StepArray::Carried(_)) = self.array(access) else { return true };
            let mut changed =
                slots.iter().filter(|slot| self.array(slot.place.0) == self.array(access)).peekable();
            changed.peek().is_none() || changed.any(|slot| self.is_at(slot.place, (access, delta)))
        };
        body.iter().all(is_own).then_some(slots)
    }

    /// Returns whether two places are of the same element of a carried value.
    fn is_at(&self, one: (AccessId, i64), other: (AccessId, i64)) -> bool {
        let carried = |(access, _): (AccessId, i64)| match self.array(access) {
            Some(StepArray::Carried(number)) => Some(number),
            _ => None,
        };
        carried(one).is_some() && carried(one) == carried(other) && one.1 == other.1
    }

    /// Lets the steps move the arrays of rows.
    fn move_rows(&mut self, axis: AxisId) {
        for symbol in &mut self.schedule.host_symbols {
            if let HostSymbol::Stride { buffer, axis } = symbol
                && self.of_buffer[buffer.index()] == StepArray::Row
            {
                *axis += 1;
            }
        }
        let mut strides: Vec<(BufferId, ParamId)> = Vec::new();
        for access in 0..self.kernel.accesses.len() {
            let Some(buffer) = self.kernel.accesses[access].buffer else { continue };
            if self.of_buffer[buffer.index()] != StepArray::Row {
                continue;
            }
            let known = strides.iter().find(|(of, _)| *of == buffer).map(|(_, param)| *param);
            let param = known.unwrap_or_else(|| {
                let param = self.param(HostSymbol::Stride { buffer, axis: 0 });
                strides.push((buffer, param));
                param
            });
            self.kernel.accesses[access].strides.push((axis, Stride::Param(param)));
        }
        self.rows = strides.into_iter().map(|(buffer, _)| buffer).collect();
    }

    /// Makes the statements that take all steps of those that make one.
    fn body(mut self, body: &[Stmt]) -> Option<(Self, Vec<Stmt>)> {
        let slots = self.slots(body)?;
        let (steps, before) = (self.param(HostSymbol::Steps), self.param(HostSymbol::StepsBefore));
        let axis = AxisId::new(self.kernel.axes.len());
        self.kernel.axes.push(Axis {
            name: "steps".to_string(),
            extent: Extent::Param(steps),
            reduction: false,
            groups: smallvec![],
            stretched: None,
        });
        self.move_rows(axis);
        let mut made = Made::default();
        for stmt in body {
            match stmt {
                Stmt::Let(id) => match self.kernel.values[id.index()].def {
                    Def::Load { access, delta }
                        if let Some(slot) =
                            slots.iter().find(|slot| self.is_at(slot.place, (access, delta))) =>
                    {
                        self.carry(&mut made, slot, Some(*id));
                    }
                    Def::Load { access, .. } if self.array(access) == Some(StepArray::Counter) => {
                        self.count(&mut made, *id, axis, before);
                    }
                    _ => self.compute(&mut made, *id)?,
                },
                Stmt::Store { access, .. } if self.array(*access) == Some(StepArray::Row) => {
                    made.sees_steps = true;
                    made.inside.push(stmt.clone());
                }
                // Elements of carried values are stored after the last step.
                _ => {}
            }
        }
        for slot in &slots {
            if made.last_of(slot).is_none() {
                self.carry(&mut made, slot, None);
            }
        }
        let last = slots.iter().map(|slot| {
            let (access, delta) = slot.place;
            Some(Stmt::Store { access, delta, value: made.last_of(slot)? })
        });
        let last: Vec<Stmt> = last.collect::<Option<_>>()?;
        let Made { mut first, inside, carried, sees_steps, .. } = made;
        let carried = carried.into_iter().map(|(_, carried)| carried).collect();
        first.push(Stmt::Repeat(Repeat { axis, carried, body: inside, settles: !sees_steps }));
        first.extend(last);
        Some((self, first))
    }

    /// Carries an element, which a step reads as a value, or not at all.
    fn carry(&mut self, made: &mut Made, slot: &Slot, read: Option<ValueId>) {
        let like = read.unwrap_or(slot.next);
        let dtype = self.kernel.values[like.index()].dtype;
        let (access, delta) = match read.map(|id| self.kernel.values[id.index()].def.clone()) {
            Some(Def::Load { access, delta }) => (access, delta),
            _ => slot.place,
        };
        let initial = self.value(dtype, Def::Load { access, delta }, like);
        let last = self.value(dtype, Def::Reduced, like);
        let before = match read {
            Some(id) => {
                self.kernel.values[id.index()].def = Def::Reduced;
                id
            }
            None => self.value(dtype, Def::Reduced, like),
        };
        made.first.push(Stmt::Let(initial));
        made.changing.insert(before);
        made.carried.push((slot.place, Carried { initial, before, next: slot.next, last }));
    }

    /// Makes a value the number of the step.
    fn count(&mut self, made: &mut Made, id: ValueId, axis: AxisId, before: ParamId) {
        let index = self.value(DType::I64, Def::Index(axis), id);
        let begun = self.value(DType::I64, Def::Param(before), id);
        let args = smallvec![begun, index];
        self.kernel.values[id.index()].def = Def::Op { op: Op::Add, args, position: None };
        made.first.push(Stmt::Let(begun));
        made.inside.extend([Stmt::Let(index), Stmt::Let(id)]);
        made.changing.insert(id);
        made.sees_steps = true;
    }

    /// Computes a value in each step, or before them if it is the same in all. `None` if it reads elements that data choose of what
    /// stays in registers.
    fn compute(&self, made: &mut Made, id: ValueId) -> Option<()> {
        let def = &self.kernel.values[id.index()].def;
        let mut is_changing = def.operands().iter().any(|operand| made.changing.contains(operand));
        for (access, _) in def.accesses() {
            match self.array(access)? {
                StepArray::Row => {
                    made.sees_steps = true;
                    is_changing = true;
                }
                StepArray::Counter | StepArray::Carried(_) if !matches!(def, Def::Load { .. }) => {
                    return None;
                }
                StepArray::Counter | StepArray::Carried(_) | StepArray::Fixed => {}
            }
        }
        match is_changing {
            true => {
                made.changing.insert(id);
                made.inside.push(Stmt::Let(id));
            }
            false => made.first.push(Stmt::Let(id)),
        }
        Some(())
    }
}

/// The statements of all steps, as far as they are made.
#[derive(Default)]
struct Made {
    /// What is the same in all steps.
    first: Vec<Stmt>,
    /// What is done in each step.
    inside: Vec<Stmt>,
    /// What is carried, with its place.
    carried: Vec<((AccessId, i64), Carried)>,
    /// The values that change from step to step.
    changing: HashSet<ValueId>,
    /// Whether they change because of anything but what is carried.
    sees_steps: bool,
}

impl Made {
    /// Returns the value of an element after the last step.
    fn last_of(&self, slot: &Slot) -> Option<ValueId> {
        let found = self.carried.iter().find(|(place, _)| *place == slot.place);
        found.map(|(_, carried)| carried.last)
    }
}
