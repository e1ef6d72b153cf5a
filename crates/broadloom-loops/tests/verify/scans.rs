//! The promises of running results, broken.

use super::{Break, change, first};
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::ReduceOp;
use broadloom_loops::kernel::*;

/// The promises of running results, broken.
pub const SCANS: &[(&str, &str, Break)] = &[
    // Threads share the steps along which results run.
    ("Form", "running sums of columns", |schedule| {
        schedule.kernels[0].parallel = schedule.kernels[0].scanned;
    }),
    // Several steps at once.
    ("Form", "running sums of columns", |schedule| {
        let scanned = schedule.kernels[0].scanned;
        change(schedule, &mut |stmt| match stmt {
            Stmt::For { axis, lanes, .. } if Some(*axis) == scanned => {
                *lanes = 4;
                true
            }
            _ => false,
        });
    }),
    // No axis along which they run.
    ("Row", "running sums of functions", |schedule| schedule.kernels[0].scanned = None),
    // Along another axis.
    ("Form", "running sums of rows", |schedule| {
        let other = schedule.kernels[0].parallel;
        change(schedule, &mut |stmt| match stmt {
            Stmt::Scan { axis, .. } => {
                *axis = other.unwrap_or(*axis);
                true
            }
            _ => false,
        });
    }),
    // Nothing that they begin with.
    ("Row", "running sums of functions", |schedule| {
        let found = first(&mut schedule.kernels[0].body, &mut |body| {
            let before = body.len();
            body.retain(|stmt| !matches!(stmt, Stmt::Begin { .. }));
            body.len() < before
        });
        assert!(found);
    }),
    // Begun again in each strip.
    ("Row", "running sums of functions", |schedule| {
        let mut begin = None;
        first(&mut schedule.kernels[0].body, &mut |body| {
            let place = body.iter().position(|stmt| matches!(stmt, Stmt::Begin { .. }));
            begin = place.map(|place| body.remove(place));
            begin.is_some()
        });
        change(schedule, &mut |stmt| match stmt {
            Stmt::Strip { body, .. } => {
                body.splice(0..0, begin.take());
                true
            }
            _ => false,
        });
    }),
    ("Row", "running sums of functions", |schedule| schedule.kernels[0].rows[0].span = Span::Strip),
    ("Row", "running sums of functions", |schedule| schedule.kernels[0].rows[0].length = 2),
    ("RowDtype", "running sums of functions", |schedule| schedule.kernels[0].rows[0].dtype = DType::F64),
    ("Row", "running sums of functions", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Scan { source: Operand::Row(row), target, .. } => {
                *target = Operand::Row(*row);
                *row = RowId::new(0);
                true
            }
            _ => false,
        });
    }),
    ("Order", "running sums of rows", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Scan { op, .. } => {
                *op = ReduceOp::ArgMax;
                true
            }
            _ => false,
        });
    }),
    // The row of the last results is another's, too.
    ("Overwritten", "running sums across functions", |schedule| {
        let rows = &mut schedule.kernels[0].rows;
        let place = rows[0].offset;
        rows.iter_mut().skip(1).for_each(|row| row.offset = place);
    }),
    // Of several rows: what they begin with is missing, is no row over these, or they are walked by a loop.
    ("Row", "running sums of rows", |schedule| {
        let found = first(&mut schedule.kernels[0].body, &mut |body| {
            let before = body.len();
            body.retain(|stmt| !matches!(stmt, Stmt::For { .. }));
            body.len() < before
        });
        assert!(found);
    }),
    ("Row", "running sums of rows", |schedule| schedule.kernels[0].rows[0].span = Span::One),
    ("Form", "running sums of rows", |schedule| {
        let rows = schedule.kernels[0].parallel.unwrap();
        change(schedule, &mut |stmt| match stmt {
            Stmt::Scan { .. } => {
                *stmt = Stmt::For { axis: rows, lanes: 1, body: vec![stmt.clone()] };
                true
            }
            _ => false,
        });
    }),
];
