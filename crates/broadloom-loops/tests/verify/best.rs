//! The promises of searches for the best elements, broken.

use super::{Break, change, first};
use broadloom_ir::dtype::DType;
use broadloom_loops::kernel::*;

/// Changes the first walk for the best elements.
fn best(schedule: &mut Schedule, act: impl Fn(&mut Best, &mut [Row], &mut [Axis])) {
    let found = schedule.kernels.iter_mut().any(|kernel| {
        let Kernel { body, rows, axes, .. } = kernel;
        first(body, &mut |body| {
            body.iter_mut().any(|stmt| match stmt {
                Stmt::Best(best) => {
                    act(best, rows, axes);
                    true
                }
                _ => false,
            })
        })
    });
    assert!(found, "{schedule}");
}

/// The promises of walks for the best elements, broken.
pub const BEST: &[(&str, &str, Break)] = &[
    // More elements than there are places.
    ("Short", "best of rows", |schedule| {
        best(schedule, |best, rows, _| rows[best.values.index()].length += 1);
    }),
    ("Short", "best of rows", |schedule| {
        best(schedule, |best, rows, _| rows[best.indices.index()].length -= 1);
    }),
    ("RowDtype", "best of rows", |schedule| {
        best(schedule, |best, rows, _| rows[best.indices.index()].dtype = DType::I32);
    }),
    ("RowDtype", "best of what is computed", |schedule| {
        best(schedule, |best, rows, _| rows[best.values.index()].dtype = DType::F64);
    }),
    ("Row", "best of rows", |schedule| {
        best(schedule, |best, rows, _| rows[best.values.index()].span = Span::Strip);
    }),
    ("Form", "best of rows", |schedule| {
        best(schedule, |best, _, axes| axes[best.places.index()].extent = Extent::Param(ParamId::new(0)));
    }),
    ("Form", "best of rows", |schedule| best(schedule, |best, _, _| best.places = best.axis)),
    // Nothing fills the row, or something beside the array.
    ("Form", "best of what is computed", |schedule| best(schedule, |best, _, _| best.body.clear())),
    ("Form", "best of rows", |schedule| {
        best(schedule, |best, _, _| best.body.push(Stmt::Strip { axis: best.axis, length: 8, body: vec![] }));
    }),
    ("Row", "best of what is computed", |schedule| {
        best(schedule, |best, _, _| best.body.truncate(1));
    }),
    ("Overwritten", "best of what is computed", |schedule| {
        best(schedule, |best, rows, _| {
            if let Operand::Row(row) = best.source {
                rows[best.values.index()].offset = rows[row.index()].offset;
            }
        });
    }),
    ("Nested", "best of rows", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Best(best) => {
                *stmt = Stmt::For { axis: best.axis, lanes: 1, body: vec![stmt.clone()] };
                true
            }
            _ => false,
        });
    }),
    ("Form", "best of rows", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::For { lanes, body, .. } if body.iter().any(|stmt| matches!(stmt, Stmt::Best(_))) => {
                *lanes = 8;
                true
            }
            _ => false,
        });
    }),
];

/// Changes the first walk for the best elements of all of a strip.
fn best_rows(schedule: &mut Schedule, act: impl Fn(&mut BestRows, &mut [Row], &mut [Axis])) {
    let found = schedule.kernels.iter_mut().any(|kernel| {
        let Kernel { body, rows, axes, .. } = kernel;
        first(body, &mut |body| {
            body.iter_mut().any(|stmt| match stmt {
                Stmt::BestRows(best) => {
                    act(best, rows, axes);
                    true
                }
                _ => false,
            })
        })
    });
    assert!(found, "{schedule}");
}

/// Puts the first of them into a loop over one of its axes.
fn around_best_rows(schedule: &mut Schedule, axis: impl Fn(&BestRows) -> AxisId) {
    change(schedule, &mut |stmt| match stmt {
        Stmt::BestRows(best) => {
            let axis = axis(best);
            *stmt = Stmt::For { axis, lanes: 1, body: vec![stmt.clone()] };
            true
        }
        _ => false,
    });
}

/// The promises of such walks, broken.
pub const BEST_ROWS: &[(&str, &str, Break)] = &[
    // More places than are asked for, and fewer.
    ("Short", "best of columns", |schedule| {
        best_rows(schedule, |best, rows, _| rows[best.values.index()].count += 1);
    }),
    ("Row", "best of columns", |schedule| {
        best_rows(schedule, |best, rows, _| rows[best.indices.index()].count -= 1);
    }),
    ("RowDtype", "best of columns", |schedule| {
        best_rows(schedule, |best, rows, _| rows[best.indices.index()].dtype = DType::I32);
    }),
    ("RowDtype", "nearest codes", |schedule| {
        best_rows(schedule, |best, rows, _| rows[best.values.index()].dtype = DType::F64);
    }),
    ("Row", "best of columns", |schedule| {
        best_rows(schedule, |best, rows, _| rows[best.values.index()].span = Span::Strip);
    }),
    ("Form", "best of columns", |schedule| {
        best_rows(schedule, |best, _, axes| {
            axes[best.places.index()].extent = Extent::Param(ParamId::new(0))
        });
    }),
    ("Form", "best of columns", |schedule| best_rows(schedule, |best, _, _| best.places = best.axis)),
    ("Form", "best of columns", |schedule| best_rows(schedule, |best, _, _| best.strip = best.places)),
    // The strip of the places is not all of them.
    ("Form", "best of columns", |schedule| {
        best_rows(schedule, |best, _, axes| axes[best.places.index()].extent = Extent::Constant(4));
    }),
    // What lies apart along the strip.
    ("Moved", "best of columns", |schedule| {
        let kernel = schedule.kernels.last_mut().unwrap();
        kernel.accesses.iter_mut().for_each(|access| {
            let strides = access.strides.iter_mut();
            strides
                .filter(|(_, stride)| *stride == Stride::Constant(1))
                .for_each(|(_, s)| *s = Stride::Constant(2));
        });
    }),
    // Nothing fills the row.
    ("Row", "nearest codes", |schedule| best_rows(schedule, |best, _, _| best.ahead.clear())),
    ("Overwritten", "nearest codes", |schedule| {
        best_rows(schedule, |best, rows, _| {
            if let Operand::Row(row) = best.source {
                rows[best.values.index()].offset = rows[row.index()].offset;
            }
        });
    }),
    ("Nested", "best of columns", |schedule| around_best_rows(schedule, |best| best.axis)),
    ("Form", "best of columns", |schedule| around_best_rows(schedule, |best| best.strip)),
];
