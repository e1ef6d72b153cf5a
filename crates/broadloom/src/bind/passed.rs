//! Arrays as they were passed, by name or by position.

use crate::array::LayoutError;
use smallvec::{Array, SmallVec};
use std::borrow::Cow;
use std::fmt;

/// Arrays in the place where the caller put them. They stay there if their order is the one needed.
pub(crate) struct Passed<'a, A: Array> {
    pub(crate) arrays: SmallVec<A>,
    /// The names, up to the last array that has one. Refused arguments count as arrays.
    pub(crate) names: SmallVec<[Name<'a>; 4]>,
    /// The refused arguments, each with the number of arrays before it: reported once the intended input is known.
    refused: Vec<(usize, Box<LayoutError>)>,
}

/// The name of an array, if it was passed by name.
type Name<'a> = Option<Cow<'a, str>>;

impl<A: Array> Default for Passed<'_, A> {
    #[inline]
    fn default() -> Self {
        Passed { arrays: SmallVec::new(), names: SmallVec::new(), refused: Vec::new() }
    }
}

impl<A: Array<Item: fmt::Debug>> fmt::Debug for Passed<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Passed { arrays, names, refused } = self;
        let mut f = f.debug_struct("Passed");
        f.field("arrays", arrays).field("names", names).field("refused", refused).finish()
    }
}

impl<'a, A: Array> Passed<'a, A> {
    #[inline]
    pub(crate) fn add(&mut self, array: Result<A::Item, Box<LayoutError>>) {
        match array {
            Ok(array) => self.arrays.push(array),
            Err(reason) => self.refuse(reason),
        }
    }

    #[cold]
    fn refuse(&mut self, reason: Box<LayoutError>) {
        self.refused.push((self.len(), reason));
    }

    pub(crate) fn add_named(&mut self, name: Cow<'a, str>, array: Result<A::Item, Box<LayoutError>>) {
        let passed = self.len();
        self.names.resize(passed, None);
        self.names.push(Some(name));
        self.add(array);
    }

    /// Returns the number of arguments passed.
    pub(crate) fn len(&self) -> usize {
        self.arrays.len() + self.refused.len()
    }

    /// Returns whether there are exactly `count` arrays, passed in order, either all with these names or all
    /// without names.
    pub(crate) fn are_in_order<'n>(&self, count: usize, mut names: impl Iterator<Item = &'n str>) -> bool {
        self.refused.is_empty()
            && self.arrays.len() == count
            && (self.names.is_empty()
                || self.names.len() == count
                    && self
                        .names
                        .iter()
                        .all(|name| name.as_deref().is_some_and(|name| names.next() == Some(name))))
    }

    /// Takes all arrays, in the order in which they were passed.
    pub(crate) fn take(
        &mut self,
    ) -> impl Iterator<Item = (Name<'a>, Result<A::Item, Box<LayoutError>>)> + use<'a, A> {
        let Passed { arrays, names, refused } = std::mem::take(self);
        let passed = arrays.len() + refused.len();
        let (mut arrays, mut refused) = (arrays.into_iter(), refused.into_iter().peekable());
        let names = names.into_iter().chain(std::iter::repeat_with(|| None));
        (0..passed).zip(names).filter_map(move |(index, name)| {
            let array = match refused.next_if(|(at, _)| *at == index) {
                Some((_, reason)) => Err(reason),
                None => Ok(arrays.next()?),
            };
            Some((name, array))
        })
    }
}
