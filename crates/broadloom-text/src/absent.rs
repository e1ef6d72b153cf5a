//! What is said of functions that do not exist: the one that was probably meant, or why there is none.

use crate::names::{elsewhere, functions, nearest};

/// What to write in place of a function that does not exist, or why there is none.
///
/// ```
/// assert!(broadloom_text::instead("fillna").contains("isnan"));
/// assert_eq!(broadloom_text::instead("sofmax"), "did you mean `softmax`?");
/// ```
pub fn instead(name: &str) -> String {
    match (elsewhere(name), meant(name)) {
        (Some(help), _) => help.to_owned(),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => "`broadloom ops` and docs/ops.md list all functions".to_owned(),
    }
}

/// The function that a name was probably meant to be. Most short names are near to each other and mean nothing alike,
/// so that of these only letters in another order or case, or one too many or too few, are taken for a slip.
fn meant(name: &str) -> Option<&'static str> {
    /// Longest name that is short.
    const SHORT: usize = 4;
    let (lower, length) = (name.to_lowercase(), name.chars().count());
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_likely = |candidate: &&str| {
        let begins_alike = lower.chars().next() == candidate.chars().next();
        let is_no_other_word = length > SHORT || length != candidate.chars().count();
        begins_alike && is_no_other_word || sorted(&lower) == sorted(candidate)
    };
    nearest(name, functions().filter(is_likely))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_mean_something_near() {
        for (name, near) in [
            ("argmni", Some("argmin")),
            ("Sum", Some("sum")),
            ("usm", Some("sum")),
            ("summ", Some("sum")),
            ("sinn", Some("sin")),
            ("sofmax", Some("softmax")),
            ("concatenat", Some("concatenate")),
            ("xamax", None),
            ("cox", None),
            ("frobnicate", None),
        ] {
            assert_eq!(meant(name), near, "{name}");
        }
    }
}
