//! The modules of this crate use each other one way.

use std::fs;
use std::path::{Path, PathBuf};

/// From below: a module uses only those of the layers before its own.
const LAYERS: &[&[&str]] = &[
    &["ids", "integer", "dtype", "partial"],
    &["site", "dim", "literal", "ops"],
    &["shape", "reduce"],
    &["problem"],
    &["graph"],
    &["diagnostics"],
    &["interp", "transform", "part"],
    &["chunks", "stages"],
    &["phases"],
];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn no_module_uses_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut uses = 0;
    for file in files.iter().filter(|file| **file != root.join("lib.rs")) {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        let module = name.split(['/', '\\', '.']).next().unwrap_or_default();
        let own = layer(module).unwrap_or_else(|| panic!("{name} is in no layer"));
        let text = fs::read_to_string(file).unwrap();
        // Links of comments may lead anywhere.
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for rest in line.split("crate::").skip(1) {
                let used = rest.split(|letter: char| letter != '_' && !letter.is_alphanumeric()).next();
                let used = used.unwrap_or_default();
                // Macros stand at the root.
                if used == module || used == "define_ids" {
                    continue;
                }
                let below = layer(used).is_some_and(|layer| layer < own);
                assert!(below, "{name} uses {used:?}: {line}");
                uses += 1;
            }
        }
    }
    assert!(uses > 100, "only {uses} uses were found");
}
