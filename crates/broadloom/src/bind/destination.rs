//! Where results go, and which calls are alike: the numbers of a call depend only on what is compared here.

use super::inputs::Ordered;
use super::sizes::Given;
use super::threads::Division;
use crate::array::{Argument, Geometry};
use smallvec::SmallVec;

/// The destination of an output.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Destination<'g> {
    /// A new array.
    Own,
    /// An array of the caller.
    Array(&'g Geometry),
    /// The array of the input that it is assigned to, if the kernels allow it.
    InPlace(&'g Geometry),
    /// Memory of the call, which is copied to an array of the caller afterwards.
    Aside(&'g Geometry),
}

impl<'g> Destination<'g> {
    /// Returns the array of the caller.
    pub(super) fn array(self) -> Option<&'g Geometry> {
        match self {
            Destination::Own => None,
            Destination::Array(geometry) | Destination::InPlace(geometry) | Destination::Aside(geometry) => {
                Some(geometry)
            }
        }
    }

    /// Returns the same destination, computed aside and then copied.
    pub(crate) fn aside(self) -> Self {
        self.array().map_or(self, Destination::Aside)
    }

    /// Returns the array that kernels write to, unless they write to dense memory of the call.
    pub(super) fn written(self) -> Option<&'g Geometry> {
        match self {
            Destination::Own | Destination::Aside(_) => None,
            Destination::Array(geometry) | Destination::InPlace(geometry) => Some(geometry),
        }
    }
}

/// The destinations of the outputs, in order.
pub(crate) type Destinations<'g> = SmallVec<[Destination<'g>; 4]>;

/// The sizes and strides of all arrays of a call, and everything else that its numbers depend on.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    division: Division,
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
        division: Division,
        inputs: &Ordered<'_>,
        given: &Given,
        destinations: &[Destination<'_>],
    ) -> Key {
        let input = inputs.iter().map(|input| input.as_ref().map(|input| input.view.geometry().clone()));
        let output = destinations.iter().map(|destination| {
            let (kind, geometry) = destination.parts();
            (kind, geometry.cloned())
        });
        Key { division, given: given.clone(), inputs: input.collect(), outputs: output.collect() }
    }

    /// Returns whether a call repeats the call of this key.
    pub(crate) fn is(
        &self,
        division: Division,
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
        self.division == division
            && self.given == *given
            && self.inputs.len() == inputs.len()
            && self.outputs.len() == destinations.len()
            && self.inputs.iter().zip(inputs).all(same_input)
            && self.outputs.iter().zip(destinations).all(same_output)
    }
}
