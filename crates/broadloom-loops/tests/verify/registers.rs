//! Promises of what stays in registers, broken.

use super::{Break, change};
use broadloom_loops::kernel::*;

/// Finds the first contraction that has an epilogue of a kind, and gives it another one.
fn epilogue(schedule: &mut Schedule, is_kind: fn(Epilogue) -> bool, other: Epilogue) {
    change(schedule, &mut |stmt| match stmt {
        Stmt::Contract(contract) if is_kind(contract.epilogue) => {
            contract.epilogue = other;
            true
        }
        _ => false,
    });
}

/// What stays in registers, though something needs it in rows.
pub const REGISTERS: &[(&str, &str, Break)] = &[
    ("Form", "nearest code", |schedule| {
        // The least sums are not roots.
        let of_sums = |of| of == Epilogue::Extremes { of_roots: false };
        epilogue(schedule, of_sums, Epilogue::Extremes { of_roots: true });
    }),
    ("Form", "nearest code", |schedule| {
        // There is no fold.
        epilogue(schedule, |of| of != Epilogue::Store, Epilogue::Fold);
    }),
    ("Form", "sums of sums over pairs", |schedule| {
        // There are no extremes.
        epilogue(schedule, |of| of == Epilogue::Fold, Epilogue::Extremes { of_roots: false });
    }),
    ("Form", "columns of functions, matrix product", |schedule| {
        // A loop after the contraction reads the results.
        epilogue(schedule, |of| of == Epilogue::Store, Epilogue::Extremes { of_roots: false });
    }),
    ("Form", "nearest code", |schedule| {
        // Steps of a block of no elements would leave the rows as they are.
        let mut axis = None;
        change(schedule, &mut |stmt| match stmt {
            Stmt::Contract(contract) => {
                axis = Some(contract.axis);
                true
            }
            _ => false,
        });
        schedule.kernels[0].axes[axis.unwrap().index()].extent = Extent::Constant(0);
    }),
    ("Form", "standardised columns", |schedule| {
        // Columns are read from an array, which ends with the strip.
        change(schedule, &mut |stmt| match stmt {
            Stmt::Stream(stream) if !stream.dense && !stream.padded => {
                stream.padded = true;
                true
            }
            _ => false,
        });
    }),
    ("Form", "nearest code", |schedule| {
        // Vectors past the end of the strip are as long as two of the rows.
        change(schedule, &mut |stmt| match stmt {
            Stmt::Stream(stream) if stream.padded => {
                stream.lanes = 4096;
                true
            }
            _ => false,
        });
    }),
    ("Form", "rows, columns, all", |schedule| {
        // Vectors along the row have no rows in lanes.
        change(schedule, &mut |stmt| match stmt {
            Stmt::Reduce(reduce) if reduce.transposed.is_empty() => {
                let loaded = reduce.body.iter().find_map(|stmt| match stmt {
                    Stmt::Let(value) => Some(*value),
                    _ => None,
                });
                reduce.transposed.extend(loaded);
                loaded.is_some()
            }
            _ => false,
        });
    }),
    ("Form", "short rows by what they are reduced to", |schedule| {
        // What is no load has no row.
        let constant = ValueId::new(0);
        change(schedule, &mut |stmt| match stmt {
            Stmt::Reduce(reduce) if !reduce.transposed.is_empty() => {
                reduce.transposed.push(constant);
                true
            }
            _ => false,
        });
    }),
    ("Form", "sum with a transpose", |schedule| {
        // Rows of 16 bytes do not fill so few rows.
        change(schedule, &mut |stmt| match stmt {
            Stmt::Strip { length, .. } => {
                *length = 6;
                true
            }
            _ => false,
        });
    }),
    ("Form", "nearest codes", |schedule| {
        // Tiles read the rows, and nothing else holds them.
        change(schedule, &mut |stmt| match stmt {
            Stmt::Transpose { in_registers, .. } => {
                *in_registers = !*in_registers;
                *in_registers
            }
            _ => false,
        });
    }),
];
