//! Cuts long rows of integers into short ones by their upper digits, in steps between which a run can stop.
//!
//! ```text
//! 10^9 integers ──by the upper digit of their range──▶ 256 rows in order ──again──▶ ... ──short──▶ sorted at once
//! ```
//!
//! Each integer moves to the next place of its digit, and the one that was there moves in turn: P. M. McIlroy, K. Bostic and M. D.
//! McIlroy, "Engineering radix sort" (1993). Each round cuts the range of a row to a 256th, so there are at most eight.

use crate::order::Bits;
use crate::stop::{PART, Stop};

const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Sorts integers, by `sort_few` where they are few or nothing can stop it. Returns `None` if it was stopped.
pub(crate) fn sort<B: Bits>(integers: &mut [B], stop: &Stop<'_>, sort_few: &impl Fn(&mut [B])) -> Option<()> {
    if stop.is_due() {
        return None;
    }
    if integers.len() <= PART || stop.is_never() {
        sort_few(integers);
        return Some(());
    }
    let (mut least, mut greatest) = (u64::MAX, 0);
    for part in stop.parts(integers.len()) {
        for integer in &integers[part?] {
            (least, greatest) = (least.min(integer.wide()), greatest.max(integer.wide()));
        }
    }
    let shift = (u64::BITS - (greatest - least).leading_zeros()).saturating_sub(DIGIT_BITS);
    let digit = |integer: B| ((integer.wide() - least) >> shift) as usize;
    let mut counts = [0_usize; DIGITS];
    for part in stop.parts(integers.len()) {
        for integer in &integers[part?] {
            counts[digit(*integer)] += 1;
        }
    }
    let mut ends = counts;
    let mut total = 0;
    for end in &mut ends {
        total += *end;
        *end = total;
    }
    let mut next: [usize; DIGITS] = std::array::from_fn(|digit| ends[digit] - counts[digit]);
    let mut moved = 0_usize;
    for place in 0..DIGITS {
        while next[place] < ends[place] {
            let mut integer = integers[next[place]];
            loop {
                moved += 1;
                if moved.is_multiple_of(PART) && stop.is_due() {
                    return None;
                }
                let digit = digit(integer);
                std::mem::swap(&mut integers[next[digit]], &mut integer);
                next[digit] += 1;
                if digit == place {
                    break;
                }
            }
        }
    }
    if shift > 0 {
        for (end, count) in ends.into_iter().zip(counts) {
            sort(&mut integers[end - count..end], stop, sort_few)?;
        }
    }
    Some(())
}
