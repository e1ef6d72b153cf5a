//! The promise that every element of an array is written, broken.

use super::Break;
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
