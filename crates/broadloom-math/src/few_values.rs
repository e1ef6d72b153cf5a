//! Sorts of many keys that have few values: each value is counted in a hash table, and written as often.
//!
//! The table is on the stack (52 KiB for keys of 64 bits), because a running kernel has nowhere to get memory from. Keys that have
//! more values than it holds are detected from a sample, or while they are counted, and are sorted otherwise.

use crate::order::Bits;
use crate::stop::Stop;

/// The least number of keys: fewer are sorted before a sample is counted.
const MIN_KEYS: usize = 1 << 15;

/// The keys of the sample. Of so many keys with [`MAX_VALUES`] values, some 86 % of the values are among the sample.
const SAMPLE: usize = 2 * MAX_VALUES;

/// The most values that are counted.
const MAX_VALUES: usize = 1 << 11;

/// The bits of the number of a slot: half of the slots stay empty, so that probes are short.
const SLOT_BITS: u32 = 12;

/// 2^64 over the golden ratio: D. E. Knuth, The Art of Computer Programming, volume 3, section 6.4.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// How often each of some values occurs.
struct Counts<B> {
    keys: [B; 1 << SLOT_BITS],
    /// 0 for empty slots.
    counts: [u32; 1 << SLOT_BITS],
    /// The slots that are not empty, in the order in which they were filled.
    filled: [u16; MAX_VALUES],
    values: usize,
}

impl<B: Bits> Counts<B> {
    fn new() -> Self {
        let keys = [B::ALL; 1 << SLOT_BITS];
        Counts { keys, counts: [0; 1 << SLOT_BITS], filled: [0; MAX_VALUES], values: 0 }
    }

    fn clear(&mut self) {
        self.counts.fill(0);
        self.values = 0;
    }

    /// Counts a key as often as `times` says; `None` if there are too many values.
    #[inline]
    fn add(&mut self, key: B, times: u32) -> Option<()> {
        let mut slot = (key.wide().wrapping_mul(MULTIPLIER) >> (u64::BITS - SLOT_BITS)) as usize;
        while self.keys[slot] != key || self.counts[slot] == 0 {
            if self.counts[slot] == 0 {
                *self.filled.get_mut(self.values)? = slot as u16;
                self.values += 1;
                self.keys[slot] = key;
                break;
            }
            slot = (slot + 1) % (1 << SLOT_BITS);
        }
        self.counts[slot] += times;
        Some(())
    }

    /// The values in ascending order, and how often they occur.
    fn ascending(&mut self) -> impl Iterator<Item = (B, usize)> {
        let Counts { keys, counts, filled, values } = self;
        let filled = &mut filled[..*values];
        filled.sort_unstable_by_key(|slot| keys[usize::from(*slot)]);
        filled.iter().map(|slot| (keys[usize::from(*slot)], counts[usize::from(*slot)] as usize))
    }
}

/// Calls `write` with each value of the keys in ascending order, and with how often it occurs. Returns `false`, without a call,
/// if there are few keys or many values, and `None` if it was stopped. `key` takes numbers below `count`.
pub(crate) fn sort<B: Bits>(
    count: usize,
    stop: &Stop<'_>,
    key: impl Fn(usize) -> B,
    mut write: impl FnMut(B, usize) -> Option<()>,
) -> Option<bool> {
    if count < MIN_KEYS || u32::try_from(count).is_err() {
        return Some(false);
    }
    let step = count / SAMPLE;
    let mut counts = Counts::new();
    if (0..SAMPLE).any(|at| counts.add(key(at * step), 1).is_none()) {
        return Some(false);
    }
    counts.clear();
    // Equal neighbours are counted together: each count waits for the one before.
    let (mut last, mut times) = (key(0), 0);
    for part in stop.parts(count) {
        for at in part? {
            let key = key(at);
            if key != last {
                if counts.add(last, times).is_none() {
                    return Some(false);
                }
                (last, times) = (key, 0);
            }
            times += 1;
        }
    }
    if counts.add(last, times).is_none() {
        return Some(false);
    }
    for (key, count) in counts.ascending() {
        write(key, count)?;
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sorted keys, if they are counted.
    fn sorted(keys: &[u64]) -> Option<Vec<u64>> {
        let mut sorted = Vec::new();
        let write = |key, count| {
            sorted.extend(std::iter::repeat_n(key, count));
            Some(())
        };
        sort(keys.len(), Stop::NEVER, |at| keys[at], write)?.then_some(sorted)
    }

    /// Keys of which about `values` differ, all over the range.
    fn keys(count: usize, values: u64) -> Vec<u64> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        (0..count).map(|_| (next() % values).wrapping_mul(0x0123_4567_89ab_cdef)).collect()
    }

    #[test]
    fn keys_with_few_values_are_sorted_and_others_are_left() {
        for (count, values) in [(MIN_KEYS, 1), (MIN_KEYS, 2), (50_001, 1000), (100_000, 2047), (33_000, 300)]
        {
            let keys = keys(count, values);
            let mut expected = keys.clone();
            expected.sort_unstable();
            assert_eq!(sorted(&keys), Some(expected), "{count} keys, {values} values");
        }
        assert_eq!(sorted(&keys(MIN_KEYS - 1, 2)), None);
        assert_eq!(sorted(&keys(100_000, 100_000)), None);
        assert_eq!(sorted(&keys(100_000, 2100)), None);
    }

    #[test]
    fn values_that_no_sample_has_are_too_many_on_the_way() {
        let mut keys = keys(100_000, 5);
        let step = keys.len() / SAMPLE;
        for at in 0..MAX_VALUES - 5 {
            keys[at * step + 1] = 1 << 40 | at as u64;
        }
        let mut expected = keys.clone();
        expected.sort_unstable();
        assert_eq!(sorted(&keys), Some(expected));
        keys[99_999] = 1 << 41;
        assert_eq!(sorted(&keys), None);
    }

    #[test]
    fn values_that_share_a_slot_are_told_apart() {
        // Multiples of the inverse of the multiplier have neighbouring products, so that all fall into one slot.
        let inverse = (0..6).fold(MULTIPLIER, |inverse, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(MULTIPLIER.wrapping_mul(inverse)))
        });
        let keys: Vec<u64> = (0..MIN_KEYS as u64).map(|at| (at % 1500).wrapping_mul(inverse)).collect();
        let mut expected = keys.clone();
        expected.sort_unstable();
        assert_eq!(sorted(&keys), Some(expected));
    }
}
