//! The promise that every element of an array is written, broken.

use super::{Break, change, stored_access};
use broadloom_ir::dim::Dim;
use broadloom_loops::kernel::*;

fn output(schedule: &mut Schedule) -> &mut Buffer {
    schedule.buffers.iter_mut().find(|buffer| matches!(buffer.role, Role::Output(_))).unwrap()
}

/// Arrays with other elements than those that are written.
pub const COVERAGE: &[(&str, &str, Break)] = &[
    ("Coverage", "bias", |schedule| {
        let output = output(schedule);
        output.shape = output.shape.iter().cloned().chain([Dim::constant(2)]).collect();
    }),
    // More than the array has, which starts as another of its shape.
    ("Coverage", "bias", |schedule| {
        let shape = schedule.buffers[0].shape.iter().map(|_| Dim::ONE).collect::<Vec<_>>();
        output(schedule).shape = shape.clone().into();
        schedule.buffers[0].shape = shape.into();
        let dtype = schedule.buffers[0].dtype;
        let output = output(schedule);
        assert_eq!(output.dtype, dtype);
        output.starts_as = Some(BufferId::new(0));
    }),
    // Rows that data choose, in an array of which nothing else is there.
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
        // An array that a kernel reads afterwards.
        let stored = stored_access(schedule);
        let access = &mut schedule.kernels[0].accesses[stored.index()];
        access.streams = true;
        let output = access.buffer.unwrap();
        let reader = schedule.kernels[0].accesses.iter_mut().find(|access| access.buffer != Some(output));
        reader.unwrap().buffer = Some(output);
    }),
    ("Coverage", "positions", |schedule| {
        for buffer in &mut schedule.buffers {
            buffer.starts_as = None;
        }
    }),
    ("Start", "bias", |schedule| output(schedule).starts_as = Some(BufferId::new(99))),
    ("Start", "bias", |schedule| {
        let index =
            schedule.buffers.iter().position(|buffer| matches!(buffer.role, Role::Output(_))).unwrap();
        schedule.buffers[index].starts_as = Some(BufferId::new(index));
    }),
];
