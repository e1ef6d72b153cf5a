//! What there is to know of every function: how it is called, and, of those that are no row of the op table, what it
//! means, its shapes and dtypes, and an example.

use crate::names::{self, function};

/// A function that is none of the tables of ops, reductions and products, which docs/ops.md renders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Its own name.
    pub name: &'static str,
    /// What it gives.
    pub meaning: &'static str,
    /// The shape of the result.
    pub shapes: &'static str,
    /// The dtypes of operands and result.
    pub dtypes: &'static str,
    /// An expression.
    pub example: &'static str,
    /// How the program prints its value.
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
    "softmax": "Shares that sum to 1 along the axes: `exp(x)` by its sum, without overflow.",
        "that of x", "floats; of integers f64", "softmax(array([0.0, 0.0]))" => "[0.5 0.5]";
    "log_softmax": "The logarithms of `softmax`, without overflow.",
        "that of x", "floats; of integers f64", "log_softmax(array([7.0]))" => "[0.]";
    "norm": "The norm of the vectors along an axis: the second, or that of `ord`: 1, 2 or inf.",
        "without the axes; 1 for each with keepdims", "floats; of integers f64", "norm(array([3.0, 4.0]))" => "5.0";
    "where": "x where the condition holds, else y, element by element.",
        "the three broadcast", "bool; the common dtype of x and y", "where(arange(4) < 2, arange(4), -1)" => "[ 0  1 -1 -1]";
    "astype": "The elements as another dtype: floats to integers toward zero and within range, to bool as `x != 0`.",
        "that of x", "any; the dtype that is given", "array([1.5, -2.5]).astype(i32)" => "[ 1 -2]";
    "reshape": "The same elements in row-major order under other sizes, of which one may be -1, to follow.",
        "the sizes that are given, of as many elements", "any; that of x", "arange(6).reshape(2, -1)" => "[[0 1 2]\n [3 4 5]]";
    "rebind": "The same tensor with other expressions for its sizes, `None` to keep one; each call checks that they are equal.",
        "the sizes that are given", "any; that of x", "arange(3).rebind(3)" => "[0 1 2]";
    "ravel": "All elements in row-major order along one axis.",
        "[number of elements]", "any; that of x", "arange(6).reshape(2, 3).ravel()" => "[0 1 2 3 4 5]";
    "broadcast_to": "Stretched to other sizes by the broadcast rule.",
        "the sizes that are given", "any; that of x", "broadcast_to(arange(2), (2, 2))" => "[[0 1]\n [0 1]]";
    "permute_dims": "The axes in another order; in reverse if none is given.",
        "the sizes of x in that order", "any; that of x", "permute_dims(arange(4).reshape(2, 2), (1, 0))" => "[[0 2]\n [1 3]]";
    "swapaxes": "Two axes exchanged.",
        "the sizes of x, two of them exchanged", "any; that of x", "swapaxes(arange(4).reshape(2, 2), 0, 1)" => "[[0 2]\n [1 3]]";
    "matrix_transpose": "The last two axes exchanged, as `x.mT`.",
        "[.., m, n] of [.., n, m]", "any; that of x", "matrix_transpose(arange(2).reshape(1, 2))" => "[[0]\n [1]]";
    "expand_dims": "New axes of size 1, as `x[:, None]`; the axes count in the result.",
        "that of x with 1 at the axes", "any; that of x", "expand_dims(arange(2), 1)" => "[[0]\n [1]]";
    "squeeze": "Without axes whose size is the constant 1: those that are given, or all.",
        "that of x without them", "any; that of x", "squeeze(arange(2).reshape(2, 1))" => "[0 1]";
    "flip": "The elements in reverse along the axes, or along all.",
        "that of x", "any; that of x", "flip(arange(3))" => "[2 1 0]";
    "average": "The mean with weights, which broadcast to x or go along its one axis: the sum of `x * weights` by that of the weights.",
        "without the axes; 1 for each with keepdims", "floats; of integers f64", "average(array([1.0, 2.0]), weights=array([3.0, 1.0]))" => "1.25";
    "isclose": "Whether x and y differ by at most `atol + rtol * abs(y)`: 1e-8 and 1e-5 unless said.",
        "both broadcast", "numbers; bool", "isclose(array([1.0, 1.1]), array([1.0, 1.0]))" => "[ True False]";
    "allclose": "Whether `isclose` holds for all elements.",
        "[]", "numbers; bool", "allclose(array([1.0, 2.0]), array([1.0, 2.0]))" => "True";
    "nan_to_num": "The elements with 0 for nan, and the greatest and the least number for infinities, unless others are given.",
        "that of x", "any; that of x", "nan_to_num(array([nan, 1.0]))" => "[0. 1.]";
    "layer_norm": "The elements less their mean along the axes, the last one unless said, by their standard deviation.",
        "that of x", "floats; of integers f64", "layer_norm(array([1.0, 1.0]))" => "[0. 0.]";
    "moveaxis": "Axes moved to other places; the others keep their order.",
        "the sizes of x in that order", "any; that of x", "moveaxis(arange(6).reshape(1, 2, 3), 0, -1).shape[0]" => "2";
    "flipud": "The rows in reverse.",
        "that of x", "any; that of x", "flipud(array([[1, 2], [3, 4]]))" => "[[3 4]\n [1 2]]";
    "fliplr": "The columns in reverse.",
        "that of x", "any; that of x", "fliplr(array([[1, 2], [3, 4]]))" => "[[2 1]\n [4 3]]";
    "rot90": "Turned by `k` right angles, 1 unless said, in the plane of two axes, from the first toward the second.",
        "that of x, the two axes exchanged if k is odd", "any; that of x", "rot90(array([[1, 2], [3, 4]]))" => "[[2 4]\n [1 3]]";
    "roll": "The elements moved along the axes, or in row-major order; what leaves at the end comes back at the beginning.",
        "that of x", "any; that of x", "roll(arange(4), 1)" => "[3 0 1 2]";
    "repeat": "Each element so many times, one after the other, along an axis, or in row-major order; a list has a number for each element.",
        "the axis is so many times as long, or has the sum of the list", "any; that of x", "repeat(arange(2), 2)" => "[0 0 1 1]";
    "tile": "The whole tensor so many times along each axis.",
        "each axis is so many times as long", "any; that of x", "tile(arange(2), 2)" => "[0 1 0 1]";
    "pad": "With so many elements more before and after each axis, or pairs of these: a constant, or by `mode` 'edge', 'reflect' or 'wrap'.",
        "longer by what is added", "any; that of x", "pad(array([1, 2]), 1)" => "[0 1 2 0]";
    "atleast_1d": "With an axis of size 1, if there is none.",
        "that of x, or [1]", "any; that of x", "atleast_1d(array(7))" => "[7]";
    "atleast_2d": "With axes of size 1 in front, until there are two.",
        "that of x, or with 1 in front", "any; that of x", "atleast_2d(arange(2))" => "[[0 1]]";
    "atleast_3d": "With axes of size 1, until there are three: of a vector one on either side, of a matrix one behind.",
        "that of x, or with 1", "any; that of x", "atleast_3d(arange(2)).shape[1]" => "2";
    "diagonal": "The elements whose positions along two axes, the first two unless said, differ by `offset`.",
        "without the two axes, and the length of the diagonal at the end", "any; that of x", "diagonal(array([[1, 2], [3, 4]]))" => "[1 4]";
    "trace": "The sum of `diagonal`.",
        "without the two axes", "as `sum`", "trace(array([[1, 2], [3, 4]]))" => "5";
    "tril": "The elements on and below the diagonal `k`, 0 unless said, and zeros above it.",
        "that of x", "any; that of x", "tril(array([[1, 2], [3, 4]]))" => "[[1 0]\n [3 4]]";
    "triu": "The elements on and above the diagonal `k`, 0 unless said, and zeros below it.",
        "that of x", "any; that of x", "triu(array([[1, 2], [3, 4]]))" => "[[1 2]\n [0 4]]";
    "vander": "The powers of each element, the highest first unless `increasing` is given.",
        "[len(x), n]; n is len(x) unless said", "numbers; as `power`", "vander(array([2, 3]))" => "[[2 1]\n [3 1]]";
    "sliding_window_view": "All windows along axes, without a copy: each begins one element after the one before.",
        "the axes are shorter by their window less 1; the windows are new axes at the end", "any; that of x", "sliding_window_view(arange(4), 2)" => "[[0 1]\n [1 2]\n [2 3]]";
    "unfold": "The windows of a size along one axis, each `step` elements, 1 unless said, after the one before.",
        "the axis has the number of windows; the window is a new axis at the end", "any; that of x", "unfold(arange(4), 0, 2, 2)" => "[[0 1]\n [2 3]]";
    "full": "One value everywhere.",
        "the sizes that are given", "the dtype of the value, or as given", "full(3, 7)" => "[7 7 7]";
    "zeros": "Zeros.",
        "the sizes that are given", "f64, or as given", "zeros(2)" => "[0. 0.]";
    "ones": "Ones.",
        "the sizes that are given", "f64, or as given", "ones(2)" => "[1. 1.]";
    "full_like": "One value everywhere in the shape of x.",
        "that of x", "that of x, or as given", "full_like(arange(2), 7)" => "[7 7]";
    "zeros_like": "Zeros in the shape of x.",
        "that of x", "that of x, or as given", "zeros_like(arange(2))" => "[0 0]";
    "ones_like": "Ones in the shape of x.",
        "that of x", "that of x, or as given", "ones_like(arange(2))" => "[1 1]";
    "eye": "Ones on the diagonal `k`, 0 unless said, and zeros beside it.",
        "[n, m]; m is n unless said", "f64, or as given", "eye(2)" => "[[1. 0.]\n [0. 1.]]";
    "take_along_axis": "The elements at positions along an axis, the last one unless said, of which there are some for each row.",
        "that of indices", "any, and integers; that of x", "take_along_axis(array([[10, 20], [30, 40]]), array([[1], [0]]), 1)" => "[[20]\n [30]]";
    "cumsum": "Running sums along an axis, of all elements in row-major order unless said; with `include_initial=True` from 0 on.",
        "that of x; one longer along the axis with `include_initial`", "any; that of a sum", "cumsum(array([1, 2, 3]))" => "[1 3 6]";
    "cumprod": "Running products, as `cumsum`; with `include_initial=True` from 1 on.",
        "that of x; one longer along the axis with `include_initial`", "any; that of a product", "cumprod(array([2, 3, 4]))" => "[ 2  6 24]";
    "cummin": "The least of the elements so far along an axis, of all in row-major order unless said; NaN from the first NaN on.",
        "that of x", "any; that of x", "cummin(array([3, 1, 2]))" => "[3 1 1]";
    "cummax": "The greatest of the elements so far, as `cummin`.",
        "that of x", "any; that of x", "cummax(array([1, 3, 2]))" => "[1 3 3]";
    "nancumsum": "Running sums that count NaN as 0.",
        "that of x", "any; that of a sum", "nancumsum(array([1.0, nan, 2.0]))" => "[1. 1. 3.]";
    "nancumprod": "Running products that count NaN as 1.",
        "that of x", "any; that of a product", "nancumprod(array([2.0, nan, 3.0]))" => "[2. 2. 6.]";
    "add.accumulate": "Running sums, as `cumsum`, along the first axis unless said.",
        "that of x", "any; that of a sum", "add.accumulate(array([1, 2, 3]))" => "[1 3 6]";
    "multiply.accumulate": "Running products, as `cumprod`, along the first axis unless said.",
        "that of x", "any; that of a product", "multiply.accumulate(array([2, 3, 4]))" => "[ 2  6 24]";
    "minimum.accumulate": "The least of the elements so far, as `cummin`, along the first axis unless said.",
        "that of x", "any; that of x", "minimum.accumulate(array([3, 1, 2]))" => "[3 1 1]";
    "maximum.accumulate": "The greatest of the elements so far, as `cummax`, along the first axis unless said.",
        "that of x", "any; that of x", "maximum.accumulate(array([1, 3, 2]))" => "[1 3 3]";
    "add.reduce": "The sum over axes, the first one unless said.",
        "without the axes; 1 for each with keepdims", "any; that of a sum", "add.reduce(array([[1, 2], [3, 4]]))" => "[4 6]";
    "multiply.reduce": "The product over axes, the first one unless said.",
        "without the axes; 1 for each with keepdims", "any; that of a product", "multiply.reduce(array([[1, 2], [3, 4]]))" => "[3 8]";
    "minimum.reduce": "The least element over axes, the first one unless said.",
        "without the axes; 1 for each with keepdims", "any; that of x", "minimum.reduce(array([[1, 4], [3, 2]]))" => "[1 2]";
    "maximum.reduce": "The greatest element over axes, the first one unless said.",
        "without the axes; 1 for each with keepdims", "any; that of x", "maximum.reduce(array([[1, 4], [3, 2]]))" => "[3 4]";
    "logical_and.reduce": "Whether all elements are true over axes, the first one unless said.",
        "without the axes; 1 for each with keepdims", "any; bool", "logical_and.reduce(array([[True, False], [True, True]]))" => "[ True False]";
    "logical_or.reduce": "Whether any element is true over axes, the first one unless said.",
        "without the axes; 1 for each with keepdims", "any; bool", "logical_or.reduce(array([[True, False], [True, False]]))" => "[ True False]";
    "diff": "What neighbours along an axis, the last one unless said, differ by, `n` times over; of bool whether they differ.",
        "the axis is shorter by n, which is 1 unless said", "any; that of x", "diff(array([1, 4, 9]))" => "[3 5]";
    "take": "The elements at positions along an axis, as `x[indices]`; negative ones count from the end.",
        "the axes of indices in place of the axis", "any, and integers; that of x", "take(array([10, 20, 30]), [2, 0])" => "[30 10]";
    "topk": "The k greatest elements along an axis, the last one unless said, best first; the least with `largest=False`. k is a number from 1 to 64.",
        "k in place of the axis", "any; that of x", "topk(array([3, 1, 2]), 2)" => "[3 2]";
    "argtopk": "The positions of what `topk` gives.",
        "k in place of the axis", "any; i64", "argtopk(array([3, 1, 2]), 2)" => "[0 2]";
    "sort": "The elements along an axis, the last one unless said, in ascending order, nan last; `axis=None` is all of them in one row. `descending` turns the order round. `kind` and `stable` change nothing.",
        "that of x; one axis for all", "any; that of x", "sort(array([3, 1, 2]))" => "[1 2 3]";
    "argsort": "The positions along an axis, the last one unless said, that put the elements in order as `sort` does; of equal elements the first comes first.",
        "that of x; one axis for all", "any; i64", "argsort(array([3, 1, 2]))" => "[1 2 0]";
    "searchsorted": "Where the elements of v would stand in a table in ascending order: how many of its elements are less, or with `side='right'` not greater.",
        "that of v; x has one axis", "any; i64", "searchsorted(array([1, 2, 4]), array([2, 3]))" => "[1 2]";
    "median": "The middle element in order along axes, all of them unless said, or the mean of the two in the middle; nan if there is one.",
        "without the axes, or with 1 for each", "any; that of x, of integers f64", "median(array([7, 1, 2, 3]))" => "2.5";
    "nanmedian": "The median of what is no nan; nan if there is nothing else.",
        "without the axes, or with 1 for each", "any; that of x, of integers f64", "nanmedian(array([3.0, nan, 2.0]))" => "2.5";
    "quantile": "What lies at the fraction q, from 0 to 1, of the way through the elements in order along axes, all of them unless said; nan if there is one. q is a number, or a list of numbers. `method` is 'linear', 'lower', 'higher', 'midpoint', 'nearest', 'inverted_cdf', 'averaged_inverted_cdf', 'closest_observation', 'interpolated_inverted_cdf', 'hazen', 'weibull', 'median_unbiased' or 'normal_unbiased'.",
        "without the axes, or with 1 for each; of a list its length in front", "any; that of x, of integers and of a list f64", "quantile(array([1, 2, 4]), [0.25, 0.5])" => "[1.5 2. ]";
    "nanquantile": "The quantile of what is no nan; nan if there is nothing else.",
        "as `quantile`", "as `quantile`", "nanquantile(array([1.0, nan, 2.0]), 0.5)" => "1.5";
    "percentile": "The quantile at q percent: q is from 0 to 100.",
        "as `quantile`", "as `quantile`", "percentile(array([1, 2, 4]), 50)" => "2.0";
    "nanpercentile": "The percentile of what is no nan; nan if there is nothing else.",
        "as `quantile`", "as `quantile`", "nanpercentile(array([1.0, nan, 2.0]), 50)" => "1.5";
    "concat": "Tensors one after the other along an axis, the first unless said.",
        "the sum of their sizes along the axis; the others are equal", "the common dtype", "concat([arange(2), arange(2)])" => "[0 1 0 1]";
    "stack": "Tensors of one shape beside each other along a new axis, the first unless said.",
        "that of each, with their number at the axis", "the common dtype", "stack([arange(2), arange(2)])" => "[[0 1]\n [0 1]]";
    "vstack": "Tensors one below the other; vectors are rows.",
        "the sum of their first sizes; the others are equal", "the common dtype", "vstack([arange(2), arange(2)])" => "[[0 1]\n [0 1]]";
    "hstack": "Tensors beside each other, along the second axis; vectors one after the other.",
        "the sum of their second sizes, or of their lengths", "the common dtype", "hstack([arange(2), arange(2)])" => "[0 1 0 1]";
    "dstack": "Tensors behind each other, along the third axis.",
        "the sum of their third sizes", "the common dtype", "dstack([arange(2), arange(2)])" => "[[[0 0]\n  [1 1]]]";
    "column_stack": "Vectors as the columns of a matrix, beside matrices.",
        "[n, number of columns]", "the common dtype", "column_stack([arange(2), arange(2)])" => "[[0 0]\n [1 1]]";
    "append": "A tensor and then another along an axis, or all elements of both.",
        "the sum of their sizes along the axis", "the common dtype", "append(arange(2), arange(2))" => "[0 1 0 1]";
    "copy": "The tensor itself: nothing is shared, and layouts do not matter.",
        "that of x", "any; that of x", "copy(arange(2))" => "[0 1]";
    "tri": "Ones on and below the diagonal `k`, 0 unless said, and zeros above it.",
        "[n, m]; m is n unless said", "f64, or as given", "tri(2)" => "[[1. 0.]\n [1. 1.]]";
    "diag": "A matrix with the vector x on its diagonal `k`, 0 unless said; of a matrix that diagonal.",
        "[n + k, n + k] of [n], the length of the diagonal of [m, n]", "any; that of x", "diag(array([1, 2]))" => "[[1 0]\n [0 2]]";
    "trapezoid": "The area under the samples y along an axis, the last one unless said, at the places x or `dx` apart, which is 1 unless said.",
        "without the axis", "floats; of integers f64", "trapezoid(array([1, 2, 4]))" => "4.5";
    "gradient": "The slopes of samples along an axis, by the distance or at the places that are given; along several axes one result for each, as `gradient(x)[0]`.",
        "that of x, for each axis", "floats; of integers f64", "gradient(array([1, 4, 9, 16]))" => "[3. 4. 6. 7.]";
    "convolve": "The sums of products of the vector x and y, turned round, slid along it: 'full', 'same' or 'valid', full unless said.",
        "[n + m - 1] of [n] and [m]; the longer of both; or n - m + 1", "any; the common dtype", "convolve(array([1, 2, 3]), array([1, 1]))" => "[1 3 5 3]";
    "correlate": "The sums of products of the vector x and y slid along it: 'valid', 'same' or 'full', valid unless said.",
        "as `convolve`", "any; the common dtype", "correlate(array([1, 2, 3]), array([0, 1]))" => "[2 3]";
    "polyval": "The polynomial of the coefficients p, the highest first, at x; up to 64 of them.",
        "that of x", "numbers; the common dtype", "polyval(array([1, 0, 2]), array([2, 3]))" => "[ 6 11]";
    "digitize": "The bin of each element, of which `bins` are the bounds in increasing or decreasing order; with `right`, each bin has its upper bound.",
        "that of x", "numbers; i64", "digitize(array([0.5, 1.0, 7.0]), [1.0, 2.0])" => "[0 1 2]";
    "interp": "Values at x on straight lines between the values `fp` at the increasing places `xp`; beyond the ends those at the ends, or as given.",
        "that of x", "numbers; f64", "interp(array([0.5, 9.0]), [0.0, 1.0], [10.0, 20.0])" => "[15. 20.]";
    "histogram": "How many elements are in each of so many bins, 10 unless said, of equal width in `range` or between the bounds that are given, or with `density` their share by width; and the bounds, as `histogram(x)[1]`.",
        "[bins] and [bins + 1]", "numbers; i64 or f64, and floats", "histogram(array([0.5, 1.5, 1.7]), 2, (0, 2))[0]" => "[1 2]";
    "bincount": "How often each number from 0 up to before `minlength` occurs in x, or the sums of the weights where it does. Other numbers are an error.",
        "[minlength]", "integers; i64, or f64 of weights", "bincount(array([0, 2, 2]), minlength=4)" => "[1 0 2 0]";
    "isin": "Whether each element is among the values, or with `invert` is not.",
        "that of x", "any; bool", "isin(arange(4), [1, 3])" => "[False  True False  True]";
    "array_equal": "Whether both have one shape and equal elements.",
        "[]", "any; bool", "array_equal(arange(2), array([0, 1]))" => "True";
    "cov": "The covariances of variables, of which each row is one, or each column with `rowvar=False`: by the number of observations less 1, or as `ddof` or `bias` say.",
        "[k, k] of [k, n]; [] of [n]", "numbers; f64", "cov(array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))" => "[[1. 2.]\n [2. 4.]]";
    "corrcoef": "The correlations of variables, of which each row is one, or each column with `rowvar=False`.",
        "[k, k] of [k, n]; [] of [n]", "numbers; f64", "corrcoef(array([1.0, 2.0, 3.0]), array([3.0, 2.0, 1.0]))" => "[[ 1. -1.]\n [-1.  1.]]";
    "cross": "The cross products of vectors of three along an axis, the last one unless said.",
        "the others broadcast", "numbers; the common dtype", "cross(array([1, 0, 0]), array([0, 1, 0]))" => "[0 0 1]";
    "divmod": "The quotient rounded down, `divmod(x, y)[0]`, and the remainder, `divmod(x, y)[1]`.",
        "both broadcast", "numbers; the common dtype", "divmod(arange(4), 2)[1]" => "[0 1 0 1]";
    "modf": "The part behind the point, `modf(x)[0]`, and the number without it, `modf(x)[1]`.",
        "that of x", "floats; of integers as functions", "modf(array([1.5, -2.25]))[0]" => "[ 0.5  -0.25]";
    "meshgrid": "The coordinates of the grid of some vectors: `meshgrid(x, y)[0]` are those of x. The first goes along the second axis, unless `indexing='ij'`.",
        "[len(y), len(x)]; [len(x), len(y)] for 'ij'", "any; those of the vectors", "meshgrid(arange(2), arange(2))[0]" => "[[0 1]\n [0 1]]";
    "broadcast_arrays": "Each tensor stretched to the shape of all: `broadcast_arrays(x, y)[0]` is x.",
        "all broadcast", "any; those of the tensors", "broadcast_arrays(arange(2), array([[1], [2]]))[0]" => "[[0 1]\n [0 1]]";
    "split": "So many parts of one size along an axis, the first unless said, or those between positions: `split(x, 2)[0]` is one of them.",
        "the axis is that of a part", "any; that of x", "split(arange(4), 2)[1]" => "[2 3]";
    "array_split": "As `split`, of parts that may differ by an element.",
        "the axis is that of a part", "any; that of x", "array_split(arange(5), 2)[1]" => "[3 4]";
    "vsplit": "`split` along the first axis.",
        "the axis is that of a part", "any; that of x", "vsplit(arange(4).reshape(2, 2), 2)[0]" => "[[0 1]]";
    "hsplit": "`split` along the second axis, or that of a vector.",
        "the axis is that of a part", "any; that of x", "hsplit(arange(4), 2)[0]" => "[0 1]";
    "dsplit": "`split` along the third axis.",
        "the axis is that of a part", "any; that of x", "dsplit(arange(2).reshape(1, 1, 2), 2)[1]" => "[[[1]]]";
    "unstack": "The elements of an axis of constant size, the first unless said, each by its number: `unstack(x)[0]`.",
        "without the axis", "any; that of x", "unstack(arange(4).reshape(2, 2))[1]" => "[2 3]";
    "unravel_index": "The places along each axis of positions among all elements of a shape: `unravel_index(i, x.shape)[0]` are those along the first.",
        "that of the positions", "integers; i64", "unravel_index(array([5]), (2, 3))[1]" => "[2]";
    "segment_sum": "The sums of the rows of x by their groups: row i belongs to group `ids[i]`, which is from 0 up to before `segments`, a number that columns of text have themselves.",
        "[segments, ..] of x[n, ..] and ids[n]", "any, and integers; as `sum`", "segment_sum(array([1, 2, 4]), [0, 1, 0], 2)" => "[5 2]";
    "segment_min": "The least element of each group; of none, the greatest value of the dtype.",
        "[segments, ..] of x[n, ..] and ids[n]", "any, and integers; that of x", "segment_min(array([1, 2, 4]), [0, 1, 0], 2)" => "[1 2]";
    "segment_max": "The greatest element of each group; of none, the least value of the dtype.",
        "[segments, ..] of x[n, ..] and ids[n]", "any, and integers; that of x", "segment_max(array([1, 2, 4]), [0, 1, 0], 2)" => "[4 2]";
    "segment_mean": "The mean of each group; of none, nan.",
        "[segments, ..] of x[n, ..] and ids[n]", "any, and integers; floats, of integers f64", "segment_mean(array([1.0, 2.0, 4.0]), [0, 1, 0], 2)" => "[2.5 2. ]";
    "segment_count": "How many rows each group has.",
        "[segments] of ids[n]", "integers; i64", "segment_count([0, 1, 0], 2)" => "[2 1]";
    "arange": "The numbers from start, 0 unless said, up to before stop.",
        "[their number], which may be a size", "i64, or the dtype of its numbers; or as given", "arange(2, 8, 3)" => "[2 5]";
    "linspace": "`num` numbers at equal distances, 50 unless said, from start to stop, both included.",
        "[num], which may be a size", "f64", "linspace(0, 1, 3)" => "[0.  0.5 1. ]";
    "array": "A list of numbers, or of lists of them, as a tensor.",
        "as the lists are nested", "i64, f64 or bool, as its numbers are; or as given", "array([[1, 2], [3, 4]])" => "[[1 2]\n [3 4]]";
    "from_bits": "The number of a dtype that has these bits.",
        "[]", "the dtype that is given", "from_bits(f32, 0x40490fdb)" => "3.1415927";
    "shape": "The sizes of a tensor, as `x.shape`; `shape(x)[0]` is one of them.",
        "no tensor: sizes", "any", "arange(6).reshape(2, 3).shape[1]" => "3";
    "len": "The size of the first axis.",
        "no tensor: a size", "any", "len(arange(6).reshape(2, 3))" => "2";
    "ndim": "The number of axes.",
        "no tensor: a number", "any", "ndim(arange(6).reshape(2, 3))" => "2";
    "size": "The number of elements; of a symbol, its value as i64.",
        "no tensor: a size", "any", "size(arange(6).reshape(2, 3))" => "6";
};

/// What there is to know of a function, by its own name, if it is none of the tables of docs/ops.md.
pub fn explanation(own: &str) -> Option<&'static Explanation> {
    EXPLANATIONS.iter().find(|explanation| explanation.name == own)
}

/// The own names of all functions, in the order of the tables.
pub fn functions() -> impl Iterator<Item = &'static str> {
    names::functions().filter(|name| function(name).is_some_and(|(_, own, _)| own == *name))
}

/// How a function is called, by any of its names: `sum(x, axis=, keepdims=, dtype=)`. What may be left out is written
/// with `=`, and `..` stands for further arguments.
///
/// ```
/// assert_eq!(broadloom_text::usage("take").as_deref(), Some("take(x, indices, axis=)"));
/// ```
pub fn usage(name: &str) -> Option<String> {
    let (_, own, parameters) = function(name)?;
    let parameters: Vec<String> = parameters
        .iter()
        .map(|parameter| match (parameter.trim_end_matches(['*', '?']), parameter.contains('*')) {
            (name, true) => format!("{name}.."),
            (name, false) if parameter.contains('?') => format!("{name}="),
            (name, false) => name.to_owned(),
        })
        .collect();
    Some(format!("{own}({})", parameters.join(", ")))
}
