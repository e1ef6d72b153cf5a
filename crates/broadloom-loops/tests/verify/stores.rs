//! Promises of indices that are not checked, and of streaming stores, broken.

use super::{Break, change, stored_access, storing};
use broadloom_loops::kernel::*;

/// Indices that may be of no element, and stores that may not stream.
pub const STORES: &[(&str, &str, Break)] = &[
    ("Index", "take and iota", |schedule| {
        // An index that data give.
        let mut values = schedule.kernels.iter_mut().flat_map(|kernel| &mut kernel.values);
        let taken = values.find_map(|value| match &mut value.def {
            Def::Take { position, .. } => Some(position),
            _ => None,
        });
        *taken.unwrap() = None;
    }),
    ("Index", "segments", |schedule| {
        // As it was given, without a check.
        let given = |kernel: &Kernel| {
            kernel.values.iter().enumerate().find_map(|(id, value)| match value.def {
                Def::Checked { index, .. } => Some((ValueId::new(id), index)),
                _ => None,
            })
        };
        let known: Vec<_> = schedule.kernels.iter().filter_map(given).collect();
        change(schedule, &mut |stmt| match stmt {
            Stmt::Scatter { index, .. } => match known.iter().find(|(checked, _)| checked == index) {
                Some((_, given)) => {
                    *index = *given;
                    true
                }
                None => false,
            },
            _ => false,
        });
    }),
    ("Streams", "bias", |schedule| {
        // An input that is read.
        schedule.kernels[0].accesses[0].streams = true;
    }),
    ("Streams", "bias", |schedule| {
        // A store of single elements.
        let stored = stored_access(schedule);
        schedule.kernels[0].accesses[stored.index()].streams = true;
        change(schedule, &mut |stmt| match stmt {
            Stmt::For { lanes: lanes @ 2.., .. } => {
                *lanes = 1;
                true
            }
            _ => false,
        });
    }),
    ("Streams", "bias", |schedule| {
        // Two arrays of one loop.
        let stored = stored_access(schedule);
        schedule.kernels[0].accesses[stored.index()].streams = true;
        let other = schedule.kernels[0].accesses[stored.index()].clone();
        schedule.kernels[0].accesses.push(other);
        let other = AccessId::new(schedule.kernels[0].accesses.len() - 1);
        storing(schedule, |body, place| {
            let mut second = body[place].clone();
            if let Stmt::Store { access, .. } = &mut second {
                *access = other;
            }
            body.push(second);
        });
    }),
    ("Streams", "bias", |schedule| {
        // An array that a kernel reads afterwards.
        let stored = stored_access(schedule);
        let access = &mut schedule.kernels[0].accesses[stored.index()];
        access.streams = true;
        let output = access.buffer.unwrap();
        let reader = schedule.kernels[0].accesses.iter_mut().find(|access| access.buffer != Some(output));
        reader.unwrap().buffer = Some(output);
    }),
];
