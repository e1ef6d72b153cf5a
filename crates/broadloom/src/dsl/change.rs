//! Changed tensors: `x.at(region).set(value)`.

use super::operand::Operand;
use super::registry;
use super::tensor::Tensor;
use super::views::{SliceItem, bounds, indices, positions};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{IndexItem, Site};
use broadloom_ir::ops::Op;

/// The elements of a tensor in a region, where a mask holds, or at positions. Its methods return a tensor with other elements there; see
/// [`Tensor::at`].
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
/// let first_column: broadloom::At = x.at(slice![.., 0]);
/// assert_eq!(first_column.multiply(2).to_string(), "f32[n, 3]");
/// ```
#[derive(Debug, Clone)]
#[must_use = "it changes nothing by itself: call `set`, `add` or another method"]
pub struct At {
    tensor: Tensor,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Region(Vec<SliceItem>),
    /// A mask, or positions along the first axis.
    Chosen(Tensor),
}

/// What chooses the elements of [`Tensor::at`]: indices, as [`slice!`](crate::slice) makes them, a mask, or positions along
/// the first axis.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
/// for chosen in [broadloom::Chosen::from(slice![1..]), x.mean(1).gt(0).into()] {
///     assert_eq!(x.at(chosen).set(1).to_string(), "f32[n, 3]");
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Chosen(Place);

impl<const N: usize> From<[SliceItem; N]> for Chosen {
    fn from(items: [SliceItem; N]) -> Self {
        Chosen(Place::Region(items.into()))
    }
}

impl From<&[SliceItem]> for Chosen {
    fn from(items: &[SliceItem]) -> Self {
        Chosen(Place::Region(items.into()))
    }
}

impl From<Vec<SliceItem>> for Chosen {
    fn from(items: Vec<SliceItem>) -> Self {
        Chosen(Place::Region(items))
    }
}

impl From<Tensor> for Chosen {
    fn from(chosen: Tensor) -> Self {
        Chosen(Place::Chosen(chosen))
    }
}

/// Changed elements.
impl Tensor {
    /// Returns the elements that indices, a mask or positions choose, to change them. Tensors do not change: a method of the result
    /// returns a new tensor, and [`Tensor::assign`] writes it to the array of an input.
    ///
    /// Indices are those of [`slice!`](crate::slice), with its bounds. A mask (bool) has the leading axes of the tensor. A
    /// value stretches to the chosen region; beside a mask, to the axes after those of the mask. As for assignments, a
    /// value is converted within the same kind.
    ///
    /// Positions are tensors of integers, and may be equal: `set` keeps the last value in row-major order of the positions,
    /// and the other methods apply each. They accumulate as [`Tensor::segment_sum`] does, in its fixed order.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let ends: Vec<f32> = eval(&[1.0f32, 2.0, 3.0, 4.0], |x| x.at(slice![1..-1]).set(0.0))?;
    /// assert_eq!(ends, [1.0, 0.0, 0.0, 4.0]);
    /// let reversed: Vec<i32> = eval(&[1, 2, 3, 4], |x| x.at(slice![..;2]).set(x.slice(slice![..;-2])))?;
    /// assert_eq!(reversed, [4, 2, 2, 4]);
    /// let positive: Vec<f32> = eval(&[-1.0f32, 2.0, -3.0], |x| x.at(x.less(0.0)).set(0.0))?;
    /// assert_eq!(positive, [0.0, 2.0, 0.0]);
    /// let counts: Vec<i64> = eval((&[0i64; 4], &[2i64, -1, 2]), |(x, i)| x.at(i).add(1))?;
    /// assert_eq!(counts, [0, 0, 2, 1]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[doc(alias("setitem", "put", "scatter"))]
    pub fn at(self, chosen: impl Into<Chosen>) -> At {
        At { tensor: self, place: chosen.into().0 }
    }
}

impl At {
    /// Returns the tensor with the chosen elements replaced.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let first: Vec<i32> = eval(&[1, 2, 3], |x| x.at(slice![0]).set(x.sum(0)))?;
    /// assert_eq!(first, [6, 2, 3]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn set(self, value: impl Into<Operand>) -> Tensor {
        self.change(None, value.into(), Site::caller())
    }

    fn change(self, op: Option<Op>, value: Operand, site: Site) -> Tensor {
        let At { tensor, place } = self;
        let mut tensors = vec![tensor];
        tensors.extend(value.as_tensor());
        let items = match &place {
            Place::Region(items) => &items[..],
            Place::Chosen(chosen) => {
                tensors.push(*chosen);
                &[]
            }
        };
        tensors.extend(positions(items));
        registry::build(registry::home(&tensors), &tensors, &bounds(items), site, |graph, bounds| {
            let value = value.beside(graph, tensor.expr, site);
            let items = match place {
                Place::Region(_) => indices(items, bounds),
                Place::Chosen(mask) if graph.dtype(mask.expr) == DType::Bool => {
                    return match op {
                        Some(op) => graph.set_op_where(op, tensor.expr, mask.expr, value, site),
                        None => graph.set_where(tensor.expr, mask.expr, value, site),
                    };
                }
                Place::Chosen(positions) => vec![IndexItem::Positions(positions.expr)],
            };
            match op {
                Some(op) => graph.set_op_index(op, tensor.expr, &items, value, site),
                None => graph.set_index(tensor.expr, &items, value, site),
            }
        })
    }
}

macro_rules! updates {
    ($($name:ident = $op:ident $symbol:literal => $result:literal;)*) => {
        /// Changes computed from the chosen elements.
        #[allow(clippy::should_implement_trait, reason = "the names of the op table")]
        impl At {
            $(
                #[doc = concat!(
                    "Returns the tensor with the chosen elements replaced by the result of ", $symbol,
                    " on them and another operand.\n\n",
                    "```\n# use broadloom::prelude::*;\n",
                    "let result: Vec<f64> = eval(&[1.0, 2.0, 3.0], |x| x.at(slice![1..]).",
                    stringify!($name), "(2.5))?;\n",
                    "assert_eq!(result, ", $result, ");\n",
                    "# Ok::<(), broadloom::EvalError>(())\n```"
                )]
                #[track_caller]
                pub fn $name(self, other: impl Into<Operand>) -> Tensor {
                    self.change(Some(Op::$op), other.into(), Site::caller())
                }
            )*
        }
    };
}
updates! {
    add = Add "`+`" => "[1.0, 4.5, 5.5]";
    subtract = Subtract "`-`" => "[1.0, -0.5, 0.5]";
    multiply = Multiply "`*`" => "[1.0, 5.0, 7.5]";
    divide = Divide "`/`" => "[1.0, 0.8, 1.2]";
    minimum = Minimum "`minimum`" => "[1.0, 2.0, 2.5]";
    maximum = Maximum "`maximum`" => "[1.0, 2.5, 3.0]";
}
