//! Whether arrays of a call share memory.
//!
//! Borrows keep arrays apart, but not all arrays come with borrows that say so: views may be made of raw pointers, and
//! those of interleaved columns cover each other's range without sharing an element. An output in such a range is
//! computed aside and copied when all inputs have been read.

use crate::array::{ArrayViewMut, Geometry};
use crate::bind::{ArrayName, BindError, Destination, Destinations, Ordered, Role};
use broadloom_ir::graph::{CheckedGraph, OutputInfo};
use smallvec::SmallVec;
use std::ops::Range;

/// An array that is written to.
struct Written {
    start: *const u8,
    range: Option<Range<i128>>,
    is_aside: bool,
}

/// Where the outputs go: to `arrays`, in order, or to arrays yet to be allocated; and assigned ones to their inputs.
pub(super) fn destinations<'g>(
    graph: &CheckedGraph,
    inputs: &'g Ordered<'_>,
    arrays: Option<&'g [ArrayViewMut<'_>]>,
) -> Result<Destinations<'g>, BindError> {
    let outputs = graph.outputs();
    let mut destinations = Destinations::new();
    let mut written: SmallVec<[Written; 2]> = SmallVec::new();
    for (index, output) in outputs.iter().enumerate() {
        let input = output.assigned.and_then(|input| inputs[input.index()].as_ref());
        let array = arrays.and_then(|arrays| arrays.get(index));
        let (destination, start, range) = match (input, array) {
            (Some(input), _) => {
                let (start, geometry) = (input.view.pointer(), input.view.geometry());
                (Destination::InPlace(geometry), start, range(start, geometry))
            }
            (None, Some(array)) => {
                let (start, geometry) = (array.pointer().cast_const(), array.geometry());
                (Destination::Array(geometry), start, range(start, geometry))
            }
            (None, None) => (Destination::Own, std::ptr::null(), None),
        };
        destinations.push(destination);
        written.push(Written { start, range, is_aside: false });
    }
    if written.iter().all(|this| this.range.is_none()) {
        return Ok(destinations);
    }
    for (index, input) in inputs.iter().enumerate() {
        let Some(input) = input else { continue };
        let read = range(input.view.pointer(), input.view.geometry());
        for (this, output) in written.iter_mut().zip(outputs) {
            let is_own = output.assigned.is_some_and(|own| own.index() == index);
            this.is_aside |= !is_own && overlap(&this.range, &read);
        }
    }
    for index in 0..written.len() {
        for other in index + 1..written.len() {
            if overlap(&written[index].range, &written[other].range) {
                if written[index].start == written[other].start {
                    let [first, second] = [index, other].map(|index| name(&outputs[index]));
                    return Err(BindError::SameArray { first, second });
                }
                written[index].is_aside = true;
                written[other].is_aside = true;
            }
        }
    }
    for (destination, this) in destinations.iter_mut().zip(&written) {
        if let (Destination::Array(geometry) | Destination::InPlace(geometry), true) =
            (*destination, this.is_aside)
        {
            *destination = Destination::Aside(geometry);
        }
    }
    Ok(destinations)
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
