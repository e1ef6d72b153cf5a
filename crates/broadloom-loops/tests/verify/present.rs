//! The promise that what is read exists, broken.

use super::{Break, change, kind};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, Site, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_loops::kernel::*;
use broadloom_loops::{LowerOptions, lower, verify};

/// Reads of arrays without elements.
pub const PRESENT: &[(&str, &str, Break)] = &[
    // The loops run, whatever the table has.
    ("Empty", "bias", |schedule| schedule.buffers[1].shape = vec![Dim::ZERO].into()),
    ("Empty", "sorted rows", |schedule| {
        let mut source = None;
        change(schedule, &mut |stmt| match stmt {
            Stmt::Sort(sort) => {
                source = Some(sort.source);
                true
            }
            _ => false,
        });
        let of_kernel =
            |kernel: &Kernel| source.and_then(|access| kernel.accesses.get(access.index())?.buffer);
        let buffer = schedule.kernels.iter().find_map(of_kernel).unwrap();
        schedule.buffers[buffer.index()].shape = vec![Dim::ZERO, Dim::ONE].into();
    }),
];

/// The first element is read before the loop, because the graph demands that there is one.
#[test]
fn a_condition_allows_a_read_before_the_loop() {
    let mut graph = Graph::new();
    let [n, m] = ["n", "m"].map(|name| graph.symbol(name, Site::caller()));
    let x = graph.input("x", DType::F32, vec![Dim::symbol(n)].into(), Site::caller());
    let y = graph.input("y", DType::F32, vec![Dim::symbol(m)].into(), Site::caller());
    let first = graph.slice(x, &[SliceSpec::At(Dim::ZERO)], Site::caller());
    let sum = graph.elementwise(Op::Add, &[y, first], Site::caller());
    let checked = graph.finish(&[("sum", sum)]).unwrap();
    let mut schedule = lower(&checked, &LowerOptions::dense(&checked, true)).unwrap();
    assert_eq!(verify(&schedule), Ok(()));
    schedule.conditions.clear();
    assert_eq!(verify(&schedule).map_err(|broken| kind(&broken.fault)), Err("Empty"), "{schedule}");
}
