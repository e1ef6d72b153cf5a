//! docs/errors.md: the gallery of mistakes, each with its code and its message.

use crate::gallery::{GALLERY, Mistake};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "\
# Mistakes and messages

Generated from the gallery in examples/mistakes by `UPDATE_DOCS=1 cargo test --test docs`; do not edit. `cargo run
--example mistakes` prints it, in colours on a terminal.

Each entry says what was meant, shows the code, and then the message in full. Operators do not panic: mistakes are
collected, what depends on one is silent, and `compile`, `check` or `finish` tell all of them at once; forms such as
`try_add` return theirs on the spot. `{}` of an error is its headline, `{:#}` and `{:?}` are what is shown here, and
`colored()` is that with ANSI colours. A help that changes shapes is tried before it is offered.

Codes: `S` shapes, `T` types, `N` names and the graph as a whole, `M` memory, `R` data, `L` warnings.
";

/// The page.
pub fn render() -> String {
    let mut page = HEAD.to_owned();
    for section in GALLERY {
        let _ = write!(page, "\n## {}\n\n{}\n", section.title, section.about);
        for mistake in section.mistakes {
            let Mistake { title, meant, .. } = mistake;
            let message = mistake.make().unwrap_or_else(|| panic!("{title}: no mistake")).text(false);
            // Where this test finds the gallery.
            let message = message.replace("tests/docs/../../", "");
            let code = code(mistake);
            let _ =
                write!(page, "\n### {title}\n\n{meant}\n\n```rust\n{code}```\n\n```text\n{message}\n```\n");
        }
    }
    page
}

/// The body of the closure that makes the mistake, without its indentation.
fn code(mistake: &Mistake) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(mistake.site.file());
    let source = std::fs::read_to_string(path).expect("the gallery can be read");
    let mut lines = source.lines().skip(mistake.site.line() as usize - 1);
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let outer = lines.find(|line| line.ends_with("|g| {")).map(indentation).expect("a closure");
    let mut code = String::new();
    for line in lines.take_while(|line| indentation(line) > outer) {
        let _ = writeln!(code, "{}", &line[outer + 4..]);
    }
    code
}

#[test]
fn every_message_is_the_same_without_its_colours() {
    for mistake in GALLERY.iter().flat_map(|section| section.mistakes) {
        let caught = mistake.make().unwrap_or_else(|| panic!("{}: no mistake", mistake.title));
        let (plain, colored) = (caught.text(false), caught.text(true));
        let mut stripped = String::new();
        for (index, part) in colored.split("\x1b[").enumerate() {
            stripped += if index == 0 { part } else { part.split_once('m').expect("an escape sequence").1 };
        }
        assert_eq!(stripped, plain, "{}", mistake.title);
        assert!(!plain.contains('\x1b'));
        assert!(plain == colored || colored.starts_with("\x1b[1;3"), "{colored:?}");
    }
}

/// Titles are links: each is there once.
#[test]
fn the_gallery_is_large() {
    let titles: std::collections::BTreeSet<&str> =
        GALLERY.iter().flat_map(|section| section.mistakes).map(|mistake| mistake.title).collect();
    assert_eq!(titles.len(), GALLERY.iter().map(|section| section.mistakes.len()).sum::<usize>());
    assert!(titles.len() > 80, "{}", titles.len());
}
