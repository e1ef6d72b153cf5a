"""The extension `linalg` of the array API standard.

Products, norms, diagonals and traces are noted as other functions are. Decompositions and what needs them are computed at
once, by NumPy's LAPACK, from stored elements.
"""

import operator

import numpy as np

from .._errors import ArgumentError
from ._array import call, checked
from ._functions import matmul, matrix_transpose, tensordot, vecdot
from ._functions import sum as _sum
from ._numpy import computed

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace",
    "vecdot", "vector_norm",
]


def _computed(function, *args, **kwargs):
    return computed(function, args, kwargs)


def cholesky(x, /, *, upper=False):
    """The lower, or upper, triangular factor of positive definite matrices."""
    return _computed(np.linalg.cholesky, checked(x), upper=bool(upper))


def cross(x1, x2, /, *, axis=-1):
    """The cross products of vectors of three numbers."""
    return call("cross", checked(x1), checked(x2), axis=operator.index(axis))


def det(x, /):
    """The determinants."""
    return _computed(np.linalg.det, checked(x))


def diagonal(x, /, *, offset=0):
    """The diagonals of the matrices along the last two axes."""
    return call("diagonal", checked(x), offset=operator.index(offset), axis1=-2, axis2=-1)


def eigh(x, /):
    """The eigenvalues, in ascending order, and eigenvectors of symmetric matrices."""
    return _computed(np.linalg.eigh, checked(x))


def eigvalsh(x, /):
    """The eigenvalues of symmetric matrices, in ascending order."""
    return _computed(np.linalg.eigvalsh, checked(x))


def inv(x, /):
    """The inverses."""
    return _computed(np.linalg.inv, checked(x))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norms of the matrices along the last two axes."""
    return _computed(np.linalg.matrix_norm, checked(x), keepdims=bool(keepdims), ord=ord)


def matrix_power(x, n, /):
    """The powers of square matrices to an integer."""
    return _computed(np.linalg.matrix_power, checked(x), operator.index(n))


def matrix_rank(x, /, *, rtol=None):
    """The numbers of singular values that are greater than ``rtol`` times the largest."""
    return _computed(np.linalg.matrix_rank, checked(x), rtol=rtol)


def outer(x1, x2, /):
    """The products of all pairs of the elements of two vectors."""
    if checked(x1).ndim != 1 or checked(x2).ndim != 1:
        raise ArgumentError(f"`outer` takes two vectors, not arrays of {x1.ndim} and {x2.ndim} axes")
    return x1[:, None] * x2[None, :]


def pinv(x, /, *, rtol=None):
    """The pseudo-inverses."""
    return _computed(np.linalg.pinv, checked(x), rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """Orthonormal and upper triangular factors."""
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"there is no mode {mode!r}: the modes are reduced and complete")
    return _computed(np.linalg.qr, checked(x), mode=mode)


def slogdet(x, /):
    """The signs and the logarithms of the magnitudes of the determinants."""
    return _computed(np.linalg.slogdet, checked(x))


def solve(x1, x2, /):
    """The solutions of `x1 @ x == x2`."""
    return _computed(np.linalg.solve, checked(x1), checked(x2))


def svd(x, /, *, full_matrices=True):
    """Singular vectors and values: `U`, `S` and `Vh`, the values in descending order."""
    return _computed(np.linalg.svd, checked(x), full_matrices=bool(full_matrices))


def svdvals(x, /):
    """The singular values, in descending order."""
    return _computed(np.linalg.svdvals, checked(x))


def trace(x, /, *, offset=0, dtype=None):
    """The sums of the diagonals of the matrices along the last two axes."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norms of vectors along axes, by default of all elements."""
    axis = tuple(axis) if isinstance(axis, list) else axis
    return _computed(np.linalg.vector_norm, checked(x), axis=axis, keepdims=bool(keepdims), ord=ord)
