//! A cache that makes each value once per key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Maps keys to values. While one thread makes a value, other threads wait only for that value.
pub(crate) struct Cache<K, V>(Mutex<Slots<K, V>>);

/// The slots of a cache.
pub(crate) struct Slots<K, V> {
    of_key: HashMap<K, Slot<V>>,
    /// Counts uses, so that each slot records when it was last used.
    clock: u64,
    hits: u64,
    made: u64,
}

struct Slot<V> {
    value: Arc<Value<V>>,
    since: u64,
    used: u64,
}

/// A value, or a marker that a thread is making it.
struct Value<V> {
    made: OnceLock<V>,
    making: Mutex<()>,
}

impl<V> Default for Value<V> {
    fn default() -> Self {
        Value { made: OnceLock::new(), making: Mutex::new(()) }
    }
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Cache(Mutex::new(Slots { of_key: HashMap::new(), clock: 0, hits: 0, made: 0 }))
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    /// Returns the value of a key, if it has been made.
    fn get(&self, key: &K) -> Option<V> {
        let mut slots = lock(&self.0);
        let value = slots.touch(key)?.made.get().cloned()?;
        slots.hits += 1;
        Some(value)
    }

    /// Returns the stored key that equals this one, if there is one: comparing a key with itself may be cheap.
    pub(crate) fn same(&self, key: K) -> K {
        lock(&self.0).of_key.get_key_value(&key).map_or(key, |(kept, _)| kept.clone())
    }

    /// Returns the value of a key. If it is missing, `make` computes it, and only the lock of this value is held
    /// meanwhile. `admit` chooses the key that replaces a new one, or makes room for it.
    pub(crate) fn get_or_make<E>(
        &self,
        key: K,
        admit: impl FnOnce(K, &mut Slots<K, V>) -> K,
        make: impl FnOnce(&K) -> Result<V, E>,
    ) -> Result<V, E> {
        if let Some(value) = self.get(&key) {
            return Ok(value);
        }
        let (key, slot) = {
            let mut slots = lock(&self.0);
            let key = if slots.contains(&key) { key } else { admit(key, &mut slots) };
            let slot = slots.slot(&key);
            (key, slot)
        };
        let _making = lock(&slot.making);
        if let Some(value) = slot.made.get() {
            lock(&self.0).hits += 1;
            return Ok(value.clone());
        }
        let made = make(&key)?;
        let made = slot.made.get_or_init(|| made).clone();
        lock(&self.0).made += 1;
        Ok(made)
    }

    /// Returns the finished values, in the order in which they were first requested.
    pub(crate) fn values(&self) -> Vec<V> {
        let slots = lock(&self.0);
        let made = |slot: &Slot<V>| Some((slot.since, slot.value.made.get()?.clone()));
        let mut values: Vec<(u64, V)> = slots.of_key.values().filter_map(made).collect();
        values.sort_by_key(|(since, _)| *since);
        values.into_iter().map(|(_, value)| value).collect()
    }

    /// Returns how many values were found, how many were made, and the number of keys.
    pub(crate) fn counts(&self) -> (u64, u64, usize) {
        let slots = lock(&self.0);
        (slots.hits, slots.made, slots.of_key.len())
    }
}

impl<K: Eq + Hash + Clone, V> Slots<K, V> {
    pub(crate) fn contains(&self, key: &K) -> bool {
        self.of_key.contains_key(key)
    }

    /// Returns the number of keys that satisfy a predicate.
    pub(crate) fn count(&self, of_kind: impl Fn(&K) -> bool) -> usize {
        self.of_key.keys().filter(|key| of_kind(key)).count()
    }

    /// Drops the least recently used slots until one more fits into `capacity`.
    pub(crate) fn make_room(&mut self, capacity: usize) {
        while self.of_key.len() >= capacity {
            let oldest = self.of_key.iter().min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.of_key.remove(&oldest);
        }
    }

    /// Returns the slot of a key and marks it as used now.
    fn touch(&mut self, key: &K) -> Option<&Arc<Value<V>>> {
        self.clock += 1;
        let slot = self.of_key.get_mut(key)?;
        slot.used = self.clock;
        Some(&slot.value)
    }

    fn slot(&mut self, key: &K) -> Arc<Value<V>> {
        if let Some(value) = self.touch(key) {
            return value.clone();
        }
        let value = Arc::<Value<V>>::default();
        let slot = Slot { value: value.clone(), since: self.clock, used: self.clock };
        self.of_key.insert(key.clone(), slot);
        value
    }
}

/// Locks a mutex whose contents stay consistent even if a thread panicked while holding the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
