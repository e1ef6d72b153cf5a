"""Arrays that change at positions: arguments and results are those of NumPy, bit for bit. Integers make sums exact."""

import itertools

import broadloom as bl
import numpy as np
import pytest
from test_changes import check

RNG = np.random.default_rng(40)
A = RNG.integers(-9, 9, (5, 4)).astype(float)
T = RNG.integers(-9, 9, (3, 5, 4)).astype(float)
I, J, K = np.array([0, 3, -1, 3, 0]), np.array([1, 2, 0, 2, 1]), np.array([[0], [2], [-1]])
V = np.arange(5.0)

CHANGES = """
x[True] = 7
x[np.True_] = v[:4]
x[False] = 7
return x[True], x[False]
x[np.ix_(i, j[:3])] += 1
x[np.ix_([True, False, True, False, True], j % 4)] = v
x[i] = 7
x[i] = v[:4]
x[i, j] = v
x[i, j] += v
x[i, j] *= v[::-1]
x[i[:0]] = v[:4]
x[i[:0]] = v[:0, None]
x[[]] = 1
x[i[0]] = 4
x[i[0], j[1]] = 4
x[i[0], 1:3] = v[:2]
x[i[0]] += 4
x[[0, 1, 0]] = v[:3, None]
x[np.array([True, False, True, False, True])] = 3
x[np.array([True, False, True, False, True]), [1, 2, 0]] = 3
x[::-1][i] = v[:4]
x[1:, j] = v
x[:, j] += v
x[k, j] = v
x[k] = v[:4]
x[i.astype(np.uint8) % 5, j.astype(np.int8)] = v
np.add.at(x, i, 1)
np.add.at(x, i, v[:4])
np.add.at(x, (i, j), v)
np.add.at(x, (k, j), v)
np.add.at(x, i[0], 4)
np.add.at(x, x > 0, 4)
np.add.at(x, np.s_[1:3], v[:4])
np.subtract.at(x, (i, j), v)
np.multiply.at(x, i, 2)
np.divide.at(x, (i, j), 2.0 ** v)
np.maximum.at(x, i, v[:4])
np.minimum.at(x, (i, j), v - 2)
np.put(x, i, v)
np.put(x, i, [1, 2])
np.put(x, k, 3)
np.put(x, i + 50, v, mode="clip")
np.put(x, i + 50, v, mode="wrap")
x.put(j, 9)
np.put_along_axis(x, i[:4][None] % 5, 9, 0)
np.put_along_axis(x, j[:, None], v[:, None], 1)
np.put_along_axis(x, j, v, None)
np.place(x, x > 0, 2)
x.flat[j] = v
x.flat[[1, 1, 2]] = [4, 5, 6]
"""

CHANGES_OF_THREE_AXES = """
x[:, i, j] = v
x[i % 3, :, j] = v
x[i % 3, :, j] = v[:, None]
x[1, i] = 2
x[k, :, j] = 3
x[k, i] += 1
x[0, :, j] = v[:, None]
x[:2, i] = v[None, :, None]
x[k, i, 1] = v
x[..., j] = v
x[i % 3, None, 1:3] = v[:, None, None, None]
x[::-1, i] = v[:, None]
x[i % 3, ..., 0] = v[:, None]
x[i[0], :, j] = v[:, None]
np.add.at(x, (i % 3, slice(None), j), v[:, None])
np.add.at(x, (slice(1, 3), i), v[:, None])
np.maximum.at(x, (k, i), v[:4])
"""

READS = "x.flat[j]; x[i % 3, j]; x[i % 3, :, j]; x[k, i]; x[[0, 1], [1, 2]]; x[[0, 1], :, [1, 2]]; x[i % 3, j, i[0]]; x[1, :, j]"


def function(line):
    space = {"np": np}
    exec(f"def f(x, i, j, k, v):\n    {line}", space)
    return space["f"]


def cases():
    changes = [(line, A) for line in CHANGES.strip().splitlines()]
    changes += [(line, T) for line in CHANGES_OF_THREE_AXES.strip().splitlines()]
    return changes + [(f"return {line}", T) for line in READS.split("; ")]


@pytest.mark.parametrize("line, x", cases(), ids=lambda part: part if isinstance(part, str) else "")
def test_changes_and_reads(line, x):
    check(function(line), x, I, J, K, V)


SPECIAL = np.array([-0.0, 0.0, 1.0, -1.0, 0.1, np.inf, -np.inf, np.nan, 1e308, 5e-324])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide], ids=lambda ufunc: ufunc.__name__)
def test_accumulation_has_numpys_bits(ufunc, dtype):
    """Elements that no position chooses keep their sign, and values meet in the order of the positions."""

    def f(x, i, v):
        ufunc.at(x, i, v)

    compiled = bl.jit(f)
    for _ in range(20):
        with np.errstate(all="ignore"):
            x, v = RNG.choice(SPECIAL, 12).astype(dtype), RNG.choice(SPECIAL, 30).astype(dtype)
            i = RNG.integers(-8, 8, 30)
            want = x.copy()
            f(want, i, v)
        compiled(x, i, v)
        np.testing.assert_array_equal(x, want)
        ordered = ~np.isnan(want)
        assert (np.signbit(x) == np.signbit(want))[ordered].all()


@pytest.mark.parametrize("dtype", ["f4", "f2", "i1", "u1", "i4", "u8"])
def test_dtypes(dtype):
    x, values = (A % 7).astype(dtype), (V % 3).astype(dtype)
    for line in ["x[i, j] = v", "np.add.at(x, (i, j), v)", "np.multiply.at(x, (i, j), v)", "np.maximum.at(x, (i, j), v)"]:
        check(function(line), x, I, J, K, values)


def test_many_positions():
    """Sums in the accuracy of sums, whatever the number of positions to one element."""

    def count(x, i, v):
        np.add.at(x, i, v)

    for size, places in itertools.product([0, 1, 3, 1000, 70_000], [1, 3, 1000]):
        i = RNG.integers(-places, places, size)
        check(count, np.zeros(places), i, RNG.integers(-9, 9, size).astype(float))
        check(count, np.zeros(places, np.int32), i, np.ones(size, np.int32))
    check(count, np.zeros(3), RNG.integers(0, 3, 10_000), RNG.random(10_000))


def test_the_last_of_equal_positions_wins():
    def write(x, i, v):
        x[i] = v

    for size in [1, 2, 65, 5000]:
        check(write, np.zeros(7), RNG.integers(0, 7, size), np.arange(float(size)))


def test_positions_along_any_axes():
    """Beside slices, along inner axes, in transposes and in layouts of every kind; changes that read what others have written."""
    lines = [
        "x[:, i] = v", "x[:, i] += x[:, j]", "x[..., j, i] = 3", "x[1:, i, 1] = x[:-1, j, 0]", "x[::2, :, i] = v", "x[i, :, 1:-1] = 2",
        "x[i, j, 0] = k", "x.T[i] = x[:, :, j].T", "x.T[1:, i] -= 1", "np.add.at(x, (slice(None), i), 1)",
        "np.add.at(x, (slice(1, None), i, j), x[0, 0, :3])", "x[1:2, ::-1, i] *= 2", "x[:, i], x[:, j] = x[:, j], x[:, i]",
        "x[-1, i, j] = x[i, j, 0]",
    ]  # fmt: skip
    i, j, k = np.array([2, 0, -3]), np.array([1, 1, -1]), np.array([7.0, 8.0, 9.0])
    for first in lines:
        for second in [lines[-2], "x[:, 0] = 1", "x[i] = x[j]"]:
            change = function(f"{first}; {second}")
            cube = np.arange(64.0).reshape(4, 4, 4)
            for ours in [cube.copy(), cube.T.copy("K"), np.arange(512.0).reshape(8, 8, 8)[::2, ::-2, ::2]]:
                theirs = np.array(ours)
                change(theirs, i, j, k, k[:1])
                bl.jit(change)(ours, i, j, k, k[:1])
                np.testing.assert_array_equal(ours, theirs, err_msg=f"{first}; {second}")


def test_copies():
    x, i = bl.input("x", "f64[n]"), bl.input("i", "i64[m]")
    given, places = np.array([1.0, 2.0, 4.0]), np.array([0, -1, 0])
    for made, wanted in [
        (x.at[i].set(7), [7, 2, 7]), (x.at[i].add(1), [3, 2, 5]), (x.at[i].subtract(1), [-1, 2, 3]),
        (x.at[i].multiply(3), [9, 2, 12]), (x.at[i].divide(2), [0.25, 2, 2]), (x.at[i].max(3), [3, 2, 4]),
        (x.at[i].min(3), [1, 2, 3]),
    ]:  # fmt: skip
        np.testing.assert_array_equal(made.compile()(given, places), wanted)
    np.testing.assert_array_equal(x.at[1:].set(0).compile()(given), [1, 0, 0])
    np.testing.assert_array_equal(x.at[x > 1].add(1).compile()(given), [1, 3, 5])


def test_positions_outside_leave_the_argument():
    def write(x, i):
        x += 1
        x[i] = 0

    x = A.copy()
    for places in ([5], [0, -6]):
        with pytest.raises(bl.OutOfRangeError, match="the axis has 5 elements"):
            bl.jit(write)(x, np.array(places))
    np.testing.assert_array_equal(x, A)


def test_what_is_refused():
    for line, error, text in [
        ("x[i, j[:2]] = 1", bl.ShapeError, "cannot broadcast"),
        ("x[i] = v[:3]", bl.ShapeError, "cannot stretch"),
        ("x[v] = 1", bl.DTypeError, "needs integer indices"),
        ("x[i, j, i] = 1", bl.ShapeError, "3 indices"),
        ("np.add.at(x.astype(int), i, 0.5)", bl.DTypeError, "i64"),
        ("np.arctan2.at(x, i, 1)", bl.TracingError, r"np\.arctan2\.at"),
        ("np.negative.at(x, i)", bl.TracingError, r"np\.negative\.at"),
        ("np.put(x, i, 1, mode='other')", bl.TracingError, "mode"),
        ("np.put_along_axis(x, i, 1, 0)", bl.ShapeError, "axes"),
    ]:
        with pytest.raises(error, match=text):
            bl.jit(function(line))(A.copy(), I, J, K, V)


def looked_up(x, m, t, i):
    x[m] = t[i[m]]
    x[~m] += 1
    return x


def looked_up_in_rows(x, m, t, i):
    x[m] = t[i[m], 1:3] * 2
    x[m] += t[i[m], i[m] % 2, None]


def looked_up_by_two(x, m, t, i):
    x[m] = t[i[m], i[m] % 3]


def taken(x, m, t, i):
    x[m] = np.take(t, i[m]) + np.take(t, i[m], axis=0)


def summed(x, m, t, i):
    return t[i[m]].sum() + x.sum()


def test_writes_to_positions_that_a_mask_chooses():
    def set_number(x, i, m):
        x[i[m]] = 7.5

    def set_values(x, i, m, v):
        x[i[m]] = v[m] * 2

    def add(x, i, m, v):
        x[i[m]] += v[m]
        x[i[m]] -= 1

    def accumulate(x, i, m, v):
        np.add.at(x, i[m], v[m])
        np.maximum.at(x, i[m], 3)
        np.subtract.at(x, i[m], v[m] + 1)

    def two(t, i, m, v):
        t[i[m], i[m] % 3] = v[m]
        t[i[m], 1:] = 5
        t[i[m], 0] += v[m]
        t[i[m]] = np.arange(4.0)

    def twice(x, i, m, v):
        x[i[m & (v > 4)]] = v[m & (v > 4)]
        return x.copy()

    random = np.random.default_rng(5)
    for count in (0, 1, 9, 40):
        for rows in (3, 6):
            i, m = random.integers(-rows, rows, count), random.random(count) < 0.5
            # What the mask leaves out may be anywhere.
            i = np.where(m, i, random.integers(-99, 99, count))
            v, x, t = random.integers(1, 9, count).astype(float), np.arange(rows) - 0.5, np.ones((rows, 4))
            check(set_number, x, i, m)
            for function in (set_values, add, accumulate, twice):
                check(function, x, i, m, v)
            check(two, t, i, m, v)
    grid = np.arange(12).reshape(3, 4) % 5
    check(set_values, np.zeros(5), grid, grid > 2, grid * 1.5)
    check(accumulate, np.zeros(5, np.float32), grid, grid > 2, grid.astype(np.float32))


def test_too_many_positions():
    def f(x):
        x[0, 0, 0] = 1

    with pytest.raises(bl.ShapeError, match="3 indices"):
        bl.jit(f)(A.copy())


def test_a_chosen_position_outside_of_the_axis():
    def f(x, i, m):
        x[i[m]] = 1

    for position in (5, -6, 99):
        x, i = np.zeros(5), np.array([0, position])
        with pytest.raises(bl.OutOfRangeError, match=str(position)):
            bl.jit(f)(x, i, np.array([True, True]))
        assert not x.any()
        bl.jit(f)(x, i, np.array([True, False]))
        assert x.tolist() == [1, 0, 0, 0, 0]


def test_elements_that_a_mask_leaves_out_fail_nothing():
    i = np.array([0, 99, 2, -50, 1])
    m = np.abs(i) < 3
    for function_, x, t in [
        (looked_up, V, A[:, 0]), (looked_up, np.zeros((5, 4)), A), (looked_up_in_rows, np.zeros((5, 2)), A),
        (looked_up_by_two, V, A), (taken, V, A[:, 2]), (summed, V, A[:, 1]),
    ]:  # fmt: skip
        check(function_, x, m, t, i)
    with pytest.raises(bl.OutOfRangeError):
        bl.jit(looked_up)(V.copy(), i < 50, A[:, 0], i)
