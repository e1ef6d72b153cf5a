//! docs/language.md: what is written by hand in language.md, and the tables of names and functions behind it.

use broadloom::DType;
use broadloom_text::Program;
use std::fmt::Write;

const HEAD: &str = include_str!("language.md");

const CONVERSION: &str = "
Dtypes meet as in NumPy: `f32 + f64` is f64, `i32 + f32` is f64, `u8 + i8` is i16. `x.astype(f32)` and `f32(x)` convert. Sums and
products of integers are i64 or u64, their means f64.

## Functions

Arguments with `=` are optional; `..` stands for further arguments, one by one or as a list. [ops.md](ops.md) has
dtypes, accuracy and examples of those of its tables; `broadloom ops NAME` explains each one, with shapes, dtypes and an example.

| function | other names | meaning |
| --- | --- | --- |
";

const BOUNDS: &str = "
## What is accepted

Texts need not be trusted. They have at most 262,144 bytes and 50,000 tokens; brackets, prefix operators and powers stand within
each other at most 64 deep; numbers have at most 64 letters; and a program makes at most 20,000 operations. The codes of
mistakes are listed in [errors.md](errors.md).
";

/// The page.
pub fn render() -> String {
    let mut page = HEAD.to_owned();
    for dtype in DType::ALL {
        let others: Vec<String> = dtype_names(*dtype).map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "| `{dtype}` | {} |", others.join(", "));
    }
    page += CONVERSION;
    let ops = crate::render();
    for name in broadloom_text::functions() {
        let usage = broadloom_text::usage(name).expect("a function");
        let others: Vec<String> = broadloom_text::other_names(name).map(|name| format!("`{name}`")).collect();
        let of_tables = || {
            let row = ops.lines().find_map(|line| line.strip_prefix(&format!("| `{name}` | ")));
            row.and_then(|row| row.split(" | ").next()).unwrap_or_default()
        };
        let meaning =
            broadloom_text::explanation(name).map_or_else(of_tables, |explanation| explanation.meaning);
        let _ = writeln!(page, "| `{usage}` | {} | {meaning} |", others.join(", "));
    }
    page += BOUNDS;
    page
}

/// NumPy's names that mean a dtype.
fn dtype_names(dtype: DType) -> impl Iterator<Item = &'static str> {
    const NAMES: &[&str] = &[
        "bool_", "int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "float16",
        "bfloat16", "float32", "float64", "float",
    ];
    NAMES.iter().copied().filter(move |name| broadloom_text::dtype(name) == Some(dtype))
}

/// Reads the programs of a page, whose results are what the comments at their ends say, and returns their number.
pub fn read_programs(page: &str) -> usize {
    let blocks: Vec<&str> =
        page.split("```program\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    for text in &blocks {
        let graph = Program::parse("page", text).and_then(|program| program.resolve());
        let graph = graph.unwrap_or_else(|mistakes| panic!("{text}\n{mistakes:#}"));
        let expected: String = text
            .lines()
            .filter_map(|line| line.strip_prefix("# -> "))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(broadloom_text::signature(&graph), expected, "{text}");
    }
    blocks.len()
}

#[test]
fn the_programs_of_the_page_are_read() {
    assert!(read_programs(HEAD) >= 4);
}

/// Every function is explained: by a row of docs/ops.md, or by one of its own.
#[test]
fn every_function_is_explained() {
    let ops = crate::render();
    let lacking: Vec<&str> = broadloom_text::functions()
        .filter(|name| {
            broadloom_text::explanation(name).is_none() && !ops.contains(&format!("| `{name}` | "))
        })
        .collect();
    assert!(lacking.is_empty(), "explanations in broadloom-text/src/reference.rs are missing: {lacking:?}");
}

/// The bounds of the page are those of the library.
#[test]
fn the_bounds_are_those_of_the_library() {
    let limits = broadloom_text::Limits::default();
    let numbers = [limits.length, limits.tokens, limits.nesting, limits.number, limits.nodes];
    assert_eq!(numbers, [262_144, 50_000, 64, 64, 20_000]);
}
