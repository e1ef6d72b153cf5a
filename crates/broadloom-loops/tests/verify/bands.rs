//! The promises of kernels that run together, broken.

use super::Break;
use broadloom_ir::dim::Dim;
use broadloom_ir::shape::Shape;
use broadloom_loops::kernel::*;

const NAME: &str = "sorted rows of what is computed";
const BATCH: &str = "sorted rows of a batch";

/// Changes the first kernel that counts the steps of several axes together.
fn counting(schedule: &mut Schedule, act: impl Fn(&mut Kernel)) {
    let mut kernels = schedule.kernels.iter_mut();
    act(kernels.find(|kernel| !kernel.counted.is_empty()).expect("a kernel counts together"));
}

/// Changes the access of the last kernel of the first band to an array that the band holds.
fn reading(schedule: &mut Schedule, act: impl Fn(&mut Access)) {
    let Band { kernels, held, .. } = &schedule.bands[0];
    let last = kernels.last().expect("a band has kernels").0;
    let mut accesses = schedule.kernels[last.index()].accesses.iter_mut();
    let of_held = |access: &&mut Access| access.buffer.is_some_and(|buffer| held.contains(&buffer));
    act(accesses.find(of_held).expect("it reads what the band holds"));
}

pub const BANDS: &[(&str, &str, Break)] = &[
    // A kernel before the one whose array it reads.
    ("Waits", NAME, |schedule| {
        let Wait { kernel, before, .. } = &mut schedule.waits[0];
        std::mem::swap(kernel, before);
    }),
    // Kernels in another order than that of the schedule.
    ("Together", NAME, |schedule| schedule.bands[0].kernels.swap(0, 1)),
    // More steps than there are.
    ("Together", NAME, |schedule| schedule.bands[0].kernels[0].1 = Dim::constant(2)),
    // A kernel without an axis for rows.
    ("Together", NAME, |schedule| {
        let first = schedule.bands[0].kernels[0].0;
        let kernel = &mut schedule.kernels[first.index()];
        let axis = kernel.parallel.expect("threads share it");
        kernel.axes[axis.index()].groups.push((AxisId::new(0), ParamId::new(0)));
    }),
    // A number of rows that nothing determines.
    ("Together", NAME, |schedule| {
        schedule.host_symbols.pop();
    }),
    // The steps of the outer loop alone, each of which is a whole table.
    ("Together", BATCH, |schedule| counting(schedule, |kernel| kernel.counted.clear())),
    // Loops in another order than steps are counted.
    ("Form", BATCH, |schedule| {
        counting(schedule, |kernel| {
            let outer = kernel.parallel.replace(kernel.counted[0]).expect("threads share it");
            kernel.counted[0] = outer;
        });
    }),
    // An axis that is counted twice.
    ("Form", BATCH, |schedule| {
        counting(schedule, |kernel| kernel.counted[0] = kernel.parallel.expect("threads share it"));
    }),
    // Several steps of the outer loop at once.
    ("Form", BATCH, |schedule| {
        counting(schedule, |kernel| {
            let axis = kernel.parallel;
            kernel.body.iter_mut().for_each(|stmt| match stmt {
                Stmt::For { axis: of, lanes, .. } if Some(*of) == axis => *lanes = 4,
                _ => {}
            });
        });
    }),
    // Each step of the inner loop writes the same elements.
    ("Shared", BATCH, |schedule| {
        counting(schedule, |kernel| {
            let axis = kernel.counted[0];
            kernel.accesses.iter_mut().for_each(|access| access.strides.retain(|(of, _)| *of != axis));
        });
    }),
    // A kernel in two bands.
    ("Together", NAME, |schedule| {
        let again = schedule.bands[0].clone();
        schedule.bands.push(again);
    }),
    // A kernel outside reads some rows as if they were all.
    ("Rows", NAME, |schedule| {
        schedule.bands[0].kernels.pop();
    }),
    // The next row.
    ("Rows", NAME, |schedule| {
        reading(schedule, |access| {
            let (_, row) = access.strides[0];
            let Stride::Param(_) = row else { panic!("a symbol") };
            access.offset = Dim::constant(1_000_000);
        });
    }),
    // The element before the row.
    ("Rows", NAME, |schedule| reading(schedule, |access| access.offset = Dim::constant(-1))),
    // Every other row.
    ("Rows", NAME, |schedule| {
        reading(schedule, |access| access.strides.iter_mut().for_each(|(_, by)| *by = Stride::Constant(2)));
    }),
    // Room for shorter rows.
    ("Rows", NAME, |schedule| {
        let held = schedule.bands[0].held[0];
        let rows = schedule.bands[0].rows;
        schedule.buffers[held.index()].shape = Shape::from(vec![Dim::symbol(rows), Dim::ONE]);
    }),
];
