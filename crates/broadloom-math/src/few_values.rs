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
