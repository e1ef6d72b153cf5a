//! The pages for contributors name only commands and files that exist, and all modules with unsafe code. The comparison with other
//! libraries has sources, and the figures of other pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const PAGES: [&str; 12] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/coming-from.md",
    "docs/comparison.md",
    "docs/dataframes.md",
    "docs/kernels.md",
    "docs/style.md",
    "docs/testing.md",
    "docs/trust.md",
    "examples/README.md",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The folder of a package.
fn package(name: &str) -> PathBuf {
    let folder = match name {
        "suite" => PathBuf::from("."),
        "examples" => PathBuf::from("examples"),
        name => Path::new("crates").join(name),
    };
    let manifest = read(&folder.join("Cargo.toml").to_string_lossy());
    assert!(manifest.contains(&format!("name = {name:?}")), "{name} is no package");
    folder
}

/// Whether a package has a test, example or bench of a name, as `folder/name.rs` or `folder/name/main.rs`.
fn has_target(package: &Path, folder: &str, name: &str) -> bool {
    let folder = root().join(package).join(folder);
    folder.join(format!("{name}.rs")).exists() || folder.join(name).join("main.rs").exists()
}

/// Checks `cargo ..` up to `--`, behind which options of the program stand.
fn check_command(page: &str, command: &str) {
    let words: Vec<&str> =
        command.split_whitespace().take_while(|word| !["--", "#"].contains(word)).collect();
    let after = |option: &str| {
        words.iter().position(|word| *word == option).and_then(|at| words.get(at + 1)).copied()
    };
    let chosen = after("-p").map(package);
    for (option, folder) in [("--test", "tests"), ("--example", "examples"), ("--bench", "benches")] {
        let Some(name) = after(option) else { continue };
        let name = name.trim_end_matches(['`', ',', '.', ';']);
        if name == "'*'" {
            continue;
        }
        let owner = chosen.clone().unwrap_or_default();
        let found = match (folder, &*owner.to_string_lossy()) {
            ("examples", "" | "examples") => has_target(Path::new(""), folder, name),
            _ => has_target(&owner, folder, name),
        };
        assert!(found, "{page}: `{command}` names no {option} {name}");
    }
}

#[test]
fn commands_name_packages_and_targets_that_exist() {
    let mut checked = 0;
    for page in PAGES {
        for line in read(page).lines() {
            for part in line.split("cargo ").skip(1) {
                let command = part.split(['`', '#']).next().unwrap_or_default();
                check_command(page, command);
                checked += 1;
            }
        }
    }
    assert!(checked > 25, "{checked}");
}

/// Sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_modules_with_unsafe_code_are_those_of_the_page() {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("the crates").flatten() {
        sources(&entry.path().join("src"), &mut files);
    }
    let keyword = |text: &str| {
        let forms = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"];
        text.lines()
            .any(|line| !line.trim_start().starts_with("//") && forms.iter().any(|form| line.contains(form)))
    };
    let modules: BTreeSet<String> = (files.iter())
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| keyword(&text)))
        .filter_map(|path| Some(path.strip_prefix(root()).ok()?.to_string_lossy().replace('\\', "/")))
        .filter(|path| !path.contains("/tests/"))
        .collect();
    let page = read("docs/trust.md");
    let named: BTreeSet<String> = (page.lines())
        .filter_map(|line| Some(line.strip_prefix("| `crates/")?.split_once('`')?.0))
        .map(|path| format!("crates/{path}"))
        .collect();
    assert_eq!(modules, named, "docs/trust.md has to list the modules with unsafe code");
}

/// Each system has a section, in the order of the table, with its sources and the three questions.
#[test]
fn the_comparison_has_sources() {
    let page = read("docs/comparison.md");
    let systems: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| [")?.split(']').next()).collect();
    let sections: Vec<(&str, &str)> =
        page.split("\n## ").skip(1).filter_map(|section| section.split_once('\n')).collect();
    let described: Vec<&str> =
        sections.iter().map(|(title, _)| *title).filter(|title| systems.contains(title)).collect();
    assert_eq!(described, systems);
    assert!(systems.len() >= 11, "{systems:?}");
    for (title, section) in sections.iter().filter(|(title, _)| systems.contains(title)) {
        for part in ["**It has** ", "**Broadloom has** ", "**Take** ", "https://"] {
            assert!(section.contains(part), "{title}: {part}");
        }
    }
}

/// The figures of the comparison are those of the pages that measure them.
#[test]
fn the_comparison_has_the_figures_of_other_pages() {
    const FIGURES: &[(&str, &str)] = &[
        ("37 of 54", "docs/npbench.md"),
        ("about a millisecond", "README.md"),
        ("1,000 ops in about 20", "README.md"),
        ("1.1 to 1.7", "README.md"),
        ("0.06 to 0.08", "README.md"),
    ];
    let page = read("docs/comparison.md");
    for (figure, source) in FIGURES {
        assert!(page.contains(figure), "docs/comparison.md does not say {figure}");
        assert!(read(source).contains(figure), "{source} does not say {figure} any longer");
    }
}

#[test]
fn pages_for_registries_stand_alone() {
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if manifest.contains("publish = false") {
            continue;
        }
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        assert!(manifest.contains("readme = \"README.md\""), "{name} names no README of its own");
        let page = read(&format!("crates/{name}/README.md"));
        assert!(page.starts_with(&format!("# {name}\n")), "{name}: the page has another title");
        // Registries show the page without the files of the repository.
        for link in page.split("](").skip(1) {
            assert!(link.starts_with("https://"), "{name}: the page links to {link:.20}");
        }
    }
}
