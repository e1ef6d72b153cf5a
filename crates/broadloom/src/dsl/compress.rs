//! Elements that a mask selects, and sizes that computed numbers decide.

use super::axes::IntoAxis;
use super::dims::Dim;
use super::tensor::Tensor;
use broadloom_ir::graph::{SetOp, Site, Unique};

/// Elements that a mask selects: as many as the data of each run decide. Such an axis has a size of its own, `@k`, the same for
/// everything that one mask selects. A reduction along it stores nothing: `x.masked(x.gt(0)).sum(0)` reads all of `x` once.
impl Tensor {
    /// Returns the elements at which a mask holds: NumPy's `x[mask]`. The mask (bool) has the leading axes of this tensor, in
    /// whose place the result has one.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let positive: Vec<f64> = eval(&[3.0, -1.0, 5.0], |x| x.masked(x.gt(0)))?;
    /// assert_eq!(positive, [3.0, 5.0]);
    /// let mean: f64 = eval(&[3.0, -1.0, 5.0], |x| x.masked(x.gt(0)).mean(0))?; // nothing is stored
    /// assert_eq!(mean, 4.0);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    #[doc(alias("boolean indexing", "extract"))]
    pub fn masked(self, mask: Tensor) -> Tensor {
        let site = Site::caller();
        self.with(&[self, mask], site, |graph| graph.masked_elements(self.expr, mask.expr, site))
    }

    /// Returns the elements along an axis at which a mask with one axis holds: NumPy's `compress`.
    ///
    /// ```
    /// use broadloom::{Array, prelude::*};
    /// let g = Graph::new();
    /// let [n, m] = g.symbols(["n", "m"]);
    /// let x = g.input::<f32>("x", shape![n, m]);
    /// let kernel = x.compress(x.sum(0).gt(0), 1).compile()?;
    /// let columns: Array<f32> = kernel.run(ArrayView::new(&[1.0f32, -2.0, 3.0, 4.0, -5.0, 6.0], &[2, 3])?)?.try_into()?;
    /// assert_eq!((columns.shape(), columns.as_slice()), ([2, 2].as_slice(), [1.0, 3.0, 4.0, 6.0].as_slice()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn compress(self, mask: Tensor, axis: impl IntoAxis) -> Tensor {
        let (site, axis) = (Site::caller(), axis.into_axis());
        self.with(&[self, mask], site, |graph| graph.compress(self.expr, mask.expr, Some(axis), site))
    }

    /// Returns the positions (`i64`) of the elements that are not zero, along each axis: NumPy's `nonzero`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<bool>("x", shape![2, 3]);
    /// let at = x.nonzero();
    /// let kernel = g.compile([("rows", at[0]), ("columns", at[1])])?;
    /// let table = [false, true, false, true, true, false];
    /// let (rows, columns): (Vec<i64>, Vec<i64>) = kernel.run(ArrayView::new(&table, &[2, 3])?)?.try_into()?;
    /// assert_eq!((rows, columns), (vec![0, 1, 1], vec![1, 0, 1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn nonzero(self) -> Vec<Tensor> {
        let site = Site::caller();
        let axis = |axis: usize| {
            self.with(&[self], site, |graph| {
                let positions = graph.nonzero(self.expr, site);
                positions[axis.min(positions.len() - 1)]
            })
        };
        (0..self.rank().max(1)).map(axis).collect()
    }

    /// Returns the positions in row-major order (`i64`) of the elements that are not zero.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let at: Vec<i64> = eval(&[0.0f32, 2.0, 0.0, 4.0], |x| x.flatnonzero())?;
    /// assert_eq!(at, [1, 3]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn flatnonzero(self) -> Tensor {
        let site = Site::caller();
        self.with(&[self], site, |graph| graph.flatnonzero(self.expr, site))
    }

    /// Returns a row of positions (`i64`) for each element that is not zero.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let kernel = g.input::<bool>("x", shape![2, 2]).argwhere().compile()?;
    /// let at: Vec<i64> = kernel.run(ArrayView::new(&[false, true, true, false], &[2, 2])?)?.try_into()?;
    /// assert_eq!(at, [0, 1, 1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn argwhere(self) -> Tensor {
        let site = Site::caller();
        self.with(&[self], site, |graph| graph.argwhere(self.expr, site))
    }

    /// Returns each element along an axis as often as a vector of counts says: NumPy's `repeat` with an array. A negative count
    /// is an error of the run.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval((&[5, 6, 7], &[2i64, 0, 3]), |(x, counts)| x.repeat_counted(counts, 0))?;
    /// assert_eq!(result, [5, 5, 7, 7, 7]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    #[doc(alias("repeat"))]
    pub fn repeat_counted(self, counts: Tensor, axis: impl IntoAxis) -> Tensor {
        let (site, axis) = (Site::caller(), axis.into_axis());
        self.with(&[self, counts], site, |graph| {
            graph.repeat_counted(self.expr, counts.expr, Some(axis), site)
        })
    }

    /// Returns a computed integer without axes as a size, which each run finds out. A negative one is an error of the run.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let ids = g.input::<i64>("ids", shape![g.symbol("n")]);
    /// let groups = (ids.max(0) + 1).to_size();
    /// let kernel = ids.segment_count(groups).compile()?;
    /// let counts: Vec<i64> = kernel.run(&[0i64, 2, 2])?.try_into()?;
    /// assert_eq!(counts, [1, 0, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn to_size(self) -> Dim {
        let site = Site::caller();
        let size = self.inspect(|state| {
            let size = state.graph.size_of_value(self.expr, site);
            Dim::handle(&size, self.graph, state)
        });
        size.unwrap_or(Dim::from(0))
    }

    /// Returns the distinct elements in ascending order; all NaNs count as one.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let values: Vec<i32> = eval(&[3, 1, 3, 2, 1], |x| x.unique())?;
    /// assert_eq!(values, [1, 2, 3]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn unique(self) -> Tensor {
        self.of_unique(|found| found.values, Site::caller())
    }

    /// Returns the distinct elements, and how many elements equal each (`i64`).
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (values, counts): (Vec<i32>, Vec<i64>) = eval(&[3, 1, 3, 2, 1], |x| x.unique_counts())?;
    /// assert_eq!((values, counts), (vec![1, 2, 3], vec![2, 1, 2]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn unique_counts(self) -> (Tensor, Tensor) {
        let site = Site::caller();
        (self.of_unique(|found| found.values, site), self.of_unique(|found| found.counts, site))
    }

    /// Returns the distinct elements, and for each element the number of the one that it equals (`i64`).
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (values, inverse): (Vec<i32>, Vec<i64>) = eval(&[3, 1, 3, 2, 1], |x| x.unique_inverse())?;
    /// assert_eq!((values, inverse), (vec![1, 2, 3], vec![2, 0, 2, 1, 0]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn unique_inverse(self) -> (Tensor, Tensor) {
        let site = Site::caller();
        (self.of_unique(|found| found.values, site), self.of_unique(|found| found.inverse, site))
    }

    /// Returns the distinct elements, and the position of the first element that equals each, in row-major order (`i64`).
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (values, first): (Vec<i32>, Vec<i64>) = eval(&[3, 1, 3, 2, 1], |x| x.unique_indices())?;
    /// assert_eq!((values, first), (vec![1, 2, 3], vec![1, 3, 0]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn unique_indices(self) -> (Tensor, Tensor) {
        let site = Site::caller();
        (self.of_unique(|found| found.values, site), self.of_unique(|found| found.indices, site))
    }

    fn of_unique(self, part: impl Fn(Unique) -> broadloom_ir::ExprId, site: Site) -> Tensor {
        self.with(&[self], site, |graph| part(graph.unique(self.expr, true, site)))
    }
}

/// Makes an operation on two sets, with an example on `[3, 1, 2]` and `[2, 3, 4]`.
macro_rules! set_operations {
    ($($(#[doc = $doc:literal])+ $name:ident = $op:ident => $result:literal;)*) => {
        /// Operations on sets of elements: distinct elements in ascending order.
        impl Tensor {
            $(
                $(#[doc = $doc])+
                #[doc = concat!(
                    "\n```\n# use broadloom::prelude::*;\n",
                    "let result: Vec<i32> = eval((&[3, 1, 2], &[2, 3, 4]), |(x, y)| x.", stringify!($name),
                    "(y))?;\nassert_eq!(result, ", $result, ");\n# Ok::<(), broadloom::EvalError>(())\n```"
                )]
                #[track_caller]
                pub fn $name(self, other: Tensor) -> Tensor {
                    let site = Site::caller();
                    self.with(&[self, other], site, |graph| {
                        graph.set_operation(SetOp::$op, [self.expr, other.expr], site)
                    })
                }
            )*
        }
    };
}
set_operations! {
    /// Returns the elements of this tensor or of another.
    union1d = Union => "[1, 2, 3, 4]";
    /// Returns the elements of this tensor that another one has too.
    intersect1d = Intersection => "[2, 3]";
    /// Returns the elements of this tensor that another one does not have.
    setdiff1d = Difference => "[1]";
    /// Returns the elements of just one of two tensors.
    setxor1d = SymmetricDifference => "[1, 4]";
}
