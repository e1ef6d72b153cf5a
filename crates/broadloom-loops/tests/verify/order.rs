//! The promises of sorts and searches in sorted tables, broken.

use super::{Break, change, first};
use broadloom_ir::dtype::DType;
use broadloom_loops::kernel::*;

/// Changes the first sort of rows.
fn sort(schedule: &mut Schedule, act: impl Fn(&mut SortRow, &mut [Access], &mut Option<AxisId>)) {
    let found = schedule.kernels.iter_mut().any(|kernel| {
        let Kernel { body, accesses, parallel, .. } = kernel;
        first(body, &mut |body| {
            body.iter_mut().any(|stmt| match stmt {
                Stmt::Sort(sort) => {
                    act(sort, accesses, parallel);
                    true
                }
                _ => false,
            })
        })
    });
    assert!(found, "{schedule}");
}

/// Changes what the first search is defined by.
fn search(schedule: &mut Schedule, act: impl Fn(&mut Def)) {
    let values = schedule.kernels.iter_mut().flat_map(|kernel| &mut kernel.values);
    let mut defs = values.map(|value| &mut value.def);
    act(defs.find(|def| matches!(def, Def::Search { .. })).expect("there is a search"));
}

/// The promises of sorts and searches, broken.
pub const ORDER: &[(&str, &str, Break)] = &[
    ("Nested", "sorted rows", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Sort(sort) => {
                *stmt = Stmt::For { axis: sort.axis, lanes: 1, body: vec![stmt.clone()] };
                true
            }
            _ => false,
        });
    }),
    ("Form", "sorted rows", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::For { lanes, body, .. } if body.iter().any(|stmt| matches!(stmt, Stmt::Sort(_))) => {
                *lanes = 8;
                true
            }
            _ => false,
        });
    }),
    ("Form", "sorted rows", |schedule| sort(schedule, |sort, _, parallel| *parallel = Some(sort.axis))),
    // Neighbours that lie apart.
    ("Moved", "sorted rows", |schedule| {
        sort(schedule, |sort, accesses, _| accesses[sort.source.index()].strides[0].1 = Stride::Constant(2));
    }),
    ("Moved", "sorted rows", |schedule| {
        sort(schedule, |sort, accesses, _| accesses[sort.target.index()].strides[0].1 = Stride::Constant(2));
    }),
    // One row for all threads.
    ("Shared", "sorted rows", |schedule| {
        sort(schedule, |sort, accesses, _| accesses[sort.target.index()].strides.truncate(1));
    }),
    // Into itself, into an input, and indices in place of elements.
    ("Buffer", "sorted columns of what is computed", |schedule| {
        sort(schedule, |sort, accesses, _| {
            accesses[sort.source.index()].buffer = accesses[sort.target.index()].buffer;
        });
    }),
    ("Buffer", "sorted rows", |schedule| {
        sort(schedule, |sort, accesses, _| {
            accesses[sort.target.index()].buffer = accesses[sort.source.index()].buffer;
        });
    }),
    ("Buffer", "sorted rows", |schedule| sort(schedule, |sort, _, _| sort.indices = !sort.indices)),
    ("Missing", "places in a table", |schedule| {
        search(schedule, |def| {
            if let Def::Search { size, .. } = def {
                *size = Extent::Param(ParamId::new(1000));
            }
        });
    }),
    ("Undefined", "places in a table", |schedule| {
        let last = schedule.kernels.iter().map(|kernel| kernel.values.len()).max().unwrap_or(0);
        search(schedule, |def| {
            if let Def::Search { value, .. } = def {
                *value = ValueId::new(last - 1);
            }
        });
    }),
    ("Dtype", "places in a table", |schedule| {
        let kernel = schedule
            .kernels
            .iter_mut()
            .rev()
            .find(|kernel| kernel.values.iter().any(|value| matches!(value.def, Def::Search { .. })));
        let values = &mut kernel.expect("there is a search").values;
        let value = values.iter_mut().find(|value| matches!(value.def, Def::Search { .. }));
        value.expect("there is a search").dtype = DType::I32;
    }),
];
