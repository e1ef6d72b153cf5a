//! Views: the same elements under other indices. Views copy nothing; kernels read through them.

use super::axes::{IntoAxes, IntoAxis};
use super::call::AlongFn;
use super::call::Call;
use super::dims::{Dim, Shape, Symbol};
use super::registry::{self, GraphKey};
use super::tensor::Tensor;
use broadloom_ir::diagnostics::Problem;
use broadloom_ir::graph::{IndexItem, Site, SliceSpec};
use broadloom_ir::shape;
use broadloom_ir::{ExprId, dim};
use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

/// A size in [`Tensor::reshape`]: a [`Dim`], or `-1` for the size that follows from the others.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::NewSize;
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let x = g.input::<f32>("x", shape![n, 6]);
/// assert_eq!(x.reshape([NewSize::from(2 * n), NewSize::INFERRED]).to_string(), "f32[2*n, 3]");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewSize(Option<Dim>);

impl NewSize {
    /// The size that follows from the others.
    pub const INFERRED: NewSize = NewSize(None);
}

macro_rules! new_sizes {
    ($($t:ty)*) => {$(
        impl From<$t> for NewSize {
            fn from(size: $t) -> Self {
                let dim = Dim::from(size);
                NewSize((dim.as_constant() != Some(-1)).then_some(dim))
            }
        }
    )*};
}
new_sizes!(i32 i64 usize isize Dim Symbol);

/// One axis of a [`slice!`](crate::slice): a range, a range with a step, an index (which drops the axis), positions (a
/// tensor of integers), or a new axis.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::SliceItem;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![8, 3]);
/// let every_second = SliceItem::from(..).step(2);
/// assert_eq!(x.slice([every_second, SliceItem::NEW_AXIS]).shape(), x.slice(slice![..;2, newaxis]).shape());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceItem(Item);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Range { start: Option<Dim>, stop: Option<Dim>, step: i64 },
    At(Dim),
    Positions(GraphKey, ExprId),
    NewAxis,
    Rest,
}

impl SliceItem {
    /// A new axis of size 1: `newaxis` in [`slice!`](crate::slice).
    pub const NEW_AXIS: SliceItem = SliceItem(Item::NewAxis);
    /// All axes without an index of their own: `...` in [`slice!`](crate::slice).
    pub const REST: SliceItem = SliceItem(Item::Rest);

    /// Takes every `step`-th element of a range, backwards if `step` is negative: `1..;2` in
    /// [`slice!`](crate::slice).
    #[must_use]
    pub fn step(self, step: i64) -> SliceItem {
        match self.0 {
            Item::Range { start, stop, .. } => SliceItem(Item::Range { start, stop, step }),
            Item::At(_) | Item::Positions(..) | Item::NewAxis | Item::Rest => self,
        }
    }
}

impl From<RangeFull> for SliceItem {
    fn from(_: RangeFull) -> Self {
        SliceItem(Item::Range { start: None, stop: None, step: 1 })
    }
}

impl<A: Into<Dim>, B: Into<Dim>> From<(A, B)> for SliceItem {
    fn from((start, stop): (A, B)) -> Self {
        SliceItem(Item::Range { start: Some(start.into()), stop: Some(stop.into()), step: 1 })
    }
}

impl<D: Into<Dim>> From<Range<D>> for SliceItem {
    fn from(range: Range<D>) -> Self {
        SliceItem::from((range.start, range.end))
    }
}

impl<D: Into<Dim>> From<RangeFrom<D>> for SliceItem {
    fn from(range: RangeFrom<D>) -> Self {
        SliceItem(Item::Range { start: Some(range.start.into()), stop: None, step: 1 })
    }
}

impl<D: Into<Dim>> From<RangeTo<D>> for SliceItem {
    fn from(range: RangeTo<D>) -> Self {
        SliceItem(Item::Range { start: None, stop: Some(range.end.into()), step: 1 })
    }
}

macro_rules! slice_indices {
    ($($t:ty)*) => {$(
        impl From<$t> for SliceItem {
            fn from(index: $t) -> Self {
                SliceItem(Item::At(index.into()))
            }
        }
    )*};
}
slice_indices!(i32 i64 usize isize Dim Symbol);

impl From<Tensor> for SliceItem {
    fn from(positions: Tensor) -> Self {
        SliceItem(Item::Positions(positions.graph, positions.expr))
    }
}

/// Makes the indices for [`Tensor::slice`], one per axis from the first: ranges, ranges with a step after `;`,
/// numbers and sizes (which drop the axis), `newaxis`, and `...` for all remaining axes. Negative numbers count
/// from the end. Axes after the last index are kept whole. A tensor of integers chooses positions, by the rules of NumPy:
/// several stretch to a common shape, whose axes replace the first of theirs if they are adjacent, and come first
/// otherwise; a position outside of its axis is an error when the kernel runs. Write a range between values of two types, such as a
/// symbol and an expression, as a pair: `(n - 3, n)`.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let x = g.input::<f32>("x", shape![n, 8, 3]);
/// assert_eq!(x.slice(slice![1.., ..;2, 0]).to_string(), "f32[n-1, 4]");
/// assert_eq!(x.slice(slice![newaxis, ..n, ..;-1]).to_string(), "f32[1, n, 8, 3]");
/// assert_eq!(x.slice(slice![..., -1]).to_string(), "f32[n, 8]");
/// assert_eq!(x.slice(slice![1..n - 1]).to_string(), "f32[n-2, 8, 3]");
/// let i = g.input::<i64>("i", shape![5]);
/// assert_eq!(x.slice(slice![.., i, i % 3]).to_string(), "f32[n, 5]");
/// # g.check().unwrap();
/// ```
#[macro_export]
macro_rules! slice {
    (@items [$($done:expr,)*]) => { [$($done),*] as [$crate::SliceItem; _] };
    (@items [$($done:expr,)*] newaxis $(, $($rest:tt)*)?) => {
        $crate::slice!(@items [$($done,)* $crate::SliceItem::NEW_AXIS,] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] ... $(, $($rest:tt)*)?) => {
        $crate::slice!(@items [$($done,)* $crate::SliceItem::REST,] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] $start:literal .. $stop:expr; $step:expr $(, $($rest:tt)*)?) => {
        $crate::slice!(@items [$($done,)* $crate::SliceItem::from(($start, $stop)).step($step),] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] $start:literal .. $stop:expr $(, $($rest:tt)*)?) => {
        $crate::slice!(@items [$($done,)* $crate::SliceItem::from(($start, $stop)),] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] $range:expr; $step:expr $(, $($rest:tt)*)?) => {
        $crate::slice!(@items [$($done,)* $crate::SliceItem::from($range).step($step),] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] $item:expr $(, $($rest:tt)*)?) => {
        $crate::slice!(@items [$($done,)* $crate::SliceItem::from($item),] $($($rest)*)?)
    };
    ($($items:tt)*) => { $crate::slice!(@items [] $($items)*) };
}

/// Views.
impl Tensor {
    /// Returns the same elements in row-major order under another shape. One size may be `-1`; it follows from the
    /// others.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let x = g.input::<f32>("x", shape![n, 6]);
    /// assert_eq!(x.reshape([-1, 3]).to_string(), "f32[2*n, 3]");
    /// assert_eq!(x.reshape(shape![2 * n, 3]).to_string(), "f32[2*n, 3]");
    /// ```
    #[track_caller]
    pub fn reshape<S: IntoNewShape>(self, shape: S) -> Tensor {
        let site = Site::caller();
        let sizes = shape.into_new_shape();
        let given: Vec<Dim> = sizes.iter().filter_map(|size| size.0).collect();
        registry::build(self.graph, &[self], &given, site, |graph, dims| {
            let mut dims = dims.into_iter();
            let dims: Vec<Option<dim::Dim>> =
                sizes.iter().map(|size| size.0.and_then(|_| dims.next())).collect();
            graph.reshape(self.expr, &dims, site)
        })
    }

    /// Replaces sizes by equal ones where shapes do not show the equality; each call checks it. `_` keeps a size.
    /// This is the only way for a symbol to become a constant 1 within an expression.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
    /// let y = g.input::<f32>("y", shape![2, 3]);
    /// let kernel = (x.rebind(shape![2, _]) + y).compile()?;
    /// let [two, three] = [[1.0f32; 6].as_slice(), &[1.0; 9]].map(|data| ArrayView::new(data, &[data.len() / 3, 3]));
    /// let (two, three) = (two?, three?);
    /// assert!(kernel.run((&two, &two)).is_ok());
    /// assert!(kernel.run((&three, &two)).unwrap_err().to_string().contains("n is 3, but `rebind`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn rebind(self, shape: impl Into<Shape>) -> Tensor {
        let site = Site::caller();
        let sizes: Shape = shape.into();
        let given: Vec<Dim> = sizes.iter().copied().filter(|size| !size.is_inferred()).collect();
        registry::build(self.graph, &[self], &given, site, |graph, dims| {
            let mut dims = dims.into_iter();
            let dims: Vec<Option<dim::Dim>> =
                sizes.iter().map(|size| if size.is_inferred() { None } else { dims.next() }).collect();
            graph.rebind(self.expr, &dims, site)
        })
    }

    /// Permutes the axes: axis `i` of the result is axis `axes[i]` of the operand. `..` reverses the axes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let x = g.input::<f32>("x", shape![n, 1, 3]);
    /// assert_eq!(x.permute_dims([2, 0, 1]).to_string(), "f32[3, n, 1]");
    /// assert_eq!(x.permute_dims(..).to_string(), "f32[3, 1, n]");
    /// ```
    #[track_caller]
    #[doc(alias("transpose", "swapaxes"))]
    pub fn permute_dims(self, axes: impl IntoAxes) -> Tensor {
        let permute: AlongFn = |graph, operand, axes, _, site| match axes {
            Some(axes) => graph.permute_dims(operand, axes, site),
            None => {
                let axes: Vec<i64> = (0..graph.shape(operand).rank() as i64).rev().collect();
                graph.permute_dims(operand, &axes, site)
            }
        };
        self.along("permute_dims", permute, axes, false, Site::caller())
    }

    /// Another name for [`Tensor::permute_dims`]; see [`Tensor::t`] for the matrix transpose.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let x = g.input::<f32>("x", shape![n, 3]);
    /// assert_eq!(x.transpose([1, 0]).to_string(), "f32[3, n]");
    /// ```
    #[track_caller]
    pub fn transpose(self, axes: impl IntoAxes) -> Tensor {
        self.permute_dims(axes)
    }

    /// Exchanges the last two axes. A tensor of rank 0 or 1 is its own transpose.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[1, 2, 3, 4], &[2, 2])?;
    /// let result: Vec<i32> = eval(rows, |x| x.t())?;
    /// assert_eq!(result, [1, 3, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias("T", "transpose"))]
    pub fn t(self) -> Tensor {
        let transpose: AlongFn = |graph, operand, _, _, site| {
            let rank = graph.shape(operand).rank();
            let mut axes: Vec<i64> = (0..rank as i64).collect();
            if rank >= 2 {
                axes.swap(rank - 1, rank - 2);
            }
            graph.permute_dims(operand, &axes, site)
        };
        self.along("t", transpose, .., false, Site::caller())
    }

    /// Inserts an axis of size 1 at this position of the result.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let x = g.input::<f32>("x", shape![n, 3]);
    /// assert_eq!(x.unsqueeze(1).to_string(), "f32[n, 1, 3]");
    /// assert_eq!(x.unsqueeze(-1).to_string(), "f32[n, 3, 1]");
    /// ```
    #[track_caller]
    #[doc(alias("expand_dims", "newaxis"))]
    pub fn unsqueeze(self, axis: impl IntoAxis) -> Tensor {
        self.insert_axes([axis.into_axis()], Site::caller())
    }

    /// Inserts axes of size 1 at these positions of the result.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let x = g.input::<f32>("x", shape![n, 3]);
    /// assert_eq!(x.expand_dims([0, -1]).to_string(), "f32[1, n, 3, 1]");
    /// ```
    #[track_caller]
    pub fn expand_dims(self, axes: impl IntoAxes) -> Tensor {
        self.insert_axes(axes, Site::caller())
    }

    fn insert_axes(self, axes: impl IntoAxes, site: Site) -> Tensor {
        let expand: AlongFn =
            |graph, operand, axes, _, site| graph.expand_dims(operand, axes.unwrap_or_default(), site);
        self.along("expand_dims", expand, axes, false, site)
    }

    /// Removes axes whose size is the constant 1; `..` removes all of them.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let x = g.input::<f32>("x", shape![n, 1, 3]);
    /// assert_eq!(x.squeeze(1).to_string(), "f32[n, 3]");
    /// assert_eq!(x.unsqueeze(0).squeeze(..).to_string(), "f32[n, 3]");
    /// ```
    #[track_caller]
    pub fn squeeze(self, axes: impl IntoAxes) -> Tensor {
        let squeeze: AlongFn = |graph, operand, axes, _, site| match axes {
            Some(axes) => graph.squeeze(operand, axes, site),
            None => {
                let ones = graph.unit_axes(operand).into_iter().map(|axis| axis as i64);
                let ones: Vec<i64> = ones.collect();
                graph.squeeze(operand, &ones, site)
            }
        };
        self.along("squeeze", squeeze, axes, false, Site::caller())
    }

    /// Stretches to a shape by the broadcast rule.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[1, 2], |x| x.broadcast_to([3, 2]))?;
    /// assert_eq!(result, [1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn broadcast_to(self, shape: impl Into<Shape>) -> Tensor {
        let site = Site::caller();
        registry::build(self.graph, &[self], &shape.into(), site, |graph, dims| {
            graph.broadcast_to(self.expr, shape::Shape::from(dims), site)
        })
    }

    /// Returns a part of the tensor; see [`slice!`](crate::slice) for the indices. Bounds are strict: a slice that
    /// does not fit is a mistake, or an error once the sizes are known.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[0, 1, 2, 3, 4], |x| x.slice(slice![1..;2]))?;
    /// assert_eq!(result, [1, 3]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    #[doc(alias("getitem"))]
    pub fn slice(self, items: impl AsRef<[SliceItem]>) -> Tensor {
        self.take_slice("slice", items.as_ref(), Site::caller())
    }

    /// Slices one axis by a range, with a step of either sign; the other axes are kept whole.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[0, 1, 2, 3, 4], |x| x.slice_axis(0, 1.., -1))?;
    /// assert_eq!(result, [4, 3, 2, 1]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn slice_axis(self, axis: impl IntoAxis, range: impl Into<SliceItem>, step: i64) -> Tensor {
        self.slice_at("slice_axis", axis.into_axis(), range.into().step(step), Site::caller())
    }

    /// Returns the part at one index of an axis, and drops the axis. A negative index counts from the end.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: i32 = eval(&[5, 6, 7], |x| x.index(0, -1))?;
    /// assert_eq!(result, 7);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    #[doc(alias("getitem"))]
    pub fn index(self, axis: impl IntoAxis, index: impl Into<Dim>) -> Tensor {
        self.slice_at("index", axis.into_axis(), SliceItem(Item::At(index.into())), Site::caller())
    }

    /// Returns the differences of neighbours along an axis, taken `order` times: `x[1:] - x[:-1]`; for bool,
    /// whether neighbours differ. The axis becomes shorter by `order`, which is at most 16: a symbolic size must be
    /// at least `order`, while a constant size stops at 0.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (once, twice): (Vec<i32>, Vec<i32>) = eval(&[1, 4, 9, 16], |x| (x.diff(1, 0), x.diff(2, 0)))?;
    /// assert_eq!((once, twice), (vec![3, 5, 7], vec![2, 2]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn diff(self, order: usize, axis: impl IntoAxis) -> Tensor {
        let order = i64::try_from(order).unwrap_or(i64::MAX);
        registry::call(&[self], Call::Diff(self.expr, order, axis.into_axis()), Site::caller())
    }

    /// Takes the elements along `axis` at positions given by an integer tensor, whose axes replace `axis`. Negative
    /// positions count from the end; a position out of range is an error at run time.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval((&[5, 6, 7], &[2, 0, -1]), |(x, indices)| x.take(indices, 0))?;
    /// assert_eq!(result, [7, 5, 7]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    #[doc(alias("fancy indexing", "gather"))]
    pub fn take(self, indices: Tensor, axis: impl IntoAxis) -> Tensor {
        let site = Site::caller();
        let (operands, axis) = ([self, indices], axis.into_axis());
        registry::build(registry::home(&operands), &operands, &[], site, |graph, _| {
            graph.take(self.expr, indices.expr, axis, site)
        })
    }

    fn slice_at(self, name: &str, axis: i64, item: SliceItem, site: Site) -> Tensor {
        let rank = self.rank();
        let position = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
        let Some(position) = position.and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis < rank)
        else {
            return registry::build(self.graph, &[self], &[], site, |graph, _| {
                match graph.is_poisoned(self.expr) {
                    true => graph.poison(),
                    false => graph.report(Problem::NoAxis { axis, rank }, Some(name), site),
                }
            });
        };
        let mut items = vec![SliceItem::from(..); position];
        items.push(item);
        self.take_slice(name, &items, site)
    }

    fn take_slice(self, name: &str, items: &[SliceItem], site: Site) -> Tensor {
        let operands: Vec<Tensor> = [self].into_iter().chain(positions(items)).collect();
        registry::build(registry::home(&operands), &operands, &bounds(items), site, |graph, bounds| {
            graph.index_as(name, self.expr, &indices(items, bounds), site)
        })
    }
}

/// The sizes in indices, in order.
pub(super) fn bounds(items: &[SliceItem]) -> Vec<Dim> {
    let bounds = items.iter().flat_map(|item| match item.0 {
        Item::Range { start, stop, .. } => [start, stop],
        Item::At(index) => [Some(index), None],
        Item::Positions(..) | Item::NewAxis | Item::Rest => [None, None],
    });
    bounds.flatten().collect()
}

/// The tensors of positions in indices.
pub(super) fn positions(items: &[SliceItem]) -> impl Iterator<Item = Tensor> + '_ {
    items.iter().filter_map(|item| match item.0 {
        Item::Positions(graph, expr) => Some(Tensor { graph, expr }),
        _ => None,
    })
}

/// Indices in the graph's form, with their sizes there.
pub(super) fn indices(items: &[SliceItem], bounds: Vec<dim::Dim>) -> Vec<IndexItem> {
    let mut bounds = bounds.into_iter();
    let items = items.iter().filter_map(|item| {
        Some(match item.0 {
            Item::Range { start, stop, step } => {
                let start = start.and_then(|_| bounds.next());
                let stop = stop.and_then(|_| bounds.next());
                IndexItem::Slice(SliceSpec::Range { start, stop, step })
            }
            Item::At(_) => IndexItem::Slice(SliceSpec::At(bounds.next()?)),
            Item::Positions(_, expr) => IndexItem::Positions(expr),
            Item::NewAxis => IndexItem::Slice(SliceSpec::NewAxis),
            Item::Rest => IndexItem::Rest,
        })
    });
    items.collect()
}

/// Shapes for [`Tensor::reshape`]: arrays of sizes in which `-1` stands for the size that follows, or a [`Shape`].
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let x = g.input::<f32>("x", shape![n, 6]);
/// assert_eq!(x.reshape([-1, 2]).to_string(), "f32[3*n, 2]");
/// assert_eq!(x.reshape(shape![n, 2, 3]).to_string(), "f32[n, 2, 3]");
/// ```
pub trait IntoNewShape {
    /// Returns the sizes.
    fn into_new_shape(self) -> Vec<NewSize>;
}

impl<D: Into<NewSize>, const N: usize> IntoNewShape for [D; N] {
    fn into_new_shape(self) -> Vec<NewSize> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<D: Into<NewSize> + Copy> IntoNewShape for &[D] {
    fn into_new_shape(self) -> Vec<NewSize> {
        self.iter().copied().map(Into::into).collect()
    }
}

impl IntoNewShape for Shape {
    fn into_new_shape(self) -> Vec<NewSize> {
        self.iter().copied().map(NewSize::from).collect()
    }
}
