//! The reference of every function: how to call it and, unless it is a row of the op table, its meaning, shapes and
//! dtypes, and an example.

use crate::names::{self, function};

/// A function outside the tables of ops, reductions and products, which docs/ops.md renders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Its primary name.
    pub name: &'static str,
    /// What it returns.
    pub meaning: &'static str,
    /// The shape of the result.
    pub shapes: &'static str,
    /// The dtypes of operands and result.
    pub dtypes: &'static str,
    /// An expression.
    pub example: &'static str,
    /// The value as the program prints it.
    pub value: &'static str,
}

macro_rules! explanations {
    ($($name:literal: $meaning:literal, $shapes:literal, $dtypes:literal, $example:literal => $value:literal;)*) => {
        &[$(Explanation {
            name: $name, meaning: $meaning, shapes: $shapes, dtypes: $dtypes, example: $example, value: $value,
        },)*]
    };
}

const EXPLANATIONS: &[Explanation] = explanations! {
    "softmax": "`exp(x)` divided by its sum along the axes, without overflow: shares that sum to 1.",
        "same as x", "floats; f64 for integers", "softmax(array([0.0, 0.0]))" => "[0.5 0.5]";
    "log_softmax": "The logarithms of `softmax`, without overflow.",
        "same as x", "floats; f64 for integers", "log_softmax(array([7.0]))" => "[0.]";
    "norm": "The norm of the vectors along an axis, of order `ord`: 1, 2 (the default) or inf.",
        "x without the axes; size 1 for each with keepdims", "floats; f64 for integers", "norm(array([3.0, 4.0]))" => "5.0";
    "where": "x where the condition holds, and y elsewhere, element by element; without both, `nonzero(condition)`.",
        "all three broadcast", "any condition, true where it is not zero; the common dtype of x and y", "where(arange(4) < 2, arange(4), -1)" => "[ 0  1 -1 -1]";
    "astype": "The elements converted to another dtype: floats become integers by rounding toward zero and clamping to the range; bool is `x != 0`.",
        "same as x", "any; the given dtype", "array([1.5, -2.5]).astype(i32)" => "[ 1 -2]";
    "view": "The bits of the elements as integers of another dtype with as many bytes.",
        "same as x", "integers, and bool as 8 bits; the given dtype", "array([-1, 1], dtype=i8).view(u8)" => "[255   1]";
    "reshape": "The same elements in row-major order with other sizes; one of them may be -1, to be inferred.",
        "the given sizes, with the same number of elements", "any; same as x", "arange(6).reshape(2, -1)" => "[[0 1 2]\n [3 4 5]]";
    "rebind": "The same tensor with other expressions for its sizes, or `None` to keep one; each call checks that the sizes are equal.",
        "the given sizes", "any; same as x", "arange(3).rebind(3)" => "[0 1 2]";
    "ravel": "All elements in row-major order along one axis.",
        "[number of elements]", "any; same as x", "arange(6).reshape(2, 3).ravel()" => "[0 1 2 3 4 5]";
    "broadcast_to": "x broadcast to other sizes.",
        "the given sizes", "any; same as x", "broadcast_to(arange(2), (2, 2))" => "[[0 1]\n [0 1]]";
    "permute_dims": "x with its axes in another order, by default reversed.",
        "the sizes of x in that order", "any; same as x", "permute_dims(arange(4).reshape(2, 2), (1, 0))" => "[[0 2]\n [1 3]]";
    "swapaxes": "x with two axes swapped.",
        "the sizes of x, with two of them swapped", "any; same as x", "swapaxes(arange(4).reshape(2, 2), 0, 1)" => "[[0 2]\n [1 3]]";
    "matrix_transpose": "x with its last two axes swapped, like `x.mT`.",
        "[.., m, n] for [.., n, m]", "any; same as x", "matrix_transpose(arange(2).reshape(1, 2))" => "[[0]\n [1]]";
    "expand_dims": "x with new axes of size 1, like `x[:, None]`; the axes are those of the result.",
        "the sizes of x, with 1 at the axes", "any; same as x", "expand_dims(arange(2), 1)" => "[[0]\n [1]]";
    "squeeze": "x without the given axes of constant size 1, by default all of them.",
        "the sizes of x without them", "any; same as x", "squeeze(arange(2).reshape(2, 1))" => "[0 1]";
    "flip": "x reversed along the axes, by default all of them.",
        "same as x", "any; same as x", "flip(arange(3))" => "[2 1 0]";
    "average": "The weighted mean: the sum of `x * weights` divided by the sum of the weights, which broadcast to x or run along the given axis.",
        "x without the axes; size 1 for each with keepdims", "floats; f64 for integers", "average(array([1.0, 2.0]), weights=array([3.0, 1.0]))" => "1.25";
    "isclose": "Whether x and y differ by at most `atol + rtol * abs(y)`: by default 1e-8 and 1e-5.",
        "both broadcast", "numbers; bool", "isclose(array([1.0, 1.1]), array([1.0, 1.0]))" => "[ True False]";
    "allclose": "Whether `isclose` holds for all elements.",
        "[]", "numbers; bool", "allclose(array([1.0, 2.0]), array([1.0, 2.0]))" => "True";
    "nan_to_num": "x with nan replaced by 0 and infinities by the greatest and the least number, or by the given values.",
        "same as x", "any; same as x", "nan_to_num(array([nan, 1.0]))" => "[0. 1.]";
    "layer_norm": "x minus its mean along the axes (the last one by default), divided by its standard deviation.",
        "same as x", "floats; f64 for integers", "layer_norm(array([1.0, 1.0]))" => "[0. 0.]";
    "moveaxis": "x with axes moved to other positions; the other axes keep their order.",
        "the sizes of x in that order", "any; same as x", "moveaxis(arange(6).reshape(1, 2, 3), 0, -1).shape[0]" => "2";
    "flipud": "x with its rows reversed.",
        "same as x", "any; same as x", "flipud(array([[1, 2], [3, 4]]))" => "[[3 4]\n [1 2]]";
    "fliplr": "x with its columns reversed.",
        "same as x", "any; same as x", "fliplr(array([[1, 2], [3, 4]]))" => "[[2 1]\n [4 3]]";
    "rot90": "x rotated by `k` right angles (1 by default) in the plane of two axes, from the first toward the second.",
        "the sizes of x, with the two axes swapped if k is odd", "any; same as x", "rot90(array([[1, 2], [3, 4]]))" => "[[2 4]\n [1 3]]";
    "roll": "The elements shifted along the axes, or in row-major order; elements shifted past the end return at the beginning.",
        "same as x", "any; same as x", "roll(arange(4), 1)" => "[3 0 1 2]";
    "repeat": "Each element repeated the given number of times along an axis, or in row-major order; a list or a tensor gives one number per element.",
        "the axis grows by that factor, or to the sum of the numbers", "any; same as x", "repeat(arange(2), 2)" => "[0 0 1 1]";
    "tile": "The whole tensor repeated the given number of times along each axis.",
        "each axis grows by its factor", "any; same as x", "tile(arange(2), 2)" => "[0 1 0 1]";
    "pad": "x with the given number of elements added before and after each axis, or with pairs of numbers: a constant, or by `mode` 'edge', 'reflect', 'symmetric' or 'wrap'.",
        "the sizes of x plus what is added", "any; same as x", "pad(array([1, 2]), 1)" => "[0 1 2 0]";
    "atleast_1d": "x with at least one axis: a scalar gets an axis of size 1.",
        "same as x, or [1]", "any; same as x", "atleast_1d(array(7))" => "[7]";
    "atleast_2d": "x with at least two axes: axes of size 1 are added in front.",
        "the sizes of x, or with 1 in front", "any; same as x", "atleast_2d(arange(2))" => "[[0 1]]";
    "atleast_3d": "x with at least three axes: a vector gets an axis of size 1 on either side, a matrix one at the end.",
        "the sizes of x, or with 1 added", "any; same as x", "atleast_3d(arange(2)).shape[1]" => "2";
    "diagonal": "The elements whose positions along two axes (the first two by default) differ by `offset`.",
        "x without the two axes, and with the length of the diagonal at the end", "any; same as x", "diagonal(array([[1, 2], [3, 4]]))" => "[1 4]";
    "trace": "The sum of `diagonal`.",
        "x without the two axes", "as for `sum`", "trace(array([[1, 2], [3, 4]]))" => "5";
    "tril": "The elements on and below the diagonal `k` (0 by default), with zeros above it.",
        "same as x", "any; same as x", "tril(array([[1, 2], [3, 4]]))" => "[[1 0]\n [3 4]]";
    "triu": "The elements on and above the diagonal `k` (0 by default), with zeros below it.",
        "same as x", "any; same as x", "triu(array([[1, 2], [3, 4]]))" => "[[1 2]\n [0 4]]";
    "vander": "The powers of each element, the highest first unless `increasing` is given.",
        "[len(x), n]; n is len(x) by default", "numbers; as for `power`", "vander(array([2, 3]))" => "[[2 1]\n [3 1]]";
    "sliding_window_view": "All windows along the axes, without a copy: each begins one element after the previous one.",
        "each axis shrinks by the size of its window minus 1; the windows are new axes at the end", "any; same as x", "sliding_window_view(arange(4), 2)" => "[[0 1]\n [1 2]\n [2 3]]";
    "unfold": "The windows of a size along one axis, each starting `step` elements (1 by default) after the previous one.",
        "the axis becomes the number of windows; the window is a new axis at the end", "any; same as x", "unfold(arange(4), 0, 2, 2)" => "[[0 1]\n [2 3]]";
    "full": "A tensor filled with one value.",
        "the given sizes", "the dtype of the value, or the given one", "full(3, 7)" => "[7 7 7]";
    "zeros": "Zeros.",
        "the given sizes", "f64, or the given dtype", "zeros(2)" => "[0. 0.]";
    "ones": "Ones.",
        "the given sizes", "f64, or the given dtype", "ones(2)" => "[1. 1.]";
    "full_like": "A tensor in the shape of x, filled with one value.",
        "same as x", "same as x, or the given dtype", "full_like(arange(2), 7)" => "[7 7]";
    "zeros_like": "Zeros in the shape of x.",
        "same as x", "same as x, or the given dtype", "zeros_like(arange(2))" => "[0 0]";
    "ones_like": "Ones in the shape of x.",
        "same as x", "same as x, or the given dtype", "ones_like(arange(2))" => "[1 1]";
    "eye": "Ones on the diagonal `k` (0 by default), and zeros elsewhere.",
        "[n, m]; m is n by default", "f64, or the given dtype", "eye(2)" => "[[1. 0.]\n [0. 1.]]";
    "take_along_axis": "The elements at positions along an axis (the last one by default), with separate positions for each row.",
        "same as indices", "any, and integers for ids; same as x", "take_along_axis(array([[10, 20], [30, 40]]), array([[1], [0]]), 1)" => "[[20]\n [30]]";
    "cumsum": "Running sums along an axis, by default of all elements in row-major order; `include_initial=True` puts 0 in front.",
        "same as x; one longer along the axis with `include_initial`", "any; as for `sum`", "cumsum(array([1, 2, 3]))" => "[1 3 6]";
    "cumprod": "Running products, like `cumsum`; `include_initial=True` puts 1 in front.",
        "same as x; one longer along the axis with `include_initial`", "any; as for `prod`", "cumprod(array([2, 3, 4]))" => "[ 2  6 24]";
    "cummin": "The running minimum along an axis, by default of all elements in row-major order; NaN from the first NaN on.",
        "same as x", "any; same as x", "cummin(array([3, 1, 2]))" => "[3 1 1]";
    "cummax": "The running maximum, like `cummin`.",
        "same as x", "any; same as x", "cummax(array([1, 3, 2]))" => "[1 3 3]";
    "nancumsum": "Running sums that count NaN as 0.",
        "same as x", "any; as for `sum`", "nancumsum(array([1.0, nan, 2.0]))" => "[1. 1. 3.]";
    "nancumprod": "Running products that count NaN as 1.",
        "same as x", "any; as for `prod`", "nancumprod(array([2.0, nan, 3.0]))" => "[2. 2. 6.]";
    "add.accumulate": "Running sums, like `cumsum`, along the first axis by default.",
        "same as x", "any; as for `sum`", "add.accumulate(array([1, 2, 3]))" => "[1 3 6]";
    "multiply.accumulate": "Running products, like `cumprod`, along the first axis by default.",
        "same as x", "any; as for `prod`", "multiply.accumulate(array([2, 3, 4]))" => "[ 2  6 24]";
    "minimum.accumulate": "The running minimum, like `cummin`, along the first axis by default.",
        "same as x", "any; same as x", "minimum.accumulate(array([3, 1, 2]))" => "[3 1 1]";
    "maximum.accumulate": "The running maximum, like `cummax`, along the first axis by default.",
        "same as x", "any; same as x", "maximum.accumulate(array([1, 3, 2]))" => "[1 3 3]";
    "add.reduce": "The sum over the given axes, by default the first.",
        "x without the axes; size 1 for each with keepdims", "any; as for `sum`", "add.reduce(array([[1, 2], [3, 4]]))" => "[4 6]";
    "multiply.reduce": "The product over the given axes, by default the first.",
        "x without the axes; size 1 for each with keepdims", "any; as for `prod`", "multiply.reduce(array([[1, 2], [3, 4]]))" => "[3 8]";
    "minimum.reduce": "The least element over the given axes, by default the first.",
        "x without the axes; size 1 for each with keepdims", "any; same as x", "minimum.reduce(array([[1, 4], [3, 2]]))" => "[1 2]";
    "maximum.reduce": "The greatest element over the given axes, by default the first.",
        "x without the axes; size 1 for each with keepdims", "any; same as x", "maximum.reduce(array([[1, 4], [3, 2]]))" => "[3 4]";
    "logical_and.reduce": "Whether all elements are true over the given axes, by default the first.",
        "x without the axes; size 1 for each with keepdims", "any; bool", "logical_and.reduce(array([[True, False], [True, True]]))" => "[ True False]";
    "logical_or.reduce": "Whether any element is true over the given axes, by default the first.",
        "x without the axes; size 1 for each with keepdims", "any; bool", "logical_or.reduce(array([[True, False], [True, False]]))" => "[ True False]";
    "ewm_mean": "The exponentially weighted mean of the elements so far along an axis (the first one by default), as pandas' `ewm(alpha=..).mean()`, with 0 < alpha <= 1: each element weighs `1 - alpha` times as much as the next. With `adjust=False`, `1 - alpha` of the mean before and `alpha` of the element; `ignore_na=True` counts no step for NaN.",
        "same as x", "any; floats", "ewm_mean(array([1.0, 2.0, 4.0]), 0.5, adjust=False)" => "[1.   1.5  2.75]";
    "ewm_var": "The exponentially weighted variance, like `ewm_mean`; with `bias=True`, not corrected for a sample.",
        "same as x", "any; floats", "ewm_var(array([1.0, 3.0]), 0.5, bias=True)" => "[0.         0.88888889]";
    "ewm_std": "The square root of `ewm_var`.",
        "same as x", "any; floats", "ewm_std(array([1.0, 3.0]), 0.5, bias=True)" => "[0.         0.94280904]";
    "lfilter": "A digital filter along an axis (the last one by default), as scipy's `signal.lfilter`: `a[0] y[t] = b[0] x[t] + b[1] x[t-1] + .. - a[1] y[t-1] - ..`.",
        "same as x", "any; floats", "lfilter([1, 2], [1, -0.5], array([1.0, 0.0, 0.0]))" => "[1.   2.5  1.25]";
    "linear_recurrence": "`y[t] = a[t] * y[t-1] + x[t]` along an axis (the first one by default), with `initial`, 0 by default, before the first element.",
        "same as x", "any; floats", "linear_recurrence(0.5, array([1.0, 1.0, 1.0]))" => "[1.   1.5  1.75]";
    "cumulative_logsumexp": "log(sum(exp(x))) of the elements so far along an axis (the last one by default), without overflow.",
        "same as x", "any; floats", "cumulative_logsumexp(zeros(2))" => "[0.         0.69314718]";
    "drawdown": "How far each element is below the greatest one so far along an axis (the first one by default): `x / cummax(x) - 1`.",
        "same as x", "any; floats", "drawdown(array([4.0, 2.0, 8.0]))" => "[ 0.  -0.5  0. ]";
    "diff": "The differences of neighbours along an axis (the last one by default), taken `n` times; for bool, whether they differ.",
        "the axis shrinks by n, which is 1 by default", "any; same as x", "diff(array([1, 4, 9]))" => "[3 5]";
    "take": "The elements at positions along an axis, like `x[indices]`; negative positions count from the end.",
        "the axes of indices replace the axis", "any, and integers for ids; same as x", "take(array([10, 20, 30]), [2, 0])" => "[30 10]";
    "topk": "The k greatest elements along an axis (the last one by default), best first; the k least with `largest=False`. k is 1 to 64.",
        "k replaces the axis", "any; same as x", "topk(array([3, 1, 2]), 2)" => "[3 2]";
    "argtopk": "The positions of the elements that `topk` returns.",
        "k replaces the axis", "any; i64", "argtopk(array([3, 1, 2]), 2)" => "[0 2]";
    "sort": "The elements along an axis (the last one by default) in ascending order, nan last; `axis=None` sorts all of them as one row. `descending` reverses the order. `kind` and `stable` have no effect.",
        "same as x; one axis for axis=None", "any; same as x", "sort(array([3, 1, 2]))" => "[1 2 3]";
    "argsort": "The positions along an axis (the last one by default) that sort the elements as `sort` does; equal elements keep their order.",
        "same as x; one axis for axis=None", "any; i64", "argsort(array([3, 1, 2]))" => "[1 2 0]";
    "partition": "The elements along an axis (the last one by default) in an order in which those at the positions `kth` are the ones that a sort puts there: here, all of them.",
        "same as x; one axis for axis=None", "any; same as x", "partition(array([3, 1, 2]), 1)" => "[1 2 3]";
    "argpartition": "The positions along an axis (the last one by default) of the elements in the order of `partition`.",
        "same as x; one axis for axis=None", "any; i64", "argpartition(array([3, 1, 2]), 1)" => "[1 2 0]";
    "searchsorted": "The position of each element of v in a sorted table: the number of its elements that are less, or with `side='right'` not greater.",
        "same as v; x has one axis", "any; i64", "searchsorted(array([1, 2, 4]), array([2, 3]))" => "[1 2]";
    "median": "The middle element in sorted order along the axes (all by default), or the mean of the two in the middle; nan if any element is nan.",
        "x without the axes, or with size 1 for each", "any; same as x, or f64 for integers", "median(array([7, 1, 2, 3]))" => "2.5";
    "nanmedian": "The median that ignores nan; nan if all elements are nan.",
        "x without the axes, or with size 1 for each", "any; same as x, or f64 for integers", "nanmedian(array([3.0, nan, 2.0]))" => "2.5";
    "quantile": "The value at the fraction q, from 0 to 1, of the sorted elements along the axes (all by default); nan if any element is nan. q is a number or a list of numbers. `method` is 'linear', 'lower', 'higher', 'midpoint', 'nearest', 'inverted_cdf', 'averaged_inverted_cdf', 'closest_observation', 'interpolated_inverted_cdf', 'hazen', 'weibull', 'median_unbiased' or 'normal_unbiased'.",
        "x without the axes, or with size 1 for each; for a list, its length comes first", "any; same as x, or f64 for integers and lists", "quantile(array([1, 2, 4]), [0.25, 0.5])" => "[1.5 2. ]";
    "nanquantile": "The quantile that ignores nan; nan if all elements are nan.",
        "as for `quantile`", "as for `quantile`", "nanquantile(array([1.0, nan, 2.0]), 0.5)" => "1.5";
    "percentile": "The quantile at q percent, from 0 to 100.",
        "as for `quantile`", "as for `quantile`", "percentile(array([1, 2, 4]), 50)" => "2.0";
    "nanpercentile": "The percentile that ignores nan; nan if all elements are nan.",
        "as for `quantile`", "as for `quantile`", "nanpercentile(array([1.0, nan, 2.0]), 50)" => "1.5";
    "concat": "Tensors joined one after the other along an axis (the first by default).",
        "the sum of their sizes along the axis; the others are equal", "the common dtype", "concat([arange(2), arange(2)])" => "[0 1 0 1]";
    "stack": "Tensors of one shape stacked along a new axis (the first by default).",
        "the shape of each, with their number at the axis", "the common dtype", "stack([arange(2), arange(2)])" => "[[0 1]\n [0 1]]";
    "vstack": "Tensors stacked vertically; vectors become rows.",
        "the sum of their first sizes; the others are equal", "the common dtype", "vstack([arange(2), arange(2)])" => "[[0 1]\n [0 1]]";
    "hstack": "Tensors joined horizontally, along the second axis; vectors are joined end to end.",
        "the sum of their second sizes, or of their lengths", "the common dtype", "hstack([arange(2), arange(2)])" => "[0 1 0 1]";
    "dstack": "Tensors joined along the third axis.",
        "the sum of their third sizes", "the common dtype", "dstack([arange(2), arange(2)])" => "[[[0 0]\n  [1 1]]]";
    "column_stack": "Vectors as the columns of a matrix, next to the columns of matrices.",
        "[n, number of columns]", "the common dtype", "column_stack([arange(2), arange(2)])" => "[[0 0]\n [1 1]]";
    "append": "Two tensors joined along an axis, or all elements of both by default.",
        "the sum of their sizes along the axis", "the common dtype", "append(arange(2), arange(2))" => "[0 1 0 1]";
    "copy": "The tensor itself: nothing is shared, and layouts do not matter.",
        "same as x", "any; same as x", "copy(arange(2))" => "[0 1]";
    "tri": "Ones on and below the diagonal `k` (0 by default), and zeros above it.",
        "[n, m]; m is n by default", "f64, or the given dtype", "tri(2)" => "[[1. 0.]\n [1. 1.]]";
    "diag": "A matrix with the vector x on its diagonal `k` (0 by default); for a matrix x, that diagonal.",
        "[n + k, n + k] for [n]; the length of the diagonal for [m, n]", "any; same as x", "diag(array([1, 2]))" => "[[1 0]\n [0 2]]";
    "trapezoid": "The area under the samples y along an axis (the last one by default), at the positions x or `dx` apart (1 by default).",
        "x without the axis", "floats; f64 for integers", "trapezoid(array([1, 2, 4]))" => "4.5";
    "gradient": "The slopes of samples along an axis, with the given distance or positions; several axes give one result each, like `gradient(x)[0]`.",
        "same as x, for each axis", "floats; f64 for integers", "gradient(array([1, 4, 9, 16]))" => "[3. 4. 6. 7.]";
    "convolve": "The convolution of the vectors x and y: the sums of products with y reversed and slid along x, by mode 'full' (the default), 'same' or 'valid'.",
        "[n + m - 1] for [n] and [m]; the longer of both for 'same'; [n - m + 1] for 'valid'", "any; the common dtype", "convolve(array([1, 2, 3]), array([1, 1]))" => "[1 3 5 3]";
    "correlate": "The correlation of the vectors x and y: the sums of products with y slid along x, by mode 'valid' (the default), 'same' or 'full'.",
        "as for `convolve`", "any; the common dtype", "correlate(array([1, 2, 3]), array([0, 1]))" => "[2 3]";
    "polyval": "The polynomial with up to 64 coefficients p, the highest first, evaluated at x.",
        "same as x", "numbers; the common dtype", "polyval(array([1, 0, 2]), array([2, 3]))" => "[ 6 11]";
    "digitize": "The bin of each element, with the bounds `bins` in increasing or decreasing order; with `right`, each bin includes its upper bound. Bounds without order are an error.",
        "same as x", "numbers; i64", "digitize(array([0.5, 1.0, 7.0]), [1.0, 2.0])" => "[0 1 2]";
    "interp": "Linear interpolation at x between the values `fp` at the increasing positions `xp`; beyond the ends, the values at the ends, or `left` and `right`.",
        "same as x", "numbers; f64", "interp(array([0.5, 9.0]), [0.0, 1.0], [10.0, 20.0])" => "[15. 20.]";
    "histogram": "The number of elements in each bin, and the bounds of the bins as `histogram(x)[1]`: 10 bins by default, of equal width in `range`, or with the given bounds, which must increase; with `density`, the share of elements divided by the width.",
        "[bins] and [bins + 1]", "numbers; i64 or f64, and floats", "histogram(array([0.5, 1.5, 1.7]), 2, (0, 2))[0]" => "[1 2]";
    "bincount": "How often each number from 0 to the greatest in x occurs, or the sum of its weights; with `minlength`, up to `minlength - 1`, and other numbers are an error.",
        "[max(x) + 1], or [minlength]", "integers; i64, or f64 with weights", "bincount(array([0, 2, 2]), minlength=4)" => "[1 0 2 0]";
    "nonzero": "The positions of the elements that are not zero, along each axis: `nonzero(x)[0]`. `@k` is their number.",
        "[@k] for each axis", "any; i64", "nonzero(array([0.0, 2.0, 0.0, 4.0]))[0]" => "[1 3]";
    "flatnonzero": "The positions in row-major order of the elements that are not zero.",
        "[@k]", "any; i64", "flatnonzero(array([[0, 1], [1, 0]]))" => "[1 2]";
    "argwhere": "A row of positions for each element that is not zero.",
        "[@k, rank of x]", "any; i64", "argwhere(array([[0, 1], [1, 0]]))" => "[[0 1]\n [1 0]]";
    "compress": "The elements of x along an axis, or in row-major order, at which a condition with one axis holds.",
        "that of x, with @k in place of the axis", "any; same as x", "compress(array([True, False, True]), arange(3))" => "[0 2]";
    "extract": "The elements of x at which the condition holds, in row-major order.",
        "[@k]", "any; same as x", "extract(arange(4) > 1, arange(4))" => "[2 3]";
    "unique": "The distinct elements in ascending order; with `return_index`, `return_inverse` or `return_counts` also the position of the first element that equals each, the number of the one that each element equals, and how many equal it. All NaNs count as one, unless `equal_nan=False`.",
        "[@k]; that of x for the inverse", "any; same as x, and i64", "unique(array([3, 1, 3]), return_counts=True)[1]" => "[1 2]";
    "unique_values": "The distinct elements in ascending order; no NaN equals another.",
        "[@k]", "any; same as x", "unique_values(array([3, 1, 3]))" => "[1 3]";
    "unique_counts": "The distinct elements, and how many elements equal each.",
        "[@k] and [@k]", "any; same as x, and i64", "unique_counts(array([3, 1, 3]))[1]" => "[1 2]";
    "unique_inverse": "The distinct elements, and for each element the number of the one that it equals.",
        "[@k], and that of x", "any; same as x, and i64", "unique_inverse(array([3, 1, 3]))[1]" => "[1 0 1]";
    "unique_all": "The distinct elements, the positions of the first ones, the inverse, and the counts.",
        "[@k], [@k], that of x, and [@k]", "any; same as x, and i64", "unique_all(array([3, 1, 3]))[1]" => "[1 0]";
    "union1d": "The distinct elements of x or y.",
        "[@k]", "any; the common dtype", "union1d(array([3, 1]), array([2, 3]))" => "[1 2 3]";
    "intersect1d": "The distinct elements of x that y has too.",
        "[@k]", "any; the common dtype", "intersect1d(array([3, 1]), array([2, 3]))" => "[3]";
    "setdiff1d": "The distinct elements of x that y does not have.",
        "[@k]", "any; that of x", "setdiff1d(array([3, 1]), array([2, 3]))" => "[1]";
    "setxor1d": "The distinct elements of just one of x and y.",
        "[@k]", "any; the common dtype", "setxor1d(array([3, 1]), array([2, 3]))" => "[1 2]";
    "trim_zeros": "A vector without the zeros at its beginning and its end, or at one of them: `trim` 'f' or 'b'.",
        "[@k] for [n]", "any; same as x", "trim_zeros(array([0, 1, 0, 2, 0]))" => "[1 0 2]";
    "as_size": "A computed integer as a size, which each run finds out: `as_size(k) * 2` is a size, `k * 2` a tensor. Where a size is expected, the integer itself will do.",
        "[]", "an integer; a size", "arange(as_size(max(array([2, 3]))) - 1)" => "[0 1]";
    "isin": "Whether each element is among the values, or with `invert`, whether it is not.",
        "same as x", "any; bool", "isin(arange(4), [1, 3])" => "[False  True False  True]";
    "array_equal": "Whether both have the same shape and equal elements.",
        "[]", "any; bool", "array_equal(arange(2), array([0, 1]))" => "True";
    "cov": "The covariance matrix of variables, one per row, or one per column with `rowvar=False`: divided by the number of observations minus 1, unless `ddof` or `bias` say otherwise.",
        "[k, k] for [k, n]; [] for [n]", "numbers; f64", "cov(array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))" => "[[1. 2.]\n [2. 4.]]";
    "corrcoef": "The correlation matrix of variables, one per row, or one per column with `rowvar=False`.",
        "[k, k] for [k, n]; [] for [n]", "numbers; f64", "corrcoef(array([1.0, 2.0, 3.0]), array([3.0, 2.0, 1.0]))" => "[[ 1. -1.]\n [-1.  1.]]";
    "cross": "The cross products of vectors of three elements along an axis (the last one by default).",
        "the other axes broadcast", "numbers; the common dtype", "cross(array([1, 0, 0]), array([0, 1, 0]))" => "[0 0 1]";
    "divmod": "The floored quotient, `divmod(x, y)[0]`, and the remainder, `divmod(x, y)[1]`.",
        "both broadcast", "numbers; the common dtype", "divmod(arange(4), 2)[1]" => "[0 1 0 1]";
    "modf": "The fractional part, `modf(x)[0]`, and the integral part, `modf(x)[1]`.",
        "same as x", "floats; integers as for other functions", "modf(array([1.5, -2.25]))[0]" => "[ 0.5  -0.25]";
    "grad": "The derivatives of a loss without axes by a tensor, or by each of several: `grad(loss, (w, b))[0]`. docs/derivatives.md has the rules.",
        "that of the tensor", "floats; the dtype of the tensor", "grad(sum(array([1.0, 2.0])**2), array([1.0, 2.0]))" => "[2. 4.]";
    "vjp": "The derivatives of `sum(y * cotangent)` by a tensor, or by each of several.",
        "that of the tensor", "floats; the dtype of the tensor", "vjp(array([1.0, 2.0])**2, array([1.0, 2.0]), array([1.0, 0.0]))" => "[2. 0.]";
    "jvp": "The change of y per change of a tensor along a tangent, or of several along one each.",
        "that of y", "floats; the dtype of y", "jvp(array([1.0, 2.0])**2, array([1.0, 2.0]), array([1.0, 0.5]))" => "[2. 2.]";
    "meshgrid": "The coordinates of the grid spanned by vectors: `meshgrid(x, y)[0]` has those of x. The first vector runs along the second axis, unless `indexing='ij'`.",
        "[len(y), len(x)]; [len(x), len(y)] for 'ij'", "any; the dtypes of the vectors", "meshgrid(arange(2), arange(2))[0]" => "[[0 1]\n [0 1]]";
    "broadcast_arrays": "Each tensor broadcast to the common shape: `broadcast_arrays(x, y)[0]` is x.",
        "all broadcast", "any; the dtypes of the tensors", "broadcast_arrays(arange(2), array([[1], [2]]))[0]" => "[[0 1]\n [0 1]]";
    "split": "The given number of equal parts along an axis (the first by default), or the parts between positions: `split(x, 2)[0]` is the first.",
        "the axis becomes that of a part", "any; same as x", "split(arange(4), 2)[1]" => "[2 3]";
    "array_split": "Like `split`, but the sizes of the parts may differ by one.",
        "the axis becomes that of a part", "any; same as x", "array_split(arange(5), 2)[1]" => "[3 4]";
    "vsplit": "`split` along the first axis.",
        "the axis becomes that of a part", "any; same as x", "vsplit(arange(4).reshape(2, 2), 2)[0]" => "[[0 1]]";
    "hsplit": "`split` along the second axis, or along the only axis of a vector.",
        "the axis becomes that of a part", "any; same as x", "hsplit(arange(4), 2)[0]" => "[0 1]";
    "dsplit": "`split` along the third axis.",
        "the axis becomes that of a part", "any; same as x", "dsplit(arange(2).reshape(1, 1, 2), 2)[1]" => "[[[1]]]";
    "unstack": "The parts along an axis of constant size (the first by default), each by its number: `unstack(x)[0]`.",
        "x without the axis", "any; same as x", "unstack(arange(4).reshape(2, 2))[1]" => "[2 3]";
    "unravel_index": "The indices along each axis for positions in a flattened shape: `unravel_index(i, x.shape)[0]` has those along the first.",
        "same as the positions", "integers; i64", "unravel_index(array([5]), (2, 3))[1]" => "[2]";
    "segment_sum": "The sum of the rows of x in each group: row i belongs to group `ids[i]`, from 0 to `segments - 1`. Text columns know the number of their groups.",
        "[segments, ..] for x[n, ..] and ids[n]", "any, and integers for ids; as `sum`", "segment_sum(array([1, 2, 4]), [0, 1, 0], 2)" => "[5 2]";
    "segment_min": "The least element of each group; for an empty group, the greatest value of the dtype.",
        "[segments, ..] for x[n, ..] and ids[n]", "any, and integers for ids; same as x", "segment_min(array([1, 2, 4]), [0, 1, 0], 2)" => "[1 2]";
    "segment_max": "The greatest element of each group; for an empty group, the least value of the dtype.",
        "[segments, ..] for x[n, ..] and ids[n]", "any, and integers for ids; same as x", "segment_max(array([1, 2, 4]), [0, 1, 0], 2)" => "[4 2]";
    "segment_mean": "The mean of each group; nan for an empty group.",
        "[segments, ..] for x[n, ..] and ids[n]", "any, and integers for ids; floats, or f64 for integers", "segment_mean(array([1.0, 2.0, 4.0]), [0, 1, 0], 2)" => "[2.5 2. ]";
    "segment_count": "The number of rows in each group.",
        "[segments] for ids[n]", "integers; i64", "segment_count([0, 1, 0], 2)" => "[2 1]";
    "segment_tables": "The tables that the reductions of groups consist of, as graphs are printed: `op` is 'sum', 'prod', 'min' or 'max', and compensated sums keep what rounding loses. `elements` determine the number of tables.",
        "[tables, segments, ..] for x[n, ..] and ids[n]; [tables, segments, 2, ..] if compensated", "any, and integers for ids; same as x", "segment_tables(array([1.0, 2.0, 4.0]), [0, 1, 0], 2, 2, 'sum')" => "[[5. 2.]]";
    "arange": "The numbers from start (0 by default) up to, but not including, stop.",
        "[their number], which may be symbolic", "i64, or the dtype of its numbers, or the given dtype", "arange(2, 8, 3)" => "[2 5]";
    "linspace": "`num` evenly spaced numbers (50 by default) from start to stop, both included, or without stop if `endpoint=False`. The ends may be tensors without axes.",
        "[num], which may be symbolic", "f64, or the floats of the ends", "linspace(0, 1, 3)" => "[0.  0.5 1. ]";
    "array": "A tensor from a list of numbers, or from nested lists.",
        "the lengths of the nested lists", "i64, f64 or bool, depending on the numbers, or the given dtype", "array([[1, 2], [3, 4]])" => "[[1 2]\n [3 4]]";
    "from_bits": "The number of a dtype with these bits.",
        "[]", "the dtype that is given", "from_bits(f32, 0x40490fdb)" => "3.1415927";
    "shape": "The sizes of a tensor, like `x.shape`; `shape(x)[0]` is the first.",
        "not a tensor: sizes", "any", "arange(6).reshape(2, 3).shape[1]" => "3";
    "len": "The size of the first axis.",
        "not a tensor: a size", "any", "len(arange(6).reshape(2, 3))" => "2";
    "ndim": "The number of axes.",
        "not a tensor: a number", "any", "ndim(arange(6).reshape(2, 3))" => "2";
    "size": "The number of elements; of a symbol, its value as i64.",
        "not a tensor: a size", "any", "size(arange(6).reshape(2, 3))" => "6";
};

/// Returns the reference of a function by its primary name, unless it is in the tables of docs/ops.md.
pub fn explanation(own: &str) -> Option<&'static Explanation> {
    EXPLANATIONS.iter().find(|explanation| explanation.name == own)
}

/// Returns the primary names of all functions, in the order of the tables.
pub fn functions() -> impl Iterator<Item = &'static str> {
    names::functions().filter(|name| function(name).is_some_and(|(_, own, _)| own == *name))
}

/// Returns how a function is called, by any of its names: `sum(x, axis=, keepdims=, dtype=)`. Optional arguments
/// are written with `=`, and `..` stands for further arguments.
///
/// ```
/// assert_eq!(broadloom_text::usage("take").as_deref(), Some("take(x, indices, axis=)"));
/// ```
pub fn usage(name: &str) -> Option<String> {
    let (_, own, parameters) = function(name)?;
    let parameters: Vec<String> = parameters
        .iter()
        .map(|parameter| match (names::bare(parameter), parameter.contains('*')) {
            (name, true) => format!("{name}.."),
            (name, false) if parameter.contains('?') => format!("{name}="),
            (name, false) => name.to_owned(),
        })
        .collect();
    Some(format!("{own}({})", parameters.join(", ")))
}
