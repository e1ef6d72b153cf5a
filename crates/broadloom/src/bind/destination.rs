//! Where results go, and which calls are alike: all numbers of a call depend on what is compared here alone.

use super::inputs::Ordered;
use super::sizes::Given;
use crate::array::{Argument, Geometry};
use smallvec::SmallVec;

/// Where an output goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Destination<'g> {
    /// An array to be allocated.
    Own,
    /// An array of the caller.
    Array(&'g Geometry),
    /// The array of the input that it is assigned to, if the kernels allow it.
    InPlace(&'g Geometry),
    /// Memory of the call, from which it is copied to an array of the caller.
    Aside(&'g Geometry),
}

impl<'g> Destination<'g> {
    /// The array of the caller.
    pub(super) fn array(self) -> Option<&'g Geometry> {
        match self {
            Destination::Own => None,
            Destination::Array(geometry) | Destination::InPlace(geometry) | Destination::Aside(geometry) => {
                Some(geometry)
            }
        }
    }

    /// The same array, to which the output is copied.
    pub(crate) fn aside(self) -> Self {
        self.array().map_or(self, Destination::Aside)
    }

    /// The array that kernels write to, unless it is dense memory of the call.
    pub(super) fn written(self) -> Option<&'g Geometry> {
        match self {
            Destination::Own | Destination::Aside(_) => None,
            Destination::Array(geometry) | Destination::InPlace(geometry) => Some(geometry),
        }
    }
}

/// Where the outputs go, in order.
pub(crate) type Destinations<'g> = SmallVec<[Destination<'g>; 4]>;

/// Sizes and strides of all arrays of a call, and what else decides about its numbers.
#[derive(Debug)]
pub(crate) struct Key {
    threads: usize,
    given: Given,
    inputs: Vec<Option<Geometry>>,
    outputs: Vec<(Kind, Option<Geometry>)>,
}

/// A [`Destination`] without its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Own,
    Array,
    InPlace,
    Aside,
}

impl<'g> Destination<'g> {
    fn parts(self) -> (Kind, Option<&'g Geometry>) {
        let kind = match self {
            Destination::Own => Kind::Own,
            Destination::Array(_) => Kind::Array,
            Destination::InPlace(_) => Kind::InPlace,
            Destination::Aside(_) => Kind::Aside,
        };
        (kind, self.array())
    }
}

impl Key {
    pub(crate) fn new(
        threads: usize,
        inputs: &Ordered<'_>,
        given: &Given,
        destinations: &[Destination<'_>],
    ) -> Key {
        let input = inputs.iter().map(|input| input.as_ref().map(|input| input.view.geometry().clone()));
        let output = destinations.iter().map(|destination| {
            let (kind, geometry) = destination.parts();
            (kind, geometry.cloned())
        });
        Key { threads, given: given.clone(), inputs: input.collect(), outputs: output.collect() }
    }

    /// Whether a call is the one of this key again.
    pub(crate) fn is(
        &self,
        threads: usize,
        inputs: &Ordered<'_>,
        given: &Given,
        destinations: &[Destination<'_>],
    ) -> bool {
        let same_input = |(known, input): (&Option<Geometry>, &Option<Argument<'_>>)| {
            known.as_ref() == input.as_ref().map(|input| input.view.geometry())
        };
        let same_output = |((kind, known), destination): (&(Kind, Option<Geometry>), &Destination<'_>)| {
            (*kind, known.as_ref()) == destination.parts()
        };
        self.threads == threads
            && self.given == *given
            && self.inputs.len() == inputs.len()
            && self.outputs.len() == destinations.len()
            && self.inputs.iter().zip(inputs).all(same_input)
            && self.outputs.iter().zip(destinations).all(same_output)
    }
}
