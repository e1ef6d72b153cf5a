"""Cases of views, joins, lookups and grids."""

import itertools
import math

import numpy as np

from elementwise import corners
from meaning import DTYPES
from reduced import values


def views(cases, random):
    for dtype in DTYPES.values():
        x = values(dtype, (2, 3, 4), random)
        one = values(dtype, (1, 3, 1), random)
        for sizes in (
            [24],
            [4, 6],
            [2, -1],
            [-1],
            [2, 1, 12],
            [3, 2, 4],
            [5, -1],
            [-1, -1],
            [25],
            [2, 3, 4],
            [1, 24, 1],
            [4, 3, 2],
        ):
            cases.add("view", f"reshape(x, {sizes})", x=x)
        for axes in itertools.chain(itertools.permutations(range(3)), ([-1, 0, 1], [0, 1], [0, 0, 1], [0, 1, 3])):
            cases.add("view", f"permute(x, {list(axes)})", x=x)
            cases.add("view", f"reshape(permute(x, {list(axes)}), [-1])", x=x)
        for axes in ([0], [3], [-1], [1, 3], [0, 0], [4], [-5], [0, 1, 2]):
            cases.add("view", f"expand_dims(x, {axes})", x=x)
        for axes in ([0], [2], [0, 2], [-1, 0], [1], [0, 0], [3]):
            cases.add("view", f"squeeze(x, {axes})", x=one)
        for sizes in ([2, 3, 4], [5, 2, 3, 4], [2, 3, 5], [3, 4], [0, 3, 1], [0, 2, 3, 4]):
            cases.add("view", f"broadcast_to(x, {sizes})", x=x)
            cases.add("view", f"broadcast_to(x, {sizes})", x=one)
        for axis in (0, 1, 2, -1, -3, 3, -4):
            cases.add("view", f"flip(x, {axis})", x=x)
        for order, axis in itertools.product((0, 1, 2, 3, 4, 16, 17, -1), (0, 1, 2, -1, 3, -4)):
            cases.add("view", f"diff(x, {order}, {axis})", x=x)
        cases.add("view", "diff(x, 1, 0)", x=corners(dtype))
        cases.add("view", "diff(x, 3, -1)", x=values(dtype, (2, 2100), random))
    x = values(np.dtype("i4"), (5, 6), random)
    numbers = [None, 0, 1, 2, 4, 5, 6, -1, -2, -5, -6]
    for start, stop, step in itertools.product(numbers, numbers, [1, 2, 3, 7, -1, -2, -3, -7, 0]):
        cases.add("slice", f"slice(x, span({start}, {stop}, {step}))", x=x)
        cases.add("slice", f"slice(x, whole, span({start}, {stop}, {step}))", x=x)
    for index in range(-8, 8):
        cases.add("slice", f"slice(x, at({index}))", x=x)
        cases.add("slice", f"slice(x, whole, at({index}))", x=x)
        cases.add("slice", f"slice(x, span(1, None, -2), new, at({index}))", x=x)
    for parts in itertools.product(
        ["whole", "new", "at(2)", "at(-1)", "span(1, 4, 2)", "span(None, None, -1)"], repeat=3
    ):
        cases.add("slice", f"slice(x, {', '.join(parts)})", x=x)
        cases.add("slice", f"slice(x, {', '.join(parts)})", x=values(np.dtype("f4"), (5, 4, 3), random))
    for inner, outer in itertools.product(["span(1, None, 2)", "span(None, -1, -1)", "span(2, 2, 1)"], repeat=2):
        cases.add("slice", f"slice(slice(x, {inner}, {outer}), {outer})", x=x)


def joins(cases, random):
    for x, y in itertools.product(DTYPES.values(), repeat=2):
        a, b = values(x, (2, 3), random), values(y, (2, 3), random)
        for axis in (0, 1, -1):
            cases.add("join", f"concat([a, b], {axis})", a=a, b=b)
        cases.add("join", "stack([a, b], 1)", a=a, b=b)
    a, b, c = (values(np.dtype("f4"), shape, random) for shape in ((2, 3), (4, 3), (2, 1)))
    for expression in (
        "concat([a, b], 0)",
        "concat([a, c], 1)",
        "concat([a, c, a], -1)",
        "concat([a, b], 1)",
        "concat([a, c], 0)",
        "concat([a], 0)",
        "concat([a, a, a, a], 0)",
        "concat([a, b], 2)",
        "stack([a, b], 0)",
        "stack([a, a], 0)",
        "stack([a, a, a], -1)",
        "stack([a, a], 3)",
        "concat([a, slice(b, span(0, 0, 1))], 0)",
        "sum(concat([a, b], 0), axes=[0])",
        "max(concat([a, flip(b, 0)], 0), axes=[0, 1])",
        "add(concat([a, a], 0), b)",
        "argmin(concat([c, a, c], 1), axes=[1])",
    ):
        cases.add("join", expression, a=a, b=b, c=c)
    integers = [dtype for dtype in DTYPES.values() if dtype.kind in "iu"]
    for table, index in itertools.product(DTYPES.values(), integers):
        least = -5 if index.kind == "i" else 0
        indices = random.integers(least, 5, (2, 3)).astype(index)
        cases.add("take", "take(t, i, 0)", t=values(table, (5, 2), random), i=indices)
        cases.add("take", "take(t, i, 1)", t=values(table, (2, 5), random), i=indices)
        cases.add("take", "take(t, i, -1)", t=values(table, (2, 5), random), i=indices.reshape(-1)[:1].reshape(()))
        cases.add("data error", "take(t, i, 0)", t=values(table, (5, 2), random), i=np.array([1, 5], index))
        if index.kind == "i":
            cases.add("data error", "take(t, i, 0)", t=values(table, (5, 2), random), i=np.array([-5, -6], index))
        cases.add(
            "data error", "take(t, i, 0)", t=values(table, (5,), random), i=np.array([0, np.iinfo(index).max], index)
        )
    cases.add("take", "take(t, i, 0)", t=np.ones((5, 2), "f4"), i=np.zeros(0, "i8"))
    cases.add("take", "take(t, i, 0)", t=np.ones((5, 2), "f4"), i=np.zeros(2, "f8"))
    cases.add("take", "take(t, i, 2)", t=np.ones((5, 2), "f4"), i=np.zeros(2, "i8"))


def grids(cases):
    for length in (0, 1, 2, 7, 100):
        cases.add("grid", f"iota({length})")
        cases.add("grid", f"equal(expand_dims(iota({length}), [1]), iota(7))")
        cases.add("grid", f"greater_equal(expand_dims(iota(4), [1]), subtract(iota({length}), 1))")
        for start, stop in (
            (0.0, 1.0),
            (-3.0, 7.5),
            (1.0, 1.0),
            (5.0, -5.0),
            (0.1, 0.7),
            (1e300, -1e300),
            (-0.0, 0.0),
            (0.0, 5e-324),
            (0.0, 2.5e-323),
            (-1.5e308, 1.5e308),
            (math.inf, math.inf),
        ):
            cases.add("grid", f"linspace({start!r}, {stop!r}, {length})")


def write(cases):
    random = np.random.default_rng(5)
    views(cases, random)
    joins(cases, random)
    grids(cases)
