"""Cases of elementwise ops: all pairs of corner values, pairs of dtypes, operand patterns, literals, casts."""

import itertools
import math

import numpy as np

from meaning import BOOL, DTYPES


def corners(dtype):
    """Values at which implementations go wrong."""
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.kind in "iu":
        info, width = np.iinfo(dtype), 8 * dtype.itemsize
        half, third = 1 << (width // 2), 1 << (width - 2)
        values = [info.min, info.min + 1, -half - 1, -half, -100, -7, -2, -1, 0, 1, 2, 3, 5, 7, 100]
        values += [width - 1, width, width + 1, half - 1, half, half + 1, third - 1, third, info.max - 1, info.max]
        return np.array(sorted({value for value in values if info.min <= value <= info.max}), dtype)
    info = np.finfo(dtype)
    whole = 2.0 ** (info.nmant + 1)
    positive = [0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5, math.pi, 7.25, 88.75, 255.5, np.inf]
    positive += [info.smallest_subnormal, info.smallest_normal - info.smallest_subnormal, info.smallest_normal]
    positive += [info.epsneg / 2, 1 - info.epsneg, 1 + info.eps, info.max / 2, info.max]
    positive += [whole / 2 - 0.5, whole / 2, whole - 1, whole]
    if info.nmant > 10:
        positive += [709.5, 65520.0, 2.0**31, 2.0**31 - 0.5, 2.0**32, 2.0**63, 2.0**64, 1e10]
    with np.errstate(all="ignore"):
        values = np.array(positive, dtype)
    return np.concatenate([values, -values, np.array([-np.nan, np.nan], dtype)])


def few(dtype, count=14):
    """Some corners, the ends among them, NaN last."""
    values = corners(dtype)
    step = max(1, len(values) // count)
    return np.concatenate([values[::step], values[-1:]]) if dtype != BOOL else values


LITERALS = {
    "b": "True False 1 0 2 -1 1.5",
    "i": "0 1 -1 2 7 100 127 -128 128 -129 300 65536 2147483648 -9223372036854775808 9223372036854775808 0.5 -0.0 "
    "inf nan True",
    "u": "0 1 -1 2 7 127 255 256 65535 65536 4294967296 18446744073709551615 0.5 inf True False",
    "f": "0 1 -1 3 65519 65520 16777217 9007199254740993 0.5 0.1 -0.0 1e-8 70000.0 1e39 -1e300 inf -inf nan True",
}
"""Literals by the kind of the dtype that they meet, of which some do not fit."""

POWERS = "-2 -1 0 1 2 3 10 -2.0 -1.0 0.0 0.5 1.0 2.0 3.0 -0.5 inf nan"


def unary(cases):
    for name, (text, dtype) in itertools.product(cases.ops, DTYPES.items()):
        if cases.ops[name] != 1:
            continue
        values = corners(dtype)
        if dtype.itemsize == 1 and dtype != BOOL:
            # All that there are.
            values = np.arange(256, dtype="u1").view(dtype)
        if dtype.name == "float16":
            values = np.arange(0, 65536, 37, dtype="u2").view(dtype)
        cases.add("unary", f"{name}(a)", a=values)
        cases.add("unary", f"{name}(a)", a=values[-5:].reshape(1, -1, 1))
        cases.add("unary", f"{name}(a)", a=values[1].reshape(()))
        cases.add("unary", f"{name}(a)", a=values[:0])


def binary(cases):
    """Every op on every pair of dtypes, on all pairs of corners."""
    for name in cases.ops:
        if cases.ops[name] != 2:
            continue
        for turn, ((left, x), (right, y)) in enumerate(itertools.product(DTYPES.items(), repeat=2)):
            a, b = corners(x), corners(y)
            if name == "pow" and np.result_type(x, y).kind != "f":
                cases.add("data error", "pow(a, b)", a=a[:, None], b=b)
                b = b[b >= 0] if y != BOOL else b
            column, row = a[:, None], b
            # All pairs, as a column and a row, the other way round, or one by one; of equal dtypes in every way.
            ways = range(5) if x == y else [turn % 3]
            for way in ways:
                if way == 0:
                    inputs = {"a": column, "b": row}
                elif way == 1:
                    inputs = {"a": a, "b": b[:, None]}
                elif way == 2:
                    pairs = np.broadcast_arrays(column, row)
                    inputs = {"a": pairs[0].ravel(), "b": pairs[1].ravel()}
                elif way == 3:
                    inputs = {"a": np.broadcast_to(column, (len(a), len(b))), "b": b[len(b) // 2].reshape(())}
                else:
                    inputs = {"a": a[len(a) // 2].reshape(()), "b": np.broadcast_to(b, (2, 1, len(b)))}
                cases.add("binary", f"{name}(a, b)", **inputs)
    cases.add("broadcast", "add(a, b)", a=np.zeros((2, 3), "f4"), b=np.zeros(2, "f4"))
    cases.add("broadcast", "add(a, b)", a=np.zeros((0, 3), "f4"), b=np.zeros((1, 1), "f4"))
    cases.add("broadcast", "add(a, b)", a=np.zeros((0, 3), "f4"), b=np.zeros((2, 3), "f4"))
    cases.add("broadcast", "select(c, a, b)", c=np.array([[True], [False]]), a=np.ones(3, "i2"), b=np.zeros((), "u2"))


def literals(cases):
    """Literals on either side of every op, of which some do not fit."""
    for name, (text, dtype) in itertools.product(cases.ops, DTYPES.items()):
        if cases.ops[name] != 2:
            continue
        values = few(dtype, 8)
        if name == "pow":
            for literal in POWERS.split():
                cases.add("power", f"pow(a, {literal})", a=values)
            values = values[values >= 0] if dtype.kind in "iu" else values
            for literal in ("0", "2", "-3", "2.5", "300"):
                cases.add("power", f"pow({literal}, a)", a=values)
            continue
        for literal in LITERALS[dtype.kind].split():
            cases.add("literal", f"{name}(a, {literal})", a=values)
            cases.add("literal", f"{name}({literal}, a)", a=values)


def ternary(cases):
    for (text, dtype), name in itertools.product(DTYPES.items(), ["clip", "fma"]):
        values = few(dtype, 8)
        a, b, c = values[:, None, None], values[:, None], values
        cases.add("ternary", f"{name}(a, b, c)", a=a, b=b, c=c)
        cases.add("ternary", f"{name}(a, b, c)", a=values, b=values[::-1], c=np.roll(values, 3))
        cases.add("literal", f"{name}(a, 1, b)", a=values, b=values[::-1])
        cases.add("literal", f"{name}(a, 0, 300)", a=values)
        cases.add("literal", f"{name}(a, 0.5, 2)", a=values)
        cases.add("literal", f"{name}(a, -1, 1e300)", a=values)
    for x, y, z in itertools.product(DTYPES.values(), repeat=3):
        a, b, c = (few(dtype, 3) for dtype in (x, y, z))
        cases.add("ternary", "clip(a, b, c)", a=a[:, None, None], b=b[:, None], c=c)
        if (x.num + y.num + z.num) % 3 == 0:
            cases.add("ternary", "fma(a, b, c)", a=a[:, None, None], b=b[:, None], c=c)
    for x, y in itertools.product(DTYPES.values(), repeat=2):
        condition = np.array([True, False])[:, None, None]
        cases.add("select", "select(c, a, b)", c=condition, a=few(x)[:, None], b=few(y))
        cases.add("select", "select(a, b, a)", a=few(x), b=few(y)[:1])
        for literal in ("0", "-1", "300", "0.5", "True", "1e300"):
            cases.add("select", f"select(c, a, {literal})", c=condition, a=few(x))
            cases.add("select", f"select(c, {literal}, b)", c=condition, b=few(y))


def casts(cases):
    for (source, x), target in itertools.product(DTYPES.items(), DTYPES):
        values = corners(x)
        if x.kind == "f":
            # Both sides of every bound of an integer dtype, and of the ties between the floats of 16 bits.
            bounds = [2.0**bits for bits in (7, 8, 15, 16, 31, 32, 63, 64)] + [
                2.0**-25,
                65520.0,
                1 + 2.0**-11,
                1 + 3 * 2.0**-11,
            ]
            with np.errstate(all="ignore"):
                bounds = np.array(bounds).astype(x)
                around = [
                    bounds,
                    np.nextafter(bounds, x.type(0)),
                    np.nextafter(bounds, x.type(np.inf)),
                    bounds - x.type(1),
                ]
            values = np.concatenate([values, *around, *(-near for near in around)])
        elif x.itemsize > 1:
            info = np.iinfo(x)
            bounds = [
                int(sign * 2**bits) + near
                for sign in (-1, 1)
                for bits in (7, 8, 11, 15, 16, 24, 31, 32, 53)
                for near in (-1, 0, 1)
            ]
            bounds += [2**24 + 3, 2**53 + 3, 2**54 + 6, 65519, 65520, 2049, 2051]
            values = np.concatenate([values, np.array([bound for bound in bounds if info.min <= bound <= info.max], x)])
        cases.add("cast", f"cast(a, {target})", a=values)
        cases.add("cast", f"cast(cast(a, {target}), {source})", a=values)


def write(cases):
    unary(cases)
    binary(cases)
    literals(cases)
    ternary(cases)
    casts(cases)
