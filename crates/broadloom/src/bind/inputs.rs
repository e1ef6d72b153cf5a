//! Arrays for the inputs of a kernel, by name or by position.

use super::error::{ArrayName, BindError, Role};
use super::names::{named_symbols, nearest, stated, type_text};
use super::passed::Passed;
use super::sizes::Given;
use crate::array::{Argument, ArrayView, Geometry, Input, IntoInput};
use broadloom_ir::InputId;
use broadloom_ir::dim::Facts;
use broadloom_ir::graph::{CheckedGraph, InputInfo};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashMap;

/// Collects arrays by name, `inputs! { "x" => &x, "y" => &y }`, or by position, `inputs![&x, &y]`.
///
/// Anything that converts to an [`ArrayView`](crate::ArrayView) can be passed: slices and vectors, numbers, and
/// `ndarray` arrays with any strides. Nothing is copied. Pass inputs that are [assigned](crate::Tensor::assign) to
/// as `&mut`.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![]));
/// let kernel = (x * y).compile()?;
/// let data = vec![1.0f32, 2.0, 3.0];
/// let result: Vec<f32> = kernel.run(inputs! { "y" => 2.0f32, "x" => &data })?.try_into()?;
/// assert_eq!(result, [2.0, 4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! inputs {
    ($($name:expr => $array:expr),+ $(,)?) => { $crate::Inputs::new()$(.named($name, $array))+ };
    ($($array:expr),* $(,)?) => { $crate::Inputs::new()$(.next($array))* };
}

/// Arrays for the inputs of a kernel; see [`inputs!`](crate::inputs).
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::Inputs;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let y = g.input::<f32>("y", shape![]);
/// let kernel = (x * y).compile()?;
/// let result: Vec<f32> = kernel.run(Inputs::new().named("y", 2.0f32).named("x", &[1.0f32, 3.0]))?.try_into()?;
/// assert_eq!(result, [2.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Inputs<'a> {
    passed: Passed<'a, [Option<Argument<'a>>; 4]>,
    sizes: Vec<(Cow<'a, str>, i64)>,
}

impl<'a> Inputs<'a> {
    /// Creates an empty collection.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let result = kernel.run(broadloom::Inputs::new().next(&[1.0f32]));
    /// assert!(result.is_ok());
    /// assert!(kernel.run(broadloom::Inputs::new()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn new() -> Self {
        Inputs::default()
    }

    /// Adds an array for the input of this name.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let result = kernel.run(broadloom::Inputs::new().named("x", &[1.0f32]));
    /// assert!(result.is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'a, str>>, array: impl IntoInput<'a>) -> Self {
        self.passed.add_named(name.into(), array.into_input().0.map(Some));
        self
    }

    /// Gives the size of a symbol by its name. [Parameters](crate::Graph::parameter) that no array determines need
    /// it; for other symbols it is compared with the arrays.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [n, k] = [g.symbol("n"), g.parameter("k")];
    /// let x = g.input::<f32>("x", shape![n, 1]);
    /// let kernel = x.broadcast_to(shape![n, k]).compile()?;
    /// let column = ArrayView::new(&[1.0f32, 2.0], &[2, 1])?;
    /// let result: Vec<f32> = kernel.run(inputs! { "x" => column }.with_size("k", 3))?.try_into()?;
    /// assert_eq!(result, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_size(mut self, name: impl Into<Cow<'a, str>>, size: usize) -> Self {
        self.sizes.push((name.into(), i64::try_from(size).unwrap_or(i64::MAX)));
        self
    }

    /// Adds an array for the next input in the order of declaration.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let mut arrays = broadloom::Inputs::new();
    /// for data in [&[1.0f32, 2.0]] {
    ///     arrays = arrays.next(data);
    /// }
    /// assert!(kernel.run(arrays).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn next(mut self, array: impl IntoInput<'a>) -> Self {
        self.add(array.into_input());
        self
    }
}

impl<'a> Inputs<'a> {
    /// Adds the argument for the next input: an array, or the error of one that is invalid.
    #[inline]
    pub(crate) fn add(&mut self, input: Input<'a>) {
        self.passed.add(input.0.map(Some));
    }

    /// Returns the names of the given sizes.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = &str> {
        self.sizes.iter().map(|(name, _)| &**name)
    }

    /// Returns the names of the arrays that were passed by name.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.passed.names.iter().filter_map(Option::as_deref)
    }
}

/// Types that can be passed to a kernel: [`inputs!`](crate::inputs), one array, a tuple of arrays or a list of
/// views by position, or `()` if there are no inputs.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let y = g.input::<f32>("y", shape![]);
/// let kernel = (x * y).sum(0).compile()?;
/// let by_position: f32 = kernel.run((&[1.0f32, 3.0], 2.0f32))?.try_into()?;
/// let by_name: f32 = kernel.run(inputs! { "y" => 2.0f32, "x" => &[1.0f32, 3.0] })?.try_into()?;
/// assert_eq!((by_position, by_name), (8.0, 8.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the inputs of a call",
    note = "pass one array, a tuple of arrays in the order of the inputs, or names: `inputs! {{ \"x\" => &x, \"y\" => &y }}`"
)]
pub trait IntoInputs<'a> {
    /// Returns the arrays.
    fn into_inputs(self) -> Inputs<'a>;
}

impl<'a> IntoInputs<'a> for Inputs<'a> {
    fn into_inputs(self) -> Inputs<'a> {
        self
    }
}

impl<'a, V: IntoInput<'a>> IntoInputs<'a> for V {
    fn into_inputs(self) -> Inputs<'a> {
        let mut inputs = Inputs::new();
        inputs.add(self.into_input());
        inputs
    }
}

impl<'a, const N: usize> IntoInputs<'a> for [ArrayView<'a>; N] {
    fn into_inputs(self) -> Inputs<'a> {
        self.into_iter().fold(Inputs::new(), Inputs::next)
    }
}

impl<'a> IntoInputs<'a> for Vec<ArrayView<'a>> {
    fn into_inputs(self) -> Inputs<'a> {
        self.into_iter().fold(Inputs::new(), Inputs::next)
    }
}

macro_rules! tuples {
    ($(($($array:ident)*))*) => {$(
        impl<'a, $($array: IntoInput<'a>),*> IntoInputs<'a> for ($($array,)*) {
            #[allow(non_snake_case, reason = "the types name the values")]
            fn into_inputs(self) -> Inputs<'a> {
                let ($($array,)*) = self;
                #[allow(unused_mut, reason = "nothing is added of an empty tuple")]
                let mut inputs = Inputs::new();
                $(inputs.add($array.into_input());)*
                inputs
            }
        }
    )*};
}
tuples!(()(A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H));

/// The arrays in the order of the graph's inputs; `None` for optional inputs that were not passed.
pub(crate) type Ordered<'a> = SmallVec<[Option<Argument<'a>>; 4]>;

impl<'a> Inputs<'a> {
    /// Returns the arrays in the order of the graph's inputs, after checking dtypes and numbers of axes.
    pub(crate) fn order(
        &mut self,
        graph: &CheckedGraph,
        required: &[bool],
    ) -> Result<&Ordered<'a>, BindError> {
        let names = graph.inputs().iter().map(|input| &*input.name);
        if required.iter().all(|required| *required) && self.passed.are_in_order(required.len(), names) {
            for (position, array) in self.passed.arrays.iter().enumerate() {
                if let Some(array) = array {
                    check(graph, position, array)?;
                }
            }
        } else {
            self.passed.arrays = self.reorder(graph, required)?;
        }
        Ok(&self.passed.arrays)
    }

    pub(crate) fn into_ordered(
        mut self,
        graph: &CheckedGraph,
        required: &[bool],
    ) -> Result<Ordered<'a>, BindError> {
        self.order(graph, required)?;
        Ok(self.passed.arrays)
    }

    fn reorder(&mut self, graph: &CheckedGraph, required: &[bool]) -> Result<Ordered<'a>, BindError> {
        let mut ordered: Ordered<'a> = smallvec::smallvec![None; graph.inputs().len()];
        let passed = self.passed.len();
        let mut positions = (0..required.len()).filter(|position| required[*position]);
        let mut names = Names { inputs: graph.inputs(), next: 0, of_name: HashMap::new() };
        for (name, array) in self.passed.take() {
            let position = match &name {
                Some(name) => names.position(name),
                None => positions.next(),
            };
            let Some(position) = position else {
                let known = || graph.inputs().iter().map(|input| &*input.name);
                return Err(match name {
                    Some(name) => BindError::Unknown {
                        suggestion: nearest(&name, known()).map(str::to_string),
                        array: ArrayName { role: Role::Input, name: name.into_owned() },
                        known: known().map(str::to_string).collect(),
                    },
                    None => number(graph, required, passed),
                });
            };
            if ordered[position].is_some() {
                return Err(BindError::Repeated { array: input_name(graph, position) });
            }
            if required[position] {
                let layout = |reason| BindError::Layout { array: input_name(graph, position), reason };
                let array = array.map_err(layout)?;
                if let Some(array) = &array {
                    check(graph, position, array)?;
                }
                ordered[position] = array;
            }
        }
        match (0..required.len()).find(|position| required[*position] && ordered[*position].is_none()) {
            Some(position) => {
                let info = &graph.inputs()[position];
                let expected = type_text(graph, info.dtype, &info.shape);
                Err(BindError::Missing { name: info.name.to_string(), expected })
            }
            None => Ok(ordered),
        }
    }
}

/// Checks that an array has the dtype and rank of an input, and is writable if the input is assigned to.
#[inline]
fn check(graph: &CheckedGraph, position: usize, array: &Argument<'_>) -> Result<(), BindError> {
    let (info, geometry) = (&graph.inputs()[position], array.view.geometry());
    if geometry.dtype != info.dtype || geometry.axes.len() != info.shape.rank() {
        return Err(wrong_type(graph, position, geometry));
    }
    let is_it = |assigned: InputId| assigned.index() == position;
    let mut outputs = graph.outputs().iter();
    if !array.is_exclusive && outputs.any(|output| output.assigned.is_some_and(is_it)) {
        return Err(BindError::Shared { array: input_name(graph, position) });
    }
    Ok(())
}

/// Finds inputs by name.
struct Names<'g> {
    inputs: &'g [InputInfo],
    /// The input after the last one found: most calls pass inputs in order.
    next: usize,
    /// Filled on demand.
    of_name: HashMap<&'g str, usize>,
}

impl Names<'_> {
    fn position(&mut self, name: &str) -> Option<usize> {
        /// Up to this many names, comparing them takes less time than building a table.
        const FEW: usize = 16;
        let is_it = |input: &InputInfo| *input.name == *name;
        let position = if self.inputs.get(self.next).is_some_and(is_it) {
            self.next
        } else if self.inputs.len() <= FEW {
            self.inputs.iter().position(is_it)?
        } else {
            if self.of_name.is_empty() {
                self.of_name
                    .extend(self.inputs.iter().enumerate().map(|(index, input)| (&*input.name, index)));
            }
            *self.of_name.get(name)?
        };
        self.next = position + 1;
        Some(position)
    }
}

/// Returns the sizes given by name.
pub(crate) fn given(graph: &CheckedGraph, inputs: &Inputs<'_>) -> Result<Given, BindError> {
    let mut given = Given::new();
    for (name, size) in &inputs.sizes {
        let Some((symbol, info)) = named_symbols(graph).find(|(_, info)| *info.name == **name) else {
            let known = || named_symbols(graph).map(|(_, info)| &*info.name);
            return Err(BindError::UnknownSize {
                suggestion: nearest(name, known()).map(str::to_string),
                name: name.to_string(),
                known: known().map(str::to_string).collect(),
            });
        };
        let Facts { lower, upper } = info.facts;
        let value = size / info.unit;
        if size % info.unit != 0 || value < lower || upper.is_some_and(|upper| value > upper) {
            let stated = stated(info).unwrap_or_else(|| "0 or more".to_owned());
            return Err(BindError::ImpossibleSize { symbol: info.name.to_string(), given: *size, stated });
        }
        given.push((symbol, value));
    }
    Ok(given)
}

fn number(graph: &CheckedGraph, required: &[bool], found: usize) -> BindError {
    let names = graph.inputs().iter().zip(required).filter(|(_, required)| **required);
    let expected = names.map(|(input, _)| input.name.to_string()).collect();
    BindError::Number { role: Role::Input, expected, found }
}

#[cold]
fn input_name(graph: &CheckedGraph, position: usize) -> ArrayName {
    ArrayName { role: Role::Input, name: graph.inputs()[position].name.to_string() }
}

/// Returns the error of an array whose dtype or rank differs from the input's.
#[cold]
fn wrong_type(graph: &CheckedGraph, position: usize, geometry: &Geometry) -> BindError {
    let (info, array) = (&graph.inputs()[position], input_name(graph, position));
    if geometry.dtype != info.dtype {
        return BindError::DType { array, expected: info.dtype, found: geometry.dtype };
    }
    BindError::Rank {
        array,
        rank: info.shape.rank(),
        declared: super::SymbolNames(graph).shape(&info.shape),
        found: geometry.shape(),
    }
}
