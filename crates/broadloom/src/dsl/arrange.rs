//! Rearranges elements with views, joins and selections, and makes tensors of one value.

use super::axes::{IntoAxes, IntoAxis};
use super::call::AlongFn;
use super::dims::{Dim, Shape};
use super::graph::Graph;
use super::operand::{Kind, Operand};
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::dtype::Element;
use broadloom_ir::graph::{self as ir, Pad, Site, Triangle};
use broadloom_ir::{ExprId, dim, shape};

/// The elements that [`Tensor::pad`] adds.
///
/// ```
/// use broadloom::{Padding, prelude::*};
/// let (edge, wrap): (Vec<i32>, Vec<i32>) =
///     eval(&[1, 2, 3], |x| (x.pad([(1, 1)], Padding::Edge), x.pad([(1, 1)], Padding::Wrap)))?;
/// assert_eq!((edge, wrap), (vec![1, 1, 2, 3, 3], vec![3, 1, 2, 3, 1]));
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Padding {
    /// A number, or a tensor of rank 0.
    Constant(Operand),
    /// The element at the end, repeated.
    Edge,
    /// The elements mirrored at the end, without the end itself. The width is less than the size of the axis.
    Reflect,
    /// The elements mirrored at the end, including the end itself. The width is at most the size of the axis.
    Symmetric,
    /// The elements from the other end. The width is at most the size of the axis.
    Wrap,
}

impl Padding {
    /// Pads with zeros.
    ///
    /// ```
    /// use broadloom::{Padding, prelude::*};
    /// let result: Vec<i32> = eval(&[1, 2], |x| x.pad([(1, 2)], Padding::zeros()))?;
    /// assert_eq!(result, [0, 1, 2, 0, 0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    pub fn zeros() -> Padding {
        Padding::Constant(Operand::from(0))
    }
}

/// Rearrangements. Sizes and widths may be symbols; each call checks the conditions that slices put on them.
impl Tensor {
    /// Reverses the order of the elements along axes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[5, 6, 7], |x| x.flip(0))?;
    /// assert_eq!(result, [7, 6, 5]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn flip(self, axes: impl IntoAxes) -> Tensor {
        let flip: AlongFn = |graph, operand, axes, _, site| graph.flip(operand, axes, site);
        self.along("flip", flip, axes, false, Site::caller())
    }

    /// Exchanges two axes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// assert_eq!(g.input::<f32>("x", shape![2, 3, 4]).swapaxes(0, -1).to_string(), "f32[4, 3, 2]");
    /// ```
    #[track_caller]
    pub fn swapaxes(self, first: impl IntoAxis, second: impl IntoAxis) -> Tensor {
        let (first, second) = (first.into_axis(), second.into_axis());
        self.made(&[], Site::caller(), |graph, x, _, site| graph.swapaxes(x, first, second, site))
    }

    /// Moves axes to other positions; the other axes keep their order.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![2, 3, 4]);
    /// assert_eq!(x.moveaxis(0, -1).to_string(), "f32[3, 4, 2]");
    /// assert_eq!(x.moveaxis([0, 1], [1, 2]).to_string(), "f32[4, 2, 3]");
    /// ```
    #[track_caller]
    pub fn moveaxis(self, from: impl IntoAxes, to: impl IntoAxes) -> Tensor {
        let all = || (0..self.rank() as i64).collect::<Vec<i64>>();
        let (from, to) = (from.into_axes().unwrap_or_else(all), to.into_axes().unwrap_or_else(all));
        self.made(&[], Site::caller(), |graph, x, _, site| graph.moveaxis(x, &from, &to, site))
    }

    /// Rotates by quarter turns in the plane of two axes, from the first towards the second.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[1, 2, 3, 4], &[2, 2])?;
    /// let result: Vec<i32> = eval(rows, |x| x.rot90(1, 0, 1))?;
    /// assert_eq!(result, [2, 4, 1, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn rot90(self, quarters: i64, first: impl IntoAxis, second: impl IntoAxis) -> Tensor {
        let axes = [first.into_axis(), second.into_axis()];
        self.made(&[], Site::caller(), |graph, x, _, site| graph.rot90(x, quarters, axes, site))
    }

    /// Adds axes of size 1 until there are at least `rank`, which is 1 to 3. They are inserted in front; of three,
    /// the last is added at the end.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![5]);
    /// assert_eq!(x.atleast(2).to_string(), "f32[1, 5]");
    /// assert_eq!(x.atleast(3).to_string(), "f32[1, 5, 1]");
    /// ```
    #[track_caller]
    pub fn atleast(self, rank: usize) -> Tensor {
        self.made(&[], Site::caller(), |graph, x, _, site| graph.atleast(x, rank, site))
    }

    /// Moves the elements along an axis by a number of places; elements that leave at one end come in at the other.
    /// A symbolic shift is at most the size of the axis.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: (Vec<i32>, Vec<i32>) = eval(&[1, 2, 3, 4], |x| (x.roll(1, 0), x.roll(-1, 0)))?;
    /// assert_eq!(result, (vec![4, 1, 2, 3], vec![2, 3, 4, 1]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn roll(self, shift: impl Into<Dim>, axis: impl IntoAxis) -> Tensor {
        let axis = axis.into_axis();
        self.made(&[shift.into()], Site::caller(), |graph, x, shift, site| {
            graph.roll(x, &shift, Some(&[axis]), site)
        })
    }

    /// Repeats each element along an axis; the copies are adjacent.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[1, 2], |x| x.repeat(3, 0))?;
    /// assert_eq!(result, [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn repeat(self, times: impl Into<Dim>, axis: impl IntoAxis) -> Tensor {
        let axis = axis.into_axis();
        self.made(&[times.into()], Site::caller(), |graph, x, times, site| {
            graph.repeat(x, times[0].clone(), Some(axis), site)
        })
    }

    /// Repeats the whole tensor along each axis; `times` is aligned with the last axis.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[1, 2], |x| x.tile(shape![2, 2]))?;
    /// assert_eq!(result, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn tile(self, times: impl Into<Shape>) -> Tensor {
        self.made(&times.into(), Site::caller(), |graph, x, times, site| graph.tile(x, &times, site))
    }

    /// Adds elements before and after those of each axis; the widths give the number for both sides.
    ///
    /// ```
    /// use broadloom::{Padding, prelude::*};
    /// let pad = |padding| eval(&[1, 2, 3], |x| x.pad([(2, 1)], padding));
    /// let result: Vec<i32> = pad(Padding::Edge)?;
    /// assert_eq!(result, [1, 1, 1, 2, 3, 3]);
    /// let result: Vec<i32> = pad(Padding::Reflect)?;
    /// assert_eq!(result, [3, 2, 1, 2, 3, 2]);
    /// let result: Vec<i32> = pad(Padding::Wrap)?;
    /// assert_eq!(result, [2, 3, 1, 2, 3, 1]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn pad<D: Into<Dim>>(self, widths: impl IntoIterator<Item = (D, D)>, padding: Padding) -> Tensor {
        let site = Site::caller();
        let widths: Vec<Dim> =
            widths.into_iter().flat_map(|(before, after)| [before.into(), after.into()]).collect();
        let value = match padding {
            Padding::Constant(value) => value.as_tensor(),
            _ => None,
        };
        let operands: Vec<Tensor> = [Some(self), value].into_iter().flatten().collect();
        registry::build(registry::home(&operands), &operands, &widths, site, |graph, widths| {
            let mode = match padding {
                Padding::Constant(value) => Pad::Constant(constant(graph, &value, self.expr, site)),
                Padding::Edge => Pad::Edge,
                Padding::Reflect => Pad::Reflect,
                Padding::Symmetric => Pad::Symmetric,
                Padding::Wrap => Pad::Wrap,
            };
            let mut widths = widths.into_iter();
            let mut pairs = Vec::new();
            while let (Some(before), Some(after)) = (widths.next(), widths.next()) {
                pairs.push([before, after]);
            }
            graph.pad(self.expr, &pairs, mode, site)
        })
    }

    /// Returns the elements of the first two axes whose second index is the first plus `offset`, along a new last
    /// axis. Sizes that are not equal must be constants.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[1, 2, 3, 4], &[2, 2])?;
    /// let (main, above): (Vec<i32>, Vec<i32>) = eval(rows, |x| (x.diagonal(0), x.diagonal(1)))?;
    /// assert_eq!((main, above), (vec![1, 4], vec![2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn diagonal(self, offset: i64) -> Tensor {
        self.made(&[], Site::caller(), |graph, x, _, site| graph.diagonal(x, offset, [0, 1], site))
    }

    /// Returns the sum of [`Tensor::diagonal`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[1i64, 2, 3, 4], &[2, 2])?;
    /// let result: i64 = eval(rows, |x| x.trace(0))?;
    /// assert_eq!(result, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn trace(self, offset: i64) -> Tensor {
        self.made(&[], Site::caller(), |graph, x, _, site| graph.trace(x, offset, [0, 1], site))
    }

    /// Returns the lower triangle of the last two axes: 0 above the diagonal. On the diagonal the last index is the
    /// one before it plus `offset`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[1, 2, 3, 4], &[2, 2])?;
    /// let result: Vec<i32> = eval(rows, |x| x.tril(0))?;
    /// assert_eq!(result, [1, 0, 3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn tril(self, offset: i64) -> Tensor {
        self.made(&[], Site::caller(), |graph, x, _, site| graph.triangle(x, Triangle::Lower, offset, site))
    }

    /// Returns the upper triangle of the last two axes: 0 below the diagonal. On the diagonal the last index is the
    /// one before it plus `offset`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[1, 2, 3, 4], &[2, 2])?;
    /// let result: Vec<i32> = eval(rows, |x| x.triu(1))?;
    /// assert_eq!(result, [0, 2, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn triu(self, offset: i64) -> Tensor {
        self.made(&[], Site::caller(), |graph, x, _, site| graph.triangle(x, Triangle::Upper, offset, site))
    }

    /// For each index, takes the element at that position along the axis and at the position of the index along all
    /// other axes. Negative indices count from the end; an index out of range is an error at run time.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[10, 20, 30, 40], &[2, 2])?;
    /// let picks = ArrayView::new(&[1i64, 0], &[2, 1])?;
    /// let result: Vec<i32> = eval((rows, picks), |(x, picks)| x.take_along_axis(picks, 1))?;
    /// assert_eq!(result, [20, 30]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn take_along_axis(self, indices: Tensor, axis: impl IntoAxis) -> Tensor {
        let (site, operands, axis) = (Site::caller(), [self, indices], axis.into_axis());
        registry::build(registry::home(&operands), &operands, &[], site, |graph, _| {
            graph.take_along_axis(self.expr, indices.expr, axis, site)
        })
    }

    /// Returns the powers 0 to `count - 1` of the elements of a vector as columns, the highest power first.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i64> = eval(&[2, 3], |x| x.vander(3))?;
    /// assert_eq!(result, [4, 2, 1, 9, 3, 1]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn vander(self, count: usize) -> Tensor {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.made(&[], Site::caller(), |graph, x, _, site| graph.vander(x, count, false, site))
    }

    /// Returns every window of `width` elements along an axis; the elements of each window lie along a new last
    /// axis. Windows overlap and are not copied: a moving average is `x.sliding_window_view(w, 0).mean(-1)`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1.0, 2.0, 6.0, 4.0], |x| x.sliding_window_view(2, 0).mean(-1))?;
    /// assert_eq!(result, [1.5, 4.0, 5.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn sliding_window_view(self, width: impl Into<Dim>, axis: impl IntoAxis) -> Tensor {
        let axis = axis.into_axis();
        self.made(&[width.into()], Site::caller(), |graph, x, width, site| {
            graph.windows(x, width[0].clone(), axis, site)
        })
    }

    /// Returns every `step`-th window along an axis; the elements of each window lie along a new last axis.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[1, 2, 3, 4, 5], |x| x.unfold(0, 2, 3))?;
    /// assert_eq!(result, [1, 2, 4, 5]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn unfold(self, axis: impl IntoAxis, width: impl Into<Dim>, step: i64) -> Tensor {
        let axis = axis.into_axis();
        self.made(&[width.into()], Site::caller(), |graph, x, width, site| {
            graph.unfold(x, width[0].clone(), axis, step, site)
        })
    }

    /// Returns a tensor of the same shape and dtype in which every element is `value`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[1, 2], |x| x.full_like(7))?;
    /// assert_eq!(result, [7, 7]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn full_like(self, value: impl Into<Operand>) -> Tensor {
        let (site, value) = (Site::caller(), value.into());
        let operands: Vec<Tensor> = [Some(self), value.as_tensor()].into_iter().flatten().collect();
        registry::build(registry::home(&operands), &operands, &[], site, |graph, _| {
            let value = constant(graph, &value, self.expr, site);
            let value = graph.cast(value, graph.dtype(self.expr), site);
            let shape = graph.measure(self.expr);
            graph.filled("full_like", value, shape, site)
        })
    }

    /// Returns zeros of the same shape and dtype.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[1, 2], |x| x.zeros_like())?;
    /// assert_eq!(result, [0, 0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn zeros_like(self) -> Tensor {
        self.full_like(false)
    }

    /// Returns ones of the same shape and dtype.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f32> = eval(&[1.5f32, 2.5], |x| x.ones_like())?;
    /// assert_eq!(result, [1.0, 1.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn ones_like(self) -> Tensor {
        self.full_like(true)
    }

    pub(super) fn made(
        self,
        dims: &[Dim],
        site: Site,
        build: impl FnOnce(&mut ir::Graph, ExprId, Vec<dim::Dim>, Site) -> ExprId,
    ) -> Tensor {
        registry::build(self.graph, &[self], dims, site, |graph, dims| build(graph, self.expr, dims, site))
    }
}

/// Returns the expression of an operand; a number takes the dtype that it has beside `like`.
fn constant(graph: &mut ir::Graph, value: &Operand, like: ExprId, site: Site) -> ExprId {
    match value.0 {
        Kind::Tensor(tensor) => tensor.expr,
        Kind::Literal(literal) => {
            let meets = graph.dtype(like);
            graph.literal(literal, meets, site)
        }
    }
}

/// Tensors of one value, and matrices with ones on a diagonal.
impl Graph {
    /// Returns a tensor in which every element is `value`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// assert_eq!(g.full(shape![g.symbol("n"), 3], 1.5f32).to_string(), "f32[n, 3]");
    /// ```
    #[track_caller]
    pub fn full<T: Element>(&self, shape: impl Into<Shape>, value: T) -> Tensor {
        let (site, value) = (Site::caller(), value.into_scalar());
        registry::build(self.key(), &[], &shape.into(), site, |graph, dims| {
            let value = graph.constant(value, site);
            graph.filled("full", value, shape::Shape::from(dims), site)
        })
    }

    /// Returns a matrix of `rows` by `columns`: ones where the column is the row plus `offset`, and zeros
    /// elsewhere.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let result: Vec<f32> = g.eye::<f32>(2, 3, 1).compile()?.run(())?.try_into()?;
    /// assert_eq!(result, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn eye<T: Element>(&self, rows: impl Into<Dim>, columns: impl Into<Dim>, offset: i64) -> Tensor {
        let site = Site::caller();
        registry::build(self.key(), &[], &[rows.into(), columns.into()], site, |graph, dims| {
            graph.eye([dims[0].clone(), dims[1].clone()], offset, T::DTYPE, site)
        })
    }
}

/// Returns the coordinates of a grid: each vector along its own axis, broadcast to the shape of all (NumPy's
/// `meshgrid` with `indexing="ij"`). Nothing is stored.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::meshgrid;
/// let (x, y): (Vec<i32>, Vec<i32>) = eval((&[1, 2], &[5, 6, 7]), |(x, y)| {
///     let [x, y] = meshgrid([x, y]);
///     (x, y)
/// })?;
/// assert_eq!((x, y), (vec![1, 1, 1, 2, 2, 2], vec![5, 6, 7, 5, 6, 7]));
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[track_caller]
pub fn meshgrid<const N: usize>(vectors: [Tensor; N]) -> [Tensor; N] {
    let site = Site::caller();
    std::array::from_fn(|axis| {
        registry::build(registry::home(&vectors), &vectors, &[], site, |graph, _| {
            graph.coordinate(&vectors.map(|vector| vector.expr), axis, site)
        })
    })
}
