//! Results, and arrays to which results are written.

use crate::array::{AnyArray, Array, ArrayViewMut, FromArray, IntoArrayViewMut, LayoutError, OutputError};
use crate::bind::{ArrayName, BindError, Passed, Role, check_output_type, nearest};
use broadloom_ir::dtype::Element;
use broadloom_ir::for_each_dtype;
use broadloom_ir::graph::CheckedGraph;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// The results of a call, by name or in order.
///
/// A single result converts by `try_into()` to [`Array<T>`](Array), `Vec<T>`, a number, or with the feature
/// `ndarray` to that crate's owned arrays. Several results are [taken](Outputs::take) by name, or convert to a
/// tuple.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = g.compile([("least", x.min(0)), ("where", x.argmin(0))])?;
/// let mut outputs = kernel.run(&[2.0f32, 1.0, 3.0])?;
/// let position: i64 = outputs.take("where")?;
/// assert_eq!(position, 1);
/// let (least, position): (f32, i64) = kernel.run(&[2.0f32, 1.0, 3.0])?.try_into()?;
/// assert_eq!((least, position), (1.0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Outputs {
    pub(super) arrays: NamedArrays,
}

/// Results by name, in order.
type NamedArrays = SmallVec<[(Arc<str>, AnyArray); 1]>;

impl Outputs {
    pub(crate) fn new<N: Into<Arc<str>>>(arrays: impl IntoIterator<Item = (N, AnyArray)>) -> Self {
        Outputs { arrays: arrays.into_iter().map(|(name, array)| (name.into(), array)).collect() }
    }

    #[inline]
    pub(crate) fn none() -> Self {
        Outputs { arrays: SmallVec::new() }
    }

    pub(crate) fn into_arrays(self) -> impl Iterator<Item = AnyArray> {
        self.arrays.into_iter().map(|(_, array)| array)
    }

    /// Removes the output of a name and returns it without copying.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let mut outputs = kernel.run(&[1.0f32])?;
    /// let result: Vec<f32> = outputs.take("out")?;
    /// assert_eq!(result, [2.0]);
    /// assert!(outputs.take::<Vec<f32>>("out").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there is no such output, or if it has another dtype or rank; in that case it stays.
    pub fn take<A: FromArray>(&mut self, name: &str) -> Result<A, OutputError> {
        let Some(position) = self.arrays.iter().position(|(known, _)| **known == *name) else {
            return Err(OutputError::NoSuchName { name: name.to_string(), names: self.names() });
        };
        A::check(&self.arrays[position].1)?;
        A::from_array(self.arrays.remove(position).1)
    }

    /// Returns the output of a name.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let outputs = kernel.run(&[1.0f32])?;
    /// assert!(outputs.get("out").is_some() && outputs.get("x").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&AnyArray> {
        self.arrays.iter().find(|(known, _)| **known == *name).map(|(_, array)| array)
    }

    /// Iterates over names and arrays, in order.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// for (name, array) in kernel.run(&[1.0f32])?.iter() {
    ///     assert_eq!((name, array.shape()), ("out", [1].as_slice()));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &AnyArray)> {
        self.arrays.iter().map(|(name, array)| (&**name, array))
    }

    /// Returns the number of outputs.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert_eq!(kernel.run(&[1.0f32])?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.arrays.len()
    }

    /// Returns whether all outputs have been taken.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(!kernel.run(&[1.0f32])?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.arrays.iter().map(|(name, _)| name.to_string()).collect()
    }

    fn only(mut self) -> Result<AnyArray, OutputError> {
        match self.arrays.pop() {
            Some((_, array)) if self.arrays.is_empty() => Ok(array),
            popped => {
                self.arrays.extend(popped);
                Err(OutputError::Number { names: self.names(), wanted: 1 })
            }
        }
    }

    fn exactly<const N: usize>(self) -> Result<[AnyArray; N], OutputError> {
        let names = self.names();
        let arrays: Vec<AnyArray> = self.into_arrays().collect();
        arrays.try_into().map_err(|_| OutputError::Number { names, wanted: N })
    }
}

impl IntoIterator for Outputs {
    type Item = (String, AnyArray);
    type IntoIter = std::vec::IntoIter<(String, AnyArray)>;
    fn into_iter(self) -> Self::IntoIter {
        let named = |(name, array): (Arc<str>, AnyArray)| (name.to_string(), array);
        self.arrays.into_iter().map(named).collect::<Vec<_>>().into_iter()
    }
}

/// Converts the only output.
macro_rules! only_output {
    ($([$($generics:tt)*] $t:ty;)*) => {$(
        impl<$($generics)*> TryFrom<Outputs> for $t {
            type Error = OutputError;
            fn try_from(outputs: Outputs) -> Result<Self, OutputError> {
                FromArray::from_array(outputs.only()?)
            }
        }
    )*};
}
only_output! {
    [] AnyArray;
    [T: Element] Array<T>;
    [T: Element] Vec<T>;
}
#[cfg(feature = "ndarray")]
only_output! {
    [T: Element, D: ndarray::Dimension] ndarray::ArrayBase<ndarray::OwnedRepr<T>, D>;
}

macro_rules! numbers {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        $(
            impl FromArray for $rust {
                fn check(array: &AnyArray) -> Result<(), OutputError> {
                    let elements = <Vec<$rust> as FromArray>::check(array).map(|()| array.as_slice::<$rust>());
                    match elements? {
                        Some([_]) => Ok(()),
                        _ => Err(OutputError::NotOneElement { shape: array.shape().to_vec() }),
                    }
                }

                fn from_array(array: AnyArray) -> Result<Self, OutputError> {
                    <$rust as FromArray>::check(&array)?;
                    let shape = array.shape().to_vec();
                    let elements = array.into_array::<$rust>()?;
                    elements.as_slice().first().copied().ok_or(OutputError::NotOneElement { shape })
                }
            }
        )*
        only_output! { $([] $rust;)* }
    };
}
for_each_dtype!(numbers);

macro_rules! output_tuples {
    ($($count:literal: $($array:ident)*;)*) => {$(
        /// Converts several outputs, in order.
        impl<$($array: FromArray),*> TryFrom<Outputs> for ($($array,)*) {
            type Error = OutputError;
            #[allow(non_snake_case, reason = "the types name the values")]
            fn try_from(outputs: Outputs) -> Result<Self, OutputError> {
                let [$($array),*] = outputs.exactly::<$count>()?;
                Ok(($(FromArray::from_array($array)?,)*))
            }
        }
    )*};
}
output_tuples! {
    2: A B;
    3: A B C;
    4: A B C D;
}

/// Collects arrays to write to, by name: `outputs! { "code" => &mut code, "distance" => &mut distance }`.
#[macro_export]
macro_rules! outputs {
    ($($name:expr => $array:expr),+ $(,)?) => { $crate::OutputsMut::new()$(.named($name, $array))+ };
}

/// Arrays to write to; see [`outputs!`](crate::outputs).
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = g.compile([("low", x.min(0)), ("high", x.max(0))])?;
/// let (mut low, mut high) = (0.0f32, 0.0f32);
/// kernel.run_into(&[3.0f32, 1.0, 2.0], outputs! { "high" => &mut high, "low" => &mut low })?;
/// assert_eq!((low, high), (1.0, 3.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct OutputsMut<'a> {
    passed: Passed<'a, [ArrayViewMut<'a>; 2]>,
}

/// Arrays in the order of the graph's outputs.
pub(crate) type OutputViews<'a> = SmallVec<[ArrayViewMut<'a>; 2]>;

impl<'a> OutputsMut<'a> {
    /// Creates an empty collection.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let mut data = [0.0f32];
    /// kernel.run_into(&[1.0f32], broadloom::OutputsMut::new().next(&mut data))?;
    /// assert_eq!(data, [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn new() -> Self {
        OutputsMut::default()
    }

    /// Adds an array for the output of this name.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let mut data = [0.0f32];
    /// kernel.run_into(&[1.0f32], broadloom::OutputsMut::new().named("out", &mut data))?;
    /// assert_eq!(data, [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'a, str>>, array: impl IntoArrayViewMut<'a>) -> Self {
        self.passed.add_named(name.into(), array.into_array_view_mut().map_err(Box::new));
        self
    }

    /// Adds an array for the next output.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let mut data = [0.0f32];
    /// kernel.run_into(&[1.0f32], broadloom::OutputsMut::new().next(&mut data))?;
    /// assert_eq!(data, [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn next(mut self, array: impl IntoArrayViewMut<'a>) -> Self {
        self.add(array.into_array_view_mut());
        self
    }

    #[inline]
    fn add(&mut self, array: Result<ArrayViewMut<'a>, LayoutError>) {
        self.passed.add(array.map_err(Box::new));
    }

    /// Returns the arrays in the order of the graph's outputs.
    pub(super) fn order(&mut self, graph: &CheckedGraph) -> Result<&OutputViews<'a>, BindError> {
        let results = graph.results();
        let names = results.iter().map(|output| &*output.name);
        if !self.passed.are_in_order(results.len(), names) {
            self.passed.arrays = self.reorder(graph)?;
        }
        for (output, view) in results.iter().zip(&self.passed.arrays) {
            check_output_type(graph, output, view.geometry())?;
        }
        Ok(&self.passed.arrays)
    }

    fn reorder(&mut self, graph: &CheckedGraph) -> Result<OutputViews<'a>, BindError> {
        let known = || graph.results().iter().map(|output| &*output.name);
        let names = || known().map(str::to_string).collect::<Vec<String>>();
        let number = |found| BindError::Number { role: Role::Output, expected: names(), found };
        let passed = self.passed.len();
        let mut ordered: SmallVec<[Option<ArrayViewMut<'a>>; 2]> = SmallVec::new();
        ordered.resize_with(graph.results().len(), || None);
        let mut positions = 0..ordered.len();
        for (name, array) in self.passed.take() {
            let position = match &name {
                Some(name) => known().position(|known| known == name),
                None => positions.next(),
            };
            let Some(position) = position else {
                let Some(name) = name else { return Err(number(passed)) };
                return Err(BindError::Unknown {
                    suggestion: nearest(&name, known()).map(str::to_string),
                    array: ArrayName { role: Role::Output, name: name.into_owned() },
                    known: names(),
                });
            };
            let name = || ArrayName { role: Role::Output, name: graph.results()[position].name.to_string() };
            let array = array.map_err(|reason| BindError::Layout { array: name(), reason })?;
            if ordered[position].replace(array).is_some() {
                return Err(BindError::Repeated { array: name() });
            }
        }
        let views: Option<OutputViews<'a>> = ordered.into_iter().collect();
        views.ok_or_else(|| number(passed))
    }
}

/// Types that can receive outputs: one array for the only output, a tuple of arrays in the order of the outputs,
/// `()` for none, or [`outputs!`](crate::outputs) by name.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = g.compile([("low", x.min(0)), ("high", x.max(0))])?;
/// let (mut low, mut high) = (0.0f32, 0.0f32);
/// kernel.run_into(&[3.0f32, 1.0, 2.0], (&mut low, &mut high))?; // in the order of the outputs
/// assert_eq!((low, high), (1.0, 3.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the outputs of a call",
    note = "pass `&mut` of one array, a tuple of them, or names: `outputs! {{ \"y\" => &mut y }}`"
)]
pub trait IntoOutputs<'a> {
    /// Returns the arrays.
    fn into_outputs(self) -> OutputsMut<'a>;
}

impl<'a> IntoOutputs<'a> for OutputsMut<'a> {
    fn into_outputs(self) -> OutputsMut<'a> {
        self
    }
}

impl<'a, V: IntoArrayViewMut<'a>> IntoOutputs<'a> for V {
    fn into_outputs(self) -> OutputsMut<'a> {
        let mut outputs = OutputsMut::new();
        outputs.add(self.into_array_view_mut());
        outputs
    }
}

macro_rules! tuples {
    ($(($($array:ident)*))*) => {$(
        impl<'a, $($array: IntoArrayViewMut<'a>),*> IntoOutputs<'a> for ($($array,)*) {
            #[allow(non_snake_case, reason = "the types name the values")]
            fn into_outputs(self) -> OutputsMut<'a> {
                let ($($array,)*) = self;
                #[allow(unused_mut, reason = "nothing is added of an empty tuple")]
                let mut outputs = OutputsMut::new();
                $(outputs.add($array.into_array_view_mut());)*
                outputs
            }
        }
    )*};
}
tuples!(()(A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H));
