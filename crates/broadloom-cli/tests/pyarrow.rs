//! Files that `broadloom` writes are read by pyarrow, and the other way round.

#[path = "../../../tests/pyarrow/mod.rs"]
mod pyarrow;

#[test]
fn files_are_those_of_pyarrow() {
    pyarrow::run("cli.py", env!("CARGO_BIN_EXE_broadloom"), &[], env!("CARGO_TARGET_TMPDIR"));
}
