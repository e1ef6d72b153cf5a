//! Sums of products: matrices, vectors and `einsum`.

use super::axes::IntoAxis;
use super::call::Call;
use super::operand::Operand;
use super::registry::{self, Joining};
use super::tensor::Tensor;
use broadloom_ir::graph::{Pairs, Product, Site};
use smallvec::SmallVec;

/// Sums of products of two tensors, by NumPy's rules.
///
/// Each of them is a broadcast, a multiplication and a sum: nothing as large as the products is stored, and ops on
/// the result are fused into the same loops. Operands take their common dtype, which is also that of the result:
/// integers wrap in it, unlike in [`Tensor::sum`]; bool uses `and` for products and `or` for sums. Floats add up in
/// the order of a sum, with one rounding for each product and sum; 16-bit floats do so as `f32`, and the sum is
/// rounded once at the end. A summed axis must have the same size in both operands; not even the constant 1
/// stretches. Only batch axes stretch.
impl Tensor {
    /// Multiplies matrices, like NumPy's `@`: `[.., n, k]` times `[.., k, m]` is `[.., n, m]`, and the leading axes
    /// broadcast. An operand with one axis is a row on the left and a column on the right; the result does not have
    /// that axis.
    ///
    /// It is a mistake if the two sizes `k` are not known to be equal, or if an operand has no axes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (a, b) = ([1, 2, 3, 4], [1, 0, 1, 1]);
    /// let (a, b) = (ArrayView::new(&a, &[2, 2])?, ArrayView::new(&b, &[2, 2])?);
    /// let result: Vec<i32> = eval((a, b), |(a, b)| a.matmul(b))?;
    /// assert_eq!(result, [3, 2, 7, 4]);
    ///
    /// let g = Graph::new();
    /// let [batch, n] = g.symbols(["batch", "n"]);
    /// let x = g.input::<f32>("x", shape![batch, n, 64]);
    /// let w = g.input::<f32>("w", shape![64, 10]);
    /// assert_eq!(x.matmul(w).to_string(), "f32[batch, n, 10]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias("dot", "@"))]
    pub fn matmul(self, other: impl Into<Operand>) -> Tensor {
        self.product(Product::Matmul, other, Site::caller())
    }

    /// NumPy's `dot`: sums products over the last axis and the last but one axis, or the only one, of `other`;
    /// all other axes stay, those of `self` first. If either operand has no axes, it is their product.
    ///
    /// It is a mistake if the sizes of the two axes are not known to be equal.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: i32 = eval((&[1, 2, 3], &[4, 5, 6]), |(a, b)| a.dot(b))?;
    /// assert_eq!(result, 32);
    ///
    /// let g = Graph::new();
    /// let (a, b) = (g.input::<f32>("a", shape![2, 3]), g.input::<f32>("b", shape![5, 3, 4]));
    /// assert_eq!(a.dot(b).to_string(), "f32[2, 5, 4]");
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn dot(self, other: impl Into<Operand>) -> Tensor {
        self.product(Product::Dot, other, Site::caller())
    }

    /// Returns the sum of the products of all elements, paired in row-major order, as a tensor of rank 0.
    ///
    /// It is a mistake if the two are not known to have the same number of elements.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (a, b) = (ArrayView::new(&[1, 2, 3, 4], &[2, 2])?, ArrayView::new(&[1, 1, 1, 2], &[4])?);
    /// let result: i32 = eval((a, b), |(a, b)| a.vdot(b))?;
    /// assert_eq!(result, 14);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn vdot(self, other: impl Into<Operand>) -> Tensor {
        self.product(Product::Vdot, other, Site::caller())
    }

    /// Returns the inner products of vectors that lie along an axis, which is counted in each operand separately.
    /// All other axes broadcast and form the result.
    ///
    /// It is a mistake if the sizes along the axis are not known to be equal, or if an operand does not have that
    /// axis.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[1, 2, 3, 4], &[2, 2])?;
    /// let result: Vec<i32> = eval((rows, &[10, 1]), |(a, b)| a.vecdot(b, -1))?;
    /// assert_eq!(result, [12, 34]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn vecdot(self, other: impl Into<Operand>, axis: impl IntoAxis) -> Tensor {
        self.product(Product::Vecdot(axis.into_axis()), other, Site::caller())
    }

    /// Sums products over the last axes of both operands; all other axes stay, those of `self` first. If either
    /// operand has no axes, it is their product.
    ///
    /// It is a mistake if the sizes of the last axes are not known to be equal.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (rows, vector) = (ArrayView::new(&[1, 2, 3, 4], &[2, 2])?, [10, 1]);
    /// let result: Vec<i32> = eval((rows, &vector), |(a, b)| a.inner(b))?;
    /// assert_eq!(result, [12, 34]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn inner(self, other: impl Into<Operand>) -> Tensor {
        self.product(Product::Inner, other, Site::caller())
    }

    /// Multiplies each element by each element of `other`, both in row-major order: one row per element of `self`,
    /// one column per element of `other`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval((&[1, 2], &[10, 20, 30]), |(a, b)| a.outer(b))?;
    /// assert_eq!(result, [10, 20, 30, 20, 40, 60]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn outer(self, other: impl Into<Operand>) -> Tensor {
        self.product(Product::Outer, other, Site::caller())
    }

    /// Sums products over pairs of axes; all other axes stay, those of `self` first. `axes` is either a number,
    /// which pairs that many last axes of `self` with the first axes of `other`, or the axes of both.
    ///
    /// It is a mistake if the sizes of a pair are not known to be equal, if an axis does not exist, or if the two
    /// operands have different numbers of axes to pair.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let (a, b) = (g.input::<f32>("a", shape![n, 3, 4]), g.input::<f32>("b", shape![4, 3, 5]));
    /// assert_eq!(a.tensordot(b, 0).to_string(), "f32[n, 3, 4, 4, 3, 5]");
    /// assert_eq!(a.tensordot(b, 1).to_string(), "f32[n, 3, 3, 5]");
    /// assert_eq!(a.tensordot(b, ([1, 2], [1, 0])).to_string(), "f32[n, 5]");
    /// assert!(g.check().is_ok());
    /// ```
    #[track_caller]
    pub fn tensordot(self, other: impl Into<Operand>, axes: impl IntoPairs) -> Tensor {
        self.product(Product::Tensordot(axes.into_pairs()), other, Site::caller())
    }

    /// Returns the Kronecker product: each element is replaced by its product with all of `other`, so that sizes
    /// multiply. The operand with fewer axes gets axes of size 1 in front.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval((&[1, 2], &[1, 10, 100]), |(a, b)| a.kron(b))?;
    /// assert_eq!(result, [1, 10, 100, 2, 20, 200]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn kron(self, other: impl Into<Operand>) -> Tensor {
        self.product(Product::Kron, other, Site::caller())
    }

    fn product(self, product: Product, other: impl Into<Operand>, site: Site) -> Tensor {
        let other = other.into();
        let tensors: SmallVec<[Tensor; 2]> = [Some(self), other.as_tensor()].into_iter().flatten().collect();
        registry::call(&tensors, Call::product(product, self.expr, &other), site)
    }
}

/// Sums products as described by subscripts, which name the axes of each operand and, after `->`, of the result:
/// NumPy's `einsum`. Axes with the same letter have equal sizes, or the constant 1, which stretches. Letters
/// missing from the result are summed over.
///
/// * Without `->`, the result has the letters that occur once, in alphabetical order.
/// * `...` stands for axes without a letter, which broadcast.
/// * A repeated letter in one operand selects its diagonal.
///
/// The tensors take their common dtype, which is also that of the result; integers wrap in it. Three or more
/// tensors are multiplied in pairs, in the order that takes the fewest multiplications. The sizes that decide are
/// those written or declared, or else the likely ones ([`Symbol::likely`](crate::Symbol::likely)). The rounding of
/// floats depends on that order, which is part of the graph. At least one tensor is needed.
///
/// It is a mistake if the subscripts do not describe the tensors, or if the sizes of a letter are not known to be
/// equal.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let [n, k] = g.symbols(["n", "k"]);
/// let (a, b) = (g.input::<f32>("a", shape![n, k]), g.input::<f32>("b", shape![k, 10]));
/// let c = g.input::<f32>("c", shape![10]);
/// assert_eq!(einsum("ij,jk,k->i", [a, b, c]).to_string(), "f32[n]");
/// assert!(g.check().is_ok());
///
/// let trace: i32 = eval(ArrayView::new(&[1, 2, 3, 4], &[2, 2])?, |x| einsum("ii", [x]))?;
/// assert_eq!(trace, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn einsum(subscripts: &str, tensors: impl AsRef<[Tensor]>) -> Tensor {
    let (site, tensors) = (Site::caller(), tensors.as_ref());
    if tensors.is_empty() {
        return Joining::Einsum.of_nothing();
    }
    let exprs = tensors.iter().map(|tensor| tensor.expr).collect();
    registry::call(tensors, Call::Einsum(subscripts.into(), exprs), site)
}

/// The axes that [`Tensor::tensordot`] sums over.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![2, 3, 4]);
/// let y = g.input::<f32>("y", shape![4, 3, 5]);
/// assert_eq!(x.tensordot(y, ([1, 2], [1, 0])).to_string(), "f32[2, 5]");
/// assert_eq!(x.tensordot(y, 1).to_string(), "f32[2, 3, 3, 5]"); // the last axis with the first
/// ```
pub trait IntoPairs {
    /// Returns the pairs.
    fn into_pairs(self) -> Pairs;
}

impl<L: IntoAxis, R: IntoAxis, const N: usize, const M: usize> IntoPairs for ([L; N], [R; M]) {
    fn into_pairs(self) -> Pairs {
        let (left, right) = self;
        Pairs::Axes(left.map(L::into_axis).into(), right.map(R::into_axis).into())
    }
}

impl<L: IntoAxis, R: IntoAxis> IntoPairs for (Vec<L>, Vec<R>) {
    fn into_pairs(self) -> Pairs {
        let (left, right) = self;
        Pairs::Axes(
            left.into_iter().map(L::into_axis).collect(),
            right.into_iter().map(R::into_axis).collect(),
        )
    }
}

macro_rules! counts_of_axes {
    ($($t:ty)*) => {$(
        impl IntoPairs for $t {
            /// A negative number counts as more axes than any tensor has.
            fn into_pairs(self) -> Pairs {
                Pairs::Adjacent(usize::try_from(self).unwrap_or(usize::MAX))
            }
        }
    )*};
}
counts_of_axes!(i32 i64 isize u32 usize);
