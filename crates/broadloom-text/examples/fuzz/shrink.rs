//! Smaller texts that fail as well.

use std::time::{Duration, Instant};

/// How long a text is made smaller.
const PATIENCE: Duration = Duration::from_secs(20);

/// A text without the parts that are not needed for it to fail: first lines, then ever shorter runs of characters.
pub fn smaller(text: &str, fails: &dyn Fn(&str) -> bool) -> String {
    let end = Instant::now() + PATIENCE;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let text = without(lines, fails, end);
    let mut letters: Vec<String> = text.chars().map(String::from).collect();
    loop {
        let before = letters.len();
        let parts: Vec<&str> = letters.iter().map(String::as_str).collect();
        letters = without(parts, fails, end).chars().map(String::from).collect();
        if letters.len() == before || Instant::now() >= end {
            return letters.concat();
        }
    }
}

/// Leaves out runs of parts, from half of them down to single ones.
fn without(mut parts: Vec<&str>, fails: &dyn Fn(&str) -> bool, end: Instant) -> String {
    let mut length = parts.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < parts.len() && Instant::now() < end {
            let rest = [&parts[..at], &parts[(at + length).min(parts.len())..]].concat();
            if fails(&rest.concat()) {
                parts = rest;
            } else {
                at += length;
            }
        }
        if length == 1 {
            return parts.concat();
        }
        length = length.div_ceil(2);
    }
}
