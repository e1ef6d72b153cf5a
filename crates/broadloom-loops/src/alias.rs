//! Decides whether kernels may write an output over the input that it replaces, and a version of an array over the one before.
//!
//! It may if every element of the input is read for the last time before it is written. A run executes kernels in
//! order, and a kernel's statements in the order of the text, for each step of the loops around them. So every read
//! of the input that is not in an earlier kernel must satisfy these conditions:
//!
//! * it comes before the store, in the same kernel;
//! * every loop around both, and each axis that threads share, moves both in the same way, so that another step of
//!   those reads other elements;
//! * inside those loops it reads at most what the store writes: its other axes have the strides and lengths of axes
//!   of the store, and both start at the same element;
//! * in an earlier kernel that runs together with the writer, for a few rows at a time, it reads by rows.
//!
//! Arrays that start as each other are versions of one array, each written in pieces, by one kernel or several. Every read of
//! a version is compared with every store to a later one. A read that is not in an earlier kernel must be of the same element
//! in the same step, as above, or in another part of the array: before all elements of the store, after them, or beside them
//! on an axis.
//!
//! Several stores may write the elements of short rows, one after the other, by the same access: each read belongs to
//! the store of the same element of the row. The stores reach every element once, so equal addresses mean equal steps of
//! the common loops. This proves elementwise updates safe, and updates of whole rows of a table such as a softmax. It does
//! not accept a transpose, a shift, or `x - x.mean(..)` over many rows.

use crate::band::{Known, is_by_rows};
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::{InputId, SymbolId};
use std::fmt;

/// How many rows apart the parts of an array are compared.
const ROWS_APART: i64 = 3;

/// The reason why an output is not written over its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hazard {
    /// Data or the number of threads tell which elements are written.
    Unknown,
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
            Hazard::Unknown => {
                f.write_str("which of its elements a kernel writes is known only when it runs")
            }
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
        return Err(Hazard::Unknown);
    };
    let mut versions = schedule.versions(target);
    if versions[0] != source {
        versions.insert(0, source);
    }
    hazards(schedule, &versions).into_iter().next().map_or(Ok(()), |(_, hazard)| Err(hazard))
}

/// Returns those of some versions of an array, earliest first, that overwrite what is read afterwards, with the reasons.
pub(crate) fn hazards(schedule: &Schedule, versions: &[BufferId]) -> Vec<(BufferId, Hazard)> {
    let (Some(first), Some(last)) = (versions.first(), versions.last()) else { return Vec::new() };
    let of_schedule = Versions {
        kernels: &schedule.kernels.iter().collect::<Vec<_>>(),
        versions,
        strides: &equal_strides(schedule, *last, *first),
        known: Known::of(schedule),
        elements: schedule.buffers[last.index()].shape.elements().ok(),
    };
    of_schedule.hazards(&|one, other| schedule.take_turns(one, other))
}

/// Kernels in launch order, and the versions of an array that they use in one memory, earliest first.
pub(crate) struct Versions<'s> {
    pub kernels: &'s [&'s Kernel],
    pub versions: &'s [BufferId],
    /// Symbols of strides with those of the first version.
    pub strides: &'s [(SymbolId, SymbolId)],
    pub known: Known<'s>,
    /// The number of elements of the array.
    pub elements: Option<Dim>,
}

impl Versions<'_> {
    /// Returns the versions that overwrite what is read afterwards, with the reasons; `takes_turns` tells of two kernels whether
    /// both run before either has ended.
    pub fn hazards(&self, takes_turns: &dyn Fn(KernelId, KernelId) -> bool) -> Vec<(BufferId, Hazard)> {
        let (mut stores, mut reads): (Vec<Vec<Placed>>, Vec<Placed>) = (Vec::new(), Vec::new());
        stores.resize_with(self.versions.len(), Vec::new);
        for index in 0..self.kernels.len() {
            for (placed, writes) in Walk::of(self, index) {
                match writes {
                    true => stores[placed.version].push(placed),
                    false => reads.push(placed),
                }
            }
        }
        let hazard = |(version, of_version): (usize, &Vec<Placed>)| {
            // What is written before is there first.
            let first = of_version.iter().map(|store| store.kernel).min()?;
            let late = stores[..version].iter().flatten().find(|store| store.kernel >= first);
            if let Some(late) = late {
                return Some((self.versions[version], Hazard::Later(KernelId::new(late.kernel))));
            }
            let mut earlier = reads.iter().filter(|read| read.version < version);
            let hazard = earlier.find_map(|read| self.hazard_of(read, of_version, takes_turns))?;
            Some((self.versions[version], hazard))
        };
        stores.iter().enumerate().filter_map(hazard).collect()
    }

    /// Returns why a read may find what the stores to a later version have written: these write every element at most once.
    fn hazard_of(
        &self,
        read: &Placed,
        stores: &[Placed],
        takes_turns: &dyn Fn(KernelId, KernelId) -> bool,
    ) -> Option<Hazard> {
        let reader = KernelId::new(read.kernel);
        let is_concerned = |store: &&Placed| {
            let writer = KernelId::new(store.kernel);
            store.kernel <= read.kernel
                || takes_turns(writer, reader) && !(self.is_by_rows(read) && self.is_by_rows(store))
        };
        let concerned: Vec<&Placed> = stores.iter().filter(is_concerned).collect();
        if concerned.iter().any(|store| store.address.is_none()) {
            return Some(Hazard::Unknown);
        }
        // The store of the same element in the same step is the only one of this element.
        let own =
            concerned.iter().find(|store| store.kernel == read.kernel && self.is_same_step(read, store));
        if let Some(own) = own {
            return (read.position > own.position).then_some(Hazard::Again(reader));
        }
        let is_apart = |store: &&&Placed| match (&read.address, &store.address) {
            (Some(read), Some(store)) => store.is_apart_from(read, self.known),
            _ => false,
        };
        let store = concerned.iter().find(|store| !is_apart(store))?;
        Some(match store.kernel < read.kernel {
            true => Hazard::Later(reader),
            false => Hazard::Elsewhere(reader),
        })
    }

    /// Returns whether a store writes what is read in the same step of all loops around both, and in no other step.
    fn is_same_step(&self, read: &Placed, store: &Placed) -> bool {
        let (Some(place), Some(address)) = (&read.address, &store.address) else { return false };
        let shared = || self.kernels[store.kernel].shared();
        let mut around = store.loops.iter().map(|(_, axis)| *axis).chain(shared());
        let common = read.loops.iter().filter(|around| store.loops.contains(around));
        let common: Vec<AxisId> = common.map(|(_, axis)| *axis).chain(shared()).collect();
        around.all(|axis| address.stride(axis).is_some()) && place.within(address, &common)
    }

    /// Returns whether the kernel of a use uses all of its version by rows.
    fn is_by_rows(&self, placed: &Placed) -> bool {
        let elements = self.elements.as_ref();
        let (kernel, version) = (self.kernels[placed.kernel], self.versions[placed.version]);
        elements.is_some_and(|elements| is_by_rows(kernel, version, elements, self.known))
    }
}

/// A statement that reads or writes a version.
struct Placed {
    version: usize,
    kernel: usize,
    /// Its position in the text of the kernel.
    position: usize,
    /// The loops around it: their positions in the text and their axes.
    loops: Vec<(usize, AxisId)>,
    /// How it addresses the array; `None` for any element.
    address: Option<Address>,
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
        | HostSymbol::Rows(_)
        | HostSymbol::Steps
        | HostSymbol::StepsBefore => None,
    };
    hosts().filter_map(pair).collect()
}

/// An address as a function of axes, in terms of the strides of the first version.
#[derive(Clone)]
struct Address {
    offset: Dim,
    delta: i64,
    /// Each axis with its stride and length.
    axes: Vec<(AxisId, Dim, Dim)>,
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
            // Both differences may contain a number of rows that depends on sizes: it is subtracted.
            let whole = least.div_terms(row).and_then(|(rows, _)| rows.mul(row));
            let rest = |of: &Dim| whole.as_ref().ok().and_then(|whole| of.sub(whole).ok());
            let (Some(least), Some(greatest)) = (rest(&least), rest(&greatest)) else { return false };
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

/// Collects the uses of the versions in a kernel, in the order of its text.
struct Walk<'v> {
    versions: &'v Versions<'v>,
    kernel: usize,
    position: usize,
    loops: Vec<(usize, AxisId)>,
    /// Each use, and whether it writes.
    uses: Vec<(Placed, bool)>,
}

impl<'v> Walk<'v> {
    fn of(versions: &'v Versions<'v>, kernel: usize) -> Vec<(Placed, bool)> {
        let mut walk = Walk { versions, kernel, position: 0, loops: Vec::new(), uses: Vec::new() };
        let kernel = versions.kernels[kernel];
        let mut used = kernel.accesses.iter().filter_map(|access| access.buffer);
        if used.any(|buffer| versions.versions.contains(&buffer)) {
            walk.body(&kernel.body);
        }
        walk.uses
    }

    fn kernel(&self) -> &'v Kernel {
        self.versions.kernels[self.kernel]
    }

    fn address(&self, access: AccessId, delta: i64) -> Option<Address> {
        let kernel = self.kernel();
        let access = &kernel.accesses[access.index()];
        let common = |dim: &Dim| {
            self.versions.strides.iter().try_fold(dim.clone(), |dim, (target, source)| {
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

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.position += 1;
            for (access, used) in stmt.accesses(&self.kernel().values) {
                let buffer = self.kernel().accesses[access.index()].buffer;
                let Some(version) = self.versions.versions.iter().position(|of| Some(*of) == buffer) else {
                    continue;
                };
                let address = match used {
                    Use::Read(delta) | Use::Write(delta) => self.address(access, delta),
                    Use::ReadAny | Use::Combine | Use::Position => None,
                };
                // What combines with an element reads and writes it.
                let uses = [used.reads().then_some(false), used.writes().then_some(true)];
                for writes in uses.into_iter().flatten() {
                    let (kernel, position, loops) = (self.kernel, self.position, self.loops.clone());
                    let address = address.clone();
                    self.uses.push((Placed { version, kernel, position, loops, address }, writes));
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
