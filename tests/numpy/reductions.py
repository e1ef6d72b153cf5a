"""What reductions mean, and how far a rounded one may be from the true value.

A float sum or product has a fixed order that NumPy does not share, so its result is compared with the true value:
within the classic bound `depth * u * sum(abs(x))` for the longest chain of additions that any element goes through, as
`broadloom-ir/src/reduce.rs` lays the order down; exactly where no addition can round.
"""

import math

import numpy as np

from meaning import (
    BOOL,
    F16,
    F32,
    F64,
    I64,
    WIDE,
    Approximate,
    Fails,
    Refused,
    Unsaid,
    differs,
    products,
)

UNIT = {F16: 2.0**-11, F32: 2.0**-24, F64: 2.0**-53}
"""Half the distance from 1 to the next float."""
LEAST = {F16: 2.0**-24, F32: 2.0**-149, F64: 2.0**-1074}
"""The least positive float."""

SEQUENTIAL_LIMIT, LANES, BLOCK = 64, 16, 1024


def depth(length):
    """Additions that an element of an axis goes through at most."""
    if length <= SEQUENTIAL_LIMIT:
        return max(length - 1, 0)
    within = -(-min(length, BLOCK) // LANES) - 1 + int(math.log2(LANES))
    return within + math.ceil(math.log2(-(-length // BLOCK)))


def resolved(x, axes):
    """Axes as a tuple, counted from the beginning."""
    if axes is None:
        return tuple(range(x.ndim))
    if x.ndim == 0 and list(axes) in ([0], [-1]):
        # As NumPy has it for one axis that is given as a number.
        return ()
    given = tuple(axis + x.ndim if axis < 0 else axis for axis in axes)
    if len(set(given)) != len(given) or any(not 0 <= axis < x.ndim for axis in given):
        raise Refused("axes")
    return given


def kept_shape(x, axes, keepdims):
    sizes = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    return tuple(sizes) if keepdims else tuple(size for axis, size in enumerate(x.shape) if axis not in axes)


def rows(x, axes):
    """The reduced axes, in their order, as one last axis, all others as one before it."""
    axes = sorted(axes)
    others = [axis for axis in range(x.ndim) if axis not in axes]
    count = math.prod(x.shape[axis] for axis in axes)
    kept = math.prod(x.shape[axis] for axis in others)
    return x.transpose(others + axes).reshape(kept, count)


def work_of(x):
    """The dtype in which statistics are computed."""
    if x.dtype.kind != "f":
        return F64
    return F32 if x.dtype == F16 else x.dtype


def true_sum(row, work):
    """The sum of a row, of non-finite values as well."""
    finite = [value for value in row if math.isfinite(value)]
    try:
        magnitude = math.fsum(map(abs, finite))
    except OverflowError:
        magnitude = math.inf
    if magnitude > np.finfo(work).max:
        raise Unsaid("whether a partial sum overflows depends on the order")
    return math.fsum(finite) if len(finite) == len(row) else sum(value for value in row if not math.isfinite(value))


def no_rounding(row, unit):
    """Whether no partial sum of the row in any order is rounded: all are multiples of a power of two, and the sum of
    magnitudes is less than as many of them as fit the significand."""
    magnitudes = np.abs(np.array(row, F64))
    magnitudes = magnitudes[magnitudes != 0]
    if not np.isfinite(magnitudes).all():
        return False
    significands, exponents = np.frexp(magnitudes)
    lowest = (significands * 2.0**53).astype(I64)
    quanta = np.frexp(lowest & -lowest)[1] - 1 + exponents - 53
    return not len(quanta) or math.fsum(magnitudes) * unit <= math.ldexp(1, int(quanta.min()))


def approximate_or_exact(dtype, values, distance, exact, shape):
    """The dtype's values where nothing was rounded, else what is within a distance of them."""
    values, distance = np.array(values, F64), np.array(distance, F64)
    if np.all(exact):
        with np.errstate(all="ignore"):
            return values.astype(dtype).reshape(shape)
    # The results are of the dtype, which takes another rounding, whereas the values are those of f64.
    with np.errstate(all="ignore"):
        distance = distance + (UNIT[dtype] + UNIT[F64]) * np.abs(values) + LEAST[dtype]
    distance[exact | ~np.isfinite(distance)] = 0
    return Approximate(dtype, values.reshape(shape), distance=distance.reshape(shape))


def total(x, axes=None, keepdims=False, mean=False):
    """Sum or mean. The mean divides in the accumulator dtype."""
    over = resolved(x, axes)
    shape = kept_shape(x, over, keepdims)
    if x.dtype.kind != "f":
        if not mean:
            return np.asarray(np.sum(x, axis=over, keepdims=keepdims))
        x = x.astype(F64)
        result = F64
    else:
        result = x.dtype
    if not over:
        return x.astype(result)
    work = work_of(x)
    # A product of the expression may be accumulated unrounded.
    unrounded = id(x) in products and x.dtype != F16
    steps = sum(depth(x.shape[axis]) for axis in over) + unrounded
    values, distance, exact = [], [], []
    for row in rows(x.astype(F64), over).tolist():
        value = true_sum(row, work)
        is_exact = not math.isfinite(value) or no_rounding(row, UNIT[work]) and not unrounded
        bound = 0.0 if is_exact else steps * UNIT[work] * math.fsum(map(abs, row)) * (1 + 2 * steps * UNIT[work])
        if mean:
            with np.errstate(all="ignore"):
                divided = work.type(value) / work.type(len(row))
            value = float(divided) if is_exact or not row else value / len(row)
            bound = bound / len(row) + UNIT[work] * abs(value) if row else 0.0
        values.append(value + 0.0)
        distance.append(bound)
        exact.append(is_exact or not row)
    return approximate_or_exact(result, values, distance, np.array(exact, bool), shape)


def product(x, axes=None, keepdims=False):
    over = resolved(x, axes)
    shape = kept_shape(x, over, keepdims)
    if x.dtype.kind != "f":
        return np.asarray(np.prod(x, axis=over, keepdims=keepdims))
    if not over:
        return x
    work = work_of(x)
    steps = sum(depth(x.shape[axis]) for axis in over)
    values, distance, exact = [], [], []
    for row in rows(x, over):
        magnitudes = np.abs(row[np.isfinite(row) & (row != 0)]).astype(WIDE)
        with np.errstate(all="ignore"):
            most, least = np.prod(np.maximum(magnitudes, 1)), np.prod(np.minimum(magnitudes, 1))
        if most > np.finfo(work).max or least < np.finfo(work).smallest_normal:
            raise Unsaid("whether a partial product overflows or vanishes depends on the order")
        # 64 bits and more: rounded so little that it does not count beside the bound.
        value = float(np.prod(row.astype(WIDE)))
        integers = np.all(row == np.round(row)) and abs(value) < 1 / UNIT[work]
        special = not math.isfinite(value) or value == 0 and 0 in row
        values.append(value)
        exact.append(special or integers)
        distance.append(steps * UNIT[work] * abs(value) * (1 + 2 * steps * UNIT[work]))
    return approximate_or_exact(x.dtype, values, distance, np.array(exact, bool), shape)


def extreme(function, greatest):
    def reference(x, axes=None, keepdims=False):
        over = resolved(x, axes)
        if any(x.shape[axis] == 0 for axis in over):
            if math.prod(kept_shape(x, over, False)) == 0:
                differs("empty_extreme")
            raise Refused("empty")
        result = np.asarray(function(x, axis=over, keepdims=keepdims))
        if result.dtype.kind != "f":
            return result
        zeros = np.signbit(rows(x, over)) & (rows(x, over) == 0)
        others = ~np.signbit(rows(x, over)) & (rows(x, over) == 0)
        negative = ~others.any(axis=1) if greatest else zeros.any(axis=1)
        negative = negative.reshape(result.shape)
        is_zero = result == 0
        differs("zero_order", np.count_nonzero(is_zero & (np.signbit(result) != negative)))
        return np.where(is_zero, np.where(negative, -0.0, 0.0).astype(result.dtype), result)

    return reference


greatest, least = extreme(np.max, True), extreme(np.min, False)


def first_extreme(function):
    def reference(x, axes=None, keepdims=False):
        over = resolved(x, axes)
        shape = kept_shape(x, over, keepdims)
        if any(x.shape[axis] == 0 for axis in over):
            raise Refused("empty")
        if not over:
            return np.zeros(x.shape, I64)
        if 1 < len(over) < x.ndim:
            differs("arg_axes")
        return function(rows(x, over), axis=1).reshape(shape).astype(I64)

    return reference


def truth(function):
    return lambda x, axes=None, keepdims=False: np.asarray(function(x, axis=resolved(x, axes), keepdims=keepdims))


def count_nonzero(x, axes=None, keepdims=False):
    return np.asarray(np.count_nonzero(x, axis=resolved(x, axes), keepdims=keepdims)).astype(I64)


def variance(x, axes=None, correction=0, keepdims=False, root=False):
    """Two passes over long doubles; the bound follows the two passes of the language step by step."""
    over = resolved(x, axes)
    shape = kept_shape(x, over, keepdims)
    work = work_of(x)
    unit = UNIT[work]
    result = x.dtype if x.dtype.kind == "f" else F64
    x = x.astype(work)
    steps = sum(depth(x.shape[axis]) for axis in over)
    values, distance = [], []
    for row in rows(x, over).astype(WIDE):
        count = len(row)
        freedom = max(count - correction, 0)
        with np.errstate(all="ignore"):
            mean = np.sum(row) / WIDE(count)
            squares = np.sum((row - mean) ** 2)
            value = squares / WIDE(freedom)
            # The mean is off by this much, and each deviation by its rounding.
            off = (steps + 2) * unit * np.sum(np.abs(row)) / WIDE(count)
            deviations = np.sum(np.abs(row - mean))
            bound = count * off**2 + 2 * unit * off * deviations
            bound += (steps + 8) * unit * (squares + bound)
            bound /= WIDE(freedom)
            if root:
                low, high = np.sqrt(np.maximum(value - bound, 0)), np.sqrt(value + bound)
                value = np.sqrt(value)
                bound = np.maximum(value - low, high - value) + unit * value
        values.append(float(value))
        distance.append(float(bound))
    exact = np.array([not math.isfinite(value) for value in values], bool)
    return approximate_or_exact(result, values, distance, exact, shape)


def deviation(x, axes=None, correction=0, keepdims=False):
    return variance(x, axes, correction, keepdims, root=True)


def exponentials(x, over):
    """Per row of long doubles the shift and `exp(x - shift)`, its sum, and the relative error of that sum."""
    work = work_of(x)
    steps = sum(depth(x.shape[axis]) for axis in over)
    for row in rows(x.astype(work), over).astype(WIDE):
        with np.errstate(all="ignore"):
            shift = np.max(row, initial=-np.inf)
            shift = shift if np.isfinite(shift) else WIDE(0)
            terms = np.exp(row - shift)
            # The rounded difference moves a term by its size; `exp` itself is within 1 ulp.
            spread = np.max(np.abs(row - shift), initial=0, where=np.isfinite(row))
            relative = (2 * min(float(spread), 800.0) + steps + 4) * UNIT[work]
            yield row, shift, terms, np.sum(terms), relative


def logsumexp(x, axes=None, keepdims=False):
    over = resolved(x, axes)
    result = x.dtype if x.dtype.kind == "f" else F64
    unit = UNIT[work_of(x)]
    values, distance = [], []
    for _, shift, _, total, relative in exponentials(x, over):
        with np.errstate(all="ignore"):
            value = float(np.log(total) + shift)
            distance.append(float(relative + 2 * unit * (np.abs(np.log(total)) + abs(value))))
        values.append(value)
    exact = np.array([not math.isfinite(value) for value in values], bool)
    return approximate_or_exact(result, values, distance, exact, kept_shape(x, over, keepdims))


def softmax(x, axes=None, log=False):
    over = resolved(x, axes)
    result = x.dtype if x.dtype.kind == "f" else F64
    work = work_of(x)
    unit = UNIT[work]
    values, distance = np.empty(x.shape, F64), np.empty(x.shape, F64)
    order = [axis for axis in range(x.ndim) if axis not in over] + sorted(over)
    blocks = [array.transpose(order).reshape(rows(x, over).shape) for array in (values, distance)]
    rows_of = []
    for row, shift, terms, total, relative in exponentials(x, over):
        with np.errstate(all="ignore"):
            if log:
                value = row - shift - np.log(total)
                bound = relative + 3 * unit * (np.abs(row - shift) + np.abs(np.log(total)) + np.abs(value))
            else:
                value = terms / total
                bound = (2 * relative + 2 * unit) * value + 2 * LEAST[work]
        rows_of.append((value, bound))
    shape = [x.shape[axis] for axis in order]
    back = np.argsort(order)
    for at, array in enumerate((values, distance)):
        flat = np.array([pair[at] for pair in rows_of], F64) if rows_of else blocks[at]
        array[...] = flat.reshape(shape).transpose(back)
    return approximate_or_exact(result, values, distance, ~np.isfinite(values), x.shape)


def log_softmax(x, axes=None):
    return softmax(x, axes, log=True)


def norm(x, kind, axes=None, keepdims=False):
    """The norms 1, 2 and infinity of the vectors along axes."""
    over = resolved(x, axes)
    result = x.dtype if x.dtype.kind == "f" else F64
    magnitudes = np.abs(x.astype(work_of(x)))
    if kind == math.inf:
        return greatest(magnitudes, over, keepdims).astype(result)
    work = work_of(x)
    steps = sum(depth(x.shape[axis]) for axis in over)
    values, distance = [], []
    for row in rows(magnitudes, over).astype(WIDE):
        with np.errstate(all="ignore"):
            value = np.sum(row) if kind == 1 else np.sqrt(np.sum(row * row))
            # A root halves the relative error of its operand.
            relative = steps if kind == 1 else (steps + 1) / 2 + 1
            distance.append(float((relative + 1) * UNIT[work] * value))
        values.append(float(value))
    exact = np.array([not math.isfinite(value) for value in values], bool)
    return approximate_or_exact(result, values, distance, exact, kept_shape(x, over, keepdims))


def check_segments(values, ids, segments):
    if ids.dtype.kind not in "iu" or ids.ndim != 1 or values.ndim == 0 or len(values) != len(ids):
        raise Refused("ids")
    if any(not 0 <= int(id_) < segments for id_ in ids):
        raise Fails("ids")


def segment_sum(values, ids, segments, mean=False):
    check_segments(values, ids, segments)
    groups = [values[ids == segment] for segment in range(segments)]
    if values.dtype.kind != "f" and not mean:
        dtype = np.sum(values[:0]).dtype
        result = np.zeros((segments, *values.shape[1:]), dtype)
        np.add.at(result, ids, values.astype(dtype))
        return result
    totals = [total(group.astype(values.dtype), [0], mean=mean) for group in groups]
    result = values.dtype if values.dtype.kind == "f" else F64
    if not totals:
        return np.zeros((0, *values.shape[1:]), result)
    # Rows of a segment are added in index order within a block, which is a longer chain than that of `sum`.
    work = work_of(values)
    parts, distances = [], []
    for group, part in zip(groups, totals):
        exact = not isinstance(part, Approximate)
        parts.append((part if exact else part.values).astype(F64))
        with np.errstate(all="ignore"):
            magnitude = np.sum(np.abs(group.astype(F64)), axis=0) / (max(len(group), 1) if mean else 1)
            bound = len(group) * UNIT[work] * magnitude * (1 + 2 * len(group) * UNIT[work])
        distances.append(np.zeros_like(bound) if exact else bound + 2 * UNIT[work] * np.abs(parts[-1]))
    parts, distances = np.array(parts), np.array(distances)
    exact = (distances == 0) | ~np.isfinite(parts)
    return approximate_or_exact(result, parts, distances, exact, (segments, *values.shape[1:]))


def segment_mean(values, ids, segments):
    return segment_sum(values, ids, segments, mean=True)


def segment_count(ids, segments):
    check_segments(ids, ids, segments)
    return np.bincount(ids.astype(I64), minlength=segments).astype(I64)


def segment_extreme(function, over_rows, identity):
    def reference(values, ids, segments):
        check_segments(values, ids, segments)
        result = np.full((segments, *values.shape[1:]), identity(values.dtype), values.dtype)
        function.at(result, ids, values)
        for segment in range(segments):
            if np.any(ids == segment) and values.dtype.kind == "f":
                result[segment] = over_rows(values[ids == segment], [0])
        return result

    return reference


def lowest(dtype):
    if dtype.kind == "f":
        return -np.inf
    return False if dtype == BOOL else np.iinfo(dtype).min


def highest(dtype):
    if dtype.kind == "f":
        return np.inf
    return True if dtype == BOOL else np.iinfo(dtype).max


REDUCTIONS = {
    "sum": total,
    "prod": product,
    "min": least,
    "max": greatest,
    "mean": lambda x, axes=None, keepdims=False: total(x, axes, keepdims, mean=True),
    "argmin": first_extreme(np.argmin),
    "argmax": first_extreme(np.argmax),
    "any": truth(np.any),
    "all": truth(np.all),
}
"""The rows of the table of reductions."""

STATISTICS = {
    "var": variance,
    "std": deviation,
    "count_nonzero": count_nonzero,
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "norm": norm,
    "segment_sum": segment_sum,
    "segment_mean": segment_mean,
    "segment_count": segment_count,
    "segment_min": segment_extreme(np.minimum, least, highest),
    "segment_max": segment_extreme(np.maximum, greatest, lowest),
}
"""What is made of reductions."""
