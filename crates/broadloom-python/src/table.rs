//! The kernels of a function: by the structure of the arguments, by their static values, and by their sizes if those matter.

use crate::kernel::Kernel;
use crate::state::Kept;
use crate::structure::{Call, KnownValues};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::collections::HashMap;

/// The most kernels that a function keeps; a new one replaces the least recently used.
const CAPACITY: usize = 256;
/// The most bytes of arrays that the kernels of a function keep and nothing else refers to, such as `np.eye(x.shape[0])`.
const MAX_BYTES: usize = 32 << 20;

/// The kernels of a function.
#[derive(Default)]
pub struct Table {
    slots: HashMap<Box<[u64]>, Vec<Slot>>,
    clock: u64,
    /// How often all kernels were removed, because what the function reads changed.
    pub generation: u64,
}

#[derive(Default)]
struct Slot {
    statics: Vec<Kept>,
    /// By the values that their traces knew.
    kernels: HashMap<(KnownValues, Vec<u64>), Entry>,
}

/// A kernel, and when it was used last.
pub struct Entry {
    kernel: Py<Kernel>,
    used: u64,
    /// The bytes of arrays that only it refers to.
    bytes: usize,
}

/// The entry of the table for a call.
pub struct Found {
    /// `None` if one of the objects is gone.
    pub statics: Option<Vec<Py<PyAny>>>,
    pub kernel: Option<Py<Kernel>>,
    /// What a kernel for this call has to know.
    pub known: KnownValues,
}

impl Table {
    /// Returns the static values of a slot that may serve a call, and what it has for it: a kernel that knows `least`, or more, or what
    /// a trace for one has to know at least.
    pub fn find(
        &mut self,
        py: Python<'_>,
        call: &Call<'_>,
        position: usize,
        least: KnownValues,
    ) -> Option<Found> {
        self.clock += 1;
        let slot = self.slots.get_mut(&call.key[..])?.get_mut(position)?;
        let statics = slot.statics.iter().map(|kept| kept.get(py)).collect();
        let mut may_serve = KnownValues::ALL.into_iter().filter(|known| known.includes(least));
        let kernel = may_serve.find_map(|known| {
            let entry = slot.kernels.get_mut(&(known, call.values(known)))?;
            entry.used = self.clock;
            Some(entry.kernel.clone_ref(py))
        });
        // A trace that knows nothing is the same for all calls: if it has made no kernel, it makes none.
        let mut known = least;
        if slot.kernels.keys().all(|(known, _)| *known != KnownValues::NOTHING) {
            let has_integers = slot.kernels.keys().any(|(known, _)| known.integers);
            known.integers |= has_integers;
            known.sizes |= !has_integers;
        }
        Some(Found { statics, kernel, known })
    }

    /// Adds a kernel, and returns what is removed for it. The caller drops that without the lock, because it may run code of
    /// Python's.
    pub fn add(
        &mut self,
        py: Python<'_>,
        call: &Call<'_>,
        statics: Vec<Kept>,
        kernel: Py<Kernel>,
        bytes: usize,
        known: KnownValues,
    ) -> Removed {
        let mut removed = self.remove_dead(py);
        self.clock += 1;
        let entry = Entry { kernel, used: self.clock, bytes };
        let slots = self.slots.entry(call.key[..].into()).or_default();
        let is_same = |slot: &Slot| {
            let mut objects = slot.statics.iter().map(|kept| kept.get(py)).zip(&statics);
            slot.statics.len() == statics.len()
                && objects
                    .all(|(own, other)| own.zip(other.get(py)).is_some_and(|(own, other)| own.is(&other)))
        };
        let position = slots.iter().position(is_same).unwrap_or_else(|| {
            slots.push(Slot { statics, ..Slot::default() });
            slots.len() - 1
        });
        // Another thread may have made the same kernel at the same time.
        removed.entries.extend(slots[position].kernels.insert((known, call.values(known)), entry));
        let newest = self.clock;
        while self.entries().count() > CAPACITY {
            removed.entries.extend(self.remove_oldest(newest, 0));
        }
        while self.entries().map(|entry| entry.bytes).sum::<usize>() > MAX_BYTES {
            match self.remove_oldest(newest, 1) {
                Some(entry) => removed.entries.push(entry),
                None => break,
            }
        }
        removed.slots.extend(self.remove_slots(|slot| slot.kernels.is_empty()));
        removed
    }

    /// Removes the kernels of objects that are gone.
    pub fn remove_dead(&mut self, py: Python<'_>) -> Removed {
        let slots = self.remove_slots(|slot| slot.statics.iter().any(|kept| kept.get(py).is_none()));
        Removed { slots, entries: Vec::new() }
    }

    fn remove_slots(&mut self, is_over: impl Fn(&Slot) -> bool) -> Vec<Slot> {
        let removed =
            self.slots.values_mut().flat_map(|slots| slots.extract_if(.., |slot| is_over(slot))).collect();
        self.slots.retain(|_, slots| !slots.is_empty());
        removed
    }

    /// Removes all kernels.
    pub fn clear(&mut self) -> Removed {
        self.generation += 1;
        let slots = std::mem::take(&mut self.slots);
        Removed { slots: slots.into_values().flatten().collect(), entries: Vec::new() }
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.slots.values().flatten().flat_map(|slot| slot.kernels.values())
    }

    /// Removes the kernel that was not used for the longest time, of those with at least so many bytes, but not the newest.
    fn remove_oldest(&mut self, newest: u64, bytes: usize) -> Option<Entry> {
        let older = self.entries().filter(|entry| entry.used < newest && entry.bytes >= bytes);
        let oldest = older.map(|entry| entry.used).min()?;
        for slot in self.slots.values_mut().flatten() {
            let key = slot.kernels.iter().find(|(_, entry)| entry.used == oldest);
            if let Some(key) = key.map(|(key, _)| key.clone()) {
                return slot.kernels.remove(&key);
            }
        }
        None
    }

    pub fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        for slot in self.slots.values().flatten() {
            slot.statics.iter().try_for_each(|kept| kept.visit(visit))?;
            slot.kernels.values().try_for_each(|entry| visit.call(&entry.kernel))?;
        }
        Ok(())
    }
}

/// Kernels that were removed, and the values by which they were found.
pub struct Removed {
    slots: Vec<Slot>,
    entries: Vec<Entry>,
}
