//! The name that was probably meant by an unknown one.

/// Returns the candidate that was probably meant: at most a third of its letters differ.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// The longest name compared, in characters.
    const LONGEST: usize = 40;
    let letters: Vec<char> = name.chars().take(LONGEST + 1).collect();
    // For a single letter, every other name of one or two letters would be near.
    if !(2..=LONGEST).contains(&letters.len()) {
        return None;
    }
    let distance = |candidate: &&str| edits(&letters, candidate);
    let near = candidates.into_iter().filter(|candidate| candidate.len() <= 4 * LONGEST);
    let best = near.min_by_key(distance)?;
    let longest = letters.len().max(best.chars().count());
    (3 * distance(&best) <= longest.max(3)).then_some(best)
}

/// Returns the number of letters to insert, remove, replace, or exchange with their neighbour.
fn edits(left: &[char], right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[right.len()]
}
