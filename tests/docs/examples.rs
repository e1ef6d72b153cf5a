//! Every public type of the facade has an example, where it is defined or where it is passed on from another crate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The names that `pub use` of a text passes on, without modules.
fn exported(text: &str) -> BTreeSet<&str> {
    let uses = text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let words = uses.flat_map(|names| names.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    words.filter(|word| word.starts_with(|letter: char| letter.is_uppercase())).collect()
}

/// The name that a line defines or passes on.
fn name(line: &str) -> Option<&str> {
    let forms = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
    if let Some(rest) = forms.iter().find_map(|form| line.strip_prefix(form)) {
        return rest.split(|letter: char| !letter.is_alphanumeric()).next();
    }
    line.strip_prefix("pub use ")?.strip_suffix(';')?.rsplit([':', ' ']).next()
}

#[test]
fn every_public_type_has_an_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/broadloom/src");
    let lib = std::fs::read_to_string(folder.join("lib.rs")).expect("the facade");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    let mut shown = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(file).expect("sources can be read");
        let mut has_example = false;
        for line in text.lines() {
            has_example |= line.starts_with("/// ```");
            if let Some(name) = name(line).filter(|_| has_example) {
                shown.insert(name.to_string());
            }
            // Docs and attributes belong to the item after them.
            has_example &= line.starts_with("///") || line.starts_with("#[") || line.starts_with([' ', ')']);
        }
    }
    let exported = exported(&lib);
    assert!(exported.len() > 60, "{exported:?}");
    let without: Vec<&&str> = exported.iter().filter(|name| !shown.contains(**name)).collect();
    assert!(without.is_empty(), "no example for {without:?}");
}
