//! docs/errors.md: the gallery of mistakes, each with its code and its message.

use crate::gallery::{GALLERY, Mistake};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "\
# Mistakes and messages

Generated from the gallery in examples/mistakes by `UPDATE_DOCS=1 cargo test --test docs`; do not edit. `cargo run
--example mistakes` prints it, in colours on a terminal.

Each entry says what was intended, then shows the code and the full message. Operators do not panic: Broadloom collects
mistakes, stays silent about everything that depends on one, and reports all of them at once in `compile`, `check` or
`finish`. Forms such as `try_add` return theirs immediately. `{}` prints only the headline of an error; `{:#}` and `{:?}` print what this page shows. `colored()`
adds ANSI colours. Every help that changes shapes has been tried before it is offered.

Codes: `S` shapes, `T` types, `N` names and the graph as a whole, `M` memory, `R` data, `C` chunks, `P` texts, `L` warnings.
Programs in the text language get errors of all these kinds, with positions in their text.

| code | chunks |
| --- | --- |
| C001 | no size has this name |
| C002 | a result needs more than the rows of one chunk |
| C003 | the kernels of the parts cannot be compiled |
| C004 | an input or a size was passed with a chunk instead of at the start, or vice versa |
| C005 | a chunk other than the last has a number of rows that is not the required multiple |
| C006 | a size differs from the first chunk |
| C007 | a pass has a different number of rows than the first |
| C008 | no chunk was passed |
| C009 | the rows must be passed again, or all passes are already done |
| C010 | an earlier chunk failed |

| code | texts |
| --- | --- |
| P001 | a syntax error, such as an unexpected token or an unclosed bracket |
| P002 | a feature of Python that the language does not have |
| P003 | a text that exceeds a limit for untrusted input |
| P004 | a number out of range, or arithmetic on numbers without a result |
| P005 | an unknown name |
| P006 | a name that is already taken |
| P007 | an unexpected or a missing argument |
| P008 | a value of the wrong kind |
| P009 | a statement in the wrong place, or too many or too few of them |
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
