"""Elements that masks select, distinct elements, and sizes that computed numbers decide."""

import numpy as np

from functions import INTEGERS, SOME, Lines, true_zeros, values, with_nans
from meaning import BOOL, DTYPES, F32, F64

# Of x[3, 5, 4], m[3, 5, 4], r[3] and c[5].
MASKS = """
x[m]
x[r]
x[m[:, :, 0]]
x[:, c]
x[:, c, 1]
x[r, 1:3]
x[r, None, ..., -1]
x[..., m[0, 0]]
x[1, c]
x[r][:, c]
x[~m]
x[m & (x > 1)]
x[r | True]
np.compress(r, x, axis=0)
np.compress(c, x, axis=1)
np.compress(c, x[0], axis=-2)
np.extract(m, x)
np.nonzero(x)[0]
np.nonzero(x)[2]
np.nonzero(m[:, :, 1])[1]
np.where(x > 1)[1]
np.flatnonzero(x)
np.argwhere(m)
x[np.nonzero(m)[0], 1]
np.concatenate([x[m], x[~m]])
x[m].reshape(1, -1)
np.sort(x[m])
x[m][::-1]
x[m][x[m] > 1]
x[m][np.argsort(x[m])]
np.cumsum(x[m])
x[m].sum()
x[r].sum(axis=0)
x[r].any(axis=(0, 2))
x[:, c].max(axis=2)
np.unique(x)
np.unique(x[m])
np.unique(x, return_counts=True)[1]
np.unique(x, return_index=True)[1]
np.unique(x, return_inverse=True)[1]
np.union1d(x, x[r] + x[r])
np.intersect1d(x, x[0, 0])
np.setdiff1d(x, x[0, 0])
np.setxor1d(x, x[0, 0])
np.repeat(x, c * 2, axis=1)
np.repeat(x, m.ravel() * 3)
np.trim_zeros(x[0, :, 0])
np.trim_zeros(x[0, :, 0], 'b')
np.zeros(np.count_nonzero(m))
np.arange(np.count_nonzero(m))
"""


def of_masks(lines):
    random = lines.random
    for dtype in SOME:
        for share in [0.0, 0.2, 0.6, 1.0]:
            inputs = {
                "x": true_zeros(values(dtype, (3, 5, 4), random)),
                "m": random.random((3, 5, 4)) < share,
                "r": random.random(3) < share,
                "c": random.random(5) < share,
            }
            for line in MASKS.split("\n"):
                if line and not (dtype == BOOL and "> 1" in line):
                    # The text language does not count truth values as integers by itself.
                    line = line.replace("c * 2", "c.astype(np.int64) * 2")
                    line = line.replace("m.ravel() * 3", "m.ravel().astype(np.int64) * 3")
                    lines.add(line, **inputs)


def of_lengths(lines):
    random = lines.random
    for length in [0, 1, 17, 65, 1000, 100_003]:
        for dtype in [DTYPES["u8"], DTYPES["i64"], F32, F64, BOOL]:
            x = true_zeros(with_nans(dtype, (length,), random, 0.1))
            for line in ["x[x > 1]", "np.flatnonzero(x)", "np.unique(x)", "np.unique(x, return_counts=True)[1]"]:
                if not (dtype == BOOL and ">" in line):
                    lines.add(line, x=x)
            lines.add("x[m]", x=x, m=random.random(length) < 0.99)
            lines.add("x[m]", x=x, m=random.random(length) < 0.01)
    for dtype in INTEGERS:
        if dtype != DTYPES["u64"]:
            lines.add("np.bincount(x)", x=random.integers(0, 50, 300).astype(dtype))
            lines.add("np.bincount(x)", x=np.zeros(0, dtype))
    x = np.arange(12.0).reshape(3, 4)
    lines.add("x[m]", x=x, m=np.ones(4, bool))
    lines.add("x[m]", x=x, m=np.ones((3, 4, 1), bool))
    lines.add("x[:, m]", x=x, m=np.ones(3, bool))
    lines.add("np.repeat(x, n, axis=0)", x=x, n=np.array([1.0, 2.0, 1.0]))
    lines.add("np.repeat(x, n, axis=0)", x=x, n=np.array([1, 2]))


def write(cases):
    lines = Lines(cases)
    of_masks(lines)
    of_lengths(lines)
