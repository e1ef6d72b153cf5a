"""Sums of products: what they mean, and their cases.

The order of float sums is not NumPy's, so results are compared with those of wider floats, within the classic bound; or
exactly, where no step can round.
"""

import itertools

import numpy as np

from meaning import BOOL, DTYPES, F16, F32, F64, I64, WIDE, Refused, differs
from reduced import values, whole
from reductions import UNIT, approximate_or_exact

SUMMED = {
    "matmul": np.matmul,
    "dot": np.dot,
    "vdot": np.vdot,
    "inner": np.inner,
    "vecdot": lambda a, b, axis: np.vecdot(a, b, axis=axis),
    "tensordot": lambda a, b, axes: np.tensordot(a, b, axes=axes),
}
PLAIN = {"outer": np.outer, "kron": np.kron}
"""Products of which nothing is summed."""


def refusing(function):
    def reference(*arguments):
        try:
            return np.asarray(function(*arguments))
        except (ValueError, IndexError) as error:
            raise Refused(str(error)) from error

    return reference


def in_common(operands):
    dtype = np.result_type(*operands)
    return dtype, [operand.astype(dtype) for operand in operands]


def contraction(name, function):
    """A sum of products of arrays, with further arguments."""

    def reference(*arguments):
        arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
        others = arguments[len(arrays) :]
        compute = refusing(lambda *arrays: function(*arrays, *others))
        sums = all(array.ndim for array in arrays) and (name != "tensordot" or others[0] not in (0, [[], []]))
        return total_of(compute, arrays, sums)

    return reference


def total_of(compute, arrays, sums):
    """A sum begins with +0; what is no sum keeps the sign of its zeros."""
    dtype, arrays = in_common(arrays)
    if dtype.kind != "f":
        return compute(*arrays)
    # No BLAS: its order does not matter for long doubles.
    wide = [array.astype(WIDE) for array in arrays]
    result, magnitude = compute(*wide), compute(*map(np.abs, wide))
    terms = compute(*map(np.ones_like, wide))
    halves = [np.all(2 * array == np.rint(2 * array)) for array in wide]
    exact = np.full(result.shape, all(halves)) & np.asarray(magnitude * 2 ** len(arrays) < 1 / UNIT[dtype])
    # Each product rounds, and the sum does with each term. Those of 16 bits do so in 32, and each result is rounded.
    work = F32 if dtype == F16 else dtype
    steps = terms + 2 * len(arrays)
    distance = steps * UNIT[work] * magnitude * (1 + 2 * steps * UNIT[work])
    if dtype == F16:
        rounded = max(1, len(arrays) - 1)
        distance = distance * (1 + rounded * UNIT[F16]) + rounded * (UNIT[F16] * magnitude + 2.0**-25 * terms)
    distance = np.where(exact, 0, distance).astype(F64)
    if sums:
        result = result + 0.0
    else:
        sign = compute(*(np.copysign(WIDE(1), array) for array in wide))
        differs("product_zero", np.count_nonzero(np.signbit(result) != np.signbit(sign)))
        result = np.copysign(result, sign)
    result = result.astype(F64)
    flat = [array.ravel() for array in (result, distance, exact)]
    return approximate_or_exact(dtype, *flat, result.shape)


def einsum(subscripts, operands):
    inputs, _, result = subscripts.partition("->")
    letters = [letter for letter in inputs if letter.isalpha()]
    # Without an arrow, what stands more than once is summed over.
    kept = result if "->" in subscripts else [letter for letter in letters if letters.count(letter) == 1]
    sums = not set(letters) <= set(kept)
    return total_of(refusing(lambda *arrays: np.einsum(subscripts, *arrays)), list(operands), sums)


def plain(function):
    def reference(*operands):
        _, operands = in_common(operands)
        return refusing(function)(*operands)

    return reference


CONTRACTIONS = (
    {name: contraction(name, function) for name, function in SUMMED.items()}
    | {name: plain(function) for name, function in PLAIN.items()}
    | {"einsum": einsum}
)

SHAPES = [(), (1,), (3,), (0,), (2, 3), (3, 2), (3, 3), (1, 3), (3, 1), (0, 3), (3, 0), (2, 3, 4), (4, 3, 2), (1, 2, 3)]
MATMUL = [
    ((3,), (3,)),
    ((0,), (0,)),
    ((2, 3), (3,)),
    ((2,), (2, 3)),
    ((2, 3), (3, 4)),
    ((1, 1), (1, 1)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 2)),
    ((7, 65), (65, 3)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((5, 1, 2, 3), (3,)),
    ((3,), (4, 3, 2)),
    ((1, 2, 3), (4, 3, 2)),
    ((0, 2, 3), (3, 2)),
    ((2, 3), (2, 3)),
    ((2, 1), (3, 2)),
    ((2, 2, 3), (3, 3, 2)),
    ((2, 3), ()),
]
AXES = ["0", "1", "2", "3", "[[0], [0]]", "[[-1], [0]]", "[[0, 1], [1, 0]]", "[[1], [1]]", "[[], []]", "[[0, 0], [0, 1]]"]
EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,jk", (2, 1), (3, 4)),
    ("ij,kj->ki", (2, 3), (4, 3)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("ij,ij->j", (0, 3), (0, 3)),
    ("i,j", (3,), (4,)),
    ("i,j->", (3,), (4,)),
    ("ij,k->i", (2, 3), (4,)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 2)),
    ("...ij,...jk", (5, 1, 2, 3), (4, 3, 2)),
    ("...i,...i", (5, 3), (3,)),
    ("i...,i->...", (3, 4), (3,)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iji->j", (3, 2, 3)),
    ("iii->i", (2, 2, 2)),
    ("ii,ij->j", (3, 3), (3, 2)),
    ("ba", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("...->...", (2, 3)),
    ("i...->...", (2, 3)),
    ("aB,Bc", (2, 3), (3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ij,jk,kl->", (2, 3), (3, 4), (4, 2)),
    ("i,j,k->ijk", (2,), (3,), (2,)),
    ("ij,jk,k,i->", (2, 3), (3, 4), (4,), (2,)),
    ("ij,ik,il->jkl", (2, 3), (2, 2), (2, 4)),
    ("ij,ij,ij->i", (2, 3), (1, 3), (2, 1)),
    ("ijk", (2, 3)),
    ("i", (2, 3)),
    ("ij,jk", (2, 3), (4, 5)),
    ("ij->ii", (2, 3)),
    ("ij->k", (2, 3)),
    ("ij,jk->ik", (2, 3)),
    ("ii", (1, 3)),
    ("i.j", (2, 3)),
    ("...i->i", (2, 3)),
    ("ij-", (2, 3)),
    ("i1", (2, 3)),
]


def write(cases):
    random = np.random.default_rng(11)
    for dtype, make in itertools.product(DTYPES.values(), [values, whole]):
        for left, right in MATMUL:
            a, b = make(dtype, left, random), make(dtype, right, random)
            for name in ["matmul", "dot", "inner"]:
                cases.add("contraction", f"{name}(a, b)", a=a, b=b)
            cases.add("contraction", "vecdot(a, b, -1)", a=a, b=b)
            cases.add("contraction", "vecdot(a, b, 0)", a=a, b=b)
        for subscripts, *shapes in EINSUMS:
            arrays = {name: make(dtype, shape, random) for name, shape in zip("abcd", shapes)}
            cases.add("contraction", f'einsum("{subscripts}", [{", ".join(arrays)}])', **arrays)
    dtypes = itertools.cycle([BOOL, DTYPES["i8"], F32, I64, F16])
    for left, right in itertools.product(SHAPES, SHAPES):
        dtype = next(dtypes)
        a, b = values(dtype, left, random), values(dtype, right, random)
        for name in ["matmul", "dot", "inner", "vdot", "outer", "kron"]:
            cases.add("contraction", f"{name}(a, b)", a=a, b=b)
        for axes in AXES:
            cases.add("contraction", f"tensordot(a, b, {axes})", a=a, b=b)
    for left, right in itertools.product(DTYPES.values(), DTYPES.values()):
        a, b = whole(left, (2, 3), random), whole(right, (3, 2), random)
        cases.add("contraction", "matmul(a, b)", a=a, b=b)
        cases.add("contraction", "vdot(a, b)", a=a, b=b)
        cases.add("contraction", "outer(a, b)", a=a, b=b)
        cases.add("contraction", "kron(a, b)", a=a, b=b)
        cases.add("contraction", 'einsum("ij,jk,kl", [a, b, a])', a=a, b=b)
