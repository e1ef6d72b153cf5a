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

Codes: `S` shapes, `T` types, `N` names and the graph as a whole, `M` memory, `R` data, `C` chunks, `P` texts, `L` warnings.
A program in the text language is told of mistakes of all kinds, with places in its text.

| code | chunks |
| --- | --- |
| C001 | there is no size of the name |
| C002 | a result needs more than the rows of a chunk |
| C003 | the kernels of the parts cannot be compiled |
| C004 | an input or a size is passed with a chunk and not at the start, or the other way round |
| C005 | a chunk follows one whose number of rows is no multiple of what it must be |
| C006 | a size differs from that in the first chunk |
| C007 | a pass has another number of rows than the first |
| C008 | no chunk was passed |
| C009 | the rows must be passed again, or are not to be passed any more |
| C010 | a chunk before had no result |

| code | texts |
| --- | --- |
| P001 | what stands there cannot stand there, or a bracket is not closed |
| P002 | Python that the language leaves out |
| P003 | more than what is accepted of a text that is not trusted |
| P004 | a number out of range, or a calculation on numbers without a result |
| P005 | a name that stands for nothing |
| P006 | a name that stands for something already |
| P007 | an argument that a function does not take, or needs |
| P008 | a value of the wrong kind |
| P009 | statements in the wrong place or number |
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
            let (language, code) = match mistake.program() {
                Some(program) => ("text", format!("{program}\n")),
                None => ("rust", code(mistake)),
            };
            let _ = write!(
                page,
                "\n### {title}\n\n{meant}\n\n```{language}\n{code}```\n\n```text\n{message}\n```\n"
            );
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

/// Every code of texts is shown by a mistake that has it, and the tables name those that there are.
#[test]
fn the_codes_of_texts_are_shown() {
    let page = render();
    for number in 1..=9 {
        let code = format!("P{number:03}");
        assert!(page.contains(&format!("| {code} | ")) && page.contains(&format!("error[{code}]")), "{code}");
    }
    assert!(
        ["C001", "C002", "C006", "C007", "C008"].iter().all(|code| page.contains(&format!("error[{code}]")))
    );
}

/// Titles are links: each is there once.
#[test]
fn the_gallery_is_large() {
    let titles: std::collections::BTreeSet<&str> =
        GALLERY.iter().flat_map(|section| section.mistakes).map(|mistake| mistake.title).collect();
    assert_eq!(titles.len(), GALLERY.iter().map(|section| section.mistakes.len()).sum::<usize>());
    assert!(titles.len() > 80, "{}", titles.len());
}
