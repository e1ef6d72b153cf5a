//! Decides whether a kernel may write an output over the input that it replaces.
//!
//! It may if every element of the input is read for the last time before it is written. A run executes kernels in
//! order, and a kernel's statements in the order of the text, for each step of the loops around them. So every read
//! of the input that is not in an earlier kernel must satisfy these conditions:
//!
//! * it comes before the store, in the same kernel;
//! * every loop around both, and the axis that threads share, moves both in the same way, so that another step of
//!   those reads other elements;
//! * inside those loops it reads at most what the store writes: its other axes have the strides and lengths of axes
//!   of the store, and both start at the same element.
//!
//! * in an earlier kernel that runs together with the writer, for a few rows at a time, it reads by rows.
//!
//! An output that starts as its input is written in pieces, by one kernel or several. There every read is compared with every
//! store. A read that is not in an earlier kernel must be of the same element in the same step, as above, or in another part
//! of the array: before all elements of the store, after them, or beside them on an axis.
//!
//! Several stores may write the elements of short rows, one after the other, by the same access: each read belongs to
//! the store of the same element of the row. The stores reach every element once, so equal addresses mean equal steps of
//! the common loops. This proves elementwise updates safe, and updates of whole rows of a table such as a softmax. It does
//! not accept a transpose, a shift, or `x - x.mean(..)` over many rows.

use crate::band::{Known, is_by_rows};
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::{InputId, SymbolId};
use std::collections::BTreeMap;
use std::fmt;

/// How many rows apart the parts of an array are compared.
const ROWS_APART: i64 = 3;

/// The reason why an output is not written over its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hazard {
    /// Several stores write it, or its kernel repeats the store.
    Pieces,
    /// A kernel reads the input after it is written.
    Later(KernelId),
    /// The kernel reads elements of the input that another step has written.
    Elsewhere(KernelId),
    /// The kernel reads an element of the input again after it is written.
    Again(KernelId),
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hazard::Pieces => f.write_str("it is written in several pieces"),
            Hazard::Later(kernel) => {
                write!(f, "{kernel} reads the old values after they would be overwritten")
            }
            Hazard::Elsewhere(kernel) => write!(f, "{kernel} reads other elements than it writes"),
            Hazard::Again(kernel) => write!(f, "{kernel} reads an element again after it is written"),
        }
    }
}

/// Checks whether the schedule may run with the array of `input` in place of that of `output`, in the same layout.
///
/// # Errors
/// Returns the first reason against it.
pub fn in_place(schedule: &Schedule, output: usize, input: InputId) -> Result<(), Hazard> {
    let of = |role: Role| schedule.buffers.iter().position(|buffer| buffer.role == role).map(BufferId::new);
    let (Some(target), Some(source)) = (of(Role::Output(output)), of(Role::Input(input))) else {
        return Err(Hazard::Pieces);
    };
    let strides = equal_strides(schedule, target, source);
    let walks: Vec<Walk<'_>> =
        schedule.kernels.iter().map(|kernel| Walk::of(kernel, target, source)).collect();
    if schedule.buffers[target.index()].starts_as.is_some() {
        return in_pieces(schedule, [source, target], &walks, &strides);
    }
    let mut writers = (0..walks.len()).filter(|kernel| !walks[*kernel].stores.is_empty());
    let (Some(writer), None) = (writers.next(), writers.next()) else { return Err(Hazard::Pieces) };
    if let Some(later) = (writer + 1..walks.len()).find(|kernel| !walks[*kernel].reads.is_empty()) {
        return Err(Hazard::Later(KernelId::new(later)));
    }
    let id = KernelId::new(writer);
    // Kernels that run together take turns: those before the writer read later rows after it has written earlier ones.
    let mut with_it = schedule.bands.iter().flat_map(|band| band.with(id));
    let is_hazard = |other: &KernelId| {
        let is_read = *other != id && !walks[other.index()].reads.is_empty();
        let uses = [(*other, source), (id, target)];
        let is_alike = uses.into_iter().all(|(kernel, array)| is_by_rows_of(schedule, kernel, array));
        is_read && !is_alike
    };
    if let Some(other) = with_it.find(is_hazard) {
        return Err(Hazard::Elsewhere(other));
    }
    let Walk { kernel, stores, reads, .. } = &walks[writer];
    // By the place of the element in its row.
    let mut written: BTreeMap<i64, (Address, usize)> = BTreeMap::new();
    for store in stores {
        let is_alike = |first: &Touch| {
            first.loops == store.loops && first.access.map(|(of, _)| of) == store.access.map(|(of, _)| of)
        };
        let Some(address) = store.address(kernel, &strides) else { return Err(Hazard::Pieces) };
        let around = store.loops.iter().map(|(_, axis)| *axis).chain(kernel.parallel);
        let is_moved = around.into_iter().all(|axis| address.stride(axis).is_some());
        if !is_moved
            || !is_alike(&stores[0])
            || written.insert(address.delta, (address, store.position)).is_some()
        {
            return Err(Hazard::Pieces);
        }
    }
    for read in reads {
        let Some(address) = read.address(kernel, &strides) else { return Err(Hazard::Elsewhere(id)) };
        let Some((written, position)) = written.get(&address.delta) else {
            return Err(Hazard::Elsewhere(id));
        };
        let common = read.loops.iter().filter(|around| stores[0].loops.contains(around));
        let common = common.map(|(_, axis)| *axis).chain(kernel.parallel);
        if !address.within(written, &common.collect::<Vec<_>>()) {
            return Err(Hazard::Elsewhere(id));
        }
        if read.position > *position {
            return Err(Hazard::Again(id));
        }
    }
    Ok(())
}

/// Checks whether kernels may write pieces of an array over an array that they read.
fn in_pieces(
    schedule: &Schedule,
    [source, target]: [BufferId; 2],
    walks: &[Walk<'_>],
    strides: &[(SymbolId, SymbolId)],
) -> Result<(), Hazard> {
    let contents = BTreeMap::new();
    let known = Known { symbols: &schedule.symbols, conditions: &schedule.conditions, contents: &contents };
    for (writer, written) in walks.iter().enumerate() {
        for store in &written.stores {
            let address = store.address(written.kernel, strides).ok_or(Hazard::Pieces)?;
            let mut around = store.loops.iter().map(|(_, axis)| *axis).chain(written.kernel.parallel);
            let is_moved = around.all(|axis| address.stride(axis).is_some());
            for (reader, read) in walks.iter().enumerate() {
                let (from, to) = (KernelId::new(reader), KernelId::new(writer));
                let takes_turns = reader != writer
                    && schedule.bands.iter().any(|band| band.with(to).any(|other| other == from));
                let by_rows = |(kernel, array)| is_by_rows_of(schedule, kernel, array);
                let is_before = reader < writer
                    && (!takes_turns || [(from, source), (to, target)].into_iter().all(by_rows));
                if is_before {
                    continue;
                }
                for each in &read.reads {
                    let hazard = if reader > writer { Hazard::Later(from) } else { Hazard::Elsewhere(from) };
                    let place = each.address(read.kernel, strides).ok_or(hazard)?;
                    if address.is_apart_from(&place, known) {
                        continue;
                    }
                    let common = each.loops.iter().filter(|around| store.loops.contains(around));
                    let common: Vec<AxisId> =
                        common.map(|(_, axis)| *axis).chain(written.kernel.parallel).collect();
                    if reader != writer || !is_moved || !place.within(&address, &common) {
                        return Err(hazard);
                    }
                    if each.position > store.position {
                        return Err(Hazard::Again(from));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns whether a kernel uses all of an array by rows.
fn is_by_rows_of(schedule: &Schedule, kernel: KernelId, buffer: BufferId) -> bool {
    let contents = BTreeMap::new();
    let known = Known { symbols: &schedule.symbols, conditions: &schedule.conditions, contents: &contents };
    let elements = schedule.buffers[buffer.index()].shape.elements();
    let kernel = &schedule.kernels[kernel.index()];
    elements.is_ok_and(|elements| is_by_rows(kernel, buffer, &elements, known))
}

/// Maps the symbols of the strides of one array to those of the other.
fn equal_strides(schedule: &Schedule, target: BufferId, source: BufferId) -> Vec<(SymbolId, SymbolId)> {
    let symbol = |index: usize| SymbolId::new(schedule.symbols.len() + index);
    let hosts = || schedule.host_symbols.iter().enumerate();
    let of_source = |axis: usize| {
        hosts()
            .find(|(_, host)| **host == HostSymbol::Stride { buffer: source, axis })
            .map(|(index, _)| symbol(index))
    };
    let pair = |(index, host): (usize, &HostSymbol)| match host {
        HostSymbol::Stride { buffer, axis } if *buffer == target => Some((symbol(index), of_source(*axis)?)),
        HostSymbol::Stride { .. }
        | HostSymbol::GroupCount(_)
        | HostSymbol::GroupLength(_)
        | HostSymbol::Rows(_) => None,
    };
    hosts().filter_map(pair).collect()
}

/// A statement that reads the input or writes the output.
struct Touch {
    /// Its position in the text of the kernel.
    position: usize,
    /// The loops around it: their positions in the text and their axes.
    loops: Vec<(usize, AxisId)>,
    /// How it addresses the array; `None` for any element.
    access: Option<(AccessId, i64)>,
}

/// An address as a function of axes, in terms of the strides of the input.
struct Address {
    offset: Dim,
    delta: i64,
    /// Each axis with its stride and length.
    axes: Vec<(AxisId, Dim, Dim)>,
}

impl Touch {
    fn address(&self, kernel: &Kernel, strides: &[(SymbolId, SymbolId)]) -> Option<Address> {
        let (access, delta) = self.access?;
        let access = &kernel.accesses[access.index()];
        let common = |dim: &Dim| {
            strides.iter().try_fold(dim.clone(), |dim, (target, source)| {
                dim.substitute(*target, &Dim::symbol(*source)).ok()
            })
        };
        let axis = |(axis, stride): &(AxisId, Stride)| {
            let stride = common(&kernel.elements(*stride))?;
            let entry = &kernel.axes[axis.index()];
            entry.groups.is_empty().then(|| (*axis, stride, kernel.size(entry.extent)))
        };
        let axes = access.strides.iter().map(axis).collect::<Option<Vec<_>>>()?;
        Some(Address { offset: common(&access.offset)?, delta, axes })
    }
}

impl Address {
    fn stride(&self, axis: AxisId) -> Option<&Dim> {
        self.axes.iter().find(|(of, ..)| *of == axis).map(|(_, stride, _)| stride)
    }

    /// Returns the least and the greatest number that some axes and the start add, if their strides are not negative.
    fn span(&self, axes: impl Fn(&Dim) -> bool, known: Known<'_>) -> Option<[Dim; 2]> {
        let first = self.offset.add(&Dim::constant(self.delta)).ok()?;
        let mut last = first.clone();
        for (_, stride, length) in self.axes.iter().filter(|(_, stride, _)| axes(stride)) {
            if !known.is_size(stride) {
                return None;
            }
            last = last.add(&stride.mul(&length.sub(&Dim::ONE).ok()?).ok()?).ok()?;
        }
        Some([first, last])
    }

    /// Returns whether two addresses are never the same, in any steps: one is before the other, or they are beside each
    /// other in the rows of an axis, which is a number of elements that both move by.
    fn is_apart_from(&self, other: &Address, known: Known<'_>) -> bool {
        let is_less = |x: &Dim, y: &Dim| {
            let more = y.sub(x).and_then(|more| more.sub(&Dim::ONE));
            more.is_ok_and(|more| known.is_size(&more))
        };
        let is_before = |[_, last]: &[Dim; 2], [first, _]: &[Dim; 2]| is_less(last, first);
        let spans = (self.span(|_| true, known), other.span(|_| true, known));
        if let (Some(one), Some(two)) = &spans
            && (is_before(one, two) || is_before(two, one))
        {
            return true;
        }
        self.axes.iter().any(|(_, row, _)| {
            let is_within = |stride: &Dim| stride.exact_div(row).is_none();
            let (Some([a, b]), Some([c, d])) = (self.span(is_within, known), other.span(is_within, known))
            else {
                return false;
            };
            let (Ok(least), Ok(greatest)) = (a.sub(&d), b.sub(&c)) else { return false };
            // Some multiple of the row is below all differences, and the next one above them.
            (-ROWS_APART..ROWS_APART).any(|rows| {
                let multiples = [row.scale(rows), row.scale(rows + 1)];
                let [Ok(below), Ok(above)] = multiples else { return false };
                is_less(&below, &least) && is_less(&greatest, &above)
            })
        })
    }

    /// Returns whether `written` also takes this address in the same step of all `common` axes, for every step.
    fn within(&self, written: &Address, common: &[AxisId]) -> bool {
        let moved_alike =
            |axis: &AxisId| self.stride(*axis).is_some() && self.stride(*axis) == written.stride(*axis);
        if self.offset != written.offset || self.delta != written.delta || !common.iter().all(moved_alike) {
            return false;
        }
        let mut free: Vec<&(AxisId, Dim, Dim)> =
            written.axes.iter().filter(|(axis, ..)| !common.contains(axis)).collect();
        self.axes.iter().filter(|(axis, ..)| !common.contains(axis)).all(|(_, stride, length)| {
            let alike = free.iter().position(|(_, other, long)| (other, long) == (stride, length));
            alike.map(|place| free.swap_remove(place)).is_some()
        })
    }
}

/// The uses of the two arrays in a kernel, in the order of its text.
struct Walk<'k> {
    kernel: &'k Kernel,
    target: BufferId,
    source: BufferId,
    position: usize,
    loops: Vec<(usize, AxisId)>,
    stores: Vec<Touch>,
    reads: Vec<Touch>,
}

impl<'k> Walk<'k> {
    fn of(kernel: &'k Kernel, target: BufferId, source: BufferId) -> Self {
        let (stores, reads) = (Vec::new(), Vec::new());
        let mut walk = Walk { kernel, target, source, position: 0, loops: Vec::new(), stores, reads };
        walk.body(&kernel.body);
        walk
    }

    fn is_of(&self, access: AccessId, buffer: BufferId) -> bool {
        self.kernel.accesses[access.index()].buffer == Some(buffer)
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.position += 1;
            for (access, used) in stmt.accesses(&self.kernel.values) {
                let delta = match used {
                    Use::Read(delta) | Use::Write(delta) => Some(delta),
                    Use::ReadAny | Use::Combine | Use::Position => None,
                };
                let touch = || Touch {
                    position: self.position,
                    loops: self.loops.clone(),
                    access: delta.map(|delta| (access, delta)),
                };
                if used.reads() && self.is_of(access, self.source) {
                    self.reads.push(touch());
                }
                if used.writes() && self.is_of(access, self.target) {
                    self.stores.push(touch());
                }
            }
            if let Some(each) = stmt.as_loop() {
                self.looped(&each);
            }
        }
    }

    fn looped(&mut self, each: &Loop<'_>) {
        self.loops.push((self.position, each.axis));
        each.bodies.iter().for_each(|body| self.body(body));
        if let Some(inner) = &each.inner {
            self.position += 1;
            self.looped(inner);
        }
        self.loops.pop();
    }
}
