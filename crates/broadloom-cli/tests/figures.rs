//! The figures of broadcasting in the pages are what the library and the program draw.
//! `UPDATE_DOCS=1 cargo test -p broadloom-cli --test figures` writes them anew.

use broadloom::prelude::*;
use broadloom_picture::BroadcastFigures;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Where the guide has its figures.
const GUIDE: &str = "crates/broadloom/src/guide/figures";

/// Compares a file with what it should be, or writes it.
fn check(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).expect("the file can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        found == expected,
        "{file} is out of date: `UPDATE_DOCS=1 cargo test -p broadloom-cli --test figures` writes it"
    );
}

/// A figure as an address. The pages of rustdoc have no files beside them.
fn address(svg: &str) -> String {
    let mut address = String::from("data:image/svg+xml,");
    for byte in svg.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'/'
            | b':'
            | b';'
            | b','
            | b'=' => {
                address.push(char::from(byte));
            }
            _ => {
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address
}

#[test]
fn the_figures_of_the_chapter_on_shapes() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, 3]);
    let y = g.input::<f32>("y", shape![m, 3]);
    let pairs = (x.unsqueeze(1) - y).compile().expect("the shapes fit");
    let pairs = BroadcastFigures::of_graph(pairs.explain().graph(), None).svg();

    let g = Graph::new();
    let table = g.input::<f32>("table", shape![4, 3]);
    let offsets = g.input::<f32>("offsets", shape![4]);
    let _ = table - offsets;
    let mistakes = g.check().expect_err("the shapes do not fit");
    let mismatch = BroadcastFigures::of_mistakes(&mistakes, None).svg();

    let mut addresses = String::new();
    for (name, svg) in [("pairs", pairs), ("mismatch", mismatch)] {
        check(&format!("{GUIDE}/{name}.svg"), &svg);
        let _ = writeln!(addresses, "[{name}]: <{}>", address(&svg));
    }
    check(&format!("{GUIDE}/addresses.md"), &addresses);
}

#[test]
fn the_figures_of_the_pages_of_the_program() {
    for (file, args) in [
        ("docs/broadcast.svg", ["a[:, None] + b", "a:f64[4]", "b:f64[3]"]),
        ("docs/mismatch.svg", ["a + b", "a:f32[4, 3]", "b:f32[4]"]),
    ] {
        let program = env!("CARGO_BIN_EXE_broadloom");
        let output = Command::new(program).args(["graph", "--broadcast"]).args(args).output();
        let output = output.expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        check(file, &String::from_utf8(output.stdout).expect("figures are UTF-8"));
    }
}
