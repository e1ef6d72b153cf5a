//! Answers for functions that do not exist: the name that was probably meant, or the reason why there is no such
//! function.

use crate::Functions;
use crate::names::{elsewhere, functions, nearest};

/// Returns what to write in place of a function that does not exist, or why it does not exist; `None` if the name says nothing.
///
/// ```
/// assert!(broadloom_text::instead("fillna").is_some_and(|help| help.contains("isnan")));
/// assert_eq!(broadloom_text::instead("sofmax").as_deref(), Some("did you mean `softmax`?"));
/// assert_eq!(broadloom_text::instead("frobnicate"), None);
/// ```
pub fn instead(name: &str) -> Option<String> {
    instead_among(name, &Functions::default())
}

/// Like [`instead`], in a language with further functions.
pub(crate) fn instead_among(name: &str, own: &Functions) -> Option<String> {
    let near = || meant(name, own).map(|near| format!("did you mean `{near}`?"));
    elsewhere(name).map(str::to_owned).or_else(near)
}

/// Returns the function that a name was probably meant to be. Most short names are similar to each other by chance,
/// so a short name counts as a slip only if its letters differ in order or case, by one letter too many or too few, or
/// in vowels.
fn meant<'a>(name: &str, own: &'a Functions) -> Option<&'a str> {
    /// The longest name that counts as short.
    const SHORT: usize = 4;
    let (lower, length) = (name.to_lowercase(), name.chars().count());
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_vowel = |letter: char| "aeiou".contains(letter);
    let sounds_alike = |candidate: &str| {
        let mut pairs = lower.chars().zip(candidate.chars());
        length == SHORT && pairs.all(|(own, other)| own == other || is_vowel(own) && is_vowel(other))
    };
    let is_likely = |candidate: &&str| {
        let begins_alike = lower.chars().next() == candidate.chars().next();
        let is_no_other_word =
            length > SHORT || length != candidate.chars().count() || sounds_alike(candidate);
        begins_alike && is_no_other_word || sorted(&lower) == sorted(candidate)
    };
    let own = own.names();
    nearest(name, functions().map(|name| -> &str { name }).chain(own).filter(is_likely))
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
            ("meen", Some("mean")),
            ("coth", None),
            ("concatenat", Some("concatenate")),
            ("xamax", None),
            ("cox", None),
            ("frobnicate", None),
        ] {
            assert_eq!(meant(name, &Functions::default()), near, "{name}");
        }
    }
}
