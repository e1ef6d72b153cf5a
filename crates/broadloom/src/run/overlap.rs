//! Detects arrays of a call that share memory.
//!
//! Borrows keep arrays apart, but not all arrays come from such borrows: views may be made of raw pointers, and
//! views of interleaved columns cover each other's range without sharing an element. An output in such a range is
//! computed aside and copied once all inputs have been read.

use crate::array::{ArrayViewMut, Geometry};
use crate::bind::{ArrayName, BindError, Destination, Destinations, Ordered, Role};
use broadloom_ir::graph::{CheckedGraph, OutputInfo};
use smallvec::SmallVec;
use std::ops::Range;

/// An array that a call writes to.
struct Written<'g> {
    destination: Destination<'g>,
    start: *const u8,
    /// Its addresses; empty for an array yet to be allocated.
    bytes: Range<usize>,
}

impl<'g> Written<'g> {
    fn new(start: *const u8, geometry: &'g Geometry, to: fn(&'g Geometry) -> Destination<'g>) -> Self {
        Written { destination: to(geometry), start, bytes: geometry.addresses(start) }
    }
}

/// Returns where the outputs go: to `arrays`, in order, or to arrays yet to be allocated; assigned outputs go to
/// their inputs.
pub(super) fn destinations<'g>(
    graph: &CheckedGraph,
    inputs: &'g Ordered<'_>,
    arrays: Option<&'g [ArrayViewMut<'_>]>,
) -> Result<Destinations<'g>, BindError> {
    let outputs = graph.outputs();
    if arrays.is_none() && graph.results().len() == outputs.len() {
        return Ok(Destinations::from_elem(Destination::Own, outputs.len()));
    }
    let mut written: SmallVec<[Written<'g>; 2]> = SmallVec::new();
    for (index, output) in outputs.iter().enumerate() {
        let input = output.assigned.and_then(|input| inputs[input.index()].as_ref());
        let array = arrays.and_then(|arrays| arrays.get(index));
        written.push(match (input, array) {
            (Some(input), _) => {
                Written::new(input.view.pointer(), input.view.geometry(), Destination::InPlace)
            }
            (None, Some(array)) => Written::new(array.pointer(), array.geometry(), Destination::Array),
            (None, None) => Written { destination: Destination::Own, start: std::ptr::null(), bytes: 0..0 },
        });
    }
    put_aside(outputs, inputs, &mut written)?;
    let mut destinations = Destinations::new();
    for this in &written {
        destinations.push(this.destination);
    }
    Ok(destinations)
}

/// Moves outputs aside if they would be written where something else is read or written.
fn put_aside(
    outputs: &[OutputInfo],
    inputs: &Ordered<'_>,
    written: &mut [Written<'_>],
) -> Result<(), BindError> {
    for (index, input) in inputs.iter().enumerate() {
        let Some(input) = input else { continue };
        let read = input.view.geometry().addresses(input.view.pointer());
        for (this, output) in written.iter_mut().zip(outputs) {
            let is_own = output.assigned.is_some_and(|own| own.index() == index);
            if !is_own && overlap(&this.bytes, &read) {
                this.destination = this.destination.aside();
            }
        }
    }
    for index in 0..written.len() {
        for other in index + 1..written.len() {
            if overlap(&written[index].bytes, &written[other].bytes) {
                if written[index].start == written[other].start {
                    let [first, second] = [index, other].map(|index| name(&outputs[index]));
                    return Err(BindError::SameArray { first, second });
                }
                for this in [index, other] {
                    written[this].destination = written[this].destination.aside();
                }
            }
        }
    }
    Ok(())
}

fn name(output: &OutputInfo) -> ArrayName {
    let role = if output.assigned.is_some() { Role::Input } else { Role::Output };
    ArrayName { role, name: output.name.to_string() }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}
