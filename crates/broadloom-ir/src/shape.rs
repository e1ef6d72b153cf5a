//! Shapes: lists of sizes.

use crate::dim::{Dim, DimError};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The most axes of a tensor, as in NumPy before 2.0: no program needs more, and masks of axes fit 32 bits.
pub const MAX_RANK: usize = 32;

/// The sizes of a tensor, outermost axis first. Cloning shares them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Shape(Arc<[Dim]>);

impl Shape {
    /// Returns the shape of rank 0: one element, no axes.
    pub fn scalar() -> Shape {
        Shape::from_iter([])
    }

    /// Returns the sizes.
    pub fn dims(&self) -> &[Dim] {
        &self.0
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of elements: the product of the sizes.
    ///
    /// # Errors
    /// Returns an error if the product overflows or is too large a polynomial.
    pub fn elements(&self) -> Result<Dim, DimError> {
        Dim::product(self.dims())
    }
}

impl Default for Shape {
    fn default() -> Self {
        Shape::scalar()
    }
}

impl Deref for Shape {
    type Target = [Dim];
    fn deref(&self) -> &[Dim] {
        &self.0
    }
}

impl FromIterator<Dim> for Shape {
    fn from_iter<I: IntoIterator<Item = Dim>>(dims: I) -> Self {
        Shape(dims.into_iter().collect())
    }
}

impl From<Vec<Dim>> for Shape {
    fn from(dims: Vec<Dim>) -> Self {
        Shape(dims.into())
    }
}

impl<'a> IntoIterator for &'a Shape {
    type Item = &'a Dim;
    type IntoIter = std::slice::Iter<'a, Dim>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.dims()).finish()
    }
}
