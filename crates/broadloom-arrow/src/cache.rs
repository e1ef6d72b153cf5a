//! A cache that is bounded by the number of its values and by their memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Values that are kept by their keys, for a whole process: plans, which many threads look for at once.
///
/// ```
/// use broadloom_arrow::Cache;
/// static LENGTHS: Cache<&str, usize> = Cache::new(1000, 1 << 20);
/// let length = |text| LENGTHS.get_or_make(text, |text| Ok::<_, ()>(text.len()), |_| size_of::<usize>());
/// assert_eq!((length("four"), length("four")), (Ok(4), Ok(4)));
/// ```
#[derive(Debug)]
pub struct Cache<K, V> {
    most: usize,
    most_bytes: usize,
    slots: LazyLock<Mutex<Slots<K, V>>>,
}

#[derive(Debug)]
struct Slots<K, V> {
    of_key: HashMap<K, Slot<V>>,
    /// Counts uses, so that each slot records when it was last used.
    clock: u64,
}

#[derive(Debug)]
struct Slot<V> {
    value: V,
    used: u64,
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    /// Creates a cache of at most `most` values that hold at most `most_bytes` bytes together.
    pub const fn new(most: usize, most_bytes: usize) -> Cache<K, V> {
        let empty = || Mutex::new(Slots { of_key: HashMap::new(), clock: 0 });
        Cache { most, most_bytes, slots: LazyLock::new(empty) }
    }

    /// Returns the value of a key, which `make` makes if it is missing. Values may grow after they were made, so
    /// `bytes` is asked again whenever one is added. The least recently used values make room.
    ///
    /// # Errors
    /// Returns the error of `make`, which is asked again for the next call.
    pub fn get_or_make<E>(
        &self,
        key: K,
        make: impl FnOnce(&K) -> Result<V, E>,
        bytes: impl Fn(&V) -> usize,
    ) -> Result<V, E> {
        if let Some(value) = self.lock().get(&key) {
            return Ok(value);
        }
        let made = make(&key)?;
        let mut slots = self.lock();
        // Another thread may have been faster; all share one value.
        if let Some(value) = slots.get(&key) {
            return Ok(value);
        }
        let mut total: usize = slots.of_key.values().map(|slot| bytes(&slot.value)).sum();
        let added = bytes(&made);
        while !slots.of_key.is_empty()
            && (slots.of_key.len() >= self.most || total.saturating_add(added) > self.most_bytes)
        {
            let oldest = slots.of_key.iter().min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone());
            let Some(removed) = oldest.and_then(|oldest| slots.of_key.remove(&oldest)) else { break };
            total = total.saturating_sub(bytes(&removed.value));
        }
        let used = slots.clock;
        slots.of_key.insert(key, Slot { value: made.clone(), used });
        Ok(made)
    }

    /// Locks the slots, which stay consistent even if a thread panicked while holding the lock.
    fn lock(&self) -> MutexGuard<'_, Slots<K, V>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash, V: Clone> Slots<K, V> {
    fn get(&mut self, key: &K) -> Option<V> {
        self.clock += 1;
        let slot = self.of_key.get_mut(key)?;
        slot.used = self.clock;
        Some(slot.value.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_least_recently_used_values_make_room() {
        let made = Cell::new(0);
        let get = |cache: &Cache<usize, usize>, key: usize| {
            let make = |key: &usize| {
                made.set(made.get() + 1);
                Ok::<_, ()>(*key)
            };
            assert_eq!(cache.get_or_make(key, make, |value| *value).unwrap(), key);
            made.get()
        };
        let few: Cache<usize, usize> = Cache::new(2, usize::MAX);
        assert_eq!([1, 2, 1, 3, 1, 2].map(|key| get(&few, key)), [1, 2, 2, 3, 3, 4]);
        made.set(0);
        let small: Cache<usize, usize> = Cache::new(100, 10);
        assert_eq!([4, 5, 4, 6, 4, 5, 50, 50].map(|key| get(&small, key)), [1, 2, 2, 3, 3, 4, 5, 5]);
    }
}
