//! Whether arrays of a call share memory.
//!
//! Borrows keep arrays apart, but not all arrays come with borrows that say so: views may be made of raw pointers, and
//! those of interleaved columns cover each other's range without sharing an element. An output in such a range is
//! computed aside and copied when all inputs have been read.

use crate::array::{ArrayViewMut, Geometry};
use crate::bind::plan::Destination;
use crate::bind::{ArrayName, BindError, Ordered, Role};
use broadloom_ir::graph::{CheckedGraph, OutputInfo};
use smallvec::SmallVec;
use std::ops::Range;

/// An array that is written to.
struct Written<'g> {
    start: *const u8,
    range: Option<Range<i128>>,
    destination: Destination<'g>,
}

/// Where the outputs go: to `arrays`, in order, or to arrays yet to be allocated; and assigned ones to their inputs.
pub(super) fn destinations<'g>(
    graph: &CheckedGraph,
    inputs: &'g Ordered<'_>,
    arrays: Option<&'g [ArrayViewMut<'_>]>,
) -> Result<SmallVec<[Destination<'g>; 4]>, BindError> {
    let mut written: SmallVec<[Written<'g>; 4]> = SmallVec::new();
    for (index, output) in graph.outputs().iter().enumerate() {
        let input = output.assigned.and_then(|input| inputs[input.index()].as_ref());
        let array = arrays.and_then(|arrays| arrays.get(index));
        written.push(match (input, array) {
            (Some(input), _) => {
                let (start, geometry) = (input.view.pointer(), input.view.geometry());
                Written { start, range: range(start, geometry), destination: Destination::InPlace(geometry) }
            }
            (None, Some(array)) => {
                let (start, geometry) = (array.pointer().cast_const(), array.geometry());
                Written { start, range: range(start, geometry), destination: Destination::Array(geometry) }
            }
            (None, None) => Written { start: std::ptr::null(), range: None, destination: Destination::Own },
        });
    }
    let mut aside: SmallVec<[bool; 4]> = SmallVec::from_elem(false, written.len());
    for (index, this) in written.iter().enumerate() {
        let own = graph.outputs()[index].assigned.map(|input| input.index());
        let others = inputs.iter().enumerate().filter(|(input, _)| Some(*input) != own);
        let read = others.filter_map(|(_, input)| input.as_ref());
        aside[index] |= read
            .into_iter()
            .any(|input| overlap(&this.range, &range(input.view.pointer(), input.view.geometry())));
        for (other, that) in written.iter().enumerate().skip(index + 1) {
            if overlap(&this.range, &that.range) {
                if this.start == that.start {
                    let [first, second] = [index, other].map(|index| name(&graph.outputs()[index]));
                    return Err(BindError::SameArray { first, second });
                }
                aside[index] = true;
                aside[other] = true;
            }
        }
    }
    let settle = |(written, aside): (&Written<'g>, bool)| match written.destination {
        Destination::Array(geometry) | Destination::InPlace(geometry) if aside => {
            Destination::Aside(geometry)
        }
        destination => destination,
    };
    Ok(written.iter().zip(aside).map(settle).collect())
}

fn name(output: &OutputInfo) -> ArrayName {
    let role = if output.assigned.is_some() { Role::Input } else { Role::Output };
    ArrayName { role, name: output.name.to_string() }
}

/// The addresses of an array's bytes, from the first element in memory to the last; `None` without elements.
fn range(start: *const u8, geometry: &Geometry) -> Option<Range<i128>> {
    let (first, last) = geometry.span()?;
    let (start, size) = (start.addr() as i128, geometry.dtype.size() as i128);
    Some(start + first * size..start + (last + 1) * size)
}

fn overlap(a: &Option<Range<i128>>, b: &Option<Range<i128>>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a.start < b.end && b.start < a.end)
}
