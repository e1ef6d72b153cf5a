//! The recorded accuracy holds: the table is complete, within the bounds and rendered, and neither its worst
//! arguments nor a part of what the sweep goes through show larger errors.

use crate::proof::measure::{Finding, NUMERICS, f32_errors, f64_errors, fingerprints, settled};
use crate::proof::random::Format;
use crate::proof::record::{self, COMMAND, Entry, TABLE, rounded_up};
use crate::proof::render::{PAGE, render};
use crate::proof::samples::probe;
use crate::proof::table::{FUNCTIONS, Row};
use broadloom_math::Function;
use std::fs;

fn recorded() -> Vec<Entry> {
    record::read().unwrap_or_else(|error| panic!("{error}; `{COMMAND}` writes the table"))
}

fn of<'a>(record: &'a [Entry], row: &Row, format: Format, numerics: usize) -> &'a Entry {
    let function = row.function;
    record
        .iter()
        .find(|entry| (entry.function, entry.format, entry.numerics) == (function, format, numerics))
        .unwrap_or_else(|| {
            let numerics = NUMERICS[numerics];
            panic!(
                "{function} {} {numerics} has not been measured: `{COMMAND} -- --function {function}`",
                format.name
            )
        })
}

#[test]
fn every_function_has_one_row() {
    let rows: Vec<_> = FUNCTIONS.iter().map(|row| row.function).collect();
    assert_eq!(rows, Function::ALL);
}

#[test]
fn recorded_errors_are_within_the_bounds() {
    let record = recorded();
    for row in FUNCTIONS {
        for format in Format::ALL {
            for numerics in 0..NUMERICS.len() {
                let entry = of(&record, row, format, numerics);
                assert!(entry.worst.error <= row.bound(format), "{entry:?}, bound {}", row.bound(format));
                let all = row.function.arity() == 1 && format != Format::F64;
                assert!(entry.tested >= if all { 1 << 32 } else { 1_000_000 }, "{entry:?}: `{COMMAND}`");
            }
        }
    }
}

#[test]
fn the_table_and_the_page_are_as_written() {
    let table = fs::read_to_string(TABLE).expect("the table can be read");
    assert!(table == record::print(recorded()), "{TABLE} is not as `{COMMAND}` writes it");
    let page = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(page == render(&recorded()), "docs/accuracy.md is out of date: `{COMMAND} -- --render`");
}

#[test]
fn worst_arguments_are_as_bad_as_recorded() {
    for Entry { function, format, numerics, worst, .. } in recorded() {
        let row = FUNCTIONS.iter().find(|row| row.function == function).expect("every function has a row");
        let error = rounded_up(settled(row, format, worst.at)[numerics]);
        assert!(
            error == worst.error,
            "{function} {} {} at {:?}: {error} ulp, recorded {}; if the code has changed, `{COMMAND}`",
            format.name,
            NUMERICS[numerics],
            worst.at,
            worst.error
        );
    }
}

/// Fails at other results than were measured, and at an error that is larger than recorded.
fn compare(record: &[Entry], row: &Row, format: Format) {
    let (function, name) = (row.function, format.name);
    let entries = [0, 1].map(|numerics| of(record, row, format, numerics));
    let arguments = probe(row, format);
    let recorded = entries.map(|entry| entry.worst.error);
    let found = |numerics: usize, Finding { at, .. }: Finding| {
        let error = rounded_up(settled(row, format, at)[numerics]);
        let (most, numerics) = (recorded[numerics], NUMERICS[numerics]);
        assert!(error <= most, "{function} {name} {numerics} at {at:?}: {error} ulp, recorded {most}");
    };
    if format == Format::F64 {
        f64_errors(row, arguments.iter().copied(), recorded, found);
    } else {
        f32_errors(row, arguments.iter().map(|&(x, y)| (x as f32, y as f32)), recorded, found);
    }
    assert!(
        fingerprints(row, format, &arguments) == entries.map(|entry| entry.fingerprint),
        "{function} {name} was measured when it had other results: `{COMMAND} -- --function {function}`"
    );
}

#[test]
fn f32_is_as_recorded() {
    let record = recorded();
    FUNCTIONS.iter().for_each(|row| compare(&record, row, Format::F32));
}

#[test]
fn f64_is_as_recorded() {
    let record = recorded();
    FUNCTIONS.iter().for_each(|row| compare(&record, row, Format::F64));
}

/// Next to the switch of a power of two, and where e^x is just above one and its quotient just below: arguments that
/// random ones of every size had missed.
#[test]
fn the_record_covers_short_intervals() {
    let record = recorded();
    for (function, x) in [(Function::Sigmoid, -2.7445351205850876), (Function::Softplus, -2.758283745845752)]
    {
        let row = FUNCTIONS.iter().find(|row| row.function == function).expect("every function has a row");
        for (numerics, error) in settled(row, Format::F64, (x, 0.0)).into_iter().enumerate() {
            let recorded = of(&record, row, Format::F64, numerics).worst.error;
            assert!(error <= recorded, "{function} at {x}: {error} ulp, recorded {recorded}");
        }
    }
}
