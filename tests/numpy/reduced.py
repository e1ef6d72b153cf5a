"""Cases of reductions: dtypes, axes, lengths around the boundaries of the fixed order, special values."""

import itertools

import numpy as np

from elementwise import corners
from meaning import BOOL, DTYPES
from reductions import REDUCTIONS

LENGTHS = [0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 1023, 1024, 1025, 1040, 2047, 2048, 2049, 3072 + 65, 5 * 1024 + 1]
"""Around the lengths at which the fixed order changes its form."""


def values(dtype, shape, random):
    """Ordinary values."""
    if dtype == BOOL:
        return random.integers(0, 2, shape).astype(BOOL)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(max(info.min, -100), min(info.max, 100), shape, endpoint=True).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def whole(dtype, shape, random):
    """Small whole numbers, with ties and zeros of both signs, whose sums are exact."""
    if dtype.kind != "f":
        return random.integers(0, 2, shape).astype(dtype)
    return random.choice(np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.5], dtype), shape)


def signs(dtype, shape, random):
    """Of which products are exact."""
    if dtype.kind != "f":
        return values(dtype, shape, random)
    return random.choice(np.array([1.0, -1.0], dtype), shape)


def factors(dtype, shape, random):
    """Factors whose product neither overflows nor vanishes."""
    if dtype.kind != "f":
        return values(dtype, shape, random)
    spread = {2: 0.02, 4: 0.05, 8: 0.25}[dtype.itemsize]
    return ((1 + spread * random.uniform(-1, 1, shape)) * random.choice([-1, 1], shape)).astype(dtype)


def text_of(axes, keepdims):
    return ", keepdims=True" * keepdims if axes is None else f", axes={axes}" + ", keepdims=True" * keepdims


AXES = [None, [], [0], [1], [2], [-1], [0, 1], [2, 0], [-1, -2], [0, 1, 2], [3], [-4], [1, 1], [0, -3]]


def by_axes(cases, random):
    for name, dtype, axes, keepdims in itertools.product(REDUCTIONS, DTYPES.values(), AXES, [False, True]):
        make = factors if name == "prod" else values
        expression = f"{name}(x{text_of(axes, keepdims)})"
        cases.add("reduction", expression, x=make(dtype, (3, 5, 4), random))
        if axes in (None, [0], [1], [-1, -2]):
            cases.add("reduction", expression, x=whole(dtype, (4, 3, 7), random))
            cases.add("reduction", expression, x=signs(dtype, (4, 3, 7), random))
            cases.add("reduction", expression, x=make(dtype, (2, 0, 3), random))
            cases.add("reduction", expression, x=make(dtype, (0, 1, 0), random))
    for name, dtype in itertools.product(REDUCTIONS, DTYPES.values()):
        cases.add("reduction", f"{name}(x)", x=whole(dtype, (), random))


def by_length(cases, random):
    for name, dtype, length in itertools.product(REDUCTIONS, DTYPES.values(), LENGTHS):
        make = factors if name == "prod" else values
        row = make(dtype, length, random)
        cases.add("length", f"{name}(x)", x=row)
        cases.add("length", f"{name}(x)", x=(signs if name == "prod" else whole)(dtype, length, random))
        if length <= 1100:
            cases.add("length", f"{name}(x, axes=[0])", x=make(dtype, (length, 3), random))
            cases.add("length", f"{name}(x, axes=[-1])", x=make(dtype, (2, length), random))
        if length in (64, 65, 1024, 1025):
            cases.add("length", f"{name}(x, axes=[0, 1])", x=make(dtype, (3, length), random))


def special(cases, random):
    """NaN, infinities and zeros of both signs at every place of a row."""
    floats = [dtype for dtype in DTYPES.values() if dtype.kind == "f"]
    marks = [
        [np.nan],
        [np.inf],
        [-np.inf],
        [np.inf, -np.inf],
        [np.nan, np.inf],
        [-np.inf, np.nan],
        [np.nan, np.nan],
        [np.inf, np.inf],
    ]
    for name, dtype, mark in itertools.product(REDUCTIONS, floats, marks):
        for length in (3, 64, 65, 1030):
            make = signs if name == "prod" else whole
            rows = [make(dtype, length, random) for _ in range(4)]
            for row in rows:
                row[random.choice(length, len(mark), replace=False)] = mark
            cases.add("special", f"{name}(x, axes=[1])", x=np.array(rows))
            cases.add("special", f"{name}(x, axes=[0])", x=np.array(rows).T)
    zeros = list(itertools.product([0.0, -0.0], repeat=3))
    for name, dtype in itertools.product(REDUCTIONS, floats):
        cases.add("special", f"{name}(x, axes=[1])", x=np.array(zeros, dtype))
        cases.add("special", f"{name}(x, axes=[1])", x=np.full((2, 70), -0.0, dtype))
        cases.add("special", f"{name}(x)", x=np.full((2, 70), -0.0, dtype))
        if name not in ("sum", "mean", "prod"):
            cases.add("special", f"{name}(x)", x=corners(dtype))
            cases.add("special", f"{name}(x)", x=corners(dtype)[:-1])
    for name, dtype in itertools.product(REDUCTIONS, DTYPES.values()):
        if dtype.kind in "iub":
            # Wrapping sums and products, and ties of the ends.
            ends = corners(dtype)
            cases.add("special", f"{name}(x)", x=ends)
            cases.add("special", f"{name}(x, axes=[0])", x=np.array([ends, ends[::-1]]))
            cases.add("special", f"{name}(x, axes=[1])", x=np.array([ends, ends[::-1]]))


def best(cases, random):
    """The best elements along an axis, as values and as indices."""
    for name, dtype, largest in itertools.product(("topk", "argtopk"), DTYPES.values(), (True, False)):
        for make, k, axis in itertools.product((values, whole), (1, 2, 3), (0, 1, 2, -1)):
            cases.add("best", f"{name}(x, {k}, {axis}, {largest})", x=make(dtype, (4, 3, 5), random))
        for k, length in ((1, 1), (2, 2), (5, 63), (10, 129), (64, 64), (64, 1030), (7, 2049)):
            cases.add("best", f"{name}(x, {k}, 0, {largest})", x=whole(dtype, length, random))
            cases.add("best", f"{name}(x, {k}, 1, {largest})", x=values(dtype, (3, length), random))
            cases.add("best", f"{name}(x, {k}, 0, {largest})", x=values(dtype, (length, 3), random))
            computed = f"{name}(negative(cast(x, f32)), {k}, 0, {largest})"
            cases.add("best", computed, x=values(dtype, (length, 3), random))
            used = f"sum(cast({name}(x, {k}, 1, {largest}), i64), axes=[1])"
            cases.add("best", used, x=whole(dtype, (3, length), random))
        cases.add("best", f"{name}(x, 3, 0, {largest})", x=np.concatenate([corners(dtype)] * 2))
        cases.add("best", f"{name}(x, 1, 1, {largest})", x=values(dtype, (0, 3), random))
        for k, axis in ((0, 0), (-1, 0), (4, 0), (65, 1), (2, 2), (2, -3)):
            cases.add("best", f"{name}(x, {k}, {axis}, {largest})", x=values(dtype, (3, 70), random))
        if dtype.kind == "f":
            for length in (5, 64, 1100):
                row = whole(dtype, (3, length), random)
                row[:, 1:4] = np.nan
                row[1, -1] = np.inf
                cases.add("best", f"{name}(x, 5, 1, {largest})", x=row)
            zeros = random.choice(np.array([0.0, -0.0], dtype), (3, 200))
            cases.add("best", f"{name}(x, 10, 1, {largest})", x=zeros)


def statistics(cases, random):
    shape = (3, 70, 4)
    for dtype in DTYPES.values():
        for axes, keepdims in itertools.product([None, [0], [1], [-1, 0], []], [False, True]):
            tail = text_of(axes, keepdims)
            for name in ("var", "std"):
                for correction in ("", ", correction=0", ", correction=1", ", correction=0.5", ", correction=500"):
                    cases.add("statistic", f"{name}(x{tail}{correction})", x=values(dtype, shape, random))
                offset = (values(dtype, shape, random) + np.ones((), dtype) * 100).astype(dtype)
                cases.add("statistic", f"{name}(x{tail})", x=offset)
            cases.add("statistic", f"count_nonzero(x{tail})", x=whole(dtype, shape, random))
            cases.add("statistic", f"logsumexp(x{tail})", x=values(dtype, shape, random))
            for kind in ("1", "2", "inf"):
                cases.add("statistic", f"norm(x, {kind}{tail})", x=values(dtype, shape, random))
        for axes in (None, [0], [1], [-1, 0]):
            cases.add("statistic", f"softmax(x{text_of(axes, False)})", x=values(dtype, shape, random))
            cases.add("statistic", f"log_softmax(x{text_of(axes, False)})", x=values(dtype, shape, random))
        for name in ("var", "std", "logsumexp", "softmax", "log_softmax", "count_nonzero"):
            for length in (0, 1, 2, 64, 65, 1025):
                cases.add("statistic", f"{name}(x, axes=[0])", x=values(dtype, (length, 2), random))
        for kind, length in itertools.product(("1", "2", "inf"), (0, 1, 65, 1025)):
            cases.add("statistic", f"norm(x, {kind})", x=values(dtype, length, random))
        if dtype.kind == "f":
            for mark in (np.nan, np.inf, -np.inf):
                row = values(dtype, (2, 5), random)
                row[0, 2] = mark
                for name in ("var", "std", "logsumexp", "softmax", "log_softmax"):
                    cases.add("statistic", f"{name}(x, axes=[1])", x=row)
                for kind in ("1", "2", "inf"):
                    cases.add("statistic", f"norm(x, {kind}, axes=[1])", x=row)
            cases.add("statistic", "logsumexp(x)", x=np.full(3, -np.inf, dtype))
            cases.add("statistic", "logsumexp(x)", x=np.array([1000, 1001, -1000], dtype))
            cases.add("statistic", "softmax(x)", x=np.array([1000, 1001, -1000], dtype))


def products(cases, random):
    """Sums of products, which may be accumulated unrounded."""
    for dtype, name, length in itertools.product(DTYPES.values(), ("sum", "mean"), (3, 64, 65, 1025)):
        a, b = values(dtype, (2, length), random), values(dtype, length, random)
        cases.add("products", f"{name}(multiply(a, b), axes=[1])", a=a, b=b)
        if dtype != BOOL:
            cases.add("products", f"{name}(square(a), axes=[0])", a=a.T)
            cases.add("products", f"{name}(pow(a, 2))", a=a)


def segments(cases, random):
    for dtype, ids_dtype in itertools.product(
        DTYPES.values(), (np.dtype("i8"), np.dtype("u1"), np.dtype("i2"), np.dtype("u8"))
    ):
        for rows, segments, rest in ((0, 3, ()), (1, 1, ()), (50, 7, ()), (40, 5, (3,)), (9, 20, (2, 2)), (6, 4, (0,))):
            ids = random.integers(0, segments, rows).astype(ids_dtype)
            for name, make in (("sum", values), ("min", whole), ("max", values), ("mean", values)):
                x = make(dtype, (rows, *rest), random)
                cases.add("segment", f"segment_{name}(x, i, {segments})", x=x, i=ids)
            cases.add("segment", f"segment_count(i, {segments})", i=ids)
        ids = np.array([0, 2, 1, 3], ids_dtype)
        cases.add("data error", "segment_sum(x, i, 3)", x=values(dtype, 4, random), i=ids)
        if ids_dtype.kind == "i":
            cases.add("data error", "segment_max(x, i, 4)", x=values(dtype, 4, random), i=-ids)
        if dtype.kind == "f":
            special = np.array([np.nan, 1, -0.0, 0.0, -np.inf, 2, -0.0], dtype)
            ids = np.array([0, 0, 1, 1, 2, 2, 3], ids_dtype)
            for name in ("sum", "min", "max", "mean"):
                cases.add("segment", f"segment_{name}(x, i, 6)", x=special, i=ids)
            many = random.integers(0, 3, 66_000).astype(ids_dtype)
            if ids_dtype.kind == "u":
                cases.add("segment", "segment_sum(x, i, 3)", x=values(dtype, 66_000, random), i=many)
    cases.add("segment", "segment_sum(x, i, 3)", x=np.ones(4, "f4"), i=np.ones(4, "f4"))
    cases.add("segment", "segment_sum(x, i, 3)", x=np.ones(4, "f4"), i=np.ones(3, "i8"))
    cases.add("segment", "segment_count(i, 3)", i=np.ones((2, 2), "i8"))


def write(cases):
    random = np.random.default_rng(4)
    by_axes(cases, random)
    by_length(cases, random)
    special(cases, random)
    statistics(cases, random)
    products(cases, random)
    segments(cases, random)
    best(cases, random)
